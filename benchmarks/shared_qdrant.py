"""A real Qdrant server, or three: how fast it searches, and what is lost when it, its callers or PostgreSQL are killed.

    export QDRANT_BINARY=/path/to/qdrant      # the program of Qdrant 1.15 or later
    python benchmarks/shared_qdrant.py size --points 100000
    python benchmarks/shared_qdrant.py size --points 1000000 --quantization int8
    python benchmarks/shared_qdrant.py spaces --spaces 10000
    python benchmarks/shared_qdrant.py kills --kills 25
    python benchmarks/shared_qdrant.py kills --kills 25 --nodes 3 --replicas 2 --ledger postgres

Every server listens on loopback only, without telemetry, with its files in a temporary folder.

`size` writes vectors of the made-up world of `world.py` to one space and asks for the nearest 50: of all, of every
sixth memory, of one month of 24, and of 4,000 that are given by their number. "recall@50" is the share of those of an
exact scan that are found; times are milliseconds on the clock, the median of 20 questions, and the processor time of
the server.

`spaces` writes ten points to each of many spaces of one collection, and searches, reads and empties some of them.

`kills` lets processes add, recall and erase in two spaces that all of them share, and kills a Qdrant node, one of these
processes or PostgreSQL (`--on`) again and again, in the middle of whatever they do. After each kill it waits until a
process that has the space open recalls with vectors again and, in a cluster, until every replica is active. At the end
it compares the ledger, the indexes and each replica with what the processes were told. Exits with 1 if a memory that
was acknowledged is lost, one that was erased is back, or a recall had one of another space.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("REMANENCE_READER", "none")
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

import remanence
from postgres_server import Server
from qdrant_server import QdrantNode, cluster
from remanence import Qdrant
from remanence.index.vectors.store_sync import PASSAGE_BITS
from remanence.index.vectors.stores import SharedStores
from remanence.index.vectors.vectors import Vectors
from remanence.schema import Query
from remanence.testing import HashingEmbedder
from warm_process import WarmProcess, preload
from world import DIMENSION, clustered_vectors

preload("qdrant_client")

DEPTH = 50
QUESTIONS = 20


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = options.add_subparsers(dest="verb", required=True)
    size = verbs.add_parser("size")
    size.add_argument("--points", type=int, default=100_000)
    size.add_argument("--quantization", choices=["int8", "binary"])
    size.add_argument("--on-disk", action="store_true", help="whole vectors are read from disk")
    verbs.add_parser("spaces").add_argument("--spaces", type=int, default=10_000)
    kills = verbs.add_parser("kills")
    kills.add_argument("--kills", type=int, default=25)
    kills.add_argument("--on", default="qdrant,worker,postgres", help="what is killed, with commas")
    kills.add_argument("--nodes", type=int, default=1)
    kills.add_argument("--replicas", type=int, default=1)
    kills.add_argument("--consistency", type=int, default=1, help="how many replicas confirm a write")
    kills.add_argument("--ledger", choices=["folder", "postgres"], default="folder")
    kills.add_argument("--workers", type=int, default=2)
    kills.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    if given.verb == "size":
        measure_size(given.points, Qdrant("http://", quantization=given.quantization, on_disk=given.on_disk))
    elif given.verb == "spaces":
        measure_spaces(given.spaces)
    else:
        sys.exit(not KillRun(given).run())


# Size


def measure_size(count: int, settings: Qdrant) -> None:
    """Fill one space and search it."""
    dice = np.random.default_rng([7, count])
    vectors = clustered_vectors(dice, count)
    noise = dice.standard_normal((QUESTIONS, DIMENSION), np.float32) * (0.5 / np.sqrt(DIMENSION))
    asked = vectors[dice.integers(0, count, QUESTIONS)] + noise
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    with one_server() as node:
        stores = SharedStores(replace(settings, url=node.url, timeout=60, quantization=None), lambda: "ledger")
        store = stores.open("large", DIMENSION, "world")
        rows = np.arange(count)
        points = rows << PASSAGE_BITS
        started = time.perf_counter()
        for begin in range(0, count, 4_096):
            part = points[begin : begin + 4_096]
            store.write(part.tolist(), vectors[begin : begin + 4_096], part.tolist(), [b"\0" * 16] * len(part))
        out: dict[str, Any] = {"writing, points a second": count / (time.perf_counter() - started)}
        out["until optimized, s"] = seconds_until_green(node.url)
        out["server's memory, MB"] = memory_mb(node.pid)
        out["disk, MB"] = disk_mb(node.folder)
        masks = {
            "all": np.ones(count, bool),
            "every sixth": rows % 6 == 0,
            "one month of 24": rows < count // 24,
            "4,000 by number": np.isin(rows, dice.permutation(count)[:4_000]),
        }
        for what, ask in {"reading all ids, s": store.get_points, "counting, s": lambda: store.count(1 << 62)}.items():
            started = time.perf_counter()
            ask()
            out[what] = time.perf_counter() - started
        print(json.dumps({f"{count} points": out}, indent=1), flush=True)
        for quantization in dict.fromkeys([None, settings.quantization]):
            out = {} if quantization is None else quantize(node, quantization)
            chosen = replace(settings, url=node.url, timeout=60, quantization=quantization)
            signal = Vectors(SharedStores(chosen, lambda: "ledger").open("large", DIMENSION, "world"), lambda keys: {})
            signal.load({"points": points, "hashes": np.zeros((count, 16), np.uint8), "rows": np.array([count])})
            for name, mask in masks.items():
                out[name] = search_figures(signal, vectors, asked, mask, node.pid)
            print(json.dumps({quantization or "whole": out}, indent=1), flush=True)
        node.kill()
        started = time.perf_counter()
        node.start(600)
        print(json.dumps({"starting again after a kill, s": time.perf_counter() - started}), flush=True)


def quantize(node: QdrantNode, quantization: str) -> dict[str, Any]:
    """Have the server quantise the vectors that it has."""
    from qdrant_client import QdrantClient

    kind = {"type": "int8", "always_ram": True} if quantization == "int8" else {"always_ram": True}
    config = {"scalar" if quantization == "int8" else "binary": kind}
    client = QdrantClient(url=node.url, check_compatibility=False)
    [name] = [each.name for each in client.get_collections().collections]
    client.update_collection(name, quantization_config=config)
    client.close()
    time.sleep(2)  # until the server has noticed that there is something to do
    return {"quantised after, s": seconds_until_green(node.url), "server's memory, MB": memory_mb(node.pid)}


def search_figures(signal: Vectors, vectors: Any, asked: Any, mask: Any, pid: int) -> dict[str, float]:
    """What a search of the nearest rows that the mask allows takes, and the share of them that it finds."""
    allowed, found, seconds, of_server = np.flatnonzero(mask), [], [], []
    for question in asked:
        query = Query("", mask, mask, vector=question)
        started, before = time.perf_counter(), cpu_seconds(pid)
        ranking = signal.rank(query, DEPTH)
        seconds.append(time.perf_counter() - started)
        of_server.append(cpu_seconds(pid) - before)
        best = allowed[np.argsort(-(vectors[allowed] @ question))[:DEPTH]]
        found.append(len(set(ranking.rows) & set(best.tolist())) / DEPTH)
    return {
        "ms": float(np.median(seconds)) * 1e3,
        "CPU ms of the server": float(np.mean(of_server)) * 1e3,
        "recall@50": float(np.mean(found)),
    }


# Spaces


def measure_spaces(count: int) -> None:
    """Fill many spaces of one collection, and use some of them."""
    points = 10
    vectors = clustered_vectors(np.random.default_rng(7), count * points)
    with one_server() as node:
        stores = SharedStores(Qdrant(node.url, timeout=60), lambda: "ledger")
        opened = [stores.open(f"space {number}", DIMENSION, "world") for number in range(count)]
        started = time.perf_counter()
        for number, store in enumerate(opened):
            store.upsert(range(points), vectors[number * points : (number + 1) * points])
        out: dict[str, Any] = {"writing, spaces a second": count / (time.perf_counter() - started)}
        out["until optimized, s"] = seconds_until_green(node.url)
        out["server's memory, MB"] = memory_mb(node.pid)
        chosen = np.random.default_rng(1).permutation(count)[:200].tolist()
        asks = {
            "search": lambda number: opened[number].search(vectors[number * points], points),
            "read all ids": lambda number: opened[number].ids(),
            "delete all": lambda number: opened[number].delete(list(range(points))),
        }
        for name, ask in asks.items():
            before, seconds = cpu_seconds(node.pid), []
            for number in chosen:
                started = time.perf_counter()
                found = ask(number)
                seconds.append(time.perf_counter() - started)
                if name == "search":  # its own nearest, and all of its own
                    assert found[0][0] == 0, found
                    assert sorted(found[0]) == list(range(points)), found
            out[name] = {
                "ms": float(np.median(seconds)) * 1e3,
                "CPU ms of the server": (cpu_seconds(node.pid) - before) / len(chosen) * 1e3,
            }
        left = [number for number in range(0, count, count // 200) if number not in chosen]
        assert all(len(opened[number].ids()) == points for number in left)
        assert not any(opened[number].ids() for number in chosen)
        print(json.dumps({f"{count} spaces": out}, indent=1), flush=True)


# Kills


WARDS = ("harbour", "garden")
WORKER = "import sys; sys.path[:0] = sys.argv[1].split(':'); from shared_qdrant import work; work(*sys.argv[2:])"


def work(location: str, settings: str, name: str) -> None:
    """Add, recall and erase until killed. Says what is about to be done, and what was acknowledged."""
    dice, count, living, erased = random.Random(name), 0, dict[str, str](), set[str]()

    def say(*what: object) -> None:
        os.write(1, (json.dumps(what) + "\n").encode())

    logging.disable(logging.WARNING)

    def one_call(space: remanence.Space, ward: str) -> None:
        nonlocal count
        verb = dice.choices(["add", "add_many", "erase", "recall"], [4, 1, 2, 4])[0]
        if verb == "erase" and living:
            memory = dice.choice(list(living))
            say("began", memory)
            space.child(living[memory]).erase(memory)
            say("erased", memory)
            del living[memory]
            erased.add(memory)
        elif verb == "recall":
            started = time.monotonic()
            answer = space.child(ward).recall("Who wrote the log?", signals=["vectors"], limit=20)
            for hit in answer:
                if hit.memory.space != f"{space.name}/{ward}" or ward not in hit.memory.text:
                    say("leaked", ward, hit.memory.text)
                if hit.memory.id in erased:
                    say("back", ward, hit.memory.id)
            say("recalled", time.monotonic() - started, answer.missing.get("vectors", ""))
        else:
            texts = []
            for _ in range(1 if verb == "add" else 5):
                count += 1
                texts.append(f"{name} wrote line {count} of the log of the {ward}.")
            for memory in space.child(ward).add_many(texts):
                living[memory.id] = ward
                say("added", memory.id, ward, memory.text)

    space: remanence.Space | None = None
    while True:
        try:
            if space is None:
                vectors = Qdrant(**json.loads(settings))
                space = remanence.open(location, embedder=HashingEmbedder(64), vectors=vectors)
            one_call(space, dice.choice(WARDS))
        except remanence.errors.LedgerUnavailable as error:
            say("refused", error.written)
            time.sleep(0.2)
        time.sleep(0.02)


class Worker:
    """A process that works, and what it has said."""

    def __init__(self, location: str, settings: str, name: str) -> None:
        path = ":".join(each for each in sys.path if each)
        self.name = name
        self.said: list[list[Any]] = []
        self.process = WarmProcess(WORKER, path, location, settings, name)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.said.append(json.loads(line))

    def kill(self) -> None:
        self.process.kill()
        self._reading.join()
        failed = "" if self.process.returncode in (None, -9) else self.process.stderr.read()
        self.process.wait()
        if failed:
            self.said.append(["failed", failed[-500:]])


class KillRun:
    """One run of kills."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given, self._dice = given, random.Random(given.seed)
        self._workers: list[Worker] = []
        self._ended: list[Worker] = []
        self._postgres: Server | None = None
        self._problems: Counter[str] = Counter()
        self._whole: dict[str, list[float]] = defaultdict(list)

    def run(self) -> bool:
        """Whether nothing was lost, came back or leaked."""
        with tempfile.TemporaryDirectory(prefix="shared-qdrant-", ignore_cleanup_errors=True) as name:
            folder, nodes = Path(name), self._given.nodes
            os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
            self._nodes = cluster(folder / "nodes", nodes) if nodes > 1 else [QdrantNode(folder / "node")]
            self._location = str(folder / "memory")
            try:
                logging.disable(logging.WARNING)  # that something does not answer
                if self._given.ledger == "postgres":
                    self._postgres = Server.create()
                    self._postgres.start(durable=True)
                    self._location = self._postgres.url()
                for node in self._nodes:
                    node.start()
                self._kill_and_compare()
            finally:
                for process in (*self._workers, *self._nodes):
                    process.kill()
                if self._postgres is not None:
                    self._postgres.remove()
        return not self._problems

    def _kill_and_compare(self) -> None:
        given = self._given
        self._settings = json.dumps(
            {
                "url": [node.url for node in self._nodes],
                "shards": 3 if given.nodes > 1 else None,
                "replicas": given.replicas,
                "write_consistency": given.consistency,
            }
        )
        with self._opened() as observer:
            for ward in WARDS:
                observer.child(ward).add(f"Nobody wrote line 0 of the log of the {ward}.")
            self._workers = [self._start_worker(number) for number in range(given.workers)]
            self._seconds_until_whole(observer)
            chosen = [each for each in given.on.split(",") if each != "postgres" or self._postgres is not None]
            for number in range(given.kills):
                time.sleep(self._dice.uniform(0.5, 2.0))
                self._kill(chosen[number % len(chosen)], observer)
            for worker in self._workers:
                worker.kill()
            self._ended += self._workers
            self._workers = []
            self._seconds_until_whole(observer)
            before = self._compare_replicas(observer)
        self._compare_ledger()
        with self._opened() as observer:
            after = self._compare_replicas(observer)
        self._report(before, after)

    def _opened(self) -> remanence.Space:
        return remanence.open(
            self._location, embedder=HashingEmbedder(64), vectors=Qdrant(**json.loads(self._settings))
        )

    def _start_worker(self, number: int) -> Worker:
        life = sum(each.name.startswith(f"W{number}.") for each in self._ended)
        return Worker(self._location, self._settings, f"W{number}.{life}")

    def _kill(self, what: str, observer: remanence.Space) -> None:
        started, pause = time.monotonic(), self._dice.uniform(0.0, 3.0)
        if what == "qdrant":
            node = self._dice.choice(self._nodes)
            node.kill()
            time.sleep(pause)
            node.start(0)
        elif what == "worker":
            number = self._dice.randrange(len(self._workers))
            self._workers[number].kill()
            self._ended.append(self._workers[number])
            self._workers[number] = self._start_worker(number)
        elif self._postgres is not None:
            self._postgres.stop()
            time.sleep(pause)
            self._postgres.start(durable=True)
        self._seconds_until_whole(observer)
        self._whole[what].append(time.monotonic() - started)

    def _seconds_until_whole(self, observer: remanence.Space) -> None:
        """Wait until recall has vectors in every space, and all replicas are active."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with suppress(remanence.errors.LedgerUnavailable):
                if all(each.answers() for each in self._nodes) and self._is_recovered():
                    wards = [observer.child(ward) for ward in WARDS]
                    if not any(ward.recall("Who wrote the log?", signals=["vectors"]).missing for ward in wards):
                        return
            time.sleep(0.1)
        self._problems["not whole after two minutes"] += 1

    def _is_recovered(self) -> bool:
        return len(self._nodes) == 1 or all(node.replicas_are_active() for node in self._nodes)

    # What is left

    def _said(self, kind: str) -> list[list[Any]]:
        return [line for worker in self._ended for line in worker.said if line[0] == kind]

    def _compare_ledger(self) -> None:
        """What was acknowledged is there, what was erased is not, and every index is that of its ledger."""
        for kind in ("leaked", "back", "failed"):
            for line in self._said(kind):
                self._problem(kind, line)
        added, erased = {line[1]: line for line in self._said("added")}, {line[1] for line in self._said("erased")}
        unsure = {line[1] for line in self._said("began")} - erased
        with self._opened() as space:
            space.verify()
            for ward in WARDS:
                here = space.child(ward)
                there = {memory.id for memory in here.memories()}
                mine = {memory for memory, line in added.items() if line[2] == ward}
                for memory in mine - erased - unsure - there:
                    self._problem("lost", added[memory])
                for memory in there & erased:
                    self._problem("back in the ledger", memory)
                if found := here.admin.check():
                    self._problem("index differs", found)

    def _compare_replicas(self, observer: remanence.Space) -> dict[str, int]:
        """How many points are missing and surplus, asking each node while another one is away."""
        found: Counter[str] = Counter()
        for away in self._nodes if len(self._nodes) > 1 else [None]:
            if away is not None:
                away.kill()
            for ward in WARDS:
                space = observer.child(ward)
                space.count()
                vectors = dict(observer._engine.indexes.items())[space.name].vectors
                expected = set(vectors.points.tolist())
                stored = self._stored(vectors._store)
                found["missing"] += len(expected - stored)
                found["surplus"] += len(stored - expected)
            if away is not None:
                away.start(0)
                self._seconds_until_whole(observer)
        return dict(found)

    def _stored(self, store: Any) -> set[int]:
        for _ in range(60):  # a cluster that has just lost a node may refuse for a moment
            try:
                return set(store.ids())
            except remanence.errors.ProjectionUnavailable:
                time.sleep(0.5)
        raise SystemExit("the nodes that are left do not answer")

    def _problem(self, kind: str, example: object) -> None:
        self._problems[kind] += 1
        if self._problems[kind] <= 3:
            print(f"{kind}: {example}", flush=True)

    def _report(self, before: dict[str, int], after: dict[str, int]) -> None:
        for kind, count in after.items():
            if count:
                self._problem(f"{kind} at a replica after opening", count)
        recalls = self._said("recalled")
        times = sorted(line[1] for line in recalls)
        print(
            json.dumps(
                {
                    "kills": {what: len(seconds) for what, seconds in self._whole.items()},
                    "seconds until whole, median and most": {
                        what: [round(float(np.median(seconds)), 1), round(max(seconds), 1)]
                        for what, seconds in self._whole.items()
                    },
                    "added": len(self._said("added")),
                    "erased": len(self._said("erased")),
                    "writes refused": Counter(str(line[1]) for line in self._said("refused")),
                    "recalls": len(recalls),
                    "recalls that said that vectors are missing": sum(bool(line[2]) for line in recalls),
                    "recall, seconds, median and most": [round(times[len(times) // 2], 3), round(times[-1], 1)],
                    "replicas before anybody opens again": before,
                    "problems": self._problems,
                },
                indent=1,
            ),
            flush=True,
        )


# Servers


@contextmanager
def one_server(**settings: object) -> Iterator[QdrantNode]:
    with tempfile.TemporaryDirectory(prefix="shared-qdrant-", ignore_cleanup_errors=True) as folder:
        node = QdrantNode(Path(folder), **settings)
        try:
            node.start()
            yield node
        finally:
            node.kill()


def memory_mb(pid: int) -> float:
    """Of a process, without files that it only maps."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) / 1e3


def disk_mb(folder: Path) -> float:
    """What the files of a server take, which may delete some meanwhile."""
    blocks = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                blocks += Path(parent, name).stat().st_blocks
    return blocks * 512 / 1e6


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def seconds_until_green(url: str) -> float:
    """Until the server has built what it builds in the background."""
    from qdrant_client import QdrantClient

    client, started = QdrantClient(url=url, check_compatibility=False), time.perf_counter()
    [name] = [each.name for each in client.get_collections().collections]
    while client.get_collection(name).status != "green":
        time.sleep(0.5)
    client.close()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()

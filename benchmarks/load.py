"""Many threads of several processes on one ledger at once: what each call costs, and whether anything goes wrong.

    python benchmarks/load.py                              # a minute in a folder, and a minute on PostgreSQL
    python benchmarks/load.py --seconds 10 --on folder
    python benchmarks/load.py --on postgresql://ana@db.example/test?schema=load
    python benchmarks/load.py --kills 200                  # in place of that: writers are killed at random

Each thread adds, revises, recalls, forgets, restores and erases in spaces that all threads of all processes share. At
the end the ledger is compared with what the calls have returned. Exits with 1 if a call failed, an entry is missing or
there twice, a recall had something of another space or something that was gone, an index differs from a fresh one, or a
file still has a text that was erased. The ledger that is used has to be empty. The reader is off.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("REMANENCE_READER", "none")
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

import figures
import remanence
from kill_runner import run_kills
from postgres_server import Server
from remanence import Space
from remanence.ledger import open_ledger
from remanence.testing import HashingEmbedder

SPACES = 6
TOPICS = ("harbour", "bakery", "museum", "bridge", "garden", "station", "library", "market")
VERBS = {"add": 30, "add_many": 5, "revise": 10, "recall": 35, "forget": 8, "unforget": 4, "erase": 8}
"""How often each verb is called, of a hundred calls."""


class Violations:
    """What went wrong, up to a few of each kind, and how often."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = defaultdict(list)

    def report(self, kind: str, example: object) -> None:
        self.counts[kind] += 1
        if len(self.examples[kind]) < 3:
            self.examples[kind].append(str(example))

    def lines(self) -> list[str]:
        return [f"{kind}: {count} times, such as {self.examples[kind][0]}" for kind, count in self.counts.items()]


def opened(location: str) -> Space:
    return remanence.open(location, embedder=HashingEmbedder(64))


def wards(space: Space) -> list[Space]:
    """The spaces that everybody uses."""
    return [space.child(f"ward{number}") for number in range(SPACES)]


# One thread


class Caller:
    """Calls one verb after the other. It forgets and erases only what it has added, so the end is known."""

    def __init__(self, name: str, spaces: Sequence[Space], violations: Violations) -> None:
        self._name, self._spaces, self._violations = name, spaces, violations
        self._random = random.Random(name)
        self._count = 0
        self._living: list[tuple[Space, str, str]] = []
        self._forgotten: list[tuple[Space, str, str]] = []
        self._gone: set[str] = set()
        self.written: list[tuple[str, str, str, str]] = []
        """The kind of each entry that was acknowledged, its space, its memory, and its text."""
        self.milliseconds: dict[str, list[float]] = defaultdict(list)

    def run(self, until: float, calls: int) -> None:
        verbs, weights = list(VERBS), list(VERBS.values())
        while time.monotonic() < until and (calls := calls - 1) >= 0:
            [verb] = self._random.choices(verbs, weights)
            try:
                getattr(self, f"_{verb}")(self._random.choice(self._spaces))
            except Exception as error:  # noqa: BLE001  (all of them are reported, with where they came from)
                where = traceback.extract_tb(error.__traceback__)[-1]
                self._violations.report("error", f"{verb}: {error!r} at {where.filename}:{where.lineno}")

    def _text(self, space: Space) -> str:
        self._count += 1
        ward = space.name.rpartition("/")[2]
        return f"Note {self._name}n{self._count} of {ward} is about the {self._random.choice(TOPICS)}."

    def _timed(self, verb: str, call: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        answer = call()
        self.milliseconds[verb].append((time.perf_counter() - began) * 1000)
        return answer

    def _wrote(self, kind: str, space: Space, memory: str, text: str) -> None:
        self.written.append((kind, space.name, memory, text))

    def _add(self, space: Space) -> None:
        text = self._text(space)
        self._added(space, self._timed("add", lambda: space.add(text)).id, text)

    def _add_many(self, space: Space) -> None:
        texts = [self._text(space) for _ in range(3)]
        added = self._timed("add_many of 3", lambda: space.add_many(texts))
        for memory, text in zip(added, texts, strict=True):
            self._added(space, memory.id, text)

    def _added(self, space: Space, memory: str, text: str) -> None:
        self._wrote("remembered", space, memory, text)
        self._living.append((space, memory, text))
        found = space.get(memory)
        if found is None or found.text != text:
            self._violations.report("own write not seen", f"{text!r}: {found!r}")

    def _revise(self, space: Space) -> None:
        """One memory of each space, which all threads of all processes revise."""
        text = self._text(space)
        memory = self._timed("revise", lambda: space.add(text, key="page"))
        self._wrote("remembered", space, memory.id, text)

    def _recall(self, space: Space) -> None:
        asked = self._random.choice(self._living)[2] if self._living else "harbour"
        home = next((home for home, _, text in self._living if text == asked), space)
        answer = self._timed("recall", lambda: home.recall(asked))
        ward = home.name.rpartition("/")[2]
        if answer.missing:
            self._violations.report("signal missing", answer.missing)
        for hit in answer:
            if hit.memory.space != home.name or f" of {ward} " not in hit.memory.text:
                self._violations.report("leak between spaces", f"{hit.memory.text!r} in {home.name}")
            if hit.memory.id in self._gone:
                self._violations.report("recalled after it was forgotten or erased", hit.memory.text)
        if asked != "harbour" and asked not in [hit.memory.text for hit in answer]:
            self._violations.report("own write not recalled", asked)

    def _forget(self, _: Space) -> None:
        if self._living:
            space, memory, text = taken = self._taken(self._living)
            self._timed("forget", lambda: space.forget(memory))
            self._wrote("forgotten", space, memory, text)
            self._forgotten.append(taken)
            self._gone.add(memory)

    def _unforget(self, _: Space) -> None:
        if self._forgotten:
            space, memory, text = taken = self._taken(self._forgotten)
            self._timed("unforget", lambda: space.unforget(memory))
            self._wrote("restored", space, memory, text)
            self._living.append(taken)
            self._gone.discard(memory)

    def _erase(self, _: Space) -> None:
        if self._living:
            space, memory, text = self._taken(self._living)
            self._timed("erase", lambda: space.erase(memory))
            self._wrote("erased", space, memory, text)
            self._gone.add(memory)

    def _taken(self, notes: list[tuple[Space, str, str]]) -> tuple[Space, str, str]:
        return notes.pop(self._random.randrange(len(notes)))


# One process


def work(location: str, name: str, threads: int, seconds: float, calls: int) -> dict[str, Any]:
    """Run the threads of one process, and say what they wrote and what went wrong."""
    violations = Violations()
    with opened(location) as space:
        spaces = wards(space)
        for each in spaces:
            each.recall("harbour")  # so that opening takes no part in the figures
        callers = [Caller(f"p{name}t{number}", spaces, violations) for number in range(threads)]
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.monotonic()
        running = [threading.Thread(target=caller.run, args=(began + seconds, calls)) for caller in callers]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        took = time.monotonic() - began
        print("done", flush=True)
        sys.stdin.readline()  # until all processes are done
        for each in spaces:
            for part, difference in each.admin.check().items():
                violations.report("index differs", f"{each.name}, {part}: {difference}")
    milliseconds: dict[str, list[float]] = defaultdict(list)
    for caller in callers:
        for verb, times in caller.milliseconds.items():
            milliseconds[verb] += times
    return {
        "written": [entry for caller in callers for entry in caller.written],
        "milliseconds": milliseconds,
        "seconds": took,
        "counts": violations.counts,
        "examples": violations.examples,
    }


def start_process(arguments: Sequence[str]) -> subprocess.Popen[str]:
    """A process of this program."""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, __file__, *arguments], stdin=pipe, stdout=pipe, text=True)


def run_processes(
    location: str, processes: int, threads: int, seconds: float, calls: int, start: Callable[[Sequence[str]], Any]
) -> list[dict[str, Any]]:
    """The results of that many processes, which begin at the same moment."""
    with opened(location) as space:
        if space.spaces():
            raise SystemExit(f"{space.admin.location} has memories: give the address of an empty ledger.")
    options = ["--threads", str(threads), "--seconds", str(seconds), "--calls", str(calls), "--on", location]
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        files = [Path(folder) / f"{number}.json" for number in range(processes)]
        running = [
            start([*options, "--worker", str(number), "--result", str(file)]) for number, file in enumerate(files)
        ]
        try:
            for expected in ("ready\n", "done\n"):
                for process in running:
                    assert process.stdout is not None
                    if process.stdout.readline() != expected:
                        raise SystemExit(f"process {process.pid} ended early, with {process.wait()}.")
                for process in running:
                    assert process.stdin is not None
                    process.stdin.write("go\n")
                    process.stdin.flush()
            if any(process.wait() for process in running):
                raise SystemExit("a process failed after its threads had ended.")
        finally:
            for process in running:
                if process.returncode is None:
                    process.kill()
                    process.communicate()
        return [json.loads(file.read_text()) for file in files]


# The end


def compare(location: str, written: Sequence[Sequence[str]], violations: Violations) -> int:
    """Compare the ledger with what was acknowledged. Returns how many entries it has."""
    entries = compare_entries(location, written, violations)
    last_act = {memory: kind for kind, _, memory, _ in written}
    texts = {memory: text for kind, _, memory, text in written if kind == "remembered"}
    homes = {memory: space for _, space, memory, _ in written}
    with opened(location) as space:
        for ward in wards(space):
            there = {memory.id: memory for memory in ward.memories()}
            living = (memory for memory, kind in last_act.items() if kind in ("remembered", "restored"))
            expected = {memory for memory in living if homes[memory] == ward.name}
            for memory in expected ^ there.keys():
                violations.report("memory missing" if memory in expected else "memory that should be gone", memory)
            for memory, found in there.items():
                if not found.key and found.text != texts.get(memory):
                    violations.report("text changed", f"{found.text!r}, not {texts.get(memory)!r}")
            for part, difference in ward.admin.check().items():
                violations.report("index differs", f"{ward.name}, {part}: {difference}")
        space.admin.compact()  # writes tables again whose unused space has erased text: under load others hold them
        wait_for_erasures(space, violations)
    erased = [texts[memory] for memory, kind in last_act.items() if kind == "erased"]
    if Path(location).is_dir():
        for file in (path for path in Path(location).rglob("*") if path.is_file()):
            content = file.read_bytes()
            for text in erased:
                if text.encode() in content:
                    violations.report("erased text in a file", f"{text!r} in {file}")
    return entries


def compare_entries(location: str, written: Sequence[Sequence[str]], violations: Violations) -> int:
    """Each acknowledged entry is there once, in its space, and no other is. Returns how many there are."""
    expected = Counter((kind, space, memory) for kind, space, memory, _ in written)
    erased = {memory for kind, _, memory, _ in written if kind == "erased"}
    found: Counter[tuple[str, str, str]] = Counter()
    ledger = open_ledger(location)
    for space in ledger.spaces():
        for entry in ledger.read(space):
            if entry.kind in ("remembered", "forgotten", "restored", "erased"):
                found[(entry.kind, space, entry.subject)] += 1
            if entry.kind == "remembered" and (entry.event is None) != (entry.subject in erased):
                violations.report("entry with text that was erased, or without its text", entry.position)
    entries, _ = ledger.verify()
    ledger.close()
    for entry in (expected - found).elements():
        violations.report("entry lost", entry)
    for entry in (found - expected).elements():
        violations.report("entry doubled or not acknowledged", entry)
    return entries


def wait_for_erasures(space: Space, violations: Violations, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while pending := space.audit.pending_erasures():
        if time.monotonic() > deadline:
            violations.report("erasure not finished", pending)
            return
        time.sleep(0.1)


# The report


def measure(
    location: str,
    processes: int,
    threads: int,
    seconds: float,
    calls: int,
    start: Callable[[Sequence[str]], Any] = start_process,
    recorded_as: str | None = None,
) -> bool:
    """Run everything on one ledger and print what came out; True if nothing went wrong."""
    results = run_processes(location, processes, threads, seconds, calls, start)
    took = max(result["seconds"] for result in results)
    violations = Violations()
    for result in results:
        violations.counts.update(result["counts"])
        for kind, examples in result["examples"].items():
            violations.examples[kind] += examples
    entries = compare(location, [entry for result in results for entry in result["written"]], violations)
    print(f"{threads} threads × {processes} processes for {took:.1f} s: {entries} entries")
    print(f"{'verb':16}{'calls':>9}{'a second':>10}{'p50 ms':>10}{'p99 ms':>10}{'most ms':>10}")
    measured: dict[str, dict[str, dict[str, float]]] = {}
    for verb in dict.fromkeys(verb for result in results for verb in result["milliseconds"]):
        times = sorted(each for result in results for each in result["milliseconds"].get(verb, ()))
        p50, p99, most = (times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.99, 1.0))
        print(f"{verb:16}{len(times):9}{len(times) / took:10.1f}{p50:10.1f}{p99:10.1f}{most:10.1f}")
        measured[verb] = {recorded_as or "": {"p50": p50, "p99": p99}}
    if recorded_as:
        figures.record("load", "python benchmarks/load.py", measured)
    for line in violations.lines() or ["no error, nothing lost or doubled, no leak, no difference"]:
        print(line)
    return not violations.counts


@contextmanager
def ledgers(on: Sequence[str]) -> Iterator[Iterator[tuple[str, str]]]:
    """Names and locations of empty ledgers: of new ones in a temporary folder and on a server of our own, or given."""
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        server: Server | None = None

        def each() -> Iterator[tuple[str, str]]:
            nonlocal server
            for name in on:
                if name == "folder":
                    yield "SQLite", str(Path(folder) / "memory")
                elif name == "postgres":
                    server = Server.create()
                    server.start(durable=True)
                    os.environ["XDG_CACHE_HOME"] = str(Path(folder) / "cache")
                    yield "PostgreSQL", server.url()
                else:
                    yield "the given ledger", name

        try:
            yield each()
        finally:
            if server is not None:
                server.remove()


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--seconds", type=float, default=60.0, help="how long the threads call")
    options.add_argument("--calls", type=int, default=sys.maxsize, help="of each thread, at most")
    options.add_argument("--threads", type=int, default=16, help="in each process")
    options.add_argument("--processes", type=int, default=4)
    options.add_argument("--on", action="append", help="'folder', 'postgres', or the location of an empty ledger")
    options.add_argument("--kills", type=int, help="kill writers so often instead, half of them on each ledger")
    options.add_argument("--seed", type=int, default=0, help="of the kills")
    options.add_argument("--record", action="store_true", help="write the figures to figures.json")
    options.add_argument("--worker", help=argparse.SUPPRESS)
    options.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.worker is not None:
        given.result.write_text(json.dumps(work(given.on[0], given.worker, given.threads, given.seconds, given.calls)))
        return
    on = given.on or ["folder", "postgres"]
    all_well = True
    with ledgers(on) as locations:
        for name, location in locations:
            print(f"\n{name}")
            if given.kills is None:
                recorded_as = name if given.record else None
                all_well &= measure(
                    location, given.processes, given.threads, given.seconds, given.calls, recorded_as=recorded_as
                )
            else:
                with tempfile.TemporaryDirectory(prefix="kills-") as folder:
                    outcome = run_kills(location, -(-given.kills // len(on)), given.seed, folder=Path(folder))
                print(outcome)
                all_well &= not outcome.violations
    sys.exit(not all_well)


if __name__ == "__main__":
    main()

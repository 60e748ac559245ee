"""What the REST server adds to a recall, how it answers many clients, and whether a slow request holds others up.

    python benchmarks/rest.py [--memories 2000] [--questions 200] [--clients 32] [--chroma PATH]
    python benchmarks/rest.py --reader [--questions 200] [--clients 20]

The server runs in a process of its own and notes how long the engine took for each recall, in time and in processor
time. What a client waits beyond that is what HTTP costs, its own part included; on a busy machine the processor time
says more. With `--chroma`, the path of the `chroma` program (pip install chromadb, best in an environment of its own),
Chroma's server answers as many clients with the same memories and the same vectors; it is given the vectors of the
questions, where Remanence embeds them itself. With `--reader`, only `remanence serve` with its default reader is
measured, on chat turns; otherwise the reader is off.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx

import figures
import remanence
from reader_speed import chat_turns

Figures = dict[str, float]
Measured = dict[str, dict[str, Figures]]
RECALL = "/v1/spaces/default/recall"
CHROMA = "/api/v2/tenants/default_tenant/databases/default_database/collections"
FIRST = ("Ana", "Bob", "Carla", "Dmitri", "Eva", "Farid", "Grace", "Hugo")
LAST = ("Abreu", "Berg", "Costa", "Duarte", "Evans", "Fischer", "Gomes", "Haas", "Ibarra", "Jansen", "Keller", "Lopez")
NAMES = [f"{first} {last}" for last in LAST for first in FIRST]
PLACES = ("Porto", "Lisbon", "Rome", "Oslo", "Kyoto", "Lima", "Accra", "Vienna")
WARM_UP = 20
SERVER = """
import json, sys, time
import remanence
from remanence_server import ServerSettings, serve

folder, port, log = sys.argv[1:]
spent = []
recall = remanence.View.recall

def timed(*args, **options):
    began = time.perf_counter(), time.process_time()
    try:
        return recall(*args, **options)
    finally:
        spent.append((time.perf_counter() - began[0], time.process_time() - began[1]))

def reader(question, texts):
    if "slowly" in question:
        time.sleep(3)
    return [0.5] * len(texts)

remanence.View.recall = timed
serve(remanence.open(folder, reader=reader), ServerSettings(port=int(port)))
with open(log, "w") as file:
    json.dump(spent, file)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memories", type=int, default=2_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--chroma", default=shutil.which("chroma"), help="the chroma program")
    parser.add_argument("--reader", action="store_true", help="only `remanence serve` with its reader")
    parser.add_argument("--record", action="store_true", help="write the figures to figures.json")
    args = parser.parse_args()
    if args.reader:
        measured = {"with the reader": _with_reader(args.questions, args.clients)}
    else:
        measured = _without_reader(args.memories, args.questions, args.clients, args.chroma)
    if args.record:
        figures.record("rest", "python benchmarks/rest.py", measured)


def _without_reader(memories: int, asked: int, clients: int, chroma: str | None) -> Measured:
    """What HTTP adds, many clients at once, and one slow request; and Chroma's server, if there is one."""
    os.environ["REMANENCE_READER"] = "none"
    questions = [f"Where did {NAMES[n % len(NAMES)]} go in {1990 + n % 30}?" for n in range(asked)]
    texts = [_memory(number) for number in range(memories)]
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name, "memory"), Path(name, "engine.json")
        with remanence.open(folder) as space:
            space.add_many(texts)
            vectors = space._embed([*texts, *questions]) if chroma else []
        with _process([sys.executable, "-c", SERVER, str(folder), "{port}", str(log)], "/readyz") as (url, process):
            measured = {"overhead": _overhead(url, process, log, questions)}
        with _process([sys.executable, "-c", SERVER, str(folder), "{port}", str(log)], "/readyz") as (url, _):
            bodies = [{"query": question} for question in questions]
            measured["many clients"] = {"Remanence": _many_clients("Remanence", f"{url}{RECALL}", bodies, clients)}
            measured["slow request"] = {"Remanence": _slow_request(url)}
        if chroma:
            measured["many clients"]["Chroma"] = _chroma(chroma, Path(name), texts, vectors, clients)
    return measured


def _with_reader(count: int, clients: int) -> dict[str, Figures]:
    """Clients of `remanence serve` that each ask one question after the other, no question twice."""
    turns, questions = chat_turns()
    bodies = [{"query": question, "now": now} for question, now in questions[: count + WARM_UP]]
    with tempfile.TemporaryDirectory() as folder:
        with remanence.open(folder) as space:
            space.add_turns(turns)
        command = [sys.executable, "-m", "remanence.cli", "serve", "--memory", folder, "--port", "{port}"]
        with _process(command, "/readyz") as (url, process):
            for body in bodies[:WARM_UP]:
                httpx.post(f"{url}{RECALL}", json=body, timeout=60).raise_for_status()
            used = _processor_seconds(process.pid)
            found = _many_clients("remanence serve", f"{url}{RECALL}", bodies[WARM_UP:], clients, each=clients)
            used = (_processor_seconds(process.pid) - used) / (len(bodies) - WARM_UP)
            print(f"processor time of the server: {_ms(used)} a recall")
    return {"remanence serve": found | {"processor ms": 1_000 * used}}


def _memory(number: int) -> str:
    name, place = NAMES[number % len(NAMES)], PLACES[(number // 8) % 8]
    return f"{name} went to {place} in {1990 + number % 30} and wrote note {number} there."


@contextmanager
def _process(command: Sequence[str], ready: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server in a process of its own; `{port}` in its command is a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([part.replace("{port}", str(port)) for part in command], stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while process.poll() is None:
            try:
                if httpx.get(f"{url}{ready}").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        else:
            raise SystemExit(f"{command[0]} ended with status {process.returncode}")
        yield url, process
    finally:
        process.terminate()
        process.wait(60)


def _overhead(url: str, process: subprocess.Popen[bytes], log: Path, questions: list[str]) -> dict[str, Figures]:
    """What two clients wait beyond the engine: ours, which makes a `Recall` of the answer, and httpx alone."""
    with remanence.connect(url) as space, httpx.Client(base_url=url) as client:
        clients: dict[str, Callable[[str], object]] = {
            "remanence.connect": space.recall,
            "httpx": lambda question: client.post(RECALL, json={"query": question}),
        }
        for warm in questions[:WARM_UP]:
            for ask in clients.values():
                ask(warm)
        waited: dict[str, list[tuple[float, float]]] = {name: [] for name in clients}
        used = _processor_seconds(process.pid)
        for question in questions:
            for name, ask in clients.items():
                began, began_processor = time.perf_counter(), time.process_time()
                ask(question)
                waited[name].append((time.perf_counter() - began, time.process_time() - began_processor))
        used = _processor_seconds(process.pid) - used
    process.send_signal(signal.SIGINT)
    process.wait(60)
    engine = json.loads(log.read_text())[len(clients) * WARM_UP :]
    alone = statistics.median(own for own, _ in engine)
    print(f"the engine alone, {len(engine)} recalls: median {_ms(alone)}")
    measured: dict[str, Figures] = {"engine": {"median ms": 1_000 * alone}}
    for place, (name, times) in enumerate(waited.items()):
        extra = sorted(whole - own for (whole, _), (own, _) in zip(times, engine[place :: len(clients)], strict=True))
        median, fastest = statistics.median(extra), extra[len(extra) // 10]
        own = statistics.median(processor for _, processor in times)
        print(
            f"beyond that over HTTP, by {name}: median {_ms(median)}, fastest tenth {_ms(fastest)}; "
            f"{_ms(own)} of processor time of the client"
        )
        measured[name] = {"median ms": 1_000 * median, "processor ms": 1_000 * own}
    beyond = (used - sum(processor for _, processor in engine)) / len(engine)
    print(f"processor time of the server beyond the engine: {_ms(beyond)} a recall")
    return measured | {"server": {"processor ms": 1_000 * beyond}}


def _many_clients(name: str, url: str, bodies: Sequence[object], clients: int, each: int = 10) -> Figures:
    """Ask with so many clients at once, each with every `each`th of the bodies."""

    def ask(number: int) -> list[tuple[int, float]]:
        found = []
        with httpx.Client(timeout=60) as client:
            for body in bodies[number % each :: each]:
                began = time.perf_counter()
                status = client.post(url, json=body).status_code
                found.append((status, time.perf_counter() - began))
        return found

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        answers = [answer for found in pool.map(ask, range(clients)) for answer in found]
    seconds = time.perf_counter() - began
    errors = sum(status != 200 for status, _ in answers)
    median, slowest = statistics.median(took for _, took in answers), max(took for _, took in answers)
    print(
        f"{name}, {clients} clients at once: {len(answers)} searches, {errors} errors, {len(answers) / seconds:.1f} a "
        f"second, median {_ms(median)}, slowest {_ms(slowest)}"
    )
    rate = len(answers) / seconds
    return {"clients": clients, "errors": errors, "a second": rate, "median ms": 1_000 * median}


def _slow_request(url: str) -> Figures:
    with httpx.Client(base_url=url, timeout=60) as client:
        slow = threading.Thread(target=client.post, args=(RECALL,), kwargs={"json": {"query": "Who went slowly?"}})
        slow.start()
        time.sleep(0.3)
        times = [_seconds(lambda: client.post(RECALL, json={"query": "Where did Ana go?"})) for _ in range(20)]
        writes = [
            _seconds(lambda n=n: client.post("/v1/spaces/default/memories", json={"text": f"Eva ran lap {n}."}))  # type: ignore[misc]
            for n in range(20)
        ]
        still = slow.is_alive()
        slow.join()
    recall, add = statistics.median(times), statistics.median(writes)
    print(
        f"while one recall waits 3 s for its reader ({'still waiting' if still else 'done'} afterwards): recall "
        f"{_ms(recall)}, add {_ms(add)} (medians)"
    )
    return {"recall ms": 1_000 * recall, "add ms": 1_000 * add}


def _chroma(program: str, folder: Path, texts: list[str], vectors: list[list[float]], clients: int) -> Figures:
    command = [program, "run", "--path", str(folder / "chroma"), "--port", "{port}"]
    with _process(command, "/api/v2/heartbeat") as (url, _), httpx.Client(base_url=url, timeout=60) as client:
        collection = client.post(CHROMA, json={"name": "memories"}).raise_for_status().json()["id"]
        for start in range(0, len(texts), 500):
            part = slice(start, min(start + 500, len(texts)))
            body = {"ids": [str(number) for number in range(part.start, part.stop)]}
            rows = body | {"documents": texts[part], "embeddings": vectors[part]}
            client.post(f"{CHROMA}/{collection}/add", json=rows).raise_for_status()
        bodies = [{"query_embeddings": [vector], "n_results": 10} for vector in vectors[len(texts) :]]
        query = f"{url}{CHROMA}/{collection}/query"
        times = [_seconds(lambda b=body: client.post(query, json=b).raise_for_status()) for body in bodies]  # type: ignore[misc]
        print(f"Chroma's server, one client: median {_ms(statistics.median(times))} (vectors given)")
        return _many_clients("Chroma", query, bodies, clients)


def _processor_seconds(pid: int) -> float:
    """How much processor time a process has used, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _ms(seconds: float) -> str:
    return f"{1_000 * seconds:.2f} ms"


if __name__ == "__main__":
    main()

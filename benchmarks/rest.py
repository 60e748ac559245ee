"""What the REST server adds to a recall, how it answers many clients, and whether a slow request holds others up.

    python benchmarks/rest.py [--memories 2000] [--questions 200] [--clients 32]

The server runs in a process of its own. The same questions are asked of the folder directly and over HTTP, in turn, so
that a busy machine slows both; the difference of the medians is what HTTP costs.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx

import remanence

RECALL = "/v1/spaces/default/recall"
NAMES = ("Ana", "Bob", "Carla", "Dmitri", "Eva", "Farid", "Grace", "Hugo")
PLACES = ("Porto", "Lisbon", "Rome", "Oslo", "Kyoto", "Lima", "Accra", "Vienna")
SLOW_READER = """
import time
import remanence
from remanence_server import ServerSettings, serve

def reader(question, texts):
    if "slowly" in question:
        time.sleep(3)
    return [0.5] * len(texts)

serve(remanence.open({folder!r}, reader=reader), ServerSettings(port={port}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memories", type=int, default=2_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--clients", type=int, default=32)
    args = parser.parse_args()
    os.environ["REMANENCE_READER"] = "none"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "memory")
        with remanence.open(folder) as space:
            space.add_many([_memory(number) for number in range(args.memories)])
        questions = [f"Where did {NAMES[n % 8]} go in year {1990 + n % 30}?" for n in range(args.questions)]
        with serving(folder) as url:
            _overhead(folder, url, questions)
            _many_clients(url, questions, args.clients)
            _slow_request(url)


def _memory(number: int) -> str:
    name, place = NAMES[number % 8], PLACES[(number // 8) % 8]
    return f"{name} went to {place} in {1990 + number % 30} and wrote note {number} there."


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A server in a process of its own, whose reader is slow when a question says so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", SLOW_READER.format(folder=str(folder), port=port)])
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                if httpx.get(f"{url}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def _overhead(folder: Path, url: str, questions: list[str]) -> None:
    def reader(question: str, texts: object) -> list[float]:
        return [0.5] * len(texts)  # type: ignore[arg-type]

    direct, over_http = [], []
    with remanence.open(folder, reader=reader, worker=False) as space, httpx.Client(base_url=url) as client:
        for warm in questions[:20]:
            space.recall(warm)
            client.post(RECALL, json={"query": warm})
        for question in questions:
            direct.append(_seconds(lambda q=question: space.recall(q)))  # type: ignore[misc]
            over_http.append(_seconds(lambda q=question: client.post(RECALL, json={"query": q}).content))  # type: ignore[misc]
    here, there = (1_000 * statistics.median(times) for times in (direct, over_http))
    print(
        f"recall, median of {len(questions)}: {here:.2f} ms directly, {there:.2f} ms over HTTP: +{there - here:.2f} ms"
    )


def _many_clients(url: str, questions: list[str], clients: int) -> None:
    def ask(number: int) -> list[int]:
        with httpx.Client(base_url=url, timeout=60) as client:
            own = questions[number % 10 :: 10]
            return [client.post(RECALL, json={"query": question}).status_code for question in own]

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        statuses = [status for found in pool.map(ask, range(clients)) for status in found]
    seconds = time.perf_counter() - began
    errors = sum(status != 200 for status in statuses)
    print(
        f"{clients} clients at once: {len(statuses)} recalls, {errors} errors, {len(statuses) / seconds:.0f} a second"
    )


def _slow_request(url: str) -> None:
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
    print(
        f"while one recall waits 3 s for its reader ({'still waiting' if still else 'done'} afterwards): recall "
        f"{1_000 * statistics.median(times):.2f} ms, add {1_000 * statistics.median(writes):.2f} ms (medians)"
    )


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()

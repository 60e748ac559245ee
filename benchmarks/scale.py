"""How one space grows: recall, add, open, memory and disk at each size, and which signal takes how much of a recall.

    python benchmarks/scale.py                                   10,000, 100,000 and 300,000 memories
    python benchmarks/scale.py --sizes 1000,10000 --json scale.json
    python benchmarks/scale.py --sizes 10000,100000,300000,1000000    an hour, and 8 GB of memory with the made-up world
    python benchmarks/scale.py --sizes 1000000 --folder ./large       keep the space, for
    python benchmarks/scale.py --sizes 1000000 --folder ./large --filled 1000000
    python benchmarks/scale.py --peers                           the same vectors in other stores, see `vector_peers.py`

One space is filled up to each size in turn and measured there. Times are CPU milliseconds of this process, medians over
the questions, without a reader. Vectors are looked up (see `world.py`), so that the embedder costs nothing. A bare
numpy product over the same vectors is timed beside: the ratio to it tells more than times on a busy machine do.

"recall@50" is the share of the 50 nearest memories of an exact scan that are found. "After a kill" opens a copy of the
folder that was made while the space was open; "with a twentieth missing" one to which a twentieth of its size was added
since the index file was written, which is as much as can be missing in that file. "Longest" is the longest recall, on
the clock, of a thread that asks while another adds 2,000 memories, the index file is written, the graph is built again
and the postings are packed.
"Stop" is how long the writer held the lock of the index at a time meanwhile, in its own CPU time, which other programs
lengthen less: readers wait for it.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from rich.console import Console
from rich.table import Table

import remanence
from remanence.index import arrays
from remanence.index.projection import Projection
from remanence.index.vectors.stores import edge
from vector_peers import DEPTH, Figures, cpu, measure_peers, median_ms
from world import BEGAN, NOW, Clock, Vectors, World, make_world

BATCH, BULK = 2_000, 20_000
FILTERS: dict[str, dict[str, Any]] = {
    "all": {},
    "kind": {"kinds": "viewpoint"},
    "tag": {"tags": "t5"},
    "during": {"during": ("2025-06-01", "2025-07-01")},
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sizes", default="10000,100000,300000")
    arguments.add_argument("--questions", type=int, default=60)
    arguments.add_argument("--folder", type=Path, help="where the space is kept; otherwise it is deleted at the end")
    arguments.add_argument("--filled", type=int, default=0, help="how many memories of this world are in it already")
    arguments.add_argument("--peers", action="store_true", help="also measure other vector stores that are installed")
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    sizes = sorted(int(size) for size in given.sizes.split(","))
    console = Console()
    world = make_world(sizes[-1], asked=given.questions, extra=40 * len(sizes))
    gc.freeze()  # the objects of the world are not searched by each garbage collection
    with tempfile.TemporaryDirectory() as temporary:
        figures = grow(world, sizes, given.folder or Path(temporary), console, given.filled, given.json)
    if given.peers:
        for size in sizes:
            figures[size] |= measure_peers(world.vectors[:size], world.asked)
    show(figures, console)
    if given.json is not None:
        given.json.write_text(json.dumps(figures, indent=1))


def grow(
    world: World, sizes: list[int], folder: Path, console: Console, filled: int = 0, to: Path | None = None
) -> dict[int, Figures]:
    """The figures of one space at each of these sizes."""
    embedder = world.embedder()
    clock = Clock()
    begin, out = filled, dict[int, Figures]()

    def opened(name: str = "space") -> remanence.Space:
        return remanence.open(folder / name, embedder=embedder, reader=None, clock=clock)

    def first_recall(name: str, row: str) -> tuple[remanence.Space, Figures]:
        started, cpu_started = time.perf_counter(), time.process_time()
        space = opened(name)
        space.recall(world.questions[0])
        took = time.process_time() - cpu_started
        return space, {f"{row}, CPU s": took, f"{row}, on the clock s": time.perf_counter() - started}

    space = opened()
    for number, size in enumerate(sizes):
        clock.moment = BEGAN
        found = out[size] = fill(space, world, begin, size)
        clock.moment = NOW
        found |= recalls(space, world)
        found |= vector_recall(space, world)
        found["numpy scan ms"] = scan(world.vectors[:size], world.asked)
        found["add ms"] = adds(space, world.extra[40 * number : 40 * number + 40])
        found |= longest_stop(space, world)
        shutil.copytree(folder / "space", folder / "killed")
        space.close()
        killed, took = first_recall("killed", "open after a kill")
        found |= took
        with mock.patch.object(Projection, "_save_in_background"):
            killed.add_many(again(world, size // 20, "Once more."))
        shutil.copytree(folder / "killed", folder / "late")
        killed.close()
        late, took = first_recall("late", "open after a kill with a twentieth missing")
        found |= took
        late.close()
        shutil.rmtree(folder / "killed")
        shutil.rmtree(folder / "late")
        space, took = first_recall("space", "open")
        found |= took
        found["memory MB"] = memory_mb()
        found["disk MB"] = sum(f.stat().st_blocks * 512 for f in (folder / "space").rglob("*") if f.is_file()) / 1e6
        begin = size
        console.print(f"[dim]{size:,} memories measured[/]")
        if to is not None:
            to.write_text(json.dumps(out, indent=1))
    space.close()
    return out


def fill(space: remanence.Space, world: World, begin: int, end: int) -> Figures:
    """Add these rows in batches; how many for each second of CPU."""
    spent, before, started = 0.0, resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for start in range(begin, end, BULK):
        rows = world.rows[start : min(start + BULK, end)]
        spent += cpu(lambda rows=rows: space.add_many([row for row in rows if "text" in row]))
        spent += cpu(lambda rows=rows: space.add_turns([row for row in rows if "text" not in row]))
    if begin == end:
        return {}
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "bulk add, for each CPU second of this process": (end - begin) / spent,
        "bulk add, for each CPU second with the child that reads ahead": (end - begin) / (spent + child),
        "bulk add, for each second on the clock": (end - begin) / (time.perf_counter() - started),
    }


def recalls(space: remanence.Space, world: World) -> Figures:
    """What a recall takes: under each filter, and with each signal alone."""
    for question in world.questions:
        space.recall(question)  # the first time reads dates and memories that the second finds at hand
    out = Figures()
    for name, options in FILTERS.items():
        out[f"recall {name} ms"] = ask(space, world, **options)
    for signal in ("vectors", "words", "graph", "times"):
        out[f"{signal} alone ms"] = ask(space, world, signals=[signal])
    return out


def ask(space: remanence.Space, world: World, **options: Any) -> float:
    return median_ms([cpu(lambda each=each: space.recall(each, **options)) for each in world.questions])


def vector_recall(space: remanence.Space, world: World) -> Figures:
    """The share of the 50 nearest memories of an exact scan that are found, under each filter."""

    def nearest() -> dict[str, list[set[str]]]:
        return {
            name: [
                {hit.memory.id for hit in space.recall(question, signals=["vectors"], limit=DEPTH, **options)}
                for question in world.questions
            ]
            for name, options in FILTERS.items()
        }

    found = nearest()
    with mock.patch.object(edge, "RESCORED", 10**12):
        exact = nearest()

    def share(name: str) -> float:
        pairs = zip(found[name], exact[name], strict=True)
        return float(np.mean([len(some & every) / max(len(every), 1) for some, every in pairs]))

    return {f"recall@50 {name}": share(name) for name in FILTERS}


def longest_stop(space: remanence.Space, world: World) -> Figures:
    """The longest recall while others write and everything is built again, and how long writers held the index."""
    longest, done = 0.0, threading.Event()

    def ask_on() -> None:
        nonlocal longest
        while not done.is_set():
            for question in world.questions[:10]:
                started = time.perf_counter()
                space.recall(question)
                longest = max(longest, time.perf_counter() - started)

    texts = again(world, BATCH, "Again.")
    with space._engine.open_index(space.name) as index:
        lock = index.lock = TimedLock()  # type: ignore[assignment]
        reader = threading.Thread(target=ask_on)
        reader.start()
        with mock.patch.object(arrays, "_MAX_TAIL", -(10**9)):
            for begin in range(0, BATCH, 100):
                space.add_many(texts[begin : begin + 100])
        with index.lock:
            index._save_in_background()
        if index._index_file is not None:
            index._index_file.wait()
        done.set()
        reader.join()
    return {"longest ms": longest * 1e3, "stop ms": max(lock.held[threading.get_ident()]) * 1e3}


def again(world: World, count: int, ending: str) -> list[dict[str, Any]]:
    """The first texts of the world as new ones, with another ending."""
    return [{"text": f"{text} {ending}"} for text in world.texts[:count]]


class TimedLock:
    """A lock that notes how long each thread held it, in CPU time of the thread."""

    def __init__(self) -> None:
        self.held: dict[int, list[float]] = {}
        self._lock, self._depth, self._since = threading.RLock(), 0, 0.0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._since = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.held.setdefault(threading.get_ident(), []).append(time.thread_time() - self._since)
        self._lock.release()


def scan(vectors: Vectors, asked: Vectors) -> float:
    """A bare product of all vectors with each question, and the best of it: what an exact search costs at least."""

    def search(question: Vectors) -> None:
        scores = vectors @ question
        np.argpartition(scores, -DEPTH)[-DEPTH:]

    return median_ms([cpu(lambda each=each: search(each)) for each in asked])


def adds(space: remanence.Space, texts: list[str]) -> float:
    return median_ms([cpu(lambda each=each: space.add(each)) for each in texts])


def memory_mb() -> float:
    """The memory of this process now where the system tells, else at most; with the vectors that are looked up."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return next(int(line.split()[1]) / 1e3 for line in status.splitlines() if line.startswith("VmRSS"))


def show(figures: dict[int, Figures], console: Console) -> None:
    table = Table("CPU time of one process", *(f"{size:,}" for size in figures), title="One space as it grows")
    for name in dict.fromkeys(name for found in figures.values() for name in found):
        table.add_row(name, *(f"{found[name]:,.2f}" if name in found else "" for found in figures.values()))
    console.print(table)


if __name__ == "__main__":
    main()

"""How one space grows: recall, add, open, memory and disk at each size, and which signal takes how much of a recall.

    python benchmarks/scale.py                                   10,000, 100,000 and 300,000 memories
    python benchmarks/scale.py --sizes 1000,10000 --json scale.json
    python benchmarks/scale.py --sizes 10000,100000,300000,1000000    an hour, and 4 GB of memory

One space is filled up to each size in turn and measured there. Times are CPU milliseconds of this process, medians over
the questions, without a reader. Vectors are looked up (see `world.py`), so that the embedder costs nothing. A bare
numpy product over the same vectors is timed beside: the ratio to it tells more than times on a busy machine do.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import remanence
from world import BEGAN, NOW, Clock, Lookup, Vectors, World, make_world

DEPTH = 50
BATCH = 2_000
FILTERS: dict[str, dict[str, Any]] = {
    "all": {},
    "kind": {"kinds": "viewpoint"},
    "tag": {"tags": "t5"},
    "during": {"during": ("2025-06-01", "2025-07-01")},
}
Figures = dict[str, float]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sizes", default="10000,100000,300000")
    arguments.add_argument("--questions", type=int, default=60)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    sizes = sorted(int(size) for size in given.sizes.split(","))
    console = Console()
    world = make_world(sizes[-1], asked=given.questions, extra=40 * len(sizes))
    with tempfile.TemporaryDirectory() as folder:
        figures = grow(world, sizes, Path(folder), console)
    show(figures, console)
    if given.json is not None:
        given.json.write_text(json.dumps(figures, indent=1))


def grow(world: World, sizes: list[int], folder: Path, console: Console) -> dict[int, Figures]:
    """The figures of one space at each of these sizes."""
    embedder = Lookup(world.texts + world.questions, np.concatenate((world.vectors, world.asked)))
    clock = Clock()
    begin, out = 0, dict[int, Figures]()

    def opened() -> remanence.Space:
        return remanence.open(folder / "space", embedder=embedder, reader=None, clock=clock)

    space = opened()
    for number, size in enumerate(sizes):
        clock.moment = BEGAN
        spent = fill(space, world, begin, size)
        clock.moment = NOW
        found = out[size] = {"bulk add /s": (size - begin) / spent}
        found |= recalls(space, world)
        found["numpy scan ms"] = scan(world.vectors[:size], world.asked)
        found["add ms"] = adds(space, world.extra[40 * number : 40 * number + 40])
        space.close()
        started = time.perf_counter()
        space = opened()
        space.recall(world.questions[0])
        found["open s"] = time.perf_counter() - started
        found["memory MB"] = memory_mb()
        found["disk MB"] = sum(f.stat().st_blocks * 512 for f in (folder / "space").rglob("*") if f.is_file()) / 1e6
        begin = size
        console.print(f"[dim]{size:,} memories measured[/]")
    space.close()
    return out


def fill(space: remanence.Space, world: World, begin: int, end: int) -> float:
    """Add these rows in batches; the CPU seconds that took."""
    spent = 0.0
    for start in range(begin, end, BATCH):
        rows = world.rows[start : min(start + BATCH, end)]
        spent += cpu(lambda rows=rows: space.add_many([row for row in rows if "text" in row]))
        spent += cpu(lambda rows=rows: space.add_turns([row for row in rows if "text" not in row]))
    return spent


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


def scan(vectors: Vectors, asked: Vectors) -> float:
    """A bare product of all vectors with each question, and the best of it: what an exact search costs at least."""

    def search(question: Vectors) -> None:
        scores = vectors @ question
        np.argpartition(scores, -DEPTH)[-DEPTH:]

    return median_ms([cpu(lambda each=each: search(each)) for each in asked])


def adds(space: remanence.Space, texts: list[str]) -> float:
    return median_ms([cpu(lambda each=each: space.add(each)) for each in texts])


def cpu(work: Callable[[], Any]) -> float:
    """The CPU seconds that it took, of all threads of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


def median_ms(seconds: list[float]) -> float:
    return float(np.median(seconds)) * 1e3


def memory_mb() -> float:
    """The memory of this process now where the system tells, else at most; with the vectors that are looked up."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return next(int(line.split()[1]) / 1e3 for line in status.splitlines() if line.startswith("VmRSS"))


def show(figures: dict[int, Figures], console: Console) -> None:
    table = Table("CPU time of one process", *(f"{size:,}" for size in figures), title="One space as it grows")
    for name in next(iter(figures.values())):
        table.add_row(name, *(f"{found[name]:,.1f}" for found in figures.values()))
    console.print(table)


if __name__ == "__main__":
    main()

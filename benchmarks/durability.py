"""What waiting for the disk costs: writes in a folder that wait until the disk has them, and in one that does not.

    python benchmarks/durability.py                       1,000 single adds, 10,000 memories in bulk
    python benchmarks/durability.py --folder /mnt/disk    on another disk

Times are those of a clock, as the disk takes most of the difference: the median of single adds, and the least of all
rounds for the bulk. The embedder is the one of the package for "fast", and the reader is off.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import defaultdict
from statistics import median

import figures
import remanence
from many_spaces import texts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--adds", type=int, default=1_000, help="how many are added one by one")
    options.add_argument("--bulk", type=int, default=10_000, help="how many are added at once")
    options.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    options.add_argument("--folder", help="where the folders are made, on the disk that is measured")
    options.add_argument("--record", action="store_true", help="write the figures to figures.json")
    given = options.parse_args()
    taken: dict[str, dict[bool, list[float]]] = {name: defaultdict(list) for name in ("add, ms", "bulk add, ms each")}
    rows, more = texts(given.bulk, seed=1), texts(given.adds, seed=2)
    for _ in range(given.rounds):
        for durable in (True, False):
            with (
                tempfile.TemporaryDirectory(dir=given.folder) as folder,
                remanence.open(folder, embedder="fast", reader=None, worker=False, durable=durable) as space,
            ):
                space.add("The first one loads the model.")
                for text in more:
                    began = time.perf_counter()
                    space.add(f"{text} Again.")
                    taken["add, ms"][durable].append((time.perf_counter() - began) * 1_000)
                began = time.perf_counter()
                space.add_many(rows)
                taken["bulk add, ms each"][durable].append((time.perf_counter() - began) * 1_000 / given.bulk)
    print(f"{given.adds:,} single adds and {given.bulk:,} in bulk, {given.rounds} rounds, {os.cpu_count()} cores")
    measured: dict[str, dict[str, float]] = {}
    for what, values in taken.items():
        of_all = median if what == "add, ms" else min
        measured[what] = {"durable": of_all(values[True]), "not durable": of_all(values[False])}
        print(f"{what:20} {measured[what]['durable']:8.3f} {measured[what]['not durable']:8.3f}")
    if given.record:
        figures.record("durability", "python benchmarks/durability.py", {"writes": measured})


if __name__ == "__main__":
    main()

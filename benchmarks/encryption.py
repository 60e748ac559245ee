"""What encryption costs: the same calls on a folder without a key and on an encrypted one, in turns in one run.

    python benchmarks/encryption.py                       10,000 memories
    python benchmarks/encryption.py --memories 1000 --rounds 3

Times are CPU times of this process, the least of all rounds: what other programs on the machine add is left out. The
embedder is the one of the package for "fast", and the reader is off.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import figures
import remanence
from many_spaces import QUESTIONS, texts
from remanence.transfer.overview import disk_usage

ADDS = 300
"""Single adds, after the bulk."""
RECALLS = 100
"""Recalls in an open space."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--memories", type=int, default=10_000, help="how many are added in bulk")
    options.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    options.add_argument("--record", action="store_true", help="write the figures to figures.json")
    given = options.parse_args()
    policies = {
        "plain": remanence.Policy(),
        "encrypted": remanence.Policy(encryption=remanence.Encryption(remanence.Encryption.new_key())),
    }
    taken: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in policies}
    measure(policies["encrypted"], 100, defaultdict(list))  # the first of all loads models and packages
    for _ in range(given.rounds):
        for name, policy in policies.items():
            measure(policy, given.memories, taken[name])
    print(f"{given.memories:,} memories, the least of {given.rounds} rounds, {os.cpu_count()} cores")
    measured: dict[str, dict[str, float]] = {}
    for what, values in taken["plain"].items():
        plain, encrypted = min(values), min(taken["encrypted"][what])
        measured[what] = {"plain": plain, "encrypted": encrypted, "ratio": encrypted / plain}
        print(f"{what:24} {plain:10.3f} {encrypted:10.3f}   x {encrypted / plain:.2f}")
    if given.record:
        figures.record("encryption", "python benchmarks/encryption.py", {f"{given.memories} memories": measured})


def measure(policy: remanence.Policy, memories: int, taken: dict[str, list[float]]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="encryption-"))
    rows, more = texts(memories, seed=1), texts(ADDS, seed=2)

    def opened() -> remanence.Space:
        return remanence.open(folder, embedder="fast", reader=None, policy=policy, worker=False)

    def first_recall() -> None:
        with opened() as space:
            space.recall(QUESTIONS[0])

    try:
        with opened() as space:
            taken["bulk add, ms each"].append(cpu_ms(lambda: space.add_many(rows)) / memories)
            taken["add, ms"].append(cpu_ms(lambda: [space.add(f"{text} Again.") for text in more]) / ADDS)
        taken["open, recall, ms"].append(cpu_ms(first_recall))
        with opened() as space:
            ask = [QUESTIONS[number % len(QUESTIONS)] for number in range(RECALLS)]
            taken["recall, ms"].append(cpu_ms(lambda: [space.recall(question) for question in ask]) / RECALLS)
            taken["verify, ms"].append(cpu_ms(space.verify))
        shutil.rmtree(folder / "index", ignore_errors=True)
        shutil.rmtree(folder / "vectors", ignore_errors=True)
        taken["open without index, ms"].append(cpu_ms(first_recall))
        taken["disk, MB"].append(sum(disk_usage(folder).values()) / 1e6)
    finally:
        shutil.rmtree(folder)


def cpu_ms(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return (time.process_time() - begin) * 1000


if __name__ == "__main__":
    main()

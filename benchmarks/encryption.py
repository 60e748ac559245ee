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
    given = options.parse_args()
    policies = {
        "plain": remanence.Policy(),
        "encrypted": remanence.Policy(encryption=remanence.Encryption(remanence.Encryption.new_key())),
    }
    figures: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in policies}
    measure(policies["encrypted"], 100, defaultdict(list))  # the first of all loads models and packages
    for _ in range(given.rounds):
        for name, policy in policies.items():
            measure(policy, given.memories, figures[name])
    print(f"{given.memories:,} memories, the least of {given.rounds} rounds, {os.cpu_count()} cores")
    for what, values in figures["plain"].items():
        plain, encrypted = min(values), min(figures["encrypted"][what])
        print(f"{what:24} {plain:10.3f} {encrypted:10.3f}   x {encrypted / plain:.2f}")


def measure(policy: remanence.Policy, memories: int, figures: dict[str, list[float]]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="encryption-"))
    rows, more = texts(memories, seed=1), texts(ADDS, seed=2)

    def opened() -> remanence.Space:
        return remanence.open(folder, embedder="fast", reader=None, policy=policy, worker=False)

    def first_recall() -> None:
        with opened() as space:
            space.recall(QUESTIONS[0])

    try:
        with opened() as space:
            figures["bulk add, ms each"].append(cpu_ms(lambda: space.add_many(rows)) / memories)
            figures["add, ms"].append(cpu_ms(lambda: [space.add(f"{text} Again.") for text in more]) / ADDS)
        figures["open, recall, ms"].append(cpu_ms(first_recall))
        with opened() as space:
            ask = [QUESTIONS[number % len(QUESTIONS)] for number in range(RECALLS)]
            figures["recall, ms"].append(cpu_ms(lambda: [space.recall(question) for question in ask]) / RECALLS)
            figures["verify, ms"].append(cpu_ms(space.verify))
        shutil.rmtree(folder / "index", ignore_errors=True)
        shutil.rmtree(folder / "vectors", ignore_errors=True)
        figures["open without index, ms"].append(cpu_ms(first_recall))
        figures["disk, MB"].append(sum(disk_usage(folder).values()) / 1e6)
    finally:
        shutil.rmtree(folder)


def cpu_ms(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return (time.process_time() - begin) * 1000


if __name__ == "__main__":
    main()

"""How many cores one process can use: the CPU of a recall with and without the reader, which frees the interpreter.

What runs without the reader holds the lock of the interpreter; the model runs outside of it. So the quotient of the two
says how many cores answer at once before the lock is the limit. CPU seconds are counted, so that other programs on the
machine matter little.

    python benchmarks/cores.py
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import figures
import remanence

NAMES = ("Ana", "Ben", "Cleo", "Dan", "Eva")
VERBS = (("bought", "buy"), ("sold", "sell"), ("likes", "like"), ("fixed", "fix"), ("lost", "lose"))
THINGS = (
    "a bike",
    "the red car",
    "green tea",
    "an old piano",
    "two cats",
    "a house in Porto",
    "a map",
    "the blue boat",
)


def main() -> None:
    """Print the milliseconds of CPU of a recall, and their quotient."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the figures to figures.json")
    options = parser.parse_args()
    with remanence.open(None, worker=False) as space:
        rows = enumerate(product(NAMES, VERBS, THINGS))
        space.add_many(f"{name} {told} {thing} on day {day}." for day, (name, (told, _), thing) in rows)
        questions = [
            f"What did {name} {asked} on day {day}?" for day, (name, (_, asked)) in enumerate(product(NAMES, VERBS))
        ]
        spent = {}
        for reader in ("small", "none"):
            space.recall("What is there?", reader=reader)
            begun = time.process_time()
            for question in questions:
                space.recall(question, reader=reader)
            spent[reader] = 1_000 * (time.process_time() - begun) / len(questions)
    print(f"with the reader {spent['small']:.1f} ms of CPU, without it {spent['none']:.1f} ms")
    print(f"one process can use {spent['small'] / spent['none']:.1f} cores")
    if options.record:
        measured = {
            "with the reader": spent["small"],
            "without": spent["none"],
            "cores": spent["small"] / spent["none"],
        }
        figures.record("cores", "python benchmarks/cores.py", {"recall": {"processor": measured}})


if __name__ == "__main__":
    main()

"""What each step of upkeep costs as a space grows, and finding near pairs.

    python benchmarks/upkeep_speed.py                           1,000, 10,000 and 100,000 memories
    python benchmarks/upkeep_speed.py --sizes 1000,10000 --json upkeep.json

Sentences are made of a few thousand plain English words, one in ten says what an earlier one said in other
words; the default embedder reads them. Seconds are of processor time, on one thread, so that a busy machine
changes little.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # before numpy is loaded

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import figures
import remanence
from remanence.models.embedders import resolve_embedder
from remanence.testing import FakeClock
from remanence.upkeep.steps.clusters import MAX_NEIGHBOURS
from remanence.upkeep.steps.near_pairs import Pairs, find_pairs
from world import Vectors

Figures = dict[str, float]

NAMES = "Alice Bob Carla Dmitri Elena Farid Grace Hiro Ines Jonas Kofi Lena Marco Nadia Oskar Priya".split()
PLACES = "Porto Lisbon Oslo Cairo Lima Quito Kyoto Dublin Prague Tunis Accra Bergen Hanoi Tartu".split()
VERBS = (
    "bought sold repaired painted borrowed lost found described cleaned measured photographed designed hid "
    "cooked planted ordered packed returned tested translated wrapped weighed drew rented broke inherited"
).split()
ADJECTIVES = (
    "old small red broken heavy expensive wooden quiet blue foreign shiny narrow dusty green antique rare "
    "cheap enormous fragile yellow secret borrowed polished crooked electric silent spare ancient tiny"
).split()
THINGS = (
    "bicycle violin kitchen letter garden camera boat lamp coat dictionary table map engine piano tent "
    "mirror clock ladder ring suitcase microscope carpet telescope guitar bread soup contract report invoice "
    "novel painting sofa radiator drill window roof fence keyboard battery tyre helmet kite drum candle "
    "blanket passport ticket recipe medal statue puzzle wallet umbrella basket hammer compass saddle canoe"
).split()
REASONS = (
    "for the wedding; because it rained; after a long argument; with great care; as a present for the "
    "neighbours; to save money; on the way home; for the exhibition; before the holidays; without telling "
    "anybody; for the third time; to everyone's surprise; as the doctor had advised; while the others slept; "
    "at the last minute; for a friend of the family; since nobody else would; to finish the project"
).split("; ")
TIMES = (
    "in spring; last winter; on a Monday; years ago; every week; yesterday evening; at noon; in 2019; "
    "in the holidays; one night; at dawn; in her youth; during the strike; after the flood"
).split("; ")


def sentences(count: int) -> list[str]:
    """So many sentences, all different; one in ten is an earlier one in other words."""
    dice = random.Random(count)
    out: dict[str, None] = {}
    told: list[tuple[str, ...]] = []
    while len(out) < count:
        again = bool(told) and dice.random() < 0.1
        parts = [NAMES, VERBS, ADJECTIVES, THINGS, PLACES, REASONS, TIMES]
        chosen = dice.choice(told) if again else tuple(map(dice.choice, parts))
        told.append(chosen)
        who, did, how, what, where, why, when = chosen
        text = f"{who} {did} the {how} {what} in {where} {why} {when}."
        out[f"{when.capitalize()}, {text.removesuffix(f' {when}.')}." if again else text] = None
    return list(out)


def measure(size: int, folder: Path) -> Figures:
    """Every figure for one size."""
    texts, clock, out = sentences(size), FakeClock("2026-01-01"), Figures()
    rows = [{"text": text, "kind": ("episode", "semantic")[n % 2]} for n, text in enumerate(texts)]
    with remanence.open(folder / str(size), reader=None, clock=clock) as space:
        space.add_many(rows)
        clock.advance(days=40)
        upkeep = space.upkeep
        for name, step in {
            "decay": upkeep.decay,
            "gc": upkeep.gc,
            "clusters": upkeep.clusters,
            "promote": upkeep.promote,
            "discover": upkeep.discover,
            "stats": space.admin.stats,
        }.items():
            out[f"{name} s"] = seconds(step)
        space.upkeep.run()
        space.add_many(f"{text} Really." for text in texts[:100])
        out["run with 100 new s"] = seconds(upkeep.run)
    vectors = np.asarray(resolve_embedder(None).embed(texts), np.float32)
    return out | near_pairs(vectors, upkeep.settings.cluster_similarity)


def near_pairs(vectors: Vectors, least: float) -> Figures:
    """How many pairs are near, and how long it takes to find them."""
    found: list[Pairs] = []
    taken = seconds(lambda: found.append(find_pairs(vectors, least, MAX_NEIGHBOURS)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"near pairs": len(found[0].score), "finding them s": taken, "peak memory MB": peak}


def seconds(work: Callable[[], object]) -> float:
    """Processor time."""
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--record", action="store_true", help="write the figures to figures.json")
    args = parser.parse_args()
    sizes = [int(size) for size in args.sizes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        measured = {size: measure(size, Path(folder)) for size in sizes}
    table = Table("", *(f"{size:,}" for size in sizes), title="upkeep, seconds of processor time")
    for name in next(iter(measured.values())):
        table.add_row(name, *(f"{measured[size][name]:,.2f}" for size in sizes))
    Console().print(table)
    if args.record:
        values = {name: {str(size): {"value": measured[size][name]} for size in sizes} for name in measured[sizes[0]]}
        figures.record("upkeep", "python benchmarks/upkeep_speed.py", values)
    if args.json:
        args.json.write_text(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main()

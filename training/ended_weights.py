"""Learn `src/remanence/models/ended_weights.tsv`: which of the memories of a profile have ended by now.

    python -m training.ended_weights FILES            writes the weights
    python -m training.ended_weights FILES --check    only says how well

What is shipped was learned from ../shared/chats/a.jsonl, b.jsonl and, so that what is durable stays,
benchmarks/cases/durable.dev.jsonl.

The files name the facts in each turn or note and which earlier facts end. A text has ended if all of its facts have.
The features are those that the profile itself uses. `--check` learns from one half and asks the other.
The reader was trained on the chats a and b. What it says of two lines is no better there than on other chats (area
under the curve 0.84, and 0.83 on c).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.profile import fill, read

import remanence
from remanence.recall.told_memories import ToldMemories
from remanence.recall.validity.ended import WEIGHTS, PairReader, ended_features
from remanence.schema import UTC

_PENALTY, _STEPS = 20.0, 30


def main() -> None:
    """Read the arguments, and learn or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    records = [record for file in options.files for record in read(file)]
    rows = [row for number, record in enumerate(records) for row in features(record, number)]
    if options.check:
        for half in (0, 1):
            weights = learn([row for row in rows if row[0] % 2 == half])
            other = [row for row in rows if row[0] % 2 != half]
            odds = [sum(weights[name] * value for name, value in found.items()) for _, found, _ in other]
            ended = np.array([ended for *_, ended in other])
            higher = np.array(odds)[ended][:, None] - np.array(odds)[~ended]
            print("AUC on the other half", round(float((higher > 0).mean() + (higher == 0).mean() / 2), 3))
        return
    lines = [f"{name}\t{weight:.4f}" for name, weight in learn(rows).items()]
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def features(record: dict[str, Any], number: int) -> Iterator[tuple[int, dict[str, float], bool]]:
    """For each text with facts that a profile looks at: the number of the record, the features, whether it ended."""
    with remanence.open(None, worker=False) as space:
        facts, ended = fill(space, record)
        engine = space._engine
        assert engine.reader is not None
        with engine.open_index(space.name) as index:
            told = ToldMemories().at(index, index.catalog.position, datetime.now(UTC))
        for each, reading in zip(told, PairReader().read(engine.reader, told), strict=True):
            if own := facts[each.memory.key]:
                yield number, ended_features(each, reading, told[-1].at), ended.issuperset(own)


def learn(rows: list[tuple[int, dict[str, float], bool]]) -> dict[str, float]:
    """The weights of a logistic regression, for features as they are."""
    names = [name for name in rows[0][1] if name != "constant"]
    values = np.array([[found[name] for name in names] for _, found, _ in rows])
    ended = np.array([ended for *_, ended in rows], float)
    mean, spread = values.mean(0), values.std(0) + 1e-6
    inputs = np.c_[np.ones(len(values)), (values - mean) / spread]
    penalty = np.diag([0.0] + [_PENALTY] * len(names))
    odds = np.zeros(len(names) + 1)
    for _ in range(_STEPS):  # Newton's method
        found = 1 / (1 + np.exp(-inputs @ odds))
        curvature = (inputs * (found * (1 - found))[:, None]).T @ inputs + penalty
        odds -= np.linalg.solve(curvature, inputs.T @ (found - ended) + penalty @ odds)
    weights = odds[1:] / spread
    return {"constant": float(odds[0] - weights @ mean), **dict(zip(names, weights.tolist(), strict=True))}


if __name__ == "__main__":
    main()

"""Learn the weights of `remanence.models.message_words`: what a turn tells, and how important it is.

    python training/turn_classes.py training/labels/*.jsonl      writes the weights
    python training/turn_classes.py training/labels/*.jsonl --check     only prints how well they tell turns apart

From ../shared/chats (a and b) come the kinds of the facts in each turn, from the labels, with a person and the
importance of each fact a line, how important they are; from training/projects the kinds of facts in notes. The check is
on c, which is not learned from. A logistic regression over the vectors of the default embedder.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.models.embedders import sentence_embedder
from remanence.models.turn_classes import CLASSES, FILE, OUTPUTS

HERE = Path(__file__).parent
PEOPLE = HERE.parents[1] / "shared" / "chats"
STEPS, RATE, RIDGE = 4_000, 0.5, 1e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path, nargs="*")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    importance = {
        row["person"]: {f["id"]: f["importance"] for f in row["facts"]} for p in options.labels for row in read(p)
    }
    rows = [*turns("a", importance), *turns("b", importance), *notes()]
    weights, biases = learn(rows)
    if options.check:
        report(list(turns("c", {})), weights, biases)
    else:
        rates = np.array([labels[: len(CLASSES)] for _, labels in rows]).mean(0)
        arrays = {"weights": weights, "biases": biases, "usual": np.log(rates / (1 - rates))}
        np.savez(FILE, **{name: values.astype(np.float32) for name, values in arrays.items()})


def turns(name: str, importance: dict[str, dict[str, int]]) -> Iterator[tuple[str, list[int]]]:
    """The turns that tell something, each with what it tells: 1, 0, or -1 if that is not known."""
    for person in read(PEOPLE / f"{name}.jsonl"):
        known = importance.get(person["person"], {})
        for turn in (turn for session in person["sessions"] for turn in session["turns"]):
            if turn.get("facts"):
                most = max((known.get(fact["id"], 0) for fact in turn["facts"]), default=0)
                yield (
                    turn["text"],
                    [*_kinds(turn["facts"]), int(most >= 2) if known else -1, int(most >= 3) if known else -1],
                )


def notes() -> Iterator[tuple[str, list[int]]]:
    """The same of notes about projects."""
    for file in sorted((HERE / "projects").glob("*.jsonl")):
        for note in (note for project in read(file) for note in project["notes"]):
            if note["facts"]:
                yield note["text"], [*_kinds(note["facts"]), -1, -1]


def _kinds(facts: list[dict[str, Any]]) -> list[int]:
    kinds = {"state" if fact["kind"] == "identity" else fact["kind"] for fact in facts}
    return [int(name in kinds) for name in CLASSES]


def learn(rows: list[tuple[str, list[int]]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights and biases of each output, by gradient descent."""
    vectors = np.asarray(sentence_embedder().embed([text for text, _ in rows]), np.float64)
    labels = np.array([label for _, label in rows])
    known = labels >= 0
    weights, biases = np.zeros((len(OUTPUTS), vectors.shape[1])), np.zeros(len(OUTPUTS))
    share = known / np.maximum(known.sum(0), 1)
    for _ in range(STEPS):
        gap = (1 / (1 + np.exp(-(vectors @ weights.T + biases))) - labels) * share
        weights -= 20 * RATE * (gap.T @ vectors + RIDGE * weights)
        biases -= RATE * gap.sum(0)
    return weights, biases


def report(rows: list[tuple[str, list[int]]], weights: NDArray[np.float64], biases: NDArray[np.float64]) -> None:
    odds = np.asarray(sentence_embedder().embed([text for text, _ in rows])) @ weights.T + biases
    labels = np.array([label for _, label in rows])
    for number, name in enumerate(CLASSES):
        yes, no = odds[labels[:, number] == 1, number], odds[labels[:, number] == 0, number]
        print(f"{name}: AUC {(yes[:, None] > no).mean():.3f} ({len(yes)} of {len(rows)})")
    best = np.argmax(odds[:, : len(CLASSES)], 1)
    print(f"the likeliest one is told: {labels[np.arange(len(rows)), best].mean():.0%}")


def read(path: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, path.read_text("utf-8").splitlines())


if __name__ == "__main__":
    main()

"""Learn the weights of `remanence.models.answer_check`: whether a sentence of an answer is supported by dated lines.

    python -m training.answer_check examples.npz            makes the features of the examples (half an hour on two
                                                            cores; once), learns and writes the weights
    python -m training.answer_check examples.npz --check    only prints how well sentences of others are told apart

The examples are those of training/material/answers.py. The last people of b are not learned from: the
constants were chosen on them and on 60 answers that a stranger wrote. Which sentences claim nothing is learned from
training/answers/no_claim.txt and the same facts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from training.material.answers import MEASURED, MINIMAL_SHARES, examples, people, to_user
from training.material.files import TRAINING

from remanence.models.answer_check import FILE, network_input
from remanence.models.embedders import sentence_embedder
from remanence.models.readers import default_reader
from remanence.recall.reader_lines import closer_in_time
from remanence.recall.sentence_features import Comparison

COUNT, MINIMAL, SEED = 1_798, 900, 5
"""How many examples are made, and how many of those that mostly differ in one thing."""
HIDDEN, RIDGE, RIDGE_ABOUT, RIDGE_CLAIMS = 8, 0.03, 0.001, 0.01
LESS_UNSUPPORTED = 0.8
"""By how much the log odds of "unsupported" are lowered: a third of the examples are, and fewer sentences of
answers."""
STEPS, RATE = 400, 0.02
DIGITS = 3
"""Digits of a weight after the point."""
Array = NDArray[np.float64]


class Row(NamedTuple):
    """The features of one example."""

    lines: Array
    whole: Array
    label: int
    line: int
    measured: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.features.exists():
        save(make_rows(), options.features)
    rows = load(options.features)
    learned, measured = ([row for row in rows if row.measured is kept] for kept in (False, True))
    weights = learn(learned)
    report(measured, weights)
    if not options.check:
        weights |= learn_claims()
        rounded = {name: np.round(values, DIGITS).tolist() for name, values in weights.items()}
        FILE.write_text(json.dumps(rounded, separators=(",", ":")) + "\n", "ascii")


def make_rows() -> list[Row]:
    """The features of the examples."""
    embed, reader, rows = sentence_embedder().embed, default_reader(), []
    of_b = [name for name, _ in people() if name.startswith("b ")]
    kept = {*of_b[-MEASURED:]}
    minimal = examples(MINIMAL, SEED + 1, shares=MINIMAL_SHARES, of_matters=0.0, facts=0.4)
    for person, example in (*examples(COUNT, SEED), *minimal):
        lines = closer_in_time(example.lines, example.asked_at)
        comparison = Comparison(lines, reader, embed, asked_at=example.asked_at)
        _, features, whole = comparison.features(example.sentence, embed([example.sentence])[0])
        rows.append(Row(features, whole, example.label, example.line, person in kept))
    return rows


def save(rows: Sequence[Row], file: Path) -> None:
    """Write rows of features."""
    np.savez_compressed(
        file,
        lines=np.concatenate([row.lines for row in rows]),
        counts=[len(row.lines) for row in rows],
        whole=np.array([row.whole for row in rows]),
        labels=[(row.label, row.line, row.measured) for row in rows],
    )


def load(file: Path) -> list[Row]:
    """Read rows of features."""
    with np.load(file) as stored:
        parts = np.split(stored["lines"], np.cumsum(stored["counts"])[:-1])
        return [
            Row(lines, whole, int(label), int(line), bool(measured))
            for lines, whole, (label, line, measured) in zip(parts, stored["whole"], stored["labels"], strict=True)
        ]


def learn(rows: Sequence[Row]) -> dict[str, Any]:
    """The weights for the lines, and of the network."""
    lines = np.concatenate([row.lines for row in rows])
    is_it = np.concatenate([np.arange(len(row.lines)) == row.line for row in rows])
    about, bias = logistic(lines, is_it.astype(np.float64), RIDGE_ABOUT)
    inputs = np.array([network_input(row.lines, row.whole, about, float(bias))[0] for row in rows])
    mean, deviation = inputs.mean(0), inputs.std(0) + 1e-3
    scaled, wanted = (inputs - mean) / deviation, np.eye(3)[[row.label for row in rows]]
    rng, size = np.random.default_rng(SEED), inputs.shape[1]
    start = [rng.normal(0, 0.6 / np.sqrt(size), (size, HIDDEN)), np.zeros(HIDDEN)]
    start += [rng.normal(0, 0.3, (HIDDEN, 3)), np.zeros(3)]

    def slopes(weights: list[Array]) -> list[Array]:
        inner, inner_bias, outer, outer_bias = weights
        hidden = np.tanh(scaled @ inner + inner_bias)
        odds = hidden @ outer + outer_bias
        shares = np.exp(odds - odds.max(1, keepdims=True))
        error = (shares / shares.sum(1, keepdims=True) - wanted) / len(wanted)
        back = (error @ outer.T) * (1 - hidden**2)
        return [scaled.T @ back + RIDGE * inner, back.sum(0), hidden.T @ error + RIDGE * outer, error.sum(0)]

    inner, inner_bias, outer, outer_bias = descend(start, slopes)
    return {
        "about": about,
        "about_bias": bias,
        "inner": inner / deviation[:, None],
        "inner_bias": inner_bias - (mean / deviation) @ inner,
        "outer": outer,
        "outer_bias": outer_bias - np.array([0.0, 0.0, LESS_UNSUPPORTED]),
    }


def learn_claims() -> dict[str, Any]:
    """The weights of a vector by which a sentence claims something."""
    nothing = (TRAINING / "answers" / "no_claim.txt").read_text("utf-8").splitlines()
    facts = [to_user(fact["text"]) for _, told in people() for turn in told for fact in turn.facts]
    claims = np.random.default_rng(SEED).choice(facts, 6 * len(nothing), replace=False).tolist()
    vectors = np.asarray(sentence_embedder().embed([*claims, *nothing]), np.float64)
    weights, bias = logistic(vectors, np.array([1.0] * len(claims) + [0.0] * len(nothing)), RIDGE_CLAIMS)
    return {"claims": weights, "claims_bias": bias}


def logistic(inputs: Array, wanted: Array, ridge: float) -> tuple[Array, float]:
    """Weights and bias of a logistic regression."""
    mean, deviation = inputs.mean(0), inputs.std(0) + 1e-6
    scaled = (inputs - mean) / deviation

    def slopes(weights: list[Array]) -> list[Array]:
        error = (1 / (1 + np.exp(-(scaled @ weights[0] + weights[1]))) - wanted) / len(wanted)
        return [scaled.T @ error + ridge * weights[0], np.array([error.sum()])]

    weights, bias = descend([np.zeros(inputs.shape[1]), np.zeros(1)], slopes)
    return weights / deviation, float(bias[0] - (weights * mean / deviation).sum())


def descend(weights: list[Array], slopes: Callable[[list[Array]], list[Array]]) -> list[Array]:
    """The weights after gradient descent by Adam: steps by the mean of the slopes and of their squares."""
    means = [np.zeros_like(each) for each in weights]
    squares = [np.zeros_like(each) for each in weights]
    for step in range(1, STEPS + 1):
        for number, slope in enumerate(slopes(weights)):
            means[number] = 0.9 * means[number] + 0.1 * slope
            squares[number] = 0.999 * squares[number] + 0.001 * slope**2
            mean, square = means[number] / (1 - 0.9**step), squares[number] / (1 - 0.999**step)
            weights[number] = weights[number] - RATE * mean / (np.sqrt(square) + 1e-8)
    return weights


def report(rows: Sequence[Row], weights: dict[str, Any]) -> None:
    """Print how often each verdict is right, and how many of those that it should be it finds."""
    said = []
    for row in rows:
        inputs, _ = network_input(row.lines, row.whole, weights["about"], float(weights["about_bias"]))
        hidden = np.tanh(inputs @ weights["inner"] + weights["inner_bias"])
        said.append(int((hidden @ weights["outer"] + weights["outer_bias"]).argmax()))
    for number, name in enumerate(("supported", "contradicted", "unsupported")):
        right = sum(row.label == number for row, each in zip(rows, said, strict=True) if each == number)
        count, all_of_it = said.count(number), sum(row.label == number for row in rows)
        print(f"{name}: {right} of {count} right, of {all_of_it}")


if __name__ == "__main__":
    main()

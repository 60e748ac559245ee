"""Whether dated lines support a sentence, contradict it or do not tell it, by features of both.

`answer_check.json` has the weights, learned by training/answer_check.py: how likely a line is about what a sentence
says, a small network that judges the sentence by the line that it is most likely about, and how likely a sentence
claims anything. The features are those of `recall/sentence_features.py`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REPLACED = 2
"""The place, among the features of a line, of the log odds that a later one replaces it, by the reader."""
MIN_SUCCESSOR, _MIN_UNMARKED = -2.0, -1.0
"""The log odds from which on a later line is about the same, so that it may have replaced the one before: if recall
said so, and if only this reading does. Chosen on the first 60 answers of "Checked answers" in docs/decisions.md."""
_NO_LINE = -5.0
"""The log odds that are taken for a further line, where there is none: those of a line about another matter."""
FILE = Path(__file__).with_suffix(".json")


class Judgement(NamedTuple):
    """What lines say of a sentence: three probabilities that add up to 1, and the line that says most about it."""

    supported: float
    contradicted: float
    unsupported: float
    line: int
    about: tuple[float, ...]
    """The log odds that each line is about what the sentence says."""
    successor: int | None
    """The place of a later line that seems to replace that one."""


def judge(lines: NDArray[np.float64], whole: NDArray[np.float64]) -> Judgement:
    """What lines say of a sentence, by a row of features for each line and those of the sentence."""
    weights = _weights()
    features, line = network_input(lines, whole, weights["about"], float(weights["about_bias"]))
    hidden = np.tanh(features @ weights["inner"] + weights["inner_bias"])
    odds = hidden @ weights["outer"] + weights["outer_bias"]
    shares = np.exp(odds - odds.max())
    supported, contradicted, unsupported = (shares / shares.sum()).tolist()
    about = lines @ weights["about"] + weights["about_bias"]
    later = about[line + 1 :]
    is_replaced = lines[line][_REPLACED] > 0 and later.max(initial=_NO_LINE) > _MIN_UNMARKED
    successor = line + 1 + int(later.argmax()) if is_replaced else None
    return Judgement(supported, contradicted, unsupported, line, tuple(about.tolist()), successor)


def network_input(
    lines: NDArray[np.float64], whole: NDArray[np.float64], about: NDArray[np.float64], bias: float
) -> tuple[NDArray[np.float64], int]:
    """The features of the line that the sentence is about, how sure that is, and the features of the sentence; and the
    place of that line."""
    odds = lines @ about + bias
    line = int(odds.argmax())
    others = np.delete(odds, line)
    later = odds[line + 1 :]
    sure = [
        float(odds[line]) / 4,
        float(others.max(initial=_NO_LINE)) / 4,
        float(1 / (1 + np.exp(-later.max(initial=_NO_LINE)))),
    ]
    return np.concatenate([lines[line], sure, whole]), line


def claim_probability(vector: NDArray[np.float32]) -> float:
    """The probability that a sentence claims something, by its vector of the default embedder: greetings, offers and
    advice do not."""
    weights = _weights()
    return float(1 / (1 + np.exp(-(weights["claims"] @ vector + weights["claims_bias"]))))


@cache
def _weights() -> dict[str, Any]:
    return {name: np.array(values, np.float64) for name, values in json.loads(FILE.read_text("ascii")).items()}

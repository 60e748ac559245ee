"""What a memory is, by its vector: a state, an event, a plan or a preference, and how important.

A table of weights (`turn_classes.npz`), learned by training/turn_classes.py from turns and notes that people labelled,
is multiplied with the vector of the default embedder. So for spaces with that embedder it costs nothing.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from remanence.models.embedders import sentence_embedder
from remanence.models.message_words import tells_probability
from remanence.schema import MemoryKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.ports import Vector

CLASSES = ("state", "event", "plan", "preference")
OUTPUTS = (*CLASSES, "moderate", "identity")
FILE = Path(__file__).with_name("turn_classes.npz")
_KINDS: dict[str, MemoryKind] = {"state": "semantic", "event": "episode", "plan": "episode", "preference": "viewpoint"}
_NOTHING = "nothing that lasts"
_LABELS = {"state": "what is so", "event": "what happened", "plan": "what is planned", "preference": "a preference"}
_MINOR, _MODERATE, _IDENTITY = 0.3, 0.6, 0.9
"""The importance, from 0 to 1, of what is minor, moderate, and of what defines who somebody is. Chosen by hand."""
_SHARE_OF_USUAL = 0.5
"""The share of what is usual that is left out when classes are compared: seven of ten turns tell a state, beside what
else they tell. Fitted on the labelled turns of training/turns: of turns that tell one thing, half of the events are
then called so and not a third, at no cost elsewhere."""
_MIN_IDENTITY, _MIN_MODERATE = 0.5, 0.5


class TurnClass(NamedTuple):
    """What a memory is, and how important, from 0 to 1."""

    kind: MemoryKind
    importance: float
    label: str = ""
    """The same in words: "what happened"."""

    @property
    def is_telling(self) -> bool:
        """Whether it tells something that lasts."""
        return self.label != _NOTHING


def classify_turn(
    text: str, vector: Vector | None = None, before: str = "", *, makes_claims: bool = False
) -> TurnClass:
    """What a chat turn or a text tells.

    Args:
        vector: Its vector by the default embedder; it is embedded if there is none.
        before: The turn before it.
        makes_claims: Whether it makes claims. Then it tells something, whatever its words.

    >>> classify_turn("I am allergic to peanuts.").kind, classify_turn("Yesterday we went to the zoo.").kind
    ('semantic', 'episode')
    """
    if not makes_claims and tells_probability(text, before) < 0.5:
        return TurnClass("episode", 0.1, _NOTHING)
    weights, biases, usual = _class_weights()
    odds = weights @ (sentence_embedder().embed([text])[0] if vector is None else vector) + biases
    name = CLASSES[int(np.argmax(odds[: len(CLASSES)] - _SHARE_OF_USUAL * usual))]
    moderate, identity = 1 / (1 + np.exp(-odds[len(CLASSES) :]))
    importance = _IDENTITY if identity >= _MIN_IDENTITY else _MODERATE if moderate >= _MIN_MODERATE else _MINOR
    return TurnClass(_KINDS[name], importance, _LABELS[name])


def class_probabilities(vector: Vector) -> dict[str, float]:
    """The probability of each class, and that a memory is of moderate importance, and that it is who somebody is."""
    weights, biases, _ = _class_weights()
    odds = 1 / (1 + np.exp(-(weights @ vector + biases)))
    return dict(zip(OUTPUTS, odds.tolist(), strict=True))


@cache
def _class_weights() -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """The weights and biases of the log odds, and the usual log odds of each class."""
    with np.load(FILE) as stored:
        return stored["weights"], stored["biases"], stored["usual"]

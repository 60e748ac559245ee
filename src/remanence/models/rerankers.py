"""Rerankers: models that score question and text together.

That says more than comparing two vectors, and costs tens of milliseconds for each text. So only the first hits are
reranked, and only if a reranker was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from remanence.errors import InvalidInput
from remanence.models.onnx_models import OnnxSession, open_session
from remanence.ports import Reranker

_ATTRIBUTES = ("fingerprint", "weight", "calibrated")


class CrossEncoder:
    """A model that was trained to score how well a text answers a question.

    `weight` is how much of the order is its own. The rest is that of the signals, which use speakers, times and
    relations. Both together do better than either alone (benchmarks/README.md). If the `score_scale` of the model is
    known, its scores are `calibrated`: they mean the same in every list.
    """

    weight = 0.4

    def __init__(self, session: OnnxSession) -> None:
        self._session, self._score_scale = session, session.model.score_scale
        self.calibrated = self._score_scale is not None
        self.fingerprint = f"{session.model.name}:{session.fingerprint(self.weight, self._score_scale)}"

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, higher is better; from 0 to 1 if it is calibrated."""
        logits = np.array([self._session.run(question, text).ravel()[-1] for text in texts], np.float64)
        if self._score_scale is not None:
            logits = (1 + np.tanh(logits / (2 * self._score_scale))) / 2
        scores: list[float] = logits.tolist()
        return scores


class FunctionReranker:
    """A function as a reranker: it decides the order alone, and its scores may have any scale."""

    weight = 1.0
    calibrated = False

    def __init__(self, function: Callable[[str, Sequence[str]], Sequence[float]]) -> None:
        self._function = function
        self.fingerprint = getattr(function, "__qualname__", type(function).__name__)

    def __call__(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        return self._function(question, texts)


def resolve_reranker(reranker: object) -> Reranker | None:
    """The reranker for a name, a folder, an object or a function. Nothing is downloaded."""
    if reranker is None or isinstance(reranker, Reranker):
        return reranker
    if isinstance(reranker, (str, Path)):
        return CrossEncoder(open_session(str(reranker), "reranker"))
    missing = [name for name in _ATTRIBUTES if not hasattr(reranker, name)]
    if callable(reranker) and len(missing) < len(_ATTRIBUTES):
        raise InvalidInput(f"The reranker {reranker!r} has no {missing[0]!r}: see remanence.ports.Reranker.")
    if callable(reranker):
        return FunctionReranker(reranker)
    raise InvalidInput(
        f"The reranker is {reranker!r}. Give a name as `remanence models list` shows it, a folder with "
        "model.onnx and tokenizer.json, or a function from a question and texts to a score for each."
    )

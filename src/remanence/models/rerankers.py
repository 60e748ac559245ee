"""A second look at the first few hits: by a model of the catalogue, or by a function of the user's.

A reranker reads question and text together, which says more than their two vectors, and costs tens of
milliseconds for each text. So it is asked for the first few only, and only if one was given.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput
from remanence.schema import SELF, Evidence, Hit, Memory

if TYPE_CHECKING:
    from remanence.models.onnx_session import OnnxSession
    from remanence.ports import Reranker

log = logging.getLogger(__name__)

RERANKED_HITS = 30
"""How many hits are read again."""


class CrossEncoder:
    """A model that was trained to say how well a text answers a question.

    `share` is how much of the order is its own; the rest is that of the signals, which know who spoke, when,
    and what it is tied to. Both together do better than either alone (benchmarks/README.md). Where the
    `width` of its scores is known, they are `calibrated`: they mean the same in every list, so that one in
    which nothing answers is not turned around.

    >>> again = CrossEncoder.from_catalogue("ms-marco-MiniLM-L-12-v2")                       # doctest: +SKIP
    >>> again("Where does Alice live?", ["Alice moved to Porto.", "It rained."])    # doctest: +SKIP
    [0.6, 0.06]
    """

    weight = 0.4

    def __init__(self, name: str, session: OnnxSession, width: float | None = None) -> None:
        self._session, self._width = session, width
        self.calibrated = width is not None
        self.fingerprint = f"{name}:{session.fingerprint(self.weight, width)}"

    @classmethod
    def from_catalogue(cls, name: str) -> CrossEncoder:
        """A model of the catalogue, from the cache folder. It is never downloaded here."""
        from remanence.models.catalogue import MODELS
        from remanence.models.onnx_session import OnnxSession

        session = OnnxSession.from_catalogue(name, "reranker")
        return cls(name, session, MODELS[name].score_scale)

    @classmethod
    def from_folder(cls, place: Path) -> CrossEncoder:
        """A cross-encoder of one's own: a folder with model.onnx and tokenizer.json."""
        from remanence.models.catalogue import RERANKER_MAX_TOKENS, ModelSpec
        from remanence.models.onnx_session import OnnxSession

        name = place.resolve().name
        return cls(name, OnnxSession.from_folder(ModelSpec(name, "reranker", max_tokens=RERANKER_MAX_TOKENS), place))

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, higher is better; from 0 to 1 if it is calibrated."""
        said = np.array([self._session.run(question, text).ravel()[-1] for text in texts], np.float64)
        if self._width is not None:
            said = (1 + np.tanh(said / (2 * self._width))) / 2
        scores: list[float] = said.tolist()
        return scores


def resolve_reranker(reranker: str | Path | Reranker | None) -> Reranker | None:
    """The reranker that was meant. Nothing is downloaded.

    >>> resolve_reranker(None)
    >>> resolve_reranker(len) is len
    True
    >>> resolve_reranker("bm25")
    Traceback (most recent call last):
        ...
    remanence.errors.InvalidInput: No reranker is called 'bm25'. Known: ms-marco-MiniLM-L-12-v2.
    """
    if isinstance(reranker, (str, Path)):
        if (place := Path(reranker).expanduser()).is_dir():
            return CrossEncoder.from_folder(place)
        return CrossEncoder.from_catalogue(str(reranker))
    if reranker is not None and not callable(reranker):
        raise InvalidInput(
            f"The reranker is {reranker!r}. Give a name as `remanence models list` shows it, a folder with "
            "model.onnx and tokenizer.json, or a function from a question and texts to a score for each."
        )
    return reranker


def as_read(memory: Memory) -> str:
    """What a reranker is given of a memory. A turn without its speaker says little about anybody."""
    if memory.turn is None:
        return memory.text
    return f"{'user' if memory.turn.speaker == SELF else memory.turn.speaker}: {memory.text}"


def rerank_hits(hits: tuple[Hit, ...], question: str, reranker: Reranker) -> tuple[tuple[Hit, ...], dict[str, str]]:
    """The hits in the order that the reranker has a share in, each with what it said; the scores stay where
    they are. One that fails costs its order, not the answer, and is named with the reason."""
    if not hits:
        return hits, {}
    try:
        given = np.asarray(reranker(question, [as_read(hit.memory) for hit in hits]), np.float64)
        if given.shape != (len(hits),) or not np.isfinite(given).all():
            raise ValueError(f"it gave {given.shape} scores for {len(hits)} texts, or one that is no number")
        share = getattr(reranker, "weight", 1.0)
        if not 0 <= share <= 1:
            raise ValueError(f"its weight is {share!r}, not a number from 0 to 1")
        calibrated = bool(getattr(reranker, "calibrated", False))
        if calibrated and not (given.min() >= 0 and given.max() <= 1):
            raise ValueError(f"it is calibrated, yet gave {given.min():.2f} to {given.max():.2f}, not 0 to 1")
    except Exception as error:  # noqa: BLE001  -- it is the caller's code, and anything may come out of it
        log.warning("recall goes on without the reranker: %s", error)
        return hits, {"reranker": f"{type(error).__name__}: {error}"}
    scores = np.array([hit.score for hit in hits])
    order = _in_truth(hits, blended_order(scores, given, share, calibrated=calibrated).tolist())
    rank_of = np.argsort(np.argsort(-given, kind="stable")).tolist()
    out = []
    for place, score in zip(order, scores.tolist(), strict=True):
        raw = float(given[place])
        said = Evidence("reranker", rank_of[place] + 1, 0.0, raw, f"read again: {raw:.2f}")
        out.append(replace(hits[place], score=score, evidence=(*hits[place].evidence, said)))
    return tuple(out), {}


def _in_truth(hits: Sequence[Hit], order: list[int]) -> list[int]:
    """The same order, but that what was replaced comes right behind what took its place."""
    place_of = {hit.memory.id: place for place, hit in enumerate(hits) if hit.current}
    behind: dict[int, list[int]] = {}
    for place in order:
        later = hits[place].superseded_by
        if later is not None and place_of.get(later.id, place) < place:
            behind.setdefault(place_of[later.id], []).append(place)
    moved = {place for some in behind.values() for place in some}
    return [each for place in order if place not in moved for each in (place, *behind.get(place, ()))]


def blended_order(
    scores: NDArray[np.float64], reranker_scores: NDArray[np.float64], weight: float, *, calibrated: bool = False
) -> NDArray[np.intp]:
    """The places of the first few in their new order, of which `share` is the reranker's.

    Scores that are not calibrated may have any scale, so the least counts for nothing and the best for one;
    those of the signals go on from nothing to the best, so that near ties among them stay near.

    >>> blended_order(np.array([0.9, 0.8, 0.1]), np.array([-1.0, 4.0, 3.0]), weight=0.5).tolist()
    [1, 0, 2]
    """
    theirs = reranker_scores
    if not calibrated:
        reach = reranker_scores.max() - reranker_scores.min()
        theirs = (reranker_scores - reranker_scores.min()) / reach if reach > 0 else np.zeros_like(reranker_scores)
    ours = scores / scores[0] if scores[0] > 0 else scores
    return np.argsort(-(weight * theirs + (1 - weight) * ours), kind="stable")

"""A second look at the first few hits: by a model of the catalogue, or by a function of the user's.

A reranker reads question and text together, which says more than their two vectors, and costs tens of
milliseconds for each text. So it is asked for the first few only, and only if one was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput
from remanence.model import SELF, Memory

if TYPE_CHECKING:
    from remanence.models.session import Session
    from remanence.ports import Reranker


class CrossEncoder:
    """A model that was trained to say how well a text answers a question.

    `share` is how much of the order is its own; the rest is that of the signals, which know who spoke, when,
    and what it is tied to. Half and half does better than either alone (benchmarks/README.md).

    >>> again = CrossEncoder.known("ms-marco-MiniLM-L-12-v2")                       # doctest: +SKIP
    >>> again("Where does Alice live?", ["Alice moved to Porto.", "It rained."])    # doctest: +SKIP
    [1.6, -11.1]
    """

    share = 0.5

    def __init__(self, name: str, session: Session) -> None:
        self._session = session
        self.fingerprint = f"{name}:{session.fingerprint(self.share)}"

    @classmethod
    def known(cls, name: str) -> CrossEncoder:
        """A model of the catalogue, from the cache folder. It is never downloaded here."""
        from remanence.models.session import Session

        return cls(name, Session.known(name, "reranker"))

    @classmethod
    def folder(cls, place: Path) -> CrossEncoder:
        """A cross-encoder of one's own: a folder with model.onnx and tokenizer.json."""
        from remanence.models.catalogue import RERANKED_TOKENS, Model
        from remanence.models.session import Session

        name = place.resolve().name
        return cls(name, Session.folder(Model(name, "reranker", max_tokens=RERANKED_TOKENS), place))

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, higher is better."""
        return [float(self._session.run(question, text).ravel()[-1]) for text in texts]


def resolve(reranker: str | Path | Reranker | None) -> Reranker | None:
    """The reranker that was meant. Nothing is downloaded.

    >>> resolve(None)
    >>> resolve(len) is len
    True
    >>> resolve("bm25")
    Traceback (most recent call last):
        ...
    remanence.errors.InvalidInput: No reranker is called 'bm25'. Known: ms-marco-MiniLM-L-12-v2.
    """
    if isinstance(reranker, (str, Path)):
        if (place := Path(reranker).expanduser()).is_dir():
            return CrossEncoder.folder(place)
        return CrossEncoder.known(str(reranker))
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


def reordered(scores: NDArray[np.float64], given: NDArray[np.float64], share: float) -> NDArray[np.intp]:
    """The places of the first few in their new order, of which `share` is the reranker's.

    Its scores may have any scale, so its least counts for nothing; those of the signals go on from nothing
    to the best, so that near ties among them stay near.

    >>> reordered(np.array([0.9, 0.8, 0.1]), np.array([-1.0, 4.0, 3.0]), share=0.5).tolist()
    [1, 0, 2]
    """
    reach = given.max() - given.min()
    theirs = (given - given.min()) / reach if reach > 0 else np.zeros_like(given)
    ours = scores / scores[0] if scores[0] > 0 else scores
    return np.argsort(-(share * theirs + (1 - share) * ours), kind="stable")

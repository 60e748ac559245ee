"""Part of the reading step: memories that answer a question only together with another one.

"Stripe uses PostgreSQL" does not answer "Which database does the company Ana works for use?" by itself, but after "Ana
works at Stripe" it does. So hits that share a name which the question lacks are read one after the other. The second
one counts as the answer if both together are a better one than each alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index
from remanence.language.lexicon.word_lists import is_common_word
from remanence.language.text import normalize_name, split_words
from remanence.ports import Reader
from remanence.schema import SELF, Hit

CONVINCING = 0.95
"""If a hit alone answers with this probability, no chains are read: most questions need none."""
MAX_CHAINS = 8
MIN_GAIN = 0.5
"""By how much a chain must be a better answer than each of its parts, in log odds."""
_FIRST_HITS = 6
"""A chain begins with one of the first hits, up to this many."""
_ANSWERS_ALONE = 0.5
"""A hit with a higher probability begins a chain only if the question names somebody or something in it. Otherwise the
two may answer together only because the first one does."""
_CHAIN_WORDS = 60
_MIN_PROBABILITY = 0.2
_MIN_PART = 3


class Link(NamedTuple):
    """Two hits that share a name, by their places, and whether the question names something in the first."""

    first: int
    last: int
    is_asked_about: bool


class Chain(NamedTuple):
    """A hit that answers after another one, by their places, and with which probability."""

    first: int
    last: int
    probability: float


def linked_hits(index: Index, rows: Sequence[int], hits: Sequence[Hit], question: str) -> list[Link]:
    """The pairs of hits that share a name which the question lacks, or a distinctive word of it ("Jones"), in both
    orders. `rows` are those of the first hits, and the others are left out. Use it with the lock of the index."""
    asked = set(split_words(normalize_name(question)))
    words = [set(split_words(normalize_name(hit.memory.text))) for hit in hits[: len(rows)]]
    named = [_distinctive_words(index, row) for row in rows[: len(hits)]]
    new = [names - asked for names in named]
    return [
        Link(first, last, not named[first].isdisjoint(asked))
        for first in range(min(_FIRST_HITS, len(new)))
        for last in range(len(new))
        if first != last and (new[first] & words[last] or new[last] & words[first])
    ]


def _distinctive_words(index: Index, row: int) -> set[str]:
    """The words of the names in a row, without common words."""
    spellings = index.names.spellings
    names = {spellings[number] for number in index.graph.names_in_row(row)} - {SELF}
    words = {word for name in names for word in split_words(normalize_name(name))}
    return {word for word in words if len(word) >= _MIN_PART and not is_common_word(word)}


def read_chains(
    question: str,
    passages: Sequence[str],
    probabilities: NDArray[np.float64],
    scores: Sequence[float],
    links: Sequence[Link],
    reader: Reader,
) -> list[Chain]:
    """For each hit that answers better after another one, the best such chain. `scores` are those of the signals."""
    read = [len(passage.split()) for passage in passages]
    affordable = [
        (a, b)
        for a, b, is_asked_about in links
        if max(a, b) < len(passages) and read[a] + read[b] <= _CHAIN_WORDS
        if is_asked_about or probabilities[a] <= _ANSWERS_ALONE
    ]
    if not affordable or probabilities.max() >= CONVINCING:
        return []
    affordable.sort(key=lambda link: -(probabilities[link[0]] + scores[link[0]] + scores[link[1]]))
    chosen = affordable[:MAX_CHAINS]
    together = reader.read(question, [f"{passages[a]} {passages[b]}" for a, b in chosen])
    odds = _log_odds(probabilities)
    best: dict[int, Chain] = {}
    for (first, last), p in zip(chosen, together, strict=True):
        gain = _log_odds(np.array([p]))[0] - max(odds[first], odds[last])
        if p >= _MIN_PROBABILITY and gain >= MIN_GAIN and (last not in best or p > best[last].probability):
            best[last] = Chain(first, last, float(p))
    return list(best.values())


def _log_odds(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = probabilities.clip(1e-4, 1 - 1e-4)
    odds: NDArray[np.float64] = np.log(clipped / (1 - clipped))
    return odds

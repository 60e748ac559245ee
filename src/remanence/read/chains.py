"""Part of the rerank step: hits that answer a question only together with another hit.

"Stripe uses PostgreSQL" does not answer "Which database does the company Ana works for use?" by itself, but it does
after "Ana works at Stripe". So the reader also scores pairs of hits that share a name which the question lacks. The
second hit counts as the answer if the pair is a better answer than each of its hits.
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
from remanence.read.hits import ScoredHit
from remanence.schema import SELF, Hit

CONVINCING_PROBABILITY = 0.95
"""If a single hit answers with this probability, no pairs are scored: most questions need none."""
MAX_CHAINS = 8
"""How many pairs are scored at most."""
MIN_GAIN = 0.2
"""By how much a pair must be a better answer than each of its hits, in log odds."""
_MAX_FIRST_HITS = 6
"""How many hits may be the first of a pair: those with the best ranks."""
_ANSWERS_ALONE = 0.5
"""A hit with a higher probability is the first of a pair only if the question names an entity in it. Otherwise the pair
may be a good answer only because of this hit."""
_MAX_PAIR_WORDS = 60
_MIN_PROBABILITY = 0.2
_MIN_WORD_LENGTH = 3


class HitPair(NamedTuple):
    """Two hits that share a name, by their indexes in the list of hits."""

    first: int
    last: int
    is_asked_about: bool
    """Whether the question names an entity in the first hit."""


class Chain(NamedTuple):
    """A hit that answers after another hit, by their indexes, and the probability that the pair answers."""

    first: int
    last: int
    probability: float


def find_pairs(index: Index, rows: Sequence[int], hits: Sequence[Hit], question: str) -> list[HitPair]:
    """The pairs of hits that share a name which the question lacks, or a distinctive word of it ("Jones"), in both
    orders. `rows` are the rows of the first hits. The other hits are ignored. Needs the lock of the index."""
    question_words = set(split_words(normalize_name(question)))
    words = [set(split_words(normalize_name(hit.memory.text))) for hit in hits[: len(rows)]]
    name_words = [_distinctive_words(index, row) for row in rows[: len(hits)]]
    new_words = [names - question_words for names in name_words]
    is_asked_about = [not names.isdisjoint(question_words) for names in name_words]
    return [
        HitPair(first, last, is_asked_about[first])
        for first in range(min(_MAX_FIRST_HITS, len(new_words)))
        for last in range(len(new_words))
        if first != last and (new_words[first] & words[last] or new_words[last] & words[first])
        if is_asked_about[first] or not is_asked_about[last]  # a chain leads away from what the question names
    ]


def _distinctive_words(index: Index, row: int) -> set[str]:
    """The words of the names in a row, without common words."""
    spellings = index.names.spellings
    names = {spellings[number] for number in index.graph.names_in_row(row)} - {SELF}
    words = {word for name in names for word in split_words(normalize_name(name))}
    return {word for word in words if len(word) >= _MIN_WORD_LENGTH and not is_common_word(word)}


def score_chains(
    question: str, scored_hits: Sequence[ScoredHit], pairs: Sequence[HitPair], reader: Reader
) -> list[Chain]:
    """For each hit that answers better after another hit, the best such chain."""
    probabilities = np.array([scored.probability for scored in scored_hits])
    if probabilities.max() >= CONVINCING_PROBABILITY:
        return []
    passages = [scored.passage for scored in scored_hits]
    signal_scores = [scored.hit.score for scored in scored_hits]
    lengths = [len(passage.split()) for passage in passages]
    candidates = [
        (first, last)
        for first, last, is_asked_about in pairs
        if max(first, last) < len(passages) and lengths[first] + lengths[last] <= _MAX_PAIR_WORDS
        if is_asked_about or probabilities[first] <= _ANSWERS_ALONE
    ]
    if not candidates:
        return []
    candidates.sort(key=lambda pair: -(probabilities[pair[0]] + signal_scores[pair[0]] + signal_scores[pair[1]]))
    scored = candidates[:MAX_CHAINS]
    pair_probabilities = reader.read(question, [f"{passages[first]} {passages[last]}" for first, last in scored])
    log_odds = _log_odds(probabilities)
    best: dict[int, Chain] = {}
    for (first, last), p in zip(scored, pair_probabilities, strict=True):
        gain = _log_odds(np.array([p]))[0] - max(log_odds[first], log_odds[last])
        if p >= _MIN_PROBABILITY and gain >= MIN_GAIN and (last not in best or p > best[last].probability):
            best[last] = Chain(first, last, float(p))
    return list(best.values())


def _log_odds(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = probabilities.clip(1e-4, 1 - 1e-4)
    log_odds: NDArray[np.float64] = np.log(clipped / (1 - clipped))
    return log_odds

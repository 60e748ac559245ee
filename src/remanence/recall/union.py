"""The recalls of several spaces as one list: scores on one scale, each text once, and read together in one pass.

Each space answers without a reader, so that the reader reads the best of all of them as one list of dated lines. What
one space holds decides nothing about another: no memory is marked as replaced by one of another space.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.index.words.bm25 import GrowingBM25
from remanence.index.words.words import K1, B, Words
from remanence.recall.answer import Recall
from remanence.recall.hits import rank_rules_lower
from remanence.recall.question import parse_question
from remanence.recall.reading import ReadingResult, read_hits
from remanence.schema import SELF, Evidence, Hit, SignalScale, Window
from remanence.text.repetition import same_time, statement_of
from remanence.text.text import tokens

if TYPE_CHECKING:
    from remanence.ports import Reader

_UNION = "union"
"""The signal of a reason that names the other spaces which hold the same text."""


def join_recalls(question: str, found: Mapping[str, Recall], count: int) -> Recall:
    """The best hits of several spaces in one list, each with the name of its space.

    Args:
        question: The question.
        found: What each space answers without a reader, by its name in the union. Of equal hits, those of the earlier
            space come first.
        count: How many hits to return at most.
    """
    scales = _common_scales(question, found)
    pinned: list[Hit] = []
    others: list[Hit] = []
    for name, recall in found.items():
        hits = [_on_scale(replace(hit, space=name), recall.scales, scales[name]) for hit in recall]
        pinned += hits[: recall.pinned]
        others += hits[recall.pinned :]
    pinned, others = (sorted(hits, key=lambda hit: -hit.score) for hits in (pinned, others))
    hits = _once(pinned + others)
    firsts = set(map(_key, pinned))
    positions = [recall.position for recall in found.values()]
    moments = {recall.as_of for recall in found.values()}
    return Recall(
        question=question,
        hits=tuple(hits[:count]),
        abstained=_named(found, "abstained"),
        missing=_named(found, "missing"),
        times=next((recall.times for recall in found.values() if recall.times), ()),
        history=any(recall.history for recall in found.values()),
        position=max(positions, default=0),
        as_of=moments.pop() if len(moments) == 1 else None,
        pinned=sum(_key(hit) in firsts for hit in hits[:count]),
    )


def read_union(
    joined: Recall, reader: Reader, now: datetime, context: Sequence[str], during: Window | None, deadline: float | None
) -> Recall:
    """The same hits in the order by a reader, which reads the first of them together.

    Args:
        joined: What `join_recalls` returned.
        reader: The reader.
        now: The moment of the question.
        context: The turns before the question.
        during: The time that the caller asks about.
        deadline: When it has to be done, by `time.monotonic`.
    """
    parsed = parse_question(joined.question, now, context)
    asked = parsed.completed(parsed.names, during, now)
    seconds = None if deadline is None else deadline - time.monotonic()
    result: ReadingResult = read_hits(joined.hits, joined.pinned, asked, now, reader, seconds)
    before = {_key(hit): hit for hit in joined}
    own_ids = {(hit.space, hit.memory.id) for hit in joined}
    hits = [
        replace(hit, current=before[_key(hit)].current, superseded_by=before[_key(hit)].superseded_by)
        if hit.superseded_by is not None and (hit.space, hit.superseded_by.id) not in own_ids
        else hit
        for hit in result.hits
    ]
    return replace(
        joined, hits=rank_rules_lower(hits), missing={**joined.missing, **result.missing}, confidence=result.confidence
    )


def _key(hit: Hit) -> tuple[str, str, datetime]:
    return hit.space, hit.memory.id, hit.memory.revised_at


def _named(found: Mapping[str, Recall], field: str) -> dict[str, str]:
    """What signals say, each with its space."""
    return {
        f"{signal} ({name})": reason
        for name, recall in found.items()
        for signal, reason in getattr(recall, field).items()
    }


# One scale


def _common_scales(question: str, found: Mapping[str, Recall]) -> dict[str, dict[str, SignalScale]]:
    """For each space the scales of the signals that fit all spaces.

    The best raw score of any space counts in full. Only those of the words are not comparable: how rare a word is
    differs from space to space, and the best match of each would count in full. So they count in proportion to how well
    the hits of a space match the question by the statistics of all hits together.
    """
    ceilings: dict[str, float] = {}
    for recall in found.values():
        for signal, scale in recall.scales.items():
            ceilings[signal] = max(scale.ceiling, ceilings.get(signal, scale.ceiling))
    coverage = _word_coverage(question, found)
    scales = {
        name: {signal: scale._replace(ceiling=ceilings[signal]) for signal, scale in recall.scales.items()}
        for name, recall in found.items()
    }
    best = max(coverage.values(), default=0.0)
    for name, recall in found.items():
        if Words.name in recall.scales:
            own = recall.scales[Words.name]
            share = coverage[name] / best if best else 1.0
            ceiling = own.floor + (own.ceiling - own.floor) / share if share else float("inf")
            scales[name][Words.name] = own._replace(ceiling=ceiling)
    return scales


def _word_coverage(question: str, found: Mapping[str, Recall]) -> dict[str, float]:
    """How well the hits of each space match the words of the question at best, by BM25 over the hits of all spaces."""
    documents = [(name, tokens(f"{hit.context} {hit.memory.text}")) for name, recall in found.items() for hit in recall]
    corpus = GrowingBM25([words for _, words in documents], k1=K1, b=B, delta=0)
    best = dict.fromkeys(found, 0.0)
    for (name, _), score in zip(documents, corpus.get_scores(sorted(set(tokens(question)))), strict=True):
        best[name] = max(best[name], float(score))
    return best


def _on_scale(hit: Hit, own: Mapping[str, SignalScale], common: Mapping[str, SignalScale]) -> Hit:
    """A hit with the shares of its signals by the scales of all spaces."""
    evidence = tuple(_scaled(reason, own.get(reason.signal), common.get(reason.signal)) for reason in hit.evidence)
    lost = sum(before.share - after.share for before, after in zip(hit.evidence, evidence, strict=True))
    return replace(hit, score=max(0.0, hit.score - lost), evidence=evidence)


def _scaled(reason: Evidence, own: SignalScale | None, common: SignalScale | None) -> Evidence:
    if own is None or common is None or own.ceiling <= own.floor:
        return reason
    part = (own.ceiling - own.floor) / (common.ceiling - own.floor)
    return replace(reason, share=reason.share * part**own.exponent)


# Each text once


def _once(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without those that another space tells in the same words, before them; what was left out is a reason of
    the hit that stays. "I" is somebody else in each space, so what is said in the first person is no repetition."""
    kept: list[Hit] = []
    places: dict[tuple[object, ...], list[int]] = {}
    also_in: dict[int, list[str]] = {}
    for hit in hits:
        same = places.setdefault((statement_of(hit.memory), hit.current), [])
        place = next((place for place in same if _repeats(hit, kept[place])), None)
        if place is None:
            same.append(len(kept))
            kept.append(hit)
        elif hit.space not in also_in.setdefault(place, []):
            also_in[place].append(hit.space)
    for place, names in also_in.items():
        reason = Evidence(_UNION, 1, 0.0, 0.0, f"also in {', '.join(names)}")
        kept[place] = replace(kept[place], evidence=(*kept[place].evidence, reason))
    return kept


def _repeats(hit: Hit, other: Hit) -> bool:
    by_user = any(mention.name == SELF for mention in hit.memory.mentions)
    return hit.space != other.space and not by_user and same_time(hit.memory, other.memory)

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

from remanence.index.times import Times
from remanence.index.words import K1, NEXT_TURN_SHARE, B, GrowingBM25, Words
from remanence.recall.answer import Recall
from remanence.recall.hits import insert_rules, split_rules
from remanence.recall.question import ParsedQuestion
from remanence.recall.reading import ReadingResult, read_hits
from remanence.recall.validity.other_times import DEMOTION_FACTOR
from remanence.schema import SELF, Evidence, Hit, SignalScale
from remanence.text.repetition import same_time, statement_of
from remanence.text.text import tokens

if TYPE_CHECKING:
    from remanence.ports import Reader

_UNION = "union"
"""The signal of a reason that names the other spaces which hold the same text."""


def join_recalls(asked: ParsedQuestion, question: str, found: Mapping[str, Recall], count: int) -> Recall:
    """The best hits of several spaces in one list, each with the name of its space.

    Args:
        asked: The question, parsed.
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
    if asked.times and not asked.has_topic:
        others = _from_time_first(others)
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


def read_union(joined: Recall, asked: ParsedQuestion, reader: Reader, now: datetime, deadline: float | None) -> Recall:
    """The same hits in the order by a reader, which reads the first of them together.

    Args:
        joined: What `join_recalls` returned.
        asked: The question, parsed.
        reader: The reader.
        now: The moment of the question.
        deadline: When it has to be done, by `time.monotonic`.
    """
    seconds = None if deadline is None else deadline - time.monotonic()
    found, by_rules = split_rules(joined.hits)
    pinned = sum(hit not in by_rules for hit in joined.hits[: joined.pinned])
    result: ReadingResult = read_hits(found, pinned, asked, now, reader, seconds)
    before = {_key(hit): hit for hit in joined}
    own_ids = {(hit.space, hit.memory.id) for hit in joined}
    hits = [
        replace(hit, current=before[_key(hit)].current, superseded_by=before[_key(hit)].superseded_by)
        if hit.superseded_by is not None and (hit.space, hit.superseded_by.id) not in own_ids
        else hit
        for hit in result.hits
    ]
    return replace(
        joined,
        hits=insert_rules(hits, by_rules),
        missing={**joined.missing, **result.missing},
        confidence=result.confidence,
    )


def _key(hit: Hit) -> tuple[str, str, datetime]:
    return hit.space, hit.memory.id, hit.memory.revised_at


def _from_time_first(hits: Sequence[Hit]) -> list[Hit]:
    """The hits with lower scores for those that are not from the time asked about, for a question that asks for nothing
    but a time. Each space has done so for its own."""
    is_inside = [any(reason.signal == Times.name for reason in hit.evidence) for hit in hits]
    least = min((hit.score for hit, inside in zip(hits, is_inside, strict=True) if inside), default=None)
    best = max((hit.score for hit, inside in zip(hits, is_inside, strict=True) if not inside), default=0.0)
    if least is None or best < least:
        return list(hits)
    factor = DEMOTION_FACTOR * least / best if best else 1.0
    return [
        hit if inside else _with_score(hit, factor * hit.score) for hit, inside in zip(hits, is_inside, strict=True)
    ]


def _with_score(hit: Hit, score: float) -> Hit:
    reason = Evidence("time", 1, score - hit.score, 0.0, "ranked after what fits the time")
    return replace(hit, score=score, evidence=(*hit.evidence, reason))


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

    The best raw score of any space counts in full, and the weights are those of all signals that searched any space.
    Only the scores of the words are not comparable: how rare a word is differs from space to space, and the best match
    of each would count in full. So they count in proportion to how well the hits of a space match the question by the
    statistics of all hits together.
    """
    ceilings: dict[str, float] = {}
    for recall in found.values():
        for signal, scale in recall.scales.items():
            ceilings[signal] = max(scale.ceiling, ceilings.get(signal, scale.ceiling))
    coverage = _word_coverage(question, found)
    every = {signal: scale for recall in found.values() for signal, scale in recall.scales.items()}
    scales = {
        name: {
            signal: recall.scales.get(signal, scale)._replace(ceiling=ceilings[signal])
            for signal, scale in every.items()
        }
        for name, recall in found.items()
    }
    best = max(coverage.values(), default=0.0)
    for name, recall in found.items():
        if Words.name in recall.scales:
            own = recall.scales[Words.name]
            # A hit without a word of the question has a related one, or follows a turn that has one.
            share = 1.0 if not best else coverage[name] / best or NEXT_TURN_SHARE
            ceiling = own.floor + (own.ceiling - own.floor) / share
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
    part = sum(each.weight for each in own.values()) / max(sum(each.weight for each in common.values()), 1e-9)
    evidence = tuple(
        _scaled(reason, part, own[reason.signal], common[reason.signal]) if reason.signal in own else reason
        for reason in hit.evidence
    )
    lost = sum(before.share - after.share for before, after in zip(hit.evidence, evidence, strict=True))
    return replace(hit, score=max(0.0, hit.score - lost), evidence=evidence)


def _scaled(reason: Evidence, part: float, own: SignalScale, common: SignalScale) -> Evidence:
    """A reason with its share by the common scale; `part` is the part of all weights that the space has."""
    if own.ceiling <= own.floor:
        return reason
    span = (own.ceiling - own.floor) / (common.ceiling - own.floor)
    return replace(reason, share=reason.share * part * span**own.exponent)


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

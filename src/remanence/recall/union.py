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

from remanence.recall.answer import Recall
from remanence.recall.hits import insert_rules, split_rules
from remanence.recall.question import ParsedQuestion
from remanence.recall.reading import read_hits
from remanence.schema import SELF, Evidence, Hit, SignalScale
from remanence.text.repetition import same_time, statement_of

if TYPE_CHECKING:
    from remanence.ports import Reader


def join_recalls(question: str, found: Mapping[str, Recall], count: int) -> Recall:
    """The best hits of several spaces in one list, each with the name of its space.

    Args:
        found: What each space answers without a reader, by its name in the union. Of equal hits, those of the earlier
            space come first.
    """
    scales = [recall.scales for recall in found.values()]
    ceilings: dict[str, float] = {}
    for signal, scale in (item for each in scales for item in each.items()):
        ceilings[signal] = max(scale.ceiling, ceilings.get(signal, scale.ceiling))
    weights = {signal: scale.weight for each in scales for signal, scale in each.items()}
    pinned: list[Hit] = []
    others: list[Hit] = []
    for name, recall in found.items():
        hits = [_on_one_scale(replace(hit, space=name), recall.scales, ceilings, weights) for hit in recall]
        pinned += hits[: recall.pinned]
        others += hits[recall.pinned :]
    pinned, others = (sorted(hits, key=lambda hit: -hit.score) for hits in (pinned, others))
    hits = _once(pinned + others)
    firsts = set(map(_key, pinned))
    moments = {recall.as_of for recall in found.values()}
    return Recall(
        question=question,
        hits=tuple(hits[:count]),
        abstained=_named(found, "abstained"),
        missing=_named(found, "missing"),
        times=next((recall.times for recall in found.values() if recall.times), ()),
        history=any(recall.history for recall in found.values()),
        position=max((recall.position for recall in found.values()), default=0),
        as_of=moments.pop() if len(moments) == 1 else None,
        pinned=sum(_key(hit) in firsts for hit in hits[:count]),
    )


def read_union(joined: Recall, asked: ParsedQuestion, reader: Reader, now: datetime, deadline: float | None) -> Recall:
    """The same hits in the order by a reader, which reads the first of them together.

    Args:
        joined: What `join_recalls` returned.
        asked: The question, parsed.
        now: The moment of the question.
        deadline: When it has to be done, by `time.monotonic`.
    """
    seconds = None if deadline is None else deadline - time.monotonic()
    found, by_rules = split_rules(joined.hits)
    pinned = sum(hit not in by_rules for hit in joined.hits[: joined.pinned])
    result = read_hits(found, pinned, asked, now, reader, seconds)
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


def _named(found: Mapping[str, Recall], field: str) -> dict[str, str]:
    """What signals say, each with its space."""
    return {
        f"{signal} ({name})": reason
        for name, recall in found.items()
        for signal, reason in getattr(recall, field).items()
    }


def _on_one_scale(
    hit: Hit, own: Mapping[str, SignalScale], ceilings: Mapping[str, float], weights: Mapping[str, float]
) -> Hit:
    """A hit with the shares of its signals by one scale for all spaces: the best raw score of any space counts in full,
    and the weights are those of all signals that searched any space."""
    part = sum(each.weight for each in own.values()) / max(sum(weights.values()), 1e-9)

    def scaled(reason: Evidence) -> Evidence:
        scale = own.get(reason.signal)
        if scale is None or scale.ceiling <= scale.floor:
            return reason
        span = (scale.ceiling - scale.floor) / (ceilings[reason.signal] - scale.floor)
        return replace(reason, share=reason.share * part * span**scale.exponent)

    evidence = tuple(map(scaled, hit.evidence))
    lost = sum(before.share - after.share for before, after in zip(hit.evidence, evidence, strict=True))
    return replace(hit, score=max(0.0, hit.score - lost), evidence=evidence)


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
        reason = Evidence("union", 1, 0.0, 0.0, f"also in {', '.join(names)}")
        kept[place] = replace(kept[place], evidence=(*kept[place].evidence, reason))
    return kept


def _repeats(hit: Hit, other: Hit) -> bool:
    by_user = any(mention.name == SELF for mention in hit.memory.mentions)
    return hit.space != other.space and not by_user and same_time(hit.memory, other.memory)

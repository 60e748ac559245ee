"""Memories and recalls from the fields that an answer has, in JSON types.

A recall is asked for most, and its answer is large: making models of all its parts first takes longer than making the
recall.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from remanence.read.answer import Recall
from remanence.read.receipts import Receipt
from remanence.schema import Disagreement, Evidence, Hit, HitUsage, Memory, Mention, Triple, Turn, Window

_NAN = float("nan")


def parse_moment_text(text: str | None) -> datetime | None:
    """The moment that `to_iso` wrote."""
    return None if text is None else datetime.fromisoformat(text)


def make_window(start: str | None, end: str | None) -> Window:
    """The window between two moments as text."""
    return Window(parse_moment_text(start), parse_moment_text(end))


def make_memory(fields: Mapping[str, Any]) -> Memory:
    """The memory with the fields of a `MemoryAnswer`."""
    turn = fields["turn"]
    return Memory(
        id=fields["id"],
        space=fields["space"],
        text=fields["text"],
        key=fields["key"],
        kind=fields["kind"],
        valid=make_window(fields["valid_from"], fields["valid_until"]),
        recorded_at=datetime.fromisoformat(fields["recorded_at"]),
        revised_at=datetime.fromisoformat(fields["revised_at"]),
        told_at=datetime.fromisoformat(fields["told_at"]),
        importance=fields["importance"],
        confidence=fields["confidence"],
        strength=fields["strength"],
        tags=tuple(fields["tags"]),
        source=fields["source"],
        observed_by=fields["observed_by"],
        expires_at=parse_moment_text(fields["expires_at"]),
        mentions=tuple([Mention(mention["name"], mention["kind"]) for mention in fields["mentions"]]),
        triples=tuple([Triple(*triple) for triple in fields["triples"]]),
        turn=None
        if turn is None
        else Turn(turn["conversation"], turn["number"], turn["speaker"], parse_moment_text(turn["at"])),
        meta=fields["meta"],
        trust=fields["trust"],
    )


def make_recall(fields: Mapping[str, Any]) -> Recall:
    """The recall with the fields of a `RecallAnswer`."""
    return Recall(
        question=fields["question"],
        hits=tuple([_make_hit(hit) for hit in fields["hits"]]),
        abstained=fields["abstained"],
        missing=fields["missing"],
        times=tuple([make_window(window["start"], window["end"]) for window in fields["times"]]),
        history=fields["history"],
        position=fields["position"],
        confidence=fields["confidence"],
        as_of=parse_moment_text(fields["as_of"]),
        receipt=None if fields["receipt"] is None else Receipt.from_dict(fields["receipt"]),
    )


def make_usage(fields: Mapping[str, Any]) -> HitUsage:
    """The usage with the fields of a `UsageAnswer`."""
    return HitUsage(
        fields["decay_score"],
        fields["uses"],
        datetime.fromisoformat(fields["last_used"]),
        fields["age_days"],
        fields["strength"],
        fields["review_priority"],
    )


def make_disagreement(fields: Mapping[str, Any]) -> Disagreement:
    """The disagreement with the fields of a `DisagreementAnswer`."""
    return Disagreement(fields["kind"], fields["topic"], make_memory(fields["memory"]))


def _make_hit(fields: Mapping[str, Any]) -> Hit:
    replacement, usage = fields["replacement"], fields["usage"]
    return Hit(
        memory=make_memory(fields["memory"]),
        score=fields["score"],
        evidence=tuple([_make_evidence(evidence) for evidence in fields["evidence"]]),
        current=fields["current"],
        superseded_by=None if replacement is None else make_memory(replacement),
        disagreements=tuple([make_disagreement(disagreement) for disagreement in fields["disagreements"]]),
        usage=None if usage is None else make_usage(usage),
        found_in=tuple(fields["found_in"]),
    )


def _make_evidence(fields: Mapping[str, Any]) -> Evidence:
    raw_score = fields["raw_score"]
    # JSON has no NaN.
    return Evidence(
        fields["signal"], fields["rank"], fields["share"], _NAN if raw_score is None else raw_score, fields["reason"]
    )

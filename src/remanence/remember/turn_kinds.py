"""Step of the write path: what each chat turn tells, by its vector: a state, an event, a plan, a preference or nothing.

The kind decides what `kinds=` finds and how fast a memory fades, the importance breaks near ties. Both are said by a
table of weights for the vectors of the default embedder; in a space with another one, turns are episodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from remanence.index.vectors.point_table import passage_texts
from remanence.models.embedders import SentenceEmbedder
from remanence.models.turn_classes import classify_turn
from remanence.schema import Window
from remanence.text.text import text_hash

if TYPE_CHECKING:
    from remanence.ports import Vector
    from remanence.remember.prepare import PreparedVersion


def with_turn_kinds(
    prepared: Sequence[PreparedVersion], vectors: Mapping[bytes, Vector], fingerprint: str
) -> list[PreparedVersion]:
    """The versions, the chat turns among them with their kind and importance."""
    if fingerprint != SentenceEmbedder.fingerprint:
        return list(prepared)
    before: dict[str, str] = {}
    return [_classified(draft, vectors, before) for draft in prepared]


def _classified(draft: PreparedVersion, vectors: Mapping[bytes, Vector], before: dict[str, str]) -> PreparedVersion:
    """A turn with its kind. `before` has the last turn of each conversation, and gets this one."""
    version = draft.version
    if version.turn is None or draft.is_revision:
        return draft
    conversation = version.turn.conversation
    previous, before[conversation] = version.turn.before or before.get(conversation, ""), version.text
    vector = vectors.get(text_hash(passage_texts(version)[0]))
    if vector is None:
        return draft
    found = classify_turn(version.text, vector, previous, makes_claims=bool(version.triples))
    told = Window.from_moment(version.turn.at or draft.recorded_at)
    is_dated = version.valid.end is not None and version.valid != told
    version = replace(version, importance=found.importance)
    if found.kind != "episode" and not is_dated:
        # What is so, or what somebody likes, holds from when it was said on; what has a date in its text, at that date.
        version = replace(version, kind=found.kind, valid=Window(version.valid.start))
    return draft._replace(version=version)

"""Memories, entities, relations and links as answers, and back.

An answer has only JSON types, so that the command line, the REST server and the MCP server give the same; times are
ISO text in UTC.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, WithJsonSchema

from remanence.read.answer import memory_dict, to_iso, usage_dict
from remanence.schema import Alias, Entity, HitUsage, Link, LinkKind, Memory, MemoryKind, Relation, Window
from remanence.service.payloads.from_fields import make_memory, make_usage, make_window

Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
"""A moment as ISO text in UTC."""


class AnswerModel(BaseModel):
    """What an operation returns. Fields that a later release adds are ignored when an answer is read."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="null")


class WindowAnswer(AnswerModel):
    """A period of time; None leaves that end open."""

    start: Time | None
    end: Time | None

    @classmethod
    def of(cls, window: Window) -> WindowAnswer:
        return cls(start=to_iso(window.start), end=to_iso(window.end))

    def to_window(self) -> Window:
        return make_window(self.start, self.end)


class MentionAnswer(AnswerModel):
    """A name in a memory, and what kind of thing it names."""

    name: str
    kind: str


class TurnAnswer(AnswerModel):
    """Where in a conversation a memory was said."""

    conversation: str
    number: int
    speaker: str | None
    at: Time | None


class MemoryAnswer(AnswerModel):
    """One memory, in one version."""

    id: str
    key: str | None
    space: str
    text: str
    kind: MemoryKind
    valid_from: Time | None
    valid_until: Time | None
    recorded_at: Time
    revised_at: Time
    told_at: Time
    importance: float
    confidence: float
    strength: float
    tags: list[str]
    source: str | None
    observed_by: str | None
    trust: float
    expires_at: Time | None
    entities: list[str]
    mentions: list[MentionAnswer]
    triples: list[tuple[str, str, str]]
    conversation: str | None
    speaker: str | None
    turn: TurnAnswer | None
    meta: dict[str, Any]

    @classmethod
    def of(cls, memory: Memory) -> MemoryAnswer:
        return cls.model_validate(memory_dict(memory))

    def to_memory(self) -> Memory:
        return make_memory(self.model_dump())


class AliasAnswer(AnswerModel):
    """Another name of an entity, and when it is used."""

    name: str
    valid_from: Time | None
    valid_until: Time | None


class EntityAnswer(AnswerModel):
    """Someone or something that memories are about. `names` are all its names, the main one first."""

    id: str
    name: str
    kind: str
    names: list[str]
    aliases: list[AliasAnswer]

    @classmethod
    def of(cls, entity: Entity) -> EntityAnswer:
        aliases = [
            AliasAnswer(name=alias.name, valid_from=to_iso(alias.valid.start), valid_until=to_iso(alias.valid.end))
            for alias in entity.aliases
        ]
        return cls(id=entity.id, name=entity.name, kind=entity.kind, names=list(entity.names), aliases=aliases)

    def to_entity(self) -> Entity:
        aliases = (Alias(alias.name, make_window(alias.valid_from, alias.valid_until)) for alias in self.aliases)
        return Entity(self.id, self.name, self.kind, tuple(aliases))


class RelationAnswer(AnswerModel):
    """A claim about two entities. `claimed_from` and `claimed_until` are its time as stated, `valid_from` and
    `valid_until` after later claims have ended it. `evidence` are the ids of the memories that state it."""

    id: str
    subject: str
    predicate: str
    object: str
    valid_from: Time | None
    valid_until: Time | None
    claimed_from: Time | None
    claimed_until: Time | None
    recorded_at: Time
    confidence: float
    observed_by: str | None
    evidence: list[str]
    replaced_by: str | None
    text: str

    @classmethod
    def of(cls, relation: Relation) -> RelationAnswer:
        return cls(
            **{name: getattr(relation, name) for name in _RELATION_FIELDS},
            valid_from=to_iso(relation.valid.start),
            valid_until=to_iso(relation.valid.end),
            claimed_from=to_iso(relation.claimed_window.start),
            claimed_until=to_iso(relation.claimed_window.end),
            recorded_at=relation.recorded_at.isoformat(),
            evidence=list(relation.evidence),
            text=str(relation),
        )

    def to_relation(self) -> Relation:
        return Relation(
            **{name: getattr(self, name) for name in _RELATION_FIELDS},
            valid=make_window(self.valid_from, self.valid_until),
            claimed_window=make_window(self.claimed_from, self.claimed_until),
            recorded_at=datetime.fromisoformat(self.recorded_at),
            evidence=tuple(self.evidence),
        )


_RELATION_FIELDS = ("id", "subject", "predicate", "object", "confidence", "observed_by", "replaced_by")


class LinkAnswer(AnswerModel):
    """A link from one memory to another; `source` and `target` are their ids."""

    id: str
    source: str
    kind: LinkKind
    target: str
    valid_from: Time | None
    valid_until: Time | None
    recorded_at: Time
    confidence: float
    observed_by: str | None
    why: str | None
    corroborated_by: list[str]

    @classmethod
    def of(cls, link: Link) -> LinkAnswer:
        return cls(
            **{name: getattr(link, name) for name in _LINK_FIELDS},
            valid_from=to_iso(link.valid.start),
            valid_until=to_iso(link.valid.end),
            recorded_at=link.recorded_at.isoformat(),
            corroborated_by=list(link.corroborated_by),
        )

    def to_link(self) -> Link:
        return Link(
            **{name: getattr(self, name) for name in _LINK_FIELDS},
            valid=make_window(self.valid_from, self.valid_until),
            recorded_at=datetime.fromisoformat(self.recorded_at),
            corroborated_by=tuple(self.corroborated_by),
        )


_LINK_FIELDS = ("id", "source", "kind", "target", "confidence", "observed_by", "why")


class UsageAnswer(AnswerModel):
    """How a memory was used, how far it has decayed, and how much a reminder would help (`review_priority`)."""

    decay_score: float
    uses: int
    last_used: Time
    age_days: float
    strength: float
    review_priority: float

    @classmethod
    def of(cls, usage: HitUsage) -> UsageAnswer:
        return cls.model_validate(usage_dict(usage))

    def to_usage(self) -> HitUsage:
        return make_usage(self.model_dump())

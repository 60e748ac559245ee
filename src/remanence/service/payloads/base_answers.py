"""What answers are made of: memories, entities, relations and links. `of` makes an answer, `to_value` reads it.

An answer is written with JSON types only, so that the command line, the REST server and the MCP server give the same;
times are ISO text in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar, cast

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    computed_field,
    model_validator,
)

from remanence.read.answer import memory_dict, to_iso, usage_dict
from remanence.read.receipts import Receipt
from remanence.schema import (
    UTC,
    Alias,
    Entity,
    HitUsage,
    Link,
    LinkKind,
    Memory,
    MemoryKind,
    Mention,
    Relation,
    Triple,
    Turn,
    Window,
)

_MOMENT = WithJsonSchema({"type": "string", "format": "date-time"})
TimeText = Annotated[str, _MOMENT]
"""A moment as ISO text in UTC, for what is asked for most."""
Time = Annotated[
    datetime, AfterValidator(lambda moment: moment.astimezone(UTC)), PlainSerializer(to_iso, return_type=str), _MOMENT
]
"""A moment, written as ISO text in UTC."""


def _end(name: str, window: str, end: str) -> Any:
    """A field that is one end of a window of the value that an answer is made of."""
    return Field(validation_alias=AliasChoices(name, AliasPath(window, end)))


ValidFrom = Annotated[Time | None, _end("valid_from", "valid", "start")]
ValidUntil = Annotated[Time | None, _end("valid_until", "valid", "end")]
ReceiptFields = Annotated[
    dict[str, Any], BeforeValidator(lambda value: value.to_dict() if isinstance(value, Receipt) else value)
]

AnswerT = TypeVar("AnswerT", bound="AnswerModel")
ItemT = TypeVar("ItemT")


class AnswerModel(BaseModel):
    """What an operation returns. Fields that a later release adds are ignored when an answer is read."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True, ser_json_inf_nan="null")

    @classmethod
    def of(cls: type[AnswerT], value: object) -> AnswerT:
        """The answer with the attributes of a value, and of the values in it."""
        return cls.model_validate(value)

    def to_value(self) -> Any:
        """The value that the answer was made of."""
        raise NotImplementedError

    def values(self, *without: str) -> dict[str, Any]:
        """The fields as arguments: lists as tuples, and answers as the values that they were made of."""
        return {name: _to_value(field) for name, field in self if name not in without}


def _to_value(field: Any) -> Any:
    if isinstance(field, list):
        return tuple([_to_value(item) for item in field])
    return field.to_value() if isinstance(field, AnswerModel) else field


def with_window(values: dict[str, Any]) -> dict[str, Any]:
    """Arguments with the window `valid` in place of its two ends."""
    return values | {"valid": Window(values.pop("valid_from"), values.pop("valid_until"))}


class Items(AnswerModel, Generic[ItemT]):
    """Some answers, in the order that the operation describes."""

    items: list[ItemT]

    @classmethod
    def of(cls: type[AnswerT], value: object) -> AnswerT:
        """The answer with one item for each value; a mapping has its fields."""
        fields = value if isinstance(value, Mapping) else {"items": list(cast(Iterable[object], value))}
        return cls.model_validate(fields)

    def to_value(self) -> list[Any]:
        return [_to_value(item) for item in self.items]


class WindowAnswer(AnswerModel):
    """A period of time; None leaves that end open."""

    start: Time | None
    end: Time | None

    def to_value(self) -> Window:
        return Window(self.start, self.end)


class MentionAnswer(AnswerModel):
    """A name in a memory, and what kind of thing it names."""

    name: str
    kind: str


class TurnAnswer(AnswerModel):
    """Where in a conversation a memory was said."""

    conversation: str
    number: int
    speaker: str | None
    at: TimeText | None
    before: str | None = None


class MemoryAnswer(AnswerModel):
    """One memory, in one version."""

    id: str
    key: str | None
    space: str
    text: str
    kind: MemoryKind
    valid_from: TimeText | None
    valid_until: TimeText | None
    recorded_at: TimeText
    revised_at: TimeText
    told_at: TimeText
    importance: float
    confidence: float
    strength: float
    tags: list[str]
    source: str | None
    observed_by: str | None
    trust: float
    expires_at: TimeText | None
    entities: list[str]
    mentions: list[MentionAnswer]
    triples: list[tuple[str, str, str]]
    conversation: str | None
    speaker: str | None
    turn: TurnAnswer | None
    meta: dict[str, Any]

    @model_validator(mode="before")
    @classmethod
    def _from_memory(cls, value: Any) -> Any:
        return memory_dict(value) if isinstance(value, Memory) else value

    def to_value(self) -> Memory:
        return make_memory(self.model_dump())


class AliasAnswer(AnswerModel):
    """Another name of an entity, and when it is used."""

    name: str
    valid_from: ValidFrom
    valid_until: ValidUntil

    def to_value(self) -> Alias:
        return Alias(self.name, Window(self.valid_from, self.valid_until))


class EntityAnswer(AnswerModel):
    """Someone or something that memories are about. `names` are all its names, the main one first."""

    id: str
    name: str
    kind: str
    names: list[str]
    aliases: list[AliasAnswer]

    def to_value(self) -> Entity:
        return Entity(**self.values("names"))


class RelationAnswer(AnswerModel):
    """A claim about two entities. `claimed_from` and `claimed_until` are its time as stated, `valid_from` and
    `valid_until` after later claims have ended it. `evidence` are the ids of the memories that state it."""

    id: str
    subject: str
    predicate: str
    object: str
    valid_from: ValidFrom
    valid_until: ValidUntil
    claimed_from: Annotated[Time | None, _end("claimed_from", "claimed_window", "start")]
    claimed_until: Annotated[Time | None, _end("claimed_until", "claimed_window", "end")]
    recorded_at: Time
    confidence: float
    observed_by: str | None
    evidence: list[str]
    replaced_by: str | None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        return str(self.to_value())

    def to_value(self) -> Relation:
        claimed = Window(self.claimed_from, self.claimed_until)
        return Relation(**with_window(self.values("claimed_from", "claimed_until")), claimed_window=claimed)


class LinkAnswer(AnswerModel):
    """A link from one memory to another; `source` and `target` are their ids."""

    id: str
    source: str
    kind: LinkKind
    target: str
    valid_from: ValidFrom
    valid_until: ValidUntil
    recorded_at: Time
    confidence: float
    observed_by: str | None
    why: str | None
    corroborated_by: list[str]

    def to_value(self) -> Link:
        return Link(**with_window(self.values()))


class UsageAnswer(AnswerModel):
    """How a memory was used, how far it has decayed, and how much a reminder would help (`review_priority`)."""

    decay_score: float
    uses: int
    last_used: TimeText
    age_days: float
    strength: float
    review_priority: float

    @model_validator(mode="before")
    @classmethod
    def _rounded(cls, value: Any) -> Any:
        return usage_dict(value) if isinstance(value, HitUsage) else value

    def to_value(self) -> HitUsage:
        return make_usage(self.model_dump())


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
        turn=None if turn is None else Turn(**turn | {"at": parse_moment_text(turn["at"])}),
        meta=fields["meta"],
        trust=fields["trust"],
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

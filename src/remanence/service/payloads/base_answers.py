"""What answers are made of: memories, entities, relations and links. `of` makes an answer, `to_value` reads it.

An answer is written with JSON types only, so that the command line, the REST server and the MCP server give the same;
times are ISO text in UTC.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from types import UnionType
from typing import Annotated, Any, ClassVar, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

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
    create_model,
    model_validator,
)

from remanence.recall.answer import memory_dict, to_iso, usage_dict
from remanence.recall.receipts import Receipt
from remanence.schema import (
    UTC,
    Alias,
    Entity,
    HitUsage,
    Link,
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

    noun: ClassVar[Any] = None
    """The class of the values that the answer is made of."""

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        if cls.noun is not None:
            _ANSWERS[cls.noun] = cls

    def to_value(self) -> Any:
        """The value that the answer was made of."""
        names = [field.name for field in fields(self.noun) if field.init]
        given = self.values()
        for window, (start, end) in _WINDOWS.items():
            if start in given:
                given[window] = Window(given[start], given[end])
        return self.noun(**{name: given[name] for name in names if name in given})

    def values(self, *without: str) -> dict[str, Any]:
        """The fields as arguments: lists as tuples, and answers as the values that they were made of."""
        return {name: _to_value(field) for name, field in self if name not in without}


def _to_value(field: Any) -> Any:
    if isinstance(field, list):
        return tuple([_to_value(item) for item in field])
    return field.to_value() if isinstance(field, AnswerModel) else field


_ANSWERS: dict[Any, type[AnswerModel]] = {}
"""The answer of each noun. A class with `noun` is entered when it is made."""
_WINDOWS = {"valid": ("valid_from", "valid_until"), "claimed_window": ("claimed_from", "claimed_until")}
"""Windows whose two ends are fields of an answer."""


def answer_of(noun: type, *without: str) -> type[AnswerModel]:
    """The base of an answer that has the fields of a dataclass, in JSON types: moments as text, a window as its ends,
    values for which there is an answer as that answer."""
    made: dict[str, Any] = {}
    types = get_type_hints(noun)
    for name in (field.name for field in fields(noun) if field.init and field.name not in without):
        if name in _WINDOWS:
            for part, end in zip(_WINDOWS[name], ("start", "end"), strict=True):
                made[part] = (Annotated[Time | None, _end(part, name, end)], ...)
        else:
            made[name] = (_answer_type(types[name]), ...)
    base = create_model(noun.__name__, __base__=AnswerModel, **made)
    base.noun = noun
    return base


def _answer_type(kind: Any) -> Any:
    """The type that a value of this type has in an answer."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is datetime:
        return Time
    if kind in _ANSWERS:
        return _ANSWERS[kind]
    if origin in (Union, UnionType):
        return Union[tuple(_answer_type(part) for part in parts)]  # noqa: UP007  -- of any number of types
    if origin in (tuple, list) and (origin is list or parts[-1:] == (...,)):
        return list[_answer_type(parts[0])]  # type: ignore[misc]
    if origin is abc.Mapping:
        return dict[parts[0], _answer_type(parts[1])]  # type: ignore[misc,valid-type]
    return kind


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

    noun: ClassVar[Any] = Window
    start: Time | None
    end: Time | None


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

    noun: ClassVar[Any] = Memory
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


class AliasAnswer(answer_of(Alias), AnswerModel):  # type: ignore[misc]
    """Another name of an entity, and when it is used."""


class EntityAnswer(answer_of(Entity), AnswerModel):  # type: ignore[misc]
    """Someone or something that memories are about. `names` are all its names, the main one first."""

    names: list[str]


class RelationAnswer(answer_of(Relation), AnswerModel):  # type: ignore[misc]
    """A claim about two entities. `claimed_from` and `claimed_until` are its time as stated, `valid_from` and
    `valid_until` after later claims have ended it. `evidence` are the ids of the memories that state it."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        return str(self.to_value())


class LinkAnswer(answer_of(Link), AnswerModel):  # type: ignore[misc]
    """A link from one memory to another; `source` and `target` are their ids."""


class UsageAnswer(AnswerModel):
    """How a memory was used, how far it has decayed, and how much a reminder would help (`review_priority`)."""

    noun: ClassVar[Any] = HitUsage
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

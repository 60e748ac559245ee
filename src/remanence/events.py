"""What a ledger line may say, and how it is written down.

A line holds one event as JSON under its name. Fields that hold their default are left out, so a field
added later costs old lines nothing and old lines read as if they had it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias

from remanence.errors import LedgerTooNew
from remanence.model import Kind, Mention, Triple, Turn, Window, from_micros, micros


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory, new or in a new version: every word of it.

    Two adds with one `identity` are about one memory; with one `content` as well, the second says
    nothing new. `times` are those the text names. `passages` are the stretches (start, end) of a long
    text that are found separately.
    """

    memory: str
    text: str
    identity: str
    content: str = ""
    key: str | None = None
    kind: Kind = "semantic"
    valid: Window = field(default_factory=Window)
    importance: float = 0.5
    confidence: float = 1.0
    strength: float = 1.0
    tags: tuple[str, ...] = ()
    source: str | None = None
    observed_by: str | None = None
    expires_at: datetime | None = None
    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    times: tuple[Window, ...] = ()
    turn: Turn | None = None
    passages: tuple[tuple[int, int], ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A memory is hidden from here on."""

    memory: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """A forgotten memory is visible again from here on."""

    memory: str


@dataclass(frozen=True, slots=True)
class Erased:
    """The words of these earlier lines of a memory were blanked."""

    memory: str
    positions: tuple[int, ...]


Event: TypeAlias = Remembered | Forgotten | Restored | Erased
_BY_NAME: dict[str, type[Any]] = {
    "remembered": Remembered,
    "forgotten": Forgotten,
    "restored": Restored,
    "erased": Erased,
}
_NAMES = {kind: name for name, kind in _BY_NAME.items()}


def name_of(event: Event) -> str:
    """The name a line carries for this event.

    >>> name_of(Restored("m1"))
    'restored'
    """
    return _NAMES[type(event)]


def encode(event: Event) -> str:
    """The event as one line of JSON, the same text for the same event.

    >>> encode(Forgotten("m1", why="she asked"))
    '{"memory":"m1","why":"she asked"}'
    """
    if isinstance(event, Remembered):
        return _dump(_remembered_out(event))
    if isinstance(event, Erased):
        return _dump({"memory": event.memory, "positions": list(event.positions)})
    if isinstance(event, Forgotten):
        return _dump({"memory": event.memory} | ({"why": event.why} if event.why is not None else {}))
    return _dump({"memory": event.memory})


def as_written(text: str) -> str:
    """A text as it stands inside an encoded event.

    >>> as_written('say "hi"')
    'say \\\\"hi\\\\"'
    """
    return _dump(text)[1:-1]


def decode(name: str, body: str) -> Event:
    """The event that `encode` wrote.

    >>> decode("forgotten", '{"memory":"m1"}')
    Forgotten(memory='m1', why=None)
    """
    kind = _BY_NAME.get(name)
    if kind is None:
        raise LedgerTooNew(
            f"a ledger line says {name!r}, which this release does not know. "
            "It was written by a later release: upgrade with `pip install -U remanence`."
        )
    fields = _load(body)
    if kind is Remembered:
        return Remembered(**_remembered_in(fields))
    if kind is Erased:
        fields["positions"] = tuple(fields["positions"])
    event: Event = kind(**fields)
    return event


# Made once: `json.dumps` with options makes an encoder for each call, at more than the price of the work.
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_load = json.JSONDecoder().decode


def _remembered_out(event: Remembered) -> dict[str, Any]:
    # Spelled out, field by field: this runs for every line written, and a loop of getattr doubles its time.
    out: dict[str, Any] = {"memory": event.memory, "text": event.text, "identity": event.identity}
    if event.content:
        out["content"] = event.content
    if event.kind != "semantic":
        out["kind"] = event.kind
    if event.importance != 0.5:
        out["importance"] = event.importance
    if event.confidence != 1.0:
        out["confidence"] = event.confidence
    if event.strength != 1.0:
        out["strength"] = event.strength
    if event.key is not None:
        out["key"] = event.key
    if event.source is not None:
        out["source"] = event.source
    if event.observed_by is not None:
        out["observed_by"] = event.observed_by
    valid, turn = event.valid, event.turn
    if valid.start is not None:
        out["valid_from"] = micros(valid.start)
    if valid.end is not None:
        out["valid_until"] = micros(valid.end)
    if event.expires_at is not None:
        out["expires_at"] = micros(event.expires_at)
    if event.tags:
        out["tags"] = event.tags
    if event.mentions:
        out["mentions"] = [[m.name, m.kind] for m in event.mentions]
    if event.triples:
        out["triples"] = [[t.subject, t.predicate, t.object] for t in event.triples]
    if event.times:
        out["times"] = [[w.start and micros(w.start), w.end and micros(w.end)] for w in event.times]
    if turn is not None:
        at = None if turn.at is None else micros(turn.at)
        out["turn"] = [turn.conversation, turn.number, turn.speaker, at]
    if event.passages:
        out["passages"] = event.passages
    if event.meta:
        out["meta"] = event.meta
    return out


def _remembered_in(fields: dict[str, Any]) -> dict[str, Any]:
    start, end = fields.pop("valid_from", None), fields.pop("valid_until", None)
    if start is not None or end is not None:
        fields["valid"] = Window(_moment(start), _moment(end))
    if "expires_at" in fields:
        fields["expires_at"] = from_micros(fields["expires_at"])
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    if "mentions" in fields:
        fields["mentions"] = tuple([_mention(*m) for m in fields["mentions"]])
    if "triples" in fields:
        fields["triples"] = tuple([Triple(*t) for t in fields["triples"]])
    if "times" in fields:
        fields["times"] = tuple([Window(_moment(start), _moment(end)) for start, end in fields["times"]])
    if "turn" in fields:
        conversation, number, speaker, at = fields["turn"]
        fields["turn"] = Turn(conversation, number, speaker, _moment(at))
    if "passages" in fields:
        fields["passages"] = tuple((start, end) for start, end in fields["passages"])
    return fields


# The same names come again and again, and being frozen can be shared.
_mention = lru_cache(1 << 14)(Mention)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)

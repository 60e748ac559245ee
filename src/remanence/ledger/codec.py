"""How an event is written on a ledger line, and read back.

A line holds one event as JSON under its name. Fields that hold their default are left out, so a field
added later costs old lines nothing and old lines read as if they had it. Small values inside a field (a
triple, a turn) are lists, which may grow at their end only; a longer one than is known here is too new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, get_args

from remanence.errors import LedgerTooNew
from remanence.events import Event, Remembered
from remanence.ledger.jsontext import json_writer
from remanence.schema import Alias, Triple, Turn, Window, cached_mention, from_micros, micros

_BY_NAME: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in get_args(Event)}
_NAMES = {kind: name for name, kind in _BY_NAME.items()}
_SUBJECTS = {kind: attrgetter(fields(kind)[0].name) for kind in get_args(Event)}
_UPGRADE = "It was written by a later release: upgrade with `pip install -U remanence`."


def event_kind(event: Event) -> str:
    """The name a line carries for this event.

    >>> from remanence.events import Restored
    >>> event_kind(Restored("m1"))
    'restored'
    """
    return _NAMES[type(event)]


def event_subject(event: Event) -> str:
    """What a line is about: the first field of its event.

    >>> from remanence.events import Merged
    >>> event_subject(Merged("e1", into="e2"))
    'e1'
    """
    subject: str = _SUBJECTS[type(event)](event)
    return subject


def encode(event: Event) -> str:
    """The event as one line of JSON, the same text for the same event.

    >>> from remanence.events import Forgotten
    >>> encode(Forgotten("m1", why="she asked"))
    '{"memory":"m1","why":"she asked"}'
    """
    return _dump(_remembered_out(event) if isinstance(event, Remembered) else _out(event))


def json_fragment(text: str) -> str:
    """A text as it stands inside an encoded event.

    >>> json_fragment('say "hi"')
    'say \\\\"hi\\\\"'
    """
    return _dump(text)[1:-1]


def decode(name: str, body: str) -> Event:
    """The event that `encode` wrote.

    >>> decode("forgotten", '{"memory":"m1"}')
    Forgotten(memory='m1', why=None, archived=False)
    """
    return event_from_fields(name, _load(body))


def event_from_fields(name: str, given: dict[str, Any]) -> Event:
    """The event that these fields, read from JSON, are of. They are used up.

    >>> event_from_fields("forgotten", {"memory": "m1"})
    Forgotten(memory='m1', why=None, archived=False)
    """
    kind = _BY_NAME.get(name)
    if kind is None:
        raise LedgerTooNew(f"a ledger line says {name!r}, which this release does not know. {_UPGRADE}")
    try:
        event: Event = kind(**(_remembered_in(given) if kind is Remembered else _in(given)))
    except (TypeError, ValueError):
        unknown = sorted(given.keys() - {each.name for each in fields(kind)})
        if unknown:
            raise LedgerTooNew(
                f"a ledger line says {name!r} with {unknown[0]!r}, a field which this release does not know. {_UPGRADE}"
            ) from None
        if longer := [field for field, most in _PARTS.items() if _longest(field, given.get(field)) > most]:
            raise LedgerTooNew(
                f"a ledger line says {name!r} with more in its {longer[0]!r} than this release knows of. {_UPGRADE}"
            ) from None
        raise
    return event


_dump = json_writer(separators=(",", ":"))
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
        fields["mentions"] = tuple([cached_mention(*m) for m in fields["mentions"]])
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


def _out(event: Event) -> dict[str, Any]:
    """Every field that differs from its default; the first one always."""
    out: dict[str, Any] = {}
    for place, each in enumerate(fields(event)):
        value = getattr(event, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if not place or value != default:
            out[each.name] = _written(value)
    return out


def _in(given: dict[str, Any]) -> dict[str, Any]:
    return {name: _READ[name](value) if name in _READ else value for name, value in given.items()}


def _written(value: Any) -> Any:
    if isinstance(value, Window):
        return [value.start and micros(value.start), value.end and micros(value.end)]
    if isinstance(value, Alias):
        return [value.name, _written(value.valid)] if value.valid.has_bound else [value.name]
    if isinstance(value, datetime):
        return micros(value)
    return [_written(item) for item in value] if isinstance(value, tuple) else value


# How many parts there are to each value in these fields; in the last two there is one value.
_PARTS = {"mentions": 2, "triples": 3, "times": 2, "passages": 2, "aliases": 2, "revised": 2, "turn": 4, "valid": 2}


def _longest(field: str, value: Any) -> int:
    """How many parts the longest value in a field has, as JSON gives it."""
    values = [value] if field in ("turn", "valid") else value if isinstance(value, list) else ()
    return max((len(each) for each in values if isinstance(each, list)), default=0)


def _window(ends: Sequence[int | None]) -> Window:
    return Window(*map(_moment, ends))


# The fields that JSON does not give back as they were.
_READ: dict[str, Callable[[Any], Any]] = {
    "valid": _window,
    "until": lambda value: from_micros(value),
    "aliases": lambda given: tuple(Alias(name, *map(_window, valid)) for name, *valid in given),
    **dict.fromkeys(("positions", "names", "evidence", "memories", "facts"), tuple),
    **dict.fromkeys(("context", "made", "used", "hidden", "promoted", "edges", "left"), tuple),
    "revised": lambda given: tuple((memory, line) for memory, line in given),
}


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)

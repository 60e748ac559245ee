"""How an event is stored in a ledger entry, read back and checked; and its form outside of the ledger.

An entry contains one event as JSON under the name of its class. Fields with their default value are left
out, so that old entries can be read after a field was added. Small values inside a field (a triple, a
turn) are lists. A list may only get new items at its end; one that is longer than this release expects was
written by a later release.

Exports and signatures have a form that does not depend on the ledger: entries of a space are numbered from 1, and
positions inside an event are replaced by these numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from operator import index
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from remanence.errors import InvalidInput, LedgerCorrupt, LedgerTooNew
from remanence.events import Emptied, Erased, Event, Ran, Remembered, Served, Undone
from remanence.schema import Alias, Entry, Mention, Triple, Turn, Window, cached_mention, from_micros, micros
from remanence.text.text import truncate

WRONG_TYPES = (TypeError, ValueError, LookupError, AttributeError, OverflowError)
"""What a value of a wrong type may raise where it is used."""

_CLASSES: dict[str, type[Any]] = {event.__name__.lower(): event for event in get_args(Event)}
_NAMES = {event: name for name, event in _CLASSES.items()}
_UPGRADE = "It was written by a later release: upgrade with `pip install -U remanence-memory`."

_VALUES = (Window, Mention, Triple, Turn, Alias)  # stored as lists


def _to_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return micros(value)
    if isinstance(value, Alias) and not value.valid.has_bound:
        return [value.name]
    if isinstance(value, Turn) and value.before is None:
        return [value.conversation, value.number, value.speaker, value.at]
    if isinstance(value, _VALUES):
        return [getattr(value, field) for field in value.__slots__]
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


# Digests depend on these options. Without the check, a circular value raises RecursionError.
_encode_json = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False, default=_to_json
).encode


def _fields_and_defaults(event: type[Any]) -> list[tuple[str, Any]]:
    factories = ((field, field.default_factory) for field in fields(event))
    return [(field.name, field.default if factory is MISSING else factory()) for field, factory in factories]


_FIELDS = {event: _fields_and_defaults(event) for event in get_args(Event)}
_parse_json = json.JSONDecoder().decode  # as `json.loads`, which takes longer to get there


def event_kind(event: Event) -> str:
    """The name under which an event is stored, such as "restored"."""
    return _NAMES[type(event)]


def kinds_of(*events: type[Event]) -> tuple[str, ...]:
    """The names under which events of these classes are stored.

    >>> from remanence.events import Forgotten, Restored
    >>> kinds_of(Forgotten, Restored)
    ('forgotten', 'restored')
    """
    return tuple(_NAMES[event] for event in events)


def event_subject(event: Event) -> str:
    """The id of what an event is about: its first field."""
    subject: str = getattr(event, _FIELDS[type(event)][0][0])
    return subject


def encode(event: Event) -> str:
    """The event as one line of JSON, always the same text for the same event.

    >>> from remanence.events import Forgotten
    >>> encode(Forgotten("m1", why="she asked"))
    '{"memory":"m1","why":"she asked"}'
    """
    stored: dict[str, Any] = {}
    for name, default in _FIELDS[type(event)]:
        value = getattr(event, name)
        if value is default or value == default:
            continue
        if name == "valid" and isinstance(event, Remembered):  # two fields since the first release
            ends = {"valid_from": value.start, "valid_until": value.end}
            stored |= {end: moment for end, moment in ends.items() if moment is not None}
        else:
            stored[name] = value
    return _encode_json(stored)


def decode(name: str, body: str) -> Event:
    """The event that `encode` stored."""
    return event_from_fields(name, _parse_json(body))


def event_from_fields(name: str, stored: dict[str, Any]) -> Event:
    event_class = _CLASSES.get(name)
    if event_class is None:
        raise LedgerTooNew(f"this release does not know the kind {name!r} of a ledger entry. {_UPGRADE}")
    if event_class is Remembered:
        ends = stored.pop("valid_from", None), stored.pop("valid_until", None)
        if ends != (None, None):
            stored["valid"] = ends
    try:
        for field in _PARSERS.keys() & stored.keys():
            stored[field] = _PARSERS[field](stored[field])
        event: Event = event_class(**stored)
    except (TypeError, ValueError):
        if unknown := sorted(stored.keys() - {field for field, _ in _FIELDS[event_class]}):
            raise LedgerTooNew(
                f"this release does not know the field {unknown[0]!r} of a ledger entry of kind {name!r}. {_UPGRADE}"
            ) from None
        if longer := [field for field, size in _ITEM_SIZES.items() if _longest_item(field, stored.get(field)) > size]:
            raise LedgerTooNew(
                f"the field {longer[0]!r} of a ledger entry of kind {name!r} has more items than this release "
                f"expects. {_UPGRADE}"
            ) from None
        raise
    return event


def json_objects(lines: Iterable[str], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of the file `name`, one a line, each with its place; blank lines are skipped.

    >>> list(json_objects(['{"text": "One."}', ""], "notes.jsonl"))
    [('notes.jsonl, line 1', {'text': 'One.'})]
    """
    for number, line in enumerate(lines, 1):
        location = f"{name}, line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{location} is not JSON: {error}.") from None
        if not isinstance(row, dict):
            raise InvalidInput(f"{location} is not a JSON object: {truncate(line, 60)!r}.")
        yield location, row


# How many items each value in these fields has; "turn" and "valid" are one value, the others are lists of values.
_ITEM_SIZES = {**dict.fromkeys("mentions times passages aliases revised valid".split(), 2), "triples": 3, "turn": 4}


def _longest_item(field: str, value: Any) -> int:
    values = [value] if field in ("turn", "valid") else value if isinstance(value, list) else ()
    return max((len(item) for item in values if isinstance(item, list)), default=0)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def _window(ends: Sequence[int | None]) -> Window:
    return Window(*map(_moment, ends))


def _turn(stored: Sequence[Any]) -> Turn:
    conversation, number, speaker, at, *before = stored
    return Turn(conversation, number, speaker, _moment(at), *before)


def _pairs(stored: Iterable[Sequence[Any]]) -> tuple[tuple[Any, Any], ...]:
    return tuple([(first, second) for first, second in stored])


# The fields whose type JSON does not preserve.
_PARSERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys("names evidence memories facts context made used hidden promoted edges left tags".split(), tuple),
    **dict.fromkeys(("until", "expires_at", "told_at", "last_used"), from_micros),
    **dict.fromkeys(("revised", "passages"), _pairs),
    "positions": lambda stored: tuple(map(index, stored)),
    "valid": _window,
    "turn": _turn,
    "aliases": lambda stored: tuple(Alias(name, *map(_window, valid)) for name, *valid in stored),
    "mentions": lambda stored: tuple([cached_mention(*mention) for mention in stored]),
    "triples": lambda stored: tuple([Triple(*triple) for triple in stored]),
    # of a memory: windows; of a use: a number
    "times": lambda stored: tuple(map(_window, stored)) if isinstance(stored, list) else stored,
}


def to_portable(event: Event, number_of: Callable[[int], int]) -> Event:
    """The event without the name of its space; `number_of` gives how many entries the space has up to a position."""
    event = remap_positions(event, number_of)
    if isinstance(event, Served):
        return replace(event, asked={name: value for name, value in event.asked.items() if name != "space"})
    return replace(event, space="") if isinstance(event, Emptied) else event


def remap_positions(event: Event, new_position: Callable[[int], int]) -> Event:
    """The same event with each position of another entry replaced by `new_position` of it."""
    if isinstance(event, Erased):
        return replace(event, positions=tuple(map(new_position, event.positions)))
    if isinstance(event, Undone):
        return replace(event, position=new_position(event.position))
    if isinstance(event, Ran):
        revised = tuple((memory, new_position(position)) for memory, position in event.revised)
        return replace(event, planned=new_position(event.planned), revised=revised)
    if isinstance(event, Served):
        return replace(event, asked={**event.asked, "position": new_position(event.asked["position"])})
    return event


def find_damage(entries: Iterable[Entry]) -> LedgerCorrupt | None:
    """The error that names the first of these entries with a value that no release writes; None if there is none. It
    is asked after something has failed: checking every entry that is read would take as long as reading it."""
    for entry in entries:
        name = None if entry.event is None else first_invalid_field(entry.event)
        if name is not None:
            return LedgerCorrupt(
                f"entry {entry.position} of space {entry.space!r} cannot be read: {name} is "
                f"{truncate(repr(getattr(entry.event, name)), 60)}. The ledger was damaged or changed from outside: "
                "run `verify()`, then restore a backup."
            )
    return None


def first_invalid_field(value: Any) -> str | None:
    """The first field of an event with a value of a wrong type; None if there is none."""
    kind: Any = type(value)
    for name, fits in _checks_of_fields(kind):
        if not fits(getattr(value, name)):
            return name
    return None


_Check = Callable[[Any], bool]


@cache
def _checks_of_fields(kind: type[Any]) -> list[tuple[str, _Check]]:
    return [(name, _check_of(hint)) for name, hint in get_type_hints(kind).items()]


def _check_of(hint: Any) -> _Check:
    """What says whether a value is of this type. JSON values only: mappings are dicts, and True is not a number.

    Made once for each field: taking the type apart takes longer than the check, and an import checks every entry."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda _: True
    if origin in (Union, UnionType):
        choices = [_check_of(argument) for argument in args]
        return lambda value: any(fits(value) for fits in choices)
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in args
    if origin is tuple and args[-1] is ...:
        item_fits = _check_of(args[0])
        return lambda value: type(value) is tuple and all(map(item_fits, value))
    if origin is tuple:
        items = [_check_of(argument) for argument in args]
        return lambda value: (
            type(value) is tuple
            and len(value) == len(items)
            and all(fits(item) for fits, item in zip(items, value, strict=True))
        )
    if hint is float:
        return lambda value: type(value) in (int, float) and math.isfinite(value)
    if is_dataclass(hint):
        return lambda value: type(value) is hint and first_invalid_field(value) is None
    plain = dict if origin is Mapping else origin or hint
    return lambda value: type(value) is plain

"""What entries about entities have recorded: attributes of entities and names over ranges of ledger positions.

Nothing is overwritten: a later entry closes a span and opens another, so the state at any position consists of the
spans that cover it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.events import Merged, Registered, Renamed, Split, Undone
from remanence.index.arrays.codecs import DICT_CODEC, INTERNED, JSON, Codec, SavedPart
from remanence.index.arrays.columns import Interner
from remanence.index.batch import Batch
from remanence.index.names.names import Names
from remanence.index.numbers import Position
from remanence.schema import OPEN_END, OPEN_START, Window, window_from_micros, window_to_micros
from remanence.text.text import normalize_name

NAME_OWNER, DISPLAY_NAME, ENTITY_KIND, PART_OF = range(4)
"""What a span of a name or an entity says, as stored."""


class PositionSpan(NamedTuple):
    """`key` has `value` for an attribute, from position `opened` until position `closed`.

    `spelling` is the number of a string. `start` and `end` are the window in which it holds, in microseconds.
    `origin` is the entry that added it first: a span that `undo` opened again keeps it.
    """

    attribute: int
    key: int
    value: int
    spelling: int = -1
    start: int = OPEN_START
    end: int = OPEN_END
    opened: int = 0
    closed: int = OPEN_END
    origin: int = 0

    def covers(self, position: Position) -> bool:
        return self.opened <= position < self.closed

    @property
    def valid(self) -> Window:
        return window_from_micros(self.start, self.end)

    def overlaps(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end


class PositionSpans:
    """Spans by attribute and key or value, and by the entries that opened and closed them."""

    def __init__(self, rows: NDArray[Any] | None = None) -> None:
        self._spans: list[PositionSpan] = []
        self._by_key: dict[tuple[int, int], list[int]] = {}
        self._by_value: dict[tuple[int, int], list[int]] = {}
        self._by_entry: dict[int, list[int]] = {}
        for row in () if rows is None else rows.tolist():
            self._add(PositionSpan._make(row))

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def rows(self) -> NDArray[np.int64]:
        return np.array(self._spans, np.int64).reshape(-1, len(PositionSpan._fields))

    def spans_of_key(self, attribute: int, key: int, position: Position | None = None) -> list[PositionSpan]:
        """The spans of a key at a position, or ever; oldest first."""
        return self._covering(self._by_key.get((attribute, key), ()), position)

    def spans_of_value(self, attribute: int, value: int, position: Position | None = None) -> list[PositionSpan]:
        """The spans with a value at a position, or ever; oldest first."""
        return self._covering(self._by_value.get((attribute, value), ()), position)

    def spans_of_attribute(self, attribute: int, position: Position) -> list[PositionSpan]:
        return [span for span in self._spans if span.attribute == attribute and span.covers(position)]

    def changed_by(self, position: Position) -> list[PositionSpan]:
        """The spans that the entry at a position opened or closed."""
        return [self._spans[number] for number in self._by_entry.get(position, ())]

    def closed_by(self, position: Position) -> list[PositionSpan]:
        return [span for span in self.changed_by(position) if span.closed == position]

    def open(self, span: PositionSpan, position: Position) -> None:
        self._add(span._replace(opened=position, closed=OPEN_END, origin=position))

    def close(self, span: PositionSpan, position: Position) -> None:
        number = next(n for n in self._by_key[span.attribute, span.key] if self._spans[n] == span)
        self._spans[number] = span._replace(closed=position)
        self._by_entry.setdefault(position, []).append(number)

    def undo(self, undone: Position, position: Position) -> None:
        """Close what an earlier entry opened, and open again what it closed."""
        for span in self._open_spans_of(undone):
            self.close(span, position)
        for span in self.closed_by(undone):
            self._add(span._replace(opened=position, closed=OPEN_END))

    def changed_since(self, position: Position) -> int | None:
        """The position of the last entry that closed a span which this entry opened, if it is still closed."""
        opened = [span for span in self.changed_by(position) if span.opened == position]
        if len(self._open_spans_of(position)) == len(opened):
            return None
        return max(span.closed for span in self._spans if span.origin == position and span.closed != OPEN_END)

    def _open_spans_of(self, position: Position) -> list[PositionSpan]:
        """The spans that an entry added and that are open."""
        return [span for span in self._spans if span.origin == position and span.closed == OPEN_END]

    def _covering(self, numbers: Iterable[int], position: Position | None) -> list[PositionSpan]:
        spans = [self._spans[number] for number in numbers]
        return spans if position is None else [span for span in spans if span.covers(position)]

    def _add(self, span: PositionSpan) -> None:
        number = len(self._spans)
        self._spans.append(span)
        self._by_key.setdefault((span.attribute, span.key), []).append(number)
        self._by_value.setdefault((span.attribute, span.value), []).append(number)
        self._by_entry.setdefault(span.opened, []).append(number)
        if span.closed != OPEN_END:
            self._by_entry.setdefault(span.closed, []).append(number)


@lru_cache(1 << 16)
def entity_id(normalized: str) -> str:
    """The id of the entity that a normalized name denotes if nothing was registered."""
    return "e" + hashlib.blake2b(normalized.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class EntityRecords(SavedPart):
    """The attributes of entities and names, by number and ledger position."""

    _saved: ClassVar = {
        "spans": Codec(lambda spans: spans.rows, PositionSpans),
        "entities": INTERNED,
        "strings": INTERNED,
        "_source_names": JSON,
        "undone": DICT_CODEC,
    }

    def __init__(self, names: Names) -> None:
        self._names = names
        self.spans = PositionSpans()
        self.entities: Interner[str] = Interner()
        """The ids of the entities that an entry is about."""
        self.strings: Interner[str] = Interner()
        """Kinds, and names as entries about entities spell them."""
        self.undone: dict[Position, Position] = {}
        """The positions of undone entries, each with that of the entry that undid it."""
        self._source_names: list[int] = []  # of each entity the number of the name that its id is made from, or -1
        self._name_of_default_id: dict[str, int] = {}  # the ids made from names, as far as they were needed
        self._hashed_names = 0

    def intern(self, id_: str, name: str | None = None) -> int:
        """The number of an entity, which is added if necessary; `name` may be the one its id is made from."""
        if name is not None:
            self._names.intern(name)
        number = self.entities.number(id_)
        if number is None:
            source = self._names.number(name) if name and entity_id(normalize_name(name)) == id_ else None
            source = self.source_name(id_) if source is None else source
            number = self.entities.intern(id_)
            self._source_names.append(-1 if source is None else source)
        return number

    def default_id(self, number: int) -> str:
        """The id that is made from a name."""
        default = entity_id(normalize_name(self._names.spellings[number]))
        self._name_of_default_id[default] = number
        return default

    def source_name(self, id_: str) -> int | None:
        """The number of the name that an id is made from, if that name is known."""
        entity = self.entities.number(id_)
        if entity is not None and self._source_names[entity] >= 0:
            return self._source_names[entity]
        if "-" in id_:
            return None  # made by `new_entity_id`
        if id_ not in self._name_of_default_id:
            for number in range(self._hashed_names, len(self._names)):
                self.default_id(number)
            self._hashed_names = len(self._names)
        return self._name_of_default_id.get(id_)

    def owners(self, number: int, position: Position) -> list[PositionSpan]:
        """The entities that a name belongs to, and when."""
        return self.spans.spans_of_key(NAME_OWNER, number, position)

    def merge_target(self, entity: int, position: Position) -> int:
        """The entity that an entity is merged into, directly or through others; itself if it is not merged."""
        while spans := self.spans.spans_of_key(PART_OF, entity, position):
            entity = spans[0].value
        return entity

    def merge_target_id(self, entity: int, position: Position) -> str:
        return self.entities.values[self.merge_target(entity, position)]

    def merged_entities(self, entity: int, position: Position) -> Iterator[int]:
        """An entity and all that were merged into it."""
        waiting = [entity]
        while waiting:
            member = waiting.pop()
            yield member
            waiting += [span.key for span in reversed(self.spans.spans_of_value(PART_OF, member, position))]

    def members_of_id(self, id_: str, position: Position) -> Iterator[int]:
        entity = self.entities.number(id_)
        return iter(()) if entity is None else self.merged_entities(entity, position)

    def spans_of_id(self, attribute: int, id_: str, position: Position) -> list[PositionSpan]:
        entity = self.entities.number(id_)
        return [] if entity is None else self.spans.spans_of_key(attribute, entity, position)

    # Applying entries

    def apply(self, batch: Batch) -> None:
        entry = batch.entry
        if entry is None:
            return
        event, position = entry.event, entry.position
        if isinstance(event, Registered):
            self._register(event, position)
        elif isinstance(event, Renamed):
            entity = self.intern(event.entity, event.name)
            self._add_name(entity, event.name, Window(), position)
            self._set_display_name(entity, event.name, position)
        elif isinstance(event, Merged):
            part, target = self.intern(event.entity), self.intern(event.into)
            # `merge` writes no cycle, but an edited export might contain one, and following it would not end.
            if self.merge_target(part, position) == part != self.merge_target(target, position):
                self.spans.open(PositionSpan(PART_OF, part, target), position)
        elif isinstance(event, Split):
            self._split(event, position)
        elif isinstance(event, Undone):
            self.undone[Position(event.position)] = position
            self.spans.undo(Position(event.position), position)

    def changed_entities(self, position: Position) -> Iterator[int]:
        """The entities that an entry changed, or those they are merged into by then."""
        for span in self.spans.changed_by(position):
            if span.attribute != NAME_OWNER:
                yield self.merge_target(span.key, position)
            if span.attribute in (NAME_OWNER, PART_OF):
                yield self.merge_target(span.value, position)

    def _register(self, event: Registered, position: Position) -> None:
        entity = self.intern(event.entity, event.name)
        if not self.spans.spans_of_key(DISPLAY_NAME, entity, position):
            self._add_name(entity, event.name, Window(), position)
            self._set_display_name(entity, event.name, position)
        for alias in event.aliases:
            self._add_name(entity, alias.name, alias.valid, position)
        if event.kind is not None:
            self._set(PositionSpan(ENTITY_KIND, entity, -1, self.strings.intern(event.kind)), position)

    def _split(self, event: Split, position: Position) -> None:
        entity, into = self.intern(event.entity), self.intern(event.into, event.names[0])
        members = list(self.merged_entities(self.merge_target(entity, position), position))
        for kind in [span for member in members for span in self.spans.spans_of_key(ENTITY_KIND, member, position)][:1]:
            self._set(PositionSpan(ENTITY_KIND, into, -1, kind.spelling), position)
        for name in event.names:
            number = self._names.intern(name)
            owned = [span for span in self.owners(number, position) if span.value in members]
            for span in owned:
                self.spans.close(span, position)
            for span in owned or [PositionSpan(NAME_OWNER, number, into, self.strings.intern(name))]:
                self.spans.open(span._replace(value=into), position)
        self._set_display_name(into, event.names[0], position)

    def _add_name(self, entity: int, name: str, valid: Window, position: Position) -> None:
        """Give a name to an entity. A merged entity that has the name keeps it, in this window, so that it
        still has it after the merge is undone."""
        number = self._names.intern(name)
        start, end = window_to_micros(valid)
        members = set(self.merged_entities(self.merge_target(entity, position), position))
        owned = [span for span in self.owners(number, position) if span.value in members]
        overlapping = [span for span in owned if span.overlaps(start, end)]
        if any((span.start, span.end) == (start, end) for span in overlapping):
            return
        default, owner = self.entities.number(self.default_id(number)), entity
        if overlapping:
            owner = overlapping[0].value
        elif not owned and default is not None and default in members:
            owner = default
        for span in overlapping:
            self.spans.close(span, position)
        self.spans.open(PositionSpan(NAME_OWNER, number, owner, self.strings.intern(name), start, end), position)

    def _set_display_name(self, entity: int, name: str, position: Position) -> None:
        self._set(PositionSpan(DISPLAY_NAME, entity, self._names.intern(name), self.strings.intern(name)), position)

    def _set(self, span: PositionSpan, position: Position) -> None:
        """Set an attribute that has one value at a time."""
        for before in self.spans.spans_of_key(span.attribute, span.key, position):
            self.spans.close(before, position)
        self.spans.open(span, position)

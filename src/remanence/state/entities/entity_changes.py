"""Applies entries about entities: registrations, new names, merges, splits, and what undoes them."""

from __future__ import annotations

from collections.abc import Iterator

from remanence.events import Merged, Registered, Renamed, Split, Undone
from remanence.schema import Entry, Window, window_to_micros
from remanence.state.arrays.position_spans import PositionSpan
from remanence.state.entities.entity_records import DISPLAY_NAME, ENTITY_KIND, NAME_OWNER, PART_OF, EntityRecords
from remanence.state.entities.names import Names


class EntityChanges:
    """Writes entries about entities into the records of a space."""

    def __init__(self, records: EntityRecords, names: Names) -> None:
        self._records, self._names = records, names

    def apply_entry(self, entry: Entry) -> None:
        event, position = entry.event, entry.position
        if isinstance(event, Registered):
            self._register(event, position)
        elif isinstance(event, Renamed):
            entity = self._records.intern(event.entity, event.name)
            self._add_name(entity, event.name, Window(), position)
            self._set_display_name(entity, event.name, position)
        elif isinstance(event, Merged):
            part, target = self._records.intern(event.entity), self._records.intern(event.into)
            # `merge` writes no cycle, but an edited export might contain one, and following it would not end.
            if self._records.merge_target(part, position) == part != self._records.merge_target(target, position):
                self._records.spans.open(PositionSpan(PART_OF, part, target), position)
        elif isinstance(event, Split):
            self._split(event, position)
        elif isinstance(event, Undone):
            self._records.undone[event.position] = position
            self._records.spans.undo(event.position, position)

    def changed_entities(self, position: int) -> Iterator[int]:
        """The entities that an entry changed, or those they are merged into by then."""
        for span in self._records.spans.changed_by(position):
            if span.attribute != NAME_OWNER:
                yield self._records.merge_target(span.key, position)
            if span.attribute in (NAME_OWNER, PART_OF):
                yield self._records.merge_target(span.value, position)

    def _register(self, event: Registered, position: int) -> None:
        entity = self._records.intern(event.entity, event.name)
        if not self._records.spans.spans_of_key(DISPLAY_NAME, entity, position):
            self._add_name(entity, event.name, Window(), position)
            self._set_display_name(entity, event.name, position)
        for alias in event.aliases:
            self._add_name(entity, alias.name, alias.valid, position)
        if event.kind is not None:
            self._set(PositionSpan(ENTITY_KIND, entity, -1, self._records.strings.intern(event.kind)), position)

    def _split(self, event: Split, position: int) -> None:
        spans = self._records.spans
        entity, into = self._records.intern(event.entity), self._records.intern(event.into, event.names[0])
        members = list(self._records.merged_entities(self._records.merge_target(entity, position), position))
        for kind in [span for member in members for span in spans.spans_of_key(ENTITY_KIND, member, position)][:1]:
            self._set(PositionSpan(ENTITY_KIND, into, -1, kind.spelling), position)
        for name in event.names:
            number = self._names.intern(name)
            owned = [span for span in self._records.owners(number, position) if span.value in members]
            for span in owned:
                spans.close(span, position)
            for span in owned or [PositionSpan(NAME_OWNER, number, into, self._records.strings.intern(name))]:
                spans.open(span._replace(value=into), position)
        self._set_display_name(into, event.names[0], position)

    def _add_name(self, entity: int, name: str, valid: Window, position: int) -> None:
        """Give a name to an entity. A merged entity that has the name keeps it, in this window, so that it
        still has it after the merge is undone."""
        number = self._names.intern(name)
        start, end = window_to_micros(valid)
        members = set(self._records.merged_entities(self._records.merge_target(entity, position), position))
        owned = [span for span in self._records.owners(number, position) if span.value in members]
        overlapping = [span for span in owned if span.overlaps(start, end)]
        if any((span.start, span.end) == (start, end) for span in overlapping):
            return
        default, owner = self._records.entities.number(self._records.default_id(number)), entity
        if overlapping:
            owner = overlapping[0].value
        elif not owned and default is not None and default in members:
            owner = default
        for span in overlapping:
            self._records.spans.close(span, position)
        self._records.spans.open(
            PositionSpan(NAME_OWNER, number, owner, self._records.strings.intern(name), start, end), position
        )

    def _set_display_name(self, entity: int, name: str, position: int) -> None:
        self._set(
            PositionSpan(DISPLAY_NAME, entity, self._names.intern(name), self._records.strings.intern(name)), position
        )

    def _set(self, span: PositionSpan, position: int) -> None:
        """Set an attribute that has one value at a time."""
        for before in self._records.spans.spans_of_key(span.attribute, span.key, position):
            self._records.spans.close(before, position)
        self._records.spans.open(span, position)

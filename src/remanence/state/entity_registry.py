"""Which names stand for one entity, at which ledger position.

An entity that nobody registered is there as soon as a memory names it: its id comes from its name.
Lines about entities lay something over that, each over a span of the ledger, so that the past is read
like the present; an undone line closes what it opened and opens again what it closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.events import Merged, Registered, Renamed, Split, Undone
from remanence.schema import Alias, Entity, Entry, Window, window_to_micros
from remanence.state.entity_clusters import (
    DISPLAY_NAME,
    ENTITY_KIND,
    NAME_OWNER,
    PART_OF,
    Clusters,
    EntityName,
    entity_id,
    is_entity_id,
)
from remanence.state.name_similarity import SimilarNames
from remanence.state.names import Names
from remanence.state.position_spans import Span

__all__ = ["EntityName", "Registry", "describe_entity", "entity_id", "is_entity_id"]

_MOST_DESCRIBED = 16


def describe_entity(name: str, others: Iterable[str], kind: str) -> str:
    """What an entity is called and of what kind it is, in words that can be embedded.

    >>> describe_entity("AlphaOne LLC", ["AO"], "organization")
    'AlphaOne LLC, AO (organization)'
    """
    # Sorted, so that the same names make the same text in whatever order they came.
    names = ", ".join((name, *sorted({*others} - {name})[:_MOST_DESCRIBED]))
    return names if kind == "thing" else f"{names} ({kind})"


class Registry:
    """Entities over the names of a space."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._all = Clusters(names)
        self._undone: dict[int, int] = {}
        self.similar_names = SimilarNames(names)

    def apply_entry(self, entry: Entry) -> None:
        """Take in a line about entities; any other is passed over."""
        event, line = entry.event, entry.position
        if isinstance(event, Registered):
            self._register(event, line)
        elif isinstance(event, Renamed):
            entity = self._all.intern(event.entity, event.name)
            self._own(entity, event.name, Window(), line)
            self._call(entity, event.name, line)
        elif isinstance(event, Merged):
            part, whole = self._all.intern(event.entity), self._all.intern(event.into)
            # `merge` writes no circle, but whoever edits an export might, and it would be walked for ever.
            if self._all.root_number(part, line) == part != self._all.root_number(whole, line):
                self._all.spans.open(Span(PART_OF, part, whole), line)
        elif isinstance(event, Split):
            self._split(event, line)
        elif isinstance(event, Undone):
            self._undone[event.position] = line
            self._all.spans.undo(event.position, line)

    def changed_descriptions(self, entry: Entry) -> list[tuple[int, str]]:
        """The descriptions that a line, just taken in, has changed: each with the number of a name.

        None for an undoing: what it brings back was described when it was there before.
        """
        if isinstance(entry.event, Undone):
            return []
        out: dict[int, str] = {}
        for entity in dict.fromkeys(self._concerned(entry.position)):
            now = self.get(self._all.ids[entity], entry.position)
            if now is not None:
                text = describe_entity(now.name, (alias.name for alias in now.aliases), now.kind)
                out[self._names.intern(now.name)] = text
        return list(out.items())

    def descriptions(self, position: int) -> list[str]:
        """How every entity that was registered is described at a position."""
        ids = dict.fromkeys(self._all.root_id(each, position) for each in self._all.ids)
        found = (self.get(each, position) for each in ids)
        return [
            describe_entity(entity.name, (alias.name for alias in entity.aliases), entity.kind)
            for entity in found
            if entity is not None
        ]

    # Asking

    def find(self, name: str, position: int, at: datetime | None = None) -> str | None:
        """The id of the entity that goes by a name; None for a name never met.

        With `at`, the one that goes by it then; without, the one that did so last. Whether a view may
        know of a name that only memories say is another question: `get` with `seen` answers it.
        """
        number = self._names.number(name)
        if number is None:
            return None
        owners = self._all.owner_spans(number, position)
        if at is None or not owners:
            return self._all.owner_id(number, position)
        then = (span for span in owners if at in span.valid)
        return next((self._all.ids[self._all.root_number(span.value, position)] for span in then), None)

    def get(self, entity_id: str, position: int, seen: Callable[[int], bool] | None = None) -> Entity | None:
        """An entity, or the one it is part of; None if there is none.

        `seen` tells of a name, by number, whether a memory that may be seen says it; a name that only
        other memories say is left out.
        """
        root = self._all.root_id(entity_id, position)
        named = self._all.names_of(root, position)
        names = [each for each in named if each.is_registered or seen is None or seen(each.number)]
        if not names:
            return None
        number, name = self.display_name_among(root, names, position)
        return Entity(
            id=root,
            name=name,
            kind=self.kind_of(root, (each.number for each in names), position),
            aliases=tuple(Alias(each.spelling, each.valid) for each in names if each.number != number),
        )

    def entity_of(self, number: int, position: int) -> str:
        """The id of the entity that a name stands for, the last one if there were several."""
        return self._all.owner_id(number, position)

    def numbers_of(self, entity_id: str, position: int) -> tuple[int, ...]:
        """The numbers of the names that an entity goes by, whenever it did."""
        return tuple(dict.fromkeys(each.number for each in self.names_of(entity_id, position)))

    def same_entity(self, number: int, position: int) -> tuple[int, ...]:
        """The names that stand for the same entity as this one, itself first; whenever they did."""
        if not len(self._all.spans):
            return (number,)
        entities = [span.value for span in self._all.owner_spans(number, position)]
        if not entities:
            own = self._all.number(self._all.default_id(number))
            entities = [] if own is None else [own]
        out = {number: None}
        for entity in entities:
            out |= dict.fromkeys(self._all.name_numbers(self._all.root_number(entity, position), position))
        return tuple(out)

    def has_several_owners(self, number: int, position: int) -> bool:
        """Whether a name was first that of one entity and then of another."""
        return len(self._all.owner_spans(number, position)) > 1

    def name_of_past_owner(self, number: int, position: int, at: int) -> int:
        """A name, by number, that is now that of whoever went by this one at a moment (in microseconds)."""
        then = [span for span in self._all.owner_spans(number, position) if span.start <= at < span.end]
        if not then:
            return number
        meant = self._all.ids[self._all.root_number(then[0].value, position)]
        names = (number, *self.numbers_of(meant, position))
        return next((name for name in names if self.entity_of(name, position) == meant), number)

    def kind_of(self, entity_id: str, numbers: Iterable[int], position: int) -> str:
        """Of what kind an entity is: as registered, else as the memories that say these names have it."""
        return self.registered_kind(entity_id, position) or self.kind_of_names(numbers)

    def registered_kind(self, entity_id: str, position: int) -> str | None:
        """Of what kind an entity was registered."""
        entity = self._all.number(entity_id)
        for member in () if entity is None else self._all.members(entity, position):
            for span in self._all.spans.with_key(ENTITY_KIND, member, position):
                return self._all.strings[span.spelling]
        return None

    def kind_of_names(self, numbers: Iterable[int]) -> str:
        """Of what kind memories have what goes by these names; the name that was met first decides."""
        kinds = (self._names.kinds[number] for number in sorted(numbers))
        return next((kind for kind in kinds if kind != "thing"), "thing")

    def names_of(self, entity_id: str, position: int) -> list[EntityName]:
        """The names that an entity goes by, as they are spelled beside its own."""
        return list(self._all.names_of(self._all.root_id(entity_id, position), position))

    def display_name_among(self, entity_id: str, names: Sequence[EntityName], position: int) -> tuple[int, str]:
        """What an entity is called if it goes by these names: the number and the spelling.

        It is what somebody said that it is called, as long as that is one of them; else the first.
        """
        entity = self._all.number(entity_id)
        numbers = {each.number for each in names}
        for span in () if entity is None else self._all.spans.with_key(DISPLAY_NAME, entity, position):
            if span.value in numbers:
                return span.value, self._all.strings[span.spelling]
        return names[0].number, names[0].spelling

    def has_display_name(self, entity_id: str, position: int) -> bool:
        """Whether somebody said what this entity is called."""
        entity = self._all.number(entity_id)
        return entity is not None and bool(self._all.spans.with_key(DISPLAY_NAME, entity, position))

    def is_registered(self, entity_id: str, position: int) -> bool:
        """Whether somebody said what this entity is called, or what it is one with."""
        entity, spans = self._all.number(entity_id), self._all.spans
        return entity is not None and bool(
            spans.with_key(DISPLAY_NAME, entity, position)
            or spans.with_key(PART_OF, entity, position)
            or spans.with_value(PART_OF, entity, position)
        )

    def registered_names(self, position: int) -> Iterator[tuple[int, str, bool]]:
        """The names that lines about entities concern: the number, the entity's id, and whether such a line
        says the name itself."""
        spans = self._all.spans
        said = {span.key for span in spans.with_attribute(NAME_OWNER, position)}
        entities = {span.key for what in (DISPLAY_NAME, PART_OF) for span in spans.with_attribute(what, position)}
        entities |= {span.value for span in spans.with_attribute(PART_OF, position)}
        homes = {self._all.source_name(self._all.ids[entity]) for entity in entities}
        for number in sorted(said.union(home for home in homes if home is not None)):
            yield number, self._all.owner_id(number, position), number in said

    def positions_of_entity(self, entity_id: str, position: int) -> list[int]:
        """The ledger lines about an entity and what is part of it, oldest first."""
        entity, spans = self._all.number(self._all.root_id(entity_id, position)), self._all.spans
        lines: set[int] = set()
        for member in () if entity is None else self._all.members(entity, position):
            about = [
                span for what in (DISPLAY_NAME, ENTITY_KIND, PART_OF) for span in spans.ever_with_key(what, member)
            ]
            about += [span for what in (NAME_OWNER, PART_OF) for span in spans.ever_with_value(what, member)]
            lines.update(line for span in about for line in (span.opened, span.closed))
        return sorted(line for line in lines if line <= position)

    # What stands in the way of a line

    def owners_of_name(self, name: str, valid: Window, position: int) -> list[tuple[str, Window]]:
        """The registered entities that go by a name in some of this time, and when they do."""
        number = self._names.number(name)
        if number is None:
            return []
        owners = self._all.owner_spans(number, position)
        if not owners:
            own = self._all.owner_id(number, position)
            return [(own, Window())] if self.is_registered(self._all.default_id(number), position) else []
        met = (span for span in owners if span.overlaps(*window_to_micros(valid)))
        return [(self._all.ids[self._all.root_number(span.value, position)], span.valid) for span in met]

    def name_windows(self, entity_id: str, name: str, position: int) -> list[Window]:
        """When an entity goes by a name."""
        number = self._names.number(name)
        return [each.valid for each in self.names_of(entity_id, position) if each.number == number]

    def undone_by(self, line: int) -> int | None:
        """The line that took this one back."""
        return self._undone.get(line)

    def changed_since(self, line: int) -> int | None:
        """The last line that changed something which this one said."""
        return self._all.spans.changed_since(line)

    def contested_names(self, line: int, position: int) -> list[tuple[str, str]]:
        """The names that went to another entity since a line took them away, each with that one's id."""
        spans = self._all.spans
        return [
            (self._all.strings[span.spelling], self._all.ids[self._all.root_number(other.value, position)])
            for span in spans.closed_by(line)
            if span.attribute == NAME_OWNER
            for other in spans.with_key(NAME_OWNER, span.key, position)
            if other.origin != line and other.overlaps(span.start, span.end)
        ]

    def fresh_id(self, name: str) -> str:
        """An id for another entity of this name."""
        return self._all.fresh_id(name)

    # Snapshots

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Everything as plain arrays."""
        undone = np.array(list(self._undone.items()), np.int64).reshape(-1, 2)
        return {**self._all.save(), "undone": undone}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become what `save` wrote."""
        self._all.load(arrays)
        self._undone = dict(arrays["undone"].tolist())

    # Applying

    def _register(self, event: Registered, line: int) -> None:
        entity = self._all.intern(event.entity, event.name)
        if not self._all.spans.with_key(DISPLAY_NAME, entity, line):
            self._own(entity, event.name, Window(), line)
            self._call(entity, event.name, line)
        for alias in event.aliases:
            self._own(entity, alias.name, alias.valid, line)
        if event.kind is not None:
            self._set(Span(ENTITY_KIND, entity, -1, self._all.intern_string(event.kind)), line)

    def _split(self, event: Split, line: int) -> None:
        spans = self._all.spans
        entity, into = self._all.intern(event.entity), self._all.intern(event.into, event.names[0])
        members = list(self._all.members(self._all.root_number(entity, line), line))
        for kind in [span for member in members for span in spans.with_key(ENTITY_KIND, member, line)][:1]:
            self._set(Span(ENTITY_KIND, into, -1, kind.spelling), line)
        for name in event.names:
            number = self._names.intern(name)
            owned = [span for span in spans.with_key(NAME_OWNER, number, line) if span.value in members]
            for span in owned:
                spans.close(span, line)
            for span in owned or [Span(NAME_OWNER, number, into, self._all.intern_string(name))]:
                spans.open(span._replace(value=into), line)
        self._call(into, event.names[0], line)

    def _own(self, entity: int, name: str, valid: Window, line: int) -> None:
        """Give a name to an entity. A part of it that has the name already keeps it, in this time, so that
        it still has it when the two are parted."""
        number = self._names.intern(name)
        start, end = window_to_micros(valid)
        members = set(self._all.members(self._all.root_number(entity, line), line))
        owned = [span for span in self._all.owner_spans(number, line) if span.value in members]
        met = [span for span in owned if span.overlaps(start, end)]
        if any((span.start, span.end) == (start, end) for span in met):
            return
        home, holder = self._all.number(self._all.default_id(number)), entity
        if met:
            holder = met[0].value
        elif not owned and home is not None and home in members:
            holder = home
        for span in met:
            self._all.spans.close(span, line)
        self._all.spans.open(Span(NAME_OWNER, number, holder, self._all.intern_string(name), start, end), line)

    def _call(self, entity: int, name: str, line: int) -> None:
        self._set(Span(DISPLAY_NAME, entity, self._names.intern(name), self._all.intern_string(name)), line)

    def _set(self, span: Span, line: int) -> None:
        """Say something of which there is one at a time."""
        for before in self._all.spans.with_key(span.attribute, span.key, line):
            self._all.spans.close(before, line)
        self._all.spans.open(span, line)

    def _concerned(self, line: int) -> Iterator[int]:
        """The entities that a line changed something of, or what these are part of by then."""
        for span in self._all.spans.changed_by(line):
            if span.attribute != NAME_OWNER:
                yield self._all.root_number(span.key, line)
            if span.attribute in (NAME_OWNER, PART_OF):
                yield self._all.root_number(span.value, line)

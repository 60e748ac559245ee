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
from remanence.schema import Alias, Entity, Entry, Window, ends_of
from remanence.state.entity_clusters import (
    CALLED,
    KIND,
    OWNED,
    PART_OF,
    Clusters,
    Named,
    entity_id,
    is_entity_id,
)
from remanence.state.name_similarity import Alike
from remanence.state.names import Names
from remanence.state.position_spans import Span

__all__ = ["Named", "Registry", "description", "entity_id", "is_entity_id"]

_MOST_DESCRIBED = 16


def description(name: str, others: Iterable[str], kind: str) -> str:
    """What an entity is called and of what kind it is, in words that can be embedded.

    >>> description("AlphaOne LLC", ["AO"], "organization")
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
        self.alike = Alike(names)

    def take(self, entry: Entry) -> None:
        """Take in a line about entities; any other is passed over."""
        event, line = entry.event, entry.position
        if isinstance(event, Registered):
            self._register(event, line)
        elif isinstance(event, Renamed):
            entity = self._all.learn(event.entity, event.name)
            self._own(entity, event.name, Window(), line)
            self._call(entity, event.name, line)
        elif isinstance(event, Merged):
            part, whole = self._all.learn(event.entity), self._all.learn(event.into)
            # `merge` writes no circle, but whoever edits an export might, and it would be walked for ever.
            if self._all.top(part, line) == part != self._all.top(whole, line):
                self._all.spans.open(Span(PART_OF, part, whole), line)
        elif isinstance(event, Split):
            self._split(event, line)
        elif isinstance(event, Undone):
            self._undone[event.position] = line
            self._all.spans.undo(event.position, line)

    def described(self, entry: Entry) -> list[tuple[int, str]]:
        """The descriptions that a line, just taken in, has changed: each with the number of a name.

        None for an undoing: what it brings back was described when it was there before.
        """
        if isinstance(entry.event, Undone):
            return []
        out: dict[int, str] = {}
        for entity in dict.fromkeys(self._concerned(entry.position)):
            now = self.get(self._all.ids[entity], entry.position)
            if now is not None:
                text = description(now.name, (alias.name for alias in now.aliases), now.kind)
                out[self._names.learn(now.name)] = text
        return list(out.items())

    def descriptions(self, position: int) -> list[str]:
        """How every entity that was registered is described at a position."""
        ids = dict.fromkeys(self._all.root(each, position) for each in self._all.ids)
        found = (self.get(each, position) for each in ids)
        return [
            description(entity.name, (alias.name for alias in entity.aliases), entity.kind)
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
        owners = self._all.owners(number, position)
        if at is None or not owners:
            return self._all.owner(number, position)
        then = (span for span in owners if at in span.valid)
        return next((self._all.ids[self._all.top(span.value, position)] for span in then), None)

    def get(self, entity_id: str, position: int, seen: Callable[[int], bool] | None = None) -> Entity | None:
        """An entity, or the one it is part of; None if there is none.

        `seen` tells of a name, by number, whether a memory that may be seen says it; a name that only
        other memories say is left out.
        """
        root = self._all.root(entity_id, position)
        named = self._all.named(root, position)
        names = [each for each in named if each.said or seen is None or seen(each.number)]
        if not names:
            return None
        number, name = self.called_among(root, names, position)
        return Entity(
            id=root,
            name=name,
            kind=self.kind(root, (each.number for each in names), position),
            aliases=tuple(Alias(each.spelled, each.valid) for each in names if each.number != number),
        )

    def entity_of(self, number: int, position: int) -> str:
        """The id of the entity that a name stands for, the last one if there were several."""
        return self._all.owner(number, position)

    def numbers_of(self, entity_id: str, position: int) -> tuple[int, ...]:
        """The numbers of the names that an entity goes by, whenever it did."""
        return tuple(dict.fromkeys(each.number for each in self.names_of(entity_id, position)))

    def same(self, number: int, position: int) -> tuple[int, ...]:
        """The names that stand for the same entity as this one, itself first; whenever they did."""
        if not len(self._all.spans):
            return (number,)
        entities = [span.value for span in self._all.owners(number, position)]
        if not entities:
            own = self._all.number(self._all.id_of(number))
            entities = [] if own is None else [own]
        out = {number: None}
        for entity in entities:
            out |= dict.fromkeys(self._all.numbers(self._all.top(entity, position), position))
        return tuple(out)

    def passed_on(self, number: int, position: int) -> bool:
        """Whether a name was first that of one entity and then of another."""
        return len(self._all.owners(number, position)) > 1

    def meant(self, number: int, position: int, at: int) -> int:
        """A name, by number, that is now that of whoever went by this one at a moment (in microseconds)."""
        then = [span for span in self._all.owners(number, position) if span.start <= at < span.end]
        if not then:
            return number
        meant = self._all.ids[self._all.top(then[0].value, position)]
        names = (number, *self.numbers_of(meant, position))
        return next((name for name in names if self.entity_of(name, position) == meant), number)

    def kind(self, entity_id: str, numbers: Iterable[int], position: int) -> str:
        """Of what kind an entity is: as registered, else as the memories that say these names have it."""
        return self.kind_said(entity_id, position) or self.kind_of_names(numbers)

    def kind_said(self, entity_id: str, position: int) -> str | None:
        """Of what kind an entity was registered."""
        entity = self._all.number(entity_id)
        for member in () if entity is None else self._all.members(entity, position):
            for span in self._all.spans.at(KIND, member, position):
                return self._all.words[span.word]
        return None

    def kind_of_names(self, numbers: Iterable[int]) -> str:
        """Of what kind memories have what goes by these names; the name that was met first decides."""
        kinds = (self._names.kinds[number] for number in sorted(numbers))
        return next((kind for kind in kinds if kind != "thing"), "thing")

    def names_of(self, entity_id: str, position: int) -> list[Named]:
        """The names that an entity goes by, as they are spelled beside its own."""
        return list(self._all.named(self._all.root(entity_id, position), position))

    def called_among(self, entity_id: str, names: Sequence[Named], position: int) -> tuple[int, str]:
        """What an entity is called if it goes by these names: the number and the spelling.

        It is what somebody said that it is called, as long as that is one of them; else the first.
        """
        entity = self._all.number(entity_id)
        numbers = {each.number for each in names}
        for span in () if entity is None else self._all.spans.at(CALLED, entity, position):
            if span.value in numbers:
                return span.value, self._all.words[span.word]
        return names[0].number, names[0].spelled

    def called(self, entity_id: str, position: int) -> bool:
        """Whether somebody said what this entity is called."""
        entity = self._all.number(entity_id)
        return entity is not None and bool(self._all.spans.at(CALLED, entity, position))

    def registered(self, entity_id: str, position: int) -> bool:
        """Whether somebody said what this entity is called, or what it is one with."""
        entity, spans = self._all.number(entity_id), self._all.spans
        return entity is not None and bool(
            spans.at(CALLED, entity, position)
            or spans.at(PART_OF, entity, position)
            or spans.of(PART_OF, entity, position)
        )

    def named(self, position: int) -> Iterator[tuple[int, str, bool]]:
        """The names that lines about entities concern: the number, the entity's id, and whether such a line
        says the name itself."""
        spans = self._all.spans
        said = {span.key for span in spans.all(OWNED, position)}
        entities = {span.key for what in (CALLED, PART_OF) for span in spans.all(what, position)}
        entities |= {span.value for span in spans.all(PART_OF, position)}
        homes = {self._all.home(self._all.ids[entity]) for entity in entities}
        for number in sorted(said.union(home for home in homes if home is not None)):
            yield number, self._all.owner(number, position), number in said

    def lines_of(self, entity_id: str, position: int) -> list[int]:
        """The ledger lines about an entity and what is part of it, oldest first."""
        entity, spans = self._all.number(self._all.root(entity_id, position)), self._all.spans
        lines: set[int] = set()
        for member in () if entity is None else self._all.members(entity, position):
            about = [span for what in (CALLED, KIND, PART_OF) for span in spans.ever_at(what, member)]
            about += [span for what in (OWNED, PART_OF) for span in spans.ever_of(what, member)]
            lines.update(line for span in about for line in (span.opened, span.closed))
        return sorted(line for line in lines if line <= position)

    # What stands in the way of a line

    def holders(self, name: str, valid: Window, position: int) -> list[tuple[str, Window]]:
        """The registered entities that go by a name in some of this time, and when they do."""
        number = self._names.number(name)
        if number is None:
            return []
        owners = self._all.owners(number, position)
        if not owners:
            own = self._all.owner(number, position)
            return [(own, Window())] if self.registered(self._all.id_of(number), position) else []
        met = (span for span in owners if span.meets(*ends_of(valid)))
        return [(self._all.ids[self._all.top(span.value, position)], span.valid) for span in met]

    def windows(self, entity_id: str, name: str, position: int) -> list[Window]:
        """When an entity goes by a name."""
        number = self._names.number(name)
        return [each.valid for each in self.names_of(entity_id, position) if each.number == number]

    def undone_by(self, line: int) -> int | None:
        """The line that took this one back."""
        return self._undone.get(line)

    def changed_since(self, line: int) -> int | None:
        """The last line that changed something which this one said."""
        return self._all.spans.changed_since(line)

    def contested(self, line: int, position: int) -> list[tuple[str, str]]:
        """The names that went to another entity since a line took them away, each with that one's id."""
        spans = self._all.spans
        return [
            (self._all.words[span.word], self._all.ids[self._all.top(other.value, position)])
            for span in spans.ended_by(line)
            if span.what == OWNED
            for other in spans.at(OWNED, span.key, position)
            if other.origin != line and other.meets(span.start, span.end)
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
        entity = self._all.learn(event.entity, event.name)
        if not self._all.spans.at(CALLED, entity, line):
            self._own(entity, event.name, Window(), line)
            self._call(entity, event.name, line)
        for alias in event.aliases:
            self._own(entity, alias.name, alias.valid, line)
        if event.kind is not None:
            self._set(Span(KIND, entity, -1, self._all.spell(event.kind)), line)

    def _split(self, event: Split, line: int) -> None:
        spans = self._all.spans
        entity, into = self._all.learn(event.entity), self._all.learn(event.into, event.names[0])
        members = list(self._all.members(self._all.top(entity, line), line))
        for kind in [span for member in members for span in spans.at(KIND, member, line)][:1]:
            self._set(Span(KIND, into, -1, kind.word), line)
        for name in event.names:
            number = self._names.learn(name)
            owned = [span for span in spans.at(OWNED, number, line) if span.value in members]
            for span in owned:
                spans.close(span, line)
            for span in owned or [Span(OWNED, number, into, self._all.spell(name))]:
                spans.open(span._replace(value=into), line)
        self._call(into, event.names[0], line)

    def _own(self, entity: int, name: str, valid: Window, line: int) -> None:
        """Give a name to an entity. A part of it that has the name already keeps it, in this time, so that
        it still has it when the two are parted."""
        number = self._names.learn(name)
        start, end = ends_of(valid)
        members = set(self._all.members(self._all.top(entity, line), line))
        owned = [span for span in self._all.owners(number, line) if span.value in members]
        met = [span for span in owned if span.meets(start, end)]
        if any((span.start, span.end) == (start, end) for span in met):
            return
        home, holder = self._all.number(self._all.id_of(number)), entity
        if met:
            holder = met[0].value
        elif not owned and home is not None and home in members:
            holder = home
        for span in met:
            self._all.spans.close(span, line)
        self._all.spans.open(Span(OWNED, number, holder, self._all.spell(name), start, end), line)

    def _call(self, entity: int, name: str, line: int) -> None:
        self._set(Span(CALLED, entity, self._names.learn(name), self._all.spell(name)), line)

    def _set(self, span: Span, line: int) -> None:
        """Say something of which there is one at a time."""
        for before in self._all.spans.at(span.what, span.key, line):
            self._all.spans.close(before, line)
        self._all.spans.open(span, line)

    def _concerned(self, line: int) -> Iterator[int]:
        """The entities that a line changed something of, or what these are part of by then."""
        for span in self._all.spans.touched(line):
            if span.what != OWNED:
                yield self._all.top(span.key, line)
            if span.what in (OWNED, PART_OF):
                yield self._all.top(span.value, line)

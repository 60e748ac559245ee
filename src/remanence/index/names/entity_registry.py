"""Which names belong to one entity, at which ledger position.

An entity that was never registered exists as soon as a memory names it: its id is made from its name.
Entries about entities add four attributes, each over a range of ledger positions, so that the past is read
like the present: NAME_OWNER (a name belongs to an entity in some window), DISPLAY_NAME, ENTITY_KIND, and
PART_OF (an entity was merged into another). Undoing an entry ends what it added and restores what it ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from remanence.events import Undone
from remanence.index.names.entity_records import (
    DISPLAY_NAME,
    ENTITY_KIND,
    NAME_OWNER,
    PART_OF,
    EntityRecords,
    PositionSpan,
    entity_id,
)
from remanence.index.names.names import Names
from remanence.index.names.similar_names import SimilarNames
from remanence.index.numbers import Position
from remanence.schema import Alias, Entity, Entry, Window, window_to_micros
from remanence.text.text import normalize_name

_ENTITY_ID = re.compile(r"e[0-9a-f]{16}(-\d+)?")


def is_entity_id(text: str) -> bool:
    return _ENTITY_ID.fullmatch(text) is not None


class EntityName(NamedTuple):
    """A name of an entity; `is_registered` if an entry about entities has it, not only memories."""

    number: int
    spelling: str
    valid: Window
    is_registered: bool


class EntityRegistry(EntityRecords):
    """The entities of a space. Entities and names are numbered; entities have ids too."""

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self.similar_names = SimilarNames(names)

    def changed_descriptions(self, entry: Entry) -> list[tuple[int, str]]:
        """The descriptions that an applied entry has changed, each with the number of a name.

        None for `Undone`: what it restores was described before.
        """
        if isinstance(entry.event, Undone):
            return []
        entities = dict.fromkeys(self.changed_entities(entry.position))
        found = (self.get(self.entities.values[entity], entry.position) for entity in entities)
        return list({self._names.intern(entity.name): _describe(entity) for entity in found if entity}.items())

    def descriptions(self, position: Position) -> list[str]:
        ids = dict.fromkeys(self._current_id(value, position) for value in self.entities.values)
        return [_describe(entity) for id_ in ids if (entity := self.get(id_, position)) is not None]

    # Reading

    def find(self, name: str, position: Position, at: datetime | None = None) -> str | None:
        """The id of the entity with a name; None for an unknown name.

        With `at`, the entity that has the name then; without, the last one that had it. Whether a view may
        see a name that only memories contain is a separate question: see `get`.
        """
        number = self._names.number(name)
        if number is None:
            return None
        owners = self.owners(number, position)
        if at is None or not owners:
            return self.entity_of(number, position)
        return next((self.merge_target_id(span.value, position) for span in owners if at in span.valid), None)

    def get(self, entity_id: str, position: Position, is_visible: Callable[[int], bool] | None = None) -> Entity | None:
        """An entity, or the one it was merged into; None if there is none.

        `is_visible` returns whether a visible memory contains a name, by number. Other names that were not registered
        are left out.
        """
        root = self._current_id(entity_id, position)
        names = [
            name_entry
            for name_entry in self._names_of_root(root, position)
            if name_entry.is_registered or not is_visible or is_visible(name_entry.number)
        ]
        if not names:
            return None
        number, name = self.display_name_among(root, names, position)
        return Entity(
            id=root,
            name=name,
            kind=self.kind_of(root, (name_entry.number for name_entry in names), position),
            aliases=tuple(
                Alias(name_entry.spelling, name_entry.valid) for name_entry in names if name_entry.number != number
            ),
        )

    def entity_of(self, number: int, position: Position) -> str:
        """The id of the entity that has a name, the last one if there were several."""
        owners = self.owners(number, position)
        if owners:
            last = max(owners, key=lambda span: (span.end, span.start, span.opened))
            return self.merge_target_id(last.value, position)
        default = self.default_id(number)
        entity = self.entities.number(default)
        return default if entity is None else self.merge_target_id(entity, position)

    @property
    def has_entries(self) -> bool:
        """Whether any entry was about entities. Otherwise each name is an entity of its own."""
        return len(self.spans) > 0

    def names_of_same_entity(self, number: int, position: Position) -> tuple[int, ...]:
        """The names of the entities that have or had this name, itself first."""
        if not self.has_entries:
            return (number,)
        entities = [span.value for span in self.owners(number, position)]
        if not entities:
            default = self.entities.number(self.default_id(number))
            entities = [] if default is None else [default]
        numbers = {number: None}
        for entity in entities:
            root = self.merge_target_id(entity, position)
            numbers |= {name_entry.number: None for name_entry in self._names_of_root(root, position)}
        return tuple(numbers)

    def has_several_owners(self, number: int, position: Position) -> bool:
        """Whether a name belonged to several entities, one after the other."""
        return len(self.owners(number, position)) > 1

    def name_of_past_owner(self, number: int, position: Position, at: int) -> int:
        """A present name, by number, of the entity that had this name at a moment (in microseconds)."""
        owners = [span for span in self.owners(number, position) if span.start <= at < span.end]
        if not owners:
            return number
        owner = self.merge_target_id(owners[0].value, position)
        names = (number, *(name.number for name in self.names_of(owner, position)))
        return next((name for name in names if self.entity_of(name, position) == owner), number)

    def kind_of(self, entity_id: str, numbers: Iterable[int], position: Position) -> str:
        """As registered, else as memories have it for these names; the oldest name decides."""
        kinds = (self._names.kinds[number] for number in sorted(numbers))
        found = next((kind for kind in kinds if kind != "thing"), "thing")
        return self.registered_kind(entity_id, position) or found

    def registered_kind(self, entity_id: str, position: Position) -> str | None:
        for member in self.members_of_id(entity_id, position):
            for span in self.spans.spans_of_key(ENTITY_KIND, member, position):
                return self.strings.values[span.spelling]
        return None

    def names_of(self, entity_id: str, position: Position) -> list[EntityName]:
        return list(self._names_of_root(self._current_id(entity_id, position), position))

    def display_name_among(self, entity_id: str, names: Sequence[EntityName], position: Position) -> tuple[int, str]:
        """The number and spelling of its main name: as registered if that is one of these, else the first."""
        numbers = {name.number for name in names}
        for span in self.spans_of_id(DISPLAY_NAME, entity_id, position):
            if span.value in numbers:
                return span.value, self.strings.values[span.spelling]
        return names[0].number, names[0].spelling

    def has_display_name(self, entity_id: str, position: Position) -> bool:
        return bool(self.spans_of_id(DISPLAY_NAME, entity_id, position))

    def is_registered(self, entity_id: str, position: Position) -> bool:
        """Whether this entity was named, merged into another, or had another merged into it."""
        entity = self.entities.number(entity_id)
        return entity is not None and bool(
            self.spans.spans_of_key(DISPLAY_NAME, entity, position)
            or self.spans.spans_of_key(PART_OF, entity, position)
            or self.spans.spans_of_value(PART_OF, entity, position)
        )

    def registered_names(self, position: Position) -> Iterator[tuple[int, str, bool]]:
        """The names that entries about entities concern: number, entity id, and whether they contain the name."""
        spans = self.spans
        owned = {span.key for span in spans.spans_of_attribute(NAME_OWNER, position)}
        entities = {
            span.key for attribute in (DISPLAY_NAME, PART_OF) for span in spans.spans_of_attribute(attribute, position)
        }
        entities |= {span.value for span in spans.spans_of_attribute(PART_OF, position)}
        sources = {self.source_name(self.entities.values[entity]) for entity in entities}
        for number in sorted(owned.union(source for source in sources if source is not None)):
            yield number, self.entity_of(number, position), number in owned

    def is_owned(self, number: int, position: Position) -> bool:
        """Whether a name was registered as the name or an alias of an entity."""
        return bool(self.owners(number, position))

    def registered_spelling(self, number: int, position: Position) -> str:
        """A registered name as it was registered."""
        return self.strings.values[self.owners(number, position)[0].spelling]

    def positions_of_entity(self, entity_id: str, position: Position) -> list[int]:
        """The ledger positions of the entries about an entity and those merged into it, oldest first."""
        spans, entity_spans = self.spans, list[PositionSpan]()
        for member in self.members_of_id(self._current_id(entity_id, position), position):
            entity_spans += [
                s for attribute in (DISPLAY_NAME, ENTITY_KIND, PART_OF) for s in spans.spans_of_key(attribute, member)
            ]
            entity_spans += [s for attribute in (NAME_OWNER, PART_OF) for s in spans.spans_of_value(attribute, member)]
        return sorted(
            {
                change_position
                for span in entity_spans
                for change_position in (span.opened, span.closed)
                if change_position <= position
            }
        )

    # What prevents a new entry

    def owners_of_name(self, name: str, valid: Window, position: Position) -> list[tuple[str, Window]]:
        """The registered entities that have a name in some of this window, and when."""
        number = self._names.number(name)
        if number is None:
            return []
        owners = self.owners(number, position)
        if not owners:
            registered = self.is_registered(self.default_id(number), position)
            return [(self.entity_of(number, position), Window())] if registered else []
        overlapping = (span for span in owners if span.overlaps(*window_to_micros(valid)))
        return [(self.merge_target_id(span.value, position), span.valid) for span in overlapping]

    def name_windows(self, entity_id: str, name: str, position: Position) -> list[Window]:
        number = self._names.number(name)
        return [name_entry.valid for name_entry in self.names_of(entity_id, position) if name_entry.number == number]

    def contested_names(self, undone: Position, position: Position) -> list[tuple[str, str]]:
        """The names that an entry removed and that another entity has now, each with its id."""
        return [
            (self.strings.values[span.spelling], self.merge_target_id(other.value, position))
            for span in self.spans.closed_by(undone)
            if span.attribute == NAME_OWNER
            for other in self.owners(span.key, position)
            if other.origin != undone and other.overlaps(span.start, span.end)
        ]

    def new_entity_id(self, name: str) -> str:
        default = candidate = entity_id(normalize_name(name))
        count = 1
        while self.entities.number(candidate) is not None:
            count += 1
            candidate = f"{default}-{count}"
        return candidate

    def _current_id(self, id_: str, position: Position) -> str:
        entity = self.entities.number(id_)
        if entity is not None:
            id_ = self.merge_target_id(entity, position)
            if next(self._names_of_root(id_, position), None) is not None:
                return id_
        # It has no name left: take the entity that now has the name from which the id is made.
        source = self.source_name(id_)
        return id_ if source is None else self.entity_of(source, position)

    def _names_of_root(self, root: str, position: Position) -> Iterator[EntityName]:
        """The names of an entity that is not merged into another."""
        if self.entities.number(root) is None:
            yield from self._unowned_name(root, position)
        for member in self.members_of_id(root, position):
            yield from self._unowned_name(self.entities.values[member], position)
            for span in self.spans.spans_of_value(NAME_OWNER, member, position):
                yield EntityName(span.key, self.strings.values[span.spelling], span.valid, is_registered=True)

    def _unowned_name(self, id_: str, position: Position) -> Iterator[EntityName]:
        """The name that an id is made from, unless it was given to another entity."""
        source = self.source_name(id_)
        if source is not None and not self.owners(source, position):
            yield EntityName(source, self._names.spellings[source], Window(), is_registered=False)


def _describe(entity: Entity) -> str:
    """The names and the kind of an entity as a text to be embedded."""
    # Sorted, so that the text does not depend on the order in which the names were added.
    others = sorted({alias.name for alias in entity.aliases} - {entity.name})
    names = ", ".join((entity.name, *others[:16]))
    return names if entity.kind == "thing" else f"{names} ({entity.kind})"

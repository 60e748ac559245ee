"""Everything that one space says about a person or a thing, to be erased together.

All entries of the ledger are read, of every version and of what is forgotten, since a name may be in a text, a source,
a reason or a question. A memory that says only "she" is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Any

from remanence.errors import InvalidInput, NotFound
from remanence.events import Erased, Event, Linked, Merged, Registered, Related, Remembered, Renamed, Served, Split
from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.index.names.entity_registry import is_entity_id
from remanence.index.numbers import Row
from remanence.remember.forget import (
    Erasure,
    copy_shared_vectors,
    entry_positions_about,
    erasure_of,
    hashes_without_other_use,
    stated_edges,
    with_derived,
)
from remanence.schema import SELF, Entry
from remanence.text.lexicon.word_lists import is_common_word
from remanence.text.text import normalize_name, strip_accents, text_hash

_ENTITY_EVENTS = (Registered, Renamed, Merged, Split)


@dataclass(slots=True)
class Subject:
    """Who or what is to be erased: the ids of its entities, its names, and what finds those in a text.

    `others` are the names of other entities that contain one of its names, as "my friend Sam" does "Sam".
    """

    name: str
    ids: frozenset[str]
    names: tuple[str, ...]
    others: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]

    def is_named_by(self, index: Index, name: str | None) -> bool:
        """Whether a name is one of this entity."""
        number = None if name is None else index.names.number(name)
        return number is not None and index.registry.entity_of(number, index.catalog.position) in self.ids

    def is_in(self, text: str) -> bool:
        """Whether a text says one of the names."""
        plain = strip_accents(text)
        return any(pattern.search(plain) for pattern in self.patterns)


@dataclass(slots=True)
class SubjectEntries:
    """What a space has about a subject, up to a ledger position."""

    subject: Subject
    position: int = 0
    reasons: dict[str, dict[str, bool]] = field(default_factory=dict)
    """Why each memory is about it, by the id of the memory, and whether the last version is the reason."""
    edges: dict[str, str] = field(default_factory=dict)
    """Relations and links that somebody stated, by their ids, as text."""
    recalls: dict[str, list[int]] = field(default_factory=dict)
    """The positions of recorded recalls whose question names it, by receipt."""
    entities: dict[str, list[int]] = field(default_factory=dict)
    """The positions of the entries that name it as an entity, by the id of the entity."""
    others: list[Entry] = field(default_factory=list)
    """Other entries that name it, such as the reason of a forgetting. They go only with what they are about."""

    def read(self, index: Index, entries: Iterable[Entry]) -> None:
        """Look at more entries. Needs the lock of the index."""
        for entry in entries:
            self.position = entry.position
            if entry.event is not None and not isinstance(entry.event, Erased):
                self._read(index, entry, entry.event)

    def _read(self, index: Index, entry: Entry, event: Event) -> None:
        subject = self.subject
        if isinstance(event, Remembered):
            reasons = dict.fromkeys(_reasons(index, subject, event), True)
            if reasons or event.memory in self.reasons:
                before = dict.fromkeys(self.reasons.get(event.memory, ()), False)
                self.reasons[event.memory] = before | reasons
        elif isinstance(event, Related):
            named = (event.subject, event.object, event.observed_by)
            if any(subject.is_named_by(index, name) for name in named) or any(map(subject.is_in, texts_of(event))):
                self.edges[event.relation] = f"{event.subject} {event.predicate} {event.object}"
        elif isinstance(event, Linked):
            if any(map(subject.is_in, texts_of(event))):
                self.edges[event.link] = f"{event.source} {event.kind} {event.target}: {event.why or ''}"
        elif isinstance(event, _ENTITY_EVENTS):
            if event.entity in subject.ids or any(map(subject.is_in, texts_of(event))):
                self.entities.setdefault(event.entity, []).append(entry.position)
        elif isinstance(event, Served):
            if any(map(subject.is_in, texts_of(event))):
                self.recalls.setdefault(event.receipt, []).append(entry.position)
        elif any(map(subject.is_in, texts_of(event))):
            self.others.append(entry)

    def stays(self) -> list[str]:
        """What names it and is not erased, in words."""
        gone = self.reasons.keys() | self.edges.keys() | self.entities.keys()
        return [
            f"entry {each.position} ({each.kind} {each.subject}) names it"
            for each in self.others
            if each.subject not in gone
        ]


def find_subject(engine: Engine, space: str, name_or_id: str) -> SubjectEntries:
    """What a space has about the entity with this name or id."""
    with engine.open_index(space) as index:
        with index.lock:
            found = SubjectEntries(_subject(index, name_or_id))
        entries = engine.ledger.read(space)
        while batch := list(islice(entries, 500)):
            with index.lock:
                found.read(index, batch)
    return found


def derived_from(engine: Engine, space: str, found: SubjectEntries) -> list[str]:
    """The facts that were found only in memories of the subject and go with them."""
    with engine.open_index(space) as index, index.lock:
        numbers = [index.require_number(id_) for id_ in found.reasons]
        return [index.catalog.ids[number] for number in with_derived(index, numbers)[len(numbers) :]]


def erase_subject(engine: Engine, space: str, name_or_id: str) -> Erasure:
    """Delete what a space has about a subject in one transaction, also what was written since it was last read."""
    copy_shared_vectors(engine)
    found = find_subject(engine, space, name_or_id)
    with engine.open_index(space, catch_up=False) as index:
        with engine.write_lock, engine.ledger.transaction() as transaction:
            index.catch_up(transaction.head)
            with index.lock:
                catalog = index.catalog
                found.read(index, engine.ledger.read(space, after=found.position))
                known = [index.require_number(id_) for id_ in found.reasons]
                chosen = [number for number in known if not catalog.hidden.is_erased(number)]
                numbers = [number for number in with_derived(index, chosen) if not catalog.hidden.is_erased(number)]
                rows = {row for number in numbers for row in catalog.rows_of(number)}
                about = entry_positions_about(index, numbers)
                positions_of = {catalog.ids[number]: positions for number, positions in about.items()}
                positions_of |= _edge_positions(engine, index, found) | found.entities | found.recalls
            positions = sorted({position for some in positions_of.values() for position in some})
            entries = list(engine.ledger.entries_at(positions).values())
            hashes = {*hashes_without_other_use(index, entries, rows), *_hashes_of_entity(index, entries, found, rows)}
            vectors = transaction.erase(space, positions, sorted(hashes))
            erased = [Erased(id_, tuple(some)) for id_, some in positions_of.items()]
            written = engine.append(transaction, space, erased, engine.now()) if erased else []
        index.apply_written(written)
    engine.erasure_cleaner.notify()
    derived = [catalog.ids[number] for number in numbers if number not in chosen]
    return erasure_of(space, [catalog.ids[number] for number in chosen], derived, entries, vectors, written)


def _subject(index: Index, name_or_id: str) -> Subject:
    position, registry = index.catalog.position, index.registry
    if normalize_name(name_or_id) in (normalize_name(SELF), "i", "user"):
        raise InvalidInput(f"{name_or_id!r} is the user, whom most of a space is about: erase_space() erases all.")
    by_id = is_entity_id(name_or_id)
    if by_id:
        entity = registry.get(name_or_id, position)
        if entity is None:
            raise NotFound(f"space {index.space!r} has no entity {name_or_id!r}. See space.entities.list().")
        ids, name = {entity.id}, entity.name
    else:
        number, name = index.names.number(name_or_id), name_or_id
        same = () if number is None else registry.names_of_same_entity(number, position)
        ids = {registry.entity_of(each, position) for each in same}
    spellings = {normalize_name(name): name} if not by_id else {}
    for id_ in ids:
        spellings |= {normalize_name(each.spelling): each.spelling for each in registry.names_of(id_, position)}
    names = tuple(spellings.values())
    patterns = {each: _pattern(each) for each in names}
    others: dict[str, None] = {}
    shared: set[str] = set()
    for number, spelling in enumerate(index.names.spellings):
        if registry.entity_of(number, position) not in ids:
            for each in (each for each in names if patterns[each].search(strip_accents(spelling))):
                others[spelling] = None
                shared.add(each)
    searched = [pattern for each, pattern in patterns.items() if not (by_id and each in shared)]
    return Subject(name, frozenset(ids), names, tuple(others), tuple(searched))


def _pattern(name: str) -> re.Pattern[str]:
    """Finds a name as whole words; one that is an ordinary word too ("Rose") only as it is written."""
    flags = 0 if is_common_word(name.lower()) else re.IGNORECASE
    return re.compile(rf"(?<!\w){re.escape(strip_accents(name))}(?!\w)", flags)


def _reasons(index: Index, subject: Subject, version: Remembered) -> Iterator[str]:
    """Why a version of a memory is about the subject."""
    turn = version.turn
    for mention in version.mentions:
        if subject.is_named_by(index, mention.name):
            is_main = normalize_name(mention.name) == normalize_name(subject.name)
            yield f"names {mention.name}" if is_main else f"names it as {mention.name!r}"
    if subject.is_named_by(index, version.observed_by if turn is None else turn.speaker):
        yield f"said by {version.observed_by if turn is None else turn.speaker}"
    claimed = (name for triple in version.triples for name in (triple.subject, triple.object))
    if any(subject.is_named_by(index, name) for name in claimed):
        yield "claims something of it"
    if subject.is_in(version.text):
        yield "says the name"
    if turn is not None and turn.before and subject.is_in(turn.before):
        yield "quotes the turn before, which says the name"
    others = {"source": version.source, "key": version.key, "tags": version.tags, "meta": version.meta}
    others |= {"conversation": None if turn is None else turn.conversation}
    for what, value in others.items():
        if any(map(subject.is_in, _texts(value))):
            yield f"its {what} has the name"


def texts_of(event: Event) -> Iterator[str]:
    """All texts in an event."""
    for each in fields(event):
        yield from _texts(getattr(event, each.name))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif hasattr(value, "name") and hasattr(value, "valid"):  # an alias
        yield value.name


def _edge_positions(engine: Engine, index: Index, found: SubjectEntries) -> dict[str, list[int]]:
    """The positions of the entries about each of the edges that are not erased yet."""
    snapshot = index.snapshot(index.catalog.position, engine.now())
    ids = dict.fromkeys(id_ for edge in found.edges for id_ in stated_edges(index, snapshot, edge))
    return {id_: sorted({*index.relations.positions_of_edge(id_), *index.links.positions_of_edge(id_)}) for id_ in ids}


def _hashes_of_entity(index: Index, entries: Iterable[Entry], found: SubjectEntries, rows: Set[Row]) -> set[bytes]:
    """The hashes of the embedded names and descriptions of the subject, as far as no other memory needs them."""
    with index.lock:
        changed = (entry for entry in entries if isinstance(entry.event, _ENTITY_EVENTS))
        descriptions = {text_hash(text) for entry in changed for _, text in index.registry.changed_descriptions(entry)}
        names = set(found.subject.names)
        return descriptions | ({text_hash(name) for name in names} - index.graph.hashes_outside(rows, names))

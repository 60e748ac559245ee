"""What the entries of one space add up to, and what happens when an entry is applied.

Entries come in batches: versions of memories, or one entry of another kind. Every part is given every batch, and takes
of it what concerns that part. A version gets a row in the catalog and its fields, its names get numbers, its claims are
indexed, and then each signal indexes it. Other entries hide or show memories, or are about entities, relations, links,
jobs or usage. Nothing here reads or writes files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from remanence.events import Emptied, Erased
from remanence.index.batch import Batch
from remanence.index.claims.relations import RelationIndex
from remanence.index.graph.entity_graph import EntityGraph
from remanence.index.index_file import IndexPart
from remanence.index.journal import Journal, Usage
from remanence.index.links import Links
from remanence.index.names.entity_registry import EntityRegistry
from remanence.index.names.names import Names
from remanence.index.numbers import MemoryNumber, Position, Row
from remanence.index.times import Times
from remanence.index.vectors.vectors import Vectors
from remanence.index.versions.catalog import Catalog
from remanence.index.versions.fields import RowFields
from remanence.index.words import Words
from remanence.ledger.codec import WRONG_TYPES, find_damage
from remanence.schema import Entry
from remanence.text.text import text_hash

if TYPE_CHECKING:
    from remanence.ports import Signal
    from remanence.ports.vector_ports import LoadVectors

log = logging.getLogger(__name__)


class Applied(NamedTuple):
    """What some entries said that the owner of the index has to act on."""

    erased: list[MemoryNumber | None]
    """The numbers of the memories that were erased; None for a relation or a link."""
    blank: set[Position]
    """The positions of versions without text that no entry has explained."""


class IndexContents:
    """The state and the signals of one space at one ledger position.

    Args:
        vectors: The vectors of the space.
        load_vectors: Returns the embeddings that the ledger has.
        extra_signals: Signals of plug-ins; each space has its own copies.
        applies_vectors: False if the vectors are those of another index, which applies the entries to them.
    """

    def __init__(
        self,
        vectors: Vectors,
        load_vectors: LoadVectors,
        extra_signals: Sequence[Signal] = (),
        *,
        applies_vectors: bool = True,
    ) -> None:
        self._load_vectors = load_vectors
        self.applies_vectors = applies_vectors
        self.catalog = Catalog()
        self.fields = RowFields(self.catalog)
        self.vectors = vectors
        self.words = Words()
        self.names = Names()
        self.registry = EntityRegistry(self.names)
        self.relations = RelationIndex(self.names, self.registry, self.catalog)
        self.links = Links(self.catalog)
        self.journal = Journal()
        self.usage = Usage()
        self.graph = EntityGraph(load_vectors, self.names, self.fields.earlier_version_of_same_origin)
        self.times = Times()
        built_in: list[Signal] = [self.words, vectors, self.times, self.graph]
        signals = sorted([*built_in, *map(deepcopy, extra_signals)], key=lambda signal: signal.stage)
        self.signals: dict[str, Signal] = {signal.name: signal for signal in signals}
        self.signal_weights = {signal.name: signal.weight for signal in signals}
        # In the order in which they are given a batch: claims need the numbers of names, and all need the rows.
        self._state: dict[str, RowFields | Names | EntityRegistry | RelationIndex | Links | Journal | Usage] = {
            "fields": self.fields,
            "names": self.names,
            "registry": self.registry,
            "relations": self.relations,
            "links": self.links,
            "journal": self.journal,
            "usage": self.usage,
        }
        self.missing_descriptions: dict[str, None] = {}
        """Descriptions of entities that have no vector yet, as after an import."""
        self.broken: dict[str, str] = {}
        """Signals that failed to index an entry, and why. `rebuild` repairs them."""
        self.needs_refresh = False
        """True while there are words and names of memories that were erased since. Recall does not see them, and they
        are not saved; `refresh` removes them."""
        self.is_emptied = False
        """Whether the last entry emptied the space."""
        self.applied = 0
        """How many entries were applied."""
        self.damage: Exception | None = None
        """Why the entries cannot be used."""

    @property
    def parts(self) -> dict[str, IndexPart]:
        """What the index file contains, by name."""
        return {**self.catalog.parts, **self._state, **self.signals}

    def take_vectors(self, vectors: Vectors) -> None:
        """Use these vectors, to which the same entries were applied, and apply the next ones to them too."""
        self.vectors = self.signals[vectors.name] = vectors
        self.applies_vectors = True

    def apply(self, entries: Iterable[Entry]) -> Applied:
        """Apply the entries after the present position, in ledger order, so that a rebuild gives names the same
        numbers. Raises LedgerCorrupt for an entry with a value of a wrong type, and then nothing can be applied any
        more."""
        applied = Applied([], set())
        for kind, run in groupby(self._later(entries), key=attrgetter("kind")):
            self.is_emptied = kind == "emptied"
            while batch := list(islice(run, 2_000 if kind == "remembered" else 1)):
                try:
                    self._apply_batch(Batch.of(kind, batch, len(self.catalog)), applied)
                except WRONG_TYPES as error:
                    self.damage = find_damage(batch)
                    if self.damage is None:
                        raise
                    raise self.damage from error
        return applied

    def find_missing_descriptions(self, texts: Iterable[str]) -> None:
        """Replace the descriptions without a vector by those of these texts that the ledger has no vector for."""
        hashes = {text: text_hash(text) for text in texts}
        found = self._load_vectors(list(hashes.values()))
        self.missing_descriptions = {text: None for text, key in hashes.items() if key not in found}

    def rows_with_text(self, erased: Iterable[MemoryNumber | None]) -> list[Row]:
        """The rows of those of these memories that were indexed with their text."""
        memories = (memory for memory in erased if memory is not None and self.catalog.has_text(memory))
        return [row for memory in memories for row in self.catalog.rows_of(memory)]

    def is_erased(self, memory_id: str) -> bool:
        number = self.catalog.number(memory_id)
        return number is not None and self.catalog.hidden.is_erased(number)

    def _later(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        position = self.catalog.position
        for entry in entries:
            if entry.position > position:
                position = entry.position
                self.applied += 1
                yield entry

    def _apply_batch(self, batch: Batch, applied: Applied) -> None:
        """Give a batch to every part: first to the catalog, which gives versions their rows, last to the signals."""
        self.catalog.apply(batch)
        self._note(batch, applied)
        for part in self._state.values():
            part.apply(batch)
        if batch.entry is None:
            self._apply_to_signals(batch)
        else:
            self._add_descriptions(batch.entry)

    def _note(self, batch: Batch, applied: Applied) -> None:
        """Note what the owner of the index has to act on. Links and relations are still known then."""
        if batch.entry is None:
            applied.blank.update(entry.position for entry in batch.entries if entry.event is None)
            return
        event = batch.entry.event
        if isinstance(event, Emptied):
            applied.blank.clear()
        elif isinstance(event, Erased):
            applied.blank.difference_update(event.positions)
            number = self.catalog.number(event.memory)
            if number is not None or self._is_known_otherwise(event.memory, batch.entry.position):
                applied.erased.append(number)

    def _is_known_otherwise(self, subject: str, position: Position) -> bool:
        """Whether an id is that of a relation, a link or a registered entity."""
        return (
            self.relations.is_assertion(subject)
            or self.links.has(subject)
            or self.registry.is_registered(subject, position)
        )

    def _apply_to_signals(self, batch: Batch) -> None:
        for name, signal in self.signals.items():
            if name in self.broken or (signal is self.vectors and not self.applies_vectors):
                continue
            try:
                signal.apply(batch.first, batch.versions)
            except Exception as error:
                # The entries are safe in the ledger. Whatever broke this signal, recall names it and asks the
                # others; `rebuild` repairs it.
                log.exception("the signal %r of space %r could not be brought up to date", name, batch.entries[0].space)
                self.broken[name] = f"{type(error).__name__}: {error}"

    def _add_descriptions(self, entry: Entry) -> None:
        """Index the descriptions of entities that an entry changed."""
        for number, text in self.registry.changed_descriptions(entry):
            self.graph.add_description(number, text, entry.position)
            if not self._load_vectors([text_hash(text)]):
                self.missing_descriptions[text] = None

"""The catalog and the four projections of one space, kept at one ledger position.

Opened from a snapshot where there is one, then caught up from the ledger; a snapshot is only ever a
head start, and one that does not fit the ledger is thrown away.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.core.index_file import IndexFile, IndexPart
from remanence.errors import LedgerTampered, NotFound, ProjectionError
from remanence.events import Erased, Forgotten, Remembered, Restored
from remanence.language.text import TOKENIZER_VERSION, normalize_text, text_hash
from remanence.schema import Change, Entry, Memory, Snapshot
from remanence.signals.entity_graph import EntityGraph, subject_names
from remanence.signals.times import Times
from remanence.signals.vectors import Vectors, passage_texts
from remanence.signals.words import Words
from remanence.state.catalog import MEMORY_ENTRY_KINDS, Catalog
from remanence.state.entity_registry import Registry
from remanence.state.journal import Journal
from remanence.state.links import Links
from remanence.state.names import Names, names_in
from remanence.state.relations import Relations
from remanence.state.usage import Usage

if TYPE_CHECKING:
    from remanence.ports import Ledger, Signal, Vector, VectorStore

log = logging.getLogger(__name__)

FORMAT = "7"
SIGNALS = ("vectors", "words", "graph", "times")
_BATCH = 2_000
_SAVE_AFTER = 25_000
_MOST_MEMORIES = 4_096
_MOST_RECALLED = 512


class RowErased(LookupError):
    """A row's words were erased between ranking it and reading it."""


class Index:
    """Everything needed to answer for one space. Use it under its `lock`."""

    def __init__(self, space: str, ledger: Ledger, model: str, store: VectorStore, index_path: Path | None) -> None:
        self.space = space
        self.dimension_unknown = False
        """True while the embedder's dimension is unknown, so that no vector can be kept."""
        self.lock = threading.RLock()
        self.broken: dict[str, str] = {}
        """Projections that failed to take something in, and why. `rebuild` mends them."""
        self._ledger = ledger
        self._model = model
        self._store = store
        self._index_file = None if index_path is None else IndexFile(index_path)
        self.recently_recalled: OrderedDict[str, str] = OrderedDict()
        """Texts that were just recalled, and the memories they are: handed back, they are not news."""
        self._fresh: dict[bytes, Vector] = {}
        self._memories: OrderedDict[int, Memory] = OrderedDict()
        self._head = -1  # of the whole ledger, when this index last looked
        self._taken = self._saved = 0  # lines taken in, and of those the ones that a snapshot has
        self._snapshot_masks: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]] | None = None
        self._start()
        if self._load():
            self.vectors.reconcile()
        else:
            self.vectors.clear()
        self.catch_up()

    def __len__(self) -> int:
        return len(self.catalog)

    @property
    def _parts(self) -> dict[str, IndexPart]:
        return {"catalog": self.catalog, "names": self.names, **self._knowledge, **self.signals}

    @property
    def _knowledge(self) -> dict[str, Registry | Relations | Links | Journal | Usage]:
        return {
            "registry": self.registry,
            "relations": self.relations,
            "links": self.links,
            "journal": self.journal,
            "usage": self.usage,
        }

    @property
    def signals(self) -> dict[str, Signal]:
        """The four signals by name."""
        return {"vectors": self.vectors, "words": self.words, "graph": self.graph, "times": self.times}

    def catch_up(self, head: int | None = None) -> None:
        """Take in what was written since, by whichever process. Nearly free when nothing was.

        `head` is where the ledger ends, if that is known, as to who holds the pen.
        """
        with self.lock:
            head = self._ledger.head() if head is None else head
            if head != self._head:
                self.apply_entries(self._ledger.read(self.space, after=self.catalog.position))
                self._head = head

    def apply_written(self, entries: Sequence[Entry], vectors: Mapping[bytes, Vector] | None = None) -> None:
        """Take in the lines that this process wrote right after catching up, the pen in hand."""
        with self.lock:
            self.apply_entries(entries, vectors)
            if entries:
                self._head = max(self._head, entries[-1].position)

    def apply_entries(self, entries: Iterable[Entry], vectors: Mapping[bytes, Vector] | None = None) -> None:
        """Take in these lines; `vectors` are embeddings at hand, so that they are not read back."""
        with self.lock:
            self._fresh = dict(vectors or {})
            erased, started = False, len(self.catalog) > 0
            first, versions = len(self.catalog), list[Remembered | None]()
            for kind, run in groupby(self._new(entries), key=attrgetter("kind")):
                if kind == "remembered":
                    while said := list(islice(run, _BATCH)):
                        self.catalog.apply_versions(said)
                        versions += [e.event if isinstance(e.event, Remembered) else None for e in said]
                        if len(versions) >= _BATCH:
                            self._project(first, versions)
                            first, versions = len(self.catalog), []
                    continue
                if kind not in MEMORY_ENTRY_KINDS:
                    # In the order of the ledger, so that a rebuild numbers names alike.
                    self._project(first, versions)
                    first, versions = len(self.catalog), []
                for entry in run:
                    self.catalog.apply_entry(entry)
                    if kind not in MEMORY_ENTRY_KINDS:
                        self._learn(entry)
                    elif isinstance(entry.event, Erased) and started:
                        erased = True
            self._project(first, versions)
            self._fresh = {}
            if erased:
                self.rebuild()
            elif self._taken - self._saved >= max(_SAVE_AFTER, self._saved // 2):
                self.save()

    def memories(self, rows: Sequence[int]) -> list[Memory]:
        """The memories these rows hold, in this order. Not for erased rows."""
        with self.lock:
            positions = self.catalog.positions_of_rows(rows)
            unread = [position for position in positions if position not in self._memories]
            if unread:
                self._read(unread)
            found = [self._memories[position] for position in positions]
            while len(self._memories) > _MOST_MEMORIES:
                self._memories.popitem(last=False)
            return found

    def readable_memories(self, rows: Sequence[int]) -> list[Memory]:
        """The memories these rows hold, in this order, but for those whose words are gone, as another process
        may have erased them a moment ago."""
        with self.lock:
            while True:
                kept = np.array(rows, np.int64)
                kept = kept[~self.catalog.erased_mask(kept)]
                try:
                    return self.memories(kept.tolist())
                except RowErased:
                    self.catch_up()

    def require_number(self, memory_id: str) -> int:
        """The number of a memory that there is, be it erased."""
        number = self.catalog.number(memory_id)
        if number is None:
            raise NotFound(
                f"space {self.space!r} has no memory {memory_id!r}. "
                "Ids come from add(), recall() and get(), and belong to one space."
            )
        return number

    def require_unerased(self, memory_id: str) -> int:
        """The number of a memory that there is, and whose words are not erased."""
        number = self.require_number(memory_id)
        if self.catalog.is_erased(number):
            raise NotFound(f"memory {memory_id!r} was erased: its words are gone for ever.")
        return number

    def current_row(self, memory_id: str, position: int) -> int | None:
        """The version of a memory that stands at a position; None if there is none, or it is hidden there."""
        number = self.catalog.number(memory_id)
        if number is None or not self.catalog.is_visible(number, position):
            return None
        return self.catalog.row_at(number, position)

    def entry_positions_about(self, memory: int) -> list[int]:
        """Every ledger line that holds words of a memory, or about it and nothing else: its versions, why it
        was forgotten, links to it, relations that rest on it alone, what was found in it."""
        opinions = self.journal.extractions.get(self.catalog.ids[memory], ())
        lines = (
            *self.catalog.positions_of_memory(memory),
            *self.links.positions_of_memory(memory),
            *self.relations.positions_of_memory(memory),
            *(opinion.position for opinion in opinions),
        )
        return sorted(set(lines))

    def with_derived(self, memory: int) -> list[int]:
        """A memory, those that come of nothing else, and those that took its place with its words in them."""
        found = [memory]
        for source in found:
            replacing = self.links.ever_linked(source, "supersedes", "in")
            for fact in self.links.ever_linked(source, "derived_from", "in"):
                sources = self.links.ever_linked(fact, "derived_from", "out")
                alone = all(each in found or self.catalog.is_erased(each) for each in sources)
                if fact not in found and (alone or fact in replacing):
                    found.append(fact)
        return found

    def latest_version(self, memory_id: str) -> Remembered | None:
        """The latest version of a memory, as its line says it; None where there is none, or no words."""
        with self.lock:
            number = self.catalog.number(memory_id)
            row = None if number is None else self.catalog.row_at(number, self.catalog.position)
            if row is None:
                return None
            [position] = self.catalog.positions_of_rows([row])
            event = self._ledger.entries_at([position])[position].event
            return event if isinstance(event, Remembered) else None

    def change_from_entry(self, entry: Entry) -> Change | None:
        """What a line did to a memory; None for a line of another sort, or one whose words are gone."""
        event = entry.event
        if isinstance(event, Remembered):
            number = self.catalog.number(event.memory)
            first = entry.at if number is None else self.catalog.first_recorded(number)
            memory = memory_from_entry(entry, event, first)
            return Change(entry.position, entry.at, entry.kind, entry.subject, memory)
        if isinstance(event, Forgotten):
            return Change(entry.position, entry.at, entry.kind, entry.subject, why=event.why)
        if isinstance(event, Restored | Erased):
            return Change(entry.position, entry.at, entry.kind, entry.subject)
        return None

    def snapshot(self, position: int, now: datetime, visible: NDArray[np.bool_] | None = None) -> Snapshot:
        """What a view at this position sees; `visible` are the rows it knows, where that is known."""
        with self.lock:
            known = self.catalog.visible(position) if visible is None else visible
            if self._snapshot_masks is None or self._snapshot_masks[0] is not known:
                rows = self.catalog.active_among(known, position)
                self._snapshot_masks = known, rows, self.catalog.memories_among(rows)
            return Snapshot(position, now, *self._snapshot_masks[1:])

    def with_archive(self) -> Index:
        """The same index, but that what lies in the archive is seen. To be asked, not to be written to."""
        with self.lock:
            out = copy(self)
            out.catalog, out._snapshot_masks = self.catalog.with_archive(), None
            return out

    def with_aliases(self, names: Sequence[str], position: int) -> tuple[str, ...]:
        """These names, and every other name of what they stand for."""
        out: dict[str, None] = dict.fromkeys(names)
        for name in names:
            number = self.names.number(name)
            same = () if number is None else self.registry.same_entity(number, position)
            out |= dict.fromkeys(self.names.spellings[other] for other in same)
        return tuple(out)

    def current_rows(self, position: int) -> list[int]:
        """The rows that stand at this position, in the order they were written; expired ones too."""
        with self.lock:
            visible = self.catalog.visible(position)
            rows: list[int] = np.flatnonzero(self.catalog.active_among(visible, position)).tolist()
            return rows

    def expired_rows(self, position: int, now: datetime) -> list[int]:
        """The standing rows whose time is up, and that no sweep has recorded yet."""
        with self.lock:
            rows = np.array(self.current_rows(position), np.int64)
            ended = rows[~self.catalog.current(rows, position, now)].tolist()
            ids, memory_of = self.catalog.ids, self.catalog.memory_of
            return [row for row in ended if ids[memory_of(row)] not in self.journal.expiry_positions]

    def differences(self, other: Index) -> dict[str, str]:
        """Which projections hold something else than those of another index."""
        out: dict[str, str] = {}
        for name, part in self._parts.items():
            mine, theirs = part.save(), other._parts[name].save()
            unlike = [key for key in theirs if not np.array_equal(mine.get(key, np.empty(0)), theirs[key])]
            if unlike:
                out[name] = f"{', '.join(unlike)} differ from a fresh build"
        if stored := self.vectors.count_mismatched_points():
            out["vectors"] = f"{stored} points are missing from the store, or are not ours"
        return out

    def texts_to_embed(self, versions: Sequence[Remembered]) -> list[str]:
        """The texts of these versions that may need a vector: passages, and what is a subject for the first
        time."""
        with self.lock:
            return [
                text
                for version in versions
                for text in (
                    *passage_texts(version),
                    *(n for n in subject_names(version) if not self.graph.is_subject(n)),
                )
            ]

    def embedded_text_hashes(self) -> list[bytes]:
        """The hashes of all texts that have, or should have, a vector: each once."""
        with self.lock:
            return list(dict.fromkeys((*self.vectors.text_hashes(), *self.graph.text_hashes())))

    def fill_missing_vectors(self) -> None:
        """Take in the embeddings that were not there when their texts were."""
        with self.lock:
            self.vectors.fill_missing_vectors()
            self.graph.fill_missing_vectors()
            self.missing_descriptions.clear()
            self._taken += 1  # what was saved lacks them

    def note_recalled(self, memories: Iterable[Memory]) -> None:
        """Remember for a while that these were served."""
        with self.lock:
            for memory in memories:
                words = normalize_text(memory.text)
                self.recently_recalled[words] = memory.id
                self.recently_recalled.move_to_end(words)
            while len(self.recently_recalled) > _MOST_RECALLED:
                self.recently_recalled.popitem(last=False)

    def rebuild(self) -> None:
        """Throw the projections away and build them from the ledger, with no embedder call."""
        with self.lock:
            self._start()
            self._memories.clear()
            self.recently_recalled.clear()
            try:
                self.vectors.clear()
            except ProjectionError as error:
                # A server that is down must not keep the other three from the ledger.
                log.warning("the vectors of space %r could not be cleared: %s", self.space, error)
                self.broken["vectors"] = f"{type(error).__name__}: {error}"
            self._taken = self._saved = 0
            if self._index_file is not None:
                self._index_file.remove()
            self.apply_entries(self._ledger.read(self.space))
            self.save()

    def save(self) -> None:
        """Write a snapshot, so that the next opening need not read the whole ledger."""
        if self._index_file is None or self.broken:
            return
        with self.lock:
            self._index_file.write(self._header(), self._parts)
            self._saved = self._taken

    def close(self) -> None:
        """Save what is new and let go of the store."""
        with self.lock:
            try:
                if self._taken > self._saved:
                    self.catch_up()  # or words that another process erased would come back in the snapshot
                    self.save()
            finally:
                self.vectors.close()

    def load_vectors(self, hashes: Sequence[bytes]) -> Mapping[bytes, Vector]:
        """Embeddings by text hash: those at hand, the rest from the ledger."""
        found = {key: self._fresh[key] for key in hashes if key in self._fresh}
        lacking = [key for key in hashes if key not in found]
        return found | self._ledger.vectors(self._model, lacking) if lacking else found

    def _start(self) -> None:
        self.catalog = Catalog()
        self.vectors = Vectors(self._store, self.load_vectors)
        self.words = Words()
        self.names = Names()
        self.registry = Registry(self.names)
        self.relations = Relations(self.names, self.registry, self.catalog)
        self.links = Links(self.catalog)
        self.journal = Journal()
        self.usage = Usage()
        self.graph = EntityGraph(self.load_vectors, self.names)
        self.times = Times()
        self.missing_descriptions: dict[str, None] = {}
        """Descriptions of entities that came without a vector, as from an import."""
        self.broken.clear()

    def _new(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Those of these lines that were not taken in already."""
        position = self.catalog.position
        for entry in entries:
            if entry.position > position:
                position = entry.position
                self._taken += 1
                yield entry

    def _project(self, first: int, versions: Sequence[Remembered | None]) -> None:
        if not versions:
            return
        self.names.apply(first, versions)
        self.relations.apply(first, versions)
        for name, projection in self.signals.items():
            if name in self.broken:
                continue
            try:
                projection.apply(first, versions)
            except Exception as error:
                # The lines are safe in the ledger. Whatever broke the index, the answer must name it and
                # the other three must go on; `rebuild` mends it.
                log.exception("the %s of space %r could not be brought up to date", name, self.space)
                self.broken[name] = f"{type(error).__name__}: {error}"

    def _learn(self, entry: Entry) -> None:
        """Take in a line that says nothing about a memory's words: about entities, ties, or work done."""
        for part in self._knowledge.values():
            part.apply_entry(entry)
        for number, text in self.registry.changed_descriptions(entry):
            self.graph.add_description(number, text, entry.position)
            if not self.load_vectors([text_hash(text)]):
                self.missing_descriptions[text] = None

    def _read(self, positions: Sequence[int]) -> None:
        entries = self._ledger.entries_at(positions)
        for position in positions:
            entry = entries[position]
            event = entry.event
            if not isinstance(event, Remembered):
                raise self._wordless(position)
            number = self.catalog.number(event.memory)
            first = entry.at if number is None else self.catalog.first_recorded(number)
            self._memories[position] = memory_from_entry(entry, event, first)

    def _wordless(self, position: int) -> Exception:
        """Why a line has no words: another process erased them since this index last looked, or somebody took
        them who is not us."""
        since = self._ledger.read(self.space, after=self.catalog.position)
        if any(isinstance(entry.event, Erased) and position in entry.event.positions for entry in since):
            return RowErased(f"line {position} was erased meanwhile")
        return LedgerTampered(
            f"line {position} of space {self.space!r} has lost its words, and no line says that they were "
            "erased. Run `verify()`, and restore a backup.",
            position=position,
        )

    def _header(self) -> dict[str, Any]:
        position = self.catalog.position
        line = self._ledger.entries_at([position]).get(position)
        return {
            "format": FORMAT,
            "tokenizer": TOKENIZER_VERSION,
            "model": self._model,
            "space": self.space,
            "position": position,
            "digest": line.digest.hex() if line is not None else "",
        }

    def _load(self) -> bool:
        """Start from the snapshot if it fits; False leaves everything empty."""
        header = None if self._index_file is None else self._index_file.read(self._parts)
        if header is None or header != self._header():
            if header is not None:
                log.info("space %r has the snapshot of another release or ledger; building anew", self.space)
            self._start()
            return False
        self._taken = self._saved = len(self)
        return True


def embeddable_texts(version: Remembered) -> list[str]:
    """Every text of a version that may have a vector: its passages, and the names in it."""
    return passage_texts(version) + [name for name, _ in names_in(version)]


def memory_from_entry(entry: Entry, event: Remembered, recorded_at: Any) -> Memory:
    """The memory that a line says."""
    return Memory(
        id=event.memory,
        space=entry.space,
        text=event.text,
        key=event.key,
        kind=event.kind,
        valid=event.valid,
        recorded_at=recorded_at,
        revised_at=entry.at,
        importance=event.importance,
        confidence=event.confidence,
        strength=event.strength,
        tags=event.tags,
        source=event.source,
        observed_by=event.observed_by,
        expires_at=event.expires_at,
        mentions=event.mentions,
        triples=event.triples,
        turn=event.turn,
        meta=event.meta,
    )

"""Keeps the index of one space: loads it from its file, brings it up to date from the ledger, saves and rebuilds it.

What is in the index, and how an entry is applied, is in `contents.py`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from remanence.errors import LedgerTampered, ProjectionError, ProjectionStale
from remanence.events import Erased, Remembered
from remanence.index import SIGNALS
from remanence.index.claims.relations import RelationIndex
from remanence.index.contents import IndexContents
from remanence.index.graph.entity_graph import EntityGraph
from remanence.index.graph.mention_index import subject_names
from remanence.index.index_file import Arrays, IndexFile, IndexPart
from remanence.index.journal import Journal, Usage
from remanence.index.links import Links
from remanence.index.memory_cache import MemoryCache, RowErased
from remanence.index.names.entity_registry import EntityRegistry
from remanence.index.names.names import Names
from remanence.index.numbers import MemoryNumber, Position, Row
from remanence.index.passages import is_pasted, passages_of
from remanence.index.times import Times
from remanence.index.vectors.stores.folder import FolderStore
from remanence.index.vectors.vectors import Vectors, drop_malformed
from remanence.index.versions.catalog import Catalog
from remanence.index.versions.fields import RowFields
from remanence.index.words import Words
from remanence.ledger import cipher_of
from remanence.schema import OPEN_END, Entry
from remanence.text.text import TOKENIZER_VERSION

if TYPE_CHECKING:
    from remanence.ports import Ledger, Signal, Vector, VectorStore

log = logging.getLogger(__name__)

T = TypeVar("T")

OpenStore = Callable[[int], "VectorStore"]
"""Opens the vector store for about this many points."""

FORMAT = "25"
_SAVE_AFTER, _SAVED_SHARE = 25_000, 20
"""New entries after which the index file is written again, or a twentieth of those in the file if that is more. A
process that is killed leaves no more than that to be applied again."""
_UNSAVED = 32
"""Entries that the index file may lack when a space is closed. Applying them takes less time than writing the file; a
space with fewer entries has none."""
_MAX_REBUILT_AT_ONCE = 1_000
"""Versions of a space that is rebuilt as soon as something in it was erased. A larger one is rebuilt by `refresh`."""
_EMPTY_BYTES, _ROW_BYTES, _MEMORY_BYTES = 60_000, 1_000, 1_500
"""Bytes of an index without memories, for each row, and for each memory that is kept: an estimate."""


class _SavedIndex(NamedTuple):
    """The content of an index file, the entries that it lacks, and the last position of the ledger before they were
    read."""

    arrays: Arrays
    later_entries: Iterator[Entry]
    head: int


class _Part(Generic[T]):
    """An attribute of the present contents of an index."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, index: Projection, owner: type) -> T:
        part: T = getattr(index.contents, self._name)
        return part


class Projection:
    """The index of one space: built, kept up to date, saved and rebuilt. Use it under its `lock`."""

    catalog = _Part[Catalog]()
    fields = _Part[RowFields]()
    names = _Part[Names]()
    registry = _Part[EntityRegistry]()
    relations = _Part[RelationIndex]()
    links = _Part[Links]()
    journal = _Part[Journal]()
    usage = _Part[Usage]()
    words = _Part[Words]()
    vectors = _Part[Vectors]()
    times = _Part[Times]()
    graph = _Part[EntityGraph]()
    signals = _Part["dict[str, Signal]"]()
    signal_weights = _Part[dict[str, float]]()
    parts = _Part[dict[str, IndexPart]]()
    missing_descriptions = _Part[dict[str, None]]()
    broken = _Part[dict[str, str]]()
    needs_refresh = _Part[bool]()

    def __init__(
        self,
        space: str,
        ledger: Ledger,
        model: str,
        dimension: int | None,
        open_store: OpenStore,
        index_path: Path | None,
        extra_signals: Sequence[Signal] = (),
        day_first: bool | None = None,
    ) -> None:
        self.space = space
        self._day_first = day_first
        self.dimension_unknown = False
        """True while the embedder's dimension is unknown, so that no vector can be stored."""
        self.lock = threading.RLock()
        self._ledger = ledger
        self._model, self._dimension = model, dimension
        self._extra_signals = extra_signals
        self._index_file = None if index_path is None else IndexFile(index_path, cipher_of(ledger))
        # True while entries are applied, and after that was interrupted (Ctrl-C, a timeout by signal, a full memory): a
        # part of them may be missing in a part of the index, which is then neither used nor saved, but rebuilt.
        self._is_partial = False
        self.cache = MemoryCache()
        self._new_vectors: dict[bytes, Vector] = {}
        self._head = -1  # of the whole ledger, when this index was last brought up to date
        self._saved = 0  # how many of the applied entries the index file has
        self._snapshot_masks: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]] | None = None
        saved = self._read_file()
        # An upper bound is enough: it decides where the vectors are kept.
        self._store = open_store(ledger.count(space) if saved is None else len(saved.arrays["vectors.points"]))
        # What the index file has besides the parts: the vectors of a store that has them in memory only.
        self._saved_store = {"store": self._store} if isinstance(self._store, FolderStore) else {}
        try:
            self.contents = self._empty()
            loaded = saved is not None and self._load(saved.arrays)
            self._prepare_vectors(lambda: self.vectors.sync.start(loaded=loaded))
            if saved is None or not loaded:
                self.catch_up()
            else:
                self.apply(saved.later_entries)
                self._head = saved.head
        except BaseException:
            self._store.close()
            raise

    def __len__(self) -> int:
        return len(self.catalog)

    @property
    def memory_bytes(self) -> int:
        """The estimated memory use of this index in bytes, measured on English text."""
        rows, memories = _ROW_BYTES * len(self.catalog), _MEMORY_BYTES * len(self.cache)
        return _EMPTY_BYTES + rows + memories + self.vectors.memory_bytes

    @property
    def is_large(self) -> bool:
        """Whether a rebuild takes so long that it is done while the present index stays in use."""
        return len(self.catalog) > _MAX_REBUILT_AT_ONCE

    def catch_up(self, head: int | None = None) -> None:
        """Apply what any process has written since. `head` is the last position of the ledger, if known."""
        with self.lock:
            if self.contents.damage is not None:
                raise self.contents.damage
            if self._is_partial:
                self.rebuild()
            head = self._ledger.head() if head is None else head
            if head != self._head:
                self.apply(self._ledger.read(self.space, after=self.catalog.position))
                self._head = head

    def apply_written(self, entries: Sequence[Entry], vectors: Mapping[bytes, Vector] | None = None) -> None:
        """Apply the entries that this process wrote in a transaction, right after catching up."""
        with self.lock:
            self.vectors.sync.written_here = True
            try:
                self.apply(entries, vectors)
            finally:
                self.vectors.sync.written_here = False
            if entries:
                self._head = max(self._head, entries[-1].position)

    def apply(self, entries: Iterable[Entry], vectors: Mapping[bytes, Vector] | None = None) -> None:
        """Apply these entries; `vectors` are their embeddings, so that they need not be read back."""
        with self.lock:
            if self._is_partial:
                self.rebuild()
                return
            self._is_partial = True
            self._apply(entries, vectors)
            self._is_partial = False
            if self.contents.applied - self._saved >= max(_SAVE_AFTER, self._saved // _SAVED_SHARE):
                self._save_in_background()

    def _apply(self, entries: Iterable[Entry], vectors: Mapping[bytes, Vector] | None = None) -> None:
        self._new_vectors = dict(vectors or {})
        contents = self.contents
        erased, blank = contents.apply(entries)
        self._new_vectors = {}
        if blank:
            contents.damage = self._missing_text(min(blank), contents)
            raise contents.damage
        if erased:
            self._remove_erased(erased)
        if self.vectors.name not in self.broken:
            self._prepare_vectors(self.vectors.sync.write_missing)

    def texts_to_embed(self, versions: Sequence[Remembered], *, may_wait: bool = False) -> list[str]:
        """The passages of these versions, and the names that are a subject for the first time. If some may wait, only
        the first passage of what is pasted into a chat."""
        with self.lock:
            names = (name for version in versions for name in subject_names(version))
            new = [name for name in names if not self.graph.is_subject(name)]
            counts = [1 if may_wait and is_pasted(version) else None for version in versions]
            passages = (islice(passages_of(version), count) for version, count in zip(versions, counts, strict=True))
            return [passage.text for own in passages for passage in own] + new

    def embedded_text_hashes(self) -> list[bytes]:
        with self.lock:
            return list(dict.fromkeys((*self.vectors.text_hashes(), *self.graph.text_hashes())))

    def rows_missing_vectors(self) -> list[Row]:
        """The rows with a text that has no vector yet, in order."""
        with self.lock:
            return self.vectors.sync.rows_missing_vectors()

    def fill_missing_vectors(self, rows: Sequence[Row] | None = None) -> None:
        """Read the vectors that were stored since: of the texts of these rows, or by default of all that lacks one."""
        with self.lock:
            self._is_partial = True
            self.vectors.sync.fill_missing_vectors(rows)
            if rows is None:
                self.graph.fill_missing_vectors()
            self._is_partial = False
            if rows is None:
                self.contents.find_missing_descriptions(self.missing_descriptions)
            self.contents.applied = max(self.contents.applied, self._saved + _UNSAVED) + 1  # the index file lacks them

    def rebuild(self) -> None:
        """Delete everything and build it from the ledger, without a call to the embedder."""
        with self.lock:
            self._is_partial = True
            self.contents, self._saved = self._empty(), 0
            self.cache = MemoryCache()
            self._prepare_vectors(self.vectors.sync.start_again)
            if self._index_file is not None:
                self._index_file.remove()
            self._apply(self._ledger.read(self.space))
            self._is_partial = False
            if self.contents.applied > _UNSAVED:
                self.save()

    def refresh(self) -> None:
        """Build everything but the vectors again from the ledger. The index can be used meanwhile: it is replaced at
        the end. Takes as long as a rebuild."""
        fresh = IndexContents(self.vectors, self.load_vectors, self._extra_signals, applies_vectors=False)
        self._apply_beside(fresh, self._ledger.read(self.space))
        for part in fresh.parts.values():
            if part is not fresh.vectors:
                part.save()  # packs the texts now, without the lock
        with self.lock:
            while True:
                self.catch_up()
                newer = list(self._ledger.read(self.space, after=fresh.catalog.position))
                if not newer or newer[-1].position <= self.catalog.position:
                    break  # otherwise another process has just written, and may have erased some of them
            self._apply_beside(fresh, newer)
            fresh.take_vectors(self.vectors)
            if (why := self.broken.get(self.vectors.name)) is not None:
                fresh.broken[self.vectors.name] = why
            self.contents, self._saved, self._snapshot_masks = fresh, 0, None
            self._save_in_background()

    def _apply_beside(self, contents: IndexContents, entries: Iterable[Entry]) -> None:
        """Apply entries to contents that will replace the present ones."""
        erased, blank = contents.apply(entries)
        if blank:
            raise self._missing_text(min(blank), contents)
        if None in erased or contents.rows_with_text(erased):
            contents.needs_refresh = True  # something was erased meanwhile

    def file_beside(self, suffix: str) -> IndexFile | None:
        """Another file for what is made of this space and takes long to make. An erasure deletes it."""
        return None if self._index_file is None else self._index_file.beside(suffix)

    def save(self) -> None:
        if self._index_file is None or self.broken or self.needs_refresh or self._is_partial:
            return
        with self.lock:
            if self.contents.is_emptied:  # nothing is left of an emptied space, not even a file
                self._index_file.remove()
            else:
                self.vectors.sync.flush()
                self._index_file.write(self._header(self.catalog.position), self.parts | self._saved_store)
            self._saved = self.contents.applied

    def _save_in_background(self) -> None:
        """Write the index file in the background. The lock is held only while the arrays are collected."""
        if self._index_file is None or self.broken or self.needs_refresh or self.contents.is_emptied:
            return
        header = self._header(self.catalog.position)
        if self._index_file.write_in_background(header, self.parts | self._saved_store, first=self.vectors.sync.flush):
            self._saved = self.contents.applied

    def close(self) -> None:
        with self.lock:
            try:
                if self._index_file is not None:
                    self._index_file.wait()
                if self.contents.applied > self._saved + _UNSAVED and not self._is_partial:
                    self.catch_up()  # or the file would contain text that another process has erased
                    self.save()
            finally:
                self.vectors.sync.close()

    @property
    def model(self) -> str:
        """The fingerprint of the embedder whose vectors the space has."""
        return self._model

    def load_vectors(self, hashes: Sequence[bytes]) -> Mapping[bytes, Vector]:
        """Embeddings by text hash: from the entries that are being applied, or else from the ledger."""
        new = self._new_vectors
        vectors = {key: new[key] for key in hashes if key in new}
        missing = [key for key in hashes if key not in vectors]
        if not missing:
            return vectors
        stored = self._ledger.vectors(self.space, self._model, missing, include_shared=True)
        return vectors | drop_malformed(stored, self._dimension)

    def _prepare_vectors(self, prepare: Callable[[], None]) -> None:
        try:
            prepare()
        except ProjectionStale:
            raise
        except ProjectionError as error:
            # A vector store that fails must not prevent the use of the other signals.
            log.warning("the vectors of space %r cannot be used: %s", self.space, error)
            self.broken[self.vectors.name] = f"{type(error).__name__}: {error}"

    def _empty(self, vectors: Vectors | None = None) -> IndexContents:
        """Contents to which nothing was applied. Given `vectors` ignore the rows that they already index."""
        if vectors is None:
            vectors = Vectors(self._store, self.load_vectors, lambda: self.catalog)
        return IndexContents(vectors, self.load_vectors, self._extra_signals)

    def _remove_erased(self, erased: Sequence[MemoryNumber | None]) -> None:
        """Remove what this index has of memories that were just erased; None stands for a relation or a link."""
        rows = self.contents.rows_with_text(erased)
        if not rows and None not in erased:
            return
        self._forget_erased_texts()
        if self._index_file is not None:
            self._index_file.remove()
        if self.contents.is_emptied:
            self.rebuild()
            return
        try:
            self.vectors.erase(rows)
        except ProjectionError as error:
            # A rebuilt store does not contain them. On a full disk it is kept in memory.
            log.warning("the vectors of erased memories of space %r could not be deleted: %s", self.space, error)
            self.rebuild()
            return
        if self.is_large:
            self.contents.needs_refresh = True
        elif self.broken:
            self.rebuild()
        else:
            self.contents, self._saved = self._empty(self.vectors), 0
            # Others may have erased more since: those entries have no text here.
            self._apply(self._ledger.read(self.space))
            self._forget_erased_texts()

    def _forget_erased_texts(self) -> None:
        """Drop the texts of erased memories that were kept because they were read or recalled before."""
        self.cache.remove_erased(self.contents.is_erased)

    def _missing_text(self, position: Position, contents: IndexContents) -> Exception:
        """Why an entry has no text: another process has just erased it, or the ledger was tampered with."""
        since = self._ledger.read(self.space, after=contents.catalog.position)
        if any(isinstance(entry.event, Erased) and position in entry.event.positions for entry in since):
            return RowErased(f"entry {position} was erased meanwhile")
        return LedgerTampered(
            f"entry {position} of space {self.space!r} has lost its text, and no entry says that it was "
            "erased. Run `verify()`, and restore a backup.",
            position=position,
        )

    def _header(self, position: Position, entry: Entry | None = None) -> dict[str, Any]:
        """What the index file says about its content; `entry` is the one at this position, if known."""
        entry = entry or self._ledger.entries_at([position]).get(position)
        return {
            "format": FORMAT,
            "tokenizer": TOKENIZER_VERSION,
            "model": self._model,
            "space": self.space,
            "position": position,
            "digest": entry.digest.hex() if entry is not None else "",
            "signals": sorted([*SIGNALS, *(signal.name for signal in self._extra_signals)]),
        }

    def _read_file(self) -> _SavedIndex | None:
        """What the index file contains, if it matches the ledger."""
        found = None if self._index_file is None else self._index_file.read()
        if found is None:
            return None
        header, arrays = found
        position = header.get("position")
        if isinstance(position, int) and 0 < position <= OPEN_END:
            # One query for the last entry in the file, by which it is checked, and for those after it.
            head, entries = self._ledger.head(), self._ledger.read(self.space, after=position - 1)
            last = next(iter(entries), None)
            if last is not None and last.position == position and header == self._header(last.position, last):
                return _SavedIndex(arrays, entries, head)
        log.info("space %r has an index file of another release or ledger; it is rebuilt", self.space)
        return None

    def _load(self, saved: Arrays) -> bool:
        """Load what the index file contains; False leaves everything empty."""
        if self._index_file is not None and self._index_file.load(saved, self.parts | self._saved_store):
            self.contents.applied = self._saved = len(self)
            if self.graph.lacks_vectors:  # they may have been stored after the file was written, or never
                self.graph.fill_missing_vectors()
                self.contents.find_missing_descriptions(self.registry.descriptions(self.catalog.position))
            return True
        self.contents = self._empty()
        return False

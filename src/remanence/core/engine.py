"""The engine of one opened ledger: its indexes, its embedder, its locks. `read` and `write` do the rest."""

from __future__ import annotations

import json
import logging
import os
import threading
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from remanence.core.erasure_cleanup import ErasureCleaner
from remanence.core.index import Index
from remanence.core.index_file import index_path, remove_files_of_older_releases
from remanence.core.inputs import as_utc
from remanence.core.open_indexes import OpenIndexes
from remanence.core.projection import FORMAT, OpenStore
from remanence.core.signing import Signer, verify_signature
from remanence.core.trust import TrustRules
from remanence.errors import (
    EmbedderUnavailable,
    InvalidInput,
    LedgerTampered,
    LedgerUnavailable,
    ProjectionError,
    ProjectionStale,
)
from remanence.events import Event, Remembered
from remanence.language.temporal import has_numeric_date, use_date_order
from remanence.language.text import TOKENIZER_VERSION, text_hash
from remanence.models.embedders.static import FORMER_DEFAULT, StaticEmbedder
from remanence.ports import Clock, Extractor, Ledger, Locks, Progress, Reader, Signal, Transaction, VectorStores
from remanence.schema import Change, Entry, Memory, format_moment
from remanence.schema.version import __version__
from remanence.signals import SIGNALS
from remanence.signals.stores import LocalStores, SharedStores
from remanence.signals.stores.exact import ExactStore
from remanence.signals.vectors import drop_malformed, embeddable_texts

if TYPE_CHECKING:
    from remanence.language.redaction import Redactor
    from remanence.models.embedders.checked import CheckedEmbedder
    from remanence.ports import Vector

log = logging.getLogger(__name__)

_CLOCK_TOLERANCE = timedelta(days=1)
"""A `now` that is later than the clock by more is probably an error, and is reported."""

_CHUNK = 2_000
DEFAULT_CACHE_SIZE = 512 * 2**20
"""The memory limit for the indexes of all open spaces, in bytes."""


class Engine:
    """One ledger, its embedder, and an index for each space in use."""

    def __init__(
        self,
        ledger: Ledger,
        embedder: CheckedEmbedder,
        extractor: Extractor,
        *,
        clock: Clock,
        locks: Locks,
        location: str | None,
        folder: Path | None,
        reader: Reader | None,
        signals: Sequence[Signal],
        stores: VectorStores | None,
        qdrant: Callable[[Callable[[], str]], SharedStores] | None,
        trust: TrustRules,
        redactor: Redactor | None,
        signer: Signer | None,
        signers: Mapping[bytes, str] | None,
        replace_embedder: bool,
        day_first: bool | None,
        cache_size: int,
    ) -> None:
        self._pid = os.getpid()
        self.ledger = ledger
        self.embedder = embedder
        self.extractor = extractor
        self.locks = locks
        self.location = location
        """The folder or the address of the ledger; None if it is in memory only."""
        self.folder = folder
        """Where index and vector files are; None for none. They may be lost at any time."""
        self.reader = reader
        self.day_first = day_first
        self.trust, self.redactor = trust, redactor
        self._signer, self._signers = signer, dict(signers or {})
        if signer is not None:
            self._signers.setdefault(signer.public_key, "this writer")
        self._extra_signals = signals
        self._stores = stores if qdrant is None else qdrant(self.ledger_id)
        self._clock = clock
        self.write_lock = threading.RLock()
        self.indexes = OpenIndexes(self._open, self._is_outdated, cache_size)
        self._stores_lock = threading.Lock()
        self._closed = False
        self.on_unfinished_jobs: Callable[[str], None] | None = None
        """Called with the name of a space that is opened with unfinished jobs."""
        self._has_recorded_embedder = False  # whether the ledger records which embedder it was built with
        self._has_former_default = False
        self._replace_embedder = replace_embedder  # everything is about to be embedded again
        self.erasure_cleaner = ErasureCleaner(self)
        self._match_embedder()
        if folder is not None:
            remove_files_of_older_releases(folder)

    @property
    def settings_hash(self) -> str:
        """A hash of all settings that affect the answers to a question."""
        reader = "" if self.reader is None else self.reader.fingerprint
        embedder = f"{self.embedder.fingerprint} {self.embedder.similarity_floor}"
        signals = [f"{signal.name} {signal.weight}" for signal in self._extra_signals]
        order = [] if self.day_first is None else [f"day first: {self.day_first}"]
        parts = (__version__, embedder, TOKENIZER_VERSION, FORMAT, reader, *signals, *order)
        return text_hash("|".join(parts)).hex()[:16]

    @property
    def signal_names(self) -> tuple[str, ...]:
        return (*SIGNALS, *(signal.name for signal in self._extra_signals))

    def now(self) -> datetime:
        return as_utc(self._clock(), "the clock")

    @contextmanager
    def use_date_order_of(self, space: str, texts: Iterable[str]) -> Iterator[None]:
        """Read dates such as 03/04/2025 in the order of the setting, or else of these texts and those of the space."""
        day_first = self.day_first
        if day_first is None and (ambiguous := [text for text in texts if has_numeric_date(text)]):
            with self.open_index(space) as index:
                day_first = index.date_order(index.catalog.position, ambiguous)
        with use_date_order(day_first):
            yield

    @contextmanager
    def open_index(self, space: str, *, to_write: bool = False) -> Iterator[Index]:
        """The index of a space, kept open while in use. It is brought up to date with the ledger, except `to_write`: a
        writer does that in its transaction."""
        with self.indexes.use(space) as (index, is_new):
            if not to_write and not is_new:
                index.catch_up()
            yield index

    def check_process(self) -> None:
        """Raise in a process that was forked while this engine was open. Locks that other threads held at the fork are
        never released in the child."""
        if self.was_forked:
            raise LedgerUnavailable(
                f"{self.location} was open in process {self._pid} when it forked this one ({os.getpid()}); using it "
                "here would hang or lose entries. Start processes by 'spawn', or open after the fork."
            )

    # Writing

    def write(self, space: str, decide: Callable[[Index], Sequence[Event]]) -> list[Entry]:
        """Append the events that `decide` returns, in one transaction with the index up to date."""
        with self.open_index(space, to_write=True) as index:
            entries: list[Entry] = []
            with self.write_lock, self.ledger.transaction() as transaction:
                index.catch_up(transaction.head)
                with index.lock:  # reading relations updates them, and other threads may be reading
                    events = decide(index)
                if events:
                    entries = self.append(transaction, space, events, self.now())
            index.apply_written(entries)
            return entries

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A write transaction that is not about one space. Indexes apply it when they next catch up."""
        with self.write_lock, self.ledger.transaction() as transaction:
            yield transaction

    def index_imported_entries(self, space: str, progress: Progress | None) -> None:
        """Index entries that were imported: embed texts that came without a vector, and start their jobs."""
        with self.open_index(space) as index:
            if not index.dimension_unknown:
                with self.transaction() as transaction:
                    self._sign(transaction)
            self._report_unfinished_jobs(index)
        self.embed_missing(space, progress)

    def append(self, transaction: Transaction, space: str, events: Sequence[Event], at: datetime) -> list[Entry]:
        """Add an entry for each event, with the signature of this writer if there is a key.

        `at` is limited to the clock: recording times never decrease, so one entry from the future would shift all later
        entries.
        """
        now = self.now()
        if at - now > _CLOCK_TOLERANCE:
            now_text, clock_text = format_moment(at), format_moment(now)
            log.warning(
                "now=%s is later than the system clock; recorded_at=%s, told_at=%s", now_text, clock_text, now_text
            )
        return transaction.append(space, self.sign_events(space, events), at=min(at, now))

    def sign_events(self, space: str, events: Sequence[Event]) -> Sequence[Event]:
        """The events, each with the signature of this writer if there is a key."""
        if self._signer is None:
            return events
        number_of = cache(lambda position: self.ledger.count(space, up_to=position))
        return [self._signer.sign(event, number_of) for event in events]

    def check_signatures(self, space: str) -> dict[str, int]:
        """How many entries of a space each writer has signed; LedgerTampered if a signature is not valid."""
        counts: dict[str, int] = {}
        positions = array("q")
        for entry in self.ledger.read(space):
            positions.append(entry.position)
            if entry.event is None or entry.event.signature is None:
                continue
            key = verify_signature(entry.event, lambda position: bisect_right(positions, position))
            if key is None:
                raise LedgerTampered(
                    f"entry {entry.position} about {entry.subject!r} has an invalid signature: its content was changed "
                    "after "
                    "signing, or it was signed with another key.",
                    position=entry.position,
                )
            name = self._signers.get(key, key.hex())
            counts[name] = counts.get(name, 0) + 1
        return counts

    def ledger_id(self) -> str:
        known = self.ledger.get_meta("id")
        if known is None:
            with self.transaction() as transaction:
                known = self.ledger.get_meta("id") or uuid4().hex
                transaction.put_meta("id", known)
        return known

    # Reading

    def get(self, space: str, memory_id: str, position: int | None) -> Memory | None:
        with self.open_index(space) as index, index.lock:
            row = index.current_row(memory_id, index.catalog.position if position is None else position)
            return next(iter(index.readable_memories([] if row is None else [row])), None)

    def changes(self, space: str, after: int, until: int | None) -> Iterator[Change]:
        """What entries after one position, up to another, did to memories. Erased texts are left out."""
        with self.open_index(space) as index:
            for entry in self.ledger.read(space, after=after):
                if until is not None and entry.position > until:
                    return
                if change := index.change_from_entry(entry):
                    yield change

    # Maintenance

    def rebuild(self, space: str, progress: Progress | None = None) -> None:
        """Rebuild the index of a space. Only texts without a vector in the ledger are embedded."""
        with self.open_index(space) as index:
            index.rebuild()
            problems = dict(index.broken)
            if index.vectors.unreachable is not None:
                problems[index.vectors.name] = index.vectors.unreachable
            reasons = "; ".join(f"{name}: {reason}" for name, reason in problems.items())
            if reasons:
                raise ProjectionError(f"space {space!r} was not rebuilt completely. {reasons}")
        self.embed_missing(space, progress)

    def refresh(self, space: str) -> None:
        """Rebuild the index of a space. A small index is rebuilt in place. A large one is rebuilt as a copy that
        replaces it; the vectors are kept."""
        with self.open_index(space) as index:
            is_refreshed = index.is_large and not index.broken
            if is_refreshed:
                index.refresh()
        if is_refreshed:
            self.embed_missing(space, None)
        else:
            self.rebuild(space)

    def reembed(self, progress: Progress | None = None) -> None:
        """Embed every text with the given embedder, and then record it as that of this ledger: if the process is killed
        in between, the ledger still opens with the one before."""
        if self.embedder.dimension is None:
            self.embedder.embed(["memory"])  # if it is down, this raises before anything is changed
        before = self._recorded_embedder()
        for space in self.ledger.spaces():
            self.rebuild(space, progress)
        with self.transaction() as transaction:
            transaction.put_meta("embedder", json.dumps(self._embedder_record()))
        if before is None or before["fingerprint"] == self.embedder.fingerprint:
            return
        if isinstance(self._stores, SharedStores):
            self._stores.delete_ledger(before["fingerprint"], before["dimension"])

    def rebuild_collection(self) -> str:
        """Make the collection of a shared Qdrant again with the present settings. Returns its name."""
        dimension = self._dimension()
        if not isinstance(self._stores, SharedStores) or dimension is None:
            raise InvalidInput(
                "the vectors of this space are not on a Qdrant server: open it with qdrant='http://...'."
            )
        return self._stores.collection(self.embedder.fingerprint, dimension).rebuild()

    def replace_former_default(self) -> None:
        """Embed everything again if this ledger was written with the default embedder of an earlier release."""
        if not self._has_former_default:
            return
        log.warning(
            "%s was written with the former default embedder %r. Its texts are embedded once more, with %r.",
            self.location,
            FORMER_DEFAULT,
            self.embedder.name,
        )
        self.reembed()
        self._has_former_default = False

    def check(self, space: str) -> dict[str, str]:
        """Compare each part of the index with a fresh build from the ledger; what differs, by name."""
        with self.open_index(space) as index, index.lock:
            if index.needs_refresh:
                index.refresh()
            fresh = self._index(space, lambda _: ExactStore(self.embedder.dimension or 1), None)
            return index.broken | index.compare(fresh)

    def close(self) -> None:
        if self.was_forked:  # locks, files and threads belong to the process that forked this one
            self.ledger.close()
            return
        self.erasure_cleaner.stop()
        with self._stores_lock:
            if self._closed:
                return
            self._closed = True
        try:
            self.indexes.close()
            if self._stores is not None:
                self._stores.close()
        finally:
            try:
                self.locks.close()
            finally:
                self.ledger.close()

    @property
    def has_server(self) -> bool:
        """Whether the vectors are on a server, which may be down for a while."""
        return isinstance(self._stores, SharedStores)

    @property
    def was_forked(self) -> bool:
        """Whether this process was forked while the engine was open. What is in memory only may be used there."""
        return os.getpid() != self._pid and self.locks.is_shared

    # Helpers

    def _report_unfinished_jobs(self, index: Index) -> None:
        if self.on_unfinished_jobs is not None and index.journal.unfinished_jobs():
            self.on_unfinished_jobs(index.space)

    def store_vectors(
        self, transaction: Transaction, space: str, vectors: Mapping[bytes, Vector], new_vectors: Mapping[bytes, Vector]
    ) -> None:
        """Store vectors of a space. `new_vectors` are those that the ledger does not have yet."""
        if vectors:
            self._sign(transaction)
            transaction.put_vectors(space, self.embedder.fingerprint, new_vectors)

    def _sign(self, transaction: Transaction) -> None:
        if not self._has_recorded_embedder:
            if self.ledger.get_meta("embedder") is None:
                transaction.put_meta("embedder", json.dumps(self._embedder_record()))
            self._has_recorded_embedder = True

    def embed(self, space: str, texts: Sequence[str]) -> tuple[dict[bytes, Vector], dict[bytes, Vector]]:
        """Vectors for these texts by hash: all of them, and those that the space did not have yet. If the embedder is
        down, the texts are stored without vectors, which are added later."""
        texts_by_hash = {text_hash(text): text for text in texts}
        if not texts_by_hash or self._dimension() is None:
            return {}, {}
        known = (
            {} if self.embedder.is_fast else self.ledger.vectors(space, self.embedder.fingerprint, list(texts_by_hash))
        )
        vectors = drop_malformed(known, self.embedder.dimension)
        missing = [(key, text) for key, text in texts_by_hash.items() if key not in vectors]
        if not missing:
            return vectors, {}
        try:
            embedded = self.embedder.embed([text for _, text in missing])
        except EmbedderUnavailable as error:
            log.warning("%d texts are stored without a vector for now: %s", len(missing), error)
            return vectors, {}
        new_vectors = {key: vector for (key, _), vector in zip(missing, embedded, strict=True)}
        return vectors | new_vectors, new_vectors

    def embed_missing(self, space: str, progress: Progress | None) -> None:
        """Embed texts without a vector, because the embedder was down or has been replaced."""
        with self.open_index(space) as index:
            rows = index.vectors.rows_missing_vectors()
            for begin in range(0, len(rows), _CHUNK):
                chunk = rows[begin : begin + _CHUNK]
                entries = self.ledger.entries_at(index.catalog.positions_of_rows(chunk)).values()
                versions = [entry.event for entry in entries if isinstance(entry.event, Remembered)]
                self._embed_and_store(space, [text for version in versions for text in embeddable_texts(version)])
                if progress is not None:
                    progress(begin + len(chunk), len(rows))
            with index.lock:
                described = [*index.registry.descriptions(index.catalog.position), *index.missing_descriptions]
            for begin in range(0, len(described), _CHUNK):
                self._embed_and_store(space, described[begin : begin + _CHUNK])
            index.fill_missing_vectors()

    def embed_descriptions(self, space: str) -> None:
        """Embed the descriptions of entities that have no vector yet."""
        with self.open_index(space) as index:
            if index.missing_descriptions:
                self._embed_and_store(space, list(index.missing_descriptions))
                index.fill_missing_vectors()  # also with those that another process has stored

    def _embed_and_store(self, space: str, texts: Sequence[str]) -> None:
        """Embed those of these texts that the space has no vector for, and store the vectors."""
        _, new_vectors = self.embed(space, texts)
        if new_vectors:
            with self.transaction() as transaction:
                self.store_vectors(transaction, space, new_vectors, new_vectors)

    def _is_outdated(self, index: Index) -> bool:
        # The embedder is not called here: if it is down that may take long, and `add` calls it anyway.
        return index.dimension_unknown and self.embedder.dimension is not None

    def _open(self, space: str) -> Index:
        self.erasure_cleaner.watch()  # first, so that an erasure during the reading is noticed
        dimension = self._dimension()
        if dimension is None:
            index = Index(
                space, self.ledger, "", None, lambda _: ExactStore(1), None, self._extra_signals, self.day_first
            )
            index.dimension_unknown = True
            index.broken[index.vectors.name] = "the embedder has not answered yet, so its dimension is unknown"
            return index
        file = None if self.folder is None else index_path(self.folder, space)
        stores = self._vector_stores()
        if isinstance(stores, LocalStores):
            index = self._index(space, lambda points: stores.open(space, dimension, points), file)
        elif isinstance(stores, SharedStores):
            index = self._index(space, lambda _: stores.open(space, dimension, self.embedder.fingerprint), file)
        else:
            index = self._index(space, lambda _: stores.open(space, dimension), file)
        self._report_unfinished_jobs(index)
        return index

    def _vector_stores(self) -> VectorStores:
        with self._stores_lock:
            if self._stores is None or isinstance(self._stores, SharedStores):
                self._match_embedder()
            if self._stores is None:
                self._stores = LocalStores(None if self.folder is None else self.folder / "vectors")
            return self._stores

    def _index(self, space: str, open_store: OpenStore, file: Path | None) -> Index:
        model, dimension = self.embedder.fingerprint, self.embedder.dimension
        return Index(space, self.ledger, model, dimension, open_store, file, self._extra_signals, self.day_first)

    def _dimension(self) -> int | None:
        """The dimension of vectors. An embedder that does not declare it is asked to embed one word."""
        if self.embedder.dimension is None:
            try:
                self.embedder.embed(["memory"])
            except EmbedderUnavailable as error:
                log.warning("the signal 'vectors' is missing for now: %s", error)
                return None
            self._match_embedder()
        return self.embedder.dimension

    def _embedder_record(self) -> dict[str, Any]:
        embedder = self.embedder
        return {"name": embedder.name, "dimension": embedder.dimension, "fingerprint": embedder.fingerprint}

    def _recorded_embedder(self) -> dict[str, Any] | None:
        """The embedder that the ledger was built with; None if none is recorded, or the record cannot be read."""
        try:
            recorded = json.loads(self.ledger.get_meta("embedder") or "null")
        except ValueError:
            return None
        return recorded if isinstance(recorded, dict) else None

    def _match_embedder(self) -> None:
        """Refuse an embedder other than the one this ledger was built with."""
        written = self.ledger.get_meta("embedder")
        if self._replace_embedder or self._has_former_default or written is None:
            return
        recorded = self._recorded_embedder()
        if recorded is None:
            raise self._embedder_mismatch({"name": written, "fingerprint": "unknown"}, self.embedder.fingerprint)
        if self.embedder.dimension is None and recorded["name"] == self.embedder.name:
            # It is not called: that may cost money, or it may be down, and all vectors are stored.
            self.embedder.expect_dimension(recorded["dimension"], lambda made: self._embedder_mismatch(recorded, made))
        if recorded["name"] == FORMER_DEFAULT and self.embedder.name == StaticEmbedder.name:
            self._has_former_default = True
        elif self.embedder.dimension is not None and recorded["fingerprint"] != self.embedder.fingerprint:
            raise self._embedder_mismatch(recorded, self.embedder.fingerprint)

    def _embedder_mismatch(self, recorded: Mapping[str, Any], fingerprint: str) -> ProjectionStale:
        where = self.location or "the space"
        return ProjectionStale(
            f"the vectors of {where} were made with {recorded['name']!r} ({recorded['fingerprint']}), but it is "
            f"opened with {self.embedder.name!r} ({fingerprint}). Answers would mix the two. Open it with "
            f"embedder={recorded['name']!r}, or embed everything again with "
            f"remanence.reembed({str(where)!r}, embedder=...) or `remanence rebuild {where} --embedder ...`."
        )

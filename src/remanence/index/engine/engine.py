"""The engine of one opened ledger: its indexes, its embedder, its locks. `read` and `write` do the rest."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from remanence.errors import InvalidInput, LedgerUnavailable, RemanenceError
from remanence.events import Event
from remanence.index import SIGNALS
from remanence.index.engine.embedding import BackgroundEmbedder, LedgerEmbedder, UnstoredVectors
from remanence.index.engine.erasure_cleanup import ErasureCleaner
from remanence.index.engine.in_thread import check_cancelled
from remanence.index.engine.inputs import as_utc
from remanence.index.engine.open_indexes import OpenIndexes
from remanence.index.engine.periodic_thread import QuietThread
from remanence.index.engine.policy import NO_RULES, TrustRules
from remanence.index.engine.signing import LedgerSignatures
from remanence.index.index import Index
from remanence.index.index_file import index_path
from remanence.index.projection import FORMAT, OpenStore
from remanence.index.vectors.stores import LocalStores, SharedStores
from remanence.index.vectors.stores.exact import ExactStore
from remanence.ledger import cipher_of
from remanence.ledger.codec import WRONG_TYPES
from remanence.ports import Clock, Extractor, Ledger, Locks, Reader, Signal, Transaction, VectorStore, VectorStores
from remanence.schema import UTC, Change, Entry, format_moment
from remanence.schema.version import __version__
from remanence.text.temporal import has_numeric_date, use_date_order
from remanence.text.text import TOKENIZER_VERSION, text_hash

if TYPE_CHECKING:
    from remanence.models.embedders import CheckedEmbedder
    from remanence.text.redaction import Redactor

log = logging.getLogger(__name__)


DEFAULT_CACHE_SIZE = 512 * 2**20


class LedgerPlace(NamedTuple):
    """Where a ledger and its files are, and the locks for what happens in only one process at a time."""

    location: str | None
    """The folder or the address of the ledger; None if it is in memory only."""
    folder: Path | None
    """Where index and vector files are; None for none. They may be lost at any time."""
    locks: Locks


class Engine:
    """One ledger, its embedder, and an index for each space in use."""

    def __init__(
        self,
        ledger: Ledger,
        embedder: CheckedEmbedder,
        extractor: Extractor,
        reader: Reader | None,
        *,
        clock: Clock | None = None,
        place: LedgerPlace,
        signals: Sequence[Signal] = (),
        stores: VectorStores | None = None,
        qdrant: Callable[[Callable[[], str]], SharedStores] | None = None,
        trust: TrustRules = NO_RULES,
        redactor: Redactor | None = None,
        signatures: LedgerSignatures | None = None,
        day_first: bool | None = None,
        cache_size: int = DEFAULT_CACHE_SIZE,
        replace_embedder: bool = False,
    ) -> None:
        self._pid = os.getpid()
        if cipher_of(ledger) is not None and (stores is not None or qdrant is not None):
            raise InvalidInput(
                f"{place.location} is encrypted, and vectors= or qdrant= would keep its vectors elsewhere, in the "
                "clear. Leave them out: an encrypted folder keeps its vectors itself."
            )
        self.ledger = ledger
        self.embedder = embedder
        self.ledger_embedder = LedgerEmbedder(ledger, embedder, place.location, replace=replace_embedder)
        self.extractor = extractor
        self.location, self.folder, self.locks = place
        self.reader = reader
        self.day_first = day_first
        self.trust, self.redactor = trust, redactor
        self.signatures = signatures or LedgerSignatures(ledger)
        self.extra_signals = signals
        self.stores = stores if qdrant is None else qdrant(self.ledger_id)
        self._clock = clock
        self.write_lock = threading.RLock()
        self.indexes = OpenIndexes(self._open, self._is_outdated, cache_size)
        self._stores_lock = threading.Lock()
        self._closed = False
        self.notify_worker: Callable[[str], None] | None = None
        """Called with the name of a space that is opened with unfinished jobs."""
        self.when_quiet: QuietThread | None = None
        """Told of spaces that may have memories which the reader has not read for a profile."""
        self.erasure_cleaner = ErasureCleaner(self)
        self.background_embedder = BackgroundEmbedder(self)
        self.unstored_vectors = UnstoredVectors()
        self.ledger_embedder.check()

    @property
    def settings_hash(self) -> str:
        """A hash of all settings that affect the answers to a question."""
        reader = "" if self.reader is None else self.reader.fingerprint
        embedder = f"{self.embedder.fingerprint} {self.embedder.similarity_floor}"
        signals = [f"{signal.name} {signal.weight}" for signal in self.extra_signals]
        order = [] if self.day_first is None else [f"day first: {self.day_first}"]
        parts = (__version__, embedder, TOKENIZER_VERSION, FORMAT, reader, *signals, *order)
        return text_hash("|".join(parts)).hex()[:16]

    @property
    def signal_names(self) -> tuple[str, ...]:
        return (*SIGNALS, *(signal.name for signal in self.extra_signals))

    def now(self) -> datetime:
        return datetime.now(UTC) if self._clock is None else as_utc(self._clock(), "the clock")

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
    def open_index(self, space: str, *, catch_up: bool = True) -> Iterator[Index]:
        """The index of a space, kept open while in use. It is brought up to date with the ledger, unless `catch_up` is
        false: a writer does that in its transaction."""
        check_cancelled()
        with self.indexes.use(space) as (index, is_new):
            if catch_up and not is_new:
                index.catch_up()
            if index.vectors.sync.missing_vectors:
                self.background_embedder.watch(space)
            try:
                yield index
            except WRONG_TYPES as error:
                damage = None if isinstance(error, RemanenceError) else index.find_damage_in_read_entries()
                if damage is None:
                    raise
                raise damage from error

    def check_process(self) -> None:
        """Raise in a process that was forked while this engine was open. Locks that other threads held at the fork are
        never released in the child."""
        if self.was_forked:
            raise LedgerUnavailable(
                f"{self.location} was open in process {self._pid} when it forked this one ({os.getpid()}); using it "
                "here would hang or lose entries. Start processes by 'spawn', or open after the fork."
            )

    # Writing

    def write(self, space: str, decide: Callable[[Index], Sequence[Event]], at: datetime | None = None) -> list[Entry]:
        """Append the events that `decide` returns, in one transaction with the index up to date. They are recorded
        `at` a moment; None is now."""
        with self.open_index(space, catch_up=False) as index:
            entries: list[Entry] = []
            with self.write_lock, self.ledger.transaction() as transaction:
                index.catch_up(transaction.head)
                with index.lock:  # reading relations updates them, and other threads may be reading
                    events = decide(index)
                if events:
                    entries = self.append(transaction, space, events, self.now() if at is None else at)
            index.apply_written(entries)
            return entries

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A write transaction that is not about one space. Indexes apply it when they next catch up."""
        with self.write_lock, self.ledger.transaction() as transaction:
            yield transaction

    def append(self, transaction: Transaction, space: str, events: Sequence[Event], at: datetime) -> list[Entry]:
        """Add an entry for each event, with the signature of this writer if there is a key.

        `at` is limited to the clock: recording times never decrease, so one entry from the future would shift all later
        entries.
        """
        now = self.now()
        if at - now > timedelta(days=1):
            now_text, clock_text = format_moment(at), format_moment(now)
            log.warning(
                "now=%s is later than the system clock; recorded_at=%s, told_at=%s", now_text, clock_text, now_text
            )
        return transaction.append(space, self.signatures.sign(space, events), at=min(at, now))

    def ledger_id(self) -> str:
        known = self.ledger.get_meta("id")
        if known is None:
            with self.transaction() as transaction:
                known = self.ledger.get_meta("id") or uuid4().hex
                transaction.put_meta("id", known)
        return known

    # Reading

    def changes(self, space: str, after: int, until: int | None) -> Iterator[Change]:
        """What entries after one position, up to another, did to memories. Erased texts are left out."""
        if until is not None and after >= until:
            return  # without reading the ledger: each event stream of a server asks several times a second
        with self.open_index(space) as index:
            for entry in self.ledger.read(space, after=after):
                if until is not None and entry.position > until:
                    return
                if change := index.change_from_entry(entry):
                    yield change

    def report_unfinished_jobs(self, index: Index) -> None:
        """Notify the worker, if there is one, that a space has jobs which are not finished."""
        if self.notify_worker is not None and index.journal.unfinished_jobs():
            self.notify_worker(index.space)

    def report_news(self, space: str) -> None:
        """Notify the thread that reads when a space is quiet, if there is one."""
        if self.when_quiet is not None:
            self.when_quiet.notify(space)

    def close(self) -> None:
        if self.was_forked:  # locks, files and threads belong to the process that forked this one
            self.ledger.close()
            return
        if self.when_quiet is not None:
            self.when_quiet.stop()
        self.erasure_cleaner.stop()
        self.background_embedder.stop()
        with self._stores_lock:
            if self._closed:
                return
            self._closed = True
        try:
            self.indexes.close()
            if self.stores is not None:
                self.stores.close()
        finally:
            try:
                self.locks.close()
            finally:
                self.ledger.close()

    @property
    def has_server(self) -> bool:
        """Whether the vectors are on a server, which may be down for a while."""
        return isinstance(self.stores, SharedStores)

    @property
    def was_forked(self) -> bool:
        """Whether this process was forked while the engine was open. An engine in memory works in both processes."""
        return os.getpid() != self._pid and self.locks.is_shared

    def build_index(self, space: str, open_store: OpenStore, file: Path | None) -> Index:
        """An index of a space, as the ledger and the index file have it."""
        model, dimension = self.embedder.fingerprint, self.embedder.dimension
        return Index(space, self.ledger, model, dimension, open_store, file, self.extra_signals, self.day_first)

    # Helpers

    def _is_outdated(self, index: Index) -> bool:
        # The embedder is not called here: if it is down that may take long, and `add` calls it anyway.
        return index.dimension_unknown and self.embedder.dimension is not None

    def _open(self, space: str) -> Index:
        self.erasure_cleaner.watch()  # first, so that an erasure during the reading is noticed
        dimension = self.ledger_embedder.dimension()
        if dimension is None:
            index = Index(
                space, self.ledger, "", None, lambda _: ExactStore(1), None, self.extra_signals, self.day_first
            )
            index.dimension_unknown = True
            index.broken[index.vectors.name] = "the embedder has not answered yet, so its dimension is unknown"
            return index
        file = None if self.folder is None else index_path(self.folder, space)
        stores = self._vector_stores()
        if isinstance(stores, LocalStores):
            index = self.build_index(space, lambda points: stores.open(space, dimension, points), file)
        elif isinstance(stores, SharedStores):
            index = self.build_index(space, lambda _: stores.open(space, dimension, self.embedder.fingerprint), file)
        else:
            index = self.build_index(space, lambda _: _open_store(stores, space, dimension), file)
        self.report_unfinished_jobs(index)
        self.report_news(space)
        return index

    def _vector_stores(self) -> VectorStores:
        with self._stores_lock:
            if self.stores is None or isinstance(self.stores, SharedStores):
                self.ledger_embedder.check()
            if self.stores is None:
                self.stores = LocalStores(
                    None if self.folder is None else self.folder / "vectors", engine=cipher_of(self.ledger) is None
                )
            return self.stores


def _open_store(stores: VectorStores, space: str, dimension: int) -> VectorStore:
    """The store of a space, opened by an object of the caller's."""
    store: object = stores.open(space, dimension)
    if isinstance(store, VectorStore):
        return store
    raise InvalidInput(f"{stores!r} opened {store!r}, which does not have the methods of remanence.ports.VectorStore.")


@contextmanager
def close_on_error(opened: Ledger | Engine) -> Iterator[None]:
    """Close what was opened if the block fails."""
    try:
        yield
    except BaseException:
        opened.close()
        raise

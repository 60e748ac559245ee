"""Embeds the texts of a space and stores their vectors in the ledger, which records the embedder. What was stored
without a vector is embedded in a thread, a batch at a time."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from weakref import ref

from remanence.errors import Closed, EmbedderError, EmbedderUnavailable, LedgerUnavailable, ProjectionStale
from remanence.events import Remembered
from remanence.index.engine.periodic_thread import PeriodicThread
from remanence.index.numbers import Row
from remanence.index.vectors.vectors import drop_malformed, embeddable_texts
from remanence.models.embedders import FORMER_DEFAULT, SentenceEmbedder, StaticEmbedder, mean_vector
from remanence.text.text import split_passages, text_hash

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.index.index import Index
    from remanence.models.embedders import CheckedEmbedder
    from remanence.ports import Ledger, Progress, Transaction, Vector

log = logging.getLogger(__name__)

_CHUNK = 2_000
_META = "embedder"
_MAX_UNSTORED_BYTES = 2**25
"""Bytes of vectors that are kept until their texts are stored."""


class UnstoredVectors:
    """Vectors that a caller asked for, until their texts are stored: a framework that embeds texts mostly adds them
    next. The oldest make room for new ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vectors: dict[bytes, Vector] = {}

    def __len__(self) -> int:
        return len(self._vectors)

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep these vectors, which are all of one length."""
        with self._lock:
            self._vectors.update(vectors)
            most = _MAX_UNSTORED_BYTES // max((vector.nbytes for vector in vectors.values()), default=1)
            for oldest in list(self._vectors)[: max(0, len(self._vectors) - most)]:
                del self._vectors[oldest]

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Vector]:
        """Those of these texts that are here."""
        with self._lock:
            return {key: self._vectors[key] for key in keys if key in self._vectors}

    def take(self, keys: Iterable[bytes]) -> dict[bytes, Vector]:
        """The same, which are then no longer here."""
        with self._lock:
            return {key: self._vectors.pop(key) for key in keys if key in self._vectors}

    def clear(self) -> None:
        """Something was erased, and its text may be one of these: nothing is kept."""
        with self._lock:
            self._vectors.clear()


def embed(
    engine: Engine, space: str, texts: Sequence[str], most: int | None = None
) -> tuple[dict[bytes, Vector], dict[bytes, Vector]]:
    """Vectors for these texts by hash: all of them, and those that the space did not have yet, of texts with `most`
    characters together. If the embedder is down, the texts are stored without vectors, which are added later."""
    texts_by_hash = {text_hash(text): text for text in texts}
    if not texts_by_hash or engine.ledger_embedder.dimension() is None:
        return {}, {}
    vectors = _stored_vectors(engine, space, texts_by_hash)
    new_vectors = engine.unstored_vectors.take(texts_by_hash.keys() - vectors.keys())
    missing = {key: text for key, text in texts_by_hash.items() if key not in vectors and key not in new_vectors}
    if most is not None:
        sizes = accumulate(map(len, missing.values()))
        places = [place for place, size in enumerate(sizes) if place == 0 or size <= most]
        missing = dict(list(missing.items())[: len(places)])
    try:
        new_vectors |= _embedded(engine, missing)
    except EmbedderUnavailable as error:
        log.warning("%d texts are stored without a vector for now: %s", len(missing), error)
    return vectors | new_vectors, new_vectors


def text_vectors(engine: Engine, space: str, texts: Sequence[str]) -> list[Vector]:
    """The vector of each text, of a long one the mean of those of its passages. Those of stored texts are read, and new
    ones kept for when their texts are stored.

    Raises:
        EmbedderUnavailable: The embedder is down.
    """
    if engine.embedder.is_fast or engine.ledger_embedder.dimension() is None:
        return list(engine.embedder.embed(texts))
    parts = [[text[start:end] for start, end in split_passages(text)] or [text] for text in texts]
    texts_by_hash = {text_hash(part): part for text_parts in parts for part in text_parts}
    vectors = _stored_vectors(engine, space, texts_by_hash)
    vectors |= engine.unstored_vectors.get(texts_by_hash.keys() - vectors.keys())
    new_vectors = _embedded(engine, {key: text for key, text in texts_by_hash.items() if key not in vectors})
    engine.unstored_vectors.put(new_vectors)
    vectors |= new_vectors
    return [mean_vector([vectors[text_hash(part)] for part in text_parts]) for text_parts in parts]


def _stored_vectors(engine: Engine, space: str, texts_by_hash: Mapping[bytes, str]) -> dict[bytes, Vector]:
    """The vectors that the ledger has for these texts. Fast embedders are asked again, which is faster than reading."""
    embedder = engine.embedder
    known = {} if embedder.is_fast else engine.ledger.vectors(space, embedder.fingerprint, list(texts_by_hash))
    return drop_malformed(known, embedder.dimension)


def _embedded(engine: Engine, texts_by_hash: Mapping[bytes, str]) -> dict[bytes, Vector]:
    """The vectors of these texts by the embedder."""
    embedded = engine.embedder.embed(list(texts_by_hash.values())) if texts_by_hash else ()
    return dict(zip(texts_by_hash, embedded, strict=True))


def store_vectors(engine: Engine, transaction: Transaction, space: str, vectors: Mapping[bytes, Vector]) -> None:
    """Store vectors that the ledger does not have yet, and with the first ones, which embedder made them."""
    engine.ledger_embedder.record_first(transaction)
    transaction.put_vectors(space, engine.embedder.fingerprint, vectors)


def embed_missing(engine: Engine, space: str, progress: Progress | None = None) -> None:
    """Embed the texts that have no vector, because the embedder was down or has been replaced."""
    with engine.background_embedder.left_to_caller(space), engine.open_index(space) as index:
        rows = index.rows_missing_vectors()
        for begin in range(0, len(rows), _CHUNK):
            chunk = rows[begin : begin + _CHUNK]
            embed_rows(engine, index, chunk)
            if progress is not None:
                progress(begin + len(chunk), len(rows))
        with index.lock:
            described = [*index.registry.descriptions(index.catalog.position), *index.missing_descriptions]
        for begin in range(0, len(described), _CHUNK):
            _embed_and_store(engine, space, described[begin : begin + _CHUNK])
        index.fill_missing_vectors()


def embed_rows(engine: Engine, index: Index, rows: Sequence[Row], most: int | None = None) -> int:
    """Embed the texts of these rows, and the names in them, that have no vector, with `most` characters together, and
    store the vectors. Returns how many were made."""
    with index.lock:
        positions = index.catalog.positions_of_rows(rows)
    entries = engine.ledger.entries_at(positions).values()
    versions = [entry.event for entry in entries if isinstance(entry.event, Remembered)]
    texts = [text for version in versions for text in embeddable_texts(version)]
    return _embed_and_store(engine, index.space, texts, most)


def embed_descriptions(engine: Engine, space: str) -> None:
    """Embed the descriptions of entities that have no vector yet."""
    with engine.open_index(space) as index:
        if index.missing_descriptions:
            _embed_and_store(engine, space, list(index.missing_descriptions))
            index.fill_missing_vectors()  # also with those that another process has stored


def _embed_and_store(engine: Engine, space: str, texts: Sequence[str], most: int | None = None) -> int:
    """Embed those of these texts that the space has no vector for, with `most` characters together, and store the
    vectors. Returns how many were made."""
    _, new_vectors = embed(engine, space, texts, most)
    if new_vectors:
        with engine.transaction() as transaction:
            store_vectors(engine, transaction, space, new_vectors)
    return len(new_vectors)


def written_with(ledger: Ledger) -> str | None:
    """The name of the embedder that a ledger was written with, if it is one that comes with the package."""
    recorded = _recorded(ledger)
    if recorded is None:
        return None
    name = StaticEmbedder.name if recorded["name"] == FORMER_DEFAULT else recorded["name"]
    return name if name in (StaticEmbedder.name, SentenceEmbedder.name) else None


def _recorded(ledger: Ledger) -> dict[str, Any] | None:
    """The embedder that a ledger records; None if it records none, or the record cannot be read."""
    try:
        recorded = json.loads(ledger.get_meta(_META) or "null")
    except ValueError:
        return None
    return recorded if isinstance(recorded, dict) else None


class LedgerEmbedder:
    """The embedder that a ledger is opened with, compared with the one that the ledger records.

    Args:
        embedder: The embedder that it is opened with.
        location: Where the ledger is, for messages.
        replace: Everything is about to be embedded again: any embedder is accepted.
    """

    def __init__(self, ledger: Ledger, embedder: CheckedEmbedder, location: str | None, *, replace: bool) -> None:
        self._ledger, self._embedder, self._location, self._replace = ledger, embedder, location, replace
        self._is_recorded = False
        self.has_former_default = False
        """Whether the ledger was written with the default embedder of an earlier release."""

    def check(self) -> None:
        """Refuse an embedder other than the one this ledger was built with."""
        written = self._ledger.get_meta(_META)
        if self._replace or self.has_former_default or written is None:
            return
        recorded, embedder = self.recorded(), self._embedder
        if recorded is None:
            raise self._mismatch({"name": written, "fingerprint": "unknown"}, embedder.fingerprint)
        if embedder.dimension is None and recorded["name"] == embedder.name:
            # It is not called: that may cost money, or it may be down, and all vectors are stored.
            embedder.expect_dimension(recorded["dimension"], lambda made: self._mismatch(recorded, made))
        if recorded["name"] == FORMER_DEFAULT and embedder.name == StaticEmbedder.name:
            self.has_former_default = True
        elif embedder.dimension is not None and recorded["fingerprint"] != embedder.fingerprint:
            raise self._mismatch(recorded, embedder.fingerprint)

    def dimension(self) -> int | None:
        """The dimension of vectors. An embedder that does not declare it is asked to embed one word."""
        if self._embedder.dimension is None:
            try:
                self._embedder.embed(["memory"])
            except EmbedderUnavailable as error:
                log.warning("the signal 'vectors' is missing for now: %s", error)
                return None
            self.check()
        return self._embedder.dimension

    def recorded(self) -> dict[str, Any] | None:
        """The embedder that the ledger was built with; None if none is recorded, or the record cannot be read."""
        return _recorded(self._ledger)

    def record_first(self, transaction: Transaction) -> None:
        """Record the embedder if the ledger records none yet."""
        if not self._is_recorded:
            if self._ledger.get_meta(_META) is None:
                self.record(transaction)
            self._is_recorded = True

    def record(self, transaction: Transaction) -> None:
        """Record the embedder as that of this ledger."""
        embedder = self._embedder
        record = {"name": embedder.name, "dimension": embedder.dimension, "fingerprint": embedder.fingerprint}
        transaction.put_meta(_META, json.dumps(record))

    def _mismatch(self, recorded: Mapping[str, Any], fingerprint: str) -> ProjectionStale:
        location = self._location or "the space"
        return ProjectionStale(
            f"the vectors of {location} were made with {recorded['name']!r} ({recorded['fingerprint']}), but it is "
            f"opened with {self._embedder.name!r} ({fingerprint}). Answers would mix the two. Open it with "
            f"embedder={recorded['name']!r}, or embed everything again with "
            f"remanence.reembed({str(location)!r}, embedder=...) or `remanence rebuild {location} --embedder ...`."
        )


BATCH = 64
"""Memories that are embedded before their vectors are stored and searched: about a quarter of a second."""
_BATCH_CHARACTERS = 8_000
"""Characters of the texts in a batch, at most: ten passages of a long memory."""
FIRST_PAUSE = 5.0
"""Seconds until an embedder that did not answer is asked again. Each time the pause is doubled."""
_OTHER_SECONDS = 0.5


class BackgroundEmbedder:
    """Embeds what the open spaces of one engine lack. Its thread starts when there is something to do."""

    def __init__(self, engine: Engine) -> None:
        self._engine = ref(engine)
        problem = "texts could not be embedded"
        self._thread = PeriodicThread("remanence-embedding", self.run_once, problem=problem, retry_seconds=FIRST_PAUSE)
        self._lock = threading.Lock()
        self._due: dict[str, float] = {}  # when each space that lacks vectors is tried next
        self._embedded_by_callers: list[str] = []
        self._pauses: dict[str, float] = {}  # of spaces whose last try made no vector

    @contextmanager
    def left_to_caller(self, space: str) -> Iterator[None]:
        """While a caller embeds what a space lacks, the thread does not."""
        with self._lock:
            self._embedded_by_callers.append(space)
        try:
            yield
        finally:
            with self._lock:
                self._embedded_by_callers.remove(space)

    def watch(self, space: str, *, embedder_is_down: bool = False) -> None:
        """A space lacks vectors: make them, in a while if its embedder has just failed."""
        with self._lock:
            if space in self._due or space in self._embedded_by_callers:
                return
            self._due[space] = time.monotonic() + (FIRST_PAUSE if embedder_is_down else 0.0)
        self._thread.start()
        self._thread.notify()

    def is_pausing(self, space: str) -> bool:
        """Whether the embedder was down at the last try."""
        with self._lock:
            return self._due.get(space, 0.0) > time.monotonic()

    def end_pause(self, space: str) -> None:
        """Try again now."""
        with self._lock:
            self._due[space] = 0.0
        self._thread.notify()

    def stop(self, wait: float = 5.0) -> None:
        """End the thread after its present batch. What is left is embedded when the space is opened again."""
        self._thread.stop(wait)

    def run_once(self) -> float:
        """Embed a batch of each space that is due. Returns the seconds until the next one is."""
        engine = self._engine()
        if engine is None:
            raise Closed("the engine is gone.")
        now = time.monotonic()
        for space in [space for space, due in [*self._due.items()] if due <= now]:
            is_free = space not in self._embedded_by_callers
            pause = self._embed_batch(engine, space) if is_free else _OTHER_SECONDS
            with self._lock:
                if pause is None:
                    self._due.pop(space, None)
                    self._pauses.pop(space, None)
                else:
                    self._due[space] = time.monotonic() + pause
        return max(0.0, min([time.monotonic() + 30.0, *self._due.values()]) - time.monotonic())

    def _embed_batch(self, engine: Engine, space: str) -> float | None:
        """Embed a batch. Returns the seconds until the next one; None if nothing is left."""
        with engine.open_index(space) as index:
            rows = index.rows_missing_vectors()
            if not rows:  # a caller has embedded them, or they were erased
                return None
            lock = f"vectors-{text_hash(space).hex()[:16]}"
            acquired, made = True, 0
            try:
                with engine.locks.acquire(lock) as acquired:
                    if acquired:
                        made = embed_rows(engine, index, rows[:BATCH], _BATCH_CHARACTERS)
            except (EmbedderError, LedgerUnavailable, OSError) as error:  # the folder may be full, or read-only
                log.warning("texts of space %r have no vector for now: %s", space, error)
            index.fill_missing_vectors(rows[:BATCH] if acquired and len(rows) > BATCH else None)
            left = len(index.rows_missing_vectors())
        if not left:
            if acquired:
                engine.locks.delete(lock)
            return None
        if not acquired:
            return _OTHER_SECONDS
        if made or left < len(rows):
            self._pauses.pop(space, None)
            return 0.0
        self._pauses[space] = min(2 * self._pauses.get(space, FIRST_PAUSE / 2), 300.0)
        return self._pauses[space]

"""Holds the parts, the pen and the positions of one ledger. Decides nothing: see remember and recall."""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from remanence.core.index import FORMAT, Index, embeddable_texts
from remanence.core.index_file import index_file_name
from remanence.core.inputs import as_utc
from remanence.errors import Closed, EmbedderDown, ProjectionError, ProjectionStale
from remanence.events import Event, Remembered
from remanence.language.text import TOKENIZER_VERSION, text_hash
from remanence.schema import Change, Entry, Memory
from remanence.signals.stores import VectorStoreFactory
from remanence.signals.stores.exact import ExactStore
from remanence.version import __version__

if TYPE_CHECKING:
    from remanence.models.embedders.checked import CheckedEmbedder
    from remanence.ports import Clock, Extractor, Ledger, Progress, Reranker, Transaction, Vector

log = logging.getLogger(__name__)

_CHUNK = 2_000
_MAX_OPEN_INDEXES = 64


class Engine:
    """One ledger, its embedder, and an index for each space in use."""

    def __init__(
        self,
        ledger: Ledger,
        embedder: CheckedEmbedder,
        extractor: Extractor,
        *,
        folder: Path | None,
        qdrant: Any,
        clock: Clock,
        reranker: Reranker | None,
        replace_embedder: bool = False,
    ) -> None:
        self.ledger = ledger
        self.embedder = embedder
        self.extractor = extractor
        self.folder = folder
        self._qdrant = qdrant
        self._clock = clock
        self.reranker = reranker
        self.write_lock = threading.RLock()
        self._index_lock = threading.Lock()
        self._indexes: OrderedDict[str, Index] = OrderedDict()
        self._users: dict[str, int] = {}
        self._stores: VectorStoreFactory | None = None
        self._closed = False
        self.on_unfinished_jobs: Callable[[str], None] | None = None
        """Told of a space that is opened with jobs still to be done."""
        self._signed = False  # whether the ledger says which embedder it was built with
        self._fresh = replace_embedder  # about to embed everything anew, so the old embedder does not matter
        self._match_embedder()

    @property
    def settings_hash(self) -> str:
        """Differs whenever the same question of the same ledger might be answered differently."""
        named = getattr(self.reranker, "__qualname__", "given")
        reranker = "" if self.reranker is None else getattr(self.reranker, "fingerprint", named)
        embedder = f"{self.embedder.fingerprint} {self.embedder.similarity_floor}"
        parts = (__version__, embedder, TOKENIZER_VERSION, FORMAT, reranker)
        return text_hash("|".join(parts)).hex()[:16]

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return as_utc(self._clock(), "the clock")

    @contextmanager
    def open_index(self, space: str, *, to_write: bool = False) -> Iterator[Index]:
        """The index of a space, held open while in use.

        It is caught up with the ledger, but not `to_write`: who writes has to do so with the pen in hand.
        """
        with self._index_lock:
            if self._closed:
                raise Closed("this space was closed. Open it again with remanence.open(...).")
            index = self._indexes.get(space)
            # Not asked for here: an embedder that is down may take long to say so, and adding asks it anyway.
            if index is None or (index.dimension_unknown and self.embedder.dimension is not None):
                index = self._indexes[space] = self._open(space)
                if self.on_unfinished_jobs is not None and index.journal.unfinished_jobs():
                    self.on_unfinished_jobs(space)
            self._indexes.move_to_end(space)
            self._users[space] = self._users.get(space, 0) + 1
            self._close_idle()
        try:
            if not to_write:
                index.catch_up()
            yield index
        finally:
            with self._index_lock:
                self._users[space] -= 1

    # Writing

    def write(
        self, space: str, decide: Callable[[Index], Sequence[Event]], *, texts_to_embed: Sequence[str] = ()
    ) -> list[Entry]:
        """Append what `decide` says, in one transaction, the index caught up and the pen in hand.

        `embed` are texts whose vectors will be wanted.
        """
        with self.open_index(space, to_write=True) as index:
            vectors, made = self.embed(texts_to_embed)  # before the pen is taken: this may call somebody's model
            entries: list[Entry] = []
            with self.write_lock, self.ledger.transaction() as pen:
                index.catch_up(pen.head)
                with index.lock:  # to look at ties is to bring them up to date, and others may be looking too
                    events = decide(index)
                if events:
                    entries = pen.append(space, events, at=self.now())
                    self.keep_vectors(pen, vectors, made)
            index.apply_written(entries, vectors)
            return entries

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """The pen, for what is not about one space alone. Indexes take it in when they next catch up."""
        with self.write_lock, self.ledger.transaction() as pen:
            yield pen

    def index_imported_entries(self, space: str, progress: Progress | None = None) -> None:
        """Take in lines that were brought from elsewhere: embed what came without a vector, and have the
        jobs among them done."""
        with self.open_index(space) as index:
            if not index.dimension_unknown:
                with self.transaction() as pen:
                    self._sign(pen)
            if self.on_unfinished_jobs is not None and index.journal.unfinished_jobs():
                self.on_unfinished_jobs(space)
        self.embed_unmade(space, progress)

    def ledger_id(self) -> str:
        """What this ledger is known by, given to it when it is first asked for."""
        known = self.ledger.get_meta("id")
        if known is None:
            with self.transaction() as pen:
                known = self.ledger.get_meta("id") or uuid4().hex
                pen.put_meta("id", known)
        return known

    # Reading

    def get(self, space: str, memory_id: str, position: int | None) -> Memory | None:
        """A memory as it stands at a position, or None."""
        with self.open_index(space) as index, index.lock:
            row = index.current_row(memory_id, index.catalog.position if position is None else position)
            return next(iter(index.readable_memories([] if row is None else [row])), None)

    def changes(self, space: str, after: int, until: int | None) -> Iterator[Change]:
        """What lines after one position, up to another, did to memories. Erased words stay unsaid."""
        with self.open_index(space) as index:
            for entry in self.ledger.read(space, after=after):
                if until is not None and entry.position > until:
                    return
                change = index.change_from_entry(entry)
                if change is not None:
                    yield change

    # Upkeep of the whole

    def rebuild(self, space: str, progress: Progress | None = None) -> None:
        """Build the projections of a space anew; embeds only what the ledger has no vector for."""
        with self.open_index(space) as index:
            index.rebuild()
            if index.broken:
                said = "; ".join(f"{name}: {reason}" for name, reason in index.broken.items())
                raise ProjectionError(f"space {space!r} was not built anew in full. {said}")
        self.embed_unmade(space, progress)

    def reembed(self, progress: Progress | None = None) -> None:
        """Make the given embedder the one of this ledger, and embed every text with it."""
        if self.embedder.dimension is None:
            self.embedder.embed(["memory"])  # one that is down rises here, before anything is changed
        with self.transaction() as pen:
            pen.put_meta("embedder", json.dumps(self._signature()))
        for space in self.ledger.spaces():
            self.rebuild(space, progress)

    def check(self, space: str) -> dict[str, str]:
        """Hold each projection against a fresh build from the ledger; what differs, by name."""
        with self.open_index(space) as index, index.lock:
            dimension = self.embedder.dimension or 1
            fresh = Index(space, self.ledger, self.embedder.fingerprint, ExactStore(dimension), None)
            return index.broken | index.differences(fresh)

    def close(self) -> None:
        """Save the indexes and let go of every file. Closing twice is fine."""
        with self._index_lock:
            if self._closed:
                return
            self._closed = True
            for index in self._indexes.values():
                index.close()
            self._indexes.clear()
            if self._stores is not None:
                self._stores.close()
            self.ledger.close()

    # Helpers

    def keep_vectors(self, pen: Transaction, vectors: Mapping[bytes, Vector], made: Mapping[bytes, Vector]) -> None:
        """Keep new embeddings, and with the first of them which embedder made them."""
        if vectors:
            self._sign(pen)
            pen.put_vectors(self.embedder.fingerprint, made)

    def _sign(self, pen: Transaction) -> None:
        """Write down which embedder this ledger is built with, unless it says so already."""
        if not self._signed:
            if self.ledger.get_meta("embedder") is None:
                pen.put_meta("embedder", json.dumps(self._signature()))
            self._signed = True

    def embed(self, texts: Sequence[str]) -> tuple[dict[bytes, Vector], dict[bytes, Vector]]:
        """Vectors for these texts by hash: all of them, and those that the ledger did not have yet.

        An embedder that is down costs no memory: the text is kept, and its vector made later. One that
        answers nonsense is a mistake to mend now, so that error rises before anything is written.
        """
        wanted = {text_hash(text): text for text in texts}
        if not wanted or self._dimension() is None:
            return {}, {}
        found = self.ledger.vectors(self.embedder.fingerprint, list(wanted))
        lacking = [(key, text) for key, text in wanted.items() if key not in found]
        if not lacking:
            return found, {}
        try:
            answer = self.embedder.embed([text for _, text in lacking])
        except EmbedderDown as error:
            log.warning("%d texts are kept without a vector for now: %s", len(lacking), error)
            return found, {}
        made = {key: vector for (key, _), vector in zip(lacking, answer, strict=True)}
        return found | made, made

    def embed_unmade(self, space: str, progress: Progress | None) -> None:
        """Embed what an embedder that was down, or is another one now, left without a vector."""
        with self.open_index(space) as index:
            rows = index.vectors.rows_missing_vectors()
            for begin in range(0, len(rows), _CHUNK):
                some = rows[begin : begin + _CHUNK]
                lines = self.ledger.entries_at(index.catalog.positions_of_rows(some)).values()
                versions = [e.event for e in lines if isinstance(e.event, Remembered)]
                self._make_vectors([text for version in versions for text in embeddable_texts(version)])
                if progress is not None:
                    progress(begin + len(some), len(rows))
            with index.lock:
                described = [*index.registry.descriptions(index.catalog.position), *index.missing_descriptions]
            for begin in range(0, len(described), _CHUNK):
                self._make_vectors(described[begin : begin + _CHUNK])
            index.fill_missing_vectors()

    def _make_vectors(self, texts: Sequence[str]) -> None:
        """Embed those of these texts that the ledger has no vector for, and keep what was made."""
        _, made = self.embed(texts)
        if made:
            with self.transaction() as pen:
                pen.put_vectors(self.embedder.fingerprint, made)

    def _open(self, space: str) -> Index:
        dimension = self._dimension()
        snapshot = None if self.folder is None else self.folder / "index" / index_file_name(space)
        if dimension is None:
            index = Index(space, self.ledger, "", ExactStore(1), None)
            index.dimension_unknown = True
            index.broken["vectors"] = "the embedder has not answered once yet, so its dimension is unknown"
            return index
        if self._stores is None:
            self._match_embedder()
            folder = None if self.folder is None else self.folder / "vectors"
            collection = self._collection() if self._qdrant is not None else ""
            self._stores = VectorStoreFactory(folder, self._qdrant, dimension=dimension, collection=collection)
        return Index(space, self.ledger, self.embedder.fingerprint, self._stores.open(space), snapshot)

    def _collection(self) -> str:
        """What this ledger's vectors are called on a server that may hold others', or other models' too."""
        model = text_hash(self.embedder.fingerprint).hex()[:8]
        return f"remanence-{self.ledger_id()[:12]}-{model}"

    def _close_idle(self) -> None:
        idle = [name for name in self._indexes if not self._users.get(name)]
        for name in idle[: max(0, len(self._indexes) - _MAX_OPEN_INDEXES)]:
            self._indexes.pop(name).close()

    def _dimension(self) -> int | None:
        """How long vectors are; asks an embedder that does not say by embedding one word."""
        if self.embedder.dimension is None:
            try:
                self.embedder.embed(["memory"])
            except EmbedderDown as error:
                log.warning("meaning is missing for now: %s", error)
                return None
            self._match_embedder()
        return self.embedder.dimension

    def _signature(self) -> dict[str, Any]:
        embedder = self.embedder
        return {"name": embedder.name, "dimension": embedder.dimension, "fingerprint": embedder.fingerprint}

    def _match_embedder(self) -> None:
        """Refuse an embedder other than the one this ledger was built with."""
        written = self.ledger.get_meta("embedder")
        if self._fresh or written is None:
            return
        try:
            kept = json.loads(written)
        except ValueError:  # not a note of ours
            raise self._stale({"name": written, "fingerprint": "unknown"}, self.embedder.fingerprint) from None
        if self.embedder.dimension is None and kept["name"] == self.embedder.name:
            # Not asked: it may cost money, or be down, and the vectors that were made are all here.
            self.embedder.expect_dimension(kept["dimension"], lambda fingerprint: self._stale(kept, fingerprint))
        if self.embedder.dimension is not None and kept["fingerprint"] != self.embedder.fingerprint:
            raise self._stale(kept, self.embedder.fingerprint)

    def _stale(self, kept: Mapping[str, Any], fingerprint: str) -> ProjectionStale:
        where = self.folder or "the space"
        return ProjectionStale(
            f"the vectors of {where} were made with {kept['name']!r} ({kept['fingerprint']}), but it is "
            f"opened with {self.embedder.name!r} ({fingerprint}). Answers would mix the "
            f"two. Open it with embedder={kept['name']!r}, or embed everything anew with "
            f"remanence.reembed({str(where)!r}, embedder=...) or "
            f"`remanence rebuild {where} --embedder ...`."
        )

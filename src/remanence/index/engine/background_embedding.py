"""Embeds texts that were stored without a vector, in a thread of its own: a batch at a time, until none is left.

Which texts these are is said by the index, so nothing is written for it: after a crash, or after the embedder was down,
whoever opens the space next goes on. Of several processes one embeds, and the others read what it has stored.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import ref

from remanence.errors import Closed, EmbedderError, LedgerUnavailable
from remanence.index.engine.embedding import embed_rows
from remanence.index.engine.in_thread import PeriodicThread
from remanence.text.text import text_hash

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine

log = logging.getLogger(__name__)

BATCH = 64
"""Memories that are embedded before their vectors are stored and searched: about a quarter of a second."""
FIRST_PAUSE = 5.0
"""Seconds until an embedder that did not answer is asked again. Each time the pause is doubled."""
_MAX_PAUSE = 300.0
"""Seconds after which an embedder that failed is tried again, at the most."""
_IDLE_SECONDS = 30.0
"""Seconds until the next look, if no space waits for vectors."""
_OTHER_SECONDS = 0.5
"""How often it is looked at what a caller or another process has embedded."""


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
        return max(0.0, min([time.monotonic() + _IDLE_SECONDS, *self._due.values()]) - time.monotonic())

    def _embed_batch(self, engine: Engine, space: str) -> float | None:
        """Embed a batch. Returns the seconds until the next one; None if nothing is left."""
        with engine.open_index(space) as index:
            rows = index.rows_missing_vectors()
            if not rows:  # a caller has embedded them, or they were erased
                return None
            lock = f"vectors-{text_hash(space).hex()[:16]}"
            acquired = True
            try:
                with engine.locks.acquire(lock) as acquired:
                    if acquired:
                        embed_rows(engine, index, rows[:BATCH])
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
        if left < len(rows):
            self._pauses.pop(space, None)
            return 0.0
        self._pauses[space] = min(2 * self._pauses.get(space, FIRST_PAUSE / 2), _MAX_PAUSE)
        return self._pauses[space]

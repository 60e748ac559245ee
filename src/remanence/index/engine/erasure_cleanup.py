"""Finishes erasures in the background: removes erased text that could not be removed during the call.

Erased text may remain for a while in five places: in the write-ahead log, if another connection reads the ledger during
the erasure; in the index of a large space, in the memory of this process, as rebuilding it takes long; on a vector
server that does not answer; in the index of another process, until that process reads the ledger again; and in unused
space of the tables of PostgreSQL, until they are written again, which `erase_space` and `compact` do. One thread of
each process handles the other four. Each process records up to which erasure its indexes are up to date, for `pending`.
The same thread writes to a vector server what it missed or has lost, and embeds descriptions of entities whose writer
was killed before it did.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING
from weakref import ref

from remanence.errors import Closed
from remanence.index.engine.embedding import embed_descriptions
from remanence.index.engine.periodic_thread import PeriodicThread
from remanence.ports import RewritableLedger
from remanence.schema import PendingErasure

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
_RETRY_SECONDS = 0.5


class ErasureCleaner:
    """Finishes the erasures of one engine. Its thread starts when there is something to do or to watch."""

    def __init__(self, engine: Engine) -> None:
        self._engine = ref(engine)
        self._locks = engine.locks
        problem = "erasures could not be finished"
        self._thread = PeriodicThread(
            "remanence-housekeeping", self.run_pending, problem=problem, retry_seconds=POLL_SECONDS
        )
        self._indexed_erasure = 0  # the last erasure that all open indexes have
        self._published: int | None = None  # the last erasure that was published to other processes
        self._cleaned_erasure = 0  # the last erasure that left no text in any file of the ledger
        self._last_erasure_seen_at = 0.0
        self._next_refresh: dict[str, float] = {}
        self._next_embedding = 0.0
        self._embedding_pause = POLL_SECONDS

    def watch(self) -> None:
        """Watch for erasures by other processes from now on, for a ledger that other processes may open."""
        engine = self._engine()
        has_server = engine is not None and engine.has_server
        if self._locks.is_shared or has_server:
            self._start()

    def notify(self) -> None:
        """Something was erased by this process."""
        self._last_erasure_seen_at = time.monotonic()
        engine = self._engine()
        if engine is not None:
            engine.unstored_vectors.clear()
        self._start()
        self._thread.notify()

    def stop(self, wait: float = 5.0) -> None:
        """End the thread. What is not finished is finished when the ledger is opened again."""
        self._thread.stop(wait)

    def run_pending(self) -> float:
        """Do what can be done now. Returns the seconds until the next look."""
        engine = self._engine()
        if engine is None:
            raise Closed("the engine is gone.")
        last = engine.ledger.last_erasure()
        if last > self._indexed_erasure:
            engine.unstored_vectors.clear()
            for space, _ in engine.indexes.items():
                with engine.open_index(space):  # which brings it up to date
                    pass
            self._indexed_erasure = last
        self._publish_position()
        is_clean = self._is_clean(engine, last)
        for space in _stale_spaces(engine):
            self._refresh_if_due(engine, space)
        self._embed_descriptions(engine)
        to_repair = [space for space, index in engine.indexes.items() if index.vectors.sync.needs_repair]
        for space in to_repair:
            with engine.open_index(space) as index:
                index.vectors.sync.repair(index.lock)
        return POLL_SECONDS if is_clean and not to_repair and not _stale_spaces(engine) else _RETRY_SECONDS

    def pending(self, space: str) -> list[PendingErasure]:
        """What is not finished yet, of the ledger and of the indexes of a space and those below it."""
        engine = self._engine()
        if engine is None:
            return []
        pending: list[PendingErasure] = []
        last = engine.ledger.last_erasure()
        if not self._is_clean(engine, last):
            until = "the current readers of the ledger have finished"
            pending.append(PendingErasure("text", "the write-ahead log or old pages of the ledger", until))
        elif isinstance(engine.ledger, RewritableLedger) and (command := engine.ledger.rewrite_command()):
            until = f"they are written again, by `remanence compact` or, as their owner, `{command}`"
            pending.append(PendingErasure("text and vectors", "unused space in the files of the tables", until))
        for name in _stale_spaces(engine):
            if name == space or name.startswith(f"{space}/"):
                where = f"the index of space {name!r} in the memory of this process"
                pending.append(PendingErasure("words and names", where, "it has been rebuilt in the background"))
        for name, index in engine.indexes.items() if last else ():
            if index.vectors.sync.has_undeleted and (name == space or name.startswith(f"{space}/")):
                where = f"the vector server, of space {name!r}"
                pending.append(PendingErasure("vectors", where, "the server answers again"))
        for process, position in self._locks.other_processes():
            if position < last:
                until = f"that process looks at the ledger again, every {POLL_SECONDS:.0f} s"
                pending.append(PendingErasure("words, names and vectors", f"an index of process {process}", until))
        return pending

    def _is_clean(self, engine: Engine, last: int) -> bool:
        """Whether the erased text of all erasures up to this one is gone from the files of the ledger. If not, it is
        removed if possible."""
        if last > self._cleaned_erasure and engine.ledger.clean_up():
            self._cleaned_erasure = last
        return last <= self._cleaned_erasure

    def _refresh_if_due(self, engine: Engine, space: str) -> None:
        with engine.open_index(space) as index:
            began = time.monotonic()
            first = self._next_refresh.setdefault(space, began)
            # A series of erasures causes one rebuild, but it is not put off for ever.
            is_quiet = began >= self._last_erasure_seen_at + 1.0 or began >= first + 30.0
            if not index.needs_refresh or began < first or not is_quiet:
                return
            index.refresh()
            ended = time.monotonic()
            # Rebuilding a space again and again takes a quarter of the time, at most.
            self._next_refresh[space] = ended + (ended - began) / 0.25

    def _embed_descriptions(self, engine: Engine) -> None:
        """Embed descriptions that were left without a vector. After each try that leaves some, the pause is doubled."""
        spaces = [space for space, index in engine.indexes.items() if index.missing_descriptions]
        if not spaces or time.monotonic() < self._next_embedding:
            return
        for space in spaces:
            embed_descriptions(engine, space)
        has_missing = any(index.missing_descriptions for _, index in engine.indexes.items())
        self._embedding_pause = min(2 * self._embedding_pause, 300.0) if has_missing else POLL_SECONDS
        self._next_embedding = time.monotonic() + self._embedding_pause

    def _start(self) -> None:
        self._thread.start(self._publish_start, first_pause=POLL_SECONDS)

    def _publish_start(self) -> None:
        engine = self._engine()
        if engine is not None and self._locks.is_shared:
            self._indexed_erasure = engine.ledger.last_erasure()
            self._publish_position()

    def _publish_position(self) -> None:
        """Publish which erasures the indexes of this process have. After an error (a full disk) it is tried again."""
        if self._published == self._indexed_erasure or not self._locks.is_shared:
            return
        try:
            self._locks.publish_position(self._indexed_erasure)
        except OSError as error:
            log.warning("the position of this process could not be published; trying again: %s", error)
        else:
            self._published = self._indexed_erasure


def _stale_spaces(engine: Engine) -> list[str]:
    return [name for name, index in engine.indexes.items() if index.needs_refresh]

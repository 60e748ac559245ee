"""Which checkpoint of a LangGraph thread descends from which, and what is known at each.

See `langchain_remanence.checkpoints` for the rules in words.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.config import ensure_config

from langchain_remanence.store_table import Stamp, Version
from remanence import InvalidInput, RemanenceError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

Thread = Hashable
"""The id of a thread as the caller gave it: a saver may tell 1 from "1"."""

_MOST_THREADS = 256
_PATIENCE = 10.0
_FIRST_NAP, _LONGEST_NAP = 0.001, 0.05


class CheckpointUnknown(RemanenceError, LookupError):
    """A run stands at a checkpoint that the checkpointer does not hold."""


@dataclass(frozen=True, slots=True)
class ReadPoint:
    """A place in a thread to look from.

    `line` are the stamps (checkpoint, newest then) of the writes that led here. `frozen` is the moment
    at which the thread was rewound, if it was and no new turn has begun since: of what others wrote,
    nothing later is seen. `stamp` is for what is written here; None where nothing can be.
    """

    thread: str
    line: frozenset[tuple[str, str]]
    known: Container[str]
    frozen_at: datetime | None = None
    stamp: Stamp | None = None

    def is_visible(self, version: Version) -> bool:
        """Whether what was written then is known here."""
        stamp = version.stamp
        if stamp is None or stamp.thread != self.thread or stamp.checkpoint not in self.known:
            # Not of this thread; or of a checkpoint that was pruned, whose branch nobody can tell.
            return self.frozen_at is None or version.written_at <= self.frozen_at
        return (stamp.checkpoint, stamp.newest) in self.line

    def expiry_reference(self, version: Version, now: datetime) -> datetime:
        """The moment against which the expiry of a version is read: a rewound thread looks from its past."""
        return now if self.frozen_at is None or version.written_at > self.frozen_at else self.frozen_at


@dataclass(frozen=True, slots=True)
class _Saved:
    """A checkpoint: when it was made, on which one, and which one was the newest of the thread then."""

    id: str
    at: datetime
    parent: str | None
    previous: str | None
    source: str


class Lineage:
    """Which checkpoint descends from which, as the checkpointer of the graph knows it."""

    def __init__(self, checkpointer: BaseCheckpointSaver[Any]) -> None:
        if not callable(getattr(checkpointer, "list", None)):
            raise InvalidInput(
                f"checkpointer={checkpointer!r} is no checkpointer. Give the one the graph is compiled with."
            )
        self._checkpointer = checkpointer
        self._lock = threading.RLock()
        self._threads: OrderedDict[Thread, dict[str, _Saved]] = OrderedDict()  # each in the order they were made

    def current_stamp(self) -> Stamp | None:
        """What marks a write made here and now; None outside of any run."""
        place = _running()
        if place is None:
            return None
        thread, checkpoint = place
        return Stamp(str(thread), checkpoint, max(checkpoint, self._newest(thread) or ""))

    def current_point(self) -> ReadPoint | None:
        """Where the node that is running stands; None outside of any run, where everything is seen."""
        place = _running()
        if place is None:
            return None
        thread, checkpoint = place
        saved = self._awaited(thread, checkpoint)
        stamp = Stamp(str(thread), checkpoint, max(checkpoint, next(reversed(saved))))
        line = _line(saved, checkpoint) | {(checkpoint, stamp.newest)}
        # An old checkpoint that is run again in its place, as an interrupt answered anew is.
        again = stamp.newest != checkpoint
        frozen = _moment(saved, checkpoint) if again else _frozen(saved, checkpoint)
        return ReadPoint(str(thread), frozenset(line), saved.keys(), frozen, stamp)

    def point_at(self, config: RunnableConfig | Mapping[str, Any]) -> ReadPoint:
        """What a run sees that goes on from this checkpoint; without an id, from the newest of the thread."""
        configurable = config.get("configurable") or {}
        if configurable.get("thread_id") is None:
            raise InvalidInput(f"{config!r} names no thread. Give the config of a state, as get_state does.")
        thread = configurable["thread_id"]
        newest = self._newest(thread)
        with self._lock:
            saved = dict(self._threads.get(thread, {}))
        checkpoint = configurable.get("checkpoint_id") or newest
        if checkpoint is None or checkpoint not in saved:
            raise CheckpointUnknown(_unknown(thread, checkpoint))
        line = _line(saved, checkpoint)
        if checkpoint == newest:
            line |= {(checkpoint, checkpoint)}
            return ReadPoint(str(thread), frozenset(line), saved.keys(), _frozen(saved, checkpoint))
        return ReadPoint(str(thread), frozenset(line), saved.keys(), _moment(saved, checkpoint))

    def _newest(self, thread: Thread) -> str | None:
        """The newest checkpoint of a thread, after taking in those made since the last look."""
        with self._lock:
            saved = self._threads.setdefault(thread, {})
            self._threads.move_to_end(thread)
            for found in reversed(self._unseen(thread, saved)):
                parent = (found.parent_config or {}).get("configurable", {}).get("checkpoint_id")
                made = _Saved(
                    id=found.checkpoint["id"],
                    at=datetime.fromisoformat(found.checkpoint["ts"]),
                    parent=parent,
                    previous=next(reversed(saved), None),
                    source=found.metadata.get("source", "loop"),
                )
                saved[made.id] = made
            while len(self._threads) > _MOST_THREADS:
                self._threads.popitem(last=False)
            return next(reversed(saved), None)

    def _unseen(self, thread: Thread, saved: Container[str]) -> list[CheckpointTuple]:
        """The checkpoints of a thread that were made since the last look, newest first."""
        config: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        unseen: list[CheckpointTuple] = []
        for limit in (2, 32, None):
            # Read to the end, and only then looked at: a saver may hold its lock while it is listing.
            found = list(self._checkpointer.list(config, limit=limit))
            unseen = list(takewhile(lambda one: one.checkpoint["id"] not in saved, found))
            if len(unseen) < len(found) or (limit is not None and len(found) < limit):
                break
        return unseen

    def _awaited(self, thread: Thread, checkpoint: str) -> dict[str, _Saved]:
        """The checkpoints of a thread, once this one is among them.

        LangGraph saves a checkpoint while the nodes on top of it are running already.
        """
        patience, nap = time.monotonic() + _PATIENCE, _FIRST_NAP
        while True:
            self._newest(thread)
            with self._lock:
                saved = self._threads.get(thread, {})
                if checkpoint in saved:
                    return dict(saved)
            if time.monotonic() > patience:
                raise CheckpointUnknown(_unknown(thread, checkpoint))
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP)


def _running() -> tuple[Thread, str] | None:
    """The thread, and the checkpoint of the outermost graph, on top of which this code runs.

    Inside a node `checkpoint_id` is blank; the checkpoint stands in the map of all graphs around it.
    """
    configurable = ensure_config().get("configurable") or {}
    thread = configurable.get("thread_id")
    checkpoint = (configurable.get("checkpoint_map") or {}).get("")
    return None if thread is None or checkpoint is None else (thread, checkpoint)


def _line(saved: Mapping[str, _Saved], checkpoint: str) -> set[tuple[str, str]]:
    """The stamps of the writes that led to a checkpoint.

    A checkpoint made on the newest one carries on from it, so the writes under that one led here. One
    made on an older checkpoint rewound the thread: of the writes under that one only those led here that
    were made when the thread was as long as it was just before.
    """
    line = set()
    step = saved.get(checkpoint)
    while step is not None and step.parent is not None:
        if step.previous is not None:
            line.add((step.parent, step.previous))
        step = saved.get(step.parent)
    return line


def _frozen(saved: Mapping[str, _Saved], checkpoint: str) -> datetime | None:
    """The moment to which a rewind took the line of a checkpoint, unless a new turn has begun since."""
    step = saved.get(checkpoint)
    while step is not None and step.parent is not None:
        if step.parent != step.previous:
            return _moment(saved, step.parent)
        if step.source == "input":
            return None
        step = saved.get(step.parent)
    return None


def _moment(saved: Mapping[str, _Saved], checkpoint: str) -> datetime | None:
    """The moment that a run sees which is rewound to a checkpoint; None if it was pruned."""
    frozen = _frozen(saved, checkpoint)
    if frozen is None and checkpoint in saved:
        return saved[checkpoint].at
    return frozen


def _unknown(thread: Thread, checkpoint: str | None) -> str:
    return (
        f"the checkpointer holds no checkpoint {checkpoint!r} of thread {thread!r}. Give the memory the "
        "checkpointer that the graph is compiled with, run the graph with durability='async' or 'sync' "
        "(not 'exit'), and in async nodes await the methods that begin with 'a'."
    )

"""Which checkpoint of a LangGraph thread descends from which, and what is visible from each.

The rules are described in `langchain_remanence.checkpoints`.
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

from langchain_remanence.item_table import ReadPoint, Stamp
from remanence import InvalidInput, RemanenceError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

ThreadId = Hashable
"""The id of a thread as the caller gave it: a checkpointer may distinguish 1 from "1"."""

_MAX_THREADS = 256
_TIMEOUT = 10.0
_MIN_POLL_INTERVAL, _MAX_POLL_INTERVAL = 0.001, 0.05


class CheckpointUnknown(RemanenceError, LookupError):
    """A run is at a checkpoint that the checkpointer does not have."""


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """A saved checkpoint. `previous` is the one that was the newest of the thread before it."""

    id: str
    at: datetime
    parent: str | None
    previous: str | None
    source: str


_Checkpoints = Mapping[str, _Checkpoint]


class CheckpointLineage:
    """The checkpoints of each thread, as the checkpointer of the graph has them."""

    def __init__(self, checkpointer: BaseCheckpointSaver[Any]) -> None:
        if not callable(getattr(checkpointer, "list", None)):
            raise InvalidInput(
                f"checkpointer={checkpointer!r} is not a checkpointer. Give the one the graph is compiled with."
            )
        self._checkpointer = checkpointer
        self._lock = threading.RLock()
        self._threads: OrderedDict[ThreadId, dict[str, _Checkpoint]] = OrderedDict()  # each oldest first

    def current_stamp(self) -> Stamp | None:
        """Return the stamp for a write at this moment; None outside of any run."""
        running = _running_checkpoint()
        if running is None:
            return None
        thread, checkpoint = running
        return Stamp(str(thread), checkpoint, max(checkpoint, self._update(thread) or ""))

    def current_point(self) -> ReadPoint | None:
        """Return the point of the running node; None outside of any run, where everything is visible."""
        running = _running_checkpoint()
        if running is None:
            return None
        thread, checkpoint = running
        saved = self._wait_for(thread, checkpoint)
        stamp = Stamp(str(thread), checkpoint, max(checkpoint, next(reversed(saved))))
        ancestors = _ancestor_stamps(saved, checkpoint) | {(checkpoint, stamp.newest)}
        # An old checkpoint may be run again, for example to answer an interrupt another way.
        repeated = stamp.newest != checkpoint
        rewound_to = _rewound_to(saved, checkpoint) if repeated else _frozen_at(saved, checkpoint)
        return ReadPoint(str(thread), frozenset(ancestors), saved.keys(), rewound_to, stamp)

    def point_at(self, config: RunnableConfig | Mapping[str, Any]) -> ReadPoint:
        """Return the point of a run that continues from the checkpoint of `config`, by default the newest."""
        configurable = config.get("configurable") or {}
        if configurable.get("thread_id") is None:
            raise InvalidInput(f"{config!r} names no thread. Give the config of a state, as get_state returns it.")
        thread = configurable["thread_id"]
        newest = self._update(thread)
        with self._lock:
            saved = dict(self._threads.get(thread, {}))
        checkpoint = configurable.get("checkpoint_id") or newest
        if checkpoint is None or checkpoint not in saved:
            raise CheckpointUnknown(_unknown_message(thread, checkpoint))
        ancestors = _ancestor_stamps(saved, checkpoint)
        if checkpoint == newest:
            ancestors |= {(checkpoint, checkpoint)}
            return ReadPoint(str(thread), frozenset(ancestors), saved.keys(), _frozen_at(saved, checkpoint))
        return ReadPoint(str(thread), frozenset(ancestors), saved.keys(), _rewound_to(saved, checkpoint))

    def _update(self, thread: ThreadId) -> str | None:
        """Read the new checkpoints of a thread, and return the newest."""
        with self._lock:
            saved = self._threads.setdefault(thread, {})
            self._threads.move_to_end(thread)
            for found in reversed(self._new_checkpoints(thread, saved)):
                checkpoint = _Checkpoint(
                    id=found.checkpoint["id"],
                    at=datetime.fromisoformat(found.checkpoint["ts"]),
                    parent=(found.parent_config or {}).get("configurable", {}).get("checkpoint_id"),
                    previous=next(reversed(saved), None),
                    source=found.metadata.get("source", "loop"),
                )
                saved[checkpoint.id] = checkpoint
            while len(self._threads) > _MAX_THREADS:
                self._threads.popitem(last=False)
            return next(reversed(saved), None)

    def _new_checkpoints(self, thread: ThreadId, saved: Container[str]) -> list[CheckpointTuple]:
        """The checkpoints of a thread that are not in `saved`, newest first."""
        config: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        new: list[CheckpointTuple] = []
        for limit in (2, 32, None):
            # Read to the end before anything else: a checkpointer may hold its lock while it lists.
            found = list(self._checkpointer.list(config, limit=limit))
            new = list(takewhile(lambda one: one.checkpoint["id"] not in saved, found))
            if len(new) < len(found) or (limit is not None and len(found) < limit):
                break
        return new

    def _wait_for(self, thread: ThreadId, checkpoint: str) -> dict[str, _Checkpoint]:
        """The checkpoints of a thread, once this one is saved. LangGraph starts nodes before it is."""
        deadline, interval = time.monotonic() + _TIMEOUT, _MIN_POLL_INTERVAL
        while True:
            self._update(thread)
            with self._lock:
                saved = self._threads.get(thread, {})
                if checkpoint in saved:
                    return dict(saved)
            if time.monotonic() > deadline:
                raise CheckpointUnknown(_unknown_message(thread, checkpoint))
            time.sleep(interval)
            interval = min(2 * interval, _MAX_POLL_INTERVAL)


def _running_checkpoint() -> tuple[ThreadId, str] | None:
    """The thread, and the checkpoint of the outermost graph, from which the current code runs.

    Inside a node `checkpoint_id` is blank; the map of all enclosing graphs has the checkpoint.
    """
    configurable = ensure_config().get("configurable") or {}
    thread = configurable.get("thread_id")
    checkpoint = (configurable.get("checkpoint_map") or {}).get("")
    return None if thread is None or checkpoint is None else (thread, checkpoint)


def _ancestor_stamps(saved: _Checkpoints, checkpoint: str) -> set[tuple[str, str]]:
    """The stamps of the writes that led to a checkpoint.

    If a checkpoint was made on the newest one, the writes under that one led to it. If it was made on an older
    one, the thread was rewound: of the writes under the older one, only those led to it that were made when the
    thread had the same newest checkpoint.
    """
    stamps = set()
    step = saved.get(checkpoint)
    while step is not None and step.parent is not None:
        if step.previous is not None:
            stamps.add((step.parent, step.previous))
        step = saved.get(step.parent)
    return stamps


def _frozen_at(saved: _Checkpoints, checkpoint: str) -> datetime | None:
    """The moment to which the branch of a checkpoint was rewound; None if a new turn has begun since."""
    step = saved.get(checkpoint)
    while step is not None and step.parent is not None:
        if step.parent != step.previous:
            return _rewound_to(saved, step.parent)
        if step.source == "input":
            return None
        step = saved.get(step.parent)
    return None


def _rewound_to(saved: _Checkpoints, checkpoint: str) -> datetime | None:
    """The moment that is read after a rewind to a checkpoint; None if it was pruned."""
    rewound_to = _frozen_at(saved, checkpoint)
    if rewound_to is None and checkpoint in saved:
        return saved[checkpoint].at
    return rewound_to


def _unknown_message(thread: ThreadId, checkpoint: str | None) -> str:
    return (
        f"the checkpointer has no checkpoint {checkpoint!r} of thread {thread!r}. Give the memory the "
        "checkpointer that the graph is compiled with, run the graph with durability='async' or 'sync' "
        "(not 'exit'), and in async nodes await the methods that begin with 'a'."
    )

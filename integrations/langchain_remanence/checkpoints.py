"""Memory as it was known at a LangGraph checkpoint.

    thread t      c0 ── c1 ── c2 ── c3          the first run; its nodes wrote under c1 and c2
                         └─── f1 ── f2          a fork of c1, made later

A node runs on a checkpoint, and what it writes is stamped with that checkpoint. Visible from f2 are the writes
under f2 and f1, and those under c0 that led to c1. The writes under c1, c2 and c3 belong to another branch and are
not visible. Of the writes of other threads, and of those outside of any run, those are visible that were known
when c1 was made, until a new turn begins on the fork. From then on all of them are visible.

A thread that only continues, or is resumed after an interrupt, is not rewound. It sees everything except the
branches that it left. Outside of any run everything is visible, and the last write to a key counts.

Limits:

- The checkpointer must be the one of the graph, and must save each step: `durability` "async" (LangGraph's
  default) or "sync", not "exit". A read waits until its checkpoint is saved.
- A step is a step of the outermost graph. A rewind into the middle of a subgraph reads the memory as it was when
  the outer graph began that step.
- The writes of others are compared by time, so the clocks of the machines must agree.
- Two simultaneous runs of one thread are treated as a rewind.
- If a checkpoint was pruned or deleted, what was written under it is treated like the writes of others.
- In Python 3.10, async nodes have no config, so what they write there has no stamp.
- A read of the space itself, instead of a view, returns the memories of all branches.
- The facts that `Space.remember` extracts have no stamp, so a view refuses to `remember`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from langchain_remanence.checkpoint_lineage import CheckpointLineage, CheckpointUnknown
from langchain_remanence.item_table import (
    STAMP_KEY,
    Address,
    ItemTable,
    ReadPoint,
    Stamp,
    Version,
    growing_limits,
    version_key,
)
from remanence import Hit, InvalidInput, NotFound
from remanence.adapters import current_moment, for_prompt, in_thread, require_space

if TYPE_CHECKING:
    from datetime import datetime

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from remanence import Change, Memory, Recall, Space

__all__ = ["CheckpointUnknown", "CheckpointView"]

_FORGOTTEN = "(forgotten)"
_MAX_TABLES = 256


class CheckpointView:
    """A space that follows the checkpoints of the running graph.

    It is used in place of a Space in a node, a tool or the middleware. `recall` and `find` return memories as
    they were known at the checkpoint of the run, and what is added belongs to its branch of the thread. The
    checkpoint is looked up at each call. Each method has an async variant with the prefix `a`.

    Args:
        space: The space.
        checkpointer: The checkpointer that the graph is compiled with.

    Raises:
        InvalidInput: `space` is not a space, or `checkpointer` not a checkpointer.

    Example:
        >>> import remanence
        >>> from langgraph.checkpoint.memory import InMemorySaver
        >>> with remanence.open(None) as space:
        ...     view = CheckpointView(space, InMemorySaver())
        ...     _ = view.add("Alice lives in Porto.")  # outside of any run
        ...     view.recall("Where does Alice live?")[0].memory.text
        'Alice lives in Porto.'
    """

    def __init__(self, space: Space, checkpointer: BaseCheckpointSaver[Any]) -> None:
        self._space = require_space(space)
        self._lineage = CheckpointLineage(checkpointer)
        self._pinned: ReadPoint | None = None
        self._is_pinned = False
        self._lock = threading.Lock()
        self._tables: OrderedDict[str, ItemTable] = OrderedDict()  # by space: this one and its children

    def __repr__(self) -> str:
        return f"<CheckpointView of {self._space!r}>"

    @property
    def name(self) -> str:
        """The name of the space."""
        return self._space.name

    def pin(self) -> CheckpointView:
        """Return a view of the current checkpoint of the run, for use in other threads or tasks."""
        return self._pinned_to(self._read_point())

    def at_checkpoint(self, config: RunnableConfig | Mapping[str, Any]) -> CheckpointView:
        """Return a read-only view of what a run sees that continues from the checkpoint of `config`.

        Args:
            config: The config of a state, as `get_state` returns it.

        Raises:
            InvalidInput: The config names no thread.
            CheckpointUnknown: The checkpointer does not have the checkpoint.
        """
        return self._pinned_to(self._lineage.point_at(config))

    def child(self, *path: str) -> CheckpointView:
        """Return a view of a child of the space that follows the same checkpoints."""
        child = copy(self)
        child._space = self._space.child(*path)
        return child

    def _now(self) -> datetime:
        return current_moment(self._space)

    # Reading

    def recall(
        self, /, query: str, *, limit: int = 10, history: bool | Literal["auto"] = "auto", **options: Any
    ) -> Recall:
        """Recall what is known at this checkpoint.

        Args:
            query: The question.
            limit: How many hits to return at most.
            history: Whether to return superseded versions too; "auto" decides by the question.
            **options: Further options of `Space.recall`.
        """
        return self._seen(partial(self._space.recall, query), limit, history, options)

    def recent(self, /, *, limit: int = 10, history: bool | Literal["auto"] = False, **options: Any) -> Recall:
        """List what was told or used last, as it is known at this checkpoint.

        Args:
            limit: How many hits to return at most.
            history: Whether to return superseded versions too.
            **options: Further options of `Space.recent`.
        """
        return self._seen(self._space.recent, limit, history, options)

    def _seen(
        self, ask: Callable[..., Recall], limit: int, history: bool | Literal["auto"], options: Mapping[str, Any]
    ) -> Recall:
        """What the space answers, as far as this checkpoint knows it."""
        point, table = self._read_point(), self._table()
        rewound = point is not None and point.rewound_to is not None
        for raised_limit in growing_limits(limit):
            # What is current in a rewound thread may be superseded in the space.
            answer = ask(limit=raised_limit, history=rewound or history, **options)
            with_history = history is True or (answer.history and not rewound)
            now = self._now() if answer.receipt is None else answer.receipt.now  # as the caller may say `now`
            hits = [seen for hit in answer if (seen := _hit_at(hit, table, point, now, with_history)) is not None]
            if len(hits) >= limit or len(answer) < raised_limit:
                break
        return replace(answer, hits=tuple(hits[:limit]), history=with_history)

    def find(self, key: str) -> Memory | None:
        """Return the memory with this key as it is known at this checkpoint; None if there is none."""
        item = self._table().current_item(((), key), self._read_point())
        if item is None:
            return None
        found = self._space.as_of(item.version.written_at).get(item.version.memory_id)
        return None if found is None else _without_stamp(found)

    # Writing

    def add(self, /, text: str, **fields: Any) -> Memory:
        """Add a memory to this branch of the thread, as `Space.add`."""
        return _without_stamp(self._space.add(**self.stamped({"text": text, **fields})))

    def add_many(self, /, rows: Iterable[Mapping[str, Any]], **options: Any) -> list[Memory]:
        """Add memories to this branch of the thread, as `Space.add_many`."""
        stamped = [self.stamped(row) for row in rows]
        return [_without_stamp(memory) for memory in self._space.add_many(stamped, **options)]

    def add_turns(self, /, turns: Iterable[Mapping[str, Any]], **options: Any) -> list[Memory]:
        """Add turns to this branch of the thread, as `Space.add_turns`."""
        stamped = [self.stamped(turn) for turn in turns]
        return [_without_stamp(memory) for memory in self._space.add_turns(stamped, **options)]

    def forget(self, memory_id: str, why: str | None = None) -> None:
        """Forget a memory in this branch of the thread; the other branches still have it.

        Raises:
            NotFound: There is no such memory in this space.
        """
        stamp = self._stamp()
        if stamp is None:
            self._space.forget(memory_id, why)
            return
        address = self._table().address_of(memory_id)
        if address is None:
            raise NotFound(f"no memory {memory_id!r} in {self.name!r}. Recall it first, and use the id of the hit.")
        fields = {"key": address[1], "forgotten": memory_id, "why": why}
        self._space.add(_FORGOTTEN, **_with_stamp({"meta": {}}, address[1], stamp, fields))

    def remember(self, /, *_: object, **__: object) -> NoReturn:
        """Not supported: `Space.remember` extracts facts, which would be visible in every branch.

        Raises:
            InvalidInput: Always.
        """
        raise InvalidInput(
            f"{self!r} cannot remember(): the facts that it extracts would be in every branch of a thread. "
            "Store the text in this branch with add() or add_turns(), or call remember() of the space "
            "itself, for all of them."
        )

    def stamped(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a memory or a turn with the stamp of this branch.

        `Space.add` and `Space.add_turns` can be called with the result. Outside of any run it equals `fields`.
        """
        stamp = self._stamp()
        if stamp is None:
            return dict(fields)
        key = fields.get("key")
        if key is None and "content" in fields:
            # The same text in another step is another turn; twice in one step it is one turn.
            speaker = [fields.get(name) for name in ("speaker", "role", "conversation", "time")]
            key = f"turn:{_digest(fields['content'], str(speaker), stamp.as_meta())}"
        elif key is None:
            key = f"text:{_digest(fields.get('text'))}"
        return _with_stamp(fields, key, stamp, {"key": key})

    for_prompt = for_prompt  # as `Space.for_prompt`, of what the checkpoint knows

    apin = in_thread(pin)
    aat_checkpoint = in_thread(at_checkpoint)
    arecall = in_thread(recall)
    arecent = in_thread(recent)
    afor_prompt = in_thread(for_prompt)
    afind = in_thread(find)
    aadd = in_thread(add)
    aadd_many = in_thread(add_many)
    aadd_turns = in_thread(add_turns)
    aforget = in_thread(forget)
    aremember = in_thread(remember)

    def _pinned_to(self, point: ReadPoint | None) -> CheckpointView:
        pinned = copy(self)
        pinned._pinned, pinned._is_pinned = point, True
        return pinned

    def _read_point(self) -> ReadPoint | None:
        return self._pinned if self._is_pinned else self._lineage.current_point()

    def _stamp(self) -> Stamp | None:
        if not self._is_pinned:
            return self._lineage.current_stamp()
        if self._pinned is not None and self._pinned.stamp is None:
            raise InvalidInput("this view of a checkpoint is read-only and cannot be written to. Use the space.")
        return None if self._pinned is None else self._pinned.stamp

    def _table(self) -> ItemTable:
        """The table of this space, up to date."""
        with self._lock:
            table = self._tables.pop(self.name, None) or ItemTable(self._space, _read_item, keep_history=True)
            self._tables[self.name] = table
            while len(self._tables) > _MAX_TABLES:
                self._tables.popitem(last=False)
        table.update()
        return table


def _hit_at(hit: Hit, table: ItemTable, point: ReadPoint | None, now: datetime, with_history: bool) -> Hit | None:
    """A hit as it is known at a point; None if it is not visible there, or superseded and no history is wanted."""
    address, version = _read_item(hit.memory, None)
    item = table.current_item(address, point)
    is_latest = item is not None and item.version.version_key == version.version_key
    visible = is_latest or (version.value is not None and (point is None or point.is_visible(version)))
    is_known = is_latest and not _is_expired(hit, version, point, now)
    if not visible or not (is_known or with_history):
        return None
    current = is_known and not _is_over(hit, version, point, now)
    return replace(hit, memory=_without_stamp(hit.memory), current=current, superseded_by=None)


def _is_expired(hit: Hit, version: Version, point: ReadPoint | None, now: datetime) -> bool:
    """Whether a hit is expired: at the moment to which the thread was rewound, or else now."""
    moment = now if point is None else point.expiry_reference(version, now)
    if version.expires_at is not None and version.expires_at <= moment:
        return True
    # The space was asked with its history, so it also found what was ended by hand since.
    asked_history = point is not None and point.rewound_to is not None
    return asked_history and moment == now and _is_unreplaced(hit) and not _has_ended(hit, moment)


def _is_over(hit: Hit, version: Version, point: ReadPoint | None, now: datetime) -> bool:
    """Whether what a hit tells is over, though nothing replaced it."""
    if point is None or point.rewound_to is None:
        return _is_unreplaced(hit)
    return _is_unreplaced(hit) and _has_ended(hit, point.expiry_reference(version, now))


def _is_unreplaced(hit: Hit) -> bool:
    return not hit.current and hit.superseded_by is None


def _has_ended(hit: Hit, moment: datetime) -> bool:
    return hit.memory.valid.end is not None and hit.memory.valid.end <= moment


def _with_stamp(fields: Mapping[str, Any], key: str, stamp: Stamp, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Fields with a key of this checkpoint, so that no branch revises what another branch wrote."""
    meta = {**(fields.get("meta") or {}), STAMP_KEY: {**stamp.as_meta(), **extra}}
    return {**fields, "key": _digest(key, stamp.as_meta()), "meta": meta}


def _read_item(memory: Memory, change: Change | None) -> tuple[Address, Version]:
    """The address of a memory, which is the key that it was given or one made of its text; and its version."""
    stamp_meta = memory.meta.get(STAMP_KEY) or {}
    key = stamp_meta.get("key") or memory.key or f"id:{memory.id}"
    version = Version(
        written_at=memory.revised_at,
        position=0 if change is None else change.position,
        memory_id=memory.id,
        version_key=version_key(memory),
        value=None if "forgotten" in stamp_meta else memory.id,
        stamp=Stamp.from_memory(memory),
        expires_at=memory.expires_at,
    )
    return ((), key), version


def _without_stamp(memory: Memory) -> Memory:
    """A memory as it was added, with the key that it was given, if any."""
    stamp_meta = memory.meta.get(STAMP_KEY)
    if stamp_meta is None:
        return memory
    key = None if stamp_meta["key"].startswith(("text:", "turn:")) else stamp_meta["key"]
    meta = {name: value for name, value in memory.meta.items() if name != STAMP_KEY}
    return replace(memory, key=key, meta=meta)


def _digest(*values: Any) -> str:
    return hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=16).hexdigest()

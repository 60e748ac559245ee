"""Memory as it was known at a LangGraph checkpoint.

    thread t      c0 ── c1 ── c2 ── c3          the first run; its nodes wrote under c1 and c2
                         └─── f1 ── f2          a fork of c1, made later

A node runs on top of a checkpoint, and what it writes is stamped with that checkpoint. Seen from f2 are
the writes under f2 and f1, and those under c0 that led to c1; those under c1, c2 and c3 are a sibling's.
Of other threads, and of what was written outside of any run, is seen what was known when c1 was made,
until a new turn begins on the fork: from then on it lives in the present again, still without its sibling.

A thread that only goes on, or is resumed after an interrupt, is not rewound, and sees everything but the
branches it left. Outside of any run everything is seen, and the last write to a key holds.

Limits:

- The checkpointer has to be the one of the graph, and keep each step: `durability` "async" (LangGraph's
  default) or "sync", not "exit". A read waits until the checkpoint that it stands on is saved.
- A step is one of the outermost graph. All that a subgraph does in one such step is one: rewinding into the
  middle of a subgraph shows memory as it was when the outer graph began that step.
- What others wrote is told from what came later by time, so the clocks of the machines have to agree.
- Two runs of one thread at the same time are taken for a rewind.
- Where the checkpointer has pruned or deleted a checkpoint, what was written under it counts like what
  others wrote: by time, and in every branch.
- In Python 3.10, async nodes do not know where they run, so what they write there is stamped with nothing.
- Whoever asks the space itself, and not through a view, sees the memories of all branches.
- What `Space.remember` draws from a text bears no stamp, so a view refuses to `remember`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from langchain_remanence.store_lineage import CheckpointUnknown, Lineage, ReadPoint
from langchain_remanence.store_table import STAMP_KEY, Address, ItemTable, Stamp, Version, growing_limits, version_key
from remanence import Hit, InvalidInput, NotFound

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from remanence import Change, Memory, Recall, Space

__all__ = ["CheckpointUnknown", "CheckpointView"]

_FORGOTTEN = "(forgotten)"
_MOST_TABLES = 256


class CheckpointView:
    """A space that follows the checkpoints of the graph that is running.

    It takes the place of a Space in a node, a tool or the middleware: `recall` and `find` see memory as it
    was known at the checkpoint of the run, and what is added belongs to its branch of the thread.

        view = CheckpointView(space, checkpointer)
        agent = create_agent(model, middleware=[MemoryMiddleware(view)], checkpointer=checkpointer)

    It finds out where it stands each time it is asked. `here()` holds on to the place, for work that is done
    in the background; `at(config)` looks from any checkpoint, read-only.
    """

    def __init__(self, space: Space, checkpointer: BaseCheckpointSaver[Any]) -> None:
        self._space = space
        self._lineage = Lineage(checkpointer)
        self._pinned: ReadPoint | None = None
        self._held = False
        self._lock = threading.Lock()
        self._tables: OrderedDict[str, ItemTable] = OrderedDict()  # of this space and of those below it

    def __repr__(self) -> str:
        return f"<CheckpointView of {self._space!r}>"

    @property
    def name(self) -> str:
        """The name of the space."""
        return self._space.name

    # Places

    def pin(self) -> CheckpointView:
        """This view, held where the run stands now, whichever thread or task uses it later."""
        return self._holding(self._place())

    def at_checkpoint(self, config: RunnableConfig | Mapping[str, Any]) -> CheckpointView:
        """What a run sees that goes on from the checkpoint of this config, such as `get_state` gives."""
        return self._holding(self._lineage.point_at(config))

    def child(self, *path: str) -> CheckpointView:
        """The space below this one with these names, followed in the same way."""
        below = copy(self)
        below._space = self._space.child(*path)
        return below

    # Reading

    def recall(
        self, query: str, *, limit: int = 10, history: bool | Literal["auto"] = "auto", **options: Any
    ) -> Recall:
        """`Space.recall`, of what is known here; with `history=True` also of what was replaced since."""
        place, table = self._place(), self._table()
        rewound = place is not None and place.frozen_at is not None
        for ask in growing_limits(limit):
            # What stands in a rewound thread may be replaced for everybody else.
            answer = self._space.recall(query, limit=ask, history=rewound or history, **options)
            past = history is True or (answer.history and not rewound)
            hits = [known for hit in answer if (known := _as_known(hit, table, place, past)) is not None]
            if len(hits) >= limit or len(answer) < ask:
                break
        return replace(answer, hits=tuple(hits[:limit]), history=past)

    def find(self, key: str) -> Memory | None:
        """The memory kept under this key as it is known here."""
        standing = self._table().current_item(((), key), self._place())
        if standing is None:
            return None
        found = self._space.as_of(standing.version.written_at).get(standing.version.memory_id)
        return None if found is None else _unstamped(found)

    # Writing

    def add(self, text: str, **fields: Any) -> Memory:
        """`Space.add`, in this branch of the thread."""
        return _unstamped(self._space.add(**self.stamped({"text": text, **fields})))

    def add_many(self, rows: Iterable[Mapping[str, Any]], **options: Any) -> list[Memory]:
        """`Space.add_many`, in this branch of the thread."""
        stamped = [self.stamped(row) for row in rows]
        return [_unstamped(memory) for memory in self._space.add_many(stamped, **options)]

    def add_turns(self, turns: Iterable[Mapping[str, Any]], **options: Any) -> list[Memory]:
        """`Space.add_turns`, in this branch of the thread."""
        stamped = [self.stamped(turn) for turn in turns]
        return [_unstamped(memory) for memory in self._space.add_turns(stamped, **options)]

    def forget(self, memory_id: str, why: str | None = None) -> None:
        """`Space.forget`, in this branch of the thread: where it is known elsewhere, it stays."""
        stamp = self._stamp()
        if stamp is None:
            self._space.forget(memory_id, why)
            return
        address = self._table().address_of(memory_id)
        if address is None:
            raise NotFound(f"no memory {memory_id!r} in {self.name!r}.")
        said = {"key": address[1], "forgotten": memory_id, "why": why}
        self._space.add(_FORGOTTEN, **_with_stamp({"meta": {}}, address[1], stamp, said))

    def remember(self, *_: object, **__: object) -> NoReturn:
        """Refused: `Space.remember` draws facts from what is told, and they would be in every branch."""
        raise InvalidInput(
            f"{self!r} cannot remember(): what it draws from a text would be in every branch of a thread. "
            "Keep what is told in this branch with add() or add_turns(), or call remember() of the space "
            "itself, for all of them."
        )

    def stamped(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """What to hand to `add` of the space, or for a turn to `add_turns`, to have it in this branch.

        Outside of any run that is what was given.
        """
        stamp = self._stamp()
        if stamp is None:
            return dict(fields)
        key = fields.get("key")
        if key is None and "content" in fields:
            # The same words in another step are another turn; in the same step they are said once.
            who = [fields.get(part) for part in ("speaker", "role", "conversation", "time")]
            key = f"turn:{_digest(fields['content'], str(who), stamp.as_meta())}"
        elif key is None:
            key = f"text:{_digest(fields.get('text'))}"
        return _with_stamp(fields, key, stamp, {"key": key})

    # Off the event loop

    async def arecall(self, query: str, **options: Any) -> Recall:
        """`recall`, off the event loop."""
        return await asyncio.to_thread(self.recall, query, **options)

    async def afind(self, key: str) -> Memory | None:
        """`find`, off the event loop."""
        return await asyncio.to_thread(self.find, key)

    async def aadd(self, text: str, **fields: Any) -> Memory:
        """`add`, off the event loop."""
        return await asyncio.to_thread(self.add, text, **fields)

    async def aadd_many(self, rows: Iterable[Mapping[str, Any]], **options: Any) -> list[Memory]:
        """`add_many`, off the event loop."""
        return await asyncio.to_thread(self.add_many, rows, **options)

    async def aadd_turns(self, turns: Iterable[Mapping[str, Any]], **options: Any) -> list[Memory]:
        """`add_turns`, off the event loop."""
        return await asyncio.to_thread(self.add_turns, turns, **options)

    async def aremember(self, *_: object, **__: object) -> NoReturn:
        """Refused, as `remember` is."""
        self.remember()

    async def aforget(self, memory_id: str, why: str | None = None) -> None:
        """`forget`, off the event loop."""
        await asyncio.to_thread(self.forget, memory_id, why)

    # Helpers

    def _holding(self, place: ReadPoint | None) -> CheckpointView:
        held = copy(self)
        held._pinned, held._held = place, True
        return held

    def _place(self) -> ReadPoint | None:
        return self._pinned if self._held else self._lineage.current_point()

    def _stamp(self) -> Stamp | None:
        if not self._held:
            return self._lineage.current_stamp()
        if self._pinned is not None and self._pinned.stamp is None:
            raise InvalidInput("this view looks from a checkpoint and cannot be written to.")
        return None if self._pinned is None else self._pinned.stamp

    def _table(self) -> ItemTable:
        """The versions in this space, up to date."""
        with self._lock:
            table = self._tables.pop(self.name, None) or ItemTable(self._space, _read, keep_history=True)
            self._tables[self.name] = table
            while len(self._tables) > _MOST_TABLES:
                self._tables.popitem(last=False)
        table.catch_up()
        return table


def _as_known(hit: Hit, table: ItemTable, place: ReadPoint | None, past: bool) -> Hit | None:
    """A hit as it is known at a place; None if it is not, or is over there and no past is asked for."""
    address, version = _read(hit.memory, None)
    standing = table.current_item(address, place)
    stands = standing is not None and standing.version.version_key == version.version_key
    current = stands and not _expired(hit, version, place)
    seen = stands or (version.value is not None and (place is None or place.is_visible(version)))
    if not seen or not (current or past):
        return None
    return replace(hit, memory=_unstamped(hit.memory), current=current, superseded_by=None)


def _expired(hit: Hit, version: Version, place: ReadPoint | None) -> bool:
    """Whether the time of a hit was over: when the thread was rewound to, or else now."""
    if place is not None and place.frozen_at is not None and version.written_at <= place.frozen_at:
        return version.expires_at is not None and version.expires_at <= place.frozen_at
    return not hit.current and hit.superseded_by is None


def _with_stamp(fields: Mapping[str, Any], key: str, stamp: Stamp, said: Mapping[str, Any]) -> dict[str, Any]:
    """Fields under a key of this checkpoint's own, so that no branch revises what another wrote."""
    meta = {**(fields.get("meta") or {}), STAMP_KEY: {**stamp.as_meta(), **said}}
    return {**fields, "key": _digest(key, stamp.as_meta()), "meta": meta}


def _read(memory: Memory, change: Change | None) -> tuple[Address, Version]:
    """Where a memory belongs: under the key it was given, or by its words; and what it says there."""
    said = memory.meta.get(STAMP_KEY) or {}
    key = said.get("key") or memory.key or f"id:{memory.id}"
    version = Version(
        written_at=memory.revised_at,
        position=0 if change is None else change.position,
        memory_id=memory.id,
        version_key=version_key(memory),
        value=None if "forgotten" in said else memory.id,
        stamp=Stamp.from_memory(memory),
        expires_at=memory.expires_at,
    )
    return ((), key), version


def _unstamped(memory: Memory) -> Memory:
    """A memory as it was handed in, under the key it was given, if any."""
    said = memory.meta.get(STAMP_KEY)
    if said is None:
        return memory
    key = None if said["key"].startswith(("text:", "turn:")) else said["key"]
    meta = {name: value for name, value in memory.meta.items() if name != STAMP_KEY}
    return replace(memory, key=key, meta=meta)


def _digest(*values: Any) -> str:
    return hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=16).hexdigest()

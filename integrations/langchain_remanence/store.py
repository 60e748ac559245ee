"""A LangGraph store whose search is ranked by four signals and whose past stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from langchain_remanence.store_lineage import Lineage, ReadPoint
from langchain_remanence.store_ops import (
    IndexFields,
    indexed_text,
    item_key,
    json_copy,
    matches_filter,
    prefix_tag,
    prefix_tags,
    select_namespaces,
    validate_op,
)
from langchain_remanence.store_table import (
    STAMP_KEY,
    Address,
    CurrentItem,
    ItemTable,
    Stamp,
    Version,
    growing_limits,
    version_key,
)
from remanence import InvalidInput, Space

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from remanence import Change, Memory, View

_DELETED, _UNINDEXED = "(deleted)", "(not indexed)"
_RENEWED_FROM = 0.01
"""A read moves an expiry only by more than this share of its time to live: not every read writes a line."""


class RemanenceStore(BaseStore):
    """Keeps LangGraph's items in a space, each as one memory that is revised by `put`.

    `get`, `put`, `delete`, `list_namespaces` and filters are exact; `search(query=...)` ranks by meaning,
    words, graph and time. Overwritten and deleted values stay in the past: `as_of(moment)` shows them.

    >>> import remanence
    >>> with remanence.open(None) as space:
    ...     store = RemanenceStore(space)
    ...     store.put(("users", "bob"), "drink", {"content": "Bob drinks green tea."})
    ...     store.put(("users", "bob"), "pet", {"content": "Bob has a dog called Rex."})
    ...     [item.key for item in store.search(("users",), query="What does Bob drink?", limit=1)]
    ['drink']

    With `checkpointer`, the one the graph is compiled with, a thread that is rewound, replayed or forked
    sees the store as it was known at that checkpoint, and what a fork writes stays in the fork; see
    `langchain_remanence.checkpoints` for the rules and their limits. `at(config)` looks from a checkpoint
    without running anything.

    `fields` are the paths that are indexed where `put` does not say; by default the text under "content",
    "text", "memory" or "data", or else the whole value. `ttl` is LangGraph's TTLConfig. `clock` is that
    of the space, if it was opened with one of its own.

    Where it differs from InMemoryStore and SqliteStore, which differ among themselves here:

    - Without a query the last written comes first (as in SqliteStore); InMemoryStore keeps the order in
      which keys were first put.
    - `created_at` outlives an overwrite (as in PostgresStore).
    - A namespace whose last item was deleted is no longer listed (as in SqliteStore).
    - `$gt`, `$gte`, `$lt`, `$lte` hold numbers against numbers and texts against texts, and match nothing
      where the field is missing or is neither (InMemoryStore raises). `$ne` matches an item without the
      field (as in InMemoryStore). An unknown operator is refused even if no item is held against it.
    - Filter keys are whole names, never dotted paths; a nested dict asks for these parts of it (as in
      InMemoryStore).
    - A query always ranks: there is nothing to configure. Items that no signal found, and those put with
      `index=False`, follow with a score of None.
    - An expired item is gone at its moment, swept or not, unless `omit_expired` is False; without a
      `TTLConfig` too, reading an item renews it, but only once a hundredth of its time has passed.
    - Values come back as JSON does: tuples as lists, and NaN, dates and other objects are refused, as is
      a value of more than a million characters.
    - An operation handed to `batch` is checked like one made by `put` or `search`.
    """

    supports_ttl = True

    def __init__(
        self,
        space: Space,
        *,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.ttl_config = ttl
        self._fields = fields
        self._clock = clock or _system_clock
        self._lineage = None if checkpointer is None else Lineage(checkpointer)
        self._pen: Space | None = space.child("store")
        self._view: View = self._pen
        self._table = ItemTable(self._view, _read, keep_history=self._lineage is not None)
        self._pinned: ReadPoint | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: all reads, of what was there before; then all puts, the last for each key."""
        given = [validate_op(op) for op in ops]
        puts = {(tuple(op.namespace), op.key): op for op in given if isinstance(op, PutOp)}
        if puts and self._pen is None:
            raise InvalidInput("this store shows the past and cannot be written to. Put into the one it is of.")
        self._table.catch_up()
        # Where a run stands may have to be waited for, which a put that only adds does not.
        only_adds = all(isinstance(op, PutOp) and op.value is not None for op in given)
        point = None if only_adds else self._point()
        read: dict[Address, CurrentItem] = {}
        results = [None if isinstance(op, PutOp) else self._answer(op, point, read) for op in given]
        renewals = [self._renewal(item) for address, item in read.items() if address not in puts]
        changes = [self._line(address, op) for address, op in puts.items() if self._changes(address, op, point)]
        self._write([line for line in (*renewals, *changes) if line is not None])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, off the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def as_of(self, moment: datetime) -> RemanenceStore:
        """This store as it was known at a moment, read-only. A naive moment is taken as UTC.

        >>> import remanence
        >>> from remanence.testing import FakeClock
        >>> clock = FakeClock("2026-05-04")
        >>> with remanence.open(None, clock=clock) as space:
        ...     store = RemanenceStore(space, clock=clock)
        ...     store.put(("bob",), "city", {"text": "Porto"})
        ...     monday = clock.now()
        ...     _ = clock.advance(days=1)
        ...     store.put(("bob",), "city", {"text": "Lisbon"})
        ...     store.as_of(monday).get(("bob",), "city").value["text"]
        'Porto'
        """
        at = moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment
        past = copy(self)
        past._pen, past._lineage, past._clock = None, None, lambda: at
        past._view = self._view.as_of(at)
        past._table = ItemTable(past._view, _read, keep_history=False)
        return past

    def at_checkpoint(self, config: RunnableConfig | Mapping[str, Any]) -> RemanenceStore:
        """This store as a run sees it that goes on from the checkpoint of this config, read-only."""
        if self._lineage is None:
            raise InvalidInput("this store follows no checkpoints. Make it with RemanenceStore(..., checkpointer=...).")
        seen = copy(self)
        seen._pen, seen._pinned = None, self._lineage.point_at(config)
        return seen

    def sweep_ttl(self) -> int:
        """Delete the items whose time is over, and say how many there were.

        Nobody has to: they are not shown. Only with `omit_expired=False` do they stay until swept.
        """
        self._table.catch_up()
        now = self._clock()
        over = [address for address, standing in self._table.items_below(()) if standing.is_expired(now)]
        self._write([self._line(address, PutOp(*address, None)) for address in over])
        return len(over)

    # Reading

    def _answer(self, op: Op, point: ReadPoint | None, read: dict[Address, CurrentItem]) -> Result:
        if isinstance(op, ListNamespacesOp):
            return select_namespaces((address[0] for address, _ in self._alive((), point)), op)
        if isinstance(op, GetOp):
            address = (tuple(op.namespace), op.key)
            standing = self._table.current_item(address, point)
            if standing is None or self._over(standing, point):
                return None
            if op.refresh_ttl:
                read[address] = standing
            return Item(**_fields(address, standing))
        assert isinstance(op, SearchOp), "batch has refused everything else"
        found = self._search(op, point)
        if op.refresh_ttl:
            read.update((address, standing) for address, standing, _ in found)
        return [SearchItem(**_fields(address, standing), score=score) for address, standing, score in found]

    def _search(self, op: SearchOp, point: ReadPoint | None) -> list[tuple[Address, CurrentItem, float | None]]:
        """The items that pass the filter: those that the query finds, best first; then the others."""
        prefix = tuple(op.namespace_prefix)
        found = [
            (address, standing)
            for address, standing in self._alive(prefix, point)
            if matches_filter(standing.version.value["value"], op.filter)
        ]
        scores: dict[Address, float] = {}
        if op.query and found:
            scores = self._ranked(op.query, prefix, found, op.offset + op.limit, point)
        by_address = dict(found)
        ranked: list[tuple[Address, CurrentItem, float | None]] = [
            (address, by_address[address], score) for address, score in scores.items()
        ]
        rest = [(address, standing, None) for address, standing in found if address not in scores]
        return [*ranked, *rest][op.offset : op.offset + op.limit]

    def _ranked(
        self,
        query: str,
        prefix: tuple[str, ...],
        found: Sequence[tuple[Address, CurrentItem]],
        needed: int,
        point: ReadPoint | None,
    ) -> dict[Address, float]:
        wanted = {standing.version.version_key: address for address, standing in found}
        # What stands for a rewound thread may be replaced for everybody else.
        history = point is not None and point.frozen_at is not None
        scores: dict[Address, float] = {}
        for ask in growing_limits(needed):
            answer = self._view.recall(query, limit=ask, tags=prefix_tag(prefix), history=history)
            marks = ((version_key(hit.memory), hit.score) for hit in answer)
            scores = {wanted[name]: score for name, score in marks if name in wanted}
            if len(scores) >= min(needed, len(wanted)) or len(answer) < ask:
                break
        return scores

    def _alive(self, prefix: tuple[str, ...], point: ReadPoint | None) -> list[tuple[Address, CurrentItem]]:
        return [pair for pair in self._table.items_below(prefix, point) if not self._over(pair[1], point)]

    def _over(self, standing: CurrentItem, point: ReadPoint | None) -> bool:
        if standing.version.expires_at is None or not (self.ttl_config or {}).get("omit_expired", True):
            return False
        now = self._clock()
        return standing.is_expired(now if point is None else point.expiry_reference(standing.version, now))

    def _point(self) -> ReadPoint | None:
        if self._pinned is not None or self._lineage is None:
            return self._pinned
        return self._lineage.current_point()

    # Writing

    def _changes(self, address: Address, op: PutOp, point: ReadPoint | None) -> bool:
        """Whether there is anything to write: deleting what is not there changes nothing."""
        return op.value is not None or self._table.current_item(address, point) is not None

    def _line(self, address: Address, op: PutOp) -> dict[str, Any]:
        """The memory that an operation becomes."""
        namespace, key = address
        said = {"namespace": list(namespace), "key": key, "put": uuid4().hex}
        if op.value is None:
            return {"text": _DELETED, "meta": said}
        return self._indexed(said | {"value": json_copy(op.value), "index": op.index, "ttl": op.ttl})

    def _renewal(self, read: CurrentItem) -> dict[str, Any] | None:
        """The memory that moves the expiry of an item that was read; None if that is not due."""
        ttl, expires = read.version.value["ttl"], read.version.expires_at
        if self._pen is None or ttl is None or expires is None:
            return None
        gained = self._clock() + timedelta(minutes=ttl) - expires
        if gained <= _RENEWED_FROM * timedelta(minutes=ttl):
            return None
        said = {name: part for name, part in read.version.value.items() if name != STAMP_KEY}
        return self._indexed(said | {"renews": True})

    def _indexed(self, said: dict[str, Any]) -> dict[str, Any]:
        index: IndexFields = self._fields if said["index"] is None else said["index"]
        text, ttl = indexed_text(said["value"], index), said["ttl"]
        return {
            "text": text or _UNINDEXED,
            "tags": [] if text is None else prefix_tags(tuple(said["namespace"])),
            "expires_at": None if ttl is None else self._clock() + timedelta(minutes=ttl),
            "meta": said,
        }

    def _write(self, lines: Sequence[dict[str, Any]]) -> None:
        if self._pen is None or not lines:
            return
        stamp = None if self._lineage is None else self._lineage.current_stamp()
        self._pen.add_many([_stamped(line, stamp) for line in lines])


def _stamped(line: dict[str, Any], stamp: Stamp | None) -> dict[str, Any]:
    """A memory to be written, under the key of its item and the checkpoint that writes it."""
    meta = line["meta"]
    key = item_key(tuple(meta["namespace"]), meta["key"], stamp)
    return {**line, "key": key, "meta": meta if stamp is None else meta | {STAMP_KEY: stamp.as_meta()}}


def _read(memory: Memory, change: Change) -> tuple[Address, Version]:
    """What a memory of the store says, and of which item."""
    said = memory.meta
    version = Version(
        written_at=change.at,
        position=change.position,
        memory_id=memory.id,
        version_key=version_key(memory),
        value=said if "value" in said else None,
        stamp=Stamp.from_memory(memory),
        expires_at=memory.expires_at,
        put_id=said["put"],
        is_renewal=said.get("renews", False),
    )
    return (tuple(said["namespace"]), said["key"]), version


def _fields(address: Address, standing: CurrentItem) -> dict[str, Any]:
    """What an item is made of. The value is a copy: what a caller does to it stays with the caller."""
    return {
        "namespace": address[0],
        "key": address[1],
        "value": deepcopy(standing.version.value["value"]),
        "created_at": standing.created_at,
        "updated_at": standing.updated_at,
    }


def _system_clock() -> datetime:
    return datetime.now(timezone.utc)

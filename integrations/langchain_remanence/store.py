"""A LangGraph store whose search ranks by four signals, and whose past versions can be read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from datetime import date, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
)

from langchain_remanence import store_operations as operations
from langchain_remanence.async_batches import AsyncBatches
from langchain_remanence.checkpoint_lineage import CheckpointLineage
from langchain_remanence.item_table import (
    STAMP_KEY,
    Address,
    CurrentItem,
    ItemTable,
    ReadPoint,
    growing_limits,
    version_key,
)
from langchain_remanence.models import embedder
from langchain_remanence.store_filters import matches_filter
from langchain_remanence.ttl_sweeper import TTLSweeper
from remanence import InvalidInput, Space
from remanence import open as open_space
from remanence.adapters import ClosedAtEnd, check_minutes, current_moment, in_thread, is_space

if TYPE_CHECKING:
    from concurrent.futures import Future

    from langchain_core.embeddings import Embeddings
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from remanence import View

log = logging.getLogger(__name__)

_DELETED, _UNINDEXED = "(deleted)", "(not indexed)"
_IN_MEMORY = ":memory:"
_MIN_RENEWAL = 0.01
"""A read changes an expiry only by more than this fraction of its time to live, so that few reads write."""


class RemanenceStore(ClosedAtEnd, BaseStore):
    """A store that keeps LangGraph's items in a space, each as one memory that `put` revises.

    `get`, `put`, `delete`, `list_namespaces` and filters are exact; `search(query=...)` ranks by meaning,
    words, graph and time. Overwritten and deleted values can be read with `as_of(moment)`; `erase` removes an
    item from the past too.

    Each indexed field of a value is compared with the query by itself, and the best one counts. By default that is
    the entire value with the names of its fields, and of a longer value every text in it; timestamps are left out. The
    reader reads a text as a whole, so it takes no part where several fields were chosen.

    Differences from InMemoryStore, SqliteStore and PostgresStore, which differ from each other in these points:

    - The score is that of a recall, from 0 to 1, and not a cosine.
    - Without a query the last written item comes first (as in SqliteStore); InMemoryStore uses the order in
      which keys were first put.
    - `created_at` stays the same after an overwrite (as in PostgresStore).
    - A namespace whose last item was deleted is no longer listed (as in SqliteStore).
    - `$gt`, `$gte`, `$lt`, `$lte` compare numbers with numbers, texts with texts and, if the filter has a datetime,
      moments. They match nothing if the field is missing or is none of these (InMemoryStore raises). `$ne` matches an
      item without the field (as in InMemoryStore). An unknown operator is refused even if no item is compared with it.
    - A filter key is a name or, if there is no such name, a dotted path ("user.city", "tags.0"); a nested dict
      matches a part of the value (as in InMemoryStore).
    - A query always ranks, without any configuration. Items that no signal found, and those put with
      `index=False`, come last with a score of None.
    - An expired item is not returned, swept or not, unless `omit_expired` is False. Reading an item renews it,
      also without a `TTLConfig`, but only after a hundredth of its time to live.
    - Values are stored as JSON: tuples are returned as lists; datetimes, UUIDs, enums, dataclasses and pydantic models
      as their JSON form (as in SqliteStore). NaN, other objects and values over a million characters are refused.
    - An operation given to `batch` is checked like one of `put` or `search`, but may be in "langgraph" namespaces.
    - Synchronous methods work in a running event loop too (AsyncSqliteStore refuses). What coroutines ask for at the
      same time is one batch (as in all of LangGraph's async stores).

    Args:
        space: The space. Left out: a new one in memory, which is closed with the store.
        index: LangGraph's IndexConfig: "fields" (or "text_fields"), and "embed", with which a new space is opened.
            A space that is given embeds with the embedder that it was opened with.
        fields: The paths that are indexed if `put` does not say; the same as "fields" in `index`.
        ttl: LangGraph's TTLConfig.
        checkpointer: The checkpointer of the graph. With it, a thread that is rewound, replayed or forked reads
            the store as it was known at that checkpoint, and what a fork writes stays in the fork. See
            `langchain_remanence.checkpoints` for the rules and their limits.
        clock: The clock that the space was opened with, if any.
        recallable: True keeps the items among the memories of the space, so that `space.recall` finds them too.
            By default they are in its child "store" and only the store finds them. Choose once: the two do not see
            each other's items.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     store = RemanenceStore(space)
        ...     store.put(("users", "bob"), "drink", {"content": "Bob drinks green tea."})
        ...     store.put(("users", "bob"), "pet", {"content": "Bob has a dog called Rex."})
        ...     [item.key for item in store.search(("users",), query="What does Bob drink?", limit=1)]
        ['drink']
    """

    supports_ttl = True

    def __init__(
        self,
        space: Space | None = None,
        *,
        index: IndexConfig | Mapping[str, Any] | None = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        clock: Callable[[], datetime] | None = None,
        recallable: bool = False,
    ) -> None:
        if space is not None and not is_space(space):
            raise InvalidInput(
                f"space={space!r} is not a Space. Give remanence.open(...), or use "
                "RemanenceStore.from_conn_string(...)."
            )
        if recallable and checkpointer is not None:
            raise InvalidInput(
                "recallable=True puts the items of all branches of a thread into one space, so it cannot be "
                "combined with checkpointer=. Leave one of them out."
            )
        operations.check_options(index, ttl, clock)
        embed = (index or {}).get("embed")
        if space is not None and embed is not None:
            log.warning("index['embed'] is not used: the space embeds with the embedder that it was opened with")
        self.index_config = index
        self.embeddings: Embeddings | None = None if embed is None else ensure_embeddings(embed)
        self.ttl_config = ttl
        self._fields = operations.index_fields(index, fields)
        self._recallable = recallable
        self._clock = clock or partial(datetime.now, timezone.utc)
        self._lineage = None if checkpointer is None else CheckpointLineage(checkpointer)
        self._sweeper = TTLSweeper(self.sweep_ttl)
        root = _open(None, self.embeddings, clock) if space is None else space
        self._owned = root if space is None else None
        self._view: View = root if recallable else root.child("store")
        self._space: Space | None = self._view
        self._table = ItemTable(self._view, operations.read_item, keep_history=self._lineage is not None)
        self._pinned: ReadPoint | None = None
        self._async_batches = AsyncBatches(self.batch)

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str | Path,
        *,
        index: IndexConfig | Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        **options: Any,
    ) -> RemanenceStore:
        """Open the space in a folder and return its store. Closing the store closes the space.

        Args:
            conn_string: The folder, or ":memory:".
            index: LangGraph's IndexConfig. A folder is always opened with the same "embed".
            ttl: LangGraph's TTLConfig.
            **options: Other arguments of the constructor.

        Example:
            >>> with RemanenceStore.from_conn_string(":memory:", index={"fields": ["title", "body"]}) as store:
            ...     store.put(("notes",), "tea", {"title": "Tea", "body": "A hot drink."})
            ...     store.search(("notes",), query="hot drink")[0].key
            'tea'
        """
        operations.check_options(index, ttl, options.get("clock"))
        embed = (index or {}).get("embed")
        embeddings = None if embed is None else ensure_embeddings(embed)
        space = _open(None if conn_string == _IN_MEMORY else conn_string, embeddings, options.get("clock"))
        try:
            without_embed = {name: value for name, value in (index or {}).items() if name != "embed"}
            store = cls(space, index=without_embed, ttl=ttl, **options)
        except BaseException:
            space.close()
            raise
        store.index_config, store.embeddings, store._owned = index, embeddings, space
        return store

    def setup(self) -> None:
        """Do nothing. It is here for code that was written for SqliteStore: a space is ready when it is open."""

    def close(self) -> None:
        """Stop the TTL sweeper, and close the space if this store has opened it."""
        self._sweeper.stop()
        if self._owned is not None:
            self._owned.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations: first all reads, on the state before the batch, then the last put for each key.

        Returns:
            One result for each operation, in order; None for a put.

        Raises:
            InvalidInput: An operation is not valid, or this store is a view of the past and there is a put.
        """
        validated = [operations.validate_op(op) for op in ops]
        puts = {(tuple(op.namespace), op.key): op for op in validated if isinstance(op, PutOp)}
        if puts:
            self._writable()
        self._table.update()
        # The position of a run may have to be waited for. Puts that delete nothing do not need it.
        only_adds = all(isinstance(op, PutOp) and op.value is not None for op in validated)
        point = None if only_adds else self._read_point()
        read: dict[Address, CurrentItem] = {}
        results = [None if isinstance(op, PutOp) else self._execute(op, point, read) for op in validated]
        renewals = [self._renewal(item) for address, item in read.items() if address not in puts]
        writes = [self._memory(address, op) for address, op in puts.items() if self._has_effect(address, op, point)]
        self._write([memory for memory in (*renewals, *writes) if memory is not None])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` in a worker thread, together with what other coroutines ask for at the same time."""
        if self._lineage is not None:  # which finds the running thread by the context of each coroutine
            return await asyncio.to_thread(self.batch, list(ops))
        return await self._async_batches.run([operations.validate_op(op) for op in ops])

    def as_of(self, moment: datetime | date | str) -> RemanenceStore:
        """Return this store as it was known at a moment, read-only.

        Args:
            moment: A datetime or date (UTC if it has no time zone), ISO text, or words such as "last May".

        Example:
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
        past = self._read_only()
        past._view = self._view.as_of(moment)
        at = current_moment(past._view)
        past._lineage, past._clock = None, lambda: at
        past._table = ItemTable(past._view, operations.read_item, keep_history=False)
        return past

    def at_checkpoint(self, config: RunnableConfig | Mapping[str, Any]) -> RemanenceStore:
        """Return this store as a run reads it that continues from the checkpoint of `config`, read-only.

        Raises:
            InvalidInput: This store has no checkpointer, or the config names no thread.
            CheckpointUnknown: The checkpointer does not have the checkpoint.
        """
        if self._lineage is None:
            raise InvalidInput("this store has no checkpointer. Make it with RemanenceStore(..., checkpointer=...).")
        pinned = self._read_only()
        pinned._pinned = self._lineage.point_at(config)
        return pinned

    def erase(self, namespace: tuple[str, ...], key: str) -> bool:
        """Remove an item for good: its present value and all earlier ones, from the past and from every file.

        `delete` only hides it from now on.

        Returns:
            Whether there was anything to remove.

        Raises:
            InvalidInput: This store is a view of the past.

        Example:
            >>> with RemanenceStore() as store:
            ...     store.put(("bob",), "door", {"text": "The code is 4711."})
            ...     store.delete(("bob",), "door")
            ...     store.erase(("bob",), "door"), store.erase(("bob",), "door")
            (True, False)
        """
        space = self._writable()
        operations.validate_op(GetOp(namespace, key))
        self._table.update()
        ids = self._table.memories_at((tuple(namespace), key))
        return bool(space.erase_many(ids)) if ids else False

    def sweep_ttl(self) -> int:
        """Delete the expired items. Only a store with `omit_expired=False` needs it.

        Returns:
            How many items were deleted.
        """
        self._table.update()
        now = self._clock()
        expired = [address for address, item in self._table.items_below(()) if item.is_expired(now)]
        self._write([self._memory(address, PutOp(*address, None)) for address in expired])
        return len(expired)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Call `sweep_ttl` at an interval, in a thread.

        Args:
            sweep_interval_minutes: The interval. Left out: that of the TTLConfig, else 5.

        Returns:
            A future; cancelling it stops the thread.
        """
        check_minutes(sweep_interval_minutes, "sweep_interval_minutes")
        minutes = sweep_interval_minutes or (self.ttl_config or {}).get("sweep_interval_minutes") or 5
        return self._sweeper.start(min(60 * minutes, TIMEOUT_MAX))

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the thread of `start_ttl_sweeper`. Return whether it has ended after at most `timeout` seconds."""
        return self._sweeper.stop(timeout)

    aas_of = in_thread(as_of)
    aat_checkpoint = in_thread(at_checkpoint)
    aerase = in_thread(erase)
    asweep_ttl = in_thread(sweep_ttl)

    # Reading

    def _execute(self, op: Op, point: ReadPoint | None, read: dict[Address, CurrentItem]) -> Result:
        """The result of a reading operation. Items whose expiry is to be renewed are added to `read`."""
        if isinstance(op, ListNamespacesOp):
            return operations.select_namespaces((address[0] for address, _ in self._unexpired((), point)), op)
        if isinstance(op, GetOp):
            address = (tuple(op.namespace), op.key)
            item = self._table.current_item(address, point)
            if item is None or self._is_expired(item, point):
                return None
            if op.refresh_ttl:
                read[address] = item
            return Item(**_item_fields(address, item))
        assert isinstance(op, SearchOp), "validate_op has refused everything else"
        found = self._search(op, point)
        if op.refresh_ttl:
            read.update((address, item) for address, item, _ in found)
        return [SearchItem(**_item_fields(address, item), score=score) for address, item, score in found]

    def _search(self, op: SearchOp, point: ReadPoint | None) -> list[tuple[Address, CurrentItem, float | None]]:
        """The items that match the filter: first those that the query finds, best first; then the others."""
        prefix = tuple(op.namespace_prefix)
        matching = {
            address: item
            for address, item in self._unexpired(prefix, point)
            if matches_filter(item.version.value["value"], op.filter)
        }
        scores: dict[Address, float] = {}
        if op.query and op.query.strip() and matching:
            scores = self._scores(op.query, prefix, matching, op.offset + op.limit, point)
        addresses = [*scores, *(address for address in matching if address not in scores)]
        page = addresses[op.offset : op.offset + op.limit]
        return [(address, matching[address], scores.get(address)) for address in page]

    def _scores(
        self,
        query: str,
        prefix: tuple[str, ...],
        matching: Mapping[Address, CurrentItem],
        needed: int,
        point: ReadPoint | None,
    ) -> dict[Address, float]:
        addresses = {item.version.version_key: address for address, item in matching.items()}
        # What is current in a rewound thread, or in its namespace, may be superseded in the space.
        history = self._recallable or (point is not None and point.rewound_to is not None)
        values = [item.version.value for item in matching.values()]
        by_field = any(operations.count_fields(value["index"], self._fields) > 1 for value in values)
        options: dict[str, Any] = {"tags": operations.prefix_tag(prefix), "reader": "none" if by_field else None}
        scores: dict[Address, float] = {}
        for limit in growing_limits(needed):
            hits = self._view.recall(query, limit=limit, history=history, **options)
            by_version = ((version_key(hit.memory), hit.score) for hit in hits)
            scores = {addresses[version]: score for version, score in by_version if version in addresses}
            if len(scores) >= min(needed, len(addresses)) or len(hits) < limit:
                break
        return scores

    def _unexpired(self, prefix: tuple[str, ...], point: ReadPoint | None) -> list[tuple[Address, CurrentItem]]:
        return [pair for pair in self._table.items_below(prefix, point) if not self._is_expired(pair[1], point)]

    def _is_expired(self, item: CurrentItem, point: ReadPoint | None) -> bool:
        if item.version.expires_at is None or not (self.ttl_config or {}).get("omit_expired", True):
            return False
        now = self._clock()
        return item.is_expired(now if point is None else point.expiry_reference(item.version, now))

    def _read_point(self) -> ReadPoint | None:
        if self._pinned is not None or self._lineage is None:
            return self._pinned
        return self._lineage.current_point()

    # Writing

    def _has_effect(self, address: Address, op: PutOp, point: ReadPoint | None) -> bool:
        """Whether there is anything to write. Deleting an item that does not exist has no effect."""
        return op.value is not None or self._table.current_item(address, point) is not None

    def _memory(self, address: Address, op: PutOp) -> dict[str, Any]:
        """The memory that a put writes."""
        namespace, key = address
        meta = {"namespace": list(namespace), "key": key, "put": uuid4().hex}
        if op.value is None:
            return {"text": _DELETED, "passages": [], "meta": meta}
        return self._indexed(meta | {"value": operations.json_copy(op.value), "index": op.index, "ttl": op.ttl})

    def _renewal(self, item: CurrentItem) -> dict[str, Any] | None:
        """The memory that changes the expiry of an item that was read; None if that is not due."""
        ttl, expires_at = item.version.value["ttl"], item.version.expires_at
        if self._space is None or ttl is None or expires_at is None:
            return None
        gained = self._clock() + timedelta(minutes=ttl) - expires_at
        if gained <= _MIN_RENEWAL * timedelta(minutes=ttl):
            return None
        meta = {name: value for name, value in item.version.value.items() if name != STAMP_KEY}
        return self._indexed(meta | {"renews": True})

    def _indexed(self, meta: dict[str, Any]) -> dict[str, Any]:
        index: operations.IndexFields = self._fields if meta["index"] is None else meta["index"]
        indexed, ttl = operations.indexed_text(meta["value"], index), meta["ttl"]
        return {
            "text": indexed.text or _UNINDEXED,
            "passages": indexed.passages,
            "tags": operations.prefix_tags(tuple(meta["namespace"])) if indexed.text else [],
            # An item replaces another if it has its key, not because of what it says: that may be of another user.
            "triples": None if self._recallable else [],
            "expires_at": None if ttl is None else self._clock() + timedelta(minutes=ttl),
            "meta": meta,
        }

    def _writable(self) -> Space:
        if self._space is None:
            raise InvalidInput("this store is a view of the past and cannot be written to. Use the original store.")
        return self._space

    def _read_only(self) -> RemanenceStore:
        view = copy(self)
        view._space = view._owned = None
        view._sweeper, view._async_batches = TTLSweeper(view.sweep_ttl), AsyncBatches(view.batch)
        return view

    def _write(self, memories: Sequence[dict[str, Any]]) -> None:
        if self._space is None or not memories:
            return
        stamp = None if self._lineage is None else self._lineage.current_stamp()
        self._space.add_many([operations.with_key(memory, stamp) for memory in memories])


def _open(location: str | Path | None, embeddings: Embeddings | None, clock: Callable[[], datetime] | None) -> Space:
    return open_space(location, embedder=None if embeddings is None else embedder(embeddings), clock=clock)


def _item_fields(address: Address, item: CurrentItem) -> dict[str, Any]:
    return {
        "namespace": address[0],
        "key": address[1],
        "value": deepcopy(item.version.value["value"]),  # the caller may edit it
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }

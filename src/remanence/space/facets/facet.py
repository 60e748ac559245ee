"""What `space.entities`, `space.graph`, `space.audit` and the other facets have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.index.memory_cache import retry_if_erased
from remanence.index.numbers import Position, Row
from remanence.recall.filters import RowFilter, filter_rows, row_filter
from remanence.recall.options import FilterOptions
from remanence.schema import Memory, Snapshot
from remanence.transfer.overview import ListedStatus, Overview

T = TypeVar("T")
AnyFacet = TypeVar("AnyFacet", bound="Facet")


class Facet:
    """A group of methods of one view of a space: knows the space, and the position and moment of the view."""

    def __init__(
        self, engine: Engine, space: str, position: Callable[[Index], Position], now: Callable[[], datetime]
    ) -> None:
        self._opened = engine
        self._space = space
        self._position = position
        self._now = now

    @property
    def _engine(self) -> Engine:
        """The engine. In a process that was forked meanwhile this raises, before any lock is touched."""
        self._opened.check_process()
        return self._opened

    def _facet(self, facet: type[AnyFacet]) -> AnyFacet:
        """Another group of methods of the same view."""
        return facet(self._engine, self._space, self._position, self._now)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._space!r}>"

    @contextmanager
    def _snapshot(self) -> Iterator[tuple[Index, Snapshot]]:
        """The index of the space, under its lock, and the state that this view knows."""
        with self._engine.open_index(self._space) as index, index.lock:
            yield index, index.snapshot(self._position(index), self._now())

    @retry_if_erased
    def _read_overview(self, read: Callable[[Overview], T]) -> T:
        """Call a function with the overview of this view."""
        with self._snapshot() as (index, snapshot):
            return read(Overview(index, snapshot))


class MemoryListing(Facet):
    """Lists the memories of a view, in the order in which they were written."""

    def _iterate(self, status: ListedStatus | None, filters: RowFilter) -> Iterator[Memory]:
        with self._engine.open_index(self._space) as index:
            rows = self._listed_rows(index, status, filters)
            for begin in range(0, len(rows), 500):
                yield from index.readable_memories(rows[begin : begin + 500])

    def _page_of_memories(
        self, status: ListedStatus | None, after: int, limit: int, **filters: Any
    ) -> list[tuple[Row, Memory]]:
        """Some of what `memories` lists: those with the rows after this one, each with its row."""
        row_filters = row_filter(FilterOptions(**filters), self._now(), self._engine.trust)
        with self._engine.open_index(self._space) as index:
            rows = sorted(row for row in self._listed_rows(index, status, row_filters) if row > after)
            page: list[tuple[Row, Memory]] = []
            while rows and len(page) < limit:
                batch, rows = rows[: limit - len(page)], rows[limit - len(page) :]
                memories = index.readable_memories(batch)
                if len(memories) < len(batch):  # one was erased meanwhile
                    batch = [row for row in batch if index.readable_memories([row])]
                    memories = index.readable_memories(batch)
                page += zip(batch, memories, strict=False)
            return page

    @retry_if_erased
    def _listed_rows(self, index: Index, status: ListedStatus | None, filters: RowFilter) -> Sequence[Row]:
        position, listed = self._position(index), index
        if filters.without is not None:  # as in a recall: what these rows superseded is current
            listed = index.without_rows(index.rows_from_sources(filters.without, position))
        with listed.lock:
            rows: Sequence[Row] = (
                listed.current_rows(position)
                if status is None
                else Overview(listed, listed.snapshot(position, self._now())).rows(status).tolist()
            )
        return filter_rows(filters, index, rows, position)

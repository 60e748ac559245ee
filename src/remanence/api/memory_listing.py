"""Which memories a view lists: all, or those with a status, filtered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from remanence.admin.overview import ListedStatus
from remanence.api.facets.facet import Facet
from remanence.core.index import Index
from remanence.core.row_filter import RowFilter, row_filter
from remanence.schema import Memory


class MemoryListing(Facet):
    """Lists the memories of a view, in the order in which they were written."""

    def _iterate(self, status: ListedStatus | None, filters: RowFilter) -> Iterator[Memory]:
        with self._engine.open_index(self._space) as index:
            rows = self._listed_rows(index, status, filters)
            for begin in range(0, len(rows), 500):
                yield from index.readable_memories(rows[begin : begin + 500])

    def _page_of_memories(
        self, status: ListedStatus | None, after: int, limit: int, **filters: Any
    ) -> list[tuple[int, Memory]]:
        """Some of what `memories` lists: those with the rows after this one, each with its row."""
        row_filters = row_filter(**filters, now=self._now())
        with self._engine.open_index(self._space) as index:
            rows = sorted(row for row in self._listed_rows(index, status, row_filters) if row > after)
            page: list[tuple[int, Memory]] = []
            while rows and len(page) < limit:
                batch, rows = rows[: limit - len(page)], rows[limit - len(page) :]
                memories = index.readable_memories(batch)
                if len(memories) < len(batch):  # one was erased meanwhile
                    batch = [row for row in batch if index.readable_memories([row])]
                    memories = index.readable_memories(batch)
                page += zip(batch, memories, strict=False)
            return page

    def _listed_rows(self, index: Index, status: ListedStatus | None, filters: RowFilter) -> Sequence[int]:
        if status is None:
            rows: Sequence[int] = index.current_rows(self._position(index))
        else:
            rows = self._read_overview(lambda overview: overview.rows(status).tolist())
        return filters.filter_rows(index, rows, self._position(index))

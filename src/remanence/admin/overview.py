"""The whole of a space: which memories there are, how each of them stands, and what it is tied to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index
from remanence.graph.known_entities import KnownEntities
from remanence.ports import Ledger
from remanence.read.supersession import current_mask, replacement_row
from remanence.schema import Link, Memory, Relation, Snapshot, format_moment

Status: TypeAlias = Literal["current", "superseded", "expired", "archived", "forgotten", "erased"]
STATUSES: tuple[Status, ...] = get_args(Status)
MAX_PAGE_SIZE = 1_000


@dataclass(frozen=True, slots=True)
class MemoryDetails:
    """A memory, in its last version that a view knows, with how it stands and what it is tied to.

    `status` is "erased" (then there is no `memory`), "forgotten", "archived" (by upkeep), "expired",
    "superseded" (another memory stands in its place, or all that it claims was ended) or "current".
    `relations` are those that it speaks for. Those of a memory that is forgotten or archived, and its links,
    have stepped back with it.
    """

    id: str
    status: Status
    memory: Memory | None
    versions: int = 1
    superseded_by: str | None = None
    relations: tuple[Relation, ...] = ()
    links_out: tuple[Link, ...] = ()
    links_in: tuple[Link, ...] = ()


@dataclass(frozen=True)
class _Several(Sequence[MemoryDetails]):
    items: tuple[MemoryDetails, ...]

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> MemoryDetails: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[MemoryDetails]: ...
    def __getitem__(self, index: int | slice) -> MemoryDetails | Sequence[MemoryDetails]:
        return self.items[index]


@dataclass(frozen=True)
class GraphPage(_Several):
    """Some of the memories of a status, in the order in which they were learned; there are `total` in all."""

    page: int
    page_size: int
    total: int


@dataclass(frozen=True)
class MemoryBatch(_Several):
    """The memories that were asked for, in that order, each once; `missing` says why the others are not."""

    missing: Mapping[str, str]


@dataclass(frozen=True)
class Stats:
    """A space in numbers. Printed, it is a table; `to_dict` is for machines.

    `memories` are counted by status, `kinds` are those of the current ones, `relations` and `links` also
    those that have ended. `children` are the spaces below it that hold anything: they are not counted in.
    What is on `disk`, in bytes, holds every space of the folder.
    """

    space: str
    memories: Mapping[str, int]
    kinds: Mapping[str, int]
    versions: int
    entities: int
    relations: int
    links: int
    jobs: Mapping[str, int]
    lines: int
    oldest: datetime | None
    newest: datetime | None
    embedder: str
    dimension: int | None
    unembedded: int
    broken: Mapping[str, str] = field(default_factory=dict)
    children: int = 0
    location: str | None = None
    disk: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many memories there are, whatever their status."""
        return sum(self.memories.values())

    def to_dict(self) -> dict[str, Any]:
        """As a plain dict that JSON can hold."""
        ends = {"oldest": self.oldest, "newest": self.newest}
        learned = {name: None if at is None else at.isoformat() for name, at in ends.items()}
        return {**asdict(self), "total": self.total, **learned}

    def __str__(self) -> str:
        rows = [
            ("space", self.space),
            ("memories", f"{self.total:,}{_listed(self.memories)}"),
            ("kinds", ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.items())),
            ("versions", f"{self.versions:,}"),
            ("entities", f"{self.entities:,}"),
            ("relations", f"{self.relations:,}"),
            ("links", f"{self.links:,}"),
            ("jobs", ", ".join(f"{count:,} {status}" for status, count in self.jobs.items())),
            ("ledger lines", f"{self.lines:,}"),
            ("learned", "" if self.oldest is None else f"{format_moment(self.oldest)} to {format_moment(self.newest)}"),
            ("embedder", self.embedder + (f", {self.dimension} dimensions" if self.dimension else "")),
            ("no vector yet", f"{self.unembedded:,} texts" if self.unembedded else ""),
            *((f"{signal} is broken", why) for signal, why in self.broken.items()),
            ("spaces below", f"{self.children:,}" if self.children else ""),
            ("folder", self.location or "none: gone with the process"),
            (
                "on disk",
                f"{format_bytes(sum(self.disk.values()))}{_listed(self.disk, format_bytes)}" if self.disk else "",
            ),
        ]
        return "\n".join(f"{name:<14} {value}" for name, value in rows if value)


class Overview:
    """All memories as one sight knows them. Use it under the lock of the index."""

    def __init__(self, index: Index, sight: Snapshot) -> None:
        self._index, self._sight, self._catalog = index, sight, index.catalog
        self._rows = self._catalog.last_rows(sight.position)

    def page(self, status: Status | Literal["all"], page: int, page_size: int) -> GraphPage:
        """One page of the memories of a status."""
        rows = self.rows(status)
        first = (page - 1) * page_size
        return GraphPage(self._tied(rows[first : first + page_size].tolist()), page, page_size, len(rows))

    def rows(self, status: Status | Literal["all"]) -> NDArray[np.int64]:
        """The memories of a status, each in its last version."""
        return self._rows if status == "all" else self._rows[self._having(status)]

    def get_many(self, ids: Sequence[str]) -> MemoryBatch:
        """These memories, as far as they are in sight."""
        rows: list[int] = []
        missing: dict[str, str] = {}
        for memory_id in dict.fromkeys(ids):
            number = self._catalog.number(memory_id)
            row = None if number is None else self._catalog.row_at(number, self._sight.position)
            if number is None or row is None:
                missing[memory_id] = "unknown"
            elif not self._sight.memory_mask[number]:
                missing[memory_id] = self._status(row)
            else:
                rows.append(row)
        return MemoryBatch(self._tied(rows), missing)

    def stats(self, ledger: Ledger, space: str, **about: Any) -> Stats:
        """Everything counted; `about` is what an index does not know."""
        index, sight, catalog = self._index, self._sight, self._catalog
        counts = {status: int(np.count_nonzero(self._having(status))) for status in STATUSES}
        known = catalog.row_count(sight.position)
        jobs = [job.status for job in index.journal.jobs.values() if job.position <= sight.position]
        return Stats(
            space=space,
            memories={status: count for status, count in counts.items() if count},
            kinds=catalog.count_kinds(self._rows[self._having("current")]),
            versions=known,
            entities=len(KnownEntities(index, sight.position).list_name_numbers(None)),
            relations=index.relations.count(sight),
            links=index.links.count(sight),
            jobs={status: jobs.count(status) for status in dict.fromkeys(jobs)},
            lines=ledger.count(space, up_to=sight.position),
            oldest=catalog.recorded_at(0) if known else None,
            newest=catalog.recorded_at(known - 1) if known else None,
            unembedded=len(index.vectors.missing_vectors),
            broken=dict(index.broken),
            **about,
        )

    @cached_property
    def _erased(self) -> NDArray[np.bool_]:
        return self._catalog.erased_mask(self._rows)

    @cached_property
    def _in_archive(self) -> NDArray[np.bool_]:
        return self._catalog.archived_mask(self._sight.position)

    @cached_property
    def _archived(self) -> NDArray[np.bool_]:
        return self._catalog.rows_among(self._in_archive)[self._rows]

    @cached_property
    def _forgotten(self) -> NDArray[np.bool_]:
        return ~self._sight.row_mask[self._rows] & ~self._erased & ~self._archived

    @cached_property
    def _expired(self) -> NDArray[np.bool_]:
        over = ~self._catalog.current(self._rows, self._sight.position, self._sight.now)
        return over & self._sight.row_mask[self._rows]

    @cached_property
    def _current(self) -> NDArray[np.bool_]:
        # Last, and only of those in question: what a memory's claims have come to takes a look at each.
        out = self._sight.row_mask[self._rows] & ~self._expired
        out[out] = current_mask(self._index, self._rows[out], self._sight)
        return out

    def _having(self, status: Status) -> NDArray[np.bool_]:
        """Which of the memories are of a status."""
        if status == "erased":
            return self._erased
        if status == "forgotten":
            return self._forgotten
        if status == "archived":
            return self._archived
        if status == "expired":
            return self._expired
        if status == "current":
            return self._current
        return ~(self._erased | self._forgotten | self._archived | self._expired | self._current)

    def _status(self, row: int) -> Status:
        if self._catalog.is_erased(self._catalog.memory_of(row)):
            return "erased"
        if not self._sight.row_mask[row]:
            return "archived" if self._in_archive[self._catalog.memory_of(row)] else "forgotten"
        one = np.array([row])
        if not self._catalog.current(one, self._sight.position, self._sight.now)[0]:
            return "expired"
        return "current" if current_mask(self._index, one, self._sight)[0] else "superseded"

    def _tied(self, rows: Sequence[int]) -> tuple[MemoryDetails, ...]:
        status = {row: self._status(row) for row in rows}
        worded = [row for row in rows if status[row] != "erased"]
        memories = dict(zip(worded, self._index.memories(worded), strict=True))
        relations = self._index.relations.supported_by_rows([r for r in worded if self._sight.row_mask[r]], self._sight)
        return tuple(self._one(row, status[row], memories.get(row), relations.get(row, ())) for row in rows)

    def _one(self, row: int, status: Status, memory: Memory | None, relations: Sequence[Relation]) -> MemoryDetails:
        number = self._catalog.memory_of(row)
        later = replacement_row(self._index, row, self._sight) if status == "superseded" else None
        versions = [v for v in self._catalog.rows_of(number) if v <= row]
        links = self._index.links
        return MemoryDetails(
            id=self._catalog.ids[number],
            status=status,
            memory=memory,
            versions=len(versions),
            superseded_by=None if later is None else self._catalog.ids[self._catalog.memory_of(later)],
            relations=tuple(relations),
            links_out=tuple(links.links_of(number, self._sight, direction="out")),
            links_in=tuple(links.links_of(number, self._sight, direction="in")),
        )


def disk_usage(folder: Path | None) -> dict[str, int]:
    """How many bytes of the disk a folder's ledger, indexes and vectors take, and what else is there."""
    out: dict[str, int] = {}
    if folder is None:
        return out
    for above, _, names in os.walk(folder):
        below = Path(above).relative_to(folder).parts
        for name in names:
            what = below[0] if below else "ledger" if name.startswith("ledger.db") else "other"
            try:
                out[what] = out.get(what, 0) + _taken(Path(above, name))
            except FileNotFoundError:
                continue  # an index at work: it was there a moment ago
    return out


def format_bytes(count: int) -> str:
    """So many bytes, as a person says it.

    >>> format_bytes(512), format_bytes(2_500_000)
    ('512 bytes', '2.5 MB')
    """
    for unit, above in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(count) >= above:
            return f"{count / above:.1f} {unit}"
    return f"{count} bytes"


def _taken(path: Path) -> int:
    found = path.stat()
    # Not its length: files of vectors are mostly holes, which take no room.
    return found.st_blocks * 512 if hasattr(found, "st_blocks") else found.st_size


def _listed(counts: Mapping[str, int], shown: Any = "{:,}".format) -> str:
    inside = ", ".join(f"{shown(count)} {what}" for what, count in counts.items())
    return f" ({inside})" if inside else ""

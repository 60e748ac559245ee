"""The memories of a space: their status and what they are connected to, page by page; and their number."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from remanence.graph.graph_at_time import KnownEntities
from remanence.index.contents import IndexContents
from remanence.index.index import Index
from remanence.index.index_file import index_path
from remanence.index.numbers import Row
from remanence.index.vectors.stores import folder_name
from remanence.operating_system import bytes_on_disk
from remanence.ports import Ledger
from remanence.recall.show import MEMORY_COLUMNS, TIMES, USAGE_COLUMNS, memory_record, usage_record
from remanence.recall.validity.superseded import replacement_row, rows_in_conflict, unsuperseded_mask
from remanence.schema import HitUsage, Link, Memory, Relation, Snapshot, format_moment, from_micros
from remanence.schema.display import data_frame, html_table

if TYPE_CHECKING:
    import pandas

MemoryStatus: TypeAlias = Literal["current", "superseded", "expired", "archived", "forgotten", "quarantined", "erased"]
STATUSES: tuple[MemoryStatus, ...] = get_args(MemoryStatus)
ListedStatus: TypeAlias = Literal[
    "current", "superseded", "expired", "archived", "forgotten", "quarantined", "promoted"
]
"""Which memories `memories` lists: those of a status, or the current ones that were promoted."""
LISTED_STATUSES: tuple[ListedStatus, ...] = get_args(ListedStatus)
PageStatus: TypeAlias = MemoryStatus | Literal["promoted", "unpromoted", "all"]
PAGE_STATUSES: tuple[PageStatus, ...] = (*STATUSES, "promoted", "unpromoted", "all")
_DETAIL_COLUMNS = (
    *("text", "status", *USAGE_COLUMNS, "versions", "superseded_by", "promoted_at", "note"),
    *("relations", "links_out", "links_in"),
)
MAX_PAGE_SIZE = 1_000
_CURRENT, _SUPERSEDED, _EXPIRED, _ARCHIVED, _FORGOTTEN, _QUARANTINED, _ERASED = range(len(STATUSES))


@dataclass(frozen=True, slots=True)
class MemoryDetails:
    """A memory in its last version, with its status and what it is connected to.

    `status` is "erased" (then `memory` is None), "forgotten", "quarantined" (with its source), "archived" (by upkeep),
    "expired", "superseded" (another memory replaces it, or all its claims have ended) or "current". `relations` are
    those that it is evidence for. A hidden memory has no relations and no links. `promoted_at` is when upkeep promoted
    it, `note` its file in the vault, if it has one. `usage` is how it was used; a view of the past has none.
    """

    id: str
    status: MemoryStatus
    memory: Memory | None
    versions: int = 1
    superseded_by: str | None = None
    relations: tuple[Relation, ...] = ()
    links_out: tuple[Link, ...] = ()
    links_in: tuple[Link, ...] = ()
    promoted_at: datetime | None = None
    note: str | None = None
    usage: HitUsage | None = field(default=None, compare=False)


@dataclass(frozen=True)
class MemorySequence(Sequence[MemoryDetails]):
    """Memories with their details."""

    items: tuple[MemoryDetails, ...]

    def to_df(self) -> pandas.DataFrame:
        """The memories as a data frame, a row for each; relations and links are counted. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        columns = dict.fromkeys((*_DETAIL_COLUMNS, *MEMORY_COLUMNS))
        return data_frame(map(_details_record, self.items), tuple(columns), {*TIMES, "promoted_at"})

    def _repr_html_(self) -> str:
        rows = [
            (item.id, item.status, "" if item.memory is None else item.memory.text, len(item.relations), len(links))
            for item in self.items
            for links in [(*item.links_out, *item.links_in)]
        ]
        return html_table("", ("id", "status", "memory", "relations", "links"), rows)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> MemoryDetails: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[MemoryDetails]: ...
    def __getitem__(self, index: int | slice) -> MemoryDetails | Sequence[MemoryDetails]:
        return self.items[index]


@dataclass(frozen=True)
class MemoryPage(MemorySequence):
    """One page of the memories of a status, in the order in which they were learned; there are `total` in all."""

    page: int
    page_size: int
    total: int


@dataclass(frozen=True)
class MemoryBatch(MemorySequence):
    """The requested memories, in that order, each once; `missing` says why the others are not there."""

    missing: Mapping[str, str]


@dataclass(frozen=True)
class Stats:
    """A space in numbers. Printed, it is a table; `to_dict` is for JSON.

    Attributes:
        memories: How many memories there are, by status.
        kinds: How many current memories there are, by kind.
        versions: How many versions all memories have together.
        relations: How many relations there are, including ended ones.
        links: How many links there are, including ended ones.
        jobs: How many jobs there are, by status.
        entries: How many ledger entries the space has.
        first_recorded_at: When the first memory was recorded.
        last_recorded_at: When the last version of a memory was recorded.
        dimension: The dimension of its vectors; None before the first text.
        unembedded: How many texts have no vector yet.
        broken: The signals that do not work, each with the reason.
        children: How many spaces are below this one. Their memories are not counted.
        location: The folder or database; None if everything is in memory.
        disk: Bytes on disk: the ledger, which all spaces of the folder share, and the index and vector files of this
            space. A small space has no such files.
    """

    space: str
    memories: Mapping[str, int]
    kinds: Mapping[str, int]
    versions: int
    entities: int
    relations: int
    links: int
    jobs: Mapping[str, int]
    entries: int
    first_recorded_at: datetime | None
    last_recorded_at: datetime | None
    embedder: str
    dimension: int | None
    unembedded: int
    broken: Mapping[str, str] = field(default_factory=dict)
    children: int = 0
    location: str | None = None
    disk: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many memories there are, of any status."""
        return sum(self.memories.values())

    def to_dict(self) -> dict[str, Any]:
        """The numbers as a dict for JSON."""
        first, last = (moment and moment.isoformat() for moment in (self.first_recorded_at, self.last_recorded_at))
        return {**asdict(self), "total": self.total, "first_recorded_at": first, "last_recorded_at": last}

    def __str__(self) -> str:
        return "\n".join(f"{name:<14} {value}" for name, value in self._rows())

    def _repr_html_(self) -> str:
        return html_table("", (), self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        learned = (
            ""
            if self.first_recorded_at is None
            else f"{format_moment(self.first_recorded_at)} to {format_moment(self.last_recorded_at)}"
        )
        disk = f"{format_bytes(sum(self.disk.values()))}{_in_brackets(self.disk, format_bytes)}"
        rows = [
            ("space", self.space),
            ("memories", f"{self.total:,}{_in_brackets(self.memories)}"),
            ("kinds", ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.items())),
            *((name, f"{getattr(self, name):,}") for name in ("versions", "entities", "relations", "links")),
            ("jobs", ", ".join(f"{count:,} {status}" for status, count in self.jobs.items())),
            ("ledger entries", f"{self.entries:,}"),
            ("learned", learned),
            ("embedder", self.embedder + (f", {self.dimension} dimensions" if self.dimension else "")),
            ("no vector yet", f"{self.unembedded:,} texts" if self.unembedded else ""),
            *((f"{signal} is broken", reason) for signal, reason in self.broken.items()),
            ("spaces below", f"{self.children:,}" if self.children else ""),
            ("folder", self.location or "none: in memory only"),
            ("on disk", disk if self.disk else ""),
        ]
        return [(name, value) for name, value in rows if value]


@dataclass(slots=True)
class RowStates:
    """The status of each memory at a position, from one moment until another, and which are in conflict, once asked."""

    position: int
    since: datetime
    until: datetime
    statuses: NDArray[np.int64]
    in_conflict: NDArray[np.int64] | None = None


_STATES: WeakKeyDictionary[IndexContents, RowStates] = WeakKeyDictionary()
_LONGEST = timedelta(minutes=1)
"""The longest time after which the states are read again: relations may end at a moment that no memory names."""


class Overview:
    """All memories of one snapshot. To be used under the lock of the index."""

    def __init__(self, index: Index, snapshot: Snapshot) -> None:
        self._index, self._snapshot, self._catalog = index, snapshot, index.catalog
        self._rows = self._catalog.last_rows(snapshot.position)

    def page(self, status: PageStatus, page: int, page_size: int) -> MemoryPage:
        """One page of the memories of a status."""
        rows = self.rows(status)
        begin = (page - 1) * page_size
        return MemoryPage(self._details(rows[begin : begin + page_size]), page, page_size, len(rows))

    def rows(self, status: PageStatus) -> NDArray[np.int64]:
        """The last version of each memory of a status."""
        if status == "all":
            return self._rows
        if status in ("promoted", "unpromoted"):
            promoted, catalog, current = self._promotions(), self._catalog, self.rows("current")
            mask = [catalog.ids[catalog.memory_of(row)] in promoted for row in current.tolist()]
            chosen: NDArray[np.int64] = current[np.array(mask, np.bool_) == (status == "promoted")]
            return chosen
        rows: NDArray[np.int64] = self._rows[self.all_statuses() == STATUSES.index(status)]
        return rows

    def get_many(self, ids: Sequence[str]) -> MemoryBatch:
        """These memories, without those that are hidden or unknown."""
        rows: list[int] = []
        missing: dict[str, str] = {}
        for memory_id in dict.fromkeys(ids):
            number = self._catalog.number(memory_id)
            row = None if number is None else self._catalog.row_at(number, self._snapshot.position)
            if number is None or row is None:
                missing[memory_id] = "unknown"
            elif not self._snapshot.memory_mask[number]:
                missing[memory_id] = STATUSES[self.statuses(np.array([row]))[0]]
            else:
                rows.append(row)
        return MemoryBatch(self._details(np.array(rows, np.int64)), missing)

    def stats(self, ledger: Ledger, space: str, **other: Any) -> Stats:
        """The numbers of the space; `other` are the fields that an index does not have."""
        index, snapshot, catalog = self._index, self._snapshot, self._catalog
        statuses = self.all_statuses()
        counts = np.bincount(statuses, minlength=len(STATUSES)).tolist()
        versions = catalog.row_count(snapshot.position)
        jobs = [job.status for job in index.journal.jobs.values() if job.position <= snapshot.position]
        return Stats(
            space=space,
            memories={status: count for status, count in zip(STATUSES, counts, strict=True) if count},
            kinds=catalog.attributes.count_kinds(self._rows[statuses == _CURRENT]),
            versions=versions,
            entities=len(KnownEntities(index, snapshot.position).list_name_numbers(None)),
            relations=index.relations.count(snapshot),
            links=index.links.count(snapshot),
            jobs={status: jobs.count(status) for status in dict.fromkeys(jobs)},
            entries=ledger.count(space, up_to=snapshot.position),
            first_recorded_at=catalog.times.recorded_at(Row(0)) if versions else None,
            last_recorded_at=catalog.times.recorded_at(Row(versions - 1)) if versions else None,
            unembedded=len(index.vectors.sync.missing_vectors),
            broken=dict(index.broken),
            **other,
        )

    def _promotions(self) -> Mapping[str, int]:
        """The memories that are promoted, and when, in microseconds."""
        return self._index.usage.promotions(self._snapshot.position)

    def all_statuses(self) -> NDArray[np.int64]:
        """The status of each of `rows("all")`, as its place in STATUSES."""
        return self._states().statuses

    def rows_in_conflict(self) -> NDArray[np.int64]:
        """The visible rows that cannot hold together with another visible row."""
        states = self._states()
        if states.in_conflict is None:
            states.in_conflict = np.array(rows_in_conflict(self._index, self._snapshot), np.int64)
        return states.in_conflict

    def _states(self) -> RowStates:
        """What is kept of this snapshot for the next question: pages of a table are asked for one after the other."""
        contents, snapshot = self._index.contents, self._snapshot
        known = _STATES.get(contents)
        if known is None or known.position != snapshot.position or not known.since <= snapshot.now < known.until:
            until = self._catalog.times.next_change(snapshot.now) or snapshot.now + _LONGEST
            known = RowStates(
                snapshot.position, snapshot.now, min(until, snapshot.now + _LONGEST), self.statuses(self._rows)
            )
            _STATES[contents] = known
        return known

    def statuses(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The status of each row, as its place in STATUSES."""
        catalog, snapshot = self._catalog, self._snapshot
        visible = snapshot.row_mask[rows]
        expired = ~catalog.current_mask(rows, snapshot.position, snapshot.now)
        archived = catalog.rows_of_memories(catalog.archived_mask(snapshot.position))[rows]
        statuses = np.where(visible, np.where(expired, _EXPIRED, _CURRENT), np.where(archived, _ARCHIVED, _FORGOTTEN))
        quarantined = [catalog.number(id_) for id_ in self._index.journal.quarantined_at(snapshot.position)]
        if quarantined:
            hidden = statuses == _FORGOTTEN
            statuses[hidden & np.isin(catalog.memory_numbers[rows], [n for n in quarantined if n is not None])] = (
                _QUARANTINED
            )
        statuses[catalog.erased_mask(rows)] = _ERASED
        active = np.flatnonzero(statuses == _CURRENT)
        statuses[active[~unsuperseded_mask(self._index, rows[active], snapshot)]] = _SUPERSEDED
        return statuses

    def _details(self, rows: NDArray[np.int64]) -> tuple[MemoryDetails, ...]:
        index, snapshot, catalog = self._index, self._snapshot, self._catalog
        statuses = dict(zip(rows.tolist(), self.statuses(rows).tolist(), strict=True))
        readable = [row for row, status in statuses.items() if status != _ERASED]
        memories = dict(zip(readable, index.memories(readable), strict=True))
        relations = index.relations.supported_by_rows([r for r in readable if snapshot.row_mask[r]], snapshot)
        details = []
        promoted, notes = self._promotions(), index.usage.promoted_notes
        for row, status in statuses.items():
            number = catalog.memory_of(row)
            id_ = catalog.ids[number]
            replacement = replacement_row(index, row, snapshot) if status == _SUPERSEDED else None
            details.append(
                MemoryDetails(
                    id=id_,
                    status=STATUSES[status],
                    memory=memories.get(row),
                    versions=sum(version <= row for version in catalog.rows_of(number)),
                    superseded_by=None if replacement is None else catalog.ids[catalog.memory_of(replacement)],
                    relations=tuple(relations.get(row, ())),
                    links_out=tuple(index.links.links_of(number, snapshot, direction="out")),
                    links_in=tuple(index.links.links_of(number, snapshot, direction="in")),
                    promoted_at=from_micros(promoted[id_]) if id_ in promoted else None,
                    note=notes[id_] if id_ in promoted else None,
                )
            )
        return tuple(details)


def _details_record(details: MemoryDetails) -> dict[str, Any]:
    counts = {name: len(getattr(details, name)) for name in ("relations", "links_out", "links_in")}
    same = ("id", "status", "versions", "superseded_by", "promoted_at", "note")
    return {
        **({} if details.memory is None else memory_record(details.memory)),
        **usage_record(details.usage),
        **{name: getattr(details, name) for name in same},
        **counts,
    }


def disk_usage(folder: Path | None) -> dict[str, int]:
    """The bytes on disk of the ledger, the indexes, the vectors and other files of a folder."""
    sizes: dict[str, int] = {}
    if folder is None:
        return sizes
    for parent, _, names in os.walk(folder):
        below = Path(parent).relative_to(folder).parts
        for name in names:
            kind = below[0] if below else "ledger" if name.startswith("ledger.") else "other"
            sizes[kind] = sizes.get(kind, 0) + _bytes_on_disk(Path(parent, name))
    return sizes


def space_disk_usage(folder: Path | None, space: str) -> dict[str, int]:
    """The bytes on disk of the ledger, which all spaces share, and of the index and the vectors of one space."""
    if folder is None:
        return {}
    index, vectors = index_path(folder, space), folder / "vectors" / folder_name(space)
    files = {
        "ledger": folder.glob("ledger.*"),
        "index": index.parent.glob(f"{index.stem}.*"),
        "vectors": (Path(parent, name) for parent, _, names in os.walk(vectors) for name in names),
    }
    sizes = {kind: sum(map(_bytes_on_disk, paths)) for kind, paths in files.items()}
    return {kind: size for kind, size in sizes.items() if size}


def _bytes_on_disk(path: Path) -> int:
    try:
        info = path.stat()
    except FileNotFoundError:
        return 0  # an index in use has deleted it meanwhile
    return bytes_on_disk(info)  # files of vectors are sparse


def format_bytes(count: int) -> str:
    """A number of bytes with a unit: 512 bytes, 2.5 MB."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(count) >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _in_brackets(counts: Mapping[str, int], format_count: Callable[[int], str] = "{:,}".format) -> str:
    inside = ", ".join(f"{format_count(count)} {name}" for name, count in counts.items())
    return f" ({inside})" if inside else ""

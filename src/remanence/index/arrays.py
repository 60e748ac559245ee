"""Growing numpy arrays, numbered values, and their form in index files; and whole numbers in groups that only grow: the
documents of each word, the edges of each vertex.

The base of the groups is packed by group. What is new is appended to a tail, which is searched directly. A long tail is
packed: into a small base at once, into a large one in a thread. A graph is made of such groups: which edges meet at a
vertex.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Sized
from itertools import islice, pairwise
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from remanence.index.numbers import Position
from remanence.schema import OPEN_END

T = TypeVar("T", bound=Hashable)

_MIN_CAPACITY = 16
"""Values for which a new column has room; it grows from there by a factor."""
MAX_UNRESERVED_VALUES = 4_096
"""Values of a column up to which it reserves capacity only when it grows. Columns loaded with more reserve it at once,
so that adding the first memory does not reallocate them all."""


class Column:
    """A numpy array that grows at its end."""

    __slots__ = ("_data", "values")

    values: NDArray[Any]
    """The present content. It is a view: it shows later writes, but not later growth."""

    def __init__(
        self, dtype: type[np.generic] | np.dtype[Any], values: NDArray[Any] | None = None, *, width: int = 0
    ) -> None:
        """`values` belong to this column from now on."""
        if values is None:
            self._data = self.values = np.empty((0, width) if width else 0, dtype)
            return
        self._data = self.values = values if values.dtype == dtype else np.asarray(values, dtype)
        if len(values) > MAX_UNRESERVED_VALUES:
            self._reserve(len(values))
            self.values = self._data[: len(values)]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, places: Any) -> Any:
        return self.values[places]

    @property
    def reserved_bytes(self) -> int:
        """How much memory it takes, with the room for what is added next."""
        return self._data.nbytes

    def append(self, value: Any) -> None:
        self.fill(1, value)

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        if len(values):
            self.fill(len(values), values)

    def fill(self, count: int, value: Any) -> None:
        """Add this many rows, all with one value, or each with its own."""
        size = len(self.values) + count
        if size > len(self._data):
            self._reserve(size)
        self._data[size - count : size] = value
        self.values = self._data[:size]

    def _reserve(self, size: int) -> None:
        larger = max(size, size * 5 // 4, _MIN_CAPACITY)
        grown = np.empty((larger, *self._data.shape[1:]), dtype=self._data.dtype)
        grown[: len(self.values)] = self.values
        self._data = grown


class PackedTexts:
    """The texts of a list that only grows, as an array for index files. Each call of `array` packs only those that are
    new, so that saving a million of them takes no longer than saving a few.

    >>> packed = PackedTexts()
    >>> PackedTexts.unpack(packed.array(["São", ""])), PackedTexts.unpack(packed.array(["São", "", "José"]))
    (['São', ''], ['São', '', 'José'])
    """

    __slots__ = ("_count", "_data")

    def __init__(self, array: NDArray[np.uint8] | None = None, count: int = 0) -> None:
        self._data: Column | None = None if array is None else Column(np.uint8, array)
        self._count = count

    def array(self, texts: Collection[str]) -> NDArray[np.uint8]:
        """The texts as an array, which does not change later. They begin with those of the last call."""
        if self._data is None:
            self._data = Column(np.uint8)
        new = texts[self._count :] if isinstance(texts, list) else list(islice(texts, self._count, None))
        if new:
            encoded = b"".join([text.encode("utf-8", "surrogatepass") + _END for text in new])
            self._data.extend(np.frombuffer(encoded, np.uint8))
            self._count = len(texts)
        return self._data.values

    @staticmethod
    def unpack(array: NDArray[np.uint8]) -> list[str]:
        raw = array.tobytes()
        if b"\0" in raw:
            return [part.decode("utf-8", "surrogatepass") for part in raw.split(_END)[:-1]]
        # The same, several times faster.
        return raw.replace(_END, b"\0").decode("utf-8", "surrogatepass").split("\0")[:-1]


class TextList(list[str]):
    """A list of texts that only grows."""

    def __init__(self, texts: Iterable[str] = (), packed: NDArray[np.uint8] | None = None) -> None:
        super().__init__(texts)
        self.packed = PackedTexts(packed, 0 if packed is None else len(self))

    @classmethod
    def from_array(cls, array: NDArray[np.uint8]) -> TextList:
        return cls(PackedTexts.unpack(array), array)


_END = b"\xff"
"""Ends each packed text: a byte that is in no text in UTF-8."""


class Interner(Generic[T]):
    """Values numbered in the order in which they were added."""

    def __init__(self, values: Iterable[T] = (), packed: NDArray[np.uint8] | None = None) -> None:
        """A list of values belongs to this interner from now on."""
        self.values: list[T] = values if isinstance(values, list) else list(values)
        self.packed = PackedTexts(packed, 0 if packed is None else len(self.values))
        self._numbers = dict(zip(self.values, range(len(self.values)), strict=True))

    @classmethod
    def from_array(cls, array: NDArray[np.uint8]) -> Interner[str]:
        return Interner(PackedTexts.unpack(array), array)

    def __len__(self) -> int:
        return len(self.values)

    def number(self, value: T) -> int | None:
        return self._numbers.get(value)

    def intern(self, value: T) -> int:
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def pack(value: Any) -> NDArray[np.uint8]:
    """A JSON value as an array (index files contain only arrays, so that no pickle is ever read)."""
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpack(array: NDArray[np.uint8]) -> Any:
    return json.loads(array.tobytes().decode("utf-8", "surrogatepass"))


def pack_columns(columns: Mapping[str, Column]) -> NDArray[np.uint8]:
    """A column of whole numbers for each of several texts as an array: their number, their sizes, the columns, the
    texts."""
    sizes = np.array([len(column) for column in columns.values()], "<i8")
    values = [column.values.astype("<i8").view(np.uint8) for column in columns.values()]
    names = PackedTexts().array(columns)
    return np.concatenate((np.array([len(sizes)], "<i8").view(np.uint8), sizes.view(np.uint8), *values, names))


def unpack_columns(array: NDArray[np.uint8]) -> dict[str, Column]:
    """
    >>> packed = pack_columns({"a": Column(np.int64, np.array([1, 2])), "b": Column(np.int64)})
    >>> {name: column.values.tolist() for name, column in unpack_columns(packed).items()}
    {'a': [1, 2], 'b': []}
    """
    count = int(array[:8].view("<i8")[0])
    ends = [0, *array[8 : 8 * (count + 1)].view("<i8").cumsum().tolist()]
    first = 8 * (count + 1)
    values = array[first : first + 8 * ends[-1]].view("<i8")
    columns = (Column(np.int64, values[start:end]) for start, end in pairwise(ends))
    return dict(zip(PackedTexts.unpack(array[first + 8 * ends[-1] :]), columns, strict=True))


def split_bytes(array: NDArray[np.uint8], size: int) -> list[bytes]:
    """The bytes of an array in pieces of one size."""
    raw = array.tobytes()
    return [raw[begin : begin + size] for begin in range(0, len(raw), size)]


def round_to_half(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """These numbers, each rounded to one that float16 has."""
    return rows.astype(np.float16).astype(np.float32)


def to_tuples(value: Any) -> Any:
    """An unpacked value with tuples in place of lists."""
    return tuple(map(to_tuples, value)) if isinstance(value, list) else value


class Codec(NamedTuple):
    """How a value is turned into an array for the index file, and back."""

    to_array: Callable[[Any], NDArray[Any]]
    from_array: Callable[[NDArray[Any]], Any]


JSON = Codec(pack, unpack)
TEXTS = Codec(lambda texts: PackedTexts().array(texts), PackedTexts.unpack)
DICT_CODEC = Codec(lambda values: pack(list(values.items())), lambda array: dict(unpack(array)))
"""For a dictionary whose keys are not strings."""
GROWING_TEXTS = Codec(lambda texts: texts.packed.array(texts), TextList.from_array)
COLUMNS = Codec(pack_columns, unpack_columns)
TUPLES = Codec(pack, lambda array: list(to_tuples(unpack(array))))
INTERNED = Codec(lambda interner: interner.packed.array(interner.values), lambda array: Interner.from_array(array))
COLUMN = Codec(lambda column: column.values.copy(), lambda array: Column(array.dtype, array))
"""For a column whose values may change."""
GROWING = Codec(lambda column: column.values, lambda array: Column(array.dtype, array))
"""For a column that is only continued at its end: it is not copied while others wait."""


def named_tuple_codec(kind: Callable[..., Any]) -> Codec:
    """For a dictionary of named tuples of this kind."""
    return Codec(DICT_CODEC.to_array, lambda array: {key: kind(*to_tuples(values)) for key, values in unpack(array)})


class SavedPart:
    """A part of an index; `_saved` lists the attributes that the index file contains, except those that are empty: in a
    small space most are."""

    saves_stable_arrays = True
    _saved: ClassVar[Mapping[str, Codec]]

    def save(self) -> Mapping[str, NDArray[Any]]:
        values = ((name, codec, getattr(self, name)) for name, codec in self._saved.items())
        return {
            name: codec.to_array(value) for name, codec, value in values if not isinstance(value, Sized) or len(value)
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the saved values. The part is empty, as it was made."""
        for name, array in arrays.items():
            setattr(self, name, self._saved[name].from_array(array))


def run_starts(values: NDArray[Any]) -> NDArray[np.int64]:
    """The index of the first occurrence of each value in a sorted array."""
    changes = np.empty(len(values), np.bool_)
    changes[:1] = True
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes.nonzero()[0]


def top_indices(scores: NDArray[Any], limit: int) -> NDArray[np.int64]:
    """The indexes of the `limit` highest scores, highest first; equal scores by index.

    >>> top_indices(np.array([1.0, 3.0, 3.0, 2.0]), 3).tolist()
    [1, 2, 3]
    """
    if limit <= 0:
        return np.empty(0, np.int64)
    if limit < len(scores):
        # argpartition may choose any of several equal scores: take all of them, then sort.
        floor = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        indices = np.flatnonzero(scores >= floor)
        return indices[np.argsort(-scores[indices], kind="stable")[:limit]]
    return np.argsort(-scores, kind="stable")


class BackgroundBuild(Generic[T]):
    """Makes one value at a time. What it is made of must not change meanwhile. Use it under a lock.

    >>> build = BackgroundBuild[int]()
    >>> build.start(lambda: 6 * 7)
    >>> build.wait()
    >>> build.pop_result(), build.pop_result()
    (42, None)
    """

    __slots__ = ("_made", "_thread")

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._made: list[T] = []

    def start(self, make: Callable[[], T]) -> None:
        """Make another value, unless one is being made or waits to be taken."""
        if (self._thread is not None and self._thread.is_alive()) or self._made:
            return
        made = self._made
        self._thread = threading.Thread(target=lambda: made.append(make()), name="remanence-index", daemon=True)
        self._thread.start()

    def pop_result(self) -> T | None:
        """The value, once, as soon as it is made; else None."""
        return self._made.pop() if self._made else None

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def cancel(self) -> None:
        """Do not use what is being made."""
        self._thread, self._made = None, []


_MAX_TAIL = 2_048
"""Numbers that a tail has at most before it is packed, and one more for every 32 numbers in the base."""
_PACKED_AT_ONCE = 1 << 18
"""Numbers of the longest base that is packed while others wait: it takes a few milliseconds."""

Members = NDArray[np.int32]


class _Packed(NamedTuple):
    """Where the members of each group begin, the members, and how often each was added."""

    starts: NDArray[np.int64]
    members: Members
    counts: Members


class Grouped:
    """The members of each group in ascending order, in which they are added."""

    def __init__(self) -> None:
        self._base = _Packed(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
        self._tail_groups, self._tail_members = Column(np.int32), Column(np.int32)
        self._build: BackgroundBuild[tuple[_Packed, int]] = BackgroundBuild()

    def extend(self, groups: Sequence[int] | NDArray[np.int32], members: Members) -> None:
        """Add a member to each of these groups. No member is less than one before it."""
        self._tail_groups.extend(groups)
        self._tail_members.extend(members)

    def lookup(self, group: int) -> tuple[Members, Members]:
        """The members of a group, and how often each was added to it."""
        members, counts = self._packed(group)
        places = np.flatnonzero(self._tail_groups.values == group)
        if not len(places):
            return members, counts
        new = self._tail_members.values[places]
        firsts = run_starts(new)
        return np.concatenate((members, new[firsts])), np.concatenate((counts, np.diff(firsts, append=len(new))))

    def members_of_each(self, groups: Sequence[int]) -> list[list[int]]:
        """The members of each of these groups. The tail is searched once for all."""
        newer: dict[int, dict[int, None]] = {}
        if len(self._tail_groups):
            tail = self._tail_groups.values
            places = np.flatnonzero(np.isin(tail, groups) if len(groups) > 1 else tail == np.int32(groups[0]))
            for group, member in zip(tail[places].tolist(), self._tail_members.values[places].tolist(), strict=True):
                newer.setdefault(group, {})[member] = None
        return [self._packed(group)[0].tolist() + list(newer.get(group, ())) for group in groups]

    def pack_if_needed(self) -> None:
        """Pack a long tail, or use what was packed meanwhile."""
        if (made := self._build.pop_result()) is not None:
            self._set_base(*made)
        if len(self._tail_groups) > _MAX_TAIL + len(self._base.members) // 32:
            if len(self._base.members) <= _PACKED_AT_ONCE:
                self.pack()
            else:
                base, groups, members = self._base, self._tail_groups.values, self._tail_members.values
                self._build.start(lambda: (_merged(base, groups, members), len(groups)))

    def pack(self) -> None:
        """Merge the whole tail into the base."""
        self._build.cancel()
        groups = self._tail_groups.values
        if len(groups):
            self._set_base(_merged(self._base, groups, self._tail_members.values), len(groups))

    def save(self) -> Mapping[str, NDArray[Any]]:
        if len(self._base.members) <= _PACKED_AT_ONCE:
            self.pack()  # a tail that is loaded is searched for each group
        tail = {"tail_groups": self._tail_groups.values, "tail_members": self._tail_members.values}
        return {**self._base._asdict(), **tail}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        # Copies: a view would keep the whole content of the index file in memory.
        self._base = _Packed(*(arrays[name].copy() for name in _Packed._fields))
        self.extend(arrays["tail_groups"], arrays["tail_members"])

    def _packed(self, group: int) -> tuple[Members, Members]:
        base, packed = self._base, slice(0, 0)
        if group + 1 < len(base.starts):
            packed = slice(base.starts.item(group), base.starts.item(group + 1))
        return base.members[packed], base.counts[packed]

    def _set_base(self, base: _Packed, from_tail: int) -> None:
        """Use a base that contains this many of the tail."""
        self._base = base
        groups, members = self._tail_groups.values[from_tail:], self._tail_members.values[from_tail:]
        self._tail_groups, self._tail_members = Column(np.int32, groups), Column(np.int32, members)


def _merged(base: _Packed, groups: NDArray[np.int32], members: Members) -> _Packed:
    """The base with a tail: the members of each group there come after those that the group has."""
    order = np.argsort(groups, kind="stable")
    groups, members = groups[order], members[order]
    firsts = run_starts(groups.astype(np.int64) << 32 | members)
    groups, members, counts = groups[firsts], members[firsts], np.diff(firsts, append=len(groups))
    ends = np.full(max(len(base.starts) - 1, int(groups[-1]) + 1), len(base.members), np.int64)
    ends[: len(base.starts) - 1] = base.starts[1:]
    added = np.bincount(groups, minlength=len(ends)).cumsum()
    return _Packed(
        np.concatenate(([0], ends + added)),
        np.insert(base.members, ends[groups], members),
        np.insert(base.counts, ends[groups], counts),
    )


class Adjacency:
    """Edges by number, in the order in which they were added."""

    def __init__(self, endpoints: NDArray[Any] | None = None) -> None:
        self._endpoints = Column(np.int32, endpoints, width=2)
        self._by_vertex = Grouped()
        self._indexed = 0  # how many edges are in there

    def __len__(self) -> int:
        return len(self._endpoints)

    @property
    def endpoints(self) -> NDArray[np.int32]:
        return self._endpoints.values

    def extend(self, endpoints: Sequence[tuple[int, int]]) -> None:
        """Add edges."""
        self._endpoints.extend(endpoints)

    def edges_of(self, vertex: int) -> list[int]:
        """The edges at a vertex, oldest first; one from a vertex to itself is there once."""
        return self.edges_of_each((vertex,))[0]

    def edges_of_each(self, vertices: Iterable[int]) -> list[list[int]]:
        """The edges at each of these vertices."""
        if self._indexed < len(self):
            begin, self._indexed = self._indexed, len(self)
            numbers = np.arange(begin, self._indexed, dtype=np.int32).repeat(2)
            self._by_vertex.extend(self.endpoints[begin:].reshape(-1), numbers)
        self._by_vertex.pack_if_needed()
        found = list(vertices)
        return self._by_vertex.members_of_each(found) if found else []


class EdgeEnds:
    """When edges were ended by an `Invalidated` event, by ledger position."""

    def __init__(self, stored: Iterable[tuple[int, Iterable[tuple[int, int]]]] = ()) -> None:
        self._by_edge = {edge: [(position, end) for position, end in ends] for edge, ends in stored}

    def __len__(self) -> int:
        return len(self._by_edge)

    def stored(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """What another one is made of."""
        return list(self._by_edge.items())

    def add(self, edge: int, position: Position, end: int) -> None:
        self._by_edge.setdefault(edge, []).append((position, end))

    def copy(self, edge: int, to: int) -> None:
        """Give an edge the endings of another one."""
        if edge in self._by_edge:
            self._by_edge[to] = list(self._by_edge[edge])

    def end_of(self, edge: int, position: Position) -> int:
        """When an edge was ended, in microseconds, as known at a position; OPEN_END if it was not."""
        ends = self._by_edge.get(edge)
        if ends is None:  # nearly always
            return OPEN_END
        return min((end for ended_at, end in ends if ended_at <= position), default=OPEN_END)

    def positions_of(self, edge: int) -> list[int]:
        return [position for position, _ in self._by_edge.get(edge, ())]

    def ended_edges(self, position: Position, moment: int) -> list[int]:
        """The edges that had ended by a moment, as known at a position."""
        return [edge for edge in self._by_edge if self.end_of(edge, position) <= moment]


GRAPH = Codec(lambda graph: graph.endpoints, Adjacency)
ENDINGS = Codec(lambda endings: pack(endings.stored()), lambda array: EdgeEnds(unpack(array)))

"""Whole numbers in groups that only grow: the documents of each word, the edges of each vertex.

The base is packed by group. What is new is appended to a tail, which is searched directly. A long tail is packed: into
a small base at once, into a large one in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.index.arrays.background import BackgroundBuild
from remanence.index.arrays.columns import Column, run_starts

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

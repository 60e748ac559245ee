"""When things held, and which of them held at the same time: exact arithmetic over half-open windows.

    while, overlapping   the two share a moment
    during               the left lies within the right
    before               the left is over when the right begins, or earlier
    after                the left begins when the right is over, or later

A window that is open reaches as far as time does, so nothing comes after one without an end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from remanence.errors import InvalidInput
from remanence.schema import Relation, Window, window_to_micros

How: TypeAlias = Literal["while", "overlapping", "during", "before", "after"]


class OverlapPeriod(NamedTuple):
    """Two relations that stand to each other in time as was asked, and the time that they share, if any."""

    left: Relation
    right: Relation
    overlap: Window | None


def join(left: Iterable[Relation], how: str, right: Iterable[Relation]) -> list[OverlapPeriod]:
    """The pairs that stand to each other as `how` says, in the order of the left ones, then the right.

    >>> from datetime import datetime, timezone
    >>> year = lambda n: datetime(n, 1, 1, tzinfo=timezone.utc)
    >>> porto = Relation("1", "Alice", "lives_in", "Porto", Window(year(2019), year(2022)))
    >>> lisbon = Relation("2", "Alice", "lives_in", "Lisbon", Window(year(2022), None))
    >>> google = Relation("3", "Alice", "works_at", "Google", Window(year(2020), year(2022)))
    >>> [(a.object, str(shared)) for a, _, shared in join([porto, lisbon], "while", [google])]
    [('Porto', '2020-01-01 to 2022-01-01')]
    >>> [a.object for a, _, _ in join([porto, lisbon], "after", [google])]
    ['Lisbon']
    """
    if not isinstance(how, str) or how not in _HOLDS:
        raise InvalidInput(f"how={how!r} is no way to join in time. The ways are {', '.join(_HOLDS)}.")
    holds = _HOLDS[how]
    others = [(other, window_to_micros(other.valid)) for other in right]
    return [
        OverlapPeriod(one, other, intersection(one.valid, other.valid))
        for one in left
        for other, there in others
        if holds(window_to_micros(one.valid), there)
    ]


def intersection(a: Window, b: Window) -> Window | None:
    """The time that lies in both windows; None if there is none.

    >>> from datetime import datetime
    >>> str(intersection(Window(datetime(2020, 1, 1), None), Window(None, datetime(2021, 1, 1))))
    '2020-01-01 to 2021-01-01'
    """
    start = max((end for end in (a.start, b.start) if end is not None), default=None)
    end = min((end for end in (a.end, b.end) if end is not None), default=None)
    return Window(start, end) if start is None or end is None or start < end else None


_Ends: TypeAlias = tuple[int, int]


def _meet(a: _Ends, b: _Ends) -> bool:
    return max(a[0], b[0]) < min(a[1], b[1])


def _within(a: _Ends, b: _Ends) -> bool:
    return b[0] <= a[0] and a[1] <= b[1]


def _precedes(a: _Ends, b: _Ends) -> bool:
    return a[1] <= b[0]


def _follows(a: _Ends, b: _Ends) -> bool:
    return _precedes(b, a)


_HOLDS: Mapping[str, Callable[[_Ends, _Ends], bool]] = {
    "while": _meet,
    "overlapping": _meet,
    "during": _within,
    "before": _precedes,
    "after": _follows,
}

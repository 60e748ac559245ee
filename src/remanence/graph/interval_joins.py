"""Which relations held at the same time, or one before the other: arithmetic over half-open windows.

An open end reaches as far as time does, so nothing comes after a window without an end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from remanence.errors import InvalidInput
from remanence.schema import Relation, Window, window_to_micros


class OverlapPeriod(NamedTuple):
    """Two relations whose windows were joined, and the time that they share, if any."""

    left: Relation
    right: Relation
    overlap: Window | None


_CONDITIONS: Mapping[str, Callable[[int, int, int, int], bool]] = {
    "while": lambda start, end, other_start, other_end: max(start, other_start) < min(end, other_end),
    "overlapping": lambda start, end, other_start, other_end: max(start, other_start) < min(end, other_end),
    "during": lambda start, end, other_start, other_end: other_start <= start and end <= other_end,
    "before": lambda start, end, other_start, other_end: end <= other_start,
    "after": lambda start, end, other_start, other_end: other_end <= start,
}


def join(left: Iterable[Relation], how: str, right: Iterable[Relation]) -> list[OverlapPeriod]:
    """The pairs that meet the condition `how`, in the order of the left relations, then the right ones.

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
    if not isinstance(how, str) or how not in _CONDITIONS:
        raise InvalidInput(f"how={how!r} is no way to join in time. The ways are {', '.join(_CONDITIONS)}.")
    others = [(other, window_to_micros(other.valid)) for other in right]
    return [
        OverlapPeriod(one, other, intersection(one.valid, other.valid))
        for one in left
        for other, ends in others
        if _CONDITIONS[how](*window_to_micros(one.valid), *ends)
    ]


def intersection(a: Window, b: Window) -> Window | None:
    """The time that lies in both windows; None if there is none."""
    start = max((each for each in (a.start, b.start) if each is not None), default=None)
    end = min((each for each in (a.end, b.end) if each is not None), default=None)
    return Window(start, end) if start is None or end is None or start < end else None

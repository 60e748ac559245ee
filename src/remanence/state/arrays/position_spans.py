"""Attributes that hold from one ledger position to another.

Nothing is overwritten: a later entry closes a span and opens another, so the state at any position consists
of the spans that cover it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.schema import OPEN_END, OPEN_START, Window, window_from_micros


class PositionSpan(NamedTuple):
    """`key` has `value` for an attribute, from position `opened` until position `closed`.

    `spelling` is the number of a string. `start` and `end` are the window in which it holds, in microseconds.
    `origin` is the entry that added it first: a span that `undo` opened again keeps it.
    """

    attribute: int
    key: int
    value: int
    spelling: int = -1
    start: int = OPEN_START
    end: int = OPEN_END
    opened: int = 0
    closed: int = OPEN_END
    origin: int = 0

    def covers(self, position: int) -> bool:
        return self.opened <= position < self.closed

    @property
    def valid(self) -> Window:
        return window_from_micros(self.start, self.end)

    def overlaps(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end


class PositionSpans:
    """Spans by attribute and key or value, and by the entries that opened and closed them."""

    def __init__(self, rows: NDArray[Any] | None = None) -> None:
        self._spans: list[PositionSpan] = []
        self._by_key: dict[tuple[int, int], list[int]] = {}
        self._by_value: dict[tuple[int, int], list[int]] = {}
        self._by_entry: dict[int, list[int]] = {}
        for row in () if rows is None else rows.tolist():
            self._add(PositionSpan._make(row))

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def rows(self) -> NDArray[np.int64]:
        return np.array(self._spans, np.int64).reshape(-1, len(PositionSpan._fields))

    def spans_of_key(self, attribute: int, key: int, position: int | None = None) -> list[PositionSpan]:
        """The spans of a key at a position, or ever; oldest first."""
        return self._covering(self._by_key.get((attribute, key), ()), position)

    def spans_of_value(self, attribute: int, value: int, position: int | None = None) -> list[PositionSpan]:
        """The spans with a value at a position, or ever; oldest first."""
        return self._covering(self._by_value.get((attribute, value), ()), position)

    def spans_of_attribute(self, attribute: int, position: int) -> list[PositionSpan]:
        return [span for span in self._spans if span.attribute == attribute and span.covers(position)]

    def changed_by(self, position: int) -> list[PositionSpan]:
        """The spans that the entry at a position opened or closed."""
        return [self._spans[number] for number in self._by_entry.get(position, ())]

    def closed_by(self, position: int) -> list[PositionSpan]:
        return [span for span in self.changed_by(position) if span.closed == position]

    def open(self, span: PositionSpan, position: int) -> None:
        self._add(span._replace(opened=position, closed=OPEN_END, origin=position))

    def close(self, span: PositionSpan, position: int) -> None:
        number = next(n for n in self._by_key[span.attribute, span.key] if self._spans[n] == span)
        self._spans[number] = span._replace(closed=position)
        self._by_entry.setdefault(position, []).append(number)

    def undo(self, undone: int, position: int) -> None:
        """Close what an earlier entry opened, and open again what it closed."""
        for span in self._open_spans_of(undone):
            self.close(span, position)
        for span in self.closed_by(undone):
            self._add(span._replace(opened=position, closed=OPEN_END))

    def changed_since(self, position: int) -> int | None:
        """The position of the last entry that closed a span which this entry opened, if it is still closed."""
        opened = [span for span in self.changed_by(position) if span.opened == position]
        if len(self._open_spans_of(position)) == len(opened):
            return None
        return max(span.closed for span in self._spans if span.origin == position and span.closed != OPEN_END)

    def _open_spans_of(self, position: int) -> list[PositionSpan]:
        """The spans that an entry added and that are open."""
        return [span for span in self._spans if span.origin == position and span.closed == OPEN_END]

    def _covering(self, numbers: Iterable[int], position: int | None) -> list[PositionSpan]:
        spans = [self._spans[number] for number in numbers]
        return spans if position is None else [span for span in spans if span.covers(position)]

    def _add(self, span: PositionSpan) -> None:
        number = len(self._spans)
        self._spans.append(span)
        self._by_key.setdefault((span.attribute, span.key), []).append(number)
        self._by_value.setdefault((span.attribute, span.value), []).append(number)
        self._by_entry.setdefault(span.opened, []).append(number)
        if span.closed != OPEN_END:
            self._by_entry.setdefault(span.closed, []).append(number)

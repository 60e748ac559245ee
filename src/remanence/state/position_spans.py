"""What holds from one ledger line to another.

Nothing said here is ever overwritten: a later line closes a span and opens another, so the state at any
position is the spans that cover it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.schema import OPEN_END, OPEN_START, Window, window_from_micros


class Span(NamedTuple):
    """`key` has `value`, as `what` says, from line `opened` until line `closed`.

    `word` is a spelling by number. `start` and `end` are the time, in microseconds, in which it is so.
    `origin` is the line that said it first: a span that an undoing opened again keeps it.
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
        """Whether this holds at a ledger position."""
        return self.opened <= position < self.closed

    @property
    def valid(self) -> Window:
        """The time in which it is so."""
        return window_from_micros(self.start, self.end)

    def overlaps(self, start: int, end: int) -> bool:
        """Whether its time shares a moment with this one."""
        return self.start < end and start < self.end


class Spans:
    """Spans by what they are about, and by the lines that opened and closed them.

    >>> spans = Spans()
    >>> spans.open(Span(attribute=0, key=7, value=1), line=10)
    >>> spans.close(spans.with_key(0, 7, 10)[0], line=20)
    >>> [len(spans.with_key(0, 7, position)) for position in (9, 10, 19, 20)]
    [0, 1, 1, 0]
    """

    def __init__(self, rows: NDArray[Any] | None = None) -> None:
        self._spans: list[Span] = []
        self._by_key: dict[tuple[int, int], list[int]] = {}
        self._by_value: dict[tuple[int, int], list[int]] = {}
        self._by_line: dict[int, list[int]] = {}
        self._by_origin: dict[int, list[int]] = {}
        for row in () if rows is None else rows.tolist():
            self._add(Span._make(row))

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Everything as one array."""
        return np.array(self._spans, np.int64).reshape(-1, len(Span._fields))

    def with_key(self, what: int, key: int, position: int) -> list[Span]:
        """What holds of a key at a position, oldest first."""
        return self._covering(self._by_key.get((what, key), ()), position)

    def with_value(self, what: int, value: int, position: int) -> list[Span]:
        """The same from the other end: what has this value."""
        return self._covering(self._by_value.get((what, value), ()), position)

    def ever_with_key(self, what: int, key: int) -> list[Span]:
        """What ever held of a key."""
        return [self._spans[number] for number in self._by_key.get((what, key), ())]

    def ever_with_value(self, what: int, value: int) -> list[Span]:
        """What ever had a value."""
        return [self._spans[number] for number in self._by_value.get((what, value), ())]

    def with_attribute(self, what: int, position: int) -> list[Span]:
        """Everything of one sort that holds at a position."""
        return [span for span in self._spans if span.attribute == what and span.covers(position)]

    def changed_by(self, line: int) -> list[Span]:
        """The spans that a line opened or closed."""
        return [self._spans[number] for number in self._by_line.get(line, ())]

    def open(self, span: Span, line: int) -> None:
        """Say from this line on what a span says."""
        self._add(span._replace(opened=line, closed=OPEN_END, origin=line))

    def close(self, span: Span, line: int) -> None:
        """Say it no longer from this line on."""
        number = next(n for n in self._by_key[span.attribute, span.key] if self._spans[n] == span)
        self._spans[number] = span._replace(closed=line)
        self._by_line.setdefault(line, []).append(number)

    def undo(self, undone: int, line: int) -> None:
        """From this line on, what an earlier one said holds no longer, and what it closed holds again."""
        for span in self.said_by(undone):
            self.close(span, line)
        for span in self.closed_by(undone):
            self._add(span._replace(opened=line, closed=OPEN_END))

    def said_by(self, line: int) -> list[Span]:
        """What holds now because this line said it."""
        return self._covering(self._by_origin.get(line, ()), OPEN_END - 1)

    def closed_by(self, line: int) -> list[Span]:
        """What this line closed."""
        return [span for span in self.changed_by(line) if span.closed == line]

    def changed_since(self, line: int) -> int | None:
        """The last line that closed something which this one said, and which holds no longer."""
        said = [span for span in self.changed_by(line) if span.opened == line]
        if len(self.said_by(line)) == len(said):
            return None
        closed = (self._spans[number].closed for number in self._by_origin[line])
        return max(position for position in closed if position != OPEN_END)

    def _covering(self, numbers: Iterable[int], position: int) -> list[Span]:
        return [span for number in numbers if (span := self._spans[number]).covers(position)]

    def _add(self, span: Span) -> None:
        number = len(self._spans)
        self._spans.append(span)
        self._by_key.setdefault((span.attribute, span.key), []).append(number)
        self._by_value.setdefault((span.attribute, span.value), []).append(number)
        self._by_line.setdefault(span.opened, []).append(number)
        if span.closed != OPEN_END:
            self._by_line.setdefault(span.closed, []).append(number)
        self._by_origin.setdefault(span.origin, []).append(number)

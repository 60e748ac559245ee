"""When relations held, as bars over time, and when they were learned.

Each row of bars is one claim: subject, predicate, object. A bar with a point on one side has no known end on that side.
The rows of ticks below show when something was learned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime

import numpy as np

from remanence.graph.history import HistoryEvent
from remanence.graph.pictures.layout import edge_text, opacity, width_in_letters
from remanence.schema import UTC, Relation, format_moment, from_micros, micros
from remanence.schema.notebook_pictures import COLORS, LETTER_WIDTH, MARGIN, svg_document, text_element, tooltip
from remanence.text.text import pluralize, truncate

_WIDTH = 760.0
"""The width of the part with the bars."""
_ROW, _BAR, _POINT = 26.0, 14.0, 8.0
_HEAD = 64.0
_MAX_LABEL_WIDTH = 44
_DAY = 86_400_000_000
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_UNITS = (
    ("D", 1, (1, 2, 7, 14)),
    ("M", 30.4, (1, 3, 6)),
    ("Y", 365.2, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)),
)
"""How far apart the dates below a picture may be: the unit, its length in days, and how many of it."""


def timeline_svg(
    relations: Sequence[Relation],
    events: Sequence[HistoryEvent] = (),
    *,
    now: datetime | None = None,
    total: int | None = None,
) -> str:
    """Relations as bars over the time in which they hold, and events as ticks. `now` is a vertical line. `total` is how
    many relations there are, if not all are shown."""
    claims: defaultdict[tuple[str, str, str], list[Relation]] = defaultdict(list)
    for relation in sorted(relations, key=lambda r: (r.subject, r.predicate, r.valid.start or _EARLIEST, r.object)):
        claims[relation.subject, relation.predicate, relation.object].append(relation)
    ticks: defaultdict[str, list[HistoryEvent]] = defaultdict(list)
    for event in events:
        ticks[event.kind].append(event)
    labels = [*(" ".join(claim) for claim in claims), *ticks]
    letters = max((min(width_in_letters(label), _MAX_LABEL_WIDTH) for label in labels), default=0)
    left = MARGIN + 14 + letters * LETTER_WIDTH * 0.9
    low, high = _range(relations, events, now)

    def to_x(moment: datetime) -> float:
        return left + (micros(moment) - low) / (high - low) * _WIDTH

    foot = _HEAD + _ROW * (len(claims) + len(ticks) + bool(ticks))
    title = timeline_title(relations, total)
    body = [text_element(MARGIN, MARGIN, title, "called")]
    for moment, text in _dates(low, high):
        body.append(f'<path class="rule" d="{_vertical(to_x(moment), foot)}"/>')
        body.append(text_element(to_x(moment), foot + 18, text, "middle faint"))
    colors: dict[tuple[str, str], str] = {}
    for row, (claim, periods) in enumerate(claims.items()):
        color = colors.setdefault(claim[:2], COLORS[len(colors) % len(COLORS)])
        middle = _HEAD + _ROW * (row + 0.5)
        body.append(_label(middle, " ".join(claim)))
        body += [_bar(relation, to_x, left, middle, color) for relation in periods]
    for row, (kind, learned) in enumerate(ticks.items(), len(claims) + 1):
        middle = _HEAD + _ROW * (row + 0.5)
        body.append(_label(middle, kind))
        for event in learned:
            path = f"M{to_x(event.recorded_at):.1f} {middle - 7:.1f}v14"
            body.append(f'<path class="tick" d="{path}">{tooltip(str(event))}</path>')
    if ticks:
        body.append(text_element(MARGIN, _HEAD + _ROW * (len(claims) + 0.7), "when it was learned", "faint"))
    if now is not None:
        text = tooltip(f"now: {format_moment(now)}")
        body.append(f'<path class="now" d="{_vertical(to_x(now), foot)}">{text}</path>')
    return svg_document("timeline", title, left + _WIDTH + MARGIN, foot + MARGIN + 14, body)


def timeline_title(relations: Sequence[Relation], total: int | None) -> str:
    left_out = 0 if total is None else total - len(relations)
    more = f", the last learned; {left_out:,} more are not shown" if left_out else ""
    return f"A timeline of {pluralize(len(relations), 'relation')}{more}"


def _range(relations: Sequence[Relation], events: Sequence[HistoryEvent], now: datetime | None) -> tuple[int, int]:
    """The time that is shown, in microseconds: all that is dated, and some before and after."""
    windows = [relation.valid for relation in relations]
    ends = [end for valid in windows for end in (valid.start, valid.end) if end is not None]
    moments = [*ends, *(event.recorded_at for event in events), *([] if now is None else [now])]
    first, last = (micros(pick(moments)) if moments else 0 for pick in (min, max))
    margin = max((last - first) // 12, _DAY)
    return max(first - margin, micros(_EARLIEST)), min(last + margin, micros(_LATEST))


def _dates(low: int, high: int) -> list[tuple[datetime, str]]:
    """A few round dates between two moments, each with its text."""
    steps = [(unit, count, days * count) for unit, days, counts in _UNITS for count in counts]
    days = (high - low) / _DAY
    unit, count, _ = next((step for step in steps if days / step[2] <= 8), steps[-1])
    offset = 1970 if unit == "Y" else 0  # numpy counts from 1970, and round years are multiples of `count`
    first, last = np.array([low, high], "M8[us]").astype(f"M8[{unit}]").astype(np.int64) + offset
    numbers = np.arange(first // count * count, last + 1, count) - offset
    moments = numbers.astype(f"M8[{unit}]").astype("M8[us]").astype(np.int64).tolist()
    dates = [from_micros(moment) for moment in moments if low <= moment <= high]
    return [(date, f"{date.year:04}" if unit == "Y" else format_moment(date)) for date in dates]


def _vertical(x: float, foot: float) -> str:
    return f"M{x:.1f} {_HEAD - 8:.0f}V{foot:.0f}"


def _label(middle: float, text: str) -> str:
    return f"<g>{tooltip(text)}{text_element(MARGIN, middle + 4, truncate(text, _MAX_LABEL_WIDTH))}</g>"


def _bar(relation: Relation, to_x: Callable[[datetime], float], left: float, middle: float, color: str) -> str:
    """A bar, with a point on each side where it has no end."""
    valid = relation.valid
    start = left if valid.start is None else to_x(valid.start)
    end = left + _WIDTH if valid.end is None else max(to_x(valid.end), start + 2)
    into = start + _POINT if valid.start is None else start
    out = end - _POINT if valid.end is None else end
    top, low = middle - _BAR / 2, middle + _BAR / 2
    shape = f"M{into:.1f} {top:.1f}H{out:.1f}L{end:.1f} {middle:.1f}L{out:.1f} {low:.1f}H{into:.1f}"
    style = f'fill="{color}" fill-opacity="{opacity(relation.confidence)}"'
    path = f"{shape}L{start:.1f} {middle:.1f}z"
    return f'<path class="bar" tabindex="0" {style} d="{path}">{tooltip(edge_text(str(relation), relation, {}))}</path>'

"""What held when, as bars over time; and below them when it was learned.

Each row of bars is one claim: subject, predicate, object. A bar with a point has no end on that side, as far
as is known. Bars are laid over the time of which the claims speak; the ticks below, in rows of their own,
stand where something was learned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from remanence.graph.history_events import HistoryEvent
from remanence.graph.pictures.svg import MARGIN, opacity, svg_document, text_element, tooltip
from remanence.graph.pictures.svg_text import LETTER_WIDTH, count_label, width_in_letters, wrap
from remanence.schema import UTC, Relation, format_moment, from_micros, micros

_WIDTH = 760.0
"""How wide the part with the bars is."""
_ROW, _BAR, _POINT = 26.0, 14.0, 8.0
_HEAD = 64.0
_LONGEST = 44
_COLORS = ("#2f6fde", "#d98324", "#2b8a5e", "#a14bc4", "#c2413b", "#11828f")
_STYLE = """\
.rule { stroke: var(--rule); } .tick { stroke: var(--ink); stroke-width: 2px; } .called { font-weight: 600; }
.now { stroke: #c2255c; stroke-dasharray: 3 3; }
.bar:hover, .bar:focus { outline: none; stroke: var(--ink); stroke-width: 2px; }
"""
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>{title}</title>
<style>body {{ margin: 0; background: var(--paper); }} svg {{ max-width: 100%; height: auto; }}</style>
</head>
<body>
{svg}</body>
</html>
"""
_DAY = 86_400_000_000
_STEPS: tuple[tuple[float, int], ...] = (
    *((1, 0), (2, 0), (7, 0), (14, 0)),
    *((30.4, 1), (91.3, 3), (182.6, 6)),
    *((365.2 * years, 12 * years) for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)),
)
"""How far apart the dates below a picture may be: in days, and in months if it is whole months."""


def timeline_svg(
    relations: Sequence[Relation], events: Sequence[HistoryEvent] = (), *, now: datetime | None = None
) -> str:
    """Relations as bars over the time in which they hold, and happenings as ticks. `now` gets a line."""
    claims = _by_claim(relations)
    learned = _by_what(events)
    labels = [*(" ".join(claim) for claim in claims), *learned]
    left = (
        MARGIN + 14 + max((min(width_in_letters(label), _LONGEST) for label in labels), default=0) * LETTER_WIDTH * 0.9
    )
    low, high = _range(relations, events, now)

    def across(moment: datetime) -> float:
        return left + (micros(moment) - low) / (high - low) * _WIDTH

    foot = _HEAD + _ROW * (len(claims) + len(learned) + bool(learned))
    title = timeline_title(relations)
    body = [text_element(MARGIN, MARGIN, title, "called"), *_dates(low, high, across, foot)]
    colors: dict[tuple[str, str], str] = {}
    for row, (claim, held) in enumerate(claims.items()):
        color = colors.setdefault(claim[:2], _COLORS[len(colors) % len(_COLORS)])
        middle = _HEAD + _ROW * (row + 0.5)
        body.append(_label(middle, " ".join(claim)))
        body += [_bar(relation, across, left, middle, color) for relation in held]
    for row, (what, those) in enumerate(learned.items(), len(claims) + 1):
        middle = _HEAD + _ROW * (row + 0.5)
        body.append(_label(middle, what))
        body += [_tick(happening, across(happening.recorded_at), middle) for happening in those]
    if learned:
        body.append(text_element(MARGIN, _HEAD + _ROW * (len(claims) + 0.7), "when it was learned", "faint"))
    if now is not None:
        body.append(
            f'<path class="now" d="{_upright(across(now), foot)}">{tooltip(f"now: {format_moment(now)}")}</path>'
        )
    return svg_document(title, left + _WIDTH + MARGIN, foot + MARGIN + 14, body, _STYLE)


def timeline_page(
    relations: Sequence[Relation], events: Sequence[HistoryEvent] = (), *, now: datetime | None = None
) -> str:
    """The same as an HTML page that asks nothing of the network."""
    return _PAGE.format(title=timeline_title(relations), svg=timeline_svg(relations, events, now=now))


def timeline_title(relations: Sequence[Relation]) -> str:
    """What a timeline is of, in a line."""
    return f"A timeline of {count_label(relations, 'relation')}"


def _by_claim(relations: Sequence[Relation]) -> dict[tuple[str, str, str], list[Relation]]:
    """The relations of each row, rows of one subject and predicate together, each by when it began."""
    rows: dict[tuple[str, str, str], list[Relation]] = {}
    for relation in sorted(relations, key=lambda r: (r.subject, r.predicate, _start(r), r.object, r.id)):
        rows.setdefault((relation.subject, relation.predicate, relation.object), []).append(relation)
    return rows


def _start(relation: Relation) -> datetime:
    return relation.valid.start or datetime.min.replace(tzinfo=UTC)


def _by_what(happenings: Sequence[HistoryEvent]) -> dict[str, list[HistoryEvent]]:
    rows: dict[str, list[HistoryEvent]] = {}
    for happening in happenings:
        rows.setdefault(happening.kind, []).append(happening)
    return rows


def _range(relations: Sequence[Relation], happenings: Sequence[HistoryEvent], now: datetime | None) -> tuple[int, int]:
    """The time that is shown, in microseconds: all that is dated, and some before and after."""
    windows = [relation.valid for relation in relations]
    ends = [end for valid in windows for end in (valid.start, valid.end) if end is not None]
    moments = [*ends, *(happening.recorded_at for happening in happenings), *([] if now is None else [now])]
    first, last = (micros(pick(moments)) if moments else 0 for pick in (min, max))
    margin = max((last - first) // 12, _DAY)
    earliest, latest = (micros(end.replace(tzinfo=UTC)) for end in (datetime.min, datetime.max))
    return max(first - margin, earliest), min(last + margin, latest)


def _dates(low: int, high: int, across: Callable[[datetime], float], foot: float) -> Iterator[str]:
    """Upright lines at round dates, with the dates below."""
    days = (high - low) / _DAY
    apart, months = next((step for step in _STEPS if days / step[0] <= 8), _STEPS[-1])
    for moment in _by_months(low, high, months) if months else _by_days(low, high, round(apart)):
        x = across(moment)
        written = f"{moment.year:04}" if months >= 12 else format_moment(moment)
        yield f'<path class="rule" d="{_upright(x, foot)}"/>' + text_element(x, foot + 18, written, "middle faint")


def _by_days(low: int, high: int, days: int) -> Iterator[datetime]:
    number = math.ceil(low / _DAY / days) * days
    while number * _DAY <= high:
        yield from_micros(number * _DAY)
        number += days


def _by_months(low: int, high: int, months: int) -> Iterator[datetime]:
    """The first days of every so many months; the calendar has years from 1 to 9999."""
    first, last = (1970 + moment / (365.2425 * _DAY) for moment in (low, high))
    number = max(math.floor(first * 12 / months) * months, months if months > 12 else 12)
    while number <= min(last + 1, 9999) * 12:
        moment = datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)
        if low <= micros(moment) <= high:
            yield moment
        number += months


def _upright(x: float, foot: float) -> str:
    return f"M{x:.1f} {_HEAD - 8:.0f}V{foot:.0f}"


def _label(middle: float, text: str) -> str:
    return f"<g>{tooltip(text)}{text_element(MARGIN, middle + 4, ''.join(wrap(text, _LONGEST)))}</g>"


def _bar(relation: Relation, across: Callable[[datetime], float], left: float, middle: float, color: str) -> str:
    """A bar, with a point on each side where it has no end."""
    valid = relation.valid
    start = left if valid.start is None else across(valid.start)
    end = left + _WIDTH if valid.end is None else max(across(valid.end), start + 2)
    into = start + _POINT if valid.start is None else start
    out = end - _POINT if valid.end is None else end
    top, low = middle - _BAR / 2, middle + _BAR / 2
    shape = f"M{into:.1f} {top:.1f}H{out:.1f}L{end:.1f} {middle:.1f}L{out:.1f} {low:.1f}H{into:.1f}"
    says = f"{relation}\n{valid}; learned {format_moment(relation.recorded_at)}; confidence {relation.confidence:.2f}"
    evidence = "".join(f"\nevidence: {memory}" for memory in relation.evidence)
    look = f'fill="{color}" fill-opacity="{opacity(relation.confidence)}"'
    path = f"{shape}L{start:.1f} {middle:.1f}z"
    return f'<path class="bar" tabindex="0" {look} d="{path}">{tooltip(says + evidence)}</path>'


def _tick(happening: HistoryEvent, x: float, middle: float) -> str:
    return f'<path class="tick" d="M{x:.1f} {middle - 7:.1f}v14">{tooltip(str(happening))}</path>'

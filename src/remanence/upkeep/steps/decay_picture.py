"""Decay curves: the scores of memories over time, past and to come, as lines between the thresholds of upkeep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from remanence.index.journal import NEVER_USED, MemoryUsage
from remanence.schema import MEMORY_KINDS, MICROS_PER_DAY, PROCEDURE, Memory, format_moment, micros
from remanence.schema.notebook_pictures import COLORS, MARGIN, svg_document, text_element, tooltip
from remanence.text.text import truncate
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import DEFINING, ORDINARY, RISK_ZONE, age_in_days, decay_score, use_moments

_WIDTH, _HEIGHT, _LEFT, _TOP = 760.0, 300.0, 64.0, 64.0
"""Pixels of the width and the height of the part with the curves, and of the space to the left of it and above."""
_ROW = 20.0
"""Pixels of the height of a row of the legend."""
_POINTS = 200
"""Points at which a curve is drawn."""
_MAX_LABEL_LENGTH = 100
"""Letters of a label; a longer one is cut off."""
_STEPS = (1, 2, 5, 7, 14, 30, 60, 90, 180, 365, 730, 1825, 3650)
"""Days between two marks of the axis of time: the first of these that gives at most ten marks."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The scores of one memory at some days; day 0 is now."""

    label: str
    points: tuple[tuple[float, float], ...]


def curves_of_kinds(now: datetime, days: float, settings: UpkeepSettings) -> list[Curve]:
    """How a memory of each kind fades that is added now and never used, of ordinary importance and of 0.9."""
    curves: list[Curve] = []
    for importance, label in ((ORDINARY, ""), (DEFINING, f", importance {DEFINING:g}")):
        kinds: dict[tuple[tuple[float, float], ...], list[str]] = {}  # by their points: equal curves are drawn once
        for kind in (kind for kind in MEMORY_KINDS if kind != PROCEDURE):  # upkeep leaves these alone
            memory = Memory("", "", "", kind=kind, recorded_at=now, revised_at=now, importance=importance)
            kinds.setdefault(curve(kind, memory, NEVER_USED, now, days, settings).points, []).append(kind)
        curves += [Curve(f"{' and '.join(names)}{label}", points) for points, names in kinds.items()]
    return curves


def curve(
    label: str, memory: Memory, usage: MemoryUsage, now: datetime, days: float, settings: UpkeepSettings
) -> Curve:
    """The curve of a memory: from when it was added, but no longer ago than `days`, until `days` from now."""
    first = -min(days, age_in_days(memory, now))
    steps = {first + (days - first) * step / _POINTS for step in range(_POINTS + 1)}
    # A use raises the score at once: a point just before it and one at it.
    for moment in use_moments(memory, usage):
        day = (moment - micros(now)) / MICROS_PER_DAY
        steps |= {step_day for step_day in (day - 1e-3, day) if first <= step_day <= 0}
    points = []
    for day in sorted(steps):
        at = now + timedelta(days=day)
        points.append((day, decay_score(memory, usage.up_to(micros(at)), at, settings)))
    return Curve(label, tuple(points))


def decay_svg(title: str, curves: Sequence[Curve], now: datetime, days: float, settings: UpkeepSettings) -> str:
    """The curves as SVG, with the thresholds of `gc` and `promote` and the zone in which memories are at risk."""
    first = min((point[0] for memory_curve in curves for point in memory_curve.points), default=0.0)
    top = max([1.0, *(score for memory_curve in curves for _, score in memory_curve.points)])

    def to_x(day: float) -> float:
        return _LEFT + (day - first) / (days - first) * _WIDTH

    def to_y(score: float) -> float:
        return _TOP + (1 - score / top) * _HEIGHT

    bottom = _TOP + _HEIGHT
    low, high = RISK_ZONE
    zone = f'x="{_LEFT:.0f}" y="{to_y(high):.1f}" width="{_WIDTH:.0f}" height="{to_y(low) - to_y(high):.1f}"'
    body = [
        text_element(MARGIN, MARGIN, title, "called"),
        f'<rect class="zone" {zone}>{tooltip(f"at risk: {low:g} to {high:g}")}</rect>',
        *_days(first, days, to_x, bottom),
        *_threshold(settings.promote_above, "promote_above", to_y),
        *_threshold(settings.forget_below, "forget_below", to_y),
        text_element(MARGIN - 14, _TOP + 4, f"{top:.2g}", "faint"),
        text_element(MARGIN - 14, bottom + 4, "0", "faint"),
    ]
    if first < 0:
        mark = tooltip(f"now: {format_moment(now)}")
        body.append(f'<path class="now" d="M{to_x(0):.1f} {_TOP:.0f}V{bottom:.0f}">{mark}</path>')
    for row, drawn_curve in enumerate(curves):
        color = COLORS[row % len(COLORS)]
        path = "L".join(f"{to_x(day):.1f} {to_y(score):.1f}" for day, score in drawn_curve.points)
        _, score_now = min(drawn_curve.points, key=lambda point: abs(point[0]))
        note = tooltip(f"{drawn_curve.label}\n{score_now:.2f} now, {drawn_curve.points[-1][1]:.2f} in {days:g} days")
        body.append(f'<path class="curve" tabindex="0" stroke="{color}" d="M{path}">{note}</path>')
        y = bottom + 44 + _ROW * row
        body.append(f'<path class="curve" stroke="{color}" d="M{_LEFT:.0f} {y - 4:.1f}h24"/>')
        body.append(f"<g>{note}{text_element(_LEFT + 32, y, truncate(drawn_curve.label, _MAX_LABEL_LENGTH))}</g>")
    return svg_document("decay", title, _LEFT + _WIDTH + MARGIN, bottom + 50 + _ROW * len(curves), body)


def _threshold(score: float, name: str, to_y: Callable[[float], float]) -> list[str]:
    y = to_y(score)
    if y < _TOP:
        return []
    line = f'<path class="threshold" d="M{_LEFT:.0f} {y:.1f}h{_WIDTH:.0f}">{tooltip(f"{name}: {score:g}")}</path>'
    return [line, text_element(_LEFT + _WIDTH - 130, y - 4, f"{name} {score:g}", "faint")]


def _days(first: float, last: float, to_x: Callable[[float], float], bottom: float) -> list[str]:
    """Vertical lines at round numbers of days, at most about ten."""
    step = next(
        (candidate for candidate in _STEPS if (last - first) / candidate <= 10), round((last - first) / 10) or 1
    )
    elements: list[str] = []
    for number in range(int(first // step), int(last // step) + 1):
        day = number * step
        if first <= day <= last:
            text = "now" if day == 0 else f"{day:+d} days"
            elements.append(f'<path class="rule" d="M{to_x(day):.1f} {_TOP:.0f}V{bottom:.0f}"/>')
            elements.append(text_element(to_x(day), bottom + 18, text, "middle faint"))
    return elements

"""Pictures with bars: the share of each signal in the scores of a recall, several settings compared, and the
verdicts on the sentences of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from remanence.schema import Evidence, Hit, format_moment
from remanence.schema.notebook_pictures import (
    COLORS,
    LETTER_WIDTH,
    MARGIN,
    NotebookPicture,
    svg_document,
    svg_picture,
    text_element,
    tooltip,
)
from remanence.text.text import truncate

if TYPE_CHECKING:
    from remanence.recall.answer import Recall
    from remanence.recall.checked_answer import CheckedAnswer
    from remanence.recall.evaluation import SettingResult

_SIGNALS = ("reader", "vectors", "words", "graph", "times")
"""The signals with a fixed color in every picture."""
_LABEL_LENGTH = 52
# Widths, in pixels.
_LABEL = 360.0
_BARS = 380.0
_CELL = 120.0
_GAP = 64.0
# Heights, in pixels.
_HEAD = 82.0
_ROW = 28.0
_BAR = 14.0


def recall_picture(recall: Recall) -> NotebookPicture:
    """A bar for each hit, in parts: the share of its score that each signal gave."""
    title = f"What each signal adds: {truncate(recall.question, 80)}"
    height = _height(len(recall.hits))
    return svg_picture(title, int(height), lambda: _recall_svg(title, recall.hits, height))


def settings_picture(title: str, results: Sequence[SettingResult]) -> NotebookPicture:
    """A row for each setting and a column for each measure, with the 95% interval as a line."""
    height = _height(len(results))
    return svg_picture(title, int(height), lambda: _settings_svg(title, results, height))


def _recall_svg(title: str, hits: Sequence[Hit], height: float) -> str:
    colors = _signal_colors(hits)
    bar_x = MARGIN + _LABEL
    body = [text_element(MARGIN, MARGIN, title, "called"), *_legend(colors)]
    for row, hit in enumerate(hits):
        top = _HEAD + _ROW * row
        body.append(_label(top, f"{hit.space}: {hit.memory.text}" if hit.space else hit.memory.text))
        body.append(_rect("track", bar_x, top, _BARS))
        x = bar_x
        for evidence in sorted(_positive_evidence(hit), key=lambda evidence: list(colors).index(evidence.signal)):
            width = evidence.share * _BARS
            note = tooltip(f"{evidence.share:+.2f} {evidence.signal} #{evidence.rank}: {evidence.reason}")
            body.append(_rect("bar", x, top, width, f' tabindex="0" fill="{colors[evidence.signal]}"', note))
            x += width
        body.append(text_element(bar_x + _BARS + 10, top + 11, f"{hit.score:.2f}", "called"))
    if not hits:
        body.append(text_element(MARGIN, _HEAD + 11, "nothing found", "faint"))
    return svg_document("bars", title, bar_x + _BARS + _GAP + MARGIN, height, body)


def _settings_svg(title: str, results: Sequence[SettingResult], height: float) -> str:
    measures = list(results[0].scores)
    longest = max(len(truncate(result.name, _LABEL_LENGTH)) for result in results)
    left = MARGIN + 24 + longest * LETTER_WIDTH
    body = [text_element(MARGIN, MARGIN, title, "called")]
    for column, measure in enumerate(measures):
        x, color = left + column * (_CELL + _GAP), COLORS[column % len(COLORS)]
        body.append(text_element(x, _HEAD - 14, measure, "faint"))
        for row, result in enumerate(results):
            top, (mean, low, high) = _HEAD + _ROW * row, result.scores[measure]
            note = tooltip(
                f"{result.name}: {measure} {100 * mean:.1f} (95% interval {100 * low:.1f} to {100 * high:.1f})"
            )
            body.append(_rect("track", x, top, _CELL))
            body.append(_rect("bar", x, top, mean * _CELL, f' tabindex="0" fill="{color}"', note))
            line = f"M{x + low * _CELL:.1f} {top + _BAR / 2:.1f}H{x + high * _CELL:.1f}"
            body.append(f'<path class="interval" d="{line}"/>')
            body.append(text_element(x + _CELL + 8, top + 11, f"{100 * mean:.0f}"))
    body += [_label(_HEAD + _ROW * row, result.name) for row, result in enumerate(results)]
    width = left + len(measures) * (_CELL + _GAP)
    return svg_document("bars", title, max(width, MARGIN * 2 + len(title) * LETTER_WIDTH), height, body)


def _signal_colors(hits: Sequence[Hit]) -> dict[str, str]:
    """A color for each signal in these hits; the colors of plug-in signals come after the fixed ones."""
    present = {evidence.signal for hit in hits for evidence in _positive_evidence(hit)}
    ordered = [*_SIGNALS, *sorted(present.difference(_SIGNALS))]
    return {signal: COLORS[i % len(COLORS)] for i, signal in enumerate(ordered) if signal in present}


def _positive_evidence(hit: Hit) -> list[Evidence]:
    """The reasons that add to a score. All reasons are in `Recall.explain()`."""
    return [evidence for evidence in hit.evidence if evidence.share > 0]


def _legend(colors: Mapping[str, str]) -> list[str]:
    body, x = [], MARGIN
    for signal, color in colors.items():
        body.append(_rect("mark", x, 46.0, 12.0, f' fill="{color}"'))
        body.append(text_element(x + 18, 57.0, signal, "faint"))
        x += 40 + len(signal) * LETTER_WIDTH
    return body


def _label(top: float, text: str) -> str:
    shown = truncate(" ".join(text.split()), _LABEL_LENGTH)
    return f"<g>{tooltip(text)}{text_element(MARGIN, top + 11, shown)}</g>"


def _rect(kind: str, x: float, y: float, width: float, more: str = "", inside: str = "") -> str:
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BAR:.0f}"'
    return f'<rect class="{kind}" {size}{more}>{inside}</rect>'


def _height(rows: int) -> float:
    return _HEAD + _ROW * max(rows, 1) + MARGIN - 8


_VERDICT_COLORS = {"supported": COLORS[2], "contradicted": COLORS[4], "unsupported": COLORS[1], "no claim": "#93a1b0"}
_SENTENCE_LENGTH = 72
"""The characters of a sentence and of a quotation that are shown."""
_VERDICT_X, _VERDICT_BAR = MARGIN + 540.0, 160.0
_CHECKED_HEAD, _CHECKED_ROW = 60.0, 40.0


def checked_picture(checked: CheckedAnswer) -> NotebookPicture:
    """A row for each sentence: its words, its verdict as a bar, and the memory that supports or contradicts it."""
    title, height = "What memories say of each sentence", _CHECKED_HEAD + _CHECKED_ROW * len(checked.sentences) + MARGIN
    return svg_picture(title, int(height), lambda: _checked_svg(title, checked, height))


def _checked_svg(title: str, checked: CheckedAnswer, height: float) -> str:
    body = [text_element(MARGIN, MARGIN, title, "called")]
    for row, each in enumerate(checked.sentences):
        y, width = _CHECKED_HEAD + _CHECKED_ROW * row, _VERDICT_BAR * each.probability
        body.append(text_element(MARGIN, y + 10, truncate(each.text, _SENTENCE_LENGTH)))
        if each.memory is not None:
            told = f"{format_moment(each.memory.told_at)}: {each.quotation}"
            body.append(text_element(MARGIN, y + 25, truncate(told, _SENTENCE_LENGTH), "faint"))
        body.append(
            f'<rect x="{_VERDICT_X}" y="{y}" width="{width:.1f}" height="12" fill="{_VERDICT_COLORS[each.verdict]}"/>'
        )
        body.append(text_element(_VERDICT_X, y + 25, f"{each.verdict} {each.probability:.2f}", "faint"))
    return svg_document("bars", title, _VERDICT_X + _VERDICT_BAR + MARGIN, height, body)

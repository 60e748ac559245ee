"""A picture of a checked answer: a bar for each sentence, as long as its verdict is probable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remanence.schema import format_moment
from remanence.schema.notebook_pictures import COLORS, MARGIN, NotebookPicture, svg_document, svg_picture, text_element
from remanence.text.text import truncate

if TYPE_CHECKING:
    from remanence.recall.checked_answer import CheckedAnswer

_COLORS = {"supported": COLORS[2], "contradicted": COLORS[4], "unsupported": COLORS[1], "no claim": "#93a1b0"}
_LENGTH = 72
"""The characters of a sentence and of a quotation that are shown."""
_BAR_X, _BAR = MARGIN + 540.0, 160.0
_HEAD, _ROW = 60.0, 40.0


def checked_picture(checked: CheckedAnswer) -> NotebookPicture:
    """A row for each sentence: its words, its verdict as a bar, and the memory that supports or contradicts it."""
    title, height = "What memories say of each sentence", _HEAD + _ROW * len(checked.sentences) + MARGIN
    return svg_picture(title, int(height), lambda: _svg(title, checked, height))


def _svg(title: str, checked: CheckedAnswer, height: float) -> str:
    body = [text_element(MARGIN, MARGIN, title, "called")]
    for row, each in enumerate(checked.sentences):
        y, width = _HEAD + _ROW * row, _BAR * each.probability
        body.append(text_element(MARGIN, y + 10, truncate(each.text, _LENGTH)))
        if each.memory is not None:
            told = f"{format_moment(each.memory.told_at)}: {each.quotation}"
            body.append(text_element(MARGIN, y + 25, truncate(told, _LENGTH), "faint"))
        body.append(f'<rect x="{_BAR_X}" y="{y}" width="{width:.1f}" height="12" fill="{_COLORS[each.verdict]}"/>')
        body.append(text_element(_BAR_X, y + 25, f"{each.verdict} {each.probability:.2f}", "faint"))
    return svg_document("bars", title, _BAR_X + _BAR + MARGIN, height, body)

"""Results of recall for notebooks and data frames: rows of tables for `to_df()`, and pictures with bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from remanence.schema import Evidence, Hit, HitUsage, Memory, Relation
from remanence.schema.display import data_frame, html_table
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
    import pandas

    from remanence.recall.answer import Recall
    from remanence.recall.evaluation import SettingResult

MEMORY_COLUMNS = (
    *("text", "kind", "valid_from", "valid_until", "told_at", "recorded_at", "expires_at"),
    *("importance", "confidence", "strength", "tags", "entities", "speaker", "conversation"),
    *("source", "observed_by", "key", "meta", "id"),
)
USAGE_COLUMNS = ("decay_score", "uses", "last_used", "age_days")
TIMES = frozenset(("valid_from", "valid_until", "told_at", "recorded_at", "expires_at", "last_used", "at"))
"""The names of all columns with moments."""
_SHOWN_MEMORIES = 50
"""Memories that a notebook shows of a list."""
_HIT_COLUMNS = ("rank", "score", "text", "current", "superseded_by", "reason")
_RELATION_COLUMNS = (
    *("subject", "predicate", "object", "valid_from", "valid_until", "recorded_at"),
    *("confidence", "observed_by", "evidence", "replaced_by", "id"),
)


class Memories(Iterator[Memory]):
    """Memories, read a few hundred at a time while they are iterated over. `to_df()` reads the
    remaining ones."""

    def __init__(self, items: Iterator[Memory]) -> None:
        self._items = items

    def __next__(self) -> Memory:
        return next(self._items)

    def to_df(self) -> pandas.DataFrame:
        """The memories that were not read yet as a data frame, a row for each. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return data_frame(map(memory_record, self), MEMORY_COLUMNS, TIMES)

    def __repr__(self) -> str:
        return "<Memories: iterate over them, or call list(...) or to_df()>"

    def _repr_html_(self) -> str:
        # The memories are shown and can still be iterated over.
        shown = list(islice(self._items, _SHOWN_MEMORIES + 1))
        self._items = chain(shown, self._items)
        rows = [(memory.text, memory.kind, memory.valid, memory.source) for memory in shown[:_SHOWN_MEMORIES]]
        notes = [f"the first {_SHOWN_MEMORIES}; to_df() has all"] if len(shown) > _SHOWN_MEMORIES else []
        return html_table("", ("text", "kind", "when", "source"), rows, notes)


class RelationList(list[Relation]):
    """A list of relations that a notebook shows as a table."""

    def to_df(self) -> pandas.DataFrame:
        """The relations as a data frame, a row for each. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return data_frame(map(_relation_record, self), _RELATION_COLUMNS, TIMES)

    def _repr_html_(self) -> str:
        rows = [(r.subject, r.predicate, r.object, r.valid, r.confidence, len(r.evidence)) for r in self]
        return html_table("", ("subject", "predicate", "object", "when", "confidence", "evidence"), rows)


def hits_to_df(hits: Sequence[Hit]) -> pandas.DataFrame:
    """Hits, best first, with a column for the share of each signal, and the columns of their memories."""
    signals = list(dict.fromkeys(evidence.signal for hit in hits for evidence in hit.evidence))
    columns = dict.fromkeys((*_HIT_COLUMNS, *signals, *USAGE_COLUMNS, *MEMORY_COLUMNS))
    return data_frame(_hit_records(hits), tuple(columns), TIMES)


def memory_record(memory: Memory) -> dict[str, Any]:
    """The fields of a memory by column."""
    same = ("text", "kind", "told_at", "recorded_at", "expires_at", "importance", "confidence", "strength", "tags")
    turn = memory.turn
    return {
        **{name: getattr(memory, name) for name in (*same, "source", "observed_by", "key", "id")},
        "valid_from": memory.valid.start,
        "valid_until": memory.valid.end,
        "entities": tuple(mention.name for mention in memory.mentions),
        "speaker": None if turn is None else turn.speaker,
        "conversation": None if turn is None else turn.conversation,
        "meta": dict(memory.meta),
    }


def usage_record(usage: HitUsage | None) -> dict[str, Any]:
    """The usage of a memory by column. Its strength includes the effect of its uses."""
    return {} if usage is None else {name: getattr(usage, name) for name in (*USAGE_COLUMNS, "strength")}


def _hit_records(hits: Iterable[Hit]) -> Iterator[dict[str, Any]]:
    for rank, hit in enumerate(hits, 1):
        shares = {evidence.signal: evidence.share for evidence in hit.evidence}
        yield {
            **shares,
            **memory_record(hit.memory),
            **usage_record(hit.usage),
            "rank": rank,
            "score": hit.score,
            "current": hit.current,
            "superseded_by": None if hit.superseded_by is None else hit.superseded_by.text,
            "reason": hit.reason,
        }


def _relation_record(relation: Relation) -> dict[str, Any]:
    fields = {name: getattr(relation, name) for name in _RELATION_COLUMNS if not name.startswith("valid_")}
    return {**fields, "valid_from": relation.valid.start, "valid_until": relation.valid.end}


_SIGNALS = ("reader", "vectors", "words", "graph", "times")
"""The signals with a fixed color in every picture."""
_LABEL_LENGTH = 52
"""Letters of a label; a longer one is cut off."""
_LABEL = 360.0
"""Pixels of the width of the labels."""
_BARS = 380.0
"""Pixels of the width of the part with the bars."""
_CELL = 120.0
"""Pixels of the width of the bar of one measure."""
_GAP = 64.0
"""Pixels of the width of the number after a bar."""
_HEAD = 82.0
"""Pixels above the first row: the title and the legend."""
_ROW = 28.0
"""Pixels of the height of a row."""
_BAR = 14.0
"""Pixels of the height of a bar."""


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

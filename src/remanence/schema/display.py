"""How results are shown in a notebook: HTML tables, in which everything is escaped, and pandas data frames."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

from remanence.errors import MissingExtra

if TYPE_CHECKING:
    import pandas

_TIME = "datetime64[us, UTC]"  # microseconds: nanoseconds would not reach from year 1 to 9999
_LEFT = 'style="text-align: left"'
"""Notebooks align the cells of a table to the right, which suits numbers and not texts."""
_MAX_ROWS, _MAX_CELL_LENGTH = 500, 2_000


@dataclass(frozen=True, slots=True, repr=False)
class HtmlTable:
    """A table that a notebook shows."""

    title: str
    html: str

    def __repr__(self) -> str:
        return f"<{self.title}. A notebook shows it>"

    def _repr_html_(self) -> str:
        return self.html


class Markup(str):
    """A cell of a table that is HTML already."""

    __slots__ = ()


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], notes: Iterable[str] = ()) -> str:
    """A table with a title above and notes below it. Without columns, each row is a name and its value.

    Long texts are cut, and so are very many rows; a note says how many.

    >>> html_table("", [], [["<b>"]])
    '<table><tbody><tr><th style="text-align: left">&lt;b&gt;</th></tr></tbody></table>'
    """
    head = "".join(_cell(name, "th") for name in columns)
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    first = "td" if columns else "th"
    every = list(rows)
    body = "".join(
        f"<tr>{''.join(_cell(value, 'td' if place else first) for place, value in enumerate(row))}</tr>"
        for row in every[:_MAX_ROWS]
    )
    more = [f"... and {len(every) - _MAX_ROWS:,} more"] if len(every) > _MAX_ROWS else []
    below = "".join(f"<li>{escape(note)}</li>" for note in (*more, *notes))
    caption = f"<caption>{escape(_shortened(title))}</caption>" if title else ""
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>" + (f"<ul>{below}</ul>" if below else "")


def html_bar(share: float, text: str, start: float = 0.0) -> Markup:
    """A cell with a bar whose length shows a number from 0 to 1, and which may begin further to the right."""
    left, width = (100 * min(1.0, max(0.0, part)) for part in (start, share))
    style = f"display: inline-block; height: 0.7em; background: #2f6fde; margin-left: {left:.1f}%; width: {width:.1f}%"
    box = f'<span style="display: inline-block; width: 8em"><span style="{style}"></span></span> '
    return Markup(f"{box}{escape(text)}")


def data_frame(
    records: Iterable[Mapping[str, Any]], columns: Sequence[str], times: Container[str] = ()
) -> pandas.DataFrame:
    """A data frame with these columns, also if there are no records; `times` are the columns that hold moments.

    Raises:
        MissingExtra: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtra('to_df() needs the package pandas. Run: pip install "remanence-memory[notebook]"') from error
    rows = list(records)
    return pandas.DataFrame(
        {
            name: pandas.Series([row.get(name) for row in rows], dtype=_TIME if name in times else None)
            for name in columns
        },
        columns=list(columns),
    )


def _cell(value: object, kind: str) -> str:
    if isinstance(value, Markup):
        return f"<{kind} {_LEFT}>{value}</{kind}>"
    if isinstance(value, float):
        value = f"{value:.2f}"
    elif isinstance(value, datetime):
        value = value.isoformat(" ", "minutes")
    return f"<{kind} {_LEFT}>{escape(_shortened(str(value)))}</{kind}>".replace("\n", "<br>")


def _shortened(text: str) -> str:
    """A text that a browser can show: one memory may have two million characters."""
    return text if len(text) <= _MAX_CELL_LENGTH else f"{text[: _MAX_CELL_LENGTH - 1]}…"

"""Pictures for notebooks, and the parts of an SVG document that all of them are made of.

The look is in the attributes of each element: where code hosts and notebooks show an SVG, many remove its style sheet.
The style sheet adds dark colors and what happens under the pointer.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape as escape_html
from importlib.resources import files
from pathlib import Path

from remanence.errors import InvalidInput

MARGIN = 30.0
"""Pixels around a picture."""
COLORS = ("#2f6fde", "#d98324", "#2b8a5e", "#a14bc4", "#c2413b", "#11828f")
"""The colors of bars and curves, in turn."""
LETTER_WIDTH = 7.2
"""Pixels of the width of an average letter at 12 pixels. The font is not known here, so this is rather too wide."""
_FONT = 'font-family="system-ui, -apple-system, Segoe UI, Roboto, sans-serif"'
_BY_ELEMENT = {"text": {"font-size": "12", "fill": "#1d2733"}}
_BY_CLASS: dict[str, dict[str, str]] = {
    "paper": {"fill": "#ffffff"},
    "faint": {"fill": "#667382"},
    "middle": {"text-anchor": "middle"},
    "end": {"text-anchor": "end"},
    "called": {"font-weight": "600"},
    "entity": {"fill": "#2f6fde"},
    "memory": {"fill": "#d98324"},
    "edge": {"fill": "none", "stroke": "#93a1b0", "stroke-width": "1.5"},
    "tip": {"fill": "#93a1b0"},
    "mention": {"stroke-dasharray": "4 4", "stroke-width": "1"},
    "edge-name": {"font-size": "11", "fill": "#667382"},
    "edge-when": {"font-size": "9.5", "fill": "#667382"},
    "rule": {"stroke": "#e6eaef"},
    "track": {"fill": "#e6eaef"},
    "tick": {"stroke": "#1d2733", "stroke-width": "2"},
    "interval": {"stroke": "#1d2733", "stroke-opacity": "0.55"},
    "now": {"stroke": "#c2255c", "stroke-dasharray": "3 3"},
}
"""The attributes that a class gives an element; of two classes, the later one decides."""
_OUTLINE = {"paint-order": "stroke", "stroke": "#ffffff", "stroke-width": "4", "stroke-linejoin": "round"}
_ELEMENT = re.compile(r'<(text|rect|path)(?: class="([\w -]*)")?(?=[\s/>])')
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, repr=False)
class NotebookPicture:
    """A picture for a notebook, which can also be saved as a file. It is drawn when it is displayed or saved."""

    title: str
    height: int
    formats: Mapping[str, Callable[[], str]]
    """The content of a file, by suffix."""

    def __repr__(self) -> str:
        return f"<{self.title}. A notebook draws it; elsewhere save it, for example as 'picture.html'>"

    def _repr_html_(self) -> str:
        # A frame with scripts and nothing else: neither the page nor the notebook can read the other.
        page = escape_html(self.formats[".html"]())
        return (
            f'<iframe title="{escape_html(self.title)}" sandbox="allow-scripts" srcdoc="{page}" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )

    def _repr_svg_(self) -> str:
        """The same without a script, for programs that show no frames."""
        return self.formats[".svg"]()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file in the format that its suffix names. If that fails, an existing file stays as it was."""
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidInput(f"path={path!r} is of type {type(path).__name__}. Give a file, such as 'graph.html'.")
        file = Path(os.path.realpath(path))  # if the path is a symbolic link, its target is replaced and not the link
        draw = self.formats.get(Path(path).suffix.lower())
        if draw is None:
            raise InvalidInput(f"{os.fspath(path)!r} ends in none of {', '.join(self.formats)}. Choose one of these.")
        if not file.parent.is_dir():
            raise InvalidInput(f"there is no folder {str(file.parent)!r} to save {file.name!r} in. Make it first.")
        if file.is_dir():
            raise InvalidInput(f"{str(file)!r} is a folder. Give another name for the file.")
        unfinished = file.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            unfinished.write_text(draw(), "utf-8")
            os.replace(unfinished, file)
        finally:
            unfinished.unlink(missing_ok=True)
        return file


def svg_picture(title: str, height: int, draw: Callable[[], str]) -> NotebookPicture:
    """A picture that is drawn as SVG; as HTML it is a page with nothing else on it."""

    def page() -> str:
        template = (files(__package__) / "picture.html").read_text("utf-8")
        return fill_template(template, title=escape_html(replace_invalid_xml(title)), svg=draw())

    return NotebookPicture(title, height, {".html": page, ".svg": draw})


def fill_template(template: str, **parts: str) -> str:
    """A template with its @@parts@@ filled in."""
    # In one pass, so that a label which looks like a placeholder is not replaced.
    return re.sub(f"@@({'|'.join(parts)})@@", lambda found: parts[found[1]], template)


def svg_document(kind: str, name: str, width: float, height: float, body: Iterable[str]) -> str:
    """An SVG document with this body; `kind` is its class in `picture.css`."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="remanence {kind}" role="img" {_FONT} {size} '
        f'aria-label="{escape_html(replace_invalid_xml(name))}">'
    )
    style = (files(__package__) / "picture.css").read_text("utf-8")
    background = '<rect class="paper" width="100%" height="100%"/>'
    outlined = _OUTLINE if kind == "graph" else {}
    drawn = _ELEMENT.sub(lambda found: _with_attributes(found, outlined), "\n".join([background, *body]))
    return "\n".join([head, f"<style>\n{style}</style>", drawn, "</svg>\n"])


def text_element(x: float, y: float, text: str, kind: str = "") -> str:
    """A line of text with its baseline at (x, y)."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape_html(replace_invalid_xml(text), quote=False)}</text>'


def tooltip(text: str) -> str:
    """The text that is shown while the pointer is over the enclosing element."""
    return f"<title>{escape_html(replace_invalid_xml(text), quote=False)}</title>"


def replace_invalid_xml(text: str) -> str:
    """A text without the characters that XML does not allow, not even escaped."""
    return _NOT_IN_XML.sub("\ufffd", text)


def _with_attributes(found: re.Match[str], outlined: Mapping[str, str]) -> str:
    """The start of an element with the attributes of its classes. Texts are escaped, so that none looks like one."""
    element, classes = found[1], found[2] or ""
    attributes = dict(_BY_ELEMENT.get(element, {}))
    if element == "text":
        attributes |= outlined
    for name in classes.split():
        attributes |= _BY_CLASS.get(name, {})
    return " ".join([found[0], *(f'{name}="{value}"' for name, value in attributes.items())])

"""Front matter and links of Markdown notes, as Obsidian and other editors write them.

Front matter is a block of fields between two lines of `---` at the start of a note. Its values are JSON, which is valid
YAML, or the looser form of editors: unquoted texts and lists of them. Nested values are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_FIELD = re.compile(r"^(\w[\w .\-]*?):(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"^[ \t]*-[ \t]+(.*)$")
# No bracket inside: from each of many opening ones, a search would go on to the end of the text.
_WIKI_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]")


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The fields of a note, and the text after them. Line ends become uniform.

    >>> split_front_matter("---\\ntitle: Ana\\ntags: [work, people]\\n---\\nMet in Porto.")
    ({'title': 'Ana', 'tags': ['work', 'people']}, 'Met in Porto.')
    """
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    if not text.startswith("---\n") or "\n---" not in text[3:]:
        return {}, text
    head, _, body = text[3:].partition("\n---")
    return dict(_fields(head)), body.partition("\n")[2]


def strip_links(text: str) -> str:
    """A text with its wiki links as plain text.

    >>> strip_links("[[Alice]] met [[people/bob|Bob]].")
    'Alice met Bob.'
    """
    return _WIKI_LINK.sub(lambda link: link[2] or link[1], text)


def _fields(head: str) -> Iterator[tuple[str, Any]]:
    name, items = "", list[Any]()
    for line in head.split("\n"):
        if item := _ITEM.match(line):
            items.append(_value(item[1]))
        elif match := _FIELD.match(line):
            if items:
                yield name, items
            name, items = match[1], []
            if (match[2] or "").strip():
                yield name, _value(match[2])
    if items:
        yield name, items


def _value(written: str) -> Any:
    """A value from JSON, or from what an editor writes: an unquoted text, or a list of such texts."""
    written = written.strip()
    try:
        return json.loads(written, parse_constant=str)
    except (ValueError, RecursionError):
        if written.startswith("[") and written.endswith("]"):
            return [_value(part) for part in written[1:-1].split(",") if part.strip()]
        return written.strip("'\"")

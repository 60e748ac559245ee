"""What docstrings say, for OpenAPI and for models: what a method does, and what each parameter or attribute is."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"^(?:Args|Attributes):\n((?: {4}.*\n?)+)", re.MULTILINE)
_ITEM = re.compile(r"^ {4}(\w+): (.*\n?(?: {8}.*\n?)*)", re.MULTILINE)


def first_paragraph(source: object) -> str:
    """The first paragraph of the docstring of a function or a class, on one line."""
    return " ".join(inspect.cleandoc(source.__doc__ or "").partition("\n\n")[0].split())


def item_descriptions(source: object) -> dict[str, str]:
    """What a docstring says of parameters or attributes, by their names.

    >>> def add(text: str) -> None:
    ...     '''Store a text.
    ...
    ...     Args:
    ...         text: The text.
    ...     '''
    >>> item_descriptions(add)
    {'text': 'The text.'}
    """
    section = _SECTION.search(inspect.cleandoc(source.__doc__ or ""))
    return {name: " ".join(text.split()) for name, text in _ITEM.findall(section[1] if section else "")}

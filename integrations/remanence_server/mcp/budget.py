"""Answers that fit a number of tokens, so that one call does not fill the context of a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import Field

from remanence.adapters import estimate_tokens

T = TypeVar("T")

MIN_TOKENS, MAX_TOKENS = 50, 100_000
MaxTokens = Annotated[int, Field(ge=MIN_TOKENS, le=MAX_TOKENS, description="The most tokens of the answer")]
Page = Annotated[int, Field(ge=1, description="The number of the page, from 1")]
PREVIEW_LENGTH = 100


def tokens_of(value: Any) -> int:
    """The approximate number of tokens of a value in a list of an answer: as indented JSON, which a model reads."""
    if isinstance(value, str):
        return estimate_tokens(value)
    return estimate_tokens(json.dumps(value, ensure_ascii=False, indent=2, default=str).replace("\n", "\n    "))


def fitting(items: Iterable[T], max_tokens: int) -> list[T]:
    """The first items that fit, at least one of them: an answer without any would never lead further.

    >>> fitting(["one", "two", "x" * 4000], 50)
    ['one', 'two']
    """
    kept: list[T] = []
    left = max_tokens
    for item in items:
        left -= tokens_of(item)
        if left < 0 and kept:
            break
        kept.append(item)
    return kept


def cut(text: str, max_tokens: int) -> str:
    """The beginning of a text that alone would not fit, and the whole of any other.

    >>> cut("tea", 50), len(cut("tea " * 500, 50)) < 200
    ('tea', True)
    """
    length, limit = len(text), max_tokens * 3 // 4
    while length > 1 and tokens_of(text[:length]) > limit:
        length = length * 3 // 4
    return text if length == len(text) else f"{text[:length]} [...]"


def left_out(found: Sequence[Any], kept: Sequence[Any]) -> dict[str, int]:
    """The field that says how many items did not fit; none if all did.

    >>> left_out([1, 2, 3], [1]), left_out([1], [1])
    ({'left_out': 2}, {})
    """
    return {"left_out": len(found) - len(kept)} if len(kept) < len(found) else {}


def page_of(items: Sequence[T], page: int, page_size: int) -> Sequence[T]:
    """One page of a list.

    >>> page_of([1, 2, 3], 2, 2)
    [3]
    """
    return items[(page - 1) * page_size : page * page_size]


def preview(text: str) -> str:
    """The beginning of a text on one line.

    >>> preview("tea\\n" * 40)[-7:]
    'tea ...'
    """
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW_LENGTH else f"{line[: PREVIEW_LENGTH - 4].rstrip()} ..."

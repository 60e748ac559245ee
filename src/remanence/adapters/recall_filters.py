"""Which options of a recall an adapter passes on: all but those named here, so that a new filter needs no adapter.
And which a tool for a model offers: those that their declaration describes for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.engine.parameters import simple_types
from remanence.recall.options import RecallOptions

NOT_PASSED_ON = frozenset(
    {
        *("limit", "tags", "meta"),  # frameworks have names of their own for them
        *("context", "exclude_texts", "vector", "now"),  # of one call
        *("include", "signals", "weights"),  # how is searched, and not for what
    }
)
RECALL_FILTERS = tuple(field.name for field in fields(RecallOptions) if field.name not in NOT_PASSED_ON)


def recall_tool_options() -> dict[str, tuple[Any, Any, str]]:
    """The options of `recall` that a tool for a model offers: the type, the default and the description of each.

    Example:
        >>> recall_tool_options()["tags"]
        (list[str] | None, None, 'With all of these tags')
    """
    types = simple_types(RecallOptions)
    return {
        option.name: (
            types[option.name] | None if option.default is None else types[option.name],
            option.default,
            option.metadata["tool"],
        )
        for option in fields(RecallOptions)
        if "tool" in option.metadata
    }


def check_filters(given: Mapping[str, Any], *others: str) -> None:
    """Refuse an option that is neither a filter of `recall` nor one of the `others`.

    Raises:
        InvalidInput: There is one.

    Example:
        >>> check_filters({"during": "May 2026", "k": 3}, "k")
        >>> check_filters({"kind": "episode"})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        remanence.errors.InvalidInput: there is no filter 'kind'. Give one of conversation, deadline, during, ...
    """
    known: Iterable[str] = {*RECALL_FILTERS, *others}
    if unknown := sorted(given.keys() - known):
        raise InvalidInput(f"there is no filter {unknown[0]!r}. Give one of {', '.join(sorted(known))}.")

"""JSON text: written without what `json` makes anew for each value, and read line by line."""

from __future__ import annotations

import json
import json.encoder
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from remanence.errors import InvalidInput
from remanence.language.text import truncate


def json_writer(*, sort_keys: bool = False, separators: tuple[str, str] = (", ", ": ")) -> Callable[[Any], str]:
    """Writes values as `json.dumps(value, ensure_ascii=False, ...)` does, in half the time for small ones.

    It does not look for circles: one ends in a RecursionError all the same.

    >>> json_writer(sort_keys=True)(["São José", {"b": None, "a": 1.5}])
    '["São José", {"a": 1.5, "b": null}]'
    """
    usual = json.JSONEncoder(ensure_ascii=False, sort_keys=sort_keys, separators=separators, check_circular=False)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without the C part
        return usual.encode
    item, key = separators
    quote = json.encoder.encode_basestring
    parts = make(None, usual.default, quote, None, key, item, sort_keys, False, True)
    return lambda value: "".join(parts(value, 0))


def json_objects(lines: Iterable[str], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file so called, one a line, each with where it stands; blank lines are skipped.

    >>> list(json_objects(['{"text": "One."}', ""], "notes.jsonl"))
    [('notes.jsonl, line 1', {'text': 'One.'})]
    """
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{where} is not JSON: {error}.") from None
        if not isinstance(row, dict):
            raise InvalidInput(f"{where} is no JSON object, but {truncate(line, 60)!r}.")
        yield where, row

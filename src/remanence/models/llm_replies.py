"""Parses the rows of a model's answer, from its fields or from JSON in its text, and verdicts from the rows.

Models put JSON between fences or into prose, reason before it, write it in Python syntax, or stop in the middle.
Every complete row is read, and nothing is added to an incomplete one.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from remanence.language.claims.predicates import claim_key
from remanence.language.text import normalize_name, tokens
from remanence.models.llm_clients import Reply
from remanence.schema import Memory, Verdict, format_moment

MAX_TEXT = 1_000_000  # characters of an answer; the rest is not read
MAX_MEMORY_CHARACTERS, MAX_REASON_CHARACTERS = 500, 200

Row = Mapping[str, Any]
CandidatePair: TypeAlias = tuple[int, Memory]
"""The index of a new memory, and an older one that it is compared with."""


@dataclass(frozen=True, slots=True)
class ParsedRows:
    """The rows of an answer, and whether it was complete: neither cut off nor damaged."""

    rows: tuple[Row, ...] = ()
    complete: bool = True


def parse_rows(reply: Reply, key: str) -> ParsedRows | None:
    """What a reply lists under `key`; None if no list can be read.

    >>> parse_rows(Reply(text='Sure! {"facts": [{"text": "Tea."}, {"text": "Cof'), "facts")
    ParsedRows(rows=({'text': 'Tea.'},), complete=False)
    >>> parse_rows(Reply(text="I have no facts for you."), "facts")
    """
    if reply.fields is None:
        return _parse_text(reply.text, key)
    listed = reply.fields.get(key)
    if isinstance(listed, str):  # a list as JSON in a string
        return _parse_text(listed, key)
    if isinstance(listed, Mapping):
        listed = [listed]
    if not isinstance(listed, list | tuple):
        return None
    rows = tuple(row for row in map(_row, listed) if row is not None)
    return ParsedRows(rows, len(rows) == len(listed)) if rows or not listed else None


def _parse_text(text: str, key: str) -> ParsedRows | None:
    text = _THINKING.sub("", text[:MAX_TEXT])
    named = re.compile(rf"""["']?\b{re.escape(key)}["']?\s*:\s*\[""", re.IGNORECASE)
    empty: ParsedRows | None = None
    position, lists = 0, 0
    while (opening := named.search(text, position) or (None if lists else _LIST.search(text))) is not None:
        lists += 1
        rows, position, ending = _parse_list(text, opening.end())
        if rows:
            return ParsedRows(rows, ending == _CLOSED)
        if ending == _CLOSED:
            empty = ParsedRows()
        if ending == _CUT:  # the rest of the text is inside the row that was cut off
            return empty
    return empty if lists else _parse_objects(text)


_THINKING = re.compile(r"\A\s*<(think\w*)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_LIST = re.compile(r"\[\s*(?=\{)")
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|(?P<unfinished>".*)|[][{}]', re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_CLOSED, _CUT, _DAMAGED = "closed", "cut", "damaged"
_DECODER = json.JSONDecoder(strict=False)  # accepts line breaks inside strings


def _parse_list(text: str, position: int) -> tuple[tuple[Row, ...], int, str]:
    """The rows of a list that begins at `position`, the position after them, and how the list ended."""
    rows: list[Row] = []
    ending = _CLOSED
    while True:
        while position < len(text) and (text[position].isspace() or text[position] == ","):
            position += 1
        if position == len(text):
            return tuple(rows), position, _CUT
        if text[position] == "]":
            return tuple(rows), position + 1, ending
        if text[position] not in '{"':
            return tuple(rows), position, _DAMAGED
        value, end = _parse_value(text, position)
        if end is None:
            return tuple(rows), len(text), _CUT
        position = end
        if (row := _row(value)) is not None:
            rows.append(row)
        else:
            ending = _DAMAGED


def _parse_objects(text: str) -> ParsedRows | None:
    """The objects of a text without a list: a single one, or one a line."""
    rows: list[Row] = []
    position: int | None = text.find("{")
    while position is not None and position >= 0:
        value, position = _parse_value(text, position)
        if (row := _row(value)) is not None:
            rows.append(row)
        if position is not None:
            position = text.find("{", position)
    return ParsedRows(tuple(rows), complete=position is not None) if rows else None


def _parse_value(text: str, position: int) -> tuple[object, int | None]:
    """The object or string at `position`, and where it ends; None for the end if the text ends first."""
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        end = _find_end(text, position)
    return (None, None) if end is None else (_parse_repaired(text[position:end]), end)


def _find_end(text: str, start: int) -> int | None:
    """Where the object or string at `start` ends, by its brackets and quotes."""
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text, start):
        if found["unfinished"]:
            return None
        depth += (found.group() in "{[") - (found.group() in "}]")
        if depth <= 0:
            return found.end()
    return None


def _parse_repaired(text: str) -> object:
    """An object with trailing commas or in Python syntax; None if it cannot be parsed."""
    repaired = _TRAILING_COMMA.sub("", text)
    for parse in (_DECODER.decode, ast.literal_eval):
        try:
            return parse(repaired)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return None


def _row(value: object) -> Row | None:
    """A value as a row: a mapping, or a text alone; None for anything else."""
    if isinstance(value, str):
        return {"text": value}
    return value if isinstance(value, Mapping) else None


def pair_rows(new: Sequence[Memory], pairs: Sequence[CandidatePair]) -> Iterator[Mapping[str, object]]:
    """Each new memory once, then the older ones by their indexes: a model would misspell ids."""
    for index in dict.fromkeys(index for index, _ in pairs):
        yield {"new": index, **_prompt_fields(new[index])}
    for position, (index, memory) in enumerate(pairs):
        yield {"old": position, "held_against_new": index, **_prompt_fields(memory)}


def parse_verdicts(rows: Sequence[Row], new: Sequence[Memory], pairs: Sequence[CandidatePair]) -> Iterator[Verdict]:
    """The verdicts on these pairs, one for each; other rows are ignored."""
    judged: set[int] = set()
    for row in rows:
        position = parse_index(row.get("old"), len(pairs))
        if position is None or position in judged or parse_index(row.get("new"), len(new)) != pairs[position][0]:
            continue
        index, memory = pairs[position]
        effect, why = row.get("says"), row.get("why")
        if effect == "extends" or (effect in ("updates", "contradicts") and have_common_subject(new[index], memory)):
            judged.add(position)
            reason = why[:MAX_REASON_CHARACTERS] if isinstance(why, str) else ""
            yield Verdict(index, memory.id, cast("Literal['updates', 'extends', 'contradicts']", effect), reason)


def have_common_subject(new: Memory, old: Memory) -> bool:
    """Whether two memories are about the same person or thing."""
    new_subjects, old_subjects = _subjects(new), _subjects(old)
    if new_subjects and old_subjects:
        return not new_subjects.isdisjoint(old_subjects)
    return not set(tokens(new.text)).isdisjoint(tokens(old.text))


def _subjects(memory: Memory) -> set[str]:
    """What a memory is about: the subjects of its claims, else the people in it, else all names.

    The objects of claims are left out: two memories of people in one city are not about the city.
    """
    claimed = {(claim_key(triple) or ("", normalize_name(triple.subject)))[1] for triple in memory.triples}
    people = {normalize_name(mention.name) for mention in memory.mentions if mention.kind == "person"}
    return claimed or people or {normalize_name(mention.name) for mention in memory.mentions}


def parse_index(value: object, count: int) -> int | None:
    """An index below `count`, given as a number or as digits."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        value = int(value)
    return value if type(value) is int and 0 <= value < count else None


def _prompt_fields(memory: Memory) -> dict[str, str]:
    fields = {"text": memory.text[:MAX_MEMORY_CHARACTERS], "learned": format_moment(memory.recorded_at)}
    return {**fields, "true": str(memory.valid)} if memory.valid.has_bound else fields

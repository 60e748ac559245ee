"""Parses the rows of a model's answer, and turns each into a Fact, checked against the conversation.

A fact needs a quotation that stands in a turn. A model also invents, translates, and writes anything into any field.
What can be repaired is repaired (a spelling, a date, "high" for a number), the rest is left out. Nothing is added.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast

from remanence.models.llm_clients import Reply
from remanence.models.llm_dates import checked_window, stated_times
from remanence.models.llm_source import USER_LABEL, Chunk, Piece, bare_name, numbers_in
from remanence.models.readers import default_reader, resolve_reader
from remanence.ports import ReaderLine
from remanence.schema import (
    ASSISTANT,
    PLAN_TAG,
    SELF,
    Fact,
    FactEffect,
    Memory,
    MemoryKind,
    Mention,
    Triple,
    Utterance,
    Window,
)
from remanence.text.lexicon.languages import ENGLISH
from remanence.text.named_entities.name_rules import find_names
from remanence.text.named_entities.name_spans import find_first_person_singular
from remanence.text.rule_extractor import speaker_name
from remanence.text.text import normalize_name, normalize_text, replace_unstorable

MAX_TEXT = 1_000_000
"""Characters of an answer; the rest is not read."""

Row = Mapping[str, Any]


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
    """The first list named `key` that has a row; else a list or objects without a name; else an empty list."""
    text = _THINKING.sub("", text[:MAX_TEXT])
    named = list(re.finditer(rf"""["']?\b{re.escape(key)}["']?\s*:\s*\[""", text, re.IGNORECASE))
    first = text.find("{")
    is_list = first > 0 and text[:first].rstrip().endswith("[")
    empty: ParsedRows | None = None
    end: int | None = 0
    for start, in_list in [(match.end(), True) for match in named] or [(max(first, 0), is_list)]:
        if end is None:
            break  # the rest of the text is inside a row that was cut off
        if start >= end:
            rows, end, is_complete = _parse_rows(text, start, in_list)
            if rows:
                return ParsedRows(rows, is_complete)
            empty = ParsedRows() if in_list and is_complete else empty
    return empty


_THINKING = re.compile(r"\A\s*<(think\w*)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|(?P<unfinished>".*)|[][{}]', re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_BETWEEN_ROWS = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)  # accepts line breaks inside strings


def _parse_rows(text: str, position: int, in_list: bool) -> tuple[tuple[Row, ...], int | None, bool]:
    """The rows from `position` on, in a list up to its end; where they end, None if the text ends first; and whether
    all of them could be read."""
    rows: list[Row] = []
    is_complete = True
    while True:
        position = _BETWEEN_ROWS.match(text, position).end() if in_list else text.find("{", position)  # type: ignore[union-attr]
        if position < 0:
            return tuple(rows), len(text), is_complete
        if text[position : position + 1] not in ("{", '"'):
            is_cut, is_closed = position == len(text), text[position : position + 1] == "]"
            return tuple(rows), None if is_cut else position, is_complete and is_closed
        value, end = _parse_value(text, position)
        if end is None:
            return tuple(rows), None, False
        position = end
        if (row := _row(value)) is not None:
            rows.append(row)
        elif in_list:
            is_complete = False


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


def parse_index(value: object, count: int) -> int | None:
    """An index below `count`, given as a number or as digits."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        value = int(value)
    return value if type(value) is int and 0 <= value < count else None


MIN_SUPPORT = 0.25
"""What the share of the words of a fact that stand around its quotation, plus the reader's probability that the quoted
turn tells it, must reach. Fitted on 200 facts of strangers' chats: 99% do with the turn that each is from, and 4% with
a turn of another person."""
TURNS_BEFORE = 2
"""Turns before the quoted one that count for the words: an answer rests on its question."""


def is_supported(text: str, quoted: Piece, chunk: Chunk, touched: Sequence[Memory], told_at: datetime) -> bool:
    """Whether a quoted turn tells a fact, as far as this can be judged without a language model.

    One shared word is enough in other languages than English, which the reader was trained on, and without a reader
    (`REMANENCE_READER=none`).

    Args:
        text: The fact.
        quoted: The turn, or the part of one, that it rests on.
        chunk: What the model was shown.
        touched: The known facts that it ends, replaces, confirms or extends: their words count, too.
        told_at: When the turn was said.
    """
    before = chunk.pieces_before(quoted, TURNS_BEFORE)
    source = Chunk((quoted,), before, tuple(touched))
    shared = source.word_overlap(text)
    if shared >= MIN_SUPPORT or (shared and source.language != ENGLISH) or resolve_reader() is None:
        return shared > 0
    line = ReaderLine(
        quoted.utterance.text,
        speaker=_label(quoted.utterance),
        before=f"{_label(before[-1].utterance)}: {before[-1].utterance.text}" if before else "",
    )
    return shared + default_reader().read(text, [line], asked_at=told_at).answers[0] >= MIN_SUPPORT


def _label(utterance: Utterance) -> str:
    """The speaker as the reader is given it."""
    name = speaker_name(utterance.speaker)
    return USER_LABEL if name in (SELF, None) else name


MAX_FACT_CHARACTERS = 1_000
"""Characters of a fact, at most: a longer text is a copy of the source."""
MAX_NAMES, MAX_TRIPLES, MAX_TAGS, MAX_EFFECTS = 32, 16, 8, 8
"""Names, triples, tags and effects of one fact, at most; the rest of an answer is left out."""
MAX_TURN = 1_000_000
"""The highest number of a turn that an answer may give."""
DEFAULT_IMPORTANCE, DEFAULT_CONFIDENCE = 0.6, 0.8
"""The importance and the confidence, from 0 to 1, of a fact to which the model gives none. Chosen by hand."""
UNSUPPORTED_FACTOR, MIN_OVERLAP = 0.5, 1 / 3
"""The factor for the confidence of a fact if a name in it is not in the source, or too few of its words; and the least
share of its words that are. Chosen by hand."""

_WORDS = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
_NAME_KINDS, _NUMBER_WORDS = _WORDS["name kinds"].split(), _WORDS["numbers"]
_KINDS: dict[str, str]
_SAME_PREDICATE: dict[str, str]
_KINDS, _SAME_PREDICATE = (
    {word: name for name, words in _WORDS[group].items() for word in words.split()} for group in ("kinds", "predicates")
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORD = re.compile(r"[^\w]+|_+")
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:[.,]\d+)*(?![\w:/-])")
_ISO = re.compile(r"\d{4}(?:-\d\d){0,2}\b.*")
_THE_USER = re.compile(r"\bthe user\b|\buser's\b", re.IGNORECASE)


def checked_fact(row: Row, chunk: Chunk, now: datetime) -> Fact | None:
    """The fact that a row states; None if it has no quotation of the chunk, or says what nobody said."""
    text = _clean(row.get("text"))
    found = chunk.find_quotation(_clean(row.get("quotation")), parse_index(row.get("turn"), MAX_TURN))
    if not text or len(text) > MAX_FACT_CHARACTERS or found is None or _is_copy(text, chunk):
        return None
    quotation, piece = found
    times = stated_times(quotation, piece, chunk, now)
    kind = _KINDS.get(_clean(row.get("kind")).lower(), "semantic")
    window = checked_window(row.get("when"), row.get("until"), kind, times)
    text, names, invented = match_spelling(text, chunk)
    mentions = _mentions(row.get("names"), names, text, chunk, piece)
    overlap = chunk.word_overlap(text)
    if invented and (overlap == 0 or all(mention.name == SELF for mention in mentions)):
        return None
    if _has_unsaid_number(text, chunk, window, times.told_at) or _is_of_user_by_assistant(text, piece):
        return None
    effects = _effects(row, chunk, times.told_at)
    if not is_supported(text, piece, chunk, [chunk.known[effect.known_index] for effect in effects], times.told_at):
        return None
    triples = _triples(row.get("triples"), chunk, piece)
    factor = UNSUPPORTED_FACTOR if invented or overlap < MIN_OVERLAP else 1.0
    return Fact(
        text=text,
        kind=cast("MemoryKind", "episode" if kind == "plan" else kind),
        mentions=_with_subjects(mentions, triples),
        triples=triples,
        valid=window,
        importance=_number(row.get("importance"), DEFAULT_IMPORTANCE),
        confidence=round(factor * _number(row.get("confidence"), DEFAULT_CONFIDENCE), 3),
        tags=_tags(row.get("tags"), kind),
        source_turns=(piece.turn,),
        quotation=quotation,
        effects=effects,
    )


def match_spelling(text: str, chunk: Chunk) -> tuple[str, list[Mention], bool]:
    """A text with its names spelled as in the source, these names, and whether it has other names."""
    names: list[Mention] = []
    invented = False
    for name in find_names(text):
        spelled = chunk.find_spelling(name.text)
        if spelled is None:
            invented = invented or not _is_in_source(name.text, chunk)
            continue
        text = text.replace(bare_name(name.text), spelled)
        names.append(Mention(spelled, name.kind))
    return text, names, invented


def _effects(row: Row, chunk: Chunk, told_at: datetime) -> tuple[FactEffect, ...]:
    """What the fact does to known ones. It neither ends nor replaces what was told later than it."""
    found: dict[int, FactEffect] = {}
    effects: tuple[Literal["extends", "confirms", "ends", "replaces"], ...]
    effects = ("extends", "confirms", "ends", "replaces")
    for effect in effects:
        for number in _listed(row.get(effect)):
            index = parse_index(number, len(chunk.known))
            if index is not None and (effect in ("extends", "confirms") or chunk.known[index].told_at <= told_at):
                found[index] = FactEffect(index, effect)
    return tuple(found.values()) if len(found) <= MAX_EFFECTS else ()


def _is_copy(text: str, chunk: Chunk) -> bool:
    """Whether the text repeats the whole chunk, unless that is one sentence."""
    source = normalize_text("\n".join(piece.utterance.text for piece in chunk.pieces))
    return (len(chunk.pieces) > 1 or len(source) > 300) and normalize_text(text) == source


def _has_unsaid_number(text: str, chunk: Chunk, window: Window, told_at: datetime) -> bool:
    """Whether a text has a number that is neither in the source nor part of a date of the fact."""
    days = (told_at, window.start, window.end and window.end - timedelta(microseconds=1))
    dates = {str(part) for day in days if day is not None for part in (day.year, day.month, day.day)}
    dates |= {str(told_at.year - 1), str(told_at.year + 1)}  # of "at Christmas"
    numbers = (number for written in _NUMBER.findall(text) for number in numbers_in(written))
    return any(number not in chunk.numbers and number not in dates for number in numbers)


def _is_of_user_by_assistant(text: str, piece: Piece) -> bool:
    """Whether something about the user rests on words of the assistant."""
    return text.lower().startswith("the user") and speaker_name(piece.utterance.speaker) == ASSISTANT


def _mentions(given: object, names: list[Mention], text: str, chunk: Chunk, piece: Piece) -> tuple[Mention, ...]:
    """The names that the model lists and those in the text, spelled as in the source, each once."""
    found: dict[str, Mention] = {}
    listed = [_name(item) for item in _listed(given)[:MAX_NAMES]]
    if _THE_USER.search(text):
        listed.append((USER_LABEL, "person"))
    if find_first_person_singular(text):
        listed.append(("I", "person"))
    for name, kind in listed:
        speaker = chunk.resolve_speaker(name, piece)
        spelled = speaker or chunk.find_spelling(name)
        if spelled:
            found.setdefault(normalize_name(spelled), Mention(spelled, "person" if speaker else kind))
    for mention in names:
        known = found.setdefault(normalize_name(mention.name), mention)
        if known.kind == "thing" != mention.kind:
            found[normalize_name(mention.name)] = replace(known, kind=mention.kind)
    return tuple(found.values())[:MAX_NAMES]


def _name(item: object) -> tuple[str, str]:
    name, kind = (item.get("name"), item.get("kind")) if isinstance(item, Mapping) else (item, None)
    kind = _clean(kind).lower()
    return _clean(name), kind if kind in _NAME_KINDS else "thing"


def _with_subjects(mentions: tuple[Mention, ...], triples: Sequence[Triple]) -> tuple[Mention, ...]:
    known = {normalize_name(mention.name) for mention in mentions}
    subjects = dict.fromkeys(t.subject for t in triples if normalize_name(t.subject) not in known)
    return (*mentions, *(Mention(name, "person" if name == SELF else "thing") for name in subjects))


def _triples(given: object, chunk: Chunk, piece: Piece) -> tuple[Triple, ...]:
    """The claims whose subject and object are in the source, each once."""
    found: dict[Triple, None] = {}
    for item in _listed(given)[:MAX_TRIPLES]:
        first, predicate, second = (_clean(part) for part in _parts(item))
        subject, target = (_source_form(part, chunk, piece) for part in (first, second))
        predicate = snake_case(predicate)
        if subject and target and predicate and normalize_name(subject) != normalize_name(target):
            found[Triple(subject, predicate, target)] = None
    return tuple(found)


def _parts(item: object) -> Sequence[object]:
    """The three parts of a claim, from a mapping or a list."""
    if isinstance(item, Mapping):
        return item.get("subject"), item.get("predicate"), item.get("object")
    return item if isinstance(item, list | tuple) and len(item) == 3 else ("", "", "")


def _source_form(part: str, chunk: Chunk, piece: Piece) -> str | None:
    """The subject or object of a claim as in the source: a speaker, a name, plain words, or a date; else None."""
    if not part or len(part) > 200:
        return None
    known = chunk.resolve_speaker(part, piece) or chunk.find_spelling(part)
    return known or (part if _is_in_source(part, chunk) or _ISO.fullmatch(part) else None)


def _is_in_source(part: str, chunk: Chunk) -> bool:
    """Whether the source has every word with a capital, a digit or a letter of another script."""
    return all(word.islower() or chunk.find_spelling(word) for word in _WORD.findall(part))


def snake_case(predicate: str) -> str:
    """A predicate in the form that the graph uses: "worksFor" is "works_at"."""
    plain = _NOT_WORD.sub("_", _CAMEL.sub("_", predicate)).strip("_").lower()[:60]
    return _SAME_PREDICATE.get(plain, plain)


def _clean(value: object) -> str:
    return replace_unstorable(value, "").strip() if isinstance(value, str) else ""


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _number(value: object, default: float) -> float:
    if isinstance(value, str):
        value = _NUMBER_WORDS.get(value.strip().lower(), value)
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return default
    return default if math.isnan(number) or isinstance(value, bool) else min(1.0, max(0.0, number))


def _tags(value: object, kind: str) -> tuple[str, ...]:
    """The tags, and "plan" for a plan, which is stored as an event to come."""
    tags = (_clean(tag).lower() for tag in (*([PLAN_TAG] if kind == "plan" else []), *_listed(value)))
    return tuple(dict.fromkeys(tag for tag in tags if 0 < len(tag) <= 40))[:MAX_TAGS]

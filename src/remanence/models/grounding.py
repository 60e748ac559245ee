"""Turns a row of a model's answer into a Fact, checked against the source.

A model invents, translates, and writes anything into any field. What can be repaired is repaired (a spelling, a
date in words, "high" for a number), the rest is left out. A fact without any name from the conversation is
discarded, and so is one that the conversation says of somebody else, of another time, or the other way round
(`verification`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from remanence.language.rule_extractor import RuleExtractor
from remanence.language.named_entities.name_rules import find_names
from remanence.language.named_entities.name_spans import find_first_person_singular
from remanence.language.temporal import parse_window
from remanence.language.text import normalize_name, normalize_text, replace_unstorable
from remanence.models.llm_replies import Row
from remanence.models.llm_source import USER_LABEL, Chunk
from remanence.schema import SELF, Fact, MemoryKind, Mention, Triple, Window

MAX_FACT_CHARACTERS = 1_000  # a longer text is a copy of the source
MAX_NAMES, MAX_TRIPLES, MAX_TAGS = 32, 16, 8
DEFAULT_IMPORTANCE, DEFAULT_CONFIDENCE = 0.6, 0.8
# The confidence is multiplied by this if a name, or more than two thirds of the words, are not in the source.
UNSUPPORTED_FACTOR, MIN_OVERLAP = 0.5, 1 / 3

_RULES = RuleExtractor()
_WORDS = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
_NAME_KINDS, _NUMBER_WORDS = _WORDS["name kinds"].split(), _WORDS["numbers"]
_KINDS: dict[str, MemoryKind]
_SAME_PREDICATE: dict[str, str]
_KINDS, _SAME_PREDICATE = (
    {word: name for name, words in _WORDS[group].items() for word in words.split()}
    for group in ("memory kinds", "predicates")
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORD = re.compile(r"[^\w]+|_+")
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_ISO = re.compile(r"\d{4}(?:-\d\d){0,2}\b.*")
_THE_USER = re.compile(r"\bthe user\b|\buser's\b", re.IGNORECASE)


def verified_fact(row: Row, chunk: Chunk, now: datetime) -> Fact | None:
    """The fact that a row states, as far as the chunk supports it; None if it does not."""
    text = _clean(row.get("text"))
    if not text or len(text) > MAX_FACT_CHARACTERS or _is_copy(text, chunk):
        return None
    turns = _turns(row.get("said"), chunk) or chunk.nearest_turns(text)
    text, names, invented = match_spelling(text, chunk)
    mentions = _mentions(row.get("names"), names, text, chunk, turns)
    overlap = chunk.word_overlap(text)
    if overlap == 0 or (invented and not any(mention.name != SELF for mention in mentions)):
        return None
    at = chunk.time_of(turns, now)
    by_rule = _by_rule(text, chunk.resolve_speaker("I", turns), at)
    kind = _KINDS.get(_clean(row.get("kind")).lower()) or by_rule.kind
    stated = _triples(row.get("triples"), chunk, turns)
    triples = tuple(stated or _triples(by_rule.triples, chunk, turns))
    factor = UNSUPPORTED_FACTOR if invented or overlap < MIN_OVERLAP else 1.0
    return Fact(
        text=text,
        kind=kind,
        mentions=_with_subjects(mentions, triples),
        triples=triples,
        valid=_window(row, kind, at, by_rule, chunk, turns),
        importance=_number(row.get("importance"), DEFAULT_IMPORTANCE),
        confidence=round(factor * _number(row.get("confidence"), DEFAULT_CONFIDENCE), 3),
        tags=_tags(row.get("tags")),
        expires_at=_expiry(row.get("expires"), at),
        source_turns=turns,
    )


def _clean(value: object) -> str:
    return replace_unstorable(value, "").strip() if isinstance(value, str) else ""


def _is_copy(text: str, chunk: Chunk) -> bool:
    """Whether the text repeats the whole chunk, unless that is one sentence."""
    source = normalize_text("\n".join(piece.utterance.text for piece in chunk.pieces))
    return (len(chunk.pieces) > 1 or len(source) > 300) and normalize_text(text) == source


def _turns(value: object, chunk: Chunk) -> tuple[int, ...]:
    given = value if isinstance(value, list | tuple) else [value]
    return tuple(sorted({piece.turn for piece in chunk.pieces if piece.turn in given}))


def match_spelling(text: str, chunk: Chunk) -> tuple[str, list[Mention], bool]:
    """A text with its names spelled as in the source, these names, and whether it has other names."""
    names: list[Mention] = []
    invented = False
    for name in find_names(text):
        spelled = chunk.find_spelling(name.text)
        if spelled is None:
            invented = invented or not _is_in_source(name.text, chunk)
            continue
        text = text.replace(name.text, spelled)
        names.append(Mention(spelled, name.kind))
    return text, names, invented


def _mentions(
    given: object, names: list[Mention], text: str, chunk: Chunk, turns: Sequence[int]
) -> tuple[Mention, ...]:
    """The names that the model lists and those in the text, spelled as in the source, each once."""
    found: dict[str, Mention] = {}
    listed = [_name(item) for item in given[:MAX_NAMES]] if isinstance(given, list | tuple) else []
    if _THE_USER.search(text):
        listed.append((USER_LABEL, "person"))
    if find_first_person_singular(text):
        listed.append(("I", "person"))
    for name, kind in listed:
        speaker = chunk.resolve_speaker(name, turns) if name else None
        spelled = speaker or (chunk.find_spelling(name) if name else None)
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


def _triples(given: object, chunk: Chunk, turns: Sequence[int]) -> list[Triple]:
    """The claims whose subject and object are in the source, each once."""
    found: dict[Triple, None] = {}
    for item in given[:MAX_TRIPLES] if isinstance(given, list | tuple) else ():
        first, predicate, second = (_clean(part) for part in _parts(item))
        subject, target = (_source_form(part, chunk, turns) for part in (first, second))
        predicate = snake_case(predicate)
        if subject and target and predicate and normalize_name(subject) != normalize_name(target):
            found[Triple(subject, predicate, target)] = None
    return list(found)


def _parts(item: object) -> Sequence[object]:
    """The three parts of a claim, from a triple, a mapping or a list."""
    if isinstance(item, Triple):
        return item.subject, item.predicate, item.object
    if isinstance(item, Mapping):
        return item.get("subject"), item.get("predicate"), item.get("object")
    return item if isinstance(item, list | tuple) and len(item) == 3 else ("", "", "")


def _source_form(part: str, chunk: Chunk, turns: Sequence[int]) -> str | None:
    """The subject or object of a claim as in the source: a speaker, a name, plain words, or a date; else None."""
    if not part or len(part) > 200:
        return None
    known = chunk.resolve_speaker(part, turns) or chunk.find_spelling(part)
    return known or (part if _is_in_source(part, chunk) or _ISO.fullmatch(part) else None)


def _is_in_source(part: str, chunk: Chunk) -> bool:
    """Whether the source has every word with a capital, a digit or a letter of another script."""
    return all(word.islower() or chunk.find_spelling(word) for word in _WORD.findall(part))


def snake_case(predicate: str) -> str:
    """A predicate in the form that the graph uses: "worksFor" is "works_at"."""
    plain = _NOT_WORD.sub("_", _CAMEL.sub("_", predicate)).strip("_").lower()[:60]
    return _SAME_PREDICATE.get(plain, plain)


def _number(value: object, default: float) -> float:
    if isinstance(value, str):
        value = _NUMBER_WORDS.get(value.strip().lower(), value)
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return default
    return default if math.isnan(number) or isinstance(value, bool) else min(1.0, max(0.0, number))


def _tags(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, list | tuple) else ()
    tags = (_clean(tag).lower() for tag in given)
    return tuple(dict.fromkeys(tag for tag in tags if 0 < len(tag) <= 40))[:MAX_TAGS]


def _by_rule(text: str, speaker: str | None, at: datetime) -> Fact:
    """What the rules find in the text of the model, for the fields that it left out."""
    found = _RULES.extract(text, now=at, speaker=speaker)
    return Fact(text, triples=found.triples, valid=found.valid or Window())


def _window(row: Row, kind: MemoryKind, at: datetime, by_rule: Fact, chunk: Chunk, turns: Sequence[int]) -> Window:
    """When it happened, or since when and until when it is true; without a time, an event is at its turn's time. A time
    that was not said is replaced by the one that was."""
    since, until = _read_time(row.get("when"), at), _read_time(row.get("until"), at)
    if since is None and until is None:
        if by_rule.kind == kind:
            return by_rule.valid
        return Window.from_moment(at) if kind == "episode" else Window()
    start = since.start if since else None
    end = (until.end or until.start) if until else None
    if end is None and since and kind == "episode":
        end = since.end
    return Window(start, end if end is None or start is None or start < end else None)


def _expiry(value: object, at: datetime) -> datetime | None:
    window = _read_time(value, at)
    end = (window.end or window.start) if window else None
    return end if end is not None and end > at else None


def _read_time(value: Any, at: datetime) -> Window | None:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # a year
    if not isinstance(value, str) or not value.strip():
        return None
    start, slash, end = value.partition("/")
    try:
        return parse_window((start, end), at) if slash and _ISO.fullmatch(end) else parse_window(value, at)
    except (ValueError, OverflowError):  # InvalidInput is a ValueError
        return None

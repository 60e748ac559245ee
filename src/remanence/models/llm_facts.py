"""Reads the rows of a model's answer, and makes a Fact of each, checked against the conversation.

A fact needs a quotation that stands in a turn. A model also invents, translates, and writes anything into any field:
what does not fit is left out. Nothing is added.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast

from remanence.models.llm_clients import Reply
from remanence.models.llm_dates import checked_window
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
from remanence.text.lexicon.word_lists import PLACE_WORDS, PLURAL_RELATIONSHIP_NOUNS, RELATIONSHIP_NOUNS
from remanence.text.named_entities.name_rules import find_names
from remanence.text.named_entities.name_spans import find_first_person_singular
from remanence.text.repetition import NEGATION_PATTERN
from remanence.text.rule_extractor import speaker_name
from remanence.text.text import normalize_name, normalize_text, replace_unstorable, tokens

Row = Mapping[str, Any]
_THINKING = re.compile(r"\A\s*<(think\w*)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)


def parse_rows(reply: Reply, key: str) -> tuple[Row, ...] | None:
    """The objects that a reply lists under `key`; None if it is not an object with such a list.

    >>> parse_rows(Reply(text='Sure! {"facts": [{"text": "Tea."}]}'), "facts")
    ({'text': 'Tea.'},)
    >>> parse_rows(Reply(text='{"facts": [{"text": "Tea."}, {"text": "Cof'), "facts")
    """
    fields: object = reply.fields
    if fields is None:
        text = _THINKING.sub("", reply.text)
        try:  # without words and marks around it
            fields = json.loads(text[text.find("{") : text.rfind("}") + 1], strict=False)
        except (ValueError, RecursionError):
            return None
    listed = fields.get(key) if isinstance(fields, Mapping) else None
    if not isinstance(listed, list | tuple) or not all(isinstance(row, Mapping) for row in listed):
        return None
    return tuple(listed)


def rows_before_cut(reply: Reply, key: str) -> tuple[Row, ...]:
    """The whole objects of a list that was cut, as by the limit of a model's answers.

    >>> rows_before_cut(Reply(text='{"facts": [{"text": "Tea."}, {"text": "Cof'), "facts")
    ({'text': 'Tea.'},)
    """
    decoder, rows = json.JSONDecoder(strict=False), list[Row]()
    rest = _THINKING.sub("", reply.text).partition(f'"{key}"')[2].partition("[")[2]
    while rest := rest.lstrip(", \n\t"):
        try:
            row, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError):  # the row that was cut, or the end of the list
            break
        rows += [row] if isinstance(row, Mapping) else []
        rest = rest[end:]
    return tuple(rows)


def parse_index(value: object, count: int) -> int | None:
    """An index below `count`."""
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
_KINDS, _NAME_KINDS = _WORDS["kinds"].split(), _WORDS["name kinds"].split()
_SAME_PREDICATE: dict[str, str] = {word: name for name, words in _WORDS["predicates"].items() for word in words.split()}
_RELATIVE_OF: dict[str, str] = {word: name for name, words in _WORDS["relatives"].items() for word in words.split()}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORD = re.compile(r"[^\w]+|_+")
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:[.,]\d+)*(?![\w:/-])")
_ISO = re.compile(r"\d{4}(?:-\d\d){0,2}\b.*")
_DENIED = re.compile(r"(?:\b(?:not|never|cannot)|(?:n['’]|\b(?:do|does|did|is|was|ca|wo)n)t)\s+(\w+)", re.IGNORECASE)
_THE_USER = re.compile(r"\bthe user\b|\buser's\b", re.IGNORECASE)


def checked_fact(row: Row, chunk: Chunk, now: datetime) -> Fact | None:
    """The fact that a row states; None if it has no quotation of the chunk, or says what nobody said."""
    text = _clean(row.get("text"))
    found = chunk.find_quotation(_clean(row.get("quotation")), parse_index(row.get("turn"), MAX_TURN))
    if not text or len(text) > MAX_FACT_CHARACTERS or found is None or _is_copy(text, chunk):
        return None
    quotation, piece = found
    told_at = piece.utterance.at or now
    kind = row["kind"] if row.get("kind") in _KINDS else "semantic"
    window = checked_window(row.get("when"), row.get("until"), kind, quotation, piece, chunk, now)
    text, names, invented = match_spelling(text, chunk)
    mentions = _mentions(row.get("names"), names, text, chunk, piece)
    overlap = chunk.word_overlap(text)
    if invented and (overlap == 0 or all(mention.name == SELF for mention in mentions)):
        return None
    if _has_unsaid_number(text, chunk, window, told_at) or _is_of_user_by_assistant(text, piece):
        return None
    if (
        _is_reversed(text, piece.utterance.text)
        or _is_reversed(quotation, text)
        or _is_of_other(text, quotation, chunk)
    ):
        return None
    effects = _effects(row, chunk, told_at)
    if not is_supported(text, piece, chunk, [chunk.known[effect.known_index] for effect in effects], told_at):
        return None
    triples = _triples(row.get("triples"), chunk, piece)
    factor = UNSUPPORTED_FACTOR if invented or overlap < MIN_OVERLAP else 1.0
    return Fact(
        text=text,
        kind=cast("MemoryKind", "episode" if kind == "plan" else kind),
        mentions=_with_subjects(mentions, triples),
        triples=triples,
        valid=window,
        importance=_fraction(row.get("importance"), DEFAULT_IMPORTANCE),
        confidence=round(factor * _fraction(row.get("confidence"), DEFAULT_CONFIDENCE), 3),
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
            words = [word for word in _WORD.findall(name.text) if word.lower() not in PLACE_WORDS]
            # "Newland Avenue" is "newland ave".
            invented = invented or not words or not _is_in_source(" ".join(words), chunk)
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


def _is_reversed(denying: str, affirming: str) -> bool:
    """Whether a word that the first text denies stands in the second one, which denies nothing.

    >>> _is_reversed("The user is not allergic to latex.", "im allergic to latex")
    True
    >>> _is_reversed("The user does not drink coffee.", "i went off coffee")
    False
    """
    if NEGATION_PATTERN.search(affirming) or "instead" in affirming:
        return False
    denied, said = (tokens(text, ENGLISH) for text in (" ".join(_DENIED.findall(denying)), denying))
    return any(denied.count(word) == said.count(word) for word in set(denied).intersection(tokens(affirming, ENGLISH)))


def _is_of_other(text: str, quotation: str, chunk: Chunk) -> bool:
    """Whether a fact names a relative, a friend or a pet that nobody named, and not the one in its quotation."""
    named, quoted, said = _relatives(text), _relatives(quotation), _relatives(chunk.text)
    return bool(named - said) and bool(quoted - named)


def _relatives(text: str) -> frozenset[str]:
    words = (PLURAL_RELATIONSHIP_NOUNS.get(word, word) for word in re.findall(r"[\w-]+", text.lower()))
    singular = (word if word in RELATIONSHIP_NOUNS else word.removesuffix("s") for word in words)  # "mums"
    return frozenset(_RELATIVE_OF.get(word, word) for word in singular if word in RELATIONSHIP_NOUNS or word == "child")


def _mentions(given: object, names: list[Mention], text: str, chunk: Chunk, piece: Piece) -> tuple[Mention, ...]:
    """The names that the model lists and those in the text, spelled as in the source, each once."""
    found: dict[str, Mention] = {}
    listed = [_name(item) for item in _objects(given)[:MAX_NAMES]]
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


def _name(item: Mapping[str, Any]) -> tuple[str, str]:
    kind = _clean(item.get("kind"))
    return _clean(item.get("name")), kind if kind in _NAME_KINDS else "thing"


def _with_subjects(mentions: tuple[Mention, ...], triples: Sequence[Triple]) -> tuple[Mention, ...]:
    known = {normalize_name(mention.name) for mention in mentions}
    subjects = dict.fromkeys(t.subject for t in triples if normalize_name(t.subject) not in known)
    return (*mentions, *(Mention(name, "person" if name == SELF else "thing") for name in subjects))


def _triples(given: object, chunk: Chunk, piece: Piece) -> tuple[Triple, ...]:
    """The claims whose subject and object are in the source, each once."""
    found: dict[Triple, None] = {}
    for item in _objects(given)[:MAX_TRIPLES]:
        first, predicate, second = (_clean(item.get(part)) for part in ("subject", "predicate", "object"))
        subject, target = (_source_form(part, chunk, piece) for part in (first, second))
        predicate = snake_case(predicate)
        if subject and target and predicate and normalize_name(subject) != normalize_name(target):
            found[Triple(subject, predicate, target)] = None
    return tuple(found)


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


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in _listed(value) if isinstance(item, Mapping)]


def _fraction(value: object, default: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    return min(1.0, max(0.0, cast("float", value))) if is_number else default


def _tags(value: object, kind: str) -> tuple[str, ...]:
    """The tags, and "plan" for a plan, which is stored as an event to come."""
    tags = (_clean(tag).lower() for tag in (*([PLAN_TAG] if kind == "plan" else []), *_listed(value)))
    return tuple(dict.fromkeys(tag for tag in tags if 0 < len(tag) <= 40))[:MAX_TAGS]

"""A row of a model's answer, held against what was said: a Fact, or nothing.

A model invents, translates, and writes what it likes into any field. What can be mended is (a spelling, a
date in words, "high" for a number), what cannot is left out, and a fact that names nobody and nothing
from the conversation is no fact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from remanence.language.rules.name_rules import find_names
from remanence.language.rules.predicate_rules import STATE_AFTER_EVENT, claim_kind
from remanence.language.rules.pronouns import find_first_person_singular
from remanence.language.rules.rule_extractor import RuleExtractor
from remanence.language.rules.state_changes import claims_ended_by
from remanence.language.temporal import parse_window
from remanence.language.text import normalize_name, normalize_text
from remanence.models.llm_replies import Row
from remanence.models.llm_source import USER_LABEL, Chunk
from remanence.schema import MEMORY_KINDS, SELF, Fact, MemoryKind, Mention, Triple, Utterance, Window

LONGEST = 1_000  # characters of a fact; what is longer is a copy of the source
MOST_NAMES = 32
MOST_TRIPLES = 16
MOST_TAGS = 8
IMPORTANCE, CONFIDENCE = 0.6, 0.8
DOUBT = 0.5  # what the confidence is multiplied by where a name or most words are not in the source
FEW = 1 / 3  # a smaller share of words from the source makes for doubt

_RULES = RuleExtractor()
_NUMBERS = {"low": 0.3, "minor": 0.3, "medium": 0.6, "moderate": 0.6, "high": 0.9, "certain": 0.95}
_KINDS: dict[str, MemoryKind] = {
    **{kind: kind for kind in MEMORY_KINDS},
    **dict.fromkeys(("event", "episodic", "plan"), "episode"),
    **dict.fromkeys(("fact", "state", "profile"), "semantic"),
    **dict.fromkeys(("opinion", "preference", "belief", "view"), "viewpoint"),
}
_NAME_KINDS = frozenset("person place organization product title event thing".split())
_SAME_PREDICATE = {
    **dict.fromkeys(("works_for", "employed_by", "employed_at", "is_employed_by", "working_at"), "works_at"),
    **dict.fromkeys(("resides_in", "living_in", "lives_at", "residence"), "lives_in"),
    **dict.fromkeys(("is_married_to", "spouse", "spouse_of", "husband_of", "wife_of"), "married_to"),
    **dict.fromkeys(("was_born_in", "birthplace"), "born_in"),
    **dict.fromkeys(("was_born_on", "birth_date", "date_of_birth"), "born_on"),
    **dict.fromkeys(("is_allergic_to", "has_allergy_to"), "allergic_to"),
    **dict.fromkeys(("relocated_to", "moves_to"), "moved_to"),
}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORD = re.compile(r"[^\w]+|_+")
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_ISO = re.compile(r"\d{4}(?:-\d\d){0,2}\b.*")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # cannot be written down
_THE_USER = re.compile(r"\bthe user\b|\buser's\b", re.IGNORECASE)


def verified_fact(row: Row, chunk: Chunk, now: datetime) -> Fact | None:
    """The fact that a row states, as far as the chunk bears it out; None if it does not."""
    text = _text(row.get("text"))
    if not text or len(text) > LONGEST or _is_copy(text, chunk):
        return None
    said = _turns(row.get("said"), chunk) or chunk.nearest_turns(text)
    text, written, invented = match_spelling(text, chunk)
    mentions = _mentions(row.get("names"), written, text, chunk, said)
    share = chunk.word_overlap(text)
    if share == 0 or (invented and not any(mention.name != SELF for mention in mentions)):
        return None
    at = chunk.time_of(said, now)
    plain = _by_rule(text, chunk.resolve_speaker("I", said), at)
    kind = _kind(row.get("kind")) or plain.kind
    triples = tuple(_triples(row.get("triples"), chunk, said) or _triples(plain.triples, chunk, said))
    doubt = DOUBT if invented or share < FEW else 1.0
    return Fact(
        text=text,
        kind=kind,
        mentions=_with_subjects(mentions, triples),
        triples=triples,
        valid=_window(row, kind, at, plain),
        importance=_number(row.get("importance"), IMPORTANCE),
        confidence=round(doubt * _number(row.get("confidence"), CONFIDENCE), 3),
        tags=_tags(row.get("tags")),
        expires_at=_expiry(row.get("expires"), at),
        source_turns=said,
        ended_claims=tuple(end for end in _triples(row.get("ends"), chunk, said) if end not in triples),
    )


def resulting_states(facts: Sequence[Fact]) -> Iterator[Fact]:
    """What holds after the events among these facts, where the model wrote down only the event."""
    known = {_claim(triple) for fact in facts if fact.kind != "episode" for triple in fact.triples}
    for event in facts:
        if event.kind != "episode":
            continue
        ended = {end.predicate for end in event.ended_claims}
        for triple in event.triples:
            state = replace(triple, predicate=STATE_AFTER_EVENT.get(triple.predicate, triple.predicate))
            changed = state.predicate in ended or state != triple
            if changed and claim_kind(state) != "episode" and _claim(state) not in known:
                known.add(_claim(state))
                yield replace(
                    event,
                    text=_sentence(state),
                    kind=claim_kind(state),
                    mentions=tuple(m for m in event.mentions if m.name in (state.subject, state.object)),
                    triples=(state,),
                    valid=Window(event.valid.start, None),
                    confidence=round(event.confidence * 0.9, 3),
                    expires_at=None,
                    ended_claims=event.ended_claims or tuple(claims_ended_by(event.triples)),
                )


def _claim(triple: Triple) -> tuple[str, str, str]:
    return normalize_name(triple.subject), triple.predicate, normalize_name(triple.object)


def _sentence(triple: Triple) -> str:
    """A claim in plain words.

    >>> _sentence(Triple("me", "works_at", "Hooli"))
    'The user works at Hooli.'
    """
    subject = "The user" if triple.subject == SELF else triple.subject
    return f"{subject} {triple.predicate.replace('_', ' ')} {triple.object}."


def _text(value: object) -> str:
    return _NO_TEXT.sub("", value).strip() if isinstance(value, str) else ""


def _is_copy(text: str, chunk: Chunk) -> bool:
    """Whether the text is all that was said, where that is more than a sentence."""
    whole = normalize_text("\n".join(piece.utterance.text for piece in chunk.pieces))
    return (len(chunk.pieces) > 1 or len(whole) > 300) and normalize_text(text) == whole


def _turns(value: object, chunk: Chunk) -> tuple[int, ...]:
    given = value if isinstance(value, list | tuple) else [value]
    turns = {piece.turn for piece in chunk.pieces}
    return tuple(sorted({turn for turn in given if type(turn) is int and turn in turns}))


def match_spelling(text: str, chunk: Chunk) -> tuple[str, list[Mention], bool]:
    """A text with its names spelled as they were said, these names, and whether it has others besides."""
    written: list[Mention] = []
    invented = False
    for name in find_names(text):
        spelled = chunk.find_spelling(name.text)
        if spelled is None:
            invented = invented or not _is_said(name.text, chunk)
            continue
        text = text.replace(name.text, spelled)
        written.append(Mention(spelled, name.kind))
    return text, written, invented


def _mentions(
    given: object, written: list[Mention], text: str, chunk: Chunk, said: Sequence[int]
) -> tuple[Mention, ...]:
    """The names that the model lists and those in the text, as they were said, each once."""
    found: dict[str, Mention] = {}
    listed = [_name(item) for item in given[:MOST_NAMES]] if isinstance(given, list | tuple) else []
    if _THE_USER.search(text):
        listed.append((USER_LABEL, "person"))
    if find_first_person_singular(text):
        listed.append(("I", "person"))
    for name, kind in listed:
        who = chunk.resolve_speaker(name, said) if name else None
        spelled = who or (chunk.find_spelling(name) if name else None)
        if spelled:
            found.setdefault(normalize_name(spelled), Mention(spelled, "person" if who else kind))
    for mention in written:
        known = found.setdefault(normalize_name(mention.name), mention)
        if known.kind == "thing" != mention.kind:
            found[normalize_name(mention.name)] = replace(known, kind=mention.kind)
    return tuple(found.values())[:MOST_NAMES]


def _name(item: object) -> tuple[str, str]:
    """A name and its kind, in whichever way a model writes them."""
    name, kind = (item.get("name"), item.get("kind")) if isinstance(item, Mapping) else (item, None)
    kind = kind.strip().lower() if isinstance(kind, str) else "thing"
    return _text(name), kind if kind in _NAME_KINDS else "thing"


def _with_subjects(mentions: tuple[Mention, ...], triples: Sequence[Triple]) -> tuple[Mention, ...]:
    """The mentions, and whoever the claims are about."""
    known = {normalize_name(mention.name) for mention in mentions}
    subjects = dict.fromkeys(t.subject for t in triples if normalize_name(t.subject) not in known)
    return (*mentions, *(Mention(name, "person" if name == SELF else "thing") for name in subjects))


def _triples(given: object, chunk: Chunk, said: Sequence[int]) -> list[Triple]:
    """The claims that can be made with what was said, each once."""
    found: dict[Triple, None] = {}
    for item in given[:MOST_TRIPLES] if isinstance(given, list | tuple) else ():
        subject, predicate, target = (_text(part) for part in _parts(item))
        who, what = (_said_as(part, chunk, said) for part in (subject, target))
        predicate = snake_case(predicate)
        if who and what and predicate and normalize_name(who) != normalize_name(what):
            found[Triple(who, predicate, what)] = None
    return list(found)


def _parts(item: object) -> Sequence[object]:
    """The three parts of a claim, in whichever way it was written."""
    if isinstance(item, Triple):
        return item.subject, item.predicate, item.object
    if isinstance(item, Mapping):
        return item.get("subject"), item.get("predicate"), item.get("object")
    return item if isinstance(item, list | tuple) and len(item) == 3 else ("", "", "")


def _said_as(part: str, chunk: Chunk, said: Sequence[int]) -> str | None:
    """One end of a claim as it was said: a speaker, a name, plain words, or a date; None for an invention."""
    if not part or len(part) > 200:
        return None
    known = chunk.resolve_speaker(part, said) or chunk.find_spelling(part)
    return known or (part if _is_said(part, chunk) or _ISO.fullmatch(part) else None)


def _is_said(part: str, chunk: Chunk) -> bool:
    """Whether every word that is more than a plain one (a capital, a number, another script) was said."""
    return all(word.islower() or chunk.find_spelling(word) for word in _WORD.findall(part))


def snake_case(predicate: str) -> str:
    """A predicate as the graph has them.

    >>> snake_case("worksFor"), snake_case("Is allergic-to"), snake_case("!?")
    ('works_at', 'allergic_to', '')
    """
    plain = _NOT_WORD.sub("_", _CAMEL.sub("_", predicate)).strip("_").lower()[:60]
    return _SAME_PREDICATE.get(plain, plain)


def _kind(value: object) -> MemoryKind | None:
    return _KINDS.get(value.strip().lower()) if isinstance(value, str) else None


def _number(value: object, otherwise: float) -> float:
    """A number from 0 to 1, however it was written."""
    if isinstance(value, str):
        value = _NUMBERS.get(value.strip().lower(), value)
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return otherwise
    return otherwise if math.isnan(number) or isinstance(value, bool) else min(1.0, max(0.0, number))


def _tags(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, list | tuple) else ()
    tags = (_text(tag).lower() for tag in given)
    return tuple(dict.fromkeys(tag for tag in tags if 0 < len(tag) <= 40))[:MOST_TAGS]


def _by_rule(text: str, speaker: str | None, at: datetime) -> Fact:
    """What the rules read in the model's own words, for what it left out."""
    found = _RULES.facts([Utterance(text, speaker, at)], now=at).facts
    return found[0] if found else Fact(text)


def _window(row: Row, kind: MemoryKind, at: datetime, plain: Fact) -> Window:
    """When it happened, or from when until when it is so. An event of no other time is as old as its turn."""
    begun, ended = _read(row.get("when"), at), _read(row.get("until"), at)
    if begun is None and ended is None:
        if plain.kind == kind:
            return plain.valid
        return Window.from_moment(at) if kind == "episode" else Window()
    start = begun.start if begun else None
    end = (ended.end or ended.start) if ended else None
    if end is None and begun and kind == "episode":
        end = begun.end
    return Window(start, end if end is None or start is None or start < end else None)


def _expiry(value: object, at: datetime) -> datetime | None:
    window = _read(value, at)
    end = (window.end or window.start) if window else None
    return end if end is not None and end > at else None


def _read(value: Any, at: datetime) -> Window | None:
    """A time in ISO or in words; None for what cannot be read."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # a year
    if not isinstance(value, str) or not value.strip():
        return None
    start, slash, end = value.partition("/")
    try:
        return parse_window((start, end), at) if slash and _ISO.fullmatch(end) else parse_window(value, at)
    except (ValueError, OverflowError):  # InvalidInput is a ValueError
        return None

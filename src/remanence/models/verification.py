"""Checks facts of a language model against the conversation: subject, negation and time.

A fact is compared with the clauses of the conversation that have most words in common with it. Where the rules read a
claim in the conversation, the claims are compared as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from remanence.language.claims.predicates import claims_match
from remanence.language.rule_extractor import RuleExtractor, speaker_name
from remanence.language.sentences import is_question
from remanence.language.lexicon.word_lists import load_pattern
from remanence.language.named_entities.name_rules import find_names
from remanence.language.temporal import find_times
from remanence.language.text import normalize_name, split_sentences, tokens
from remanence.models.llm_source import USER_LABEL, Chunk, Piece
from remanence.schema import SELF, Fact, Triple, Window

_RULES = RuleExtractor()
_WORDS = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def _any_of(group: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(_WORDS[group])})\b", re.IGNORECASE)


_NEGATION, _NEGATIVE, _NO_NEGATION = (_any_of(group) for group in ("negations", "negative words", "no negations"))
_CHANGE, _YES, _PRONOUN = (_any_of(group) for group in ("changes", "yes", "pronouns"))
_CLAUSE_END = re.compile(r"[,;:—()]|\s-\s|\b(?:but|and|while|whereas|although|though|because)\b", re.IGNORECASE)
_THE_USER = re.compile(r"\bthe user\b|\buser's\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:[.,]\d+)?(?![\w:/-])")
_I_AM = re.compile(r"\b(?:I am|I['’]m|[Mm]y name is|[Tt]his is|[Cc]all me) ([A-Z]\w*(?: [A-Z]\w*)*)")
_OF_THE_USER = re.compile(r"the user(?!['’]s\b| and\b)", re.IGNORECASE)
_RELATIVE = re.compile(rf"\b(?:{load_pattern('any_relationship')})\b", re.IGNORECASE)
_OF_RELATIVE = re.compile(
    rf"(?:well |so |also )?(?:(?:my|our) (?:[a-z-]+ ){{0,2}}{_RELATIVE.pattern}|s?he\b)", re.IGNORECASE
)
_FIRST_PERSON = re.compile(r"\b(?:I|we|me|us|myself|ourselves|mine|ours)\b")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Clause:
    """A part of a sentence, and who said it."""

    text: str
    sentence: str
    piece: Piece
    words: frozenset[str]

    @property
    def by_user(self) -> bool:
        return speaker_name(self.piece.utterance.speaker) in (None, SELF)


def unsupported_reason(text: str, triples: Sequence[Triple], chunk: Chunk, at: datetime) -> str | None:
    """Why the conversation does not bear out a fact with this text, in which the rules read these claims; None if it
    does."""
    words = frozenset(tokens(text)) - {USER_LABEL}
    nearest = _nearest(words, _clauses(chunk))
    if _THE_USER.search(text) and not _is_by_user(nearest, words, chunk):
        return "was not said by the user"
    claims = claims_in(chunk)
    if any(_has_other_subject(triple, claims, chunk) for triple in triples) or _names_other_subject(text, nearest):
        return "was said of somebody else"
    if _is_said_of_relative(text, nearest, words):
        return "was said of somebody else"
    if _is_denied(text, nearest, words) or any(_is_denied_claim(triple, claims) for triple in triples):
        return "the conversation says the opposite"
    return _unsupported_number_or_time(text, chunk, at)


def supported_claims(triples: Iterable[Triple], text: str, chunk: Chunk) -> list[Triple]:
    """The claims of a fact with this text that the conversation neither denies nor states about another subject."""
    words = frozenset(tokens(text)) - {USER_LABEL}
    by_user = _is_by_user(_nearest(words, _clauses(chunk)), words, chunk)
    claims = claims_in(chunk)
    return [
        triple
        for triple in triples
        if (by_user or triple.subject != SELF)
        and not _has_other_subject(triple, claims, chunk)
        and not _is_denied_claim(triple, claims)
    ]


def is_supported_time(window: Window | None, chunk: Chunk, turns: Sequence[int], at: datetime) -> bool:
    """Whether these turns, or those next to them, name a time that overlaps this one, or were said at it; without turns
    the whole conversation."""
    return window is not None and any(window.overlaps(said) for said in _supported_times(chunk, turns, at))


def supported_time(text: str, chunk: Chunk, at: datetime) -> Window | None:
    """The only time that the sentences nearest to this text name; None if there is none, or several."""
    clauses = _nearest(frozenset(tokens(text)) - {USER_LABEL}, _clauses(chunk))
    told = {(clause.sentence, clause.piece.utterance.at or at) for clause in clauses}
    windows = {phrase.window for sentence, moment in told for phrase in find_times(sentence, moment)}
    return windows.pop() if len(windows) == 1 else None


def supported_ends(
    ends: Iterable[Triple], triples: Sequence[Triple], chunk: Chunk, turns: Sequence[int]
) -> Iterator[Triple]:
    """Those of these claims that end according to the turns: the rules find the end there, or the turns name the topic
    and say that something changed, or the fact has another value for it."""
    said = " ".join(piece.utterance.text for piece in chunk.pieces if piece.turn in turns)
    words = set(tokens(said))
    ended = claims_in(chunk).ended
    for end in ends:
        by_rules = any(claims_match(other, end) for other in ended)
        replaced = any(
            (triple.subject, triple.predicate) == (end.subject, end.predicate) and triple.object != end.object
            for triple in triples
        )
        named = end.object != SELF and set(tokens(end.object)) <= words
        others = _has_other_subject(end, claims_in(chunk), chunk)
        if by_rules or (not others and (replaced or named) and (_CHANGE.search(said) or _NEGATION.search(said))):
            yield end


@dataclass(frozen=True, slots=True)
class SourceClaims:
    """What the rules read in a conversation: the claims that it makes, denies and ends."""

    made: frozenset[tuple[str, str, str]]
    denied: frozenset[tuple[str, str, str]]
    ended: tuple[Triple, ...]


@lru_cache(8)
def claims_in(chunk: Chunk) -> SourceClaims:
    pieces = (*chunk.preceding, *chunk.pieces)
    facts: list[Fact] = list(_RULES.facts([piece.utterance for piece in pieces], now=_SOME_DAY).facts)
    known_claims = {normalized_claim(triple) for fact in facts for triple in fact.triples}
    ended = tuple(end for fact in facts for end in fact.ended_claims)
    denied = {normalized_claim(end) for fact in facts if not fact.triples for end in fact.ended_claims}
    return SourceClaims(frozenset(known_claims), frozenset(denied), ended)


_SOME_DAY = datetime.fromisoformat("2000-01-01T00:00:00+00:00")  # only claims are read, no times


def _clauses(chunk: Chunk) -> list[_Clause]:
    found: list[_Clause] = []
    for piece in (*chunk.preceding, *chunk.pieces):
        for sentence in split_sentences(piece.utterance.text):
            for part in _CLAUSE_END.split(sentence):
                if part.strip():
                    words = frozenset(tokens(part))
                    found.append(_Clause(part.strip(), sentence, piece, words))
    return found


def _nearest(words: frozenset[str], clauses: Sequence[_Clause]) -> list[_Clause]:
    """The clauses with most words in common with the fact, and at least one."""
    most = max((len(words & clause.words) for clause in clauses), default=0)
    return [clause for clause in clauses if most and len(words & clause.words) == most]


def _is_by_user(nearest: Sequence[_Clause], words: frozenset[str], chunk: Chunk) -> bool:
    """Whether the user said it of themselves, or answered a question of somebody else with it. A pasted text about "the
    user" is a quotation, not a statement by the user."""
    if not nearest or any(clause.by_user and not _THE_USER.search(clause.sentence) for clause in nearest):
        return True
    pieces = (*chunk.preceding, *chunk.pieces)
    for clause in nearest:
        next_index = pieces.index(clause.piece) + 1
        reply = pieces[next_index].utterance.text if next_index < len(pieces) else ""
        answers = next_index < len(pieces) and speaker_name(pieces[next_index].utterance.speaker) in (None, SELF)
        names = {word for name in find_names(reply) for word in tokens(name.text)}
        is_confirmed = _YES.match(reply) or (is_question(clause.sentence) and words & (names | set(tokens(reply))))
        if answers and is_confirmed and not clause.by_user and not _NEGATION.match(reply):
            return True
    return False


def _is_denied(text: str, nearest: Sequence[_Clause], words: frozenset[str]) -> bool:
    """Whether all clauses that say it say it the other way round."""
    close = [clause for clause in nearest if 2 * len(words & clause.words) >= len(words)]
    if not close:
        return False
    if _is_negated(text):
        own = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in text.split() if not _NEGATION.search(word)))
        return not any(_NEGATIVE.search(own.sub(" ", clause.sentence)) for clause in close)
    return not _NEGATIVE.search(text) and all(_is_negated(clause.text) for clause in close)


def _is_negated(text: str) -> bool:
    return bool(_NEGATION.search(_NO_NEGATION.sub(" ", text)))


def _has_other_subject(triple: Triple, claims: SourceClaims, chunk: Chunk) -> bool:
    """Whether the rules read this claim in the conversation only of somebody else."""
    subject, predicate, object_ = normalized_claim(triple)
    subjects = {s for s, p, o in claims.made if (p, o) == (predicate, object_)}
    if not subjects or subject in subjects or predicate.endswith("_of"):
        return False  # a relationship may be stated from either side
    texts = [piece.utterance.text for piece in (*chunk.preceding, *chunk.pieces)]
    return not any(normalize_name(found[1]).startswith(subject) for text in texts for found in _I_AM.finditer(text))


def _is_denied_claim(triple: Triple, claims: SourceClaims) -> bool:
    return normalized_claim(triple) in claims.denied and normalized_claim(triple) not in claims.made


def _names_other_subject(text: str, nearest: Sequence[_Clause]) -> bool:
    """Whether every clause that says it begins with another name than the fact, and does not have that one."""
    first = next(iter(find_names(text)), None)
    if first is None or first.start > 0 or not nearest:
        return False
    wanted = set(tokens(first.text))
    for clause in nearest:
        opening = next(iter(find_names(clause.text)), None)
        named = opening is not None and opening.start == 0 and not wanted & set(tokens(opening.text))
        if not named or wanted & clause.words or _PRONOUN.search(clause.text):
            return False
    return True


def _is_said_of_relative(text: str, nearest: Sequence[_Clause], words: frozenset[str]) -> bool:
    """Whether the fact is about the user, and every clause that says it is about a relative of theirs, "he" or "she":
    "My nephew is a diver" does not say that the user is one."""
    if not nearest or not words or not _OF_THE_USER.match(text) or _RELATIVE.search(text):
        return False
    return all(
        words <= clause.words and _OF_RELATIVE.match(clause.text) and not _FIRST_PERSON.search(clause.text)
        for clause in nearest
    )


def _unsupported_number_or_time(text: str, chunk: Chunk, at: datetime) -> str | None:
    times = find_times(text, at)
    if any(not is_supported_time(phrase.window, chunk, (), at) for phrase in times):
        return "was said of another time"
    rest = text
    for phrase in reversed(times):
        rest = rest[: phrase.start] + rest[phrase.end :]
    said = {number for piece in (*chunk.preceding, *chunk.pieces) for number in _NUMBER.findall(piece.utterance.text)}
    spelled = any(word in _WORDS["number words"] for clause in _clauses(chunk) for word in clause.text.lower().split())
    unsaid = [number for number in _NUMBER.findall(rest) if number not in said]
    return "has a number that was not said" if unsaid and said and not spelled else None


def _supported_times(chunk: Chunk, turns: Sequence[int], at: datetime) -> Iterator[Window]:
    for piece in (*chunk.preceding, *chunk.pieces):
        told = piece.utterance.at or at
        if not turns or any(abs(piece.turn - turn) <= 1 for turn in turns):
            yield Window(told - _DAY, told + _DAY)
            yield from (phrase.window for phrase in find_times(piece.utterance.text, told))


def normalized_claim(triple: Triple) -> tuple[str, str, str]:
    return normalize_name(triple.subject), triple.predicate, normalize_name(triple.object)

"""What the statements of short answers have in common: their parts, the first person, the forms of verbs."""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.language.rules import lexicon
from remanence.language.rules.lexicon import compile_pattern, is_common_word, load_pattern, word_set
from remanence.language.rules.third_person import conjugate


class Answer(NamedTuple):
    """An answer in parts: whether it says yes or no, that something has ended, and what else it says."""

    is_yes: bool | None
    no_longer: bool
    never: bool
    rest: str


def past_tense(verb: str) -> str:
    """The past of a base form; only the frequent irregular verbs are known.

    >>> past_tense("move"), past_tense("study"), past_tense("go"), past_tense("stop")
    ('moved', 'studied', 'went', 'stopped')
    """
    if verb in _PAST:
        return _PAST[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}{verb[-1]}ed" if re.fullmatch(r"[^aeiou]*[aeiou][bdgmnpt]", verb) else f"{verb}ed"


def base_form(verb: str) -> str:
    """The base form of a third person or a past form that `PolarQuestion` made.

    >>> base_form("has"), base_form("lives"), base_form("studies"), base_form("went"), base_form("eat")
    ('have', 'live', 'study', 'go', 'eat')
    """
    if verb in _BASE:
        return _BASE[verb]
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if verb.endswith(("shes", "ches", "xes", "zes", "oes", "sses")):
        return verb[:-2]
    if verb.endswith("s") and not verb.endswith("ss"):
        return verb[:-1]
    return verb


def to_first_person(phrase: str) -> str:
    """The phrase in the words of the person who answers: "you" is "I", "your sister" is "my sister"."""
    return _YOU.sub(lambda found: _FIRST_PERSON[found.group().lower()], phrase)


def agree(verb: str, subject: str) -> str:
    """The verb in the form for this subject."""
    return verb if subject in PLAIN_SUBJECTS or PLURAL.search(subject) else conjugate(verb)


def lower_first(phrase: str) -> str:
    """The phrase as in the middle of a sentence: an ordinary word loses its capital."""
    first = phrase.partition(" ")[0].strip(",.")
    lower = first.lower()
    known_name = lower in lexicon.FIRST_NAMES or lower in lexicon.PLACES or lower in lexicon.ORGANIZATIONS
    is_plain = (
        lower.endswith("ly")
        or is_common_word(lower)
        or _STATUS.fullmatch(lower)
        or lower in lexicon.DETERMINERS
        or lower in _NUMBERS
    )
    if first != "I" and (first[1:].islower() or len(first) == 1) and not known_name and is_plain:
        return phrase[:1].lower() + phrase[1:]
    return phrase


def upper_first(statement: str) -> str:
    words = " ".join(statement.split())
    return words[:1].upper() + words[1:]


PLAIN_SUBJECTS = ("I", "we", "they")
_NUMBERS = word_set("one two three four five six seven eight nine ten a an my our his her their")
_STATUS = compile_pattern("status", re.IGNORECASE)
_FIRST_PERSON = {"you": "I", "your": "my", "yours": "mine", "yourself": "myself"}
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
SUBJECT = load_pattern("asked_subject")
OWN_SENTENCE = compile_pattern("own_sentence", re.IGNORECASE)
DETERMINER = re.compile(r"^(?:an?|the|my|any|some|your) ", re.IGNORECASE)
COUNTED = re.compile(rf"(?:{load_pattern('counts')}|several|a few|a couple(?: of)?|some|lots of|no) ", re.IGNORECASE)
NUMBER_ONLY = compile_pattern("number_only", re.IGNORECASE)
PLURAL = re.compile(r"(?<!s)(?:s|children|people)$")
PREPOSITION = re.compile(r"(?:in|at|on|with|from|for|near|by|to|outside|around|next|as)\b", re.IGNORECASE)
_PAST = {
    "go": "went", "get": "got", "have": "had", "do": "did", "be": "was", "make": "made", "take": "took", "see": "saw",
    "come": "came", "leave": "left", "buy": "bought", "meet": "met", "begin": "began", "find": "found",
    "sell": "sold", "eat": "ate", "drink": "drank", "grow": "grew", "give": "gave", "break": "broke", "lose": "lost",
    "win": "won", "tell": "told", "say": "said", "know": "knew", "think": "thought", "feel": "felt", "keep": "kept",
    "bring": "brought", "hear": "heard", "hold": "held", "send": "sent", "spend": "spent", "speak": "spoke",
    "choose": "chose", "pay": "paid", "drive": "drove", "fall": "fell", "forget": "forgot", "ride": "rode",
    "sing": "sang", "swim": "swam", "wear": "wore", "put": "put", "cut": "cut", "let": "let", "hurt": "hurt",
    "set": "set", "build": "built", "catch": "caught", "write": "wrote", "read": "read", "sleep": "slept",
    "teach": "taught", "quit": "quit", "run": "ran", "fly": "flew",
}  # fmt: skip
_BASE = {past: base for base, past in _PAST.items()} | {"has": "have", "does": "do", "goes": "go", "is": "be"}

"""The phrases of claim_table.txt: which one follows a subject, and what it says of it."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from remanence.text.lexicon.word_lists import data_lines


class Phrase(NamedTuple):
    """What a phrase of the table says of its subject."""

    predicate: str
    object_type: str


_ADVERB = r"(?: (?:now|currently|still|just|recently|really|already|actually|finally|originally))?"


def phrase_at(text: str, start: int) -> tuple[Phrase, int] | None:
    """The phrase of the table that follows a subject, and where its object begins."""
    pattern, phrases = _table()
    match = pattern.match(text, start)
    return (phrases[match.lastindex - 1], match.end()) if match is not None and match.lastindex is not None else None


@cache
def _table() -> tuple[re.Pattern[str], list[Phrase]]:
    """One pattern for all phrases, the longest first: "is a citizen of" before "is a"."""
    rows = sorted(read_table(), key=lambda row: -len(row[0]))
    options = "|".join(f"({_forms(phrase)})" for phrase, _ in rows)
    nouns = "city|country|county|island|province|region|state|town|village"
    pattern = re.compile(rf"{_ADVERB}(?:{options})(?= )(?: the (?:{nouns}) of(?= )| the(?= [A-Z]))? ")
    return pattern, [meaning for _, meaning in rows]


def read_table() -> list[tuple[str, Phrase]]:
    """The phrases of claim_table.txt, each with its meaning.

    >>> ("lives in", Phrase("lives_in", "place")) in read_table()
    True
    """
    rows = []
    for line in data_lines(_TABLE_FILE):
        phrases, _, rest = line.partition(" = ")
        predicate, object_type = rest.partition(" : ")[0].split()
        rows += [(phrase, Phrase(predicate, object_type)) for phrase in phrases.split(" | ")]
    return rows


_TABLE_FILE = __file__.replace("phrases.py", "claim_table.txt")
_IRREGULAR = {
    "is": r"(?: (?:is|am|are)|['’](?:s|m|re)){adverb}",
    "was": r" (?:was|were){adverb}",
    "has": r"(?: (?:has|have)|['’](?:s|ve)){adverb}",
}


def _forms(phrase: str) -> str:
    """A pattern for the persons of a phrase in the third person: "lives in" and "live in"."""
    verb, _, rest = phrase.partition(" ")
    tail = f" {re.escape(rest)}" if rest else ""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb].format(adverb=_ADVERB) + tail
    if verb.endswith("ies"):
        verb = f"{verb[:-3]}(?:ies|y)"
    elif verb.endswith(("ches", "shes")):
        verb = f"{verb[:-2]}(?:es)?"
    elif verb.endswith("s"):
        verb = f"{verb[:-1]}s?"
    return f" {verb}{tail}"

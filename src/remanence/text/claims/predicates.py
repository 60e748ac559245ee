"""The phrases of claim_table.txt, and the properties of predicates: which can have one value only, which are events,
which are opinions.

A claim is a subject, a predicate and an object. Most predicates go from the subject to its value
("Alice lives_in Porto"); a role goes the other way ("Tim Cook ceo_of Apple": it is Apple that has one).
`claim_key` and `claim_value` hide the difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from remanence.schema import Triple
from remanence.text.lexicon.word_lists import data_lines, load_words, word_set
from remanence.text.text import normalize_name


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
    """The phrases of claim_table.txt, each with its meaning."""
    rows = []
    for line in data_lines(_TABLE_FILE):
        phrases, _, rest = line.partition(" = ")
        predicate, object_type = rest.partition(" : ")[0].split()
        rows += [(phrase, Phrase(predicate, object_type)) for phrase in phrases.split(" | ")]
    return rows


_TABLE_FILE = __file__.replace("predicates.py", "claim_table.txt")
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


SINGLE_VALUED = load_words("single_valued_predicates")
"""Predicates of which a subject has one value at a time, so that a newer value replaces the older one. `works_at` is
among them: most people have one employer ("also works at" makes no claim)."""
_ATTRIBUTE_NOUNS = load_words("attribute_nouns")
"""Last words of attributes with one value at a time: `rate_limit`, `log_retention`, `go_live`."""
_DATE_PREDICATES = load_words("date_predicates")
"""Single-valued predicates whose value is a time: the time that a memory names is this value, not when the claim holds,
which is from when it was told."""
SINGLE_ROLES = load_words("single_roles")
"""Last words of roles with one holder at a time, such as `prime_minister_of`: the *object* is what has one value."""

IMMUTABLE_PREDICATES = word_set("born_in born_on birthday died_in died_on created_by founded_by founded_in written_by")
"""Single-valued predicates whose value never changes: of two values one is an error."""
EVENT_PREDICATES = load_words("event_predicates")
"""Predicates of single events: such a claim stays true."""
PAST_STATE_PREDICATES = word_set("lived_in worked_at worked_as studied_at")
"""Predicates of states that are told in the past tense. If the time told with such a claim is over, so is the state."""
STATE_AFTER_EVENT: Mapping[str, str] = {"moved_to": "lives_in", "joined": "works_at"}
"""The state that follows an event: after moving to Porto, a person lives there."""
_UNMARRIED = tuple("girlfriend_of boyfriend_of fiancé_of fiancée_of fiance_of fiancee_of dating".split())
STATES_ENDED_BY_EVENT: Mapping[str, Sequence[str]] = {
    "left": ("works_at", "studies_at"),
    "moved_from": ("lives_in", "works_at"),
    "broke_up_with": ("dating", "married_to", "engaged_to"),
    "graduated_from": ("studies_at",),
    "married_to": (*_UNMARRIED, "engaged_to"),
    "engaged_to": ("girlfriend_of", "boyfriend_of"),
}
"""The states that an event ends: after leaving Google, a person no longer works there."""
_MUTUAL = word_set("married_to engaged_to broke_up_with")


def claims_ended_by(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The states that these events end.

    >>> [str(claim) for claim in claims_ended_by([Triple("Ana", "left", "IBM")])]
    ['Ana —works_at→ IBM', 'Ana —studies_at→ IBM']
    """
    ended: list[Triple] = []
    for claim in claims:
        ends = [(claim.subject, claim.object)]
        ends += [(claim.object, claim.subject)] if claim.predicate in _MUTUAL else []
        states = STATES_ENDED_BY_EVENT.get(claim.predicate, ())
        ended += [Triple(subject, state, other) for state in states for subject, other in ends]
    return tuple(ended)


def claim_key(claim: Triple) -> tuple[str, str] | None:
    """The key of a single-valued claim, or None: two claims with the same key and different values disagree.

    >>> claim_key(Triple("Alice", "lives_in", "Porto"))
    ('lives_in', 'alice')
    >>> claim_key(Triple("Tim Cook", "ceo_of", "Apple"))
    ('ceo_of', 'apple')
    >>> claim_key(Triple("Alice", "likes", "tea")) is None
    True
    """
    predicate = claim.predicate
    is_attribute = predicate.rpartition("_")[2] in _ATTRIBUTE_NOUNS or predicate in _DATE_PREDICATES
    if is_attribute or predicate in SINGLE_VALUED or predicate.startswith("favourite_"):
        return predicate, normalize_name(claim.subject)
    if _is_single_role(predicate):
        return predicate, normalize_name(claim.object)
    return None


def is_date_predicate(predicate: str) -> bool:
    """Whether the value is a time: `scheduled_for`, `release_date`.

    >>> is_date_predicate("release_date"), is_date_predicate("release_notes")
    (True, False)
    """
    return predicate in _DATE_PREDICATES or predicate.endswith(("_date", "_deadline"))


def claim_value(claim: Triple) -> str:
    """The value that the claim gives its key: the object, or for a role its holder.

    >>> claim_value(Triple("Alice", "lives_in", "Porto")), claim_value(Triple("Tim Cook", "ceo_of", "Apple"))
    ('porto', 'tim cook')
    """
    return normalize_name(claim.subject if _is_single_role(claim.predicate) else claim.object)


def _is_single_role(predicate: str) -> bool:
    """Whether this is a role with one holder at a time: `ceo_of`, but not `sister_of`."""
    if not predicate.endswith("_of") or predicate in SINGLE_VALUED:
        return False
    role = predicate.removesuffix("_of")
    return role in ("head_of_state", "head_of_government") or (
        role.rpartition("_")[2] in SINGLE_ROLES and not role.startswith(("former_", "vice_", "co_", "deputy_"))
    )

"""Claims that end: denials, relationships, jobs, habits and possessions.

All functions read sentences in the third person, as third_person.py makes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from remanence.language.rules.claim_phrases import NamesByStart, coordinated_subjects
from remanence.language.rules.claim_rules import find_claims
from remanence.language.rules.lexicon import compile_pattern, load_pattern
from remanence.language.rules.name_spans import NameSpan
from remanence.language.rules.predicate_rules import (
    MUTUAL_PREDICATES,
    OPPOSITE_PREDICATES,
    STATES_ENDED_BY_EVENT,
    STATUS_ENDED_BY,
)
from remanence.language.rules.third_person import conjugate
from remanence.schema import Triple


@dataclass(frozen=True, slots=True)
class StateChange:
    """An event: its own claims, the claims it ends, and the new state as text and as claims.

    Where the other party of an ended claim is not named, it is an empty string: "got divorced" ends
    `married_to` with anybody.
    """

    event_claims: tuple[Triple, ...]
    ended_claims: tuple[Triple, ...] = ()
    state_text: str | None = None
    state_claims: tuple[Triple, ...] = ()

    @property
    def has_unspecified_end(self) -> bool:
        """Whether an ended claim has an empty subject or object."""
        return any(not (claim.subject and claim.object) for claim in self.ended_claims)


@dataclass(frozen=True, slots=True)
class Denial:
    """Claims that a sentence denies: they hold no longer, or not at all."""

    claims: tuple[Triple, ...]
    no_longer: bool


def claims_ended_by(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The states that these events end."""
    return tuple(
        Triple(subject, state, other)
        for claim in claims
        for state in STATES_ENDED_BY_EVENT.get(claim.predicate, ())
        for subject, other in (
            [(claim.subject, claim.object), (claim.object, claim.subject)]
            if claim.predicate in MUTUAL_PREDICATES
            else [(claim.subject, claim.object)]
        )
    )


def claims_opposed_to(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The claims that cannot hold together with these."""
    claims = list(claims)
    opposed = [
        Triple(claim.subject, opposite, claim.object)
        for claim in claims
        for opposite in OPPOSITE_PREDICATES.get(claim.predicate, ())
    ]
    opposed += [
        Triple(person, "relationship_status", status)
        for claim in claims
        for status in STATUS_ENDED_BY.get(claim.predicate, ())
        for person in (claim.subject, claim.object)
    ]
    return tuple(opposed)


def find_denial(text: str, names: Sequence[NameSpan], speaker: str, claims: Sequence[Triple] = ()) -> Denial | None:
    """The claims that the text denies. They are those that it would make without its negation.

    >>> from remanence.language.rules.name_rules import find_names
    >>> text = "Alice no longer lives in Porto."
    >>> [str(claim) for claim in find_denial(text, find_names(text), "me").claims]
    ['Alice —lives_in→ Porto']
    """
    for pattern, no_longer in _NEGATIONS:
        found = pattern.search(text)
        if found is None:
            continue
        start, end, verb = found.start(), found.end(), found["verb"]
        positive = conjugate(verb) if pattern in _WITH_BASE_FORM else _FROM_GERUND.get(verb, verb)
        affirmed = _ANY_MORE.sub("", text[:start] + positive + text[end:])
        shift = len(positive) - (end - start)
        shifted = [
            name if name.end <= start else name._replace(start=name.start + shift, end=name.end + shift)
            for name in names
        ]
        denied = [claim for claim in find_claims(affirmed, shifted, speaker) if claim not in claims]
        denied += [replace(claim, predicate="loves") for claim in denied if claim.predicate == "likes"]
        if denied:
            return Denial(tuple(denied), no_longer or _ANY_MORE.search(text) is not None)
    return None


def find_breakup(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Broke up with Tom, or with an unnamed girlfriend; was left by an unnamed wife."""
    deserted = _deserted_by(text, subject, names)
    found = _BROKE_UP.match(text, subject.end)
    if deserted is not None or found is None:
        return deserted
    other = names.get(found.end())
    if other is not None and other.kind not in ("person", "thing"):
        return StateChange((), _jobs_of(subject)) if found["with"] and other.kind == "organization" else None
    if other is None or other.text == subject.text or _IS_RELATIVE.search(other.text):
        partner = _PARTNER.match(text, found.end() if other is None else other.end)
        return StateChange((), _partners_of(subject)) if partner or other is not None else None
    events = () if found["with"] else (Triple(subject.text, "broke_up_with", other.text),)
    return StateChange(events, _couple_claims(subject, other))


def _deserted_by(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """ "Alice's wife left Alice" ends the relationships of Alice."""
    found = _DESERTED.match(text, subject.end)
    other = names.get(found.end()) if found else None
    if found is None or other is None or other.kind != "person" or not _CLAUSE_END.match(text, other.end):
        return None
    if _ENDS_WITH_PARTNER.search(subject.text):
        return StateChange((), _partners_of(other))
    is_person = found["left"] and not _IS_RELATIVE.search(subject.text)
    return StateChange((), _couple_claims(other, subject)) if is_person else None


def find_unspecified_ending(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Got divorced; quit their job: the partner and the employer are not named."""
    found = _ENDED.match(text, subject.end)
    if found is None:
        return None
    others = coordinated_subjects(text, subject, {name.end: name for name in names.values()})
    if not found["couple"]:
        return StateChange((), tuple(claim for person in (*others, subject) for claim in _jobs_of(person)))
    if len(others) == 1 and not _IS_RELATIVE.search(others[0].text):
        return StateChange((), _couple_claims(subject, others[0]))
    return StateChange((), _partners_of(subject))


def find_discontinued(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Sold their bike; cancelled their Netflix subscription; stopped playing chess."""
    found = _DISCONTINUED.match(text, subject.end)
    if found is None:
        return None
    if found["thing"]:
        return StateChange((), _claims_with(subject, ("has", "owns", "drives"), found["thing"]))
    if found["service"]:
        return StateChange((), _claims_with(subject, ("uses", "has"), found["service"]))
    denial = find_denial(text, sorted(names.values(), key=lambda name: name.start), subject.text)
    return StateChange((), denial.claims if denial else ())


def _claims_with(subject: NameSpan, predicates: Iterable[str], value: str) -> tuple[Triple, ...]:
    return tuple(Triple(subject.text, predicate, value) for predicate in predicates)


def _couple_claims(one: NameSpan, other: NameSpan) -> tuple[Triple, ...]:
    """Every claim that these two are a couple, in both directions."""
    pairs = ((one.text, other.text), (other.text, one.text))
    return tuple(Triple(subject, predicate, partner) for subject, partner in pairs for predicate in _COUPLE_PREDICATES)


def _partners_of(person: NameSpan) -> tuple[Triple, ...]:
    """Every claim that somebody is part of a couple, in both directions."""
    directions = ((person.text, ""), ("", person.text))
    return tuple(Triple(one, predicate, other) for predicate in _COUPLE_PREDICATES for one, other in directions)


def _jobs_of(person: NameSpan) -> tuple[Triple, ...]:
    return _claims_with(person, ("works_at", "works_as"), "")


ADVERB_PATTERN = load_pattern("adverbs_after_subject")
"""Adverbs and auxiliaries between a subject and its verb."""

_ANY_MORE = re.compile(r",? (?:any ?more|any longer)\b")
_NOT = re.compile(r"\b(?:does not|doesn['’]t|do not|don['’]t) (?:really |actually |even )?(?P<verb>[a-z]+)\b")
_USED_TO = re.compile(r"\bused to (?P<verb>[a-z]+)\b")
_NO_LONGER = re.compile(r"\bno longer (?P<verb>[a-z]+)\b")
_IS_NOT = re.compile(r"\b(?P<verb>is|was|has)(?: not|n['’]t| no longer)\b(?: (?:really|actually))?")
_STOPPED = re.compile(r"\b(?:(?:has |have )?(?:stopped|quit|gave up|given up)) (?P<verb>[a-z]+ing)\b")
_NEGATIONS = ((_NO_LONGER, True), (_USED_TO, True), (_STOPPED, True), (_NOT, False), (_IS_NOT, False))
_WITH_BASE_FORM = (_NOT, _USED_TO)
_FROM_GERUND = {
    "using": "uses", "playing": "plays", "working": "works", "living": "lives", "studying": "studies",
    "driving": "drives", "liking": "likes", "learning": "is learning", "dating": "is dating",
}  # fmt: skip
_PARTNER_NOUN = load_pattern("partner_nouns")
_BROKE_UP = compile_pattern("broke_up")
_DESERTED = re.compile(rf"{ADVERB_PATTERN} (?:(?P<left>left)|dumped|divorced|broke up with|separated from) ")
_CLAUSE_END = re.compile(rf"[.,;!]|$| (?:{load_pattern('words_after_ending')}|and|any)\b")
_IS_RELATIVE = re.compile(r"^my |['’]s ")
_PARTNER = re.compile(rf" ?(?:their|his|her) (?:[a-z]+ )?(?:{_PARTNER_NOUN})\b")
_ENDS_WITH_PARTNER = re.compile(rf" (?:{_PARTNER_NOUN})$")
_COUPLE_PREDICATES = tuple(
    "married_to engaged_to dating wife_of husband_of girlfriend_of boyfriend_of partner_of"
    " fiancé_of fiancée_of fiance_of fiancee_of spouse_of lives_with".split()
)
_ENDED = compile_pattern("ended")
_DISCONTINUED = compile_pattern("discontinued")

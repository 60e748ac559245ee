"""Which claims a text makes: a subject, a verb phrase, and a name or a few plain words.

A claim is read only where a name opens its clause and the verb follows at once, so "the father of Alice
works at CERN" makes no claim about Alice. Questions, conditions and wishes make no claims.

verb_phrases.py            the verb phrases and their objects; to read more, add a line to verb_phrases.txt
relationships.py           family, names, nationality, favourites
nonperson_claims.py        claims about anything but people
single_sentence_claims.py  the claim of a text of one sentence: "The capital of Portugal is Lisbon."
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from remanence.language.claim_extraction import relationships
from remanence.language.claim_extraction.claim_phrases import (
    NamesByStart,
    coordinated_subjects,
    is_employer,
    name_at,
    opens_clause,
)
from remanence.language.claim_extraction.nonperson_attributes import snake_case
from remanence.language.claim_extraction.nonperson_claims import find_nonperson_claims
from remanence.language.claim_extraction.single_sentence_claims import MAX_STATEMENT_CHARS, find_single_sentence_claim
from remanence.language.claim_extraction.verb_phrases import following_claims, may_open_claim, object_at, verb_at
from remanence.language.lexicon.verb_forms import PAST_FORMS
from remanence.language.lexicon.word_lists import compile_pattern, load_pattern
from remanence.language.named_entities.name_spans import NameSpan
from remanence.language.text import SENTENCE_END
from remanence.schema import Triple

_CONJUNCTION = compile_pattern("conjunction")
_NO_STATEMENT = re.compile(rf"\b(?:{load_pattern('claimless_words')})\b", re.IGNORECASE)
_NEGATED = compile_pattern("negated", re.IGNORECASE)
_CLAUSE_CONJUNCTION = compile_pattern("clause_joint")
_PERFECT = {"has_lived_in": ("lived_in", "lives_in"), "has_worked_at": ("worked_at", "works_at")}
LEFT_FOR_THE_DAY = compile_pattern("left_for_the_day")
"""The words after a place that a person left only until the next day."""
_STILL = compile_pattern("still_true")
_POSSESSIVE_PRONOUNS = frozenset(("my", "My", "our", "Our"))
_USER = re.compile(  # not "the user's girlfriend", who is a person
    rf"\b[Tt]he user(?:(?P<ending>['’]s(?! (?:[a-z]+ )?(?:{load_pattern('any_relationship')})\b)| and others)(?!\w)"
    r"|(?= (?P<next>[a-z]+)))"
)
_MAX_CLAIMS = 3  # of one subject in one clause, joined by "and"


def find_claims(text: str, names: Sequence[NameSpan], speaker: str) -> tuple[Triple, ...]:
    """The claims that `text` makes about its names. The names are in order and include the first person.

    >>> from remanence.language.named_entities.name_rules import find_names
    >>> text = "Alice lives in Porto and works at IBM. Lisbon is the capital of Portugal. Is Bob at CERN?"
    >>> for claim in find_claims(text, find_names(text), "me"):
    ...     print(claim)
    Alice —lives_in→ Porto
    Alice —works_at→ IBM
    Lisbon —capital_of→ Portugal
    """
    if len(text) <= MAX_STATEMENT_CHARS:
        statement = find_single_sentence_claim(text, names)
        if statement is not None:
            return (statement,)
    subjects = [
        name
        for name in names
        if text[name.end : name.end + 1] in (" ", "'", "’")
        and (may_open_claim(text, name.end) or text[name.start : name.end] in _POSSESSIVE_PRONOUNS)
    ]
    claim_set: dict[Triple, None] = {}
    if subjects:
        _add_claims_of_names(claim_set, text, names, subjects, speaker)
    pairs = {(claim.subject, claim.object) for claim in claim_set}
    attributes = {(claim.predicate, claim.object) for claim in claim_set}
    things = (
        claim
        for claim in find_nonperson_claims(*_with_user_as_we(text, names))
        if (claim.subject, claim.object) not in pairs
        and (snake_case(claim.subject), claim.object) not in attributes  # my phone number is …
    )
    return (*claim_set, *things)


def _with_user_as_we(text: str, names: Sequence[NameSpan]) -> tuple[str, Sequence[NameSpan]]:
    """A text in which facts say "the user's" and "the user and others" with the words of the user, "our" and "we", and
    its names at their new places. So a thing has the same name in a text and in a fact found in it."""
    if "he user" not in text:
        return text, names
    replaced = [(match.start(), len(match.group()) - len(_first_person(match))) for match in _USER.finditer(text)]
    moved, shift, index = [], 0, 0
    for name in names:  # in order, so that each replacement is counted once
        while index < len(replaced) and replaced[index][0] < name.start:
            shift += replaced[index][1]
            index += 1
        moved.append(name._replace(start=name.start - shift, end=name.end - shift))
    return _USER.sub(_first_person, text), moved


def _first_person(user: re.Match[str]) -> str:
    if user["ending"]:
        return "we" if user["ending"] == " and others" else "our"
    return "I" if user["next"] in PAST_FORMS else user.group()  # the user moved, but the user table


def _add_claims_of_names(
    claim_set: dict[Triple, None], text: str, names: Sequence[NameSpan], subjects: Sequence[NameSpan], speaker: str
) -> None:
    by_start = {name.start: name for name in names}
    by_end = {name.end: name for name in names}
    kinds = {name.text: name.kind for name in reversed(names)}  # of several, the first
    for subject in subjects:
        start = subject.start
        if text[start - 2 : start] == ", " and start - 2 in by_end and subject.text != speaker:
            continue  # the second part of "Albert V, Duke of Bavaria" opens no clause
        all_claims = _claims_of(text, subject, by_start, kinds, speaker)
        claims = [claim for claim in all_claims if claim.subject != claim.object]
        others = coordinated_subjects(text, subject, by_end)
        if others:
            claims += relationships.shared_claims(text, subject, others, claims, speaker)
        if claims and (_is_statement(text, subject) or relationships.APPOSITION_PATTERN.match(text, subject.end)):
            claim_set.update(dict.fromkeys(claims))


def _is_statement(text: str, subject: NameSpan) -> bool:
    """Whether the clause that `subject` opens is a plain statement."""
    if not opens_clause(text, subject.start):
        return False
    begin = max(0, subject.start - 200)
    ends = [match.end() for match in SENTENCE_END.finditer(text[begin : subject.start])]
    stop = SENTENCE_END.search(text, subject.end, subject.end + 300)
    first = begin + (ends[-1] if ends else 0)
    sentence = text[first : stop.end() if stop else subject.end + 300]
    if "?" in sentence or _NO_STATEMENT.search(sentence):
        return False
    return not _NEGATED.search(sentence) or not _NEGATED.search(_clause_at(sentence, subject.start - first))


def _with_kind_of_object(text: str, at: int, predicate: str, value: str, kinds: Mapping[str, str]) -> str:
    """The predicate for an object of this kind: to move to an employer is to join it, to join a service is to use it.

    `kinds` has the kind of each name in the text, and `at` is the end of the object.
    """
    if predicate not in ("moved_to", "joined"):
        return predicate
    kind = kinds.get(value, "thing")
    if predicate == "moved_to":
        return "joined" if is_employer(text, kind, at) else predicate
    return "member_of" if kind == "product" else predicate


def _clause_at(sentence: str, at: int) -> str:
    """The clause around `at`: a "not" after "but" belongs to another clause."""
    conjunctions = [*_CLAUSE_CONJUNCTION.finditer(sentence)]
    begin = max((conjunction.end() for conjunction in conjunctions if conjunction.end() <= at), default=0)
    end = min((conjunction.start() for conjunction in conjunctions if conjunction.start() > at), default=len(sentence))
    return sentence[begin:end]


def _claims_of(
    text: str, subject: NameSpan, names: NamesByStart, kinds: Mapping[str, str], speaker: str
) -> Iterator[Triple]:
    at = subject.end
    is_pronoun = text[subject.start : at] in _POSSESSIVE_PRONOUNS
    if is_pronoun or text.startswith(("'s ", "’s "), at):
        claims = list(relationships.possessive_claims(text, at if is_pronoun else at + 2, subject.text, names))
        yield from claims
        if claims or is_pronoun:
            return  # "Bob's" may also be "Bob is"
    for number in range(_MAX_CLAIMS):
        verb = verb_at(text, at)
        target = object_at(text, verb, subject, names) if verb else None
        if verb is None or target is None:
            if number == 0 and relationships.COPULA_PATTERN.match(text, subject.end):
                yield from relationships.copula_claims(text, subject, names, speaker)
            elif number == 0 and text.startswith(relationships.HAVE_PREFIXES, subject.end):
                yield from relationships.have_claims(text, subject, names)
            return
        at = target.end
        predicate = _PERFECT.get(verb.predicate, (verb.predicate, verb.predicate))[_STILL.match(text, at) is not None]
        if predicate == "left" and LEFT_FOR_THE_DAY.match(text, at):
            return  # the building, not the employer
        predicate = _with_kind_of_object(text, at, predicate, target.values[0], kinds)
        if predicate == "born_in" and target.values[0][-1].isdigit():
            predicate = "born_on"
        for value in target.values:
            if predicate == "has" and value.endswith(" allergy"):
                yield Triple(subject.text, "allergic_to", value.removesuffix(" allergy"))
            else:
                yield Triple(subject.text, predicate, value)
        if verb.object_type == "profession" and text[at - 1] == " ":  # a nurse at …
            employer = name_at(text, at, names)
            if employer is None:
                return
            yield Triple(subject.text, "works_at", employer.text)
            at = employer.end
        elif len(target.values) == 1:
            more, at = following_claims(text, at, Triple(subject.text, predicate, target.values[0]), names)
            for claim in more:
                yield replace(claim, predicate=_with_kind_of_object(text, at, claim.predicate, claim.object, kinds))
        conjunction = _CONJUNCTION.match(text, at)
        if conjunction is None:
            return
        at = conjunction.end()

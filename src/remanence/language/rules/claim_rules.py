"""Which claims a text makes: a name, a verb phrase, and a name or a few plain words.

A claim is read only where a name opens its clause and the verb follows at once, so "the father of Alice
works at CERN" says nothing of Alice. Questions, conditions and wishes claim nothing. To read more, add a
line to `VERBS` in verbs.py; what people are to each other is read in bonds.py, sentences as an encyclopaedia
has them in statements.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from remanence.language.rules import verb_patterns
from remanence.language.rules.claim_phrases import NamesByStart, name_at
from remanence.language.rules.encyclopedic import MAX_STATEMENT_CHARS, find_encyclopedic_claim
from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.relationships import (
    APPOSITION_PATTERN,
    COPULA_PATTERN,
    HAVE_PREFIXES,
    copula_claims,
    have_claims,
    possessive_claims,
    shared_claims,
)
from remanence.language.rules.subjects import coordinated_subjects, opens_clause
from remanence.language.rules.verb_objects import following_claims, object_at
from remanence.language.rules.verb_patterns import may_open_claim, verb_at
from remanence.language.text import SENTENCE_END
from remanence.schema import Triple

_ALLERGY = " allergy"
_AND = re.compile(
    r"(?:,? (?:and|but)|,)(?= (?:also |now |currently )?[a-z])"
    r"(?! (?:i|my|he|she|it|we|they|the|a|an|his|her)\b)"
)
_UNREAL = re.compile(
    r"\b(?:if|unless|whether|would|could|might|(?-i:may)|maybe|perhaps|wish|hope|imagine|suppose|pretend"
    r"|probably|nobody|none|dream(?:ed|t)?)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:(?<!, )not|never|no longer|used to)\b|(?<!\bca)n['’]t\b|can['’]t\b(?! stand\b)", re.IGNORECASE
)
_CLAUSE = re.compile(
    r"(?:,? but|;|, (?=(?:I|the user|[A-Z]\w+ (?:is|was|[a-z]+s))\b)"
    r"|,? and (?=(?:I|the user|[A-Z]\w+)['’ ]|(?:don['’]t|doesn['’]t|do not|does not|no longer|never|am not"
    r"|is not|used to)\b)) ?"
)
_PERFECT = {"has_lived_in": ("lived_in", "lives_in"), "has_worked_at": ("worked_at", "works_at")}
_STILL = re.compile(
    r"(?:,? (?:as|in) [^.;!?]{1,30}?)? (?:since|for (?:the (?:last|past)|\d|an?|two|three|four|five|six|seven"
    r"|eight|nine|ten|over|almost|nearly|many|some)) ?\b"
)
_MINE = frozenset(("my", "My", "our", "Our"))
_POSSESSIVE = ("'s ", "’s ")
_BEFORE_VERB = frozenset(" '’")
_MOST_CLAIMS = 3  # that one subject makes in one clause, joined by "and"


def find_claims(text: str, names: Sequence[NameSpan], speaker: str) -> tuple[Triple, ...]:
    """What `text` says of its names, which are given in order; the first person among them is called `me`.

    >>> from remanence.language.rules.name_rules import find_names
    >>> text = "Alice lives in Porto and works at IBM. Lisbon is the capital of Portugal. Is Bob at CERN?"
    >>> for claim in find_claims(text, find_names(text), "me"):
    ...     print(claim)
    Alice —lives_in→ Porto
    Alice —works_at→ IBM
    Lisbon —capital_of→ Portugal
    """
    if len(text) <= MAX_STATEMENT_CHARS:
        statement = find_encyclopedic_claim(text, names)
        if statement is not None:
            return (statement,)
    openers = [
        name
        for name in names
        if text[name.end : name.end + 1] in _BEFORE_VERB
        and (may_open_claim(text, name.end) or text[name.start : name.end] in _MINE)
    ]
    if not openers:
        return ()
    starts = {name.start: name for name in names}
    ends = {name.end: name for name in names}
    found: dict[Triple, None] = {}
    for name in openers:
        if text[name.start - 2 : name.start] == ", " and name.start - 2 in ends and name.text != speaker:
            continue  # the second part of "Albert V, Duke of Bavaria" opens no clause
        made = [claim for claim in _claims(text, name, starts, speaker) if claim.subject != claim.object]
        others = coordinated_subjects(text, name, ends)
        if others:
            made += shared_claims(text, name, others, made, speaker)
        if made and (is_stated(text, name) or APPOSITION_PATTERN.match(text, name.end)):
            found.update(dict.fromkeys(made))
    return tuple(found)


def is_stated(text: str, subject: NameSpan) -> bool:
    """Whether the clause that `subject` opens is a plain statement."""
    if not opens_clause(text, subject.start):
        return False
    begin = max(0, subject.start - 200)
    before = text[begin : subject.start]
    ends = [match.end() for match in SENTENCE_END.finditer(before)]
    stop = SENTENCE_END.search(text, subject.end, subject.end + 300)
    first = begin + (ends[-1] if ends else 0)
    sentence = text[first : stop.end() if stop else subject.end + 300]
    if "?" in sentence or _UNREAL.search(sentence):
        return False
    return not _NEGATED.search(sentence) or not _NEGATED.search(_clause(sentence, subject.start - first))


def _clause(sentence: str, at: int) -> str:
    """The part of the sentence around `at`: a "not" behind "but" is none of its own."""
    joints = [*_CLAUSE.finditer(sentence)]
    begin = max((joint.end() for joint in joints if joint.end() <= at), default=0)
    end = min((joint.start() for joint in joints if joint.start() > at), default=len(sentence))
    return sentence[begin:end]


def _claims(text: str, subject: NameSpan, starts: NamesByStart, me: str) -> Iterator[Triple]:
    at = subject.end
    own = at if text[subject.start : at] in _MINE else at + 2 if text.startswith(_POSSESSIVE, at) else 0
    if own:
        theirs = list(possessive_claims(text, own, subject.text, starts))
        yield from theirs
        if theirs or own == at:
            return  # "Bob's" may also be "Bob is"
    for number in range(_MOST_CLAIMS):
        verb = verb_at(text, at)
        target = object_at(text, verb, subject, starts) if verb else None
        if verb is None or target is None:
            if number == 0 and COPULA_PATTERN.match(text, subject.end):
                yield from copula_claims(text, subject, starts, me)
            elif number == 0 and text.startswith(HAVE_PREFIXES, subject.end):
                yield from have_claims(text, subject, starts)
            return
        at = target.end
        predicate = _PERFECT.get(verb.predicate, (verb.predicate, verb.predicate))[_STILL.match(text, at) is not None]
        if predicate == "born_in" and target.values[0][-1].isdigit():
            predicate = "born_on"
        for value in target.values:
            if predicate == "has" and value.endswith(_ALLERGY):
                yield Triple(subject.text, "allergic_to", value.removesuffix(_ALLERGY))
            else:
                yield Triple(subject.text, predicate, value)
        if verb.object_type == verb_patterns.PROFESSION and text[at - 1] == " ":  # a nurse at …
            employer = name_at(text, at, starts)
            if employer is None:
                return
            yield Triple(subject.text, "works_at", employer.text)
            at = employer.end
        elif len(target.values) == 1:
            more, at = following_claims(text, at, Triple(subject.text, predicate, target.values[0]), starts)
            yield from more
        joint = _AND.match(text, at)
        if joint is None:
            return
        at = joint.end()

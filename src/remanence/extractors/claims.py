"""Which claims a text makes: a name, a verb phrase, and a name or a few plain words.

A claim is read only where a name opens its clause and the verb follows at once, so "the father of Alice
works at CERN" says nothing of Alice. Questions, conditions and wishes claim nothing. To read more, add a
line to `VERBS` in verbs.py; sentences as an encyclopaedia has them are read in statements.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from remanence.extractors import verbs
from remanence.extractors.lexicon import KIN, words
from remanence.extractors.marked import Name
from remanence.extractors.objects import Names, date_at, followers, name_at, target_at, words_at
from remanence.extractors.predicates import SINGLE_ROLES
from remanence.extractors.statements import LONGEST_STATEMENT, find_statement
from remanence.extractors.verbs import opens_claim, verb_at
from remanence.model import Triple

_BEING = re.compile(
    r" (?:is|was|became)(?: now)?(?: (?:the|a|an))? ((?:[a-z][a-z-]+ )?(?:[a-z][a-z-]+|C[A-Z]O)) of (?:the )?"
)
_IS = re.compile(r"(?: (?:is|was|am)|['’]m) ")
_PRESENTED = re.compile(r"[.!,]|$| from\b| and (?:I|the user)\b")
_KIN = "|".join(sorted(KIN))
_MY = re.compile(rf"my (?:[a-z]+ )?({_KIN})\b")
_WHOSE = re.compile(rf"['’]s (?:[a-z]+ )?({_KIN})\b")
_MY_FAVOURITE = re.compile(r"my favou?rite ([a-z]+(?: [a-z]+)?)(?=[.,;!\n]|$)")
_OWN_KIN = re.compile(rf" (?:[a-z]+ )?({_KIN})(?:(?: is|['’]s)(?: called| named)|['’]s name is| is|,)? ")
_APPOSED = re.compile(rf"(?:['’]s)? (?:[a-z]+ )?(?:{_KIN}) (?=[A-Z])")
_OWN_NAME = re.compile(r" name(?: is|['’]s) ")
_OWN_VALUE = re.compile(
    r" (?:favou?rite ([a-z]+(?: [a-z]+)?)|(birthday|phone number|email|address|native language"
    r"|mother tongue|home ?town|nationality|pronouns|job title))"
    r"(?: is| are|['’]s)(?: (?:on|still|now|actually))? (?:the )?"
)
_WHOSE_ROLE = re.compile(
    rf" (?:[a-z]+ )?({'|'.join(sorted(SINGLE_ROLES))}|child|parent|sibling) (?:is|was) (?:called |named )?"
)
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
_SENTENCE_END = re.compile(r"[.!?\n](?=\s|$|[\"”')])|\n")
_CLAUSE_START = re.compile(
    r"(?:^|[.!?;:\n,\"“(–—-]\s*|\b(?:and|but|that|because|so|since|now|yes|yeah|well|today|currently)\s+"
    rf"|(?:\b(?:[Mm]y|[Oo]ur)|\w['’]s) (?:[a-z]+ )?(?:{_KIN}),? )$"
)
_PERFECT = {"has_lived_in": ("lived_in", "lives_in"), "has_worked_at": ("worked_at", "works_at")}
_STILL = re.compile(
    r"(?:,? (?:as|in) [^.;!?]{1,30}?)? (?:since|for (?:the (?:last|past)|\d|an?|two|three|four|five|six|seven"
    r"|eight|nine|ten|over|almost|nearly|many|some)) ?\b"
)
_MINE = frozenset(("my", "My"))
_POSSESSIVE = ("'s ", "’s ")
_VAGUE = words("thing things part one bit way time memory moment")
_BEFORE_VERB = frozenset(" '’")
_EMPTY_NOUNS = words("""
one part some kind sort type lot most because out all many none also considered located only known made
largest smallest biggest oldest north south east west instead
""")
_MOST_CLAIMS = 3  # that one subject makes in one clause, joined by "and"


def find_claims(text: str, names: Sequence[Name], me: str) -> tuple[Triple, ...]:
    """What `text` says of its names, which are given in order; the first person among them is called `me`.

    >>> from remanence.extractors.names import find_names
    >>> text = "Alice lives in Porto and works at IBM. Lisbon is the capital of Portugal. Is Bob at CERN?"
    >>> for claim in find_claims(text, find_names(text), "me"):
    ...     print(claim)
    Alice —lives_in→ Porto
    Alice —works_at→ IBM
    Lisbon —capital_of→ Portugal
    """
    if len(text) <= LONGEST_STATEMENT:
        statement = find_statement(text, names)
        if statement is not None:
            return (statement,)
    openers = [
        name
        for name in names
        if text[name.end : name.end + 1] in _BEFORE_VERB
        and (opens_claim(text, name.end) or text[name.start : name.end] in _MINE)
    ]
    if not openers:
        return ()
    starts = {name.start: name for name in names}
    ends = {name.end for name in names}
    found: dict[Triple, None] = {}
    for name in openers:
        if text[name.start - 2 : name.start] == ", " and name.start - 2 in ends and name.text != me:
            continue  # the second part of "Albert V, Duke of Bavaria" opens no clause
        made = [claim for claim in _claims(text, name, starts, me) if claim.subject != claim.object]
        if made and (is_stated(text, name) or _APPOSED.match(text, name.end)):
            found.update(dict.fromkeys(made))
    return tuple(found)


def is_stated(text: str, subject: Name) -> bool:
    """Whether the clause that `subject` opens is a plain statement."""
    begin = max(0, subject.start - 200)
    before = text[begin : subject.start]
    if not _CLAUSE_START.search(before[-40:] if len(before) > 40 else before):
        return False
    ends = [match.end() for match in _SENTENCE_END.finditer(before)]
    stop = _SENTENCE_END.search(text, subject.end, subject.end + 300)
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


def _claims(text: str, subject: Name, starts: Names, me: str) -> Iterator[Triple]:
    at = subject.end
    own = at if text[subject.start : at] in _MINE else at + 2 if text.startswith(_POSSESSIVE, at) else 0
    if own:
        yield from _own(text, own, subject.text, starts)
        return
    for number in range(_MOST_CLAIMS):
        verb = verb_at(text, at)
        target = target_at(text, verb, subject, starts) if verb else None
        if verb is None or target is None:
            if number == 0:
                yield from _being(text, subject, starts, me)
            return
        at = target.end
        predicate = _PERFECT.get(verb.predicate, (verb.predicate, verb.predicate))[
            _STILL.match(text, at) is not None
        ]
        for value in target.values:
            yield Triple(subject.text, predicate, value)
        if verb.wants == verbs.TRADE and text[at - 1] == " ":  # a nurse at …
            employer = name_at(text, at, starts)
            if employer is None:
                return
            yield Triple(subject.text, "works_at", employer.text)
            at = employer.end
        elif len(target.values) == 1:
            more, at = followers(text, at, Triple(subject.text, predicate, target.values[0]), starts)
            yield from more
        joint = _AND.match(text, at)
        if joint is None:
            return
        at = joint.end()


def _own(text: str, at: int, owner: str, starts: Names) -> Iterator[Triple]:
    """My sister Carol; Alice's boss is called Bob; my name is Alice; my favourite colour is green."""
    kin = _OWN_KIN.match(text, at) or _WHOSE_ROLE.match(text, at)
    if kin:
        name = starts.get(kin.end())
        if name is not None and (name.kind in ("person", "thing") or kin.re is _WHOSE_ROLE):
            yield Triple(name.text, f"{kin[1]}_of", owner)
        return
    named = _OWN_NAME.match(text, at)
    if named:
        name = name_at(text, named.end(), starts)
        if name is not None:
            yield Triple(owner, "name", name.text)
        return
    valued = _OWN_VALUE.match(text, at)
    if valued and valued[1] not in _VAGUE:
        value = _value_at(text, valued.end(), starts)
        if value:
            what = valued[1] or valued[2]
            yield Triple(owner, f"{'favourite_' if valued[1] else ''}{what.replace(' ', '_')}", value)


def _being(text: str, subject: Name, starts: Names, me: str) -> Iterator[Triple]:
    """Lisbon is the capital of Portugal; Carol is my sister; Juventus is my favourite team."""
    role = _BEING.match(text, subject.end)
    if role:
        name = name_at(text, role.end(), starts)
        if name is not None and _EMPTY_NOUNS.isdisjoint(role[1].split()):
            yield Triple(subject.text, role[1].lower().replace(" ", "_").replace("-", "_") + "_of", name.text)
        return
    verb = _IS.match(text, subject.end)
    if verb is None:
        return
    owner = starts.get(verb.end())
    whose = (_WHOSE.match(text, owner.end) if owner else None) or _MY.match(text, verb.end())
    if whose:
        yield Triple(subject.text, f"{whose[1]}_of", me if whose.re is _MY or owner is None else owner.text)
        return
    if (
        owner is not None
        and owner.kind == "person"
        and subject.text == me
        and _PRESENTED.match(text, owner.end)
    ):
        yield Triple(subject.text, "name", owner.text)  # I'm Mark.
        return
    favourite = _MY_FAVOURITE.match(text, verb.end())
    if favourite:
        yield Triple(me, f"favourite_{favourite[1].replace(' ', '_')}", subject.text)


def _value_at(text: str, start: int, starts: Names) -> str | None:
    name = name_at(text, start, starts)
    if name is not None:
        return name.text
    plain = date_at(text, start) or words_at(text, start)
    return plain[0] if plain else None

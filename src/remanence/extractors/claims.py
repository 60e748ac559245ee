"""Which claims a text makes: a name, a verb phrase, and a name or a few plain words.

A claim is read only where a name opens its clause and the verb follows at once, so "the father of Alice
works at CERN" says nothing of Alice. Questions, conditions and wishes claim nothing. To read more, add a
line to `VERBS` in verbs.py; sentences as an encyclopaedia has them are read in statements.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from remanence.extractors import verbs
from remanence.extractors.lexicon import KIN, LANGUAGES, TRADES, words
from remanence.extractors.marked import Name
from remanence.extractors.predicates import SINGLE_ROLES
from remanence.extractors.statements import LONGEST_STATEMENT, find_statement
from remanence.extractors.verbs import Verb, opens_claim, verb_at
from remanence.model import Triple

_BEING = re.compile(
    r" (?:is|was|became)(?: now)?(?: (?:the|a|an))? ((?:[a-z][a-z-]+ )?(?:[a-z][a-z-]+|C[A-Z]O)) of (?:the )?"
)
_IS = re.compile(r"(?: (?:is|was|am)|['’]m) ")
_PRESENTED = re.compile(r"[.!,]|$| from\b| and I\b")
_KIN = "|".join(sorted(KIN))
_MY = re.compile(rf"my (?:[a-z]+ )?({_KIN})\b")
_WHOSE = re.compile(rf"['’]s (?:[a-z]+ )?({_KIN})\b")
_MY_FAVOURITE = re.compile(r"my favou?rite ([a-z]+(?: [a-z]+)?)(?=[.,;!\n]|$)")
_OWN_KIN = re.compile(rf" (?:[a-z]+ )?({_KIN})(?:(?: is|['’]s)(?: called| named)|['’]s name is| is|,)? ")
_OWN_NAME = re.compile(r" name(?: is|['’]s) ")
_OWN_VALUE = re.compile(
    r" (?:favou?rite ([a-z]+(?: [a-z]+)?)|(birthday|phone number|email|address))"
    r"(?: is| are|['’]s)(?: (?:on|still|now|actually))? (?:the )?"
)
_WHOSE_ROLE = re.compile(
    rf" (?:[a-z]+ )?({'|'.join(sorted(SINGLE_ROLES))}|child|parent|sibling) (?:is|was) (?:called |named )?"
)
_WORDS = re.compile(
    r"(?:(?:a|an|the|my|his|her|their|our) )?((?:[\w'’&-]+ ){0,3}?[\w'’&-]+?)"
    r"(?: too| though| a lot| so much| very much| as well| the most| in general)?"
    r"(?=[.;:!\n)]|$|, [A-Z]|,? (?:but|because|so|which|named|called|since|over|when|while|with|every|on"
    r"|at|last|this|next"
    r"|today|tomorrow|tonight|yesterday|soon|again|coming|these days)\b"
    r"|,? and (?:I|my|he|she|it|we|they|his|her|(?:also |now )?[a-z]+s (?:at|in|for|to|an?)\b)\b)"
)
_DOING = re.compile(r"([a-z]+(?: [\w'’&-]+){0,7}?)(?=[.;:!,\n)]|$| (?:but|because|so|since)\b| and I\b)")
_TRADE = re.compile(
    rf"((?:[a-z-]+ ){{0,3}}(?:{'|'.join(sorted(TRADES))}))\b(?! of\b)(?: (?:at|for) (?:the )?)?"
)
_WORD = re.compile(r"\w+")
_LANGUAGES = re.compile(r"(?:(?:,|,? and) [A-Z][a-z]+){1,6}")
_NUMBERS = "one two three four five six seven eight nine ten".split()
_COUNTED = re.compile(rf"(?:an? (?=[a-z])|(?=(?:{'|'.join(_NUMBERS)}|\d{{1,2}}) [a-z]))")
_NUMBER = re.compile(r"(\d{1,3})(?: years old| today| now)?(?=[.,;!\n]|$| (?:and|but) )")
_AND = re.compile(
    r",? and(?= (?:also |now |currently )?[a-z])(?! (?:i|my|he|she|it|we|they|the|a|an|his|her)\b)"
)
_UNREAL = re.compile(
    r"\b(?:if|unless|whether|would|could|might|(?-i:may)|maybe|perhaps|wish|hope|imagine|suppose|pretend"
    r"|probably|not"
    r"|never|no longer|nobody|none|used to|dream(?:ed|t)?)\b|n['’]t\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?\n](?=\s|$|[\"”')])|\n")
_CLAUSE_START = re.compile(
    r"(?:^|[.!?;:\n,\"“(–—-]\s*|\b(?:and|but|that|because|so|since|now|yes|yeah|well|today|currently)\s+"
    rf"|(?:\b(?:[Mm]y|[Oo]ur)|\w['’]s) (?:[a-z]+ )?(?:{_KIN}),? )$"
)
_MINE = frozenset(("my", "My"))
_POSSESSIVE = ("'s ", "’s ")
_VAGUE = words("thing things part one bit way time memory moment")
_BEFORE_VERB = frozenset(" '’")
_EMPTY_NOUNS = words("""
one part some kind sort type lot most because out all many none also considered located only known made
largest smallest biggest oldest north south east west instead
""")
_EMPTY_WORDS = words("""
it that this them him her you me us these those to how when what being lot lots bit few couple ton number all
some any every everything something nothing of if idea sound suggestion question feeling time chance way mr
mrs dr following also so such no one made
""")
_EMPTY_FIRST = words("for in at with on by from as is are was not")
_EMPTY_DOINGS = words("bed sleep work school church be do see say have the a an my your check this that it")
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
        if text[name.start - 2 : name.start] == ", " and name.start - 2 in ends:
            continue  # the second part of "Albert V, Duke of Bavaria" opens no clause
        made = [claim for claim in _claims(text, name, starts, me) if claim.subject != claim.object]
        if made and is_stated(text, name):
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
    sentence = text[begin + (ends[-1] if ends else 0) : stop.end() if stop else subject.end + 300]
    return "?" not in sentence and not _UNREAL.search(sentence)


def _claims(text: str, subject: Name, starts: dict[int, Name], me: str) -> Iterator[Triple]:
    at = subject.end
    own = at if text[subject.start : at] in _MINE else at + 2 if text.startswith(_POSSESSIVE, at) else 0
    if own:
        yield from _own(text, own, subject.text, starts)
        return
    for number in range(_MOST_CLAIMS):
        verb = verb_at(text, at)
        if verb is None:
            if number == 0:
                yield from _being(text, subject, starts, me)
            return
        target = _target(text, verb, subject, starts)
        if target is None:
            if number == 0:
                yield from _being(text, subject, starts, me)
            return
        value, at = target
        yield Triple(subject.text, verb.predicate, value)
        if verb.wants == verbs.LANGUAGE:
            also = _LANGUAGES.match(text, at)
            for word in _WORD.findall(also.group()) if also else ():
                if word.lower() in LANGUAGES:
                    yield Triple(subject.text, verb.predicate, word)
        if verb.wants == verbs.TRADE and text[at - 1] == " ":  # a nurse at …
            employer = _name_at(text, at, starts)
            if employer is None:
                return
            yield Triple(subject.text, "works_at", employer.text)
            at = employer.end
        joint = _AND.match(text, at)
        if joint is None:
            return
        at = joint.end()


def _target(text: str, verb: Verb, subject: Name, starts: dict[int, Name]) -> tuple[str, int] | None:
    """What stands behind the verb, if it is what the verb wants, and where it ends."""
    at, wants = verb.end, verb.wants
    if wants in (verbs.NAME, verbs.PLACE, verbs.WORDS):
        name = _name_at(text, at, starts)
        if name is not None:
            return None if wants == verbs.PLACE and name.kind == "person" else (name.text, name.end)
        return _words_at(text, at) if wants == verbs.WORDS and _may_have_words(subject, verb) else None
    if wants == verbs.LANGUAGE:
        word = _WORD.match(text, at)
        return (word.group(), word.end()) if word and word.group().lower() in LANGUAGES else None
    if subject.kind != "person":
        return None
    if wants == verbs.TRADE:
        trade = _TRADE.match(text, at)
        return (trade[1], trade.end()) if trade else None
    if wants == verbs.COUNTED:
        counted = _COUNTED.match(text, at)
        return _words_at(text, counted.end()) if counted else None
    if wants == verbs.NUMBER:
        number = _NUMBER.match(text, at)
        return (number[1], number.end()) if number else None
    doing = _DOING.match(text, at)
    return (doing[1], doing.end()) if doing and doing[1].split(" ")[0] not in _EMPTY_DOINGS else None


def _may_have_words(subject: Name, verb: Verb) -> bool:
    return subject.kind == "person" or verb.predicate in verbs.VALUE_CLASSES


def _own(text: str, at: int, owner: str, starts: dict[int, Name]) -> Iterator[Triple]:
    """My sister Carol; Alice's boss is called Bob; my name is Alice; my favourite colour is green."""
    kin = _OWN_KIN.match(text, at) or _WHOSE_ROLE.match(text, at)
    if kin:
        name = starts.get(kin.end())
        if name is not None and (name.kind in ("person", "thing") or kin.re is _WHOSE_ROLE):
            yield Triple(name.text, f"{kin[1]}_of", owner)
        return
    named = _OWN_NAME.match(text, at)
    if named:
        name = _name_at(text, named.end(), starts)
        if name is not None:
            yield Triple(owner, "name", name.text)
        return
    valued = _OWN_VALUE.match(text, at)
    if valued and valued[1] not in _VAGUE:
        value = _value_at(text, valued.end(), starts)
        if value:
            what = valued[1] or valued[2]
            yield Triple(owner, f"{'favourite_' if valued[1] else ''}{what.replace(' ', '_')}", value)


def _being(text: str, subject: Name, starts: dict[int, Name], me: str) -> Iterator[Triple]:
    """Lisbon is the capital of Portugal; Carol is my sister; Juventus is my favourite team."""
    role = _BEING.match(text, subject.end)
    if role:
        name = _name_at(text, role.end(), starts)
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


def _value_at(text: str, start: int, starts: dict[int, Name]) -> str | None:
    name = _name_at(text, start, starts)
    if name is not None:
        return name.text
    plain = _words_at(text, start)
    return plain[0] if plain else None


def _name_at(text: str, start: int, starts: dict[int, Name]) -> Name | None:
    """The name that begins at `start`, unless it goes on as "Bob's" or "Porto-based"."""
    name = starts.get(start)
    if name is None and text[start : start + 1] in ('"', "“", "'", "‘"):
        name = starts.get(start + 1)
    if name is None or (text[name.end : name.end + 1] in ("'", "’", "-") and name.kind != "title"):
        return None
    return name


def _words_at(text: str, start: int) -> tuple[str, int] | None:
    """A few plain words up to the end of the clause."""
    found = _WORDS.match(text, start)
    if found is None or len(found[1]) > 40:
        return None
    plain = found[1].lower().split()
    if plain[0] in _EMPTY_FIRST or not _EMPTY_WORDS.isdisjoint(plain):
        return None
    return found[1], found.end()

"""What people are and have to each other: "my sister Carol", "Ana and Ben are married", "my name is Bob"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from remanence.language.rules.claim_phrases import NamesByStart, date_at, name_at, plain_words_at
from remanence.language.rules.lexicon import word_set
from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.people_words import (
    ILLNESSES,
    NATIONALITY_ADJECTIVES,
    PLURAL_RELATIONSHIP_NOUNS,
    RELATIONSHIP_NOUNS,
)
from remanence.language.rules.predicate_rules import SINGLE_ROLES
from remanence.language.rules.subjects import RELATIONSHIP_PATTERN
from remanence.schema import Triple

COPULA_PATTERN = re.compile(r"(?: (?:is|was|am|became)|['’][ms]) ")
"""That somebody is something."""

HAVE_PREFIXES = (" have ", " has ", " suffer", " named ", "'ve ", "’ve ")
"""That somebody has or named something."""


def possessive_claims(text: str, at: int, owner: str, starts: NamesByStart) -> Iterator[Triple]:
    """My sister Carol; Alice's boss is called Bob; my name is Alice; my favourite colour is green."""
    near = _TWO_WORDS.match(text, at)
    somebody = near is not None and (near[1] in _SOMEBODY or near[2] in _SOMEBODY)
    kin = (_OWN_KIN.match(text, at) or _WHOSE_ROLE.match(text, at)) if somebody else None
    if kin:
        name = starts.get(kin.end())
        if name is not None and (name.kind in ("person", "thing") or kin.re is _WHOSE_ROLE):
            yield Triple(name.text, _role(kin[1]), owner)
        return
    kins = _OWN_KINS.match(text, at) if somebody else None
    if kins:
        names = _listed(text, kins.end(), starts)
        if len(names) > 1:
            yield from (Triple(called, _role(PLURAL_RELATIONSHIP_NOUNS[kins[1]]), owner) for called in names)
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


def copula_claims(text: str, subject: NameSpan, starts: NamesByStart, speaker: str) -> Iterator[Triple]:
    """Lisbon is the capital of Portugal; Carol is my sister; Juventus is my favourite team."""
    role = _ROLE.match(text, subject.end)
    if role:
        name = starts.get(role.end())
        if name is not None and not _OF_HIS_OWN.match(text, name.end):
            name = name_at(text, role.end(), starts)
        noun = role[1].rpartition(" ")[2]
        doing = noun.endswith("ing") and noun not in SINGLE_ROLES  # "is thinking of Rome" is no role
        if name is not None and not doing and _EMPTY_NOUNS.isdisjoint(role[1].split()):
            yield Triple(subject.text, _role(role[1].lower()), name.text)
            return
    verb = COPULA_PATTERN.match(text, subject.end)
    if verb is None:
        return
    owner = starts.get(verb.end())
    whose = (_WHOSE.match(text, owner.end) if owner else None) or _MY.match(text, verb.end())
    if whose:
        yield Triple(subject.text, _role(whose[1]), speaker if whose.re is _MY or owner is None else owner.text)
        return
    if owner is not None and owner.kind == "person" and subject.text == speaker and _PRESENTED.match(text, owner.end):
        yield Triple(subject.text, "name", owner.text)  # I'm Mark.
        return
    nation = _NATIONAL.match(text, verb.end()) if subject.kind == "person" else None
    if nation:
        yield Triple(subject.text, "nationality", nation[1])
        return
    mine = _ONE_OF.match(text, verb.end())
    if mine:
        owner = None if mine["my"] else starts.get(mine.end())
        kins = _KINS_OF.match(text, owner.end if owner else mine.end())
        if kins and (mine["my"] or owner):
            yield Triple(subject.text, _role(PLURAL_RELATIONSHIP_NOUNS[kins[1]]), owner.text if owner else speaker)
        return
    fan = _FAN.match(text, subject.end)
    team = starts.get(fan.end()) if fan else None
    if team is not None and text.startswith(" fan", team.end):
        yield Triple(subject.text, "likes", team.text)
        return
    favourite = _MY_FAVOURITE.match(text, verb.end())
    if favourite:
        yield Triple(speaker, f"favourite_{favourite[1].replace(' ', '_')}", subject.text)


def have_claims(text: str, subject: NameSpan, starts: NamesByStart) -> Iterator[Triple]:
    """I have asthma; we have named our dog Rex."""
    illness = _SUFFERS.match(text, subject.end)
    if illness:
        yield Triple(subject.text, "has", illness[1])
    kin = _NAMED_KIN.match(text, subject.end)
    name = name_at(text, kin.end(), starts) if kin else None
    if kin is not None and name is not None:
        yield Triple(name.text, _role(kin[1]), subject.text)


def shared_claims(
    text: str, last: NameSpan, others: Sequence[NameSpan], claims: Sequence[Triple], speaker: str
) -> list[Triple]:
    """What the claims made of the last one are of the others too; Ana and Ben are married; they are cousins;
    they are my parents."""
    pair = _PAIRED.match(text, last.end)
    if pair and len(others) == 1:
        tie = _role(PLURAL_RELATIONSHIP_NOUNS[pair["kin"]]) if pair["kin"] else _TIES[pair["tie"] or pair["over"]]
        return [Triple(others[0].text, tie, last.text)]
    ours = _OURS.match(text, last.end)
    if ours:
        whose = speaker if ours["my"] else ours["whose"]
        return [Triple(name.text, _role(PLURAL_RELATIONSHIP_NOUNS[ours["kin"]]), whose) for name in (*others, last)]
    own = [claim for claim in claims if claim.subject == last.text]
    return [replace(claim, subject=other.text) for other in others for claim in own]


def _value_at(text: str, start: int, starts: NamesByStart) -> str | None:
    name = name_at(text, start, starts)
    if name is not None:
        return name.text
    plain = date_at(text, start) or plain_words_at(text, start)
    return plain[0] if plain else None


def _listed(text: str, at: int, starts: NamesByStart) -> list[str]:
    """Anna, Ben and Carol, whatever they do then."""
    found: list[str] = []
    while (name := starts.get(at)) is not None and name.kind in ("person", "thing"):
        found.append(name.text)
        joint = _LISTED.match(text, name.end)
        if joint is None:
            break
        at = joint.end()
    return found


def _role(kin: str) -> str:
    """What somebody is to another, as a predicate: mother-in-law, `mother_in_law_of`."""
    return f"{kin.replace(' ', '_').replace('-', '_')}_of"


_ROLE = re.compile(
    r"(?: (?:is|am|was|became)|['’][ms])(?: now)?(?: (?:the|a|an))?"
    r" ((?:[a-z][a-z-]+ )?(?:[a-z][a-z-]+|C[A-Z]O)) of (?:the )?"
)
_PRESENTED = re.compile(r"[.!,]|$| from\b| and (?:I|the user)\b")
_KINS = "|".join(sorted(PLURAL_RELATIONSHIP_NOUNS))
_MY = re.compile(rf"(?:my|our) (?:[a-z]+ )?({RELATIONSHIP_PATTERN})\b")
_WHOSE = re.compile(rf"['’]s (?:[a-z]+ )?({RELATIONSHIP_PATTERN})\b")
_ONE_OF = re.compile(r"one of (?P<my>my|our)?")
_KINS_OF = re.compile(rf"(?:['’]s)? (?:[a-z]+ )?({_KINS})\b")
_OF_HIS_OWN = re.compile(r"['’]s?(?=[.;:!,\n)]|$| (?:and|but|from)\b)")
_ENDS_HERE = r"(?=[.;:!,\n)]|$| (?:and|but|so|too|as well|since|for|now|by)\b)"
_NATION = "|".join(sorted((nation.title() for nation in NATIONALITY_ADJECTIVES), key=len, reverse=True))
_NATIONAL = re.compile(rf"((?:half[- ])?(?:{_NATION})(?:-(?:{_NATION}))?){_ENDS_HERE}")
_SUFFERS = re.compile(
    r" (?:have|has|suffers? from) (?:severe |mild |bad |chronic )?"
    rf"((?i:{'|'.join(sorted(ILLNESSES))})){_ENDS_HERE}"
)
_SOMEBODY = RELATIONSHIP_NOUNS | frozenset(PLURAL_RELATIONSHIP_NOUNS) | SINGLE_ROLES | word_set("child parent sibling")
_TWO_WORDS = re.compile(r" ([^\W\d_-]+(?:-[^\W\d_-]+)*)(?: ([^\W\d_-]+(?:-[^\W\d_-]+)*))?")
_OWN_KINS = re.compile(rf" (?:[a-z]+ )?({_KINS})(?:(?: are|['’]re)(?: called| named)?|['’] names are|,|:)? (?=[A-Z])")
_TIES = {
    "married": "married_to",
    "engaged": "engaged_to",
    "dating": "dating",
    **dict.fromkeys(("broke up", "split up", "got divorced"), "broke_up_with"),
}
_PAIRED = re.compile(
    r"(?: (?:just |recently |finally )?(?P<over>broke up|split up|got divorced)"
    r"|(?: (?:are|were|got|have been|just got|became)|['’]re)"
    r"(?: (?:now|also|still|happily|recently|finally|both|just|best|good|close|old|great|childhood))*"
    rf" (?:(?P<tie>married|engaged|dating)(?! to\b| [A-Z])|(?P<kin>{_KINS})))"
    r"(?=[.;:!,\n)]|$| (?:and|but|since|for|in|on|last|from|now)\b)"
)
_OURS = re.compile(
    rf"(?: (?:are|were)|['’]re) (?:(?P<my>my|our)|(?P<whose>[A-Z]\w+)['’]s) (?:[a-z]+ )?(?P<kin>{_KINS})\b"
)
_NAMED_KIN = re.compile(
    rf"(?: (?:have|has)|['’]ve)? named (?:my|our|his|her|their) (?:[a-z]+ )?({RELATIONSHIP_PATTERN}) "
)
_FAN = re.compile(r"(?: (?:am|is|are)|['’][ms]) an? (?:[a-z]+ )*?(?=[A-Z])")
_LISTED = re.compile(r",? and |, ")
_MY_FAVOURITE = re.compile(r"my favou?rite ([a-z]+(?: [a-z]+)?)(?=[.,;!\n]|$)")
_OWN_KIN = re.compile(
    rf" (?:[a-z]+ )?({RELATIONSHIP_PATTERN})(?:(?: is|['’]s)(?: called| named)|['’]s name is| is|,)? "
)
_OWN_NAME = re.compile(r" name(?: is|['’]s) ")
_OWN_VALUE = re.compile(
    r" (?:favou?rite ([a-z]+(?: [a-z]+)?)|(birthday|phone number|email|address|native language"
    r"|mother tongue|home ?town|nationality|pronouns|job title))"
    r"(?: is| are|['’]s)(?: (?:on|still|now|actually))? (?:the )?"
)
_WHOSE_ROLE = re.compile(
    rf" (?:[a-z]+ )?({'|'.join(sorted(SINGLE_ROLES))}|child|parent|sibling) (?:is|was) (?:called |named )?"
)
_VAGUE = word_set("thing things part one bit way time memory moment")
_EMPTY_NOUNS = word_set("""
one part some kind sort type lot most because out all many none also considered located only known made
largest smallest biggest oldest north south east west instead
""")
APPOSITION_PATTERN = re.compile(rf"(?:['’]s)? (?:[a-z]+ )?(?:{RELATIONSHIP_PATTERN}|(?:{_KINS}),?) (?=[A-Z])")
"""A name behind what its bearer is to somebody: that holds whatever else the sentence says."""

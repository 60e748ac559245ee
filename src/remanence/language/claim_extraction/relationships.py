"""Claims about relationships and personal data: "my sister Carol", "Ana and Ben are married", "my name is Bob"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from remanence.language.claim_extraction.claim_phrases import NamesByStart, date_at, name_at, plain_words_at
from remanence.language.claim_extraction.predicate_rules import SINGLE_ROLES
from remanence.language.lexicon import word_lists
from remanence.language.lexicon.word_lists import compile_pattern, load_pattern, load_words, word_set
from remanence.language.named_entities.name_spans import NameSpan
from remanence.schema import Triple

COPULA_PATTERN = re.compile(r"(?: (?:is|was|am|became)|['’][ms]) ")
"""A form of "be" or "become"."""

HAVE_PREFIXES = (" have ", " has ", " suffer", " named ", "'ve ", "’ve ")
"""The beginnings of "has asthma" and "named our dog Rex"."""


def possessive_claims(text: str, at: int, owner: str, names: NamesByStart) -> Iterator[Triple]:
    """My sister Carol; Alice's boss is called Bob; my name is Alice; my favourite colour is green."""
    words = _TWO_WORDS.match(text, at)
    if words is not None and (words[1] in _PERSON_NOUNS or words[2] in _PERSON_NOUNS):
        noun = _OWN_RELATIVE.match(text, at) or _OWN_ROLE.match(text, at)
        if noun:
            name = names.get(noun.end())
            if name is not None and (name.kind in ("person", "thing") or noun.re is _OWN_ROLE):
                yield Triple(name.text, _role_predicate(noun[1]), owner)
            return
        plural = _OWN_RELATIVES.match(text, at)
        if plural:
            people = _list_of_people(text, plural.end(), names)
            if len(people) > 1:
                predicate = _plural_predicate(plural[1])
                yield from (Triple(person, predicate, owner) for person in people)
            return
    own_name = _OWN_NAME.match(text, at)
    if own_name:
        name = name_at(text, own_name.end(), names)
        if name is not None:
            yield Triple(owner, "name", name.text)
        return
    own_value = _OWN_VALUE.match(text, at)
    if own_value and own_value[1] not in _VAGUE_FAVOURITES:
        value = _value_at(text, own_value.end(), names)
        if value:
            noun_text = own_value[1] or own_value[2]
            if noun_text == "address":
                yield from _home_at(text, own_value.end(), owner, names)
            yield Triple(owner, f"{'favourite_' if own_value[1] else ''}{noun_text.replace(' ', '_')}", value)


def _home_at(text: str, at: int, owner: str, names: NamesByStart) -> Iterator[Triple]:
    """The claim of an address: the person lives at its last name."""
    stop = at + _MAX_ADDRESS
    end = _END_OF_ADDRESS.search(text, at, stop)
    last = [names[start] for start in range(at, end.start() if end else stop) if start in names]
    if last and "," in text[at : last[-1].start]:
        yield Triple(owner, "lives_in", last[-1].text)


def copula_claims(text: str, subject: NameSpan, names: NamesByStart, speaker: str) -> Iterator[Triple]:
    """Lisbon is the capital of Portugal; Carol is my sister; Juventus is my favourite team."""
    role = _ROLE.match(text, subject.end)
    if role:
        name = names.get(role.end())
        if name is not None and not _POSSESSIVE_AT_END.match(text, name.end):
            name = name_at(text, role.end(), names)
        noun = role[1].rpartition(" ")[2]
        is_activity = noun.endswith("ing") and noun not in SINGLE_ROLES  # "is thinking of Rome" is not a role
        if name is not None and not is_activity and _EMPTY_ROLE_NOUNS.isdisjoint(role[1].split()):
            yield Triple(subject.text, _role_predicate(role[1].lower()), name.text)
            return
    verb = COPULA_PATTERN.match(text, subject.end)
    if verb is None:
        return
    owner = names.get(verb.end())
    relative = (_RELATIVE_OF_NAME.match(text, owner.end) if owner else None) or _MY_RELATIVE.match(text, verb.end())
    if relative:
        holder = speaker if relative.re is _MY_RELATIVE or owner is None else owner.text
        yield Triple(subject.text, _role_predicate(relative[1]), holder)
        return
    if owner is not None and owner.kind == "person" and subject.text == speaker and _AFTER_NAME.match(text, owner.end):
        yield Triple(subject.text, "name", owner.text)  # I'm Mark.
        return
    nationality = _NATIONALITY.match(text, verb.end()) if subject.kind == "person" else None
    if nationality:
        yield Triple(subject.text, "nationality", nationality[1])
        return
    status = _STATUS.match(text, subject.end) if subject.kind == "person" else None
    if status:
        predicate = "relationship_status" if _RELATIONSHIP_STATUS.fullmatch(status["status"]) else "diet"
        yield Triple(subject.text, predicate, status["status"])
        return
    one_of = _ONE_OF.match(text, verb.end())
    if one_of:
        owner = None if one_of["my"] else names.get(one_of.end())
        plural = _PLURAL_RELATIVES.match(text, owner.end if owner else one_of.end())
        if plural and (one_of["my"] or owner):
            yield Triple(subject.text, _plural_predicate(plural[1]), owner.text if owner else speaker)
        return
    fan = _FAN.match(text, subject.end)
    team = names.get(fan.end()) if fan else None
    if team is not None and text.startswith(" fan", team.end):
        yield Triple(subject.text, "likes", team.text)
        return
    favourite = _MY_FAVOURITE.match(text, verb.end())
    if favourite:
        yield Triple(speaker, f"favourite_{favourite[1].replace(' ', '_')}", subject.text)


def have_claims(text: str, subject: NameSpan, names: NamesByStart) -> Iterator[Triple]:
    """I have asthma; we have named our dog Rex."""
    illness = _HAS_ILLNESS.match(text, subject.end)
    if illness:
        yield Triple(subject.text, "has", illness[1])
    noun = _NAMED_RELATIVE.match(text, subject.end)
    name = name_at(text, noun.end(), names) if noun else None
    if noun is not None and name is not None:
        yield Triple(name.text, _role_predicate(noun[1]), subject.text)


def shared_claims(
    text: str, last: NameSpan, others: Sequence[NameSpan], claims: Sequence[Triple], speaker: str
) -> list[Triple]:
    """The claims about the last of several subjects, made of the others too.

    Where they are married, cousins or "my parents", the claims are about their relationship.
    """
    couple = _COUPLE.match(text, last.end)
    if couple and len(others) == 1:
        status = couple["status"] or couple["ended"]
        predicate = _COUPLE_PREDICATES[status] if status else _plural_predicate(couple["noun"])
        return [Triple(others[0].text, predicate, last.text)]
    owned = _OWNED_RELATIVES.match(text, last.end)
    if owned:
        owner = speaker if owned["my"] else owned["owner"]
        return [Triple(name.text, _plural_predicate(owned["noun"]), owner) for name in (*others, last)]
    own = [claim for claim in claims if claim.subject == last.text]
    return [replace(claim, subject=other.text) for other in others for claim in own]


def _value_at(text: str, start: int, names: NamesByStart) -> str | None:
    name = name_at(text, start, names)
    if name is not None:
        return name.text
    phrase = date_at(text, start) or plain_words_at(text, start)
    return phrase.values[0] if phrase else None


def _list_of_people(text: str, at: int, names: NamesByStart) -> list[str]:
    """Anna, Ben and Carol, whatever follows."""
    people: list[str] = []
    while (name := names.get(at)) is not None and name.kind in ("person", "thing"):
        people.append(name.text)
        conjunction = _LIST_CONJUNCTION.match(text, name.end)
        if conjunction is None:
            break
        at = conjunction.end()
    return people


def _role_predicate(noun: str) -> str:
    """A role or a relationship as a predicate: `mother_in_law_of` for mother-in-law."""
    return f"{noun.replace(' ', '_').replace('-', '_')}_of"


def _plural_predicate(noun: str) -> str:
    return _role_predicate(word_lists.PLURAL_RELATIONSHIP_NOUNS[noun])


_ROLE = compile_pattern("role_of")
_AFTER_NAME = re.compile(r"[.!,]|$| from\b| and (?:I|the user)\b")
_MY_RELATIVE = re.compile(rf"(?:my|our) (?:[a-z]+ )?({load_pattern('relationship')})\b")
_RELATIVE_OF_NAME = re.compile(rf"['’]s (?:[a-z]+ )?({load_pattern('relationship')})\b")
_STATUS = compile_pattern("status_of")
_RELATIONSHIP_STATUS = compile_pattern("relationship_statuses")
_ONE_OF = re.compile(r"one of (?P<my>my|our)?")
_PLURAL_RELATIVES = re.compile(rf"(?:['’]s)? (?:[a-z]+ )?({load_pattern('relationships')})\b")
_POSSESSIVE_AT_END = re.compile(r"['’]s?(?=[.;:!,\n)]|$| (?:and|but|from)\b)")
_ADJECTIVE = "|".join(sorted((word.title() for word in word_lists.NATIONALITY_ADJECTIVES), key=len, reverse=True))
_NATIONALITY = re.compile(rf"((?:half[- ])?(?:{_ADJECTIVE})(?:-(?:{_ADJECTIVE}))?){load_pattern('value_end')}")
_HAS_ILLNESS = compile_pattern("has_illness")
_PERSON_NOUNS = frozenset(load_pattern("any_relationship").split("|")) | SINGLE_ROLES | word_set("child parent sibling")
_TWO_WORDS = re.compile(r" ([^\W\d_-]+(?:-[^\W\d_-]+)*)(?: ([^\W\d_-]+(?:-[^\W\d_-]+)*))?")
_OWN_RELATIVES = compile_pattern("own_relatives")
_COUPLE_PREDICATES = {"married": "married_to", "engaged": "engaged_to", "dating": "dating"} | dict.fromkeys(
    ("broke up", "split up", "got divorced"), "broke_up_with"
)
_COUPLE = compile_pattern("couple")
_OWNED_RELATIVES = compile_pattern("relatives_of_owner")
_NAMED_RELATIVE = compile_pattern("named_relative")
_FAN = re.compile(r"(?: (?:am|is|are)|['’][ms]) an? (?:[a-z]+ ){0,8}?(?=[A-Z])")
_LIST_CONJUNCTION = re.compile(r",? and |, ")
_MY_FAVOURITE = re.compile(r"my favou?rite ([a-z]+(?: [a-z]+)?)(?=[.,;!\n]|$)")
_OWN_RELATIVE = compile_pattern("own_relative")
_MAX_ADDRESS = 200
_END_OF_ADDRESS = re.compile(r"[.;!?\n]| (?:now|from|since|as of)\b")
_OWN_NAME = re.compile(r" name(?: is|['’]s) ")
_OWN_VALUE = compile_pattern("own_value")
_OWN_ROLE = compile_pattern("own_role")
_VAGUE_FAVOURITES = word_set("thing things part one bit way time memory moment")
_EMPTY_ROLE_NOUNS = load_words("empty_role_nouns")
APPOSITION_PATTERN = compile_pattern("apposition")
"""A name right after a relationship noun: that claim holds whatever else the sentence says."""

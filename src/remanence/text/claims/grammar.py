"""The claims of plain sentences, by one table: "Alice lives in Porto." claims (Alice, lives_in, Porto).

A claim can end an earlier one, so only what is certain makes one. The sentence is plain: a statement, without negation,
condition or hearsay. It begins with its subject: the speaker, a name, or a relative of one of them. A phrase of
claim_table.txt follows, and then the object. Other sentences are found by their words and their meaning, and make no
claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from remanence.schema import Triple
from remanence.text.claims.predicates import SINGLE_ROLES, Phrase, claim_key, phrase_at
from remanence.text.lexicon.word_lists import (
    CALENDAR_WORDS,
    FUNCTION_WORDS,
    LANGUAGES,
    load_pattern,
    load_words,
    word_set,
)
from remanence.text.named_entities.name_spans import NameSpan
from remanence.text.text import SENTENCE_END

Names = Mapping[int, NameSpan]


class _Span(NamedTuple):
    """The subject of a sentence, or the object of a phrase, and where it ends."""

    text: str
    end: int
    claims: tuple[Triple, ...] = ()
    """What its mention alone claims: "my sister Carol"."""


def find_claims(text: str, names: Sequence[NameSpan], speaker: str) -> tuple[Triple, ...]:
    """The claims that the sentences of a text make, in order, each once.

    Args:
        names: The names in it, with the places at which the speaker is meant ("I", "my"), in order.

    >>> from remanence.text.named_entities.name_rules import find_names
    >>> text = "Alice lives in Porto and works at IBM. The capital of Portugal is Lisbon. Is Bob at CERN?"
    >>> for claim in find_claims(text, find_names(text), "me"):
    ...     print(claim)
    Alice —lives_in→ Porto
    Alice —works_at→ IBM
    Lisbon —capital_of→ Portugal
    """
    claims: dict[Triple, None] = {}
    by_start = {name.start: name for name in names}
    for start, end in _sentences(text):
        # A fast test first: most sentences begin with nothing that could be a subject.
        if start not in by_start and not _CAPITAL.match(text, start) and " of " not in text[start : start + 200]:
            continue
        if _NOT_PLAIN.search(_CANNOT_STAND.sub("hate", text[start:end])):
            continue
        found = list(_claims_of_sentence(text, start, by_start, speaker))
        if _ADDS.search(text, start, end):  # "also works at": neither claim ends the other
            found = [claim for claim in found if claim_key(claim) is None]
        claims.update(dict.fromkeys(claim for claim in found if claim.subject != claim.object))
    if not claims and len(text) <= 200 and not _SEVERAL_SENTENCES.search(text):
        claims.update(dict.fromkeys(_statement_of_encyclopaedia(text.strip())))
    return tuple(claims)


_OPENER = re.compile(
    r"[\s\"“'(*>-]*(?:[A-Za-z]+, |(?:Now|Actually|Currently|Today|Also|And|But|So|Yes|Well|Hi|Oh),? )?"
)
_CAPITAL = re.compile(r"[^\W\d_a-z]")
_NOT_PLAIN = re.compile(
    rf"\b(?:{load_pattern('claimless_words')}|should|(?-i:will)|not|never|no longer|nor|neither|almost|nearly|until|"
    r"sa(?:id|ys?)|tells?|told|thinks?|thought|believes?d?|asks?|asked|heard|claims?|claimed|anymore|any more)\b|"
    r"n['’]t\b|\?",
    re.IGNORECASE,
)
_CANNOT_STAND = re.compile(r"\bcan['’]t stand\b", re.IGNORECASE)
_ADDS = re.compile(r"\b(?:also|too|as well|second|another|part[- ]time|sometimes|in addition|besides)\b", re.IGNORECASE)
_SENTENCE_OR_PART = re.compile(rf"{SENTENCE_END.pattern}|; ")


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence or part before a semicolon begins, after words such as "Now", and ends with its mark."""
    start = 0
    for match in chain(_SENTENCE_OR_PART.finditer(text), (None,)):
        end = match.end() if match else len(text)
        opener = _OPENER.match(text, start, end)
        begin = opener.end() if opener else start
        if begin < end <= begin + 300:
            yield begin, end
        start = end


def _claims_of_sentence(text: str, start: int, names: Names, speaker: str) -> Iterator[Triple]:
    subject = _subject_at(text, start, names, speaker)
    if subject is None:
        end = _SENTENCE_OR_PART.search(text, start)
        yield from _definition(text[start : end.start() if end else len(text)])
        return
    yield from subject.claims
    at = subject.end
    for _ in range(3):  # "Alice lives in Porto and works at IBM"
        about = _relative_or_role(text, at, subject.text, names, speaker)
        if about is not None:
            yield about
            return
        match = phrase_at(text, at)
        if match is None:
            return
        phrase, at = match
        while phrase is not None:
            found = _object_at(text, at, phrase, names)
            if found is None:
                return
            is_day = _DATE.fullmatch(found.text)
            yield Triple(
                subject.text, _DATED.get(phrase.predicate, phrase.predicate) if is_day else phrase.predicate, found.text
            )
            at, joint = found.end, None
            if phrase.predicate in _GOES_ON:
                pattern, phrase = _GOES_ON[phrase.predicate]
                joint = pattern.match(text, at)
            if joint is None:
                break
            at = joint.end()
        joined = _JOINED.match(text, at)
        if joined is None:
            return
        at = joined.end() - 1
        if at + 1 in names:  # "Ana lives in Porto and Ben works at IBM"
            yield from _claims_of_sentence(text, at + 1, names, speaker)
            return


_JOINED = re.compile(r",? (?:and|but)(?: (?:she|he|they))? ")
_GOES_ON = {
    "moved_from": (re.compile(r" (?:back )?to (?:the )?"), Phrase("moved_to", "certain_place")),
    "works_as": (re.compile(r" (?:at|for) (?:the )?"), Phrase("works_at", "name")),
    "left": (re.compile(r" (?:to join|for) (?:the )?"), Phrase("joined", "firm")),
}
"""With what else an object may go on: "moved from Porto to Lisbon", "is a nurse at Mercy Hospital"."""

# Subjects

_MY = frozenset(("my", "My", "our", "Our"))
_KIN = f"{load_pattern('any_relationship')}|child|parent"
_OWN_KIN = re.compile(rf" (?:[a-z]+ )?(?P<noun>{_KIN})(?: (?:is|was) (?:called |named )?|,? )(?=[\"“]?\w)")
_ATTRIBUTE = re.compile(
    r" (?:new |current |home )?(?P<noun>favou?rite [a-z]+(?: [a-z]+)?|name|birthday|phone number"
    r"|email|address|native language|home ?town|nationality|pronouns|job title)(?: is| are|['’]s)(?: now| on)? "
)


def _subject_at(text: str, start: int, names: Names, speaker: str) -> _Span | None:
    """The subject that a sentence begins with; None if it begins with something else."""
    name = names.get(start)
    if name is None:
        return None
    is_my = text[start : name.end] in _MY
    if not is_my and not text.startswith(("'s ", "’s "), name.end):
        return _Span(name.text, name.end)
    end = name.end + (0 if is_my else 2)
    if relative := _OWN_KIN.match(text, end):
        person = names.get(relative.end())
        if person is None or person.kind not in ("person", "thing") or person.text == speaker:
            return None
        return _Span(person.text, person.end, (Triple(person.text, _role(relative["noun"]), name.text),))
    if attribute := _ATTRIBUTE.match(text, end):
        predicate = _snake_case(attribute["noun"]).replace("favorite", "favourite")
        value = _object_at(
            text, attribute.end(), Phrase(predicate, "date" if predicate == "birthday" else "words"), names
        )
        return value and _Span(name.text, value.end, (Triple(name.text, predicate, value.text),))
    return None


# Relatives and roles after "is": "Carol is my sister", "Bob is Ana's boss", "Tim Cook is the CEO of Apple".

_IS = re.compile(r"(?: (?:is|was|am|are|became)|['’](?:s|m|re)) (?:now )?")
_RELATIVE_OF = re.compile(rf"(?:['’]s)? (?:[a-z]+ )?(?P<noun>{_KIN})(?=[.,;:!\n)]|$| (?:and|who|from|in|at)\b)")
_ROLE_OF = re.compile(r"(?:the|a|an) (?P<role>(?:[a-z][a-z-]+ ){0,2}(?:[a-z][a-z-]+|C[A-Z]O)) of (?:the )?")
_EMPTY_ROLES = load_words("empty_role_nouns")


def _relative_or_role(text: str, at: int, subject: str, names: Names, speaker: str) -> Triple | None:
    verb = _IS.match(text, at)
    if verb is None:
        return None
    if owner := names.get(verb.end()):
        is_my = text[owner.start : owner.end] in _MY
        relative = _RELATIVE_OF.match(text, owner.end)
        if relative is not None and (is_my or text.startswith(("'s", "’s"), owner.end)):
            return Triple(subject, _role(relative["noun"]), speaker if is_my else owner.text)
    role = _ROLE_OF.match(text, verb.end())
    holder = names.get(role.end()) if role is not None else None
    if role is None or holder is None or text.startswith(("'s ", "’s "), holder.end):
        return None
    words = role["role"].lower().split()
    if not _EMPTY_ROLES.isdisjoint(words) or (words[-1].endswith("ing") and words[-1] not in SINGLE_ROLES):
        return None
    return Triple(subject, _role(role["role"]), holder.text)


def _role(noun: str) -> str:
    return f"{_snake_case(noun)}_of"


def _snake_case(words: str) -> str:
    return words.lower().replace(" ", "_").replace("-", "_")


# Objects

_WORDS = re.compile(
    r"(?:(?:a|an|the|my|his|her|their|our) )?(?P<words>(?:[\w'’&+/.-]+ ){0,4}?[\w'’&+/-]+?)"
    r"(?=[.;:!,\n)]|$| (?:and|but|because|so|since|when|while|with|on|at|in|for|from|every|than|to|too|a lot|"
    r"very much)\b)"
)
_EMPTY_WORDS = load_words("empty_objects") | FUNCTION_WORDS
_DATE = re.compile(rf"(?:the )?(?P<words>{load_pattern('dates')}|(?:1[5-9]|20)\d\d)(?![\w-])")
_FIXED = {
    "profession": re.compile(rf"(?<![a-z-])(?P<words>(?:[a-z-]+ ){{0,3}}(?:{load_pattern('professions')}))\b(?! of\b)"),
    "number": re.compile(r"(?P<words>\d{1,3})(?: years old)?(?=[.,](?!\d)|[;:!\n)]|$| (?:and|but|now|today)\b)"),
    "date": _DATE,
    "language": re.compile(rf"(?P<words>(?i:{'|'.join(sorted(LANGUAGES))}))\b"),
}
_DATED = {"born_in": "born_on", "died_in": "died_on"}
_NO_PLACE_OR_FIRM = frozenset(("person", "product", "title", "url", "email", "handle", "code"))
_LEFT_FOR_GOOD = re.compile(  # not "left Bosch at 5 pm", "left Bosch and walked home"
    r"[.;:!,\n)]|$| to join\b| for (?:the )?[A-Z]| (?:in|since) (?:(?:19|20)\d\d|(?:early |late )?[A-Z])"
    r"| (?:early |late )?last (?:week|month|year|spring|summer|autumn|fall|winter|[A-Z])"
    r"| (?:after|\w+) (?:\w+ )?(?:years|months)\b"
)


def _object_at(text: str, start: int, phrase: Phrase, names: Names) -> _Span | None:
    """The object that a phrase takes at this place; None if there is none of its type."""
    kind = phrase.object_type
    if kind in _FIXED:
        match = _FIXED[kind].match(text, start)
        return _Span(match["words"], match.end()) if match else None
    name = names.get(start) or (names.get(start + 1) if text[start : start + 1] in "\"'“‘" else None)
    if name is None:
        year = _DATE.match(text, start) if phrase.predicate in _DATED else None
        if year is not None:
            return _Span(year["words"], year.end())
        words = _WORDS.match(text, start) if kind == "words" else None
        if words is None or len(words["words"]) > 40 or not _EMPTY_WORDS.isdisjoint(words["words"].lower().split()):
            return None
        return _Span(words["words"], words.end())
    if text[name.end : name.end + 1] in ("'", "’", "-") and name.kind != "title":
        return None  # "works at Bob's", "Porto-based"
    if text[name.start : name.end] in _MY or not _fits(name, kind):
        return None
    return None if kind == "firm_left" and not _LEFT_FOR_GOOD.match(text, name.end) else _Span(name.text, name.end)


def _fits(name: NameSpan, object_type: str) -> bool:
    if object_type == "certain_place":
        return name.kind == "place"
    if object_type == "place":
        return name.kind not in _NO_PLACE_OR_FIRM and name.kind != "organization"
    if object_type in ("firm", "firm_left"):
        return name.kind not in _NO_PLACE_OR_FIRM and name.kind != "place"
    return object_type != "person" or name.kind in ("person", "thing")


# Statements of an encyclopaedia. In a text of one sentence the subject is all that stands before the phrase and the
# object all that follows, so titles and names of many words stay whole.

_DEFINITION = re.compile(
    r"The (?:name of the )?(?:current |present |new )?"
    r"(?:[a-z]+ (?:that|who|which) (?P<verb>[a-z]+) (?P<product>.+?)"
    r"|(?P<noun>[a-z]+(?: of [a-z]+)?) (?:that|which) (?P<actor>.+?) [a-z]+s"
    r"|[a-z]+ where (?P<person>.+?) was (?P<participle>[a-z]+ed)"
    r"|(?P<role>head of (?:state|government)|(?:[A-Za-z-]+ ){0,3}?[A-Za-z-]+) (?P<joint>of|in|for) (?:the )?"
    r"(?P<holder>.+?))"
    r" (?:is|was) (?:located in )?(?:the (?:city|town|country|state) of )?(?P<value>[^,;:!?]+(?:, [^;:!?]+)?)"
)
_MARK_INSIDE = re.compile(r"[!?;](?= )|[?!]\.?$")
_SEVERAL_SENTENCES = re.compile(r"\. (?<=[a-z]{3}\. )[A-Z]|\n")
_NAME_PARTICLES = frozenset(" ".join(load_words("name_particles")).split()) | word_set(
    "and a an von zu in on for to with from at by as or"
)
_NOT_IN_NOUNS = FUNCTION_WORDS | CALENDAR_WORDS | load_words("not_in_nouns")


def _definition(sentence: str) -> Iterator[Triple]:
    """The capital of Portugal is Lisbon; the company that produced iPhone 4 is Apple."""
    match = _DEFINITION.fullmatch(sentence)
    if match is None:
        return
    value = match["value"]
    if match["role"] is not None:
        role, holder = match["role"].lower(), match["holder"]
        if holder.endswith(" government"):
            role, holder = f"{role} of government", holder.removesuffix(" government")
        if match["joint"] == "for" and role.rpartition(" ")[2] not in SINGLE_ROLES:
            return  # "The reason for Brexit is Farage" names no office
        if _is_name(value) and (_is_name(holder) or (holder[:1].isupper() and _is_noun(holder))):
            yield Triple(value, _role(role), holder)
        return
    if match["verb"] is not None:
        subject, predicate = (
            match["product"],
            f"{match['verb'].replace('wrote', 'written').replace('made', 'produced')}_by",
        )
    elif match["noun"] is not None:
        subject, predicate = match["actor"], _snake_case(match["noun"])
    else:
        subject, predicate = match["person"], f"{match['participle']}_at"
    if _is_name(subject) and (_is_name(value) or _is_noun(value)):
        yield Triple(subject, predicate, value)


def _statement_of_encyclopaedia(text: str) -> Iterator[Triple]:
    """rap rock was created in the country of Jamaica; Born in the U.S.A. was performed by Bruce Springsteen."""
    if not text.endswith(".") or text.startswith(("I ", "I'", "I’")) or _MARK_INSIDE.search(text):
        return
    sentence = text[:-1]
    yield from _definition(sentence)
    for space in re.finditer(r"(?<=\S) (?=(?:is|was|plays|speaks|works|worked|died) )", sentence):
        found = phrase_at(sentence, space.start())
        if found is None:
            continue
        (predicate, object_type), at = found
        subject, value = sentence[: space.start()], sentence[at:]
        may_be = object_type in ("words", "name", "place", "date") and (_is_name(subject) or _is_noun(subject))
        if may_be and (_is_name(value) or (object_type == "words" and _is_noun(value))):
            yield Triple(subject, _DATED.get(predicate, predicate) if _DATE.fullmatch(value) else predicate, value)
        return


def _is_name(phrase: str) -> bool:
    """Whether every word has a capital or a digit, except particles inside: University of Porto."""
    first, *rest = phrase.split(" ")
    if not first or len(rest) >= 12 or (not rest and first.lower() in _NOT_IN_NOUNS):
        return False
    capital = first[:1].isupper() or first[:1].isdigit() or not first[:1].isascii()
    if not (capital or first[1:2].isupper() or first.startswith(('"', "'", "“", "al-"))):  # iPhone, "Heroes"
        return False
    return all(not word.islower() or word in _NAME_PARTICLES for word in rest) and not (rest and rest[-1].islower())


def _is_noun(phrase: str) -> bool:
    """A few ordinary words that form a noun: "starting pitcher", "association football"."""
    words = phrase.lower().split(" ")
    return len(words) <= 5 and _NOT_IN_NOUNS.isdisjoint(words) and all(word[:1].isalnum() for word in words)

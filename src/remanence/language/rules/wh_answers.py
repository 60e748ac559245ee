"""Answers to questions with a question word as statements: "Where do you live?" "Porto" is "I live in Porto"."""

from __future__ import annotations

import re
from collections.abc import Callable

from remanence.language.rules.answer_wording import (
    COUNTED,
    DETERMINER,
    NUMBER_ONLY,
    OWN_SENTENCE,
    PREPOSITION,
    SUBJECT,
    Answer,
    agree,
    base_form,
    past_tense,
    to_first_person,
)
from remanence.language.rules.lexicon import load_pattern


def wh_statement(asked: str, answer: Answer) -> str | None:
    """The statement of an answer to a question with a question word: "" if it settles nothing, None if this is another
    question. Only "how many" and "how often" are answered by "no"."""
    for pattern, build in _WH_FORMS:
        found = pattern.fullmatch(asked)
        if found:
            settles = answer.rest or (answer.is_yes is False and build in (_how_many, _how_often))
            return build(found, answer) if settles else ""
    return None


def _occupation(found: re.Match[str], answer: Answer) -> str:
    subject = to_first_person(found["subject"])
    subject = "I" if subject == "my" else subject
    if OWN_SENTENCE.match(answer.rest):
        return answer.rest
    if PREPOSITION.match(answer.rest):
        return f"{subject} {agree('work', subject)} {answer.rest}"
    job = answer.rest[:1].lower() + answer.rest[1:]
    if not DETERMINER.match(job) and not job.endswith("ed"):
        job = f"{'an' if job[0] in 'aeiou' else 'a'} {job}"
    return f"{subject} {'am' if subject == 'I' else 'is'} {job}"


def _attribute(found: re.Match[str], answer: Answer) -> str:
    if OWN_SENTENCE.match(answer.rest):
        return ""
    noun, called, _ = to_first_person(found["noun"].removesuffix(" like")).partition(" called")
    return f"{noun} is{called} {answer.rest}"


def _own_attribute(found: re.Match[str], answer: Answer) -> str:
    return "" if OWN_SENTENCE.match(answer.rest) else f"my {found['noun'].lower()} is {answer.rest}"


def _place(found: re.Match[str], answer: Answer) -> str:
    subject, verb = to_first_person(found["subject"]), found["verb"]
    preposition = "" if PREPOSITION.match(answer.rest) else "at " if verb == "work" else "in "
    if answer.rest.lower().startswith(_HERE):
        preposition = ""
    more = (found["more"] or "").strip()
    if found["did"]:
        return f"{subject} {past_tense(verb)} {more} {preposition}{answer.rest}".replace("  ", " ")
    return f"{subject} {agree(verb, subject)} {more} {preposition}{answer.rest}".replace("  ", " ")


def _origin(found: re.Match[str], answer: Answer) -> str:
    subject = to_first_person(found["subject"])
    be = "am" if subject == "I" else "is"
    joint = "" if PREPOSITION.match(answer.rest) else f"{found['last'] or 'in'} "
    return f"{subject} {be} {joint}{answer.rest}"


def _age(found: re.Match[str], answer: Answer) -> str:
    subject = to_first_person(found["subject"])
    if not NUMBER_ONLY.fullmatch(answer.rest.removesuffix(" years old")):
        return ""
    return f"{subject} {'am' if subject == 'I' else 'is'} {answer.rest.removesuffix(' years old')} years old"


def _how_many(found: re.Match[str], answer: Answer) -> str:
    subject, verb, noun = to_first_person(found["subject"]), found["verb"], found["noun"]
    if answer.is_yes is False or answer.rest.lower() in ("none", "zero"):
        return f"{subject} {agree(verb, subject)} no {noun}"
    if not COUNTED.match(answer.rest) and not NUMBER_ONLY.fullmatch(answer.rest):
        return ""
    named = f"{answer.rest} {noun}" if NUMBER_ONLY.fullmatch(answer.rest) else answer.rest
    return f"{subject} {agree(verb, subject)} {named[:1].lower()}{named[1:]}"


def _how_many_do(found: re.Match[str], answer: Answer) -> str:
    """How many people work in your team; how many are you."""
    if not _NUMBER_FIRST.match(answer.rest):
        return ""
    number, _, more = answer.rest.partition(" ")
    return f"{number} {found['noun']} {to_first_person(found['rest'])} {more}".strip()


def _called(found: re.Match[str], answer: Answer) -> str:
    return f"I am called {answer.rest}"


def _how_often(found: re.Match[str], answer: Answer) -> str:
    subject, more = to_first_person(found["subject"]), to_first_person(found["more"] or "").strip()
    verb = agree(found["verb"], subject)
    if answer.is_yes is False:
        return f"{subject} never {verb} {more}"
    return f"{subject} {verb} {more} {answer.rest}".replace("  ", " ")


def _how_long(found: re.Match[str], answer: Answer) -> str:
    subject = to_first_person(found["subject"])
    have = "have" if subject == "I" else found["have"]
    joint = "" if re.match(r"(?:since|for|about|over|almost|nearly|only|all|ever)\b", answer.rest, re.I) else "for "
    joint = "for " if re.match(r"(?:about|over|almost|nearly|only)\b", answer.rest, re.I) else joint
    return f"{subject} {have} {to_first_person(found['rest'])} {joint}{answer.rest}"


def _object(found: re.Match[str], answer: Answer) -> str:
    """What do you drink; which bank does your wife use; what did you study; who do you live with."""
    if OWN_SENTENCE.match(answer.rest):
        return ""
    subject, words = to_first_person(found["subject"]), found["rest"].split()
    verb = past_tense(words[0]) if found["helper"].lower() == "did" else agree(words[0], subject)
    joint = ["at"] if found.group().lower().startswith("what time") and not PREPOSITION.match(answer.rest) else []
    return " ".join([subject, verb, *words[1:], *joint, answer.rest])


def _ongoing(found: re.Match[str], answer: Answer) -> str:
    """What are you allergic to; what are you reading."""
    if OWN_SENTENCE.match(answer.rest):
        return ""
    subject = to_first_person(found["subject"])
    return f"{subject} {'am' if subject == 'I' else found['be']} {found['rest']} {answer.rest}"


def _who(found: re.Match[str], answer: Answer) -> str:
    still = _STILL_FIRST.match(answer.rest)
    name = answer.rest[still.end() :] if still else answer.rest
    if OWN_SENTENCE.match(name):
        return ""
    name = "I" if name.lower() in ("me", "i am", "i do") else name
    verb, rest, adverb = found["verb"].strip(), to_first_person(found["rest"]), "still " if still else ""
    if verb not in ("is", "'s", "’s"):
        return f"{name} {adverb}{base_form(verb) if name == 'I' else verb} {rest}"
    if rest.startswith("my "):
        return f"{rest} is {adverb}{name}"
    return f"{name} {'am' if name == 'I' else 'is'} {adverb}{rest}"


def _when(found: re.Match[str], answer: Answer) -> str:
    if OWN_SENTENCE.match(answer.rest):
        return ""
    subject, words = to_first_person(found["subject"]), found["rest"].split()
    verb = past_tense(words[0]) if found["helper"].lower() == "did" else agree(words[0], subject)
    return " ".join([subject, verb, *words[1:], _DAY_FIRST.sub("on ", answer.rest)])


def _next_place(found: re.Match[str], answer: Answer) -> str:
    return f"I am going to {re.sub(r'^(?:to|in|at) ', '', answer.rest)}"


def _when_is(found: re.Match[str], answer: Answer) -> str:
    if OWN_SENTENCE.match(answer.rest):
        return ""
    return f"{to_first_person(found['subject'])} {found['be'] or 'is'} {_DAY_FIRST.sub('on ', answer.rest)}"


_OF_SUBJECT = r"(?P<subject>your(?: [\w-]+(?=['’]s))?)(?:['’]s)?"
_NUMBER_FIRST = re.compile(rf"(?:{load_pattern('counts')}|eleven|twelve|\w+teen|\w+ty|several|none)\b", re.IGNORECASE)
_STILL_FIRST = re.compile(r"(?:it['’]s )?still ", re.IGNORECASE)
_DAY_FIRST = re.compile(
    r"^(?=(?:the )?\d{1,2}(?:st|nd|rd|th)\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)", re.IGNORECASE
)
_HERE = ("here", "there", "abroad", "home", "nowhere", "everywhere")
_HELPER = r"(?P<helper>[Dd]o|[Dd]oes|[Dd]id)"
_Builder = Callable[[re.Match[str], Answer], str]
_WH_FORMS: tuple[tuple[re.Pattern[str], _Builder], ...] = (
    (re.compile(rf"[Ww]hat (?:do|does) {SUBJECT} do(?: for (?:a living|work))?"), _occupation),
    (re.compile(rf"(?:[Ww]hat(?: is|['’]s)|[Aa]nd) {_OF_SUBJECT} (?:job|profession|occupation)"), _occupation),
    (re.compile(r"[Ww]hat (?:should|shall|can|do|may) I call you"), _called),
    (re.compile(r"[Ww]hat(?: is|['’]s| are) (?P<noun>(?:the [a-z]+ of )?(?:your|her|his|their) .+)"), _attribute),
    (re.compile(rf"(?P<noun>{load_pattern('asked_attributes')})", re.IGNORECASE), _own_attribute),
    (re.compile(rf"[Hh]ow old (?:are|is) {SUBJECT}(?: now)?"), _age),
    (re.compile(rf"[Ww]here (?:do|does|(?P<did>did)) {SUBJECT} (?P<verb>[a-z]+)(?P<more> .+)?"), _place),
    (re.compile(rf"[Ww]here(?: are| is|['’]s|['’]re) {SUBJECT}(?: [a-z]+ing| based)?(?: (?P<last>from|at))?"), _origin),
    (re.compile(r"[Ww]here to(?: next| now)?"), _next_place),
    (re.compile(rf"[Hh]ow many (?P<noun>.+?) (?:do|does) {SUBJECT} (?P<verb>[a-z]+)(?: got)?"), _how_many),
    (
        re.compile(r"[Hh]ow many (?P<noun>[a-z]+) (?P<rest>(?!do\b|does\b|did\b|are you\b)[a-z]+ .*\byour\b.*)"),
        _how_many_do,
    ),
    (re.compile(rf"[Hh]ow often (?:do|does) {SUBJECT} (?P<verb>[a-z]+)(?P<more> .+)?"), _how_often),
    (re.compile(rf"(?:[Hh]ow long|[Ss]ince when) (?P<have>have|has) {SUBJECT} (?P<rest>.+)"), _how_long),
    (re.compile(rf"[Ww]hen {_HELPER} {SUBJECT} (?P<rest>.+)"), _when),
    (re.compile(r"[Ww]hen(?: (?P<be>is|was)|(?P<short>['’]s)) (?P<subject>.+)"), _when_is),
    (re.compile(rf"(?:[Ww]hat|[Ww]hich|[Ww]ho)(?: [\w' -]+?)? {_HELPER} {SUBJECT} (?P<rest>[a-z]+(?: .+)?)"), _object),
    (re.compile(rf"(?:[Ww]hat|[Ww]hich|[Ww]ho)(?: [\w' -]+?)? (?P<be>are|is) {SUBJECT} (?P<rest>[a-z].*)"), _ongoing),
    (re.compile(r"[Ww]ho(?P<verb>['’]s| is| [a-z]+s) (?P<rest>.+)"), _who),
)

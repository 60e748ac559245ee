"""Answers to questions for yes or no as statements: "Are you still at Siemens?" "No, Bosch." is "I work at Bosch"."""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.language.rules.answer_wording import (
    COUNTED,
    DETERMINER,
    NUMBER_ONLY,
    OWN_SENTENCE,
    PLAIN_SUBJECTS,
    PLURAL,
    PREPOSITION,
    SUBJECT,
    Answer,
    agree,
    past_tense,
    to_first_person,
)
from remanence.language.rules.lexicon import compile_pattern


class PolarQuestion(NamedTuple):
    """A question for yes or no, as the statement it asks about: subject, verb, and what follows the verb."""

    subject: str
    auxiliary: str
    """The verb that a negation follows; "" if it would take "do"."""
    verb: str
    """The main verb where there is no auxiliary."""
    base: str
    """Its base form."""
    complement: str
    is_still: bool
    is_past: bool

    @classmethod
    def of(cls, form: re.Match[str]) -> PolarQuestion:
        auxiliary, rest = form["auxiliary"].lower(), form["rest"]
        subject = to_first_person(form["subject"])
        is_still = form["still"] is not None
        is_past = auxiliary == "did"
        if auxiliary in ("do", "does", "did"):
            verb, _, complement = rest.partition(" ")
            spoken = past_tense(verb) if is_past else agree(verb, subject)
            return cls(subject, "", spoken, verb, to_first_person(complement), is_still, is_past)
        auxiliary = {"are": "am"}.get(auxiliary, auxiliary) if subject == "I" else auxiliary
        moved = _STILL_AT.match(rest) if is_still and auxiliary in ("am", "is", "are") else None
        if moved:  # to be still at a firm is to work there
            verb = "work" if moved[1] == "at" else "live"
            return cls(subject, "", agree(verb, subject), verb, rest, is_still, is_past)
        return cls(subject, auxiliary, "", "", to_first_person(rest), is_still, is_past)

    def says(self, complement: str) -> str:
        """The statement with this complement."""
        return " ".join(filter(None, (self.subject, self.auxiliary or self.verb, complement)))

    def denies(self, *, no_longer: bool, never: bool) -> str:
        """The statement denied."""
        if self.auxiliary:
            negation = "no longer" if no_longer else "never" if never and self.auxiliary in ("have", "has") else "not"
            complement = _EVER.sub("", self.complement)
            return f"{self.subject} {self.auxiliary} {negation} {complement}"
        if no_longer:
            return f"{self.subject} no longer {self.verb} {self.complement}".rstrip()
        if never or self.complement.startswith("ever "):
            return f"{self.subject} never {self.verb} {_EVER.sub('', self.complement)}".rstrip()
        helper = "did" if self.is_past else "do" if self.subject in PLAIN_SUBJECTS else "does"
        return f"{self.subject} {helper} not {self.base} {self.complement}".rstrip()


def polar_statements(asked: PolarQuestion, answer: Answer) -> list[str]:
    rest = answer.rest
    if asked.is_past and not _LASTING_PAST.match(asked.base):
        return []
    alternatives = _CHOICE.fullmatch(asked.complement)
    if answer.is_yes is False:
        if alternatives:
            denied = [f"{asked.says('not ' + each)}" for each in alternatives.groups()] if asked.auxiliary else []
        else:
            denied = [asked.denies(no_longer=asked.is_still or answer.no_longer, never=answer.never)]
        if not rest:
            return denied
        if rest.lower().startswith("no "):
            return denied if asked.auxiliary else [asked.says(rest[:1].lower() + rest[1:])]
        if OWN_SENTENCE.match(rest):
            return [*denied, _with_object(rest, asked)]
        if answer.never and rest.endswith("ed"):
            return denied  # never learned
        if rest.lower().removeprefix("an ") == "only child":
            return [*denied, "I am an only child"]
        return [*([] if alternatives else denied), _replaced(asked, rest)]
    if not rest:
        if alternatives:
            return []
        return [asked.says(_WITHOUT_ANY.sub("", asked.complement))]
    if alternatives:
        if rest.lower() == "both":
            return [asked.says(f"{alternatives[1]} and {alternatives[2]}")]
        named = _named_alternative(alternatives, rest)
        if named is None and asked.auxiliary in ("am", "is", "are") and not PREPOSITION.match(rest):
            return [asked.says(rest)] if len(rest.split()) == 1 else []
        return [asked.says(named) if named else _chosen(asked, rest)]
    if OWN_SENTENCE.match(rest):
        own = _with_object(rest, asked)
        return [asked.says(_WITHOUT_ANY.sub("", asked.complement)), own] if answer.is_yes else [own]
    if _VERB_FIRST.match(rest):
        return [f"{asked.subject} {_with_object(rest[:1].lower() + rest[1:], asked)}"]
    if _ADVERBIAL.match(rest):
        return [f"{asked.says(_WITHOUT_ANY.sub('', asked.complement))} {rest}"]
    return [_replaced(asked, rest)]


def _named_alternative(alternatives: re.Match[str], rest: str) -> str | None:
    """The alternative of a question that an answer names by a word: "a dog person or a cat person?" "Cat." """
    words = set(_WORDS.findall(rest.lower()))
    first, second = alternatives.groups()
    if first.endswith("-"):  # left- or right-handed
        first += second.rpartition("-")[2]
    by_words = [set(_WORDS.findall(each.lower())) for each in (first, second)]
    hits = [
        each
        for each, own, other in ((first, by_words[0], by_words[1]), (second, by_words[1], by_words[0]))
        if words & (own - other)
    ]
    return hits[0] if len(hits) == 1 and len(words) <= 2 and " " in hits[0].replace("-", " ") else None


def _replaced(asked: PolarQuestion, rest: str) -> str:
    """The statement with `rest` in place of what the question leaves open."""
    complement = asked.complement
    have = asked.verb in ("have", "has", "own", "owns", "keep", "keeps") or _HAVE_GOT.match(complement)
    if have and _ALLERGIES.search(complement):
        return f"{asked.subject} {'am' if asked.subject == 'I' else 'is'} allergic to {rest}"
    if have:
        noun = _WITHOUT_ANY.sub("", _HAVE_GOT.sub("", complement))
        if NUMBER_ONLY.fullmatch(rest):
            things = DETERMINER.sub("", noun)
            plural = things if PLURAL.search(things) or rest.lower() in ("one", "a") else f"{things}s"
            return f"{asked.subject} {asked.verb or 'have'} {rest} {plural}"
        if COUNTED.match(rest) or not PLURAL.search(noun):
            return f"{asked.subject} {asked.verb or 'have'} {rest}"
        return f"{asked.subject} {asked.verb or 'have'} {noun}: {rest}"
    open_part = _OPEN_PART.search(complement)
    if PREPOSITION.match(rest):
        return _chosen(asked, rest)
    if open_part:
        return asked.says(complement[: open_part.start()] + rest + complement[open_part.end() :])
    if asked.auxiliary in ("am", "is", "are", "was", "were") and not PREPOSITION.match(complement):
        if _IS_STATE_WITH_PREPOSITION.match(complement):
            return asked.says(_LAST_PHRASE.sub(lambda found: f"{found[1]} {rest}", complement))
        return asked.says(rest)
    return _chosen(asked, rest)


def _chosen(asked: PolarQuestion, rest: str) -> str:
    """The statement with `rest` in place of the last noun phrase: after a preposition, or all after the verb."""
    if PREPOSITION.match(rest):
        kept = _FIRST_PREPOSITION.split(asked.complement, maxsplit=1)[0].removesuffix("alone")
        return asked.says(f"{kept} {rest}".strip())
    first = asked.complement.split(" or ")[0]
    found = _LAST_PHRASE.fullmatch(first)
    return asked.says(f"{found[1]} {rest}" if found else rest)


def _with_object(sentence: str, asked: PolarQuestion) -> str:
    """An answer with what the question is about in place of its pronouns: "I sold it" is "I sold the car"."""
    complement = _HAVE_GOT.sub("", asked.complement)
    phrase = _LAST_PHRASE.fullmatch(complement)
    words = phrase[2] if phrase else complement
    thing = DETERMINER.sub("the ", words) if words else f"{asked.base.removesuffix('e')}ing" if asked.base else ""
    if len(thing.split()) > 4:
        return sentence
    together = re.fullmatch(r"(?:together )?with ([A-Z]\w+|my [a-z]+)", asked.complement)
    if together:  # still with Tom? We broke up
        sentence = re.sub(r"^[Ww]e\b", f"{together[1]} and I", sentence)
    about = asked.subject if asked.subject != "I" else thing
    sentence = re.sub(r"^(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey)(?=['’ ])", about, sentence)
    return _IT.sub(thing, sentence, count=1) if thing else sentence


POLAR = re.compile(
    rf"(?P<auxiliary>[Aa]re|[Ii]s|[Ww]as|[Ww]ere|[Dd]o|[Dd]oes|[Dd]id|[Hh]ave|[Hh]as|[Cc]an|[Ww]ill) {SUBJECT}"
    r"(?: (?P<still>still)| (?:also|already|actually|currently|now|both))* (?P<rest>.+)"
)
_IT = re.compile(r"\b(?:it|them|that one|him|her)\b")
_VERB_FIRST = compile_pattern("verb_first_answer", re.IGNORECASE)
_ADVERBIAL = compile_pattern("adverbial_answer", re.IGNORECASE)
_EVER = re.compile(r"^ever ")
_STILL_AT = re.compile(r"(at|in) (?:the )?[A-Z]")
_CHOICE = re.compile(r"(.+?),? or (.+)")
_HAVE_GOT = re.compile(r"^(?:got|have) ")
_ALLERGIES = re.compile(r"\ballerg(?:y|ies)\b")
_WITHOUT_ANY = re.compile(r"\bany (?:other )?|\bever ")
_OPEN_PART = re.compile(r"\b(?:anything|anyone|anybody|something|someone|anywhere|somewhere|any (?:other )?\w+)\b")
_FIRST_PREPOSITION = re.compile(r"\b(?:in|at|on|with|from|for|near|by|to)\b")
_LAST_PHRASE = re.compile(r"(.*\b(?:in|at|on|with|from|for|near|by|to|of)\b|[a-z]+(?:ing|er)\b(?= )|)(?: )?(.+)")
_IS_STATE_WITH_PREPOSITION = re.compile(
    r"(?:[a-z]+(?:ing|ed)|allergic|married|afraid|fluent|good) (?:in|at|on|with|from|for|to|of) "
)
_WORDS = re.compile(r"[^\W_]+")
_LASTING_PAST = compile_pattern("lasting_past_verb", re.IGNORECASE)

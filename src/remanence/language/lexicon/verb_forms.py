"""The forms of English verbs that relate two things: "uses", "moved", "written", "running"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remanence.language.lexicon.word_lists import is_common_word, load_words, word_set

_VOWELS = "aeiou"
_IRREGULAR = {"am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "go": "goes"}
_UNCHANGED = load_words("irregular_past") | load_words("unchanged_verbs")
_NOT_PAST = word_set("need feed speed breed")


def conjugate(verb: str) -> str:
    """The third person singular of a verb; a past form stays.

    >>> conjugate("live"), conjugate("study"), conjugate("watch"), conjugate("moved"), conjugate("can't")
    ('lives', 'studies', 'watches', 'moved', "can't")
    """
    plain = verb.replace("’", "'")
    if plain in _IRREGULAR:
        return _IRREGULAR[plain]
    if plain.lower() in _UNCHANGED or (plain.endswith("ed") and plain not in _NOT_PAST):
        return verb
    if plain.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    if plain.endswith("y") and plain[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _past_forms(verb: str) -> Iterator[str]:
    if verb.endswith("e"):
        yield f"{verb}d"
    elif verb.endswith("y") and verb[-2] not in _VOWELS:
        yield f"{verb[:-1]}ied"
    else:
        yield f"{verb}ed"
        if _may_double(verb):
            yield f"{verb}{verb[-1]}ed"


def _gerunds(verb: str) -> Iterator[str]:
    if verb.endswith("e") and not verb.endswith("ee"):
        yield f"{verb[:-1]}ing"
    else:
        yield f"{verb}ing"
        if _may_double(verb):
            yield f"{verb}{verb[-1]}ing"


def _third_person(verb: str) -> str:
    form = conjugate(verb)
    return form if form != verb else f"{verb}s"  # "cut" is also a past form, which `conjugate` leaves as it is


def _may_double(verb: str) -> bool:
    """Whether the last letter may be doubled: ship, shipped."""
    return verb[-1] not in "wxyaeiou" and verb[-2] in _VOWELS and verb[-3:-2] not in _VOWELS


BASE_FORMS = load_words("relation_verbs")
IRREGULAR = [verb.split("=") for verb in sorted(load_words("irregular_verbs"))]
_REGULAR = BASE_FORMS - {base for base, _, _ in IRREGULAR}
PRESENT_FORMS = {_third_person(verb): verb for verb in sorted(BASE_FORMS)}
"""The third person singular, with the verb."""
PAST_FORMS = {form: verb for verb in sorted(_REGULAR) for form in _past_forms(verb)} | {
    past: base for base, past, _ in IRREGULAR
}
PARTICIPLES = {form: verb for verb in sorted(_REGULAR) for form in _past_forms(verb)} | {
    participle: base for base, _, participle in IRREGULAR
}
GERUNDS = {form: verb for verb in sorted(BASE_FORMS) for form in _gerunds(verb)}


def participle_of(word: str) -> str | None:
    """The verb of a past participle; a regular one counts if its stem is an ordinary word.

    >>> participle_of("written"), participle_of("shipped"), participle_of("painted"), participle_of("red")
    ('write', 'ship', 'painted', None)
    """
    verb = "do" if word == "done" else PARTICIPLES.get(word)
    if verb is not None:
        return verb
    return word if len(word) > 5 and word.endswith("ed") and is_common_word(word) else None


def is_verb_form(word: str) -> bool:
    """Whether a word is a finite form of a verb that is not a noun as well: "went", "confirmed"."""
    return word in PAST_FORMS and word not in BASE_FORMS


def past_tense(verb: str) -> str:
    """The past of a base form; only the frequent irregular verbs are known.

    >>> past_tense("move"), past_tense("study"), past_tense("go"), past_tense("stop"), past_tense("visit")
    ('moved', 'studied', 'went', 'stopped', 'visited')
    """
    has_one_syllable = re.fullmatch(r"[^aeiou]*[aeiou][bdgmnpt]", verb) is not None
    return _PAST.get(verb) or list(_past_forms(verb))[-1 if has_one_syllable else 0]


def base_form(verb: str) -> str:
    """The base form of a third person.

    >>> base_form("has"), base_form("lives"), base_form("studies"), base_form("teaches")
    ('have', 'live', 'study', 'teach')
    """
    if verb == "has":
        return "have"
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("shes", "ches", "xes", "zes", "oes", "sses")) else verb.removesuffix("s")


_PAST = dict(verb.split("=")[:2] for verb in load_words("irregular_verbs") | load_words("other_irregular_verbs"))

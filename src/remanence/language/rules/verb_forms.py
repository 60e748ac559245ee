"""The forms of English verbs that relate two things: "uses", "moved", "written", "running"."""

from __future__ import annotations

from collections.abc import Iterator

from remanence.language.rules.lexicon import is_common_word, load_words
from remanence.language.rules.third_person import conjugate

_VOWELS = "aeiou"


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
    found = "do" if word == "done" else PARTICIPLES.get(word)
    if found is not None:
        return found
    return word if len(word) > 5 and word.endswith("ed") and is_common_word(word) else None


def is_verb_form(word: str) -> bool:
    """Whether a word is a finite form of a verb that is not a noun as well: "went", "confirmed"."""
    return word in PAST_FORMS and word not in BASE_FORMS

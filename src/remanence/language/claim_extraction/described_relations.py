"""Lasting relations between two things without a name: "our checkout depends on the pricing service".

Most sentences of two descriptions tell what happened or what somebody thinks. So the predicate must be one of a list of
lasting relations between things, in the present tense, and both ends must be definite: "the" or "our".
"""

from __future__ import annotations

import re

from remanence.language.lexicon.verb_forms import PRESENT_FORMS
from remanence.language.lexicon.word_lists import load_words, word_set

ABSTRACT_HEADS = word_set(
    "reason cause point problem question answer goal purpose idea thing key trick secret case hope fear love need"
    " issue blame result part kind sort type lot beginning end rest choice decision outcome success"
)
_PREDICATES = load_words("lasting_predicates")
_VERBS = "|".join(sorted({predicate.partition("_")[0] for predicate in _PREDICATES}))
_ARTICLES = ("The ", "Our ", "the ", "our ")
_VERB = re.compile(rf" (?:{_VERBS}) (?:[a-z]+ )?(?:the|our) ")


def may_relate_descriptions(text: str, begin: int, end: int) -> bool:
    """Whether a sentence may begin with such a relation: a fast test."""
    return text.startswith(_ARTICLES, begin) and _VERB.search(text, begin, end) is not None


def is_present(predicate: str) -> bool:
    """Whether a predicate tells what is so now: "hosts", "owned_by"; "ate" tells what happened."""
    return predicate.partition("_")[0] in PRESENT_FORMS or predicate in _PREDICATES


def relates_descriptions(subject: str, clause: str, predicate: str, value: str) -> bool:
    """Whether a predicate is a lasting relation, and the clause, which begins with its verb, has a definite object.

    >>> relates_descriptions("checkout", "depends on the pricing service", "depends_on", "pricing service")
    True
    >>> relates_descriptions("checkout", "was owned by the pricing team", "owned_by", "pricing team")
    False
    """
    if subject.lower().split()[-1] in ABSTRACT_HEADS or predicate not in _PREDICATES:
        return False
    if clause.lower().startswith(("was ", "were ", "had ", "got ")):
        return False
    if value.lower().startswith("same "):  # as something else
        return False
    return re.search(rf"\b(?:the|our) {re.escape(value)}(?!\w)", clause, re.IGNORECASE) is not None

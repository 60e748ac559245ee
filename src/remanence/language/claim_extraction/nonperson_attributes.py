"""Claims about attributes of things: an attribute is a predicate of its own.

"The API's rate limit is 300", "rate limit of the API: 300" and "API rate limit lowered to 300" all claim `rate_limit`.

Also lasting relations between two things without a name: "our checkout depends on the pricing service". Most sentences
of two descriptions tell what happened or what somebody thinks. So the predicate must be one of a list of lasting
relations between things, in the present tense, and both ends must be definite: "the" or "our".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from remanence.language.claim_extraction.nonperson_phrases import (
    NO_SUBJECT,
    PREPOSITIONS,
    names_something,
    phrase_at,
    split_words,
)
from remanence.language.claim_extraction.nonperson_verbs import Statement, claims_of_verb
from remanence.language.claim_extraction.predicate_rules import ATTRIBUTE_NOUNS
from remanence.language.lexicon.verb_forms import PRESENT_FORMS, is_verb_form, participle_of
from remanence.language.lexicon.word_lists import load_words, word_set
from remanence.schema import Triple

OPENERS = load_words("thing_openers")
ATTRIBUTE_OF = re.compile(
    r"(?P<attribute>[\w-]+(?: [\w-]+){0,2}) (?:of|for|on|in front of|behind) (?:the |our )?(?P<owner>.+)"
)
POSSESSIVE = re.compile(r"(?P<owner>.+?)['’]s? (?P<attribute>[\w-]+(?: [\w-]+){0,2})")
_CHANGED_TO = re.compile(r"[a-z]+ed_(?:to|at)|set_(?:to|at)|cut_to|scheduled_for|switched_to")
ABSTRACT_HEADS = word_set(
    "reason cause point problem question answer goal purpose idea thing key trick secret case hope fear love need"
    " issue blame result part kind sort type lot beginning end rest choice decision outcome success"
)
_PREDICATES = load_words("lasting_predicates")
_VERBS = "|".join(sorted({predicate.partition("_")[0] for predicate in _PREDICATES}))
_ARTICLES = ("The ", "Our ", "the ", "our ")
_VERB = re.compile(rf" (?:{_VERBS}) (?:[a-z]+ )?(?:the|our) ")


def subject_claim(known: Collection[str], name: str, predicate: str, value: str) -> Triple:
    """A claim about a subject; "the API's rate limit is 300" is one about the API. `known` are names in the text."""
    if name in known:  # one may be several things, "the default port" only one
        return Triple(name, "is_a" if predicate == "is" else predicate, value)
    is_value = predicate in ("is", "scheduled_for")
    if is_value or _CHANGED_TO.fullmatch(predicate):
        attribute = POSSESSIVE.fullmatch(name) or ATTRIBUTE_OF.fullmatch(name)
        if attribute is not None and (is_value or is_attribute(attribute["attribute"])):
            return attribute_claim(attribute, value)
        owner, noun = _split_compound(name)
        if owner and predicate != "switched_to":  # "staging db moved to OVH": it is the database that moved
            return Triple(owner, snake_case(noun), value)
    return Triple(name, predicate, value)


def labelled_claims(
    text: str, label: re.Match[str], end: int, kinds: Mapping[str, str], *, is_first: bool
) -> Iterator[Triple]:
    """The claims of "Rate limit on the API: 300" and "Password resets: handled by Auth0"."""
    head = label.group().removesuffix(": ").strip()
    statement = Statement(text, split_words(text, label.end(), end), kinds)
    attribute = ATTRIBUTE_OF.fullmatch(head) or POSSESSIVE.fullmatch(head)
    value = phrase_at(statement.words, 0, text)
    if attribute is not None and value is not None and is_attribute(attribute["attribute"]):
        rest = text[statement.words[0].start : end].partition(" (")[0].rstrip(". ")
        yield attribute_claim(attribute, rest if len(rest) < 40 and "," not in rest else value.text)
    elif is_first and value is not None and _is_label_of_value(head, value.text, statement, value.next):
        yield Triple(head.removeprefix("the ").removeprefix("The "), "is", value.text)
    elif statement.words and participle_of(statement.words[0].lower) is not None:
        claims, _ = claims_of_verb(statement, 0, is_passive=True)
        yield from (Triple(head, predicate, object_) for predicate, object_ in claims)


def _is_label_of_value(head: str, value: str, statement: Statement, stop: int) -> bool:
    """Whether "Max upload size: 25 MB" tells a value: the head is a noun phrase, and what follows is one that has a
    name or a number, up to a comma or the end."""
    words = head.lower().split()
    is_noun_phrase = len(words) > 1 and OPENERS.isdisjoint(words) and NO_SUBJECT.isdisjoint(words)
    if not is_noun_phrase or head in statement.kinds or any(map(is_verb_form, words[1:])):
        return False
    ends = stop >= len(statement.words) or statement.words[stop].text in (",", ";", "(")
    return ends and names_something(value) and not statement.words[0].lower.startswith(("http", "@"))


def is_attribute(noun: str) -> bool:
    return noun.lower().split()[-1] in ATTRIBUTE_NOUNS


def attribute_claim(attribute: re.Match[str], value: str) -> Triple:
    return Triple(attribute["owner"], snake_case(attribute["attribute"]), value)


def _split_compound(name: str) -> tuple[str, str]:
    """ "public API rate limit" as owner and attribute; empty strings if it is not such a compound."""
    words = name.split()
    if (
        len(words) < 2
        or words[-1].lower() not in ATTRIBUTE_NOUNS
        or not PREPOSITIONS.isdisjoint(words)
        or "of" in words
    ):
        return "", ""
    is_modified = words[-2].islower() and words[-2] in _ATTRIBUTE_MODIFIERS
    if is_modified and len(words) == 2:
        return "", ""  # the default port
    size = 1 + is_modified
    return " ".join(words[:-size]), " ".join(words[-size:])


_ATTRIBUTE_MODIFIERS = load_words("attribute_modifiers")


def snake_case(noun: str) -> str:
    return re.sub(r"[\W_]+", "_", noun.lower()).strip("_")


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

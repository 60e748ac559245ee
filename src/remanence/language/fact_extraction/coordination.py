"""A fact split into the statements that "and", "but" and commas join, each as a sentence of its own.

A later fact may replace one of these statements; the others stay valid.
"""

from __future__ import annotations

import re

from remanence.language.lexicon.verb_forms import PRESENT_FORMS
from remanence.language.lexicon.word_lists import compile_pattern, load_pattern, word_set


def split_coordination(text: str) -> list[str]:
    """The statements of a fact in the third person, in their order; the text itself if it is only one.

    >>> split_coordination("Ann is 34, lives in Graz and works at Siemens.")
    ['Ann is 34.', 'Ann lives in Graz.', 'Ann works at Siemens.']
    >>> split_coordination("Ann is vegan and allergic to nuts, and her brother is Bob.")
    ['Ann is vegan.', 'Ann is allergic to nuts.', 'Her brother is Bob.']
    >>> split_coordination("Ann and Bob have cats and dogs.")
    ['Ann and Bob have cats and dogs.']
    """
    first = _SUBJECT.match(text)
    if first is None or _CONDITIONAL.search(text):
        return [text]
    statements: list[str] = []
    subject, opening, start = first.group(), "", 0
    for joint in _JOINT.finditer(text, first.end()):
        left, right = opening + text[start : joint.start()], text[joint.end() :]
        own = _own_subject(right)
        verb = "" if own or _starts_with_verb(right) else _shared_verb(left.removeprefix(subject), right)
        if verb is None or ("and" not in joint.group() and verb):
            continue
        statements.append(left)
        subject, start = own or subject, joint.end()
        opening = "" if own else f"{subject} {verb}"
    statements.append(opening + text[start:])
    return [_as_sentence(statement) for statement in statements] if len(statements) > 1 else [text]


def _own_subject(text: str) -> str | None:
    """The subject that a text begins with, if a verb follows."""
    match = _RELATED_SUBJECT.match(text) or _SUBJECT.match(_capitalized(text) if text.startswith("the user") else text)
    return match.group() if match and _starts_with_verb(text[match.end() :].lstrip()) else None


def _starts_with_verb(text: str) -> bool:
    word = _WORD.match(text)
    return word is not None and word.group() in _VERBS


def _shared_verb(predicate: str, right: str) -> str | None:
    """The verb of a predicate that also belongs to the text after "and": "is vegan" and "allergic to nuts"."""
    shared = _SHARED_VERB.fullmatch(predicate)
    if shared is None or _PREPOSITION.search(shared["object"]):
        return None
    is_adjective = shared["verb"] in ("is", "are") and " " not in shared["object"] and shared["object"].islower()
    are_counted = _COUNTED.match(shared["object"]) and _COUNTED.match(right)
    return f"{shared['verb']} " if is_adjective or are_counted else None


def _as_sentence(statement: str) -> str:
    statement = _capitalized(statement.strip(" ,"))
    return statement if statement.endswith((".", "!")) else f"{statement}."


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


_SUBJECT = compile_pattern("shared_subject")
_RELATED_SUBJECT = re.compile(r"(?:their|his|her|the user['’]s) (?:[a-z-]+ ){0,2}[a-z-]+(?= (?:is|are|has|have)\b)")
_JOINT = re.compile(r"(?:,? (?:and|but)|[,;])(?: also| now| currently| still)? (?=[A-Za-z0-9])")
_SHARED_VERB = re.compile(r" (?P<verb>is|are|has|have)(?: also| now| got)? (?P<object>.+)")
_COUNTED = re.compile(rf"(?:an?|another|{load_pattern('counts')}) ")
_PREPOSITION = re.compile(r"\b(?:of|in|on|at|to|from|with|for|by|about|between|than)\b")
_CONDITIONAL = re.compile(r"\b(?:if|unless|whether|wish|imagine|suppose|pretend|in case)\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z][a-z'’]*")
_VERBS = frozenset(PRESENT_FORMS) | word_set(
    "is are has have was were does can will isn't aren't hasn't haven't doesn't don't can't cannot won't never likes "
    "loves hates enjoys adores prefers studies lives drives eats drinks goes wants needs sings cooks swims bakes rents"
)

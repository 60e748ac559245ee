"""The tags of a fact and its importance."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

from remanence.language.rules.lexicon import RELATIONSHIP_NOUNS, load_pattern, load_tag_patterns, load_words, word_set
from remanence.language.rules.predicate_rules import OPINION_PREDICATES
from remanence.schema import Triple

TAG_PATTERNS = load_tag_patterns()
"""The fixed set of tags, each with a pattern of its words. The tag "preference" is for opinions."""

_COMPILED = {tag: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for tag, pattern in TAG_PATTERNS.items()}
_MAX_TAGS = 4
_IDENTITY_PREDICATES = load_words("identity_predicates")
_FAMILY_NOUNS = RELATIONSHIP_NOUNS - word_set("colleague coworker neighbor neighbour friend teacher coach dog cat")
_CHILD_OR_SIBLING = re.compile(r"\b(?:kids?|children|sons?|daughters?|siblings|brothers?|sisters?)\b")
_ESSENTIAL = re.compile(rf"\b(?:{load_pattern('essential_words')})\b", re.IGNORECASE)


def tags_of(text: str, *, preference: bool = False) -> tuple[str, ...]:
    """The tags of a text.

    >>> tags_of("Alice lives in Porto with her dog.")
    ('home', 'pet')
    """
    tags = _find_tags(text)
    return ("preference", *tags)[:_MAX_TAGS] if preference else tags


@lru_cache(256)  # the same sentence is tagged for several purposes
def _find_tags(text: str) -> tuple[str, ...]:
    return tuple(islice((tag for tag, pattern in _COMPILED.items() if pattern.search(text)), _MAX_TAGS))


def importance_of(
    text: str, claims: Iterable[Triple], *, remember_requested: bool = False, is_minor: bool = False
) -> float:
    """0.9 for identity and for what must not be forgotten, 0.3 for what `is_minor`, 0.6 otherwise.

    >>> importance_of("Alice is allergic to nuts.", ()), importance_of("Alice likes tea.", ())
    (0.9, 0.6)
    """
    if remember_requested or _ESSENTIAL.search(text) or any(_is_identity(claim) for claim in claims):
        return 0.9
    return 0.3 if is_minor and not _COMPILED["health"].search(text) else 0.6


def _is_identity(claim: Triple) -> bool:
    predicate = claim.predicate
    if predicate in OPINION_PREDICATES:
        return False
    if predicate == "has":
        return _CHILD_OR_SIBLING.search(claim.object) is not None
    return predicate in _IDENTITY_PREDICATES or (predicate.endswith("_of") and predicate[:-3] in _FAMILY_NOUNS)

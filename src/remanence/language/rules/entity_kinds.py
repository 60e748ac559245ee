"""What a name seems to name: somebody, a place, an organization, a product, or some thing."""

from __future__ import annotations

import re
from functools import lru_cache

from remanence.language.rules.capitalized_words import CapitalizedWord
from remanence.language.rules.lexicon import (
    FIRST_NAMES,
    HONORIFICS,
    ORGANIZATION_WORDS,
    ORGANIZATIONS,
    PLACE_ACRONYMS,
    PLACE_WORDS,
    PLACES,
    PRODUCTS,
)

_DIGIT = re.compile(r"\d")


def kind_of_name(written: str, run: list[CapitalizedWord]) -> str:
    """What the name seems to name."""
    return _kind(written, run[0].lowercase, run[-1].lowercase, len(run) > 1)


@lru_cache(1 << 14)  # the same names come again and again
def _kind(written: str, head: str, last: str, several: bool) -> str:
    lower = written.lower()
    if lower in PLACES or written in PLACE_ACRONYMS:
        return "place"
    if lower in ORGANIZATIONS or lower.replace("’", "'") in ORGANIZATIONS:
        return "organization"
    if head in HONORIFICS and several and last not in PLACE_WORDS and " of " not in lower:
        return "place" if head == "st" else "person"
    if several:
        if last in ORGANIZATION_WORDS or (head in ORGANIZATION_WORDS and " of " in written):
            return "organization"
        if last in PLACE_WORDS or head in ("mount", "lake", "san", "fort", "port"):
            return "place"
    if head in FIRST_NAMES or (written[1:2] == "." and several):
        return "person"
    if head in PRODUCTS or written[0].islower() or (not written.isalpha() and _DIGIT.search(written)):
        return "product"
    return "thing"

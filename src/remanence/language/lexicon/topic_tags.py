"""The topics of a text, as tags from a fixed set: "home", "health", "food"."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

from remanence.language.lexicon.word_lists import load_pattern, pattern_names

_PREFIX = "tag "
TAG_PATTERNS = {
    name.removeprefix(_PREFIX): re.compile(rf"\b(?:{load_pattern(name)})\b", re.IGNORECASE)
    for name in pattern_names(_PREFIX)
}
"""The fixed set of tags, each with a pattern of its words. The tag "preference" is for opinions."""
_MAX_TAGS = 4


def tags_of(text: str, *, preference: bool = False) -> tuple[str, ...]:
    """The tags of a text.

    >>> tags_of("Alice lives in Porto with her dog.")
    ('home', 'pet')
    """
    tags = _find_tags(text)
    return ("preference", *tags)[:_MAX_TAGS] if preference else tags


@lru_cache(256)  # the same sentence is tagged for several purposes
def _find_tags(text: str) -> tuple[str, ...]:
    return tuple(islice((tag for tag, pattern in TAG_PATTERNS.items() if pattern.search(text)), _MAX_TAGS))

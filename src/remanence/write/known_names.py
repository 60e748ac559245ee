"""Registered names found in new texts, however they are written: "ao called" mentions AO, an alias of AlphaOne LLC.

The rules find names by capitals and the words around them, so they miss an alias in lower case, one of several plain
words, and one that is only an acronym. A name or alias that was registered before the text is added is found by its
words, whatever their case. A single ordinary word ("Will", "Rose") is found only in the case it was registered in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from remanence.core.index import Index
from remanence.events import Remembered
from remanence.language.lexicon.word_lists import is_common_word
from remanence.language.text import normalize_name
from remanence.schema import Mention
from remanence.write.extract import PreparedVersion

_WORD = re.compile(r"\w+(?:[.'’&@+#-]\w+)*")
_MAX_WORDS = 6


def with_known_names(index: Index, prepared: PreparedVersion) -> PreparedVersion:
    """The version with the registered names in its text added to its mentions. Use it with the lock of the index."""
    version = prepared.version
    if not prepared.finds_names or not index.registry.has_names:
        return prepared
    known = {normalize_name(mention.name) for mention in version.mentions}
    found = {normalize_name(mention.name): mention for mention in _registered(index, version, prepared.recorded_at)}
    more = tuple(mention for key, mention in found.items() if key not in known)
    return prepared._replace(version=replace(version, mentions=version.mentions + more)) if more else prepared


def _registered(index: Index, version: Remembered, at: datetime) -> Iterator[Mention]:
    """The registered names in a text, the longest at each word."""
    registry, position = index.registry, index.catalog.position
    words = [(match.start(), match.end()) for match in _WORD.finditer(version.text)]
    place = 0
    while place < len(words):
        for size in range(min(_MAX_WORDS, len(words) - place), 0, -1):
            written = version.text[words[place][0] : words[place + size - 1][1]]
            number = index.names.number(written)
            if number is None or not registry.is_owned(number, position):
                continue
            spelling = registry.registered_spelling(number, position)
            if size == 1 and is_common_word(written.lower()) and written != spelling:
                continue
            entity = registry.find(spelling, position, at)
            kind = None if entity is None else registry.registered_kind(entity, position)
            yield Mention(spelling, kind or index.names.kinds[number])
            place += size - 1
            break
        place += 1

"""Mentions that depend on other memories of the space: people with the same name, and registered names.

Two people of one name that a speaker knows are distinguished by their relationship: "my brother Sam", "my friend Sam".

A name or alias that was registered before the text is added is found by its words, whatever their case: "ao called"
mentions AO, an alias of AlphaOne LLC. The rules find names by capitals and the words around them, so they miss an alias
in lower case, one of several plain words, and one that is only an acronym. A single ordinary word ("Will", "Rose") is
found only in the case it was registered in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from remanence.events import Remembered
from remanence.index.index import Index
from remanence.remember.prepare import PreparedVersion
from remanence.schema import SELF, Mention, Triple
from remanence.text.claims.predicates import exclude_each_other
from remanence.text.lexicon.word_lists import is_common_word
from remanence.text.text import normalize_name

_WORD = re.compile(r"\w+(?:[.'’&@+#-]\w+)*")
_MAX_WORDS = 6
"""Words of the longest registered name that is looked for in a text."""


def disambiguate_people(index: Index, prepared: PreparedVersion) -> PreparedVersion:
    """The version, in which a person with the name of another known person is called "my friend Sam".

    Use it with the lock of the index.
    """
    version = prepared.version
    if not prepared.has_extracted_names:
        return prepared
    for claim in version.triples:
        number = index.names.number(claim.subject) if claim.object == SELF else None
        if number is None or not _is_different_person(index, number, claim, prepared):
            continue
        name = f"my {claim.predicate.removesuffix('_of').replace('_', ' ')} {claim.subject}"
        triples = [replace(one, subject=name) if one.subject == claim.subject else one for one in version.triples]
        mentions = [Mention(name, one.kind) if one.name == claim.subject else one for one in version.mentions]
        version = replace(version, triples=tuple(triples), mentions=tuple(mentions))
    return prepared if version is prepared.version else prepared._replace(version=version)


def _is_different_person(index: Index, number: int, claim: Triple, prepared: PreparedVersion) -> bool:
    """Whether the known person of this name has a relationship to the speaker that excludes this claim."""
    snapshot = index.snapshot(index.catalog.position, prepared.recorded_at)
    return any(
        relation.object == SELF and exclude_each_other(claim.predicate, relation.predicate)
        for relation in index.relations.relations_of(number, snapshot, direction="out")
    )


def add_registered_mentions(index: Index, prepared: PreparedVersion) -> PreparedVersion:
    """The version with the registered names in its text added to its mentions, in the order of the text: a memory is
    about the first of them. Use it with the lock of the index."""
    version = prepared.version
    if not prepared.has_extracted_names or not index.registry.has_entries:
        return prepared
    registered: dict[str, tuple[int, Mention]] = {}
    for start, mention in _registered_mentions(index, version, prepared.recorded_at):
        registered.setdefault(normalize_name(mention.name), (start, mention))
    if not registered:
        return prepared
    text = version.text.lower()
    mentions: list[tuple[int, Mention]] = []
    for mention in version.mentions:
        if mention.kind == "thing" and normalize_name(mention.name) in registered:
            continue  # the subject of a claim: these follow the names that have capitals
        registered.pop(normalize_name(mention.name), None)
        mentions.append((-1 if mention.kind == "heading" else text.find(mention.name.lower()), mention))
    for start, mention in registered.values():
        before = next((at for at, (place, _) in enumerate(mentions) if place > start), len(mentions))
        mentions.insert(before, (start, mention))
    return prepared._replace(version=replace(version, mentions=tuple(mention for _, mention in mentions)))


def _registered_mentions(index: Index, version: Remembered, at: datetime) -> Iterator[tuple[int, Mention]]:
    """The registered names in a text, the longest at each word, with the place where each begins."""
    registry, position = index.registry, index.catalog.position
    words = [(match.start(), match.end()) for match in _WORD.finditer(version.text)]
    first = 0
    while first < len(words):
        for size in range(min(_MAX_WORDS, len(words) - first), 0, -1):
            written = version.text[words[first][0] : words[first + size - 1][1]]
            number = index.names.number(written)
            if number is None or not registry.is_owned(number, position):
                continue
            spelling = registry.registered_spelling(number, position)
            if size == 1 and is_common_word(written.lower()) and written != spelling:
                continue
            entity = registry.find(spelling, position, at)
            kind = None if entity is None else registry.registered_kind(entity, position)
            yield words[first][0], Mention(spelling, kind or index.names.kinds[number])
            first += size - 1
            break
        first += 1

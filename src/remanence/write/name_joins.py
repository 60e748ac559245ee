"""Names that belong to one person by what is told: registered as names of one entity, which can be undone.

1. A text says so: "Katherine Holm, whom everyone calls Katie" (`find_aliases`).
2. A short form with the same surname: Liz Nwosu and Elizabeth Nwosu.
3. A surname alone, or with a title, where one person in the space has it: Prof. Ingrid Solheim, and Solheim.
4. A first name in the same text as the only full name with it: "cake for Liz. Liz Nwosu as head of sales".

A name that is also a place, a firm or an ordinary word is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from remanence.core.index import Index
from remanence.errors import InvalidInput
from remanence.events import Event
from remanence.graph.entity_revisions import plan_registration
from remanence.graph.known_entities import KnownEntities
from remanence.language.rules.alias_rules import AliasPair, find_aliases
from remanence.language.text import normalize_name
from remanence.schema import Alias, Memory
from remanence.state.name_similarity import SamePerson, same_person

_KINDS = ("person", "thing")


def join_events(index: Index, sources: Iterable[Memory], now: datetime, by: str) -> list[Event]:
    """The events that register names of the sources as names of one entity. Use it with the lock of the index."""
    known = KnownEntities(index, index.catalog.position)
    aliases: dict[str, dict[str, None]] = {}
    for source in sources:
        names = [mention.name for mention in source.mentions if mention.kind in _KINDS]
        for pair in (*find_aliases(source.text), *_in_one_text(source.text, names), *_in_space(index, names)):
            aliases.setdefault(pair.name, {})[pair.alias] = None
    events: list[Event] = []
    for name, others in _by_fullest_name(aliases).items():
        try:
            given = {normalize_name(other): Alias(other) for other in others}
            plan = plan_registration(known, name, list(given.values()), None, by, now)
        except InvalidInput:  # one of them is already registered as a name of somebody else
            continue
        if plan.event is not None and plan.added:
            events.append(plan.event)
    return events


def _by_fullest_name(aliases: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The same aliases, each with the name that is an alias of no other: Liz of Liz Nwosu of Elizabeth Nwosu."""
    name_of = {normalize_name(alias): name for name, others in aliases.items() for alias in others}
    found: dict[str, list[str]] = {}
    for name, others in aliases.items():
        passed = {name}
        while (fuller := name_of.get(normalize_name(name))) is not None and fuller not in passed:
            name = fuller
            passed.add(name)
        found.setdefault(name, []).extend(dict.fromkeys(others))
    return found


def _in_one_text(text: str, names: list[str]) -> Iterator[AliasPair]:
    """A first name, and the only full name of the text with it; not "my sister Ana", who is introduced herself."""
    for name in names:
        if re.search(rf"\b(?:my|our|his|her|their|your|['’]s) [a-z-]+,? {re.escape(name)}\b", text, re.IGNORECASE):
            continue
        full = {other for other in names if same_person(name, other) in (SamePerson.FIRST_NAME, SamePerson.NICKNAME)}
        if len(full) == 1:
            yield AliasPair(full.pop(), name, "in one text")


def _in_space(index: Index, names: list[str]) -> Iterator[AliasPair]:
    """The only person of the space with this surname, and those with a short form of the first name."""
    spellings, kinds = index.names.spellings, index.names.kinds
    for name in names:
        similar = [number for number in index.registry.similar_names.candidates(name) if kinds[number] in _KINDS]
        found = {spellings[number]: same_person(name, spellings[number]) for number in similar}
        for other, relation in found.items():
            if relation is SamePerson.SHORT_FORM:
                yield AliasPair(other, name, "a short form of the first name")
            elif same_person(other, name) is SamePerson.SHORT_FORM:
                yield AliasPair(name, other, "a short form of the first name")
        bearers = [other for other, relation in found.items() if relation is SamePerson.SURNAME]
        if len(bearers) == 1:
            yield AliasPair(bearers[0], name, "the only one with this surname")
        bare = [other for other in found if same_person(other, name) is SamePerson.SURNAME]
        others = [other for other in found if other not in bare and _surname(other) == _surname(name)]
        if bare and not others:
            yield from (AliasPair(name, other, "the only one with this surname") for other in bare)


def _surname(name: str) -> str:
    return name.rpartition(" ")[2].casefold()

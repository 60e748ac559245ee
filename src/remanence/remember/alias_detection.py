"""Names of one person: they are registered as names of one entity, which can be undone.

1. The text states it: "Katherine Holm, whom everyone calls Katie" (`find_aliases`).
2. A short form with the same surname, unless a memory names both: Liz Nwosu and Elizabeth Nwosu.
3. A surname alone, or with a title, where one person in the space has it: Prof. Ingrid Solheim, and Solheim.
4. A first name or a short form of it in the same text as the only full name with it: "cake for Liz. Liz Nwosu as head
   of sales"; or in a later text, where it is new and no other person has it.
5. Mum, Dad, Granny, where only one such relative has a name: "my mum is called Gudrun".

A name that is also a place, a firm or an ordinary word gets no alias, and none that its text introduces ("my sister
Ana", "Ana from work").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from remanence.errors import InvalidInput
from remanence.events import Event
from remanence.graph.assertions import plan_registration
from remanence.graph.graph_at_time import KnownEntities
from remanence.index.index import Index
from remanence.index.numbers import Row
from remanence.schema import SELF, Alias, Memory
from remanence.text.lexicon.word_lists import word_set
from remanence.text.named_entities.alias_rules import find_aliases, full_forms, stem_of
from remanence.text.named_entities.person_names import SamePerson, same_person
from remanence.text.text import normalize_name

_KINDS = ("person", "thing")
_INTRODUCED_BEFORE = re.compile(
    r"\b(?:(?:my|our|his|her|their|your|['’]s) [a-z-]+(?: [a-z-]+)?,?|(?:an)?other|an?|the|called|named|some) $",
    re.IGNORECASE,
)
_INTRODUCED_AFTER = re.compile(
    r"(?:, (?:my|our|his|her|their|an?|the|from)|(?: is| was) (?:my|our|his|her|their)| from| the [a-z]+)\b",
    re.IGNORECASE,
)
_FULL_NAME = re.compile(r"\w| [A-Z]")
_FAMILY_WORDS = tuple(
    word_set(words)
    for words in (
        "mum mom mam mama mummy mommy mother ma",
        "dad daddy father papa pa",
        "grandmother grandma granny gran nan nana oma nonna abuela",
        "grandfather grandpa grandad granddad opa nonno abuelo",
    )
)
_FAMILY_WORD = "|".join(sorted((word for group in _FAMILY_WORDS for word in group), key=len, reverse=True))
_NAMED_FAMILY_WORD = re.compile(
    rf"\b[Mm]y (?P<word>{_FAMILY_WORD})(?:(?: is|['’]s)(?: called| named)?|['’]s name is|,)? "
    r"(?P<name>[A-ZÀ-Þ][\w-]*[a-zß-ÿ])(?! [A-Z])\b"
)
_FAMILY_WORD_AS_NAME = re.compile(
    r"(?P<owner>(?:\b(?:[Mm]y|[Oo]ur|[Yy]our|[Hh]is|[Hh]er|[Tt]heir|[Tt]he|[Aa]n?)|['’]s) )?"
    rf"\b(?P<word>{_FAMILY_WORD.title()})\b(?! [A-Z])"
)
Pair = tuple[str, str]


def alias_events(index: Index, sources: Iterable[Memory], now: datetime, observed_by: str) -> list[Event]:
    """The events that register names of the sources as names of one entity. Use it with the lock of the index."""
    known = KnownEntities(index, index.catalog.position)
    aliases: dict[str, dict[str, None]] = {}
    for source in sources:
        names = [mention.name for mention in source.mentions if mention.kind in _KINDS]
        pairs = [*find_aliases(source.text), *(pair for name in names for pair in _pairs(index, source, name, names))]
        if source.turn is None or source.turn.speaker == SELF:
            pairs += _family_word_pairs(known, source.text, names, now)
        for name, alias in pairs:
            aliases.setdefault(name, {})[alias] = None
    events: list[Event] = []
    for name, others in _group_by_longest_name(aliases).items():
        alias_by_name = {normalize_name(other): Alias(other) for other in others}
        plan = plan_registration(
            known, name, _unregistered(known, name, alias_by_name.values(), now), None, observed_by, now
        )
        if plan.event is not None and plan.added:
            events.append(plan.event)
    return events


def _unregistered(known: KnownEntities, name: str, aliases: Iterable[Alias], now: datetime) -> list[Alias]:
    """The aliases that are not registered as names of another entity."""
    available: list[Alias] = []
    for alias in aliases:
        try:
            plan_registration(known, name, [alias], None, None, now)
        except InvalidInput:
            continue
        available.append(alias)
    return available


def _group_by_longest_name(aliases: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The same aliases, each with the name that is an alias of no other: Liz of Liz Nwosu of Elizabeth Nwosu."""
    name_of = {normalize_name(alias): name for name, others in aliases.items() for alias in others}
    groups: dict[str, list[str]] = {}
    for name, others in aliases.items():
        passed = {name}
        while (fuller := name_of.get(normalize_name(name))) is not None and fuller not in passed:
            name = fuller
            passed.add(name)
        groups.setdefault(name, []).extend(dict.fromkeys(others))
    return groups


def _pairs(index: Index, source: Memory, name: str, names: list[str]) -> Iterator[Pair]:
    """A name of a text, and other names of the same person in the text and in the space."""
    spellings, kinds, similar = index.names.spellings, index.names.kinds, index.registry.similar_names
    numbers = dict.fromkeys(similar.candidates(name))
    if " " not in name and len(name) <= 20:
        stems = (stem_of(name.casefold())[:3], *full_forms(name.casefold()))
        numbers |= dict.fromkeys(number for stem in stems for number in similar.with_first_letters(stem))
    others = {spellings[n]: n for n in numbers if kinds[n] in _KINDS and spellings[n] != name}
    as_short = {other: same_person(name, other) for other in others}
    as_full = {other: same_person(other, name) for other in others}
    for other in others:
        if SamePerson.SHORT_FORM in (as_short[other], as_full[other]) and not _are_together(index, name, other):
            yield (other, name) if as_short[other] else (name, other)
    if _is_introduced(source.text, name):
        return
    bearers = [other for other, relation in as_short.items() if relation is SamePerson.SURNAME]
    if len(bearers) == 1:
        yield bearers[0], name
    bare = [other for other, relation in as_full.items() if relation is SamePerson.SURNAME]
    if all(other in bare or _surname(other) != _surname(name) for other in others):
        yield from ((name, other) for other in bare)
    own = index.names.number(name)
    for relations in ((SamePerson.FIRST_NAME, SamePerson.NICKNAME), (SamePerson.FIRST_NAME,), (SamePerson.NICKNAME,)):
        # In this text, or earlier; then a first name as it is comes before a short form.
        full = [other for other, relation in as_short.items() if relation in relations]
        here = [other for other in full if other in names]
        earlier = [other for other in full if own is not None and others[other] < own]
        if len(here) == 1:
            yield here[0], name
            return
        if len(relations) == 1 and earlier and _is_first_mention(index, source, name):
            if len(earlier) == 1:
                yield earlier[0], name
            return


def _are_together(index: Index, name: str, other: str) -> bool:
    """Whether a memory names both, which means two people: "Beth Rourke and Bethan Rourke are cousins"."""
    return not _rows_with(index, name).isdisjoint(_rows_with(index, other))


def _is_first_mention(index: Index, source: Memory, name: str) -> bool:
    own = index.require_number(source.id)
    return all(index.catalog.memory_of(row) == own for row in _rows_with(index, name))


def _rows_with(index: Index, name: str) -> set[Row]:
    number = index.names.number(name)
    return set() if number is None else {*index.graph.rows_mentioning(number).tolist()}


def _surname(name: str) -> str:
    return name.rpartition(" ")[2].casefold()


def _is_introduced(text: str, name: str) -> bool:
    """Whether a text says itself who is meant: "my sister Ana", "Ana, my sister", "Ana from work", "another Ana"."""
    end = 0
    while (start := text.find(name, end)) >= 0:
        end = start + len(name)
        before = text[max(0, start - 40) : start]
        if _INTRODUCED_AFTER.match(text, end) or (
            _INTRODUCED_BEFORE.search(before) and not _FULL_NAME.match(text, end)
        ):
            return True
    return False


def _family_word_pairs(known: KnownEntities, text: str, names: list[str], now: datetime) -> Iterator[Pair]:
    """Mum, my mum and my mother, and the only name given for her: "my mum is called Gudrun"."""
    for introduction in _NAMED_FAMILY_WORD.finditer(text):
        name, word = introduction["name"], introduction["word"]
        if name in names:
            yield from ((name, alias) for alias in (f"my {word}", word.capitalize()))
    for word in {match["word"] for match in _FAMILY_WORD_AS_NAME.finditer(text) if not match["owner"]}:
        group = next(group for group in _FAMILY_WORDS if word.lower() in group)
        ids = {id_ for other in group if (id_ := known.find_id(f"my {other}", now)) is not None}
        entities = [entity for id_ in ids if (entity := known.get(id_)) is not None]
        named = [entity for entity in entities if not entity.name.startswith("my ")]
        if len(named) == 1:
            yield named[0].name, word

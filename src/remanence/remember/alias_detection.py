"""Names of one person or thing: they are registered as names of one entity, which can be undone.

1. The text states it: "Katherine Holm, whom everyone calls Katie" (`find_aliases`).
2. A short form with the same surname, unless a memory names both: Liz Nwosu and Elizabeth Nwosu; an initial, or a
   missing middle name, where one person in the space fits: J. Alvarez and Julia Alvarez.
3. A surname alone, or with a title, where one person in the space has it: Prof. Ingrid Solheim, and Solheim.
4. A first name or a short form of it in the same text as the only full name with it: "cake for Liz. Liz Nwosu as head
   of sales"; or in a later text, if no other person has it and the text does not introduce another person.
5. The words that introduce a relative, "my sister Ana", and an e-mail address made of the only name that fits.
6. Mum, Dad, Granny, where only one such relative has a name: "my mum is called Gudrun".
7. An acronym of three letters and more, and the only name with these initials.

A name that is also a place, a firm or an ordinary word gets no alias.
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
from remanence.index.names.name_similarity import SamePerson, name_similarity, same_person
from remanence.schema import SELF, Alias, Memory
from remanence.text.lexicon.word_lists import load_pattern, word_set
from remanence.text.named_entities.alias_rules import AliasPair, find_aliases, full_forms
from remanence.text.text import normalize_name

_KINDS = ("person", "thing")
_CHARS_BEFORE = 40
"""Characters before a name that are read: "my sister" says whose name it is."""
_OWN_RELATIVE = re.compile(rf"\b(?:[Mm]y|[Oo]ur) ({load_pattern('relationship')}),? $")
_INTRODUCED_BEFORE = re.compile(
    r"\b(?:(?:my|our|his|her|their|your|['’]s) [a-z-]+(?: [a-z-]+)?,?|(?:an)?other|an?|the|called|named|some) $",
    re.IGNORECASE,
)
_INTRODUCED_AFTER = re.compile(
    r"(?:, (?:my|our|his|her|their|an?|the|from)|(?: is| was) (?:my|our|his|her|their)| from| the [a-z]+)\b",
    re.IGNORECASE,
)
_FULL_NAME = re.compile(r"\w| [A-Z]")
_RELATIVE = load_pattern("relationship")
_OTHERS_RELATIVE_BEFORE = re.compile(rf"(?:\b(?:his|her|their)|['’]s) (?:[a-z]+ )?(?:{_RELATIVE}),? $")
_OTHERS_RELATIVE_AFTER = re.compile(
    rf"(?:,| is| was) (?:(?:his|her|their)|[A-Z][\w. ]+['’]s) (?:[a-z]+ )?(?:{_RELATIVE})\b"
)
_OWN_RELATIVE_AFTER = re.compile(rf"(?:,| is| was) (?:my|our) (?:[a-z]+ )?({_RELATIVE})\b")
_PROFESSIONAL = word_set("doctor therapist teacher coach boss manager mentor colleague coworker vet dentist")
_FIRST = (SamePerson.FIRST_NAME, SamePerson.NICKNAME)
_SURNAME = (SamePerson.SURNAME,)
_SHORTENED = (SamePerson.INITIAL, SamePerson.MIDDLE_NAME)
_STEM = re.compile(r"(?:y|ie|i|ey|o)$")
_ACRONYM = re.compile(r"[A-Z]{3,6}")
_FAMILY_WORDS = tuple(
    word_set(words)
    for words in (
        "mum mom mam mama mummy mommy mother ma",
        "dad daddy father papa pa",
        "wife missus",
        "husband hubby",
        "grandmother grandma granny gran nan nana oma nonna abuela",
        "grandfather grandpa grandad granddad opa nonno abuelo",
        "mother-in-law",
        "father-in-law",
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


def alias_events(index: Index, sources: Iterable[Memory], now: datetime, observed_by: str) -> list[Event]:
    """The events that register names of the sources as names of one entity. Use it with the lock of the index."""
    known = KnownEntities(index, index.catalog.position)
    aliases: dict[str, dict[str, None]] = {}
    for source in sources:
        names = [mention.name for mention in source.mentions if mention.kind in (*_KINDS, "email")]
        pairs = [
            *find_aliases(source.text),
            *_pairs_in_text(source.text, names),
            *_pairs_in_space(index, source.text, names),
        ]
        pairs += [*_pairs_introduced_earlier(index, known, source, names, now), *_acronym_pairs(index, source)]
        if source.turn is None or source.turn.speaker == SELF:
            pairs += [
                *_relative_pairs(known, source.text, names, now),
                *_family_word_pairs(known, source.text, names, now),
            ]
        for pair in pairs:
            aliases.setdefault(pair.name, {})[pair.alias] = None
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


def _pairs_in_text(text: str, names: list[str]) -> Iterator[AliasPair]:
    """A first name, and the only full name of the text with it; not "my sister Ana", who is introduced herself."""
    for name in names:
        if _is_introduced(text, name):
            continue
        full = {other for other in names if same_person(name, other) in (SamePerson.FIRST_NAME, SamePerson.NICKNAME)}
        if len(full) == 1:
            yield AliasPair(full.pop(), name, "in one text")


def _is_introduced(text: str, name: str) -> bool:
    """Whether a text says itself who is meant: "my sister Ana", "Ana, my sister", "Ana from work", "another Ana"."""
    return any(
        (_INTRODUCED_BEFORE.search(before) and not _FULL_NAME.match(text, end)) or _INTRODUCED_AFTER.match(text, end)
        for before, end in _occurrences(text, name)
    )


def _occurrences(text: str, name: str) -> Iterator[tuple[str, int]]:
    """The words before each occurrence of a name, and where it ends."""
    end = 0
    while (start := text.find(name, end)) >= 0:
        end = start + len(name)
        yield text[max(0, start - _CHARS_BEFORE) : start], end


def _pairs_introduced_earlier(
    index: Index, known: KnownEntities, source: Memory, names: list[str], now: datetime
) -> Iterator[AliasPair]:
    """A first name or a short form of it, and the only full name with it, if the full name was mentioned earlier:
    "Petra Lang …", then "Petra". A short form counts only at its first mention. A relative who was introduced by the
    short name is another person."""
    spellings, kinds, similar = index.names.spellings, index.names.kinds, index.registry.similar_names
    for name in names:
        own = index.names.number(name)
        if own is None or " " in name or _is_introduced(source.text, name) or _is_relative(known, name, now):
            continue
        short = name.casefold()
        numbers = dict.fromkeys([*similar.candidates(name), *similar.with_first_letters(_STEM.sub("", short)[:3])])
        for full in full_forms(short):
            numbers |= dict.fromkeys(similar.with_first_letters(full))
        fits = {
            number: relation
            for number in numbers
            if number < own and kinds[number] in _KINDS and (relation := same_person(name, spellings[number])) in _FIRST
        }
        full_names = [number for number, relation in fits.items() if relation is SamePerson.FIRST_NAME]
        if not full_names and _is_first_mention(index, own, source):
            full_names = list(fits)
        people = {known.find_id(spellings[number], now) or spellings[number] for number in full_names}
        if len(people) == 1:
            fullest = max(full_names, key=lambda number: len(spellings[number]))
            yield AliasPair(spellings[fullest], name, "the only one with this first name")


def _is_first_mention(index: Index, name: int, source: Memory) -> bool:
    rows = index.graph.rows_mentioning(name).tolist()
    return all(index.catalog.memory_of(row) == index.require_number(source.id) for row in rows)


def _is_relative(known: KnownEntities, name: str, now: datetime) -> bool:
    """Whether a person of this name was introduced as a relative of the writer."""
    entity_id = known.find_id(name, now)
    entity = known.get(entity_id) if entity_id is not None else None
    return entity is not None and any(alias.name.startswith("my ") for alias in entity.aliases)


def _acronym_pairs(index: Index, source: Memory) -> Iterator[AliasPair]:
    """An acronym, and the only name of the space with these initials."""
    spellings, kinds = index.names.spellings, index.names.kinds
    for mention in source.mentions:
        if not _ACRONYM.fullmatch(mention.name):
            continue
        similar = (
            number for number in index.registry.similar_names.candidates(mention.name) if kinds[number] != "person"
        )
        full = [spellings[n] for n in similar if " " in spellings[n] and name_similarity(mention.name, spellings[n])]
        if len(full) == 1:
            yield AliasPair(full[0], mention.name, "its initials")


def _family_word_pairs(known: KnownEntities, text: str, names: list[str], now: datetime) -> Iterator[AliasPair]:
    """Mum, my mum and my mother, and the only name given for her: "my mum is called Gudrun"."""
    for introduction in _NAMED_FAMILY_WORD.finditer(text):
        name, word = introduction["name"], introduction["word"]
        if name in names:
            yield from (AliasPair(name, alias, "said of a relative") for alias in (f"my {word}", word.capitalize()))
    for word in {match["word"] for match in _FAMILY_WORD_AS_NAME.finditer(text) if not match["owner"]}:
        group = next(group for group in _FAMILY_WORDS if word.lower() in group)
        ids = {id_ for other in group if (id_ := known.find_id(f"my {other}", now)) is not None}
        entities = [entity for id_ in ids if (entity := known.get(id_)) is not None]
        named = [entity for entity in entities if not entity.name.startswith("my ")]
        if len(named) == 1:
            yield AliasPair(named[0].name, word, "the only one")


def _relative_pairs(known: KnownEntities, text: str, names: list[str], now: datetime) -> Iterator[AliasPair]:
    """The name of a relative of the writer, and the words that introduce it: "my sister Ana" is Ana. A second
    relative with that name gets none."""
    for name in names:
        introductions = [
            _OWN_RELATIVE.search(before) for before, end in _occurrences(text, name) if not _FULL_NAME.match(text, end)
        ]
        relations = {found[1] for found in introductions if found}
        if len(relations) != 1:
            continue
        alias = f"my {relations.pop()} {name}"
        found = known.find_id(name, now)
        entity = known.get(found) if found is not None else None
        if entity is None or all(not a.name.startswith("my ") or a.name == alias for a in entity.aliases):
            yield AliasPair(name, alias, "said of a relative")


def _pair_from_address(address: str, index: Index) -> Iterator[AliasPair]:
    """The only person whose name an e-mail address is made of: chidi.okafor@ or c.okafor@ of Chidi Okafor."""
    first, _, last = address.partition("@")[0].lower().partition(".")
    if len(last) < 3:
        return
    spellings, kinds = index.names.spellings, index.names.kinds
    similar = [spellings[n] for n in index.registry.similar_names.candidates(last) if kinds[n] in _KINDS]
    full = [name for name in similar if name.lower().startswith(first) and name.lower().endswith(f" {last}")]
    if len(full) == 1:
        yield AliasPair(full[0], address, "made of the name")


def _pairs_in_space(index: Index, text: str, names: list[str]) -> Iterator[AliasPair]:
    """The only person of the space with this surname, and those with a short form of the first name."""
    spellings, kinds = index.names.spellings, index.names.kinds
    for name in names:
        similar = [number for number in index.registry.similar_names.candidates(name) if kinds[number] in _KINDS]
        matches = {spellings[n]: same_person(name, spellings[n]) for n in similar if spellings[n] != name}
        reverse = {other: same_person(other, name) for other in matches}
        for other in matches:
            full, short = (other, name) if matches[other] is SamePerson.SHORT_FORM else (name, other)
            if SamePerson.SHORT_FORM in (matches[other], reverse[other]) and not _mentioned_together(
                index, full, short
            ):
                yield AliasPair(full, short, "a short form of the first name")
        if "@" in name:
            yield from _pair_from_address(name, index)
        if _is_relative_of_other(text, name):
            continue  # Dr. Okafor, and Ngozi Okafor, his daughter
        for relations in (_SURNAME, _SHORTENED):
            bearers = [other for other, relation in matches.items() if relation in relations]
            if len(bearers) == 1:
                yield AliasPair(bearers[0], name, "the only one with this surname")
            bare = [other for other, relation in reverse.items() if relation in relations]
            others = [other for other in matches if other not in bare and _surname(other) == _surname(name)]
            if bare and not others and not _is_own_relative(text, name):
                yield from (AliasPair(name, other, "the only one with this surname") for other in bare)


def _mentioned_together(index: Index, name: str, other: str) -> bool:
    """Whether a memory names both, which means two people: "Beth Rourke and Bethan Rourke are cousins"."""
    numbers = [index.names.number(mentioned) for mentioned in (name, other)]
    rows = [set(index.graph.rows_mentioning(number).tolist()) for number in numbers if number is not None]
    return len(rows) == len(numbers) and not rows[0].isdisjoint(rows[1])


def _is_own_relative(text: str, name: str) -> bool:
    """Whether a text states a private relationship of a person to the writer: "Ann Shah is my neighbour"."""
    introductions = (_OWN_RELATIVE_AFTER.match(text, end) for _, end in _occurrences(text, name))
    return any(found[1] not in _PROFESSIONAL for found in introductions if found)


def _is_relative_of_other(text: str, name: str) -> bool:
    """Whether a text calls a person the relative of a third person: "his son, Jack Thornton"."""
    return any(
        _OTHERS_RELATIVE_BEFORE.search(before) or _OTHERS_RELATIVE_AFTER.match(text, end)
        for before, end in _occurrences(text, name)
    )


def _surname(name: str) -> str:
    return name.rpartition(" ")[2].casefold()

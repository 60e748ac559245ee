"""Pairs of a new and an older memory for a model, and the verdicts in its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, cast

from remanence.language.rules.predicate_rules import claim_key
from remanence.language.text import normalize_name, tokens
from remanence.models.llm_replies import Row
from remanence.schema import Memory, Verdict, format_moment

MAX_MEMORY_CHARACTERS = 500
MAX_REASON_CHARACTERS = 200

CandidatePair: TypeAlias = tuple[int, Memory]
"""The index of a new memory, and an older one that it is compared with."""


def pair_rows(new: Sequence[Memory], pairs: Sequence[CandidatePair]) -> Iterator[Mapping[str, object]]:
    """Each new memory once, then the older ones by their indexes: a model would misspell ids."""
    for index in dict.fromkeys(index for index, _ in pairs):
        yield {"new": index, **_prompt_fields(new[index])}
    for position, (index, memory) in enumerate(pairs):
        yield {"old": position, "held_against_new": index, **_prompt_fields(memory)}


def parse_verdicts(rows: Sequence[Row], new: Sequence[Memory], pairs: Sequence[CandidatePair]) -> Iterator[Verdict]:
    """The verdicts on these pairs, one for each; other rows are ignored."""
    judged: set[int] = set()
    for row in rows:
        position = parse_index(row.get("old"), len(pairs))
        if position is None or position in judged or parse_index(row.get("new"), len(new)) != pairs[position][0]:
            continue
        index, memory = pairs[position]
        effect, why = row.get("says"), row.get("why")
        if effect == "extends" or (effect in ("updates", "contradicts") and have_common_subject(new[index], memory)):
            judged.add(position)
            reason = why[:MAX_REASON_CHARACTERS] if isinstance(why, str) else ""
            yield Verdict(index, memory.id, cast("Literal['updates', 'extends', 'contradicts']", effect), reason)


def have_common_subject(new: Memory, old: Memory) -> bool:
    """Whether two memories are about the same person or thing.

    >>> from remanence.schema import Triple
    >>> ann, bob = (Memory("", "", "", triples=(Triple(name, "lives_in", "Oslo"),)) for name in ("Ann", "Bob"))
    >>> have_common_subject(ann, ann), have_common_subject(ann, bob)
    (True, False)
    """
    new_subjects, old_subjects = _subjects(new), _subjects(old)
    if new_subjects and old_subjects:
        return not new_subjects.isdisjoint(old_subjects)
    return not set(tokens(new.text)).isdisjoint(tokens(old.text))


def _subjects(memory: Memory) -> set[str]:
    """What a memory is about: the subjects of its claims, else the people in it, else all names.

    The objects of claims are left out: two memories of people in one city are not about the city.
    """
    claimed = {(claim_key(triple) or ("", normalize_name(triple.subject)))[1] for triple in memory.triples}
    people = {normalize_name(mention.name) for mention in memory.mentions if mention.kind == "person"}
    return claimed or people or {normalize_name(mention.name) for mention in memory.mentions}


def parse_index(value: object, count: int) -> int | None:
    """An index below `count`, given as a number or as digits.

    >>> parse_index(1, 2), parse_index("1", 2), parse_index(2, 2), parse_index(True, 2)
    (1, 1, None, None)
    """
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        value = int(value)
    return value if type(value) is int and 0 <= value < count else None


def _prompt_fields(memory: Memory) -> dict[str, str]:
    fields = {"text": memory.text[:MAX_MEMORY_CHARACTERS], "learned": format_moment(memory.recorded_at)}
    return {**fields, "true": str(memory.valid)} if memory.valid.has_bound else fields

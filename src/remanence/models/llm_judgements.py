"""What a model is shown of new memories and the older ones beside them, and what it may say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, cast

from remanence.language.rules.predicate_rules import claim_key
from remanence.language.text import normalize_name, tokens
from remanence.models.llm_replies import Row
from remanence.schema import Memory, Verdict, format_moment

MAX_MEMORY_CHARACTERS = 500  # characters of a memory that are shown
LONGEST_REASON = 200

CandidatePair: TypeAlias = tuple[int, Memory]
"""The place of a new memory, and an older one that it is held against."""


def pair_rows(new: Sequence[Memory], pairs: Sequence[CandidatePair]) -> Iterator[Mapping[str, object]]:
    """Each new memory once, then the older ones by their places: a model would misspell an id."""
    for number in dict.fromkeys(number for number, _ in pairs):
        yield {"new": number, **_shown(new[number])}
    for place, (number, memory) in enumerate(pairs):
        yield {"old": place, "held_against_new": number, **_shown(memory)}


def parse_verdicts(rows: Sequence[Row], new: Sequence[Memory], pairs: Sequence[CandidatePair]) -> Iterator[Verdict]:
    """The verdicts on pairs that there are, one for each; what is not a verdict is passed over."""
    judged: set[int] = set()
    for row in rows:
        place = parse_index(row.get("old"), len(pairs))
        if place is None or place in judged or parse_index(row.get("new"), len(new)) != pairs[place][0]:
            continue
        number, memory = pairs[place]
        says = row.get("says")
        if says == "extends" or (says in ("updates", "contradicts") and have_common_subject(new[number], memory)):
            judged.add(place)
            why = row.get("why")
            yield Verdict(
                number,
                memory.id,
                cast("Literal['updates', 'extends', 'contradicts']", says),
                why[:LONGEST_REASON] if isinstance(why, str) else "",
            )


def have_common_subject(new: Memory, old: Memory) -> bool:
    """Whether two memories can be about one matter: about somebody or something in common.

    >>> from remanence.schema import Triple
    >>> ann, bob = (Memory("", "", "", triples=(Triple(who, "lives_in", "Oslo"),)) for who in ("Ann", "Bob"))
    >>> have_common_subject(ann, ann), have_common_subject(ann, bob)
    (True, False)
    """
    both = _about(new), _about(old)
    if all(both):
        return not both[0].isdisjoint(both[1])
    return not set(tokens(new.text)).isdisjoint(tokens(old.text))


def _about(memory: Memory) -> set[str]:
    """Whom or what a memory is about: what it makes claims of, else the people in it, else all names.

    A place that two people live in is in both memories, and neither is about it.
    """
    claimed = {(claim_key(triple) or ("", normalize_name(triple.subject)))[1] for triple in memory.triples}
    people = {normalize_name(mention.name) for mention in memory.mentions if mention.kind == "person"}
    return claimed or people or {normalize_name(mention.name) for mention in memory.mentions}


def parse_index(value: object, count: int) -> int | None:
    """A place among so many, as a number or as digits.

    >>> parse_index(1, 2), parse_index("1", 2), parse_index(2, 2), parse_index(True, 2)
    (1, 1, None, None)
    """
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        value = int(value)
    return value if type(value) is int and 0 <= value < count else None


def _shown(memory: Memory) -> dict[str, str]:
    known = {"text": memory.text[:MAX_MEMORY_CHARACTERS], "learned": format_moment(memory.recorded_at)}
    return {**known, "true": str(memory.valid)} if memory.valid.has_bound else known

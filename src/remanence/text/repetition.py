"""Which hits repeat another one: a fact beside the text it was found in, or the same statement told again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from remanence.schema import ASSISTANT, RULES, SELF, Hit, Memory
from remanence.text.text import MAX_PASSAGE, normalize_text, tokens

FILLER = frozenset(tokens("said told mention mentioned remember remembered earlier noted know user yes okay sure say"))
"""Words that make no other statement: "The user told me" is the same as "I"."""
NEGATION_PATTERN = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|without|cannot|stopped|quit)\b|(?:n['’]|\b(?:do|does|did|is|was|ca|wo)n)t\b",
    re.IGNORECASE,
)
"""Words that make a statement the opposite one, also as they are often typed: "dont"."""
_KEPT_WORDS = re.compile(
    r"\b(?:no|not|never|without|cannot|\w+n['’]t|he|she|it|they|him|her|them|his|its|their)\b", re.IGNORECASE
)
"""Stop words that make another statement: negations, and pronouns of the third person."""


def drop_repeated(hits: Iterable[Hit]) -> list[Hit]:
    """The hits without those that repeat an earlier one: a fact and the text it was found in, or the same statement of
    the same person, at the same time if both have one. A fact that is nearer to the question than its text takes the
    place of that."""
    hits = _with_facts_for_texts(list(hits))
    kept: list[Hit] = []
    ids: set[str] = set()
    sources: set[str] = set()
    statements: dict[tuple[object, ...], list[Hit]] = {}
    for hit in hits:
        same = statements.setdefault((statement_of(hit.memory), hit.current), [])
        is_pair = hit.memory.id in sources or not ids.isdisjoint(hit.found_in)
        if is_pair or any(same_time(hit.memory, other.memory) for other in same):
            continue
        same.append(hit)
        ids.add(hit.memory.id)
        sources.update(hit.found_in)
        kept.append(hit)
    return kept


def _with_facts_for_texts(hits: Sequence[Hit]) -> list[Hit]:
    """The hits with the nearest fact of a text in its place, if that is nearer to the question than the text."""
    place_of = {hit.memory.id: place for place, hit in enumerate(hits)}
    order = [float(place) for place in range(len(hits))]
    for place, hit in enumerate(hits):
        for source in hit.found_in:
            at = place_of.get(source, place)
            if at < place and hit.by != RULES and _nearness(hit) >= _nearness(hits[at]):
                order[place] = min(order[place], at - 0.5)
    return [
        hits[place] for place in sorted(range(len(hits)), key=lambda place: (order[place], -_nearness(hits[place])))
    ]


def _nearness(hit: Hit) -> float:
    """How near a hit is to the question in meaning."""
    return max((evidence.raw_score for evidence in hit.evidence if evidence.signal == "vectors"), default=0.0)


def drop_derived(hits: Iterable[Hit]) -> list[Hit]:
    """The hits without the later one of a fact and the text it was found in."""
    kept: list[Hit] = []
    for hit in hits:
        if not any(hit.memory.id in other.found_in or other.memory.id in hit.found_in for other in kept):
            kept.append(hit)
    return kept


def content_words(text: str) -> list[str]:
    """The words of a text that make its statement, in order; negations and pronouns of the third person do."""
    return [*tokens(text), *(word.lower().replace("’", "'") for word in _KEPT_WORDS.findall(text))]


def comparable_text(text: str) -> str:
    """A text with its spacing and case normalised; one of several passages as it is, so that comparing a pasted log
    takes no time."""
    return normalize_text(text) if len(text) <= MAX_PASSAGE else text


def statement_of(memory: Memory) -> tuple[object, ...]:
    """What a memory says, and of whom. What a text of several passages says is said again only by the same text."""
    speaker = memory.observed_by if memory.turn is None else memory.turn.speaker
    is_long = len(memory.text) > MAX_PASSAGE
    words = () if is_long else tuple(word for word in content_words(memory.text) if word not in FILLER)
    # "I" is the user, and so is "you" where the assistant speaks.
    return words or comparable_text(memory.text), None if speaker in (SELF, ASSISTANT) else speaker


def same_time(one: Memory, other: Memory) -> bool:
    """Whether two memories may be of the same time. A chat turn has the time at which it was said."""
    windows = [memory.valid for memory in (one, other) if memory.turn is None and memory.valid.has_bound]
    return len(windows) < 2 or windows[0] == windows[1]

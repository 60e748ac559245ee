"""What keeps memories apart that are near in meaning.

Embeddings hardly tell "she likes tea" from "she does not like tea", nor one door code from another. What
would be wrong to merge is for a person to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from remanence.core.index import Index
from remanence.upkeep.merged_text import NEGATION_PATTERN, NUMBER_PATTERN
from remanence.upkeep.scored_memories import ScoredMemories, ScoredMemory


def find_conflict(index: Index, memories: ScoredMemories, items: Sequence[ScoredMemory]) -> str | None:
    """Why these memories should not become one; None if nothing speaks against it."""
    if any(item.memory.key is not None for item in items):
        return "one is kept under a key, and its next version would be hidden"
    if len({item.memory.observed_by for item in items}) > 1:
        return "different people say so"
    windows = {item.memory.valid for item in items if item.memory.valid.has_bound}
    if len(windows) > 1:
        return "they are about different times"
    if clash := _clash(index, memories, items):
        return f"they disagree about {clash}"
    for one, other in combinations((item.memory.text for item in items), 2):
        if bool(NEGATION_PATTERN.search(one)) != bool(NEGATION_PATTERN.search(other)):
            return "one of them says no"
        if _differ(set(NUMBER_PATTERN.findall(one)), set(NUMBER_PATTERN.findall(other))):
            return "they name different numbers"
    return None


def _clash(index: Index, there: ScoredMemories, items: Sequence[ScoredMemory]) -> str | None:
    """What two of these memories claim different things of."""
    rows = {item.row for item in items}
    numbers = {index.catalog.memory_of(row) for row in rows}
    with index.lock:
        for row in rows:
            if not numbers.isdisjoint(index.links.contradicting(index.catalog.memory_of(row), there.snapshot)):
                return "something, as a link says"
            for other, how, about in index.relations.disagreements(row, there.snapshot):
                if other in rows and how != "coexistence":
                    return about.replace("_", " ")
    return None


def _differ(one: set[str], other: set[str]) -> bool:
    """Whether each names a number that the other does not."""
    return bool(one - other) and bool(other - one)

"""Links memories that are about the same entities and have no link yet.

Pairs are found with an inverted index of the entities they share, two at a time. Two entities that very many
memories mention together say little about any two of those: no pairs are looked for through them, but they
count in the score of a pair.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import log
from typing import Any

from remanence.events import Linked, Remembered
from remanence.index.engine.identity import new_id
from remanence.index.index import Index
from remanence.ports import Progress
from remanence.schema import Mention
from remanence.text.text import pluralize
from remanence.upkeep.plans import Change, Plan, are_linked, batches, entity_id
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import ScoredMemories

OBSERVED_BY = "upkeep"
_MIN_SHARED_ENTITIES = 2
"""Entities that two memories have in common, at least, to be related: one alone relates too much."""
_MAX_LINKS = 5
_MAX_GROUP = 64
"""Memories that mention an entity, at most, for pairs to be looked for through it. It limits the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedPair(Change):
    """Two related memories: how strongly, why, and the names and tags that they share."""

    source: str
    target: str
    score: float
    why: str
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def row(self) -> tuple[object, ...]:
        return self.score, self.source, self.target, self.why


def plan_links(
    step: str,
    index: Index,
    memories: ScoredMemories,
    pairs: Sequence[RelatedPair],
    parameters: Mapping[str, Any],
    *,
    is_recorded: bool = False,
) -> Plan[RelatedPair]:
    """The plan of a step that links these pairs."""
    return Plan(
        step=step,
        space=index.space,
        position=memories.position,
        items=tuple(pairs),
        verbs=("added", "add"),
        title=pluralize(len(pairs), "link"),
        columns=("score", "memory", "related to", "reason"),
        parameters=parameters,
        is_recorded=is_recorded,
    )


@dataclass(frozen=True, slots=True)
class _Node:
    """A memory with its entities and tags, and its ledger position if it has one yet."""

    memory: str
    entities: frozenset[str]
    tags: frozenset[str]
    position: int | None


def propose_links(
    index: Index,
    memories: ScoredMemories,
    settings: UpkeepSettings,
    progress: Progress | None = None,
    pending: Sequence[Remembered] = (),
) -> Plan[RelatedPair]:
    """The links that are missing; `pending` are memories that the same run is about to make."""
    name_of: dict[str, str] = {}

    @cache
    def id_of(name: str) -> str:
        id_ = entity_id(index, name, memories.position) or name
        name_of.setdefault(id_, name)
        return id_

    def node(memory: str, mentions: Sequence[Mention], tags: Sequence[str], position: int | None) -> _Node:
        return _Node(memory, frozenset(id_of(mention.name) for mention in mentions), frozenset(tags), position)

    nodes = [node(i.memory.id, i.memory.mentions, i.memory.tags, i.position) for i in memories.items]
    nodes += [node(version.memory, version.mentions, version.tags, None) for version in pending]
    pairs: list[RelatedPair] = []
    for (first, second), score in _best_pairs(nodes, settings.relate_above, progress):
        a, b = nodes[first], nodes[second]
        if are_linked(index, a.memory, b.memory, memories.snapshot):
            continue
        entities = tuple(sorted(name_of[entity] for entity in a.entities & b.entities))
        tags = tuple(sorted(a.tags & b.tags))
        why = f"both name {_enumerate(entities)}" + (f", and are tagged {_enumerate(tags)}" if tags else "")
        confidence = round(score, 4)
        link = Linked(
            new_id(), a.memory, "related_to", b.memory, confidence=confidence, observed_by=OBSERVED_BY, why=why
        )
        pairs.append(
            RelatedPair(
                source=a.memory,
                target=b.memory,
                score=confidence,
                why=why,
                entities=entities,
                tags=tags,
                sources={each.memory: each.position for each in (a, b) if each.position is not None},
                events=(link,),
            )
        )
    # The keys are part of the ledger format: later runs may compare them.
    parameters = {"shared": _MIN_SHARED_ENTITIES, "above": settings.relate_above, "most": _MAX_LINKS}
    return plan_links("discover", index, memories, pairs, parameters)


def _best_pairs(
    nodes: Sequence[_Node], min_score: float, progress: Progress | None
) -> list[tuple[tuple[int, int], float]]:
    """The best few pairs of each memory with their scores, the best first.

    Pairs that are linked already count among the few, so that a second run finds no more.
    """
    counts = Counter(entity for node in nodes for entity in node.entities)
    rarity = {entity: log(1 + len(nodes) / count) for entity, count in counts.items()}
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, node in enumerate(nodes):
        rarest = sorted(node.entities, key=lambda entity: (counts[entity], entity))[:12]
        for shared in combinations(rarest, 2):
            groups[shared].append(at)
    candidates: dict[int, list[tuple[float, tuple[int, int]]]] = defaultdict(list)
    pairs = {pair for group in groups.values() if len(group) <= _MAX_GROUP for pair in combinations(group, 2)}
    for batch in batches(list(pairs), 2_000, progress):
        for pair in batch:
            score = _score(nodes[pair[0]], nodes[pair[1]], rarity)
            if score >= min_score:
                for at in pair:
                    candidates[at].append((-score, pair))
    chosen = {pair: -negative for best in candidates.values() for negative, pair in sorted(best)[:_MAX_LINKS]}
    return sorted(chosen.items(), key=lambda item: (-item[1], item[0]))


def _score(a: _Node, b: _Node, rarity: Mapping[str, float]) -> float:
    """The share of entities, rare ones counting more, and of tags that two memories have in common."""
    both = a.entities & b.entities
    if len(both) < _MIN_SHARED_ENTITIES:
        return 0.0
    entities = sum(rarity[entity] for entity in both) / sum(rarity[entity] for entity in a.entities | b.entities)
    tags = len(a.tags & b.tags) / len(a.tags | b.tags) if a.tags or b.tags else 0.0
    return 0.7 * entities + 0.3 * tags


def _enumerate(names: Sequence[str]) -> str:
    """The names as a phrase.

    >>> _enumerate(["Alice", "Bob", "Porto", "Rome"]), _enumerate(["Alice", "Porto"]), _enumerate(["Alice"])
    ('Alice, Bob, Porto and 1 more', 'Alice and Porto', 'Alice')
    """
    more = len(names) - 3
    listed = [*names[:3], f"{more} more"] if more > 0 else names
    return " and ".join(part for part in (", ".join(listed[:-1]), listed[-1]) if part)

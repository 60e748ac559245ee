"""Links memories that are about the same entities and have no link yet.

Pairs are found with an inverted index of the entities they share, two at a time. Two entities that very many
memories mention together say little about any two of those: no pairs are looked for through them, but they
count in the score of a pair.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from math import log

from remanence.events import Event, Linked, Ran
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import new_id
from remanence.index.index import Index
from remanence.ports import Progress
from remanence.schema import Mention
from remanence.text.text import pluralize
from remanence.upkeep import plans
from remanence.upkeep.plans import Plan, ResultTable, StalePlan, batches, entity_id
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.consolidation import OBSERVED_BY, Merge
from remanence.upkeep.steps.decay import ScoredMemories

_MIN_SHARED_ENTITIES = 2
"""Entities that two memories have in common, at least, to be related: one alone relates too much. Chosen by hand; no
set measures proposed links."""
_MAX_LINKS = 5
"""Links of each memory that are proposed, the best."""
_MAX_GROUP = 64
"""Memories that mention an entity, at most, for pairs to be looked for through it. It limits the work."""
_MAX_ENTITIES = 12
"""Entities of a memory through which pairs are looked for, the rarest. It limits the work."""
_ENTITY_WEIGHT, _TAG_WEIGHT = 0.7, 0.3
"""The weight of common entities, rare ones more, and of common tags. Chosen by hand; no set measures proposed links."""
_BATCH = 2_000
"""Links that are written at once, and pairs that are compared at a time."""
_MAX_LISTED = 3
"""Names that a reason lists."""


@dataclass(frozen=True, slots=True)
class RelatedPair:
    """Two related memories: how strongly (`score` is the confidence of the link), why, and the names and tags that
    they share."""

    source: str
    target: str
    score: float
    why: str
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiscoveryPlan(Plan):
    """Which memories are to be linked."""

    relations: tuple[RelatedPair, ...]
    positions: dict[str, int]
    """The memories of the plan with the ledger positions of their versions."""
    min_score: float
    """The score from which on links are proposed."""

    def __len__(self) -> int:
        return len(self.relations)

    def __iter__(self) -> Iterator[RelatedPair]:
        return iter(self.relations)

    @property
    def table(self) -> ResultTable:
        rows = [(pair.score, pair.source, pair.target, pair.why) for pair in self.relations]
        title = f"discover: {self.verb('added', 'add')} {pluralize(len(self), 'link')}"
        return ResultTable(title, ("score", "memory", "related to", "reason"), rows)

    def check(self, engine: Engine, space: str) -> None:
        with engine.open_index(space) as index:
            pairs = [(pair.source, pair.target) for pair in self.relations]
            plans.check_current(index, self.positions, engine.now(), unlinked=pairs)

    def write(self, engine: Engine, space: str, run: str, progress: Progress | None) -> None:
        for batch in batches(self.relations, _BATCH, progress):
            engine.write(space, partial(self._link_events, run, batch))

    def _link_events(self, run: str, batch: Sequence[RelatedPair], index: Index) -> list[Event]:
        memories = {memory for pair in batch for memory in (pair.source, pair.target)}
        plans.check_unchanged(index, {memory: self.positions[memory] for memory in memories & self.positions.keys()})
        for memory in memories - self.positions.keys():
            if index.catalog.number(memory) is None:
                raise StalePlan(f"memory {memory!r}, which the same run was to make, has not been made")
        links = [
            Linked(new_id(), p.source, "related_to", p.target, confidence=p.score, observed_by=OBSERVED_BY, why=p.why)
            for p in batch
        ]
        # The keys are part of the ledger format: later runs may compare them.
        parameters = {"shared": _MIN_SHARED_ENTITIES, "above": self.min_score, "most": _MAX_LINKS}
        return [*links, Ran(run, "discover", self.position, parameters, edges=tuple(link.link for link in links))]


@dataclass(frozen=True, slots=True)
class _Node:
    """A memory with its entities and tags, and its ledger position if it has one yet."""

    memory: str
    entities: frozenset[str]
    tags: frozenset[str]
    position: int | None


def plan_related_links(
    index: Index,
    memories: ScoredMemories,
    settings: UpkeepSettings,
    progress: Progress | None = None,
    pending_merges: Sequence[Merge] = (),
) -> DiscoveryPlan:
    """The links that are missing; `pending_merges` are memories that the same run is about to make."""
    name_of: dict[str, str] = {}

    @cache
    def id_of(name: str) -> str:
        id_ = entity_id(index, name, memories.position) or name
        name_of.setdefault(id_, name)
        return id_

    def node(memory: str, mentions: Sequence[Mention], tags: Sequence[str], position: int | None) -> _Node:
        return _Node(memory, frozenset(id_of(mention.name) for mention in mentions), frozenset(tags), position)

    nodes = [node(i.memory.id, i.memory.mentions, i.memory.tags, i.position) for i in memories.items]
    nodes += [node(m.version.memory, m.version.mentions, m.version.tags, None) for m in pending_merges]
    relations: list[RelatedPair] = []
    positions: dict[str, int] = {}
    for (first, second), score in _best_pairs(nodes, settings.relate_above, progress):
        a, b = nodes[first], nodes[second]
        if not plans.are_linked(index, a.memory, b.memory, memories.snapshot):
            entities = tuple(sorted(name_of[entity] for entity in a.entities & b.entities))
            tags = tuple(sorted(a.tags & b.tags))
            why = f"both name {_enumerate(entities)}" + (f", and are tagged {_enumerate(tags)}" if tags else "")
            relations.append(RelatedPair(a.memory, b.memory, round(score, 4), why, entities, tags))
            positions |= {node.memory: node.position for node in (a, b) if node.position is not None}
    return DiscoveryPlan(tuple(relations), positions, settings.relate_above, position=memories.position)


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
        rarest = sorted(node.entities, key=lambda entity: (counts[entity], entity))[:_MAX_ENTITIES]
        for shared in combinations(rarest, 2):
            groups[shared].append(at)
    candidates: dict[int, list[tuple[float, tuple[int, int]]]] = defaultdict(list)
    pairs = {pair for group in groups.values() if len(group) <= _MAX_GROUP for pair in combinations(group, 2)}
    for batch in batches(list(pairs), _BATCH, progress):
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
    return _ENTITY_WEIGHT * entities + _TAG_WEIGHT * tags


def _enumerate(names: Sequence[str]) -> str:
    """The names as a phrase.

    >>> _enumerate(["Alice", "Bob", "Porto", "Rome"]), _enumerate(["Alice", "Porto"]), _enumerate(["Alice"])
    ('Alice, Bob, Porto and 1 more', 'Alice and Porto', 'Alice')
    """
    more = len(names) - _MAX_LISTED
    listed = [*names[:_MAX_LISTED], f"{more} more"] if more > 0 else names
    return " and ".join(part for part in (", ".join(listed[:-1]), listed[-1]) if part)

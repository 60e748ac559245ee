"""Memories that are about the same entities, though nobody has tied them together.

Pairs are found through the entities they share, two at a time, by an inverted index. Two entities that
very many memories name together say little about any two of those: pairs are not looked for through them,
but they count once found.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log
from typing import TYPE_CHECKING, Any

from remanence.core.identity import new_id
from remanence.core.index import Index
from remanence.events import Event, Linked, Ran
from remanence.language.text import pluralize
from remanence.schema import Mention
from remanence.upkeep.consolidation import OBSERVED_BY
from remanence.upkeep.existing_links import ExistingLinks
from remanence.upkeep.merging import Merge
from remanence.upkeep.scored_memories import ScoredMemories, StalePlan, check_current, check_unchanged
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.text_tables import format_table

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress

STEP = "discover"
_ENTITIES, _TAGS = 0.7, 0.3
_BATCH = 2_000
_SHOWN = 3
_LOOKED_THROUGH = 12
"""How many entities of a memory, the rarest, others are looked for through."""


@dataclass(frozen=True, slots=True)
class RelatedPair:
    """Two memories that belong together: how much, and why."""

    source: str
    target: str
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class DiscoveryPlan:
    """Which memories are to be related. It prints as a table; `space.upkeep.apply(plan)` does it."""

    relations: tuple[RelatedPair, ...]
    lines: tuple[tuple[str, int], ...]
    given: dict[str, Any]
    position: int
    run: str | None = None
    """The run that did this, once it was done."""

    def __len__(self) -> int:
        return len(self.relations)

    def __iter__(self) -> Iterator[RelatedPair]:
        return iter(self.relations)

    def __str__(self) -> str:
        done = f"run {self.run} drew" if self.run else "would draw"
        rows = [(each.score, each.source, each.target, each.why) for each in self.relations]
        title = f"discover: {done} {pluralize(len(self.relations), 'relation')}"
        return format_table(title, ("score", "memory", "related to", "because"), rows)


@dataclass(frozen=True, slots=True)
class _Node:
    """A memory as this step sees it: what it is about, and its line in the ledger if it has one yet."""

    memory: str
    entities: frozenset[str]
    tags: frozenset[str]
    line: int | None


def plan(
    index: Index,
    memories: ScoredMemories,
    settings: UpkeepSettings,
    progress: Progress | None = None,
    pending_merges: Sequence[Merge] = (),
) -> DiscoveryPlan:
    """Relations that nobody has drawn yet; `to_come` are memories that the same run is about to make."""
    names = _Names(index, memories.position)
    nodes = [
        _Node(i.memory.id, names.of(i.memory.mentions), frozenset(i.memory.tags), i.position) for i in memories.items
    ]
    nodes += [
        _Node(m.version.memory, names.of(m.version.mentions), frozenset(m.version.tags), None) for m in pending_merges
    ]
    best = _best(nodes, settings, progress)
    drawn = ExistingLinks(index, memories.snapshot)
    found = [
        RelatedPair(nodes[a].memory, nodes[b].memory, round(score, 4), names.reason(nodes[a], nodes[b]))
        for (a, b), score in best
        if not drawn(nodes[a].memory, nodes[b].memory)
    ]
    ends = {memory for each in found for memory in (each.source, each.target)}
    lines = tuple((node.memory, node.line) for node in nodes if node.memory in ends and node.line is not None)
    given = {"shared": settings.relate_shared, "above": settings.relate_above, "most": settings.relate_most}
    return DiscoveryPlan(tuple(found), lines, given, memories.position)


def check(engine: Engine, space: str, plan: DiscoveryPlan) -> None:
    """Refuse if a memory of the plan stands no more, or two of them were tied since."""
    with engine.open_index(space) as index:
        now = engine.now()
        check_current(index, dict(plan.lines), now)
        sight = index.snapshot(index.catalog.position, now)
        ExistingLinks(index, sight).check_unlinked((each.source, each.target) for each in plan.relations)


def write(engine: Engine, space: str, plan: DiscoveryPlan, run: str, progress: Progress | None = None) -> None:
    """Draw the links of the plan, some thousand in each transaction."""
    lines = dict(plan.lines)
    for begin in range(0, len(plan.relations), _BATCH):
        some = plan.relations[begin : begin + _BATCH]

        def decide(index: Index, some: Sequence[RelatedPair] = some) -> list[Event]:
            ends = {memory for each in some for memory in (each.source, each.target)}
            check_unchanged(index, {memory: lines[memory] for memory in ends & lines.keys()})
            for memory in ends - lines.keys():
                if index.catalog.number(memory) is None:
                    raise StalePlan(f"memory {memory!r}, which the same run was to make, has not been made")
            ties = [
                Linked(
                    new_id(), f.source, "related_to", f.target, confidence=f.score, observed_by=OBSERVED_BY, why=f.why
                )
                for f in some
            ]
            edges = tuple(tie.link for tie in ties)
            return [*ties, Ran(run, STEP, plan.position, plan.given, edges=edges)]

        engine.write(space, decide)
        if progress is not None:
            progress(begin + len(some), len(plan.relations))


def _best(
    nodes: Sequence[_Node], settings: UpkeepSettings, progress: Progress | None
) -> list[tuple[tuple[int, int], float]]:
    """The pairs that belong together most: of each memory the best few, all of them best first.

    Those that are drawn already count among the few, so that a second look finds nothing more.
    """
    naming = Counter(entity for node in nodes for entity in node.entities)
    rarity = {entity: log(1 + len(nodes) / count) for entity, count in naming.items()}
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, node in enumerate(nodes):
        rarest = sorted(node.entities, key=lambda entity: (naming[entity], entity))[:_LOOKED_THROUGH]
        for shared in combinations(rarest, min(settings.relate_shared, 2)):
            places[shared].append(place)
    ranked: dict[int, list[tuple[float, tuple[int, int]]]] = defaultdict(list)
    telling = [held for held in places.values() if 1 < len(held) <= settings.relate_hub]
    seen: set[tuple[int, int]] = set()
    for done, held in enumerate(telling, 1):
        for pair in combinations(held, 2):
            if pair in seen:
                continue
            seen.add(pair)
            score = _score(nodes[pair[0]], nodes[pair[1]], rarity, settings.relate_shared)
            if score >= settings.relate_above:
                for place in pair:
                    ranked[place].append((-score, pair))
        if progress is not None and done % 256 == 0:
            progress(done, len(telling))
    chosen = {pair: -score for best in ranked.values() for score, pair in sorted(best)[: settings.relate_most]}
    return sorted(chosen.items(), key=lambda each: (-each[1], each[0]))


def _score(a: _Node, b: _Node, rarity: Mapping[str, float], shared: int) -> float:
    """What they share of what they name, rare names counting more, and of their tags."""
    both = a.entities & b.entities
    if len(both) < shared:
        return 0.0
    named = sum(rarity[entity] for entity in both) / sum(rarity[entity] for entity in a.entities | b.entities)
    tagged = len(a.tags & b.tags) / len(a.tags | b.tags) if a.tags or b.tags else 0.0
    return _ENTITIES * named + _TAGS * tagged


class _Names:
    """Which entities mentions stand for, and what those are called."""

    def __init__(self, index: Index, position: int) -> None:
        self._index, self._position = index, position
        self._called: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def of(self, mentions: Sequence[Mention]) -> frozenset[str]:
        """The entities that these mentions stand for."""
        return frozenset(self._entity(mention.name) for mention in mentions)

    def reason(self, a: _Node, b: _Node) -> str:
        """Why two memories belong together, in words."""
        names = sorted(self._called[entity] for entity in a.entities & b.entities)
        named = _listed(names)
        tags = sorted(a.tags & b.tags)
        return f"both name {named}" + (f", and are tagged {_listed(tags)}" if tags else "")

    def _entity(self, name: str) -> str:
        entity = self._known.get(name)
        if entity is None:
            with self._index.lock:
                number = self._index.names.number(name)
                entity = name if number is None else self._index.registry.entity_of(number, self._position)
            self._known[name] = entity
            self._called.setdefault(entity, name)
        return entity


def _listed(names: Sequence[str]) -> str:
    """Names as one says them.

    >>> _listed(["Alice", "Bob", "Porto", "Rome"]), _listed(["Alice", "Porto"])
    ('Alice, Bob, Porto and 1 more', 'Alice and Porto')
    """
    if len(names) > _SHOWN:
        return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last

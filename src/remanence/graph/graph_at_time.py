"""The graph as one snapshot shows it at one moment, and the entities of a view.

Nodes are entities and memories. Edges are relations between entities, links between memories, and mentions: a memory
names an entity. A relation or link holds in its own window, a mention in the window of its memory. What has no date
holds from when it was learned. The mentions of an episode hold from its beginning on, without an end.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput, NotFound
from remanence.index.claims.relations import Direction
from remanence.index.index import Index
from remanence.index.names.entity_registry import EntityRegistry, is_entity_id
from remanence.index.numbers import Position, Row
from remanence.schema import EPOCH, Entity, Link, Memory, Relation, Snapshot, Window, format_moment
from remanence.text.text import is_name, normalize_name

if TYPE_CHECKING:
    from remanence.index.names.similar_names import NameSimilarity


@dataclass(frozen=True)
class KnownEntities:
    """The entities of an index as known at a position. Use it with the lock of the index."""

    index: Index
    position: Position

    @property
    def registry(self) -> EntityRegistry:
        return self.index.registry

    def get(self, entity_id: str) -> Entity | None:
        """The entity with this id, or the one that it was merged into."""
        return self.registry.get(entity_id, self.position, self._is_mentioned)

    def find_id(self, name: str, now: datetime, at: datetime | None = None) -> str | None:
        """The id of the entity with a name at the moment `at`; without `at`, the present owner or else the last one."""
        found = self.registry.find(name, self.position, now if at is None else at)
        return self.registry.find(name, self.position) if found is None and at is None else found

    def require(self, name_or_id: str, now: datetime) -> Entity:
        """The entity with this id or name; NotFound if there is none."""
        entity = self.get(name_or_id) if is_entity_id(name_or_id) else None
        if entity is None and (found := self.find_id(name_or_id, now)) is not None:
            entity = self.get(found)
        if entity is None:
            raise NotFound(
                f"space {self.index.space!r} has no entity {name_or_id!r}. "
                f"See space.entities.list(), or register it: space.entities.register({name_or_id!r})."
            )
        return entity

    def list_name_numbers(self, kind: str | None) -> list[int]:
        """The number of one name of each entity, or of each of one kind, in the order in which they were learned."""
        mentioned = self._mentioned_names()
        by_entity: dict[str, list[int]] = {}
        for number, entity, registered in self.registry.registered_names(self.position):
            if registered or mentioned[number]:
                by_entity.setdefault(entity, []).append(number)
            mentioned[number] = False
        spellings = self.index.names.spellings
        unregistered = [number for number in np.flatnonzero(mentioned).tolist() if is_name(spellings[number])]
        if kind is not None:
            unregistered = [number for number in unregistered if self.index.names.kinds[number] == kind]
        registered_first = [
            numbers[0]
            for entity, numbers in by_entity.items()
            if kind is None or self.registry.kind_of(entity, numbers, self.position) == kind
        ]
        return sorted(unregistered + registered_first)

    def similar_entities(self, name: str) -> Iterator[tuple[Entity, str, NameSimilarity]]:
        """Other entities with a name like this one: the entity, that name, and how similar it is."""
        found = {self.registry.find(name, self.position)}
        for number, similarity in self.registry.similar_names.find(name):
            entity_id = self.registry.entity_of(number, self.position)
            entity = None if entity_id in found else self.get(entity_id)
            form = normalize_name(self.index.names.spellings[number])
            spellings = (
                [] if entity is None else [spelling for spelling in entity.names if normalize_name(spelling) == form]
            )
            if entity is not None and spellings:
                found.add(entity_id)
                yield entity, spellings[0], similarity

    @cached_property
    def _visible(self) -> NDArray[np.bool_]:
        return self.index.catalog.visible_mask(self.position)

    @cached_property
    def _snapshot(self) -> Snapshot:
        # The time matters to what holds, not to which names are known.
        return self.index.snapshot(self.position, EPOCH)

    def _is_mentioned(self, number: int) -> bool:
        """Whether a visible memory or a stated relation has this name."""
        in_memory = bool(self._visible[self.index.graph.rows_mentioning(number)].any())
        return in_memory or self.index.relations.is_asserted(number, self._snapshot)

    def _mentioned_names(self) -> NDArray[np.bool_]:
        mask = np.zeros(len(self.index.names), np.bool_)
        mask[self.index.graph.names_in_rows(self._visible)] = True
        mask[list(self.index.relations.asserted_names(self._snapshot))] = True
        return mask


MENTIONS, NEXT_TURN = "mentions", "next_turn"

EntityRef: TypeAlias = str | Entity
"""An entity, its id, or any of its names."""
MemoryRef: TypeAlias = str | Memory
NodeRef: TypeAlias = str | Memory | Entity
"""A memory, an entity, the id of one, or a name."""


class GraphNode(NamedTuple):
    """An entity, by the number of one of its names, or a memory, by its row."""

    kind: Literal["entity", "memory"]
    number: int


class GraphEdge(NamedTuple):
    """An edge between two nodes. A mention or a next turn has neither a relation nor a link."""

    source: GraphNode
    target: GraphNode
    relation_or_link: Relation | Link | None = None

    @property
    def key(self) -> object:
        """What identifies the edge, from whichever end it is found. A relation that held twice has two keys."""
        edge = self.relation_or_link
        return (self.source, self.target) if edge is None else (edge.id, edge.valid.start)

    def other_end(self, node: GraphNode) -> GraphNode:
        return self.target if node == self.source else self.source


class GraphAtTime:
    """The graph of one snapshot at one moment. Use it with the lock of the index.

    A name means the entity that had it at `moment`; without a moment, its present or last owner. With `any_time`, the
    edges of all times are there.
    """

    def __init__(
        self, index: Index, snapshot: Snapshot, moment: datetime | None = None, *, any_time: bool = False
    ) -> None:
        self.index, self.snapshot = index, snapshot
        self.entities = KnownEntities(index, snapshot.position)
        self.at = None if any_time else moment or snapshot.now
        self._moment = moment
        self._first_names: dict[str, int] = {}  # by the id of an entity
        self._entity_numbers: dict[int, int] = {}  # by the number of a name
        self._rows = snapshot.row_mask
        if self.at is not None:
            window = Window.from_moment(self.at)
            self._rows = self._rows_valid(window) | self._rows_valid(replace(window, start=None), "episode")
            self._rows &= index.catalog.times.mask_started_by(self.at, index.catalog.text_rows)

    def find(self, node: object) -> GraphNode:
        """The node of a memory or an entity; NotFound if this snapshot has none."""
        if isinstance(node, Memory):
            return self._memory_node(node.id)
        name = node.id if isinstance(node, Entity) else node
        if not isinstance(name, str):
            problem = f"{node!r} is of type {type(node).__name__}"
            raise InvalidInput(f"{problem}. Give a memory, an entity, the id of one, or a name.")
        if self.index.catalog.number(name) is not None:
            return self._memory_node(name)
        number = self._name_number(name)
        if number is None or not self._is_known(number):
            raise NotFound(self._unknown(name))
        return self._entity_node(number)

    def name_numbers(self, node: GraphNode) -> list[int]:
        same = self.index.registry.names_of_same_entity(node.number, self.snapshot.position)
        return [number for number in same if self._entity_number(number) == node.number]

    def all_nodes(self) -> Iterator[GraphNode]:
        """Every entity that a visible memory or a relation names, and every visible memory, newest first."""
        named = self.index.graph.names_in_rows(self._rows).tolist()
        for number in dict.fromkeys(map(self._entity_number, [*named, *self.index.relations.name_numbers()])):
            if self._is_known(number):
                yield GraphNode("entity", number)
        for row in np.flatnonzero(self._rows)[::-1].tolist():
            yield GraphNode("memory", row)

    # All entities

    def all_entities(self) -> list[int]:
        """One number for each entity that is registered, or that a visible memory or a relation names."""
        return list(dict.fromkeys(map(self._entity_number, self.entities.list_name_numbers(None))))

    def entities_by_row(self) -> Iterator[tuple[Row, list[int]]]:
        """Each visible memory that names anything, by its row, with the numbers of the entities that it mentions."""
        registry, position = self.index.registry, self.snapshot.position
        owners: dict[int, int] = {}  # of each name that always belonged to one entity
        for row, names in self.index.graph.mentions_by_row(self._rows):
            found: dict[int, None] = {}
            for name in names:
                if (owner := owners.get(name)) is None:
                    owner = self._entity_number(self._owner_at_row(name, row))
                    if not registry.has_several_owners(name, position):
                        owners[name] = owner
                found[owner] = None
            yield row, list(found)

    def stated_relations(self) -> Iterator[tuple[int, int]]:
        """The numbers of the two entities of each relation that was stated without a memory."""
        for name, other in self._stated_names():
            entity, related = self._entity_number(name), self._entity_number(other)
            if entity < related:
                yield entity, related

    def _stated_names(self) -> Iterator[tuple[int, int]]:
        """The two names of each relation that was stated without a memory."""
        relations = self.index.relations
        for name in relations.asserted_names(self.snapshot):
            for other in relations.related_names(name, self.snapshot):
                yield name, other.name

    @property
    def state(self) -> Hashable:
        """What the entities, their mentions and stated relations depend on, at one position of the index."""
        return self.snapshot.position, blake2b(self._rows.tobytes()).digest(), tuple(self._stated_names())

    def entity(self, number: int) -> Entity | None:
        """The entity with this number."""
        return self.entities.get(self.index.registry.entity_of(number, self.snapshot.position))

    # Edges

    def edges(
        self, node: GraphNode, edge_names: Collection[str] | None, direction: Direction, limit: int
    ) -> tuple[list[GraphEdge], bool]:
        """The edges of a node with one of these names, and whether there may be more.

        Of an entity, at most `limit` relations and `limit` mentions are returned, the newest.
        """
        mentions = edge_names is None or MENTIONS in edge_names
        if node.kind == "memory":
            memory = self.index.catalog.memory_of(Row(node.number))
            links = self.index.links.links_of(memory, self.snapshot, kinds=edge_names, direction=direction, at=self.at)
            edges = [GraphEdge(self._memory_node(link.source), self._memory_node(link.target), link) for link in links]
            if edge_names is None or NEXT_TURN in edge_names:
                edges += self._adjacent_turns(node, direction)
            return edges + self._mentioned_in(node) if mentions and direction != "in" else edges, False
        found, more = self.index.relations.numbered_relations_of(
            node.number, self.snapshot, self.at, edge_names, direction, limit
        )
        to_node = self._entity_node
        edges = [GraphEdge(to_node(subject), to_node(object_), relation) for (subject, _, object_), relation in found]
        if mentions and direction != "out":
            rows = self.rows_naming(node)
            rows = rows[self._rows[rows]]
            edges += [GraphEdge(GraphNode("memory", row), node) for row in rows[-limit:].tolist()]
            more |= len(rows) > limit
        return edges, more

    def relations_between(self, one: GraphNode, other: GraphNode) -> list[GraphEdge]:
        """The relations between two entities."""
        if one.kind != "entity" or other.kind != "entity":
            return []
        found = self.index.relations.numbered_relations_between(one.number, other.number, self.snapshot, self.at)
        to_node = self._entity_node
        return [GraphEdge(to_node(subject), to_node(object_), relation) for (subject, _, object_), relation in found]

    def _adjacent_turns(self, node: GraphNode, direction: Direction) -> list[GraphEdge]:
        """From a turn to the next one, and from the one before, if they are visible."""
        before, after = map(self._visible_version, self.index.graph.adjacent_turns(Row(node.number)))
        edges = [] if before is None or direction == "out" else [GraphEdge(before, node)]
        return edges if after is None or direction == "in" else [*edges, GraphEdge(node, after)]

    def _visible_version(self, row: Row) -> GraphNode | None:
        """The version of the memory of a row in this snapshot; None if it has none, or for row -1."""
        if row < 0:
            return None
        number = self.index.catalog.memory_of(row)
        if number >= len(self.snapshot.memory_mask) or not self.snapshot.memory_mask[number]:
            return None
        visible = self.index.catalog.row_at(number, self.snapshot.position)
        return None if visible is None or not self._rows[visible] else GraphNode("memory", visible)

    def _mentioned_in(self, node: GraphNode) -> list[GraphEdge]:
        if not self._rows[node.number]:
            return []
        row = Row(node.number)
        names = (self._owner_at_row(name, row) for name in self.index.graph.names_in_row(row))
        return [GraphEdge(node, entity) for entity in dict.fromkeys(map(self._entity_node, names))]

    def rows_naming(self, node: GraphNode) -> NDArray[np.int64]:
        """The rows that name an entity, oldest first, visible or not."""
        names = self.index.registry.names_of_same_entity(node.number, self.snapshot.position)
        rows = [self._rows_with_name(name, node) for name in names]
        return rows[0] if len(rows) == 1 else np.unique(np.concatenate(rows))

    def _rows_with_name(self, name: int, node: GraphNode) -> NDArray[np.int64]:
        """The rows that have a name and mean this entity by it."""
        rows = self.index.graph.rows_mentioning(name)
        if not self.index.registry.has_several_owners(name, self.snapshot.position):
            return rows if self._entity_number(name) == node.number else rows[:0]
        meant = [self._entity_number(self._owner_at_row(name, row)) == node.number for row in rows.tolist()]
        return rows[np.array(meant, np.bool_)]

    def _owner_at_row(self, name: int, row: Row) -> int:
        """The number of a name of the entity that had this name at the time of a row."""
        registry, position = self.index.registry, self.snapshot.position
        if not registry.has_several_owners(name, position):
            return name
        return registry.name_of_past_owner(
            name, position, int(self.index.catalog.times.event_times(np.array([row]))[0])
        )

    # Nodes

    def _rows_valid(self, window: Window, kind: str | None = None) -> NDArray[np.bool_]:
        snapshot, catalog = self.snapshot, self.index.catalog
        rows = catalog.valid_mask(snapshot.row_mask, snapshot.position, now=snapshot.now, history=False, during=window)
        return rows if kind is None else rows & catalog.attributes.mask_with_kinds_and_tags((kind,), None)

    def _memory_node(self, memory_id: str) -> GraphNode:
        catalog = self.index.catalog
        number = catalog.number(memory_id)
        if number is None:
            raise NotFound(f"space {self.index.space!r} has no memory {memory_id!r}. Ids belong to one space.")
        row = catalog.row_at(number, self.snapshot.position) if self.snapshot.memory_mask[number] else None
        if row is None:
            raise NotFound(
                f"memory {memory_id!r} is not visible: it is forgotten or erased, or was learned later than this view. "
                "A view of another time may show it: space.as_of(...)."
            )
        return GraphNode("memory", row)

    def _entity_node(self, name: int) -> GraphNode:
        return GraphNode("entity", self._entity_number(name))

    def _entity_number(self, name: int) -> int:
        """One number for all the names of an entity: that of the name which was met first in this graph."""
        number = self._entity_numbers.get(name)
        if number is None:
            entity_id = self.index.registry.entity_of(name, self.snapshot.position)
            number = self._entity_numbers[name] = self._first_names.setdefault(entity_id, name)
        return number

    def _name_number(self, name: str) -> int | None:
        """The number of a name of the entity with this id or name."""
        if is_entity_id(name) and (number := self._display_name_number(name)) is not None:
            return number
        entity_id = self.entities.find_id(name, self.snapshot.now, self._moment)
        if entity_id is None:
            return None
        number = self.index.names.number(name)
        if number is None or self.index.registry.entity_of(number, self.snapshot.position) == entity_id:
            return number
        return self._display_name_number(entity_id)

    def _display_name_number(self, entity_id: str) -> int | None:
        entity = self.index.registry.get(entity_id, self.snapshot.position)
        return None if entity is None else self.index.names.number(entity.name)

    def _is_known(self, number: int) -> bool:
        """Whether an entity is registered, or a visible memory or a relation names it."""
        registry, position = self.index.registry, self.snapshot.position
        return bool(
            registry.is_registered(registry.entity_of(number, position), position)
            or self.snapshot.row_mask[self.rows_naming(self._entity_node(number))].any()
            or self.index.relations.relations_of(number, self.snapshot, limit=16)
        )

    def _unknown(self, name: str) -> str:
        similar = [repr(spelling) for _, spelling, _ in islice(self.entities.similar_entities(name), 3)]
        when = "" if self._moment is None else f" at {format_moment(self._moment)}"
        hint = f"Similar names are {', '.join(similar)}." if similar else "See space.entities.list()."
        return f"space {self.index.space!r} has no memory or entity {name!r}{when}. {hint}"

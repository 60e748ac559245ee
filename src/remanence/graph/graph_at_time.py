"""The graph as one view shows it at one moment: where things stand, and what they are tied to.

Entities stand there and memories. They are tied by relations between entities, by links between memories,
and by mentions: a memory names an entity. A relation or a link holds in its own window; a mention in the
window of its memory, and an episode, once it has happened, has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import datetime
from functools import wraps
from itertools import islice
from typing import Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index, RowErased
from remanence.errors import InvalidInput, NotFound
from remanence.graph.known_entities import KnownEntities
from remanence.schema import LINK_KINDS, Entity, Link, Memory, Relation, Snapshot, Window, format_moment
from remanence.state.entity_registry import is_entity_id
from remanence.state.relations import Direction

MENTIONS = "mentions"
_NEAR_NAMES = 3
_GLIMPSE = 16

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
NodeRef: TypeAlias = str | Memory | Entity
"""A memory, an entity, the id of one, or a name."""


class GraphNode(NamedTuple):
    """Where one may stand: at an entity, by the number of one of its names, or at a memory, by its row."""

    kind: Literal["entity", "memory"]
    number: int


class GraphEdge(NamedTuple):
    """What leads from one place to another: a relation, a link, or for a mention the memory alone."""

    source: GraphNode
    target: GraphNode
    relation_or_link: Relation | Link | None = None

    @property
    def key(self) -> object:
        """The same for the same tie, from whichever end it is seen. One that held twice is two."""
        return (
            (self.source, self.target)
            if self.relation_or_link is None
            else (self.relation_or_link.id, self.relation_or_link.valid.start)
        )

    def other_end(self, place: GraphNode) -> GraphNode:
        """The other end."""
        return self.target if place == self.source else self.source


class GraphAtTime:
    """What one sight shows at one moment. Use it under the lock of the index.

    A name stands for what it stood for `then`; without that, for what it does now, or did last. With
    `ever`, it shows what held at any moment.
    """

    def __init__(
        self, index: Index, snapshot: Snapshot, moment: datetime | None = None, *, any_time: bool = False
    ) -> None:
        self.index, self.snapshot = index, snapshot
        self.entities = KnownEntities(index, snapshot.position)
        self.at = None if any_time else moment or snapshot.now
        self._then = moment
        self._entities: dict[int, int] = {}  # by the number of a name
        self._first: dict[str, int] = {}  # by the id of an entity
        self._places: dict[int, GraphNode] = {}  # by the number of a name
        self._rows = snapshot.row_mask
        if self.at is not None:
            holding = Window.from_moment(self.at)
            self._rows = self._holding(holding) | self._holding(replace(holding, start=None), "episode")

    # Where things stand

    def find(self, given: object) -> GraphNode:
        """Where a memory or an entity stands; NotFound if this sight shows none."""
        if isinstance(given, Memory):
            return self._memory(given.id)
        name = given.id if isinstance(given, Entity) else given
        if not isinstance(name, str):
            what = f"{given!r} is of type {type(given).__name__}"
            raise InvalidInput(f"{what}. Give a memory, an entity, the id of one, or a name.")
        if self.index.catalog.number(name) is not None:
            return self._memory(name)
        number = self._called(name)
        if number is None or not self._shows(number):
            raise NotFound(self._unknown(name))
        return GraphNode("entity", self.entity(number))

    def entity(self, number: int) -> int:
        """One number for all the names of an entity: of the one that was met first on this ground."""
        found = self._entities.get(number)
        if found is None:
            found, registry, position = number, self.index.registry, self.snapshot.position
            if len(registry.same_entity(number, position)) > 1:
                found = self._first.setdefault(registry.entity_of(number, position), number)
            self._entities[number] = found
        return found

    def name_numbers(self, place: GraphNode) -> list[int]:
        """The names of an entity, by number."""
        same = self.index.registry.same_entity(place.number, self.snapshot.position)
        return [number for number in same if self.entity(number) == place.number]

    def all_nodes(self) -> Iterator[GraphNode]:
        """Every entity that a memory in sight names, or that a relation is about, and every memory."""
        named = self.index.graph.names_in_rows(self._rows).tolist()
        for number in dict.fromkeys(map(self.entity, [*named, *self.index.relations.name_numbers()])):
            if self._shows(number):
                yield GraphNode("entity", number)
        for row in np.flatnonzero(self._rows)[::-1].tolist():
            yield GraphNode("memory", row)

    # What they are tied to

    def edges(
        self, place: GraphNode, edge_names: Collection[str] | None, direction: Direction, limit: int
    ) -> tuple[list[GraphEdge], bool]:
        """The ties of a place, and whether there may be more.

        `names` keeps to relations, links and mentions of these names. Of an entity, at most so many
        relations and so many mentions are followed, the newest.
        """
        if place.kind == "memory":
            return [*self._links(place, edge_names, direction), *self._named_in(place, edge_names, direction)], False
        related, more = self._relations(place, edge_names, direction, limit)
        naming, even_more = self._naming(place, edge_names, direction, limit)
        return [*related, *naming], more or even_more

    def _relations(
        self, place: GraphNode, names: Collection[str] | None, direction: Direction, most: int
    ) -> tuple[list[GraphEdge], bool]:
        predicates = None if names is None else [name for name in names if name != MENTIONS]
        if predicates == []:
            return [], False
        found, more = self.index.relations.numbered_relations_of(
            place.number, self.snapshot, self.at, predicates, direction, most
        )
        return [
            GraphEdge(self._place(subject), self._place(object_), relation) for (subject, _, object_), relation in found
        ], more

    def _links(self, place: GraphNode, names: Collection[str] | None, direction: Direction) -> Iterator[GraphEdge]:
        kinds = None if names is None else [kind for kind in LINK_KINDS if kind in names]
        memory = self.index.catalog.memory_of(place.number)
        for link in self.index.links.links_of(memory, self.snapshot, kinds=kinds, direction=direction, at=self.at):
            yield GraphEdge(self._memory(link.source), self._memory(link.target), link)

    def _named_in(self, place: GraphNode, names: Collection[str] | None, direction: Direction) -> Iterator[GraphEdge]:
        if direction == "in" or not _wanted(names) or not self._rows[place.number]:
            return
        numbers = (self._meant(name, place.number) for name in self.index.graph.names_in_row(place.number))
        for entity in dict.fromkeys(map(self.entity, numbers)):
            yield GraphEdge(place, GraphNode("entity", entity))

    def _naming(
        self, place: GraphNode, names: Collection[str] | None, direction: Direction, most: int
    ) -> tuple[list[GraphEdge], bool]:
        if direction == "out" or not _wanted(names):
            return [], False
        rows = self.rows_naming(place)
        rows = rows[self._rows[rows]]
        ties = [GraphEdge(GraphNode("memory", row), place) for row in rows[-most:].tolist()]
        return ties, len(rows) > most

    def rows_naming(self, place: GraphNode) -> NDArray[np.int64]:
        """The rows that name an entity by what it was called then, oldest first, whoever may see them."""
        names = self.index.registry.same_entity(place.number, self.snapshot.position)
        each = [self._rows_saying(name, place) for name in names]
        return each[0] if len(each) == 1 else np.unique(np.concatenate(each))

    def _rows_saying(self, name: int, place: GraphNode) -> NDArray[np.int64]:
        """The rows that say a name and mean this entity by it."""
        rows = self.index.graph.rows_mentioning(name)
        if not self.index.registry.has_several_owners(name, self.snapshot.position):
            return rows if self.entity(name) == place.number else rows[:0]
        meaning = [self.entity(self._meant(name, row)) == place.number for row in rows.tolist()]
        return rows[np.array(meaning, np.bool_)]

    def _meant(self, name: int, row: int) -> int:
        """A name of whoever this one stood for at the time that a row speaks of."""
        registry, position = self.index.registry, self.snapshot.position
        if not registry.has_several_owners(name, position):
            return name
        return registry.name_of_past_owner(name, position, int(self.index.catalog.event_times(np.array([row]))[0]))

    # Helpers

    def _holding(self, window: Window, kind: str | None = None) -> NDArray[np.bool_]:
        sight, kinds = self.snapshot, None if kind is None else (kind,)
        return self.index.catalog.allowed(
            sight.row_mask, sight.position, now=sight.now, history=False, kinds=kinds, during=window
        )

    def _memory(self, memory_id: str) -> GraphNode:
        catalog, shown = self.index.catalog, self.snapshot.memory_mask
        number = catalog.number(memory_id)
        if number is None:
            raise NotFound(f"space {self.index.space!r} has no memory {memory_id!r}. Ids belong to one space.")
        row = catalog.row_at(number, self.snapshot.position) if shown[number] else None
        if row is None:
            raise NotFound(
                f"memory {memory_id!r} is not in sight: forgotten, erased, or learned later than this view. "
                "A view of another time may show it: space.as_of(...)."
            )
        return GraphNode("memory", row)

    def _place(self, name: int) -> GraphNode:
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = GraphNode("entity", self.entity(name))
        return place

    def _called(self, name: str) -> int | None:
        """A name, by number, of the entity with this id or name."""
        position, registry = self.snapshot.position, self.index.registry
        if is_entity_id(name) and (number := self._own_name(name)) is not None:
            return number
        number, found = self.index.names.number(name), self.entities.find_id(name, self.snapshot.now, self._then)
        if number is None or found is None or registry.entity_of(number, position) == found:
            return None if found is None else number
        return self._own_name(found)

    def _own_name(self, entity_id: str) -> int | None:
        """A name, by number, that is now that of an entity and of no later one."""
        entity = self.index.registry.get(entity_id, self.snapshot.position)
        return None if entity is None else self.index.names.number(entity.name)

    def _shows(self, number: int) -> bool:
        """Whether anything in sight is about an entity: a line that names it, a memory, or a relation."""
        place, registry, position = (
            GraphNode("entity", self.entity(number)),
            self.index.registry,
            self.snapshot.position,
        )
        return bool(
            registry.is_registered(registry.entity_of(number, position), position)
            or self.snapshot.row_mask[self.rows_naming(place)].any()
            or self.index.relations.relations_of(number, self.snapshot, limit=_GLIMPSE)
        )

    def _unknown(self, name: str) -> str:
        near = [repr(spelled) for _, spelled, _ in islice(self.entities.similar_entities(name), _NEAR_NAMES)]
        when = "" if self._then is None else f" at {format_moment(self._then)}"
        hint = f"Near it are {', '.join(near)}." if near else "See space.entities.list()."
        return f"space {self.index.space!r} knows no memory or entity {name!r}{when}. {hint}"


def retry_if_erased(ask: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Asks again where another process erased a memory between finding it and reading it."""

    @wraps(ask)
    def asked(*given: Given.args, **options: Given.kwargs) -> Answer:
        try:
            return ask(*given, **options)
        except RowErased:
            return ask(*given, **options)  # the next look at the ledger knows that it is gone

    return asked


def _wanted(names: Collection[str] | None) -> bool:
    return names is None or MENTIONS in names

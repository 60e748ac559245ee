"""The entities of a view: registered ones, and those that a visible memory or a stated relation names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remanence.errors import NotFound
from remanence.index.index import Index
from remanence.index.names.entity_registry import EntityRegistry, is_entity_id
from remanence.schema import EPOCH, Entity, Snapshot
from remanence.text.text import is_name, normalize_name

if TYPE_CHECKING:
    from remanence.index.names.name_similarity import NameSimilarity


@dataclass(frozen=True)
class KnownEntities:
    """The entities of an index as known at a position. Use it with the lock of the index."""

    index: Index
    position: int

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

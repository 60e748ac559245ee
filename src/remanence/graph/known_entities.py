"""The entities that one view knows: registered ones, and those that a memory in sight or a stated relation
names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index
from remanence.errors import NotFound
from remanence.language.text import normalize_name
from remanence.schema import EPOCH, Entity, Snapshot
from remanence.state.entity_registry import Registry, is_entity_id

if TYPE_CHECKING:
    from remanence.state.name_similarity import NameSimilarity


@dataclass(frozen=True)
class KnownEntities:
    """The entities of an index as known at a position. Use it under the lock of the index."""

    index: Index
    position: int

    @property
    def registry(self) -> Registry:
        """Where the names are."""
        return self.index.registry

    def get(self, entity_id: str) -> Entity | None:
        """The entity with this id, or the one it is part of."""
        return self.registry.get(entity_id, self.position, self._seen)

    def find_id(self, name: str, now: datetime, at: datetime | None = None) -> str | None:
        """The id of what goes by a name `at` a moment; without one now, or else last."""
        found = self.registry.find(name, self.position, now if at is None else at)
        return self.registry.find(name, self.position) if found is None and at is None else found

    def require(self, given: str, now: datetime) -> Entity:
        """The entity with this id or name; NotFound if there is none."""
        entity = self.get(given) if is_entity_id(given) else None
        if entity is None and (found := self.find_id(given, now)) is not None:
            entity = self.get(found)
        if entity is None:
            raise NotFound(
                f"space {self.index.space!r} knows no entity {given!r}. "
                f"See space.entities.list(), or register it: space.entities.register({given!r})."
            )
        return entity

    def list_name_numbers(self, kind: str | None) -> list[int]:
        """A name, by number, of each entity or each of one kind, in the order in which they were met."""
        seen = self._said_in_sight()
        numbers: dict[str, list[int]] = {}
        for number, entity, said in self.registry.registered_names(self.position):
            if said or seen[number]:
                numbers.setdefault(entity, []).append(number)
            seen[number] = False
        alone = np.flatnonzero(seen).tolist()
        if kind is None:
            return sorted(alone + [each[0] for each in numbers.values()])
        alone = [number for number in alone if self.index.names.kinds[number] == kind]
        return sorted(
            alone
            + [
                each[0]
                for entity, each in numbers.items()
                if self.registry.kind_of(entity, each, self.position) == kind
            ]
        )

    def similar_entities(self, name: str) -> Iterator[tuple[Entity, str, NameSimilarity]]:
        """Other entities with a name like this one: the entity, that name, and how it is like."""
        met = {self.registry.find(name, self.position)}
        for number, like in self.registry.similar_names.find(name):
            entity_id = self.registry.entity_of(number, self.position)
            entity = None if entity_id in met else self.get(entity_id)
            form = normalize_name(self.index.names.spellings[number])
            spelled = [] if entity is None else [each for each in entity.names if normalize_name(each) == form]
            if entity is not None and spelled:
                met.add(entity_id)
                yield entity, spelled[0], like

    @cached_property
    def _visible(self) -> NDArray[np.bool_]:
        return self.index.catalog.visible(self.position)

    @cached_property
    def _sight(self) -> Snapshot:
        # When the view is asked matters to what holds, not to what is known.
        return self.index.snapshot(self.position, EPOCH)

    def _seen(self, number: int) -> bool:
        """Whether a memory in sight says this name, or a relation that was stated."""
        in_memory = bool(self._visible[self.index.graph.rows_mentioning(number)].any())
        return in_memory or self.index.relations.is_asserted(number, self._sight)

    def _said_in_sight(self) -> NDArray[np.bool_]:
        """Of each name, whether a memory in sight says it."""
        out = np.zeros(len(self.index.names), np.bool_)
        out[self.index.graph.names_in_rows(self._visible)] = True
        out[list(self.index.relations.asserted_names(self._sight))] = True
        return out

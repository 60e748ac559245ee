"""The operations on entities: list, resolve, register, rename, merge, split, and what may be merged."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from remanence.index.position_cache import PositionCache
from remanence.schema import Entity
from remanence.service.operation import method_operation, operation
from remanence.service.pages import CountedPage, make_cursor, read_cursor
from remanence.service.requests import Name, PageSize, Request
from remanence.space.facets.entity_facet import Entities, EntitiesView, Registration, Revision
from remanence.space.space import Space
from remanence.space.view import View

_COMPARED = 500
"""Entities that are compared with all others, those mentioned most: in a large space all would take minutes."""


def all_entities(space: Space) -> tuple[Entity, ...]:
    """All entities of a space, in the order in which they were learned."""
    return space.entities._slice(None, 0, sys.maxsize)[0]


class AliasRequest(Request):
    """An alias for a time."""

    name: str
    valid_from: str | None = None
    valid_until: str | None = None


@dataclass(frozen=True)
class MergeProposal:
    """Two entities that may be one: how similar their names are, and why."""

    entity: str
    name: str
    other: str
    other_name: str
    score: float
    reason: str


@operation("GET", "/entities")
def list_entities(
    view: View, kind: str | None = None, limit: PageSize = 100, cursor: str | None = None
) -> CountedPage[Entity]:
    """List entities in the order in which they were learned, a page at a time."""
    start = read_cursor("entities", cursor, 0)
    found, total = view.entities._slice(kind, start, start + limit)
    next_cursor = make_cursor("entities", start + limit) if start + limit < total else None
    return CountedPage(found, total, next_cursor)


resolve = method_operation(
    "GET",
    "/entities/resolve",
    EntitiesView.resolve,
    alias=Name,
    missing="no entity is named {alias!r}. `propose` lists similar names.",
)
propose = method_operation(
    "GET", "/entities/propose", EntitiesView.find_similar, name="propose", limit=Annotated[int, Field(ge=1, le=100)]
)


@operation("GET", "/entities/proposals", slow=True)
def merge_proposals(view: View, limit: Annotated[int, Field(ge=1, le=1_000)] = 50) -> list[MergeProposal]:
    """List pairs of entities with similar names, for a person to check and merge; of many, those mentioned most."""
    with view._engine.open_index(view.name) as index:
        position = view._position(index)
    return _PROPOSALS.get(index, position, lambda: _all_proposals(view))[:limit]


_PROPOSALS: PositionCache[list[MergeProposal]] = PositionCache()


def _all_proposals(view: View) -> list[MergeProposal]:
    pairs: dict[frozenset[str], MergeProposal] = {}
    for entity in view.graph.entity_map(limit=_COMPARED).nodes:
        for candidate in view.entities.find_similar(entity.name, 5):
            other = candidate.entity
            if other.id != entity.id:
                proposal = MergeProposal(
                    entity.id, entity.name, other.id, other.name, candidate.score, candidate.reason
                )
                pairs.setdefault(frozenset((entity.id, other.id)), proposal)
    return sorted(pairs.values(), key=lambda pair: (-pair.score, pair.name))


get_entity = method_operation(
    "GET",
    "/entities/{id}",
    EntitiesView.get,
    name="get_entity",
    id=Name,
    missing="space {space!r} has no entity {id!r}. `resolve` finds one by its name.",
)


@operation("POST", "/entities", "write", http_status=201)
def register(
    space: Space,
    name: str,
    aliases: Sequence[str | AliasRequest] = (),
    kind: str | None = None,
    observed_by: str | None = None,
) -> Registration:
    """Register an entity under a name, with aliases and a kind."""
    given = [alias.model_dump() if isinstance(alias, AliasRequest) else alias for alias in aliases]
    return space.entities.register(name, given, kind, observed_by=observed_by)


rename = method_operation("POST", "/entities/rename", Entities.rename, "write")
merge = method_operation("POST", "/entities/merge", Entities.merge, "write")
split = method_operation("POST", "/entities/split", Entities.split, "write")


@operation("POST", "/entities/undo", "write")
def undo_revision(
    space: Space, position: Annotated[int, Field(ge=1)], why: str | None = None, observed_by: str | None = None
) -> Revision:
    """Undo a registration, rename, merge or split."""
    return space.entities.undo(position, why=why, observed_by=observed_by)

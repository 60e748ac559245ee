"""The operations on entities: list, resolve, register, rename, merge, split, and what may be merged."""

from __future__ import annotations

import sys
from functools import partial

from remanence.errors import NotFound
from remanence.schema import Entity
from remanence.service.cursors import make_cursor, read_cursor
from remanence.service.operation import method_operation, operation, view_of
from remanence.service.payloads import graph_requests, requests
from remanence.service.payloads.base_answers import EntityAnswer, Items
from remanence.service.payloads.graph_answers import (
    EntityPageAnswer,
    MergeProposal,
    RegistrationAnswer,
    RevisionAnswer,
    SimilarEntityAnswer,
)
from remanence.space.facets.entity_facet import Entities
from remanence.space.space import Space

_COMPARED = 500
"""How many entities are compared with all others, those mentioned most: in a large space all would take minutes."""
_SIMILAR = 5
"""How many similar names of each entity are looked at."""


def all_entities(space: Space) -> tuple[Entity, ...]:
    """All entities of a space, in the order in which they were learned."""
    return space.entities._slice(None, 0, sys.maxsize)[0]


_method = partial(method_operation, facet="entities", tag="entity")


@operation("GET", "/entities")
def list_entities(space: Space, request: graph_requests.EntitiesRequest) -> EntityPageAnswer:
    """List entities in the order in which they were learned, a page at a time."""
    facet = view_of(space, request).entities
    start = read_cursor("entities", request.cursor, 0)
    found, total = facet._slice(request.kind, start, start + request.limit)
    more = start + request.limit < total
    next_cursor = make_cursor("entities", start + request.limit) if more else None
    return EntityPageAnswer(items=[EntityAnswer.of(entity) for entity in found], total=total, next_cursor=next_cursor)


@operation("GET", "/entities/resolve")
def resolve(space: Space, request: graph_requests.ResolveRequest) -> EntityAnswer:
    """Find the entity that has a name, now or at a moment."""
    entity = view_of(space, request).entities.resolve(request.alias, at=request.at)
    if entity is None:
        raise NotFound(f"no entity is named {request.alias!r}. `propose` lists similar names.")
    return EntityAnswer.of(entity)


@operation("GET", "/entities/propose")
def propose(space: Space, request: graph_requests.ProposeRequest) -> Items[SimilarEntityAnswer]:
    """List entities with a name like this one."""
    return Items[SimilarEntityAnswer].of(view_of(space, request).entities.find_similar(request.name, request.limit))


@operation("GET", "/entities/proposals", slow=True)
def merge_proposals(space: Space, request: graph_requests.ProposalsRequest) -> Items[MergeProposal]:
    """List pairs of entities with similar names, for a person to check and merge; of many, those mentioned most."""
    view = view_of(space, request)
    facet = view.entities
    pairs: dict[frozenset[str], MergeProposal] = {}
    for entity in view.graph.entity_map(limit=_COMPARED).nodes:
        for candidate in facet.find_similar(entity.name, _SIMILAR):
            if candidate.entity.id != entity.id:
                proposal = MergeProposal(
                    entity=entity.id,
                    name=entity.name,
                    other=candidate.entity.id,
                    other_name=candidate.entity.name,
                    score=candidate.score,
                    reason=candidate.reason,
                )
                pairs.setdefault(frozenset((entity.id, candidate.entity.id)), proposal)
    ordered = sorted(pairs.values(), key=lambda pair: (-pair.score, pair.name))
    return Items(items=ordered[: request.limit])


@operation("GET", "/entities/{id}")
def get_entity(space: Space, request: requests.IdReadRequest) -> EntityAnswer:
    """Show one entity."""
    entity = view_of(space, request).entities.get(request.id)
    if entity is None:
        raise NotFound(f"space {space.name!r} has no entity {request.id!r}. `resolve` finds one by its name.")
    return EntityAnswer.of(entity)


@operation("POST", "/entities", "write", status=201)
def register(space: Space, request: graph_requests.RegisterRequest) -> RegistrationAnswer:
    """Register an entity under a name, with aliases and a kind."""
    aliases = [alias if isinstance(alias, str) else alias.model_dump() for alias in request.aliases]
    made = space.entities.register(request.name, aliases, **request.provided_fields("name", "aliases"))
    return RegistrationAnswer.of(made)


rename = _method("POST", "/entities/rename", Entities.rename, "Change the name of an entity.", RevisionAnswer, "write")
merge = _method("POST", "/entities/merge", Entities.merge, "Merge one entity into another.", RevisionAnswer, "write")


split = _method(
    "POST", "/entities/split", Entities.split, "Move some names of an entity to a new one.", RevisionAnswer, "write"
)


@operation("POST", "/entities/undo", "write")
def undo_revision(space: Space, request: graph_requests.UndoRevisionRequest) -> RevisionAnswer:
    """Undo a registration, rename, merge or split."""
    return RevisionAnswer.of(space.entities.undo(request.position, **request.provided_fields("position")))

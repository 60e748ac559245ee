"""The operations on proposals: offer a memory to a shared space, list what was offered, approve it, reject it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from remanence.schema import MemoryKind
from remanence.service.operation import method_operation, operation
from remanence.service.requests import Name, Names
from remanence.space.facets.proposal_facet import Proposal, Proposals, ProposalStatus
from remanence.space.space import Space


@operation("POST", "/proposals", "propose", http_status=201, tools="proposals")
def propose_memory(
    space: Space,
    text: str,
    origin_space: Name,
    origin_memory: Name,
    by: str | None = None,
    note: str | None = None,
    kind: MemoryKind | None = None,
    importance: Annotated[float, Field(ge=0, le=1)] | None = None,
    tags: Names | None = None,
    valid_from: str | None = None,
    valid_until: str | None = None,
    expires_at: str | None = None,
    observed_by: str | None = None,
    now: str | None = None,
) -> Proposal:
    """Offer a memory of another space, by the name of that and its id, to this one. It is not recalled before somebody
    who may write approves it."""
    fields = {
        "text": text,
        "kind": kind,
        "importance": importance,
        "tags": tags,
        "valid_from": valid_from,
        "valid_until": valid_until,
        "expires_at": expires_at,
        "observed_by": observed_by,
        "now": now,
    }
    return space.proposals._offer(fields, (origin_space, origin_memory), by, note)


@operation("GET", "/proposals", "write", tools="proposals")
def list_proposals(space: Space, status: ProposalStatus | None = None) -> list[Proposal]:
    """List what was offered to this space, oldest first: all, or what is "open", "approved" or "rejected"."""
    return space.proposals.list(status)


approve_proposal = method_operation(
    "POST", "/proposals/{id}/approve", Proposals.approve, "write", name="approve_proposal", tools="proposals"
)
reject_proposal = method_operation(
    "POST", "/proposals/{id}/reject", Proposals.reject, "write", name="reject_proposal", tools="proposals"
)
erase_proposal = method_operation("POST", "/proposals/{id}/erase", Proposals.erase, "admin", name="erase_proposal")

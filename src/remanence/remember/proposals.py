"""Proposals: memories of one space that somebody offers to a shared one, until somebody else approves or rejects them.

They are memories of a hidden space below the shared one, in its ledger. No recall of the shared space reads it, `child`
cannot make its name, and no token opens it. A decision is a new version of the proposal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from remanence.errors import InvalidInput, NotFound
from remanence.index.engine import inputs
from remanence.index.engine.identity import key_identity
from remanence.remember.add_options import parse_draft
from remanence.remember.append import ExtraEvents, append
from remanence.remember.prepare import prepare
from remanence.remember.revise import append_revisions, latest_versions
from remanence.schema import SELF, Memory
from remanence.text.text import text_hash

if TYPE_CHECKING:
    from remanence.events import Event
    from remanence.index.engine.engine import Engine
    from remanence.index.index import Index

ProposalStatus = Literal["open", "approved", "rejected"]
STATUSES: tuple[ProposalStatus, ...] = get_args(ProposalStatus)
_META = "proposal"
_ORIGIN = "origin"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A memory that somebody offers to a shared space.

    Attributes:
        id: For `approve` and `reject`.
        text: The text.
        space: The space that it comes from, as who proposed it says.
        memory: The id of the memory there.
        by: Who proposed it.
        at: When.
        note: Why, in the words of who proposed it.
        status: "open", "approved" or "rejected".
        decided_by: Who approved or rejected it.
        why: Why it was rejected.
        approved_as: The id of the memory that it became.
    """

    id: str
    text: str
    space: str
    memory: str
    by: str | None
    at: datetime
    note: str | None = None
    status: ProposalStatus = "open"
    decided_by: str | None = None
    why: str | None = None
    approved_as: str | None = None


def proposals_space(space: str) -> str:
    """The name of the space with the proposals to this one. `child()` cannot make it: it writes "%" as "%25"."""
    return f"{space}/%proposals"


def is_proposals_space(name: str) -> bool:
    """Whether a space has proposals, which no list of spaces shows."""
    return name.endswith("/%proposals")


def propose(
    engine: Engine, space: str, fields: Mapping[str, Any], origin: tuple[str, str], by: str | None, note: str | None
) -> Proposal:
    """Store a proposal: the fields of a memory, and its space and id. The same one again is the one there is."""
    # With the words, so that nobody can put others into an open proposal.
    named = [inputs.check_text(origin[0], "space"), inputs.check_text(origin[1], "memory"), by, fields.get("text")]
    source = text_hash(json.dumps(named)).hex()
    about = {"space": origin[0], "memory": origin[1], "by": by, "note": note}
    given = {name: value for name, value in fields.items() if value not in (None, (), [])}
    draft = parse_draft({**given, "key": source, "meta": {_META: {**about, "status": "open"}}})
    hidden, identity = proposals_space(space), key_identity(source)
    with engine.open_index(hidden) as index:
        number = index.catalog.find_by_identity(identity)
        known = [] if number is None else [index.catalog.ids[number]]
        stored = next(iter(index.visible_memories(known, index.catalog.position)), None)
    if stored is None:
        [stored] = append(engine, hidden, [prepare(engine, draft, engine.now())])
    return _proposal(stored)


def list_proposals(engine: Engine, space: str, status: str | None) -> list[Proposal]:
    """The proposals to a space, oldest first."""
    if status is not None and status not in STATUSES:
        raise InvalidInput(f"status={status!r} is none of {', '.join(STATUSES)}.")
    if not engine.ledger.count(proposals_space(space)):
        return []  # to open its index would make one
    with engine.open_index(proposals_space(space)) as index:
        rows = index.current_rows(index.catalog.position)
        found = [_proposal(memory) for memory in index.readable_memories(rows)]
    return [each for each in found if status in (None, each.status)]


def approve(engine: Engine, space: str, proposal_id: str, by: str | None) -> Memory:
    """Store what was proposed as a memory of the space, with its origin.

    The decision is written first, so that of two at the same time one counts. If the process ends before the memory is
    stored, approving again stores it.
    """
    proposal = _find(engine, space, proposal_id)
    if proposal.status != "approved" or proposal.approved_as is not None:
        proposal = _decide(engine, space, proposal_id, status="approved", decided_by=by)
    [(_, memory)] = latest_versions(engine, proposals_space(space), [proposal_id])
    origin = {"space": proposal.space, "memory": proposal.memory, "proposed_by": proposal.by}
    fields = {
        **{name: getattr(memory, name) for name in ("text", "kind", "importance", "tags", "observed_by", "source")},
        "trust": memory.trust,
        "expires_at": memory.expires_at,
        "now": memory.told_at,
        "valid_from": memory.valid.start,
        "valid_until": memory.valid.end,
        "meta": {_ORIGIN: {**origin, "approved_by": proposal.decided_by}},
    }
    [stored] = append(engine, space, [prepare(engine, parse_draft(fields), engine.now())])
    _write(engine, space, proposal_id, approved_as=stored.id)
    return stored


def reject(engine: Engine, space: str, proposal_id: str, why: str | None, by: str | None) -> Proposal:
    """Record that a proposal does not become a memory, and why."""
    _find(engine, space, proposal_id)
    return _decide(engine, space, proposal_id, status="rejected", decided_by=by, why=why)


def memory_fields(memory: Memory, by: str | None) -> dict[str, Any]:
    """The fields of a memory that its proposal has. "I" is who proposes it, where the memory says no other name."""
    speaker = memory.observed_by if memory.turn is None else memory.turn.speaker
    fields = {name: getattr(memory, name) for name in ("text", "kind", "importance", "tags", "expires_at")}
    fields |= {"valid_from": memory.valid.start, "valid_until": memory.valid.end, "now": memory.told_at}
    return fields | {"observed_by": by if speaker in (None, SELF) else speaker}


def _find(engine: Engine, space: str, proposal_id: str) -> Proposal:
    known = {each.id: each for each in list_proposals(engine, space, None)}
    if proposal_id not in known:
        raise NotFound(f"space {space!r} has no proposal {proposal_id!r}. `space.proposals.list()` lists them.")
    return known[proposal_id]


def _decide(engine: Engine, space: str, proposal_id: str, **decision: str | None) -> Proposal:
    """Write a decision, if there is none by then: of two at the same time, the second one is refused."""

    def check(index: Index, ids: object) -> Sequence[Event]:
        last = index.latest_version(proposal_id)
        if last is not None and (status := last.meta[_META]["status"]) != "open":
            raise InvalidInput(f"proposal {proposal_id!r} was {status} already. A new one has to differ in words.")
        return ()

    return _write(engine, space, proposal_id, check, **decision)


def _write(
    engine: Engine, space: str, proposal_id: str, check: ExtraEvents | None = None, **changes: str | None
) -> Proposal:
    """Write a version of a proposal with these changes."""
    hidden = proposals_space(space)
    [(version, memory)] = latest_versions(engine, hidden, [proposal_id])
    about = {**version.meta[_META], **changes}
    decided = replace(version, meta={_META: about}, told_at=memory.told_at, signature=None)
    [stored] = append_revisions(engine, hidden, [decided], [proposal_id], check)
    return _proposal(stored)


def _proposal(memory: Memory) -> Proposal:
    about = dict(memory.meta[_META])
    return Proposal(memory.id, memory.text, at=memory.recorded_at, **about)

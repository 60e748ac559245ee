"""The class of `space.proposals`: memories that are offered to a shared space, and what was decided about them.

Proposals are memories of a hidden space below the shared one, in its ledger. No recall of the shared space reads it,
`child` cannot make its name, and no token opens it. A decision is a new version of the proposal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, get_args

from remanence.errors import InvalidInput, NotFound
from remanence.events import Event
from remanence.index.engine import inputs
from remanence.index.engine.identity import key_identity
from remanence.index.engine.in_thread import in_thread
from remanence.index.index import Index
from remanence.remember import forget as forgetting
from remanence.remember.add_options import parse_draft
from remanence.remember.append import ExtraEvents, append
from remanence.remember.prepare import prepare
from remanence.remember.revise import append_revisions, latest_versions
from remanence.schema import SELF, ErasureCertificate, Memory
from remanence.space.certificates import certify
from remanence.space.facets.facet import Facet
from remanence.text.text import text_hash

ProposalStatus = Literal["open", "approved", "rejected"]
_META = "proposal"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A memory that somebody offers to a shared space.

    Attributes:
        id: For `approve` and `reject`.
        space: The space that it comes from, as who proposed it says.
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


def proposed_fields(memory: Memory, by: str | None) -> dict[str, Any]:
    """The fields of a memory that its proposal has. "I" is who proposes it, where the memory says no other name."""
    speaker = memory.observed_by if memory.turn is None else memory.turn.speaker
    fields = {name: getattr(memory, name) for name in ("text", "kind", "importance", "tags", "expires_at")}
    fields |= {"valid_from": memory.valid.start, "valid_until": memory.valid.end, "now": memory.told_at}
    return fields | {"observed_by": by if speaker in (None, SELF) else speaker}


class Proposals(Facet):
    """What others offer to this space. Nothing of it is recalled before it is approved."""

    def add(self, memory: Memory, *, by: str | None = None, note: str | None = None) -> Proposal:
        """Offer a memory of another space to this one: a copy of its text, days and tags, and where it comes from.

        Args:
            memory: The memory, as `get` or a hit of `recall` has it.
            by: Who offers it. "I" in the text is this person then.
            note: Why it should be shared.

        Returns:
            The proposal. If the memory was offered before in the same words, this is the earlier proposal.

        Raises:
            InvalidInput: This is not a memory.
        """
        if not isinstance(memory, Memory):
            raise InvalidInput(f"{memory!r} is no memory. Give what space.get(id) or hit.memory has.")
        return self._offer(proposed_fields(memory, by), (memory.space, memory.id), by, note)

    def list(self, status: str | None = "open") -> list[Proposal]:
        """The proposals to this space, oldest first.

        Args:
            status: Those that are "open", "approved" or "rejected"; None for all.

        Returns:
            The proposals, with their texts: over a server, a token needs "write" to see them.
        """
        if status is not None and status not in get_args(ProposalStatus):
            raise InvalidInput(f"status={status!r} is none of {', '.join(get_args(ProposalStatus))}.")
        if not self._engine.ledger.count(self._hidden):
            return []  # to open its index would make one
        with self._engine.open_index(self._hidden) as index:
            rows = index.current_rows(index.catalog.position)
            found = [_proposal(memory) for memory in index.readable_memories(rows)]
        return [each for each in found if status in (None, each.status)]

    def approve(self, id: str, *, by: str | None = None) -> Memory:
        """Make a proposal a memory of this space. `meta["origin"]` has where it comes from and who decided.

        Raises:
            NotFound: There is no such proposal.
            InvalidInput: It was decided already.
        """
        # The decision is written first, so that of two at the same time one counts. If the process ends before the
        # memory is stored, approving again stores it.
        proposal = self._find(id)
        if proposal.status != "approved" or proposal.approved_as is not None:
            proposal = self._decide(id, status="approved", decided_by=by)
        [(_, memory)] = latest_versions(self._engine, self._hidden, [id])
        origin = {"space": proposal.space, "memory": proposal.memory, "proposed_by": proposal.by}
        fields = proposed_fields(memory, memory.observed_by) | {
            "source": memory.source,
            "trust": memory.trust,
            "meta": {"origin": {**origin, "approved_by": proposal.decided_by}},
        }
        prepared = prepare(self._engine, parse_draft(fields), self._engine.now())
        [stored] = append(self._engine, self._space, [prepared])
        self._write(id, approved_as=stored.id)
        return stored

    def reject(self, id: str, why: str | None = None, *, by: str | None = None) -> Proposal:
        """Record that a proposal does not become a memory. Its text stays for the record: `erase` deletes it.

        Returns:
            The proposal, which is marked as rejected.

        Raises:
            NotFound: There is no such proposal.
            InvalidInput: It was decided already.
        """
        self._find(id)
        return self._decide(id, status="rejected", decided_by=by, why=why)

    def erase(self, id: str) -> ErasureCertificate:
        """Delete the text of a proposal for good. The memory that it became, if it was approved, stays.

        Raises:
            NotFound: There is no such proposal.
        """
        erase = partial(forgetting.erase, self._engine, ids=[inputs.check_text(id, "id")])
        return certify(self._engine, self._hidden, [self._hidden], erase)

    aadd = in_thread(add)
    alist = in_thread(list)
    aapprove = in_thread(approve)
    areject = in_thread(reject)
    aerase = in_thread(erase)

    @property
    def _hidden(self) -> str:
        return proposals_space(self._space)

    def _offer(self, fields: Mapping[str, Any], origin: tuple[str, str], by: str | None, note: str | None) -> Proposal:
        """Store a proposal: the fields of a memory, and its space and id. The same one again is the one there is."""
        # With the words, so that nobody can put others into an open proposal.
        named = [inputs.check_text(origin[0], "space"), inputs.check_text(origin[1], "memory"), by, fields.get("text")]
        source = text_hash(json.dumps(named)).hex()
        about = {"space": origin[0], "memory": origin[1], "by": by, "note": note, "status": "open"}
        given = {name: value for name, value in fields.items() if value not in (None, (), [])}
        draft = parse_draft({**given, "key": source, "meta": {_META: about}})
        with self._engine.open_index(self._hidden) as index:
            number = index.catalog.find_by_identity(key_identity(source))
            known = [] if number is None else [index.catalog.ids[number]]
            stored = next(iter(index.visible_memories(known, index.catalog.position)), None)
        if stored is None:
            [stored] = append(self._engine, self._hidden, [prepare(self._engine, draft, self._engine.now())])
        return _proposal(stored)

    def _find(self, id: object) -> Proposal:
        known = {each.id: each for each in self.list(None)}
        if inputs.check_text(id, "id") not in known:
            raise NotFound(f"space {self._space!r} has no proposal {id!r}. `space.proposals.list()` lists them.")
        return known[str(id)]

    def _decide(self, id: str, **decision: str | None) -> Proposal:
        """Write a decision, if there is none by then: of two at the same time, the second one is refused."""

        def check(index: Index, ids: object) -> Sequence[Event]:
            last = index.latest_version(id)
            if last is not None and (status := last.meta[_META]["status"]) != "open":
                raise InvalidInput(f"proposal {id!r} was {status} already. A new one has to differ in words.")
            return ()

        return self._write(id, check, **decision)

    def _write(self, id: str, check: ExtraEvents | None = None, **changes: str | None) -> Proposal:
        """Write a version of a proposal with these changes."""
        [(version, memory)] = latest_versions(self._engine, self._hidden, [id])
        about = {**version.meta[_META], **changes}
        decided = replace(version, meta={_META: about}, told_at=memory.told_at, signature=None)
        [stored] = append_revisions(self._engine, self._hidden, [decided], [id], check)
        return _proposal(stored)


def _proposal(memory: Memory) -> Proposal:
    return Proposal(memory.id, memory.text, at=memory.recorded_at, **memory.meta[_META])

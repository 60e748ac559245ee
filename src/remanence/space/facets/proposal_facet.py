"""The class of `space.proposals`: memories that are offered to a shared space, and what was decided about them."""

from __future__ import annotations

from functools import partial

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.remember import forget as forgetting
from remanence.remember import proposals
from remanence.remember.proposals import Proposal
from remanence.schema import ErasureCertificate, Memory
from remanence.space.certificates import certify
from remanence.space.facets.facet import Facet


class Proposals(Facet):
    """What others offer to this space. Nothing of it is recalled before it is approved.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     ana, team = space.child("users", "ana"), space.child("team")
        ...     offered = team.proposals.add(ana.add("The staging server is called heron."), by="ana")
        ...     before = team.count()
        ...     approved = team.proposals.approve(offered.id, by="bob")
        ...     before, approved.text, approved.meta["origin"]["proposed_by"]
        (0, 'The staging server is called heron.', 'ana')
    """

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
        fields, origin = proposals.memory_fields(memory, by), (memory.space, memory.id)
        return proposals.propose(self._engine, self._space, fields, origin, by, note)

    def list(self, status: str | None = "open") -> list[Proposal]:
        """The proposals to this space, oldest first.

        Args:
            status: Those that are "open", "approved" or "rejected"; None for all.

        Returns:
            The proposals, with their texts: over a server, a token needs "write" to see them.
        """
        return proposals.list_proposals(self._engine, self._space, status)

    def approve(self, id: str, *, by: str | None = None) -> Memory:
        """Make a proposal a memory of this space. `meta["origin"]` has where it comes from and who decided.

        Args:
            id: The id of the proposal.
            by: Who approves it.

        Returns:
            The memory.

        Raises:
            NotFound: There is no such proposal.
            InvalidInput: It was decided already.
        """
        return proposals.approve(self._engine, self._space, inputs.check_text(id, "id"), by)

    def reject(self, id: str, why: str | None = None, *, by: str | None = None) -> Proposal:
        """Record that a proposal does not become a memory. Its text stays for the record: `erase` deletes it.

        Args:
            id: The id of the proposal.
            why: The reason.
            by: Who rejects it.

        Returns:
            The proposal, which is marked as rejected.

        Raises:
            NotFound: There is no such proposal.
            InvalidInput: It was decided already.
        """
        return proposals.reject(self._engine, self._space, inputs.check_text(id, "id"), why, by)

    def erase(self, id: str) -> ErasureCertificate:
        """Delete the text of a proposal for good. The memory that it became, if it was approved, stays.

        Args:
            id: The id of the proposal.

        Returns:
            What was erased.

        Raises:
            NotFound: There is no such proposal.
        """
        hidden = proposals.proposals_space(self._space)
        erase = partial(forgetting.erase, self._engine, ids=[inputs.check_text(id, "id")])
        return certify(self._engine, hidden, [hidden], erase)

    aadd = in_thread(add)
    alist = in_thread(list)
    aapprove = in_thread(approve)
    areject = in_thread(reject)
    aerase = in_thread(erase)

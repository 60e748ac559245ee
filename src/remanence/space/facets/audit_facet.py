"""The class of `space.audit`: recorded recalls, replays, and what changed when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput, NotFound, ProjectionStale
from remanence.events import Served
from remanence.graph.diff import Diff, DiffReader, exposures
from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread, iterate_in_thread
from remanence.index.engine.inputs import Moment
from remanence.index.memory_cache import retry_if_erased
from remanence.index.numbers import Position
from remanence.recall.answer import Recall
from remanence.recall.receipts import Exposure, RecallRequest, Receipt, RecordedRecall, recorded_recalls
from remanence.remember import forget
from remanence.remember.forget import Quarantine
from remanence.schema import Change, Hit, Memory, PendingErasure
from remanence.space.facets.facet import Facet
from remanence.space.recall_request import answer_request
from remanence.text.framing import frame
from remanence.text.temporal import parse_moment

if TYPE_CHECKING:
    from remanence.ports import Vector


class AuditView(Facet):
    """Replaying recalls and listing changes, as one view knows them."""

    def replay(self, receipt: Receipt | Mapping[str, Any], *, vector: Vector | None = None) -> Recall:
        """The same list that an earlier recall returned, unaffected by what was learned since.

        Args:
            receipt: `recall(...).receipt`, or the dict that it was stored as.
            vector: The question's embedding, if the recall was made with one of the caller's.

        Raises:
            InvalidInput: The receipt is of another space, or its vector is missing.
            ProjectionStale: Another release, embedder or reader would return another list.
        """
        checked_receipt = receipt if isinstance(receipt, Receipt) else Receipt.from_dict(receipt)
        if checked_receipt.space != self._space:
            raise InvalidInput(
                f"this receipt belongs to space {checked_receipt.space!r}, not {self._space!r}. Open that space."
            )
        if checked_receipt.settings != self._engine.settings_hash:
            raise ProjectionStale(
                f"this receipt was made under the settings {checked_receipt.settings}, and now they are "
                f"{self._engine.settings_hash}: another release, embedder or reader gives another list. "
                f"Ask space.as_of({checked_receipt.now.isoformat()!r}).recall(...) for what it would give today."
            )
        if checked_receipt.own_vector and vector is None:
            raise InvalidInput("this recall used a vector that you passed: pass the same `vector=` again.")
        request = RecallRequest.from_receipt(checked_receipt, inputs.check_vector(vector))
        include = [name for name in ("archive", "vault") if getattr(checked_receipt, name)]
        return answer_request(
            self._engine, self._space, request, lambda space, index: Position(checked_receipt.position), include
        )

    @retry_if_erased
    def exposures(self, id: str | Memory) -> list[Exposure]:
        """Which recorded recalls returned a memory that has been replaced or forgotten since.

        Raises:
            NotFound: This space has no such memory, or its text was erased.
        """
        checked = inputs.check_memory_id(id)
        with self._snapshot() as (index, snapshot):
            return exposures(index, self._engine.ledger, checked, snapshot)

    def recorded(
        self, *, limit: int = 50, before: int | None = None, memory: str | Memory | None = None
    ) -> list[RecordedRecall]:
        """The recalls that were recorded, the newest first: what a user or a model was told.

        Args:
            limit: How many to return at most.
            before: Only those recorded before this ledger position: the `position` of the last one of a page.
            memory: Only those that returned this memory.
        """
        most = inputs.check_limit(limit)
        last = None if before is None else inputs.check_positive_int(before, "before")
        only = None if memory is None else inputs.check_memory_id(memory)
        with self._engine.open_index(self._space) as index:
            head = self._position(index)
        return recorded_recalls(self._engine.ledger, self._space, head, limit=most, before=last, memory=only)

    def told(self, position: int) -> str:
        """The block that a prompt had with the memories of a recorded recall, as they were known then.

        Args:
            position: The `position` of the record, as `recorded` lists it.

        Returns:
            The block; "" if no memory was given.

        Raises:
            NotFound: No recall was recorded there, or it was erased.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.add("The door code is 4711.", now="2026-05-04")
            ...     _ = space.audit.record(space.recall("door code"))
            ...     print("\\n".join(space.audit.told(space.audit.recorded()[0].position).splitlines()[2:4]))
            2026-05-04 Mon
            - "The door code is 4711."
        """
        checked = inputs.check_positive_int(position, "position")
        entry = self._engine.ledger.entries_at([checked]).get(checked)
        if entry is None or entry.space != self._space or not isinstance(entry.event, Served):
            raise NotFound(
                f"space {self._space!r} has no recorded recall at {position}. `audit.recorded()` lists them."
            )
        receipt = Receipt.from_dict(entry.event.asked)
        with self._engine.open_index(self._space) as index:
            memories = index.visible_memories(entry.event.memories, Position(receipt.position))
        return frame([Hit(memory, 0.0) for memory in memories], question=receipt.question, today=receipt.now)

    @retry_if_erased
    def diff(self, since: Moment, until: Moment | None = None) -> Diff:
        """What changed between two moments of learning.

        Args:
            since: The earlier moment.
            until: The later moment; None is now.

        Returns:
            What was learned, revised, superseded, forgotten and so on, each in a list of its own.

        Raises:
            InvalidInput: A moment cannot be read, or `until` comes before `since`.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.add("Alice lives in Porto.", now="2026-04-01")
            ...     _ = space.add("Alice lives in Lisbon.", now="2026-05-03")
            ...     changed = space.audit.diff("2026-04-15", "2026-05-15")
            ...     [m.text for m in changed.learned], [m.text for m in changed.superseded]
            (['Alice lives in Lisbon.'], ['Alice lives in Porto.'])
        """
        now, ledger = self._now(), self._engine.ledger
        start = parse_moment(since, now, argument="since")
        end = now if until is None else parse_moment(until, now, argument="until")
        if end < start:
            raise InvalidInput(f"until={until or 'now'!r} comes before since={since!r}. Swap them.")
        with self._engine.open_index(self._space) as index, index.lock:
            known = self._position(index)
            before, after = (Position(min(known, ledger.position_at(self._space, moment))) for moment in (start, end))
            after = known if until is None else after
            return DiffReader(index, ledger, index.snapshot(before, start), index.snapshot(after, end)).diff()

    def changes(self, *, after_position: int = 0) -> Iterator[Change]:
        """What happened to memories since a ledger position, in order. For keeping an index of your own.

        Args:
            after_position: The last position you have seen.

        Returns:
            The changes, read from the ledger while you iterate.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     space.forget(space.add("The bridge is closed."))
            ...     [change.kind for change in space.audit.changes()]
            ['remembered', 'forgotten']
        """
        if isinstance(after_position, bool) or not isinstance(after_position, int) or after_position < 0:
            raise InvalidInput(f"after={after_position!r} is not a ledger position. Give the last one you have seen.")
        with self._engine.open_index(self._space) as index:
            return self._engine.changes(self._space, after_position, self._position(index))

    def pending_erasures(self) -> list[PendingErasure]:
        """Where text of erased memories is still stored, and when it will be removed. The list becomes empty without
        further calls.

        Such text may be in the write-ahead log while another connection reads the ledger, in the index of a large space
        until it is rebuilt in the background, or in the index of another process that has not read the ledger since.

        Returns:
            The places, each with what removes the text; empty if all of it is removed.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.erase(space.add("The door code is 4711."))
            ...     space.audit.pending_erasures()
            []
        """
        return self._engine.erasure_cleaner.pending(self._space)

    areplay = in_thread(replay)
    aexposures = in_thread(exposures)
    arecorded = in_thread(recorded)
    atold = in_thread(told)
    adiff = in_thread(diff)
    achanges = iterate_in_thread(changes)
    apending_erasures = in_thread(pending_erasures)


class Audit(AuditView):
    """Recording which recalls were used, so that `exposures` can find those that returned memories which changed
    since."""

    def record(self, recall: Recall) -> Receipt:
        """Record in the ledger that the hits of this recall were given to a user or a model. `exposures` reads these
        records.

        Args:
            recall: What `space.recall` returned.

        Returns:
            The receipt of the recall, for `replay`.

        Raises:
            InvalidInput: It is not a recall of this space.
        """
        receipt = recall.receipt if isinstance(recall, Recall) else None
        if receipt is None or receipt.space != self._space:
            raise InvalidInput(
                f"{recall!r} is not a recall of space {self._space!r}. Give the result of `recall()` of this space."
            )
        served = Served(receipt.id, receipt.to_dict(), tuple(hit.memory.id for hit in recall))
        self._engine.write(self._space, lambda _: [served])
        return receipt

    def quarantine(self, source: str, *, why: str | None = None, dry_run: bool = False) -> Quarantine:
        """Hide everything that came from a source, and what was derived from it alone, also what comes from it later.

        Memories that it had superseded are current again. Nothing is deleted: `release` shows it again.

        Args:
            source: A `source`, an `observed_by` or a conversation.
            dry_run: True only shows what would be hidden.

        Returns:
            The memories that are hidden, or would be. Its `id` is None for a preview.

        Raises:
            InvalidInput: The source is in quarantine already.
        """
        name = inputs.check_text(source, "source")
        if dry_run:
            return forget.preview_quarantine(self._engine, self._space, name)
        return forget.quarantine(self._engine, self._space, name, inputs.check_reason(why))

    def release(self, id: str | Quarantine, why: str | None = None) -> Quarantine:
        """Undo a quarantine: what it has hidden is visible again, except what was erased meanwhile.

        Args:
            id: The quarantine or its id.

        Returns:
            The quarantine, which is marked as released.

        Raises:
            NotFound: This space has no such quarantine.
        """
        checked_id = forget.check_quarantine_id(id)
        return forget.release(self._engine, self._space, checked_id, inputs.check_reason(why))

    def quarantines(self) -> list[Quarantine]:
        """Every quarantine of this space, oldest first, released ones too."""
        return forget.all_quarantines(self._engine, self._space)

    arecord = in_thread(record)
    aquarantine = in_thread(quarantine)
    arelease = in_thread(release)
    aquarantines = in_thread(quarantines)

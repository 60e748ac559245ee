"""`Space`: a space as it is now, to read and to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from remanence.errors import InvalidInput
from remanence.hooks import step
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.engine.in_thread import ClosedAtEnd, in_thread
from remanence.index.engine.inputs import Moment, progress_bar
from remanence.index.engine.rebuilding import rebuild
from remanence.remember import remember as remembering
from remanence.remember.add_options import AddOptions, parse_conversation, parse_draft, parse_turn
from remanence.remember.append import append
from remanence.remember.bulk import store_drafts, store_turns
from remanence.remember.jobs import Job, Worker, enqueue, enqueue_chats
from remanence.remember.prepare import prepare, prepare_turns
from remanence.schema import FoundFacts, Memory, VerificationReport
from remanence.space.facets.admin_facet import Admin
from remanence.space.facets.audit_facet import Audit
from remanence.space.facets.entity_facet import Entities
from remanence.space.facets.graph_facet import Graph
from remanence.space.facets.job_facet import Jobs
from remanence.space.facets.procedure_facet import Procedures
from remanence.space.facets.proposal_facet import Proposals
from remanence.space.revision import MemoryRevision
from remanence.text.temporal import parse_moment

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from remanence.ports import Progress
    from remanence.space.facets.upkeep_facet import Upkeep
    from remanence.upkeep.steps.decay import TouchReport


class RememberOptions(TypedDict, total=False):
    """The optional arguments of `Space.remember`."""

    now: Moment | None
    source: str | None
    observed_by: str | None
    progress: bool | Progress


class Space(ClosedAtEnd, MemoryRevision):
    """A space as it is now: everything that a `View` has, and writing."""

    def __init__(self, engine: Engine, name: str, *, worker: Worker | None = None, root: bool = False) -> None:
        super().__init__(engine, name)
        self._worker = worker
        self._root = root

    @step("upsert_memory")
    def add(
        self,
        text: str,
        *,
        key: str | None = None,
        kind: str | None = None,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        tags: str | Sequence[str] = (),
        source: str | None = None,
        observed_by: str | None = None,
        expires_at: Moment | None = None,
        entities: Sequence[Any] | None = None,
        triples: Sequence[Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        now: Moment | None = None,
        passages: Sequence[tuple[int, int]] | None = None,
        strength: float | None = None,
        trust: str | float | None = None,
    ) -> Memory:
        """Store a text verbatim. When this returns, the memory survives a crash.

        Adding the same text again returns the same memory.

        Args:
            key: A name of your own. Another text with the same key becomes a new version of the memory.
            kind: "episode", "semantic" or "viewpoint"; found by rule if left out.
            valid_from: When it became true or happened; read from the text if left out.
            valid_until: When it stopped being true.
            importance: 0 to 1: 0.3 minor, 0.6 moderate, 0.9 identity-defining.
            confidence: 0 to 1.
            tags: One tag or several.
            source: Where it comes from. Texts added one after another with one source are one document.
            observed_by: Who said or saw it; "I" in the text is this person.
            expires_at: The moment from which it is no longer recalled.
            entities: Names in the text, as strings or (name, kind); found by rule if left out.
            triples: Claims, as (subject, predicate, object); found by rule if left out.
            meta: Anything of yours that can be written as JSON.
            now: When it was told (`Memory.told_at`). Its time in the ledger is never earlier than that of the last
                entry of this space.
            passages: Ranges (start, end) of the text that are searched separately, by words and by meaning; the best
                one counts. An empty list: no query finds it. Left out: a long text is split by length.
            strength: A factor of its decay score, 1 to 2: 1.5 for important memories, 2 for those that must not fade.
            trust: How far its source is trusted: "trusted", "user", "tool", "web", a level of your own, or a number
                from 0 to 1. Left out: as `Policy(trust=...)` says. A less trusted memory never supersedes or ends
                one that is trusted more.

        Returns:
            The memory as it is stored, with the names, claims and times found in its text.

        Raises:
            InvalidInput: A value is not valid; the message names it. Nothing is stored.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     memory = space.add("Alice moved to Lisbon on 3 May 2026.")
            ...     [mention.name for mention in memory.mentions], str(memory.valid)
            (['Alice', 'Lisbon'], '2026-05-03')
        """
        draft = parse_draft(inputs.arguments(locals()))
        with self._engine.use_date_order_of(self.name, _texts_with_times([draft])):
            prepared = prepare(self._engine, draft, self._engine.now())
        return append(self._engine, self.name, [prepared])[0]

    @step("upsert_memory")
    def add_many(
        self, rows: Iterable[str | Mapping[str, Any]], *, wait: bool = True, progress: bool | Progress = False
    ) -> list[Memory]:
        """Store many texts. All rows are checked before any is stored.

        Args:
            rows: Texts, or dicts with the arguments of `add`. They are written 250 at a time.
            wait: False returns when they are stored, several times as fast; a thread makes their vectors. Until
                it has, they are found by words, names and times, and `Recall.missing` says how many lack a vector.
            progress: True shows a progress bar; a function is called with (done, total).

        Returns:
            Their memories, in the order of the rows.

        Raises:
            InvalidInput: A row is not valid; the message names its number, counted from 1. Nothing is stored.
            LedgerUnavailable: As on a full disk. Its `stored_rows` says how many rows were stored before.
        """
        show, engine, now = progress_bar(progress, "remembering"), self._engine, self._engine.now()
        checked_rows, drafts = inputs.check_rows(rows, "texts or dicts"), list[AddOptions]()
        try:
            for row in checked_rows:
                drafts.append(parse_draft({"text": row} if isinstance(row, str) else row))
        except InvalidInput as error:
            raise InvalidInput(f"row {len(drafts) + 1}: {error}") from None
        with engine.use_date_order_of(self.name, _texts_with_times(drafts)), show as report_progress:
            return store_drafts(engine, self.name, drafts, now, report_progress, not wait)

    @step("upsert_memory")
    def add_turns(
        self,
        turns: Iterable[Mapping[str, Any]],
        *,
        wait: bool = True,
        progress: bool | Progress = False,
        now: Moment | None = None,
    ) -> list[Memory]:
        """Store chat turns verbatim.

        Args:
            turns: Dicts with `content`, and `speaker` or `role`, `time`, `conversation`, `before`, `key`, `trust`. "I"
                in a turn is its speaker; "yesterday" is read against its own time. `before` is the turn before it,
                where that one is not stored ("assistant: Which of the two?").
            wait: False returns when they are stored, as for `add_many`. Their kind and importance, which are read from
                the vectors, stay "episode" and 0.5.
            progress: True shows a progress bar; a function is called with (done, total).

        Returns:
            Their memories, in the order of the turns.

        Raises:
            InvalidInput: A turn is not valid; the message names its number, counted from 1. Nothing is stored.
        """
        show, at = progress_bar(progress, "remembering"), self._at(now)
        rows = enumerate(inputs.check_rows(turns, "dicts"), 1)
        checked = [parse_turn(turn, row=number) for number, turn in rows]
        with self._engine.use_date_order_of(self.name, [turn.content for turn in checked]), show as shown:
            return store_turns(self._engine, self.name, checked, at, shown, not wait)

    @overload
    def remember(
        self, text_or_turns: Any, *, wait: Literal[True] = True, **options: Unpack[RememberOptions]
    ) -> FoundFacts: ...
    @overload
    def remember(
        self, text_or_turns: Any, *, wait: Literal[False, "quiet"], **options: Unpack[RememberOptions]
    ) -> Job: ...
    @step("upsert_memory")
    def remember(
        self,
        text_or_turns: Any,
        *,
        wait: bool | Literal["quiet"] = True,
        now: Moment | None = None,
        source: str | None = None,
        observed_by: str | None = None,
        progress: bool | Progress = False,
    ) -> FoundFacts | Job:
        """Store a text or a conversation verbatim, and with a language model the facts in it as memories of their own.

        The model reads the conversation in one call, together with the stored facts that it may change. A fact that
        ends or replaces a stored one supersedes it. A space that was opened without a model stores no facts.

        Args:
            text_or_turns: A text, or chat messages: dicts as for `add_turns`, or the message objects of LangChain
                or LlamaIndex.
            wait: False stores the text and returns a `Job` at once; a thread extracts the facts. "quiet" does too, for
                chat turns: their chat is read once, when it has been quiet for five minutes or has grown by 20 turns
                (`LLMExtractor(model, quiet=..., every_turns=...)`). Turns added while that job waits are read by it.
            source: Where it comes from; for messages, the conversation.
            observed_by: Who "I" is.
            progress: True shows a progress bar; a function is called with (done, total).

        Returns:
            The memories of the facts, or without a language model those of the text itself. If the model failed,
            their `status` is "given up" in place of "done", and `problem` says why: the next call for that chat reads
            what was not read. With `wait=False` or "quiet" the job.

        Raises:
            InvalidInput: An argument is not valid; the message names it. Nothing is stored.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.remember("I live in Porto.", now="2026-01-05")
            ...     _ = space.remember("I moved from Porto to Lisbon.", now="2026-05-03")
            ...     "Lisbon" in space.recall("Where do I live?")[0].memory.text
            True
        """
        progress_context, at = progress_bar(progress, "reading"), self._at(now)
        checked = parse_conversation(text_or_turns, source=source, observed_by=observed_by)
        if isinstance(checked, AddOptions) and now is not None:
            checked = checked.model_copy(update={"now": at})
        texts = [checked.text] if isinstance(checked, AddOptions) else [turn.content for turn in checked]
        with self._engine.use_date_order_of(self.name, texts):
            if isinstance(checked, AddOptions):
                prepared = [prepare(self._engine, checked, at)]
            else:
                prepared = prepare_turns(self._engine, checked, at)
        if wait not in (True, False, "quiet"):
            raise InvalidInput(f"wait={wait!r} is none of True, False and 'quiet'.")
        if wait is not True:
            reads_chat = wait == "quiet" and isinstance(checked, list) and bool(prepared)
            jobs = enqueue_chats(self._engine, self.name, prepared, at) if reads_chat else []
            job = jobs[0] if jobs else enqueue(self._engine, self.name, prepared, at)
            if self._worker is not None:
                self._worker.notify(self.name)
            return job
        sources = append(self._engine, self.name, prepared)
        with progress_context as shown:
            return remembering.remember(self._engine, self.name, sources, at, shown)

    @overload
    async def aremember(
        self, text_or_turns: Any, *, wait: Literal[True] = True, **options: Unpack[RememberOptions]
    ) -> FoundFacts: ...
    @overload
    async def aremember(
        self, text_or_turns: Any, *, wait: Literal[False, "quiet"], **options: Unpack[RememberOptions]
    ) -> Job: ...
    async def aremember(self, text_or_turns: Any, *, wait: Any = True, **options: Unpack[RememberOptions]) -> Any:
        """`remember` in a worker thread, for use with asyncio. It has the same parameters."""
        import asyncio  # here, as it takes long to load and most programs do not use it

        return await asyncio.to_thread(partial(self.remember, text_or_turns, wait=wait, **options))

    @step("update_memory")
    def touch(
        self, ids: str | Memory | Sequence[str | Memory], *, boost: bool = False, context_tags: str | Sequence[str] = ()
    ) -> list[TouchReport]:
        """Record that memories were used, so that they decay later.

        Args:
            boost: Also increase their strength.
            context_tags: Tags of what they were used for. A memory with other tags was used in another domain, which
                increases its strength, too.

        Returns:
            For each memory the old and the new decay score, the number of uses and the strength.

        Raises:
            NotFound: This space has no such memory, or it is hidden.
        """
        from remanence.upkeep.steps import decay

        checked_ids, context = inputs.check_one_or_more_ids(ids), inputs.check_tags(context_tags) or ()
        return decay.touch(self._engine, self.name, checked_ids, self.upkeep.settings, context=context, boost=boost)

    def child(self, *path: str) -> Space:
        """The space below this one with these names. Neither sees the other's memories.

        Args:
            *path: One name for each level, 1 to 255 characters each.

        Raises:
            InvalidInput: No name is given, or one is blank or too long.
        """
        return Space(self._engine, inputs.child_name(self.name, path), worker=self._worker)

    def spaces(self) -> list[str]:
        """The full names of the spaces that contain anything: this one and those below it."""
        return self.admin._listed_space_names()

    def verify(self) -> VerificationReport:
        """Read the whole ledger and check every digest, and every signature of this space; count its entries.

        Returns:
            How many entries this space has, the digest of the last one, and how many entries each writer signed.

        Raises:
            LedgerTampered: An entry was changed, or its signature is not valid; the message names the first one.
            MissingExtra: There are signatures, and `cryptography` is not installed.
        """
        entries, digest = self._engine.ledger.verify(self.name)
        return VerificationReport(entries, digest.hex(), self._engine.signatures.check(self.name))

    def rebuild(self, *, progress: bool | Progress = False) -> None:
        """Delete the indexes of this space and build them from the ledger. Answers stay the same.

        Args:
            progress: True shows a progress bar; a function is called with (done, total).
        """
        with progress_bar(progress, "embedding") as report_progress:
            rebuild(self._engine, self.name, report_progress)

    def close(self) -> None:
        """Save the indexes and release every file. `with remanence.open(...)` does this at its end.

        Later calls of other methods raise `Closed`. On a child space this does nothing: close the space it came from.
        """
        if self._root:
            if self._worker is not None and not self._opened.was_forked:
                self._worker.stop()
            self._opened.close()

    @property
    def entities(self) -> Entities:
        """Who and what memories are about, and what they are called."""
        return self._facet(Entities)

    @property
    def graph(self) -> Graph:
        """How entities and memories are connected, and when."""
        return self._facet(Graph)

    @property
    def jobs(self) -> Jobs:
        """The background jobs of `remember(..., wait=False)`."""
        return self._facet(Jobs)

    @property
    def procedures(self) -> Procedures:
        """Recording which steps of a task worked, and recalling them."""
        return self._facet(Procedures)

    @property
    def proposals(self) -> Proposals:
        """What others offer to this space, to be approved or rejected."""
        return self._facet(Proposals)

    @property
    def audit(self) -> Audit:
        """Recording and replaying recalls, and what changed when."""
        return self._facet(Audit)

    @property
    def admin(self) -> Admin:
        """Numbers, export, compaction and checks."""
        return self._facet(Admin)

    @property
    def upkeep(self) -> Upkeep:
        """Decay, forgetting, clusters, consolidation and promotion."""
        from remanence.space.facets.upkeep_facet import Upkeep  # some twenty modules that most programs never need

        return self._facet(Upkeep)

    aadd = in_thread(add)
    aadd_many = in_thread(add_many)
    aadd_turns = in_thread(add_turns)
    atouch = in_thread(touch)
    aspaces = in_thread(spaces)
    averify = in_thread(verify)
    arebuild = in_thread(rebuild)

    def _at(self, now: Moment | None) -> datetime:
        return self._engine.now() if now is None else parse_moment(now, self._engine.now(), argument="now")


def _texts_with_times(drafts: Iterable[AddOptions]) -> list[str]:
    """The texts of these drafts that may contain dates."""
    values = (part for draft in drafts for part in (draft.text, draft.valid_from, draft.valid_until))
    return [part for part in values if isinstance(part, str)]

"""What people hold to ask and to tell: a space as it is now."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload
from urllib.parse import quote

from remanence.admin.compaction import Compacted, compact
from remanence.admin.export_file import Transfer, export
from remanence.api.entity_facet import Entities
from remanence.api.graph_facet import Graph
from remanence.api.view import View
from remanence.core import inputs
from remanence.core.engine import Engine
from remanence.core.inputs import Moment
from remanence.core.progress import progress_bar
from remanence.errors import InvalidInput
from remanence.events import Served
from remanence.graph.assertions import Stating
from remanence.language.temporal import read_moment
from remanence.language.text import cut
from remanence.read.answer import Recall
from remanence.read.receipts import Receipt
from remanence.schema import Memory
from remanence.write import forget as forgetting
from remanence.write import remember as remembering
from remanence.write import validate
from remanence.write.append import append
from remanence.write.extract import Prepared, prepare, prepare_conversation, prepare_turns
from remanence.write.jobs import (
    Job,
    Worker,
    enqueue,
    work_off,
)

if TYPE_CHECKING:
    from types import TracebackType

    from remanence.api.upkeep_facet import Upkeep
    from remanence.ports import Progress
    from remanence.upkeep.reinforcement import Touched

_MOST_PART = 255


@dataclass(frozen=True, slots=True)
class Verified:
    """The ledger is whole: so many lines, and the digest that stands for all of them.

    Keep the digest somewhere else, and a later `verify` can be held against it.
    """

    lines: int
    digest: str


class Space(View, Stating):
    """A space as it is now: ask it, and tell it."""

    def __init__(
        self, engine: Engine, name: str, *, worker: Worker | None = None, root: bool = False
    ) -> None:
        super().__init__(engine, name)
        self._worker = worker
        self._root = root

    def __enter__(self) -> Space:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
    ) -> Memory:
        """Keep a text, verbatim. When this returns, it survives a crash.

        Names, claims and times are found by rule where `entities`, `triples` and `valid_from` are not
        given. The same text again is the same memory. With a `key`, a different text is a new version of
        that memory; the old one stays in the past. `now` is when it was learned; nothing can be learned
        before the last thing this space learned, so an earlier `now` is taken as that moment.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     memory = space.add("Alice moved to Lisbon on 3 May 2026.")
        ...     [mention.name for mention in memory.mentions], str(memory.valid)
        (['Alice', 'Lisbon'], '2026-05-03 to 2026-05-04')
        """
        draft = validate.draft({name: value for name, value in locals().items() if name != "self"})
        return append(self._engine, self.name, [prepare(draft, self._engine.extractor, self._engine.now())])[
            0
        ]

    def add_many(
        self, rows: Iterable[str | Mapping[str, Any]], *, progress: bool | Progress = False
    ) -> list[Memory]:
        """Keep many: texts, or dicts with the arguments of `add`. All are checked before any is kept.

        They are written two thousand at a time. `progress` shows a bar, or is called with (done, all).
        """
        now = self._engine.now()
        given, prepared = _rows(rows, "texts or dicts"), list[Prepared]()
        try:
            for row in given:
                draft = validate.draft({"text": row} if isinstance(row, str) else row)
                prepared.append(prepare(draft, self._engine.extractor, now))
        except InvalidInput as error:
            raise InvalidInput(f"row {len(prepared)}: {error}") from None
        with progress_bar(progress, "remembering") as shown:
            return append(self._engine, self.name, prepared, shown)

    def add_turns(
        self,
        turns: Iterable[Mapping[str, Any]],
        *,
        progress: bool | Progress = False,
        now: Moment | None = None,
    ) -> list[Memory]:
        """Keep chat turns: dicts with `content`, and `speaker` or `role`, `time`, `conversation`, `key`.

        A turn knows its neighbours in its conversation; "I" in it is its speaker; "yesterday" is read
        against its own time.
        """
        at = self._at(now)
        checked = (validate.turn_draft(turn, row=number) for number, turn in enumerate(_rows(turns, "dicts")))
        prepared = prepare_turns(checked, self._engine.extractor, at)
        with progress_bar(progress, "remembering") as shown:
            return append(self._engine, self.name, prepared, shown)

    @overload
    def remember(
        self,
        given: Any,
        *,
        wait: Literal[True] = True,
        now: Moment | None = None,
        source: str | None = None,
        observed_by: str | None = None,
        progress: bool | Progress = False,
    ) -> list[Memory]: ...
    @overload
    def remember(
        self,
        given: Any,
        *,
        wait: Literal[False],
        now: Moment | None = None,
        source: str | None = None,
        observed_by: str | None = None,
        progress: bool | Progress = False,
    ) -> Job: ...
    def remember(
        self,
        given: Any,
        *,
        wait: bool = True,
        now: Moment | None = None,
        source: str | None = None,
        observed_by: str | None = None,
        progress: bool | Progress = False,
    ) -> list[Memory] | Job:
        """Understand a text or a conversation: keep it verbatim, and the facts it tells as memories.

        `given` is a text, or chat messages: dicts as for `add_turns`, or the message objects of LangChain
        or LlamaIndex. Facts are found by the extractor of this space: a model if it was opened with one,
        else rules. What they mean for older memories is recorded: one that updates another takes its
        place. With `wait=False` the words are kept and a `Job` is returned at once; a thread does the rest.
        `progress` shows a bar, or is called with (done, all), for long conversations.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.remember("I live in Porto.", now="2026-01-05")
        ...     _ = space.remember("I moved from Porto to Lisbon.", now="2026-05-03")
        ...     "Lisbon" in space.recall("Where do I live?")[0].memory.text
        True
        """
        at = self._at(now)
        handed = validate.conversation(given, source=source, observed_by=observed_by)
        prepared = prepare_conversation(handed, self._engine.extractor, at)
        if not wait:
            job = enqueue(self._engine, self.name, prepared, at)
            if self._worker is not None:
                self._worker.look_at(self.name)
            return job
        sources = append(self._engine, self.name, prepared)
        with progress_bar(progress, "reading") as shown:
            return remembering.remember(self._engine, self.name, sources, at, shown)

    def reextract(
        self, memory_id: str | None = None, *, now: Moment | None = None, progress: bool | Progress = False
    ) -> list[Memory]:
        """Read again what was remembered, with the extractor that this space has now: one source, or all.

        What the earlier reading found and this one does not is forgotten; history keeps both.
        """
        only = None if memory_id is None else inputs.memory_id(memory_id)
        with progress_bar(progress, "reading") as shown:
            return remembering.reextract(self._engine, self.name, only, self._at(now), shown)

    def jobs(self, status: str | None = None) -> list[Job]:
        """What is, or was, remembered in the background, oldest first."""
        with self._engine.using(self.name) as index:
            every = [Job(state.id, self.name, self._engine) for state in list(index.journal.jobs.values())]
        return every if status is None else [job for job in every if job.status == status]

    def work(self) -> int:
        """Do the jobs of this space that are due, here and now; how many were tried."""
        return work_off(self._engine, self.name)

    def sweep(self) -> list[Memory]:
        """Record which memories have expired since the last sweep. Recall has left them out already."""
        return forgetting.sweep(self._engine, self.name)

    def forget(self, memory_id: str, why: str | None = None) -> None:
        """Hide a memory from now on. It stays in views of the past, and `unforget` brings it back."""
        forgetting.forget(self._engine, self.name, inputs.memory_id(memory_id), inputs.reason(why))

    def forget_many(self, ids: Iterable[str], why: str | None = None) -> int:
        """Hide these memories, all at once or, if one of them is not there, none; how many were in sight.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     kept = space.add_many([{"text": "Alice drinks tea."}, {"text": "Bob drinks water."}])
        ...     space.forget_many([memory.id for memory in kept], why="they asked"), space.count()
        (2, 0)
        """
        return forgetting.forget_many(self._engine, self.name, inputs.memory_ids(ids), inputs.reason(why))

    def unforget(self, memory_id: str) -> None:
        """Bring a memory back that was forgotten or archived."""
        forgetting.unforget(self._engine, self.name, [inputs.memory_id(memory_id)])

    def erase(self, memory_id: str) -> list[str]:
        """Blank the words of a memory for ever, in the past too, and in every file; the ids of what went.

        With a source go the facts that were found in it alone. The lines stay, without their words, so
        that `verify` still holds.
        """
        return forgetting.erase(self._engine, self.name, inputs.memory_id(memory_id))

    def touch(self, memory_id: str, boost: bool = False) -> Touched:
        """Record that a memory was of use, so that it fades later; with `boost`, make it stronger too.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     told = space.touch(space.add("Alice lives in Porto.").id, boost=True)
        ...     round(told.old_score, 2), round(told.new_score, 2), told.uses
        (1.0, 1.67, 1)
        """
        return self.upkeep.touch(memory_id, boost=boost)

    def observe_usage(
        self, memory_ids: str | Sequence[str], context_tags: str | Sequence[str] = ()
    ) -> list[Touched]:
        """Record that memories were of use for something with these tags; use in another domain than they
        are filed under makes them stronger."""
        return self.upkeep.observe_usage(memory_ids, context_tags)

    @property
    def upkeep(self) -> Upkeep:
        """What fades, what is let go, what becomes one, what is kept for long."""
        from remanence.api.upkeep_facet import Upkeep  # some twenty modules that most programs never need

        return Upkeep(self._engine, self.name)

    def record(self, answer: Recall) -> Receipt:
        """Write down that this recall was given out, so that `exposures` can say who was told what."""
        receipt = answer.receipt
        if receipt is None or receipt.space != self.name:
            raise InvalidInput(f"{answer!r} is not a recall of space {self.name!r}. Give what recall() gave.")
        served = Served(receipt.id, receipt.to_dict(), tuple(hit.memory.id for hit in answer))
        self._engine.write(self.name, lambda _: [served])
        return receipt

    @property
    def graph(self) -> Graph:
        """How entities and memories are tied, and when."""
        return Graph(self._engine, self.name, self._position, self._now)

    @property
    def entities(self) -> Entities:
        """Who and what memories are about, and what they are called."""
        return Entities(self._engine, self.name, self._position, self._engine.now)

    def child(self, *path: str) -> Space:
        """The space below this one with these names. Neither sees the other's memories.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     bob = space.child("users", "bob")
        ...     _ = bob.add("I am allergic to peanuts.")
        ...     len(bob.recall("allergic")), len(space.recall("allergic"))
        (1, 0)
        """
        if not path:
            raise InvalidInput("child() needs at least one name, for example space.child('users', 'bob').")
        return Space(
            self._engine, "/".join([self.name, *(part_of_name(part) for part in path)]), worker=self._worker
        )

    def spaces(self) -> list[str]:
        """The names of this space and of those below it that hold anything."""
        below = f"{self.name}/"
        return [name for name in self._engine.ledger.spaces() if name == self.name or name.startswith(below)]

    @property
    def location(self) -> str | None:
        """The folder that this space is kept in; None for one that is gone with the process."""
        folder = self._engine.folder
        return None if folder is None else str(folder)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        children: bool = False,
        vectors: bool = False,
        progress: bool | Progress = False,
    ) -> Transfer:
        """Write every line of this space into a file of JSON lines, for `remanence.import_`.

        All that was ever learned is in it, forgotten and superseded memories too, with both clocks; of what
        was erased only that it was there. `children` adds the spaces below; `vectors` the embeddings, so that
        none has to be made again. A name that ends in .gz is packed. The file is put in place when it is
        whole, and the same lines make the same file.

        >>> import remanence, tempfile
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice lives in Porto.")
        ...     space.export(tempfile.mkdtemp() + "/memory.jsonl").lines
        1
        """
        own = [name for name in self.spaces() if name == self.name]
        spaces = self.spaces() if children else own
        with progress_bar(progress, "exporting") as shown:
            return export(
                self._engine, self.name, spaces, inputs.path(path, "path"), vectors=vectors, progress=shown
            )

    def compact(self, *, progress: bool | Progress = False) -> Compacted:
        """Give back room: build the indexes of this space and of those below it anew, drop files that belong
        to nothing, and shrink the ledger's file. No ledger line is touched, and answers stay the same."""
        with progress_bar(progress, "compacting") as shown:
            return compact(self._engine, self.spaces(), shown)

    def verify(self) -> Verified:
        """Walk the whole ledger and check every digest; LedgerTampered names the first bad line."""
        lines, digest = self._engine.ledger.verify()
        return Verified(lines, digest.hex())

    def rebuild(self, *, progress: bool | Progress = False) -> None:
        """Throw the four indexes of this space away and build them from the ledger. Answers stay the same."""
        with progress_bar(progress, "embedding") as shown:
            self._engine.rebuild(self.name, shown)

    def check(self) -> dict[str, str]:
        """Hold each index against a fresh build from the ledger: {} if all agree, else what differs."""
        return self._engine.check(self.name)

    def close(self) -> None:
        """Save and let go of every file. A child leaves that to the space it came from."""
        if self._root:
            if self._worker is not None:
                self._worker.stop()
            self._engine.close()

    def _at(self, now: Moment | None) -> datetime:
        return self._engine.now() if now is None else read_moment(now, self._engine.now(), what="now")

    async def aadd(self, text: str, **fields: Any) -> Memory:
        """`add`, off the event loop."""
        return await asyncio.to_thread(self.add, text, **fields)

    async def aadd_many(self, rows: Iterable[str | Mapping[str, Any]], **options: Any) -> list[Memory]:
        """`add_many`, off the event loop."""
        return await asyncio.to_thread(self.add_many, rows, **options)

    async def aadd_turns(self, turns: Iterable[Mapping[str, Any]], **options: Any) -> list[Memory]:
        """`add_turns`, off the event loop."""
        return await asyncio.to_thread(self.add_turns, turns, **options)

    async def aremember(self, given: Any, **options: Any) -> Any:
        """`remember`, off the event loop."""
        return await asyncio.to_thread(lambda: self.remember(given, **options))

    async def areextract(self, memory_id: str | None = None, **options: Any) -> list[Memory]:
        """`reextract`, off the event loop."""
        return await asyncio.to_thread(self.reextract, memory_id, **options)

    async def aforget(self, memory_id: str, why: str | None = None) -> None:
        """`forget`, off the event loop."""
        await asyncio.to_thread(self.forget, memory_id, why)

    async def aforget_many(self, ids: Iterable[str], why: str | None = None) -> int:
        """`forget_many`, off the event loop."""
        return await asyncio.to_thread(self.forget_many, ids, why)

    async def aunforget(self, memory_id: str) -> None:
        """`unforget`, off the event loop."""
        await asyncio.to_thread(self.unforget, memory_id)

    async def aerase(self, memory_id: str) -> list[str]:
        """`erase`, off the event loop."""
        return await asyncio.to_thread(self.erase, memory_id)

    async def aexport(self, path: str | os.PathLike[str], **options: Any) -> Transfer:
        """`export`, off the event loop."""
        return await asyncio.to_thread(self.export, path, **options)

    async def acompact(self, **options: Any) -> Compacted:
        """`compact`, off the event loop."""
        return await asyncio.to_thread(self.compact, **options)

    async def averify(self) -> Verified:
        """`verify`, off the event loop."""
        return await asyncio.to_thread(self.verify)

    async def arebuild(self, **options: Any) -> None:
        """`rebuild`, off the event loop."""
        await asyncio.to_thread(self.rebuild, **options)

    async def aclose(self) -> None:
        """`close`, off the event loop."""
        await asyncio.to_thread(self.close)


def part_of_name(name: object) -> str:
    """One part of a space's name. A slash inside it is written as %2F, so that parts cannot run together."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"a space cannot be called {name!r}. Give it a name with a visible character.")
    if len(name) > _MOST_PART:
        raise InvalidInput(
            f"the space name {cut(name, 40)!r} has {len(name)} characters. Use at most {_MOST_PART}, "
            "for example a hash of it."
        )
    inputs.clean(name, "space")
    return name.replace("%", quote("%")).replace("/", quote("/", safe=""))


def _rows(rows: object, of: str) -> Iterable[Any]:
    if isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        raise InvalidInput(f"{type(rows).__name__} given where a list of {of} belongs.")
    return rows

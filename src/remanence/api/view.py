"""What people hold to ask: a space as it was known at one moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from remanence.admin.overview import (
    MOST_PAGE,
    STATUSES,
    Gathered,
    GraphPage,
    Overview,
    Stats,
    Status,
    disk_use,
)
from remanence.api.entity_facet import EntitiesView
from remanence.api.graph_facet import GraphView
from remanence.core import inputs
from remanence.core.engine import Engine
from remanence.core.identity import key_identity
from remanence.core.index import SIGNALS, Index, Vanished
from remanence.core.inputs import Moment
from remanence.errors import InvalidInput, ProjectionStale
from remanence.graph.diff import Diff, difference
from remanence.graph.exposures import exposures
from remanence.graph.graph_at_time import undisturbed
from remanence.graph.history_events import Happening
from remanence.language.temporal import read_moment, read_window
from remanence.read.answer import Recall
from remanence.read.profile import Profile, profile
from remanence.read.recall import Question, recall
from remanence.read.receipts import Exposure, Receipt
from remanence.schema import (
    Change,
    Entity,
    Memory,
    Window,
)
from remanence.write.message_analysis import (
    Analysis,
    RecallAnalysis,
    analyze_for_recall,
    analyze_message,
)

if TYPE_CHECKING:
    from remanence.ports import Vector

T = TypeVar("T")
_WORDED = tuple(status for status in STATUSES if status != "erased")


class View:
    """A space as it was known at one moment. It cannot be written to."""

    def __init__(
        self, engine: Engine, name: str, moment: datetime | None = None, *, archive: bool = False
    ) -> None:
        self._engine = engine
        self._archive = archive  # whether `recall` also gives what lies in the archive
        self._moment = moment
        self.name = name

    def __repr__(self) -> str:
        moment = "" if self._moment is None else f" as of {self._moment.isoformat()}"
        return f"<{type(self).__name__} {self.name!r}{moment}>"

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        during: Window | Moment | tuple[Any, Any] | None = None,
        history: bool | Literal["auto"] = "auto",
        kinds: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        min_score: float | None = None,
        now: Moment | None = None,
        signals: Sequence[str] | None = None,
        weights: Mapping[str, float] | None = None,
        vector: Vector | None = None,
    ) -> Recall:
        """The memories that answer a question, best first, each with its reasons.

        `during` keeps to what was true in that time. `history` brings versions that were replaced or
        have expired, labelled; "auto" does so when the question is about the past. `tags` asks for all
        of them. `now` is the moment of the question: "last week" is read against it, and chat turns said
        more than a day later step back. `signals` and `weights` are for experiments; `vector` is the
        question's embedding, where you have it already.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice drinks green tea.")
        ...     space.recall("What does Alice drink?")[0].memory.text
        'Alice drinks green tea.'
        """
        moment = self._moment or self._engine.now()
        at = moment if now is None else read_moment(now, moment, what="now")
        if history not in (True, False, "auto"):
            raise InvalidInput(f"history={history!r} is neither True, False nor 'auto'.")
        asked, counted = _signals(signals), inputs.weights(weights, SIGNALS)
        if asked and counted is not None and not any(counted.get(name) for name in asked):
            raise InvalidInput(f"weights={weights!r} give none of the signals {', '.join(asked)} any weight.")
        question = Question(
            text=inputs.question(query),
            now=at,
            position=0,
            limit=inputs.limit(limit),
            during=None if during is None else read_window(during, at),
            history=None if history == "auto" else bool(history),
            kinds=inputs.kinds(kinds),
            tags=inputs.tags(tags),
            min_score=inputs.share(min_score, "min_score"),
            signals=asked,
            weights=counted,
            vector=inputs.vector(vector),
        )
        answer = recall(
            self._engine,
            self.name,
            lambda index: replace(question, position=self._position(index)),
            archive=self._archive,
        )
        return answer if self._moment is None else replace(answer, as_of=self._moment)

    def replay(self, receipt: Receipt | Mapping[str, Any], *, vector: Vector | None = None) -> Recall:
        """The same list that a recall gave, from its receipt, whatever was learned since.

        Refused where it could not be the same: another space, another release or embedder. Words erased
        since stay erased.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice lives in Porto.")
        ...     receipt = space.recall("Where is Alice?").receipt
        ...     _ = space.add("Alice lives in Lisbon.")
        ...     [hit.memory.text for hit in space.replay(receipt)]
        ['Alice lives in Porto.']
        """
        given = receipt if isinstance(receipt, Receipt) else Receipt.from_dict(receipt)
        if given.space != self.name:
            raise InvalidInput(f"this receipt is of space {given.space!r}, and this is {self.name!r}.")
        if given.settings != self._engine.settings:
            raise ProjectionStale(
                f"this receipt was made under the settings {given.settings}, and now they are "
                f"{self._engine.settings}: another release, embedder or reranker gives another list. "
                f"Ask space.as_of({given.now.isoformat()!r}).recall(...) for what it would give today."
            )
        if given.own_vector and vector is None:
            raise InvalidInput(
                "this recall was made with a vector of the caller's: give it again as vector=."
            )
        asked = Question.again(given, inputs.vector(vector))
        return recall(self._engine, self.name, lambda index: asked, archive=given.archive)

    def get(self, memory_id: str) -> Memory | None:
        """The memory with this id as this view knows it; None if it knows of none, or it is forgotten."""
        moment = self._moment
        position = None if moment is None else self._engine.ledger.position_at(self.name, moment)
        return self._engine.get(self.name, inputs.memory_id(memory_id), position)

    def find(self, key: str) -> Memory | None:
        """The memory kept under this key as this view knows it; None if there is none, or it is forgotten.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("The door code is 4711.", key="door")
        ...     space.find("door").text
        'The door code is 4711.'
        """
        moment = self._moment
        position = None if moment is None else self._engine.ledger.position_at(self.name, moment)
        with self._engine.using(self.name) as index:
            number = index.catalog.with_identity(key_identity(inputs.clean(key, "key")))
            memory_id = None if number is None else index.catalog.ids[number]
        return None if memory_id is None else self._engine.get(self.name, memory_id, position)

    def changes(self, *, after: int = 0) -> Iterator[Change]:
        """What happened to memories since ledger position `after`, in order.

        For those who keep an index of their own: take in the changes, keep the last position, come back
        for more.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     space.forget(space.add("The bridge is closed.").id)
        ...     [change.what for change in space.changes()]
        ['remembered', 'forgotten']
        """
        if isinstance(after, bool) or not isinstance(after, int) or after < 0:
            raise InvalidInput(f"after={after!r} is not a ledger position. Give the last one you have seen.")
        moment = self._moment
        until = None if moment is None else self._engine.ledger.position_at(self.name, moment)
        return self._engine.changes(self.name, after, until)

    def memories(self, status: Status | None = None) -> Iterator[Memory]:
        """Every memory this view knows, in the order they were learned; or those of one status.

        The statuses are those of `read_graph`: "archived" lists what upkeep has put away.
        """
        if status is not None and status not in _WORDED:
            raise InvalidInput(f"status={status!r} is none of {', '.join(_WORDED)}.")
        return self._listed(status)

    def count(self) -> int:
        """How many memories this view knows."""
        with self._engine.using(self.name) as index:
            return len(index.current_rows(self._position(index)))

    def read_graph(
        self, status: Status | Literal["all"] = "current", *, page: int = 1, page_size: int = 100
    ) -> GraphPage:
        """The memories of a status, with their relations and links, a page at a time.

        `status` is "current", "superseded", "expired", "archived", "forgotten", "erased" or "all". They come
        in the order in which they were learned; ask `space.as_of(...)` for pages that do not move meanwhile.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     old, new = space.add("The bridge is open."), space.add("The bridge was closed on Monday.")
        ...     _ = space.link(new, "supersedes", old)
        ...     [(each.memory.text, each.links_in[0].kind) for each in space.read_graph("superseded")]
        [('The bridge is open.', 'supersedes')]
        """
        if status not in (*STATUSES, "all"):
            raise InvalidInput(f"status={status!r} is none of {', '.join(STATUSES)} and all.")
        number, count = inputs.whole(page, "page"), inputs.whole(page_size, "page_size", MOST_PAGE)
        return self._overlooking(lambda whole: whole.page(status, number, count))

    def get_many(self, ids: Iterable[str]) -> Gathered:
        """These memories with their relations and links, in the order asked, each once.

        `missing` holds the ids that this view does not show, and why: "unknown", "archived", "forgotten" or
        "erased".

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     tea = space.add("Alice drinks tea.")
        ...     found = space.get_many([tea.id, "m7", tea.id])
        ...     [each.memory.text for each in found], found.missing
        (['Alice drinks tea.'], {'m7': 'unknown'})
        """
        asked = inputs.memory_ids(ids)
        return self._overlooking(lambda whole: whole.gather(asked))

    def stats(self) -> Stats:
        """This space in numbers: memories by status and kind, entities, relations, links, lines, disk.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     space.forget(space.add("Alice drinks tea.").id)
        ...     _ = space.add("Alice lives in Porto.")
        ...     space.stats().memories
        {'current': 1, 'forgotten': 1}
        """
        engine, embedder = self._engine, self._engine.embedder
        about = {
            "embedder": embedder.name,
            "dimension": embedder.dimension,
            "children": sum(name.startswith(f"{self.name}/") for name in engine.ledger.spaces()),
            "location": None if engine.folder is None else str(engine.folder),
            "disk": disk_use(engine.folder),
        }
        return self._overlooking(lambda whole: whole.stats(engine.ledger, self.name, **about))

    def profile(self, *, max_tokens: int = 400) -> Profile:
        """Who this space is about, in a few sentences for a system prompt.

        Current facts and preferences, in the third person, most defining first; nothing superseded,
        expired or forgotten. Written by the model of this space where it has one, else by template. Each
        sentence names the memories behind it.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("I live in Porto.", importance=0.9)
        ...     str(space.profile())
        'The user lives in Porto.'
        """
        inputs.whole(max_tokens, "max_tokens")
        return profile(self._engine, self.name, self._position, self._moment, max_tokens)

    def analyze_message(self, text: str) -> Analysis:
        """Whether a message is worth remembering, and why. By rule, in about a millisecond."""
        return analyze_message(inputs.question(text))

    def analyze_for_recall(self, text: str) -> RecallAnalysis:
        """Whether a message asks for something remembered, and what to look up. By rule."""
        return analyze_for_recall(inputs.question(text))

    def as_of(self, moment: Moment) -> View:
        """This space as it was known at `moment`.

        What was learned later is absent; what was forgotten since is present.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice lives in Porto.", now="2026-04-01")
        ...     _ = space.add("Alice lives in Lisbon.", now="2026-05-03")
        ...     space.as_of("2026-05-01").recall("Where does Alice live?")[0].memory.text
        'Alice lives in Porto.'
        """
        return View(self._engine, self.name, read_moment(moment, self._engine.now(), what="as_of"))

    @property
    def entities(self) -> EntitiesView:
        """Who and what the memories of this view are about."""
        return EntitiesView(
            self._engine, self.name, self._position, lambda: self._moment or self._engine.now()
        )

    @property
    def graph(self) -> GraphView:
        """How entities and memories are tied, as this view knows it."""
        return GraphView(self._engine, self.name, self._position, self._now)

    def history(self, node: str | Memory | Entity) -> list[Happening]:
        """All that ever happened to a memory or an entity, in order, with who did it and why.

        Also what is left out of a timeline: who read it, and which recorded recalls gave it out.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     memory = space.add("The bridge is closed.", observed_by="Ann")
        ...     space.forget(memory.id, why="it is open again")
        ...     [(h.what, h.who, h.why) for h in space.history(memory)]
        [('memory added', 'Ann', None), ('forgotten', None, 'it is open again')]
        """
        return self.graph.story(node)

    @undisturbed
    def diff(self, t1: Moment, t2: Moment | None = None) -> Diff:
        """What changed between two moments of learning; without the second, until now.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice lives in Porto.", now="2026-04-01")
        ...     _ = space.add("Alice lives in Lisbon.", now="2026-05-03")
        ...     changed = space.diff("2026-04-15", "2026-05-15")
        ...     [m.text for m in changed.learned], [m.text for m in changed.superseded]
        (['Alice lives in Lisbon.'], ['Alice lives in Porto.'])
        """
        now, ledger = self._now(), self._engine.ledger
        start = read_moment(t1, now, what="t1")
        end = now if t2 is None else read_moment(t2, now, what="t2")
        if end < start:
            raise InvalidInput(f"t2={t2 or 'now'!r} comes before t1={t1!r}. Swap them.")
        with self._engine.using(self.name) as index, index.lock:
            known = self._position(index)
            before, after = (min(known, ledger.position_at(self.name, moment)) for moment in (start, end))
            after = known if t2 is None else after
            return difference(index, ledger, index.sight(before, start), index.sight(after, end))

    @undisturbed
    def exposures(self, memory_id: str) -> list[Exposure]:
        """The recorded recalls that gave out a memory which has stepped back since: see `Space.record`.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     memory = space.add("The door code is 4711.", key="door")
        ...     _ = space.record(space.recall("door code"))
        ...     _ = space.add("The door code is 1234.", key="door")
        ...     [(e.receipt.question, e.superseded_by.text) for e in space.exposures(memory.id)]
        [('door code', 'The door code is 1234.')]
        """
        checked = inputs.memory_id(memory_id)
        with self._engine.using(self.name) as index, index.lock:
            sight = index.sight(self._position(index), self._now())
            return exposures(index, self._engine.ledger, checked, sight)

    async def arecall(self, query: str, **options: Any) -> Recall:
        """`recall`, off the event loop."""
        return await asyncio.to_thread(self.recall, query, **options)

    async def aread_graph(self, *args: Any, **options: Any) -> GraphPage:
        """`read_graph`, off the event loop."""
        return await asyncio.to_thread(self.read_graph, *args, **options)

    async def aget_many(self, ids: Iterable[str]) -> Gathered:
        """`get_many`, off the event loop."""
        return await asyncio.to_thread(self.get_many, ids)

    async def astats(self) -> Stats:
        """`stats`, off the event loop."""
        return await asyncio.to_thread(self.stats)

    async def aprofile(self, **options: Any) -> Profile:
        """`profile`, off the event loop."""
        return await asyncio.to_thread(self.profile, **options)

    async def aget(self, memory_id: str) -> Memory | None:
        """`get`, off the event loop."""
        return await asyncio.to_thread(self.get, memory_id)

    async def afind(self, key: str) -> Memory | None:
        """`find`, off the event loop."""
        return await asyncio.to_thread(self.find, key)

    async def ahistory(self, node: str | Memory | Entity) -> list[Happening]:
        """`history`, off the event loop."""
        return await asyncio.to_thread(self.history, node)

    async def adiff(self, t1: Moment, t2: Moment | None = None) -> Diff:
        """`diff`, off the event loop."""
        return await asyncio.to_thread(self.diff, t1, t2)

    async def aexposures(self, memory_id: str) -> list[Exposure]:
        """`exposures`, off the event loop."""
        return await asyncio.to_thread(self.exposures, memory_id)

    def _listed(self, status: Status | None) -> Iterator[Memory]:
        with self._engine.using(self.name) as index:
            if status is None:
                rows = index.current_rows(self._position(index))
            else:
                rows = self._overlooking(lambda whole: whole.rows(status)).tolist()
            for begin in range(0, len(rows), 500):
                yield from index.legible(rows[begin : begin + 500])

    def _overlooking(self, ask: Callable[[Overview], T]) -> T:
        """What an overview of this view answers."""
        with self._engine.using(self.name) as index:
            while True:
                try:
                    with index.lock:
                        return ask(Overview(index, index.sight(self._position(index), self._now())))
                except Vanished:
                    index.catch_up()  # another process erased one of them meanwhile

    def _now(self) -> datetime:
        return self._moment or self._engine.now()

    def _position(self, index: Index) -> int:
        if self._moment is None:
            return index.catalog.position
        return self._engine.ledger.position_at(self.name, self._moment)


def _signals(value: Sequence[str] | None) -> tuple[str, ...]:
    if value is None:
        return SIGNALS
    given = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    for name in given:
        if name not in SIGNALS:
            raise InvalidInput(f"signals={value!r} holds {name!r}. The signals are {', '.join(SIGNALS)}.")
    return given

"""What people hold: a View of a space at one moment, and a Space, which is a view of now that can write."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from remanence import drafts
from remanence.answers import Recall
from remanence.drafts import Moment
from remanence.engine import Engine
from remanence.errors import InvalidInput
from remanence.index import SIGNALS, Index
from remanence.model import UTC, Change, Memory, Window
from remanence.recall import Question
from remanence.remember import prepare, prepare_turns
from remanence.timewords import read_moment, read_window

if TYPE_CHECKING:
    from types import TracebackType

    from remanence.ports import Clock, Progress, Reranker, Vector

DEFAULT_SPACE = "default"
_MOST_PART = 255


@dataclass(frozen=True, slots=True)
class Verified:
    """The ledger is whole: so many lines, and the digest that stands for all of them.

    Keep the digest somewhere else, and a later `verify` can be held against it.
    """

    lines: int
    digest: str


class View:
    """A space as it was known at one moment. It cannot be written to."""

    def __init__(self, engine: Engine, name: str, moment: datetime | None = None) -> None:
        self._engine = engine
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
        of them. `now` is what "last week" is read against. `signals` and `weights` are for experiments;
        `vector` is the question's embedding, where you have it already.

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
        question = Question(
            text=drafts.question(query),
            now=at,
            position=0,
            limit=drafts.limit(limit),
            during=None if during is None else read_window(during, at),
            history=None if history == "auto" else bool(history),
            kinds=drafts.kinds(kinds),
            tags=drafts.tags(tags),
            min_score=drafts.share(min_score, "min_score"),
            signals=_signals(signals),
            weights=drafts.weights(weights, SIGNALS),
            vector=drafts.vector(vector),
        )
        answer = self._engine.recall(
            self.name, lambda index: replace(question, position=self._position(index))
        )
        return answer if self._moment is None else replace(answer, as_of=self._moment)

    def get(self, memory_id: str) -> Memory | None:
        """The memory with this id as this view knows it; None if it knows of none, or it is forgotten."""
        moment = self._moment
        position = None if moment is None else self._engine.ledger.position_at(self.name, moment)
        return self._engine.get(self.name, drafts.memory_id(memory_id), position)

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
        return self._engine.find(self.name, drafts.clean(key, "key"), position)

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

    def memories(self) -> Iterator[Memory]:
        """Every memory this view knows, in the order they were learned."""
        with self._engine.using(self.name) as index:
            rows = index.current_rows(self._position(index))
            for begin in range(0, len(rows), 500):
                yield from index.memories(rows[begin : begin + 500])

    def count(self) -> int:
        """How many memories this view knows."""
        with self._engine.using(self.name) as index:
            return len(index.current_rows(self._position(index)))

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

    async def arecall(self, query: str, **options: Any) -> Recall:
        """`recall`, off the event loop."""
        return await asyncio.to_thread(self.recall, query, **options)

    async def aget(self, memory_id: str) -> Memory | None:
        """`get`, off the event loop."""
        return await asyncio.to_thread(self.get, memory_id)

    async def afind(self, key: str) -> Memory | None:
        """`find`, off the event loop."""
        return await asyncio.to_thread(self.find, key)

    def _position(self, index: Index) -> int:
        if self._moment is None:
            return index.catalog.position
        return self._engine.ledger.position_at(self.name, self._moment)


class Space(View):
    """A space as it is now: ask it, and tell it."""

    def __init__(self, engine: Engine, name: str, *, root: bool = False) -> None:
        super().__init__(engine, name)
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
        draft = drafts.draft({name: value for name, value in locals().items() if name != "self"})
        return self._engine.add(self.name, [prepare(draft, self._engine.extractor, self._engine.now())])[0]

    def add_many(
        self, rows: Iterable[Mapping[str, Any]], *, progress: bool | Progress = False
    ) -> list[Memory]:
        """Keep many texts, each a dict with the arguments of `add`. All are checked before any is kept.

        They are written a thousand at a time. `progress` shows a bar, or is called with (done, all).
        """
        now = self._engine.now()
        prepared = []
        for number, row in enumerate(_rows(rows)):
            draft = drafts.draft(row, row=number)
            with drafts.in_row(number):
                prepared.append(prepare(draft, self._engine.extractor, now))
        with _bar(progress, "remembering") as shown:
            return self._engine.add(self.name, prepared, shown)

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
        at = self._engine.now() if now is None else read_moment(now, self._engine.now(), what="now")
        checked = [drafts.turn_draft(turn, row=number) for number, turn in enumerate(_rows(turns))]
        prepared = prepare_turns(checked, self._engine.extractor, at)
        with _bar(progress, "remembering") as shown:
            return self._engine.add(self.name, prepared, shown)

    def forget(self, memory_id: str, why: str | None = None) -> None:
        """Hide a memory from now on. It stays in views of the past, and `unforget` brings it back."""
        self._engine.forget(self.name, drafts.memory_id(memory_id), drafts.reason(why))

    def unforget(self, memory_id: str) -> None:
        """Bring a forgotten memory back."""
        self._engine.unforget(self.name, drafts.memory_id(memory_id))

    def erase(self, memory_id: str) -> None:
        """Blank the words of a memory for ever, in the past too, and in every file.

        The line stays, without its words, so that `verify` still holds.
        """
        self._engine.erase(self.name, drafts.memory_id(memory_id))

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
        return Space(self._engine, "/".join([self.name, *(_part(part) for part in path)]))

    def spaces(self) -> list[str]:
        """The names of this space and of those below it that hold anything."""
        below = f"{self.name}/"
        return [name for name in self._engine.ledger.spaces() if name == self.name or name.startswith(below)]

    def verify(self) -> Verified:
        """Walk the whole ledger and check every digest; LedgerTampered names the first bad line."""
        lines, digest = self._engine.ledger.verify()
        return Verified(lines, digest.hex())

    def rebuild(self, *, progress: bool | Progress = False) -> None:
        """Throw the four indexes of this space away and build them from the ledger. Answers stay the same."""
        with _bar(progress, "embedding") as shown:
            self._engine.rebuild(self.name, shown)

    def check(self) -> dict[str, str]:
        """Hold each index against a fresh build from the ledger: {} if all agree, else what differs."""
        return self._engine.check(self.name)

    def close(self) -> None:
        """Save and let go of every file. A child leaves that to the space it came from."""
        if self._root:
            self._engine.close()

    async def aadd(self, text: str, **fields: Any) -> Memory:
        """`add`, off the event loop."""
        return await asyncio.to_thread(self.add, text, **fields)

    async def aadd_many(self, rows: Iterable[Mapping[str, Any]], **options: Any) -> list[Memory]:
        """`add_many`, off the event loop."""
        return await asyncio.to_thread(self.add_many, rows, **options)

    async def aadd_turns(self, turns: Iterable[Mapping[str, Any]], **options: Any) -> list[Memory]:
        """`add_turns`, off the event loop."""
        return await asyncio.to_thread(self.add_turns, turns, **options)

    async def aforget(self, memory_id: str, why: str | None = None) -> None:
        """`forget`, off the event loop."""
        await asyncio.to_thread(self.forget, memory_id, why)

    async def aunforget(self, memory_id: str) -> None:
        """`unforget`, off the event loop."""
        await asyncio.to_thread(self.unforget, memory_id)

    async def aerase(self, memory_id: str) -> None:
        """`erase`, off the event loop."""
        await asyncio.to_thread(self.erase, memory_id)

    async def averify(self) -> Verified:
        """`verify`, off the event loop."""
        return await asyncio.to_thread(self.verify)

    async def arebuild(self, **options: Any) -> None:
        """`rebuild`, off the event loop."""
        await asyncio.to_thread(self.rebuild, **options)

    async def aclose(self) -> None:
        """`close`, off the event loop."""
        await asyncio.to_thread(self.close)


def open(
    location: str | Path | None,
    *,
    space: str | None = None,
    embedder: Any = None,
    extractor: Any = None,
    qdrant: Any = None,
    clock: Clock | None = None,
    reranker: Reranker | None = None,
) -> Space:
    """Open the space in a folder, making it if need be; None keeps everything in memory only.

    `embedder` is a name, a LangChain or LlamaIndex embedding object, or a function of a list of texts;
    left out, a small static one that comes with the package. `qdrant` is the URL of a server, or a
    `QdrantClient`, to use in place of the embedded engine. `clock` gives the present moment, for tests.

    >>> import remanence
    >>> with remanence.open(None) as space:
    ...     space.add("Porto has six bridges.").kind
    'semantic'
    """
    engine = _engine(location, embedder, extractor, qdrant, clock, reranker, fresh=False)
    return Space(engine, DEFAULT_SPACE if space is None else _part(space), root=True)


def reembed(
    location: str | Path, *, embedder: Any = None, qdrant: Any = None, progress: bool | Progress = False
) -> None:
    """Embed everything in a folder anew with another embedder, which is then the one it opens with."""
    engine = _engine(location, embedder, None, qdrant, None, None, fresh=True)
    try:
        with _bar(progress, "embedding") as shown:
            engine.reembed(shown)
    finally:
        engine.close()


def _engine(
    location: str | Path | None,
    embedder: Any,
    extractor: Any,
    qdrant: Any,
    clock: Clock | None,
    reranker: Reranker | None,
    *,
    fresh: bool,
) -> Engine:
    from remanence import embedders, extractors
    from remanence.ledger import open_ledger

    if clock is not None and not callable(clock):
        raise InvalidInput(f"clock={clock!r} cannot be called. Give a function that returns a datetime.")
    embedder, extractor = embedders.resolve(embedder), extractors.resolve(extractor)
    ledger = open_ledger(location)
    try:
        return Engine(
            ledger,
            embedder,
            extractor,
            folder=None if location is None else Path(location).expanduser(),
            qdrant=qdrant,
            clock=clock or _system_clock,
            reranker=reranker,
            fresh=fresh,
        )
    except BaseException:
        ledger.close()
        raise


def _system_clock() -> datetime:
    return datetime.now(UTC)


def _part(name: object) -> str:
    """One part of a space's name. A slash inside it is written as %2F, so that parts cannot run together."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"a space cannot be called {name!r}. Give it a name with a visible character.")
    if len(name) > _MOST_PART:
        raise InvalidInput(
            f"the space name {name[:40]!r}… has {len(name)} characters. Use at most {_MOST_PART}, "
            "for example a hash of it."
        )
    drafts.clean(name, "space")
    return name.replace("%", quote("%")).replace("/", quote("/", safe=""))


def _signals(value: Sequence[str] | None) -> tuple[str, ...]:
    if value is None:
        return SIGNALS
    given = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    for name in given:
        if name not in SIGNALS:
            raise InvalidInput(f"signals={value!r} holds {name!r}. The signals are {', '.join(SIGNALS)}.")
    return given


def _rows(rows: object) -> Iterable[Mapping[str, Any]]:
    if isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        raise InvalidInput(f"{type(rows).__name__} given where a list of dicts belongs.")
    return rows


class _bar:
    """A progress bar, the caller's own function, or nothing."""

    def __init__(self, progress: bool | Progress, label: str) -> None:
        self._progress = progress
        self._label = label
        self._live: Any = None

    def __enter__(self) -> Progress | None:
        if not isinstance(self._progress, bool):
            return self._progress
        if not self._progress:
            return None
        from rich.progress import Progress as Bar

        self._live = Bar(transient=True)
        self._live.start()
        task = self._live.add_task(self._label, total=None)
        return lambda done, all_: self._live.update(task, completed=done, total=all_)

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

"""A thread that is rewound, replayed or forked sees memory as it was known at that checkpoint.

Real graphs and real checkpointers. Each turn says a city; `before` and `after` are what memory held on the
city before and after the node that wrote it.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

import remanence
from langchain_remanence.checkpoint_lineage import CheckpointLineage, CheckpointUnknown
from langchain_remanence.checkpoints import CheckpointView
from langchain_remanence.store import RemanenceStore
from remanence.testing import FakeClock, HashingEmbedder

FACTS = ("facts",)


class State(TypedDict, total=False):
    say: str
    before: str | None
    after: str | None


class Memory:
    """One way to keep the city: in the store, or in a space that is viewed from the checkpoint."""

    keep: Callable[[str], Any]
    held: Callable[[], str | None]
    found: Callable[[], str | None]
    drop: Callable[[], Any]


class InStore(Memory):
    def __init__(self, space: remanence.Space, saver: BaseCheckpointSaver[Any]) -> None:
        self.store = RemanenceStore(space, checkpointer=saver)

    def keep(self, city: str) -> None:
        self.store.put(FACTS, "city", {"text": f"Alice lives in {city}."})

    def held(self) -> str | None:
        item = self.store.get(FACTS, "city")
        return None if item is None else item.value["text"]

    def found(self) -> str | None:
        hits = self.store.search(FACTS, query="Where does Alice live?")
        assert all(hit.score is not None for hit in hits), "what is known is also ranked"
        return hits[0].value["text"] if hits else None

    def drop(self) -> None:
        self.store.delete(FACTS, "city")


class InView(Memory):
    def __init__(self, space: remanence.Space, saver: BaseCheckpointSaver[Any]) -> None:
        self.view = CheckpointView(space, saver)

    def keep(self, city: str) -> None:
        self.view.add(f"Alice lives in {city}.", key="city")

    def held(self) -> str | None:
        memory = self.view.find("city")
        return None if memory is None else memory.text

    def found(self) -> str | None:
        hits = self.view.recall("Where does Alice live?")
        return hits[0].memory.text if hits else None

    def drop(self) -> None:
        memory = self.view.find("city")
        self.view.forget(memory.id)


class World:
    """A graph of three nodes, `look`, `hear` and `tell`, with a memory and a checkpointer."""

    def __init__(self, memory: Any, saver: BaseCheckpointSaver[Any], asks: bool = False) -> None:
        self.memory = memory
        self.asks = asks
        self.app = compiled(saver, look=self.look, hear=self.hear, tell=self.tell)

    def look(self, state: State) -> State:
        return {"before": self.seen()}

    def hear(self, state: State) -> State:
        said = state["say"]
        if self.asks:
            said = interrupt("Where does she live?")
        if said == "nowhere":
            self.memory.drop()
        elif said:
            self.memory.keep(said)
        return {}

    def tell(self, state: State) -> State:
        return {"after": self.seen()}

    def seen(self) -> str | None:
        held, found = self.memory.held(), self.memory.found()
        assert held == found, f"looked up {held!r}, but recalled {found!r}"
        return held and held.removeprefix("Alice lives in ").removesuffix(".")

    def turn(self, say: str, config: Any = None, thread: str = "t") -> tuple[str | None, str | None]:
        """One turn of a thread, or one on an old checkpoint: the city before and after."""
        out = self.app.invoke({"say": say}, config or of(thread))
        return out.get("before"), out.get("after")

    def replay(self, config: Any) -> tuple[str | None, str | None]:
        out = self.app.invoke(None, config)
        return out.get("before"), out.get("after")

    def past(self, following: str, turn: int, thread: str = "t") -> Any:
        """The config of the checkpoint of a turn (1 is the first) that this node came after."""
        states = [s for s in self.app.get_state_history(of(thread)) if s.next == (following,)]
        return states[::-1][turn - 1].config


def compiled(saver: BaseCheckpointSaver[Any] | None, **nodes: Any) -> Any:
    """A graph of these nodes, one after the other."""
    graph = StateGraph(State)
    for before, (name, node) in zip((START, *nodes), nodes.items(), strict=False):
        graph.add_node(name, node)
        graph.add_edge(before, name)
    return graph.compile(checkpointer=saver)


def of(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


@pytest.fixture
def space() -> Iterator[remanence.Space]:
    """An empty space on the clock that LangGraph also goes by."""
    with remanence.open(None, embedder=HashingEmbedder()) as space:
        yield space


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    connection = sqlite3.connect(tmp_path / "checkpoints.db", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


@pytest.fixture(params=[InStore, InView])
def world(request: pytest.FixtureRequest, space: remanence.Space, saver: BaseCheckpointSaver[Any]) -> World:
    return World(request.param(space, saver), saver)


def test_a_thread_that_goes_on_sees_all_it_wrote(world: World) -> None:
    """Nothing is different for those who never look back."""
    assert world.turn("Porto") == (None, "Porto")
    assert world.turn("Lisbon") == ("Porto", "Lisbon")
    assert world.turn("nowhere") == ("Lisbon", None)
    assert world.turn("") == (None, None)


def test_a_replayed_turn_sees_what_was_known_then(world: World) -> None:
    """The first turn, run again after the second, knows nothing of either."""
    world.turn("Porto")
    world.turn("Lisbon")

    assert world.replay(world.past("look", 1)) == (None, "Porto")
    assert world.replay(world.past("look", 2)) == ("Porto", "Lisbon")


def test_a_replay_from_the_middle_sees_the_writes_before_it_only(world: World) -> None:
    """Rewound to before `tell` of the first turn, `hear` has written and the second turn has not been."""
    world.turn("Porto")
    world.turn("Lisbon")
    world.turn("nowhere")

    assert world.replay(world.past("tell", 1)) == (None, "Porto")
    assert world.replay(world.past("hear", 3)) == ("Lisbon", None)


def test_a_fork_and_its_sibling_do_not_see_each_other(world: World) -> None:
    """Two futures of one past: each goes on with its own city."""
    world.turn("Porto")
    first = world.app.get_state(of("t")).config
    world.turn("Lisbon")
    lisbon = world.app.get_state(of("t")).config

    assert world.turn("Madrid", first) == ("Porto", "Madrid")
    madrid = world.app.get_state(of("t")).config
    assert world.turn("", lisbon) == ("Lisbon", "Lisbon")
    assert world.turn("", madrid) == ("Madrid", "Madrid")
    assert world.turn("nowhere", lisbon) == ("Lisbon", None)
    assert world.turn("", madrid) == ("Madrid", "Madrid")
    assert world.turn("") == ("Madrid", "Madrid")


def test_a_fork_made_by_updating_the_state_is_one_too(world: World) -> None:
    """`update_state` on an old checkpoint, and a run from there."""
    world.turn("Porto")
    world.turn("Lisbon")
    forked = world.app.update_state(world.past("hear", 1), {"say": "Madrid"})

    assert world.replay(forked) == (None, "Madrid")
    assert world.turn("") == ("Madrid", "Madrid")


def test_updating_the_newest_state_rewinds_nothing(world: World) -> None:
    """A state corrected where the thread stands keeps what the thread wrote."""
    world.turn("Porto")
    world.app.update_state(of("t"), {"say": "corrected"})

    assert world.turn("") == ("Porto", "Porto")


def test_a_fork_of_a_fork_sees_the_line_it_came_by(world: World) -> None:
    """Grandparents are seen, aunts are not."""
    world.turn("Porto")
    first = world.app.get_state(of("t")).config
    world.turn("Lisbon")
    world.turn("Madrid", first)
    second = world.app.get_state(of("t")).config
    world.turn("Rome")

    assert world.turn("", second) == ("Madrid", "Madrid")
    assert world.turn("", first) == ("Porto", "Porto")


def test_an_interrupted_turn_that_is_resumed_keeps_what_it_knew(
    space: remanence.Space, saver: BaseCheckpointSaver[Any]
) -> None:
    """To resume is to go on: nothing is rewound, and the rest of the turn sees the answer."""
    world = World(InStore(space, saver), saver, asks=True)
    world.turn("")
    world.app.invoke(Command(resume="Porto"), of("t"))
    out = world.turn("")

    assert out[0] == "Porto"
    assert world.app.invoke(Command(resume="Lisbon"), of("t"))["after"] == "Lisbon"


def test_an_interrupt_that_is_answered_again_forgets_the_first_answer(
    space: remanence.Space, saver: BaseCheckpointSaver[Any]
) -> None:
    """LangGraph runs the old checkpoint again in its place, without a fork; the answers stay apart."""
    seen: list[tuple[str | None, bool]] = []
    store = RemanenceStore(space, checkpointer=saver)

    def hear(state: State) -> State:
        interrupt("Where does she live?")
        seen.append((city(store), store.get(FACTS, "news") is not None))
        store.put(FACTS, "city", {"text": f"attempt {len(seen)}"})
        return {}

    def tell(state: State) -> State:
        return {"after": city(store)}

    app = compiled(saver, hear=hear, tell=tell)
    app.invoke({"say": ""}, of("t"))
    asked = app.get_state(of("t")).config

    assert app.invoke(Command(resume="yes"), of("t"))["after"] == "attempt 1"
    once = app.get_state(of("t")).config
    store.put(FACTS, "news", {"text": "learned after she was asked"})
    assert app.invoke(Command(resume="no"), asked)["after"] == "attempt 2"
    assert seen == [(None, False), (None, False)]
    assert city(store.at_checkpoint(once)) == "attempt 1"
    assert city(store.at_checkpoint(of("t"))) == "attempt 2"
    assert city(asyncio.run(store.aat_checkpoint(once))) == "attempt 1"


def test_a_node_that_failed_and_is_tried_again_sees_what_it_wrote(
    space: remanence.Space, saver: BaseCheckpointSaver[Any]
) -> None:
    """A second attempt at the same checkpoint is not a rewind."""
    store = RemanenceStore(space, checkpointer=saver)
    seen: list[str | None] = []

    def hear(state: State) -> State:
        seen.append(city(store))
        store.put(FACTS, "city", {"text": "Porto"})
        if len(seen) == 1:
            raise ConnectionError("the line is dead")
        return {}

    app = compiled(saver, hear=hear)
    with pytest.raises(ConnectionError):
        app.invoke({"say": ""}, of("t"))
    app.invoke(None, of("t"))

    assert seen == [None, "Porto"]


def test_what_others_wrote_since_is_unknown_to_a_rewound_run_until_its_next_turn(world: World) -> None:
    """A rewound turn sees other threads as they were; the next turn lives in the present."""
    world.turn("Porto", thread="other")
    world.turn("", thread="t")
    early = world.past("look", 1)
    world.turn("Lisbon", thread="other")

    assert world.turn("", thread="t")[0] == "Lisbon"
    assert world.replay(early) == ("Porto", "Porto")
    assert world.turn("") == ("Lisbon", "Lisbon")


def test_what_was_written_outside_of_any_run_is_seen_as_it_was_too(world: World) -> None:
    """A script that changes memory between two turns changes nothing in the past."""
    world.memory.keep("Porto")
    world.turn("")
    world.memory.keep("Lisbon")

    assert world.turn("")[0] == "Lisbon"
    assert world.replay(world.past("look", 1)) == ("Porto", "Porto")


def test_what_was_deleted_since_is_there_again_for_a_rewound_run(world: World) -> None:
    """Deletion by another thread is news like any other."""
    world.turn("Porto", thread="other")
    world.turn("")
    world.turn("nowhere", thread="other")

    assert world.turn("") == (None, None)
    assert world.replay(world.past("look", 1)) == ("Porto", "Porto")


def test_outside_of_any_run_the_last_write_holds(world: World) -> None:
    """Whoever asks without a thread sees what was written last, by whichever branch."""
    world.turn("Porto")
    first = world.app.get_state(of("t")).config
    world.turn("Lisbon")
    world.turn("Madrid", first)

    assert world.seen() == "Madrid"


def test_any_checkpoint_can_be_looked_from(space: remanence.Space, saver: BaseCheckpointSaver[Any]) -> None:
    """`at` shows what a run would see that goes on from there, and refuses to be written to."""
    memory = InStore(space, saver)
    world = World(memory, saver)
    world.turn("Porto")
    first = world.app.get_state(of("t")).config
    world.turn("Lisbon")

    assert city(memory.store.at_checkpoint(first)) == "Alice lives in Porto."
    assert city(memory.store.at_checkpoint(of("t"))) == "Alice lives in Lisbon."
    assert city(memory.store.at_checkpoint(world.past("hear", 1))) is None
    with pytest.raises(remanence.InvalidInput, match="cannot be written to"):
        memory.store.at_checkpoint(first).put(FACTS, "city", {"text": "Rome"})


def test_a_view_looks_from_any_checkpoint_too(space: remanence.Space, saver: BaseCheckpointSaver[Any]) -> None:
    """The same for a space."""
    memory = InView(space, saver)
    world = World(memory, saver)
    world.turn("Porto")
    first = world.app.get_state(of("t")).config
    world.turn("Lisbon")
    looking = memory.view.at_checkpoint(first)

    assert [hit.memory.text for hit in looking.recall("Alice")] == ["Alice lives in Porto."]
    with pytest.raises(remanence.InvalidInput, match="cannot be written to"):
        looking.add("Alice lives in Rome.")


def test_lineage_survives_a_restart(tmp_path: Path) -> None:
    """Another process, with nothing but the two files, tells the branches apart."""

    def opened() -> tuple[remanence.Space, sqlite3.Connection, World]:
        space = remanence.open(tmp_path / "memory", embedder=HashingEmbedder())
        connection = sqlite3.connect(tmp_path / "checkpoints.db", check_same_thread=False)
        saver = SqliteSaver(connection)
        return space, connection, World(InStore(space, saver), saver)

    space, connection, world = opened()
    world.turn("Porto")
    first = world.app.get_state(of("t")).config
    world.turn("Lisbon")
    space.close()
    connection.close()

    space, connection, world = opened()
    assert world.turn("Madrid", first) == ("Porto", "Madrid")
    assert world.turn("") == ("Madrid", "Madrid")
    space.close()
    connection.close()


def test_parallel_nodes_of_one_step_are_of_one_branch(space: remanence.Space, saver: BaseCheckpointSaver[Any]) -> None:
    """What two nodes write in one step is seen by the next, and by no sibling of it."""
    store = RemanenceStore(space, checkpointer=saver)

    def writer(name: str) -> Callable[[State], State]:
        def node(state: State) -> State:
            store.put(FACTS, name, {"text": state["say"]})
            return {}

        return node

    def tell(state: State) -> State:
        return {"after": ",".join(sorted(f"{i.key}={i.value['text']}" for i in store.search(FACTS)))}

    graph = StateGraph(State)
    for name in ("a", "b"):
        graph.add_node(name, writer(name))
        graph.add_edge(START, name)
        graph.add_edge(name, "tell")
    graph.add_node("tell", tell)
    app: Any = graph.compile(checkpointer=saver)
    assert app.invoke({"say": "1"}, of("t"))["after"] == "a=1,b=1"
    start = next(s.config for s in app.get_state_history(of("t")) if s.next and "a" in s.next)
    forked = app.update_state(start, {"say": "2"}, as_node="__start__")

    assert app.invoke(None, forked)["after"] == "a=2,b=2"
    assert [i.value["text"] for i in store.at_checkpoint(start).search(FACTS)] == []


def test_a_subgraph_is_one_step_of_the_outer_graph(space: remanence.Space, saver: BaseCheckpointSaver[Any]) -> None:
    """Inside it, writes are seen at once; a rewind of the outer graph takes them all back."""
    store = RemanenceStore(space, checkpointer=saver)

    def hear(state: State) -> State:
        store.put(FACTS, "city", {"text": state["say"]})
        return {}

    def tell(state: State) -> State:
        return {"after": city(store)}

    inner = compiled(None, hear=hear, tell=tell)
    app = compiled(saver, look=lambda state: {"before": city(store)}, inner=inner)
    app.invoke({"say": "Porto"}, of("t"))
    out = app.invoke({"say": "Lisbon"}, of("t"))
    assert (out["before"], out["after"]) == ("Porto", "Lisbon")
    second = next(s.config for s in app.get_state_history(of("t")) if s.next == ("look",))

    out = app.invoke(None, second)
    assert (out["before"], out["after"]) == ("Porto", "Lisbon")
    assert city(store.at_checkpoint(second)) == "Porto"


@pytest.mark.run_config
async def test_async_nodes_are_followed_as_well(space: remanence.Space) -> None:
    """The same through `ainvoke` and the async methods, where saving goes on in the same loop."""
    saver = InMemorySaver()
    store = RemanenceStore(space, checkpointer=saver)

    async def hear(state: State) -> State:
        before = await store.aget(FACTS, "city")
        await store.aput(FACTS, "city", {"text": state["say"]})
        return {"before": before.value["text"] if before else None}

    app = compiled(saver, hear=hear)
    await app.ainvoke({"say": "Porto"}, of("t"))
    first = (await app.aget_state(of("t"))).config
    await app.ainvoke({"say": "Lisbon"}, of("t"))

    assert (await app.ainvoke({"say": "Madrid"}, first))["before"] == "Porto"
    assert (await app.ainvoke({"say": ""}, of("t")))["before"] == "Madrid"


@pytest.mark.run_config
async def test_many_threads_at_once_keep_their_branches_apart(space: remanence.Space, at_once: int) -> None:
    """Each forks its own past while all the others run."""
    saver = InMemorySaver()
    store = RemanenceStore(space, checkpointer=saver)

    async def hear(state: State) -> State:
        name = state["say"].split(":")[0]
        before = await store.aget((name,), "city")
        await store.aput((name,), "city", {"text": state["say"]})
        return {"before": before.value["text"] if before else None}

    app = compiled(saver, hear=hear)

    async def life(name: str) -> list[str | None]:
        await app.ainvoke({"say": f"{name}:1"}, of(name))
        first = (await app.aget_state(of(name))).config
        second = await app.ainvoke({"say": f"{name}:2"}, of(name))
        forked = await app.ainvoke({"say": f"{name}:3"}, first)
        return [second["before"], forked["before"]]

    lives = await asyncio.gather(*(life(f"n{number}") for number in range(at_once)))
    assert lives == [[f"n{number}:1", f"n{number}:1"] for number in range(at_once)]


def test_work_in_the_background_stays_where_it_was_begun(
    space: remanence.Space, saver: BaseCheckpointSaver[Any]
) -> None:
    """`here()` holds on to the place when the node is long over."""
    view = CheckpointView(space, saver)
    held: list[CheckpointView] = []
    app = compiled(saver, hear=lambda state: held.append(view.pin()))
    app.invoke({"say": ""}, of("t"))
    before = next(s.config for s in app.get_state_history(of("t")) if s.next == ("hear",))
    worker = threading.Thread(target=lambda: held[0].add("Alice lives in Porto."))
    worker.start()
    worker.join()

    assert [hit.memory.text for hit in view.at_checkpoint(of("t")).recall("Alice")] == ["Alice lives in Porto."]
    assert not view.at_checkpoint(before).recall("Alice")
    assert "Porto" in view.at_checkpoint(of("t")).for_prompt("Where does Alice live?").text
    assert not view.at_checkpoint(before).for_prompt("Where does Alice live?").hits


def test_a_view_gives_memories_back_as_they_were_handed_in(
    space: remanence.Space, saver: BaseCheckpointSaver[Any]
) -> None:
    """The stamp is our business: key and meta are the caller's, and the same words are one memory."""
    view = CheckpointView(space, saver)
    given: list[remanence.Memory] = []

    def hear(state: State) -> State:
        given.append(view.add("Alice drinks green tea.", meta={"n": 1}))
        given.extend(view.add_turns([{"content": "I like tea.", "speaker": "Alice", "key": "m1"}]))
        given.extend(view.add_many([{"text": "Alice has a cat.", "key": "cat"}]))
        return {"after": str([(hit.memory.key, hit.memory.text) for hit in view.recall("tea")])}

    app = compiled(saver, hear=hear)
    app.invoke({"say": ""}, of("t"))
    again = app.invoke({"say": ""}, of("t"))["after"]

    assert [(memory.key, dict(memory.meta)) for memory in given[:3]] == [(None, {"n": 1}), ("m1", {}), ("cat", {})]
    assert again.count("green tea") == 1
    assert again.count("I like tea") == 1


async def test_a_view_does_not_draw_facts(space: remanence.Space, saver: BaseCheckpointSaver[Any]) -> None:
    """They would be in every branch; it keeps nothing then, and says what to call instead."""
    view = CheckpointView(space, saver)
    told = [{"role": "user", "content": "I live in Porto."}]
    refused = r"<CheckpointView of <Space 'default'>> cannot remember\(\).* with add\(\) or add_turns\(\), or"
    with pytest.raises(remanence.InvalidInput, match=refused):
        view.remember(told, wait=False)
    with pytest.raises(remanence.InvalidInput, match=refused):
        await view.aremember(told)
    assert space.count() == 0


def test_each_way_of_writing_stays_in_its_branch(space: remanence.Space, saver: BaseCheckpointSaver[Any]) -> None:
    """One at a time, many at once, or as turns."""
    view = CheckpointView(space, saver)

    def hear(state: State) -> State:
        city = state["say"]
        view.add(f"One tea in {city}.")
        view.add_many([{"text": f"Two teas in {city}."}])
        view.add_turns([{"content": f"Three teas in {city}.", "speaker": "Alice"}])
        return {"after": " ".join(sorted(hit.memory.text for hit in view.recall("tea")))}

    app = compiled(saver, hear=hear)
    app.invoke({"say": "Porto"}, of("t"))
    first = next(s.config for s in app.get_state_history(of("t")) if s.next == ("hear",))
    forked = app.update_state(first, {"say": "Lisbon"}, as_node="__start__")

    seen = app.invoke(None, forked)["after"]
    assert seen == "One tea in Lisbon. Three teas in Lisbon. Two teas in Lisbon."


def test_a_turn_without_a_key_is_kept_once_a_step_and_a_speaker(
    space: remanence.Space, saver: BaseCheckpointSaver[Any]
) -> None:
    """What a node says twice as it is tried again is one turn; in another step, or by another, it is two."""
    view = CheckpointView(space, saver)

    def hear(state: State) -> State:
        for speaker in ("Alice", "Alice", "Bob"):
            view.add_turns([{"content": "Good morning.", "speaker": speaker}])
        return {}

    app = compiled(saver, hear=hear)
    for _ in range(2):
        app.invoke({"say": ""}, of("t"))

    assert [memory.observed_by for memory in space.memories()] == ["Alice", "Bob", "Alice", "Bob"]


def test_a_memory_that_has_expired_since_is_known_to_a_rewound_run(saver: BaseCheckpointSaver[Any]) -> None:
    """Its time was not over then; it is over now."""
    clock = FakeClock(datetime.now(timezone.utc))
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock) as space:
        view = CheckpointView(space, saver)
        app = compiled(saver, tell=lambda state: {"after": str(view.recall("tea"))})
        view.add("The tea is ready.", expires_at=clock.now() + timedelta(hours=1))
        assert "tea" in app.invoke({"say": ""}, of("t"))["after"]
        early = next(s.config for s in app.get_state_history(of("t")) if s.next == ("tell",))
        clock.advance(hours=2)

        assert app.invoke({"say": ""}, of("t"))["after"] == ""
        assert "tea" in app.invoke(None, early)["after"]
        assert all(hit.current for hit in view.at_checkpoint(early).recall("tea"))


def test_what_is_over_is_known_and_not_current(saver: BaseCheckpointSaver[Any]) -> None:
    """Its end is no expiry: it is returned as the space returns it, and was current for a run before the end."""
    clock = FakeClock(datetime.now(timezone.utc))
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock) as space:
        view = CheckpointView(space, saver)
        app = compiled(saver, tell=lambda state: {"after": str(view.recall("Where does Ana work?"))})
        view.add("Ana works at Acme.", valid_until=clock.now() + timedelta(hours=1))
        view.add("Ana worked at Ibex from 2015 to 2019.")
        app.invoke({"say": ""}, of("t"))
        early = next(s.config for s in app.get_state_history(of("t")) if s.next == ("tell",))
        clock.advance(hours=2)

        for listed in (view.recall("Where does Ana work?"), view.recent()):
            assert {hit.memory.text: hit.current for hit in listed} == {
                "Ana works at Acme.": False,
                "Ana worked at Ibex from 2015 to 2019.": False,
            }
        assert "Ibex" in app.invoke({"say": ""}, of("t"))["after"]
        before = view.at_checkpoint(early).recall("Where does Ana work?")
        assert {hit.memory.text: hit.current for hit in before}["Ana works at Acme."]


def test_renewing_an_item_by_reading_it_does_not_carry_it_into_another_branch(
    space: remanence.Space, saver: BaseCheckpointSaver[Any]
) -> None:
    """Only its time is moved; who knows of it stays the same."""
    clock = FakeClock(datetime.now(timezone.utc))
    store = RemanenceStore(space, checkpointer=saver, clock=clock)

    def hear(state: State) -> State:
        if state["say"]:
            store.put(FACTS, "city", {"text": state["say"]}, ttl=10)
        return {"after": city(store)}

    app = compiled(saver, hear=hear)
    app.invoke({"say": ""}, of("t"))
    empty = app.get_state(of("t")).config
    app.invoke({"say": "Porto"}, of("t"))
    for _ in range(3):
        clock.advance(minutes=8)
        assert city(store) == "Porto"

    assert app.invoke({"say": ""}, empty)["after"] is None
    assert app.invoke({"say": ""}, of("t"))["after"] is None
    assert city(store) == "Porto"


def test_spaces_below_a_view_are_followed_and_kept_apart(
    space: remanence.Space, saver: BaseCheckpointSaver[Any]
) -> None:
    """One user's branch is no other user's either."""
    view = CheckpointView(space, saver)

    def hear(state: State) -> State:
        view.child("users", state["say"]).add(f"I am {state['say']}.")
        return {"after": str([hit.memory.text for hit in view.child("users", "bob").recall("who am I")])}

    app = compiled(saver, hear=hear)

    assert app.invoke({"say": "eve"}, of("t"))["after"] == "[]"
    first = app.get_state(of("t")).config
    assert app.invoke({"say": "bob"}, of("t"))["after"] == "['I am bob.']"
    assert app.invoke({"say": "eve"}, first)["after"] == "[]"


def test_a_pruned_past_is_told_by_time(space: remanence.Space) -> None:
    """Where the checkpointer lost the ancestors, nothing that was written is lost with them."""
    saver = InMemorySaver()
    world = World(InStore(space, saver), saver)
    world.turn("Porto")
    world.turn("Lisbon")
    kept = world.app.get_state(of("t")).config["configurable"]["checkpoint_id"]
    for checkpoint in list(saver.storage["t"][""]):
        if checkpoint != kept:
            del saver.storage["t"][""][checkpoint]
    fresh = World(InStore(space, saver), saver)

    assert fresh.turn("") == ("Lisbon", "Lisbon")


def test_a_checkpointer_that_does_not_keep_each_step_is_named(
    space: remanence.Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With durability="exit" nobody can tell the branches apart, and memory says so."""
    monkeypatch.setattr("langchain_remanence.checkpoint_lineage._TIMEOUT", 0.05)
    saver = InMemorySaver()
    world = World(InStore(space, saver), saver)

    with pytest.raises(CheckpointUnknown, match="durability"):
        world.app.invoke({"say": "Porto"}, of("t"), durability="exit")


def test_a_slow_checkpointer_is_waited_for(space: remanence.Space) -> None:
    """LangGraph saves a checkpoint while the node on top of it runs; a read waits for it."""

    class Slow(InMemorySaver):
        def put(self, *args: Any, **options: Any) -> Any:
            time.sleep(0.03)
            return super().put(*args, **options)

    saver = Slow()
    world = World(InStore(space, saver), saver)
    world.turn("Porto")
    assert world.turn("Lisbon") == ("Porto", "Lisbon")
    assert world.replay(world.past("look", 2)) == ("Porto", "Lisbon")


def test_what_is_no_checkpointer_is_refused() -> None:
    """The mistake is named when the store is made."""
    with pytest.raises(remanence.InvalidInput, match="not a checkpointer"):
        CheckpointLineage(object())  # type: ignore[arg-type]


def city(store: RemanenceStore) -> str | None:
    item = store.get(FACTS, "city")
    return None if item is None else item.value["text"]


@pytest.mark.parametrize("space", ["./memory", None, 7, remanence.Space])
def test_what_is_no_space_is_refused_when_the_view_is_made(space: Any) -> None:
    """Not at the first recall of a run."""
    with pytest.raises(remanence.InvalidInput, match=r"not a space\. Open it: remanence\.open\("):
        CheckpointView(space, InMemorySaver())


async def test_a_view_of_a_checkpoint_can_be_made_in_an_event_loop(space: remanence.Space) -> None:
    """`pin` and `at_checkpoint` ask the checkpointer, which takes time."""
    with pytest.raises(remanence.InvalidInput, match="view of the past"):
        CheckpointView(space.as_of("2026-01-01"), InMemorySaver())  # type: ignore[arg-type]
    view = CheckpointView(space, InMemorySaver())
    assert (await view.apin()).name == space.name
    with pytest.raises(CheckpointUnknown):
        await view.aat_checkpoint({"configurable": {"thread_id": "t", "checkpoint_id": "c"}})

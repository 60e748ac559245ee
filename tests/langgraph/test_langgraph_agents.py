"""The store where it is used: in graphs, in agents and their tools, in the middleware, in langmem."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

import remanence
from langchain_remanence.checkpoints import CheckpointView
from langchain_remanence.store import RemanenceStore
from remanence.testing import HashingEmbedder

THREAD: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    say: str
    seen: list[str]


class Scripted(GenericFakeChatModel):
    """A model that says what the script says, and takes any tools."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


class Listening(Scripted):
    """One that also notes the last message of each prompt, with which the memories stand."""

    shown: list[str]

    def _generate(self, messages: Any, *rest: Any, **options: Any) -> Any:
        self.shown.append(str(messages[-1].content))
        return super()._generate(messages, *rest, **options)


@pytest.fixture
def space() -> Iterator[remanence.Space]:
    """An empty space on the clock that LangGraph also goes by."""
    with remanence.open(None, embedder=HashingEmbedder()) as space:
        yield space


def test_a_graph_reaches_the_store_it_was_compiled_with(space: remanence.Space) -> None:
    """As an argument of the node, and through its runtime."""

    def hear(state: State, *, store: BaseStore) -> State:
        store.put(("notes",), state["say"], {"text": state["say"]})
        return {}

    def tell(state: State, runtime: Runtime) -> State:
        assert runtime.store is not None
        return {"seen": [item.value["text"] for item in runtime.store.search(("notes",), query="tea")]}

    graph = StateGraph(State)
    graph.add_node("hear", hear)
    graph.add_node("tell", tell)
    graph.add_edge(START, "hear")
    graph.add_edge("hear", "tell")
    app: Any = graph.compile(store=RemanenceStore(space))

    assert app.invoke({"say": "green tea"})["seen"] == ["green tea"]


@tool
def note(text: str, runtime: ToolRuntime) -> str:
    """Write a note down."""
    runtime.store.put(("notes",), "note", {"text": text})
    return "noted"


@tool
def read_note(runtime: ToolRuntime) -> str:
    """Read the note."""
    item = runtime.store.get(("notes",), "note")
    return item.value["text"] if item else "there is no note"


@tool
def find_note(query: str, runtime: ToolRuntime) -> str:
    """Find a note."""
    assert runtime.store is not None
    return str(runtime.store.search(("notes",), query=query)[0].value["text"])


def calls(name: str, **arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "call", "type": "tool_call"}])


def test_a_rewound_agent_reads_the_note_of_its_own_past(space: remanence.Space) -> None:
    """`create_agent` with a store and a checkpointer: two futures of one conversation, each with its note."""
    saver = InMemorySaver()
    script = iter(
        [
            *(calls("note", text="buy tea"), "done"),
            *(calls("note", text="buy coffee"), "done"),
            *(calls("read_note"), "it says that"),
            *(calls("read_note"), "it says that"),
        ]
    )
    store = RemanenceStore(space, checkpointer=saver)
    agent: Any = create_agent(Scripted(messages=script), [note, read_note], store=store, checkpointer=saver)
    agent.invoke({"messages": [HumanMessage("note: buy tea")]}, THREAD)
    first = agent.get_state(THREAD).config
    agent.invoke({"messages": [HumanMessage("note: buy coffee")]}, THREAD)
    second = agent.get_state(THREAD).config

    def read(config: Any) -> str:
        messages = agent.invoke({"messages": [HumanMessage("read it")]}, config)["messages"]
        return next(str(m.content) for m in reversed(messages) if m.type == "tool")

    assert read(first) == "buy tea"
    assert read(second) == "buy coffee"


def test_the_middleware_takes_a_view_in_place_of_a_space(space: remanence.Space) -> None:
    """What was said in a branch that was left is not brought up in the other."""
    from langchain_remanence.middleware import RemanenceMiddleware

    saver = InMemorySaver()
    view = CheckpointView(space, saver)
    model = Listening(messages=iter(["hello", "I see", "well", "tea"]), shown=[])
    agent: Any = create_agent(model, middleware=[RemanenceMiddleware(view)], checkpointer=saver)
    agent.invoke({"messages": [HumanMessage("My name is Alice.")]}, THREAD)
    first = agent.get_state(THREAD).config
    agent.invoke({"messages": [HumanMessage("I drink green tea every morning.")]}, THREAD)
    fork = agent.invoke({"messages": [HumanMessage("What do I drink every morning?")]}, first)
    other = {"configurable": {"thread_id": "another"}}
    agent.invoke({"messages": [HumanMessage("What do I drink every morning?")]}, other)

    assert len(fork["messages"]) == 4
    assert "green tea" not in model.shown[2]
    assert "green tea" in model.shown[3]


@pytest.mark.parametrize("way", ["sync", pytest.param("async", marks=pytest.mark.run_config)])
def test_what_an_agent_is_told_stays_in_its_branch(space: remanence.Space, way: str) -> None:
    """A user's turns, kept by the hooks of both kinds: neither branch is reminded of what was said in the
    other, not when it is forked nor when it goes on; another thread is reminded of both."""
    from langchain_remanence.middleware import RemanenceMiddleware

    saver = InMemorySaver()
    memory = RemanenceMiddleware(CheckpointView(space, saver), user_key="user_id")
    model = Listening(messages=iter(["Noted."] * 9), shown=[])
    agent: Any = create_agent(model, middleware=[memory], checkpointer=saver)

    def say(text: str, **where: str) -> dict[str, str]:
        """One turn, in the thread or from a checkpoint of it; gives the checkpoint that it ends in."""
        given = {"messages": [HumanMessage(text)]}
        config = {"configurable": {"user_id": "ana", "thread_id": "t", **where}}
        _ = agent.invoke(given, config) if way == "sync" else asyncio.run(agent.ainvoke(given, config))
        ended = agent.get_state({"configurable": {"thread_id": "t"}}).config["configurable"]
        return {"checkpoint_id": ended["checkpoint_id"]}

    start = say("My name is Ana.")
    tea = say("I drink green tea every morning.")
    say("I drink black coffee every morning.", **start)
    assert "green tea" not in model.shown[-1]
    say("What do I drink every morning?")
    assert "green tea" not in model.shown[-1]
    say("What do I drink every morning?", **tea)
    assert "black coffee" not in model.shown[-1]
    say("So what do I drink every morning?")
    assert "black coffee" not in model.shown[-1]

    say("What do I drink every morning?", thread_id="another")
    assert "green tea" in model.shown[-1]
    assert "black coffee" in model.shown[-1]
    assert space.count() == 0, "all of it is the user's"


def test_the_tools_of_langmem_work_on_it(space: remanence.Space) -> None:
    """They write, search, update and delete as on any store."""
    import langmem

    store = RemanenceStore(space)
    manage = langmem.create_manage_memory_tool(namespace=("memories",), store=store)
    find = langmem.create_search_memory_tool(namespace=("memories",), store=store)
    manage.invoke({"action": "create", "content": "Alice drinks green tea."})
    manage.invoke({"action": "create", "content": "Alice has a cat."})
    assert "green tea" in str(find.invoke({"query": "What does Alice drink?", "limit": 1}))
    drink = store.search(("memories",), query="green tea", limit=1)[0]
    manage.invoke({"action": "update", "id": drink.key, "content": "Alice drinks coffee."})
    assert store.get(("memories",), drink.key).value["content"] == "Alice drinks coffee."  # type: ignore[union-attr]
    manage.invoke({"action": "delete", "id": drink.key})
    assert store.get(("memories",), drink.key) is None


def test_the_manager_of_langmem_keeps_its_memories_in_it(space: remanence.Space) -> None:
    """It looks up what is known, and stores what the model makes of a conversation, for each user."""
    import langmem

    script = iter([calls("Memory", content="Alice drinks green tea."), calls("Memory", content="Alice has a cat.")])
    store = RemanenceStore(space)
    manager = langmem.create_memory_store_manager(
        Scripted(messages=script), namespace=("memories", "{langgraph_user_id}"), store=store
    )
    for user, said in (("alice", "I drink green tea."), ("eve", "I have a cat.")):
        config: Any = {"configurable": {"langgraph_user_id": user}}
        manager.invoke({"messages": [HumanMessage(said)], "max_steps": 1}, config)

    found = store.search(("memories", "alice"), query="What does she drink?")
    assert [item.value["content"]["content"] for item in found] == ["Alice drinks green tea."]
    known = manager.search(query="cat", config={"configurable": {"langgraph_user_id": "eve"}})
    assert [item.value.content for item in known] == ["Alice has a cat."]


def test_an_agent_reads_in_one_thread_what_it_put_into_the_store_in_another(space: remanence.Space) -> None:
    """`create_agent(store=...)`: the store is that of all threads, and its tools find items by what they say."""
    script = iter(
        [calls("note", text="The plumber comes on Friday."), "noted", calls("find_note", query="plumber"), "so"]
    )
    store = RemanenceStore(space)
    agent: Any = create_agent(Scripted(messages=script), [note, find_note], store=store, checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("note that")]}, THREAD)
    told = agent.invoke({"messages": [HumanMessage("when?")]}, {"configurable": {"thread_id": "another"}})

    assert [m.content for m in told["messages"] if m.type == "tool"] == ["The plumber comes on Friday."]


def test_the_files_of_a_deep_agent_are_kept_in_it(space: remanence.Space) -> None:
    """`deepagents` writes, reads, edits, lists and searches files in a store, each user's in a namespace."""
    backends = pytest.importorskip("deepagents.backends", reason="deepagents is not installed")
    store = RemanenceStore(space)
    files = backends.StoreBackend(store=store, namespace=lambda runtime: ("files", "alice"))
    files.write("/notes/tea.md", "Alice drinks green tea.\nEvery morning.")
    files.write("/todo.md", "Buy a kettle.")
    files.edit("/notes/tea.md", "green", "black")

    assert "black tea" in str(files.read("/notes/tea.md"))
    assert [entry["path"] for entry in files.ls("/notes").entries] == ["/notes/tea.md"]
    assert [match["path"] for match in files.grep("kettle").matches] == ["/todo.md"]
    assert store.search(("files",), query="What does Alice drink?")[0].key == "/notes/tea.md"
    assert store.search(("files", "bob")) == []


def test_a_deep_agent_remembers_its_files_across_threads(space: remanence.Space) -> None:
    """`create_deep_agent(store=..., backend=StoreBackend)`: what one thread wrote, another reads."""
    deepagents = pytest.importorskip("deepagents", reason="deepagents is not installed")
    from deepagents.backends import StoreBackend

    path = "/memories/tea.md"
    script = iter(
        [calls("write_file", file_path=path, content="green tea"), "done", calls("read_file", file_path=path), "so"]
    )
    agent: Any = deepagents.create_deep_agent(
        Scripted(messages=script),
        store=RemanenceStore(space),
        backend=StoreBackend(namespace=lambda runtime: ("files",)),
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": [HumanMessage("write it down")]}, THREAD)
    told = agent.invoke({"messages": [HumanMessage("what was it?")]}, {"configurable": {"thread_id": "another"}})

    assert "green tea" in str([m.content for m in told["messages"] if m.type == "tool"][-1])

"""Facts drawn from what an agent was told: in the background, out of the stream, never in the way."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langchain_models import WAYS, Actor, run
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

import remanence
from langchain_remanence import CheckpointView, RemanenceMiddleware, extractor
from remanence import InvalidInput, Space
from remanence.testing import FakeClock

FACTS = '{"facts": [{"text": "Ana lives in Lisbon.", "quotation": "moved to Lisbon"}]}'
"""What an extractor's model answers."""


@pytest.fixture
def finder() -> Actor:
    """The model that finds facts."""
    return Actor(lines=[FACTS])


@pytest.fixture
def clock() -> FakeClock:
    """The clock of the space, by which a chat is quiet or not."""
    return FakeClock()


@pytest.fixture
def space(finder: Actor, clock: FakeClock) -> Iterator[Space]:
    """An empty space whose facts that model finds."""
    with remanence.open(None, extractor=finder, clock=clock, worker=False) as space:
        yield space


def texts(space: Space) -> list[str]:
    return [memory.text for memory in space.memories()]


def finish(space: Space, clock: FakeClock) -> None:
    """Do what is done in the background once the chat has been quiet for five minutes."""
    assert space.jobs.run_due() == 0
    clock.advance(minutes=5)
    assert space.jobs.run_due() <= 1


def listening(space: Space, *lines: Any, tools: Any = ()) -> Any:
    """An agent that says these lines, and has facts drawn."""
    return create_agent(Actor(lines=list(lines)), tools, middleware=[RemanenceMiddleware(space, extract=True)])


@pytest.mark.parametrize("way", WAYS)
def test_facts_are_drawn_from_both_turns(space: Space, finder: Actor, clock: FakeClock, way: str) -> None:
    """In one call for the chat, and the turns themselves are kept once."""
    run(way, listening(space, "Noted."), "I am Ana, and I moved to Lisbon.")
    finish(space, clock)
    assert len(finder.prompts) == 1

    assert "I am Ana, and I moved to Lisbon." in str(finder.prompts)
    assert "Noted." in str(finder.prompts)
    assert texts(space)[:2] == ["I am Ana, and I moved to Lisbon.", "Noted."]
    assert texts(space).count("Ana lives in Lisbon.") == 1
    assert len(set(texts(space))) == len(texts(space))


@pytest.mark.parametrize("way", WAYS)
def test_the_agent_does_not_wait_for_facts(way: str) -> None:
    """It has answered before its extractor has; the facts are there when the job is done."""
    answered = threading.Event()

    class Waiting(Actor):
        def _generate(self, *args: Any, **options: Any) -> Any:
            assert answered.wait(timeout=30), "the agent waited for its extractor"
            return super()._generate(*args, **options)

    with remanence.open(None, extractor=extractor(Waiting(lines=[FACTS]), quiet=0)) as space:
        run(way, listening(space, "Noted."), "I am Ana, and I moved to Lisbon.")
        assert texts(space) == ["I am Ana, and I moved to Lisbon.", "Noted."]
        answered.set()
        for job in space.jobs.list():
            job.result(timeout=30)

        assert "Ana lives in Lisbon." in texts(space)


def test_an_agent_that_is_read_along_says_nothing_but_its_own_words(space: Space, clock: FakeClock) -> None:
    """Facts are found beside the run."""
    chunks = listening(space, "Noted.").stream(
        {"messages": [("user", "I am Ana, and I moved to Lisbon.")]}, stream_mode="messages"
    )

    assert "".join(chunk.text for chunk, _ in chunks) == "Noted."
    finish(space, clock)
    assert "Ana lives in Lisbon." in texts(space)


def test_an_extractor_s_words_stay_out_of_the_stream(finder: Actor) -> None:
    """Also where it is asked in the middle of a run, on the thread of the node, as `timeout=None` does."""
    with remanence.open(None, extractor=extractor(finder, timeout=None)) as space:

        def hear(state: MessagesState) -> dict[str, Any]:
            assert finder.prompts == []
            space.remember("Ana moved to Lisbon.")
            return {}

        graph = StateGraph(MessagesState)
        graph.add_node("hear", hear)
        graph.add_edge(START, "hear")

        assert list(graph.compile().stream({"messages": []}, stream_mode="messages")) == []
        assert "Ana lives in Lisbon." in texts(space)


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_that_draws_facts_answers_when_memory_is_down(
    space: Space, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each thing that could not be done is one warning."""
    agent = listening(space, "Hello Ana.")
    space.close()
    with caplog.at_level(logging.WARNING, "langchain_remanence"):
        answer = run(way, agent, "I am Ana.")

    assert answer["messages"][-1].text == "Hello Ana."
    said = [record for record in caplog.records if record.name.startswith("langchain_remanence")]
    assert {record.args[0] for record in said} == {"remember", "recall"}


def test_an_extractor_that_fails_costs_neither_the_answer_nor_the_turns() -> None:
    """The model that finds facts is somebody else's service."""
    with remanence.open(None, extractor=Actor(lines=[ConnectionError("no route")])) as space:
        answer = run("sync", listening(space, "Noted."), "I am Ana, and I moved to Lisbon.")

        assert answer["messages"][-1].text == "Noted."
        assert texts(space)[:2] == ["I am Ana, and I moved to Lisbon.", "Noted."]


def test_what_was_forgotten_on_the_way_is_not_brought_back(space: Space, finder: Actor, clock: FakeClock) -> None:
    """A turn that a tool forgets while the agent works stays forgotten."""
    finder.lines = ['{"facts": []}']

    @tool
    def forget_all() -> str:
        """Forget everything."""
        for memory in list(space.memories()):
            space.forget(memory.id)
        return "Done."

    call = AIMessage("", tool_calls=[{"name": "forget_all", "args": {}, "id": "c1"}])
    run("sync", listening(space, call, "Forgotten.", tools=[forget_all]), "My PIN is 4711. No, forget that.")
    finish(space, clock)

    assert "4711" not in str(finder.prompts)
    assert not any("4711" in text for text in texts(space))


@pytest.mark.parametrize("option", ["extract", "reinforce", "procedures"])
def test_what_belongs_to_no_branch_is_refused_of_a_view_of_checkpoints(space: Space, option: str) -> None:
    """Facts and uses would be in every branch of the thread, so the two exclude each other."""
    view = CheckpointView(space, InMemorySaver())

    with pytest.raises(
        InvalidInput, match=f"{option}=True needs the space itself.*<CheckpointView of .* or {option}=False"
    ):
        RemanenceMiddleware(view, **{option: True})


@pytest.mark.parametrize(
    ("option", "said"), [("extract", "extract"), ("reinforce", "reinforce"), ("procedures", "recall what worked")]
)
def test_a_view_that_a_function_gives_is_refused_in_the_log(
    space: Space, option: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is known only when the agent runs, and the agent goes on."""
    saver = InMemorySaver()
    view = CheckpointView(space, saver)
    space.add("Ana lives in Porto.")
    memory = RemanenceMiddleware(lambda runtime: view, **{option: True})
    agent = create_agent(Actor(lines=["In Porto."]), middleware=[memory], checkpointer=saver)
    thread = {"configurable": {"thread_id": "t"}}

    assert run("sync", agent, "Where does Ana live?", thread)["messages"][-1].text == "In Porto."
    assert f"could not {said}" in caplog.text
    assert f"{option}=True needs the space itself" in caplog.text

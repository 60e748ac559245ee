"""Memories that an answer made use of count as used, where that is asked for."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.tools import tool
from langchain_models import WAYS, Actor, asked, run

from framed import recalled
from langchain_remanence import RemanenceMemory, RemanenceMiddleware
from remanence import Memory, Space

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")


def uses(space: Space, *memories: Memory) -> list[int]:
    """How often each was used before it is touched here."""
    return [space.touch(memory.id)[0].uses - 1 for memory in memories]


def answering(space: Space, *lines: Any, tools: Any = (), **options: Any) -> Any:
    """An agent that says these lines, and whose memories count as used."""
    middleware = RemanenceMiddleware(space, **{"reinforce": True, **options})
    return create_agent(Actor(lines=list(lines)), tools, middleware=[middleware])


@pytest.mark.parametrize("way", WAYS)
def test_what_the_answer_took_up_counts_as_used(space: Space, porto: Memory, nuts: Memory, way: str) -> None:
    """Both were shown; the one whose words the answer brings is used, once an answer."""
    model = Actor(lines=["In Porto.", "Ana may not have hazelnuts."])
    agent = create_agent(model, middleware=[RemanenceMiddleware(space, reinforce=True, keep=None)])
    run(way, agent, "Where does Ana live?")
    run(way, agent, "What can she eat, our Ana?")

    for prompt in model.prompts:
        assert {memory["text"] for memory in recalled(asked(prompt))} == {porto.text, nuts.text}
    assert uses(space, porto, nuts) == [1, 1]


@pytest.mark.parametrize(
    "answer",
    [
        "I do not know.",
        "Ana lives in Lisbon.",  # what it shares with the memory, it has from the question
        "Where does Ana live?",
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_what_the_answer_took_nothing_from_does_not(space: Space, porto: Memory, way: str, answer: str) -> None:
    """To be shown is not to be of use."""
    run(way, answering(space, answer), "Where does Ana live?")

    assert uses(space, porto) == [0]


def test_what_the_model_knew_from_the_thread_does_not(space: Space, porto: Memory) -> None:
    """It was told so again, in an earlier message or in its instructions."""
    thread = [("user", "Ana is in Porto."), ("ai", "I see."), ("user", "Where does Ana live?")]
    run("sync", answering(space, "In Porto."), {"messages": thread})
    told = create_agent(
        Actor(lines=["In Porto."]),
        system_prompt="You serve the people of Porto.",
        middleware=[RemanenceMiddleware(space, reinforce=True)],
    )
    run("sync", told, "Where does Ana live?")

    assert uses(space, porto) == [0]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_counted_unless_somebody_asked_for_it(space: Space, porto: Memory, way: str) -> None:
    """Reading never writes."""
    run(way, answering(space, "In Porto.", reinforce=False), "Where does Ana live?")

    assert uses(space, porto) == [0]


def test_what_found_no_room_in_the_prompt_does_not_count(space: Space, porto: Memory, nuts: Memory) -> None:
    """What the model cannot have read it cannot have used."""
    roomless, scant = {"max_tokens": 0}, {"max_tokens": 2, "count_tokens": lambda text: 1}  # the heading, and one line
    for room in (roomless, scant):
        agent = answering(space, "In Porto, among hazelnuts.", keep=None, **room)
        run("sync", agent, "Where does Ana live?")

    assert uses(space, porto, nuts) == [1, 0]


def test_two_that_hold_the_same_are_both_of_use(space: Space) -> None:
    """What one of them put into the prompt does not count against the other."""
    ours, team = space.child("users", "ana"), space.child("team")
    mine, theirs = ours.add("Ana lives in Porto."), team.add("Ana works in Porto.")
    both = [
        RemanenceMiddleware(ours, reinforce=True),
        RemanenceMiddleware(team, name="TeamMemory", keep=None, reinforce=True),
    ]
    run("sync", create_agent(Actor(lines=["In Porto."]), middleware=both), "Where is Ana?")

    assert uses(ours, mine) == uses(team, theirs) == [1]


@pytest.mark.parametrize("way", WAYS)
def test_a_turn_of_many_calls_counts_once(space: Space, porto: Memory, way: str) -> None:
    """Neither words beside a call of a tool nor calls that failed are the answer."""

    @tool
    def look_up(city: str) -> str:
        """Look a city up."""
        return "six bridges"

    call = AIMessage("Porto, then.", tool_calls=[{"name": "look_up", "args": {"city": "Porto"}, "id": "c1"}])
    model = Actor(lines=[call, RuntimeError("overloaded"), "Porto has six."])
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0.0, jitter=False)
    memory = RemanenceMiddleware(space, reinforce=True)
    run(way, create_agent(model, [look_up], middleware=[retry, memory]), "How many bridges has Ana's city?")

    assert uses(space, porto) == [1]


@pytest.mark.parametrize("way", ["sync", pytest.param("async", marks=pytest.mark.run_config)])
def test_each_user_s_memories_are_their_own(space: Space, porto: Memory, way: str) -> None:
    """A use is counted in the space that the memory is from."""
    mine = space.child("users", "ana").add("Ana lives in Porto.")
    config = {"configurable": {"user_id": "ana"}}
    run(way, answering(space, "In Porto.", user_key="user_id"), "Where does Ana live?", config)

    assert uses(space, porto) == [0]
    assert uses(space.child("users", "ana"), mine) == [1]


@pytest.mark.parametrize("way", WAYS)
def test_memory_that_is_down_costs_no_answer(
    space: Space, porto: Memory, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it was down from the start or goes down while the model thinks; the log says so."""

    class Closing(Actor):
        def _generate(self, *args: Any, **options: Any) -> Any:
            space.close()
            return super()._generate(*args, **options)

    memory = RemanenceMiddleware(space, reinforce=True)
    agent = create_agent(Closing(lines=["In Porto."]), middleware=[memory])
    for expected in ({"reinforce", "recall", "remember"}, {"recall", "remember"}):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "langchain_remanence"):
            answer = run(way, agent, "Where does Ana live?")

        assert answer["messages"][-1].text == "In Porto."
        said = [record for record in caplog.records if record.name.startswith("langchain_remanence")]
        assert {record.args[0] for record in said} == expected


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("as_messages", [False, True])
def test_a_chain_s_memory_counts_too(space: Space, porto: Memory, nuts: Memory, way: str, as_messages: bool) -> None:
    """What was loaded comes back with the inputs, so what was shown is known; as text or as messages."""
    memory = RemanenceMemory(space=space, reinforce=True, return_messages=as_messages)
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    model = Actor(lines=["In Porto.", "I do not know.", "As I said, in Porto."])
    chain: Any = (
        LLMChain(llm=model, prompt=prompt, memory=memory)
        if as_messages
        else ConversationChain(llm=model, memory=memory)
    )
    for _ in range(3):  # the third has it from the first answer, which stands in the window
        run(way, chain, {"input": "Where does Ana live?"})

    assert "hazelnuts" in str(model.prompts[0])
    assert uses(space, porto, nuts) == [1, 0]


def test_what_a_chain_did_not_load_does_not_count(space: Space, porto: Memory) -> None:
    """Whoever saves by hand has shown nothing; and it is off unless asked for."""
    RemanenceMemory(space=space, reinforce=True).save_context(
        {"input": "Where does Ana live?"}, {"output": "In Porto."}
    )
    plain = RemanenceMemory(space=space, session_id="another")
    given = {"input": "Where does Ana live?"}
    plain.save_context({**given, **plain.load_memory_variables(given)}, {"output": "In Porto."})

    assert uses(space, porto) == [0]


def test_a_chain_that_has_its_answer_does_not_fail_over_a_count(
    space: Space, porto: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The turns are kept all the same, and the log says what was not counted."""

    def full(*args: Any) -> Any:
        raise OSError("no space left on device")

    monkeypatch.setattr(Space, "touch", full)
    chain = ConversationChain(llm=Actor(lines=["In Porto."]), memory=RemanenceMemory(space=space, reinforce=True))

    assert chain.invoke({"input": "Where does Ana live?"})["response"] == "In Porto."
    assert "could not reinforce" in caplog.text
    assert space.count() == 3


@pytest.mark.parametrize("way", WAYS)
def test_what_an_agent_was_told_is_recorded_with_what_it_used(
    space: Space, porto: Memory, nuts: Memory, way: str
) -> None:
    """Only where that is asked for; the record has both that were quoted, and the one that the answer took up."""
    run(way, answering(space, "In Porto.", keep=None), "Where does Ana live?")
    assert space.audit.recorded() == []
    run(way, answering(space, "In Porto.", keep=None, record=True), "Where does Ana live?")

    [told] = space.audit.recorded()
    assert told.receipt.question == "Where does Ana live?"
    assert set(told.memories) == {porto.id, nuts.id}
    assert told.used == (porto.id,)

"""`reinforce=True`: what an answer took up of what was recalled for it counts as used."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.memory import InsertMethod, Memory
from llama_index.core.tools import FunctionTool

import remanence
from llama_index_remanence import RemanenceMemory, RemanenceMemoryBlock, long_term_memory
from llamaindex.engines import ENGINES, Make
from llamaindex.scripted import Scripted, assistant, calling, user

QUESTION, ANSWER = "Where does Alice live?", "In Porto."
ONE_LINE = 60
"""The tokens of a block that has room for one short memory."""


def weather(city: str) -> str:
    """The weather in a city."""
    return "It rains."


TOOL = FunctionTool.from_defaults(weather)


@pytest.fixture
def home_of_alice(space: remanence.Space) -> remanence.Memory:
    """What will be recalled."""
    return space.add("Alice lives in Porto.")


def uses(space: remanence.Space, memory: remanence.Memory) -> int:
    """How often a memory was counted as used so far. Asking is a use itself, so ask once, at the end."""
    return space.touch(memory.id)[0].uses - 1


# Whoever drives the memory


async def chat(engine: BaseChatEngine) -> None:
    engine.chat(QUESTION)


async def achat(engine: BaseChatEngine) -> None:
    await engine.achat(QUESTION)


async def stream_chat(engine: BaseChatEngine) -> None:
    assert "".join(engine.stream_chat(QUESTION).response_gen) == ANSWER


async def astream_chat(engine: BaseChatEngine) -> None:
    response = await engine.astream_chat(QUESTION)
    assert "".join([token async for token in response.async_response_gen()]) == ANSWER


@pytest.mark.parametrize("way", [chat, achat, stream_chat, astream_chat])
@pytest.mark.parametrize("engine", ENGINES)
async def test_a_chat_engine_counts_each_answer_once(
    space: remanence.Space,
    home_of_alice: remanence.Memory,
    library: BaseRetriever,
    engine: Make,
    way: Callable[[BaseChatEngine], Awaitable[None]],
) -> None:
    """Some ask and then put the question, some the other way around; some answer from another thread."""
    memory = RemanenceMemory(space, reinforce=True)
    for _ in range(2):
        await way(engine(Scripted(ANSWER), memory, library))
        memory.reset()

    assert uses(space, home_of_alice) == 2


async def test_an_agent_with_tools_counts_once_a_turn(space: remanence.Space, home_of_alice: remanence.Memory) -> None:
    """It gets its messages three times."""
    llm = Scripted(calling("weather", city="Porto"), "It rains in Porto.")
    agent = FunctionAgent(llm=llm, tools=[TOOL])
    await agent.run("How is the weather where Alice lives?", memory=RemanenceMemory(space, reinforce=True))

    assert uses(space, home_of_alice) == 1


async def test_a_react_agent_counts_once_a_turn(space: remanence.Space, home_of_alice: remanence.Memory) -> None:
    """However long it thinks."""
    llm = Scripted(
        'Thought: I need a tool.\nAction: weather\nAction Input: {"city": "Porto"}',
        "Thought: I can answer without using any more tools.\nAnswer: It rains in Porto.",
    )
    agent = ReActAgent(llm=llm, tools=[TOOL])
    await agent.run("How is the weather where Alice lives?", memory=RemanenceMemory(space, reinforce=True))

    assert uses(space, home_of_alice) == 1


@pytest.mark.parametrize("with_block", [False, True])
async def test_a_handover_between_agents_is_no_answer(
    space: remanence.Space, home_of_alice: remanence.Memory, with_block: bool
) -> None:
    """What one agent says while it calls the other is put down before the answer is."""
    over = calling("handoff", to_agent="forecaster", reason="weather")
    over.blocks.insert(0, TextBlock(text="Let me ask the forecaster."))
    llm = Scripted(over, "It rains in Porto.")
    agents = [
        FunctionAgent(name="greeter", description="Greets.", llm=llm, can_handoff_to=["forecaster"]),
        FunctionAgent(name="forecaster", description="Knows the weather.", llm=llm, tools=[TOOL]),
    ]
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    memory = Memory.from_defaults(memory_blocks=[block]) if with_block else None
    await AgentWorkflow(agents=agents, root_agent="greeter").run(
        user_msg="How is the weather where Alice lives?", memory=memory or RemanenceMemory(space, reinforce=True)
    )

    assert uses(space, home_of_alice) == 1


# What counts


def test_nothing_is_counted_unless_asked(space: remanence.Space, home_of_alice: remanence.Memory) -> None:
    """Reading never writes."""
    memory = RemanenceMemory(space)
    memory.put(user(QUESTION))
    memory.get()
    memory.put(assistant(ANSWER))

    assert uses(space, home_of_alice) == 0


@pytest.mark.parametrize("with_block", [False, True])
@pytest.mark.parametrize("answer", ["I do not know.", "Alice lives in Lisbon.", QUESTION])
async def test_to_be_shown_is_not_to_be_of_use(
    space: remanence.Space, home_of_alice: remanence.Memory, answer: str, with_block: bool
) -> None:
    """What the answer shares with the memory, it has from the question."""
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    llm = Scripted(answer)
    await FunctionAgent(llm=llm).run(
        QUESTION,
        memory=Memory.from_defaults(memory_blocks=[block]) if with_block else RemanenceMemory(space, reinforce=True),
    )

    assert home_of_alice.text in llm.prompt()
    assert uses(space, home_of_alice) == 0


@pytest.mark.parametrize("with_block", [False, True])
async def test_what_the_conversation_had_said_already_is_not_from_memory(
    space: remanence.Space, home_of_alice: remanence.Memory, with_block: bool
) -> None:
    """Whoever said it, and whether the question comes with the messages or apart from them."""
    before = [user("Which city has six bridges?"), assistant("Porto.")]
    if with_block:
        block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
        await block.aget([*before, user(QUESTION)], session_id="s")
        await block.aget([*before, user(QUESTION), assistant("In Porto, then.")], session_id="s")
    else:
        memory = RemanenceMemory(space, reinforce=True)
        memory.put_messages(before)
        memory.get(input=QUESTION)
        memory.put_messages([user(QUESTION), assistant("In Porto, then.")])

    assert uses(space, home_of_alice) == 0


async def test_questions_that_nobody_answers_are_let_go_in_the_end(
    space: remanence.Space, home_of_alice: remanence.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those asked longest ago first: a block that serves many sessions does not grow with each."""
    monkeypatch.setattr(long_term_memory, "MAX_OPEN_QUESTIONS", 3)
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    for session in ("s0", "s1", "s2", "s0", "s3"):
        await block.aget([user(QUESTION)], session_id=session)
    assert len(block._unanswered_questions._questions) == 3
    for session in ("s0", "s1", "s2", "s3"):
        await block.aget([user(QUESTION), assistant(ANSWER)], session_id=session)

    assert uses(space, home_of_alice) == 3


@pytest.mark.parametrize("with_block", [False, True])
@pytest.mark.parametrize("agent", [FunctionAgent, ReActAgent])
async def test_what_a_tool_said_is_not_from_memory(
    space: remanence.Space, home_of_alice: remanence.Memory, agent: type[FunctionAgent | ReActAgent], with_block: bool
) -> None:
    """Also where an agent puts down in one message what it thought, what it observed and what it answers."""

    def register(name: str) -> str:
        """Where somebody lives."""
        return "A flat in Porto."

    llm = (
        Scripted(calling("register", name="Alice"), "A flat in Porto.")
        if agent is FunctionAgent
        else Scripted(
            'Thought: I need a tool.\nAction: register\nAction Input: {"name": "Alice"}',
            "Thought: I can answer without using any more tools.\nAnswer: A flat in Porto.",
        )
    )
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    memory = Memory.from_defaults(memory_blocks=[block], insert_method=InsertMethod.USER)
    await agent(llm=llm, tools=[FunctionTool.from_defaults(register)]).run(
        QUESTION, memory=memory if with_block else RemanenceMemory(space, reinforce=True)
    )
    if with_block:
        await memory.aget()

    assert home_of_alice.text in llm.prompt(0)
    assert uses(space, home_of_alice) == 0


@pytest.mark.parametrize("instead", [None, user("Hello?"), assistant(None), calling("weather", city="Porto")])
def test_nothing_is_counted_before_the_answer(
    space: remanence.Space, home_of_alice: remanence.Memory, instead: ChatMessage | None
) -> None:
    """A question that broke off made use of nothing; nor is a call of a tool an answer."""
    memory = RemanenceMemory(space, reinforce=True)
    memory.put(user(QUESTION))
    memory.get()
    memory.put_messages([instead] if instead else [])

    assert uses(space, home_of_alice) == 0


def test_what_an_unanswered_question_was_shown_does_not_count_for_the_next(
    space: remanence.Space, home_of_alice: remanence.Memory
) -> None:
    """The next has its own."""
    bridge = space.add("The bridge was painted blue.")
    memory = RemanenceMemory(space, reinforce=True, max_tokens=ONE_LINE)
    for question in (QUESTION, "Which colour was the bridge painted?"):
        memory.put(user(question))
        memory.get()
    memory.put(assistant("Blue."))

    assert (uses(space, home_of_alice), uses(space, bridge)) == (0, 1)


@pytest.mark.parametrize("breaking_off", [RemanenceMemory.reset, lambda memory: memory.set([])])
def test_a_conversation_that_begins_anew_answers_nothing_of_the_old(
    space: remanence.Space, home_of_alice: remanence.Memory, breaking_off: Callable[[RemanenceMemory], None]
) -> None:
    """What is said first there is no answer."""
    memory = RemanenceMemory(space, reinforce=True)
    memory.put(user(QUESTION))
    memory.get()
    breaking_off(memory)
    memory.put(assistant("Hello, what can I do for you?"))

    assert uses(space, home_of_alice) == 0


def test_what_did_not_fit_does_not_count(space: remanence.Space) -> None:
    """It was recalled, and nobody read it."""
    bridges = [space.add(f"The bridge number {number} crosses the Douro in Porto.") for number in range(9)]
    memory = RemanenceMemory(space, reinforce=True, max_tokens=200)
    memory.put(user("What crosses the Douro?"))
    shown = memory.get()[-1].content or ""
    memory.put(assistant("Bridges."))

    counted = {bridge.text for bridge in bridges if uses(space, bridge) == 1}

    assert counted == {bridge.text for bridge in bridges if bridge.text in shown}
    assert 1 < len(counted) < 9


def test_all_that_was_shown_for_a_question_counts_once(space: remanence.Space) -> None:
    """Also what gave way to news before the answer; and the answer may come in two messages."""
    river = space.add("The Douro has a bridge.")
    memory = RemanenceMemory(space, reinforce=True, max_tokens=ONE_LINE)
    memory.put(user("What crosses the Douro in Porto?"))
    assert river.text in (memory.get()[-1].content or "")
    ferry = space.add("A ferry crosses the Douro in Porto.")
    assert river.text not in (memory.get()[-1].content or "")
    memory.put_messages([assistant("A bridge."), assistant("And a ferry.")])

    assert (uses(space, river), uses(space, ferry)) == (1, 1)


def test_what_was_forgotten_before_the_answer_does_not_cost_the_rest(
    space: remanence.Space, home_of_alice: remanence.Memory, caplog: pytest.LogCaptureFixture
) -> None:
    """It cannot be of use any more; the others can."""
    other = space.add("Alice lives near the river.")
    memory = RemanenceMemory(space, reinforce=True)
    memory.put(user(QUESTION))
    memory.get()
    space.forget(other.id)
    memory.put(assistant(ANSWER))

    assert uses(space, home_of_alice) == 1
    assert not caplog.records


@pytest.mark.parametrize("with_block", [False, True])
async def test_a_count_that_fails_does_not_cost_the_answer(
    space: remanence.Space,
    home_of_alice: remanence.Memory,
    with_block: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Here upkeep cannot read its settings: the agent answers, and the log has the cause."""
    monkeypatch.setenv("REMANENCE_FORGET_BELOW", "a lot")
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    memory = Memory.from_defaults(memory_blocks=[block]) if with_block else RemanenceMemory(space, reinforce=True)

    with caplog.at_level(logging.WARNING, "llama_index_remanence"):
        answer = await FunctionAgent(llm=Scripted(ANSWER)).run(QUESTION, memory=memory)

    assert str(answer) == ANSWER
    assert [memory.text for memory in space.memories()][1:] == [QUESTION, ANSWER]
    assert "could not reinforce" in caplog.text
    assert "REMANENCE_FORGET_BELOW" in caplog.text


# The block


async def test_a_block_counts_when_it_hears_the_answer(space: remanence.Space, home_of_alice: remanence.Memory) -> None:
    """An agent asks its memory once more when it has answered."""
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    for session in ("monday", "tuesday"):
        memory = Memory.from_defaults(session_id=session, memory_blocks=[block])
        await FunctionAgent(llm=Scripted(ANSWER)).run(QUESTION, memory=memory)

    assert uses(space, home_of_alice) == 2


def test_a_chat_engine_lets_the_block_hear_at_the_next_question(
    space: remanence.Space, home_of_alice: remanence.Memory
) -> None:
    """Once for the question it was shown for, and not for the next, which is not answered yet."""
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    memory = Memory.from_defaults(session_id="s", memory_blocks=[block])
    engine = SimpleChatEngine.from_defaults(llm=Scripted(ANSWER, "Alice."), memory=memory)
    engine.chat(QUESTION)
    engine.chat("Who is it that lives in Porto?")

    assert uses(space, home_of_alice) == 1


async def test_a_block_counts_nothing_unless_asked(space: remanence.Space, home_of_alice: remanence.Memory) -> None:
    """As the memory does."""
    block = RemanenceMemoryBlock(space, across_sessions=True)
    await FunctionAgent(llm=Scripted(ANSWER)).run(QUESTION, memory=Memory.from_defaults(memory_blocks=[block]))

    assert uses(space, home_of_alice) == 0


async def test_an_answer_in_one_session_counts_nothing_of_another(
    space: remanence.Space, home_of_alice: remanence.Memory
) -> None:
    """One block may serve many at once."""
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    await block.aget([user(QUESTION)], session_id="a")
    await block.aget([user("Hello."), assistant("Good day.")], session_id="b")

    assert uses(space, home_of_alice) == 0


async def test_an_answer_that_was_heard_before_answers_nothing_new(
    space: remanence.Space, home_of_alice: remanence.Memory
) -> None:
    """The window shows it again with each question."""
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    for _ in range(3):
        await block.aget([user("Hello."), assistant("Good day."), user(QUESTION)], session_id="s")

    assert uses(space, home_of_alice) == 0


async def test_what_was_cut_from_the_prompt_does_not_count(space: remanence.Space) -> None:
    """`Memory` shortens a block when the prompt is too long."""
    bridges = [space.add(f"The bridge number {number} crosses the Douro in Porto.") for number in range(9)]
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    memory = Memory.from_defaults(session_id="s", memory_blocks=[block], token_limit=200)
    await memory.aput(user("What crosses the Douro?"))
    shown = (await memory.aget())[0].content or ""
    await memory.aput(assistant("Bridges."))
    await memory.aget()

    counted = {bridge.text for bridge in bridges if uses(space, bridge) == 1}

    assert counted == {bridge.text for bridge in bridges if bridge.text in shown}
    assert 1 < len(counted) < 9


async def test_what_is_cut_for_one_session_counts_for_another(space: remanence.Space) -> None:
    """Both were given the same block, and one had more room."""
    bridges = [space.add(f"The bridge number {number} crosses the Douro in Porto.") for number in range(9)]
    block = RemanenceMemoryBlock(space, reinforce=True, across_sessions=True)
    wide, narrow = (
        Memory.from_defaults(session_id=f"of {limit}", memory_blocks=[block], token_limit=limit)
        for limit in (2_000, 200)
    )
    for memory in (wide, narrow):
        await memory.aget(input="What crosses the Douro?")
    await wide.aput_messages([user("What crosses the Douro?"), assistant("Bridges.")])
    await wide.aget()

    assert [uses(space, bridge) for bridge in bridges] == [1] * 9


def test_what_a_memory_quotes_is_recorded_if_asked(space: remanence.Space, home_of_alice: remanence.Memory) -> None:
    """The record has the question and the memories that the prompt quoted."""
    RemanenceMemory(space).get(QUESTION)
    assert space.audit.recorded() == []
    RemanenceMemory(space, record=True).get(QUESTION)
    assert [(told.receipt.question, told.memories) for told in space.audit.recorded()] == [
        (QUESTION, (home_of_alice.id,))
    ]

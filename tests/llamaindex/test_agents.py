"""Real agents of LlamaIndex with a scripted model: what they put, get and remember."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import InsertMethod, Memory
from llama_index.core.tools import FunctionTool, RetrieverTool
from llama_index.core.workflow import Context, JsonSerializer

import remanence
from llama_index_remanence import RemanenceMemory, RemanenceMemoryBlock, RemanenceRetriever, RemanenceToolSpec
from llamaindex.scripted import Counting, Scripted, assistant, calling, texts, user
from new_interpreter import run_program
from remanence.text.framing import OPEN_TAG


def weather(city: str) -> str:
    """The weather in a city."""
    return f"It rains in {city}."


TOOL = FunctionTool.from_defaults(weather)


async def test_a_function_agent_recalls_and_remembers(space: remanence.Space, embedder: Counting) -> None:
    """The whole of it: recall before the answer, once; both turns remembered; the window as it was."""
    space.add("Alice lives in Porto.")
    llm = Scripted("She lives in Porto.")
    memory = RemanenceMemory(space)

    answer = await FunctionAgent(llm=llm).run("Where does Alice live?", memory=memory)

    assert str(answer) == "She lives in Porto."
    assert "Alice lives in Porto." in llm.prompt()
    assert embedder.asked == ["Where does Alice live?"]
    assert texts(memory.get_all()) == ["Where does Alice live?", "She lives in Porto."]
    assert [m.text for m in space.memories()][1:] == ["Where does Alice live?", "She lives in Porto."]


async def test_a_function_agent_with_tools_asks_memory_once_a_turn(space: remanence.Space, embedder: Counting) -> None:
    """It gets its messages three times for one question."""
    space.add("Alice lives in Porto.")
    llm = Scripted(calling("weather", city="Porto"), "It rains where Alice lives.")
    memory = RemanenceMemory(space)
    agent = FunctionAgent(llm=llm, tools=[TOOL], system_prompt="Be brief.")

    await agent.run("How is the weather where Alice lives?", memory=memory)

    assert embedder.asked == ["How is the weather where Alice lives?"]
    for call in (0, 1):
        assert llm.prompts[call][0] == ChatMessage(role="system", content="Be brief."), "as it was"
        assert llm.prompt(call).count(OPEN_TAG) == 1, "recalled for each call to the model, and once in each"
    assert [m.role for m in memory.get_all()] == ["user", "assistant", "tool", "assistant"]
    assert "It rains in Porto." not in [m.text for m in space.memories()], "tools are not people"


@pytest.mark.parametrize("system_prompt", [None, "Be brief."])
async def test_memories_are_quoted_before_the_question_of_an_agent(
    space: remanence.Space, system_prompt: str | None
) -> None:
    """The memory does not see the system prompt of an agent, and a system message of its own might be dropped."""
    space.add("Alice lives in Porto.")
    llm = Scripted("In Porto.")
    memory = RemanenceMemory(space, place="system")

    await FunctionAgent(llm=llm, system_prompt=system_prompt).run("Where does Alice live?", memory=memory)

    *before, question = llm.prompts[0]
    assert texts(before) == ([system_prompt] if system_prompt else [])
    assert [block.text.startswith(OPEN_TAG) for block in question.blocks] == [True, False]
    assert texts(memory.get_all()) == ["Where does Alice live?", "In Porto."], "the block is not stored"


async def test_memories_are_at_the_end_of_a_system_message_in_the_window(space: remanence.Space) -> None:
    """As `place="system"` says."""
    space.add("Alice lives in Porto.")
    llm = Scripted("In Porto.")
    history = [ChatMessage(role="system", content="Be brief.")]

    memory = RemanenceMemory(space, place="system")
    await FunctionAgent(llm=llm).run("Where does Alice live?", history, memory=memory)

    system, question = llm.prompts[0]
    assert [block.text.startswith(OPEN_TAG) for block in system.blocks] == [False, True]
    assert question.content == "Where does Alice live?"


async def test_the_next_session_knows(space: remanence.Space) -> None:
    """Across sessions, and across a conversation that was cleared."""
    first = FunctionAgent(llm=Scripted("I will keep it in mind."))
    await first.run("I am allergic to hazelnuts.", memory=RemanenceMemory(space))
    llm = Scripted("No hazelnuts, then.")

    await FunctionAgent(llm=llm).run("What am I allergic to?", memory=RemanenceMemory(space))

    assert "I am allergic to hazelnuts." in llm.prompt()


async def test_state_written_into_the_message_does_not_reach_the_memory(space: remanence.Space) -> None:
    """An agent with a state edits the last message it gets."""
    memory = RemanenceMemory(space)
    agent = FunctionAgent(llm=Scripted("One.", "Two."), initial_state={"mood": "sunny"})

    await agent.run("First?", memory=memory)
    await agent.run("Second?", memory=memory)

    assert texts(memory.get_all()) == ["First?", "One.", "Second?", "Two."]


async def test_a_react_agent_thinks_aloud_and_only_its_answer_is_remembered(
    space: remanence.Space, embedder: Counting
) -> None:
    """The window keeps its reasoning, as ReAct wants it."""
    space.add("Alice lives in Porto.")
    llm = Scripted(
        'Thought: I need a tool.\nAction: weather\nAction Input: {"city": "Porto"}',
        "Thought: I can answer without using any more tools.\nAnswer: It rains there.",
    )
    memory = RemanenceMemory(space)

    await ReActAgent(llm=llm, tools=[TOOL]).run(
        "How is the weather where Alice lives?", memory=memory, max_iterations=5
    )

    assert all("Alice lives in Porto." in llm.prompt(call) for call in (0, 1))
    assert len(embedder.asked) == 1
    assert [m.text for m in space.memories()][1:] == ["How is the weather where Alice lives?", "It rains there."]
    assert "Observation" in (memory.get_all()[-1].content or "")


async def test_an_agent_workflow_hands_its_memory_over(space: remanence.Space, embedder: Counting) -> None:
    """Two agents, one conversation, one question to memory."""
    space.add("Alice lives in Porto.")
    llm = Scripted(calling("handoff", to_agent="forecaster", reason="weather"), "It rains where Alice lives, in Porto.")
    greeter = FunctionAgent(name="greeter", description="Greets.", llm=llm, can_handoff_to=["forecaster"])
    forecaster = FunctionAgent(name="forecaster", description="Knows the weather.", llm=llm, tools=[TOOL])
    memory = RemanenceMemory(space)

    await AgentWorkflow(agents=[greeter, forecaster], root_agent="greeter").run(
        user_msg="How is the weather where Alice lives?", memory=memory
    )

    assert all("Alice lives in Porto." in llm.prompt(call) for call in (0, 1))
    assert len(embedder.asked) == 1
    assert [m.text for m in space.memories()][-1] == "It rains where Alice lives, in Porto."


async def test_a_given_history_becomes_the_window(space: remanence.Space) -> None:
    """And is remembered once, however often it is given."""
    memory = RemanenceMemory(space)
    history = [user("I live in Porto."), assistant("Nice.")]
    for question in ("And now?", "And then?"):
        agent = FunctionAgent(llm=Scripted("Hm."))
        await agent.run(user_msg=question, chat_history=history, memory=memory)

    assert texts(memory.get_all()) == ["I live in Porto.", "Nice.", "And then?", "Hm."]
    assert [m.text for m in space.memories()].count("I live in Porto.") == 1


async def test_a_restored_context_goes_on_where_it_stopped(space: remanence.Space) -> None:
    """The memory is in the context, and comes back with it."""
    agent = FunctionAgent(llm=Scripted("Hello Ana.", "You are Ana."))
    context = Context(agent)
    await agent.run("I am Ana.", ctx=context, memory=RemanenceMemory(space, session_id="s1"))

    restored = Context.from_dict(agent, context.to_dict(serializer=JsonSerializer()))
    await agent.run("Who am I?", ctx=restored)

    window = texts(RemanenceMemory(space, session_id="s1").get_all())
    assert window == ["I am Ana.", "Hello Ana.", "Who am I?", "You are Ana."]


async def test_contexts_restored_from_one_go_on_in_one_session_unless_forked(space: remanence.Space) -> None:
    """The window is in the space and not in what is written down, so a fork wants a session of its own."""
    agent = FunctionAgent(llm=Scripted("Hello Ana.", "One.", "Two.", "Three."))
    context = Context(agent)
    await agent.run("I am Ana.", ctx=context, memory=RemanenceMemory(space, session_id="s1"))
    written = context.to_dict(serializer=JsonSerializer())
    first, second, fork = (Context.from_dict(agent, written) for _ in range(3))
    await fork.store.set("memory", (await fork.store.get("memory")).fork("s2"))

    for question, restored in (("First?", first), ("Second?", second), ("Forked?", fork)):
        await agent.run(question, ctx=restored)

    begun = ["I am Ana.", "Hello Ana."]
    assert texts(RemanenceMemory(space, session_id="s1").get_all()) == [*begun, *("First?", "One.", "Second?", "Two.")]
    assert texts(RemanenceMemory(space, session_id="s2").get_all()) == [*begun, "Forked?", "Three."]


ELSEWHERE = """
import asyncio, json, sys
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
sys.path.insert(0, sys.argv[1])
from llamaindex.scripted import Scripted

async def main():
    agent = FunctionAgent(llm=(llm := Scripted("You are Ana.")))
    await agent.run("Who am I?", ctx=Context.from_dict(agent, json.load(sys.stdin)))
    print(llm.prompt())

asyncio.run(main())
"""


async def test_a_context_is_restored_after_a_restart(home: Path) -> None:
    """In another process, which is told nothing but what was written down."""
    first = RemanenceMemory(location=home, path=("users", "ana"), session_id="monday")
    first.put(user("I am Ana and I live in Porto."))
    agent = FunctionAgent(llm=Scripted("Good day."))
    context = Context(agent)
    memory = RemanenceMemory(location=home, path=("users", "ana"), session_id="tuesday")
    await agent.run("Hello.", ctx=context, memory=memory)
    written = json.dumps(context.to_dict(serializer=JsonSerializer()))

    assert "I am Ana and I live in Porto." in run_program(ELSEWHERE, Path(__file__).parents[1], stdin=written)
    assert texts(memory.get_all()) == ["Hello.", "Good day.", "Who am I?", "You are Ana."]


async def test_many_agents_at_once_each_hear_of_their_own_user(space: remanence.Space, at_once: int) -> None:
    """One user's words never reach another's prompt."""

    async def chat(number: int) -> str:
        memory = RemanenceMemory(space.child("users", str(number)), session_id="chat")
        await FunctionAgent(llm=Scripted("Noted.")).run(f"My code is code{number:03}.", memory=memory)
        memory.reset()
        llm = Scripted("Here it is.")
        await FunctionAgent(llm=llm).run("What is my code?", memory=memory)
        return llm.prompt()

    prompts = await asyncio.gather(*(chat(number) for number in range(at_once)))

    for number, prompt in enumerate(prompts):
        assert {n for n in range(at_once) if f"code{n:03}" in prompt} == {number}


async def test_an_agent_calls_the_tools(space: remanence.Space) -> None:
    """It remembers, recalls and forgets what it is told to."""
    tools = RemanenceToolSpec(space).to_tool_list()
    llm = Scripted(calling("remember", text="Ana plays the cello."), "Done.")
    await FunctionAgent(llm=llm, tools=tools).run("Remember that I, Ana, play the cello.")
    (kept,) = space.memories()

    llm = Scripted(calling("recall", query="What does Ana play?"), "The cello.")
    await FunctionAgent(llm=llm, tools=tools).run("What do I play?")
    result = next(m for m in llm.prompts[-1] if m.role == "tool").content or ""
    assert kept.id in result
    assert "cello" in result

    llm = Scripted(calling("forget", memory_id=kept.id), "Gone.")
    await FunctionAgent(llm=llm, tools=tools).run("Forget it.")
    assert space.count() == 0


async def test_what_a_tool_remembers_is_known_in_the_same_turn(space: remanence.Space, embedder: Counting) -> None:
    """The answer that was kept for the turn gives way to news."""
    tools = RemanenceToolSpec(space).to_tool_list()
    llm = Scripted(calling("remember", text="Ana plays the cello."), "You play the cello.")
    await FunctionAgent(llm=llm, tools=tools).run("What does Ana play?", memory=RemanenceMemory(space))

    assert "cello" not in llm.prompt(0)
    assert "cello" in llm.prompt(1)
    assert len(embedder.asked) == 2


async def test_a_mistake_in_a_tool_call_is_told_to_the_model(space: remanence.Space) -> None:
    """With the way out, so that it can mend it."""
    tools = RemanenceToolSpec(space).to_tool_list()
    llm = Scripted(calling("forget", memory_id="nope"), "I could not.")

    await FunctionAgent(llm=llm, tools=tools).run("Forget it.")

    result = next(m for m in llm.prompts[-1] if m.role == "tool").content or ""
    assert "has no memory 'nope'" in result


async def test_an_agent_with_the_block_recalls_what_a_short_chat_said(space: remanence.Space) -> None:
    """LlamaIndex's own memory, with ours as one of its blocks."""
    block = RemanenceMemoryBlock(space, across_sessions=True)
    agent = FunctionAgent(llm=Scripted("Noted."))
    await agent.run("I am allergic to hazelnuts.", memory=Memory.from_defaults(memory_blocks=[block]))
    llm = Scripted("Hazelnuts.")

    await FunctionAgent(llm=llm).run("What am I allergic to?", memory=Memory.from_defaults(memory_blocks=[block]))

    assert "I am allergic to hazelnuts." in llm.prompt()
    assert [m.text for m in space.memories()] == [
        "I am allergic to hazelnuts.",
        "Noted.",
        "What am I allergic to?",
        "Hazelnuts.",
    ]


async def test_a_react_agent_reads_the_block_in_the_user_message(space: remanence.Space) -> None:
    """It drops a system message that comes first."""
    space.add("Alice lives in Porto.")
    block = RemanenceMemoryBlock(space, across_sessions=True)
    memory = Memory.from_defaults(memory_blocks=[block], insert_method=InsertMethod.USER)
    llm = Scripted("Thought: I can answer without using any more tools.\nAnswer: In Porto.")

    answer = await ReActAgent(llm=llm, tools=[TOOL]).run("Where does Alice live?", memory=memory)

    assert "Alice lives in Porto." in llm.prompt()
    assert str(answer) == "In Porto."
    assert [m.text for m in space.memories()][1:] == ["Where does Alice live?", "In Porto."]


async def test_an_agent_looks_things_up_with_the_retriever(space: remanence.Space) -> None:
    """As a tool of its own, beside a memory or without one."""
    space.add("Alice lives in Porto.", source="email")
    notes = RetrieverTool.from_defaults(RemanenceRetriever(space), name="notes", description="Notes.")
    llm = Scripted(calling("notes", input="Where does Alice live?"), "In Porto.")

    await FunctionAgent(llm=llm, tools=[notes]).run("Where is she?")

    found = next(m for m in llm.prompts[-1] if m.role == "tool").content or ""
    assert "Alice lives in Porto." in found


@pytest.mark.parametrize("streaming", [True, False])
async def test_streaming_makes_no_difference(space: remanence.Space, streaming: bool) -> None:
    """Nor does its absence."""
    space.add("Alice lives in Porto.")
    llm = Scripted("In Porto.")
    memory = RemanenceMemory(space)

    await FunctionAgent(llm=llm, streaming=streaming).run("Where does Alice live?", memory=memory)

    assert "Alice lives in Porto." in llm.prompt()
    assert memory.get_all()[-1] == ChatMessage(role="assistant", content="In Porto.")

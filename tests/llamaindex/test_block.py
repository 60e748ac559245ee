"""RemanenceMemoryBlock inside LlamaIndex's own Memory: short chats, long chats, many sessions at once."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from pathlib import Path

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import InsertMethod, Memory, StaticMemoryBlock

import remanence
from framed import quoted_texts
from llama_index_remanence import RemanenceMemoryBlock
from llamaindex.scripted import Counting, Scripted, assistant, texts, user
from remanence.testing import FakeClock
from remanence.text.framing import CLOSE_TAG, OPEN_TAG


def memory_with(block: RemanenceMemoryBlock, session: str = "s", **settings: object) -> Memory:
    return Memory.from_defaults(session_id=session, memory_blocks=[block], **settings)  # type: ignore[arg-type]


def kept(space: remanence.Space) -> list[str]:
    return [memory.text for memory in space.memories()]


async def test_a_short_chat_is_remembered(space: remanence.Space) -> None:
    """`Memory` by itself hands nothing to its blocks before 21,000 tokens."""
    memory = memory_with(RemanenceMemoryBlock(space))
    await memory.aput_messages([user("I am allergic to hazelnuts."), assistant("Noted.")])
    await memory.aput(user("Hello?"))
    await memory.aget()

    assert kept(space) == ["I am allergic to hazelnuts.", "Noted.", "Hello?"]


async def test_what_was_said_in_the_session_is_recalled_and_not_what_is_shown(space: remanence.Space) -> None:
    """The window is in the prompt already; what was cleared from it is not."""
    memory = memory_with(RemanenceMemoryBlock(space))
    await memory.aput_messages([user("I am allergic to hazelnuts."), user("What am I allergic to?")])
    assert OPEN_TAG not in (await memory.aget())[0].content

    await memory.areset()
    await memory.aput(user("What am I allergic to?"))
    system, question = await memory.aget()

    assert "I am allergic to hazelnuts." in system.content
    assert question.content == "What am I allergic to?"


async def test_an_input_that_is_in_the_window_too_is_heard_once(space: remanence.Space) -> None:
    """Agents put the question and then ask with it; chat engines ask with it and then put it."""
    memory = memory_with(RemanenceMemoryBlock(space))
    await memory.aput(user("Where?"))
    await memory.aget()
    await memory.aget(input="Where?")
    await memory.aput(assistant("Here."))
    await memory.aget(input="Where?")
    await memory.aput_messages([user("Where?"), assistant("There.")])
    await memory.aget()

    assert kept(space) == ["Where?", "Here.", "Where?", "There."]


async def test_what_is_flushed_later_is_not_remembered_twice(space: remanence.Space) -> None:
    """Written when seen, and known again when the queue overflows."""
    block = RemanenceMemoryBlock(space)
    memory = memory_with(block, token_limit=200, chat_history_token_ratio=0.5, token_flush_size=20)
    said = []
    for number in range(30):
        turn = [user(f"This is statement number {number}."), assistant("Yes.")]
        said += texts(turn)
        await memory.aput(turn[0])
        if number % 3 == 0:
            await memory.aget()
        await memory.aput(turn[1])
    await memory.aget()

    assert len(await memory.aget()) < 30, "the queue did overflow"
    assert Counter(kept(space)) == Counter(said)
    assert [text for text in kept(space) if text != "Yes."] == [text for text in said if text != "Yes."]


async def test_what_only_the_flush_brings_is_remembered(space: remanence.Space) -> None:
    """Nobody may have asked before it left the window."""
    block = RemanenceMemoryBlock(space)
    memory = memory_with(block, token_limit=60, chat_history_token_ratio=0.5, token_flush_size=10)
    for number in range(10):
        await memory.aput_messages([user(f"Statement number {number}."), assistant(f"Answer {number}.")])

    flushed = len(await memory.aget_all()) - len(await memory.sql_store.get_messages("s"))
    assert flushed > 4
    assert len(kept(space)) == flushed


async def test_another_block_on_the_space_knows_what_was_heard(space: remanence.Space) -> None:
    """After a restart the window is the same, and so is what was forgotten."""
    messages = [user("My code is 1234."), assistant("Noted."), user("Go on.")]
    await RemanenceMemoryBlock(space).aget(messages, session_id="s")
    code = next(memory for memory in space.memories() if "1234" in memory.text)
    space.forget(code.id, why="asked to")

    again = RemanenceMemoryBlock(space)
    await again.aget([*messages, assistant("Well.")], session_id="s")

    assert kept(space) == ["Noted.", "Go on.", "Well."]


async def test_what_was_erased_is_not_heard_again(space: remanence.Space) -> None:
    """Though the window shows it still."""
    block, messages = RemanenceMemoryBlock(space), [user("My code is 1234."), assistant("Noted.")]
    await block.aget(messages, session_id="s")
    space.erase(next(memory.id for memory in space.memories() if "1234" in memory.text))
    await block.aget([*messages, user("Go on.")], session_id="s")

    assert kept(space) == ["Noted.", "Go on."]


@pytest.mark.slow
async def test_many_sessions_at_once_hear_of_nobody_else(space: remanence.Space, at_once: int) -> None:
    """One block, one space: a session recalls what was said in it."""
    block = RemanenceMemoryBlock(space)

    async def chat(number: int) -> str:
        memory = memory_with(block, f"user {number}")
        await memory.aput_messages([user(f"My code is code{number:03}."), assistant("Noted.")])
        await memory.aget(input="Go on.")
        await memory.areset()
        return "\n".join(str(m.content) for m in await memory.aget(input="What is my code?"))

    prompts = await asyncio.gather(*(chat(number) for number in range(at_once)))

    for number, prompt in enumerate(prompts):
        assert {n for n in range(at_once) if f"code{n:03}" in prompt} == {number}


@pytest.mark.parametrize("other", [" a", "a ", "A", "a\0", "a" * 300, "a" * 301])
async def test_sessions_of_like_names_are_apart(space: remanence.Space, other: str) -> None:
    """A name is compared to the letter, however it is written down."""
    block = RemanenceMemoryBlock(space)
    for session in ("a", "a" * 299):
        await block.aget([user("My code is 1234.")], session_id=session)

    assert "1234" not in await block.aget([user("What is my code?")], session_id=other)


async def test_one_block_serves_sessions_one_after_the_other(space: remanence.Space) -> None:
    """Each recalls its own; LlamaIndex's VectorMemoryBlock stays with the first one (its issue 22701)."""
    block = RemanenceMemoryBlock(space)
    for session, told in (("one", "hazelnuts"), ("two", "cats")):
        memory = memory_with(block, session)
        await memory.aput_messages([user(f"I am allergic to {told}."), user("Hello?")])
        await memory.aget()
        await memory.areset()

    for session, told, other in (("one", "hazelnuts", "cats"), ("two", "cats", "hazelnuts")):
        memory = memory_with(block, session)
        await memory.aput(user("What am I allergic to?"))
        recalled = (await memory.aget())[0].content
        assert told in recalled
        assert other not in recalled


async def test_sessions_of_one_person_may_share(space: remanence.Space) -> None:
    """Said once, when the block is made."""
    block = RemanenceMemoryBlock(space, across_sessions=True)
    for day in ("monday", "tuesday"):
        memory = memory_with(block, day)
        await memory.aput(user("My code is 1234."))
        await memory.aget()

    got = await memory_with(block, "wednesday").aget(input="What is my code?")

    assert "1234" in got[0].content
    assert kept(space).count("My code is 1234.") == 2, "said in two sessions"


async def test_it_gives_way_when_the_prompt_is_too_long(space: remanence.Space) -> None:
    """By as much as it takes, the least of its memories first."""
    for number in range(10):
        space.add(f"The bridge number {number} crosses the Douro in Porto.")
    block = RemanenceMemoryBlock(space, across_sessions=True)
    whole = (await memory_with(block).aget(input="What crosses the Douro?"))[0].content
    tokens = len(block.tokenizer_fn(whole))

    less = (await memory_with(block, token_limit=tokens - 60).aget(input="What crosses the Douro?"))[0].content
    none = await memory_with(block, token_limit=20).aget(input="What crosses the Douro?")

    lines = whole.split(OPEN_TAG)[1].split(CLOSE_TAG)[0].splitlines()
    fewer = less.split(OPEN_TAG)[1].split(CLOSE_TAG)[0].splitlines()
    assert 2 < len(fewer) < len(lines)
    assert fewer == lines[: len(fewer)]
    assert none == []


async def test_its_own_budget_holds_too(space: remanence.Space) -> None:
    """However much room there is."""
    for number in range(10):
        space.add(f"The bridge number {number} crosses the Douro in Porto.")
    block = RemanenceMemoryBlock(space, across_sessions=True, max_tokens=200)

    content = await block.aget([user("What crosses the Douro?")])

    assert 100 < len(block.tokenizer_fn(content)) <= 200


async def test_what_is_recalled_has_a_budget_and_a_least_score(space: remanence.Space) -> None:
    """As for the memory."""
    space.add_many(bridges := [f"The bridge number {number} crosses the Douro." for number in range(5)])
    asked = [user("What crosses the Douro?")]
    every, few, none = (
        RemanenceMemoryBlock(space, across_sessions=True, **options)
        for options in ({}, {"max_tokens": 80}, {"min_score": 1.0})
    )

    assert {*quoted_texts(await every.aget(asked))} == {*bridges}
    assert 0 < len(quoted_texts(await few.aget(asked))) < 5
    assert await none.aget(asked) == ""


@pytest.mark.parametrize("blocks", [1, 40])
async def test_what_is_seen_at_once_in_many_places_is_heard_once(space: remanence.Space, blocks: int) -> None:
    """By one block or by many: some programs make one for each request."""
    several = [RemanenceMemoryBlock(space) for _ in range(blocks)]
    window = [user("My code is 1234."), assistant("Yes."), user("Sure?"), assistant("Yes.")]

    await asyncio.gather(*(several[n % blocks].aget(window, session_id="s") for n in range(40)))

    assert kept(space) == texts(window)


async def test_it_recalls_off_the_loop(space: remanence.Space, embedder: Counting) -> None:
    """While it does, the loop goes on with other things."""
    await RemanenceMemoryBlock(space).aget([user("Where?")])

    assert embedder.threads
    assert threading.main_thread() not in embedder.threads


async def test_it_stands_beside_other_blocks_and_in_the_user_message(space: remanence.Space) -> None:
    """As `Memory` is told to place them."""
    space.add("Alice lives in Porto.")
    memory = Memory.from_defaults(
        memory_blocks=[
            StaticMemoryBlock(name="rules", static_content="Be brief."),
            RemanenceMemoryBlock(space, across_sessions=True),
        ],
        insert_method=InsertMethod.USER,
    )
    await memory.aput(user("Where does Alice live?"))

    (got,) = await memory.aget()

    assert "Be brief." in got.content
    assert "<long_term_memory>" in got.content
    assert "Alice lives in Porto." in got.content


def test_a_chat_engine_works_with_it_sync(space: remanence.Space) -> None:
    """The last answer is heard at the next question."""
    chat = SimpleChatEngine.from_defaults(
        llm=Scripted("Noted.", "Hazelnuts."), memory=memory_with(RemanenceMemoryBlock(space))
    )
    chat.chat("I am allergic to hazelnuts.")
    chat.chat("To what?")

    assert kept(space) == ["I am allergic to hazelnuts.", "Noted.", "To what?"]


@pytest.mark.parametrize("messages", [None, [], [user("")], [assistant("Hello.")]])
async def test_with_nothing_asked_it_says_nothing(space: remanence.Space, messages: list | None) -> None:
    """An empty block is left out of the prompt."""
    space.add("Alice lives in Porto.")

    assert await RemanenceMemoryBlock(space).aget(messages) == ""


@pytest.mark.parametrize("reinforce", [False, True])
async def test_an_agent_whose_memory_is_down_answers_and_says_so_in_the_log(
    space: remanence.Space, caplog: pytest.LogCaptureFixture, reinforce: bool
) -> None:
    """The window is LlamaIndex's own, so the conversation goes on, also past the end of it."""
    memory = memory_with(
        RemanenceMemoryBlock(space, reinforce=reinforce),
        token_limit=60,
        chat_history_token_ratio=0.5,
        token_flush_size=10,
    )
    space.close()
    llm = Scripted(*(f"Answer number {number}." for number in range(5)))
    with caplog.at_level(logging.WARNING, "llama_index_remanence"):
        for number in range(5):
            answer = await FunctionAgent(llm=llm).run(f"This is question number {number}.", memory=memory)

    assert str(answer) == "Answer number 4."
    said = [record for record in caplog.records if record.name.startswith("llama_index_remanence")]
    assert {record.args[0] for record in said} == {"remember", "recall"}
    assert all("memory failed" in record.message and not record.exc_info for record in said)


async def test_what_could_not_be_heard_is_heard_later(home: Path, clock: FakeClock) -> None:
    """Whatever is in the window still."""
    window = [user("I am allergic to hazelnuts."), assistant("Noted.")]
    with remanence.open(home, clock=clock) as closed:
        block = RemanenceMemoryBlock(closed)
    await block.aget(window, session_id="s")

    with remanence.open(home, clock=clock) as again:
        block.attach(again)
        await block.aget([*window, user("And now?")], session_id="s")

        assert kept(again) == ["I am allergic to hazelnuts.", "Noted.", "And now?"]


async def test_a_block_that_cannot_find_its_space_says_so() -> None:
    """That is not an outage: it would never be heard of again."""
    with remanence.open(None) as gone:
        written = RemanenceMemoryBlock(gone).model_dump()
    block = RemanenceMemoryBlock.model_validate(written)

    with pytest.raises(remanence.NotFound, match="attach"):
        await block.aget([user("Hello.")])

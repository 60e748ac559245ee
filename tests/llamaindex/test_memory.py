"""RemanenceMemory on its own: the window, what is recalled for it, and being written down."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.workflow import Context, JsonSerializer, Workflow, step
from llama_index.core.workflow.events import StartEvent, StopEvent

import remanence
from llamaindex.scripted import Counting, assistant, calling, texts, user
from remanence.framing import OPEN
from remanence_llamaindex import RemanenceMemory


def words(messages: list[ChatMessage]) -> str:
    return "\n".join(message.content or "" for message in messages)


def test_what_one_session_heard_another_recalls(space: remanence.Space) -> None:
    """Long-term memory is what outlives a session."""
    RemanenceMemory(space, session_id="monday").put(user("I am allergic to hazelnuts."))

    got = RemanenceMemory(space, session_id="tuesday").get(input="What am I allergic to?")

    assert [m.role for m in got] == ["system"]
    assert "allergic to hazelnuts" in words(got)
    assert "monday" in words(got), "with its source"
    assert "2026-05-04" in words(got), "and its date"


def test_the_question_is_the_input_or_the_user_message_without_an_answer(
    space: remanence.Space, embedder: Counting
) -> None:
    """Agents ask without an input; what was answered is not asked again."""
    memory = RemanenceMemory(space)
    memory.put(user("Where is the key?"))
    memory.get()
    memory.put(assistant("Under the mat."))
    memory.get()
    memory.get(input="Whose mat?")
    memory.get(input=user("Which door?"))

    assert embedder.asked == ["Where is the key?", "Whose mat?", "Which door?"]


def test_a_question_is_asked_once_until_something_is_written(
    space: remanence.Space, embedder: Counting
) -> None:
    """Agents get their messages several times a turn; only news is worth asking again."""
    memory = RemanenceMemory(space)
    memory.put(user("Where does Alice live?"))
    for _ in range(3):
        memory.get()
    memory.get(input="Where does Alice live?")
    assert len(embedder.asked) == 1

    space.add("Alice lives in Porto.")

    assert "Porto" in words(memory.get())
    assert len(embedder.asked) == 2


def test_what_the_prompt_shows_is_not_recalled_beside_it(space: remanence.Space) -> None:
    """The question itself would else be its own best answer."""
    memory = RemanenceMemory(space)
    memory.put_messages([user("I live in Porto."), assistant("Nice."), user("Where do I live?")])

    assert texts(memory.get()) == ["I live in Porto.", "Nice.", "Where do I live?"]


def test_what_no_longer_fits_the_window_is_recalled(space: remanence.Space) -> None:
    """Being cut off is how most things are forgotten elsewhere."""
    memory = RemanenceMemory(space, token_limit=600, recall_tokens=400)
    memory.put_messages([user("My bicycle is called Rosinante."), assistant("What a name!")])
    for number in range(12):
        memory.put_messages([user(f"Tell me a long story, number {number}. " * 3), assistant("Once. " * 30)])
    memory.put(user("What is my bicycle called?"))

    got = memory.get()

    assert len(got) < 25
    assert got[0].role == "user", "a window starts where a turn does"
    assert [("Rosinante" in (message.content or "")) for message in got] == [False] * (len(got) - 1) + [True]
    assert (got[-1].content or "").endswith("What is my bicycle called?")


def test_the_whole_stays_within_the_token_limit(space: remanence.Space) -> None:
    """Window, recalled block and what the caller has spent already."""
    for number in range(40):
        space.add(f"Porto fact {number}: the bridge number {number} crosses the Douro.")
    memory = RemanenceMemory(space, token_limit=500, recall_tokens=300)
    memory.put_messages([m for n in range(30) for m in (user(f"Question {n} on Porto?"), assistant("Yes."))])
    memory.put(user("What crosses the Douro in Porto?"))

    got = memory.get(initial_token_count=50)
    spent = sum(len(memory.tokenizer_fn(message.content or "")) for message in got)

    assert OPEN in (got[-1].content or "")
    assert 200 < spent <= 450


def test_it_is_merged_into_the_system_message_there_is(space: remanence.Space) -> None:
    """Two system messages where there was one would be refused by some models."""
    space.add("Alice lives in Porto.")
    memory = RemanenceMemory(space)
    memory.set([ChatMessage(role="system", content="Be brief."), user("Where does Alice live?")])

    got = memory.get()

    assert [m.role for m in got] == ["system", "user"]
    assert [block.text.split("\n")[0] for block in got[0].blocks] == ["Be brief.", OPEN]


def test_without_one_it_stands_before_the_question(space: remanence.Space) -> None:
    """ReActAgent drops a system message that comes first; and what stays comes before what changes."""
    space.add("Alice lives in Porto.")
    memory = RemanenceMemory(space)
    memory.put_messages([user("Hello."), assistant("Good day."), user("Where does Alice live?")])

    got = memory.get()

    assert texts(got[:2]) == ["Hello.", "Good day."]
    assert [block.text.split("\n")[0] for block in got[2].blocks] == [OPEN, "Where does Alice live?"]
    memory.set(got)
    assert texts(memory.get_all()) == ["Hello.", "Good day.", "Where does Alice live?"]


def test_what_it_gives_out_are_copies(space: remanence.Space) -> None:
    """Agents write into the messages they get."""
    space.add("Alice lives in Porto.")
    memory = RemanenceMemory(space)
    memory.set([ChatMessage(role="system", content="Be brief."), user("Where does Alice live?")])

    for _ in range(3):
        for message in memory.get():
            for block in message.blocks:
                block.text = "overwritten"
            message.blocks.append(TextBlock(text="more"))

    assert texts(memory.get_all()) == ["Be brief.", "Where does Alice live?"]


def test_tool_and_empty_messages_are_kept_as_they_are(space: remanence.Space) -> None:
    """They have no words to remember, and the window needs them all the same."""
    messages = [
        user("What is the weather?"),
        calling("weather", city="Porto"),
        ChatMessage(role="tool", content="", additional_kwargs={"tool_call_id": "call-weather"}),
        assistant(None),
        ChatMessage(role="user", blocks=[ImageBlock(url="https://example.com/cat.png")]),
        user("broken \udcff and \0 text"),
    ]
    memory = RemanenceMemory(space)
    memory.put_messages(messages)

    assert memory.get_all() == messages
    assert [m.text for m in space.memories()] == ["What is the weather?", "broken � and � text"]


def test_of_a_react_trace_only_the_answer_is_remembered(space: remanence.Space) -> None:
    """How it came to think so is of no use next year."""
    trace = "Thought: I need a tool.\nAction: weather\nAction Input: {}\nObservation: rain\n"
    memory = RemanenceMemory(space)
    memory.put(assistant(trace + "Thought: I can answer.\nAnswer: It rains."))
    memory.put(assistant(trace))
    memory.put(assistant("Action: call Bob. Answer: nobody."))

    assert [m.text for m in space.memories()] == ["It rains.", "Action: call Bob. Answer: nobody."]
    assert len(memory.get_all()) == 3


def test_setting_a_history_again_remembers_only_what_is_new(space: remanence.Space) -> None:
    """Chat engines hand over the whole history with each question."""
    memory = RemanenceMemory(space)
    history = [user("Yes."), assistant("Sure?"), user("Yes.")]
    for length in (1, 2, 3, 3):
        memory.set(history[:length])
    memory.set([*memory.get(input="Sure?"), assistant("Good.")])

    assert [m.text for m in space.memories()] == ["Yes.", "Sure?", "Yes.", "Good."]
    assert memory.get_all() == [*history, assistant("Good.")], "nothing that was recalled came back in"

    memory.reset()
    memory.set(history)

    assert space.count() == 4, "and a session that was cleared has heard it still"


def test_reset_clears_the_window_and_nothing_else(space: remanence.Space) -> None:
    """Forgetting is asked for by another name."""
    memory, other = RemanenceMemory(space, session_id="a"), RemanenceMemory(space, session_id="b")
    memory.put(user("I live in Porto."))
    other.put(user("Hello."))
    memory.reset()

    assert memory.get_all() == []
    assert texts(other.get_all()) == ["Hello."]
    assert "Porto" in words(memory.get(input="Where do I live?"))


def test_a_forgotten_memory_is_recalled_no_more(space: remanence.Space) -> None:
    """Not even from the answer that was kept for this turn."""
    memory = space.add("Alice lives in Porto.")
    chat = RemanenceMemory(space)
    assert "Porto" in words(chat.get(input="Where does Alice live?"))

    space.forget(memory.id)

    assert chat.get(input="Where does Alice live?") == []


def test_from_defaults_takes_what_chat_engines_give_it(space: remanence.Space) -> None:
    """A history and a model, whose context is not filled to the brim."""
    from llamaindex.scripted import Scripted

    llm = Scripted()
    memory = RemanenceMemory.from_defaults(space=space, chat_history=[user("Hello.")], llm=llm)

    assert texts(memory.get_all()) == ["Hello."]
    assert memory.token_limit < llm.metadata.context_window
    with pytest.raises(remanence.InvalidInput, match=r"space=remanence\.open"):
        RemanenceMemory.from_defaults(chat_history=[])


@pytest.mark.parametrize("empty", ["", "  "])
def test_a_blank_question_asks_nothing(space: remanence.Space, embedder: Counting, empty: str) -> None:
    """There is nothing to be found with it."""
    memory = RemanenceMemory(space)
    memory.put(user(empty))

    assert texts(memory.get()) == [empty]
    assert embedder.asked == []


async def test_fifty_users_at_once_see_their_own_and_nothing_else(space: remanence.Space) -> None:
    """Each holds a space, and what one holds is all one can see."""

    async def chat(number: int) -> str:
        memory = RemanenceMemory(space.child("users", str(number)), session_id="same-name")
        await memory.aput(user(f"My secret number is code{number:03}."))
        await memory.aput(assistant("Noted."))
        await memory.areset()
        await memory.aput(user("What is my secret number?"))
        return words(await memory.aget())

    answers = await asyncio.gather(*(chat(number) for number in range(50)))

    for number, answer in enumerate(answers):
        assert {f"code{other:03}" for other in range(50) if f"code{other:03}" in answer} == {
            f"code{number:03}"
        }


async def test_fifty_sessions_of_one_user_keep_their_windows_apart(space: remanence.Space) -> None:
    """They share what is remembered, not what is being said."""

    async def chat(number: int) -> list[str | None]:
        memory = RemanenceMemory(space, session_id=f"s{number}")
        await memory.aput_messages([user(f"Hello {number}."), assistant(f"Good day {number}.")])
        return texts(await memory.aget_all())

    for number, got in enumerate(await asyncio.gather(*(chat(number) for number in range(50)))):
        assert got == [f"Hello {number}.", f"Good day {number}."]


class Idle(Workflow):
    """A workflow to have a context of."""

    @step
    async def only(self, event: StartEvent) -> StopEvent:
        return StopEvent()


async def test_a_context_written_down_finds_the_space_again(space: remanence.Space) -> None:
    """In the same process, even one that is kept in memory only."""
    memory = RemanenceMemory(space, session_id="s1", limit=3)
    memory.put(user("I live in Porto."))
    context = Context(Idle())
    await context.store.set("memory", memory)

    restored = Context.from_dict(Idle(), context.to_dict(serializer=JsonSerializer()))
    again = await restored.store.get("memory")

    assert isinstance(again, RemanenceMemory)
    assert again is not memory
    assert again.limit == 3
    assert texts(again.get_all()) == ["I live in Porto."]


ELSEWHERE = """
import json, sys
from llama_index.core.llms import ChatMessage
from remanence_llamaindex import RemanenceMemory
memory = RemanenceMemory.from_dict(json.load(sys.stdin))
(system,) = memory.get(input="Where am I from?")
print(memory.space.name, memory.get_all()[0].content, "Porto" in system.content)
memory.put(ChatMessage(role="assistant", content="Hello from elsewhere."))
"""


def test_another_process_opens_the_location_again_and_goes_on(home: Path) -> None:
    """A restart costs neither the window nor the memory; and the window follows whoever writes to it."""
    RemanenceMemory(location=home, path=("users", "a/b")).put(user("I am from Porto."))
    memory = RemanenceMemory(location=home, path=("users", "a/b"), session_id="s1")
    memory.set([ChatMessage(role="system", content="Be brief.")])

    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], input=memory.to_json(), capture_output=True, text=True, timeout=120
    )

    assert done.stdout == "default/users/a%2Fb Be brief. True\n", done.stderr
    assert texts(memory.get_all()) == ["Be brief.", "Hello from elsewhere."]


def test_one_location_is_opened_once(home: Path) -> None:
    """Two memories of one folder share what they hold."""
    first, second = RemanenceMemory(location=home), RemanenceMemory(location=str(home))
    first.put(user("I live in Porto."))

    assert first.space is second.space
    assert "Porto" in words(second.get(input="Where do I live?"))


def test_a_space_that_was_closed_is_opened_again_where_it_can_be(home: Path) -> None:
    """A memory that was written down outlives the space it was made with."""
    with remanence.open(home) as space:
        memory = RemanenceMemory(space, location=home, session_id="s1")
        memory.put(user("Hello."))
        written = memory.to_dict()
    del memory

    assert texts(RemanenceMemory.from_dict(written).get_all()) == ["Hello."]


def test_a_space_says_itself_where_it_is_kept(home: Path) -> None:
    """Given without a location, one in a folder is opened again all the same."""
    with remanence.open(home) as space:
        memory = RemanenceMemory(space.child("bob"), session_id="s1")
        memory.put(user("Hello."))
        written = memory.to_dict()
    del memory

    assert texts(RemanenceMemory.from_dict(written).get_all()) == ["Hello."]


def test_a_space_that_is_gone_is_named_with_the_way_out(clock: object) -> None:
    """What was kept in memory only cannot be had again, and nobody pretends."""
    with remanence.open(None) as space:
        written = RemanenceMemory(space.child("bob"), session_id="s1").to_dict()
    restored = RemanenceMemory.from_dict(written)

    with pytest.raises(remanence.NotFound, match=r"'default/bob' is not open .* attach\(space\)"):
        restored.get_all()

    with remanence.open(None) as other:
        restored.attach(other)
        restored.put(user("Hello."))
        assert texts(restored.get_all()) == ["Hello."]


def test_copies_and_pickles_hold_the_same_space(space: remanence.Space) -> None:
    """Frameworks copy what they are given."""
    memory = RemanenceMemory(space, session_id="s1")
    memory.put(user("Hello."))

    for other in (copy.deepcopy(memory), copy.copy(memory), pickle.loads(pickle.dumps(memory))):
        assert texts(other.get_all()) == ["Hello."]


def test_facts_are_drawn_in_the_background_if_asked(space: remanence.Space) -> None:
    """The chat does not wait for them."""
    memory = RemanenceMemory(space, extract=True)
    memory.put(user("I moved to Porto."))
    for job in space.jobs():
        job.result(timeout=30)

    assert any("Porto" in kept.text for kept in space.memories())

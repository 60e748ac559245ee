"""RemanenceMemory on its own: the window, and what is recalled for it."""

from __future__ import annotations

import asyncio
import logging
from inspect import signature
from pathlib import Path

import pytest
from llama_index.core.base.llms.types import (
    CacheControl,
    CachePoint,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
)
from llama_index.core.llms import MockLLM
from pydantic import ValidationError

import remanence
from framed import quoted_texts
from llama_index_remanence import RemanenceMemory
from llama_index_remanence.messages import role_and_text
from llamaindex.scripted import Counting, assistant, broken, calling, texts, user
from remanence.index.engine.inputs import MAX_TEXT_LENGTH
from remanence.testing import FakeClock, ScriptedModel
from remanence.testing.fakes import facts_reply
from remanence.text.framing import OPEN_TAG
from remanence.text.text import MAX_PASSAGE


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


def test_a_window_is_erased_some_time_after_its_last_message(space: remanence.Space, clock: FakeClock) -> None:
    """The memories stay: only the messages of the session go."""
    memory = RemanenceMemory(space, session_id="monday", ttl=100)
    memory.put(user("I am allergic to hazelnuts."))
    clock.advance(seconds=99)
    assert memory.sweep_ttl() == 0
    clock.advance(seconds=1)

    assert RemanenceMemory(space, session_id="tuesday").sweep_ttl() == 1
    assert memory.get_all() == []
    assert "hazelnuts" in words(memory.get(input="What am I allergic to?"))


@pytest.mark.parametrize("name", ["", "  "])
def test_a_session_has_a_name(space: remanence.Space, name: str) -> None:
    """A blank one would be everybody's."""
    with pytest.raises(remanence.InvalidInput, match="not the name of a session"):
        RemanenceMemory(space, session_id=name)


def test_the_question_is_the_input_or_the_user_message_without_an_answer(
    space: remanence.Space, embedder: Counting
) -> None:
    """Agents ask without an input; what was answered is not asked again, and says what "whose mat?" is about."""
    memory = RemanenceMemory(space)
    memory.put(user("Where is the key?"))
    memory.get()
    memory.put(assistant("Under the mat."))
    memory.get()
    memory.get(input="Whose mat?")
    memory.get(input=user("Which door?"))

    assert embedder.asked == ["Where is the key?", "Where is the key? Whose mat?", "Where is the key? Which door?"]


def test_a_question_is_asked_once_until_something_is_written(space: remanence.Space, embedder: Counting) -> None:
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


def test_a_question_with_a_document_in_it_is_asked_with_its_beginning_and_its_end(
    space: remanence.Space, embedder: Counting
) -> None:
    """Embedding a whole book for each turn would take as long as reading it."""
    memory = RemanenceMemory(space)
    memory.put(user("What did I say about this? " + "Once upon a time. " * 2_000 + "Where did I read it?"))
    memory.get()

    [question] = embedder.asked
    assert len(question) <= MAX_PASSAGE
    assert question.startswith("What did I say about this?")
    assert question.endswith("Where did I read it?")


def test_what_the_prompt_shows_is_not_recalled_beside_it(space: remanence.Space) -> None:
    """The question itself would else be its own best answer."""
    memory = RemanenceMemory(space)
    memory.put_messages([user("I live in Porto."), assistant("Nice."), user("Where do I live?")])

    assert texts(memory.get()) == ["I live in Porto.", "Nice.", "Where do I live?"]


def test_what_no_longer_fits_the_window_is_recalled(space: remanence.Space) -> None:
    """Being cut off is how most things are forgotten elsewhere."""
    memory = RemanenceMemory(space, token_limit=600, max_tokens=400)
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
    memory = RemanenceMemory(space, token_limit=500, max_tokens=300)
    memory.put_messages([m for n in range(30) for m in (user(f"Question {n} on Porto?"), assistant("Yes."))])
    memory.put(user("What crosses the Douro in Porto?"))

    got = memory.get(initial_token_count=50)
    spent = sum(len(memory.tokenizer_fn(message.content or "")) for message in got)

    assert OPEN_TAG in (got[-1].content or "")
    assert 200 < spent <= 450


def test_it_is_merged_into_the_system_message_there_is(space: remanence.Space) -> None:
    """Two system messages where there was one would be refused by some models."""
    space.add("Alice lives in Porto.")
    memory = RemanenceMemory(space, place="system")
    memory.set([ChatMessage(role="system", content="Be brief."), user("Where does Alice live?")])

    got = memory.get()

    assert [m.role for m in got] == ["system", "user"]
    assert [block.text.split("\n")[0] for block in got[0].blocks] == ["Be brief.", OPEN_TAG]


def test_without_one_it_stands_before_the_question(space: remanence.Space) -> None:
    """ReActAgent drops a system message that comes first; and what stays comes before what changes."""
    space.add("Alice lives in Porto.")
    memory = RemanenceMemory(space)
    memory.put_messages([user("Hello."), assistant("Good day."), user("Where does Alice live?")])

    got = memory.get()

    assert texts(got[:2]) == ["Hello.", "Good day."]
    assert [block.text.split("\n")[0] for block in got[2].blocks] == [OPEN_TAG, "Where does Alice live?"]
    memory.set(got)
    assert texts(memory.get_all()) == ["Hello.", "Good day.", "Where does Alice live?"]


def test_what_was_recalled_is_not_put_into_the_window_again(space: remanence.Space) -> None:
    """Whoever hands back what they got hands back the conversation."""
    space.add("Alice lives in Porto.")
    memory, other = RemanenceMemory(space), RemanenceMemory(space)
    memory.put(user("Where does Alice live?"))

    other.put_messages([*memory.get(input="Where does Alice live?"), *other.get(input="Alice?")])

    assert texts(other.get_all()) == ["Where does Alice live?"]


def test_what_it_gives_out_are_copies(space: remanence.Space) -> None:
    """Agents write into the messages they get."""
    space.add("Alice lives in Porto.")
    memory = RemanenceMemory(space, place="system")
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


def test_of_a_message_that_no_memory_could_hold_the_beginning_is_remembered() -> None:
    """The window keeps all of it."""
    (_, words) = role_and_text(user("x" * (MAX_TEXT_LENGTH + 1))) or ("", "")

    assert len(words) == MAX_TEXT_LENGTH


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


@pytest.mark.slow
async def test_many_users_at_once_see_their_own_and_nothing_else(space: remanence.Space, at_once: int) -> None:
    """Each holds a space, and what one holds is all one can see."""

    async def chat(number: int) -> str:
        memory = RemanenceMemory(space.child("users", str(number)), session_id="same-name")
        await memory.aput(user(f"My secret number is code{number:03}."))
        await memory.aput(assistant("Noted."))
        await memory.areset()
        await memory.aput(user("What is my secret number?"))
        return words(await memory.aget())

    answers = await asyncio.gather(*(chat(number) for number in range(at_once)))

    for number, answer in enumerate(answers):
        assert {f"code{other:03}" for other in range(at_once) if f"code{other:03}" in answer} == {f"code{number:03}"}


@pytest.mark.slow
async def test_many_sessions_of_one_user_keep_their_windows_apart(space: remanence.Space, at_once: int) -> None:
    """They share what is remembered, not what is being said."""

    async def chat(number: int) -> list[str | None]:
        memory = RemanenceMemory(space, session_id=f"s{number}")
        await memory.aput_messages([user(f"Hello {number}."), assistant(f"Good day {number}.")])
        return texts(await memory.aget_all())

    for number, got in enumerate(await asyncio.gather(*(chat(number) for number in range(at_once)))):
        assert got == [f"Hello {number}.", f"Good day {number}."]


def test_a_fork_goes_its_own_way(space: remanence.Space) -> None:
    """Each has its window from there on; what was said before the fork is remembered once."""
    memory = RemanenceMemory(space, session_id="one", max_tokens=300)
    memory.put_messages([user("Heads or tails?"), assistant("Heads.")])
    fork = memory.fork("two")
    memory.put(user("I chose tails."))
    fork.put(user("I chose heads."))
    fork.set([*fork.get_all(), assistant("You win.")])

    assert texts(memory.get_all()) == ["Heads or tails?", "Heads.", "I chose tails."]
    assert texts(fork.get_all()) == ["Heads or tails?", "Heads.", "I chose heads.", "You win."]
    assert texts(RemanenceMemory(space, session_id="two").get_all()) == texts(fork.get_all())
    assert fork.max_tokens == 300
    assert [kept.text for kept in space.memories()].count("Heads or tails?") == 1
    assert memory.fork().session_id not in ("one", "two", memory.fork().session_id)


def test_a_chat_goes_on_when_nothing_can_be_recalled(space: remanence.Space, caplog: pytest.LogCaptureFixture) -> None:
    """With its window; and the log says why. Here it is the counting of tokens, which is somebody else's."""

    def broken(text: str) -> list[str]:
        if OPEN_TAG in text:
            raise ConnectionError("no route")
        return text.split()

    space.add("Alice lives in Porto.")
    memory = RemanenceMemory(space, tokenizer_fn=broken, reinforce=True)
    memory.put(user("Where does Alice live?"))

    with caplog.at_level(logging.WARNING, "llama_index_remanence"):
        assert texts(memory.get()) == ["Where does Alice live?"]
        memory.put(assistant("I do not know."))

    assert "could not recall" in caplog.text
    assert "no route" in caplog.text
    assert len(memory.get_all()) == 2


def test_a_message_that_cannot_be_kept_raises(home: Path) -> None:
    """A window with a hole in it would be worse."""
    with remanence.open(home) as space:
        memory = RemanenceMemory(space)

    with pytest.raises(remanence.Closed):
        memory.put(user("Hello."))


@pytest.mark.parametrize("extract", [False, True])
def test_facts_are_drawn_in_the_background_if_asked(extract: bool) -> None:
    """Once for a chat, when it is quiet; and without being asked for, there are none."""
    model, clock = ScriptedModel(facts_reply({"text": "Carla sails.", "quotation": "Carla sails"})), FakeClock()
    llm = remanence.LLMExtractor(model)
    with remanence.open(None, extractor=llm, clock=clock, worker=False) as space:
        memory = RemanenceMemory(space, extract=extract)
        for said in ("My sister is called Carla.", "Carla sails a lot."):
            memory.put(user(said))
            clock.advance(minutes=4)
            space.jobs.run_due()
        assert (space.count(), len(model.prompts)) == (2, 0)
        clock.advance(minutes=1)
        space.jobs.run_due()

        assert len(space.jobs.list()) == len(model.prompts) == extract
        assert [memory.text for memory in space.memories()][2:] == ["Carla sails."] * extract


def test_facts_need_a_language_model() -> None:
    with remanence.open(None) as space, pytest.raises(remanence.InvalidInput, match="extract=True needs a language"):
        RemanenceMemory(space, extract=True)


def test_what_is_recalled_has_a_budget_and_a_least_score(space: remanence.Space) -> None:
    """What the prompt shows anyway takes nothing of the budget."""
    space.add_many(bridges := [f"The bridge number {number} crosses the Douro." for number in range(5)])
    question = "Does the bridge cross the Douro?"
    memory = RemanenceMemory(space, max_tokens=80)
    memory.put_messages([user("The bridge crosses the Douro."), assistant("Yes."), user(question)])

    recalled = quoted_texts(memory.get()[-1].content or "")

    assert 1 < len(recalled) < 5
    assert {*recalled} < {*bridges}
    assert RemanenceMemory(space, min_score=1.0).get(input=question) == []


def test_a_signal_that_is_down_is_named_in_the_prompt() -> None:
    """An answer made with less is not taken for a full one, and the chat goes on."""
    with remanence.open(None, embedder=broken) as space:
        space.add("Alice lives in Porto.")
        (system,) = RemanenceMemory(space).get(input="Where does Alice live?")

    assert "Alice lives in Porto." in (system.content or "")
    assert "Unavailable signals: vectors." in (system.content or "")


def by_letters(text: str) -> list[str]:
    return list(text)


def test_the_last_message_and_the_system_message_are_always_in_the_window(space: remanence.Space) -> None:
    """However long they are; what they take is taken from the others."""
    rules = ChatMessage(role="system", content="r" * 60)
    memory = RemanenceMemory(space, token_limit=100, max_tokens=0, tokenizer_fn=by_letters)
    memory.set([rules, user("a" * 20), assistant("b" * 20), user("c" * 20)])
    assert texts(memory.get()) == ["r" * 60, "c" * 20]

    memory.put(user("d" * 500))

    assert texts(memory.get()) == ["r" * 60, "d" * 500]


RESULT = ChatMessage(role="tool", content="It is sunny.", additional_kwargs={"tool_call_id": "call-weather"})


@pytest.mark.parametrize(
    ("last_turn", "count"),
    [
        ([user("Is it sunny?"), calling("weather"), RESULT, assistant("y" * 300)], 4),
        ([user("Is it sunny?"), calling("weather", city="P" * 300), RESULT], 3),
        ([user("u" * 300), assistant("Yes.")], 2),
        ([assistant("Hello."), calling("weather", city="P" * 300), RESULT], 2),
        ([RESULT], 1),
    ],
)
def test_a_last_turn_over_the_limit_is_kept_whole(
    space: remanence.Space, last_turn: list[ChatMessage], count: int
) -> None:
    """As by LlamaIndex's Memory. An answer without its question, or a result without its call, is refused by models."""
    memory = RemanenceMemory(space, token_limit=100, max_tokens=0, tokenizer_fn=by_letters)
    earlier = [user("Good morning."), assistant("Hello.")] if count == 4 else []
    memory.set([*earlier, *last_turn])

    assert memory.get() == last_turn[-count:]


def test_what_is_no_question_is_refused(space: remanence.Space) -> None:
    """With what it was, and what to give."""
    with pytest.raises(remanence.InvalidInput, match=r"input=5 is of type int\. Give the question as text"):
        RemanenceMemory(space).get(5)  # type: ignore[arg-type]


def test_a_prompt_that_leaves_no_room_is_refused(space: remanence.Space) -> None:
    """As by LlamaIndex's own memories, and by the same kind of error: the model would refuse it later."""
    memory = RemanenceMemory(space, token_limit=100)
    memory.put(user("Hello."))

    assert texts(memory.get(initial_token_count=100)) == ["Hello."]
    with pytest.raises(ValueError, match="initial_token_count=101 exceeds token_limit=100"):
        memory.get(initial_token_count=101)


CALLS = [{"function": {"name": "weather", "arguments": "P" * 200}}]
CITED = {"title": "Porto", "source": "porto.pdf"}


@pytest.mark.parametrize(
    "heavy",
    [
        calling("weather", city="P" * 200),
        calling("w" * 200),
        ChatMessage(role="assistant", blocks=[], additional_kwargs={"tool_calls": CALLS}),
        ChatMessage(role="assistant", blocks=[ThinkingBlock(content="P" * 200)]),
        ChatMessage(role="assistant", blocks=[ThinkingBlock(num_tokens=200)]),
        ChatMessage(role="user", blocks=[CitableBlock(**CITED, content=[TextBlock(text="P" * 200)])]),
        ChatMessage(
            role="assistant",
            blocks=[
                CitationBlock(**CITED, cited_content=TextBlock(text="P" * 200), additional_location_info={"page": 1})
            ],
        ),
    ],
)
def test_whatever_takes_tokens_is_counted(space: remanence.Space, heavy: ChatMessage) -> None:
    """Calls, thoughts and citations too, which count as nothing in LlamaIndex's Memory (its issue 21950)."""
    memory = RemanenceMemory(space, token_limit=150, max_tokens=0, tokenizer_fn=by_letters)
    memory.set([user("First."), heavy, user("Second.")])
    assert texts(memory.get()) == ["Second."]

    memory.set([user("First."), ChatMessage(role="assistant", content="Yes."), user("Second.")])
    assert texts(memory.get()) == ["First.", "Yes.", "Second."]


def test_a_mark_for_the_cache_takes_no_room(space: remanence.Space) -> None:
    mark = CachePoint(cache_control=CacheControl(type="ephemeral"))
    memory = RemanenceMemory(space, token_limit=30, max_tokens=0, tokenizer_fn=by_letters)
    memory.set([ChatMessage(role="user", blocks=[TextBlock(text="First."), mark]), assistant("Yes."), user("Second.")])

    assert len(memory.get()) == 3


def test_calls_and_pictures_take_room_too(space: remanence.Space) -> None:
    """A window that counted only words would overflow the model."""
    picture = ChatMessage(role="user", blocks=[ImageBlock(url="https://example.com/cat.png")])
    for heavy in (calling("weather", city="P" * 200), picture):
        memory = RemanenceMemory(space, token_limit=150, max_tokens=0, tokenizer_fn=by_letters)
        memory.set([user("First."), heavy, user("Second.")])

        assert texts(memory.get()) == ["Second."]


@pytest.mark.slow
def test_a_message_over_the_limit_is_one_warning(
    space: remanence.Space, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its beginning is remembered. The limit is lower here: reading a text of the real length takes seconds."""
    for module in ("remanence.adapters.chat_sessions", "llama_index_remanence.messages"):
        monkeypatch.setattr(f"{module}.MAX_TEXT_LENGTH", 20_000)
    memory = RemanenceMemory(space)
    memory.put(user("I am allergic to peanuts. " + "x" * 20_000))
    memory.get()

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        "a message is too long: its first 20,000 characters are remembered"
    ]


def test_a_small_window_is_not_filled_with_memories(space: remanence.Space) -> None:
    """They take a quarter at most, whatever their own budget is; the rest is for the conversation."""
    for number in range(30):
        space.add(f"I am allergic to nut number {number}, and it is a long story that I have told you before.")
    memory = RemanenceMemory(space, token_limit=600, max_tokens=2_000, tokenizer_fn=str.split)
    for number in range(8):
        memory.put(user(f"message {number} of a few words"))
        memory.put(assistant("noted"))

    got = memory.get(input="What am I allergic to?")
    block = next(message.content or "" for message in got if OPEN_TAG in (message.content or ""))
    assert 20 < len(block.split()) <= 150
    assert len(got) > 8
    assert sum(len((message.content or "").split()) for message in got) <= 600


def test_no_token_limit_of_its_own_means_that_of_the_window(space: remanence.Space) -> None:
    """None is no limit, as for LangChain; still a quarter of the window at most."""
    space.add_many(f"I am allergic to nut number {number}, as I have told you." for number in range(60))
    sizes = []
    for window in (800, 30_000):
        memory = RemanenceMemory(space, token_limit=window, max_tokens=None)
        [message] = memory.get(input="What am I allergic to?")
        sizes.append(len(memory.tokenizer_fn(message.content or "")))
    assert 100 < sizes[0] <= 200
    assert 1_000 < sizes[1] <= 7_500


def test_none_is_the_default_as_in_the_memories_of_llamaindex(space: remanence.Space) -> None:
    memory = RemanenceMemory.from_defaults(space, token_limit=None, tokenizer_fn=None)
    assert memory.token_limit == RemanenceMemory(space).token_limit
    assert memory.tokenizer_fn("two words") == RemanenceMemory(space).tokenizer_fn("two words")
    llm = MockLLM()
    limit = RemanenceMemory.from_defaults(space, llm=llm, token_limit=None).token_limit
    assert limit == int(llm.metadata.context_window * 0.75)


@pytest.mark.parametrize("place", ["message", "tool"])
def test_memories_may_stand_beside_the_question(space: remanence.Space, place: str) -> None:
    """All before the question stays as it was."""
    space.add("I am allergic to hazelnuts.")
    memory = RemanenceMemory(space, place=place)
    memory.put(ChatMessage(role="system", content="Be brief."))
    memory.put(user("What am I allergic to?"))

    got = memory.get()
    roles = [message.role.value for message in got]
    assert roles == (["system", "user"] if place == "message" else ["system", "user", "assistant", "tool"])
    assert [index for index, message in enumerate(got) if OPEN_TAG in (message.content or "")] == [
        1 if place == "message" else 3
    ]


def test_keep_chooses_what_can_be_recalled_later(space: remanence.Space) -> None:
    """The window has all of it."""
    memory = RemanenceMemory(space, session_id="s", keep="facts")
    for message in (user("I live in Porto."), assistant("Noted."), user("Thanks!")):
        memory.put(message)

    assert [each.text for each in space.memories()] == ["I live in Porto."]
    assert texts(memory.get_all()) == ["I live in Porto.", "Noted.", "Thanks!"]
    with pytest.raises(ValueError, match="keep='some'"):
        RemanenceMemory(space, keep="some")


def test_a_chat_of_another_day_is_put_with_that_day(space: remanence.Space) -> None:
    """What is said then, and what is asked then; the moment can be set again, and nonsense is refused at once."""
    memory = RemanenceMemory(space, now="2026-02-10")
    memory.put(ChatMessage(role="user", content="I bought a bike yesterday."))
    [bought] = space.memories()
    assert (str(bought.told_at.date()), str(bought.valid)) == ("2026-02-10", "2026-02-09")

    assert "2026-02-12" in words(RemanenceMemory(space, now="2026-02-12").get("What did I buy yesterday?"))
    memory.now = "2026-03-01"
    memory.put(ChatMessage(role="user", content="I sold it."))
    assert [str(each.told_at.date()) for each in space.memories()] == ["2026-02-10", "2026-03-01"]
    with pytest.raises(ValidationError, match="now='the day after never'"):
        RemanenceMemory(space, now="the day after never")


def test_its_signature_names_its_options() -> None:
    """Those of the class, and where the space is; not the fields that it is serialised by."""
    names = set(signature(RemanenceMemory).parameters)

    assert {"space", "session_id", "location", "path", "shared", "ttl", "token_limit", "now", "keep"} <= names


@pytest.mark.not_remote
def test_a_recall_of_a_closed_space_raises_if_that_is_asked_for(space: remanence.Space) -> None:
    """The recall that fails is logged otherwise."""
    shared = remanence.open(None, space="team")
    memory = RemanenceMemory(space, shared=[shared])
    strict = RemanenceMemory(space, shared=[shared], raise_errors=True)
    shared.close()

    assert memory.get("Where do I live?") == []
    with pytest.raises(remanence.Closed):
        strict.get("Where do I live?")

"""Memory in a real agent: recalled for the call, remembered once, never in the way."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelRetryMiddleware, SummarizationMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_models import WAYS, Actor, Parrot, asked, run, system
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

import remanence
from framed import HOSTILE, recalled
from langchain_remanence import RemanenceMiddleware
from remanence import Closed, InvalidInput, Space
from remanence.text.framing import CLOSE_TAG, OPEN_TAG, PREAMBLE

THREAD: Any = {"configurable": {"thread_id": "t1"}}
LOOK_UP = AIMessage("Let me see.", tool_calls=[{"name": "look_up", "args": {"city": "Porto"}, "id": "c1"}])


@tool
def look_up(city: str) -> str:
    """Look a city up."""
    return f"{city} has six bridges."


@pytest.fixture(params=WAYS)
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Invokes an agent, once on this thread and once on an event loop."""

    def invoke(agent: Any, said: Any, config: Any = None) -> Any:
        given = {"messages": [said]} if isinstance(said, HumanMessage) else said
        return run(request.param, agent, given, config)

    return invoke


def kept(space: Space) -> list[tuple[str | None, str]]:
    """Who said what, in order."""
    return [(memory.observed_by, memory.text) for memory in space.memories()]


def test_what_comes_to_mind_stands_with_the_question_and_nowhere_else(space: Space, ask: Callable[..., Any]) -> None:
    """The model reads it; neither the answer nor the checkpoints of the thread hold it."""
    space.add("Ana lives in Porto.", source="email")
    saver, model = InMemorySaver(), Actor(lines=["In Porto."])
    agent = create_agent(model, middleware=[RemanenceMiddleware(space)], checkpointer=saver, system_prompt="Be brief.")
    answer = ask(agent, "Where does Ana live?", THREAD)

    assert system(model.prompts[0]) == "Be brief."
    assert asked(model.prompts[0]).startswith(f"{OPEN_TAG}\n")
    assert asked(model.prompts[0]).endswith(f"{CLOSE_TAG}\n\nWhere does Ana live?")
    assert recalled(asked(model.prompts[0]))[0]["text"] == "Ana lives in Porto."
    assert [m.text for m in answer["messages"]] == ["Where does Ana live?", "In Porto."]
    assert list(saver.list(None))
    assert not any("Ana lives" in str(saved) for saved in saver.list(None))


def test_both_turns_are_kept_once_over_a_whole_thread(space: Space, ask: Callable[..., Any]) -> None:
    """The state holds the whole thread at every turn; each message is one memory."""
    model = Actor(lines=["Hello Ana.", "In Porto.", "Bye."])
    agent = create_agent(model, middleware=[RemanenceMiddleware(space)], checkpointer=InMemorySaver())
    for said in ("I am Ana.", "Where do I live?", "Bye."):
        ask(agent, said, THREAD)

    assert kept(space) == [
        ("me", "I am Ana."),
        ("assistant", "Hello Ana."),
        ("me", "Where do I live?"),
        ("assistant", "In Porto."),
        ("me", "Bye."),
        ("assistant", "Bye."),
    ]
    assert {memory.source for memory in space.memories()} == {"t1"}


def test_what_stands_in_the_thread_is_not_quoted_as_well(space: Space) -> None:
    """A message that the model sees anyway takes no room from what it has forgotten."""
    space.add("Ana lives in Porto.")
    model = Actor(lines=["Yes."])
    agent = create_agent(model, middleware=[RemanenceMiddleware(space)], checkpointer=InMemorySaver())
    for number in range(5):
        agent.invoke({"messages": [("user", f"Does Ana live in Porto? ({number})")]}, THREAD)
    agent.invoke({"messages": [("user", "Does Ana live in Porto?")]}, {"configurable": {"thread_id": "t2"}})

    assert [m["text"] for m in recalled(asked(model.prompts[4]))] == ["Ana lives in Porto."]
    assert [m["text"] for m in recalled(asked(model.prompts[5]))] == ["Ana lives in Porto."]


def test_a_tool_loop_is_reminded_at_each_step_and_kept_as_one_turn(space: Space, ask: Callable[..., Any]) -> None:
    """Tool calls and their results are not part of the conversation that is remembered."""
    space.add("Ana lives in Porto.")
    model = Actor(lines=[LOOK_UP, "Six."])
    agent = create_agent(model, [look_up], middleware=[RemanenceMiddleware(space)])
    ask(agent, "How many bridges has the city of Ana?")

    assert [recalled(asked(prompt))[0]["text"] for prompt in model.prompts] == ["Ana lives in Porto."] * 2
    assert kept(space)[1:] == [("me", "How many bridges has the city of Ana?"), ("assistant", "Six.")]


def test_a_model_that_fails_loses_nothing_and_is_kept_once_when_tried_again(
    space: Space, ask: Callable[..., Any]
) -> None:
    """The user's turn is there after the failure; going on with the thread adds only the reply."""
    model = Actor(lines=[RuntimeError("overloaded"), "Hello Ana."])
    agent = create_agent(model, middleware=[RemanenceMiddleware(space)], checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="overloaded"):
        ask(agent, "I am Ana.", THREAD)
    assert kept(space) == [("me", "I am Ana.")]
    ask(agent, None, THREAD)

    assert kept(space) == [("me", "I am Ana."), ("assistant", "Hello Ana.")]


def test_the_same_message_sent_again_is_kept_once(space: Space, ask: Callable[..., Any]) -> None:
    """By its id, as clients do that are not sure whether they got through."""
    agent = create_agent(Actor(lines=[RuntimeError("down"), "Hello."]), middleware=[RemanenceMiddleware(space)])
    with pytest.raises(RuntimeError, match="down"):
        ask(agent, HumanMessage("I am Ana.", id="m1"), THREAD)
    ask(agent, HumanMessage("I am Ana.", id="m1"), THREAD)

    assert kept(space) == [("me", "I am Ana."), ("assistant", "Hello.")]


def test_one_message_id_in_two_threads_is_two_messages(space: Space, ask: Callable[..., Any]) -> None:
    """Clients that count their messages from 1 in each thread lose none."""
    agent = create_agent(Actor(lines=["Hello."]), middleware=[RemanenceMiddleware(space)])
    for thread in ("a", "b"):
        said = HumanMessage(f"Hi from {thread}.", id="m1")
        ask(agent, said, {"configurable": {"thread_id": thread}})

    assert [text for who, text in kept(space) if who == "me"] == ["Hi from a.", "Hi from b."]


def test_a_retried_call_is_reminded_once(space: Space, ask: Callable[..., Any]) -> None:
    """Each attempt has one block, whether the retry stands outside of memory or inside."""
    space.add("Ana lives in Porto.")
    for order in (1, -1):
        model = Actor(lines=[RuntimeError("once"), RuntimeError("twice"), "In Porto."])
        retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
        agent = create_agent(model, middleware=[retry, RemanenceMiddleware(space)][::order])
        ask(agent, "Where does Ana live?")

        assert [asked(prompt).count(OPEN_TAG) for prompt in model.prompts] == [1, 1, 1]


@pytest.mark.run_config
def test_an_interrupted_turn_is_kept_once(space: Space, ask: Callable[..., Any]) -> None:
    """A person is asked in the middle; the run goes on later, and each turn is one memory."""
    model = Actor(lines=[LOOK_UP, "Six."])
    hold = HumanInTheLoopMiddleware(interrupt_on={"look_up": True})
    agent = create_agent(model, [look_up], middleware=[RemanenceMiddleware(space), hold], checkpointer=InMemorySaver())
    ask(agent, "How many bridges has Porto?", THREAD)
    assert kept(space) == [("me", "How many bridges has Porto?")]
    ask(agent, Command(resume={"decisions": [{"type": "approve"}]}), THREAD)

    assert kept(space) == [("me", "How many bridges has Porto?"), ("assistant", "Six.")]


@pytest.mark.run_config
@pytest.mark.parametrize("as_node", [None, "__start__"])
def test_an_edited_message_replaces_its_turn(space: Space, as_node: str | None) -> None:
    """Before the run goes on from its checkpoint, or begins again there; the answer is to the new text."""
    model = Actor(lines=["Noted.", "In Lisbon."])
    memory = RemanenceMiddleware(space)
    agent = create_agent(model, middleware=[memory], checkpointer=InMemorySaver(), interrupt_before=["model"])
    said = HumanMessage("I live in Porto.", id="m1")
    agent.invoke({"messages": [said]}, THREAD)
    assert kept(space) == [("me", "I live in Porto.")]
    agent.update_state(THREAD, {"messages": [HumanMessage("I live in Lisbon.", id="m1")]}, as_node)
    agent.invoke(None, THREAD)
    if as_node:  # which stops before the model again
        agent.invoke(None, THREAD)

    assert kept(space) == [("me", "I live in Lisbon."), ("assistant", "Noted.")]
    assert "Porto" not in asked(model.prompts[0])


def test_a_closed_space_is_logged_in_a_line_or_raises(caplog: pytest.LogCaptureFixture) -> None:
    """As asked for: an agent goes on without its memory, or does not answer."""
    with remanence.open(None) as space:
        forgetful = create_agent(Actor(lines=["Hi."]), middleware=[RemanenceMiddleware(space)])
        strict = create_agent(Actor(lines=["Hi."]), middleware=[RemanenceMiddleware(space, raise_errors=True)])

    assert forgetful.invoke({"messages": [("user", "Where do I live?")]})["messages"][-1].text == "Hi."
    assert caplog.records
    assert all(record.exc_info in (None, False) and "closed" in record.message for record in caplog.records)
    with pytest.raises(Closed):
        strict.invoke({"messages": [("user", "Where do I live?")]})


def test_summaries_are_not_what_somebody_said(space: Space) -> None:
    """LangChain's summary stands in the thread as a message of the user, and is not remembered."""
    model = Actor(lines=["Hello.", "Fine."])
    shorten = SummarizationMiddleware(Actor(lines=["SUMMARY"]), trigger=("messages", 3), keep=("messages", 1))
    agent = create_agent(model, middleware=[shorten, RemanenceMiddleware(space)], checkpointer=InMemorySaver())
    for said in ("I am Ana.", "How are you?", "And now?"):
        answer = agent.invoke({"messages": [("user", said)]}, THREAD)

    assert any("SUMMARY" in m.text for m in answer["messages"])
    assert [text for _, text in kept(space)] == ["I am Ana.", "Hello.", "How are you?", "Fine.", "And now?", "Fine."]


def test_a_summary_before_a_turn_is_no_part_of_it(space: Space) -> None:
    """As a thread stands that failed after it was shortened: only what the user said is kept and asked."""
    space.add("Ana lives in Porto.")
    summary = HumanMessage("Summary: tea.", additional_kwargs={"lc_source": "summarization"})
    agent = create_agent(Actor(lines=["In Porto."]), middleware=[RemanenceMiddleware(space)])
    agent.invoke({"messages": [summary, HumanMessage("Where does Ana live?")]})

    assert [text for _, text in kept(space)][1:] == ["Where does Ana live?", "In Porto."]


def test_recalled_text_is_not_remembered_again(space: Space, ask: Callable[..., Any]) -> None:
    """Not from a model that repeats its prompt, and not from one whose answer is the memory itself."""
    space.add("Ana lives in Porto, near the river.")
    parrot = create_agent(Parrot(), middleware=[RemanenceMiddleware(space)])
    assert "Ana lives in Porto" in ask(parrot, "Where does Ana live?")["messages"][-1].text
    echo = create_agent(Actor(lines=["ana lives in Porto,\n near the river."]), middleware=[RemanenceMiddleware(space)])
    ask(echo, "Tell me where Ana lives.")

    assert [text for _, text in kept(space) if "ana lives in porto" in text.lower()] == [
        "Ana lives in Porto, near the river."
    ]
    assert not any(OPEN_TAG in text for _, text in kept(space))


def test_the_block_keeps_to_its_limits(space: Space) -> None:
    """At most so many tokens, by the caller's own count; everything where there is room for it."""
    space.add_many([{"text": f"Ana owns book number {number}."} for number in range(30)])

    def prompt(**options: Any) -> str:
        model = Actor(lines=["Many."])
        middleware = RemanenceMiddleware(space, keep=None, **options)
        create_agent(model, middleware=[middleware]).invoke({"messages": [("user", "Which books has Ana?")]})
        return asked(model.prompts[0]).removesuffix("Which books has Ana?").strip()

    assert len(recalled(prompt())) == len(recalled(prompt(max_tokens=None))) == 30
    few = prompt(max_tokens=150, count_tokens=lambda text: len(text.split()))
    assert 1 < len(recalled(few)) < 30
    assert len(few.split()) <= 150
    assert prompt(max_tokens=10) == prompt(min_score=1.0) == ""


def test_a_system_message_made_of_blocks_keeps_them(space: Space) -> None:
    """Marks for a provider's cache stay where they were; the memories come after."""
    space.add("Ana lives in Porto.")
    model, mark = (Actor(lines=["Yes."]), {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}})
    middleware = RemanenceMiddleware(space, place="system")
    agent = create_agent(model, middleware=[middleware], system_prompt=SystemMessage([mark]))
    agent.invoke({"messages": [("user", "Where does Ana live?")]})

    first, second = model.prompts[0][0].content
    assert first == mark
    assert recalled(second["text"])[0]["text"] == "Ana lives in Porto."


def test_a_message_without_words_recalls_and_keeps_nothing(space: Space, ask: Callable[..., Any]) -> None:
    """A picture alone has nothing to look up."""
    space.add("Ana lives in Porto.")
    model = Actor(lines=["A cat."])
    picture = HumanMessage([{"type": "image", "url": "https://example.com/cat.png"}])
    ask(create_agent(model, middleware=[RemanenceMiddleware(space)]), picture)

    assert system(model.prompts[0]) == ""
    assert kept(space)[1:] == [("assistant", "A cat.")]


def test_what_a_user_says_is_kept_to_the_letter(space: Space) -> None:
    """Also when it looks like a block of ours."""
    said = f"What does {OPEN_TAG} mean in my prompt?"
    create_agent(Actor(lines=["Hm."]), middleware=[RemanenceMiddleware(space)]).invoke({"messages": [("user", said)]})

    assert kept(space)[0] == ("me", said)


def test_what_cannot_be_kept_as_it_is_is_kept_nearly_so(space: Space) -> None:
    """A NUL byte in a message does not cost the memory of it."""
    create_agent(Actor(lines=["Odd."]), middleware=[RemanenceMiddleware(space)]).invoke(
        {"messages": [("user", "I am \x00 Ana.")]}
    )
    assert kept(space)[0] == ("me", "I am \N{REPLACEMENT CHARACTER} Ana.")


def test_an_agent_whose_memory_is_down_answers_and_says_so_in_the_log(
    space: Space, ask: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Each thing that could not be done is a warning of one line, with its cause."""
    agent = create_agent(Actor(lines=["Hello Ana."]), middleware=[RemanenceMiddleware(space)])
    space.close()
    with caplog.at_level(logging.WARNING, "langchain_remanence"):
        answer = ask(agent, "I am Ana.")

    assert answer["messages"][-1].text == "Hello Ana."
    said = [record for record in caplog.records if record.name.startswith("langchain_remanence")]
    assert {record.args[0] for record in said if isinstance(record.args, tuple)} == {"remember", "recall"}
    assert all("memory failed" in record.message and "was closed" in record.message for record in said)
    assert not any(record.exc_info for record in said)


def test_a_count_that_fails_does_not_cost_the_answer(
    space: Space, ask: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Counting tokens is somebody else's code too."""

    def broken(text: str) -> int:
        raise ConnectionError("no route")

    space.add("Ana lives in Porto.")
    agent = create_agent(Actor(lines=["Hm."]), middleware=[RemanenceMiddleware(space, count_tokens=broken)])

    assert ask(agent, "Where does Ana live?")["messages"][-1].text == "Hm."
    assert "could not recall" in caplog.text


def test_a_missing_signal_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """An answer made with less is never taken for a full one."""

    def broken(texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no route")

    with remanence.open(None, embedder=broken) as space:
        space.add("Ana lives in Porto.")
        model = Actor(lines=["In Porto."])
        create_agent(model, middleware=[RemanenceMiddleware(space)]).invoke(
            {"messages": [("user", "Where does Ana live?")]}
        )

    assert recalled(asked(model.prompts[0]))[0]["text"] == "Ana lives in Porto."
    assert any("without the signal 'vectors'" in record.message for record in caplog.records)


async def test_the_loop_is_never_blocked(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under `ainvoke`, every call to the space is made from another thread."""
    space.add("Ana lives in Porto.")
    seen: dict[str, set[bool]] = {"recall": set(), "add_turns": set(), "touch": set()}
    for verb in seen:
        owner: Any = Space
        method = getattr(owner, verb)

        def noted(self: Any, *args: Any, verb: str = verb, method: Any = method, **options: Any) -> Any:
            seen[verb].add(threading.current_thread() is threading.main_thread())
            return method(self, *args, **options)

        monkeypatch.setattr(owner, verb, noted)
    agent = create_agent(Actor(lines=["In Porto."]), middleware=[RemanenceMiddleware(space, reinforce=True)])
    await agent.ainvoke({"messages": [("user", "Where does Ana live?")]})

    assert seen == {"recall": {False}, "add_turns": {False}, "touch": {False}}


def test_only_the_model_s_words_are_streamed(space: Space) -> None:
    """Neither hook puts anything into the token stream."""
    space.add("Ana lives in Porto.")
    agent = create_agent(Actor(lines=["In Porto."]), middleware=[RemanenceMiddleware(space)])
    chunks = agent.stream({"messages": [("user", "Where does Ana live?")]}, stream_mode="messages")

    assert "".join(chunk.text for chunk, _ in chunks) == "In Porto."


def test_two_of_them_need_two_names(space: Space) -> None:
    """One for the user, one that the whole team shares, read only."""
    ours, team = space.child("users", "ana"), space.child("team")
    ours.add("Ana lives in Porto.")
    team.add("Ana leads the bridge team.")
    model = Actor(lines=["Hello."])
    both = [RemanenceMiddleware(ours), RemanenceMiddleware(team, name="TeamMemory", keep=None)]
    create_agent(model, middleware=both).invoke({"messages": [("user", "Who is Ana?")]})

    prompt = asked(model.prompts[0])
    assert prompt.count(OPEN_TAG) == 2
    assert "Ana lives in Porto." in prompt
    assert "Ana leads the bridge team." in prompt
    assert (ours.count(), team.count()) == (3, 1)


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": -1},
        {"max_tokens": True},
        {"max_tokens": "many"},
        {"min_score": 2},
        {"min_score": "high"},
        {"user_key": " "},
        {"user_key": 7},
        {"extract": True, "keep": None},
        {"extract": True},  # the space has no language model
        {"briefing": -1},
        {"keep": "some"},
        {"place": "top"},
        {"count_tokens": "gpt-4"},
        {"space": "./memory"},
        {"space": Space},
        {"space": remanence.open(None).as_of("2026-01-01")},
        {"space": lambda runtime: None, "user_key": "user_id"},
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_made(space: Space, options: dict[str, Any]) -> None:
    """Not in the middle of somebody's conversation."""
    with pytest.raises(InvalidInput):
        RemanenceMiddleware(**{"space": space, **options})


class City(BaseModel):
    """A city."""

    city: str
    country: str


def test_a_reply_that_is_structured_output_is_remembered(space: Space, ask: Callable[..., Any]) -> None:
    """Although the model gives it as the call of a tool."""
    call = {"name": "City", "args": {"city": "Porto", "country": "Portugal"}, "id": "1"}
    model = Actor(lines=[AIMessage("", tool_calls=[call])])
    agent = create_agent(model, middleware=[RemanenceMiddleware(space)], response_format=ToolStrategy(City))
    ask(agent, {"messages": [("user", "Where is the bridge?")]})

    assert [memory.text for memory in space.memories()] == [
        "Where is the bridge?",
        '{"city": "Porto", "country": "Portugal"}',
    ]


@pytest.mark.slow
def test_a_message_over_the_limit_is_one_warning(
    space: Space, ask: Callable[..., Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its beginning is remembered, and recalled for. The limit is lower here: a text of the real length takes
    seconds."""
    for module in ("remanence.adapters.chat_sessions", "langchain_remanence.middleware"):
        monkeypatch.setattr(f"{module}.MAX_TEXT_LENGTH", 20_000)
    agent = create_agent(Actor(lines=["Noted."]), middleware=[RemanenceMiddleware(space, reinforce=True)])
    ask(agent, {"messages": [("user", "I am allergic to peanuts. " + "x" * 20_000)]})

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        "a message is too long: its first 20,000 characters are remembered"
    ]
    assert any(memory.text.startswith("I am allergic") for memory in space.memories())


@pytest.mark.parametrize("place", ["message", "tool"])
def test_memories_may_stand_beside_the_question(space: Space, place: Any) -> None:
    """What comes before the question stays the same from call to call, so that a provider's cache applies."""
    space.add("Ana lives in Porto.")
    model = Actor(lines=["In Porto."])
    middleware = RemanenceMiddleware(space, place=place)
    create_agent(model, middleware=[middleware], system_prompt="Be brief.").invoke(
        {"messages": [("user", "Hello."), ("ai", "Hello!"), ("user", "Where does Ana live?")]}
    )

    prompt = model.prompts[0]
    blocks = [index for index, message in enumerate(prompt) if OPEN_TAG in message.text]
    assert system(prompt) == "Be brief."
    assert [message.type for message in prompt] == (
        ["system", "human", "ai", "human"] if place == "message" else ["system", "human", "ai", "human", "ai", "tool"]
    )
    assert blocks == [3 if place == "message" else 5]
    if place == "tool":
        assert prompt[4].tool_calls[0]["id"] == prompt[5].tool_call_id  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("keep", "stored"),
    [
        ("user", ["I live in Porto.", "Thanks!"]),
        ("facts", ["I live in Porto."]),
        (lambda role, text: role == "assistant", ["Noted.", "You are welcome."]),
        (None, []),
    ],
)
def test_keep_chooses_which_turns_are_stored(space: Space, keep: Any, stored: list[str]) -> None:
    agent = create_agent(
        Actor(lines=["Noted.", "You are welcome."]),
        middleware=[RemanenceMiddleware(space, keep=keep)],
        checkpointer=InMemorySaver(),
    )
    for said in ("I live in Porto.", "Thanks!"):
        agent.invoke({"messages": [("user", said)]}, THREAD)

    assert [text for _, text in kept(space)] == stored


def test_small_talk_reaches_the_model_without_memories(space: Space) -> None:
    space.add_many(["Ana lives in Porto.", "I am allergic to peanuts."])
    model = Actor(lines=["Hello!"] * 3)
    agent = create_agent(model, middleware=[RemanenceMiddleware(space)])
    for said in ("Hi!", "What is 2+2?", "Thanks a lot!"):
        agent.invoke({"messages": [("user", said)]})

    assert [system(prompt) for prompt in model.prompts] == [""] * 3


def test_results_of_tools_are_not_the_turns_before_a_question(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a loop of tool calls the question is understood with what was said before it, at every step."""
    contexts: list[Any] = []
    recall = Space.recall

    def watched(self: Space, query: str, **options: Any) -> Any:
        contexts.append([turn["content"] for turn in options["context"]])
        return recall(self, query, **options)

    monkeypatch.setattr(Space, "recall", watched)
    agent = create_agent(Actor(lines=[LOOK_UP, "Six."]), [look_up], middleware=[RemanenceMiddleware(space)])
    said = [("user", "Let's talk about my sister Ana."), ("ai", "Gladly."), ("user", "How many bridges has her city?")]
    agent.invoke({"messages": said})

    assert len(contexts) == 3, "two calls of the model, and the reply"
    assert contexts == [["Let's talk about my sister Ana.", "Gladly."]] * 3


def test_over_thirty_turns_all_before_the_question_stays_the_same() -> None:
    """To the byte, with a briefing at the start: so a provider's prompt cache covers all but the last two messages.
    When what the briefing states changes, the prompt begins anew, once."""
    with remanence.open(None) as space:
        for number, told in enumerate(("I live in Porto.", "I'm allergic to peanuts.", "My sister Ana is a nurse.")):
            space.add_turns([{"role": "user", "content": told, "conversation": f"before {number}"}], now="2026-05-04")
        model = Actor(lines=["All right."])
        agent = create_agent(
            model,
            middleware=[RemanenceMiddleware(space, briefing=400)],
            checkpointer=InMemorySaver(),
            system_prompt="Be brief.",
        )
        questions = ("What am I allergic to?", "Where do I live?", "Tell me a joke.", "What does Ana do for a living?")
        said = [questions[number % 4] for number in range(30)]
        said[15] = "I have just adopted a grey cat called Mia."
        for text in said:
            agent.invoke({"messages": [("user", text)]}, THREAD)

        prompts = [[str(message.content) for message in prompt] for prompt in model.prompts]
        assert len(prompts) == 30
        assert "Porto" in prompts[0][0]
        for number, (before, after) in enumerate(pairwise(prompts), 1):
            assert after[1 : len(before) - 1] == before[1:-1], "of the turns, only the last one had memories"
            assert (after[0] == before[0]) is (number != 15)
        assert ["Mia" in prompt[0] for prompt in prompts] == [False] * 15 + [True] * 15
        assert sum(OPEN_TAG in prompt[-1] for prompt in prompts) > 15


def test_orders_in_memories_reach_the_model_only_as_data(space: Space) -> None:
    """In a real agent's prompt there is one block, before the user's words, and none in the rules of the agent."""
    space.add_many([{"text": text} for text in HOSTILE])
    model = Actor(lines=["Hello."])
    agent = create_agent(model, middleware=[RemanenceMiddleware(space, max_tokens=None)], system_prompt="Be kind.")
    agent.invoke({"messages": [("user", "Who is Alice?")]})

    prompt = asked(model.prompts[0])
    assert system(model.prompts[0]) == "Be kind."
    assert prompt.startswith(f"{OPEN_TAG}\n{PREAMBLE} Today is ")
    assert prompt.endswith(f"\n{CLOSE_TAG}\n\nWho is Alice?")
    assert (prompt.count("<"), prompt.count(">")) == (2, 2)
    assert {memory["text"] for memory in recalled(prompt)} == set(HOSTILE)
    assert [message.type for message in model.prompts[0]] == ["system", "human"]

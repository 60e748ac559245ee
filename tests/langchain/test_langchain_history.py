"""The transcript of a session, exact and on the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_models import Actor

from chat_session_contract import ChatSessionContract
from langchain_remanence import RemanenceChatMessageHistory, RemanenceStore, forget_user
from remanence import InvalidInput, Space
from remanence.space.facets.audit_facet import AuditView
from remanence.testing import FakeClock
from warm_process import WarmProcess

CALL = {"name": "weather", "args": {"city": "Porto", "days": [1, 2]}, "id": "call-1", "type": "tool_call"}
EVERY_KIND: list[BaseMessage] = [
    SystemMessage("Be kind.", id="s1"),
    HumanMessage("What is the weather in Porto?", id="h1", name="Ana"),
    AIMessage(
        "",
        id="a1",
        tool_calls=[CALL],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m"},
        additional_kwargs={"reasoning": {"deep": [1, None, "x"]}},
    ),
    ToolMessage("", tool_call_id="call-1", status="error", artifact={"rows": [1]}, name="weather"),
    AIMessage([{"type": "text", "text": "Sunny."}, {"type": "image", "url": "https://example.com/sun.png"}]),
    AIMessage([{"type": "image", "url": "https://example.com/sun.png"}]),
    AIMessage("   \n"),
    AIMessage("calls badly", invalid_tool_calls=[{"name": "f", "args": "{", "id": "2", "error": "cut"}]),
    HumanMessage("a NUL \x00 byte"),
    HumanMessage("日本語 🌦️ <b>&\u2028"),
    ChatMessage("Once upon a time", role="narrator"),
    FunctionMessage("42", name="answer"),
    AIMessageChunk("half a w"),
    HumanMessage("What is the weather in Porto?", id="h1", name="Ana"),
]


@pytest.fixture
def chat(space: Space) -> RemanenceChatMessageHistory:
    return RemanenceChatMessageHistory(space, "monday")


@pytest.mark.parametrize("message", EVERY_KIND, ids=lambda message: f"{message.type}: {message.content!r:.20}")
def test_each_message_comes_back_as_it_was(chat: RemanenceChatMessageHistory, message: BaseMessage) -> None:
    """Type, content blocks, id, tool calls and everything else."""
    chat.add_message(message)

    (back,) = chat.messages
    assert type(back) is type(message)
    assert back.model_dump() == message.model_dump()


def test_a_transcript_is_in_order_and_whole(reopen: Callable[..., Space]) -> None:
    """The same words twice are two messages; also when the folder is opened again."""
    chat = RemanenceChatMessageHistory(reopen(), "monday")
    chat.add_messages(EVERY_KIND[:7])
    chat.add_messages(EVERY_KIND[7:])

    again = RemanenceChatMessageHistory(reopen(), "monday")
    assert [m.model_dump() for m in again.messages] == [m.model_dump() for m in EVERY_KIND]


def test_what_was_said_can_be_recalled(space: Space, chat: RemanenceChatMessageHistory) -> None:
    """Messages are memories of the space, with speaker and session; wordless ones have a name for it. What only asks
    comes after what tells."""
    chat.add_messages(EVERY_KIND)

    found = [hit.memory for hit in space.recall("weather in Porto?", limit=3)]
    assert [(memory.text[:20], memory.observed_by) for memory in found] == [
        ('[calls weather({"cit', "assistant"),
        *[("What is the weather ", "Ana")] * 2,
    ]
    assert {memory.source for memory in found} == {"monday"}
    texts = [memory.text for memory in space.memories()]
    assert '[calls weather({"city": "Porto", "days": [1, 2]})]' in texts
    assert texts.count("[no text]") == 2
    assert "[image]" in texts


def test_the_words_of_a_message_are_written_down_once(space: Space, chat: RemanenceChatMessageHistory) -> None:
    """The text of its memory is its content: whoever erases the one has erased the other."""
    chat.add_user_message("I am allergic to hazelnuts.")
    (memory,) = space.memories()

    assert memory.text == chat.messages[0].text
    assert "hazelnuts" not in str(memory.meta)


def test_sessions_do_not_see_each_other(space: Space, chat: RemanenceChatMessageHistory) -> None:
    """Each id is a transcript of its own; and other memories are in none."""
    chat.add_user_message("Hello on Monday.")
    space.add_turns([{"role": "user", "content": "Said elsewhere.", "conversation": "monday"}])
    tuesday = RemanenceChatMessageHistory(space, "tuesday")
    tuesday.add_user_message("Hello on Tuesday.")

    assert [m.text for m in chat.messages] == ["Hello on Monday."]
    assert [m.text for m in tuesday.messages] == ["Hello on Tuesday."]


def test_what_is_cleared_is_hidden_and_the_past_keeps_it(
    space: Space, clock: FakeClock, chat: RemanenceChatMessageHistory
) -> None:
    """Only this session's, and it can be filled anew."""
    other = RemanenceChatMessageHistory(space, "tuesday")
    for session in (chat, other):
        session.add_user_message("I am allergic to hazelnuts.")
    before = clock.now()
    clock.advance(hours=1)
    chat.clear()
    chat.add_user_message("Hello again.")

    assert [m.text for m in chat.messages] == ["Hello again."]
    assert len(other.messages) == 1
    assert len(space.recall("allergic to hazelnuts", min_score=0.5)) == 1
    past = RemanenceChatMessageHistory(space.as_of(before), "monday")
    assert [m.text for m in past.messages] == ["I am allergic to hazelnuts."]
    with pytest.raises(InvalidInput, match="view of the past"):
        past.add_user_message("Too late.")


def test_a_forgotten_message_leaves_the_transcript_and_comes_back_to_its_place(
    space: Space, chat: RemanenceChatMessageHistory
) -> None:
    """Forgetting is the space's; the transcript follows."""
    chat.add_messages([HumanMessage(text) for text in ("one", "two", "three")])
    two = chat.stored_memories()[1]

    space.forget(two.id)
    assert [m.text for m in chat.messages] == ["one", "three"]
    space.unforget(two.id)
    assert [m.text for m in chat.messages] == ["one", "two", "three"]
    space.erase(two.id)
    assert [m.text for m in chat.messages] == ["one", "three"]


def test_the_list_is_the_caller_s_own(chat: RemanenceChatMessageHistory) -> None:
    """Agents edit what they are given."""
    chat.add_user_message("Hello.")
    chat.messages[0].content = "changed"
    chat.messages.clear()

    assert [m.text for m in chat.messages] == ["Hello."]


def test_threads_that_write_at_once_lose_nothing(space: Space) -> None:
    """Each batch stays together and in order."""

    def talk(who: int) -> None:
        for number in range(10):
            said = [HumanMessage(f"{who} asks {number}"), AIMessage(f"{who} hears {number}")]
            RemanenceChatMessageHistory(space, "monday").add_messages(said)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(talk, range(6)))

    said = [m.text for m in RemanenceChatMessageHistory(space, "monday").messages]
    assert len(said) == 120
    for who in range(6):
        mine = [text for text in said if text.startswith(f"{who} ")]
        assert mine == [f"{who} {verb} {number}" for number in range(10) for verb in ("asks", "hears")]
    assert all(said[at + 1] == said[at].replace("asks", "hears") for at in range(0, 120, 2))


TALK = """
import os, sys
import remanence
from remanence.testing import HashingEmbedder
from langchain_remanence import RemanenceChatMessageHistory

other = os.fork()
name = "ana" if other else "bob"
with remanence.open(sys.argv[1], embedder=HashingEmbedder()) as space:
    chat = RemanenceChatMessageHistory(space, "monday")
    for number in range(20):
        chat.add_user_message(f"{name} {number}")
if other:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]))
"""


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing(home: Path, reopen: Callable[..., Space]) -> None:
    """And a reader who was there before sees what they wrote."""
    chat = RemanenceChatMessageHistory(reopen(), "monday")
    assert chat.messages == []
    writers = WarmProcess(TALK, home)
    _, errors = writers.communicate()
    assert writers.returncode == 0, errors

    said = [str(m.text) for m in chat.messages]
    for name in ("ana", "bob"):
        assert [text for text in said if name in text] == [f"{name} {number}" for number in range(20)]
    assert len(said) == 40


@pytest.mark.not_remote
def test_reading_does_not_read_what_was_read(
    space: Space, chat: RemanenceChatMessageHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the ledger, a new history of the same space asks only for the lines since."""
    chat.add_messages([HumanMessage(f"message {number}") for number in range(50)])
    seen: list[int] = []
    changes = AuditView.changes
    monkeypatch.setattr(
        AuditView,
        "changes",
        lambda self, *, after_position: (
            seen.append(change.position) or change for change in changes(self, after_position=after_position)
        ),
    )
    for number in range(5):
        fresh = RemanenceChatMessageHistory(space, "monday")
        fresh.add_user_message(f"and {number}")
        assert len(fresh.messages) == 51 + number

    assert len(seen) == len(set(seen)) == 55


def test_the_last_few_can_be_had(chat: RemanenceChatMessageHistory) -> None:
    """For a window over a long transcript."""
    chat.add_messages([HumanMessage(str(number)) for number in range(1, 10)])

    assert [memory.text for memory in chat.stored_memories(last=2)] == ["8", "9"]
    assert chat.stored_memories(last=0) == []
    assert len(chat.stored_memories(last=100)) == 9


def test_an_artifact_made_of_documents_is_kept_as_data(chat: RemanenceChatMessageHistory) -> None:
    """As retrieval tools leave them; objects of LangChain become dicts."""
    chat.add_message(ToolMessage("Porto", tool_call_id="1", artifact=[Document("Porto", id="d1")]))

    (back,) = chat.messages
    assert isinstance(back, ToolMessage)
    assert back.artifact[0]["page_content"] == "Porto"


@pytest.mark.parametrize("artifact", [b"\x89PNG\xff\x00", b"plain", {"files": [b"\xff", {"name": "cat.png"}]}])
def test_bytes_come_back_as_bytes(chat: RemanenceChatMessageHistory, artifact: Any) -> None:
    """As tools that make pictures and files leave them."""
    chat.add_message(ToolMessage("A picture.", tool_call_id="1", artifact=artifact))

    (back,) = chat.messages
    assert isinstance(back, ToolMessage)
    assert back.artifact == artifact


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("x", additional_kwargs={"a": object()}),
        HumanMessage("x", additional_kwargs={"a": CIRCLE}),
        ToolMessage("x", tool_call_id="1", artifact=b"\xff" * 2_000_000),
        HumanMessage("half \ud83d of a smile"),
    ],
)
def test_what_cannot_be_written_down_is_refused_whole(chat: RemanenceChatMessageHistory, message: BaseMessage) -> None:
    """No message of the batch is kept, and the error says why."""
    with pytest.raises(InvalidInput, match="as JSON"):
        chat.add_messages([HumanMessage("fine"), message])
    assert chat.messages == []


@pytest.mark.parametrize("session_id", ["", "  ", None, 7])
def test_a_session_needs_a_name(space: Space, session_id: Any) -> None:
    """A blank one would be everybody's."""
    with pytest.raises(InvalidInput, match="not the name of a session"):
        RemanenceChatMessageHistory(space, session_id)


@pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")
async def test_a_runnable_with_message_history_keeps_its_sessions(space: Space) -> None:
    """LangChain's own wrapper, sync and async, with a history made anew for every call."""
    model = Actor(lines=["one", "two", "three"])
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    chain = RunnableWithMessageHistory(
        prompt | model,
        lambda session_id: RemanenceChatMessageHistory(space, session_id),
        input_messages_key="input",
        history_messages_key="history",
    )
    monday: Any = {"configurable": {"session_id": "monday"}}
    chain.invoke({"input": "first"}, monday)
    await chain.ainvoke({"input": "second"}, monday)
    chain.invoke({"input": "elsewhere"}, {"configurable": {"session_id": "tuesday"}})

    said = [(m.type, m.text) for m in await RemanenceChatMessageHistory(space, "monday").aget_messages()]
    assert said == [("human", "first"), ("ai", "one"), ("human", "second"), ("ai", "two")]
    assert [m.text for m in model.prompts[1]] == ["first", "one", "second"]
    assert [m.text for m in model.prompts[2]] == ["elsewhere"]


async def test_the_async_verbs_do_the_same(chat: RemanenceChatMessageHistory) -> None:
    """Many at once, then all cleared."""
    await asyncio.gather(*(chat.aadd_messages([HumanMessage(f"n{number}")]) for number in range(20)))
    assert len(await chat.aget_messages()) == 20

    await chat.aclear()
    assert await chat.aget_messages() == []


class TestSessions(ChatSessionContract):
    every_kind = EVERY_KIND
    said = HumanMessage

    def adapter(self, space: Space, **options: Any) -> RemanenceChatMessageHistory:
        return RemanenceChatMessageHistory(space, "monday", **options)

    def add(self, adapter: RemanenceChatMessageHistory, session: str, *messages: BaseMessage) -> None:
        RemanenceChatMessageHistory(adapter.space, session, ttl=adapter.ttl).add_messages(messages)

    def messages(self, adapter: RemanenceChatMessageHistory, session: str) -> list[BaseMessage]:
        return RemanenceChatMessageHistory(adapter.space, session).messages

    def earlier_messages(self, space: Space, session: str, moment: datetime) -> list[BaseMessage]:
        return RemanenceChatMessageHistory(space.as_of(moment), session).messages


def test_a_history_goes_on_under_its_new_name(space: Space, chat: RemanenceChatMessageHistory) -> None:
    """What was said before has the new one as its source."""
    chat.add_user_message("What is the weather in Porto?")
    chat.rename_session("monday", "holiday")
    chat.add_user_message("And then?")

    assert chat.session_id == "holiday"
    assert [message.text for message in chat.messages] == ["What is the weather in Porto?", "And then?"]
    assert {memory.source for memory in space.memories()} == {"holiday"}


def test_everything_of_one_user_is_erased(space: Space) -> None:
    """The history, the store and all else below the user's space; others keep theirs."""
    for user in ("bob", "ana"):
        users = space.child("users", user)
        RemanenceChatMessageHistory(users, "monday").add_user_message(f"{user} likes tea.")
        RemanenceStore(users).put(("drinks",), "tea", {"text": f"{user} drinks tea."})
    chat, store = (
        RemanenceChatMessageHistory(space.child("users", "bob"), "monday"),
        RemanenceStore(space.child("users", "bob")),
    )
    assert chat.messages
    assert store.get(("drinks",), "tea")
    certificate = forget_user(space, "bob")
    assert len(certificate) == 2
    assert chat.messages == []
    assert store.get(("drinks",), "tea") is None
    assert {name.split("/")[2] for name in space.spaces()} == {"ana"}
    with pytest.raises(InvalidInput, match="user_id is empty"):
        forget_user(space, " ")

"""The two chat stores: what differs from other stores is that the past is still there."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

import remanence
from chat_session_contract import ChatSessionContract
from llama_index_remanence import RemanenceAsyncChatStore, RemanenceChatStore, RemanenceMemory
from llamaindex.scripted import assistant, calling, texts, user
from remanence.testing import FakeClock
from warm_process import WarmProcess

MESSAGES = [
    user("Hello."),
    assistant(None),
    assistant(""),
    calling("weather", city="Porto"),
    ChatMessage(role="tool", content="rain", additional_kwargs={"tool_call_id": "1", "nested": {"a": [1, None]}}),
    ChatMessage(role="user", blocks=[TextBlock(text="See"), ImageBlock(url="https://example.com/cat.png")]),
    ChatMessage(role="assistant", blocks=[ThinkingBlock(content="Hm."), TextBlock(text="A cat.")]),
    ChatMessage(role="system", content="Ünïcode 漢字 \0 and half a pair \ud83d"),
]


def test_every_kind_of_message_comes_back_as_it_was(space: remanence.Space) -> None:
    """Tools, pictures, thoughts, nothing at all, and what UTF-8 cannot write."""
    store = RemanenceChatStore(space)
    store.set_messages("s", MESSAGES)

    assert store.get_messages("s") == MESSAGES


def test_a_picture_that_no_record_could_hold_comes_back_whole(space: remanence.Space) -> None:
    """It is kept in pieces, and leaves with all of them."""
    picture = ChatMessage(role="user", blocks=[TextBlock(text="See:"), ImageBlock(image=b"\x89PNG" * 500_000)])
    store = RemanenceChatStore(space)
    store.set_messages("s", [user("Before."), picture, user("After.")])

    assert store.get_messages("s") == [user("Before."), picture, user("After.")]
    assert RemanenceChatStore(space).get_messages("s")[1] == picture

    assert store.delete_message("s", 1) == picture
    assert [m.text for m in space.memories() if m.turn] == ["Before.", "After."]

    store.add_message("s", picture)
    piece = next(memory for memory in space.memories() if "part 2" in memory.text)
    space.erase(piece.id)
    assert texts(RemanenceChatStore(space).get_messages("s")) == ["Before.", "After."], "erased in part is gone"


def test_a_thing_that_json_cannot_hold_is_kept_as_its_words(space: remanence.Space) -> None:
    """A message is not lost over what a provider left in it."""
    store = RemanenceChatStore(space)
    store.add_message("s", ChatMessage(role="user", content="Hi.", additional_kwargs={"raw": range(3)}))

    assert store.get_messages("s")[0].additional_kwargs == {"raw": "range(0, 3)"}


def test_what_is_deleted_leaves_the_store_and_stays_in_the_past(space: remanence.Space, clock: FakeClock) -> None:
    """One message, a session, a history that was replaced: yesterday has them all."""
    store = RemanenceChatStore(space)
    for key in ("one", "all", "set"):
        store.set_messages(key, [user(f"{key} first"), assistant(f"{key} second")])
    monday = clock.now()
    clock.advance(days=1)

    assert store.delete_last_message("one") == assistant("one second")
    assert store.delete_messages("all") == [user("all first"), assistant("all second")]
    store.set_messages("set", [user("another")])

    assert [texts(store.get_messages(key)) for key in ("one", "all", "set")] == [["one first"], [], ["another"]]
    assert store.get_keys() == ["one", "set"]
    then = store.as_of(monday)
    assert then.get_keys() == ["one", "all", "set"]
    for key in ("one", "all", "set"):
        assert texts(then.get_messages(key)) == [f"{key} first", f"{key} second"]
    assert not space.recall("all second", history=False, min_score=0.5)


async def test_the_async_store_keeps_the_past_too(space: remanence.Space, clock: FakeClock) -> None:
    """Whichever way messages left it; and its past cannot be written to either."""
    store = RemanenceAsyncChatStore(space)
    for key in ("oldest", "all", "set"):
        await store.set_messages(key, [user(f"{key} first"), assistant(f"{key} second")])
    monday = clock.now()
    clock.advance(days=1)
    await store.delete_oldest_messages("oldest", 1)
    await store.delete_messages("all")
    await store.set_messages("set", [user("another")])

    then = store.as_of(monday)

    assert await store.get_keys() == ["oldest", "set"]
    for key in ("oldest", "all", "set"):
        assert texts(await then.get_messages(key)) == [f"{key} first", f"{key} second"]
    with pytest.raises(remanence.InvalidInput, match="view of the past"):
        await then.add_message("s", user("Hello."))


def test_erasing_a_renamed_session_leaves_the_past_of_another_one(space: remanence.Space, clock: FakeClock) -> None:
    """One that had the name after it and was deleted since."""
    store = RemanenceChatStore(space)
    store.add_message("monday", user("I am allergic to nuts."))
    store.rename_session("monday", "holiday")
    store.add_message("monday", user("Good morning."))
    before = clock.now()
    clock.advance(hours=1)
    store.delete_session("monday")
    store.erase_session("holiday")

    then = store.as_of(before)
    assert (then.get_keys(), texts(then.get_messages("monday"))) == (["monday"], ["Good morning."])


def test_a_session_under_a_name_that_became_free_has_had_no_other_name(
    space: remanence.Space, clock: FakeClock
) -> None:
    """Its erasure leaves the past of the session that had the name before, whose own goes through all its names."""
    store = RemanenceChatStore(space)
    store.add_message("sunday", user("I am allergic to nuts."))
    before = clock.now()
    clock.advance(hours=1)
    store.rename_session("sunday", "monday")
    store.rename_session("monday", "holiday")
    store.add_message("monday", user("Good morning."))

    store.erase_session("monday")
    assert store.get_keys() == ["holiday"]
    assert texts(store.as_of(before).get_messages("sunday")) == ["I am allergic to nuts."]
    store.erase_session("holiday")
    assert (space.count(), list(space.memories("forgotten"))) == (0, [])


def test_the_past_cannot_be_written_to(space: remanence.Space) -> None:
    """And says where to write."""
    then = RemanenceChatStore(space).as_of("2026-01-01")

    with pytest.raises(remanence.InvalidInput, match="view of the past"):
        then.add_message("s", user("Hello."))


def test_a_history_that_only_grew_costs_what_is_new(space: remanence.Space) -> None:
    """Some callers hand over all of it each turn."""
    store = RemanenceChatStore(space)
    history = [user(f"message {number}") for number in range(20)]
    for length in range(1, 21):
        store.set_messages("s", history[:length])

    assert store.get_messages("s") == history
    assert len(list(space.audit.changes())) == 21, "one line for the session and one for each message"


def test_other_memories_in_the_space_are_nobodys_messages(space: remanence.Space) -> None:
    """A space may hold more than a transcript."""
    store = RemanenceChatStore(space)
    fact = space.add("Alice lives in Porto.")
    space.add_turns([{"role": "user", "content": "I am no message.", "conversation": "s"}])
    store.add_message("s", user("I am."))
    space.forget(fact.id)

    assert texts(store.get_messages("s")) == ["I am."]
    assert store.get_keys() == ["s"]


def test_a_message_forgotten_or_restored_by_hand_leaves_and_comes_back(space: remanence.Space) -> None:
    """The ledger is the truth, and the store follows it."""
    store = RemanenceChatStore(space)
    store.set_messages("s", [user("one"), user("two"), user("three")])
    two = next(memory for memory in space.memories() if memory.text == "two")

    space.forget(two.id)
    assert texts(store.get_messages("s")) == ["one", "three"]
    space.unforget(two.id)
    assert texts(store.get_messages("s")) == ["one", "two", "three"]
    space.erase(two.id)
    assert texts(store.get_messages("s")) == ["one", "three"]
    assert texts(store._transcript.all_messages("s")) == ["one", "three"], "also out of what it keeps in mind"
    assert texts(RemanenceChatStore(space).get_messages("s")) == ["one", "three"]


def test_a_message_can_be_put_between_two_any_number_of_times(space: remanence.Space) -> None:
    """Where decimal numbers would run out."""
    store = RemanenceChatStore(space)
    store.set_messages("s", [user("first"), user("last")])
    for number in range(80):
        store.add_message("s", user(str(number)), idx=1)

    middle = [str(number) for number in reversed(range(80))]
    assert texts(store.get_messages("s")) == ["first", *middle, "last"]


@pytest.mark.parametrize("key", ["", "a/b", "ключ", "\0", "\ud83d", "k" * 3_000, " padded "])
def test_any_text_is_a_session(space: remanence.Space, key: str) -> None:
    """What a user id looks like is the application's business."""
    store = RemanenceChatStore(space)
    store.add_message(key, user("Hello."))
    store.add_message(key.strip() + "x", user("Another."))

    assert key in store.get_keys()
    assert texts(store.get_messages(key)) == ["Hello."]


def test_two_stores_on_one_space_agree(space: remanence.Space) -> None:
    """Each follows what the other writes."""
    first, second = RemanenceChatStore(space), RemanenceChatStore(space)
    first.add_message("s", user("one"))
    second.add_message("s", user("two"))
    first.add_message("s", user("three"), idx=0)
    second.delete_message("s", 1)

    assert texts(first.get_messages("s")) == texts(second.get_messages("s")) == ["three", "two"]


async def test_both_contracts_read_one_transcript(space: remanence.Space) -> None:
    """What is archived is out of the sync store's sight, which knows of no such thing."""
    sync, store = RemanenceChatStore(space), RemanenceAsyncChatStore(space)
    sync.set_messages("s", [user("one"), user("two"), user("three")])
    await store.archive_oldest_messages("s", 1)
    sync.add_message("s", user("zero"), idx=0)

    assert texts(sync.get_messages("s")) == ["zero", "two", "three"]
    assert texts(await store.get_messages("s", status=None)) == ["one", "zero", "two", "three"]
    assert texts(await store.get_messages("s", status=MessageStatus.ARCHIVED)) == ["one"]
    await sync.adelete_messages("s")
    assert await store.get_keys() == []


async def test_many_writers_at_once_lose_nothing(space: remanence.Space, at_once: int) -> None:
    """In one session and in many."""
    store = RemanenceAsyncChatStore(space)

    async def write(number: int) -> None:
        await store.add_message("shared", user(f"{number}"))
        await store.add_messages(f"own {number}", [user(f"a{number}"), user(f"b{number}")])

    await asyncio.gather(*(write(number) for number in range(at_once)))

    assert sorted(texts(await store.get_messages("shared")), key=int) == [str(n) for n in range(at_once)]
    for number in range(at_once):
        assert texts(await store.get_messages(f"own {number}")) == [f"a{number}", f"b{number}"]


WRITE = """
import os, sys
from llama_index.core.llms import ChatMessage
from llama_index_remanence import RemanenceChatStore
other = os.fork()
name = "a" if other else "b"
store = RemanenceChatStore(location=sys.argv[1])
for number in range(20):
    store.add_message("shared", ChatMessage(content=f"{name} {number}"))
if other:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]))
"""


@pytest.mark.slow
def test_processes_that_begin_a_session_at_once_share_it(home: Path) -> None:
    """Neither begins it anew over the other's messages."""
    store = RemanenceChatStore(location=home)
    assert store.get_keys() == []
    writers = WarmProcess(WRITE, home)
    _, errors = writers.communicate()
    assert writers.returncode == 0, errors

    got = texts(store.get_messages("shared"))

    assert len(got) == 40
    for name in ("a", "b"):
        assert [text for text in got if (text or "").startswith(name)] == [f"{name} {n}" for n in range(20)]


def test_it_is_the_store_of_a_chat_memory_buffer(home: Path) -> None:
    """As a drop-in, and after a restart."""
    buffer = ChatMemoryBuffer.from_defaults(
        chat_store=RemanenceChatStore(location=home), chat_store_key="s", token_limit=1_000
    )
    buffer.put(user("Hello."))
    buffer.put(assistant("Good day."))

    store = RemanenceChatStore.from_dict(buffer.chat_store.to_dict())
    again = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="s", token_limit=1_000)
    assert texts(again.get()) == ["Hello.", "Good day."]
    again.reset()
    assert buffer.get() == []


async def test_it_is_the_store_of_a_memory_and_takes_its_overflow(space: remanence.Space) -> None:
    """`Memory` archives what no longer fits."""
    store = RemanenceAsyncChatStore(space)
    memory = Memory.from_defaults(
        session_id="s", token_limit=60, chat_history_token_ratio=0.5, token_flush_size=10, chat_store=store
    )
    for number in range(10):
        await memory.aput_messages([user(f"This is question number {number}."), assistant(f"Answer {number}.")])

    every, active = await memory.aget_all(), await memory.aget()
    assert len(every) == 20
    assert 0 < len(active) < 20
    assert every[-len(active) :] == active
    assert texts(await store.get_messages("s", MessageStatus.ARCHIVED)) == texts(every[: -len(active)])


async def test_the_sync_calls_of_memory_work_inside_a_running_loop(space: remanence.Space) -> None:
    """As in a notebook."""
    memory = Memory.from_defaults(session_id="s", chat_store=RemanenceAsyncChatStore(space))
    memory.put(user("Hello."))

    assert texts(memory.get()) == ["Hello."]


def test_a_store_read_back_without_its_space_says_so() -> None:
    """And takes one that is given."""
    with remanence.open(None) as gone:
        written = RemanenceChatStore(gone).to_dict()
    store = RemanenceChatStore.from_dict(written)
    with pytest.raises(remanence.NotFound, match="attach"):
        store.get_keys()

    with remanence.open(None) as other:
        store.attach(other)
        assert store.get_keys() == []


@pytest.mark.parametrize("in_json", [False, True])
def test_llamaindex_reloads_a_buffer_with_it(home: Path, in_json: bool) -> None:
    """`ChatMemoryBuffer.from_dict` and `from_string` know the store by its name, also after the space was closed."""
    with remanence.open(home) as space:
        buffer = ChatMemoryBuffer.from_defaults(chat_store=RemanenceChatStore(space), chat_store_key="monday")
        buffer.put(user("Hello."))
        written = buffer.to_string() if in_json else buffer.to_dict()
    assert isinstance(written, str) is in_json

    again = ChatMemoryBuffer.from_string(written) if isinstance(written, str) else ChatMemoryBuffer.from_dict(written)

    assert isinstance(again.chat_store, RemanenceChatStore)
    assert texts(again.get()) == ["Hello."]
    again.put(assistant("Good morning."))
    assert texts(RemanenceChatStore(location=home).get_messages("monday")) == ["Hello.", "Good morning."]


@pytest.mark.parametrize("options", [{"location": 7}, {"path": "users"}, {"path": 7}, {"path": [7]}])
def test_a_place_that_is_none_is_refused_with_what_to_give(space: remanence.Space, options: dict[str, Any]) -> None:
    """A path that is one text would be a child for each of its letters."""
    given = {"space": space, **options} if "path" in options else options
    with pytest.raises(remanence.InvalidInput, match="Give"):
        RemanenceChatStore(**given)


def test_a_message_that_cannot_be_written_down_is_refused(space: remanence.Space) -> None:
    """By an error of this library; bytes are kept in base64, as LlamaIndex does it."""
    store = RemanenceChatStore(space)
    circle: list[Any] = []
    circle.append(circle)
    for bad in (circle, bytearray(b"\xff")):
        with pytest.raises(remanence.InvalidInput, match="cannot be written as JSON"):
            store.add_message("monday", ChatMessage(role="tool", content="x", additional_kwargs={"raw": bad}))
    store.add_message("monday", ChatMessage(role="tool", content="x", additional_kwargs={"raw": b"\xff"}))

    assert [message.additional_kwargs for message in store.get_messages("monday")] == [{"raw": "/w=="}]


async def test_the_past_can_be_read_in_an_event_loop(space: remanence.Space, clock: FakeClock) -> None:
    store = RemanenceAsyncChatStore(space)
    await store.add_message("monday", user("Good morning."))
    clock.advance(days=1)
    await store.delete_messages("monday")

    assert texts(await (await store.aas_of("2026-05-04T12:00")).get_messages("monday")) == ["Good morning."]


class TestSessions(ChatSessionContract):
    every_kind = MESSAGES
    entries_of_a_session = 1
    make: type[Any] = RemanenceChatStore

    def adapter(self, space: remanence.Space, **options: Any) -> Any:
        return self.make(space, **options)

    def add(self, adapter: Any, session: str, *messages: ChatMessage) -> None:
        for message in messages:
            RemanenceChatStore(adapter.space, ttl=adapter.ttl).add_message(session, message)

    def messages(self, adapter: Any, session: str) -> list[ChatMessage]:
        return RemanenceChatStore(adapter.space).get_messages(session)

    def earlier_messages(self, space: remanence.Space, session: str, moment: datetime) -> list[ChatMessage]:
        return RemanenceChatStore(space).as_of(moment).get_messages(session)

    def said(self, words: str) -> ChatMessage:
        return user(words)


class TestSessionsOfTheAsyncStore(TestSessions):
    make = RemanenceAsyncChatStore

    async def test_a_session_is_erased_without_blocking(self, space: remanence.Space) -> None:
        store = RemanenceAsyncChatStore(space)
        await store.add_message("monday", user("Hello."))
        assert len(await store.aerase_session("monday")) == 2


def test_a_memory_has_a_time_to_live_in_seconds(space: remanence.Space) -> None:
    assert RemanenceMemory(space, ttl=timedelta(minutes=1)).ttl == 60
    with pytest.raises(ValueError, match=r"ttl=.*above 0, or it is more than 1,000 years"):
        RemanenceMemory(space, ttl=0)

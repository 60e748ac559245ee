"""Random operations on our chat stores and on LlamaIndex's own: no difference but the documented ones."""

from __future__ import annotations

import random
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy import select

import remanence
from examples import examples
from llama_index_remanence import RemanenceAsyncChatStore, RemanenceChatStore
from llamaindex.scripted import calling

KEYS = ["a", "b", "c"]
STEPS = 120


def message(dice: random.Random) -> ChatMessage:
    if dice.random() < 0.1:
        return calling("look", at=dice.randint(0, 9))
    role = dice.choice(["user", "assistant", "system", "tool"])
    return ChatMessage(role=role, content=dice.choice([None, "", "same", f"text {dice.random()}"]))


def messages(dice: random.Random, least: int = 0) -> list[ChatMessage]:
    return [message(dice) for _ in range(dice.randint(least, 4))]


def outcome(call: Any, *given: Any) -> Any:
    """What a call gives. SimpleChatStore raises where it takes from an empty list; ours says None."""
    try:
        return call(*given)
    except IndexError:
        return None


@pytest.mark.parametrize("seed", range(examples(3)))
def test_as_simple_chat_store_does(space: remanence.Space, seed: int) -> None:
    """Every method, after every step the same keys in the same order with the same messages."""
    dice = random.Random(seed)
    ours, theirs = RemanenceChatStore(space), SimpleChatStore()
    for _ in range(STEPS):
        key, index = dice.choice(KEYS), dice.randint(-6, 6)
        verb, given = dice.choice(
            [
                ("add_message", (key, message(dice))),
                ("add_message", (key, message(dice))),
                ("add_message", (key, message(dice), index)),
                ("set_messages", (key, messages(dice))),
                ("set_messages", (key, [*theirs.get_messages(key), *messages(dice)])),
                ("delete_message", (key, index)),
                ("delete_last_message", (key,)),
                ("delete_messages", (key,)),
            ]
        )
        same = [list(part) if isinstance(part, list) else part for part in given]
        assert getattr(ours, verb)(*given) == outcome(getattr(theirs, verb), *same), (verb, given)
        assert ours.get_keys() == theirs.get_keys(), (verb, given)
        for each in KEYS:
            assert ours.get_messages(each) == theirs.get_messages(each), (verb, given)
    fresh = RemanenceChatStore(space)
    assert {key: fresh.get_messages(key) for key in fresh.get_keys()} == theirs.store


async def rows_of(store: SQLAlchemyChatStore, key: str) -> list[int]:
    """The row numbers of a session, in order: what its `delete_message` takes."""
    sessions, table = await store._initialize()
    async with sessions() as session:
        query = select(table.c.id).where(table.c.key == key).order_by(table.c.timestamp, table.c.id)
        return [row[0] for row in await session.execute(query)]


@pytest.mark.parametrize("seed", range(examples(1)))
async def test_as_sqlalchemy_chat_store_does(space: remanence.Space, seed: int) -> None:
    """Every method, after every step the same messages under each status."""
    dice = random.Random(seed)
    ours, theirs = RemanenceAsyncChatStore(space), SQLAlchemyChatStore(table_name=f"t{seed}")
    statuses = [MessageStatus.ACTIVE, MessageStatus.ACTIVE, MessageStatus.ARCHIVED]
    for _ in range(STEPS // 3):
        key, number, status = dice.choice(KEYS), dice.randint(0, 4), dice.choice(statuses)
        verb, given = dice.choice(
            [
                ("add_message", (key, message(dice), status)),
                ("add_messages", (key, messages(dice, least=1), status)),
                ("set_messages", (key, messages(dice), status)),
                ("delete_messages", (key, dice.choice([None, *statuses]))),
                ("delete_oldest_messages", (key, number)),
                ("archive_oldest_messages", (key, number)),
                ("delete_message", (key, number)),
            ]
        )
        if verb == "delete_message":
            mine = [row.position for row in ours._transcript.rows(key, archived=None)]
            its = await rows_of(theirs, key)
            assert len(mine) == len(its)
            for line, row in list(zip(mine, its, strict=True))[number : number + 1]:
                assert await ours.delete_message("another", line) is None
                assert await ours.delete_message(key, line) == await theirs.delete_message(key, row)
        else:
            assert await getattr(ours, verb)(*given) == await getattr(theirs, verb)(*given), (verb, given)
        assert sorted(await ours.get_keys()) == sorted(await theirs.get_keys())
        limit, offset = dice.choice([None, 0, 1, 3]), dice.choice([None, 0, 1, 3])
        for each in KEYS:
            for of in (None, MessageStatus.ACTIVE, MessageStatus.ARCHIVED):
                assert await ours.get_messages(each, of) == await theirs.get_messages(each, of), (verb, given)
                assert await ours.count_messages(each, of) == await theirs.count_messages(each, of)
                some = {"status": of, "limit": limit, "offset": offset}
                assert await ours.get_messages(each, **some) == await theirs.get_messages(each, **some)

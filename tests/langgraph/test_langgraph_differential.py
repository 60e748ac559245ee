"""Thousands of random operations, on our store and on LangGraph's own two: no difference but those that the
docstring of RemanenceStore names."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, Op, PutOp, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

import remanence
from examples import examples
from langchain_remanence.store import RemanenceStore

LABELS = ("a", "b", "c", "a b", "ä/ö", '["a"]', "%2F", "🍵", "'; --", "users")
KEYS = ("k1", "k2", "", "a.b", "k 3", "ключ", '"]', "0")
WORDS = ("tea", "coffee", "Porto", "bridge", "winter", "dog")
EVERYTHING = 10_000


@pytest.fixture
def others() -> Iterator[tuple[InMemoryStore, SqliteStore]]:
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    sqlite = SqliteStore(connection)
    sqlite.setup()
    yield InMemoryStore(), sqlite
    connection.close()


@pytest.mark.parametrize("seed", range(examples(1)))
def test_random_batches_answer_alike(
    seed: int, space: remanence.Space, others: tuple[InMemoryStore, SqliteStore]
) -> None:
    """Reads before writes, last put wins, results in order: the same answers from all three."""
    dice = random.Random(seed)
    ours = RemanenceStore(space)
    in_memory, sqlite = others
    compared = 0
    for _ in range(120):
        batch = [operation(dice) for _ in range(dice.randint(1, 20))]
        mine, theirs, third = ours.batch(batch), in_memory.batch(batch), sqlite.batch(batch)
        for op, one, two, three in zip(batch, mine, theirs, third, strict=True):
            compared += 1
            if isinstance(op, ListNamespacesOp):
                # InMemoryStore goes on listing a namespace whose items were all deleted.
                assert sorted(one) == sorted(three), op
                assert set(one) <= set(two), op
            else:
                assert plain(one) == plain(two) == plain(three), op
    assert compared > 1_000


@pytest.mark.parametrize("seed", range(examples(2)))
def test_pages_are_slices_of_the_whole_list(seed: int, space: remanence.Space) -> None:
    """With and without a query, and under a filter: no item twice, none left out, the same order."""
    dice = random.Random(seed)
    store = RemanenceStore(space)
    store.batch([put(dice) for _ in range(120)])
    for query in (None, "tea in Porto"):
        for wanted in (None, {"n": {"$gte": 3}}):
            whole = store.search((), query=query, filter=wanted, limit=EVERYTHING)
            for size in (1, 3, 7):
                pages = [
                    item
                    for offset in range(0, 21, size)
                    for item in store.search((), query=query, filter=wanted, limit=size, offset=offset)
                ]
                assert addresses(pages) == addresses(whole)[: len(pages)]
    recent = store.search((), limit=EVERYTHING)
    assert [item.updated_at for item in recent] == sorted((i.updated_at for i in recent), reverse=True)


def operation(dice: random.Random) -> Op:
    return dice.choice((put, put, delete, get, search, search, list_namespaces))(dice)


def put(dice: random.Random) -> PutOp:
    value: dict[str, Any] = {
        "n": dice.randint(0, 9),
        "text": " ".join(dice.choices(WORDS, k=3)),
        "flag": dice.choice((True, False)),
        "list": dice.choices(WORDS, k=dice.randint(0, 2)),
    }
    if dice.random() < 0.3:
        value["maybe"] = dice.choice((None, "x", 1.5))
    return PutOp(namespace(dice), dice.choice(KEYS), value, index=dice.choice((None, None, False, ["text"])))


def delete(dice: random.Random) -> PutOp:
    return PutOp(namespace(dice), dice.choice(KEYS), None)


def get(dice: random.Random) -> GetOp:
    return GetOp(namespace(dice), dice.choice(KEYS))


def search(dice: random.Random) -> SearchOp:
    """Asks for everything that matches, because the three stores each have an order of their own."""
    return SearchOp(
        namespace_prefix=namespace(dice, least=0),
        filter=dice.choice(
            (
                None,
                {},
                {"n": dice.randint(0, 9)},
                {"n": {"$gt": dice.randint(0, 9)}},
                {"n": {"$gte": 2, "$lt": 7}},
                {"n": {"$ne": 3}, "flag": True},
                {"n": {"$lte": 4.5}},
                {"n": {"$lte": dice.randint(0, 9)}},
                {"flag": {"$eq": False}},
                {"text": "tea tea tea"},
                {"maybe": "x"},
                {"maybe": None},
                {"list": []},
                {"list": ["tea"]},
            )
        ),
        limit=EVERYTHING,
        query=dice.choice((None, "tea", "bridge in Porto")),
    )


def list_namespaces(dice: random.Random) -> ListNamespacesOp:
    paths = [namespace(dice)[:2] for _ in range(dice.randint(0, 2))]
    kinds = ("prefix", "suffix")
    return ListNamespacesOp(
        match_conditions=tuple(
            MatchCondition(kind, tuple("*" if dice.random() < 0.2 else label for label in path))
            for kind, path in zip(kinds, paths, strict=False)
        ),
        max_depth=dice.choice((None, None, 1, 2)),
        limit=EVERYTHING,
    )


def namespace(dice: random.Random, least: int = 1) -> tuple[str, ...]:
    return tuple(dice.choices(LABELS[: dice.choice((3, 10))], k=dice.randint(least, 3)))


def plain(result: Any) -> Any:
    """What a result says, without the times and the scores that each store gives by itself."""
    if isinstance(result, Item) and not isinstance(result, SearchItem):
        return result.namespace, result.key, result.value
    if isinstance(result, list):
        return sorted(json.dumps([i.namespace, i.key, i.value], sort_keys=True) for i in result)
    return result


def addresses(items: list[SearchItem]) -> list[tuple[tuple[str, ...], str]]:
    return [(item.namespace, item.key) for item in items]

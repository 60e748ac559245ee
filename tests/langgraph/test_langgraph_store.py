"""The store of LangGraph, kept in a space."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from pydantic import BaseModel

import remanence
from langchain_remanence.store import RemanenceStore
from remanence.testing import FakeClock, HashingEmbedder
from warm_process import WarmProcess

BOB = ("users", "bob")


def hashed(texts: list[str]) -> list[list[float]]:
    """The embeddings of LangGraph's IndexConfig as a function."""
    return [[float(number) for number in vector] for vector in HashingEmbedder().embed(texts)]


@pytest.fixture
def store(space: remanence.Space, clock: FakeClock) -> RemanenceStore:
    return RemanenceStore(space, clock=clock)


# One item


def test_what_is_put_is_what_is_got(store: RemanenceStore) -> None:
    """Value, key and namespace come back as they were."""
    value = {"text": "Bob drinks tea.", "n": 1, "deep": {"list": [1, None, True]}, "empty": ""}
    store.put(BOB, "tea", value)
    item = store.get(BOB, "tea")

    assert (item.namespace, item.key, item.value) == (BOB, "tea", value)
    assert store.get(BOB, "coffee") is None
    assert store.get(("users",), "tea") is None


def test_an_overwrite_keeps_the_day_of_creation(store: RemanenceStore, clock: FakeClock) -> None:
    """`created_at` is the first put, `updated_at` the last, also of the very same value."""
    store.put(BOB, "tea", {"n": 1})
    born = clock.now()
    later = clock.advance(hours=1)
    store.put(BOB, "tea", {"n": 1})
    item = store.get(BOB, "tea")

    assert (item.created_at, item.updated_at) == (born, later)


def test_a_deleted_item_is_gone_and_may_come_back(store: RemanenceStore, clock: FakeClock) -> None:
    """Deleting twice is fine; what is put again is new."""
    store.put(BOB, "tea", {"n": 1})
    store.delete(BOB, "tea")
    store.delete(BOB, "tea")
    assert store.get(BOB, "tea") is None
    assert store.search(BOB) == []
    assert store.search(BOB, query="tea") == []
    assert store.list_namespaces() == []
    reborn = clock.advance(hours=1)
    store.put(BOB, "tea", {"n": 2})
    item = store.get(BOB, "tea")

    assert (item.value, item.created_at) == ({"n": 2}, reborn)


def test_what_a_caller_does_to_a_value_stays_with_the_caller(store: RemanenceStore) -> None:
    """The store holds its own copy, going in and coming out."""
    value = {"list": [1]}
    store.put(BOB, "tea", value)
    value["list"].append(2)
    first = store.get(BOB, "tea")
    first.value["list"].append(3)
    second = store.search(BOB)[0]
    second.value["list"].append(4)
    third = store.get(BOB, "tea")

    assert third.value == {"list": [1]}


@pytest.mark.parametrize(
    "namespace",
    [("a/b", "c"), ("a", "b/c"), ("ä", "🍵"), (" ", "\n"), ('["a"]',), ("%2F",), ("x" * 2_000,), ("d",) * 60],
)
def test_any_label_that_langgraph_allows_is_a_place_of_its_own(
    store: RemanenceStore, namespace: tuple[str, ...]
) -> None:
    """Labels never run together, however long, deep or odd they are."""
    store.put(namespace, "k", {"text": "the one"})
    for depth in range(1, len(namespace) + 1):
        other = (*namespace[: depth - 1], namespace[depth - 1] + "x")
        store.put(other, "k", {"text": "another one"})

    assert [item.value["text"] for item in store.search(namespace, query="the one")] == ["the one"]
    assert store.get(namespace, "k") is not None
    assert namespace in store.list_namespaces(limit=1_000)


@pytest.mark.parametrize("key", ["", " ", "a.b", "k" * 5_000, '"]', "\n", "🍵"])
def test_any_text_is_a_key(store: RemanenceStore, key: str) -> None:
    """Keys are not names: blank, long and odd ones are kept."""
    store.put(BOB, key, {"n": 1})
    store.put(BOB, key + "2", {"n": 2})

    assert store.get(BOB, key).value == {"n": 1}  # type: ignore[union-attr]


# Refusals


@pytest.mark.parametrize(
    "op",
    [
        PutOp((), "k", {"n": 1}),
        PutOp(("a.b",), "k", {"n": 1}),
        PutOp(("",), "k", None),
        GetOp(("a\0",), "k"),
        GetOp((1,), "k"),  # type: ignore[arg-type]
        SearchOp(("a.b",)),
    ],
)
def test_a_namespace_that_put_refuses_is_refused_in_a_batch_too(store: RemanenceStore, op: Any) -> None:
    """`batch` is not a back door, and what came before it in the batch is not kept either."""
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(BOB, "k", {"n": 1}), op])
    assert store.get(BOB, "k") is None


@pytest.mark.parametrize("value", ["text", 5, ["list"], {"when": object()}, {"n": float("nan")}])
def test_a_value_that_json_cannot_hold_is_refused(store: RemanenceStore, value: Any) -> None:
    """It says so at once, and nothing of the batch is kept."""
    with pytest.raises(ValueError):
        store.batch([PutOp(BOB, "good", {"n": 1}), PutOp(BOB, "bad", value)])
    assert store.get(BOB, "good") is None


def test_an_unknown_operator_is_refused(store: RemanenceStore) -> None:
    """Even when there is no item to hold against it."""
    with pytest.raises(ValueError, match=r"\$in"):
        store.search(BOB, filter={"n": {"$in": [1]}})


def test_what_is_no_operation_is_refused(store: RemanenceStore) -> None:
    """With its value shown."""
    with pytest.raises(ValueError, match="surprise"):
        store.batch(["surprise"])  # type: ignore[list-item]


# Batches


def test_a_batch_reads_before_it_writes(store: RemanenceStore) -> None:
    """Results come in the order of the operations, from the state before; the last put of a key holds."""
    store.put(BOB, "a", {"n": 1})
    results = store.batch(
        [
            PutOp(BOB, "a", {"n": 2}),
            GetOp(BOB, "a"),
            PutOp(BOB, "a", {"n": 3}),
            SearchOp(BOB),
            PutOp(BOB, "b", {"n": 4}),
            PutOp(BOB, "b", None),
            ListNamespacesOp(),
        ]
    )

    assert [results[i] for i in (0, 2, 4, 5)] == [None] * 4
    assert results[1].value == {"n": 1}  # type: ignore[union-attr]
    assert [item.value for item in results[3]] == [{"n": 1}]  # type: ignore[union-attr]
    assert results[6] == [BOB]
    assert store.get(BOB, "a").value == {"n": 3}  # type: ignore[union-attr]
    assert store.get(BOB, "b") is None


@pytest.mark.slow
def test_a_large_batch_is_kept_whole(store: RemanenceStore) -> None:
    """A thousand puts at once, each found again."""
    store.batch([PutOp(BOB, f"k{n}", {"n": n, "text": f"note {n}"}) for n in range(1_000)])

    assert len(store.search(BOB, limit=5_000)) == 1_000
    assert store.search(BOB, filter={"n": {"$gte": 999}})[0].key == "k999"


async def test_the_async_methods_do_the_same(store: RemanenceStore) -> None:
    """One by one, and fifty at a time."""
    await asyncio.gather(*(store.aput(("users", f"u{n}"), "name", {"text": f"user {n}"}) for n in range(50)))
    items = await asyncio.gather(*(store.aget(("users", f"u{n}"), "name") for n in range(50)))

    assert [item.value["text"] for item in items if item] == [f"user {n}" for n in range(50)]
    assert len(await store.asearch(("users",), query="user 7", limit=3)) == 3
    await store.adelete(("users", "u7"), "name")
    assert len(await store.alist_namespaces(prefix=("users",))) == 49


# Search


def test_a_query_ranks_and_the_rest_follows_without_a_score(store: RemanenceStore) -> None:
    """The best match first; what is not indexed is listed last, as nobody compared it."""
    store.put(BOB, "pet", {"text": "Bob has a dog called Rex."})
    store.put(BOB, "drink", {"text": "Bob drinks green tea in the morning."})
    store.put(BOB, "secret", {"text": "green tea, morning, drinks"}, index=False)
    found = store.search(BOB, query="green tea in the morning")

    assert found[0].key == "drink"
    assert found[0].score is not None
    assert (found[-1].key, found[-1].score) == ("secret", None)
    assert {item.key for item in found} == {"pet", "drink", "secret"}


def test_a_query_sees_only_its_namespace_and_what_passes_its_filter(store: RemanenceStore) -> None:
    """However well the others match; a filter that leaves one of many still finds it."""
    for n in range(80):
        store.put(("users", "eve"), f"n{n}", {"text": "green tea", "n": n})
    store.put(BOB, "drink", {"text": "some tea"})

    assert [item.key for item in store.search(BOB, query="green tea")] == ["drink"]
    only = store.search(("users",), query="green tea", filter={"n": 3})
    assert [(item.key, item.score is not None) for item in only] == [("n3", True)]


def test_an_old_value_is_not_found_any_more(store: RemanenceStore) -> None:
    """Recall goes by what the item says now."""
    store.put(BOB, "drink", {"text": "Bob drinks green tea."})
    store.put(BOB, "drink", {"text": "Bob drinks black coffee."})
    found = store.search(BOB, query="Where did Bob drink green tea before?")

    assert [item.value["text"] for item in found] == ["Bob drinks black coffee."]


def test_put_says_which_fields_are_indexed(space: remanence.Space, clock: FakeClock) -> None:
    """The fields of the put, else those of the store, else the text of the value."""
    store = RemanenceStore(space, fields=["notes[*].body"], clock=clock)
    store.put(BOB, "a", {"title": "zebra", "notes": [{"body": "a walrus"}, {"body": "an otter"}]})
    store.put(BOB, "b", {"title": "zebra", "notes": [{"body": "a walrus"}]}, index=["title"])
    store.put(BOB, "c", {"title": "nothing to index"})

    assert [i.key for i in store.search(BOB, query="otter") if i.score is not None][:1] == ["a"]
    assert [i.key for i in store.search(BOB, query="zebra") if i.score is not None][:1] == ["b"]
    assert store.search(BOB, query="nothing to index")[-1].score is None


LONG = "It was cheaper last year, so ask three shops, compare their offers, and park behind the church. " * 8


@pytest.mark.parametrize("how", ["fields", "index of the put", "index of the store", "default"])
def test_each_field_is_found_by_itself(space: remanence.Space, clock: FakeClock, how: str) -> None:
    """A short title is as near to its question as if there were no long body, and the other way round."""
    paths = ["title", "body"]
    options: dict[str, Any] = {"fields": {"fields": paths}, "index of the store": {"index": {"fields": paths}}}.get(
        how, {}
    )
    store = RemanenceStore(space, clock=clock, **options)
    titles = ["winter coat", "yoga class", "car insurance", "espresso machine"]
    for number, title in enumerate(titles):
        others = " and the ".join(titles[:number] + titles[number + 1 :])
        value = {"title": title, "body": f"{LONG}Before that, see about the {others}. {LONG}", "seen": number}
        store.put(BOB, title, value, index=paths if how == "index of the put" else None)
    store.put(BOB, "short", {"title": "a note", "body": "the lantern in the cellar"}, index=paths)

    assert [store.search(BOB, query=title)[0].key for title in titles] == titles
    assert store.search(BOB, query="the lantern in the cellar")[0].key == "short"


def test_by_default_every_field_is_found_and_so_are_their_names(store: RemanenceStore) -> None:
    """None hides another, whatever it is called; a question may take words from several."""
    store.put(BOB, "a", {"content": "a walrus", "title": "zebra", "deep": {"list": ["otter", "heron"]}})
    store.put(BOB, "b", {"content": "a walrus", "title": "lion"})
    store.put(BOB, "c", {"owner": "Ana", "colour": "blue", "seats": 5})
    store.put(BOB, "d", {"owner": "Ana", "taste": "sweet", "seats": 7})

    assert [store.search(BOB, query=q)[0].key for q in ("zebra", "heron", "lion")] == ["a", "a", "b"]
    assert [store.search(BOB, query=q)[0].key for q in ("Ana colour", "taste of Ana")] == ["c", "d"]


def test_the_time_of_a_record_is_not_the_time_of_what_it_says(store: RemanenceStore, space: remanence.Space) -> None:
    """Programs stamp their records; that the text holds since then, or held only then, is not said by it."""
    store.put(BOB, "tea", {"content": "Bob drinks tea.", "created_at": "2024-01-05T10:00:00+00:00"})

    assert [str(memory.valid) for memory in space.child("store").memories()] == [str(remanence.Window())]


def test_what_is_not_indexed_and_what_is_deleted_is_not_embedded(clock: FakeClock) -> None:
    """No query can find it, so nothing is spent on it."""
    texts: list[str] = []

    class Listening(HashingEmbedder):
        def embed(self, given: Any) -> Any:
            texts.extend(given)
            return super().embed(given)

    with remanence.open(None, embedder=Listening(), clock=clock) as space:
        store = RemanenceStore(space, clock=clock)
        store.put(BOB, "a", {"text": "a secret"}, index=False)
        store.delete(BOB, "a")
        assert texts == []
        store.put(BOB, "a", {"title": "one", "body": "two"}, index=["title", "body"])
        assert texts == ["one", "two"]


def test_items_of_one_user_do_not_replace_those_of_another(store: RemanenceStore) -> None:
    """However alike they are: what Eve says about herself is not about Bob."""
    store.put(BOB, "home", {"text": "I live in Porto."})
    store.put(("users", "eve"), "home", {"text": "I live in Lisbon."})
    found = store.search(BOB, query="Where do I live?")[0]

    assert found.key == "home"
    assert found.score is not None
    assert found.score > 0.5


def test_filters_compare_numbers_texts_and_parts(store: RemanenceStore) -> None:
    """Operators, nested parts and lists; a missing field is no match."""
    store.put(BOB, "a", {"n": 5, "s": "m", "at": {"city": "Porto", "zip": 1}, "l": [1, 2]})
    store.put(BOB, "b", {"s": "z"})

    def keys(**wanted: Any) -> list[str]:
        return sorted(item.key for item in store.search(BOB, filter=wanted))

    assert keys(n={"$gt": 4}) == ["a"]
    assert keys(n={"$gt": "4"}) == ["a"]
    assert keys(n={"$lt": 100}) == ["a"]
    assert keys(s={"$gt": "n"}) == ["b"]
    assert keys(s={"$gt": 3}) == []
    assert keys(n={"$ne": 5}) == ["b"]
    assert keys(at={"city": "Porto"}) == ["a"]
    assert keys(at={"city": {"$ne": "Porto"}}) == []
    assert keys(l=[1, 2]) == ["a"]
    assert keys(l=[2, 1]) == []
    assert keys(n=5, s="z") == []


def test_a_filter_key_may_be_a_path(store: RemanenceStore) -> None:
    """Through dicts and lists; a name with a period in it comes before a path of the same text."""
    store.put(BOB, "a", {"user": {"city": "Porto", "n.b": {"x": 1}}, "rows": [{"n": 1}, {"n": 7}], "x.y": 1})
    store.put(BOB, "b", {"user": {"city": "Lisbon"}, "x": {"y": 1}, "rows": []})

    def keys(wanted: dict[str, Any]) -> list[str]:
        return sorted(item.key for item in store.search(BOB, filter=wanted))

    assert keys({"user.city": "Porto"}) == ["a"]
    assert keys({"user.city": {"$gt": "M"}}) == ["a"]
    assert keys({"user.city": {"$ne": "Porto"}}) == ["b"]
    assert keys({"user.n.b.x": 1}) == ["a"]
    assert keys({"rows.1.n": {"$gte": 7}}) == ["a"]
    assert keys({"x.y": 1}) == ["a", "b"]
    assert keys({"user": {"city": {"$lt": "M"}}}) == ["b"]
    assert keys({"user.city.name": "Porto"}) == keys({"rows.one": 1}) == []


class Colour(Enum):
    RED = "red"


class Weather(BaseModel):
    at: datetime
    degrees: float


@dataclass
class Visit:
    id: UUID
    day: date
    colour: Colour
    weather: Weather


NOON = datetime(2026, 5, 4, 12, tzinfo=timezone.utc)
VISIT = Visit(UUID(int=7), date(2026, 5, 3), Colour.RED, Weather(at=NOON, degrees=20.5))


@pytest.mark.parametrize("value", [{"visit": VISIT}, {"visit": VISIT.__dict__}])
def test_objects_are_stored_in_their_json_form(store: RemanenceStore, value: Any) -> None:
    """Datetimes, UUIDs, enums, dataclasses and pydantic models; a filter may hold them as well."""
    store.put(BOB, "a", value)
    store.put(BOB, "b", {"visit": {"day": "2026-06-01", "weather": {"at": "yesterday"}}})
    item = store.get(BOB, "a")

    visit = item.value["visit"]
    assert (visit["id"], visit["day"], visit["colour"]) == (str(UUID(int=7)), "2026-05-03", "red")
    assert datetime.fromisoformat(visit["weather"]["at"].replace("Z", "+00:00")) == NOON
    filters: list[dict[str, Any]] = [
        {"visit.id": UUID(int=7)},
        {"visit.colour": Colour.RED},
        {"visit.weather.at": NOON},
        {"visit.weather.at": {"$lte": NOON.astimezone(timezone(timedelta(hours=9)))}},
        {"visit.day": {"$lt": date(2026, 5, 30)}},
        {"visit.weather.degrees": {"$gt": 20}},
    ]
    assert [[found.key for found in store.search(BOB, filter=each)] for each in filters] == [["a"]] * len(filters)


def test_a_whole_value_may_be_a_model_or_a_dataclass(store: RemanenceStore) -> None:
    """It comes back as a dict."""
    store.put(BOB, "model", Weather(at=NOON, degrees=1))  # type: ignore[arg-type]
    store.put(BOB, "visit", VISIT)  # type: ignore[arg-type]

    assert store.get(BOB, "model").value["degrees"] == 1  # type: ignore[union-attr]
    assert store.get(BOB, "visit").value["day"] == "2026-05-03"  # type: ignore[union-attr]


def test_the_last_written_comes_first(store: RemanenceStore) -> None:
    """Also when all is written in the same instant."""
    store.batch([PutOp(BOB, key, {"n": 1}) for key in "abc"])
    store.put(BOB, "a", {"n": 2})

    assert [item.key for item in store.search(BOB)] == ["a", "c", "b"]
    assert [item.key for item in store.search(BOB, limit=1, offset=1)] == ["c"]
    assert store.search(BOB, limit=0) == []


@pytest.mark.parametrize("page", [{"limit": -1}, {"offset": -1}, {"limit": "5"}])
def test_a_page_of_a_negative_size_is_refused(store: RemanenceStore, page: dict[str, Any]) -> None:
    """It would leave out items at the end without a word."""
    [(name, value)] = page.items()
    for asked in (store.search, lambda prefix, **page: store.list_namespaces(prefix=prefix, **page)):
        with pytest.raises(remanence.InvalidInput, match=rf"{name}={value!r} is not a whole number from 0 on"):
            asked(BOB, **page)  # type: ignore[operator]


def test_namespaces_are_listed_by_prefix_suffix_and_depth(store: RemanenceStore) -> None:
    """With wildcards, without repeats, in order."""
    for namespace in (("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c"), ("z",)):
        store.put(namespace, "k", {"n": 1})

    assert store.list_namespaces(prefix=("a", "b")) == [("a", "b", "c"), ("a", "b", "d")]
    assert store.list_namespaces(suffix=("c",)) == [("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(prefix=("a", "*", "c")) == [("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(max_depth=2) == [("a", "b"), ("a", "x"), ("z",)]
    assert store.list_namespaces(limit=1, offset=1) == [("a", "b", "d")]


# The past


def test_overwritten_and_deleted_values_stay_in_the_past(store: RemanenceStore, clock: FakeClock) -> None:
    """Get, search and list as of any moment; nobody can write there."""
    store.put(BOB, "city", {"text": "Bob lives in Porto."})
    porto = clock.now()
    clock.advance(days=1)
    store.put(BOB, "city", {"text": "Bob lives in Lisbon."})
    lisbon = clock.now()
    clock.advance(days=1)
    store.delete(BOB, "city")

    assert store.search(BOB) == []
    assert store.as_of(lisbon).get(BOB, "city").value["text"] == "Bob lives in Lisbon."  # type: ignore[union-attr]
    assert store.as_of(porto.isoformat()).get(BOB, "city") == store.as_of(porto).get(BOB, "city")
    past = store.as_of(porto)
    assert past.search(BOB, query="Where does Bob live?")[0].value["text"] == "Bob lives in Porto."
    assert past.list_namespaces() == [BOB]
    with pytest.raises(remanence.InvalidInput, match="past"):
        past.put(BOB, "city", {"text": "Rome"})


def test_what_is_forgotten_or_erased_in_the_space_is_gone_from_the_store(
    store: RemanenceStore, space: remanence.Space
) -> None:
    """Those who look after the space decide; the store follows."""
    store.put(BOB, "a", {"text": "secret one"})
    store.put(BOB, "b", {"text": "secret two"})
    kept = space.child("store")
    first, second = sorted(kept.memories(), key=lambda memory: memory.text)
    kept.forget(first.id)
    kept.erase(second.id)
    assert store.search(BOB, query="secret") == []

    kept.unforget(first.id)
    assert [item.key for item in store.search(BOB, query="secret")] == ["a"]


@pytest.mark.parametrize("recallable", [False, True])
def test_an_erased_item_is_gone_from_the_past_and_from_the_files(
    home: Path, clock: FakeClock, recallable: bool
) -> None:
    """All its values, deleted or not; what is next to it stays, and its key can be used again."""
    index = {"fields": ["title", "body"], "embed": hashed}
    with RemanenceStore.from_conn_string(home, index=index, clock=clock, recallable=recallable) as store:
        store.put(BOB, "door", {"title": "door", "body": "the code is xyzzy"})
        before = clock.now()
        clock.advance(days=1)
        store.put(BOB, "door", {"title": "plugh", "body": "the code is another"})
        store.put(BOB, "tea", {"title": "tea", "body": "green"})
        store.delete(BOB, "door")
        assert store.as_of(before).get(BOB, "door") is not None

        assert store.erase(BOB, "door")
        assert not store.erase(BOB, "door")
        assert not store.erase(BOB, "never")
        assert store.as_of(before).get(BOB, "door") is None
        assert store.as_of(before).search(BOB, query="the code") == []
        assert [item.key for item in store.search(BOB)] == ["tea"]
        with pytest.raises(remanence.InvalidInput, match="past"):
            store.as_of(before).erase(BOB, "tea")
        store.put(BOB, "door", {"title": "new"})
        assert store.search(BOB, query="new")[0].key == "door"
    files = [file for file in home.rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if b"xyzzy" in file.read_bytes() or b"plugh" in file.read_bytes()]


async def test_the_past_can_be_read_and_items_erased_with_asyncio(store: RemanenceStore, clock: FakeClock) -> None:
    """`aas_of` and `aerase` do what `as_of` and `erase` do."""
    await store.aput(BOB, "city", {"text": "Porto"})
    porto = clock.now()
    clock.advance(days=1)
    await store.aput(BOB, "city", {"text": "Lisbon"})
    past = await store.aas_of(porto)

    assert (await past.aget(BOB, "city")).value == {"text": "Porto"}  # type: ignore[union-attr]
    assert await store.aerase(BOB, "city")
    assert await store.aget(BOB, "city") is None


# How it is made


def test_a_store_can_be_made_as_an_in_memory_store_is() -> None:
    """With an IndexConfig and nothing else; it has a space of its own."""
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[float(text.count("a")), float(text.count("b")), 1.0] for text in texts]

    with RemanenceStore(index={"dims": 3, "embed": embed, "fields": ["body"]}) as store:
        store.put(BOB, "a", {"title": "bbb", "body": "aaa"})
        store.put(BOB, "b", {"title": "aaa", "body": "bbb"})
        assert [item.key for item in store.search(BOB, query="aaaa")] == ["a", "b"]
        assert (store.index_config["dims"], store.embeddings is not None) == (3, True)
    assert "aaa" in asked
    assert not {"title", "aaabbb"} & set(asked)


async def test_a_store_can_be_made_from_a_connection_string(home: Path) -> None:
    """A folder that it opens and closes; what is in it is there the next time."""
    with RemanenceStore.from_conn_string(str(home), index={"embed": hashed}) as store:
        store.setup()
        store.put(BOB, "tea", {"text": "green tea"})
    async with RemanenceStore.from_conn_string(home, index={"embed": hashed}, fields=["text"]) as store:
        assert [item.key for item in await store.asearch(BOB, query="tea")] == ["tea"]
    with RemanenceStore.from_conn_string(":memory:") as store:
        assert store.search(()) == []


@pytest.mark.parametrize(
    ("arguments", "next_step"),
    [
        ({"space": "./memory"}, "from_conn_string"),
        ({"fields": ["a"], "index": {"fields": ["b"]}}, "one of them"),
        ({"fields": [1]}, "list of paths"),
        ({"recallable": True, "checkpointer": InMemorySaver()}, "Leave one of them out"),
    ],
)
def test_what_a_store_cannot_be_made_of_is_refused_at_once(arguments: dict[str, Any], next_step: str) -> None:
    """With the next step."""
    with pytest.raises(remanence.InvalidInput, match=next_step):
        RemanenceStore(**arguments)


def test_an_embedder_that_is_not_used_is_named(space: remanence.Space, caplog: pytest.LogCaptureFixture) -> None:
    """A space embeds with its own."""
    RemanenceStore(space, index={"dims": 3, "embed": lambda texts: [[1.0, 0.0, 0.0] for _ in texts]})

    assert "not used" in caplog.text


# Where it is kept


def test_items_do_not_mix_with_the_memories_of_the_space(store: RemanenceStore, space: remanence.Space) -> None:
    """One space for an agent's memory and its store, and neither in the other's answers."""
    space.add("Bob drinks coffee.")
    store.put(BOB, "drink", {"text": "Bob drinks tea."})

    assert [hit.memory.text for hit in space.recall("Bob drinks")] == ["Bob drinks coffee."]
    assert [item.key for item in store.search((), query="Bob drinks")] == ["drink"]


def test_the_items_of_a_recallable_store_are_memories_of_the_space(space: remanence.Space, clock: FakeClock) -> None:
    """`space.recall` finds them, and nothing of what was deleted or is not indexed; the store finds only its own."""
    store = RemanenceStore(space, clock=clock, recallable=True)
    space.add("Bob drinks coffee.")
    store.put(BOB, "drink", {"text": "Bob drinks tea."})
    store.put(BOB, "gone", {"text": "Bob drinks gin."})
    store.put(BOB, "hidden", {"text": "Bob drinks rum."}, index=False)
    store.delete(BOB, "gone")

    assert {hit.memory.text for hit in space.recall("Bob drinks")} == {"Bob drinks coffee.", "Bob drinks tea."}
    assert [item.key for item in store.search(BOB, query="Bob drinks")] == ["drink", "hidden"]
    assert {item.key for item in store.search(())} == {"drink", "hidden"}
    store.delete(BOB, "drink")
    assert [hit.memory.text for hit in space.recall("Bob drinks")] == ["Bob drinks coffee."]


def test_a_recallable_store_finds_an_item_that_the_space_knows_to_be_superseded(
    space: remanence.Space, clock: FakeClock
) -> None:
    """What a user's item says is not overruled by another user's, in the store."""
    store = RemanenceStore(space, clock=clock, recallable=True)
    store.put(BOB, "home", {"text": "I live in Porto."})
    store.put(("users", "eve"), "home", {"text": "I live in Lisbon."})

    assert [item.score is not None for item in store.search(BOB, query="Where do I live?")] == [True]


def test_a_store_is_there_after_a_restart(reopen: Callable[..., remanence.Space], clock: FakeClock) -> None:
    """Everything but what was deleted, with its times."""
    store = RemanenceStore(reopen(), clock=clock)
    store.put(BOB, "a", {"text": "kept"})
    store.put(BOB, "b", {"text": "gone"})
    store.delete(BOB, "b")
    before = store.get(BOB, "a")
    clock.advance(days=1)
    after = RemanenceStore(reopen(), clock=clock)

    assert after.get(BOB, "a") == before
    assert [item.key for item in after.search((), query="kept")] == ["a"]


@pytest.mark.slow
def test_many_threads_lose_nothing(store: RemanenceStore) -> None:
    """Eight threads put, read and search at once; every item of each is there."""

    def life(number: int) -> None:
        name = f"n{number}"
        for n in range(5):
            store.put(("t", name), f"k{n}", {"text": f"note {n} of {name}"})
            store.put(("t",), "shared", {"by": name})
            assert store.get(("t", name), f"k{n}") is not None
            assert len(store.search(("t", name), query="note", limit=50)) == n + 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(life, range(8)))
    assert len(store.search(("t",), limit=1_000)) == 8 * 5 + 1


ELSEWHERE = """
import sys
import remanence
from langchain_remanence import RemanenceStore
from remanence.testing import HashingEmbedder

bob = tuple(sys.argv[2:])
with remanence.open(sys.argv[1], embedder=HashingEmbedder()) as space:
    store = RemanenceStore(space)
    assert store.get(bob, "a") is not None
    store.put(bob, "b", {"text": "written elsewhere"})
    store.delete(bob, "a")
"""


@pytest.mark.slow
def test_two_processes_share_one_folder(home: Path) -> None:
    """What another process puts and deletes is seen at the next call."""
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        store = RemanenceStore(space)
        store.put(BOB, "a", {"text": "written here"})
        other = WarmProcess(ELSEWHERE, home, *BOB)
        _, errors = other.communicate()

        assert other.returncode == 0, errors
        assert store.get(BOB, "a") is None
        assert [item.key for item in store.search(BOB, query="written elsewhere")] == ["b"]


@pytest.mark.parametrize("options", [{"index": ["title"]}, {"ttl": 60}, {"clock": "now"}, {"fields": 7}])
def test_options_of_the_wrong_type_are_refused_when_the_store_is_made(
    space: remanence.Space, options: dict[str, Any]
) -> None:
    """With what to give in their place."""
    with pytest.raises(remanence.InvalidInput, match="Give"):
        RemanenceStore(space, **options)
    with pytest.raises(remanence.InvalidInput, match="Give"):
        RemanenceStore.from_conn_string(":memory:", **options)


def test_a_namespace_that_is_text_is_refused(store: RemanenceStore) -> None:
    """Its characters are not labels."""
    with pytest.raises(InvalidNamespaceError, match="not a tuple of labels"):
        store.put("users", "k", {"a": 1})  # type: ignore[arg-type]
    with pytest.raises(InvalidNamespaceError, match="not a tuple of labels"):
        store.get("users", "k")  # type: ignore[arg-type]


def test_a_path_that_is_text_is_one_label(store: RemanenceStore) -> None:
    """In a condition for namespaces, where LangGraph's own tests give one so."""
    for namespace in (("a", "public"), ("b", "private"), ("public", "c")):
        store.put(namespace, "k", {"n": 1})

    conditions = [[MatchCondition(kind, "public")] for kind in ("prefix", "suffix")]  # type: ignore[arg-type]
    found = store.batch([ListNamespacesOp(match_conditions=tuple(each)) for each in conditions])
    assert found == [[("public", "c")], [("a", "public")]]


def test_chosen_fields_are_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two items with the same field are as near to it, whatever else is indexed; also with the reader of a space."""
    monkeypatch.delenv("REMANENCE_READER", raising=False)
    with RemanenceStore(index={"embed": hashed, "dims": 64, "fields": ["none"]}) as store:
        store.put(("test",), "a", {"x": "north", "y": "castle"}, index=["x", "y"])
        store.put(("test",), "b", {"x": "castle", "y": "meadow"}, index=["x", "y"])
        first, second = store.search(("test",), query="castle")
        assert first.score == pytest.approx(second.score)
        assert store.search(("test",), query="north")[0].key == "a"


async def test_what_is_asked_at_once_is_one_batch(store: RemanenceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads come before writes, as in LangGraph's async stores; each caller gets its own results."""
    sizes: list[int] = []
    batch = store.batch
    monkeypatch.setattr(store._async_batches, "_batch", lambda ops: sizes.append(len(ops)) or batch(ops))
    await store.aput(BOB, "k", {"n": 0})
    got = await asyncio.gather(
        *(store.aput(BOB, "k", {"n": n}) for n in range(1, 300)),
        *(store.aget(BOB, "k") for _ in range(300)),
        store.abatch([GetOp(BOB, "none"), GetOp(BOB, "k")]),
    )

    assert sizes == [1, 601]
    assert {item.value["n"] for item in got[299:599]} == {0}
    none, item = got[-1]
    assert (none, item.value["n"]) == (None, 0)
    after = await store.aget(BOB, "k")
    assert after.value == {"n": 299}


async def test_an_operation_that_fails_does_not_affect_others(store: RemanenceStore) -> None:
    """Refused before it is executed, or while it is; and whoever is cancelled holds up nobody."""
    cancelled = asyncio.ensure_future(store.aput(BOB, "cancelled", {"n": 1}))
    asyncio.get_running_loop().call_soon(cancelled.cancel)
    good, label, value, search = await asyncio.gather(
        store.aput(BOB, "good", {"n": 1}),
        store.aput(("a.b",), "k", {"n": 1}),
        store.aput(BOB, "bad", {"n": object()}),
        store.asearch(BOB, filter={"n": 5}),
        return_exceptions=True,
    )

    assert (good, search) == (None, [])
    assert isinstance(label, InvalidNamespaceError)
    assert isinstance(value, ValueError)
    assert await store.aget(BOB, "good") is not None
    assert await store.aget(BOB, "bad") is None
    assert cancelled.cancelled()


def test_each_event_loop_has_its_own_batches(store: RemanenceStore) -> None:
    """Of programs that run one after the other, or in threads."""

    async def put(number: int) -> None:
        await asyncio.gather(*(store.aput(BOB, f"{number} {n}", {"n": n}) for n in range(20)))

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(asyncio.run, map(put, range(5))))
    asyncio.run(put(5))
    assert len(store.search(BOB, limit=1_000)) == 120

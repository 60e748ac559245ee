"""Recall and `memories` restricted to a source, a speaker, a conversation, or metadata."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remanence
from case_tables import cases
from model_replies import USER_FACTS
from remanence import InvalidInput, Receipt, Space, View
from remanence.index.versions.fields import check_filter, filter_mask, value_at
from remanence.testing import FakeClock, HashingEmbedder


def found(view: View, question: str = "the river", **filters: Any) -> set[str]:
    return {hit.memory.text for hit in view.recall(question, limit=50, **filters)}


@pytest.fixture
def rivers(space: Space) -> Space:
    """Four texts with metadata of several types."""
    space.add("The river Douro is long.", meta={"lang": "pt", "page": 1, "author": {"name": "Ana"}}, source="a.pdf")
    space.add("The river Ebro is long.", meta={"lang": "es", "page": 2, "topics": ["water", "maps"]}, source="b.pdf")
    space.add("The river Elbe is long.", meta={"lang": "de", "page": 3.5, "checked": True}, source="b.pdf")
    space.add("The river Nile is long.")
    return space


@cases("filters")
def test_metadata_are_matched(rivers: Space, meta: dict[str, Any], names: str) -> None:
    """By equality, comparison, membership and their combinations; a missing field is null."""
    expected = {f"The river {name} is long." for name in names.split()}

    assert found(rivers, meta=meta) == expected
    assert {memory.text for memory in rivers.memories(meta=meta)} == expected


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ("lang", "meta='lang' is not a dict of fields"),
        ([{"lang": "pt"}], "is not a dict of fields"),
        ({"page": {"$above": 3}}, r"page: there is no operator '\$above'. The operators are \$eq"),
        ({"page": {"$gt": 3, "lang": "pt"}}, "there is no operator 'lang'"),
        ({"$gt": 3}, r"'\$gt' stands where a field is expected"),
        ({"lang": {"$in": "pt"}}, r"lang: \$in is given 'pt'. Give it a list"),
        ({"page": {"$gt": None}}, r"\$gt is given None. Give it a number or a text"),
        ({"page": {"$exists": 1}}, "Give it True or False"),
        ({"$and": {"page": 1}}, r"\$and is given .* Give it a list of filters"),
        ({"$or": []}, "Give it a list of filters"),
        ({"$or": [{"page": 1}, {}]}, r"\$or\[1\]={} is not a dict of fields"),
        ({"$not": "pt"}, r"\$not='pt' is not a dict of fields"),
        ({"page": float("nan")}, "cannot be written as JSON"),
        ({"page": object()}, "cannot be written as JSON"),
    ],
)
def test_a_malformed_filter_is_refused(rivers: Space, meta: Any, message: str) -> None:
    """With the part that is wrong, and before anything is searched."""
    with pytest.raises(InvalidInput, match=message):
        rivers.recall("river", meta=meta)
    with pytest.raises(InvalidInput, match=message):
        rivers.memories(meta=meta)


def test_a_filter_nested_too_deeply_is_refused(space: Space) -> None:
    """It does not end in a RecursionError."""
    deep: dict[str, Any] = {"page": 1}
    for _ in range(100_000):
        deep = {"$not": deep}

    with pytest.raises(InvalidInput, match="meta"):
        space.recall("river", meta=deep)


@pytest.mark.slow
def test_a_rare_match_is_found_among_many(space: Space) -> None:
    """Rows are filtered before they are ranked: 3,000 better matches do not hide the one."""
    rows: list[dict[str, Any]] = [{"text": f"The river {n}, river and river.", "meta": {"n": n}} for n in range(3_000)]
    space.add_many([*rows, {"text": "A brook.", "meta": {"n": -1}, "source": "brooks"}])

    assert found(space, "river", meta={"n": {"$lt": 0}}) == {"A brook."}
    assert found(space, "river", source="brooks") == {"A brook."}
    assert found(space, "river", meta={"n": 2_999}) == {"The river 2999, river and river."}


def test_long_values_are_matched_too(space: Space) -> None:
    """They are read from the ledger, and only those of the field that is asked for."""
    space.add("The river Douro.", meta={"summary": "long " * 100 + "water", "page": 1})
    space.add("The river Ebro.", meta={"summary": "short", "page": 2})
    erased = space.add("The river Elbe.", meta={"summary": "long " * 100 + "water"})
    space.erase(erased)

    assert found(space, meta={"summary": {"$contains": "water"}}) == {"The river Douro."}
    assert found(space, meta={"summary": "short"}) == {"The river Ebro."}
    assert found(space, meta={"summary": {"$ne": "short"}}) == {"The river Douro."}


def test_a_source_is_asked_for(rivers: Space) -> None:
    """One, or one of several."""
    assert found(rivers, source="a.pdf") == {"The river Douro is long."}
    assert found(rivers, source=["a.pdf", "b.pdf"]) == {f"The river {n} is long." for n in ("Douro", "Ebro", "Elbe")}
    assert found(rivers, source="c.pdf") == set()
    with pytest.raises(InvalidInput, match="source=7 is not a list of names"):
        rivers.recall("river", source=7)  # type: ignore[arg-type]


def test_one_text_from_two_sources_belongs_to_both(space: Space, clock: FakeClock) -> None:
    """It is one memory. A text under a key has the source of its last version only."""
    for source in ("a.pdf", "b.pdf"):
        space.add("The river Douro is long.", source=source)
        space.add(f"The river is described in {source}.", source=source, key="about")
        clock.advance(days=1)

    assert found(space, source="a.pdf") == {"The river Douro is long."}
    assert found(space, source="b.pdf") == {"The river Douro is long.", "The river is described in b.pdf."}
    assert space.count() == 2


def test_speakers_and_conversations_are_asked_for(space: Space) -> None:
    """Roles are speakers too: the user is "user" or "me"."""
    space.add_turns(
        [
            {"speaker": "Ana", "content": "The river is cold.", "conversation": "c1"},
            {"speaker": "Bob", "content": "The river is warm.", "conversation": "c1"},
            {"role": "user", "content": "The river is deep.", "conversation": "c2"},
            {"role": "assistant", "content": "The river is wide.", "conversation": "c2"},
        ]
    )
    space.add("The river is long.", source="c1", observed_by="Ana")

    assert found(space, speaker="ana") == {"The river is cold.", "The river is long."}
    assert found(space, speaker=["Bob", "assistant"]) == {"The river is warm.", "The river is wide."}
    assert found(space, speaker="user") == found(space, speaker="me") == {"The river is deep."}
    assert found(space, conversation="c1") == {"The river is cold.", "The river is warm."}
    assert found(space, conversation="c1", speaker="Bob") == {"The river is warm."}
    assert found(space, source="c1") == {"The river is cold.", "The river is warm.", "The river is long."}


def test_facts_belong_to_the_conversations_they_were_found_in(clock: FakeClock) -> None:
    """The same fact told in two conversations is one memory, and belongs to both."""
    said = {"role": "user", "content": "Well, I live in Porto, you know."}
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=USER_FACTS) as space:
        for conversation in ("c1", "c2"):
            space.remember([{**said, "conversation": conversation}])
        [fact] = [memory for memory in space.memories() if memory.turn is None]

        for conversation in ("c1", "c2"):
            assert fact.text in found(space, "Where do I live?", conversation=conversation)
            assert fact.text in found(space, "Where do I live?", source=conversation)
        assert found(space, "Where do I live?", conversation="c3") == set()


def test_views_of_the_past_filter_what_was_known_then(space: Space, clock: FakeClock) -> None:
    """By the metadata of that version."""
    space.add("The river is low.", key="level", meta={"state": "draft"})
    then = clock.now()
    clock.advance(days=1)
    space.add("The river is high.", key="level", meta={"state": "final"})

    assert found(space, meta={"state": "draft"}) == set()
    assert found(space, meta={"state": "draft"}, history=True) == {"The river is low."}
    assert found(space.as_of(then), meta={"state": "draft"}) == {"The river is low."}


def test_filters_survive_closing_erasure_and_rebuilding(reopen: Callable[[], Space], home: Path) -> None:
    """The index that was saved answers as the live one; what was erased is in no file."""
    space = reopen()
    space.add("The river Douro.", meta={"page": 1, "code": "secret-4711"}, source="a.pdf", observed_by="Ana")
    space.add("The river Ebro.", meta={"page": 2}, source="b.pdf")
    space.add("The river Ebro.", meta={"page": 2}, source="c.pdf")

    def answers(view: View) -> list[set[str]]:
        filters: list[dict[str, Any]] = [{"meta": {"page": 2}}, {"source": "b.pdf"}, {"speaker": "Ana"}]
        return [found(view, **each) for each in filters]

    live = answers(space)
    space = reopen()
    assert answers(space) == live == [{"The river Ebro."}, {"The river Ebro."}, {"The river Douro."}]
    space.rebuild()
    assert answers(space) == live
    assert not space.admin.check()

    [douro] = space.memories(source="a.pdf")
    space.erase(douro)
    space = reopen()
    assert answers(space)[2] == set()
    assert not [path for path in home.rglob("*") if path.is_file() and b"secret-4711" in path.read_bytes()]


def test_a_receipt_keeps_the_filters(rivers: Space) -> None:
    """A replay, also of one that was written as JSON, returns the same."""
    recall = rivers.recall("river", meta={"page": {"$gte": 2}}, source=["b.pdf"], conversation=None)

    again = rivers.audit.replay(Receipt.from_dict(recall.receipt.to_dict()))
    assert [hit.memory.id for hit in again] == [hit.memory.id for hit in recall]
    assert len(again) == 2


def test_the_reader_is_given_what_passes_only() -> None:
    """Filters hold whatever happens to the list after ranking; a hit names what superseded it elsewhere."""
    seen: list[str] = []

    def read(question: str, texts: Any) -> list[float]:
        seen.extend(texts)
        return [0.5 for _ in texts]

    with remanence.open(None, embedder=HashingEmbedder(), reader=read) as space:
        space.add("Alice lives in Porto.", source="old", now="2026-01-01")
        space.add("Alice lives in Lisbon.", source="new", now="2026-02-01")
        [hit] = space.recall("Where does Alice live?", source="old")
        assert (hit.memory.text, hit.current) == ("Alice lives in Porto.", False)
        assert hit.superseded_by.source == "new"
    assert seen
    assert not any("Lisbon" in text for text in seen)


_VALUES = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["a", "b", ""]))
_CONDITIONS = st.one_of(
    _VALUES,
    st.builds(lambda name, value: {name: value}, st.sampled_from(["$eq", "$ne"]), _VALUES),
    st.builds(lambda name, values: {name: values}, st.sampled_from(["$in", "$nin"]), st.lists(_VALUES, max_size=3)),
    st.builds(lambda name, n: {name: n}, st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.integers(-2, 2)),
)
_FIELDS = st.dictionaries(st.sampled_from("xyz"), _CONDITIONS, min_size=1, max_size=2)
_FILTERS = st.recursive(
    _FIELDS,
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=4,
)


@given(rows=st.lists(st.dictionaries(st.sampled_from("xyz"), _VALUES, max_size=3), max_size=6), wanted=_FILTERS)
@pytest.mark.slow
def test_the_index_agrees_with_each_memory_read_by_itself(rows: list[dict[str, Any]], wanted: dict[str, Any]) -> None:
    """The filter over columns selects what the filter over one memory at a time selects."""
    import numpy as np

    def matches(meta: dict[str, Any]) -> bool:
        return bool(filter_mask(check_filter(wanted), lambda path, test: np.array([test(value_at(meta, path))]))[0])

    with remanence.open(None, embedder=HashingEmbedder()) as space:
        space.add_many([{"text": f"River {n}.", "meta": meta} for n, meta in enumerate(rows)])
        selected = {memory.text for memory in space.memories(meta=wanted)}
    assert selected == {f"River {n}." for n, meta in enumerate(rows) if matches(meta)}

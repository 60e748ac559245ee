"""Readers are not stopped: large parts of an index are built in threads, and saved without being copied."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from remanence import Space
from remanence.index.arrays import grouped
from remanence.index.arrays.adjacency import Adjacency
from remanence.index.arrays.background import BackgroundBuild
from remanence.index.arrays.columns import Column, Interner, PackedTexts
from remanence.index.index_file import _collect
from remanence.index.words import Postings
from remanence.models.embedders import CheckedEmbedder
from remanence.testing import HashingEmbedder


def test_what_is_collected_for_the_index_file_does_not_change_later(space: Space) -> None:
    """Whatever is written while the file is: new memories, versions, turns, names, relations; and what is forgotten."""
    turns = [{"speaker": name, "content": f"I live in {name}ville.", "conversation": "c"} for name in ("Ana", "Bo")]
    first = space.add("Alice lives in Porto.", key="alice", tags=["home"])
    space.add_turns(turns)
    with space._engine.open_index(space.name) as index:
        arrays = _collect({}, index.parts, copy=True)
        before = {name: array.copy() for name, array in arrays.items()}
        space.add("Alice lives in Lisbon.", key="alice", tags=["home", "new"])
        space.add_turns([{**turn, "content": f"{turn['content']} Really."} for turn in turns])
        space.graph.relate("Alice", "works_at", "Acme")
        space.entities.register("Alice", aliases=["Al"])
        space.forget(first.id)
        space.add_many([f"Person{n} Smith met Alice in Rome on {n % 28 + 1} May 2025." for n in range(300)])

        assert {name for name, array in arrays.items() if not np.array_equal(array, before[name])} == set()


def test_a_large_graph_has_the_same_edges_while_it_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were packed, those added since, and an edge from a vertex to itself once."""
    monkeypatch.setattr(grouped, "_PACKED_AT_ONCE", 50)
    monkeypatch.setattr(grouped, "_MAX_TAIL", 20)
    dice = random.Random(4)
    edges, graph = list[tuple[int, int]](), Adjacency()
    for _ in range(60):
        new = [(dice.randrange(40), dice.randrange(60)) for _ in range(dice.randrange(1, 30))]
        edges += new
        graph.extend(new)
        expected = [[number for number, ends in enumerate(edges) if vertex in ends] for vertex in range(62)]
        assert graph.edges_of_each(range(62)) == expected
        assert [graph.edges_of(vertex) for vertex in range(62)] == expected
    graph._by_vertex._build.wait()
    assert graph.edges_of_each(range(62)) == expected
    loaded = Adjacency(graph.endpoints)
    assert loaded.edges_of_each(range(62)) == expected


def test_words_are_found_while_they_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the base, in the tail, and after the file was loaded with a tail that is not packed."""
    monkeypatch.setattr(grouped, "_PACKED_AT_ONCE", 0)
    monkeypatch.setattr(grouped, "_MAX_TAIL", 20)
    dice, found, documents = random.Random(5), Postings(), list[list[str]]()

    def expected() -> dict[str, dict[int, int]]:
        out: dict[str, dict[int, int]] = {}
        for number, words in enumerate(documents):
            for word, count in Counter(words).items():
                out.setdefault(word, {})[number] = count
        return out

    def stored(index: Postings) -> dict[str, dict[int, int]]:
        return {word: dict(zip(*map(np.ndarray.tolist, index.documents_with(word)), strict=True)) for word in index}

    for _ in range(80):
        words = [f"w{dice.randrange(30)}" for _ in range(dice.randrange(1, 12))]
        found.extend(list(found.term_ids(words)), np.full(len(words), len(documents), np.int32))
        documents.append(words)
        found.pack_if_needed()
        assert stored(found) == expected()
    assert len(found._base.members)
    again = Postings.from_arrays(found.save())
    assert stored(again) == expected()
    again.pack()
    assert stored(again) == expected()
    assert not len(again._tail_groups)


def test_a_build_that_fails_can_be_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    build = BackgroundBuild[int]()
    build.start(lambda: 1 // 0)
    build.wait()
    assert build.pop_result() is None
    build.start(lambda: 7)
    build.wait()
    assert build.pop_result() == 7


def test_texts_are_packed_as_they_are() -> None:
    """Also odd ones, and those that were added after the array was loaded."""
    texts = ["", "São", "a\0b", "\udcff", "𝔘", "\n"]
    interner = Interner(texts)
    array = interner.packed.array(interner.values)
    assert PackedTexts.unpack(array) == texts
    loaded = Interner.from_array(array)
    loaded.intern("more")
    assert PackedTexts.unpack(loaded.packed.array(loaded.values)) == [*texts, "more"]


def test_a_column_that_was_loaded_does_not_change_the_array() -> None:
    """And has the same values as it grows."""
    given = np.arange(100)
    column = Column(np.int64, given)
    for number in range(100, 1_000):
        column.append(number)
    column.values[0] = -1

    assert given.tolist() == list(range(100))
    assert column.values.tolist() == [-1, *range(1, 1_000)]


def test_a_fast_embedder_is_called_in_the_thread_of_the_caller() -> None:
    """A time limit would need another thread for each call."""
    seen: list[threading.Thread] = []

    class Fast(HashingEmbedder):
        is_fast = True

        def embed(self, texts: Sequence[str]) -> Any:
            seen.append(threading.current_thread())
            return super().embed(texts)

    CheckedEmbedder(Fast(), timeout=5.0).embed(["one"])
    assert seen == [threading.current_thread()]

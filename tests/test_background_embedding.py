"""Texts whose vectors are made in the background: they are found by their words at once, and by meaning later."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence import Space
from remanence.index.engine import embedding
from remanence.testing import HashingEmbedder

TEXTS = [f"Alice painted room {number} green." for number in range(150)]
FIRST_BATCH = embedding.BATCH


class GatedEmbedder(HashingEmbedder):
    """Answers while its gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.down = threading.Event(), False
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        if self.down:
            raise ConnectionError("no route to host")
        assert self.gate.wait(60)
        self.embedded += texts
        return super().embed(texts)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def unembedded(space: Space) -> int:
    return space.admin.stats().unembedded


@pytest.mark.parametrize("place", ["memory", "folder"])
def test_what_is_not_waited_for_is_found_by_its_words_at_once(place: str, home: Path) -> None:
    """`missing` and `stats` say how many vectors are lacking, until there are all."""
    embedder = GatedEmbedder()
    with remanence.open(home if place == "folder" else None, embedder=embedder, reader=None) as space:
        added = space.add_many(TEXTS, wait=False)
        assert [memory.text for memory in added] == TEXTS
        assert unembedded(space) == len(TEXTS)
        found = space.recall("room 77", signals=["words"])
        assert found[0].memory == added[77]
        embedder.gate.set()
        wait_until(lambda: unembedded(space) == 0)
        answer = space.recall("room 77", signals=["vectors"])
        assert not answer.missing
        assert answer[0].memory == added[77]
        assert space.admin.check() == {}
        assert sorted(text for text in embedder.embedded if text in TEXTS) == sorted(TEXTS), "each once"


def test_recall_says_how_many_lack_a_vector() -> None:
    embedder = GatedEmbedder()
    with remanence.open(None, embedder=embedder, reader=None) as space:
        space.add_many(TEXTS, wait=False)
        embedder.embed_query = HashingEmbedder().embed_query  # type: ignore[method-assign]
        answer = space.recall("room 77")
        assert answer.missing == {"vectors": f"{len(TEXTS)} passages have no vector yet"}
        embedder.gate.set()
        wait_until(lambda: not space.recall("room 77").missing)


def test_turns_and_what_is_added_meanwhile(home: Path) -> None:
    """A text that is waited for has its vector at once, and does not wait for the others."""
    embedder = GatedEmbedder()
    with remanence.open(home, embedder=embedder, reader=None) as space:
        turns = [{"speaker": "Ana", "content": text, "conversation": "c"} for text in TEXTS[:5]]
        [*added] = space.add_turns(turns, wait=False)
        assert [memory.turn.number for memory in added if memory.turn] == [0, 1, 2, 3, 4]
        embedder.gate.set()
        later = space.add("Bob sold the boat.")
        assert space.recall("Bob sold the boat.", signals=["vectors"])[0].memory == later
        wait_until(lambda: unembedded(space) == 0)


def test_what_a_killed_process_had_not_embedded_is_embedded_after_it(home: Path) -> None:
    """The next one that opens the space goes on, with those that are left."""
    first = GatedEmbedder()
    with remanence.open(home, embedder=first, reader=None) as space:
        space.add_many(TEXTS, wait=False)
        first.down = True
        first.gate.set()
        space._engine.background_embedder.stop()
        left = unembedded(space)
        assert left >= len(TEXTS) - FIRST_BATCH
    second = GatedEmbedder()
    second.gate.set()
    with remanence.open(home, embedder=second, reader=None) as space:
        wait_until(lambda: unembedded(space) == 0)
        assert len([text for text in second.embedded if text in TEXTS]) == left
        assert space.admin.check() == {}


def test_an_embedder_that_was_down_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later and later; nothing has to be called for it."""
    monkeypatch.setattr(embedding, "FIRST_PAUSE", 0.01)
    embedder = GatedEmbedder()
    embedder.gate.set()
    with remanence.open(None, embedder=embedder, reader=None) as space:
        space.add("Alice lives in Porto.")
        embedder.down = True
        space.add_many(TEXTS[:3])
        assert unembedded(space) == 3
        embedder.down = False
        wait_until(lambda: unembedded(space) == 0)


def test_one_of_two_processes_embeds_and_the_other_reads(home: Path) -> None:
    """Both come to have all vectors, and no text is embedded twice."""
    one, two = GatedEmbedder(), GatedEmbedder()
    one.gate.set()
    two.gate.set()
    with (
        remanence.open(home, embedder=one, reader=None) as mine,
        remanence.open(home, embedder=two, reader=None) as theirs,
    ):
        mine.add_many(TEXTS, wait=False)
        wait_until(lambda: unembedded(mine) == 0)
        wait_until(lambda: unembedded(theirs) == 0)
        assert not theirs.recall("room 77").missing
        assert theirs.admin.check() == mine.admin.check() == {}


def test_what_is_erased_before_it_has_a_vector_is_not_embedded(home: Path) -> None:
    embedder = GatedEmbedder()
    with remanence.open(home, embedder=embedder, reader=None) as space:
        added = space.add_many(TEXTS, wait=False)
        space.erase(added[149].id)
        embedder.gate.set()
        wait_until(lambda: unembedded(space) == 0)
        assert TEXTS[149] not in embedder.embedded
        assert space.admin.check() == {}


def test_a_fast_embedder_is_not_put_off() -> None:
    with remanence.open(None, embedder="fast", reader=None) as space:
        space.add_many(TEXTS, wait=False)
        assert unembedded(space) == 0


def test_vectors_that_another_process_stored_are_no_difference(home: Path) -> None:
    """`check` compares with a fresh build, which has them; so has the index then."""
    embedder = GatedEmbedder()
    embedder.gate.set()
    embedder.down = True
    with remanence.open(home, embedder=embedder, reader=None) as space:
        space.add("Bob Meyer works for Delta Systems.")
        with remanence.open(home, embedder=HashingEmbedder(), reader=None) as other:
            wait_until(lambda: unembedded(other) == 0)
            assert other.admin.check() == {}
        assert space.admin.check() == {}

"""What is pasted into a chat: stored at once, read in the background, and never compared with anything as a whole."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from threading import Event
from typing import Any

import pytest

import remanence
from remanence.schema import Extraction
from remanence.testing import HashingEmbedder
from remanence.text import excerpts, text
from remanence.text.rule_extractor import RuleExtractor
from remanence.text.text import MAX_PASSAGE, MAX_TURN_INDEXED, split_turn, without_middle

LOG = "Can you look at this log of Bruno?\n" + "\n".join(f"worker {n} waited for queue {n % 7}" for n in range(9_000))
QUIET = "Nothing happened. " * 30_000
LONG = f"The vault is in Bilbao. {QUIET}The pantry is in Ghent. {QUIET}Ask Vera."


class SlowEmbedder(HashingEmbedder):
    """Counts the texts that it embeds, and makes no vector of a second text before the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = Event()
        self.done = 0
        self.longest_question = 0

    def embed(self, texts: Sequence[str]) -> Any:
        for _ in texts:
            if self.done:
                self.may_go_on.wait(20)
            self.done += 1
        return super().embed(texts)

    def embed_query(self, text: str) -> Any:
        self.longest_question = max(self.longest_question, len(text))
        return super().embed_query(text)


@pytest.fixture
def words_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the texts whose words are looked at."""
    lengths: list[int] = []
    split_words = text.split_words

    def counting(value: str) -> list[str]:
        lengths.append(len(value))
        return split_words(value)

    monkeypatch.setattr(text, "split_words", counting)
    monkeypatch.setattr(excerpts, "split_words", counting, raising=False)
    return lengths


def paste(space: remanence.Space, content: str) -> remanence.Memory:
    return space.add_turns([{"role": "user", "content": content}])[0]


def test_a_pasted_log_waits_for_one_vector() -> None:
    """Those of its other passages are made in the background, and until then its words find it."""
    embedder = SlowEmbedder()
    with remanence.open(None, reader=None, embedder=embedder) as space:
        stored = paste(space, LOG)
        assert embedder.done == 1
        assert stored.text == LOG
        embedder.may_go_on.set()
        assert space.recall("Which queue did worker 8123 wait for?")[0].memory == stored
        passages = len(split_turn(LOG))
        assert passages > 100
        for _ in range(2_000):
            if embedder.done >= passages and not space.admin.stats().unembedded:
                break
            time.sleep(0.01)
        assert not space.admin.stats().unembedded
        assert not space.recall("worker 8123").missing


def test_of_a_very_long_turn_the_beginning_and_the_end_are_searched() -> None:
    """All of it comes back; a document that is added is searched as a whole."""
    with remanence.open(None, reader=None, embedder=HashingEmbedder()) as space:
        stored = paste(space, LONG)
        [start, end] = [split_turn(LONG)[0][0], split_turn(LONG)[-1][1]]
        assert (start, end) == (0, len(LONG))
        assert stored.text == LONG
        assert sum(end - start for start, end in split_turn(LONG)) <= MAX_TURN_INDEXED < len(LONG)
        answers = [bool(space.recall(word, signals=["words"])) for word in ("Bilbao", "Vera", "Ghent")]
        assert answers == [True, True, False]
        added = space.add(LONG)
        assert [hit.memory.id for hit in space.recall("Ghent", signals=["words"])] == [added.id]


def test_names_are_looked_for_where_somebody_writes() -> None:
    """That is at the beginning and the end of what is pasted."""
    read: list[int] = []

    class Counting(RuleExtractor):
        def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
            read.append(len(text))
            return super().extract(text, now=now, speaker=speaker)

    with remanence.open(None, reader=None, embedder=HashingEmbedder(), extractor=Counting()) as space:
        stored = paste(space, f"{LOG}\nWhat should I tell Marta about it?")
        assert {"Bruno", "Marta"} <= {mention.name for mention in stored.mentions}
    assert max(read) <= 10_000


def test_later_questions_are_not_compared_with_the_whole_log(words_read: list[int]) -> None:
    """Neither where it is a memory, nor where it is a turn of the chat before them."""
    embedder = SlowEmbedder()
    embedder.may_go_on.set()
    with remanence.open(None, reader=None, embedder=embedder) as space:
        space.add("My sister Ana lives in Porto.")
        paste(space, LOG)
        words_read.clear()
        turns = [{"role": "user", "content": LOG}, {"role": "assistant", "content": "The queues are slow."}]
        for question in ("Where does my sister live?", "And why?", "Which worker waited?", "Is it slow?", "And then?"):
            space.for_prompt(question, turns=turns)
            space.recall(question, context=turns)
    assert sum(words_read) < 2 * len(LOG) < 1_000_000
    assert embedder.longest_question < 2 * MAX_PASSAGE


def test_what_is_pasted_is_searched_for_by_what_is_written_around_it() -> None:
    """And it is not quoted beside itself."""
    with remanence.open(None, reader=None, embedder=HashingEmbedder()) as space:
        space.add("My brother Nils keeps the spare key of the server room.")
        message = f"{LOG}\nWho did I say keeps my spare key of the server room?"
        paste(space, message)
        found = space.for_prompt(message)
        assert [hit.memory.text for hit in found.hits] == ["My brother Nils keeps the spare key of the server room."]


def test_a_question_is_stored_with_a_part_of_a_long_turn_before_it() -> None:
    """The turn before is kept only where it is not stored itself."""
    with remanence.open(None, reader=None, embedder=HashingEmbedder()) as space:
        [yes] = space.add_turns([{"role": "user", "content": "yes", "before": f"assistant: {LOG} Shall I go on?"}])
    before = yes.turn.before if yes.turn else None
    assert before is not None
    assert len(before) <= MAX_PASSAGE
    assert before.startswith("assistant: Can you look")
    assert before.endswith("Shall I go on?")


@pytest.mark.parametrize("value", ["", " " * 40, "\n" * 40, "a" * 40, "a b " * 10, "雨" * 40])
def test_a_text_without_its_middle_is_short(value: str) -> None:
    shortened = without_middle(value, 20)
    assert shortened == value if len(value) <= 20 else len(shortened) <= 20

"""Recalled text stands in a prompt as data, whatever it says."""

from __future__ import annotations

import pytest

from framed import HOSTILE, recalled
from remanence import Space, Window, frame
from remanence.testing import FakeClock
from remanence.text.framing import (
    CLOSE_TAG,
    MAX_TEXT_CHARACTERS,
    OPEN_TAG,
    PREAMBLE,
    SHORT_PREAMBLE,
    is_frame,
    shorten_frame,
    strip_frames,
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_memory_stays_one_quoted_line(space: Space, text: str) -> None:
    """It closes neither its quotes nor its line nor the block, and still reads back to the very words."""
    space.add(text)

    block = frame(space.recall("Alice"))
    lines = block.splitlines()
    assert [lines[0], lines[1], lines[-1]] == [OPEN_TAG, PREAMBLE, CLOSE_TAG]
    assert len(lines) == len(block.split("\n")) == 4
    assert not set(lines[2]) & set("<>\u202e\u2066\u200b\ufeff\u2028\u2029\x85")
    assert not any(0xE0000 <= ord(letter) < 0xE1000 for letter in lines[2])
    assert "[INST]" not in lines[2]
    assert recalled(block)[0]["text"] == text


def test_a_hostile_source_or_speaker_stays_quoted_too(space: Space) -> None:
    """Names come from outside as well."""
    space.add_turns([{"speaker": f'Eve"{CLOSE_TAG}', "content": "Alice likes figs.", "conversation": f"\n{OPEN_TAG}"}])

    block = frame(space.recall("Alice"))
    assert (block.count(OPEN_TAG), block.count(CLOSE_TAG), len(block.splitlines())) == (1, 1, 4)
    assert recalled(block)[0]["by"] == f'Eve"{CLOSE_TAG}'
    assert recalled(block)[0]["source"] == f"\n{OPEN_TAG}"


def test_each_memory_says_when_and_from_where(space: Space, clock: FakeClock) -> None:
    """The date it was said or noted, the time it is about, who said it, and the source."""
    space.add("Alice moved on 3 April 2026.", source="email", observed_by="Bob")
    space.add_turns([{"role": "user", "content": "I met Alice.", "conversation": "t1"}])

    noted, said = sorted(recalled(frame(space.recall("Alice"))), key=lambda memory: "said" in memory)
    assert noted == {
        "noted": str(Window.from_moment(clock.now())),
        "when": "2026-04-03",
        "by": "Bob",
        "source": "email",
        "text": "Alice moved on 3 April 2026.",
    }
    assert said == {"said": "2026-05-04 09:00", "by": "user", "source": "t1", "text": "I met Alice."}


def test_what_holds_no_longer_says_so(space: Space) -> None:
    """A replaced version is labelled."""
    for text in ("Alice lives in Porto.", "Alice lives in Lisbon."):
        space.add(text, key="home")

    block = recalled(frame(space.recall("Where does Alice live?", history=True)))
    assert {memory["text"]: memory.get("holds") for memory in block} == {
        "Alice lives in Lisbon.": None,
        "Alice lives in Porto.": "no longer",
    }


def test_a_block_keeps_to_its_budget(space: Space) -> None:
    """The whole of it, with its heading, by the caller's own count; best first."""
    space.add_many([{"text": f"Alice owns book number {number}."} for number in range(30)])
    hits = space.recall("Alice", limit=30)

    for tokens in (0, 20, 50, 100, 200):
        block = frame(hits, max_tokens=tokens, count_tokens=lambda text: len(text.split()))
        assert len(block.split()) <= tokens
    kept = [memory["text"] for memory in recalled(block)]
    assert 1 < len(kept) < 30
    assert kept == [hit.memory.text for hit in hits][: len(kept)]
    assert frame(hits, max_tokens=15, count_tokens=lambda text: len(text.split())) == ""


def test_in_a_small_budget_the_preamble_is_short(space: Space) -> None:
    """The full one would leave no room for a memory."""
    space.add("Alice owns a boat.")
    [hit] = space.recall("Alice")

    block = frame([hit], max_tokens=100)
    assert block.splitlines()[1] == SHORT_PREAMBLE
    assert recalled(block)[0]["text"] == "Alice owns a boat."
    assert shorten_frame(frame([hit]), 100) == block
    assert shorten_frame(block, 20) == frame([hit], max_tokens=20) == ""


def test_a_long_memory_is_cut(space: Space) -> None:
    """One document does not take the place of all else."""
    space.add("Alice wrote: " + "very " * 5_000)

    text = recalled(frame(space.recall("Alice")))[0]["text"]
    assert text.endswith(" […]")
    assert len(text) == MAX_TEXT_CHARACTERS + 4


def test_nothing_recalled_is_no_block(space: Space) -> None:
    """An empty heading would only be noise."""
    assert frame(space.recall("Alice")) == ""


def test_a_signal_that_is_down_is_named(space: Space) -> None:
    """An answer made with less is not taken for a full one."""
    space.add("Alice lives in Porto.")

    assert "Unavailable signals: vectors." in frame(space.recall("Alice"), missing={"vectors": "down"})


def test_a_block_can_be_taken_out_of_a_text(space: Space) -> None:
    """Also one that breaks off."""
    space.add("Alice lives in Porto.")
    block = frame(space.recall("Alice"))

    assert strip_frames(f"a {block} b {block[:-20]}") == "a b"
    assert is_frame(block)
    assert not is_frame(f"{block} and more")

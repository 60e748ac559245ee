"""Cutting long texts into passages."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remanence
from remanence.text.text import MAX_PASSAGES, split_passages, split_ranges

TEXTS = st.one_of(
    st.text(max_size=600),
    st.text(alphabet="ab .\n!", max_size=600),
    st.text(alphabet="日本語。！", max_size=600),
    st.lists(st.sampled_from(["word", " ", "\n\n", ". ", "。", "\t", "é", "🙂"]), max_size=400).map("".join),
)


@given(text=TEXTS, target=st.integers(2, 60), extra=st.integers(0, 40))
def test_passages_hold_every_word_once_in_order(text: str, target: int, extra: int) -> None:
    """Nothing said is lost, nothing is said twice, and no passage is too long."""
    spans = split_passages(text, target=target, maximum=target + extra)

    if len(text) <= target + extra:
        assert spans == ()
        return
    assert all(0 <= start < end <= len(text) and end - start <= target + extra for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    covered = "".join(text[start:end] for start, end in spans)
    assert "".join(covered.split()) == "".join(text.split())


def test_a_short_text_is_its_own_passage() -> None:
    """Up to the maximum there is nothing to cut."""
    assert split_passages("x" * 1200) == ()
    assert len(split_passages("x" * 1201)) == 2


def test_a_blank_text_has_no_passages() -> None:
    """However long it is."""
    assert split_passages(" \n" * 2000) == ()


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (("word " * 150 + "\n\n") * 4, "word"),
        ("It rained all day. " * 200, "day."),
        ("no full stops here " * 200, None),
        ("今日は雨が降った。" * 400, "。"),
        ("雨" * 3000, "雨"),
    ],
)
def test_cuts_fall_on_the_best_boundary_there_is(text: str, ends: str | None) -> None:
    """Paragraphs, then sentences, then words; in a script without spaces, after the full stop."""
    passages = [text[start:end] for start, end in split_passages(text)]

    assert all(400 <= len(passage) <= 1200 for passage in passages[:-1])
    assert all(passage.endswith(ends) for passage in passages) if ends else all(p == p.strip() for p in passages)
    assert not any(passage.startswith(("ord", "ull", "tops", "ere")) for passage in passages)


@pytest.mark.parametrize("text", ["word " * 200_000, "x" * 1_000_000, "\n" * 999_999 + "x", "a\n\n" * 333_333])
def test_a_megabyte_is_cut(text: str) -> None:
    """Whatever it is made of; `test_hostile_text.py` looks at the time."""
    assert len(split_passages(text)) <= MAX_PASSAGES


def test_there_are_never_too_many_passages() -> None:
    """A book is cut into longer passages rather than into more of them."""
    spans = split_passages("word and word. " * 130_000)  # the longest text that a space takes

    assert 1000 < len(spans) <= MAX_PASSAGES


def test_a_text_of_many_passages_does_not_crowd_out_the_others() -> None:
    """All of them nearer than anything else, they are still one memory."""
    near, off = [1.0, 0.0], [0.6, 0.8]
    with remanence.open(None, embedder=lambda texts: [off if "Note" in t else near for t in texts]) as space:
        space.add("\n\n".join("The harbour was full of ships that day. " * 40 for _ in range(300)))
        space.add_many(f"Note {number}." for number in range(200))

        assert len(space.recall("harbour", signals=["vectors"], limit=50)) == 50


# Passages that the caller names


TEXT = "Espresso machine\n" + "We talked about it for an hour, and she wrote it down in the blue notebook. " * 10


def test_named_passages_are_searched_each_by_itself(space: remanence.Space) -> None:
    """By words and by meaning; the best counts, as if the rest of the text were not there."""
    title = space.add(TEXT, passages=[(0, 16), (17, len(TEXT))])
    alone = space.add("Espresso machines")
    joined = space.add(f"{TEXT} And so on.")

    for signal in ("vectors", "words"):
        found = [hit.memory.id for hit in space.recall("Espresso machine", signals=[signal])]
        assert found.index(joined.id) == 2, signal
        assert set(found[:2]) == {title.id, alone.id}
    assert title.text == TEXT


def test_a_text_without_passages_is_found_by_nobody_who_does_not_know_its_id(space: remanence.Space) -> None:
    """It is stored and listed, but no question finds it; another version may be found again."""
    memory = space.add("a secret word", key="k", passages=[])
    assert list(space.recall("a secret word")) == []
    assert space.get(memory) == memory

    space.add("a secret word", key="k")
    assert [hit.memory.id for hit in space.recall("a secret word")] == [memory.id]


@pytest.mark.parametrize("passages", [[(0, 5)], [(-1, 2)], [(2, 2)], [(0, 1.5)], [0, 1], "ab", 5, [(True, 2)]])
def test_passages_outside_of_the_text_are_refused(space: remanence.Space, passages: object) -> None:
    """With the length of the text."""
    with pytest.raises(remanence.InvalidInput, match="passages"):
        space.add("four", passages=passages)  # type: ignore[arg-type]


def test_a_long_passage_is_split_too(space: remanence.Space) -> None:
    """An embedder reads only so much of a text."""
    text = "title. " + "It rained all day. " * 200
    ranges = split_ranges(text, [(0, 6), (7, len(text))])

    assert ranges[0] == (0, 6)
    assert len(ranges) > 3
    assert max(end - start for start, end in ranges) <= 1200

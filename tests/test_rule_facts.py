"""A ledger of the time when rules wrote sentences: they are labelled, below the words, and can be removed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import remanence
from framed import ReplacingReader, recalled
from remanence import Space, frame
from remanence.cli import main
from remanence.service.noun_forms import to_json

WRITTEN = Path(__file__).parent / "ledgers" / "rules"
"""Five turns, told to commit c2d24751 in 2025, with the six facts that its rules wrote. Never write it again."""
SAID = "I'm allergic to hazelnuts."
FACT = "The user is allergic to hazelnuts."
QUESTION = "What am I allergic to?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(WRITTEN, tmp_path / "memory")


@pytest.fixture
def old(folder: Path) -> Iterator[Space]:
    with remanence.open(folder, worker=False) as space:
        yield space


def texts(space: Space) -> set[str]:
    return {memory.text for memory in space.memories()}


def test_facts_that_rules_wrote_are_labelled_wherever_they_are_shown(
    old: Space, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In lines for a prompt, reasons, the block for a prompt, JSON, and what the command prints."""
    found = old.recall(QUESTION, limit=4)
    [hit] = [hit for hit in found if hit.memory.text == FACT]
    framed = {line["text"]: line["notes"] for hit in found for line in recalled(frame([hit]))}

    assert f"{FACT}  (by rules)" in str(found)
    assert f"{FACT}  (by rules)" in found.explain()
    assert to_json(hit)["by"] == "rules"
    assert (framed[FACT], framed[SAID]) == ("written by rules", "")
    assert main(["--memory", str(folder), "recall", QUESTION, "--limit", "4"]) == 0
    assert f"{FACT} (by rules)" in capsys.readouterr().out


def test_the_command_marks_what_is_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where its output goes to another program."""
    assert main(["--memory", str(folder), "recall", "Where do I live?"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if "me: I live in Porto." in line]
    assert "(replaced 2025-12-01 by: I moved to Lisbon last week.)" in line


def test_such_a_fact_is_below_its_words_and_is_not_read_beside_them(folder: Path) -> None:
    """A reader that had both would share its choice between the two."""
    read: list[str] = []

    def reader(question: str, lines: Sequence[str]) -> list[float]:
        read.extend(lines)
        return [0.9 if FACT in line else 0.1 for line in lines]

    with remanence.open(folder, worker=False, reader=reader) as space:
        order = [hit.memory.text for hit in space.recall(QUESTION, limit=20)]
        by_hand = [hit.score for hit in space.recall(QUESTION, limit=20)]

    assert order[order.index(SAID) + 1] == FACT
    assert by_hand == sorted(by_hand, reverse=True)
    assert any(SAID in line for line in read)
    assert not any(FACT in line for line in read)


def test_such_a_fact_is_over_as_its_words_are(folder: Path) -> None:
    """Also if only a reader says so, which no block does."""
    with remanence.open(folder, worker=False, reader=ReplacingReader("Lisbon")) as space:
        hits = {hit.memory.text: hit for hit in space.recall(QUESTION, limit=20)}
    for text in (SAID, FACT):
        assert (hits[text].current, hits[text].marked_by_reader) == (False, True)
        assert "replaced" not in frame([hits[text]])


def test_what_replaces_a_turn_is_what_somebody_said(old: Space) -> None:
    """Not the sentence that rules made of it, nor does such a sentence end a turn."""
    found = {hit.memory.text: hit for hit in old.recall("Where do I live?", limit=20)}

    assert found["I live in Porto."].superseded_by.text == "I moved to Lisbon last week."
    assert all(found[said].current for said in ("I prefer small PRs.", "I prefer spaces over tabs."))


def test_a_turn_holds_though_the_facts_that_rules_made_of_it_are_over(old: Space) -> None:
    """What the rules closed was often wrong."""
    [fact] = [memory for memory in old.memories() if memory.text == "The user prefers small PRs."]
    [other] = [memory for memory in old.memories() if memory.text == "The user prefers spaces over tabs."]
    old.graph.link(other, "supersedes", fact)

    found = {hit.memory.text: hit for hit in old.recall("Which pull requests do I prefer?", limit=20)}
    assert found["I prefer small PRs."].current
    assert "The user prefers small PRs." in {each.text for each in old.memories("superseded")}


def test_the_profile_quotes_the_words(old: Space) -> None:
    """Rules made nothing of it."""
    quoted = {old.get(memory).text for line in old.profile().statements for memory in line.memories}
    assert SAID in quoted
    assert not any(text.startswith("The user") for text in quoted)


def test_reading_again_without_a_model_leaves_the_words(old: Space) -> None:
    """The five turns."""
    before = texts(old)
    assert old.admin.reextract() == []
    assert texts(old) == {text for text in before if not text.startswith("The user")}
    assert len(texts(old)) == 5
    assert old.recall(QUESTION, limit=1)[0].memory.text == SAID


def test_the_command_reads_again(folder: Path) -> None:
    """As the method does."""
    assert main(["--memory", str(folder), "reextract"]) == 0
    with remanence.open(folder, worker=False) as space:
        assert len(texts(space)) == 5

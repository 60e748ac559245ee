"""Whom "he", "she" and "they" in a question mean, with the turns before it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import remanence
from case_tables import cases
from remanence import Space
from remanence.models.readers import READER_VARIABLE
from remanence.recall.question import is_follow_up
from remanence.recall.referents import find_referent, is_about_other, is_about_user
from remanence.schema import SELF, Memory, Turn


@cases("referents")
def test_a_pronoun_means_whom_the_turn_before_names(turn: str, question: str, meant: str) -> None:
    """Not who is told something, nor who stands beside the question."""
    assert find_referent(question, [turn, "For eight."]).text == meant


def test_a_reason_to_ask_refers_to_nothing() -> None:
    assert not is_follow_up("What shoe size do I have, in case he asks?", [])
    assert is_follow_up("Why did he leave, because she came?", [])


def test_a_short_question_about_a_thing_of_the_user_is_complete() -> None:
    assert not is_follow_up("How big is my suitcase?", [])
    assert not is_follow_up("What's my locker code?", [])
    assert is_follow_up("And my locker?", [])
    assert is_follow_up("How big is it?", [])


@cases("referents")
def test_what_is_told_of_the_user_is_about_others(text: str, is_others: bool) -> None:
    """And so is what begins with another name."""
    ana = find_referent("What could I serve her?", ["A dinner for my sister Ana."])
    memory = Memory("m", "s", text)
    assert (is_about_user(memory, ana) or is_about_other(memory, ana)) is is_others


def test_a_short_form_of_the_name_is_the_same_person() -> None:
    bob = find_referent("What should he avoid?", ["Bob is coming."])
    assert not is_about_other(Memory("m", "s", "Robert can't have nuts."), bob)
    assert is_about_other(Memory("m", "s", "Rita can't have nuts."), bob)


def test_who_speaks_for_themselves_is_meant() -> None:
    """ "I" of Ana is Ana."""
    ana = find_referent("What should she avoid?", ["Ana is coming."])
    said = [Memory("m", "s", "I can't have nuts.", turn=Turn("c", 0, speaker, None)) for speaker in ("Ana", SELF)]
    assert [is_about_user(memory, ana) for memory in said] == [False, True]


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> Iterator[Space]:
    """A space with the reader that comes with the package, and what the user told of several people."""
    monkeypatch.delenv(READER_VARIABLE, raising=False)
    told = (
        *("I'm allergic to peanuts.", "Tom can't stand shellfish.", "I always take an aisle seat."),
        *("Tom gets sick without a window seat.", "My phone number is 555 0101.", "Tom can be reached at 555 0177."),
    )
    with remanence.open(None, worker=False) as opened:
        opened.add_turns({"role": "user", "content": text, "conversation": text} for text in told)
        yield opened


@cases("referents")
def test_the_person_is_meant_although_i_is_in_the_question(space: Space, question: str, right: str) -> None:
    """In recall it comes first, and a prompt quotes it."""
    turns = [{"role": "user", "content": "Tom is visiting."}, {"role": "assistant", "content": "How nice!"}]
    assert space.recall(question, context=turns)[0].memory.text == right
    assert right in [hit.memory.text for hit in space.for_prompt(question, turns=turns).hits]


def test_a_statement_that_sounds_like_an_asking_is_still_of_the_person(space: Space) -> None:
    """What the user told of themselves does not come before it."""
    told = "Lea gets sick unless she has a window seat."
    space.add_turns([{"role": "user", "content": told, "conversation": told}])
    turns = [{"role": "user", "content": "My girlfriend Lea and I fly out on Friday."}]
    assert space.for_prompt("Which seat do I have to reserve for her?", turns=turns).hits[0].memory.text == told

"""The profile as a block for the start of a prompt: the same bytes until what it states changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import remanence
from remanence import InvalidInput, Space
from remanence.models.readers import READER_VARIABLE
from remanence.testing import FakeClock, ScriptedModel
from remanence.testing.fakes import facts_reply

TOLD = ("we live in Porto, near the river", "I'm allergic to peanuts.", "my sister Iva is a dentist in Zagreb")
SAID = ("Good morning!", "What is the capital of Peru?", "Thanks, that helps.", "Where do I live?", "Tell me a joke.")
"""What states nothing."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock("2026-01-10")


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> Iterator[Space]:
    """A space with three things told, a month apart."""
    monkeypatch.delenv(READER_VARIABLE, raising=False)
    with remanence.open(None, worker=False, clock=clock) as opened:
        for text in TOLD:
            say(opened, text)
            clock.advance(days=30)
        yield opened


def say(space: Space, text: str) -> remanence.Memory:
    return space.remember([{"role": "user", "content": text, "conversation": text}])[0]


def test_it_is_one_block_with_the_lines_of_the_profile(space: Space) -> None:
    lines = space.briefing().splitlines()
    assert (lines[0], lines[-1]) == ("<profile>", "</profile>")
    assert lines[2:-1] == str(space.profile()).splitlines()
    assert len(lines) == 6


def test_it_stays_the_same_while_what_is_told_states_nothing(space: Space) -> None:
    before = space.briefing()
    for text in SAID:
        say(space, text)
        assert space.briefing() == before


def test_it_changes_with_what_it_states(space: Space) -> None:
    """By something new, and by something that is forgotten; a new text in the old one's place is no old briefing."""
    before = space.briefing()
    cat = say(space, "I have adopted a grey cat called Mia.")
    with_cat = space.briefing()
    assert "grey cat" in with_cat
    assert all(text in with_cat for text in TOLD)
    space.forget(cat)
    assert space.briefing() == before


def test_what_has_no_room_takes_no_place_from_what_has(space: Space, clock: FakeClock) -> None:
    """Two statements fit. A third that holds as well does not come in only because days have passed."""
    tokens = len(space.briefing()) // 4 - 8
    small = space.briefing(max_tokens=tokens)
    assert sum(text in small for text in TOLD) == 2
    for text in SAID:
        clock.advance(days=40)
        say(space, text)
        assert space.briefing(max_tokens=tokens) == small


def test_no_language_model_is_asked() -> None:
    model = ScriptedModel(facts_reply({"text": "The user drinks tea.", "quotation": "I drink tea"}))
    with remanence.open(None, extractor=remanence.LLMExtractor(model)) as space:
        space.remember("I drink tea.")
        asked = len(model.prompts)
        assert "The user drinks tea." in space.briefing()
        assert len(model.prompts) == asked


def test_an_empty_space_has_none(space: Space) -> None:
    with remanence.open(None) as empty:
        assert empty.briefing() == ""
    assert "Porto" in space.as_of("2026-01-20").briefing()
    assert "Zagreb" not in space.as_of("2026-01-20").briefing()
    with pytest.raises(InvalidInput, match="max_tokens"):
        space.briefing(max_tokens=0)

"""Who a space is about, in a few sentences."""

from __future__ import annotations

import pytest

import remanence
from remanence import Space
from remanence.testing import FakeClock, HashingEmbedder


def test_a_profile_is_in_the_third_person_most_defining_first(space: Space) -> None:
    """And each sentence names the memory behind it."""
    tea = space.add("I like green tea.", kind="viewpoint", importance=0.3)
    home = space.add("I live in Porto.", importance=0.9)
    profile = space.profile()

    assert str(profile) == "The user lives in Porto. The user likes green tea."
    assert [statement.memories for statement in profile.statements] == [(home.id,), (tea.id,)]


def test_what_is_past_is_not_in_it(space: Space, clock: FakeClock) -> None:
    """Superseded, forgotten, expired and over: none of it describes anybody now."""
    space.add("Alice lives in Porto.")
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.")
    space.forget(space.add("Alice plays chess.").id)
    space.add("Alice is on a diet.", expires_at="2026-05-20")
    space.add("Alice works in Rome.", valid_from="2020", valid_until="2021")
    assert str(space.profile()) == "Alice lives in Lisbon. Alice is on a diet."
    clock.advance(days=30)

    assert str(space.profile()) == "Alice lives in Lisbon."


def test_a_profile_of_the_past_is_that_of_the_past(space: Space, clock: FakeClock) -> None:
    """As everything is."""
    space.add("Alice lives in Porto.")
    before = clock.now()
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.")

    assert str(space.as_of(before).profile()) == "Alice lives in Porto."


def test_conversation_is_not_in_it_but_what_it_told_is(space: Space) -> None:
    """Turns and documents are sources, not statements."""
    space.add_turns([{"speaker": "Bob", "content": "Alice lives in Porto."}])
    space.add("Alice wrote to me. " * 40)
    assert not space.profile()

    space.remember([{"role": "user", "content": "By the way, I live in Porto."}])
    assert "Porto" in str(space.profile())


def test_it_keeps_to_its_budget(space: Space) -> None:
    """The least defining is left out."""
    for number in range(50):
        space.add(f"Alice has visited place number {number}.", importance=0.9 - number / 100)
    profile = space.profile(max_tokens=30)

    assert 0 < len(str(profile)) <= 120
    assert "number 0" in str(profile)


@pytest.mark.parametrize("tokens", [0, -1, True, 1.5, "many"])
def test_a_budget_that_is_none_is_refused(space: Space, tokens: object) -> None:
    """With the value."""
    with pytest.raises(remanence.InvalidInput, match="max_tokens"):
        space.profile(max_tokens=tokens)  # type: ignore[arg-type]


def test_it_is_made_once_for_each_position(clock: FakeClock) -> None:
    """A model is paid for once; a new line asks it again."""
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return '{"sentences": [{"text": "Alice lives in Porto.", "lines": [1]}]}'

    extractor = remanence.LLMExtractor(model)
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor) as space:
        memory = space.add("Alice lives in Porto.")
        first, again = space.profile(), space.profile()
        assert first is again
        assert len(asked) == 1
        assert first.statements[0].memories == (memory.id,)
        space.add("Alice likes tea.")
        space.profile()
        assert len(asked) == 2


def test_each_moment_has_its_own_profile_whichever_was_asked_for_first(space: Space) -> None:
    """Nothing was learned between the two, but something was over by the later one."""
    space.add("I live in Porto.", valid_from="2026-01-01", valid_until="2027-01-01")

    assert str(space.as_of("2028-01-01").profile()) == ""
    assert str(space.as_of("2026-06-01").profile()) == "The user lives in Porto."
    assert str(space.as_of("2028-01-01").profile()) == ""


def test_what_a_link_says_is_superseded_is_not_in_it(space: Space) -> None:
    """Whoever drew the link, and whatever the two claim."""
    old, new = space.add("The bridge is closed."), space.add("The bridge is open.")
    space.graph.link(new.id, "supersedes", old.id)

    assert str(space.profile()) == "The bridge is open."


def test_a_sentence_of_which_half_is_past_is_not_in_it(space: Space, clock: FakeClock) -> None:
    """It would say something untrue. What `remember` finds in it are two facts."""
    space.add("Alice lives in Porto and works at IBM.")
    clock.advance(days=1)
    space.add("Alice moved to Rome.")
    assert "Porto" not in str(space.profile())

    space.remember("Bob lives in Porto and works at IBM.")
    clock.advance(days=1)
    space.remember("Bob moved to Rome.")
    assert "Bob lives in Rome. Bob works at IBM." in str(space.profile())
    assert "Porto" not in str(space.profile())


def test_a_birth_is_stated_when_its_day_is_over(space: Space) -> None:
    """Nothing ends it."""
    space.remember("Alba was born on 11 March 2020.")
    assert "Alba" in str(space.profile())


@pytest.mark.parametrize(
    ("text", "is_stated"),
    [
        ("Our book club meets on the first Tuesday.", True),
        ("I have coffee only before noon.", True),
        ("I'm learning Japanese on my own, aiming for N3 in July.", True),
        ("Joe is in Canada until Sunday.", False),
        ("I play at the Roxy this weekend.", False),
    ],
)
def test_a_habit_is_stated_when_its_first_day_is_over(text: str, is_stated: bool) -> None:
    """And what only a part of it dates. What happens once is not."""
    clock = FakeClock("2026-05-04")
    with remanence.open(None, clock=clock, reader=None) as space:
        space.remember(text, now=clock.now())
        clock.advance(days=120)
        assert bool(str(space.profile())) == is_stated

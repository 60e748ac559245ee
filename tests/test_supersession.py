"""What is true now, what was true then, what is forgotten, and who may see it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import remanence
from file_contents import contents
from remanence import Recall, Space
from remanence.errors import ProjectionStale
from remanence.schema import Entry
from remanence.testing import FakeClock, HashingEmbedder
from remanence.text.text import text_hash

Reopen = Callable[..., Space]
WHERE = "Where does Alice live?"


def texts(found: Recall) -> list[str]:
    return [hit.memory.text for hit in found]


@pytest.fixture
def moved(space: Space, clock: FakeClock) -> Space:
    """Alice lived in Porto, and lives in Lisbon since Tuesday."""
    space.add("Alice lives in Porto.", key="home")
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.", key="home")
    return space


# Revisions


def test_a_revision_takes_the_place_of_the_one_before(moved: Space) -> None:
    """The answer is what is true now, once."""
    assert texts(moved.recall(WHERE)) == ["Alice lives in Lisbon."]
    assert moved.count() == 1


def test_a_revision_is_the_same_memory(space: Space, clock: FakeClock) -> None:
    """Its id stays, it remembers when it was first learned, and says when it was revised."""
    first = space.add("Alice lives in Porto.", key="home")
    clock.advance(days=1)
    second = space.add("Alice lives in Lisbon.", key="home")

    assert second.id == first.id
    assert second.recorded_at == first.recorded_at < second.revised_at == clock.now()
    assert space.get(first.id) == second


def test_history_brings_the_old_version_labelled(moved: Space, clock: FakeClock) -> None:
    """It says that it is not current, and what took its place."""
    now, then = moved.recall(WHERE, history=True)
    if then.current:
        now, then = then, now

    assert (now.memory.text, now.current, now.superseded_by) == ("Alice lives in Lisbon.", True, None)
    assert (then.memory.text, then.current) == ("Alice lives in Porto.", False)
    assert then.superseded_by.text == "Alice lives in Lisbon."
    explained = moved.recall(WHERE, history=True).explain()
    assert re.search(r"Alice lives in Porto\. .*2026-05-05 09:00.*Alice lives in Lisbon", explained)


@pytest.mark.parametrize(
    ("question", "past"),
    [
        ("Where does Alice live?", False),
        ("Where did Alice meet Bob?", False),
        ("Where did Alice live previously?", True),
        ("Where did Alice use to live? Where she lives no longer", True),
        ("Where did Alice live in April 2026?", True),
    ],
)
def test_a_question_about_the_past_brings_history_by_itself(moved: Space, question: str, past: bool) -> None:
    """The wording decides, and `history=` overrules it."""
    assert ("Alice lives in Porto." in texts(moved.recall(question))) is past
    assert "Alice lives in Porto." in texts(moved.recall(question, history=True))
    assert "Alice lives in Porto." not in texts(moved.recall(question, history=False))


def test_a_window_brings_history_unless_told_not_to(moved: Space) -> None:
    """`during` asks about a time, so old versions come forward; `history=False` is the last word."""
    assert "Alice lives in Porto." in texts(moved.recall(WHERE, during="May 2026"))
    assert texts(moved.recall(WHERE, during="May 2026", history=False)) == ["Alice lives in Lisbon."]


def test_only_the_version_that_stands_replaces_those_before(space: Space, clock: FakeClock) -> None:
    """After two moves, both old homes point to the newest one."""
    for city in ("Porto", "Lisbon", "Faro"):
        space.add(f"Alice lives in {city}.", key="home")
        clock.advance(days=1)

    old = [hit for hit in space.recall(WHERE, history=True) if not hit.current]
    assert sorted(texts(space.recall(WHERE, history=True))) == [
        "Alice lives in Faro.",
        "Alice lives in Lisbon.",
        "Alice lives in Porto.",
    ]
    assert [hit.superseded_by.text for hit in old if hit.superseded_by] == ["Alice lives in Faro."] * 2


def test_a_revision_back_to_the_old_words_is_a_revision(space: Space, clock: FakeClock) -> None:
    """Porto, Lisbon, Porto again: three versions, and Porto stands."""
    for city in ("Porto", "Lisbon", "Porto"):
        clock.advance(days=1)
        memory = space.add(f"Alice lives in {city}.", key="home")

    assert space.get(memory.id) == memory
    assert memory.text == "Alice lives in Porto."
    assert space.verify().entries == 3


# Two clocks


def test_a_view_does_not_see_the_future(space: Space, clock: FakeClock) -> None:
    """What is learned on Tuesday is unknown to Monday."""
    monday = clock.now()
    clock.advance(days=1)
    memory = space.add("The bridge is closed.")

    assert space.recall("bridge")
    view = space.as_of(monday)
    assert not view.recall("bridge")
    assert (view.get(memory.id), view.count(), list(view.memories())) == (None, 0, [])


def test_a_view_knows_what_was_true_then(moved: Space, clock: FakeClock) -> None:
    """On Monday, Alice lived in Porto, and nobody knew better."""
    [hit] = moved.as_of("2026-05-04T12:00").recall(WHERE, history=True)

    assert (hit.memory.text, hit.current, hit.superseded_by) == ("Alice lives in Porto.", True, None)
    assert [m.text for m in moved.as_of("2026-05-04T12:00").memories()] == ["Alice lives in Porto."]
    assert moved.as_of("2026-05-04T12:00").count() == 1


def test_a_view_of_the_past_shows_what_was_forgotten_since(space: Space, clock: FakeClock) -> None:
    """Forgetting begins when it is done."""
    memory = space.add("The code of the gate is 4711.")
    monday = clock.now()
    clock.advance(days=1)
    space.forget(memory.id)

    assert not space.recall("code of the gate")
    assert texts(space.as_of(monday).recall("code of the gate")) == [memory.text]
    assert space.as_of(monday).get(memory.id) == memory


def test_a_view_cannot_be_written_to(space: Space) -> None:
    """The past is over."""
    view = space.as_of("2026-05-01")

    assert not any(hasattr(view, verb) for verb in ("add", "add_many", "forget", "erase", "rebuild"))
    assert repr(view) == "<View 'default' as of 2026-05-01T00:00:00+00:00>"


def test_progress_tells_how_many_of_many_are_kept(space: Space) -> None:
    """What is told is kept, though whoever is told breaks it off; the rest can be had by doing it again."""
    rows, seen = [f"Row {n} of the table." for n in range(1_100)], list[tuple[int, int]]()

    def stop(done: int, every: int) -> None:
        seen.append((done, every))
        assert space.count() == done
        if done == 1_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        space.add_many(rows, progress=stop)
    assert seen == [(done, 1_100) for done in range(250, 1_001, 250)]
    assert [memory.text for memory in space.add_many(rows)] == rows
    assert (space.count(), space.verify().entries) == (1_100, 1_100)


def test_each_of_many_is_learned_at_its_own_moment(space: Space) -> None:
    """A diary is read in with its dates; a page that comes too late comes right after the one before."""
    pages = [("Snow.", "2026-01-10"), ("Thaw.", "2026-02-10"), ("Frost.", "2026-01-20")]
    kept = space.add_many([{"text": text, "now": now} for text, now in pages])

    assert [f"{memory.recorded_at:%m-%d %f}" for memory in kept] == ["01-10 000000", "02-10 000000", "02-10 000001"]
    assert [space.as_of(now).count() for _, now in pages] == [1, 2, 1]


def test_a_view_before_the_beginning_is_empty(moved: Space) -> None:
    """No error, no answer."""
    view = moved.as_of("1999-12-31")

    assert (len(view.recall(WHERE)), view.count()) == (0, 0)
    assert "nothing found" in view.recall(WHERE).explain()


def test_when_it_was_true_is_asked_with_during(space: Space) -> None:
    """All three were learned today; they were true in different years."""
    space.add("Alice worked at the harbour.", valid_from="2019", valid_until="2021")
    space.add("Alice worked at the bakery.", valid_from="2021", valid_until="2024")
    space.add("Alice worked at the school.", valid_from="2024")

    def jobs(during: object) -> list[str]:
        found = space.recall("Where did Alice work?", during=during)  # type: ignore[arg-type]
        return sorted(text.split()[-1][:-1] for text in texts(found))

    assert jobs("2020") == ["harbour"]
    assert jobs(("2020", "2022")) == ["bakery", "harbour"]
    assert jobs(("2023", None)) == ["bakery", "school"]
    assert jobs((None, "2019-06")) == ["harbour"]
    assert jobs("2021-01-01") == ["bakery"], "a window ends before its last moment"


def test_a_time_that_is_given_counts_more_than_one_in_the_words(space: Space) -> None:
    """Who says since when it is true has read the text too."""
    told = space.add("We married on 3 May 2025.", valid_from="2025-05-04")

    assert (str(told.valid), told.kind) == ("since 2025-05-04", "semantic")


def test_what_began_and_did_not_end_is_no_episode(space: Space) -> None:
    """It still holds; what has an end happened."""
    since, then = space.add("Ann has been a vegan since March 2025."), space.add("Ann left in March 2025.")

    assert (str(since.valid), since.kind) == ("since 2025-03-01", "semantic")
    assert (str(then.valid), then.kind) == ("2025-03-01 to 2025-04-01", "episode")


def test_what_has_no_date_may_be_true_at_any_time(space: Space) -> None:
    """`during` leaves out what is known not to hold, not what is not known to."""
    space.add("Alice is allergic to peanuts.")

    assert texts(space.recall("allergic", during="2020")) == ["Alice is allergic to peanuts."]


def test_a_fact_that_arrives_late_lands_where_it_belongs(space: Space, clock: FakeClock) -> None:
    """Learned in June, true in April: June's view of April has it, May's does not."""
    may = clock.now()
    clock.advance(days=40)
    space.add("The roof leaked.", valid_from="2026-04-10", valid_until="2026-04-12")

    assert texts(space.recall("roof", during="April 2026")) == ["The roof leaked."]
    assert not space.recall("roof", during="May 2026")
    assert not space.as_of(may).recall("roof", during="April 2026")


def test_what_has_expired_steps_back(space: Space, clock: FakeClock) -> None:
    """It is gone from the answer at its hour, and comes forward, labelled, with history."""
    memory = space.add("The market is in Elm Street this week.", expires_at="2026-05-11")
    assert space.recall("Where is the market?")[0].current

    clock.advance(days=7)
    assert not space.recall("Where is the market?")
    [hit] = space.recall("Where is the market?", history=True)
    assert (hit.current, hit.superseded_by) == (False, None)
    assert "(expired)" in str(space.recall("Where is the market?", history=True))
    assert texts(space.as_of("2026-05-05").recall("Where is the market?")) == [memory.text]
    assert space.recall("Where is the market?", now="2026-05-10")[0].current


# Forgetting


def test_the_forgotten_come_back_with_unforget(space: Space, clock: FakeClock) -> None:
    """And the time in between stays a gap in the views of it."""
    memory = space.add("Bob owes me ten euros.")
    clock.advance(days=1)
    space.forget(memory.id, why="settled")
    tuesday = clock.now()
    assert (space.get(memory.id), space.count(), list(space.memories())) == (None, 0, [])

    clock.advance(days=1)
    space.unforget(memory.id)
    assert space.get(memory.id) == memory
    assert texts(space.recall("Bob euros")) == [memory.text]
    assert not space.as_of(tuesday).recall("Bob euros")


def test_forgetting_twice_says_nothing_new(space: Space) -> None:
    """Nor does bringing back what is not forgotten."""
    memory = space.add("Bob owes me ten euros.")
    space.unforget(memory.id)
    space.forget(memory.id)
    space.forget(memory.id)

    assert space.verify().entries == 2


def test_forgetting_hides_every_version(moved: Space) -> None:
    """History does not bring back what was forgotten."""
    [hit] = moved.recall(WHERE)
    moved.forget(hit.memory.id)

    assert not moved.recall(WHERE, history=True)
    assert moved.as_of("2026-05-04T12:00").recall(WHERE)


@pytest.mark.parametrize("verb", ["forget", "unforget", "erase"])
def test_what_is_not_there_cannot_be_forgotten(space: Space, verb: str) -> None:
    """The error names the id and where ids come from; another space's id is as unknown as any."""
    elsewhere = space.child("bob").add("I am Bob.").id

    for unknown in ("no-such-id", elsewhere):
        with pytest.raises(remanence.NotFound, match=f"'default' has no memory '{unknown}'. Ids are those of"):
            getattr(space, verb)(unknown)
    assert space.child("bob").count() == 1


def test_said_again_after_it_was_forgotten_it_is_remembered(space: Space) -> None:
    """The same memory, visible again."""
    memory = space.add("Carol likes figs.")
    space.forget(memory.id)
    again = space.add("Carol likes figs.")

    assert again.id == memory.id
    assert texts(space.recall("figs")) == ["Carol likes figs."]
    assert space.count() == 1


def test_said_again_after_recall_and_forget_it_is_remembered(space: Space) -> None:
    """That it was recalled a moment ago does not make it an echo: it is not there any more."""
    memory = space.add("Carol likes figs and dates.")
    space.recall("figs")
    space.forget(memory.id)
    space.add("Carol likes figs and dates.")

    assert texts(space.recall("figs")) == ["Carol likes figs and dates."]


# Erasing

SECRET = "Zdenka Brzobohata keeps the quicksilver under the marmalade jars."
TRACES = ("Zdenka", "zdenka", "brzobohata", "Brzobohata", "quicksilv", "marmalad")


def traces(home: Path) -> list[str]:
    """Where in the files the secret can still be read."""
    return [f"{word} in {path.name}" for path, held in contents(home) for word in TRACES if word.encode() in held]


@pytest.mark.usefixtures("with_files")
def test_erasing_takes_half_a_snapshot_too(reopen: Reopen, home: Path) -> None:
    """A process that was killed while it wrote one left it behind, words and all."""
    memory = reopen().add(SECRET)
    reopen().count()
    [snapshot] = (home / "index").glob("*/*.idx")
    half = snapshot.with_suffix(".4242.part")
    half.write_bytes(SECRET.encode())

    reopen().erase(memory.id)
    assert not half.exists()
    assert traces(home) == []


def test_erasing_takes_the_embeddings_too(reopen: Reopen) -> None:
    """What only this memory needed is dropped; what another one shares is kept."""
    space = reopen()
    memory = space.add("Zdenka met Alice in the marmalade shop.")
    other = space.add("Alice lives in Porto.")
    hashes = {text: text_hash(text) for text in (memory.text, other.text, "Zdenka", "Alice")}

    def kept() -> list[str]:
        found = space._engine.ledger.vectors(space.name, HashingEmbedder().fingerprint, list(hashes.values()))
        return sorted(text for text, key in hashes.items() if key in found)

    assert kept() == sorted(hashes)
    space.erase(memory.id)
    assert kept() == ["Alice", "Alice lives in Porto."]


def test_erasing_takes_every_version_out_of_every_view(moved: Space, clock: FakeClock) -> None:
    """The one thing that changes the past."""
    [hit] = moved.recall(WHERE)
    view = moved.as_of("2026-05-04T12:00")
    assert view.recall(WHERE)
    moved.erase(hit.memory.id)

    assert not view.recall(WHERE)
    assert not view.recall(WHERE, history=True)
    assert not moved.recall(WHERE, history=True)
    assert (view.get(hit.memory.id), view.count(), moved.count()) == (None, 0, 0)
    assert moved.verify().entries == 3


@pytest.mark.parametrize("key", [None, "secret"])
def test_said_again_after_it_was_erased_it_is_another_memory(space: Space, key: str | None) -> None:
    """The old id stays blank for ever."""
    memory = space.add(SECRET, key=key)
    space.recall("marmalade")
    space.erase(memory.id)
    again = space.add(SECRET, key=key)

    assert again.id != memory.id
    assert texts(space.recall("marmalade", history=True)) == [SECRET]
    assert space.get(memory.id) is None
    space.rebuild()
    assert [m.id for m in space.memories()] == [again.id]


def test_the_erased_cannot_be_brought_back(space: Space) -> None:
    """Not by `unforget`, not by erasing twice."""
    memory = space.add(SECRET)
    space.forget(memory.id)
    space.erase(memory.id)
    space.erase(memory.id)
    with pytest.raises(remanence.NotFound, match="was erased"):
        space.unforget(memory.id)

    assert space.get(memory.id) is None
    assert not space.recall("marmalade", history=True)
    space.verify()


# Repeats


def test_the_same_words_are_the_same_memory(space: Space) -> None:
    """Case and spacing apart; a second line is not written."""
    memory = space.add("Alice lives in Porto.")

    assert space.add("Alice lives in Porto.") == memory
    assert space.add("  alice LIVES in\nPorto. ").id == memory.id
    assert space.count() == 1


def test_the_same_key_and_words_say_nothing_new(space: Space) -> None:
    """An import can be run twice."""
    rows = [{"text": f"Note {n}.", "key": f"n{n}"} for n in range(5)]
    first = space.add_many(rows)

    assert space.add_many(rows) == first
    assert space.add_many(rows + rows) == first + first
    assert space.verify().entries == 5


def test_each_of_many_is_given_back_in_the_version_it_became(space: Space) -> None:
    """One that says nothing new is given as it was when its turn came, though the next one revises it."""
    space.add("The door is green.", key="door")
    rows = ["The door is green.", "The door is red.", "The door is red.", "The door is blue."]
    given = space.add_many([{"text": text, "key": "door"} for text in rows])

    assert [memory.text for memory in given] == rows
    assert space.verify().entries == 3


@pytest.mark.parametrize(
    "field",
    [
        {"tags": ["home"]},
        {"kind": "viewpoint"},
        {"importance": 0.9},
        {"confidence": 0.4},
        {"source": "a letter"},
        {"observed_by": "Bob"},
        {"expires_at": "2027-01-01"},
        {"meta": {"page": 7}},
        {"entities": ["Alice"]},
        {"triples": [("Alice", "lives_in", "Porto")]},
    ],
    ids=lambda field: next(iter(field)),
)
def test_the_same_words_with_another_field_are_a_revision(space: Space, field: dict[str, Any]) -> None:
    """Nothing that was said is dropped."""
    memory = space.add("Alice lives in Porto.")
    told = space.add("Alice lives in Porto.", **field)

    assert told.id == memory.id
    assert space.get(memory.id) == told
    assert (space.count(), space.verify().entries) == (1, 2)


@pytest.mark.parametrize("field", [{"tags": ["vow"]}, {"meta": {"page": 7}}], ids=["tags", "meta"])
def test_a_turn_with_another_field_is_a_revision(space: Space, field: dict[str, Any]) -> None:
    """Nothing that was said is dropped there either."""
    turn = {"speaker": "Ann", "content": "I do.", "time": "2026-05-01"}
    [memory] = space.add_turns([turn])
    [told] = space.add_turns([{**turn, **field}])

    assert told.id == memory.id
    assert space.get(memory.id) == told
    assert (space.count(), space.verify().entries) == (1, 2)


def test_the_same_words_about_another_time_are_another_memory(space: Space) -> None:
    """Two dinners at Luigi's are two dinners."""
    space.add("We had dinner at Luigi's.", valid_from="2026-05-01", valid_until="2026-05-02")
    space.add("We had dinner at Luigi's.", valid_from="2026-05-08", valid_until="2026-05-09")

    assert len(space.recall("dinner at Luigi's")) == 2


def test_turns_read_in_twice_are_kept_once(space: Space) -> None:
    """Also when the same short word was said twice in one conversation."""
    turns = [
        {"speaker": who, "content": what, "conversation": "c1", "time": f"2026-05-0{day}"}
        for who, what, day in (("Ann", "Yes.", 1), ("Bo", "Really?", 1), ("Ann", "Yes.", 2))
    ]
    first = space.add_turns(turns)

    assert [m.id for m in space.add_turns(turns)] == [m.id for m in first]
    assert len({m.id for m in first}) == space.count() == 3


def test_the_same_words_of_two_speakers_are_two_turns(space: Space) -> None:
    """Also at the same moment."""
    said = [{"speaker": who, "content": "I agree.", "time": "2026-05-01"} for who in ("Ann", "Bo")]

    assert [memory.observed_by for memory in space.add_turns(said)] == ["Ann", "Bo"]
    assert space.count() == 2


def test_the_same_words_twice_in_one_go_are_two_turns(space: Space) -> None:
    """Though nobody says when they were said; handed in once more, they are the two that are here."""
    turns = [{"speaker": who, "content": what} for who, what in (("Ann", "Yes."), ("Bo", "Sure?"), ("Ann", "Yes."))]
    first = space.add_turns(turns)

    assert space.add_turns(turns) == first
    assert len({memory.id for memory in first}) == space.count() == 3


def test_what_was_just_recalled_is_not_stored_again(space: Space) -> None:
    """An agent that hands back what it was given adds nothing, whatever key the original had."""
    memory = space.add("Alice prefers the window seat.", key="seat")
    space.recall("Which seat?")
    echo = space.add("alice prefers the  window seat.")

    assert echo.id == memory.id
    assert space.count() == 1


def test_recalled_words_under_a_key_are_kept_under_it(space: Space) -> None:
    """Whoever gives a key will ask for it, and may revise it."""
    space.add("Alice prefers the window seat.")
    space.recall("Which seat?")
    space.add("Alice prefers the window seat.", key="seat")

    kept = space.find("seat")
    assert kept.text == "Alice prefers the window seat."


def test_recalled_words_whose_memory_was_forgotten_are_news(space: Space) -> None:
    """It was kept under a key; said again without one, the words are not swallowed."""
    memory = space.add("Alice prefers the window seat.", key="seat")
    space.recall("Which seat?")
    space.forget(memory.id)
    again = space.add("Alice prefers the window seat.")

    assert space.get(again.id) == again
    assert space.count() == 1


def test_short_words_are_no_echo(space: Space) -> None:
    """People say yes more than once."""
    space.add("Yes, I do.", key="vow")
    space.recall("yes")
    space.add("Yes, I do.")

    assert space.count() == 2


def test_recalled_words_about_another_time_are_no_echo(space: Space) -> None:
    """A second dinner at Luigi's is news, though the first was just recalled."""
    space.add("We had dinner at Luigi's place.", valid_from="2026-05-01", valid_until="2026-05-02")
    space.recall("dinner")
    space.add("We had dinner at Luigi's place.", valid_from="2026-05-08", valid_until="2026-05-09")

    assert len(space.recall("dinner")) == 2


def test_a_question_asked_again_another_day_is_another_turn(space: Space) -> None:
    """That the memory served the old one does not swallow the new one."""
    for day in (1, 2, 3):
        asked = {"speaker": "Ann", "content": "What is on my calendar today?", "time": f"2026-05-0{day}"}
        space.add_turns([asked])
        space.recall("What is on my calendar today?")

    assert space.count() == 3


def test_recalled_words_with_a_new_tag_are_a_revision(space: Space) -> None:
    """What the caller adds to them is kept."""
    space.add("Alice prefers the window seat.")
    space.recall("Which seat?")
    space.add("Alice prefers the window seat.", tags=["travel"])

    assert [hit.memory.tags for hit in space.recall("Which seat?")] == [("travel",)]


# Isolation


@pytest.fixture
def folder_space(reopen: Reopen) -> Iterator[Space]:
    with reopen() as space:
        yield space


NAMES = ["ali", "alice", "a/b", "..", "../ali", ".", "%2F", "a%2Fb", "🦊", "ali ", "ALI", "ali%", "x" * 255]


def test_no_space_sees_another(folder_space: Space) -> None:
    """Not parent and child, not siblings, not prefixes, whatever they are called."""
    spaces = [folder_space, *(folder_space.child(name) for name in NAMES), folder_space.child("ali", "ce")]
    spaces += [folder_space.child("a").child("b"), folder_space.child("users", "ali")]
    for number, space in enumerate(spaces):
        space.add(f"Secret number {number} is safe.", key="secret", tags=["secret"])

    assert len({space.name for space in spaces}) == len(spaces)
    for number, space in enumerate(spaces):
        found = space.recall("Secret number", limit=100, history=True, tags="secret")
        assert texts(found) == [f"Secret number {number} is safe."]
        assert space.count() == 1
    assert sorted(folder_space.spaces()) == sorted(space.name for space in spaces)


def test_an_id_opens_nothing_in_another_space(space: Space) -> None:
    """`get` across spaces is None."""
    mine = space.add("Mine.")
    theirs = space.child("bob").add("Theirs.")

    assert space.get(theirs.id) is None
    assert space.child("bob").get(mine.id) is None
    assert space.child("bob").get(theirs.id) == theirs


def test_names_with_a_slash_do_not_reach_a_grandchild(space: Space) -> None:
    """`child("a/b")` is one name, `child("a", "b")` is two."""
    space.child("a", "b").add("Deep.")

    assert space.child("a/b").count() == 0
    assert space.child("a").child("b").count() == 1


def test_spaces_with_any_name_are_found_again(reopen: Reopen, home: Path) -> None:
    """And write nothing outside the folder."""
    space = reopen()
    for name in NAMES:
        space.child(name).add(f"I am {name}.")
    space = reopen()

    assert [space.child(name).count() for name in NAMES] == [1] * len(NAMES)
    assert {path.name for path in home.parent.iterdir()} == {"memory"}


def test_a_name_has_at_most_255_characters(space: Space) -> None:
    """One more is refused, with the length and a way out."""
    assert space.child("x" * 255).count() == 0
    with pytest.raises(remanence.InvalidInput, match=r"'x{39}…' has 256 characters. Use at most 255"):
        space.child("x" * 256)


def test_spaces_can_be_opened_by_name(home: Path) -> None:
    """`space=` names another tree in the same folder."""
    with remanence.open(home, space="work", embedder=HashingEmbedder()) as work:
        work.add("The report is due.")
    with remanence.open(home, embedder=HashingEmbedder()) as default:
        assert (default.count(), default.spaces()) == (0, [])
    with remanence.open(home, space="work", embedder=HashingEmbedder()) as work:
        assert (work.count(), work.spaces()) == (1, ["work"])


def test_more_spaces_than_stay_open_at_once(reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each finds its own, also those that were put away in between."""
    monkeypatch.setattr("remanence.index.engine.open_indexes._MIN_OPEN", 3)
    space = reopen(cache_size=1)
    for number in range(8):
        space.child(f"user {number}").add(f"My number is {number}.")

    assert len(space._engine.indexes) <= 4
    for number in (0, 1, 4, 7):
        child = space.child(f"user {number}")
        assert texts(child.recall("number")) == [f"My number is {number}."]
        assert child.admin.check() == {}


# Looking


def test_memories_come_in_the_order_they_were_learned(space: Space, clock: FakeClock) -> None:
    """A revised one at the place of its revision, a forgotten one not at all."""
    a, b, c = (space.add(f"Thing {name}.", key=name) for name in "abc")
    clock.advance(days=1)
    space.add("Thing a, revised.", key="a")
    space.forget(b.id)

    assert [m.text for m in space.memories()] == ["Thing c.", "Thing a, revised."]
    assert space.count() == 2
    assert space.get(c.id) == c
    assert space.get(a.id) == next(m for m in space.memories() if m.key == "a")


def test_every_field_comes_back_as_it_was_given(reopen: Reopen) -> None:
    """From `add`, from `get`, from `recall`, and after reopening."""
    space = reopen()
    memory = space.add(
        "Alice plays the cello.",
        key="cello",
        kind="viewpoint",
        valid_from="2020-01-01",
        valid_until="2030-01-01",
        importance=0.9,
        confidence=0.7,
        tags=["music", "home", "music"],
        source="letter",
        observed_by="Bob",
        expires_at="2031-01-01",
        entities=[("Alice", "person"), "cello"],
        triples=[("Alice", "plays", "cello")],
        meta={"page": 3, "nested": {"a": [1, None, "ü"]}},
    )

    assert (memory.key, memory.kind, memory.importance, memory.confidence) == ("cello", "viewpoint", 0.9, 0.7)
    assert (memory.tags, memory.source, memory.observed_by) == (("music", "home"), "letter", "Bob")
    assert str(memory.valid) == "2020-01-01 to 2030-01-01"
    assert memory.meta == {"page": 3, "nested": {"a": [1, None, "ü"]}}
    assert [m.name for m in memory.mentions] == ["Alice", "cello"]
    assert [str(t) for t in memory.triples] == ["Alice —plays→ cello"]
    for again in (space.get(memory.id), space.recall("cello")[0].memory, reopen().get(memory.id)):
        assert again == memory


def test_a_folder_of_the_first_release_opens(home: Path) -> None:
    """Written by 0.1.0 and never since: its truth, its past and its secrets are as they were."""
    shutil.copytree(Path(__file__).parent / "ledgers" / "0.1.0", home, dirs_exist_ok=True)
    with remanence.open(home, embedder=HashingEmbedder(16)) as space:
        assert (space.verify().entries, space.child("users", "bob").verify().entries) == (8, 1)
        assert [memory.text for memory in space.memories()] == [
            "Alice lives in Lisbon.",
            "Where do we eat?",
            "I booked Casa Lisboa yesterday.",
        ]
        assert space.recall("Where does Alice live?")[0].memory.text == "Alice lives in Lisbon."
        then = space.as_of("2026-05-01").recall("Where does Alice live?")
        assert [hit.memory.text for hit in then] == ["Alice lives in Porto."]
        assert not space.recall("What is Bob's PIN?", history=True, signals=["words"])
        assert len(space.child("users", "bob").recall("山田")) == 1
        assert space.admin.check() == {}


def test_a_folder_that_does_not_say_its_embedder_in_our_words_can_be_embedded_anew(home: Path) -> None:
    """It is refused with the way out, and the way out leads somewhere."""
    shutil.copytree(Path(__file__).parent / "ledgers" / "v1", home, dirs_exist_ok=True)
    with pytest.raises(ProjectionStale, match=r"'static-4'.*remanence\.reembed"):
        remanence.open(home, embedder=HashingEmbedder(16))
    remanence.reembed(home, embedder=HashingEmbedder(16))
    with remanence.open(home, space="home", embedder=HashingEmbedder(16)) as space:
        assert space.recall("Where does Alice live?")[0].memory.text == "Alice lives in Lisbon."
        assert space.admin.check() == {}


def test_a_longer_list_begins_as_a_short_one_does(space: Space) -> None:
    """What contradicts a hit comes right after it, however far down it would have stood."""
    ids = [space.add(f"The gate {'of the harbour ' * (n < 2)}is painted colour {n}.").id for n in range(9)]
    space.graph.link(ids[0], "contradicts", ids[7])
    space.graph.link(ids[7], "contradicts", ids[8])
    whole = [hit.memory.id for hit in space.recall("the gate of the harbour", limit=9)]

    assert whole.index(ids[7]) == whole.index(ids[0]) + 1
    for limit in range(1, 9):
        found = [hit.memory.id for hit in space.recall("the gate of the harbour", limit=limit)]
        assert found == whole[:limit]


@pytest.mark.usefixtures("with_files")
def test_lines_that_are_no_memories_are_in_the_snapshot_too(reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or every opening would read them again."""
    space = reopen()
    memory = space.add("Alice lives in Porto.")
    space = reopen()
    for _ in range(3):
        space.touch(memory.id)
    space = reopen()
    ledger = space._engine.ledger
    read, asked = ledger.read, []

    def noted(name: str, *, after: int = 0) -> Iterator[Entry]:
        asked.append(after)
        return read(name, after=after)

    monkeypatch.setattr(ledger, "read", noted)
    space.count()

    assert asked == [ledger.head() - 1]  # the last entry in the file, which shows that it is of this ledger


@pytest.mark.parametrize("town", ["Porto", "Lisbon"])
def test_what_followed_may_be_over_as_well(space: Space, town: str) -> None:
    """Then nothing stands in the place of the first, whichever of them is asked for."""
    space.add("Alice lives in Porto.", now="2026-01-01")
    space.add("Alice lives in Lisbon.", now="2026-03-01")
    space.graph.invalidate("Alice", "lives_in", valid_until="2026-04-01")

    assert not space.recall(f"Does Alice live in {town}?")
    past = space.recall(f"Does Alice live in {town}?", history=True)
    assert {hit.memory.text: hit.current for hit in past} == {
        "Alice lives in Porto.": False,
        "Alice lives in Lisbon.": False,
    }


def test_what_no_longer_holds_contradicts_nobody(space: Space) -> None:
    """A link to it does not bring it back among what holds now."""
    old = space.add("Alice lives in Porto.", now="2026-01-01")
    new = space.add("Alice lives in Lisbon.", now="2026-03-01")
    note = space.add("Nobody of them ever left the capital.", now="2026-03-02")
    space.graph.link(note, "contradicts", old)

    assert set(texts(space.recall(f"{WHERE} In the capital?"))) == {new.text, note.text}
    assert old.text in texts(space.recall(WHERE, history=True))


def test_a_link_brings_back_what_only_the_order_decided(space: Space) -> None:
    """Whoever says that two memories contradict each other gets both, until a link says which of them is right."""
    old, new = space.add("Alice lives in Porto."), space.add("Alice lives in Lisbon.")
    assert texts(space.recall(WHERE)) == [new.text]
    space.graph.link(old, "contradicts", new)
    found = space.recall(WHERE)
    assert [(hit.memory.id, hit.current) for hit in found] == [(new.id, True), (old.id, False)]
    assert [[memory.id for memory in hit.contradicted_by] for hit in found] == [[old.id], [new.id]]

    space.graph.link(new, "supersedes", old)
    assert texts(space.recall(WHERE)) == [new.text]


def test_what_a_link_says_was_replaced_steps_back(space: Space) -> None:
    """From what holds now; history brings it, labelled."""
    old, new = space.add("The bridge is open."), space.add("The bridge was closed on Monday.")
    space.graph.link(new, "supersedes", old)

    assert texts(space.recall("bridge")) == [new.text]
    shown = {hit.memory.id: (hit.current, hit.superseded_by) for hit in space.recall("bridge", history=True)}
    assert shown == {new.id: (True, None), old.id: (False, new)}


def test_what_stands_in_anothers_place_has_to_pass_the_filters_too(space: Space) -> None:
    """Neither is what was asked for: the one holds no longer, the other lacks the tag."""
    space.add("Alice lives in Porto.", tags=["old"], now="2026-01-01")
    space.add("Alice lives in Lisbon.", tags=["new"], now="2026-03-01")

    assert texts(space.recall(WHERE, tags="old")) == []
    assert texts(space.recall(WHERE, tags="new")) == ["Alice lives in Lisbon."]

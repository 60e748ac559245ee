"""What a question asks about: now, another time, or what the turns before it were about."""

from __future__ import annotations

import pytest

import remanence
from remanence.models.readers import SmallReader
from remanence.testing import FakeClock

EVENTS = (
    ("Ana broke her arm while skiing.", "2025-01-12"),
    ("Ana ran the city half marathon.", "2025-02-20"),
    ("We adopted a cat from the shelter.", "2025-03-08"),
    ("The boiler broke down and was replaced.", "2025-04-15"),
    ("We flew to Lisbon for the long weekend.", "2025-05-10"),
    ("Tom's grandmother turned ninety.", "2025-07-19"),
)
MONTHS = ("January", "February", "March", "April", "May", "July")


@pytest.mark.parametrize("reader", [None, SmallReader()], ids=["signals", "reader"])
def test_what_holds_is_before_what_ended_whichever_was_told_last(reader: object, clock: FakeClock) -> None:
    """A fact with both bounds is over, and says so."""
    with remanence.open(None, reader=reader, clock=clock) as space:
        space.add("The office is in Graz.", valid_from="2024-05-01")
        clock.advance(days=1)
        space.add("The office is in Vienna.", valid_from="2020-01-01", valid_until="2024-05-01")
        new, old = space.recall("Where is the office?", history=True)[:2]

        assert (new.memory.text, new.current) == ("The office is in Graz.", True)
        assert (old.memory.text, old.current) == ("The office is in Vienna.", False)
        assert "Vienna" in space.recall("Where was the office in 2022?")[0].memory.text


@pytest.mark.parametrize("reader", [None, SmallReader()], ids=["signals", "reader"])
@pytest.mark.parametrize("new_first", [False, True])
@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        ("Bob works at Google.", "Bob works at Stripe.", "Where does Bob work?"),
        ("The shop runs on PostgreSQL.", "The shop runs on CockroachDB.", "Which database does the shop run on?"),
        ("My car is a Skoda.", "My car is a Kia.", "What car do I have?"),
    ],
)
def test_of_two_facts_told_afterwards_the_open_one_is_first(
    old: str, new: str, question: str, new_first: bool, reader: object, clock: FakeClock
) -> None:
    """Also if the words of the question are nearer to the one that has ended."""
    facts = [
        {"text": old, "valid_from": "2024-01-01", "valid_until": "2025-03-01"},
        {"text": new, "valid_from": "2025-03-01"},
    ]
    # Without the fixture's table of word vectors, for which no database is near another.
    with remanence.open(None, reader=reader, clock=clock, embedder="default") as space:
        space.add_many(reversed(facts) if new_first else facts)
        answer = space.recall(question)
        then = space.recall(question, during="June 2024")

    assert [(hit.memory.text, hit.current) for hit in answer] == [(new, True), (old, False)]
    assert then[0].memory.text == old


def test_an_ended_fact_is_shown_with_its_end(clock: FakeClock) -> None:
    """An event is never over: it happened."""
    with remanence.open(None, clock=clock) as space:
        space.add("The gym costs 30 euros.", valid_from="2023-01-01", valid_until="2025-01-01")
        space.add("The gym was painted.", kind="episode", valid_from="2023-01-01", valid_until="2023-01-02")
        lines = str(space.recall("gym", history=True)).splitlines()

    assert [line.endswith("(ended 2025-01-01)") for line in lines if "euros" in line] == [True]
    assert not any("ended" in line for line in lines if "painted" in line)


@pytest.mark.parametrize("reader", [None, SmallReader()], ids=["signals", "reader"])
@pytest.mark.parametrize(
    ("text", "current"),
    [
        ("Bob lived in Rome from 2020 to 2024.", False),
        ("Bob worked at Siemens from 2020 to 2024.", False),
        ("Bob lived in Rome.", True),
        ("Bob visited Rome in 2024.", True),
        ("Bob moved to Rome in 2024.", True),
        ("Bob married Eva in 2024.", True),
    ],
)
def test_a_past_state_with_an_end_is_over(text: str, current: bool, reader: object, clock: FakeClock) -> None:
    """Though it is told in the past tense, as an event is. What happened, or has no end, is not over."""
    with remanence.open(None, reader=reader, clock=clock) as space:
        space.add(text)
        clock.advance(days=1)
        [hit] = space.recall("Where is Bob now?")
        [listed] = space.recent()
        assert hit.current == current
        assert listed.current == current
        if "from 2020" in text:
            assert "ended 2025-01-01" in str(space.recall("Bob"))
            assert space.recall("Bob", now="2022-05-01")[0].current


@pytest.mark.parametrize(("month", "event"), list(zip(MONTHS, [text for text, _ in EVENTS], strict=True)))
def test_with_a_time_the_event_of_that_time_is_first(month: str, event: str) -> None:
    """Also with the reader, which may like another event better."""
    with remanence.open(None, reader=SmallReader()) as space:
        for text, day in EVENTS:
            space.add(text, kind="episode", valid_from=day, valid_until=f"{day}T23:00")

        assert space.recall(f"What happened in {month} 2025?", now="2026-01-10")[0].memory.text == event


ASKED = ("What happened in {} 2025?", "What did I do in {} 2025?", "What was going on with me in {} last year?")


@pytest.mark.parametrize("reader", [None, SmallReader()], ids=["signals", "reader"])
@pytest.mark.parametrize("way", ["add", "add_turns", "remember", "text"])
def test_what_happened_then_is_what_is_from_then(way: str, reader: object) -> None:
    """Not what held all the time, not what was told before, and the reader does not change that. No reason says that
    something else was valid then."""
    with remanence.open(None, reader=reader, clock=FakeClock("2026-01-10")) as space:
        space.add("I live in Vienna.", valid_from="2020-01-01")
        space.add("I work at Siemens.")
        for month, (text, day) in zip(MONTHS, EVENTS, strict=True):
            said = {"role": "user", "content": text, "time": f"{day}T10:00"}
            if way == "add":
                space.add(text, kind="episode", valid_from=day, valid_until=f"{day}T23:00")
            elif way == "text":
                space.add(f"{text.rstrip('.')} on {month} {int(day[-2:])}, 2025.")
            else:
                getattr(space, way)([said])

        for month, (event, _) in zip(MONTHS, EVENTS, strict=True):
            answers = [space.recall(each.format(month)) for each in ASKED]
            for answer in [*answers, space.recall("What happened?", during=f"{month} 2025")]:
                assert answer[0].memory.text.startswith(event.rstrip(".")), answer.question
                others = [hit for hit in answer[1:] if "Vienna" not in hit.memory.text]
                assert not any("valid" in each.reason for hit in others for each in hit.evidence)


@pytest.mark.parametrize(
    ("question", "expected"),
    [("How old is Anya?", "Anya turns 7"), ("What car do I drive?", "Kia"), ("Which city do I live in?", "Leeds")],
)
def test_a_question_that_stands_alone_is_not_disturbed_by_the_turns_before_it(question: str, expected: str) -> None:
    """However few words it has."""
    with remanence.open(None, reader=SmallReader(), clock=FakeClock("2026-01-10")) as space:
        for said in (
            "I'm severely allergic to sesame.",
            "Our daughter Anya turns 7 on March 3.",
            "We got an electric Kia.",
            "I live in Leeds.",
        ):
            space.add_turns([{"role": "user", "content": said}])
        turns = [{"role": "user", "content": "What am I allergic to?"}, {"role": "assistant", "content": "Sesame."}]
        alone, after = space.recall(question), space.recall(question, context=turns)

        assert expected in alone[0].memory.text
        assert [(hit.memory.id, hit.score) for hit in after] == [(hit.memory.id, hit.score) for hit in alone]


@pytest.mark.parametrize("reader", [None, SmallReader()], ids=["signals", "reader"])
@pytest.mark.parametrize("question", ["What's 15% of 240?", "What's the capital of Peru?"])
def test_what_needs_no_memory_needs_none_after_a_question_that_does(question: str, reader: object) -> None:
    """Nothing about allergies for the capital of Peru."""
    with remanence.open(None, reader=reader) as space:
        space.add_turns([{"role": "user", "content": "I'm severely allergic to sesame."}])
        turns = [{"role": "user", "content": "What am I allergic to?"}, {"role": "assistant", "content": "Sesame."}]

        assert not space.for_prompt(question, turns=turns).hits

"""How likely a memory still holds: by its age, what it is about, what ended in its space, and what a reader says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import remanence
from remanence.models.embedders import SentenceEmbedder, sentence_embedder
from remanence.models.lifetimes import (
    Pace,
    after_reading,
    matter_of_kind,
    matters_of,
    pace_of_spaces,
    pace_of_topic,
    survival,
)
from remanence.models.readers import SmallReader
from remanence.recall.validity.lifetimes import paces_at
from remanence.schema import Hit
from remanence.service.endpoints.upkeep_operations import review
from remanence.service.noun_forms import to_json
from remanence.testing import FakeClock
from remanence.text.framing import MIN_LIKELY, frame

YEAR = 365.25


def likely(text: str, days: float) -> float:
    """How likely a text still holds after so many days, in a space without a history."""
    [matter] = matters_of(sentence_embedder().embed([text]))
    return survival(matter, days, pace_of_topic(pace_of_spaces()))


@pytest.fixture
def told(clock: FakeClock) -> Iterator[remanence.Space]:
    """A space with the default embedder and without a reader."""
    with remanence.open(None, clock=clock, embedder=SentenceEmbedder(), reader=None) as space:
        yield space


@pytest.mark.parametrize(
    ("durable", "fleeting"),
    [
        ("my birthday is on 12 March", "my mood is awful today, everything annoys me"),
        ("I grew up in Ljubljana", "I have a dentist appointment on Thursday"),
        ("I'm allergic to hazelnuts, properly, epipen and all", "we're flying to Rome next week"),
        ("my sister Iva is a dentist in Zagreb", "the deadline for the report is Friday"),
    ],
)
def test_what_is_durable_fades_less(durable: str, fleeting: str) -> None:
    """After a year, who somebody is still holds; a mood or an appointment need not."""
    assert likely(durable, YEAR) > 0.75
    assert likely(fleeting, YEAR) < 0.6


def test_nothing_becomes_likelier_with_age() -> None:
    """The curve begins at 1 and only falls."""
    ages = [likely("I have a dentist appointment on Thursday", days) for days in (0, 1, 10, 45, 100, 240, 1000)]
    assert ages[0] == 1.0
    assert ages == sorted(ages, reverse=True)
    assert len(set(ages)) == len(ages)


def test_what_is_near_no_topic_has_the_pace_of_its_kind_of_thing() -> None:
    """A topic is named only where the vector is near to it."""
    pets, nothing = matters_of(sentence_embedder().embed(["We have two cats and a dog.", "Mitochondria make ATP."]))
    assert (pets.topic, nothing.topic) == ("pet", "")
    assert nothing.pace > 0


def test_a_hit_says_how_likely_it_holds(told: remanence.Space, clock: FakeClock) -> None:
    """A plan of last year hardly holds, an allergy does."""
    told.remember([{"role": "user", "content": "I'm allergic to hazelnuts"}])
    told.remember([{"role": "user", "content": "I have a dentist appointment on Thursday"}])
    clock.advance(days=YEAR)
    holds = {hit.memory.text: hit.holds for hit in told.recall("What about me?")}
    assert holds["I'm allergic to hazelnuts"] > MIN_LIKELY > holds["I have a dentist appointment on Thursday"]


def test_the_moment_of_the_question_counts(told: remanence.Space, clock: FakeClock) -> None:
    """`now=` and `as_of` say for which moment."""
    told.remember([{"role": "user", "content": "I have a dentist appointment on Thursday"}])
    day = clock.now()
    clock.advance(days=YEAR)
    late = told.recall("dentist", limit=1)[0].holds
    early = told.recall("dentist", limit=1, now=day + timedelta(days=1))[0].holds
    then = told.as_of(day + timedelta(days=1)).recall("dentist", limit=1)[0].holds
    assert late < 0.5 < early
    assert then == pytest.approx(early, abs=0.01)


def test_what_was_replaced_does_not_hold(told: remanence.Space) -> None:
    """A later version of the same key ends the first one."""
    told.add("The door code is 4711.", key="code")
    told.add("The door code is 0815.", key="code")
    hits = told.recall("door code", history=True)
    assert {hit.memory.text[-5:-1]: hit.holds > 0.5 for hit in hits} == {"4711": False, "0815": True}
    assert min(hit.holds for hit in hits) == 0.0


def test_a_space_learns_how_fast_its_things_change(clock: FakeClock) -> None:
    """Where the code was changed every month, a code of two months is less likely than where it never was."""
    likely = {}
    for changes in (0, 12):
        with remanence.open(None, clock=FakeClock("2026-05-04"), reader=None) as space:
            space.add("The door code is 0.", key="code", now="2025-01-01")
            for month in range(1, changes + 1):
                space.add(f"The door code is {month}.", key="code", now=f"2025-{month:02}-28")
            hit = space.recall("door code", limit=1, now="2026-02-28")[0]
            likely[changes] = space.recall("door code", limit=1, now=hit.memory.told_at + timedelta(days=60))[0].holds
    assert likely[12] < likely[0] - 0.05


def test_what_cannot_be_closed_says_nothing_of_the_pace(told: remanence.Space) -> None:
    """Many old chat turns without a claim do not make a space slow: nothing would have ended them."""
    for number in range(40):
        told.remember([{"role": "user", "content": f"we talked about the weather, time {number}"}], now="2024-01-01")
    told.remember([{"role": "user", "content": "all fine"}], now="2026-05-01")
    with told._engine.open_index(told.name) as index:
        snapshot = index.snapshot(index.catalog.position, told._engine.now())
        assert paces_at(index, snapshot).space == pace_of_spaces()


def test_an_end_makes_the_pace_faster_and_time_without_one_slower() -> None:
    """The mean of the Gamma distribution moves with what was seen."""
    assert Pace(2, 2).after(3, 1).mean > 1 > Pace(2, 2).after(0, 1).mean
    assert Pace(2, 2).after(30, 10).survival(0.1) < Pace(2, 2).survival(0.1)


def test_the_reader_moves_the_probability() -> None:
    """A reader that says a later memory replaces it lowers it; what is certain stays so."""
    assert after_reading(0.8, 0.99) < 0.8
    assert after_reading(0.8, 0.01) > after_reading(0.8, 0.5) > after_reading(0.8, 0.99)
    assert (after_reading(1.0, 0.99), after_reading(0.0, 0.01)) == (1.0, 0.0)
    said = [
        ("we're renting a flat above the bakery in Graz", "2026-01-10"),
        ("the boxes are unpacked, the house in Leibnitz is ours", "2026-05-20"),
    ]
    clock = FakeClock("2026-05-25")
    with remanence.open(None, clock=clock, embedder=SentenceEmbedder(), reader=SmallReader()) as space:
        for text, day in said:
            space.remember([{"role": "user", "content": text}], now=day)
        holds = {hit.memory.text: hit.holds for hit in space.recall("Where do I live?")}
    assert holds[said[0][0]] < 0.2 < holds[said[1][0]]


def test_without_vectors_of_the_default_embedder_the_kind_counts(space: remanence.Space, clock: FakeClock) -> None:
    """With another embedder an event and a state have the lifetimes of their kinds."""
    space.add("Ana lives in Porto.", kind="semantic")
    clock.advance(days=200)
    pace = pace_of_topic(pace_of_spaces())
    expected = survival(matter_of_kind("semantic"), 200, pace)
    assert 0 < space.recall("Ana", limit=1, reader="none")[0].holds < 1
    assert expected == pytest.approx(space.recall("Ana", limit=1, reader="none")[0].holds, abs=0.2)


def test_a_prompt_says_it_where_it_is_unlikely() -> None:
    """The line of an old mood has it, that of a birthday stays as it was."""
    with remanence.open(None, reader=None) as space:
        memory = space.add("I am tired today.", now="2025-01-10")
    unlikely, durable, closed = (
        frame([Hit(memory, 0.5, holds=holds, current=current)])
        for holds, current in ((0.234, True), (0.8, True), (0.0, False))
    )
    assert '"holds": "0.2 likely still so"' in unlikely
    assert "likely still so" not in durable + closed
    assert durable == frame([Hit(memory, 0.5)])


def test_the_json_forms_have_it(told: remanence.Space) -> None:
    """`to_dicts`, and what REST and MCP answer."""
    told.add("Alice lives in Porto.")
    recall = told.recall("Alice", limit=1)
    assert recall.to_dicts()[0]["holds"] == to_json(recall[0])["holds"] == round(recall[0].holds, 3)


class TestReview:
    """`space.upkeep.review()`: what is worth asking again."""

    @pytest.fixture
    def told(self, clock: FakeClock) -> Iterator[remanence.Space]:
        with remanence.open(None, clock=clock, embedder=SentenceEmbedder(), reader=SmallReader()) as space:
            for text, day in [
                ("my sister Iva was born on 3 June 1990", "2024-05-01"),
                ("I'm training for a half marathon with the club on Tuesdays", "2025-06-01"),
                ("I have a dentist appointment on Thursday", "2026-05-02"),
                ("we use Postgres 14 for the billing service at work", "2025-03-01"),
            ]:
                space.remember([{"role": "user", "content": text}], now=day)
            yield space

    def test_it_lists_what_may_have_ended(self, told: remanence.Space) -> None:
        """Old matters that change are listed with their topic and day; what is durable or new is not."""
        found = told.upkeep.review(below=0.6)
        texts = [each.memory.text for each in found]
        assert any("half marathon" in text for text in texts)
        assert not any("Iva" in text or "dentist" in text for text in texts)
        assert all(each.holds < 0.6 for each in found)
        assert [each.worth for each in found] == sorted((each.worth for each in found), reverse=True)
        assert "worth asking again" in str(found)
        assert found.examined_count == 4

    def test_use_makes_it_worth_more(self, told: remanence.Space) -> None:
        """What is used often is asked for first."""
        before = list(told.upkeep.review(below=0.99, now="2027-06-01"))
        last = before[-1].memory
        for _ in range(30):
            told.touch(last)
        after = {each.memory.id: each for each in told.upkeep.review(below=0.99, now="2027-06-01")}
        assert after[last.id].uses == 30
        assert after[last.id].worth > 3 * before[-1].worth

    def test_the_limit_counts_what_it_leaves_out(self, told: remanence.Space) -> None:
        """And a later moment lists more."""
        later = told.upkeep.review(now="2032-01-01", below=0.9)
        some = told.upkeep.review(now="2032-01-01", below=0.9, limit=1)
        assert (len(some), some.left_out) == (1, len(later) - 1)
        assert len(later) > len(told.upkeep.review(below=0.9, now="2026-05-04"))

    def test_wrong_arguments_are_named(self, told: remanence.Space) -> None:
        """The error has the value."""
        with pytest.raises(remanence.InvalidInput, match="below"):
            told.upkeep.review(below=2)
        with pytest.raises(remanence.InvalidInput, match="limit"):
            told.upkeep.review(limit=0)

    def test_it_is_an_operation_of_the_service(self, told: remanence.Space) -> None:
        """REST, the client and MCP have it by the same declaration."""
        answer = json.loads(review.json(told, review.request(limit=1, below=0.9, now="2032-01-01")))
        item = answer["items"][0]
        assert len(answer["items"]) == 1
        assert answer["left_out"] > 0
        assert item["memory"]["text"]
        assert 0 < item["holds"] < 0.9
        assert set(item) == {"memory", "topic", "since", "holds", "uses"}

    def test_the_command_prints_the_table(self, home: Path, run) -> None:
        """`remanence review` is `space.upkeep.review()`."""
        with remanence.open(home) as space:
            space.remember([{"role": "user", "content": "I have a dentist appointment on Thursday"}], now="2015-05-02")
        assert "dentist" in run("review", "--limit", "3", "--now", "2026-01-01")

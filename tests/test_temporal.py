"""What "last May" means, and what is not a time at all."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import remanence
from case_tables import cases
from examples import examples
from new_interpreter import run_program
from remanence.errors import InvalidInput
from remanence.schema import UTC, Window
from remanence.testing import FakeClock, HashingEmbedder
from remanence.text.temporal import TimePhrase, find_stated_times, find_times, parse_moment, parse_window
from remanence.text.temporal.time_translation import _codes, _find, _language

NOW = datetime(2023, 6, 21, 15, 30, tzinfo=UTC)  # a Wednesday


def read(text: str, now: datetime = NOW) -> str:
    """The one window said in a text, as text."""
    (found,) = find_times(text, now)
    return str(found.window)


@cases("temporal")
def test_relative_words_are_read_from_where_the_speaker_stands(text: str, window: str) -> None:
    """Weeks start on Monday; what may be past or to come is past, unless said otherwise."""
    assert read(text) == window


@cases("temporal")
def test_counted_units_are_as_wide_as_the_unit(text: str, window: str) -> None:
    """Two weeks ago is a week, three years ago a year; "the past year" runs up to today."""
    assert read(text) == window


@cases("temporal")
def test_calendar_words_are_as_wide_as_what_they_name(text: str, window: str) -> None:
    """A day is a day, a month a month; without a year it is the latest that has begun."""
    assert read(text) == window


@cases("temporal")
def test_ranges_hold_both_ends_and_open_ones_lack_one(text: str, window: str) -> None:
    """From March to June is all of March and all of June; a year said once counts for both."""
    assert read(text) == window


@cases("temporal")
def test_ordinary_words_and_numbers_are_no_times(text: str) -> None:
    """A false window sends recall to the wrong year: rather none."""
    assert find_times(text, NOW) == []


def test_every_phrase_is_found_where_it_stands() -> None:
    """Left to right, none overlapping, each with its own words."""
    text = "Was it last week, on 3 May 2022, or in 2019 and 2021?"
    found = find_times(text, NOW)
    assert [phrase.text for phrase in found] == ["last week", "3 May 2022", "2019", "2021"]
    assert all(text[phrase.start : phrase.end] == phrase.text for phrase in found)
    assert found[2] == TimePhrase("2019", 39, 43, parse_window("2019", NOW))


def test_a_month_ago_keeps_to_the_end_of_the_month() -> None:
    """There is no 31 February, and still a month before 31 March."""
    assert read("one month ago", datetime(2023, 3, 31)) == "2023-02-01 to 2023-03-01"
    assert read("a month before 31 March 2024") == "2024-02-29"


def test_a_leap_day_is_looked_for_in_leap_years() -> None:
    """29 February without a year is the latest that there was."""
    assert read("on Feb 29", datetime(2023, 6, 1)) == "2020-02-29"
    assert read("one year ago", datetime(2024, 2, 29)) == "2023-01-01 to 2024-01-01"


def test_now_is_taken_to_utc() -> None:
    """At two in the morning in Tokyo it is still yesterday in UTC."""
    tokyo = timezone(timedelta(hours=9))
    assert read("today", datetime(2023, 6, 22, 2, tzinfo=tokyo)) == "2023-06-21"
    assert read("today", datetime(2023, 6, 22, 2)) == "2023-06-22"


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (datetime(2026, 5, 3, 10), "2026-05-03T10:00:00+00:00"),
        (datetime(2026, 5, 3, 10, tzinfo=timezone(timedelta(hours=2))), "2026-05-03T08:00:00+00:00"),
        (date(2026, 5, 3), "2026-05-03T00:00:00+00:00"),
        ("2026", "2026-01-01T00:00:00+00:00"),
        ("2026-05", "2026-05-01T00:00:00+00:00"),
        ("2026-05-03T10:00Z", "2026-05-03T10:00:00+00:00"),
        ("2026-05-03T10:00:00.250000+00:00", "2026-05-03T10:00:00.250000+00:00"),
        ("9999-12-31", "9999-12-31T00:00:00+00:00"),
        ("last May", "2023-05-01T00:00:00+00:00"),
        ("  in May ", "2023-05-01T00:00:00+00:00"),
        ("march", "2023-03-01T00:00:00+00:00"),
        ("now", "2023-06-21T15:30:00+00:00"),
        ("3 May 2022 at 10:15", "2022-05-03T10:15:00+00:00"),
        ("1 year 2 months ago", "2022-04-01T00:00:00+00:00"),
    ],
)
def test_a_moment_is_read_from_what_one_has(value: datetime | date | str, moment: str) -> None:
    """Naive is UTC; words and part dates mean the start of what they name."""
    assert parse_moment(value, NOW).isoformat() == moment


@pytest.mark.parametrize(
    "value",
    [
        *("", "  ", "nonsense", "0000", "0000-01-01", "99999", "2026-13", "2026-02-30", "2026-05-03T25:00"),
        *("x" * 1_000_000, "1" * 5000, "before 2020", "\x00", "🦀", None, 5, 2.5, True, [], b"2026"),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_moment_is_refused_with_its_value(value: object) -> None:
    """The error names the parameter, shows the value in short, and says what to give instead."""
    with pytest.raises(InvalidInput, match="valid_from=") as caught:
        parse_moment(value, NOW, argument="valid_from")  # type: ignore[arg-type]
    assert "Give a datetime" in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("value", "window"),
    [
        (Window(NOW, None), Window(NOW, None)),
        (NOW, Window.from_moment(NOW)),
        (date(2026, 4, 3), "2026-04-03"),
        ("April 2026", "2026-04-01 to 2026-05-01"),
        ("2026-04", "2026-04-01 to 2026-05-01"),
        ("2026", "2026-01-01 to 2027-01-01"),
        ("may", "2023-05-01 to 2023-06-01"),
        ("summer", "2023-06-01 to 2023-09-01"),
        ("since May", "since 2023-05-01"),
        ("before 2020", "until 2020-01-01"),
        ("between March and June 2024", "2024-03-01 to 2024-07-01"),
        ("the first half of 2022", "2022-01-01 to 2022-07-01"),
        (("2026-03", "2026-05"), "2026-03-01 to 2026-05-01"),
        ((None, date(2026, 5, 1)), "until 2026-05-01"),
        (("last May", None), "since 2023-05-01"),
        ((None, None), "any time"),
    ],
)
def test_a_window_is_read_from_what_one_has(value: object, window: Window | str) -> None:
    """As wide as what was named; a pair is from and until, and until is outside."""
    read_out = parse_window(value, NOW)  # type: ignore[arg-type]
    assert read_out == window or str(read_out) == window


@pytest.mark.parametrize(
    "value",
    [
        *("nonsense", "", "2026-13", 7, None, (1, 2), ("2026",), ("2026", "2025"), ("2026", "2026")),
        *(Window(NOW, NOW), {"from": "2026"}, "what did I do last May?"),
    ],
)
def test_what_is_no_window_is_refused(value: object) -> None:
    """Neither nonsense, nor a window that ends before it starts."""
    with pytest.raises(InvalidInput, match="during="):
        parse_window(value, NOW)  # type: ignore[arg-type]


_PHRASE = (
    "the first last next two 7 31 1999 2023 9999 may march monday week days of before after from to between "
    "and ago in early end half past 3pm 10:30 2/29 , - since noon christmas summer 90s q3 every at"
)
_WORDS = st.sampled_from(_PHRASE.split())


@settings(max_examples=examples(25), deadline=None)
@given(st.text() | st.lists(_WORDS, max_size=14).map(" ".join), st.datetimes())
def test_no_text_raises_and_every_span_lies_inside(text: str, now: datetime) -> None:
    """Whatever is said, whenever: phrases in order, inside the text, none of them backwards."""
    at = 0
    for phrase in find_times(text, now):
        assert at <= phrase.start < phrase.end <= len(text)
        assert text[phrase.start : phrase.end] == phrase.text
        if phrase.window.start is not None and phrase.window.end is not None:
            assert phrase.window.start < phrase.window.end
        at = phrase.end


@settings(max_examples=examples(25), deadline=None)
@given(st.text(max_size=30) | st.lists(_WORDS, max_size=5).map(" ".join))
def test_a_parameter_is_read_or_refused(text: str) -> None:
    """Never another error than InvalidInput."""
    try:
        assert parse_moment(text, NOW).tzinfo is UTC
    except InvalidInput:
        pass


def test_dateparser_is_imported_only_when_needed() -> None:
    """Half a second that most questions and English statements never need."""
    run_program(
        "import sys; from datetime import datetime; from remanence.text.temporal import find_stated_times, find_times;"
        "find_times('last May, on 3 June 2022', datetime(2023, 1, 1));"
        "find_stated_times('We got 12 Rugelach 2019 tins.', datetime.now()); assert 'dateparser' not in sys.modules"
    )


def test_many_threads_read_the_same() -> None:
    """The grammar keeps nothing between calls, and dateparser is asked by one at a time."""
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: read("23-Sep-2020") + read("last May"), range(8)))) == 1


@cases("temporal")
def test_dots_put_the_day_first_and_strokes_the_month(text: str, window: str) -> None:
    """As those who write them do; where only the other order is a date, it is that."""
    assert read(text) == window


STATED = datetime(2026, 3, 11, 9, 30, tzinfo=UTC)  # a Wednesday


def stated(text: str, now: datetime = STATED) -> str:
    """The windows that a statement tells, as text."""
    return ", ".join(str(found.window) for found in find_stated_times(text, now))


@cases("temporal")
def test_tense_tells_where_a_time_without_a_year_lies(text: str, window: str) -> None:
    assert stated(text) == window


@pytest.mark.parametrize(
    "text",
    ["As of today I'm vegan.", "I'm currently between jobs.", "From today I am off sugar.", "Starting today I run."],
)
def test_a_state_told_of_today_goes_on(text: str) -> None:
    assert stated(text) == "since 2026-03-11"
    assert stated("The doctor called just now.") == "2026-03-11"
    assert stated("I'm on the day roster from this week, for good.") == "since 2026-03-09"


@cases("temporal")
def test_what_comes_again_and_what_is_a_name_is_no_time(text: str) -> None:
    assert stated(text) == ""


def test_the_nearer_year_is_taken_where_no_verb_tells() -> None:
    """Nothing is written into a text."""
    (trip,) = find_stated_times("Ski trip: Feb 7 to Feb 14.", datetime(2025, 11, 4))
    assert str(trip.window) == "2026-02-07 to 2026-02-15"


@cases("temporal")
def test_other_languages(text: str, window: str) -> None:
    assert stated(text) == window


LANGUAGE_CASES_FILE = Path(__file__).parents[1] / "benchmarks" / "cases" / "times.languages.jsonl"
LANGUAGE_CASES = [json.loads(line) for line in LANGUAGE_CASES_FILE.read_text("utf-8").splitlines()]


def days_told(text: str) -> tuple[str | None, str | None]:
    """The first and the last day of the first time that a statement tells."""
    for found in find_stated_times(text, STATED):
        start, end = found.window.start, found.window.end
        last = None if end is None else str((end - timedelta(seconds=1)).date())
        return (None if start is None else str(start.date())), last
    return None, None


def test_times_in_the_languages_of_dateparser() -> None:
    """Nine in ten of the cases, in thirty languages beside the eight with patterns of their own."""
    cases = [case for case in LANGUAGE_CASES if case["class"] == "time"]
    right = [case for case in cases if days_told(case["text"]) == (case["start"], case["end"])]
    assert len({case["lang"] for case in cases}) >= 28
    assert len(right) >= 0.9 * len(cases)


@pytest.mark.parametrize("case", [case for case in LANGUAGE_CASES if case["class"] == "prose"], ids=lambda c: c["id"])
def test_ordinary_prose_tells_no_time(case: dict[str, str]) -> None:
    """In any language; some words for times are also names and common words."""
    assert days_told(case["text"]) == (None, None)


@cases("temporal")
def test_words_for_times_are_those_of_the_language(text: str, window: str) -> None:
    assert stated(text) == window


@cases("temporal")
def test_months_as_they_are_said_with_in(text: str, month: int) -> None:
    """In the case that the language has after "in", and of near languages in the one whose words are there."""
    assert stated(text) == f"2023-{month:02}-01 to {2023 + month // 12}-{month % 12 + 1:02}-01"


@cases("temporal")
def test_questions_in_other_languages_name_times_too(question: str, window: str) -> None:
    assert [str(found.window) for found in find_times(question, STATED)] == [window]


def test_every_language_of_dateparser_can_be_read() -> None:
    """Its words are known, and reading with them raises nothing."""
    codes = _codes()
    assert len(codes) > 190
    for code in codes:
        language = _language(code)
        assert language.meanings
        list(_find("3 maja 2024, yesterday, 明天 12. 5. 2020", language))


@cases("temporal")
def test_the_language_and_the_other_dates_of_a_text_tell_which_number_is_the_day(text: str, window: str) -> None:
    assert stated(text) == window


def test_the_setting_and_the_texts_of_a_space_tell_which_number_is_the_day() -> None:
    """The setting comes first; what is learned later changes nothing that is stored, nor a view of before."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None, day_first=True) as space:
        assert str(space.add("We met on 03/04/2025.").valid) == "2025-04-03"
        assert str(space.add("It ended on 12/25/2024.").valid) == "2024-12-25"
    clock = FakeClock("2026-05-04")
    with remanence.open(None, embedder=HashingEmbedder(), reader=None, clock=clock) as space:
        first = space.add("We met on 03/04/2025.")
        before = clock.now()
        clock.advance(hours=1)
        space.add("The party was on 25/12/2024.")
        assert str(space.add("We dined on 03/04/2025.").valid) == "2025-04-03"
        assert [str(m.valid) for m in space.add_turns([{"speaker": "Al", "content": "I left on 05/04/2025."}])] == [
            "2025-04-05"
        ]
        assert str(space.get(first.id).valid) == "2025-03-04"  # type: ignore[union-attr]
        assert space.recall("What was on 03/04/2025?").times == space.recall("What was on 3 April 2025?").times
        assert space.as_of(before).recall("What was on 03/04/2025?")[0].memory.id == first.id


@cases("temporal")
def test_a_time_of_day_may_have_a_time_zone(text: str, window: str) -> None:
    """By its abbreviation, in capitals, or by a place; with the summer time of that day."""
    assert window in stated(text)


@cases("temporal")
def test_the_tense_is_that_of_the_verb(text: str, now: str, expected: str) -> None:
    """A participle after a noun is no tense, and a move from one date to another is no period."""
    assert stated(text, datetime.fromisoformat(now).replace(tzinfo=UTC)) == expected


@cases("temporal")
def test_a_date_without_a_year_takes_the_one_that_its_sentence_names(text: str, expected: str) -> None:
    """Where nothing else names a year, tense and the day of telling decide."""
    found = find_stated_times(text, datetime(2026, 3, 20, tzinfo=timezone.utc))

    dated = [phrase.window.start for phrase in found if not re.search("[0-9]{4}$", phrase.text)]
    assert [start and start.date().isoformat() for start in dated] == [expected]


@cases("temporal")
def test_a_time_that_another_makes_precise_is_left_out(text: str, expected: list[str]) -> None:
    """What is said of two things has two times."""
    assert [str(found.window) for found in find_stated_times(text, datetime(2026, 3, 20, tzinfo=UTC))] == expected


def test_a_day_is_shown_as_one_day(space: remanence.Space) -> None:
    """Its end is the next midnight, which nobody means."""
    moved = space.add("I moved in on June 1.", now="2026-06-20")

    assert str(moved.valid) == "2026-06-01"
    assert moved.valid.end == datetime(2026, 6, 2, tzinfo=UTC)
    assert str(Window(datetime(2026, 6, 1, 9, tzinfo=UTC), datetime(2026, 6, 2, 9, tzinfo=UTC))).endswith("06-02 09:00")


@cases("temporal")
def test_a_verb_in_the_present_tells_what_lies_ahead(text: str, told: str, window: str) -> None:
    """Also in a clause after "told" or "said"; two days in a row are both meant, and a rate is no distance."""
    [found] = find_stated_times(text, datetime.fromisoformat(told))
    assert str(found.window) == window


@cases("temporal")
def test_a_time_of_what_was_agreed_lies_ahead_where_that_is_far_nearer(text: str, told: str, window: str) -> None:
    """The past verb before it, or that of another clause, tells when it was agreed."""
    found = find_stated_times(text, datetime.fromisoformat(told))
    assert str(found[-1].window if "signed friday" in text else found[0].window) == window

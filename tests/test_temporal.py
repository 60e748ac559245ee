"""What "last May" means, and what is not a time at all."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import remanence
from examples import examples
from remanence.errors import InvalidInput
from remanence.schema import UTC, Window
from remanence.testing import FakeClock, HashingEmbedder
from remanence.text.temporal import (
    TimePhrase,
    find_stated_times,
    find_times,
    parse_moment,
    parse_stated_window,
    parse_window,
)
from remanence.text.temporal.time_translation import _codes, _find, _language

NOW = datetime(2023, 6, 21, 15, 30, tzinfo=UTC)  # a Wednesday


def read(text: str, now: datetime = NOW) -> str:
    """The one window said in a text, as text."""
    (found,) = find_times(text, now)
    return str(found.window)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("What did I cook today?", "2023-06-21"),
        ("I saw her yesterday.", "2023-06-20"),
        ("the day before yesterday", "2023-06-19"),
        ("the day after tomorrow", "2023-06-23"),
        ("yesterday evening", "2023-06-20 17:00 to 2023-06-21"),
        ("I slept badly last night", "2023-06-20 18:00 to 2023-06-21 06:00"),
        ("What did I eat this morning?", "2023-06-21 05:00 to 2023-06-21 12:00"),
        ("last week", "2023-06-12 to 2023-06-19"),
        ("this week", "2023-06-19 to 2023-06-26"),
        ("the week before last", "2023-06-05 to 2023-06-12"),
        ("next month", "2023-07-01 to 2023-08-01"),
        ("last year's trip", "2022-01-01 to 2023-01-01"),
        ("last decade", "2010-01-01 to 2020-01-01"),
        ("last quarter", "2023-01-01 to 2023-04-01"),
        ("last weekend", "2023-06-17 to 2023-06-19"),
        ("We hiked over the weekend.", "2023-06-17 to 2023-06-19"),
        ("the night before last", "2023-06-19 18:00 to 2023-06-20 06:00"),
        ("this past weekend", "2023-06-17 to 2023-06-19"),
        ("two weekends ago", "2023-06-10 to 2023-06-12"),
        ("What happened on Tuesday?", "2023-06-20"),
        ("on Wednesday", "2023-06-21"),
        ("last Wednesday", "2023-06-14"),
        ("I went there last Fri - great!", "2023-06-16"),
        ("next Friday", "2023-06-30"),
        ("this coming Friday", "2023-06-23"),
        ("Tuesday of last week", "2023-06-13"),
        ("the Monday before July 24, 2023", "2023-07-17"),
        ("the weekend before 4th October, 2022", "2022-10-01 to 2022-10-03"),
        ("last summer", "2022-06-01 to 2022-09-01"),
        ("last winter", "2022-12-01 to 2023-03-01"),
        ("last May", "2023-05-01 to 2023-06-01"),
        ("last June", "2022-06-01 to 2022-07-01"),
        ("next March", "2024-03-01 to 2024-04-01"),
        ("earlier this year", "2023-01-01 to 2023-06-22"),
    ],
)
def test_relative_words_are_read_from_where_the_speaker_stands(text: str, window: str) -> None:
    """Weeks start on Monday; what may be past or to come is past, unless said otherwise."""
    assert read(text) == window


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("5 days ago", "2023-06-16"),
        ("two weeks ago", "2023-06-05 to 2023-06-12"),
        ("a couple of months ago", "2023-04-01 to 2023-05-01"),
        ("three years ago", "2020-01-01 to 2021-01-01"),
        ("a few years back", "2018-01-01 to 2022-01-01"),
        ("4-5 months ago", "2023-01-01 to 2023-03-01"),
        ("over a year ago", "until 2023-01-01"),
        ("less than a month ago", "2023-05-01 to 2023-06-21 15:30"),
        ("on 7/22, 2022", "2022-07-22"),
        ("in two weeks", "2023-07-03 to 2023-07-10"),
        ("in the last 3 months", "2023-03-21 to 2023-06-22"),
        ("over the past year", "2022-06-21 to 2023-06-22"),
        ("in the past few days", "2023-06-16 to 2023-06-22"),
        ("two days before Christmas 2022", "2022-12-23"),
        ("three weeks from tomorrow", "2023-07-13"),
        ("the Wednesday two months ago", "2023-04-19"),
        ("1 week, 2 days ago", "2023-06-12"),
        ("a year ago today", "2022-06-21"),
    ],
)
def test_counted_units_are_as_wide_as_the_unit(text: str, window: str) -> None:
    """Two weeks ago is a week, three years ago a year; "the past year" runs up to today."""
    assert read(text) == window


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("2023-05-03", "2023-05-03"),
        ("at 2023-05-03T10:00Z sharp", "2023-05-03 10:00 to 2023-05-03 10:01"),
        ("2023-05-03 10:00:00+02:00", "2023-05-03 08:00"),
        ("in 2022-05", "2022-05-01 to 2022-06-01"),
        ("2022-W10", "2022-03-07 to 2022-03-14"),
        ("on 7 May 2022", "2022-05-07"),
        ("on May 7th, 2022?", "2022-05-07"),
        ("the 9th of May", "2023-05-09"),
        ("Tuesday, 4 April", "2023-04-04"),
        ("07/05/2022", "2022-07-05"),
        ("25/12/2022", "2022-12-25"),
        ("23-Sep-2020", "2020-09-23"),
        ("february twenty second", "2023-02-22"),
        ("in May", "2023-05-01 to 2023-06-01"),
        ("in august", "2022-08-01 to 2022-09-01"),
        ("May last year", "2022-05-01 to 2022-06-01"),
        ("the April 2017 bonus", "2017-04-01 to 2017-05-01"),
        ("in 2019", "2019-01-01 to 2020-01-01"),
        ("Alien (1979) is good", "1979-01-01 to 1980-01-01"),
        ("in the 1990s", "1990-01-01 to 2000-01-01"),
        ("the '90s", "1990-01-01 to 2000-01-01"),
        ("in late '98", "1998-09-01 to 1999-01-01"),
        ("born in nineteen eighty-four", "1984-01-01 to 1985-01-01"),
        ("Q2 of last year", "2022-04-01 to 2022-07-01"),
        ("the nineties", "1990-01-01 to 2000-01-01"),
        ("the 19th century", "1800-01-01 to 1900-01-01"),
        ("Q3 2024", "2024-07-01 to 2024-10-01"),
        ("summer of 2021", "2021-06-01 to 2021-09-01"),
        ("during the summer", "2023-06-01 to 2023-09-01"),
        ("early May 2023", "2023-05-01 to 2023-05-11"),
        ("mid-August 2022", "2022-08-11 to 2022-08-21"),
        ("late May", "2023-05-21 to 2023-06-01"),
        ("the end of last year", "2022-09-01 to 2023-01-01"),
        ("the first week of June", "2023-06-01 to 2023-06-08"),
        ("the first weekend of August 2022", "2022-08-06 to 2022-08-08"),
        ("last Sunday of March 2014", "2014-03-30"),
        ("the week ending 9 June 2023", "2023-06-03 to 2023-06-10"),
        ("week 3 of 2027", "2027-01-18 to 2027-01-25"),
        ("the morning of 9 June", "2023-06-09 05:00 to 2023-06-09 12:00"),
        ("the week of 9 June", "2023-06-05 to 2023-06-12"),
        ("Christmas 2022", "2022-12-25"),
        ("on Halloween", "2022-10-31"),
        ("last Easter", "2023-04-09"),
        ("Thanksgiving 2024", "2024-11-28"),
        ("at 3pm today", "2023-06-21 15:00 to 2023-06-21 16:00"),
        ("at 5 pm", "2023-06-21 17:00 to 2023-06-21 18:00"),
        ("yesterday at 14:30", "2023-06-20 14:30 to 2023-06-20 14:31"),
        ("tomorrow from 7:00 to 8:00pm", "2023-06-22 19:00 to 2023-06-22 20:00"),
    ],
)
def test_calendar_words_are_as_wide_as_what_they_name(text: str, window: str) -> None:
    """A day is a day, a month a month; without a year it is the latest that has begun."""
    assert read(text) == window


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("since May", "since 2023-05-01"),
        ("before 2020", "until 2020-01-01"),
        ("after 2018", "since 2019-01-01"),
        ("until last Friday", "until 2023-06-16"),
        ("until the end of May", "until 2023-06-01"),
        ("by 7 November, 2022", "until 2022-11-08"),
        ("from 2007 to 2012", "2007-01-01 to 2013-01-01"),
        ("from Jul 1990 to 2008", "1990-07-01 to 2009-01-01"),
        ("from 1765 to 1803", "1765-01-01 to 1804-01-01"),
        ("between March and June 2022", "2022-03-01 to 2022-07-01"),
        ("from October to March", "2022-10-01 to 2023-04-01"),
        ("Nov-Feb 2017", "2016-11-01 to 2017-03-01"),
        ("between the 3rd and the 12th of May", "2023-05-03 to 2023-05-13"),
        ("July 13-15, 2022", "2022-07-13 to 2022-07-16"),
        ("from Jan 2022 to now", "2022-01-01 to 2023-06-21 15:30"),
        ("2014-2018", "2014-01-01 to 2019-01-01"),
        ("from 10pm to 2am", "2023-06-21 22:00 to 2023-06-22 02:00"),
    ],
)
def test_ranges_hold_both_ends_and_open_ones_lack_one(text: str, window: str) -> None:
    """From March to June is all of March and all of June; a year said once counts for both."""
    assert read(text) == window


@pytest.mark.parametrize(
    "text",
    [
        "May I ask why?",
        "We may go there, and she may not.",
        "This may be it.",
        "March on!",
        "They march to the beat.",
        "He sat down in the sun.",
        "We wed on a whim.",
        "Wait a second, or a minute.",
        "the second attempt, in second place",
        "Spring is nice, leaves fall.",
        "the fall of Rome",
        "Port 8080 is open, in room 2012.",
        "I have 2000 dollars for 1500 people.",
        "Write it in 2000 words.",
        "Cyberpunk 2077 runs on version 3.11.2 and 10.0.0.1",
        "Call +1 555 2020 or 2010-2015-86.",
        "It costs $2,019.99, i.e. 20%.",
        "BUN/Cr of 30/4.85, and 2/3 cup, 24/7",
        "a 1:1 meeting, John 3:16",
        "Is this a date? 2015-32 or 32-2015",
        "the 18th floor, on the 3rd try",
        "Have a great week, one day, some years, every Monday, on Tuesdays",
        "on Saturday mornings, twice a week, once a month",
        "at the last minute, in a minute, at the end of the day",
        "What happened recently? How long ago? Long ago, years ago.",
        "in my 30s, in her thirties",
        "a Christmas tree and an Easter egg",
        "a gift from April, by June Carter",
        "We haven't talked in a few days.",
        "for 3 days, two to four people",
        "I live at 12 May Street, near 5 March Avenue.",
        "Ich wohne in der Straße des 17. Juni.",
        "J'habite rue du 4 Septembre.",
        "Vivo en la Avenida 9 de Julio, y ella en la calle 2 de Mayo.",
        "Abito in via 25 Aprile.",
        "Mieszkam przy ulicy 3 Maja.",
        "Mia figlia Domenica ama i gatti.",
        "Min katt heter Fredag.",
        "Kedimin adı Pazar.",
        "31/02/2023 and 2023-13-45",
        "order 20161016, Boeing 747, 5G, H2O, Q5, MP3",
        "",
        "\x00",
    ],
)
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


@settings(max_examples=examples(50), deadline=None)
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


@settings(max_examples=examples(40), deadline=None)
@given(st.text(max_size=30) | st.lists(_WORDS, max_size=5).map(" ".join))
def test_a_parameter_is_read_or_refused(text: str) -> None:
    """Never another error than InvalidInput."""
    try:
        assert parse_moment(text, NOW).tzinfo is UTC
    except InvalidInput:
        pass


@pytest.mark.parametrize("text", ["-1", "day before ", "two days after ", "from 3 to ", "1/2/", "last ", "🦀٣"])
@pytest.mark.slow
def test_a_long_text_costs_no_more_than_its_length(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many almost-times are done in a second of processor time, and the rest of a very long text is not read."""
    monkeypatch.setattr("remanence.text.temporal.time_parsing._MAX_TEXT", 25_000)
    started = time.process_time()
    assert find_times(text * (250_000 // len(text)), NOW) == []
    assert time.process_time() - started < 5


def test_dateparser_is_imported_only_when_needed() -> None:
    """Half a second that most questions never need."""
    code = (
        "import sys; from datetime import datetime; from remanence.text.temporal import find_times;"
        "find_times('last May, on 3 June 2022', datetime(2023, 1, 1)); assert 'dateparser' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_english_text_does_not_load_every_language() -> None:
    code = (
        "import sys; from datetime import datetime; from remanence.text.temporal import find_stated_times;"
        "find_stated_times('We got 12 Rugelach 2019 tins.', datetime.now()); assert 'dateparser' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_many_threads_read_the_same() -> None:
    """The grammar keeps nothing between calls, and dateparser is asked by one at a time."""
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(read("23-Sep-2020") + read("last May"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert len(set(answers)) == 1


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("10.01.2024", "2024-01-10"),
        ("on 9.6.23", "2023-06-09"),
        ("10.31.1974", "1974-10-31"),
        ("10/01/2024", "2024-10-01"),
    ],
)
def test_dots_put_the_day_first_and_strokes_the_month(text: str, window: str) -> None:
    """As those who write them do; where only the other order is a date, it is that."""
    assert read(text) == window


STATED = datetime(2026, 3, 11, 9, 30, tzinfo=UTC)  # a Wednesday


def stated(text: str, now: datetime = STATED) -> str:
    """The windows that a statement tells, as text."""
    return ", ".join(str(found.window) for found in find_stated_times(text, now))


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("We will launch on December 15th.", "2026-12-15"),
        ("We launched on December 15th.", "2025-12-15"),
        ("My last day is 30 June.", "2026-06-30"),
        ("The deadline is Friday.", "2026-03-13"),
        ("The fridge broke on Friday.", "2026-03-06"),
        ("The gym is closed and reopens on the 6th.", "2026-04-06"),
        ("I paid the deposit on the 5th.", "2026-03-05"),
        ("Car goes in for repair on Monday.", "2026-03-16"),
        ("The meeting was moved to Thursday.", "2026-03-12"),
        ("I promised to help on Sunday.", "2026-03-15"),
        ("I bought tickets for the show on April 2.", "2026-04-02"),
        ("The storm hit on 28 October.", "2025-10-28"),
        ("The bridge will stay closed in April.", "2026-04-01 to 2026-05-01"),
        ("In October, my brother had a stroke.", "2025-10-01 to 2025-11-01"),
        ("The choir sings at St. Brigid's on Saturday and I promised to go.", "2026-03-14"),
        ("Tuesday March 10, the roof fell in.", "2026-03-10"),  # the weekday tells the year
        ("The contract was signed on 03/04/2025, a Thursday.", "2025-04-03"),
        ("I'm off on Thursday and Friday.", "2026-03-12 to 2026-03-14"),
        ("the server moves in the night of sunday 15 march", "2026-03-15 18:00 to 2026-03-16 06:00"),
        ("dinner with Ola, 14 may!", "2026-05-14"),
        ("the fair is on 14 may in Graz", "2026-05-14"),
        ("I am away oct to march", "2026-10-01 to 2027-04-01"),
        ("So we said two weeks after, 13 june", "2026-06-13"),  # what was said, not when
        ("We met Ola, 13 january", "2026-01-13"),
        ("I have 12, may I go? 3 may come, and 5 march home.", ""),
        ("I'm away from the 28th to the 3rd.", "2026-03-28 to 2026-04-04"),
        ("I was away from the 28th to the 3rd.", "2026-02-28 to 2026-03-04"),
        ("In three weeks the kitchen arrives.", "2026-04-01"),
        ("I have to file it by the end of the month.", "2026-03-31"),
        ("I'm in Vienna until Sunday.", "2026-03-11 to 2026-03-16"),
        ("I worked at Bosch until 2019.", "until 2020-01-01"),
        ("We slept until noon yesterday.", "2026-03-10 to 2026-03-10 13:00"),
        ("Two summers ago we cycled to Vienna.", "2024-06-01 to 2024-09-01"),
        ("We lived there in the winter of 2024 to 2025.", "2024-12-01 to 2025-03-01"),
        ("The winter of 2010/11 was brutal.", "2010-12-01 to 2011-03-01"),
        ("We spent New Year 2025 in Leeds.", "2025-01-01"),
        ("We were in Rome over Easter.", "2025-04-18 to 2025-04-22"),
        ("The visa runs out on 3 January.", "2027-01-03"),
        ("School starts again on 7 January.", "2027-01-07"),
        ("My brother gives a talk on 12 February.", "2027-02-12"),
        ("He lost his keys on 3 September.", "2025-09-03"),
        ("She broke her glasses on 3 May.", "2025-05-03"),
        ("It's closed on 3 May.", "2026-05-03"),
    ],
)
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


@pytest.mark.parametrize(
    "text",
    [
        *(
            "We always ski in February.",
            "My birthday is on 3 May.",
            "I was born on 3 May.",
            "My favourite day is Sunday.",
        ),
        *("He calls the man Friday.", "My dog is called Sunday.", "I like the Sunday Times.", "We saw Freaky Friday."),
        *("The novel 11/22/63 is long.", 'I love "Friday Night Lights".', "It is called Project January."),
        *("I use a MacBook Pro 2019.", "1984 is a book.", "In the new year I rest."),
        *("I'm vegan, 6 years this spring.", "She will have been a nurse for twenty years this June."),
    ],
)
def test_what_comes_again_and_what_is_a_name_is_no_time(text: str) -> None:
    assert stated(text) == ""


def test_a_time_is_doubtful_where_no_verb_tells() -> None:
    """The nearer one is taken, and nothing is written into a text."""
    (trip,) = find_stated_times("Ski trip: Feb 7 to Feb 14.", datetime(2025, 11, 4))
    (flight,) = find_stated_times("The flight is on 2 April.", STATED)
    assert (str(trip.window), trip.is_certain, flight.is_certain) == ("2026-02-07 to 2026-02-15", False, True)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("Am 3. Mai 2025 sind wir umgezogen.", "2025-05-03"),
        ("Am 3. Mai ziehen wir um.", "2026-05-03"),
        ("Am 3. Mai sind wir umgezogen.", "2025-05-03"),
        ("Seit Juni arbeite ich bei Bosch.", "since 2025-06-01"),
        ("La semaine dernière on a adopté un chaton.", "2026-03-02 to 2026-03-09"),
        ("À partir de demain je ne fume plus.", "since 2026-03-12"),
        ("Hace tres días dejé de fumar.", "2026-03-08"),
        ("Fra due settimane parto per il Giappone!", "2026-03-25"),
        ("Vendi a moto no mês passado.", "2026-02-01 to 2026-03-01"),
        ("Zaterdag help ik mijn zus met verhuizen.", "2026-03-14"),
        ("В пятницу сдаю экзамен.", "2026-03-13"),
        ("В пятницу я сдал экзамен.", "2026-03-06"),
        ("5月20日に歯医者の予約があります。", "2026-05-20"),
        ("2024年4月1日に入社しました。", "2024-04-01"),
        ("12 ağustos 2024 tarihinde taşındık.", "2024-08-12"),  # dateparser knows the month
        ("I met Mai, Juli and Mars on the Die.", ""),
    ],
)
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


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("Jutro mam wizytę u dentysty.", "2026-03-12"),
        ("Od maja 2023 mieszkam w Łodzi.", "since 2023-05-01"),
        ("W piątek jadę do Krakowa.", "2026-03-13"),
        ("W piątek byłem w Krakowie.", "2026-03-06"),
        ("İki hafta önce cüzdanımı kaybettim.", "2026-02-25"),
        ("A lányom 2019. június 5-én született.", "2019-06-05"),
        ("Nästa månad börjar jag ett nytt jobb.", "2026-04-01 to 2026-05-01"),
        ("Моя донька народилася 5 червня 2019 року.", "2019-06-05"),
        ("غدا سأذهب إلى طبيب الأسنان.", "2026-03-12"),
        ("딸은 2019년 6월 5일에 태어났어요.", "2019-06-05"),
        ("我女儿出生于2019年6月5日。", "2019-06-05"),
        ("Con gái tôi sinh ngày 5 tháng 6 năm 2019.", "2019-06-05"),
        ("Gelecek hafta pazartesi sınavım var.", "2026-03-16"),
        ("Tuần sau thứ hai tôi đi Huế.", "2026-03-16"),
        ("지난주 금요일에 만났어요.", "2026-03-06"),
        ("사흘 전에 자전거를 샀어요.", "2026-03-08"),
        ("下周一我有面试。", "2026-03-16"),
        ("上个星期五我们去看电影了。", "2026-03-06"),
        ("לפני שבועיים עברנו דירה.", "2026-02-25"),
        ("בשבוע הבא אני נוסע לחיפה.", "2026-03-16 to 2026-03-23"),
        ("Kesho nitaenda kwa daktari.", "2026-03-12"),
        ("நேற்று நாங்கள் பாட்டி வீட்டில் சாப்பிட்டோம்.", "2026-03-10"),
    ],
)
def test_words_for_times_are_those_of_the_language(text: str, window: str) -> None:
    assert stated(text) == window


@pytest.mark.parametrize(
    ("text", "month"),
    [
        ("Vi flyttede i maj 2023.", 5),
        ("Vi flyttade i maj 2023.", 5),
        ("Me kolisime jaanuaris 2023.", 1),
        ("Presťahovali sme sa v apríli 2023.", 4),
        ("Ми переїхали у серпні 2023 року.", 8),
        ("Ми переїхали в лютому 2023.", 2),
        ("Μετακομίσαμε τον Μάιο του 2023.", 5),
        ("Μετακομίσαμε τον Αύγουστο του 2023.", 8),
        ("Persikraustėme 2023 m. kovą.", 3),
        ("Mēs pārvācāmies 2023. gada decembrī.", 12),
        ("Preselili smo se januarja 2023.", 1),
        ("Преселили смо се у марту 2023.", 3),
        ("Preselili smo se u listopadu 2023.", 10),
        ("Přestěhovali jsme se v listopadu 2023.", 11),
        ("Što se dogodilo u listopadu 2023?", 10),
        ("हम मई 2023 में चले गए।", 5),
    ],
)
def test_months_as_they_are_said_with_in(text: str, month: int) -> None:
    """In the case that the language has after "in", and of near languages in the one whose words are there."""
    assert stated(text) == f"2023-{month:02}-01 to {2023 + month // 12}-{month % 12 + 1:02}-01"


@pytest.mark.parametrize(
    ("question", "window"),
    [
        ("Gdzie byłem w zeszłym tygodniu?", "2026-03-02 to 2026-03-09"),
        ("Var var jag förra veckan?", "2026-03-02 to 2026-03-09"),
        ("我昨天吃了什么？", "2026-03-10"),
        ("Де я був минулого тижня?", "2026-03-02 to 2026-03-09"),
        ("Kde jsem byl v květnu 2024?", "2024-05-01 to 2024-06-01"),
    ],
)
def test_questions_in_other_languages_name_times_too(question: str, window: str) -> None:
    assert [str(found.window) for found in find_times(question, STATED)] == [window]


def test_every_language_of_dateparser_can_be_read() -> None:
    """Its words are known, and reading with them raises nothing."""
    codes = _codes()
    assert len(codes) > 190
    for code in codes:
        language = _language(code)
        assert language is not None
        assert language.meanings
        list(_find("3 maja 2024, yesterday, 明天 12. 5. 2020", language))


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("We moved on 03/04/2025.", "2025-03-04"),
        ("Wir sind am 03/04/2025 umgezogen.", "2025-04-03"),
        ("Nos mudamos el 03/04/2025 a una casa nueva.", "2025-04-03"),
        ("It went from 25/12/2024, then 03/04/2025.", "2024-12-25, 2025-04-03"),
    ],
)
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


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("The call is on 3 May 2026 at 10:00 EST.", "2026-05-03 15:00 to 2026-05-03 15:01"),
        ("The call is on 3 May 2026 at 15:00+02:00.", "2026-05-03 13:00 to 2026-05-03 13:01"),
        ("The call is at 15:00 +0530 on 3 May 2026.", "2026-05-03 09:30 to 2026-05-03 09:31"),
        ("Call at 9am UTC+2 on Friday.", "2026-03-13 07:00 to 2026-03-13 08:00"),
        ("The talk was on 2026-01-03 10:00 CET.", "2026-01-03 09:00 to 2026-01-03 09:01"),
        ("The call is on 3 May 2026 at 10:00 GMT.", "2026-05-03 10:00 to 2026-05-03 10:01"),
        ("The call is at 15:00 (CET) on 3 May 2026.", "2026-05-03 14:00 to 2026-05-03 14:01"),
        ("The call is at 3pm ET on 3 June 2026.", "2026-06-03 19:00 to 2026-06-03 20:00"),  # summer time
        ("The call is at 3pm Eastern on 3 January 2026.", "2026-01-03 20:00 to 2026-01-03 21:00"),
        ("The call is at 3pm Pacific time on 3 May 2026.", "2026-05-03 22:00 to 2026-05-03 23:00"),
        ("The call is on 3 May 2026 at 9am New York time.", "2026-05-03 13:00 to 2026-05-03 14:00"),
        ("The call is at 09:30 Europe/Vienna on 3 May 2026.", "2026-05-03 07:30 to 2026-05-03 07:31"),
        ("The call is at 17:00 America/New_York on 3 May 2026.", "2026-05-03 21:00 to 2026-05-03 21:01"),
        ("We land on 3 May 2026 at 07:45 UTC+5:30.", "2026-05-03 02:15 to 2026-05-03 02:16"),
        ("We land on 3 May 2026 at 07:45 GMT-0330.", "2026-05-03 11:15 to 2026-05-03 11:16"),
        ("We eat on 3 May 2026 at 8 in the evening.", "2026-05-03 20:00 to 2026-05-03 21:00"),
        ("We eat on 3 May 2026 at 8 in the evening Berlin time.", "2026-05-03 18:00 to 2026-05-03 19:00"),
        ("Wir treffen uns am 3. Mai 2026 um 14:30 Uhr MESZ.", "2026-05-03 12:30 to 2026-05-03 12:31"),
        ("Le train part le 3 mai 2026 à 10h30.", "2026-05-03 10:30 to 2026-05-03 10:31"),
        ("Встреча 3 мая 2026 в 15:00 МСК.", "2026-05-03 12:00 to 2026-05-03 12:01"),
        ("Mødet er den 3. maj 2026 kl. 15.", "2026-05-03 15:00 to 2026-05-03 15:01"),
        ("Kokous on 3. toukokuuta 2026 klo 15.00.", "2026-05-03 15:00 to 2026-05-03 15:01"),
        ("Toplantı 3 Mayıs 2026 saat 15:00.", "2026-05-03 15:00 to 2026-05-03 15:01"),
        ("会議は2026年5月3日の午後3時30分です。", "2026-05-03 15:30 to 2026-05-03 15:31"),
        ("Am 3. Mai 2026 kamen 14 Leute, 10.50 Euro jeder.", "2026-05-03"),
        ("The call is at 9am our time on 3 May 2026.", "2026-05-03 09:00 to 2026-05-03 10:00"),
        ("I ate at 10:00 pt on 3 May 2025.", "2025-05-03"),
    ],
)
def test_a_time_of_day_may_have_a_time_zone(text: str, window: str) -> None:
    """By its abbreviation, in capitals, or by a place; with the summer time of that day."""
    assert window in stated(text)


@pytest.mark.parametrize("text", ["in May ", "on Friday and ", "am 3. Mai ", "vor drei ", '"Friday" ', "明日"])
@pytest.mark.slow
def test_a_long_statement_costs_no_more_than_its_length(text: str) -> None:
    started = time.process_time()
    find_stated_times(text * (25_000 // len(text)), NOW)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "now", "expected"),
    [
        ("Starting at a startup called Ferrous in June.", "2025-04-15", "2025-06-01 to 2025-07-01"),
        ("I'm joining a firm named Bolt in June.", "2025-04-15", "2025-06-01 to 2025-07-01"),
        ("I'm moving to a firm based in Exeter in June.", "2025-04-15", "2025-06-01 to 2025-07-01"),
        ("I'm picking up a puppy called Biscuit on Saturday.", "2025-03-03", "2025-03-08"),
        ("We adopted a cat called Miso on Saturday.", "2025-03-03", "2025-03-01"),
        ("A friend called Tom on Saturday.", "2025-03-03", "2025-03-01"),
        ("My boss called Tom on Saturday.", "2025-03-03", "2025-03-01"),
        ("Sara and I tied the knot on Saturday", "2025-12-01", "2025-11-29"),
        ("My uncle died on Saturday.", "2025-12-01", "2025-11-29"),
        ("The team underwent a review on Saturday.", "2025-12-01", "2025-11-29"),
        ("Atlas deadline slipped from 30 June to 15 September", "2026-05-20", "2026-09-15"),
        ("The deadline was extended from 30 June to 15 September.", "2026-05-20", "2026-09-15"),
        ("We rescheduled the review from 2 June to 9 June.", "2026-05-20", "2026-06-09"),
        ("The launch was pushed back from June to August.", "2026-05-20", "2026-08-01 to 2026-09-01"),
        ("I worked there from March to May.", "2026-05-20", "2026-03-01 to 2026-06-01"),
    ],
)
def test_the_tense_is_that_of_the_verb(text: str, now: str, expected: str) -> None:
    """A participle after a noun is no tense, and a move from one date to another is no period."""
    assert stated(text, datetime.fromisoformat(now).replace(tzinfo=UTC)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He wrote 'see you Tuesday, 4 March' in 2014.", "2014-03-04"),
        ("In 2014 he wrote that he would come on 4 March.", "2014-03-04"),
        ("She called on 5 May, back in 2012.", "2012-05-05"),
        ("In 2019 we met in June.", "2019-06-01"),
        ("The fair in 2011 ran from 9 to 16 May.", "2011-05-09"),
        ("I left in 2014 and Bob will visit on 4 March.", "2027-03-04"),  # a plan, in a clause of its own
        ("I left in 2014. We met on 4 March.", "2026-03-04"),  # another sentence
        ("Between 2014 and 2016 we met on 4 March.", "2026-03-04"),  # more than one year
        ("I left in 2014 and we met last May.", "2025-05-01"),  # it names its year
    ],
)
def test_a_date_without_a_year_takes_the_one_that_its_sentence_names(text: str, expected: str) -> None:
    """Where nothing else names a year, tense and the day of telling decide."""
    found = find_stated_times(text, datetime(2026, 3, 20, tzinfo=timezone.utc))

    dated = [phrase.window.start for phrase in found if not re.search("[0-9]{4}$", phrase.text)]
    assert [start and start.date().isoformat() for start in dated] == [expected]


@pytest.mark.parametrize(
    ("when", "statement", "expected"),
    [
        ("April 13", "I start at Spotify on April 13.", "2026-04-13"),
        ("on 13 April", "I start at Spotify on April 13.", "2026-04-13"),  # in other words
        ("April 13", "I'm starting at Spotify.", "2026-04-13"),
        ("April 13", "I started at Spotify on April 13.", "2025-04-13"),
        ("13 April", "She has started at Spotify.", "2025-04-13"),
        ("9 to 16 May", "We will be in Rome.", "2026-05-09 to 2026-05-17"),
        ("2024-05-03", "We will be in Rome.", "2024-05-03"),
        ("April 2024", "", "2024-04-01 to 2024-05-01"),
        ("soon", "We will be in Rome.", "None"),
        ("", "", "None"),
    ],
)
def test_the_time_of_a_statement_is_read_with_its_tense_and_the_day_of_telling(
    when: str, statement: str, expected: str
) -> None:
    """A plan lies ahead, whatever words a model gives for its time."""
    assert str(parse_stated_window(when, statement, datetime(2026, 3, 20, tzinfo=UTC))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In May I am in Rome, 9 to 16 May.", ["2026-05-09 to 2026-05-17"]),
        ("We met on 3 June 2019, in summer 2019.", ["2019-06-03"]),
        ("In 2019 we met in June.", ["2019-06-01 to 2019-07-01"]),
        ("I left in 2014 and we met in May 2014.", ["2014-01-01 to 2015-01-01", "2014-05-01 to 2014-06-01"]),
    ],
)
def test_a_time_that_another_makes_precise_is_left_out(text: str, expected: list[str]) -> None:
    """What is said of two things has two times."""
    assert [str(found.window) for found in find_stated_times(text, datetime(2026, 3, 20, tzinfo=UTC))] == expected


def test_a_day_is_shown_as_one_day(space: remanence.Space) -> None:
    """Its end is the next midnight, which nobody means."""
    moved = space.add("I moved in on June 1.", now="2026-06-20")

    assert str(moved.valid) == "2026-06-01"
    assert moved.valid.end == datetime(2026, 6, 2, tzinfo=UTC)
    assert str(Window(datetime(2026, 6, 1, 9, tzinfo=UTC), datetime(2026, 6, 2, 9, tzinfo=UTC))).endswith("06-02 09:00")


@pytest.mark.parametrize(
    ("text", "told", "window"),
    [
        ("he leaves in June", "2026-04-10", "2026-06-01 to 2026-07-01"),
        ("Paulo told me he leaves in June", "2026-04-10", "2026-06-01 to 2026-07-01"),
        ("they said they fly in June", "2026-04-10", "2026-06-01 to 2026-07-01"),
        ("Paulo told me he left in June", "2026-04-10", "2025-06-01 to 2025-07-01"),
        ("they said they flew in June", "2026-04-10", "2025-06-01 to 2025-07-01"),
        ("the fair is on 28 and 29 November", "2026-10-10", "2026-11-28 to 2026-11-30"),
        ("890 a month from October", "2026-09-10", "since 2026-10-01"),
        ("they pay 890 euros a month from October", "2026-09-10", "since 2026-10-01"),
        ("we meet a month from 1 October 2026", "2026-09-10", "2026-11-01"),
    ],
)
def test_a_verb_in_the_present_tells_what_lies_ahead(text: str, told: str, window: str) -> None:
    """Also in a clause after "told" or "said"; two days in a row are both meant, and a rate is no distance."""
    [found] = find_stated_times(text, datetime.fromisoformat(told))
    assert str(found.window) == window


@pytest.mark.parametrize(
    ("text", "told", "window"),
    [
        ("signed up for a workshop on 28 and 29 November", "2026-10-10", "2026-11-28 to 2026-11-30"),
        ("i registered us both for the first aid course, 3 december", "2026-10-10", "2026-12-03"),
        ("Landlord wrote: 890 a month from October", "2026-09-10", "since 2026-10-01"),
        ("They raised the fee to 280 from 1 April.", "2026-03-07", "since 2026-04-01"),
        ("accepted the part-time role starting June 1", "2026-05-10", "since 2026-06-01"),
        ("The contract was given to Kone as of 1 September.", "2026-08-21", "since 2026-09-01"),
        ("went with the startup. signed friday, start 1 april", "2026-03-16", "2026-04-01"),
        ("june is expecting, in august. she told me on the bench", "2026-02-11", "2026-08-01 to 2026-09-01"),
        # The verb's own time, and what is not far nearer ahead.
        ("The workshop on 28 and 29 November was great.", "2026-10-10", "2025-11-28 to 2025-11-30"),
        ("We were in Rome for the concert on 5 November.", "2026-10-10", "2025-11-05"),
        ("She stayed for two weeks in November.", "2026-10-10", "2025-11-01 to 2025-12-01"),
        ("She left for Rome in May.", "2026-10-10", "2026-05-01 to 2026-06-01"),
        ("I got the job in Graz, and I signed in May.", "2026-10-10", "2026-05-01 to 2026-06-01"),
    ],
)
def test_a_time_of_what_was_agreed_lies_ahead_where_that_is_far_nearer(text: str, told: str, window: str) -> None:
    """The past verb before it, or that of another clause, tells when it was agreed."""
    found = find_stated_times(text, datetime.fromisoformat(told))
    assert str(found[-1].window if "signed friday" in text else found[0].window) == window

"""The words that can be part of a time, and the numbers they stand for. The lists are in `time_vocabulary.txt`."""

from __future__ import annotations

from pathlib import Path

from remanence.text.lexicon.word_lists import data_lines

_DATA_FILE = str(Path(__file__).with_suffix(".txt"))
_GROUPS = dict(line.split(": ", 1) for line in data_lines(_DATA_FILE))
_WORDS = {name: words.split() for name, words in _GROUPS.items()}


def _numbered(group: str, first: int, step: int = 1) -> dict[str, int]:
    return {word: first + step * i for i, word in enumerate(_WORDS[group])}


MONTH_NAMES = _WORDS["months"]
DAY_NAMES = _WORDS["weekdays"]
MONTHS = _numbered("months", 1) | {name[:3]: number for name, number in _numbered("months", 1).items()} | {"sept": 9}
VERB_MONTHS = set(_WORDS["verb_months"])
UNAMBIGUOUS_MONTHS = set(_WORDS["unambiguous_months"])
WEEKDAYS = _numbered("weekdays", 0) | {name[:3]: number for name, number in _numbered("weekdays", 0).items()}
WEEKDAYS |= {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}  # their first months

UNITS = {word: group[5:] for group, words in _WORDS.items() if group.startswith("unit ") for word in words}
SMALL_UNITS = {"second", "minute", "hour"}

# Hours from the day's midnight; a night continues into the next day.
DAY_PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24)}
DAY_PARTS |= dict.fromkeys(("night", "tonight", "tonite"), (18, 30))
RECURRING_DAY_PARTS = set(_WORDS["recurring_day_parts"])
NOON_WORDS = {"noon": 12, "midday": 12, "midnight": 0}
RELATIVE_DAYS = {"yesterday": -1, "today": 0, "tonight": 0, "tonite": 0, "tomorrow": 1, "tmrw": 1}

TENS = _numbered("tens", 20, 10)
NUMBERS = _numbered("ones", 0) | TENS
VAGUE_NUMBERS = {"couple": (2, 2), "few": (2, 5), "several": (3, 7)}  # from, to
ORDINALS = _numbered("ordinals", 1) | {"thirtieth": 30}
DECADES = _numbered("decades", 20, 10)

PAST_WORDS = set(_WORDS["past"])
FUTURE_WORDS = set(_WORDS["future"])
EARLY_WORDS = set(_WORDS["early"])
MIDDLE_WORDS = set(_WORDS["middle"])
LATE_WORDS = set(_WORDS["late"])
BEGINNING_WORDS = set(_WORDS["beginnings"])
RANGE_WORDS = set(_WORDS["ranges"])

HOLIDAYS = {
    name: group.removeprefix("holiday ")
    for group, names in _GROUPS.items()
    if group.startswith("holiday ")
    for name in names.split(", ")
}
HOLIDAYS_AROUND = {"easter": ("good friday", "easter monday"), "christmas": ("christmas eve", "boxing day")}
HOLIDAYS_AROUND |= {"new year": ("new year eve", "new year day")}
HOLIDAY_FIRST_WORDS = {name.split()[0] for name in HOLIDAYS}

TIME_CUES = set(_WORDS["cues"])
FOLLOWING_WORDS = set(_WORDS["following"])
COUNT_NOUNS = set(_WORDS["count_nouns"])
NOT_PLURAL = set(_WORDS["not_plural"])

# The words that name a time or a unit by themselves.
TIME_NOUNS = {*MONTHS, *WEEKDAYS, *UNITS, *SEASONS, *DECADES, *DAY_PARTS, *NOON_WORDS, *HOLIDAY_FIRST_WORDS}
# The words that move or narrow the time after them.
MODIFIERS = PAST_WORDS | FUTURE_WORDS | EARLY_WORDS | MIDDLE_WORDS | LATE_WORDS

PAST_CUES = set(_WORDS["past_cues"])
FUTURE_CUES = set(_WORDS["future_cues"])
PRESENT_CUES = set(_WORDS["present_cues"])
VERB_ADVERBS = set(_WORDS["verb_adverbs"])
BEFORE_PARTICIPLES = set(_WORDS["before_participles"])
NOT_PAST = set(_WORDS["not_past"])
HEDGES = set(_WORDS["hedges"])
HABIT_WORDS = set(_WORDS["habit_words"])
NEWBORN_WORDS = set(_WORDS["newborn_words"])
PROMISING_VERBS = set(_WORDS["promising_verbs"])
ARRANGING_VERBS = set(_WORDS["arranging_verbs"])
ARRANGED_NOUNS = set(_WORDS["arranged_nouns"])
YEARLY_WORDS = set(_WORDS["yearly_words"])
UNCHANGED_VERBS = set(_WORDS["unchanged_verbs"])
CALLED_WORDS = set(_WORDS["called"])
NAMING_WORDS = set(_WORDS["naming"])
LASTING_PARTICIPLES = set(_WORDS["lasting_participles"])
MOVING_VERBS = set(_WORDS["moving_verbs"])
TIME_ZONES = frozenset(_WORDS["time_zones"])
NOW_WORDS = set(_GROUPS["now_words"].split(", "))

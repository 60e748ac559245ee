"""The vocabulary: which words can be part of a time, and what each is worth."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


MONTH_NAMES = _words("january february march april may june july august september october november december")
MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}

# "May I", "march on": in small letters these are months only right after a word such as "in" or "last".
VERB_MONTHS = {"may", "march", "mar"}
# These are nobody's name and no verb, so they need no word beside them to be a month.
UNAMBIGUOUS_MONTHS = {"january", "february", "july", "september", "october", "november", "december"}

DAY_NAMES = _words("monday tuesday wednesday thursday friday saturday sunday")
WEEKDAYS = {name: number for number, name in enumerate(DAY_NAMES)}
WEEKDAYS |= {name[:3]: number for name, number in WEEKDAYS.items()}
WEEKDAYS |= {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}

UNITS = {
    name: unit
    for unit, names in {
        "second": "second seconds sec secs",
        "minute": "minute minutes min mins",
        "hour": "hour hours hr hrs",
        "day": "day days",
        "weekend": "weekend weekends",
        "week": "week weeks wk wks",
        "fortnight": "fortnight fortnights",
        "month": "month months",
        "quarter": "quarter quarters qtr",
        "year": "year years yr yrs",
        "decade": "decade decades",
        "century": "century centuries",
    }.items()
    for name in names.split()
}
SMALL_UNITS = {"second", "minute", "hour"}

SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}  # their first months

# Hours from the day's midnight; a night runs on into the next day.
DAY_PARTS = {
    "morning": (5, 12),
    "afternoon": (12, 18),
    "evening": (17, 24),
    "night": (18, 30),
    "tonight": (18, 30),
    "tonite": (18, 30),
}
RECURRING_DAY_PARTS = {"mornings", "afternoons", "evenings", "nights"}  # "on Saturday mornings" is no one Saturday
NOON_WORDS = {"noon": 12, "midday": 12, "midnight": 0}

ONES = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
TENS = {
    name: 10 * number for number, name in enumerate(_words("twenty thirty forty fifty sixty seventy eighty ninety"), 2)
}
NUMBERS = {name: number for number, name in enumerate(ONES)} | TENS
VAGUE_NUMBERS = {"couple": (2, 2), "few": (2, 5), "several": (3, 7)}  # from, to

_ORDINALS = _words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
ORDINALS = {name: number for number, name in enumerate(_ORDINALS, 1)} | {"thirtieth": 30}
_DECADES = _words("twenties thirties forties fifties sixties seventies eighties nineties")
DECADES = {name: 10 * number for number, name in enumerate(_DECADES, 2)}

PAST_WORDS = {"last", "past", "previous"}
FUTURE_WORDS = {"next", "coming", "upcoming", "following"}
EARLY_WORDS = {"early", "beginning", "start", "earlier"}
MIDDLE_WORDS = {"mid", "middle"}
LATE_WORDS = {"late", "end", "later"}

# (month, day), or a rule that `spans.holiday` knows. Possessives are already stripped from the words.
HOLIDAYS: dict[str, tuple[int, int] | str] = {
    "new year eve": (12, 31),
    "new year day": (1, 1),
    "new years eve": (12, 31),
    "new years day": (1, 1),
    "valentine day": (2, 14),
    "valentines day": (2, 14),
    "valentines": (2, 14),
    "st patrick day": (3, 17),
    "st patricks day": (3, 17),
    "saint patrick day": (3, 17),
    "saint patricks day": (3, 17),
    "earth day": (4, 22),
    "juneteenth": (6, 19),
    "independence day": (7, 4),
    "halloween": (10, 31),
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "xmas": (12, 25),
    "boxing day": (12, 26),
    "easter": "easter+0",
    "easter sunday": "easter+0",
    "easter monday": "easter+1",
    "good friday": "easter-2",
    "palm sunday": "easter-7",
    "mlk day": "3 monday 1",
    "memorial day": "-1 monday 5",
    "labor day": "1 monday 9",
    "mother day": "2 sunday 5",
    "mothers day": "2 sunday 5",
    "father day": "3 sunday 6",
    "fathers day": "3 sunday 6",
    "thanksgiving day": "4 thursday 11",
    "thanksgiving": "4 thursday 11",
    "black friday": "4 thursday 11 +1",
}
HOLIDAY_FIRST_WORDS = {name.split()[0] for name in HOLIDAYS}

# A word after which a bare month, year or weekday is surely a time.
TIME_CUES = set(
    _words(
        "in on during since until till by before after of from between throughout around about circa to "
        "through at over early mid late year"
    )
)

# Words that may follow a finished time phrase; a noun there ("the 18th floor") says it was none.
FOLLOWING_WORDS = set(
    _words(
        "a an the and or but at in on of for from to till until through with i you we he she it they that "
        "this is was were are did do does has have had will would can could my your his her our their its "
        "who what where when why how which so as if because while after before during by about please "
        "morning afternoon evening night noon onward onwards"
    )
)

# Words that make the four digits before them a count, not a year: "in 1500 words".
COUNT_NOUNS = set(_words("people percent km kg m cm mm mg g ml l mb gb ms rpm hp usd eur bc bce men women children"))
NOT_PLURAL = set(
    _words(
        "was is his this as has does its us unless besides towards always perhaps across plus versus "
        "years sometimes previous alias thus less"
    )
)

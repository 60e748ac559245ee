"""Text into tokens: words, numbers, and the digit shapes that are times by their look."""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.timewords.words import DECADES, HOLIDAY_STARTS, MONTHS, PARTS, SEASONS, UNITS, WEEKDAYS

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"

# Without one of these there is no time in a text: most texts are done after this one search.
_CUES = {*MONTHS, *WEEKDAYS, *UNITS, *SEASONS, *DECADES, *PARTS, *HOLIDAY_STARTS}
_CUES |= {"today", "yesterday", "tomorrow", "noon", "midday", "midnight"}
CUE = re.compile(r"[0-9]|\b(?:" + "|".join(sorted(_CUES, key=len, reverse=True)) + r")\b", re.IGNORECASE)

# First match wins, so the longer shapes stand first. Every repetition is bounded: scanning is linear.
# A digit shape must stand free on both sides, or phone numbers, versions and prices would be dates.
_SHAPES = {
    "iso": r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,6})?)?"
    r"(?:\ ?(?:Z|UTC\b|[+-][0-9]{2}:?[0-9]{2}))?)?",
    "isoweek": r"[0-9]{4}-?W[0-9]{2}",
    "isomonth": r"[0-9]{4}-(?:0?[1-9]|1[0-2])",
    "years": r"[0-9]{4}\ ?[-–—~/]\ ?(?:[0-9]{4}|[0-9]{2})",
    "ymd": r"[0-9]{4}[/.][0-9]{1,2}[/.][0-9]{1,2}",
    "dmy": r"[0-9]{1,2}(?P<sep>[/.-])[0-9]{1,2}(?P=sep)(?:[0-9]{4}|[0-9]{2})",
    "odd": rf"(?:[0-9]{{1,4}}[-/]{_MONTH}[-/][0-9]{{1,4}}|{_MONTH}[-/][0-9]{{1,2}}[-/][0-9]{{2,4}}"
    rf"|[0-9]{{4}}[-/][0-9]{{1,2}}[-/]{_MONTH}|[0-9]{{1,2}}[-/][0-9]{{4}}[-/]{_MONTH})",
    "clock": r"[0-9]{1,2}(?:[:.][0-9]{2}(?::[0-9]{2})?)?\ ?(?:[ap]\.?\ ?m\b\.?|[ap](?!\w|\.\w|['’]))",
    "hm": r"[0-9]{1,2}(?::[0-9]{2}(?::[0-9]{2})?|h[0-9]{2})",
    "md": r"[0-9]{1,2}/[0-9]{1,2}",
    "decade": r"(?:[0-9]{3}0|[1-9]0)['’]?s",
    "ordinal": r"[0-9]{1,2}(?:st|nd|rd|th)",
    "quarter": r"(?:[0-9]{4}[-\ ]?)?(?:q[1-4]|h[12])(?:[-\ ](?:of\ )?[0-9]{4})?",
}
_FREE = r"(?<![\w$€£¥#@+/:.,-])(?:{})(?![\w%/:]|[.,-][0-9])"
_TOKEN = re.compile(
    "|".join(rf"(?P<{kind}>{_FREE.format(shape)})" for kind, shape in _SHAPES.items())
    # A number may run into letters ("14april") or be followed by a year ("May 7,2023").
    + r"|(?P<number>(?<![\w$€£¥#@+/:.])(?<![0-9],)[0-9]{1,4}(?![0-9%/:_]|\.[0-9]|,[0-9]{3}(?![0-9])))"
    + r"|(?P<junk>[0-9]+)"
    + r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?)"
    + r"|(?P<mark>[^\w\s]|_)",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """A word, number, shape or mark; `low` is how the grammar compares it: small letters, no possessive."""

    kind: str
    low: str
    start: int
    end: int
    capital: bool


END = Token("end", "", -1, -1, False)


def lex(text: str) -> list[Token]:
    """The tokens of a text, in order.

    >>> [(token.kind, token.low) for token in lex("Since last year's May 7th, 3pm")][1:]
    [('word', 'last'), ('word', 'year'), ('word', 'may'), ('ordinal', '7th'), ('mark', ','), ('clock', '3pm')]
    """
    tokens = []
    for match in _TOKEN.finditer(text):
        shown = match.group()
        low = shown.lower()
        if "'" in low or "’" in low:
            low = low.replace("’", "'").removesuffix("'s").removesuffix("'")
        tokens.append(Token(match.lastgroup or "mark", low, match.start(), match.end(), shown[0].isupper()))
    return tokens

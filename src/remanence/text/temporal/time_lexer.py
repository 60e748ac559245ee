"""Splits text into tokens: words, numbers, and digit patterns such as "2026-05-03" and "3pm"."""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.text.temporal import time_vocabulary as vocab

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"

# A text without one of these words and without a digit has no time in it.
_OTHER_CUES = (
    "o eighteen nineteen twenty thousand ago currently nowadays presently now moment present immediately being"
)
_CUES = {*vocab.TIME_NOUNS, *vocab.RELATIVE_DAYS, *_OTHER_CUES.split()}
_DIGIT = re.compile("[0-9]")
_LETTERS = re.compile("[a-z]+")

# The first match wins, so longer patterns come first. Every repetition is bounded: scanning is linear.
_PATTERNS = {
    "iso": r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,6})?)?"
    r"(?:\ ?(?:Z|UTC\b|[+-][0-9]{2}:?[0-9]{2}))?)?",
    "isoweek": r"[0-9]{4}-?W[0-9]{2}",
    "isomonth": r"[0-9]{4}-(?:0?[1-9]|1[0-2])",
    "years": r"[0-9]{4}\ ?[-–—~/]\ ?(?:[0-9]{4}|[0-9]{2})",
    "days": r"[0-9]{1,2}/[0-9]{1,2}(?:/[0-9]{2,4})?\ ?[-–]\ ?"
    r"[0-9]{1,2}/[0-9]{1,2}(?:/[0-9]{2,4}|,\ ?[0-9]{4})?",
    "compact": r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])",
    "ymd": r"[0-9]{4}[/.][0-9]{1,2}[/.][0-9]{1,2}",
    "dmy": r"[0-9]{1,2}(?P<sep>[/.-])[0-9]{1,2}(?P=sep)(?:[0-9]{4}|[0-9]{2})",
    "odd": rf"(?:[0-9]{{1,4}}[-/]{_MONTH}[-/][0-9]{{1,4}}"
    rf"|[0-9]{{4}}[-/][0-9]{{1,2}}[-/]{_MONTH}|[0-9]{{1,2}}[-/][0-9]{{4}}[-/]{_MONTH})",
    "clock": r"[0-9]{1,2}(?:[:.][0-9]{2}(?::[0-9]{2})?)?"
    r"\ ?(?:[ap]\.\ ?m\b\.?|[ap]\ ?m\b|[ap](?!\w|\.\w|['’]))",
    "hm": r"[0-9]{1,2}(?::[0-9]{2}(?::[0-9]{2})?(?:\ ?\+[0-9]{2}:?[0-9]{2})?|h[0-9]{2}|h(?=\b))",
    "md": r"[0-9]{1,2}/[0-9]{1,2}",
    "decade": r"(?:[0-9]{3}0|[1-9]0)['’]?s",
    "ordinal": r"[0-9]{1,2}(?:st|nd|rd|th)",
    "quarter": r"[0-9]{4}[-\ ]?(?:q[1-4]|h[12])",
}
# Neither side may touch other digits or signs, or phone numbers, versions and prices would be dates.
_SEPARATE = r"(?<![\w$€£¥#@+/:.,-])(?:{})(?![\w%/:]|[.,-][0-9])"
# A full ISO date is a date even in a file name; a clock time may end a range ("3-8pm", "10:30-11:45").
_LESS_SEPARATE = {
    "iso": r"(?<![^\W_])(?<![0-9][-/.])(?:{})(?![0-9/]|[.-][0-9])",
    "clock": r"(?<![\w$€£¥#@+/:.,])(?:{})(?!\w)",
    "hm": r"(?<![\w$€£¥#@+/:.,])(?:{})(?![\w%/:]|[.,][0-9])",
}
_DIGITAL = "|".join(
    rf"(?P<{kind}>{_LESS_SEPARATE.get(kind, _SEPARATE).format(pattern)})" for kind, pattern in _PATTERNS.items()
)
_NAMED = rf"(?:q[1-4]|h[12])(?:[-\ ](?:of\ )?[0-9]{{4}})?|{_MONTH}[-/][0-9]{{1,2}}[-/][0-9]{{2,4}}"
_TOKEN = re.compile(
    # Nearly every token is a plain word. Matched first, and never at a space, it costs no other attempt.
    r"(?=\S)(?:(?P<plain>(?-i:[A-Za-z]+)(?=[\s.,;!?]))"
    rf"|(?=[0-9])(?:{_DIGITAL}"
    # A number may run into letters ("14april") or be followed by a year ("May 7,2023").
    r"|(?P<number>(?<![\w$€£¥#@+/:.])(?<![0-9],)[0-9]{1,4}(?![0-9%/:_]|\.[0-9]|,[0-9]{3}(?![0-9])))"
    r"|(?P<junk>[0-9]+))"
    rf"|(?P<named>(?<!\w)(?:{_NAMED})(?!\w))"
    r"|(?P<yy>(?<!\w)['’‘][0-9]{2}(?!\w))"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?)"
    r"|(?P<mark>[^\w\s]|_))",
    re.IGNORECASE,
)


class TimeToken(NamedTuple):
    """A word, number, digit pattern or mark; `normalized` is in lower case, without a possessive ending."""

    kind: str
    normalized: str
    start: int
    end: int
    capitalized: bool


END_TOKEN = TimeToken("end", "", -1, -1, False)


def may_have_time(text: str) -> bool:
    """Whether a text has any word or digit of a time. Most texts have none and need no parsing."""
    if _DIGIT.search(text):
        return True
    return not _CUES.isdisjoint(_LETTERS.findall(text.lower()))


def lex(text: str) -> list[TimeToken]:
    """The tokens of a text, in order."""
    tokens = []
    for match in _TOKEN.finditer(text):
        kind, matched = match.lastgroup or "mark", match.group()
        normalized = matched.lower()
        if kind == "plain":
            kind = "word"
        elif kind == "named":
            kind = "quarter" if normalized[0] in "qh" else "odd"
        elif len(normalized) > 2 and ("'" in normalized or "’" in normalized):
            normalized = normalized.replace("’", "'").removesuffix("'s").removesuffix("'")
        tokens.append(TimeToken(kind, normalized, match.start(), match.end(), matched[0].isupper()))
    return tokens

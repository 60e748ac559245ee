"""Reads words for times as half-open UTC windows: "last May" and a reference time give a month.

A grammar finds the phrases that people use in chats and questions in English. Texts in other languages are translated
to its words, with the data of dateparser; dateparser also reads isolated dates that the grammar does not cover, and is
imported only then.
"""

from remanence.text.temporal.date_order import date_order_evidence, has_numeric_date, use_date_order
from remanence.text.temporal.time_parsing import (
    MAX_DATED,
    TimePhrase,
    find_stated_times,
    find_times,
    parse_moment,
    parse_window,
)

__all__ = [
    "MAX_DATED",
    "TimePhrase",
    "date_order_evidence",
    "find_stated_times",
    "find_times",
    "has_numeric_date",
    "parse_moment",
    "parse_window",
    "use_date_order",
]

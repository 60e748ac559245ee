"""Reads words for times as half-open UTC windows: "last May" and a reference time give a month.

A grammar finds the phrases that people use in chats and questions. dateparser reads isolated dates that the
grammar does not cover, and is imported only then.
"""

from remanence.language.temporal.time_parsing import (
    TimePhrase,
    find_stated_times,
    find_times,
    parse_moment,
    parse_window,
)

__all__ = ["TimePhrase", "find_stated_times", "find_times", "parse_moment", "parse_window"]

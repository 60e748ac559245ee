"""Where in running text a time is said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from remanence.language.temporal.calendar_spans import to_utc
from remanence.language.temporal.time_lexer import lex, may_have_time
from remanence.language.temporal.time_phrases import PHRASE_START_WORDS, TimePhraseParser
from remanence.schema import Window

_LONGEST = 100_000  # a book names so many times that none says when the memory is from


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A time said in a text: the words, where they stand, and what they mean."""

    text: str
    start: int
    end: int
    window: Window


def find_times(text: str, now: datetime) -> list[TimePhrase]:
    """Every time phrase in running text, left to right, none overlapping another.

    Readings prefer the past: "in May" is the latest May that has begun. Never raises, whatever the text;
    beyond its first 100,000 characters a text is not read.

    >>> now = datetime(2026, 6, 20)
    >>> [(found.text, str(found.window)) for found in find_times("Where was I last May, and in 2019?", now)]
    [('last May', '2026-05-01 to 2026-06-01'), ('2019', '2019-01-01 to 2020-01-01')]
    >>> find_times("May I march on, past room 2012?", now)
    []
    """
    if not may_have_time(text[:_LONGEST]):
        return []
    tokens = lex(text[:_LONGEST])
    reader = TimePhraseParser(tokens, to_utc(now))
    phrases: list[TimePhrase] = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        plain = token.normalized not in PHRASE_START_WORDS if token.kind == "word" else token.kind in ("mark", "junk")
        found = None if plain else reader.parse_phrase(i)
        if found is None:
            i += 1
            continue
        window, j = found
        start, end = tokens[i].start, tokens[j - 1].end
        phrases.append(TimePhrase(text[start:end], start, end, window))
        i = reader.previous_end = j
    return phrases

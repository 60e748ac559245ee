"""The times of a running text, and one moment or one window from what a caller passes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import islice, pairwise
from typing import TypeAlias

from remanence.errors import InvalidInput
from remanence.schema import Window
from remanence.text.lexicon.word_lists import is_common_word
from remanence.text.temporal import time_vocabulary as vocab
from remanence.text.temporal.calendar_spans import ONE_DAY, Span, iso_span, parse_with_dateparser, start_of_date, to_utc
from remanence.text.temporal.date_order import is_day_first
from remanence.text.temporal.tense import NEAREST, PAST, Direction, TenseReader
from remanence.text.temporal.time_lexer import TimeToken, lex, may_have_time
from remanence.text.temporal.time_phrases import PHRASE_START_WORDS, STATEMENT_START_WORDS, TimePhraseParser
from remanence.text.temporal.time_translation import translate_in_any_language
from remanence.text.temporal.translation_patterns import clock_after, looks_english
from remanence.text.text import SENTENCE_END, truncate

_MAX_TEXT = 100_000
"""Characters of a text that are read: a book names so many times that none says when the memory is from."""
MAX_DATED = 2_000
"""Characters of a text whose first time is when it happens. A longer one is a document, which did not happen at one
time."""
_MAX_DATE = 200
"""Characters of the longest date; a longer text was passed by mistake."""
_LEADING_WORDS = frozenset("in on at the during over from for around about @".split())
_YEAR = re.compile(r"\b[0-9]{4}\b|['’][0-9]{2}\b|\byear\b|\bago\b")
_OTHER_STATEMENT = re.compile(r"\b(?:and|but|or|then)\b|[.;!?](?:\s|$)", re.IGNORECASE)
_NAMED_YEAR = re.compile(r"(?<![0-9])[0-9]{4}$")
_UNKNOWN_MONTH = re.compile(
    r"(?<![\w.,])[0-9]{1,2}\.? (?:[a-z]{2} )?([^\W\d_]{3,12}),? (?:[a-z]{2} )?[0-9]{4}(?![\w.,]\w)"
)
_QUOTED_TITLE = re.compile(r"""(?<!\w)(?:["“][A-Z0-9][^"”.!?]{1,40}["”]|['‘][A-Z0-9][^'’.!?]{1,40}['’](?!\w))""")
_NOW_AFTER = re.compile(r",? now\b", re.IGNORECASE)
_WORDS_AFTER_NOW = 3
"""Words before a new date among which "now" is looked for: "now it's on 10 March"."""
_ACCEPTED = "Give a datetime, a date, ISO text such as '2026-05-03', or words such as 'last May'."

# Words for times that are names, or parts of names: "12 May Street", "Straße des 17. Juni", "mia figlia Domenica".
_STREETS = frozenset(
    """straße strasse platz allee brücke ufer weg rue place avenue boulevard quai pont square impasse calle avenida av.
    plaza paseo barrio colonia rua praça travessa largo carrer via piazza viale corso piazzale ulica ulice ulicę ulicy
    ulicą ul. aleja aleje alei aleję aleją al. plac placu ulici náměstí trg utca улица улице улицу улицы ул. площадь
    площади проспект проспекте""".split()
)
_LINKS = frozenset("des der vom du de la l' l’ del do da".split())
_STREET_AFTER = re.compile(
    r" (?:(?:Street|Avenue|Ave|Road|Rd|Lane|Drive|Boulevard|Blvd|Square|Crescent|Terrace|Court|Close|Plaza)\b"
    r"|St\b\.?|(?:Caddesi|Bulvarı|Sokağı|Meydanı|Mahallesi)\w*)(?! ?[A-Z])"
)
_NAMING = re.compile(
    r"\b(?:s['’]appelle|se llama|si chiama|chama-se|se chama|heißt|heisst|heet|heter|hedder|nazywa się|jmenuje se|зовут"
    r"|adı|ismi|nimi on) $",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:mia|mio|nostra|nostro|mi|nuestra|nuestro|ma|mon|notre|minha|meu|nossa|nosso|min|mitt|vår|mijn|onze|moja|mój|nasza"
    r"|моя|мой|наша|наш) [^\W\d_]{3,} $",
    re.IGNORECASE,
)
"""A relative or the like, before a name. German is left out: it writes all weekdays with a capital."""
_MAX_NAME_CHARS = 24
"""Characters before a time in which a word is looked for that makes it a name: "my sister April"."""

Moment: TypeAlias = datetime | date | str


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A time in a text: its words, their position, and the window they mean."""

    text: str
    start: int
    end: int
    window: Window


def find_times(text: str, now: datetime) -> list[TimePhrase]:
    """Every time phrase in a running text, left to right, without overlaps. Never raises.

    The past is preferred: "in May" is the latest May that has begun. Only the first 100,000 characters are read.

    >>> now = datetime(2026, 6, 20)
    >>> [(found.text, str(found.window)) for found in find_times("Where was I last May, and in 2019?", now)]
    [('last May', '2026-05-01 to 2026-06-01'), ('2019', '2019-01-01 to 2020-01-01')]
    >>> find_times("May I march on, past room 2012?", now)
    []
    """
    return _find(text[:_MAX_TEXT], now, is_statement=False)


def find_stated_times(text: str, now: datetime) -> list[TimePhrase]:
    """Every time at which a text says that something happens, happened or begins to hold. Never raises.

    Unlike a question, a statement speaks of the future as well: tense decides where a time without a year lies. What
    comes again every year or week is not a time.

    >>> now = datetime(2026, 6, 20)
    >>> for text in ("We met in May.", "We will meet in May.", "As of today I'm vegan.", "We always meet in May."):
    ...     print([str(found.window) for found in find_stated_times(text, now)])
    ['2026-05-01 to 2026-06-01']
    ['2027-05-01 to 2027-06-01']
    ['since 2026-06-20']
    []
    """
    return _find(text[:_MAX_TEXT], now, is_statement=True)


def _find(text: str, now: datetime, *, is_statement: bool) -> list[TimePhrase]:
    phrases = _find_phrases(text, now, is_statement)
    return phrases and [phrase for phrase in phrases if not _is_name(text, phrase.start, phrase.end)]


def _find_phrases(text: str, now: datetime, is_statement: bool) -> list[TimePhrase]:
    if translated := _find_translated(text, now, is_statement):
        return translated
    if not may_have_time(text):
        return []
    tokens = lex(text)
    parser = TimePhraseParser(tokens, to_utc(now), is_statement=is_statement, is_day_first=is_day_first(text))
    start_words = STATEMENT_START_WORDS if is_statement else PHRASE_START_WORDS
    titles = [match.span() for match in _QUOTED_TITLE.finditer(text)][::-1] if is_statement else []
    phrases: list[TimePhrase] = []
    begins: list[int] = []
    """For each phrase its first token, or -1 if its year is not open."""
    i = count = 0
    while i < len(tokens) and count < 1_000:  # a text of dates only would take seconds
        kind = tokens[i].kind
        skipped = tokens[i].normalized not in start_words if kind == "word" else kind in ("mark", "junk")
        match = None if skipped else parser.parse_phrase(i)
        if match is None or parser.is_named_before(i):
            i += 1
            continue
        (window, end_token), is_yearless = match, parser.leaves_year_open
        count += 1
        start, end = tokens[i].start, tokens[end_token - 1].end
        is_open = parser.chosen is not None and not _YEAR.search(text, start, end)
        recurs = parser.direction.recurs if is_open else None
        while titles and titles[-1][1] <= start:
            titles.pop()
        is_title = bool(titles) and titles[-1][0] < start
        if not is_title and (recurs is None or (recurs == "year" and parser.chosen != "year")):
            if is_statement and phrases and _continues(phrases[-1], window, text[phrases[-1].end : start]):
                first = phrases.pop()
                start, window, is_yearless = first.start, Window(first.window.start, window.end), False
                begins.pop()
            is_yearless = is_yearless and not _YEAR.search(text, start, end)
            phrases.append(TimePhrase(text[start:end], start, end, window))
            begins.append(i if is_yearless else -1)
        i = parser.previous_end = end_token
    if max(begins, default=-1) >= 0:
        phrases = _with_named_years(phrases, begins, tokens, parser)
    if is_statement and len(phrases) > 1:
        phrases = _without_wider(_without_old_dates(phrases, text), text)
    return phrases or _find_unknown_months(text, now)


def _with_named_years(
    phrases: list[TimePhrase], begins: list[int], tokens: Sequence[TimeToken], parser: TimePhraseParser
) -> list[TimePhrase]:
    """The phrases, dates without a year in the year that their sentence names elsewhere: "'see you Tuesday, 4 March',
    he wrote in 2014". A plan in a clause of its own is left alone: "I left in 2014 and start again on 4 March".
    """
    named = [(phrase, year) for phrase in phrases if (year := _named_year(phrase)) is not None]
    if not named:
        return phrases
    tense, token_at = TenseReader(tokens), {token.start: number for number, token in enumerate(tokens)}
    years = [(tense.place_of(token_at[phrase.start]), year) for phrase, year in named if phrase.start in token_at]
    dated = []
    for phrase, i in zip(phrases, begins, strict=True):
        sentence, clause = tense.place_of(i)
        found = {year for (other, _), year in years if other == sentence}
        same_clause = any(place == (sentence, clause) for place, _ in years)
        direction = tense.direction_at(i) if i >= 0 else NEAREST
        is_plan = parser.is_statement and direction.is_certain and direction.is_future is True and not same_clause
        if i >= 0 and len(found) == 1 and not is_plan and (window := _in_year(tokens, parser, i, found.pop())):
            phrase = replace(phrase, window=window)
        dated.append(phrase)
    return dated


def _without_old_dates(phrases: list[TimePhrase], text: str) -> list[TimePhrase]:
    """The phrases without the days that something was moved from: "the call on 3 March has been moved to 10 March",
    "it was 3 March, now it's 10 March"."""
    kept = phrases[:1]
    for old, new in pairwise(phrases):
        between = text[old.end : new.start]
        words = between.lower().replace(",", " ").split()
        is_moved = words[-1:] == ["to"] and not vocab.MOVING_VERBS.isdisjoint(words)
        is_now = "now" in words[-_WORDS_AFTER_NOW:] or _NOW_AFTER.match(text, new.end) is not None
        is_change = (is_moved or is_now) and _is_day(old.window) and _is_day(new.window)
        if is_change and not SENTENCE_END.search(between):
            kept.pop()
        kept.append(new)
    return kept


def _is_day(window: Window) -> bool:
    return window.start is not None and window.end is not None and window.end - window.start <= ONE_DAY


def _without_wider(phrases: list[TimePhrase], text: str) -> list[TimePhrase]:
    """The phrases without those that the next or the previous one makes precise: "in May, 9 to 16 May"."""

    def is_made_precise(phrase: TimePhrase, other: TimePhrase) -> bool:
        wide, narrow = phrase.window, other.window
        if None in (wide.start, wide.end, narrow.start, narrow.end) or wide == narrow:
            return False
        first, second = sorted((phrase, other), key=lambda each: each.start)
        inside = narrow.start in wide and (narrow.end == wide.end or narrow.end in wide)  # type: ignore[operator]
        return inside and not _OTHER_STATEMENT.search(text[first.end : second.start])

    beside = [[*phrases[max(0, place - 1) : place], *phrases[place + 1 : place + 2]] for place in range(len(phrases))]
    return [each for each, near in zip(phrases, beside, strict=True) if not any(is_made_precise(each, n) for n in near)]


def _named_year(phrase: TimePhrase) -> int | None:
    """The year that a phrase names and nothing else: "2014", "the year 2014"."""
    start, year = phrase.window.start, _NAMED_YEAR.search(phrase.text)
    if start is None or year is None or phrase.window != Span.of_date("year", start.year).window:
        return None
    return start.year


def _in_year(tokens: Sequence[TimeToken], parser: TimePhraseParser, i: int, year: int) -> Window | None:
    """The date without a year at token `i` as it was read at the end of a year; None if it is not in that year."""
    then = Span.of_date("year", year).window
    if then.end is None:
        return None
    last = then.end - ONE_DAY
    reader = TimePhraseParser(
        tokens,
        last,
        is_statement=parser.is_statement,
        direction=PAST if parser.is_statement else None,
        is_day_first=parser.is_day_first,
    )
    match = reader.parse_phrase(i)
    return match[0] if match and match[0].start is not None and match[0].start in then else None


def _is_name(text: str, start: int, end: int) -> bool:
    """Whether the words for a time are a name, or a part of one.

    >>> _is_name("Mia figlia Domenica ama i gatti.", 11, 19), _is_name("Ci vediamo Domenica.", 11, 19)
    (True, False)
    >>> _is_name("I live at 12 May Street.", 10, 16), _is_name("We met on 12 May.", 10, 16)
    (True, False)
    """
    words = text[start:end]
    if words.isalpha():
        before = text[max(0, start - _MAX_NAME_CHARS) : start]
        return words[0].isupper() and bool(_NAMING.search(before) or _RELATIVE.search(before))
    if not re.search("[0-9]", words) or re.search("[0-9]{4}", words):
        return False
    words_before = text[max(0, start - _MAX_NAME_CHARS) : start].lower().split()
    while words_before and words_before[-1] in _LINKS:
        words_before.pop()
    return (bool(words_before) and words_before[-1] in _STREETS) or _STREET_AFTER.match(text, end) is not None


def _continues(previous: TimePhrase, window: Window, between: str) -> bool:
    """Whether a window goes on where the phrase before it ends: "on Thursday and Friday"."""
    return between.strip() in ("and", "&") and window.start is not None and previous.window.end == window.start


def _find_translated(text: str, now: datetime, is_statement: bool) -> list[TimePhrase]:
    """The times of a text in another language, read in the words of English."""
    phrases = []
    for start, end, english, is_past in translate_in_any_language(text):
        told = NEAREST if is_past is None else Direction(not is_past, True)
        direction = told if is_statement else None
        window = _read_words(english, to_utc(now), direction)
        if window is None:
            continue
        if window.start and window.end == window.start + ONE_DAY and (clock := clock_after(text, end)):
            timed = _read_words(f"{english} at {clock[0]}", to_utc(now), direction)
            window, end = (timed, clock[1]) if timed else (window, end)
        phrases.append(TimePhrase(text[start:end], start, end, window))
    return phrases


def _find_unknown_months(text: str, now: datetime) -> list[TimePhrase]:
    """Dates such as "12 ağustos 2024", whose month dateparser knows in some two hundred languages."""
    phrases: list[TimePhrase] = []
    # Dateparser takes some milliseconds for each.
    dates = list(islice(_UNKNOWN_MONTH.finditer(text), 64))
    if not dates or looks_english(text):  # dateparser may load every language it knows, which takes seconds
        return phrases
    for found in dates:
        if not is_common_word(found[1].lower()) and (span := parse_with_dateparser(found[0], now, languages=None)):
            phrases.append(TimePhrase(found[0], found.start(), found.end(), span.window))
    return phrases


def parse_moment(value: Moment, now: datetime, *, argument: str = "date") -> datetime:
    """One moment in UTC from a datetime (naive is UTC), a date (its midnight), ISO text, or words.

    Words and partial dates give the start of what they name.

    >>> parse_moment("last May", datetime(2026, 6, 20)).isoformat()
    '2026-05-01T00:00:00+00:00'
    """
    if isinstance(value, datetime):
        return _utc(value, argument)
    if not isinstance(value, Moment):
        raise _unreadable(value, argument)
    start = parse_window(value, now, argument=argument).start
    if start is None:
        raise InvalidInput(f"{argument}={_shorten(value)} has no start, but one moment is needed. {_ACCEPTED}")
    return start


def parse_window(
    value: Window | Moment | tuple[Moment | None, Moment | None], now: datetime, *, argument: str = "during"
) -> Window:
    """A window: "April 2026" is that month, a date that day, a datetime that instant, a pair its start and end.

    None in a pair leaves that end open. The end is not part of the window.

    >>> now = datetime(2026, 6, 20)
    >>> str(parse_window("April 2026", now)), str(parse_window(("2026-04", None), now))
    ('2026-04-01 to 2026-05-01', 'since 2026-04-01')
    """
    if isinstance(value, Window):
        start, end = (None if side is None else _utc(side, argument) for side in (value.start, value.end))
        window = Window(start, end)
    elif isinstance(value, datetime):
        window = Window.from_moment(_utc(value, argument))
    elif isinstance(value, date):
        window = Span.enclosing(start_of_date(value), "day").window
    elif isinstance(value, str):
        window = _read_text(value, to_utc(now), argument)
    elif isinstance(value, tuple) and len(value) == 2:
        start, end = (None if side is None else parse_moment(side, now, argument=argument) for side in value)
        window = Window(start, end)
    else:
        raise _unreadable(value, argument)
    if window.start is not None and window.end is not None and window.start >= window.end:
        raise InvalidInput(f"{argument}={_shorten(value)} ends before it starts ({window}). Swap its two ends.")
    return window


def _read_text(value: str, now: datetime, argument: str) -> Window:
    text = value.strip()
    try:
        if re.fullmatch("[0-9]{4}", text):
            return Span.of_date("year", int(text)).window
        if month := re.fullmatch("([0-9]{4})-([0-9]{2})", text):
            return Span.of_date("month", int(month[1]), int(month[2])).window
        if re.match("[0-9]{4}-[0-9]{1,2}-[0-9]", text) and len(text) <= _MAX_DATE:
            return iso_span(text).window
        if text.lower() == "now":
            return Window.from_moment(now)
        # Other numbers are not for dateparser, which reads a date into any of them.
        if text and len(text) <= _MAX_DATE and not (text.isdecimal() and len(text) != 8):
            if window := _read_words(text, now):
                return window
            if span := parse_with_dateparser(text, now):
                return span.window
    except (ValueError, OverflowError) as error:
        raise _unreadable(value, argument) from error
    raise _unreadable(value, argument)


def _read_words(text: str, now: datetime, direction: Direction | None = None) -> Window | None:
    """The window, if the text is one time phrase from its first word to its last."""
    tokens = lex(text.rstrip(" .!?"))
    parser = TimePhraseParser(
        tokens,
        now,
        whole_text=True,
        is_statement=direction is not None,
        direction=direction,
        is_day_first=is_day_first(text),
    )
    for i in range(min(3, len(tokens))):
        if (match := parser.parse_phrase(i)) and match[1] == len(tokens):
            return match[0]
        if tokens[i].normalized not in _LEADING_WORDS:
            break
    return None


def _utc(moment: datetime, argument: str) -> datetime:
    try:
        return to_utc(moment)
    except OverflowError as error:
        raise InvalidInput(f"{argument}={_shorten(moment)} lies outside the calendar in UTC. {_ACCEPTED}") from error


def _unreadable(value: object, argument: str) -> InvalidInput:
    return InvalidInput(f"{argument}={_shorten(value)} cannot be read as a time. {_ACCEPTED}")


def _shorten(value: object) -> str:
    return truncate(repr(value), 60)

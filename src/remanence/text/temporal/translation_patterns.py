"""Times in running text of other languages, as English words: "vor drei Tagen" is "3 days ago".

The words and patterns are in `translation_patterns.txt`. Most texts have none of the words and cost one look at a set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from remanence.text.lexicon.word_lists import data_sections
from remanence.text.temporal import time_vocabulary as vocab

_WORD = re.compile(r"[^\W\d_]+")
_JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_SENTENCE_END = re.compile(r"(?<![0-9])[.!?](?=\s|$)|[。！？\n]")
_ENGLISH = vocab.FOLLOWING_WORDS | vocab.PRESENT_CUES | vocab.PAST_CUES | {"not", "all", "me", "i'm", "some", "no"}
_SLOT = re.compile(r"\{(\w+)\}")
_DIGITS = {"d": "[0-9]{1,2}", "d2": "[0-9]{1,2}", "y": "[0-9]{4}"}
_REACH = 200
_OPENERS = ("since", "until", "starting")
_YEAR = re.compile(r"(?<![0-9])[12][0-9]{3}(?![0-9])")
_PUNCTUATION = str.maketrans(dict.fromkeys(".,;:!?()'’\"-…«»„“”", " "))


class TranslatedTime(NamedTuple):
    """A time in another language: its position, its English words, and whether its sentence is in the past (None if
    that is unknown)."""

    start: int
    end: int
    english: str
    is_past: bool | None


@dataclass(frozen=True, slots=True)
class _PatternLanguage:
    """The section of a language in the data file."""

    slots: dict[str, dict[str, str]]
    """For each slot of a pattern, the forms in this language and what they are in English."""
    patterns: tuple[tuple[str, str], ...]
    openers: dict[str, str]
    """For "since", "until" and "starting", the words for it, separated by "|"."""
    common: frozenset[str]
    anchors: frozenset[str]
    """The words that name a time by themselves."""
    time_words: frozenset[str]
    """All words that may be part of a time."""
    past: str


def translate_times(
    text: str, words: Sequence[str] | None = None, *, may_have_anchor: bool = True
) -> list[TranslatedTime]:
    """The times in a text that is in another language, in order, without overlaps. `words` are its `plain_words`, and
    `may_have_anchor` is False if none of them is in `ANCHORS`.

    >>> translate_times("Wir haben vor drei Tagen geheiratet.")
    [TranslatedTime(start=10, end=24, english='3 day ago', is_past=True)]
    >>> translate_times("We met Mai, Juli and Mars in the month of May.")
    []
    """
    name = _language_of(text, plain_words(text) if words is None else words, may_have_anchor)
    if name is None:
        return []
    times: list[TranslatedTime] = []
    taken = bytearray(len(text))
    past = re.compile(_LANGUAGES[name].past, re.IGNORECASE)  # `re` caches it
    for pattern, english in _compiled(name):
        for match in pattern.finditer(text):
            start, end = match.span()
            if start == end or any(taken[start:end]):
                continue
            taken[start:end] = b"1" * (end - start)
            words = _in_english(name, match, english)
            if not words:
                continue
            begin = min((match.start(slot) for slot, form in match.groupdict().items() if form), default=start)
            opener = None if "{d2}" in english else _opener_before(name, text, begin)
            if opener is not None:
                words, start = f"{opener[0]} {words}", min(start, opener[1])
            is_past = opener is not None and opener[0] == "since"
            is_past = is_past or past.search(sentence_around(text, start, end)) is not None
            times.append(TranslatedTime(start, end, words, is_past))
    return sorted(times)


def looks_english(text: str) -> bool:
    """Whether more than one in six words is a function word of English.

    >>> looks_english("We got 12 Rugelach 2019 tins."), looks_english("12 ağustos 2024 tarihinde taşındık.")
    (True, False)
    """
    words = plain_words(text)
    return 6 * sum(word in _ENGLISH for word in words) > len(words)


def plain_words(text: str) -> list[str]:
    """The words of a text in small letters, split at every mark."""
    return text.lower().translate(_PUNCTUATION).split()


def _language_of(text: str, words: Sequence[str], may_have_anchor: bool) -> str | None:
    """The language of a text that may name a time, if it is one of the data file."""
    if not text.isascii() and _JAPANESE.search(text):
        return "ja"
    if (not may_have_anchor or ANCHORS.isdisjoint(words)) and (
        _FOREIGN_WORDS.isdisjoint(words) or (SHARED_ANCHORS.isdisjoint(words) and not _YEAR.search(text))
    ):
        return None
    english = sum(word in _ENGLISH or word in vocab.RELATIVE_DAYS for word in words)
    scores = {
        name: sum(2 if word in language.time_words else word in language.common for word in words)
        for name, language in _LANGUAGES.items()
    }
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] > english else None


def _in_english(name: str, match: re.Match[str], english: str) -> str:
    slots = _LANGUAGES[name].slots

    def value(slot: re.Match[str]) -> str:
        form = match.groupdict().get(slot[1]) or ""
        return form if slot[1] in _DIGITS else slots[slot[1]].get(re.sub(r"\s+", " ", form.lower()), form)

    return " ".join(_SLOT.sub(value, english).split())


def _opener_before(name: str, text: str, begin: int) -> tuple[str, int] | None:
    """The English "since", "until" or "starting" if it is said right before `begin`, and where."""
    first = max(0, begin - 24)
    for english, words in _LANGUAGES[name].openers.items():
        if match := re.search(rf"(?<!\w)({words})\s*$", text[first:begin], re.IGNORECASE):
            return english, first + match.start(1)
    return None


def sentence_around(text: str, start: int, end: int) -> str:
    """The sentence around a time, as far as it is near."""
    before, after = text[max(0, start - _REACH) : start], text[end : end + _REACH]
    stop = _SENTENCE_END.search(after)
    return _SENTENCE_END.split(before)[-1] + text[start:end] + (after[: stop.end()] if stop else after)


@lru_cache
def _compiled(name: str) -> list[tuple[re.Pattern[str], str]]:
    """The patterns of a language, in their order, each with its English words."""
    language = _LANGUAGES[name]
    space, before, after = ("", "", "") if name == "ja" else (r"\s+", r"(?<!\w)", r"(?!\w)")

    def group(slot: re.Match[str]) -> str:
        if slot[1] in _DIGITS:
            return f"(?P<{slot[1]}>{_DIGITS[slot[1]]})"
        forms = sorted(language.slots[slot[1]], key=len, reverse=True)
        choice = "|".join(re.escape(form) for form in forms)
        if slot[1] in ("last", "next", "this"):
            return f"(?:{choice})"
        return f"(?P<{slot[1]}>{choice}{'|[0-9]{1,3}' if slot[1] == 'n' else ''})"

    compiled = []
    for pattern, english in language.patterns:
        expression = _SLOT.sub(group, pattern).replace(r"\ ", " ").replace(" ", space)
        compiled.append((re.compile(f"{before}(?:{expression}){after}", re.IGNORECASE), english))
    return compiled


def _read_language(lines: list[str]) -> _PatternLanguage:
    lists = dict(line.split(": ", 1) for line in lines if not line.startswith("= "))
    slots = {slot: _forms(lists[f"{slot}s"].split()) for slot in ("unit", "number", "season", "day")}
    slots["n"] = slots.pop("number")
    months = [name.capitalize() for name in vocab.MONTH_NAMES]  # "may" is a verb
    slots["month"] = _forms(map("=".join, zip(months, lists["months"].split(), strict=True)))
    slots["weekday"] = _forms(map("=".join, zip(vocab.DAY_NAMES, lists["weekdays"].split(), strict=True)))
    for slot in ("last", "next", "this"):
        slots[slot] = {form.replace("_", " "): slot for form in lists[slot].split()}
    named = (form for slot in ("unit", "season", "day", "month", "weekday", "next") for form in slots[slot])
    pieces = {piece for form in named for piece in _WORD.findall(form) if len(piece) >= 3}
    patterns = (line[2:].partition(" ->")[::2] for line in lines if line.startswith("= "))
    return _PatternLanguage(
        slots=slots,
        patterns=tuple((pattern, english.strip()) for pattern, english in patterns),
        openers={opener: lists[opener] for opener in _OPENERS if opener in lists},
        common=frozenset(lists["common"].split()).union(*(_WORD.findall(lists.get(opener, "")) for opener in _OPENERS)),
        anchors=frozenset(pieces - vocab.FOLLOWING_WORDS),
        time_words=frozenset(piece for slot in slots.values() for form in slot for piece in _WORD.findall(form)),
        past=lists["past"],
    )


def _forms(entries: Iterable[str]) -> dict[str, str]:
    """From "english=form/form" to the English of each form; "_" is a space."""
    pairs = (entry.split("=") for entry in entries)
    return {form: english.replace("_", " ") for english, forms in pairs for form in forms.replace("_", " ").split("/")}


_DATA_FILE = str(Path(__file__).with_suffix(".txt"))
_LANGUAGES = {name: _read_language(lines) for name, lines in data_sections(_DATA_FILE).items()}
LANGUAGES_WITH_PATTERNS = frozenset(_LANGUAGES)
_ALL_ANCHORS = frozenset[str]().union(*(language.anchors for language in _LANGUAGES.values()))
# A word such as "april" or "week" may be English: another word has to show the language.
SHARED_ANCHORS = _ALL_ANCHORS & vocab.TIME_NOUNS
ANCHORS = _ALL_ANCHORS - SHARED_ANCHORS
_FOREIGN_WORDS = frozenset[str]().union(*(language.common for language in _LANGUAGES.values())) - _ENGLISH


_CLOCK_WORDS = "kl. kl klo klockan klokken klukkan saat pukul lúc الساعة ساعت בשעה"
"""An hour alone may follow these."""
_OTHER_WORDS = (
    "um gegen à vers a_las a_la alle ore alle_ore às pelas om rond в о об o godz. o_godz. v ve u la ora στις の 에"
)
_HOURS = "uhr|heures?|h|uur|час(?:а|ов)?|годині|時|시|点|點"
_ZONES = {"MEZ": "CET", "MESZ": "CEST", "МСК": "MSK"}


def _one_of(words: str) -> str:
    return "|".join(re.escape(word.replace("_", " ")) for word in sorted(words.split(), key=len, reverse=True))


_CLOCK = re.compile(
    rf"[\s,]{{0,3}}(?:(?P<clock>{_one_of(_CLOCK_WORDS)})\s?|(?P<before>{_one_of(_OTHER_WORDS)})\s?)?"
    r"(?:(?P<early>午前|上午|早上|오전)|(?P<late>午後|下午|晚上|오후))?\s?"
    rf"(?P<hour>[01]?[0-9]|2[0-3])(?:(?P<colon>:|\s?(?:h|時|시|点|點)\s?|\.)(?P<minute>[0-5][0-9]))?(?![0-9.:]?[0-9])"
    rf"(?:\s?(?P<unit>(?:{_HOURS}|分|분)(?![a-zа-я])))?(?:\s\(?(?P<zone>(?-i:[A-ZМСК]{{3,4}}))\b\)?)?",
    re.IGNORECASE,
)
_ENDS_WITH_CLOCK_WORD = re.compile(rf"\b(?:{_one_of(_CLOCK_WORDS)})$", re.IGNORECASE)
"""dateparser counts some of them as parts of the date."""


def clock_after(text: str, end: int) -> tuple[str, int] | None:
    """The time of day after a date that ends at `end`, in English, and where it ends; None if there is none.

    >>> text = "Am 3. Juli um 14:30 Uhr MEZ."
    >>> clock_after(text, text.index(" um")), clock_after("Am 3. Juli 14 Gäste.", 10)
    (('14:30 CET', 27), None)
    """
    match = _CLOCK.match(text, end)
    if match is None:
        return None
    is_hour = any(match[name] for name in ("clock", "early", "late", "unit"))
    is_hour = is_hour or _ENDS_WITH_CLOCK_WORD.search(text, max(0, end - 8), end) is not None
    is_told = match["minute"] and (match["before"] or match["colon"] != ".")  # not "3. Juli 10.50 Euro"
    if not is_hour and not is_told:
        return None
    hour = int(match["hour"])
    hour += 12 if match["late"] and hour < 12 else 0
    zone = match["zone"] or ""
    return f"{hour}:{match['minute'] or '00'} {_ZONES.get(zone, zone)}".rstrip(), match.end()

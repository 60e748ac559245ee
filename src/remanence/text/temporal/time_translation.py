"""Times in running text of the languages of dateparser, as English words: "w zeszłym tygodniu" is "last week".

dateparser knows the names of months, weekdays and units, and words such as "yesterday", in some two hundred languages.
`dateparser_languages.txt` adds number words, "since" and "until", and how the past looks, in the languages with the
most speakers. Nothing of dateparser is loaded before a text has one of the words in `time_words.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from remanence.text.lexicon.languages import ENGLISH, count_function_words, language_of
from remanence.text.lexicon.word_lists import data_sections
from remanence.text.temporal import time_vocabulary as vocab
from remanence.text.temporal.translation_patterns import (
    ANCHORS,
    LANGUAGES_WITH_PATTERNS,
    SHARED_ANCHORS,
    TranslatedTime,
    looks_english,
    plain_words,
    sentence_around,
    translate_times,
)
from remanence.text.text import split_words, tokens

_FOLDER = Path(__file__).parent
_DATEPARSER_CODES = {"no": "nb"}
_BY_SCRIPT = frozenset(("zh", "ko", "th"))
"""Languages that are recognized by their script, and whose words for times have no spaces around them."""
_OTHER_LETTER = re.compile(r"[^\W\d_\x00-\x7f]")
_DOTTED_DAY = re.compile(r"\b[0-9]{1,2}\. [a-z]{3}")
_COUNT = r"(\d++[.,]?\d*+)"
"""The number in dateparser's patterns of relative times."""
_NEAR_LANGUAGES = tuple(
    frozenset(group.split())
    for group in (
        "cs sk sl hr bs sr-Latn pl",
        "uk be bg mk sr sr-Cyrl kk ky mn",
        "lt lv",
        "fi et se smn",
        "sv da nb nn fo is",
        "ar fa ur ps ckb ug",
        "hi mr ne",
        "id ms jv",
        "ca gl eu ast",
    )
)
"""Languages that are told from each other only by their words for times."""
_UNITS = ("day", "week", "month", "year")
_RELATIVE = re.compile(r"(?P<ahead>in )?(?P<count>[0-9]+) (?P<unit>day|week|month|year)(?: ago)?")
_TOKEN = re.compile(r"[0-9]+|[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u064b-\u0652\u0900-\u0963\u0966-\u0dff])*")
_UNWRITTEN = re.compile("[\u0307\u064b-\u0652]")
"""The dot that a Turkish capital loses, and the vowels that Arabic leaves out."""
_GAP = re.compile(r"[\s,\-–/'’]{0,3}|\.\s?")
_MIN_CHARS_ALONE = 4
"""Letters of the shortest form of a weekday, which stands alone."""
_MIN_CHARS_INFLECTED = 5
"""Letters of the shortest word that is read in its inflected forms."""


class _Meaning(NamedTuple):
    """The meaning of a word in a time: its kind, and its English word."""

    kind: str
    english: str


class _Token(NamedTuple):
    """A word or a number of a text; `meaning` is None for a word that is not part of a time."""

    start: int
    end: int
    meaning: _Meaning | None


@dataclass(frozen=True, slots=True)
class _DateparserLanguage:
    """The words for times of a language."""

    code: str
    meanings: Mapping[str, _Meaning]
    inflected: Mapping[str, _Meaning]
    """Of the names of months and weekdays, by their stems."""
    openers: Mapping[str, str]
    """Words for "since" and "until"."""
    inside: frozenset[str]
    """Words that may stand before a month or a year alone."""
    past: re.Pattern[str] | None
    ahead: re.Pattern[str] | None
    joined: re.Pattern[str] | None
    """All words, for a script without spaces."""


def translate_in_any_language(text: str) -> list[TranslatedTime]:
    """The times of a text that is not in English, in order, without overlaps.

    >>> translate_in_any_language("Przeprowadziliśmy się 3 maja 2024, a wczoraj był remont.")[0]
    TranslatedTime(start=22, end=33, english='3 May 2024', is_past=True)
    >>> translate_in_any_language("We met Maja and Lipiec in the month of May.")
    []
    """
    words = plain_words(text)
    if _evidence_words().isdisjoint(words) and (text.isascii() or not _OTHER_LETTER.search(text)):
        # As nearly all texts in English.
        times = translate_times(text, words, may_have_anchor=False)
        if times or SHARED_ANCHORS.isdisjoint(words) or not _DOTTED_DAY.search(text):
            return times
    elif times := translate_times(text, words):
        return times
    code = _language_with_times(text)
    language = None if code is None else _language(code)
    return [] if language is None else list(_find(text, language))


def _language_with_times(text: str) -> str | None:
    """The language of a text that may name a time, as dateparser calls it; None if it is English."""
    words = split_words(text.replace("'", " ").replace("’", " "))
    language = language_of(text)
    if language in _BY_SCRIPT:
        return language
    counts: dict[str, int] = {}
    for word in words:
        for code in _time_words().get(word, ()):
            counts[code] = counts.get(code, 0) + 1
    if language == "ru" and "ru" not in counts:
        language = "uk"  # or another language in the same letters: it is told by its words for times
    function_words = count_function_words(words, language)
    # One function word may belong to another language, if the text has a word for a time in that language.
    others = [code for code in counts if code in _supplements()] if function_words <= 1 else []
    if language in LANGUAGES_WITH_PATTERNS and language not in counts:
        return max(others, key=counts.__getitem__, default=None)
    if language in LANGUAGES_WITH_PATTERNS or (language == ENGLISH and looks_english(text)):
        return None
    language = _DATEPARSER_CODES.get(language, language)
    near = next((group for group in _NEAR_LANGUAGES if language in group), (language,))
    is_sure = language in counts or (language != ENGLISH and function_words > 0)
    likely = [code for code in counts if not is_sure or code in near] or others
    present = frozenset(words)

    def evidence(code: str) -> tuple[int, int, bool]:
        return counts[code], len(present.intersection(_supplements().get(code, {}).get("in", ()))), code == language

    best = max(likely, key=evidence, default=language)  # of several, the one with the most speakers
    return None if best in LANGUAGES_WITH_PATTERNS or best not in _codes() else best


def _find(text: str, language: _DateparserLanguage) -> Iterator[TranslatedTime]:
    time_tokens = list(_tokens(text, language))[:4_000]
    i = 0
    while i < len(time_tokens):
        if time_tokens[i].meaning is None:
            i += 1
            continue
        end = _end_of_run(text, time_tokens, i)
        for j in range(end, i, -1):
            before = text[time_tokens[i - 1].start : time_tokens[i - 1].end].casefold() if i else ""
            if english := _in_english([token.meaning for token in time_tokens[i:j] if token.meaning], language, before):
                yield _translated(text, language, time_tokens, i, j, english)
                i = j
                break
        else:
            i += 1


def _translated(
    text: str, language: _DateparserLanguage, time_tokens: Sequence[_Token], i: int, j: int, english: str
) -> TranslatedTime:
    start, end = time_tokens[i].start, time_tokens[j - 1].end
    first = time_tokens[max(0, i - 2)].start
    for words, opener in language.openers.items():
        if match := re.search(rf"(?:^|(?<=\W)){re.escape(words)}\s*$", text[first:start].lower()):
            start, english = first + match.start(), f"{opener} {english}"
            break
    sentence = sentence_around(text, start, end)
    if english.startswith("since ") or (language.past and language.past.search(sentence)):
        return TranslatedTime(start, end, english, True)
    is_ahead = language.ahead is not None and language.ahead.search(sentence) is not None
    return TranslatedTime(start, end, english, False if is_ahead else None)


def _in_english(parts: Sequence[_Meaning], language: _DateparserLanguage, before: str) -> str | None:
    """The English words of a time with these parts, in whatever order the language has them."""
    parts = [part for part in parts if part.kind != "skip"]
    by_kind: dict[str, list[str]] = {}
    for part in parts:
        by_kind.setdefault(part.kind, []).append(part.english)
    if any(len(words) > 1 for kind, words in by_kind.items() if kind not in ("number", "unit")):
        return None
    kinds = frozenset(by_kind)
    numbers = by_kind.get("number", [])
    if kinds == {"phrase"}:
        return by_kind["phrase"][0]
    if "month" in kinds and kinds <= {"month", "number", "weekday", "step", "unit"}:
        if not frozenset(by_kind.get("unit", ())) <= {"day", "year"}:
            return None
        return _month(by_kind["month"][0], numbers, by_kind.get("step"), before in language.inside)
    if kinds == {"weekday"}:
        return by_kind["weekday"][0] if len(parts[0].english) else None
    if week := _week(by_kind):
        return week
    if kinds == {"weekday", "step"}:
        step = by_kind["step"][0]
        return f"{'coming' if step == 'next' else step} {by_kind['weekday'][0]}"
    if kinds == {"unit", "step"} and len(parts) == 2 and by_kind["unit"][0] in ("week", "month", "year"):
        return f"{by_kind['step'][0]} {by_kind['unit'][0]}"
    if "counted" in kinds and kinds in ({"counted", "ago"}, {"counted", "ahead"}):
        return f"{by_kind['counted'][0]} ago" if "ago" in kinds else f"in {by_kind['counted'][0]}"
    if kinds <= {"number", "unit", "ago", "ahead"} and len(kinds & {"ago", "ahead"}) == 1 and "unit" in kinds:
        if len(numbers) > 1 or len(by_kind["unit"]) > 1:
            return None
        count = numbers[0] if numbers else "1"
        return f"{count} {by_kind['unit'][0]} ago" if "ago" in kinds else f"in {count} {by_kind['unit'][0]}"
    if kinds == {"number", "unit"} and len(numbers) == len(by_kind["unit"]):
        return _numbered(dict(zip(by_kind["unit"], numbers, strict=True)), language)
    if kinds == {"number"} and len(numbers) == 1 and _is_year(numbers[0]) and before in language.inside:
        return numbers[0]
    return None


def _week(by_kind: Mapping[str, Sequence[str]]) -> str | None:
    """A weekday of a week: "gelecek hafta pazartesi" is the Monday of next week."""
    if by_kind.keys() == {"weekday", "phrase"} and by_kind["phrase"][0].endswith(" week"):
        return f"{by_kind['weekday'][0]} of {by_kind['phrase'][0]}"
    if by_kind.keys() == {"weekday", "step", "unit"} and by_kind["unit"] == ["week"]:
        return f"{by_kind['weekday'][0]} of {by_kind['step'][0]} week"
    return None


def _is_year(digits: str) -> bool:
    return len(digits) == 4 and 1800 <= int(digits) <= 2100


def _month(month: str, numbers: Sequence[str], step: Sequence[str] | None, announced: bool) -> str | None:
    days = [number for number in numbers if len(number) <= 2 and 1 <= int(number) <= 31]
    years = [number for number in numbers if _is_year(number)]
    if len(days) > 1 or len(years) > 1 or len(days) + len(years) < len(numbers):
        return None
    if step:
        return None if numbers else f"{step[0]} {month}"
    return " ".join([*days, month, *years]) if numbers or announced else None


def _numbered(numbers: Mapping[str, str], language: _DateparserLanguage) -> str | None:
    """A date by numbers and units, as in Chinese, Korean and Vietnamese: "5月3日" is 3 May."""
    month, day, year = (numbers.get(unit, "") for unit in ("month", "day", "year"))
    if language.code not in (*_BY_SCRIPT, "vi") or not (month or _is_year(year)) or (day and not month):
        return None
    if not month:
        return year
    if not 1 <= int(month) <= 12 or not numbers.keys() <= {"month", "day", "year"}:
        return None
    return f"{day} {vocab.MONTH_NAMES[int(month) - 1].capitalize()} {year}".strip()


def _end_of_run(text: str, time_tokens: Sequence[_Token], i: int) -> int:
    """Where the adjacent words of a time that begin at `i` end, or as many as a time may have."""
    j, last = i + 1, min(len(time_tokens), i + 7)
    while (
        j < last
        and time_tokens[j].meaning is not None
        and _GAP.fullmatch(text, time_tokens[j - 1].end, time_tokens[j].start)
    ):
        j += 1
    return j


def _tokens(text: str, language: _DateparserLanguage) -> Iterator[_Token]:
    if language.joined is not None:
        for match in language.joined.finditer(text):
            yield _Token(*match.span(), _number(match[0]) or language.meanings.get(match[0].lower()))
        return
    words = list(_TOKEN.finditer(text))  # the signs for vowels of Arabic are parts of words
    i = 0
    while i < len(words):
        for size in range(min(4, len(words) - i), 0, -1):
            start, end = words[i].start(), words[i + size - 1].end()
            form = " ".join(_plain(word[0].casefold()) for word in words[i : i + size])
            meaning = language.meanings.get(form) or (_meaning_of_word(form, language) if size == 1 else None)
            if meaning is not None or size == 1:
                yield _Token(start, end, meaning)
                i += size
                break


def _plain(form: str) -> str:
    return _UNWRITTEN.sub("", form)


def _meaning_of_word(word: str, language: _DateparserLanguage) -> _Meaning | None:
    if word.isdecimal():
        return _number(word)
    if len(word) < _MIN_CHARS_INFLECTED:
        return None
    stems = tokens(word, language.code)
    return language.inflected.get(stems[0]) if stems else None


def _number(digits: str) -> _Meaning | None:
    return _Meaning("number", str(int(digits))) if digits.isdecimal() and len(digits) <= 4 else None


@lru_cache
def _language(code: str) -> _DateparserLanguage | None:
    """The words of a language from dateparser's data, and what the file adds to them."""
    from dateparser.languages.loader import default_loader  # imported when needed: it takes half a second

    info = default_loader.get_locale(code).info
    more = _supplements().get(code, {})
    meanings: dict[str, _Meaning] = {}

    def add(kind: str, english: str, forms: Iterable[str], shortest: int = 1) -> None:
        for form in forms:
            form = _plain(" ".join(split_words(_plain(form))) if code not in _BY_SCRIPT else form.lower())
            if form and len(form) >= shortest:
                meanings.setdefault(form, _Meaning(kind, english))

    for key, forms in info.get("relative-type", {}).items():
        if english := _relative(key):
            add("phrase", english, forms)
    for form, value in _plain_simplifications(info):
        if english := _relative(value):
            add("phrase", english, [form])
    for kind, form in _counted_forms(info, code):
        add("unit" if kind in _UNITS else kind, "in" if kind == "ahead" else kind, [form])
    add("ago", "ago", more.get("ago", ()))
    for step in ("last", "next", "this"):
        add("step", step, more.get(step, ()))
    for number, forms in enumerate(more.get("numbers", ()), 1):
        add("number", str(number), forms.split("/"))
    for counted in more.get("counted", ()):
        english, _, forms = counted.partition("=")
        add("counted", english.replace("_", " "), forms.split("/"))
    is_short = code in ("zh", "ko")  # a name may have two characters
    for month, forms in further_months(code).items():
        add("month", month.capitalize(), forms)
    for month in vocab.MONTH_NAMES:
        add("month", month.capitalize(), info.get(month, ()), 2 if is_short else 3)
    for day in vocab.DAY_NAMES:
        add("weekday", day, info.get(day, ()), 2 if is_short else _MIN_CHARS_ALONE)
        if code == "zh":  # the names of weekdays begin with that of the week: 下周一 is the Monday of next week
            for step in ("last", "next", "this"):
                add("phrase", f"{day} of {step} week", map("".join, product(more[step], info[day])))
    add("ago", "ago", info.get("ago", ()))
    add("ahead", "in", info.get("in", ()))
    for unit in (*_UNITS, "hour", "minute"):
        add("unit", unit, info.get(unit, ()), 1 if code in _BY_SCRIPT else 2)
    add("skip", "", (word for word in (*info.get("skip", ()), *more.get("skip", ())) if word.isalpha()))
    if code == "he":  # "in" is a part of the word
        for form, meaning in list(meanings.items()):
            if meaning.kind in ("unit", "weekday"):
                meanings.setdefault(f"ב{form}", meaning)
    names = {form: meaning for form, meaning in meanings.items() if meaning.kind in ("month", "weekday")}
    forms = sorted((re.escape(form) for form in meanings), key=len, reverse=True)
    return _DateparserLanguage(
        code=code,
        meanings=meanings,
        inflected=_by_stem(names, code),
        openers={form.replace("_", " "): opener for opener in ("since", "until") for form in more.get(opener, ())},
        inside=frozenset(more.get("in", ())),
        past=_tense_pattern(more.get("past")),
        ahead=_tense_pattern(more.get("ahead")),
        joined=re.compile("|".join([*forms, "[0-9]+", r"[^\W\d_]"]), re.IGNORECASE) if code in _BY_SCRIPT else None,
    )


def further_months(code: str) -> Mapping[str, Sequence[str]]:
    """The forms of the months that dateparser does not have of a language, by the English name."""
    listed = (forms.split("/") for forms in _supplements().get(code, {}).get("months", ()))
    return {month: forms for month, forms in zip(vocab.MONTH_NAMES, listed, strict=False) if forms != ["-"]}


def _by_stem(names: Mapping[str, _Meaning], code: str) -> dict[str, _Meaning]:
    """The names by their stems, where no two share one."""
    meanings_by_stem: dict[str, set[_Meaning]] = {}
    for form, meaning in names.items():
        if len(form) >= _MIN_CHARS_INFLECTED and (stems := tokens(form, code)) and len(stems[0]) >= _MIN_CHARS_ALONE:
            meanings_by_stem.setdefault(stems[0], set()).add(meaning)
    return {stem: next(iter(meanings)) for stem, meanings in meanings_by_stem.items() if len(meanings) == 1}


def _relative(key: str) -> str | None:
    """The English for dateparser's form of a relative time: "1 week ago" is "last week"."""
    match = _RELATIVE.fullmatch(key.strip())
    if match is None:
        return None
    count, unit = int(match["count"]), match["unit"]
    if unit == "day" and count < 2:
        return "tomorrow" if match["ahead"] and count else ("today", "yesterday")[count]
    if count < 2:
        return f"{('this', 'next' if match['ahead'] else 'last')[count]} {unit}"
    return f"in {count} {unit}" if match["ahead"] else f"{count} {unit} ago"


def _counted_forms(info: Mapping[str, Any], code: str) -> Iterator[tuple[str, str]]:
    """The words around the number in patterns such as "acum (number) zile": those for "ago" and "in", and the units."""
    for key, patterns in info.get("relative-type-regex", {}).items():
        kind, unit = ("ahead" if key.startswith("in ") else "ago"), key.removesuffix(" ago").split()[-1]
        if unit in _UNITS:
            unit_forms = sorted(info.get(unit, ()), key=len, reverse=True)
            for before, _, after in (pattern.partition(_COUNT) for pattern in patterns):
                if named := _unit_in(after.strip(), unit_forms, code):
                    after = after.partition(named)[2]
                    yield unit, named
                yield from ((kind, form.strip()) for form in (before, after) if form.strip() and "\\" not in form)


def _unit_in(words: str, unit_forms: Sequence[str], code: str) -> str:
    """The unit among the words after a number: one that begins like a known form of it, else the first word."""
    if code in _BY_SCRIPT:
        return next((form for form in unit_forms if words.startswith(form)), words)
    beginnings = {form[:2].lower() for form in unit_forms}
    split = words.split()
    return next((word for word in split if word[:2].lower() in beginnings), split[0] if split else "")


def _plain_simplifications(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The words that dateparser replaces by others before it reads them, with what those are in English."""
    units = {form.lower(): unit for unit in _UNITS for form in info.get(unit, ())}
    words = {**units, **{form.lower(): "ago" for form in info.get("ago", ())}}
    for replacements in info.get("simplifications", ()):
        for form, value in replacements.items():
            if form.replace(" ", "").isalpha() and "\\" not in str(value):
                yield form, " ".join(words.get(word.lower(), word) for word in str(value).split())


def _tense_pattern(lines: Sequence[str] | None) -> re.Pattern[str] | None:
    return re.compile(lines[0].replace("_", r"\s+"), re.IGNORECASE) if lines else None


@lru_cache(1)
def _supplements() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """The entries of `dateparser_languages.txt` for each language; patterns are one text."""
    sections = data_sections(str(_FOLDER / "dateparser_languages.txt")).items()
    entries = {code: [line.split(": ", 1) for line in lines] for code, lines in sections}
    return {
        code: {name: [value] if name in ("past", "ahead") else value.split() for name, value in lines}
        for code, lines in entries.items()
    }


@lru_cache(1)
def _evidence_words() -> frozenset[str]:
    """The words that are a part of a time in another language, and no words of English."""
    return ANCHORS.union(_time_words())


@lru_cache(1)
def _codes() -> frozenset[str]:
    return frozenset(code for codes in _time_words().values() for code in codes)


@lru_cache(1)
def _time_words() -> Mapping[str, tuple[str, ...]]:
    """For each word that names a time in another language, the languages, those with the most speakers first."""
    languages_by_word: dict[str, tuple[str, ...]] = {}
    for line in (_FOLDER / "time_words.txt").read_text("utf-8").splitlines():
        code, *words = line.split()
        if code != "#":
            for word in words:
                languages_by_word[word] = (*languages_by_word.get(word, ()), code)
    return languages_by_word

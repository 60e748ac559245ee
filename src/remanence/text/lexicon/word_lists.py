"""Word lists and patterns, read from the data files of this package; ordinary English words.

word_lists.txt         words and phrases by name, in lower case unless the capitals are the evidence
common_words.txt       ordinary English words in their base forms
phrase_patterns.txt    alternatives of regular expressions by name
sentence_patterns.txt  long regular expressions by name
thesaurus.txt          related words, each with their similarity
word_series.txt        words of which only one can be meant: numbers, months, days of the week
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from remanence.text.text import tokens

_FOLDER = Path(__file__).parent
_SECTION_NAME = re.compile(r"\[([a-z][a-z_ 0-9]*)\]")


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as text."""
    return frozenset(text.split())


def data_lines(file_name: str) -> list[str]:
    """The lines of a data file, of this package or by its whole path, without comments and empty lines."""
    lines = (_FOLDER / file_name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@lru_cache
def data_sections(file_name: str) -> dict[str, list[str]]:
    """The lines of a data file by the "[name]" line before them."""
    sections: dict[str, list[str]] = {}
    for line in data_lines(file_name):
        name = _SECTION_NAME.fullmatch(line)
        if name:
            lines = sections[name[1]] = []
        else:
            lines.append(line)
    return sections


def load_words(name: str) -> frozenset[str]:
    """A list of word_lists.txt."""
    text = " ".join(data_sections("word_lists.txt")[name])
    return frozenset(phrase.strip() for phrase in text.split(",")) if "," in text else word_set(text)


def load_tool_kinds() -> dict[str, str]:
    """The kind of each well-known tool, by its name in lower case."""
    lines = (line.partition(": ") for line in data_sections("word_lists.txt")["tool_kinds"])
    return {tool: kind for kind, _, tools in lines for tool in tools.split(", ")}


def load_pattern(name: str) -> str:
    """A pattern of sentence_patterns.txt, the alternatives of a list, or a pattern derived from the lists.

    Alternatives have no group of their own. References to other patterns are resolved.
    """
    if name in _DERIVED:
        return _DERIVED[name]
    if name in data_sections("sentence_patterns.txt"):
        pattern = "".join(data_sections("sentence_patterns.txt")[name])
    elif name in data_sections("phrase_patterns.txt"):
        pattern = "|".join(data_sections("phrase_patterns.txt")[name])
    else:
        return "|".join(sorted(load_words(name)))
    return re.sub(r"\{([a-z_]+)\}", lambda reference: load_pattern(reference[1]), pattern)


def compile_pattern(name: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern of this name, compiled when it is first used."""
    return compile_on_use(load_pattern(name), flags)


def compile_on_use(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """This pattern, compiled when it is first used.

    Compiling all patterns at import would take a third of the time in which a process opens a space. Most processes
    use a few of them.

    >>> compile_on_use("[a-z]+").findall("to be")
    ['to', 'be']
    """
    return cast("re.Pattern[str]", _PatternCompiledOnUse(pattern, flags))


class _PatternCompiledOnUse:
    """The methods and attributes of a compiled pattern. They are set at the first use, so later ones cost no more."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._arguments = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._arguments)
        for attribute in dir(compiled):
            if not attribute.startswith("_"):
                setattr(self, attribute, getattr(compiled, attribute))
        return getattr(compiled, name)


FIRST_NAMES = load_words("first_names")
PLACES = load_words("places")
PLACE_ACRONYMS = load_words("place_acronyms")
PLACE_WORDS = load_words("place_words")
ORGANIZATIONS = load_words("organizations")
ORGANIZATION_WORDS = load_words("organization_words")
PRODUCTS = load_words("products")
HONORIFICS = load_words("honorifics")
KINSHIP_TITLES = load_words("kinship_titles")
CALENDAR_WORDS = load_words("calendar_words")
PROPER_ADJECTIVES = load_words("proper_adjectives")
LANGUAGES = PROPER_ADJECTIVES | load_words("other_languages")
GREETINGS = load_words("greetings")
DETERMINERS = load_words("determiners")
VERBS_AFTER_NAMES = load_words("verbs_after_names")
VERBS_OF_PEOPLE = VERBS_AFTER_NAMES - load_words("verbs_also_of_things")
LOWERCASE_TITLE_WORDS = load_words("lowercase_title_words")
FUNCTION_WORDS = load_words("function_words")
"""A capital after one of these is evidence of a name, even at the start of a sentence."""
RELATIONSHIP_NOUNS = load_words("relationship_nouns")
PLURAL_RELATIONSHIP_NOUNS = dict(pair.split("=") for pair in sorted(load_words("plural_relationship_nouns")))
_DERIVED = {
    "relationship": "|".join(sorted(RELATIONSHIP_NOUNS, key=lambda noun: (-len(noun), noun))),
    "any_relationship": "|".join(sorted(RELATIONSHIP_NOUNS | set(PLURAL_RELATIONSHIP_NOUNS))),
}

_COMMON_WORDS = word_set(" ".join(data_lines("common_words.txt")))


@lru_cache(maxsize=1 << 14)
def is_common_word(word: str) -> bool:
    """Whether this lower-case word is an ordinary English one, though it may also be a name.

    The list has base forms; their plural, past, -ing and -ly forms count too.

    >>> is_common_word("definitely"), is_common_word("stories"), is_common_word("follow-up"), is_common_word("rose")
    (True, True, True, True)
    >>> is_common_word("melanie"), is_common_word("james")  # although "jam" is one
    (False, False)
    """
    if word in _COMMON_WORDS:
        return True
    if "-" in word:
        parts = word.split("-")
        if all(len(part) < 3 for part in parts):  # "co-op", but not "ph-7"
            return not (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))
        return all(len(part) < 3 or is_common_word(part) for part in parts)
    return word not in FIRST_NAMES and any(len(stem) > 2 and stem in _COMMON_WORDS for stem in _stems(word))


_ENDINGS = (
    *(("s", ""), ("es", ""), ("ies", "y"), ("ly", ""), ("ily", "y")),
    *(("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e")),
)


def _stems(word: str) -> Iterator[str]:
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and not word.endswith("ss"):
            yield word.removesuffix(ending) + replacement
    stem = word[:-3] if word.endswith("ing") else word[:-2] if word.endswith("ed") else ""
    if stem[-1:] == stem[-2:-1]:  # stopped
        yield stem[:-1]


THESAURUS_FILE = _FOLDER / "thesaurus.txt"
_SERIES_FILE = _FOLDER / "word_series.txt"


@lru_cache(4_096)
def related_words(word: str) -> Sequence[tuple[str, float]]:
    """The words used like this one, in the form of `tokens`, with their similarity, 0 to 1; nearest first.

    >>> related_words("journey")[1]
    ('trip', 0.58)
    """
    related = thesaurus_lines().get(word, "").split()
    series = _series().get(word)
    return tuple(
        (other, int(percent) / 100)
        for other, percent in zip(related[::2], related[1::2], strict=True)
        if series is None or _series().get(other) != series
    )


def words_of_series(text: str) -> dict[int, set[str]]:
    """The words of a text that are in a series, in the form of `tokens`, by the number of the series.

    >>> sorted(map(sorted, words_of_series("The rooms on floors two and three are free in May.").values()))
    [['may'], ['three', 'two']]
    """
    found: dict[int, set[str]] = {}
    for word in tokens(text):
        number = _series().get(word)
        if number is not None:
            found.setdefault(number, set()).add(word)
    return found


@lru_cache(1)
def _series() -> dict[str, int]:
    """The number of the series of each word in one."""
    lines = _SERIES_FILE.read_text(encoding="ascii").splitlines()
    return {word: number for number, line in enumerate(lines) for word in tokens(line)}


@lru_cache(1)
def thesaurus_lines() -> dict[str, str]:
    """The lines of the file by their word."""
    lines = THESAURUS_FILE.read_text(encoding="ascii").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))

"""The language of a text, and the words of a text in the forms of its language.

Function words tell it: "und" is German. Where a short text has none, the letters do, unless an ordinary English word
stands in it. In doubt a text is English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

from remanence.text.lexicon.word_lists import FIRST_NAMES, is_common_word
from remanence.text.text import STOP_WORDS, function_words, split_words, stems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENGLISH = "en"
_LATIN_END = "\u0250"
_SCRIPTS = {
    "ru": "\u0400-\u052f",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "he": "\u0590-\u05ff",
    "ar": "\u0600-\u06ff",
    "hi": "\u0900-\u097f",
    "th": "\u0e00-\u0e7f",
    "ja": "\u3040-\u30ff",
    "zh": "\u3400-\u9fff",
    "ko": "\uac00-\ud7af",
}
_SCRIPT = re.compile("|".join(f"(?P<{language}>[{letters}])" for language, letters in _SCRIPTS.items()))
_KANA = re.compile("[\u3040-\u30ff]")
_UKRAINIAN = re.compile("[іїєґ]")
_VIETNAMESE = re.compile("[\u1ea0-\u1ef9ơư]")
_PERSIAN = re.compile("[پچژگکی]")
# Words of chats that look like words of another language: "im" is German.
_ENGLISH_CHAT = frozenset(
    """im ive id ill dont cant wont didnt isnt thats its lets u ur ya yo ok okay yes yeah yep nah no hi hey hello haha
    lol omg gonna wanna thanks thx pls wow oh ah sup bye mom dad vs re etc""".split()
)
# Parts of names; they are evidence for a language only next to other words of it: "Vincent van Gogh", "de la Cruz".
_NAME_PARTICLES = frozenset(
    """la le les el los las il lo gli de del della dei di da do dos das du des der den dem van von zu zum ter ten te en
    et y e o a i al san un une una mi ma mon ton son sa si se ne na no per con sur tu au ja man ta to su die am ist sin
    sen kim lui mina mia leo dan jo ana ali lea ada amb""".split()
)
_CERTAIN_WORDS = frozenset({"und"})  # counted among the common words of English, which it is not
_LETTERS = re.compile(r"[^\W\d_]+")
_SENTENCE_START = re.compile(r"(?:^|[.!?…¿¡:\n\"“„«])[^\S\n]*([^\W\d_]+)")
_LETTERS_FILE = Path(__file__).with_name("letter_triples.txt")


class _Words(NamedTuple):
    """Words by the languages that they are evidence for."""

    languages: Mapping[str, tuple[str, ...]]
    """The languages of each function word that is not a function word of English."""
    sure: frozenset[str]
    """The function words that are neither English words nor parts of names."""
    english: frozenset[str]
    """Function words that are English and nothing else."""


def tokens_by_language(text: str) -> tuple[list[str], str]:
    """The words of a text in the forms of its language, without stop words; and the language.

    >>> tokens_by_language("Die Häuser waren nicht teuer")
    (['haus', 'teu'], 'de')
    >>> tokens_by_language("The houses were not expensive")
    (['hous', 'expens'], 'en')
    """
    words = split_words(text)
    language = _language_of_words(words, text)
    return stems(words, language), language


@lru_cache(1_024)  # a recall asks several times
def language_of(text: str) -> str:
    """The two-letter code of the language of a text; "en" in doubt.

    >>> [language_of(text) for text in ("Wo wohnt Anna?", "Where is Anna?", "¿Dónde vive Ana?", "Кот спит", "猫がいる")]
    ['de', 'en', 'es', 'ru', 'ja']
    """
    return _language_of_words(split_words(text), text)


def count_function_words(words: Iterable[str], language: str) -> int:
    """How many of these words are function words of this language for sure."""
    word_index = _known_words()
    return sum(language in word_index.languages.get(word, ()) and word in word_index.sure for word in words)


def _language_of_words(words: Sequence[str], text: str) -> str:
    words = words[:400]  # enough to know the language of a longer text
    if not text.isascii():
        letters = [word for word in words if word.isalpha() or not word.isalnum()]
        latin = [word for word in letters if word < _LATIN_END]
        if 2 * len(latin) < len(letters):
            return _language_of_script(text)
        words = latin
        if _VIETNAMESE.search(text) and _known_words().english.isdisjoint(words):
            return "vi"
    word_index = _known_words()
    if word_index.sure.isdisjoint(words):
        # Most texts are done here: English words, and none of another language.
        return ENGLISH if not word_index.english.isdisjoint(words) else _language_of_letters(words, text)
    if len(word_index.english.intersection(words)) >= 2 * len(word_index.sure.intersection(words)):
        return ENGLISH
    return _language_of_function_words(words, text)


def _language_of_script(text: str) -> str:
    match = _SCRIPT.search(text)
    language = match.lastgroup if match is not None else None
    if language == "zh" and _KANA.search(text):
        return "ja"
    if language == "ru" and _UKRAINIAN.search(text.lower()):
        return "uk"
    if language == "ar" and _PERSIAN.search(text):
        return "fa"
    return language or ENGLISH


def _language_of_function_words(words: Sequence[str], text: str) -> str:
    """The language with the most function words, if they outnumber the English words. What is written in capitals is
    likely a name: "Hun Sen", "NAS"."""
    word_index = _known_words()
    small = {word.lower() for word in _LETTERS.findall(text) if word[0].islower()}
    large = {word.lower() for word in _SENTENCE_START.findall(text) if not word.isupper() or len(word) == 1} - small
    votes: dict[str, float] = {}
    for word in (*small, *large):
        for language in word_index.languages.get(word, ()):
            votes[language] = votes.get(language, 0.0) + (1.0 if word in word_index.sure and word in small else 0.5)
    if not votes:
        return ENGLISH
    most = max(votes.values())
    best = [language for language in votes if votes[language] > most - 1]
    language = best[0] if len(best) == 1 else _best_by_letters(words, best, votes)
    others = {*words} - function_words()[language]
    english = sum(1.0 if word in word_index.english else 0.5 * is_common_word(word) for word in others)
    if votes[language] > english:
        return language
    return ENGLISH if not word_index.english.isdisjoint(words) else _language_of_letters(words, text)


def _best_by_letters(words: Sequence[str], languages: Iterable[str], votes: Mapping[str, float]) -> str:
    """Of languages with about as many function words, the one with the most likely letters."""
    values = _values_of_letters(_triples(words))
    # A function word counts as much as twenty in value of triples.
    return max(sorted(languages), key=lambda language: 20.0 * votes[language] + values.get(language, 0.0))


def _language_of_letters(words: Sequence[str], text: str) -> str:
    """The language of a text without function words, by its letters. A list of names is not text."""
    word_index = _known_words()
    long = [word for word in _LETTERS.findall(text) if len(word) >= 4]
    small = [word for word in long if word[0].islower()]
    if not small:
        return ENGLISH
    if all(map(str.isascii, small)):
        if any(word in word_index.english or is_common_word(word) for word in map(str.lower, long)):
            return ENGLISH
    elif 2 * sum(word not in word_index.languages and is_common_word(word) for word in small) > len(small):
        return ENGLISH
    triples = _triples(words)
    if len(triples) < 8:  # too short to tell its language by triples of letters
        return ENGLISH
    values = _values_of_letters(triples)
    best = max(values, key=values.__getitem__)
    return best if values[best] - values[ENGLISH] > len(triples) else ENGLISH


def _triples(words: Sequence[str]) -> list[str]:
    edged = (f"_{word}_" for word in words if word.isalpha())
    triples = chain.from_iterable((word[i : i + 3] for i in range(len(word) - 2)) for word in edged)
    return list(islice(triples, 60))


def _values_of_letters(triples: Sequence[str]) -> Mapping[str, float]:
    """How well these triples fit each language; a letter that a language does not have fits badly."""
    letters = _letter_values()
    rows = [letters.rows.get(triple) or letters.other_row(triple) for triple in triples]
    return dict(zip(letters.languages, letters.values[rows].sum(0).tolist(), strict=True))


class _LetterValues(NamedTuple):
    """How frequent each triple of letters is in each language."""

    languages: tuple[str, ...]
    rows: Mapping[str, int]
    """The row of a triple, or of a letter that some languages do not have."""
    values: NDArray[np.int32]

    def other_row(self, triple: str) -> int:
        """The row for a triple that is in no language."""
        return max(self.rows.get(letter, 0) for letter in triple)


@lru_cache(1)
def _letter_values() -> _LetterValues:
    import numpy as np  # imported when needed: the command line reads times without it

    lines = [line for line in _LETTERS_FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    languages, packed = zip(*(line.split(" ", 1) for line in lines), strict=True)
    triple_values = [{line[i : i + 3]: int(line[i + 3 : i + 5]) for i in range(0, len(line), 5)} for line in packed]
    alphabets = [frozenset("".join(values)).union(ascii_lowercase) for values in triple_values]
    letters = sorted(frozenset[str]().union(*alphabets) - frozenset(ascii_lowercase))
    triples = sorted(frozenset[str]().union(*triple_values))
    rows = {row: number for number, row in enumerate(["", *letters, *triples])}
    # Of a triple that is not in the file, where the rarest have about 30.
    values = np.full((len(rows), len(languages)), 26, np.int32)
    accented = [row for row in rows if not row.isascii()]
    for column, (own, alphabet) in enumerate(zip(triple_values, alphabets, strict=True)):
        values[[rows[row] for row in accented if not alphabet.issuperset(row)], column] = 0
        values[[rows[triple] for triple in own], column] = list(own.values())
    return _LetterValues(languages, rows, values)


@lru_cache(1)
def _known_words() -> _Words:
    english = STOP_WORDS | _ENGLISH_CHAT
    languages: dict[str, tuple[str, ...]] = {}
    for language, words in function_words().items():
        for word in words:
            if word < _LATIN_END and word not in english:
                languages[word] = (*languages.get(word, ()), language)
    doubtful = _NAME_PARTICLES | FIRST_NAMES
    sure = {word for word in languages if word not in doubtful and not is_common_word(word)} | _CERTAIN_WORDS
    return _Words(languages, frozenset(sure), english - frozenset[str]().union(*function_words().values()))

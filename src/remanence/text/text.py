"""Words, sentences, passages, normal forms and hashes of a text."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from math import ceil
from pathlib import Path
from string import ascii_lowercase, digits

TOKENIZER_VERSION = "words-2"
"""Changes whenever `stems` would return something else, so that an old word index is rebuilt."""

# Scripts written without spaces, or with particles at the ends of words, are split into pairs of characters.
_HANGUL = "\uac00-\ud7af"
_EAST_ASIAN = rf"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff{_HANGUL}\uf900-\ufaff"
_SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = _EAST_ASIAN + _SOUTH_EAST_ASIAN
# The signs for vowels in the scripts of India, and accents that no letter is composed with, are parts of words.
_MARKS = r"\u0300-\u036f\u0900-\u0963\u0966-\u0dff"
_LETTERS = rf"[^\W_{_UNSPACED}]+(?:[{_MARKS}]+[^\W_{_UNSPACED}]*)*"
_WORD = re.compile(rf"[{_UNSPACED}]+|{_LETTERS}(?:['’]{_LETTERS})?|[\U0001f300-\U0001faff]")
_ASCII_WORD = re.compile("[a-z0-9]+(?:'[a-z0-9]+)?")
_ASCII_WORDS = bytes(byte if chr(byte) in ascii_lowercase + digits else ord(" ") for byte in range(256))
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_IS_CHINESE_CHARACTER = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
# A letter with the signs around it; in Thai and Lao some vowels are written before the consonant.
_SYLLABLE = re.compile(
    rf"[\u0e40-\u0e44\u0ec0-\u0ec4]?[{_SOUTH_EAST_ASIAN}]"
    r"[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0ebd\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3]*"
)
_IS_SOUTH_EAST_ASIAN = re.compile(f"[{_SOUTH_EAST_ASIAN}]")
_SCRIPT_STEMMERS = (  # the language of the words of a script, in a text of any language
    (re.compile("[\u0400-\u052f]"), "russian"),
    (re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), "greek"),
    (re.compile("[\u0600-\u06ff]"), "arabic"),
    (re.compile("[\u0900-\u097f]"), "hindi"),
    (re.compile("[\u0b80-\u0bff]"), "tamil"),
    (re.compile("[\u0530-\u058f]"), "armenian"),
)
_STRESS = re.compile("[\u0300-\u036f]")
_UKRAINIAN_LETTER = re.compile("[іїєґ]")
_STEMMERS = dict(
    pair.split("=")
    for pair in """en=english de=german nl=dutch da=danish no=norwegian sv=swedish es=spanish pt=portuguese ca=catalan
    fr=french it=italian ro=romanian fi=finnish et=estonian hu=hungarian tr=turkish pl=polish cs=czech lt=lithuanian
    id=indonesian""".split()
)
"""The Snowball stemmers by the code of the language; stemmers of other scripts apply by script."""
_ELIDING = frozenset(("fr", "it", "ca"))
_SPACES = re.compile(r"\s+")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NAME_MARKS = " .,;:!?\"'“”‘’()[]"
_NAME_START = re.compile(rf"(?:the|a|an) |[{re.escape(_NAME_MARKS)}]+")
POSSESSIVE = re.compile(r"['’]s?$")

_STOP_WORD_FILE = Path(__file__).with_name("stop_words.txt").read_text("utf-8")
STOP_WORDS = frozenset(_STOP_WORD_FILE.partition("\n")[2].split())
_FUNCTION_WORD_FILE = Path(__file__).with_name("function_words.txt")
_OTHER_SCRIPTS = ("ru", "uk", "el", "ar", "fa", "he", "hi")


def replace_unstorable(text: str, replacement: str = "\N{REPLACEMENT CHARACTER}") -> str:
    """Replace the characters that a ledger cannot store: NUL, and half of a surrogate pair."""
    return _UNSTORABLE.sub(replacement, text)


def tokens(text: str, language: str = "en") -> list[str]:
    """The words of a text, case-folded and stemmed, without stop words.

    >>> tokens("She was running to the cafés in Porto")
    ['run', 'cafe', 'porto']
    >>> tokens("Die Hunde liefen", "de")
    ['hund', 'lief']
    >>> tokens("東京タワー")
    ['東', '東京', '京', '京タ', 'タワ', 'ワー']
    """
    return stems(split_words(text), language)


def stems(words: Iterable[str], language: str = "en") -> list[str]:
    """These words, stemmed as in a language, without its stop words."""
    cached = _STEMS.setdefault(language, {})
    result: list[str] = []
    for word in words:
        stem = cached.get(word)
        if stem is None:
            if not word.isascii() and _IS_UNSPACED.match(word):
                result.extend(_grams(word))
                continue
            stem = _stem(word, language)
            if len(cached) < 400_000:
                cached[word] = stem
        if stem:
            result.append(stem)
    return result if language == "en" else " ".join(result).split()


_STEMS: dict[str, dict[str, str]] = {}
"""For each language a cache of the stems of words; "" for a stop word. Plain dicts: this is the most frequent
look-up."""


def split_words(text: str) -> list[str]:
    """The words of a text, case-folded; words of a script without spaces stay together."""
    if not text.isascii():
        return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    # The same as `_WORD` finds, several times faster.
    if "'" in text:
        return _ASCII_WORD.findall(text.lower())
    return text.lower().encode().translate(_ASCII_WORDS).decode().split()


def _stem(word: str, language: str) -> str:
    """The stem of a word, or two with a space between; "" for a stop word."""
    if "'" in word or "’" in word:
        word = _without_apostrophe(word.replace("’", "'"), language)
    if not word.isascii() and word >= _LATIN_END:
        return _stem_by_script(word, language)
    if word in (STOP_WORDS if language == "en" else function_words().get(language, STOP_WORDS)):
        return ""
    if language != "en" and word.isalpha() and language in _STEMMERS:
        # Where accents make a difference, both: a name or a question may be written without them.
        forms = (_stemmed(form, _STEMMERS[language]) for form in (word, strip_accents(word)))
        return " ".join(dict.fromkeys(strip_accents(form).replace("ı", "i") for form in forms))
    if not word.isascii():
        word = strip_accents(word)
        if not word.isascii():
            return word
    return _stemmed(word, "english") if word.isalpha() else word


def _without_apostrophe(word: str, language: str) -> str:
    """The word that the apostrophe is a part of: "don't", "l'eau", "Ankara'da"."""
    head, _, tail = word.partition("'")
    if language in _ELIDING:
        return tail
    if language == "tr" or tail in ("s", "t", "re", "ve", "ll", "d", "m") or head in STOP_WORDS:
        return head
    return word


def _stem_by_script(word: str, language: str) -> str:
    word = _STRESS.sub("", word)
    if word in function_words_of_other_scripts():
        return ""
    for letters, stemmer in _SCRIPT_STEMMERS:
        if letters.match(word) and not _UKRAINIAN_LETTER.search(word):
            return strip_accents(_stemmed(word, "persian" if language == "fa" else stemmer))
    return strip_accents(word)


@lru_cache(1)
def function_words() -> Mapping[str, frozenset[str]]:
    """The function words of each language by its two-letter code; under "cjk" characters and pairs of characters.

    >>> "und" in function_words()["de"], "dog" in function_words()["da"]
    (True, False)
    """
    lines = [line for line in _FUNCTION_WORD_FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    return {name.strip("[]"): frozenset(words.split()) for name, words in zip(lines[::2], lines[1::2], strict=True)}


@lru_cache(1)
def function_words_of_other_scripts() -> frozenset[str]:
    """The function words of the languages that are not written in Latin letters."""
    return frozenset[str]().union(*(function_words()[language] for language in _OTHER_SCRIPTS))


_LATIN_END = "\u0250"
_LOCAL = threading.local()


def _stemmed(word: str, algorithm: str) -> str:
    # One for each thread: a snowball stemmer stores the current word in itself.
    stemmer = getattr(_LOCAL, algorithm, None)
    if stemmer is None:
        import snowballstemmer

        stemmer = snowballstemmer.stemmer(algorithm)
        stemmer.maxCacheSize = 0  # its own cache is slow, and `stems` has one
        setattr(_LOCAL, algorithm, stemmer)
    return str(stemmer.stemWord(word))


def _grams(run: str) -> list[str]:
    """The Chinese characters and the pairs of characters of a run, in order, without function words. In
    the scripts of South East Asia, where a character is less than a syllable, the pairs of syllables."""
    if _IS_SOUTH_EAST_ASIAN.match(run):
        pieces = _SYLLABLE.findall(run)
        return ["".join(pair) for pair in pairwise(pieces)] or [run]
    if len(run) == 1:
        return [run]
    grams = (run[i : i + size] for i in range(len(run)) for size in (1, 2) if i + size <= len(run))
    stop = function_words()["cjk"]
    return [gram for gram in grams if gram not in stop and (len(gram) == 2 or _IS_CHINESE_CHARACTER.match(gram))]


ABBREVIATIONS = frozenset(
    """mr mrs ms mx dr prof st rev jr sr vs no mt ft gen col sgt capt lt hon gov sen rep inc ltd co corp
    dept ave blvd rd e.g i.e etc approx u.s u.k""".split()
)
"""Words after which a full stop ends no sentence."""

SENTENCE_END = re.compile(r"[.!?](?=\s|$|[\"”')])|\n")
"""The mark that ends a sentence, or the end of its line."""

_BREAK = re.compile(
    # Also "so.Then". Each run of marks or spaces is matched from its start only: a message may be all dots.
    r"(?<![.!?…])([.!?…]+[\"'”’)\]]*)(?:\s+|(?=[A-Z][a-z]))|([。！？]+[」』”]*)\s*|(?<!\s)\s*\n\s*"
)
_BREAK_MARK = re.compile(r"[.!?…。！？\n]")
"""A character that every break has. Searching for it alone is many times as fast."""
_LAST_WORD = re.compile(r"(?<![\w.])([\w.]+)\.$")


def sentence_breaks(text: str, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Where sentences and lines end and the next ones begin, between `begin` and `end`.

    >>> text = "Dr. Who left. Nobody knew."
    >>> [(text[:end], text[start:]) for end, start in sentence_breaks(text)]
    [('Dr. Who left.', 'Nobody knew.')]
    """
    end = len(text) if end is None else end
    mark = _BREAK_MARK.search(text, begin, end)
    if mark is None:
        return
    begin += len(text[begin : mark.start()].rstrip())  # spaces before the end of a line are part of the break
    for match in _BREAK.finditer(text, begin, end):
        stop = match.end(match.lastindex) if match.lastindex else match.start()
        if match[1] == "." and "\n" not in match.group():
            word = _LAST_WORD.search(text, max(0, stop - 12), stop)
            if word and (word[1].lower() in ABBREVIATIONS or (len(word[1]) == 1 and word[1].isupper())):
                continue
        yield stop, match.end()


def split_sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text, with every character except the spaces between them.

    >>> list(split_sentences('Dr. Who said "go." Then she left\\nHe stayed!'))
    ['Dr. Who said "go."', 'Then she left', 'He stayed!']
    """
    begin = 0
    for end, start in sentence_breaks(text):
        if sentence := text[begin:end].strip():
            yield sentence
        begin = start
    if rest := text[begin:].strip():
        yield rest


_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|we|our|us)\b", re.IGNORECASE)


def question_share(text: str) -> float:
    """The share of a text that is questions without a word for the speaker, from 0 to 1."""
    if "?" not in text and "？" not in text:
        return 0.0
    sentences = list(split_sentences(text))
    questions = (s for s in sentences if s[-1:] in ("?", "？") and not _FIRST_PERSON.search(s))
    return sum(map(len, questions)) / max(sum(map(len, sentences)), 1)


def strip_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


@lru_cache(maxsize=65_536)
def normalize_name(name: str) -> str:
    """One form for all spellings of a name.

    >>> normalize_name("  The Bank of  PORTO's"), normalize_name("São José")
    ('bank of porto', 'sao jose')
    """
    spaced = _SPACES.sub(" ", strip_accents(unicodedata.normalize("NFKC", name)).casefold()).strip()
    without_possessive = POSSESSIVE.sub("", spaced)
    start = _NAME_START.match(without_possessive)
    # Not a pattern for the marks at the end: it would read every run of marks in the middle once for each mark in it.
    return without_possessive[start.end() if start else 0 :].rstrip(_NAME_MARKS) or without_possessive


def truncate(text: str, limit: int) -> str:
    """The start of a text, at most `limit` characters; an ellipsis marks the omitted rest."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def pluralize(count: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: "1 memory", "2 links"."""
    return f"{count} {singular if count == 1 else plural or f'{singular}s'}"


def normalize_text(text: str) -> str:
    """A text with its spacing and case normalised, to find exact repeats."""
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()


def without_middle(text: str, limit: int) -> str:
    """About `limit` characters of a text at most: its beginning and its end, where people write what they ask about
    what they paste.

    >>> without_middle("What is wrong here? 1 2 3 4 5 6 7 8 9 10 11 12 13 It was fine until May.", 48)
    'What is wrong here? 1 […] was fine until May.'
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    beginning, end = text[: half - 2], text[3 - half :]
    return f"{beginning.rpartition(' ')[0] or beginning} […] {end.partition(' ')[2] or end}"


def last_words(text: str, count: int) -> str:
    """The last words of a text.

    >>> last_words("Which of the two do you mean?", 3)
    '... do you mean?'
    """
    words = text.rsplit(None, count)
    return text if len(words) <= count else "... " + " ".join(words[1:])


def text_hash(text: str) -> bytes:
    """A hash of sixteen bytes of exactly this text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


_NAME_CHARACTER = re.compile(r"\w")


@lru_cache(1 << 16)
def is_name(text: str) -> bool:
    """Whether a text can be the name of something: not an emoji, and not a sentence.

    >>> [is_name(text) for text in ("New York", "🍜", "C++", "Call me when you arrive.", "Yahoo!")]
    [True, False, True, False, True]
    """
    words = len(text.split())
    ends = text.rstrip("\"'”’)").endswith((".", "!", "?", "…"))
    # Up to four words, what ends with a mark may be a name: "Yahoo!".
    return bool(_NAME_CHARACTER.search(text)) and words <= 8 and not (ends and words > 4)


MAX_QUESTION_LENGTH = 10_000
"""Characters of a question, at most: it is read while somebody waits. A chat turn that is longer is pasted."""
MAX_PASSAGE = 1_200
"""Characters of a passage, at most. A longer text has several."""
MAX_TURN_INDEXED = 200_000
"""Characters of a chat turn that are searched, at most: a hundred pages, whose vectors take ten seconds of a core."""
MAX_PASSAGES = 4_000
"""Passages of one text: their number has 12 bits in the number of a point."""
NO_PASSAGE = ((0, 0),)
"""The passages of a text that no query is to find, by the characters of each. None at all would mean the entire
text."""

_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*")
_SPACE = re.compile(r"\s+")


def split_passages(text: str, *, target: int = 800, maximum: int = MAX_PASSAGE) -> tuple[tuple[int, int], ...]:
    """Passages of about `target` characters, as `(start, end)`; none for a text up to `maximum` characters.

    They are in order, do not overlap, and contain every character that is not a space. None is longer than
    `maximum`, except in a text that would need more than 4,000 of them.

    >>> split_passages("A short note.")
    ()
    >>> text = "One day it rained. " * 100
    >>> [text[start:end][-7:] for start, end in split_passages(text)]
    ['rained.', 'rained.']
    """
    if len(text) <= maximum:
        return ()
    # A passage is at least half the target long, unless spaces were trimmed.
    stretch = max(1.0, 2 * len(text) / ((MAX_PASSAGES - 1) * target))
    target, maximum = ceil(target * stretch), ceil(maximum * stretch)
    passages = []
    start = 0
    while start < len(text):
        end = _passage_end(text, start, target, maximum) if len(text) - start > maximum else len(text)
        passage = text[start:end]
        left, right = len(passage) - len(passage.lstrip()), len(passage.rstrip())
        if right:
            passages.append((start + left, start + right))
        start = end
    return tuple(passages)


def split_turn(text: str) -> tuple[tuple[int, int], ...]:
    """The passages of a chat turn; of one longer than `MAX_TURN_INDEXED` those at its beginning and its end.

    >>> passages = split_turn("One day it rained. " * 30_000)
    >>> passages[0][0], max(right[0] - left[1] for left, right in pairwise(passages)), passages[-1][1]
    (0, 370000, 569999)
    """
    if len(text) <= MAX_TURN_INDEXED:
        return split_passages(text)
    half = MAX_TURN_INDEXED // 2
    return split_ranges(text, [(0, half), (len(text) - half, len(text))])


def split_ranges(text: str, ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """These ranges of a text as its passages: long ones are split, unless there would be too many.

    >>> split_ranges("Tea. A drink.", [(0, 4), (5, 13)])
    ((0, 4), (5, 13))
    >>> split_ranges("Nobody finds this.", []) == NO_PASSAGE
    True
    """
    all_ranges = tuple(ranges)
    parts = [(start, split_passages(text[start:end]) or [(0, end - start)]) for start, end in all_ranges]
    split = tuple((offset + start, offset + end) for offset, part in parts for start, end in part)
    return (split if len(split) <= MAX_PASSAGES else all_ranges) or NO_PASSAGE


def _passage_end(text: str, start: int, target: int, maximum: int) -> int:
    """The best end for a passage that begins at `start`: the boundary nearest to `target`."""
    low, high = start + (target + 1) // 2, start + maximum
    for boundaries in (
        (match.end() for match in _PARAGRAPH.finditer(text, low, high)),
        (begin for _, begin in sentence_breaks(text, low, high)),
        (match.end() for match in _SPACE.finditer(text, low, high)),
    ):
        candidates = [boundary for boundary in boundaries if boundary < high]
        if candidates:
            return min(candidates, key=lambda boundary: abs(boundary - start - target))
    return min(high, start + target)

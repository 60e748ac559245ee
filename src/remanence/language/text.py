"""Words, sentences, normal forms and hashes of a text."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

TOKENIZER_VERSION = "words-1"
"""Changes whenever `tokens` would return something else, so that an old word index is rebuilt."""

# Scripts written without spaces are split into single characters and pairs.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)?|[\U0001f300-\U0001faff]")
_ASCII_WORDS = bytes(byte if chr(byte) in ascii_lowercase + digits else ord(" ") for byte in range(256))
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_SPACES = re.compile(r"\s+")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NAME_EDGES = re.compile(r"^(?:the|a|an)\s+|[\s.,;:!?\"'“”‘’()\[\]]+$|^[\s.,;:!?\"'“”‘’()\[\]]+")
POSSESSIVE = re.compile(r"['’]s?$")

_STOP_WORD_FILE = Path(__file__).with_name("stop_words.txt").read_text("utf-8")
STOP_WORDS = frozenset(_STOP_WORD_FILE.partition("\n")[2].split())


def replace_unstorable(text: str, replacement: str = "\N{REPLACEMENT CHARACTER}") -> str:
    """Replace the characters that a ledger cannot store: NUL, and half of a surrogate pair."""
    return _UNSTORABLE.sub(replacement, text)


def tokens(text: str) -> list[str]:
    """The words of a text, case-folded and stemmed, without stop words.

    >>> tokens("She was running to the cafés in Porto")
    ['run', 'cafe', 'porto']
    >>> tokens("東京タワー")
    ['東', '東京', '京', '京タ', 'タ', 'タワ', 'ワ', 'ワー', 'ー']
    """
    found: list[str] = []
    for word in _words(text):
        stem = _STEMS.get(word)
        if stem is None:
            if not word.isascii() and _IS_UNSPACED.match(word):
                found.extend(_grams(word))
                continue
            stem = _stem(word)
            if len(_STEMS) < _MAX_STEMS:
                _STEMS[word] = stem
        if stem:
            found.append(stem)
    return found


_STEMS: dict[str, str] = {}
"""Stems of words met before; "" for a stop word. A plain dict: this is the most called look-up of all."""
_MAX_STEMS = 400_000


def _words(text: str) -> list[str]:
    if not text.isascii():
        return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    if "'" in text:
        return _WORD.findall(text.lower())
    # The same as `_WORD` finds, several times faster.
    return text.lower().encode().translate(_ASCII_WORDS).decode().split()


def _stem(word: str) -> str:
    """The stem of a word; "" for a stop word."""
    if "'" in word or "’" in word:
        word = word.replace("’", "'")
        head, _, tail = word.partition("'")
        if tail in ("s", "t", "re", "ve", "ll", "d", "m") or head in STOP_WORDS:
            word = head
    if word in STOP_WORDS:
        return ""
    if not word.isascii():
        word = strip_accents(word)
        if not word.isascii():
            return word
    return str(_stemmer().stemWord(word)) if word.isalpha() else word


_LOCAL = threading.local()


def _stemmer() -> Any:
    # One for each thread: a snowball stemmer stores the current word in itself.
    if not hasattr(_LOCAL, "stemmer"):
        import snowballstemmer

        _LOCAL.stemmer = snowballstemmer.stemmer("english")
        _LOCAL.stemmer.maxCacheSize = 0  # its own cache is slow, and `_stem` has one
    return _LOCAL.stemmer


def _grams(run: str) -> list[str]:
    """The characters and the pairs of characters of a run, in order."""
    return [run[i : i + size] for i in range(len(run)) for size in (1, 2) if i + size <= len(run)]


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
_LAST_WORD = re.compile(r"([\w.]+)\.$")


def sentence_breaks(text: str, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Where sentences and lines end and the next ones begin, between `begin` and `end`.

    >>> text = "Dr. Who left. Nobody knew."
    >>> [(text[:end], text[start:]) for end, start in sentence_breaks(text)]
    [('Dr. Who left.', 'Nobody knew.')]
    """
    for found in _BREAK.finditer(text, begin, len(text) if end is None else end):
        stop = found.end(found.lastindex) if found.lastindex else found.start()
        if found[1] == "." and "\n" not in found.group():
            word = _LAST_WORD.search(text, max(0, stop - 12), stop)
            if word and (word[1].lower() in ABBREVIATIONS or (len(word[1]) == 1 and word[1].isupper())):
                continue
        yield stop, found.end()


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
    return _NAME_EDGES.sub("", without_possessive) or without_possessive


def truncate(text: str, limit: int) -> str:
    """The start of a text, at most `limit` characters; an ellipsis marks what is left out."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def pluralize(count: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: "1 memory", "2 links"."""
    return f"{count} {singular if count == 1 else plural or f'{singular}s'}"


def normalize_text(text: str) -> str:
    """A text with its spacing and case normalised, to find exact repeats."""
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()


def text_hash(text: str) -> bytes:
    """A hash of sixteen bytes of exactly this text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

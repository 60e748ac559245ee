"""Words, normal forms, hashes: pure functions over text."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from string import ascii_lowercase, digits
from typing import Any

TOKENIZER_VERSION = "words-1"
"""Changes whenever `tokens` would answer differently, so that an old word index is built anew."""

# Scripts written without spaces: their runs are cut into single characters and pairs.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)?|[\U0001f300-\U0001faff]")
_PLAIN = bytes(byte if chr(byte) in ascii_lowercase + digits else ord(" ") for byte in range(256))
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_SPACES = re.compile(r"\s+")
_NAME_EDGES = re.compile(r"^(?:the|a|an)\s+|[\s.,;:!?\"'“”‘’()\[\]]+$|^[\s.,;:!?\"'“”‘’()\[\]]+")
POSSESSIVE = re.compile(r"['’]s?$")

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don down during each few for
    from further get got had hadn has hasn have haven having he her here hers herself him himself his how i
    if in into is isn it its itself just know let ll m me more most my myself no nor not now of off on once
    only or other our ours ourselves out over own please re s same shall she should shouldn so some such t
    than that the their theirs them themselves then there these they this those through to too under until
    up us ve very was wasn we were weren what when where which while who whom why will with won would
    wouldn you your yours yourself yourselves""".split()
)


def tokens(text: str) -> list[str]:
    """The words of a text that tell it from other texts: case-folded, stemmed, stop words left out.

    >>> tokens("She was running to the cafés in Porto")
    ['run', 'cafe', 'porto']
    >>> tokens("東京タワー")
    ['東', '東京', '京', '京タ', 'タ', 'タワ', 'ワ', 'ワー', 'ー']
    """
    known = _STEMS
    out: list[str] = []
    for word in _words(text):
        stem = known.get(word)
        if stem is None:
            stem = _learn(word)
        if stem:
            out.append(stem)
        elif stem is None:
            out.extend(_grams(word))
    return out


def _words(text: str) -> list[str]:
    if not text.isascii():
        return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    if "'" in text:
        return _WORD.findall(text.lower())
    # What `_WORD` would find, several times faster.
    return text.lower().encode().translate(_PLAIN).decode().split()


# word -> its stem, "" for a stop word. Language repeats itself, so nearly every look-up is a hit.
_STEMS: dict[str, str] = dict.fromkeys(STOP_WORDS, "")
_MOST_STEMS = 400_000


def _learn(word: str) -> str | None:
    """The stem of a word not met before; None for a run of an unspaced script."""
    if not word.isascii() and _IS_UNSPACED.match(word):
        return None
    stem = _stem(word)
    if len(_STEMS) < _MOST_STEMS:
        _STEMS[word] = stem
    return stem


def _stem(word: str) -> str:
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


def _stemmer() -> Any:
    # One a thread: a snowball stemmer keeps the word it works on in itself.
    if not hasattr(_LOCAL, "stemmer"):
        import snowballstemmer

        _LOCAL.stemmer = snowballstemmer.stemmer("english")
        _LOCAL.stemmer.maxCacheSize = 0  # it would sort its words again and again, and `_STEMS` has them
    return _LOCAL.stemmer


_LOCAL = threading.local()


def _grams(run: str) -> list[str]:
    out: list[str] = []
    for i, char in enumerate(run):
        out.append(char)
        if i + 1 < len(run):
            out.append(run[i : i + 2])
    return out


ABBREVIATIONS = frozenset(
    """mr mrs ms mx dr prof st rev jr sr vs no mt ft gen col sgt capt lt hon gov sen rep inc ltd co corp
    dept ave blvd rd e.g i.e etc approx u.s u.k""".split()
)
"""Words behind which a full stop ends no sentence."""

SENTENCE_END = re.compile(r"[.!?](?=\s|$|[\"”')])|\n")
"""The mark that closes a sentence, or the end of its line."""

_BREAK = re.compile(
    # Also "so.Then". Each run of marks or spaces is tried from its start only: a message may be all dots.
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
    """The sentences and lines of a text, every character of them but the spaces between.

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


_OF_ONESELF = re.compile(r"\b(?:i|my|me|mine|we|our|us)\b", re.IGNORECASE)


def question_share(text: str) -> float:
    """How much of a text only asks, from 0 to 1: questions that tell nothing of the one who asks.

    >>> texts = "What do you cook?", "I have a wok.", "Could you look at my wok?"
    >>> tuple(map(question_share, texts))
    (1.0, 0.0, 0.0)
    """
    if "?" not in text and "？" not in text:
        return 0.0
    sentences = list(split_sentences(text))
    asked = (s for s in sentences if s[-1:] in ("?", "？") and not _OF_ONESELF.search(s))
    return sum(map(len, asked)) / max(sum(map(len, sentences)), 1)


def strip_accents(text: str) -> str:
    """The letters without their marks.

    >>> strip_accents("São José")
    'Sao Jose'
    """
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


@lru_cache(maxsize=65_536)
def normalize_name(name: str) -> str:
    """One form for the spellings of one name.

    >>> normalize_name("  The Bank of  PORTO's"), normalize_name("São José")
    ('bank of porto', 'sao jose')
    """
    out = _SPACES.sub(" ", strip_accents(unicodedata.normalize("NFKC", name)).casefold()).strip()
    out = POSSESSIVE.sub("", out)
    return _NAME_EDGES.sub("", out) or out


def truncate(text: str, limit: int) -> str:
    """The beginning of a text, in at most so many characters; an ellipsis says that there is more.

    >>> truncate("Alice lives in Porto.", 12), truncate("Porto", 12)
    ('Alice lives…', 'Porto')
    """
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def pluralize(count: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> pluralize(1, "memory", "memories"), pluralize(2, "link")
    ('1 memory', '2 links')
    """
    return f"{count} {singular if count == 1 else plural or f'{singular}s'}"


def normalize_text(text: str) -> str:
    """A text with its spacing and case evened out, for telling exact repeats.

    >>> normalize_text(" Alice  lives\\nin Porto. ")
    'alice lives in porto.'
    """
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()


def text_hash(text: str) -> bytes:
    """Sixteen bytes that stand for exactly this text.

    >>> len(text_hash("Porto"))
    16
    """
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

"""How a sentence compares with dated lines: what the reader says of it, how near their vectors are, and which of its
names, numbers, times, negations and words are in a line, and which differ.

The features are numbers around 0 to 1, of classes of words and not of wordings. Their weights are in
`models/answer_check.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.models.embedders import TABLE, load_table
from remanence.models.readers import day_text
from remanence.ports import Reader, ReaderLine, Vector
from remanence.recall.log_odds import log_odds
from remanence.text.lexicon.word_lists import compile_pattern, words_of_series
from remanence.text.named_entities.name_rules import find_names
from remanence.text.temporal import find_times
from remanence.text.temporal.tense import NEAREST, TenseReader
from remanence.text.temporal.time_lexer import lex
from remanence.text.temporal.time_vocabulary import NUMBERS
from remanence.text.text import STOP_WORDS, split_words, tokens

_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*(?:k\b)?")
_LETTERS = re.compile("[a-z]+")
_NEGATED = compile_pattern("negated", re.IGNORECASE)
_NONE = re.compile(r"\b(?:no|none|nobody|nothing|neither|nor|without)\b", re.IGNORECASE)
_POWERS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_SAME, _OTHER = 0.8, 0.45
"""The cosine of two words from which on they count as one word, and as words of one matter. Chosen on the first 60
answers of "Checked answers" in docs/decisions.md."""
_MARGIN, _LOG_ODDS_SCALE = 1e-3, 4
"""The probability that is added before the log of the odds is taken, and what that is divided by, to be near 1. The
weights were learned with it."""
_WORDS_SCALE, _MAX_LENGTH = 12, 1.5
"""The words by which the length of a sentence is divided, to be near 1, and the most that comes of it. The weights were
learned with it."""
_LEFT_SCALE = 8
"""The words by which the number of words that the other text does not have is divided, to be at most 1. The weights
were learned with it."""
_UNRELATED = 0.3
"""The cosine that is taken for that of a further line, where there is only one. The weights were learned with it."""


class _Words(NamedTuple):
    """What a text consists of."""

    stems: frozenset[str]
    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    numbers: frozenset[str]
    names: frozenset[str]
    series: dict[int, set[str]]
    negated: bool


class Comparison:
    """Dated lines, ready to be compared with sentences."""

    def __init__(
        self,
        lines: Sequence[ReaderLine],
        reader: Reader,
        embed: Callable[[Sequence[str]], Vector],
        *,
        asked_at: datetime,
        most: int = 15,
    ) -> None:
        """
        Args:
            lines: Memories as dated lines.
            reader: Reads the lines.
            embed: Gives vectors of unit length.
            asked_at: When the sentences are said.
            most: How many lines are read with a sentence, the nearest ones.
        """
        self._lines, self._reader, self._asked_at, self._most = lines, reader, asked_at, most
        self._vectors = embed([line.text for line in lines]) if lines else np.zeros((0, 0), np.float32)
        self._words = [_words_of(f"{line.before} {line.text}".strip()) for line in lines]
        self._days = [_words_of("" if line.told_at is None else day_text(line.told_at)) for line in lines]

    def features(self, sentence: str, vector: Vector) -> tuple[list[int], NDArray[np.float64], NDArray[np.float64]]:
        """The places of the lines that are read, the features of each for a sentence, a row each, and those of the
        sentence itself. The reader reads the lines with the sentence as a question, and with the sentence told before
        all of them: does a line replace it?

        Args:
            sentence: A sentence that claims something.
            vector: Its vector.
        """
        own, every = _words_of(sentence), np.clip(self._vectors @ vector, 0.0, 1.0)
        places = sorted(np.argsort(-every, kind="stable")[: self._most].tolist())
        lines, near = [self._lines[place] for place in places], every[places]
        words, days = [self._words[place] for place in places], [self._days[place] for place in places]
        alone = self._reader.read(sentence, lines, asked_at=self._asked_at)
        early = self._reader.read(sentence, [ReaderLine(sentence), *lines], asked_at=self._asked_at)
        rows = [
            [
                *(_log_odds(values[n]) for values in alone[:4]),
                *(_log_odds(values[n + 1]) for values in early[:4]),
                near[n],
                near[n] - max((near[m] for m in range(len(lines)) if m != n), default=_UNRELATED),
                *_shared(own, words[n], days[n]),
                *_times(sentence, lines[n], self._asked_at),
            ]
            for n in range(len(lines))
        ]
        texts = [*words, *days]
        stems = frozenset[str]().union(*(text.stems for text in texts))
        numbers = frozenset[str]().union(*(text.numbers for text in texts))
        best = _best(own, np.concatenate([text.vectors for text in texts]))
        whole = [
            *(_log_odds(values[0]) for values in early[:4]),
            _log_odds(alone.nothing),
            _log_odds(early.nothing),
            near.max(),
            _share(own.stems & stems, own.stems),
            _share(own.names & stems, own.names),
            _share(own.numbers & numbers, own.numbers),
            best.mean(),
            best.min(),
            (best < _OTHER).mean(),
            min(len(own.words) / _WORDS_SCALE, _MAX_LENGTH),
            float(own.negated),
            float(bool(own.numbers)),
            float(tells_past(sentence)),
        ]
        return places, np.array(rows, np.float64), np.array(whole, np.float64)


def tells_past(sentence: str) -> bool:
    """Whether the verbs of a sentence are in the past.

    >>> tells_past("You lived in Leith."), tells_past("You live in Leith.")
    (True, False)
    """
    words = lex(sentence)
    direction = TenseReader(words).direction_at(len(words) - 1) if words else NEAREST
    return direction.is_future is False


def _shared(own: _Words, other: _Words, day: _Words) -> list[float]:
    best = _best(own, other.vectors)
    back = _best(other, own.vectors)
    both = other.stems | day.stems
    left, left_back = best < _SAME, back < _SAME
    pairs = own.vectors[left] @ other.vectors[left_back].T if own.words and other.words else np.zeros((0, 0))
    new_numbers = own.numbers - other.numbers - day.numbers
    new_names = own.names - both
    same_series = [number for number, words in own.series.items() if words & other.series.get(number, set())]
    other_series = [
        number
        for number, words in own.series.items()
        if number in other.series and not words & other.series[number] and not words & day.series.get(number, set())
    ]
    share = _share(own.stems & other.stems, own.stems)
    differs = [
        float(bool(new_numbers and other.numbers)),
        float(bool(new_names and other.names)),
        float(bool(other_series)),
        float(own.negated != other.negated),
    ]
    return [
        share,
        _share(own.stems & other.stems, other.stems),
        best.mean(),
        best.min(),
        float((best < _OTHER).mean()),
        float(((best >= _OTHER) & (best < _SAME)).mean()),
        back.mean(),
        # What is left over on both sides: words of one matter are a sign of another value.
        float(pairs.max(initial=0.0)),
        float(pairs.max(initial=0.0)) * share,
        min(left.sum() / _LEFT_SCALE, 1.0),
        min(left_back.sum() / _LEFT_SCALE, 1.0),
        _share(own.numbers & other.numbers, own.numbers),
        float(bool(new_numbers and not other.numbers)),
        _share(own.names & other.stems, own.names),
        float(bool(new_names and not other.names)),
        float(bool(same_series)),
        float(own.negated and other.negated),
        *differs,
        # Where all else agrees, one difference weighs more.
        *(share * each for each in differs),
    ]


def _times(sentence: str, line: ReaderLine, asked_at: datetime) -> tuple[float, float, float]:
    """Whether the sentence names a time, one that the line names, and one at which the line was told."""
    asked = [phrase.window for phrase in find_times(sentence, asked_at)]
    if not asked or line.told_at is None:
        return float(bool(asked)), 0.0, 0.0
    stated = [phrase.window for phrase in find_times(line.text, line.told_at)]
    named = any(one.overlaps(other) for one in asked for other in stated)
    return 1.0, float(named), float(any(line.told_at in window for window in asked))


@lru_cache(4_096)
def _words_of(text: str) -> _Words:
    words = tuple(word for word in split_words(text) if word not in STOP_WORDS)
    table = load_table(TABLE)
    vectors = np.array([table.mean(word) for word in words], np.float32).reshape(len(words), -1)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    names = frozenset(stem for name in find_names(text) for stem in tokens(name.text) if not stem.isdigit())
    stems = frozenset(tokens(text))
    return _Words(stems, words, vectors, numbers_of(text), names, words_of_series(text), _is_negated(text))


def _is_negated(text: str) -> bool:
    """Whether a text says no. "Used to" is no negation here, but the past."""
    found = (match[0].casefold() for match in _NEGATED.finditer(text))
    return _NONE.search(text) is not None or any(words != "used to" for words in found)


def numbers_of(text: str) -> frozenset[str]:
    """The numbers of a text, in digits or in words; not "one", which is mostly a pronoun.

    >>> sorted(numbers_of("Thirty-eight jars at 2,400 for two hundred people on the 22nd, from 6:00"))
    ['200', '22', '2400', '38', '6']
    """
    found = {_plain(digits) for digits in _DIGITS.findall(text)}
    total = 0
    for word in [*_LETTERS.findall(text.casefold()), ""]:
        value = NUMBERS.get(word, 0)
        if word in _POWERS and total:
            total *= _POWERS[word]
        elif value and total and total % (100 if value >= 10 else 10) == 0:
            total += value
        else:
            found |= {str(total)} if total > 1 else set()
            total = value
    return frozenset(found)


def _plain(digits: str) -> str:
    """A number without what is written in several ways: "2,400", "6:00", "12.00", "2k"."""
    if digits.endswith("k"):
        return f"{digits[:-1]}000" if digits[:-1].isdigit() else digits
    head, _, last = digits.rpartition(",")
    plain = digits.replace(",", "") if head and len(last) == 3 else digits
    return plain.removesuffix(":00").removesuffix(".00").lstrip("0") or "0"


def _best(own: _Words, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """For each word the similarity of the most similar one of these."""
    if not len(own.vectors):
        return np.ones(1)
    if not len(vectors):
        return np.zeros(len(own.vectors))
    similarities: NDArray[np.float64] = (own.vectors @ vectors.T).max(axis=1).astype(np.float64)
    return np.clip(similarities, 0.0, 1.0)


def _log_odds(probability: float) -> float:
    return log_odds(probability, _MARGIN) / _LOG_ODDS_SCALE


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part) / len(whole) if whole else 1.0

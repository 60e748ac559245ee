"""Readers: models that read a question together with memories and say which of them answer it, and which hold.

That says more than comparing two vectors, and costs a tenth of a second. So only the first candidates of recall are
read, all of them at once, as dated lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput
from remanence.models.text_model import SHA256, TextModel, check_tokenizers, open_session
from remanence.ports import ListReading, Reader, ReaderLine
from remanence.text.excerpts import likely_block
from remanence.text.text import last_words

MAX_LINES = 16
"""Lines that are read together. The reader was trained with it."""
MAX_TOKENS = 512
"""Word pieces that a question and its lines have together, at most. The reader was trained with it."""
QUESTION_WORDS, QUESTION_TOKENS = 60, 58
"""How many words, and word pieces, of a question are read. The reader was trained with these lengths."""
LINE_WORDS, LINE_TOKENS, MIN_LINE_TOKENS = 30, 40, 12
"""How many words, and word pieces, of a line are read. If all lines together are too long, fewer pieces of each."""
BEFORE_WORDS = 12
"""Words of the turn before that are read with a line, the last ones. The reader was trained with it."""
ANSWER_WORDS = 14
"""Words up to which a turn that asks nothing is read together with a question before it. The reader was trained with
it."""
FRAGMENT_WORDS = 4
"""Words up to which a turn is read together with whatever stands before it. The reader was trained with it."""

_MONTHS = "January February March April May June July August September October November December".split()
_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset(
    "a an and any are as at be been but by can could did do does for from had has have he her him his how i if in is "
    "it its me my of on or our she should so some than that the their them then there they this to us was we were what "
    "when where which who whom whose why will with would you your".split()
)
_QUESTION_KIND, _LINE_KIND = 0, 1
_RANK_KINDS = (2, 3, 4, 5, 5, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 9)
"""The kind of the token that ends a line, by the rank of the line by the signals."""


class SpecialTokens(NamedTuple):
    """The numbers of the tokens that are not words."""

    begin: int
    end: int
    moment: int


class ListTokens(NamedTuple):
    """A question and its lines as a model reads them."""

    ids: list[int]
    kinds: list[int]
    """What each token is part of: the question, a line, or the end of a line of a certain rank."""
    marks: list[int]
    """The places at which the model answers: the first for "none of them", then the end of each line."""


def needs_turn_before(text: str, before: str) -> bool:
    """Whether a turn may need the turn before it to be understood.

    >>> needs_turn_before("the second one", "assistant: Which of the two?"), needs_turn_before("I live in Graz.", "")
    (True, False)
    """
    count = len(text.split())
    is_answer = before.rstrip().endswith("?") and "?" not in text and count <= ANSWER_WORDS
    return bool(before) and (is_answer or count <= FRAGMENT_WORDS)


def as_line(question: str, line: ReaderLine, max_words: int = LINE_WORDS) -> str:
    """A line as it is read for a question, without its day.

    >>> as_line("Which cake?", ReaderLine("the second one", speaker="user", before="assistant: Which of the two?"))
    'assistant: Which of the two? user: the second one'
    """
    read = excerpt(question, line.text, max_words)
    if line.speaker:
        read = f"{line.speaker}: {read}"
    elif line.title and not line.text.startswith(line.title):
        read = f"{line.title}: {read}"
    return f"{last_words(line.before, BEFORE_WORDS)} {read}" if line.before else read


def shorten_question(question: str) -> str:
    """The end of a very long question: that is where it usually asks."""
    words = question.split()
    return question if len(words) <= QUESTION_WORDS else " ".join(words[-QUESTION_WORDS:])


def day_text(day: date) -> str:
    """A day as it is read.

    >>> day_text(date(2026, 5, 3))
    '3 May 2026'
    """
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def join_list(
    question: Sequence[int],
    asked: Sequence[int],
    lines: Sequence[Sequence[int]],
    ranks: Sequence[int | None],
    told: int,
    special: SpecialTokens,
) -> ListTokens:
    """The tokens of a question and of its lines as one text.

    Args:
        question: The tokens of the question.
        asked: The tokens of the day on which it is asked.
        lines: The tokens of each line, in the order they were told.
        ranks: The rank of each line by the signals.
        told: How many of the lines were told by the time that the question asks about. A token marks that moment.
        special: The numbers of special tokens.
    """
    ids, marks = [special.begin, *asked, *question[-QUESTION_TOKENS:], special.end], [0]
    kinds = [_QUESTION_KIND] * len(ids)
    longest = _longest_line(lines, MAX_TOKENS - len(ids) - 1)
    for number, (line, rank) in enumerate(zip(lines, ranks, strict=True)):
        if number == told:
            ids.append(special.moment)
            kinds.append(_LINE_KIND)
        ids += [*line[:longest], special.end]
        kinds += [_LINE_KIND] * min(len(line), longest)
        kinds.append(_LINE_KIND if rank is None else _RANK_KINDS[min(rank, len(_RANK_KINDS) - 1)])
        marks.append(len(ids) - 1)
    if told >= len(lines):
        ids.append(special.moment)
        kinds.append(_LINE_KIND)
    return ListTokens(ids, kinds, marks)


def _longest_line(lines: Sequence[Sequence[int]], room: int) -> int:
    """How many tokens of each line are read, so that all of them have room."""
    longest = LINE_TOKENS
    while longest > MIN_LINE_TOKENS and sum(min(len(line), longest) + 1 for line in lines) > room:
        longest -= 1
    return longest


def excerpt(question: str, text: str, max_words: int) -> str:
    """At most this many words of a text: the first of the passages that share most words with the question."""
    start, block = likely_block(text, question)
    words = block.split()
    if len(words) <= max_words:
        return block
    wanted = _stems(question)
    shared = [_stems(word) & wanted for word in words]
    best, best_start = -1.0, 0
    for start in [*range(0, len(words) - max_words, 8), len(words) - max_words]:
        part = shared[start : start + max_words]
        score = len(set().union(*part)) + 0.05 * sum(map(bool, part))
        if score > best:
            best, best_start = score, start
    kept = " ".join(words[best_start : best_start + max_words])
    return kept if best_start == start == 0 else f"... {kept}"


@lru_cache(maxsize=50_000)
def _stems(text: str) -> frozenset[str]:
    """The first six letters of each word that means something."""
    return frozenset(word[:6] for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS)


DEFAULT_READER, NO_READER = "small", "none"
READER_VARIABLE = "REMANENCE_READER"
_CACHED_READINGS, _CACHED_PAIRS = 2_000, 50_000


class SmallReader:
    """The reader that comes with the package. Readings are kept, so that asking again costs nothing."""

    fingerprint = f"small:{SHA256['reader.onnx'][:12]}"

    def __init__(self) -> None:
        self._read_cached = lru_cache(_CACHED_READINGS)(self._read)

    @cached_property
    def _model(self) -> TextModel:
        return TextModel("reader.onnx")

    def read(
        self, question: str, lines: Sequence[ReaderLine], *, asked_at: datetime, moment: datetime | None = None
    ) -> ListReading:
        """What each line is for the question. See `remanence.ports.Reader`."""
        if not lines:
            return ListReading((), (), (), (), 1.0)
        question = shorten_question(question)
        order = sorted(range(len(lines)), key=lambda n: (lines[n].told_at is not None, lines[n].told_at or asked_at, n))
        texts = tuple((day_of(lines[n]), as_line(question, lines[n]), lines[n].rank) for n in order)
        until = asked_at if moment is None else moment
        told = sum(line.told_at is None or line.told_at <= until for line in lines)
        reading = self._read_cached(question, asked_at.date(), texts, told)
        back = np.argsort(order)
        answers, holds, replaced, choice = (tuple(np.array(each)[back].tolist()) for each in reading[:4])
        return ListReading(answers, holds, replaced, choice, reading.nothing)

    def clear(self) -> None:
        """Drop the readings that are kept, as for measuring how long reading takes."""
        self._read_cached.cache_clear()

    def _read(
        self, question: str, asked_on: date, texts: tuple[tuple[str, str, int | None], ...], told: int
    ) -> ListReading:
        pieces = self._model.pieces
        lines = [
            [*(pieces.split(f"{day}:", LINE_TOKENS) if day else ()), *pieces.split(text, LINE_TOKENS)]
            for day, text, _ in texts
        ]
        joined = join_list(
            pieces.split(question, 2 * QUESTION_TOKENS),
            pieces.split(f"asked {day_text(asked_on)}:", LINE_TOKENS),
            lines,
            [rank for _, _, rank in texts],
            told,
            SpecialTokens(pieces.begin, pieces.end, pieces.moment),
        )
        outputs = self._model.run(joined.ids, joined.kinds, marks=joined.marks)
        choice = np.exp(outputs["choice"] - outputs["choice"].max())
        choice /= choice.sum()
        answers, holds, replaced = (
            tuple(_sigmoid(outputs[name][1:]).tolist()) for name in ("answers", "holds", "replaced")
        )
        return ListReading(answers, holds, replaced, tuple(choice[1:].tolist()), float(choice[0]))


def day_of(line: ReaderLine) -> str:
    """The day of a line as it is read; "" if it has none."""
    day = line.shown_at or line.told_at
    return "" if day is None else day_text(day)


class CrossEncoder:
    """A model of another maker that reads a question and one text: from the catalogue, or from a folder. It does not
    know which of several texts hold."""

    def __init__(self, name: str) -> None:
        self._session = open_session(name, "reader")
        model = self._session.model
        self.fingerprint = f"{model.name}:{self._session.files[:12]}:{model.score_scale}"
        self._scale = model.score_scale or 1.0
        self._probability = lru_cache(_CACHED_PAIRS)(self._read_pair)

    def read(
        self, question: str, lines: Sequence[ReaderLine], *, asked_at: datetime, moment: datetime | None = None
    ) -> ListReading:
        question = shorten_question(question)
        return _from_answers([self._probability(question, as_line(question, line, 64)) for line in lines])

    def _read_pair(self, question: str, text: str) -> float:
        return float(_sigmoid(self._session.run(question, text).ravel()[-1] / self._scale))


class FunctionReader:
    """A function of a question and texts as a reader: it returns for each text the probability that it answers. It does
    not know which of them hold."""

    def __init__(self, function: Callable[[str, Sequence[str]], Sequence[float]]) -> None:
        self._function = function
        self.fingerprint = getattr(function, "__qualname__", type(function).__name__)

    def read(
        self, question: str, lines: Sequence[ReaderLine], *, asked_at: datetime, moment: datetime | None = None
    ) -> ListReading:
        return _from_answers(self._function(question, [as_line(question, line) for line in lines]))


def _from_answers(values: Sequence[float]) -> ListReading:
    """The reading of a reader that only knows which lines answer."""
    answers = _check_probabilities(values, len(values))
    best = float(answers.max()) if len(answers) else 0.0
    choice = answers / max(float(answers.sum()), 1e-9) * best
    told = tuple(answers.tolist())
    return ListReading(told, told, (0.0,) * len(told), tuple(choice.tolist()), 1.0 - best)


def _check_probabilities(values: Sequence[float], count: int) -> NDArray[np.float64]:
    probabilities = np.asarray(values, np.float64)
    if probabilities.shape != (count,) or not np.isfinite(probabilities).all():
        raise ValueError(f"it gave {probabilities.shape} numbers for {count} texts, or one that is not a number")
    if count and (probabilities.min() < 0 or probabilities.max() > 1):
        low, high = probabilities.min(), probabilities.max()
        raise ValueError(f"it gave {low:.2f} to {high:.2f}, not probabilities from 0 to 1")
    return probabilities


def _sigmoid(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return (0.5 * (1 + np.tanh(values / 2))).astype(np.float32)


def resolve_reader(reader: Any = DEFAULT_READER) -> Reader | None:
    """The reader for a name, an object or a function; None for none."""
    if isinstance(reader, str) and reader == DEFAULT_READER:
        reader = os.environ.get(READER_VARIABLE, "").strip().lower() or DEFAULT_READER
    if reader is None or (isinstance(reader, str) and reader == NO_READER):
        return None
    if isinstance(reader, str) and reader == DEFAULT_READER:
        check_tokenizers()
        return default_reader()
    if isinstance(reader, Reader):
        return reader
    if isinstance(reader, (str, Path)):
        return CrossEncoder(str(reader))  # a name or a folder that is not there is refused at once
    if callable(reader):
        return FunctionReader(reader)
    raise InvalidInput(
        f"The reader is {reader!r}. Give {DEFAULT_READER!r}, a name as `remanence models list` shows it, a folder with "
        "model.onnx and tokenizer.json, an object with `read` (see remanence.ports.Reader), a function from a question "
        "and texts to a probability for each, or None."
    )


@lru_cache(maxsize=1)
def default_reader() -> SmallReader:
    """One for the whole process: its file is read once, and its readings are shared."""
    return SmallReader()

"""Readers: models that read a question together with memories and say which of them answer it, and which hold.

That says more than comparing two vectors, and costs a tenth of a second. So only the first candidates of recall are
read, all of them at once, as dated lines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput
from remanence.models.onnx_models import open_session
from remanence.models.reader_input import (
    LINE_TOKENS,
    QUESTION_TOKENS,
    SpecialTokens,
    as_line,
    day_text,
    join_list,
    shorten_question,
)
from remanence.models.text_model import SHA256, TextModel, check_tokenizers
from remanence.ports import ListReading, Reader, ReaderLine

DEFAULT_READER, NO_READER = "small", "none"
READER_VARIABLE = "REMANENCE_READER"
"""The environment variable that names a reader in place of the default one; "none" turns it off."""
_CACHED_READINGS, _CACHED_PAIRS = 2_000, 50_000
"""How many readings of lists, and scores of single texts, are kept, the last ones."""
_PASSAGE_WORDS = 64
"""How many words of a text are read by a model that reads one text at a time."""


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
        return _from_answers([self._probability(question, as_line(question, line, _PASSAGE_WORDS)) for line in lines])

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

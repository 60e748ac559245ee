"""Readers: models that read a question and a memory together and say whether the memory answers it.

That says more than comparing two vectors, and costs milliseconds for each memory. So only the first candidates of
recall are read.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from remanence.errors import InvalidInput
from remanence.models import catalogue
from remanence.models.catalogue import DEFAULT_READER
from remanence.models.onnx_models import OnnxSession, cpu_threads, find_files, open_session
from remanence.models.reader_input import shorten_question, with_question
from remanence.ports import Reader, Relation, Vector
from remanence.ports.model_ports import RELATIONS

READER_VARIABLE = "REMANENCE_READER"
"""The environment variable that names a reader in place of the default one; "none" turns it off."""
_CACHED_ANSWERS, _CACHED_CHOICES = 50_000, 2_000


class OnnxReader:
    """A cross-encoder from a file, which is opened when it is first used. Answers are kept for each pair of texts, so
    that asking again costs nothing."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._answers: OrderedDict[tuple[str, str, str], Vector] = OrderedDict()
        self._choose = lru_cache(_CACHED_CHOICES)(self._read_choice)
        self._lock = threading.Lock()
        self._pool, self._process = ThreadPoolExecutor(cpu_threads(), "remanence-reader"), os.getpid()

    @cached_property
    def session(self) -> OnnxSession:
        """The opened model."""
        return open_session(self._name, "reader")

    @cached_property
    def fingerprint(self) -> str:
        model, folder = find_files(self._name, "reader")
        return f"{model.name}:{catalogue.verify_files(model, folder)[:12]}:{model.score_scale}"

    def read(self, question: str, texts: Sequence[str]) -> list[float]:
        """For each text, the probability that it answers the question."""
        question = shorten_question(question)
        scale = self.session.model.score_scale or 1.0
        logits = self._answer([(question, text) for text in texts], self.session.outputs[0])
        return [0.5 * (1 + float(np.tanh(logit.ravel()[-1] / (2 * scale)))) for logit in logits]

    def compare(self, pairs: Sequence[tuple[str, str]], question: str = "") -> list[dict[Relation, float]]:
        """For each earlier and later text, the probability of each relation; "none" if the model does not support
        it."""
        if "relation" not in self.session.outputs:
            return [{"none": 1.0} for _ in pairs]
        if question:
            pairs = [(with_question(question, earlier), later) for earlier, later in pairs]
        probabilities = []
        for logits in self._answer(pairs, "relation"):
            odds = np.exp(logits - logits.max())
            probabilities.append(dict(zip(RELATIONS, (odds / odds.sum()).tolist(), strict=True)))
        return probabilities

    def choose(self, question: str, statements: Sequence[str], known_count: int) -> list[float]:
        """The probability of each statement of a timeline that it answers the question at the time asked about; an
        empty list if the model cannot tell."""
        if "choice" not in self.session.outputs:
            return []
        return list(self._choose(shorten_question(question), tuple(statements), known_count))

    def _read_choice(self, question: str, statements: tuple[str, ...], known_count: int) -> tuple[float, ...]:
        logits = self.session.choose(question, statements, known_count)
        odds = np.exp(logits - logits.max())
        return tuple((odds / odds.sum())[1:].tolist())

    def clear(self) -> None:
        """Drop the answers that are kept, as for measuring how long reading takes."""
        with self._lock:
            self._answers.clear()
        self._choose.cache_clear()

    def _answer(self, pairs: Sequence[tuple[str, str]], output: str) -> list[Vector]:
        """One output of the model for each pair of texts. Uncached pairs are computed in parallel."""
        keys = [(*pair, output) for pair in pairs]
        with self._lock:
            known = {key: self._answers[key] for key in keys if key in self._answers}
        unknown = [key for key in dict.fromkeys(keys) if key not in known]
        if self._process != os.getpid():  # the threads of the parent do not survive a fork
            self._pool, self._process = ThreadPoolExecutor(cpu_threads(), "remanence-reader"), os.getpid()
        session = self.session
        known |= zip(unknown, self._pool.map(lambda key: session.run(*key[:2], output=output), unknown), strict=True)
        with self._lock:
            for key, answer in known.items():
                self._answers[key] = answer
                self._answers.move_to_end(key)
            while len(self._answers) > _CACHED_ANSWERS:
                self._answers.popitem(last=False)
        return [known[key] for key in keys]


class FunctionReader:
    """A function of a question and texts as a reader: it returns a probability for each text."""

    def __init__(self, function: Callable[[str, Sequence[str]], Sequence[float]]) -> None:
        self._function = function
        self.fingerprint = getattr(function, "__qualname__", type(function).__name__)

    def read(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        return self._function(question, texts)


def resolve_reader(reader: Any = DEFAULT_READER) -> Reader | None:
    """The reader for a name, a folder, an object or a function; None for none. Nothing is downloaded."""
    if isinstance(reader, str) and reader == DEFAULT_READER:
        named = os.environ.get(READER_VARIABLE, "").strip() or DEFAULT_READER
        reader = None if named.lower() == "none" else named
        if reader == DEFAULT_READER:
            return _default_reader()
    if reader is None or isinstance(reader, Reader):
        return reader
    if isinstance(reader, (str, Path)):
        named_reader = OnnxReader(str(reader))
        _ = named_reader.session  # a name or a folder that is not there is refused at once
        return named_reader
    if callable(reader):
        return FunctionReader(reader)
    raise InvalidInput(
        f"The reader is {reader!r}. Give a name as `remanence models list` shows it, a folder with model.onnx and "
        "tokenizer.json, a function from a question and texts to a probability for each, or None."
    )


@lru_cache(maxsize=1)
def _default_reader() -> OnnxReader:
    """One for the whole process: its file is read once, and its answers are shared."""
    return OnnxReader(DEFAULT_READER)

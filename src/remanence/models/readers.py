"""Readers: models that read a question and a memory together and say whether the memory tells what is asked.

That says more than comparing two vectors, and costs milliseconds for each memory. So only the first candidates of
recall are read.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from remanence.errors import InvalidInput, MissingExtra
from remanence.models.catalogue import DEFAULT_READER
from remanence.models.onnx_models import OnnxSession, cpu_threads, open_session
from remanence.models.passages import shorten_question
from remanence.ports import RELATIONS, Reader, Relation, Vector

log = logging.getLogger(__name__)

READER_VARIABLE = "REMANENCE_READER"
"""The environment variable that names the reader where `open` is given none; "none" turns it off."""
_CACHED_ANSWERS = 50_000


class OnnxReader:
    """A cross-encoder from a file. Answers are kept for each pair of texts, so that asking again costs nothing."""

    def __init__(self, session: OnnxSession) -> None:
        self._session = session
        self._scale = session.model.score_scale or 1.0
        self._outputs = session.outputs
        self._answers: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = threading.Lock()
        self._pool, self._process = ThreadPoolExecutor(cpu_threads(), "remanence-reader"), os.getpid()
        self.fingerprint = f"{session.model.name}:{session.fingerprint(self._scale)}"

    def read(self, question: str, texts: Sequence[str]) -> list[float]:
        """For each text, the probability that it tells what is asked."""
        question = shorten_question(question)
        with self._lock:
            known = {text: self._answers.get((question, text)) for text in texts}
        unknown = [text for text, answer in known.items() if answer is None]
        logits = self._run([(question, text) for text in unknown])
        for text, logit in zip(unknown, logits, strict=True):
            known[text] = 0.5 * (1 + float(np.tanh(logit.ravel()[-1] / (2 * self._scale))))
        with self._lock:
            for text, answer in known.items():
                self._answers[question, text] = answer or 0.0
                self._answers.move_to_end((question, text))
            while len(self._answers) > _CACHED_ANSWERS:
                self._answers.popitem(last=False)
        return [known[text] or 0.0 for text in texts]

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[dict[Relation, float]]:
        """For each earlier and later text, the probability of each relation; "none" if the model cannot tell."""
        if "relation" not in self._outputs:
            return [{"none": 1.0} for _ in pairs]
        out = []
        for logits in self._run(pairs, "relation"):
            odds = np.exp(logits - logits.max())
            out.append(dict(zip(RELATIONS, (odds / odds.sum()).tolist(), strict=True)))
        return out

    def _run(self, pairs: Sequence[tuple[str, str]], output: str | None = None) -> list[Vector]:
        """What the model answers for each pair; several are run side by side."""
        if self._process != os.getpid():  # the threads of the parent do not survive a fork
            self._pool, self._process = ThreadPoolExecutor(cpu_threads(), "remanence-reader"), os.getpid()
        return list(self._pool.map(lambda pair: self._session.run(*pair, output=output), pairs))


class FunctionReader:
    """A function of a question and texts as a reader: it returns a probability for each text."""

    def __init__(self, function: Callable[[str, Sequence[str]], Sequence[float]]) -> None:
        self._function = function
        self.fingerprint = getattr(function, "__qualname__", type(function).__name__)

    def read(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        return self._function(question, texts)


class AbsentReader:
    """Stands for the default reader where onnxruntime is not installed: recall continues without, and says so."""

    fingerprint = "absent"

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def read(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        raise MissingExtra(self.reason)


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
        return OnnxReader(open_session(str(reader), "reader"))
    if callable(reader):
        return FunctionReader(reader)
    raise InvalidInput(
        f"The reader is {reader!r}. Give a name as `remanence models list` shows it, a folder with model.onnx and "
        "tokenizer.json, a function from a question and texts to a probability for each, or None."
    )


@lru_cache(maxsize=1)
def _default_reader() -> Reader:
    """One for the whole process: its file is read once, and its answers are shared."""
    try:
        return OnnxReader(open_session(DEFAULT_READER, "reader"))
    except MissingExtra as error:
        log.info("recall works without the reader: %s", error)
        return AbsentReader(str(error))

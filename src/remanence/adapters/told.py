"""What a reader says about texts that are in no space."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput

if TYPE_CHECKING:
    from remanence.ports import Reader

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def told_probability(question: str, told: Iterable[tuple[str | None, str]], *, reader: Reader | str = "small") -> float:
    """Return the probability that texts tell what a question asks, by a reader on this machine.

    A text that says no tells it too: "I have no dog." tells whether somebody has a dog.

    Args:
        question: The question.
        told: Who says it, or None, and what is said. Long texts are read sentence by sentence.
        reader: The reader: "small" for the one that comes with the package, or what `remanence.open(reader=...)` takes.

    Raises:
        InvalidInput: There is no such reader, or the environment turns it off.

    Example:
        >>> from remanence.models.readers import default_reader
        >>> turns = [("user", "I moved to Porto in May."), ("user", "It rains.")]
        >>> told_probability("Where does the user live?", turns, reader=default_reader()) > 0.5
        True
        >>> told_probability("What is the user's job?", turns, reader=default_reader()) < 0.1
        True
    """
    from remanence.models.readers import LINE_WORDS, MAX_LINES, resolve_reader  # here, as they load numpy
    from remanence.ports import ReaderLine

    model = resolve_reader(reader)
    if model is None:
        raise InvalidInput(f"reader={reader!r} is turned off by REMANENCE_READER. Unset it, or name another reader.")
    lines = [ReaderLine(part, speaker=speaker) for speaker, text in told for part in _parts(text, LINE_WORDS)]
    now = datetime.now(timezone.utc)
    windows = [lines[first : first + MAX_LINES] for first in range(0, len(lines), MAX_LINES)]
    return max((1.0 - model.read(question, window, asked_at=now).nothing for window in windows), default=0.0)


def true_probability(statement: str, told: Iterable[tuple[str | None, str]]) -> float | None:
    """Return the probability that texts support a statement, by the reader that comes with the package.

    Args:
        statement: What may be true: "The user lives in Porto."
        told: Who says it, or None, and what is said. Long texts are read sentence by sentence.

    Returns:
        None if it is no statement but a question, a greeting or an offer: `told_probability` takes questions.

    Example:
        >>> turns = [("user", "I moved to Porto in May."), ("user", "It rains.")]
        >>> true_probability("The user moved to Porto.", turns) > 0.5 > true_probability("The user is a nurse.", turns)
        True
        >>> true_probability("Where does the user live?", turns) is None
        True
    """
    from remanence.models.readers import LINE_WORDS  # here, as they load numpy
    from remanence.ports import ReaderLine
    from remanence.recall.checked_answer import supported_probability

    now = datetime.now(timezone.utc)
    lines = [ReaderLine(part, now, speaker) for speaker, text in told for part in _parts(text, LINE_WORDS)]
    return supported_probability(statement.strip(), lines, now)


def _parts(text: str, max_words: int) -> Iterator[str]:
    """The sentences of a text, short ones together up to this many words."""
    words: list[str] = []
    for sentence in _SENTENCE_END.split(text):
        new = sentence.split()
        if words and len(words) + len(new) > max_words:
            yield " ".join(words)
            words = []
        words += new
    if words:
        yield " ".join(words)

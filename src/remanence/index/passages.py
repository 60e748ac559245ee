"""The texts of a version that are searched: each passage of a long one, and what a chat turn tells beside what it asks.

A question that was asked before is the nearest text to itself. So a turn of a user or an assistant that tells something
and asks something is searched twice, by what it tells and as a whole; where only what is told counts, the whole is left
out. What other people ask each other says what they talk about: leaving it out costs three of a hundred memories that
answer (LoCoMo).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from remanence.models.message_words import telling_part
from remanence.schema import ASSISTANT, SELF
from remanence.text.text import MAX_QUESTION_LENGTH

if TYPE_CHECKING:
    from remanence.events import Remembered
    from remanence.schema import Memory


ASKING_SHARE = 0.5
"""The share of its score that a turn has which only asks, where such turns are searched at all. Chosen by hand."""


class Passage(NamedTuple):
    """A text of a version that is searched."""

    text: str
    asks: bool = False
    """Whether it is a turn with the sentences that ask."""


def passages_of(version: Remembered | None) -> Iterator[Passage]:
    """The passages of a version that are not empty, or its whole text."""
    if version is None:
        return
    if version.passages:
        yield from (Passage(version.text[start:end]) for start, end in version.passages if start < end)
        return
    told = told_text(version)
    if told:
        yield Passage(told)
    if told != version.text:
        yield Passage(version.text, asks=True)


def is_pasted(version: Remembered) -> bool:
    """Whether a version is a chat turn that is longer than a question may be. Its passages are embedded in the
    background: whoever pastes a log waits for an answer to it."""
    return version.turn is not None and len(version.text) > MAX_QUESTION_LENGTH


def told_text(version: Remembered | Memory) -> str:
    """What a version tells: of a turn of a user or an assistant the sentences that do not ask; "" for a turn that only
    asks."""
    turn, text = version.turn, version.text
    told = text if turn is None else telling_part(text)
    return text if told and turn is not None and turn.speaker not in (SELF, ASSISTANT) else told


def tells(version: Remembered) -> bool:
    """Whether a version is more than a chat turn that only asks, requests, greets or thanks."""
    return bool(version.passages) or bool(told_text(version))


def only_asks(version: Remembered) -> bool:
    """Whether a version is certainly a question: a chat turn of a user or an assistant that tells nothing and has a
    question mark."""
    turn = version.turn
    return turn is not None and turn.speaker in (SELF, ASSISTANT) and "?" in version.text and not tells(version)

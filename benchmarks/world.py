"""A made-up world of any size: texts, their vectors, and questions with theirs. The same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from remanence.text.lexicon.word_lists import thesaurus_lines
from remanence.text.text import STOP_WORDS

DIMENSION = 256
NOW = datetime(2026, 11, 1, tzinfo=timezone.utc)
BEGAN = NOW - timedelta(days=730)

_MAX_QUESTIONS = 200
_SAME_SHARE = 0.6
"""The share of its words that a question has in common with the one that it was made of."""

Vectors = NDArray[np.float32]


@dataclass
class World:
    """Texts with their vectors, questions with theirs."""

    rows: list[dict[str, Any]]
    vectors: Vectors
    questions: list[str]
    asked: Vectors
    extra: list[str] = field(default_factory=list)
    """Texts that are added one at a time, at the end."""

    @property
    def texts(self) -> list[str]:
        return [row.get("text") or row["content"] for row in self.rows]

    def embedder(self) -> Lookup:
        """Knows the vectors of all texts and questions. The texts that are added at the end have those of the first."""
        texts = self.texts + self.questions + self.extra
        return Lookup(
            texts, np.concatenate((self.vectors, self.asked, np.resize(self.vectors, (len(self.extra), DIMENSION))))
        )


def make_world(size: int, *, asked: int, extra: int, seed: int = 7) -> World:
    """The same world for the same numbers, on every machine."""
    dice = np.random.default_rng([seed, size])
    vocabulary = sorted(STOP_WORDS, key=lambda word: (len(word), word)) + _words(dice, 50_000)
    names = [name.title() for name in _made_up(dice, 4_500, 2, 3)]
    people, places = ([f"{a} {b}" for a, b in zip(names[:2_000], names[2_000:4_000], strict=True)], names[4_000:])
    words = iter(_zipf(dice, len(vocabulary), (size + extra) * 20))
    who = iter(_zipf(dice, len(people), (size + extra + asked) * 2))

    def said(count: int) -> str:
        return " ".join(vocabulary[next(words)] for _ in range(count))

    def date() -> datetime:
        return BEGAN + timedelta(days=float(dice.integers(730)), hours=float(dice.integers(24)))

    def note(number: int) -> dict[str, Any]:
        person, place = people[next(who)], places[dice.integers(len(places))]
        text = f"{person} {said(13)} in {place}{f' on {date():%d %B %Y}' if number % 3 == 0 else ''}."
        row: dict[str, Any] = {"text": text, "kind": ("semantic", "viewpoint", "semantic")[number % 3]}
        # One in forty is the newer version of an earlier one.
        return row | ({"key": f"k{number // 40 % max(size // 80, 1)}"} if number % 40 == 0 else {})

    def turn(number: int) -> dict[str, Any]:
        pair = [people[(number // 20 * 2 + side) % len(people)] for side in (0, 1)]
        at = BEGAN + timedelta(days=730 * number / size, minutes=number % 20)
        content = f"{said(16)}, {people[next(who)]}?" if number % 4 == 0 else f"I {said(18)}."
        return {"content": content, "speaker": pair[number % 2], "time": at, "conversation": f"c{number // 40}"}

    # Twenty of one kind, then twenty of the other: a chat between days of notes.
    rows = [note(n) if n // 20 % 2 else turn(n) for n in range(size)]
    for row in rows:
        row["tags"] = [f"t{tag}" for tag in {int(t) for t in dice.geometric(0.2, 2)}]
    vectors = clustered_vectors(dice, size)
    targets = dice.integers(0, size, asked)
    questions = []
    for number, target in enumerate(targets):
        held = (rows[target].get("text") or rows[target]["content"]).strip(".?").split()
        about = " ".join(dice.choice(held[2:], 3, replace=False))
        questions.append(
            (
                f"What did {people[next(who)]} say about {about}?",
                f"Which {about} {vocabulary[200 + number]}?",
                f"What about {about} in {date():%B %Y}?",
                f"What has {' '.join(held[:2])} got to do with {about}?",
            )[number % 4]
        )
    noise = dice.standard_normal((asked, DIMENSION), np.float32) * (0.5 / np.sqrt(DIMENSION))
    return World(rows, vectors, questions, _unit(vectors[targets] + noise), [note(1)["text"] for _ in range(extra)])


def _words(dice: np.random.Generator, count: int) -> list[str]:
    """Made up, but for every other of the common ones: those are of the thesaurus, as in real text."""
    made, real = _made_up(dice, count, 2, 4), dice.permutation(list(thesaurus_lines())).tolist()
    made[: 2 * len(real) : 2] = real
    return made


def _made_up(dice: np.random.Generator, count: int, shortest: int, longest: int) -> list[str]:
    """Pronounceable words, all different."""
    syllables = [c + v + e for c in "bcdfghjklmnprstvwz" for v in "aeiou" for e in ("", "n", "r", "s")]
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(dice.choice(syllables, dice.integers(shortest, longest + 1)))] = None
    return list(made)


def _zipf(dice: np.random.Generator, kinds: int, count: int) -> list[int]:
    """Ranks by Zipf's law, steeper beyond the common words, as in real text."""
    rank = np.arange(kinds) + 2.7
    chances = np.where(rank < 8_000, 1 / rank, 8_000 / rank**2)
    return np.searchsorted(np.cumsum(chances / chances.sum()), dice.random(count)).clip(0, kinds - 1).tolist()


def clustered_vectors(dice: np.random.Generator, count: int) -> Vectors:
    """Unit vectors around as many centres as a real collection has subjects."""
    centres = dice.standard_normal((max(20, count // 200), DIMENSION), np.float32)
    out = centres[dice.integers(0, len(centres), count)]
    out += dice.standard_normal((count, DIMENSION), np.float32)
    return _unit(out)


def _unit(rows: Vectors) -> Vectors:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class Lookup:
    """An embedder that costs a dict look-up. A question that was put into other words has the vector of the one that it
    was made of; other texts it was not given, such as names, share a few vectors."""

    name, fingerprint, dimension, similarity_floor = "lookup", "lookup@256:1", DIMENSION, 0.0
    is_fast = True  # as the default embedder is

    def __init__(self, texts: Sequence[str], vectors: Vectors) -> None:
        self._place = {text: place for place, text in enumerate(texts)}
        self._questions = [(frozenset(text.split()), place) for text, place in self._place.items() if text[-1:] == "?"]
        self._questions = self._questions[-_MAX_QUESTIONS:]  # those of the chat turns come first
        self._vectors = vectors
        self._others = _unit(np.random.default_rng(1).standard_normal((4_096, DIMENSION), np.float32))

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        place = self._place.get(text)
        if place is None:
            words = frozenset(text.split())
            shared, place = max(((len(words & each), where) for each, where in self._questions), default=(0, 0))
            if len(words) < 4 or shared < _SAME_SHARE * len(words):
                return self._others[crc32(text.encode()) % 4_096]
        return self._vectors[place]


class Clock:
    """Says what it is told."""

    def __init__(self) -> None:
        self.moment = BEGAN

    def __call__(self) -> datetime:
        return self.moment

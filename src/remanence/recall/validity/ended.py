"""What a reader says about the memories of a profile: the probability that each has ended by now.

Each memory is read once with each of the few earlier ones that are nearest to it, two lines at a time, with what the
earlier one says as the question: what replaces it answers that, and what only belongs to the same topic does not. The
two are a day apart at most, so that age alone says nothing.

A reading belongs to the two lines, and is kept in a file of the space. So a new memory costs as many short readings as
it has near ones, and the others stay as they are. `models/ended_weights.tsv`, learned by training/ended_weights.py from
chats in which people marked what ended, turns the readings and the kind of a memory into one probability.

Which earlier memories are the nearest is found anew only where something changed. What is kept is what would be found
from scratch: a memory is looked at again if one of those that it had is gone, or if a new one is at least as near as
the last of them. Products of rounded vectors are exact, so that nothing depends on the order in which memories came.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from remanence.index.engine.in_thread import check_cancelled
from remanence.recall.log_odds import log_odds
from remanence.recall.reader_lines import as_reader_line, check_reading
from remanence.recall.told import Key, Told

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.ports import Progress, Reader, Vector
    from remanence.recall.told import Key, Told


class _Found(NamedTuple):
    keys: tuple[Key, ...]
    """The nearest ones, in the order told."""
    least: float
    """How near the last of them is; minus infinity if there are fewer than wanted."""


class NearestEarlier:
    """The nearest earlier memories of each memory.

    Args:
        count: How many are wanted.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._found: dict[Key, _Found] = {}

    def of(self, told: Sequence[Told]) -> list[list[int]]:
        """For each memory the places of those that are nearest to it among those told before; `told` is in the order
        told. Of equally near ones, the later ones."""
        places = {each.key: place for place, each in enumerate(told)}
        gone = self._found.keys() - places.keys()
        known = {key: found for key, found in self._found.items() if key in places}
        changed = {places[key] for key, found in known.items() if gone and not gone.isdisjoint(found.keys)}
        if new := [place for place, each in enumerate(told) if each.key not in known]:
            changed.update(new)
        if changed:
            times = [each.at for each in told]
            vectors = np.stack([each.rounded for each in told])
            for place in new:
                first = bisect_right(times, times[place])
                nearness = (vectors[first:] @ vectors[place]).tolist()
                later = zip(told[first:], nearness, strict=True)
                changed.update(
                    number
                    for number, (each, near) in enumerate(later, first)
                    if each.key in known and near >= known[each.key].least
                )
            for place in changed:
                known[told[place].key] = self._search(told, vectors, bisect_left(times, times[place]), place)
        self._found = known
        return [[places[key] for key in known[each.key].keys] for each in told]

    def _search(self, told: Sequence[Told], vectors: Vector, end: int, place: int) -> _Found:
        nearness = vectors[:end] @ vectors[place]
        nearest = end - 1 - np.argsort(-nearness[::-1], kind="stable")[: self._count]
        least = float(nearness[nearest[-1]]) if len(nearest) == self._count else -np.inf
        return _Found(tuple(told[number].key for number in sorted(nearest.tolist())), least)


_NEAR = 2
"""Earlier memories with which one is read, the nearest. Fitted on chats a, b and c."""
_DAY = timedelta(days=1)
"""The longest time between two memories as they are read: a longer one is read as this one."""
_MARKS = ".,;!?"
_MAX_CACHED = 30_000
_DIGEST_SIZE = 16


class Reading(NamedTuple):
    """What a reader says of a memory beside the later ones that it is near to, as probabilities."""

    replaced: float = 0.0
    """That one of them replaces it."""
    holds: float = 1.0
    """That it holds beside all of them."""
    same_matter: float = 0.0
    """That one of them tells of the same matter."""
    is_near: bool = False
    """Whether there is any."""


_ALONE = Reading()


class _Pair(NamedTuple):
    """What a reader says of a memory beside one later one."""

    replaced: float
    holds: float
    same_matter: float


class PairReader:
    """Reads memories with the earlier ones that they are near to, each two once. A file of it has what was used in the
    last complete reading."""

    def __init__(self) -> None:
        self._nearest = NearestEarlier(_NEAR)
        self._pairs: dict[bytes, _Pair] = {}
        self._used: dict[bytes, _Pair] = {}
        self.is_saved = True
        """Whether a file has all that was read last."""

    def save(self) -> dict[str, NDArray[Any]]:
        keys = np.frombuffer(b"".join(self._used), np.uint8).reshape(-1, _DIGEST_SIZE)
        return {"keys": keys, "pairs": np.array(list(self._used.values()), np.float64).reshape(-1, len(_Pair._fields))}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        keys = np.ascontiguousarray(arrays["keys"], np.uint8).tobytes()
        pairs = arrays["pairs"].tolist()
        if len(keys) != _DIGEST_SIZE * len(pairs):
            raise ValueError(f"there are {len(pairs)} readings for {len(keys)} bytes of keys")
        starts = range(0, len(keys), _DIGEST_SIZE)
        read = {keys[at : at + _DIGEST_SIZE]: _Pair(*pair) for at, pair in zip(starts, pairs, strict=True)}
        self._pairs = read | self._pairs
        self._used, self.is_saved = read, True

    def read(
        self, reader: Reader, told: Sequence[Told], progress: Progress | None = None, most: int | None = None
    ) -> list[Reading]:
        """What the reader says of each memory; `told` is in the order told.

        Memories are read from the latest one back, as a memory is known once all later ones are. With `most`, no
        memory is begun after so many new readings: the answer is then about the latest memories only.
        """
        of_each: list[list[_Pair]] = [[] for _ in told]
        used: dict[bytes, _Pair] = {}
        nearest = self._nearest.of(told)
        first, before = 0, len(self._pairs)
        for place in reversed(range(len(told))):
            check_cancelled()
            if most is not None and len(self._pairs) - before >= most:
                first = place
                break
            for number in nearest[place]:
                key = _digest(reader.fingerprint, told[number].key, told[place].key)
                pair = self._pairs.get(key)
                if pair is None:
                    pair = self._pairs[key] = _read(reader, told[number], told[place])
                used[key] = pair
                of_each[number].append(pair)
            if progress is not None:
                progress(len(told) - place, len(told))
        if not first:
            self.is_saved = self.is_saved and used.keys() == self._used.keys()
            self._used = used
            if len(self._pairs) > _MAX_CACHED:
                self._pairs = used
        return [_together(pairs) if pairs else _ALONE for pairs in of_each[first:]]


def _digest(*parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_SIZE).digest()


def _together(pairs: Sequence[_Pair]) -> Reading:
    replaced, holds, same_matter = zip(*pairs, strict=True)
    return Reading(max(replaced), min(holds), max(same_matter), is_near=True)


def _read(reader: Reader, earlier: Told, later: Told) -> _Pair:
    # Asked on the day of the later one, so that the same ledger gives the same profile.
    day = later.at - min(later.at - earlier.at, _DAY)
    lines = [
        replace(as_reader_line(earlier.memory, earlier.context), told_at=day),
        replace(as_reader_line(later.memory, later.context), told_at=later.at),
    ]
    reading = reader.read(earlier.memory.text, lines, asked_at=later.at)
    check_reading(reading, len(lines))
    return _Pair(reading.replaced[0], reading.holds[0], min(reading.answers))


def ended_probability(told: Told, reading: Reading, newest: datetime) -> float:
    """The probability that a memory has ended by the time of the newest one."""
    lasting = _LASTING_ODDS.get(told)
    if lasting is None:
        lasting = _LASTING_ODDS[told] = _odds(_lasting_features(told))
    return 1 / (1 + math.exp(-lasting - _odds(_changing_features(told, reading, newest))))


def ended_features(told: Told, reading: Reading, newest: datetime) -> dict[str, float]:
    """By what is judged whether a memory has ended: not by its age, as what is durable is told once."""
    return _lasting_features(told) | _changing_features(told, reading, newest)


def _lasting_features(told: Told) -> dict[str, float]:
    """What the memory itself says."""
    text = told.memory.text
    return {
        "constant": 1.0,
        # A long turn tells several things, and one that asks or answers tells little that lasts.
        "words": math.log1p(len(text.split())),
        "marks": math.log1p(sum(map(text.count, _MARKS))),
        "answers another": float(bool(told.context)),
        "asks": float("?" in text),
        **{f"class {name}": probability for name, probability in told.classes.items()},
    }


def _changing_features(told: Told, reading: Reading, newest: datetime) -> dict[str, float]:
    """What the memories after it say."""
    return {
        "replaced": log_odds(reading.replaced),
        "holds": log_odds(reading.holds),
        "same matter": log_odds(reading.same_matter),
        "none near": float(not reading.is_near),
        "newest day": float(newest - told.at < _DAY),
    }


def _odds(features: Mapping[str, float]) -> float:
    weights = _weights()
    return sum(weights[name] * value for name, value in features.items())


_LASTING_ODDS: WeakKeyDictionary[Told, float] = WeakKeyDictionary()
WEIGHTS = Path(__file__).parents[2] / "models" / "ended_weights.tsv"


@cache
def _weights() -> dict[str, float]:
    rows = (line.split("\t") for line in WEIGHTS.read_text(encoding="utf-8").splitlines())
    return {name: float(weight) for name, weight in rows}

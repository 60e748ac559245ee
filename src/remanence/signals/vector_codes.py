"""Short codes of many vectors, by which the nearest are found without reading the vectors themselves.

Each vector has 254 bits, the signs of its products with 254 fixed random directions, and one byte for each dimension.
The number of bits in which two vectors differ estimates the angle between them: its mean is `254 * angle / pi`, and it
varies like the number of heads in 254 throws of a biased coin. So the bits of all vectors are compared with those of
the question; the most likely ones are scored by their bytes, which gives a lower bound for the fiftieth; then all that
may be as near are scored. How many those are depends on the question: few if it has clear neighbours, a third of all if
everything is equally far. Filters are applied before anything is compared, so recall is the same under every filter.
(An HNSW index under a filter silently loses recall.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import acos, ceil, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.signals.point_table import PASSAGE_BITS, PointTable, as_bytes
from remanence.signals.sign_bits import count_bits, sign_bits
from remanence.state.arrays.columns import Column, top_indices

if TYPE_CHECKING:
    from remanence.ports import Vector
    from remanence.ports.vector_ports import LoadVectors

_BITS = 254
"""Two less than a row of numbers has, so that 255 can stand for a vector that is not allowed."""
_WORDS = 4
_BLOCK = 1 << 16
"""Vectors in one block: growing by blocks copies nothing, and the bits of a block stay in the processor's cache."""
_SCORED_AT_ONCE = 1_024
_MADE_AT_ONCE = 64
_SPREAD = 1.7
"""How many standard deviations more bits than expected a vector may differ in: 95% of those that are exactly as near as
the fiftieth are scored, and more of those that are nearer."""
_SURE = 50
"""How many of the nearest are found in this way. Later ones are found if they are among the scored vectors."""
_FIRST_SCORED = 4
"""How many times the vectors wanted are scored first, to know how near they are."""
_EXCLUDED = 255
_FEW = 0.25
"""If a smaller share is allowed, only those are compared."""
_ALL_SCORED = 20_000
"""If no more than this many are allowed, all of them are scored, and their bits are not compared."""

_BATCH = 4_096
_CODES_FROM = 8_192
"""How many points a space has at least when their codes are made. Making them later would stop callers for longer."""

Slots = NDArray[np.integer[Any]]


class VectorCodes:
    """Codes of the vectors of numbered points, which are added in ascending order. A point without a vector, or one
    that was erased, has a code of zeros."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._points = Column(np.int64)
        self._blocks: list[_Block] = []
        self._erased: set[int] = set()
        self._waiting: list[tuple[Sequence[int], Vector]] = []  # vectors whose codes are not made yet

    def __len__(self) -> int:
        return len(self._points)

    @property
    def memory_bytes(self) -> int:
        return len(self._blocks) * _BLOCK * (self._dimension + 8 * _WORDS + 4)

    @property
    def points(self) -> NDArray[np.int64]:
        """The point of each slot."""
        return self._points.values

    def add(self, points: Sequence[int] | NDArray[np.int64]) -> None:
        """Reserve a slot for each of these points, which come after all others."""
        self._points.extend(points)
        while len(self._blocks) * _BLOCK < len(self._points):
            self._blocks.append(_Block.empty(self._dimension))

    def put(self, points: Sequence[int], vectors: Vector) -> None:
        """Store the codes of these points, which were added. Those of a few are made with the next ones, or when they
        are needed: one at a time takes ten times as long."""
        self._waiting.append((points, np.asarray(vectors, np.float32)))
        if sum(len(some) for some, _ in self._waiting) >= _MADE_AT_ONCE:
            self._encode_pending()

    def _encode_pending(self) -> None:
        if not self._waiting:
            return
        points = np.concatenate([np.asarray(some, np.int64) for some, _ in self._waiting])
        rows = np.concatenate([some for _, some in self._waiting])
        order = np.argsort(points, kind="stable")
        points, rows = points[order], rows[order]
        slots = self._points.values.searchsorted(points)
        signs, largest = sign_bits(rows, _BITS), np.abs(rows).max(axis=1)
        scales = np.where(largest > 0, largest, 1).astype(np.float32) / np.float32(127)
        codes = np.rint(rows / scales[:, None]).astype(np.int8)
        for number, inside, places in self._by_block(slots):
            self._blocks[number].put(places, signs[inside], codes[inside], scales[inside])
        self._waiting = []  # at the end: what is interrupted is done again

    def erase(self, points: NDArray[np.int64]) -> None:
        """Overwrite the codes of these points."""
        self._encode_pending()
        slots = self._points.values.searchsorted(points)
        known = slots[self._points.values.take(slots, mode="clip") == points] if len(self) else slots[:0]
        for number, _, places in self._by_block(known):
            self._blocks[number].clear(places)
        self._erased.update(known.tolist())

    def without_erased(self) -> VectorCodes:
        """These codes without the slots of points that were erased."""
        self._encode_pending()
        if not self._erased:
            return self
        kept = np.delete(np.arange(len(self)), list(self._erased))
        compacted = VectorCodes(self._dimension)
        compacted.add(self._points.values[kept])
        for number, inside, places in self._by_block(kept):
            block = self._blocks[number]
            signs, codes, scales = block.signs[:, places].T, block.codes[places], block.scales[places]
            for to, some, there in compacted._by_block(np.arange(inside.start, inside.stop)):
                compacted._blocks[to].put(there, signs[some], codes[some], scales[some])
        return compacted

    def nearest(
        self, vector: Vector, allowed: NDArray[np.bool_] | None, limit: int, max_candidates: int
    ) -> Slots | None:
        """The slots of about the `limit` nearest of those allowed (None: of all), nearest first.

        They are a little more than `limit`, because nearness by code is not exact. None if more than `max_candidates`
        vectors would have to be scored.
        """
        self._encode_pending()
        question = np.asarray(vector, np.float32)
        length = float(np.linalg.norm(question))
        if not len(self) or length == 0:
            return np.empty(0, np.int64)
        slots = None
        if allowed is not None and np.count_nonzero(allowed) < max(_FEW * len(allowed), _ALL_SCORED):
            slots = np.flatnonzero(allowed)
            if len(slots) <= _ALL_SCORED:
                return self._best(question, slots, limit)
        distances = self._distances(question, allowed, slots)
        bound = _distance_bound(distances, _FIRST_SCORED * limit)
        if bound < _EXCLUDED:  # otherwise few are allowed, and all of them are scored
            first = np.flatnonzero(distances <= bound)
            scores = self._scores(question, first if slots is None else slots[first])
            last = scores[top_indices(scores, min(limit, _SURE))[-1]]
            bound = max(bound, max_differing_bits(last / length))
        places = np.flatnonzero(distances <= min(bound, _EXCLUDED - 1))
        if len(places) > max_candidates:
            return None
        return self._best(question, places if slots is None else slots[places], limit)

    def save(self) -> dict[str, NDArray[Any]]:
        """The arrays of all blocks; they are not copied."""
        self._encode_pending()
        arrays: dict[str, NDArray[Any]] = {"code_points": self._points.values}
        for number, block in enumerate(self._blocks):
            used = min(len(self) - number * _BLOCK, _BLOCK)
            arrays |= {f"signs.{number}": block.signs[:, :used], f"codes.{number}": block.codes[:used]}
            arrays[f"scales.{number}"] = block.scales[:used]
        return arrays

    @classmethod
    def load(cls, arrays: Mapping[str, NDArray[Any]]) -> VectorCodes:
        """The codes that were saved."""
        loaded = cls(arrays["codes.0"].shape[1])
        loaded._points = Column(np.int64, arrays["code_points"])
        for number in range(ceil(len(loaded) / _BLOCK)):
            saved = _Block(*(arrays[f"{name}.{number}"] for name in ("signs", "codes", "scales")))
            loaded._blocks.append(saved.copy())  # a view would keep the whole content of the index file in memory
        return loaded

    def _best(self, question: Vector, slots: Slots, limit: int) -> Slots:
        return slots[top_indices(self._scores(question, slots), limit + ceil(limit / 8))]

    def _distances(self, question: Vector, allowed: NDArray[np.bool_] | None, slots: Slots | None) -> NDArray[np.uint8]:
        """In how many bits the vectors of these slots differ from the question; or those of all, 255 if not allowed."""
        signs = sign_bits(question[None], _BITS)[0]
        if slots is not None:
            distances = np.empty(len(slots), np.uint8)
            for number, inside, places in self._by_block(slots):
                self._blocks[number].count_differing_bits(signs, distances[inside], places)
            return distances
        distances = np.empty(len(self), np.uint8)
        for number, block in enumerate(self._blocks):
            block.count_differing_bits(signs, distances[number * _BLOCK : (number + 1) * _BLOCK])
        if allowed is not None:
            distances |= np.logical_not(allowed).view(np.uint8) * np.uint8(_EXCLUDED)
        return distances

    def _scores(self, question: Vector, slots: Slots) -> NDArray[np.float32]:
        """The products of the question with the vectors of these slots, which are in order, by their bytes."""
        scores = np.empty(len(slots), np.float32)
        for number, inside, places in self._by_block(slots):
            scores[inside] = self._blocks[number].scores(question, places)
        return scores

    def _by_block(self, slots: Slots) -> Iterator[tuple[int, slice, Slots]]:
        """For each block that has some of these slots, which are in order: its number, which they are, and where."""
        ends = np.searchsorted(slots, np.arange(1, len(self._blocks) + 1) * _BLOCK).tolist()
        begin = 0
        for number, end in enumerate(ends):
            if end > begin:
                yield number, slice(begin, end), slots[begin:end] - number * _BLOCK
            begin = end


class _Block:
    """The codes of up to 65,536 vectors."""

    __slots__ = ("codes", "scales", "signs")

    def __init__(self, signs: NDArray[np.uint64], codes: NDArray[np.int8], scales: NDArray[np.float32]) -> None:
        self.signs = signs  # one row for each 64 bits
        self.codes = codes
        self.scales = scales

    @classmethod
    def empty(cls, dimension: int) -> _Block:
        signs = np.zeros((_WORDS, _BLOCK), np.uint64)
        return cls(signs, np.zeros((_BLOCK, dimension), np.int8), np.zeros(_BLOCK, np.float32))

    def copy(self) -> _Block:
        """A copy of this block with room for all vectors that it may have."""
        used = len(self.scales)
        block = _Block.empty(self.codes.shape[1])
        block.signs[:, :used], block.codes[:used], block.scales[:used] = self.signs, self.codes, self.scales
        return block

    def put(
        self, places: Slots, signs: NDArray[np.uint64], codes: NDArray[np.int8], scales: NDArray[np.float32]
    ) -> None:
        self.signs[:, places], self.codes[places], self.scales[places] = signs.T, codes, scales

    def clear(self, places: Slots) -> None:
        self.signs[:, places], self.codes[places], self.scales[places] = 0, 0, 0

    def count_differing_bits(
        self, signs: NDArray[np.uint64], out: NDArray[np.uint8], places: Slots | None = None
    ) -> None:
        """Into `out`: of the vectors at these places, or of the first ones."""
        differing = np.empty(len(out), np.uint64)
        counts = np.empty(len(out), np.uint8)
        out[:] = 0
        for column, word in zip(self.signs, signs, strict=True):
            np.bitwise_xor(column[: len(out)] if places is None else column[places], word, out=differing)
            count_bits(differing, counts)
            np.add(out, counts, out=out)

    def scores(self, question: Vector, places: Slots) -> NDArray[np.float32]:
        scores = np.empty(len(places), np.float32)
        # Few at a time, so that their numbers stay in the processor's cache.
        codes = np.empty((_SCORED_AT_ONCE, len(question)), np.int8)
        numbers = np.empty((_SCORED_AT_ONCE, len(question)), np.float32)
        for begin in range(0, len(places), _SCORED_AT_ONCE):
            some = places[begin : begin + _SCORED_AT_ONCE]
            count = len(some)
            np.take(self.codes, some, axis=0, out=codes[:count], mode="clip")
            np.copyto(numbers[:count], codes[:count])
            # Not `@`: BLAS threads wait for each other on a busy machine.
            np.einsum("ij,j->i", numbers[:count], question, out=scores[begin : begin + count])
        return scores * self.scales[places]


def max_differing_bits(nearness: float) -> int:
    """In how many bits a vector that is as near as this (a cosine) differs at most, by chance nearly always.

    >>> [max_differing_bits(nearness) for nearness in (1.0, 0.5, 0.0)]
    [0, 97, 140]
    """
    share = acos(min(1.0, max(-1.0, nearness))) / pi
    return int(_BITS * share + _SPREAD * sqrt(_BITS * share * (1 - share)))


def _distance_bound(distances: NDArray[np.uint8], count: int) -> int:
    """The smallest bound that at least `count` of these do not exceed; 255 if there is none."""
    low, high = 0, _EXCLUDED
    while low < high:  # eight comparisons take a third of the time of np.partition
        middle = (low + high) // 2
        if np.count_nonzero(distances <= middle) >= count:
            high = middle
        else:
            low = middle + 1
    return low


class PointCodes:
    """The codes of the points of one space. A space with few points has none."""

    def __init__(self, table: PointTable) -> None:
        self._table = table
        self.codes: VectorCodes | None = None
        self._code_for_each_row = False  # whether the number of each code is that of its row
        self._was_searched = False  # whether the ledger was searched for vectors, and had none

    @property
    def memory_bytes(self) -> int:
        return 0 if self.codes is None else self.codes.memory_bytes

    def add(self, points: Sequence[int]) -> None:
        """Add points, whose vectors follow."""
        if self.codes is not None:
            self._code_for_each_row &= points == _first_points(len(self.codes), len(points)).tolist()
            self.codes.add(points)

    def put(self, points: Sequence[int], vectors: Vector) -> None:
        """Store the codes of points that were added. The codes of all begin with the first vectors, if the ledger had
        none when it was searched: while the embedder is down, or after an import."""
        if self.codes is None and self._was_searched:
            codes = VectorCodes(vectors.shape[1])
            codes.add(self._table.points)
            self._set(codes)
        if self.codes is not None:
            self.codes.put(points, vectors)

    def erase(self, points: NDArray[np.int64]) -> None:
        if self.codes is not None:
            self.codes.erase(points)

    def make_if_many(self, load_vectors: LoadVectors) -> None:
        """Make the codes of all points from the vectors of the ledger, if there are many and none have codes. The
        ledger is searched once: vectors that come later are passed to `put`."""
        table = self._table
        if self.codes is not None or self._was_searched or len(table) < _CODES_FROM:
            return
        self._was_searched = True
        for begin in range(0, len(table), _BATCH):
            keys = as_bytes(table.hashes[begin : begin + _BATCH])
            vectors = load_vectors(keys)
            batch = zip(table.points[begin : begin + _BATCH].tolist(), keys, strict=True)
            found = [(point, vectors[key]) for point, key in batch if key in vectors]
            if found:
                self.put([point for point, _ in found], np.array([vector for _, vector in found]))

    def allowed_slots(self, codes: VectorCodes, allowed: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Which codes belong to rows that may be returned; None if all do."""
        if self._code_for_each_row and len(codes) == len(allowed):
            mask = allowed
        else:
            rows = codes.points >> PASSAGE_BITS
            mask = allowed.take(rows, mode="clip") & (rows < len(allowed))
        return None if mask.all() else mask

    def save(self) -> Mapping[str, NDArray[Any]]:
        if self.codes is None:
            return {}
        self._set(self.codes.without_erased())
        return self.codes.save()

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        if "code_points" in arrays:
            self._set(VectorCodes.load(arrays))

    def _set(self, codes: VectorCodes) -> None:
        self.codes = codes
        self._code_for_each_row = np.array_equal(codes.points, _first_points(0, len(codes)))


def _first_points(row: int, count: int) -> NDArray[np.int64]:
    """The first point of this row and of those after it."""
    return np.arange(row, row + count, dtype=np.int64) << PASSAGE_BITS

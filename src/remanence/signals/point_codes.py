"""The codes of the vectors of a space, once it has many points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.signals.point_table import PASSAGE_BITS, PointTable, as_bytes
from remanence.signals.vector_codes import VectorCodes

if TYPE_CHECKING:
    from remanence.ports import Vector
    from remanence.signals.store_sync import LoadVectors

_BATCH = 4_096
_CODES_FROM = 8_192
"""How many points a space has at least when their codes are made. Making them later would stop callers for longer."""


class PointCodes:
    """The codes of the points of one space. A space with few points has none."""

    def __init__(self) -> None:
        self.codes: VectorCodes | None = None
        self._code_for_each_row = False  # whether the number of each code is that of its row

    @property
    def memory_bytes(self) -> int:
        return 0 if self.codes is None else self.codes.memory_bytes

    def add(self, points: Sequence[int]) -> None:
        """Add points, whose vectors follow."""
        if self.codes is not None:
            self._code_for_each_row &= points == _first_points(len(self.codes), len(points)).tolist()
            self.codes.add(points)

    def put(self, points: Sequence[int], vectors: Vector) -> None:
        if self.codes is not None:
            self.codes.put(points, vectors)

    def erase(self, points: NDArray[np.int64]) -> None:
        if self.codes is not None:
            self.codes.erase(points)

    def make_if_many(self, table: PointTable, load_vectors: LoadVectors) -> None:
        """Make the codes of all points from the vectors of the ledger, if there are many and none have codes."""
        if self.codes is not None or len(table) < _CODES_FROM:
            return
        for begin in range(0, len(table), _BATCH):
            keys = as_bytes(table.hashes[begin : begin + _BATCH])
            vectors = load_vectors(keys)
            batch = zip(table.points[begin : begin + _BATCH].tolist(), keys, strict=True)
            found = [(point, vectors[key]) for point, key in batch if key in vectors]
            if not found:
                continue
            if self.codes is None:
                codes = VectorCodes(len(found[0][1]))
                codes.add(table.points)
                self._set(codes)
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

"""The bits of vectors: on which side of fixed random hyperplanes each one lies (locality-sensitive hashing).

The smaller the angle between two vectors, the smaller the Hamming distance of their bits.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from remanence.ports import Vector

_AT_ONCE = 4


def sign_bits(rows: Vector, bits: int) -> NDArray[np.uint64]:
    """The signs of the products of each row with `bits` directions, in words of 64 bits. What is left of the last word
    is zero."""
    directions = _directions(rows.shape[1], bits)
    # Four at a time: BLAS multiplies one, and many, with threads, which wait for each other. On a busy machine 250 rows
    # take 16 ms of CPU then, and 1 ms so.
    groups = np.zeros((ceil(len(rows) / _AT_ONCE), _AT_ONCE, rows.shape[1]), np.float32)
    groups.reshape(-1, rows.shape[1])[: len(rows)] = rows
    products = (groups @ directions).reshape(-1, bits)[: len(rows)]
    return np.packbits(products > 0, axis=1).view(np.uint64)


def count_bits(words: NDArray[np.uint64], out: NDArray[np.uint8]) -> None:
    """Write into `out` how many bits of each word are set."""
    if hasattr(np, "bitwise_count"):
        np.bitwise_count(words, out=out)
    else:  # numpy before 2.0
        pairs = _bits_of_pairs()[words.view(np.uint16)].reshape(-1, 4)
        np.sum(pairs, axis=1, dtype=np.uint8, out=out)


@lru_cache(1)
def _bits_of_pairs() -> NDArray[np.uint8]:
    """How many bits each number of two bytes has."""
    table = np.zeros(1, np.uint8)
    for _ in range(16):
        table = np.concatenate((table, table + np.uint8(1)))
    return table


@lru_cache(16)
def _directions(dimension: int, bits: int) -> Vector:
    """The same directions for the same numbers, always."""
    return np.random.default_rng(bits * dimension).standard_normal((dimension, bits), np.float32)

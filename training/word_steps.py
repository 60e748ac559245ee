"""8-bit vectors in fewer steps: the word vectors were of six bits and less before they were scaled to eight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def in_steps(vectors: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.uint8]]:
    """The rows of `vectors`, whose numbers are -127 to 127, as numbers of steps, and how many steps 127 are in each
    row: as few as give exactly the same row again (`remanence.models.text_model.read_word_vectors`)."""
    whole = vectors.astype(np.float64)
    counted, steps = vectors.copy(), np.full(len(vectors), 127, np.uint8)
    open_rows = np.arange(len(vectors))
    for count in range(1, 127):
        tried = np.rint(whole[open_rows] * count / 127)
        fits = (np.rint(tried * 127 / count) == whole[open_rows]).all(1)
        counted[open_rows[fits]], steps[open_rows[fits]] = tried[fits], count
        open_rows = open_rows[~fits]
    return counted, steps


def write_steps(path: Path, counted: NDArray[np.int8], steps: NDArray[np.uint8], scales: NDArray[np.float16]) -> None:
    """Write the file, rows with the same number of steps side by side: they pack better."""
    pieces = np.argsort(steps, kind="stable")
    np.savez(path, vectors=counted[pieces], steps=steps[pieces], pieces=pieces.astype(np.uint16), scales=scales)

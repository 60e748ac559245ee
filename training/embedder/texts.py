"""The texts of `encode.py` on the device, as inputs of the embedder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from training.reader.batches import pieces_of, special_tokens

MAX_TOKENS = 96


class Input(NamedTuple):
    """Some texts as a model reads them."""

    ids: Tensor
    mask: Tensor
    kinds: Tensor


class Texts:
    """All texts as rows of a matrix."""

    def __init__(self, path: Path, device: str) -> None:
        with np.load(path) as stored:
            self.arrays: dict[str, NDArray[Any]] = dict(stored)
        begin, end, _ = special_tokens()
        rows = [[begin, *pieces[: MAX_TOKENS - 2], end] for pieces in pieces_of(self.arrays)]
        matrix = np.zeros((len(rows), MAX_TOKENS), np.int16)
        for place, row in enumerate(rows):
            matrix[place, : len(row)] = row
        self._matrix = torch.from_numpy(matrix).to(device)
        self._lengths = torch.tensor([len(row) for row in rows], device=device)
        self.device = device

    def input(self, numbers: NDArray[Any], kind: int) -> Input:
        """Some texts, padded to a common length."""
        chosen = torch.as_tensor(numbers, device=self.device, dtype=torch.long)
        lengths = self._lengths[chosen]
        longest = min(MAX_TOKENS, -(-int(lengths.max()) // 8) * 8)
        ids = self._matrix[chosen, :longest].long()
        mask = (torch.arange(longest, device=self.device)[None] < lengths[:, None]).float()
        return Input(ids, mask, torch.full_like(ids, kind))

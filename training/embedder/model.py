"""The embedder: three layers of BERT, whose mean over a text is its vector. And its teacher."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn
from training.reader.model import Layer, added_mask

WIDTH, HEADS, INNER, WORDS, PLACES = 384, 12, 1536, 21_000, 128
QUESTION, TEXT = 0, 1
"""The kinds of texts that it tells apart."""


class Encoder(nn.Module):
    """Layers over word pieces."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(PLACES, WIDTH)
        self.kinds = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(WIDTH, HEADS, INNER) for _ in range(layers))
        self.drop = 0.1

    def states(self, vectors: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """The last state of each token."""
        x = vectors + self.places.weight[: vectors.shape[1]] + self.kinds(kinds)
        x = F.dropout(self.norm(x), self.drop, self.training)
        for layer in self.layers:
            x = layer(x, added_mask(mask, x), self.drop)
        return x


class Embedder(Encoder):
    """The vector of a text, of length 1, and what it tells (`encode.LABELS`)."""

    def __init__(self, layers: int = 3, dimension: int = 256, labels: int = 8) -> None:
        super().__init__(layers)
        self.proj, self.classes = nn.Linear(WIDTH, dimension, bias=False), nn.Linear(WIDTH, labels)

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor]:
        return self.read(self.words(ids), mask, kinds)

    def read(self, vectors: Tensor, mask: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor]:
        """The same for word pieces that are given as vectors, as in the exported model."""
        x = self.states(vectors, mask, kinds)
        weights = mask[:, :, None].to(x.dtype)
        mean = (x * weights).sum(1) / weights.sum(1)
        vector = self.proj(mean).float()
        return vector / vector.norm(dim=-1, keepdim=True), self.classes(mean).float()


class Teacher(Encoder):
    """snowflake-arctic-embed-s: the state of its first token is the vector."""

    def __init__(self) -> None:
        super().__init__(layers=12)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return F.normalize(self.states(self.words(ids), mask, ids * 0)[:, 0].float(), dim=-1)

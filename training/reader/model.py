"""The reader: a small BERT that reads a question and dated lines as one text, and says four things of each line."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

KINDS = 10
"""What a token may be part of: the question, a line, or the end of a line of one of eight classes of rank."""


class Layer(nn.Module):
    """One layer of BERT. With `marks` only the tokens there are computed: nobody reads the others after the last."""

    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: Tensor, mask: Tensor, drop: float, marks: Tensor | None = None) -> Tensor:
        batch, _, width = x.shape
        own = x if marks is None else torch.gather(x, 1, marks[:, :, None].expand(-1, -1, width))
        size = width // self.heads

        def split(part: Tensor) -> Tensor:
            return part.view(batch, -1, self.heads, size).transpose(1, 2)

        q, k, v = split(self.query(own)), split(self.key(x)), split(self.value(x))
        if torch.onnx.is_in_onnx_export():
            mixed = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(size) + mask, -1) @ v
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype))
        mixed = mixed.transpose(1, 2).reshape(batch, -1, width)
        y = self.norm1(own + F.dropout(self.out(mixed), drop, self.training))
        return self.norm2(y + F.dropout(self.down(F.gelu(self.up(y))), drop, self.training))


class ListReader(nn.Module):
    """Reads a question with its lines. It answers at `marks`, the first token and the end of each line:

    choice: a number for each mark; the softmax is which line answers at the time asked about, the first mark for none
    answers: whether a line tells what is asked, at whatever time
    holds: whether it answers at the time asked about
    replaced: whether what it says no longer holds
    """

    def __init__(
        self,
        layers: int = 6,
        width: int = 384,
        heads: int = 12,
        inner: int = 1536,
        words: int = 21_000,
        places: int = 512,
    ) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.kinds = nn.Embedding(KINDS, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads, inner) for _ in range(layers))
        self.choose_pool, self.choose = nn.Linear(width, width), nn.Linear(width, 1)
        self.tells, self.holds, self.replaced = (nn.Linear(width, 1) for _ in range(3))
        self.drop = 0.1

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor, marks: Tensor) -> tuple[Tensor, ...]:
        return self.read(self.words(ids), mask, kinds, marks)

    def read(self, vectors: Tensor, mask: Tensor, kinds: Tensor, marks: Tensor) -> tuple[Tensor, ...]:
        """The answers for word pieces that are given as vectors, as in the exported model."""
        x = vectors + self.places.weight[: vectors.shape[1]] + self.kinds(kinds)
        x = F.dropout(self.norm(x), self.drop, self.training)
        added = added_mask(mask, x)
        for layer in self.layers[:-1]:
            x = layer(x, added, self.drop)
        x = self.layers[-1](x, added, self.drop, marks)
        pooled = F.dropout(torch.tanh(self.choose_pool(x)), self.drop, self.training)
        return tuple(head(pooled).squeeze(-1) for head in (self.choose, self.tells, self.holds, self.replaced))


def added_mask(mask: Tensor, like: Tensor) -> Tensor:
    """What is added to the attention of each token, so that padding gets none."""
    return (1.0 - mask[:, None, None, :].to(like.dtype)) * -10000.0

"""The reader: a small BERT that reads a question and a memory together, and has other answers for two memories, and for
a question and several memories in the order they were told."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


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


class Reader(nn.Module):
    """Three answers: whether the second text tells what the first asks; what it does to it as the later statement; and
    of several texts which one answers at the time asked about. Each is read off the tokens at `marks`. A fourth is for
    training alone: which of the several texts tell the matter at whatever time."""

    def __init__(
        self,
        layers: int = 12,
        width: int = 384,
        heads: int = 12,
        inner: int = 1536,
        words: int = 30522,
        places: int = 512,
    ) -> None:
        super().__init__()
        self.shape = {
            "layers": layers,
            "width": width,
            "heads": heads,
            "inner": inner,
            "words": words,
            "places": places,
        }
        self.words, self.places, self.kinds = (
            nn.Embedding(words, width),
            nn.Embedding(places, width),
            nn.Embedding(2, width),
        )
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads, inner) for _ in range(layers))
        self.pool, self.say = nn.Linear(width, width), nn.Linear(width, 1)
        self.compare_pool, self.compare = nn.Linear(width, width), nn.Linear(width, 4)
        self.choose_pool, self.choose = nn.Linear(width, width), nn.Linear(width, 1)
        self.tells = nn.Linear(width, 1)
        self.drop = 0.1

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor,
        marks: Tensor,
        states: list[Tensor] | None = None,
    ) -> tuple[Tensor, ...]:
        x = self.words(input_ids) + self.places.weight[: input_ids.shape[1]] + self.kinds(token_type_ids)
        x = F.dropout(self.norm(x), self.drop, self.training)
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -10000.0
        for number, layer in enumerate(self.layers):
            x = layer(x, mask, self.drop, marks if number == len(self.layers) - 1 else None)
            if states is not None:
                states.append(x)
        return _answers(self, x)


class Teacher(nn.Module):
    """all-mpnet-base-v2 with the same answers: too large to ship, it knows more paraphrases to hand down."""

    def __init__(self, words: int, layers: int = 12, width: int = 768, heads: int = 12, inner: int = 3072) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(514, width)
        self.norm = nn.LayerNorm(width, eps=1e-5)
        self.nearness = nn.Embedding(32, heads)
        self.layers = nn.ModuleList(Layer(width, heads, inner) for _ in range(layers))
        self.pool, self.say = nn.Linear(width, width), nn.Linear(width, 1)
        self.compare_pool, self.compare = nn.Linear(width, width), nn.Linear(width, 4)
        self.choose_pool, self.choose = nn.Linear(width, width), nn.Linear(width, 1)
        self.tells = nn.Linear(width, 1)
        self.drop = 0.1

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, marks: Tensor
    ) -> tuple[Tensor, ...]:
        count = input_ids.shape[1]
        x = F.dropout(self.norm(self.words(input_ids) + self.places.weight[2 : count + 2]), self.drop, self.training)
        near = self.nearness.weight.detach()[_distances(count).to(x.device)].permute(2, 0, 1)[None]
        mask = (near + (1.0 - attention_mask[:, None, None, :].float()) * -10000.0).to(torch.bfloat16)
        for number, layer in enumerate(self.layers):
            if number < len(self.layers) - 1:
                x = layer(x, mask, self.drop)
            else:
                rows = marks[:, None, :, None].expand(-1, mask.shape[1], -1, count)
                x = layer(x, torch.gather(mask, 2, rows), self.drop, marks)
        return _answers(self, x)


def _answers(model: Reader | Teacher, x: Tensor) -> tuple[Tensor, ...]:
    """What a model says by the tokens at the marks, of which the first is the first of the text."""
    first, drop = x[:, 0], model.drop
    said = model.say(F.dropout(torch.tanh(model.pool(first)), drop, model.training))
    compared = model.compare(F.dropout(torch.tanh(model.compare_pool(first)), drop, model.training))
    lines = F.dropout(torch.tanh(model.choose_pool(x)), drop, model.training)
    chosen = model.choose(lines).squeeze(-1)
    if torch.onnx.is_in_onnx_export():
        return said, compared, chosen
    return said, compared, chosen, model.tells(lines).squeeze(-1)


def _distances(count: int) -> Tensor:
    """The class of distance from each token to each: 8 close ones and 8 wider and wider ones, before and after."""
    away = torch.arange(count)[None] - torch.arange(count)[:, None]
    far = 8 + (torch.log(away.abs().clamp(min=1) / 8) / math.log(128 / 8) * 8).long()
    return torch.where(away.abs() < 8, away.abs(), far.clamp(max=15)) + 16 * (away > 0)


def student_of(teacher: Reader, keep: list[int]) -> Reader:
    """A reader that begins as some layers of another."""
    small = Reader(**teacher.shape | {"layers": len(keep)})
    old = teacher.state_dict()
    new = {name: value for name, value in old.items() if not name.startswith("layers.")}
    for number, layer in enumerate(keep):
        prefix = f"layers.{layer}."
        new |= {
            f"layers.{number}.{name[len(prefix) :]}": value for name, value in old.items() if name.startswith(prefix)
        }
    small.load_state_dict(new)
    return small

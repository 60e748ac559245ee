"""How good an embedder is on conversations and turns that only measure."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from training.embedder.encode import LABELS, SOURCES
from training.embedder.model import QUESTION, TEXT, Embedder
from training.embedder.texts import Texts

BATCH = 512
FIRST = (1, 5, 10)


@torch.no_grad()
def measure(model: Embedder, texts: Texts) -> dict[str, dict[str, Any]]:
    """For each set the percentage of questions with a right text among the first of their conversation; and how well
    turns are told apart by what they tell (AUC)."""
    model.eval()
    arrays = texts.arrays
    rows, _ = embed(model, texts, arrays["corpus_text"], TEXT)
    asked, _ = embed(model, texts, arrays["corpus_question"], QUESTION)
    corpus = torch.from_numpy(arrays["corpus_text_of"]).to(texts.device)
    found: dict[str, list[list[bool]]] = {}
    for number, vector in enumerate(asked):
        near = (rows @ vector).masked_fill(corpus != int(arrays["corpus_question_of"][number]), -9.0)
        order = torch.topk(near, max(FIRST)).indices.cpu().numpy()
        right = arrays["corpus_right"][arrays["corpus_begin"][number] : arrays["corpus_begin"][number + 1]]
        name = str(arrays["corpus_sets"][arrays["corpus_set"][number]])
        found.setdefault(name, []).append([bool(np.isin(order[:count], right).any()) for count in FIRST])
    figures = {name: _percentages(values) for name, values in found.items()}
    return figures | {"turns of c": _turn_areas(model, texts)}


def embed(model: Embedder, texts: Texts, numbers: NDArray[Any], kind: int) -> tuple[Tensor, Tensor]:
    """Vectors and labels of some texts."""
    parts = []
    for start in range(0, len(numbers), BATCH):
        with torch.autocast(texts.device, dtype=torch.bfloat16):
            parts.append(model(*texts.input(numbers[start : start + BATCH], kind)))
    vectors, labels = zip(*parts, strict=True)
    return torch.cat(vectors), torch.cat(labels)


def _percentages(found: list[list[bool]]) -> dict[str, float]:
    means = 100 * np.mean(found, axis=0)
    return {"questions": len(found)} | {
        f"in {count}": round(float(m), 1) for count, m in zip(FIRST, means, strict=True)
    }


def _turn_areas(model: Embedder, texts: Texts) -> dict[str, float]:
    """Of turns of people who are not trained on: whether they tell something, and of those that do, of which kind."""
    arrays = texts.arrays
    turns = np.flatnonzero(arrays["turn_source"] == SOURCES.index("c"))
    scores = embed(model, texts, arrays["turn_text"][turns], TEXT)[1].cpu().numpy()
    labels = arrays["turn_labels"][turns]
    areas = {}
    for column, name in enumerate(LABELS[:5]):
        counted = labels[:, 0] == 1 if column else np.full(len(labels), True)
        yes, no = (scores[counted & (labels[:, column] == wanted), column] for wanted in (1, 0))
        areas[name] = round(float((yes[:, None] > no).mean()), 3)
    return areas

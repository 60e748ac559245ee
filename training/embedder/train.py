"""Trains the embedder on one GPU.

    python -m training.embedder.train embedder.npz START.pt TEACHER.pt --out embedder.pt --seconds 480

embedder.npz is what `encode.py` wrote, START.pt what `training.reader.starting_weights` wrote, TEACHER.pt what
`starting_weights.py` wrote. A question has to be nearer to a text that tells what it asks than to others of its list
and to those of all other questions of its batch; how near it is to each of them should be as the teacher has it; and
the state from which the vector is made should say what a turn tells. The word vectors stay as they are, as the reader
has them in common. Prints how good it is on conversations that only measure (`measure.py`).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from training.embedder.encode import SOURCES
from training.embedder.measure import measure
from training.embedder.model import PLACES, QUESTION, TEXT, Embedder, Teacher
from training.embedder.texts import Input, Texts

from remanence.models.text_model import FOLDER

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KEPT_LAYERS = (0, 2, 5)
"""The layers of the reader that it begins with."""
SHARES = {
    "worlds": 0.22, "talks": 0.06, "team": 0.06, "revoked": 0.06, "projects": 0.04, "chat": 0.06, "standing": 0.06,
    "matters": 0.1, "chats": 0.04, "askings": 0.02, "helps": 0.02, "squad": 0.08, "friendsqa": 0.05, "molweni": 0.02,
    "qmsum": 0.02, "realmem": 0.03, "longmemeval_pool": 0.03, "hotpotqa_1000": 0.02, "2wiki_1000": 0.02,
    "musique_300": 0.01, "timeqa_human": 0.02,
}  # fmt: skip
"""How often a question of each set is drawn."""
RATE, WARM_UP, LEAST_RATE, DECAY = 3e-4, 200, 0.02, 0.01
OTHERS, MAX_OTHERS, MAX_RIGHT = 4, 16, 12
"""How many other texts of its list stand beside a question, of how many, and how many right texts are known of it."""
TURNS, PEOPLE_WEIGHT = 256, 3.0
"""How many turns a batch has, and how much more often those of people and projects are drawn."""
SCALE, TEACHER_SCALE, TAUGHT, LABELS = 20.0, 30.0, 0.5, 0.3
QUESTION_PREFIX = "Represent this sentence for searching relevant passages: "
"""What the teacher was trained to read before a question."""


class Batch(NamedTuple):
    """Questions; for each a right text and then the others of all; which of them are no wrong answers; and turns."""

    questions: Input
    texts: Input
    ignored: Tensor
    turns: Input
    labels: Tensor


class RandomBatches:
    """Batches drawn from the arrays of `encode.py`."""

    def __init__(self, texts: Texts, size: int, seed: int) -> None:
        self._texts, self._size, self._rng = texts, size, np.random.default_rng(seed)
        arrays = texts.arrays
        parts = np.split(np.arange(len(arrays["text"])), arrays["begin"][1:-1])
        self._right = [arrays["text"][rows[arrays["tells"][rows]]] for rows in parts]
        self._wrong = [arrays["text"][rows[~arrays["tells"][rows]]][:MAX_OTHERS] for rows in parts]
        counts = np.bincount(arrays["set"], minlength=len(arrays["sets"]))
        odds = np.array([SHARES.get(name, 0) for name in arrays["sets"]])[arrays["set"]] / counts[arrays["set"]]
        self._odds = np.cumsum(odds) / odds.sum()
        self._turns = np.flatnonzero(arrays["turn_source"] != SOURCES.index("c"))
        people = np.isin(arrays["turn_source"][self._turns], [SOURCES.index(name) for name in ("a", "b", "projects")])
        weights = np.where(people, PEOPLE_WEIGHT, 1.0)
        self._turn_odds = weights / weights.sum()

    def draw(self) -> Batch:
        rng, arrays, size = self._rng, self._texts.arrays, self._size
        drawn = np.searchsorted(self._odds, rng.random(size))
        chosen, others = np.zeros(size, np.int64), np.zeros((size, OTHERS), np.int64)
        known = np.full((size, MAX_RIGHT), -1)
        for place, number in enumerate(drawn):
            right, wrong = self._right[number], self._wrong[number]
            chosen[place] = rng.choice(right)
            others[place] = rng.choice(wrong, OTHERS) if len(wrong) else chosen[place]
            known[place, : len(right)] = right[:MAX_RIGHT]
        texts = np.concatenate([chosen, others.ravel()])
        turns = rng.choice(self._turns, TURNS, p=self._turn_odds)
        return Batch(
            self._texts.input(arrays["question"][drawn], QUESTION),
            self._texts.input(texts, TEXT),
            _is_right(known, texts),
            self._texts.input(arrays["turn_text"][turns], TEXT),
            torch.from_numpy(arrays["turn_labels"][turns].astype(np.float32)).to(DEVICE),
        )


def _is_right(known: NDArray[np.int64], texts: NDArray[np.int64]) -> Tensor:
    """Which texts are also right for a question, besides the one that was drawn for it."""
    right = (known[:, :, None] == texts).any(1)
    places = np.arange(len(known))
    right[places, places] = False
    return torch.from_numpy(right).to(DEVICE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("start", type=Path)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--batch", type=int, default=256, help="questions in a batch")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    texts = Texts(options.texts, DEVICE)
    model, teacher = starting_embedder(_load(options.start)).to(DEVICE), Teacher().to(DEVICE).eval()
    teacher.load_state_dict(_load(options.teacher))
    train(model, teacher, RandomBatches(texts, options.batch, options.seed), options.seconds)
    for name, figures in measure(model, texts).items():
        print(f"{name:18}", figures, flush=True)
    state = {name: value.half().cpu() for name, value in model.state_dict().items() if name != "words.weight"}
    torch.save(state, options.out)


def _load(path: Path) -> dict[str, Tensor]:
    return {name: value.float() for name, value in torch.load(path, map_location="cpu").items()}


def starting_embedder(reader: dict[str, Tensor]) -> Embedder:
    """An embedder that begins as some layers of a reader."""
    state = {name: value for name, value in reader.items() if name.startswith(("words.", "norm."))}
    state |= {"kinds.weight": reader["kinds.weight"][:2], "places.weight": reader["places.weight"][:PLACES]}
    for number, layer in enumerate(KEPT_LAYERS):
        prefix = f"layers.{layer}."
        state |= {
            f"layers.{number}.{name.removeprefix(prefix)}": value
            for name, value in reader.items()
            if name.startswith(prefix)
        }
    model = Embedder(len(KEPT_LAYERS))
    print("begin anew:", model.load_state_dict(state, strict=False).missing_keys)
    return model


def train(model: Embedder, teacher: Teacher, batches: RandomBatches, seconds: float) -> None:
    """Train for so long; the rate falls to almost nothing until then."""
    model.words.weight.requires_grad_(False)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=RATE, weight_decay=DECAY, fused=DEVICE == "cuda")
    model.train()
    prefix = torch.tensor(question_prefix(), device=DEVICE)
    begin, step, losses = time.monotonic(), 0, list[Tensor]()
    while (spent := time.monotonic() - begin) < seconds:
        step += 1
        optimizer.param_groups[0]["lr"] = RATE * min(1, step / WARM_UP) * max(LEAST_RATE, 1 - spent / seconds)
        loss = loss_of(model, teacher, batches.draw(), prefix)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        if step % 500 == 0:
            print(step, round(spent), round(torch.stack(losses[-500:]).mean().item(), 4), flush=True)


def loss_of(model: Embedder, teacher: Teacher, batch: Batch, prefix: Tensor) -> Tensor:
    """How far vectors and labels are from what they should be."""
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        (questions, _), (texts, _), (_, classes) = (
            model(*each) for each in (batch.questions, batch.texts, batch.turns)
        )
    near = SCALE * questions @ texts.T
    loss = F.cross_entropy(near.masked_fill(batch.ignored, -1e4), torch.arange(len(questions), device=DEVICE))
    with torch.no_grad(), torch.autocast(DEVICE, dtype=torch.bfloat16):
        asked, told = teacher(*with_prefix(batch.questions, prefix)), teacher(batch.texts.ids, batch.texts.mask)
    aim = torch.softmax(TEACHER_SCALE * asked @ told.T, -1)
    loss = loss + TAUGHT * F.kl_div(torch.log_softmax(near, -1), aim, reduction="batchmean")
    known = batch.labels >= 0
    labels = F.binary_cross_entropy_with_logits(classes, batch.labels.clamp(min=0), reduction="none")
    return loss + LABELS * (labels * known).sum() / known.sum()


def with_prefix(questions: Input, prefix: Tensor) -> tuple[Tensor, Tensor]:
    """Questions as the teacher reads them."""
    many = prefix[None].expand(len(questions.ids), -1)
    ids = torch.cat([questions.ids[:, :1], many, questions.ids[:, 1:]], 1)
    mask = torch.cat(
        [questions.mask[:, :1], torch.ones_like(many, dtype=questions.mask.dtype), questions.mask[:, 1:]], 1
    )
    return ids[:, :PLACES], mask[:, :PLACES]


def question_prefix() -> list[int]:
    """The prefix as word pieces; all of its words are such."""
    pieces = json.loads((FOLDER / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    return [pieces[word] for word in QUESTION_PREFIX.lower().replace(":", " :").split()]


if __name__ == "__main__":
    main()

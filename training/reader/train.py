"""Trains the reader on one GPU.

    python -m training.reader.train reader.npz START.pt --out reader1.pt --seed 1 --seconds 600

reader.npz is what `encode.py` wrote, START.pt what `starting_weights.py` wrote. Besides the labels, `answers` learns
from the reader that it begins as. The word vectors stay as they are, as the embedder has them in common. What is
written is the moving mean of the weights. Prints how good it is on lists that are not trained on (`measure.py`).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader
from training.reader.batches import Batch, Lists, RandomBatches
from training.reader.measure import measure
from training.reader.model import ListReader

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RATE, WARM_UP, LEAST_RATE, DECAY = 1e-4, 150, 0.02, 0.01
TELLS, HOLDS, REPLACED = 0.8, 0.5, 0.5
"""How much each answer counts beside the choice."""
TAUGHT = 0.4
"""How much of what `answers` is to say of a line is said by the teacher."""
MEAN_DECAY = 0.999


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path)
    parser.add_argument("start", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--batch", type=int, default=64, help="lists in a batch")
    parser.add_argument("--workers", type=int, default=5, help="processes that make batches")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    lists = Lists(options.lists)
    start = {name: value.float() for name, value in torch.load(options.start, map_location="cpu").items()}
    model = ListReader()
    model.load_state_dict(start, strict=False)
    teacher = ListReader().to(DEVICE).eval()
    teacher.load_state_dict(model.state_dict())
    batches = RandomBatches(lists, options.batch, options.seed)
    loader = DataLoader(batches, batch_size=None, num_workers=options.workers, pin_memory=DEVICE == "cuda")
    trained = train(model.to(DEVICE), teacher, loader, options.seconds)
    for name, figures in measure(trained, lists, DEVICE).items():
        print(f"{name:18}", figures, flush=True)
    state = {name: value.half().cpu() for name, value in trained.state_dict().items() if name != "words.weight"}
    torch.save(state, options.out)


def train(model: ListReader, teacher: ListReader, loader: DataLoader[Batch], seconds: float) -> ListReader:
    """Train for so long; the rate falls to almost nothing until then. Returns the moving mean."""
    model.words.weight.requires_grad_(False)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    mean = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(MEAN_DECAY))
    optimizer = torch.optim.AdamW(weights, lr=RATE, weight_decay=DECAY, fused=DEVICE == "cuda")
    model.train()
    begin, losses = time.monotonic(), list[Tensor]()
    for step, batch in enumerate(loader, 1):
        spent = time.monotonic() - begin
        if spent > seconds:
            break
        optimizer.param_groups[0]["lr"] = RATE * min(1, step / WARM_UP) * max(LEAST_RATE, 1 - spent / seconds)
        loss = loss_of(model, teacher, batch.to(DEVICE))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        mean.update_parameters(model)
        losses.append(loss.detach())
        if step % 500 == 0:
            print(step, round(spent), round(torch.stack(losses[-500:]).mean().item(), 4), flush=True)
    trained: ListReader = mean.module
    return trained


def loss_of(model: ListReader, teacher: ListReader, batch: Batch) -> Tensor:
    """How far the answers are from the labels, and from what the teacher says."""
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        outputs = model(batch.ids, batch.mask, batch.kinds, batch.marks)
    choice, tells, holds, replaced = (each.float() for each in outputs)
    logs = torch.log_softmax(choice + (batch.real - 1) * 1e4, -1)
    lines = batch.real.clone()
    lines[:, 0] = 0
    loss = -torch.logsumexp(logs + (batch.answers - 1) * 1e4, -1).mean()
    with torch.no_grad(), torch.autocast(DEVICE, dtype=torch.bfloat16):
        said = torch.sigmoid(teacher(batch.ids, batch.mask, batch.kinds, batch.marks)[1].float())
    share = TAUGHT * batch.taught
    loss = loss + TELLS * _mean_loss(tells, share * said + (1 - share) * batch.tells, lines)
    loss = loss + HOLDS * _mean_loss(holds, batch.answers, lines)
    return loss + REPLACED * _mean_loss(replaced, batch.replaced.clamp(min=0), lines * (batch.replaced >= 0))


def _mean_loss(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    losses = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    return (losses * weights).sum() / weights.sum().clamp(min=1)


if __name__ == "__main__":
    main()

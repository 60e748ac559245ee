"""How good a reader is on lists that are not trained on."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from training.reader.batches import Lists
from training.reader.model import ListReader

from remanence.models.reader_input import MAX_LINES

MAX_LISTS, BATCH = 600, 64
TELLS_SHARE = 0.05
"""How much `answers` counts beside the choice in the order of the lines."""


@torch.no_grad()
def measure(model: ListReader, lists: Lists, device: str) -> dict[str, dict[str, Any]]:
    """For each set, of the answerable lists in percent: an answer first, among the first three, the share of answers
    among the first five, a line first that only tells of another time; and the AUC of telling answerable lists from
    others, replaced lines from others, and lines that answer from others."""
    model.eval()
    figures = {}
    for name, members in lists.members(measured=True).items():
        some = members[:: max(1, len(members) // MAX_LISTS)]
        found: dict[str, list[Any]] = defaultdict(list)
        for start in range(0, len(some), BATCH):
            _add_batch(found, model, lists, some[start : start + BATCH], device)
        if found["first"]:
            percent = {key: round(100 * float(np.mean(found[key])), 1) for key in ("first", "three", "five", "stale")}
            areas = {key: _area(found[key]) for key in ("answerable", "replaced", "holds")}
            figures[name] = {"lists": len(found["first"]), **percent, **areas}
    return figures


def _add_batch(
    found: dict[str, list[Any]], model: ListReader, lists: Lists, numbers: NDArray[np.int64], device: str
) -> None:
    drawn = [lists.draw(int(number), lists.rows(number)[:MAX_LINES]) for number in numbers]
    batch = lists.batch(drawn).to(device)
    choice, *others = (each.float() for each in model(batch.ids, batch.mask, batch.kinds, batch.marks))
    chosen = torch.softmax(choice + (batch.real - 1) * 1e4, -1).cpu().numpy()
    tells, holds, replaced = (torch.sigmoid(each).cpu().numpy() for each in others)
    for place, (number, rows, *_) in enumerate(drawn):
        marks = slice(1, len(rows) + 1)
        right, known = lists.answers[rows] == 1, lists.replaced[rows]
        found["answerable"].append((1 - chosen[place, 0], lists.arrays["answerable"][number]))
        found["holds"] += zip(holds[place, marks], right, strict=True)
        found["replaced"] += [
            (value, label == 1) for value, label in zip(replaced[place, marks], known, strict=True) if label >= 0
        ]
        if lists.arrays["answerable"][number]:
            order = np.argsort(-(chosen[place, marks] + TELLS_SHARE * tells[place, marks]))
            wanted = lists.arrays["wanted"][number] or right.sum()
            found["first"].append(right[order[0]])
            found["three"].append(right[order[:3]].any())
            found["five"].append(right[order[:5]].sum() / max(1, wanted))
            found["stale"].append(lists.tells[rows][order[0]] == 1 and not right[order[0]])


def _area(scored: list[tuple[float, bool]]) -> float | None:
    """The area under the curve: how often one that is so scores higher than one that is not."""
    yes, no = ([score for score, label in scored if label == wanted] for wanted in (True, False))
    if not yes or not no:
        return None
    return round(float((np.array(yes)[:, None] > np.array(no)).mean()), 3)

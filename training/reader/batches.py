"""Batches of lists as the reader reads them, drawn at random from the arrays of `encode.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from remanence.models.reader_input import MAX_LINES, QUESTION_TOKENS, ListTokens, SpecialTokens, join_list
from remanence.models.text_model import FOLDER

SHARES = {
    "worlds": 0.26, "talks": 0.05, "team": 0.07, "revoked": 0.07, "projects": 0.04, "chat": 0.06, "standing": 0.09,
    "lives": 0.03, "matters": 0.14, "chats": 0.03, "askings": 0.03, "helps": 0.02, "statebench": 0.01, "squad": 0.03,
    "friendsqa": 0.02, "molweni": 0.01, "qmsum": 0.01, "realmem": 0.02, "longmemeval_pool": 0.02,
    "hotpotqa_1000": 0.015, "2wiki_1000": 0.015, "musique_300": 0.01, "timeqa_human": 0.01,
}  # fmt: skip
"""How often a list of each set is drawn. Sets that are not here are only measured."""
RANKED_SETS = (
    "worlds", "talks", "team", "revoked", "projects", "chat", "strangers", "writers", "longmemeval_pool",
    "hotpotqa_1000", "2wiki_1000", "musique_300", "timeqa_human", "locomo", "realtalk", "beam_100k",
)  # fmt: skip
"""Sets whose lines are in the order of the signals of recall; the reader is told their ranks."""
NO_RANKS = 0.15
"""The share of lists for which it is not told."""
NOTHING_TOLD, DROPPED, KEPT = 0.05, 0.1, 0.7
"""The share of lists without all lines that tell what is asked; of lines that are left out; and of those that answer
which are kept even so."""
REORDERED, NOISE = 0.25, 3
MIN_LINES = 3


class Pairs(NamedTuple):
    """The question with each line, of some lists, for the teacher."""

    ids: Tensor
    mask: Tensor
    kinds: Tensor
    at: Tensor
    """The list and the mark of each pair."""


class Batch(NamedTuple):
    """Lists of one batch. What belongs to marks has a column for "none of them", then one for each line."""

    ids: Tensor
    mask: Tensor
    kinds: Tensor
    marks: Tensor
    answers: Tensor
    tells: Tensor
    replaced: Tensor
    real: Tensor
    """Which marks there are."""
    pairs: Pairs | None

    def to(self, device: str) -> Batch:
        pairs = self.pairs and Pairs(*(each.to(device, non_blocking=True) for each in self.pairs))
        return Batch(*(each.to(device, non_blocking=True) for each in self[:-1]), pairs)


class Lists:
    """The arrays of `encode.py`, and lists of them as tokens."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as stored:
            self.arrays: dict[str, NDArray[Any]] = dict(stored)
        self.begin, self.answers, self.tells, self.replaced = (
            self.arrays[name].astype(np.int64) for name in ("begin", "answers", "tells", "replaced")
        )
        self.sets: list[str] = self.arrays["sets"].tolist()
        self._set_of, self._pieces = self.arrays["set"], pieces_of(self.arrays)
        self._special = special_tokens()

    def members(self, *, measured: bool) -> dict[str, NDArray[np.int64]]:
        """The lists of each set that are trained on, or that measure."""
        chosen = self.arrays["measured"] == measured
        return {name: np.flatnonzero(chosen & (self._set_of == k)) for k, name in enumerate(self.sets)}

    def rows(self, number: int) -> NDArray[np.int64]:
        """The lines of a list, by rank."""
        return np.arange(self.begin[number], self.begin[number + 1])

    def in_order(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lines in the order they were told."""
        return rows[np.argsort(self.arrays["day"][rows], kind="stable")]

    def join(self, number: int, rows: NDArray[np.int64], *, show_ranks: bool = True) -> ListTokens:
        """A list as one text; its lines have to be in order."""
        arrays = self.arrays
        ranked = show_ranks and self.sets[self._set_of[number]] in RANKED_SETS
        dated = bool((arrays["day_text"][rows] >= 0).any())
        told = int((arrays["day"][rows] <= arrays["moment"][number]).sum()) if dated else len(rows)
        return join_list(
            self._text(arrays["question"][number]),
            self._text(arrays["asked_on"][number]),
            [self._text(arrays["day_text"][row]) + self._text(arrays["text"][row]) for row in rows],
            [int(row - self.begin[number]) if ranked else None for row in rows],
            told,
            self._special,
        )

    def batch(self, drawn: Sequence[tuple[int, NDArray[np.int64], bool]], pairs_of: int = 0) -> Batch:
        """Lists, their lines in order and whether ranks are shown, as a batch; with pairs of the first `pairs_of`."""
        joined = [self.join(number, rows, show_ranks=shown) for number, rows, shown in drawn]
        ids, mask = pad([each.ids for each in joined], 32)
        kinds, _ = pad([each.kinds for each in joined], 32)
        size = len(drawn), MAX_LINES + 1
        marks, real = torch.zeros(size, dtype=torch.long), torch.zeros(size)
        answers, tells, replaced = torch.zeros(size), torch.zeros(size), torch.full(size, -1.0)
        for place, (each, (_, rows, _)) in enumerate(zip(joined, drawn, strict=True)):
            count = len(rows)
            marks[place, : count + 1], real[place, : count + 1] = torch.tensor(each.marks), 1
            labels = zip((answers, tells, replaced), (self.answers, self.tells, self.replaced), strict=True)
            for label, values in labels:
                label[place, 1 : count + 1] = torch.from_numpy(values[rows])
            answers[place, 0] = not self.answers[rows].any()
        pairs = self._pairs(drawn[:pairs_of]) if pairs_of else None
        return Batch(ids, mask, kinds, marks, answers, tells, replaced, real, pairs)

    def _pairs(self, drawn: Sequence[tuple[int, NDArray[np.int64], bool]]) -> Pairs:
        begin, end, _ = self._special
        ids, kinds, at = list[list[int]](), list[list[int]](), list[tuple[int, int]]()
        for place, (number, rows, _) in enumerate(drawn):
            question = [begin, *self._text(self.arrays["question"][number])[-QUESTION_TOKENS:], end]
            for mark, row in enumerate(rows, 1):
                text = [*self._text(self.arrays["text"][row]), end]
                ids.append(question + text)
                kinds.append([0] * len(question) + [1] * len(text))
                at.append((place, mark))
        return Pairs(*pad(ids, 16), pad(kinds, 16)[0], torch.tensor(at))

    def _text(self, number: int) -> list[int]:
        return self._pieces[number] if number >= 0 else []


class RandomBatches(IterableDataset[Batch]):
    """Batches without end. Each worker has its own random numbers."""

    def __init__(self, lists: Lists, size: int, seed: int, *, with_pairs: bool) -> None:
        self._lists, self._size, self._seed = lists, size, seed
        self._pairs_of = size // 2 if with_pairs else 0

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        rng = np.random.default_rng([self._seed, worker.id if worker else 0])
        members = self._lists.members(measured=False)
        names, odds = shares(members)
        while True:
            drawn: list[tuple[int, NDArray[np.int64], bool]] = []
            while len(drawn) < self._size:
                number = int(rng.choice(members[names[rng.choice(len(names), p=odds)]]))
                rows = self._some_rows(number, rng)
                if len(rows) >= 2:
                    drawn.append((number, self._lists.in_order(rows), rng.random() > NO_RANKS))
            yield self._lists.batch(drawn, self._pairs_of)

    def _some_rows(self, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Some lines of a list, most of the first ones; now and then none that tells what is asked."""
        lists, rows = self._lists, self._lists.rows(number)
        if rng.random() < NOTHING_TOLD:
            rows = rows[lists.tells[rows] == 0]
        keep = rng.random(len(rows)) > DROPPED
        rows = rows[keep | ((lists.answers[rows] == 1) & (rng.random(len(rows)) < KEPT))]
        if rng.random() < REORDERED:
            rows = rows[np.argsort(np.arange(len(rows)) + rng.gumbel(size=len(rows)) * NOISE, kind="stable")]
        return rows[: MAX_LINES if rng.random() < 0.5 else int(rng.integers(MIN_LINES, MAX_LINES + 1))]


def shares(members: Mapping[str, NDArray[np.int64]]) -> tuple[list[str], NDArray[np.float64]]:
    """The sets that are there, and how often each is drawn."""
    names = [name for name in SHARES if len(members.get(name, ()))]
    odds = np.array([SHARES[name] for name in names])
    return names, odds / odds.sum()


def pad(rows: Sequence[Sequence[int]], multiple: int) -> tuple[Tensor, Tensor]:
    """Rows of one length, a multiple of a number, and which items are not padding."""
    length = -(-max(map(len, rows)) // multiple) * multiple
    values, mask = torch.zeros(len(rows), length, dtype=torch.long), torch.zeros(len(rows), length)
    for place, row in enumerate(rows):
        values[place, : len(row)], mask[place, : len(row)] = torch.tensor(row), 1
    return values, mask


def pieces_of(arrays: Mapping[str, NDArray[Any]]) -> list[list[int]]:
    """The word pieces of each text."""
    ends = np.cumsum(arrays["lengths"], dtype=np.int64)
    return [part.tolist() for part in np.split(arrays["pieces"], ends[:-1])]


def special_tokens() -> SpecialTokens:
    """The numbers of the tokens that are not words."""
    pieces = json.loads((FOLDER / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    return SpecialTokens(pieces["[CLS]"], pieces["[SEP]"], pieces["[MASK]"])

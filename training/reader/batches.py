"""Batches of lists as the reader reads them, drawn at random from the arrays of `encode.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from remanence.models.readers import MAX_LINES, ListTokens, SpecialTokens, join_list
from remanence.models.text_model import FOLDER

SHARES = {
    "worlds": 0.26, "talks": 0.05, "team": 0.07, "revoked": 0.07, "projects": 0.04, "chat": 0.06, "standing": 0.09,
    "lives": 0.03, "matters": 0.14, "chats": 0.03, "askings": 0.03, "helps": 0.02, "statebench": 0.01, "squad": 0.03,
    "friendsqa": 0.02, "molweni": 0.01, "qmsum": 0.01, "realmem": 0.02, "longmemeval_pool": 0.02,
    "hotpotqa_1000": 0.015, "2wiki_1000": 0.015, "musique_300": 0.01, "timeqa_human": 0.01,
}  # fmt: skip
"""How often a list of each set is drawn. Sets that are not here are only measured."""
RANKED_SETS = (
    "worlds", "late", "talks", "team", "revoked", "projects", "chat", "strangers", "writers", "longmemeval_pool",
    "hotpotqa_1000", "2wiki_1000", "musique_300", "timeqa_human", "locomo", "realtalk", "beam_100k",
)  # fmt: skip
"""Sets whose lines are in the order of the signals of recall; the reader is told their ranks."""
NO_RANKS = 0.15
"""The share of lists for which it is not told."""
NOTHING_TOLD, DROPPED, KEPT = 0.05, 0.1, 0.7
"""The share of lists without all lines that tell what is asked; of lines that are left out; and of those that answer
which are kept even so."""
REORDERED, NOISE = 0.25, 3
REDATED = 0.6
"""The share of lists whose lines get each other's days, where only one tells what is asked: what is old holds as long
as nothing replaces it."""
WITH_FOREIGN, MOST_FOREIGN = 0.35, 6
"""The share of lists that are mixed with lines of another one, and how many of these. In a space notes stand beside
chats: who says something, and that nobody is named, must not tell which of them answers."""
MIN_LINES = 3


class Drawn(NamedTuple):
    """Lines that are read for the question of a list."""

    number: int
    rows: NDArray[np.int64]
    dated_as: NDArray[np.int64]
    """The lines whose days they have: for a line of another list, one of this."""
    ranks: Sequence[int | None]
    """Their ranks by the signals, or None for a list in which they are not told."""
    own: NDArray[np.bool_]
    """Which are of this list."""


class Batch(NamedTuple):
    """Lists of one batch. What belongs to marks has a column for "none of them", then one for each line."""

    ids: Tensor
    mask: Tensor
    kinds: Tensor
    marks: Tensor
    answers: Tensor
    tells: Tensor
    replaced: Tensor
    taught: Tensor
    """Which marks are of lines as they were told in that list: what the teacher says of them counts."""
    real: Tensor
    """Which marks there are."""

    def to(self, device: str) -> Batch:
        return Batch(*(each.to(device, non_blocking=True) for each in self))


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

    def draw(
        self,
        number: int,
        rows: NDArray[np.int64],
        dated_as: NDArray[np.int64] | None = None,
        *,
        show_ranks: bool = True,
    ) -> Drawn:
        """Some lines of a list, in the order they were told."""
        ranks = self.ranks(number, rows - self.begin[number], show_ranks)
        return self.in_order(
            Drawn(number, rows, rows if dated_as is None else dated_as, ranks, np.ones(len(rows), np.bool_))
        )

    def may_be_redated(self, number: int, rows: NDArray[np.int64]) -> bool:
        """Whether the lines could have been told on other days: at most one tells what is asked, and of now."""
        arrays = self.arrays
        return bool(self.tells[rows].sum() <= 1 and arrays["day"][rows].max() <= arrays["moment"][number])

    def ranks(self, number: int, ranks: Iterable[int], show_ranks: bool) -> list[int | None]:
        """Ranks, if those of the list are told."""
        told = show_ranks and self.sets[self._set_of[number]] in RANKED_SETS
        return [int(rank) if told else None for rank in ranks]

    def in_order(self, drawn: Drawn) -> Drawn:
        """Lines in the order they were told."""
        order = np.argsort(self.arrays["day"][drawn.dated_as], kind="stable")
        ranks = [drawn.ranks[n] for n in order]
        return Drawn(drawn.number, drawn.rows[order], drawn.dated_as[order], ranks, drawn.own[order])

    def join(self, drawn: Drawn) -> ListTokens:
        """A list as one text; its lines have to be in order."""
        arrays, number = self.arrays, drawn.number
        days, day_texts = arrays["day"][drawn.dated_as], arrays["day_text"][drawn.dated_as]
        told = int((days <= arrays["moment"][number]).sum()) if bool((day_texts >= 0).any()) else len(days)
        return join_list(
            self._text(arrays["question"][number]),
            self._text(arrays["asked_on"][number]),
            [self._text(day) + self._text(arrays["text"][row]) for day, row in zip(day_texts, drawn.rows, strict=True)],
            drawn.ranks,
            told,
            self._special,
        )

    def batch(self, drawn: Sequence[Drawn]) -> Batch:
        """Lists, their lines in order, as a batch."""
        joined = [self.join(each) for each in drawn]
        ids, mask = pad([each.ids for each in joined], 32)
        kinds, _ = pad([each.kinds for each in joined], 32)
        size = len(drawn), MAX_LINES + 1
        marks, real, taught = torch.zeros(size, dtype=torch.long), torch.zeros(size), torch.zeros(size)
        answers, tells, replaced = torch.zeros(size), torch.zeros(size), torch.full(size, -1.0)
        for place, (tokens, each) in enumerate(zip(joined, drawn, strict=True)):
            own, lines = each.own, slice(1, len(each.rows) + 1)
            marks[place, : lines.stop], real[place, : lines.stop] = torch.tensor(tokens.marks), 1
            taught[place, lines] = torch.from_numpy((own & ~self.arrays["made"][each.rows]).astype(np.float32))
            for label, values, none in (
                (answers, self.answers, 0),
                (tells, self.tells, 0),
                (replaced, self.replaced, -1),
            ):
                label[place, lines] = torch.from_numpy(np.where(own, values[each.rows], none)).float()
            answers[place, 0] = not (self.answers[each.rows] * own).any()
        return Batch(ids, mask, kinds, marks, answers, tells, replaced, taught, real)

    def _text(self, number: int) -> list[int]:
        return self._pieces[number] if number >= 0 else []


class RandomBatches(IterableDataset[Batch]):
    """Batches without end. Each worker has its own random numbers."""

    def __init__(self, lists: Lists, size: int, seed: int) -> None:
        self._lists, self._size, self._seed = lists, size, seed

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        rng = np.random.default_rng([self._seed, worker.id if worker else 0])
        members = self._lists.members(measured=False)
        names, odds = shares(members)
        while True:
            drawn: list[Drawn] = []
            while len(drawn) < self._size:
                number = int(rng.choice(members[names[rng.choice(len(names), p=odds)]]))
                rows = self._some_rows(number, rng)
                if len(rows) < 2:
                    continue
                show = rng.random() > NO_RANKS
                dated_as = rows
                if rng.random() < REDATED and self._lists.may_be_redated(number, rows):
                    dated_as = rng.permutation(rows)
                if rng.random() < WITH_FOREIGN:
                    other = int(rng.choice(members[names[rng.choice(len(names), p=odds)]]))
                    drawn.append(self._with_foreign(number, rows, dated_as, other, rng, show))
                else:
                    drawn.append(self._lists.draw(number, rows, dated_as, show_ranks=show))
            yield self._lists.batch(drawn)

    def _with_foreign(
        self,
        number: int,
        rows: NDArray[np.int64],
        own_days: NDArray[np.int64],
        other: int,
        rng: np.random.Generator,
        show_ranks: bool,
    ) -> Drawn:
        """Lines of a list among some of another one, on days of its own. They answer nothing here."""
        lists, worlds = self._lists, self._lists.arrays["world"]
        foreign = lists.rows(other) if worlds[other] != worlds[number] else lists.rows(number)[:0]
        foreign = rng.permutation(foreign)[: int(rng.integers(1, MOST_FOREIGN + 1))]
        mixed, dated_as = np.concatenate([rows, foreign]), np.concatenate([own_days, rng.choice(rows, len(foreign))])
        places = np.concatenate([np.arange(len(rows)), rng.uniform(0, len(rows), len(foreign))])
        order = np.argsort(places, kind="stable")[:MAX_LINES]
        ranks = lists.ranks(number, range(len(order)), show_ranks)
        return lists.in_order(Drawn(number, mixed[order], dated_as[order], ranks, order < len(rows)))

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

"""Train the readers: a large teacher, then a reader of 12 layers, then its small students. Wants one GPU.

    python training/train.py FOLDER teacher --seconds 600     FOLDER as `prepare.py` and `weights.py` left it
    python training/train.py FOLDER large --seconds 240       begins as the base model, learns from labels and teacher
    python training/train.py FOLDER rank:large                a saved one says which lines of a timeline come first
    python training/train.py FOLDER small:6 --seconds 400     six layers of the large one, taught by both
    python training/train.py FOLDER large+small:6             both go on, on the same batches
    python training/train.py FOLDER told:small6               what a saved one says, for those that go on from it
    python training/train.py FOLDER small:6 --like before     goes on and stays near a saved one, but for askings

Each stage writes FOLDER/out/<stage>.pt, goes on with that file if it is there, and prints what it finds on questions
that took no part in training.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from model import Reader, Teacher, student_of
from timelines import SETS, Timelines
from torch import Tensor, nn
from weights import unpack

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SHARE = {
    "matters": 10,
    "worlds": 5,
    "talks": 3,
    "chats": 3,
    "helps": 3,
    "in_chats": 2.5,
    "askings": 2.5,
    "asked_again": 3,
    "friendsqa": 2,
    "molweni": 0.8,
    "qmsum": 0.8,
    "realmem": 1,
    "lifebench": 0.6,
    "rhelm": 0.4,
    "squad": 2,
    "squad2": 2,
    "swapped": 2.5,
    "asked": 3,
    "longmemeval_pool": 1.2,
    "hotpotqa_1000": 1.5,
    "2wiki_1000": 1.5,
    "musique_300": 0.8,
    "timeqa_human": 1.5,
}
"""How often questions of each set are drawn."""
KEEP = {3: [0, 5, 11], 4: [0, 4, 8, 11], 6: [0, 2, 4, 6, 8, 11]}
"""Which layers of the large reader a student begins with; student layer n follows large layer FOLLOW[n]."""
FOLLOW = {3: [3, 7, 11], 4: [2, 5, 8, 11], 6: [1, 3, 5, 7, 9, 11]}
RATE = {"teacher": 4e-5, "large": 6e-5, "small3": 2.5e-4, "small4": 2e-4, "small6": 1.5e-4}
QUESTIONS, CANDIDATES, PAIRS, TIMELINES = 32, 14, 96, 96
PAIR_SHARE = (0.38, 0.34, 0.14, 0.14)
PAIR_SOURCE = {"train": 0.2, "written": 0.15, "lives": 0.25, "beside": 0.08, "asked": 0.1, "asked_written": 0.22}
"""How often pairs of each source are drawn: made of matters, written, told by one user, texts that stand beside each
other, and those of a question."""
WRITTEN = 0.25
"""How much an earlier reader's opinion counts for what was written by hand; there the labels count in full."""
WRITTEN_SETS = ("worlds", "talks", "askings", "asked_again")


class Texts:
    """The tokens of texts on the device, and batches of two of them each."""

    def __init__(self, tokens: np.ndarray, lengths: np.ndarray, folder: Path) -> None:
        self.length = lengths.astype(np.int64)
        self.tokens = torch.from_numpy(tokens.astype(np.int32)).to(DEVICE)
        self.lengths = torch.from_numpy(self.length).to(DEVICE)
        self.starts = self.lengths.cumsum(0) - self.lengths
        pieces = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
        self.ids = [pieces[name] for name in ("[PAD]", "[CLS]", "[SEP]")]

    def batch(self, first: np.ndarray, second: np.ndarray) -> list[Tensor]:
        """Two texts each as input ids, mask, kinds, and the first token as the mark to answer at."""
        a, b = (
            torch.from_numpy(np.asarray(x, np.int64)).to(DEVICE, non_blocking=True)[:, None] for x in (first, second)
        )
        la, lb = self.lengths[a], self.lengths[b]
        longest = int((self.length[first] + self.length[second]).max()) + 3
        place = torch.arange(-(-longest // 32) * 32, device=DEVICE)[None]  # few different shapes
        last = len(self.tokens) - 1
        left = self.tokens[(self.starts[a] + place - 1).clamp(0, last)]
        right = self.tokens[(self.starts[b] + place - la - 2).clamp(0, last)]
        pad, cls, sep = self.ids
        ids = torch.where(place <= la, left, right)
        ids = torch.where(place == 0, cls, ids)
        ids = torch.where((place == la + 1) | (place == la + lb + 2), sep, ids)
        mask = place <= la + lb + 2
        ids = torch.where(mask, ids, pad)
        return [ids.long(), mask.long(), ((place > la + 1) & mask).long(), torch.zeros_like(a)]


class Data(Texts):
    """The arrays of `prepare.py`."""

    def __init__(self, folder: Path) -> None:
        held = np.load(folder / "data.npz")
        super().__init__(held["tokens"], held["lengths"], folder)
        self.names = held["names"].tolist()
        self.sets, self.flags, self.begin, self.labels = held["sets"], held["flags"], held["begin"], held["labels"]
        self.fused, self.wanted, self.asks = held["fused"], held["wanted"], held["asks"]
        self.asked, self.cands = held["asked"], held["cands"]
        self.pairs = {name.removeprefix("pairs_"): held[name] for name in held.files if name.startswith("pairs_")}
        self.pair_source = np.repeat(np.arange(len(PAIR_SOURCE)), [len(self.pairs[name]) for name in PAIR_SOURCE])
        self.pairs = {"train": np.concatenate([self.pairs.pop(name) for name in PAIR_SOURCE]), **self.pairs}
        owner = np.repeat(np.arange(len(self.asked)), np.diff(self.begin))
        self.question_of = self.asked[owner]
        by_hand = [number for number, name in enumerate(self.names) if name in WRITTEN_SETS]
        self.written = np.isin(self.sets[owner], by_hand)
        sources = [number for number, name in enumerate(PAIR_SOURCE) if name in ("written", "lives", "asked_written")]
        self.pair_written = np.isin(self.pair_source, sources)

    def in_order(self, first: np.ndarray, second: np.ndarray, parts: int) -> list[np.ndarray]:
        """Rows in a few groups of like length."""
        order = np.argsort(self.length[first] + self.length[second], kind="stable")
        return np.array_split(order, parts)


def run(
    model: nn.Module, data: Texts, first: np.ndarray, second: np.ndarray, tokens: int = 260_000
) -> tuple[np.ndarray, np.ndarray]:
    """What a model says of all these pairs: whether, and what the later does to the earlier."""
    model.eval()
    size = data.length[first] + data.length[second] + 3
    order = np.argsort(size, kind="stable")
    said, compared = np.zeros(len(first), np.float32), np.zeros((len(first), 4), np.float32)
    at = 0
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        while at < len(order):
            count = max(8, tokens // int(size[order[min(len(order) - 1, at + 4000)]]))
            rows = order[at : at + count]
            one, four, *_ = model(*data.batch(first[rows], second[rows]))
            said[rows], compared[rows] = one.float().squeeze(-1).cpu().numpy(), four.float().cpu().numpy()
            at += count
    return said, compared


def draws(data: Data, timelines: Timelines, seed: int) -> Iterator[tuple[Any, ...]]:
    """Endless batches: rows of candidates, the question each belongs to, whether its labels are known; pairs; and
    timelines."""
    rng = np.random.default_rng(seed)
    members: dict[str, list[int]] = {}
    for number, (kind, flag) in enumerate(zip(data.sets, data.flags, strict=True)):
        labels = data.labels[data.begin[number] : data.begin[number + 1]]
        if not flag & 4 and (flag & 2 or labels.any() or (not flag & 1 and len(labels) > 5)):
            members.setdefault(data.names[kind], []).append(number)
    names = [name for name in members if name in SHARE]
    odds = np.array([SHARE[name] for name in names])
    relation_of = data.pairs["train"][:, 2]
    by_source = [
        [np.flatnonzero((data.pair_source == n) & (relation_of == r)) for r in range(4)]
        for n in range(len(PAIR_SOURCE))
    ]
    source_odds = list(PAIR_SOURCE.values())
    while True:
        rows, owner, known = [], [], []
        for slot, name in enumerate(rng.choice(len(names), QUESTIONS, p=odds / odds.sum())):
            number = members[names[name]][rng.integers(len(members[names[name]]))]
            start, labels = data.begin[number], data.labels[data.begin[number] : data.begin[number + 1]]
            right, wrong = np.flatnonzero(labels), np.flatnonzero(labels == 0)
            right = rng.permutation(right)[:4]
            weight = 1 / (5 + np.arange(len(wrong)))
            count = min(len(wrong), CANDIDATES - len(right))
            chosen = rng.choice(wrong, count, replace=False, p=weight / weight.sum()) if count else wrong[:0]
            picked = np.concatenate([right, chosen])
            rows.append(start + picked)
            owner.append(np.full(len(picked), slot))
            known.append(np.full(len(picked), not data.flags[number] & 2))
        relations, sources = rng.choice(4, PAIRS, p=PAIR_SHARE), rng.choice(len(PAIR_SOURCE), PAIRS, p=source_odds)
        groups = [by_source[n][r if len(by_source[n][r]) else 0] for r, n in zip(relations, sources, strict=True)]
        pairs = np.array([group[rng.integers(len(group))] for group in groups])
        lists = timelines.batch(timelines.draw(rng, TIMELINES))
        yield np.concatenate(rows), np.concatenate(owner), np.concatenate(known), pairs, lists


def ahead(data: Data, timelines: Timelines, seed: int, workers: int = 8) -> Iterator[tuple[Any, ...]]:
    """Batches made ahead by processes of their own: a thread would hold up the one that feeds the GPU."""
    context = multiprocessing.get_context("fork")
    ready = context.Queue(4 * workers)

    def work(number: int) -> None:
        for item in draws(data, timelines, seed + 1000 * number):
            ready.put(item)

    for number in range(workers):
        context.Process(target=work, args=(number,), daemon=True).start()
    while True:
        yield ready.get()


@dataclass
class Student:
    """A model in training."""

    model: nn.Module
    rate: float
    labels: float = 1.0
    """The weight of the labels."""
    told: tuple[np.ndarray, np.ndarray] | None = None
    """What an earlier reader says of every candidate and every pair, for a model that nobody teaches."""
    followed: Reader | None = None
    """A reader whose layers the model's are to be like."""
    follow: list[int] | None = None
    """Which of them."""

    def __post_init__(self) -> None:
        self.model.to(DEVICE).train()
        self.best = torch.optim.AdamW(
            self.model.parameters(), lr=self.rate, weight_decay=0.01, betas=(0.9, 0.98), fused=DEVICE == "cuda"
        )

    def learn(self, loss: Tensor, done: float) -> None:
        """One step, when so much of the time is over."""
        for group in self.best.param_groups:
            group["lr"] = self.rate * min(done / 0.06 + 0.01, (1 - done) / 0.94 + 0.002)
        self.best.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.best.step()


class Batch:
    """What is read in one step, and what the teacher says of it, if there is one."""

    def __init__(self, data: Data, drawn: tuple[Any, ...], step: int, teacher: nn.Module | None) -> None:
        self.data = data
        self.rows, self.owner, self.known, self.pairs, lists = drawn
        self.lists = {name: _tensor(array) for name, array in lists.items()}
        asked, cands = data.question_of[self.rows], data.cands[self.rows]
        # Every batch is made equally large: a new shape costs the GPU more than some rows that do not count.
        fill = np.zeros(QUESTIONS * CANDIDATES - len(self.rows), np.int64)
        first = np.concatenate([asked, data.pairs["train"][self.pairs, 0], asked[fill]])
        second = np.concatenate([cands, data.pairs["train"][self.pairs, 1], cands[fill]])
        groups = data.in_order(first, second, 3)
        self.parts = [data.batch(first[group], second[group]) for group in groups]
        self.back = torch.from_numpy(np.argsort(np.concatenate(groups))).to(DEVICE)
        self.looked = step % len(groups)
        """The part whose layers are compared with those of another reader."""
        self.aims: tuple[Tensor, Tensor] | None = None
        self.aim_choice: Tensor | None = None
        if teacher is not None:
            with torch.no_grad():
                self.aims, _ = self.read(teacher)
                self.aim_choice, _ = choice(teacher, self.lists)

    def read(self, model: nn.Module, *, states: bool = False) -> tuple[tuple[Tensor, Tensor], list[Tensor]]:
        """What a model says of the candidates and of the pairs, and its layers for one part."""
        said, compared, layers = [], [], []
        with torch.autocast(DEVICE, torch.bfloat16):
            for number, part in enumerate(self.parts):
                wanted = {"states": layers} if states and number == self.looked else {}
                one, four, *_ = model(*part, **wanted)
                said.append(one.float().squeeze(-1))
                compared.append(four.float())
        count, pairs = len(self.rows), len(self.pairs)
        return (torch.cat(said)[self.back][:count], torch.cat(compared)[self.back][count : count + pairs]), layers


def train(
    students: list[Student],
    data: Data,
    timelines: Timelines,
    *,
    seconds: float,
    taught_by: nn.Module | None = None,
    seed: int = 7,
) -> None:
    """Train for so long, all on the same batches: what the teacher says of a batch is read once for all of them."""
    began, step, shown = time.time(), 0, []
    for drawn in ahead(data, timelines, seed):
        done = (time.time() - began) / seconds
        if done >= 1:
            break
        batch = Batch(data, drawn, step, taught_by)
        for student in students:
            loss = _loss(student, batch)
            student.learn(loss, done)
            shown.append(loss.detach())
        step += 1
        if step % 500 == 0:
            print(f"  step {step} loss {_recent(shown, students)} {time.time() - began:.0f}s", flush=True)
    print(f"  {step} steps, loss {_recent(shown, students)}", flush=True)
    for student in students:
        student.model.eval()


def _recent(shown: list[Tensor], students: list[Student]) -> str:
    """The mean loss of the last steps, of each student."""
    last = torch.stack(shown[-200 * len(students) :]).view(-1, len(students)).mean(0)
    return " ".join(f"{each:.3f}" for each in last.tolist())


def _loss(student: Student, batch: Batch) -> Tensor:
    """How far a student is from the labels, and from its teacher."""
    data, pairs = batch.data, batch.pairs
    (logits, relation), layers = batch.read(student.model, states=student.followed is not None)
    written = _tensor(data.pair_written[pairs])
    right = F.cross_entropy(relation, _tensor(data.pairs["train"][pairs, 2]).long(), reduction="none")
    loss = 0.5 * (right * torch.where(written, 1.0, student.labels)).mean()
    if student.followed is not None and student.follow is not None:
        loss = loss + _apart(layers, student.followed, batch.parts[batch.looked], student.follow)
    aims = batch.aims
    if aims is None and student.told is not None:
        aims = _tensor(student.told[0][batch.rows]), _tensor(student.told[1][pairs])
    loss = loss + _answer_loss(logits, batch, student.labels, None if aims is None else aims[0])
    loss = loss + _choice_loss(student.model, batch)
    if aims is not None:
        aim = F.log_softmax(aims[1], 1)
        apart_by = F.kl_div(F.log_softmax(relation, 1), aim, log_target=True, reduction="none").sum(1)
        loss = loss + 0.5 * (apart_by * torch.where(written, WRITTEN, 1.0)).mean()
    return loss


def _answer_loss(logits: Tensor, batch: Batch, labels: float, aim: Tensor | None) -> Tensor:
    """Each right candidate before all wrong ones, each probability right in itself, and both like the teacher's."""
    data, rows, owner = batch.data, batch.rows, batch.owner
    place = np.arange(len(rows)) - np.searchsorted(owner, owner)
    where = _tensor(owner).long(), _tensor(place).long()
    empty = logits.new_full((QUESTIONS, CANDIDATES + 4), -1e4)
    grid = empty.index_put(where, logits)
    label = _tensor(data.labels[rows].astype(np.float32))
    written = _tensor(data.written[rows])
    trust = torch.where(written, 1.0, labels)
    marks = torch.zeros_like(empty).index_put(where, label)
    wrong = torch.logsumexp(grid.masked_fill(marks > 0, -1e4), 1, keepdim=True)
    ranked = F.softplus(wrong - grid) * torch.zeros_like(empty).index_put(where, label * trust)
    sure = _tensor(batch.known.astype(np.float32))
    each = F.binary_cross_entropy_with_logits(logits, label, reduction="none") * trust
    loss = 0.6 * ranked.sum() / marks.sum().clamp(min=1) + 1.5 * (each * sure).sum() / sure.sum().clamp(min=1)
    if aim is not None:
        asks = _tensor(data.asks[rows])  # of these no earlier reader has an opinion that counts
        grid = empty.index_put(where, logits.masked_fill(asks, -1e4))
        target = empty.index_put(where, aim.masked_fill(asks, -1e4))
        follows = torch.where(written, WRITTEN, 1.0)
        likeness = F.kl_div(F.log_softmax(grid, 1), F.log_softmax(target, 1), log_target=True, reduction="none").sum(1)
        of_question = torch.ones(QUESTIONS, device=DEVICE).index_put((where[0],), follows)
        each = F.binary_cross_entropy_with_logits(logits, torch.sigmoid(aim), reduction="none")
        follows = follows.masked_fill(asks, 0.0)
        loss = loss + (likeness * of_question).mean() + 2 * (each * follows).mean()
        loss = loss + 0.05 * ((logits - aim) ** 2 * follows).mean()
    return loss


def choice(model: nn.Module, lists: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The log probability of each line of timelines, and first that of none; and whether each tells the matter."""
    with torch.autocast(DEVICE, torch.bfloat16):
        *_, logits, tells = model(*(lists[name] for name in ("ids", "mask", "kinds", "marks")))
    return torch.log_softmax(logits.float().masked_fill(~lists["real"], -1e4), 1), tells.float()


def _choice_loss(model: nn.Module, batch: Batch) -> Tensor:
    """One of the right lines is chosen, all are as likely as the teacher says, and it is known which ones tell the
    matter: that is learned sooner, and needed for the choice."""
    lists = batch.lists
    chosen, tells = choice(model, lists)
    asks = lists["asks"]
    right = -torch.logsumexp(chosen.masked_fill(~lists["right"], -1e4), 1)
    lines = lists["real"].clone()
    lines[:, 0] = False
    told = F.binary_cross_entropy_with_logits(tells[lines], lists["tells"][lines].float())
    if batch.aim_choice is None:
        return right.mean() + told
    likeness = F.kl_div(chosen, batch.aim_choice, log_target=True, reduction="none").sum(1)
    return torch.where(asks, right, 0.5 * right + likeness).mean() + 0.5 * told


def measure_choice(model: nn.Module, timelines: Timelines) -> None:
    """How often the right line of a timeline is chosen, and how well "none of them" is told."""
    model.eval()
    for name in ("unseen_matters", "unseen_askings", "strangers"):
        members = timelines.members[SETS.index(name)]
        kinds, right, stale, known, confident = timelines.kinds[members], [], [], [], []
        for part in np.array_split(members, -(-len(members) // 64)):
            drawn = [(int(number), timelines.first(int(number))) for number in part]
            with torch.no_grad():
                lists = {key: _tensor(array) for key, array in timelines.batch(drawn).items()}
                chosen = choice(model, lists)[0].cpu().numpy()
            for (number, rows), row in zip(drawn, chosen, strict=True):
                picked = rows[row[1 : len(rows) + 1].argmax()]
                right.append(timelines.labels[picked])
                stale.append(timelines.tells[picked] and not timelines.labels[picked])
                known.append(timelines.labels[timelines.begin[number] : timelines.begin[number + 1]].any())
                confident.append(-row[0])
        right, stale, known, confident = map(np.array, (right, stale, known, confident))
        each = [
            f"{k} {100 * right[known & (kinds == k)].mean():.1f}"
            for k in sorted(set(kinds))
            if (known & (kinds == k)).any()
        ]
        area = _area(confident[known].tolist(), confident[~known].tolist())
        print(
            f"  timelines of {name}: right {100 * right[known].mean():.1f}, stale {100 * stale[known].mean():.1f}, "
            f"AUC {area:.3f}; {', '.join(each)}",
            flush=True,
        )


def _apart(mine: list[Tensor], followed: Reader, batch: list[Tensor], follow: list[int]) -> Tensor:
    """How far the layers are from those they follow."""
    theirs: list[Tensor] = []
    with torch.no_grad():
        followed(*batch, states=theirs)
    real = batch[1].unsqueeze(-1).float()
    total = torch.zeros((), device=DEVICE)
    for number, layer in enumerate(follow):
        aim = theirs[layer].float()
        weight = real if aim.shape[1] > 1 else real[:, :1]
        gap = ((mine[number].float() - aim) ** 2 * weight).sum() / weight.sum() / aim.shape[-1]
        total = total + gap / (aim.var() + 1e-6) / len(follow)
    return total


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(DEVICE, non_blocking=True)


def measure(model: nn.Module, data: Data) -> None:
    """What a reader does on questions that took no part in training."""
    measured = np.flatnonzero(data.flags & 4)
    rows = np.concatenate([np.arange(data.begin[n], data.begin[n + 1]) for n in measured])
    said = np.zeros(len(data.cands), np.float32)
    said[rows] = run(model, data, data.question_of[rows], data.cands[rows])[0]
    for kind, name in enumerate(data.names):
        mine = [n for n in measured if data.sets[n] == kind]
        if not mine:
            continue
        shown = []
        best = {True: [], False: []}
        for n in mine:
            part = slice(data.begin[n], data.begin[n + 1])
            labels, logits, fused = data.labels[part], said[part], data.fused[part]
            best[bool(data.flags[n] & 1)].append(logits[:24].max() if len(logits) else -9.0)
            if not labels.any() and not data.wanted[n]:
                continue
            if not data.flags[n] & 1:
                continue
            wanted = data.wanted[n] or labels.sum()
            probability = 1 / (1 + np.exp(-logits))
            found = []
            for read in (0, 16, 24):
                mixed = fused / max(fused.max(), 1e-9) if fused.any() else np.zeros_like(fused)
                if read:
                    mixed = 0.55 * mixed - (np.arange(len(mixed)) >= read) * 10
                    mixed[:read] += 0.45 * probability[:read]
                order = np.argsort(-mixed, kind="stable")
                found += [labels[order[:5]].sum() / wanted]
            order = np.argsort(-logits, kind="stable")
            shown.append([*found, labels[order[0]], labels[order[:5]].sum() / wanted])
        mean = 100 * np.mean(shown, 0)
        area = _area(best[True], best[False]) if best[False] else float("nan")
        print(
            f"  {name:18s} R@5 fused {mean[0]:.1f}, reading 16 {mean[1]:.1f}, 24 {mean[2]:.1f}, alone {mean[4]:.1f}; "
            f"first right {mean[3]:.1f}; AUC {area:.3f} ({len(shown)})",
            flush=True,
        )
    for name, pairs in data.pairs.items():
        if name != "train" and len(pairs):
            got = run(model, data, pairs[:, 0], pairs[:, 1])[1].argmax(1)
            right = [f"{100 * (got[pairs[:, 2] == r] == r).mean():.0f}" for r in range(4) if (pairs[:, 2] == r).any()]
            print(f"  pairs of unseen {name}: none/replaces/extends/ends right in {'/'.join(right)}%", flush=True)


def _area(high: list[float], low: list[float]) -> float:
    a, b = np.array(high)[:, None], np.array(low)[None]
    return float((a > b).mean() + 0.5 * (a == b).mean())


def load(path: Path) -> Reader:
    """A reader that was saved."""
    held = torch.load(path, map_location="cpu")
    reader = Reader(**held["shape"])
    reader.load_state_dict({name: value.float() for name, value in held["state"].items()}, strict=False)
    return reader


def rank_lines(reader: Reader, timelines: Timelines, folder: Path) -> None:
    """Write down how probable an answer each line of a timeline is by itself."""
    texts = Texts(timelines.tokens, timelines.lengths, folder)
    asked = np.repeat(timelines.asked, np.diff(timelines.begin))
    said = run(reader.to(DEVICE), texts, asked, timelines.lines)[0]
    np.save(folder / "out" / "line_answers.npy", said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "stage", help="teacher, large, small:3, small:4, small:6, several as large+small:6; rank:NAME, told:NAME"
    )
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--like", help="the saved reader that teaches, if no teacher was saved")
    parser.add_argument("--rate", type=float, help="the rate of learning, in place of the one of the stage")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    began, folder, out = time.time(), options.folder, options.folder / "out"
    out.mkdir(exist_ok=True)
    timelines = Timelines(folder)
    stage, _, of = options.stage.partition(":")
    if stage == "rank":
        rank_lines(load(out / f"{of}.pt"), timelines, folder)
        return
    if (out / "line_answers.npy").exists():
        timelines.answers = np.load(out / "line_answers.npy")
    data = Data(folder)
    print(f"{options.stage}: data ready after {time.time() - began:.0f}s", flush=True)
    if stage == "told":
        write_told(load(out / f"{of}.pt").to(DEVICE), data, out / f"told_{of}.npz")
        return
    names = [each.replace(":", "") for each in options.stage.split("+")]
    students = train_stage(names, data, timelines, options)
    for name, student in zip(names, students, strict=True):
        model = student.model
        state = {key: value.detach().half().cpu() for key, value in model.state_dict().items()}
        torch.save({"shape": getattr(model, "shape", {}), "state": state}, out / f"{name}.pt")
        if name == "large" and not (out / "teacher.pt").exists():
            write_told(model, data, out / f"told_{name}.npz")
        print(f"{name}:", flush=True)
        measure(model, data)
        measure_choice(model, timelines)
    print(f"{options.stage}: done after {time.time() - began:.0f}s", flush=True)


def train_stage(names: list[str], data: Data, timelines: Timelines, options: argparse.Namespace) -> list[Student]:
    """The models of a stage trained, taught by what the stages before left in the folder: the teacher, or what an
    earlier reader says of questions and pairs."""
    out = options.folder / "out"
    taught_by: nn.Module | None = None
    if names != ["teacher"] and (out / "teacher.pt").exists():
        taught_by = load_teacher(out / "teacher.pt", options.folder)
    elif options.like:
        taught_by = load(out / f"{options.like}.pt").to(DEVICE).eval()
    students = [begin(name, options, is_taught=taught_by is not None) for name in names]
    train(students, data, timelines, seconds=options.seconds, taught_by=taught_by, seed=options.seed)
    return students


def begin(name: str, options: argparse.Namespace, *, is_taught: bool) -> Student:
    """A model as it begins a stage. A small one that begins anew follows the layers of the large one."""
    folder: Path = options.folder
    out, model = folder / "out", first_weights(name, folder)
    if name == "teacher":
        return Student(model, options.rate or RATE[name])
    begins = not (out / f"{name}.pt").exists()
    rate = options.rate or RATE[name] * (1.0 if begins else 0.7)
    student = Student(model, rate, labels=0.4 if is_taught else 1.0)
    parts = [np.load(file) for file in sorted(out.glob("told_*.npz"))] if not is_taught else []
    if parts:
        mean = {key: sum(part[key] for part in parts) / len(parts) for key in ("said", "compared")}
        student.told, student.labels = (mean["said"], mean["compared"]), 0.4
    if name != "large" and begins:
        student.followed = load(out / "large.pt").to(DEVICE).eval()
        student.follow, student.labels = FOLLOW[int(name.removeprefix("small"))], 0.3
    return student


def write_told(model: nn.Module, data: Data, path: Path) -> None:
    """Write down what a reader says of all candidates and pairs."""
    said = run(model, data, data.question_of, data.cands)[0]
    compared = run(model, data, data.pairs["train"][:, 0], data.pairs["train"][:, 1])[1]
    np.savez(path, said=said, compared=compared)


def first_weights(name: str, folder: Path) -> nn.Module:
    """The model that a stage begins with."""
    saved = folder / "out" / f"{name}.pt"
    if name == "teacher":
        return load_teacher(saved, folder)
    if saved.exists():
        return load(saved)
    if name == "large":
        held = {key: torch.from_numpy(value) for key, value in unpack(folder / "base.npz").items()}
        reader = Reader(words=len(held["words.weight"]))
        print("  not in the base model:", reader.load_state_dict(held, strict=False).missing_keys)
        return reader
    return student_of(load(folder / "out" / "large.pt"), KEEP[int(name.removeprefix("small"))])


def load_teacher(saved: Path, folder: Path) -> Teacher:
    """The teacher as it was saved, or as it begins."""
    if saved.exists():
        held = {key: value.float() for key, value in torch.load(saved, map_location="cpu")["state"].items()}
    else:
        packed = unpack(folder / "teacher_1.npz", folder / "teacher_2.npz")
        held = {key: torch.from_numpy(value) for key, value in packed.items()}
    teacher = Teacher(len(held["words.weight"]))
    teacher.load_state_dict(held, strict=False)
    return teacher.to(DEVICE).eval()


if __name__ == "__main__":
    main()

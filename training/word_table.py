"""Trains the table of the fast embedder: a vector for each word piece, so that questions are near their answers.

    python -m training.word_table FOLDER --candidates CANDIDATES

Begins with the table of the `wordllama` wheel (MIT), its longest vectors shortened and its mean subtracted. A question
(`training.material.questions`) has to be nearer to what answers it than to its other candidates and to those of the
other questions of its batch; a small weight draws each vector back to where it began, and the tables of six seeds are
averaged. FOLDER/pieces.npz is then the file of `src/remanence/models/word_table`. It takes a minute on one GPU and
about a quarter of an hour on two cores. It needs torch, wordllama and safetensors.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from training.material.files import DEVELOPMENT_SETS, PUBLIC_QUESTIONS
from training.material.questions import read_questions

from remanence.recall.question import in_first_person

SHARES = {
    "matters": 8, "worlds": 3, "talks": 3, "friendsqa": 2, "molweni": 1, "qmsum": 1, "realmem": 1, "squad": 3,
    "squad2": 2, "longmemeval_pool": 1, "hotpotqa_1000": 1, "2wiki_1000": 1, "musique_300": 0.6, "timeqa_human": 1,
    "lifebench": 0.5,
}  # fmt: skip
"""How often a question of each set is drawn. LoCoMo, RealTalk and BEAM are measured only."""
MAX_LENGTH = 15.0  # of a vector to begin with: else one rare name would determine the vector of its sentence
FIRST_WORD = 259  # the pieces before it are control marks and single bytes
STEPS, RATE, PULL, SCALE, SEEDS = 800, 0.005, 0.1, 16.0, (11, 12, 13, 14, 15, 16)
QUESTIONS, CANDIDATES, RIGHT = 192, 12, 3  # in a batch, of a question, and of those the most that answer it
TRAINED_PIECES, MEASURED_PIECES = 64, 160


class Packs:
    """Questions with candidates, as numbers of texts, and the texts as pieces."""

    def __init__(self, packs: Sequence[dict[str, Any]], tokenizer: Tokenizer, device: str) -> None:
        self._tokenizer, self._numbers, self._texts = tokenizer, dict[str, int](), list[list[int]]()
        self.questions = [self._number(_question(pack)) for pack in packs]
        self.candidates = [np.array([self._number(each["t"]) for each in pack["cands"]]) for pack in packs]
        self.right = [
            np.array([bool(each["y"]) and pack.get("answerable", True) for each in pack["cands"]]) for pack in packs
        ]
        self.sets = [pack["set"] for pack in packs]
        self.measured = [bool(pack.get("measure")) for pack in packs]
        lengths = np.array([len(pieces) for pieces in self._texts])
        self._pieces = torch.tensor([piece for pieces in self._texts for piece in pieces], device=device)
        self._lengths = torch.from_numpy(lengths).to(device)
        self._starts = torch.from_numpy(lengths.cumsum() - lengths).to(device)

    def embed(self, texts: np.ndarray, table: torch.Tensor, most: int) -> torch.Tensor:
        """The unit vectors of these texts, of which the first pieces count."""
        numbers = torch.as_tensor(texts, device=table.device)
        lengths = self._lengths[numbers].clamp(max=most)
        offsets = lengths.cumsum(0) - lengths
        places = torch.repeat_interleave(self._starts[numbers] - offsets, lengths)
        places = places + torch.arange(len(places), device=table.device)
        return F.normalize(F.embedding_bag(self._pieces[places], table, offsets, mode="sum"), dim=1, eps=1e-6)

    def _number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self._texts)
            words = text.split(" ")[:MEASURED_PIECES]
            encoded = self._tokenizer.encode_batch(words, add_special_tokens=False)
            self._texts.append([piece for word in encoded for piece in word.ids][:MEASURED_PIECES])
        return self._numbers[text]


def train(packs: Packs, start: torch.Tensor, seed: int) -> torch.Tensor:
    """The table after training."""
    rng = np.random.default_rng(seed)
    own = [n for n, measured in enumerate(packs.measured) if not measured]
    members = {name: [n for n in own if packs.sets[n] == name and packs.right[n].any()] for name in SHARES}
    names = [name for name in SHARES if members[name]]
    odds = np.array([SHARES[name] for name in names])
    table = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.Adam([table], lr=RATE, betas=(0.9, 0.98))
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = RATE * min(1, step / STEPS / 0.05 + 0.02) * (1 - step / STEPS)
        drawn = [rng.choice(members[names[k]]) for k in rng.choice(len(names), QUESTIONS, p=odds / odds.sum())]
        chosen = [_choose(packs.right[n], rng) for n in drawn]
        texts = np.concatenate([packs.candidates[n][rows] for n, rows in zip(drawn, chosen, strict=True)])
        right = np.concatenate([packs.right[n][rows] for n, rows in zip(drawn, chosen, strict=True)])
        owner = np.repeat(np.arange(QUESTIONS), [len(rows) for rows in chosen])
        questions = packs.embed(np.array([packs.questions[n] for n in drawn]), table, TRAINED_PIECES)
        logits = SCALE * questions @ packs.embed(texts, table, TRAINED_PIECES).T
        aims = torch.zeros_like(logits)
        aims[torch.from_numpy(owner[right]), torch.from_numpy(np.flatnonzero(right))] = 1
        loss = -((aims * F.log_softmax(logits, 1)).sum(1) / aims.sum(1)).mean()
        loss = loss + PULL * ((table - start) ** 2).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return table.detach()


def measure(packs: Packs, table: torch.Tensor) -> str:
    """R@5 and R@10 of the vectors alone, among the candidates of the questions that were left out."""
    shown = []
    for name in sorted({each for each, measured in zip(packs.sets, packs.measured, strict=True) if measured}):
        scores = []
        for n, each in enumerate(packs.sets):
            if each == name and packs.measured[n] and packs.right[n].any():
                question = packs.embed(np.array([packs.questions[n]]), table, MEASURED_PIECES)
                near = (packs.embed(packs.candidates[n], table, MEASURED_PIECES) @ question[0]).cpu().numpy()
                ordered = packs.right[n][np.argsort(-near)]
                scores.append([ordered[:5].sum() / ordered.sum(), ordered[:10].sum() / ordered.sum()])
        shown.append("{} {:.1f}/{:.1f}".format(name, *(100 * np.mean(scores, axis=0))))
    return "  ".join(shown)


def main() -> None:
    """Read, train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--candidates", type=Path, help="recall's candidates for the development sets")
    parser.add_argument("--data", type=Path, default=DEVELOPMENT_SETS, help="the development sets")
    parser.add_argument("--public", type=Path, nargs="*", default=[PUBLIC_QUESTIONS], help="questions of public data")
    parser.add_argument("--questions", type=int, default=42_000, help="how many are made of the matters")
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    wheel = Path(next(iter(importlib.util.find_spec("wordllama").submodule_search_locations)))
    tokenizer = Tokenizer.from_file(str(wheel / "tokenizers/l2_supercat_tokenizer_config.json"))
    vectors = load_file(wheel / "weights/l2_supercat_256.safetensors")["embedding.weight"].astype(np.float32)
    vectors *= np.minimum(1, MAX_LENGTH / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6))
    start = torch.from_numpy(vectors - vectors[FIRST_WORD:].mean(axis=0)).to(device)
    questions = list(read_questions(given.questions, given.public, given.candidates, given.data))
    packs = Packs(questions, tokenizer, device)
    print("before", measure(packs, start))
    table = torch.stack([train(packs, start, seed) for seed in SEEDS]).mean(0)
    print("after ", measure(packs, table))
    made = table.cpu().numpy()
    scales = np.abs(made).max(axis=1) / 127
    scales[scales == 0] = 1
    given.folder.mkdir(parents=True, exist_ok=True)
    np.savez(given.folder / "pieces.npz", vectors=np.rint(made / scales[:, None]).astype(np.int8), scales=scales)


def _question(pack: dict[str, Any]) -> str:
    """The question, in the first person where it names a speaker: so it is embedded in recall."""
    speakers = {each["s"] for each in pack["cands"] if each.get("s")} - {"user", "assistant"}
    names = [
        name for name in {*speakers, *(name.split()[0] for name in speakers)} if len(name) > 2 and name in pack["q"]
    ]
    return in_first_person(pack["q"], sorted(names, key=len, reverse=True)) if names else pack["q"]


def _choose(right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    answers, others = rng.permutation(np.flatnonzero(right))[:RIGHT], rng.permutation(np.flatnonzero(~right))
    return np.concatenate([answers, others])[:CANDIDATES]


if __name__ == "__main__":
    main()

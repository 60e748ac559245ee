"""Fit the weights of `remanence.space.prompt_need`: whether a message needs memory, in a space that may have some.

    python training/prompt_need.py     prints the weights, and how well they tell messages of files they did not see

Questions about benchmarks/worlds (a, b and e) are asked in their worlds, and so are messages of strangers that need no
memory (benchmarks/cases). The weights are asked of the worlds and messages to develop answers on.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))

import answers  # noqa: E402
import unseen  # noqa: E402
from remanence import Space  # noqa: E402
from remanence.space.prompt_need import need_of  # noqa: E402

MESSAGES = 25
"""Messages without a need that are asked in each world."""
RIDGE = 0.01


def main() -> None:
    dice = random.Random(5)
    seen = [
        row
        for half in ("develop", "writers")
        for row in rows(unseen.read_worlds(half), unseen, silent("dev second"), dice)
    ]
    new = list(rows(answers.read_worlds("dev"), answers, silent("report third"), dice))
    weights = fit(*split(seen))
    print("words, nearer, names, bias:", weights.round(2))
    for name, given in (("learned from", seen), ("new", new)):
        numbers, needed = split(given)
        chance = 1 / (1 + np.exp(-np.c_[numbers, np.ones(len(numbers))] @ weights))
        yes, no = chance[needed == 1], chance[needed == 0]
        print(f"{name}: AUC {(yes[:, None] > no).mean():.3f}")
        for least in (0.2, 0.3, 0.4, 0.5):
            print(f"  at {least}: {(yes >= least).mean():.0%} that need it, {(no < least).mean():.0%} of the others")


def silent(files: str) -> list[str]:
    """Messages that need no memory."""
    found = []
    for name in files.split():
        cases = HERE.parent / "benchmarks" / "cases"
        found += [row["message"] for row in read(cases / f"needs.{name}.jsonl") if not row["needs"]]
        if (cases / f"asking.{name}.jsonl").exists() and name in ("dev", "second"):
            found += [text for case in read(cases / f"asking.{name}.jsonl") for text in case["small_talk"]]
    return found


def rows(worlds: Any, module: Any, messages: list[str], dice: random.Random) -> Iterator[tuple[tuple[float, ...], int]]:
    """What says that each question, or message, needs memory, and whether it does."""
    for world in worlds:
        with module.open_world(world, reader=None) as space:
            for asked in world["questions"]:
                yield need(space, asked["q"], asked["asked_at"]), 1
            for text in dice.sample(messages, MESSAGES):
                yield need(space, text, world["questions"][0]["asked_at"]), 0


def need(space: Space, message: str, now: str) -> tuple[float, ...]:
    return need_of(message, (), space.recall(message, limit=30, now=now, informative_only=True, reader="none"))


def split(given: list[tuple[tuple[float, ...], int]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.array([numbers for numbers, _ in given]), np.array([needed for _, needed in given], np.float64)


def fit(numbers: NDArray[np.float64], needed: NDArray[np.float64]) -> NDArray[np.float64]:
    """A logistic regression by Newton's method; both kinds count the same."""
    given = np.c_[numbers, np.ones(len(numbers))]
    share = np.where(needed == 1, 0.5 / needed.mean(), 0.5 / (1 - needed.mean()))
    weights = np.zeros(given.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-given @ weights))
        slope = given.T @ (share * (chance - needed)) + RIDGE * weights
        curve = (given * (share * chance * (1 - chance))[:, None]).T @ given + RIDGE * np.eye(len(weights))
        weights -= np.linalg.solve(curve, slope)
    return weights


def read(file: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, file.read_text("utf-8").splitlines())


if __name__ == "__main__":
    main()

"""Learn the weights of `remanence.language.recall_need` from labelled messages (training/messages), and from those
messages of training/chats that are known to need a memory.

    python training/recall_need.py             write the weights
    python training/recall_need.py --check     only print how well they tell messages of files they did not see

A logistic regression over words and pairs of words that occur at least three times.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.language.recall_need import CONSTANT, WEIGHTS_FILE, message_features

MESSAGES, CHATS = Path(__file__).with_name("messages"), Path(__file__).with_name("chats")
LEAST_COUNT, RIDGE, STEPS = 3, 1.0, 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="print figures and write nothing")
    files = read_messages()
    if parser.parse_args().check:
        for name in sorted(files):
            others = [row for other, rows in files.items() if other != name for row in rows]
            report(name, learn(others), files[name])
        return
    weights = learn([row for name in sorted(files) for row in files[name]])
    lines = [f"{feature}\t{weight:.3f}" for feature, weight in sorted(weights.items())]
    WEIGHTS_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_messages() -> dict[str, list[dict[str, Any]]]:
    """The labelled messages by file."""
    files = {file.stem: [*map(json.loads, file.read_text("utf-8").splitlines())] for file in MESSAGES.glob("*.jsonl")}
    for file in CHATS.glob("helps*.jsonl"):
        users = map(json.loads, file.read_text("utf-8").splitlines())
        asked = [message["text"] for user in users for message in user["messages"] if message["helps"]]
        files[file.stem] = [{"message": text, "needs": True} for text in asked]
    return files


def learn(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The weight of each feature."""
    features = [message_features(row["message"]) for row in rows]
    counts = Counter(feature for each in features for feature in each)
    names = [*sorted(feature for feature, count in counts.items() if count >= LEAST_COUNT), CONSTANT]
    given = matrix(features, names)
    needs = np.array([row["needs"] for row in rows], np.float64)
    share = np.where(needs == 1, 0.5 / needs.mean(), 0.5 / (1 - needs.mean()))  # both kinds count the same
    weights, ridge = np.zeros(len(names)), RIDGE * np.eye(len(names))
    ridge[-1, -1] = 1e-6
    for _ in range(STEPS):
        odds = 1 / (1 + np.exp(-given @ weights))
        gradient = given.T @ (share * (odds - needs)) + ridge @ weights
        weights -= np.linalg.solve((given * (share * odds * (1 - odds))[:, None]).T @ given + ridge, gradient)
    return dict(zip(names, weights.tolist(), strict=True))


def matrix(features: Sequence[set[str]], names: Sequence[str]) -> NDArray[np.float64]:
    return np.array([[name in each or name == CONSTANT for name in names] for each in features], np.float64)


def report(name: str, weights: dict[str, float], rows: Sequence[dict[str, Any]]) -> None:
    scores = matrix([message_features(row["message"]) for row in rows], [*weights]) @ [*weights.values()]
    needs = np.array([row["needs"] for row in rows])
    needed, other = scores[needs], scores[~needs]
    told = (
        f", skipped {(other <= 0).mean():.0%}, AUC {(needed[:, None] > other[None]).mean():.3f}" if len(other) else ""
    )
    print(f"{name}: kept {(needed > 0).mean():.0%}{told}")


if __name__ == "__main__":
    main()

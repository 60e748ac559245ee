"""Learn the weights of `remanence.models.message_words` from messages that people labelled: which need a memory
(training/messages, and those of training/chats that are known to need one), and which tell something to remember
(../shared/chats with the turns before them, training/turns, training/askings, and half of the texts in training/worlds,
training/lives and the memories of training/chats, which all tell something); and from training/chats: which questions
refer to the turns before them.

    python training/message_words.py             write the weights
    python training/message_words.py --check     only print how well they tell messages of files they did not see

A logistic regression over words and pairs of words that occur at least three times; for the need of a memory also one
over the vector of the default embedder, whose log odds are added.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.models.embedders import sentence_embedder
from remanence.models.message_words import CONSTANT, message_features, turn_features, weights_file

HERE = Path(__file__).parent
PEOPLE = HERE.parents[1] / "shared" / "chats"
LEARNED = "ab"
"""The files of ../shared/chats that are learned from; the others are for reporting."""
LEAST_COUNT, LEAST_WEIGHT, STEPS = 3, 0.05, 600
RIDGE = {"need_of_memory": 1.0, "tells": 4.0, "follow_up": 1.0}


class Message(NamedTuple):
    """A message, and whether the label holds for it."""

    text: str
    holds: bool
    before: str | None = None
    """The turn before it, "" if there is none; None if turns before it say nothing about the label."""
    weight: float = 1.0

    @property
    def features(self) -> set[str]:
        return message_features(self.text) if self.before is None else turn_features(self.text, self.before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="print figures and write nothing")
    check = parser.parse_args().check
    labels = {
        "need_of_memory": messages_with_needs(),
        "tells": turns_with_labels(),
        "follow_up": questions_after_turns(),
    }
    for label, files in labels.items():
        for name in sorted(files) if check else ():
            others = [row for other, rows in files.items() if other != name for row in rows]
            report(f"{label}, {name}", learn(others, RIDGE[label]), files[name])
        if check and label == "tells":
            weights = learn([row for rows in files.values() for row in rows], RIDGE[label])
            report("tells, c (only reported)", weights, list(turns_of_people("c")))
        if label == "need_of_memory":
            learn_vectors(files, check=check)
        if not check:
            weights = learn([row for name in sorted(files) for row in files[name]], RIDGE[label])
            lines = [f"{feature}\t{weight:.2f}" for feature, weight in sorted(weights.items())]
            weights_file(label).write_text("\n".join(lines) + "\n", encoding="utf-8")


def messages_with_needs() -> dict[str, list[Message]]:
    """The messages by file, and whether each needs a memory."""
    files = {
        file.stem: [Message(row["message"], row["needs"]) for row in read(file)]
        for file in (HERE / "messages").glob("*.jsonl")
    }
    for file in (HERE / "chats").glob("helps*.jsonl"):
        asked = [message["text"] for user in read(file) for message in user["messages"] if message["helps"]]
        files[file.stem] = [Message(text, True) for text in asked]
    return files


def turns_with_labels() -> dict[str, list[Message]]:
    """The turns by file, and whether each tells something to remember. What people wrote to an assistant, with the turn
    before it, counts most."""
    files = {name: list(turns_of_people(name)) for name in LEARNED}

    def told(text: str, tells: bool = True) -> Message:
        return Message(text, tells, "", 0.4)

    for file in (HERE / "turns").glob("*.jsonl"):
        files[f"turns of {file.stem}"] = [
            told(row["text"], row["label"] not in ("asks", "neither")) for row in read(file)
        ]
    for file in (HERE / "askings").glob("*.jsonl"):
        rows = [*read(file)]
        asks = [told(text, False) for row in rows for text in row["asks"]]
        files[f"askings of {file.stem}"] = [*asks, *(told(row["tells"]) for row in rows)]
    worlds = [world for file in sorted((HERE / "worlds").glob("*.jsonl")) for world in read(file)]
    texts = [memory["text"] for world in worlds for memory in world["memories"]]
    files["worlds"] = [told(text) for text in texts[::2]]
    for file in (HERE / "lives").glob("*.jsonl"):
        files[f"lives of {file.stem}"] = [told(each["said"]) for life in read(file) for each in life["told"]]
    for file in (HERE / "chats").glob("*.jsonl"):
        files[file.stem] = [told(text) for chat in read(file) for text in chat["memories"]]
    return files


def turns_of_people(name: str) -> Iterator[Message]:
    """The turns of the users in a file of ../shared/chats."""
    for person in read(PEOPLE / f"{name}.jsonl"):
        for session in person["sessions"]:
            before = ""
            for turn in session["turns"]:
                if turn["role"] == "user":
                    yield Message(turn["text"], bool(turn["facts"]), before, 3.0)
                before = turn["text"]


def questions_after_turns() -> dict[str, list[Message]]:
    """The questions by file, and whether each refers to the turns before it. Those about worlds and lives stand alone,
    and so do the same questions in other words."""
    files: dict[str, list[Message]] = {}
    for file in (HERE / "chats").glob("follow*.jsonl"):
        rows = [*read(file)]
        alone = [Message(row["alone"], False) for row in rows if row["alone"]]
        files[file.stem] = [*(Message(row["question"], True) for row in rows), *alone]
    for file in (HERE / "worlds").glob("*.jsonl"):
        asked = [question["q"] for world in read(file) for question in world["questions"]]
        files[file.stem] = [Message(text, False, weight=0.3) for text in asked[::3]]
    files["messages"] = [
        Message(row.text, False) for rows in messages_with_needs().values() for row in rows if row.holds
    ]
    return files


def read(file: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, file.read_text("utf-8").splitlines())


def learn(rows: Sequence[Message], ridge: float) -> dict[str, float]:
    """The weight of each feature, by accelerated gradient descent."""
    features = [row.features for row in rows]
    counts = Counter(feature for each in features for feature in each)
    names = [*sorted(feature for feature, count in counts.items() if count >= LEAST_COUNT), CONSTANT]
    given = Matrix(features, names)
    holds = np.array([row.holds for row in rows], np.float64)
    weight = np.array([row.weight for row in rows])
    mean = float((holds * weight).sum() / weight.sum())
    share = weight * np.where(holds == 1, 0.5 / mean, 0.5 / (1 - mean))  # both kinds count the same
    decay = np.full(len(names), ridge)
    decay[-1] = 0.0
    rate = 1 / (0.25 * share.max() * largest_eigenvalue(given) + ridge)
    weights = ahead = np.zeros(len(names))
    for step in range(STEPS):
        odds = 1 / (1 + np.exp(-given.times(ahead)))
        moved = ahead - rate * (given.transposed_times(share * (odds - holds)) + decay * ahead)
        weights, ahead = moved, moved + step / (step + 3) * (moved - weights)
    return {name: weight for name, weight in zip(names, weights.tolist(), strict=True) if keeps(name, weight)}


def learn_vectors(files: Mapping[str, Sequence[Message]], *, check: bool) -> None:
    """The weight of each number of a vector, by Newton's method; each file is reported by the weights of the others."""
    embed = sentence_embedder().embed_query
    rows = [(name, row) for name in sorted(files) for row in files[name]]
    vectors = np.array([[*embed(row.text), 1.0] for _, row in rows])
    holds = np.array([row.holds for _, row in rows], np.float64)
    for name in sorted(files) if check else ():
        inside = np.array([own == name for own, _ in rows])
        weights = fit_vectors(vectors[~inside], holds[~inside])
        words = learn([row for own, row in rows if own != name], RIDGE["need_of_memory"])
        by_words = Matrix([row.features for own, row in rows if own == name], [*words]).times(
            np.array([*words.values()])
        )
        report_scores(f"need_of_memory with vectors, {name}", by_words + vectors[inside] @ weights, holds[inside] == 1)
    if not check:
        np.save(weights_file("need_of_memory").with_suffix(".npy"), fit_vectors(vectors, holds).astype(np.float32))


def fit_vectors(vectors: NDArray[np.float64], holds: NDArray[np.float64]) -> NDArray[np.float64]:
    share = np.where(holds == 1, 0.5 / holds.mean(), 0.5 / (1 - holds.mean()))
    ridge = np.eye(vectors.shape[1])
    ridge[-1, -1] = 1e-6
    weights = np.zeros(vectors.shape[1])
    for _ in range(20):
        odds = 1 / (1 + np.exp(-vectors @ weights))
        slope = vectors.T @ (share * (odds - holds)) + ridge @ weights
        weights -= np.linalg.solve((vectors * (share * odds * (1 - odds))[:, None]).T @ vectors + ridge, slope)
    return weights


def keeps(name: str, weight: float) -> bool:
    return name == CONSTANT or abs(weight) >= LEAST_WEIGHT


def largest_eigenvalue(given: Matrix) -> float:
    """Of the matrix times its transpose, which limits how far a step may go."""
    vector = np.ones(given.width)
    for _ in range(20):
        vector /= np.linalg.norm(vector)
        vector = given.transposed_times(given.times(vector))
    return 1.05 * float(np.linalg.norm(vector))


class Matrix:
    """A row for each message and a column for each feature: 1 where the message has the feature, otherwise 0. Only the
    ones are stored."""

    def __init__(self, features: Sequence[set[str]], names: Sequence[str]) -> None:
        column = {name: place for place, name in enumerate(names)}
        rows = [[column[feature] for feature in (*each, CONSTANT) if feature in column] for each in features]
        self.width = len(names)
        self._lengths = np.array([len(row) for row in rows])
        self._columns = np.concatenate([np.array(row) for row in rows])
        self._starts = np.cumsum(self._lengths) - self._lengths

    def times(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.add.reduceat(weights[self._columns], self._starts)

    def transposed_times(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(self._columns, weights=np.repeat(values, self._lengths), minlength=self.width)


def report(name: str, weights: Mapping[str, float], rows: Sequence[Message]) -> None:
    scores = Matrix([row.features for row in rows], [*weights]).times(np.array([*weights.values()]))
    report_scores(name, scores, np.array([row.holds for row in rows]))


def report_scores(name: str, scores: NDArray[np.float64], holds: NDArray[np.bool_]) -> None:
    yes, no = scores[holds], scores[~holds]
    parts = [f"said for {(yes > 0).mean():.0%}"] if len(yes) else []
    parts += [f"not for {(no <= 0).mean():.0%} of the others"] if len(no) else []
    parts += [f"AUC {(yes[:, None] > no).mean():.3f}"] if len(yes) and len(no) else []
    print(f"{name}: {', '.join(parts)}")


if __name__ == "__main__":
    main()

"""Learn `src/remanence/read/ended_weights.tsv`: which of the memories of a profile have ended by now.

    python training/ended_weights.py ../shared/chats/c.jsonl            writes the weights
    python training/ended_weights.py ../shared/chats/c.jsonl --check    only prints what halves say about each other

The chats name the facts in each turn and which earlier facts end. A turn has ended if all of its facts have. The features
are those that the profile itself uses.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import remanence
from remanence.read.profile import _KEPT, _by_topic, _Kept, _told_memories
from remanence.read.standing import WEIGHTS, Told, ended_features
from remanence.read.topics import PERSON, load_topics


def main() -> None:
    """Read the arguments, and learn or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chats", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    people = [json.loads(line) for line in options.chats.read_text(encoding="utf-8").splitlines()]
    rows = [row for number, person in enumerate(people) for row in features(person, number)]
    if options.check:
        for half in (0, 1):
            weights = learn([row for row in rows if row[0] % 2 == half])
            other = [row for row in rows if row[0] % 2 != half]
            odds = [sum(weights[name] * value for name, value in found.items()) for _, found, _ in other]
            print("AUC on the other half", round(roc_auc_score([ended for *_, ended in other], odds), 3))
        return
    lines = [f"{name}\t{weight:.4f}" for name, weight in learn(rows).items()]
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def features(person: dict, number: int) -> Iterator[tuple[int, dict[str, float], bool]]:
    """For each turn with facts that a profile would look at: the number of the person, the features, whether it ended."""
    ended = {fact for session in person["sessions"] for turn in session["turns"] for fact in turn.get("ends", ())}
    facts: dict[str, list[str]] = {}
    with remanence.open(None, worker=False) as space:
        for place, session in enumerate(person["sessions"]):
            turns = []
            for turn_number, turn in enumerate(session["turns"]):
                key = f"{place}.{turn_number}"
                facts[key] = [fact["id"] for fact in turn.get("facts", ())]
                turns.append(
                    {
                        "role": turn["role"],
                        "content": turn["text"],
                        "time": session["at"],
                        "conversation": session["at"],
                        "key": key,
                    }
                )
            space.add_turns(turns)
        engine = space._engine
        with engine.open_index(space.name) as index:
            kept = _KEPT.setdefault(index, _Kept())
            hits = _told_memories(index, index.catalog.position, datetime.now(UTC))
        texts = [f"{hit.context} {hit.memory.text}".strip() for hit in hits]
        told = [Told(hit.memory, hit.context, v) for hit, v in zip(hits, kept.vectors_of(texts), strict=True)]
        newest = max(each.at for each in told)
        for topic, members in _by_topic(told, [load_topics(PERSON)]):
            readings = kept.readings.read(engine.reader, topic.questions[0], members, set())
            for each, reading in zip(members, readings, strict=True):
                if own := facts[each.memory.key or ""]:
                    yield number, ended_features(each, reading, newest), ended.issuperset(own)


def learn(rows: list[tuple[int, dict[str, float], bool]]) -> dict[str, float]:
    """The weights of a logistic regression, for features as they are."""
    names = [name for name in rows[0][1] if name != "constant"]
    values = np.array([[found[name] for name in names] for _, found, _ in rows])
    mean, spread = values.mean(0), values.std(0) + 1e-6
    model = LogisticRegression(C=0.05, max_iter=3_000).fit((values - mean) / spread, [ended for *_, ended in rows])
    weights = model.coef_[0] / spread
    return {"constant": float(model.intercept_[0] - weights @ mean), **dict(zip(names, weights.tolist(), strict=True))}


if __name__ == "__main__":
    main()

"""How right the verdicts of `remanence.check` are, on answers that people wrote and labelled.

    python benchmarks/checked.py ANSWERS.jsonl [--from 60] [--to 120]

A line of the file is a case: `memories` (`at`, `text`) and `sentences` (`text`, `label`: "supported", "contradicted"
or "unsupported", and `memory`: the number of the memory that says so). Two baselines beside it, both with no model that
was trained for this: "words" calls a sentence supported if a memory has half of its words, "vectors" if a memory is as
near as in most supported sentences; with another number than that memory it is contradicted, else unsupported.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import remanence
from remanence.models.embedders import sentence_embedder
from remanence.recall.sentence_features import numbers_of
from remanence.schema import Memory
from remanence.text.text import tokens

LABELS = ("supported", "contradicted", "unsupported")
MIN_WORDS, MIN_NEAR = 0.5, 0.45
"""From which share of words, and from which similarity, the baselines call a sentence supported."""
WAYS = ("check", "words", "vectors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--to", dest="last", type=int, default=None)
    options = parser.parse_args()
    cases = [json.loads(line) for line in options.answers.read_text("utf-8").splitlines()]
    cases = cases[options.first : options.last]
    labels = [sentence["label"] for case in cases for sentence in case["sentences"]]
    print(f"{len(cases)} answers, {len(labels)} sentences: {', '.join(f'{labels.count(x)} {x}' for x in LABELS)}")
    table = {}
    for way in WAYS:
        said = [verdict for case in cases for verdict in _JUDGES[way](case)]
        table[way] = {label: _measure(labels, said, label) for label in LABELS}
        print(way, *(f"{label}: precision {p:.2f}, recall {r:.2f};" for label, (p, r) in table[way].items()))


def by_check(case: dict[str, Any]) -> list[str]:
    """The verdicts of `remanence.check`. A claim that is taken for none is counted as neither of the three."""
    memories = _memories(case)
    now = max(memory.told_at for memory in memories) + timedelta(days=3)
    return [_one(remanence.check(each["text"], memories, now=now)) for each in case["sentences"]]


def _one(checked: remanence.CheckedAnswer) -> str:
    """The verdict of a text of one sentence; of several, the one that weighs most."""
    found = {each.verdict for each in checked.sentences}
    return next((name for name in ("contradicted", "unsupported", "supported") if name in found), "no claim")


def by_words(case: dict[str, Any]) -> list[str]:
    """The verdicts by the words that a sentence shares with a memory."""
    texts = [memory["text"] for memory in case["memories"]]
    verdicts = []
    for each in case["sentences"]:
        words = set(tokens(each["text"]))
        shares = [len(words & set(tokens(text))) / max(len(words), 1) for text in texts]
        verdicts.append(_verdict(each["text"], texts[shares.index(max(shares))], max(shares) >= MIN_WORDS))
    return verdicts


def by_vectors(case: dict[str, Any]) -> list[str]:
    """The verdicts by the similarity of vectors."""
    embed = sentence_embedder().embed
    texts = [memory["text"] for memory in case["memories"]]
    near = embed([each["text"] for each in case["sentences"]]) @ embed(texts).T
    return [
        _verdict(each["text"], texts[int(row.argmax())], row.max() >= MIN_NEAR)
        for each, row in zip(case["sentences"], near, strict=True)
    ]


def _verdict(sentence: str, text: str, is_told: bool) -> str:
    if not is_told:
        return "unsupported"
    return "supported" if numbers_of(sentence) <= numbers_of(text) else "contradicted"


_JUDGES = {"check": by_check, "words": by_words, "vectors": by_vectors}


def _memories(case: dict[str, Any]) -> list[Memory]:
    return [
        Memory(str(number), "", each["text"], told_at=datetime.fromisoformat(each["at"]).replace(tzinfo=timezone.utc))
        for number, each in enumerate(case["memories"])
    ]


def _measure(labels: Sequence[str], said: Sequence[str], label: str) -> tuple[float, float]:
    """Precision and recall of a label."""
    right = sum(one == other == label for one, other in zip(labels, said, strict=True))
    return right / max(said.count(label), 1), right / max(labels.count(label), 1)


if __name__ == "__main__":
    main()

"""Recall's first fifty for every question of the development sets, which a reader then learns to order.

    python training/candidates.py OUT --data FOLDER [SET ...]

Asked without a reader, so that the signals alone choose. Unanswerable questions are asked too.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from prepare import MEASURED_SETS, TRAINED_SETS

import remanence

LEFT_OUT = {"beam_100k": ("event_ordering", "instruction_following", "summarization")}


def write_candidates(name: str, data: Path, out: Path) -> None:
    """One line for each question: its candidates with their scores."""
    corpus, questions = (
        _by_conversation(data / f"{name}.corpus.jsonl.gz"),
        _by_conversation(data / f"{name}.questions.jsonl.gz"),
    )
    with gzip.open(out / f"{name}.jsonl.gz", "wt") as file:
        for conversation, asked in questions.items():
            with remanence.open(None, reader=None, worker=False) as space:
                _add(space, corpus.get(conversation, []))
                for question in asked:
                    if question.get("category") in LEFT_OUT.get(name, ()):
                        continue
                    hits = space.recall(question["question"], limit=50, now=question.get("question_time"))
                    row = {
                        "id": question.get("id"),
                        "conversation": conversation,
                        "question": question["question"],
                        "answerable": question.get("answerable", True),
                        "evidence": [str(key) for key in question.get("evidence") or ()],
                        "cands": [[hit.memory.key, round(hit.score, 6)] for hit in hits],
                    }
                    file.write(json.dumps(row) + "\n")


def _by_conversation(path: Path) -> dict[str, list[dict[str, Any]]]:
    out: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with gzip.open(path, "rt") as file:
        for row in map(json.loads, file):
            out[row.get("conversation") or ""].append(row)
    return out


def _add(space: remanence.Space, items: list[dict[str, Any]]) -> None:
    if any(item.get("speaker") for item in items):
        space.add_turns(
            {
                "speaker": item.get("speaker") or "unknown",
                "content": item["text"],
                "time": item.get("time"),
                "conversation": item.get("session") or "default",
                "key": str(item["id"]),
            }
            for item in items
        )
    else:
        space.add_many(
            {"text": item["text"], "source": item.get("session"), "now": item.get("time"), "key": str(item["id"])}
            for item in items
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("sets", nargs="*", default=(*TRAINED_SETS, *MEASURED_SETS))
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for each in options.sets:
        write_candidates(each, options.data, options.out)

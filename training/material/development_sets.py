"""The questions of the development sets, each with recall's first fifty, which a reader learns to order.

    python -m training.material.development_sets CANDIDATES [SET ...]      writes a file for each set

Asked without a reader, so that the signals alone choose. Unanswerable questions are asked too.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training.material.files import DEVELOPMENT_SETS, read_rows

import remanence

TRAINED_SETS = ("longmemeval_pool", "hotpotqa_1000", "2wiki_1000", "musique_300", "timeqa_human")
"""The sets whose licence allows training; one question in three is left out to measure."""
MEASURED_SETS = ("locomo", "realtalk", "beam_100k")
"""Sets that take no part in training."""
CANDIDATES = 50
LEFT_OUT = {"beam_100k": ("event_ordering", "instruction_following", "summarization")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("candidates", type=Path, help="the folder to write to")
    parser.add_argument("sets", nargs="*", default=(*TRAINED_SETS, *MEASURED_SETS))
    parser.add_argument("--data", type=Path, default=DEVELOPMENT_SETS, help="the folder of the sets")
    options = parser.parse_intermixed_args()
    options.candidates.mkdir(parents=True, exist_ok=True)
    for name in options.sets:
        with gzip.open(options.candidates / f"{name}.jsonl.gz", "wt") as file:
            for row in find_candidates(name, options.data):
                file.write(json.dumps(row) + "\n")


def find_candidates(name: str, data: Path) -> Iterator[dict[str, Any]]:
    """Each question of a set, with the keys of its candidates."""
    corpus, questions = (_by_conversation(data / f"{name}.{part}.jsonl.gz") for part in ("corpus", "questions"))
    for conversation, asked in questions.items():
        with remanence.open(None, embedder="fast", reader=None, worker=False) as space:
            _add(space, corpus.get(conversation, []))
            for question in asked:
                if question.get("category") in LEFT_OUT.get(name, ()):
                    continue
                hits = space.recall(question["question"], limit=CANDIDATES, now=question.get("question_time"))
                yield {
                    "id": question.get("id"),
                    "conversation": conversation,
                    "question": question["question"],
                    "answerable": question.get("answerable", True),
                    "evidence": [str(key) for key in question.get("evidence") or ()],
                    "cands": [hit.memory.key for hit in hits],
                }


def read_development_set(name: str, candidates: Path, data: Path = DEVELOPMENT_SETS) -> Iterator[dict[str, Any]]:
    """The questions of a set with their candidates."""
    rows, before = _with_turns_before(data / f"{name}.corpus.jsonl.gz")
    for asked in read_rows(candidates / f"{name}.jsonl.gz"):
        keys = [(asked["conversation"], key) for key in asked["cands"]]
        yield {
            "set": name,
            "q": asked["question"],
            "answerable": asked["answerable"],
            "measure": is_measured(name, asked["id"]),
            "wanted": len(asked["evidence"]),
            "cands": [_candidate(rows[key], before[key], key[1] in asked["evidence"]) for key in keys],
        }


def is_measured(name: str, question: object) -> bool:
    """Whether a question is left out of training."""
    number = int(hashlib.sha256(f"{name}{question}".encode()).hexdigest(), 16)
    return name in MEASURED_SETS or number % 3 == 0


def _candidate(row: dict[str, Any], before: dict[str, Any] | None, answers: bool) -> dict[str, Any]:
    return {
        "t": row["text"],
        "s": row.get("speaker"),
        "title": "" if row.get("speaker") else str(row.get("session") or "").replace("_", " "),
        "p": f"{before['speaker']}: {before['text']}" if before else "",
        "y": int(answers),
        "day": (row.get("time") or "")[:10],
    }


def _with_turns_before(corpus: Path) -> tuple[dict[Any, dict[str, Any]], dict[Any, dict[str, Any] | None]]:
    """The texts of a set by conversation and id, and the turn before each."""
    rows, before, last = {}, {}, {}
    for row in read_rows(corpus):
        key = row.get("conversation") or "", str(row["id"])
        session = key[0], row.get("session")
        rows[key], before[key] = row, last.get(session)
        last[session] = row if row.get("speaker") else None
    return rows, before


def _by_conversation(path: Path) -> dict[str, list[dict[str, Any]]]:
    out: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_rows(path):
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
    main()

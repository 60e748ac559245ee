"""Then and now in wordings that the rules have never seen: what comes first, beside BM25, vectors and peers.

    python benchmarks/unseen.py                     the part to develop on
    python benchmarks/unseen.py --half report       the part to report on
    python benchmarks/unseen.py --half writers      more to develop on, by the writers of the reader's training worlds
    python benchmarks/unseen.py --half fresh        eight more worlds to develop on, of 19 November 2026
    python benchmarks/unseen.py --half unread       eight like these that no reader was asked: once, for a new reader
    python benchmarks/unseen.py --reader none --only remanence

The worlds (benchmarks/worlds) were written without sight of the code: dated notes, chats and messages in which facts
about invented people and projects change, and questions that rarely share a verb with the statement that answers.
Printed for each kind of question: how often a right memory comes first, how often a stale one, how often a right one is
among the first ten; and how well the confidence tells answerable questions from others (AUC). The files a and b are
there to develop on; c and d were written later and are only reported.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import figures
import remanence
from recall_evaluation import SystemFactory
from remanence.models import embedders, readers
from remanence.testing.datasets import Conversation, CorpusItem, EvalQuestion
from systems import baselines, peers

WORLDS = Path(__file__).resolve().parent / "worlds"
FILES = {"develop": "ab", "report": "cd", "all": "abcd", "writers": "e", "fresh": "f", "unread": "g"}
KINDS = ("now", "at", "before", "changed", "ever")


def read_worlds(half: str) -> Iterator[dict[str, Any]]:
    """The worlds of one part."""
    for file in sorted(WORLDS.glob("*.jsonl")):
        if file.stem in FILES[half]:
            yield from map(json.loads, file.read_text("utf-8").splitlines())


def open_world(world: dict[str, Any], **options: Any) -> remanence.Space:
    """A space that was told everything of a world: notes as texts, chats as turns, one conversation a day."""
    space = remanence.open(None, worker=False, **options)
    for memory in world["memories"]:
        said = {"time": memory["time"], "key": memory["id"]}
        if memory["speaker"] is None:
            space.add(memory["text"], now=memory["time"], key=memory["id"])
        else:
            day = memory["time"][:10]
            space.add_turns([said | {"speaker": memory["speaker"], "content": memory["text"], "conversation": day}])
    return space


def ask_remanence(world: dict[str, Any], **options: Any) -> Iterator[tuple[dict[str, Any], list[str], float | None]]:
    """Each question, the keys of what comes back, and how confident recall is."""
    with open_world(world, **options) as space:
        for asked in world["questions"]:
            found = space.recall(asked["q"], limit=10, now=asked["asked_at"])
            first = found[0].score if found else 0.0
            yield (
                asked,
                [hit.memory.key or "" for hit in found],
                first if found.confidence is None else found.confidence,
            )


def ask_other(world: dict[str, Any], build: SystemFactory) -> Iterator[tuple[dict[str, Any], list[str], float | None]]:
    """The same of another system, which says nothing of its confidence."""
    items = [
        CorpusItem(m["id"], m["text"], session=m["time"][:10], speaker=m["speaker"], time=m["time"])
        for m in world["memories"]
    ]
    system = build(Conversation(items, []))
    for asked in world["questions"]:
        question = EvalQuestion(asked["q"], tuple(asked["right"]))
        yield asked, list(system.ask(question, asked["asked_at"]))[:10], None
    system.close()


def measure(
    name: str, answers: Iterator[tuple[dict[str, Any], list[str], float | None]]
) -> dict[str, dict[str, float]]:
    """Print one line for each kind of question, and return the figures."""
    measured: dict[str, dict[str, float]] = {}
    groups: dict[str, list[tuple[bool, bool, bool]]] = defaultdict(list)
    best: dict[bool, list[float]] = {True: [], False: []}
    for asked, keys, confidence in answers:
        known = asked["kind"] != "none"
        if confidence is not None:
            best[known].append(confidence)
        if known:
            first = keys[0] if keys else None
            row = first in asked["right"], first in asked["stale"], not set(keys).isdisjoint(asked["right"])
            for group in ("all", asked["kind"], *(() if asked.get("shared_verb") else ("no shared verb",))):
                groups[group].append(row)
    for group in ("all", *KINDS, "no shared verb"):
        right, stale, ten = 100 * np.mean(groups[group], axis=0)
        count = len(groups[group])
        measured[group] = {"right first": right, "stale first": stale, "right in ten": ten, "questions": count}
        print(
            f"{name:24} {group:15} right first {right:3.0f}%  stale first {stale:3.0f}%  in ten {ten:3.0f}%  ({count})"
        )
    if best[True] and best[False]:
        high, low = np.array(best[True])[:, None], np.array(best[False])[None]
        measured["all"]["AUC"] = (high > low).mean() + 0.5 * (high == low).mean()
        print(f"{name:24} answerable against unanswerable: AUC {measured['all']['AUC']:.3f}")
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=tuple(FILES), default="develop")
    parser.add_argument("--reader", default="small", help="as for remanence.open, or none")
    parser.add_argument("--only", type=lambda s: s.split(","), help="only systems with one of these in their name")
    parser.add_argument("--record", action="store_true", help="write the figures to figures.json (--half report only)")
    options = parser.parse_args()
    if options.record and options.half != "report":
        parser.error("--record is for --half report: the others chose settings")
    worlds = list(read_worlds(options.half))
    reader = None if options.reader == "none" else readers.resolve_reader(options.reader)
    embedder = embedders.resolve_embedder(None)
    chosen = options.only or [""]
    others, left_out = peers(embedder)
    for name, why in left_out.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    ours = "remanence" if reader else "remanence, reader=None"
    asked = {ours: partial(ask_remanence, reader=reader)}
    asked |= {name: partial(ask_other, build=build) for name, build in (baselines(embedder) | others).items()}
    for name, ask in asked.items():
        if any(part in name for part in chosen):
            measured = measure(name, (row for world in worlds for row in ask(world)))
            if options.record:
                figures.record("unseen", "python benchmarks/unseen.py --half report", {name: measured})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    main()

"""What is published for other memories, measured beside those that run here, in one run, without a language model.

    python benchmarks/external.py                                  LongMemEval, LoCoMo and the time after a write
    python benchmarks/external.py --statebench test.jsonl          StateBench: `statebench.py` says how to get it
    python benchmarks/external.py --only remanence --record

LongMemEval: whether the evidence is in the first 4,400 tokens of what a system returns (the size of the context that
Zep publishes its figure for); here from one pool of chats. LoCoMo: how many tokens of it have to be read until the
evidence comes, and whether it is within 500 and 1,000. A memory is a line with its day and its speaker, for all
systems; four characters are one token. The time after a write is from the call that stores a line to the answer that
has it, in a store of 1,000 lines, with embedder and reader; it needs a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

import figures
from quality import APART, DATA
from recall_evaluation import RemanenceSystem, SystemFactory
from remanence.models import embedders, readers
from remanence.testing.datasets import Conversation, CorpusItem, Dataset, EvalQuestion, find_datasets, read_dataset
from remanence.text.framing import estimate_tokens
from statebench import read_conversations
from systems import MEMORIES, OnceEmbedder, peers

BUDGETS = {"longmemeval_pool": (4_400,), "locomo": (500, 1_000)}
LINES, WRITES = 1_000, 60
"""How many lines are there before the time after a write is taken, and how often."""
Measures = dict[str, float]


class Remanence(RemanenceSystem):
    """Remanence, which is told one more line."""

    def tell(self, line: CorpusItem) -> None:
        """Store one more line."""
        turn = {"speaker": line.speaker, "content": line.text, "time": line.time, "conversation": line.session}
        self.space.add_turns([turn | {"key": line.id}])


def main() -> None:
    options = _options()
    embedder = embedders.resolve_embedder(None)
    systems = chosen(OnceEmbedder(embedder), options.only)
    there = {name: files for name, *files in find_datasets([options.data])} if options.data.is_dir() else {}
    for name, budgets in BUDGETS.items():
        if name not in there:
            print(f"{name} is left out: it is not in {options.data}", file=sys.stderr)
            continue
        dataset = read_dataset(name, *there[name], limit=options.limit, separate_categories=APART.get(name, ()))
        for system, build in systems.items():
            measures = evidence_within(dataset, build, budgets)
            report(name.partition("_")[0], system, measures, options.record)
    for system, build in chosen(embedder, options.only).items():
        report("write", system, first_recall(build), options.record)
    for file in options.statebench:
        for system, build in systems.items():
            for track, measures in statebench(read_conversations(file), build).items():
                report(f"statebench, {track}", system, measures, options.record)


def chosen(embedder: Any, only: Iterable[str] | None) -> dict[str, SystemFactory]:
    """The systems that run here. The others are named."""
    reader = readers.resolve_reader("small")
    others, left_out = peers(embedder, MEMORIES)
    for name, why in left_out.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    ours: dict[str, SystemFactory] = {
        "remanence": partial(Remanence, embedder=embedder, reader=reader),
        "remanence, reader=None": partial(Remanence, embedder=embedder, reader=None),
    }
    return {name: build for name, build in (ours | others).items() if any(part in name for part in only or ("",))}


def report(row: str, system: str, measures: Mapping[str, float], record: bool) -> None:
    """Print a line, and put it into the file of figures."""
    print(f"{row:36} {system:26}", *(f"{name} {value:.1f}" for name, value in measures.items()), flush=True)
    if record:
        figures.record("external", "python benchmarks/external.py", {row: {system: measures}})


def evidence_within(dataset: Dataset, build: SystemFactory, budgets: tuple[int, ...]) -> Measures:
    """How often the evidence is within so many tokens; and how many have to be read until the first of it."""
    inside: dict[str, list[bool]] = defaultdict(list)
    needed: list[float] = []
    for conversation in dataset.conversations:
        tokens = {line.id: estimate_tokens(_as_read(line)) for line in conversation.items}
        last = max((line.time for line in conversation.items if line.time), default=None)
        system = build(conversation)
        for asked in conversation.questions:
            if asked.counted_separately:
                continue
            found = list(dict.fromkeys(system.ask(asked, asked.time or last)))
            until = dict(zip(found, accumulate(tokens[line] for line in found), strict=True))
            ends = [until.get(line, np.inf) for line in asked.evidence]
            needed.append(min(ends))
            for budget in budgets:
                inside[f"any in {budget}"].append(min(ends) <= budget)
                inside[f"all in {budget}"].append(max(ends) <= budget)
        system.close()
    shares = {name: 100 * float(np.mean(values)) for name, values in inside.items()}
    median = float(np.median(needed))
    return shares | ({"tokens": median} if np.isfinite(median) else {}) | {"questions": len(needed)}


def _as_read(line: CorpusItem) -> str:
    return f"- [{(line.time or '')[:10]}] {line.speaker}: {line.text}\n"


def first_recall(build: SystemFactory) -> Measures:
    """How long it takes from the call that stores a line to the answer that has it."""
    names = ("Ana", "Boris", "Chiara", "Dmitri", "Esra", "Femi")
    rooms = ("kitchen", "cellar", "library", "workshop", "garden", "attic")
    told = [
        CorpusItem(str(n), f"{names[n % 6]} left parcel {n} in the {rooms[n // 6 % 6]}.", "", "chat", "user", _at(n))
        for n in range(LINES + WRITES)
    ]
    system: Any = build(Conversation(told[:LINES], ()))
    took = []
    for line in told[LINES:]:
        asked = EvalQuestion(line.text, (line.id,))  # which all of them find
        began = time.perf_counter()
        system.tell(line)
        found = system.ask(asked, line.time)
        took.append(1_000 * (time.perf_counter() - began))
        assert line.id in found, "what was told is not found"
    system.close()
    return {"p50": float(np.median(took)), "p95": float(np.percentile(took, 95))}


def _at(number: int) -> str:
    return f"2026-05-{1 + number // 60:02}T09:{number % 60:02}:00"


def statebench(conversations: Iterable[tuple[str, Conversation]], build: SystemFactory) -> dict[str, Measures]:
    """For each track how often a right line comes first."""
    first: dict[str, list[bool]] = defaultdict(list)
    for track, conversation in conversations:
        system = build(conversation)
        for asked in conversation.questions:
            found = system.ask(asked, asked.time)
            first[track].append(bool(found) and found[0] in asked.evidence)
        system.close()
    first["all"] = [each for track in first.values() for each in track]
    return {
        track: {"right first": 100 * float(np.mean(each)), "questions": len(each)}
        for track, each in sorted(first.items())
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with LongMemEval and LoCoMo")
    parser.add_argument("--statebench", type=Path, nargs="*", default=(), help="splits of it, such as test.jsonl")
    parser.add_argument("--limit", type=int, help="at most so many questions a set, spread evenly")
    parser.add_argument("--only", type=lambda s: s.split(","), help="only systems with one of these in their name")
    parser.add_argument("--record", action="store_true", help="write what is measured to figures.json")
    return parser.parse_args()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    main()

"""Questions whose answer needs several memories, on stories that a stranger wrote: "What breed is my sister's dog?"

    python benchmarks/multihop.py                                       the cases in cases/multihop.dev.jsonl
    python benchmarks/multihop.py other.jsonl --reader none --failures
    python benchmarks/multihop.py --ablations                           without each seed
    python benchmarks/multihop.py --walks                               the walk beside PageRank

A case is a story, memories with their dates, and questions about it. `answer_index` is the memory that answers (or
several, of which any does), `chain` the memories that lead to it, itself last, and `hops` how many there are. Each
story is added to a space of its own, as it is told. "First" is how often the answer comes first, R@5 how often it is
among the first five, "chain@5" how often the whole chain is.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import remanence
from ablations import SEEDS, WALKS, Variant
from remanence.models import embedders, readers

CASES = Path(__file__).parent / "cases" / "multihop.dev.jsonl"
Case = Mapping[str, Any]
Outcome = tuple[bool, bool, bool]
"""Whether the answer is first, whether it is among the first five, and whether its whole chain is."""


def main() -> None:
    options = _options()
    variants = WALKS if options.walks else SEEDS if options.ablations else SEEDS[:1]
    outcomes: dict[str, dict[int, list[Outcome]]] = {variant.name: defaultdict(list) for variant in variants}
    embedder = embedders.resolve_embedder(options.embedder)
    reader = None if options.reader == "none" else readers.resolve_reader(options.reader)
    for case in map(json.loads, options.cases.read_text("utf-8").splitlines()):
        with remanence.open(None, embedder=embedder, reader=reader, worker=False) as space:
            for told in case["story"]:
                space.add(told["text"], now=told["date"])
            for variant in variants:
                for hops, outcome in asked(space, case, variant, failures=options.failures):
                    outcomes[variant.name][hops].append(outcome)
    for line in table(outcomes):
        print(line)


def asked(
    space: remanence.Space, case: Case, variant: Variant, *, failures: bool = False
) -> Iterator[tuple[int, Outcome]]:
    """Each question of a story asked in one way: the number of its hops, and what came of it."""
    texts = [told["text"] for told in case["story"]]
    for question in case["questions"]:
        with ExitStack() as stack:
            for module, constants in variant.patches.items():
                stack.enter_context(patch.multiple(module, **constants))
            now = question.get("now") or case.get("now") or case["story"][-1]["date"]
            found = space.recall(question["q"], limit=5, now=now, signals=variant.signals, weights=variant.weights)
        if found.missing:
            raise SystemExit(f"a part of recall failed: {found.missing}")
        ranked = [texts.index(hit.memory.text) for hit in found]
        right = question["answer_index"]
        right = {right} if isinstance(right, int) else set(right)
        chain = set(question.get("chain", right))
        yield (
            question["hops"],
            (ranked[:1] != [] and ranked[0] in right, not right.isdisjoint(ranked), chain <= {*ranked}),
        )
        if failures and (not ranked or ranked[0] not in right):
            print(f"{question['q']}  [{question['hops']} hops, {question.get('chain')}]")
            for place, hit in zip(ranked, found, strict=True):
                mark = "=" if place in right else "-" if place in chain else " "
                print(f"  {mark} {hit.score:.2f} {hit.memory.text[:90]}")
                for evidence in hit.evidence:
                    print(f"         {evidence.signal} {evidence.share:.2f} {evidence.reason[:110]}")


def table(outcomes: Mapping[str, Mapping[int, Sequence[Outcome]]]) -> Iterator[str]:
    """A Markdown table: a row for each variant, first / R@5 / chain@5 for each number of hops."""
    hops = sorted({number for by_hops in outcomes.values() for number in by_hops})
    count = {number: len(next(iter(outcomes.values()))[number]) for number in hops}
    heads = [f"{number} hop{'s' * (number > 1)} ({count[number]})" for number in hops]
    yield f"| first / R@5 / chain@5, % | all ({sum(count.values())}) | {' | '.join(heads)} |"
    yield f"|{'---|' * (len(hops) + 2)}"
    for name, by_hops in outcomes.items():
        every = [outcome for number in hops for outcome in by_hops[number]]
        yield f"| {name} | {' | '.join(_percent(some) for some in (every, *(by_hops[number] for number in hops)))} |"


def _percent(outcomes: Sequence[Outcome]) -> str:
    return " / ".join(f"{100 * sum(each) / len(outcomes):.0f}" for each in zip(*outcomes, strict=True))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="?", type=Path, default=CASES, help="a file with a case on each line")
    parser.add_argument("--embedder", default=None, help="a name that remanence.open takes")
    parser.add_argument("--reader", default="small", help="likewise, or none")
    parser.add_argument("--ablations", action="store_true", help="also without each seed")
    parser.add_argument("--walks", action="store_true", help="the walk of the graph beside PageRank")
    parser.add_argument("--failures", action="store_true", help="also print what came first where it is wrong")
    return parser.parse_args()


if __name__ == "__main__":
    main()

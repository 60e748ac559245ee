"""Memories in many languages, found by their words alone.

    python benchmarks/languages.py [--misses] [--together]

A case is a line of `cases/languages.jsonl`: a memory and a question about it in the same language (`lang`), in which
the words have other forms. Each language has a space of its own, in which the memories in English stand too; with
`--together` all languages share one. No other signal is asked, so nothing but a shared word finds a memory.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import figures
import remanence
from remanence.testing import HashingEmbedder
from remanence.text.lexicon.languages import language_of

CASES = Path(__file__).resolve().parent / "cases" / "languages.jsonl"
Case = Mapping[str, str]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--misses", action="store_true", help="print the questions that find another memory, or none")
    options.add_argument("--together", action="store_true", help="all languages in one space")
    options.add_argument("--record", action="store_true", help="write the figures to figures.json")
    chosen = options.parse_args()
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    spaces: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        spaces["" if chosen.together else case["lang"]].append(case)
    english = [] if chosen.together else spaces["en"]
    first: dict[str, int] = defaultdict(int)
    told: dict[str, int] = defaultdict(int)
    for asked in spaces.values():
        for case, found in answers(asked, [*asked, *(case for case in english if case not in asked)]):
            first[case["lang"]] += found == case["memory"]
            told[case["lang"]] += sum(language_of(case[part]) == case["lang"] for part in ("memory", "question"))
            if chosen.misses and found != case["memory"]:
                print(f"{case['lang']} {case['question']} -> {found}, not {case['memory']}")
    print("| language | cases | found first | language told |\n|---|---|---|---|")
    counts = {
        name: sum(case["lang"] == name for case in cases) for name in dict.fromkeys(case["lang"] for case in cases)
    }
    for name, count in counts.items():
        print(f"| {name} | {count} | {first[name]} | {told[name]} of {2 * count} |")
    print(f"| all | {len(cases)} | {sum(first.values())} | {sum(told.values())} of {2 * len(cases)} |")
    if chosen.record:
        measured = {"cases": len(cases), "languages": len(counts), "found first": sum(first.values())}
        figures.record(
            "languages",
            "python benchmarks/languages.py",
            {"together" if chosen.together else "each": {"words": measured}},
        )


def answers(asked: Iterable[Case], memories: Iterable[Case]) -> Iterable[tuple[Case, str | None]]:
    """Each case with the memory that comes first for its question, by words alone."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        space.add_many([{"text": case["memory"]} for case in memories])
        for case in asked:
            hits = space.recall(case["question"], signals=["words"], limit=1)
            yield case, hits[0].memory.text if hits else None


if __name__ == "__main__":
    main()

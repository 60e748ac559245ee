"""How well names are found without a model: WNUT-17 (noisy text), and how fast on chat turns.

    python benchmarks/names.py [--data ../shared/data] [--show wnut|locomo|realtalk|…]

The data are not part of this repository; without them it says so and stops. WNUT-17 is the hard case: tweets
and forum posts, rare names, capitals used at will. LoCoMo has no gold names; there the people who speak in a
conversation are the gold, wherever a turn names one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from remanence.extractors.marked import Name
from remanence.extractors.names import find_names, names_in

Span = tuple[int, int]
ADDRESSES = ("url", "email", "handle")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--show", help="print 200 random texts of this set with the names found")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    data: Path = arguments.data
    if not (data / "ner_wnut17.jsonl.gz").exists():
        print(f"No evaluation data in {data}: nothing measured. Pass --data DIR.")
        return
    if arguments.show:
        show(data, arguments.show, arguments.seed)
        return
    wnut(data)
    speakers(data)
    speed(data)


def wnut(data: Path) -> None:
    """Span precision, recall and F1: exact, and by any overlap."""
    gold: list[set[Span]] = []
    found: list[set[Span]] = []
    for row in read(data / "ner_wnut17.jsonl.gz"):
        gold.append({span(row, entity) for entity in row["entities"]})
        found.append({(n.start, n.end) for n in find_names(row["text"]) if n.kind not in ADDRESSES})
    print(f"WNUT-17 dev half, {len(gold)} texts, {sum(map(len, gold))} names")
    print("  exact  ", scores(gold, found, lambda a, b: a == b))
    print("  overlap", scores(gold, found, lambda a, b: a[0] < b[1] and b[0] < a[1]))


def span(row: dict[str, Any], entity: dict[str, Any]) -> Span:
    """Where an entity stands in the text, which is its tokens with one space between."""
    start = sum(len(token) + 1 for token in row["tokens"][: entity["start_token"]])
    length = sum(len(token) + 1 for token in row["tokens"][entity["start_token"] : entity["end_token"]]) - 1
    return start, start + length


def scores(gold: list[set[Span]], found: list[set[Span]], same: Any) -> str:
    """One line: precision, recall, F1."""
    right = sum(
        any(same(f, g) for g in golds) for golds, founds in zip(gold, found, strict=True) for f in founds
    )
    met = sum(
        any(same(f, g) for f in founds) for golds, founds in zip(gold, found, strict=True) for g in golds
    )
    precision, recall = right / max(1, sum(map(len, found))), met / max(1, sum(map(len, gold)))
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return f"precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}"


def speakers(data: Path) -> None:
    """How many of the turns, and questions, that name a speaker of the conversation are read so."""
    for name in ("locomo", "realtalk"):
        turns = list(read(data / f"{name}.corpus.jsonl.gz"))
        people: dict[str, set[str]] = {}
        for turn in turns:
            people.setdefault(turn["conversation"], set()).add(turn["speaker"].split()[0])
        hits = total = asked = known = 0
        for turn in turns:
            wanted = named(turn["text"], people[turn["conversation"]])
            words = {word for n in find_names(turn["text"]) for word in n.text.split()}
            total, hits = total + len(wanted), hits + len(wanted & words)
        for row in read(data / f"{name}.questions.jsonl.gz"):
            wanted = named(row["question"], people[row["conversation"]])
            words = {word for n in names_in(row["question"]) for word in n.split()}
            asked, known = asked + len(wanted), known + len(wanted & words)
        print(f"{name}: speakers named in turns {hits}/{total}, in questions {known}/{asked}")


def named(text: str, people: set[str]) -> set[str]:
    """Those of these people whose name stands in the text with its capital."""
    return people & set(re.findall(r"\w+", text))


def speed(data: Path) -> None:
    """Turns read in a second of one core."""
    texts = [row["text"] for row in read(data / "locomo.corpus.jsonl.gz")]
    best = min(timed(texts) for _ in range(5))
    size = sum(map(len, texts)) / len(texts)
    print(f"locomo: {len(texts) / best:,.0f} turns a second, {size:.0f} characters each")
    long = " ".join(texts)[:1_000_000]
    print(f"one text of {len(long):,} characters: {timed([long]) * 1000:.0f} ms")


def timed(texts: list[str]) -> float:
    start = time.process_time()
    for text in texts:
        find_names(text)
    return time.process_time() - start


def show(data: Path, name: str, seed: int) -> None:
    """Names beside texts, to be judged by eye."""
    path = data / ("ner_wnut17.jsonl.gz" if name == "wnut" else f"{name}.corpus.jsonl.gz")
    rows = list(read(path))
    for row in random.Random(seed).sample(rows, min(200, len(rows))):
        names: Iterable[Name] = find_names(row["text"])
        print(" ".join(row["text"].split())[:300])
        print("   ", ", ".join(f"{n.text} ({n.kind})" for n in names) or "-")


def read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()

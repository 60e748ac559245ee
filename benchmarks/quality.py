"""How often recall finds the evidence, on public sets, beside plain BM25 and plain vectors.

    python benchmarks/quality.py                         every set found, default embedder
    python benchmarks/quality.py locomo hotpotqa_1000 --limit 200 --json out.json

Reads `<set>.corpus.jsonl.gz` and `<set>.questions.jsonl.gz` from ../shared/data (or --data FOLDER). Each
corpus is added through the public API as a user would: chat turns with speaker, session and time,
passages as texts, facts in order. Questions are asked with `now` set to the time they were asked.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

import remanence
from remanence import embedders
from remanence.index import SIGNALS
from remanence.text import tokens

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = (
    "locomo",
    "longmemeval_pool",
    "realtalk",
    "beam_100k",
    "hotpotqa_1000",
    "2wiki_1000",
    "musique_300",
    "timeqa_human",
    "factconsolidation",
)
LEFT_OUT = {
    "locomo": ("adversarial",),
    "beam_100k": ("event_ordering", "instruction_following", "summarization"),
    "factconsolidation": ("multi-hop",),
}
DEPTH = 10
Row = dict[str, Any]
Ask = Callable[[Row], Sequence[str]]


def main() -> None:
    options = _options()
    results = {}
    for name in options.sets or SETS:
        if not (options.data / f"{name}.corpus.jsonl.gz").exists():
            print(f"{name}: no such set in {options.data}; see the README there for where it comes from")
            continue
        results[name] = run(name, options)
        print(table(name, results[name]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


def run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One set: every system asked every question."""
    corpus = list(read(options.data / f"{name}.corpus.jsonl.gz"))
    left_out = LEFT_OUT.get(name, ())
    questions = [
        q
        for q in read(options.data / f"{name}.questions.jsonl.gz")
        if q["answerable"] and q["evidence"] and q["category"] not in left_out
    ][: options.limit]
    groups = defaultdict(list)
    for row in corpus:
        groups[row["conversation"]].append(row)
    session_of = {row["id"]: row["session"] for row in corpus}
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    spent: dict[str, float] = defaultdict(float)
    for conversation in track(list(groups), description=name, transient=True):
        asked = [q for q in questions if q["conversation"] == conversation]
        if not asked:
            continue
        for system, build in systems(options).items():
            began = time.perf_counter()
            ask, close = build(groups[conversation])
            spent[f"{system} ingest"] += time.perf_counter() - began
            began = time.perf_counter()
            for question in asked:
                ids = ask(question)
                scores = measures(ids, question["evidence"])
                sessions = list(dict.fromkeys(session_of[i] for i in ids))
                scores |= {
                    f"session {k}": v for k, v in measures(sessions, question["evidence_sessions"]).items()
                }
                found[system].append(scores | {"category": question["category"]})  # type: ignore[dict-item]
            spent[f"{system} query"] += time.perf_counter() - began
            close()
    return {"questions": len(questions), "scores": summary(found), "seconds": dict(spent)}


def systems(options: argparse.Namespace) -> dict[str, Callable[[list[Row]], tuple[Ask, Callable[[], None]]]]:
    embedder = embedders.resolve(options.embedder)
    built = {"remanence": lambda rows: remember(rows, embedder, options)}
    if not options.alone:
        built["BM25, split()"] = lambda rows: bm25(rows, lambda text: text.lower().split())
        built["BM25, our words"] = lambda rows: bm25(rows, tokens)
        built["vectors"] = lambda rows: nearest(rows, embedder)
    return built


def remember(rows: list[Row], embedder: Any, options: argparse.Namespace) -> tuple[Ask, Callable[[], None]]:
    """The corpus in a space of its own, as a user would put it there."""
    space = remanence.open(None, embedder=embedder)
    if any(row["speaker"] for row in rows):
        space.add_turns(
            {
                "speaker": row["speaker"],
                "content": row["text"],
                "time": row["time"],
                "conversation": row["session"],
                "key": row["id"],
            }
            for row in rows
        )
    else:
        space.add_many({"text": row["text"], "key": row["id"], "now": row["time"]} for row in rows)

    def ask(question: Row) -> list[str]:
        answer = space.recall(
            question["question"],
            limit=options.depth,
            now=question["question_time"] or rows[-1]["time"],
            signals=options.signals,
            weights=options.weights,
        )
        return [hit.memory.key or "" for hit in answer]

    return ask, space.close


def bm25(rows: list[Row], split: Callable[[str], list[str]]) -> tuple[Ask, Callable[[], None]]:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([split(row["text"]) or [""] for row in rows])

    def ask(question: Row) -> list[str]:
        scores = index.get_scores(split(question["question"]))
        return [rows[i]["id"] for i in np.argsort(-scores, kind="stable")[: 2 * DEPTH]]

    return ask, lambda: None


def nearest(rows: list[Row], embedder: Any) -> tuple[Ask, Callable[[], None]]:
    matrix = embedder.embed([row["text"] for row in rows])

    def ask(question: Row) -> list[str]:
        scores = matrix @ embedder.embed_query(question["question"])
        return [rows[i]["id"] for i in np.argsort(-scores, kind="stable")[: 2 * DEPTH]]

    return ask, lambda: None


def measures(ids: Sequence[str], evidence: Sequence[str]) -> dict[str, float]:
    """What is asked of one list: `evidence` should stand in it, early."""
    wanted = set(evidence)
    hits = [i in wanted for i in ids[: 2 * DEPTH]]
    first = hits.index(True) + 1 if True in hits else math.inf
    gain = sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits[:10]) if hit)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(wanted))))
    return {
        "R@1": sum(hits[:1]) / len(wanted) if len(wanted) > 1 else float(sum(hits[:1])),
        "R@5": sum(hits[:5]) / len(wanted),
        "R@10": sum(hits[:10]) / len(wanted),
        "all@5": float(sum(hits[:5]) == len(wanted)),
        "all@10": float(sum(hits[:10]) == len(wanted)),
        "MRR": 1 / first,
        "NDCG@10": gain / ideal,
    }


def summary(found: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Means with 95% bootstrap intervals, for all and for each category."""
    out: dict[str, Any] = {}
    for system, scores in found.items():
        categories = sorted({str(s["category"]) for s in scores})
        out[system] = {"all": _means(scores)}
        out[system] |= {c: _means([s for s in scores if s["category"] == c]) for c in categories}
    return out


def _means(scores: list[dict[str, float]]) -> dict[str, Any]:
    draws = np.random.default_rng(7).integers(0, len(scores), (400, len(scores)))
    out: dict[str, Any] = {"n": len(scores)}
    for name in scores[0]:
        if name != "category":
            values = np.array([s[name] for s in scores])
            low, high = np.percentile(values[draws].mean(axis=1), [2.5, 97.5])
            out[name] = [float(values.mean()), float(low), float(high)]
    return out


def table(name: str, result: dict[str, Any]) -> str:
    """One set as Markdown."""
    columns = ("R@1", "R@5", "R@10", "all@5", "all@10", "MRR", "NDCG@10")
    columns += (
        ("session R@5", "session all@5", "session MRR") if name in ("locomo", "longmemeval_pool") else ()
    )
    lines = [f"\n### {name} ({result['questions']} questions)", f"| system | {' | '.join(columns)} | ms |"]
    lines.append("|" + "---|" * (len(columns) + 2))
    for system, by_category in result["scores"].items():
        ms = 1000 * result["seconds"][f"{system} query"] / result["questions"]
        values = " | ".join(f"{100 * by_category['all'][c][0]:.1f}" for c in columns)
        lines.append(f"| {system} | {values} | {ms:.1f} |")
    return "\n".join(lines)


def read(path: Path) -> Iterable[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all if none is named")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the sets")
    parser.add_argument("--embedder", default=None, help="a name that remanence.open takes")
    parser.add_argument(
        "--signals", type=lambda s: s.split(","), default=None, help=f"of {','.join(SIGNALS)}"
    )
    parser.add_argument("--weights", type=json.loads, default=None, help='such as {"words": 1, "vectors": 1}')
    parser.add_argument("--limit", type=int, default=None, help="at most so many questions a set")
    parser.add_argument("--alone", action="store_true", help="only remanence, no baselines")
    parser.add_argument("--depth", type=int, default=2 * DEPTH, help="how many hits to ask for")
    parser.add_argument("--json", type=Path, help="also write everything here")
    return parser.parse_args()


if __name__ == "__main__":
    logging.getLogger("remanence").setLevel(logging.ERROR)
    main()

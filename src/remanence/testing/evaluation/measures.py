"""What is asked of a list of hits, the mean of it, and how that is shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_DRAWS = 1_000


def score_ranking(found: Sequence[str], evidence: Sequence[str]) -> dict[str, float]:
    """What is asked of one list: the evidence should stand in it, all of it, and early.

    >>> score_ranking(["b", "a"], ["a"])["MRR"], score_ranking(["b", "a"], ["a", "c"])["R@5"]
    (0.5, 0.5)
    """
    wanted = set(evidence)
    hits = [line in wanted for line in found]
    gain = sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits[:10]) if hit)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(wanted))))
    return {
        **{f"R@{depth}": sum(hits[:depth]) / len(wanted) for depth in (1, 5, 10)},
        **{f"all@{depth}": float(sum(hits[:depth]) == len(wanted)) for depth in (5, 10)},
        "MRR": 1 / (hits.index(True) + 1) if True in hits else 0.0,
        "NDCG@10": gain / ideal,
    }


def mean_scores(scores: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Of each measure the mean and its 95% bootstrap interval, and over how many questions.

    >>> mean_scores([{"R@1": 1.0}, {"R@1": 1.0}])
    {'n': 2, 'R@1': [1.0, 1.0, 1.0]}
    """
    draws = np.random.default_rng(7).integers(0, len(scores), (_DRAWS, len(scores)))
    out: dict[str, Any] = {"n": len(scores)}
    for name in scores[0]:
        values = np.array([score[name] for score in scores])
        low, high = np.percentile(values[draws].mean(axis=1), [2.5, 97.5])
        out[name] = [float(values.mean()), float(low), float(high)]
    return out


def report_as_markdown(report: Mapping[str, Any], *, categories: bool = True) -> str:
    """A report as Markdown: means in points, and half the width of the 95% interval.

    One table for all questions, a row for each system; and one for each category.
    """
    systems = report["systems"]
    known = next(iter(systems.values()))["scores"]
    first = next(iter(known.values()))
    measured = [name for name in first if name != "n"]
    lines = [f"### {report['set']} ({report['questions']} questions)"]
    if "all" in known:
        rows = [
            [name, *_cells(one["scores"]["all"], measured), f"{one['ingest_seconds']:.1f}", f"{one['query_ms']:.1f}"]
            for name, one in systems.items()
        ]
        lines += ["", *_table(["system", *measured, "ingest s", "query ms"], rows)]
    kinds = [name for name in known if name != "all"]
    if categories and kinds:
        few = [name for name in measured if name in ("R@1", "R@5", "R@10", "all@5", "MRR", "session R@5")]
        rows = [
            [kind, str(one["scores"][kind]["n"]), name, *_cells(one["scores"][kind], few)]
            for kind in kinds
            for name, one in systems.items()
        ]
        lines += ["", *_table(["category", "n", "system", *few], rows)]
    return "\n".join(lines) + "\n"


def _cells(score: Mapping[str, Any], measured: Sequence[str]) -> list[str]:
    return [f"{100 * mean:.1f} ±{50 * (high - low):.1f}" for mean, low, high in map(score.__getitem__, measured)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]

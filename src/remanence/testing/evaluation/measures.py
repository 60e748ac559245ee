"""Measures of a ranking, their means, and the report as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_BOOTSTRAP_SAMPLES = 1_000
_CATEGORY_MEASURES = ("R@1", "R@5", "R@10", "all@5", "MRR", "session R@5")


def score_ranking(ranking: Sequence[str], evidence: Sequence[str]) -> dict[str, float]:
    """Recall at 1, 5 and 10, whether all evidence is in the first 5 and 10, MRR and NDCG@10 of one ranking.

    >>> score_ranking(["b", "a"], ["a"])["MRR"], score_ranking(["b", "a"], ["a", "c"])["R@5"]
    (0.5, 0.5)
    """
    relevant = set(evidence)
    hits = [item in relevant for item in ranking]
    gain = sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits[:10]) if hit)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(relevant))))
    return {
        **{f"R@{depth}": sum(hits[:depth]) / len(relevant) for depth in (1, 5, 10)},
        **{f"all@{depth}": float(sum(hits[:depth]) == len(relevant)) for depth in (5, 10)},
        "MRR": 1 / (hits.index(True) + 1) if True in hits else 0.0,
        "NDCG@10": gain / ideal,
    }


def mean_scores(scores: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """The number of questions, and for each measure the mean and its 95% bootstrap interval.

    >>> mean_scores([{"R@1": 1.0}, {"R@1": 1.0}])
    {'n': 2, 'R@1': [1.0, 1.0, 1.0]}
    """
    samples = np.random.default_rng(7).integers(0, len(scores), (_BOOTSTRAP_SAMPLES, len(scores)))
    means: dict[str, Any] = {"n": len(scores)}
    for name in scores[0]:
        values = np.array([score[name] for score in scores])
        low, high = np.percentile(values[samples].mean(axis=1), [2.5, 97.5])
        means[name] = [float(values.mean()), float(low), float(high)]
    return means


def report_as_markdown(report: Mapping[str, Any], *, categories: bool = True) -> str:
    """A report as Markdown: means in percent, and half the width of the 95% interval.

    One table for all questions with a row for each system, and one for the categories.
    """
    systems = report["systems"]
    groups = next(iter(systems.values()))["scores"]
    measures = [name for name in next(iter(groups.values())) if name != "n"]
    lines = [f"### {report['set']} ({report['questions']} questions)"]
    if "all" in groups:
        rows = [
            [name, *_cells(one["scores"]["all"], measures), f"{one['ingest_seconds']:.1f}", f"{one['query_ms']:.1f}"]
            for name, one in systems.items()
        ]
        lines += ["", *_table(["system", *measures, "ingest s", "query ms"], rows)]
    names = [name for name in groups if name != "all"]
    if categories and names:
        some = [name for name in measures if name in _CATEGORY_MEASURES]
        rows = [
            [category, str(one["scores"][category]["n"]), name, *_cells(one["scores"][category], some)]
            for category in names
            for name, one in systems.items()
        ]
        lines += ["", *_table(["category", "n", "system", *some], rows)]
    return "\n".join(lines) + "\n"


def _cells(score: Mapping[str, Any], measures: Sequence[str]) -> list[str]:
    return [f"{100 * mean:.1f} ±{50 * (high - low):.1f}" for mean, low, high in map(score.__getitem__, measures)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]

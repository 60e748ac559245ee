"""Metrics of a ranking for which the relevant items are known, and their means over questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_DEPTHS = (1, 5, 10)
_BOOTSTRAP_SAMPLES = 1_000


def recall_at(depth: int, ranks: Sequence[int | None]) -> float:
    """The share of the relevant items that are among the first `depth`. `ranks` has the rank of each item (1 is
    first), or None.

    >>> recall_at(5, [1, 7, None, 5])
    0.5
    """
    return sum(rank is not None and rank <= depth for rank in ranks) / len(ranks)


def reciprocal_rank(ranks: Sequence[int | None]) -> float:
    """One divided by the rank of the first relevant item; 0 if there is none.

    >>> reciprocal_rank([None, 4, 2])
    0.5
    """
    return max((1 / rank for rank in ranks if rank is not None), default=0.0)


def score_ranking(ranking: Sequence[str], evidence: Sequence[str]) -> dict[str, float]:
    """Recall at 1, 5 and 10, whether all evidence is in the first 5 and 10, MRR and NDCG@10 of one ranking.

    >>> score_ranking(["b", "a"], ["a"])["MRR"], score_ranking(["b", "a"], ["a", "c"])["R@5"]
    (0.5, 0.5)
    """
    rank_of = {item: rank for rank, item in enumerate(ranking, 1)}
    ranks = [rank_of.get(item) for item in set(evidence)]
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None and rank <= 10)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(ranks))))
    return {
        **{f"R@{depth}": recall_at(depth, ranks) for depth in _DEPTHS},
        **{f"all@{depth}": float(recall_at(depth, ranks) == 1) for depth in (5, 10)},
        "MRR": reciprocal_rank(ranks),
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

"""Near pairs among many vectors: what comparing every two finds, a block at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from case_tables import cases
from remanence.upkeep.steps import near_pairs
from remanence.upkeep.steps.near_pairs import Pairs, cohesion, find_pairs

Found = dict[tuple[int, int], float]


def world(count: int, dimension: int, *, spread: float, families: int, seed: int = 0) -> NDArray[np.float32]:
    """Unit vectors in families, with a part that all of them share, as texts have."""
    dice = np.random.default_rng([seed, count])
    # Like those of an embedder: a few directions say much, most say little.
    scale = 1 / np.sqrt(1 + np.arange(dimension))
    centres = dice.normal(size=(families, dimension)) * scale + 0.05
    vectors = centres[dice.integers(0, families, count)] + spread * dice.normal(size=(count, dimension)) * scale
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def by_comparing_all(vectors: NDArray[np.float32], least: float, most: int) -> Found:
    """What the promise says, in the plainest way."""
    scores = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    np.fill_diagonal(scores, -1)
    out: Found = {}
    for one, row in enumerate(scores):
        for other in np.argsort(-row, kind="stable")[:most].tolist():
            if row[other] < least:
                break
            out[min(one, other), max(one, other)] = float(row[other])
    return out


def found(pairs: Pairs) -> Found:
    assert (np.diff(pairs.score) <= 0).all(), "the nearest come first"
    keys = list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert len(keys) == len(set(keys)), "each pair comes once"
    return dict(zip(keys, pairs.score.tolist(), strict=True))


@cases("near_pairs")
def test_among_a_few_thousand_it_finds_what_comparing_all_finds(
    count: int, dimension: int, spread: float, families: int, least: float
) -> None:
    """The same pairs with the same scores."""
    vectors = world(count, dimension, spread=spread, families=families)
    expected = by_comparing_all(vectors, least, most=4)
    assert found(find_pairs(vectors, least, 4)) == pytest.approx(expected, abs=1e-5)


def test_from_a_few_only_what_they_reach_is_found() -> None:
    """All that is tied to them, through others too, and nothing of the rest."""
    vectors = world(2_000, 96, spread=0.4, families=150)
    everything = found(find_pairs(vectors, 0.83, 1_000))
    reached, waiting = set(), [0, 7]
    while waiting:
        at = waiting.pop()
        reached.add(at)
        waiting += [b for pair in everything if at in pair for b in pair if b not in reached]
    some = {pair: score for pair, score in everything.items() if pair[0] in reached}

    assert 0 < len(some) < len(everything) / 2
    assert found(find_pairs(vectors, 0.83, 1_000, [0, 7])) == pytest.approx(some, abs=1e-6)


def test_a_crowd_of_the_same_keeps_its_few_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each keeps its few nearest, however many there are, in blocks of whatever size."""
    monkeypatch.setattr(near_pairs, "_MAX_SCORES", 100_000)
    vectors = np.repeat(world(3, 96, spread=0.5, families=3), 500, axis=0)
    near = found(find_pairs(vectors, 0.9, 5))

    assert len(near) <= 5 * len(vectors)
    met = {place for pair in near for place in pair}
    assert met == set(range(len(vectors)))
    assert all(score == pytest.approx(1.0, abs=1e-5) for score in near.values())


def test_how_far_it_is_can_be_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """It only grows, up to all."""
    monkeypatch.setattr(near_pairs, "_MAX_SCORES", 100_000)
    told: list[tuple[int, int]] = []
    find_pairs(world(500, 16, spread=0.5, families=9), 0.9, 4, progress=lambda *d: told.append(d))
    assert told == [(200, 500), (400, 500), (500, 500)]


def test_how_near_a_group_is_is_the_mean_of_its_pairs() -> None:
    """Of 0.8, 1 and 0.8."""
    vectors = np.array([[1, 0], [0.8, 0.6], [1, 0], [0, 1]], np.float32)
    assert cohesion(vectors, [0, 1, 2]) == pytest.approx(2.6 / 3, abs=1e-4)


def test_just_near_enough_is_near_enough() -> None:
    """The threshold belongs to it."""
    assert found(find_pairs(np.array([[1, 0], [1, 0], [0, 1]], np.float32), 1.0, 2)) == {(0, 1): 1.0}

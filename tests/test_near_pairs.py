"""Near pairs among many vectors: as good as all that comparing every two would find, without doing it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from remanence.upkeep.steps import near_pairs
from remanence.upkeep.steps.near_pairs import NearPairFinder

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


def found(near: NearPairFinder, seeds: list[int] | None = None) -> Found:
    pairs = near.pairs(seeds)
    assert (np.diff(pairs.score) <= 0).all(), "the nearest come first"
    keys = list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert len(keys) == len(set(keys)), "each pair comes once"
    return dict(zip(keys, pairs.score.tolist(), strict=True))


@pytest.mark.parametrize(
    ("count", "dimension", "spread", "families", "least"),
    [
        (2_500, 96, 0.5, 200, 0.83),  # some pairs are near
        (1_500, 384, 0.4, 300, 0.88),
        (1_200, 96, 0.3, 3, 0.83),  # nearly everything is near
        (1_300, 96, 1.0, 100, 0.2),  # so low that half of all pairs are
        (1, 16, 0.5, 1, 0.5),
        (0, 16, 0.5, 1, 0.5),
    ],
)
def test_among_a_few_thousand_it_finds_what_comparing_all_finds(
    count: int, dimension: int, spread: float, families: int, least: float
) -> None:
    """The same pairs with the same scores."""
    vectors = world(count, dimension, spread=spread, families=families)
    expected = by_comparing_all(vectors, least, most=4)
    assert found(NearPairFinder(vectors, least, 4)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("spread", "families", "least"), [(0.5, 200, 0.83), (0.4, 300, 0.88), (0.2, 40, 0.95)])
def test_through_cells_it_finds_nearly_all_and_nothing_else(spread: float, families: int, least: float) -> None:
    """99 of 100 pairs, each with its score."""
    vectors = world(2_500, 96, spread=spread, families=families)
    expected = by_comparing_all(vectors, least, most=2_500)
    near = found(NearPairFinder(vectors, least, 2_500, max_single_cell=0))

    assert near.keys() <= expected.keys()
    assert len(near) >= 0.99 * len(expected) > 100
    np.testing.assert_allclose([*near.values()], [expected[pair] for pair in near], rtol=0, atol=1e-5)


def test_four_times_the_vectors_are_far_from_sixteen_times_the_work() -> None:
    """Comparing grows with the root of how many there are, for each of them."""
    work = []
    for count in (2_000, 8_000, 32_000):
        vectors = world(count, 48, spread=0.5, families=200)
        visits = NearPairFinder(vectors, 0.9, 4, max_single_cell=0).candidate_groups(np.arange(count))
        work.append(sum(len(looking) * len(there) for looking, there in visits))
    assert work[1] < 9 * work[0]
    assert work[2] < 9 * work[1]
    assert work[2] < 0.05 * 32_000**2


def test_by_default_few_are_compared_with_all_and_many_are_not() -> None:
    """A few thousand lie in one cell; of more, each is held against some."""
    for count, share in ((4_000, 1.0), (8_000, 0.3)):
        near = NearPairFinder(world(count, 48, spread=0.5, families=200), 0.9, 4)
        visits = near.candidate_groups(np.arange(count))
        work = sum(len(looking) * len(there) for looking, there in visits)
        assert 0 < work <= share * count**2


def test_what_lies_near_a_crowd_of_the_same_is_found() -> None:
    """A third of all vectors are one: the cells that a vector is looked for in are not all copies of one."""
    dice = np.random.default_rng(5)
    vectors = world(6_000, 64, spread=1.0, families=6_000)
    one, crowd = vectors[0].copy(), dice.permutation(6_000)
    vectors[crowd[:2_000]] = one
    pairs = crowd[2_000:2_400].reshape(2, 200)
    drift = dice.normal(size=(2, 200, 64)) / 8
    vectors[pairs[0]] = one + drift[0]
    vectors[pairs[1]] = one + drift[0] + 0.45 * drift[1]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    near = found(NearPairFinder(vectors, 0.83, 16, max_single_cell=0))

    score = np.einsum("ij,ij->i", vectors[pairs[0]], vectors[pairs[1]])
    there = [(min(pair), max(pair)) in near for pair in pairs.T[score >= 0.85].tolist()]
    assert len(there) > 150
    assert sum(there) >= 0.98 * len(there)


def test_from_a_few_only_what_they_reach_is_found() -> None:
    """All that is tied to them, through others too, and nothing of the rest."""
    vectors = world(2_000, 96, spread=0.4, families=150)
    everything = found(NearPairFinder(vectors, 0.83, 1_000))
    reached, waiting = set(), [0, 7]
    while waiting:
        at = waiting.pop()
        reached.add(at)
        waiting += [b for pair in everything if at in pair for b in pair if b not in reached]
    some = {pair: score for pair, score in everything.items() if pair[0] in reached}

    assert 0 < len(some) < len(everything) / 2
    assert found(NearPairFinder(vectors, 0.83, 1_000), [0, 7]) == pytest.approx(some, abs=1e-6)


def test_a_crowd_of_the_same_is_held_in_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each keeps its few nearest, however many there are, and however often they are cut down to those."""
    monkeypatch.setattr(near_pairs, "_MAX_BUFFERED_PAIRS", 1_000)
    vectors = np.repeat(world(3, 96, spread=0.5, families=3), 500, axis=0)
    near = found(NearPairFinder(vectors, 0.9, 5, max_single_cell=0))

    assert len(near) <= 5 * len(vectors)
    met = {place for pair in near for place in pair}
    assert met == set(range(len(vectors)))
    assert all(score == pytest.approx(1.0, abs=1e-5) for score in near.values())


def test_how_far_it_is_can_be_watched() -> None:
    """It only grows, up to all."""
    told: list[tuple[int, int]] = []
    near = NearPairFinder(world(2_500, 16, spread=0.5, families=9), 0.9, 4, max_single_cell=0)
    near.pairs(progress=lambda *d: told.append(d))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] > 10


def test_how_near_a_group_is_is_the_mean_of_its_pairs() -> None:
    """Of 0.8, 1 and 0.8."""
    near = NearPairFinder(
        np.array([[1, 0], [0.8, 0.6], [1, 0], [0, 1]], np.float32), min_similarity=0.7, max_neighbours=2
    )
    assert near.cohesion([0, 1, 2]) == pytest.approx(2.6 / 3, abs=1e-4)


def test_just_near_enough_is_near_enough() -> None:
    """The threshold belongs to it."""
    assert found(
        NearPairFinder(np.array([[1, 0], [1, 0], [0, 1]], np.float32), min_similarity=1.0, max_neighbours=2)
    ) == {(0, 1): 1.0}

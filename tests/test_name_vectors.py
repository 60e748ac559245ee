"""The names whose vectors are nearest to that of a question."""

from __future__ import annotations

import numpy as np
import pytest

from remanence.index.graph.mention_index import NameVectors


@pytest.fixture
def many() -> np.ndarray:
    """Around a hundred centres."""
    dice = np.random.default_rng(7)
    around = dice.standard_normal((100, 64))[dice.integers(0, 100, 5_000)]
    vectors = around + 0.5 * dice.standard_normal((5_000, 64))
    unit: np.ndarray = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def kept(vectors: np.ndarray) -> NameVectors:
    near = NameVectors()
    near.put(dict(enumerate(vectors)), len(vectors))
    return near


def everything(places: np.ndarray) -> np.ndarray:
    return np.ones(len(places), np.bool_)


def test_the_nearest_is_found(many: np.ndarray) -> None:
    """And its score is the exact one, in half precision."""
    near = kept(many)
    for place in range(0, 5_000, 97):
        [(found, score)] = near.nearest(many[place], everything, 1, min_similarity=0.6)
        assert found == place
        assert score == pytest.approx(1.0, abs=1e-3)


def test_what_is_not_known_is_not_found(many: np.ndarray) -> None:
    """However near it is."""
    near = kept(many)
    assert 42 not in [place for place, _ in near.nearest(many[42], lambda places: places != 42, 20, min_similarity=0.6)]


def test_one_that_comes_late_is_found_too(many: np.ndarray) -> None:
    """Filled in, or added."""
    near = NameVectors()
    near.put({place: vector for place, vector in enumerate(many) if place != 7}, 5_000)
    assert near.places_without_vector(5_001) == [7, 5_000]
    assert near.nearest(many[7], everything, 1, min_similarity=0.6)[0][0] != 7

    near.put({7: many[7], 5_000: many[0]}, 5_001)
    assert near.nearest(many[7], everything, 1, min_similarity=0.6)[0][0] == 7
    assert {place for place, _ in near.nearest(many[0], everything, 2, min_similarity=0.6)} == {0, 5_000}

"""Where the nodes of a large map are drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import remanence
from remanence.graph.entity_map import _layout, place_nodes
from remanence.testing import HashingEmbedder

GROUPS = 50


def grouped_edges(count: int) -> list[tuple[int, int, float]]:
    """Every node belongs to one of `GROUPS`; a few edges lead out of them."""
    inside = [(node, (node + step * GROUPS) % count, 2.0) for node in range(count) for step in (1, 3, 7, 12, 20, 33)]
    return inside + [(node, (node * 31 + 1) % count, 1.0) for node in range(0, count, 40)]


def test_those_that_belong_together_are_in_a_disc() -> None:
    """The most important in its middle, no disc on another."""
    xs, ys = (each.reshape(-1, GROUPS) for each in place_nodes(5_000, grouped_edges(5_000))[1].T)
    radii = np.hypot(xs - xs[0], ys - ys[0]).max(axis=0)
    between = np.hypot(xs[0][:, None] - xs[0], ys[0][:, None] - ys[0])
    whole = radii < 150
    assert whole.mean() > 0.9
    assert (between + np.eye(GROUPS) * 1_000 > radii[:, None] + radii - 1)[np.ix_(whole, whole)].all()


@pytest.mark.parametrize("count", [0, 1, 2, 1_000])
def test_nodes_without_edges_do_not_cover_each_other(count: int) -> None:
    _, points = place_nodes(count, [])
    assert points.shape == (count, 2)
    assert len(np.unique(points.round(), axis=0)) == count


def test_nodes_are_where_they_were() -> None:
    """The same map is drawn the same way, in every process."""
    edges = grouped_edges(1_000)
    assert np.array_equal(place_nodes(1_000, edges)[1], place_nodes(1_000, edges)[1])


def test_the_layout_of_a_map_is_found_once() -> None:
    """It depends on the edges alone, which have no text."""
    _layout.cache_clear()
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        space.add_many(
            {"text": f"Note {n}.", "entities": [(f"Thing{n}", "thing"), ("Hub", "thing")]} for n in range(40)
        )
        found = [space.graph.entity_map(layout=True) for _ in range(2)]
    assert found[0] == found[1]
    assert len(found[0].coordinates) == len(found[0].communities) == len(found[0].nodes) == 41
    assert _layout.cache_info()[:2] == (1, 1)


@pytest.mark.parametrize("parent", [lambda node: node // 7, lambda node: node * 7_919 % 97 * node // 97])
def test_neighbours_of_a_tree_are_near_each_other(parent: Callable[[int], int]) -> None:
    """Also where no three nodes are connected with each other."""
    edges = [(node, parent(node), 1.0) for node in range(1, 3_000)]
    _, points = place_nodes(3_000, edges)
    ends = np.array([edge[:2] for edge in edges])
    near = np.median(np.hypot(*(points[ends[:, 0]] - points[ends[:, 1]]).T))
    assert near < np.median(np.hypot(*(points - points[::-1]).T)) / 5

"""Where the nodes of a large map are drawn: each in a disc with those it belongs to, the discs beside each other, those
that are connected near each other. The most important node of a group is in its middle."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Edge = tuple[int, int, float]
"""Two nodes by their place, and how closely they are connected."""
_Points = NDArray[np.float64]

_SWEEPS = 8
_MAX_SHARE = 1 / 14
"""Of all nodes, the most of one group: a graph that hangs together still becomes several."""
_MIN_GROUP = 20
_MAX_GROUPS = 150
_SPACING, _GAP = 11.0, 26.0
_GOLDEN = math.pi * (3 - math.sqrt(5))
_ROUNDS, _LAST_ROUNDS = 60, 300
_PULL, _OVERLAP, _GROWTH = 0.08, 0.5, 1.01


def place_nodes(count: int, edges: Sequence[Edge]) -> _Points:
    """Where each node is, the most important first: x and y.

    >>> place_nodes(2, [(0, 1, 1.0)]).round().tolist()
    [[0.0, 0.0], [-8.0, 7.0]]
    """
    groups = _groups(count, edges)
    sizes = np.array([len(group) for group in groups])
    group_of = np.empty(count, np.int64)
    for number, group in enumerate(groups):
        group_of[group] = number
    middles = _spread_discs(_SPACING * np.sqrt(sizes) + _GAP / 2, _connections(edges, group_of))
    points = np.empty((count, 2))
    for middle, group in zip(middles, groups, strict=True):
        points[group] = middle + _spiral(_SPACING * np.sqrt(np.arange(len(group))))
    return points


def _groups(count: int, edges: Sequence[Edge]) -> list[list[int]]:
    """The nodes that belong together, the largest group first. Of very many groups, the small ones that are connected
    with no other are one."""
    most = max(_MIN_GROUP, int(count * _MAX_SHARE))
    labels = _labels([1] * count, edges, most)
    groups = _members(labels)
    # Where few belong together more than others, as in a tree, groups stay small. They are put together as nodes
    # were, then those beside the same group.
    for join in (_labels, _labels, _labels, _siblings):
        if len(groups) <= _MAX_GROUPS:
            break
        number_of = {labels[group[0]]: number for number, group in enumerate(groups)}
        between: dict[tuple[int, int], float] = {}
        for one, other, weight in edges:
            pair = number_of[labels[one]], number_of[labels[other]]
            if pair[0] != pair[1]:
                between[pair] = between.get(pair, 0.0) + weight
        joined = join([len(group) for group in groups], [(*pair, weight) for pair, weight in between.items()], most)
        labels = [joined[number_of[label]] for label in labels]
        groups = _members(labels)
    rest = sorted(node for group in groups[_MAX_GROUPS:] for node in group)
    return [*groups[:_MAX_GROUPS], rest] if rest else groups


def _siblings(sizes: list[int], edges: Sequence[Edge], most: int) -> list[int]:
    """The group of each node: that of others with the same strongest neighbour, while there is room."""
    strongest: dict[int, tuple[float, int]] = {}
    for one, other, weight in edges:
        for node, near in ((one, other), (other, one)):
            strongest[node] = max(strongest.get(node, (0.0, -1)), (weight, -near))
    found, filled = list(range(len(sizes))), list(sizes)
    open_group: dict[int, int] = {}
    for node, (_, near) in sorted(strongest.items()):
        group = open_group.setdefault(near, node)
        if group == node or filled[group] + sizes[node] > most:
            open_group[near] = node
        else:
            found[node] = group
            filled[group] += sizes[node]
    return found


def _members(labels: Sequence[int]) -> list[list[int]]:
    """The nodes of each label, the most first."""
    members: dict[int, list[int]] = {}
    for node, label in enumerate(labels):
        members.setdefault(label, []).append(node)
    return sorted(members.values(), key=lambda group: (-len(group), group[0]))


def _labels(sizes: list[int], edges: Sequence[Edge], most: int) -> list[int]:
    """The group of each node, which has a size: again and again that of most of its neighbours, while there is room."""
    links: list[list[tuple[int, float]]] = [[] for _ in sizes]
    for one, other, weight in edges:
        links[one].append((other, weight))
        links[other].append((one, weight))
    # Hubs have less weight: they connect unrelated nodes.
    votes_of = [1 / math.sqrt(max(1, len(node_links))) for node_links in links]
    labels, filled = list(range(len(sizes))), list(sizes)
    for _ in range(_SWEEPS):
        changed = 0
        for node, near in enumerate(links):
            votes: dict[int, float] = {}
            for other, weight in near:
                label = labels[other]
                votes[label] = votes.get(label, 0.0) + weight * votes_of[other]
            before = best = labels[node]
            strongest = votes.get(before, 0.0)
            for label, total in votes.items():
                if total > strongest and filled[label] + sizes[node] <= most:
                    best, strongest = label, total
            if best != before:
                filled[before] -= sizes[node]
                filled[best] += sizes[node]
                labels[node] = best
                changed += 1
        if changed < len(sizes) / 200:
            break
    return labels


def _connections(edges: Sequence[Edge], group_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """How strongly groups are connected, as a matrix."""
    size = int(group_of.max(initial=0)) + 1
    strengths = np.zeros((size, size))
    if edges:
        given = np.array(edges)
        ends = group_of[given[:, :2].astype(np.int64)]
        np.add.at(strengths, (ends[:, 0], ends[:, 1]), given[:, 2])
    strengths += strengths.T
    np.fill_diagonal(strengths, 0.0)
    return strengths


def _spread_discs(radii: _Points, connections: NDArray[np.float64]) -> _Points:
    """The middles of discs: connected ones near each other, the largest near the middle, none on another."""
    areas = np.concatenate(([0.0], np.cumsum(4 * radii**2)[:-1]))
    middles = _spiral(np.sqrt(areas / math.pi) * 1.15)
    pulls = np.sqrt(connections / max(1.0, connections.max(initial=0.0)))
    reach = radii[:, None] + radii
    shares = radii / reach  # of the disc in the column, which the one in the row moves by
    for number in range(_ROUNDS):
        apart = middles - middles[:, None]
        strength = _PULL * (1 - number / _ROUNDS) * pulls * shares
        middles = middles + (apart * strength[:, :, None]).sum(axis=1)
        middles, _ = _push_apart(middles, reach, shares)
    for _ in range(_LAST_ROUNDS):
        middles, overlap = _push_apart(middles, reach, shares)
        if not overlap:
            break
        middles = middles * _GROWTH
    return middles


def _push_apart(middles: _Points, reach: _Points, shares: _Points) -> tuple[_Points, bool]:
    """Move discs that overlap away from each other; whether there were any."""
    apart = middles[:, None] - middles
    distances = np.hypot(apart[:, :, 0], apart[:, :, 1])
    np.fill_diagonal(distances, np.inf)
    overlaps = np.maximum(reach - np.maximum(distances, 0.01), 0.0)
    overlaps[overlaps <= _OVERLAP] = 0.0
    if not overlaps.any():
        return middles, False
    # Each moves by the mean of its pushes: by their sum, a disc among many would leap over the others.
    counts = np.maximum(1, np.count_nonzero(overlaps, axis=1))
    pushes = (overlaps * shares / np.maximum(distances, 0.01))[:, :, None] * apart
    return middles + pushes.sum(axis=1) / np.sqrt(counts)[:, None], True


def _spiral(radii: _Points) -> _Points:
    """A point at each of these distances from the middle, in ever new directions."""
    angles = np.arange(len(radii)) * _GOLDEN
    return np.stack((radii * np.cos(angles), radii * np.sin(angles)), axis=1)

"""Personalised PageRank in place of the decaying walk of the graph signal, on the neighbourhood of the same seeds.

The neighbourhood has the memories nearest to the question and the names in it, and what `hops` hops lead to from there,
over memories that share a name and over relations. igraph's PageRank restarts at the seeds. A memory gets its rank as a
share of the best seed's, times `weight`, and stays below that seed, as in the walk.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import igraph

from remanence.index.graph.graph_walk import RELATION_WEIGHT, Hop, LocalGraph, ReachedRow
from remanence.schema import Query, RelatedName

_SEED_ROWS = 5
_MAX_NAMES = 256

Vertex = tuple[str, int]


def pagerank(damping: float, weight: float, hops: int = 2) -> Any:
    """A function to call in place of `spread`."""
    return partial(_spread, damping=damping, weight=weight, hops=hops)


def _spread(
    query: Query, graph: LocalGraph, names: Mapping[int, float], *, damping: float, weight: float, hops: int
) -> list[ReachedRow]:
    near = query.candidate_scores
    seeds = {("row", row): near[row] for row in list(near)[:_SEED_ROWS]}
    best = max(seeds.values(), default=1.0)
    seeds |= {("name", name): RELATION_WEIGHT * share for name, share in names.items()}
    edges, relations = _neighbourhood(query, graph, seeds, hops)
    vertices = {vertex: place for place, vertex in enumerate({*seeds, *(end for edge in edges for end in edge)})}
    if not edges or not sum(seeds.values()):
        return []
    local = igraph.Graph(len(vertices), [(vertices[a], vertices[b]) for a, b in edges])
    local.es["weight"] = list(edges.values())
    reset = [seeds.get(vertex, 0.0) for vertex in vertices]
    ranks = local.personalized_pagerank(damping=damping, reset=reset, weights="weight", directed=False)
    top = max(ranks[vertices[seed]] for seed in seeds)
    names_at = _names_at(edges, lambda vertex: ranks[vertices[vertex]])
    out: list[ReachedRow] = []
    for vertex, place in vertices.items():
        if vertex[0] == "row" and vertex not in seeds:
            name = names_at[vertex[1]]
            score = min(weight * best * ranks[place] / top, best - near.get(vertex[1], 0.0))
            source, relation = relations.get(name, (None, None))
            if score > 0:
                out.append(ReachedRow(vertex[1], score, Hop(name, score, best, source=source, relation=relation)))
    return out


def _neighbourhood(
    query: Query, graph: LocalGraph, seeds: Mapping[Vertex, float], hops: int
) -> tuple[dict[tuple[Vertex, Vertex], float], dict[int, tuple[int, RelatedName]]]:
    """The edges around the seeds with their weights, and the relation that led to each name that one led to."""
    edges: dict[tuple[Vertex, Vertex], float] = {}
    relations: dict[int, tuple[int, RelatedName]] = {}
    rows = [number for kind, number in seeds if kind == "row"]
    names = [number for kind, number in seeds if kind == "name"]
    for source in names:
        for relation in query.related_names(source)[-32:]:
            edges[("name", source), ("name", relation.name)] = relation.confidence
            relations.setdefault(relation.name, (source, relation))
    known = {*names, *relations}
    names = [*relations]
    seen = set(rows)
    for _ in range(hops):
        for row, found in zip(rows, graph.names_in(rows), strict=True):
            for name in found:
                edges[("row", row), ("name", name)] = max(graph.specificity(name), 1e-3)
                if name not in known and len(names) < _MAX_NAMES:
                    known.add(name)
                    names.append(name)
        new = []
        for name, row, share in graph.rows_about(names):
            edges[("row", row), ("name", name)] = max(graph.specificity(name), 1e-3) * share
            if row not in seen:
                seen.add(row)
                new.append(row)
        rows, names = new, []
    return edges, relations


def _names_at(edges: Mapping[tuple[Vertex, Vertex], float], rank: Any) -> dict[int, int]:
    """For each row the name beside it that has the highest rank."""
    out: dict[int, int] = {}
    for (kind, row), name in edges:
        if kind == "row" and (row not in out or rank(name) > rank(("name", out[row]))):
            out[row] = name[1]
    return out

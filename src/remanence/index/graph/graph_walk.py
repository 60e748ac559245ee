"""The walk of the graph signal: from what the question is about to memories a few hops away.

A hop leads to a name: from a memory that has it, or from another name along a relation that holds at the time asked
for. The memories about that name are reached, and the next hop starts from the best of them. Each hop costs a part of
the score, and so does a name that many memories have. At every hop only the best few are followed, so that the walk is
local however large the graph is. What it may pass is a graph of igraph, in which the best chain to a name or a memory
is a shortest path. `WalkScores` collects what each step adds to the score of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.index.graph.mention_index import MENTION, SUBJECT, MentionIndex
from remanence.schema import Query, RelatedName
from remanence.text.text import tokens

MAX_HOPS = 2
"""Names that the walk passes, one after the other, from the memories it starts from. In 2Wiki a third one changes no
hit."""
MAX_RELATIONS = 3
HOP_DECAY = 0.4
"""The factor for the score of each hop after the first. On MuSiQue, 1 in its place loses 0.9 points of R@5."""
HOP_WEIGHT = 0.9
"""The share of the score of the memory that led to a name, for a memory about the name. Fitted on HotpotQA, 2Wiki and
MuSiQue."""
RELATION_WEIGHT = 0.3
"""Points of score for a memory about a name that is related to a name in the question."""
START_ROWS = 5
"""Memories from which a hop starts, the best. Fitted on HotpotQA, 2Wiki and MuSiQue."""
_HOP_NAMES = 32
_EXAMINED_NAMES = 4
"""Names after each relation of which it is asked whether a memory mentions them: reading the relations of one costs
about a third of a millisecond."""
MENTIONED_SHARE = 0.3
"""The share of the score of a memory about a name, for a memory of up to `_SHORT_MEMORY` characters that only mentions
it."""
_SHORT_MEMORY = 200
"""Characters up to which a memory is short: what it mentions, it is about."""
_MAX_HOP_ROWS = 8
"""Memories about one name up to which a hop to it is followed: a name of more says little."""


class Hop(NamedTuple):
    """A hop to a name: from the memory `row`, or along `relation` from the name `source`."""

    name: int
    score: float
    """The score added to each memory about the name."""
    ceiling: float
    """The maximum total score: less than that of the memory before the hop."""
    before: Hop | None = None
    """The hop that led to the memory."""
    row: int | None = None
    source: int | None = None
    relation: RelatedName | None = None


class ReachedRow(NamedTuple):
    """A row, its score, and the hop that led to it; none for the rows where the walk starts."""

    row: int
    score: float
    hop: Hop | None = None


Vertex = tuple[str, int, int]
"""What a walk passes: what it is, the number of the hop, and the number of the name or the row."""
Rows = NDArray[np.integer[Any]]
Scores = NDArray[np.floating[Any]]


class WalkScores:
    """Scores of rows, collected step by step and added up at the end: there may be millions of rows, and a walk
    reaches a few hundred."""

    def __init__(self, query: Query) -> None:
        self.allowed = query.allowed
        self.visible_end = _visible_end(query.visible)
        self.near_rows: Rows = np.fromiter(query.candidate_scores, np.int64, len(query.candidate_scores))
        """The rows that the earlier stages agree on, best first; their scores follow."""
        self.near_scores: Scores = np.fromiter(query.candidate_scores.values(), np.float64, len(query.candidate_scores))
        self._rows: list[Rows] = [np.empty(0, np.int64)]
        self._scores: list[Scores] = [np.empty(0)]
        self._reasons: list[str | Callable[[int], str]] = [""]

    def add_score(self, rows: Rows, score: float, why: str) -> None:
        """Add a score to these rows. Each is listed once and may be returned."""
        if score > 0:
            self._append(rows, np.full(len(rows), score), why)

    def add_scores(self, rows: Rows, scores: Scores, why: str | Callable[[int], str]) -> None:
        """Add a score to each of these rows that may be returned. `why` is the reason, or a function from a row to the
        reason."""
        counted = np.flatnonzero(self.allowed[rows] & (scores > 0))
        self._append(rows[counted], scores[counted], why)

    def scored_rows_with(self, rows: Rows) -> Rows:
        """These rows and those that have a score so far, sorted, each once."""
        return np.unique(np.concatenate((rows, *self._rows)))

    def total_scores(self) -> tuple[Rows, NDArray[np.float64]]:
        """The rows that have a score, sorted, and the sum of each."""
        rows, places = np.unique(np.concatenate(self._rows), return_inverse=True)
        scores: NDArray[Any] = np.bincount(places, weights=np.concatenate(self._scores), minlength=len(rows))
        return rows, scores

    def reasons(self, wanted: Sequence[int]) -> list[str]:
        """The reason with the highest score for each of these rows; of equals the first."""
        best: dict[int, tuple[float, str | Callable[[int], str]]] = dict.fromkeys(wanted, (0.0, ""))
        for rows, scores, why in zip(self._rows, self._scores, self._reasons, strict=True):
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
                if row in best and score > best[row][0]:
                    best[row] = score, why
        reasons = [best[row][1] for row in wanted]
        return [why if isinstance(why, str) else why(row) for row, why in zip(wanted, reasons, strict=True)]

    def _append(self, rows: Rows, scores: Scores, why: str | Callable[[int], str]) -> None:
        self._rows.append(rows)
        self._scores.append(scores)
        self._reasons.append(why)


def _visible_end(visible: NDArray[np.bool_]) -> int:
    if not visible.any():
        return 0
    return len(visible) if visible[-1] else len(visible) - int(np.argmax(visible[::-1]))


class LocalGraph:
    """The graph as the walk of one query sees it."""

    def __init__(self, graph: MentionIndex, query: Query, walk: WalkScores) -> None:
        self._graph, self._query, self._walk = graph, query, walk
        self._asked = set(tokens(query.text))

    def names_in(self, rows: Sequence[int]) -> Iterator[list[int]]:
        """For each of these rows the names in it that a hop may lead to."""
        for names in self._graph.names_of_each(rows):
            yield [name for name in names if not _words_of(self._graph.spelling(name)) <= self._asked]

    def specificity(self, name: int) -> float:
        return self._graph.specificity(name, self._walk.visible_end)

    def is_mentioned(self, name: int) -> bool:
        return self._graph.is_known(name, self._query.visible)

    def rows_about(self, names: Iterable[int]) -> Iterator[tuple[int, int, float]]:
        """The rows about each of these names: the name, the row, and how far the row is about it."""
        graph, end, names_of_same_entity = self._graph, self._walk.visible_end, self._query.names_of_same_entity
        pairs = [(name, same) for name in names for same in names_of_same_entity(name) if not graph.is_hub(same, end)]
        counts, rows, kinds = graph.mentions_of_each(same for _, same in pairs)
        owners = np.repeat(np.array([name for name, _ in pairs], np.int64), counts)
        short = (kinds == MENTION) & graph.short_notes(rows, _SHORT_MEMORY)
        shares = np.where(kinds == SUBJECT, 1.0, MENTIONED_SHARE * short)
        about = np.flatnonzero(self._walk.allowed[rows] & (shares > 0))
        _, places = np.unique(owners[about], return_inverse=True)
        few = about[np.bincount(places)[places] <= _MAX_HOP_ROWS] if len(about) else about
        return zip(owners[few].tolist(), rows[few].tolist(), shares[few].tolist(), strict=True)


class ChainGraph:
    """What a walk may pass, as a graph of igraph. A step leaves a part of the score, and costs the logarithm of that
    part: the best chain to a vertex is the shortest path from the seeds."""

    def __init__(self) -> None:
        import igraph  # takes a tenth of a second, and a process that only writes does not need it

        self._graph = igraph.Graph(1, directed=True)  # the seeds are vertex 0
        self._places: dict[Vertex, int] = {}
        self._sources: list[Vertex | None] = []
        self._costs: list[float] = []
        self._new_edges: list[tuple[int, int]] = []

    def lead(self, source: Vertex | None, target: Vertex, part: float) -> None:
        """Add a step that leaves this part of a score, from the seeds if there is no source. None leads to nothing."""
        if part > 0:
            from_place = 0 if source is None else self._places[source]
            self._new_edges.append((from_place, self._places.setdefault(target, len(self._places) + 1)))
            self._sources.append(source)
            self._costs.append(-log(part))

    def best(self, targets: Iterable[Vertex], count: int | None = None) -> dict[Vertex, tuple[float, Vertex | None]]:
        """The score of the best chain to each of these vertices to which one leads, and the vertex before it in that
        chain. The best come first, at most `count`."""
        self._graph.add_vertices(len(self._places) + 1 - self._graph.vcount())
        self._graph.add_edges(self._new_edges)
        self._new_edges.clear()
        wanted = [target for target in dict.fromkeys(targets) if target in self._places]
        paths = self._graph.get_shortest_paths(
            0, [self._places[target] for target in wanted], weights=self._costs, output="epath"
        )
        found = [
            (exp(-sum(self._costs[edge] for edge in path)), self._sources[path[-1]], target)
            for target, path in zip(wanted, paths, strict=True)
        ]
        ordered = sorted(found, key=lambda each: each[0], reverse=True)[:count]
        return {target: (score, source) for score, source, target in ordered}


def spread(query: Query, graph: LocalGraph, names: Mapping[int, float]) -> list[ReachedRow]:
    """The rows that up to `MAX_HOPS` hops from the nearest rows lead to, and those to which relations of `names` lead.
    Each name counts for its share. A row that is reached in both ways is listed twice."""
    near, chains = query.candidate_scores, ChainGraph()
    found: dict[str, dict[int, ReachedRow]] = {"memory": {}, "relation": {}}
    along = _names_by_relations(names, query, graph, chains)
    rows = [ReachedRow(row, near[row]) for row in list(near)[:START_ROWS]]
    passed = {seen_row.row for seen_row in rows}
    for number in range(MAX_HOPS):
        hops = _names_in_rows(rows, graph, chains, number) | along
        by_name: dict[int, list[Vertex]] = {}
        for vertex in hops:
            by_name.setdefault(vertex[-1], []).append(vertex)
        ends: list[Vertex] = []
        # One look-up for both: that is most of what a hop costs.
        for name, row, share in graph.rows_about(by_name):
            for vertex in by_name[name]:
                hop, end = hops[vertex], ("memory" if hops[vertex].relation is None else "relation", number, row)
                if not _has_passed(hop, row):
                    score = min(hop.score * share, hop.ceiling - near.get(row, 0.0))
                    chains.lead(vertex, end, score / hop.score)
                    ends.append(end)
        new: dict[int, ReachedRow] = {}
        for (way, _, row), (score, source) in chains.best(ends).items():
            assert source is not None
            reached = ReachedRow(row, score, hops[source])
            _keep_best(found[way], reached)
            _keep_best(new, reached)
        along = {}  # relations are followed once, and from there on what memories say
        totals = {row: candidate.score + near.get(row, 0.0) for row, candidate in new.items() if row not in passed}
        rows = [
            ReachedRow(row, totals[row], new[row].hop) for row in nlargest(START_ROWS, totals, key=totals.__getitem__)
        ]
        passed.update(totals)
    return [reached for by_row in found.values() for reached in by_row.values()]


def describe(hop: Hop, spelling: Callable[[int], str]) -> str:
    """The way to a name in words: "Ana works at Stripe → PostgreSQL, which a memory about Stripe names"."""
    name = spelling(hop.name)
    if hop.relation is not None and hop.source is not None:
        ends = spelling(hop.source), name
        subject, object_ = ends if hop.relation.from_subject else ends[::-1]
        way = f"{subject} {hop.relation.predicate.replace('_', ' ')} {object_}"
        return way if hop.before is None else f"{describe(hop.before, spelling)} → {way}"
    if hop.before is None:
        return f"{name}, which a memory near the question names"
    return f"{describe(hop.before, spelling)} → {name}, which a memory about {spelling(hop.before.name)} names"


def _names_in_rows(rows: Sequence[ReachedRow], graph: LocalGraph, chains: ChainGraph, number: int) -> dict[Vertex, Hop]:
    """The best hop of this number to each of the best names in these rows."""
    starts: dict[Vertex, ReachedRow] = {("start", number, start.row): start for start in rows}
    targets: list[Vertex] = []
    for (vertex, start), found in zip(starts.items(), graph.names_in([start.row for start in rows]), strict=True):
        chains.lead(None, vertex, start.score)
        for name in found if start.score > 0 else ():
            if start.hop is None or name != start.hop.name:
                part = HOP_WEIGHT * (HOP_DECAY if number else 1.0) * graph.specificity(name)
                chains.lead(vertex, ("name", number, name), part)
                targets.append(("name", number, name))
    best = chains.best(targets, _HOP_NAMES)
    return {
        vertex: Hop(vertex[-1], score, starts[source].score, starts[source].hop, starts[source].row)
        for vertex, (score, source) in best.items()
        if source is not None
    }


def _names_by_relations(
    names: Mapping[int, float], query: Query, graph: LocalGraph, chains: ChainGraph
) -> dict[Vertex, Hop]:
    """The best hop to each name that relations lead to from the names in the question. Where it names only one entity,
    the relations of a name that no memory mentions lead on: from Ana to Stripe, where she works, and to PostgreSQL,
    which Stripe uses. From other names memories do, which costs less."""
    along: dict[Vertex, Hop] = {}
    starts: list[Vertex] = [("named", 0, name) for name in names]
    for start, share in zip(starts, names.values(), strict=True):
        chains.lead(None, start, RELATION_WEIGHT * share)
    left = MAX_RELATIONS - 1 if len({min(query.names_of_same_entity(name)) for name in names}) == 1 else 0
    for number in range(MAX_RELATIONS if RELATION_WEIGHT else 0):
        relations: dict[tuple[Vertex, Vertex], RelatedName] = {}
        for start in starts:
            for relation in query.related_names(start[-1]):
                target = ("related", 0, relation.name)
                if relation.name not in names and target not in along:
                    part = (HOP_DECAY if number else 1.0) * relation.confidence * graph.specificity(relation.name)
                    chains.lead(start, target, part)
                    relations.setdefault((start, target), relation)
        found = {
            target: Hop(
                target[-1], score, 1.0, along.get(source), source=source[-1], relation=relations[source, target]
            )
            for target, (score, source) in chains.best((target for _, target in relations), _HOP_NAMES).items()
            if source is not None
        }
        along |= found
        if not left or not found:
            break
        unmentioned = (vertex for vertex in islice(found, _EXAMINED_NAMES) if not graph.is_mentioned(vertex[-1]))
        starts = [*islice(unmentioned, left)]
        left -= len(starts)
    return along


def _has_passed(hop: Hop | None, row: int) -> bool:
    while hop is not None:
        if hop.row == row:
            return True
        hop = hop.before
    return False


def _keep_best(into: dict[int, ReachedRow], reached: ReachedRow) -> None:
    if reached.row not in into or reached.score > into[reached.row].score:
        into[reached.row] = reached


@lru_cache(1 << 14)
def _words_of(name: str) -> frozenset[str]:
    return frozenset(tokens(name))

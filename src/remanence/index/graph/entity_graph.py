"""The graph signal: memories connected to what the question is about.

Every question has three kinds of names: names in the question, also in part or in lower case; names whose own embedding
is near it; and names in the memories that the earlier stages found. Memories about the first two score at once. From
names and memories a walk leads on, over relations that hold at the time asked for. Turns adjacent to a near one and
other passages of its document score too.

A hop of the walk leads to a name: from a memory that has it, or from another name along a relation. The memories about
that name are reached, and the next hop starts from the best of them. Each hop costs a part of the score, and so does a
name that many memories have. At every hop only the best few are followed.

Everything is local, with limited fan-out. The scores have a fixed scale, so a weak connection stays weak.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from remanence.index.arrays import top_indices
from remanence.index.graph.mention_index import MENTION, SUBJECT, MentionIndex, name_vertex
from remanence.ports import Stage
from remanence.schema import Query, Ranking, RelatedName
from remanence.text.text import tokens

MAX_HOPS = 2
"""How many names the walk passes from the memories it starts from."""
MAX_RELATIONS = 3
"""How many relations are followed one after the other from a name in the question."""
HOP_DECAY = 0.4
"""The factor of each hop after the first."""
HOP_WEIGHT = 0.9
"""The share of the score of the memory that led to a name, for a memory about the name."""
RELATION_WEIGHT = 0.3
"""The score of a memory about a name that is related to a name in the question."""
START_ROWS = 5
"""From how many memories a hop starts."""
_HOP_NAMES = 32
"""To how many names a hop leads, the best."""
_EXAMINED_NAMES = 4
"""Of how many names after each relation it is asked whether a memory mentions them: reading the relations of one costs
about a third of a millisecond."""
_RELATION_FAN_OUT = 32
"""How many relations of a name are followed, the newest."""
MENTIONED_SHARE = 0.3
"""How far a memory of up to `_SHORT_MEMORY` characters is about a name that it only mentions."""
_SHORT_MEMORY = 200
"""Characters up to which a memory is short: what it mentions, it is about."""
_MAX_HOP_ROWS = 8
"""A name that more memories are about is not followed."""


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


_Scored = TypeVar("_Scored", Hop, ReachedRow)
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


def spread(query: Query, graph: LocalGraph, names: Mapping[int, float]) -> list[ReachedRow]:
    """The rows that up to `MAX_HOPS` hops from the nearest rows lead to, and those to which relations of `names` lead.
    Each name counts for its share. A row that is reached in both ways is listed twice."""
    near = query.candidate_scores
    by_memory, by_relation = dict[int, ReachedRow](), dict[int, ReachedRow]()
    along = _names_by_relations(names, query, graph)
    rows = [ReachedRow(row, near[row]) for row in list(near)[:START_ROWS]]
    passed = {seen_row.row for seen_row in rows}
    for number in range(MAX_HOPS):
        hops = _best_hops(_hops_from_rows(rows, graph, HOP_DECAY if number else 1.0), _HOP_NAMES)
        new: dict[int, ReachedRow] = {}
        # One look-up for both: that is most of what a hop costs.
        for name, row, share in graph.rows_about(hops | along):
            for found, hop in ((by_memory, hops.get(name)), (by_relation, along.get(name))):
                reached = None if hop is None else _reach(hop, row, share, near)
                if reached is not None:
                    _keep_best(found, row, reached)
                    _keep_best(new, row, reached)
        along = {}  # relations are followed once, and from there on what memories say
        totals = {row: candidate.score + near.get(row, 0.0) for row, candidate in new.items() if row not in passed}
        rows = [
            ReachedRow(row, totals[row], new[row].hop) for row in nlargest(START_ROWS, totals, key=totals.__getitem__)
        ]
        passed.update(totals)
    return [*by_memory.values(), *by_relation.values()]


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


def _hops_from_rows(rows: Sequence[ReachedRow], graph: LocalGraph, decay: float) -> Iterator[Hop]:
    for (row, score, before), names in zip(rows, graph.names_in([scored_row.row for scored_row in rows]), strict=True):
        for name in names:
            if before is None or name != before.name:
                yield Hop(name, HOP_WEIGHT * decay * score * graph.specificity(name), score, before, row)


def _names_by_relations(names: Mapping[int, float], query: Query, graph: LocalGraph) -> dict[int, Hop]:
    """The best hop to each name that relations lead to from the names in the question. Where it names only one entity,
    the relations of a name that no memory mentions lead on: from Ana to Stripe, where she works, and to PostgreSQL,
    which Stripe uses. From other names memories do, which costs less."""
    starts = [Hop(name, RELATION_WEIGHT * share, 1.0) for name, share in names.items()]
    along: dict[int, Hop] = {}
    left = MAX_RELATIONS - 1 if len({min(query.names_of_same_entity(name)) for name in names}) == 1 else 0
    for _ in range(MAX_RELATIONS):
        found = _best_hops(_hops_along_relations(starts, query, graph, {*names, *along}), _HOP_NAMES)
        along |= found
        if not left or not found:
            break
        best = (hop for hop in _best(found.values(), _EXAMINED_NAMES) if not graph.is_mentioned(hop.name))
        starts = [hop._replace(score=HOP_DECAY * hop.score) for hop in islice(best, left)]
        left -= len(starts)
    return along


def _hops_along_relations(
    starts: Sequence[Hop], query: Query, graph: LocalGraph, passed: Collection[int]
) -> Iterator[Hop]:
    for start in starts:
        before = None if start.relation is None else start
        for relation in query.related_names(start.name)[-_RELATION_FAN_OUT:]:
            if relation.name not in passed:
                score = start.score * relation.confidence * graph.specificity(relation.name)
                yield Hop(relation.name, score, 1.0, before, source=start.name, relation=relation)


def _best_hops(hops: Iterable[Hop], count: int) -> dict[int, Hop]:
    """The best hop to each of the best names."""
    by_name: dict[int, Hop] = {}
    for hop in hops:
        _keep_best(by_name, hop.name, hop)
    return {hop.name: hop for hop in _best(by_name.values(), count)}


def _reach(hop: Hop, row: int, share: float, near: Mapping[int, float]) -> ReachedRow | None:
    """The row with what it gets, if that is anything."""
    score = min(hop.score * share, hop.ceiling - near.get(row, 0.0))
    return ReachedRow(row, score, hop) if score > 0 and not _has_passed(hop, row) else None


def _has_passed(hop: Hop | None, row: int) -> bool:
    while hop is not None:
        if hop.row == row:
            return True
        hop = hop.before
    return False


def _keep_best(into: dict[int, _Scored], key: int, scored: _Scored) -> None:
    if key not in into or scored.score > into[key].score:
        into[key] = scored


def _best(scored: Iterable[_Scored], count: int) -> list[_Scored]:
    return nlargest(count, scored, key=lambda scored_row: scored_row.score)


@lru_cache(1 << 14)
def _words_of(name: str) -> frozenset[str]:
    return frozenset(tokens(name))


# The score of each connection; a memory that both vectors and words rank first has 1.
SPEAKER_WEIGHT, SUBJECT_WEIGHT, SIMILAR_SUBJECT_WEIGHT = 0.4, 0.4, 0.15
WRITER_WEIGHT = 0.1
"""The score of a text other than a turn if the question names its writer: it is seldom about the writer."""
NEXT_TURN_WEIGHT, PREVIOUS_TURN_WEIGHT, SAME_SESSION_WEIGHT, SAME_DOCUMENT_WEIGHT = 0.15, 0.25, 0.25, 1.5
CEILING = 1.0
"""The score from which on a memory is not connected better."""
QUESTION_PENALTY = 0.65
"""The part of its score that a turn loses if it only asks a question: the answer is in another turn."""
PARTIAL_SHARE = 0.5
"""The weight of a name that is in the question in part or in lower case."""

_FAN_OUT = 64
"""How many memories about a similar name are taken, the newest."""
_MIN_SPECIFICITY = 0.5
"""The least weight of a name, for names that nearly every memory is about, as in a space of a few memories."""
_MIN_SIMILARITY = 0.6
"""The cosine from which on a name is similar to the question, by the default embedder."""
_MAX_SIMILAR_NAMES = 4
"""How many similar names are taken, the nearest."""


class EntityGraph(MentionIndex):
    """Memories by the entities that they are about."""

    name = "graph"
    weight = 1.0
    stage = Stage.SPREAD
    needs_embedding = False

    def rank(self, query: Query, limit: int) -> Ranking:
        walk = WalkScores(query)
        if query.candidate_scores:
            self._score_neighbours(walk)
            self._score_groups(walk)
        named = self._score_names(query, walk)
        if query.candidate_scores or named:
            self._score_hops(query, walk, named)
        rows, scores = walk.total_scores()
        if not len(rows):
            return Ranking.abstain(self.name, "no memory that may be returned is connected to the question")
        scores *= 1 - QUESTION_PENALTY * self._question_share.values[rows]
        best = top_indices(scores, limit)
        return Ranking(
            self.name,
            rows[best].tolist(),
            np.minimum(scores[best], CEILING).tolist(),
            ceiling=CEILING,
            explain_rows=walk.reasons,
        )

    def _score_names(self, query: Query, walk: WalkScores) -> dict[int, float]:
        """The first two seeds: names in the question, and names whose embedding is near it. Returns those to walk from,
        each with the share that it counts for."""
        near = walk.near_rows
        speakers = self._speaker.values[near]
        named = self._names_in(query)
        for number, share in named.items():
            name = self._names.spellings[number]
            spoken = near[speakers == number]
            # If one person wrote everything, the speaker is no evidence.
            if len(spoken) < len(near):
                weights = share * np.where(self._turn.values[spoken], SPEAKER_WEIGHT, WRITER_WEIGHT)
                walk.add_scores(spoken, weights, f"said by {name}, named in the question")
            subject = self._rows_about(number, walk)
            also = near[np.any(self._subject.values[near] == number, axis=1)]
            either = np.union1d(subject, also)
            specific = max(_MIN_SPECIFICITY, self.specificity(number, walk.visible_end) ** 2)
            weight = SUBJECT_WEIGHT * share * specific
            walk.add_score(either, weight, f"about {name}, named in the question")
        similar = self._similar_names(query, walk.visible_end) if SIMILAR_SUBJECT_WEIGHT else ()
        for number, similarity in similar:
            near_name = f"about {self._names.spellings[number]}, a name near the question"
            for same in query.names_of_same_entity(number):
                if same not in named:
                    walk.add_score(self._rows_about(same, walk), SIMILAR_SUBJECT_WEIGHT * similarity, near_name)
        return {number: share for number, share in named.items() if not self.is_hub(number, walk.visible_end)}

    def _names_in(self, query: Query) -> dict[int, float]:
        """The names in the question, each with weight 1; those in lower case and in part with at most
        `PARTIAL_SHARE`."""
        found = (self._names.number(name) for name in query.entity_names)
        named = {number: 1.0 for number in found if number is not None}
        for number, share in self._names.find_in_text(query.text).items() if PARTIAL_SHARE else ():
            same = query.names_of_same_entity(number)
            if number not in named and any(self.is_known(name_number, query.visible) for name_number in same):
                named = dict.fromkeys(same, PARTIAL_SHARE * share) | named
        return named

    def _score_hops(self, query: Query, walk: WalkScores, named: Mapping[int, float]) -> None:
        """The walk from the names in the question, and from the nearest memories: the third seed."""
        reached = spread(query, LocalGraph(self, query, walk), named)
        hops = {
            found.row: found.hop for found in sorted(reached, key=lambda found: found.score) if found.hop is not None
        }
        rows = np.array([found.row for found in reached], np.int64)
        scores = np.array([found.score for found in reached])
        spelling = self.spelling
        walk.add_scores(rows, scores, lambda row: f"about {describe(hops[row], spelling)}")

    def _score_neighbours(self, walk: WalkScores) -> None:
        """The answer is often in the turn after or before the one that matches."""
        if not self._turn.values[walk.near_rows].any():
            return
        weights = walk.near_scores * self._short.values[walk.near_rows]
        for column, weight, why in (
            (self._after, NEXT_TURN_WEIGHT, "follows a turn near the question"),
            (self._before, PREVIOUS_TURN_WEIGHT, "leads up to a turn near the question"),
        ):
            neighbours = column.values[walk.near_rows]
            exists = neighbours >= 0
            rows = neighbours[exists]
            walk.add_scores(rows, weight * weights[exists] * self._short.values[rows], why)

    def _score_groups(self, walk: WalkScores) -> None:
        """The best turn of a session raises the other candidates of that session. So does the best piece of a document,
        but only as far as the other piece is near itself: `source` may also be a label on unrelated notes."""
        grouped = self._group.values[walk.near_rows] >= 0
        near, scores = walk.near_rows[grouped], walk.near_scores[grouped]
        if not len(near):
            return
        rows = walk.scored_rows_with(near)
        rows = rows[self._group.values[rows] >= 0]
        _, places = np.unique(self._group.values[rows], return_inverse=True)
        spoken = self._turn.values[rows]
        fade = np.where(spoken, self._short.values[rows], 1.0)
        nearness = np.zeros(len(rows))
        nearness[rows.searchsorted(near)] = scores
        best = np.zeros(places.max() + 1)
        np.maximum.at(best, places, nearness * fade)
        lift = best[places]
        walk.add_scores(rows, SAME_SESSION_WEIGHT * lift * fade * spoken, "in one session with a near one")
        if not spoken.all():
            several = np.bincount(places, nearness > 0)[places] > 1
            lift *= SAME_DOCUMENT_WEIGHT * nearness * (several & ~spoken)
            walk.add_scores(rows, lift, "in one document with a near one")

    def _rows_about(self, number: int, walk: WalkScores) -> Rows:
        """The newest rows about a name that may be returned; none for a hub."""
        if number not in self._subjects or self.is_hub(number, walk.visible_end):
            return np.empty(0, np.int32)
        edges = np.array(self._edges.edges_of(name_vertex(number)), np.int64)
        rows = self._edges.endpoints[edges, 1] // 2
        found: Rows = rows[(self._edge_kind.values[edges] == SUBJECT) & walk.allowed[rows]][-_FAN_OUT:]
        return found

    def _similar_names(self, query: Query, horizon: int) -> list[tuple[int, float]]:
        """Names that memories are about and whose embedding is near that of the question."""
        if query.vector is None:
            return []

        def is_known(places: Rows) -> NDArray[np.bool_]:
            _, rows, positions = self._described.values[places].T
            known: NDArray[np.bool_] = np.where(positions > 0, positions <= query.position, rows < horizon)
            return known

        best: dict[int, float] = {}
        for place, similarity in self._vectors.nearest(
            query.vector, is_known, _MAX_SIMILAR_NAMES, min_similarity=_MIN_SIMILARITY
        ):
            best.setdefault(int(self._described.values[place, 0]), similarity)
        return list(best.items())

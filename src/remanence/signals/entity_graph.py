"""The graph signal: memories connected to what the question is about.

The walk starts from the names in the question, or if none of them is known, from names whose own embedding is near it;
and from the names in the memories that the earlier stages found. It is local: two hops, limited fan-out. Its scores
have a fixed scale, so a weak connection stays weak.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from remanence.language.text import tokens
from remanence.ports import Stage
from remanence.schema import Query, Ranking
from remanence.signals.graph_walk import Rows, WalkScores
from remanence.signals.mention_index import SPEAKER, SUBJECT, MentionIndex, name_vertex, row_vertex
from remanence.state.columns import top_indices, unique_inverse

# The score of each connection; a memory that both vectors and words rank first has 1.
SPEAKER_WEIGHT, SUBJECT_WEIGHT, SIMILAR_SUBJECT_WEIGHT = 0.4, 0.4, 0.15
ONE_HOP_WEIGHT, RELATION_WEIGHT = 0.9, 0.3
NEXT_TURN_WEIGHT, PREVIOUS_TURN_WEIGHT, SAME_SESSION_WEIGHT, SAME_DOCUMENT_WEIGHT = 0.15, 0.25, 0.25, 1.5
CEILING = 1.0
LEAD = 1.0
QUESTION_PENALTY = 0.65
"""The part of its score that a turn loses if it only asks: the answer is another turn."""

_FAN_OUT = 64
_NEVER = np.iinfo(np.int32).max
_MAX_HOP_ROWS = 8
_HOP_SEEDS = 5
_MIN_SIMILARITY = 0.6
_MAX_SIMILAR_NAMES = 4


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
            self._score_hops(query, walk)
        self._score_names(query, walk)
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

    def _specificity(self, number: int, horizon: int) -> float:
        """How specific a name is, as of the last row of the view: 1 if mentioned once, 0 if every memory does."""
        if horizon < 2:
            return 1.0
        if self._is_hub(number, horizon):
            return 0.0
        if horizon == len(self._before):
            count = self._mention_counts[number] if number < len(self._mention_counts) else 0
        else:
            count = int(np.count_nonzero(self.rows_mentioning(number) < horizon))
        return math.log((horizon + 1) / min(max(count, 1), horizon + 1)) / math.log(horizon + 1)

    def _is_known(self, number: int, visible: NDArray[np.bool_]) -> bool:
        """Whether a visible memory mentions this name. Nearly always the first one does."""
        ends = self._edges.endpoints
        return any(visible[ends[edge, 1] // 2] for edge in self._edges.edges_of(name_vertex(number)))

    def _is_hub(self, number: int, horizon: int) -> bool:
        return self._hub_since.get(number, _NEVER) < horizon

    def _score_names(self, query: Query, walk: WalkScores) -> None:
        """First seed: the names in the question. If none is known, the second: names with a similar embedding."""
        near = walk.near_rows
        speakers = self._speaker.values[near]
        found = (self._names.number(name) for name in query.entity_names)
        named = list(dict.fromkeys(number for number in found if number is not None))
        for number in named:
            name = self._names.spellings[number]
            # If one person said everything, the speaker tells nothing.
            spoken = near[speakers == number]
            if len(spoken) < len(near):
                walk.add_score(spoken, SPEAKER_WEIGHT, f"said by {name}, named in the question")
            subject = self._rows_about(number, walk)
            also = near[np.any(self._subject.values[near] == number, axis=1)]
            either, _ = unique_inverse(np.concatenate((subject, also)))
            walk.add_score(either, SUBJECT_WEIGHT, f"about {name}, named in the question")
            if self._is_hub(number, walk.visible_end):
                continue
            for other, predicate in query.related_names(number)[-_FAN_OUT:]:
                score = RELATION_WEIGHT * self._specificity(other, walk.visible_end)
                through = f"two steps from {name} through {predicate} to {self._names.spellings[other]}"
                walk.add_score(self._rows_about(other, walk), score, through)
        known = any(self._is_known(number, query.visible) for number in named)
        for number, similarity in () if known else self._similar_names(query, walk.visible_end):
            near_name = f"about {self._names.spellings[number]}, a name near the question"
            for same in query.same_entity(number):
                walk.add_score(self._rows_about(same, walk), SIMILAR_SUBJECT_WEIGHT * similarity, near_name)

    def _score_hops(self, query: Query, walk: WalkScores) -> None:
        """Third seed: names in the nearest memories that the question lacks, and the memories about them."""
        question = set(tokens(query.text))
        best: dict[int, tuple[float, str]] = {}
        for row in walk.near_rows[:_HOP_SEEDS].tolist():
            edges = self._edges.edges_of(row_vertex(row))
            vertices = self._edges.endpoints[edges, 0].tolist()
            for vertex, kind in zip(vertices, self._edge_kind.values[edges].tolist(), strict=True):
                number = vertex // 2
                name = self._names.spellings[number]
                if kind == SPEAKER or words_of(name) <= question:
                    continue
                same = query.same_entity(number)
                rows = self._rows_about(number, walk)
                if len(same) > 1:
                    rows = np.concatenate([self._rows_about(each, walk) for each in same])
                if not 0 < len(rows) <= _MAX_HOP_ROWS:
                    continue
                score = ONE_HOP_WEIGHT * query.candidate_scores[row] * self._specificity(number, walk.visible_end)
                why = f"about {name}, which a memory near the question names"
                for other in rows.tolist():
                    # The memory that is the seed stays above the one it leads to.
                    limited = min(score, LEAD * query.candidate_scores[row] - query.candidate_scores.get(other, 0.0))
                    if other != row and limited > best.get(other, (0.0, ""))[0]:
                        best[other] = limited, why
        for row, (score, why) in best.items():
            walk.add_score(np.array([row]), score, why)

    def _score_neighbours(self, walk: WalkScores) -> None:
        """The answer is often in the turn after or before the one that matches."""
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
        _, places = unique_inverse(self._group.values[rows])
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
        if number not in self._subjects or self._is_hub(number, walk.visible_end):
            return np.empty(0, np.int32)
        edges = np.array(self._edges.edges_of(name_vertex(number)), np.int64)
        rows = self._edges.endpoints[edges, 1] // 2
        found: Rows = rows[(self._edge_kind.values[edges] == SUBJECT) & walk.allowed[rows]][-_FAN_OUT:]
        return found

    def _similar_names(self, query: Query, horizon: int) -> list[tuple[int, float]]:
        """Names that memories are about and whose embedding is near that of the question."""
        if query.vector is None:
            return []
        names, rows, positions = self._described.values.T
        known = np.where(positions > 0, positions <= query.position, rows < horizon)
        best: dict[int, float] = {}
        for place, similarity in self._vectors.nearest(query.vector, known, _MAX_SIMILAR_NAMES):
            if similarity >= _MIN_SIMILARITY:
                best.setdefault(int(names[place]), similarity)
        return list(best.items())


@lru_cache(1 << 14)
def words_of(name: str) -> frozenset[str]:
    return frozenset(tokens(name))

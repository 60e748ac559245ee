"""The graph signal: memories connected to what the question is about.

Every question has three kinds of names: names in the question, also in part or in lower case; names whose own embedding
is near it; and names in the memories that the earlier stages found. Memories about the first two score at once. From
names and memories a walk leads on (`graph_walk`), over relations that hold at the time asked for. Turns adjacent to a
near one and other passages of its document score too.

Everything is local, with limited fan-out. The scores have a fixed scale, so a weak connection stays weak.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from remanence.index.arrays.columns import top_indices
from remanence.index.graph.graph_walk import LocalGraph, Rows, WalkScores, describe, spread
from remanence.index.graph.mention_index import SUBJECT, MentionIndex, name_vertex
from remanence.ports import Stage
from remanence.schema import Query, Ranking

SPEAKER_WEIGHT, SUBJECT_WEIGHT, SIMILAR_SUBJECT_WEIGHT = 0.4, 0.4, 0.15
"""Points of score for a turn whose speaker the question names, a memory about a name in the question, and one about a
name near the question. A memory that both vectors and words rank first has 1. The first one was fitted on LoCoMo,
LongMemEval and BEAM, the others were chosen by hand."""
WRITER_WEIGHT = 0.1
"""Points of score for a text that is no turn if the question names its writer: it is seldom about the writer. On 2Wiki,
0 in its place loses 0.3 points of R@5."""
NEXT_TURN_WEIGHT, PREVIOUS_TURN_WEIGHT, SAME_SESSION_WEIGHT, SAME_DOCUMENT_WEIGHT = 0.15, 0.25, 0.25, 1.5
"""The shares of the score of a near memory that the next turn, the turn before, the other turns of its session, and the
other pieces of its document get. Fitted on LoCoMo, RealTalk, LongMemEval and BEAM; the last one on TimeQA and
MuSiQue."""
CEILING = 1.0
"""Points of score from which on a memory is not connected better: a memory that both vectors and words rank first has
1."""
QUESTION_PENALTY = 0.65
"""The share of its score that a turn loses if it only asks a question: the answer is in another turn. Fitted on LoCoMo,
RealTalk, LongMemEval and BEAM."""
PARTIAL_SHARE = 0.5
"""The share of its weight that a name has which is in the question in part or in lower case. On 2Wiki, 1 in its place
loses 0.3 points of R@5."""

_FAN_OUT = 64
_MIN_SPECIFICITY = 0.5
"""The least factor for the weight of a name, for names that nearly every memory is about, as in a space of a few
memories. On TimeQA, 1 in its place loses 1.0 point of R@5."""
_MIN_SIMILARITY = 0.3
"""The cosine from which on a name is similar to the question, for an embedder whose similarity floor is 0; above
another floor, this share of the rest. Fitted on 2Wiki, TimeQA and the worlds of benchmarks/, with the default
embedder."""
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
        least = query.similarity_floor + _MIN_SIMILARITY * (1 - query.similarity_floor)
        for place, similarity in self._vectors.nearest(
            query.vector, is_known, _MAX_SIMILAR_NAMES, min_similarity=least
        ):
            best.setdefault(int(self._described.values[place, 0]), similarity)
        return list(best.items())

"""The graph signal: memories connected to what the question is about.

Vertices are names and memories. An edge says that somebody said a memory, that a memory is about a name (its heading,
or the first name in it), or only mentions it. Which names stand for one entity, and how entities are related, comes
with the query, because it depends on the view. A chat turn is also connected to the turns before and after it and to
its session; so is a piece of a document, if the pieces were added one after another with one `source`.

The walk starts from the names in the question, or if none of them is known, from names whose own embedding is near it;
and from the names in the memories that the earlier stages found. It is local: two hops, limited fan-out. Its scores
have a fixed scale, so a weak connection stays weak.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.language.text import normalize_name, question_share, text_hash, tokens
from remanence.ports import Stage
from remanence.schema import Query, Ranking, micros
from remanence.signals.graph_walk import Rows, Speakers, WalkScores
from remanence.signals.vector_sketch import SketchedVectors
from remanence.state.adjacency import Adjacency
from remanence.state.columns import Column, pack, top_indices, unique_inverse, unpack
from remanence.state.names import Names, names_in, speaker_of

if TYPE_CHECKING:
    from remanence.ports import Vector

SPEAKER, SUBJECT, MENTION = range(3)
SESSION_GAP = 6 * 3600 * 1_000_000
"""Turns of one conversation further apart than this (microseconds) belong to different sessions."""

# The score of each connection; a memory that both vectors and words rank first has 1.
SPEAKER_WEIGHT, SUBJECT_WEIGHT, SIMILAR_SUBJECT_WEIGHT = 0.4, 0.4, 0.15
ONE_HOP_WEIGHT, RELATION_WEIGHT = 0.9, 0.3
NEXT_TURN_WEIGHT, PREVIOUS_TURN_WEIGHT, SAME_SESSION_WEIGHT, SAME_DOCUMENT_WEIGHT = 0.15, 0.25, 0.25, 1.5
CEILING = 1.0
LEAD = 1.0
QUESTION_PENALTY = 0.65
"""The part of its score that a turn loses if it only asks: the answer is another turn."""

_SHORT_TEXT = 450
"""Length in characters from which on the neighbours of a turn count less."""
_FAN_OUT = 64
_HUB = 1_024
"""An entity that so many rows mention connects nothing."""
_NEVER = np.iinfo(np.int32).max
_MAX_HOP_ROWS = 8
_HOP_SEEDS = 5
_MIN_SIMILARITY = 0.6
_MAX_SIMILAR_NAMES = 4

LoadVectors = Callable[[Sequence[bytes]], Mapping[bytes, "Vector"]]


class EntityGraph:
    """Memories by the entities that they are about."""

    name = "graph"
    weight = 1.0
    stage = Stage.SPREAD
    needs_embedding = False

    def __init__(self, load_vectors: LoadVectors, names: Names) -> None:
        self._load_vectors = load_vectors
        self._names = names
        # For each name, how many rows mention it; for hubs, the row with which they became one.
        self._mention_counts: list[int] = []
        self._hub_since: dict[int, int] = {}
        # Names that memories are about have vectors: the name, the first row about it, the entry that
        # described it if it was registered, and the vector once it was made.
        self._subjects: dict[int, int] = {}
        self._described = Column(np.int64, width=3)
        self._hashes: list[bytes] = []
        self._vectors = SketchedVectors()
        # Edges go from a name to a row; each has a kind.
        self._edges = Adjacency()
        self._edge_kind = Column(np.int8)
        # For each row: its speaker, its subjects, its neighbours, its session or document, and how short it is.
        self._speaker = Column(np.int32)
        self._subject = Column(np.int32, width=2)
        self._before = Column(np.int32)
        self._after = Column(np.int32)
        self._group = Column(np.int32)
        self._turn = Column(np.bool_)
        self._short = Column(np.float32)
        self._length = Column(np.int32)
        self._question_share = Column(np.float32)
        # The next turn, if both are short.
        self._next_short = Column(np.int32)
        self._speakers = Speakers()
        self._group_count = 0
        self._last_turn: dict[str, tuple[int, int, int]] = {}
        self._last_piece: tuple[str | None, int] = (None, -1)

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        known = len(self._before)
        new = versions[max(0, known - first) :]
        for column in (self._speaker, self._subject, self._before, self._after, self._next_short, self._group):
            column.fill(len(new), -1)
        self._turn.extend([v is not None and v.turn is not None for v in new])
        self._short.extend([1.0 if v is None else min(1.0, _SHORT_TEXT / len(v.text)) for v in new])
        self._length.extend([0 if v is None else len(v.text) for v in new])
        self._question_share.extend([0.0 if v is None or v.turn is None else question_share(v.text) for v in new])
        self._mention_counts += [0] * (len(self._names) - len(self._mention_counts))
        edges: list[tuple[int, int]] = []
        kinds: list[int] = []
        described = len(self._hashes)
        for row, version in enumerate(new, known):
            if version is not None:
                self._connect_neighbours(row, version)
                self._connect_names(row, version, edges, kinds)
        self._edges.extend(edges)
        self._edge_kind.extend(kinds)
        self._fill(range(described, len(self._hashes)))

    def add_description(self, name: int, text: str, position: int) -> None:
        """Index the description of a registered entity, for the second seed."""
        self._describe(name, len(self._before), position, text)
        self._fill([len(self._hashes) - 1])

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

    def save(self) -> Mapping[str, NDArray[Any]]:
        values = {
            "hubs": list(self._hub_since.items()),
            "last": self._last_turn,
            "piece": self._last_piece,
            "groups": self._group_count,
            "hashes": [key.hex() for key in self._hashes],
        }
        counts = np.array(self._mention_counts, np.int32)
        columns = {name: getattr(self, f"_{name}").values for name in _COLUMNS}
        columns |= {"values": pack(values), "mention_counts": counts, "ends": self._edges.endpoints}
        return columns | dict(self._vectors.save())

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        values = unpack(arrays["values"])
        self._hub_since = dict(values["hubs"])
        self._last_turn, self._last_piece, self._group_count = values["last"], values["piece"], values["groups"]
        self._hashes = [bytes.fromhex(key) for key in values["hashes"]]
        self._mention_counts = arrays["mention_counts"].tolist()
        self._edges = Adjacency(arrays["ends"])
        self._vectors.load(arrays)
        for name in _COLUMNS:
            setattr(self, f"_{name}", Column(arrays[name].dtype, arrays[name]))
        speakers, firsts = np.unique(self._speaker.values, return_index=True)
        for number, row in zip(speakers.tolist(), firsts.tolist(), strict=True):
            if number >= 0:
                self._speakers.add(number, self._names.spellings[number], row)
        for place, (name, _, _) in enumerate(self._described.values.tolist()):
            self._subjects.setdefault(name, place)

    def is_subject(self, name: str) -> bool:
        number = self._names.number(name)
        return number is not None and number in self._subjects

    def text_hashes(self) -> list[bytes]:
        return list(self._hashes)

    def hashes_outside(self, rows: Collection[int], names: Iterable[str]) -> set[bytes]:
        """The hashes of those of these names that a row other than these is about, and of all descriptions."""
        described = np.flatnonzero(self._described.values[:, 2]).tolist()
        kept = {self._hashes[place] for place in described}
        for number in {number for name in names if (number := self._names.number(name)) is not None}:
            edges, kinds = self._edges.edges_of(_name_vertex(number)), self._edge_kind.values
            about = (int(self._edges.endpoints[edge, 1]) // 2 for edge in edges if kinds[edge] == SUBJECT)
            if any(row not in rows for row in about):
                kept.add(text_hash(self._names.spellings[number]))
        return kept

    @property
    def lacks_vectors(self) -> bool:
        """Whether some name or description has no vector yet."""
        return bool(self._vectors.places_without_vector(len(self._hashes)))

    def fill_missing_vectors(self) -> None:
        self._fill(self._vectors.places_without_vector(len(self._hashes)))

    def rows_mentioning(self, number: int) -> NDArray[np.int64]:
        """The rows that mention this name, oldest first, visible or not."""
        return self._edges.endpoints[self._edges.edges_of(_name_vertex(number)), 1].astype(np.int64) // 2

    def names_in_rows(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        ends = self._edges.endpoints
        found: NDArray[np.int64] = np.unique(ends[rows[ends[:, 1] // 2], 0] // 2)
        return found

    def mentions_by_row(self, rows: NDArray[np.bool_]) -> Iterator[tuple[int, list[int]]]:
        """Each of these rows that mentions anything, with the names in it."""
        names, owners = self._edges.endpoints[:, 0] // 2, self._edges.endpoints[:, 1] // 2
        places = np.flatnonzero(rows[owners])
        places = places[np.argsort(owners[places], kind="stable")]
        found, begins = np.unique(owners[places], return_index=True)
        groups = np.split(names[places], begins[1:])
        yield from zip(found.tolist(), (group.tolist() for group in groups), strict=False)

    def names_in_row(self, row: int) -> list[int]:
        return [*(self._edges.endpoints[self._edges.edges_of(_row_vertex(row)), 0] // 2).tolist()]

    def next_turns(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """The turn right after each of these, if both are short; -1 if there is none."""
        found: NDArray[np.integer[Any]] = self._next_short.values[rows]
        return found

    def previous_turns(self, rows: Sequence[int]) -> list[int]:
        """The turn right before each of these; -1 if there is none."""
        return self._before.values[list(rows)].tolist()  # type: ignore[no-any-return]

    def full_speaker_name(self, name: str, visible: NDArray[np.bool_]) -> str | None:
        """The full name of the speaker with this name, if a visible row is not older than their first one."""
        number = self._speakers.find(name, self._names.number(name), visible)
        return None if number is None else self._names.spellings[number]

    def is_turn(self, row: int) -> bool:
        return bool(self._turn.values[row])

    def is_short(self, row: int, length: int) -> bool:
        return bool(self._length.values[row] <= length)

    # Indexing

    def _connect_neighbours(self, row: int, version: Remembered) -> None:
        """Connect a turn to the previous one of its conversation, and a piece of a document to the others."""
        if version.turn is None:
            # A text with an observer is a statement of its own, not a piece of a document.
            document = version.source if version.observed_by is None else None
            same, piece = self._last_piece[0] == document, self._last_piece[1]
            self._last_piece = (document, row)
            if document is not None:
                self._add_to_group(row, piece if same else None)
            return
        self._last_piece = (None, row)
        at = 0 if version.turn.at is None else micros(version.turn.at)
        number = version.turn.number
        last = self._last_turn.get(version.turn.conversation)
        if last is None or number >= last[2]:
            self._last_turn[version.turn.conversation] = (row, at, number)
        if last is None or abs(at - last[1]) > SESSION_GAP:
            self._add_to_group(row, None)
            return
        before = last[0]
        self._add_to_group(row, before)
        if number <= last[2]:
            # Another version of an earlier turn: the last turn is not the one before it.
            return
        self._before.values[row] = before
        self._after.values[before] = row
        if self._short.values[before] == self._short.values[row] == 1.0:
            self._next_short.values[before] = row

    def _add_to_group(self, row: int, other: int | None) -> None:
        """Add a row to the session or document of another; None begins a new one."""
        self._group.values[row] = self._group_count if other is None else self._group.values[other]
        self._group_count += other is None

    def _connect_names(self, row: int, version: Remembered, edges: list[tuple[int, int]], kinds: list[int]) -> None:
        kind_of: dict[int, int] = {}
        speaker = speaker_of(version)
        if speaker:
            number = self._names.intern(speaker)
            kind_of[number] = SPEAKER
            self._speaker.values[row] = number
            self._speakers.add(number, speaker, row)
        for place, name in enumerate(subject_names(version)):
            number = self._names.intern(name)
            kind_of[number] = SUBJECT
            self._subject.values[row, place] = number
            if number not in self._subjects:
                self._describe(number, row, 0, self._names.spellings[number])
        for name, _ in names_in(version):
            kind_of.setdefault(self._names.intern(name), MENTION)
        vertex = _row_vertex(row)
        for number, kind in kind_of.items():
            count = self._mention_counts[number] = self._mention_counts[number] + 1
            if count == _HUB:
                self._hub_since[number] = row
            edges.append((_name_vertex(number), vertex))
            kinds.append(kind)

    def _describe(self, name: int, row: int, position: int, text: str) -> None:
        self._subjects.setdefault(name, len(self._hashes))
        self._described.append((name, row, position))
        self._hashes.append(text_hash(text))

    def _fill(self, places: Sequence[int]) -> None:
        if not places:
            return
        vectors = self._load_vectors([self._hashes[place] for place in places])
        found = {place: vectors[self._hashes[place]] for place in places if self._hashes[place] in vectors}
        self._vectors.put(found, len(self._hashes))

    # Ranking

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
        return any(visible[ends[edge, 1] // 2] for edge in self._edges.edges_of(_name_vertex(number)))

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
            edges = self._edges.edges_of(_row_vertex(row))
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
        edges = np.array(self._edges.edges_of(_name_vertex(number)), np.int64)
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


_COLUMNS = "described edge_kind speaker subject before after group turn short length question_share next_short".split()


@lru_cache(1 << 14)
def words_of(name: str) -> frozenset[str]:
    return frozenset(tokens(name))


def subject_names(version: Remembered) -> list[str]:
    """The names that a memory is about: its heading, and the first name in it that is not the speaker. A chat turn has
    none: the first name in it is often the person spoken to."""
    if version.turn is not None or not version.mentions:
        return []
    count = 2 if version.mentions[0].kind == "heading" else 1
    names: dict[str, str] = {}
    for mention in version.mentions:
        names.setdefault(normalize_name(mention.name), mention.name)
    if speaker := speaker_of(version):
        names.pop(normalize_name(speaker), None)
    return list(names.values())[:count]


def _name_vertex(number: int) -> int:
    # Names have even numbers and rows odd ones, so that both can grow.
    return 2 * number


def _row_vertex(row: int) -> int:
    return 2 * row + 1

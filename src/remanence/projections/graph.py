"""Which memories are tied to what the question is about.

Vertices are entities and memories. Edges say that an entity said a memory, that a memory is about it
(its heading, or the first name in it), that a memory names it, and that a memory claims a relation
between two. Besides, a chat turn knows the turns before and after it, and its sitting.

The walk starts from three seeds: entities whose name stands in the question, entities whose own
embedding is near it, and the entities of the memories that meaning and words found. It is local: two
hops, capped fan-out, never the whole graph. What it gives has a fixed scale, so a weak tie stays weak.

igraph holds the edges up to the last fold; adding one there costs time for all of them, so newer ones
wait in a small overlay until there are enough to fold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.arrays import Column, pack, top, unpack
from remanence.events import Remembered
from remanence.model import SELF, Query, Ranking, micros
from remanence.text import normal_name, text_hash, tokens

if TYPE_CHECKING:
    from remanence.ports import Vector

SAID, ABOUT, NAMES, RELATES = range(4)
SITTING_GAP = 6 * 3600 * 1_000_000
"""Turns of one conversation further apart than this (microseconds) belong to different sittings."""

# How much each tie is worth, beside a memory that both meaning and words put first, which is worth 1.
SAID_BY, ABOUT_NAMED, ABOUT_ALIKE = 0.4, 0.4, 0.15
ONE_HOP, BY_RELATION = 0.9, 0.3
BEFORE, AFTER, SAME_SITTING = 0.35, 0.25, 0.25
CEILING = 1.0
LEAD = 1.0

_SHORT = 450
"""A turn longer than this stands on its own; the longer, the less its neighbours say about it."""
_FAN_OUT = 64
_HUB = 1_024
"""Named by so many rows, an entity ties nothing to anything."""
_NEVER = np.iinfo(np.int32).max
_FEW = 8
_HOP_FROM = 5
_ALIKE = 0.6
_MOST_ALIKE = 4

Kept = Callable[[Sequence[bytes]], Mapping[bytes, "Vector"]]


class Graph:
    """Memories by what they are about."""

    name = "graph"

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._entities: dict[str, int] = {}
        self._names: list[str] = []
        self._predicates: dict[str, int] = {}
        # Of each entity: how many rows name it, and the row with which it became a hub, if it did.
        self._used = Column(np.int32)
        self._hub_since = Column(np.int32)
        self._first_row = Column(np.int32)
        self._vectors: Column | None = None  # of each entity: its own embedding
        # Of each edge: the two vertices, what it says, the row that says it, and the predicate.
        self._ends = Column(np.int64, width=2)
        self._says = Column(np.int8)
        self._row = Column(np.int32)
        self._predicate = Column(np.int32)
        # Of each row: who said it, what it is about, its neighbours, its sitting, and how short it is.
        self._speaker = Column(np.int32)
        self._subject = Column(np.int32, width=2)
        self._before = Column(np.int32)
        self._after = Column(np.int32)
        self._sitting = Column(np.int32)
        self._short = Column(np.float32)
        self._sittings = 0
        self._last_turn: dict[str, tuple[int, int]] = {}
        self._base: Any = None
        self._folded = 0
        self._overlay: dict[int, list[int]] = {}

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""
        unseen: list[str] = []
        for row, version in enumerate(versions, first):
            if row < len(self._before):
                continue
            self._speaker.append(-1)
            self._subject.append((-1, -1))
            self._before.append(-1)
            self._after.append(-1)
            self._sitting.append(-1)
            self._short.append(1.0 if version is None else min(1.0, _SHORT / len(version.text)))
            if version is not None:
                self._follow(row, version)
                self._tie(row, version, unseen)
        self._learn_vectors(unseen)
        if len(self._ends) - self._folded > max(4_096, self._folded // 4):
            self._fold()

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows tied closest to the seeds."""
        named = self._named(query)
        walk = _Walk(query)
        if query.near:
            self._from_turns(query, walk)
            self._from_memories(query, walk)
        self._from_names(query, named, walk)
        rows = walk.reached()
        if not len(rows):
            return Ranking.abstain(self.name, "nothing that may answer is tied to what the question is about")
        rows = rows[top(walk.scores[rows], limit)]
        return Ranking(
            self.name,
            rows.tolist(),
            np.minimum(walk.scores[rows], CEILING).tolist(),
            ceiling=CEILING,
            why=walk.reason,
        )

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Vertices and edges as plain arrays."""
        words = {"names": self._names, "predicates": list(self._predicates), "last": self._last_turn}
        out = {"words": pack(words), "sittings": np.array([self._sittings])}
        if self._vectors is not None:
            out["vectors"] = self._vectors.values.astype(np.float16)
        return out | {name: getattr(self, f"_{name}").values for name in _COLUMNS}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the index that `save` wrote."""
        words = unpack(arrays["words"])
        self._names = words["names"]
        self._entities = {normal_name(name): number for number, name in enumerate(self._names)}
        self._predicates = {name: number for number, name in enumerate(words["predicates"])}
        self._last_turn = {name: (row, at) for name, (row, at) in words["last"].items()}
        self._sittings = int(arrays["sittings"][0])
        if "vectors" in arrays:
            self._vectors = Column(np.float32, arrays["vectors"])
        for name in _COLUMNS:
            setattr(self, f"_{name}", Column(arrays[name].dtype, arrays[name]))
        self._fold()

    def knows(self, name: str) -> bool:
        """Whether a memory has named this before."""
        return normal_name(name) in self._entities

    def fill_unmade(self) -> None:
        """Try again the names that had no embedding."""
        blank = [True] * len(self._names) if self._vectors is None else ~self._vectors.values.any(axis=1)
        hashes = {entity: text_hash(self._names[entity]) for entity in np.flatnonzero(blank).tolist()}
        kept = self._kept(list(hashes.values()))
        if kept:
            vectors = self._room_for_vectors(len(next(iter(kept.values()))))
            for entity, key in hashes.items():
                if key in kept:
                    vectors.values[entity] = kept[key]

    # Building

    def _follow(self, row: int, version: Remembered) -> None:
        """Tie a turn to the one before it in its conversation."""
        turn = version.turn
        if turn is None:
            return
        at = 0 if turn.at is None else micros(turn.at)
        last = self._last_turn.get(turn.conversation)
        self._last_turn[turn.conversation] = (row, at)
        if last is not None and abs(at - last[1]) <= SITTING_GAP:
            before = last[0]
            self._before.values[row] = before
            self._after.values[before] = row
            self._sitting.values[row] = self._sitting.values[before]
        else:
            self._sitting.values[row] = self._sittings
            self._sittings += 1

    def _tie(self, row: int, version: Remembered, unseen: list[str]) -> None:
        """Tie a row to the entities it names, and those to each other as it claims."""
        said = {}
        speaker = spoken_by(version)
        if speaker:
            said[self._entity(speaker, unseen)] = SAID
            self._speaker.values[row] = next(iter(said))
        # A text is about its heading and the first name in it. The first name in a chat turn is as often
        # the person spoken to, so a turn is only tied to who said it.
        room = (
            0
            if version.turn is not None
            else 2
            if version.mentions and version.mentions[0].kind == "heading"
            else 1
        )
        subjects = 0
        for mention in version.mentions:
            entity = self._entity(mention.name, unseen)
            if entity not in said:
                said[entity] = ABOUT if subjects < room else NAMES
                if subjects < room:
                    self._subject.values[row, subjects] = entity
                    subjects += 1
        for triple in version.triples:
            subject, object_ = self._entity(triple.subject, unseen), self._entity(triple.object, unseen)
            said.setdefault(subject, NAMES)
            said.setdefault(object_, NAMES)
            predicate = self._predicates.setdefault(triple.predicate, len(self._predicates))
            self._edge(_entity_vertex(subject), _entity_vertex(object_), RELATES, row, predicate)
        for entity, says in said.items():
            self._used.values[entity] += 1
            if self._used.values[entity] == _HUB:
                self._hub_since.values[entity] = row
            self._edge(_entity_vertex(entity), _row_vertex(row), says, row, -1)

    def _entity(self, name: str, unseen: list[str]) -> int:
        form = normal_name(name)
        number = self._entities.get(form)
        if number is None:
            number = self._entities[form] = len(self._names)
            self._names.append(name)
            self._used.append(0)
            self._hub_since.append(_NEVER)
            self._first_row.append(len(self._before) - 1)
            unseen.append(name)
        return number

    def _edge(self, a: int, b: int, says: int, row: int, predicate: int) -> None:
        number = len(self._ends)
        self._ends.append((a, b))
        self._says.append(says)
        self._row.append(row)
        self._predicate.append(predicate)
        for vertex in {a, b}:
            self._overlay.setdefault(vertex, []).append(number)

    def _learn_vectors(self, names: Sequence[str]) -> None:
        """Take the embeddings of new entities from the ledger; one that has none is zero, near nothing."""
        if not names:
            return
        hashes = [text_hash(name) for name in names]
        kept = self._kept(hashes)
        if self._vectors is None and not kept:
            return
        width = len(next(iter(kept.values()))) if self._vectors is None else self._vectors.values.shape[1]
        vectors = self._room_for_vectors(width)
        for entity, key in enumerate(hashes, len(self._names) - len(names)):
            if key in kept:
                vectors.values[entity] = kept[key]

    def _room_for_vectors(self, width: int) -> Column:
        """A row for each entity, blank until its vector is known."""
        if self._vectors is None:
            self._vectors = Column(np.float32, width=width)
        lacking = len(self._names) - len(self._vectors)
        self._vectors.extend(np.zeros((lacking, width), np.float32))
        return self._vectors

    def _fold(self) -> None:
        """Put all edges into igraph."""
        import igraph

        vertices = 2 * max(len(self._names), len(self._before)) + 2
        self._base = igraph.Graph(n=vertices, edges=np.ascontiguousarray(self._ends.values))
        self._folded, self._overlay = len(self._ends), {}

    # Walking

    def _edges_at(self, vertex: int) -> list[int]:
        edges: list[int] = []
        if self._base is not None and vertex < self._base.vcount():
            edges = self._base.incident(vertex, mode="all")
        return edges + self._overlay.get(vertex, [])

    def _telling(self, entity: int, horizon: int) -> float:
        """How much naming this entity says: 1 for one named once, 0 for one that every memory names.

        Counted up to the last row this view knows: what was learned later must not move its scores.
        """
        if horizon < 2:
            return 1.0
        if self._hub_since.values[entity] < horizon:
            return 0.0
        rows = self._row.values[self._edges_at(_entity_vertex(entity))]
        used = max(int(np.count_nonzero(rows < horizon)), 1)
        return math.log((horizon + 1) / min(used, horizon + 1)) / math.log(horizon + 1)

    def _named(self, query: Query) -> list[int]:
        """The entities whose names stand in the question."""
        found = (self._entities.get(normal_name(name)) for name in query.names)
        return list(dict.fromkeys(entity for entity in found if entity is not None))

    def _from_names(self, query: Query, named: Sequence[int], walk: _Walk) -> None:
        """First and second seed: what the question names, and names that mean something near it."""
        near = np.fromiter(query.near, np.int64, len(query.near))
        speakers = self._speaker.values[near]
        for entity in named:
            name = self._names[entity]
            # If one person said everything, who said it tells nothing.
            said = near[speakers == entity]
            if len(said) < len(near):
                walk.reach(said, SAID_BY, f"said by {name}, named in the question")
            about = self._rows_about(entity, walk)
            also = near[np.any(self._subject.values[near] == entity, axis=1)]
            walk.reach(np.union1d(about, also), ABOUT_NAMED, f"about {name}, named in the question")
            for other, predicate in self._related(entity, walk):
                worth = BY_RELATION * self._telling(other, walk.horizon)
                through = f"two steps from {name} through {predicate} to {self._names[other]}"
                walk.reach(self._rows_about(other, walk), worth, through)
        for entity, alike in self._alike(query, walk.horizon):
            if entity not in named:
                near_name = f"about {self._names[entity]}, a name near the question"
                walk.reach(self._rows_about(entity, walk), ABOUT_ALIKE * alike, near_name)

    def _from_memories(self, query: Query, walk: _Walk) -> None:
        """Third seed: what the nearest memories name that the question does not, and what is about that."""
        asked = set(tokens(query.text))
        best: dict[int, tuple[float, str]] = {}
        for row in list(query.near)[:_HOP_FROM]:
            for edge in self._edges_at(_row_vertex(row)):
                entity = int(self._ends.values[edge, 0]) // 2
                if self._says.values[edge] == SAID or words_of(self._names[entity]) <= asked:
                    continue
                rows = self._rows_about(entity, walk)
                worth = ONE_HOP * query.near[row] * self._telling(entity, walk.horizon)
                why = f"about {self._names[entity]}, which a memory near the question names"
                for other in rows.tolist() if len(rows) <= _FEW else ():
                    # The memory that leads on stays ahead of the one it leads to.
                    least = min(worth, LEAD * query.near[row] - query.near.get(other, 0.0))
                    if other != row and least > best.get(other, (0.0, ""))[0]:
                        best[other] = least, why
        for row, (worth, why) in best.items():
            walk.reach(np.array([row]), worth, why)

    def _from_turns(self, query: Query, walk: _Walk) -> None:
        """The answer often stands in the turn after or before the one that matches, or near it."""
        near = np.fromiter(query.near, np.int64, len(query.near))
        weights = np.fromiter(query.near.values(), np.float64, len(near)) * self._short.values[near]
        for column, worth, why in (
            (self._after, BEFORE, "follows a turn near the question"),
            (self._before, AFTER, "leads up to a turn near the question"),
        ):
            beside = column.values[near]
            there = beside >= 0
            rows = beside[there]
            walk.reach_each(rows, worth * weights[there] * self._short.values[rows], why)
        # The best turn of a sitting lifts the others of it that are in question.
        best = np.zeros(self._sittings + 1)  # the last one stands for "no sitting", which is -1
        np.maximum.at(best, self._sitting.values[near], weights)
        best[-1] = 0.0
        if best.any():
            rows = np.union1d(near, walk.reached())
            worths = SAME_SITTING * best[self._sitting.values[rows]] * self._short.values[rows]
            walk.reach_each(rows, worths, "said when a near one was said")

    def _rows_about(self, entity: int, walk: _Walk) -> NDArray[np.int64]:
        """The newest rows about an entity that may answer; none for one that is named all over."""
        if self._hub_since.values[entity] < walk.horizon:
            return np.empty(0, np.int64)
        edges = np.array(self._edges_at(_entity_vertex(entity)), np.int64)
        rows = self._row.values[edges[self._says.values[edges] == ABOUT]]
        found: NDArray[np.int64] = rows[walk.allowed[rows]][-_FAN_OUT:].astype(np.int64)
        return found

    def _alike(self, query: Query, horizon: int) -> list[tuple[int, float]]:
        """Entities whose own embedding is near the question's."""
        if self._vectors is None or query.vector is None or not len(self._vectors):
            return []
        known = int(np.searchsorted(self._first_row.values, horizon))
        # Not `@`: BLAS threads wait for each other, 12 ms on a busy machine where this takes 0.1.
        alike = np.einsum("ij,j->i", self._vectors.values[:known], query.vector)
        places = top(alike, _MOST_ALIKE)
        return [(int(place), float(alike[place])) for place in places if alike[place] >= _ALIKE]

    def _related(self, entity: int, walk: _Walk) -> list[tuple[int, str]]:
        """Entities that some memory ties to this one, each with the predicate."""
        if self._hub_since.values[entity] < walk.horizon:
            return []
        vertex = _entity_vertex(entity)
        predicates = list(self._predicates)
        found: dict[int, str] = {}
        for edge in self._edges_at(vertex):
            if self._says.values[edge] == RELATES and walk.allowed[self._row.values[edge]]:
                a, b = self._ends.values[edge]
                other = int(b if a == vertex else a) // 2
                if other != entity:
                    found.setdefault(other, predicates[self._predicate.values[edge]])
        return list(found.items())[-_FAN_OUT:]


class _Walk:
    """What each row was worth on the way, with the strongest reason for it."""

    def __init__(self, query: Query) -> None:
        self.allowed = query.allowed
        # One more than the last row that the view knows of.
        visible = query.visible
        self.horizon = len(visible) - int(np.argmax(visible[::-1])) if visible.any() else 0
        self.scores = np.zeros(len(self.allowed))
        self._strongest = np.zeros(len(self.allowed))
        self._because = np.zeros(len(self.allowed), np.int32)
        self._reasons: list[str] = []
        self._reached: list[NDArray[Any]] = [np.empty(0, np.int64)]

    def reached(self) -> NDArray[np.int64]:
        """The rows that are worth anything. Not by looking through all of them: there may be millions."""
        rows: NDArray[np.int64] = np.unique(np.concatenate(self._reached))
        return rows

    def reach(self, rows: NDArray[np.integer[Any]], worth: float, why: str) -> None:
        """Add `worth` to these rows, as far as they may answer. Each may stand there once."""
        self.reach_each(rows, np.full(len(rows), worth), why)

    def reach_each(self, rows: NDArray[np.integer[Any]], worths: NDArray[np.floating[Any]], why: str) -> None:
        """Add its own worth to each of these rows, as far as they may answer."""
        kept = self.allowed[rows] & (worths > 0)
        rows, worths = rows[kept], worths[kept]
        self.scores[rows] += worths
        self._reached.append(rows)
        stronger = worths > self._strongest[rows]
        rows, worths = rows[stronger], worths[stronger]
        self._strongest[rows] = worths
        self._because[rows] = len(self._reasons)
        self._reasons.append(why)

    def reason(self, row: int) -> str:
        """What was worth most to this row."""
        return str(self._reasons[self._because[row]])


_COLUMNS = (
    *("used", "hub_since", "first_row", "ends", "says", "row", "predicate"),
    *("speaker", "subject", "before", "after", "sitting", "short"),
)


@lru_cache(1 << 14)
def words_of(name: str) -> frozenset[str]:
    """The words of a name."""
    return frozenset(tokens(name))


def spoken_by(version: Remembered) -> str | None:
    """Who speaks in a memory: the speaker of a turn, who observed it, or "me" where it says "I"."""
    if version.turn is not None:
        return version.turn.speaker
    if version.observed_by is not None:
        return version.observed_by
    return next((SELF for mention in version.mentions if mention.name == SELF), None)


def _entity_vertex(entity: int) -> int:
    # Entities have the even numbers and rows the odd ones, so neither has to move when the other grows.
    return 2 * entity


def _row_vertex(row: int) -> int:
    return 2 * row + 1

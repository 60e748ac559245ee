"""Which memories are tied to what the question is about.

Vertices are entities and memories; edges say that a memory names an entity, that a memory claims a
relation between two, and that one turn follows another. The walk starts from three seeds: entities whose
name stands in the question, entities whose own embedding is near it, and entities of the memories that
the other signals found. It is local: two hops, capped fan-out, weighed by how telling an entity is (one
that every memory names says nothing). It never runs over the whole graph.

igraph holds the edges up to the last fold; adding one there costs time for all of them, so newer ones
wait in a small overlay until there are enough to fold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.arrays import Column, pack, unpack
from remanence.events import Remembered
from remanence.model import Query, Ranking, micros
from remanence.text import normal_name, text_hash

if TYPE_CHECKING:
    from remanence.ports import Vector

MENTION, RELATION = 0, 1
SESSION_GAP = 6 * 3600 * 1_000_000
"""Turns of one conversation further apart than this (microseconds) belong to different sittings."""

_FAN_OUT = 64
_NEAR_NAMES = 8
_ALIKE = 0.55
_NEAR_MEMORIES = 12
_HOP = 0.5
_BESIDE = 0.45

Kept = Callable[[Sequence[bytes]], Mapping[bytes, "Vector"]]


class Graph:
    """Memories by what they are about."""

    name = "graph"

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._entities: dict[str, int] = {}
        self._names: list[str] = []
        self._predicates: dict[str, int] = {}
        self._used = Column(np.int32)  # of each entity: how many rows name it
        self._vectors: Column | None = None  # of each entity: its own embedding
        # Of each edge: the two vertices, what it says, the row that says it, and the predicate.
        self._ends = Column(np.int64, width=2)
        self._says = Column(np.int8)
        self._row = Column(np.int32)
        self._predicate = Column(np.int32)
        # Of each row: the rows said before and after it, and the sitting it belongs to.
        self._before = Column(np.int32)
        self._after = Column(np.int32)
        self._sitting = Column(np.int32)
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
            self._before.append(-1)
            self._after.append(-1)
            self._sitting.append(-1)
            if version is not None:
                self._follow(row, version)
                self._tie(row, version, unseen)
        self._learn_vectors(unseen)
        if len(self._ends) - self._folded > max(4_096, self._folded // 4):
            self._fold()

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows tied closest to the seeds."""
        seeds = self._seeds(query)
        if not seeds and not query.near:
            return Ranking.abstain(self.name, "the question names nothing that is known, and nothing is near it")
        walk = _Walk(query.allowed)
        self._from_entities(seeds, query, walk)
        self._from_turns(query, walk)
        if not walk.scores:
            return Ranking.abstain(self.name, "nothing that may answer is tied to what the question is about")
        ordered = sorted(walk.scores.items(), key=lambda item: (-item[1], item[0]))[:limit]
        return Ranking(
            self.name, [row for row, _ in ordered], [score for _, score in ordered], why=walk.reasons.__getitem__
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

    def hashes_beside(self, rows: Sequence[int]) -> set[bytes]:
        """The hashes of the names that rows other than these name."""
        others = (self._says.values == MENTION) & ~np.isin(self._row.values, list(rows))
        return {text_hash(self._names[vertex // 2]) for vertex in np.unique(self._ends.values[others, 0])}

    # Building

    def _follow(self, row: int, version: Remembered) -> None:
        """Tie a turn to the one before it in its conversation."""
        turn = version.turn
        if turn is None:
            return
        at = 0 if turn.at is None else micros(turn.at)
        last = self._last_turn.get(turn.conversation)
        self._last_turn[turn.conversation] = (row, at)
        if last is not None and abs(at - last[1]) <= SESSION_GAP:
            before = last[0]
            self._before.values[row] = before
            self._after.values[before] = row
            self._sitting.values[row] = self._sitting.values[before]
        else:
            self._sitting.values[row] = self._sittings
            self._sittings += 1

    def _tie(self, row: int, version: Remembered, unseen: list[str]) -> None:
        """Tie a row to the entities it names, and those to each other as it claims."""
        named = dict.fromkeys(self._entity(mention.name, unseen) for mention in version.mentions)
        for triple in version.triples:
            subject, object_ = self._entity(triple.subject, unseen), self._entity(triple.object, unseen)
            named[subject] = named[object_] = None
            predicate = self._predicates.setdefault(triple.predicate, len(self._predicates))
            self._edge(_entity_vertex(subject), _entity_vertex(object_), RELATION, row, predicate)
        for entity in named:
            self._used.values[entity] += 1
            self._edge(_entity_vertex(entity), _row_vertex(row), MENTION, row, -1)

    def _entity(self, name: str, unseen: list[str]) -> int:
        form = normal_name(name)
        number = self._entities.get(form)
        if number is None:
            number = self._entities[form] = len(self._names)
            self._names.append(name)
            self._used.append(0)
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
        if self._vectors is None:
            if not kept:
                return
            width = len(next(iter(kept.values())))
            self._vectors = Column(np.float32, np.zeros((len(self._names) - len(names), width), np.float32))
        blank = np.zeros(self._vectors.values.shape[1], np.float32)
        self._vectors.extend(np.stack([kept.get(key, blank) for key in hashes]))

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

    def _telling(self, entity: int, known: int) -> float:
        """How much naming this entity says: 1 for one named once, 0 for one that every memory names."""
        used = max(int(self._used.values[entity]), 1)
        return math.log((known + 1) / min(used, known + 1)) / math.log(known + 1) if known > 1 else 1.0

    def _seeds(self, query: Query) -> dict[int, tuple[float, str]]:
        """Entities to start from, each with its weight and how it was found."""
        seeds: dict[int, tuple[float, str]] = {}

        def plant(entity: int, weight: float, how: str) -> None:
            if weight > seeds.get(entity, (0.0, ""))[0]:
                seeds[entity] = (weight, how)

        for name in query.names:
            entity = self._entities.get(normal_name(name))
            if entity is not None:
                plant(entity, 1.0, "named in the question")
        if self._vectors is not None and query.vector is not None:
            alike = self._vectors.values @ query.vector
            for entity in np.argsort(-alike, kind="stable")[:_NEAR_NAMES]:
                if alike[entity] >= _ALIKE:
                    plant(int(entity), 0.6 * float(alike[entity]), "a name near the question")
        for row, score in _first(query.near.items(), _NEAR_MEMORIES):
            for entity in self._named_by(row):
                plant(entity, 0.4 * score, "named by a memory near the question")
        return seeds

    def _named_by(self, row: int) -> list[int]:
        return [
            int(self._ends.values[edge, 0]) // 2
            for edge in self._edges_at(_row_vertex(row))
            if self._says.values[edge] == MENTION
        ]

    def _from_entities(self, seeds: Mapping[int, tuple[float, str]], query: Query, walk: _Walk) -> None:
        known = int(np.count_nonzero(query.visible))
        for entity, (weight, how) in seeds.items():
            name = self._names[entity]
            weight *= self._telling(entity, known)
            walk.reach(self._rows_naming(entity, query), weight, lambda row, n=name, h=how: f"names {n}, {h}")
            for other, predicate in self._related(entity, query):
                onward = weight * _HOP * self._telling(other, known)
                step = f"two steps from {name} through {predicate} to {self._names[other]}"
                walk.reach(self._rows_naming(other, query), onward, lambda row, s=step: s)

    def _rows_naming(self, entity: int, query: Query) -> list[int]:
        edges = np.array(self._edges_at(_entity_vertex(entity)), np.int64)
        edges = edges[self._says.values[edges] == MENTION]
        rows = self._row.values[edges]
        rows = rows[query.allowed[rows]]
        # The newest of many; and of those already found by another signal, all.
        if len(rows) > _FAN_OUT:
            near = np.array([row in query.near for row in rows.tolist()])
            rows = np.unique(np.concatenate((rows[-_FAN_OUT:], rows[near])))
        return rows.tolist()  # type: ignore[no-any-return]

    def _related(self, entity: int, query: Query) -> list[tuple[int, str]]:
        vertex = _entity_vertex(entity)
        predicates = list(self._predicates)
        found: dict[int, str] = {}
        for edge in self._edges_at(vertex)[-4 * _FAN_OUT :]:
            if self._says.values[edge] == RELATION and query.allowed[self._row.values[edge]]:
                a, b = self._ends.values[edge]
                other = int(b if a == vertex else a) // 2
                if other != entity:
                    found.setdefault(other, predicates[self._predicate.values[edge]])
        return list(found.items())[:_FAN_OUT]

    def _from_turns(self, query: Query, walk: _Walk) -> None:
        """The answer often stands in the turn after or before the one that matches."""
        for row, score in query.near.items():
            for column, said in ((self._after, "answers"), (self._before, "leads up to")):
                beside = int(column.values[row])
                if beside >= 0:
                    walk.reach([beside], _BESIDE * score, lambda r, s=said: f"{s} a turn near the question")


class _Walk:
    """Scores gathered on the way, with the strongest reason for each row."""

    def __init__(self, allowed: NDArray[np.bool_]) -> None:
        self._allowed = allowed
        self.scores: dict[int, float] = {}
        self.reasons: dict[int, str] = {}
        self._strongest: dict[int, float] = {}

    def reach(self, rows: Iterable[int], weight: float, why: Callable[[int], str]) -> None:
        if weight <= 0:
            return
        for row in rows:
            if self._allowed[row]:
                self.scores[row] = self.scores.get(row, 0.0) + weight
                if weight > self._strongest.get(row, 0.0):
                    self._strongest[row] = weight
                    self.reasons[row] = why(row)


_COLUMNS = ("used", "ends", "says", "row", "predicate", "before", "after", "sitting")


def _entity_vertex(entity: int) -> int:
    # Entities have the even numbers and rows the odd ones, so neither has to move when the other grows.
    return 2 * entity


def _row_vertex(row: int) -> int:
    return 2 * row + 1


def _first(items: Iterable[tuple[int, float]], count: int) -> list[tuple[int, float]]:
    return sorted(items, key=lambda item: (-item[1], item[0]))[:count]

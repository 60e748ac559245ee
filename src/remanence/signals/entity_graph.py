"""Which memories are tied to what the question is about.

Vertices are names and memories. Edges say that somebody said a memory, that a memory is about a name
(its heading, or the first name in it), or only names it. Which names stand for one entity, and how
entities are related, comes with the question (`Query.same`, `Query.related`), because it depends on the
view. Besides, a chat turn knows the turns before and after it, and what it came with: its sitting. So
does a piece of a document, if the pieces were put in one after another with one `source`.

The walk starts from three seeds: what the question names, or if it names nothing we know, names whose own
embedding is near it; and the names in the memories that meaning and words found. It is local: two hops,
capped fan-out, never the whole graph. What it gives has a fixed scale, so a weak tie stays weak.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.language.text import normalize_name, question_share, text_hash, tokens
from remanence.ports import Stage
from remanence.schema import Query, Ranking, micros
from remanence.signals.graph_walk import Rows, WalkScores
from remanence.signals.speakers import Speakers
from remanence.signals.vector_sketch import SketchedVectors
from remanence.state.adjacency import Adjacency
from remanence.state.columns import Column, pack, top_indices, unique_inverse, unpack
from remanence.state.names import Names, names_in, speaker_of

if TYPE_CHECKING:
    from remanence.ports import Vector

SAID, ABOUT, NAMES = range(3)
SITTING_GAP = 6 * 3600 * 1_000_000
"""Turns of one conversation further apart than this (microseconds) belong to different sittings."""

# How much each tie is worth, beside a memory that both meaning and words put first, which is worth 1.
SPEAKER_WEIGHT, SUBJECT_WEIGHT, SIMILAR_SUBJECT_WEIGHT = 0.4, 0.4, 0.15
ONE_HOP_WEIGHT, RELATION_WEIGHT = 0.9, 0.3
NEXT_TURN_WEIGHT, PREVIOUS_TURN_WEIGHT, SAME_SESSION_WEIGHT, SAME_DOCUMENT_WEIGHT = 0.15, 0.25, 0.25, 1.5
CEILING = 1.0
LEAD = 1.0
ASKING = 0.65
"""What a turn loses that only asks: it may match well, and the answer is another one."""

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


class EntityGraph:
    """Memories by what they are about."""

    name = "graph"
    weight = 1.0
    stage = Stage.SPREAD
    needs_embedding = False

    def __init__(self, kept: Kept, names: Names) -> None:
        self._kept = kept
        self._names = names
        # Of each name: how many rows name it; and of those that became hubs, with which row they did.
        self._used: list[int] = []
        self._hub_since: dict[int, int] = {}
        # Names that memories are about have vectors: the name, the first row about it, the line that
        # described it if it was registered, and the vector, blank until there is one.
        self._subjects: dict[int, int] = {}
        self._described = Column(np.int64, width=3)
        self._hashes: list[bytes] = []
        self._vectors = SketchedVectors()
        # Edges run from a name to a row; of each: what it says.
        self._edges = Adjacency()
        self._says = Column(np.int8)
        # Of each row: who said it, what it is about, its neighbours, what it came with, and how short it is.
        self._speaker = Column(np.int32)
        self._subject = Column(np.int32, width=2)
        self._before = Column(np.int32)
        self._after = Column(np.int32)
        self._batch = Column(np.int32)
        self._turn = Column(np.bool_)
        self._short = Column(np.float32)
        self._length = Column(np.int32)
        self._asks = Column(np.float32)
        # The turn after, where both are short.
        self._answer = Column(np.int32)
        self._speakers = Speakers()
        self._batches = 0
        self._last_turn: dict[str, tuple[int, int, int]] = {}
        self._last_piece: tuple[str | None, int] = (None, -1)

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""
        known = len(self._before)
        new = versions[max(0, known - first) :]
        for column in (*(self._speaker, self._subject), *(self._before, self._after, self._answer, self._batch)):
            column.fill(len(new), -1)
        self._turn.extend([v is not None and v.turn is not None for v in new])
        self._short.extend([1.0 if v is None else min(1.0, _SHORT / len(v.text)) for v in new])
        self._length.extend([0 if v is None else len(v.text) for v in new])
        self._asks.extend([0.0 if v is None or v.turn is None else question_share(v.text) for v in new])
        self._used += [0] * (len(self._names) - len(self._used))
        edges: list[tuple[int, int]] = []
        says: list[int] = []
        described = len(self._hashes)
        for row, version in enumerate(new, known):
            if version is not None:
                self._follow(row, version)
                self._tie(row, version, edges, says)
        self._edges.extend(edges)
        self._says.extend(says)
        self._learn_vectors(described)

    def add_description(self, name: int, text: str, position: int) -> None:
        """Take in what a registered entity is called in full, for the second seed."""
        described = len(self._hashes)
        self._describe(name, len(self._before), position, text)
        self._learn_vectors(described)

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows tied closest to the seeds."""
        walk = WalkScores(query)
        if query.candidate_scores:
            self._from_turns(walk)
            self._from_batches(walk)
            self._from_memories(query, walk)
        self._from_names(query, walk)
        rows, scores = walk.total_scores()
        if not len(rows):
            return Ranking.abstain(self.name, "nothing that may answer is tied to what the question is about")
        scores *= 1 - ASKING * self._asks.values[rows]
        best = top_indices(scores, limit)
        return Ranking(
            self.name,
            rows[best].tolist(),
            np.minimum(scores[best], CEILING).tolist(),
            ceiling=CEILING,
            explain_rows=walk.reasons,
        )

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Vertices and edges as plain arrays."""
        words = {
            "hubs": list(self._hub_since.items()),
            "last": self._last_turn,
            "piece": self._last_piece,
            "hashes": [key.hex() for key in self._hashes],
        }
        out = {
            "words": pack(words),
            "batches": np.array([self._batches]),
            "used": np.array(self._used, np.int32),
            "ends": self._edges.endpoints,
        }
        return out | dict(self._vectors.save()) | {name: getattr(self, f"_{name}").values for name in _COLUMNS}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the index that `save` wrote."""
        words = unpack(arrays["words"])
        self._hub_since = dict(words["hubs"])
        self._last_turn = {name: (row, at, number) for name, (row, at, number) in words["last"].items()}
        self._hashes = [bytes.fromhex(key) for key in words["hashes"]]
        self._last_piece = (words["piece"][0], words["piece"][1])
        self._batches = int(arrays["batches"][0])
        self._used = arrays["used"].tolist()
        self._edges = Adjacency(arrays["ends"])
        self._vectors.load(arrays)
        for name in _COLUMNS:
            setattr(self, f"_{name}", Column(arrays[name].dtype, arrays[name]))
        speakers, firsts = np.unique(self._speaker.values, return_index=True)
        self._speakers = Speakers()
        for number, row in zip(speakers.tolist(), firsts.tolist(), strict=True):
            if number >= 0:
                self._speakers.add(number, self._names.spellings[number], row)
        for place, (name, _, _) in enumerate(self._described.values.tolist()):
            self._subjects.setdefault(name, place)

    def is_subject(self, name: str) -> bool:
        """Whether this is a name that some memory is about, so that its vector was asked for before."""
        number = self._names.number(name)
        return number is not None and number in self._subjects

    def text_hashes(self) -> list[bytes]:
        """The hashes of the names and descriptions that are embedded."""
        return list(self._hashes)

    def fill_missing_vectors(self) -> None:
        """Try again the names that had no embedding."""
        self._fill(self._vectors.places_without_vector(len(self._hashes)))

    def rows_mentioning(self, number: int) -> NDArray[np.int64]:
        """The rows that name this, oldest first, whoever may see them."""
        return self._edges.endpoints[self._edges.edges_of(_name_vertex(number)), 1].astype(np.int64) // 2

    def names_in_rows(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The numbers of the names that these rows say."""
        ends = self._edges.endpoints
        found: NDArray[np.int64] = np.unique(ends[rows[ends[:, 1] // 2], 0] // 2)
        return found

    def names_in_row(self, row: int) -> list[int]:
        """The numbers of the names that a row says."""
        named: list[int] = (self._edges.endpoints[self._edges.edges_of(_row_vertex(row)), 0] // 2).tolist()
        return named

    def next_turns(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """The turn said right after each of these, where both are short; -1 where there is none."""
        found: NDArray[np.integer[Any]] = self._answer.values[rows]
        return found

    def full_speaker_name(self, name: str, visible: NDArray[np.bool_]) -> str | None:
        """The full name of the one who is called so and had said something by the last row a view knows."""
        number = self._speakers.find(name, self._names.number(name), visible)
        return None if number is None else self._names.spellings[number]

    def is_turn(self, row: int) -> bool:
        """Whether a row is something said in a conversation."""
        return bool(self._turn.values[row])

    def is_short(self, row: int, most: int) -> bool:
        """Whether a row's text has at most so many characters."""
        return bool(self._length.values[row] <= most)

    # Building

    def _follow(self, row: int, version: Remembered) -> None:
        """Tie a turn to the one before it in its conversation, and a piece of a document to the others."""
        if version.turn is None:
            # What somebody is known to have said stands on its own.
            document = version.source if version.observed_by is None else None
            same, piece = self._last_piece[0] == document, self._last_piece[1]
            self._last_piece = (document, row)
            if document is not None:
                self._join(row, piece if same else None)
            return
        self._last_piece = (None, row)
        at = 0 if version.turn.at is None else micros(version.turn.at)
        number = version.turn.number
        last = self._last_turn.get(version.turn.conversation)
        if last is None or number >= last[2]:
            self._last_turn[version.turn.conversation] = (row, at, number)
        if last is None or abs(at - last[1]) > SITTING_GAP:
            self._join(row, None)
            return
        before = last[0]
        self._join(row, before)
        if number <= last[2]:
            # Another version of a turn that was said before: what came last did not lead up to it.
            return
        self._before.values[row] = before
        self._after.values[before] = row
        if self._short.values[before] == self._short.values[row] == 1.0:
            self._answer.values[before] = row

    def _join(self, row: int, other: int | None) -> None:
        """Put a row to what this other one came with; None begins something new."""
        self._batch.values[row] = self._batches if other is None else self._batch.values[other]
        self._batches += other is None

    def _tie(self, row: int, version: Remembered, edges: list[tuple[int, int]], says: list[int]) -> None:
        """Tie a row to the names in it."""
        said: dict[int, int] = {}
        speaker = speaker_of(version)
        if speaker:
            number = self._names.intern(speaker)
            said[number] = SAID
            self._speaker.values[row] = number
            self._speakers.add(number, speaker, row)
        for place, name in enumerate(subject_names(version)):
            number = self._names.intern(name)
            said[number] = ABOUT
            self._subject.values[row, place] = number
            if number not in self._subjects:
                self._describe(number, row, 0, self._names.spellings[number])
        for name, _ in names_in(version):
            said.setdefault(self._names.intern(name), NAMES)
        vertex = _row_vertex(row)
        for number, what in said.items():
            used = self._used[number] = self._used[number] + 1
            if used == _HUB:
                self._hub_since[number] = row
            edges.append((_name_vertex(number), vertex))
            says.append(what)

    def _describe(self, name: int, row: int, position: int, text: str) -> None:
        self._subjects.setdefault(name, len(self._hashes))
        self._described.append((name, row, position))
        self._hashes.append(text_hash(text))

    def _learn_vectors(self, first: int) -> None:
        """Take the embeddings of newly described names from the ledger; one without is near nothing."""
        if first < len(self._hashes):
            self._fill(range(first, len(self._hashes)))

    def _fill(self, places: Sequence[int]) -> None:
        kept = self._kept([self._hashes[place] for place in places])
        found = {place: kept[self._hashes[place]] for place in places if self._hashes[place] in kept}
        self._vectors.put(found, len(self._hashes))

    # Walking

    def _telling(self, number: int, horizon: int) -> float:
        """How much naming this says: 1 for a name met once, 0 for one that every memory names.

        Counted up to the last row this view knows: what was learned later must not move its scores.
        """
        if horizon < 2:
            return 1.0
        if self._is_hub(number, horizon):
            return 0.0
        if horizon == len(self._before):
            used = self._used[number] if number < len(self._used) else 0
        else:
            used = int(np.count_nonzero(self.rows_mentioning(number) < horizon))
        return math.log((horizon + 1) / min(max(used, 1), horizon + 1)) / math.log(horizon + 1)

    def _is_known(self, number: int, visible: NDArray[np.bool_]) -> bool:
        """Whether a memory that a view may see names this. Nearly always the first one does."""
        ends = self._edges.endpoints
        return any(visible[ends[edge, 1] // 2] for edge in self._edges.edges_of(_name_vertex(number)))

    def _is_hub(self, number: int, horizon: int) -> bool:
        """Whether a name was named all over by the last row this view knows."""
        return self._hub_since.get(number, _NEVER) < horizon

    def _from_names(self, query: Query, walk: WalkScores) -> None:
        """First seed: what the question names. Or else the second: names that mean something near it."""
        near = walk.near_rows
        speakers = self._speaker.values[near]
        found = (self._names.number(name) for name in query.entity_names)
        named = list(dict.fromkeys(number for number in found if number is not None))
        for number in named:
            name = self._names.spellings[number]
            # If one person said everything, who said it tells nothing.
            said = near[speakers == number]
            if len(said) < len(near):
                walk.add_score(said, SPEAKER_WEIGHT, f"said by {name}, named in the question")
            subject = self._rows_about(number, walk)
            also = near[np.any(self._subject.values[near] == number, axis=1)]
            either, _ = unique_inverse(np.concatenate((subject, also)))
            walk.add_score(either, SUBJECT_WEIGHT, f"about {name}, named in the question")
            if self._is_hub(number, walk.visible_end):
                continue
            for other, predicate in query.related_names(number)[-_FAN_OUT:]:
                worth = RELATION_WEIGHT * self._telling(other, walk.visible_end)
                through = f"two steps from {name} through {predicate} to {self._names.spellings[other]}"
                walk.add_score(self._rows_about(other, walk), worth, through)
        known = any(self._is_known(number, query.visible) for number in named)
        for number, alike in () if known else self._alike(query, walk.visible_end):
            near_name = f"about {self._names.spellings[number]}, a name near the question"
            for same in query.same_entity(number):
                walk.add_score(self._rows_about(same, walk), SIMILAR_SUBJECT_WEIGHT * alike, near_name)

    def _from_memories(self, query: Query, walk: WalkScores) -> None:
        """Third seed: what the nearest memories name that the question does not, and what is about that."""
        asked = set(tokens(query.text))
        best: dict[int, tuple[float, str]] = {}
        for row in walk.near_rows[:_HOP_FROM].tolist():
            edges = self._edges.edges_of(_row_vertex(row))
            vertices = self._edges.endpoints[edges, 0].tolist()
            for vertex, says in zip(vertices, self._says.values[edges].tolist(), strict=True):
                number = vertex // 2
                name = self._names.spellings[number]
                if says == SAID or words_of(name) <= asked:
                    continue
                same = query.same_entity(number)
                rows = self._rows_about(number, walk)
                if len(same) > 1:
                    rows = np.concatenate([self._rows_about(each, walk) for each in same])
                if not 0 < len(rows) <= _FEW:
                    continue
                worth = ONE_HOP_WEIGHT * query.candidate_scores[row] * self._telling(number, walk.visible_end)
                why = f"about {name}, which a memory near the question names"
                for other in rows.tolist():
                    # The memory that leads on stays ahead of the one it leads to.
                    least = min(worth, LEAD * query.candidate_scores[row] - query.candidate_scores.get(other, 0.0))
                    if other != row and least > best.get(other, (0.0, ""))[0]:
                        best[other] = least, why
        for row, (worth, why) in best.items():
            walk.add_score(np.array([row]), worth, why)

    def _from_turns(self, walk: WalkScores) -> None:
        """The answer often stands in the turn after or before the one that matches, or near it."""
        weights = walk.near_scores * self._short.values[walk.near_rows]
        for column, worth, why in (
            (self._after, NEXT_TURN_WEIGHT, "follows a turn near the question"),
            (self._before, PREVIOUS_TURN_WEIGHT, "leads up to a turn near the question"),
        ):
            beside = column.values[walk.near_rows]
            there = beside >= 0
            rows = beside[there]
            walk.add_scores(rows, worth * weights[there] * self._short.values[rows], why)

    def _from_batches(self, walk: WalkScores) -> None:
        """The best turn of a sitting lifts the others of it that are in question.

        And so in a document, but only as far as a piece is near itself: the same `source` may also be a
        label on notes that have nothing in common. One that is alone in question would only lift itself.
        """
        came = self._batch.values[walk.near_rows] >= 0
        near, worth = walk.near_rows[came], walk.near_scores[came]
        if not len(near):
            return
        rows = walk.scored_rows_with(near)
        rows = rows[self._batch.values[rows] >= 0]
        _, places = unique_inverse(self._batch.values[rows])
        spoken = self._turn.values[rows]
        fade = np.where(spoken, self._short.values[rows], 1.0)
        nearness = np.zeros(len(rows))
        nearness[rows.searchsorted(near)] = worth
        best = np.zeros(places.max() + 1)
        np.maximum.at(best, places, nearness * fade)
        lift = best[places]
        walk.add_scores(rows, SAME_SESSION_WEIGHT * lift * fade * spoken, "said when a near one was said")
        if not spoken.all():
            several = np.bincount(places, nearness > 0)[places] > 1
            lift *= SAME_DOCUMENT_WEIGHT * nearness * (several & ~spoken)
            walk.add_scores(rows, lift, "of one document with a near one")

    def _rows_about(self, number: int, walk: WalkScores) -> Rows:
        """The newest rows about a name that may answer; none for one that is named all over."""
        if number not in self._subjects or self._is_hub(number, walk.visible_end):
            return np.empty(0, np.int32)
        edges = np.array(self._edges.edges_of(_name_vertex(number)), np.int64)
        rows = self._edges.endpoints[edges, 1] // 2
        found: Rows = rows[(self._says.values[edges] == ABOUT) & walk.allowed[rows]][-_FAN_OUT:]
        return found

    def _alike(self, query: Query, horizon: int) -> list[tuple[int, float]]:
        """Names that memories are about, and whose own embedding is near the question's."""
        if query.vector is None:
            return []
        named, rows, positions = self._described.values.T
        known = np.where(positions > 0, positions <= query.position, rows < horizon)
        best: dict[int, float] = {}
        for place, alike in self._vectors.nearest(query.vector, known, _MOST_ALIKE):
            if alike >= _ALIKE:
                best.setdefault(int(named[place]), alike)
        return list(best.items())


_COLUMNS = (
    "described",
    "says",
    "speaker",
    "subject",
    "before",
    "after",
    "batch",
    "turn",
    "short",
    "length",
    "asks",
    "answer",
)


@lru_cache(1 << 14)
def words_of(name: str) -> frozenset[str]:
    """The words of a name."""
    return frozenset(tokens(name))


def subject_names(version: Remembered) -> list[str]:
    """What a memory is about: its heading, and the first name in it that is not who speaks.

    The first name in a chat turn is as often the person spoken to, so a turn is about nobody.
    """
    if version.turn is not None or not version.mentions:
        return []
    room = 2 if version.mentions[0].kind == "heading" else 1
    forms = {normalize_name(speaker) for speaker in (speaker_of(version),) if speaker}
    found: list[str] = []
    for mention in version.mentions:
        form = normalize_name(mention.name)
        if form not in forms:
            forms.add(form)
            found.append(mention.name)
            if len(found) == room:
                break
    return found


def _name_vertex(number: int) -> int:
    # Names have the even numbers and rows the odd ones, so neither has to move when the other grows.
    return 2 * number


def _row_vertex(row: int) -> int:
    return 2 * row + 1

"""The index of the graph signal: which memories have which names, and which turns and passages are adjacent.

Vertices are names and memories. Edge kinds: speaker of a memory, subject of a memory (its heading, or the first name in
it), and mention in a memory. Which names stand for one entity, and how entities are related, comes with the query,
because it depends on the view. A chat turn is also connected to the turns before and after it and to its session; so is
a piece of a document, if the pieces were added one after another with one `source`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.index.arrays.adjacency import GRAPH, Adjacency
from remanence.index.arrays.codecs import COLUMN, DICT_CODEC, GROWING, INTERNED, JSON, Codec, SavedPart
from remanence.index.arrays.columns import Column, Interner, round_to_half, split_bytes, top_indices
from remanence.index.names.names import Names, version_names, version_speaker
from remanence.index.numbers import Position, Row
from remanence.index.passages import is_pasted
from remanence.schema import micros
from remanence.text.text import normalize_name, question_share, text_hash

if TYPE_CHECKING:
    from remanence.ports import Vector
    from remanence.ports.vector_ports import LoadVectors

Places = NDArray[np.integer[Any]]


class NameVectors:
    """Vectors of length 1 by place; a missing one is all zeros."""

    def __init__(self, saved: NDArray[np.float16] | None = None) -> None:
        self._vectors = None if saved is None else Column(np.float32, saved)

    def __len__(self) -> int:
        return 0 if self._vectors is None else len(self._vectors)

    def put(self, vectors: Mapping[int, Vector], count: int) -> None:
        """Store these vectors at their places, of which there are `count` now."""
        if self._vectors is None:
            if not vectors:
                return
            self._vectors = Column(np.float32, width=len(next(iter(vectors.values()))))
        width = self._vectors.values.shape[1]
        self._vectors.extend(np.zeros((count - len(self._vectors), width), np.float32))
        for place, vector in vectors.items():
            self._vectors.values[place] = round_to_half(vector)  # as it is saved, so that a reopened index scores alike

    def places_without_vector(self, count: int) -> list[int]:
        """The places, of `count`, that have no vector yet."""
        zeros = [] if self._vectors is None else np.flatnonzero(~self._vectors.values.any(axis=1)).tolist()
        return [*zeros, *range(len(self), count)]

    def nearest(
        self, vector: Vector, is_known: Callable[[Places], NDArray[np.bool_]], limit: int, *, min_similarity: float
    ) -> list[tuple[int, float]]:
        """The known places whose vectors are nearest by dot product, nearest first."""
        if self._vectors is None:
            return []
        # Not `@`: BLAS threads wait for each other, 12 ms on a busy machine where this takes 0.1.
        similarities = np.einsum("ij,j->i", self._vectors.values, vector)
        near = np.flatnonzero(similarities >= min_similarity)
        near = near[is_known(near)]
        best = near[top_indices(similarities[near], limit)]
        return list(zip(best.tolist(), similarities[best].tolist(), strict=True))

    def to_array(self) -> NDArray[np.float16]:
        """All vectors in half precision, as they were rounded."""
        return np.empty(0, np.float16) if self._vectors is None else self._vectors.values.astype(np.float16)


SPEAKER, SUBJECT, MENTION = range(3)
"""How a memory has a name, as stored: its speaker, what it is about, or only mentioned."""
SESSION_GAP = 6 * 3600 * 1_000_000
"""Microseconds between two turns of one conversation from which on they belong to different sessions: six hours."""
_NEVER = np.iinfo(np.int32).max

EarlierVersion = Callable[[Row], "Row | None"]
"""The row of the previous version of a memory, if it is from the same document or conversation."""


class MentionIndex(SavedPart):
    """Memories by the names in them, and by adjacent turns and passages."""

    _saved: ClassVar = {
        "_mention_counts": Codec(lambda counts: np.array(counts, np.int32), lambda array: array.tolist()),
        "_hub_since": DICT_CODEC,
        "_hashes": Codec(lambda hashes: np.frombuffer(b"".join(hashes), np.uint8), lambda a: split_bytes(a, 16)),
        "_vectors": Codec(NameVectors.to_array, NameVectors),
        "_edges": GRAPH,
        **dict.fromkeys(("_described", "_edge_kind", "_speaker", "_subject", "_group", "_turn"), GROWING),
        **dict.fromkeys(("_short", "_length", "_question_share"), GROWING),
        **dict.fromkeys(("_before", "_after", "_next_short", "_last_turn"), COLUMN),
        "_conversations": INTERNED,
        **dict.fromkeys(("_group_count", "_last_piece"), JSON),
    }

    def __init__(self, load_vectors: LoadVectors, names: Names, earlier_version: EarlierVersion) -> None:
        self._load_vectors = load_vectors
        self._names = names
        self._earlier_version = earlier_version
        # For each name, how many rows mention it; for hubs, the row with which they became one.
        self._mention_counts: list[int] = []
        self._hub_since: dict[int, int] = {}
        # Names that memories are about have vectors: the name, the first row about it, the entry that
        # described it if it was registered, and the vector once it was made.
        self._subjects: dict[int, int] = {}
        self._described = Column(np.int64, width=3)
        self._hashes: list[bytes] = []
        self._vectors = NameVectors()
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
        self._first_spoken: dict[int, int] = {}  # by the number of a speaker's name: the first row
        self._group_count = 0
        self._conversations: Interner[str] = Interner()
        self._last_turn = Column(np.int64, width=3)  # of each conversation: its row, its time, its number
        self._last_piece: tuple[str | None, int] = (None, -1)

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        known = len(self._before)
        new = versions[max(0, known - first) :]
        for column in (self._speaker, self._subject, self._before, self._after, self._next_short, self._group):
            column.fill(len(new), -1)
        self._turn.extend([v is not None and v.turn is not None for v in new])
        # The neighbours of longer turns score less, in proportion.
        self._short.extend([1.0 if v is None else min(1.0, 450 / len(v.text)) for v in new])
        self._length.extend([0 if v is None else len(v.text) for v in new])
        asking = (v is not None and v.turn is not None and not is_pasted(v) for v in new)
        shares = [
            question_share(v.text) if v is not None and asks else 0.0 for v, asks in zip(new, asking, strict=True)
        ]
        self._question_share.extend(shares)
        self._mention_counts += [0] * (len(self._names) - len(self._mention_counts))
        edges: list[tuple[int, int]] = []
        kinds: list[int] = []
        described = len(self._hashes)
        for row, version in enumerate(new, known):
            if version is not None:
                self._connect_neighbours(Row(row), version)
                self._connect_names(Row(row), version, edges, kinds)
        self._edges.extend(edges)
        self._edge_kind.extend(kinds)
        self._fill(range(described, len(self._hashes)))

    def add_description(self, name: int, text: str, position: Position) -> None:
        """Index the description of a registered entity, for the second seed."""
        self._describe(name, Row(len(self._before)), position, text)
        self._fill([len(self._hashes) - 1])

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().load(arrays)
        speakers, firsts = np.unique(self._speaker.values, return_index=True)
        self._first_spoken = dict(zip(speakers.tolist(), firsts.tolist(), strict=True))
        for place, (name, _, _) in enumerate(self._described.values.tolist()):
            self._subjects.setdefault(name, place)

    def is_subject(self, name: str) -> bool:
        number = self._names.number(name)
        return number is not None and number in self._subjects

    def text_hashes(self) -> list[bytes]:
        return list(self._hashes)

    def hashes_outside(self, rows: Collection[Row], names: Iterable[str]) -> set[bytes]:
        """The hashes of those of these names that a row other than these is about, and of all descriptions."""
        described = np.flatnonzero(self._described.values[:, 2]).tolist()
        kept = {self._hashes[place] for place in described}
        for number in {number for name in names if (number := self._names.number(name)) is not None}:
            edges, kinds = self._edges.edges_of(name_vertex(number)), self._edge_kind.values
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
        return self._edges.endpoints[self._edges.edges_of(name_vertex(number)), 1].astype(np.int64) // 2

    def names_in_rows(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        ends = self._edges.endpoints
        found: NDArray[np.int64] = np.unique(ends[rows[ends[:, 1] // 2], 0] // 2)
        return found

    def mentions_by_row(self, rows: NDArray[np.bool_]) -> Iterator[tuple[Row, list[int]]]:
        """Each of these rows that mentions anything, with the names in it."""
        names, owners = self._edges.endpoints[:, 0] // 2, self._edges.endpoints[:, 1] // 2
        places = np.flatnonzero(rows[owners])
        places = places[np.argsort(owners[places], kind="stable")]
        found, begins = np.unique(owners[places], return_index=True)
        groups = np.split(names[places], begins[1:])
        yield from zip(found.tolist(), (group.tolist() for group in groups), strict=False)

    def names_in_row(self, row: Row) -> list[int]:
        return [*(self._edges.endpoints[self._edges.edges_of(row_vertex(row)), 0] // 2).tolist()]

    @property
    def has_turns(self) -> bool:
        """Whether any row is a chat turn."""
        return bool(self._turn.values.any())

    def next_turns(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """The turn right after each of these, if both are short; -1 if there is none."""
        found: NDArray[np.integer[Any]] = self._next_short.values[rows]
        return found

    def previous_turns(self, rows: Sequence[Row]) -> list[Row]:
        """The turn right before each of these; -1 if there is none."""
        return self._before.values[list(rows)].tolist()  # type: ignore[no-any-return]

    def adjacent_turns(self, row: Row) -> tuple[Row, Row]:
        """The turns right before and right after a row; -1 if there is none."""
        return Row(int(self._before.values[row])), Row(int(self._after.values[row]))

    def full_speaker_name(self, name: str, visible: NDArray[np.bool_]) -> str | None:
        """The name of the speaker with this name, or else of the only one with this word in the name, among those with
        a turn up to the last visible row."""
        own, named = self._names.number(name), self._names.with_word(normalize_name(name))
        found = [
            number
            for number in (*named, own)
            if number is not None and number in self._first_spoken and visible[self._first_spoken[number] :].any()
        ]
        number = own if own in found else found[0] if len(found) == 1 else None
        return None if number is None else self._names.spellings[number]

    def spelling(self, number: int) -> str:
        """The name with this number, as it was written first."""
        return self._names.spellings[number]

    def names_of_each(self, rows: Iterable[int]) -> Iterator[list[int]]:
        """For each of these rows the names in it, except that of its speaker."""
        edges_of = self._edges.edges_of_each(map(row_vertex, rows))
        edges = np.fromiter(chain.from_iterable(edges_of), np.int64)
        names = iter((self._edges.endpoints[edges, 0] // 2).tolist())
        kinds = iter(self._edge_kind.values[edges].tolist())
        for row in edges_of:
            yield [name for _, name, kind in zip(row, names, kinds, strict=False) if kind != SPEAKER]

    def mentions_of_each(self, names: Iterable[int]) -> tuple[list[int], NDArray[np.int64], NDArray[np.integer[Any]]]:
        """How many rows have each of these names; these rows, those of one name after the other; and the kind of each
        mention. All names are read at once: numpy takes longer for a call than for the few rows of a name."""
        edges_of = self._edges.edges_of_each(map(name_vertex, names))
        edges = np.fromiter(chain.from_iterable(edges_of), np.int64)
        return list(map(len, edges_of)), self._edges.endpoints[edges, 1] // 2, self._edge_kind.values[edges]

    def short_notes(self, rows: NDArray[np.int64], max_length: int) -> NDArray[np.bool_]:
        """Which of these rows are no turns and have at most this many characters."""
        mask: NDArray[np.bool_] = ~self._turn.values[rows] & (self._length.values[rows] <= max_length)
        return mask

    def is_turn(self, row: Row) -> bool:
        return bool(self._turn.values[row])

    def is_short(self, row: Row, length: int) -> bool:
        return bool(self._length.values[row] <= length)

    def specificity(self, number: int, horizon: int) -> float:
        """How specific a name is, as of the last row of the view: 1 if mentioned once, 0 if every memory does."""
        if horizon < 2:
            return 1.0
        if self.is_hub(number, horizon):
            return 0.0
        if horizon == len(self._before):
            count = self._mention_counts[number] if number < len(self._mention_counts) else 0
        else:
            count = int(np.count_nonzero(self.rows_mentioning(number) < horizon))
        return 1.0 - math.log(min(max(count, 1), horizon + 1)) / math.log(horizon + 1)

    def is_known(self, number: int, visible: NDArray[np.bool_]) -> bool:
        """Whether a visible memory mentions this name. Nearly always the first one does."""
        ends = self._edges.endpoints
        return any(visible[ends[edge, 1] // 2] for edge in self._edges.edges_of(name_vertex(number)))

    def is_hub(self, number: int, horizon: int) -> bool:
        return self._hub_since.get(number, _NEVER) < horizon

    # Indexing

    def _connect_neighbours(self, row: Row, version: Remembered) -> None:
        """Connect a turn to the previous one of its conversation, and a piece of a document to the others. A version
        with the same source as the version before takes the place of that one."""
        earlier = self._earlier_version(row)
        if version.turn is None:
            # A text with an observer is a statement of its own, not a piece of a document.
            document = version.source if version.observed_by is None else None
            other = earlier if earlier is not None else self._last_piece[1]
            same = earlier is not None or self._last_piece[0] == document
            self._last_piece = (document, row)
            if document is not None:
                self._add_to_group(row, other if same else None)
            return
        self._last_piece = (None, row)
        at = 0 if version.turn.at is None else micros(version.turn.at)
        number = version.turn.number
        conversation = self._conversations.intern(version.turn.conversation)
        last: list[int] | None = None
        if conversation == len(self._last_turn):
            self._last_turn.append((row, at, number))
        else:
            last = self._last_turn.values[conversation].tolist()
            if number >= last[2]:
                self._last_turn.values[conversation] = row, at, number
        if earlier is not None:
            self._add_to_group(row, earlier)
            self._connect_turns(int(self._before.values[earlier]), row)
            self._connect_turns(row, int(self._after.values[earlier]))
        elif last is None or abs(at - last[1]) > SESSION_GAP:
            self._add_to_group(row, None)
        else:
            self._add_to_group(row, last[0])
            if number > last[2]:  # otherwise the last turn is not the one before this
                self._connect_turns(last[0], row)

    def _connect_turns(self, before: int, after: int) -> None:
        """Connect two turns, one right after the other; -1 is none."""
        if before < 0 or after < 0:
            return
        self._after.values[before] = after
        self._before.values[after] = before
        short = self._short.values[before] == self._short.values[after] == 1.0
        self._next_short.values[before] = after if short else -1

    def _add_to_group(self, row: Row, other: int | None) -> None:
        """Add a row to the session or document of another; None begins a new one."""
        self._group.values[row] = self._group_count if other is None else self._group.values[other]
        self._group_count += other is None

    def _connect_names(self, row: Row, version: Remembered, edges: list[tuple[int, int]], kinds: list[int]) -> None:
        kind_of: dict[int, int] = {}
        speaker = version_speaker(version)
        if speaker:
            number = self._names.intern(speaker)
            kind_of[number] = SPEAKER
            self._speaker.values[row] = number
            self._first_spoken.setdefault(number, row)
        for place, name in enumerate(subject_names(version)):
            number = self._names.intern(name)
            kind_of[number] = SUBJECT
            self._subject.values[row, place] = number
            if number not in self._subjects:
                self._describe(number, row, Position(0), self._names.spellings[number])
        for name, _ in version_names(version):
            kind_of.setdefault(self._names.intern(name), MENTION)
        vertex = row_vertex(row)
        for number, kind in kind_of.items():
            count = self._mention_counts[number] = self._mention_counts[number] + 1
            if count == 1_024:  # a hub, which is not followed
                self._hub_since[number] = row
            edges.append((name_vertex(number), vertex))
            kinds.append(kind)

    def _describe(self, name: int, row: Row, position: Position, text: str) -> None:
        self._subjects.setdefault(name, len(self._hashes))
        self._described.append((name, row, position))
        self._hashes.append(text_hash(text))

    def _fill(self, indexes: Sequence[int]) -> None:
        if not indexes:
            return
        vectors = self._load_vectors([self._hashes[i] for i in indexes])
        found = {i: vectors[self._hashes[i]] for i in indexes if self._hashes[i] in vectors}
        self._vectors.put(found, len(self._hashes))


def subject_names(version: Remembered) -> list[str]:
    """The names that a memory is about: its heading, and the first name in it that is not the speaker. A chat turn has
    none: the first name in it is often the person spoken to."""
    if version.turn is not None or not version.mentions:
        return []
    count = 2 if version.mentions[0].kind == "heading" else 1
    names: dict[str, str] = {}
    for mention in version.mentions:
        names.setdefault(normalize_name(mention.name), mention.name)
    if speaker := version_speaker(version):
        names.pop(normalize_name(speaker), None)
    return list(names.values())[:count]


def name_vertex(number: int) -> int:
    # Names have even numbers and rows odd ones, so that both can grow.
    return 2 * number


def row_vertex(row: int) -> int:
    return 2 * row + 1

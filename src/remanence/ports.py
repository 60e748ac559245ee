"""The parts that can be replaced: ledger, signals, vector stores, embedder, extractor, reader, clock.

Each is a Protocol: any object with these members works, no base class is needed. Pass it to `remanence.open`. The
values that they take and return can be imported from here, too.
`remanence.testing` has a contract class for each: subclass it in your tests to check your own implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from enum import IntEnum
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from remanence.events import Event, Remembered
from remanence.schema import (
    Entry,
    Extraction,
    ExtractionResult,
    Fact,
    Memory,
    Mention,
    Query,
    Ranking,
    Triple,
    Utterance,
    Verdict,
)

__all__ = [
    "Clock",
    "ComparingExtractor",
    "Embedder",
    "Entry",
    "EstimatingReader",
    "Event",
    "Extraction",
    "ExtractionResult",
    "Extractor",
    "Fact",
    "FactExtractor",
    "FastEmbedder",
    "Ledger",
    "LockingLedger",
    "Locks",
    "Memory",
    "Mention",
    "MergingExtractor",
    "ModelExtractor",
    "Progress",
    "Query",
    "Ranking",
    "Reader",
    "Relation",
    "RelationReader",
    "Remembered",
    "SharedVectorStore",
    "Signal",
    "Stage",
    "StoredPoints",
    "SummarizingExtractor",
    "TimelineReader",
    "Transaction",
    "Triple",
    "Utterance",
    "Vector",
    "VectorStore",
    "VectorStores",
    "Verdict",
]

Relation: TypeAlias = Literal["none", "replaces", "extends", "ends"]
"""What a later statement does to an earlier one."""
RELATIONS: tuple[Relation, ...] = ("none", "replaces", "extends", "ends")

Vector: TypeAlias = NDArray[np.float32]
"""One vector, or one row for each of several texts."""

Clock = Callable[[], datetime]
"""Returns the present moment, with its timezone."""

Progress = Callable[[int, int], None]
"""Called with how many items are done and how many there are."""


class Transaction(Protocol):
    """A write transaction. Only one is open at a time, across all processes.

    Using it after its end, or opening another one inside it, raises LedgerError.
    """

    @property
    def head(self) -> int:
        """The position of the last entry, those of this transaction included; 0 if there is none."""
        ...

    def append(self, space: str, events: Sequence[Event], *, at: datetime) -> list[Entry]:
        """Add one entry for each event. Others see them once the transaction is committed.

        An entry is never recorded before the previous entry of its space: an earlier `at` is taken as the moment
        just after it. A naive `at`, and text or values that cannot be stored as JSON, raise InvalidInput.
        """
        ...

    def append_erased(self, space: str, kind: str, subject: str, *, at: datetime) -> Entry:
        """Add an entry whose text was erased before it came here, as when a ledger is imported.

        The caller appends the `Erased` event that confirms it, in the same transaction.
        """
        ...

    def put_vectors(self, space: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Store embeddings of a space by the hash of their text. Known ones stay as they are."""
        ...

    def erase(self, space: str, positions: Sequence[int], vector_hashes: Sequence[bytes]) -> int:
        """Remove the text of these entries of a space, and these embeddings of every model. Positions that are unknown
        or of another space are skipped. Returns how many embeddings were removed.

        The caller appends the `Erased` event that records it, in the same transaction. `Erased` entries hold no
        text and stay: they confirm which entries are empty.
        """
        ...

    def erase_space(self, space: str, *, at: datetime, signature: str | None = None) -> Entry:
        """Remove the text of every entry of a space, and append the `Emptied` event that records it, with this
        signature. The space is not in `spaces` until something else is appended to it."""
        ...

    def put_meta(self, name: str, value: str) -> None:
        """Store a value about the ledger itself."""
        ...


@runtime_checkable
class Ledger(Protocol):
    """An append-only list of entries, shared by every process that opens it.

    After `close` every method raises Closed.
    """

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open the write transaction. It is committed when the block ends, and rolled back if it raises."""
        ...

    def read(self, space: str, *, after: int = 0) -> Iterator[Entry]:
        """The entries of one space above position `after`, in order; erased ones have `event=None`."""
        ...

    def entries_at(self, positions: Sequence[int]) -> dict[int, Entry]:
        """These entries, by position. Positions that do not exist are left out."""
        ...

    def position_at(self, space: str, moment: datetime) -> int:
        """The last position of this space recorded at or before `moment`; 0 if there is none."""
        ...

    def head(self) -> int:
        """The last position of all; 0 for an empty ledger. Must be cheap: it is how new entries are noticed."""
        ...

    def spaces(self, prefix: str | None = None) -> list[str]:
        """The names of all spaces that have an entry, sorted, without those that were emptied; with `prefix`, only this
        one and those whose name starts with it and a slash, in time that does not depend on the other spaces."""
        ...

    def count(self, space: str, *, up_to: int | None = None) -> int:
        """How many entries a space has, up to and including a position."""
        ...

    def vectors(
        self, space: str, model: str, hashes: Sequence[bytes], *, include_shared: bool = False
    ) -> dict[bytes, Vector]:
        """The embeddings that a space has for these text hashes; unknown ones are left out. With `include_shared` also
        those that earlier releases stored for all spaces together: only for texts that the space is known to have."""
        ...

    def get_meta(self, name: str) -> str | None:
        """A value that `put_meta` stored."""
        ...

    def verify(self, space: str | None = None) -> tuple[int, bytes]:
        """How many entries there are, and the last digest, of the whole ledger or of one space. All entries are checked
        in both cases: LedgerTampered names the first changed one. An entry without text that no `Erased` event records
        counts as changed."""
        ...

    def last_erasure(self) -> int:
        """The position of the last entry that records an erasure; 0 if there is none. Must be cheap."""
        ...

    def clean_up(self, *, wait: float = 0.0) -> bool:
        """Remove erased text from where it may be besides the entries, such as a write-ahead log.

        Waits at most so many seconds for others. False if something prevents it for now, such as a long read.
        """
        ...

    def compact(self) -> None:
        """Free unused disk space. Entries, vectors and meta values stay as they are.

        LedgerUnavailable if another process prevents it; nothing is lost then.
        """
        ...

    def close(self) -> None:
        """Release files and connections. Closing twice is fine."""
        ...


class Locks(Protocol):
    """Named locks shared by all threads and processes that use a ledger, and the erasure position that each process has
    indexed. The locks of a process are released when it ends, also after a crash."""

    is_shared: bool
    """Whether other processes may use the ledger."""

    def acquire(self, name: str) -> AbstractContextManager[bool]:
        """Acquire a lock for a block; yields False if it is held elsewhere."""
        ...

    def is_locked(self, name: str) -> bool:
        """Whether anybody holds a lock."""
        ...

    def delete(self, name: str) -> None:
        """Delete what is stored for a lock that will not be used again."""
        ...

    def publish_position(self, position: int) -> None:
        """Publish the position of the last erasure that the indexes of this process contain."""
        ...

    def other_processes(self) -> list[tuple[str, int]]:
        """The published positions of other processes, by process."""
        ...

    def close(self) -> None:
        """Release everything. Closing twice is fine."""
        ...


@runtime_checkable
class LockingLedger(Protocol):
    """Optional method of a ledger: locks between its users. Without it, lock files in the folder are used."""

    def locks(self) -> Locks:
        """Locks for one opened space, which closes them."""
        ...


class Stage(IntEnum):
    """When a signal is asked: signals of a later stage are given what the earlier ones found."""

    FIND = 0
    """Is given the question only."""
    SCORE = 1
    """Is also asked to score the rows that FIND signals found: `query.candidate_rows`."""
    SPREAD = 2
    """Starts from the rows that the earlier stages agree on: `query.candidate_scores`."""


@runtime_checkable
class Signal(Protocol):
    """An index built from the ledger that can rank memories for a question.

    `remanence.open(signals=[...])` takes empty ones; each space gets a copy of its own.
    """

    name: str
    weight: float
    """Its weight in the fused score. The weights of the four built-in signals lie between 0.4 and 1."""
    stage: Stage
    needs_embedding: bool
    """Whether it cannot rank without `query.vector`."""

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Index versions numbered from row `first`; None is one whose text was erased.

        Rows that are indexed already are skipped, so applying twice changes nothing.
        """
        ...

    def rank(self, query: Query, limit: int) -> Ranking:
        """The best rows for this question, all of them in `query.allowed`, or an abstention."""
        ...

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The index as plain arrays, for the index file."""
        ...

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Load the arrays of `save`."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Text to vectors of one dimension."""

    name: str
    """A name for people, such as `remanence-256`."""

    fingerprint: str
    """Differs whenever the vectors would: name, dimension, weights, prefixes."""

    dimension: int | None
    """None until the first text was embedded, for embedders that do not know it."""

    similarity_floor: float
    """The typical similarity of an unrelated question and text. Similarity up to this counts as none. 0 if unknown."""

    def embed(self, texts: Sequence[str]) -> Vector:
        """One row of unit length for each text."""
        ...

    def embed_query(self, text: str) -> Vector:
        """One vector of unit length for a question."""
        ...


@runtime_checkable
class FastEmbedder(Embedder, Protocol):
    """Optional member of an embedder: whether it is fast."""

    is_fast: bool
    """Whether embedding a text takes less time than asking the ledger whether it has its vector. A fast embedder is
    called without a time limit."""


@runtime_checkable
class Extractor(Protocol):
    """Text to names, claims and times."""

    name: str

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        """What the text mentions. `now` is what "yesterday" is read against; `speaker` is who "I" is."""
        ...


@runtime_checkable
class FactExtractor(Extractor, Protocol):
    """Optional method of an extractor: find the facts of a conversation for `remember`. Without it, the rules are
    used."""

    def facts(self, utterances: Sequence[Utterance], *, now: datetime) -> ExtractionResult:
        """The facts in these turns, each in a text that can be read alone. Does not raise if a model fails:
        `ExtractionResult.problem` has the reason, and the rules are used."""
        ...


@runtime_checkable
class ComparingExtractor(Extractor, Protocol):
    """Optional method of an extractor: compare new memories with older ones for `remember`. Without it, the rules are
    used."""

    def compare(self, new: Sequence[Memory], old: Sequence[Sequence[Memory]]) -> list[Verdict]:
        """What each new memory means for its older candidates; one call for all of them."""
        ...


@runtime_checkable
class ModelExtractor(Extractor, Protocol):
    """Optional member of an extractor: which model it uses. `remember` does not extract again from the same sources
    with the same extractor, model and prompt. `ExtractionResult` has the same values."""

    model: str | None
    """The name of the model."""
    prompt: str | None
    """The version of the prompt."""


@runtime_checkable
class SummarizingExtractor(Protocol):
    """Optional method of an extractor: write the profile of a space. Without it, a template is used."""

    def summarize(self, lines: Sequence[str], *, max_tokens: int) -> Sequence[Any] | None:
        """Sentences (`text`, and `lines`: the places of the lines they come from), or None for the template."""
        ...


@runtime_checkable
class MergingExtractor(Protocol):
    """Optional method of an extractor: write one text for several memories. Without it, the rules merge them."""

    def merge(self, texts: Sequence[str]) -> str | None:
        """One text that says what these texts say, or None for the rules."""
        ...


@runtime_checkable
class Reader(Protocol):
    """Reads the first candidates of recall together with the question. A plain function is accepted as well."""

    @property
    def fingerprint(self) -> str:
        """Differs whenever the answers would."""
        ...

    def read(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """For each text, the probability (0 to 1) that it answers the question, regardless of when it was valid.

        A chat turn is passed as "speaker: text"; a short answer is prefixed by the question before it."""
        ...


@runtime_checkable
class EstimatingReader(Protocol):
    """Optional method of a reader: a quick estimate, by which the texts that it reads are chosen."""

    def estimate(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """For each text an estimate of the probability that `read` gives for it. An empty sequence if the reader cannot
        estimate."""
        ...


@runtime_checkable
class RelationReader(Protocol):
    """Optional method of a reader: classify what a later statement does to an earlier one."""

    def compare(self, pairs: Sequence[tuple[str, str]], question: str = "") -> Sequence[Mapping[Relation, float]]:
        """For each (earlier, later), the probability of each relation: the later one replaces the earlier, extends
        it, ends it, or does not touch it ("none"). With a question, what the later one does to the earlier one's
        answer to it."""
        ...


@runtime_checkable
class TimelineReader(Protocol):
    """An optional ability of a reader: read statements together, in the order they were told, and say which one is
    valid."""

    def choose(self, question: str, statements: Sequence[str], known_count: int) -> Sequence[float]:
        """For each statement, the probability that it answers the question at the time asked about. One minus their sum
        is the probability that none does. An empty sequence if the reader cannot tell.

        Each is given with its day ("5 May 2024: user: I moved to Porto."); the first `known_count` of them were told
        by the time asked about."""
        ...


class VectorStore(Protocol):
    """The vectors of one space. Points are numbered by the caller."""

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        """Store these vectors under these numbers. Another dimension raises InvalidInput."""
        ...

    def search(
        self, vector: Vector, limit: int, allowed_ids: Sequence[int] | None = None
    ) -> tuple[list[int], list[float]]:
        """The nearest points by dot product, exactly, best first; among `allowed_ids` if given."""
        ...

    def delete(self, ids: Sequence[int]) -> None:
        """Remove these points; unknown ones are skipped."""
        ...

    def ids(self) -> list[int]:
        """The numbers of all points, in any order."""
        ...

    def clear(self) -> None:
        """Remove all points of this space."""
        ...

    def flush(self) -> None:
        """Write to disk what is not there yet."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


class StoredPoints(NamedTuple):
    """What a shared store has of a space: for each point its number, the ledger position of the version that it was
    made from, and the hash of its text."""

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    hashes: Sequence[bytes]


@runtime_checkable
class SharedVectorStore(VectorStore, Protocol):
    """The vectors of one space in a place that other processes write to as well. It is never cleared: each process
    writes the points of its own entries, and those of others that are missing."""

    def write(self, ids: Sequence[int], vectors: Vector, positions: Sequence[int], hashes: Sequence[bytes]) -> None:
        """Store these vectors under these numbers, with where they come from."""
        ...

    def get_points(self, ids: Sequence[int] | None = None) -> StoredPoints:
        """What is stored under these numbers; under all if None."""
        ...

    def count(self, up_to: int) -> int:
        """How many points come from a ledger position up to this one."""
        ...

    def delete(self, ids: Sequence[int], up_to: int | None = None) -> None:
        """Remove these points; with `up_to`, only those that come from a position up to this one."""
        ...


@runtime_checkable
class VectorStores(Protocol):
    """Opens the vector store of each space. A store may lose points: missing ones are restored from the ledger."""

    def open(self, space: str, dimension: int) -> VectorStore:
        """The store of this space, for vectors of this dimension."""
        ...

    def close(self) -> None:
        """Release what all stores share. Each store is closed before."""
        ...

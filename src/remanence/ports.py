"""What others may plug in: a ledger, a projection, an embedder, an extractor, a reranker, a clock.

Each is a Protocol: any object with these methods will do, no base class needed. `remanence.testing`
holds a contract test for each that says in full what the methods promise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from remanence.events import Event, Remembered
    from remanence.schema import Entry, Extraction, ExtractionResult, Memory, Query, Ranking, Utterance, Verdict

    Vector: TypeAlias = NDArray[np.float32]

Clock = Callable[[], datetime]
"""Gives the present moment, with its timezone."""

Reranker = Callable[[str, Sequence[str]], Sequence[float]]
"""Takes the question and the texts of the first few hits (a turn as "speaker: text"); gives each a score,
higher is better. Its order is taken, or, if it has a `share` (0 to 1), that share of it. One that is
`calibrated` gives scores from 0 to 1 that mean the same in every list; else the least counts for nothing."""


class Transaction(Protocol):
    """The right to append, held by one writer at a time across all processes."""

    @property
    def head(self) -> int:
        """The position of the last line, those of this transaction among them; 0 if there is none."""
        ...

    def append(self, space: str, events: Sequence[Event], *, at: datetime) -> list[Entry]:
        """Add one line for each event. Visible to others only once the transaction ends well.

        A line is never recorded before the previous line of its space: an earlier `at` is taken as the
        moment just after it.
        """
        ...

    def append_erased(self, space: str, kind: str, subject: str, *, at: datetime) -> Entry:
        """Add a line whose words were erased before it came here, as when a ledger is imported.

        The caller appends the `Erased` event that vouches for it, in the same transaction.
        """
        ...

    def put_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep embeddings by the hash of the text they were made of. Known ones stay as they are."""
        ...

    def erase(self, positions: Sequence[int], vector_hashes: Sequence[bytes]) -> None:
        """Blank the words of these lines and drop these embeddings, of every model.

        The caller appends the `Erased` event that records it, in the same transaction.
        `Erased` lines hold no words and stay: they vouch for the lines that are blank.
        """
        ...

    def put_meta(self, name: str, value: str) -> None:
        """Remember a small fact about the ledger itself."""
        ...


class Ledger(Protocol):
    """An append-only list of lines, shared by every process that opens it."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Hold the pen. What was appended is kept if the block ends, and gone if it raises."""
        ...

    def read(self, space: str, *, after: int = 0) -> Iterator[Entry]:
        """The lines of one space above position `after`, in order, erased ones with `event=None`."""
        ...

    def entries_at(self, positions: Sequence[int]) -> dict[int, Entry]:
        """These lines, by position. Positions that do not exist are left out."""
        ...

    def position_at(self, space: str, moment: datetime) -> int:
        """The last position of this space recorded at or before `moment`; 0 if there is none."""
        ...

    def head(self) -> int:
        """The last position of all; 0 for an empty ledger. Cheap: it is how others' lines are noticed."""
        ...

    def spaces(self) -> list[str]:
        """The names of all spaces that hold a line, sorted."""
        ...

    def count(self, space: str, *, up_to: int | None = None) -> int:
        """How many lines a space holds, up to a position, that one included."""
        ...

    def vectors(self, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """The embeddings kept for these text hashes; unknown ones are left out."""
        ...

    def texts_in_other_entries(self, texts: Collection[str], *, excluded_positions: Collection[int]) -> set[str]:
        """Those of these texts that stand in the words of another line than these. Reads every line, once:
        for `erase`."""
        ...

    def get_meta(self, name: str) -> str | None:
        """A small fact that `set_meta` remembered."""
        ...

    def verify(self) -> tuple[int, bytes]:
        """How many lines there are, and the last digest; LedgerTampered names the first bad line."""
        ...

    def compact(self) -> None:
        """Give back the room that nothing uses. Lines, vectors and facts stay as they are.

        LedgerUnavailable if somebody is in the way; nothing is lost then, nor gained.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections. Closing twice is fine."""
        ...


class Signal(Protocol):
    """An index built from the ledger, that can rank memories against a question."""

    name: str

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`; None is one whose words were erased.

        Rows already taken in are passed over, so applying twice changes nothing.
        """
        ...

    def rank(self, query: Query, limit: int) -> Ranking:
        """The best rows for this question, all of them in `query.allowed`, or an abstention."""
        ...

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The index as plain arrays, for a snapshot."""
        ...

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the index that `save` wrote."""
        ...


class Embedder(Protocol):
    """Text to vectors of one dimension."""

    name: str
    """What people call it, such as `wordllama-256`."""

    fingerprint: str
    """Differs whenever the vectors would: name, dimension, weights, prefixes."""

    dimension: int | None
    """None until the first text was embedded, for embedders that do not say.

    One may also say `usual`, how near it finds a question and a text that have nothing to do with each
    other: up to there nearness tells nothing, and counts for nothing. 0 for those that do not say.
    """

    def embed(self, texts: Sequence[str]) -> Vector:
        """One row of unit length for each text."""
        ...

    def embed_query(self, text: str) -> Vector:
        """One vector of unit length for a question."""
        ...


class Extractor(Protocol):
    """Text to names, claims and times."""

    name: str

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        """What stands in the text. `now` is what "yesterday" is read against; `speaker` is who "I" is."""
        ...


class FactExtractor(Extractor, Protocol):
    """Conversation to facts, for `remember`. An Extractor without these two leaves them to the rules."""

    def facts(self, utterances: Sequence[Utterance], *, now: datetime) -> ExtractionResult:
        """What these turns tell, each fact in words that stand on their own. Never raises for what a model
        did: `Found.problem` says it, and the rules step in."""
        ...

    def judge(self, new: Sequence[Memory], old: Sequence[Sequence[Memory]]) -> list[Verdict]:
        """What each new memory means for the older ones beside it; one question for all of them."""
        ...


class VectorStore(Protocol):
    """Where the vectors of one space lie. Points are numbered by the caller."""

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        """Keep these vectors under these numbers."""
        ...

    def search(self, vector: Vector, limit: int, only: Sequence[int] | None = None) -> tuple[list[int], list[float]]:
        """The nearest points by dot product, exactly, best first; among `only` if given."""
        ...

    def delete(self, ids: Sequence[int]) -> None:
        """Drop these points; unknown ones are passed over."""
        ...

    def ids(self) -> list[int]:
        """Every point there is, in no order."""
        ...

    def clear(self) -> None:
        """Drop all points of this space."""
        ...

    def flush(self) -> None:
        """Write to disk what is not yet there."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


Progress = Callable[[int, int], None]
"""Called with how many are done and how many there are."""

"""What may be a model: embedders, extractors and readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol, runtime_checkable

from remanence.ports.vector_ports import Vector
from remanence.schema import Extraction, ExtractionResult, Memory, Utterance


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


QUIET_SECONDS, EVERY_TURNS = 300.0, 20
"""When a chat is read that was remembered with `wait="quiet"`: so long after its last turn, or after so many turns."""


@runtime_checkable
class FactExtractor(Extractor, Protocol):
    """Optional method of an extractor: write the facts of a conversation for `remember`. Without it, a conversation is
    kept as it was said, and no facts are written. It may have the attributes `quiet`, `every_turns` and
    `budget_tokens`, as `LLMExtractor` has."""

    def facts(
        self,
        utterances: Sequence[Utterance],
        *,
        now: datetime,
        known: Sequence[Memory] = (),
        before: Sequence[Utterance] = (),
    ) -> ExtractionResult:
        """The facts in these turns, each in a text that can be read alone, and what they do to `known` facts. `before`
        has the turns before them. Does not raise if a model fails: `ExtractionResult.problem` has the reason."""
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
    """Optional method of an extractor: write the profile of a space. Without it, the profile has quotations only."""

    def summarize(self, lines: Sequence[str], *, max_tokens: int) -> Sequence[Any] | None:
        """Sentences (`text`, and `lines`: the places of the lines they come from), or None for quotations only."""
        ...


@runtime_checkable
class MergingExtractor(Protocol):
    """Optional method of an extractor: write one text for several memories. Without it, the rules merge them."""

    def merge(self, texts: Sequence[str]) -> str | None:
        """One text that says what these texts say, or None for the rules."""
        ...


@dataclass(frozen=True, slots=True)
class ReaderLine:
    """A memory as a reader is given it."""

    text: str
    """What it says."""
    told_at: datetime | None = None
    """When it was told, or from when on it is valid, if whoever added it said so."""
    speaker: str | None = None
    """Who says it."""
    title: str = ""
    """The title of the document it comes from."""
    before: str = ""
    """The turn before it with its speaker ("assistant: Any allergies?"), where it is not understood alone."""
    rank: int | None = None
    """Its rank by the signals of recall, from 0."""
    shown_at: datetime | None = None
    """The day to read it with in place of `told_at`, where its age is to say nothing: nearer to the question."""


class ListReading(NamedTuple):
    """What a reader says about some lines, in their order: probabilities from 0 to 1."""

    answers: tuple[float, ...]
    """That a line tells what is asked, at whatever time."""
    holds: tuple[float, ...]
    """That it tells it, and holds at the time asked about."""
    replaced: tuple[float, ...]
    """That a later line replaces, ends or takes back what it says."""
    choice: tuple[float, ...]
    """That it is the best answer of all. With `nothing` they add up to 1."""
    nothing: float
    """That no line answers."""


@runtime_checkable
class Reader(Protocol):
    """Reads the first candidates of recall together with the question. A plain function of a question and texts is
    accepted as well."""

    @property
    def fingerprint(self) -> str:
        """Differs whenever the answers would."""
        ...

    def read(
        self, question: str, lines: Sequence[ReaderLine], *, asked_at: datetime, moment: datetime | None = None
    ) -> ListReading:
        """What each line is for the question.

        Args:
            lines: The candidates, in any order.
            moment: The end of the past time that the question names; None if it asks about now.
        """
        ...

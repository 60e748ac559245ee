"""What may be a model: embedders, extractors and readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from remanence.ports.vector_ports import Vector
from remanence.schema import Extraction, ExtractionResult, Memory, Utterance, Verdict

Relation: TypeAlias = Literal["none", "replaces", "extends", "ends"]
"""What a later statement does to an earlier one."""
RELATIONS: tuple[Relation, ...] = ("none", "replaces", "extends", "ends")


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

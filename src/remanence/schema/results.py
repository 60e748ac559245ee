"""A question made exact, what the signals answer to it, and the hits of a recall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from remanence.schema.entries import Position
from remanence.schema.memory_types import RULES, Memory
from remanence.schema.windows import Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_LIMIT = 10_000
"""Hits of a recall, at most; a higher `limit` counts as this one."""
_START = Position(0)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a view sees: the ledger up to `position`, at moment `now`.

    `row_mask` marks the versions that are neither hidden nor replaced there; `memory_mask` marks the
    memories, by number, that have such a version.
    """

    position: Position
    now: datetime
    row_mask: NDArray[np.bool_]
    memory_mask: NDArray[np.bool_]


class RelatedName(NamedTuple):
    """A relation of an entity: the name at its other end, the predicate, whether the entity is its subject, and the
    confidence."""

    name: int
    predicate: str
    from_subject: bool = True
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Query:
    """A question with everything that the signals need to rank rows for it.

    `visible` marks the rows of this view (word statistics are taken over them); `allowed` marks those among
    them that may be returned, after the filters for kind, tag, time, expiry and supersession. `position` is
    the last ledger position of this view. `terms` are the words to search for, if not all of `text`, in the
    forms of `language`; `terms_in` gives them in the forms of another one.
    Similarities up to `similarity_floor` count as none. `candidate_rows` are rows that another signal
    returned and for which a score is wanted too; `candidate_scores` has the best of those with their
    combined score for meaning and words. `time_mask` marks the rows from the requested time, if they are
    few: a signal also returns its best among those, and its best among those of `telling`, rows that do more than ask.
    With `tells_only`, texts that ask do not count. `names_of_same_entity` gives the names, by number, of one
    entity, `related_names` the relations of a name that hold at the time asked for, the newest last. `next_turns`
    gives for each row the turn that followed it, or -1.
    """

    text: str
    visible: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    position: Position = _START
    times: tuple[Window, ...] = ()
    entity_names: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    language: str = "en"
    terms_in: Callable[[str], Sequence[str]] = lambda language: ()
    vector: NDArray[np.float32] | None = None
    similarity_floor: float = 0.0
    candidate_rows: Sequence[int] = ()
    candidate_scores: Mapping[int, float] = field(default_factory=dict)
    time_mask: NDArray[np.bool_] | None = None
    telling: NDArray[np.bool_] | None = None
    tells_only: bool = False
    names_of_same_entity: Callable[[int], Sequence[int]] = lambda name: (name,)
    related_names: Callable[[int], Sequence[RelatedName]] = lambda name: ()
    next_turns: Callable[[NDArray[np.integer[Any]]], NDArray[np.integer[Any]]] | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result of one signal: rows, best first, with raw scores, or the reason why there are none.

    A score of `floor` or less counts as zero; a score of `ceiling` (without one: the best score) counts
    as the full weight of the signal. `has_searched` tells a signal that searched and found nothing from
    one that does not apply to the question. `missing_reason` is set if the signal could not be used.
    """

    signal: str
    rows: Sequence[int] = ()
    scores: Sequence[float] = ()
    floor: float = 0.0
    ceiling: float | None = None
    exponent: float = 1.0
    """The power that scaled scores are raised to: 2 makes only high scores count."""
    explain_rows: Callable[[Sequence[int]], Sequence[str]] | None = None
    """Gives for each of these rows the reason why it was returned."""
    abstention_reason: str | None = None
    has_searched: bool = True
    missing_reason: str | None = None

    @property
    def scale(self) -> SignalScale:
        """What its raw scores count for. Without a row it is empty."""
        best = self.scores[0] if len(self.scores) else self.floor
        return SignalScale(self.floor, best if self.ceiling is None else self.ceiling, self.exponent)

    @classmethod
    def abstain(cls, signal: str, reason: str) -> Ranking:
        """The ranking of a signal that does not apply to the question."""
        return cls(signal, abstention_reason=reason, has_searched=False)

    @classmethod
    def empty(cls, signal: str, reason: str) -> Ranking:
        """The ranking of a signal that searched and found nothing."""
        return cls(signal, abstention_reason=reason)

    @classmethod
    def unavailable(cls, signal: str, reason: str) -> Ranking:
        """The ranking of a signal that could not be used."""
        return cls(signal, missing_reason=reason, has_searched=False)


class FoundFacts(list[Memory]):
    """The memories of a `remember` that waited, and whether everything was read.

    Attributes:
        status: "done", or "given up" if a language model did not read all of it.
        problem: Why not, or which part of the model's answer was not kept; None if nothing went wrong.
    """

    def __init__(
        self, memories: Iterable[Memory] = (), status: Literal["done", "given up"] = "done", problem: str | None = None
    ) -> None:
        super().__init__(memories)
        self.status, self.problem = status, problem

    def __repr__(self) -> str:
        return super().__repr__() if self.status == "done" else f"<given up: {self.problem} {super().__repr__()}>"


class SignalScale(NamedTuple):
    """Which raw scores of a signal count as zero and as its full weight, the power that what is between is raised to,
    and the weight."""

    floor: float
    ceiling: float
    exponent: float = 1.0
    weight: float = 1.0


_SHARE = attrgetter("share")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The result of one signal for one memory.

    Attributes:
        rank: The rank of the memory in its ranking; 1 is first.
        share: Its part of the fused score.
        raw_score: The score of the signal.
        reason: The reason, as a sentence.
    """

    signal: str
    rank: int
    share: float
    raw_score: float
    reason: str


DisagreementKind = Literal["succession", "correction", "conflict", "coexistence"]
DISAGREEMENT_KINDS: tuple[DisagreementKind, ...] = get_args(DisagreementKind)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A memory that disagrees with another one, how, and about which topic.

    A *succession* (one of them began later), a *correction*, a *conflict* (neither wins), or a
    *coexistence* (both hold, each in its own time).
    """

    kind: DisagreementKind
    topic: str
    memory: Memory


@dataclass(frozen=True, slots=True)
class HitUsage:
    """How a memory was used: its `decay_score`, which falls with the time since `last_used` and rises with `uses`.

    `strength` is that of the memory with what uses have added, from 1 to 2. `review_priority` is how much a reminder
    would help, from 0 to 1: most in the middle of the zone in which a memory is about to fade.
    """

    decay_score: float
    uses: int
    last_used: datetime
    age_days: float
    strength: float = 1.0
    review_priority: float = 0.0


READER_MARK = "reader's mark"
"""The signal of the evidence that a reader takes a memory for replaced."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory, its score, and the evidence for it.

    Attributes:
        memory: The memory.
        score: How well it answers, from 0 to 1.
        evidence: The result of each signal that found it.
        current: False if another memory replaced it, if the time of what it tells is over, or if it has expired or is
            archived.
        superseded_by: The memory that replaced it.
        disagreements: The memories that disagree with it.
        usage: How much it was used and how far it has decayed, which does not affect the score. None in a view of the
            past.
        found_in: The ids of the texts in which `remember` found it, if it is a fact.
        by: The extractor that wrote it, if it is a fact: "rules" for one that an earlier release wrote by rule.
        context: The turn before it, with its speaker, if it is a chat turn that is not understood alone.
        space: What a union calls its space; "" in a recall of one space.
    """

    memory: Memory
    score: float
    evidence: tuple[Evidence, ...] = ()
    current: bool = True
    superseded_by: Memory | None = None
    disagreements: tuple[Disagreement, ...] = ()
    usage: HitUsage | None = field(default=None, compare=False)
    found_in: tuple[str, ...] = ()
    by: str | None = None
    context: str = ""
    space: str = ""

    def __str__(self) -> str:
        speaker = self.memory.turn.speaker if self.memory.turn is not None else None
        said = f"{speaker}: {self.memory.text}" if speaker else self.memory.text
        return f"({self.context}) {said}" if self.context else said

    @property
    def by_rules(self) -> bool:
        """Whether it is a fact that an earlier release wrote by rule."""
        return self.by == RULES

    @property
    def contradicted_by(self) -> tuple[Memory, ...]:
        """The memories in open conflict with this one."""
        return tuple(found.memory for found in self.disagreements if found.kind == "conflict")

    @property
    def marked_by_reader(self) -> bool:
        """Whether it is not current by what a reader believes, and not by the ledger."""
        return any(evidence.signal == READER_MARK for evidence in self.evidence)

    @property
    def answer_probability(self) -> float | None:
        """The reader's probability that it answers the question; None if it was not read."""
        return next((evidence.raw_score for evidence in self.evidence if evidence.signal == "reader"), None)

    @property
    def reason(self) -> str:
        """The reasons in one line, the largest share first."""
        ranked = sorted(self.evidence, key=_SHARE, reverse=True)
        return "; ".join([f"{e.signal} #{e.rank}: {e.reason}" for e in ranked])

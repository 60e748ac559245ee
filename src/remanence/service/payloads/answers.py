"""What the operations on memories and on a whole space return. See `base_answers` for what they consist of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import model_validator

from remanence.graph.diff import Diff
from remanence.recall.answer import Recall, memory_dict, to_iso
from remanence.recall.profile import Profile
from remanence.recall.receipts import Exposure, Receipt
from remanence.schema import Change, Disagreement, ErasureCertificate, Evidence, Hit, TokenUsage
from remanence.service.payloads.base_answers import (
    AnswerModel,
    AnswerT,
    LinkAnswer,
    MemoryAnswer,
    ReceiptFields,
    RelationAnswer,
    Time,
    UsageAnswer,
    WindowAnswer,
    answer_of,
    make_memory,
    make_usage,
    make_window,
    parse_moment_text,
)
from remanence.service.payloads.graph_answers import EdgesAnswer, HistoryEventAnswer
from remanence.transfer.overview import MemoryBatch, MemoryDetails, MemoryPage, Stats

_NAN = float("nan")


class EvidenceAnswer(AnswerModel):
    """What one signal contributed to a hit: its `share` of the score, and the reason in words (`reason`)."""

    signal: str
    rank: int
    share: float
    raw_score: float | None
    reason: str


class DisagreementAnswer(answer_of(Disagreement), AnswerModel):  # type: ignore[misc]
    """A memory that disagrees with another one, how, and about which topic."""


class DisagreeingPair(AnswerModel):
    """Two memories that disagree."""

    memory: MemoryAnswer
    disagreement: DisagreementAnswer


class HitAnswer(AnswerModel):
    """A memory that answers a question, its score, and why. `superseded_by` is the text of what replaced it,
    `replacement` that memory, `reason` the reasons in one line, `answer_probability` the reader's probability,
    `found_in` the ids of the texts that a fact was found in, `by` what wrote it, `context` the turn before it, if it is
    not understood alone."""

    score: float
    current: bool
    superseded_by: str | None
    reason: str
    answer_probability: float | None
    memory: MemoryAnswer
    evidence: list[EvidenceAnswer]
    usage: UsageAnswer | None
    found_in: list[str]
    by: str | None = None
    context: str = ""
    replacement: MemoryAnswer | None
    disagreements: list[DisagreementAnswer]


def hit_fields(recall: Recall) -> list[dict[str, Any]]:
    """The fields of a `HitAnswer` for each hit: all that `Recall.to_dicts` has, and more."""
    rows = recall.to_dicts()
    for hit, fields in zip(recall.hits, rows, strict=True):
        fields["reason"] = hit.reason
        fields["answer_probability"] = hit.answer_probability
        fields["replacement"] = None if hit.superseded_by is None else memory_dict(hit.superseded_by)
        fields["disagreements"] = [
            {"kind": disagreement.kind, "topic": disagreement.topic, "memory": memory_dict(disagreement.memory)}
            for disagreement in hit.disagreements
        ]
    return rows


def recall_fields(recall: Recall, *, explain: bool = False) -> dict[str, Any]:
    """The fields of a `RecallAnswer`, in JSON types."""
    return {
        "question": recall.question,
        "hits": hit_fields(recall),
        "abstained": dict(recall.abstained),
        "missing": dict(recall.missing),
        "times": [{"start": to_iso(window.start), "end": to_iso(window.end)} for window in recall.times],
        "history": recall.history,
        "position": recall.position,
        "confidence": recall.confidence,
        "confident": recall.confident,
        "as_of": to_iso(recall.as_of),
        "receipt": None if recall.receipt is None else recall.receipt.to_dict(),
        "explanation": recall.explain() if explain else None,
    }


class RecallAnswer(AnswerModel):
    """The hits for a question, best first. `abstained` and `missing` say why a signal did not take part; `receipt` is
    for `replay`; `explanation` is the text of `explain()`, if it was asked for."""

    question: str
    hits: list[HitAnswer]
    abstained: dict[str, str]
    missing: dict[str, str]
    times: list[WindowAnswer]
    history: bool
    position: int
    confidence: float | None
    confident: bool
    as_of: Time | None
    receipt: dict[str, Any] | None
    explanation: str | None

    @model_validator(mode="before")
    @classmethod
    def _from_recall(cls, value: Any) -> Any:
        return recall_fields(value) if isinstance(value, Recall) else value

    def to_value(self) -> Recall:
        return make_recall(self.model_dump())


def make_recall(fields: Mapping[str, Any]) -> Recall:
    """The recall with the fields of a `RecallAnswer`.

    It is asked for most, and large: making models of all its parts first takes longer than making the recall.
    """
    return Recall(
        question=fields["question"],
        hits=tuple([_make_hit(hit) for hit in fields["hits"]]),
        abstained=fields["abstained"],
        missing=fields["missing"],
        times=tuple([make_window(window["start"], window["end"]) for window in fields["times"]]),
        history=fields["history"],
        position=fields["position"],
        confidence=fields["confidence"],
        as_of=parse_moment_text(fields["as_of"]),
        receipt=None if fields["receipt"] is None else Receipt.from_dict(fields["receipt"]),
    )


def _make_hit(fields: Mapping[str, Any]) -> Hit:
    replacement, usage = fields["replacement"], fields["usage"]
    return Hit(
        memory=make_memory(fields["memory"]),
        score=fields["score"],
        evidence=tuple([_make_evidence(evidence) for evidence in fields["evidence"]]),
        current=fields["current"],
        superseded_by=None if replacement is None else make_memory(replacement),
        disagreements=tuple([_make_disagreement(disagreement) for disagreement in fields["disagreements"]]),
        usage=None if usage is None else make_usage(usage),
        found_in=tuple(fields["found_in"]),
        by=fields.get("by"),
        context=fields.get("context", ""),
    )


def _make_disagreement(fields: Mapping[str, Any]) -> Disagreement:
    return Disagreement(fields["kind"], fields["topic"], make_memory(fields["memory"]))


def _make_evidence(fields: Mapping[str, Any]) -> Evidence:
    raw_score = fields["raw_score"]
    # JSON has no NaN.
    return Evidence(
        fields["signal"], fields["rank"], fields["share"], _NAN if raw_score is None else raw_score, fields["reason"]
    )


class MemoryPageAnswer(AnswerModel):
    """Some memories, in the order in which they were learned. `next_cursor` is None on the last page."""

    items: list[MemoryAnswer]
    next_cursor: str | None


class MemoryDetailsAnswer(answer_of(MemoryDetails), AnswerModel):  # type: ignore[misc]
    """A memory with its status and what it is connected to; `memory` is None if its text was erased."""


class MemoryDetailsPage(answer_of(MemoryPage), AnswerModel):  # type: ignore[misc]
    """One page of the memories of a status, with their details; there are `total` in all."""


class MemoryBatchAnswer(answer_of(MemoryBatch), AnswerModel):  # type: ignore[misc]
    """Memories with their details, and why others that were asked for are not shown."""


class JobAnswer(AnswerModel):
    """A job: "queued", "running", "waiting" (for another try), "done", "given up" or "cancelled". `memories` are the
    ids of what it wrote, once it is done, and `usage` are the calls and tokens of the language model."""

    id: str
    space: str
    status: Literal["queued", "running", "waiting", "done", "given up", "cancelled"]
    problem: str | None
    tries: int
    memories: list[str]
    usage: TokenUsage


class JobPage(AnswerModel):
    """Some jobs, oldest first. `next_cursor` is None on the last page."""

    items: list[JobAnswer]
    next_cursor: str | None


class ProfileAnswer(answer_of(Profile), AnswerModel):  # type: ignore[misc]
    """What is true of the person or project that a space is about, each line with the memories behind it."""

    text: str


class ErasureAnswer(answer_of(ErasureCertificate), AnswerModel):  # type: ignore[misc]
    """What an erasure removed: see `ErasureCertificate`."""


class StatsAnswer(answer_of(Stats), AnswerModel):  # type: ignore[misc]
    """A space in numbers: see `Stats`."""

    total: int


class ChangeAnswer(answer_of(Change), AnswerModel):  # type: ignore[misc]
    """What one ledger entry did to a memory: "remembered", "forgotten", "restored" or "erased"."""


class ChangesPage(AnswerModel):
    """What happened to memories after a ledger position, in order. `position` is the `after` of the next page;
    `has_more` says whether there is one already."""

    items: list[ChangeAnswer]
    position: int
    has_more: bool


class DiffAnswer(AnswerModel):
    """What was learned between two moments."""

    learned: list[MemoryAnswer]
    revised: list[MemoryAnswer]
    superseded: list[MemoryAnswer]
    forgotten: list[MemoryAnswer]
    restored: list[MemoryAnswer]
    expired: list[MemoryAnswer]
    erased: list[str]
    related: list[RelationAnswer]
    linked: list[LinkAnswer]
    invalidated: EdgesAnswer
    entity_events: list[HistoryEventAnswer]

    def to_value(self) -> Diff:
        return Diff(**self.values())


class ExposureAnswer(AnswerModel):
    """A recorded recall that returned a memory which was replaced or forgotten since."""

    receipt: ReceiptFields
    at: Time
    memory: MemoryAnswer
    superseded_by: MemoryAnswer | None

    def to_value(self) -> Exposure:
        return Exposure(**self.values() | {"receipt": Receipt.from_dict(self.receipt)})


class SingleAnswer(AnswerModel):
    """An answer with one field, which stands for that value."""

    @classmethod
    def of(cls: type[AnswerT], value: object) -> AnswerT:
        return cls.model_validate(dict.fromkeys(cls.model_fields, value))

    def to_value(self) -> Any:
        return next(iter(self))[1]


class CountAnswer(SingleAnswer):
    """How many."""

    count: int


class SpacesAnswer(SingleAnswer):
    """The full names of spaces."""

    spaces: list[str]


class TextAnswer(SingleAnswer):
    """A text; "" if there is nothing to say."""

    text: str


class DoneAnswer(AnswerModel):
    """That it was done."""

    done: bool

    @classmethod
    def of(cls, value: object) -> DoneAnswer:
        return cls(done=True)

    def to_value(self) -> None:
        return None

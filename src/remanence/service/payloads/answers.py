"""What the operations on memories and on a whole space return. See `base_answers` for what they consist of."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from remanence.admin.overview import MemoryBatch, MemoryDetails, MemoryPage, MemoryStatus, Stats
from remanence.read.answer import Recall, memory_dict, to_iso
from remanence.read.profile import Profile, ProfileStatement
from remanence.schema import Change, Disagreement, DisagreementKind, ErasureCertificate, PendingErasure
from remanence.service.payloads.base_answers import (
    AnswerModel,
    LinkAnswer,
    MemoryAnswer,
    RelationAnswer,
    Time,
    UsageAnswer,
    WindowAnswer,
)
from remanence.service.payloads.from_fields import make_disagreement, make_recall, parse_moment_text


class EvidenceAnswer(AnswerModel):
    """What one signal contributed to a hit: its `share` of the score, and the reason in words (`reason`)."""

    signal: str
    rank: int
    share: float
    raw_score: float | None
    reason: str


class DisagreementAnswer(AnswerModel):
    """A memory that disagrees with another one, how, and about which topic."""

    kind: DisagreementKind
    topic: str
    memory: MemoryAnswer

    @classmethod
    def of(cls, disagreement: Disagreement) -> DisagreementAnswer:
        return cls(kind=disagreement.kind, topic=disagreement.topic, memory=MemoryAnswer.of(disagreement.memory))

    def to_disagreement(self) -> Disagreement:
        return make_disagreement(self.model_dump())


class HitAnswer(AnswerModel):
    """A memory that answers a question, its score, and why. `superseded_by` is the text of what replaced it,
    `replacement` that memory, `reason` the reasons in one line, `answer_probability` the reader's probability,
    `found_in` the ids of the texts that a fact was found in."""

    score: float
    current: bool
    superseded_by: str | None
    reason: str
    answer_probability: float | None
    memory: MemoryAnswer
    evidence: list[EvidenceAnswer]
    usage: UsageAnswer | None
    found_in: list[str]
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


def recall_fields(recall: Recall, *, explain: bool) -> dict[str, Any]:
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

    @classmethod
    def of(cls, recall: Recall) -> RecallAnswer:
        return cls.model_validate(recall_fields(recall, explain=False))

    def to_recall(self) -> Recall:
        return make_recall(self.model_dump())


class MemoryPageAnswer(AnswerModel):
    """Some memories, in the order in which they were learned. `next_cursor` is None on the last page."""

    items: list[MemoryAnswer]
    next_cursor: str | None


class MemoryDetailsAnswer(AnswerModel):
    """A memory with its status and what it is connected to; `memory` is None if its text was erased."""

    id: str
    status: MemoryStatus
    memory: MemoryAnswer | None
    versions: int
    superseded_by: str | None
    relations: list[RelationAnswer]
    links_out: list[LinkAnswer]
    links_in: list[LinkAnswer]
    promoted_at: Time | None
    note: str | None
    usage: UsageAnswer | None

    @classmethod
    def of(cls, details: MemoryDetails) -> MemoryDetailsAnswer:
        return cls(
            id=details.id,
            status=details.status,
            memory=None if details.memory is None else MemoryAnswer.of(details.memory),
            versions=details.versions,
            superseded_by=details.superseded_by,
            relations=[RelationAnswer.of(relation) for relation in details.relations],
            links_out=[LinkAnswer.of(link) for link in details.links_out],
            links_in=[LinkAnswer.of(link) for link in details.links_in],
            promoted_at=to_iso(details.promoted_at),
            note=details.note,
            usage=None if details.usage is None else UsageAnswer.of(details.usage),
        )

    def to_details(self) -> MemoryDetails:
        return MemoryDetails(
            id=self.id,
            status=self.status,
            memory=None if self.memory is None else self.memory.to_memory(),
            versions=self.versions,
            superseded_by=self.superseded_by,
            relations=tuple(relation.to_relation() for relation in self.relations),
            links_out=tuple(link.to_link() for link in self.links_out),
            links_in=tuple(link.to_link() for link in self.links_in),
            promoted_at=parse_moment_text(self.promoted_at),
            note=self.note,
            usage=None if self.usage is None else self.usage.to_usage(),
        )


class MemoryDetailsPage(AnswerModel):
    """One page of the memories of a status, with their details; there are `total` in all."""

    items: list[MemoryDetailsAnswer]
    page: int
    page_size: int
    total: int

    @classmethod
    def of(cls, page: MemoryPage) -> MemoryDetailsPage:
        items = [MemoryDetailsAnswer.of(item) for item in page]
        return cls(items=items, page=page.page, page_size=page.page_size, total=page.total)

    def to_page(self) -> MemoryPage:
        return MemoryPage(tuple(item.to_details() for item in self.items), self.page, self.page_size, self.total)


class MemoryBatchAnswer(AnswerModel):
    """Memories with their details, and why others that were asked for are not shown."""

    items: list[MemoryDetailsAnswer]
    missing: dict[str, str]

    @classmethod
    def of(cls, batch: MemoryBatch) -> MemoryBatchAnswer:
        return cls(items=[MemoryDetailsAnswer.of(item) for item in batch], missing=dict(batch.missing))

    def to_batch(self) -> MemoryBatch:
        return MemoryBatch(tuple(item.to_details() for item in self.items), self.missing)


class JobAnswer(AnswerModel):
    """A job: "queued", "running", "waiting" (for another try), "done", "given up" or "cancelled". `memories` are the
    ids of what it wrote, once it is done."""

    id: str
    space: str
    status: Literal["queued", "running", "waiting", "done", "given up", "cancelled"]
    problem: str | None
    tries: int
    memories: list[str]


class JobPage(AnswerModel):
    """Some jobs, oldest first. `next_cursor` is None on the last page."""

    items: list[JobAnswer]
    next_cursor: str | None


class ProfileAnswer(AnswerModel):
    """Sentences about the person that a space is about, each with the ids of the memories behind it."""

    text: str
    statements: list[ProfileStatement]
    position: int
    by: str
    since: Time | None
    until: Time | None

    @classmethod
    def of(cls, profile: Profile) -> ProfileAnswer:
        return cls(
            text=profile.text,
            statements=list(profile.statements),
            position=profile.position,
            by=profile.by,
            since=to_iso(profile.since),
            until=to_iso(profile.until),
        )

    def to_profile(self) -> Profile:
        since, until = parse_moment_text(self.since), parse_moment_text(self.until)
        return Profile(tuple(self.statements), self.position, self.by, since, until)


class ErasureAnswer(AnswerModel):
    """What an erasure removed: see `ErasureCertificate`."""

    space: str
    at: Time
    memories: list[str]
    derived_memories: list[str]
    spaces: list[str]
    erased_entries: dict[str, int] | None
    vectors: int
    notes: list[str]
    not_erased: list[str]
    pending: list[PendingErasure]
    position: int
    digest: str

    @classmethod
    def of(cls, certificate: ErasureCertificate) -> ErasureAnswer:
        return cls.model_validate(asdict(certificate) | {"at": certificate.at.isoformat()})

    def to_certificate(self) -> ErasureCertificate:
        fields = dict(self)
        tuples = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
        return ErasureCertificate(**fields | tuples | {"at": datetime.fromisoformat(self.at)})


class StatsAnswer(AnswerModel):
    """A space in numbers: see `Stats`."""

    space: str
    memories: dict[str, int]
    kinds: dict[str, int]
    versions: int
    entities: int
    relations: int
    links: int
    jobs: dict[str, int]
    entries: int
    first_recorded_at: Time | None
    last_recorded_at: Time | None
    embedder: str
    dimension: int | None
    unembedded: int
    broken: dict[str, str]
    children: int
    location: str | None
    disk: dict[str, int]
    total: int

    @classmethod
    def of(cls, stats: Stats) -> StatsAnswer:
        return cls.model_validate(stats.to_dict())

    def to_stats(self) -> Stats:
        fields = self.model_dump(exclude={"total"})
        return Stats(
            **fields
            | {
                "first_recorded_at": parse_moment_text(self.first_recorded_at),
                "last_recorded_at": parse_moment_text(self.last_recorded_at),
            }
        )


class ChangeAnswer(AnswerModel):
    """What one ledger entry did to a memory: "remembered", "forgotten", "restored" or "erased"."""

    position: int
    at: Time
    kind: str
    memory_id: str
    memory: MemoryAnswer | None
    why: str | None

    @classmethod
    def of(cls, change: Change) -> ChangeAnswer:
        memory = None if change.memory is None else MemoryAnswer.of(change.memory)
        same = {name: getattr(change, name) for name in ("position", "kind", "memory_id", "why")}
        return cls(**same, at=change.at.isoformat(), memory=memory)

    def to_change(self) -> Change:
        at = datetime.fromisoformat(self.at)
        memory = None if self.memory is None else self.memory.to_memory()
        return Change(self.position, at, self.kind, self.memory_id, memory, self.why)


class ChangesPage(AnswerModel):
    """What happened to memories after a ledger position, in order. `position` is the `after` of the next page;
    `has_more` says whether there is one already."""

    items: list[ChangeAnswer]
    position: int
    has_more: bool

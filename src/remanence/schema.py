"""The data types of the library. Each is frozen: to change one, make another with `dataclasses.replace`.

A *space* contains memories. A *version* of a memory is valid over a range of ledger positions. A *row* is
the number of a version among all versions of its space, in ledger order, so every index of a space uses
the same row numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from remanence.notebook import html_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from remanence.events import Event

UTC = timezone.utc
MemoryKind = Literal["episode", "semantic", "viewpoint"]
MEMORY_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
LinkKind = Literal["related_to", "supersedes", "contradicts", "derived_from", "extends", "supports", "causes"]
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SELF = "me"
"""The name of the person who says "I" in a memory or a question, if no other name is given."""
ASSISTANT = "assistant"
"""The name of the assistant in a conversation."""
DOCUMENT_FIELD = "_document"
"""The field of `Memory.meta` by which adapters mark a document or node of a framework. The others are the user's."""
_LATEST = datetime.max.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Microseconds since 1970, exact (a float would lose the last digits).

    >>> micros(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    delta = moment - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


@lru_cache(1 << 14)
def from_micros(value: int) -> datetime:
    """The inverse of `micros`.

    >>> from_micros(1_000_000).isoformat()
    '1970-01-01T00:00:01+00:00'
    """
    return EPOCH + timedelta(microseconds=value)


@dataclass(frozen=True, slots=True)
class Window:
    """A period of UTC time from `start` (included) to `end` (excluded); `None` leaves that end open.

    Example:
        >>> may = Window(datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC))
        >>> may.overlaps(Window(datetime(2026, 6, 1, tzinfo=UTC), None))
        False
        >>> str(may)
        '2026-05-01 to 2026-06-01'
    """

    start: datetime | None = None
    end: datetime | None = None

    @classmethod
    def from_moment(cls, moment: datetime) -> Window:
        """The shortest window that contains `moment`."""
        return cls(moment, moment + _MICROSECOND if moment < _LATEST else None)

    @property
    def has_bound(self) -> bool:
        """Whether either end is known."""
        return self.start is not None or self.end is not None

    def overlaps(self, other: Window) -> bool:
        """Whether both windows contain a common moment."""
        return (self.start is None or other.end is None or self.start < other.end) and (
            other.start is None or self.end is None or other.start < self.end
        )

    def __contains__(self, moment: datetime) -> bool:
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)

    def __str__(self) -> str:
        if self.start is None and self.end is None:
            return "any time"
        if self.start is not None and self.end is not None and self.end - self.start <= timedelta(seconds=1):
            return format_moment(self.start)
        if self.end is None:
            return f"since {format_moment(self.start)}"
        if self.start is None:
            return f"until {format_moment(self.end)}"
        return f"{format_moment(self.start)} to {format_moment(self.end)}"


ANY_TIME = Window()


def format_moment(moment: datetime | None) -> str:
    """A moment as a date, with hours and minutes unless it is midnight.

    >>> format_moment(datetime(2026, 5, 1, tzinfo=UTC)), format_moment(datetime(2026, 5, 1, 9, 30, tzinfo=UTC))
    ('2026-05-01', '2026-05-01 09:30')
    """
    if moment is None:
        return "unknown"
    midnight = (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
    # Not strftime("%Y"): glibc does not pad years before 1000, and they could not be parsed again.
    return moment.date().isoformat() if midnight else f"{moment.date().isoformat()} {moment:%H:%M}"


OPEN_START, OPEN_END = -(1 << 63), (1 << 63) - 1
"""An open start and an open end of a window that is stored as two integers."""


def window_to_micros(window: Window) -> tuple[int, int]:
    """The ends of a window in microseconds.

    >>> window_to_micros(Window()) == (OPEN_START, OPEN_END)
    True
    """
    start, end = window.start, window.end
    return OPEN_START if start is None else micros(start), OPEN_END if end is None else micros(end)


def window_from_micros(start: int, end: int) -> Window:
    """The window with these ends.

    >>> str(window_from_micros(0, OPEN_END))
    'since 1970-01-01'
    """
    return Window(None if start == OPEN_START else from_micros(start), None if end == OPEN_END else from_micros(end))


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a memory was said: turn `number` of `conversation`, by `speaker`, at the moment `at`."""

    conversation: str
    number: int
    speaker: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a memory: `name` as written, and its `kind`, such as "person" or "place"."""

    name: str
    kind: str = "thing"


cached_mention = lru_cache(1 << 14)(Mention)
"""`Mention`, with one shared instance for each name and kind: the same names occur again and again."""


@dataclass(frozen=True, slots=True)
class Triple:
    """A claim that a memory makes, such as "Alice", "lives_in", "Porto"."""

    subject: str
    predicate: str
    object: str

    def __str__(self) -> str:
        return f"{self.subject} —{self.predicate}→ {self.object}"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity: `name`, and `valid`, the time in which it is used."""

    name: str
    valid: Window = ANY_TIME


@dataclass(frozen=True, slots=True)
class Entity:
    """Someone or something that memories are about.

    `id` stays the same when names change. `name` is the main name, `aliases` are the others. `kind` is for example
    "person".
    """

    id: str
    name: str
    kind: str = "thing"
    aliases: tuple[Alias, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All its names, the main one first."""
        return (self.name, *(alias.name for alias in self.aliases))


@dataclass(frozen=True, slots=True)
class Relation:
    """A claim about two entities, as one view knows it.

    `valid` is when it is true, after later claims have ended it; `claimed_window` is the window as stated.
    `recorded_at` is when it was first stated, `observed_by` who stated it, `confidence` how sure it is, from 0
    to 1. `evidence` are the ids of the memories that state it. `replaced_by` is the id of the relation that
    followed it, if the predicate has one value at a time.
    """

    id: str
    subject: str
    predicate: str
    object: str
    valid: Window = ANY_TIME
    claimed_window: Window = ANY_TIME
    recorded_at: datetime = EPOCH
    confidence: float = 1.0
    observed_by: str | None = None
    evidence: tuple[str, ...] = ()
    replaced_by: str | None = None

    def __str__(self) -> str:
        when = f" ({self.valid})" if self.valid.has_bound else ""
        return f"{self.subject} —{self.predicate}→ {self.object}{when}"


@dataclass(frozen=True, slots=True)
class Link:
    """A link from one memory to another. `source` and `target` are their ids.

    `valid` is when it is true, `recorded_at` when it was stated, `observed_by` who stated it and `why` the reason.
    `confidence` is how sure it is, from 0 to 1. `corroborated_by` are others who stated the same since, which makes it
    surer.
    """

    id: str
    source: str
    kind: LinkKind
    target: str
    valid: Window = ANY_TIME
    recorded_at: datetime = EPOCH
    confidence: float = 1.0
    observed_by: str | None = None
    why: str | None = None
    corroborated_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.source} —{self.kind}→ {self.target}"


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found in a text: names (`mentions`), claims (`triples`), when it is true or happened
    (`valid`), and all times that it names (`times`)."""

    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    valid: Window | None = None
    times: tuple[Window, ...] = ()


@dataclass(frozen=True, slots=True)
class Utterance:
    """Input of an extractor: a `text`, its `speaker`, and the moment `at` which it was said."""

    text: str
    speaker: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement taken from a conversation that can be understood without it.

    The fields up to `expires_at` become those of its `Memory`. `source_turns` are the indexes of the turns it comes
    from. `ended_claims` are claims that it says are no longer true ("I left Google" ends that I work there). An empty
    subject or object in one of them matches any ("I got divorced" ends that I am married to ""). `by` is who found it,
    if not the extractor of the whole result.
    """

    text: str
    kind: MemoryKind = "semantic"
    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    valid: Window = ANY_TIME
    importance: float = 0.6
    confidence: float = 0.8
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None
    source_turns: tuple[int, ...] = ()
    ended_claims: tuple[Triple, ...] = ()
    by: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """The facts of a conversation, and which extractor (`by`), model and prompt version found them.

    `problem` says what went wrong if a model failed and the rules were used instead, or what of its answer was not
    kept. `answered` is False if asking again may help: a background job then does so.
    """

    facts: tuple[Fact, ...] = ()
    by: str = "rules"
    model: str | None = None
    prompt: str | None = None
    problem: str | None = None
    answered: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The `effect` of a new memory on the older one with the id `old_id`, and the reason (`why`)."""

    new_index: int
    """The index of the new memory in the list that was judged."""
    old_id: str
    effect: Literal["updates", "extends", "contradicts"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """One remembered item, in one version.

    `valid` is when it is true or happened, `recorded_at` when its first version was recorded, `revised_at`
    when this version was, `told_at` when it was said: the time of its turn, or the `now` it was added with.
    `importance`: 0.3 minor, 0.6 moderate, 0.9 identity-defining. `strength` raises its score in upkeep. `mentions` are
    the names in it, `triples` its claims, `turn` its place in a conversation. `trust` is how far its source is trusted,
    from 0 to 1. The other fields are those given to `Space.add`.
    """

    id: str
    space: str
    text: str
    key: str | None = None
    kind: MemoryKind = "semantic"
    valid: Window = ANY_TIME
    recorded_at: datetime = EPOCH
    revised_at: datetime = EPOCH
    told_at: datetime = EPOCH
    importance: float = 0.5
    confidence: float = 1.0
    strength: float = 1.0
    tags: tuple[str, ...] = ()
    source: str | None = None
    observed_by: str | None = None
    expires_at: datetime | None = None
    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    turn: Turn | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    trust: float = 1.0

    def _repr_html_(self) -> str:
        said = "" if self.turn is None else f"{self.turn.speaker or 'somebody'}, in {self.turn.conversation}"
        rows = (
            ("id", self.id),
            ("key", self.key),
            ("kind", self.kind),
            ("when", self.valid if self.valid.has_bound else None),
            ("told", format_moment(self.told_at)),
            ("recorded", format_moment(self.recorded_at)),
            ("revised", format_moment(self.revised_at) if self.revised_at > self.recorded_at else None),
            ("expires", None if self.expires_at is None else format_moment(self.expires_at)),
            ("importance", self.importance),
            ("confidence", self.confidence),
            ("strength", self.strength),
            ("tags", ", ".join(self.tags)),
            ("names", ", ".join(mention.name for mention in self.mentions)),
            ("claims", "\n".join(map(str, self.triples))),
            ("said by", said),
            ("source", self.source),
            ("observed by", self.observed_by),
            ("meta", ", ".join(f"{name}: {value}" for name, value in self.meta.items())),
        )
        return html_table(self.text, (), [(name, value) for name, value in rows if value not in (None, "")])


@dataclass(frozen=True, slots=True)
class Entry:
    """One ledger entry.

    `kind` is the name of its event, `subject` the id of what it is about. `event` is None once the text of
    the entry was erased. `digest` chains it to all earlier entries.
    """

    position: int
    at: datetime
    space: str
    kind: str
    subject: str
    event: Event | None
    digest: bytes = b""


@dataclass(frozen=True, slots=True)
class PendingErasure:
    """Where text of erased memories may still be: what it is, where, and when it will be gone."""

    what: str
    where: str
    until: str

    def __str__(self) -> str:
        return f"{self.what} in {self.where}, until {self.until}"


@dataclass(frozen=True, slots=True)
class ErasureCertificate:
    """What an erasure removed. Its length and its items are those of all memories that were erased.

    Attributes:
        space: The space that it was asked for in.
        at: When.
        memories: The ids of the memories that were asked for.
        derived: The ids of those that went with them: facts that were found in them alone.
        spaces: The spaces in which something was erased.
        blanked: How many ledger entries lost their text, by kind: versions ("remembered"), links ("linked"),
            extractions, assertions ("related"), recorded recalls ("served") and others.
        vectors: How many embeddings were deleted. One that another memory or space needs too stays.
        notes: The notes that were deleted from a vault, or written again without the text.
        kept: What this library does not delete, in words: notes that a person has edited.
        pending: What was not gone yet when the call returned, and when it will be. See `space.audit.pending()`.
        position: The ledger position of the last entry that records the erasure; 0 if there was nothing to erase.
        digest: The digest of that entry, for comparison with the ledger later.
    """

    space: str
    at: datetime
    memories: tuple[str, ...]
    derived: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    blanked: Mapping[str, int] | None = None
    vectors: int = 0
    notes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    pending: tuple[PendingErasure, ...] = ()
    position: int = 0
    digest: str = ""

    def __iter__(self) -> Iterator[str]:
        return iter((*self.memories, *self.derived))

    def __len__(self) -> int:
        return len(self.memories) + len(self.derived)

    def __contains__(self, memory_id: object) -> bool:
        return memory_id in self.memories or memory_id in self.derived

    def __str__(self) -> str:
        entries = ", ".join(f"{count:,} {kind}" for kind, count in sorted((self.blanked or {}).items()))
        lines = [
            f"erased {len(self.memories):,} of the memories of space {self.space!r}",
            f"  with them, as they were found in them alone: {len(self.derived):,}",
            f"  ledger entries without text now: {entries or 'none'}",
            f"  embeddings deleted: {self.vectors:,}",
        ]
        lines += [f"  note removed or rewritten: {note}" for note in self.notes]
        lines += [f"  kept: {each}" for each in self.kept]
        lines += [f"  pending: {each}" for each in self.pending]
        if self.position:
            lines.append(f"  recorded in ledger entry {self.position}, digest {self.digest}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Change:
    """What one ledger entry did to a memory.

    `kind` is "remembered" (`memory` is the new memory or version), "forgotten", "restored" or "erased". `position`
    is that of the entry, `at` when it was written, `why` the reason.
    """

    position: int
    at: datetime
    kind: str
    memory_id: str
    memory: Memory | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a view sees: the ledger up to `position`, at moment `now`.

    `row_mask` marks the versions that are neither hidden nor replaced there; `memory_mask` marks the
    memories, by number, that have such a version.
    """

    position: int
    now: datetime
    row_mask: NDArray[np.bool_]
    memory_mask: NDArray[np.bool_]


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
    few: a signal also returns its best among those. `same_entity` gives the names, by number, of one
    entity, `related_names` the names related to a name, each with the predicate. `next_turns` gives for
    each row the turn that followed it, or -1.
    """

    text: str
    visible: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    position: int = 0
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
    same_entity: Callable[[int], Sequence[int]] = lambda name: (name,)
    related_names: Callable[[int], Sequence[tuple[int, str]]] = lambda name: ()
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


@dataclass(frozen=True, slots=True)
class Evidence:
    """The result of one signal for one memory.

    `signal` is its name, `rank` the place of the memory in its ranking (1 is first), `share` its part of the fused
    score, `raw` the score of the signal, `note` the reason in words.
    """

    signal: str
    rank: int
    share: float
    raw: float
    note: str


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
    other: Memory


@dataclass(frozen=True, slots=True)
class HitUsage:
    """How a memory was used: its `decay` score, which falls with the time since `last_used` and rises with `uses`.

    `strength` is that of the memory with what uses have added, from 1 to 2. `review` is how much a reminder would help,
    from 0 to 1: most in the middle of the zone in which a memory is about to fade.
    """

    decay: float
    uses: int
    last_used: datetime
    age_days: float
    strength: float = 1.0
    review: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory, its score from 0 to 1, and the evidence for it.

    `current` is False if another memory (`superseded_by`) replaced it, or if it has expired or is
    archived. `disagreements` are the memories that disagree with it. `score` is how well it answers; `usage` has how
    much it was used and how far it has decayed, which does not count for the score. A view of the past has none.
    """

    memory: Memory
    score: float
    evidence: tuple[Evidence, ...] = ()
    current: bool = True
    superseded_by: Memory | None = None
    disagreements: tuple[Disagreement, ...] = ()
    usage: HitUsage | None = field(default=None, compare=False)

    @property
    def contradicted_by(self) -> tuple[Memory, ...]:
        """The memories in open conflict with this one."""
        return tuple(found.other for found in self.disagreements if found.kind == "conflict")

    @property
    def answers(self) -> float | None:
        """The reader's probability that it answers the question; None if it was not read."""
        return next((evidence.raw for evidence in self.evidence if evidence.signal == "reader"), None)

    @property
    def because(self) -> str:
        """The reasons in one line, the largest share first."""
        ranked = sorted(self.evidence, key=lambda e: -e.share)
        return "; ".join(f"{e.signal} #{e.rank}: {e.note}" for e in ranked)

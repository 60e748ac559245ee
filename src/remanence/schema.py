"""The nouns. Each is frozen: to alter one, make another with `dataclasses.replace`.

Memory     one remembered thing
Turn       where in which conversation a memory was said, and by whom
Mention    a name that stands in a memory
Triple     an entity-relation-entity claim that a memory makes
Alias      another name of an entity, and when it is called that
Entity     someone or something memories are about, under one id whatever it was called
Relation   a claim about two entities, when it holds, and the memories that are its evidence
Link       a tie between two memories, from a closed set
Window     a half-open stretch of UTC time; either end may be open
Extraction what an extractor found in a text
Said       one thing somebody said, for an extractor to read
Fact       what a conversation tells, in words that stand on their own
Found      the facts of a conversation, and who found them
Verdict    what a new memory means for an older one
Entry      one line of the ledger
Change     what one line did to a memory
Sight      what a view sees of the ledger
Query      a question made exact
Ranking    one signal's ordered answer, or the reason it abstained
Evidence   what one signal said about one memory
Disagreement  what speaks against a memory
Hit        a memory, its score and its evidence

A *space* holds memories. A *version* of a memory stands over a span of ledger positions; a *row* is
the number of a version among all versions of its space, in the order they were written, so every
projection of a space counts the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from remanence.values import quick

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from remanence.events import Event

UTC = timezone.utc
MemoryKind = Literal["episode", "semantic", "viewpoint"]
MEMORY_KINDS: tuple[MemoryKind, ...] = ("episode", "semantic", "viewpoint")
LinkKind = Literal["related_to", "supersedes", "contradicts", "derived_from", "extends", "supports", "causes"]
LINK_KINDS: tuple[LinkKind, ...] = (
    *("related_to", "supersedes", "contradicts", "derived_from", "extends", "supports", "causes"),
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SELF = "me"
"""What the person is called who says "I" in a memory or a question, where no other name is given."""
ASSISTANT = "assistant"
"""What the one is called who answers in a conversation with an assistant."""
_LATEST = datetime.max.replace(tzinfo=UTC)
_INSTANT = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Microseconds since 1970, exactly (floats would lose the last digits).

    >>> micros(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@lru_cache(1 << 14)
def from_micros(value: int) -> datetime:
    """The moment that `micros` numbered.

    >>> from_micros(1_000_000).isoformat()
    '1970-01-01T00:00:01+00:00'
    """
    return EPOCH + timedelta(microseconds=value)


@dataclass(frozen=True, slots=True)
class Window:
    """From `start`, included, to `end`, excluded; `None` leaves that end open.

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
        """The shortest window that holds `moment`."""
        return cls(moment, moment + _INSTANT if moment < _LATEST else None)

    @property
    def has_bound(self) -> bool:
        """Whether either end is known."""
        return self.start is not None or self.end is not None

    def overlaps(self, other: Window) -> bool:
        """Whether the two share a moment."""
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


def format_moment(moment: datetime | None) -> str:
    """A moment with no more digits than it needs.

    >>> format_moment(datetime(2026, 5, 1, tzinfo=UTC)), format_moment(datetime(2026, 5, 1, 9, 30, tzinfo=UTC))
    ('2026-05-01', '2026-05-01 09:30')
    """
    if moment is None:
        return "unknown"
    midnight = (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
    # Not strftime("%Y"): glibc leaves years before 1000 unpadded, and they would not read back.
    return moment.date().isoformat() if midnight else f"{moment.date().isoformat()} {moment:%H:%M}"


OPEN_START, OPEN_END = -(1 << 63), (1 << 63) - 1
"""A start and an end that are open, where windows are kept as numbers."""


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


@quick
@dataclass(frozen=True, slots=True)
class Turn:
    """Where a chat turn was said: the `number`-th of its conversation, by `speaker`, at `at`."""

    conversation: str
    number: int
    speaker: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that stands in a memory, as written, and what it seems to name."""

    name: str
    kind: str = "thing"


cached_mention = lru_cache(1 << 14)(Mention)
"""A mention that is shared: the same names come again and again."""


@dataclass(frozen=True, slots=True)
class Triple:
    """`subject` `predicate` `object`, as a memory claims it."""

    subject: str
    predicate: str
    object: str

    def __str__(self) -> str:
        return f"{self.subject} —{self.predicate}→ {self.object}"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity, and when it is called that."""

    name: str
    valid: Window = field(default_factory=Window)


@dataclass(frozen=True, slots=True)
class Entity:
    """Someone or something memories are about, under one id whatever it was called."""

    id: str
    name: str
    kind: str = "thing"
    aliases: tuple[Alias, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Everything it is called, its name first."""
        return (self.name, *(alias.name for alias in self.aliases))


@dataclass(frozen=True, slots=True)
class Relation:
    """`subject` `predicate` `object`, as this view knows it.

    `valid` is when it holds, after what came later in time has closed it; `claimed` is the window as it
    was stated. `evidence` are the ids of the memories that say so; `replaced_by` is the id of the relation
    that followed it, where the predicate has one value at a time.
    """

    id: str
    subject: str
    predicate: str
    object: str
    valid: Window = field(default_factory=Window)
    claimed_window: Window = field(default_factory=Window)
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
    """Memory `source` stands to memory `target` as `kind` says."""

    id: str
    source: str
    kind: LinkKind
    target: str
    valid: Window = field(default_factory=Window)
    recorded_at: datetime = EPOCH
    confidence: float = 1.0
    observed_by: str | None = None
    why: str | None = None

    def __str__(self) -> str:
        return f"{self.source} —{self.kind}→ {self.target}"


@quick
@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found in a text: names, claims, when it happened, and every time it names."""

    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    valid: Window | None = None
    times: tuple[Window, ...] = ()


@dataclass(frozen=True, slots=True)
class Utterance:
    """One thing somebody said, for an extractor to read: the words, who said them, and when."""

    text: str
    speaker: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """What a conversation tells, in words that stand on their own.

    `said` are the places of the turns it comes from. `ends` are claims that it says hold no longer ("I
    left Google" ends that I work there); one that leaves its subject or its object empty ends whatever it
    was ("I got divorced" ends that I am married to "").
    """

    text: str
    kind: MemoryKind = "semantic"
    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    valid: Window = field(default_factory=Window)
    importance: float = 0.6
    confidence: float = 0.8
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None
    source_turns: tuple[int, ...] = ()
    ended_claims: tuple[Triple, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """The facts of a conversation: found `by` which extractor, with which model and version of the prompt.

    `problem` says what went wrong on the way, where a model failed and the rules stepped in.
    """

    facts: tuple[Fact, ...] = ()
    by: str = "rules"
    model: str | None = None
    prompt: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a new memory means for an older one: it "updates" it, "extends" it, or "contradicts" it."""

    new_index: int
    """The place of the new one among those asked about."""
    old_id: str
    """The id of the older memory."""
    effect: Literal["updates", "extends", "contradicts"]
    why: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Memory:
    """One remembered thing, in one version.

    `valid` is when it is true or happened; `recorded_at` when it was first learned, `revised_at` when
    this version was. `importance`: 0.3 minor, 0.6 moderate, 0.9 identity-defining.
    """

    id: str
    space: str
    text: str
    key: str | None = None
    kind: MemoryKind = "semantic"
    valid: Window = field(default_factory=Window)
    recorded_at: datetime = EPOCH
    revised_at: datetime = EPOCH
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


@quick
@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger.

    `kind` is what its event is called, `subject` the memory it is about. `event` is None once the line's
    words were erased. `digest` chains it to every line before it.
    """

    position: int
    at: datetime
    space: str
    kind: str
    subject: str
    event: Event | None
    digest: bytes = b""


@dataclass(frozen=True, slots=True)
class Change:
    """What one ledger line did to a memory: `what` is "remembered" (new, or in a new version, which is
    `memory`), "forgotten", "restored" or "erased"."""

    position: int
    at: datetime
    kind: str
    memory_id: str
    memory: Memory | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a view sees: the ledger up to `position`, at moment `now`.

    `rows` marks the versions that stand there, neither hidden nor replaced; `memories` the memories, by
    number, that have such a one.
    """

    position: int
    now: datetime
    row_mask: NDArray[np.bool_]
    memory_mask: NDArray[np.bool_]


def _alone(name: int) -> Sequence[int]:
    return (name,)


def _untied(_: int) -> Sequence[tuple[int, str]]:
    return ()


@dataclass(frozen=True, slots=True)
class Query:
    """A question made exact. Built fresh, never edited.

    `visible` marks the rows this view knows of (word statistics are taken over them); `allowed` the
    rows among them that may be answered with, after kind, tag, time, expiry and truth. `also` are rows
    that another signal put forward, for which a score is wanted too; `near` are the best of those with
    what meaning and words give them together. `position` is the last ledger line this view knows; `same`
    gives the names (by number) that stand for one entity there, `related` the names tied to one, each
    with the predicate. `terms` are the words to look for, where not all of `text`; `answered` gives for
    rows the turns said right after them, -1 for none. Nearness up to `usual` tells nothing. `within` marks
    the rows from the time asked for, where they are few: of those a signal puts forward its best as well.
    """

    text: str
    visible: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    position: int = 0
    times: tuple[Window, ...] = ()
    entity_names: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    vector: NDArray[np.float32] | None = None
    similarity_floor: float = 0.0
    candidate_rows: Sequence[int] = ()
    candidate_scores: Mapping[int, float] = field(default_factory=dict)
    time_mask: NDArray[np.bool_] | None = None
    same_entity: Callable[[int], Sequence[int]] = _alone
    related_names: Callable[[int], Sequence[tuple[int, str]]] = _untied
    next_turns: Callable[[NDArray[np.integer[Any]]], NDArray[np.integer[Any]]] | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """One signal's answer: rows, best first, with raw scores; or why there is none.

    A score of `floor` or less is worth nothing; one of `ceiling`, or if there is none the best one, is
    worth the whole weight of the signal. `abstained` is a signal with nothing to say about this
    question; `missing` is one that could not be asked. A signal that looked and found nothing gives an
    empty ranking with `abstained` and `looked`: that is an opinion too.
    """

    signal: str
    rows: Sequence[int] = ()
    scores: Sequence[float] = ()
    floor: float = 0.0
    ceiling: float | None = None
    exponent: float = 1.0
    """The power that scaled scores are raised to: 2 makes only high scores count."""
    explain_rows: Callable[[Sequence[int]], Sequence[str]] | None = None
    """Says of each of these rows why it is here."""
    abstention_reason: str | None = None
    has_searched: bool = True
    missing_reason: str | None = None

    @classmethod
    def abstain(cls, signal: str, reason: str) -> Ranking:
        """A ranking by a signal that this question is not for, and why."""
        return cls(signal, abstention_reason=reason, has_searched=False)

    @classmethod
    def empty(cls, signal: str, reason: str) -> Ranking:
        """A ranking by a signal that looked and found nothing."""
        return cls(signal, abstention_reason=reason)

    @classmethod
    def unavailable(cls, signal: str, reason: str) -> Ranking:
        """A ranking that could not be made, and why."""
        return cls(signal, missing_reason=reason, has_searched=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one signal said about one memory: its rank there (1 is first), its share of the fused score,
    the raw score, and a note a person can read."""

    signal: str
    rank: int
    share: float
    raw: float
    note: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What says otherwise than a memory: another one, how (`says`), and about what.

    A *succession* (the other began later, or this one did), a *correction*, a *conflict*, in which neither
    wins by itself, or a *coexistence*: both hold, each in its own time.
    """

    kind: Literal["succession", "correction", "conflict", "coexistence"]
    topic: str
    other: Memory


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory, its score 0..1, and why it is here.

    `current` is False for one that another (`superseded_by`) stands in the place of, and for one that
    has expired or lies in the archive. `disagreements` are the memories that say otherwise.
    """

    memory: Memory
    score: float
    evidence: tuple[Evidence, ...] = ()
    current: bool = True
    superseded_by: Memory | None = None
    disagreements: tuple[Disagreement, ...] = ()

    @property
    def contradicted_by(self) -> tuple[Memory, ...]:
        """The memories in open conflict with this one."""
        return tuple(each.other for each in self.disagreements if each.kind == "conflict")

    @property
    def because(self) -> str:
        """The reasons in one line, weightiest first."""
        ranked = sorted(self.evidence, key=lambda e: -e.share)
        return "; ".join(f"{e.signal} #{e.rank}: {e.note}" for e in ranked)

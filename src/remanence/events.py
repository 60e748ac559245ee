"""The events that ledger entries record.

The first field of each event is the id of what it is about. `ledger.codec` stores an event under the name
of its class, with its fields in this order, so none of them may be renamed or moved. The last field is the
signature of the writer, if it has a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from remanence.schema import ANY_TIME, Alias, LinkKind, MemoryKind, Mention, Triple, Turn, Window


# Not frozen like the others: thousands are made at once, and a frozen one takes three times as long to make.
@dataclass(slots=True)
class Remembered:
    """A new memory, or a new version of one.

    Two adds with the same `identity` are about one memory; with the same `content` as well, the second
    adds nothing. `times` are those that the text names. `passages` are the ranges (start, end) of a text
    that are searched separately; without any, the entire text is searched. `told_at` is the `now` it was given with,
    if any: the ledger's own times never go back, so what is told of the past after something newer was written has a
    later one there. `trust` is how far its source is trusted, from 0 to 1.
    """

    memory: str
    text: str
    identity: str
    content: str = ""
    kind: MemoryKind = "semantic"
    importance: float = 0.5
    confidence: float = 1.0
    strength: float = 1.0
    key: str | None = None
    source: str | None = None
    observed_by: str | None = None
    valid: Window = ANY_TIME
    expires_at: datetime | None = None
    tags: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    times: tuple[Window, ...] = ()
    turn: Turn | None = None
    passages: tuple[tuple[int, int], ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    told_at: datetime | None = None
    trust: float = 1.0
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A memory is hidden from here on. One that is `archived` can still be searched for in the archive."""

    memory: str
    why: str | None = None
    archived: bool = False
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """A forgotten memory is visible again from here on."""

    memory: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Erased:
    """The text of these earlier entries about a memory was removed; or about a relation, a link, an entity or a
    recorded recall, whose id `memory` is then."""

    memory: str
    positions: tuple[int, ...]
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Emptied:
    """The text of every earlier entry of this space was removed."""

    space: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Registered:
    """An entity has this name and these aliases."""

    entity: str
    name: str
    aliases: tuple[Alias, ...] = ()
    kind: str | None = None
    by: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Renamed:
    """An entity has this name from here on; the old one stays an alias."""

    entity: str
    name: str
    by: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """An entity is the same as another from here on."""

    entity: str
    into: str
    why: str | None = None
    by: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """Some names of an entity belong to another one, `into`, from here on. The first is its main name."""

    entity: str
    into: str
    names: tuple[str, ...]
    why: str | None = None
    by: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Undone:
    """An earlier entry about an entity was undone."""

    entity: str
    position: int
    why: str | None = None
    by: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """The properties of a predicate: whether it has one value at a time, and its inverse."""

    predicate: str
    single_valued: bool | None = None
    inverse: str | None = None
    by: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """A relation of two entities that was asserted directly; `evidence` are memory ids."""

    relation: str
    subject: str
    predicate: str
    object: str
    valid: Window = ANY_TIME
    confidence: float = 1.0
    observed_by: str | None = None
    evidence: tuple[str, ...] = ()
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Linked:
    """A link between two memories."""

    link: str
    source: str
    kind: LinkKind
    target: str
    valid: Window = ANY_TIME
    confidence: float = 1.0
    observed_by: str | None = None
    why: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Invalidated:
    """A relation or a link does not hold after `until`. Its own entry stays."""

    edge: str
    until: datetime
    why: str | None = None
    by: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """A recorded recall: its receipt, its question, and the memories it returned."""

    receipt: str
    asked: Mapping[str, Any]
    memories: tuple[str, ...] = ()
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """The facts that an extractor, with a model and a prompt, found in a source memory."""

    memory: str
    by: str
    model: str | None = None
    prompt: str | None = None
    problem: str | None = None
    facts: tuple[str, ...] = ()
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Queued:
    """A background job, to be done once, even after a crash."""

    job: str
    task: str
    given: Mapping[str, Any] = field(default_factory=dict)
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Worked:
    """The result of a job: "waiting" (it failed and is retried from `until` on), "done", "given up" or "cancelled"."""

    job: str
    status: Literal["waiting", "done", "given up", "cancelled"]
    until: datetime | None = None
    problem: str | None = None
    memories: tuple[str, ...] = ()
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """The tokens that a language model read and wrote on a day (UTC) to find facts, for the job `use`, or for a
    `remember` that waited for them, which has an id of its own."""

    use: str
    model: str | None
    day: str
    calls: int
    tokens_in: int
    tokens_out: int
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Expired:
    """A memory has expired. Recall had left it out since that moment."""

    memory: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Used:
    """A memory was used `times` times, which raised its strength by `boost`, in a `context` of tags.

    With `last_used`, a memory that was merged of others has their uses, the last of them then: that it was added now is
    no use.
    """

    memory: str
    times: int = 1
    boost: float = 0.0
    context: tuple[str, ...] = ()
    last_used: datetime | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Promoted:
    """A memory was promoted to long-term knowledge; `note` is its file in the vault, if it has one."""

    memory: str
    note: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Demoted:
    """The promotion of a memory was undone."""

    memory: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """Upkeep executed a step, or a part of one, as planned at ledger position `planned` with these settings.

    The fields list what an undo has to reverse: memories that were created, revised (each with the
    position of its previous version), hidden or promoted, and links that were added. `used` are the
    memories from which a new one was made.
    """

    run: str
    step: str
    planned: int
    given: Mapping[str, Any] = field(default_factory=dict)
    made: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    revised: tuple[tuple[str, int], ...] = ()
    hidden: tuple[str, ...] = ()
    promoted: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Everything that came from a source, and what was derived from it, was hidden: `memories`. What comes from it
    later is hidden too, until it is released."""

    quarantine: str
    source: str
    memories: tuple[str, ...] = ()
    why: str | None = None
    by: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Released:
    """A quarantine was undone, and these memories are visible again."""

    quarantine: str
    memories: tuple[str, ...] = ()
    why: str | None = None
    by: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Reversed:
    """An upkeep run was undone; `left` are memories that had changed since and were not touched."""

    run: str
    left: tuple[str, ...] = ()
    signature: str | None = None


_MemoryEvent: TypeAlias = Remembered | Forgotten | Restored | Erased | Emptied
_EntityEvent: TypeAlias = Registered | Renamed | Merged | Split | Undone
_EdgeEvent: TypeAlias = Declared | Related | Linked | Invalidated
_JobEvent: TypeAlias = Served | Extracted | Queued | Worked | Spent | Expired
_UpkeepEvent: TypeAlias = Used | Promoted | Demoted | Ran | Reversed
_TrustEvent: TypeAlias = Quarantined | Released
Event: TypeAlias = _MemoryEvent | _EntityEvent | _EdgeEvent | _JobEvent | _UpkeepEvent | _TrustEvent

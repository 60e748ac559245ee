"""What a ledger line may say. The first field of each event is what it is about; `codec` writes it down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from remanence.schema import Alias, LinkKind, MemoryKind, Mention, Triple, Turn, Window
from remanence.values import quick


@quick
@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory, new or in a new version: every word of it.

    Two adds with one `identity` are about one memory; with one `content` as well, the second says
    nothing new. `times` are those the text names. `passages` are the stretches (start, end) of a long
    text that are found separately.
    """

    memory: str
    text: str
    identity: str
    content: str = ""
    key: str | None = None
    kind: MemoryKind = "semantic"
    valid: Window = field(default_factory=Window)
    importance: float = 0.5
    confidence: float = 1.0
    strength: float = 1.0
    tags: tuple[str, ...] = ()
    source: str | None = None
    observed_by: str | None = None
    expires_at: datetime | None = None
    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    times: tuple[Window, ...] = ()
    turn: Turn | None = None
    passages: tuple[tuple[int, int], ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def with_id_and_turn(self, memory: str, turn: Turn | None) -> Remembered:
        """The same version, of this memory and with this turn, as `replace` gives it in thrice the time.

        >>> Remembered("m1", "Alice lives in Porto.", "i1", tags=("home",)).with_id_and_turn("m2", None)
        Remembered(memory='m2', text='Alice lives in Porto.', identity='i1', ... tags=('home',), ...)
        """
        return Remembered(
            memory, self.text, self.identity, self.content, self.key, self.kind, self.valid,
            self.importance, self.confidence, self.strength, self.tags, self.source, self.observed_by,
            self.expires_at, self.mentions, self.triples, self.times, turn, self.passages, self.meta,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A memory is hidden from here on; `archived`, it is put away, and can be looked up there."""

    memory: str
    why: str | None = None
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Restored:
    """A forgotten memory is visible again from here on."""

    memory: str


@dataclass(frozen=True, slots=True)
class Erased:
    """The words of these earlier lines of a memory were blanked."""

    memory: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Registered:
    """An entity goes by this name, and by these others."""

    entity: str
    name: str
    aliases: tuple[Alias, ...] = ()
    kind: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Renamed:
    """An entity is called this from here on; its old name stays an alias."""

    entity: str
    name: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """An entity is one with another from here on."""

    entity: str
    into: str
    why: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """Some names of an entity belong to another one, `into`, from here on; the first is its name."""

    entity: str
    into: str
    names: tuple[str, ...]
    why: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Undone:
    """An earlier line about an entity holds no longer."""

    entity: str
    position: int
    why: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """How a predicate behaves: one value at a time or many, and what it is called from the other end."""

    predicate: str
    single_valued: bool | None = None
    inverse: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """Two entities stand in a relation, as somebody says outright; `evidence` are memories."""

    relation: str
    subject: str
    predicate: str
    object: str
    valid: Window = field(default_factory=Window)
    confidence: float = 1.0
    observed_by: str | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Linked:
    """Two memories stand in a relation."""

    link: str
    source: str
    kind: LinkKind
    target: str
    valid: Window = field(default_factory=Window)
    confidence: float = 1.0
    observed_by: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Invalidated:
    """A relation or a link holds no longer than `until`. Its line stays."""

    edge: str
    until: datetime
    why: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """A recall that was to be recorded: its receipt, and the memories it gave."""

    receipt: str
    asked: Mapping[str, Any]
    memories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extracted:
    """An opinion: what somebody, with some model and prompt, found in a source memory."""

    memory: str
    by: str
    model: str | None = None
    prompt: str | None = None
    problem: str | None = None
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Queued:
    """Work to be done later, once, even after a crash."""

    job: str
    task: str
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Worked:
    """How a job went: "waiting" (it failed, and is tried again from `until` on), "done" or "given up"."""

    job: str
    status: Literal["waiting", "done", "given up"]
    until: datetime | None = None
    problem: str | None = None
    memories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expired:
    """A memory's time was up; recall had left it out since that moment."""

    memory: str


@dataclass(frozen=True, slots=True)
class Used:
    """A memory was of use, so many times; `boost` is how much stronger that made it.

    `context` are the tags of what it was used for.
    """

    memory: str
    times: int = 1
    boost: float = 0.0
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Promoted:
    """A memory belongs to what is kept for long; `note` is its file in the vault, if it has one."""

    memory: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Demoted:
    """A memory was promoted by mistake."""

    memory: str


@dataclass(frozen=True, slots=True)
class Ran:
    """Upkeep took a step, or a part of one, as planned at ledger line `planned` with these settings.

    What it did is what an undoing has to reverse: the memories it made, those it gave a new version (each
    with the line of the one before), hid or promoted, and the links it drew. `used` are the memories that
    a made one came from.
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


@dataclass(frozen=True, slots=True)
class Reversed:
    """What an upkeep run did holds no longer; `left` are memories that had changed since, and were let be."""

    run: str
    left: tuple[str, ...] = ()


Event: TypeAlias = (
    Remembered
    | Forgotten
    | Restored
    | Erased
    | Registered
    | Renamed
    | Merged
    | Split
    | Undone
    | Declared
    | Related
    | Linked
    | Invalidated
    | Served
    | Extracted
    | Queued
    | Worked
    | Expired
    | Used
    | Promoted
    | Demoted
    | Ran
    | Reversed
)

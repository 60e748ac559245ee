"""What the ledger contains and what became of a memory: entries, changes, certificates of erasure, verification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NewType

from remanence.schema.memory_types import Memory

if TYPE_CHECKING:
    from remanence.events import Event

Position = NewType("Position", int)
"""An entry of the ledger; as the position of a view, that entry and all before it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One ledger entry.

    `kind` is the name of its event, `subject` the id of what it is about. `event` is None once the text of
    the entry was erased. `digest` chains it to all earlier entries.
    """

    position: Position
    at: datetime
    space: str
    kind: str
    subject: str
    event: Event | None
    digest: bytes = b""


@dataclass(frozen=True, slots=True)
class PendingErasure:
    """Where text of erased memories may still be: what it is, where, and when it will be removed."""

    content: str
    location: str
    removed_when: str

    def __str__(self) -> str:
        return f"{self.content} in {self.location}, until {self.removed_when}"


@dataclass(frozen=True, slots=True)
class ErasureCertificate:
    """What an erasure removed. Its length and its items are those of all memories that were erased.

    Attributes:
        space: The space of the call.
        at: When the erasure was recorded.
        memories: The ids of the memories that were asked for.
        derived_memories: The ids of facts that were erased because they were derived only from these memories.
        spaces: The spaces in which something was erased.
        erased_entries: How many ledger entries lost their text, by kind: versions ("remembered"), links ("linked"),
            extractions, assertions ("related"), recorded recalls ("served") and others.
        vectors: How many embeddings were deleted. One that another memory or space needs too stays.
        notes: The notes that were deleted from a vault, or written again without the text.
        not_erased: What this library does not delete, in words: notes that a person has edited.
        pending: Where text was left when the call returned, and until when. See `space.audit.pending_erasures()`.
        position: The ledger position of the last entry that records the erasure; 0 if there was nothing to erase.
        digest: The digest of that entry, for comparison with the ledger later.
    """

    space: str
    at: datetime
    memories: tuple[str, ...]
    derived_memories: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    erased_entries: Mapping[str, int] | None = None
    vectors: int = 0
    notes: tuple[str, ...] = ()
    not_erased: tuple[str, ...] = ()
    pending: tuple[PendingErasure, ...] = ()
    position: int = 0
    digest: str = ""

    def __iter__(self) -> Iterator[str]:
        return iter((*self.memories, *self.derived_memories))

    def __len__(self) -> int:
        return len(self.memories) + len(self.derived_memories)

    def __contains__(self, memory_id: object) -> bool:
        return memory_id in self.memories or memory_id in self.derived_memories

    def __str__(self) -> str:
        entries = ", ".join(f"{count:,} {kind}" for kind, count in sorted((self.erased_entries or {}).items()))
        lines = [
            f"erased {len(self.memories):,} of the memories of space {self.space!r}",
            f"  derived memories erased: {len(self.derived_memories):,}",
            f"  ledger entries without text now: {entries or 'none'}",
            f"  embeddings deleted: {self.vectors:,}",
        ]
        lines += [f"  note removed or rewritten: {note}" for note in self.notes]
        lines += [f"  kept: {item}" for item in self.not_erased]
        lines += [f"  pending: {item}" for item in self.pending]
        if self.position:
            lines.append(f"  recorded in ledger entry {self.position}, digest {self.digest}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """The result of `verify`: how many ledger entries this space has, and the digest of the last one, which covers all
    entries of the ledger before it.

    Store the digest elsewhere to compare it with that of a later `verify`.
    """

    entries: int
    digest: str
    signers: Mapping[str, int] = field(default_factory=dict)
    """How many entries each writer has signed, by the name in `Policy(signers=...)`, or by public key if it has none
    there."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one ledger entry did to a memory.

    Attributes:
        at: When it was written.
        kind: "remembered", "forgotten", "restored" or "erased".
        memory: The new memory or version; only for "remembered".
    """

    position: int
    at: datetime
    kind: str
    memory_id: str
    memory: Memory | None = None
    why: str | None = None

"""Erasing for good: memories of one space, or all spaces below a name, with a certificate of what went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.core.housekeeping import PendingErasure
from remanence.language.text import pluralize
from remanence.write import forget

if TYPE_CHECKING:
    from remanence.core.engine import Engine


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
            f"erased {pluralize(len(self.memories), 'memory', 'memories')} of space {self.space!r}",
            f"  with them: {pluralize(len(self.derived), 'memory', 'memories')} found in them alone",
            f"  ledger entries without text now: {entries or 'none'}",
            f"  embeddings deleted: {self.vectors:,}",
        ]
        lines += [f"  note removed or rewritten: {note}" for note in self.notes]
        lines += [f"  kept: {each}" for each in self.kept]
        lines += [f"  pending: {each}" for each in self.pending]
        if self.position:
            lines.append(f"  recorded in ledger entry {self.position}, digest {self.digest}")
        return "\n".join(lines)


def erase_memories(engine: Engine, space: str, ids: Sequence[str]) -> ErasureCertificate:
    """Erase these memories of a space."""
    return _certify(engine, space, [space], lambda name: forget.erase(engine, name, ids))


def erase_spaces(engine: Engine, space: str, names: Sequence[str]) -> ErasureCertificate:
    """Erase everything in these spaces, which are `space` and those below it."""
    # The space itself last: if this process is killed, the space is still listed, and the call can be repeated.
    deepest_first = sorted(names, key=lambda name: (-name.count("/"), name))
    return _certify(engine, space, deepest_first, lambda name: forget.erase_space(engine, name))


def _certify(
    engine: Engine, space: str, names: Sequence[str], erase: Callable[[str], forget.Erasure]
) -> ErasureCertificate:
    from remanence.upkeep.promotion import remove_erased_notes, vaults_of  # most programs never need it

    erasures: list[forget.Erasure] = []
    notes: list[str] = []
    kept: list[str] = []
    for name in names:
        vaults = vaults_of(engine, name)
        erasures.append(erase(name))
        if vaults and len(erasures[-1].memories):
            removed, edited = remove_erased_notes(engine, name, vaults)
            notes += removed
            kept += edited
    done = [erasure for erasure in erasures if erasure.position]
    blanked: Counter[str] = Counter()
    for erasure in done:
        blanked.update(erasure.blanked)
    return ErasureCertificate(
        space=space,
        at=engine.now(),
        memories=tuple(memory for erasure in done for memory in erasure.memories),
        derived=tuple(memory for erasure in done for memory in erasure.derived),
        spaces=tuple(erasure.space for erasure in done),
        blanked=dict(blanked),
        vectors=sum(erasure.vectors for erasure in done),
        notes=tuple(notes),
        kept=tuple(kept),
        pending=tuple(engine.housekeeper.pending(space)),
        position=max((erasure.position for erasure in done), default=0),
        digest=done[-1].digest if done else "",
    )

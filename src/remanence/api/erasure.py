"""Permanent erasure: memories of one space, or all spaces below a name, with a certificate of what was erased."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from remanence.schema import ErasureCertificate
from remanence.write import forget

if TYPE_CHECKING:
    from remanence.core.engine import Engine


def erase_memories(engine: Engine, space: str, ids: Sequence[str], *, with_related: bool) -> ErasureCertificate:
    """Erase these memories of a space."""
    return _certify(engine, space, [space], lambda name: forget.erase(engine, name, ids, with_related=with_related))


def erase_spaces(engine: Engine, space: str, names: Sequence[str]) -> ErasureCertificate:
    """Erase everything in these spaces, which are `space` and those below it."""
    # The space itself last: if this process is killed, the space is still listed, and the call can be repeated.
    deepest_first = sorted(names, key=lambda name: (-name.count("/"), name))
    return _certify(engine, space, deepest_first, lambda name: forget.erase_space(engine, name))


def _certify(
    engine: Engine, space: str, names: Sequence[str], erase: Callable[[str], forget.Erasure]
) -> ErasureCertificate:
    from remanence.upkeep.vault_notes.promotion import remove_erased_notes, vaults_of  # most programs never need it

    erasures: list[forget.Erasure] = []
    notes: list[str] = []
    not_erased: list[str] = []
    for name in names:
        vaults = vaults_of(engine, name)
        erasures.append(erase(name))
        if vaults and len(erasures[-1].memories):
            removed, edited = remove_erased_notes(engine, name, vaults)
            notes += removed
            not_erased += edited
    done = [erasure for erasure in erasures if erasure.position]
    erased_entries: Counter[str] = Counter()
    for erasure in done:
        erased_entries.update(erasure.erased_entries)
    return ErasureCertificate(
        space=space,
        at=engine.now(),
        memories=tuple(memory for erasure in done for memory in erasure.memories),
        derived_memories=tuple(memory for erasure in done for memory in erasure.derived),
        spaces=tuple(erasure.space for erasure in done),
        erased_entries=dict(erased_entries),
        vectors=sum(erasure.vectors for erasure in done),
        notes=tuple(notes),
        not_erased=tuple(not_erased),
        pending=tuple(engine.erasure_cleaner.pending(space)),
        position=max((erasure.position for erasure in done), default=0),
        digest=done[-1].digest if done else "",
    )

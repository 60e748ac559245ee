"""Erasing with a certificate: what was erased, in the ledger and in the notes of a vault, and what is pending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from remanence.errors import LedgerUnavailable
from remanence.index.engine.engine import Engine
from remanence.ports import RewritableLedger
from remanence.remember import forget as forgetting
from remanence.schema import ErasureCertificate


def certify(
    engine: Engine,
    space: str,
    names: Sequence[str],
    erase: Callable[[str], forgetting.Erasure],
    *,
    rewrite: bool = False,
) -> ErasureCertificate:
    """Erase something in each of these spaces, and what notes of a vault say about it. With `rewrite`, also write files
    again in which erased text would stay."""
    from remanence.upkeep.vault_notes.vault import remove_erased_notes, vaults_of  # most programs never need it

    erasures: list[forgetting.Erasure] = []
    notes: list[str] = []
    not_erased: list[str] = []
    for name in names:
        vaults = vaults_of(engine, name)
        erasures.append(erase(name))
        if vaults and erasures[-1].position:
            removed, edited = remove_erased_notes(engine, name, vaults)
            notes += removed
            not_erased += edited
    if rewrite and isinstance(engine.ledger, RewritableLedger):
        with suppress(LedgerUnavailable):  # what is left then is pending
            engine.ledger.rewrite()
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

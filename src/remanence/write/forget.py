"""Hiding memories, showing them again, deleting their text permanently, and recording what expired."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from remanence.core.engine import Engine
from remanence.core.index import Index, embeddable_texts
from remanence.events import Erased, Event, Expired, Forgotten, Remembered, Restored
from remanence.language.text import text_hash
from remanence.schema import Memory


def forget_many(engine: Engine, space: str, ids: Sequence[str], why: str | None) -> int:
    """Hide these memories in one transaction, also archived ones. Returns how many were not forgotten before."""

    def decide(index: Index) -> list[Event]:
        forgettable = _visible_memories(index) | index.catalog.archived_mask(index.catalog.position)
        return [Forgotten(each, why) for each in dict.fromkeys(ids) if forgettable[index.require_unerased(each)]]

    return len(engine.write(space, decide))


def unforget(engine: Engine, space: str, ids: Sequence[str]) -> int:
    """Show forgotten or archived memories again, in one transaction. Returns how many were hidden."""

    def decide(index: Index) -> list[Event]:
        visible = _visible_memories(index)
        return [Restored(each) for each in dict.fromkeys(ids) if not visible[index.require_unerased(each)]]

    return len(engine.write(space, decide))


def erase(engine: Engine, space: str, memory_id: str) -> list[str]:
    """Delete the text of a memory and of what was derived from it alone, in every version, permanently."""
    with engine.open_index(space) as index, engine.write_lock:
        with engine.ledger.transaction() as transaction:
            index.catch_up()
            with index.lock:
                catalog = index.catalog
                numbers = index.with_derived(index.require_number(memory_id))
                positions_of = {n: index.entry_positions_about(n) for n in numbers if not catalog.is_erased(n)}
            positions = sorted({position for some in positions_of.values() for position in some})
            entries = engine.ledger.entries_at(positions).values()
            versions = [entry.event for entry in entries if isinstance(entry.event, Remembered)]
            # A text that another memory has too, here or in another space, keeps its vector.
            texts = {text for version in versions for text in embeddable_texts(version)}
            unused = texts - engine.ledger.texts_in_other_entries(texts, excluded_positions=positions)
            transaction.erase(positions, [text_hash(text) for text in unused])
            erased = [Erased(catalog.ids[n], tuple(some)) for n, some in positions_of.items()]
            written = transaction.append(space, erased, at=engine.now()) if erased else []
        index.apply_written(written)
    return [event.memory for event in erased]


def sweep(engine: Engine, space: str) -> list[Memory]:
    """Record which memories have expired since the last sweep."""
    ids: list[str] = []

    def decide(index: Index) -> list[Event]:
        rows = index.expired_rows(index.catalog.position, engine.now())
        ids.extend(index.catalog.ids[index.catalog.memory_of(row)] for row in rows)
        return [Expired(memory_id) for memory_id in ids]

    engine.write(space, decide)
    expired = (engine.get(space, memory_id, None) for memory_id in ids)
    return [memory for memory in expired if memory is not None]


def _visible_memories(index: Index) -> NDArray[np.bool_]:
    """The memories, by number, that are not hidden."""
    return index.catalog.memories_among(index.catalog.visible(index.catalog.position))

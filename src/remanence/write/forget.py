"""Letting go: hiding a memory, bringing it back, blanking its words for ever, and recording what expired."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from remanence.core.engine import Engine
from remanence.core.index import Index, embeddable_texts
from remanence.events import Erased, Event, Expired, Forgotten, Remembered, Restored
from remanence.language.text import text_hash
from remanence.schema import Memory


def forget(engine: Engine, space: str, memory_id: str, why: str | None) -> None:
    """Hide a memory from now on. Hiding it again says nothing new, but of one that was only archived."""
    forget_many(engine, space, [memory_id], why)


def forget_many(engine: Engine, space: str, ids: Sequence[str], why: str | None) -> int:
    """Hide these memories in one transaction; how many were not forgotten before."""

    def decide(index: Index) -> list[Event]:
        kept = _shown(index) | index.catalog.archived_mask(index.catalog.position)
        return [Forgotten(each, why) for each in dict.fromkeys(ids) if kept[index.require_unerased(each)]]

    return len(engine.write(space, decide))


def unforget(engine: Engine, space: str, ids: Sequence[str]) -> int:
    """Show these memories again, forgotten or archived, in one transaction; how many were not shown."""

    def decide(index: Index) -> list[Event]:
        shown = _shown(index)
        return [Restored(each) for each in dict.fromkeys(ids) if not shown[index.require_unerased(each)]]

    return len(engine.write(space, decide))


def erase(engine: Engine, space: str, memory_id: str) -> list[str]:
    """Blank the words of a memory, in every version, for ever; and of what was found in it alone."""
    with engine.open_index(space) as index, engine.write_lock:
        with engine.ledger.transaction() as pen:
            index.catch_up()
            with index.lock:
                catalog = index.catalog
                numbers = index.with_derived(index.require_number(memory_id))
                lines_of = {n: index.entry_positions_about(n) for n in numbers if not catalog.is_erased(n)}
            positions = sorted({line for lines in lines_of.values() for line in lines})
            found = engine.ledger.entries_at(positions).values()
            versions = [e.event for e in found if isinstance(e.event, Remembered)]
            # What another memory says too, here or in another space, keeps its vector.
            texts = {text for version in versions for text in embeddable_texts(version)}
            unheld = texts - engine.ledger.texts_in_other_entries(texts, excluded_positions=positions)
            pen.erase(positions, [text_hash(text) for text in unheld])
            erased = [Erased(catalog.ids[n], tuple(lines)) for n, lines in lines_of.items()]
            entries = pen.append(space, erased, at=engine.now()) if erased else []
        index.apply_written(entries)
    return [event.memory for event in erased]


def sweep(engine: Engine, space: str) -> list[Memory]:
    """Record which memories have expired since this was last done."""
    ids: list[str] = []

    def decide(index: Index) -> list[Event]:
        rows = index.expired_rows(index.catalog.position, engine.now())
        ids.extend(index.catalog.ids[index.catalog.memory_of(row)] for row in rows)
        return [Expired(memory_id) for memory_id in ids]

    engine.write(space, decide)
    found = (engine.get(space, memory_id, None) for memory_id in ids)
    return [memory for memory in found if memory is not None]


def _shown(index: Index) -> NDArray[np.bool_]:
    """The memories, by number, that are not hidden."""
    return index.catalog.memories_among(index.catalog.visible(index.catalog.position))

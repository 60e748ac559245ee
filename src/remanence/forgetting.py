"""Letting go: hiding a memory, bringing it back, blanking its words for ever, and recording what expired."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from remanence.engine import Engine
from remanence.events import Erased, Event, Expired, Forgotten, Remembered, Restored
from remanence.index import Index, texts_of
from remanence.model import Memory
from remanence.text import text_hash


def forget(engine: Engine, space: str, memory_id: str, why: str | None) -> None:
    """Hide a memory from now on. Hiding it again says nothing new."""
    _change(engine, space, memory_id, lambda shown: Forgotten(memory_id, why) if shown else None)


def forget_many(engine: Engine, space: str, ids: Sequence[str], why: str | None) -> int:
    """Hide these memories in one transaction; how many were not hidden before."""

    def decide(index: Index) -> list[Event]:
        visible = index.catalog.visible(index.catalog.position)
        shown = index.catalog.memories_among(visible)
        return [Forgotten(each, why) for each in dict.fromkeys(ids) if shown[index.known(each)]]

    return len(engine.write(space, decide))


def unforget(engine: Engine, space: str, memory_id: str) -> None:
    """Show a forgotten memory again."""
    _change(engine, space, memory_id, lambda shown: None if shown else Restored(memory_id))


def erase(engine: Engine, space: str, memory_id: str) -> list[str]:
    """Blank the words of a memory, in every version, for ever; and of what was found in it alone."""
    with engine.using(space) as index, engine.pen:
        with engine.ledger.transaction() as pen:
            index.catch_up()
            with index.lock:
                catalog = index.catalog
                numbers = index.with_derived(index.number_of(memory_id))
                lines_of = {n: index.lines_about(n) for n in numbers if not catalog.is_erased(n)}
            positions = sorted({line for lines in lines_of.values() for line in lines})
            found = engine.ledger.at(positions).values()
            versions = [e.event for e in found if isinstance(e.event, Remembered)]
            # What another memory says too, here or in another space, keeps its vector.
            texts = {text for version in versions for text in texts_of(version)}
            unheld = [text for text in texts if not engine.ledger.holds(text, besides=positions)]
            pen.erase(positions, [text_hash(text) for text in unheld])
            erased = [Erased(catalog.ids[n], tuple(lines)) for n, lines in lines_of.items()]
            entries = pen.append(space, erased, at=engine.now()) if erased else []
        index.written(entries)
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


def _change(engine: Engine, space: str, memory_id: str, event: Callable[[bool], Event | None]) -> None:
    def decide(index: Index) -> list[Event]:
        number = index.known(memory_id)
        change = event(index.catalog.shown(number, index.catalog.position))
        return [] if change is None else [change]

    engine.write(space, decide)

"""Last step of the write path: versions are embedded and appended, each chunk in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from remanence.core.engine import Engine
from remanence.core.index import Index, memory_from_entry
from remanence.events import Event, Remembered
from remanence.schema import Entry, Memory
from remanence.write.extract import PreparedVersion
from remanence.write.settle import IdentityResolver

if TYPE_CHECKING:
    from remanence.ports import Progress

_CHUNK = 2_000

Also = Callable[[Index, Sequence[str]], Sequence[Event]]
"""Says what else is to be written together with memories, given their ids."""


def append(
    engine: Engine,
    space: str,
    prepared: Sequence[PreparedVersion],
    progress: Progress | None = None,
    extra_events: Also | None = None,
    at: datetime | None = None,
) -> list[Memory]:
    """Write these versions, each chunk in one transaction, and give back the memories they became.

    `also` is given the index and the ids of all of them, with the pen in hand, and says what else is
    to be written in the last transaction: at the moment of the last version, or where there is none `at`.
    """
    out: list[Memory] = []
    for begin in range(0, max(len(prepared), 1), _CHUNK):
        last = begin + _CHUNK >= len(prepared)
        chunk = prepared[begin : begin + _CHUNK]
        then = chunk[-1].recorded_at if chunk else at or engine.now()
        out += _append_chunk(engine, space, chunk, out, extra_events if last else None, then)
        if progress is not None:
            progress(len(out), len(prepared))
    return out


def _append_chunk(
    engine: Engine,
    space: str,
    prepared: Sequence[PreparedVersion],
    before: Sequence[Memory],
    also: Also | None,
    then: datetime,
) -> list[Memory]:
    with engine.open_index(space, to_write=True) as index:
        # Before the pen is taken: this may call somebody's model.
        vectors, made = engine.embed(index.texts_to_embed([p.version for p in prepared]))
        entries: list[Entry] = []
        with engine.write_lock, engine.ledger.transaction() as pen:
            index.catch_up(pen.head)
            with index.lock:
                settling = IdentityResolver(index.catalog, index.recently_recalled, index.latest_version)
                settled = [(settling.resolve(p), p.recorded_at) for p in prepared]
                here = _repeated(index, [decided for decided, _ in settled])
                others: Sequence[Event] = ()
                if also is not None:
                    ids = [memory_id for (memory_id, _), _ in settled]
                    others = also(index, [*(memory.id for memory in before), *ids])
            lines = [(at, line) for (_, line), at in settled if line is not None]
            for at, run in groupby(lines, key=itemgetter(0)):
                entries += pen.append(space, [line for _, line in run], at=at)
            if others:
                entries += pen.append(space, others, at=then)
            if entries:
                engine.store_vectors(pen, vectors, made)
        index.apply_written(entries, vectors)
        if index.vectors.missing_vectors and vectors:
            engine.embed_missing(space, None)
        return _as_written(index, [decided for decided, _ in settled], entries, here)


def _repeated(index: Index, settled: Sequence[tuple[str, Remembered | None]]) -> dict[str, Memory]:
    """The memories that were here already, as they are before anything is written, by id."""
    # With the pen in hand, so that nobody erases them; and a later row may bring a new version of one.
    firsts: dict[str, Remembered | None] = {}
    for memory_id, line in settled:
        firsts.setdefault(memory_id, line)
    ids = [memory_id for memory_id, line in firsts.items() if line is None]
    if not ids:
        return {}
    rows = [index.catalog.row_at(index.require_number(each), index.catalog.position) for each in ids]
    return dict(zip(ids, index.memories([row for row in rows if row is not None]), strict=True))


def _as_written(
    index: Index, settled: Sequence[tuple[str, Remembered | None]], entries: Sequence[Entry], here: dict[str, Memory]
) -> list[Memory]:
    """The memories these became, without reading back what was just written."""
    out: list[Memory] = []
    latest, written = dict(here), iter(entries)
    with index.lock:
        for memory_id, line in settled:
            if line is not None:
                first = index.catalog.first_recorded(index.require_number(memory_id))
                latest[memory_id] = memory_from_entry(next(written), line, first)
            out.append(latest[memory_id])
    return out

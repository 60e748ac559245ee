"""Builds the index of a space again: from the ledger, with another embedder, or to compare it with a fresh one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import InvalidInput, ProjectionError
from remanence.index.engine.embedding import embed_missing
from remanence.index.vectors.stores import SharedStores
from remanence.index.vectors.stores.exact import ExactStore
from remanence.models.embedders import FORMER_DEFAULT

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.index.index import Index
    from remanence.ports import Progress

log = logging.getLogger(__name__)


def rebuild(engine: Engine, space: str, progress: Progress | None = None) -> None:
    """Rebuild the index of a space. Only texts without a vector in the ledger are embedded."""
    with engine.open_index(space) as index:
        index.rebuild()
        problems = dict(index.broken)
        if index.vectors.sync.unreachable is not None:
            problems[index.vectors.name] = index.vectors.sync.unreachable
        reasons = "; ".join(f"{name}: {reason}" for name, reason in problems.items())
        if reasons:
            raise ProjectionError(f"space {space!r} was not rebuilt completely. {reasons}")
    embed_missing(engine, space, progress)


def refresh(engine: Engine, space: str) -> None:
    """Rebuild the index of a space. A small index is rebuilt in place. A large one is rebuilt as a copy that replaces
    it; the vectors are kept."""
    with engine.open_index(space) as index:
        is_refreshed = index.is_large and not index.broken
        if is_refreshed:
            index.refresh()
    if is_refreshed:
        embed_missing(engine, space)
    else:
        rebuild(engine, space)


def reembed(engine: Engine, progress: Progress | None = None) -> None:
    """Embed every text with the given embedder, and then record it as that of this ledger: if the process is killed in
    between, the ledger still opens with the one before."""
    embedder = engine.embedder
    if embedder.dimension is None:
        embedder.embed(["memory"])  # if it is down, this raises before anything is changed
    before = engine.ledger_embedder.recorded()
    for space in engine.ledger.spaces():
        rebuild(engine, space, progress)
    with engine.transaction() as transaction:
        engine.ledger_embedder.record(transaction)
    if before is None or before["fingerprint"] == embedder.fingerprint:
        return
    if isinstance(engine.stores, SharedStores):
        engine.stores.delete_ledger(before["fingerprint"], before["dimension"])


def replace_former_default(engine: Engine) -> None:
    """Embed everything again if the ledger was written with the default embedder of an earlier release."""
    if not engine.ledger_embedder.has_former_default:
        return
    log.warning(
        "%s was written with the former default embedder %r. Its texts are embedded once more, with %r.",
        engine.location,
        FORMER_DEFAULT,
        engine.embedder.name,
    )
    reembed(engine)
    engine.ledger_embedder.has_former_default = False


def rebuild_collection(engine: Engine) -> str:
    """Make the collection of a shared Qdrant again with the present settings. Returns its name."""
    dimension = engine.ledger_embedder.dimension()
    if not isinstance(engine.stores, SharedStores) or dimension is None:
        raise InvalidInput("the vectors of this space are not on a Qdrant server: open it with qdrant='http://...'.")
    return engine.stores.collection(engine.embedder.fingerprint, dimension).rebuild()


def check_index(engine: Engine, space: str) -> dict[str, str]:
    """Compare each part of the index with a fresh build from the ledger; what differs, by name."""
    with engine.open_index(space) as index, index.lock:
        if index.needs_refresh:
            index.refresh()
        fresh = engine.build_index(space, lambda _: ExactStore(engine.embedder.dimension or 1), None)
        for each in (index, fresh):  # some vectors may have been stored after it was built, as after a kill
            if each.graph.lacks_vectors:
                each.fill_missing_vectors()
        return index.broken | _differences(index, fresh)


def _differences(index: Index, rebuilt: Index) -> dict[str, str]:
    differences: dict[str, str] = {}
    for words in (index.words, rebuilt.words):
        words.pack()
    none = np.empty(0)
    for name, part in index.parts.items():
        saved, expected = part.save(), rebuilt.parts[name].save()
        keys = dict.fromkeys((*expected, *saved))
        differing = [key for key in keys if not np.array_equal(saved.get(key, none), expected.get(key, none))]
        if differing:
            differences[name] = f"{', '.join(differing)} differ from a fresh build"
    if problems := index.vectors.sync.differences():
        differences[index.vectors.name] = "; ".join(problems)
    return differences

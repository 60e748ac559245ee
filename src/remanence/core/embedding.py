"""Embeds the texts of a space and stores their vectors in the ledger."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from remanence.errors import EmbedderUnavailable
from remanence.events import Remembered
from remanence.language.text import text_hash
from remanence.signals.vectors import drop_malformed, embeddable_texts

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress, Transaction, Vector

log = logging.getLogger(__name__)

_CHUNK = 2_000


def embed(engine: Engine, space: str, texts: Sequence[str]) -> tuple[dict[bytes, Vector], dict[bytes, Vector]]:
    """Vectors for these texts by hash: all of them, and those that the space did not have yet. If the embedder is
    down, the texts are stored without vectors, which are added later."""
    texts_by_hash = {text_hash(text): text for text in texts}
    if not texts_by_hash or engine.ledger_embedder.dimension() is None:
        return {}, {}
    embedder = engine.embedder
    known = {} if embedder.is_fast else engine.ledger.vectors(space, embedder.fingerprint, list(texts_by_hash))
    vectors = drop_malformed(known, embedder.dimension)
    missing = [(key, text) for key, text in texts_by_hash.items() if key not in vectors]
    if not missing:
        return vectors, {}
    try:
        embedded = embedder.embed([text for _, text in missing])
    except EmbedderUnavailable as error:
        log.warning("%d texts are stored without a vector for now: %s", len(missing), error)
        return vectors, {}
    new_vectors = {key: vector for (key, _), vector in zip(missing, embedded, strict=True)}
    return vectors | new_vectors, new_vectors


def store_vectors(engine: Engine, transaction: Transaction, space: str, vectors: Mapping[bytes, Vector]) -> None:
    """Store vectors that the ledger does not have yet, and with the first ones, which embedder made them."""
    engine.ledger_embedder.record_first(transaction)
    transaction.put_vectors(space, engine.embedder.fingerprint, vectors)


def embed_missing(engine: Engine, space: str, progress: Progress | None = None) -> None:
    """Embed texts without a vector, because the embedder was down or has been replaced."""
    with engine.open_index(space) as index:
        rows = index.vectors.sync.rows_missing_vectors()
        for begin in range(0, len(rows), _CHUNK):
            chunk = rows[begin : begin + _CHUNK]
            entries = engine.ledger.entries_at(index.catalog.positions_of_rows(chunk)).values()
            versions = [entry.event for entry in entries if isinstance(entry.event, Remembered)]
            _embed_and_store(engine, space, [text for version in versions for text in embeddable_texts(version)])
            if progress is not None:
                progress(begin + len(chunk), len(rows))
        with index.lock:
            described = [*index.registry.descriptions(index.catalog.position), *index.missing_descriptions]
        for begin in range(0, len(described), _CHUNK):
            _embed_and_store(engine, space, described[begin : begin + _CHUNK])
        index.fill_missing_vectors()


def embed_descriptions(engine: Engine, space: str) -> None:
    """Embed the descriptions of entities that have no vector yet."""
    with engine.open_index(space) as index:
        if index.missing_descriptions:
            _embed_and_store(engine, space, list(index.missing_descriptions))
            index.fill_missing_vectors()  # also with those that another process has stored


def _embed_and_store(engine: Engine, space: str, texts: Sequence[str]) -> None:
    """Embed those of these texts that the space has no vector for, and store the vectors."""
    _, new_vectors = embed(engine, space, texts)
    if new_vectors:
        with engine.transaction() as transaction:
            store_vectors(engine, transaction, space, new_vectors)

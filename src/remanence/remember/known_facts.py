"""Which stored facts a conversation may end, replace, confirm or add to: a language model is shown them with it."""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.events import Queued
from remanence.index.engine.embedding import embed
from remanence.index.index import Index
from remanence.index.journal import JobStatus
from remanence.remember.unread_turns import unread_turns
from remanence.schema import MEMORY_KINDS, PROCEDURE, Memory, Query, Snapshot
from remanence.text.text import text_hash

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.ports import Vector

MAX_KNOWN = 30
"""How many known facts a model is shown with a conversation."""
_MAX_OF_TURN = 6
"""How many of them are there for one turn."""
_RANKED = 4 * _MAX_OF_TURN
"""How many rows are looked at for one turn: most are turns, which are not shown."""
_UNREAD: tuple[JobStatus, ...] = ("queued", "waiting", "given up", "cancelled")
"""The jobs whose sources were not read: they are not facts, although nothing was extracted from them."""


def find_known_facts(engine: Engine, space: str, sources: Sequence[Memory], now: datetime) -> list[Memory]:
    """The current facts that are nearest in meaning to these sources, or that claim something of the same subject, the
    nearest first. Turns and other sources are not among them: what was said stays said."""
    with engine.open_index(space) as index:
        vectors, _ = embed(engine, space, [source.text for source in sources])
        excluded = {source.id for source in sources}.union(sources_of_jobs(engine, index, _UNREAD))
        scores: dict[int, float] = {}
        with index.lock:
            snapshot = index.snapshot(index.catalog.position, now)
            for source in sources:
                for row, score in _facts_near(
                    index, source, vectors.get(text_hash(source.text)), snapshot, excluded
                ).items():
                    scores[row] = max(score, scores.get(row, 0.0))
            rows = sorted(scores, key=lambda row: (-scores[row], row))
            memories = index.readable_memories(rows)
        return memories[:MAX_KNOWN]


def sources_of_jobs(engine: Engine, index: Index, statuses: Container[JobStatus]) -> dict[str, None]:
    """The ids of the sources of the jobs with one of these statuses, oldest first, each once."""
    jobs = [job for job in list(index.journal.jobs.values()) if job.status in statuses]
    events = (entry.event for entry in engine.ledger.entries_at([job.position for job in jobs]).values())
    given = (event.given.get("memories", ()) for event in events if isinstance(event, Queued))
    chats = dict.fromkeys(job.conversation for job in jobs if job.conversation is not None)
    unread = (unread_turns(index, chat) for chat in chats)
    return dict.fromkeys(source for sources in (*given, *unread) for source in sources)


def _facts_near(
    index: Index, source: Memory, vector: Vector | None, snapshot: Snapshot, excluded: Container[str]
) -> dict[int, float]:
    scores = dict.fromkeys(_rows_about_same(index, source, snapshot), 1.0)
    if vector is not None:
        query = Query(source.text, visible=snapshot.row_mask, allowed=snapshot.row_mask, vector=vector)
        ranking = index.vectors.rank(query, _RANKED)
        scores = dict(zip(ranking.rows, ranking.scores, strict=True)) | scores
    superseded = index.links.superseded_mask(snapshot)
    facts = {row: score for row, score in scores.items() if _is_fact(index, row, excluded)}
    current = [row for row in facts if not superseded[index.catalog.memory_of(row)]]
    best = sorted(current, key=lambda row: (-facts[row], row))[:_MAX_OF_TURN]
    return {row: facts[row] for row in best}


def _rows_about_same(index: Index, source: Memory, snapshot: Snapshot) -> list[int]:
    """The rows with a claim of the same subject and predicate as one of the source."""
    rows: dict[int, None] = {}
    for triple in source.triples:
        subject = index.names.number(triple.subject)
        if subject is not None:
            rows |= dict.fromkeys(index.relations.rows_claiming(subject, triple.predicate, snapshot))
    return list(rows)


def _is_fact(index: Index, row: int, excluded: Container[str]) -> bool:
    """Whether a row is neither a turn nor a source of facts, or is its own only fact."""
    if index.graph.is_turn(row) or MEMORY_KINDS[index.catalog.attributes.kinds[row]] == PROCEDURE:
        return False
    memory = index.catalog.ids[index.catalog.memory_of(row)]
    if memory in excluded:
        return False
    extractions = index.journal.extractions.get(memory)
    return not extractions or memory in extractions[-1].facts

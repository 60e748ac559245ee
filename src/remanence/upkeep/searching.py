"""A question asked of a space and of what lies beside it, a person's notes or its archive, as one list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remanence import drafts
from remanence.answers import Recall
from remanence.model import Evidence, Hit
from remanence.recall import Question
from remanence.recall import recall as recall_from
from remanence.text import normal_text
from remanence.upkeep.indexing import below, has_notes
from remanence.view import View

if TYPE_CHECKING:
    from remanence.engine import Engine


def recall(
    engine: Engine, space: str, query: str, limit: int, weight: float, options: Mapping[str, Any]
) -> Recall:
    """What the space says, and what the notes say at `weight` of their score; what both say, once."""
    mine = View(engine, space).recall(query, limit=limit, **options)
    if not has_notes(engine, space):
        return mine
    theirs = View(engine, below(space)).recall(query, limit=limit, **options)
    lighter = (_from_vault(hit, weight) for hit in theirs)
    ranked = sorted((*mine, *lighter), key=lambda hit: (-hit.score, hit.memory.id))
    missing = {**{f"{name} (vault)": why for name, why in theirs.missing.items()}, **mine.missing}
    return replace(mine, hits=tuple(_once(ranked))[:limit], missing=missing)


def recall_with_archive(
    engine: Engine, space: str, query: str, limit: int, options: Mapping[str, Any]
) -> Recall:
    """What the space would say had nothing been archived; what lies in the archive says so."""
    answer = View(engine, space).recall(query, limit=limit, **options)
    assert answer.receipt is not None, "what a view recalls has one"
    question = Question.again(answer.receipt, drafts.vector(options.get("vector")))
    with engine.using(space) as index:
        away = index.catalog.archived(question.position)
        again = recall_from(index.with_archive(), question, engine.embedder)
        hits = tuple(_from_archive(hit) if away[index.number_of(hit.memory.id)] else hit for hit in again)
    return replace(again, hits=hits)


def _from_archive(hit: Hit) -> Hit:
    told = Evidence("archive", 1, 0.0, 0.0, f"archived; space.unforget({hit.memory.id!r}) brings it back")
    return replace(hit, evidence=(*hit.evidence, told), current=False)


def _from_vault(hit: Hit, weight: float) -> Hit:
    told = Evidence("vault", 1, 0.0, 0.0, f"a note of yours: {hit.memory.key}")
    return replace(hit, score=hit.score * weight, evidence=(*hit.evidence, told))


def _once(hits: Iterable[Hit]) -> Iterable[Hit]:
    seen: set[str] = set()
    for hit in hits:
        words = normal_text(hit.memory.text)
        if words not in seen:
            seen.add(words)
            yield hit

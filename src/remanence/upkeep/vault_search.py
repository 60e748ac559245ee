"""A question asked of a space and of a person's own notes beside it, as one list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remanence.api.view import View
from remanence.language.text import normal_text
from remanence.read.answer import Recall
from remanence.schema import Evidence, Hit
from remanence.upkeep.vault_import import below, has_notes

if TYPE_CHECKING:
    from remanence.core.engine import Engine


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

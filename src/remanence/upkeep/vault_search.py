"""Merging hits from a space with hits from the notes of its vault."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from remanence.language.text import normalize_text
from remanence.read.answer import Recall
from remanence.schema import Evidence, Hit


def merge(memories: Recall, notes: Recall, limit: int, weight: float) -> Recall:
    """Hits from a space and from the notes of its vault in one list; scores of notes are multiplied by
    `weight`, and a text that is in both is listed once."""
    weighted = (_from_vault(hit, weight) for hit in notes)
    ranked = sorted((*memories, *weighted), key=lambda hit: (-hit.score, hit.memory.id))
    missing = {**{f"{name} (vault)": why for name, why in notes.missing.items()}, **memories.missing}
    return replace(memories, hits=tuple(_once(ranked))[:limit], missing=missing)


def _from_vault(hit: Hit, weight: float) -> Hit:
    told = Evidence("vault", 1, 0.0, 0.0, f"a note of yours: {hit.memory.key}")
    return replace(hit, score=hit.score * weight, evidence=(*hit.evidence, told))


def _once(hits: Iterable[Hit]) -> Iterable[Hit]:
    seen: set[str] = set()
    for hit in hits:
        words = normalize_text(hit.memory.text)
        if words not in seen:
            seen.add(words)
            yield hit

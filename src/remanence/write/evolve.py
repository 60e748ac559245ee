"""Compares new memories with older ones: does a new one update, extend or contradict an older one?

comparison_candidates   the older memories that each new one is compared with: similar, or about the same subject
judge                   the extractor's verdicts, asked once for all of them
verdict_links           the verdicts as links, which is all that is written: older entries stay as they are
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from remanence.core.identity import new_id
from remanence.events import Linked
from remanence.language.rules.rule_extractor import RuleExtractor
from remanence.language.text import text_hash
from remanence.schema import LinkKind, Memory, Query, Snapshot, Verdict

if TYPE_CHECKING:
    from remanence.core.index import Index
    from remanence.ports import Extractor, Vector

_MIN_SIMILARITY = 0.55  # less similar memories are compared only if they are about the same subject
_MAX_CANDIDATES = 8
_LINK_KINDS: Mapping[str, LinkKind] = {"updates": "supersedes", "extends": "extends", "contradicts": "contradicts"}


def comparison_candidates(
    index: Index, new: Sequence[Memory], vectors: Mapping[bytes, Vector], snapshot: Snapshot, sources: Container[str]
) -> list[list[Memory]]:
    """For each new memory the memories to compare it with, including those before it in `new`.

    Turns and other sources are not among them, nor are `sources`: what was said does not change.
    """
    candidates: list[list[Memory]] = []
    for place, memory in enumerate(new):
        with index.lock:
            rows = _similar_rows(index, memory, vectors.get(text_hash(memory.text)), snapshot)
            rows += [row for row in _same_subject_rows(index, memory, snapshot) if row not in rows]
            older = [m for m in index.readable_memories(rows) if m.turn is None and m.id not in sources]
            facts = [m for m in older if m.id not in index.journal.extractions]
        candidates.append([*facts, *(other for other in new[:place] if _share_a_name(memory, other))])
    return candidates


def judge(extractor: Extractor, new: Sequence[Memory], old: Sequence[Sequence[Memory]]) -> list[Verdict]:
    """The extractor's verdicts, without those about memories that were not given to it."""
    if not any(old):
        return []
    ask = getattr(extractor, "judge", None) or RuleExtractor().judge
    candidate_ids = [{memory.id for memory in candidates} for candidates in old]
    return [
        verdict
        for verdict in ask(new, old)
        if 0 <= verdict.new_index < len(new)
        and verdict.old_id in candidate_ids[verdict.new_index]
        and verdict.effect in _LINK_KINDS
    ]


def verdict_links(verdicts: Sequence[Verdict], ids: Mapping[str, str], by: str) -> list[Linked]:
    """The verdicts as links. `ids` maps the provisional ids of new memories to their final ids."""
    links: dict[tuple[str, str, str], Linked] = {}
    for verdict in verdicts:
        new, old = ids[f"new:{verdict.new_index}"], ids.get(verdict.old_id, verdict.old_id)
        if new != old:
            kind = _LINK_KINDS[verdict.effect]
            link = Linked(new_id(), new, kind, old, observed_by=by, why=verdict.why or None)
            links.setdefault((new, kind, old), link)
    return list(links.values())


def _similar_rows(index: Index, memory: Memory, vector: Vector | None, snapshot: Snapshot) -> list[int]:
    if vector is None:
        return []
    query = Query(memory.text, visible=snapshot.row_mask, allowed=snapshot.row_mask, vector=vector)
    ranking = index.vectors.rank(query, _MAX_CANDIDATES)
    pairs = zip(ranking.rows, ranking.scores, strict=True)
    return [row for row, score in pairs if score >= _MIN_SIMILARITY][:_MAX_CANDIDATES]


def _same_subject_rows(index: Index, memory: Memory, snapshot: Snapshot) -> list[int]:
    """The rows with a claim of the same subject and predicate as a claim of this memory."""
    rows: dict[int, None] = {}
    for triple in memory.triples:
        subject = index.names.number(triple.subject)
        if subject is not None:
            rows |= dict.fromkeys(index.relations.rows_claiming(subject, triple.predicate, snapshot))
    return list(rows)[-_MAX_CANDIDATES:]


def _share_a_name(a: Memory, b: Memory) -> bool:
    return not {m.name for m in a.mentions}.isdisjoint(m.name for m in b.mentions)

"""A new memory against the old ones: updates, extends, contradicts, or nothing.

rivals      what each new one is to be held against: near in meaning, or about the same thing
judge       the extractor's opinion, asked once for all of them (a model's, or what is certain by rule)
ties        the opinion as links, which is all that is written: the old lines stay as they are
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

NEAR = 0.55
"""Memories less alike than this say nothing about each other, unless they are about the same thing."""
_MOST = 8
_KINDS: Mapping[str, LinkKind] = {"updates": "supersedes", "extends": "extends", "contradicts": "contradicts"}


def comparison_candidates(
    index: Index, new: Sequence[Memory], vectors: Mapping[bytes, Vector], sight: Snapshot, said: Container[str]
) -> list[list[Memory]]:
    """For each new memory the older ones it is held against; those that come before it in `new` too.

    Turns and other sources, such as those just `said`, are not among them: what was said stays said.
    """
    out: list[list[Memory]] = []
    for place, memory in enumerate(new):
        with index.lock:
            rows = _alike(index, memory, vectors.get(text_hash(memory.text)), sight)
            rows += [row for row in _same_subject(index, memory, sight) if row not in rows]
            known = [m for m in index.readable_memories(rows) if m.turn is None and m.id not in said]
            facts = [m for m in known if m.id not in index.journal.extractions]
        out.append([*facts, *(other for other in new[:place] if _share_a_name(memory, other))])
    return out


def judge(extractor: Extractor, new: Sequence[Memory], old: Sequence[Sequence[Memory]]) -> list[Verdict]:
    """The extractor's verdicts, as far as they are about what it was asked."""
    if not any(old):
        return []
    asked = getattr(extractor, "judge", None) or RuleExtractor().judge
    candidates = [{memory.id for memory in beside} for beside in old]
    return [
        verdict
        for verdict in asked(new, old)
        if 0 <= verdict.new_index < len(new)
        and verdict.old_id in candidates[verdict.new_index]
        and verdict.effect in _KINDS
    ]


def verdict_links(verdicts: Sequence[Verdict], ids: Mapping[str, str], by: str) -> list[Linked]:
    """The verdicts as links. `ids` are the true ids of new memories, by those they were asked under."""
    found: dict[tuple[str, str, str], Linked] = {}
    for verdict in verdicts:
        new, old = ids[f"new:{verdict.new_index}"], ids.get(verdict.old_id, verdict.old_id)
        if new != old:
            kind = _KINDS[verdict.effect]
            link = Linked(new_id(), new, kind, old, observed_by=by, why=verdict.why or None)
            found.setdefault((new, kind, old), link)
    return list(found.values())


def _alike(index: Index, memory: Memory, vector: Vector | None, sight: Snapshot) -> list[int]:
    if vector is None:
        return []
    query = Query(memory.text, visible=sight.row_mask, allowed=sight.row_mask, vector=vector)
    ranking = index.vectors.rank(query, _MOST)
    return [row for row, score in zip(ranking.rows, ranking.scores, strict=True) if score >= NEAR][:_MOST]


def _same_subject(index: Index, memory: Memory, sight: Snapshot) -> list[int]:
    """The rows that claim something else, or the same, of what this memory makes a claim about."""
    rows: dict[int, None] = {}
    for triple in memory.triples:
        subject = index.names.number(triple.subject)
        if subject is not None:
            rows |= dict.fromkeys(index.relations.rows_claiming(subject, triple.predicate, sight))
    return list(rows)[-_MOST:]


def _share_a_name(a: Memory, b: Memory) -> bool:
    return not {m.name for m in a.mentions}.isdisjoint(m.name for m in b.mentions)

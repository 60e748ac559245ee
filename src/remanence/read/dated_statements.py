"""Part of the step `past`: when the statements of a row were valid.

A claim is valid until a later claim replaces it. A text without such a claim is valid until the text of its memory
changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from remanence.core.index import Index
from remanence.language.text import normalize_name, tokens
from remanence.read.context import RecallContext
from remanence.read.supersession import MAX_CLAIM_TEXT_LENGTH
from remanence.schema import Memory, Snapshot, Window


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A claim or a version of a memory, and when it was valid."""

    row: int
    memory: Memory
    windows: tuple[Window, ...]
    names: frozenset[str]
    words: frozenset[str]
    """The words of the text and of the predicate."""
    predicate_words: frozenset[str]

    def is_about(self, names: frozenset[str]) -> bool:
        return not names or not self.names.isdisjoint(names)

    def mentions_half_of(self, words: frozenset[str]) -> bool:
        return bool(words) and 2 * len(words & self.words) >= len(words)


class _Period(NamedTuple):
    """The times in which a row was valid, the names that it is about, and its predicate."""

    windows: tuple[Window, ...]
    names: tuple[str, ...]
    predicate: str = ""


def dated_statements(context: RecallContext, rows: Sequence[int]) -> Iterator[DatedStatement]:
    """The statements of these rows that have changed: their claims, or else the versions of their memories."""
    index = context.index
    versions = cache(index.catalog.rows_of)
    short = [row for row in rows if index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH)]
    for row, claimed in index.relations.valid_periods(short, context.snapshot).items():
        periods = [
            _Period(
                period.windows, (period.claim.subject, period.claim.object), period.claim.predicate.replace("_", " ")
            )
            for period in claimed
            if period.changed
        ]
        periods = periods or _version_periods(index, row, versions(index.catalog.memory_of(row)), context.snapshot)
        if not periods:
            continue
        memory = index.memories([row])[0]
        text_words = frozenset(tokens(memory.text))
        for windows, names, predicate in periods:
            predicate_words = frozenset(tokens(predicate))
            normalized = frozenset(map(normalize_name, names))
            yield DatedStatement(row, memory, windows, normalized, text_words | predicate_words, predicate_words)


def _version_periods(index: Index, row: int, versions: Sequence[int], snapshot: Snapshot) -> list[_Period]:
    """The time in which a version without a date was the text of its memory. Empty if the text never changed."""
    if len(versions) < 2:
        return []
    version, number = index.memories([row])[0], versions.index(row)
    start, end, has_changed = version.revised_at, None, False
    for earlier in (index.memories([earlier_row])[0] for earlier_row in reversed(versions[:number])):
        if has_changed := earlier.text != version.text:
            break
        start = earlier.revised_at
    for later_row in versions[number + 1 :]:
        if index.catalog.positions_of_rows([later_row])[0] > snapshot.position:
            break
        later = index.memories([later_row])[0]
        if later.text != version.text:
            end = later.revised_at
            break
    if version.valid.has_bound or (end is not None and end <= start) or not (has_changed or end):
        return []
    return [_Period((Window(start, end),), tuple(mention.name for mention in version.mentions))]

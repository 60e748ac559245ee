"""Filters on rows: the checked form of `FilterOptions`, and what each does.

A new filter is a field of `FilterOptions`, and here its checked form, its check and its mask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.index.engine import inputs
from remanence.index.engine.policy import TrustRules
from remanence.index.numbers import Position, Row
from remanence.index.versions.fields import check_filter
from remanence.recall.options import FilterOptions
from remanence.schema import RULES
from remanence.text.rule_extractor import speaker_name
from remanence.text.temporal import parse_moment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.index.index import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Conditions on rows. None is no condition. A row matches if it has one of several names, but it needs all
    `tags`."""

    kinds: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    source: tuple[str, ...] | None = None
    speaker: tuple[str, ...] | None = None
    conversation: tuple[str, ...] | None = None
    meta: Mapping[str, Any] | None = None
    informative_only: bool | None = None
    """True excludes chat turns that only ask, greet, thank or agree."""
    facts_only: bool | None = None
    """True excludes all but the facts that a language model wrote."""
    exclude_texts: tuple[str, ...] | None = None
    """Rows with these texts are excluded, and the facts found in them."""
    since: datetime | None = None
    min_trust: float | None = None
    without: tuple[str, ...] | None = None
    """Sources, observers or conversations that are left out, with what was derived from them."""

    @property
    def has_origin_filter(self) -> bool:
        """Whether only some sources, speakers, conversations or metadata are asked for."""
        narrowing = (self.source, self.speaker, self.conversation, self.meta, self.min_trust)
        return any(condition is not None for condition in narrowing)


def option_values(options: Any, of: type) -> dict[str, Any]:
    """The values of the fields that a class has, by name, also of those that are None."""
    return {field.name: getattr(options, field.name) for field in fields(of)}


def filter_rows(filters: RowFilter, index: Index, rows: Sequence[Row], position: Position) -> list[Row]:
    """The rows that match, in the same order, without erased ones. `position` is that of the view."""
    if filters == RowFilter():
        return list(rows)
    with index.lock:
        passing = filter_mask(filters, index, index.catalog.unerased_mask(rows), position)
        return [row for row in rows if passing[row]]


def filter_mask(filters: RowFilter, index: Index, rows: NDArray[np.bool_], position: Position) -> NDArray[np.bool_]:
    """Which of these rows match. Facts that `remember` found in a turn match together with it."""
    fields_, catalog = index.fields, index.catalog
    mask: NDArray[np.bool_] = rows
    if filters.kinds is not None or filters.tags is not None:
        mask = mask & catalog.attributes.mask_with_kinds_and_tags(filters.kinds, filters.tags)
    if filters.informative_only:
        mask = mask & fields_.informative_mask
    if filters.facts_only:
        records = (records[-1] for records in index.journal.extractions.values())
        written = {index.require_number(fact) for record in records if record.by != RULES for fact in record.facts}
        mask = mask & np.isin(catalog.memory_numbers.values[: len(mask)], list(written))
    if filters.exclude_texts:
        mask = mask & ~_with_facts(index, catalog.mask_with_texts(filters.exclude_texts))
    if filters.since is not None:
        mask = mask & catalog.times.mask_told_since(filters.since)
    for names, find in (
        (filters.source, fields_.source_mask),
        (filters.speaker, fields_.speaker_mask),
        (filters.conversation, fields_.conversation_mask),
    ):
        if names is not None:
            matching = find(names)
            facts = index.links.facts_derived_from(catalog.memories_of_rows(matching), position)
            mask = mask & (matching | catalog.rows_of_memories(facts))
    if filters.min_trust is not None:
        mask = mask & catalog.attributes.mask_with_min_trust(filters.min_trust)
    if filters.without is not None:
        mask = mask & ~index.rows_from_sources(filters.without, position)
    if filters.meta is not None and mask.any():
        mask = mask & fields_.metadata_mask(filters.meta, mask, lambda some: [m.meta for m in index.memories(some)])
    return mask


def _with_facts(index: Index, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """These rows, and the facts that `remember` found in them."""
    catalog = index.catalog
    facts = np.zeros(len(catalog.ids), np.bool_)
    for source in np.flatnonzero(catalog.memories_of_rows(rows)).tolist():
        facts[[index.require_number(fact) for fact in index.journal.facts_found_in(catalog.ids[source])]] = True
    return rows | catalog.rows_of_memories(facts)


def row_filter(options: FilterOptions, now: datetime, trust: TrustRules) -> RowFilter:
    """The filter that a caller describes, checked. `trust` are the levels of the space."""
    speakers = inputs.check_names(options.speaker, "speaker")
    return RowFilter(
        kinds=inputs.check_kinds(options.kinds),
        tags=inputs.check_tags(options.tags),
        source=inputs.check_names(options.source, "source"),
        # "user" is the name of a role: turns with it have the speaker "me".
        speaker=None
        if speakers is None
        else tuple(speaker_name(speaker_text) or speaker_text for speaker_text in speakers),
        conversation=inputs.check_names(options.conversation, "conversation"),
        meta=None if options.meta is None or options.meta == {} else check_filter(options.meta),
        informative_only=inputs.check_flag(options.informative_only, "informative_only") or None,
        facts_only=inputs.check_flag(options.facts_only, "facts_only") or None,
        exclude_texts=inputs.check_names(options.exclude_texts, "exclude_texts"),
        since=None if options.since is None else parse_moment(options.since, now, argument="since"),
        min_trust=None if options.min_trust is None else trust.level(options.min_trust, "min_trust"),
        without=inputs.check_names(options.without, "without"),
    )

"""Claims that an event ends: "Ana left IBM" ends "works at IBM"."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from remanence.events import Invalidated, Remembered
from remanence.graph.assertions import invalidation_events
from remanence.index.index import Index
from remanence.text.claims.predicates import STATES_ENDED_BY_EVENT, claims_ended_by

BY = "rules"


def ends_claims(version: Remembered) -> bool:
    """Whether a version may end claims of other memories."""
    return any(triple.predicate in STATES_ENDED_BY_EVENT for triple in version.triples)


def ending_events(index: Index, versions: Iterable[tuple[Remembered, datetime]]) -> list[Invalidated]:
    """The events that end the claims which these versions say are over.

    Each version comes with the moment when it is recorded. A version ends no claim of a more trusted memory, and none
    if its source is in quarantine. Use it with the lock of the index.
    """
    events: dict[str, Invalidated] = {}
    for version, recorded_at in versions:
        if index.journal.is_quarantined(version):
            continue
        snapshot = index.snapshot(index.catalog.position, recorded_at)
        begins = version.valid.start if version.valid.start is not None else recorded_at
        until = min(begins, recorded_at)
        for claim in claims_ended_by(version.triples):
            for event in invalidation_events(index, snapshot, claim, until, version.text, BY):
                if version.trust >= index.relations.trust_of_edge(event.edge):
                    events[event.edge] = event
    return list(events.values())

"""What changed between two moments of learning, and which recorded recalls returned what has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import takewhile

import numpy as np

from remanence.events import Linked, Served
from remanence.graph.history import HistoryEvent, HistoryReader, version_row
from remanence.index.index import Index
from remanence.index.numbers import Position, Row
from remanence.ports import Ledger
from remanence.recall.receipts import Exposure, Receipt
from remanence.recall.validity.current import unexpired_current_mask
from remanence.recall.validity.superseded import is_current_row, replacement_row
from remanence.schema import Link, Memory, Relation, Snapshot


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes of a space between two moments, each list in ledger order.

    Memories and edges are as they were at the later moment. What was learned and forgotten again in between is in
    both lists.

    Attributes:
        revised: Older memories that got a new version.
        superseded: Memories that another one has replaced.
        forgotten: Memories that were forgotten.
        restored: Memories that were restored.
        expired: Memories that `upkeep.expire` recorded as expired.
        erased: The ids of erased memories; their text is deleted.
        invalidated: Relations and links that were invalidated.
        entity_events: Entities that were registered, renamed, merged or split, and what was undone.
    """

    learned: tuple[Memory, ...] = ()
    revised: tuple[Memory, ...] = ()
    superseded: tuple[Memory, ...] = ()
    forgotten: tuple[Memory, ...] = ()
    restored: tuple[Memory, ...] = ()
    expired: tuple[Memory, ...] = ()
    erased: tuple[str, ...] = ()
    related: tuple[Relation, ...] = ()
    linked: tuple[Link, ...] = ()
    invalidated: tuple[Relation | Link, ...] = ()
    entity_events: tuple[HistoryEvent, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))

    def __str__(self) -> str:
        counts = ((len(getattr(self, field.name)), field.name) for field in fields(self))
        return ", ".join(f"{count} {name}" for count, name in counts if count) or "nothing changed"


class DiffReader:
    """What one snapshot has that an earlier one of the same space does not. Use it with the lock of the index."""

    def __init__(self, index: Index, ledger: Ledger, before: Snapshot, after: Snapshot) -> None:
        self._index, self._before, self._after = index, before, after
        self._history = HistoryReader(index, after)
        following = ledger.read(index.space, after=before.position)
        self._entries = list(takewhile(lambda entry: entry.position <= after.position, following))

    def diff(self) -> Diff:
        remembered, links, relations = self._subjects("remembered"), self._index.links, self._index.relations
        known = {memory_id for memory_id in remembered if self._row(memory_id, self._before) is not None}
        linked = (links.get(link, self._after) for link in self._subjects("linked"))
        ended = self._subjects("invalidated")
        invalidated = (links.get(edge, self._after) or relations.get(edge, self._after) for edge in ended)
        entity_events = map(self._history.entity_event, self._entries)
        return Diff(
            learned=self._memories(memory_id for memory_id in remembered if memory_id not in known),
            revised=self._memories(memory_id for memory_id in remembered if memory_id in known),
            superseded=self._superseded(remembered),
            forgotten=self._memories(self._subjects("forgotten")),
            restored=self._memories(self._subjects("restored")),
            expired=self._memories(self._subjects("expired")),
            erased=tuple(self._subjects("erased")),
            related=tuple({relation.id: relation for relation in self._related(remembered)}.values()),
            # Each once: several statements may be of one link.
            linked=tuple({link.id: link for link in linked if link is not None}.values()),
            invalidated=tuple({edge.id: edge for edge in invalidated if edge is not None}.values()),
            entity_events=tuple(event for event in entity_events if event is not None),
        )

    def _subjects(self, kind: str) -> list[str]:
        return list(dict.fromkeys(entry.subject for entry in self._entries if entry.kind == kind))

    def _memories(self, ids: Iterable[str]) -> tuple[Memory, ...]:
        """These memories as they were at the later moment, without the erased ones."""
        rows = (self._row(memory_id, self._after) for memory_id in ids)
        return tuple(self._index.memories([row for row in rows if row is not None]))

    def _row(self, memory_id: str, snapshot: Snapshot) -> Row | None:
        return version_row(self._index, self._index.catalog.number(memory_id), snapshot.position)

    def _superseded(self, remembered: Iterable[str]) -> tuple[Memory, ...]:
        """The memories that something learned in between has replaced."""
        linked = (entry.event for entry in self._entries if isinstance(entry.event, Linked))
        rows = [self._row(event.target, self._after) for event in linked if event.kind == "supersedes"]
        for memory_id in remembered:
            row = self._row(memory_id, self._after)
            if row is not None:
                rows += [row, *(other for other, _, _ in self._index.relations.disagreements(row, self._after))]
        candidates = dict.fromkeys(row for row in rows if row is not None)
        return tuple(self._index.memories([row for row in candidates if self._became_superseded(row)]))

    def _became_superseded(self, row: Row) -> bool:
        before, after = (
            snapshot.row_mask[row] and not is_current_row(self._index, row, snapshot)
            for snapshot in (self._before, self._after)
        )
        return bool(after and not before)

    def _related(self, remembered: Iterable[str]) -> Iterator[Relation]:
        """Relations that were stated for the first time, by a caller or by a memory."""
        stated = (self._index.relations.get(relation, self._after) for relation in self._subjects("related"))
        yield from (relation for relation in stated if relation is not None)
        for memory_id in remembered:
            number = self._index.catalog.number(memory_id)
            claimed = [] if number is None else self._history.evidenced_relations(number, self._after)
            yield from (relation for relation in claimed if relation.recorded_at > self._before.now)


def exposures(index: Index, ledger: Ledger, memory_id: str, snapshot: Snapshot) -> list[Exposure]:
    """The recorded recalls that returned a memory which was current then and is not now: it was revised,
    superseded or forgotten, or has expired. Call it with the lock of the index."""
    number = index.require_unerased(memory_id)
    positions = [
        recall_position
        for recall_position in index.journal.recall_positions.get(memory_id, ())
        if recall_position <= snapshot.position
    ]
    exposures: list[Exposure] = []
    for _, entry in sorted(ledger.entries_at(positions).items()):
        if not isinstance(entry.event, Served):
            continue
        receipt = Receipt.from_dict(entry.event.asked)
        asked_at = Position(receipt.position)
        row = index.catalog.row_at(number, asked_at)
        if row is None or _is_current(index, row, snapshot):
            continue
        if _is_current(index, row, index.snapshot(asked_at, receipt.now)):
            later = replacement_row(index, row, snapshot) if snapshot.memory_mask[number] else None
            memory, *replacement = index.memories([row] if later is None else [row, later])
            exposures.append(Exposure(receipt, entry.at, memory, replacement[0] if replacement else None))
    return exposures


def _is_current(index: Index, row: Row, snapshot: Snapshot) -> bool:
    """Whether a row is visible and not expired, and nothing has replaced it."""
    return bool(snapshot.row_mask[row] and unexpired_current_mask(index, np.array([row]), snapshot)[0])

"""What changed between two moments of learning, read from the lines between them and no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import takewhile

from remanence.core.index import Index
from remanence.events import Invalidated, Linked, Related
from remanence.graph.history import HistoryReader
from remanence.graph.history_events import HistoryEvent
from remanence.ports import Ledger
from remanence.read.supersession import is_current_row
from remanence.schema import Entry, Link, Memory, Relation, Snapshot


@dataclass(frozen=True, slots=True)
class Diff:
    """What was learned of a space between two moments, each list in order.

    `learned` are new memories, `revised` older ones in a new version, `superseded` those that another one
    has taken the place of, `expired` those that a sweep found to be over. `erased` holds ids: the words are
    gone. `related` and `linked` are new edges, `invalidated` those that were ended by hand, `named` is what
    happened to entities. Memories and edges are as they stood at the later moment; what was learned and
    forgotten again in between stands in both lists.
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
        return any(getattr(self, each.name) for each in fields(self))

    def __str__(self) -> str:
        counts = ((len(getattr(self, each.name)), each.name) for each in fields(self))
        return ", ".join(f"{count} {name}" for count, name in counts if count) or "nothing changed"


def difference(index: Index, ledger: Ledger, before: Snapshot, after: Snapshot) -> Diff:
    """What one sight knows that an earlier one of the same space did not. Under the lock of the index."""
    return _Between(index, ledger, before, after).diff()


class _Between:
    def __init__(self, index: Index, ledger: Ledger, before: Snapshot, after: Snapshot) -> None:
        self._index, self._before, self._after = index, before, after
        self._chronicle = HistoryReader(index, ledger, after)
        lines = ledger.read(index.space, after=before.position)
        self._entries = list(takewhile(lambda entry: entry.position <= after.position, lines))

    def diff(self) -> Diff:
        """Everything, sorted into its lists."""
        told = self._subjects("remembered")
        known = {memory_id: self._row(memory_id, self._before) is not None for memory_id in told}
        return Diff(
            learned=self._memories(memory_id for memory_id in told if not known[memory_id]),
            revised=self._memories(memory_id for memory_id in told if known[memory_id]),
            superseded=self._superseded(told),
            forgotten=self._memories(self._subjects("forgotten")),
            restored=self._memories(self._subjects("restored")),
            expired=self._memories(self._subjects("expired")),
            erased=tuple(self._subjects("erased")),
            related=tuple({relation.id: relation for relation in self._related(told)}.values()),
            linked=tuple(self._linked()),
            invalidated=tuple(self._invalidated()),
            entity_events=tuple(h for entry in self._entries if (h := self._chronicle.entity_event(entry)) is not None),
        )

    def _subjects(self, kind: str) -> list[str]:
        return list(dict.fromkeys(entry.subject for entry in self._entries if entry.kind == kind))

    def _memories(self, ids: Iterable[str]) -> tuple[Memory, ...]:
        """These memories as they stood at the later moment, but for those whose words are gone."""
        rows = (self._row(memory_id, self._after) for memory_id in ids)
        return tuple(self._index.memories([row for row in rows if row is not None]))

    def _row(self, memory_id: str, sight: Snapshot) -> int | None:
        number = self._index.catalog.number(memory_id)
        if number is None or self._index.catalog.is_erased(number):
            return None
        return self._index.catalog.row_at(number, sight.position)

    def _superseded(self, told: Iterable[str]) -> tuple[Memory, ...]:
        """Those that something said in between has taken the place of."""
        linked = (entry.event for entry in self._entries if isinstance(entry.event, Linked))
        rows = [self._row(event.target, self._after) for event in linked if event.kind == "supersedes"]
        for memory_id in told:
            row = self._row(memory_id, self._after)
            if row is not None:
                rows += [row, *(other for other, _, _ in self._index.relations.disagreements(row, self._after))]
        found = dict.fromkeys(row for row in rows if row is not None)
        return tuple(self._index.memories([row for row in found if self._steps_back(row)]))

    def _steps_back(self, row: int) -> bool:
        return (
            bool(self._after.row_mask[row])
            and not is_current_row(self._index, row, self._after)
            and not (self._before.row_mask[row] and not is_current_row(self._index, row, self._before))
        )

    def _related(self, told: Iterable[str]) -> Iterator[Relation]:
        """Relations that were said for the first time, outright or by a memory."""
        for entry in self._of(Related):
            relation = self._index.relations.get(entry.subject, self._after)
            if relation is not None:
                yield relation
        for memory_id in told:
            number = self._index.catalog.number(memory_id)
            claimed = [] if number is None else self._chronicle.evidenced_relations(number, self._after)
            yield from (relation for relation in claimed if relation.recorded_at > self._before.now)

    def _linked(self) -> Iterator[Link]:
        found = (self._index.links.get(entry.subject, self._after) for entry in self._of(Linked))
        return (link for link in found if link is not None)

    def _invalidated(self) -> Iterator[Relation | Link]:
        for entry in self._of(Invalidated):
            ended = self._index.links.get(entry.subject, self._after)
            edge = ended or self._index.relations.get(entry.subject, self._after)
            if edge is not None:
                yield edge

    def _of(self, event: type) -> Iterator[Entry]:
        return (entry for entry in self._entries if isinstance(entry.event, event))

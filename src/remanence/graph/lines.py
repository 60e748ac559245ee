"""Where the ledger of a space speaks of what, beside the versions of memories, which the catalog knows.

Told once per process, when the first story of a space is asked for, and then kept up: only positions are
held, so words that are erased are nowhere here.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from remanence.events import Event, Extracted, Invalidated, Linked, Related, Served
from remanence.index import Index
from remanence.ports import Ledger
from remanence.text import normal_name

_PASSED_OVER = ("remembered", "queued", "worked", "declared")


class Lines:
    """Ledger positions by the memories and edges they are about, and by the names in relations."""

    def __init__(self) -> None:
        self._position = 0
        self._about: dict[str, list[int]] = {}
        self._related: dict[str, list[int]] = {}
        self._resting: dict[str, tuple[str, ...]] = {}  # of each edge, the memories that it is about

    def catch_up(self, ledger: Ledger, space: str) -> None:
        """Take in what was written since."""
        for entry in ledger.read(space, after=self._position):
            self._position = entry.position
            if entry.kind not in _PASSED_OVER:
                for subject in dict.fromkeys((entry.subject, *self._also_about(entry.event))):
                    self._about.setdefault(subject, []).append(entry.position)
            if isinstance(entry.event, Related):
                for name in {normal_name(entry.event.subject), normal_name(entry.event.object)}:
                    self._related.setdefault(name, []).append(entry.position)

    def about(self, subject: str) -> list[int]:
        """The lines about the memory or the edge with this id, oldest first."""
        return self._about.get(subject, [])

    def relating(self, names: Iterable[str]) -> list[int]:
        """The lines that say outright that something with one of these names is related to something."""
        return sorted({line for name in names for line in self._related.get(normal_name(name), ())})

    def _also_about(self, event: Event | None) -> tuple[str, ...]:
        """The memories that a line is about beside what it says it is about."""
        if isinstance(event, Linked):
            return self._resting.setdefault(event.link, (event.source, event.target))
        if isinstance(event, Related):
            return self._resting.setdefault(event.relation, event.evidence) if event.evidence else ()
        if isinstance(event, Invalidated):
            # An edge that a memory claims has its id from it.
            own = event.edge.rpartition(":")[0]
            return self._resting.get(event.edge, (own,) if own else ())
        if isinstance(event, Extracted):
            return event.facts
        return event.memories if isinstance(event, Served) else ()


_TOLD: WeakKeyDictionary[Index, Lines] = WeakKeyDictionary()


def lines_of(index: Index, ledger: Ledger) -> Lines:
    """The lines of an index's space, caught up. Use it under the lock of the index."""
    lines = _TOLD.setdefault(index, Lines())
    lines.catch_up(ledger, index.space)
    return lines

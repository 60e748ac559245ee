"""Which memories are tied together already: nothing is tied twice."""

from __future__ import annotations

from collections.abc import Iterable

from remanence.core.index import Index
from remanence.schema import Link, Snapshot
from remanence.upkeep.scored_memories import StalePlan


class ExistingLinks:
    """Whether two memories are tied, by whatever link that holds."""

    def __init__(self, index: Index, snapshot: Snapshot) -> None:
        self._index, self._sight = index, snapshot
        self._beside: dict[str, set[str]] = {}

    def __call__(self, a: str, b: str) -> bool:
        return b in self._of(a)

    def check_unlinked(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Refuse a plan to tie these if two of them are tied by now."""
        for a, b in pairs:
            if self(a, b):
                raise StalePlan(f"memories {a!r} and {b!r} were tied together")

    def _of(self, memory: str) -> set[str]:
        if memory not in self._beside:
            with self._index.lock:
                number = self._index.catalog.number(memory)
                links = [] if number is None else self._links(number)
            self._beside[memory] = {end for link in links for end in (link.source, link.target)}
        return self._beside[memory]

    def _links(self, number: int) -> list[Link]:
        return self._index.links.links_of(number, self._sight, at=self._sight.now)

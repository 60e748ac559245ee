"""Ties between memories: who drew them, when they hold, and which memories they put another in place of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from remanence.events import Invalidated, Linked
from remanence.schema import (
    LINK_KINDS,
    OPEN_END,
    Entry,
    Link,
    LinkKind,
    Snapshot,
    from_micros,
    micros,
    window_from_micros,
    window_to_micros,
)
from remanence.state.adjacency import Adjacency
from remanence.state.catalog import Catalog
from remanence.state.columns import Column, pack, unpack

SUPERSEDES = LINK_KINDS.index("supersedes")


class Links:
    """The links of one space, by number, in the order they were drawn.

    A link stands in a sight that knows its line and shows both its memories.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        # Edges run from source to target; of each: kind, start, end, recorded, position.
        self._ties = Adjacency()
        self._facts = Column(np.int64, width=5)
        self._confidence = Column(np.float64)
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._words: list[tuple[str | None, str | None]] = []  # of each link: who drew it, and why
        self._until: dict[int, list[tuple[int, int]]] = {}  # of each ended link: from which line, until when
        self._looked: tuple[Snapshot, NDArray[np.bool_]] | None = None  # who was superseded in the last sight
        self._circular = False  # whether memories supersede each other in a circle

    def links_of(
        self,
        memory: int,
        sight: Snapshot,
        *,
        kinds: Collection[str] | None = None,
        direction: Literal["out", "in", "both"] = "both",
        at: datetime | None = None,
    ) -> list[Link]:
        """The links of a memory, in the order they were drawn; with `at`, those that hold then."""
        out: list[Link] = []
        for number in self._ties.edges_of(memory):
            source, target = self._ties.endpoints[number].tolist()
            if (direction == "out" and source != memory) or (direction == "in" and target != memory):
                continue
            link = self._link(number, sight)
            if link is not None and (kinds is None or link.kind in kinds) and (at is None or at in link.valid):
                out.append(link)
        return out

    def get(self, link_id: str, sight: Snapshot) -> Link | None:
        """The link with this id as this sight knows it; None if it knows of none."""
        number = self._numbers.get(link_id)
        return None if number is None else self._link(number, sight)

    def count(self, sight: Snapshot) -> int:
        """How many links stand, whenever they hold."""
        known = np.flatnonzero(self._facts.values[:, 4] <= sight.position)
        ends = self._ties.endpoints[known]
        ends = ends[np.all(ends < len(sight.memory_mask), axis=1)]
        return int(np.count_nonzero(np.all(sight.memory_mask[ends], axis=1)))

    def superseded_mask(self, sight: Snapshot) -> NDArray[np.bool_]:
        """The memories, by number, that another one has taken the place of by now.

        Where memories supersede each other in a circle, the link that was drawn last is believed.
        """
        if self._looked is None or self._looked[0] is not sight:  # a recall asks for each of its hits
            out = np.zeros(len(sight.memory_mask), np.bool_)
            if self._ids:
                ends = self._ties.endpoints[self._standing(SUPERSEDES, sight)]
                out[(_uncircled(ends) if self._circular else ends)[:, 1]] = True
            self._looked = sight, out
        return self._looked[1]

    def contradicting(self, memory: int, sight: Snapshot) -> list[int]:
        """The memories, by number, that contradict this one, or that it contradicts, now."""
        found = self.links_of(memory, sight, kinds=("contradicts",), at=sight.now)
        numbers = (self._catalog.number(end) for link in found for end in (link.source, link.target))
        return list(dict.fromkeys(n for n in numbers if n is not None and n != memory))

    def ever_linked(self, memory: int, kind: LinkKind, direction: Literal["out", "in"]) -> list[int]:
        """The memories at the other end of every link of a kind that was ever drawn, whoever may see it."""
        edges = np.array(self._ties.edges_of(memory), np.int64)
        edges = edges[self._facts.values[edges, 0] == LINK_KINDS.index(kind)]
        ends = self._ties.endpoints[edges] if direction == "out" else self._ties.endpoints[edges, ::-1]
        return list(dict.fromkeys(ends[ends[:, 0] == memory, 1].tolist()))

    def has_links(self, memory: int) -> bool:
        """Whether a link was ever drawn from or to a memory."""
        return bool(self._ids) and bool(self._ties.edges_of(memory))

    def positions_of_memory(self, memory: int) -> list[int]:
        """The ledger lines that draw a link from or to a memory."""
        lines: list[int] = self._facts.values[self._ties.edges_of(memory), 4].tolist()
        return lines

    def edge_ids(self, memory: int) -> list[str]:
        """The ids of the links that were ever drawn from or to a memory."""
        return [self._ids[number] for number in self._ties.edges_of(memory)]

    def positions_of_edge(self, link_id: str) -> list[int]:
        """The ledger lines that draw a link and that end it."""
        number = self._numbers.get(link_id)
        if number is None:
            return []
        return [int(self._facts.values[number, 4]), *(line for line, _ in self._until.get(number, ()))]

    def find_duplicate(self, link: Linked, sight: Snapshot) -> str | None:
        """The id of a link that was drawn in the very same words, and was not ended since."""
        source = self._catalog.number(link.source)
        for drawn in [] if source is None else self.links_of(source, sight, kinds=(link.kind,), direction="out"):
            same = (drawn.target, drawn.valid, drawn.confidence, drawn.observed_by, drawn.why)
            if same == (link.target, link.valid, link.confidence, link.observed_by, link.why):
                return drawn.id
        return None

    # Taking in

    def apply_entry(self, entry: Entry) -> None:
        """Take in a line that is not a version of a memory."""
        event = entry.event
        if isinstance(event, Linked):
            source, target = self._catalog.number(event.source), self._catalog.number(event.target)
            if source is not None and target is not None:
                self._draw(source, target, event, entry)
        elif isinstance(event, Invalidated) and event.edge in self._numbers:
            ended = self._until.setdefault(self._numbers[event.edge], [])
            ended.append((entry.position, micros(event.until)))

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The links as plain arrays."""
        words = {"ids": self._ids, "words": self._words, "until": list(self._until.items())}
        return {
            "words": pack({**words, "circular": self._circular}),
            "ends": self._ties.endpoints,
            "facts": self._facts.values,
            "confidence": self._confidence.values,
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the links that `save` wrote."""
        words = unpack(arrays["words"])
        self._ids, self._circular = words["ids"], words["circular"]
        self._numbers = {link_id: number for number, link_id in enumerate(self._ids)}
        self._words = [(observer, why) for observer, why in words["words"]]
        self._until = {link: [(line, until) for line, until in ended] for link, ended in words["until"]}
        self._ties = Adjacency(arrays["ends"])
        self._facts = Column(np.int64, arrays["facts"])
        self._confidence = Column(np.float64, arrays["confidence"])

    # Helpers

    def _draw(self, source: int, target: int, event: Linked, entry: Entry) -> None:
        kind = LINK_KINDS.index(event.kind)
        if kind == SUPERSEDES and not self._circular:
            self._circular = self._leads(target, source)
        self._numbers[event.link] = len(self._ids)
        self._ids.append(event.link)
        self._words.append((event.observed_by, event.why))
        self._ties.extend([(source, target)])
        self._facts.append((kind, *window_to_micros(event.valid), micros(entry.at), entry.position))
        self._confidence.append(event.confidence)

    def _leads(self, start: int, goal: int) -> bool:
        """Whether one memory supersedes another, directly or through others, by any link ever drawn."""
        waiting, met = [start], {start}
        while waiting:
            memory = waiting.pop()
            if memory == goal:
                return True
            edges = self._ties.edges_of(memory)
            kinds = self._facts.values[edges, 0] == SUPERSEDES
            ends = self._ties.endpoints[edges][kinds]
            below = ends[ends[:, 0] == memory, 1].tolist()
            waiting += [other for other in below if other not in met]
            met.update(below)
        return False

    def _standing(self, kind: int, sight: Snapshot) -> NDArray[np.int64]:
        """The links of one kind that stand and hold now."""
        facts, now = self._facts.values, micros(sight.now)
        holds = (facts[:, 0] == kind) & (facts[:, 4] <= sight.position)
        holds &= (facts[:, 1] <= now) & (now < facts[:, 2])
        links = np.flatnonzero(holds)
        ends = self._ties.endpoints[links]
        links = links[np.all(ends < len(sight.memory_mask), axis=1)]
        links = links[np.all(sight.memory_mask[self._ties.endpoints[links]], axis=1)]
        ended = [link for link in self._until if self._ended(link, sight.position) <= now]
        return links[~np.isin(links, ended)]

    def _ended(self, link: int, position: int) -> int:
        ended = self._until.get(link, ())
        return min((until for line, until in ended if line <= position), default=OPEN_END)

    def _link(self, number: int, sight: Snapshot) -> Link | None:
        """One link, if it stands."""
        kind, start, end, recorded, position = self._facts.values[number].tolist()
        ends = self._ties.endpoints[number]
        if position > sight.position or not all(m < len(sight.memory_mask) and sight.memory_mask[m] for m in ends):
            return None
        end = min(end, self._ended(number, sight.position))
        observer, why = self._words[number]
        return Link(
            id=self._ids[number],
            source=self._catalog.ids[ends[0]],
            kind=LINK_KINDS[kind],
            target=self._catalog.ids[ends[1]],
            valid=window_from_micros(start, end),
            recorded_at=from_micros(recorded),
            confidence=float(self._confidence.values[number]),
            observed_by=observer,
            why=why,
        )


def _uncircled(ends: NDArray[np.int32]) -> NDArray[np.int32]:
    """These edges, in the order they were drawn, without those that close a circle with later ones."""
    import igraph

    if not len(ends):
        return ends
    graph = igraph.Graph(n=int(ends.max()) + 1, edges=np.ascontiguousarray(ends), directed=True)
    parts = np.array(graph.connected_components(mode="strong").membership)
    circled = np.flatnonzero(parts[ends[:, 0]] == parts[ends[:, 1]])
    below: dict[int, list[int]] = {}
    dropped: list[int] = []
    for edge in circled[::-1].tolist():
        source, target = ends[edge].tolist()
        waiting, met = [target], {target}
        while waiting and source not in met:
            further = [m for m in below.get(waiting.pop(), ()) if m not in met]
            waiting += further
            met.update(further)
        if source in met:
            dropped.append(edge)
        else:
            below.setdefault(source, []).append(target)
    return np.delete(ends, dropped, axis=0)

"""Every claim about two entities, as it was made: by a version of a memory, or outright by somebody.

A claim never changes. Whether a view knows it depends on what it rests on: one that a memory makes is
there while that version stands; one that was made outright from its line on, and if it has evidence only
while some of that is shown. So forgetting a memory takes along what it alone supports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.events import Invalidated, Related, Remembered
from remanence.language.text import normalize_name
from remanence.schema import OPEN_END, OPEN_START, Entry, Snapshot, micros, window_to_micros
from remanence.state.adjacency import Adjacency
from remanence.state.catalog import Catalog
from remanence.state.columns import Column, pack, unpack
from remanence.state.names import Names
from remanence.state.predicates import Predicates, is_state, normalize_predicate, resulting_states

_DAY = 86_400 * 1_000_000
_SOURCE = 6
_AT_ONCE = 256


class StatedClaim(NamedTuple):
    """One claim as it was made: names, predicate and sayer by number, times in microseconds.

    `source` is the row that makes it, or if negative, which of the claims made outright it is.
    """

    number: int
    subject: int
    object: int
    predicate: int
    start: int
    end: int
    recorded_at: int
    source: int
    attribution: int


class Claims:
    """The claims of one space, by number, in the order they were made."""

    def __init__(self, names: Names, predicates: Predicates, catalog: Catalog) -> None:
        self._names, self._predicates, self._catalog = names, predicates, catalog
        # Edges run from subject to object; of each, as it is read in one go, what `Said` holds.
        self._ties = Adjacency()
        self._facts = Column(np.int64, width=8)
        self._of_row = Column(np.int64, width=2)  # of each row: its first claim, and how many
        # Of each claim made outright: its line, and of those that have some its evidence, by number.
        self._lines: list[int] = []
        self._evidence: dict[int, tuple[int, ...]] = {}
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._sayers: list[tuple[str | None, float]] = []  # who says so, and how sure they are
        self._sayer_numbers: dict[tuple[str | None, float], int] = {}
        self._until: dict[int, list[tuple[int, int]]] = {}  # of each ended claim: from which line, until when

    def __len__(self) -> int:
        return len(self._facts)

    # Looking

    def with_name(self, name: int) -> list[int]:
        """The claims with this name on either side, oldest first, whoever may see them."""
        return self._ties.edges_of(name)

    def name_numbers(self) -> list[int]:
        """The names that a claim has on either side."""
        named: list[int] = np.unique(self._ties.endpoints).tolist()
        return named

    def asserted_names(self, sight: Snapshot) -> set[int]:
        """The names in standing claims that were made outright, not by a memory."""
        facts = self._facts.values
        made = facts[facts[:, _SOURCE] < 0]
        stands = np.array(self._lines, np.int64)[~made[:, _SOURCE]] <= sight.position
        for place in np.flatnonzero(np.isin(~made[:, _SOURCE], list(self._evidence))).tolist():
            stands[place] = self._stands(int(made[place, _SOURCE]), sight)
        return set(made[stands, :2].ravel().tolist())

    def is_asserted(self, name: int, sight: Snapshot) -> bool:
        """Whether a standing claim with this name was made outright, not by a memory."""
        return any(said.source < 0 for said in self.active_claims(self.with_name(name), sight))

    def claims_of_row(self, row: int) -> range:
        """The claims that a row makes."""
        if row >= len(self._of_row):
            return range(0)
        first, count = self._of_row.values[row].tolist()
        return range(first, first + count)

    def active_claims(
        self, claims: Sequence[int], sight: Snapshot, predicates: Collection[int] | None = None
    ) -> Iterator[StatedClaim]:
        """Those of these claims that stand in this sight, perhaps only those with some predicates."""
        if not claims:
            return
        for number, fact in zip(claims, self._facts.values[list(claims)].tolist(), strict=True):
            if (predicates is None or fact[2] in predicates) and self._stands(fact[_SOURCE], sight):
                yield StatedClaim(number, *fact)

    def newest_active(
        self, claims: Sequence[int], sight: Snapshot, predicates: Collection[int] | None, limit: int
    ) -> tuple[list[StatedClaim], bool]:
        """The newest of these claims that stand in this sight, oldest first; and whether there are more."""
        found: list[StatedClaim] = []
        for end in range(len(claims), 0, -_AT_ONCE):
            some = claims[max(0, end - _AT_ONCE) : end]
            for said in reversed(list(self.active_claims(some, sight, predicates))):
                if len(found) == limit:
                    return found[::-1], True
                found.append(said)
        return found[::-1], False

    def count(self, sight: Snapshot) -> int:
        """How many different things are claimed in this sight."""
        facts = self._facts.values.tolist()
        return len({tuple(fact[:3]) for fact in facts if self._stands(fact[_SOURCE], sight)})

    def supported_by_rows(self, rows: Collection[int]) -> dict[int, list[int]]:
        """The claims that rest on each of these rows: those it makes, and those made outright with its
        memory for evidence."""
        found = {row: list(self.claims_of_row(row)) for row in rows}
        by_memory = {self._catalog.memory_of(row): row for row in rows}
        for made, memories in self._evidence.items():
            for memory in memories:
                if memory in by_memory:
                    found[by_memory[memory]].append(self._numbers[self._ids[made]])
        return found

    def attribution(self, number: int) -> tuple[str | None, float]:
        """Who says so, and how sure they are."""
        return self._sayers[number]

    def ended_at(self, claim: int, position: int) -> int:
        """When a claim was ended, as far as is known at a position."""
        ended = self._until.get(claim)
        if ended is None:
            return OPEN_END
        return min((until for line, until in ended if line <= position), default=OPEN_END)

    def matching_assertions(self, subject: int, claim: Related, sight: Snapshot) -> Iterator[StatedClaim]:
        """The standing claims at a name that were made outright as this one is, whatever their object."""
        predicate = self._predicates.number(normalize_predicate(claim.predicate))
        evidence = {self._catalog.number(memory_id) for memory_id in claim.evidence}
        for said in [] if predicate is None else self.active_claims(self.with_name(subject), sight, [predicate]):
            if (
                said.source < 0
                and (said.subject, said.start, said.end) == (subject, *window_to_micros(claim.valid))
                and self._sayers[said.attribution] == (claim.observed_by, claim.confidence)
                and evidence <= set(self._shown(said.source, sight))
            ):
                yield said

    def positions_of_memory(self, memory: int) -> list[int]:
        """The ledger lines of the claims made outright that rest on this memory alone."""
        return [self._lines[made] for made, rests_on in self._evidence.items() if set(rests_on) == {memory}]

    def positions_of_edge(self, edge: str) -> list[int]:
        """The ledger lines about the claims with an id: where it was made, if outright, and where ended."""
        claims = self.with_edge_id(edge)
        sources = self._facts.values[claims, _SOURCE].tolist()
        made = [self._lines[~source] for source in sources if source < 0]
        return [*made, *(line for claim in claims for line, _ in self._until.get(claim, ()))]

    def asserted_ids(self, names: Iterable[int]) -> list[str]:
        """The ids of the claims made outright with one of these names on either side, oldest first."""
        claims = np.array(sorted({claim for name in names for claim in self.with_name(name)}), np.int64)
        sources = self._facts.values[claims, _SOURCE]
        return [self._ids[~source] for source in sources[sources < 0].tolist()]

    def evidence_rows(self, claim: int, sight: Snapshot) -> list[int]:
        """The rows that a standing claim rests on: the one that makes it, or its evidence as it stands."""
        source = int(self._facts.values[claim, _SOURCE])
        if source >= 0:
            return [source]
        rows = [self._catalog.row_at(memory, sight.position) for memory in self._shown(source, sight)]
        return [row for row in rows if row is not None]

    def edge_id(self, claim: int) -> str:
        """The id of a claim: its own, or one made of the memory's and of what it says."""
        source = int(self._facts.values[claim, _SOURCE])
        if source < 0:
            return self._ids[~source]
        return f"{self._catalog.ids[self._catalog.memory_of(source)]}:{self._digest(claim)}"

    def with_edge_id(self, edge: str) -> list[int]:
        """The claims that go by this id: one, or the same one in each version of a memory."""
        if edge in self._numbers:
            return [self._numbers[edge]]
        memory_id, _, digest = edge.rpartition(":")
        memory = self._catalog.number(memory_id)
        rows = [] if memory is None else self._catalog.rows_of(memory)
        return [claim for row in rows for claim in self.claims_of_row(row) if self._digest(claim) == digest]

    # Taking in

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in what versions numbered from row `first` claim."""
        known = len(self._of_row)
        for row, version in enumerate(versions[max(0, known - first) :], known):
            begin = len(self)
            if version is not None and version.triples:
                self._claim(row, version)
            self._of_row.append((begin, len(self) - begin))

    def apply_entry(self, entry: Entry) -> None:
        """Take in a claim made outright, or the end of one."""
        event = entry.event
        if isinstance(event, Related):
            numbers = [self._catalog.number(memory_id) for memory_id in event.evidence]
            if numbers:
                self._evidence[len(self._lines)] = tuple(-1 if n is None else n for n in numbers)
            self._lines.append(entry.position)
            self._numbers[event.relation] = len(self)
            self._ids.append(event.relation)
            ends = self._names.intern(event.subject), self._names.intern(event.object)
            predicate = self._predicates.intern(normalize_predicate(event.predicate))
            times = (*window_to_micros(event.valid), micros(entry.at))
            self._append(ends, predicate, times, ~(len(self._ids) - 1), event)
        elif isinstance(event, Invalidated):
            for claim in self.with_edge_id(event.edge):
                self._until.setdefault(claim, []).append((entry.position, micros(event.until)))

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The claims as plain arrays."""
        words = {
            "ids": self._ids,
            "sayers": self._sayers,
            "evidence": list(self._evidence.items()),
            "until": list(self._until.items()),
        }
        return {
            "claims": pack(words),
            "ends": self._ties.endpoints,
            "facts": self._facts.values,
            "of_row": self._of_row.values,
            "lines": np.array(self._lines, np.int64),
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the claims that `save` wrote."""
        words = unpack(arrays["claims"])
        self._ids, self._lines = words["ids"], arrays["lines"].tolist()
        self._sayers = [(observer, confidence) for observer, confidence in words["sayers"]]
        self._sayer_numbers = {sayer: number for number, sayer in enumerate(self._sayers)}
        self._evidence = {claim: tuple(memories) for claim, memories in words["evidence"]}
        self._until = {claim: [(line, until) for line, until in ended] for claim, ended in words["until"]}
        self._ties = Adjacency(arrays["ends"])
        self._facts = Column(np.int64, arrays["facts"])
        self._of_row = Column(np.int64, arrays["of_row"])
        outright = np.flatnonzero(self._facts.values[:, _SOURCE] < 0).tolist()
        self._numbers = dict(zip(self._ids, outright, strict=True))

    # Helpers

    def _claim(self, row: int, version: Remembered) -> None:
        """Keep what one version claims, each claim once, and the states that it says begin with it."""
        start, end = window_to_micros(version.valid)
        # An episode is dated by when it happened or was said; what it says to be so lasts from then on.
        moment = version.kind == "episode" and start != OPEN_START and end - start <= _DAY
        made: dict[tuple[int, str, int], int] = {}
        for triple in version.triples:
            subject, object_ = self._names.intern(triple.subject), self._names.intern(triple.object)
            predicate = normalize_predicate(triple.predicate)
            made[subject, predicate, object_] = OPEN_END if moment and is_state(predicate) else end
            for state in resulting_states(predicate):
                made.setdefault((subject, state, object_), OPEN_END)
        recorded = micros(self._catalog.recorded_at(row))
        before = self._before(row)
        for (subject, predicate, object_), over in made.items():
            number = self._predicates.intern(predicate)
            # A version that says again what the one before it said has not learned it anew.
            same = before.get((subject, number, object_))
            if same is not None and same in self._until:
                self._until[len(self)] = list(self._until[same])
            times = start, over, recorded if same is None else int(self._facts.values[same, 5])
            self._append((subject, object_), number, times, row, version)

    def _before(self, row: int) -> dict[tuple[int, int, int], int]:
        """What the version before this one claims."""
        earlier = [r for r in self._catalog.rows_of(self._catalog.memory_of(row)) if r < row]
        claims = self.claims_of_row(earlier[-1]) if earlier else ()
        facts = self._facts.values[list(claims), :3].tolist()
        return {(s, p, o): claim for claim, (s, o, p) in zip(claims, facts, strict=True)}

    def _append(
        self,
        ends: tuple[int, int],
        predicate: int,
        times: tuple[int, int, int],
        source: int,
        maker: Remembered | Related,
    ) -> None:
        sayer = maker.observed_by, maker.confidence
        number = self._sayer_numbers.setdefault(sayer, len(self._sayers))
        if number == len(self._sayers):
            self._sayers.append(sayer)
        self._ties.extend([ends])
        self._facts.append((*ends, predicate, *times, source, number))

    def _stands(self, source: int, sight: Snapshot) -> bool:
        if source >= 0:
            return source < len(sight.row_mask) and bool(sight.row_mask[source])
        if self._lines[~source] > sight.position:
            return False
        return ~source not in self._evidence or bool(self._shown(source, sight))

    def _shown(self, source: int, sight: Snapshot) -> list[int]:
        """The evidence, memories by number, of a claim made outright, as far as this sight shows it."""
        memories = self._evidence.get(~source, ())
        return [m for m in memories if 0 <= m < len(sight.memory_mask) and sight.memory_mask[m]]

    def _digest(self, claim: int) -> str:
        subject, object_, predicate = self._facts.values[claim, :3].tolist()
        spelled, predicates = self._names.spellings, self._predicates.names
        said = normalize_name(spelled[subject]), predicates[predicate], normalize_name(spelled[object_])
        return hashlib.blake2b("\x1f".join(said).encode(), digest_size=6).hexdigest()

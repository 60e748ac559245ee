"""Every claim about two entities, as it was made: by a version of a memory, or asserted directly.

A claim never changes. Whether a snapshot contains it depends on its source: a claim of a memory is there
while the memory is; an asserted claim from its ledger position on, and if it has evidence, only while
some of that is visible. So forgetting a memory also hides the claims that have no other evidence.

What a version claims and the next version no longer claims has held until then, if the text changed. If the text is the
same, it was extracted again, and claims of the earlier extraction alone are dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.events import Erased, Invalidated, Related, Remembered
from remanence.index.arrays.adjacency import ENDINGS, GRAPH, Adjacency, EdgeEnds
from remanence.index.arrays.codecs import DICT_CODEC, GROWING, JSON, TUPLES, Codec, SavedPart, pack, unpack
from remanence.index.arrays.columns import Column, Interner
from remanence.index.batch import Batch
from remanence.index.claims.predicates import Predicates, normalize_predicate, states_after_event
from remanence.index.names.names import Names
from remanence.index.numbers import MemoryNumber, Row
from remanence.index.versions.catalog import Catalog
from remanence.schema import MICROS_PER_DAY, OPEN_END, OPEN_START, Entry, Snapshot, Triple, micros, window_to_micros
from remanence.text.claims.predicates import EVENT_PREDICATES, is_date_predicate
from remanence.text.text import normalize_name

_PREDICATE, _START, _RECORDED_AT, _SOURCE = 2, 3, 5, 6
"""The columns of a claim that are read by number: its predicate, start, time of recording and source."""
_BATCH = 256

NumberedClaim: TypeAlias = tuple[int, int, int]


class StatedClaim(NamedTuple):
    """One claim as it was made: names, predicate and attribution by number, times in microseconds.

    `source` is the row that makes it; if negative, `~source` is the number of the assertion.
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


class Claims(SavedPart):
    """The claims of one space, by number, in the order in which they were made."""

    _saved: ClassVar = {
        "_predicates": Codec(lambda known: pack([known.values, known.declared]), lambda a: Predicates(*unpack(a))),
        "_graph": GRAPH,
        **dict.fromkeys(("_columns", "_claims_of_row"), GROWING),
        **dict.fromkeys(("_assertion_positions", "_assertion_ids", "_claim_of_id"), JSON),
        "_evidence": DICT_CODEC,
        "attributions": Codec(lambda known: pack(known.values), lambda a: Interner(TUPLES.from_array(a))),
        **dict.fromkeys(("endings", "revisions"), ENDINGS),
    }

    def __init__(self, names: Names, catalog: Catalog) -> None:
        self._names, self._catalog = names, catalog
        self._predicates = Predicates()
        self._graph = Adjacency()  # edges from subject to object
        self._columns = Column(np.int64, width=8)  # of each claim the fields of `StatedClaim` after its number
        self._claims_of_row = Column(np.int64, width=2)  # of each row: its first claim, and how many
        # Of each assertion: its ledger position, its id, and its evidence (memories by number) if it has any.
        self._assertion_positions: list[int] = []
        self._assertion_ids: list[str] = []
        self._evidence: dict[int, list[MemoryNumber]] = {}
        self._claim_of_id: dict[str, int] = {}
        self.attributions: Interner[tuple[str | None, float]] = Interner()  # observer and confidence
        self._erased: set[int] = set()  # claims that are gone when the index is rebuilt
        self._assertions_of: dict[int, list[int]] = {}  # by memory; of the first `_read_assertions` assertions
        self._read_assertions = 0
        self.endings = EdgeEnds()
        self.revisions = EdgeEnds()  # of claims that a later version of their memory no longer makes

    def __len__(self) -> int:
        return len(self._columns)

    # Reading

    def with_name(self, name: int) -> list[int]:
        """The claims with this name on either side, oldest first, visible or not."""
        return self._graph.edges_of(name)

    def name_numbers(self) -> list[int]:
        """The names that any claim is about, visible or not."""
        numbers: list[int] = np.unique(self._graph.endpoints).tolist()
        return numbers

    def asserted_names(self, snapshot: Snapshot) -> set[int]:
        asserted = np.flatnonzero(self._columns.values[:, _SOURCE] < 0).tolist()
        active = self.active_claims(asserted, snapshot)
        return {name for claim in active for name in (claim.subject, claim.object)}

    def is_asserted(self, name: int, snapshot: Snapshot) -> bool:
        return any(claim.source < 0 for claim in self.active_claims(self.with_name(name), snapshot))

    def claims_of_row(self, row: Row) -> range:
        if row >= len(self._claims_of_row):
            return range(0)
        first, count = self._claims_of_row.values[row].tolist()
        return range(first, first + count)

    def has_claims(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these rows make a claim."""
        claiming: NDArray[np.bool_] = self._claims_of_row.values[rows, 1] > 0
        return claiming

    def names_claimed(self, row: Row) -> list[tuple[str, str]]:
        """The two names of each claim of a row."""
        ends = self._columns.values[list(self.claims_of_row(row)), :2].tolist()
        return [(self._names.spellings[subject], self._names.spellings[object_]) for subject, object_ in ends]

    def active_claims(
        self, claims: Sequence[int], snapshot: Snapshot, predicates: Collection[int] | None = None
    ) -> Iterator[StatedClaim]:
        """Those of these claims that are active in this snapshot, with one of these predicates."""
        if not claims:
            return
        chosen = slice(claims.start, claims.stop) if isinstance(claims, range) else list(claims)
        for number, values in zip(claims, self._columns.values[chosen].tolist(), strict=True):
            if (predicates is None or values[_PREDICATE] in predicates) and self._is_active(
                number, values[_SOURCE], snapshot
            ):
                yield StatedClaim(number, *values)

    def newest_active(
        self, claims: Sequence[int], snapshot: Snapshot, predicates: Collection[int] | None, limit: int
    ) -> tuple[list[StatedClaim], bool]:
        """The newest `limit` of these claims that are active, oldest first; and whether there are more."""
        active: list[StatedClaim] = []
        for end in range(len(claims), 0, -_BATCH):
            batch = claims[max(0, end - _BATCH) : end]
            for claim in reversed(list(self.active_claims(batch, snapshot, predicates))):
                if len(active) == limit:
                    return active[::-1], True
                active.append(claim)
        return active[::-1], False

    def newest_subjects(self, count: int) -> tuple[list[int], int]:
        """The subjects of the newest claims, visible or not, and when the last of the other claims was recorded."""
        rows = self._columns.values
        others = rows[:-count, _RECORDED_AT]
        subjects: list[int] = np.unique(rows[-count:, 0]).tolist()
        return subjects, int(others.max()) if len(others) else OPEN_START

    def count(self, snapshot: Snapshot) -> int:
        """How many different relations are claimed in this snapshot, at whichever time they hold."""
        rows = enumerate(self._columns.values.tolist())
        return len({tuple(values[:3]) for number, values in rows if self._is_active(number, values[_SOURCE], snapshot)})

    def matching_assertions(self, subject: int, event: Related, snapshot: Snapshot) -> Iterator[StatedClaim]:
        """The active claims that were asserted as this one is, whatever their object."""
        predicate = self._predicates.number(normalize_predicate(event.predicate))
        evidence = {self._catalog.number(memory_id) for memory_id in event.evidence}
        window = window_to_micros(event.valid)
        for claim in [] if predicate is None else self.active_claims(self.with_name(subject), snapshot, [predicate]):
            if (
                claim.source < 0
                and (claim.subject, claim.start, claim.end) == (subject, *window)
                and self.attributions.values[claim.attribution] == (event.observed_by, event.confidence)
                and evidence <= set(self._visible_evidence(claim.source, snapshot))
            ):
                yield claim

    def positions_of_memories(self, memories: Set[int]) -> dict[int, int]:
        """The ledger positions of the assertions that have no evidence but these memories, each with the first."""
        sources = self._evidence.items()
        return {self._assertion_positions[n]: known[0] for n, known in sources if known and set(known) <= memories}

    def is_assertion(self, edge: str) -> bool:
        """Whether this is the id of a claim that was asserted directly, and not erased."""
        return self._claim_of_id.get(edge) not in (None, *self._erased)

    def positions_of_edge(self, edge: str) -> list[int]:
        claims = self.with_edge_id(edge)
        sources = self._columns.values[claims, _SOURCE].tolist()
        asserted = [self._assertion_positions[~source] for source in sources if source < 0]
        return [*asserted, *(position for claim in claims for position in self.endings.positions_of(claim))]

    def asserted_ids(self, names: Iterable[int]) -> list[str]:
        """The ids of the assertions with one of these names on either side, oldest first, visible or not."""
        claims = np.array(sorted({claim for name in names for claim in self.with_name(name)}), np.int64)
        sources = self._columns.values[claims, _SOURCE]
        return [self._assertion_ids[~source] for source in sources[sources < 0].tolist()]

    def claims_with_evidence(self, rows: Collection[Row]) -> dict[Row, list[int]]:
        """For each of these rows the claims it makes, and the assertions that have its memory as evidence."""
        for number in range(self._read_assertions, len(self._assertion_ids)):
            for memory in self._evidence.get(number, ()):
                self._assertions_of.setdefault(memory, []).append(number)
        self._read_assertions = len(self._assertion_ids)
        claims_by_row: dict[Row, list[int]] = {}
        for row in rows:
            asserted = self._assertions_of.get(self._catalog.memory_of(row), ())
            claims = [self._claim_of_id[self._assertion_ids[number]] for number in asserted]
            claims_by_row[row] = [*self.claims_of_row(row), *claims]
        return claims_by_row

    def evidence_rows(self, claim: int, snapshot: Snapshot) -> list[Row]:
        """The rows of this snapshot that support an active claim: the one that makes it, or its visible evidence."""
        source = self._columns.values[claim, _SOURCE].item()
        if source >= 0:
            return [source] if snapshot.row_mask[source] else []
        rows = [self._catalog.row_at(memory, snapshot.position) for memory in self._visible_evidence(source, snapshot)]
        return [row for row in rows if row is not None]

    def trust_of(self, claim: StatedClaim) -> float:
        """How far a claim is trusted: as its memory, or fully if it was asserted directly."""
        return float(self._catalog.attributes.trust[claim.source]) if claim.source >= 0 else 1.0

    def trust_of_edge(self, edge: str) -> float:
        """How far the claims with this id are trusted, at most. Rounded down: the index has single precision."""
        sources = self._columns.values[self.with_edge_id(edge), _SOURCE].tolist()
        trust = self._catalog.attributes.trust
        return max((float(trust[row]) - 1e-6 if row >= 0 else 1.0 for row in sources), default=0.0)

    def evidence_memories(self, claim: int, snapshot: Snapshot) -> list[MemoryNumber]:
        """The memories, by number, that support an active claim, in this version or an earlier one."""
        source = self._columns.values[claim, _SOURCE].item()
        return [self._catalog.memory_of(source)] if source >= 0 else self._visible_evidence(source, snapshot)

    def edge_id(self, claim: int) -> str:
        """The id of a claim: of the assertion, or else made of the memory's id and the content."""
        source: int = self._columns.values[claim, _SOURCE].item()
        if source < 0:
            return self._assertion_ids[~source]
        return f"{self._catalog.ids[self._catalog.memory_of(Row(source))]}:{self._content_digest(claim)}"

    def with_edge_id(self, edge: str) -> list[int]:
        """The claims with this id: one, or the same one in each version of a memory."""
        if edge in self._claim_of_id:
            return [self._claim_of_id[edge]]
        memory_id, _, digest = edge.rpartition(":")
        memory = self._catalog.number(memory_id)
        rows = [] if memory is None else self._catalog.rows_of(memory)
        return [claim for row in rows for claim in self.claims_of_row(row) if self._content_digest(claim) == digest]

    # Applying entries

    def apply(self, batch: Batch) -> None:
        """Add the claims of versions, or what an entry of another kind says of a claim."""
        if batch.entry is not None:
            self._apply_event(batch.entry)
        for row, version in batch.numbered():
            first_claim = len(self)
            if version is not None:
                previous = self._claims_of_previous_version(row)
                if version.triples:
                    self._add_claims_of(row, version, previous)
                self._end_revised(row, version, previous, range(first_claim, len(self)))
            self._claims_of_row.append((first_claim, len(self) - first_claim))

    def _apply_event(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, Related):
            number = len(self._assertion_ids)
            memories = [self._catalog.number(memory_id) for memory_id in event.evidence]
            if memories:
                self._evidence[number] = [MemoryNumber(-1) if memory is None else memory for memory in memories]
            self._assertion_positions.append(entry.position)
            self._assertion_ids.append(event.relation)
            self._claim_of_id[event.relation] = len(self)
            ends = self._names.intern(event.subject), self._names.intern(event.object)
            predicate = self._predicates.intern(normalize_predicate(event.predicate))
            self._append(ends, predicate, (*window_to_micros(event.valid), micros(entry.at)), ~number, event)
        elif isinstance(event, Invalidated):
            claims, until = self.with_edge_id(event.edge), micros(event.until)
            # A later version may repeat a claim: claims that began after the end stay active, unless all did.
            for claim in [claim for claim in claims if self._begin(claim) <= until] or claims:
                self.endings.add(claim, entry.position, until)
        elif isinstance(event, Erased) and self.is_assertion(event.memory):
            self._erased.add(self._claim_of_id[event.memory])

    # Helpers

    def _add_claims_of(self, row: Row, version: Remembered, previous: Mapping[NumberedClaim, int]) -> None:
        """Add the claims of one version, each once, and the states that result from them."""
        start, end = window_to_micros(version.valid)
        # An episode is dated by when it happened or was said; the states it describes last from then on.
        dated = version.kind == "episode" and start != OPEN_START and end - start <= MICROS_PER_DAY
        ends: dict[tuple[int, str, int], int] = {}
        for triple in version.triples:
            subject, object_ = self._names.intern(triple.subject), self._names.intern(triple.object)
            predicate = normalize_predicate(triple.predicate)
            lasts = is_date_predicate(predicate) or (dated and predicate not in EVENT_PREDICATES)
            ends[subject, predicate, object_] = OPEN_END if lasts else end
            for state in states_after_event(predicate):
                ends.setdefault((subject, state, object_), OPEN_END)
        # The ledger's time never goes back; what is told late, with an earlier `now` or time, was learned at that time.
        told = (version.told_at, None if version.turn is None else version.turn.at)
        moments = (self._catalog.times.recorded_at(row), *(moment for moment in told if moment is not None))
        recorded_at = min(map(micros, moments))
        for (subject, predicate, object_), claim_end in ends.items():
            number = self._predicates.intern(predicate)
            # A claim that the previous version made too was learned then, and its end still counts.
            same = previous.get((subject, number, object_))
            if same is not None:
                self.endings.copy(same, to=len(self))
            learned_at = recorded_at if same is None else int(self._columns.values[same, _RECORDED_AT])
            claim_start = OPEN_START if is_date_predicate(predicate) else start
            self._append((subject, object_), number, (claim_start, claim_end, learned_at), row, version)

    def _end_revised(
        self, row: Row, version: Remembered, previous: Mapping[NumberedClaim, int], claims: Sequence[int]
    ) -> None:
        """End what the previous version claims and this one does not, if the text changed: when this one begins."""
        earlier = self._catalog.previous_row(row) if previous else None
        if earlier is None or self._catalog.same_text(row, earlier):
            return
        current_triples = {(s, p, o) for s, o, p in self._columns.values[list(claims), :3].tolist()}
        recorded_at, (position,) = micros(self._catalog.times.recorded_at(row)), self._catalog.positions_of_rows([row])
        begins = window_to_micros(version.valid)[0]
        for claim in (previous[triple] for triple in previous.keys() - current_triples):
            in_order = self._begin(claim) < begins <= recorded_at
            self.revisions.add(claim, position, begins if in_order else recorded_at)

    def _begin(self, claim: int) -> int:
        """When a claim begins: when it was learned, if it has no date."""
        start, learned_at = self._columns.values[claim, [_START, _RECORDED_AT]].tolist()
        return int(learned_at if start == OPEN_START else start)

    def _claims_of_previous_version(self, row: Row) -> dict[NumberedClaim, int]:
        earlier = self._catalog.previous_row(row)
        if earlier is None:
            return {}
        claims = self.claims_of_row(earlier)
        values = self._columns.values[list(claims), :3].tolist()
        return {(s, p, o): claim for claim, (s, o, p) in zip(claims, values, strict=True)}

    def _append(
        self,
        ends: tuple[int, int],
        predicate: int,
        times: tuple[int, int, int],
        source: int,
        event: Remembered | Related,
    ) -> None:
        self._graph.extend([ends])
        attribution = self.attributions.intern((event.observed_by, event.confidence))
        self._columns.append((*ends, predicate, *times, source, attribution))

    def _is_active(self, claim: int, source: int, snapshot: Snapshot) -> bool:
        if source >= 0:
            if source >= len(snapshot.row_mask):
                return False
            if snapshot.row_mask[source]:  # nearly always
                return True
            revised = self.revisions.end_of(claim, snapshot.position) != OPEN_END
            return revised and bool(snapshot.memory_mask[self._catalog.memory_of(Row(source))])
        if self._assertion_positions[~source] > snapshot.position or claim in self._erased:
            return False
        return ~source not in self._evidence or bool(self._visible_evidence(source, snapshot))

    def _visible_evidence(self, source: int, snapshot: Snapshot) -> list[MemoryNumber]:
        """The evidence of an assertion, memories by number, that this snapshot contains."""
        mask = snapshot.memory_mask
        return [memory for memory in self._evidence.get(~source, ()) if 0 <= memory < len(mask) and mask[memory]]

    def _content_digest(self, claim: int) -> str:
        subject, object_, predicate = self._columns.values[claim, :3].tolist()
        spellings = self._names.spellings
        return _digest(spellings[subject], self._predicates.values[predicate], spellings[object_])


def claim_id(memory: str, claim: Triple) -> str:
    """The id of a claim that a memory makes: that of the memory, and a digest of what is claimed."""
    return f"{memory}:{_digest(claim.subject, normalize_predicate(claim.predicate), claim.object)}"


def _digest(subject: str, predicate: str, object_: str) -> str:
    text = "\x1f".join((normalize_name(subject), predicate, normalize_name(object_)))
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()

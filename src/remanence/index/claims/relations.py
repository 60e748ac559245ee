"""Relations of two entities: who states them, when they hold, and which of them are active.

`claims` stores what was stated, `predicates` the properties of predicates, `intervals` decides what holds
when, `claim_view` resolves the claims of a snapshot. Here they become `Relation` objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from remanence.events import Declared, Related
from remanence.index.batch import Batch
from remanence.index.claims.claim_view import (
    ClaimView,
    Direction,
    EntityEdge,
    NumberedTriple,
    ResolvedClaim,
    RowDisagreement,
)
from remanence.index.claims.claims import Claims
from remanence.index.claims.intervals import Interval, TimedClaim, classify_disagreement
from remanence.index.claims.predicates import normalize_predicate, states_after_event
from remanence.index.names.entity_registry import EntityRegistry
from remanence.index.names.names import Names
from remanence.index.numbers import MemoryNumber, Position, Row
from remanence.index.versions.catalog import Catalog
from remanence.schema import (
    OPEN_END,
    OPEN_START,
    UTC,
    DisagreementKind,
    RelatedName,
    Relation,
    Snapshot,
    Triple,
    Window,
    from_micros,
    micros,
    window_from_micros,
    window_to_micros,
)
from remanence.text.claims.predicates import PAST_STATE_PREDICATES

__all__ = ["Direction", "RelationIndex", "ValidPeriod"]

_MAX_RELATED = 256
"""Claims of an entity that `related_names` reads if the caller gives no limit, the newest."""
_LARGER_LIMIT = 4
"""How many times the wanted claims are resolved, if fewer than half of those resolved first hold at the time."""
_MAX_DISAGREEMENTS = 64
"""Other claims, the newest, with which one is compared: comparing all would take the square of their number."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class ValidPeriod(NamedTuple):
    """A claim, the windows in which it holds, and whether it ended or another value holds at another time."""

    claim: Triple
    windows: tuple[Window, ...]
    changed: bool


class RelationIndex(Claims):
    """The claims of one space, resolved to relations."""

    def __init__(self, names: Names, registry: EntityRegistry, catalog: Catalog) -> None:
        super().__init__(names, catalog)
        self._registry = registry
        self._last_view: ClaimView | None = None

    # Relations

    def relations_of(
        self,
        number: int,
        snapshot: Snapshot,
        *,
        at: datetime | None = None,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
        limit: int | None = None,
    ) -> list[Relation]:
        """The relations of the entity with this name, in the order in which they were first stated.

        With `at`, only those that hold then. A relation with an inverse is returned in the form that fits
        `predicates` and `direction`. With `limit`, only that many claims are read, the newest.
        """
        found, _ = self.numbered_relations_of(number, snapshot, at, predicates, direction, limit)
        return [relation for _, relation in found]

    def numbered_relations_of(
        self,
        number: int,
        snapshot: Snapshot,
        at: datetime | None,
        predicates: Iterable[str] | None,
        direction: Direction,
        limit: int | None,
    ) -> tuple[list[tuple[NumberedTriple, Relation]], bool]:
        """The same, with the numbers of the names; and whether the limit left something out.

        If few of the newest claims hold at the requested moment, older ones are read too.
        """
        view = self._view(snapshot)
        wanted = None if predicates is None else frozenset(map(normalize_predicate, predicates))
        entity = view.entity_number(number)
        resolved, more = view.resolved_claims_of(number, wanted, limit)
        matching = _matching(resolved, at, wanted, direction, entity)
        if more and limit is not None and len(matching) < limit // 2:
            resolved, more = view.resolved_claims_of(number, wanted, _LARGER_LIMIT * limit)
            matching = _matching(resolved, at, wanted, direction, entity)
            matching, more = matching[-limit:], more or len(matching) > limit
        return [(triple, self._relation(edge, triple, view)) for edge, triple in matching], more

    def numbered_relations_between(
        self, one: int, other: int, snapshot: Snapshot, at: datetime | None
    ) -> list[tuple[NumberedTriple, Relation]]:
        """The relations between two entities, with the numbers of the names; with `at`, those that hold then."""
        view = self._view(snapshot)
        found = _matching(view.resolved_between(one, other), at, None, "both", view.entity_number(one))
        return [(triple, self._relation(edge, triple, view)) for edge, triple in found]

    def timeline(self, number: int, predicate: str, snapshot: Snapshot) -> list[Relation]:
        rule = self._predicates.rule(normalize_predicate(predicate), snapshot.position)
        # For Apple, ceo_of means who led it.
        direction: Direction = "both" if rule.keyed_by_object and not rule.is_inverse else "out"
        found = self.relations_of(number, snapshot, predicates=[predicate], direction=direction)
        return sorted(found, key=lambda relation: relation.valid.start or _EARLIEST)

    def related_names(
        self, number: int, snapshot: Snapshot, times: Sequence[Window] | None = (), limit: int = _MAX_RELATED
    ) -> list[RelatedName]:
        """The relations of an entity that hold at some time in one of these windows, by default now; with None, all.
        Only the newest `limit` claims are read."""
        view, now = self._view(snapshot), micros(snapshot.now)
        windows = None if times is None else [window_to_micros(window) for window in times] or [(now, now + 1)]
        entity = view.entity_number(number)
        related: dict[tuple[int, str, bool], RelatedName] = {}
        for edge, interval, _ in view.resolved_claims_of(number, None, limit)[0]:
            if windows is None or any(interval.start < end and start < interval.end for start, end in windows):
                from_subject = edge.subject == entity
                key = edge.endpoints[from_subject], edge.rule.name, from_subject
                related[key] = RelatedName(*key, max(claim.confidence for claim in interval.claims))
        return list(related.values())

    def periods_of(self, edge_id: str, snapshot: Snapshot) -> list[Relation]:
        """The relation with this id, once for each period in which it holds in this snapshot."""
        view = self._view(snapshot)
        periods = {
            claim.interval: self._relation(claim._replace(edge=edge), edge.triple, view)
            for edge in self._edges_with_id(edge_id, view)
            for claim in view.resolved_claims(edge)
            if edge.claim in claim.interval.claims
        }
        return list(periods.values())

    def get(self, edge_id: str, snapshot: Snapshot) -> Relation | None:
        """The relation with this id in this snapshot; None if there is none.

        If it held several times, the present interval, or else the last. One that was corrected or
        withdrawn never held: its window ends where it begins.
        """
        periods = self.periods_of(edge_id, snapshot)
        if periods:
            return next((relation for relation in periods if snapshot.now in relation.valid), periods[-1])
        view = self._view(snapshot)
        for edge in self._edges_with_id(edge_id, view):
            claim = edge.claim
            moment = edge.stated_claim.recorded_at if claim.effective_start == OPEN_START else claim.effective_start
            resolved = ResolvedClaim(edge, Interval(claim.value, moment, moment, claim, (claim,)))
            return self._relation(resolved, edge.triple, view)
        return None

    def supported_by_rows(self, rows: Sequence[Row], snapshot: Snapshot) -> dict[Row, list[Relation]]:
        relations: dict[Row, list[Relation]] = {}
        for row, claims in self.claims_with_evidence(rows).items():
            found = (self.get(edge, snapshot) for edge in dict.fromkeys(map(self.edge_id, claims)))
            relations[row] = [relation for relation in found if relation is not None]
        return relations

    def equivalent_claims(self, edge_id: str, snapshot: Snapshot) -> list[tuple[str, TimedClaim]]:
        """The active claims that state the relation with this id, itself first, with their ids."""
        view = self._view(snapshot)
        for edge in self._edges_with_id(edge_id, view):
            same = sorted(view.same_statements(edge), key=lambda other: other != edge)
            return [(self.edge_id(other.claim.number), other.claim) for other in same]
        return []

    def find_duplicate(self, event: Related, snapshot: Snapshot) -> str | None:
        """The id of a relation that was asserted in the same way and still holds as asserted."""
        subject, object_ = self._names.number(event.subject), self._names.number(event.object)
        if subject is None or object_ is None:
            return None
        view, now = self._view(snapshot), micros(snapshot.now)
        for stated in self.matching_assertions(subject, event, snapshot):
            edge = view.to_edge(stated)
            if view.entity_number(stated.object) != view.entity_number(object_) or edge.claim.ended_at != OPEN_END:
                continue
            # An undated claim that is repeated after it was replaced is new information.
            dated = edge.claim.start != OPEN_START or not edge.rule.single_valued
            own = [claim.interval for claim in view.resolved_claims(edge) if edge.claim in claim.interval.claims]
            if any(dated or now in interval for interval in own):
                return self.edge_id(stated.number)
        return None

    # The claims of a memory

    def edge_ids(self, memory: MemoryNumber) -> list[str]:
        """The ids of all relations that a memory ever claimed or was evidence of, visible or not."""
        claims_by_row = self.claims_with_evidence(self._catalog.rows_of(memory)).values()
        return list(dict.fromkeys(self.edge_id(claim) for claims in claims_by_row for claim in claims))

    def rows_claiming(self, number: int, predicate: str, snapshot: Snapshot) -> list[Row]:
        """The rows with a claim about an entity under a predicate or a state that results from it."""
        view, name = self._view(snapshot), normalize_predicate(predicate)
        entity = view.entity_number(number)
        edges = view.edges_of(number, {name, *states_after_event(name)})
        claims = [edge.claim.number for edge in edges if entity in (edge.subject, edge.key_entity)]
        return list(dict.fromkeys(row for claim in claims for row in self.evidence_rows(claim, snapshot)))

    def superseding_row(self, row: Row, snapshot: Snapshot) -> Row | None:
        """The row of the memory that replaced everything that this row claims.

        None if some of it still holds, or if it was replaced by an assertion without evidence: see `is_stale`.
        """
        statuses = self._view(snapshot).status_of(row, snapshot.now)
        return self._newest_evidence([status.replaced_by for status in statuses], snapshot)

    def following_row(self, row: Row, snapshot: Snapshot) -> Row | None:
        """The row with another value that holds now, if the windows of all claims of this row are over."""
        statuses = self._view(snapshot).status_of(row, snapshot.now)
        return self._newest_evidence([status.next_values for status in statuses], snapshot)

    def is_stale(self, row: Row, snapshot: Snapshot) -> bool:
        """Whether all claims of this row were replaced or ended by an event.

        A claim whose own window is over is not stale: that it held then is still true.
        """
        flags = self._stale_flags(row, snapshot)
        return bool(flags) and all(flags)

    def is_partly_stale(self, row: Row, snapshot: Snapshot) -> bool:
        return any(self._stale_flags(row, snapshot))

    def claims_only_past_states(self, row: Row, snapshot: Snapshot) -> bool:
        """Whether all claims of this row are told in the past tense of a state, as lived_in is."""
        edges = self._view(snapshot).edges_of_row(row)
        return bool(edges) and all(edge.rule.name in PAST_STATE_PREDICATES for edge in edges)

    def valid_periods(self, rows: Collection[Row], snapshot: Snapshot) -> dict[Row, list[ValidPeriod]]:
        """When the claims that each of these rows makes or supports hold; one that never held has no window."""
        view = self._view(snapshot)
        found = self.claims_with_evidence(rows)
        return {row: self._valid_periods(view, view.edges_of_claims(claims)) for row, claims in found.items()}

    def disagreements(self, row: Row, snapshot: Snapshot) -> list[RowDisagreement]:
        """The rows that disagree with this one: which, how, and about what ("Alice lives_in")."""
        view = self._view(snapshot)
        if row not in view.disagreements:  # a recall asks several times for each of its hits
            view.disagreements[row] = self._find_disagreements(row, view)
        return view.disagreements[row]

    # Predicates

    def declared_single_valued(self, predicate: str, position: Position) -> bool | None:
        return self._predicates.declared_single_valued(normalize_predicate(predicate), position)

    def inverse(self, predicate: str, position: Position) -> str | None:
        rule = self._predicates.rule(normalize_predicate(predicate), position)
        return rule.name if rule.is_inverse else rule.inverse

    # Applying entries

    def apply(self, batch: Batch) -> None:
        if batch.entry is not None and isinstance(batch.entry.event, Declared):
            self._predicates.declare(batch.entry.event, batch.entry.position)
        else:
            super().apply(batch)

    # Helpers

    def _view(self, snapshot: Snapshot) -> ClaimView:
        """The view of a snapshot. The last one is kept: a graph walk reads the same claims again and again."""
        if self._last_view is None or not self._last_view.matches(snapshot):
            self._last_view = ClaimView(self, self._predicates, self._registry, snapshot)
        return self._last_view

    def _newest_evidence(self, claims: Iterable[Iterable[TimedClaim]], snapshot: Snapshot) -> Row | None:
        """The newest row that supports one of these claims; None if there is none for some of the groups."""
        evidence_rows: list[Row] = []
        for group in claims:
            rows = [row for claim in group for row in self.evidence_rows(claim.number, snapshot)]
            if not rows:
                return None
            evidence_rows.append(max(rows))
        return max(evidence_rows, default=None)

    def _valid_periods(self, view: ClaimView, edges: Iterable[EntityEdge]) -> list[ValidPeriod]:
        periods: list[ValidPeriod] = []
        for edge in edges:
            resolved = view.resolved_claims(edge)
            subject, object_ = (self._names.spellings[name] for name in edge.endpoints)
            own = [claim.interval for claim in resolved if edge.claim in claim.interval.claims]
            windows = [window_from_micros(interval.start, interval.end) for interval in own]
            changed = len({claim.interval.value for claim in resolved}) > 1 or any(
                interval.end != OPEN_END for interval in own
            )
            periods.append(ValidPeriod(Triple(subject, edge.rule.name, object_), tuple(windows), changed))
        return periods

    def _stale_flags(self, row: Row, snapshot: Snapshot) -> list[bool]:
        statuses = self._view(snapshot).status_of(row, snapshot.now)
        return [bool(status.replaced_by) or status.ended for status in statuses]

    def _find_disagreements(self, row: Row, view: ClaimView) -> list[RowDisagreement]:
        kinds: dict[tuple[Row, str], DisagreementKind] = {}
        for edge in view.edges_of_row(row):
            group = view.group_of(edge).edges if edge.rule.single_valued else []
            topic = f"{self._names.spellings[edge.endpoints[edge.rule.keyed_by_object]]} {edge.rule.name}"
            others = [other.claim for other in group if other.claim.value != edge.claim.value]
            for claim in others[-_MAX_DISAGREEMENTS:]:
                for other in self.evidence_rows(claim.number, view.snapshot):
                    if other != row:
                        kinds[other, topic] = classify_disagreement(edge.claim, claim)
        return [(other, kind, topic) for (other, topic), kind in kinds.items()]

    def _edges_with_id(self, edge_id: str, view: ClaimView) -> Iterator[EntityEdge]:
        return map(view.to_edge, self.active_claims(self.with_edge_id(edge_id), view.snapshot))

    def _relation(self, resolved: ResolvedClaim, triple: NumberedTriple, view: ClaimView) -> Relation:
        edge, interval, next_claim = resolved
        stated = edge.stated_claim
        evidence = (self.evidence_memories(claim.number, view.snapshot) for claim in interval.claims)
        memories = dict.fromkeys(memory for evidence_item in evidence for memory in evidence_item)
        return Relation(
            id=self.edge_id(stated.number),
            subject=self._names.spellings[triple[0]],
            predicate=triple[1],
            object=self._names.spellings[triple[2]],
            valid=window_from_micros(interval.start, interval.end),
            claimed_window=window_from_micros(stated.start, stated.end),
            recorded_at=from_micros(stated.recorded_at),
            confidence=max(claim.confidence for claim in interval.claims),
            observed_by=edge.claim.observer,
            evidence=tuple([self._catalog.ids[memory] for memory in memories]),
            replaced_by=None if next_claim is None else self.edge_id(next_claim),
        )


def _matching(
    resolved: Iterable[ResolvedClaim],
    at: datetime | None,
    predicates: Collection[str] | None,
    direction: Direction,
    entity: int,
) -> list[tuple[ResolvedClaim, NumberedTriple]]:
    """Those that hold at a moment and have a form with such a predicate and direction, each in that form."""
    moment = None if at is None else micros(at)
    matching: list[tuple[ResolvedClaim, NumberedTriple]] = []
    for claim in resolved:
        if moment is None or moment in claim.interval:
            triples = claim.edge.directed_triples(entity, direction)
            triple = next((triple for triple in triples if predicates is None or triple[1] in predicates), None)
            if triple is not None:
                matching.append((claim, triple))
    return matching

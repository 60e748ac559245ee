"""The claims of one snapshot, resolved: predicates as declared, names as entities, and what holds when.

All claims about one entity under one predicate are a *group*. If the predicate is single-valued, only one
value of a group holds at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from remanence.index.claims.claims import Claims, StatedClaim
from remanence.index.claims.intervals import (
    Interval,
    TimedClaim,
    classify_disagreement,
    merge_same_value,
    resolve_single_valued,
)
from remanence.index.claims.predicates import PredicateRule, Predicates
from remanence.index.names.entity_registry import EntityRegistry
from remanence.index.numbers import Row
from remanence.schema import OPEN_END, OPEN_START, DisagreementKind, Snapshot, micros

_MAX_EDGES, _MAX_GROUPS, _MAX_AROUND = 100_000, 20_000, 2_000
"""Edges, groups of claims, and entities with the claims around them that a view keeps in memory. Beyond that it drops
them."""

RowDisagreement: TypeAlias = tuple[Row, DisagreementKind, str]
"""A row that disagrees with another one, how, and about what."""
Direction: TypeAlias = Literal["out", "in", "both"]
NumberedTriple: TypeAlias = tuple[int, str, int]


class EntityEdge(NamedTuple):
    """A claim in a snapshot: in the direction of its declared predicate, with entities at its ends."""

    stated_claim: StatedClaim
    claim: TimedClaim
    rule: PredicateRule
    endpoints: tuple[int, int]
    subject: int
    object: int

    @property
    def key_entity(self) -> int:
        return self.object if self.rule.keyed_by_object else self.subject

    @property
    def triple(self) -> NumberedTriple:
        return self.endpoints[0], self.rule.name, self.endpoints[1]

    def directed_triples(self, entity: int, direction: Direction) -> Iterator[NumberedTriple]:
        """The forms of this edge that have `entity` at the end that `direction` asks for."""
        if direction == "both" or entity == (self.subject if direction == "out" else self.object):
            yield self.triple
        inverted_end = self.object if direction == "out" else self.subject
        if self.rule.inverse and (direction == "both" or entity == inverted_end):
            yield self.endpoints[1], self.rule.inverse, self.endpoints[0]

    @property
    def relation(self) -> NumberedTriple:
        """What it states: the same for all claims of one relation."""
        return self.subject, self.rule.name, self.object


class ResolvedClaim(NamedTuple):
    """A relation that holds over an interval; `edge` is its first claim, `next_claim` the one that ended it."""

    edge: EntityEdge
    interval: Interval
    next_claim: int | None = None


class ClaimGroup(NamedTuple):
    """All claims about one entity under one predicate, and what holds when."""

    edges: list[EntityEdge]
    resolved_claims: list[ResolvedClaim]


class ClaimStatus(NamedTuple):
    """The claims that replaced a claim; whether it was ended by an `Invalidated` event; and the claims of another value
    that hold now, if its own window is over."""

    replaced_by: Sequence[TimedClaim]
    ended: bool
    next_values: Sequence[TimedClaim]


class ClaimView:
    """The claims of one snapshot. Each is read once, and each group is resolved once."""

    def __init__(self, claims: Claims, predicates: Predicates, registry: EntityRegistry, snapshot: Snapshot) -> None:
        self.snapshot, self._position = snapshot, snapshot.position
        self._claims, self._predicates, self._registry = claims, predicates, registry
        self._has_entries_about_names = registry.has_entries
        self._entities: dict[int, int] = {}  # by the number of a name
        self._first_names: dict[str, int] = {}  # by the id of an entity
        self._reused_names: set[int] = set()  # names that belonged to several entities, one after the other
        self._edges: dict[int, EntityEdge] = {}  # by the number of a claim, except those with a symmetric predicate
        self._row_edges: dict[Row, list[EntityEdge]] = {}
        self._statements: dict[tuple[int, str], dict[NumberedTriple, list[EntityEdge]]] = {}
        self._groups: dict[tuple[int, str], ClaimGroup] = {}
        self._resolved_by_entity: dict[
            tuple[int, frozenset[str] | None, int | None], tuple[list[ResolvedClaim], bool]
        ] = {}
        self.disagreements: dict[Row, list[RowDisagreement]] = {}  # by row
        self._status_moment: datetime | None = None
        self._status: dict[Row, list[ClaimStatus]] = {}

    def matches(self, snapshot: Snapshot) -> bool:
        """Whether another snapshot contains the same claims, perhaps at another moment."""
        return snapshot.position == self._position and snapshot.row_mask is self.snapshot.row_mask

    def entity_number(self, name: int) -> int:
        """One number for all the names of an entity: that of the name which was requested first."""
        if not self._has_entries_about_names:
            return name
        number = self._entities.get(name)
        if number is None:
            number = name
            if len(self._registry.names_of_same_entity(name, self._position)) > 1:
                number = self._first_names.setdefault(self._registry.entity_of(name, self._position), name)
                if self._registry.has_several_owners(name, self._position):
                    self._reused_names.add(name)
            self._entities[name] = number
        return number

    def edges_of(self, name: int, predicates: Collection[str] | None) -> list[EntityEdge]:
        """The active claims with an entity at either end, oldest first."""
        return self._newest_edges(name, predicates, None)[0]

    def to_edge(self, claim: StatedClaim, start: int | None = None) -> EntityEdge:
        """A claim as an edge; one with a symmetric predicate starts at the entity `start`."""
        known = self._edges.get(claim.number)
        if known is not None:
            return known
        rule = self._predicates.rule(self._predicates.values[claim.predicate], self._position)
        ends = claim.subject, claim.object
        subject, object_ = self.entity_number(claim.subject), self.entity_number(claim.object)
        if self._reused_names and not self._reused_names.isdisjoint(ends):
            moment = claim.recorded_at if claim.start == OPEN_START else claim.start
            ends = self._name_at(claim.subject, moment), self._name_at(claim.object, moment)
            subject, object_ = map(self.entity_number, ends)
        if rule.is_inverse or (rule.symmetric and start is not None and subject != start):
            ends, subject, object_ = ends[::-1], object_, subject
        times = self._times(claim, rule)
        value = subject if rule.keyed_by_object else object_
        ended_at = self._claims.endings.end_of(claim.number, self._position)
        resolved = TimedClaim(
            claim.number, value, *times, *self._claims.attributions.values[claim.attribution], ended_at
        )
        edge = EntityEdge(claim, resolved, rule, ends, subject, object_)
        if not rule.symmetric:
            if len(self._edges) >= _MAX_EDGES:
                self._edges.clear()
            self._edges[claim.number] = edge
        return edge

    def resolved_claims_of(
        self, name: int, predicates: frozenset[str] | None, limit: int | None
    ) -> tuple[list[ResolvedClaim], bool]:
        """What holds, at any time, with an entity at either end, in the order of the first claims.

        Only the newest `limit` claims are read; the second value is whether there are more.
        """
        key = name, predicates, limit
        cached = self._resolved_by_entity.get(key)
        if cached is None:
            if len(self._resolved_by_entity) >= _MAX_AROUND:
                self._resolved_by_entity.clear()
            edges, more = self._newest_edges(name, predicates, limit)
            resolved = self._resolve(self.entity_number(name), edges, more)
            cached = self._resolved_by_entity[key] = sorted(resolved, key=lambda claim: claim.edge.claim.number), more
        return cached

    def resolved_between(self, name: int, other: int) -> list[ResolvedClaim]:
        """What holds, at any time, between two entities, in the order of the first claims."""
        shared = set(self._claims_naming(name)).intersection(self._claims_naming(other))
        start, ends = self.entity_number(name), {self.entity_number(name), self.entity_number(other)}
        edges = [self.to_edge(claim, start) for claim in self._claims.active_claims(sorted(shared), self.snapshot)]
        resolved = self._resolve(
            start, [edge for edge in edges if {edge.subject, edge.object} == ends], is_truncated=True
        )
        found = (claim for claim in resolved if {claim.edge.subject, claim.edge.object} == ends)
        return sorted(found, key=lambda claim: claim.edge.claim.number)

    def group_of(self, edge: EntityEdge, edges: list[EntityEdge] | None = None) -> ClaimGroup:
        """The group of a claim; `edges` are all its claims, if known."""
        key = edge.key_entity, edge.rule.name
        group = self._groups.get(key)
        if group is None:
            if edges is None:
                edges = [
                    other
                    for other in self.edges_of(edge.key_entity, {edge.rule.name})
                    if other.key_entity == edge.key_entity
                ]
            if len(self._groups) >= _MAX_GROUPS:
                self._groups.clear()
            resolved = _resolved(edges, self._resolve_by_trust(edges))
            group = self._groups[key] = ClaimGroup(edges, resolved)
        return group

    def resolved_claims(self, edge: EntityEdge) -> list[ResolvedClaim]:
        """What holds when in the group of a claim; if that is not single-valued, for its two ends only."""
        if edge.rule.single_valued:
            return self.group_of(edge).resolved_claims
        same = self.same_statements(edge)
        return _resolved(same, merge_same_value([other.claim for other in same]))

    def same_statements(self, edge: EntityEdge) -> list[EntityEdge]:
        """The claims of the relation that a claim states, oldest first."""
        key = edge.stated_claim.subject, edge.rule.name
        by_relation = self._statements.get(key)
        if by_relation is None:
            if len(self._statements) >= _MAX_GROUPS:
                self._statements.clear()
            by_relation = self._statements[key] = {}
            for other in self.edges_of(key[0], {edge.rule.name}):
                by_relation.setdefault(other.relation, []).append(other)
        return by_relation.get(edge.relation, [])

    # The claims of one row

    def edges_of_row(self, row: Row) -> list[EntityEdge]:
        edges = self._row_edges.get(row)
        if edges is None:
            if len(self._row_edges) >= _MAX_EDGES:
                self._row_edges.clear()
            edges = self._row_edges[row] = self.edges_of_claims(self._claims.claims_of_row(row))
        return edges

    def edges_of_claims(self, claims: Sequence[int]) -> list[EntityEdge]:
        return list(map(self.to_edge, self._claims.active_claims(claims, self.snapshot)))

    def status_of(self, row: Row, now: datetime) -> list[ClaimStatus]:
        """The status of each claim of a row at a moment."""
        if now is not self._status_moment and now != self._status_moment:
            self._status_moment, self._status = now, {}
        statuses = self._status.get(row)
        if statuses is None:
            edges = self.edges_of_row(row)
            moment = micros(now) if edges else 0
            statuses = self._status[row] = [self._status_at(edge, moment) for edge in edges]
        return statuses

    # Helpers

    def _newest_edges(
        self, name: int, predicates: Collection[str] | None, limit: int | None
    ) -> tuple[list[EntityEdge], bool]:
        """The newest active claims with an entity at either end, oldest first; and whether there are more."""
        numbers = None
        if predicates is not None:
            numbers = {
                n for predicate in predicates for n in self._predicates.equivalent_numbers(predicate, self._position)
            }
        claims = self._claims_naming(name)
        found, more = self._claims.newest_active(
            claims, self.snapshot, numbers, len(claims) if limit is None else limit
        )
        entity = self.entity_number(name)
        edges = [self.to_edge(claim, entity) for claim in found]
        # A former name of this entity may belong to another one by now.
        return [edge for edge in edges if entity in (edge.subject, edge.object)], more

    def _claims_naming(self, name: int) -> Sequence[int]:
        """The numbers of all claims with a name of this entity at either end, oldest first."""
        names = self._registry.names_of_same_entity(name, self._position) if self._has_entries_about_names else (name,)
        if len(names) == 1:
            return self._claims.with_name(name)
        return sorted({claim for name_number in names for claim in self._claims.with_name(name_number)})

    def _resolve_by_trust(self, edges: Sequence[EntityEdge]) -> list[Interval]:
        """What holds when in a group of which only one value holds at a time. A claim ends another only if its trust is
        at least as high; otherwise both are valid."""
        trust = {edge.claim: self._claims.trust_of(edge.stated_claim) for edge in edges}
        levels = sorted(set(trust.values()), reverse=True)
        intervals = resolve_single_valued([claim for claim in trust if trust[claim] == levels[0]]) if levels else []
        for level in levels[1:]:
            resolved = resolve_single_valued([claim for claim in trust if trust[claim] >= level])
            for resolved_interval in resolved:
                if max(trust[claim] for claim in resolved_interval.claims) == level:
                    intervals.append(resolved_interval)
                else:  # the same as what is trusted more
                    lower = tuple(claim for claim in resolved_interval.claims if trust[claim] == level)
                    intervals = [
                        known._replace(claims=tuple(sorted((*known.claims, *lower))))
                        if known.value == resolved_interval.value
                        and known.start < resolved_interval.end
                        and resolved_interval.start < known.end
                        else known
                        for known in intervals
                    ]
        return sorted(intervals, key=lambda interval: (interval.start, interval.first_claim.number))

    def _times(self, claim: StatedClaim, rule: PredicateRule) -> tuple[int, int, int]:
        """Start, end and recording time of a claim. A claim that a later version of its memory omits ended with that
        version; a claim with an immutable predicate is treated as corrected."""
        revised = self._claims.revisions.end_of(claim.number, self._position)
        if rule.immutable:
            return OPEN_START, OPEN_END if revised == OPEN_END else OPEN_START, OPEN_START
        if revised == OPEN_END:
            return claim.start, claim.end, claim.recorded_at
        undated = claim.start == OPEN_START and claim.recorded_at < claim.end
        return claim.recorded_at if undated else claim.start, min(claim.end, revised), claim.recorded_at

    def _name_at(self, name: int, moment: int) -> int:
        """A name of the entity that had this name at a moment."""
        reused = name in self._reused_names
        return self._registry.name_of_past_owner(name, self._position, moment) if reused else name

    def _resolve(self, entity: int, edges: Iterable[EntityEdge], is_truncated: bool) -> Iterator[ResolvedClaim]:
        groups: dict[tuple[int, str], list[EntityEdge]] = {}
        others: dict[NumberedTriple, list[EntityEdge]] = {}
        for edge in edges:
            if edge.rule.single_valued:
                groups.setdefault((edge.key_entity, edge.rule.name), []).append(edge)
            else:
                others.setdefault(edge.relation, []).append(edge)
        for (holder, _), group_edges in groups.items():
            # For groups of this entity, these are all claims, unless there are more.
            group = self.group_of(group_edges[0], group_edges if holder == entity and not is_truncated else None)
            yield from (claim for claim in group.resolved_claims if entity in (claim.edge.subject, claim.edge.object))
        for same in others.values():
            yield from _resolved(same, merge_same_value([edge.claim for edge in same]))

    def _status_at(self, edge: EntityEdge, now: int) -> ClaimStatus:
        if not edge.rule.single_valued:
            return ClaimStatus((), edge.claim.ended_at <= now, ())
        intervals = [claim.interval for claim in self.group_of(edge).resolved_claims]
        started = [interval for interval in intervals if interval.start <= now]
        latest = [interval for interval in started if now in interval] or started[-1:]
        holds = any(interval.end > now and edge.claim in interval.claims for interval in intervals)
        replacing = [interval for interval in latest if any(_replaces(claim, edge.claim) for claim in interval.claims)]
        over = edge.claim.end <= now and not any(
            now in interval and interval.value == edge.claim.value for interval in latest
        )
        following = [claim for interval in latest if over and now in interval for claim in interval.claims]
        replaced_by = () if holds or not replacing else replacing[0].claims
        return ClaimStatus(replaced_by, edge.claim.ended_at <= now, following)


def _resolved(edges: Sequence[EntityEdge], intervals: Sequence[Interval]) -> list[ResolvedClaim]:
    if len(edges) == 1:  # nearly always
        return [ResolvedClaim(edges[0], interval) for interval in intervals]
    by_number = {edge.claim.number: edge for edge in edges}
    starting = {interval.start: interval.first_claim.number for interval in reversed(intervals)}
    return [
        ResolvedClaim(by_number[interval.first_claim.number], interval, starting.get(interval.end))
        for interval in intervals
    ]


def _replaces(other: TimedClaim, claim: TimedClaim) -> bool:
    """Whether another claim replaced this one: it began while this one held, or after it was ended."""
    if other.value == claim.value:
        return False
    if claim.ended_at <= other.effective_start:
        return True
    kind = classify_disagreement(claim, other)
    return (kind == "succession" and other.effective_start > claim.effective_start) or (
        kind == "correction" and other.number > claim.number
    )

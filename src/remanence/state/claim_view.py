"""A sight put on the claims: the ones it knows, turned the way their predicates are declared, their names
taken together to entities, and what follows of them.

A *slot* is what can have one value at a time: where Alice lives, who leads Apple.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from remanence.schema import OPEN_END, OPEN_START, Snapshot
from remanence.state.claims import Claims, StatedClaim
from remanence.state.entity_registry import Registry
from remanence.state.intervals import Claim, Interval, merge_same_value, resolve_single_valued
from remanence.state.predicates import PredicateRule, Predicates

_MOST_SLOTS, _MOST_AROUND = 20_000, 2_000

Direction: TypeAlias = Literal["out", "in", "both"]
NumberedTriple: TypeAlias = tuple[int, str, int]
"""A subject, a predicate and an object, by the numbers of their names."""


class EntityEdge(NamedTuple):
    """A claim as a sight takes it: turned the way its predicate is declared, its ends as entities."""

    stated_claim: StatedClaim
    claim: Claim
    rule: PredicateRule
    endpoints: tuple[int, int]
    subject: int
    object: int

    @property
    def holder(self) -> int:
        """The entity that has the value."""
        return self.object if self.rule.keyed_by_object else self.subject

    @property
    def triple(self) -> NumberedTriple:
        """The names and the predicate, as declared."""
        return self.endpoints[0], self.rule.name, self.endpoints[1]

    def directed_triples(self, me: int, direction: Direction) -> Iterator[NumberedTriple]:
        """The ways to say it with `me` at the end that `direction` asks for."""
        if direction == "both" or me == (self.subject if direction == "out" else self.object):
            yield self.triple
        if self.rule.inverse and (direction == "both" or me == (self.object if direction == "out" else self.subject)):
            yield self.endpoints[1], self.rule.inverse, self.endpoints[0]

    def same_statement(self, other: EntityEdge) -> bool:
        """Whether it says what another one says."""
        return (self.subject, self.rule.name, self.object) == (other.subject, other.rule.name, other.object)


class ResolvedClaim(NamedTuple):
    """What holds over a stretch, by the claim it begins with; `following` is the claim that ended it."""

    edge: EntityEdge
    interval: Interval
    next_claim: int | None = None


class ClaimGroup(NamedTuple):
    """Everything that was said to be in one place, and what holds there when."""

    edges: list[EntityEdge]
    resolved_claims: list[ResolvedClaim]


class ClaimView:
    """What one sight makes of the claims, whenever it looks. Each slot is worked out once."""

    def __init__(self, claims: Claims, predicates: Predicates, registry: Registry, sight: Snapshot) -> None:
        self._sight, self._position = sight, sight.position
        self._claims, self._predicates, self._registry = claims, predicates, registry
        self._entities: dict[int, int] = {}  # by the number of a name
        self._first: dict[str, int] = {}  # by the id of the entity
        self._passed_on: set[int] = set()  # names that were first one entity's, then another's
        self._rules: dict[int, PredicateRule] = {}
        self._alike: dict[str, list[int]] = {}
        self._slots: dict[tuple[int, str], ClaimGroup] = {}
        self._around: dict[tuple[int, frozenset[str] | None, int | None], tuple[list[ResolvedClaim], bool]] = {}

    def matches(self, sight: Snapshot) -> bool:
        """Whether another sight makes the same of the claims: it sees the same, if at another moment."""
        return sight.position == self._position and sight.row_mask is self._sight.row_mask

    def entity_number(self, number: int) -> int:
        """One number for all the names of an entity: of the one met first."""
        found = self._entities.get(number)
        if found is None:
            found = number
            if len(self._registry.same_entity(number, self._position)) > 1:
                entity_id = self._registry.entity_of(number, self._position)
                found = self._first.setdefault(entity_id, number)
                if self._registry.has_several_owners(number, self._position):
                    self._passed_on.add(number)
            self._entities[number] = found
        return found

    def _meant(self, number: int, then: int) -> int:
        """A name of whoever this one stood for then."""
        passed_on = number in self._passed_on
        return self._registry.name_of_past_owner(number, self._position, then) if passed_on else number

    def rule(self, predicate: int) -> PredicateRule:
        """How claims with a predicate are taken."""
        rule = self._rules.get(predicate)
        if rule is None:
            name = self._predicates.names[predicate]
            rule = self._rules[predicate] = self._predicates.rule(name, self._position)
        return rule

    def edges_of(self, number: int, wanted: Collection[str] | None) -> list[EntityEdge]:
        """The standing claims with an entity at either end, oldest first."""
        return self._newest(number, wanted, None)[0]

    def _newest(self, number: int, wanted: Collection[str] | None, limit: int | None) -> tuple[list[EntityEdge], bool]:
        """The same, but only so many, the newest; and whether there are more."""
        alike = None if wanted is None else {one for name in wanted for one in self._said_alike(name)}
        edges = self.edges(number)
        most = len(edges) if limit is None else limit
        found, more = self._claims.newest_active(edges, self._sight, alike, most)
        me = self.entity_number(number)
        ties = [self.to_edge(said, me) for said in found]
        # A name that was this entity's may be another's by now.
        return [tie for tie in ties if me in (tie.subject, tie.object)], more

    def _said_alike(self, name: str) -> list[int]:
        found = self._alike.get(name)
        if found is None:
            found = self._alike[name] = self._predicates.equivalent_numbers(name, self._position)
        return found

    def edges(self, number: int) -> list[int]:
        """Every claim with a name of an entity at either end, oldest first, seen or not."""
        names = self._registry.same_entity(number, self._position)
        if len(names) == 1:
            return self._claims.with_name(number)
        return sorted({edge for name in names for edge in self._claims.with_name(name)})

    def to_edge(self, said: StatedClaim, me: int | None = None) -> EntityEdge:
        """A claim as this sight takes it; one that holds both ways is turned to start from `me`."""
        rule = self.rule(said.predicate)
        ends = said.subject, said.object
        subject, object_ = self.entity_number(said.subject), self.entity_number(said.object)
        if self._passed_on and not self._passed_on.isdisjoint(ends):
            then = said.recorded_at if said.start == OPEN_START else said.start
            ends = self._meant(said.subject, then), self._meant(said.object, then)
            subject, object_ = self.entity_number(ends[0]), self.entity_number(ends[1])
        if rule.is_inverse or (rule.symmetric and me is not None and subject != me):
            ends, subject, object_ = ends[::-1], object_, subject
        times = (OPEN_START, OPEN_END, OPEN_START) if rule.immutable else (said.start, said.end, said.recorded_at)
        value = subject if rule.keyed_by_object else object_
        until = self._claims.ended_at(said.number, self._position)
        claim = Claim(said.number, value, *times, *self._claims.attribution(said.attribution), until)
        return EntityEdge(said, claim, rule, ends, subject, object_)

    def resolved_around(
        self, number: int, wanted: frozenset[str] | None, limit: int | None
    ) -> tuple[list[ResolvedClaim], bool]:
        """What holds, at whichever time, with an entity at either end, in the order it was first said; by the
        newest `limit` claims, and whether there are more."""
        key = number, wanted, limit
        found = self._around.get(key)
        if found is None:
            if len(self._around) >= _MOST_AROUND:
                self._around.clear()
            ties, more = self._newest(number, wanted, limit)
            held = sorted(self._holding(number, ties, more), key=lambda held: held.edge.claim.number)
            found = self._around[key] = held, more
        return found

    def _holding(self, number: int, ties: Iterable[EntityEdge], more: bool) -> Iterator[ResolvedClaim]:
        me = self.entity_number(number)
        slots: dict[tuple[int, str], list[EntityEdge]] = {}
        others: dict[NumberedTriple, list[EntityEdge]] = {}
        for tie in ties:
            if tie.rule.single_valued:
                slots.setdefault((tie.holder, tie.rule.name), []).append(tie)
            else:
                others.setdefault((tie.subject, tie.rule.name, tie.object), []).append(tie)
        for (holder, _), ties in slots.items():
            # All that is said of its own slots is at hand, unless there is more.
            slot = self.group_of(ties[0], ties if holder == me and not more else None)
            yield from (held for held in slot.resolved_claims if me in (held.edge.subject, held.edge.object))
        for ties in others.values():
            yield from _held(ties, merge_same_value([tie.claim for tie in ties]))

    def group_of(self, tie: EntityEdge, ties: list[EntityEdge] | None = None) -> ClaimGroup:
        """All claims to the place that a claim is about, and what holds when; `ties` if they are at hand."""
        key = tie.holder, tie.rule.name
        slot = self._slots.get(key)
        if slot is None:
            if ties is None:
                ties = [other for other in self.edges_of(tie.holder, {tie.rule.name}) if other.holder == tie.holder]
            if len(self._slots) >= _MOST_SLOTS:
                self._slots.clear()
            slot = self._slots[key] = ClaimGroup(
                ties, _held(ties, resolve_single_valued([other.claim for other in ties]))
            )
        return slot

    def resolved_claims(self, tie: EntityEdge) -> list[ResolvedClaim]:
        """What holds when where a claim speaks: in its slot, or if others may hold too, of its two ends."""
        if tie.rule.single_valued:
            return self.group_of(tie).resolved_claims
        same = [
            other for other in self.edges_of(tie.stated_claim.subject, {tie.rule.name}) if other.same_statement(tie)
        ]
        return _held(same, merge_same_value([other.claim for other in same]))


def _held(ties: Sequence[EntityEdge], stretches: Sequence[Interval]) -> list[ResolvedClaim]:
    by_number = {tie.claim.number: tie for tie in ties}
    starting = {stretch.start: stretch.first_claim.number for stretch in reversed(stretches)}
    return [
        ResolvedClaim(by_number[stretch.first_claim.number], stretch, starting.get(stretch.end))
        for stretch in stretches
    ]

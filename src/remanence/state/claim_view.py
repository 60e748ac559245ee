"""A sight put on the claims: the ones it knows, turned the way their predicates are declared, their names
taken together to entities, and what follows of them.

A *slot* is what can have one value at a time: where Alice lives, who leads Apple.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from remanence.schema import ALWAYS, FOREVER, Sight
from remanence.state.claims import Claims, Said
from remanence.state.entity_registry import Registry
from remanence.state.intervals import Claim, Stretch, resolve, unite
from remanence.state.predicates import Predicates, Rule

_MOST_SLOTS, _MOST_AROUND = 20_000, 2_000

Direction: TypeAlias = Literal["out", "in", "both"]
Form: TypeAlias = tuple[int, str, int]
"""A subject, a predicate and an object, by the numbers of their names."""


class Tie(NamedTuple):
    """A claim as a sight takes it: turned the way its predicate is declared, its ends as entities."""

    said: Said
    claim: Claim
    rule: Rule
    ends: tuple[int, int]
    subject: int
    object: int

    @property
    def holder(self) -> int:
        """The entity that has the value."""
        return self.object if self.rule.of_object else self.subject

    @property
    def form(self) -> Form:
        """The names and the predicate, as declared."""
        return self.ends[0], self.rule.name, self.ends[1]

    def forms(self, me: int, direction: Direction) -> Iterator[Form]:
        """The ways to say it with `me` at the end that `direction` asks for."""
        if direction == "both" or me == (self.subject if direction == "out" else self.object):
            yield self.form
        if self.rule.inverse and (
            direction == "both" or me == (self.object if direction == "out" else self.subject)
        ):
            yield self.ends[1], self.rule.inverse, self.ends[0]

    def says_as(self, other: Tie) -> bool:
        """Whether it says what another one says."""
        return (self.subject, self.rule.name, self.object) == (other.subject, other.rule.name, other.object)


class Held(NamedTuple):
    """What holds over a stretch, by the claim it begins with; `following` is the claim that ended it."""

    tie: Tie
    stretch: Stretch
    following: int | None = None


class Slot(NamedTuple):
    """Everything that was said to be in one place, and what holds there when."""

    ties: list[Tie]
    held: list[Held]


class Look:
    """What one sight makes of the claims, whenever it looks. Each slot is worked out once."""

    def __init__(self, claims: Claims, predicates: Predicates, registry: Registry, sight: Sight) -> None:
        self._sight, self._position = sight, sight.position
        self._claims, self._predicates, self._registry = claims, predicates, registry
        self._entities: dict[int, int] = {}  # by the number of a name
        self._first: dict[str, int] = {}  # by the id of the entity
        self._passed_on: set[int] = set()  # names that were first one entity's, then another's
        self._rules: dict[int, Rule] = {}
        self._alike: dict[str, list[int]] = {}
        self._slots: dict[tuple[int, str], Slot] = {}
        self._around: dict[tuple[int, frozenset[str] | None, int | None], tuple[list[Held], bool]] = {}

    def sees_as(self, sight: Sight) -> bool:
        """Whether another sight makes the same of the claims: it sees the same, if at another moment."""
        return sight.position == self._position and sight.rows is self._sight.rows

    def entity(self, number: int) -> int:
        """One number for all the names of an entity: of the one met first."""
        found = self._entities.get(number)
        if found is None:
            found = number
            if len(self._registry.same(number, self._position)) > 1:
                entity_id = self._registry.entity_of(number, self._position)
                found = self._first.setdefault(entity_id, number)
                if self._registry.passed_on(number, self._position):
                    self._passed_on.add(number)
            self._entities[number] = found
        return found

    def _meant(self, number: int, then: int) -> int:
        """A name of whoever this one stood for then."""
        passed_on = number in self._passed_on
        return self._registry.meant(number, self._position, then) if passed_on else number

    def rule(self, predicate: int) -> Rule:
        """How claims with a predicate are taken."""
        rule = self._rules.get(predicate)
        if rule is None:
            name = self._predicates.names[predicate]
            rule = self._rules[predicate] = self._predicates.rule(name, self._position)
        return rule

    def ties(self, number: int, wanted: Collection[str] | None) -> list[Tie]:
        """The standing claims with an entity at either end, oldest first."""
        return self._newest(number, wanted, None)[0]

    def _newest(
        self, number: int, wanted: Collection[str] | None, limit: int | None
    ) -> tuple[list[Tie], bool]:
        """The same, but only so many, the newest; and whether there are more."""
        alike = None if wanted is None else {one for name in wanted for one in self._said_alike(name)}
        edges = self.edges(number)
        most = len(edges) if limit is None else limit
        found, more = self._claims.newest(edges, self._sight, alike, most)
        me = self.entity(number)
        ties = [self.tie(said, me) for said in found]
        # A name that was this entity's may be another's by now.
        return [tie for tie in ties if me in (tie.subject, tie.object)], more

    def _said_alike(self, name: str) -> list[int]:
        found = self._alike.get(name)
        if found is None:
            found = self._alike[name] = self._predicates.alike(name, self._position)
        return found

    def edges(self, number: int) -> list[int]:
        """Every claim with a name of an entity at either end, oldest first, seen or not."""
        names = self._registry.same(number, self._position)
        if len(names) == 1:
            return self._claims.at(number)
        return sorted({edge for name in names for edge in self._claims.at(name)})

    def tie(self, said: Said, me: int | None = None) -> Tie:
        """A claim as this sight takes it; one that holds both ways is turned to start from `me`."""
        rule = self.rule(said.predicate)
        ends = said.subject, said.object
        subject, object_ = self.entity(said.subject), self.entity(said.object)
        if self._passed_on and not self._passed_on.isdisjoint(ends):
            then = said.recorded if said.start == ALWAYS else said.start
            ends = self._meant(said.subject, then), self._meant(said.object, then)
            subject, object_ = self.entity(ends[0]), self.entity(ends[1])
        if rule.flipped or (rule.mirrored and me is not None and subject != me):
            ends, subject, object_ = ends[::-1], object_, subject
        times = (ALWAYS, FOREVER, ALWAYS) if rule.fixed else (said.start, said.end, said.recorded)
        value = subject if rule.of_object else object_
        until = self._claims.until(said.number, self._position)
        claim = Claim(said.number, value, *times, *self._claims.sayer(said.sayer), until)
        return Tie(said, claim, rule, ends, subject, object_)

    def around(
        self, number: int, wanted: frozenset[str] | None, limit: int | None
    ) -> tuple[list[Held], bool]:
        """What holds, at whichever time, with an entity at either end, in the order it was first said; by the
        newest `limit` claims, and whether there are more."""
        key = number, wanted, limit
        found = self._around.get(key)
        if found is None:
            if len(self._around) >= _MOST_AROUND:
                self._around.clear()
            ties, more = self._newest(number, wanted, limit)
            held = sorted(self._holding(number, ties, more), key=lambda held: held.tie.claim.number)
            found = self._around[key] = held, more
        return found

    def _holding(self, number: int, ties: Iterable[Tie], more: bool) -> Iterator[Held]:
        me = self.entity(number)
        slots: dict[tuple[int, str], list[Tie]] = {}
        others: dict[Form, list[Tie]] = {}
        for tie in ties:
            if tie.rule.single:
                slots.setdefault((tie.holder, tie.rule.name), []).append(tie)
            else:
                others.setdefault((tie.subject, tie.rule.name, tie.object), []).append(tie)
        for (holder, _), ties in slots.items():
            # All that is said of its own slots is at hand, unless there is more.
            slot = self.slot(ties[0], ties if holder == me and not more else None)
            yield from (held for held in slot.held if me in (held.tie.subject, held.tie.object))
        for ties in others.values():
            yield from _held(ties, unite([tie.claim for tie in ties]))

    def slot(self, tie: Tie, ties: list[Tie] | None = None) -> Slot:
        """All claims to the place that a claim is about, and what holds when; `ties` if they are at hand."""
        key = tie.holder, tie.rule.name
        slot = self._slots.get(key)
        if slot is None:
            if ties is None:
                ties = [
                    other for other in self.ties(tie.holder, {tie.rule.name}) if other.holder == tie.holder
                ]
            if len(self._slots) >= _MOST_SLOTS:
                self._slots.clear()
            slot = self._slots[key] = Slot(ties, _held(ties, resolve([other.claim for other in ties])))
        return slot

    def held(self, tie: Tie) -> list[Held]:
        """What holds when where a claim speaks: in its slot, or if others may hold too, of its two ends."""
        if tie.rule.single:
            return self.slot(tie).held
        same = [other for other in self.ties(tie.said.subject, {tie.rule.name}) if other.says_as(tie)]
        return _held(same, unite([other.claim for other in same]))


def _held(ties: Sequence[Tie], stretches: Sequence[Stretch]) -> list[Held]:
    by_number = {tie.claim.number: tie for tie in ties}
    starting = {stretch.start: stretch.lead.number for stretch in reversed(stretches)}
    return [Held(by_number[stretch.lead.number], stretch, starting.get(stretch.end)) for stretch in stretches]

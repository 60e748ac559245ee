"""Claims about two entities: who says so, when they hold, and which of them stands.

`claims` keeps what was said, `predicates` how each predicate behaves, `intervals` decides what holds when,
`slots` puts a sight on all that, and `fates` says what it means for a memory. Here it becomes relations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from numpy.typing import NDArray

from remanence.events import Declared, Related, Remembered
from remanence.schema import (
    ALWAYS,
    FOREVER,
    UTC,
    Entry,
    Relation,
    Sight,
    Window,
    from_micros,
    micros,
    window_of,
)
from remanence.state.catalog import Catalog
from remanence.state.claim_status import Clash, Fates
from remanence.state.claim_view import Direction, Form, Held, Look, Tie
from remanence.state.claims import Claims
from remanence.state.columns import pack, unpack
from remanence.state.entity_registry import Registry
from remanence.state.intervals import Claim, Stretch
from remanence.state.names import Names
from remanence.state.predicates import Predicates, normal_predicate, states

__all__ = ["Direction", "Relations"]

MOST_BESIDE = 256
"""How many claims, the newest, `beside` looks at: it is asked in every recall."""
_FURTHER = 4
_MOST_TOLD = 20_000
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class Relations:
    """Claims about two entities: who says so, when they hold, and which of them stands."""

    def __init__(self, names: Names, registry: Registry, catalog: Catalog) -> None:
        self._names, self._registry, self._catalog = names, registry, catalog
        self._predicates = Predicates()
        self._claims = Claims(names, self._predicates, catalog)
        self._last: Look | None = None
        self._told: dict[object, Relation] = {}  # in the last look
        self._fates = Fates(names, self._claims)

    # What holds

    def around(
        self,
        number: int,
        sight: Sight,
        *,
        at: datetime | None = None,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
        limit: int | None = None,
    ) -> list[Relation]:
        """The relations of the entity that a name stands for, in the order they were first said.

        `at` keeps to those that hold then. One with an inverse is shown from whichever end fits
        `predicates` and `direction`. `limit` looks at that many claims only, the newest.
        """
        found, _ = self.tied(number, sight, at, predicates, direction, limit)
        return [relation for _, relation in found]

    def tied(
        self,
        number: int,
        sight: Sight,
        at: datetime | None,
        predicates: Iterable[str] | None,
        direction: Direction,
        limit: int | None,
    ) -> tuple[list[tuple[Form, Relation]], bool]:
        """The same, with the numbers of the names; and whether the limit left something out.

        Where few of the newest hold at the moment that is asked about, it is looked further back.
        """
        look = self._look(sight)
        wanted = None if predicates is None else frozenset(map(normal_predicate, predicates))
        held, more = look.around(number, wanted, limit)
        found = self._then(held, at, wanted, direction, look.entity(number))
        if more and limit is not None and len(found) < limit // 2:
            held, more = look.around(number, wanted, _FURTHER * limit)
            found = self._then(held, at, wanted, direction, look.entity(number))
            found, more = found[-limit:], more or len(found) > limit
        return [(form, self._relation(held, form, sight)) for held, form in found], more

    def line(self, number: int, predicate: str, sight: Sight) -> list[Relation]:
        """What held when of one entity and predicate, in the order of time."""
        rule = self._predicates.rule(normal_predicate(predicate), sight.position)
        # Asked of Apple, ceo_of means who led it.
        direction: Direction = "both" if rule.of_object and not rule.flipped else "out"
        found = self.around(number, sight, predicates=[predicate], direction=direction)
        return sorted(found, key=lambda relation: relation.valid.start or _EARLIEST)

    def beside(self, number: int, sight: Sight) -> list[tuple[int, str]]:
        """The names tied to an entity now, each with the predicate."""
        look, now = self._look(sight), micros(sight.now)
        me = look.entity(number)
        out: dict[tuple[int, str], None] = {}
        for held in look.around(number, None, MOST_BESIDE)[0]:
            if now in held.stretch:
                subject, object_ = held.tie.ends
                out[object_ if held.tie.subject == me else subject, held.tie.rule.name] = None
        return list(out)

    def get(self, edge: str, sight: Sight) -> Relation | None:
        """The relation with this id as this sight knows it; None if it knows of none.

        Where it held in several stretches, the one of now, or else the last. One that was corrected or
        withdrawn held at no time: its window ends where it begins.
        """
        look, now = self._look(sight), micros(sight.now)
        for tie in self._with_edge(edge, sight):
            mine = [held for held in look.held(tie) if tie.claim in held.stretch.claims]
            held = next((held for held in mine if now in held.stretch), mine[-1] if mine else None)
            if held is None:
                moment = max(tie.claim.since, tie.said.recorded if tie.claim.since == ALWAYS else ALWAYS)
                held = Held(tie, Stretch(tie.claim.value, moment, moment, tie.claim, (tie.claim,)))
            return self._relation(held._replace(tie=tie), tie.form, sight)
        return None

    def resting_on(self, rows: Sequence[int], sight: Sight) -> dict[int, list[Relation]]:
        """The relations that each of these rows speaks for, as they hold in this sight."""
        out: dict[int, list[Relation]] = {}
        for row, claims in self._claims.for_rows(rows).items():
            edges = dict.fromkeys(map(self._claims.edge, claims))
            found = (self.get(edge, sight) for edge in edges)
            out[row] = [relation for relation in found if relation is not None]
        return out

    def count(self, sight: Sight) -> int:
        """How many relations this sight knows, whenever they hold."""
        return self._claims.count(sight)

    def saying(self, edge: str, sight: Sight) -> list[tuple[str, Claim]]:
        """The standing claims that say what the one with this id says, itself first, with their ids."""
        look = self._look(sight)
        for tie in self._with_edge(edge, sight):
            same = [other for other in look.ties(tie.said.subject, {tie.rule.name}) if other.says_as(tie)]
            return [
                (self._claims.edge(o.claim.number), o.claim) for o in sorted(same, key=lambda o: o != tie)
            ]
        return []

    def repeated(self, claim: Related, sight: Sight) -> str | None:
        """The id of a relation that was made in the very same words, and still holds as it was made."""
        subject, object_ = self._names.number(claim.subject), self._names.number(claim.object)
        if subject is None or object_ is None:
            return None
        look, now = self._look(sight), micros(sight.now)
        for said in self._claims.outright(subject, claim, sight):
            tie = look.tie(said)
            if look.entity(said.object) != look.entity(object_) or tie.claim.until != FOREVER:
                continue
            # Said again after something else took its place, an undated claim is news.
            dated = tie.claim.start != ALWAYS or not tie.rule.single
            held = [h.stretch for h in look.held(tie) if tie.claim in h.stretch.claims]
            if any(dated or now in stretch for stretch in held):
                return self._claims.edge(said.number)
        return None

    def said_outright(self, sight: Sight) -> set[int]:
        """The names in standing relations that somebody stated, whether a memory says them or not."""
        return self._claims.said_outright(sight)

    def is_stated(self, number: int, sight: Sight) -> bool:
        """Whether somebody stated a standing relation with this name, whether a memory says it or not."""
        return self._claims.is_stated(number, sight)

    def names(self) -> list[int]:
        """The names that any claim is about, by number, whoever may see it."""
        return self._claims.names()

    # What a memory's claims have come to

    def claims(self, row: int) -> bool:
        """Whether a row claims anything."""
        return bool(self._claims.of_row(row))

    def rows_claiming(self, number: int, predicate: str, sight: Sight) -> list[int]:
        """The rows that say something of an entity under a predicate, or under the state it begins; as
        they were said."""
        look, name = self._look(sight), normal_predicate(predicate)
        me = look.entity(number)
        ties = [t for t in look.ties(number, {name, *states(name)}) if me in (t.subject, t.holder)]
        rows = (row for tie in ties for row in self._claims.rows_for(tie.claim.number, sight))
        return list(dict.fromkeys(rows))

    def superseded(self, row: int, sight: Sight) -> int | None:
        """The row of the memory that took the place of everything that this row claims.

        None if some of it holds, or may hold beside other values, or if nothing followed it; and if what
        followed was said outright, with no memory for it: see `stale`.
        """
        return self._fates.superseded(row, self._look(sight), sight)

    def stale(self, row: int, sight: Sight) -> bool:
        """Whether nothing that this row claims holds any longer: all was replaced, or ended by hand.

        A claim whose own window is past is not stale: that it was so then is as true as ever.
        """
        over = self._fates.over(row, self._look(sight), sight)
        return bool(over) and all(over)

    def partly_stale(self, row: int, sight: Sight) -> bool:
        """Whether something that this row claims was replaced, or ended by hand."""
        return any(self._fates.over(row, self._look(sight), sight))

    def held(self, row: int, sight: Sight) -> list[tuple[Window, tuple[str, str]]]:
        """When what this row claims holds, and of whom and what it claims it, as far as something else holds
        there at another time."""
        return [
            (
                window_of(stretch.start, stretch.end),
                (self._names.spelled[tie.ends[0]], self._names.spelled[tie.ends[1]]),
            )
            for tie, stretch in self._fates.held(row, self._look(sight), sight)
        ]

    def clashes(self, row: int, sight: Sight) -> list[Clash]:
        """The rows that disagree with this one: which, how, and about what ("Alice lives_in")."""
        return self._fates.clashes(row, self._look(sight), sight)

    def lines_of(self, memory: int) -> list[int]:
        """The ledger lines of what was said outright on the word of this memory alone."""
        return self._claims.lines_of(memory)

    def edges_of(self, memory: int) -> list[str]:
        """The ids of all that a memory ever claimed, or is evidence of, whoever may see it."""
        resting = self._claims.for_rows(self._catalog.rows_of(memory)).values()
        return list(dict.fromkeys(self._claims.edge(claim) for claims in resting for claim in claims))

    def lines_about(self, edge: str) -> list[int]:
        """The ledger lines in which a relation was said outright, and in which it was ended by hand."""
        return self._claims.lines_about(edge)

    def stated(self, names: Iterable[int]) -> list[str]:
        """The ids of what was said outright of one of these names, whoever may see it, oldest first."""
        return self._claims.stated(names)

    # How predicates behave

    def single_valued(self, predicate: str, position: int) -> bool:
        """Whether something has one value at a time under this predicate."""
        return self._predicates.rule(normal_predicate(predicate), position).single

    def declared(self, predicate: str, position: int) -> bool | None:
        """Whether a predicate was declared single-valued; None if nothing was said about that."""
        return self._predicates.declared(normal_predicate(predicate), position)

    def inverse(self, predicate: str, position: int) -> str | None:
        """What a predicate is called from the other end."""
        name = normal_predicate(predicate)
        rule = self._predicates.rule(name, position)
        return rule.name if rule.flipped else rule.inverse

    # Taking in

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""
        self._claims.apply(first, versions)

    def take(self, entry: Entry) -> None:
        """Take in a line that is not a version of a memory."""
        if isinstance(entry.event, Declared):
            self._predicates.take(entry, entry.event)
        else:
            self._claims.take(entry)

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Everything as plain arrays."""
        return {**self._claims.save(), "predicates": pack(self._predicates.save())}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become what `save` wrote."""
        self._predicates.load(unpack(arrays["predicates"]))
        self._claims.load(arrays)

    # Helpers

    def _look(self, sight: Sight) -> Look:
        """What is worked out is kept until somebody looks who sees something else: a walk asks often,
        and the next one comes by the same places."""
        if self._last is None or not self._last.sees_as(sight):
            self._last = Look(self._claims, self._predicates, self._registry, sight)
            self._told = {}
        return self._last

    def _then(
        self,
        held: Iterable[Held],
        at: datetime | None,
        wanted: Collection[str] | None,
        direction: Direction,
        me: int,
    ) -> list[tuple[Held, Form]]:
        """Those of these that hold at a moment and can be said as is asked, each in that form."""
        moment = None if at is None else micros(at)
        out: list[tuple[Held, Form]] = []
        for each in held:
            if moment is None or moment in each.stretch:
                forms = each.tie.forms(me, direction)
                form = next((form for form in forms if wanted is None or form[1] in wanted), None)
                if form is not None:
                    out.append((each, form))
        return out

    def _with_edge(self, edge: str, sight: Sight) -> Iterator[Tie]:
        return map(self._look(sight).tie, self._claims.seen(self._claims.with_edge(edge), sight))

    def _relation(self, held: Held, form: Form, sight: Sight) -> Relation:
        self._look(sight)
        stretch = held.stretch
        # The same claim may have been met with more that say so, or with less.
        key = held.tie.said.number, stretch.start, stretch.end, len(stretch.claims), form
        relation = self._told.get(key)
        if relation is None:
            if len(self._told) >= _MOST_TOLD:
                self._told.clear()
            relation = self._told[key] = self._made(held, form, sight)
        return relation

    def _made(self, held: Held, form: Form, sight: Sight) -> Relation:
        stretch, said = held.stretch, held.tie.said
        subject, predicate, object_ = form
        rows = [row for claim in stretch.claims for row in self._claims.rows_for(claim.number, sight)]
        memories = dict.fromkeys(map(self._catalog.memory_of, rows))
        return Relation(
            id=self._claims.edge(said.number),
            subject=self._names.spelled[subject],
            predicate=predicate,
            object=self._names.spelled[object_],
            valid=window_of(stretch.start, stretch.end),
            claimed=window_of(said.start, said.end),
            recorded_at=from_micros(said.recorded),
            confidence=max(claim.confidence for claim in stretch.claims),
            observed_by=held.tie.claim.observer,
            evidence=tuple([self._catalog.ids[memory] for memory in memories]),
            replaced_by=None if held.following is None else self._claims.edge(held.following),
        )

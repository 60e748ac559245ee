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
    OPEN_END,
    OPEN_START,
    UTC,
    Entry,
    Relation,
    Snapshot,
    Window,
    from_micros,
    micros,
    window_from_micros,
)
from remanence.state.catalog import Catalog
from remanence.state.claim_status import ClaimStatus, RowDisagreement
from remanence.state.claim_view import ClaimView, Direction, EntityEdge, NumberedTriple, ResolvedClaim
from remanence.state.claims import Claims
from remanence.state.columns import pack, unpack
from remanence.state.entity_registry import Registry
from remanence.state.intervals import Claim, Interval
from remanence.state.names import Names
from remanence.state.predicates import Predicates, normalize_predicate, resulting_states

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
        self._last: ClaimView | None = None
        self._told: dict[object, Relation] = {}  # in the last look
        self._fates = ClaimStatus(names, self._claims)

    # What holds

    def relations_of(
        self,
        number: int,
        sight: Snapshot,
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
        found, _ = self.numbered_relations_of(number, sight, at, predicates, direction, limit)
        return [relation for _, relation in found]

    def numbered_relations_of(
        self,
        number: int,
        sight: Snapshot,
        at: datetime | None,
        predicates: Iterable[str] | None,
        direction: Direction,
        limit: int | None,
    ) -> tuple[list[tuple[NumberedTriple, Relation]], bool]:
        """The same, with the numbers of the names; and whether the limit left something out.

        Where few of the newest hold at the moment that is asked about, it is looked further back.
        """
        look = self._look(sight)
        wanted = None if predicates is None else frozenset(map(normalize_predicate, predicates))
        held, more = look.resolved_around(number, wanted, limit)
        found = self._then(held, at, wanted, direction, look.entity_number(number))
        if more and limit is not None and len(found) < limit // 2:
            held, more = look.resolved_around(number, wanted, _FURTHER * limit)
            found = self._then(held, at, wanted, direction, look.entity_number(number))
            found, more = found[-limit:], more or len(found) > limit
        return [(form, self._relation(held, form, sight)) for held, form in found], more

    def timeline(self, number: int, predicate: str, sight: Snapshot) -> list[Relation]:
        """What held when of one entity and predicate, in the order of time."""
        rule = self._predicates.rule(normalize_predicate(predicate), sight.position)
        # Asked of Apple, ceo_of means who led it.
        direction: Direction = "both" if rule.keyed_by_object and not rule.is_inverse else "out"
        found = self.relations_of(number, sight, predicates=[predicate], direction=direction)
        return sorted(found, key=lambda relation: relation.valid.start or _EARLIEST)

    def related_names(self, number: int, sight: Snapshot) -> list[tuple[int, str]]:
        """The names tied to an entity now, each with the predicate."""
        look, now = self._look(sight), micros(sight.now)
        me = look.entity_number(number)
        out: dict[tuple[int, str], None] = {}
        for held in look.resolved_around(number, None, MOST_BESIDE)[0]:
            if now in held.interval:
                subject, object_ = held.edge.endpoints
                out[object_ if held.edge.subject == me else subject, held.edge.rule.name] = None
        return list(out)

    def get(self, edge: str, sight: Snapshot) -> Relation | None:
        """The relation with this id as this sight knows it; None if it knows of none.

        Where it held in several stretches, the one of now, or else the last. One that was corrected or
        withdrawn held at no time: its window ends where it begins.
        """
        look, now = self._look(sight), micros(sight.now)
        for tie in self._with_edge(edge, sight):
            mine = [held for held in look.resolved_claims(tie) if tie.claim in held.interval.claims]
            held = next((held for held in mine if now in held.interval), mine[-1] if mine else None)
            if held is None:
                moment = max(
                    tie.claim.effective_start,
                    tie.stated_claim.recorded_at if tie.claim.effective_start == OPEN_START else OPEN_START,
                )
                held = ResolvedClaim(tie, Interval(tie.claim.value, moment, moment, tie.claim, (tie.claim,)))
            return self._relation(held._replace(edge=tie), tie.triple, sight)
        return None

    def supported_by_rows(self, rows: Sequence[int], sight: Snapshot) -> dict[int, list[Relation]]:
        """The relations that each of these rows speaks for, as they hold in this sight."""
        out: dict[int, list[Relation]] = {}
        for row, claims in self._claims.supported_by_rows(rows).items():
            edges = dict.fromkeys(map(self._claims.edge_id, claims))
            found = (self.get(edge, sight) for edge in edges)
            out[row] = [relation for relation in found if relation is not None]
        return out

    def count(self, sight: Snapshot) -> int:
        """How many relations this sight knows, whenever they hold."""
        return self._claims.count(sight)

    def equivalent_claims(self, edge: str, sight: Snapshot) -> list[tuple[str, Claim]]:
        """The standing claims that say what the one with this id says, itself first, with their ids."""
        look = self._look(sight)
        for tie in self._with_edge(edge, sight):
            same = [
                other for other in look.edges_of(tie.stated_claim.subject, {tie.rule.name}) if other.same_statement(tie)
            ]
            return [(self._claims.edge_id(o.claim.number), o.claim) for o in sorted(same, key=lambda o: o != tie)]
        return []

    def find_duplicate(self, claim: Related, sight: Snapshot) -> str | None:
        """The id of a relation that was made in the very same words, and still holds as it was made."""
        subject, object_ = self._names.number(claim.subject), self._names.number(claim.object)
        if subject is None or object_ is None:
            return None
        look, now = self._look(sight), micros(sight.now)
        for said in self._claims.matching_assertions(subject, claim, sight):
            tie = look.to_edge(said)
            if look.entity_number(said.object) != look.entity_number(object_) or tie.claim.ended_at != OPEN_END:
                continue
            # Said again after something else took its place, an undated claim is news.
            dated = tie.claim.start != OPEN_START or not tie.rule.single_valued
            held = [h.interval for h in look.resolved_claims(tie) if tie.claim in h.interval.claims]
            if any(dated or now in stretch for stretch in held):
                return self._claims.edge_id(said.number)
        return None

    def asserted_names(self, sight: Snapshot) -> set[int]:
        """The names in standing relations that somebody stated, whether a memory says them or not."""
        return self._claims.asserted_names(sight)

    def is_asserted(self, number: int, sight: Snapshot) -> bool:
        """Whether somebody stated a standing relation with this name, whether a memory says it or not."""
        return self._claims.is_asserted(number, sight)

    def name_numbers(self) -> list[int]:
        """The names that any claim is about, by number, whoever may see it."""
        return self._claims.name_numbers()

    # What a memory's claims have come to

    def has_claims(self, row: int) -> bool:
        """Whether a row claims anything."""
        return bool(self._claims.claims_of_row(row))

    def rows_claiming(self, number: int, predicate: str, sight: Snapshot) -> list[int]:
        """The rows that say something of an entity under a predicate, or under the state it begins; as
        they were said."""
        look, name = self._look(sight), normalize_predicate(predicate)
        me = look.entity_number(number)
        ties = [t for t in look.edges_of(number, {name, *resulting_states(name)}) if me in (t.subject, t.holder)]
        rows = (row for tie in ties for row in self._claims.evidence_rows(tie.claim.number, sight))
        return list(dict.fromkeys(rows))

    def superseding_row(self, row: int, sight: Snapshot) -> int | None:
        """The row of the memory that took the place of everything that this row claims.

        None if some of it holds, or may hold beside other values, or if nothing followed it; and if what
        followed was said outright, with no memory for it: see `stale`.
        """
        return self._fates.superseding_row(row, self._look(sight), sight)

    def is_stale(self, row: int, sight: Snapshot) -> bool:
        """Whether nothing that this row claims holds any longer: all was replaced, or ended by hand.

        A claim whose own window is past is not stale: that it was so then is as true as ever.
        """
        over = self._fates.stale_flags(row, self._look(sight), sight)
        return bool(over) and all(over)

    def is_partly_stale(self, row: int, sight: Snapshot) -> bool:
        """Whether something that this row claims was replaced, or ended by hand."""
        return any(self._fates.stale_flags(row, self._look(sight), sight))

    def valid_periods(self, row: int, sight: Snapshot) -> list[tuple[Window, tuple[str, str]]]:
        """When what this row claims holds, and of whom and what it claims it, as far as something else holds
        there at another time."""
        return [
            (
                window_from_micros(stretch.start, stretch.end),
                (self._names.spellings[tie.endpoints[0]], self._names.spellings[tie.endpoints[1]]),
            )
            for tie, stretch in self._fates.valid_periods(row, self._look(sight), sight)
        ]

    def disagreements(self, row: int, sight: Snapshot) -> list[RowDisagreement]:
        """The rows that disagree with this one: which, how, and about what ("Alice lives_in")."""
        return self._fates.disagreements(row, self._look(sight), sight)

    def positions_of_memory(self, memory: int) -> list[int]:
        """The ledger lines of what was said outright on the word of this memory alone."""
        return self._claims.positions_of_memory(memory)

    def edge_ids(self, memory: int) -> list[str]:
        """The ids of all that a memory ever claimed, or is evidence of, whoever may see it."""
        resting = self._claims.supported_by_rows(self._catalog.rows_of(memory)).values()
        return list(dict.fromkeys(self._claims.edge_id(claim) for claims in resting for claim in claims))

    def positions_of_edge(self, edge: str) -> list[int]:
        """The ledger lines in which a relation was said outright, and in which it was ended by hand."""
        return self._claims.positions_of_edge(edge)

    def asserted_ids(self, names: Iterable[int]) -> list[str]:
        """The ids of what was said outright of one of these names, whoever may see it, oldest first."""
        return self._claims.asserted_ids(names)

    # How predicates behave

    def single_valued(self, predicate: str, position: int) -> bool:
        """Whether something has one value at a time under this predicate."""
        return self._predicates.rule(normalize_predicate(predicate), position).single_valued

    def declared_single_valued(self, predicate: str, position: int) -> bool | None:
        """Whether a predicate was declared single-valued; None if nothing was said about that."""
        return self._predicates.declared_single_valued(normalize_predicate(predicate), position)

    def inverse(self, predicate: str, position: int) -> str | None:
        """What a predicate is called from the other end."""
        name = normalize_predicate(predicate)
        rule = self._predicates.rule(name, position)
        return rule.name if rule.is_inverse else rule.inverse

    # Taking in

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""
        self._claims.apply(first, versions)

    def apply_entry(self, entry: Entry) -> None:
        """Take in a line that is not a version of a memory."""
        if isinstance(entry.event, Declared):
            self._predicates.apply_entry(entry, entry.event)
        else:
            self._claims.apply_entry(entry)

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Everything as plain arrays."""
        return {**self._claims.save(), "predicates": pack(self._predicates.save())}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become what `save` wrote."""
        self._predicates.load(unpack(arrays["predicates"]))
        self._claims.load(arrays)

    # Helpers

    def _look(self, sight: Snapshot) -> ClaimView:
        """What is worked out is kept until somebody looks who sees something else: a walk asks often,
        and the next one comes by the same places."""
        if self._last is None or not self._last.matches(sight):
            self._last = ClaimView(self._claims, self._predicates, self._registry, sight)
            self._told = {}
        return self._last

    def _then(
        self,
        held: Iterable[ResolvedClaim],
        at: datetime | None,
        wanted: Collection[str] | None,
        direction: Direction,
        me: int,
    ) -> list[tuple[ResolvedClaim, NumberedTriple]]:
        """Those of these that hold at a moment and can be said as is asked, each in that form."""
        moment = None if at is None else micros(at)
        out: list[tuple[ResolvedClaim, NumberedTriple]] = []
        for each in held:
            if moment is None or moment in each.interval:
                forms = each.edge.directed_triples(me, direction)
                form = next((form for form in forms if wanted is None or form[1] in wanted), None)
                if form is not None:
                    out.append((each, form))
        return out

    def _with_edge(self, edge: str, sight: Snapshot) -> Iterator[EntityEdge]:
        return map(self._look(sight).to_edge, self._claims.active_claims(self._claims.with_edge_id(edge), sight))

    def _relation(self, held: ResolvedClaim, form: NumberedTriple, sight: Snapshot) -> Relation:
        self._look(sight)
        stretch = held.interval
        # The same claim may have been met with more that say so, or with less.
        key = held.edge.stated_claim.number, stretch.start, stretch.end, len(stretch.claims), form
        relation = self._told.get(key)
        if relation is None:
            if len(self._told) >= _MOST_TOLD:
                self._told.clear()
            relation = self._told[key] = self._made(held, form, sight)
        return relation

    def _made(self, held: ResolvedClaim, form: NumberedTriple, sight: Snapshot) -> Relation:
        stretch, said = held.interval, held.edge.stated_claim
        subject, predicate, object_ = form
        rows = [row for claim in stretch.claims for row in self._claims.evidence_rows(claim.number, sight)]
        memories = dict.fromkeys(map(self._catalog.memory_of, rows))
        return Relation(
            id=self._claims.edge_id(said.number),
            subject=self._names.spellings[subject],
            predicate=predicate,
            object=self._names.spellings[object_],
            valid=window_from_micros(stretch.start, stretch.end),
            claimed_window=window_from_micros(said.start, said.end),
            recorded_at=from_micros(said.recorded_at),
            confidence=max(claim.confidence for claim in stretch.claims),
            observed_by=held.edge.claim.observer,
            evidence=tuple([self._catalog.ids[memory] for memory in memories]),
            replaced_by=None if held.next_claim is None else self._claims.edge_id(held.next_claim),
        )

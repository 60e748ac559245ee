"""Claims about entities: when they hold, which of them stands, and what a later one does to an earlier."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remanence
from remanence import InvalidInput, NotFound, Space
from remanence.index.claims import claim_view
from remanence.index.claims.intervals import TimedClaim, classify_disagreement, merge_same_value, resolve_single_valued
from remanence.schema import OPEN_END, OPEN_START, Relation
from remanence.testing import FakeClock
from remanence.text.temporal import parse_moment

Reopen = Callable[..., Space]


def ask(space: Space, method: str, *given: Any, as_of: datetime | None = None, **more: Any) -> Any:
    """Ask the relations of a space; the first of `given`, if text, is a name."""
    with space._engine.open_index(space.name) as index:
        now = as_of or space._engine.now()
        position = index.catalog.position if as_of is None else space._engine.ledger.position_at(space.name, now)
        first = index.names.number(given[0]) if isinstance(given[0], str) and method != "get" else given[0]
        assert first is not None, f"{given[0]!r} was never named"
        return getattr(index.relations, method)(first, *given[1:], index.snapshot(position, now), **more)


def line(space: Space, name: str, predicate: str, as_of: datetime | None = None) -> list[str]:
    """What held when, as text: 'Porto, since 2026-01-01'."""
    return [f"{r.object}, {r.valid}" for r in ask(space, "timeline", name, predicate, as_of=as_of)]


def around(space: Space, name: str, **more: Any) -> list[str]:
    return [f"{r.subject} {r.predicate} {r.object}" for r in ask(space, "relations_of", name, **more)]


def on(day: str) -> datetime:
    return parse_moment(day, datetime(2026, 5, 4))


# The arithmetic, against a day-by-day reference

DAY = st.integers(0, 12)
CLAIMS = st.lists(
    st.builds(
        lambda value, start, length, recorded, observer, confidence, until: TimedClaim(
            *(0, value, OPEN_START if start is None else start),
            OPEN_END if length is None else (start or 0) + length,
            *(recorded, observer, confidence, OPEN_END if until is None else until),
        ),
        st.integers(0, 2),
        st.none() | DAY,
        st.none() | st.integers(1, 6),
        DAY,
        st.sampled_from([None, "ann", "bob"]),
        st.sampled_from([0.5, 1.0]),
        st.none() | DAY,
    ),
    max_size=7,
).map(lambda claims: [claim._replace(number=number) for number, claim in enumerate(claims)])


def values_on(day: int, claims: list[TimedClaim]) -> set[int]:
    """The values that hold on one day, worked out for that day alone."""
    claims = [claim for claim in claims if claim.effective_start < claim.effective_end]
    claims = [claim for claim in claims if not any(_began_before_it_was_told(later, claim) for later in claims)]
    active = sorted((c for c in claims if c.effective_start <= day < c.end), key=lambda c: -c.effective_start)
    top = [c for c in active if c.effective_start == active[0].effective_start]
    if len({c.value for c in top}) == 1:
        others = [place for place, c in enumerate(active) if c.value != top[0].value]
        top = active[: others[0]] if others else active
    corrected = {
        a.number
        for a in top
        for b in top
        if a.value != b.value and a.number < b.number and classify_disagreement(a, b) == "correction"
    }
    return {c.value for c in top if c.number not in corrected and day < c.ended_at}


def _began_before_it_was_told(later: TimedClaim, claim: TimedClaim) -> bool:
    """A claim told later that began, by its own words, before this one without a start was told."""
    in_order = OPEN_START < later.start < claim.recorded_at < later.recorded_at
    both_held = later.recorded_at < min(claim.effective_end, later.effective_end)
    is_open = claim.start in (OPEN_START, claim.recorded_at)
    return in_order and both_held and is_open and later.number > claim.number and later.value != claim.value


@given(CLAIMS)
def test_what_holds_is_what_holds_on_each_day(claims: list[TimedClaim]) -> None:
    """Stretches worked out in one sweep say for every day what looking at that day alone says."""
    stretches = resolve_single_valued(claims)
    for day in range(-1, 20):
        held = [stretch.value for stretch in stretches if day in stretch]
        assert sorted(held) == sorted(values_on(day, claims))


@given(CLAIMS)
def test_stretches_are_whole_and_say_who_says_so(claims: list[TimedClaim]) -> None:
    """No stretch of a value touches the next, and each rests on claims of that value made for that time."""
    stretches = resolve_single_valued(claims)
    for stretch in stretches:
        assert stretch.start < stretch.end
        assert stretch.first_claim in stretch.claims
        assert all(c.value == stretch.value and c.start < stretch.end for c in stretch.claims)
        assert not any(s.value == stretch.value and s.start == stretch.end for s in stretches)


@given(CLAIMS, st.randoms())
def test_the_order_in_which_claims_are_looked_at_does_not_matter(claims: list[TimedClaim], chance: Any) -> None:
    """Only when a claim was made counts, and that it carries with it."""
    shuffled = chance.sample(claims, len(claims))
    assert resolve_single_valued(shuffled) == resolve_single_valued(claims)
    assert merge_same_value(shuffled) == merge_same_value(claims)


@given(CLAIMS)
def test_where_many_may_hold_every_claim_does(claims: list[TimedClaim]) -> None:
    """The union of the windows of one value, day by day."""
    claims = [claim._replace(value=0) for claim in claims]
    for day in range(-1, 20):
        claimed = any(claim.effective_start <= day < claim.effective_end for claim in claims)
        assert claimed is any(day in stretch for stretch in merge_same_value(claims))


@given(CLAIMS)
def test_every_disagreement_has_one_class_whichever_side_it_is_seen_from(claims: list[TimedClaim]) -> None:
    """The table is complete, and symmetric."""
    for a in claims:
        for b in claims:
            if a.number != b.number:
                assert classify_disagreement(a, b) == classify_disagreement(b, a)


PORTO = TimedClaim(1, value=1, start=10, observer="ann")


@pytest.mark.parametrize(
    ("other", "how"),
    [
        (TimedClaim(2, value=2, start=20, observer="bob"), "succession"),
        (TimedClaim(2, value=2, start=5, observer="ann"), "succession"),
        (TimedClaim(2, value=2, recorded_at=30), "succession"),
        (TimedClaim(2, value=2, start=10, observer="ann"), "correction"),
        (TimedClaim(2, value=2, start=10), "correction"),
        (TimedClaim(2, value=2, start=10, confidence=0.5), "conflict"),
        (TimedClaim(2, value=2, start=10, end=20), "conflict"),
        (TimedClaim(2, value=2, start=10, observer="bob"), "conflict"),
        (TimedClaim(2, value=2, start=1, end=10, observer="ann"), "coexistence"),
    ],
)
def test_disagreements_are_told_apart_by_the_table(other: TimedClaim, how: str) -> None:
    """Ann said that it was Porto from the tenth on; another claim says something else."""
    assert classify_disagreement(PORTO, other) == how


def test_something_said_a_thousand_times_is_one_stretch() -> None:
    """All of them are its evidence; a while away cuts it in two."""
    said = [TimedClaim(n, value=1, recorded_at=n) for n in range(1_000)]
    away = TimedClaim(1_000, value=2, start=2_000, end=3_000)

    (whole,) = resolve_single_valued(said)
    assert len(whole.claims) == 1_000
    assert [(s.value, len(s.claims)) for s in resolve_single_valued([*said, away])] == [(1, 1_000), (2, 1), (1, 1_000)]


# Single-valued


def test_a_later_fact_closes_the_earlier(space: Space) -> None:
    """She lives in one place at a time; the old line stays, with its end."""
    space.graph.relate("Alice", "lives_in", "Porto", valid_from="2026-01")
    lisbon = space.graph.relate("Alice", "lives_in", "Lisbon", valid_from="2026-05")

    assert line(space, "Alice", "lives_in") == ["Porto, 2026-01-01 to 2026-05-01", "Lisbon, since 2026-05-01"]
    old, _ = ask(space, "timeline", "Alice", "lives_in")
    assert old.replaced_by == lisbon.id
    assert str(old.claimed_window) == "since 2026-01-01"


def test_a_late_fact_lands_where_it_belongs(space: Space) -> None:
    """Learned last that she was in Faro in March: Porto is split, Lisbon is untouched."""
    space.graph.relate("Alice", "lives_in", "Porto", valid_from="2026-01")
    space.graph.relate("Alice", "lives_in", "Lisbon", valid_from="2026-05")
    space.graph.relate("Alice", "lives_in", "Faro", valid_from="2026-03", valid_until="2026-04")

    assert line(space, "Alice", "lives_in") == [
        "Porto, 2026-01-01 to 2026-03-01",
        "Faro, 2026-03-01 to 2026-04-01",
        "Porto, 2026-04-01 to 2026-05-01",
        "Lisbon, since 2026-05-01",
    ]


def test_undated_facts_follow_each_other_as_they_were_learned(space: Space, clock: FakeClock) -> None:
    """Each holds from when it was said."""
    space.add("Alice lives in Porto.")
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.")

    assert line(space, "Alice", "lives_in") == [
        "Porto, 2026-05-04 09:00 to 2026-05-05 09:00",
        "Lisbon, since 2026-05-05 09:00",
    ]


def test_a_memory_and_a_saying_outright_are_one_relation(space: Space) -> None:
    """Whoever says the same adds evidence, not a second relation."""
    memory = space.add("Alice lives in Porto.")
    other = space.add("Bob says she likes it there.")
    space.graph.relate("Alice", "lives in", "Porto", evidence=other)

    (relation,) = ask(space, "relations_of", "Alice", predicates=["lives_in"])
    assert relation.evidence == (memory.id, other.id)


def test_a_move_begins_a_state(space: Space, clock: FakeClock) -> None:
    """Who moved to Lisbon on a day lives there from that day on; that she moved stays an event."""
    space.add("Alice lives in Porto.", valid_from="2026-01")
    space.add("Alice moved to Lisbon on 3 May 2026.")

    assert line(space, "Alice", "lives_in") == ["Porto, 2026-01-01 to 2026-05-03", "Lisbon, since 2026-05-03"]
    assert line(space, "Alice", "moved_to") == ["Lisbon, 2026-05-03"]


def test_what_is_said_in_a_turn_lasts(space: Space) -> None:
    """A turn is said in a moment, but whoever lives somewhere does so after the words are out."""
    space.add_turns([{"speaker": "Alice", "content": "I live in Porto.", "time": "2026-03-01"}])
    assert line(space, "Alice", "lives_in") == ["Porto, since 2026-03-01"]


def test_a_role_has_one_holder(space: Space, clock: FakeClock) -> None:
    """It is Apple that has one CEO at a time, and the question can be asked of either."""
    space.add("Tim Cook is the CEO of Apple.", valid_from="2011-08")
    space.add("Steve Jobs was the CEO of Apple.", valid_from="1997", triples=[("Steve Jobs", "ceo_of", "Apple")])

    line_ = ask(space, "timeline", "Apple", "ceo_of")
    assert [(r.subject, str(r.valid)) for r in line_] == [
        ("Steve Jobs", "1997-01-01 to 2011-08-01"),
        ("Tim Cook", "since 2011-08-01"),
    ]
    assert line(space, "Tim Cook", "ceo_of") == ["Apple, since 2011-08-01"]


def test_what_never_changes_is_not_succeeded(space: Space, clock: FakeClock) -> None:
    """Two birthplaces from two people are a conflict, however much later the second is told."""
    space.graph.relate("Alice", "born_in", "Porto", observed_by="ann")
    clock.advance(days=30)
    space.graph.relate("Alice", "born_in", "Faro", observed_by="bob")

    assert line(space, "Alice", "born_in") == ["Porto, any time", "Faro, any time"]


def test_many_valued_claims_stand_beside_each_other(space: Space) -> None:
    """She may like two things; each has the union of its windows."""
    space.graph.relate("Alice", "likes", "tea", valid_from="2026-01", valid_until="2026-02")
    space.graph.relate("Alice", "likes", "coffee")
    space.graph.relate("Alice", "likes", "tea", valid_from="2026-02", valid_until="2026-03", observed_by="bob")

    assert sorted(line(space, "Alice", "likes")) == ["coffee, since 2026-05-04 09:00", "tea, 2026-01-01 to 2026-03-01"]


def test_a_declaration_holds_from_where_it_was_made(space: Space, clock: FakeClock) -> None:
    """Declared single-valued, the later value closes the earlier; a view of before knows nothing of it."""
    space.graph.relate("Alice", "drives", "a Volvo", valid_from="2025")
    space.graph.relate("Alice", "drives", "a Fiat", valid_from="2026")
    before = clock.now()
    clock.advance(days=1)
    space.graph.declare("drives", single_valued=True)

    assert line(space, "Alice", "drives") == ["a Volvo, 2025-01-01 to 2026-01-01", "a Fiat, since 2026-01-01"]
    assert line(space, "Alice", "drives", as_of=before) == ["a Volvo, since 2025-01-01", "a Fiat, since 2026-01-01"]
    space.graph.declare("drives", single_valued=False)
    assert len(around(space, "Alice", at=clock.now())) == 2


def test_an_inverse_is_the_same_relation_from_the_other_end(space: Space) -> None:
    """Said either way, shown either way; and what is single-valued one way is so the other way round."""
    space.graph.declare("works_at", inverse="employs")
    space.graph.relate("Alice", "works_at", "Acme", valid_from="2025")
    space.graph.relate("Globex", "employs", "Alice", valid_from="2026")

    assert line(space, "Alice", "works_at") == ["Acme, 2025-01-01 to 2026-01-01", "Globex, since 2026-01-01"]
    assert around(space, "Globex", direction="out") == ["Globex employs Alice"]
    assert around(space, "Globex", predicates=["works at"]) == ["Alice works_at Globex"]
    assert around(space, "Globex", direction="out", predicates=["works_at"]) == []
    assert line(space, "Globex", "employs") == ["Alice, since 2026-01-01"]


def test_a_predicate_that_is_its_own_inverse_holds_both_ways(space: Space) -> None:
    """Whoever is asked is the subject."""
    space.graph.declare("married_to", inverse="married_to")
    space.graph.relate("Alice", "married_to", "Bob", valid_from="2020")
    space.graph.relate("Carol", "married_to", "Bob", valid_from="2024")

    assert around(space, "Bob", at=on("2026-01-01")) == ["Bob married_to Carol"]
    assert line(space, "Bob", "married_to") == ["Alice, 2020-01-01 to 2024-01-01", "Carol, since 2024-01-01"]


# What a memory's claims have come to


def test_a_memory_is_superseded_when_all_it_claims_was_replaced(space: Space, clock: FakeClock) -> None:
    """One of two claims replaced is not enough."""
    space.add("Alice lives in Porto.")
    space.add("Bob has two lives.", triples=[("Bob", "lives_in", "Porto"), ("Bob", "likes", "tea")])
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.")
    space.add("Bob lives in Lisbon.")

    assert [ask(space, "superseding_row", row) for row in range(4)] == [2, None, None, None]
    assert [ask(space, "is_stale", row) for row in range(4)] == [True, False, False, False]
    assert ask(space, "disagreements", 1) == [(3, "succession", "Bob lives_in")]


def test_a_memory_about_its_own_time_is_not_superseded(space: Space) -> None:
    """Where she lived in 2019 stays true whatever she does now."""
    space.add("Alice lives in Faro.", valid_from="2019", valid_until="2020")
    space.add("Alice lives in Lisbon.", valid_from="2024")

    assert ask(space, "superseding_row", 0) is None
    assert ask(space, "disagreements", 0) == [(1, "coexistence", "Alice lives_in")]


def test_in_a_conflict_neither_is_superseded(space: Space) -> None:
    """Two people disagree about the same time: both hold, and both are shown the other."""
    space.add("Alice lives in Porto.", valid_from="2026", observed_by="ann")
    space.add("Alice lives in Lisbon.", valid_from="2026", observed_by="bob")

    assert [ask(space, "superseding_row", row) for row in (0, 1)] == [None, None]
    assert ask(space, "disagreements", 0) == [(1, "conflict", "Alice lives_in")]
    assert len(around(space, "Alice", at=on("2026-03-01"))) == 2


@pytest.mark.parametrize(
    ("porto", "lisbon", "says"),
    [
        ({"valid_from": "2024"}, {"valid_from": "2026"}, "succession"),
        ({"valid_from": "2026"}, {"valid_from": "2026"}, "correction"),
        ({"valid_from": "2026", "observed_by": "Ann"}, {"valid_from": "2026", "observed_by": "Bob"}, "conflict"),
        ({"valid_from": "2024", "valid_until": "2025"}, {"valid_from": "2026"}, "coexistence"),
    ],
)
def test_a_hit_carries_how_others_disagree_with_it(
    space: Space, porto: dict[str, str], lisbon: dict[str, str], says: str
) -> None:
    """The class, what it is about, and the other memory; seen from either side."""
    one, two = space.add("Alice lives in Porto.", **porto), space.add("Alice lives in Lisbon.", **lisbon)

    hits = {hit.memory.id: hit for hit in space.recall("Where does Alice live?", history=True)}

    for memory, other in ((one, two), (two, one)):
        [against] = hits[memory.id].disagreements
        assert (against.kind, against.topic, against.memory.id) == (says, "Alice lives_in", other.id)
        conflicting = [other] if says == "conflict" else []
        assert [m.id for m in hits[memory.id].contradicted_by] == [m.id for m in conflicting]


def test_a_hit_carries_what_a_link_says_against_it(space: Space) -> None:
    """While the link holds: nobody contradicts what was told to be no contradiction."""
    said, denied = space.add("The bridge is open."), space.add("The bridge is not open at all.")
    link = space.graph.link(denied, "contradicts", said)

    def against() -> dict[str, list[str]]:
        return {hit.memory.id: [m.id for m in hit.contradicted_by] for hit in space.recall("bridge")}

    assert against() == {said.id: [denied.id], denied.id: [said.id]}
    space.graph.invalidate_edge(link)
    assert against() == {said.id: [], denied.id: []}


def test_what_a_claim_has_come_to_depends_on_when_it_is_asked(space: Space, clock: FakeClock) -> None:
    """Nothing is written in between: time alone brings the move that was announced."""
    space.add("Alice lives in Porto.", valid_from="2024")
    space.add("Alice lives in Lisbon.", valid_from="2026-06-01")

    assert ask(space, "superseding_row", 0) is None
    clock.advance(days=60)
    assert ask(space, "superseding_row", 0) == 1
    assert space.graph.query("Alice", relations="lives_in").nodes[1].label == "Lisbon"


def test_a_saying_outright_makes_a_memory_stale(space: Space, clock: FakeClock) -> None:
    """No memory took its place, but what it says holds no longer."""
    space.add("Alice lives in Porto.")
    clock.advance(days=1)
    space.graph.relate("Alice", "lives_in", "Lisbon")

    assert ask(space, "superseding_row", 0) is None
    assert ask(space, "is_stale", 0) is True


def test_back_again_is_not_superseded(space: Space, clock: FakeClock) -> None:
    """Porto, Lisbon, Porto: the first memory says what is so, though for another time."""
    space.add("Alice lives in Porto.")
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.")
    clock.advance(days=1)
    space.add("Alice lives in Porto again.", triples=[("Alice", "lives_in", "Porto")])

    assert [ask(space, "superseding_row", row) for row in range(3)] == [None, 2, None]


def test_a_revision_that_changes_no_claim_does_not_make_it_newer(space: Space, clock: FakeClock) -> None:
    """A tag added to an old memory does not move her back to where she lived."""
    space.add("Alice lives in Porto.", key="home")
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.")
    clock.advance(days=1)
    space.add("Alice lives in Porto.", key="home", tags="old")

    assert ask(space, "superseding_row", 2) == 1


# Forgetting, erasing, ending


def test_forgetting_hides_what_only_that_memory_supports(space: Space) -> None:
    """And bringing it back brings that back, with no word said about relations."""
    memory = space.add("Alice met Bob.", triples=[])
    space.graph.relate("Alice", "knows", "Bob", evidence=[memory])
    space.graph.relate("Alice", "knows", "Carol")

    space.forget(memory.id)
    assert around(space, "Alice") == ["Alice knows Carol"]
    space.unforget(memory.id)
    assert around(space, "Alice") == ["Alice knows Bob", "Alice knows Carol"]


def test_evidence_goes_and_comes_with_its_memory(space: Space) -> None:
    """Two contracts say so: with one forgotten the other still does, whoever asked before."""
    one, two = space.add("Contract one."), space.add("Contract two.")
    space.graph.relate("Ann", "works_at", "Acme", valid_from="2025", evidence=[one, two])

    def evidence() -> list[tuple[str, ...]]:
        return [relation.evidence for relation in space.graph.when("Ann", "works_at")]

    assert evidence() == [(one.id, two.id)]
    space.forget(one.id)
    assert evidence() == [(two.id,)]
    space.unforget(one.id)
    assert evidence() == [(one.id, two.id)]


def test_forgetting_the_successor_opens_the_earlier_again(space: Space, clock: FakeClock) -> None:
    """What was closed only by a forgotten memory is open."""
    space.add("Alice lives in Porto.")
    clock.advance(days=1)
    moved = space.add("Alice lives in Lisbon.")
    space.forget(moved.id)

    assert line(space, "Alice", "lives_in") == ["Porto, since 2026-05-04 09:00"]


def test_a_keyed_memory_held_what_its_earlier_versions_said(space: Space, clock: FakeClock) -> None:
    """Until the next version; a text that only says more of the same changes nothing, and forgetting hides all."""
    home = space.add("Alice lives in Porto.", key="home")
    clock.advance(days=1)
    space.add("Alice lives in Porto, by the river.", key="home")
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.", key="home")

    assert line(space, "Alice", "lives_in") == [
        "Porto, 2026-05-04 09:00 to 2026-05-06 09:00",
        "Lisbon, since 2026-05-06 09:00",
    ]
    assert space.graph.when("Alice", "lives_in")[0].evidence == (home.id,)
    assert [node.label for node in space.graph.query("Porto", "lives_in", at="2026-05-05").nodes] == ["Porto", "Alice"]
    space.forget(home.id)
    with pytest.raises(NotFound):
        space.graph.when("Alice", "lives_in")


def test_a_dated_version_follows_from_its_date(space: Space, clock: FakeClock) -> None:
    """And one that is dated before the earlier one follows when it is told."""
    space.add("Alice lives in Porto.", key="home")
    clock.advance(days=9)
    space.add("Alice lives in Lisbon.", key="home", valid_from="2026-05-10")
    clock.advance(days=1)
    space.add("Alice lives in Faro.", key="home", valid_from="2026-05-01")

    assert line(space, "Alice", "lives_in") == [
        "Faro, 2026-05-01 to 2026-05-04 09:00",
        "Porto, 2026-05-04 09:00 to 2026-05-10",
        "Lisbon, 2026-05-10 to 2026-05-14 09:00",
        "Faro, since 2026-05-14 09:00",
    ]


def test_a_correction_of_what_never_changes_was_always_so(space: Space) -> None:
    """A later version of where somebody was born ends nothing: the earlier one was never so."""
    space.add("Alice was born in Porto.", key="birth", triples=[("Alice", "born_in", "Porto")])
    space.add("Alice was born in Lisbon.", key="birth", triples=[("Alice", "born_in", "Lisbon")], observed_by="Bob")

    assert line(space, "Alice", "born_in") == ["Lisbon, any time"]


def test_what_had_ended_before_it_was_told_can_be_ended_then(space: Space) -> None:
    """She lived there, it turns out, only before anybody noted it."""
    space.graph.relate("Alice", "lives_in", "Porto")
    space.graph.invalidate("Alice", "lives_in", valid_until="2025-03-01")

    assert line(space, "Alice", "lives_in") == ["Porto, until 2025-03-01"]


@pytest.mark.parametrize("way", ["add", "remember"])
def test_what_is_said_again_after_it_was_replaced_holds_again(space: Space, clock: FakeClock, way: str) -> None:
    """Word for word the same, it is news; said once more, it is not."""
    for town in ("Porto", "Lisbon", "Porto", "Porto"):
        getattr(space, way)(f"Alice lives in {town}.")
        clock.advance(days=1)

    assert [relation.object for relation in space.graph.when("Alice", "lives_in")] == ["Porto", "Lisbon", "Porto"]
    assert space.recall("Where does Alice live?")[0].memory.text == "Alice lives in Porto."


def test_an_erased_memory_supports_nothing(space: Space) -> None:
    """Neither its own claims nor those it was evidence for."""
    space.add("Alice was here.")
    memory = space.add("Alice lives in Porto.")
    space.graph.relate("Alice", "knows", "Bob", evidence=memory)
    space.erase(memory.id)

    assert around(space, "Alice") == []


def test_ending_stamps_the_end_and_keeps_the_line(space: Space, clock: FakeClock) -> None:
    """What had been replaced does not come back, and a view of before knows nothing of it."""
    space.graph.relate("Alice", "works_at", "Acme", valid_from="2025")
    job = space.graph.relate("Alice", "works_at", "Globex", valid_from="2026")
    before = clock.now()
    clock.advance(days=1)
    (ended,) = space.graph.invalidate_edge(job, valid_until="2026-04", why="she left")

    assert (ended.id, str(ended.valid)) == (job.id, "2026-01-01 to 2026-04-01")
    assert line(space, "Alice", "works_at")[0] == "Acme, 2025-01-01 to 2026-01-01"
    assert around(space, "Alice", at=clock.now()) == []
    assert line(space, "Alice", "works_at", as_of=before)[-1] == "Globex, since 2026-01-01"


def test_what_has_ended_cannot_end_again(space: Space, clock: FakeClock) -> None:
    """Nor is it written again; who states it again corroborates it, and one end is one event."""
    space.graph.relate("Alice", "works_at", "Acme", observed_by="Ann")
    space.graph.relate("Alice", "works_at", "Acme", observed_by="Bob")
    clock.advance(days=1)
    space.graph.invalidate("Alice", "works_at", "Acme")
    clock.advance(days=1)

    with pytest.raises(NotFound, match="does not hold"):
        space.graph.invalidate("Alice", "works_at", "Acme")
    assert [(e.kind, e.actor) for e in space.graph.timeline("Alice")] == [
        ("edge added", "Ann"),
        ("edge corroborated", "Bob"),
        ("edge invalidated", None),
    ]


def test_ending_what_two_memories_say_ends_both(space: Space, clock: FakeClock) -> None:
    """Or the second would go on saying it; said again later, it is news."""
    first = space.add("Alice works at Acme.")
    space.add("At Acme, Alice is well known.", triples=[("Alice", "works_at", "Acme")])
    clock.advance(days=1)
    space.graph.invalidate("Alice", "works_at", "Acme")

    assert around(space, "Alice", at=clock.now()) == []
    assert ask(space, "is_stale", 0)
    clock.advance(days=1)
    space.graph.relate("Alice", "works_at", "Acme")
    assert around(space, "Alice", at=clock.now()) == ["Alice works_at Acme"]
    (held, _) = ask(space, "timeline", "Alice", "works_at")
    assert held.evidence[0] == first.id


def test_ending_at_the_moment_of_a_move_ends_the_old_home(space: Space) -> None:
    """What holds up to that moment, not what begins with it."""
    space.graph.relate("Alice", "lives_in", "Porto", valid_from="2026-01")
    space.graph.relate("Alice", "lives_in", "Lisbon", valid_from="2026-03")

    assert [ended.object for ended in space.graph.invalidate("Alice", "lives_in", valid_until="2026-03")] == ["Porto"]
    assert line(space, "Alice", "lives_in") == ["Porto, 2026-01-01 to 2026-03-01", "Lisbon, since 2026-03-01"]


def test_a_relation_that_is_ended_where_it_begins_never_held(space: Space) -> None:
    """That is how a mistake is taken back, and what it had closed is open again."""
    space.graph.relate("Alice", "lives_in", "Porto", valid_from="2026-01")
    wrong = space.graph.relate("Alice", "lives_in", "Lisbon", valid_from="2026-03")
    space.graph.invalidate_edge(wrong.id, valid_until="2026-03")

    assert line(space, "Alice", "lives_in") == ["Porto, since 2026-01-01"]
    taken_back = ask(space, "get", wrong.id)
    assert taken_back.valid.start == taken_back.valid.end


# Names


def test_names_of_one_entity_share_its_relations(space: Space) -> None:
    """What is said of an alias is said of the entity."""
    with space._engine.open_index(space.name):
        registered = remanence.events.Registered("e" + "0" * 16, "Robert", (remanence.schema.Alias("Bob"),))
        space._engine.write(space.name, lambda _: [registered])
    space.graph.relate("Robert", "lives_in", "Porto", valid_from="2025")
    space.graph.relate("Bob", "lives_in", "Faro", valid_from="2026")

    assert line(space, "bob", "lives_in") == ["Porto, 2025-01-01 to 2026-01-01", "Faro, since 2026-01-01"]
    assert around(space, "Robert", at=on("2026-02-01")) == ["Bob lives_in Faro"]


def test_beside_gives_what_is_tied_now(space: Space) -> None:
    """The other name and the predicate, from either end; not what is past or was replaced."""
    space.graph.relate("Alice", "lives_in", "Porto", valid_from="2025")
    space.graph.relate("Alice", "lives_in", "Lisbon", valid_from="2026")
    space.graph.relate("Alice", "visited", "Rome", valid_until="2020")
    space.graph.relate("Bob", "knows", "Alice")

    with space._engine.open_index(space.name) as index:
        names = index.names
        assert [(names.spellings[n], p, out) for n, p, out, _ in ask(space, "related_names", "Alice")] == [
            ("Lisbon", "lives_in", True),
            ("Bob", "knows", False),
        ]
        assert ask(space, "related_names", "Porto") == []


# Saying the same again, and saying it wrongly


def test_the_very_same_again_writes_nothing(space: Space) -> None:
    """Relations, declarations and endings alike."""
    memory = space.add("Alice knows Bob well.")
    told: list[Callable[[], Any]] = [
        lambda: space.graph.relate("Alice", "lives_in", "Porto", valid_from="2026", evidence=memory),
        lambda: space.graph.relate("alice", "Likes", "Tea"),
        lambda: space.graph.declare("works_at", single_valued=True, inverse="employs"),
        lambda: space.graph.declare("employs", inverse="works_at"),
        lambda: space.graph.invalidate("Alice", "likes", valid_until="2026-06-01"),
    ]
    first = [tell() for tell in told]
    with space._engine.open_index(space.name) as index:
        position = index.catalog.position
        assert [tell() for tell in (told[0], told[2], told[3], told[4])] == [first[0], None, None, first[4]]
        assert index.catalog.position == position
    assert space.admin.check() == {}


def test_an_undated_claim_is_news_after_another_took_its_place(space: Space, clock: FakeClock) -> None:
    """Porto, Lisbon, and back to Porto: three moves."""
    for place in ("Porto", "Porto", "Lisbon", "Porto"):
        space.graph.relate("Alice", "lives_in", place)
        clock.advance(days=1)

    assert [held.split(",")[0] for held in line(space, "Alice", "lives_in")] == ["Porto", "Lisbon", "Porto"]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (lambda graph: graph.relate("Alice", "lives->in", "Porto"), "'>'"),
        (lambda graph: graph.relate("Alice", " _ ", "Porto"), "contains no word"),
        (lambda graph: graph.relate("Alice", "lives_in\n", "Porto"), r"contains '\\n'"),
        (lambda graph: graph.relate("Alice", "x" * 200, "Porto"), "at most 128"),
        (lambda graph: graph.relate("Alice", 7, "Porto"), "predicate=7"),
        (lambda graph: graph.relate(" ", "likes", "tea"), "subject=' ' is blank"),
        (lambda graph: graph.relate("Alice", "likes", "x" * 600), "object has 600"),
        (lambda graph: graph.relate("Alice", "likes", "tea", confidence=2), "confidence=2"),
        (lambda graph: graph.relate("A", "likes", "b", valid_from="2026", valid_until="2025"), "does not come after"),
        (lambda graph: graph.relate("Alice", "likes", "tea", evidence=7), "Give a list of memories"),
        (lambda graph: graph.declare("likes"), "nothing is declared about 'likes'"),
        (lambda graph: graph.declare("likes", single_valued="yes"), "single_valued='yes'"),
        (lambda graph: graph.invalidate_edge(7), "neither a relation"),
    ],
)
def test_what_cannot_be_said_is_refused(space: Space, wrong: Any, complaint: str) -> None:
    """With what is wrong and how to mend it, and nothing is written."""
    with pytest.raises(InvalidInput, match=complaint):
        wrong(space.graph)
    with space._engine.open_index(space.name) as index:
        assert index.catalog.position == 0


def test_what_is_not_there_cannot_be_spoken_of(space: Space) -> None:
    """Unknown and forgotten memories, unknown relations, what does not hold, an entity nobody knows."""
    gone = space.add("Alice likes tea.")
    space.forget(gone.id)
    job = space.graph.relate("Alice", "works_at", "Acme", valid_from="2026-03")
    with pytest.raises(NotFound, match="has no memory 'nope'"):
        space.graph.relate("Alice", "likes", "tea", evidence="nope")
    with pytest.raises(NotFound, match="is forgotten"):
        space.graph.relate("Alice", "likes", "tea", evidence=gone)
    with pytest.raises(NotFound, match="no relation or link 'nope'"):
        space.graph.invalidate_edge("nope")
    with pytest.raises(NotFound, match="Alice lives_in anything"):
        space.graph.invalidate("Alice", "lives_in")
    with pytest.raises(NotFound, match="has no entity"):
        space.graph.relate("e0123456789abcdef", "likes", "tea")
    with pytest.raises(InvalidInput, match=r"is before .* begins"):
        space.graph.invalidate_edge(job, valid_until="2026-02")


# Keeping


def test_relations_are_the_same_after_a_rebuild_and_after_opening_again(reopen: Reopen, clock: FakeClock) -> None:
    """They are arithmetic over the ledger, with a snapshot or without."""
    space = reopen()
    memory = space.add("Alice lives in Porto.", observed_by="ann")
    space.graph.relate("Alice", "likes", "tea", evidence=memory, confidence=0.7)
    space.graph.declare("works_at", inverse="employs")
    space.graph.relate("Acme", "employs", "Alice")
    clock.advance(days=1)
    space.graph.invalidate("Alice", "lives_in", "Porto")

    def everything(space: Space) -> list[Relation]:
        found: list[Relation] = ask(space, "relations_of", "Alice")
        return found

    before = everything(space)
    assert len(before) == 3
    assert space.admin.check() == {}
    space = reopen()
    assert everything(space) == before
    space.rebuild()
    assert everything(space) == before
    assert space.admin.check() == {}


def test_what_disagrees_in_a_space_is_listed(space: Space) -> None:
    """By links and by claims, each pair once, by kind; what is hidden is not."""
    first = space.add("Ana lives in Porto.", valid_from="2024-01-01", observed_by="Bob")
    second = space.add("Ana lives in Rome.", valid_from="2024-01-01", observed_by="Eve")
    later = space.add("Ana lives in Faro.", valid_from="2025-01-01")
    door, code = space.add("The door is open."), space.add("The door is shut.")
    space.graph.link(code, "contradicts", door)

    found = space.graph.disagreements()
    assert [(memory.id, each.memory.id, each.kind) for memory, each in found] == [
        (first.id, second.id, "conflict"),
        (door.id, code.id, "conflict"),
    ]
    assert {each.memory.id for _, each in space.graph.disagreements(["succession"])} == {later.id}
    space.forget(code)
    assert len(space.graph.disagreements()) == 1
    with pytest.raises(InvalidInput, match="succession, correction, conflict, coexistence"):
        space.graph.disagreements("quarrel")


def test_a_question_reads_each_claim_once(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if somebody has many under one predicate, and each hit is compared with all of them."""
    read: list[int] = []

    class Counted(claim_view.EntityEdge):
        __slots__ = ()

        def __new__(cls, stated: Any, *given: Any) -> Any:
            read.append(stated.number)
            return super().__new__(cls, stated, *given)

    space.add_many(
        {"text": f"Alice visited Town{n}.", "triples": [("Alice", "visited", f"Town{n}")], "valid_from": f"2024-03-{n}"}
        for n in range(10, 31)
    )
    monkeypatch.setattr(claim_view, "EntityEdge", Counted)
    space.recall("What did Alice visit in March 2024?", history=True)
    assert len(set(read)) == 21
    assert len(read) == len(set(read))


def test_an_observer_has_a_name() -> None:
    """As for `add` and for entities: a blank one would be nobody."""
    with remanence.open(None) as space:
        with pytest.raises(InvalidInput, match="observed_by=' ' is blank"):
            space.graph.relate("Ann", "likes", "tea", observed_by=" ")
        with pytest.raises(InvalidInput, match="observed_by=' ' is blank"):
            space.graph.invalidate("Ann", "likes", "tea", observed_by=" ")


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("Kim works at Bolt, which was founded in 2014.", "since 2026-01-01"),
        ("Kim works at Bolt, she was ill in 2014.", "since 2026-01-01"),
        ("Kim works at Bolt because it moved to Oslo in 2014.", "since 2026-01-01"),
        ("Kim works at Bolt; the firm was sold in 2014.", "since 2026-01-01"),
        ("Kim works at Bolt, a bank, since 2014.", "since 2014-01-01"),
    ],
)
def test_the_time_of_a_side_clause_is_not_that_of_a_relation(text: str, valid: str) -> None:
    """It neither began nor ended then."""
    with remanence.open(None, clock=FakeClock("2026-01-01"), reader=None) as space:
        space.add(text)
        assert line(space, "Kim", "works_at") == [f"Bolt, {valid}"]


def test_what_is_said_to_last_until_a_day_is_over_after_it() -> None:
    """And an event of one day has happened, whenever it is asked about."""
    clock = FakeClock("2026-03-01")
    with remanence.open(None, clock=clock, reader=None) as space:
        space.add("Swimming hall closed until 8 May.")
        space.add("The swimming hall celebrates on 9 May.")
        assert [hit.memory.kind for hit in space.recent()] == ["episode", "semantic"]
        assert all(hit.current for hit in space.recall("swimming hall", now="2026-05-08"))
        over = {hit.memory.text: hit.current for hit in space.recall("swimming hall", now="2026-06-01", history=True)}
        assert over == {"Swimming hall closed until 8 May.": False, "The swimming hall celebrates on 9 May.": True}

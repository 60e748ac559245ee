"""Timelines, histories and differences: what happened, in order, who did it, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model_replies import USER_FACTS
from remanence import InvalidInput, NotFound, Relation, Space
from remanence.graph.history import HistoryEvent
from remanence.schema import Link, Memory
from remanence.testing import FakeClock


def told(happenings: list[HistoryEvent]) -> list[str]:
    """What happened to what: 'edge added Alice —lives_in→ Porto'."""
    return [f"{h.kind} {h.description.split(' (')[0]}" for h in happenings]


# Timelines


def test_a_timeline_tells_all_that_happens_to_an_entity(space: Space, clock: FakeClock) -> None:
    """Each thing once, in the order in which it was learned, with who did it and why."""
    porto = space.add("Alice lives in Porto.", observed_by="Ann")
    clock.advance(days=1)
    job = space.graph.relate("Alice", "works_at", "Acme", observed_by="Bob")
    clock.advance(days=1)
    space.graph.invalidate_edge(job, why="she left", observed_by="Cem")
    clock.advance(days=1)
    space.forget(porto.id, why="she asked")
    clock.advance(days=1)
    space.unforget(porto.id)
    clock.advance(days=1)
    space.entities.register("Alice Smith")
    space.entities.merge("Alice", "Alice Smith", why="same person", observed_by="Dora")

    story = space.graph.timeline("Alice")

    assert [(h.kind, h.actor) for h in story] == [
        ("memory added", "Ann"),
        ("edge added", "Ann"),
        ("edge added", "Bob"),
        ("edge invalidated", "Cem"),
        ("forgotten", None),
        ("restored", None),
        ("registered", None),
        ("merged", "Dora"),
    ]
    assert [h.recorded_at for h in story] == sorted(h.recorded_at for h in story)
    assert [h.position for h in story] == sorted(h.position for h in story)
    assert [h.why for h in story if h.kind in ("edge invalidated", "forgotten")] == ["she left", "she asked"]
    assert [type(h.value) for h in story[:3]] == [Memory, Relation, Relation]


def test_a_promotion_is_part_of_the_history(space: Space) -> None:
    """And so is that it was undone."""
    memory = space.add("Postgres for billing.")
    space.upkeep.promote(memory)
    space.upkeep.undo(space.upkeep.runs()[-1])

    assert [h.kind for h in space.graph.timeline(memory)] == ["memory added", "promoted", "demoted"]
    assert [h.kind for h in space.graph.timeline(memory)] == ["memory added", "promoted", "demoted"]


@pytest.mark.parametrize("linked", [False, True])
def test_what_was_replaced_has_it_in_its_own_timeline(linked: bool, space: Space, clock: FakeClock) -> None:
    """Whether a link says so, or a later value of a relation does."""
    old = space.add("Alice lives in Porto.")
    clock.advance(days=1)
    new = space.add("Lisbon is nice." if linked else "Alice lives in Lisbon.")
    if linked:
        space.graph.link(new, "supersedes", old)

    [event] = space.graph.timeline(old, relations="supersedes")
    value = event.value
    assert isinstance(value, Link | Memory)
    assert (event.kind, value.source if isinstance(value, Link) else value.id) == (
        "edge added" if linked else "superseded",
        new.id,
    )


def test_a_happening_reads_as_a_sentence(space: Space) -> None:
    """When, what, by whom and why."""
    memory = space.add("The bridge is closed.", observed_by="Ann")
    space.forget(memory.id, why="it is open again")

    assert [str(h) for h in space.graph.timeline(memory)] == [
        "2026-05-04 09:00: 'The bridge is closed.' was learned by Ann.",
        "2026-05-04 09:00: 'The bridge is closed.' was forgotten: it is open again.",
    ]


def test_an_edge_ends_when_another_takes_its_place(space: Space, clock: FakeClock) -> None:
    """Nobody ended Porto by hand: Lisbon did, in the very line that says Lisbon."""
    space.add("Alice lives in Porto.")
    clock.advance(days=30)
    lisbon = space.add("Alice lives in Lisbon.")

    story = space.graph.timeline("Alice")

    assert told(story) == [
        "memory added 'Alice lives in Porto.'",
        "edge added Alice —lives_in→ Porto",
        "memory added 'Alice lives in Lisbon.'",
        "edge added Alice —lives_in→ Lisbon",
        "superseded 'Alice lives in Porto.'",
        "edge invalidated Alice —lives_in→ Porto",
    ]
    assert isinstance(story[4].value, Memory)
    assert story[4].value.id == lisbon.id
    assert story[5].why.startswith("followed by Alice —lives_in→ Lisbon")


def test_a_late_fact_ends_where_a_known_one_begins(space: Space, clock: FakeClock) -> None:
    """Learned after Lisbon, Porto is over from the moment it is learned."""
    space.graph.relate("Alice", "lives_in", "Lisbon", valid_from="2026-04-01")
    clock.advance(days=1)
    space.graph.relate("Alice", "lives_in", "Porto", valid_from="2024-01-01")

    story = space.graph.timeline("Alice")

    assert told(story)[1:] == ["edge added Alice —lives_in→ Porto", "edge invalidated Alice —lives_in→ Porto"]
    assert story[1].position == story[2].position


def test_a_timeline_of_a_memory_has_its_versions_and_its_links(space: Space) -> None:
    """A revision, a link drawn from it, and one that puts another in its place."""
    memory = space.add("Ring twice, then 4711.", key="code")
    space.add("Ring twice, then 1234.", key="code")
    other = space.add("Codes are on the door.")
    space.graph.link(memory.id, "related_to", other, observed_by="Ann")
    space.graph.link(other, "supersedes", memory.id, observed_by="Bob", why="it says all")

    story = space.graph.timeline(memory.id)

    assert [(h.kind, h.actor, h.why) for h in story] == [
        ("memory added", None, None),
        ("memory revised", None, None),
        ("edge added", "Ann", None),
        ("superseded", "Bob", "it says all"),
        ("edge added", "Bob", "it says all"),
    ]
    assert isinstance(story[2].value, Link)
    assert [h.kind for h in space.graph.timeline(memory.id, relations="supersedes")] == ["edge added"]
    assert [h.kind for h in space.graph.timeline(other)] == ["memory added", "edge added", "edge added"]


def test_what_is_forgotten_keeps_its_story(space: Space) -> None:
    """A timeline of now does not hide what was there: that it was forgotten is part of it."""
    memory = space.add("Alice lives in Porto.")
    space.forget(memory.id)

    assert told(space.graph.timeline("Alice")) == [
        "memory added 'Alice lives in Porto.'",
        "edge added Alice —lives_in→ Porto",
        "forgotten 'Alice lives in Porto.'",
    ]


def test_what_is_forgotten_ended_nothing(space: Space, clock: FakeClock) -> None:
    """That there was a Lisbon is told; with it gone, Porto goes on as if it had not been."""
    space.add("Alice lives in Porto.")
    clock.advance(days=1)
    lisbon = space.add("Alice lives in Lisbon.")
    assert "edge invalidated" in [h.kind for h in space.graph.timeline("Alice")]
    space.forget(lisbon.id)

    story = [h.kind for h in space.graph.timeline("Alice")]

    assert story == ["memory added", "edge added", "memory added", "edge added", "forgotten"]


def test_a_story_of_an_erased_memory_has_no_words(space: Space) -> None:
    """When it was added, forgotten and erased is told; what it said is nowhere."""
    memory = space.add("Alice lives in Porto.")
    space.forget(memory.id, why="it names Porto")
    space.erase(memory.id)

    story = space.graph.timeline(memory.id)

    assert [h.kind for h in story] == ["memory added", "forgotten", "erased"]
    assert [h.value for h in story] == [None, None, None]
    assert "Porto" not in str([str(h) for h in story])


def test_the_reason_of_a_link_to_an_erased_memory_is_not_told(space: Space) -> None:
    """It may hold the very words that were to go."""
    old, new = space.add("Alice lives in Porto."), space.add("Alice lives in Lisbon.")
    space.graph.link(new, "supersedes", old, why="Lisbon now, not Porto", observed_by="Ann")
    space.erase(old.id)

    assert [h.kind for h in space.graph.timeline(old.id)] == ["memory added", "erased"]
    for node in (old.id, new):
        assert "Porto" not in str(space.graph.timeline(node))


def test_names_given_split_and_undone_are_told(space: Space) -> None:
    """Each line about what something is called is in the story of every entity that it concerns."""
    space.entities.register("Alice Smith", aliases=["A. Smythe"], observed_by="Ann")
    space.entities.rename("Alice Smith", "Alice Jones", observed_by="Bob")
    split = space.entities.split("Alice Jones", ["A. Smythe"], why="another person")
    space.entities.undo(split, why="no, the same", observed_by="Cem")

    story = space.graph.timeline("Alice Jones")

    assert [(h.kind, h.actor) for h in story] == [
        ("registered", "Ann"),
        ("renamed", "Bob"),
        ("split", None),
        ("undone", "Cem"),
    ]


def test_since_and_until_keep_to_when_it_was_learned(space: Space, clock: FakeClock) -> None:
    """The first is included and the second is not, as everywhere."""
    for name in ("Bob", "Cem", "Dora"):
        space.graph.relate("Alice", "knows", name)
        clock.advance(days=1)

    def between(since: Any, until: Any) -> list[str]:
        return [h.description.split()[2] for h in space.graph.timeline("Alice", since=since, until=until)]

    assert between("2026-05-05", None) == ["Cem", "Dora"]
    assert between("2026-05-05T09:00", "2026-05-06T09:00") == ["Cem"]
    assert between(None, "2026-05-05T09:00") == ["Bob"]
    assert between("0001-01-01", None) == ["Bob", "Cem", "Dora"]


def test_a_timeline_can_keep_to_some_relations(space: Space) -> None:
    """Only edges of these names; "mentions" stands for what happened to memories."""
    space.graph.declare("parent_of", inverse="child_of")
    space.add("Alice lives in Porto.")
    space.graph.relate("Alice", "parent_of", "Bob")

    assert told(space.graph.timeline("Alice", relations="lives_in")) == ["edge added Alice —lives_in→ Porto"]
    assert told(space.graph.timeline("Bob", relations=["child_of"])) == ["edge added Alice —parent_of→ Bob"]
    assert told(space.graph.timeline("Alice", relations=["mentions"])) == ["memory added 'Alice lives in Porto.'"]


def test_a_view_of_the_past_tells_what_was_known_then(space: Space, clock: FakeClock) -> None:
    """What happened later is not in the story, and what was learned later has none."""
    memory = space.add("Alice lives in Porto.")
    monday = clock.now()
    clock.advance(days=1)
    space.forget(memory.id)
    later = space.add("Bob lives in Rome.")

    past = space.as_of(monday)

    assert [h.kind for h in past.graph.timeline("Alice")] == ["memory added", "edge added"]
    assert [h.kind for h in past.graph.timeline(memory)] == ["memory added", "edge added"]
    for unknown in (later.id, "Bob"):
        with pytest.raises(NotFound):
            past.graph.timeline(unknown)


def test_a_story_never_leaves_its_space(space: Space) -> None:
    """Two siblings know an Alice each, and neither hears of the other's."""
    mine, theirs = space.child("a"), space.child("b")
    mine.graph.relate("Alice", "knows", "Bob")
    theirs.graph.relate("Alice", "knows", "Cem")
    theirs.add("Alice sings.")

    assert told(mine.graph.timeline("Alice")) == ["edge added Alice —knows→ Bob"]


# Histories


def test_a_history_also_tells_who_read_it_and_who_was_given_it(reopen: Callable[..., Space]) -> None:
    """Extractions and recorded recalls are part of the timeline."""
    space = reopen(extractor=USER_FACTS)
    [fact] = space.remember("I live in Porto.", observed_by="Alice")
    space.audit.record(space.recall("Where does Alice live?"))

    whole = space.graph.timeline(fact)

    assert {"extracted", "served"} <= {h.kind for h in whole}
    [read] = [h for h in whole if h.kind == "extracted"]
    [served] = [h for h in whole if h.kind == "served"]
    assert (read.actor, served.why) == ("scripted", "asked 'Where does Alice live?'")


def test_a_history_goes_on_after_it_was_asked_for(space: Space) -> None:
    """What is learned between two questions is in the second answer."""
    memory = space.add("Alice sings.")
    before = space.graph.timeline(memory)
    space.forget(memory.id)

    assert [h.kind for h in space.graph.timeline(memory)] == [*(h.kind for h in before), "forgotten"]


def test_evidence_for_a_relation_is_part_of_a_memorys_history(space: Space) -> None:
    """Whoever looks at the memory sees what rests on it, and that it was ended."""
    contract = space.add("A contract.")
    job = space.graph.relate("Alice", "works_at", "Acme", evidence=contract, observed_by="Ann")
    space.graph.invalidate_edge(job, observed_by="Bob")

    assert [(h.kind, h.actor) for h in space.graph.timeline(contract)] == [
        ("memory added", None),
        ("edge added", "Ann"),
        ("edge invalidated", "Bob"),
    ]


def test_a_history_is_the_same_after_a_rebuild_and_in_another_process(
    reopen: Callable[..., Space], clock: FakeClock
) -> None:
    """It is read from the ledger, so nothing of it is lost with an index."""
    space = reopen()
    memory = space.add("Alice lives in Porto.", key="home")
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.", key="home")
    space.graph.invalidate("Alice", "lives_in", "Lisbon", why="unsure")
    before = told(space.graph.timeline("Alice")), told(space.graph.timeline(memory))
    space.rebuild()

    assert (told(space.graph.timeline("Alice")), told(space.graph.timeline(memory))) == before
    space = reopen()
    assert (told(space.graph.timeline("Alice")), told(space.graph.timeline(memory))) == before


def test_every_line_of_a_history_is_found_again(reopen: Callable[..., Space], clock: FakeClock) -> None:
    """Whatever was done to a memory, it is told the same from a snapshot and from a rebuild."""
    space = reopen(extractor=USER_FACTS)
    [memory] = space.remember("I live in Porto until June.", observed_by="Alice")
    other = space.add("An offer for Alice.", expires_at="2026-05-05")
    space.forget(memory.id, why="she asked")
    space.unforget(memory.id)
    space.audit.record(space.recall("Where does Alice live?"))
    space.graph.invalidate_edge(space.graph.link(other, "supports", memory, observed_by="Ann"), observed_by="Bob")
    space.graph.invalidate_edge(space.graph.relate("Alice", "knows", "Bob", evidence=memory), observed_by="Cem")
    clock.advance(days=2)
    space.upkeep.expire()
    gone = space.add("A secret.")
    space.erase(gone.id)
    nodes = (memory.id, other.id, gone.id, "Alice", "Bob")

    before = [[str(h) for h in space.graph.timeline(node)] for node in nodes]

    happened = {h.kind for node in nodes for h in space.graph.timeline(node)}
    assert happened >= {"memory added", "forgotten", "restored", "erased", "expired", "extracted", "served"}
    assert happened >= {"edge added", "edge invalidated"}
    space = reopen()
    assert [[str(h) for h in space.graph.timeline(node)] for node in nodes] == before
    space.rebuild()
    assert [[str(h) for h in space.graph.timeline(node)] for node in nodes] == before


# Differences


def test_a_diff_sorts_what_changed_into_lists(space: Space, clock: FakeClock) -> None:
    """Learned, revised, superseded, forgotten, restored, erased, related, linked, ended and named."""
    porto = space.add("Alice lives in Porto.")
    code = space.add("Ring 4711.", key="code")
    note, gone, secret = space.add("A note."), space.add("Gone soon."), space.add("A secret.")
    space.forget(note.id)
    job = space.graph.relate("Bob", "works_at", "Acme")
    monday = clock.now()
    clock.advance(days=1)
    lisbon = space.add("Alice lives in Lisbon.")
    space.add("Ring 1234.", key="code")
    space.unforget(note.id)
    space.forget(gone.id)
    space.erase(secret.id)
    space.graph.relate("Bob", "knows", "Cem")
    space.graph.invalidate_edge(job)
    space.graph.link(lisbon, "related_to", note)
    space.entities.register("Bob", aliases=["Robert"])
    tuesday = clock.now()
    clock.advance(days=1)
    space.add("Dora lives in Rome.")

    changed = space.audit.diff(monday, tuesday)

    assert [m.id for m in changed.learned] == [lisbon.id]
    assert [(m.id, m.text) for m in changed.revised] == [(code.id, "Ring 1234.")]
    assert [m.id for m in changed.superseded] == [porto.id]
    assert [m.id for m in changed.forgotten] == [gone.id]
    assert [m.id for m in changed.restored] == [note.id]
    assert changed.erased == (secret.id,)
    assert {r.object for r in changed.related} == {"Cem", "Lisbon"}
    assert [link.kind for link in changed.linked] == ["related_to"]
    assert [edge.id for edge in changed.invalidated] == [job.id]
    assert [h.kind for h in changed.entity_events] == ["registered"]
    assert str(changed).startswith("1 learned, 1 revised, 1 superseded")
    assert not space.audit.diff(tuesday, tuesday)


def test_a_diff_takes_words_and_stops_where_the_view_does(space: Space, clock: FakeClock) -> None:
    """Without an end it goes up to now, and in a view of the past to that moment."""
    clock.advance(days=1)
    space.add("Alice sings.")
    then = clock.now()
    clock.advance(days=7)
    space.add("Bob sings.")

    assert [m.text for m in space.audit.diff("last week").learned] == ["Alice sings.", "Bob sings."]
    assert [m.text for m in space.audit.diff("2026-05-04").learned] == ["Alice sings.", "Bob sings."]
    assert [m.text for m in space.as_of(then).audit.diff("2026-05-04", "2026-12-31").learned] == ["Alice sings."]
    assert str(space.audit.diff("2026-05-01", "2026-05-02")) == "nothing changed"


def test_a_memory_superseded_by_a_link_is_in_the_diff(space: Space, clock: FakeClock) -> None:
    """Once: in the time in which the link was drawn, and not in later ones."""
    old, new = space.add("The bridge is open."), space.add("The bridge was closed.")
    monday = clock.now()
    clock.advance(days=1)
    space.graph.link(new, "supersedes", old)
    tuesday = clock.now()
    clock.advance(days=1)
    space.add("It rains.")

    assert [m.id for m in space.audit.diff(monday, tuesday).superseded] == [old.id]
    assert space.audit.diff(tuesday).superseded == ()


def test_what_had_stepped_back_before_does_not_step_back_again(space: Space, clock: FakeClock) -> None:
    """A third home takes the place of the second; the first was left long ago."""
    space.add("Alice lives in Porto.")
    clock.advance(days=1)
    lisbon = space.add("Alice lives in Lisbon.")
    tuesday = clock.now()
    clock.advance(days=1)
    space.add("Alice lives in Faro.")

    assert [m.id for m in space.audit.diff(tuesday).superseded] == [lisbon.id]


def test_a_claim_that_is_only_repeated_is_not_new(space: Space, clock: FakeClock) -> None:
    """Another version of a memory that says the same relation again has not learned it anew."""
    space.add("Alice lives in Porto.", key="home")
    monday = clock.now()
    clock.advance(days=1)
    space.add("Alice lives in Porto, near the river.", key="home", triples=[("Alice", "lives_in", "Porto")])

    assert len(space.audit.diff(monday).revised) == 1
    assert space.audit.diff(monday).related == ()


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        (("2026-05-02", "2026-05-01"), "until='2026-05-01' comes before since='2026-05-02'"),
        (("2027-01-01",), "until='now' comes before"),
        (("the day of the frog",), "since='the day of the frog'"),
        ((7,), "since=7"),
    ],
)
def test_a_diff_of_no_stretch_of_time_is_refused(space: Space, ends: tuple[Any, ...], message: str) -> None:
    """The complaint shows both ends as they were given."""
    with pytest.raises(InvalidInput) as refused:
        space.audit.diff(*ends)
    assert message in str(refused.value)


async def test_stories_are_told_off_the_event_loop(space: Space, clock: FakeClock) -> None:
    """Each async twin gives what its verb gives."""
    monday = clock.now()
    clock.advance(days=1)
    memory = await space.aadd("Alice sings.")

    assert await space.graph.atimeline(memory) == space.graph.timeline(memory)
    assert await space.graph.atimeline("Alice") == space.graph.timeline("Alice")
    assert await space.audit.adiff(monday) == space.audit.diff(monday)

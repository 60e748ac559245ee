"""Walking the graph: where one comes to, at which time, and how two things are connected."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_tables import cases
from remanence import InvalidInput, Memory, NotFound, Relation, Space, Window
from remanence.events import Related
from remanence.graph import traversal
from remanence.graph.graph_at_time import GraphAtTime, GraphNode
from remanence.graph.traversal import FAN_OUT, Subgraph, intersection, join
from remanence.index.arrays.adjacency import Adjacency
from remanence.index.memory_cache import RowErased, retry_if_erased
from remanence.testing import FakeClock


def labels(walked: Subgraph) -> list[str]:
    return [node.label for node in walked.nodes]


def arrows(walked: Subgraph) -> list[str]:
    """The edges as text: 'Alice works_at Acme'."""
    called = {node.id: node.label for node in walked.nodes}
    return [f"{called[edge.source]} {edge.name} {called[edge.target]}" for edge in walked.edges]


# Where a walk comes to


def test_a_walk_goes_through_relations_links_and_mentions(space: Space) -> None:
    """From a name to what it is related to, to the memory that says so, and on to what that is linked to."""
    works = space.add("Alice works at Acme.")
    note = space.add("Note for later.")
    space.graph.link(note, "related_to", works)

    walked = space.graph.query("Alice")

    assert labels(walked) == ["Alice", "Acme", "Alice works at Acme.", "Note for later."]
    assert [node.depth for node in walked.nodes] == [0, 1, 1, 2]
    assert set(arrows(walked)) == {
        "Alice works_at Acme",
        "Alice works at Acme. mentions Alice",
        "Alice works at Acme. mentions Acme",
        "Note for later. related_to Alice works at Acme.",
    }
    assert (walked.depth_reached, walked.edges_walked, walked.truncated) == (2, 4, False)


def test_an_edge_tells_who_said_so_and_when(space: Space, clock: FakeClock) -> None:
    """A relation carries its window, when it was recorded, how sure it is, and its evidence."""
    proof = space.add("A contract.")
    space.graph.relate(
        *("Alice", "works_at", "Acme"), valid_from="2026-01-01", confidence=0.7, observed_by="Ann", evidence=proof
    )

    [edge] = space.graph.query("Alice", relations="works_at").edges

    assert (edge.name, edge.confidence, edge.observed_by) == ("works_at", 0.7, "Ann")
    assert (str(edge.valid), edge.recorded_at, edge.evidence) == ("since 2026-01-01", clock.now(), (proof.id,))


@pytest.mark.parametrize("start", ["id", "memory", "entity", "entity id", "name", "other spelling"])
def test_a_walk_starts_from_whatever_one_has_at_hand(space: Space, start: str) -> None:
    """A memory, an entity, the id of either, or a name however it is spelled."""
    memory = space.add("Alice works at Acme.")
    alice = space.entities.resolve("Alice")
    at_hand: dict[str, Any] = {"id": memory.id, "memory": memory, "entity": alice, "entity id": alice.id}
    at_hand |= {"name": "Alice", "other spelling": "ALICE"}

    walked = space.graph.query(at_hand[start], depth=1)

    assert walked.nodes[0].id in (memory.id, alice.id)
    assert "Acme" in labels(walked)


def test_depth_is_how_far_a_walk_goes(space: Space) -> None:
    """Each step more reaches one further, and what is beyond is not there."""
    for a, b in zip("ABCDE", "BCDEF", strict=True):
        space.graph.relate(f"Town {a}", "leads_to", f"Town {b}")

    for depth in range(1, 6):
        walked = space.graph.query("Town A", depth=depth)
        assert labels(walked) == [f"Town {letter}" for letter in "ABCDEF"[: depth + 1]]
        assert walked.depth_reached == depth
    assert space.graph.query("Town A", depth=8).depth_reached == 5


def test_direction_keeps_to_edges_out_of_or_into_each_node(space: Space) -> None:
    """Out of Bob is whom he mentors; into Bob is who mentors him and what names him."""
    space.graph.relate("Ann", "mentors", "Bob")
    space.graph.relate("Bob", "mentors", "Cem")
    note = space.add("Bob sings with Dora.", entities=["Bob", "Dora"], triples=[])

    assert labels(space.graph.query("Bob", direction="out")) == ["Bob", "Cem"]
    assert labels(space.graph.query("Bob", direction="in")) == ["Bob", "Ann", note.text]
    assert labels(space.graph.query("Bob")) == ["Bob", "Ann", "Cem", note.text, "Dora"]
    assert labels(space.graph.query(note, direction="in")) == [note.text]
    assert labels(space.graph.query(note, direction="out")) == [note.text, "Bob", "Dora", "Cem"]


def test_relations_keep_to_edges_of_some_names(space: Space) -> None:
    """Predicates, kinds of links and "mentions" are all names of edges."""
    works = space.add("Alice works at Acme.")
    space.graph.link(space.add("Note for later."), "supports", works)
    space.graph.relate("Alice", "knows", "Bob")

    assert arrows(space.graph.query("Alice", relations=["knows"])) == ["Alice knows Bob"]
    assert labels(space.graph.query(works, relations=["supports"])) == [works.text, "Note for later."]
    assert labels(space.graph.query("Alice", relations=["Mentions"], depth=2)) == ["Alice", works.text, "Acme"]


def test_a_relation_with_an_inverse_is_walked_from_both_ends(space: Space) -> None:
    """Out of the child goes child_of, though only parent_of was said."""
    space.graph.declare("parent_of", inverse="child_of")
    space.graph.relate("Ann", "parent_of", "Bob")

    assert arrows(space.graph.query("Bob", direction="out", depth=1)) == ["Bob child_of Ann"]
    assert arrows(space.graph.query("Ann", relations=["child_of"], depth=1)) == ["Bob child_of Ann"]


def test_circles_are_walked_once(space: Space) -> None:
    """Three who know each other are three nodes and three edges, however far the walk goes."""
    for a, b in (("Ann", "Bob"), ("Bob", "Cem"), ("Cem", "Ann")):
        space.graph.relate(a, "knows", b)

    walked = space.graph.query("Ann", depth=8)

    assert (len(walked.nodes), len(walked.edges), walked.edges_walked) == (3, 3, 3)


def test_an_answer_that_left_something_out_says_so(space: Space) -> None:
    """At most so many nodes are given; exactly so many is not too many."""
    for name in ("Bob", "Cem", "Dora"):
        space.graph.relate("Ann", "knows", name)

    few, all_of_them = space.graph.query("Ann", limit=3), space.graph.query("Ann", limit=4)

    assert (labels(few), few.truncated, few.edges_walked) == (["Ann", "Bob", "Cem"], True, 3)
    assert (len(all_of_them.nodes), all_of_them.truncated) == (4, False)


def test_a_hub_on_the_way_is_followed_to_its_newest_ties_only(space: Space) -> None:
    """A town that everybody visited does not fill the answer; asked about the town itself, all are there."""
    for number in range(FAN_OUT + 5):
        space.graph.relate(f"Guest {number}", "visited", "Rome")

    passing, direct = space.graph.query("Guest 0"), space.graph.query("Rome")

    assert passing.truncated
    assert len(passing.nodes) == FAN_OUT + 2
    assert f"Guest {FAN_OUT + 4}" in labels(passing)
    assert (len(direct.nodes), direct.truncated) == (FAN_OUT + 6, False)


def test_an_older_tie_is_found_behind_many_newer_ones_of_another_name(space: Space) -> None:
    """Asked for homes, what else she is tied to takes no room, and nothing was left out."""
    space.graph.relate("Alice", "lives_in", "Porto")
    for number in range(FAN_OUT + 1):
        space.graph.relate("Alice", "knows", f"Guest {number}")

    walked = space.graph.query("Alice", relations="lives_in", limit=2)

    assert (labels(walked), walked.truncated) == (["Alice", "Porto"], False)


def test_an_older_tie_is_found_behind_newer_ones_that_are_over(space: Space) -> None:
    """What holds no longer takes no room either."""
    space.graph.relate("Alice", "lives_in", "Porto", valid_from="2024")
    for number in range(FAN_OUT + 1):
        space.graph.relate("Alice", "visited", f"Town {number}", valid_from="2025", valid_until="2026")

    walked = space.graph.query("Alice", limit=2)

    assert (labels(walked), walked.truncated) == (["Alice", "Porto"], False)
    assert len(space.graph.query("Alice", at="2025-06-01").nodes) == FAN_OUT + 3


def test_a_walk_that_looked_at_the_newest_ties_only_says_so(space: Space) -> None:
    """So many are over that what holds may lie further back than is looked."""
    space.graph.relate("Alice", "lives_in", "Porto")
    with space._engine.open_index(space.name) as index:
        over = Window(datetime(2025, 1, 1, tzinfo=timezone.utc), datetime(2026, 1, 1, tzinfo=timezone.utc))
        lines = [Related(f"r{n}", "Alice", "visited", f"Town {n}", over) for n in range(5 * FAN_OUT)]
        space._engine.write(space.name, lambda _: list(lines))
        assert len(index.relations.name_numbers()) == 2 + len(lines)

    walked = space.graph.query("Alice", limit=2)

    assert (labels(walked), walked.truncated) == (["Alice"], True)


def test_a_walk_past_the_newest_ties_leaves_no_half_truth_behind(space: Space) -> None:
    """It may not have looked at all that says so; whoever asks for the whole of it afterwards gets it."""
    space.graph.relate("Alice", "knows", "Bob", valid_from="2020", valid_until="2024", observed_by="Ann")
    for number in range(FAN_OUT):
        space.graph.relate("Alice", "knows", f"Guest {number}", valid_from="2015")
    space.graph.relate("Alice", "knows", "Bob", valid_from="2018", valid_until="2022", observed_by="Cem")
    space.graph.relate("Dora", "knows", "Eve")  # so that nothing is at hand of what was just said

    assert space.graph.query("Alice", at="2019-01-01", limit=2).truncated
    assert [str(r.valid) for r in space.graph.when("Alice", "knows", "Bob")] == ["2018-01-01 to 2024-01-01"]


def test_the_same_walk_gives_the_same_list(space: Space) -> None:
    """Nothing in an answer depends on chance, and a rebuild does not change it."""
    for a, b in (("Ann", "Bob"), ("Bob", "Cem"), ("Ann", "Dora"), ("Dora", "Cem")):
        space.add(f"{a} knows {b}.", triples=[(a, "knows", b)])
    first = space.graph.query("Ann")
    space.rebuild()

    assert space.graph.query("Ann") == first


def test_the_ties_of_a_hub_are_complete_as_it_grows() -> None:
    """Looked at while its newest ties wait, and again after each time that they were folded in."""
    ties = Adjacency()
    for count in range(0, 20_000, 2_500):
        ties.extend([(0, other) for other in range(count + 1, count + 2_501)])
        assert ties.edges_of(0) == list(range(count + 2_500))
    assert ties.edges_of(7) == [6]


def test_a_loaded_graph_finds_the_edges_of_one_that_grew() -> None:
    """Also those that were added since, and an edge from a vertex to itself once."""
    rng = np.random.default_rng(3)
    ends = rng.integers(0, 9, (60, 2)).astype(np.int32)
    loaded, grown = Adjacency(ends.copy()), Adjacency()
    grown.extend([(int(a), int(b)) for a, b in ends])
    for new in [(3, 4), (5, 5), (1, 12)]:
        for vertex in (3, 5, 12, 99):
            assert loaded.edges_of(vertex) == grown.edges_of(vertex)
        loaded.extend([new])
        grown.extend([new])

    assert [loaded.edges_of(vertex) for vertex in range(14)] == grown.edges_of_each(range(14))


# At which time


def test_a_walk_takes_what_holds_at_the_moment(space: Space) -> None:
    """In 2025 she worked at Acme, now at Beta; each time the other one is not there."""
    space.graph.relate("Alice", "works_at", "Acme", valid_from="2024-01-01")
    space.graph.relate("Alice", "works_at", "Beta", valid_from="2026-01-01")

    assert labels(space.graph.query("Alice")) == ["Alice", "Beta"]
    assert labels(space.graph.query("Alice", at="2025-06-01")) == ["Alice", "Acme"]
    assert labels(space.graph.query("Alice", at="2023-06-01")) == ["Alice"]


def test_both_clocks_answer_what_we_believed_in_june_about_march(space: Space, clock: FakeClock) -> None:
    """In July it came out that she had worked at Beta in March already; June did not know."""
    space.graph.relate("Alice", "works_at", "Acme", valid_from="2026-01-01")
    june = clock.advance(days=42)
    clock.advance(days=30)
    space.graph.relate("Alice", "works_at", "Beta", valid_from="2026-03-01")

    assert labels(space.as_of(june).graph.query("Alice", at="2026-03-15")) == ["Alice", "Acme"]
    assert labels(space.graph.query("Alice", at="2026-03-15")) == ["Alice", "Beta"]
    assert labels(space.graph.query("Alice", at="2026-02-15")) == ["Alice", "Acme"]


def test_an_episode_once_happened_has_happened(space: Space) -> None:
    """A meeting of last March is a tie ever since, a fact of last March is one in March."""
    space.add("Alice met Bob on 3 March 2026.", triples=[])
    space.add(
        *("Alice knew Cem.",), valid_from="2026-03-01", valid_until="2026-04-01", entities=["Alice", "Cem"], triples=[]
    )

    assert "Bob" in labels(space.graph.query("Alice"))
    assert "Cem" not in labels(space.graph.query("Alice"))
    assert {"Bob", "Cem"} <= set(labels(space.graph.query("Alice", at="2026-03-20")))
    assert "Bob" not in labels(space.graph.query("Alice", at="2026-03-02"))


def test_a_name_is_read_as_it_was_then(space: Space) -> None:
    """What went by Twitter in 2020 goes by X now, and Twitter names nothing in 2025."""
    space.entities.register("X", aliases=[("Twitter", None, "2023-07-24")])
    space.graph.relate("Twitter", "based_in", "San Francisco", valid_from="2006")

    assert labels(space.graph.query("Twitter", at="2020-01-01")) == ["X", "San Francisco"]
    assert labels(space.graph.query("Twitter")) == ["X", "San Francisco"]
    with pytest.raises(NotFound, match="'Twitter' at 2025-01-01"):
        space.graph.query("Twitter", at="2025-01-01")


@pytest.fixture
def mercury(space: Space) -> tuple[str, str]:
    """A singer went by Mercury until 2020, a company since; these are their ids."""
    singer = space.entities.register("Freddie", aliases=[("Mercury", None, "2020")])
    company = space.entities.register("Planet Ltd", aliases=[("Mercury", "2020", None)])
    space.graph.relate("Mercury", "lives_in", "London", valid_from="2015")
    space.graph.relate("Mercury", "based_in", "Bern", valid_from="2022")
    space.add("Mercury sang.", entities=["Mercury"], triples=[], valid_from="2014")
    space.add("Mercury sells pens.", entities=["Mercury"], triples=[])
    return singer.id, company.id


def test_a_name_that_was_passed_on_means_whoever_had_it_then(space: Space, mercury: tuple[str, str]) -> None:
    """What is said of Mercury in 2015 is the singer's, what is said of it now the company's."""
    singer, company = mercury

    assert labels(space.graph.query(singer)) == ["Freddie", "London", "Mercury sang."]
    assert labels(space.graph.query(company)) == ["Planet Ltd", "Bern", "Mercury sells pens."]
    assert labels(space.graph.query("Mercury", depth=1)) == ["Planet Ltd", "Bern", "Mercury sells pens."]
    assert labels(space.graph.query("London", depth=1)) == ["London", "Freddie"]
    assert "Freddie" in labels(space.graph.query("Mercury", at="2016-01-01"))
    assert space.graph.path(singer, company) is None


def test_each_story_is_that_of_whoever_had_the_name_then(space: Space, mercury: tuple[str, str]) -> None:
    """Neither hears of what happened to the other."""
    stories = [{h.description.split(" (")[0] for h in space.graph.timeline(each)} for each in mercury]

    assert stories == [
        {"Freddie", "Freddie —lives_in→ London", "'Mercury sang.'"},
        {"Planet Ltd", "Mercury —based_in→ Bern", "'Mercury sells pens.'"},
    ]


def test_wherever_a_name_will_do_an_id_or_an_entity_will(space: Space, mercury: tuple[str, str]) -> None:
    """Each says the very one that is meant, whatever it was called."""
    for each in mercury:
        entity = space.entities.resolve(each)
        assert entity.id == each
        space.entities.rename(each, f"{entity.name} the Second")
        space.graph.relate(entity, "likes", "tea")  # as it was called before
        assert [r.subject for r in space.graph.when(each, "likes")] == [f"{entity.name} the Second"]
        assert [r.object for r in space.graph.invalidate(each, "likes")] == ["tea"]
    path = space.graph.path(mercury[0], "London")
    assert path.nodes[0].id == mercury[0]
    assert space.graph.temporal_join((mercury[0], "lives_in"), "before", (mercury[1], "based_in")) == []
    assert space.graph.timeline(mercury[1])[0].kind == "registered"


def test_merged_entities_are_one_node_from_then_on(space: Space, clock: FakeClock) -> None:
    """After the merge Bob's ties are Robert's; the view of before knows two people."""
    for name in ("Bob", "Robert Jones"):
        space.entities.register(name)
    space.graph.relate("Bob", "knows", "Ann")
    space.graph.relate("Robert Jones", "works_at", "Acme")
    before = clock.now()
    clock.advance(days=1)
    space.entities.merge("Bob", "Robert Jones")

    assert labels(space.graph.query("Bob")) == ["Robert Jones", "Ann", "Acme"]
    assert labels(space.graph.query("Bob", depth=1)) == labels(space.graph.query("Robert Jones", depth=1))
    assert labels(space.as_of(before).graph.query("Bob")) == ["Bob", "Ann"]


# What is not in sight


def test_what_is_forgotten_is_nowhere_in_a_walk(space: Space, clock: FakeClock) -> None:
    """The memory, and the relation that only it supports, are gone, and back with it."""
    memory = space.add("Alice works at Acme.")
    space.add("Alice sings.", entities=["Alice"], triples=[])
    before = clock.now()
    clock.advance(days=1)
    space.forget(memory.id)

    assert labels(space.graph.query("Alice")) == ["Alice", "Alice sings."]
    with pytest.raises(NotFound, match="forgotten"):
        space.graph.query(memory)
    with pytest.raises(NotFound, match="Acme"):
        space.graph.query("Acme")
    assert "Acme" in labels(space.as_of(before).graph.query("Alice"))
    space.unforget(memory.id)
    assert "Acme" in labels(space.graph.query("Alice"))


def test_what_has_expired_is_nowhere_in_a_walk(space: Space, clock: FakeClock) -> None:
    """An offer that ended yesterday ties nothing to anything, and did the day before."""
    space.add("Alice has an offer.", entities=["Alice"], triples=[], expires_at="2026-05-06")
    space.entities.register("Alice")
    there = clock.now()
    clock.advance(days=3)

    assert labels(space.graph.query("Alice")) == ["Alice"]
    assert len(space.as_of(there).graph.query("Alice").nodes) == 2


def test_an_erased_memory_leaves_no_words_in_a_walk(space: Space) -> None:
    """Neither its text nor what it claimed, in whichever view."""
    memory = space.add("Alice works at Acme.")
    space.add("Alice sings.", entities=["Alice"], triples=[])
    then = memory.revised_at
    space.erase(memory.id)

    for view in (space, space.as_of(then)):
        assert "Acme" not in str(view.graph.query("Alice"))
        with pytest.raises(NotFound):
            view.graph.query(memory.id)


def test_a_walk_never_leaves_its_space(space: Space) -> None:
    """What a sibling knows of Alice is not there, and its ids mean nothing here."""
    mine, theirs = space.child("a"), space.child("b")
    mine.graph.relate("Alice", "knows", "Bob")
    secret = theirs.add("Alice knows Cem.", triples=[("Alice", "knows", "Cem")])

    assert labels(mine.graph.query("Alice")) == ["Alice", "Bob"]
    assert mine.graph.path("Alice", "Bob") is not None
    for unknown in (secret.id, "Cem"):
        with pytest.raises(NotFound):
            mine.graph.query(unknown)


# How two things are connected


def test_a_path_is_the_shortest_and_each_step_has_its_evidence(space: Space) -> None:
    """Two who work at one place are two steps apart, though a longer way was said first."""
    for a, b in (("Alice", "Cem"), ("Cem", "Dora"), ("Dora", "Bob")):
        space.graph.relate(a, "knows", b)
    hers, his = space.add("Alice works at Acme."), space.add("Bob works at Acme.")

    path = space.graph.path("Alice", "Bob")

    assert path is not None
    assert len(path) == 2
    assert str(path) == "Alice —works_at→ Acme ←works_at— Bob"
    assert [step.evidence for step in path.steps] == [(hers.id,), (his.id,)]


def test_two_that_share_a_memory_are_connected_through_it(space: Space) -> None:
    """Where no relation was claimed, the memory that names both is the step between."""
    memory = space.add("Alice and Bob at the fair.", entities=["Alice", "Bob"], triples=[])

    path = space.graph.path("Alice", "Bob")

    assert path is not None
    assert [node.label for node in path.nodes] == ["Alice", memory.text, "Bob"]
    assert {step.evidence for step in path.steps} == {(memory.id,)}


def test_where_there_is_no_way_there_is_no_path(space: Space) -> None:
    """Not connected at all, too far apart, or not yet: None."""
    for a, b in zip("ABCD", "BCDE", strict=True):
        space.graph.relate(f"Town {a}", "leads_to", f"Town {b}", valid_from="2026-01-01")
    space.graph.relate("Island", "lies_in", "Ocean")

    assert space.graph.path("Town A", "Island") is None
    assert space.graph.path("Town A", "Town E", depth=3) is None
    assert len(space.graph.path("Town A", "Town E", depth=4) or ()) == 4
    assert space.graph.path("Town A", "Town E", at="2025-01-01") is None
    here = space.graph.path("Town A", "town a")
    assert here is not None
    assert (len(here), str(here)) == (0, "Town A")


@pytest.fixture
def two_hubs(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rome and Oslo, each with more ties than a path reads; the older ones lead on."""
    monkeypatch.setattr(traversal, "_PATH_FAN_OUT", 4)
    space.graph.relate("Ann", "visited", "Rome")
    space.graph.relate("Rome", "twinned_with", "Oslo", valid_from="2020-01-01")
    space.graph.relate("Bob", "visited", "Oslo")
    space.graph.relate("Rome", "trades_with", "Bonn")
    space.graph.relate("Cem", "visited", "Bonn")
    for number in range(9):
        space.graph.relate(f"Guest {number}", "visited", "Rome")
        space.graph.relate(f"Visitor {number}", "visited", "Oslo")


@pytest.mark.usefixtures("two_hubs")
def test_a_path_leads_through_the_older_ties_of_a_hub(space: Space) -> None:
    """They are read from their other ends, also where no step is left."""
    for depth in (3, 6):
        path = space.graph.path("Ann", "Cem", depth=depth)
        assert str(path) == "Ann —visited→ Rome —trades_with→ Bonn ←visited— Cem"
    assert space.graph.path("Ann", "Cem", depth=2) is None


@pytest.mark.usefixtures("two_hubs")
def test_a_path_leads_from_one_hub_to_another(space: Space) -> None:
    """Their relation is older than what is read of either of them. It counts only while it holds."""
    path = space.graph.path("Ann", "Bob", depth=3)
    assert str(path) == "Ann —visited→ Rome —twinned_with→ Oslo ←visited— Bob"
    space.graph.invalidate("Rome", "twinned_with", "Oslo", valid_until="2023-01-01")
    assert space.graph.path("Ann", "Bob", depth=3) is None
    assert [step.name for step in space.graph.path("Rome", "Oslo", at="2021-01-01").steps] == ["twinned_with"]  # type: ignore[union-attr]


@pytest.fixture
def chat(space: Space) -> list[Memory]:
    said = ["Ann is ill.", "Since when?", "Since Bob left for Oslo."]
    return space.add_turns([_turn(number, text) for number, text in enumerate(said)])


def _turn(number: int, text: str) -> dict[str, Any]:
    return {"speaker": f"Guest {number}", "content": text, "conversation": "c", "key": f"turn {number}"}


def test_turns_that_follow_each_other_are_connected(space: Space, chat: list[Memory], clock: FakeClock) -> None:
    """From each turn to the next, as far as both are visible; in the words that they had then."""
    first, second, third = chat
    walked = space.graph.query(first, relations="next_turn", direction="out")
    assert [(edge.name, edge.source, edge.target) for edge in walked.edges] == [
        ("next_turn", first.id, second.id),
        ("next_turn", second.id, third.id),
    ]
    assert [node.depth for node in walked.nodes] == [0, 1, 2]
    assert len(space.graph.query(first, relations="next_turn", direction="in").nodes) == 1
    path = space.graph.path("Ann", "Oslo")
    assert [step.name for step in path.steps] == ["mentions", "next_turn", "next_turn", "mentions"]  # type: ignore[union-attr]
    before = clock.now()
    clock.advance(days=1)
    space.add_turns([_turn(1, "Since yesterday?")])
    assert labels(space.graph.query(first, relations="next_turn"))[1] == "Since yesterday?"
    assert labels(space.as_of(before).graph.query(first, relations="next_turn"))[1] == "Since when?"
    space.forget(second)
    assert labels(space.graph.query(first, relations="next_turn")) == ["Ann is ill."]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=18), st.integers(1, 8))
@pytest.mark.slow
def test_a_path_is_as_short_as_a_search_from_one_end_finds(ties: list[tuple[int, int]], most: int) -> None:
    """Meeting in the middle costs nothing in length, and finds a way exactly where there is one."""
    import remanence
    from remanence.testing import HashingEmbedder

    with remanence.open(None, embedder=HashingEmbedder()) as space:
        for name in range(10):
            space.entities.register(f"Town {name}")
        for a, b in ties:
            space.graph.relate(f"Town {a}", "leads_to", f"Town {b}")
        far = _distances(ties)
        for goal in range(10):
            path = space.graph.path("Town 0", f"Town {goal}", depth=most)
            expected = far.get(goal)
            reachable = expected is not None and expected <= most
            assert (None if path is None else len(path)) == (expected if reachable else None)


_TIES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from("rmo")), max_size=14)


@given(_TIES, st.integers(1, 5), st.integers(1, 12))
@pytest.mark.slow
def test_a_walk_and_a_path_are_those_of_a_plain_search(
    ties: list[tuple[int, int, str]], depth: int, limit: int
) -> None:
    """Of relations, memories that name two towns, and relations that are over, a search written down here finds the
    same nodes at the same depths, and no path is shorter, or as short with fewer mentions."""
    import remanence
    from remanence.testing import HashingEmbedder

    edges: list[tuple[str, str]] = []
    with remanence.open(None, embedder=HashingEmbedder()) as space:
        for name in range(8):
            space.entities.register(f"Town {name}")
        for number, (a, b, kind) in enumerate(ties):
            one, other = f"Town {a}", f"Town {b}"
            if kind == "m":
                text = f"Note {number}."
                space.add(text, entities=[one, other], triples=[])
                edges += [(text, one), (text, other)]
            else:
                space.graph.relate(one, "leads_to", other, valid_until="2020" if kind == "o" else None)
                edges += [(one, other)] if kind == "r" else []
        costs = _fewest_steps(edges)
        steps = {label: cost for label, (cost, _) in costs.items()}
        walked = space.graph.query("Town 0", depth=depth, limit=limit)
        found = {node.label: node.depth for node in walked.nodes}
        within = {label: far for label, far in steps.items() if far <= depth}
        assert all(within[label] == far for label, far in found.items())
        assert sorted(found.values()) == sorted(within.values())[:limit]
        for goal in range(8):
            path = space.graph.path("Town 0", f"Town {goal}", depth=8)
            measured = None if path is None else (len(path), sum(step.name == "mentions" for step in path.steps))
            assert measured == costs.get(f"Town {goal}")


def _fewest_steps(edges: list[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """For each node the least steps from Town 0, and the least mentions among paths of so many steps."""
    best = {"Town 0": (0, 0)}
    for _ in range(9):
        for one, other in [*edges, *((other, one) for one, other in edges)]:
            if one in best:
                cost = best[one][0] + 1, best[one][1] + ("Note" in one + other)
                best[other] = min(best.get(other, cost), cost)
    return {label: cost for label, cost in best.items() if cost[0] <= 8}


def _distances(ties: list[tuple[int, int]]) -> dict[int, int]:
    far, frontier = {0: 0}, [0]
    while frontier:
        here = frontier.pop(0)
        for a, b in ties:
            for source, target in ((a, b), (b, a)):
                if source == here and target not in far:
                    far[target] = far[here] + 1
                    frontier.append(target)
    return far


# When things held, and together with what


def test_when_gives_the_intervals_in_the_order_of_time(space: Space) -> None:
    """A fact that arrives late lands where it belongs, each with what says so."""
    lisbon = space.add("Alice lives in Lisbon.", valid_from="2026-05-03")
    porto = space.add("Alice lives in Porto.", valid_from="2024-01-01")

    found = space.graph.when("Alice", "lives in")

    assert [(r.object, str(r.valid)) for r in found] == [
        ("Porto", "2024-01-01 to 2026-05-03"),
        ("Lisbon", "since 2026-05-03"),
    ]
    assert [r.evidence for r in found] == [(porto.id,), (lisbon.id,)]
    assert [r.object for r in space.graph.when("Alice", "lives_in", "Porto")] == ["Porto"]


def test_where_she_lived_while_she_worked_there(space: Space) -> None:
    """Three homes and one job: two homes share time with it, one lies within it, one came before."""
    for home, start, end in (("Porto", "2015", "2018"), ("Zurich", "2018", "2020"), ("Lisbon", "2020", None)):
        space.graph.relate("Alice", "lives_in", home, valid_from=start, valid_until=end)
    space.graph.relate("Alice", "works_at", "Google", valid_from="2018", valid_until="2021")
    space.graph.relate("Alice", "works_at", "Acme", valid_from="2021")

    def homes(how: str) -> dict[str, str | None]:
        joined = space.graph.temporal_join(("Alice", "lives_in"), how, ("Alice", "works_at", "Google"))
        return {left.object: shared and str(shared) for left, _, shared in joined}

    together = {"Zurich": "2018-01-01 to 2020-01-01", "Lisbon": "2020-01-01 to 2021-01-01"}
    assert homes("while") == homes("overlapping") == together
    assert homes("during") == {"Zurich": "2018-01-01 to 2020-01-01"}
    assert homes("before") == {"Porto": None}
    assert homes("after") == {}


DAY = st.integers(0, 8)
ENDS = st.tuples(st.none() | DAY, st.none() | DAY).filter(
    lambda ends: ends[0] is None or ends[1] is None or ends[0] < ends[1]
)
BEGIN, END = -2, 11


def window(ends: tuple[int | None, int | None]) -> Window:
    first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    return Window(*(None if end is None else first + timedelta(days=end) for end in ends))


def days(ends: tuple[int | None, int | None]) -> set[int]:
    start, end = ends
    return set(range(BEGIN if start is None else start, END if end is None else end))


@given(st.lists(ENDS, max_size=5), st.lists(ENDS, max_size=5))
def test_a_join_is_what_comparing_day_by_day_gives(left: list[Any], right: list[Any]) -> None:
    """For every pair of windows, open or not, and every way to join them."""

    def related(sides: list[Any]) -> list[Relation]:
        return [Relation(str(n), "a", "b", "c", valid=window(ends)) for n, ends in enumerate(sides)]

    ways: dict[str, Callable[[Any, Any], bool]] = {
        "while": lambda a, b: bool(days(a) & days(b)),
        "overlapping": lambda a, b: bool(days(a) & days(b)),
        "during": lambda a, b: days(a) <= days(b),
        "before": lambda a, b: max(days(a)) < min(days(b)),
        "after": lambda a, b: min(days(a)) > max(days(b)),
    }
    for how, holds in ways.items():
        pairs = [(int(a.id), int(b.id)) for a, b, _ in join(related(left), how, related(right))]
        expected = [(m, n) for m, a in enumerate(left) for n, b in enumerate(right) if holds(a, b)]
        assert pairs == expected, how
    for a in left:
        for b in right:
            both = intersection(window(a), window(b))
            inside = {day for day in range(BEGIN, END) if both and window((day, None)).start in both}
            assert inside == days(a) & days(b)


# What cannot be asked


@cases("traversal")
def test_a_walk_that_makes_no_sense_is_refused(space: Space, options: dict[str, Any], message: str) -> None:
    """The complaint shows the value, and what would do."""
    space.entities.register("Alice")
    with pytest.raises(InvalidInput) as refused:
        space.graph.query("Alice", **options)
    assert message in str(refused.value)


def test_an_unknown_start_is_named_with_what_is_near_it(space: Space) -> None:
    """A name that is only nearly right is met with those that may be meant."""
    space.add("Alice Smith works at Acme.")

    with pytest.raises(NotFound, match=r"'A\. Smith'.*Similar names are 'Alice Smith'"):
        space.graph.query("A. Smith")
    with pytest.raises(NotFound, match="See space"):
        space.graph.query("Zzyzx")
    with pytest.raises(NotFound, match="e0123456789abcdef"):
        space.graph.query("e0123456789abcdef")
    for odd in (7, None, ["Alice"]):
        with pytest.raises(InvalidInput, match="Give a memory, an entity"):
            space.graph.query(odd)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ask",
    [
        lambda graph: graph.temporal_join(("Alice",), "while", ("Alice", "knows")),
        lambda graph: graph.temporal_join("Alice knows", "while", ("Alice", "knows")),
        lambda graph: graph.temporal_join(("Alice", "knows"), "sideways", ("Alice", "knows")),
        lambda graph: graph.temporal_join(("Alice", "knows"), ["while"], ("Alice", "knows")),
        lambda graph: graph.when("Alice", "?!"),
        lambda graph: graph.path("Alice", "Alice", depth=0),
        lambda graph: graph.timeline("Alice", since="2026-05-01", until="2026-04-01"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(space: Space, ask: Callable[[Any], Any]) -> None:
    """Too few words, no such way to join, no such predicate, no steps, or a window turned round."""
    space.graph.relate("Alice", "knows", "Bob")
    with pytest.raises(InvalidInput):
        ask(space.graph)


def test_when_is_asked_of_an_entity(space: Space) -> None:
    """A memory has no intervals of its own."""
    memory = space.add("Alice sings.")
    with pytest.raises(InvalidInput, match="is a memory"):
        space.graph.when(memory.id, "sings")


async def test_the_graph_is_asked_off_the_event_loop(space: Space) -> None:
    """Each async twin gives what its verb gives."""
    await space.graph.arelate("Alice", "knows", "Bob", valid_from="2026-01-01")
    graph = space.graph

    assert await graph.aquery("Alice", depth=1) == graph.query("Alice", depth=1)
    assert await graph.apath("Alice", "Bob") == graph.path("Alice", "Bob")
    assert await graph.awhen("Alice", "knows") == graph.when("Alice", "knows")
    side = ("Alice", "knows")
    assert await graph.atemporal_join(side, "while", side) == graph.temporal_join(side, "while", side)
    [ended] = await graph.ainvalidate("Alice", "knows", "Bob", valid_until="2026-02-01")
    assert str(ended.valid) == "2026-01-01 to 2026-02-01"


def test_a_memory_that_another_process_erases_meanwhile_is_left_out() -> None:
    """The walk is taken again as often as it was disturbed: the other process may erase one memory after the other."""
    steps = iter([*(RowErased(f"entry {entry} was erased meanwhile") for entry in (7, 8, 9)), "walked"])

    @retry_if_erased
    def walk() -> str:
        step = next(steps)
        if isinstance(step, RowErased):
            raise step
        return step

    assert walk() == "walked"


def test_a_place_is_one_for_all_names_of_an_entity(space: Space) -> None:
    """Whichever name it is found by, the ground knows it as one place."""
    space.entities.register("AlphaOne LLC", aliases=["AO"])
    with space._engine.open_index(space.name) as index, index.lock:
        ground = GraphAtTime(index, index.snapshot(index.catalog.position, space._engine.now()))
        places: set[GraphNode] = {ground.find(name) for name in ("AO", "AlphaOne LLC", "alphaone llc")}
    assert len(places) == 1

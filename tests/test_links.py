"""Ties between memories: who may see them, when they hold, and what they put in place of what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence import InvalidInput, NotFound, Space
from remanence.events import Linked, Remembered
from remanence.index.index import Index
from remanence.index.vectors.stores.exact import ExactStore
from remanence.ledger.in_memory import InMemoryLedger
from remanence.schema import LINK_KINDS, UTC, Memory
from remanence.testing import FakeClock
from remote import connected

Reopen = Callable[..., Space]


@pytest.fixture
def says(space: Space) -> Space:
    """Who states things outright: the space itself."""
    return space


@pytest.fixture
def memories(space: Space) -> list[Memory]:
    return [space.add(f"The harbour was painted {colour}.") for colour in ("red", "green", "blue")]


def ask(space: Space, method: str, *given: Any, **more: Any) -> Any:
    """Ask the links of a space."""
    with space._engine.open_index(space.name) as index:
        sight = index.snapshot(index.catalog.position, space._engine.now())
        return getattr(index.links, method)(*given, sight, **more)


def superseded(space: Space) -> list[int]:
    return [number for number, gone in enumerate(ask(space, "superseded_mask").tolist()) if gone]


@pytest.mark.parametrize("kind", LINK_KINDS)
def test_memories_are_linked_in_so_many_ways(space: Space, says: Space, memories: list[Memory], kind: str) -> None:
    """A link is seen from both its ends, and knows which is which."""
    red, green, _ = memories
    link = says.graph.link(red, kind, green.id, confidence=0.8, observed_by="ann", why="she saw it")

    assert (link.source, link.kind, link.target) == (red.id, kind, green.id)
    assert (link.confidence, link.observed_by, link.why) == (0.8, "ann", "she saw it")
    assert ask(space, "links_of", 0) == ask(space, "links_of", 1) == [link]
    assert ask(space, "links_of", 0, direction="in") == ask(space, "links_of", 1, direction="out") == []
    assert ask(space, "links_of", 0, kinds=[other for other in LINK_KINDS if other != kind]) == []


def test_any_other_name_is_refused_with_the_list(says: Space, memories: list[Memory]) -> None:
    """The set is closed, or nobody could say what a link means."""
    with pytest.raises(InvalidInput, match=r"'replaces' is not a link.*related_to, supersedes.*causes"):
        says.graph.link(memories[0], "replaces", memories[1])


def test_what_cannot_be_linked_is_refused(space: Space, says: Space, memories: list[Memory]) -> None:
    """A memory to itself, to none, to one that is forgotten or erased; a window reversed."""
    red, green, blue = memories
    space.forget(green.id)
    space.erase(blue.id)
    with pytest.raises(InvalidInput, match="to itself"):
        says.graph.link(red, "supports", red.id)
    with pytest.raises(NotFound, match="has no memory 'nope'"):
        says.graph.link(red, "supports", "nope")
    with pytest.raises(NotFound, match="is forgotten"):
        says.graph.link(red, "supports", green)
    with pytest.raises(NotFound, match="was erased"):
        says.graph.link(blue, "supports", red)
    with pytest.raises(InvalidInput, match="does not come after"):
        says.graph.link(red, "supports", green, valid_from="2026", valid_until="2025")
    assert ask(space, "links_of", 0) == []


def test_the_very_same_link_again_writes_nothing(space: Space, says: Space, memories: list[Memory]) -> None:
    """Another confidence takes the place of the first; after it was ended, the same link is another one."""
    red, green, _ = memories
    link = says.graph.link(red, "supports", green)

    assert says.graph.link(red.id, "supports", green.id) == link
    surer = says.graph.link(red, "supports", green, confidence=0.5)
    assert (surer.id, surer.confidence, surer.corroborated_by) == (link.id, 0.5, ())
    says.graph.invalidate_edge(link)
    assert says.graph.link(red, "supports", green).id != link.id
    assert len(ask(space, "links_of", 0)) == 2


def test_the_same_link_by_others_is_corroboration(space: Space, says: Space, memories: list[Memory]) -> None:
    """One link, surer than before, with all who stated it; ended, it has ended for all."""
    red, green, _ = memories
    first = says.graph.link(red, "supports", green, confidence=0.5, observed_by="Ann")
    second = says.graph.link(red, "supports", green, confidence=0.6, observed_by="Bob", why="seen twice")

    assert second.id == first.id
    assert (second.observed_by, second.corroborated_by, second.why) == ("Ann", ("Bob",), "seen twice")
    assert second.confidence == pytest.approx(0.8)
    assert ask(space, "links_of", 0) == [second]
    assert space.admin.stats().links == 1
    assert [(e.kind, e.actor) for e in says.graph.timeline(red, relations="supports")] == [
        ("edge added", "Ann"),
        ("edge corroborated", "Bob"),
    ]
    assert says.graph.link(red, "supports", green, confidence=0.6, observed_by="Bob", why="seen twice") == second
    other_time = says.graph.link(red, "supports", green, valid_from="2020", observed_by="Bob")
    assert other_time.id != first.id

    assert [link.id for link in space.audit.diff("2020").linked] == [first.id, other_time.id]
    says.graph.invalidate_edge(first, why="both were wrong")
    assert [link.id for link in space.audit.diff("2020").invalidated] == [first.id]  # type: ignore[union-attr]
    ended = [e for e in says.graph.timeline(red, relations="supports") if e.kind == "edge invalidated"]
    assert [(e.value.id, e.why) for e in ended] == [(first.id, "both were wrong")]  # type: ignore[union-attr]
    assert [link.id for link in ask(space, "links_of", 0) if link.valid.end is None] == [other_time.id]
    rebuilt = space.admin.check()
    assert rebuilt == {}


def test_a_link_is_ended_by_its_memories_and_its_kind(space: Space, says: Space, memories: list[Memory]) -> None:
    """As a relation is by its subject and predicate; what does not hold is named."""
    red, green, blue = memories
    link = says.graph.link(red, "supports", green)
    other = says.graph.link(red, "supports", blue)

    [ended] = says.graph.invalidate(red.id, "supports", green, why="it does not")
    assert (ended.id, ended.valid.end is not None) == (link.id, True)
    assert [each.id for each in ask(space, "links_of", 0) if each.valid.end is None] == [other.id]
    with pytest.raises(NotFound, match="no link 'supports'"):
        says.graph.invalidate(red, "supports", green)
    with pytest.raises(InvalidInput, match="not a link between memories"):
        says.graph.invalidate(red, "lives_in", green)
    with pytest.raises(InvalidInput, match="two of a kind"):
        says.graph.invalidate("Alice", "supports", green)


def test_a_link_with_a_hidden_end_is_hidden(space: Space, says: Space, memories: list[Memory]) -> None:
    """It comes back with its memory."""
    red, green, _ = memories
    link = says.graph.link(red, "supersedes", green)

    space.forget(red.id)
    assert ask(space, "links_of", 1) == []
    assert ask(space, "get", link.id) is None
    assert superseded(space) == []
    space.unforget(red.id)
    assert ask(space, "get", link.id) == link
    assert superseded(space) == [1]


def test_a_link_holds_in_its_window(space: Space, says: Space, memories: list[Memory], clock: FakeClock) -> None:
    """Not before it, and no longer than it was ended."""
    red, green, blue = memories
    says.graph.link(red, "supersedes", green, valid_from="2026-06-01")
    link = says.graph.link(red, "supersedes", blue)
    assert superseded(space) == [2]
    clock.advance(days=60)
    assert superseded(space) == [1, 2]

    (ended,) = says.graph.invalidate_edge(link.id)
    assert ended.valid.end == clock.now()
    assert superseded(space) == [1]
    assert ask(space, "links_of", 2, at=clock.now()) == []
    with pytest.raises(InvalidInput, match="before"):
        says.graph.invalidate_edge(ask(space, "links_of", 1)[0], valid_until="2026-05-01")


def test_a_view_of_before_knows_no_later_link(
    space: Space, says: Space, memories: list[Memory], clock: FakeClock
) -> None:
    """Neither that it was drawn, nor that it was ended."""
    link = says.graph.link(memories[0], "supersedes", memories[1])
    before = space._engine.ledger.head()
    clock.advance(days=1)
    says.graph.invalidate_edge(link)

    with space._engine.open_index(space.name) as index:
        assert index.links.superseded_mask(index.snapshot(before, clock.now())).tolist() == [False, True, False]
        assert not index.links.superseded_mask(index.snapshot(before - 1, clock.now())).any()
        assert [each.id for each in index.links.links_of(1, index.snapshot(before, clock.now()))] == [link.id]
        assert index.links.links_of(1, index.snapshot(before - 1, clock.now())) == []


def test_contradictions_are_seen_from_either_side(space: Space, says: Space, memories: list[Memory]) -> None:
    """Whoever contradicts is contradicted."""
    red, green, blue = memories
    says.graph.link(red, "contradicts", green)
    says.graph.link(blue, "contradicts", red)
    says.graph.link(green, "supports", blue)

    assert [ask(space, "contradicting", number) for number in range(3)] == [[1, 2], [0], [0]]


def test_a_chain_leaves_its_head(space: Space, says: Space, memories: list[Memory]) -> None:
    """Blue took the place of green, which took that of red."""
    red, green, blue = memories
    says.graph.link(green, "supersedes", red)
    says.graph.link(blue, "supersedes", green)

    assert superseded(space) == [0, 1]


def test_in_a_circle_the_last_word_counts(space: Space, says: Space, memories: list[Memory]) -> None:
    """Or all of them would be gone."""
    red, green, blue = memories
    says.graph.link(green, "supersedes", red)
    says.graph.link(blue, "supersedes", green)
    says.graph.link(red, "supersedes", blue)

    assert superseded(space) == [1, 2]


def test_disagreements_of_one_memory(space: Space) -> None:
    """They are those of all memories in which it takes part."""
    a, b, c, d = space.add_many(["The gate is open.", "The gate is shut.", "The lamp is on.", "The lamp is off."])
    space.graph.link(b, "contradicts", a)
    space.graph.link(d, "contradicts", c)
    for memory, other in ((a, b), (b, a)):
        [(found, disagreement)] = space.graph.disagreements(memory=memory)
        assert {found.id, disagreement.memory.id} == {memory.id, other.id}
    space.forget(c)
    with pytest.raises(NotFound, match="unforget"):
        space.graph.disagreements(memory=c)


def test_links_are_the_same_after_a_rebuild_and_after_opening_again(reopen: Reopen) -> None:
    """They are arithmetic over the ledger, with a snapshot or without."""
    space = reopen()
    says = space
    red, green = space.add("The harbour is red."), space.add("The harbour is green.")
    says.graph.link(green, "supersedes", red, why="repainted", confidence=0.9)
    says.graph.link(red, "supersedes", green)
    says.graph.invalidate_edge(says.graph.link(red, "supports", green), valid_until="2026-06-01")

    before = ask(space, "links_of", 0)
    assert len(before) == 3
    assert space.admin.check() == {}
    space = reopen()
    assert ask(space, "links_of", 0) == before
    assert superseded(space) == [1]
    space.rebuild()
    assert ask(space, "links_of", 0) == before


PAIR = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])


@given(st.lists(PAIR, max_size=14))
def test_something_is_always_left(pairs: list[tuple[int, int]]) -> None:
    """Whatever supersedes whatever, of the memories that are linked at least one still stands, and the last
    link is always believed."""
    now = FakeClock("2026-05-04T09:00").now().astimezone(UTC)
    ledger = InMemoryLedger()
    with ledger.transaction() as pen:
        pen.append("s", [Remembered(f"m{n}", f"text {n}", f"i{n}") for n in range(6)], at=now)
        drawn = [Linked(f"l{n}", f"m{a}", "supersedes", f"m{b}") for n, (a, b) in enumerate(pairs)]
        pen.append("s", drawn, at=now)
    index = Index("s", ledger, "", None, lambda _: ExactStore(1), None)
    gone = index.links.superseded_mask(index.snapshot(index.catalog.position, now)).tolist()

    linked = {end for pair in pairs for end in pair}
    assert not linked or not all(gone[number] for number in linked)
    if pairs:
        assert gone[pairs[-1][1]]
    assert {n for n in range(6) if gone[n]} <= {target for _, target in pairs}


def test_a_link_without_a_kind_relates_two_memories(space: Space) -> None:
    """A kind without a second memory is an error, and not taken for the id of one."""
    one, two = space.add("The bridge is open."), space.add("The ferry runs.")

    assert space.graph.link(one, two).kind == "related_to"
    with connected(space) as remote:
        assert remote.graph.link(two, one).kind == "related_to"
    with pytest.raises(InvalidInput, match="names one memory"):
        space.graph.link(one, "supersedes")

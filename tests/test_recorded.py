"""What agents were told, and how a space grows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import remanence
from framed import quoted_texts
from remanence.errors import NotFound
from remanence.testing import FakeClock, HashingEmbedder


@pytest.fixture
def space() -> Iterator[remanence.Space]:
    clock = FakeClock("2026-06-01")
    with remanence.open(None, embedder=HashingEmbedder(), reader=None, clock=clock) as space:
        yield space


def test_recorded_recalls_say_what_was_given_and_used(space: remanence.Space) -> None:
    """The newest first. A use counts for the last time that a memory was given before it."""
    tea, coffee = space.add_many(["Ana drinks tea.", "Ana hates coffee."])
    space.audit.record(space.recall("What does Ana drink?"))
    space.audit.record(space.recall("What does Ana hate?"))
    space.touch(coffee)
    space.audit.record(space.recall("Is it raining on the moon?", min_score=1.0))
    none, hate, drink = space.audit.recorded()
    assert [told.receipt.question for told in (hate, drink)] == ["What does Ana hate?", "What does Ana drink?"]
    assert (none.memories, hate.used, drink.used) == ((), (coffee.id,), ())
    assert {*drink.memories} == {tea.id, coffee.id}
    assert space.audit.recorded(limit=1, before=none.position) == [hate]
    assert space.audit.recorded(memory=tea) == [hate, drink]


def test_the_block_of_a_recorded_recall_is_that_of_then(space: remanence.Space) -> None:
    memory = space.add("Ana lives in Porto.", key="home")
    space.audit.record(space.recall("Ana"))
    [told] = space.audit.recorded()
    space.add("Ana lives in Lisbon.", key="home")
    assert quoted_texts(space.audit.told(told.position)) == ["Ana lives in Porto."]
    space.erase(memory)
    assert space.audit.recorded() == []
    with pytest.raises(NotFound, match="no recorded recall"):
        space.audit.told(told.position)


def test_weeks_and_growing_entities_follow_what_was_told(space: remanence.Space) -> None:
    """The last four weeks end with the last memory. Who is mentioned less than before does not grow."""
    space.add_many({"text": f"Bob met Ana, {n}.", "now": "2026-03-02"} for n in range(4))
    space.add_many({"text": f"Bob met Carl, {n}.", "now": "2026-04-07"} for n in range(3))
    found = space.graph.activity()
    assert [(week.monday, sum(week.kinds.values())) for week in found.weeks] == [("2026-03-02", 4), ("2026-04-06", 3)]
    assert [(each.name, each.recent, each.before) for each in found.growing] == [("Carl", 3, 0)]
    assert not space.as_of("2020-01-01").graph.activity().weeks


def test_emoji_and_sentences_are_no_entities(space: remanence.Space) -> None:
    """Neither the list, nor the map, nor the numbers of the space have them; who registers one means it."""
    space.add("A plan.", entities=["Ana", "🍜", "Meet me at five and bring everything."])
    assert [entity.name for entity in space.entities.list()] == ["Ana"]
    assert [node.name for node in space.graph.entity_map().nodes] == ["Ana"]
    assert space.admin.stats().entities == 1
    space.entities.register("🍜")
    assert len(space.entities.list()) == 2


def test_a_map_with_a_layout_has_communities(space: remanence.Space) -> None:
    space.add_many(f"{a} met {b}." for a, b in (("Ana", "Bob"), ("Ana", "Carl"), ("Dora", "Elif"), ("Dora", "Finn")))
    found = space.graph.entity_map(layout=True)
    community = dict(zip((node.name for node in found.nodes), found.communities, strict=True))
    assert community["Ana"] == community["Bob"] != community["Dora"] == community["Finn"]
    assert len(found.coordinates) == len(found.nodes)
    assert space.graph.entity_map().communities == ()


def test_what_a_prompt_quotes_is_recorded_if_asked(space: remanence.Space) -> None:
    """Also that nothing was quoted; a view of the past cannot record."""
    space.add("My sister Ana is allergic to shellfish.")
    quoted = space.for_prompt("What is my sister Ana allergic to?", record=True, min_score=0.0)
    assert space.for_prompt("What is my sister Ana allergic to?", min_score=0.0).hits == quoted.hits
    [told] = space.audit.recorded()
    assert told.receipt.question == "What is my sister Ana allergic to?"
    assert told.memories == tuple(hit.memory.id for hit in quoted.hits) != ()
    with pytest.raises(remanence.RemanenceError, match="cannot be written to"):
        space.as_of("2026-06-02").for_prompt("What is my sister Ana allergic to?", record=True)

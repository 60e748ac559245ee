"""Who memories are about, whatever they were called, and who said that two of them are one."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import remanence
from case_tables import cases
from examples import examples
from remanence import InvalidInput, NotFound, Space
from remanence.events import Forgotten, Merged, Registered, Remembered, Renamed, Restored, Split, Undone
from remanence.index.names.entity_records import entity_id
from remanence.index.names.similar_names import name_similarity
from remanence.models.embedders import sentence_embedder
from remanence.schema import UTC, Alias, Entity, Entry, Window
from remanence.space.facets.entity_facet import MAX_ALIASES
from remanence.testing import FakeClock, HashingEmbedder
from remanence.text.named_entities.name_rules import find_names
from remanence.text.text import normalize_name, text_hash

Reopen = Callable[..., Space]


def lines(space: Space) -> int:
    return sum(1 for _ in space._engine.ledger.read(space.name))


def whoever(space: Space, name: str, **asked: Any) -> Entity:
    """The entity that goes by a name, which is there."""
    found = space.entities.resolve(name, **asked)
    assert found is not None, name
    return found


def named(space: remanence.View) -> list[str]:
    return [entity.name for entity in space.entities.list()]


# Registering and resolving


def test_every_name_leads_to_one_entity(space: Space) -> None:
    """However it is spelled, and with all its aliases."""
    made = space.entities.register("AlphaOne LLC", aliases=["AO", "Alpha One", "ao"], kind="organization")

    assert (made.created, made.added, made.id) == (True, ("AO", "Alpha One"), made.entity.id)
    for name in ("alphaone llc", "ao", "The AO", "ALPHA ONE"):
        assert space.entities.resolve(name) == made.entity
    assert made.entity.names == ("AlphaOne LLC", "AO", "Alpha One")
    assert space.entities.resolve("Beta") is None


def test_a_question_by_one_name_finds_what_was_said_by_another(space: Space, clock: FakeClock) -> None:
    """From when they are known to be one; what was known before does not change."""
    told = space.add("AlphaOne LLC makes turbines.")
    before = clock.now()
    clock.advance(days=1)
    space.entities.register("AlphaOne LLC", aliases=["AO"])

    [hit] = space.recall("What does AO make?", signals=["graph"])
    assert (hit.memory, hit.reason) == (told, "graph #1: about AlphaOne LLC, named in the question")
    assert not space.as_of(before).recall("What does AO make?", signals=["graph"])


def test_registering_again_writes_nothing(space: Space) -> None:
    """The same id, not created, nothing added, no line in the ledger."""
    first = space.entities.register("AlphaOne LLC", aliases=["AO"], kind="organization")
    before = lines(space)
    again = space.entities.register("alphaone llc", aliases=["ao", "AlphaOne LLC"], kind="organization")

    assert (again.id, again.created, again.added, again.position) == (first.id, False, (), None)
    assert lines(space) == before


def test_registering_by_an_alias_adds_to_the_same_entity(space: Space) -> None:
    """Whoever goes by the name is the one that is meant."""
    space.entities.register("AlphaOne LLC", aliases=["AO"])
    more = space.entities.register("AO", aliases=["Alpha One"], kind="organization")

    assert (more.created, more.added, more.entity.name) == (False, ("Alpha One",), "AlphaOne LLC")
    assert whoever(space, "Alpha One").kind == "organization"


def test_a_name_in_a_memory_is_an_entity(space: Space) -> None:
    """It has an id before anybody registers it, and keeps it after."""
    space.add("Alice lives in Porto.")
    alice = space.entities.resolve("Alice")
    assert alice is not None
    made = space.entities.register("Alice", aliases=["Ally"])

    assert (made.id, made.created) == (alice.id, False)
    assert space.entities.get(alice.id) == made.entity


def test_an_alias_that_only_memories_knew_is_taken_in(space: Space) -> None:
    """Its old id leads to the entity that it is a name of now."""
    space.add("AO hired Alice.", entities=["AO", "Alice"])
    alone = space.entities.resolve("AO")
    assert alone is not None
    made = space.entities.register("AlphaOne LLC", aliases=["AO"])

    assert space.entities.get(alone.id) == made.entity
    assert named(space) == ["AlphaOne LLC", "Alice"]


def test_an_alias_of_another_is_refused(space: Space) -> None:
    """The error names who has it, and the ways out; nothing is half registered."""
    other = space.entities.register("Adobe", aliases=["AO"])
    before = lines(space)
    with pytest.raises(InvalidInput, match=rf"'AO' is already a name of 'Adobe' \({other.id}\).*merge.*time"):
        space.entities.register("AlphaOne LLC", aliases=["Alpha", "AO"])

    assert lines(space) == before
    assert space.entities.resolve("Alpha") is None


def test_a_name_resolves_as_it_did_then(space: Space) -> None:
    """Twitter was X until July 2023; a later Twitter is somebody else."""
    x = space.entities.register("X", aliases=[("Twitter", None, "2023-07-24")]).entity
    assert space.entities.resolve("Twitter", at="2023-01-01") == x
    assert space.entities.resolve("Twitter", at="2024-01-01") is None
    assert space.entities.resolve("Twitter") == x, "who was called so last"

    bird = space.entities.register("Bird Shop", aliases=[{"name": "Twitter", "valid_from": "2024"}]).entity
    assert space.entities.resolve("Twitter", at="2023-01-01") == x
    assert space.entities.resolve("Twitter", at="2025-01-01") == bird
    assert space.entities.resolve("Twitter") == bird


def test_a_name_that_nobody_has_now_is_that_of_the_last_who_had_it(space: Space) -> None:
    """Whichever of them was registered last."""
    late = space.entities.register("Late Bank", aliases=[("Bank", "2015", "2020")]).entity
    space.entities.register("Early Bank", aliases=[("Bank", "2010", "2015")])

    assert space.entities.resolve("Bank") == late


def test_an_alias_may_be_given_its_time_later(space: Space) -> None:
    """The time replaces the one it overlaps; a plain alias says nothing about time."""
    space.entities.register("X", aliases=["Twitter"])
    until = space.entities.register("X", aliases=[("Twitter", None, "2023-07-24")])
    space.entities.register("X", aliases=["Twitter"])

    assert until.added == ("Twitter",)
    entity = space.entities.resolve("X")
    assert entity.aliases == (Alias("Twitter", Window(None, datetime(2023, 7, 24, tzinfo=UTC))),)


# Renaming, merging, splitting, undoing


def test_a_renamed_entity_keeps_its_old_name(space: Space, clock: FakeClock) -> None:
    """And a view of the past calls it as it was called then."""
    twitter = space.entities.register("Twitter").entity
    then = clock.now()
    clock.advance(days=1)
    space.entities.rename("Twitter", "X")

    assert whoever(space, "Twitter").names == ("X", "Twitter")
    assert space.as_of(then).entities.resolve("Twitter") == twitter
    assert space.as_of(then).entities.resolve("X") is None


def test_merged_entities_are_one_until_undone(space: Space, clock: FakeClock) -> None:
    """All names of both, under the id of the second; undone, each is what it was."""
    bob = space.entities.register("Bob", aliases=["Bobby"]).entity
    robert = space.entities.register("Robert Jones", kind="person").entity
    merged = space.entities.merge(bob, robert.id, why="he said so", observed_by="Alice")

    assert merged.entity == space.entities.resolve("Bobby") == space.entities.get(bob.id)
    assert merged.entity.id == robert.id
    assert merged.entity.names == ("Robert Jones", "Bob", "Bobby")
    clock.advance(days=1)
    space.entities.undo(merged)
    assert space.entities.get(bob.id) == bob
    assert space.entities.get(robert.id) == robert
    assert space.as_of("2026-05-04T10:00").entities.resolve("Bob") == merged.entity


def test_a_merge_can_be_undone_after_more_was_said(space: Space) -> None:
    """What was said in between stays with whom it was said of."""
    bob = space.entities.register("Bob").entity
    robert = space.entities.register("Robert").entity
    merged = space.entities.merge(bob, robert)
    space.entities.register("Robert", aliases=["Rob"])
    space.entities.register("Robert", aliases=[("Bob", None, "2020")])
    space.entities.undo(merged)

    assert whoever(space, "Rob").names == ("Robert", "Rob")
    assert whoever(space, "Bob", at="2019-01-01").id == bob.id


def test_a_time_given_to_the_name_of_a_part_stays_with_the_part(space: Space) -> None:
    """Though only memories had said that name."""
    space.add("Bob met Robert.", entities=["Bob", "Robert"])
    bob = space.entities.resolve("Bob")
    merged = space.entities.merge("Bob", "Robert")
    space.entities.register("Robert", aliases=[("Bob", None, "2020")])
    space.entities.undo(merged)

    assert whoever(space, "Bob").id == bob.id


def test_a_chain_of_merges_has_one_end(space: Space) -> None:
    """And no circle can be made of it."""
    for name in "abcd":
        space.entities.register(f"firm {name}")
    for part, whole in ("ab", "bc", "cd"):
        space.entities.merge(f"firm {part}", f"firm {whole}")

    assert {whoever(space, f"firm {name}").name for name in "abcd"} == {"firm d"}
    before = lines(space)
    for pair in ("ad", "da", "ac", "bb"):
        with pytest.raises(InvalidInput, match="are one entity already, 'firm d'"):
            space.entities.merge(f"firm {pair[0]}", f"firm {pair[1]}")
    assert lines(space) == before


def test_names_can_be_split_off(space: Space) -> None:
    """They are another entity from then on, until that is undone."""
    space.entities.register("Alice Smith", aliases=["Ali", "A. Smythe", "Smythe"], kind="person")
    split = space.entities.split("Ali", ["A. Smythe", "Smythe"], why="her neighbour")

    assert split.entity == space.entities.resolve("Smythe")
    assert (split.entity.names, split.entity.kind) == (("A. Smythe", "Smythe"), "person")
    assert whoever(space, "Ali").names == ("Alice Smith", "Ali")
    space.entities.undo(split)
    assert set(whoever(space, "Smythe").names) == {"Alice Smith", "Ali", "A. Smythe", "Smythe"}


def test_what_was_merged_can_be_split_by_its_names(space: Space) -> None:
    """The names that memories gave to one of them are then somebody else's."""
    space.add("Bob met Robert.", entities=["Bob", "Robert"])
    space.entities.merge("Bob", "Robert")
    split = space.entities.split("Robert", "Bob")

    assert split.entity.name == "Bob"
    assert whoever(space, "Robert").names == ("Robert",)
    with space._engine.open_index(space.name) as index:
        robert = index.names.number("Robert")
        assert index.registry.names_of_same_entity(robert, index.catalog.position) == (robert,)


def test_an_undone_registration_leaves_what_memories_say(space: Space) -> None:
    """Names that no memory says are gone; the others stand for themselves again."""
    space.add("AO hired Alice.", entities=["AO", "Alice"])
    made = space.entities.register("AlphaOne LLC", aliases=["AO"])
    undone = space.entities.undo(made)

    assert undone.entity is None
    assert space.entities.resolve("AlphaOne LLC") is None
    assert whoever(space, "AO").names == ("AO",)


def test_only_what_still_stands_can_be_undone(space: Space) -> None:
    """Not a line that a later one built on, nor one undone before, nor an undoing."""
    made = space.entities.register("Alice", aliases=["Ali", "Lis"])
    split = space.entities.split("Alice", "Ali")
    with pytest.raises(InvalidInput, match=rf"entry {split.position} has changed.*undo\({split.position}\)"):
        space.entities.undo(made)
    undone = space.entities.undo(split.position or 0)
    with pytest.raises(InvalidInput, match=f"entry {undone.position} has undone it already"):
        space.entities.undo(split)
    with pytest.raises(InvalidInput, match="is an undo,"):
        space.entities.undo(undone)
    space.entities.undo(made)
    assert named(space) == []


def test_an_undoing_cannot_give_one_name_to_two(space: Space) -> None:
    """The name that would come back was given to somebody else meanwhile."""
    space.entities.register("X", aliases=["Twitter"])
    until = space.entities.register("X", aliases=[("Twitter", None, "2023")])
    space.entities.register("Bird Shop", aliases=[("Twitter", "2024", None)])

    with pytest.raises(InvalidInput, match="restore the name 'Twitter', which now belongs to 'Bird Shop'"):
        space.entities.undo(until)


# What a view may see


def test_the_names_in_forgotten_memories_are_not_listed(space: Space, clock: FakeClock) -> None:
    """Unless another memory says them, or somebody registered them; views of the past still do."""
    secret = space.add("Mallory met Alice.", entities=["Mallory", "Alice"])
    space.add("Alice met Bob.", entities=["Alice", "Bob"])
    then = clock.now()
    clock.advance(days=1)
    space.forget(secret.id)

    assert named(space) == ["Alice", "Bob"]
    assert space.entities.resolve("Mallory") is None
    assert named(space.as_of(then)) == ["Mallory", "Alice", "Bob"]
    space.entities.register("Mallory")
    assert "Mallory" in named(space)


def test_a_forgotten_name_is_no_alias_either(space: Space) -> None:
    """Of an entity merged with it, only what a memory in sight says is shown."""
    secret = space.add("Mallory met nobody.", entities=["Mallory"])
    space.add("Alice met Bob.", entities=["Alice"], triples=[])
    space.entities.merge("Mallory", "Alice")
    space.forget(secret.id)

    assert whoever(space, "Alice").names == ("Alice",)
    assert named(space) == ["Alice"]


def test_a_circle_of_merges_in_a_ledger_is_not_walked_for_ever(space: Space) -> None:
    """`merge` refuses one; lines that somebody edited may hold it, and what closes it says nothing."""
    alice, bob, cem = (space.entities.register(name).id for name in ("Alice", "Bob", "Cem"))
    circle = [Merged(alice, alice), Merged(alice, bob), Merged(bob, cem), Merged(cem, alice)]
    space._engine.write(space.name, lambda _: list(circle))

    assert whoever(space, "Alice").names == ("Cem", "Bob", "Alice")
    assert named(space) == ["Cem"]


def test_what_is_merged_is_forgotten_with_its_memories(space: Space) -> None:
    """A merge alone keeps nobody on the list."""
    secret = space.add("Mallory met Trudy.", entities=["Mallory", "Trudy"])
    space.entities.merge("Mallory", "Trudy")
    assert space.entities.list().total == 1
    space.forget(secret.id)

    assert space.entities.list().total == 0
    assert space.entities.resolve("Trudy") is None


def test_the_names_in_erased_memories_vanish(space: Space, clock: FakeClock) -> None:
    """In the past too, and from what they were merged with; nothing else breaks."""
    secret = space.add("Mallory met nobody.", entities=["Mallory"])
    space.add("Alice met Bob.", entities=["Alice", "Bob"])
    space.entities.merge("Mallory", "Alice")
    then = clock.now()
    clock.advance(days=1)
    space.erase(secret.id)

    assert space.entities.resolve("Mallory") is None
    assert named(space) == named(space.as_of(then)) == ["Alice", "Bob"]
    assert space.admin.check() == {}
    space.add("Mallory is back.", entities=["Mallory"])
    assert whoever(space, "Mallory").name == "Alice"


def test_entities_come_in_pages(space: Space) -> None:
    """In one order, each once, with the number of all; those of one kind alone if asked for."""
    for number in range(7):
        space.entities.register(f"firm {number}", kind="organization" if number % 2 else "person")
    pages = [space.entities.list(page=page, page_size=3) for page in (1, 2, 3, 4)]

    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert {page.total for page in pages} == {7}
    assert [entity.name for page in pages for entity in page] == [f"firm {number}" for number in range(7)]
    people = space.entities.list(kind="organization")
    assert (people.total, people[0].name) == (3, "firm 1")


def test_spaces_do_not_share_entities(space: Space) -> None:
    """Nor can a line of one be undone in another."""
    made = space.entities.register("Alice", aliases=["Ali"])
    child = space.child("users", "bob")

    assert child.entities.resolve("Ali") is None
    assert len(child.entities.list()) == 0
    with pytest.raises(NotFound, match="is not about an entity of space 'default/users/bob'"):
        child.entities.undo(made)


def test_a_view_only_reads(space: Space) -> None:
    """Entities of the past have no verbs that write."""
    view = space.as_of("2026-05-04").entities
    assert not any(hasattr(view, verb) for verb in ("register", "rename", "merge", "split", "undo"))


# Likeness


@cases("entities")
def test_what_may_be_one_is_alike_and_found(space: Space, one: str, other: str) -> None:
    """Either way round, with a reason, and never for certain; also among the blocks that make looking cheap."""
    there, back = name_similarity(one, other), name_similarity(other, one)
    assert there.score == back.score
    assert 0 < there.score < 1
    assert there.reason
    for number in range(50):
        space.entities.register(f"Somebody Else{number}")
    space.entities.register(other)
    assert [candidate.name for candidate in space.entities.find_similar(one)] == [other]


@cases("entities")
def test_these_are_two(one: str, other: str) -> None:
    """One surname, a digit, a numeral, or too little to tell by."""
    assert name_similarity(one, other) is None
    assert name_similarity(other, one) is None


def test_what_is_alike_is_proposed_and_not_merged(space: Space) -> None:
    """Most alike first, whatever of its names is meant; it never proposes the entity itself."""
    alpha = space.entities.register("AlphaOne LLC", aliases=["Alpha One Ventures"]).entity
    space.add("AlphaOne hired Alice Smith and Bob Smith.", entities=["AlphaOne", "Alice Smith", "Bob Smith"])

    [found] = space.entities.find_similar("AlphaOne")
    assert (found.entity, found.name, found.reason) == (alpha, "AlphaOne LLC", "the same words")
    assert [c.name for c in space.entities.find_similar("Alpha One Ventures Inc.")] == ["Alpha One Ventures"]
    assert not space.entities.find_similar("Alpha One Ventures")
    assert [c.name for c in space.entities.find_similar("A. Smith")] == ["Alice Smith"]
    assert space.entities.resolve("AlphaOne") != alpha


def test_nobody_is_proposed_whom_the_view_does_not_know(space: Space, clock: FakeClock) -> None:
    """Neither from the future nor from a forgotten memory."""
    then = clock.now()
    clock.advance(days=1)
    memory = space.add("Alice Smith left.", entities=["Alice Smith"])
    assert space.entities.find_similar("A. Smith")
    assert not space.as_of(then).entities.find_similar("A. Smith")
    space.forget(memory.id)
    assert not space.entities.find_similar("A. Smith")


# Bad input

Act = Callable[[Any], Any]
NOW = datetime(2026, 5, 4, tzinfo=UTC)
ODD: dict[type[Exception], list[tuple[str, Act, str]]] = {
    InvalidInput: [
        ("a blank name", lambda e: e.register("  "), "name='  ' is blank"),
        ("a name that is not text", lambda e: e.register(7), "name=7 is of type int"),
        ("a NUL", lambda e: e.register("a\0b"), "NUL"),
        ("a very long name", lambda e: e.register("a" * 600), "600 characters"),
        ("a blank kind", lambda e: e.register("B", kind=""), "kind='' is blank"),
        ("a blank alias", lambda e: e.register("B", ["ok", ""]), "aliases='' is blank"),
        ("an alias that is a number", lambda e: e.register("B", [3]), "aliases contains 3"),
        ("aliases that are not a list", lambda e: e.register("B", 3), "not a list of names"),
        ("an odd field", lambda e: e.register("B", [{"nam": "b"}]), "with 'nam'"),
        (
            "a million aliases",
            lambda e: e.register("B", (f"b{n}" for n in range(1_000_000))),
            f"more than {MAX_ALIASES} names",
        ),
        ("a reversed window", lambda e: e.register("B", [("b", "2024", "2023")]), "does not come after"),
        (
            "a reversed window in an Alias",
            lambda e: e.register("B", [Alias("b", Window(NOW, NOW))]),
            "does not come after",
        ),
        ("one alias in two overlapping times", lambda e: e.register("B", ["b b", ("b b", "2024", None)]), "twice"),
        (
            "a time for the name itself",
            lambda e: e.register("B", [("B", "2024", None)]),
            "is the display name of .* now",
        ),
        ("an odd moment", lambda e: e.resolve("Alice", at="soonish"), "soonish"),
        ("an id that is not text", lambda e: e.get(3), "not the id of an entity"),
        ("a merge with itself", lambda e: e.merge("Alice", "Ali"), "one entity already"),
        ("a taken name", lambda e: e.rename("Alice", "Bob"), "already a name of 'Bob'"),
        ("no names to split", lambda e: e.split("Alice", []), "names is empty"),
        ("its own name to split", lambda e: e.split("Ali", "Alice"), "must keep a name"),
        ("a line past all counting", lambda e: e.undo(10**30), "revision=10+ is not"),
        ("a line that is not a number", lambda e: e.undo("1"), "revision='1'"),
        ("a revision that wrote nothing", lambda e: e.undo(e.register("Alice")), "nothing to undo"),
        ("page 0", lambda e: e.list(page=0), "page=0"),
        ("a huge page", lambda e: e.list(page_size=10**6), "page_size=1000000"),
        ("limit 0", lambda e: e.find_similar("Alice", limit=0), "limit=0"),
        ("a reason of NULs", lambda e: e.merge("Alice", "Bob", why="\0"), "NUL"),
    ],
    NotFound: [
        ("an unknown name", lambda e: e.merge("Zed", "Alice"), "no entity 'Zed'"),
        ("an unknown id", lambda e: e.merge("Alice", "e" + "0" * 16), "no entity 'e0"),
        ("a foreign name to split", lambda e: e.split("Alice", ["Bob"]), "not called 'Bob'"),
        ("no such line", lambda e: e.undo(10_000), "entry 10000 is not about"),
        ("a line about a memory", lambda e: e.undo(1), "entry 1 is not about"),
    ],
}


@pytest.mark.parametrize(
    ("error", "act", "says"),
    [pytest.param(error, act, says, id=name) for error, odd in ODD.items() for name, act, says in odd],
)
def test_nonsense_is_refused_and_changes_nothing(space: Space, error: type[Exception], act: Act, says: str) -> None:
    """With a message that shows it; not a line is written, not a name learned."""
    space.add("Carol met Dan.", entities=["Carol", "Dan"])
    space.entities.register("Alice", aliases=["Ali"])
    space.entities.register("Bob")
    before = lines(space), space.entities.list()
    with pytest.raises(error, match=says):
        act(space.entities)

    assert (lines(space), space.entities.list()) == before
    assert space.admin.check() == {}


# The whole


def test_registered_entities_have_embeddings_of_their_own(space: Space) -> None:
    """Name, aliases and kind together, made anew with each change, and never asked for twice."""
    space.entities.register("AlphaOne LLC", aliases=["AO"], kind="organization")
    space.entities.register("Beta", kind="organization")
    space.entities.rename("Beta", "Beta Corp")
    space.entities.merge("AO", "Beta")
    space.entities.split("Beta", ["AO", "AlphaOne LLC"])
    texts = [
        "AlphaOne LLC, AO (organization)",
        "Beta Corp, Beta (organization)",
        "Beta Corp, AO, AlphaOne LLC, Beta (organization)",
        "AO, AlphaOne LLC (organization)",
    ]

    engine = space._engine
    kept = engine.ledger.vectors("default", engine.embedder.fingerprint, [text_hash(text) for text in texts])
    assert len(kept) == len(texts)
    with engine.open_index(space.name) as index:
        assert {text_hash(text) for text in texts} <= set(index.graph.text_hashes())
    assert all_described(space)
    assert space.admin.check() == {}


def test_reopened_it_is_as_it_was(reopen: Reopen) -> None:
    """From the snapshot, and from the ledger alone."""
    space = reopen()
    space.add("Bob met Robert in Porto.", entities=["Bob", "Robert", "Porto"])
    space.entities.register("Robert", aliases=[("Bobby", "2020", "2024")], kind="person")
    space.entities.merge("Bob", "Robert")
    split = space.entities.split("Robert", "Bob")
    space.entities.undo(split)
    before = space.entities.list()

    space = reopen()
    assert space.entities.list() == before
    assert space.admin.check() == {}
    with pytest.raises(InvalidInput, match="undone it already"):
        space.entities.undo(split)
    space.rebuild()
    assert space.entities.list() == before
    assert space.entities.resolve("Bobby", at="2022-01-01") == space.entities.resolve("Bob")


def test_two_at_once_register_one_entity(space: Space) -> None:
    """One of them creates it, and both get the same."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: space.entities.register("Alice", aliases=[f"Ali {n}"]), range(8)))

    assert len({registration.id for registration in made}) == 1
    assert [registration.created for registration in made].count(True) == 1
    assert len(whoever(space, "Alice").aliases) == 8


async def test_every_verb_has_an_async_twin(space: Space) -> None:
    """They do the same, off the event loop."""
    entities = space.entities
    made = await entities.aregister("Alice", aliases=["Ali", "Lis"])
    await asyncio.gather(entities.aregister("Bob"), entities.aregister("Bobby Tables"))
    await entities.arename("Alice", "Alicia")
    split = await entities.asplit("Alicia", "Lis")
    await entities.amerge("Bob", "Bobby Tables")
    await entities.aundo(split)

    assert (await entities.aresolve("Lis")) == (await entities.aget(made.id))
    assert [e.name for e in await entities.alist()] == ["Alicia", "Bobby Tables"]
    assert await entities.afind_similar("B. Tables")


# Whatever is said, in whatever order

POOL = ["Ann Lee", "Ann", "Bo", "Dee Dee"]
SPANS = [(None, None), (None, "2012-01-01"), ("2022-01-01", None), ("2019-01-01", "2023-01-01")]
MOMENTS = [datetime(year, 6, 1, tzinfo=UTC) for year in (2010, 2021, 2024)]
REVISIONS = ("registered", "renamed", "merged", "split", "undone")
one_name = st.sampled_from(POOL)
which = st.integers(0, 11)
STEP = st.one_of(
    st.tuples(
        st.just("register"),
        one_name,
        st.lists(st.tuples(one_name, st.sampled_from(SPANS)), max_size=2),
        st.sampled_from([None, "person", "firm"]),
    ),
    st.tuples(st.just("rename"), which, one_name),
    st.tuples(st.just("merge"), which, which),
    st.tuples(st.just("split"), which, which),
    st.tuples(st.just("undo"), which),
    st.tuples(
        st.just("add"), st.lists(one_name, min_size=1, max_size=3, unique=True), st.sampled_from(["thing", "firm"])
    ),
    st.tuples(st.just("forget"), which),
)


def live(space: Space, clock: FakeClock, steps: list[Any]) -> list[datetime]:
    """Take these steps an hour apart, passing over what is refused; gives the moments after each."""
    moments = []
    for step in steps:
        clock.advance(hours=1)
        before = lines(space)
        try:
            take(space, *step)
        except (InvalidInput, NotFound):
            assert lines(space) == before
        moments.append(clock.now())
    return moments


def take(space: Space, verb: str, *what: Any) -> None:
    """Take one step, with those that are there."""
    everybody, memories = list(space.entities.list()), list(space.memories())
    if verb == "register":
        name, aliases, kind = what
        space.entities.register(name, [(alias, *span) for alias, span in aliases], kind)
    elif verb == "add":
        space.add(f"Note {lines(space)}.", entities=[(name, what[1]) for name in what[0]])
    elif verb == "forget" and memories:
        space.forget(memories[what[0] % len(memories)].id)
    elif verb == "undo":
        said = [e.position for e in space._engine.ledger.read(space.name) if e.kind in REVISIONS]
        space.entities.undo(said[-1 - what[0] % len(said)] if said else 1)
    elif verb == "rename" and everybody:
        space.entities.rename(everybody[what[0] % len(everybody)], what[1])
    elif verb == "merge" and everybody:
        one, other = (everybody[number % len(everybody)] for number in what)
        space.entities.merge(one, other)
    elif verb == "split":
        several = [entity for entity in everybody if entity.aliases]
        if several:
            entity = several[what[0] % len(several)]
            space.entities.split(entity, [alias.name for alias in entity.aliases][: 1 + what[1] % 2])


class Told:
    """What lines say, in plain facts: a line removes some and adds some, an undoing the other way round."""

    def __init__(self, entries: list[Entry]) -> None:
        self.facts: list[tuple[Any, ...]] = []
        self.changes: dict[int, tuple[list[Any], list[Any]]] = {}
        self.spelled: dict[str, str] = {}
        self.mentions: dict[str, list[str]] = {}
        self.hidden: set[str] = set()
        for entry in entries:
            self.take(entry)

    def take(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, Remembered):
            self.mentions[event.memory] = [normalize_name(self.learn(m.name)) for m in event.mentions]
            self.hidden.discard(event.memory)
        elif isinstance(event, Forgotten):
            self.hidden.add(event.memory)
        elif isinstance(event, Restored):
            self.hidden.discard(event.memory)
        elif isinstance(event, Undone):
            gone, came = self.changes[event.position]
            self.change(entry, came, gone)
        else:
            self.changes[entry.position] = ([], [])
            self.say(entry)

    def say(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, Registered):
            if not self.of("called", event.entity):
                self.own(entry, event.entity, event.name, Window())
                self.change(entry, [], [("called", event.entity, event.name)])
            for alias in event.aliases:
                self.own(entry, event.entity, alias.name, alias.valid)
            if event.kind:
                self.change(entry, self.of("kind", event.entity), [("kind", event.entity, event.kind)])
        elif isinstance(event, Renamed):
            self.own(entry, event.entity, event.name, Window())
            self.change(entry, self.of("called", event.entity), [("called", event.entity, event.name)])
        elif isinstance(event, Merged):
            self.change(entry, [], [("into", event.entity, event.into)])
        elif isinstance(event, Split):
            cluster = self.cluster(self.top(event.entity))
            kinds = [fact[2] for member in cluster for fact in self.of("kind", member)]
            self.change(entry, [], [("kind", event.into, kind) for kind in kinds[:1]])
            for name in event.names:
                form = normalize_name(self.learn(name))
                had = [fact for fact in self.of("owned", form) if fact[2] in cluster]
                moved = [("owned", form, event.into, *fact[3:]) for fact in had]
                self.change(entry, had, moved or [("owned", form, event.into, name, Window())])
            self.change(entry, [], [("called", event.into, event.names[0])])

    def own(self, entry: Entry, entity: str, name: str, valid: Window) -> None:
        form = normalize_name(self.learn(name))
        cluster = self.cluster(self.top(entity))
        had = [fact for fact in self.of("owned", form) if fact[2] in cluster]
        met = [fact for fact in had if fact[4].overlaps(valid)]
        if all(fact[4] != valid for fact in met):
            holder = entity_id(form) if not had and entity_id(form) in cluster else entity
            holder = met[0][2] if met else holder
            self.change(entry, met, [("owned", form, holder, name, valid)])

    def change(self, entry: Entry, gone: list[Any], came: list[Any]) -> None:
        self.facts = [fact for fact in self.facts if fact not in gone] + came
        if entry.position in self.changes:
            self.changes[entry.position][0].extend(gone)
            self.changes[entry.position][1].extend(came)

    def learn(self, name: str) -> str:
        self.spelled.setdefault(normalize_name(name), name)
        return name

    def of(self, what: str, key: str) -> list[tuple[Any, ...]]:
        return [fact for fact in self.facts if fact[:2] == (what, key)]

    def top(self, entity: str) -> str:
        while into := self.of("into", entity):
            entity = into[0][2]
        return entity

    def cluster(self, entity: str) -> list[str]:
        parts = [fact[1] for fact in self.facts if fact[0] == "into" and fact[2] == entity]
        return [entity, *(member for part in parts for member in self.cluster(part))]

    def tops(self, name: str) -> set[str]:
        """All that a name stands for, whenever."""
        owners = {fact[2] for fact in self.of("owned", normalize_name(name))}
        return {self.top(owner) for owner in owners or {entity_id(normalize_name(name))}}

    def resolve(self, name: str, at: datetime | None) -> tuple[Any, ...] | None:
        """Id, name, kind if registered, and names with their times of what a name stands for."""
        form = normalize_name(name)
        owned = self.of("owned", form)
        now = [fact for fact in owned if (at or datetime(2026, 5, 5, tzinfo=UTC)) in fact[4]]
        if at is None and not now:
            now = sorted(owned, key=lambda fact: fact[4].end or datetime.max.replace(tzinfo=UTC))[-1:]
        if owned and not now:
            return None
        return self.shown(self.top(now[0][2] if owned else entity_id(form)))

    def shown(self, entity: str) -> tuple[Any, ...] | None:
        said = {form for memory, forms in self.mentions.items() if memory not in self.hidden for form in forms}
        names: list[tuple[str, str, Window]] = []
        for member in self.cluster(entity):
            for form in said:
                if entity_id(form) == member and not self.of("owned", form):
                    names.append((form, self.spelled[form], Window()))
            names += [(f[1], f[3], f[4]) for f in self.facts if f[0] == "owned" and f[2] == member]
        if not names:
            return None
        forms = [form for form, _, _ in names]
        called = [fact[2] for fact in self.of("called", entity) if normalize_name(fact[2]) in forms]
        name = called[0] if called else names[0][1]
        kinds = [fact[2] for member in self.cluster(entity) for fact in self.of("kind", member)]
        others = {(spelled, valid) for form, spelled, valid in names if form != normalize_name(name)}
        return entity, name, (kinds or [None])[0], others

    def listed(self) -> set[str]:
        found = [self.resolve(name, None) for name in self.spelled.values()]
        return {entity[0] for entity in found if entity is not None}


def all_described(space: Space) -> bool:
    """Whether the words of every description were foreseen, and so embedded."""
    with space._engine.open_index(space.name) as index:
        vectors = index.graph.save().get("_vectors")
        return vectors is None or bool(vectors.any(axis=1).all())


def as_told(entity: Entity | None, told: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if entity is None:
        return None
    kind = None if told is not None and told[2] is None else entity.kind
    return entity.id, entity.name, kind, {(alias.name, alias.valid) for alias in entity.aliases}


def agree(space: Space, moments: list[datetime]) -> None:
    """Each view says what the lines up to its moment say."""
    entries = list(space._engine.ledger.read(space.name))
    for moment in moments:
        view, told = space.as_of(moment), Told([entry for entry in entries if entry.at <= moment])
        for name in POOL:
            for at in (None, *MOMENTS):
                expected = told.resolve(name, at)
                found = as_told(view.entities.resolve(name, at=at), expected)
                assert found == expected, (name, at, moment)
        everybody = view.entities.list()
        assert {entity.id for entity in everybody} == told.listed()
        assert everybody.total == len(everybody)
        with space._engine.open_index(space.name) as index:
            position, numbers = view._position(index), {name: index.names.number(name) for name in POOL}
            for name, number in numbers.items():
                if number is not None:
                    same = {numbers[other] for other in POOL if told.tops(name) & told.tops(other)} - {None}
                    assert set(index.registry.names_of_same_entity(number, position)) == same, (name, moment)


@contextmanager
def world(folder: Path | None = None, clock: FakeClock | None = None) -> Iterator[tuple[Space, FakeClock]]:
    clock = clock or FakeClock("2026-05-04")
    with remanence.open(folder, embedder=HashingEmbedder(), clock=clock) as space:
        yield space, clock


quick = settings(
    max_examples=examples(25),
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


@quick
@given(steps=st.lists(STEP, min_size=8, max_size=16))
def test_every_view_says_what_the_lines_up_to_it_say(steps: list[Any]) -> None:
    """Held against a replay in plain facts; and a fresh build from the ledger agrees."""
    with world() as (space, clock):
        moments = live(space, clock, steps)
        agree(space, [moments[0] - timedelta(hours=1), *moments])
        assert all_described(space)
        assert space.admin.check() == {}
        space.rebuild()
        agree(space, moments[-1:])


@settings(quick, max_examples=examples(4))
@given(first=st.lists(STEP, min_size=4, max_size=8), then=st.lists(STEP, min_size=2, max_size=6))
def test_closed_and_opened_in_between_changes_nothing(first: list[Any], then: list[Any]) -> None:
    """Every view of the whole life is as the lines say."""
    with tempfile.TemporaryDirectory() as home:
        with world(Path(home)) as (space, clock):
            moments = live(space, clock, first)
        with world(Path(home), clock) as (space, _):
            moments += live(space, clock, then)
            agree(space, moments)
            assert space.admin.check() == {}


def test_who_is_only_in_a_stated_relation_is_known_too(space: Space) -> None:
    """Listed, found, and merged like any other; gone when what it rested on is forgotten."""
    memory = space.add("An old letter.", entities=[], triples=[])
    space.graph.relate("Bob", "knows", "Alice")
    space.graph.relate("Bob", "knows", "Carol", evidence=memory)
    assert {entity.name for entity in space.entities.list()} == {"Bob", "Alice", "Carol"}
    space.forget(memory.id)

    assert {entity.name for entity in space.entities.list()} == {"Bob", "Alice"}
    assert space.entities.resolve("Carol") is None
    space.entities.merge("Bob", "Alice")
    assert space.entities.resolve("Bob") == space.entities.resolve("Alice")


@pytest.mark.parametrize("text", ["ph-7 failed its audit.", "Ask about ph-7", "PH-7 was moved."])
def test_an_alias_of_letters_and_digits_is_found_in_lower_case(space: Space, text: str) -> None:
    """Its parts are short, as those of "so-so", which is an ordinary word."""
    space.entities.register("Phoenix Seven", aliases=["PH-7", "so-so"])
    assert [mention.name for mention in space.add(text).mentions] == ["PH-7"]
    assert space.add("It was So-So.").mentions == ()


def test_an_acronym_after_the_first_word_of_a_sentence_is_a_name(space: Space) -> None:
    """Unlike the second word of a heading, whose capital says nothing."""
    assert [mention.name for mention in space.add("Use JWT tokens for authentication.").mentions] == ["JWT"]
    assert space.add("Compact Camera").mentions == ()


def test_a_person_of_a_firm_is_a_name_of_their_own() -> None:
    """A university of a town, and a queen of a country, are one name."""
    named = [name.text for name in find_names("Met Vera Garcia of Delta Systems at the University of Porto.")]
    assert named == ["Vera Garcia", "Delta Systems", "University of Porto"]
    assert [name.text for name in find_names("We read about Catherine of Aragon.")] == ["Catherine of Aragon"]


def test_a_first_name_and_a_full_name_are_proposed() -> None:
    """And two full names with one first name are not."""
    assert name_similarity("Jonas", "Jonas Weber") is not None
    assert name_similarity("Jonas Braun", "Jonas Weber") is None


def test_what_is_added_has_the_importance_of_what_it_tells(clock: FakeClock) -> None:
    """Unless the caller says how important it is, or of what kind."""
    with remanence.open(None, embedder=sentence_embedder(), clock=clock, reader=None) as space:
        allergy, tea = space.add("I'm allergic to penicillin."), space.add("I like my coffee black.")
        chosen = space.add("I hate early meetings.", kind="semantic", importance=0.2)
    assert allergy.importance > 0.5
    assert tea.kind == "viewpoint"
    assert (chosen.kind, chosen.importance) == ("semantic", 0.2)

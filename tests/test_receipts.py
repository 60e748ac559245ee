"""Receipts: a recall asked again gives the same list, and who was told what is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence import InvalidInput, NotFound, Recall, Receipt, Space
from remanence.errors import ProjectionStale
from remanence.testing import FakeClock, HashingEmbedder


def listed(answer: Recall) -> list[tuple[str, float]]:
    return [(hit.memory.id, hit.score) for hit in answer]


@pytest.fixture
def life(space: Space, clock: FakeClock) -> Space:
    """A space that has learned a few things."""
    space.add("Alice lives in Porto.")
    space.add("Alice drinks green tea.")
    space.add("Bob lives in Porto.")
    space.add_turns([{"speaker": "Bob", "content": "I met Alice at the fair.", "time": "2026-05-01"}])
    space.graph.relate("Alice", "works_at", "Acme")
    clock.advance(days=1)
    return space


def go_on(space: Space, clock: FakeClock) -> None:
    """Much else happens: things are learned, revised, forgotten, merged, related and linked."""
    clock.advance(days=30)
    porto = space.recall("Alice Porto")[0].memory
    lisbon = space.add("Alice lives in Lisbon.")
    space.add_many([{"text": f"Alice saw film number {number} in Porto."} for number in range(60)])
    space.forget(space.recall("green tea")[0].memory.id)
    space.entities.merge("Bob", "Alice", why="by mistake")
    space.graph.relate("Alice", "works_at", "Beta")
    space.graph.link(lisbon, "supersedes", porto)
    space.graph.declare("drinks", single_valued=True)
    space.rebuild()


def test_a_replay_gives_the_same_list_after_reopening(tmp_path: Path, clock: FakeClock) -> None:
    """Also where a name near the question counts, whose vector is then read from the index file."""
    with remanence.open(tmp_path, clock=clock, reader=None, worker=False) as space:
        space.add_many([f"Person{number} likes dish {number % 13} with spice {number}." for number in range(60)])
        before = space.recall("What does Person12 eat?")
    with remanence.open(tmp_path, clock=clock, reader=None, worker=False) as space:
        after = space.audit.replay(before.receipt)

    assert any("a name near the question" in evidence.reason for hit in before for evidence in hit.evidence)
    assert listed(after) == listed(before)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Where does Alice live?", {}),
        ("What does Alice drink?", {"limit": 2}),
        ("Where did Alice live in April 2026?", {"history": True}),
        ("Who lives in Porto?", {"signals": ["words", "graph"], "weights": {"graph": 2.0, "words": 1.0}}),
        ("Alice", {"kinds": "semantic", "during": ("2026-01-01", None), "min_score": 0.01}),
    ],
)
def test_a_replay_gives_the_same_list_whatever_was_learned_since(
    life: Space, clock: FakeClock, question: str, options: dict[str, Any]
) -> None:
    """The same memories with the same scores, though today the answer is another one."""
    before = life.recall(question, **options)
    go_on(life, clock)

    again = life.audit.replay(before.receipt)  # type: ignore[arg-type]

    assert listed(again) == listed(before)
    assert again.receipt == before.receipt
    assert listed(life.recall(question, **options)) != listed(before)


def test_a_recall_of_no_signal_replays_as_one(life: Space) -> None:
    """None asked is another thing than none named."""
    answer = life.recall("Where does Alice live?", signals=[])

    assert listed(life.audit.replay(answer.receipt)) == listed(answer) == []  # type: ignore[arg-type]


def test_a_receipt_can_be_kept_as_json(life: Space) -> None:
    """Written down, read back and replayed, also from the dict itself."""
    answer = life.recall("Where does Alice live?", during="May 2026", tags=())
    kept = json.loads(json.dumps(answer.receipt.to_dict()))

    assert Receipt.from_dict(kept) == answer.receipt
    assert listed(life.audit.replay(kept)) == listed(answer)


def test_a_receipt_keeps_every_way_in_which_was_asked(life: Space) -> None:
    """Each option changes what comes back, so none may be lost on the way through a file."""
    options: dict[str, Any] = {"limit": 3, "during": ("2026-01-01", None), "history": False, "min_score": 0.2}
    options |= {"kinds": ["semantic"], "tags": ["home"], "signals": ["words"], "weights": {"words": 2.0}}
    plain = life.recall("Alice").receipt
    assert plain is not None

    for name, value in options.items():
        asked = life.recall("Alice", **{name: value}).receipt
        assert asked is not None
        assert asked != plain, name
        assert Receipt.from_dict(json.loads(json.dumps(asked.to_dict()))) == asked, name


def test_a_recall_with_a_vector_of_ones_own_is_replayed_with_it(life: Space) -> None:
    """The receipt is small and does not hold it, so it is asked for again."""
    vector = HashingEmbedder().embed(["green tea"])[0]
    answer = life.recall("Alice", vector=vector)
    assert answer.receipt is not None

    assert listed(life.audit.replay(answer.receipt, vector=vector)) == listed(answer)
    with pytest.raises(InvalidInput, match="pass the same `vector=` again"):
        life.audit.replay(answer.receipt)


def test_a_view_of_the_past_gives_receipts_too(life: Space, clock: FakeClock) -> None:
    """What was asked of last week is replayed of last week."""
    then = clock.now()
    go_on(life, clock)
    answer = life.as_of(then).recall("Where does Alice live?")

    assert answer.receipt is not None
    assert listed(life.audit.replay(answer.receipt)) == listed(answer)


def test_a_receipt_outlives_the_process(reopen: Callable[..., Space], clock: FakeClock) -> None:
    """A folder that is opened again replays what was asked before."""
    space = reopen()
    space.add("Alice lives in Porto.")
    answer = space.recall("Where does Alice live?")
    space.add("Alice lives in Lisbon.")

    assert answer.receipt is not None
    assert listed(reopen().audit.replay(answer.receipt)) == listed(answer)


def test_a_replay_that_could_not_be_the_same_is_refused(
    life: Space, reopen: Callable[..., Space], clock: FakeClock
) -> None:
    """Another space, another embedder, or what is not a receipt."""
    receipt = life.recall("Alice").receipt
    assert receipt is not None
    with pytest.raises(InvalidInput, match="belongs to space 'default'"):
        life.child("b").audit.replay(receipt)
    with pytest.raises(ProjectionStale, match="settings"):
        reopen(embedder=HashingEmbedder(dimension=32)).audit.replay(receipt)
    for odd in ({}, {"space": "default"}, {"question": 7, "now": "yesterday"}):
        with pytest.raises(InvalidInput, match="is not a receipt"):
            life.audit.replay(odd)


# Who was told what


def served(space: Space, memory_id: str) -> list[tuple[str, str, str | None]]:
    """The question, what was given out, and what stands in its place."""
    return [
        (e.receipt.question, e.memory.text, e.superseded_by and e.superseded_by.text)
        for e in space.audit.exposures(memory_id)
    ]


def test_an_exposure_is_a_recorded_recall_of_what_has_been_revised(space: Space, clock: FakeClock) -> None:
    """Those who were told the old code are known, with when; those who were told the new one are not."""
    code = space.add("The door code is 4711.", key="door")
    space.recall("What is the door code?")  # not recorded
    space.audit.record(space.recall("door code"))
    told_at = clock.now()
    assert space.audit.exposures(code.id) == []
    clock.advance(days=1)
    space.add("The door code is 1234.", key="door")
    space.audit.record(space.recall("the code of the door"))

    assert served(space, code.id) == [("door code", "The door code is 4711.", "The door code is 1234.")]
    assert [e.at for e in space.audit.exposures(code.id)] == [told_at]


def test_what_is_superseded_by_a_link_or_a_claim_was_an_exposure(space: Space, clock: FakeClock) -> None:
    """A link says so, or a later value of what can have only one."""
    porto, bridge = space.add("Alice lives in Porto."), space.add("The bridge is open.")
    space.audit.record(space.recall("Where does Alice live?"))
    space.audit.record(space.recall("Is the bridge open?"))
    clock.advance(days=1)
    lisbon, closed = space.add("Alice lives in Lisbon."), space.add("The bridge was closed.")
    space.graph.link(closed, "supersedes", bridge)

    assert ("Where does Alice live?", porto.text, lisbon.text) in served(space, porto.id)
    assert ("Is the bridge open?", bridge.text, closed.text) in served(space, bridge.id)


def test_what_is_forgotten_or_expired_was_an_exposure_with_nothing_in_its_place(space: Space, clock: FakeClock) -> None:
    """Until it is restored."""
    offer = space.add("The offer is 5 euros.", expires_at="2026-05-06")
    secret = space.add("The party is a secret.")
    space.audit.record(space.recall("offer"))
    space.audit.record(space.recall("party"))
    clock.advance(days=3)
    space.forget(secret.id)

    assert ("offer", offer.text, None) in served(space, offer.id)
    assert ("party", secret.text, None) in served(space, secret.id)
    space.unforget(secret.id)
    assert served(space, secret.id) == []


def test_what_had_stepped_back_when_it_was_asked_for_is_no_exposure(space: Space, clock: FakeClock) -> None:
    """Whoever asked for the past was told that it is the past."""
    porto = space.add("Alice lives in Porto.")
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.")
    space.audit.record(space.recall("Where did Alice live?", history=True))

    assert space.audit.exposures(porto.id) == []


def test_exposures_are_those_that_the_view_knows(space: Space, clock: FakeClock) -> None:
    """Before the code was changed, nobody had been told a wrong one."""
    code = space.add("The door code is 4711.", key="door")
    space.audit.record(space.recall("door code"))
    before = clock.now()
    clock.advance(days=1)
    space.add("The door code is 1234.", key="door")

    assert space.as_of(before).audit.exposures(code.id) == []
    assert len(space.audit.exposures(code.id)) == 1


def test_exposures_of_what_is_not_there_are_refused(space: Space) -> None:
    """An unknown id, one of a sibling, an erased one, and what is not an id."""
    erased, theirs = space.add("A secret."), space.child("b").add("Theirs.")
    space.erase(erased.id)
    for unknown in ("m1", theirs.id, erased.id):
        with pytest.raises(NotFound, match=unknown):
            space.audit.exposures(unknown)
    with pytest.raises(InvalidInput):
        space.audit.exposures(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="is not a recall of space"):
        space.audit.record(space.child("b").recall("Theirs"))


async def test_exposures_are_told_off_the_event_loop(space: Space) -> None:
    """The async twin gives what its verb gives."""
    code = space.add("The door code is 4711.", key="door")
    space.audit.record(space.recall("door code"))
    space.add("The door code is 1234.", key="door")

    assert await space.audit.aexposures(code.id) == space.audit.exposures(code.id)


def test_what_was_ended_by_hand_was_exposed_too(space: Space, clock: FakeClock) -> None:
    """Nothing followed it, and it holds no longer all the same."""
    memory = space.add("Alice lives in Porto.")
    space.audit.record(space.recall("Where does Alice live?"))
    assert space.audit.exposures(memory.id) == []
    before = clock.now()
    clock.advance(days=1)
    space.graph.invalidate("Alice", "lives_in", why="she left")

    [exposure] = space.audit.exposures(memory.id)
    assert (exposure.memory.id, exposure.superseded_by) == (memory.id, None)
    assert space.audit.diff(before).invalidated

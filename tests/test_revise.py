"""New versions of memories: corrections, ends, tags, and the version before again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import remanence
from model_replies import USER_FACTS
from remanence.errors import InvalidInput, NotFound
from remanence.service.endpoints import edit_operations
from remanence.testing import FakeClock, HashingEmbedder


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock("2026-06-01")


@pytest.fixture
def space(clock: FakeClock) -> Iterator[remanence.Space]:
    with remanence.open(None, embedder=HashingEmbedder(), reader=None, clock=clock) as space:
        yield space


def test_a_correction_is_a_new_version_with_its_own_claims(space: remanence.Space, clock: FakeClock) -> None:
    """The id, when it was told and where it comes from stay; a view of the past has the old text."""
    old = space.add("Ana lives in Porto.", source="letter", tags="home", now="2026-05-01")
    clock.advance(days=1)
    [new] = space.revise(old, text="Ana lives in Braga.", importance=0.9)
    assert (new.id, new.told_at, new.source, new.tags) == (old.id, old.told_at, "letter", ("home",))
    assert [relation.object for relation in space.graph.when("Ana", "lives_in")] == ["Braga"]
    then = space.as_of("2026-06-01").get(old)
    assert then.text == "Ana lives in Porto."


def test_the_old_text_told_again_does_not_undo_a_correction(space: remanence.Space) -> None:
    """So a file can be imported again."""
    old = space.add("Ana drinks gren tea.")
    space.revise(old, text="Ana drinks green tea.")
    assert space.add("Ana drinks gren tea.").text == "Ana drinks green tea."
    assert space.count() == 1


def test_tags_are_added_to_several_at_once_and_taken_back(space: remanence.Space) -> None:
    memories = space.add_many([{"text": "Ana drinks tea.", "tags": ["food"]}, "Bob rows."])
    assert [m.tags for m in space.revise(memories, add_tags="new", remove_tags="food")] == [("new",), ("new",)]
    assert [m.tags for m in space.revert(memories)] == [("food",), ()]


def test_what_has_the_values_already_gets_no_version(space: remanence.Space) -> None:
    memory = space.add("Ana drinks tea.", tags="food")
    assert space.revise(memory, add_tags="food") == [memory]
    with pytest.raises(InvalidInput, match="one version only"):
        space.revert(memory)


def test_a_fact_that_ended_answers_questions_about_the_time_before(space: remanence.Space) -> None:
    memory = space.add("Ana lives in Porto.", valid_from="2024-01-01")
    [ended] = space.end(memory, since="2026-05-03")
    assert str(ended.valid) == "2024-01-01 to 2026-05-03"
    assert [hit.current for hit in space.recall("Where does Ana live?")] == [False]
    assert space.recall("Where did Ana live?", during="2025")[0].memory.id == memory.id
    with pytest.raises(InvalidInput, match="is true since"):
        space.end(memory, since="2023-01-01")


def test_a_turn_that_is_over_stays_a_quotation(space: remanence.Space) -> None:
    """It expires; when it was said does not change."""
    [turn] = space.add_turns([{"role": "user", "content": "I live in Graz.", "time": "2026-01-10"}])
    [ended] = space.end(turn, since="2026-05-01")
    assert (ended.told_at, ended.turn) == (turn.told_at, turn.turn)
    assert space.admin.browse()[0].status == "expired"
    assert space.revert(turn)[0].expires_at is None


def test_a_freed_memory_can_be_changed_without_going_back_into_quarantine(space: remanence.Space) -> None:
    memory = space.add("Ana lives in Porto.", source="crawler")
    space.audit.quarantine("crawler")
    with pytest.raises(NotFound):
        space.revise(memory, add_tags="checked")
    space.unforget(memory)
    space.revise(memory, add_tags="checked")
    assert space.admin.browse()[0].status == "current"


def test_one_text_is_for_one_memory(space: remanence.Space) -> None:
    memories = space.add_many(["Ana drinks tea.", "Bob rows."])
    with pytest.raises(InvalidInput, match="one by one"):
        space.revise(memories, text="Both.")
    with pytest.raises(NotFound):
        space.revise([memories[0], "0" * 24], add_tags="x")
    assert space.get(memories[0]).tags == ()  # type: ignore[union-attr]


def test_a_preview_says_what_would_change_and_changes_nothing(space: remanence.Space) -> None:
    memory = space.add("Ana lives in Porto.", valid_from="2024-01-01")
    ask = edit_operations

    def effects(operation: object, **fields: object) -> str:
        return " ".join(operation(space, **fields).effects)  # type: ignore[operator]

    added = effects(ask.preview_add, text="Ana lives in Lisbon.", valid_from="2026-01-01")
    assert "It states: Ana lives in Lisbon." in added
    corrected = effects(ask.preview_revise, ids=[memory.id], text="Ana lives in Braga.", importance=0.9)
    assert "The text becomes “Ana lives in Braga.”" in corrected
    assert "Importance: 0.5 becomes 0.9." in corrected
    assert "Ended: Ana lives in Porto" in effects(ask.preview_end_of, ids=[memory.id], since="2026-05-01")
    assert "cannot be undone" in effects(ask.preview_remove, ids=[memory.id], erase=True)
    assert space.get(memory) == memory
    assert space.count() == 1


def test_the_preview_of_erasing_counts_what_goes_with_it() -> None:
    """Facts that were found in that memory alone, and recorded recalls that returned it."""
    with remanence.open(None, embedder=HashingEmbedder(), extractor=USER_FACTS) as space:
        space.remember([{"role": "user", "content": "Clara knows that I live in Porto."}])
        told = next(memory for memory in space.memories() if "Clara" in memory.text)
        space.audit.record(space.recall("What does Clara know?"))
        effects = edit_operations.preview_remove(space, [told.id], erase=True).effects
        done = space.erase(told.id)
    assert f"{len(done.derived_memories)} fact found in it alone would go with it." in effects
    assert "1 record of what agents were told would go with it." in effects

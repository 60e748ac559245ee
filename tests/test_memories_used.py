"""What an answer took up of the memories that it was given counts as used; to be shown alone does not."""

from __future__ import annotations

import pytest

from case_tables import cases
from remanence import Hit, Memory, Space, frame, memories_used
from remanence.adapters import reinforce


def both(space: Space, porto: Memory, nuts: Memory) -> list[Hit]:
    """What a question about Ana is answered with."""
    shown = list(space.recall("Ana"))
    assert {hit.memory.id for hit in shown} == {porto.id, nuts.id}
    return shown


@cases("memories_used")
def test_what_the_answer_has_words_from_was_of_use(
    space: Space, porto: Memory, nuts: Memory, answer: str, used: list[str]
) -> None:
    """Words that tell one memory from another, in whatever form."""
    ids = {"porto": porto.id, "nuts": nuts.id}

    taken = memories_used(both(space, porto, nuts), context="What of her?", answer=answer)

    assert set(taken) == {ids[name] for name in used}


@pytest.mark.parametrize("told", ["Is it Porto?", ["Where is she?", "The tool says: Porto."]])
def test_what_the_model_was_told_besides_it_has_not_from_memory(
    space: Space, porto: Memory, nuts: Memory, told: str | list[str]
) -> None:
    """By the question, or by anything else it read."""
    assert memories_used(both(space, porto, nuts), context=told, answer="In Porto.") == []


def test_the_block_itself_is_neither_told_nor_answered(space: Space, porto: Memory, nuts: Memory) -> None:
    """The quotes of a memory do not speak against it, and a model that repeats its prompt used nothing."""
    shown = both(space, porto, nuts)
    block = frame(shown)

    assert memories_used(shown, context=["Where is she?", f"Be kind.\n{block}"], answer="In Porto.") == [porto.id]
    assert memories_used(shown, context="Where is she?", answer=f"I was told: {block}") == []


def test_a_block_that_somebody_left_open_hides_no_other_message(space: Space, porto: Memory, nuts: Memory) -> None:
    """Each text is read by itself."""
    told = ["<recalled-memories> Where is she?", "The tool says: Porto."]

    assert memories_used(both(space, porto, nuts), context=told, answer="In Porto.") == []


def test_of_two_versions_of_a_memory_either_will_do(space: Space) -> None:
    """They are one memory, and it is named once."""
    home = space.add("Ana lives in Porto.", key="home")
    space.add("Ana lives in Lisbon.", key="home")
    shown = list(space.recall("Where does Ana live?", history=True))
    assert len(shown) == 2

    for city in ("Porto", "Lisbon"):
        assert memories_used(shown, context="Where?", answer=f"In {city}.") == [home.id]


def test_ids_will_do_where_the_hits_are_not_at_hand(space: Space, porto: Memory, nuts: Memory) -> None:
    """As those of the documents that a retriever gave."""
    shown = space.get_many([porto.id, nuts.id])

    assert memories_used(shown, context="Where is she?", answer="In Porto.") == [porto.id]


def test_what_was_taken_up_counts_as_used(space: Space, porto: Memory, nuts: Memory) -> None:
    """And nothing else does; nor is anything written where nothing was of use."""
    shown = both(space, porto, nuts)
    before = space.verify().entries
    reinforce(space, shown, context="Where is she?", answer="I cannot say.")
    assert space.verify().entries == before

    reinforce(space, shown, context="Where is she?", answer="In Porto.")
    assert [space.touch(memory.id)[0].uses - 1 for memory in (porto, nuts)] == [1, 0]


def test_what_was_forgotten_meanwhile_does_not_cost_the_rest(space: Space, porto: Memory, nuts: Memory) -> None:
    """It cannot be of use any more; the others can."""
    shown = both(space, porto, nuts)
    space.forget(porto.id)

    reinforce(space, shown, context="What of her?", answer="In Porto, far from hazelnuts.")
    assert space.touch(nuts.id)[0].uses == 2

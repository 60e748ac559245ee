"""RemanenceMemory with shared spaces: what a team knows beside what the user said."""

from __future__ import annotations

from pathlib import Path

import pytest

import remanence
from framed import recalled
from llama_index_remanence import RemanenceMemory
from llamaindex.scripted import assistant, user
from remanence import InvalidInput

HERON = "The staging server is called heron."
QUESTION = "What is our staging server called, do you remember?"


def test_own_and_team_are_recalled_together(space: remanence.Space) -> None:
    """Nothing of others; what is said is stored in the own space only, and so is what counts as used."""
    team, ana = space.child("team"), space.child("users", "ana")
    shared = team.add(HERON)
    space.child("users", "bob").add("My staging server password is zebra.")
    memory = RemanenceMemory(ana, session_id="monday", shared=[team], min_score=0.1, reinforce=True)
    memory.put(user(QUESTION))
    text = str(memory.get(input=QUESTION)[0].content)
    assert [(line["text"], line["notes"]) for line in recalled(text)] == [(HERON, f"in {team.name}")]

    memory.put(assistant("It is called heron."))
    assert team.count() == 1
    [used] = team.get_many([shared.id])
    assert used.usage.uses == 0
    team.add("The staging server is called stork.")
    assert "stork" in str(memory.get(input=QUESTION)), "what the team stores is found at once"


def test_it_is_written_with_its_shared_spaces(tmp_path: Path) -> None:
    """And finds them again."""
    with remanence.open(tmp_path / "memory") as space:
        space.child("team").add(HERON)
        memory = RemanenceMemory(space.child("ana"), session_id="s", shared=[space.child("team")], min_score=0.1)
        memory.persist(str(tmp_path / "memory.json"))
        again = RemanenceMemory.from_persist_path(str(tmp_path / "memory.json"))
        assert HERON in str(again.get(input=QUESTION))


def test_a_recall_of_several_spaces_is_not_recorded(space: remanence.Space) -> None:
    """The two options do not go together."""
    with pytest.raises(InvalidInput, match="are not recorded"):
        RemanenceMemory(space, shared=[space.child("team")], record=True)

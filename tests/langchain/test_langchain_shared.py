"""The middleware with shared spaces: the user's own memories and those of a team, in one block."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_models import Actor

from framed import recalled
from langchain_remanence import RemanenceMiddleware
from remanence import InvalidInput, Space

HERON = "The staging server is called heron."
QUESTION = "What is our staging server called, do you remember?"


def ask(space: Space, model: Actor, user: str, **options: Any) -> list[dict[str, Any]]:
    """What the model is given for a question of a user."""
    middleware = RemanenceMiddleware(space, user_key="user_id", min_score=0.1, **options)
    create_agent(model, middleware=[middleware]).invoke(
        {"messages": [("user", QUESTION)]}, {"configurable": {"user_id": user}}
    )
    return recalled(str(model.prompts[-1][-1].text))


def test_own_and_team_are_quoted_together(space: Space) -> None:
    """Each line names its space; nothing of another user comes in, and only the own space is written to."""
    team, ana, bob = space.child("team"), space.child("users", "ana"), space.child("users", "bob")
    team.add(HERON), ana.add("My staging server account is ana7."), bob.add("My staging server password is zebra.")

    lines = ask(space, Actor(lines=["Noted."]), "ana", shared=[team])
    assert {(line["notes"], line["text"]) for line in lines} == {
        (f"in {team.name}", HERON),
        (f"in {ana.name}", "My staging server account is ana7."),
    }
    assert team.count() == 1
    assert QUESTION in [memory.text for memory in ana.memories()]
    assert HERON in str(ask(space, Actor(lines=["Noted."]), "bob", shared=lambda runtime: [team]))


def test_only_own_memories_count_as_used(space: Space) -> None:
    """What an answer took from a shared space is not counted there."""
    team, ana = space.child("team"), space.child("users", "ana")
    shared, own = team.add(HERON), ana.add("My staging server account is ana7.")

    ask(space, Actor(lines=["It is heron, with your account ana7."]), "ana", shared=[team], reinforce=True)
    [mine], [theirs] = ana.get_many([own.id]), team.get_many([shared.id])
    assert (mine.usage.uses, theirs.usage.uses) == (1, 0)


def test_wrong_shared_spaces_are_refused(space: Space) -> None:
    """When the middleware is made."""
    for options, message in [
        ({"shared": ["team"]}, "'team' is no space"),
        ({"shared": [space.child("team")], "record": True}, "are not recorded"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            RemanenceMiddleware(space, **options)

"""Answers of an agent that are compared with its memory: marked, or asked for again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langchain_models import WAYS, Actor, run

from langchain_remanence import AnswerCheckMiddleware, RemanenceMiddleware
from langchain_remanence.answer_check import CHECKED
from remanence import InvalidInput, Space
from remanence.text.framing import OPEN_TAG

RIGHT, WRONG = "You live in Porto.", "You play the trombone in an orchestra in Vienna."
ON_ALL = ("contradicted", "unsupported")


@pytest.fixture(params=WAYS)
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Invokes an agent, once on this thread and once on an event loop; gives its messages."""

    def invoke(agent: Any, said: str = "Where do I live?") -> Any:
        return run(request.param, agent, said)["messages"]

    return invoke


@pytest.fixture
def home(space: Space) -> Space:
    """A space that knows where the user lives."""
    space.add("I live in Porto.", now="2026-05-01")
    return space


@tool
def look_up(city: str) -> str:
    """Look a city up."""
    return f"{city} has six bridges."


def test_an_answer_is_marked_with_its_verdicts(home: Space, ask: Callable[..., Any]) -> None:
    """In the message that the caller gets; its text is as it was."""
    model = Actor(lines=[f"{RIGHT} {WRONG}"])
    reply = ask(create_agent(model, middleware=[AnswerCheckMiddleware(home)]))[-1]
    right, wrong = reply.additional_kwargs[CHECKED]

    assert reply.text == f"{RIGHT} {WRONG}"
    assert (right["verdict"], right["quotation"]) == ("supported", "I live in Porto.")
    assert right["told_at"].startswith("2026-05-01")
    assert wrong["verdict"] == "unsupported"
    assert len(model.prompts) == 1


def test_the_model_is_asked_again_with_the_sentences_named(home: Space, ask: Callable[..., Any]) -> None:
    """The correction is in the prompt only; the thread has the last answer alone."""
    model = Actor(lines=[f"{RIGHT} {WRONG}", RIGHT])
    agent = create_agent(model, middleware=[AnswerCheckMiddleware(home, retries=3, verdicts=ON_ALL)])
    messages = ask(agent)

    assert [message.text for message in messages] == ["Where do I live?", RIGHT]
    assert len(model.prompts) == 2
    assert model.prompts[1][-2].text == f"{RIGHT} {WRONG}"
    assert f"- {WRONG} (no memory tells it)" in model.prompts[1][-1].text
    assert RIGHT not in model.prompts[1][-1].text
    assert messages[-1].additional_kwargs[CHECKED][0]["verdict"] == "supported"


def test_it_is_asked_again_so_often_and_not_more(home: Space, ask: Callable[..., Any]) -> None:
    """A model that insists has its way, and the last answer is marked."""
    model = Actor(lines=[WRONG])
    messages = ask(create_agent(model, middleware=[AnswerCheckMiddleware(home, retries=2, verdicts=ON_ALL)]))

    assert len(model.prompts) == 3
    assert messages[-1].additional_kwargs[CHECKED][0]["verdict"] == "unsupported"
    assert [len(prompt) for prompt in model.prompts] == [1, 3, 3]


def test_only_contradictions_are_asked_for_again_by_default(home: Space, ask: Callable[..., Any]) -> None:
    """What no memory tells may be known from elsewhere."""
    model = Actor(lines=[WRONG])
    ask(create_agent(model, middleware=[AnswerCheckMiddleware(home, retries=2)]))

    assert len(model.prompts) == 1


def test_a_tool_call_is_not_checked(home: Space, ask: Callable[..., Any]) -> None:
    """Its text is no answer yet."""
    call = AIMessage(WRONG, tool_calls=[{"name": "look_up", "args": {"city": "Porto"}, "id": "c1"}])
    model = Actor(lines=[call, RIGHT])
    checking = AnswerCheckMiddleware(home, retries=2, verdicts=ON_ALL)
    messages = ask(create_agent(model, [look_up], middleware=[checking]))

    assert len(model.prompts) == 2
    assert CHECKED not in messages[1].additional_kwargs
    assert CHECKED in messages[-1].additional_kwargs


def test_it_stands_after_the_memory(home: Space, ask: Callable[..., Any]) -> None:
    """Both quote and check with the user's turn; the correction is not stored."""
    model = Actor(lines=[WRONG, RIGHT])
    checking = AnswerCheckMiddleware(home, retries=1, verdicts=ON_ALL)
    ask(create_agent(model, middleware=[RemanenceMiddleware(home), checking]))

    assert OPEN_TAG in model.prompts[1][0].text
    assert "do not agree with memory" in model.prompts[1][-1].text
    assert not any("agree with memory" in memory.text or memory.text == WRONG for memory in home.memories())


def test_an_answer_goes_out_unmarked_if_memory_fails(
    home: Space, ask: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """The agent does not need it to answer."""
    agent = create_agent(Actor(lines=[RIGHT]), middleware=[AnswerCheckMiddleware(home)])
    home.close()
    with caplog.at_level(logging.WARNING):
        reply = ask(agent)[-1]

    assert (reply.text, CHECKED in reply.additional_kwargs) == (RIGHT, False)
    assert caplog.records


@pytest.mark.parametrize(
    "wrong", [{"retries": -1}, {"limit": 0}, {"verdicts": "contradicted"}, {"verdicts": ["wrong"]}]
)
def test_wrong_arguments_are_refused(space: Space, wrong: dict[str, Any]) -> None:
    """At once, with the value."""
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        AnswerCheckMiddleware(space, **wrong)

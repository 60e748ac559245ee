"""The middleware records the tool calls of a run with their outcome, and quotes what worked for the next one."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import ToolException, tool
from langchain_models import WAYS, Actor, asked, run

import remanence
from framed import recalled
from langchain_remanence import RemanenceMiddleware
from remanence import Policy, Space

TASK = "Deploy the shop to staging"
done: list[str] = []


@tool
def build(target: str) -> str:
    """Build it."""
    done.append("build")
    return f"built {target}"


def _release(env: str) -> str:
    """Release it."""
    if "build" not in done:
        raise ToolException("not built")
    return f"released to {env}"


release = tool("release")(_release)
release.handle_tool_error = True
TOOLS = [build, release]
CALLS = {"build": {"target": "shop"}, "release": {"env": "staging"}}


def calls(*names: str) -> list[AIMessage]:
    """A model that calls these tools one after the other, and then says that it is done."""
    made = [
        AIMessage("", tool_calls=[{"name": name, "args": CALLS[name], "id": f"{name}{number}"}])
        for number, name in enumerate(names)
    ]
    return [*made, AIMessage("All done.")]


def agent_of(space: Any, *names: str, **options: Any) -> tuple[Any, Actor]:
    done.clear()
    model = Actor(lines=calls(*names))
    middleware = RemanenceMiddleware(space, **{"procedures": True, "keep": None, **options})
    return create_agent(model, TOOLS, middleware=[middleware]), model


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_is_shown_what_worked_and_what_failed(space: Space, way: str) -> None:
    """In its first run it tries the wrong order; the second prompt has the right one."""
    agent, model = agent_of(space, "release", "build", "release", tools={"deploy-cli": "1.4"})
    run(way, agent, TASK)
    assert not any(recalled(asked(prompt)) for prompt in model.prompts), "nothing is known yet"
    found = space.procedures.recall(TASK)
    assert found is not None
    assert [str(step) for step in found.steps] == ['build(target="shop")', 'release(env="staging")']
    assert (found.worked, found.tools) == (1, {"deploy-cli": "1.4"})
    assert [(str(each.steps[0]), each.error) for each in found.avoid] == [('release(env="staging")', "not built")]

    agent, model = agent_of(space, "build", "release", tools=lambda: {"deploy-cli": "2.0"})
    run(way, agent, TASK)
    [quoted] = recalled(asked(model.prompts[0]))
    assert quoted["text"].splitlines()[1:3] == ['1. build(target="shop")', '2. release(env="staging")']
    assert "Not tried yet with deploy-cli 2.0." in quoted["text"]
    assert "not built" in quoted["text"]
    again = space.procedures.recall(TASK)
    assert (again.worked, again.tools) == (2, {"deploy-cli": "2.0"})


def test_the_caller_knows_better_whether_it_worked(space: Space) -> None:
    """By default, the last tool call decides; `outcome` is asked with the messages of the run alone."""
    seen: list[int] = []

    def outcome(messages: Any) -> Any:
        seen.append(sum(isinstance(message, ToolMessage) for message in messages))
        return answers.pop(0)

    answers = ["failure", None]
    for _ in range(2):
        agent, _model = agent_of(space, "build", "release", outcome=outcome)
        agent.invoke({"messages": [("user", "Hello"), ("ai", "Hello!"), ("user", TASK)]})
    [known] = space.procedures.list()

    assert seen == [2, 2]
    assert (known.steps, known.failed, known.avoid[0].error) == ((), 1, "")


def test_a_run_that_ends_with_an_error_failed(space: Space) -> None:
    agent, _model = agent_of(space, "release")
    agent.invoke({"messages": [("user", TASK)]})
    [known] = space.procedures.list()
    assert (known.steps, known.failed, known.avoid[0].error) == ((), 1, "not built")


def test_nothing_is_recorded_without_tool_calls_or_without_being_asked(space: Space) -> None:
    for names, options in (((), {}), (("build", "release"), {"procedures": False})):
        agent, _model = agent_of(space, *names, **options)
        agent.invoke({"messages": [("user", TASK)]})
    assert space.procedures.list() == []


def test_secrets_in_arguments_are_removed_by_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CALLS, "build", {"target": "postgres://ana:hunter2@db/shop"})
    with remanence.open(None, policy=Policy(redact=True)) as space:
        agent, _model = agent_of(space, "build")
        agent.invoke({"messages": [("user", TASK)]})
        assert "hunter2" not in str(list(space.memories()))
        [step] = space.procedures.recall(TASK).steps
        assert step.args == {"target": "postgres://ana:[redacted password]@db/shop"}


def test_an_agent_answers_if_its_procedures_fail(space: Space, caplog: pytest.LogCaptureFixture) -> None:
    agent, _model = agent_of(space, "build", tools=lambda: 1 / 0)
    with caplog.at_level(logging.WARNING):
        answer = agent.invoke({"messages": [("user", TASK)]})
    assert answer["messages"][-1].text == "All done."
    assert "could not record what worked" in caplog.text
    assert space.procedures.list() == []

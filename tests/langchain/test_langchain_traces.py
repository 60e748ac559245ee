"""What the middleware shows in traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

from langchain_remanence import ClaudeMemoryMiddleware, RemanenceMiddleware
from langchain_remanence.tracing import NO_PAYLOADS
from remanence import Space

pytestmark = pytest.mark.skipif(NO_PAYLOADS is None, reason="this langgraph has no TracePolicy")


def hook_runs(middleware: Any) -> Iterator[tuple[str, Any, Any]]:
    """The runs of the middleware's own hooks in the trace of one turn."""
    trace = RunCollectorCallbackHandler()
    agent = create_agent(FakeListChatModel(responses=["Peanuts."]), middleware=[middleware])
    agent.invoke({"messages": [("user", "What am I allergic to?")]}, {"callbacks": [trace]})
    runs = list(trace.traced_runs)
    while runs:
        run = runs.pop()
        runs += run.child_runs
        if run.name.startswith(type(middleware).__name__):
            yield run.name, run.inputs, run.outputs


def test_hooks_show_no_messages_and_no_memories(space: Space) -> None:
    """Only that they ran."""
    space.add("I am allergic to peanuts.")
    runs = {name: (inputs, outputs) for name, inputs, outputs in hook_runs(RemanenceMiddleware(space))}

    assert runs == {f"{RemanenceMiddleware.__name__}.{hook}": ({}, {}) for hook in ("before_agent", "after_agent")}
    assert ClaudeMemoryMiddleware.trace_policy is NO_PAYLOADS


def test_who_asks_for_payloads_has_them(space: Space) -> None:
    """In one middleware, or in a class of one's own."""
    middleware = RemanenceMiddleware(space)
    middleware.trace_policy = None

    assert all("allergic" in str(inputs) for _, inputs, _ in hook_runs(middleware))
    assert RemanenceMiddleware.trace_policy is NO_PAYLOADS

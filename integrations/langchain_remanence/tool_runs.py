"""The tool calls of a run as what worked and what failed, and what worked before as a block for the prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langchain_remanence.messages import message_text
from remanence import Hit, Memory, Procedure, frame
from remanence.adapters import MAX_TASK_LENGTH, TokenCounter

if TYPE_CHECKING:
    from remanence import Space

Outcome: TypeAlias = Literal["success", "failure"]
OutcomeOf: TypeAlias = Callable[[Sequence[BaseMessage]], Outcome | None]
"""Says of the messages of a run whether the task was done; None if nothing is to be recorded."""


def task_of(turn: Sequence[BaseMessage]) -> str:
    """What the user asks for, by the last message of a turn."""
    return message_text(turn[-1]).strip()[:MAX_TASK_LENGTH] if turn else ""


def record_run(
    space: Space,
    task: str,
    messages: Sequence[BaseMessage],
    tools: Mapping[str, str] | None,
    outcome_of: OutcomeOf | None,
) -> None:
    """Record the tool calls of a run: what worked, and each call that failed with those before it.

    Args:
        task: What the user asked for.
        messages: The messages after that.
        tools: The versions of the tools.
        outcome_of: Says whether the task was done. By default it was, if the last tool call worked.
    """
    worked: list[dict[str, Any]] = []
    failures: list[tuple[list[dict[str, Any]], str]] = []
    last_failed = False
    for call, result in _calls(messages):
        last_failed = result.status == "error"
        if last_failed:
            failures.append(([*worked, call], message_text(result).strip()[:500]))
        else:
            worked.append(call)
    if not worked and not failures:
        return
    outcome = ("failure" if last_failed else "success") if outcome_of is None else outcome_of(messages)
    if outcome is None:
        return
    first = worked[0] if worked else failures[0][0][0]
    known = space.procedures.recall(task, tools=tools)
    if known is not None and known.steps and {"tool": known.steps[0].tool, "args": known.steps[0].args} == first:
        task = known.task  # its steps were followed, so this is a run of that task
    for steps, error in failures:
        space.procedures.record(task, steps, outcome="failure", error=error or None, tools=tools)
    if worked and (outcome == "success" or not last_failed):
        space.procedures.record(task, worked, outcome=outcome, tools=tools)


def what_worked(
    space: Space, task: str, tools: Mapping[str, str] | None, max_tokens: int | None, count_tokens: TokenCounter | None
) -> str:
    """What worked for a task, as a block for the prompt; "" if no similar one is known, or it does not fit."""
    known = space.procedures.recall(task, tools=tools)
    return (
        "" if known is None else frame([_as_hit(known, space.name)], max_tokens=max_tokens, count_tokens=count_tokens)
    )


def _calls(messages: Sequence[BaseMessage]) -> Iterator[tuple[dict[str, Any], ToolMessage]]:
    """The tool calls that were answered, in the order of their answers, each with its answer."""
    asked: dict[str | None, dict[str, Any]] = {
        call["id"]: {"tool": call["name"], "args": call["args"]}
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id in asked:
            yield asked[message.tool_call_id], message


def _as_hit(known: Procedure, space: str) -> Hit:
    failed = known.last_failure.at if known.last_failure is not None else None
    last = max(each for each in (known.last_worked, failed) if each is not None)
    memory = Memory(known.memories[0], space, str(known), kind="procedure", told_at=last)
    return Hit(memory, known.probability)

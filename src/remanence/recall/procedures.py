"""What worked for a task: the steps of its runs, how often they worked, and what to avoid.

A run is one version of a memory of the kind "procedure"; runs of the same task with the same steps are versions of one
memory. So counting reads, and writing never changes what is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from remanence.errors import InvalidInput
from remanence.index.engine.identity import content_digest
from remanence.schema import Memory
from remanence.text.framing import escape_structure, plain_line
from remanence.text.text import normalize_text, truncate

Outcome = Literal["success", "failure"]

TASK_FIELD, RUN_FIELD = "_procedure", "_run"
_NAME_LENGTH, _DESCRIPTION_LENGTH = 64, 1_024
"""The limits of the two fields of a SKILL.md, in characters (agentskills.io/specification)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a task.

    Attributes:
        tool: The name of the tool; or the step in words.
        args: The arguments of the call, by name.
    """

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        given = (
            f"{plain_line(name)}={escape_structure(json.dumps(value, ensure_ascii=False))}"
            for name, value in self.args.items()
        )
        return f"{plain_line(self.tool)}({', '.join(given)})" if self.args else plain_line(self.tool)


@dataclass(frozen=True, slots=True)
class FailedSteps:
    """Steps that failed.

    Attributes:
        steps: The steps, as far as they came: the last one failed.
        error: The last error; "" if none was recorded.
        at: When they failed last.
        tools: The versions of the tools then.
        failed: How often they failed.
        worked: How often they worked, with older versions of the tools.
    """

    steps: tuple[Step, ...]
    error: str
    at: datetime
    tools: Mapping[str, str] = field(default_factory=dict)
    failed: int = 1
    worked: int = 0

    def __str__(self) -> str:
        why = f": {plain_line(self.error)}" if self.error else ""
        earlier = f"; worked {_times(self.worked)} before" if self.worked else ""
        return f"{' → '.join(map(str, self.steps))}{why} ({_day_and_versions(self.at, self.tools)}{earlier})"


@dataclass(frozen=True, slots=True)
class Procedure:
    """What is known of a task: the steps that worked, and what to avoid. `str()` gives a short block for a prompt.

    Attributes:
        task: The task, as it was recorded.
        steps: The steps that work; none if all that was tried failed.
        worked: How often these steps worked.
        failed: How often they failed; without steps, how often anything failed.
        last_worked: When they worked last.
        tools: The versions of the tools with which they worked last.
        untried: The versions that are installed now, of the tools for which these steps were not tried with them.
        last_failure: The last failure of the task, of these steps or others.
        avoid: Other steps that failed, the last ones first: also those that a newer version of a tool made wrong.
        memories: The ids of the memories behind it, those of `steps` first.
        probability: The probability that this is the task that was asked for, by the reader; 1.0 for the same words.
    """

    task: str
    steps: tuple[Step, ...] = ()
    worked: int = 0
    failed: int = 0
    last_worked: datetime | None = None
    tools: Mapping[str, str] = field(default_factory=dict)
    untried: Mapping[str, str] = field(default_factory=dict)
    last_failure: FailedSteps | None = None
    avoid: tuple[FailedSteps, ...] = ()
    memories: tuple[str, ...] = ()
    probability: float = 1.0

    def __str__(self) -> str:
        task = plain_line(self.task)
        lines = [f"Nothing is known to work for the task “{task}”."]
        if self.last_worked is not None:
            lines = [f"What worked for the task “{task}” ({self._record(self.last_worked)}):"]
            lines += [f"{number}. {step}" for number, step in enumerate(self.steps, 1)]
        if self.untried:
            lines.append(f"Not tried yet with {_versions(self.untried)}.")
        if self.avoid:
            lines += ["Failed, so avoid:", *(f"- {each}" for each in self.avoid)]
        return "\n".join(lines)

    def as_skill(self) -> str:
        """This procedure as the text of a SKILL.md, which agents of several makers read: its name and description, then
        the numbered steps and what to avoid. The folder of the file has the name of the skill.

        Raises:
            InvalidInput: Nothing is known to work.
        """
        if self.last_worked is None:
            raise InvalidInput(f"nothing is known to work for the task {self.task!r}. Record a run that worked.")
        task = plain_line(self.task)
        letters = "".join(char if char.isascii() and char.isalnum() else " " for char in self.task.lower())
        name = "-".join(letters.split())[:_NAME_LENGTH].rstrip("-") or f"procedure-{task_digest(self.task)[:8]}"
        used = f". Use these steps for this task: they {self._record(self.last_worked)}."
        description = json.dumps(truncate(task, _DESCRIPTION_LENGTH - len(used)) + used, ensure_ascii=False)
        head = f"---\nname: {name}\ndescription: {description}\n---"
        steps = "\n".join(f"{number}. {step}" for number, step in enumerate(self.steps, 1))
        parts = [head, f"# {task}", steps]
        if self.untried:
            parts.append(f"These steps were not tried yet with {_versions(self.untried)}.")
        if self.avoid:
            parts += ["## Avoid", "\n".join(f"- {each}" for each in self.avoid)]
        return "\n\n".join(parts) + "\n"

    def _record(self, last: datetime) -> str:
        failed = f", failed {_times(self.failed)}" if self.failed else ""
        return f"worked {_times(self.worked)}, last on {_day_and_versions(last, self.tools)}{failed}"


class TaskRun(NamedTuple):
    """One run of a task."""

    memory: str
    task: str
    steps: tuple[Step, ...]
    worked: bool
    error: str
    tools: Mapping[str, str]
    at: datetime


def task_digest(task: str) -> str:
    """The identity of a task: its words in their order, so that "Copy A to B" is not "Copy B to A". Their case and the
    last mark do not count."""
    return content_digest("task", normalize_text(task).rstrip(".!? "))


def steps_digest(steps: Iterable[Step]) -> str:
    """The identity of some steps. The order of the arguments of a call does not matter."""
    return content_digest(*([step.tool, json.dumps(dict(step.args), sort_keys=True)] for step in steps))


def runs_in(versions: Iterable[Memory]) -> list[TaskRun]:
    """The runs that these versions of memories record, oldest first, each once: a revision repeats its run."""
    runs: dict[str, TaskRun] = {}
    for version in versions:
        if (run := version.meta.get(RUN_FIELD)) is not None:
            steps = tuple(Step(step["tool"], step["args"]) for step in run["steps"])
            told = TaskRun(version.id, run["task"], steps, run["worked"], run["error"], run["tools"], version.told_at)
            runs.setdefault(run["id"], told)
    return sorted(runs.values(), key=lambda run: run.at)


def procedure_of(runs: Sequence[TaskRun], tools: Mapping[str, str], probability: float = 1.0) -> Procedure:
    """What the runs of one task say, oldest first. `tools` are the versions that are installed now; of the others, the
    version that was recorded last."""
    installed = {name: version for run in runs for name, version in run.tools.items()} | dict(tools)
    by_steps: dict[str, list[TaskRun]] = {}
    for run in runs:
        by_steps.setdefault(steps_digest(run.steps), []).append(run)
    ways = [_Way.of(same, installed) for same in by_steps.values()]
    best = max((way for way in ways if way.works), key=lambda way: way.rank, default=None)
    shown = [] if best is None else best.runs
    worked = [run for run in shown if run.worked]
    tried = worked[-1].tools if worked else {}
    failures = [(failure, way) for way in ways if (failure := way.failure()) is not None]
    failures.sort(key=lambda pair: pair[0].at, reverse=True)
    return Procedure(
        task=runs[-1].task,
        steps=shown[-1].steps if shown else (),
        worked=len(worked),
        failed=sum(not run.worked for run in shown or runs),
        last_worked=worked[-1].at if worked else None,
        tools=tried,
        untried={}
        if best is None or best.is_present
        else {name: installed[name] for name, version in tried.items() if installed[name] != version},
        last_failure=failures[0][0] if failures else None,
        avoid=tuple(failure for failure, way in failures if not way.works)[:8],  # so that a prompt stays short
        memories=tuple(dict.fromkeys(run.memory for run in (*shown, *runs))),
        probability=probability,
    )


class _Way(NamedTuple):
    """One way to do a task: all runs with the same steps, oldest first."""

    runs: list[TaskRun]
    deciding: list[TaskRun]
    """The runs that say whether it works: the last ones with the versions that are installed now, or else with the
    versions with which it was tried last."""
    is_present: bool
    """Whether these are the versions that are installed now."""

    @classmethod
    def of(cls, runs: list[TaskRun], installed: Mapping[str, str]) -> _Way:
        present = [run for run in runs if run.tools.items() <= installed.items()]
        deciding = present or [run for run in runs if run.tools == runs[-1].tools]
        return cls(runs, deciding[-5:], bool(present))

    @property
    def works(self) -> bool:
        """Whether most of these runs worked; of as many failures, the last run decides."""
        share = self._share_that_worked
        return share > 0.5 or (share == 0.5 and self.deciding[-1].worked)

    @property
    def _share_that_worked(self) -> float:
        return sum(run.worked for run in self.deciding) / len(self.deciding)

    @property
    def rank(self) -> tuple[Any, ...]:
        """What is tried with the present versions comes first, then what fails less, and then what is shorter."""
        count = len(self.deciding)
        # One success and one failure are added, so that a single success is no better than nine of ten.
        share = (self._share_that_worked * count + 1) / (count + 2)
        return self.is_present, share, -len(self.runs[0].steps), self.runs[-1].at

    def failure(self) -> FailedSteps | None:
        failed = [run for run in self.runs if not run.worked]
        if not failed:
            return None
        last, worked = failed[-1], len(self.runs) - len(failed)
        return FailedSteps(last.steps, last.error, last.at, last.tools, len(failed), worked)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _day_and_versions(at: datetime, tools: Mapping[str, str]) -> str:
    return f"{at.date().isoformat()}{' with ' if tools else ''}{_versions(tools)}"


def _versions(tools: Mapping[str, str]) -> str:
    return ", ".join(plain_line(f"{name} {version}") for name, version in tools.items())

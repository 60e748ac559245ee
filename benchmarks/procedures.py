"""How many tool calls a scripted agent needs for a task that it did before, with and without `space.procedures`.

    python benchmarks/procedures.py                 each task asked for in the same words
    python benchmarks/procedures.py --words other   in other words each time; the reader of the package chooses the task

The agent has no language model: it tries the tools of a task in a fixed order until the task is done. A tool works once
those before it in the task's order have worked; otherwise it answers with an error. With memory, the agent first does
the steps that are recalled. In the run `Task.update`, a new version of the tools wants another order. All tasks are in
one space. The same program gives the same figures on every machine; with `--words other`, for the same reader.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from statistics import mean

import figures
import remanence

RUNS = 8


@dataclass(frozen=True)
class Task:
    """A task, its tools in the order in which the agent tries them, and the order in which they work."""

    name: str
    tools: tuple[str, ...]
    orders: tuple[tuple[str, ...], tuple[str, ...]]  # of the old version and of the new one
    words: tuple[str, ...]  # the task in other words
    update: int = 5  # the first run with the new version, counted from 0


TASKS = (
    Task(
        "Deploy the shop to staging",
        ("release", "test", "build"),
        (("build", "release"), ("build", "test", "release")),
        ("Release the shop on staging", "deploy shop staging", "The shop has to go to staging"),
    ),
    Task(
        "Deploy the shop to production",
        ("release", "build", "approve"),
        (("build", "approve", "release"), ("approve", "build", "release")),
        ("Release the shop in production", "deploy shop production", "The shop has to go to production"),
    ),
    Task(
        "Cancel the booking of a customer",
        ("cancel_booking", "refund", "find_booking"),
        (("find_booking", "cancel_booking"), ("find_booking", "refund", "cancel_booking")),
        ("A customer wants to cancel her booking", "cancel a customer's booking", "Call off a customer's booking"),
    ),
    Task(
        "Rotate the API key of the billing service",
        ("revoke_key", "create_key", "lock_service"),
        (("create_key", "revoke_key"), ("lock_service", "create_key", "revoke_key")),
        ("The billing service needs a new API key", "rotate billing API key", "Replace the API key of billing"),
    ),
)


@dataclass
class Tools:
    """The tools of a task in one run: what worked so far, and how often any was called."""

    order: tuple[str, ...]
    worked: list[str] = field(default_factory=list)
    calls: int = 0

    def call(self, tool: str) -> str | None:
        """The error of a call, or None."""
        self.calls += 1
        wanted = self.order[len(self.worked)]
        if tool != wanted:
            return f"{tool}: do {wanted} first" if tool in self.order else f"{tool}: there is nothing to do"
        self.worked.append(tool)
        return None

    @property
    def done(self) -> bool:
        """Whether the task is done."""
        return len(self.worked) == len(self.order)


def do_task(space: remanence.Space | None, task: Task, asked: str, version: int) -> tuple[int, bool]:
    """Do a task once. How many calls it took, and whether the steps of another task were followed."""
    tools, installed = Tools(task.orders[version]), {"cli": f"{version + 1}.0"}

    known = space.procedures.recall(asked, tools=installed) if space is not None else None
    name = asked if known is None else known.task

    def call(tool: str) -> bool:
        before = [*tools.worked]
        error = tools.call(tool)
        if error is not None and space is not None:
            space.procedures.record(name, [*before, tool], outcome="failure", error=error, tools=installed)
        return error is None

    for step in known.steps if known is not None else ():
        if tools.done or not call(step.tool):
            break
    while not tools.done:
        any(call(tool) for tool in task.tools if tool not in tools.worked)
    if space is not None:
        space.procedures.record(name, tools.worked, tools=installed)
    return tools.calls, known is not None and known.task not in (task.name, *task.words)


def calls_of_runs(*, learns: bool, words: str = "same", wrong: list[str] | None = None) -> dict[str, list[int]]:
    """The calls of each run of each task. `wrong` gets the tasks for which those of another one were followed."""
    calls: dict[str, list[int]] = {task.name: [] for task in TASKS}
    with remanence.open(None, reader="none" if words == "same" else "small") as space:
        for run in range(RUNS):
            for task in TASKS:
                asked = task.name if words == "same" or run == 0 else task.words[(run - 1) % len(task.words)]
                count, is_wrong = do_task(space if learns else None, task, asked, int(run >= task.update))
                calls[task.name].append(count)
                if is_wrong and wrong is not None:
                    wrong.append(asked)
    return calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", choices=("same", "other"), default="same")
    parser.add_argument("--record", action="store_true", help="write the figures to figures.json")
    options = parser.parse_args()
    words = options.words
    wrong: list[str] = []
    plain = calls_of_runs(learns=False)
    learning = calls_of_runs(learns=True, words=words, wrong=wrong)
    print(
        f"tool calls of one run, mean of {len(TASKS)} tasks in {words} words; the tools change in run "
        f"{TASKS[0].update + 1}"
    )
    print("run      " + "".join(f"{run:>6}" for run in range(1, RUNS + 1)) + "   sum from run 2")
    measured: dict[str, dict[str, dict[str, float]]] = {}
    for name, of in (("without", plain), ("with", learning), ("shortest", None)):
        means = [
            mean(len(task.orders[int(run >= task.update)]) if of is None else of[task.name][run] for task in TASKS)
            for run in range(RUNS)
        ]
        measured[name if name != "with" else f"{words} words"] = {
            "runs": {str(run): value for run, value in enumerate(means, 1)} | {"from 2": sum(means[1:])}
        }
        print(f"{name:<9}" + "".join(f"{value:>6.2f}" for value in means) + f"{sum(means[1:]):>12.2f}")
    print(f"runs in which the steps of another task were followed: {len(wrong)} {wrong or ''}")
    if options.record:
        measured[f"{words} words"]["runs"] |= {"wrong": len(wrong), "runs": len(TASKS) * (RUNS - 1)}
        figures.record("procedures", "python benchmarks/procedures.py", measured)


if __name__ == "__main__":
    main()

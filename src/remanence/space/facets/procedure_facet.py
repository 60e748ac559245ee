"""The classes of `space.procedures`: which steps of a task worked, and which failed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.identity import new_id
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment
from remanence.index.memory_cache import retry_if_erased
from remanence.recall.filters import filter_rows, row_filter
from remanence.recall.options import FilterOptions, RecallOptions
from remanence.recall.procedures import (
    RUN_FIELD,
    TASK_FIELD,
    Outcome,
    Procedure,
    Step,
    TaskRun,
    procedure_of,
    runs_in,
    steps_digest,
    task_digest,
)
from remanence.remember.add_options import parse_draft
from remanence.remember.append import append
from remanence.remember.prepare import REDACTED_FIELD, prepare, redact_value
from remanence.schema import MAX_TASK_LENGTH, PROCEDURE, Extraction, Memory
from remanence.space.facets.facet import Facet
from remanence.space.recall_request import answer_request, checked_request

MAX_STEPS = 200
"""Steps of a run, at most. Longer ones are several tasks."""
_MIN_PROBABILITY = 0.7
"""The least probability, by the reader, that a known task is the one that is asked for. Chosen by hand on the four
tasks of benchmarks/procedures.py, one stored, each with three lists of steps: 14 of 36 askings in other words reach it,
and 2 of 156 of other tasks. At 0.5, it would be 20 and 9."""
_CLEAR = 2.0
"""How many times as probable as a task with other steps the best one has to be. Of "Copy A to B" and "Copy B to A" the
reader cannot say which one is meant in other words, and the steps of one would harm in the other. Chosen by hand."""


class ProceduresView(Facet):
    """What worked for tasks, as one view knows it."""

    def recall(self, task: str, *, tools: Mapping[str, str] | None = None) -> Procedure | None:
        """The steps that worked for a task, and what to avoid.

        A task that is recorded in the same words is found without a ranking. Otherwise the reader chooses a similar
        one, if it is clear which; `Procedure.task` has the words of that one. Without a reader, only the same words
        count.

        Args:
            tools: The versions of the tools that are installed now, by name. For a tool that is left out, the version
                that was recorded last for this task is taken to be the present one.

        Returns:
            What is known; None if no similar task is known.

        Example:
            >>> import remanence
            >>> old, new = {"tools": {"cli": "1.4"}}, {"tools": {"cli": "2.0"}}
            >>> with remanence.open(None) as space:
            ...     record = space.procedures.record
            ...     _ = record("Deploy the shop", ["build", "release"], **old)
            ...     _ = record("Deploy the shop", ["build", "release"], outcome="failure", error="not tested", **new)
            ...     _ = record("Deploy the shop", ["build", "test", "release"], **new)
            ...     found = space.procedures.recall("Deploy the shop")
            ...     [str(step) for step in found.steps], found.avoid[0].error
            (['build', 'test', 'release'], 'not tested')
        """
        asked, installed = _task(task), _versions(tools)
        runs = self._runs(task_digest(asked))
        return procedure_of(runs, installed) if runs else self._similar(asked, installed)

    def list(self) -> list[Procedure]:
        """What is known of each task, in the order in which the tasks were first done."""
        by_task: dict[str, list[TaskRun]] = {}
        for run in self._runs():
            by_task.setdefault(task_digest(run.task), []).append(run)
        return [procedure_of(runs, {}) for runs in by_task.values()]

    arecall = in_thread(recall)
    alist = in_thread(list)

    @retry_if_erased
    def _runs(self, digest: str | None = None) -> Sequence[TaskRun]:
        """The runs that this view knows, of one task or of all, oldest first."""
        wanted = {"$exists": True} if digest is None else digest
        options = FilterOptions(kinds=PROCEDURE, meta={TASK_FIELD: wanted})
        filters = row_filter(options, self._now(), self._engine.trust)
        with self._engine.open_index(self._space) as index, index.lock:
            position, catalog = self._position(index), index.catalog
            current = filter_rows(filters, index, index.current_rows(position), position)
            rows = [row for last in current for row in catalog.rows_of(catalog.memory_of(last))]
            known = [row for row, at in zip(rows, catalog.positions_of_rows(rows), strict=True) if at <= position]
            return runs_in(index.memories(sorted(known)))  # in the order of the ledger

    def _similar(self, task: str, installed: Mapping[str, str]) -> Procedure | None:
        """What is known of the task that is probably the same in other words, if it is clear which."""
        options = RecallOptions(kinds=PROCEDURE, limit=10, history=False)
        _, request, include = checked_request(self._engine, self._space, task, options, self._now())
        found = answer_request(self._engine, self._space, request, lambda _, index: self._position(index), include)
        if found.confidence is None or not found.confident:
            return None
        tasks: dict[str, float] = {}
        for hit in sorted(found, key=lambda hit: -(hit.answer_probability or 0.0)):
            tasks.setdefault(hit.memory.meta.get(TASK_FIELD, ""), hit.answer_probability or 0.0)
        best = max(tasks.values(), default=0.0)
        if best < _MIN_PROBABILITY:
            return None
        known = [
            procedure_of(runs, installed, probability)
            for digest, probability in tasks.items()
            if probability * _CLEAR > best
            if (runs := self._runs(digest))  # none if another process erased them meanwhile
        ]
        is_clear = len({steps_digest(each.steps) for each in known}) == 1
        return known[0] if is_clear else None


class Procedures(ProceduresView):
    """What worked for tasks: recorded run by run, and recalled for the next one."""

    def record(
        self,
        task: str,
        steps: Sequence[Any],
        *,
        outcome: Outcome = "success",
        error: str | None = None,
        tools: Mapping[str, str] | None = None,
        source: str | None = None,
        observed_by: str | None = None,
        now: Moment | None = None,
    ) -> Memory:
        """Store one run of a task: its steps, and whether it worked. Secrets in it are removed by the policy.

        Args:
            task: The task, in the words in which it may be asked for again.
            steps: The steps in their order: tool calls as ("build", {"target": "shop"}) or
                {"tool": "build", "args": {...}}, or texts. For a run that failed, only up to the step that failed.
            outcome: "success" or "failure".
            error: Why it failed.
            tools: The versions of the tools, by name: {"deploy-cli": "2.1"}.
            source: Where the run comes from.

        Returns:
            The memory of these steps. Its kind is "procedure", and only `kinds="procedure"` recalls it. Each run is a
            version of it, so `forget` and `erase` of it concern all runs of these steps.

        Raises:
            InvalidInput: A value is not valid; the message names it. Nothing is stored.
        """
        engine = self._engine
        if outcome not in get_args(Outcome):
            raise InvalidInput(f"outcome={outcome!r} is neither 'success' nor 'failure'.")
        if error is not None and outcome == "success":
            raise InvalidInput(f"error={error!r} with outcome='success'. Give outcome='failure', or no error.")
        run: dict[str, Any] = {
            "task": _task(task),
            "steps": [{"tool": step.tool, "args": dict(step.args)} for step in _steps(steps)],
            "error": "" if error is None else inputs.check_text(error, "error"),
            "tools": _versions(tools),
        }
        counts: Counter[str] = Counter()
        if engine.redactor is not None:
            run = redact_value(run, engine.redactor, counts)
        text, done = run["task"], [Step(**step) for step in run["steps"]]
        digest = task_digest(text)
        run |= {"worked": outcome == "success", "id": new_id()}
        removed = {REDACTED_FIELD: dict(counts)} if counts else {}
        lines = [text, *(f"{number}. {step}" for number, step in enumerate(done, 1))]
        draft = parse_draft(
            {
                "text": "\n".join(lines),
                "key": f"procedure:{digest}:{steps_digest(done)}",
                "kind": PROCEDURE,
                "entities": (),
                "triples": (),
                "passages": [(0, len(text))],
                "meta": {TASK_FIELD: digest, RUN_FIELD: run, **removed},
                "source": source,
                "observed_by": observed_by,
                "now": now,
            }
        )
        return append(engine, self._space, [prepare(engine, draft, engine.now(), _NoExtractor())])[0]

    arecord = in_thread(record)


class _NoExtractor:
    """Finds nothing: a day in a task is no time at which it holds, and its names claim nothing."""

    name = "none"

    def extract(self, text: str, **context: Any) -> Extraction:
        return Extraction()


def _task(task: object) -> str:
    text = inputs.check_text(task, "task").strip()
    if not text or len(text) > MAX_TASK_LENGTH:
        raise InvalidInput(f"task has {len(text):,} characters. Give 1 to {MAX_TASK_LENGTH:,}.")
    return text


def _steps(steps: object) -> list[Step]:
    if isinstance(steps, str | bytes | Mapping) or not isinstance(steps, Iterable):
        raise InvalidInput(f"steps={inputs.shorten_repr(steps)} is not a list. Give the steps in their order.")
    parsed = [_step(step) for step in steps]
    if not 0 < len(parsed) <= MAX_STEPS:
        raise InvalidInput(f"steps has {len(parsed):,} steps. Give 1 to {MAX_STEPS}.")
    return parsed


def _step(step: object) -> Step:
    """A step of a text, of a pair, of a dict in this form or in that of LangChain's tool calls, or of a `Step`."""
    tool: object = step
    args: object = {}
    if isinstance(step, Step):
        tool, args = step.tool, step.args
    elif isinstance(step, Mapping):
        tool, args = step.get("tool", step.get("name")), step.get("args") or {}
    elif isinstance(step, Sequence) and not isinstance(step, str) and len(step) == 2:
        tool, args = step
    if not isinstance(tool, str) or not tool.strip() or not isinstance(args, Mapping):
        raise InvalidInput(
            f"steps holds {inputs.shorten_repr(step)}. Give ('build', {{'target': 'shop'}}), a dict with `tool` and "
            "`args`, or a text."
        )
    try:
        return Step(tool, json.loads(json.dumps(args, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the arguments of the step {tool!r} cannot be written as JSON ({error}). Use only text, numbers, "
            "lists and dicts."
        ) from None


def _versions(tools: object) -> dict[str, str]:
    if tools is None:
        return {}
    if not isinstance(tools, Mapping) or not all(isinstance(part, str) for item in tools.items() for part in item):
        raise InvalidInput(f"tools={inputs.shorten_repr(tools)} is not versions by name. Give {{'deploy-cli': '2.1'}}.")
    return dict(tools)

"""How memories were used, which were promoted, and what upkeep runs did.

Like those of the journal, these entries contain no knowledge of their own. Uses are only counted on
request: reading never writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from remanence.events import Demoted, Promoted, Ran, Reversed, Served, Used
from remanence.schema import Entry, micros
from remanence.state.columns import pack, unpack

MAX_TRACKED_USES = 64
"""How many uses of a memory are stored with their time, the latest: enough to count those of two weeks."""


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """How often a memory was used, how much that raised its strength, and when (in microseconds)."""

    times: int = 0
    boost: float = 0.0
    moments: tuple[int, ...] = ()
    line: int = 0
    """The position of the last entry about it."""

    def count_since(self, moment: int) -> int:
        """How many of the stored uses were at `moment` or later."""
        return sum(1 for each in self.moments if each >= moment)


@dataclass(frozen=True, slots=True)
class RunState:
    """What one upkeep run did in all its steps; `line` is the position of its last entry, `at` in microseconds."""

    id: str
    at: int
    line: int
    planned: int
    steps: tuple[str, ...] = ()
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    made: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    revised: tuple[tuple[str, int], ...] = ()
    hidden: tuple[str, ...] = ()
    promoted: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    undone: bool = False


NEVER_USED = MemoryUsage()


class Usage:
    """Uses, promotions, recorded recalls and upkeep runs of one space."""

    def __init__(self) -> None:
        self.by_memory: dict[str, MemoryUsage] = {}
        self.promoted_notes: dict[str, str | None] = {}
        """The promoted memories, each with its note in the vault, if it has one."""
        self.runs: dict[str, RunState] = {}
        self.recall_positions: list[int] = []
        """The positions of all recorded recalls, also of those without a result."""

    def get(self, memory: str) -> MemoryUsage:
        """The usage of a memory."""
        return self.by_memory.get(memory, NEVER_USED)

    def last_run(self, step: str, given: Mapping[str, Any]) -> RunState | None:
        """The last run of a step with these settings that was not undone."""
        same = (run for run in reversed(self.runs.values()) if not run.undone and run.given.get(step) == given)
        return next(same, None)

    def apply_entry(self, entry: Entry) -> None:
        """Apply an entry that is not a version of a memory."""
        event = entry.event
        if isinstance(event, Used):
            before = self.get(event.memory)
            moments = (*before.moments, micros(entry.at))[-MAX_TRACKED_USES:]
            use = MemoryUsage(before.times + event.times, before.boost + event.boost, moments, entry.position)
            self.by_memory[event.memory] = use
        elif isinstance(event, Promoted):
            self.promoted_notes[event.memory] = event.note
        elif isinstance(event, Demoted):
            self.promoted_notes.pop(event.memory, None)
        elif isinstance(event, Served):
            self.recall_positions.append(entry.position)
        elif isinstance(event, Ran):
            self._add_step(event, entry)
        elif isinstance(event, Reversed) and event.run in self.runs:
            self.runs[event.run] = replace(self.runs[event.run], undone=True)

    def save(self) -> Mapping[str, NDArray[Any]]:
        values = {
            "used": {memory: asdict(use) for memory, use in self.by_memory.items()},
            "promoted": self.promoted_notes,
            "runs": [asdict(run) for run in self.runs.values()],
            "recalls": self.recall_positions,
        }
        return {"words": pack(values)}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        values = unpack(arrays["words"])
        self.by_memory = {
            memory: MemoryUsage(**{**use, "moments": tuple(use["moments"])}) for memory, use in values["used"].items()
        }
        self.promoted_notes, self.recall_positions = values["promoted"], values["recalls"]
        states = (RunState(**{name: _to_tuples(value) for name, value in run.items()}) for run in values["runs"])
        self.runs = {run.id: run for run in states}

    def _add_step(self, event: Ran, entry: Entry) -> None:
        before = self.runs.get(event.run) or RunState(event.run, micros(entry.at), entry.position, event.planned)
        lists = ("made", "used", "revised", "hidden", "promoted", "edges")
        self.runs[event.run] = replace(
            before,
            line=entry.position,
            steps=tuple(dict.fromkeys((*before.steps, event.step))),
            given={**before.given, event.step: dict(event.given)},
            **{name: getattr(before, name) + getattr(event, name) for name in lists},
        )


def _to_tuples(value: Any) -> Any:
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value

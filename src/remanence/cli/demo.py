"""`remanence demo`: notes about a year of one person, and questions about them. The data are in demo_story.json.

Every number that it prints is taken from what was just recalled.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import remanence
from remanence.cli import output
from remanence.errors import InvalidInput
from remanence.testing import FakeClock

if TYPE_CHECKING:
    from rich.console import Console

    from remanence import Recall, Space, View

STORY: dict[str, Any] = json.loads(Path(__file__).with_name("demo_story.json").read_text("utf-8"))
_SIGNALS = ("vectors", "words", "graph", "times")


def run_demo(keep: Path | None, embedder: str | None) -> None:
    """Run the demo, in a temporary folder or in the one to keep."""
    console = output.console()
    clock = FakeClock(STORY["today"])  # fixed, so that the demo prints the same in any year
    with _folder(keep) as folder, remanence.open(folder, embedder=embedder, clock=clock) as space:
        _show_adding(console, space)
        for question in STORY["questions"]:
            _heading(console, question["difficulty"])
            recall = space.recall(question["question"])
            console.print(recall[:3])
            console.print(_strongest_signal(space, recall, question), markup=False)
        _show_as_of(console, space)
        _show_erasing(console, space, clock, folder)
    _heading(console, "Try next (after `make demo` the command is .venv/bin/remanence)")
    console.print('  remanence add "Alice lives in Porto."')
    console.print('  remanence recall "Where does Alice live?" --explain')


def _show_adding(console: Console, space: Space) -> None:
    _heading(console, "Adding a year of notes")
    notes, turns = STORY["notes"], STORY["turns"]
    space.add_many(notes)
    space.add_turns([{**turn, "conversation": "ana"} for turn in turns], now=turns[-1]["time"])
    console.print(
        f"{len(notes)} notes and {len(turns)} chat turns, from {notes[0]['now']} to {notes[-1]['now']}, were added "
        f"without a language model. The ledger has {space.verify().entries} entries. {space.count()} memories are "
        "current; the others were replaced by later ones and stay in the ledger. The first current ones:"
    )
    for memory in list(space.memories())[:4]:
        console.print(f"  {memory.recorded_at.date()}  {memory.text}", markup=False)


def _strongest_signal(space: Space, recall: Recall, question: dict[str, str]) -> str:
    """The rank of the right answer, and its rank without the signal that contributed most."""
    rank = _rank(recall, question["answer"])
    if rank is None:
        return "The right answer was not found."
    hit = recall[rank - 1]
    strongest = max((e for e in hit.evidence if e.signal in _SIGNALS), key=lambda evidence: evidence.share)
    reader = next((f"; the reader adds {e.share:.2f}" for e in hit.evidence if e.signal == "reader"), "")
    other_signals = [name for name in _SIGNALS if name != strongest.signal]
    without = _rank(space.recall(question["question"], limit=1_000, signals=other_signals), question["answer"])
    return (
        f"The right answer has rank {rank}. Strongest signal: {strongest.signal} ({strongest.share:.2f} of "
        f"{hit.score:.2f}{reader}). Without it: {'not found' if without is None else f'rank {without}'}."
    )


def _show_as_of(console: Console, space: Space) -> None:
    from rich.table import Table

    past_date = STORY["past_date"]
    _heading(console, f"What was known on {past_date}, and what is known today")
    past = space.as_of(past_date)
    table = Table("question", f"space.as_of({past_date!r})", "today", show_lines=True)
    for question in STORY["changed_questions"]:
        recalls = [view.recall(question["question"], limit=1) for view in (past, space)]
        table.add_row(question["question"], *(recall[0].memory.text if recall else "nothing" for recall in recalls))
    console.print(table)
    console.print(f"{past.count()} memories were known then, {space.count()} are known now.")


def _show_erasing(console: Console, space: Space, clock: FakeClock, folder: Path) -> None:
    _heading(console, "Forgetting and erasing")
    question, answer = STORY["secret"]["question"], STORY["secret"]["answer"]
    memory = space.recall(question, limit=1)[0].memory
    earlier = space.as_of(clock())
    clock.advance(minutes=5)

    def found(view: View) -> str:
        return "found" if _rank(view.recall(question), answer) else "not found"

    console.print(f'{question}  "{memory.text}"', markup=False)
    space.forget(memory.id, why="the cabin is sold")
    console.print(f"  after space.forget(id):    {found(space)} today, {found(earlier)} in the earlier view")
    space.erase(memory.id)
    console.print(f"  after space.erase(id):     {found(space)} today, {found(earlier)} in the earlier view")
    report = space.verify()
    console.print(f"  space.verify():            {report.entries} entries, unchanged ({report.digest[:12]}…)")
    files = [file for file in folder.rglob("*") if file.is_file()]
    secret_word = answer.split("-")[0].encode()
    containing = [file.name for file in files if secret_word in file.read_bytes()]
    console.print(f"  files that contain it:     {', '.join(containing) or 'none'} of {len(files)}")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="remanence-demo-") as folder:
            yield Path(folder) / "memory"
    elif keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise InvalidInput(f"{keep} exists already. Name a new folder after --keep.")
    else:
        yield keep


def _heading(console: Console, text: str) -> None:
    console.print()
    console.rule(text, align="left", style="dim")


def _rank(recall: Recall, text: str) -> int | None:
    """The rank, from 1, of the first memory that contains a text."""
    return next((rank for rank, hit in enumerate(recall, 1) if text in hit.memory.text), None)

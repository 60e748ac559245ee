"""The story that `remanence demo` tells. Every claim it prints is read off what was just recalled."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import remanence
from remanence.cli import output
from remanence.cli.demo_story import (
    CHANGED_QUESTIONS,
    CHAT_DAY,
    CHAT_TURNS,
    NOTES,
    PAST_DATE,
    QUESTIONS,
    SECRET_QUESTION,
    TODAY,
    DemoQuestion,
)
from remanence.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from remanence import Hit, Recall, Space

SIGNALS = {"vectors": "meaning", "words": "words", "graph": "the graph", "times": "time"}
_SHOWN = 3


def run_demo(keep: Path | None = None, embedder: str | None = None) -> None:
    """Tell the story, in a folder that is gone afterwards unless it is to be kept."""
    show = output.console()
    clock = _Clock()
    with _folder(keep) as folder:
        with remanence.open(folder, embedder=embedder, clock=clock) as space:
            _remember(show, space)
            for asked in QUESTIONS:
                _ask(show, space, asked)
            _look_back(show, space)
            _let_go(show, space, clock, folder)
        _goodbye(show, keep)


def _remember(show: Console, space: Space) -> None:
    _heading(show, "A year, remembered")
    for when, text, key in NOTES:
        space.add(text, key=key, now=when)
    space.add_turns(
        [{**turn, "time": f"{CHAT_DAY} {turn['time']}", "conversation": "ana"} for turn in CHAT_TURNS],
        now=f"{CHAT_DAY} 21:00",
    )
    show.print(
        f"{len(NOTES)} notes and {len(CHAT_TURNS)} chat turns, from {NOTES[0][0]} to {NOTES[-1][0]}; no language "
        f"model was asked. The ledger has {space.verify().entries} lines, of which {space.count()} stand "
        "today; the others were replaced by later ones, and are kept. The first that stand:"
    )
    for memory in list(space.memories())[:4]:
        show.print(f"  {memory.recorded_at.date()}  {memory.text}", markup=False)


def _ask(show: Console, space: Space, asked: DemoQuestion) -> None:
    _heading(show, asked.difficulty)
    answer = space.recall(asked.question)
    show.print(answer[:_SHOWN])
    show.print(what_made_the_difference(space, answer, asked), markup=False)


def what_made_the_difference(space: Space, answer: Recall, asked: DemoQuestion) -> str:
    """The signal without which the right memory would stand lowest, found by leaving each out in turn."""
    rank = _rank(answer, asked.answer)
    if rank is None:
        return "The right answer was not found this time."
    hit = answer[rank - 1]
    found = f"The right answer came {_nth(rank)}."
    costs = {
        evidence.signal: _rank_without(space, asked, evidence.signal, hit)
        for evidence in sorted(hit.evidence, key=lambda e: -e.share)
    }
    # The first of equals is the one with the largest share of the score.
    signal = max(costs, key=lambda name: costs[name])
    name = SIGNALS[signal].capitalize()
    if costs[signal] > rank:
        gone = costs[signal] > space.count()
        fate = "it would not be found" if gone else f"it would be {_nth(costs[signal])}"
        return f"{found} {name} made the difference: without, {fate}."
    weight = f"{found} {name} weighed most ({max(e.share for e in hit.evidence):.2f} of {hit.score:.2f})"
    alone = space.recall(asked.question, limit=1, signals=["vectors"])
    if alone and alone[0].memory.id != hit.memory.id:
        return f'{weight}; meaning alone would answer "{alone[0].memory.text}"'
    return f"{weight}, and the others agree."


def _look_back(show: Console, space: Space) -> None:
    from rich.table import Table

    _heading(show, f"What was known on {PAST_DATE}, and what is known today")
    then = space.as_of(PAST_DATE)
    table = Table("question", f"space.as_of({PAST_DATE!r})", "today", show_lines=True)
    for asked in CHANGED_QUESTIONS:
        answers = [view.recall(asked.question, limit=1) for view in (then, space)]
        table.add_row(asked.question, *(found[0].memory.text if found else "nothing" for found in answers))
    show.print(table)
    show.print(f"{then.count()} memories were known then, {space.count()} are known now.")


def _let_go(show: Console, space: Space, clock: _Clock, folder: Path) -> None:
    _heading(show, "Forgetting, and erasing")
    hit = space.recall(SECRET_QUESTION.question, limit=1)[0]
    secret = hit.memory.id
    before = space.as_of(clock())
    clock.advance(minutes=5)

    def seen(view: remanence.View) -> str:
        return "found" if _rank(view.recall(SECRET_QUESTION.question), SECRET_QUESTION.answer) else "not found"

    show.print(f'{SECRET_QUESTION.question}  "{hit.memory.text}"', markup=False)
    space.forget(secret, why="the cabin is sold")
    show.print(f"  after space.forget(id):    {seen(space)} today, {seen(before)} in the view of before")
    space.erase(secret)
    show.print(f"  after space.erase(id):     {seen(space)} today, {seen(before)} in the view of before")
    proof = space.verify()
    show.print(f"  space.verify():            {proof.entries} lines, each as it was written ({proof.digest[:12]}…)")
    files = [file for file in folder.rglob("*") if file.is_file()]
    words = SECRET_QUESTION.answer.split("-")[0].encode()
    holding = [file.name for file in files if words in file.read_bytes()]
    show.print(f"  files that hold its words: {', '.join(holding) or 'none'} of {len(files)}")


def _goodbye(show: Console, keep: Path | None) -> None:
    _heading(show, "Try next")
    command = _command() + ("" if keep is None else f" --memory {keep}")
    for line in (
        f'{command} add "Alice lives in Porto."',
        f'{command} recall "Where does Alice live?" --explain',
        f"{command} memories",
        f"{_command()} --help" if keep else f"{_command()} demo --keep ./maya    # keeps this story, to ask it more",
    ):
        show.print(f"  {line}", markup=False, soft_wrap=True)


def _command() -> str:
    """How to type the command here: after `make demo` it is in .venv, and not on the path."""
    if shutil.which("remanence"):
        return "remanence"
    beside = Path(sys.executable).with_name("remanence")
    return os.path.relpath(beside) if beside.exists() else f"{sys.executable} -m remanence.cli"


class _Clock:
    """The story's own present, so that it reads the same in any year."""

    def __init__(self) -> None:
        self._now = TODAY

    def __call__(self) -> datetime:
        return self._now

    def advance(self, *, minutes: int) -> None:
        self._now += timedelta(minutes=minutes)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="remanence-demo-") as scratch:
            yield Path(scratch) / "memory"
    elif keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise InvalidInput(f"{keep} is there already. The story wants a new folder: --keep another one.")
    else:
        yield keep


def _heading(show: Console, text: str) -> None:
    show.print()
    show.rule(text, align="left", style="dim")


def _rank(answer: Recall, words: str) -> int | None:
    """Where the memory that holds these words stands, from 1."""
    return next((rank for rank, hit in enumerate(answer, 1) if words in hit.memory.text), None)


def _rank_without(space: Space, asked: DemoQuestion, signal: str, hit: Hit) -> int:
    """Where it would stand without a signal; below everything if it would not be found."""
    others = [name for name in SIGNALS if name != signal]
    answer = space.recall(asked.question, limit=1_000, signals=others)
    ids = [other.memory.id for other in answer]
    return ids.index(hit.memory.id) + 1 if hit.memory.id in ids else 1_001


def _nth(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return "first" if number == 1 else "second" if number == 2 else f"{number}{ending}"

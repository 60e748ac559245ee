"""A question with the dated lines that are read for it, and what is known of each line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from training.material.files import read_rows

UNKNOWN = -1
ASKED_ON = "2026-06-01"
"""The day on which questions are asked that have none."""


@dataclass
class Line:
    """One line. Lines stand in the order of their rank by the signals of recall, in sets that have one."""

    text: str
    day: str
    """As in "2025-03-04"; "" if it has none."""
    speaker: str | None = None
    before: str = ""
    """The turn before it, with its speaker."""
    title: str = ""
    answers: bool = False
    """Whether it answers the question, at the time asked about."""
    tells: bool = False
    """Whether it tells what is asked, at whatever time."""
    replaced: int = UNKNOWN
    """1 if what it says no longer holds, 0 if it holds, -1 if that is not known."""
    made: bool = False
    """Whether it was made of another line, by another name (`near_duplicates`)."""


@dataclass
class QuestionList:
    """A question with its lines."""

    set: str
    world: str
    question: str
    asked_on: str
    lines: list[Line]
    answerable: bool
    measured: bool = False
    """Whether it only measures, and is not trained on."""
    wanted: int = 0
    """How many texts answer it, also of those that are not among the lines; 0 if those of the lines are all."""


def write_lists(lists: Iterable[QuestionList], path: Path) -> int:
    """Write lists that have lines, one JSON object each, and return how many there are."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for each in lists:
            if each.lines:
                file.write(json.dumps(asdict(each), ensure_ascii=False) + "\n")
                count += 1
    return count


def read_lists(paths: Iterable[Path]) -> Iterator[QuestionList]:
    """The lists of some files."""
    for path in paths:
        for row in read_rows(path):
            yield QuestionList(**row | {"lines": [Line(**line) for line in row["lines"]]})

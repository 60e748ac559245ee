"""Tests whose cases are the lines of a table in `tests/cases`.

    # A comment.
    test_the_name_of_the_test_that_reads_these_cases
    text | window | count: int
    last week | 2023-06-12 to 2023-06-19 | 1
    " in May" | | 0

A blank line ends a section. Its second line names the parameters of the test; what follows a colon is a type: `int`,
`float`, `list` (texts with semicolons between them) or `json` (any value). Other cells are texts. A text in double
quotes is read as JSON, which keeps spaces at its ends and can say `\\n`, and `\\u007c` for a bar.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

FOLDER = Path(__file__).parent / "cases"
Test = TypeVar("Test", bound=Callable[..., object])


class CaseTable(NamedTuple):
    """The cases of one test."""

    columns: tuple[str, ...]
    rows: dict[str, list[Any]]
    """The values of each case, by its line."""


def cases(table: str) -> Callable[[Test], Test]:
    """Run a test once for each line of the section that has its name, in `tests/cases/TABLE.txt`."""

    def parametrized(test: Test) -> Test:
        columns, rows = read_tables(FOLDER / f"{table}.txt")[test.__name__]
        return pytest.mark.parametrize(columns, list(rows.values()), ids=list(rows))(test)

    return parametrized


def texts(table: str, section: str) -> list[str]:
    """The first column of a section."""
    return [values[0] for values in read_tables(FOLDER / f"{table}.txt")[section].rows.values()]


@lru_cache
def read_tables(path: Path) -> dict[str, CaseTable]:
    """The sections of a file by their names.

    Raises:
        ValueError: A line is malformed; names the file and the line.
    """
    found: dict[str, CaseTable] = {}
    types: list[Callable[[str], Any]] = []
    name = ""
    for number, written in enumerate(path.read_text("utf-8").split("\n"), 1):
        line = written.strip()
        try:
            if not line:
                name = ""
            elif line.startswith("#"):
                continue
            elif not name:
                name, types = line, []
                if name in found:
                    raise ValueError("this section is there already")
            elif not types:
                columns = [column.partition(":") for column in line.split("|")]
                types = [_TYPES[kind.strip()] for _, _, kind in columns]
                found[name] = CaseTable(tuple(column.strip() for column, _, _ in columns), {})
            else:
                if line in found[name].rows:
                    raise ValueError("this case is there already")
                found[name].rows[line] = _values(line, types)
        except (KeyError, ValueError) as wrong:
            raise ValueError(f"{path.name}:{number}: {wrong} in {line!r}") from wrong
    return found


def _values(line: str, types: list[Callable[[str], Any]]) -> list[Any]:
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) != len(types):
        raise ValueError(f"{len(cells)} cells in place of {len(types)}")
    return [read(cell) for read, cell in zip(types, cells, strict=True)]


def _text(cell: str) -> str:
    return str(json.loads(cell)) if cell.startswith('"') else cell


def _list(cell: str) -> list[str]:
    return [each.strip() for each in cell.split(";")] if cell else []


_TYPES: dict[str, Callable[[str], Any]] = {"": _text, "int": int, "float": float, "list": _list, "json": json.loads}

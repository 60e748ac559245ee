"""Tables of cases: how they are read, and that each of them is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from case_tables import FOLDER, read_tables


def test_a_table_is_read_by_sections_with_the_types_of_its_columns(tmp_path: Path) -> None:
    table = tmp_path / "table.txt"
    table.write_text(
        '# Two tests.\ntest_a\ntext | count: int | names: list\nin May | 1 | Ana; Bo\n" \\u007c" | -2 |\n'
        "\ntest_b\nx: json\n[null]\n"
    )
    assert {name: (found.columns, list(found.rows.values())) for name, found in read_tables(table).items()} == {
        "test_a": (("text", "count", "names"), [["in May", 1, ["Ana", "Bo"]], [" |", -2, []]]),
        "test_b": (("x",), [[[None]]]),
    }


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ("test_a\ntext | count: int\nMay", r"table.txt:3: 1 cells in place of 2 in 'May'"),
        ("test_a\ntext | count: int\nMay | x", r"table.txt:3: invalid literal for int"),
        ('test_a\ntext\n"May', r"table.txt:3: Unterminated string"),
        ("test_a\ntext: date\nMay", r"table.txt:2: 'date' in 'text: date'"),
        ("test_a\ntext\nMay\nMay", r"table.txt:4: this case is there already"),
        ("test_a\ntext\n\ntest_a", r"table.txt:4: this section is there already"),
    ],
)
def test_a_malformed_line_is_refused_with_its_file_and_number(tmp_path: Path, lines: str, error: str) -> None:
    table = tmp_path / "table.txt"
    table.write_text(lines)
    with pytest.raises(ValueError, match=error):
        read_tables(table)


def test_each_section_has_cases_and_is_used() -> None:
    """By the test whose file the table is named after, so that one is found from the other."""
    for table in FOLDER.iterdir():
        [file] = FOLDER.parent.rglob(f"test_{table.stem}.py")
        source = file.read_text("utf-8")
        for name, found in read_tables(table).items():
            assert found.rows
            is_test = re.search(rf'@cases\("{table.stem}"\)\n(?:.*\n)*? *(?:async )?def {name}\(', source)
            assert is_test or f'"{name}"' in source, name

"""CSV files: the header says which column is what, in any order and with any of several names."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from remanence.transfer.imports.tables import BadRow

_DELIMITERS = ",;\t|"
_TEXT_COLUMNS = "text content memory message note fact body".split()
_TURN_COLUMNS = {"speaker", "author", "sender", "from", "role"}


def csv_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a file, each with the number of its last line.

    Raises:
        BadRow: The header has no column with texts, or a row has another number of fields.
    """
    first_line = text.lstrip().partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first_line.count)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip().lower().replace(" ", "_") for name in next(reader, [])]
        if not set(header) & set(_TEXT_COLUMNS):
            raise BadRow(f"none of the columns {header} is called {', '.join(_TEXT_COLUMNS)}", 1)
        sort = "is_turn" if set(header) & _TURN_COLUMNS else "is_memory"
        for row in reader:
            if row and len(row) != len(header):
                raise BadRow(f"it has {len(row)} fields, and the header has {len(header)}", reader.line_num)
            if row:
                yield reader.line_num, dict(zip(header, row, strict=True)) | {sort: True}
    except csv.Error as error:
        raise BadRow(f"it is not CSV ({error})", reader.line_num) from error

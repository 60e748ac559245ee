"""What the parts of an index are given to apply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from remanence.events import Remembered
from remanence.index.numbers import Row
from remanence.schema import Entry


class Batch(NamedTuple):
    """Consecutive entries of one kind: versions of memories, or one entry of another kind."""

    entries: Sequence[Entry]
    first: Row
    """The row of the first version."""
    versions: Sequence[Remembered | None]
    """What each entry remembers, None if its text was erased; empty if they are of another kind."""

    @classmethod
    def of(cls, kind: str, entries: Sequence[Entry], first: int) -> Batch:
        """The batch of entries of a kind, if the next row is `first`."""
        versions = [entry.event if isinstance(entry.event, Remembered) else None for entry in entries]
        return cls(entries, Row(first), versions if kind == "remembered" else ())

    def numbered(self) -> Iterator[tuple[Row, Remembered | None]]:
        """The versions, each with its row."""
        return cast("Iterator[tuple[Row, Remembered | None]]", enumerate(self.versions, self.first))

    @property
    def entry(self) -> Entry | None:
        """The entry of another kind; None if they are versions."""
        return None if self.versions else self.entries[0]

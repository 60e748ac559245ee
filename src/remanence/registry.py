"""Which names stand for one entity, at which ledger position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.model import Entry
from remanence.names import Names


class Registry:
    """Which names stand for one entity, at which ledger position."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def take(self, entry: Entry) -> None:
        """Take in a line that is not a version of a memory."""

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Everything as plain arrays."""
        return {}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become what `save` wrote."""

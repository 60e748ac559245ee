"""Claims about two entities: who says so, when they hold, and which of them stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from remanence.catalog import Catalog
from remanence.events import Remembered
from remanence.model import Entry
from remanence.names import Names
from remanence.registry import Registry


class Relations:
    """Claims about two entities: who says so, when they hold, and which of them stands."""

    def __init__(self, names: Names, registry: Registry, catalog: Catalog) -> None:
        self._names, self._registry, self._catalog = names, registry, catalog

    def take(self, entry: Entry) -> None:
        """Take in a line that is not a version of a memory."""

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Everything as plain arrays."""
        return {}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become what `save` wrote."""

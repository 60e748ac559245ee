"""Ties between memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from remanence.catalog import Catalog
from remanence.events import Remembered
from remanence.model import Entry


class Links:
    """Ties between memories."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def take(self, entry: Entry) -> None:
        """Take in a line that is not a version of a memory."""

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Everything as plain arrays."""
        return {}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become what `save` wrote."""

"""What `space.entities` and `space.graph` have in common: they belong to one view of a space."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from remanence.core.engine import Engine
from remanence.core.index import Index


class Held:
    """Knows its space, up to which line its view goes, and what moment it is there."""

    def __init__(
        self, engine: Engine, space: str, position: Callable[[Index], int], now: Callable[[], datetime]
    ) -> None:
        self._engine = engine
        self._space = space
        self._position = position
        self._now = now

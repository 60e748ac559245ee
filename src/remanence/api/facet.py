"""What `space.entities`, `space.graph`, `space.audit` and the other facets have in common."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from remanence.admin.overview import Overview
from remanence.core.engine import Engine
from remanence.core.index import Index, RowErased

T = TypeVar("T")


class Facet:
    """A group of methods of one view of a space: knows the space, and the position and moment of the view."""

    def __init__(
        self, engine: Engine, space: str, position: Callable[[Index], int], now: Callable[[], datetime]
    ) -> None:
        self._engine = engine
        self._space = space
        self._position = position
        self._now = now

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._space!r}>"

    def _overview(self, ask: Callable[[Overview], T]) -> T:
        """What an overview of this view answers."""
        with self._engine.open_index(self._space) as index:
            while True:
                try:
                    with index.lock:
                        return ask(Overview(index, index.snapshot(self._position(index), self._now())))
                except RowErased:
                    index.catch_up()  # another process erased one of the memories meanwhile

"""Second step of the write path: which memory a version is, a new one, a revision, or one that exists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from remanence.events import Remembered
from remanence.schema import Turn
from remanence.write.extract import PreparedVersion

if TYPE_CHECKING:
    from remanence.state.catalog import Catalog


class IdentityResolver:
    """Decides, with the pen in hand, which memory each prepared version is: a new one, a revision, or one
    that is here already. Knows the catalog and what it has itself decided since."""

    def __init__(
        self, catalog: Catalog, recalled: Mapping[str, str], latest: Callable[[str], Remembered | None]
    ) -> None:
        self._catalog = catalog
        self._recalled = recalled
        self._latest = latest  # the version of a memory that the ledger has
        self._decided: dict[str, Remembered] = {}
        self._turns: dict[str, int] = {}

    def resolve(self, prepared: PreparedVersion) -> tuple[str, Remembered | None]:
        """The id of the memory, and the line to write if one is needed."""
        version = prepared.version
        if prepared.is_revision:
            return version.memory, version
        earlier = self._decided.get(version.identity)
        number = self._catalog.with_identity(version.identity)
        if earlier is not None:
            if earlier.content == version.content:
                return earlier.memory, None
            memory = earlier.memory
        elif number is not None:
            memory = self._catalog.ids[number]
            visible = self._catalog.is_visible(number, self._catalog.position)
            if visible and self._catalog.content_digests[number] == version.content:
                return memory, None
        elif (echoed := self._echoed(prepared)) is not None:
            return echoed, None
        else:
            memory = version.memory
        settled = version
        if memory != version.memory or version.turn is not None:
            settled = replace(version, memory=memory, turn=self._numbered(version, memory))
        self._decided[version.identity] = settled
        return memory, settled

    def _echoed(self, prepared: PreparedVersion) -> str | None:
        """The memory whose words were just recalled and are now handed back, unless it is forgotten."""
        memory = None if prepared.echo is None else self._recalled.get(prepared.echo)
        number = None if memory is None else self._catalog.number(memory)
        shown = number is not None and self._catalog.is_visible(number, self._catalog.position)
        return memory if shown else None

    def _numbered(self, version: Remembered, memory: str) -> Turn | None:
        """The turn of a version, with its number: the next one, or that of the version before."""
        turn = version.turn
        if turn is None:
            return None
        before = None
        if memory != version.memory:
            earlier = self._decided.get(version.identity) or self._latest(memory)
            before = None if earlier is None else earlier.turn
        if before is not None and before.conversation == turn.conversation:
            number = before.number
        else:
            number = self._turns.get(turn.conversation, self._catalog.next_turn(turn.conversation))
            self._turns[turn.conversation] = number + 1
        return Turn(turn.conversation, number, turn.speaker, turn.at)

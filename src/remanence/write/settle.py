"""Third step of the write path: whether a version is a new memory, a revision, or a repetition."""

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
    """Decides, under the write lock, which memory each prepared version belongs to.

    It uses the catalog and the versions that it has resolved itself since.
    """

    def __init__(
        self, catalog: Catalog, recently_recalled: Mapping[str, str], latest_version: Callable[[str], Remembered | None]
    ) -> None:
        self._catalog = catalog
        self._recently_recalled = recently_recalled
        self._latest_version = latest_version
        self._resolved: dict[str, Remembered] = {}
        self._next_turns: dict[str, int] = {}

    def resolve(self, prepared: PreparedVersion) -> tuple[str, Remembered | None]:
        """The id of the memory, and the version to write; None if it repeats what is known."""
        version = prepared.version
        if prepared.is_revision:
            return version.memory, version
        earlier = self._resolved.get(version.identity)
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
        elif (recalled := self._recalled_memory(prepared)) is not None:
            return recalled, None
        else:
            memory = version.memory
        settled = version
        if memory != version.memory or version.turn is not None:
            settled = replace(version, memory=memory, turn=self._numbered_turn(version, memory))
        self._resolved[version.identity] = settled
        return memory, settled

    def _recalled_memory(self, prepared: PreparedVersion) -> str | None:
        """The memory whose text was just recalled and is now added again, unless it is forgotten."""
        memory = None if prepared.echo is None else self._recently_recalled.get(prepared.echo)
        number = None if memory is None else self._catalog.number(memory)
        visible = number is not None and self._catalog.is_visible(number, self._catalog.position)
        return memory if visible else None

    def _numbered_turn(self, version: Remembered, memory: str) -> Turn | None:
        """The turn of a version with its number: the next one, or that of the earlier version."""
        turn = version.turn
        if turn is None:
            return None
        earlier_turn = None
        if memory != version.memory:
            earlier = self._resolved.get(version.identity) or self._latest_version(memory)
            earlier_turn = None if earlier is None else earlier.turn
        if earlier_turn is not None and earlier_turn.conversation == turn.conversation:
            number = earlier_turn.number
        else:
            number = self._next_turns.get(turn.conversation, self._catalog.next_turn(turn.conversation))
            self._next_turns[turn.conversation] = number + 1
        return Turn(turn.conversation, number, turn.speaker, turn.at)

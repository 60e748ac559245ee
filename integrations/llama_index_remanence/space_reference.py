"""Where a space is, in words that can be written down, and the space itself once it was found.

What LlamaIndex serialises it serialises by fields. A space is none: it holds files and locks. So adapters
keep a `Place`, which is written as a location and a name, and finds the space again when it is read: the one
that this process has open, or else by opening the location.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakValueDictionary

from llama_index.core.bridge.pydantic import BaseModel, ConfigDict, PrivateAttr

import remanence
from remanence import Closed, InvalidInput, NotFound, Space

_lock = threading.RLock()
_handles: WeakKeyDictionary[Space, str] = WeakKeyDictionary()
_held: WeakValueDictionary[str, Space] = WeakValueDictionary()
_at: WeakValueDictionary[tuple[str, str], Space] = WeakValueDictionary()
_opened: dict[tuple[str, str], Space] = {}
_DEFAULT = "default"


class SpaceReference(BaseModel):
    """A space that can be written down and found again.

    `handle` finds one that this process holds; `location` and `name` one that has to be opened.
    """

    name: str
    location: str | None = None
    handle: str | None = None

    _space: Space | None = PrivateAttr(default=None)

    @classmethod
    def of(
        cls, space: Space | None = None, location: str | Path | None = None, path: Sequence[str] = ()
    ) -> SpaceReference:
        """The place of a space that is held, or of one at a location, and there below `path`."""
        given = space.admin.location if location is None and space is not None else location
        where = None if given is None else _whole(given)
        if space is None and where is None:
            raise InvalidInput(
                "no space was given. Pass space=remanence.open('./memory'), or location='./memory' to have "
                "it opened, and opened again after a restart."
            )
        with _lock:
            root = space if space is not None else _root(where or "")
            found = root.child(*path) if path else root
            handle = _handles.setdefault(found, uuid4().hex)
            _held[handle] = found
            if where is not None:
                _at[where, found.name] = found
        place = cls(name=found.name, location=where, handle=handle)
        place._space = found
        return place

    @property
    def space(self) -> Space:
        """The space, found or opened when it is first asked for."""
        if self._space is None:
            with _lock:
                self._space = self._found()
        return self._space

    def _found(self) -> Space:
        held = [_held.get(self.handle or ""), _at.get((self.location or "", self.name))]
        for space in held:
            if space is not None and _is_open(space):
                return space
        if self.location is None:
            raise NotFound(
                f"the space {self.name!r} is not open in this process, and nothing says where it was kept. "
                "Give it back with attach(space); and give location='./memory' from the start to have it "
                "opened again by itself."
            )
        root, *path = (unquote(part) for part in self.name.split("/"))
        above = _root(self.location, root)
        return above.child(*path) if path else above

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> SpaceReference:
        return self

    def __getstate__(self) -> dict[Any, Any]:
        return super().__getstate__() | {"__pydantic_private__": {"_space": None}}


class SpaceAdapter(BaseModel):
    """An adapter that has a place: made with a space or a location, and written down without the space."""

    model_config = ConfigDict(extra="forbid")  # a setting that is misspelt would set nothing

    place: SpaceReference

    def __init__(
        self,
        space: Space | None = None,
        *,
        location: str | Path | None = None,
        path: Sequence[str] = (),
        place: SpaceReference | dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(place=SpaceReference.of(space, location, path) if place is None else place, **settings)
        self._reset_state()

    @property
    def space(self) -> Space:
        """The space it works on; opened again if this was read from a file."""
        return self.place.space

    def attach(self, space: Space) -> None:
        """Give it its space back, where it was read from a file and cannot open the space by itself."""
        self.place = SpaceReference.of(space, self.place.location)
        self._reset_state()

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), dict(self))

    def _reset_state(self) -> None:
        """Start anew with what is known of the space."""


def _made(kind: type[SpaceAdapter], fields: dict[str, Any]) -> SpaceAdapter:
    return kind(**fields)


def _root(location: str, name: str = _DEFAULT) -> Space:
    """The space at a location, opened once in this process and closed with it."""
    space = _opened.get((location, name))
    if space is None or not _is_open(space):
        space = _opened[location, name] = remanence.open(location, space=name)
    return space


def _is_open(space: Space) -> bool:
    try:
        space.find("is it open?")
    except Closed:
        return False
    return True


def _whole(location: str | Path) -> str:
    """A location that means the same from any working directory."""
    return str(location) if "://" in str(location) else str(Path(location).expanduser().resolve())


@atexit.register
def close_opened() -> None:
    """Close what was opened here by its location."""
    with ExitStack() as each:  # which closes the others too if one cannot be
        while _opened:
            each.callback(_opened.popitem()[1].close)

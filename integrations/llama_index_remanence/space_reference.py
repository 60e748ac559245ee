"""References to a space that can be serialised.

LlamaIndex serialises an object by its fields. A space cannot be a field, as it has open files and locks. So the
adapters have a `SpaceReference`: it is written as a location and a name, and after reading it finds the space again,
either one that is open in this process or by opening the location.
"""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakValueDictionary

import fsspec  # type: ignore[import-untyped]  # what LlamaIndex writes files with
from llama_index.core.bridge.pydantic import BaseModel, BeforeValidator, ConfigDict, PrivateAttr

import remanence
from remanence import Closed, InvalidInput, NotFound, Space
from remanence.adapters import check_ttl, require_space


def _ttl_seconds(ttl: object) -> float | None:
    duration = check_ttl(ttl)
    return None if duration is None else duration.total_seconds()


_SIMPLE_STORE_FIELD = "embedding_dict"
"""A field of LlamaIndex's SimpleVectorStore with lists of numbers."""
Adapter = TypeVar("Adapter", bound="SpaceAdapter")
TtlSeconds = Annotated[float | None, BeforeValidator(_ttl_seconds)]
"""A field for a time to live: given as `check_ttl` takes it, and stored as seconds."""

_lock = threading.RLock()
_handles: WeakKeyDictionary[Space, str] = WeakKeyDictionary()
_spaces_by_handle: WeakValueDictionary[str, Space] = WeakValueDictionary()
_spaces_by_location: WeakValueDictionary[tuple[str, str], Space] = WeakValueDictionary()
_opened: dict[tuple[str, str], Space] = {}


class SpaceReference(BaseModel):
    """A reference to a space that can be serialised. `handle` identifies one that is open in this process."""

    name: str
    location: str | None = None
    handle: str | None = None

    _space: Space | None = PrivateAttr(default=None)

    @classmethod
    def to(
        cls, space: Space | None = None, location: str | Path | None = None, path: Sequence[str] = ()
    ) -> SpaceReference:
        """Make a reference to an open space, or to one at a location, and there to the child at `path`."""
        if space is not None:
            require_space(space)
        if location is not None and not isinstance(location, str | PathLike):
            raise InvalidInput(
                f"location={location!r} is a {type(location).__name__}, not a folder. Give for example './memory'."
            )
        if isinstance(path, str) or not isinstance(path, Sequence):
            raise InvalidInput(f"path={path!r} is not a list of names. Give for example path=['users', 'bob'].")
        known_location = space.admin.location if location is None and space is not None else location
        absolute = None if known_location is None else _absolute(known_location)
        if space is None and absolute is None:
            raise InvalidInput(
                "no space was given. Pass space=remanence.open('./memory'), or location='./memory' to have "
                "it opened, and opened again after a restart."
            )
        with _lock:
            parent = space if space is not None else _open_once(absolute or "")
            target = parent.child(*path) if path else parent
            handle = _handles.setdefault(target, uuid4().hex)
            _spaces_by_handle[handle] = target
            if absolute is not None:
                _spaces_by_location[absolute, target.name] = target
        reference = cls(name=target.name, location=absolute, handle=handle)
        reference._space = target
        return reference

    @property
    def space(self) -> Space:
        """The space, found or opened when it is first needed."""
        if self._space is None:
            with _lock:
                self._space = self._find()
        return self._space

    def _find(self) -> Space:
        by_handle = _spaces_by_handle.get(self.handle or "")
        by_location = _spaces_by_location.get((self.location or "", self.name))
        for space in (by_handle, by_location):
            if space is not None and _is_open(space):
                return space
        if self.location is None:
            raise NotFound(
                f"the space {self.name!r} is not open in this process, and its location is unknown. Call "
                "attach(space); or pass location='./memory' from the start, and it is opened when needed."
            )
        root, *path = (unquote(part) for part in self.name.split("/"))
        parent = _open_once(self.location, root)
        return parent.child(*path) if path else parent

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> SpaceReference:
        return self

    def __getstate__(self) -> dict[Any, Any]:
        return super().__getstate__() | {"__pydantic_private__": {"_space": None}}


class SpaceAdapter(BaseModel):
    """Base class of adapters that have a space and are serialised without it."""

    model_config = ConfigDict(extra="forbid")  # a misspelt setting would have no effect

    reference: SpaceReference

    def __init__(
        self,
        space: Space | None = None,
        *,
        location: str | Path | None = None,
        path: Sequence[str] = (),
        reference: SpaceReference | dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        if reference is None:
            if space is not None and isinstance(location, str | Path):
                _require_same_place(require_space(space), location)
            reference = SpaceReference.to(space, location, path)
        super().__init__(reference=reference, **settings)
        self._reset_state()

    @property
    def space(self) -> Space:
        """The space; opened again if the adapter was read from a file.

        Raises:
            NotFound: The space is not open in this process and its location is unknown.
        """
        return self.reference.space

    def attach(self, space: Space) -> None:
        """Set the space of an adapter that was read from a file and cannot open the space itself."""
        self.reference = SpaceReference.to(space, self.reference.location)
        self._reset_state()

    def persist(self, persist_path: str, fs: fsspec.AbstractFileSystem | None = None) -> None:
        """Write the settings, and where the space is, for `from_persist_path`. What it stores is in the space already.

        Args:
            fs: The file system, one of fsspec; the local one by default.

        Raises:
            InvalidInput: The space is in memory, and gone with this process.
        """
        if self.reference.location is None:
            raise InvalidInput(
                f"the space {self.space.name!r} is in memory, so nothing could be loaded again. Open it in a folder: "
                "remanence.open('./memory')."
            )
        files = fs or fsspec.filesystem("file")
        files.makedirs(str(PurePosixPath(persist_path).parent), exist_ok=True)
        name = type(self).__name__
        # A SimpleVectorStore that is made of this file fails with this text, and is not empty in silence.
        advice = (
            f"This file was written by a {name}, which loads it: "
            f"StorageContext.from_defaults(persist_dir=..., vector_store={name}.from_persist_dir(...))"
        )
        written = {**self.model_dump(mode="json"), "class_name": name, _SIMPLE_STORE_FIELD: {name: [advice]}}
        with files.open(persist_path, "w", encoding="utf-8") as file:
            json.dump(written, file)

    @classmethod
    def from_persist_path(
        cls: type[Adapter], persist_path: str, fs: fsspec.AbstractFileSystem | None = None
    ) -> Adapter:
        """Return what `persist` wrote to a file, with its space.

        Args:
            fs: The file system, one of fsspec; the local one by default.

        Raises:
            InvalidInput: The file was written by another class.
        """
        with (fs or fsspec.filesystem("file")).open(persist_path, "r", encoding="utf-8") as file:
            written = json.load(file)
        if written.pop("class_name", None) != cls.__name__:
            raise InvalidInput(
                f"{persist_path!r} was not written by a {cls.__name__}. Load it with the class that wrote it."
            )
        del written[_SIMPLE_STORE_FIELD]
        return cls(**written)

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (type(self), dict(self))

    def _reset_state(self) -> None:
        """Discard what is derived from the space."""


def _make(adapter: type[SpaceAdapter], fields: dict[str, Any]) -> SpaceAdapter:
    return adapter(**fields)


def _open_once(location: str, name: str = "default") -> Space:
    """The space at a location, which is opened once in this process and closed at its exit."""
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


def _require_same_place(space: Space, location: str | Path) -> None:
    known = space.admin.location
    if known is None or _absolute(known) != _absolute(location):
        raise InvalidInput(
            f"location={str(location)!r} is not where the space is, which is {known or 'in memory'}. "
            "Give one of the two: with a location the space is opened there."
        )


def _absolute(location: str | Path) -> str:
    """A location that does not depend on the working directory."""
    return str(location) if "://" in str(location) else str(Path(location).expanduser().resolve())


@atexit.register
def close_opened() -> None:
    """Close the spaces that were opened here by their location."""
    with ExitStack() as stack:  # which closes the others too if one fails
        while _opened:
            stack.callback(_opened.popitem()[1].close)

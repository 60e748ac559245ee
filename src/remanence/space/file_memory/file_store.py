"""Files and folders in a space. A file is one memory; each write is a version of it, so nothing is lost.

A folder exists while there is a file below it. A renamed file is a new memory that names the old one, and its history
includes that of the old one.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from remanence.errors import InvalidInput, NotFound
from remanence.index.engine.inputs import Moment
from remanence.schema import Memory
from remanence.space.protocols import is_space
from remanence.space.space import Space
from remanence.space.view import View
from remanence.text.text import truncate

FILE_TAG = "memory-file"
_CHILD = "files"
_KEY_PREFIX = "file:"
_META = "file"
_BLANK = "(a file without text)"
MAX_PATH_LENGTH = 480
"""Characters of a path below the root, at most: with a prefix it is the key of a memory."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")
_LOCKS: WeakKeyDictionary[object, dict[str, Any]] = WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()
Encoding = Literal["utf-8", "base64"]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file.

    Attributes:
        path: The whole path, with the root.
        content: The text, or the bytes as base64.
        created_at: When the file was created.
        modified_at: When it was last written.
        memory_id: The id of the memory in which it is stored.
        encoding: "utf-8", or "base64" for a file that is not text.
    """

    path: str
    content: str
    created_at: datetime
    modified_at: datetime
    memory_id: str
    encoding: Encoding = "utf-8"

    @property
    def size(self) -> int:
        """The bytes of the file."""
        padding = self.content[-2:].count("=")
        return len(self.content) * 3 // 4 - padding if self.encoding == "base64" else len(self.content.encode())


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One event in the history of a file. `content` is None after a deletion, and if the text was erased."""

    at: datetime
    kind: Literal["written", "deleted"]
    path: str
    content: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Root:
    """The folder that all paths are below, as callers name it: "/memories", or "/".

    A path is stored without it, so that two roots are two names for the same files.
    """

    path: str

    @classmethod
    def parse(cls, path: object) -> Root:
        """Check the path of a root.

        Raises:
            InvalidInput: It is not an absolute path.
        """
        if not isinstance(path, str) or not path.startswith("/") or ".." in path or _CONTROL.search(path):
            raise InvalidInput(f"root={path!r} is not an absolute path. Give for example '/memories', or '/'.")
        return cls("/" + "/".join(part for part in path.split("/") if part))

    def relative(self, path: object) -> str:
        """A path without the root; "" is the root itself.

        Raises:
            InvalidInput: The path is not below the root, or would lead out of it.

        >>> Root("/memories").relative("/memories//notes/./today.md")
        'notes/today.md'
        """
        if not isinstance(path, str):
            raise InvalidInput(f"Path must be text that starts with {self.path}, got: {path!r}")
        shown, parts, own = truncate(path, 200), path.split("/"), self.path.split("/")[1:] if self.path != "/" else []
        if not path.startswith("/") or [part for part in parts if part not in ("", ".")][: len(own)] != own:
            raise InvalidInput(f"Path must start with {self.path}, got: {shown}")
        if any(unquote(part).replace("\\", "/").split("/").count("..") for part in parts) or "\\" in path:
            raise InvalidInput(f"Path {shown} would escape {self.path} directory")
        if _CONTROL.search(path):
            raise InvalidInput(f"Path {shown!r} contains a control character. Use letters, digits, '-', '_' and '.'.")
        below = "/".join([part for part in parts if part not in ("", ".")][len(own) :])
        if len(below) > MAX_PATH_LENGTH:
            raise InvalidInput(f"Path {shown} has {len(below)} characters below {self.path}, at most {MAX_PATH_LENGTH}")
        return below

    def absolute(self, relative: str) -> str:
        """A stored path as callers name it.

        >>> Root("/").absolute("notes.md"), Root("/memories").absolute("")
        ('/notes.md', '/memories')
        """
        return f"{self.path.rstrip('/')}/{relative}" if relative else self.path


class FileStore:
    """Files in a space, by path.

    Args:
        space: The space.
        root: The folder that all paths begin with.
        recallable: True keeps the files among the memories of the space, so that `space.recall` finds them too. By
            default they are in its child "files". Choose once: the two do not see each other's files.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     files = FileStore(space, root="/notes")
        ...     _ = files.write("/notes/tea.md", "Green.")
        ...     _ = files.write("/notes/tea.md", "Black.")
        ...     files.read("/notes/tea.md").content, [version.content for version in files.history("/notes/tea.md")]
        ('Black.', ['Green.', 'Black.'])
    """

    def __init__(self, space: Space, *, root: str = "/memories", recallable: bool = False) -> None:
        if not is_space(space):
            raise InvalidInput(f"space={space!r} is not a space. Open one: remanence.open('./memory').")
        self.root = Root.parse(root)
        self._view: View = space if recallable else space.child(_CHILD)
        self.lock = _lock_of(self._view)
        """Held while a file is read and its next version written: by all stores of this process with these files."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.root.path!r} in {self._view!r}>"

    @property
    def view(self) -> View:
        """The space or view that the files are in: `view.recall(...)` searches them."""
        return self._view

    def as_of(self, moment: Moment) -> FileStore:
        """The files as they were at a moment, read-only.

        Args:
            moment: A datetime, a date, or text such as "2026-05-01" or "last May".

        Returns:
            A store that cannot be written to.

        Example:
            >>> import remanence
            >>> from remanence.testing import FakeClock
            >>> clock = FakeClock("2026-05-04")
            >>> with remanence.open(None, clock=clock) as space:
            ...     files = FileStore(space)
            ...     _ = files.write("/memories/tea.md", "Green.")
            ...     _ = clock.advance(days=1)
            ...     _ = files.delete("/memories/tea.md")
            ...     files.as_of("2026-05-04 12:00").read("/memories/tea.md").content
            'Green.'
        """
        past = copy(self)
        past._view = self._view.as_of(moment)
        return past

    def find(self, path: str) -> StoredFile | None:
        """The file at a path; None if there is none.

        Args:
            path: The path of the file, below the root.

        Returns:
            The file, or None.
        """
        memory = self._view.find(_KEY_PREFIX + self.root.relative(path)) if self.root.relative(path) else None
        return None if memory is None else self._file(memory)

    def read(self, path: str) -> StoredFile:
        """The file at a path.

        Args:
            path: The path of the file, below the root.

        Returns:
            The file.

        Raises:
            NotFound: There is none.
        """
        file = self.find(path)
        if file is None:
            raise NotFound(f"The path {path} does not exist. Please provide a valid path.")
        return file

    def files(self, folder: str | None = None) -> list[StoredFile]:
        """All files below a folder, or below the root, by path.

        Args:
            folder: The path of the folder; None is the root.

        Returns:
            The files, sorted by path.
        """
        below = self.root.relative(folder or self.root.path)
        prefix = f"{below}/" if below else ""
        memories = (memory for memory in self._view.memories(tags=FILE_TAG) if _is_file(memory))
        listed = [memory for memory in memories if _path_of(memory).startswith(prefix)]
        return [self._file(memory) for memory in sorted(listed, key=_path_of)]

    def is_folder(self, path: str) -> bool:
        """Whether a path is the root, or has a file below it.

        Args:
            path: The path.

        Returns:
            True for a folder, False for a file and for a path at which there is nothing.
        """
        return not self.root.relative(path) or bool(self.files(path))

    def write(self, path: str, content: str, *, encoding: Encoding = "utf-8") -> StoredFile:
        """Write a file: a new one, or a new version of one.

        Args:
            path: The path of the file, below the root.
            content: The text, or the bytes as base64.
            encoding: "utf-8" for text, "base64" for bytes.

        Returns:
            The file as it is stored.

        Raises:
            InvalidInput: The path is that of a folder or leads through a file, or the content cannot be stored.
        """
        with self.lock:
            relative = self._free_path(path)
            old = self._view.find(_KEY_PREFIX + relative)
            # A deleted file that is created again is the same memory, but another file.
            created = {"created_at": self._view._now().isoformat()} if old is None else _details(old)
            kept_details = {name: created[name] for name in ("created_at", "renamed_from") if name in created}
            return self._file(self._space().add(**_row(relative, content, encoding, kept_details)))

    def delete(self, path: str, *, why: str | None = None) -> list[StoredFile]:
        """Delete a file, or a folder with all that is below it. Its versions stay in the history.

        Args:
            path: The path of the file or folder, below the root.
            why: The reason, for the history.

        Returns:
            The files that were deleted.

        Raises:
            NotFound: There is none.
            InvalidInput: It is the root.
        """
        with self.lock:
            if not self.root.relative(path):
                raise InvalidInput(f"Cannot delete the {self.root.path} directory itself")
            files = self._at_or_below(path)
            if not files:
                raise NotFound(f"The path {path} does not exist")
            self._space().forget_many([file.memory_id for file in files], why=why or "the file was deleted")
            return files

    def rename(self, old_path: str, new_path: str) -> list[StoredFile]:
        """Rename or move a file, or a folder with all that is below it.

        Args:
            old_path: The path of the file or folder.
            new_path: The path that it gets.

        Returns:
            The files under their new paths.

        Raises:
            NotFound: There is nothing at the old path.
            InvalidInput: There is something at the new path, or it is below the old one.
        """
        with self.lock:
            old, new = self.root.relative(old_path), self.root.relative(new_path)
            if not old:
                raise InvalidInput(f"Cannot rename the {self.root.path} directory itself")
            if not new or self._at_or_below(new_path):
                raise InvalidInput(f"The destination {new_path} already exists")
            self._free_path(new_path)
            files = self._at_or_below(old_path)
            if not files:
                raise NotFound(f"The path {old_path} does not exist")
            if new.startswith(f"{old}/"):
                raise InvalidInput(f"Cannot rename {old_path} to {new_path}, which is below it")
            rows = [self._moved_row(file, old, new) for file in files]
            written = self._space().add_many(rows)
            # The old ones are hidden last: if this fails, the files exist twice, and none is lost.
            why = f"renamed to {self.root.absolute(new)}"
            self._space().forget_many([file.memory_id for file in files], why=why)
            return [self._file(memory) for memory in written]

    def history(self, path: str) -> list[FileVersion]:
        """Every version of a file that is or was at a path, oldest first, also those under earlier names.

        Args:
            path: The path of the file, below the root.

        Returns:
            The versions, oldest first.

        Raises:
            NotFound: There never was a file.
        """
        relative = self.root.relative(path)
        memory = self._view.find(_KEY_PREFIX + relative)
        if memory is None:
            memory = next((deleted for deleted in self._deleted() if _path_of(deleted) == relative), None)
        if memory is None:
            raise NotFound(f"The path {path} does not exist. Please provide a valid path.")
        return [version for _, version in self._versions(memory)]

    def _versions(self, memory: Memory) -> list[tuple[int, FileVersion]]:
        """The versions of a file with their ledger positions, those under an earlier name included."""
        versions: list[tuple[int, FileVersion]] = []
        for event in self._view.graph.timeline(memory):
            if event.kind in ("memory added", "memory revised", "restored") and isinstance(event.value, Memory):
                file = self._file(event.value)
                source = _details(event.value).get("renamed_from")
                if not versions and source is not None and (old := self._memory(source)) is not None:
                    versions = [version for version in self._versions(old) if version[0] < event.position]
                versions.append((event.position, FileVersion(event.recorded_at, "written", file.path, file.content)))
            elif event.kind == "forgotten":
                path = self.root.absolute(_path_of(memory))
                versions.append((event.position, FileVersion(event.recorded_at, "deleted", path, why=event.why)))
        return versions

    def _memory(self, memory_id: str) -> Memory | None:
        """The memory of a file, which may be deleted."""
        return self._view.get(memory_id) or next(
            (deleted for deleted in self._deleted() if deleted.id == memory_id), None
        )

    def _deleted(self) -> Iterator[Memory]:
        return (memory for memory in self._view.memories("forgotten", tags=FILE_TAG) if _is_file(memory))

    def _at_or_below(self, path: str) -> list[StoredFile]:
        found = self.find(path)
        return self.files(path) if found is None else [found]

    def _moved_row(self, file: StoredFile, old: str, new: str) -> dict[str, Any]:
        relative = self.root.relative(file.path)
        details = {"created_at": file.created_at.isoformat(), "renamed_from": file.memory_id}
        return _row(new + relative[len(old) :], file.content, file.encoding, details)

    def _free_path(self, path: str) -> str:
        """A path at which a file may be, relative to the root."""
        relative = self.root.relative(path)
        if not relative or self.files(path):
            raise InvalidInput(f"The path {path} is not a file.")
        parts = relative.split("/")
        for count in range(1, len(parts)):
            if self._view.find(_KEY_PREFIX + "/".join(parts[:count])) is not None:
                parent = self.root.absolute("/".join(parts[:count]))
                raise InvalidInput(f"File {parent} already exists, so {path} cannot be below it")
        return relative

    def _space(self) -> Space:
        if is_space(self._view):
            return self._view
        raise InvalidInput(f"{self._view!r} is a view of the past and cannot be written to. Use the space.")

    def _file(self, memory: Memory) -> StoredFile:
        details = _details(memory)
        created: str = details["created_at"]
        return StoredFile(
            path=self.root.absolute(details["path"]),
            content=details.get("content", memory.text),
            created_at=datetime.fromisoformat(created),
            modified_at=memory.revised_at,
            memory_id=memory.id,
            encoding=details.get("encoding", "utf-8"),
        )


def _lock_of(view: View) -> Any:
    with _LOCKS_LOCK:
        locks = _LOCKS.setdefault(view._storage, {})
        return locks.setdefault(view.name, threading.RLock())


def folders_of(paths: Iterable[str]) -> set[str]:
    """The folders that these relative paths lie in, at every level.

    >>> sorted(folders_of(["a/b/c.md", "d.md"]))
    ['a', 'a/b']
    """
    return {path[:place] for path in paths for place, letter in enumerate(path) if letter == "/"}


def _row(relative: str, content: str, encoding: Encoding, details: Mapping[str, Any]) -> dict[str, Any]:
    """A file as the arguments of `add`. A memory cannot be blank, so a blank file keeps its content in its meta.

    No claims are read from a file: those of its next version would end them, and mark other files as outdated.
    """
    if not isinstance(content, str):
        raise InvalidInput(f"the content of {relative} is of type {type(content).__name__}, not text.")
    stored = {**details, "path": relative}
    if encoding != "utf-8":
        stored["encoding"] = encoding
    if not content.strip():
        stored["content"] = content
    row: dict[str, Any] = {"text": content if content.strip() else _BLANK, "key": _KEY_PREFIX + relative}
    row |= {"kind": "semantic", "tags": FILE_TAG, "triples": (), "meta": {_META: stored}}
    return row | ({"entities": (), "passages": ()} if encoding != "utf-8" else {})


def _details(memory: Memory) -> Mapping[str, Any]:
    details: Mapping[str, Any] = memory.meta.get(_META) or {}
    return details


def _is_file(memory: Memory) -> bool:
    details = memory.meta.get(_META)
    return isinstance(details, dict) and {"path", "created_at"} <= details.keys()


def _path_of(memory: Memory) -> str:
    path: str = _details(memory)["path"]
    return path

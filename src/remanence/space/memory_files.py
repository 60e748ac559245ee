"""Files that a model keeps notes in, stored as memories. A file is one memory; each write is a version of it.

A folder exists while there is a file below it. A renamed file is a new memory that names the old one, and its history
includes that of the old one. The commands of a model's memory tool are functions of the files, in a table at the end.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from remanence.errors import InvalidInput, NotFound
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment
from remanence.schema import Memory
from remanence.space.protocols import is_space
from remanence.space.space import Space
from remanence.space.view import View
from remanence.text.text import truncate

_TAG, _KEY_PREFIX, _META = "memory-file", "file:", "file"
_BLANK = "(a file without text)"
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")
_MAX_PATH_LENGTH = 480
"""Characters of a path below the root, at most: with a prefix it is the key of a memory."""
_MAX_LINES = 999_999
"""Lines of a file that is shown with numbers, at most, as in the interface of the memory tool."""
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


class MemoryFiles:
    """Files in a space that a model keeps notes in; nothing that was written is lost.

    `run` takes a command of the model's memory tool and returns the text that the model reads.

    Args:
        root: The folder that all paths begin with. Two roots are two names for the same files.
        recallable: True keeps the files among the memories of the space, so that `space.recall` finds them too. By
            default they are in its child "files". Choose once: the two do not see each other's files.

    Raises:
        NotFound: There is no such file. The message is for the model, as all of these are.
        InvalidInput: The path leads out of the root or through a file, or an argument is not valid.
    """

    def __init__(self, space: Space, *, root: str = "/memories", recallable: bool = False) -> None:
        if not is_space(space):
            raise InvalidInput(f"space={space!r} is not a space. Open one: remanence.open('./memory').")
        if not isinstance(root, str) or not root.startswith("/") or ".." in root or _CONTROL.search(root):
            raise InvalidInput(f"root={root!r} is not an absolute path. Give for example '/memories', or '/'.")
        self.root = "/" + "/".join(_parts(root))
        self._view: View = space if recallable else space.child("files")
        self.lock = _lock_of(self._view)
        """Held while a file is read and its next version written, in this process."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.root!r} in {self._view!r}>"

    @property
    def view(self) -> View:
        """The space or view that the files are in: `view.recall(...)` searches them."""
        return self._view

    def as_of(self, moment: Moment) -> MemoryFiles:
        """The files as they were at a moment, read-only.

        Args:
            moment: A datetime, a date, or text such as "2026-05-01" or "last May".
        """
        past = copy(self)
        past._view = self._view.as_of(moment)
        return past

    def absolute(self, path: str) -> str:
        """A path in its usual spelling: "/memories//notes/./a.md" is "/memories/notes/a.md".

        Args:
            path: A path below the root.
        """
        return self._absolute(self._relative(path))

    def find(self, path: str) -> StoredFile | None:
        """The file at a path.

        Returns:
            The file; None if there is none.
        """
        relative = self._relative(path)
        memory = self._view.find(_KEY_PREFIX + relative) if relative else None
        return None if memory is None else self._file(memory)

    def read(self, path: str) -> StoredFile:
        """The file at a path.

        Raises:
            NotFound: There is none.
        """
        file = self.find(path)
        if file is None:
            raise NotFound(f"The path {path} does not exist. Please provide a valid path.")
        return file

    def files(self, folder: str | None = None) -> list[StoredFile]:
        """All files below a folder.

        Args:
            folder: The path of the folder; None is the root.
        """
        below = self._relative(folder or self.root)
        memories = (memory for memory in self._view.memories(tags=_TAG) if _is_file(memory))
        listed = [memory for memory in memories if not below or _path_of(memory).startswith(f"{below}/")]
        return [self._file(memory) for memory in sorted(listed, key=_path_of)]

    def is_folder(self, path: str) -> bool:
        """Whether a path is the root, or has a file below it.

        Returns:
            False for a file, and where there is nothing.
        """
        return not self._relative(path) or bool(self.files(path))

    def write(self, path: str, content: str, *, encoding: Encoding = "utf-8") -> StoredFile:
        """Write a file: a new one, or a new version of one.

        Args:
            content: The text, or the bytes as base64.
            encoding: "utf-8" for text, "base64" for bytes.

        Raises:
            InvalidInput: The path is that of a folder or leads through a file, or the content cannot be stored.
        """
        with self.lock:
            relative = self._free_path(path)
            old = self._view.find(_KEY_PREFIX + relative)
            # A deleted file that is created again is the same memory, but another file.
            known = {"created_at": self._view._now().isoformat()} if old is None else _details(old)
            details = {name: known[name] for name in ("created_at", "renamed_from") if name in known}
            return self._file(self._space().add(**_row(relative, content, encoding, details)))

    def delete(self, path: str, *, why: str | None = None) -> list[StoredFile]:
        """Delete a file, or a folder with all that is below it. Its versions stay in the history.

        Raises:
            NotFound: There is none.
            InvalidInput: It is the root.
        """
        with self.lock:
            if not self._relative(path):
                raise InvalidInput(f"Cannot delete the {self.root} directory itself")
            files = self._at_or_below(path)
            self._space().forget_many([file.memory_id for file in files], why=why or "the file was deleted")
            return files

    def rename(self, old_path: str, new_path: str) -> list[StoredFile]:
        """Rename or move a file, or a folder with all that is below it.

        Args:
            new_path: The path that it gets.

        Raises:
            NotFound: There is nothing at the old path.
            InvalidInput: There is something at the new path, or it is below the old one.
        """
        with self.lock:
            old, new = self._relative(old_path), self._relative(new_path)
            if not old:
                raise InvalidInput(f"Cannot rename the {self.root} directory itself")
            if self.find(new_path) is not None or self.is_folder(new_path):
                raise InvalidInput(f"The destination {new_path} already exists")
            self._free_path(new_path)
            files = self._at_or_below(old_path)
            if new.startswith(f"{old}/"):
                raise InvalidInput(f"Cannot rename {old_path} to {new_path}, which is below it")
            rows = []
            for file in files:
                details = {"created_at": file.created_at.isoformat(), "renamed_from": file.memory_id}
                path = new + self._relative(file.path)[len(old) :]
                rows.append(_row(path, file.content, file.encoding, details))
            written = self._space().add_many(rows)
            # The old ones are hidden last: if this fails, the files exist twice, and none is lost.
            why = f"renamed to {self._absolute(new)}"
            self._space().forget_many([file.memory_id for file in files], why=why)
            return [self._file(memory) for memory in written]

    def history(self, path: str) -> list[FileVersion]:
        """Every version of a file that is or was at a path, also those under earlier names.

        Raises:
            NotFound: There never was a file.
        """
        relative = self._relative(path)
        memory = self._view.find(_KEY_PREFIX + relative)
        if memory is None:
            memory = next((deleted for deleted in self._deleted() if _path_of(deleted) == relative), None)
        if memory is None:
            raise NotFound(f"The path {path} does not exist. Please provide a valid path.")
        return [version for _, version in self._versions(memory)]

    def run(self, command: Mapping[str, Any]) -> str:
        """Run a command as a model sends it: `{"command": "view", "path": "/memories"}`.

        Args:
            command: The name of the command and its arguments.

        Raises:
            InvalidInput: There is no such command, an argument is missing or not valid.
            NotFound: There is no such file.
        """
        name = command.get("command") if isinstance(command, Mapping) else None
        if not isinstance(name, str) or name not in _COMMANDS:
            raise InvalidInput(f"Unknown command: {name}. The commands are {', '.join(_COMMANDS)}.")
        run, needed, optional = _COMMANDS[name]
        given = {key: value for key, value in command.items() if value is not None}
        for other, own in _OTHER_NAMES.get(name, {}).items():
            if own not in given and other in given:
                given[own] = given[other]
        if missing := [argument for argument in needed if argument not in given]:
            raise InvalidInput(f"Missing parameter for {name}: {', '.join(missing)}.")
        return run(self, **{argument: given[argument] for argument in (*needed, *optional) if argument in given})

    arun = in_thread(run)

    def _relative(self, path: object) -> str:
        """A path without the root; "" is the root itself.

        Raises:
            InvalidInput: The path is not below the root, or would lead out of it.
        """
        if not isinstance(path, str):
            raise InvalidInput(f"Path must be text that starts with {self.root}, got: {path!r}")
        shown, parts, own = truncate(path, 200), _parts(path), _parts(self.root)
        if not path.startswith("/") or parts[: len(own)] != own:
            raise InvalidInput(f"Path must start with {self.root}, got: {shown}")
        if any(".." in unquote(part).replace("\\", "/").split("/") for part in parts) or "\\" in path:
            raise InvalidInput(f"Path {shown} would escape {self.root} directory")
        if _CONTROL.search(path):
            raise InvalidInput(f"Path {shown!r} contains a control character. Use letters, digits, '-', '_' and '.'.")
        below = "/".join(parts[len(own) :])
        if len(below) > _MAX_PATH_LENGTH:
            raise InvalidInput(
                f"Path {shown} has {len(below)} characters below {self.root}, at most {_MAX_PATH_LENGTH}"
            )
        return below

    def _absolute(self, relative: str) -> str:
        return f"{self.root.rstrip('/')}/{relative}" if relative else self.root

    def _free_path(self, path: str) -> str:
        """A path at which a file may be, relative to the root."""
        if self.is_folder(path):
            raise InvalidInput(f"The path {path} is not a file.")
        relative = self._relative(path)
        for folder in _folders_of(relative):
            if self._view.find(_KEY_PREFIX + folder) is not None:
                raise InvalidInput(f"File {self._absolute(folder)} already exists, so {path} cannot be below it")
        return relative

    def _at_or_below(self, path: str) -> list[StoredFile]:
        """The file at a path, or the files of the folder there."""
        found = self.find(path)
        files = self.files(path) if found is None else [found]
        if not files:
            raise NotFound(f"The path {path} does not exist")
        return files

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
                path = self._absolute(_path_of(memory))
                versions.append((event.position, FileVersion(event.recorded_at, "deleted", path, why=event.why)))
        return versions

    def _memory(self, memory_id: str) -> Memory | None:
        """The memory of a file, which may be deleted."""
        deleted = (memory for memory in self._deleted() if memory.id == memory_id)
        return self._view.get(memory_id) or next(deleted, None)

    def _deleted(self) -> Iterator[Memory]:
        return (memory for memory in self._view.memories("forgotten", tags=_TAG) if _is_file(memory))

    def _space(self) -> Space:
        if is_space(self._view):
            return self._view
        raise InvalidInput(f"{self._view!r} is a view of the past and cannot be written to. Use the space.")

    def _file(self, memory: Memory) -> StoredFile:
        details = _details(memory)
        return StoredFile(
            path=self._absolute(details["path"]),
            content=details.get("content", memory.text),
            created_at=datetime.fromisoformat(details["created_at"]),
            modified_at=memory.revised_at,
            memory_id=memory.id,
            encoding=details.get("encoding", "utf-8"),
        )


def _lock_of(view: View) -> Any:
    with _LOCKS_LOCK:
        locks = _LOCKS.setdefault(view._storage, {})
        return locks.setdefault(view.name, threading.RLock())


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _folders_of(path: str) -> list[str]:
    """The folders that a relative path lies in, at every level."""
    return [path[:place] for place, letter in enumerate(path) if letter == "/"]


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
    row |= {"kind": "semantic", "tags": _TAG, "triples": (), "meta": {_META: stored}}
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


# The commands of a model's memory tool. Their texts are those of Anthropic's own implementation.


def _view(files: MemoryFiles, path: str, view_range: Sequence[int] | None = None) -> str:
    """The lines of a file with their numbers, or what a folder contains, two levels deep."""
    file = files.find(path)
    if file is not None:
        lines = file.content.split("\n")
        if len(lines) > _MAX_LINES:
            raise InvalidInput(f"File {file.path} exceeds maximum line limit of {_MAX_LINES:,} lines.")
        first, last = _lines_to_show(view_range, len(lines))
        return f"Here's the content of {file.path} with line numbers:\n{_numbered(lines[first - 1 : last], first)}"
    if not files.is_folder(path):
        raise NotFound(f"The path {path} does not exist. Please provide a valid path.")
    top = files.absolute(path)
    sizes: dict[str, int] = {"": 0}
    for each in files.files(path):
        name = each.path[len(top.rstrip("/")) + 1 :]
        if not name.startswith(".") and "/." not in name:
            for folder in ("", *(f"{folder}/" for folder in _folders_of(name)), name):
                sizes[folder] = sizes.get(folder, 0) + each.size
    total = sizes.pop("")
    listed = [name for name in sizes if name.rstrip("/").count("/") < 2]
    listed.sort(key=lambda name: name.rstrip("/").split("/"))
    lines = [f"{_size(total)}\t{top}", *(f"{_size(sizes[name])}\t{top.rstrip('/')}/{name}" for name in listed)]
    header = f"Here're the files and directories up to 2 levels deep in {top}, excluding hidden items:\n"
    return header + "\n".join(lines)


def _create(files: MemoryFiles, path: str, file_text: str) -> str:
    with files.lock:
        if files.find(path) is not None or files.is_folder(path):
            raise InvalidInput(f"File {path} already exists")
        files.write(path, _text(file_text, "file_text"))
    return f"File created successfully at: {path}"


def _str_replace(files: MemoryFiles, path: str, old_str: str, new_str: str = "") -> str:
    """Replace a text that occurs once in a file; the lines around the change, with their numbers."""
    old, new = _text(old_str, "old_str"), _text(new_str, "new_str")
    with files.lock:
        content = _text_file(files, path).content
        # Also overlapping occurrences; none for an empty text.
        offsets = [match.start() for match in re.finditer(f"(?={re.escape(old)})", content)] if old else []
        if not offsets:
            raise InvalidInput(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
        if len(offsets) > 1:
            lines = ", ".join(str(content.count("\n", 0, place) + 1) for place in offsets)
            raise InvalidInput(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        changed = content[: offsets[0]] + new + content[offsets[0] + len(old) :]
        files.write(path, changed)
    line = content.count("\n", 0, offsets[0])
    around = changed.split("\n")[max(0, line - 2) : line + 3]
    header = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
    return header + _numbered(around, max(0, line - 2) + 1)


def _insert(files: MemoryFiles, path: str, insert_line: int, insert_text: str) -> str:
    """Insert a text after a line of a file; 0 is its beginning."""
    text = _text(insert_text, "insert_text")
    with files.lock:
        lines = _text_file(files, path).content.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not _is_int(insert_line) or not 0 <= insert_line <= len(lines):
            raise InvalidInput(
                f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(insert_line, text.rstrip("\n"))
        changed = "\n".join(lines)
        files.write(path, changed if changed.endswith("\n") else f"{changed}\n")
    return f"The file {path} has been edited."


def _delete(files: MemoryFiles, path: str) -> str:
    files.delete(path)
    return f"Successfully deleted {path}"


def _rename(files: MemoryFiles, old_path: str, new_path: str) -> str:
    files.rename(old_path, new_path)
    return f"Successfully renamed {old_path} to {new_path}"


_COMMANDS: dict[str, tuple[Callable[..., str], tuple[str, ...], tuple[str, ...]]] = {
    "view": (_view, ("path",), ("view_range",)),
    "create": (_create, ("path", "file_text"), ()),
    "str_replace": (_str_replace, ("path", "old_str"), ("new_str",)),
    "insert": (_insert, ("path", "insert_line", "insert_text"), ()),
    "delete": (_delete, ("path",), ()),
    "rename": (_rename, ("old_path", "new_path"), ()),
}
_OTHER_NAMES = {"insert": {"new_str": "insert_text"}, "rename": {"path": "old_path"}}


def _text_file(files: MemoryFiles, path: str) -> StoredFile:
    """A file that can be edited."""
    if files.find(path) is None and files.is_folder(path):
        raise InvalidInput(f"The path {path} is not a file.")
    file = files.read(path)
    if file.encoding != "utf-8":
        raise InvalidInput(f"The file {path} is not text, so it cannot be edited.")
    return file


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{what} is of type {type(value).__name__}, not text.")
    return value


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _lines_to_show(view_range: object, count: int) -> tuple[int, int]:
    """The first and last line of a range, from 1."""
    if view_range is None:
        return 1, count
    if isinstance(view_range, str) or not isinstance(view_range, Sequence) or len(view_range) != 2:
        raise InvalidInput(f"Invalid `view_range` parameter: {view_range}. It should be a list of two integers.")
    first, last = view_range
    if not _is_int(first) or not _is_int(last) or not (last == -1 or max(first, 1) <= last) or first > count:
        raise InvalidInput(
            f"Invalid `view_range` parameter: {list(view_range)}. It should be within the range of lines of the "
            f"file: [1, {count}]; -1 is the last line."
        )
    return max(1, first), count if last == -1 else last


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def _size(count: int) -> str:
    """A number of bytes as `du -h` prints it.

    >>> _size(0), _size(512), _size(1536), _size(2 * 1024 * 1024)
    ('0B', '512B', '1.5K', '2M')
    """
    units = "BKMG"
    power = min(max(0, count.bit_length() - 1) // 10, len(units) - 1)
    size = count / 1024**power
    return f"{int(size)}{units[power]}" if size == int(size) else f"{size:.1f}{units[power]}"

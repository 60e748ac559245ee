"""The commands of a model's memory tool, with the results and error messages that such models are trained on.

They are those of the tool type `memory_20250818` of Anthropic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from remanence.errors import InvalidInput, NotFound
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment
from remanence.space.file_memory.file_store import FileStore, FileVersion, StoredFile, folders_of
from remanence.space.space import Space

COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "view": (("path",), ("view_range",)),
    "create": (("path", "file_text"), ()),
    "str_replace": (("path", "old_str"), ("new_str",)),
    "insert": (("path", "insert_line", "insert_text"), ()),
    "delete": (("path",), ()),
    "rename": (("old_path", "new_path"), ()),
}
"""For each command the arguments that it needs, and those that it may have."""
_OTHER_NAMES = {"insert": {"new_str": "insert_text"}, "rename": {"path": "old_path"}}
"""Names under which some frameworks and models pass an argument."""
_MAX_LINES = 999_999
"""Lines of a file that is shown with numbers, at most, as in the interface of the memory tool."""
_NUMBER_WIDTH = len(str(_MAX_LINES))
_LISTED_LEVELS = 2
"""Levels of folders that a listing shows."""


class MemoryFiles:
    """Files below `/memories` that a model keeps notes in, by the commands of its memory tool.

    Each command returns the text that the model reads. `run` takes a command as a model sends it. `store` has the
    files themselves.

    Args:
        space: The space.
        root: The folder that all paths begin with.
        recallable: True keeps the files among the memories of the space, so that `space.recall` finds them too. By
            default they are in its child "files". Choose once: the two do not see each other's files.

    Raises:
        NotFound: There is no such file. The message is for the model, as all of these are.
        InvalidInput: The path leads out of the root, the file exists already, an argument is not valid.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     files = MemoryFiles(space)
        ...     _ = files.create("/memories/tea.md", "Alice drinks green tea.")
        ...     _ = files.str_replace("/memories/tea.md", "green", "black")
        ...     files.store.read("/memories/tea.md").content
        'Alice drinks black tea.'
    """

    def __init__(self, space: Space, *, root: str = "/memories", recallable: bool = False) -> None:
        self.store = FileStore(space, root=root, recallable=recallable)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self.store!r}>"

    def as_of(self, moment: Moment) -> MemoryFiles:
        """The files as they were at a moment, read-only.

        Args:
            moment: A datetime, a date, or text such as "2026-05-01" or "last May".

        Returns:
            Files that cannot be written to.
        """
        past = copy(self)
        past.store = self.store.as_of(moment)
        return past

    def history(self, path: str) -> list[FileVersion]:
        """Every version of a file, oldest first, also of a deleted one, and those under earlier names.

        Args:
            path: The path of the file, below the root.

        Returns:
            The versions, oldest first.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     files = MemoryFiles(space)
            ...     _ = files.create("/memories/tea.md", "Green.")
            ...     _ = files.delete("/memories/tea.md")
            ...     [(version.kind, version.content) for version in files.history("/memories/tea.md")]
            [('written', 'Green.'), ('deleted', None)]
        """
        return self.store.history(path)

    def run(self, command: Mapping[str, Any]) -> str:
        """Run a command as a model sends it: `{"command": "view", "path": "/memories"}`.

        Args:
            command: The name of the command and its arguments.

        Returns:
            What the method of that name returns.

        Raises:
            InvalidInput: There is no such command, an argument is missing or not valid.
            NotFound: There is no such file.
        """
        name = command.get("command") if isinstance(command, Mapping) else None
        if not isinstance(name, str) or name not in COMMANDS:
            raise InvalidInput(f"Unknown command: {name}. The commands are {', '.join(COMMANDS)}.")
        needed, optional = COMMANDS[name]
        command_arguments = {key: value for key, value in command.items() if value is not None and key != "command"}
        for other, own in _OTHER_NAMES.get(name, {}).items():
            if own not in command_arguments and other in command_arguments:
                command_arguments[own] = command_arguments.pop(other)
        if missing := [argument for argument in needed if argument not in command_arguments]:
            raise InvalidInput(f"Missing parameter for {name}: {', '.join(missing)}.")
        arguments = {
            argument: command_arguments[argument] for argument in (*needed, *optional) if argument in command_arguments
        }
        text: str = getattr(self, name)(**arguments)
        return text

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """The lines of a file with their numbers, or what a folder contains, two levels deep.

        Args:
            path: The file or folder.
            view_range: The first and the last line to show; -1 as the last is the end of the file.

        Returns:
            The text for the model.
        """
        found = self.store.find(path)
        if found is not None:
            return self._view_file(found, view_range)
        below = self.store.files(path)
        if not below and self.store.root.relative(path):
            raise NotFound(f"The path {path} does not exist. Please provide a valid path.")
        return self._view_folder(path, below)

    def create(self, path: str, file_text: str) -> str:
        """Create a file.

        Args:
            path: The path of the file, below the root.
            file_text: The text.

        Returns:
            A sentence for the model that says what was done.
        """
        with self.store.lock:
            if self.store.find(path) is not None or self.store.is_folder(path):
                raise InvalidInput(f"File {path} already exists")
            self.store.write(path, _text(file_text, "file_text"))
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Replace a text that occurs once in a file.

        Args:
            path: The path of the file, below the root.
            old_str: The text to replace.
            new_str: The text in its place.

        Returns:
            The lines around the change, with their numbers.
        """
        old, new = _text(old_str, "old_str"), _text(new_str, "new_str")
        with self.store.lock:
            content = self._text_file(path).content
            offsets = _occurrences(content, old)
            if not offsets:
                raise InvalidInput(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
            if len(offsets) > 1:
                lines = ", ".join(str(content.count("\n", 0, place) + 1) for place in offsets)
                raise InvalidInput(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                    "Please ensure it is unique"
                )
            changed = content[: offsets[0]] + new + content[offsets[0] + len(old) :]
            self.store.write(path, changed)
        line = content.count("\n", 0, offsets[0])
        around = changed.split("\n")[max(0, line - 2) : line + 3]
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            + _numbered(around, max(0, line - 2) + 1)
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert a text after a line of a file; 0 is its beginning.

        Args:
            path: The path of the file, below the root.
            insert_line: The number of the line, from 1; 0 inserts at the beginning.
            insert_text: The text to insert.

        Returns:
            A sentence for the model that says what was done.
        """
        text = _text(insert_text, "insert_text")
        with self.store.lock:
            content = self._text_file(path).content
            lines = content.split("\n")
            if lines[-1] == "":
                lines.pop()
            if not _is_int(insert_line) or not 0 <= insert_line <= len(lines):
                raise InvalidInput(
                    f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
                )
            lines.insert(insert_line, text.rstrip("\n"))
            changed = "\n".join(lines)
            self.store.write(path, changed if changed.endswith("\n") else f"{changed}\n")
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with all that is below it. The history still has it.

        Args:
            path: The path of the file or folder, below the root.

        Returns:
            A sentence for the model that says what was done.
        """
        self.store.delete(path)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Rename or move a file, or a folder with all that is below it.

        Args:
            old_path: The path of the file or folder.
            new_path: The path that it gets.

        Returns:
            A sentence for the model that says what was done.
        """
        self.store.rename(old_path, new_path)
        return f"Successfully renamed {old_path} to {new_path}"

    ahistory = in_thread(history)
    arun = in_thread(run)
    aview = in_thread(view)
    acreate = in_thread(create)
    astr_replace = in_thread(str_replace)
    ainsert = in_thread(insert)
    adelete = in_thread(delete)
    arename = in_thread(rename)

    def _text_file(self, path: str) -> StoredFile:
        """A file that can be edited."""
        file = self.store.find(path)
        if file is None and self.store.is_folder(path):
            raise InvalidInput(f"The path {path} is not a file.")
        if file is None:
            raise NotFound(f"The path {path} does not exist. Please provide a valid path.")
        if file.encoding != "utf-8":
            raise InvalidInput(f"The file {path} is not text, so it cannot be edited.")
        return file

    def _view_file(self, file: StoredFile, view_range: Sequence[int] | None) -> str:
        lines = file.content.split("\n")
        if len(lines) > _MAX_LINES:
            raise InvalidInput(f"File {file.path} exceeds maximum line limit of 999,999 lines.")
        first, last = _lines_to_show(view_range, len(lines))
        header = f"Here's the content of {file.path} with line numbers:\n"
        return header + _numbered(lines[first - 1 : last], first)

    def _view_folder(self, path: str, files: Sequence[StoredFile]) -> str:
        """The files and folders below a folder, two levels deep, without those whose name begins with a dot."""
        folder = self.store.root.relative(path)
        start = len(folder) + 1 if folder else 0
        sizes = {self.store.root.relative(file.path)[start:]: file.size for file in files}
        visible = {name: size for name, size in sizes.items() if not name.startswith(".") and "/." not in name}
        totals = {
            f"{subfolder}/": sum(size for name, size in visible.items() if name.startswith(f"{subfolder}/"))
            for subfolder in folders_of(visible)
        }
        listed = {
            name: size for name, size in (visible | totals).items() if name.rstrip("/").count("/") < _LISTED_LEVELS
        }
        top = self.store.root.absolute(folder)
        lines = [f"{_size(sum(visible.values()))}\t{top}"]
        order = sorted(listed, key=lambda name: name.rstrip("/").split("/"))
        lines += [f"{_size(listed[name])}\t{top.rstrip('/')}/{name}" for name in order]
        header = f"Here're the files and directories up to 2 levels deep in {top}, excluding hidden items:\n"
        return header + "\n".join(lines)


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{what} is of type {type(value).__name__}, not text.")
    return value


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _occurrences(content: str, text: str) -> list[int]:
    """The offsets of a text, including overlapping occurrences; none for an empty text."""
    offsets, offset = list[int](), content.find(text) if text else -1
    while offset >= 0:
        offsets.append(offset)
        offset = content.find(text, offset + 1)
    return offsets


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
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _size(count: int) -> str:
    """A number of bytes as `du -h` prints it.

    >>> _size(0), _size(512), _size(1536), _size(2 * 1024 * 1024)
    ('0B', '512B', '1.5K', '2M')
    """
    units = "BKMG"
    power = min(max(0, count.bit_length() - 1) // 10, len(units) - 1)
    size = count / 1024**power
    return f"{int(size)}{units[power]}" if size == int(size) else f"{size:.1f}{units[power]}"

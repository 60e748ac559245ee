"""JSON and text files of an export: in a folder, in a zip file, or one by itself, perhaps compressed with gzip.

A file is read as a whole, up to a size, and nothing is ever unpacked to disk.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.text.text import truncate
from remanence.transfer.jsonlines import open_unpacked, starts_with

MAX_BYTES = 512 * 2**20
"""Bytes of a file, unpacked, at most: it is in memory as a whole."""
_VALUE = re.compile(r"[^ \t\r\n,]")  # what is not between two values

ZIP_MAGIC = b"PK"
UNREADABLE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)
"""What reading a damaged, encrypted or unusual compressed file raises."""


class DamagedFile(Exception):
    """A file cannot be read from some place on; the message says where and why."""


class Files:
    """The files of an export by their names, without links to other files. `line` is the first line of the object that
    was read last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = ExitStack()
        self._zip: zipfile.ZipFile | None = None
        self.line = 1
        if path.is_dir():
            found = (file for file in sorted(path.rglob("*")) if file.is_file() and not file.is_symlink())
            names = [file.relative_to(path).as_posix() for file in found]
        elif starts_with(path, ZIP_MAGIC):
            self._zip = self._open_zip()
            names = [info.filename for info in self._zip.infolist() if not info.is_dir()]
        else:
            names = [path.name]
        # macOS adds copies of its own.
        self.names = [name for name in names if not name.startswith("__MACOSX/") and "/._" not in f"/{name}"]

    def select(self, wanted: Callable[[str], object]) -> list[str]:
        """The names for which `wanted` is true; a single file is always one of them."""
        is_single = self._path.is_file() and self._zip is None
        return self.names if is_single else [name for name in self.names if wanted(name)]

    def objects(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a JSON file: those of its list, those of its lines, or the one that it is.

        Raises:
            DamagedFile: The file cannot be read, or not to its end.
        """
        for line, value in _values(self._bytes(name).decode("utf-8-sig", "replace")):
            self.line = line
            for found in value["conversations"] if _is_list_of_conversations(value) else [value]:
                if isinstance(found, dict):
                    yield found

    def text(self, name: str) -> str:
        """The whole text of a file.

        Raises:
            DamagedFile: It cannot be read, is too long, or is not UTF-8.
        """
        written = self._bytes(name)
        try:
            return written.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.line = written.count(b"\n", 0, error.start) + 1
            raise DamagedFile(f"line {self.line} is not UTF-8 text. Save the file as UTF-8") from error

    def close(self) -> None:
        self._opened.close()

    def _bytes(self, name: str) -> bytes:
        path = self._path / name if self._path.is_dir() else self._path
        try:
            with self._zip.open(name) if self._zip is not None else open_unpacked(path) as file:
                written = file.read(MAX_BYTES + 1)
        except UNREADABLE as error:
            raise DamagedFile(f"it cannot be read ({error})") from error
        if len(written) > MAX_BYTES:
            raise InvalidInput(
                f"{self._path}: {name} has more than {MAX_BYTES >> 20} MB, and would be in memory as a whole. Split it."
            )
        return written

    def _open_zip(self) -> zipfile.ZipFile:
        try:
            _check_directory(self._path)
            return self._opened.enter_context(zipfile.ZipFile(self._path))
        except UNREADABLE as error:
            raise InvalidInput(f"{self._path} is not a readable zip file: {error}. Download it again.") from error


def _check_directory(path: Path) -> None:
    """Refuse a zip file with more names than an export can have: all of them would be read into memory."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 2**16 - 22, 0))
        tail = file.read()
        end = tail.rfind(b"PK\x05\x06")
        claimed = int.from_bytes(tail[end + 12 : end + 16], "little") if end >= 0 else 0
        if claimed == 0xFFFFFFFF and tail[end - 20 : end - 16] == b"PK\x06\x07":  # the real number is elsewhere
            file.seek(min(int.from_bytes(tail[end - 12 : end - 4], "little"), size))
            claimed = int.from_bytes(file.read(48)[40:48], "little")
    if claimed > 64 * 2**20:  # room for half a million names
        raise InvalidInput(f"{path} lists more files than an export of chats has, and was not opened.")


def _is_list_of_conversations(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("conversations"), list)


def _values(text: str) -> Iterator[tuple[int, Any]]:
    """The values of a JSON list, or those that follow each other, one at a time; each with the line it begins in."""
    scan = json.JSONDecoder().raw_decode
    found = _VALUE.search(text)
    is_list = found is not None and found[0] == "["
    at, line, counted = found.end() if found is not None and is_list else 0, 1, 0
    while found := _VALUE.search(text, at):
        at = found.start()
        line, counted = line + text.count("\n", counted, at), at
        if is_list and text[at] == "]":
            return
        try:
            value, at = scan(text, at)
        except (ValueError, RecursionError) as error:
            wrong_at = error.pos if isinstance(error, json.JSONDecodeError) else at
            wrong_line = line + text.count("\n", at, wrong_at)
            near = truncate(text[at : at + 80], 60)
            raise DamagedFile(f"line {wrong_line} is not JSON near {near!r} ({error})") from error
        yield line, value
    if is_list:
        raise DamagedFile(f"it ends too early, in line {line + text.count(chr(10), counted)}")

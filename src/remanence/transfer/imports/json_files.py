"""JSON and text files of an export: in a folder, in a zip file, or one by itself, perhaps compressed with gzip.

They are read in pieces, so that memory use does not grow with the size of a file. A compressed file that becomes
implausibly large is refused, and nothing is ever unpacked to disk.
"""

from __future__ import annotations

import codecs
import json
import re
import zipfile
import zlib
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Any

from remanence.errors import InvalidInput
from remanence.text.text import truncate
from remanence.transfer.imports.records import Item, SkippedItem, Source
from remanence.transfer.jsonlines import open_unpacked, starts_with

MAX_OBJECT_BYTES = 256 * 2**20
"""Bytes of the longest conversation that is read; it is in memory as a whole."""
_CHUNK = 2**20
"""Bytes of a file that are read at a time."""
_BEGIN = 1_000
"""Bytes of a file that are looked at to find its format."""
_MAX_DIRECTORY_BYTES = 64 * 2**20
"""Bytes of the directory of a zip file, at most: room for half a million names."""
_MAX_RATIO, _FREE_BYTES = 200, 32 * 2**20
"""How many times a file may grow when it is unpacked, and the bytes beyond which that counts. Chats are compressed to a
tenth. What grows more than 200 times and beyond 32 MB is not an export."""
_TRUNCATED_WITHIN = 16
"""Characters before the end of a piece within which an error may only mean that the piece ends there."""
_VALUE = re.compile(r"[^ \t\r\n,]")  # what is not between two values

ZIP_MAGIC = b"PK"
UNREADABLE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)
"""What reading a damaged, encrypted or unusual compressed file raises."""


class DamagedFile(Exception):
    """A file cannot be read from some place on; the message says where and why."""


class JsonFiles:
    """The files of an export by their names. `done` counts the bytes that were read; `line` is the first line of the
    object that was read last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = ExitStack()
        self._sizes: dict[str, int] = {}
        self._zip: zipfile.ZipFile | None = None
        self.done = 0
        self.line = 1
        if path.is_dir():
            found = sorted(
                file_path for file_path in path.rglob("*") if file_path.is_file() and not file_path.is_symlink()
            )
            self._sizes = {file_path.relative_to(path).as_posix(): file_path.stat().st_size for file_path in found}
        elif starts_with(path, ZIP_MAGIC):
            self._open_zip()
        else:
            self._sizes = {path.name: path.stat().st_size}

    @property
    def names(self) -> list[str]:
        """All names, without the copies that macOS adds."""
        return [name for name in self._sizes if not name.startswith("__MACOSX/") and "/._" not in f"/{name}"]

    def select(self, wanted: Callable[[str], bool]) -> list[str]:
        """The names for which `wanted` is true; a single file is always one of them."""
        names = self.names
        return names if self._path.is_file() and self._zip is None else [name for name in names if wanted(name)]

    def size(self, names: list[str]) -> int:
        return sum(self._sizes[name] for name in names)

    def objects(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a JSON file: those of its list, those of its lines, or the one that it is.

        Raises:
            DamagedFile: The file cannot be read, or not to its end.
        """
        try:
            for line, value in _values(self._chunks(name)):
                self.line = line
                if isinstance(value, dict):
                    yield value
        except UNREADABLE as error:
            raise DamagedFile(f"it cannot be read ({error})") from error

    def text(self, name: str) -> str:
        """The whole text of a file.

        Raises:
            DamagedFile: It cannot be read, is too long, or is not UTF-8.
        """
        written = bytearray()
        try:
            for chunk in self._chunks(name):
                written += chunk
                if len(written) > MAX_OBJECT_BYTES:
                    raise DamagedFile(f"it is longer than {MAX_OBJECT_BYTES:,} bytes")
            return written.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.line = written.count(b"\n", 0, error.start) + 1
            raise DamagedFile(f"line {self.line} is not UTF-8 text. Save the file as UTF-8") from error
        except UNREADABLE as error:
            raise DamagedFile(f"it cannot be read ({error})") from error

    def begin(self, name: str) -> str:
        """The first characters of a file; "" if it cannot be read."""
        try:
            with closing(self._chunks(name)) as chunks:
                return next(chunks, b"")[:_BEGIN].decode("utf-8-sig", "replace")
        except UNREADABLE:
            return ""

    def close(self) -> None:
        self._files.close()

    def _chunks(self, name: str) -> Generator[bytes, None, None]:
        with self._open(name) as file:
            start = self.done
            while chunk := file.read(_CHUNK):
                self.done += len(chunk)
                self._check_ratio(name, self.done - start)
                yield chunk

    def _open(self, name: str) -> IO[bytes] | BufferedIOBase:
        if self._zip is not None:
            return self._zip.open(name)
        file = self._path / name if self._path.is_dir() else self._path
        return open_unpacked(file)

    def _check_ratio(self, name: str, read: int) -> None:
        packed = self._sizes[name] if self._zip is None else self._zip.getinfo(name).compress_size
        if read > _FREE_BYTES and read > _MAX_RATIO * max(packed, 1):
            raise InvalidInput(
                f"{self._path}: {name} grows from {packed:,} bytes to more than {read:,}, which no export of chats "
                "does. It was not read further. Unpack it yourself if you trust it, and import the folder."
            )

    def _open_zip(self) -> None:
        try:
            _check_directory(self._path)
            self._zip = self._files.enter_context(zipfile.ZipFile(self._path))
        except UNREADABLE as error:
            raise InvalidInput(f"{self._path} is not a readable zip file: {error}. Download it again.") from error
        self._sizes = {info.filename: info.file_size for info in self._zip.infolist() if not info.is_dir()}


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
    if claimed > _MAX_DIRECTORY_BYTES:
        raise InvalidInput(f"{path} lists more files than an export of chats has, and was not opened.")


class FilesSource(Source):
    """A source that is made of files. `done` and `total` are bytes of those that are read."""

    file_pattern: re.Pattern[str]
    """The names of the files that it reads, in a folder or a zip file."""
    other_files: str
    """Why the others are left out."""

    def __init__(self, files: JsonFiles, path: str) -> None:
        super().__init__(path, 0)
        self._files = files
        self._names = files.select(lambda name: self.file_pattern.search(name) is not None)

    def progress(self) -> tuple[int, int]:
        total = self._files.size(self._names)
        return min(self._files.done, total), total

    def read(self) -> Iterator[Item]:
        self._files.done = 0
        for name in self._names:
            yield from self.read_file(name)
        for name in self._files.names:
            if name not in self._names:
                yield SkippedItem(name, self.other_files)

    def close(self) -> None:
        self._files.close()

    @abstractmethod
    def read_file(self, name: str) -> Iterator[Item]:
        """Yield what one file has."""


def _values(chunks: Iterator[bytes]) -> Iterator[tuple[int, Any]]:
    """The values of a JSON list, or those that follow each other; each with the line where it begins."""
    decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
    scan = json.JSONDecoder().raw_decode
    buffer, at, ended, in_list, any_value = "", 0, False, False, False
    line, counted = 1, 0  # `line` is that of the character `counted`

    def count_lines() -> int:
        nonlocal line, counted
        line, counted = line + buffer.count("\n", counted, at), at
        return line

    def more() -> bool:
        """Read at least as much again as is waiting, so that a long object is not parsed too often."""
        nonlocal buffer, at, ended, counted
        count_lines()
        waiting = len(buffer) - at
        if waiting > MAX_OBJECT_BYTES:
            raise DamagedFile(f"the object in line {line} is longer than {MAX_OBJECT_BYTES:,} characters")
        parts = [buffer[at:]]
        while not ended and sum(map(len, parts[1:])) < max(waiting, 1):
            chunk = next(chunks, None)
            ended = chunk is None
            parts.append(decode(chunk or b"", ended))
        buffer, at, counted = "".join(parts), 0, 0
        return len(buffer) > waiting

    while True:
        found = _VALUE.search(buffer, at)
        at = found.start() if found else len(buffer)
        if not in_list and not any_value and buffer.startswith("[", at):
            in_list, at = True, at + 1
            continue
        if at == len(buffer):
            if not more():
                if in_list:
                    raise DamagedFile(f"it ends too early, in line {line}")
                return
            continue
        if buffer[at] == "]" and in_list:
            return
        begin = count_lines()
        try:
            value, at = scan(buffer, at)
        except (ValueError, RecursionError) as error:
            wrong_at = error.pos if isinstance(error, json.JSONDecodeError) else at
            wrong_line = begin + buffer.count("\n", at, wrong_at)
            if _may_be_truncated(error, len(buffer)) and more():
                continue
            near = truncate(buffer[at : at + 80], 60)
            raise DamagedFile(f"line {wrong_line} is not JSON near {near!r} ({error})") from error
        any_value = True
        conversations = value.get("conversations") if isinstance(value, dict) and not in_list else None
        for item in conversations if isinstance(conversations, list) else [value]:
            yield begin, item


def _may_be_truncated(error: Exception, length: int) -> bool:
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or error.pos >= length - _TRUNCATED_WITHIN

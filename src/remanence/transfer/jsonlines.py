"""Files of JSON lines that show whether they are complete.

Each line has a checksum, so that a damaged line can be named. The last line has the number and the digest of
the lines before it, so that a truncated file is noticed. A file is written without a name and gets its name when it is
complete, so that a process that is killed leaves nothing behind; where the system has no files without a name, it is
written under another name. It is compressed with gzip if its name ends in .gz, and only its owner may read it.

A file may come from anywhere: lines beyond a length are refused, and so is a compressed file that expands as no export
does. Memory is bounded by the longest line, whatever the file.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.index_file import open_private
from remanence.operating_system import give_name, open_unnamed

_CRC = b',"crc":'
NOT_AN_EXPORT = "this is not the export of a space (space.admin.import_from reads files of other programs)"
GZIP_MAGIC = b"\x1f\x8b"
_MAX_LINE = 32 << 20
"""Bytes of a line of an export, at most. The longest text, with its metadata, takes half of it."""
_MAX_EXPANSION, _EXPANSION_CHECKED_FROM = 40, 16 << 20
"""How many times a compressed file may grow when it is unpacked, and the bytes from which on that is checked. Each line
has hashes of its own, so that a real export shrinks to a twentieth at most. The longest text shrinks to a
hundred-and-fortieth if it is one letter only."""


class JsonLinesWriter:
    """Writes a file line by line. Leaving the context before `finish` leaves no file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digest = hashlib.sha256()
        self._line_count = 0
        self._files = ExitStack()

    def __enter__(self) -> JsonLinesWriter:
        with named_errors(self._path):
            self._file_path = file_to_write(self._path)
            self._partial = self._file_path.with_name(f"{self._file_path.name}.part")
            self._unnamed = open_unnamed(self._file_path.parent)
            self._file = self._files.enter_context(self._unnamed or open_private(self._partial))
            self._stream: BufferedIOBase = self._file
            if self._path.suffix == ".gz":
                # No name and no time inside, so that the same lines make the same file.
                packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=self._file, mtime=0)
                self._stream = self._files.enter_context(closing(packed))
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # an unfinished file is deleted anyhow
            self._files.close()
        self._partial.unlink(missing_ok=True)

    def write(self, line: str) -> None:
        """Add a JSON object, given as text."""
        body = line.encode()[:-1]
        raw = b"%s%s%d}\n" % (body, _CRC, zlib.crc32(body))
        self._digest.update(raw)
        self._line_count += 1
        with named_errors(self._path):
            self._stream.write(raw)

    def finish(self) -> str:
        """Write the last line and rename the file. Returns the digest of the lines."""
        digest = self._digest.hexdigest()
        self.write(json.dumps({"end": {"lines": self._line_count, "sha256": digest}}, separators=(",", ":")))
        with named_errors(self._path):
            if self._stream is not self._file:
                self._stream.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            if self._unnamed is not None:
                self._partial.unlink(missing_ok=True)
                give_name(self._unnamed, self._partial)
            self._partial.replace(self._file_path)
        return digest


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Name the file that cannot be written."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror or error}. "
            "Nothing was left there; name another file, or free disk space."
        ) from error


def file_to_write(path: Path) -> Path:
    """The file that a path names. What is written replaces it, which must not happen to a device.

    Raises:
        OSError: It is a folder, or a device or pipe such as /dev/stdout.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is a device or a pipe; name a file")
    return path


class JsonLinesReader:
    """Reads such a file line by line. A damaged or incomplete file is refused, with the number of the line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line_number = 0
        """The line that was read last; the first is 1."""
        self.line_size = 0
        """Its length in bytes."""
        self.digest = ""
        """The digest of all lines, once the last one was read."""

    def __enter__(self) -> JsonLinesReader:
        try:
            self._raw = self.path.open("rb")
            self._is_packed = starts_with(self.path, GZIP_MAGIC)
            self._file: BufferedIOBase = gzip.GzipFile(fileobj=self._raw) if self._is_packed else self._raw
            self._size = 0
        except OSError as error:
            raise InvalidInput(f"{self.path} cannot be read: {error.strerror or error}.") from error
        self._objects = self._read_objects()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._objects

    def damaged_file_error(self, problem: str) -> InvalidInput:
        """The error to raise about the line that was read last."""
        return InvalidInput(
            f"{self.path}, line {self.line_number}: {problem}. Nothing was imported. "
            "Export it again, or use another copy."
        )

    def _read_objects(self) -> Iterator[dict[str, Any]]:
        digest = hashlib.sha256()
        for raw in self._read_lines():
            fields = self._parse(raw)
            if "end" not in fields:
                digest.update(raw)
                yield fields
                continue
            if fields["end"] != {"lines": self.line_number - 1, "sha256": digest.hexdigest()}:
                raise self.damaged_file_error("lines before it are missing, or were changed")
            if next(self._read_lines(), None) is not None:
                raise self.damaged_file_error("it follows the last line")
            self.digest = digest.hexdigest()
            return
        self.line_number += 1
        raise self.damaged_file_error("the file is truncated, and this line is missing")

    def _read_lines(self) -> Iterator[bytes]:
        try:
            while raw := self._file.readline(_MAX_LINE):
                self.line_number += 1
                self.line_size = len(raw)
                self._check_size(raw)
                yield raw
        except (OSError, EOFError, zlib.error) as error:
            self.line_number += 1
            raise self.damaged_file_error(f"it cannot be read ({error})") from error

    def _check_size(self, raw: bytes) -> None:
        if len(raw) == _MAX_LINE and not raw.endswith(b"\n"):
            raise self.damaged_file_error(f"it is longer than {_MAX_LINE >> 20} MB")
        self._size += len(raw)
        if self._is_packed and self._size > max(_EXPANSION_CHECKED_FROM, _MAX_EXPANSION * self._raw.tell()):
            raise self.damaged_file_error(
                f"it expands to {self._size >> 20} MB and more, {_MAX_EXPANSION} times what is packed, as no export "
                "does (a file that you trust can be unpacked with gunzip first)"
            )

    def _parse(self, raw: bytes) -> dict[str, Any]:
        body, _, checksum = raw.rpartition(_CRC)
        if self.line_number == 1 and not body:
            raise self.damaged_file_error(NOT_AN_EXPORT)
        if checksum != b"%d}\n" % zlib.crc32(body):
            raise self.damaged_file_error("it was truncated or changed")
        try:
            fields = json.loads(body + b"}", parse_constant=_reject_constant)
            if b"\\ud" in body.lower():  # it may contain a lone surrogate, which no ledger can store
                json.dumps(fields, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise self.damaged_file_error(f"it is not JSON ({error})") from error
        if not isinstance(fields, dict):
            raise self.damaged_file_error("it is not a JSON object")
        return fields


def open_unpacked(path: Path) -> BufferedIOBase:
    """A file, unpacked while it is read if it is compressed with gzip."""
    return gzip.open(path) if starts_with(path, GZIP_MAGIC) else path.open("rb")


def starts_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")

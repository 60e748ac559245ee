"""A file of JSON lines that knows whether it is whole.

Each line carries a checksum of itself, so that a damaged one can be named; the last one carries the number
and the digest of those before it, so that a cut file is noticed. Written beside its place and moved there
when it is done: whoever reads meets the old file or the new one. Packed with gzip if its name ends in .gz.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput

_CRC = b',"crc":'
_GZIP = b"\x1f\x8b"


class JsonLinesWriter:
    """Writes a file line by line. It is there once `finish` was called; leave without, and it never was."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = path.with_name(f"{path.name}.{os.getpid()}.part")
        self._digest = hashlib.sha256()
        self._lines = 0
        self._files = ExitStack()

    def __enter__(self) -> JsonLinesWriter:
        try:
            if self._path.is_dir():
                raise IsADirectoryError(21, "it is a folder; name a file in it")
            self._file = self._files.enter_context(self._partial.open("wb"))
            self._packed: BufferedIOBase = self._file
            if self._path.suffix == ".gz":
                # No name and no time inside: the same lines make the same file.
                packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=self._file, mtime=0)
                self._packed = self._files.enter_context(closing(packed))
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what could not be written is thrown away anyhow
            self._files.close()
        self._partial.unlink(missing_ok=True)

    def write(self, line: str) -> None:
        """Add a JSON object, given as text."""
        body = line.encode()[:-1]
        raw = b"%s%s%d}\n" % (body, _CRC, zlib.crc32(body))
        self._digest.update(raw)
        self._lines += 1
        try:
            self._packed.write(raw)
        except OSError as error:
            raise self._unwritable(error) from error

    def finish(self) -> str:
        """Write the last line and put the file in its place; the digest of all of it."""
        digest = self._digest.hexdigest()
        self.write(json.dumps({"end": {"lines": self._lines, "sha256": digest}}, separators=(",", ":")))
        try:
            if self._packed is not self._file:
                self._packed.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._partial.replace(self._path)
        except OSError as error:
            raise self._unwritable(error) from error
        return digest

    def _unwritable(self, error: OSError) -> InvalidInput:
        return InvalidInput(
            f"{self._path} cannot be written: {error.strerror or error}. "
            "Nothing was left there; name another file, or make room."
        )


class JsonLinesReader:
    """Reads such a file line by line, and refuses one that is not whole, with the number of the line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = ExitStack()
        self.line_number = 0
        """The line that was read last; the first is 1."""
        self.digest = ""
        """What stands for all lines, once the last was read."""

    def __enter__(self) -> JsonLinesReader:
        try:
            file = self._files.enter_context(self._path.open("rb"))
            self._file: BufferedIOBase = file
            if file.peek(2)[:2] == _GZIP:
                self._file = self._files.enter_context(closing(gzip.GzipFile(fileobj=file)))
        except OSError as error:
            raise InvalidInput(f"{self._path} cannot be read: {error.strerror or error}.") from error
        self._lines = self._whole()
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._lines

    def damaged_file_error(self, what: str) -> InvalidInput:
        """What to raise about the line that was read last."""
        return InvalidInput(
            f"{self._path}, line {self.line_number}: {what}. Nothing was imported. "
            "Export it again, or use another copy."
        )

    def _whole(self) -> Iterator[dict[str, Any]]:
        digest = hashlib.sha256()
        for raw in self._raw():
            fields = self._parsed(raw)
            end = fields.get("end")
            if end is None:
                digest.update(raw)
                yield fields
                continue
            if end != {"lines": self.line_number - 1, "sha256": digest.hexdigest()}:
                raise self.damaged_file_error("lines before it are missing, or were changed")
            if next(self._raw(), None) is not None:
                raise self.damaged_file_error("something follows what should be the end")
            self.digest = digest.hexdigest()
            return
        self.line_number += 1
        raise self.damaged_file_error("the file was cut short, and this line is missing")

    def _raw(self) -> Iterator[bytes]:
        try:
            while raw := self._file.readline():
                self.line_number += 1
                yield raw
        except (OSError, EOFError, zlib.error) as error:
            self.line_number += 1
            raise self.damaged_file_error(f"it cannot be read ({error})") from error

    def _parsed(self, raw: bytes) -> dict[str, Any]:
        body, _, check = raw.rpartition(_CRC)
        if self.line_number == 1 and not body:
            raise self.damaged_file_error("this is not the export of a space")
        if check != b"%d}\n" % zlib.crc32(body):
            raise self.damaged_file_error("it was cut short or changed")
        try:
            fields = json.loads(body + b"}", parse_constant=_refuse)
            if b"\\ud" in body.lower():  # where half a letter may hide, which no ledger keeps
                json.dumps(fields, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise self.damaged_file_error(f"it is not JSON ({error})") from error
        if not isinstance(fields, dict):
            raise self.damaged_file_error("it is not a JSON object")
        return fields


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")

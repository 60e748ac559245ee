"""The file that the index of a space is loaded from. It contains plain arrays only: no pickle is ever read.

A file is a signature, a checksum of all that follows, the length of a table, the table as JSON (the names, types,
places and shapes of the arrays) and the arrays one after another. An index has about a hundred arrays, most of them
small: read from one buffer, they cost a tenth of what numpy's own archives do.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
import threading
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BufferedWriter, BytesIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput
from remanence.index.arrays.codecs import pack, unpack
from remanence.index.arrays.columns import MAX_UNRESERVED_VALUES
from remanence.operating_system import user_cache_folder

if TYPE_CHECKING:
    from remanence.ledger.encryption import Cipher

log = logging.getLogger(__name__)

Arrays = dict[str, NDArray[Any]]

_SIGNATURE = b"RMNX2\0\0\0"
_ENCRYPTED = b"RMNE1\0\0\0"
"""The first bytes of an encrypted file: the rest is a file in pieces, each with its nonce and tag."""
_PREFIX = struct.Struct("<8sIIxxxxxxxxxxxxxxxx")  # signature, checksum, length of the table
_ALIGN = 16
"""Bytes to a multiple of which each array of the file is aligned."""
_DTYPES = frozenset("biuf")  # booleans and numbers
_UNREADABLE = (
    *(OSError, EOFError, struct.error),  # truncated or overwritten
    *(ValueError, TypeError, AttributeError, LookupError),  # an index file, but not of this release
)


class _OtherRelease(Exception):
    """An index file has the form of another release."""


class IndexPart(Protocol):
    """A part of an index that is saved as arrays."""

    def save(self) -> Mapping[str, NDArray[Any]]: ...
    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None: ...


@runtime_checkable
class StablePart(IndexPart, Protocol):
    """A part whose saved arrays are replaced or appended to, but never changed in place, if `saves_stable_arrays`. Then
    they are not copied before saving."""

    saves_stable_arrays: bool


class IndexFile:
    """One file for all parts of an index, and a header that says what they were made of."""

    def __init__(self, path: Path, cipher: Cipher | None = None) -> None:
        self._path, self._cipher = path, cipher
        self._lock = threading.Lock()  # held while the file is replaced or removed
        self._removals = 0
        self._writer: threading.Thread | None = None

    def beside(self, suffix: str) -> IndexFile:
        """Another file for the same space, which `remove` of this one deletes too."""
        return IndexFile(self._path.with_suffix(suffix), self._cipher)

    def write(self, header: Mapping[str, Any], parts: Mapping[str, IndexPart]) -> None:
        """Write all parts, or none. If that fails, the next opening reads the ledger instead."""
        self.wait()
        self._write(_collect(header, parts, copy=False), self._removals)

    def write_in_background(
        self, header: Mapping[str, Any], parts: Mapping[str, IndexPart], first: Callable[[], None] | None = None
    ) -> bool:
        """Write all parts as they are now, while the caller goes on; before that, do what is given as `first`. False if
        an earlier state is being written."""
        if self._writer is not None and self._writer.is_alive():
            return False
        arrays, removals = _collect(header, parts, copy=True), self._removals

        def write() -> None:
            if first is not None:
                first()
            self._write(arrays, removals)

        self._writer = threading.Thread(target=write, name="remanence-index-file", daemon=True)
        self._writer.start()
        return True

    def wait(self) -> None:
        """Wait until nothing is being written."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.join()

    def _write(self, arrays: Arrays, removals: int) -> None:
        partial = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open_private(partial) as file:
                if self._cipher is None:
                    _encode(arrays, file)
                else:
                    plain = BytesIO()
                    _encode(arrays, plain)
                    file.write(_ENCRYPTED)
                    file.writelines(self._cipher.seal_pieces(plain.getbuffer(), self._about))
            with self._lock:
                if removals == self._removals:
                    partial.replace(self._path)
                else:  # something was erased meanwhile
                    partial.unlink(missing_ok=True)
        except OSError as error:
            log.warning("the index file %s was not written: %s", self._path, error)
            with suppress(OSError):
                partial.unlink()

    def read(self) -> tuple[dict[str, Any], Arrays] | None:
        """The header and the arrays; None if there is no file, or it is damaged."""
        try:
            content = _read(self._path)
            if self._cipher is not None:
                if content[: len(_ENCRYPTED)] != _ENCRYPTED:
                    raise ValueError("it is not encrypted")
                content = self._cipher.unseal_pieces(memoryview(content)[len(_ENCRYPTED) :], self._about)
            arrays = _decode(content)
            return unpack(arrays["header"]), arrays
        except FileNotFoundError:
            return None
        except _OtherRelease:
            log.info("the index file %s is of another release; it is rebuilt", self._path)
            return None
        except _UNREADABLE as error:
            self.report_unreadable(error)
            return None

    def version(self) -> int:
        """A number that is another one when the file was written anew; 0 if there is none."""
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0

    @property
    def _about(self) -> str:
        return f"index,{self._path.stem}"

    def load(self, arrays: Arrays, parts: Mapping[str, IndexPart]) -> bool:
        """Give each part its arrays; False if one cannot use them, and parts may then be incomplete."""
        by_part: dict[str, Arrays] = {name: {} for name in parts}
        for name, array in arrays.items():
            part, _, key = name.partition(".")
            if part in by_part:
                by_part[part][key] = array
        try:
            for name, loaded in parts.items():
                loaded.load(by_part[name])
        except _UNREADABLE as error:
            self.report_unreadable(error)
            return False
        return True

    def report_unreadable(self, error: Exception) -> None:
        log.warning("the index file %s cannot be read (%s); it is rebuilt", self._path, error)

    def remove(self) -> None:
        """Delete the file and the incomplete ones of killed writers, which may contain text erased since."""
        with self._lock:
            self._removals += 1
            for stale in self._path.parent.glob(f"{self._path.stem}.*"):
                stale.unlink(missing_ok=True)


def open_private(path: Path) -> BufferedWriter:
    """Open a file to write it, which only its owner may read."""
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))


def _read(path: Path) -> bytearray:
    """The content of a file. Not bytes: arrays in it can be written to."""
    with open(path, "rb", buffering=0) as file:
        content = bytearray(os.fstat(file.fileno()).st_size)
        rest = memoryview(content)
        while rest and (count := file.readinto(rest)):
            rest = rest[count:]
    return content


def index_path(folder: Path, space: str) -> Path:
    """The index file of a space, whatever the space is called, in one of 256 folders."""
    name = space_hash(space)
    return folder / "index" / name[:2] / f"{name}.idx"


def space_hash(space: str) -> str:
    """The hash of a space name, for file names."""
    return hashlib.sha256(space.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _collect(header: Mapping[str, Any], parts: Mapping[str, IndexPart], *, copy: bool) -> Arrays:
    """The arrays of all parts; with `copy`, they do not change when the parts do."""
    arrays: Arrays = {"header": pack(header)}
    for name, part in parts.items():
        changes = copy and not (isinstance(part, StablePart) and part.saves_stable_arrays)
        for key, value in part.save().items():
            array = np.array(value) if changes else np.asarray(value)
            if array.dtype.kind not in _DTYPES:
                raise TypeError(f"{name}.{key} is an array of {array.dtype}, which an index file cannot contain")
            arrays[f"{name}.{key}"] = array
    return arrays


def _encode(arrays: Arrays, file: BinaryIO) -> None:
    """Write the arrays to a file, one after another: a large index is not copied into one piece."""
    # Name by name and type by type in one text each: that is read in a third of the time of a list for each array.
    places = [0, *accumulate(array.nbytes + -array.nbytes % _ALIGN for array in arrays.values())]
    shapes = [array.size if array.ndim == 1 else array.shape for array in arrays.values()]
    types = " ".join(array.dtype.str for array in arrays.values())
    table = "\n".join(arrays), types, places[:-1], shapes
    directory = json.dumps(table, separators=(",", ":")).encode()
    directory += b" " * (-len(directory) % _ALIGN)
    checksum = zlib.crc32(directory)
    file.write(bytes(_PREFIX.size))
    file.write(directory)
    for array in arrays.values():
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        padding = bytes(-len(data) % _ALIGN)
        checksum = zlib.crc32(padding, zlib.crc32(data, checksum))
        file.write(data)
        file.write(padding)
    file.seek(0)
    file.write(_PREFIX.pack(_SIGNATURE, checksum, len(directory)))


def _decode(content: bytearray) -> Arrays:
    signature, checksum, length = _PREFIX.unpack_from(content)
    if signature != _SIGNATURE:
        raise _OtherRelease if signature[:4] == _SIGNATURE[:4] else ValueError("it is not an index file")
    if zlib.crc32(memoryview(content)[_PREFIX.size :]) != checksum:
        raise ValueError("its checksum does not match")
    first = _PREFIX.size + length
    names, types, places, shapes = json.loads(content[_PREFIX.size : first])
    arrays: Arrays = {
        name: np.ndarray(shape, np.dtype(kind), content, first + place)
        for name, kind, place, shape in zip(names.split("\n"), types.split(), places, shapes, strict=True)
    }
    if len(content) <= 1 << 20:  # views of small arrays may keep all of a file in memory
        return arrays
    # Copy small arrays, which are used without a copy: a view of the buffer would keep the whole file in memory.
    return {name: array.copy() if len(array) <= MAX_UNRESERVED_VALUES else array for name, array in arrays.items()}


def cache_folder(chosen: str | Path | None, ledger_id: str) -> Path | None:
    """The cache folder of a ledger: below `chosen`, or below the cache folder of the platform. None if the latter is
    not writable; indexes are then built at each opening."""
    folder = (user_cache_folder() if chosen is None else Path(chosen).expanduser().absolute()) / ledger_id
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "it is read-only")
    except OSError as error:
        reason = error.strerror or error
        if chosen is not None:
            raise InvalidInput(f"cache={str(chosen)!r} cannot be written: {reason}. Name another folder.") from error
        log.warning("%s cannot be written (%s); indexes are kept in memory only", folder, reason)
        return None
    return folder

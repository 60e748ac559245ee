"""A file next to the ledger with the position and digest of the last commit.

SQLite ignores its write-ahead log after the first damaged page, without an error. The record is written after each
commit, outside that log, so that a ledger that ends before it is detected. It is not synchronised with the disk: after
a power failure it may be behind, which says nothing, and the ledger may be behind, which is what it is for.
"""

from __future__ import annotations

import logging
import os
import zlib
from pathlib import Path

from remanence.ledger.chain import ChainHead

log = logging.getLogger(__name__)

NAME = "ledger.head"
_SIZE = 128


class HeadRecord:
    """The record in the file `ledger.head` of a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._file: int | None = None

    def read(self) -> ChainHead | None:
        """The last entry that was committed; None if there is no record, or it is damaged."""
        try:
            return _decode(self.path.read_bytes())
        except OSError:
            return None

    def write(self, head: ChainHead) -> None:
        """Record a head that was just committed, unless another process has recorded a later one. An error is logged:
        the entries are committed."""
        try:
            if self._file is None:
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
            os.lseek(self._file, 0, os.SEEK_SET)
            known = _decode(os.read(self._file, _SIZE))
            if known is None or known.position < head.position:
                os.lseek(self._file, 0, os.SEEK_SET)
                os.write(self._file, _encode(head))
        except OSError as error:
            log.warning("%s was not written: %s", self.path, error)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _encode(head: ChainHead) -> bytes:
    text = f"{head.position} {head.digest.hex()}"
    return f"{text} {zlib.crc32(text.encode()):08x}".ljust(_SIZE - 1).encode() + b"\n"


def _decode(content: bytes) -> ChainHead | None:
    text, _, checksum = content[:_SIZE].strip().rpartition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        position, digest = text.split(b" ")
        return ChainHead(int(position), bytes.fromhex(digest.decode()))
    except ValueError:
        return None

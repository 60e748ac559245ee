"""Digests of versions: which memory a new text is a version of, and whether it says anything new."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.state.arrays.columns import GROWING, Column, SavedPart

_DIGEST_SIZE = 12
_NO_DIGEST = bytes(_DIGEST_SIZE)
_HEXADECIMAL = frozenset("0123456789abcdef")


class VersionDigests(SavedPart):
    """The digest of the identity and of the content of each row."""

    _saved: ClassVar = dict.fromkeys(("_identities", "_contents"), GROWING)

    def __init__(self) -> None:
        self._identities, self._contents = Column(np.uint8, width=_DIGEST_SIZE), Column(np.uint8, width=_DIGEST_SIZE)
        self._memory_of: dict[bytes, int] = {}  # by digest of the identity
        self._unread_memories: NDArray[np.int64] | None = None  # of the loaded rows, until one is looked up

    def load_memories(self, memories: NDArray[np.int64]) -> None:
        """Find memories by the loaded digests. `memories` has the memory of each row."""
        self._unread_memories = memories  # only writers need them

    def apply(self, memories: Sequence[int], versions: Sequence[Remembered | None]) -> None:
        """Add a row for each version, with the number of its memory."""
        identities = [
            _NO_DIGEST if remembered is None else _digest_bytes(remembered.identity) for remembered in versions
        ]
        by_identity = self._by_identity()
        contents = [_NO_DIGEST if remembered is None else _digest_bytes(remembered.content) for remembered in versions]
        self._identities.extend(_as_rows(identities))
        self._contents.extend(_as_rows(contents))
        by_identity.update(zip(identities, memories, strict=True))
        by_identity.pop(_NO_DIGEST, None)

    def memory_with_identity(self, identity: str) -> int | None:
        """The number of the memory whose latest version has this identity, also of an erased one."""
        return self._by_identity().get(_digest_bytes(identity))

    def has_content(self, row: int, content: str) -> bool:
        return bool(self._contents.values[row].tobytes() == _digest_bytes(content))

    def _by_identity(self) -> dict[bytes, int]:
        memories, self._unread_memories = self._unread_memories, None
        if memories is not None:
            raw = self._identities.values[: len(memories)].tobytes()
            digests = [raw[begin : begin + _DIGEST_SIZE] for begin in range(0, len(raw), _DIGEST_SIZE)]
            self._memory_of = dict(zip(digests, memories.tolist(), strict=True))
            self._memory_of.pop(_NO_DIGEST, None)
        return self._memory_of


def _digest_bytes(digest: str) -> bytes:
    """The bytes that a digest spells; for one that this library did not make, a digest of it."""
    if len(digest) == 2 * _DIGEST_SIZE and _HEXADECIMAL.issuperset(digest):
        return bytes.fromhex(digest)
    return blake2b(digest.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_SIZE).digest()


def _as_rows(digests: Sequence[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, _DIGEST_SIZE)

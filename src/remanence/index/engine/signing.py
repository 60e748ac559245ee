"""Ed25519 signatures of ledger entries by their writer. They need the package `cryptography` (extra `sign`).

A signature covers the event of an entry, every field of it, in the form that an export and import does not change:
other entries are named by their number in the space. It is part of the entry: it is exported and erased with it.
Entries without a signature are valid too.
"""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput, LedgerTampered, MissingExtra
from remanence.events import Event, Remembered
from remanence.ledger.codec import encode, event_kind, to_portable

if TYPE_CHECKING:
    from remanence.ports import Ledger

_SCHEME = "ed25519"
_MEMORY_PREFIX, _PREFIX = "remanence memory 1\n", "remanence entry 1\n"

NumberOf = Callable[[int], int]
"""How many entries a space has up to a position."""


class Signer:
    """Signs events with one private key."""

    def __init__(self, key: object) -> None:
        self._key = _private_key(key)
        self.public_key: bytes = self._key.public_key().public_bytes_raw()
        self._public_text = b64encode(self.public_key).decode()

    def sign(self, event: Event, number_of: NumberOf) -> Event:
        """The event with its signature."""
        signature = self._key.sign(_message(event, number_of))
        return replace(event, signature=f"{_SCHEME}:{self._public_text}:{b64encode(signature).decode()}")


class LedgerSignatures:
    """The signatures in a ledger: those that this writer makes, and those that are checked.

    Args:
        signer: Signs what is written; None for no signatures.
        names: The names of known writers by their public keys.
    """

    def __init__(
        self, ledger: Ledger, signer: Signer | None = None, names: Mapping[bytes, str] = MappingProxyType({})
    ) -> None:
        self._ledger, self._signer, self._names = ledger, signer, dict(names)
        if signer is not None:
            self._names.setdefault(signer.public_key, "this writer")

    def sign(self, space: str, events: Sequence[Event]) -> Sequence[Event]:
        """The events, each with the signature of this writer if there is a key."""
        if self._signer is None:
            return events
        number_of = cache(lambda position: self._ledger.count(space, up_to=position))
        return [self._signer.sign(event, number_of) for event in events]

    def check(self, space: str) -> dict[str, int]:
        """How many entries of a space each writer has signed; LedgerTampered if a signature is not valid."""
        counts: dict[str, int] = {}
        positions = array("q")
        for entry in self._ledger.read(space):
            positions.append(entry.position)
            if entry.event is None or entry.event.signature is None:
                continue
            key = verify_signature(entry.event, lambda position: bisect_right(positions, position))
            if key is None:
                raise LedgerTampered(
                    f"entry {entry.position} about {entry.subject!r} has an invalid signature: its content was changed "
                    "after signing, or it was signed with another key.",
                    position=entry.position,
                )
            name = self._names.get(key, key.hex())
            counts[name] = counts.get(name, 0) + 1
        return counts


def verify_signature(event: Event, number_of: NumberOf) -> bytes | None:
    """The public key that an event is signed with; None if the signature is not valid.

    Raises:
        MissingExtra: `cryptography` is not installed.
    """
    ed25519 = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        scheme, public, signature = (event.signature or "").split(":")
        key, signed = b64decode(public, validate=True), b64decode(signature, validate=True)
        if scheme != _SCHEME:
            return None
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signed, _message(event, number_of))
    except (ValueError, InvalidSignature):
        return None
    return key


def parse_public_keys(value: object) -> dict[bytes, str]:
    """The names of known writers by their public keys."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput("signers is not a dict of names and public keys: {'alice': key}.")
    return {_public_bytes(key, name): str(name) for name, key in value.items()}


def _message(event: Event, number_of: NumberOf) -> bytes:
    unsigned = replace(event, signature=None)
    if isinstance(unsigned, Remembered):
        return f"{_MEMORY_PREFIX}{encode(unsigned)}".encode()
    return f"{_PREFIX}{event_kind(unsigned)}\n{encode(to_portable(unsigned, number_of))}".encode()


def _private_key(key: object) -> Any:
    """The Ed25519 key. It has no static type, as the package may be missing."""
    ed25519 = _ed25519()
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key
    if isinstance(key, bytes) and len(key) == 32:
        return ed25519.Ed25519PrivateKey.from_private_bytes(key)
    loaded = _load_pem(key) if isinstance(key, str | bytes) else None
    if isinstance(loaded, ed25519.Ed25519PrivateKey):
        return loaded
    # Without the value and without the cause: either may contain a part of a key.
    raise InvalidInput("signing_key is not an Ed25519 key. Give an Ed25519PrivateKey, its 32 bytes, or a PEM text.")


def _load_pem(key: str | bytes) -> object:
    """The private key in a PEM text without a password; None if there is none."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(key.encode() if isinstance(key, str) else key, None)
    except (TypeError, ValueError):
        return None


def _public_bytes(key: object, name: object) -> bytes:
    ed25519 = _ed25519()
    if isinstance(key, ed25519.Ed25519PublicKey):
        return bytes(key.public_bytes_raw())
    if isinstance(key, bytes) and len(key) == 32:
        return key
    raise InvalidInput(f"the key of signer {name!r} is neither an Ed25519PublicKey nor its 32 bytes.")


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise MissingExtra(
            'signatures need the package `cryptography`: pip install "remanence-memory[sign]".'
        ) from error
    return ed25519

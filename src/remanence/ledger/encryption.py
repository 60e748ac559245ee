"""Encryption of a folder at rest: the key of the caller, the data key that it wraps, and what is encrypted with that.

The data key is random, and in the ledger only as encrypted with the key of the caller. A new key therefore encrypts 32
bytes again, and not the folder. Everything is AES-256-GCM with a random nonce of 96 bits, bound to its purpose and its
place, so that nothing can be moved to another place. It needs the package `cryptography` (extra `encryption`).
"""

from __future__ import annotations

import json
import os
from base64 import b64encode, urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from remanence.errors import EncryptionKeyError, InvalidInput, LedgerCorrupt, MissingExtra
from remanence.ledger.chain import SALT_SIZE, StoredEntry

KEY_VARIABLE, KEYRING_VARIABLE = "REMANENCE_KEY", "REMANENCE_KEYRING"
_SERVICE = "remanence"
_KEY_SIZE, _NONCE_SIZE, _TAG_SIZE = 32, 12, 16
_PIECE = 1 << 26
"""Bytes of a file that are encrypted at a time: a call takes less than 2 GiB."""
_CONTENT_SIZE, _DIGEST_SIZE = 32, 16


@dataclass(frozen=True, slots=True)
class Encryption:
    """Where the key of an encrypted folder comes from, for `remanence.Policy(encryption=...)`.

    Attributes:
        key: 32 bytes, or the text that `new_key` makes of them; or a function that returns one of these, which is
            called when the folder is opened.
        keyring: The name of a key in the keyring of the system, below the service "remanence" (package `keyring`).

    Without either, the environment variable REMANENCE_KEY has the key, or REMANENCE_KEYRING its name in the keyring. A
    folder that is encrypted needs no more than one of these: every command and server opens it.

    Raises:
        InvalidInput: Both are given.

    Example:
        >>> import remanence, tempfile
        >>> key = remanence.Encryption.new_key()
        >>> policy = remanence.Policy(encryption=remanence.Encryption(key))
        >>> with remanence.open(tempfile.mkdtemp(), policy=policy) as space:
        ...     space.add("Porto has six bridges.").text
        'Porto has six bridges.'
    """

    key: str | bytes | Callable[[], str | bytes] | None = field(default=None, repr=False)
    keyring: str | None = None

    def __post_init__(self) -> None:
        if self.key is not None and self.keyring is not None:
            raise InvalidInput("key= and keyring= both give a key. Give one of them.")

    @staticmethod
    def new_key() -> str:
        """Make a random key.

        Returns:
            32 bytes as text of 44 characters. Keep it where the folder is not: without it nothing can be read.
        """
        return b64encode(os.urandom(_KEY_SIZE)).decode()


def read_key(encryption: Encryption, place: str) -> bytes:
    """The 32 bytes of the key for a ledger at `place`, which errors name."""
    key, keyring = encryption.key, encryption.keyring
    if key is not None:
        return _key_bytes(key() if callable(key) else key, "the key that was given")
    if keyring is None and (found := os.environ.get(KEY_VARIABLE)):
        return _key_bytes(found, f"the environment variable {KEY_VARIABLE}")
    if name := keyring or os.environ.get(KEYRING_VARIABLE):
        return _key_bytes(_from_keyring(name), f"the key {name!r} in the keyring")
    raise EncryptionKeyError(
        f"the encryption of {place} needs a key, and none was given. Set {KEY_VARIABLE} to the key, or "
        f"{KEYRING_VARIABLE} to its name in the keyring. In Python, open it with policy=remanence.Policy(encryption="
        "remanence.Encryption(key))."
    )


class Cipher:
    """Encrypts with the data key of one folder: entries and vectors of the ledger, and index files."""

    def __init__(self, data_key: bytes) -> None:
        self._data_key = data_key
        self._aead = _aead(_derived(data_key, b"encryption"))
        self._digest_key = _derived(data_key, b"digests")

    def seal(self, plain: bytes | memoryview, about: bytes) -> bytes:
        """The bytes encrypted. They can be read back only with the same `about`."""
        nonce = os.urandom(_NONCE_SIZE)
        sealed: bytes = self._aead.encrypt(nonce, plain, about)
        return nonce + sealed

    def unseal(self, sealed: bytes | memoryview, about: bytes) -> bytes:
        """What was encrypted; ValueError if it was changed, moved or encrypted with another key."""
        return _unseal(self._aead, sealed, about)

    def digest(self, value: bytes) -> bytes:
        """A digest of 16 bytes that cannot be computed without the key: a guessed text cannot be compared with it."""
        return blake2b(value, digest_size=_DIGEST_SIZE, key=self._digest_key).digest()

    def seal_pieces(self, plain: memoryview, about: str) -> Iterator[bytes]:
        """The content of a file encrypted in pieces, of which none can be left out or moved."""
        count = -(-len(plain) // _PIECE)
        for number in range(count):
            yield self.seal(plain[number * _PIECE : (number + 1) * _PIECE], f"{about},{number},{count}".encode())

    def unseal_pieces(self, sealed: memoryview, about: str) -> bytearray:
        """The inverse of `seal_pieces`."""
        plain, size = bytearray(), _PIECE + _NONCE_SIZE + _TAG_SIZE
        count = -(-len(sealed) // size)
        for number in range(count):
            plain += self.unseal(sealed[number * size : (number + 1) * size], f"{about},{number},{count}".encode())
        return plain

    def wrapped(self, key: bytes) -> str:
        """The data key encrypted with the key of a caller, as the ledger keeps it."""
        nonce = os.urandom(_NONCE_SIZE)
        sealed = nonce + _aead(key).encrypt(nonce, self._data_key, b"data key")
        return json.dumps({"key": _key_id(key), "wrapped": b64encode(sealed).decode()})

    @classmethod
    def create(cls) -> Cipher:
        return cls(os.urandom(_KEY_SIZE))

    @classmethod
    def unwrap(cls, record: str, key: bytes, place: str) -> Cipher:
        """The cipher whose data key was wrapped with this key."""
        try:
            found = json.loads(record)
            expected, wrapped = found["key"], urlsafe_b64decode(_url_safe(found["wrapped"]))
            if expected == _key_id(key):
                return cls(_unseal(_aead(key), wrapped, b"data key"))
        except (ValueError, TypeError, LookupError) as error:
            raise LedgerCorrupt(
                f"the record of the encryption in {place} is damaged, and nothing can be read without it. Restore a "
                "backup of the folder."
            ) from error
        raise EncryptionKeyError(
            f"{place} is encrypted with the key {expected}, and the given one is {_key_id(key)}. Give the key that it "
            "was encrypted with, or the new one if it was rotated since."
        )

    # Rows of the ledger. The salt is encrypted with the text, and the subject with the hash of the content: with either
    # of them a short text or a name could be guessed.

    def seal_entry(self, entry: StoredEntry) -> StoredEntry:
        position, at, space, kind, subject, body, salt, content, digest = entry
        about = _about_entry(position, at, space, kind)
        sealed = self.seal(content + subject.encode(), b"subject" + about)
        if body is None or salt is None:
            return StoredEntry(position, at, space, kind, sealed, None, None, b"", digest)  # type: ignore[arg-type]
        text = self.seal(salt + body.encode(), b"body" + about)
        return StoredEntry(position, at, space, kind, sealed, text, b"", b"", digest)  # type: ignore[arg-type]

    def unseal_entry(self, row: Any) -> StoredEntry:
        """An entry as it was before it was encrypted. One that was changed stays as it is: `verify` names it."""
        try:
            position, at, space, kind, subject, body, salt, _, digest = row
            content, subject, text = self._unseal_row(position, at, space, kind, subject, body)
        except (ValueError, TypeError):
            return StoredEntry._make(row)
        if text is not None and salt == b"":
            body, salt = text[SALT_SIZE:].decode(), text[:SALT_SIZE]
        return StoredEntry(position, at, space, kind, subject, body, salt, content, digest)

    def unseal_columns(self, row: Any) -> tuple[Any, ...]:
        """A row as `decode_entry` takes it; ValueError if it was changed."""
        position, at, space, kind, subject, body, digest = row
        _, subject, text = self._unseal_row(position, at, space, kind, subject, body)
        return position, at, space, kind, subject, None if text is None else text[SALT_SIZE:].decode(), digest

    def _unseal_row(
        self, position: int, at: int, space: str, kind: str, subject: bytes, body: bytes | None
    ) -> tuple[bytes, str, bytes | None]:
        about = _about_entry(position, at, space, kind)
        named = self.unseal(subject, b"subject" + about)
        text = None if body is None else self.unseal(body, b"body" + about)
        return named[:_CONTENT_SIZE], named[_CONTENT_SIZE:].decode(), text

    def seal_vector(self, space: str, text_hash: bytes, model: str, vector: bytes) -> tuple[str, bytes, str, bytes]:
        """A row of a vector, with a digest in place of the hash of its text."""
        key = self.digest(text_hash)
        return (
            space,
            key,
            model,
            self.seal(bytes([len(text_hash)]) + text_hash + vector, _about_vector(space, key, model)),
        )

    def unseal_vector(self, space: str, key: bytes, model: str, sealed: bytes) -> tuple[str, bytes, str, bytes]:
        plain = self.unseal(sealed, _about_vector(space, key, model))
        end = 1 + plain[0]  # the length of the hash is first
        return space, plain[1:end], model, plain[end:]


def _about_entry(position: int, at: int, space: str, kind: str) -> bytes:
    return f",{position},{at},{kind},{space}".encode()


def _about_vector(space: str, key: bytes, model: str) -> bytes:
    return b"vector," + key + f"{len(space)},{space},{model}".encode()


def _unseal(aead: Any, sealed: bytes | memoryview, about: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        plain: bytes = aead.decrypt(sealed[:_NONCE_SIZE], sealed[_NONCE_SIZE:], about)
    except InvalidTag:
        raise ValueError("it was changed, moved or encrypted with another key") from None
    return plain


def _aead(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtra(
            'encryption needs the package `cryptography`: pip install "remanence-memory[encryption]".'
        ) from error
    return AESGCM(key)


def _derived(key: bytes, purpose: bytes) -> bytes:
    return blake2b(purpose, digest_size=_KEY_SIZE, key=key).digest()


def _key_id(key: bytes) -> str:
    """What errors call a key: eight digits that say nothing of it."""
    return _derived(key, b"id")[:4].hex()


def _url_safe(text: str) -> str:
    return text.strip().replace("+", "-").replace("/", "_")


def _key_bytes(key: object, what: str) -> bytes:
    if isinstance(key, bytes) and len(key) == _KEY_SIZE:
        return key
    try:
        text = key.decode() if isinstance(key, bytes) else key
        decoded = urlsafe_b64decode(_url_safe(text)) if isinstance(text, str) else b""
    except (Base64Error, ValueError):
        decoded = b""
    if len(decoded) != _KEY_SIZE:  # the value is a secret, and not shown
        raise EncryptionKeyError(
            f"{what} is not a key: give {_KEY_SIZE} bytes, or the Base64 of them. `remanence new-key` makes one."
        )
    return decoded


def _from_keyring(name: str) -> str:
    try:
        import keyring
    except ImportError as error:
        raise MissingExtra(
            f"the key {name!r} is in a keyring, which needs the package `keyring`: pip install keyring."
        ) from error
    found: str | None = keyring.get_password(_SERVICE, name)
    if found is None:
        raise EncryptionKeyError(
            f"the keyring has no key {name!r}. Store it with `keyring set {_SERVICE} {name}`, or name another one."
        )
    return found

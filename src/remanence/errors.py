"""All exceptions of the library, as one tree.

    RemanenceError
    ├── InvalidInput          an argument cannot be used (also a ValueError)
    ├── NotFound              no such memory in this space (also a LookupError)
    ├── AccessDenied          the token does not allow this (the server answered 403)
    │   └── InvalidToken          there is no token, or it is not valid (401)
    ├── TooManyRequests       the server takes no more requests of this caller for now (429)
    ├── Closed                the space was closed
    ├── JobFailed             a background job was given up after several tries, or cancelled
    ├── LedgerError
    │   ├── LedgerUnavailable     the folder is read-only, full, locked or another program's; the database is away
    │   ├── LedgerCorrupt         the file is damaged, or is not a ledger
    │   ├── LedgerTampered        `verify()` found an entry that was changed after it was written
    │   ├── LedgerTooNew          written by a later release
    │   └── EncryptionKeyError    the key of an encrypted folder is missing, or is another one
    ├── EmbedderError
    │   ├── EmbedderUnavailable          the embedder raised an exception, perhaps only for now
    │   └── InvalidEmbedding        it returned something that is not a vector
    ├── ExtractorError        the extractor did not answer in time
    ├── ProjectionError
    │   ├── ProjectionUnavailable the server that an index is on does not answer, perhaps only for now
    │   └── ProjectionStale       an index was built with another embedder than this one
    └── MissingExtra          an optional package is not installed (also an ImportError)

Each message says what happened, shows the value, and names the next step.
"""

from __future__ import annotations

from typing import Literal


class RemanenceError(Exception):
    """The base class of all exceptions of this library."""


class InvalidInput(RemanenceError, ValueError):
    """An argument cannot be used."""


class NotFound(RemanenceError, LookupError):
    """No such memory in this space."""


class AccessDenied(RemanenceError):
    """The server refused this: the token does not allow it."""


class InvalidToken(AccessDenied):
    """The server needs a token, and there is none or it is not valid."""


class TooManyRequests(RemanenceError):
    """The server takes no more requests of this caller for now. `retry_after` is how many seconds to wait."""

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Closed(RemanenceError):
    """The space was closed."""


class JobFailed(RemanenceError):
    """A background job was given up after several tries, or cancelled."""


class LedgerError(RemanenceError):
    """The ledger cannot do what was asked."""


class LedgerUnavailable(LedgerError):
    """The folder is read-only, full, locked, or belongs to another program; or a database cannot be reached.

    `written` is False if nothing of the write was stored, and None if that is not known. Many rows are several writes:
    `stored_rows` is how many rows of the same call were stored before.
    """

    def __init__(self, message: str, *, written: Literal[False] | None = False) -> None:
        super().__init__(message)
        self.written = written
        self.stored_rows = 0

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} The first {self.stored_rows} rows were stored." if self.stored_rows else message


class LedgerCorrupt(LedgerError):
    """The file is damaged, or is not a ledger."""


class LedgerTampered(LedgerError):
    """An entry was changed after it was written. `position` is the first such entry."""

    def __init__(self, message: str, *, position: int) -> None:
        super().__init__(message)
        self.position = position


class LedgerTooNew(LedgerError):
    """Written by a later release than this one."""


class EncryptionKeyError(LedgerError):
    """The key of an encrypted folder is missing, is no key, or is not the one that it was encrypted with."""


class EmbedderError(RemanenceError):
    """The embedder returned no vectors."""


class EmbedderUnavailable(EmbedderError):
    """The embedder raised an exception, perhaps only for now."""


class InvalidEmbedding(EmbedderError):
    """The embedder returned something that is not a vector."""


class ExtractorError(RemanenceError):
    """The extractor did not answer in time."""


class ProjectionError(RemanenceError):
    """An index cannot be read or brought up to date."""


class ProjectionUnavailable(ProjectionError):
    """The server that an index is on does not answer, perhaps only for now."""


class ProjectionStale(ProjectionError):
    """An index was built with another embedder than the one given."""


class MissingExtra(RemanenceError, ImportError):
    """An optional package is not installed."""

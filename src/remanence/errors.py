"""Everything that can go wrong, as one tree.

    RemanenceError
    ├── InvalidInput          what was given cannot be kept or asked (also a ValueError)
    ├── NotFound              no such memory in this space (also a LookupError)
    ├── Closed                the space was closed
    ├── JobFailed             work in the background was given up after several tries
    ├── LedgerError
    │   ├── LedgerUnavailable     the folder is read-only, full, locked, or not ours
    │   ├── LedgerCorrupt         the file is damaged, or is no ledger
    │   ├── LedgerTampered        `verify()` met a line that is not what was written
    │   └── LedgerTooNew          written by a later release
    ├── EmbedderError
    │   ├── EmbedderDown          the embedder raised: perhaps only for now
    │   └── EmbedderBroken        it answered with something that is no vector: a mistake to mend
    ├── ProjectionError
    │   └── ProjectionStale       an index was built with another embedder than this one
    └── MissingExtra          an optional package is not installed (also an ImportError)

Each message says what happened, shows the value, and names the next step.
"""

from __future__ import annotations


class RemanenceError(Exception):
    """The root of the tree: catch this to catch all of it."""


class InvalidInput(RemanenceError, ValueError):
    """What was given cannot be kept or asked."""


class NotFound(RemanenceError, LookupError):
    """No such memory in this space."""


class Closed(RemanenceError):
    """The space was closed."""


class JobFailed(RemanenceError):
    """Work in the background was given up after several tries."""


class LedgerError(RemanenceError):
    """The ledger cannot do what was asked of it."""


class LedgerUnavailable(LedgerError):
    """The folder is read-only, full, locked, or not ours."""


class LedgerCorrupt(LedgerError):
    """The file is damaged, or is no ledger."""


class LedgerTampered(LedgerError):
    """A line is not what was written.

    `position` is the first such line.
    """

    def __init__(self, message: str, *, position: int) -> None:
        super().__init__(message)
        self.position = position


class LedgerTooNew(LedgerError):
    """Written by a later release than this one."""


class EmbedderError(RemanenceError):
    """The embedder gave no vectors."""


class EmbedderDown(EmbedderError):
    """The embedder raised: perhaps only for now."""


class EmbedderBroken(EmbedderError):
    """The embedder answered with something that is no vector: a mistake to mend."""


class ProjectionError(RemanenceError):
    """An index cannot be read or brought up to date."""


class ProjectionStale(ProjectionError):
    """An index was built with another embedder than the one given."""


class MissingExtra(RemanenceError, ImportError):
    """An optional package is not installed."""

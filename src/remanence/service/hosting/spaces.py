"""The spaces of one opened folder by their full names, and these names in a URL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from remanence.errors import InvalidInput, ProjectionUnavailable
from remanence.events import Remembered
from remanence.index.engine.inputs import escape_level
from remanence.ledger import cipher_of, is_address
from remanence.ledger.codec import kinds_of
from remanence.ports import ReaderLine
from remanence.remember.jobs import JobQueue, TryJob
from remanence.space.space import Space

[_REMEMBERED] = kinds_of(Remembered)
_HIDDEN = ("/%vault", "/%proposals")  # the ends of the names of spaces for the notes of a vault, and for proposals


class Spaces:
    """All spaces of one opened folder. They share its engine, so that opening one is cheap.

    Args:
        root: Any space that `remanence.open` returned.
        try_job: What tries a job, in place of doing it in this thread.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     spaces = Spaces(space)
        ...     _ = spaces.get("work/bob").add("Bob is allergic to peanuts.")
        ...     spaces.names()
        ['work/bob']
    """

    def __init__(self, root: Space, try_job: TryJob | None = None) -> None:
        self.root = root
        self._jobs = JobQueue(root._engine, try_job)
        self._expiring: set[str] = set()  # spaces in which a memory may expire
        self._swept = 0  # the ledger position up to which they are known

    def get(self, name: str) -> Space:
        """The space with this full name, as `Space.name` shows it: default/users/bob.

        Raises:
            InvalidInput: It is not the full name of a space.
        """
        parts = [escape_level(unquote(part)) for part in name.split("/")]
        if "/".join(parts) != name:
            raise InvalidInput(f"{name!r} is not the full name of a space. Write it as {'/'.join(parts)!r}.")
        return Space(self.root._engine, name, worker=self.root._worker)

    def names(self) -> list[str]:
        """The full names of all spaces that contain anything."""
        return [name for name in self.root._engine.ledger.spaces() if not name.endswith(_HIDDEN)]

    def exists(self, name: str) -> bool:
        """Whether the space with this full name, or one below it, contains anything."""
        return bool(self.root._engine.ledger.spaces(name))

    @property
    def folder(self) -> Path | None:
        """The folder of the ledger; None for a database, or if everything is in memory."""
        location = self.root.admin.location
        return None if location is None or is_address(location) else Path(location)

    def part_checks(self) -> dict[str, Callable[[], object]]:
        """For each part that answers may lack, a function that raises an exception if it does not work now."""
        engine = self.root._engine
        checks: dict[str, Callable[[], object]] = {"embedder": lambda: engine.embedder.embed_query("Is it there?")}
        if engine.reader is not None:
            reader, lines = engine.reader, [ReaderLine("It is here.")]
            checks["reader"] = lambda: reader.read("Where is it?", lines, asked_at=engine.now())
        if engine.has_server:
            checks["vectors"] = self._check_vectors
        return checks

    def _check_vectors(self) -> None:
        with self.root._engine.open_index(self.root.name) as index:
            if reason := index.broken.get("vectors"):
                raise ProjectionUnavailable(reason)

    def last_erasure(self) -> int:
        """The ledger position at which something was erased last; 0 if nothing was."""
        return self.root._engine.ledger.last_erasure()

    @property
    def digest(self) -> Callable[[bytes], bytes] | None:
        """For an encrypted folder: a digest that cannot be computed without its key."""
        cipher = cipher_of(self.root._engine.ledger)
        return None if cipher is None else cipher.digest

    def expire(self) -> int:
        """Record in every space which memories have expired, and return how many.

        A call after the first one opens only spaces to which memories were added since, and those with a memory that
        can expire.
        """
        engine = self.root._engine
        head = engine.ledger.head()
        written = engine.ledger.spaces_with(_REMEMBERED, after=self._swept)
        self._expiring.update(name for name in written if not name.endswith(_HIDDEN))
        self._swept = head
        count = 0
        for name in sorted(self._expiring):
            with engine.open_index(name) as index:
                if not index.catalog.times.can_expire:
                    self._expiring.discard(name)
                    continue
            count += len(self.get(name).upkeep.expire())
        return count

    def run_due_jobs(self) -> int:
        """Do the jobs of all spaces that are due, and return how many were tried.

        A call after the first one reads only what was written since.
        """
        return self._jobs.run_due()


def to_segment(name: str) -> str:
    """The name of a space as one segment of a path, with the escapes of JSON Pointer (RFC 6901).

    A slash is written as ~1, and a tilde as ~0. What else a URL cannot contain is percent-encoded as usual.

    >>> to_segment("default/users/bob"), to_segment("a~b")
    ('default~1users~1bob', 'a~0b')
    """
    return name.replace("~", "~0").replace("/", "~1")


def from_segment(segment: str) -> str:
    """The inverse of `to_segment`.

    >>> from_segment("default~1users~1bob")
    'default/users/bob'
    """
    return segment.replace("~1", "/").replace("~0", "~")

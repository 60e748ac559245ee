"""Opening a space: which ledger, which embedder, which extractor."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec
from urllib.parse import unquote

from remanence.errors import InvalidInput
from remanence.index import SIGNALS
from remanence.index.engine import inputs
from remanence.index.engine.embedding import written_with
from remanence.index.engine.engine import DEFAULT_CACHE_SIZE, Engine, LedgerPlace, close_on_error
from remanence.index.engine.inputs import progress_bar
from remanence.index.engine.policy import Policy
from remanence.index.engine.rebuilding import reembed as reembed_texts
from remanence.index.engine.rebuilding import replace_former_default
from remanence.index.index_file import cache_folder, space_hash
from remanence.index.vectors.stores import SharedStores
from remanence.index.vectors.stores.qdrant import Qdrant
from remanence.ledger import is_address, ledger_exists, open_ledger, shown_location
from remanence.ledger.copying import check_complete
from remanence.ledger.locks import FolderLocks, ThreadLocks
from remanence.models.readers import DEFAULT_READER
from remanence.models.time_limit import DEFAULT_TIMEOUT
from remanence.ports import Ledger, LockingLedger, Signal, VectorStores
from remanence.recall.profile import read_when_quiet
from remanence.remember.jobs import Worker
from remanence.space.space import Space
from remanence.transfer.export_file import TransferReport
from remanence.transfer.import_file import Importer
from remanence.transfer.migration import MigrationReport
from remanence.transfer.migration import migrate as copy_ledger

if TYPE_CHECKING:
    from remanence.ports import Clock, Progress

P = ParamSpec("P")
DEFAULT_SPACE = "default"
_SIGNAL_MEMBERS = ("name", "weight", "stage", "needs_embedding", "apply", "rank", "save", "load")


def open(
    location: str | Path | None,
    *,
    space: str | None = None,
    embedder: Any = None,
    extractor: Any = None,
    qdrant: Any = None,
    clock: Clock | None = None,
    reader: Any = DEFAULT_READER,
    ledger: Ledger | None = None,
    vectors: VectorStores | Qdrant | None = None,
    policy: Policy | None = None,
    signals: Sequence[Signal] = (),
    day_first: bool | None = None,
    worker: bool = True,
    cache: str | Path | None = None,
    cache_size: int | None = None,
    timeout: float | None = DEFAULT_TIMEOUT,
    durable: bool = True,
) -> Space:
    """Open the space in a folder or a PostgreSQL database; it is created if it does not exist.

    Every part can be replaced by an object that satisfies its Protocol in `remanence.ports`.

    Args:
        location: A folder; an address such as `postgresql://user@host/database` (extra `postgres`), for several
            machines; or None to keep everything in memory.
        space: The name of the space; "default" if left out.
        embedder: A name, a LangChain or LlamaIndex embedding object, a function of a list of texts, or an
            `Embedder`. Left out: a small transformer that comes with the package; "fast", a table of word vectors, is
            for bulk; a space that was written with one of the two opens with that one.
        extractor: Writes facts: a chat model of LangChain or LlamaIndex, the name of one, or an `Extractor`. Left out:
            no facts are written, and texts are kept as they were said.
        qdrant: The URL of a Qdrant server: short for `vectors=Qdrant(url)`.
        clock: A function that returns the present moment, for tests.
        reader: Reads the first hits together with the question: the name of a model, a folder with one, a
            function of a question and texts that returns a probability for each, or a `Reader`. Left out: a small
            one that comes with the package. None: the signals decide alone.
        ledger: A `Ledger` in place of the SQLite file. It is closed with the space. `location` then
            contains index files only.
        vectors: Where vectors are stored, in place of the embedded engine: `remanence.Qdrant(url, key=...)` for a
            server, or a `VectorStores`.
        policy: Whom the space trusts, whether it removes secrets from texts, and the keys that it signs and encrypts
            with: `remanence.Policy(trust={"crawler*": "web"}, redact=True)`.
        signals: Signals in addition to the four built-in ones; each space gets a copy.
        day_first: Whether 03/04/2025 is 3 April (True) or 4 March (False) where a text is ambiguous. Left out: as
            in the other texts of the space; if all are ambiguous, by the language of the text.
        worker: False leaves jobs (`remember(..., wait=False)`) to `space.jobs.run_due()` or `remanence work`.
        cache: With an address: the folder for index and vector files, which may be lost at any time. Left out: where
            the platform keeps such files, such as ~/.cache/remanence.
        cache_size: How many bytes the indexes of the spaces in use may take in memory together, estimated; 512 MB if
            left out. Beyond that, those least recently used are closed, and opened again when they are needed.
        timeout: How many seconds one call of an embedder or extractor of yours may take. A text whose embedder does not
            answer is stored without a vector, which is made later. None: no limit.
        durable: In a folder, whether a write waits until the disk has it. False is faster, and a power cut may lose the
            last writes; a process that is killed loses none in either case.

    Returns:
        The space. Close it with `close`, or use it in a `with` block.

    Raises:
        InvalidInput: An argument is not valid; the message names it.
        ProjectionStale: The folder was built with another embedder.
        LedgerError: The ledger cannot be opened.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     space.add("Porto has six bridges.").kind
        'semantic'
    """
    from remanence.models.embedders import resolve_embedder
    from remanence.models.extractors import resolve_extractor
    from remanence.models.readers import resolve_reader

    if clock is not None and not callable(clock):
        raise InvalidInput(f"clock={clock!r} cannot be called. Give a function that returns a datetime.")
    _check_port("ledger", ledger, Ledger)
    if policy is None:
        policy = Policy()
    elif not isinstance(policy, Policy):
        raise InvalidInput(f"policy={policy!r} is not a Policy. Give remanence.Policy(...).")
    stores, shared = _vector_stores(vectors, qdrant)
    named = None if embedder is None else resolve_embedder(embedder, timeout)
    others = resolve_extractor(extractor, timeout), resolve_reader(reader)
    checked_signals = _signals(signals)
    size = DEFAULT_CACHE_SIZE if cache_size is None else inputs.check_positive_int(cache_size, "cache_size")
    name = DEFAULT_SPACE if space is None else inputs.escape_level(space)
    if ledger is not None and policy.encryption is not None:
        raise InvalidInput("encryption= is for the ledger in a folder, and ledger= is another one. Leave one out.")
    if not isinstance(durable, bool):
        raise InvalidInput(f"durable={durable!r} is neither True nor False.")
    if ledger is not None and not durable:
        raise InvalidInput("durable=False is for the ledger in a folder, and ledger= is another one. Leave one out.")
    opened = open_ledger(location, policy.encryption, durable=durable) if ledger is None else ledger
    with close_on_error(opened):
        engine = Engine(
            opened,
            named or resolve_embedder(written_with(opened), timeout),
            *others,
            clock=clock,
            place=_place(location, cache, opened),
            signals=checked_signals,
            stores=stores,
            qdrant=shared,
            day_first=day_first,
            trust=policy.trust_rules(),
            redactor=policy.redactor(),
            signatures=policy.signatures(opened),
            cache_size=size,
        )
    with close_on_error(engine):
        replace_former_default(engine)
    thread = Worker(engine) if worker else None
    engine.notify_worker = None if thread is None else thread.notify
    if worker:
        read_when_quiet(engine)
    return Space(engine, name, worker=thread, root=True)


class OpeningSpace:
    """A space that is being opened: `await` it, or enter it with `async with`, which also closes it."""

    def __init__(self, open_space: Callable[[], Space]) -> None:
        self._open = open_space
        self._space: Space | None = None

    def __await__(self) -> Generator[Any, None, Space]:
        import asyncio  # here, as it takes long to load and most programs do not use it

        return asyncio.to_thread(self._open).__await__()

    async def __aenter__(self) -> Space:
        self._space = await self
        return self._space

    async def __aexit__(self, *error: object) -> None:
        if self._space is not None:
            await self._space.aclose()


def _in_thread(function: Callable[P, Space]) -> Callable[P, OpeningSpace]:
    def run(*args: P.args, **kwargs: P.kwargs) -> OpeningSpace:
        """`open` in a worker thread, for use with asyncio. It has the same parameters.

        Returns:
            What to `await` for the space, or to enter: `async with remanence.aopen("./memory") as space`.

        Example:
            >>> import asyncio, remanence
            >>> async def main():
            ...     async with remanence.aopen(None) as space:
            ...         return (await space.aadd("Porto has six bridges.")).kind
            >>> asyncio.run(main())
            'semantic'
        """
        return OpeningSpace(lambda: function(*args, **kwargs))

    run.__name__ = run.__qualname__ = "aopen"
    run.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # for help() and editors
    return run


aopen = _in_thread(open)


def reembed(
    location: str | Path,
    *,
    embedder: Any = None,
    qdrant: Any = None,
    vectors: Qdrant | None = None,
    progress: bool | Progress = False,
) -> None:
    """Embed everything in a folder or database again with another embedder. Afterwards it opens with that one.

    Args:
        location: The folder or the address.
        embedder: The new embedder, as for `open`.
        qdrant: The URL of a Qdrant server with the vectors: short for `vectors=Qdrant(url)`.
        vectors: The Qdrant server with the vectors, as for `open`. They are written to the collection of the new
            embedder, and then removed from that of the old one.
        progress: True shows a progress bar; a function is called with (done, total).

    Raises:
        InvalidInput: The folder contains no memories, or the embedder is not valid.
        EmbedderError: The embedder failed.
    """
    from remanence.models.embedders import resolve_embedder
    from remanence.models.extractors import resolve_extractor

    if not ledger_exists(location):
        raise InvalidInput(
            f"{shown_location(location)!r} contains no memories to embed again. Name a folder that was opened."
        )
    models = resolve_embedder(embedder), resolve_extractor(None), None
    stores, shared = _vector_stores(vectors, qdrant)
    if stores is not None:
        raise InvalidInput(f"vectors={vectors!r} is not a Qdrant server. Leave it out: a ledger has its vectors.")
    ledger = open_ledger(location)
    with close_on_error(ledger):
        place = _place(location, None, ledger)
        engine = Engine(ledger, *models, place=place, qdrant=shared, replace_embedder=True)
    try:
        with progress_bar(progress, "embedding") as report_progress:
            reembed_texts(engine, report_progress)
    finally:
        engine.close()


def restore(
    path: str | Path, *, into: Space | str | Path, progress: bool | Progress = False, **opening: Any
) -> TransferReport:
    """Import a file that `space.admin.export` wrote into an empty space: all entries, with their ids and times.

    The whole file is checked before anything is written. Entries are then written a thousand at a time, so that others
    can write in between. If that is interrupted, importing the same file again continues it. Vectors in the file are
    used if they are those of its texts; otherwise the texts are embedded.

    Args:
        into: A space, or a folder, which is opened with the other arguments and closed again. Spaces below the
            exported one are imported below this one.
        progress: True shows a progress bar; a function is called with (done, total).
        **opening: Arguments of `open`, such as `space` and `embedder`, which embeds the texts.

    Returns:
        How many entries were imported, and into which spaces.

    Raises:
        InvalidInput: The file cannot be read or is damaged, or the space is not empty.
        LedgerTooNew: A later release wrote the file.
    """
    file_path = inputs.check_unlinked_path(path, "path")
    with ExitStack() as opened, progress_bar(progress, "importing") as report_progress:
        importer = Importer(file_path)  # before a folder is made for it
        if isinstance(into, Space):
            if opening:
                raise InvalidInput(f"{', '.join(opening)}: these are for opening a folder, and into={into!r} is open.")
            space = into
        else:
            space = opened.enter_context(open(into, **opening))
        return importer.write_to(space._engine, lambda below: _child_space_name(space, below), report_progress)


def migrate(source: str | Path, target: str | Path, *, progress: bool | Progress = False) -> MigrationReport:
    """Copy a ledger whole from a folder into a PostgreSQL database, or back: every entry, vector and setting.

    The chain is checked on both sides. If the copy is interrupted, the same call continues it; until then the target
    does not open. The source is not changed. Stop all writers before.

    Args:
        source: The folder or the address to copy from.
        target: The folder or the address to copy to. There must be nothing in it.
        progress: True shows a progress bar; a function is called with (done, total).

    Returns:
        How many entries and vectors were copied, and the digest of the last entry.

    Raises:
        InvalidInput: There is nothing at the source, or something else at the target.
        LedgerTampered: An entry was changed, or somebody has written meanwhile.
    """
    with progress_bar(progress, "copying") as report_progress:
        return copy_ledger(source, target, report_progress)


def _child_space_name(space: Space, relative: str) -> str:
    """The name of a space below this one, as `spaces` shows it."""
    hidden = ("%vault", "%proposals")
    below = relative.split("/") if relative else []
    parts = (part if part in hidden else inputs.escape_level(unquote(part)) for part in below)
    return "/".join((space.name, *parts))


def _vector_stores(
    vectors: Any, qdrant: Any
) -> tuple[VectorStores | None, Callable[[Callable[[], str]], SharedStores] | None]:
    """The vector stores of the caller, and a factory of those on a Qdrant server, which takes a function that returns
    the ledger id. None for each that was not given."""
    if vectors is not None and qdrant is not None:
        raise InvalidInput("vectors= and qdrant= both name a vector store. Give one of them.")
    if qdrant is not None:
        vectors = qdrant if isinstance(qdrant, Qdrant) else Qdrant(qdrant)
    if isinstance(vectors, Qdrant):
        return None, lambda ledger: SharedStores(vectors, ledger)
    if isinstance(vectors, str):
        raise InvalidInput(f"vectors={vectors!r} is text. Give remanence.Qdrant({vectors!r}), or qdrant={vectors!r}.")
    _check_port("vectors", vectors, VectorStores)
    return vectors, None


def _place(location: str | Path | None, cache: str | Path | None, ledger: Ledger) -> LedgerPlace:
    """Where a ledger and its files are. An incomplete copy of a ledger is refused."""
    check_complete(ledger)
    if location is not None and is_address(location):
        shown: str | None = shown_location(location)
        folder = cache_folder(cache, ledger.get_meta("id") or space_hash(str(shown)))
    else:
        if cache is not None:
            raise InvalidInput(f"cache={str(cache)!r} is for a database; the files of a folder are in that folder.")
        folder = None if location is None else Path(location).expanduser().absolute()
        shown = None if folder is None else str(folder)
    if isinstance(ledger, LockingLedger):
        return LedgerPlace(shown, folder, ledger.locks())
    return LedgerPlace(shown, folder, ThreadLocks() if folder is None else FolderLocks(folder))


def _check_port(argument: str, value: object, port: type) -> None:
    """Refuse an object without the members of its port."""
    if isinstance(value, type):
        raise InvalidInput(f"{argument}={value.__name__} is a class; pass an instance: {value.__name__}(...).")
    if value is not None and not isinstance(value, port):
        raise InvalidInput(f"{argument}={value!r} does not have the members of remanence.ports.{port.__name__}.")


def _signals(signals: Sequence[Signal]) -> tuple[Signal, ...]:
    """Signals of the caller, checked."""
    if isinstance(signals, Signal) or not isinstance(signals, Sequence):
        raise InvalidInput(f"signals={signals!r} is not a list. Give a list of signals.")
    candidates: Sequence[object] = signals
    names = {*SIGNALS}
    for signal in candidates:
        if isinstance(signal, type):
            raise InvalidInput(f"signals contains the class {signal.__name__}; pass an instance: {signal.__name__}().")
        if not isinstance(signal, Signal):
            missing = [name for name in _SIGNAL_MEMBERS if not hasattr(signal, name)]
            raise InvalidInput(f"signals contains {signal!r}, which has no {missing[0]!r}: see remanence.ports.Signal.")
        if not isinstance(signal.weight, int | float) or not signal.weight > 0:
            raise InvalidInput(f"the signal {signal.name!r} has weight={signal.weight!r}. Give a number above 0.")
        if signal.name in names:
            raise InvalidInput(f"two signals are called {signal.name!r}. Give each a name of its own.")
        names.add(signal.name)
    return tuple(signals)

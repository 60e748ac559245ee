"""Opening a space: which ledger, which embedder, which extractor."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from remanence.admin.export_file import TransferReport
from remanence.admin.import_file import Importer
from remanence.admin.jsonlines import JsonLinesReader
from remanence.api.space import Space, part_of_name
from remanence.core import inputs
from remanence.core.engine import Engine
from remanence.core.progress import progress_bar
from remanence.errors import InvalidInput
from remanence.schema import UTC
from remanence.write.jobs import Worker

if TYPE_CHECKING:
    from remanence.ports import Clock, Progress, Reranker

DEFAULT_SPACE = "default"


def open(
    location: str | Path | None,
    *,
    space: str | None = None,
    embedder: Any = None,
    extractor: Any = None,
    qdrant: Any = None,
    clock: Clock | None = None,
    reranker: str | Path | Reranker | None = None,
    worker: bool = True,
) -> Space:
    """Open the space in a folder, making it if need be; None keeps everything in memory only.

    `embedder` is a name, a LangChain or LlamaIndex embedding object, or a function of a list of texts;
    left out, a small static one that comes with the package. `qdrant` is the URL of a server, or a
    `QdrantClient`, to use in place of the embedded engine. `clock` gives the present moment, for tests.
    `extractor` finds names and facts: rules if left out, or a chat model of LangChain or LlamaIndex.
    `reranker` looks again at the first thirty: the name of a model, or a function of a question and texts.
    `worker=False` leaves jobs (`remember(..., wait=False)`) to `space.work()` or `remanence work`.

    >>> import remanence
    >>> with remanence.open(None) as space:
    ...     space.add("Porto has six bridges.").kind
    'semantic'
    """
    engine = _engine(location, embedder, extractor, qdrant, clock, reranker, fresh=False)
    hand = Worker(engine) if worker else None
    engine.on_unfinished_jobs = None if hand is None else hand.notify
    return Space(engine, DEFAULT_SPACE if space is None else part_of_name(space), worker=hand, root=True)


def reembed(
    location: str | Path, *, embedder: Any = None, qdrant: Any = None, progress: bool | Progress = False
) -> None:
    """Embed everything in a folder anew with another embedder, which is then the one it opens with."""
    if not (inputs.path(location, "location") / "ledger.db").exists():
        raise InvalidInput(f"{str(location)!r} holds no memories to embed anew. Name a folder that was opened.")
    engine = _engine(location, embedder, None, qdrant, None, None, fresh=True)
    try:
        with progress_bar(progress, "embedding") as shown:
            engine.reembed(shown)
    finally:
        engine.close()


def import_(
    path: str | Path, *, into: Space | str | Path, progress: bool | Progress = False, **opening: Any
) -> TransferReport:
    """Bring what `space.admin.export` wrote into an empty space, every entry with its ids and times.

    `into` is a space, or a folder, which is opened with what else is given (`space=`, `embedder=`) and closed
    again. Spaces below the exported one come to lie below this one. All of it is written in one
    transaction, or nothing. What came without vectors is embedded anew.

    >>> import remanence, tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "memory.jsonl.gz"
    >>> with remanence.open(None) as old, remanence.open(None) as new:
    ...     memory = old.add("Alice lives in Porto.")
    ...     _ = old.admin.export(file)
    ...     _ = remanence.import_(file, into=new)
    ...     new.get(memory.id) == memory
    True
    """
    place = inputs.path(path, "path")
    with JsonLinesReader(place) as file, ExitStack() as opened, progress_bar(progress, "importing") as shown:
        found = Importer(place, file)  # before a folder is made for it
        if isinstance(into, Space):
            if opening:
                raise InvalidInput(f"{', '.join(opening)}: these are for opening a folder, and into={into!r} is open.")
            space = into
        else:
            space = opened.enter_context(open(into, **opening))
        return found.write_to(space._engine, lambda below: _below(space, below), shown)


def _below(space: Space, relative: str) -> str:
    """The name of a space below this one, as `spaces` shows it."""
    return space.child(*map(unquote, relative.split("/"))).name if relative else space.name


def _engine(
    location: str | Path | None,
    embedder: Any,
    extractor: Any,
    qdrant: Any,
    clock: Clock | None,
    reranker: str | Path | Reranker | None,
    *,
    fresh: bool,
) -> Engine:
    from remanence.ledger import open_ledger
    from remanence.models import embedders, extractors, rerankers

    if clock is not None and not callable(clock):
        raise InvalidInput(f"clock={clock!r} cannot be called. Give a function that returns a datetime.")
    embedder, extractor = embedders.resolve_embedder(embedder), extractors.resolve_extractor(extractor)
    again = rerankers.resolve_reranker(reranker)
    ledger = open_ledger(location)
    try:
        return Engine(
            ledger,
            embedder,
            extractor,
            folder=None if location is None else Path(location).expanduser().absolute(),
            qdrant=qdrant,
            clock=clock or _system_clock,
            reranker=again,
            replace_embedder=fresh,
        )
    except BaseException:
        ledger.close()
        raise


def _system_clock() -> datetime:
    return datetime.now(UTC)

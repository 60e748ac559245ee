"""The operations on a whole space: numbers, what changed, checks, compaction, export and import."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from remanence.admin.compaction import CompactionReport
from remanence.admin.export_file import TransferReport
from remanence.api.space import Space
from remanence.schema import PendingErasure, VerificationReport
from remanence.service.operation import operation, view_of
from remanence.service.payloads import requests
from remanence.service.payloads.answers import (
    ChangeAnswer,
    ChangesPage,
    DiffAnswer,
    DoneAnswer,
    ExposureAnswer,
    StatsAnswer,
)
from remanence.service.payloads.base_answers import AnswerModel, Items, MemoryAnswer
from remanence.service.payloads.base_requests import ReadRequest


def count_unembedded(space: Space) -> int:
    """How many texts of a space have no vector yet."""
    return space.admin._unembedded()


class CheckAnswer(AnswerModel):
    """The indexes that differ from a fresh build, and how."""

    differences: dict[str, str]


@operation("GET", "/stats")
def stats(space: Space, request: ReadRequest) -> StatsAnswer:
    """Count everything in a space."""
    return StatsAnswer.of(view_of(space, request).admin.stats())


def last_position(space: Space) -> int:
    """The present ledger position of a space."""
    with space._engine.open_index(space.name) as index:
        return index.catalog.position


@operation("GET", "/changes")
def changes(space: Space, request: requests.ChangesRequest) -> ChangesPage:
    """List what happened to memories after a ledger position, a page at a time."""
    view = view_of(space, request)
    with view._engine.open_index(view.name) as index:
        position = view._position(index)
    change_list = list(islice(view._engine.changes(view.name, request.after, position), request.limit + 1))
    more = len(change_list) > request.limit
    page = change_list[: request.limit]
    last = page[-1].position if more else max(position, request.after)
    return ChangesPage(items=[ChangeAnswer.of(change) for change in page], position=last, has_more=more)


@operation("GET", "/diff")
def diff(space: Space, request: requests.DiffRequest) -> DiffAnswer:
    """List what was learned between two moments."""
    return DiffAnswer.of(view_of(space, request).audit.diff(request.since, request.until))


@operation("GET", "/memories/{id}/exposures")
def exposures(space: Space, request: requests.IdReadRequest) -> Items[ExposureAnswer]:
    """List the recorded recalls that returned a memory which was replaced or forgotten since."""
    return Items[ExposureAnswer].of_all(view_of(space, request).audit.exposures(request.id))


@operation("GET", "/erasures/pending")
def pending_erasures(space: Space, request: requests.EmptyRequest) -> Items[PendingErasure]:
    """List what is left of erased memories for now."""
    return Items(items=space.audit.pending_erasures())


@operation("GET", "/verify", slow=True)
def verify(space: Space, request: requests.EmptyRequest) -> VerificationReport:
    """Check that no ledger entry was tampered with."""
    return space.verify()


@operation("GET", "/check", "admin", slow=True)
def check(space: Space, request: requests.EmptyRequest) -> CheckAnswer:
    """Compare each index with a fresh build."""
    return CheckAnswer(differences=space.admin.check())


@operation("POST", "/compact", "admin", slow=True)
def compact(space: Space, request: requests.EmptyRequest) -> CompactionReport:
    """Rebuild indexes and free disk space; ledger entries stay."""
    return space.admin.compact()


@operation("POST", "/rebuild", "admin", slow=True)
def rebuild(space: Space, request: requests.EmptyRequest) -> DoneAnswer:
    """Rebuild the indexes from the ledger."""
    space.rebuild()
    return DoneAnswer(done=True)


class CollectionAnswer(AnswerModel):
    """A collection of a vector server."""

    collection: str


@operation("POST", "/rebuild-collection", "admin", slow=True)
def rebuild_collection(space: Space, request: requests.EmptyRequest) -> CollectionAnswer:
    """Make the collection of a shared Qdrant again, and switch to it."""
    return CollectionAnswer(collection=space.admin.rebuild_collection())


@operation("POST", "/reextract", "admin", slow=True)
def reextract(space: Space, request: requests.ReextractRequest) -> Items[MemoryAnswer]:
    """Extract facts again from what was remembered."""
    return Items[MemoryAnswer].of_all(space.admin.reextract(request.id, now=request.now))


def export_file(space: Space, path: Path, request: requests.ExportRequest) -> TransferReport:
    """Write a space to a file of JSON lines; compressed if it ends in .gz."""
    return space.admin.export(path, children=request.children, vectors=request.vectors)

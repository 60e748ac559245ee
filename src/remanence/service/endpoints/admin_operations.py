"""The operations on a whole space: numbers, what changed, checks, compaction, export and import."""

from __future__ import annotations

from functools import partial
from itertools import islice
from pathlib import Path

from remanence.schema import PendingErasure, VerificationReport
from remanence.service.operation import method_operation, operation, view_of
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
from remanence.space.facets.admin_facet import Admin, AdminView
from remanence.space.facets.audit_facet import AuditView
from remanence.space.space import Space
from remanence.transfer.compaction import CompactionReport
from remanence.transfer.export_file import TransferReport


def count_unembedded(space: Space) -> int:
    """How many texts of a space have no vector yet."""
    return space.admin._unembedded()


_method = partial(method_operation, facet="admin", tag="admin")


class CheckAnswer(AnswerModel):
    """The indexes that differ from a fresh build, and how."""

    differences: dict[str, str]


stats = _method("GET", "/stats", AdminView.stats, "Count everything in a space.", StatsAnswer, past=True)


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


diff = _method(
    "GET", "/diff", AuditView.diff, "List what was learned between two moments.", DiffAnswer, facet="audit", past=True
)
exposures = _method(
    "GET",
    "/memories/{id}/exposures",
    AuditView.exposures,
    "List the recorded recalls that returned a memory which was replaced or forgotten since.",
    Items[ExposureAnswer],
    facet="audit",
    past=True,
)


pending_erasures = _method(
    "GET",
    "/erasures/pending",
    AuditView.pending_erasures,
    "List what is left of erased memories for now.",
    Items[PendingErasure],
    facet="audit",
)
verify = _method(
    "GET",
    "/verify",
    Space.verify,
    "Check that no ledger entry was tampered with.",
    VerificationReport,
    facet="",
    slow=True,
)


@operation("GET", "/check", "admin", slow=True)
def check(space: Space, request: requests.EmptyRequest) -> CheckAnswer:
    """Compare each index with a fresh build."""
    return CheckAnswer(differences=space.admin.check())


compact = _method(
    "POST",
    "/compact",
    Admin.compact,
    "Rebuild indexes and free disk space; ledger entries stay.",
    CompactionReport,
    "admin",
    slow=True,
)
rebuild = _method(
    "POST", "/rebuild", Space.rebuild, "Rebuild the indexes from the ledger.", DoneAnswer, "admin", facet="", slow=True
)


class CollectionAnswer(AnswerModel):
    """A collection of a vector server."""

    collection: str


@operation("POST", "/rebuild-collection", "admin", slow=True)
def rebuild_collection(space: Space, request: requests.EmptyRequest) -> CollectionAnswer:
    """Make the collection of a shared Qdrant again, and switch to it."""
    return CollectionAnswer(collection=space.admin.rebuild_collection())


reextract = _method(
    "POST",
    "/reextract",
    Admin.reextract,
    "Extract facts again from what was remembered.",
    Items[MemoryAnswer],
    "admin",
    slow=True,
)


def export_file(space: Space, path: Path, request: requests.ExportRequest) -> TransferReport:
    """Write a space to a file of JSON lines; compressed if it ends in .gz."""
    return space.admin.export(path, children=request.children, vectors=request.vectors)

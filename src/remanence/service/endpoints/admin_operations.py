"""The operations on a whole space: numbers, what changed, checks, compaction, export and import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field

from remanence.schema import Change
from remanence.service.operation import method_operation, operation
from remanence.service.requests import PageSize
from remanence.space.facets.admin_facet import Admin, AdminView
from remanence.space.facets.audit_facet import Audit, AuditView
from remanence.space.space import Space
from remanence.space.view import View
from remanence.transfer.export_file import TransferReport
from remanence.transfer.overview import Stats

T = TypeVar("T")


def count_unembedded(space: Space) -> int:
    """How many texts of a space have no vector yet."""
    return space.admin._unembedded()


def last_position(space: Space) -> int:
    """The present ledger position of a space."""
    with space._engine.open_index(space.name) as index:
        return index.catalog.position


@dataclass(frozen=True)
class ChangesPage:
    """What happened to memories after a ledger position, in order. `position` is the `after` of the next page;
    `has_more` says whether there is one already."""

    items: Sequence[Change]
    position: int
    has_more: bool


@operation("GET", "/changes", tools="audit")
def changes(view: View, after: Annotated[int, Field(ge=0)] = 0, limit: PageSize = 100) -> ChangesPage:
    """List what happened to memories after a ledger position, a page at a time."""
    with view._engine.open_index(view.name) as index:
        position = view._position(index)
    change_list = list(islice(view._engine.changes(view.name, after, position), limit + 1))
    more = len(change_list) > limit
    page = change_list[:limit]
    return ChangesPage(page, page[-1].position if more else max(position, after), more)


stats = method_operation("GET", "/stats", AdminView.stats)


def as_allowed(answer: T, *, admin: bool) -> T:
    """An answer as its caller may see it: only an admin is told where a space is stored."""
    return answer if admin or not isinstance(answer, Stats) else replace(answer, location=None)


browse = method_operation("POST", "/browse", AdminView.browse, limit=PageSize)
filter_values = method_operation("GET", "/browse/values", AdminView.filter_values)
recorded = method_operation("GET", "/recorded", AuditView.recorded)
told = method_operation("GET", "/recorded/block", AuditView.told, field="text")
diff = method_operation("GET", "/diff", AuditView.diff, tools="audit")
exposures = method_operation("GET", "/memories/{id}/exposures", AuditView.exposures, tools="audit")
pending_erasures = method_operation("GET", "/erasures/pending", AuditView.pending_erasures)
verify = method_operation("GET", "/verify", Space.verify, slow=True, tools="audit")
check = method_operation("GET", "/check", Admin.check, "admin", field="differences", slow=True)
compact = method_operation("POST", "/compact", Admin.compact, "admin", slow=True)
rebuild = method_operation("POST", "/rebuild", Space.rebuild, "admin", slow=True)
rebuild_collection = method_operation(
    "POST", "/rebuild-collection", Admin.rebuild_collection, "admin", field="collection", slow=True
)
reextract = method_operation("POST", "/reextract", Admin.reextract, "admin", slow=True)
quarantine = method_operation("POST", "/quarantines", Audit.quarantine, "admin", tools="audit")
quarantines = method_operation("GET", "/quarantines", Audit.quarantines, tools="audit")
release = method_operation("POST", "/quarantines/{id}/release", Audit.release, "admin", tools="audit")


def export_file(space: Space, path: Path, *, children: bool = False) -> TransferReport:
    """Write a space to a file of JSON lines; compressed if it ends in .gz."""
    return space.admin.export(path, children=children)

"""The facets of a remote space: entities, graph, jobs, audit and administration."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from remanence.errors import InvalidInput
from remanence.graph.traversal import Path, Subgraph
from remanence.index.engine import inputs
from remanence.index.journal import JobState, JobStatus
from remanence.recall.answer import Recall
from remanence.recall.receipts import Receipt
from remanence.recall.show import RelationList
from remanence.remember.jobs import Job
from remanence.schema import Change, Disagreement, Memory, Relation
from remanence.service.client.arguments import alias_to_json, like, make_request, to_list
from remanence.service.endpoints import (
    admin_operations,
    entity_operations,
    graph_operations,
    memory_operations,
    proposal_operations,
)
from remanence.service.endpoints.files import COUNTS, FileReport, FileRequest
from remanence.service.endpoints.memory_operations import JobReport
from remanence.service.noun_forms import adapter_of
from remanence.service.operation import Operation
from remanence.service.pages import make_cursor
from remanence.space.facets.admin_facet import Admin, AdminView
from remanence.space.facets.audit_facet import Audit, AuditView
from remanence.space.facets.entity_facet import Entities, EntitiesView, EntityPage, Registration, Revision
from remanence.space.facets.graph_facet import Graph
from remanence.space.facets.graph_view import GraphView
from remanence.space.facets.job_facet import Jobs
from remanence.space.facets.procedure_facet import Procedures, ProceduresView
from remanence.space.facets.proposal_facet import Proposal, Proposals, proposed_fields
from remanence.transfer.imports.importing import ImportReport
from remanence.transfer.jsonlines import file_to_write, named_errors

if TYPE_CHECKING:
    from remanence.service.client.remote_space import RemoteSpace


T = TypeVar("T")


class RemoteFacet:
    """A facet whose methods are done by a server."""

    def __init__(self, view: Any) -> None:
        self._view = view
        self._space = view.name
        self._now = view._now

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._space!r}>"

    def _ask(self, operation: Operation[T], /, **arguments: Any) -> T:
        found: T = self._view._ask(operation, **arguments)
        return found


@like(EntitiesView)
class RemoteEntitiesView(RemoteFacet):
    """The entities of a remote space at the moment of one view."""

    def list(self, kind: str | None = None, *, page: int = 1, page_size: int = 100) -> EntityPage:
        first = (inputs.check_positive_int(page, "page") - 1) * page_size
        cursor = make_cursor("entities", first) if first else None
        found = self._ask(entity_operations.list_entities, kind=kind, limit=page_size, cursor=cursor)
        return EntityPage(tuple(found.items), page, page_size, found.total)


@like(Entities)
class RemoteEntities(RemoteEntitiesView):
    """The entities of a remote space as they are now."""

    def register(
        self, name: str, aliases: Any = (), kind: str | None = None, *, observed_by: str | None = None
    ) -> Registration:
        given = [alias_to_json(alias) for alias in to_list(aliases)]
        options = {"aliases": given, "kind": kind, "observed_by": observed_by}
        return self._ask(entity_operations.register, name=name, **options)

    def undo(self, revision: Any, *, why: str | None = None, observed_by: str | None = None) -> Revision:
        position = revision.position if isinstance(revision, Revision | Registration) else revision
        if position is None:
            raise InvalidInput(f"{revision!r} wrote no ledger entry, so there is nothing to undo.")
        options = {"why": why, "observed_by": observed_by}
        return self._ask(entity_operations.undo_revision, position=position, **options)


_PICTURES = ("show", "save", "to_igraph", "to_networkx", "show_timeline")


@like(GraphView, *_PICTURES)
class RemoteGraphView(RemoteFacet):
    """The graph of a remote space at the moment of one view. Pictures are drawn here."""

    def path(self, start: Any, end: Any, depth: int = 6, at: Any = None) -> Path | None:
        found = self._ask(graph_operations.path, start=start, end=end, depth=depth, at=at)
        return found if found.nodes else None

    def when(self, subject: Any, predicate: str, object: Any = None) -> RelationList:
        given = {"subject": subject, "predicate": predicate, "object": object}
        return RelationList(self._ask(graph_operations.when, **given).items)

    def disagreements(self, kinds: Any = "conflict", *, memory: Any = None) -> list[tuple[Memory, Disagreement]]:
        pairs = self._ask(graph_operations.disagreements, kinds=to_list(kinds), memory=memory)
        return [(pair.memory, pair.disagreement) for pair in pairs]

    def _subgraph(self, start: Any, relations: Any = None, depth: int = 3, **part: Any) -> Subgraph:
        given = {"start": start, "relations": to_list(relations), "depth": depth, **part}
        return self._ask(graph_operations.graph, **given)

    def _relations_of(self, node: Any) -> list[Relation]:
        return list(self._ask(graph_operations.list_relations, node=node, limit=10_000).items)

    def _last_relations(self, limit: int) -> tuple[list[Relation], int]:
        page = self._ask(graph_operations.list_relations, limit=limit)
        return list(page.items), page.total


@like(Graph)
class RemoteGraph(RemoteGraphView):
    """The graph of a remote space as it is now."""


@like(Job, "__repr__", "problem", "usage", "_finished_state")
@dataclass(frozen=True)
class RemoteJob:
    """A job of a server."""

    if TYPE_CHECKING:
        _finished_state: ClassVar[Any]

    id: str
    space: str
    _space: RemoteSpace

    @classmethod
    def of(cls, space: RemoteSpace, answer: Any) -> RemoteJob:
        return cls(answer.id, answer.space, space)

    @property
    def status(self) -> str:
        return self._answer().status

    def cancel(self) -> bool:
        before = self.status
        after = self._space._ask(memory_operations.cancel_job, id=self.id)
        return bool(after.status == "cancelled" and before != "cancelled")

    def result(self, timeout: float | None = None) -> list[Memory]:
        self._finished_state(timeout)
        return [
            details.memory for details in self._space.get_many(self._answer().memories) if details.memory is not None
        ]

    def _state(self) -> JobState:
        answer = self._answer()
        status: JobStatus = "queued" if answer.status == "running" else answer.status
        usage = answer.usage
        spent = (usage.calls, usage.tokens_in, usage.tokens_out)
        return JobState(self.id, 0, status, answer.tries, 0, answer.problem, (), spent=spent)

    def _answer(self) -> JobReport:
        return self._space._ask(memory_operations.get_job, id=self.id)


@like(Jobs, "__iter__")
class RemoteJobs(RemoteFacet):
    """The jobs of a remote space. The server does them."""

    def list(self, status: str | None = None) -> list[RemoteJob]:
        jobs: list[RemoteJob] = []
        cursor = None
        while True:
            page = self._ask(memory_operations.list_jobs, status=status, cursor=cursor)
            jobs += [RemoteJob.of(self._view, job) for job in page.items]
            cursor = page.next_cursor
            if cursor is None:
                return jobs

    def get(self, id: str) -> RemoteJob:
        return RemoteJob.of(self._view, self._ask(memory_operations.get_job, id=id))

    def run_due(self) -> int:
        """Nothing: the server does its jobs itself."""
        return 0


@like(ProceduresView)
class RemoteProceduresView(RemoteFacet):
    """What worked for tasks, in a remote space at the moment of one view."""


@like(Procedures)
class RemoteProcedures(RemoteProceduresView):
    """What worked for tasks, in a remote space as it is now."""


@like(Proposals)
class RemoteProposals(RemoteFacet):
    """What others offer to a remote space."""

    def add(self, memory: Memory, *, by: str | None = None, note: str | None = None) -> Proposal:
        given = proposed_fields(memory, by)
        origin = {"origin_space": memory.space, "origin_memory": memory.id}
        return self._ask(proposal_operations.propose_memory, by=by, note=note, **origin, **given)

    def list(self, status: str | None = "open") -> list[Proposal]:
        return self._ask(proposal_operations.list_proposals, status=status)


@like(AuditView)
class RemoteAuditView(RemoteFacet):
    """Replaying recalls and listing changes of a remote space."""

    def replay(self, receipt: Receipt | Mapping[str, Any], *, vector: Any = None) -> Recall:
        given = receipt.to_dict() if isinstance(receipt, Receipt) else dict(receipt)
        return self._ask(memory_operations.replay, receipt=given, vector=vector).recall

    def changes(self, *, after_position: int = 0) -> Iterator[Change]:
        first = self._ask(admin_operations.changes, after=after_position, limit=1_000)
        return self._changes(first)

    def _changes(self, page: Any) -> Iterator[Change]:
        while True:
            yield from page.items
            if not page.has_more:
                return
            page = self._ask(admin_operations.changes, after=page.position, limit=1_000)


@like(Audit)
class RemoteAudit(RemoteAuditView):
    """Recording recalls of a remote space, and quarantine."""

    def record(self, recall: Recall) -> Receipt:
        receipt = recall.receipt if isinstance(recall, Recall) else None
        if receipt is None or receipt.space != self._space:
            raise InvalidInput(
                f"{recall!r} is not a recall of space {self._space!r}. Give the result of `recall()` of this space."
            )
        self._ask(memory_operations.record, receipt=receipt.to_dict(), memories=[hit.memory.id for hit in recall])
        return receipt


@like(AdminView)
class RemoteAdminView(RemoteFacet):
    """A remote space in numbers."""

    @property
    def location(self) -> str | None:
        """None: the folder is one of the server."""
        return None

    def _unembedded(self) -> int:
        return self._ask(admin_operations.stats).unembedded

    def _space_names(self) -> list[str]:
        return self._ask(memory_operations.spaces_below)


@like(Admin)
class RemoteAdmin(RemoteAdminView):
    """Maintenance of a remote space. Files are those of this machine."""

    def export(self, path: str | os.PathLike[str], *, children: bool = False, progress: Any = False) -> Any:
        """Write every ledger entry of this space to a file, which is compressed whatever its name."""
        file_path = inputs.check_unlinked_path(path, "path")
        with named_errors(file_path):
            written = file_to_write(file_path)
            descriptor, partial = tempfile.mkstemp(dir=written.parent)
        with open(descriptor, "wb") as file:
            try:
                self._view._connection.download(self._space, "/export", {"children": children}, file)
            except BaseException:
                os.unlink(partial)
                raise
        os.replace(partial, written)
        return file_path

    def import_from(self, source: Any, *, progress: Any = False, **options: Any) -> Any:
        """Send a file to the server, and import it there: also an export of Remanence, a text or JSON lines."""
        file_path = inputs.check_unlinked_path(source, "source")
        if not file_path.is_file():
            raise InvalidInput(f"{file_path} is not a file. Only single files can be sent to a server: zip a folder.")
        request = make_request(FileRequest, name=file_path.name, **options)
        read = adapter_of(FileReport).validate_json
        with file_path.open("rb") as file:
            fields = request.model_dump(mode="json", exclude_unset=True)
            done = self._view._connection.upload(self._space, "/files", fields, file, read)
        given = {name: getattr(done, name) for name in COUNTS}
        spaces = {self._space: done.added + done.changed}
        return ImportReport(path=str(file_path), kind=done.kind, spaces=spaces, skipped=done.skipped, **given)

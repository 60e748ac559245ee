"""The facets of a remote space: entities, graph, jobs, audit and administration."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from remanence.errors import InvalidInput, NotFound
from remanence.graph.entity_map import EntityMap
from remanence.graph.history import Timeline
from remanence.graph.traversal import Subgraph
from remanence.index.engine import inputs
from remanence.index.journal import JobState, JobStatus
from remanence.recall.answer import Recall
from remanence.recall.receipts import Receipt
from remanence.recall.show.recall_tables import RelationList
from remanence.remember.jobs import Job
from remanence.schema import Change, Disagreement, Entity, Memory, Relation
from remanence.service.client.arguments import alias_to_json, done_by, like, make_request, to_list
from remanence.service.cursors import make_cursor
from remanence.service.endpoints import (
    admin_operations,
    entity_operations,
    graph_operations,
    map_operations,
    memory_operations,
    upkeep_operations,
)
from remanence.service.endpoints.files import FileAnswer
from remanence.service.operation import AnswerT, Operation
from remanence.service.payloads import requests as ask
from remanence.space.facets.admin_facet import Admin, AdminView
from remanence.space.facets.audit_facet import Audit, AuditView
from remanence.space.facets.entity_facet import (
    Entities,
    EntitiesView,
    EntityPage,
    Registration,
    Revision,
    SimilarEntity,
)
from remanence.space.facets.graph_facet import Graph, GraphView
from remanence.space.facets.job_facet import Jobs
from remanence.transfer.imports.importing import ImportReport
from remanence.transfer.overview import ListedStatus

if TYPE_CHECKING:
    from remanence.service.client.remote_space import RemoteSpace


class RemoteFacet:
    """A facet whose methods are done by a server."""

    def __init__(self, view: Any) -> None:
        self._view = view
        self._space = view.name
        self._now = view._now

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._space!r}>"

    def _read(self, operation: Operation[Any, AnswerT], /, **arguments: Any) -> AnswerT:
        answer: AnswerT = self._view._read(operation, **arguments)
        return answer

    def _call(self, operation: Operation[Any, AnswerT], /, **arguments: Any) -> AnswerT:
        answer: AnswerT = self._view._call(operation, **arguments)
        return answer

    def _send(self, operation: Operation[Any, AnswerT], /, **arguments: Any) -> AnswerT:
        answer: AnswerT = self._view._send(operation, **arguments)
        return answer


@like(EntitiesView)
class RemoteEntitiesView(RemoteFacet):
    """The entities of a remote space at the moment of one view."""

    def resolve(self, alias: Any, at: Any = None) -> Entity | None:
        return self._one(entity_operations.resolve, alias=alias, at=at)

    def get(self, id: Any) -> Entity | None:
        return self._one(entity_operations.get_entity, id=id)

    def _one(self, operation: Any, **arguments: Any) -> Entity | None:
        try:
            entity: Entity = self._read(operation, **arguments).to_value()
        except NotFound:
            return None
        return entity

    def list(self, kind: str | None = None, *, page: int = 1, page_size: int = 100) -> EntityPage:
        first = (inputs.check_positive_int(page, "page") - 1) * page_size
        cursor = make_cursor("entities", first) if first else None
        return self._read(entity_operations.list_entities, kind=kind, limit=page_size, cursor=cursor).to_page(
            page, page_size
        )

    def find_similar(self, name: str, limit: int = 5) -> tuple[SimilarEntity, ...]:
        return tuple(self._read(entity_operations.propose, name=name, limit=limit).to_value())


@like(Entities)
class RemoteEntities(RemoteEntitiesView):
    """The entities of a remote space as they are now."""

    def register(
        self, name: str, aliases: Any = (), kind: str | None = None, *, observed_by: str | None = None
    ) -> Registration:
        given = [alias_to_json(alias) for alias in to_list(aliases)]
        answer = self._send(entity_operations.register, name=name, aliases=given, kind=kind, observed_by=observed_by)
        made: Registration = answer.to_value()
        return made

    rename = done_by(entity_operations.rename, Entities.rename)
    merge = done_by(entity_operations.merge, Entities.merge)
    split = done_by(entity_operations.split, Entities.split)

    def undo(self, revision: Any, *, why: str | None = None, observed_by: str | None = None) -> Revision:
        position = revision.position if isinstance(revision, Revision | Registration) else revision
        if position is None:
            raise InvalidInput(f"{revision!r} wrote no ledger entry, so there is nothing to undo.")
        answer = self._send(entity_operations.undo_revision, position=position, why=why, observed_by=observed_by)
        made: Revision = answer.to_value()
        return made


_PICTURES = ("show", "save", "to_igraph", "to_networkx", "show_timeline", "save_timeline")


@like(GraphView, *_PICTURES)
class RemoteGraphView(RemoteFacet):
    """The graph of a remote space at the moment of one view. Pictures are drawn here."""

    query = done_by(graph_operations.query, GraphView.query)
    path = done_by(graph_operations.path, GraphView.path)

    def when(self, subject: Any, predicate: str, object: Any = None) -> RelationList:
        return RelationList(
            self._read(graph_operations.when, subject=subject, predicate=predicate, object=object).to_value()
        )

    def disagreements(self, kinds: Any = "conflict", *, memory: Any = None) -> list[tuple[Memory, Disagreement]]:
        items = self._read(graph_operations.disagreements, kinds=to_list(kinds), memory=memory).items
        return [(item.memory.to_value(), item.disagreement.to_value()) for item in items]

    def entity_map(self, *, limit: int = 5_000) -> EntityMap:
        return self._read(map_operations.entity_map, limit=limit)

    temporal_join = done_by(graph_operations.join, GraphView.temporal_join)
    timeline = done_by(graph_operations.timeline, GraphView.timeline, Timeline)
    memories = done_by(graph_operations.graph_memories, GraphView.memories)

    def _subgraph(self, start: Any, relations: Any, depth: int, at: Any, limit: int) -> Subgraph:
        given = {"start": start, "relations": to_list(relations), "depth": depth, "at": at, "limit": limit}
        found: Subgraph = self._read(graph_operations.graph, **given).to_value()
        return found

    def _relations_of(self, node: Any) -> list[Relation]:
        return self._read(graph_operations.list_relations, node=node, limit=10_000).to_value()

    def _all_relations(self) -> list[Relation]:
        return self._read(graph_operations.list_relations, limit=10_000).to_value()


@like(Graph)
class RemoteGraph(RemoteGraphView):
    """The graph of a remote space as it is now."""

    relate = done_by(graph_operations.relate, Graph.relate)

    link = done_by(graph_operations.link, Graph.link)
    declare = done_by(graph_operations.declare, Graph.declare)
    invalidate = done_by(graph_operations.invalidate, Graph.invalidate, list)
    invalidate_edge = done_by(graph_operations.invalidate_edge, Graph.invalidate_edge, list)
    erase = done_by(graph_operations.erase_edge, Graph.erase)


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
        found: str = self._answer().status
        return found

    def cancel(self) -> bool:
        before = self.status
        after = self._space._send(memory_operations.cancel_job, id=self.id)
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

    def _answer(self) -> Any:
        return self._space._send(memory_operations.get_job, id=self.id)


@like(Jobs, "__iter__")
class RemoteJobs(RemoteFacet):
    """The jobs of a remote space. The server does them."""

    def list(self, status: str | None = None) -> list[RemoteJob]:
        jobs: list[RemoteJob] = []
        cursor = None
        while True:
            page = self._send(memory_operations.list_jobs, status=status, cursor=cursor)
            jobs += [RemoteJob.of(self._view, job) for job in page.items]
            cursor = page.next_cursor
            if cursor is None:
                return jobs

    def get(self, id: str) -> RemoteJob:
        return RemoteJob.of(self._view, self._send(memory_operations.get_job, id=id))

    def run_due(self) -> int:
        """Nothing: the server does its jobs itself."""
        return 0

    spent = done_by(memory_operations.spent, Jobs.spent)


@like(AuditView)
class RemoteAuditView(RemoteFacet):
    """Replaying recalls and listing changes of a remote space."""

    def replay(self, receipt: Receipt | Mapping[str, Any], *, vector: Any = None) -> Recall:
        given = receipt.to_dict() if isinstance(receipt, Receipt) else dict(receipt)
        return self._read(memory_operations.replay, receipt=given, vector=vector).to_value()

    exposures = done_by(admin_operations.exposures, AuditView.exposures)
    diff = done_by(admin_operations.diff, AuditView.diff)

    def changes(self, *, after_position: int = 0) -> Iterator[Change]:
        first = self._read(admin_operations.changes, after=after_position, limit=1_000)
        return self._changes(first)

    def _changes(self, page: Any) -> Iterator[Change]:
        while True:
            yield from (change.to_value() for change in page.items)
            if not page.has_more:
                return
            page = self._read(admin_operations.changes, after=page.position, limit=1_000)

    pending_erasures = done_by(admin_operations.pending_erasures, AuditView.pending_erasures)


@like(Audit)
class RemoteAudit(RemoteAuditView):
    """Recording recalls of a remote space, and quarantine."""

    def record(self, recall: Recall) -> Receipt:
        receipt = recall.receipt if isinstance(recall, Recall) else None
        if receipt is None or receipt.space != self._space:
            raise InvalidInput(
                f"{recall!r} is not a recall of space {self._space!r}. Give the result of `recall()` of this space."
            )
        self._send(memory_operations.record, receipt=receipt.to_dict(), memories=[hit.memory.id for hit in recall])
        return receipt

    quarantine = done_by(upkeep_operations.quarantine, Audit.quarantine)
    release = done_by(upkeep_operations.release, Audit.release)
    quarantines = done_by(upkeep_operations.quarantines, Audit.quarantines)


@like(AdminView)
class RemoteAdminView(RemoteFacet):
    """A remote space in numbers."""

    @property
    def location(self) -> str | None:
        """None: the folder is one of the server."""
        return None

    stats = done_by(admin_operations.stats, AdminView.stats)

    def _unembedded(self) -> int:
        unembedded: int = self._read(admin_operations.stats).unembedded
        return unembedded

    def _space_names(self) -> list[str]:
        names: list[str] = self._send(memory_operations.spaces_below).spaces
        return names


@like(Admin, "export_okf")
class RemoteAdmin(RemoteAdminView):
    """Maintenance of a remote space. Files are those of this machine."""

    def check(self) -> dict[str, str]:
        return self._send(admin_operations.check).differences

    compact = done_by(admin_operations.compact, Admin.compact)

    def rebuild_collection(self) -> str:
        return self._send(admin_operations.rebuild_collection).collection

    reextract = done_by(admin_operations.reextract, Admin.reextract)

    def export(
        self, path: str | os.PathLike[str], *, children: bool = False, vectors: bool = False, progress: Any = False
    ) -> Any:
        """Write every ledger entry of this space to a file, which is compressed whatever its name."""
        file_path = inputs.check_path(path, "path")
        request = ask.ExportRequest(children=children, vectors=vectors)
        with tempfile.NamedTemporaryFile(dir=file_path.parent, delete=False) as file:
            try:
                self._view._connection.download(self._space, "/export", request.model_dump(mode="json"), file.file)
            except BaseException:
                os.unlink(file.name)
                raise
        os.replace(file.name, file_path)
        return file_path

    def _listed(self, status: ListedStatus) -> Iterable[Memory]:
        listed: Iterable[Memory] = self._view.memories(status)
        return listed

    def import_from(self, source: Any, *, progress: Any = False, **options: Any) -> Any:
        """Send a file to the server, and import it there: also an export of Remanence, a text or JSON lines."""
        file_path = inputs.check_path(source, "source")
        if not file_path.is_file():
            raise InvalidInput(f"{file_path} is not a file. Only single files can be sent to a server: zip a folder.")
        request = make_request(ask.FileRequest, name=file_path.name, **options)
        with file_path.open("rb") as file:
            fields = request.model_dump(mode="json", exclude_unset=True)
            done = self._view._connection.upload(self._space, "/files", fields, file, FileAnswer.model_validate_json)
        return ImportReport(
            str(file_path),
            done.kind,
            done.added,
            done.changed,
            done.unchanged,
            {self._space: done.added + done.changed},
            tuple(done.skipped),
            done.complete,
            **done.model_dump(include={"dry_run", "kinds", "speakers", "first", "last"}),
        )

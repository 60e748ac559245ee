"""What the operations take. Each field is an argument of the method of the same name of a space or its facets.

Moments are text: "2026-05-01", "2026-05-01T09:00:00+00:00" or "last May". A field that is left out has the default of
the method. What a value has to be beyond its type is checked by the method, whose message names it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from remanence.admin.imports.records import ImportFormat
from remanence.schema import MemoryKind
from remanence.upkeep.steps.memory_clusters import MAX_CLUSTER_SIZE

Weight = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=512)]
PageSize = Annotated[int, Field(ge=1, le=1_000)]
MAX_ITEMS = 100_000
"""The most items of a list in a request. One for each few bytes of a body would need memory for millions of them."""
MAX_TEXTS_TO_EMBED = 1_000
"""The most texts that are embedded at once: the answer has some kilobytes for each."""
ItemT = TypeVar("ItemT")
ListOf = Annotated[list[ItemT], Field(fail_fast=True, max_length=MAX_ITEMS)]
"""A list that is read up to its first mistake, and is not too long."""
Names = ListOf[str]


class Request(BaseModel):
    """The arguments of an operation. A field that does not exist is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def provided_fields(self, *without: str) -> dict[str, Any]:
        """The fields that were given, by name, for the method of a space."""
        return {name: getattr(self, name) for name in self.model_fields_set if name not in without}


class ReadRequest(Request):
    """The arguments of an operation that reads."""

    as_of: str | None = Field(default=None, description="Answer as the space was known at this moment.")


class EmptyRequest(Request):
    """An operation without arguments."""


class IdRequest(Request):
    """One memory, or one job."""

    id: Name = Field(description="Its id.")


class IdReadRequest(ReadRequest):
    """One memory, or one entity."""

    id: Name = Field(description="Its id.")


# Writing memories


class AddRequest(Request):
    """A text to store, as for `Space.add`."""

    text: str
    key: str | None = None
    kind: MemoryKind | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    importance: Weight | None = None
    confidence: Weight | None = None
    tags: Names | None = None
    source: str | None = None
    observed_by: str | None = None
    expires_at: str | None = None
    entities: ListOf[str | tuple[str, str]] | None = None
    triples: ListOf[tuple[str, str, str]] | None = None
    meta: dict[str, Any] | None = None
    now: str | None = None
    passages: ListOf[tuple[int, int]] | None = None
    strength: Annotated[float, Field(ge=1, le=2)] | None = None
    trust: str | float | None = None


class AddManyRequest(Request):
    """Texts to store. All are checked before any is stored."""

    rows: ListOf[AddRequest]


class TurnRequest(Request):
    """A chat turn, as for `Space.add_turns`."""

    content: str
    speaker: str | None = None
    role: str | None = None
    time: str | None = None
    conversation: str | None = None
    before: str | None = None
    key: str | None = None
    tags: Names | None = None
    expires_at: str | None = None
    trust: str | float | None = None
    meta: dict[str, Any] | None = None


class AddTurnsRequest(Request):
    """Chat turns to store verbatim."""

    turns: ListOf[TurnRequest]
    now: str | None = None


class RememberRequest(Request):
    """A text, or chat turns, to be stored with the facts that are found in it. Give one of `text` and `turns`."""

    text: str | None = None
    turns: ListOf[TurnRequest] | None = None
    now: str | None = None
    source: str | None = None
    observed_by: str | None = None


class RelatedMemoryRequest(IdRequest):
    """A memory to erase or to show again; with `with_related`, also the texts it was found in and its own facts."""

    with_related: bool = False


class ForgetRequest(RelatedMemoryRequest):
    """A memory to hide from now on."""

    why: str | None = None


class MemoryIdsRequest(Request):
    """Several memories."""

    ids: ListOf[Name]


class RelatedMemoryIdsRequest(MemoryIdsRequest):
    """Memories to erase; with `with_related`, also the texts they were found in."""

    with_related: bool = False


class ForgetManyRequest(RelatedMemoryIdsRequest):
    """Memories to hide from now on."""

    why: str | None = None


class TouchRequest(IdRequest):
    """A memory that was used."""

    boost: bool = False


class UsageRequest(MemoryIdsRequest):
    """Memories that were of use, and tags of what they were used for."""

    context_tags: Names = Field(default_factory=list)


class JobsRequest(Request):
    """Which jobs to list."""

    status: Literal["queued", "running", "waiting", "done", "given up", "cancelled"] | None = None
    limit: PageSize = 100
    cursor: str | None = None


# Reading memories


class RecallBody(ReadRequest):
    """A question, as for `View.recall`. `explain` also returns the text of `explain()`."""

    query: str = ""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 10
    during: str | tuple[str | None, str | None] | None = None
    history: bool | Literal["auto"] = "auto"
    kinds: str | Names | None = None
    tags: str | Names | None = None
    source: str | Names | None = None
    speaker: str | Names | None = None
    conversation: str | Names | None = None
    meta: dict[str, Any] | None = None
    informative_only: bool = False
    exclude_texts: Names | None = None
    since: str | None = None
    min_score: Weight | None = None
    context: ListOf[str | dict[str, str]] = Field(default_factory=list)
    min_trust: str | float | None = None
    without: str | Names | None = None
    now: str | None = None
    include: ListOf[Literal["archive", "vault", "review"]] = Field(default_factory=list)
    signals: Names | None = None
    weights: dict[str, float] | None = None
    vector: ListOf[float] | None = None
    reader: Literal["small", "none"] | None = None
    deadline: Annotated[float, Field(gt=0, le=3_600)] | None = None
    explain: bool = False


class ReplayRequest(ReadRequest):
    """The receipt of an earlier recall, and its vector if that was the caller's."""

    receipt: dict[str, Any]
    vector: ListOf[float] | None = None


class RecordRequest(Request):
    """The receipt of a recall whose hits were given to a user or a model, and the ids of the memories in it."""

    receipt: dict[str, Any]
    memories: ListOf[Name]


class MemoryIdsReadRequest(ReadRequest):
    """Several memories."""

    ids: ListOf[Name]


class FindRequest(ReadRequest):
    """The key of a memory."""

    key: str


class ListRequest(ReadRequest):
    """Which memories to list, a page at a time. `meta` is a filter as JSON text."""

    status: Literal["current", "superseded", "expired", "archived", "forgotten", "promoted"] | None = None
    kinds: ListOf[MemoryKind] | None = None
    tags: Names | None = None
    source: Names | None = None
    speaker: Names | None = None
    conversation: Names | None = None
    meta: str | None = None
    since: str | None = None
    limit: PageSize = 100
    cursor: str | None = None


class NodeRequest(ReadRequest):
    """A memory or an entity, by its id or name."""

    node: Name


class ProfileRequest(ReadRequest):
    """How long a profile may be, and its topics: "person", "project", or questions by topic as JSON text."""

    max_tokens: Annotated[int, Field(ge=1, le=100_000)] = 600
    topics: str | None = None


class EmbedRequest(Request):
    """Texts to embed with the embedder of the space; with `query`, as questions."""

    texts: Annotated[Names, Field(max_length=MAX_TEXTS_TO_EMBED)]
    query: bool = False


class ChangesRequest(ReadRequest):
    """The last ledger position that was seen."""

    after: Annotated[int, Field(ge=0)] = 0
    limit: PageSize = 100


class DiffRequest(ReadRequest):
    """Two moments of learning; without `until`, up to now."""

    since: str
    until: str | None = None


# Upkeep and administration

Step = Literal["decay", "gc", "clusters", "consolidate", "promote", "discover"]


class AtRiskRequest(Request):
    """How many memories to list; without a limit, all."""

    limit: Annotated[int, Field(ge=1)] | None = None


class ClustersRequest(Request):
    """How similar the memories of a cluster are at least, and how many it has at most."""

    similarity: Weight | None = None
    duplicates: bool = False
    max_size: int = Field(default=MAX_CLUSTER_SIZE, ge=2, le=MAX_CLUSTER_SIZE)


class UpkeepPreviewRequest(Request):
    """What to plan: several steps as one run (`steps`), or one step alone. `mode` and `limit` are for "gc", `clusters`
    (their ids) for "consolidate" and "link", `ids` for "promote". `settings` replaces settings of upkeep."""

    step: Literal["run", "gc", "consolidate", "link", "promote", "discover"] = "run"
    steps: ListOf[Step] | None = None
    mode: Literal["forget", "archive"] | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    clusters: Names | None = None
    ids: Names | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class UpkeepApplyRequest(Request):
    """The id of a plan."""

    plan: str


class UpkeepUndoRequest(Request):
    """The id of a run."""

    run: str


class QuarantineRequest(Request):
    """A source to hide everything from; with `dry_run`, only show what would be hidden."""

    source: str
    why: str | None = None
    dry_run: bool = True


class ReleaseRequest(IdRequest):
    """A quarantine to undo."""

    why: str | None = None


class ReextractRequest(Request):
    """One source, or without an id all of them."""

    id: str | None = None
    now: str | None = None


class ExportRequest(Request):
    """What an export contains in addition to the entries of the space."""

    children: bool = False
    vectors: bool = False


class FileRequest(Request):
    """The name of a file, from which its kind and its source are taken; and how to read it, as for
    `admin.import_from`."""

    name: Name
    format: Literal["text", "rows", "turns"] | ImportFormat | None = None
    user: str | None = None
    users: Literal["separate", "together"] | None = None
    branches: bool = False
    observed_by: str | None = None
    date_order: Literal["DMY", "MDY", "YMD"] | None = None
    dry_run: bool = False

"""What the operations take. Each field is an argument of the method of the same name of a space or its facets.

Moments are text: "2026-05-01", "2026-05-01T09:00:00+00:00" or "last May". A field that is left out has the default of
the method. What a value has to be beyond its type is checked by the method, whose message names it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from remanence.index.engine.row_filter import RecallOptions
from remanence.remember.add_options import AddOptions, TurnOptions
from remanence.schema import MemoryKind
from remanence.service.payloads.base_requests import ListOf, Name, Names, PageSize, ReadRequest, Request, request_of
from remanence.transfer.imports.records import ImportFormat

MAX_TEXTS_TO_EMBED = 1_000
"""The most texts that are embedded at once: the answer has some kilobytes for each."""


class EmptyRequest(Request):
    """An operation without arguments."""


class IdRequest(Request):
    """One memory, or one job."""

    id: Name = Field(description="Its id.")


class IdReadRequest(ReadRequest):
    """One memory, or one entity."""

    id: Name = Field(description="Its id.")


# Writing memories


class AddRequest(request_of(AddOptions)):  # type: ignore[misc]
    """A text to store, as for `Space.add`."""


class AddManyRequest(Request):
    """Texts to store. All are checked before any is stored. With `wait` false, vectors are made later."""

    rows: ListOf[AddRequest]
    wait: bool = True


class TurnRequest(request_of(TurnOptions)):  # type: ignore[misc]
    """A chat turn, as for `Space.add_turns`."""


class AddTurnsRequest(Request):
    """Chat turns to store verbatim. With `wait` false, vectors are made later."""

    turns: ListOf[TurnRequest]
    now: str | None = None
    wait: bool = True


class RememberRequest(Request):
    """A text, or chat turns, to be stored with the facts that are found in it. Give one of `text` and `turns`."""

    text: str | None = None
    turns: ListOf[TurnRequest] | None = None
    now: str | None = None
    source: str | None = None
    observed_by: str | None = None


class QueueRequest(RememberRequest):
    """What to remember in the background; with `quiet`, a chat once it has been quiet or has grown."""

    quiet: bool = False


class MemoryIdsRequest(Request):
    """Several memories."""

    ids: ListOf[Name]


class JobsRequest(Request):
    """Which jobs to list."""

    status: Literal["queued", "running", "waiting", "done", "given up", "cancelled"] | None = None
    limit: PageSize = 100
    cursor: str | None = None


# Reading memories


class RecallBody(ReadRequest, request_of(RecallOptions)):  # type: ignore[misc]
    """A question, as for `View.recall`. `explain` also returns the text of `explain()`."""

    query: str = ""
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


# Upkeep and administration

Step = Literal["decay", "gc", "clusters", "consolidate", "promote", "discover"]


class AtRiskRequest(Request):
    """How many memories to list; without a limit, all."""

    limit: Annotated[int, Field(ge=1)] | None = None


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

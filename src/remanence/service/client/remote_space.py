"""`RemoteSpace` and `RemoteView`: the methods of `Space` and `View`, done by a server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import httpx

from remanence.errors import InvalidInput
from remanence.hooks import missing_attribute
from remanence.index.engine.inputs import child_name
from remanence.recall.answer import Recall
from remanence.recall.profile import Profile
from remanence.recall.show import Memories
from remanence.recall.topics import topics_to_json
from remanence.remember.add_options import AddOptions, TurnOptions, parse_conversation, parse_turn
from remanence.schema import FoundFacts, Memory
from remanence.service.client.arguments import like, make_request, to_json, to_list
from remanence.service.client.http_connection import Connection
from remanence.service.client.remote_facets import (
    RemoteAdmin,
    RemoteAdminView,
    RemoteAudit,
    RemoteAuditView,
    RemoteEntities,
    RemoteEntitiesView,
    RemoteGraph,
    RemoteGraphView,
    RemoteJob,
    RemoteJobs,
    RemoteProcedures,
    RemoteProceduresView,
    RemoteProposals,
)
from remanence.service.client.remote_upkeep import RemoteUpkeep
from remanence.service.endpoints import memory_operations
from remanence.service.endpoints.memory_operations import MAX_TEXTS_TO_EMBED
from remanence.service.hosting.spaces import to_segment
from remanence.service.operation import Operation
from remanence.service.requests import ReadRequest
from remanence.space.space import Space
from remanence.space.view import View
from remanence.text.temporal import parse_moment

if TYPE_CHECKING:
    from remanence.ports import Progress

T = TypeVar("T")

if TYPE_CHECKING:  # a type checker sees the methods of the local classes, with their signatures
    from remanence.space.space import Space as _Space
    from remanence.space.view import View as _View
else:
    _View = _Space = object


@like(
    View,
    "for_prompt",
    entities=RemoteEntitiesView,
    graph=RemoteGraphView,
    audit=RemoteAuditView,
    admin=RemoteAdminView,
    procedures=RemoteProceduresView,
)
class RemoteViewBase(_View):
    """Reading a space of a server, now or as of a moment."""

    _connection: Connection

    if not TYPE_CHECKING:  # for a type checker every attribute would be there
        __getattr__ = missing_attribute

    def _set_up(self, connection: Connection, name: str, moment: datetime | None) -> None:
        self._connection, self._space, self._moment = connection, name, moment
        self._now = self._server_now

    @property
    def name(self) -> str:
        return self._space

    @property
    def _storage(self) -> object:
        return self._connection

    def __repr__(self) -> str:
        moment = "" if self._moment is None else f" as of {self._moment.isoformat()}"
        return f"<{type(self).__name__} {self.name!r} at {self._connection.url}{moment}>"

    @property
    def _as_of(self) -> str | None:
        return None if self._moment is None else self._moment.isoformat()

    def _ask(self, operation: Operation[T], /, **arguments: Any) -> T:
        """What the server answers; as of the moment of this view, if the operation can be asked of the past."""
        if issubclass(operation.request, ReadRequest):
            arguments["as_of"] = self._as_of
        return self._connection.call(operation, self.name, make_request(operation.request, **arguments))

    def _server_now(self) -> datetime:
        return self._ask(memory_operations.now)

    def _embed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        vectors: list[list[float]] = []
        for start in range(0, len(texts), MAX_TEXTS_TO_EMBED):
            part = list(texts[start : start + MAX_TEXTS_TO_EMBED])
            found = self._ask(memory_operations.embed, texts=part, query=query)
            vectors += found
        return vectors

    def recall(self, query: str = "", *, include: Any = (), weights: Any = None, **options: Any) -> Recall:
        if not isinstance(query, str):
            raise InvalidInput(f"{query!r} is of type {type(query).__name__}, not a question. Give text.")
        given = {"query": query, "include": to_list(include), "weights": _numbers(weights), **options}
        return self._ask(memory_operations.recall, **given).recall

    def recent(self, *, include: Any = (), **options: Any) -> Recall:
        return self._ask(memory_operations.list_recent, include=to_list(include), **options).recall

    def _recall_union(self, names: Sequence[str], query: str, options: Mapping[str, Any]) -> Recall:
        """What the server answers of this space and of others of it."""
        given = {**options, "weights": _numbers(options.get("weights")), "include": to_list(options.get("include", ()))}
        return self._ask(memory_operations.union_recall, spaces=names, query=query, **given).recall

    def memories(self, status: Any = None, *, meta: Mapping[str, Any] | None = None, **filters: Any) -> Memories:
        text = None if meta is None else json.dumps(to_json(meta))
        # The arguments are checked here, not when the first memory is asked for.
        asked = make_request(memory_operations.list_memories.request, status=status, meta=text, limit=1_000, **filters)
        given = asked.provided_fields()
        if any(given.get(name) == [] for name in ("kinds", "source", "speaker", "conversation")):
            return Memories(iter(()))  # an address has no empty lists: all would be listed
        return Memories(self._pages(**given))

    def _pages(self, **arguments: Any) -> Iterator[Memory]:
        cursor = None
        while True:
            page = self._ask(memory_operations.list_memories, cursor=cursor, **arguments)
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return

    def profile(self, *, max_tokens: int = 600, topics: Any = None, progress: Any = False) -> Profile:
        asked = None if topics is None else topics_to_json(topics)
        return self._ask(memory_operations.profile, max_tokens=max_tokens, topics=asked)

    def as_of(self, moment: Any) -> View:
        return RemoteView(self._connection, self.name, parse_moment(moment, self._now(), argument="as_of"))


class RemoteView(RemoteViewBase):
    """A space of a server as it was known at one moment."""

    def __init__(self, connection: Connection, name: str, moment: datetime) -> None:
        self._set_up(connection, name, moment)


@like(
    Space,
    *("__enter__", "__exit__", "__aenter__", "__aexit__"),
    entities=RemoteEntities,
    graph=RemoteGraph,
    audit=RemoteAudit,
    admin=RemoteAdmin,
    jobs=RemoteJobs,
    procedures=RemoteProcedures,
    proposals=RemoteProposals,
    upkeep=RemoteUpkeep,
)
class RemoteSpace(RemoteViewBase, _Space):
    """A space of a server, with the methods of `Space`. `remanence.connect` makes one."""

    def __init__(self, connection: Connection, name: str, *, root: bool = False) -> None:
        self._set_up(connection, name, None)
        self._root = root

    def add_many(
        self, rows: Iterable[str | Mapping[str, Any]], *, wait: bool = True, progress: bool | Progress = False
    ) -> list[Memory]:
        given = [_row(row) for row in _listed(rows)]
        return self._ask(memory_operations.add_many, rows=given, wait=wait)

    def add_turns(
        self,
        turns: Iterable[Mapping[str, Any]],
        *,
        wait: bool = True,
        progress: bool | Progress = False,
        now: Any = None,
    ) -> list[Memory]:
        checked = [parse_turn(turn, row=number) for number, turn in enumerate(_listed(turns), 1)]
        given = [_turn(turn) for turn in checked]
        return self._ask(memory_operations.add_turns, turns=given, now=now, wait=wait)

    def remember(
        self,
        text_or_turns: Any,
        *,
        wait: bool | Literal["quiet"] = True,
        now: Any = None,
        source: str | None = None,
        observed_by: str | None = None,
        progress: bool | Progress = False,
    ) -> Any:
        # Message objects of frameworks become turns here.
        checked = parse_conversation(text_or_turns, source=source, observed_by=observed_by)
        if isinstance(checked, AddOptions):
            content: dict[str, Any] = {"text": checked.text, "source": source, "observed_by": observed_by}
        else:
            content = {"turns": [_turn(turn) for turn in checked]}
        if wait is not True:
            quiet = wait == "quiet"
            return RemoteJob.of(self, self._ask(memory_operations.remember, now=now, quiet=quiet, **content))
        report = self._ask(memory_operations.remember_now, now=now, **content)
        return FoundFacts(report.memories, report.status, report.problem)

    def child(self, *path: str) -> Space:
        return RemoteSpace(self._connection, child_name(self.name, path))

    def close(self) -> None:
        if self._root:
            self._connection.close()


def connect(
    url: str,
    *,
    token: str | None = None,
    space: str | None = None,
    timeout: float = 60.0,
    transport: httpx.BaseTransport | None = None,
) -> RemoteSpace:
    """Connect to a server that `remanence serve` runs.

    Args:
        url: The address of the server, such as "http://127.0.0.1:8765".
        token: A token, as `remanence tokens create` prints it.
        space: The full name of a space, such as "default/users/bob"; "default" if left out.
        timeout: How many seconds an answer may take. Operations that are known to be slow may take ten minutes.
        transport: What brings requests to the server, for tests: a transport of httpx. By default the network.

    Returns:
        A space with the methods and facets of one that `remanence.open` returns; every adapter takes it. What the
        server answers with an error raises the same exception here.

    Raises:
        InvalidInput: An argument is not what it should be.
        LedgerUnavailable: The server does not answer.
    """
    name = space or "default"
    to_segment(name)
    opened = RemoteSpace(Connection(url, token, timeout, transport), name, root=True)
    opened._server_now()  # raises an error if the address, the token or the space is not right
    return opened


def _listed(rows: Any) -> list[Any]:
    if isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        raise InvalidInput(f"{rows!r} is of type {type(rows).__name__}, not a list. Give a list.")
    return list(rows)


def _row(row: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(row, str):
        return {"text": row}
    if not isinstance(row, Mapping):
        raise InvalidInput(f"{row!r} is of type {type(row).__name__}, neither a text nor a dict.")
    fields = {name: to_json(value) for name, value in row.items() if value is not None}
    return fields | ({"tags": to_list(fields["tags"])} if "tags" in fields else {})


def _turn(turn: TurnOptions) -> dict[str, Any]:
    return {name: to_json(getattr(turn, name)) for name in turn.model_fields_set if getattr(turn, name) is not None}


def _numbers(weights: Any) -> Any:
    return None if weights is None else dict(weights)

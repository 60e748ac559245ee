"""`Memory` and `AsyncMemory` with the methods, parameters and results of mem0 2.2, stored in spaces of Remanence.

Each combination of user, agent and run has a space of its own: `users/alice/agents/travel`. A filter that names a user
searches the spaces of this user and no others.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import wraps
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import uuid4

from remanence.compat.mem0_config import open_options
from remanence.compat.mem0_filters import FilterParts, result_count, split_filters
from remanence.errors import InvalidInput, NotFound
from remanence.graph.history import HistoryEvent
from remanence.index.engine.in_thread import ClosedAtEnd
from remanence.schema import UTC
from remanence.schema import Memory as StoredMemory
from remanence.space.opening import open as open_space
from remanence.space.space import Space

P = ParamSpec("P")
T = TypeVar("T")
Row = dict[str, Any]

_LEVELS = {"user_id": "users", "agent_id": "agents", "run_id": "runs"}
_UNSET: Any = object()
_KEPT = "mem0"
"""The field of `Memory.meta` with the metadata of the caller."""
_EVENTS = {"memory added": "ADD", "memory revised": "UPDATE", "forgotten": "DELETE", "erased": "DELETE"}


@dataclass(frozen=True, slots=True)
class _Found:
    """A memory, the space that it is in, and the ids that this space is of."""

    space: Space
    ids: Mapping[str, str]
    memory: StoredMemory


class Memory(ClosedAtEnd):
    """Memories of users, agents and runs, as mem0 has them.

    Args:
        config: A configuration as mem0 has it; see `from_config`.
        space: The space to store them in, in place of the one that `config` or `options` opens.
        options: Arguments of `remanence.open`, such as `location` or `extractor`.

    Example:
        >>> from remanence.compat.mem0 import Memory
        >>> memory = Memory(location=None)
        >>> _ = memory.add("I am allergic to peanuts.", user_id="alice")
        >>> found = memory.search("What am I allergic to?", filters={"user_id": "alice"})
        >>> found["results"][0]["memory"], memory.search("allergic", filters={"user_id": "bob"})["results"]
        ('I am allergic to peanuts.', [])
    """

    def __init__(self, config: Mapping[str, Any] | None = None, *, space: Space | None = None, **options: Any) -> None:
        self._is_own = space is None
        self.space = open_space(**open_options(config or {}) | options) if space is None else space

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Memory:
        """Open a memory by a configuration of mem0.

        `vector_store` may be "remanence" or "qdrant" with a `path`, `llm` and `embedder` may hold a model object of
        LangChain or LlamaIndex as `config["model"]`.

        Raises:
            InvalidInput: A part of it cannot be had, such as a graph store or a model by its name.
        """
        return cls(config_dict)

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: object = None,
        agent_id: object = None,
        run_id: object = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: object = None,
        expiration_date: object = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, list[Row]]:
        """Store a text or messages.

        With a language model and `infer`, the facts in them are stored as well, and returned. Without, each message is
        stored as it was said.

        Args:
            messages: A text, a message, or a list of messages with `role` and `content`.
            user_id: Whose memory it is. One of the three ids is needed.
            agent_id: The agent that it belongs to.
            run_id: The run or session that it belongs to.
            metadata: Fields of yours.
            timestamp: When it was said.
            expiration_date: The last day on which it is found.
            infer: Whether a language model extracts facts, if there is one.
            memory_type: Not supported; leave it out.
            prompt: Not supported; leave it out.

        Returns:
            What was stored, under "results": each with "id", "memory" and "event".

        Raises:
            InvalidInput: No id is given, or a value cannot be used.
        """
        for name, value, instead in (
            ("memory_type", memory_type, "What worked for a task is recorded by memory.space.procedures."),
            ("prompt", prompt, "What a language model is asked is up to the extractor of Memory(extractor=...)."),
        ):
            if value is not None:
                raise InvalidInput(f"{name}={value!r} is not supported. Leave it out. {instead}")
        ids = _checked_ids(user_id=user_id, agent_id=agent_id, run_id=run_id)
        space = self._space_of(ids)
        given = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        given = [given] if isinstance(given, Mapping) else given
        if not isinstance(given, Sequence) or not all(isinstance(message, Mapping) for message in given):
            raise InvalidInput(f"messages={messages!r} is not a text, a message or a list of messages with content.")
        expires = _expiry(expiration_date)
        rows = [
            {
                "role": message.get("role") or "user",
                "content": _text(message.get("content")),
                "key": f"mem0:{uuid4()}",
                "conversation": str(ids.get("run_id") or "mem0"),
                "meta": {_KEPT: dict(metadata or {})},
                **({"speaker": message["name"]} if message.get("name") else {}),
                **({} if timestamp is None else {"time": timestamp}),
                **({} if expires is None else {"expires_at": expires}),
            }
            for message in given
            if message.get("role") in (None, "user", "assistant") and _text(message.get("content")).strip()
        ]
        stored = [] if not rows else space.remember(rows) if infer else space.add_turns(rows)
        return {"results": [_added(memory) for memory in stored]}

    def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        rerank: bool = False,
        explain: bool = False,
        reference_date: object = None,
        show_expired: bool = False,
        user_id: object = None,
        agent_id: object = None,
        run_id: object = None,
        limit: int | None = None,
    ) -> dict[str, list[Row]]:
        """The memories that answer a query, best first.

        Args:
            query: The query.
            top_k: How many results at most; 20 if left out. `limit` is an older name of it.
            filters: The ids, and conditions on metadata.
            threshold: The lowest score of a result, from 0 to 1; none if left out.
            rerank: Accepted; the first hits are always read by a model.
            explain: Add "score_details": what each signal said.
            reference_date: The present moment for words such as "yesterday".
            show_expired: Include what has expired or was replaced.
            user_id: The same as in `filters`.
            agent_id: The same as in `filters`.
            run_id: The same as in `filters`.
            limit: An older name of `top_k`.

        Returns:
            The memories under "results": each with "id", "memory", "score" and its ids, times and metadata.

        Raises:
            InvalidInput: No id is given, or a value cannot be used.
        """
        if not isinstance(query, str) or not query.strip():
            raise InvalidInput(f"query={query!r} is not a text with a visible character.")
        if threshold is not None and (not isinstance(threshold, int | float) or not 0 <= threshold <= 1):
            raise InvalidInput(f"threshold={threshold!r} is not a number from 0 to 1.")
        count = result_count(top_k, limit)
        parts = split_filters(filters, _ids(user_id=user_id, agent_id=agent_id, run_id=run_id))
        options: dict[str, Any] = {"now": reference_date, "min_score": threshold, **_recall_filters(parts)}
        if show_expired:
            options["history"] = True
        hits = [
            (hit, _Found(space, ids, hit.memory))
            for space, ids in self._spaces(parts.ids)
            for hit in (space.recall(query, limit=count, **options) if count else ())
        ]
        hits.sort(key=lambda found: -found[0].score)
        return {
            "results": [
                _row(found)
                | {"score": hit.score}
                | ({"score_details": {each.signal: each.reason for each in hit.evidence}} if explain else {})
                for hit, found in hits[:count]
            ]
        }

    def get(self, memory_id: str) -> Row | None:
        """One memory; None if there is no such memory."""
        found = self._find(memory_id)
        return None if found is None else _row(found)

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        show_expired: bool = False,
        user_id: object = None,
        agent_id: object = None,
        run_id: object = None,
        limit: int | None = None,
    ) -> dict[str, list[Row]]:
        """The memories of a user, an agent or a run, oldest first.

        Args:
            filters: The ids, and conditions on metadata.
            top_k: How many at most; 20 if left out.
            show_expired: Include what has expired.
            user_id: The same as in `filters`.
            agent_id: The same as in `filters`.
            run_id: The same as in `filters`.
            limit: An older name of `top_k`.

        Returns:
            The memories under "results", as `search` gives them, without a score.

        Raises:
            InvalidInput: No id is given, or a value cannot be used.
        """
        count = result_count(top_k, limit)
        parts = split_filters(filters, _ids(user_id=user_id, agent_id=agent_id, run_id=run_id))
        return {"results": [_row(found) for found in islice(self._listed(parts, show_expired), count)]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: object = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change the text, metadata or last day of a memory. What it said before is in `history`.

        Args:
            memory_id: The memory.
            text: The new text.
            metadata: Fields to add or to change.
            expiration_date: The last day on which it is found; None: no such day.
            data: An older name of `text`.

        Raises:
            InvalidInput: There is no such memory, or nothing to change.
        """
        new = data if text is None else text
        if new is None and metadata is None and expiration_date is _UNSET:
            raise InvalidInput("nothing is to be changed. Give text, metadata or expiration_date.")
        space, memory = self._must_find(memory_id)
        meta = {**memory.meta, _KEPT: {**memory.meta.get(_KEPT, {}), **(metadata or {})}}
        fields: dict[str, Any] = {
            "key": memory.key,
            "tags": memory.tags,
            "meta": meta,
            "expires_at": memory.expires_at if expiration_date is _UNSET else _expiry(expiration_date),
        }
        said = memory.text if new is None else new
        if memory.key is None:  # a fact that a language model found: nothing names its versions
            source = {"source": memory.source, "observed_by": memory.observed_by}
            better = space.add(said, **fields | source)
            space.graph.link(better, "supersedes", memory)
        elif memory.turn is not None:
            turn = {"speaker": memory.turn.speaker, "conversation": memory.turn.conversation, "time": memory.turn.at}
            space.add_turns([{"content": said, **fields, **turn}])
        else:
            space.add(said, **fields)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Hide a memory. Its history stays; `memory.space.erase` of its space removes the text for good.

        Raises:
            InvalidInput: There is no such memory.
        """
        space, memory = self._must_find(memory_id)
        space.forget(memory, why="deleted")
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: object = None, agent_id: object = None, run_id: object = None) -> dict[str, str]:
        """Hide all memories of a user, an agent or a run.

        Raises:
            InvalidInput: No id is given.
        """
        parts = FilterParts(_checked_ids(user_id=user_id, agent_id=agent_id, run_id=run_id))
        for found in list(self._listed(parts, show_expired=True)):
            found.space.forget(found.memory, why="deleted")
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Row]:
        """What a memory said, and when it was changed or deleted, oldest first."""
        rows: list[Row] = []
        for space, _ in self._spaces({}):
            with suppress(NotFound):
                for event in space.graph.timeline(memory_id):
                    if event.kind in _EVENTS and getattr(event.value, "id", memory_id) == memory_id:
                        rows.append(_change(memory_id, event, rows))
                break
        return rows

    def reset(self) -> None:
        """Erase everything, for good."""
        self.space.erase_space()

    def close(self) -> None:
        """Close the space, if this memory opened it."""
        if self._is_own:
            self.space.close()

    def _space_of(self, ids: Mapping[str, str]) -> Space:
        path = [part for name, level in _LEVELS.items() if name in ids for part in (level, ids[name])]
        return self.space.child(*path)

    def _spaces(self, ids: Mapping[str, str]) -> Iterator[tuple[Space, Mapping[str, str]]]:
        """The spaces whose memories have these ids, and perhaps others; with all of their ids."""
        begin = ["users", ids["user_id"]] if "user_id" in ids else []
        top = self.space.child(*begin) if begin else self.space
        for name in top.spaces():
            path = _unescaped(name[len(self.space.name) + 1 :])
            levels = dict(zip(path[::2], path[1::2], strict=False))
            found = {name: levels[level] for name, level in _LEVELS.items() if level in levels}
            is_ours = bool(path) and len(path) == 2 * len(found)
            if is_ours and all(found.get(name) == value for name, value in ids.items()):
                yield self.space.child(*path), found

    def _listed(self, parts: FilterParts, show_expired: bool) -> Iterator[_Found]:
        filters = _recall_filters(parts)
        for space, ids in self._spaces(parts.ids):
            for status in ("current", "expired") if show_expired else ("current",):
                for memory in space.memories(status, **filters):
                    yield _Found(space, ids, memory)

    def _find(self, memory_id: str) -> _Found | None:
        for space, ids in self._spaces({}):
            memory = space.get(memory_id)
            if memory is not None:
                return _Found(space, ids, memory)
        return None

    def _must_find(self, memory_id: str) -> tuple[Space, StoredMemory]:
        found = self._find(memory_id)
        if found is None:
            raise InvalidInput(f"Memory with id {memory_id} not found. `get_all` lists the ids.")
        return found.space, found.memory


def _async(method: Callable[Concatenate[Memory, P], T]) -> Callable[..., Any]:
    @wraps(method)
    async def run(self: AsyncMemory, /, *args: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.memory, *args, **options)

    return run


class AsyncMemory(ClosedAtEnd):
    """`Memory` for asyncio: the same methods, each in a worker thread."""

    def __init__(self, config: Mapping[str, Any] | None = None, *, space: Space | None = None, **options: Any) -> None:
        self.memory = Memory(config, space=space, **options)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> AsyncMemory:
        """Open a memory by a configuration of mem0; see `Memory.from_config`."""
        return cls(config_dict)

    add = _async(Memory.add)
    search = _async(Memory.search)
    get = _async(Memory.get)
    get_all = _async(Memory.get_all)
    update = _async(Memory.update)
    delete = _async(Memory.delete)
    delete_all = _async(Memory.delete_all)
    history = _async(Memory.history)
    reset = _async(Memory.reset)

    def close(self) -> None:
        """Close the space, if this memory opened it."""
        self.memory.close()


def _ids(**given: object) -> dict[str, object]:
    return {name: value for name, value in given.items() if value is not None}


def _checked_ids(**given: object) -> dict[str, str]:
    return split_filters(None, _ids(**given)).ids


def _unescaped(path: str) -> list[str]:
    return [part.replace("%2F", "/").replace("%25", "%") for part in path.split("/")] if path else []


def _recall_filters(parts: FilterParts) -> dict[str, Any]:
    filters: dict[str, Any] = {"meta": parts.meta(_KEPT)} if parts.metadata else {}
    return filters | ({"speaker": parts.actor} if parts.actor else {})


def _text(content: object) -> str:
    """The text of a message. A list of parts is joined; images are left out."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    if content is not None and not isinstance(content, str):
        raise InvalidInput(f"content={content!r} is not a text.")
    return content or ""


def _expiry(day: object) -> datetime | None:
    """The moment after the last day."""
    if day is None:
        return None
    try:
        last = (
            day.date() if isinstance(day, datetime) else day if isinstance(day, date) else date.fromisoformat(str(day))
        )
    except (TypeError, ValueError):
        raise InvalidInput(f"expiration_date={day!r} is not a date such as '2026-12-31'.") from None
    return datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1)


def _role(memory: StoredMemory) -> dict[str, str | None]:
    if memory.turn is None:
        return {}
    speaker = memory.turn.speaker
    known = {"me": "user", "user": "user", "assistant": "assistant"}.get(speaker or "")
    return {"actor_id": None if known else speaker, "role": known or "user"}


def _added(memory: StoredMemory) -> Row:
    return {"id": memory.id, "memory": memory.text, "event": "ADD", **_role(memory)}


def _row(found: _Found) -> Row:
    memory = found.memory
    last_day = memory.expires_at and (memory.expires_at - timedelta(days=1)).date().isoformat()
    return {
        "id": memory.id,
        "memory": memory.text,
        "hash": hashlib.md5(memory.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": dict(memory.meta.get(_KEPT, {})) or None,
        "created_at": memory.recorded_at.isoformat(),
        "updated_at": memory.revised_at.isoformat(),
        **found.ids,
        **{name: value for name, value in _role(memory).items() if value},
        **({"expiration_date": last_day} if last_day else {}),
    }


def _change(memory_id: str, event: HistoryEvent, before: Sequence[Row]) -> Row:
    old = before[-1]["new_memory"] if before else None
    is_deleted = _EVENTS[event.kind] == "DELETE"
    memory = event.value if isinstance(event.value, StoredMemory) else None
    at = event.recorded_at.isoformat()
    return {
        "id": f"{memory_id}:{event.position}",
        "memory_id": memory_id,
        "old_memory": old,
        "new_memory": None if is_deleted or memory is None else memory.text,
        "event": _EVENTS[event.kind],
        "created_at": before[0]["created_at"] if before else at,
        "updated_at": at,
        "is_deleted": is_deleted,
        **({"actor_id": None, "role": None} if memory is None else {"actor_id": None, "role": None} | _role(memory)),
    }

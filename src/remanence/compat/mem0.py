"""`Memory` and `AsyncMemory` with the methods, parameters and results of mem0 2.2, stored in spaces of Remanence.

Each combination of user, agent and run has a space of its own: `users/alice/agents/travel`. A filter that names a user
searches the spaces of this user and no others.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import wraps
from itertools import islice
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar
from uuid import uuid4

from remanence.compat.mem0_config import open_options
from remanence.compat.mem0_filters import ID_NAMES, KEPT, Filters, read_filters
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

log = logging.getLogger(__name__)
_LEVELS = dict(zip(ID_NAMES, ("users", "agents", "runs"), strict=True))
_UNSET: Any = object()
_EVENTS = {"memory added": "ADD", "memory revised": "UPDATE", "forgotten": "DELETE", "erased": "DELETE"}


class _Found(NamedTuple):
    """A memory, the space that it is in, and the ids that this space is of."""

    space: Space
    ids: Mapping[str, str]
    memory: StoredMemory


class Memory(ClosedAtEnd):
    """Memories of users, agents and runs, as mem0 has them. Wrong arguments raise InvalidInput, a ValueError.

    Args:
        config: A configuration as mem0 has it; see `from_config`.
        space: The space to store them in, in place of the one that `config` or `options` opens.
        options: Arguments of `remanence.open`, such as `location` or `extractor`.
    """

    def __init__(self, config: Mapping[str, Any] | None = None, *, space: Space | None = None, **options: Any) -> None:
        self._is_own = space is None
        self.space = open_space(**open_options(config or {}) | options) if space is None else space

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Memory:
        """Open a memory by a configuration of mem0.

        `vector_store` may be "remanence" or "qdrant" with a `path`, `llm` and `embedder` may hold a model object of
        LangChain or LlamaIndex as `config["model"]`.
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
        """Store a text or messages, of at least one of the three ids.

        With a language model and `infer`, the facts in them are stored as well, and returned. Without, each message is
        stored as it was said. `memory_type` and `prompt` are not supported.
        """
        for name, value, instead in (
            ("memory_type", memory_type, "What worked for a task is recorded by memory.space.procedures."),
            ("prompt", prompt, "What a language model is asked is up to the extractor of Memory(extractor=...)."),
        ):
            if value is not None:
                raise InvalidInput(f"{name}={value!r} is not supported. Leave it out. {instead}")
        ids = read_filters(None, user_id=user_id, agent_id=agent_id, run_id=run_id).ids
        given = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        given = [given] if isinstance(given, Mapping) else given
        if not isinstance(given, Sequence) or not all(isinstance(message, Mapping) for message in given):
            raise InvalidInput(f"messages={messages!r} is not a text, a message or a list of messages with content.")
        common = {
            "conversation": ids.get("run_id") or "mem0",
            "meta": {KEPT: _own_metadata(metadata or {}, {})},
            "time": timestamp,
            "expires_at": _expiry(expiration_date),
        }
        rows = [
            {
                **common,
                "role": message.get("role") or "user",
                "speaker": message.get("name") or None,
                "content": _text(message.get("content")),
                "key": f"mem0:{uuid4()}",
            }
            for message in given
            if message.get("role") in (None, "user", "assistant") and _text(message.get("content")).strip()
        ]
        space = self.space.child(*(part for name in ids for part in (_LEVELS[name], ids[name])))
        stored = [] if not rows else space.remember(rows) if infer else space.add_turns(rows)
        return {"results": [{"id": m.id, "memory": m.text, "event": "ADD", **_role(m)} for m in stored]}

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
        """The memories that answer a query, best first, each with a score.

        `reference_date` is the present moment for words such as "yesterday". `explain` adds "score_details": what each
        signal said. Whatever `rerank` is, the first hits are read by a model.
        """
        if not isinstance(query, str) or not query.strip():
            raise InvalidInput(f"query={query!r} is not a text with a visible character.")
        if threshold is not None and (not isinstance(threshold, int | float) or not 0 <= threshold <= 1):
            raise InvalidInput(f"threshold={threshold!r} is not a number from 0 to 1.")
        count = _count(top_k, limit)
        wanted = read_filters(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        options: dict[str, Any] = {"now": reference_date, "min_score": threshold, **wanted.of_recall}
        options |= {"history": True} if show_expired else {}
        found = [
            (hit, _Found(space, ids, hit.memory))
            for space, ids in self._spaces(wanted.ids)
            for hit in (space.recall(query, limit=count, **options) if count else ())
        ]
        rows = []
        for hit, where in sorted(found, key=lambda pair: -pair[0].score)[:count]:
            details = {"score_details": {each.signal: each.reason for each in hit.evidence}} if explain else {}
            rows.append({**_row(where), "score": hit.score, **details})
        return {"results": rows}

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
        """The memories of a user, an agent or a run, oldest first."""
        count = _count(top_k, limit)
        wanted = read_filters(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        return {"results": [_row(found) for found in islice(self._listed(wanted, show_expired), count)]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: object = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change the text, metadata or last day of a memory. What it said before is in `history`. `data` is an older
        name of `text`."""
        if data is not None:
            log.warning("update(): `data` is an older name, which mem0 will remove. Use `text` instead.")
        new = data if text is None else text
        if new is None and metadata is None and expiration_date is _UNSET:
            raise InvalidInput("nothing is to be changed. Give text, metadata or expiration_date.")
        space, ids, memory = self._must_find(memory_id)
        changed = _own_metadata(metadata or {}, {**ids, **_role(memory)})
        fields: dict[str, Any] = {
            "key": memory.key,
            "tags": memory.tags,
            "meta": {**memory.meta, KEPT: {**memory.meta.get(KEPT, {}), **changed}},
            "expires_at": memory.expires_at if expiration_date is _UNSET else _expiry(expiration_date),
        }
        said = memory.text if new is None else new
        if memory.key is None:  # a fact that a language model found: nothing names its versions
            better = space.add(said, **fields, source=memory.source, observed_by=memory.observed_by)
            space.graph.link(better, "supersedes", memory)
        elif memory.turn is not None:
            turn = {"speaker": memory.turn.speaker, "conversation": memory.turn.conversation, "time": memory.turn.at}
            space.add_turns([{"content": said, **fields, **turn}])
        else:
            space.add(said, **fields)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Hide a memory. Its history stays; `memory.space.erase` of its space removes the text for good."""
        space, _, memory = self._must_find(memory_id)
        space.forget(memory, why="deleted")
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: object = None, agent_id: object = None, run_id: object = None) -> dict[str, str]:
        """Hide all memories of a user, an agent or a run."""
        wanted = read_filters(None, user_id=user_id, agent_id=agent_id, run_id=run_id)
        for found in list(self._listed(wanted, show_expired=True)):
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

    def _spaces(self, ids: Mapping[str, str]) -> Iterator[tuple[Space, Mapping[str, str]]]:
        """The spaces whose memories have these ids, and perhaps others; with all of their ids."""
        top = self.space.child("users", ids["user_id"]) if "user_id" in ids else self.space
        for name in top.spaces():
            below = name[len(self.space.name) + 1 :].split("/")
            path = [part.replace("%2F", "/").replace("%25", "%") for part in below if part]
            levels = dict(zip(path[::2], path[1::2], strict=False))
            found = {name: levels[level] for name, level in _LEVELS.items() if level in levels}
            is_ours = bool(path) and len(path) == 2 * len(found)
            if is_ours and all(found.get(name) == value for name, value in ids.items()):
                yield self.space.child(*path), found

    def _listed(self, wanted: Filters, show_expired: bool) -> Iterator[_Found]:
        for space, ids in self._spaces(wanted.ids):
            for status in ("current", "expired") if show_expired else ("current",):
                for memory in space.memories(status, **wanted.of_recall):
                    yield _Found(space, ids, memory)

    def _find(self, memory_id: str) -> _Found | None:
        found = (_Found(space, ids, memory) for space, ids in self._spaces({}) if (memory := space.get(memory_id)))
        return next(found, None)

    def _must_find(self, memory_id: str) -> _Found:
        found = self._find(memory_id)
        if found is None:
            raise InvalidInput(f"Memory with id {memory_id} not found. `get_all` lists the ids.")
        return found


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


def _own_metadata(metadata: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of the caller without the fields that say whose a memory is. `known` are those that it has."""
    identity = (*ID_NAMES, "actor_id")
    for name in identity:
        if name in metadata and metadata[name] != known.get(name):
            log.warning("metadata[%r] is ignored: whose a memory is cannot be set through metadata", name)
    return {name: value for name, value in metadata.items() if name not in identity}


def _count(top_k: int | None, limit: int | None) -> int:
    """How many results are asked for: 20, if it is not said. `limit` is an older name."""
    count = next((value for value in (top_k, limit) if value is not None), 20)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise InvalidInput(f"top_k={count!r} is not a whole number of 0 or more.")
    return count


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
        last = day if isinstance(day, date) else date.fromisoformat(str(day))
    except ValueError:
        raise InvalidInput(f"expiration_date={day!r} is not a date such as '2026-12-31'.") from None
    return datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1)


def _role(memory: StoredMemory) -> dict[str, str | None]:
    if memory.turn is None:
        return {}
    speaker = memory.turn.speaker
    known = {"me": "user", "user": "user", "assistant": "assistant"}.get(speaker or "")
    return {"actor_id": None if known else speaker, "role": known or "user"}


def _row(found: _Found) -> Row:
    memory = found.memory
    last_day = memory.expires_at and (memory.expires_at - timedelta(days=1)).date().isoformat()
    return {
        "id": memory.id,
        "memory": memory.text,
        "hash": hashlib.md5(memory.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": dict(memory.meta.get(KEPT, {})) or None,
        "created_at": memory.recorded_at.isoformat(),
        "updated_at": memory.revised_at.isoformat(),
        **found.ids,
        **{name: value for name, value in {**_role(memory), "expiration_date": last_day}.items() if value},
    }


def _change(memory_id: str, event: HistoryEvent, before: Sequence[Row]) -> Row:
    is_deleted = _EVENTS[event.kind] == "DELETE"
    memory = event.value if isinstance(event.value, StoredMemory) else None
    at = event.recorded_at.isoformat()
    return {
        "id": f"{memory_id}:{event.position}",
        "memory_id": memory_id,
        "old_memory": before[-1]["new_memory"] if before else None,
        "new_memory": None if is_deleted or memory is None else memory.text,
        "event": _EVENTS[event.kind],
        "created_at": before[0]["created_at"] if before else at,
        "updated_at": at,
        "is_deleted": is_deleted,
        "actor_id": None,
        "role": None,
        **(_role(memory) if memory else {}),
    }

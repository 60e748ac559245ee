"""The exact transcript of a chat. Its messages are memories of the space, so recall finds them too."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from langchain_remanence.messages import (
    message_from_json,
    message_text,
    message_to_json,
    placeholder_text,
    speaker_fields,
)
from remanence import Change, Memory, Space, View
from remanence.adapters import (
    ChangeFollower,
    ChatSession,
    check_rename,
    check_session_id,
    check_ttl,
    current_moment,
    is_space,
    require_space,
    require_view,
)

if TYPE_CHECKING:
    from remanence.adapters import ErasureCertificate

_MESSAGE = "langchain_message"
_CLEARED = "langchain_cleared"
"""The field of a memory that records that a transcript was emptied: the name of the session."""


class RemanenceChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, in order, each as it was added.

    Each message is also a memory of the space, so `space.recall` and a retriever find it. `clear` hides the
    messages from now on; `RemanenceChatMessageHistory(space.as_of(yesterday), ...)` still reads them. A
    message is stored as JSON: a document in an artifact is returned as a dict, and NaN as None; bytes are kept.

    `sessions`, `rename_session`, `delete_session`, `erase_session` and `sweep_ttl` work on all sessions of the space,
    as those of LlamaIndex's chat stores do.

    Args:
        space: The space to read and write, or a view of it to read only.
        ttl: Erase a session so long after its last message: seconds, or a timedelta. A message is recalled no longer
            than this after it was added. An expired session is empty at once, and its text is erased when the history
            is next used, or by `sweep_ttl`.

    Raises:
        InvalidInput: `session_id` is blank, or `ttl` is not above 0.
    """

    def __init__(self, space: View, session_id: str = "default", *, ttl: float | timedelta | None = None) -> None:
        self.space = require_view(space)
        self.session_id = check_session_id(session_id)
        self.ttl = check_ttl(ttl)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages of the session, as new objects."""
        return [as_message(memory) for memory in self.stored_memories()]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages to the session: all of them or, on an error, none.

        Raises:
            InvalidInput: A message cannot be written as JSON, or this is the history of a view.
        """
        space = require_space(self.space)
        self._erase_if_expired()
        space.add_turns([self._turn(message) for message in messages])

    def clear(self) -> None:
        """Hide the messages of the session from now on. Views of the past still have them."""
        self.delete_session(self.session_id)

    def sessions(self) -> list[ChatSession]:
        """Return the sessions of the space that have messages, in the order they began."""
        return _messages_of(self.space).sessions(self.space)

    def rename_session(self, name: str, new_name: str) -> None:
        """Give a session another name. Views of the past have it under the old one.

        Raises:
            NotFound: There is no session with this name.
            InvalidInput: There is one with the new name already, or the new name is blank.
        """
        space, table = require_space(self.space), _messages_of(self.space)
        ids = table.ids(space, name)
        check_rename(name, new_name, {session.name for session in table.sessions(space)})
        memories = [memory for memory_id in ids if (memory := space.get(memory_id)) is not None]
        space.add_turns([self._turn(as_message(memory)) | _same_message(memory, new_name) for memory in memories])
        if self.session_id == name:
            self.session_id = new_name

    def delete_session(self, name: str) -> int:
        """Hide the messages of a session from now on. Views of the past still have them.

        Returns:
            How many there were.
        """
        ids = _messages_of(self.space).ids(self.space, name)
        return require_space(self.space).forget_many(ids, why="the chat history was cleared") if ids else 0

    def erase_session(self, name: str) -> ErasureCertificate:
        """Erase the messages of a session for good, with those that were cleared before and the facts found in them."""
        ids = _messages_of(self.space).ids(self.space, name, hidden=True)
        return require_space(self.space).erase_many(ids)

    def sweep_ttl(self) -> int:
        """Erase the sessions that have expired. Returns how many there were."""
        expired = _messages_of(self.space).expired_sessions(self.space)
        for name in expired:
            self.erase_session(name)
        return len(expired)

    def _erase_if_expired(self) -> None:
        if is_space(self.space) and _messages_of(self.space).is_expired(self.space, self.session_id):
            self.erase_session(self.session_id)

    def stored_memories(self, last: int | None = None) -> list[Memory]:
        """Return the memories that hold the messages of the session.

        Args:
            last: Return only this many, from the end.
        """
        self._erase_if_expired()
        ids = _messages_of(self.space).ids(self.space, self.session_id)
        selected = ids if last is None else ids[max(len(ids) - last, 0) :]
        memories = (self.space.get(memory_id) for memory_id in selected)
        return [memory for memory in memories if memory is not None]

    def _turn(self, message: BaseMessage) -> dict[str, Any]:
        text = message_text(message)
        data = message_to_json(message)
        if text and data["content"] == text:
            del data["content"]  # it is the text of the memory
        return {
            "content": text or placeholder_text(message),
            "conversation": self.session_id,
            # Two messages with the same text, or with the same id, are two messages.
            "key": f"message:{uuid4().hex}",
            "meta": {_MESSAGE: {"type": message.type, "data": data}},
            "expires_at": None if self.ttl is None else current_moment(self.space) + self.ttl,
            **speaker_fields(message),
        }


def empty_transcript(space: Space, session_id: str) -> None:
    """Begin the transcript of a session anew. Its messages so far stay memories, which recall finds as before.

    That is recorded by a memory of its own, which is forgotten at once so that nobody recalls it: a new version of each
    message would make all of them look new.
    """
    record = space.add(
        "The history of a chat was cleared.",
        key=f"cleared:{uuid4().hex}",
        entities=[],
        triples=[],
        meta={_CLEARED: session_id},
    )
    space.forget(record.id, why="it only records that")


def as_message(memory: Memory) -> BaseMessage:
    """Return the message that a memory of a transcript holds."""
    stored = memory.meta[_MESSAGE]
    return message_from_json(stored["type"], {"content": memory.text, **stored["data"]})


def _same_message(memory: Memory, session: str) -> dict[str, Any]:
    """The fields that make a turn a new version of this memory, in another session."""
    at = None if memory.turn is None else memory.turn.at
    return {"key": memory.key, "conversation": session, "time": at, "expires_at": memory.expires_at}


class _Message(NamedTuple):
    """A message in the table: its session, when it was first added, when it expires, and whether it is hidden, that is
    forgotten, or only cleared from the transcript."""

    session: str
    at: datetime
    expires_at: datetime | None
    is_hidden: bool = False
    is_cleared: bool = False

    @property
    def is_listed(self) -> bool:
        """Whether it is in the transcript."""
        return not self.is_hidden and not self.is_cleared


class _SessionMessages(ChangeFollower):
    """The memories that hold messages, by session.

    With it, a transcript is read in time that grows with its own length, not with that of the space.
    """

    def __init__(self) -> None:
        super().__init__()
        self._messages: dict[str, _Message] = {}  # by memory id
        self._ids: dict[str, dict[str, None]] = {}  # by session

    def ids(self, view: View, session: str, *, hidden: bool = False) -> list[str]:
        """Return the memories of the transcript of a session; with `hidden`, also those that were hidden or cleared. An
        expired session has none."""
        with self.lock:
            self.catch_up(view)
            if not hidden and self._is_expired(session, current_moment(view)):
                return []
            ids = self._ids.get(session, ())
            return [memory_id for memory_id in ids if hidden or self._messages[memory_id].is_listed]

    def sessions(self, view: View) -> list[ChatSession]:
        with self.lock:
            self.catch_up(view)
            now = current_moment(view)
            out = []
            for session in self._ids:
                messages = [message for message in self._visible(session) if message.is_listed]
                if messages and not self._is_expired(session, now):
                    times = [message.at for message in messages]
                    out.append(ChatSession(session, len(messages), min(times), max(times), messages[-1].expires_at))
            return sorted(out, key=lambda session: session.first_message_at)

    def is_expired(self, view: View, session: str) -> bool:
        with self.lock:
            self.catch_up(view)
            return self._is_expired(session, current_moment(view))

    def expired_sessions(self, view: View) -> list[str]:
        with self.lock:
            self.catch_up(view)
            now = current_moment(view)
            return [session for session in self._ids if self._is_expired(session, now)]

    def apply_change(self, change: Change) -> None:
        memory, known = change.memory, self._messages.get(change.memory_id)
        if memory is not None and _CLEARED in memory.meta:
            for memory_id in self._ids.get(memory.meta[_CLEARED], ()):
                self._messages[memory_id] = self._messages[memory_id]._replace(is_cleared=True)
        elif memory is not None and memory.turn is not None and _MESSAGE in memory.meta:
            session = memory.turn.conversation
            if known is not None and known.session != session:
                self._remove(change.memory_id, known.session)
            at = change.at if known is None else known.at
            cleared = known is not None and known.is_cleared
            self._messages[memory.id] = _Message(session, at, memory.expires_at, is_cleared=cleared)
            self._ids.setdefault(session, {})[memory.id] = None
        elif known is not None and change.kind == "erased":
            self._remove(change.memory_id, known.session)
            del self._messages[change.memory_id]
        elif known is not None:
            self._messages[change.memory_id] = known._replace(is_hidden=change.kind == "forgotten")

    def _visible(self, session: str) -> list[_Message]:
        messages = (self._messages[memory_id] for memory_id in self._ids.get(session, ()))
        return [message for message in messages if not message.is_hidden]

    def _is_expired(self, session: str, now: datetime) -> bool:
        """Whether a session expired: its last message says when."""
        messages = self._visible(session)
        expiry = messages[-1].expires_at if messages else None
        return expiry is not None and expiry <= now

    def _remove(self, memory_id: str, session: str) -> None:
        ids = self._ids[session]
        del ids[memory_id]
        if not ids:
            del self._ids[session]


# By view and not by history, as chains make a new history for every call.
_tables: WeakKeyDictionary[View, _SessionMessages] = WeakKeyDictionary()
_tables_lock = threading.Lock()


def _messages_of(view: View) -> _SessionMessages:
    with _tables_lock:
        return _tables.setdefault(view, _SessionMessages())

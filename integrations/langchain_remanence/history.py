"""The exact transcript of a chat. Its messages are memories of the space, so recall finds them too."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
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
from remanence import Change, InvalidInput, Memory, View
from remanence.adapters import ChangeFollower, require_space, require_view

_MESSAGE = "langchain_message"


class RemanenceChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, in order, each as it was added.

    Each message is also a memory of the space, so `space.recall` and a retriever find it. `clear` hides the
    messages from now on; `RemanenceChatMessageHistory(space.as_of(yesterday), ...)` still reads them. A
    message is stored as JSON: a document in an artifact is returned as a dict, and NaN as None; bytes are kept.

    Args:
        space: The space to read and write, or a view of it to read only.
        session_id: The name of the session.

    Raises:
        InvalidInput: `session_id` is blank.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     chat = RemanenceChatMessageHistory(space, "monday")
        ...     chat.add_user_message("I am allergic to hazelnuts.")
        ...     chat.add_ai_message("Noted.")
        ...     [message.type for message in chat.messages], space.recall("allergic")[0].memory.source
        (['human', 'ai'], 'monday')
    """

    def __init__(self, space: View, session_id: str = "default") -> None:
        if not isinstance(session_id, str) or not session_id.strip():
            raise InvalidInput(f"session_id={session_id!r} is blank. Give it a visible character.")
        self.space = require_view(space)
        self.session_id = session_id

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages of the session, as new objects."""
        return [as_message(memory) for memory in self.stored_memories()]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages to the session: all of them or, on an error, none.

        Raises:
            InvalidInput: A message cannot be written as JSON, or this is the history of a view.
        """
        require_space(self.space).add_turns([self._turn(message) for message in messages])

    def clear(self) -> None:
        """Hide the messages of the session from now on. Views of the past still have them."""
        for memory_id in _messages_of(self.space).ids(self.space, self.session_id):
            require_space(self.space).forget(memory_id, why="the chat history was cleared")

    def stored_memories(self, last: int | None = None) -> list[Memory]:
        """Return the memories that hold the messages of the session.

        Args:
            last: Return only this many, from the end.
        """
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
            **speaker_fields(message),
        }


def as_message(memory: Memory) -> BaseMessage:
    """Return the message that a memory of a transcript holds."""
    stored = memory.meta[_MESSAGE]
    return message_from_json(stored["type"], {"content": memory.text, **stored["data"]})


class _SessionMessages(ChangeFollower):
    """The ids of the memories that hold messages, by session.

    With it, a transcript is read in time that grows with its own length, not with that of the space.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ids: dict[str, dict[str, None]] = {}
        self._hidden: set[str] = set()

    def ids(self, view: View, session: str) -> list[str]:
        with self.lock:
            self.catch_up(view)
            return [memory_id for memory_id in self._ids.get(session, ()) if memory_id not in self._hidden]

    def apply_change(self, change: Change) -> None:
        memory = change.memory
        if memory is not None and memory.turn is not None and _MESSAGE in memory.meta:
            self._ids.setdefault(memory.turn.conversation, {})[memory.id] = None
        if change.kind in ("forgotten", "erased"):
            self._hidden.add(change.memory_id)
        else:
            self._hidden.discard(change.memory_id)


# By view and not by history, as chains make a new history for every call.
_tables: WeakKeyDictionary[View, _SessionMessages] = WeakKeyDictionary()
_tables_lock = threading.Lock()


def _messages_of(view: View) -> _SessionMessages:
    with _tables_lock:
        return _tables.setdefault(view, _SessionMessages())

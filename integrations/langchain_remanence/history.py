"""The exact transcript of a chat, on the ledger: what was said can be recalled as well as read back."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, messages_from_dict
from pydantic_core import PydanticSerializationError

from langchain_remanence.messages import message_text, placeholder_text, speaker_fields
from remanence import Change, InvalidInput, Memory, Space, View

_MESSAGE = "langchain_message"


class RemanenceChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, in the order they came, each as it was.

    Each is also a memory of the space, so `space.recall` and a retriever find it. `clear` hides them from
    now on; `RemanenceChatMessageHistory(space.as_of(yesterday), ...)` still reads them. What is kept is what
    JSON can hold: a document in an artifact comes back as a dict, and NaN as None.

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
            raise InvalidInput(f"session_id={session_id!r} names no session. Give it a visible character.")
        self.space = space
        self.session_id = session_id

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The whole transcript, as fresh objects."""
        return [as_message(memory) for memory in self.stored_memories()]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Keep these messages after those that are there; all of them or, on an error, none."""
        self._writable.add_turns([self._turn(message) for message in messages])

    def clear(self) -> None:
        """Hide the transcript from now on. The past still knows it; other sessions are left alone."""
        for memory_id in _sessions(self.space).ids(self.space, self.session_id):
            self._writable.forget(memory_id, why="the chat history was cleared")

    def stored_memories(self, last: int | None = None) -> list[Memory]:
        """The memories that hold the transcript, or only the last few of them."""
        ids = _sessions(self.space).ids(self.space, self.session_id)
        wanted = ids if last is None else ids[max(len(ids) - last, 0) :]
        found = (self.space.get(memory_id) for memory_id in wanted)
        return [memory for memory in found if memory is not None]

    @property
    def _writable(self) -> Space:
        if isinstance(self.space, Space):
            return self.space
        raise InvalidInput(f"{self.space!r} is a view of the past and cannot be written to. Give the space.")

    def _turn(self, message: BaseMessage) -> dict[str, Any]:
        words = message_text(message)
        try:
            written = message.model_dump(mode="json")
        except PydanticSerializationError as error:
            raise InvalidInput(
                f"a message of type {message.type!r} cannot be written as JSON: {error}. "
                "Take the object out of it, or put text in its place."
            ) from None
        if words and written["content"] == words:
            del written["content"]  # the text of the memory, already
        return {
            "content": words or placeholder_text(message),
            "conversation": self.session_id,
            # The same words twice are two messages, and so are two of one id.
            "key": f"message:{uuid4().hex}",
            "meta": {_MESSAGE: {"type": message.type, "data": written}},
            **speaker_fields(message),
        }


def as_message(memory: Memory) -> BaseMessage:
    """The message that a memory of a transcript holds."""
    kept = memory.meta[_MESSAGE]
    return messages_from_dict([{"type": kept["type"], "data": {"content": memory.text, **kept["data"]}}])[0]


class _Sessions:
    """Which memories of a space are messages, by session, kept up with its ledger.

    A transcript is then read in time that grows with its own length, not with that of the space.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._position = 0
        self._ids: dict[str, dict[str, None]] = {}
        self._hidden: set[str] = set()

    def ids(self, view: View, session: str) -> list[str]:
        """The memories of a session that are not hidden, in the order they came."""
        with self._lock:
            for change in view.audit.changes(after=self._position):
                self._take(change)
                self._position = change.position
            return [memory_id for memory_id in self._ids.get(session, ()) if memory_id not in self._hidden]

    def _take(self, change: Change) -> None:
        memory = change.memory
        if memory is not None and memory.turn is not None and _MESSAGE in memory.meta:
            self._ids.setdefault(memory.turn.conversation, {})[memory.id] = None
        if change.kind in ("forgotten", "erased"):
            self._hidden.add(change.memory_id)
        else:
            self._hidden.discard(change.memory_id)


# By space, as a history is made anew for every call of a chain.
_known: WeakKeyDictionary[View, _Sessions] = WeakKeyDictionary()
_knowing = threading.Lock()


def _sessions(view: View) -> _Sessions:
    with _knowing:
        return _known.setdefault(view, _Sessions())

"""Chat stores for the two interfaces that LlamaIndex has.

Both write the same records, so one can read what the other wrote. A deleted message is no longer in the store, but
still in its past: `store.as_of("yesterday")`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, TypeVar

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.storage.chat_store import BaseChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.loading import RECOGNIZED_CHAT_STORES

from llama_index_remanence.space_reference import SpaceAdapter, TtlSeconds
from llama_index_remanence.transcript import MessageRow, Transcript
from remanence.adapters import ChatSession, check_ttl, in_thread

if TYPE_CHECKING:
    from remanence.adapters import ErasureCertificate

Store = TypeVar("Store", bound="_TranscriptStore")


class _TranscriptStore(SpaceAdapter):
    """Base class of the two stores."""

    ttl: TtlSeconds = None

    _cached_transcript: Transcript | None = PrivateAttr(default=None)

    def as_of(self: Store, moment: datetime | date | str) -> Store:
        """Return the store as it was at `moment`, with what was deleted since. It is read-only."""
        past = self.model_copy()
        past._cached_transcript = Transcript(self.space.as_of(moment))
        return past

    def sessions(self) -> list[ChatSession]:
        """Return the sessions that have messages, in the order they began."""
        return self._transcript.list_sessions()

    def rename_session(self, name: str, new_name: str) -> None:
        """Give a session another name. Views of the past have it under the old one.

        Raises:
            NotFound: There is no session with this name.
            InvalidInput: There is one with the new name already, or the new name is blank.
        """
        self._transcript.rename_session(name, new_name)

    def delete_session(self, name: str) -> int:
        """Delete the messages of a session. Views of the past still have them.

        Returns:
            How many there were.
        """
        count = len(self._transcript.rows(name, archived=None))
        self._transcript.delete_session(name)
        return count

    def erase_session(self, name: str) -> ErasureCertificate:
        """Erase a session for good, with the messages that were deleted from it before."""
        return self._transcript.erase_session(name)

    def sweep_ttl(self) -> int:
        """Erase the sessions that have expired. Returns how many there were."""
        return self._transcript.sweep_ttl()

    aas_of = in_thread(as_of)
    asessions = in_thread(sessions)
    arename_session = in_thread(rename_session)
    adelete_session = in_thread(delete_session)
    aerase_session = in_thread(erase_session)
    asweep_ttl = in_thread(sweep_ttl)

    def _reset_state(self) -> None:
        self._cached_transcript = None

    @property
    def _transcript(self) -> Transcript:
        if self._cached_transcript is None:
            self._cached_transcript = Transcript(self.space, check_ttl(self.ttl))
        return self._cached_transcript


class RemanenceChatStore(_TranscriptStore, BaseChatStore):
    """A chat store for `ChatMemoryBuffer` and similar classes. Give it a space of its own.

    It behaves like `SimpleChatStore` with two exceptions: deleting the last message of an empty session returns
    None, where `SimpleChatStore` raises an IndexError; and the messages that it returns are copies.

    Args:
        location: Where to open the space, in place of `space`.
        path: The names of the child to use.
        ttl: Erase a session so many seconds after its last message. An expired session has no messages at once, and
            its text is erased when it is next used, or by `sweep_ttl`.
    """

    __init__ = SpaceAdapter.__init__  # for type checkers

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises it."""
        return "RemanenceChatStore"

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Make these the messages of a session."""
        self._transcript.replace(key, messages)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of a session, in order."""
        return _messages(self._transcript.rows(key))

    def add_message(self, key: str, message: ChatMessage, idx: int | None = None) -> None:
        """Add a message at the end of a session, or before the one at `idx`."""
        if idx is None:
            self._transcript.append(key, [message])
        else:
            self._transcript.insert(key, idx, message)

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete a session and return its messages; None if there is no such session."""
        if key not in self._transcript.sessions():
            return None
        rows = self._transcript.rows(key)
        self._transcript.delete_session(key)
        return _messages(rows)

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at `idx` and return it; None if there is none."""
        rows = self._transcript.rows(key)
        if not -len(rows) <= idx < len(rows):
            return None
        self._transcript.delete([rows[idx]])
        return rows[idx].message

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Delete the last message of a session and return it; None if there is none."""
        return self.delete_message(key, -1)

    def get_keys(self) -> list[str]:
        """Return the sessions in the order they began, also those with no message left."""
        return self._transcript.sessions()


# So that LlamaIndex finds it again: `ChatMemoryBuffer.from_dict` knows the stores in this table only.
RECOGNIZED_CHAT_STORES[RemanenceChatStore.class_name()] = RemanenceChatStore


class RemanenceAsyncChatStore(_TranscriptStore, AsyncDBChatStore):
    """A chat store for `Memory(chat_store=...)`. Give it a space of its own.

    It behaves like `SQLAlchemyChatStore`. The number that `delete_message` takes is the ledger position of the
    message, in place of the number of a row.

    Args:
        location: Where to open the space, in place of `space`.
        path: The names of the child to use.
        ttl: Erase a session so many seconds after its last message. An expired session has no messages at once, and
            its text is erased when it is next used, or by `sweep_ttl`.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     store = RemanenceAsyncChatStore(space.child("chats"))
        ...     asyncio.run(store.add_message("monday", ChatMessage(role="user", content="Good morning.")))
        ...     asyncio.run(store.count_messages("monday"))
        1
    """

    __init__ = SpaceAdapter.__init__  # for type checkers

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class."""
        return "RemanenceAsyncChatStore"

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """Return the messages of a session with this status, in order; with None, those of any status."""
        rows = await self._rows(key, status)
        start = offset or 0
        return _messages(rows[start:] if limit is None else rows[start : start + limit])

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        """Return how many messages of a session have this status."""
        return len(await self._rows(key, status))

    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE) -> None:
        """Add a message at the end of a session."""
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Add messages at the end of a session."""
        await asyncio.to_thread(self._transcript.append, key, messages, archived=_is_archived(status))

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Make these the messages of a session, in place of all others of any status."""
        await asyncio.to_thread(self._transcript.replace, key, messages, archived=_is_archived(status))

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at ledger position `idx` and return it; None if there is none."""
        for row in await self._rows(key, None):
            if row.position == idx:
                await asyncio.to_thread(self._transcript.delete, [row])
                return row.message
        return None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Delete the messages of a session with this status; with None, the session."""
        if status is None:
            await asyncio.to_thread(self._transcript.delete_session, key)
        else:
            await asyncio.to_thread(self._transcript.delete, await self._rows(key, status))

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Delete the first `n` active messages of a session and return them."""
        rows = (await self._rows(key, MessageStatus.ACTIVE))[:n]
        await asyncio.to_thread(self._transcript.delete, rows)
        return _messages(rows)

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive the first `n` active messages of a session and return them."""
        rows = (await self._rows(key, MessageStatus.ACTIVE))[:n]
        if rows:
            await asyncio.to_thread(self._transcript.archive, key, rows[-1])
        return _messages(rows)

    async def get_keys(self) -> list[str]:
        """Return the sessions that have messages of any status."""
        return await asyncio.to_thread(self._keys)

    def _keys(self) -> list[str]:
        return [key for key in self._transcript.sessions() if self._transcript.rows(key, archived=None)]

    async def _rows(self, key: str, status: MessageStatus | None) -> list[MessageRow]:
        archived = None if status is None else _is_archived(status)
        return await asyncio.to_thread(lambda: self._transcript.rows(key, archived=archived))


def _messages(rows: Sequence[MessageRow]) -> list[ChatMessage]:
    return [row.message for row in rows]


def _is_archived(status: MessageStatus) -> bool:
    return status is MessageStatus.ARCHIVED

"""Chat stores on the ledger, for the two contracts that LlamaIndex has.

Both keep the same records, so one can read what the other wrote. What is deleted leaves the store and stays
in the past: `store.as_of("yesterday")`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date, datetime
from typing import TypeVar

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.storage.chat_store import BaseChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus

from llama_index_remanence.places import SpaceAdapter
from llama_index_remanence.sessions import MessageRow
from llama_index_remanence.transcript import Transcript

Store = TypeVar("Store", bound="_OnTheLedger")


class _OnTheLedger(SpaceAdapter):
    """What the two stores share: where their messages are, and the table of them."""

    _table: Transcript | None = PrivateAttr(default=None)

    def as_of(self: Store, moment: datetime | date | str) -> Store:
        """The store as it was at `moment`, with what was deleted since. It cannot be written to."""
        then = self.model_copy()
        then._table = Transcript(self.space.as_of(moment))
        return then

    def _reset_state(self) -> None:
        self._table = None

    @property
    def _transcript(self) -> Transcript:
        if self._table is None:
            self._table = Transcript(self.space)
        return self._table


class RemanenceChatStore(_OnTheLedger, BaseChatStore):
    """A chat store for `ChatMemoryBuffer` and its like, in a space of its own.

    Does as `SimpleChatStore` does, but for two mistakes of that: deleting the last message of an empty
    session gives None, where `SimpleChatStore` raises an IndexError; and what it gives out are copies.

    >>> import remanence
    >>> with remanence.open(None) as space:
    ...     store = RemanenceChatStore(space.child("chats"))
    ...     store.add_message("monday", ChatMessage(role="user", content="Good morning."))
    ...     store.get_messages("monday")[0].content
    'Good morning.'
    """

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "RemanenceChatStore"

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Make these the messages of a session."""
        self._transcript.replace(key, messages)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """The messages of a session, in order."""
        return _messages(self._transcript.rows(key))

    def add_message(self, key: str, message: ChatMessage, idx: int | None = None) -> None:
        """Add a message at the end of a session, or before the one at `idx`."""
        if idx is None:
            self._transcript.append(key, [message])
        else:
            self._transcript.insert(key, idx, message)

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete a session, and give back its messages; None if there is no such session."""
        if key not in self._transcript.sessions():
            return None
        rows = self._transcript.rows(key)
        self._transcript.delete_session(key)
        return _messages(rows)

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at `idx` and give it back; None if there is none."""
        rows = self._transcript.rows(key)
        if not -len(rows) <= idx < len(rows):
            return None
        self._transcript.delete([rows[idx]])
        return rows[idx].message

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Delete the last message of a session and give it back; None if there is none."""
        return self.delete_message(key, -1)

    def get_keys(self) -> list[str]:
        """The sessions, in the order they began; also those with no message left."""
        return self._transcript.sessions()


class RemanenceAsyncChatStore(_OnTheLedger, AsyncDBChatStore):
    """A chat store for `Memory(chat_store=...)`, in a space of its own.

    Does as `SQLAlchemyChatStore` does. The number that `delete_message` takes is the ledger line of the
    message, as there it is the number of its row.
    """

    @classmethod
    def class_name(cls) -> str:
        """The name it is known by."""
        return "RemanenceAsyncChatStore"

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """The messages of a session with this status, in order; with None, of any."""
        rows = await self._rows(key, status)
        begin = offset or 0
        return _messages(rows[begin:] if limit is None else rows[begin : begin + limit])

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        """How many messages of a session have this status."""
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
        """Make these the messages of a session, in place of all it has, whatever their status."""
        await asyncio.to_thread(self._transcript.replace, key, messages, archived=_is_archived(status))

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message written on ledger line `idx` and give it back; None if there is none."""
        for row in await self._rows(key, None):
            if row.position == idx:
                await asyncio.to_thread(self._transcript.delete, [row])
                return row.message
        return None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Delete the messages of a session with this status; with None, all of it."""
        if status is None:
            await asyncio.to_thread(self._transcript.delete_session, key)
        else:
            await asyncio.to_thread(self._transcript.delete, await self._rows(key, status))

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Delete the first `n` active messages of a session and give them back."""
        rows = (await self._rows(key, MessageStatus.ACTIVE))[:n]
        await asyncio.to_thread(self._transcript.delete, rows)
        return _messages(rows)

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive the first `n` active messages of a session and give them back."""
        rows = (await self._rows(key, MessageStatus.ACTIVE))[:n]
        if rows:
            await asyncio.to_thread(self._transcript.archive, key, rows[-1])
        return _messages(rows)

    async def get_keys(self) -> list[str]:
        """The sessions that have messages, whatever their status."""
        return await asyncio.to_thread(self._keys)

    def _keys(self) -> list[str]:
        table = self._transcript
        return [key for key in table.sessions() if table.rows(key, archived=None)]

    async def _rows(self, key: str, status: MessageStatus | None) -> list[MessageRow]:
        archived = None if status is None else _is_archived(status)
        return await asyncio.to_thread(lambda: self._transcript.rows(key, archived=archived))


def _messages(rows: Sequence[MessageRow]) -> list[ChatMessage]:
    return [row.message for row in rows]


def _is_archived(status: MessageStatus) -> bool:
    return status is MessageStatus.ARCHIVED

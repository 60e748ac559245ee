"""Long-term recall as a block of LlamaIndex's own `Memory`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import BaseMemoryBlock

from llama_index_remanence import messages as llama_messages
from llama_index_remanence.long_term_memory import ROLE_KEY, RecallAdapter, store_turns
from llama_index_remanence.messages import RoleAndText
from llama_index_remanence.transcript import session_label, short_hash
from remanence import Change, Space
from remanence.adapters import ChangeFollower, PromptMemories, log_and_continue

_DEFAULT_SESSION = "default"

log = logging.getLogger(__name__)


class RemanenceMemoryBlock(RecallAdapter, BaseMemoryBlock[str]):
    """Recalls memories for the conversation of a `Memory`, and remembers that conversation.

    `Memory` passes messages to its blocks only when they no longer fit into its window, which rarely happens. So
    this block stores each message when it first sees it, and once only. (It sees the last answer of a chat engine at
    the next `memory.get()`.) If you erase a text from the space, remove it from the `Memory` too, or another block
    stores it again. If memory fails, the chat continues without this block and a warning is logged.

    For a ReActAgent, make the `Memory` with `insert_method=InsertMethod.USER`: that agent drops a system message that
    comes first, and with it every block. A `Memory` with blocks is not saved with a `Context`: make it again with the
    same `session_id`.

    `max_tokens`, `min_score`, `kinds`, `tags` and `record` are those of `Space.for_prompt`. `Memory` shortens the
    block if it does not fit into its `token_limit`.

    Args:
        location: Where to open the space, in place of `space`.
        path: The names of the child to use.
        keep: Which turns to store: "all", "user" (those of the user), "facts" (those in which `analyze_message` finds
            something worth storing), a function of role and text, or None for none.
        across_sessions: Whether to recall what was said in other sessions. Set it if the space has one user only.
        reinforce: Whether to count as used the recalled memories that the answer took words from.
        raise_errors: Whether to raise when memory fails, as when the space is closed or the disk is full.
        tokenizer_fn: Splits a text into tokens; LlamaIndex's tokenizer by default.

    Raises:
        InvalidInput: Neither a space nor a location was given.
    """

    name: str = "long_term_memory"
    description: str | None = "What was said before, if it is relevant to the conversation."
    priority: int = 1
    across_sessions: bool = False

    _stored_turns: _StoredTurns = PrivateAttr(default_factory=lambda: _StoredTurns())

    __init__ = RecallAdapter.__init__  # for type checkers

    def _reset_state(self) -> None:
        super()._reset_state()
        self._stored_turns = _StoredTurns()

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        session = block_kwargs.get("session_id") or _DEFAULT_SESSION
        return await asyncio.to_thread(self._recall, _without_repeated_input(messages or []), session)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        by_session: dict[str, list[ChatMessage]] = {}
        for message in messages:
            session = message.additional_kwargs.get("session_id") or _DEFAULT_SESSION
            by_session.setdefault(session, []).append(message)
        for session, session_messages in by_session.items():
            await asyncio.to_thread(self._store, session_messages, session)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Remove the memories of a block that recall ranked lowest.

        Args:
            tokens_to_truncate: How many tokens to save.

        Returns:
            The shortened block; None if no memory is left.
        """
        if not isinstance(content, _SessionBlock):
            return None
        max_tokens = self._count_tokens(content) - tokens_to_truncate
        shorter = content.memories.shorten(max(0, max_tokens), self._count_tokens)
        self._unanswered_questions.shorten(content.session, content.memories.hits, shorter.hits)
        return shorter.text or None

    def _recall(self, messages: list[ChatMessage], session: str) -> str:
        self._store(messages, session)
        question, block = llama_messages.open_question(messages).strip(), PromptMemories()
        if question:
            with log_and_continue(log, "recall", raise_errors=self.raise_errors):
                tags = [] if self.across_sessions else [_session_tag(session)]
                block = self._recall_block(self.space, question, messages, tags=tags)
        if self.reinforce and question:
            self._unanswered_questions.add_quoted(session, question, block.hits, llama_messages.context_texts(messages))
        return _SessionBlock(block, session)

    def _store(self, messages: Sequence[ChatMessage], session: str) -> None:
        space, new = self.space, list[RoleAndText]()
        with log_and_continue(log, "remember", raise_errors=self.raise_errors):
            kept = self._kept(llama_messages.roles_and_texts(messages))
            new = self._stored_turns.store(space, session, kept, self._turns_before)
        answer, context = llama_messages.new_answer(messages, new)
        if self.reinforce and answer:
            self._unanswered_questions.reinforce(session, space, answer, context)


class _SessionBlock(str):
    """A block with its memories and its session. `Memory` passes it to `atruncate`, which is told neither."""

    memories: PromptMemories
    session: str

    def __new__(cls, memories: PromptMemories, session: str) -> _SessionBlock:
        block = super().__new__(cls, memories.text)
        block.memories, block.session = memories, session
        return block


class _StoredTurns(ChangeFollower):
    """The turns of each session that were ever stored, in order. Forgotten ones count as stored."""

    def __init__(self) -> None:
        super().__init__()
        self._turns: dict[str, list[RoleAndText]] = {}  # by tag
        self._ids: set[str] = set()

    def store(
        self, space: Space, session: str, turns: Sequence[RoleAndText], before: Mapping[RoleAndText, str]
    ) -> list[RoleAndText]:
        """Store those of the turns that are new to the session, and return them. `before` has the turns before some of
        them, where those are not stored."""
        tag = _session_tag(session)
        with self.lock:
            self.catch_up(space)
            stored = self._turns.get(tag, [])
            new = llama_messages.not_yet_stored(stored, turns)
            # Another block may store the same turns at this moment. The n-th turn with the same text has the same
            # key there, and is one memory.
            counts = [(stored + new[:index]).count(turn) for index, turn in enumerate(new)]
            keys = [short_hash(repr((session, *turn, count))) for turn, count in zip(new, counts, strict=True)]
            store_turns(space, session, new, keys=keys, tags=[tag], before=before)
            self.catch_up(space)  # now, as the text of a turn that is erased later cannot be read any more
            return new

    def apply_change(self, change: Change) -> None:
        memory = change.memory
        if memory is not None and ROLE_KEY in memory.meta and memory.id not in self._ids:
            self._ids.add(memory.id)
            for tag in memory.tags:
                self._turns.setdefault(tag, []).append((memory.meta[ROLE_KEY], memory.text))


def _without_repeated_input(messages: list[ChatMessage]) -> list[ChatMessage]:
    """The messages without the input that `Memory` adds at their end, if they have it already."""
    if not messages or messages[-1].role != MessageRole.USER:
        return messages
    for message in reversed(messages[:-1]):
        if message.role == MessageRole.USER:
            return messages[:-1] if message.content == messages[-1].content else messages
        if llama_messages.role_and_text(message) is not None:
            break
    return messages


def _session_tag(session: str) -> str:
    return f"session {session_label(session)}"

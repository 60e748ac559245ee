"""Long-term recall as one block among others of LlamaIndex's own `Memory`."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock

from llama_index_remanence.longterm import ROLE_KEY, OpenQuestions, RecalledBlock, recall_block, store_turns
from llama_index_remanence.messages import (
    RoleAndText,
    context_texts,
    new_answer,
    not_yet_stored,
    role_and_text,
    roles_and_texts,
)
from llama_index_remanence.places import SpaceAdapter, SpaceReference
from llama_index_remanence.sessions import session_label, short_hash
from llama_index_remanence.window import Tokenizer, open_question, tokenize
from remanence.adapters import log_and_continue
from remanence.language.framing import shorten_frame

NO_SESSION = "default"

log = logging.getLogger(__name__)


class RemanenceMemoryBlock(SpaceAdapter, BaseMemoryBlock[str]):
    """Recalls for the conversation it is shown, and remembers that conversation as it sees it.

    `Memory` hands messages to its blocks only once they no longer fit its window, which few chats live to
    see; so this block remembers each message when it first sees it, and takes no notice when it comes
    again. (The last answer of a chat engine is seen at the next `memory.get()`.) What you erase from the
    space, take out of the `Memory` too: another block would hear it there again.

    A session recalls what was said in it, and nothing of another session, unless `across_sessions` says
    that the whole space belongs to one person.

    If memory is down, the chat goes on without this block, and the log says so.

    For a ReActAgent, make the `Memory` with `insert_method=InsertMethod.USER`: that agent drops a system
    message that comes first, and with it every block. A `Memory` with blocks, whosever they are, is not
    written into a saved `Context`: make it again with the same `session_id`.

    >>> import asyncio
    >>> import remanence
    >>> from llama_index.core.memory import Memory
    >>> async def ask(space, *words):
    ...     memory = Memory.from_defaults(session_id="s", memory_blocks=[RemanenceMemoryBlock(space)])
    ...     await memory.aput_messages([ChatMessage(role="user", content=each) for each in words])
    ...     return (await memory.aget())[0].content
    >>> with remanence.open(None) as space:
    ...     _ = asyncio.run(ask(space, "I am allergic to hazelnuts.", "Hello?"))
    ...     "hazelnuts" in asyncio.run(ask(space, "What am I allergic to?"))
    True
    """

    name: str = "long_term_memory"
    description: str | None = "What was said before, as far as it bears on the conversation."
    priority: int = 1
    limit: int = Field(default=10, gt=0, description="Memories recalled at most.")
    tokens: int = Field(default=2_000, ge=0, description="Tokens of what is recalled, at most.")
    min_score: float | None = Field(default=None, ge=0, le=1, description="What a memory has to score.")
    across_sessions: bool = Field(default=False, description="Recall what was said in other sessions too.")
    reinforce: bool = Field(
        default=False, description="Count as used what an answer took up of what was recalled for it."
    )
    tokenizer_fn: Tokenizer = Field(default=tokenize, exclude=True)

    _heard: _Heard | None = PrivateAttr(default=None)
    _served: OpenQuestions = PrivateAttr(default_factory=OpenQuestions)

    def _reset_state(self) -> None:
        self._heard, self._served = _Heard(self.place), OpenQuestions()

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        session = block_kwargs.get("session_id") or NO_SESSION
        return await asyncio.to_thread(self._recall, _once(messages or []), session)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        by_session: dict[str, list[ChatMessage]] = {}
        for message in messages:
            session = message.additional_kwargs.get("session_id") or NO_SESSION
            by_session.setdefault(session, []).append(message)
        for session, some in by_session.items():
            await asyncio.to_thread(self._hear, some, session)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out memories from the last on, until so many tokens are saved; None if that takes all."""
        room = self._count(content) - tokens_to_truncate if content else 0
        rest = shorten_frame(content, room, self._count) if room > 0 else ""
        if isinstance(content, _Block):
            self._served.record_truncated(content.session, content, rest)
        return rest or None

    def _recall(self, messages: list[ChatMessage], session: str) -> str:
        self._hear(messages, session)
        question, found = open_question(messages).strip(), RecalledBlock()
        if question:
            with log_and_continue(log, "recall"):
                found = recall_block(
                    self.space,
                    question,
                    messages,
                    limit=self.limit,
                    min_score=self.min_score,
                    tags=() if self.across_sessions else (_tag(session),),
                    tokens=self.tokens,
                    count=self._count,
                )
        if self.reinforce and question:
            self._served.record_shown(session, question, found.hits, context_texts(messages))
        return _Block(found.text, session)

    def _hear(self, messages: Sequence[ChatMessage], session: str) -> None:
        assert self._heard is not None, "made with the block"
        space, new = self.space, list[RoleAndText]()
        with log_and_continue(log, "remember"):
            new = self._heard.hear(session, roles_and_texts(messages))
        answer, told = new_answer(messages, new)
        if self.reinforce and answer:
            self._served.record_answer(session, space, answer, told)

    def _count(self, text: str) -> int:
        return len(self.tokenizer_fn(text))


class _Block(str):
    """The block for a prompt. `Memory` hands it back to be shortened, and does not say for which session."""

    session: str

    def __new__(cls, text: str, session: str) -> _Block:
        made = super().__new__(cls, text)
        made.session = session
        return made


class _Heard:
    """What was said in each session, in order, as the ledger has it: forgotten or not, it was heard."""

    def __init__(self, place: SpaceReference) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._position = 0
        self._said: dict[str, list[RoleAndText]] = {}
        self._ids: set[str] = set()

    def __deepcopy__(self, memo: dict[int, Any]) -> _Heard:
        return self

    def hear(self, session: str, told: Sequence[RoleAndText]) -> list[RoleAndText]:
        """Remember what of this is new to the session, and say what it was."""
        tag = _tag(session)
        with self._lock:
            self._catch_up()
            heard = self._said.get(tag, [])
            new = not_yet_stored(heard, told)
            # Others may hear the same just now, from a block of their own: the same words, said for the
            # same time, are one memory.
            times = [(heard + new[:index]).count(one) for index, one in enumerate(new)]
            keys = [short_hash(repr((session, *one, time))) for one, time in zip(new, times, strict=True)]
            store_turns(self._place.space, session, new, keys=keys, tags=[tag])
            self._catch_up()  # while the words can be read: if they are erased, they were heard all the same
            return new

    def _catch_up(self) -> None:
        for change in self._place.space.audit.changes(after=self._position):
            self._position = change.position
            memory = change.memory
            if memory is not None and ROLE_KEY in memory.meta and memory.id not in self._ids:
                self._ids.add(memory.id)
                for tag in memory.tags:
                    self._said.setdefault(tag, []).append((memory.meta[ROLE_KEY], memory.text))


def _once(messages: list[ChatMessage]) -> list[ChatMessage]:
    """The messages without the input that `Memory` adds at their end, where it is among them already."""
    if not messages or messages[-1].role != MessageRole.USER:
        return messages
    for message in reversed(messages[:-1]):
        if message.role == MessageRole.USER:
            return messages[:-1] if message.content == messages[-1].content else messages
        if role_and_text(message) is not None:
            break
    return messages


def _tag(session: str) -> str:
    return f"session {session_label(session)}"

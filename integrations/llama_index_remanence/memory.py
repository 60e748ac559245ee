"""The memory of an agent or a chat engine: the conversation so far, and what is recalled for it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import BaseMemory

from llama_index_remanence.longterm import OpenQuestions, RecalledBlock, recall_block, store_turns
from llama_index_remanence.messages import (
    RoleAndText,
    context_texts,
    new_answer,
    not_yet_stored,
    roles_and_texts,
    without_recalled,
)
from llama_index_remanence.places import SpaceAdapter
from llama_index_remanence.transcript import Transcript
from llama_index_remanence.window import Tokenizer, insert_block, open_question, recent_messages, tokenize
from remanence import Space
from remanence.adapters import log_and_continue

WINDOW = "window"

log = logging.getLogger(__name__)


class RemanenceMemory(SpaceAdapter, BaseMemory):
    """A chat window and long-term recall, for agents and chat engines.

    Everything said in any session of the space may be recalled in any other: give each user a space of
    their own. The window belongs to one session, survives a restart, and `reset` clears only it. It lies in
    the child `window` of the space, apart from what is remembered: words that you erase for good are to be
    erased in both.

    Made with `location` in place of `space`, it opens the space itself, and again after a restart.

    If nothing can be recalled because memory is down, the chat goes on with the window, and the log says so.
    A message that cannot be kept raises.

    >>> import remanence
    >>> space = remanence.open(None)
    >>> monday = RemanenceMemory(space, session_id="monday")
    >>> monday.put(ChatMessage(role="user", content="I am allergic to hazelnuts."))
    >>> tuesday = RemanenceMemory(space, session_id="tuesday")
    >>> "hazelnuts" in tuesday.get(input="What am I allergic to?")[0].content
    True
    >>> space.close()
    """

    session_id: str
    token_limit: int = Field(default=30_000, gt=0, description="Tokens of the window and what is recalled.")
    recall_tokens: int = Field(default=2_000, ge=0, description="Tokens kept free for what is recalled.")
    limit: int = Field(default=10, gt=0, description="Memories recalled at most.")
    min_score: float | None = Field(default=None, ge=0, le=1, description="What a memory has to score.")
    extract: bool = Field(
        default=False, description="Draw facts from what is said, in the background, with space.remember()."
    )
    reinforce: bool = Field(
        default=False, description="Count as used what an answer took up of what was recalled for it."
    )
    tokenizer_fn: Tokenizer = Field(default=tokenize, exclude=True)

    _window: Transcript | None = PrivateAttr(default=None)
    _asked: tuple[Any, RecalledBlock] | None = PrivateAttr(default=None)
    _served: OpenQuestions = PrivateAttr(default_factory=OpenQuestions)

    def __init__(self, space: Space | None = None, *, session_id: str | None = None, **settings: Any) -> None:
        super().__init__(space, session_id=session_id or uuid4().hex, **settings)

    def _reset_state(self) -> None:
        self._window, self._asked, self._served = None, None, OpenQuestions()

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "RemanenceMemory"

    @classmethod
    def from_defaults(
        cls,
        space: Space | None = None,
        chat_history: list[ChatMessage] | None = None,
        llm: LLM | None = None,
        **settings: Any,
    ) -> RemanenceMemory:
        """A memory that starts with a history, and leaves a quarter of the model's context free."""
        if llm is not None:
            settings.setdefault("token_limit", int(llm.metadata.context_window * 0.75))
        memory = cls(space, **settings)
        if chat_history is not None:
            memory.set(chat_history)
        return memory

    def get(self, input: str | ChatMessage | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The window, and what is recalled for `input`, or for the user message that is not answered yet."""
        messages = self.get_all()
        asked = input.content if isinstance(input, ChatMessage) else input
        question = (asked or open_question(messages)).strip()
        room = self.token_limit - int(kwargs.get("initial_token_count", 0))
        shown = recent_messages(messages, room - (self.recall_tokens if question else 0), self._count)
        return insert_block(shown, self._recalled(question, shown) if question else "")

    def get_all(self) -> list[ChatMessage]:
        """The window, whole, and nothing else."""
        return [row.message for row in self._transcript.rows(self.session_id)]

    def put(self, message: ChatMessage) -> None:
        """Add a message to the window, and remember it if somebody says something in it."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the window, and remember what is said in them."""
        kept = without_recalled(messages)
        new = roles_and_texts(kept)
        self._remember(new)
        self._transcript.append(self.session_id, kept)
        answer, told = new_answer(kept, new)
        if self.reinforce and answer:
            self._served.record_answer(self.session_id, self.space, answer, told)

    def set(self, messages: list[ChatMessage]) -> None:
        """Make these the window, and remember what of them this session has not heard before."""
        kept = without_recalled(messages)
        self._remember(
            not_yet_stored(roles_and_texts(self._transcript.all_messages(self.session_id)), roles_and_texts(kept))
        )
        self._transcript.replace(self.session_id, kept)
        self._break_off()

    def reset(self) -> None:
        """Clear the window. What was remembered stays: forget it with `space.forget`."""
        self._transcript.delete_session(self.session_id)
        self._break_off()

    def fork(self, session_id: str | None = None) -> RemanenceMemory:
        """A memory whose session begins with this window, and from there on has its own.

        A `Context` that is restored goes on in the one session, however often it is restored; a fork of it
        wants a session of its own. What is remembered they share, as any two sessions do.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     memory = RemanenceMemory(space, session_id="one")
        ...     memory.put(ChatMessage(role="user", content="Heads or tails?"))
        ...     memory.fork("two").put(ChatMessage(role="assistant", content="Heads."))
        ...     len(memory.get_all()), len(RemanenceMemory(space, session_id="two").get_all()), space.count()
        (1, 2, 2)
        """
        other = self.model_copy(update={"session_id": session_id or uuid4().hex})
        other._transcript.replace(other.session_id, self.get_all())
        return other

    @property
    def _transcript(self) -> Transcript:
        if self._window is None:
            self._window = Transcript(self.space.child(WINDOW))
        return self._window

    def _break_off(self) -> None:
        """The turn that was begun, if any, will not be answered."""
        self._asked = None
        self._served.discard(self.session_id)

    def _remember(self, told: Sequence[RoleAndText]) -> None:
        store_turns(self.space, self.session_id, told, extract=self.extract)

    def _recalled(self, question: str, shown: Sequence[ChatMessage]) -> str:
        found = RecalledBlock()
        space = self.space
        with log_and_continue(log, "recall"):
            found = self._once_a_turn(space, question, shown)
        if self.reinforce:
            self._served.record_shown(self.session_id, question, found.hits, context_texts(shown))
        return found.text

    def _once_a_turn(self, space: Space, question: str, shown: Sequence[ChatMessage]) -> RecalledBlock:
        """Agents get their messages several times for one question; only news is worth asking again."""
        asking = (question, frozenset(roles_and_texts(shown)))
        if self._asked is not None:
            before, found = self._asked
            if before == asking and next(space.audit.changes(after=found.position), None) is None:
                return found
        found = recall_block(
            space,
            question,
            shown,
            limit=self.limit,
            min_score=self.min_score,
            tokens=self.recall_tokens,
            count=self._count,
        )
        self._asked = (asking, found)
        return found

    def _count(self, text: str) -> int:
        return len(self.tokenizer_fn(text))

"""The memory of an agent or a chat engine: the messages of the session, and memories recalled for the question."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr, field_validator
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import BaseMemory
from pydantic import AfterValidator

from llama_index_remanence import messages as llama_messages
from llama_index_remanence.long_term_memory import RecallAdapter, store_turns
from llama_index_remanence.messages import RoleAndText, roles_and_texts
from llama_index_remanence.space_reference import SpaceReference, TtlSeconds
from llama_index_remanence.transcript import Transcript
from remanence import InvalidInput, Space, union
from remanence.adapters import (
    Moment,
    PromptMemories,
    check_moment,
    check_session_id,
    check_ttl,
    in_thread,
    is_space,
    log_and_continue,
    prompt_budget,
    require_fact_extractor,
)

_WINDOW = "window"

log = logging.getLogger(__name__)


class RemanenceMemory(RecallAdapter, BaseMemory):
    """A chat window and long-term recall, for agents and chat engines.

    What was said in one session of the space can be recalled in any other: give each user a space of their own.
    The window has the messages of one session and survives a restart; `reset` clears the window only. It is stored
    in the child "window" of the space, so a text that is to be erased must be erased in both. If recall fails, the
    chat continues with the window and a warning is logged. A message that cannot be stored raises.

    `max_tokens`, `min_score`, `kinds`, `tags` and `record` are those of `Space.for_prompt`. What is recalled never
    takes more than a quarter of the window.

    Args:
        location: Where to open the space, in place of `space`; it is opened again after a restart.
        path: The names of the child to use.
        shared: Spaces whose memories are recalled beside those of the space, such as that of a team: they are read
            only, and each quoted memory names its space.
        session_id: The name of the session; a random one by default.
        ttl: Erase the window of a session so many seconds after its last message, when it is next used or by
            `sweep_ttl`. The memories stay.
        token_limit: The token budget of the window and the recalled memories. The name is LlamaIndex's.
        place: Where the memories are quoted. "message": before the text of the question, so that all before it stays
            the same from call to call and the provider's prompt cache applies. "tool": as the result of a tool call
            after the question. "system": at the end of the system message of the window; without one, before the text
            of the question. The system prompt of an agent or a chat engine is not in the window: it is put before what
            `get` returns; `space.briefing()` is for that one.
        keep: Which turns can be recalled later: "all", "user" (those of the user), "facts" (those in which
            `analyze_message` finds something worth storing), a function of role and text, or None for none. The
            window has all of them.
        extract: Whether the language model of the space (`remanence.open(location, extractor=model)`) extracts facts:
            in the background, once for a chat that has been quiet or has grown (`remember(..., wait="quiet")`).
        reinforce: Whether to count as used the recalled memories that the answer took words from.
        raise_errors: Whether `get` raises when the recall fails, as when the space is closed.
        now: When the messages that are put are said, and questions asked, for a chat of an earlier day; the present by
            default. It can be set again: `memory.now = "2026-05-04"`.
        tokenizer_fn: Splits a text into tokens; LlamaIndex's tokenizer by default.

    Raises:
        InvalidInput: Neither a space nor a location was given, or `session_id` is blank.
    """

    session_id: str
    shared: tuple[SpaceReference, ...] = ()
    ttl: TtlSeconds = None
    token_limit: int = Field(default=30_000, gt=0)
    place: Literal["system", "message", "tool"] = "message"
    extract: bool = False
    now: Annotated[Moment | None, AfterValidator(check_moment)] = None

    _cached_transcript: Transcript | None = PrivateAttr(default=None)
    _last_recall: tuple[Any, PromptMemories] | None = PrivateAttr(default=None)

    def __init__(
        self,
        space: Space | None = None,
        *,
        session_id: str | None = None,
        location: str | Path | None = None,
        path: Sequence[str] = (),
        reference: SpaceReference | dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        name = uuid4().hex if session_id is None else check_session_id(session_id)
        super().__init__(space, location=location, path=path, reference=reference, session_id=name, **settings)
        if self.extract:
            require_fact_extractor(self.space)
        if self.shared and self.record:
            raise InvalidInput(
                "record=True with shared=[...]: recalls of several spaces are not recorded. Leave one out."
            )

    @field_validator("shared", mode="before")
    @classmethod
    def _refer_to_shared(cls, shared: Any) -> Any:
        return [SpaceReference.to(each) if is_space(each) else each for each in shared]

    def _reset_state(self) -> None:
        super()._reset_state()
        self._cached_transcript, self._last_recall = None, None

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises it."""
        return "RemanenceMemory"

    @classmethod
    def from_defaults(
        cls,
        space: Space | None = None,
        chat_history: list[ChatMessage] | None = None,
        llm: LLM | None = None,
        **settings: Any,
    ) -> RemanenceMemory:
        """Make a memory, as LlamaIndex's own memories are made.

        Args:
            chat_history: The messages to start with.
            llm: The model. By default `token_limit` is three quarters of its context.
            **settings: Further arguments of the class. A `token_limit` of None is the default.
        """
        if settings.get("token_limit") is None:
            settings.pop("token_limit", None)
            if llm is not None:
                settings["token_limit"] = int(llm.metadata.context_window * 0.75)
        memory = cls(space, **settings)
        if chat_history is not None:
            memory.set(chat_history)
        return memory

    def get(  # type: ignore[override]  # LlamaIndex's takes any keyword
        self, input: str | ChatMessage | None = None, *, initial_token_count: int = 0
    ) -> list[ChatMessage]:
        """Return the window with the memories that are recalled for a question.

        Args:
            input: The question; by default the user message that is not answered yet.
            initial_token_count: The tokens that the rest of the prompt takes.

        Raises:
            InvalidInput: The rest of the prompt takes more than `token_limit`; or `input` is neither text nor a
                message.
        """
        given = input.content if isinstance(input, ChatMessage) else input
        if given is not None and not isinstance(given, str):
            raise InvalidInput(
                f"input={input!r} is of type {type(input).__name__}. Give the question as text or as a ChatMessage; "
                "get_all() returns the messages without one."
            )
        window = self.token_limit - initial_token_count
        if window < 0:
            raise InvalidInput(
                f"{initial_token_count=} exceeds token_limit={self.token_limit}: no "
                "message fits. Shorten the rest of the prompt, or give the memory a higher token_limit."
            )
        messages = self.get_all()
        question = (given or llama_messages.open_question(messages)).strip()
        reserved = prompt_budget(self.max_tokens, window) or 0 if question else 0
        recent = llama_messages.recent_messages(messages, window - reserved, self._count_tokens)
        block = self._recall_for(question, recent, window) if question else ""
        if len(recent) < len(messages):  # what the memories left of their budget is for more of the conversation
            left = window - self._count_tokens(block)
            recent = llama_messages.recent_messages(messages, left, self._count_tokens)
        return llama_messages.insert_block(recent, block, self.place)

    def get_all(self) -> list[ChatMessage]:
        """Return all messages of the window, without recalled memories."""
        return [row.message for row in self._transcript.rows(self.session_id)]

    def put(self, message: ChatMessage) -> None:
        """Add a message to the window, and remember it if it is one of the user or the model."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the window, and remember those of the user and the model."""
        added = llama_messages.without_recalled(messages)
        turns = roles_and_texts(added)
        self._remember(turns)
        self._transcript.append(self.session_id, added)
        answer, context = llama_messages.new_answer(added, turns)
        if self.reinforce and answer:
            self._unanswered_questions.reinforce(self.session_id, self.space, answer, context)

    def set(self, messages: list[ChatMessage]) -> None:
        """Make these the messages of the window, and remember those that this session has not stored yet."""
        added = llama_messages.without_recalled(messages)
        stored = roles_and_texts(self._transcript.all_messages(self.session_id))
        self._remember(llama_messages.not_yet_stored(stored, roles_and_texts(added)))
        self._transcript.replace(self.session_id, added)
        self._discard_question()

    def reset(self) -> None:
        """Clear the window. Memories stay: forget them with `space.forget`."""
        self._transcript.delete_session(self.session_id)
        self._discard_question()

    def sweep_ttl(self) -> int:
        """Erase the windows of all sessions that have expired. Returns how many there were."""
        return self._transcript.sweep_ttl()

    asweep_ttl = in_thread(sweep_ttl)

    def fork(self, session_id: str | None = None) -> RemanenceMemory:
        """Return a memory whose session begins with a copy of this window.

        A restored `Context` continues in the same session, however often it is restored; a copy of it needs a
        session of its own. The memories are shared, as by any two sessions.

        Args:
            session_id: The name of the new session; a random one by default.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     memory = RemanenceMemory(space, session_id="one")
            ...     memory.put(ChatMessage(role="user", content="Heads or tails?"))
            ...     memory.fork("two").put(ChatMessage(role="assistant", content="Heads."))
            ...     len(memory.get_all()), len(RemanenceMemory(space, session_id="two").get_all()), space.count()
            (1, 2, 2)
        """
        fork = self.model_copy(update={"session_id": session_id or uuid4().hex})
        fork._transcript.replace(fork.session_id, self.get_all())
        return fork

    @property
    def _transcript(self) -> Transcript:
        if self._cached_transcript is None:
            self._cached_transcript = Transcript(self.space.child(_WINDOW), check_ttl(self.ttl))
        return self._cached_transcript

    def _discard_question(self) -> None:
        self._last_recall = None
        self._unanswered_questions.discard(self.session_id)

    def _remember(self, turns: Sequence[RoleAndText]) -> None:
        kept = self._kept(turns)
        store_turns(self.space, self.session_id, kept, before=self._turns_before, extract=self.extract, now=self.now)

    def _recall_for(self, question: str, prompt: Sequence[ChatMessage], window: int) -> str:
        block = PromptMemories()
        space = self.space
        with log_and_continue(log, "recall", raise_errors=self.raise_errors):
            block = self._recall_once(space, question, prompt, window)
        if self.reinforce:
            context = llama_messages.context_texts(prompt)
            self._unanswered_questions.add_quoted(self.session_id, question, block.hits, context)
        return block.text

    def _recall_once(self, space: Space, question: str, prompt: Sequence[ChatMessage], window: int) -> PromptMemories:
        """Recall, or return the last recall: agents get their messages several times for one question."""
        arguments = (question, tuple(roles_and_texts(prompt)), window, self.now)
        if self._last_recall is not None and not self.shared:  # shared spaces have positions of their own
            last_arguments, block = self._last_recall
            if last_arguments == arguments and next(space.audit.changes(after_position=block.position), None) is None:
                return block
        asked = union(space, *(each.space for each in self.shared)) if self.shared else space
        block = self._recall_block(asked, question, prompt, window=window, now=self.now)
        self._last_recall = (arguments, block)
        return block

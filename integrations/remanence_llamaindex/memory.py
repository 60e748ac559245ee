"""The memory of an agent or a chat engine: the conversation so far, and what is recalled for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import BaseMemory

from remanence import Space
from remanence_llamaindex.longterm import recalled, remember
from remanence_llamaindex.messages import Said, said, unheard, without_recalled
from remanence_llamaindex.places import Place
from remanence_llamaindex.transcript import Transcript
from remanence_llamaindex.window import Tokenizer, merged, question_in, recent, tokenize

WINDOW = "window"


class RemanenceMemory(BaseMemory):
    """A chat window and long-term recall, for agents and chat engines.

    Everything said in any session of the space may be recalled in any other: give each user a space of
    their own. The window belongs to one session, survives a restart, and `reset` clears only it. It lies in
    the child `window` of the space, apart from what is remembered.

    Made with `location` in place of `space`, it opens the space itself, and again after a restart.

    >>> import remanence
    >>> space = remanence.open(None)
    >>> monday = RemanenceMemory(space, session_id="monday")
    >>> monday.put(ChatMessage(role="user", content="I am allergic to hazelnuts."))
    >>> tuesday = RemanenceMemory(space, session_id="tuesday")
    >>> "hazelnuts" in tuesday.get(input="What am I allergic to?")[0].content
    True
    >>> space.close()
    """

    place: Place
    session_id: str
    token_limit: int = Field(default=30_000, gt=0, description="Tokens of the window and what is recalled.")
    recall_tokens: int = Field(default=2_000, ge=0, description="Tokens kept free for what is recalled.")
    limit: int = Field(default=10, gt=0, description="Memories recalled at most.")
    min_score: float | None = Field(default=None, ge=0, le=1, description="What a memory has to score.")
    extract: bool = Field(
        default=False, description="Draw facts from what is said, in the background, with space.remember()."
    )
    tokenizer_fn: Tokenizer = Field(default=tokenize, exclude=True)

    _window: Transcript | None = PrivateAttr(default=None)
    _asked: tuple[Any, int, str] | None = PrivateAttr(default=None)

    def __init__(
        self,
        space: Space | None = None,
        *,
        location: str | Path | None = None,
        path: Sequence[str] = (),
        place: Place | dict[str, Any] | None = None,
        session_id: str | None = None,
        **settings: Any,
    ) -> None:
        settings["place"] = Place.of(space, location, path) if place is None else place
        settings["session_id"] = session_id or uuid4().hex
        super().__init__(**settings)

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

    @property
    def space(self) -> Space:
        """The space it remembers in; opened again if this memory was read from a file."""
        return self.place.space

    def attach(self, space: Space) -> None:
        """Give it its space back, where it was read from a file and cannot open the space by itself."""
        self.place = Place.of(space, self.place.location)
        self._window = self._asked = None

    def get(self, input: str | ChatMessage | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The window, and what is recalled for `input`, or for the user message that is not answered yet."""
        messages = self.get_all()
        asked = input.content if isinstance(input, ChatMessage) else input
        question = (asked or question_in(messages)).strip()
        room = self.token_limit - int(kwargs.get("initial_token_count", 0))
        shown = recent(messages, room - (self.recall_tokens if question else 0), self._count)
        return merged(shown, self._recalled(question, shown) if question else "")

    def get_all(self) -> list[ChatMessage]:
        """The window, whole, and nothing else."""
        return [row.message for row in self._transcript.rows(self.session_id)]

    def put(self, message: ChatMessage) -> None:
        """Add a message to the window, and remember it if somebody says something in it."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the window, and remember what is said in them."""
        kept = [m for m in map(without_recalled, messages) if m is not None]
        self._remember([words for m in kept if (words := said(m)) is not None])
        self._transcript.append(self.session_id, kept)

    def set(self, messages: list[ChatMessage]) -> None:
        """Make these the window, and remember what of them this session has not heard before."""
        kept = [m for m in map(without_recalled, messages) if m is not None]
        heard = [words for m in self._transcript.ever(self.session_id) if (words := said(m)) is not None]
        self._remember(unheard(heard, [words for m in kept if (words := said(m)) is not None]))
        self._transcript.replace(self.session_id, kept)
        self._asked = None

    def reset(self) -> None:
        """Clear the window. What was remembered stays: forget it with `space.forget`."""
        self._transcript.end(self.session_id)
        self._asked = None

    @property
    def _transcript(self) -> Transcript:
        if self._window is None:
            self._window = Transcript(self.space.child(WINDOW))
        return self._window

    def _remember(self, told: Sequence[Said]) -> None:
        remember(self.space, self.session_id, told, extract=self.extract)

    def _recalled(self, question: str, shown: Sequence[ChatMessage]) -> str:
        """Asked once a turn: agents get their messages several times for one question."""
        asking = (question, self.recall_tokens, tuple(said(message) for message in shown))
        if self._asked is not None:
            before, position, block = self._asked
            if before == asking and next(self.space.changes(after=position), None) is None:
                return block
        answer, block = recalled(
            self.space,
            question,
            shown,
            limit=self.limit,
            min_score=self.min_score,
            tokens=self.recall_tokens,
            count=self._count,
        )
        self._asked = (asking, answer.position, block)
        return block

    def _count(self, text: str) -> int:
        return len(self.tokenizer_fn(text))

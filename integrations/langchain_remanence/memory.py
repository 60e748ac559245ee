"""Memory for the chains of langchain-classic."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, get_buffer_string
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SkipValidation
from pydantic_core import to_jsonable_python

from langchain_remanence.history import RemanenceChatMessageHistory, as_message, empty_transcript
from langchain_remanence.messages import chat_turns
from remanence import InvalidInput, Memory, Space
from remanence.adapters import (
    MAX_TOKENS,
    PromptMemories,
    check_keep,
    check_kinds,
    check_session_id,
    check_tags,
    log_and_continue,
    reinforce,
    require_space,
)

log = logging.getLogger(__name__)


class RemanenceMemory(BaseMemory):
    """The memory of a ConversationChain, an LLMChain, or a part of a CombinedMemory.

    It loads the memories that help to answer the input, quoted, and the last messages of the session; an input that
    needs no memory gets none. It saves the input and the output as messages of the session.

    `min_score`, `kinds`, `tags`, `max_tokens` and `count_tokens` are those of `Space.for_prompt`.

    Args:
        space: The space. Its memories of all sessions can be loaded.
        input_key: The input that is the user's message, if a chain has several.
        output_key: The output that is the answer, if a chain has several.
        return_messages: Whether to load messages instead of one text.
        keep: Which messages of other sessions to load: "all", "user" (those of the user), "facts" (those in which
            `analyze_message` finds something worth storing), a function of role and text, or None for none. All
            messages are stored, as the session is made of them.
        place: Where the memories are loaded: "system", before the messages, or "message", after them. Then the
            beginning of the prompt stays the same from call to call, and the provider's prompt cache applies.
        window: How many of the last messages of the session to load.
        human_prefix: The name of the user where messages are loaded as text.
        ai_prefix: The name of the model where messages are loaded as text.
        reinforce: Whether to count as used the quoted memories that the output took words from, so that they
            do not decay.
    """

    model_config = ConfigDict(extra="forbid")  # a misspelt setting would have no effect

    space: Annotated[Space, SkipValidation, BeforeValidator(require_space)]
    session_id: Annotated[str, AfterValidator(check_session_id)] = "default"
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    min_score: float | None = Field(default=None, ge=0, le=1)
    kinds: Annotated[str | Sequence[str] | None, AfterValidator(check_kinds)] = None
    tags: Annotated[str | Sequence[str] | None, AfterValidator(check_tags)] = None
    place: Literal["system", "message"] = "system"
    keep: Annotated[Any, AfterValidator(check_keep)] = "all"
    window: int = Field(default=6, ge=0)
    max_tokens: int | None = Field(default=MAX_TOKENS, ge=0)
    count_tokens: Callable[[str], int] | None = None
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    reinforce: bool = False

    def __init__(self, space: Space, **settings: Any) -> None:
        super().__init__(**{"space": space, **settings})

    @property
    def memory_variables(self) -> list[str]:
        """The prompt variable that this memory fills."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the memories that help to answer the input, and the last messages.

        Args:
            inputs: The inputs of the chain. Without any, only the last messages are loaded.

        Returns:
            The value of the prompt variable `memory_key`.

        Raises:
            InvalidInput: There are several inputs and no `input_key`.
        """
        recent = self._history.stored_memories(self.window)
        block = self._recall_for(self._question(inputs), recent).text
        messages = [as_message(memory) for memory in recent]
        transcript = get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        parts: list[list[Any]] = [[SystemMessage(block)] if block else [], messages]
        texts = [block, transcript]
        if self.place == "message":
            parts.reverse()
            texts.reverse()
        if self.return_messages:
            return {self.memory_key: [message for part in parts for message in part]}
        return {self.memory_key: "\n\n".join(text for text in texts if text)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Store the input and the output as two messages of the session.

        Raises:
            InvalidInput: It is unclear which input or output is meant, or one is neither text nor a message.
        """
        question = _as_message(inputs[self._input_key(inputs)], HumanMessage)
        answer = _as_message(outputs[self._output_key(outputs)], AIMessage)
        if self.reinforce:
            self._reinforce(inputs.get(self.memory_key) or "", str(question.text), str(answer.text))
        self._history.add_messages([question, answer])

    def clear(self) -> None:
        """Begin the history of the session anew: its messages so far are no longer loaded as the last messages.

        All of them stay memories, for this session and others. Forget them with `space.forget`, or erase the session
        with `RemanenceChatMessageHistory(space).erase_session(session_id)`.
        """
        empty_transcript(self.space, self.session_id)

    @property
    def _history(self) -> RemanenceChatMessageHistory:
        return RemanenceChatMessageHistory(self.space, self.session_id)

    def _recall_for(self, question: str, recent: list[Memory]) -> PromptMemories:
        """Recall for a question what helps to answer it, without the messages that are loaded anyway."""
        if not question:
            return PromptMemories()
        return self.space.for_prompt(
            question,
            turns=chat_turns([as_message(memory) for memory in recent]),
            max_tokens=self.max_tokens,
            count_tokens=self.count_tokens,
            min_score=self.min_score,
            kinds=self.kinds,
            tags=self.tags,
            keep=self.keep,
        )

    def _reinforce(self, loaded: str | list[BaseMessage], question: str, answer: str) -> None:
        """Record the usage of the loaded memories that the answer contains. A chain returns them with its inputs."""
        text = loaded if isinstance(loaded, str) else "\n".join(str(message.text) for message in loaded)
        with log_and_continue(log, "reinforce"):  # the chain has its answer and must not fail
            found = self._recall_for(question, self._history.stored_memories(self.window))
            if found.text in text:
                reinforce(self.space, found.hits, context=[question, text], answer=answer)

    def _question(self, inputs: Mapping[str, Any]) -> str:
        if not inputs or (self.input_key is not None and self.input_key not in inputs):
            return ""
        return str(_as_message(inputs[self._input_key(inputs)], HumanMessage).text)

    # The keys are found by the rules of LangChain's own chat memories, so that this class can replace them.

    def _input_key(self, inputs: Mapping[str, Any]) -> str:
        if self.input_key is not None:
            return self.input_key
        keys = [key for key in inputs if key not in (*self.memory_variables, "stop")]
        if len(keys) != 1:
            raise InvalidInput(f"the user's message may be any of the inputs {keys}. Set input_key to one of them.")
        return keys[0]

    def _output_key(self, outputs: Mapping[str, Any]) -> str:
        if self.output_key is not None:
            return self.output_key
        if len(outputs) == 1:
            return next(iter(outputs))
        if "output" not in outputs:
            raise InvalidInput(f"the answer may be any of the outputs {list(outputs)}. Set output_key to one of them.")
        warnings.warn(f"of the outputs {list(outputs)}, 'output' is stored; set output_key", stacklevel=4)
        return "output"


def _as_message(value: object, message_class: type[HumanMessage | AIMessage]) -> BaseMessage:
    if isinstance(value, BaseMessage):
        return value
    if isinstance(value, str):
        return message_class(value)
    if message_class is AIMessage and isinstance(value, BaseModel | dict | list):  # structured output
        return message_class(json.dumps(to_jsonable_python(value, fallback=str), ensure_ascii=False))
    raise InvalidInput(f"{value!r} is neither text nor a message. Set input_key and output_key to texts or messages.")

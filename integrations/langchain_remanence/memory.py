"""Memory for the chains of langchain-classic: what is relevant to the input, and the last few messages."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, get_buffer_string
from pydantic import ConfigDict, Field, SkipValidation

from langchain_remanence.history import RemanenceChatMessageHistory, as_message
from remanence import Hit, InvalidInput, Memory, Space
from remanence.adapters import log_and_continue, quoted_hits, reinforce
from remanence.language.framing import frame

log = logging.getLogger(__name__)


class RemanenceMemory(BaseMemory):
    """The memory of a ConversationChain, an LLMChain, or a part of a CombinedMemory.

    Loads under `memory_key` the `k` memories of the whole space that are most relevant to the input, quoted
    and in at most `tokens` tokens, and the last `window` messages of the session as they were; as text, or
    with `return_messages` as messages. Saves the input and the output. `clear` hides the session's
    messages from now on, and no other memory. With `reinforce`, those of the quoted memories that the output
    took words from count as used, which keeps them from fading.
    """

    model_config = ConfigDict(extra="forbid")  # a setting that is misspelt would set nothing

    space: SkipValidation[Space]
    session_id: str = "default"
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    k: int = Field(5, ge=0)
    window: int = Field(6, ge=0)
    tokens: int | None = Field(1_000, ge=0)
    count: Callable[[str], int] | None = None
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    reinforce: bool = False

    @property
    def memory_variables(self) -> list[str]:
        """The one variable that this fills in."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What is relevant to the input, and the last messages. No input: the last messages alone."""
        recent = self._chat.stored_memories(self.window)
        hits = self._come_to_mind(self._question(inputs), recent)
        block = frame(hits, tokens=self.tokens, count_tokens=self.count)
        messages = [as_message(memory) for memory in recent]
        if self.return_messages:
            return {self.memory_key: [SystemMessage(block), *messages] if block else messages}
        said = get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        return {self.memory_key: "\n\n".join(part for part in (block, said) if part)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Keep the input and the output as two messages of the session."""
        asked = _message(inputs[self._input_key(inputs)], HumanMessage)
        answered = _message(outputs[self._output_key(outputs)], AIMessage)
        if self.reinforce:
            self._count_use(inputs.get(self.memory_key) or "", str(asked.text), str(answered.text))
        self._chat.add_messages([asked, answered])

    def clear(self) -> None:
        """Hide the messages of the session from now on."""
        self._chat.clear()

    @property
    def _chat(self) -> RemanenceChatMessageHistory:
        return RemanenceChatMessageHistory(self.space, self.session_id)

    def _come_to_mind(self, question: str, recent: list[Memory]) -> list[Hit]:
        """What a question recalls, without what stands in the window as a message already."""
        if not question or not self.k:
            return []
        shown = {memory.id for memory in recent}
        hits = self.space.recall(question, limit=self.k + len(shown))
        return [hit for hit in hits if hit.memory.id not in shown][: self.k]

    def _count_use(self, loaded: str | list[BaseMessage], question: str, answer: str) -> None:
        """Count as used what the answer took up of what was loaded, which a chain hands back with its inputs.

        A chain that has its answer is not to fail over this.
        """
        text = loaded if isinstance(loaded, str) else "\n".join(str(message.text) for message in loaded)
        with log_and_continue(log, "reinforce"):
            shown = quoted_hits(text, self._come_to_mind(question, self._chat.stored_memories(self.window)))
            reinforce(self.space, shown, context=[question, text], answer=answer)

    def _question(self, inputs: Mapping[str, Any]) -> str:
        if not inputs or (self.input_key is not None and self.input_key not in inputs):
            return ""
        return str(_message(inputs[self._input_key(inputs)], HumanMessage).text)

    # Which key is which: the rules of LangChain's own chat memories, so that ours can take their place.

    def _input_key(self, inputs: Mapping[str, Any]) -> str:
        if self.input_key is not None:
            return self.input_key
        keys = [key for key in inputs if key not in (*self.memory_variables, "stop")]
        if len(keys) != 1:
            raise InvalidInput(f"which of the inputs {keys} did the user say? Set input_key to one of them.")
        return keys[0]

    def _output_key(self, outputs: Mapping[str, Any]) -> str:
        if self.output_key is not None:
            return self.output_key
        if len(outputs) == 1:
            return next(iter(outputs))
        if "output" not in outputs:
            raise InvalidInput(f"which of the outputs {list(outputs)} is the answer? Set output_key to one.")
        warnings.warn(f"of the outputs {list(outputs)}, 'output' is kept; set output_key", stacklevel=4)
        return "output"


def _message(given: object, kind: type[HumanMessage | AIMessage]) -> BaseMessage:
    """What a chain was given or gave, as a message."""
    if isinstance(given, BaseMessage):
        return given
    if isinstance(given, str):
        return kind(given)
    raise InvalidInput(f"{given!r} is neither text nor a message, and cannot be kept as what was said.")

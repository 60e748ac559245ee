"""LlamaIndex messages: the text to remember, the JSON to store, and which of them go into a prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence

from llama_index.core.base.llms.types import (
    CachePoint,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    ContentBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.utils import get_tokenizer
from pydantic_core import PydanticSerializationError

from remanence import InvalidInput
from remanence.adapters import MAX_TEXT_LENGTH, TokenCounter, is_frame, placeholder_text, storable_text, strip_frames

_MAX_RECORD_TEXT = 100_000
"""Characters of a message by which its record is found. The record also has the full message."""

_ROLES = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
}
_RECALL_TOOL = "recall_memories"
_THOUGHT, _ANSWER = "Thought:", "\nAnswer:"
_OBSERVATION = re.compile(r"^Observation: (.*?)(?=^Thought: |\Z)", re.DOTALL | re.MULTILINE)

RoleAndText = tuple[str, str]
Tokenizer = Callable[[str], Sequence[object]]


def tokenize(text: str) -> Sequence[object]:
    """Return the tokens of a text by LlamaIndex's global tokenizer, which is looked up when first needed."""
    return get_tokenizer()(text)


# What is remembered


def role_and_text(message: ChatMessage) -> RoleAndText | None:
    """Return the role and the text of a message that is to be remembered; None if there is nothing to remember.

    System and tool messages are not remembered. Of the output of a ReAct agent only the answer is, and blocks
    of recalled memories are not.

    >>> role_and_text(ChatMessage(role="assistant", content="Thought: easy.\\nAnswer: In Porto."))
    ('assistant', 'In Porto.')
    >>> role_and_text(ChatMessage(role="tool", content="42")) is None
    True
    """
    role = _ROLES.get(message.role)
    if role is None:
        return None
    text = strip_frames(storable_text(message.content or "")).strip()
    if role == "assistant" and text.startswith(_THOUGHT):
        text = text.partition(_ANSWER)[2].strip()
    return (role, text[:MAX_TEXT_LENGTH]) if text else None


def roles_and_texts(messages: Iterable[ChatMessage]) -> list[RoleAndText]:
    """Return what is to be remembered of these messages, in order."""
    return [turn for message in messages if (turn := role_and_text(message)) is not None]


def not_yet_stored(stored: Sequence[RoleAndText], turns: Sequence[RoleAndText]) -> list[RoleAndText]:
    """Return those of the turns that are not stored.

    If the turns begin with a part of the stored ones, those after that part are new, even if their text is
    repeated: a window of messages moves that way. Otherwise, as after an edit, the turns with new text are.

    >>> a, b, c = ("user", "a"), ("user", "b"), ("user", "c")
    >>> not_yet_stored([a, b], [b, a]) == [a] and not_yet_stored([a, b, c], [b]) == []
    True
    >>> not_yet_stored([a, b], [c, a]) == [c]
    True
    """
    if not turns:
        return []
    for start, first in enumerate(stored):
        if first == turns[0]:
            part = list(stored[start : start + len(turns)])
            if part == list(turns[: len(part)]):
                return list(turns[len(part) :])
    known = set(stored)
    return [turn for turn in turns if turn not in known]


# What a model was given and what it answered


def is_reply(message: ChatMessage) -> bool:
    """Tell whether a message is an answer of the model. Text next to a tool call is not an answer yet.

    >>> is_reply(ChatMessage(role="assistant", content="In Porto."))
    True
    >>> call = ToolCallBlock(tool_name="weather", tool_kwargs={})
    >>> is_reply(ChatMessage(role="assistant", blocks=[TextBlock(text="Let me see."), call]))
    False
    """
    has_calls = any(isinstance(block, ToolCallBlock) for block in message.blocks)
    return _is_from_model(message) and role_and_text(message) is not None and not has_calls


def context_texts(messages: Sequence[ChatMessage]) -> list[str]:
    """Return the texts of messages, without the model's own texts about the unanswered question.

    >>> question, call = ChatMessage("Where?"), ToolCallBlock(tool_name="look", tool_kwargs={})
    >>> search = ChatMessage(role="assistant", blocks=[TextBlock(text="Porto?"), call])
    >>> context_texts([question, search]), context_texts([question, ChatMessage(role="assistant", content="Here.")])
    (['Where?', ''], ['Where?', 'Here.'])
    """
    answered = max((index for index, message in enumerate(messages) if is_reply(message)), default=-1)
    return [
        storable_text(message.content or "") if index <= answered else _text_of_others(message)
        for index, message in enumerate(messages)
    ]


def new_answer(messages: Sequence[ChatMessage], new: Collection[RoleAndText]) -> tuple[str, list[str]]:
    """Return the new answers of the model in these messages, and what others wrote before them."""
    indexes = [index for index, message in enumerate(messages) if is_reply(message) and role_and_text(message) in new]
    answers = [text for _, text in roles_and_texts(messages[index] for index in indexes)]
    return "\n".join(answers), [_text_of_others(message) for message in messages[: max(indexes, default=-1) + 1]]


def without_recalled(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Remove the blocks of recalled memories from messages, and messages that consist of nothing else."""
    result = []
    for message in messages:
        blocks = [block for block in message.blocks if not (isinstance(block, TextBlock) and is_frame(block.text))]
        if len(blocks) == len(message.blocks):
            result.append(message)
        elif blocks:
            result.append(message.model_copy(update={"blocks": blocks}))
    return result


def _is_from_model(message: ChatMessage) -> bool:
    return _ROLES.get(message.role) == "assistant"


def _text_of_others(message: ChatMessage) -> str:
    """The text that the model did not write; of the output of a ReAct agent, the results of its tools."""
    text = storable_text(message.content or "")
    return "\n".join(_OBSERVATION.findall(text)) if _is_from_model(message) else text


# How a message is stored


def record_text(message: ChatMessage) -> str:
    """Return the text of the record of a message: its own, or a placeholder, as a record cannot be blank.

    >>> call = ToolCallBlock(tool_name="weather", tool_kwargs={"city": "Porto"})
    >>> record_text(ChatMessage(role="assistant", blocks=[call]))
    '[calls weather({"city": "Porto"})]'
    """
    text = storable_text(message.content or "")[:_MAX_RECORD_TEXT]
    if text.strip():
        return text
    calls = [(block.tool_name, _arguments(block)) for block in message.blocks if isinstance(block, ToolCallBlock)]
    types = [block.block_type for block in message.blocks if not isinstance(block, TextBlock)]
    return placeholder_text(calls, types)[:_MAX_RECORD_TEXT]


def message_to_json(message: ChatMessage) -> str:
    """Return a message as JSON. Values of its `additional_kwargs` that JSON does not have are stored as `str`, bytes
    in base64.

    Raises:
        InvalidInput: A value cannot be written at all.
    """
    try:
        fields = message.model_dump(mode="json", fallback=str)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"a message of {message.role.value!r} cannot be written as JSON: {error}. Remove the object from its "
            "additional_kwargs, or replace it with text."
        ) from None
    text = json.dumps(fields, ensure_ascii=False, sort_keys=True)
    # A model may write half a surrogate pair, which UTF-8 cannot encode and \u escapes can.
    return text if storable_text(text) == text else json.dumps(fields, sort_keys=True)


def message_from_json(text: str) -> ChatMessage:
    """Return the message that was stored, as a new object."""
    return ChatMessage.model_validate(json.loads(text))


def _arguments(call: ToolCallBlock) -> str:
    arguments = call.tool_kwargs
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)


# What goes into a prompt


def open_question(messages: Sequence[ChatMessage]) -> str:
    """Return the last user message; "" if it was answered, or if there is none.

    >>> question = ChatMessage(role="user", content="Where?")
    >>> open_question([question]), open_question([question, ChatMessage(role="assistant", content="Here.")])
    ('Where?', '')
    """
    if not messages or _is_from_model(messages[-1]):
        return ""
    questions = [message.content or "" for message in messages if message.role == MessageRole.USER]
    return questions[-1] if questions else ""


def recent_messages(messages: Sequence[ChatMessage], max_tokens: int, count_tokens: TokenCounter) -> list[ChatMessage]:
    """Return the last messages that fit into a token budget, and every system message.

    The first of them begins a turn, as many models refuse an answer without its question or the result of a
    call that is not there. The last turn is always returned, all of it.
    """
    last_turn = _start_of_last_turn(messages)
    first = last_turn
    used = sum(_token_count(message, count_tokens) for message in messages if message.role == MessageRole.SYSTEM)
    for index in reversed(range(len(messages))):
        message = messages[index]
        used += 0 if message.role == MessageRole.SYSTEM else _token_count(message, count_tokens)
        if used > max_tokens and index < last_turn:
            break
        if index < last_turn and (message.role == MessageRole.USER or index == 0):
            first = index
    return [message for index, message in enumerate(messages) if index >= first or message.role == MessageRole.SYSTEM]


def _start_of_last_turn(messages: Sequence[ChatMessage]) -> int:
    """The place of the last user message; without any, that of the last message that no call precedes."""
    for wanted in ({MessageRole.USER}, set(MessageRole) - {MessageRole.TOOL, MessageRole.FUNCTION}):
        found = [index for index, message in enumerate(messages) if message.role in wanted]
        if found:
            return found[-1]
    return 0


def insert_block(messages: Sequence[ChatMessage], block: str, place: str = "message") -> list[ChatMessage]:
    """Return the messages with a block: before the text of the question; as the result of a tool call after it; or in
    the system message, or without one before the text of the question.

    The block is not put into a new system message before a question: ReActAgent drops a system message that comes
    first, and a text that changes each turn would prevent the provider from caching the rest of the prompt.
    """
    result = list(messages)
    if not block:
        return result
    system = [index for index, message in enumerate(result) if message.role == MessageRole.SYSTEM]
    user = [index for index, message in enumerate(result) if message.role == MessageRole.USER]
    asked = user[-1] if user and open_question(result) else None
    if asked is not None and place == "tool":
        call_id, query = f"{_RECALL_TOOL}_{asked}", result[asked].content or ""
        call = ToolCallBlock(tool_call_id=call_id, tool_name=_RECALL_TOOL, tool_kwargs={"query": query})
        answer = ChatMessage(role=MessageRole.TOOL, content=block, additional_kwargs={"tool_call_id": call_id})
        result[asked + 1 : asked + 1] = [ChatMessage(role=MessageRole.ASSISTANT, blocks=[call]), answer]
    elif system and (asked is None or place == "system"):
        first = result[system[0]]
        result[system[0]] = first.model_copy(update={"blocks": [*first.blocks, TextBlock(text=block)]})
    elif asked is not None:
        last = result[asked]
        result[asked] = last.model_copy(update={"blocks": [TextBlock(text=block), *last.blocks]})
    else:
        result.insert(0, ChatMessage(role=MessageRole.SYSTEM, content=block))
    return result


def _token_count(message: ChatMessage, count_tokens: TokenCounter) -> int:
    """About how many tokens a message takes in a prompt."""
    total = sum(_block_tokens(block, count_tokens) for block in message.blocks)
    calls = message.additional_kwargs.get("tool_calls")  # where some models still have them
    if calls and not any(isinstance(block, ToolCallBlock) for block in message.blocks):
        total += count_tokens(str(calls))
    return total


def _block_tokens(block: ContentBlock, count_tokens: TokenCounter) -> int:
    if isinstance(block, TextBlock):
        return count_tokens(block.text)
    if isinstance(block, ToolCallBlock):
        return count_tokens(f"{block.tool_name} {_arguments(block)}")
    if isinstance(block, ThinkingBlock):
        return block.num_tokens or count_tokens(block.content or "")
    if isinstance(block, CitableBlock | CitationBlock):
        parts = block.content if isinstance(block, CitableBlock) else [block.cited_content]
        return count_tokens(f"{block.title} {block.source}") + sum(_block_tokens(part, count_tokens) for part in parts)
    return 0 if isinstance(block, CachePoint) else 256  # as in llama_index.core.memory.Memory

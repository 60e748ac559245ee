"""LangChain messages as turns: the text to store, and the speaker."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    messages_from_dict,
)
from pydantic_core import PydanticSerializationError, to_jsonable_python

from remanence import InvalidInput, adapters

_BYTES = "remanence:bytes"
"""The name of the only field of an object that stands for bytes."""


def message_text(message: BaseMessage) -> str:
    """Return the text of a message as it can be stored; "" if it has only tool calls or images."""
    text = str(message.text)
    return adapters.storable_text(text) if text.strip() else ""


def placeholder_text(message: BaseMessage) -> str:
    """Return a text that stands for a message without text.

    >>> placeholder_text(AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Porto"}, "id": "1"}]))
    '[calls weather({"city": "Porto"})]'
    >>> placeholder_text(AIMessage([{"type": "image", "url": "https://example.com/cat.png"}]))
    '[image]'
    """
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    blocks = message.content if isinstance(message.content, list) else []
    types = [str(block.get("type", "data")) for block in blocks if isinstance(block, Mapping)]
    return adapters.placeholder_text(
        [(call["name"], json.dumps(call["args"], default=str)) for call in calls],
        [content_type for content_type in types if content_type != "text"],
    )


def speaker_fields(message: BaseMessage) -> dict[str, str]:
    """Return the speaker of a message in the form of `add_turns`: the name if there is one, else the role."""
    if message.name and message.name.strip():
        return {"speaker": message.name}
    return {"role": message.role if isinstance(message, ChatMessage) else message.type}


def message_to_json(message: BaseMessage) -> dict[str, Any]:
    """Return a message as JSON values. Bytes in it, such as an image as the artifact of a tool, are kept.

    Raises:
        InvalidInput: It contains an object that cannot be written as JSON.
    """
    try:
        fields = _replaced(message.model_dump(), _bytes_as_json)
        written: dict[str, Any] = to_jsonable_python(fields, inf_nan_mode="null")
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"a message of type {message.type!r} cannot be written as JSON: {error}. "
            "Remove the object from the message, or replace it with text."
        ) from None
    return written


def message_from_json(kind: str, fields: Mapping[str, Any]) -> BaseMessage:
    """Return the message of a type with these fields, as `message_to_json` returned them."""
    return messages_from_dict([{"type": kind, "data": _replaced(dict(fields), _json_as_bytes)}])[0]


def _replaced(value: Any, replace: Callable[[Any], Any]) -> Any:
    """A value with `replace` applied to everything in it."""
    if isinstance(value, Mapping):
        value = {name: _replaced(inner, replace) for name, inner in value.items()}
    elif isinstance(value, list | tuple | set | frozenset):
        value = [_replaced(inner, replace) for inner in value]
    return replace(value)


def _bytes_as_json(value: Any) -> Any:
    return {_BYTES: b64encode(value).decode()} if isinstance(value, bytes | bytearray | memoryview) else value


def _json_as_bytes(value: Any) -> Any:
    is_marked = isinstance(value, Mapping) and value.keys() == {_BYTES} and isinstance(value[_BYTES], str)
    return b64decode(value[_BYTES]) if is_marked else value


def structured_reply(messages: Sequence[BaseMessage], response: object) -> list[BaseMessage]:
    """Return an answer that was given as structured output, by a call of a tool, as a message with its JSON as text.

    Args:
        messages: The messages of a thread whose run has ended.
        response: The structured response of the run, if it has one.
    """
    last = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
    if response is None or last is None or not last.tool_calls:
        return []
    texts = [str(last.text), *(json.dumps(call["args"], ensure_ascii=False, default=str) for call in last.tool_calls)]
    return [AIMessage("\n".join(filter(None, texts)), id=last.id, name=last.name)]


def chat_turns(messages: Sequence[BaseMessage]) -> list[dict[str, str]]:
    """Return what the user and the model said in these messages, in the form of `Space.for_prompt`."""
    spoken = (message for message in messages if isinstance(message, HumanMessage | AIMessage))
    return [{"role": role_of(message), "content": text} for message in spoken if (text := message_text(message))]


def role_of(message: BaseMessage) -> str:
    """Return the role of a message: "user" or "assistant"."""
    return "user" if isinstance(message, HumanMessage) else "assistant"


def is_summary(message: BaseMessage) -> bool:
    """Tell whether LangChain wrote this message to replace older messages of the thread."""
    return bool(message.additional_kwargs.get("lc_source") == "summarization")


def prepend_text(message: AnyMessage, text: str) -> AnyMessage:
    """Return a message with a text before its own content."""
    own = message.content
    content = f"{text}\n\n{own}" if isinstance(own, str) else [{"type": "text", "text": text}, *own]
    return message.model_copy(update={"content": content})


def append_text(system: SystemMessage | None, text: str) -> SystemMessage:
    """Return the system message with a text at its end."""
    if system is None:
        return SystemMessage(text)
    if isinstance(system.content, str):
        content: str | list[Any] = f"{system.content}\n\n{text}"
    else:
        content = [*system.content, {"type": "text", "text": text}]
    return system.model_copy(update={"content": content})

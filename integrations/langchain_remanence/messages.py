"""LangChain messages as turns: the text to store, and the speaker."""

from __future__ import annotations

import json
from collections.abc import Mapping

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage

from remanence import adapters


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


def is_summary(message: BaseMessage) -> bool:
    """Tell whether LangChain wrote this message to replace older messages of the thread."""
    return bool(message.additional_kwargs.get("lc_source") == "summarization")

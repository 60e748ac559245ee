"""Messages of LangChain as something that can be kept: their words, and who said them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage

_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
_SUMMARY = "summarization"


def message_text(message: BaseMessage) -> str:
    """What a message says in words, as it can be kept: "" for one that only calls tools or shows pictures."""
    text = str(message.text)
    return _NOT_TEXT.sub("\N{REPLACEMENT CHARACTER}", text) if text.strip() else ""


def placeholder_text(message: BaseMessage) -> str:
    """What stands for a message that has no words.

    >>> placeholder_text(AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Porto"}, "id": "1"}]))
    '[calls weather({"city": "Porto"})]'
    >>> placeholder_text(AIMessage([{"type": "image", "url": "https://example.com/cat.png"}]))
    '[image]'
    >>> placeholder_text(AIMessage(""))
    '[no words]'
    """
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    if calls:
        said = "; ".join(f"{call['name']}({json.dumps(call['args'], default=str)})" for call in calls)
        return f"[calls {_NOT_TEXT.sub(' ', said)}]"
    blocks = message.content if isinstance(message.content, list) else []
    kinds = dict.fromkeys(str(block.get("type", "data")) for block in blocks if isinstance(block, Mapping))
    kinds.pop("text", None)
    return f"[{', '.join(kinds) or 'no words'}]"


def speaker_fields(message: BaseMessage) -> dict[str, Any]:
    """The speaker of a message, as `add_turns` takes it: a name where one is given, else a role."""
    if message.name and message.name.strip():
        return {"speaker": message.name}
    return {"role": message.role if isinstance(message, ChatMessage) else message.type}


def is_summary(message: BaseMessage) -> bool:
    """Whether LangChain itself wrote this in place of messages that it took out of the thread."""
    return bool(message.additional_kwargs.get("lc_source") == _SUMMARY)

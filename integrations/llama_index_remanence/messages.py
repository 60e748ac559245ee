"""Messages of LlamaIndex as something that can be kept: their words, and all of them as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock

from remanence.language.framing import is_frame, strip_frames

MOST_WORDS = 100_000
"""Characters of a message by which its record is found. The record holds the whole message besides."""
MOST_SAID = 2_000_000
"""Characters of what is said that are remembered: a memory holds no more."""
ELSE_TOKENS = 256
"""What a picture or a recording counts for, as `llama_index.core.memory.Memory` has it."""

_SPEAKERS = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
}
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
_THOUGHT, _ANSWER = "Thought:", "\nAnswer:"
_OBSERVED = re.compile(r"^Observation: (.*?)(?=^Thought: |\Z)", re.DOTALL | re.MULTILINE)

RoleAndText = tuple[str, str]
"""A speaker and the words."""


def role_and_text(message: ChatMessage) -> RoleAndText | None:
    """Who says what in this message, as far as it is worth remembering; None for one that says nothing.

    System and tool messages are not said by anybody. Of what a ReAct agent puts down of its thinking only
    the answer counts, and nothing counts that was itself recalled.

    >>> role_and_text(ChatMessage(role="assistant", content="Thought: easy.\\nAnswer: In Porto."))
    ('assistant', 'In Porto.')
    >>> role_and_text(ChatMessage(role="tool", content="42")) is None
    True
    """
    speaker = _SPEAKERS.get(message.role)
    if speaker is None:
        return None
    words = strip_frames(valid_text(message.content or "")).strip()
    if speaker == "assistant" and words.startswith(_THOUGHT):
        words = words.partition(_ANSWER)[2].strip()
    return (speaker, words[:MOST_SAID]) if words else None


def roles_and_texts(messages: Iterable[ChatMessage]) -> list[RoleAndText]:
    """What is said in these messages, in order."""
    return [words for message in messages if (words := role_and_text(message)) is not None]


def is_reply(message: ChatMessage) -> bool:
    """Whether the model gives its answer in this message. Words beside a call of a tool are none yet.

    >>> is_reply(ChatMessage(role="assistant", content="In Porto."))
    True
    >>> call = ToolCallBlock(tool_name="weather", tool_kwargs={})
    >>> is_reply(ChatMessage(role="assistant", blocks=[TextBlock(text="Let me see."), call]))
    False
    """
    calls = any(isinstance(block, ToolCallBlock) for block in message.blocks)
    return is_from_model(message) and role_and_text(message) is not None and not calls


def is_from_model(message: ChatMessage) -> bool:
    """Whether the model speaks in this message."""
    return _SPEAKERS.get(message.role) == "assistant"


def context_texts(messages: Sequence[ChatMessage]) -> list[str]:
    """What a model reads in these messages, but for its own words on what it has not answered yet.

    >>> asked, call = ChatMessage("Where?"), ToolCallBlock(tool_name="look", tool_kwargs={})
    >>> looks = ChatMessage(role="assistant", blocks=[TextBlock(text="Porto?"), call])
    >>> context_texts([asked, looks]), context_texts([asked, ChatMessage(role="assistant", content="Here.")])
    (['Where?', ''], ['Where?', 'Here.'])
    """
    answered = max((at for at, message in enumerate(messages) if is_reply(message)), default=-1)
    return [
        valid_text(message.content or "") if at <= answered else _from_others(message)
        for at, message in enumerate(messages)
    ]


def new_answer(messages: Sequence[ChatMessage], new: Collection[RoleAndText]) -> tuple[str, list[str]]:
    """What a model answers in these messages, as far as it is new, and what others told it before that."""
    places = [at for at, message in enumerate(messages) if is_reply(message) and role_and_text(message) in new]
    words = [words for _, words in roles_and_texts(messages[at] for at in places)]
    return "\n".join(words), [_from_others(message) for message in messages[: max(places, default=-1) + 1]]


def record_text(message: ChatMessage) -> str:
    """The words a message has, or some that stand for it: a record cannot be blank.

    >>> call = ToolCallBlock(tool_name="weather", tool_kwargs={"city": "Porto"})
    >>> record_text(ChatMessage(role="assistant", blocks=[call]))
    '[calls weather({"city": "Porto"})]'
    >>> record_text(ChatMessage(role="assistant", content=None))
    '[no words]'
    """
    words = valid_text(message.content or "")[:MOST_WORDS]
    if words.strip():
        return words
    calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if calls:
        written = "; ".join(f"{call.tool_name}({_arguments(call)})" for call in calls)
        return f"[calls {valid_text(written)}]"[:MOST_WORDS]
    kinds = dict.fromkeys(block.block_type for block in message.blocks if not isinstance(block, TextBlock))
    return f"[{', '.join(kinds) or 'no words'}]"


def without_recalled(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """The messages without blocks that we put into them ourselves, and without those that were only that."""
    return [kept for message in messages if (kept := _own(message)) is not None]


def message_to_json(message: ChatMessage) -> str:
    """A message as JSON. What JSON cannot hold among its `additional_kwargs` is kept as its `str`."""
    fields = message.model_dump(mode="json", fallback=str)
    text = json.dumps(fields, ensure_ascii=False, sort_keys=True)
    # A model may answer with half a surrogate pair, which UTF-8 cannot write and \u escapes can.
    return json.dumps(fields, sort_keys=True) if _NOT_TEXT.search(text) else text


def message_from_json(text: str) -> ChatMessage:
    """The message that was packed: a new one each time, so that whoever edits it edits nothing of ours."""
    return ChatMessage.model_validate(json.loads(text))


def not_yet_stored(heard: Sequence[RoleAndText], told: Sequence[RoleAndText]) -> list[RoleAndText]:
    """Which of these were not heard before.

    They may be any stretch of what was heard, and go on where it ends: a window of messages moves that
    way, and what is said again in it is new. Where they do not fit, as after an edit, new is what was
    never heard at all.

    >>> a, b, c = ("user", "a"), ("user", "b"), ("user", "c")
    >>> not_yet_stored([a, b], [b, a]) == [a] and not_yet_stored([a, b, c], [b]) == []
    True
    >>> not_yet_stored([a, b], [c, a]) == [c]
    True
    """
    if not told:
        return []
    for begin, first in enumerate(heard):
        if first == told[0]:
            stretch = list(heard[begin : begin + len(told)])
            if stretch == list(told[: len(stretch)]):
                return list(told[len(stretch) :])
    known = set(heard)
    return [one for one in told if one not in known]


def token_count(message: ChatMessage, count: Callable[[str], int]) -> int:
    """About how many tokens a message takes in a prompt."""
    total = 0
    for block in message.blocks:
        if isinstance(block, TextBlock):
            total += count(block.text)
        else:
            total += count(_arguments(block)) if isinstance(block, ToolCallBlock) else ELSE_TOKENS
    return total


def valid_text(text: str) -> str:
    """A text without what cannot be written down as UTF-8."""
    return _NOT_TEXT.sub("\N{REPLACEMENT CHARACTER}", text)


def _arguments(call: ToolCallBlock) -> str:
    given = call.tool_kwargs
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)


def _from_others(message: ChatMessage) -> str:
    """What is not the model's own in a message; of what a ReAct agent puts down, what its tools gave it."""
    words = valid_text(message.content or "")
    return "\n".join(_OBSERVED.findall(words)) if is_from_model(message) else words


def _own(message: ChatMessage) -> ChatMessage | None:
    kept = [block for block in message.blocks if not (isinstance(block, TextBlock) and is_frame(block.text))]
    if len(kept) == len(message.blocks):
        return message
    return message.model_copy(update={"blocks": kept}) if kept else None

"""What of a conversation goes into a prompt, and where what was recalled for it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.utils import get_tokenizer

from llama_index_remanence.messages import is_from_model, token_count
from remanence.language.framing import TokenCounter

Tokenizer = Callable[[str], Sequence[object]]


def tokenize(text: str) -> Sequence[object]:
    """The tokens of a text by LlamaIndex's global tokenizer, which is looked up when first needed."""
    return get_tokenizer()(text)


def open_question(messages: Sequence[ChatMessage]) -> str:
    """What the last user message asks; "" once it was answered, or if there is none.

    >>> asked = ChatMessage(role="user", content="Where?")
    >>> open_question([asked]), open_question([asked, ChatMessage(role="assistant", content="Here.")])
    ('Where?', '')
    """
    if not messages or is_from_model(messages[-1]):
        return ""
    asked = [message.content or "" for message in messages if message.role == MessageRole.USER]
    return asked[-1] if asked else ""


def recent_messages(messages: Sequence[ChatMessage], tokens: int, count: TokenCounter) -> list[ChatMessage]:
    """The last messages that fit into so many tokens, and every system message.

    They start where a turn does: an answer without its question, or the result of a call nobody made, is
    refused by many models. The last message is always among them.
    """
    first = len(messages)
    spent = sum(token_count(m, count) for m in messages if m.role == MessageRole.SYSTEM)
    for index in reversed(range(len(messages))):
        message = messages[index]
        spent += 0 if message.role == MessageRole.SYSTEM else token_count(message, count)
        if spent > tokens and index < len(messages) - 1:
            break
        if message.role == MessageRole.USER or index in (0, len(messages) - 1):
            first = index
    return [m for index, m in enumerate(messages) if index >= first or m.role == MessageRole.SYSTEM]


def insert_block(messages: Sequence[ChatMessage], block: str) -> list[ChatMessage]:
    """The messages with a block in the system message; if there is none, before the words of the question.

    Not in a new system message before a question: ReActAgent drops one that comes first, and what changes
    each turn would come before what stays, where no provider's cache can use it.
    """
    out = list(messages)
    if not block:
        return out
    system = [index for index, message in enumerate(out) if message.role == MessageRole.SYSTEM]
    asked = [index for index, message in enumerate(out) if message.role == MessageRole.USER]
    if system:
        first = out[system[0]]
        out[system[0]] = first.model_copy(update={"blocks": [*first.blocks, TextBlock(text=block)]})
    elif asked and open_question(out):
        last = out[asked[-1]]
        out[asked[-1]] = last.model_copy(update={"blocks": [TextBlock(text=block), *last.blocks]})
    else:
        out.insert(0, ChatMessage(role=MessageRole.SYSTEM, content=block))
    return out

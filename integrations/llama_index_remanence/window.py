"""What of a conversation goes into a prompt, and where what was recalled for it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.utils import get_tokenizer

from llama_index_remanence.messages import is_answer, weight
from remanence.language.framing import Count

Tokenizer = Callable[[str], Sequence[object]]


def tokenize(text: str) -> Sequence[object]:
    """The tokens of a text by LlamaIndex's global tokenizer, which is looked up when first needed."""
    return get_tokenizer()(text)


def question_in(messages: Sequence[ChatMessage]) -> str:
    """What the last user message asks; "" once it was answered, or if there is none.

    >>> asked = ChatMessage(role="user", content="Where?")
    >>> question_in([asked]), question_in([asked, ChatMessage(role="assistant", content="Here.")])
    ('Where?', '')
    """
    if not messages or is_answer(messages[-1]):
        return ""
    asked = [message.content or "" for message in messages if message.role == MessageRole.USER]
    return asked[-1] if asked else ""


def recent(messages: Sequence[ChatMessage], tokens: int, count: Count) -> list[ChatMessage]:
    """The last messages that fit into so many tokens, and every system message.

    They start where a turn does: an answer without its question, or the result of a call nobody made, is
    refused by many models. The last message is always among them.
    """
    first = len(messages)
    spent = sum(weight(m, count) for m in messages if m.role == MessageRole.SYSTEM)
    for index in reversed(range(len(messages))):
        message = messages[index]
        spent += 0 if message.role == MessageRole.SYSTEM else weight(message, count)
        if spent > tokens and index < len(messages) - 1:
            break
        if message.role == MessageRole.USER or index in (0, len(messages) - 1):
            first = index
    return [m for index, m in enumerate(messages) if index >= first or m.role == MessageRole.SYSTEM]


def merged(messages: Sequence[ChatMessage], block: str) -> list[ChatMessage]:
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
    elif asked and question_in(out):
        last = out[asked[-1]]
        out[asked[-1]] = last.model_copy(update={"blocks": [TextBlock(text=block), *last.blocks]})
    else:
        out.insert(0, ChatMessage(role=MessageRole.SYSTEM, content=block))
    return out

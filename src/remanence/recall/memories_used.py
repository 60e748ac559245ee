"""Which of the memories in a prompt were used in the answer of a model.

Most memories that recall returns are not used. The words of the answer show which were used; no model is needed. Some
uses are missed: a memory that only led to a "yes" or to a tool call, and a memory that repeats the question.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from remanence.schema import Memory
from remanence.text.framing import strip_frames
from remanence.text.text import tokens


class HasMemory(Protocol):
    """A `Hit`, or one of the `MemoryDetails` of `get_many`."""

    @property
    def memory(self) -> Memory | None: ...


def memories_used(results: Iterable[HasMemory], *, context: str | Iterable[str], answer: str) -> list[str]:
    """The ids of the memories that an answer used, as far as its words show.

    A memory counts as used if the answer contains words of the memory that are not in `context`, and no other memory
    has all of these words and more. Blocks that `frame` made count neither as context nor as answer.

    Args:
        results: The result of `recall`, or `space.get_many(ids)` if only the ids are known.
        context: The rest of the prompt: the question, the conversation, instructions, results of tools.
    """
    texts = [context] if isinstance(context, str) else context
    context_words = {word for text in texts for word in tokens(strip_frames(text))}
    new_words = set(tokens(strip_frames(answer))) - context_words
    shared: dict[str, set[str]] = {}
    for memory in (result.memory for result in results):
        if memory is not None:  # older and newer versions of one memory count together
            shared.setdefault(memory.id, set()).update(new_words.intersection(tokens(memory.text)))
    return [
        memory_id for memory_id, words in shared.items() if words and not any(words < more for more in shared.values())
    ]

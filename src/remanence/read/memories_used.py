"""Which of the memories that a model was given were used in its answer.

Most of what recall returns is not used. Whether it was is read from the words of the answer, without a model. This
finds too few rather than too many: a memory that only led to a "yes" or to a tool call is not found, nor is one that
repeats the question.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from remanence.language.framing import strip_frames
from remanence.language.text import tokens
from remanence.schema import Memory


class HasMemory(Protocol):
    """A `Hit`, or one of the `MemoryDetails` of `get_many`."""

    @property
    def memory(self) -> Memory | None: ...


def memories_used(results: Iterable[HasMemory], *, context: str | Iterable[str], answer: str) -> list[str]:
    """The ids of the memories that an answer used, as far as its words show.

    A memory counts as used if the answer contains words of it that are nowhere in `context`, and no other memory has
    all of these words and more. Blocks that `frame` made count neither as context nor as answer.

    Args:
        results: What `recall` returned, or `space.get_many(ids)` if only the ids are known.
        context: What else the model was given: the question, the conversation, instructions, results of tools.
        answer: The answer of the model.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add_many(["Ana lives in Porto.", "Ana is allergic to hazelnuts."])
        ...     shown, asked = space.recall("Ana"), "What must she not eat?"
        ...     used = memories_used(shown, context=asked, answer="Ana must not eat hazelnuts.")
        ...     [space.get(memory_id).text for memory_id in used]
        ['Ana is allergic to hazelnuts.']
    """
    texts = [context] if isinstance(context, str) else context
    known = {word for text in texts for word in tokens(strip_frames(text))}
    brought = set(tokens(strip_frames(answer))) - known
    shared: dict[str, set[str]] = {}
    for memory in (each.memory for each in results):
        if memory is not None:  # older and newer versions of one memory count together
            shared.setdefault(memory.id, set()).update(brought.intersection(tokens(memory.text)))
    return [
        memory_id for memory_id, words in shared.items() if words and not any(words < more for more in shared.values())
    ]

"""Which of the memories that a model was shown were of use to it, so that they count as used."""

from __future__ import annotations

from collections.abc import Iterable

from remanence import Hit, Space
from remanence.text import tokens


def reinforce(space: Space, shown: Iterable[Hit], *, told: str, answer: str) -> None:
    """Count as used what the answer took up of the memories that were shown (`Space.observe_usage`)."""
    ids = taken_up(shown, told=told, answer=answer)
    if ids:
        space.observe_usage(ids)


def taken_up(shown: Iterable[Hit], *, told: str, answer: str) -> list[str]:
    """The ids of the memories that an answer took something from, as far as its words show.

    Words of theirs stand in the answer and nowhere else in what the model was `told`, and no other memory
    has all of these words and more. This counts too little rather than too much: a memory that only led to
    a "yes" is not seen, nor one whose words were all in the question.

    >>> import remanence
    >>> with remanence.open(None) as space:
    ...     _ = [space.add(text) for text in ("Ana lives in Porto.", "Ana is allergic to hazelnuts.")]
    ...     asked = "What must she not eat?"
    ...     used = taken_up(space.recall("Ana"), told=asked, answer="Ana must not eat hazelnuts.")
    ...     [space.get(memory_id).text for memory_id in used]
    ['Ana is allergic to hazelnuts.']
    """
    brought = set(tokens(answer)) - set(tokens(told))
    shared = {hit.memory.id: brought & set(tokens(hit.memory.text)) for hit in shown}
    return [
        memory_id
        for memory_id, words in shared.items()
        if words and not any(words < more for more in shared.values())
    ]

"""What goes from a conversation into long-term memory, and what comes back for a prompt."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage

from remanence import Space, View
from remanence.framing import Count, frame, quoted
from remanence_llamaindex.messages import Said, all_said
from remanence_llamaindex.sessions import named

ROLE = "llamaindex_role"
"""Under this name a turn keeps the role of who said it."""
MOST_QUESTION = 10_000
"""Characters of a question that are asked with; what follows is rather a document."""

Quote = tuple[str, str]
"""The id of a memory, and the line of a block that quotes it."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """What came back: a block for a prompt, what it quotes, and the ledger line up to which it is true."""

    block: str = ""
    quotes: tuple[Quote, ...] = ()
    position: int = 0


def remember(
    space: Space,
    session: str,
    told: Sequence[Said],
    *,
    keys: Sequence[str] | None = None,
    tags: Sequence[str] = (),
    extract: bool = False,
) -> None:
    """Keep what was said in a session; with `extract`, have facts drawn from it in the background.

    Each is a memory of its own, though it be said twice; save for what has the same of the `keys`.
    """
    keys = [uuid4().hex for _ in told] if keys is None else keys
    turns = [
        {
            "role": role,
            "content": words,
            "conversation": named(session),
            "key": f"turn {key}",
            "tags": list(tags),
            "meta": {ROLE: role},
        }
        for (role, words), key in zip(told, keys, strict=True)
    ]
    if turns and extract:
        space.remember(turns, wait=False)
    elif turns:
        space.add_turns(turns)


def recalled(
    view: View,
    question: str,
    shown: Sequence[ChatMessage],
    *,
    limit: int,
    min_score: float | None,
    tags: Sequence[str] = (),
    tokens: int,
    count: Count,
) -> Recalled:
    """What a view answers, as a block for a prompt; what the prompt shows anyway is left out."""
    texts = {words for _, words in all_said(shown)}
    answer = view.recall(
        question[:MOST_QUESTION], limit=limit + len(texts), min_score=min_score, tags=list(tags) or None
    )
    others = [hit for hit in answer if hit.memory.text not in texts][:limit]
    block = frame(others, tokens=tokens, count=count, missing=answer.missing)
    return Recalled(block, still_in(block, [(hit.memory.id, quoted(hit)) for hit in others]), answer.position)


def still_in(block: str, quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    """Which of these a block quotes: some did not fit, or were cut off again."""
    lines = set(block.splitlines())
    return tuple(quote for quote in quotes if quote[1] in lines)


class Served:
    """What each session was shown for the question it has open. Once it is answered, that was of use."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, tuple[Quote, ...]]] = {}

    def show(self, session: str, question: str, quotes: Sequence[Quote]) -> None:
        """These were put into a prompt; with what was before, if it was for the same question."""
        asked, before = self._open.get(session, ("", ()))
        self._open[session] = question, (*(before if asked == question else ()), *quotes)

    def cut(self, session: str, block: str, rest: str) -> None:
        """Of this block only the rest was put into the prompt."""
        question, quotes = self._open.get(session, ("", ()))
        gone = set(still_in(block, quotes)) - set(still_in(rest, quotes))
        if gone:
            self._open[session] = question, tuple(quote for quote in quotes if quote not in gone)

    def drop(self, session: str) -> None:
        """The question will not be answered."""
        self._open.pop(session, None)

    def answered(self, session: str, space: Space) -> None:
        """The question was answered: count what was shown for it, once, as used."""
        _, quotes = self._open.pop(session, ("", ()))
        with going_on("count what was of use"):
            # What was forgotten meanwhile cannot be of use.
            ids = [each for each in dict.fromkeys(quote[0] for quote in quotes) if space.get(each)]
            if ids:
                space.observe_usage(ids)


@contextmanager
def going_on(what: str) -> Iterator[None]:
    """A chat that cannot reach its memory goes on; whoever runs it reads why in the log."""
    try:
        yield
    except Exception:
        log.warning("memory is down: could not %s; the chat goes on without", what, exc_info=True)

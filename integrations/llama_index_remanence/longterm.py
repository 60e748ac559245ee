"""What goes from a conversation into long-term memory, and what comes back for a prompt."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage

from llama_index_remanence.messages import Said, all_said
from llama_index_remanence.sessions import named
from remanence import Hit, Space, View
from remanence.adapters import going_on, reinforce, shown_in
from remanence.language.framing import Count, frame

ROLE = "llamaindex_role"
"""Under this name a turn keeps the role of who said it."""
MOST_QUESTION = 10_000
"""Characters of a question that are asked with; what follows is rather a document."""

MOST_OPEN = 1_000
"""Sessions whose open question is remembered, of the last that asked."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """What came back: a block for a prompt, what it quotes, and the ledger line up to which it is true."""

    block: str = ""
    hits: tuple[Hit, ...] = ()
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
    return Recalled(block, tuple(shown_in(block, others)), answer.position)


@dataclass(frozen=True, slots=True)
class _Question:
    """One that is not answered yet, and what was shown and told for it."""

    asked: str
    hits: tuple[Hit, ...] = ()
    told: tuple[str, ...] = ()


class Served:
    """What each session was shown for the question it has open. What the answer takes up of it was of use.

    Many a session ends with a question: of those, the ones asked longest ago are let go.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Question] = {}

    def show(self, session: str, question: str, hits: Sequence[Hit], told: Sequence[str]) -> None:
        """These were put into a prompt that also tells this; with those before, if for the same question."""
        before = self._open.pop(session, None)  # and put last
        earlier = before.hits if before is not None and before.asked == question else ()
        self._open[session] = _Question(question, (*earlier, *hits), (question, *told))
        for longest_ago in list(self._open)[:-MOST_OPEN]:
            self._open.pop(longest_ago, None)

    def cut(self, session: str, block: str, rest: str) -> None:
        """Of this block only the rest was put into the prompt."""
        question = self._open.get(session)
        if question is not None:
            there, left = shown_in(block, question.hits), shown_in(rest, question.hits)
            kept = tuple(hit for hit in question.hits if hit not in there or hit in left)
            self._open[session] = replace(question, hits=kept)

    def drop(self, session: str) -> None:
        """The question will not be answered."""
        self._open.pop(session, None)

    def answered(self, session: str, space: Space, answer: str, told: Sequence[str]) -> None:
        """The question was answered, by a model that had meanwhile been told this too: count as used, once,
        what the answer took up of what was shown."""
        question = self._open.pop(session, None)
        if question is not None:
            with going_on(log, "reinforce"):
                reinforce(space, question.hits, told=(*question.told, *told), answer=answer)

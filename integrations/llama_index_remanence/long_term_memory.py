"""What goes from a conversation into long-term memory, and what comes back for a prompt."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage

from llama_index_remanence.messages import RoleAndText, roles_and_texts
from llama_index_remanence.sessions import session_label
from remanence import Hit, Space, View
from remanence.adapters import log_and_continue, quoted_hits, reinforce
from remanence.language.framing import TokenCounter, frame

ROLE_KEY = "llamaindex_role"
"""Under this name a turn keeps the role of who said it."""
MOST_QUESTION = 10_000
"""Characters of a question that are asked with; what follows is rather a document."""

MAX_OPEN_QUESTIONS = 1_000
"""Sessions whose open question is remembered, of the last that asked."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecalledBlock:
    """What came back: a block for a prompt, what it quotes, and the ledger line up to which it is true."""

    text: str = ""
    hits: tuple[Hit, ...] = ()
    position: int = 0


def store_turns(
    space: Space,
    session: str,
    told: Sequence[RoleAndText],
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
            "conversation": session_label(session),
            "key": f"turn {key}",
            "tags": list(tags),
            "meta": {ROLE_KEY: role},
        }
        for (role, words), key in zip(told, keys, strict=True)
    ]
    if turns and extract:
        space.remember(turns, wait=False)
    elif turns:
        space.add_turns(turns)


def recall_block(
    view: View,
    question: str,
    shown: Sequence[ChatMessage],
    *,
    limit: int,
    min_score: float | None,
    tags: Sequence[str] = (),
    tokens: int,
    count: TokenCounter,
) -> RecalledBlock:
    """What a view answers, as a block for a prompt; what the prompt shows anyway is left out."""
    texts = {words for _, words in roles_and_texts(shown)}
    answer = view.recall(
        question[:MOST_QUESTION], limit=limit + len(texts), min_score=min_score, tags=list(tags) or None
    )
    others = [hit for hit in answer if hit.memory.text not in texts][:limit]
    block = frame(others, tokens=tokens, count_tokens=count, missing=answer.missing)
    return RecalledBlock(block, tuple(quoted_hits(block, others)), answer.position)


@dataclass(frozen=True, slots=True)
class _Question:
    """One that is not answered yet, and what was shown and told for it."""

    asked: str
    hits: tuple[Hit, ...] = ()
    told: tuple[str, ...] = ()


class OpenQuestions:
    """What each session was shown for the question it has open. What the answer takes up of it was of use.

    Many a session ends with a question: of those, the ones asked longest ago are let go.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Question] = {}

    def record_shown(self, session: str, question: str, hits: Sequence[Hit], told: Sequence[str]) -> None:
        """These were put into a prompt that also tells this; with those before, if for the same question."""
        before = self._open.pop(session, None)  # and put last
        earlier = before.hits if before is not None and before.asked == question else ()
        self._open[session] = _Question(question, (*earlier, *hits), (question, *told))
        for longest_ago in list(self._open)[:-MAX_OPEN_QUESTIONS]:
            self._open.pop(longest_ago, None)

    def record_truncated(self, session: str, block: str, rest: str) -> None:
        """Of this block only the rest was put into the prompt."""
        question = self._open.get(session)
        if question is not None:
            there, left = quoted_hits(block, question.hits), quoted_hits(rest, question.hits)
            kept = tuple(hit for hit in question.hits if hit not in there or hit in left)
            self._open[session] = replace(question, hits=kept)

    def discard(self, session: str) -> None:
        """The question will not be answered."""
        self._open.pop(session, None)

    def record_answer(self, session: str, space: Space, answer: str, told: Sequence[str]) -> None:
        """The question was answered, by a model that had meanwhile been told this too: count as used, once,
        what the answer took up of what was shown."""
        question = self._open.pop(session, None)
        if question is not None:
            with log_and_continue(log, "reinforce"):
                reinforce(space, question.hits, context=(*question.told, *told), answer=answer)

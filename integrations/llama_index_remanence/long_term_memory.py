"""Storing the turns of a conversation, and recalling memories as a block for a prompt."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage

from llama_index_remanence.messages import RoleAndText, roles_and_texts
from llama_index_remanence.transcript import session_label
from remanence import Hit, Space, View, frame
from remanence.adapters import TokenCounter, log_and_continue, quoted_hits, reinforce

ROLE_KEY = "llamaindex_role"
"""The field of a turn's meta that holds its role."""
_MAX_QUESTION_LENGTH = 10_000
"""Characters of a question that recall is given; a longer text is rather a document."""
MAX_OPEN_QUESTIONS = 1_000
"""The number of sessions whose unanswered question is kept."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecalledBlock:
    """A block for a prompt, the hits that it quotes, and the ledger position of the recall."""

    text: str = ""
    hits: tuple[Hit, ...] = ()
    position: int = 0


def store_turns(
    space: Space,
    session: str,
    turns: Sequence[RoleAndText],
    *,
    keys: Sequence[str] | None = None,
    tags: Sequence[str] = (),
    extract: bool = False,
) -> None:
    """Store turns of a session, each as a memory of its own unless `keys` has the key of an earlier one.

    With `extract`, facts are extracted from the turns in the background.
    """
    keys = [uuid4().hex for _ in turns] if keys is None else keys
    rows = [
        {
            "role": role,
            "content": text,
            "conversation": session_label(session),
            "key": f"turn {key}",
            "tags": list(tags),
            "meta": {ROLE_KEY: role},
        }
        for (role, text), key in zip(turns, keys, strict=True)
    ]
    if rows and extract:
        space.remember(rows, wait=False)
    elif rows:
        space.add_turns(rows)


def recall_block(
    view: View,
    question: str,
    prompt: Sequence[ChatMessage],
    *,
    limit: int,
    min_score: float | None,
    tags: Sequence[str] = (),
    max_tokens: int,
    count_tokens: TokenCounter,
) -> RecalledBlock:
    """Recall for a question, as a block for a prompt, without the turns that are in the prompt anyway."""
    texts = {text for _, text in roles_and_texts(prompt)}
    recall = view.recall(
        question[:_MAX_QUESTION_LENGTH], limit=limit + len(texts), min_score=min_score, tags=list(tags) or None
    )
    hits = [hit for hit in recall if hit.memory.text not in texts][:limit]
    block = frame(hits, tokens=max_tokens, count_tokens=count_tokens, missing=recall.missing)
    return RecalledBlock(block, tuple(quoted_hits(block, hits)), recall.position)


@dataclass(frozen=True, slots=True)
class _Question:
    """An unanswered question, the memories that were quoted for it, and the other text of the prompt."""

    text: str
    hits: tuple[Hit, ...] = ()
    context: tuple[str, ...] = ()


class OpenQuestions:
    """The unanswered question of each session, to count memories as used once it is answered.

    Many sessions end with a question, so only the latest are kept.
    """

    def __init__(self) -> None:
        self._questions: dict[str, _Question] = {}

    def add_quoted(self, session: str, question: str, hits: Sequence[Hit], context: Sequence[str]) -> None:
        """Record that memories were quoted in a prompt for a question; it may have several prompts."""
        previous = self._questions.pop(session, None)  # it is inserted again at the end
        earlier = previous.hits if previous is not None and previous.text == question else ()
        self._questions[session] = _Question(question, (*earlier, *hits), (question, *context))
        for oldest in list(self._questions)[:-MAX_OPEN_QUESTIONS]:
            self._questions.pop(oldest, None)

    def shorten(self, session: str, block: str, shortened: str) -> None:
        """Record that a block was shortened before it was put into the prompt."""
        question = self._questions.get(session)
        if question is not None:
            before, after = quoted_hits(block, question.hits), quoted_hits(shortened, question.hits)
            hits = tuple(hit for hit in question.hits if hit not in before or hit in after)
            self._questions[session] = replace(question, hits=hits)

    def discard(self, session: str) -> None:
        """Record that the question will not be answered."""
        self._questions.pop(session, None)

    def reinforce(self, session: str, space: Space, answer: str, context: Sequence[str]) -> None:
        """Count as used, once, what the answer took from the quoted memories and not from the `context`."""
        question = self._questions.pop(session, None)
        if question is not None:
            with log_and_continue(log, "reinforce"):
                reinforce(space, question.hits, context=(*question.context, *context), answer=answer)

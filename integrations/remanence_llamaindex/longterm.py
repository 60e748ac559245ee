"""What goes from a conversation into long-term memory, and what comes back for a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage

from remanence import Recall, Space, View
from remanence.framing import Count, frame
from remanence_llamaindex.messages import Said, said
from remanence_llamaindex.sessions import named

ROLE = "llamaindex_role"
"""Under this name a turn keeps the role of who said it."""
MOST_QUESTION = 10_000
"""Characters of a question that are asked with; what follows is rather a document."""


def remember(
    space: Space, session: str, told: Sequence[Said], *, tags: Sequence[str] = (), extract: bool = False
) -> None:
    """Keep what was said in a session; with `extract`, have facts drawn from it in the background."""
    turns = [
        {
            "role": role,
            "content": words,
            "conversation": named(session),
            "key": f"turn {uuid4().hex}",
            "tags": list(tags),
            "meta": {ROLE: role},
        }
        for role, words in told
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
) -> tuple[Recall, str]:
    """What a view answers, and as a block for a prompt; what the prompt shows anyway is left out of that."""
    texts = {words for message in shown for _, words in [said(message) or ("", "")] if words}
    answer = view.recall(
        question[:MOST_QUESTION], limit=limit + len(texts), min_score=min_score, tags=list(tags) or None
    )
    others = [hit for hit in answer if hit.memory.text not in texts][:limit]
    return answer, frame(others, tokens=tokens, count=count, missing=answer.missing)

"""Storing the turns of a conversation, and recalling memories as a block for a prompt."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr, field_serializer
from pydantic import AfterValidator, BeforeValidator

from llama_index_remanence.messages import RoleAndText, Tokenizer, roles_and_texts, tokenize
from llama_index_remanence.space_reference import SpaceAdapter
from llama_index_remanence.transcript import session_label
from remanence import Hit, Space, Union
from remanence.adapters import (
    MAX_TOKENS,
    Moment,
    PromptMemories,
    check_keep,
    check_kinds,
    check_tags,
    is_kept,
    log_and_continue,
    own_hits,
    prompt_budget,
    reinforce,
    warn_of_long_texts,
)

ROLE_KEY = "llamaindex_role"
MAX_OPEN_QUESTIONS = 1_000

log = logging.getLogger(__name__)


def store_turns(
    space: Space,
    session: str,
    turns: Sequence[RoleAndText],
    *,
    keys: Sequence[str] | None = None,
    tags: Sequence[str] = (),
    before: Mapping[RoleAndText, str] | None = None,
    extract: bool = False,
    now: Moment | None = None,
) -> None:
    """Store turns of a session, each as a memory of its own unless `keys` has the key of an earlier one.

    `before` has the turns before some of them, where those are not stored. With `extract`, facts are extracted from the
    chat in the background, once it is quiet or has grown. `now` is when they were said.
    """
    warn_of_long_texts(log, (text for _, text in turns))
    keys = [uuid4().hex for _ in turns] if keys is None else keys
    rows = [
        {
            "role": role,
            "content": text,
            "conversation": session_label(session),
            "key": f"turn {key}",
            "tags": list(tags),
            "meta": {ROLE_KEY: role},
            "before": (before or {}).get((role, text)),
        }
        for (role, text), key in zip(turns, keys, strict=True)
    ]
    if rows and extract:
        space.remember(rows, wait="quiet", now=now)
    elif rows:
        space.add_turns(rows, now=now)


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

    def shorten(self, session: str, before: Sequence[Hit], after: Sequence[Hit]) -> None:
        """Record that a block was shortened before it was put into the prompt."""
        question = self._questions.get(session)
        if question is not None:
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
                reinforce(space, own_hits(question.hits, space), context=(*question.context, *context), answer=answer)


class RecallAdapter(SpaceAdapter):
    """Base class of adapters that recall memories for a prompt."""

    max_tokens: int | None = Field(default=MAX_TOKENS, ge=0)
    min_score: float | None = Field(default=None, ge=0, le=1)
    kinds: Annotated[str | tuple[str, ...] | None, AfterValidator(check_kinds)] = None
    tags: Annotated[str | tuple[str, ...] | None, AfterValidator(check_tags)] = None
    keep: Annotated[Any, AfterValidator(check_keep)] = "all"
    reinforce: bool = False
    record: bool = False
    raise_errors: bool = False
    # As in LlamaIndex's own memories, None is the default.
    tokenizer_fn: Annotated[Tokenizer, BeforeValidator(lambda given: given or tokenize)] = Field(
        default=tokenize, exclude=True
    )

    _unanswered_questions: OpenQuestions = PrivateAttr(default_factory=OpenQuestions)
    _dropped_turn: str = PrivateAttr(default="")
    _turns_before: dict[RoleAndText, str] = PrivateAttr(default_factory=dict)

    @field_serializer("keep")
    def _serialize_keep(self, keep: Any) -> str | None:
        return "all" if callable(keep) else keep  # a function cannot be written; give it again

    __init__ = SpaceAdapter.__init__  # else type checkers assume an __init__ made of the fields

    def _reset_state(self) -> None:
        self._unanswered_questions = OpenQuestions()

    def _kept(self, turns: Sequence[RoleAndText]) -> list[RoleAndText]:
        """Those of the turns that are to be stored. What one of them answers is kept with it (`_turns_before`)."""
        kept: list[RoleAndText] = []
        self._turns_before = {}
        for role, text in turns:
            if not is_kept(self.keep, role, text):
                self._dropped_turn = f"{role}: {text}"
                continue
            kept.append((role, text))
            if self._dropped_turn:
                self._turns_before[role, text] = self._dropped_turn
                self._dropped_turn = ""
        return kept

    def _recall_block(
        self,
        space: Space | Union,
        question: str,
        prompt: Sequence[ChatMessage],
        *,
        tags: Sequence[str] = (),
        window: int | None = None,
        now: Moment | None = None,
    ) -> PromptMemories:
        """Recall for a question what helps to answer it, without the turns that are in the prompt anyway."""
        own = [self.tags] if isinstance(self.tags, str) else [*(self.tags or ())]
        turns = roles_and_texts(prompt)
        if ("user", question) in turns:  # what follows was said about it
            turns = turns[: len(turns) - 1 - turns[::-1].index(("user", question))]
        return space.for_prompt(
            question,
            turns=[{"role": role, "content": text} for role, text in turns],
            max_tokens=prompt_budget(self.max_tokens, window),
            count_tokens=self._count_tokens,
            min_score=self.min_score,
            kinds=self.kinds,
            tags=[*own, *tags] or None,
            now=now,
            record=self.record,
        )

    def _count_tokens(self, text: str) -> int:
        return len(self.tokenizer_fn(text))

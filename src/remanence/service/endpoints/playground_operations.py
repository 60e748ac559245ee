"""One message to a space, as an agent would send it: what is quoted and why, the answer, and what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from remanence.remember.message_analysis import MessageAnalysis
from remanence.schema import Change, Memory
from remanence.service.endpoints.memory_operations import TurnRequest
from remanence.service.operation import operation
from remanence.service.requests import ListOf, Names
from remanence.space import playground
from remanence.space.playground import Considered, chat_model, exchange
from remanence.space.view import View


@dataclass(frozen=True)
class SentMessage:
    """What a space did with a message. `block` is what stands beside the message in the prompt, `model` the language
    model that answers, if there is one."""

    block: str
    why_empty: str
    considered: tuple[Considered, ...]
    missing: Mapping[str, str]
    analysis: MessageAnalysis
    stored: tuple[Change, ...]
    why_not_stored: str
    model: str | None
    answer: str | None
    problem: str
    model_prompt: str


@operation("POST", "/exchange", "write", slow=True)
def send_message(
    view: View,
    message: str,
    turns: ListOf[TurnRequest] | None = None,
    store: bool = False,
    answer: bool = True,
    conversation: str | None = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 8,
    max_tokens: Annotated[int, Field(ge=0, le=100_000)] | None = 1_000,
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None,
    kinds: Names | None = None,
    tags: Names | None = None,
) -> SentMessage:
    """Recall for a message as an agent would, answer it if the space has a language model, and store it if asked."""
    said: list[dict[str, Any]] = [{"role": turn.role or "user", "content": turn.content} for turn in turns or ()]
    options: dict[str, Any] = {"limit": limit, "max_tokens": max_tokens, "min_score": min_score}
    options |= {"kinds": kinds, "tags": tags}
    made = exchange(view, message, turns=said, store=store, answer=answer, conversation=conversation, **options)
    model = chat_model(view)
    return SentMessage(
        made.prompt.text,
        made.why_empty,
        made.considered,
        made.prompt.missing,
        made.analysis,
        made.stored,
        made.why_not_stored,
        None if model is None else model.name,
        made.answer,
        made.problem,
        made.model_prompt,
    )


@operation("GET", "/recorded/again", slow=True)
def ask_again(view: View, position: Annotated[int, Field(ge=1)]) -> list[Memory]:
    """List the memories that a recorded question brings now, found in the way in which they were found then."""
    return playground.ask_again(view, position)

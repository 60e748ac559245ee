"""One message to a space, as an agent would send it: what is quoted and why, the answer, and what is stored."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from remanence.schema import Memory
from remanence.service.endpoints.memory_operations import TurnRequest
from remanence.service.operation import operation
from remanence.service.requests import ListOf, Names
from remanence.space import playground
from remanence.space.for_prompt import MAX_TOKENS
from remanence.space.playground import Exchange, exchange
from remanence.space.view import View


@operation("POST", "/exchange", "write", slow=True)
def send_message(
    view: View,
    message: str,
    turns: ListOf[TurnRequest] | None = None,
    store: bool = False,
    answer: bool = True,
    conversation: str | None = None,
    max_tokens: Annotated[int, Field(ge=0, le=100_000)] | None = MAX_TOKENS,
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None,
    kinds: Names | None = None,
    tags: Names | None = None,
) -> Exchange:
    """Recall for a message as an agent would, answer it if the space has a language model, and store it if asked."""
    said: list[dict[str, Any]] = [{"role": turn.role or "user", "content": turn.content} for turn in turns or ()]
    options: dict[str, Any] = {"max_tokens": max_tokens, "min_score": min_score, "kinds": kinds, "tags": tags}
    return exchange(view, message, turns=said, store=store, answer=answer, conversation=conversation, **options)


@operation("GET", "/recorded/again", slow=True)
def ask_again(view: View, position: Annotated[int, Field(ge=1)]) -> list[Memory]:
    """List the memories that a recorded question brings now, found in the way in which they were found then."""
    return playground.ask_again(view, position)

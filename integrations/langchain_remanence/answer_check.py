"""Answers of an agent compared with its memory, sentence by sentence.

wrap_model_call   checks the answer with what is recalled for the user's turn; asks the model again, if that is wanted
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, HumanMessage

from langchain_remanence.messages import message_text
from langchain_remanence.tracing import NO_PAYLOADS
from langchain_remanence.user_space import check_space_and_user, space_for
from remanence import CheckedSentence, InvalidInput, check
from remanence.adapters import log_and_continue, plain_line, strip_frames

if TYPE_CHECKING:
    from langchain_remanence.user_space import SpaceLike, SpaceOrFactory

log = logging.getLogger(__name__)

CHECKED = "checked_answer"
"""The key of `AIMessage.additional_kwargs` with the sentences and their verdicts."""
Problem = Literal["contradicted", "unsupported"]
_PROBLEMS: tuple[Problem, ...] = get_args(Problem)


class AnswerCheckMiddleware(AgentMiddleware[Any, Any, Any]):
    """Compares each answer of an agent with its memory. It stands after `RemanenceMiddleware` in the list.

    What is recalled for the user's last message is compared with the answer (`remanence.check`). The verdicts are in
    `message.additional_kwargs["checked_answer"]`. With `retries`, the model is asked again while a sentence is
    contradicted; the sentences are named, each with what memory says. A tool call is not checked. If memory fails, the
    answer goes out unmarked and a warning is logged. An answer that is streamed was seen before it was checked.

    Args:
        space: The space, or a function from the runtime of a run to its space, as for `RemanenceMiddleware`.
        user_key: The field of the run's context or config that holds the user id.
        retries: How often the model is asked again at most; 0 only marks.
        verdicts: For which verdicts it is asked again: also "unsupported", where answers are to rest on memory alone.
        limit: How many memories are recalled for the check.

    Raises:
        InvalidInput: An argument is not valid; or, in a run, the user is unknown.

    Example:
        >>> import remanence
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeListChatModel
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Ana lives in Porto.", now="2026-05-01")
        ...     model = FakeListChatModel(responses=["Ana lives in Porto."])
        ...     agent = create_agent(model, middleware=[AnswerCheckMiddleware(space)])
        ...     answer = agent.invoke({"messages": [("user", "Where does Ana live?")]})["messages"][-1]
        ...     [each["verdict"] for each in answer.additional_kwargs["checked_answer"]]
        ['supported']
    """

    trace_policy = NO_PAYLOADS  # set another one, or None, to have messages and memories in traces

    def __init__(
        self,
        space: SpaceOrFactory,
        *,
        user_key: str | None = None,
        retries: int = 0,
        verdicts: Sequence[Problem] = ("contradicted",),
        limit: int = 15,
    ) -> None:
        check_space_and_user(space, user_key)
        for name, value, least in (("retries", retries, 0), ("limit", limit, 1)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidInput(f"{name}={value!r} is not a whole number from {least} on.")
        if isinstance(verdicts, str) or not set(verdicts) <= set(_PROBLEMS):
            raise InvalidInput(f"verdicts={verdicts!r} has another verdict than {', '.join(map(repr, _PROBLEMS))}.")
        self.space, self.user_key = space, user_key
        self.retries, self.verdicts, self.limit = retries, tuple(verdicts), limit

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model, check its answer, and call it again if it has to be corrected."""
        space = space_for(self.space, self.user_key, request.runtime)
        response = handler(request)
        for left in range(self.retries, -1, -1):
            response, correction = self._checked(request, response, space)
            if not left or correction is None:
                break
            response = handler(correction)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """`wrap_model_call` with the check in a worker thread."""
        space = space_for(self.space, self.user_key, request.runtime)
        response = await handler(request)
        for left in range(self.retries, -1, -1):
            response, correction = await asyncio.to_thread(self._checked, request, response, space)
            if not left or correction is None:
                break
            response = await handler(correction)
        return response

    def _checked(
        self, request: ModelRequest[Any], response: ModelResponse[Any], space: SpaceLike
    ) -> tuple[ModelResponse[Any], ModelRequest[Any] | None]:
        """The response with its verdicts, and the request that asks for a correction, if one is needed."""
        reply = response.result[-1] if response.result else None
        if not isinstance(reply, AIMessage) or reply.tool_calls or not message_text(reply).strip():
            return response, None
        with log_and_continue(log, "check"):
            asked = next((m for m in reversed(request.messages) if isinstance(m, HumanMessage)), reply)
            question, answer = strip_frames(message_text(asked)), message_text(reply)
            found = space.recall(question if question.strip() else answer, limit=self.limit)
            checked = check(answer, found)
            marked = reply.model_copy(
                update={"additional_kwargs": {**reply.additional_kwargs, CHECKED: checked.to_dicts()}}
            )
            response = ModelResponse([*response.result[:-1], marked], response.structured_response)
            wrong = [each for each in checked.sentences if each.verdict in self.verdicts]
            if wrong:
                note = HumanMessage(_correction(wrong))
                return response, request.override(messages=[*request.messages, reply, note])
        return response, None


def _correction(wrong: Sequence[CheckedSentence]) -> str:
    """What the model is told about its answer."""
    lines = ["Some sentences of this answer do not agree with memory:"]
    for each in wrong:
        told = "no memory tells it" if each.memory is None else f"told {each.memory.told_at.date()}: {each.quotation}"
        lines.append(f"- {plain_line(each.text)} ({plain_line(told)})")
    return "\n".join([*lines, "Answer the message before again, without what is wrong, and do not mention this one."])

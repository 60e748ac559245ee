"""Memory for `create_agent`: recalls before each call of the model, remembers what was said.

before_agent      the user's turn is kept
wrap_model_call   what it brings to mind goes into the system message, for this call only
after_agent       the reply is kept

A turn is known by the id of its message, so it is kept once, whatever is interrupted or tried again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langchain_remanence.messages import is_summary, message_text, speaker_fields
from langchain_remanence.whose import check_space_and_user, space_for, thread_id_of
from remanence import Hit, InvalidInput, Space
from remanence.adapters import log_and_continue, quoted_hits, reinforce
from remanence.language.framing import check_token_limit, frame, strip_frames

if TYPE_CHECKING:
    from langchain_remanence.whose import SpaceLike, SpaceOrFactory

log = logging.getLogger(__name__)

_MOST_PASSED_OVER = 200
_ECHO_FROM = 16
"""Shorter replies ("yes", "you are welcome") are given again without being echoes."""


class MemoryMiddleware(AgentMiddleware[Any, Any, Any]):
    """Long-term memory for an agent: `create_agent(model, middleware=[MemoryMiddleware(space)])`.

    What the user's turn brings to mind is put into the system message of each call to the model, quoted,
    at most `limit` memories and `tokens` tokens, and never into the state of the thread. The user's turn
    and the reply are kept, unless `remember` is False; with `extract`, facts are drawn from both in the
    background. With `reinforce`, those memories that the answer took words from count as used, which keeps
    them from fading; the others do not.

    `space` is one space for a single user; or with `user="user_id"` the space above those of all users,
    each found by the id that the run has under that name in its context or config; or a function from the
    runtime to the space. A run that does not say whose memory it wants is refused.

    When memory fails, the agent answers without it, and a warning is logged.
    """

    def __init__(
        self,
        space: SpaceOrFactory,
        *,
        user: str | None = None,
        limit: int = 8,
        tokens: int | None = 1_000,
        count: Callable[[str], int] | None = None,
        min_score: float | None = None,
        remember: bool = True,
        extract: bool = False,
        reinforce: bool = False,
        name: str | None = None,
    ) -> None:
        check_space_and_user(space, user)
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InvalidInput(f"limit={limit!r} is not a whole number above zero.")
        if min_score is not None and not (isinstance(min_score, int | float) and 0 <= min_score <= 1):
            raise InvalidInput(f"min_score={min_score!r} is not a number from 0 to 1.")
        if extract and not remember:
            raise InvalidInput("extract=True with remember=False: facts are drawn from what is remembered.")
        for option, on in (("extract", extract), ("reinforce", reinforce)):
            if on and not callable(space):
                _itself(space, option)
        self.space, self.user = space, user
        self.limit, self.tokens, self.count, self.min_score = limit, check_token_limit(tokens), count, min_score
        self.remember, self.extract, self.reinforce = remember, extract, reinforce
        self._name = name or type(self).__name__

    @property
    def name(self) -> str:
        """What this is called among the middleware of an agent; two of them need two names."""
        return self._name

    # The hooks. LangChain hands `state` and `runtime` in by name.

    def before_agent(self, state: Any, runtime: Any) -> None:
        """Keep the user's turn."""
        self._keep(self._run(runtime), _asked(state["messages"]))

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        """`before_agent`, off the event loop."""
        await asyncio.to_thread(self._keep, self._run(runtime), _asked(state["messages"]))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with what comes to mind in its system message."""
        run = self._run(request.runtime)
        reminded, shown = self._reminded(request, run)
        response = handler(reminded)
        if shown and self.reinforce:
            self._count_use(run, shown, request, response)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """`wrap_model_call`, with memory asked off the event loop."""
        run = self._run(request.runtime)
        reminded, shown = await asyncio.to_thread(self._reminded, request, run)
        response = await handler(reminded)
        if shown and self.reinforce:
            await asyncio.to_thread(self._count_use, run, shown, request, response)
        return response

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Keep the reply."""
        self._keep_reply(self._run(runtime), state["messages"])

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """`after_agent`, off the event loop."""
        await asyncio.to_thread(self._keep_reply, self._run(runtime), state["messages"])

    # The work

    def _run(self, runtime: Any) -> _Run:
        """Whose memory this run is about. What cannot be told rises: no answer is better than another's."""
        return _Run(space_for(self.space, self.user, runtime), thread_id_of(runtime))

    def _reminded(self, request: ModelRequest[Any], run: _Run) -> tuple[ModelRequest[Any], list[Hit]]:
        """The request with what comes to mind in it, and those memories that found room there."""
        hits, block = self._come_to_mind(run, request.messages), ""
        with log_and_continue(log, "recall"):  # `count` is the caller's, and may ask a model
            block = frame(hits, tokens=self.tokens, count_tokens=self.count)
        if not block:
            return request, []
        reminded = request.override(system_message=_with(request.system_message, block))
        return reminded, quoted_hits(block, hits)

    def _count_use(self, run: _Run, shown: list[Hit], request: ModelRequest[Any], response: ModelResponse[Any]) -> None:
        """Count as used what the answer took up of what was shown."""
        answer = " ".join(_said(reply) for reply in _replied(response.result))
        with log_and_continue(log, "reinforce"):
            heard = [*([request.system_message] if request.system_message else []), *_heard(request.messages)]
            told = [message_text(message) for message in heard]
            reinforce(_itself(run.space, "reinforce"), shown, context=told, answer=answer)

    def _come_to_mind(self, run: _Run, messages: Sequence[BaseMessage]) -> list[Hit]:
        """What the user's last turn recalls, without what stands in the prompt as a message already."""
        asked = _asked(messages)
        question = message_text(asked[-1]) if asked else ""
        shown = {run.key(message) for message in messages if message.id}
        found: list[Hit] = []
        if question:
            with log_and_continue(log, "recall"):
                most = self.limit + min(len(shown), _MOST_PASSED_OVER)
                recall = run.space.recall(question, limit=most, min_score=self.min_score)
                for signal, reason in recall.missing.items():
                    log.warning("recalled without the signal %r: %s", signal, reason)
                found = [hit for hit in recall if hit.memory.key not in shown]
        return found[: self.limit]

    def _keep(self, run: _Run, messages: Sequence[BaseMessage]) -> None:
        turns = run.turns(messages)
        if self.remember and turns:
            with log_and_continue(log, "remember"):
                run.space.add_turns(turns)

    def _keep_reply(self, run: _Run, messages: Sequence[BaseMessage]) -> None:
        replies = _replied(messages)
        if self.remember and replies:
            # The question is still the same, so this is what the model was shown.
            recalled = {_even(hit.memory.text) for hit in self._come_to_mind(run, messages)}
            echoes = {text for text in recalled if len(text) >= _ECHO_FROM}
            self._keep(run, [reply for reply in replies if _even(_said(reply)) not in echoes])
        if self.extract:
            with log_and_continue(log, "extract"):
                _draw_facts(run, [*_asked(messages), *replies])


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run may see, and which thread it is in."""

    space: SpaceLike
    thread: str | None

    def key(self, message: BaseMessage) -> str:
        """The key that a message is kept under: its id, which is unique in its thread."""
        named = json.dumps([self.thread, message.id])
        return f"message:{hashlib.blake2b(named.encode(), digest_size=16).hexdigest()}"

    def turns(self, messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
        """The messages that say something in words, as `add_turns` takes them."""
        said = [(message, _said(message)) for message in messages]
        where = {} if self.thread is None else {"conversation": self.thread}
        return [
            {"content": words, **({"key": self.key(message)} if message.id else {}), **where, **speaker_fields(message)}
            for message, words in said
            if words.strip()
        ]


def _asked(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The user's turn: what they said last, in one message or several."""
    said: list[BaseMessage] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and not is_summary(message):
            said.insert(0, message)
        elif said:
            break
    return said


def _replied(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What the agent answered to that. Words beside a call of a tool are not the answer yet."""
    said: list[BaseMessage] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, AIMessage) and not message.tool_calls:
            said.insert(0, message)
    return said


def _heard(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """All that stands in a thread but what the agent said in this turn."""
    turn = max((at for at, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
    return [message for at, message in enumerate(messages) if at < turn or not isinstance(message, AIMessage)]


def _said(message: BaseMessage) -> str:
    """The words of a message; of a reply without those that it was given to read."""
    return strip_frames(message_text(message)) if isinstance(message, AIMessage) else message_text(message)


def _draw_facts(run: _Run, messages: Sequence[BaseMessage]) -> None:
    """Have facts found, in the background, in those messages that are still remembered."""
    space = _itself(run.space, "extract")
    kept = [turn for turn in run.turns(messages) if "key" in turn and space.find(turn["key"])]
    if kept:
        space.remember(kept, wait=False)


def _itself(space: object, option: str) -> Space:
    """The space, for what is written to it and not to one branch of a thread."""
    if isinstance(space, Space):
        return space
    raise InvalidInput(
        f"{option}=True needs the space itself: what it writes would be in every branch of a thread, and "
        f"{space!r} keeps them apart. Give the space, or {option}=False."
    )


def _with(system: SystemMessage | None, block: str) -> SystemMessage:
    """The system message with a block at its end, whatever its content is made of."""
    if system is None:
        return SystemMessage(block)
    if isinstance(system.content, str):
        content: str | list[Any] = f"{system.content}\n\n{block}"
    else:
        content = [*system.content, {"type": "text", "text": block}]
    return system.model_copy(update={"content": content})


def _even(text: str) -> str:
    """A text without its accidents, to know it again."""
    return " ".join(text.casefold().split())

"""Memory for `create_agent`.

before_agent      stores the user's turn
wrap_model_call   recalls for the turn and adds the memories to the prompt, for this call only
after_agent       stores the reply

What is recalled stands with the user's turn, and the briefing at the end of the system message stays the same to the
byte while it holds: a provider's prompt cache covers all that comes before the turn.

A turn is stored under the id of its message, so it is stored once even if a run is interrupted or repeated.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_remanence.messages import (
    append_text,
    chat_turns,
    is_summary,
    message_text,
    prepend_text,
    role_of,
    speaker_fields,
    structured_reply,
)
from langchain_remanence.tool_runs import OutcomeOf, record_run, task_of, what_worked
from langchain_remanence.tracing import NO_PAYLOADS
from langchain_remanence.user_space import check_space_and_user, space_for, thread_id_of
from remanence import Hit, InvalidInput, Space, Union, union
from remanence.adapters import (
    MAX_TEXT_LENGTH,
    MAX_TOKENS,
    Keep,
    PromptMemories,
    check_keep,
    check_kinds,
    check_max_tokens,
    check_tags,
    is_kept,
    is_space,
    log_and_continue,
    normalize_text,
    own_hits,
    prompt_budget,
    reinforce,
    require_fact_extractor,
    strip_frames,
    warn_of_long_texts,
)

if TYPE_CHECKING:
    from langchain_remanence.user_space import SpaceLike, SpaceOrFactory

log = logging.getLogger(__name__)

Place = Literal["system", "message", "tool"]
PLACES = ("system", "message", "tool")
_RECALL_TOOL = "recall_memories"


class RemanenceMiddleware(AgentMiddleware[Any, Any, Any]):
    """Long-term memory for an agent: `create_agent(model, middleware=[RemanenceMiddleware(space)])`.

    The memories that help to answer the user's turn are quoted in each call to the model, and never in the state of
    the thread; a turn that needs no memory gets none. The user's turn and the reply are stored. If memory fails, the
    agent answers without it and a warning is logged, or the run raises (`raise_errors`).

    `max_tokens`, `count_tokens`, `min_score`, `kinds`, `tags` and `record` are those of `Space.for_prompt`. What is
    quoted never takes more than a quarter of the model's window, where the model says how large that is.

    Args:
        space: One space for a single user; or, with `user_key`, the parent space of all users; or a function from
            the runtime of a run to its space.
        user_key: The field of the run's context or config that holds the user id, for example "user_id": text, a
            number or a UUID; 5 and "5" are the same user. Each user has a space of their own, and a run without a user
            id is refused.
        shared: Spaces whose memories are quoted beside those of the user, such as that of a team: they are read only,
            and each quoted memory names its space. Or a function from the runtime of a run to them.
        briefing: The token budget of the briefing (`Space.briefing`: what is true of the user, by topic) at the end of
            the system message; 0 for none.
        place: Where the recalled memories are quoted. "message": at the beginning of the user's message, so that all
            before it stays the same from call to call and the provider's prompt cache applies. "tool": as the result
            of a tool call after the user's message. "system": at the end of the system message.
        keep: Which turns to store: "all", "user" (those of the user), "facts" (those in which `analyze_message` finds
            something worth storing), a function of role and text, or None for none.
        extract: Whether the language model of the space (`remanence.open(location, extractor=model)`) extracts facts:
            in the background, once for a chat that has been quiet or has grown (`remember(..., wait="quiet")`).
        reinforce: Whether to count as used the quoted memories that the answer took words from, so that they
            do not decay.
        raise_errors: Whether a run raises when memory fails, as when the space is closed or the disk is full, in place
            of going on without it.
        procedures: Whether to record the tool calls of each run with their outcome (`space.procedures`), and to quote
            what worked for a similar task. A call whose `ToolMessage` has the status "error" failed.
        outcome: Says of the messages of a run, after the user's, whether the task was done: "success", "failure", or
            None to record nothing. By default it was done if the last tool call worked.
        tools: The versions of the tools, by name; or a function that returns them.
        name: The name of this middleware, if an agent has two of them.

    Raises:
        InvalidInput: An argument is not valid; or, in a run, the user is unknown.
    """

    trace_policy = NO_PAYLOADS  # set another one, or None, to have messages and memories in traces

    def __init__(
        self,
        space: SpaceOrFactory,
        *,
        user_key: str | None = None,
        shared: Sequence[Space] | Callable[[Any], Sequence[Space]] = (),
        max_tokens: int | None = MAX_TOKENS,
        count_tokens: Callable[[str], int] | None = None,
        min_score: float | None = None,
        kinds: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        briefing: int = 0,
        place: Place = "message",
        keep: Keep = "all",
        extract: bool = False,
        reinforce: bool = False,
        record: bool = False,
        raise_errors: bool = False,
        procedures: bool = False,
        outcome: OutcomeOf | None = None,
        tools: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
        name: str | None = None,
    ) -> None:
        check_space_and_user(space, user_key)
        if min_score is not None and not (isinstance(min_score, int | float) and 0 <= min_score <= 1):
            raise InvalidInput(f"min_score={min_score!r} is not a number from 0 to 1.")
        if count_tokens is not None and not callable(count_tokens):
            raise InvalidInput(f"count_tokens={count_tokens!r} is not a function from a text to its number of tokens.")
        if place not in PLACES:
            raise InvalidInput(f"place={place!r} is none of {', '.join(map(repr, PLACES))}.")
        if extract and keep is None:
            raise InvalidInput("extract=True with keep=None: facts are extracted from stored turns. Set keep='all'.")
        writing = {"extract": extract, "reinforce": reinforce, "record": record, "briefing": briefing}
        writing["procedures"] = procedures
        for option, enabled in writing.items():
            if enabled and not callable(space):
                _require_space(space, option)
        if extract and not callable(space):
            require_fact_extractor(_require_space(space, "extract"))
        self.briefing = check_max_tokens(briefing) or 0
        if record and shared:
            raise InvalidInput(
                "record=True with shared=...: recalls of several spaces are not recorded. Leave one out."
            )
        if not callable(shared):
            union(*shared) if shared else None  # raises what a run would
        self.space, self.user_key, self.shared = space, user_key, shared
        self.min_score = min_score
        self.max_tokens, self.count_tokens = check_max_tokens(max_tokens), count_tokens
        self.kinds, self.tags, self.place = check_kinds(kinds), check_tags(tags), place
        self.keep, self.extract, self.reinforce, self.record = check_keep(keep), extract, reinforce, record
        self.raise_errors = raise_errors
        self.procedures, self.outcome, self.versions = procedures, outcome, tools
        self._name = name or type(self).__name__

    @property
    def name(self) -> str:
        """The name of this middleware. Two of them in one agent need two names."""
        return self._name

    # The hooks. LangChain passes `state` and `runtime` by name.

    def before_agent(self, state: Any, runtime: Any) -> None:
        """Store the user's turn."""
        self._store_turn(self._run(runtime), state["messages"])

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        """`before_agent` in a worker thread."""
        await asyncio.to_thread(self.before_agent, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the recalled memories in its prompt."""
        run = self._run(request.runtime)
        extended, quoted = self._with_memories(request, run)
        response = handler(extended)
        if quoted and self.reinforce:
            self._reinforce(run, quoted, request, response)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """`wrap_model_call` with the memory used in a worker thread."""
        run = await asyncio.to_thread(self._run, request.runtime)  # it may open a space
        extended, quoted = await asyncio.to_thread(self._with_memories, request, run)
        response = await handler(extended)
        if quoted and self.reinforce:
            await asyncio.to_thread(self._reinforce, run, quoted, request, response)
        return response

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Store the reply, and with `procedures` what the tools did."""
        run, messages = self._run(runtime), list[BaseMessage](state["messages"])
        self._store_reply(run, messages, state.get("structured_response"))
        turn = _user_turn(messages)
        if self.procedures and (task := task_of(turn)):
            with self._continuing("record what worked"):
                after = messages[messages.index(turn[-1]) + 1 :]
                space = _require_space(run.space, "procedures")
                record_run(space, task, after, self._tool_versions(), self.outcome)

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """`after_agent` in a worker thread."""
        await asyncio.to_thread(self.after_agent, state, runtime)

    def _continuing(self, action: str) -> AbstractContextManager[None]:
        return log_and_continue(log, action, raise_errors=self.raise_errors)

    def _run(self, runtime: Any) -> _Run:
        # An unknown user raises here: an answer with the memories of another user would be worse than none.
        space = space_for(self.space, self.user_key, runtime)
        shared = self.shared(runtime) if callable(self.shared) else self.shared
        asked = union(_require_space(space, "shared"), *shared) if shared else space
        return _Run(space, thread_id_of(runtime), asked)

    def _with_memories(self, request: ModelRequest[Any], run: _Run) -> tuple[ModelRequest[Any], list[Hit]]:
        """Return the request with memories in its prompt, and the memories that are quoted there."""
        with self._continuing("remember"):
            # A run that goes on from a checkpoint does not begin again, and the turn may have been edited there.
            messages = list[BaseMessage](request.state["messages"])
            if any(run.is_edited(message) for message in _user_turn(messages)):
                self._store_turn(run, messages)
        if self.briefing:
            with self._continuing("brief"):
                if block := _require_space(run.space, "briefing").briefing(max_tokens=self.briefing):
                    request = request.override(system_message=append_text(request.system_message, block))
        window = _window(request.model)
        found = self._recall_for(run, request.messages, window)
        block = "\n".join(part for part in (found.text, self._what_worked(run, request.messages, window)) if part)
        if not block:
            return request, []
        if self.place == "system":
            extended = request.override(system_message=append_text(request.system_message, block))
        else:
            extended = request.override(messages=_insert_block(request.messages, block, self.place))
        return extended, list(found.hits)

    def _what_worked(self, run: _Run, messages: Sequence[BaseMessage], window: int | None) -> str:
        """What worked for the task in the user's last message, as a block of half the budget of the memories."""
        if self.procedures and (task := task_of(_user_turn(messages))):
            budget = prompt_budget(self.max_tokens, window)
            half = None if budget is None else budget // 2
            with self._continuing("recall what worked"):
                space = _require_space(run.space, "procedures")
                return what_worked(space, task, self._tool_versions(), half, self.count_tokens)
        return ""

    def _tool_versions(self) -> Mapping[str, str] | None:
        return self.versions() if callable(self.versions) else self.versions

    def _reinforce(self, run: _Run, hits: list[Hit], request: ModelRequest[Any], response: ModelResponse[Any]) -> None:
        """Record the usage of the quoted memories that the answer contains."""
        answer = " ".join(_own_text(reply) for reply in _replies(response.result))
        with self._continuing("reinforce"):
            system = [request.system_message] if request.system_message else []
            context = [message_text(message) for message in [*system, *_context(request.messages)]]
            space = _require_space(run.space, "reinforce")
            reinforce(space, own_hits(hits, space), context=context, answer=answer)

    def _recall_for(self, run: _Run, messages: Sequence[BaseMessage], window: int | None = None) -> PromptMemories:
        """Recall for the user's last message what helps to answer it and is not in the prompt anyway."""
        turn = _user_turn(messages)
        found = PromptMemories()
        if turn:
            before = messages[: messages.index(turn[-1])]
            with self._continuing("recall"):
                found = run.asked.for_prompt(
                    message_text(turn[-1]),
                    turns=chat_turns(before),
                    max_tokens=prompt_budget(self.max_tokens, window),
                    count_tokens=self.count_tokens,
                    min_score=self.min_score,
                    kinds=self.kinds,
                    tags=self.tags,
                    record=self.record,
                )
                for signal, reason in found.missing.items():
                    log.warning("recalled without the signal %r: %s", signal, reason)
        return found

    def _store_turn(self, run: _Run, messages: Sequence[BaseMessage]) -> None:
        turn = _user_turn(messages)
        self._store(run, turn, before=_turn_before(messages, turn))

    def _store(self, run: _Run, messages: Sequence[BaseMessage], before: BaseMessage | None = None) -> None:
        turns = run.turns([message for message in messages if is_kept(self.keep, role_of(message), _own_text(message))])
        if turns and before is not None and not is_kept(self.keep, role_of(before), _own_text(before)):
            turns[0]["before"] = f"{role_of(before)}: {_own_text(before)[-MAX_TEXT_LENGTH // 2 :]}"
        if turns:
            warn_of_long_texts(log, (turn["content"] for turn in turns))
            with self._continuing("remember"):
                if self.extract and is_space(run.space):
                    run.space.remember(turns, wait="quiet")
                else:
                    run.space.add_turns(turns)
            if self.extract and callable(self.space):
                with self._continuing("extract"):
                    require_fact_extractor(_require_space(run.space, "extract"))

    def _store_reply(self, run: _Run, messages: Sequence[BaseMessage], structured: object) -> None:
        replies = _replies(messages) or structured_reply(messages, structured)
        if self.keep is not None and replies:
            # The question is the same, so these are the memories that the model was given. A reply that only
            # repeats one of them is not stored again.
            recalled = {normalize_text(hit.memory.text) for hit in self._recall_for(run, messages).hits}
            repeated = {text for text in recalled if len(text) >= 16}  # a shorter reply may equal a memory by chance
            self._store(run, [reply for reply in replies if normalize_text(_own_text(reply)) not in repeated])


@dataclass(frozen=True, slots=True)
class _Run:
    """The space and the thread of a run, and what is asked: the space, or a union of it with shared ones."""

    space: SpaceLike
    thread: str | None
    asked: SpaceLike | Union

    def key(self, message: BaseMessage) -> str:
        """The key of a message in the space. Message ids are unique in their thread only."""
        thread_and_id = json.dumps([self.thread, message.id])
        return f"message:{hashlib.blake2b(thread_and_id.encode(), digest_size=16).hexdigest()}"

    def is_edited(self, message: BaseMessage) -> bool:
        """Whether a message is stored with another text."""
        stored = self.space.find(self.key(message)) if message.id else None
        return stored is not None and stored.text != _own_text(message)[:MAX_TEXT_LENGTH]

    def turns(self, messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
        """The messages that have text, in the form of `add_turns`."""
        conversation = {} if self.thread is None else {"conversation": self.thread}
        turns = []
        for message in messages:
            if (text := _own_text(message)[:MAX_TEXT_LENGTH]).strip():
                key = {"key": self.key(message)} if message.id else {}
                turns.append({"content": text, **key, **conversation, **speaker_fields(message)})
        return turns


def _user_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The last consecutive messages of the user."""
    turn: list[BaseMessage] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and not is_summary(message):
            turn.insert(0, message)
        elif turn:
            break
    return turn


def _turn_before(messages: Sequence[BaseMessage], turn: Sequence[BaseMessage]) -> BaseMessage | None:
    """The answer of the agent that the turn of the user follows."""
    earlier = messages[: messages.index(turn[0])] if turn else []
    return next((message for message in reversed(earlier) if isinstance(message, AIMessage) and message.text), None)


def _replies(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The answers of the agent to that turn. Text next to a tool call is not an answer yet."""
    replies: list[BaseMessage] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, AIMessage) and not message.tool_calls:
            replies.insert(0, message)
    return replies


def _context(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """All messages except those of the agent in this turn."""
    turn = max((index for index, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
    return [message for index, message in enumerate(messages) if index < turn or not isinstance(message, AIMessage)]


def _own_text(message: BaseMessage) -> str:
    """The text of a message; of a reply without the blocks of memories that it repeats."""
    return strip_frames(message_text(message)) if isinstance(message, AIMessage) else message_text(message)


def _require_space(space: object, option: str) -> Space:
    if is_space(space):
        return space
    raise InvalidInput(
        f"{option}=True needs the space itself: it writes to every branch of a thread, and {space!r} separates "
        f"the branches. Give the space, or {option}=False."
    )


def _window(model: Any) -> int | None:
    """The context window of the model in tokens, if its profile has one."""
    profile = getattr(model, "profile", None)
    tokens = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    return tokens if isinstance(tokens, int) and tokens > 0 else None


def _insert_block(messages: Sequence[AnyMessage], block: str, place: Place) -> list[AnyMessage]:
    """The messages with the memories at the beginning of the user's last message, or as the result of a tool call after
    it. Not in a message of their own: some models refuse two messages of the user in a row."""
    last = max(index for index, message in enumerate(messages) if isinstance(message, HumanMessage))
    if place == "message":
        question = prepend_text(messages[last], block)
        return [*messages[:last], question, *messages[last + 1 :]]
    call = {"name": _RECALL_TOOL, "args": {"query": message_text(messages[last])}, "id": f"{_RECALL_TOOL}_{last}"}
    result: list[AnyMessage] = [
        AIMessage("", tool_calls=[call]),
        ToolMessage(block, tool_call_id=call["id"], name=_RECALL_TOOL),
    ]
    return [*messages[: last + 1], *result, *messages[last + 1 :]]

"""One message to a space, as an agent would send it: what is quoted and why, the answer, and what is stored.

`remanence chat` and the playground of the inspector show an `Exchange`. Nothing here ranks or decides: it calls what
the middlewares call, and keeps the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput, NotFound
from remanence.models.llm_extractor import LLMExtractor
from remanence.recall.memories_used import memories_used
from remanence.recall.receipts import RecallRequest
from remanence.remember.message_analysis import MessageAnalysis, analyze_message
from remanence.schema import ASSISTANT, Change, Hit, Memory
from remanence.space.for_prompt import PromptMemories, repeat_for_prompt
from remanence.space.recall_request import answer_request
from remanence.space.space import Space
from remanence.space.view import View

if TYPE_CHECKING:
    from remanence.index.engine.inputs import Moment

_INSTRUCTIONS = """You are a helpful assistant with a long-term memory. Answer the last message of the user in one to \
three sentences, in the language of the message. Use what is quoted from memory where it helps. If neither the \
conversation nor the memory has the answer, say that you do not know it."""
_ROLES = {"user": "User", ASSISTANT: "Assistant"}


@dataclass(frozen=True, slots=True)
class Considered:
    """A memory that was found for a message, whether the prompt quotes it, and why or why not."""

    hit: Hit
    quoted: bool
    reason: str
    used: bool = False
    """Whether the answer has words of it."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a space did with one message.

    Attributes:
        prompt: The block that would stand beside the message, and the hits that it quotes.
        considered: The memories that were found, quoted ones first, each with the reason.
        why_empty: Why the block is empty; "" if it quotes something.
        analysis: Whether the message tells something that lasts, and why, as `analyze_message` sees it.
        stored: What was written because of the message and its answer, in order.
        why_not_stored: Why nothing was written; "" if something was.
        answer: The answer of the language model; None without one, or if it failed.
        problem: Why a language model gave no answer.
        model_prompt: The whole prompt that the language model was given; "" without a model.
        model: The name of the language model of the space, if there is one.
    """

    message: str
    prompt: PromptMemories
    considered: tuple[Considered, ...]
    why_empty: str
    analysis: MessageAnalysis
    stored: tuple[Change, ...] = ()
    why_not_stored: str = ""
    answer: str | None = None
    problem: str = ""
    model_prompt: str = ""
    model: str | None = None


def exchange(
    view: View,
    message: str,
    *,
    turns: Sequence[Mapping[str, str]] = (),
    store: bool = True,
    answer: bool = True,
    conversation: str | None = None,
    now: Moment | None = None,
    **options: Any,
) -> Exchange:
    """Send one message to a space: recall for it, let the language model of the space answer it, and store both. In a
    view of the past nothing is stored.

    Args:
        view: The space, or a view of it.
        turns: The turns before it, oldest first, as dicts with `role` and `content`.
        store: Whether to store the message and the answer.
        answer: Whether the language model of the space, `remanence.open(extractor=...)`, is asked.
        conversation: The conversation of the turns that are stored.
        now: When the message is said.
        **options: Other options of `for_prompt`, such as `max_tokens`.
    """
    if not message.strip():
        raise InvalidInput(f"message={message!r} is blank. Type something.")
    prompt = view.for_prompt(message, turns=turns, now=now, **options)
    analysis = analyze_message(message)
    extractor = view._engine.extractor
    model = extractor.client if isinstance(extractor, LLMExtractor) else None
    text, problem, model_prompt = None, "", ""
    if model is not None and answer:
        model_prompt = _model_prompt(view, message, turns, prompt)
        reply = model.ask(model_prompt)
        text, problem = (reply.text.strip() or None, reply.problem or "")
        problem = problem or ("" if text else f"{model.name} answered with nothing")
    stored: tuple[Change, ...] = ()
    why_not_stored = "nothing is to be stored"
    if store:
        stored, why_not_stored = _store(view, message, text, conversation, now)
    context = [message, *(turn["content"] for turn in turns)]
    used = set() if text is None else set(memories_used(prompt.hits, context=context, answer=text))
    quoted = [Considered(hit, True, hit.reason, hit.memory.id in used) for hit in prompt.hits]
    others = [Considered(each.hit, False, each.reason) for each in prompt.left_out]
    return Exchange(
        message,
        prompt,
        (*quoted, *others),
        "" if prompt.text else prompt.skip_reason or _why_empty(prompt, turns),
        analysis,
        stored,
        why_not_stored,
        text,
        problem,
        model_prompt,
        None if model is None else model.name,
    )


def ask_again(view: View, position: int) -> list[Memory]:
    """The memories that a recorded question brings now, found in the way in which they were found then.

    Raises:
        NotFound: No recall was recorded at this position, or it was erased.
    """
    told = next(iter(view.audit.recorded(limit=1, before=position + 1)), None)
    if told is None or told.position != position:
        raise NotFound(
            f"space {view.name!r} has no recorded recall at {position}. It may have been erased with "
            "a memory that it had."
        )
    if (prompt := repeat_for_prompt(view, told.receipt)) is not None:
        return [hit.memory for hit in prompt.hits]
    request = RecallRequest.from_receipt(replace(told.receipt, now=view._now()), None)
    include = [name for name in ("archive", "vault") if getattr(told.receipt, name)]
    found = answer_request(view._engine, view.name, request, lambda _, index: view._position(index), include)
    return [hit.memory for hit in found]


def _why_empty(prompt: PromptMemories, turns: Sequence[Mapping[str, str]]) -> str:
    if prompt.left_out:
        return "no memory that was found would help"
    beside = " beside the turns of this conversation, which are in the prompt themselves" if turns else ""
    return f"no memory was found{beside}"


def _store(
    view: View, message: str, answer: str | None, conversation: str | None, now: Moment | None
) -> tuple[tuple[Change, ...], str]:
    """Store a message and its answer, and return all that was written because of them."""
    if not isinstance(view, Space):
        return (), "this is a view of the past, which cannot change"
    turns = [{"role": "user", "content": message}]
    turns += [] if answer is None else [{"role": ASSISTANT, "content": answer}]
    before = view.recent(limit=1).position
    view.remember([turn | ({"conversation": conversation} if conversation else {}) for turn in turns], now=now)
    stored = tuple(view.audit.changes(after_position=before))
    return stored, "" if stored else "the same was said before in this conversation"


def _model_prompt(view: View, message: str, turns: Sequence[Mapping[str, str]], prompt: PromptMemories) -> str:
    """The profile at the start, then the conversation, then the block beside the message."""
    said = [f"{_ROLES.get(turn.get('role', 'user'), 'User')}: {turn['content']}" for turn in turns]
    parts = [_INSTRUCTIONS, view.briefing(), "\n".join(said), prompt.text, f"User: {message}\nAssistant:"]
    return "\n\n".join(part for part in parts if part)

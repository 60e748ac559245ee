"""Language models of other libraries, recognised by their methods. No framework is imported.

A model may raise, hang, or answer with anything. What `resolve_llm` returns always answers with a `Reply` in time,
and the `Reply` says what went wrong.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from remanence.errors import InvalidInput, MissingExtra
from remanence.models.time_limit import TimedOut, TimeLimit
from remanence.schema import TokenUsage
from remanence.text.framing import estimate_tokens

if TYPE_CHECKING:
    from pydantic import BaseModel

ACCEPTED = "Give a LangChain chat model, a LlamaIndex LLM, or a function from a prompt to the text of the answer"
_INHERITED = "llama_index.core.llms.llm"  # the module of the `structured_predict` that every LLM of LlamaIndex has
_NO_STREAMING = {"tags": ["nostream"]}  # LangGraph keeps the tokens of such a call out of an agent's stream


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a prompt: `fields` from structured output, `text` otherwise, or the `problem`.

    After `timed_out` the model is not asked again, as that would wait as long again, and after `refused` neither: its
    service does not accept the key. `usage` are the tokens that it read and wrote.
    """

    fields: Mapping[str, Any] | None = None
    text: str = ""
    problem: str | None = None
    timed_out: bool = False
    refused: bool = False
    usage: TokenUsage | None = None


def resolve_llm(model: object, *, timeout: float | None = 60.0) -> WithTimeout:
    """The client for a model that a caller passed; it waits at most `timeout` seconds for an answer.

    >>> resolve_llm(lambda prompt: prompt.upper()).ask("hello").text
    'HELLO'
    """
    if isinstance(model, str) and ":" in model:
        model = _named_model(model)
    if isinstance(model, type):
        raise InvalidInput(f"The model is the class {model.__name__}, not an instance of it. {ACCEPTED}.")
    if is_langchain(model):
        return WithTimeout(model, _ask_langchain, timeout)
    if is_llamaindex(model):
        return WithTimeout(model, _ask_llamaindex, timeout)
    if inspect.iscoroutinefunction(model):
        raise InvalidInput(f"The model {model!r} is async; it is called from a thread. {ACCEPTED}.")
    if not callable(model):
        raise InvalidInput(f"This is not a language model: {model!r} ({type(model).__name__}). {ACCEPTED}.")
    return WithTimeout(model, lambda model, prompt, schema: _reply(model(prompt)), timeout)


def _named_model(name: str) -> object:
    """The chat model that LangChain makes of a name with its provider, such as "openai:gpt-5-mini"."""
    try:
        init_chat_model = import_module("langchain.chat_models").init_chat_model
    except ImportError as error:
        raise MissingExtra(
            f'the model {name!r} is made by LangChain. Run: pip install "remanence-memory[agent]", and the package of '
            "its provider."
        ) from error
    try:
        return cast("object", init_chat_model(name))
    except (ImportError, ValueError) as error:  # its provider is not installed, or not known
        raise InvalidInput(f"LangChain makes no chat model of {name!r}: {error}") from error


def is_langchain(model: object) -> bool:
    return callable(getattr(model, "invoke", None)) and callable(getattr(model, "batch", None))


def is_llamaindex(model: object) -> bool:
    return callable(getattr(model, "complete", None)) and hasattr(model, "metadata")


def _ask_langchain(model: Any, prompt: str, schema: type[BaseModel] | None) -> Reply:
    """The answer through `with_structured_output` if the model supports it, else through `invoke`."""
    bound = None
    if schema is not None:
        try:
            bound = model.with_structured_output(schema, include_raw=True)
        except (AttributeError, ImportError, NotImplementedError, TypeError, ValueError):
            pass  # models that cannot do it raise any of these
    if bound is None:
        message = model.invoke(prompt, config=_NO_STREAMING)
        return replace(_reply(message), usage=_langchain_usage(message))
    answer = bound.invoke(prompt, config=_NO_STREAMING)
    if not (isinstance(answer, Mapping) and "raw" in answer):
        return _reply(answer)  # the model ignores `include_raw`
    raw, parsed = answer["raw"], answer.get("parsed")
    cut = next(iter(getattr(raw, "invalid_tool_calls", ())), None) if parsed is None else None
    reply = _reply((cut and cut.get("args")) or (raw if parsed is None else parsed))
    return replace(reply, usage=_langchain_usage(raw))


def _ask_llamaindex(model: Any, prompt: str, schema: type[BaseModel] | None) -> Reply:
    """The answer through `structured_predict` if the model calls functions or has one of its own, else through
    `complete`.

    `as_structured_llm` calls it with the prompt as it is. The one that every LLM inherits would also ask for JSON in
    text, but discard text that is not valid.
    """
    own = getattr(type(model), "structured_predict", None)
    structured = getattr(model.metadata, "is_function_calling_model", False)
    structured = structured or getattr(model, "should_use_structured_outputs", False)
    structured = structured or getattr(own, "__module__", _INHERITED) != _INHERITED
    if schema is None or not structured:
        response = model.complete(prompt)
        return replace(_reply(response), usage=_llamaindex_usage(response))
    return _reply(model.as_structured_llm(schema).complete(prompt).raw)


class WithTimeout:
    """A language model with a time limit, whose errors become the `problem` of the reply."""

    def __init__(self, model: object, ask: Callable[..., Reply], timeout: float | None) -> None:
        self.name = _model_name(model)
        self._model, self._ask = model, ask
        self._limit = TimeLimit(timeout)

    def ask(self, prompt: str, schema: type[BaseModel] | None = None) -> Reply:
        """The answer, as structured output if there is a `schema` and the model supports it; or the problem. Its
        `usage` is estimated if the model does not report it."""
        reply = self._ask_in_time(prompt, schema)
        if reply.usage is not None:
            return reply
        answer = reply.text if reply.fields is None else json.dumps(reply.fields, default=str, ensure_ascii=False)
        return replace(reply, usage=TokenUsage(1, estimate_tokens(prompt), estimate_tokens(answer) if answer else 0))

    def _ask_in_time(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        try:
            return self._limit.call(self._ask_model, prompt, schema)
        except TimedOut as error:
            return Reply(problem=str(error), timed_out=True)
        except RuntimeError as error:  # too many threads, or the program is ending
            return Reply(problem=f"could not be asked: {error}")

    def _ask_model(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        try:
            return self._ask(self._model, prompt, schema)
        except (Exception, SystemExit) as error:  # noqa: BLE001  -- the caller's code may raise anything
            # Only the first line: the next ones often repeat the prompt.
            first_line = next(iter(str(error).splitlines()), "")
            problem = f"raised {type(error).__name__}: {first_line[:120]}".rstrip(": ")
            # A call that is refused costs nothing.
            return Reply(problem=problem, refused=is_refused(error), usage=TokenUsage(1))


def is_refused(error: BaseException | None) -> bool:
    """Whether a service refused the key: the error, or one that caused it, has the status 401 or 403.

    >>> class AuthenticationError(Exception):
    ...     status_code = 401
    >>> is_refused(AuthenticationError("Incorrect API key")), is_refused(ConnectionError("503"))
    (True, False)
    """
    while error is not None:
        owners = (error, getattr(error, "response", None))
        if any(getattr(owner, name, None) in (401, 403) for owner in owners for name in ("status_code", "code")):
            return True
        error = error.__cause__
    return False


def has_return_type(function: object, kind: type) -> bool:
    """Whether the annotation of a function says that it returns this type."""
    try:
        annotation = inspect.signature(function).return_annotation  # type: ignore[arg-type]
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False
    return annotation is kind or annotation == kind.__name__


def _reply(answer: Any) -> Reply:
    """An answer as a Reply: from a text, a message with text, or an object with fields."""
    text = answer if isinstance(answer, str) else getattr(answer, "text", None)
    if isinstance(text, str):
        return Reply(text=str(text))
    if isinstance(answer, Mapping):
        return Reply(fields=answer)
    if callable(getattr(answer, "model_dump", None)):
        return Reply(fields=dict(answer))  # pydantic: the first level only
    return Reply(problem=f"answered with {'None' if answer is None else type(answer).__name__}, not with text")


def _langchain_usage(message: Any) -> TokenUsage | None:
    """The tokens that a message of LangChain reports."""
    reported = getattr(message, "usage_metadata", None)
    return _usage(reported, "input_tokens", "output_tokens")


def _llamaindex_usage(response: Any) -> TokenUsage | None:
    """The tokens that a response of LlamaIndex reports: models put them into `additional_kwargs`, or into `usage` of
    what their service answered."""
    raw = getattr(response, "raw", None)
    usage = raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None)
    fields = usage if isinstance(usage, Mapping) else getattr(usage, "__dict__", None)
    extra = getattr(response, "additional_kwargs", None)
    return _usage(extra, "prompt_tokens", "completion_tokens") or _usage(fields, "prompt_tokens", "completion_tokens")


def _usage(reported: Any, read: str, written: str) -> TokenUsage | None:
    if not isinstance(reported, Mapping):
        return None
    tokens_in, tokens_out = reported.get(read), reported.get(written)
    if not (isinstance(tokens_in, int) and isinstance(tokens_out, int)) or min(tokens_in, tokens_out) < 0:
        return None
    return TokenUsage(1, tokens_in, tokens_out)


def _model_name(model: Any) -> str:
    """The name of a model, else of its code."""
    owners = (model, getattr(model, "metadata", None), getattr(model, "bound", None))
    attributes = ("model_name", "model", "model_id", "__name__")
    names = (getattr(owner, attribute, None) for attribute in attributes for owner in owners)
    name = next((name for name in names if isinstance(name, str) and name not in ("", "unknown")), None)
    return "function" if name == "<lambda>" else name or type(model).__name__

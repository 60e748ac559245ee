"""Language models of other people, known by the methods they have. No framework is imported.

A model may raise, hang, or answer with anything at all. `resolve` gives one that does neither of the
first two: each question ends in a `Reply`, in time, and what went wrong stands in it.
"""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from remanence.errors import InvalidInput

if TYPE_CHECKING:
    from pydantic import BaseModel

ACCEPTED = "Give a LangChain chat model, a LlamaIndex LLM, or a function from a prompt to the text of the answer"
MAX_STUCK_THREADS = 4  # questions that may wait for a hung model at one time; each of them holds a thread
_QUIET = {"tags": ["nostream"]}  # LangGraph keeps the tokens of such a call out of an agent's stream


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a prompt: `fields` where the model kept to a schema, `text` where it wrote freely, or
    the `problem` there was. `late` is the problem of no answer in time: asking again would wait again."""

    fields: Mapping[str, Any] | None = None
    text: str = ""
    problem: str | None = None
    timed_out: bool = False


class LanguageModel(Protocol):
    """What every model here can do."""

    name: str

    def ask(self, prompt: str, schema: type[BaseModel] | None = None) -> Reply:
        """The answer, in the shape of `schema` if there is one and the model can keep to it."""
        ...


def resolve_llm(model: object, *, timeout: float | None = 60.0) -> LanguageModel:
    """The model that was meant, which answers within `timeout` seconds or is given up.

    >>> resolve_llm(lambda prompt: prompt.upper()).ask("hello").text
    'HELLO'
    >>> resolve_llm(lambda prompt: 1 / 0).ask("hello").problem
    'raised ZeroDivisionError: division by zero'
    >>> resolve_llm("gpt")
    Traceback (most recent call last):
        ...
    remanence.errors.InvalidInput: This cannot be asked anything: 'gpt' (str). Give a LangChain ...
    """
    if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
        raise InvalidInput(f"timeout={timeout!r} is not a number of seconds above 0. None waits for ever.")
    if isinstance(model, type):
        raise InvalidInput(f"The model is the class {model.__name__}, not one made of it. {ACCEPTED}.")
    if is_langchain(model):
        return WithTimeout(FromLangChain(model), timeout)
    if is_llamaindex(model):
        return WithTimeout(FromLlamaIndex(model), timeout)
    if inspect.iscoroutinefunction(model):
        raise InvalidInput(f"The model {model!r} is async; it is called from a thread. {ACCEPTED}.")
    if callable(model):
        return WithTimeout(FromFunction(model), timeout)
    raise InvalidInput(f"This cannot be asked anything: {model!r} ({type(model).__name__}). {ACCEPTED}.")


def is_langchain(model: object) -> bool:
    """Whether this is a chat model, an LLM, or another Runnable of LangChain."""
    return callable(getattr(model, "invoke", None)) and callable(getattr(model, "batch", None))


def is_llamaindex(model: object) -> bool:
    """Whether this is an LLM of LlamaIndex."""
    return callable(getattr(model, "complete", None)) and hasattr(model, "metadata")


class FromFunction:
    """A function from a prompt to the text of the answer."""

    def __init__(self, theirs: Any) -> None:
        self.theirs = theirs
        self.name = _name(theirs)

    def ask(self, prompt: str, schema: type[BaseModel] | None = None) -> Reply:
        """What it writes; it knows nothing of schemas."""
        return _reply(self.theirs(prompt))


class FromLangChain(FromFunction):
    """A LangChain chat model, or anything else with its `invoke`."""

    def ask(self, prompt: str, schema: type[BaseModel] | None = None) -> Reply:
        """What it answers through `with_structured_output`, where it can, else what it writes."""
        bound = None if schema is None else self._bound(schema)
        if bound is None:
            return _reply(self.theirs.invoke(prompt, config=_QUIET))
        answer = bound.invoke(prompt, config=_QUIET)
        if not (isinstance(answer, Mapping) and "raw" in answer):
            return _reply(answer)  # a model of somebody who left out `include_raw`
        parsed = answer.get("parsed")
        return _reply(_arguments(answer["raw"]) if parsed is None else parsed)

    def _bound(self, schema: type[BaseModel]) -> Any:
        """The model bound to the schema; None for the many that cannot be, who say so in different ways."""
        try:
            return self.theirs.with_structured_output(schema, include_raw=True)
        except (AttributeError, ImportError, NotImplementedError, TypeError, ValueError):
            return None


class FromLlamaIndex(FromFunction):
    """A LlamaIndex `LLM`."""

    def ask(self, prompt: str, schema: type[BaseModel] | None = None) -> Reply:
        """What it answers through `structured_predict`, where it can call functions, else what it writes.

        Where it cannot, `structured_predict` asks for JSON in text as well, but throws the text away
        when it is not perfect.
        """
        able = getattr(self.theirs.metadata, "is_function_calling_model", False) or getattr(
            self.theirs, "should_use_structured_outputs", False
        )
        if schema is None or not able:
            return _reply(self.theirs.complete(prompt))
        return _reply(self.theirs.as_structured_llm(schema).complete(prompt).raw)


class WithTimeout:
    """Another model, that is waited for so long and no longer, and never raises for what it did.

    A thread that hangs cannot be ended, only left behind. While as many as `MOST_STUCK` hang, nothing
    more is asked: a model that is down must not fill the machine with threads.

    >>> import time
    >>> WithTimeout(FromFunction(lambda prompt: time.sleep(2)), 0.01).ask("hello").problem
    'gave no answer in 0.01 seconds'
    """

    def __init__(self, inner: LanguageModel, timeout: float | None) -> None:
        self.inner = inner
        self.name = inner.name
        self.timeout = timeout
        self._lock = threading.Lock()
        self._stuck: list[threading.Thread] = []

    def ask(self, prompt: str, schema: type[BaseModel] | None = None) -> Reply:
        """The answer, or the problem."""
        if self.timeout is None:
            return self._asked(prompt, schema)
        with self._lock:
            self._stuck = [thread for thread in self._stuck if thread.is_alive()]
            if len(self._stuck) >= MAX_STUCK_THREADS:
                return Reply(problem=f"has {MAX_STUCK_THREADS} earlier questions unanswered", timed_out=True)
        answer: list[Reply] = []
        # A fresh thread has a fresh context: no callback of a running agent sees this call.
        thread = threading.Thread(
            target=lambda: answer.append(self._asked(prompt, schema)), name=f"asking {self.name}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:  # no thread to be had: too many, or the program is ending
            return Reply(problem=f"could not be asked: {error}")
        thread.join(self.timeout)
        if answer:
            return answer[0]
        if not thread.is_alive():
            return Reply(problem="ended its thread without an answer")
        with self._lock:
            self._stuck.append(thread)
        return Reply(problem=f"gave no answer in {self.timeout:g} seconds", timed_out=True)

    def _asked(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        try:
            return self.inner.ask(prompt, schema)
        except (Exception, SystemExit) as error:  # noqa: BLE001  -- the caller's code: anything may come out
            # One line and no more: what follows in such messages is often the prompt.
            first = next(iter(str(error).splitlines()), "")
            return Reply(problem=f"raised {type(error).__name__}: {first[:120]}".rstrip(": "))


def has_return_type(function: object, kind: type) -> bool:
    """Whether a function says, by its annotation, that it returns this kind of thing.

    >>> def shout(prompt: str) -> str: ...
    >>> has_return_type(shout, str), has_return_type(shout, int), has_return_type(len, str)
    (True, False, False)
    """
    try:
        said = inspect.signature(function).return_annotation  # type: ignore[arg-type]
    except (TypeError, ValueError):  # some built-in functions have none
        return False
    return said is kind or said == kind.__name__


def _reply(answer: Any) -> Reply:
    """An answer as a Reply: text, a message that has text, the fields of an object, or something else."""
    said = answer if isinstance(answer, str) else getattr(answer, "text", None)
    if isinstance(said, str):
        return Reply(text=str(said))
    if isinstance(answer, Mapping):
        return Reply(fields=answer)
    if callable(getattr(answer, "model_dump", None)):
        return Reply(fields=dict(answer))  # pydantic's: one level, the rest as it came
    return Reply(problem=f"answered with {'None' if answer is None else type(answer).__name__}, not with text")


def _arguments(message: Any) -> Any:
    """What a LangChain message that could not be parsed holds: its tool call, broken or not, else itself."""
    calls = [*(getattr(message, "tool_calls", None) or ()), *(getattr(message, "invalid_tool_calls", None) or ())]
    given = [call["args"] for call in calls if isinstance(call, Mapping) and call.get("args")]
    return given[0] if given else message


def _name(model: Any) -> str:
    """What a model calls itself, else what its code is called.

    >>> _name(print), _name(lambda prompt: prompt)
    ('print', 'function')
    """
    places = (model, getattr(model, "metadata", None), getattr(model, "bound", None))
    names = (getattr(place, at, None) for at in ("model_name", "model", "model_id", "__name__") for place in places)
    said = next((name for name in names if isinstance(name, str) and name not in ("", "unknown")), None)
    return "function" if said == "<lambda>" else said or type(model).__name__

"""Finds the extractor for what a caller passes: None, a language model, an extractor, or a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from typing import cast

from remanence.errors import InvalidInput
from remanence.models.llm_clients import has_return_type, is_langchain, is_llamaindex
from remanence.models.time_limit import LimitedExtractor
from remanence.ports import Extractor, ModelExtractor
from remanence.schema import SELF, Extraction
from remanence.text.named_entities.name_rules import find_question_names
from remanence.text.rule_extractor import RuleExtractor, speaker_name
from remanence.text.text import truncate

__all__ = ["SELF", "RuleExtractor", "find_question_names", "model_and_prompt", "resolve_extractor", "speaker_name"]

_WRAP = "A function from a prompt to text is a language model: wrap it as LLMExtractor(function)."


def resolve_extractor(extractor: object | None, timeout: float | None = None) -> Extractor:
    """The extractor for a value that a caller passed.

    None gives the rules. A LangChain chat model, a LlamaIndex LLM or the name of one finds facts. An object with
    `extract` is used as it is. A function goes from text to Extraction. A function from a prompt to text is a
    language model; the two look the same, so it must be wrapped: `LLMExtractor(function)`. The caller's own code may
    take `timeout` seconds for one call; a language model has a limit of its own.
    """
    found = _resolve(extractor)
    is_ours = type(found).__module__.startswith("remanence.") and not isinstance(found, _FunctionExtractor)
    if timeout is None or is_ours:
        return found
    return cast("Extractor", LimitedExtractor(found, timeout))


def model_and_prompt(extractor: Extractor) -> tuple[str | None, str | None]:
    """The names of the model and of the prompt version that an extractor uses, if it says so."""
    return (extractor.model, extractor.prompt) if isinstance(extractor, ModelExtractor) else (None, None)


def _resolve(extractor: object | None) -> Extractor:
    if extractor is None:
        return RuleExtractor()
    if isinstance(extractor, type):
        raise InvalidInput(f"extractor={extractor.__name__} is a class; pass an instance: {extractor.__name__}().")
    if isinstance(extractor, str) and ":" in extractor:
        from remanence.models.llm_extractor import LLMExtractor

        return LLMExtractor(extractor)
    if callable(getattr(extractor, "extract", None)):
        if not isinstance(extractor, Extractor):
            raise InvalidInput(f"extractor={extractor!r} has no 'name': see remanence.ports.Extractor.")
        return extractor
    if is_langchain(extractor) or is_llamaindex(extractor):
        from remanence.models.llm_extractor import LLMExtractor

        return LLMExtractor(extractor)
    if callable(extractor):
        return _FunctionExtractor(extractor)
    raise InvalidInput(
        f"extractor={extractor!r} is neither None (the rules), nor a LangChain chat model or a LlamaIndex "
        "LLM, nor an object with a method extract(text, *, now, speaker), nor a function from text to "
        "Extraction. Pass one of these."
    )


class _FunctionExtractor:
    def __init__(self, function: Callable[[str], Extraction]) -> None:
        name = getattr(function, "__name__", type(function).__name__)
        if has_return_type(function, str):
            raise InvalidInput(f"extractor={name} returns text, not an Extraction. {_WRAP}")
        if inspect.iscoroutinefunction(function):
            raise InvalidInput(f"extractor={name} is async; it is called from a thread. Pass a synchronous function.")
        self.name = f"function:{name}"
        self._function = function

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        """What the function finds; it gets neither the time nor the speaker."""
        result: object = self._function(text)
        if isinstance(result, Extraction):
            return result
        hint = f" {_WRAP}" if isinstance(result, str) else ""
        value = truncate(result, 60) if isinstance(result, str) else result
        raise InvalidInput(f"{self.name} returned {value!r}; it has to return an Extraction.{hint}")

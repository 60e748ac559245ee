"""Text to names, claims and times, and conversation to facts.

rules.py    what a space uses when it is given no extractor: no model, the same answer every time
llm.py      facts by a language model, with the rules behind it
prompts.py  everything that is ever said to such a model
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from typing import cast

from remanence.errors import InvalidInput
from remanence.language.rules.name_rules import find_question_names
from remanence.language.rules.rule_extractor import RuleExtractor, speaker_name
from remanence.language.text import truncate
from remanence.models.llm_clients import has_return_type, is_langchain, is_llamaindex
from remanence.ports import Extractor
from remanence.schema import SELF, Extraction

__all__ = ["SELF", "RuleExtractor", "find_question_names", "resolve_extractor", "speaker_name"]

_WRAP = "A function from a prompt to text is a language model: wrap it as LLMExtractor(function)."


def resolve_extractor(extractor: object | None) -> Extractor:
    """The extractor that was meant.

    None is the rules. A LangChain chat model or a LlamaIndex LLM finds facts for `remember`. An object
    with `extract` is used as it is. A plain function goes from text to Extraction; one that goes from a
    prompt to text is a language model, and looks just the same, so it is wrapped: `LLMExtractor(function)`.

    >>> resolve_extractor(None).name
    'rules'
    >>> resolve_extractor(lambda text: Extraction()).name
    'function:<lambda>'
    >>> def ask_gpt(prompt: str) -> str: ...
    >>> resolve_extractor(ask_gpt)
    Traceback (most recent call last):
        ...
    remanence.errors.InvalidInput: extractor=ask_gpt returns text, not an Extraction. A function from ...
    """
    if extractor is None:
        return RuleExtractor()
    if isinstance(extractor, type):
        raise InvalidInput(f"extractor={extractor.__name__} is a class; pass an instance: {extractor.__name__}().")
    if callable(getattr(extractor, "extract", None)):
        return cast("Extractor", extractor)
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
    """A plain function in an extractor's clothes."""

    def __init__(self, function: Callable[[str], Extraction]) -> None:
        called = getattr(function, "__name__", type(function).__name__)
        if has_return_type(function, str):
            raise InvalidInput(f"extractor={called} returns text, not an Extraction. {_WRAP}")
        if inspect.iscoroutinefunction(function):
            raise InvalidInput(f"extractor={called} is async; it is called from a thread. Pass a plain one.")
        self.name = f"function:{called}"
        self._function = function

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        """What the function found; it is told neither the time nor the speaker."""
        found: object = self._function(text)
        if isinstance(found, Extraction):
            return found
        hint = f" {_WRAP}" if isinstance(found, str) else ""
        shown = f"{truncate(found, 60)!r}" if isinstance(found, str) else f"{found!r}"
        raise InvalidInput(f"{self.name} returned {shown}; it has to return an Extraction.{hint}")

"""Text to names, claims and times. `RuleExtractor` is what a space uses when it is given none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import cast

from remanence.errors import InvalidInput
from remanence.extractors.names import names_in
from remanence.extractors.rules import RuleExtractor, speaker_name
from remanence.model import SELF, Extraction
from remanence.ports import Extractor

__all__ = ["SELF", "RuleExtractor", "names_in", "resolve", "speaker_name"]


def resolve(extractor: object | None) -> Extractor:
    """The extractor that was meant: None is the rules, a function from text to Extraction will do.

    >>> resolve(None).name
    'rules'
    >>> resolve(lambda text: Extraction()).name
    'function:<lambda>'
    """
    if extractor is None:
        return RuleExtractor()
    if isinstance(extractor, type):
        raise InvalidInput(
            f"extractor={extractor.__name__} is a class; pass an instance: {extractor.__name__}()."
        )
    if callable(getattr(extractor, "extract", None)):
        return cast("Extractor", extractor)
    if callable(extractor):
        return _FunctionExtractor(extractor)
    raise InvalidInput(
        f"extractor={extractor!r} is neither None (the rules), nor an object with a method "
        "extract(text, *, now, speaker), nor a function from text to Extraction. Pass one of these."
    )


class _FunctionExtractor:
    """A plain function in an extractor's clothes."""

    def __init__(self, function: Callable[[str], Extraction]) -> None:
        self.name = f"function:{getattr(function, '__name__', type(function).__name__)}"
        self._function = function

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        """What the function found; it is told neither the time nor the speaker."""
        found = self._function(text)
        if not isinstance(found, Extraction):
            raise InvalidInput(f"{self.name} returned {found!r}; it has to return an Extraction.")
        return found

"""Several texts as one, with every sentence once and none lost."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remanence.text import normal_text, sentences_of, tokens

if TYPE_CHECKING:
    from remanence.ports import Extractor

log = logging.getLogger(__name__)

_CLOSED = re.compile(r"[.!?…。！？:;][\"'”’)\]」』]*$")
NEGATED = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|without|cannot|stopped|quit)\b|n['’]t\b", re.IGNORECASE
)
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
PATIENCE = 2
_COVERED = 0.8
_KNOWN = 0.6
"""How many of the words that a model writes must be words of the memories, at least."""
_LONGER = 1.2


def merged(texts: Sequence[str]) -> str:
    """All of these texts, in this order, each sentence once.

    >>> merged(["Alice likes tea. She is from Porto.", "Alice likes  tea", "Bob likes tea"])
    'Alice likes tea. She is from Porto. Bob likes tea.'
    """
    kept: dict[str, str] = {}
    for sentence in (sentence for text in texts for sentence in sentences_of(text)):
        kept.setdefault(form(sentence), sentence)
    return _spoken(kept.values())


def form(sentence: str) -> str:
    """What two writings of one sentence have in common.

    >>> form("Alice likes  Tea.") == form("alice likes tea")
    True
    """
    return normal_text(sentence).rstrip(". ")


@dataclass(frozen=True, slots=True)
class Wording:
    """One text in the place of several: who wrote it, with which model and prompt, and where a model was
    asked and its text could not be used, why."""

    text: str
    by: str = "rules"
    model: str | None = None
    prompt: str | None = None
    problem: str | None = None

    @property
    def writer(self) -> str:
        """Who wrote it, in a few words."""
        told = ", ".join(part for part in (self.model, self.prompt and f"prompt {self.prompt}") if part)
        return f"{self.by} ({told})" if told else self.by


class Writer:
    """Makes one text of several: by the extractor's `merge(texts)`, where it has one, and else by rule.

    What it writes is held against the sources. Where it fails, or a name or number is lost or made up, the
    rules write; where a sentence is, that is put behind. After two failures in a row it is left alone.
    """

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor
        self._failed = 0

    def write(self, texts: Sequence[str], names: Iterable[str] = ()) -> Wording:
        """These texts as one; `names` are the names in them."""
        by_rule = merged(texts)
        if not callable(getattr(self._extractor, "merge", None)):
            return Wording(by_rule)
        answer, problem = self._asked(texts)
        if problem is None:
            problem = _unsound(answer, texts, names, longest=len(by_rule))
        self._failed = 0 if problem is None else self._failed + 1
        if problem is not None:
            log.warning("%s %s, so the rules merge %d memories", self._extractor.name, problem, len(texts))
            return Wording(by_rule, problem=problem)
        said = set(tokens(answer))
        wanted = (sentence for text in texts for sentence in sentences_of(text))
        lacking = [sentence for sentence in wanted if not _is_covered(sentence, said)]
        return Wording(
            merged([answer, *lacking]),
            self._extractor.name,
            getattr(self._extractor, "model", None),
            getattr(self._extractor, "prompt", None),
        )

    def _asked(self, texts: Sequence[str]) -> tuple[str, str | None]:
        if self._failed >= PATIENCE:
            return "", "was not asked again"
        try:
            answer = self._extractor.merge(list(texts))  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001  -- it is the caller's code, and anything may come out of it
            return "", f"raised {type(error).__name__}"
        if not isinstance(answer, str) or not answer.strip():
            return "", "wrote nothing that could be used"
        return answer.strip(), None


def _unsound(answer: str, texts: Sequence[str], names: Iterable[str], longest: int) -> str | None:
    """Why what was written cannot stand in the place of these texts; None if it can."""
    sources = "\n".join(texts)
    if len(answer) > _LONGER * longest:
        return f"wrote {len(answer)} characters in the place of {longest}"
    said = normal_text(answer)
    if lost := [name for name in names if normal_text(name) not in said]:
        return f"left out {lost[0]!r}"
    before, after = set(NUMBER.findall(sources)), set(NUMBER.findall(answer))
    if before != after:
        return f"{'left out' if before - after else 'made up'} the number {min(before ^ after)}"
    if bool(NEGATED.search(sources)) != bool(NEGATED.search(answer)):
        return "said no where the memories do not, or the other way round"
    known, words = set(tokens(sources)), set(tokens(answer))
    if len(words & known) < _KNOWN * len(words):
        return "wrote about something else"
    return None


def _is_covered(sentence: str, said: set[str]) -> bool:
    """Whether nearly every word of a sentence stands in what was said."""
    words = set(tokens(sentence))
    return bool(words) and len(words & said) >= _COVERED * len(words)


def _spoken(pieces: Iterable[str]) -> str:
    return " ".join(piece if _CLOSED.search(piece) else f"{piece}." for piece in pieces)

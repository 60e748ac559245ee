"""Several texts as one, with every sentence once and none lost."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remanence.language.rules.name_rules import find_names
from remanence.language.text import normalize_text, split_sentences, tokens

if TYPE_CHECKING:
    from remanence.ports import Extractor

log = logging.getLogger(__name__)

_CLOSED = re.compile(r"[.!?…。！？:;][\"'”’)\]」』]*$")
NEGATION_PATTERN = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|without|cannot|stopped|quit)\b|n['’]t\b", re.IGNORECASE
)
_CLAUSES = re.compile(r"[,;:]|\b(?:and|but|while|whereas|though|although)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
NUMBER_PATTERN = re.compile(r"\d+(?:[.,:]\d+)*")
MAX_FAILURES = 2
_COVERED = 0.8
_KNOWN = 0.6
"""How many of the words that a model writes must be words of the memories, at least."""
_LONGER = 1.2


def merge_sentences(texts: Sequence[str]) -> str:
    """All of these texts, in this order, each sentence once.

    >>> merge_sentences(["Alice likes tea. She is from Porto.", "Alice likes  tea", "Bob likes tea"])
    'Alice likes tea. She is from Porto. Bob likes tea.'
    """
    kept: dict[str, str] = {}
    for sentence in (sentence for text in texts for sentence in split_sentences(text)):
        kept.setdefault(sentence_key(sentence), sentence)
    return _spoken(kept.values())


def sentence_key(sentence: str) -> str:
    """What two writings of one sentence have in common.

    >>> sentence_key("Alice likes  Tea.") == sentence_key("alice likes tea")
    True
    """
    return normalize_text(sentence).rstrip(". ")


@dataclass(frozen=True, slots=True)
class Wording:
    """One text in the place of several: who wrote it, with which model and prompt, and where a model was
    asked and its text could not be used, why."""

    text: str
    author: str = "rules"
    model: str | None = None
    prompt: str | None = None
    problem: str | None = None

    @property
    def author_label(self) -> str:
        """Who wrote it, in a few words."""
        told = ", ".join(part for part in (self.model, self.prompt and f"prompt {self.prompt}") if part)
        return f"{self.author} ({told})" if told else self.author


class TextMerger:
    """Makes one text of several: by the extractor's `merge(texts)`, where it has one, and else by rule.

    What it writes is held against the sources. Where it fails, a name or number is lost or made up, or
    something is denied that was not, the rules write; where a sentence is lost, that is put behind. After
    two failures in a row it is left alone.
    """

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor
        self._failed = 0

    def merge(self, texts: Sequence[str], names: Iterable[str] = ()) -> Wording:
        """These texts as one; `names` are the names in them."""
        by_rule = merge_sentences(texts)
        if not callable(getattr(self._extractor, "merge", None)):
            return Wording(by_rule)
        if self._failed >= MAX_FAILURES:
            return Wording(by_rule, problem="was not asked again")
        answer, problem = self._asked(texts)
        if problem is None:
            problem = _unsound(answer, texts, names, by_rule)
        self._failed = 0 if problem is None else self._failed + 1
        if problem is not None:
            more = " It is not asked again." if self._failed == MAX_FAILURES else ""
            log.warning("%s %s, so the rules merge %d memories.%s", self._extractor.name, problem, len(texts), more)
            return Wording(by_rule, problem=problem)
        said = set(tokens(answer))
        wanted = (sentence for text in texts for sentence in split_sentences(text))
        lacking = [sentence for sentence in wanted if not _is_covered(sentence, said)]
        return Wording(
            merge_sentences([answer, *lacking]),
            self._extractor.name,
            getattr(self._extractor, "model", None),
            getattr(self._extractor, "prompt", None),
        )

    def _asked(self, texts: Sequence[str]) -> tuple[str, str | None]:
        try:
            answer = self._extractor.merge(list(texts))  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001  -- it is the caller's code, and anything may come out of it
            return "", f"raised {type(error).__name__}"
        if not isinstance(answer, str) or not answer.strip():
            return "", "wrote nothing that could be used"
        return answer.strip(), None


def contains_name(name: str, text: str) -> bool:
    """Whether a name stands in a text, as words of its own.

    >>> pairs = ("Al", "Al's dog"), ("Al", "She also has a dog."), ("田中", "田中さんの犬")
    >>> tuple(contains_name(name, text) for name, text in pairs)
    (True, False, True)
    """
    wanted, said = normalize_text(name), normalize_text(text)
    if wanted == wanted.upper():  # a script without capitals, which may do without spaces too
        return wanted in said
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", said) is not None


def _unsound(answer: str, texts: Sequence[str], names: Iterable[str], by_rule: str) -> str | None:
    """Why what was written cannot stand in the place of these texts; None if it can."""
    sources = "\n".join(texts)
    if len(answer) > _LONGER * len(by_rule):
        return f"wrote {len(answer)} characters in the place of {len(by_rule)}"
    if lost := [name for name in names if not contains_name(name, answer)]:
        return f"left out {lost[0]!r}"
    said = _words(sources)
    if strange := [name.text for name in find_names(answer) if not _words(name.text) <= said]:
        return f"made up the name {strange[0]!r}"
    before, after = set(NUMBER_PATTERN.findall(sources)), set(NUMBER_PATTERN.findall(answer))
    if before != after:
        return f"{'left out' if before - after else 'made up'} the number {min(before ^ after)}"
    if _denies_otherwise(answer, texts, by_rule):
        return "said no where the memories do not, or the other way round"
    known, words = set(tokens(sources)), set(tokens(answer))
    if len(words & known) < _KNOWN * len(words):
        return "wrote about something else"
    return None


def _denies_otherwise(answer: str, texts: Sequence[str], by_rule: str) -> bool:
    """Whether the answer denies less than one of the texts, more than all of them, or something else."""
    least = max(len(NEGATION_PATTERN.findall(text)) for text in texts)
    if not least <= len(NEGATION_PATTERN.findall(answer)) <= len(NEGATION_PATTERN.findall(by_rule)):
        return True
    stated, denied = _stated_and_denied("\n".join(texts))
    now_stated, now_denied = _stated_and_denied(answer)
    return bool((now_stated & denied) - stated or (now_denied & stated) - denied)


def _stated_and_denied(text: str) -> tuple[set[str], set[str]]:
    """The words of a text that stand in clauses without a denial, and those in clauses with one."""
    clauses = [clause for sentence in split_sentences(text) for clause in _CLAUSES.split(sentence)]
    denials = [clause for clause in clauses if NEGATION_PATTERN.search(clause)]
    stated = {word for clause in clauses if clause not in denials for word in tokens(clause)}
    return stated, {word for clause in denials for word in tokens(clause)}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(normalize_text(text)))


def _is_covered(sentence: str, said: set[str]) -> bool:
    """Whether nearly every word of a sentence stands in what was said."""
    words = set(tokens(sentence))
    return bool(words) and len(words & said) >= _COVERED * len(words)


def _spoken(pieces: Iterable[str]) -> str:
    return " ".join(piece if _CLOSED.search(piece) else f"{piece}." for piece in pieces)

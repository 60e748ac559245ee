"""One text in place of several: each sentence once, and no sentence lost."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from remanence.models.extractors import model_and_prompt
from remanence.ports import Extractor, MergingExtractor
from remanence.text.named_entities.name_rules import find_names
from remanence.text.text import normalize_text, split_sentences, tokens

log = logging.getLogger(__name__)

NEGATION_PATTERN = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|without|cannot|stopped|quit)\b|n['’]t\b", re.IGNORECASE
)
NUMBER_PATTERN = re.compile(r"\d+(?:[.,:]\d+)*")
_SENTENCE_END = re.compile(r"[.!?…。！？:;][\"'”’)\]」』]*$")
_CLAUSE_BREAK = re.compile(r"[,;:]|\b(?:and|but|while|whereas|though|although)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
MAX_FAILURES = 2
"""How many calls of a language model may fail before rules merge the rest."""
_MIN_COVERED = 0.8
"""A sentence is covered by a text that has at least this share of its words."""
_MIN_KNOWN = 0.6
"""At least this share of the words that a model writes must be words of the memories."""
_MAX_LENGTH = 1.2
"""A model may write at most this many times the length of the text made by rule."""


def merge_sentences(texts: Sequence[str]) -> str:
    """All of these texts, in this order, each sentence once."""
    sentences: dict[str, str] = {}
    for sentence in _sentences(texts):
        sentences.setdefault(sentence_key(sentence), sentence)
    return " ".join(
        sentence_text if _SENTENCE_END.search(sentence_text) else f"{sentence_text}."
        for sentence_text in sentences.values()
    )


def sentence_key(sentence: str) -> str:
    """A form that is the same for two spellings of one sentence."""
    return normalize_text(sentence).rstrip(". ")


@dataclass(frozen=True, slots=True)
class MergedText:
    """One text in place of several: its author, with model and prompt. `problem` says why the text of a
    model was not used."""

    text: str
    author: str = "rules"
    model: str | None = None
    prompt: str | None = None
    problem: str | None = None

    @property
    def author_label(self) -> str:
        details = ", ".join(part for part in (self.model, self.prompt and f"prompt {self.prompt}") if part)
        return f"{self.author} ({details})" if details else self.author


class TextMerger:
    """Merges texts with the extractor's `merge(texts)`, where it has one, and otherwise by rule.

    The result of an extractor is compared with the sources. If it fails, loses or invents a name or a number,
    or changes a negation, the rules write instead. A lost sentence is appended. After two failures in a row
    the extractor is not called again.
    """

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor
        self._failures = 0

    def merge(self, texts: Sequence[str], names: Iterable[str] = ()) -> MergedText:
        """These texts as one; `names` are the names in them."""
        by_rule = merge_sentences(texts)
        if not isinstance(self._extractor, MergingExtractor):
            return MergedText(by_rule)
        if self._failures >= MAX_FAILURES:
            return MergedText(by_rule, problem="was not called again")
        written, problem = _write(self._extractor, texts)
        problem = problem or _problem(written, texts, names, by_rule)
        if problem is not None:
            self._failures += 1
            more = " It is not called again." if self._failures == MAX_FAILURES else ""
            log.warning("%s %s, so the rules merge %d memories.%s", self._extractor.name, problem, len(texts), more)
            return MergedText(by_rule, problem=problem)
        self._failures = 0
        missing = [sentence for sentence in _sentences(texts) if not _is_covered(sentence, written)]
        return MergedText(
            merge_sentences([written, *missing]), self._extractor.name, *model_and_prompt(self._extractor)
        )


def _write(writer: MergingExtractor, texts: Sequence[str]) -> tuple[str, str | None]:
    try:
        written = writer.merge(list(texts))
    except Exception as error:  # noqa: BLE001  -- the caller's code may raise anything
        return "", f"raised {type(error).__name__}"
    if not isinstance(written, str) or not written.strip():
        return "", "returned no usable text"
    return written.strip(), None


def contains_name(name: str, text: str) -> bool:
    """Whether a text has a name as separate words."""
    name, text = normalize_text(name), normalize_text(text)
    if name == name.upper():  # a script without capitals may have no spaces either
        return name in text
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _problem(written: str, texts: Sequence[str], names: Iterable[str], by_rule: str) -> str | None:
    """Why a text cannot replace these texts; None if it can."""
    if len(written) > _MAX_LENGTH * len(by_rule):
        return f"wrote {len(written)} characters in place of {len(by_rule)}"
    if lost := [name for name in names if not contains_name(name, written)]:
        return f"left out {lost[0]!r}"
    sources = "\n".join(texts)
    known = _words(sources)
    if invented := [name.text for name in find_names(written) if not _words(name.text) <= known]:
        return f"made up the name {invented[0]!r}"
    before, after = set(NUMBER_PATTERN.findall(sources)), set(NUMBER_PATTERN.findall(written))
    if before != after:
        return f"{'left out' if before - after else 'made up'} the number {min(before ^ after)}"
    if _changes_negation(written, texts, by_rule):
        return "negated something that the memories do not, or the other way round"
    words = set(tokens(written))
    if len(words & set(tokens(sources))) < _MIN_KNOWN * len(words):
        return "wrote about something else"
    return None


def _changes_negation(written: str, texts: Sequence[str], by_rule: str) -> bool:
    """Whether a text has fewer negations than one of the sources, more than all of them, or others."""
    minimum = max(len(NEGATION_PATTERN.findall(text)) for text in texts)
    if not minimum <= len(NEGATION_PATTERN.findall(written)) <= len(NEGATION_PATTERN.findall(by_rule)):
        return True
    affirmed, negated = _affirmed_and_negated("\n".join(texts))
    affirmed_now, negated_now = _affirmed_and_negated(written)
    return bool((affirmed_now & negated) - affirmed or (negated_now & affirmed) - negated)


def _affirmed_and_negated(text: str) -> tuple[set[str], set[str]]:
    """The words of the clauses without a negation, and of those with one."""
    affirmed: set[str] = set()
    negated: set[str] = set()
    for sentence in split_sentences(text):
        for clause in _CLAUSE_BREAK.split(sentence):
            (negated if NEGATION_PATTERN.search(clause) else affirmed).update(tokens(clause))
    return affirmed, negated


def _words(text: str) -> set[str]:
    return set(_WORD.findall(normalize_text(text)))


def _sentences(texts: Iterable[str]) -> Iterator[str]:
    return (sentence for text in texts for sentence in split_sentences(text))


def _is_covered(sentence: str, text: str) -> bool:
    needed = set(tokens(sentence))
    return bool(needed) and len(needed.intersection(tokens(text))) >= _MIN_COVERED * len(needed)

"""One text in place of several: each sentence once, and no sentence lost. A language model may word it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from remanence.models.extractors import model_and_prompt
from remanence.ports import Extractor, MergingExtractor
from remanence.text.named_entities.name_rules import find_names
from remanence.text.repetition import NEGATION_PATTERN
from remanence.text.text import normalize_text, split_sentences, tokens

log = logging.getLogger(__name__)

NUMBER_PATTERN = re.compile(r"\d+(?:[.,:]\d+)*")
_SENTENCE_END = re.compile(r"[.!?…。！？:;][\"'”’)\]」』]*$")
_AROUND_SENTENCE = " .!…。\"'“”„‘’«»「」『』"
"""Quotes and marks that say nothing of what a sentence tells."""
_CLAUSE_BREAK = re.compile(r"[,;:]|\b(?:and|but|while|whereas|though|although)\b", re.IGNORECASE)
MAX_FAILURES = 2


def merge_sentences(texts: Sequence[str]) -> str:
    """All of these texts, in this order, each sentence once."""
    sentences: dict[str, str] = {}
    for sentence in _sentences(texts):
        sentences.setdefault(sentence_key(sentence), sentence)
    return " ".join(said if _SENTENCE_END.search(said) else f"{said}." for said in sentences.values())


def sentence_key(sentence: str) -> str:
    """A form that is the same for two spellings of one sentence: in quotes or not, with whatever mark at its end or
    none. A question is not the statement with the same words.

    >>> sentence_key("“Ana rows!”") == sentence_key("Ana rows."), sentence_key("Ana rows?") == sentence_key("Ana rows.")
    (True, False)
    """
    words = normalize_text(sentence).strip(_AROUND_SENTENCE)
    return words.rstrip(_AROUND_SENTENCE + "?") + "?" if words.endswith("?") else words


class MergedText(NamedTuple):
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

    The rules write if the extractor fails, loses or invents a name or a number, or changes a negation. A lost sentence
    is appended. After `MAX_FAILURES` failures in a row the extractor is not called again.
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
        missing = [sentence for sentence in _sentences(texts) if not _share_in(sentence, written) >= 0.8]
        text = merge_sentences([written, *missing])
        return MergedText(text, self._extractor.name, *model_and_prompt(self._extractor))


def contains_name(name: str, text: str) -> bool:
    """Whether a text has a name as separate words."""
    name, text = normalize_text(name), normalize_text(text)
    if name == name.upper():  # a script without capitals may have no spaces either
        return name in text
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _write(writer: MergingExtractor, texts: Sequence[str]) -> tuple[str, str | None]:
    """What an extractor wrote, or what was wrong with it."""
    try:
        written = writer.merge(list(texts))
    except Exception as error:  # noqa: BLE001  -- the caller's code may raise anything
        return "", f"raised {type(error).__name__}"
    if not isinstance(written, str) or not written.strip():
        return "", "returned no usable text"
    return written.strip(), None


def _problem(written: str, texts: Sequence[str], names: Iterable[str], by_rule: str) -> str | None:
    """Why a text cannot replace these texts; None if it can."""
    sources = "\n".join(texts)
    if len(written) > 1.2 * len(by_rule):
        return f"wrote {len(written)} characters in place of {len(by_rule)}"
    if lost := [name for name in names if not contains_name(name, written)]:
        return f"left out {lost[0]!r}"
    known = set(re.findall(r"\w+", normalize_text(sources)))
    words_of_names = {name.text: set(re.findall(r"\w+", normalize_text(name.text))) for name in find_names(written)}
    if invented := [name for name, words in words_of_names.items() if not words <= known]:
        return f"made up the name {invented[0]!r}"
    before, after = set(NUMBER_PATTERN.findall(sources)), set(NUMBER_PATTERN.findall(written))
    if before != after:
        return f"{'left out' if before - after else 'made up'} the number {min(before ^ after)}"
    if _changes_negation(written, texts, by_rule):
        return "negated something that the memories do not, or the other way round"
    return "wrote about something else" if _share_in(written, sources) < 0.6 else None


def _changes_negation(written: str, texts: Sequence[str], by_rule: str) -> bool:
    """Whether a text has fewer negations than one of the sources, more than all of them, or others."""
    fewest = max(len(NEGATION_PATTERN.findall(text)) for text in texts)
    if not fewest <= len(NEGATION_PATTERN.findall(written)) <= len(NEGATION_PATTERN.findall(by_rule)):
        return True
    affirmed, negated = _affirmed_and_negated(texts)
    affirmed_now, negated_now = _affirmed_and_negated([written])
    return bool((affirmed_now & negated) - affirmed or (negated_now & affirmed) - negated)


def _affirmed_and_negated(texts: Iterable[str]) -> tuple[set[str], set[str]]:
    """The words of the clauses without a negation, and of those with one."""
    affirmed, negated = set[str](), set[str]()
    for clause in (clause for sentence in _sentences(texts) for clause in _CLAUSE_BREAK.split(sentence)):
        (negated if NEGATION_PATTERN.search(clause) else affirmed).update(tokens(clause))
    return affirmed, negated


def _sentences(texts: Iterable[str]) -> Iterator[str]:
    return (sentence for text in texts for sentence in split_sentences(text))


def _share_in(text: str, other: str) -> float:
    """The share of the words of a text that another has, too; 0 without words."""
    words = set(tokens(text))
    return len(words.intersection(tokens(other))) / len(words) if words else 0.0

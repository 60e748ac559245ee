"""From ranked rows to hits: the memory, its evidence, and what superseded or contradicts it.

The shares of the evidence add up to the score. The shares of the signals are adjusted by age and importance, as the
score is; the difference that time made to a score is the share of that reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from remanence.core.index import Index
from remanence.language.lexicon.languages import language_of
from remanence.language.text import strip_accents, tokens
from remanence.read.fusion import FusedRanking, adjustments, future_turns
from remanence.read.supersession import current_mask, disagreeing_rows, is_isolated, replacement_row
from remanence.schema import Disagreement, Evidence, Hit, Snapshot, format_moment

_WORD = re.compile(r"\w+")
_QUOTED_WORD = re.compile(r"(?<!\w)'(\w+)'")
_STEM_BEGINNING = 3
"""Letters that a word and its stem have in common, at most."""
_ROUNDING = 1e-9
_SMALL_MOVE = 0.01
"""A smaller difference only breaks ties, and is not listed as a reason."""
_MOVED_UP, _MOVED_DOWN = "from the time asked about", "ranked after what fits the time"


def build_hits(index: Index, fused: FusedRanking, snapshot: Snapshot, question: str) -> tuple[Hit, ...]:
    rows = fused.rows.tolist()
    factors = adjustments(index, fused.rows, snapshot.now).tolist()
    unexpired = index.catalog.current(fused.rows, snapshot.position, snapshot.now)
    connected = np.array([not is_isolated(index, row) for row in rows], np.bool_)
    unexpired[connected] &= current_mask(index, fused.rows[connected], snapshot)
    find_successor = [replacement_row if each else _later_version for each in connected.tolist()]
    successors = [find(index, row, snapshot) for row, find in zip(rows, find_successor, strict=True)]
    against = {row: disagreeing_rows(index, row, snapshot) for row in fused.rows[connected].tolist()}
    # All memories in one query: those of the hits, and those that they name.
    named = [other for others in against.values() for other, _, _ in others]
    needed = list(dict.fromkeys([*rows, *(row for row in successors if row is not None), *named]))
    memories = dict(zip(needed, index.memories(needed), strict=True))
    future = set(fused.rows[future_turns(index, fused.rows, snapshot.now)].tolist())
    hits = []
    for row, score, given, is_current, factor, successor in zip(
        rows, fused.scores.tolist(), fused.evidence(), unexpired.tolist(), factors, successors, strict=True
    ):
        memory = memories[row]
        evidence = [
            Evidence(
                each.signal, each.rank, factor * each.share, each.raw, _with_whole_words(each, memory.text, question)
            )
            for each in given
        ]
        if row in future:
            evidence.append(Evidence("time", 1, 0.0, 0.0, f"said only after {format_moment(snapshot.now)}"))
        evidence = _add_up(evidence, fused.notes.get(row), score)
        superseded_by = None if successor is None else memories[successor]
        others = tuple([Disagreement(kind, topic, memories[other]) for other, kind, topic in against.get(row, ())])
        hits.append(Hit(memory, score, tuple(evidence), is_current and superseded_by is None, superseded_by, others))
    return tuple(hits)


def _later_version(index: Index, row: int, snapshot: Snapshot) -> int | None:
    return index.catalog.successor(row, snapshot.position)


def _add_up(evidence: list[Evidence], note: Evidence | None, score: float) -> list[Evidence]:
    """The evidence, with the reason why time gave the row another score than the signals, if it did."""
    total = sum(each.share for each in evidence)
    if note is None and abs(score - total) < _ROUNDING:
        return evidence
    if note is not None:
        return [*evidence, replace(note, share=score - total)]
    if total and abs(score - total) < _SMALL_MOVE:
        return [replace(each, share=each.share * score / total) for each in evidence]
    return [*evidence, Evidence("time", 1, score - total, 0.0, _MOVED_UP if score > total else _MOVED_DOWN)]


def _with_whole_words(evidence: Evidence, text: str, question: str) -> str:
    """A note with the words as the memory has them, or else as the question has them: words are compared by stems."""
    if evidence.signal != "words":
        return evidence.note
    return _QUOTED_WORD.sub(lambda found: f"'{_whole_word(found[1], (text, question))}'", evidence.note)


def _whole_word(stem: str, texts: Sequence[str]) -> str:
    """The first word with this stem, in English or in the language of its text."""
    beginning = stem[:_STEM_BEGINNING]
    for text in texts:
        word: str
        for word in _WORD.findall(text):
            start = word[:_STEM_BEGINNING]
            if (start if start.isascii() else strip_accents(start)).lower() == beginning and (
                tokens(word) == [stem] or stem in tokens(word, language_of(text))
            ):
                return word
    return stem

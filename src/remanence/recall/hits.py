"""Step of the read path: from ranked rows to hits, with evidence, successors and contradicting memories.

The shares of the evidence add up to the score. The shares of the signals are adjusted by age, importance and trust,
like the score. If time changed the score, the difference is the share of the reason "time" or "supersession".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from remanence.index.index import Index
from remanence.index.journal import ExtractionRecord
from remanence.models.readers import ANSWER_WORDS, needs_turn_before
from remanence.recall.fusion import FusedRanking, RecallContext, adjustments, future_turns
from remanence.recall.validity.superseded import (
    disagreeing_rows,
    facts_are_over,
    isolated_mask,
    replacement_row,
    row_replacing_facts,
    unsuperseded_mask,
)
from remanence.schema import RULES, SELF, Disagreement, Evidence, Hit, Memory, format_moment
from remanence.text.lexicon.languages import language_of
from remanence.text.text import last_words, strip_accents, tokens

_WORD = re.compile(r"\w+")
_QUOTED_WORD = re.compile(r"(?<!\w)'(\w+)'")
_STEM_BEGINNING = 3
"""Letters that a word and its stem have in common at the beginning, at most."""
_ROUNDING = 1e-9
"""By how much a score may differ from the sum of its reasons."""
_SMALL_MOVE = 0.01
"""The difference of scores below which a move only breaks ties, and is not listed as a reason."""
_MOVED_UP = "from the time asked about"
_MOVED_DOWN = "ranked after what fits the time"


def build_hits(context: RecallContext, ranked: FusedRanking) -> tuple[Hit, ...]:
    """A hit for each row of the ranking."""
    index, snapshot = context.index, context.snapshot
    rows = ranked.rows.tolist()
    connected = ~isolated_mask(index, ranked.rows)
    current = index.catalog.current_mask(ranked.rows, snapshot.position, snapshot.now)
    current[connected] &= unsuperseded_mask(index, ranked.rows[connected], snapshot)
    current &= ~index.catalog.ended_mask(ranked.rows, snapshot.now)
    successors = [
        replacement_row(index, row, snapshot) or row_replacing_facts(index, row, snapshot)
        if is_connected
        else index.catalog.successor(row, snapshot.position)
        for row, is_connected in zip(rows, connected.tolist(), strict=True)
    ]
    successors = [row if row is None else _said_by_people(index, row, snapshot.position) for row in successors]
    for place in np.flatnonzero(connected & current).tolist():
        current[place] = not facts_are_over(index, rows[place], snapshot)
    disagreements = {row: disagreeing_rows(index, row, snapshot) for row in ranked.rows[connected].tolist()}
    # The memories of the hits and of the other rows that they name, in one query.
    other_rows = [other for others in disagreements.values() for other, _, _ in others]
    needed = list(dict.fromkeys([*rows, *(row for row in successors if row is not None), *other_rows]))
    memories = dict(zip(needed, index.memories(needed), strict=True))
    evidence = _evidence(context, ranked, [memories[row] for row in rows])
    return tuple(
        Hit(
            memories[row],
            score,
            reasons,
            is_current and successor is None,
            None if successor is None else memories[successor],
            tuple(Disagreement(kind, topic, memories[other]) for other, kind, topic in disagreements.get(row, ())),
            **(_origin(context, row) if is_connected else {}),
            context=turn_before,
        )
        for row, score, reasons, is_current, successor, is_connected, turn_before in zip(
            *(rows, ranked.scores.tolist(), evidence, current.tolist(), successors, connected.tolist()),
            turns_before(index, rows, snapshot.position),
            strict=True,
        )
    )


def split_rules(hits: Sequence[Hit]) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
    """The hits without the facts that an earlier release wrote by rule from the words of another hit; and these facts.
    They say what the words say, so that a reader need not choose between the two."""
    found = {hit.memory.id for hit in hits}
    by_rules = tuple(hit for hit in hits if hit.by_rules and not found.isdisjoint(hit.found_in))
    left_out = {hit.memory.id for hit in by_rules}
    return tuple(hit for hit in hits if hit.memory.id not in left_out), by_rules


def insert_rules(hits: Sequence[Hit], by_rules: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits with each fact that rules wrote below the words in which it was found. It holds if they do."""
    ordered = list(hits)
    for hit in reversed(by_rules):
        places = [place for place, other in enumerate(ordered) if other.memory.id in hit.found_in]
        words = ordered[max(places)]
        reason = Evidence("rules", 1, words.score - hit.score, 0.0, "written by rule: below the words it rests on")
        below = replace(hit, score=words.score, evidence=(*hit.evidence, reason))
        if hit.current and not words.current:
            below = replace(below, current=False, superseded_by=words.superseded_by)
        ordered.insert(max(places) + 1, below)
    return tuple(ordered)


def _origin(context: RecallContext, row: int) -> dict[str, Any]:
    """The texts in which `remember` found a row, and what wrote it. Other links to what a memory was derived from do
    not count."""
    records = _extractions_of(context.index, row)
    found_in = tuple(dict.fromkeys(source for source, _ in records))
    return {"found_in": found_in, "by": records[-1][1].by} if records else {}


def _extractions_of(index: Index, row: int) -> list[tuple[str, ExtractionRecord]]:
    """The texts in which a row was found, each with what found it there."""
    memory, ids = index.catalog.memory_of(row), index.catalog.ids
    sources = [ids[number] for number in index.links.all_linked(memory, "derived_from", "out")]
    records = [(source, record) for source in sources for record in index.journal.extractions.get(source, ())]
    return [(source, record) for source, record in records if ids[memory] in record.facts]


def _said_by_people(index: Index, row: int, position: int) -> int:
    """The row itself; for a fact that an earlier release wrote by rule the words in which it was found."""
    for source, record in _extractions_of(index, row):
        number = index.catalog.number(source)
        quotation = None if number is None else index.catalog.row_at(number, position)
        if record.by == RULES and quotation is not None:
            return quotation
    return row


def _evidence(context: RecallContext, ranked: FusedRanking, memories: Sequence[Memory]) -> list[tuple[Evidence, ...]]:
    """For each row of the ranking, the reasons for its score."""
    now = context.snapshot.now
    factors = adjustments(context.index, ranked.rows, now).tolist()
    is_future = future_turns(context.index, ranked.rows, now).tolist()
    evidence = []
    for row, score, memory, found, factor, is_said_later in zip(
        ranked.rows.tolist(), ranked.scores.tolist(), memories, ranked.found_by(), factors, is_future, strict=True
    ):
        texts = memory.text, context.request.text
        reasons = [
            Evidence(signal, rank, factor * share, raw, _with_whole_words(note, texts) if signal == "words" else note)
            for signal, rank, share, raw, note in found
        ]
        if is_said_later:
            reasons.append(Evidence("time", 1, 0.0, 0.0, f"said only after {format_moment(now)}"))
        evidence.append(tuple(_with_remainder(reasons, ranked.notes.get(row), score)))
    return evidence


def _with_remainder(evidence: list[Evidence], note: Evidence | None, score: float) -> list[Evidence]:
    """The evidence, with the reason for the part of the score that is not from the signals, if there is such a part.
    `note` is the reason if the row was moved because of time."""
    total = sum(reason.share for reason in evidence)
    if note is None and abs(score - total) < _ROUNDING:
        return evidence
    if note is not None:
        return [*evidence, replace(note, share=score - total)]
    if total and abs(score - total) < _SMALL_MOVE:
        return [replace(reason, share=reason.share * score / total) for reason in evidence]
    return [*evidence, Evidence("time", 1, score - total, 0.0, _MOVED_UP if score > total else _MOVED_DOWN)]


def _with_whole_words(note: str, texts: Sequence[str]) -> str:
    """The note with whole words from the first of these texts that has them, in place of stems."""
    return _QUOTED_WORD.sub(lambda match: f"'{_whole_word(match[1], texts)}'", note)


def _whole_word(stem: str, texts: Sequence[str]) -> str:
    """The first word with this stem, in English or in the language of its text."""
    for text in texts:
        for word in _words_beginning(text, stem[:_STEM_BEGINNING]):
            if tokens(word) == [stem] or stem in tokens(word, language_of(text)):
                return word
    return stem


def _words_beginning(text: str, beginning: str) -> Iterator[str]:
    """The words of a text that begin like a stem, whatever their capitals and accents."""
    for candidate in _WORD.findall(text):
        start = candidate[:_STEM_BEGINNING]
        if (start if start.isascii() else strip_accents(start)).lower() == beginning:
            yield candidate


_MAX_WORDS = 30
"""Words of the turn before that are given, the last ones."""


def turns_before(index: Index, rows: Sequence[int], position: int) -> list[str]:
    """For each row the turn before it, with its speaker, if the row may not be understood without it and the turn is
    visible at `position`; otherwise "". Needs the lock of the index.

    Nothing of it is copied when a turn is written. Only where the turn before is not stored at all, the turn has it
    itself (`Turn.before`).
    """
    memories = index.memories(rows)
    # Most turns are long enough to be understood alone.
    asked = [number for number, memory in enumerate(memories) if len(memory.text.split()) <= ANSWER_WORDS]
    previous = index.graph.previous_turns([rows[number] for number in asked])
    visible = index.catalog.visible_mask(position)
    visible_rows = [row for row in previous if row >= 0 and visible[row]]
    spoken = [f"{speaker_label(memory)}: {memory.text}" for memory in index.memories(visible_rows)]
    text_of = dict(zip(visible_rows, spoken, strict=True))
    found = [""] * len(memories)
    for number, row in zip(asked, previous, strict=True):
        turn = _own_context(memories[number]) or text_of.get(row, "")
        if needs_turn_before(memories[number].text, turn):
            found[number] = last_words(turn, _MAX_WORDS)
    return found


def speaker_label(memory: Memory) -> str | None:
    """The speaker of a turn as it is read and shown."""
    if memory.turn is None:
        return None
    return "user" if memory.turn.speaker == SELF else memory.turn.speaker


def _own_context(memory: Memory) -> str:
    return (memory.turn.before or "") if memory.turn is not None else ""

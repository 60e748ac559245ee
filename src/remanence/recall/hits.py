"""Step of the read path: from ranked rows to hits, with evidence, successors and contradicting memories.

The shares of the evidence add up to the score. The shares of the signals are adjusted by age, importance and trust,
like the score. If time changed the score, the difference is the share of the reason "time" or "supersession".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from remanence.index.index import Index
from remanence.index.numbers import Position, Row
from remanence.models.readers import ANSWER_WORDS, needs_turn_before
from remanence.recall.context import FusedRanking, RecallContext
from remanence.recall.fusion import adjustments
from remanence.recall.reader_lines import speaker_label
from remanence.recall.validity.current import future_turns, held_like, row_states
from remanence.recall.validity.superseded import disagreeing_rows, extractions_of
from remanence.schema import Disagreement, Evidence, Hit, Memory, format_moment
from remanence.text.lexicon.languages import language_of
from remanence.text.text import last_words, strip_accents, tokens

_WORD = re.compile(r"\w+")
_QUOTED_WORD = re.compile(r"(?<!\w)'(\w+)'")
_STEM_BEGINNING = 3
"""Letters that a word and its stem have in common at the beginning, at most."""
_ROUNDING = 1e-9
_SMALL_MOVE = 0.01
"""The difference of scores below which a move only breaks ties, and is not listed as a reason."""
_MOVED_UP = "from the time asked about"
_MOVED_DOWN = "ranked after what fits the time"


def build_hits(context: RecallContext, ranked: FusedRanking) -> tuple[Hit, ...]:
    """A hit for each row of the ranking."""
    index, snapshot = context.index, context.snapshot
    rows = ranked.rows.tolist()
    states = row_states(index, ranked.rows, snapshot, context.query.vector)
    connected = [row for row, is_connected in zip(rows, states.connected, strict=True) if is_connected]
    disagreements = {row: disagreeing_rows(index, row, snapshot) for row in connected}
    # The memories of the hits and of the other rows that they name, in one query.
    other_rows = [other for others in disagreements.values() for other, _, _ in others]
    needed = list(dict.fromkeys([*rows, *(row for row in states.successors if row is not None), *other_rows]))
    memories = dict(zip(needed, index.memories(needed), strict=True))
    evidence = _evidence(context, ranked, [memories[row] for row in rows])
    return tuple(
        Hit(
            memories[row],
            score,
            reasons,
            is_current,
            None if successor is None else memories[successor],
            tuple(Disagreement(kind, topic, memories[other]) for other, kind, topic in disagreements.get(row, ())),
            **(_origin(context, row) if row in disagreements else {}),
            context=turn_before,
        )
        for row, score, reasons, is_current, successor, turn_before in zip(
            *(rows, ranked.scores.tolist(), evidence, states.current, states.successors),
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
        ordered.insert(max(places) + 1, held_like(below, words))
    return tuple(ordered)


def _origin(context: RecallContext, row: Row) -> dict[str, Any]:
    """The texts in which `remember` found a row, and what wrote it. Other links to what a memory was derived from do
    not count."""
    records = extractions_of(context.index, row)
    found_in = tuple(dict.fromkeys(source for source, _ in records))
    return {"found_in": found_in, "by": records[-1][1].by} if records else {}


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
    for match in _WORD.finditer(text):
        candidate = match[0]
        start = candidate[:_STEM_BEGINNING]
        if (start if start.isascii() else strip_accents(start)).lower() == beginning:
            yield candidate


_MAX_WORDS = 30
"""Words of the turn before that are given, the last ones."""


def turns_before(index: Index, rows: Sequence[Row], position: Position) -> list[str]:
    """For each row the turn before it, with its speaker, if the row may not be understood without it and the turn is
    visible at `position`; otherwise "". Needs the lock of the index.

    Nothing of it is copied when a turn is written. Only where the turn before is not stored at all, the turn has it
    itself (`Turn.before`).
    """
    memories = index.memories(rows)
    # Most turns are long enough to be understood alone.
    asked = [number for number, memory in enumerate(memories) if _has_few_words(memory.text)]
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


def _has_few_words(text: str) -> bool:
    return len(text.split(None, ANSWER_WORDS)) <= ANSWER_WORDS  # the words of a long text are not all counted


def _own_context(memory: Memory) -> str:
    return (memory.turn.before or "") if memory.turn is not None else ""

"""Step of the read path for questions about another time: rows that were valid then are ranked first.

"Alice lives in Porto" names no time, but it was valid until she lived elsewhere. So it answers where she lived in May,
before Lisbon, while she worked at Google, and where she used to live.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from remanence.index.index import Index
from remanence.index.numbers import Row
from remanence.index.times import Times
from remanence.recall.context import FusedRanking, RecallContext
from remanence.recall.question import TimeRelation
from remanence.recall.validity.superseded import MAX_CLAIM_TEXT_LENGTH
from remanence.schema import OPEN_END, OPEN_START, Evidence, Memory, Snapshot, Window, micros, window_to_micros
from remanence.text.text import normalize_name, tokens

DEMOTION_FACTOR = 0.999
"""The factor for the score of a row that is put right after another: the least change that orders them."""
_EXAMINED_ROWS = 64
"""Rows that are examined for statements that were valid then, and compared with these, the best. It limits the work."""
_MIN_COVERAGE = 0.1
"""The least share of the time asked about in which a statement was valid, for it to be an answer."""


def rank_valid_first(context: RecallContext, fused: FusedRanking) -> FusedRanking:
    """Rank the rows first that were valid at the time that the question asks about.

    Such a row must be about one of the names in the question and contain its words, and no other row may contain more
    of them.
    """
    relation, times = context.parsed.time_relation, context.query.times
    if not times and not relation.order and not relation.relation:
        return fused
    rows = fused.rows[:_EXAMINED_ROWS].tolist()
    statements = list(_statements(context, rows))
    words_of = {name: tokens(name) for name in context.query.entity_names}
    topic = relation.topic_words.difference(*words_of.values())
    names = {normalize_name(name) for name, words in words_of.items() if relation.anchor_words.isdisjoint(words)}
    answers = [each for each in statements if each.is_about(names) and each.mentions_half_of(topic)]
    # A text may have several: if the question has the words of a predicate, only the statements with that predicate.
    answers = [each for each in answers if topic & each.predicate_words] or answers
    windows = times or _anchor_windows(statements, relation, names)
    fits = [
        (fit, statement.row, window)
        for statement in answers
        for window in statement.windows
        if (fit := _fit(window, windows, relation, context.snapshot))[0] > _MIN_COVERAGE
    ]
    best = {row: window for _, row, window in sorted(fits, key=itemgetter(0))}  # of each row the best comes last
    if not best or _is_said_better_by_others(context, rows, answers, topic, names):
        return fused
    first_rows = list(dict.fromkeys(row for _, row, _ in sorted(fits, key=itemgetter(0), reverse=True)))
    ranks = np.array([first_rows.index(row) if row in best else len(best) for row in fused.rows.tolist()])
    top = max(float(fused.scores[0]), 1e-9)
    scores = np.where(ranks < len(best), top, fused.scores) * DEMOTION_FACTOR**ranks
    notes = {row: Evidence("time", 1, 0.0, 0.0, f"valid {window}") for row, window in best.items()}
    return replace(fused.with_scores(scores), notes=notes, pinned_rows=frozenset(best))


def _is_said_better_by_others(
    context: RecallContext, rows: Sequence[Row], answers: Sequence[_Statement], topic: frozenset[str], names: set[str]
) -> bool:
    """Whether another row about the names contains more words of the topic than the statements do, or as many and is
    from the time asked about."""
    count = max(len(topic & statement.words) for statement in answers)
    own = {statement.row for statement in answers}
    others = [
        memory
        for memory in context.index.memories([row for row in rows if row not in own])
        if not names or not names.isdisjoint(normalize_name(mention.name) for mention in memory.mentions)
    ]
    shared = ((memory, len(topic.intersection(tokens(memory.text)))) for memory in others)
    return any(
        number > count or (number == count and _lies_within(memory.valid, context.query.times))
        for memory, number in shared
    )


def _lies_within(window: Window, times: Sequence[Window]) -> bool:
    """Whether one of these times covers all of a window with two ends."""
    return bool(window.start and window.end) and any(_coverage(asked, window) == 1 for asked in times)


def rank_from_time_first(context: RecallContext, fused: FusedRanking) -> FusedRanking:
    """If the question asks for nothing but a time ("What happened in May?"): rank the rows from that time first, in
    their order. What held for much longer, or was told at another time, is ranked lower."""
    times = context.query.times
    if not times or context.parsed.has_topic or all(ranking.signal != Times.name for ranking in fused.rankings):
        return fused
    within = context.index.times.rows_mostly_within(times, fused.rows)
    if not within.any() or within.all():
        return fused
    factor = min(1.0, DEMOTION_FACTOR * float(fused.scores[within].min() / max(fused.scores[~within].max(), 1e-9)))
    return fused.with_scores(np.where(within, fused.scores, factor * fused.scores))


def rank_ended_lower(context: RecallContext, fused: FusedRanking) -> FusedRanking:
    """If the question is about now: rank states that have ended by now below others that answer about as well."""
    if context.parsed.focus != "now" or context.request.during is not None:
        return fused
    ended = context.index.catalog.ended_mask(fused.rows, context.snapshot.now)
    return fused.with_scores(np.where(ended, 0.8 * fused.scores, fused.scores)) if ended.any() else fused


def _anchor_windows(
    statements: Sequence[_Statement], relation: TimeRelation, names: Collection[str]
) -> Sequence[Window]:
    """The times before, after or during the event that the question names, its anchor: "before Lisbon"."""
    words = relation.anchor_words
    counts = {s.row: len(words & s.words) for s in statements if s.mentions_half_of(words)}
    anchors = [s for s in statements if s.row in counts and counts[s.row] == max(counts.values())]
    anchors = [statement for statement in anchors if statement.is_about(names)] or anchors
    windows: list[Window] = []
    for anchor, window in ((state, window) for state in anchors for window in state.windows):
        if relation.relation == "during":
            turn_time = anchor.memory.turn.at if anchor.memory.turn else None
            windows.append(Window(window.start or turn_time or anchor.memory.revised_at, window.end))
        elif relation.relation == "before" and window.start is not None:
            windows.append(Window(None, window.start))
        elif relation.relation == "after" and window.end is not None:
            windows.append(Window(window.end, None))
    if len({statement.memory.text for statement in anchors}) > 1 and len(set(windows)) > 1:
        return []  # the anchor is ambiguous: "before meals" is in every text about it
    return windows


def _fit(window: Window, windows: Sequence[Window], relation: TimeRelation, snapshot: Snapshot) -> tuple[float, int]:
    """How well a window fits the windows asked about: the part of them that it covers, then a number for ties. The last
    window before a moment and the first window after it fit best."""
    start, end = window_to_micros(window)
    if not windows:
        has_ended = relation.order is not None and end <= micros(snapshot.now)
        return float(has_ended), -start if relation.order == "first" else end
    covered, best = max((_coverage(window, asked), index) for index, asked in enumerate(windows))
    asked_start, asked_end = window_to_micros(windows[best])
    if asked_start != OPEN_START and asked_end == OPEN_END:
        return covered, -start
    return covered, end if asked_start == OPEN_START else 0


def _coverage(window: Window, asked: Window) -> float:
    """The part of the time asked about that a window covers; 1 or 0 if that time has an open end."""
    if asked.start is None or asked.end is None:
        return float(window.overlaps(asked))
    (start, end), (asked_start, asked_end) = window_to_micros(window), window_to_micros(asked)
    return max(min(end, asked_end) - max(start, asked_start), 0) / max(asked_end - asked_start, 1)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A claim or a version of a memory, and when it was valid: a claim until a later claim replaces it, a text without
    such a claim until the text of its memory changes."""

    row: Row
    memory: Memory
    windows: tuple[Window, ...]
    names: frozenset[str]
    words: frozenset[str]
    """The words of the text and of the predicate."""
    predicate_words: frozenset[str] = frozenset()

    def is_about(self, names: Collection[str]) -> bool:
        return not names or not self.names.isdisjoint(names)

    def mentions_half_of(self, words: frozenset[str]) -> bool:
        return bool(words) and 2 * len(words & self.words) >= len(words)


def _statements(context: RecallContext, rows: Sequence[Row]) -> Iterator[_Statement]:
    """The statements of these rows that have changed: their claims, or else the versions of their memories."""
    index = context.index
    short = [row for row in rows if index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH)]
    for row, claimed in index.relations.valid_periods(short, context.snapshot).items():
        changed = [period for period in claimed if period.changed]
        window = None if changed else _version_window(index, row, context.snapshot)
        if not changed and window is None:
            continue
        memory = index.memories([row])[0]
        words = frozenset(tokens(memory.text))
        if window is not None:
            names = frozenset(normalize_name(mention.name) for mention in memory.mentions)
            yield _Statement(row, memory, (window,), names, words)
        for period in changed:
            names = frozenset(map(normalize_name, (period.claim.subject, period.claim.object)))
            predicate_words = frozenset(tokens(period.claim.predicate.replace("_", " ")))
            yield _Statement(row, memory, period.windows, names, words | predicate_words, predicate_words)


def _version_window(index: Index, row: Row, snapshot: Snapshot) -> Window | None:
    """The time in which a version without a date was the text of its memory. None if the text never changed."""
    versions = index.catalog.rows_of(index.catalog.memory_of(row))
    positions = index.catalog.positions_of_rows(versions)
    versions = [version for version, position in zip(versions, positions, strict=True) if position <= snapshot.position]
    if len(versions) < 2 or row not in versions:
        return None
    memories, at = index.memories(versions), versions.index(row)
    own = memories[at]
    first = next((at - back + 1 for back in range(1, at + 1) if memories[at - back].text != own.text), 0)
    end = next((later.revised_at for later in memories[at:] if later.text != own.text), None)
    start = memories[first].revised_at
    if own.valid.has_bound or (end is not None and end <= start) or (end is None and first == 0):
        return None
    return Window(start, end)

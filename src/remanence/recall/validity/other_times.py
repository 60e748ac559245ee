"""Step of the read path for questions about another time: rows that were valid then are ranked first.

"Alice lives in Porto" names no time, but it was valid until she lived elsewhere. So it answers where she lived in May,
before Lisbon, while she worked at Google, and where she used to live.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

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
_ENDED_FACTOR = 0.8
"""The factor for the scores of ended states, if the question is about now. Chosen by hand."""
_MIN_COVERAGE = 0.1
"""The least share of the time asked about in which a statement was valid, for it to be an answer. Chosen by hand."""


def rank_valid_first(context: RecallContext, fused: FusedRanking) -> FusedRanking:
    """Rank the rows first that were valid at the time that the question asks about.

    Such a row must be about one of the names in the question and contain its words, and no other row may contain more
    of them. Rows without claims that lie within that time and contain as many words stay above.
    """
    relation, times = context.parsed.time_relation, context.query.times
    if not times and not relation.order and not relation.relation:
        return fused
    statements = list(_statements(context, fused.rows[:_EXAMINED_ROWS].tolist()))
    if not statements:
        return fused
    topic = _topic(context)
    answers = _statements_on_topic(statements, topic)
    windows = times or _anchor_windows(statements, relation, topic.names)
    matches = _best_matches(answers, topic, windows, relation, context.snapshot)
    if not matches:
        return fused
    word_count = max(match.word_count for match in matches.values())
    own = {statement.row for statement in answers}
    dated: list[Row] = []
    rows = [row for row in fused.rows[:_EXAMINED_ROWS].tolist() if row not in own]
    for row, memory in zip(rows, context.index.memories(rows), strict=True):
        names = {normalize_name(mention.name) for mention in memory.mentions}
        if topic.names and topic.names.isdisjoint(names):
            continue
        shared = len(topic.words.intersection(tokens(memory.text)))
        if shared > word_count:
            return fused
        if shared == word_count and _lies_within(memory.valid, times):
            dated.append(row)
    by_fit = sorted(matches, key=lambda row: matches[row].fit, reverse=True)
    return _with_first_rows(fused, [*dated, *by_fit], matches)


def _lies_within(window: Window, times: Sequence[Window]) -> bool:
    """Whether one of these times covers all of a window with two ends."""
    return bool(window.start and window.end) and any(_coverage(asked, window) == 1 for asked in times)


def _with_first_rows(fused: FusedRanking, first_rows: Sequence[Row], matches: dict[Row, _Match]) -> FusedRanking:
    """The ranking with these rows first, in this order, and the time of each match as its reason."""
    rank_of = {row: rank for rank, row in enumerate(first_rows)}
    ranks = np.array([rank_of.get(row, len(first_rows)) for row in fused.rows.tolist()])
    best = max(float(fused.scores[0]), 1e-9)
    scores = np.where(ranks < len(first_rows), best, fused.scores) * DEMOTION_FACTOR**ranks
    notes = {row: Evidence("time", 1, 0.0, 0.0, f"valid {match.window}") for row, match in matches.items()}
    return replace(fused.with_scores(scores), notes=notes, pinned_rows=frozenset(first_rows))


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
    return fused.with_scores(np.where(ended, _ENDED_FACTOR * fused.scores, fused.scores)) if ended.any() else fused


# The topic of the question


class _Topic(NamedTuple):
    """The subject of the question, without the time that it asks about."""

    words: frozenset[str]
    required_words: frozenset[str]
    """The words that an answer must contain."""
    names: frozenset[str]


def _topic(context: RecallContext) -> _Topic:
    parsed, words_of = context.parsed, {name: tokens(name) for name in context.query.entity_names}
    relation = parsed.time_relation
    words = relation.topic_words.difference(*words_of.values())
    names = (name for name, own in words_of.items() if relation.anchor_words.isdisjoint(own))
    required_words = words.intersection(tokens(" ".join(parsed.uncommon_words)))
    return _Topic(words, required_words, frozenset(map(normalize_name, names)))


# Statements about the topic


def _statements_on_topic(statements: Sequence[_Statement], topic: _Topic) -> list[_Statement]:
    """The statements about the topic. A text may have several: if the question has the words of a predicate, only the
    statements with that predicate."""
    answers = [
        statement
        for statement in statements
        if statement.is_about(topic.names)
        and statement.mentions_half_of(topic.words)
        and topic.required_words <= statement.words
    ]
    return [statement for statement in answers if topic.words & statement.predicate_words] or answers


def _anchor_windows(
    statements: Sequence[_Statement], relation: TimeRelation, names: frozenset[str]
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


# The match of a statement with the time asked about


class _Match(NamedTuple):
    """A row, and the window in which it fits the time asked about best."""

    fit: tuple[float, int]
    """The result of `_window_fit`: larger is better."""
    window: Window
    word_count: int
    """How many words of the topic the statements of the row contain."""


def _best_matches(
    answers: Sequence[_Statement], topic: _Topic, windows: Sequence[Window], relation: TimeRelation, snapshot: Snapshot
) -> dict[Row, _Match]:
    """For each row that was valid at the time asked about, its best match."""
    matches: dict[Row, _Match] = {}
    for statement in answers:
        for window in statement.windows:
            fit = _window_fit(window, windows, relation, snapshot)
            previous = matches.get(statement.row)
            if fit[0] > _MIN_COVERAGE and (previous is None or fit > previous.fit):
                word_count = max(len(topic.words & statement.words), 0 if previous is None else previous.word_count)
                matches[statement.row] = _Match(fit, window, word_count)
    return matches


def _window_fit(
    window: Window, windows: Sequence[Window], relation: TimeRelation, snapshot: Snapshot
) -> tuple[float, int]:
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


# When the statements of a row were valid: a claim until a later claim replaces it, a text without such a claim until
# the text of its memory changes


@dataclass(frozen=True, slots=True)
class _Statement:
    """A claim or a version of a memory, and when it was valid."""

    row: Row
    memory: Memory
    windows: tuple[Window, ...]
    names: frozenset[str]
    words: frozenset[str]
    """The words of the text and of the predicate."""
    predicate_words: frozenset[str]

    def is_about(self, names: frozenset[str]) -> bool:
        return not names or not self.names.isdisjoint(names)

    def mentions_half_of(self, words: frozenset[str]) -> bool:
        return bool(words) and 2 * len(words & self.words) >= len(words)


def _statements(context: RecallContext, rows: Sequence[Row]) -> Iterator[_Statement]:
    """The statements of these rows that have changed: their claims, or else the versions of their memories."""
    index = context.index
    versions = cache(index.catalog.rows_of)
    short = [row for row in rows if index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH)]
    for row, claimed in index.relations.valid_periods(short, context.snapshot).items():
        changed = [period for period in claimed if period.changed]
        window = None
        if not changed:
            window = _version_window(index, row, versions(index.catalog.memory_of(row)), context.snapshot)
        if not changed and window is None:
            continue
        memory = index.memories([row])[0]
        words = frozenset(tokens(memory.text))
        if window is not None:
            names = frozenset(normalize_name(mention.name) for mention in memory.mentions)
            yield _Statement(row, memory, (window,), names, words, frozenset())
        for period in changed:
            names = frozenset(map(normalize_name, (period.claim.subject, period.claim.object)))
            predicate_words = frozenset(tokens(period.claim.predicate.replace("_", " ")))
            yield _Statement(row, memory, period.windows, names, words | predicate_words, predicate_words)


def _version_window(index: Index, row: Row, versions: Sequence[Row], snapshot: Snapshot) -> Window | None:
    """The time in which a version without a date was the text of its memory. None if the text never changed."""
    if len(versions) < 2:
        return None
    version, number = index.memories([row])[0], versions.index(row)
    start, end, has_changed = version.revised_at, None, False
    for earlier in (index.memories([earlier_row])[0] for earlier_row in reversed(versions[:number])):
        if has_changed := earlier.text != version.text:
            break
        start = earlier.revised_at
    for later_row in versions[number + 1 :]:
        if index.catalog.positions_of_rows([later_row])[0] > snapshot.position:
            break
        later = index.memories([later_row])[0]
        if later.text != version.text:
            end = later.revised_at
            break
    if version.valid.has_bound or (end is not None and end <= start) or not (has_changed or end):
        return None
    return Window(start, end)

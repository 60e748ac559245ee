"""Step of the read path for questions about another time: rows that were valid then are ranked first.

"Alice lives in Porto" names no time, but it was valid until she lived elsewhere. So it answers where she lived in May,
before Lisbon, while she worked at Google, and where she used to live.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from remanence.core.index import Index
from remanence.language.text import normalize_name, tokens
from remanence.read.fusion import FusedRanking
from remanence.read.query import RecallContext
from remanence.read.question import ParsedQuestion, TimeRelation
from remanence.read.receipts import RecallRequest
from remanence.read.supersession import DEMOTION_FACTOR, MAX_CLAIM_TEXT_LENGTH
from remanence.schema import OPEN_END, OPEN_START, Evidence, Memory, Snapshot, Window, micros, window_to_micros
from remanence.signals.times import Times

_EXAMINED_ROWS = 64
"""How many rows are examined for statements that were valid then."""
_COMPETING_ROWS = 32
"""How many rows are compared with these statements."""
_ENDED_FACTOR = 0.8
"""The factor for the scores of ended states, if the question is about now."""
_MIN_COVERAGE = 0.1
"""A statement that was valid for a smaller part of the time asked about is no answer."""


def may_ask_about_past(request: RecallRequest, parsed: ParsedQuestion) -> bool:
    """Whether superseded memories are searched: if the caller or the wording asks for them, or may do so."""
    if request.history is not None:
        return request.history
    relation = parsed.time_relation
    return _asks_about_past(request, parsed) or relation.order is not None or relation.relation is not None


def includes_history(context: RecallContext, ranked: FusedRanking) -> bool:
    """Whether superseded memories are returned. "Before" and "when" ask about the past only if a row was valid at the
    time that they name."""
    if context.request.history is not None:
        return context.request.history
    return _asks_about_past(context.request, context.parsed) or (
        context.include_superseded and bool(ranked.pinned_rows)
    )


def _asks_about_past(request: RecallRequest, parsed: ParsedQuestion) -> bool:
    """Whether the question is certainly about the past."""
    return parsed.asks_about_past or request.during is not None


def rank_by_validity(context: RecallContext, fused: FusedRanking) -> FusedRanking:
    """Rank the rows first that were valid at the time that the question asks about.

    Such a row must be about one of the names in the question and contain its words, and no other row may contain more
    of them. Rows without claims that lie within that time and contain as many words stay above.
    """
    relation, times = context.parsed.time_relation, context.query.times
    if not times and not relation.order and not relation.relation:
        return fused
    statements = list(dated_statements(context, fused.rows[:_EXAMINED_ROWS].tolist()))
    if not statements:
        return fused
    topic = _topic(context)
    answers = _statements_on_topic(statements, topic)
    windows = times or _anchor_windows(statements, relation, topic.names)
    matches = _best_matches(answers, topic, windows, relation, context.snapshot)
    if not matches:
        return fused
    word_count = max(match.word_count for match in matches.values())
    competing = _competing_rows(context.index, fused, {statement.row for statement in answers}, topic)
    if any(row.word_count > word_count for row in competing):
        return fused
    dated = [row.row for row in competing if row.word_count == word_count and _lies_within(row.valid, times)]
    by_fit = sorted(matches, key=lambda row: matches[row].fit, reverse=True)
    return _with_first_rows(fused, [*dated, *by_fit], matches)


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


def drop_repeated_versions(index: Index, fused: FusedRanking, count: int) -> FusedRanking:
    """The ranking without versions that have the same text as the next version of the memory, among the first rows."""
    rows = set(fused.rows[: 2 * count].tolist())
    versions = Counter(map(index.catalog.memory_of, rows))
    repeated: set[int] = set()
    for memory in (memory for memory, number in versions.items() if number > 1):
        for row, following in pairwise(index.catalog.rows_of(memory)):
            if {row, following} <= rows and len({m.text for m in index.memories([row, following])}) == 1:
                repeated.add(row)
    if not repeated:
        return fused
    mask = np.ones(len(index.catalog), np.bool_)
    mask[list(repeated)] = False
    return fused.restrict_to(mask)


# The topic of the question


class _Topic(NamedTuple):
    """The subject of the question, without the time that it asks about."""

    words: frozenset[str]
    required_words: frozenset[str]
    """The words that an answer must contain."""
    names: frozenset[str]


def _topic(context: RecallContext) -> _Topic:
    parsed, entity_names = context.parsed, context.query.entity_names
    relation = parsed.time_relation
    words = relation.topic_words(entity_names)
    names = (name for name in entity_names if relation.anchor_words.isdisjoint(tokens(name)))
    required_words = words.intersection(tokens(" ".join(parsed.uncommon_words)))
    return _Topic(words, required_words, frozenset(map(normalize_name, names)))


# Statements about the topic


def _statements_on_topic(statements: Sequence[DatedStatement], topic: _Topic) -> list[DatedStatement]:
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
    statements: Sequence[DatedStatement], relation: TimeRelation, names: frozenset[str]
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
    answers: Sequence[DatedStatement],
    topic: _Topic,
    windows: Sequence[Window],
    relation: TimeRelation,
    snapshot: Snapshot,
) -> dict[int, _Match]:
    """For each row that was valid at the time asked about, its best match."""
    matches: dict[int, _Match] = {}
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


# The new ranking


class _CompetingRow(NamedTuple):
    """A row that is no answer by its claims, but about one of the names in the question."""

    row: int
    valid: Window
    word_count: int
    """How many words of the topic it contains."""


def _competing_rows(index: Index, fused: FusedRanking, answers: Container[int], topic: _Topic) -> list[_CompetingRow]:
    """The first rows about one of the names in the question, without these answers."""
    rows = [row for row in fused.rows[:_COMPETING_ROWS].tolist() if row not in answers]
    return [
        _CompetingRow(row, memory.valid, len(topic.words.intersection(tokens(memory.text))))
        for row, memory in zip(rows, index.memories(rows), strict=True)
        if not topic.names or any(normalize_name(mention.name) in topic.names for mention in memory.mentions)
    ]


def _lies_within(window: Window, times: Sequence[Window]) -> bool:
    """Whether one of these times covers all of a window with two ends."""
    return bool(window.start and window.end) and any(_coverage(asked, window) == 1 for asked in times)


def _with_first_rows(fused: FusedRanking, first_rows: Sequence[int], matches: Mapping[int, _Match]) -> FusedRanking:
    """The ranking with these rows first, in this order, and the time of each match as its reason."""
    rank_of = {row: rank for rank, row in enumerate(first_rows)}
    ranks = np.array([rank_of.get(row, len(first_rows)) for row in fused.rows.tolist()])
    best = max(float(fused.scores[0]), 1e-9)
    scores = np.where(ranks < len(first_rows), best, fused.scores) * DEMOTION_FACTOR**ranks
    notes = {row: Evidence("time", 1, 0.0, 0.0, f"valid {match.window}") for row, match in matches.items()}
    return replace(fused.with_scores(scores), notes=notes, pinned_rows=frozenset(first_rows))


# When the statements of a row were valid: a claim until a later claim replaces it, a text without such a claim until
# the text of its memory changes


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A claim or a version of a memory, and when it was valid."""

    row: int
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


def dated_statements(context: RecallContext, rows: Sequence[int]) -> Iterator[DatedStatement]:
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
            yield DatedStatement(row, memory, (window,), names, words, frozenset())
        for period in changed:
            names = frozenset(map(normalize_name, (period.claim.subject, period.claim.object)))
            predicate_words = frozenset(tokens(period.claim.predicate.replace("_", " ")))
            yield DatedStatement(row, memory, period.windows, names, words | predicate_words, predicate_words)


def _version_window(index: Index, row: int, versions: Sequence[int], snapshot: Snapshot) -> Window | None:
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

"""Step of the read path for questions about another time: what was valid then is ranked first.

"Alice lives in Porto" names no time, but it was valid until she lived elsewhere. So it answers where she lived in May,
before Lisbon, while she worked at Google, and where she used to live.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np

from remanence.core.index import Index
from remanence.language.text import normalize_name, tokens
from remanence.read.fusion import FusedRanking
from remanence.read.question import ParsedQuestion, TimeRelation
from remanence.read.receipts import RecallRequest
from remanence.read.supersession import DEMOTION_FACTOR, MAX_CLAIM_TEXT_LENGTH
from remanence.schema import OPEN_END, OPEN_START, Evidence, Memory, Query, Snapshot, Window, micros, window_to_micros

_EXAMINED_ROWS, _RIVAL_ROWS = 64, 32
_MIN_COVERAGE = 0.1
"""A state that was valid for a smaller part of the time asked about is not an answer."""


def may_ask_about_past(request: RecallRequest, parsed: ParsedQuestion) -> bool:
    """Whether superseded memories are searched: if the caller or the wording asks for it, or may do so."""
    if request.history is not None:
        return request.history
    relation = parsed.time_relation
    return asks_about_past(request, parsed) or relation.order is not None or relation.relation is not None


def asks_about_past(request: RecallRequest, parsed: ParsedQuestion) -> bool:
    """Whether the question is about the past, no matter what is found."""
    return parsed.asks_about_past or request.during is not None


def includes_history(request: RecallRequest, parsed: ParsedQuestion, resolved: FusedRanking) -> bool:
    """Whether superseded memories are returned. "Before" and "when" ask about the past only if something was
    valid at the time that they name."""
    if request.history is not None:
        return request.history
    return asks_about_past(request, parsed) or (may_ask_about_past(request, parsed) and bool(resolved.pinned_rows))


def rank_by_validity(
    index: Index, fused: FusedRanking, snapshot: Snapshot, parsed: ParsedQuestion, query: Query
) -> FusedRanking:
    """Rank first what was valid at the time that the question asks about. It must be about one of the names in the
    question and contain its words, and no other row may contain more of them. Rows without such a claim that lie
    within that time and contain as many words stay above."""
    relation, times = parsed.time_relation, query.times
    states = list(_states(index, fused, snapshot)) if times or relation.order or relation.relation else []
    if not states:
        return fused
    topic = relation.topic_words(query.entity_names)
    names = {normalize_name(name) for name in query.entity_names if relation.anchor_words.isdisjoint(tokens(name))}
    required = topic.intersection(tokens(" ".join(parsed.uncommon_words)))
    windows = times or _anchor_windows(states, relation, names)
    matching = [s for s in states if s.is_about(names) and s.mentions_half_of(topic) and required <= s.words]
    # A text may state several things: if the question has the words of a predicate, it asks for that one.
    matching = [state for state in matching if topic & state.predicate_words] or matching
    chosen: dict[int, tuple[tuple[float, int], Window]] = {}
    most = 0
    for state in matching:
        for window in state.windows:
            fit = _fit(window, windows, relation, snapshot)
            if fit[0] > _MIN_COVERAGE and (state.row not in chosen or fit > chosen[state.row][0]):
                chosen[state.row] = fit, window
                most = max(most, len(topic & state.words))
    rivals = _rivals(index, fused, {state.row for state in matching}, topic, names) if chosen else {}
    if not chosen or any(count > most for _, count in rivals.values()):
        return fused
    dated = [
        row
        for row, (window, count) in rivals.items()
        if count == most and window.start and window.end and any(coverage(asked, window) == 1 for asked in times)
    ]
    leading = [*dated, *sorted(chosen, key=lambda row: chosen[row][0], reverse=True)]
    place_of = {row: place for place, row in enumerate(leading)}
    places = np.array([place_of.get(row, len(leading)) for row in fused.rows.tolist()])
    first = max(float(fused.scores[0]), 1e-9)
    scores = np.where(places < len(leading), first, fused.scores) * DEMOTION_FACTOR**places
    notes = {row: Evidence("time", 1, 0.0, 0.0, f"valid {window}") for row, (_, window) in chosen.items()}
    return replace(fused.with_scores(scores), notes=notes, pinned_rows=frozenset(leading))


def drop_repeated_versions(index: Index, fused: FusedRanking, count: int) -> FusedRanking:
    """Without versions that have the same text as the next version of the memory, among the first rows."""
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


@dataclass(frozen=True, slots=True)
class _State:
    """A row that states something, the times in which that was valid, and the names that it is about. `words` are those
    of the text and of the predicate."""

    row: int
    memory: Memory
    windows: tuple[Window, ...]
    names: frozenset[str]
    words: frozenset[str]
    predicate_words: frozenset[str]

    def is_about(self, names: set[str]) -> bool:
        return not names or not self.names.isdisjoint(names)

    def mentions_half_of(self, topic: frozenset[str]) -> bool:
        return bool(topic) and 2 * len(topic & self.words) >= len(topic)


def _states(index: Index, fused: FusedRanking, snapshot: Snapshot) -> Iterator[_State]:
    """What the first rows state, and when it was valid: by their claims, or else by the versions of their memory."""
    versions = cache(index.catalog.rows_of)
    rows = fused.rows[:_EXAMINED_ROWS].tolist()
    short = [row for row in rows if index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH)]
    for row, claimed in index.relations.valid_periods(short, snapshot).items():
        periods: list[tuple[tuple[Window, ...], tuple[str, ...], str]] = [
            (period.windows, (period.claim.subject, period.claim.object), period.claim.predicate.replace("_", " "))
            for period in claimed
            if period.changed
        ]
        periods = periods or _version_period(index, row, versions(index.catalog.memory_of(row)), snapshot)
        if periods:
            memory = index.memories([row])[0]
            words = frozenset(tokens(memory.text))
            for windows, names, predicate in periods:
                stems = frozenset(tokens(predicate))
                yield _State(row, memory, windows, frozenset(map(normalize_name, names)), words | stems, stems)


def _version_period(
    index: Index, row: int, versions: Sequence[int], snapshot: Snapshot
) -> list[tuple[tuple[Window, ...], tuple[str, ...], str]]:
    """The time in which a version without a date was the text of its memory, if that changed, and the names in it."""
    if len(versions) < 2:
        return []
    current, place = index.memories([row])[0], versions.index(row)
    start, end, changed = current.revised_at, None, False
    for earlier in (index.memories([before])[0] for before in reversed(versions[:place])):
        if changed := earlier.text != current.text:
            break
        start = earlier.revised_at
    for following in versions[place + 1 :]:
        if index.catalog.positions_of_rows([following])[0] > snapshot.position:
            break
        later = index.memories([following])[0]
        if later.text != current.text:
            end = later.revised_at
            break
    if current.valid.has_bound or (end is not None and end <= start) or not (changed or end):
        return []
    return [((Window(start, end),), tuple(mention.name for mention in current.mentions), "")]


def coverage(window: Window, asked: Window) -> float:
    """The part of the time asked about that a window covers; 1 or 0 if that time has an open end."""
    if asked.start is None or asked.end is None:
        return float(window.overlaps(asked))
    (start, end), (begin, until) = window_to_micros(window), window_to_micros(asked)
    return max(min(end, until) - max(start, begin), 0) / max(until - begin, 1)


def _fit(window: Window, windows: Sequence[Window], relation: TimeRelation, snapshot: Snapshot) -> tuple[float, int]:
    """How well a window fits. Ties: the last window before a moment and the first one after it come first."""
    start, end = window_to_micros(window)
    if not windows:
        ended = relation.order is not None and end <= micros(snapshot.now)
        return float(ended), -start if relation.order == "first" else end
    covered, best = max((coverage(window, asked), place) for place, asked in enumerate(windows))
    begin, until = window_to_micros(windows[best])
    if begin != OPEN_START and until == OPEN_END:
        return covered, -start
    return covered, end if begin == OPEN_START else 0


def _anchor_windows(states: Sequence[_State], relation: TimeRelation, names: set[str]) -> list[Window]:
    """The times before, after or during what the question names as an anchor: "before Lisbon"."""
    anchor = relation.anchor_words
    counts = {state.row: len(anchor & state.words) for state in states if state.mentions_half_of(anchor)}
    near = [state for state in states if state.row in counts and counts[state.row] == max(counts.values())]
    near = [state for state in near if state.is_about(names)] or near
    windows = [(window, state) for state in near for window in state.windows]
    out: list[Window] = []
    for window, state in windows:
        start, end = window.start, window.end
        if relation.relation == "during":
            turn_time = state.memory.turn.at if state.memory.turn else None
            out.append(Window(start or turn_time or state.memory.revised_at, end))
        elif relation.relation == "before" and start is not None:
            out.append(Window(None, start))
        elif relation.relation == "after" and end is not None:
            out.append(Window(end, None))
    if len({state.memory.text for state in near}) > 1 and len(set(out)) > 1:
        return []  # the anchor is ambiguous: "before meals" is in every text about it
    return out


def _rivals(
    index: Index, fused: FusedRanking, matching: Container[int], topic: frozenset[str], names: set[str]
) -> dict[int, tuple[Window, int]]:
    """The first rows about one of these names, without those whose claims answer: when each is valid, and how many
    words of the topic it has."""
    rows = [row for row in fused.rows[:_RIVAL_ROWS].tolist() if row not in matching]
    return {
        row: (memory.valid, len(topic.intersection(tokens(memory.text))))
        for row, memory in zip(rows, index.memories(rows), strict=True)
        if not names or any(normalize_name(mention.name) in names for mention in memory.mentions)
    }

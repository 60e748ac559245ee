"""What held at another time than now, for questions that ask for it.

"Alice lives in Porto" names no time, but it held until she lived elsewhere. So it answers where she lived
in May, before Lisbon, while she worked at Google, and where she used to live: before what holds today, and
before what only happened in May.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from remanence.core.index import Index
from remanence.language.text import normalize_name, tokens
from remanence.read.fusion import FusedRanking
from remanence.read.question import ParsedQuestion, TimeRelation
from remanence.read.supersession import DEMOTION_FACTOR, MAX_CLAIM_TEXT_LENGTH, ResolvedRanking
from remanence.schema import OPEN_END, OPEN_START, Memory, Query, Snapshot, Window, micros, window_to_micros

_LOOKED, _RIVALS = 64, 32
_SHORTEST = 0.1
"""What held for less of the time asked for does not answer for it."""


def rank_by_validity(
    index: Index, fused: FusedRanking, sight: Snapshot, asked: ParsedQuestion, query: Query
) -> ResolvedRanking:
    """What held then comes first, if the question is about it: about whom it names, and in its words, of
    which nothing else may say more. What names the time itself and says as much stays ahead."""
    then, times = asked.time_relation, query.times
    states = list(_states(index, fused, sight)) if times or then.order or then.relation else []
    if not states:
        return ResolvedRanking(fused)
    matter = then.topic_words(query.entity_names)
    called = {normalize_name(name) for name in query.entity_names if then.anchor_words.isdisjoint(tokens(name))}
    small = matter.intersection(tokens(" ".join(asked.uncommon_words)))
    wanted = times or _beside(states, then, called)
    brought: dict[int, tuple[tuple[float, int], str]] = {}
    most = 0
    for state in states:
        if state.is_about(called) and state.speaks_of(matter) and small <= state.words:
            fit = _fit(state.window, wanted, then, sight)
            if fit[0] > _SHORTEST and (state.row not in brought or fit > brought[state.row][0]):
                brought[state.row] = fit, f"held {state.window}"
                most = max(most, len(matter & state.words))
    rivals = _rivals(index, fused, brought, matter, called) if brought else {}
    if not brought or any(told > most for _, told in rivals.values()):
        return ResolvedRanking(fused)
    dated = [
        row
        for row, (window, told) in rivals.items()
        if told == most and window.has_bound and any(covered(asked, window) == 1 for asked in times)
    ]
    leading = [*dated, *sorted(brought, key=lambda row: brought[row][0], reverse=True)]
    place_of = {row: place for place, row in enumerate(leading)}
    places = np.array([place_of.get(row, len(leading)) for row in fused.rows.tolist()])
    first = max(float(fused.scores[0]), 1e-9)
    scores = np.where(places < len(leading), first, fused.scores) * DEMOTION_FACTOR**places
    notes = {row: note for row, (_, note) in brought.items()}
    return ResolvedRanking(fused.with_scores(scores), notes, frozenset(leading))


def drop_repeated_versions(index: Index, fused: FusedRanking, most: int) -> FusedRanking:
    """Without versions that say what the next one of the same memory says, among the first few."""
    rows = set(fused.rows[: 2 * most].tolist())
    versions = Counter(map(index.catalog.memory_of, rows))
    again: set[int] = set()
    for memory in (memory for memory, count in versions.items() if count > 1):
        for row, following in pairwise(index.catalog.rows_of(memory)):
            if {row, following} <= rows and len({m.text for m in index.memories([row, following])}) == 1:
                again.add(row)
    if not again:
        return fused
    kept = np.ones(len(index.catalog), np.bool_)
    kept[list(again)] = False
    return fused.restrict_to(kept)


@dataclass(frozen=True, slots=True)
class _State:
    """That a row says what held, and of whom."""

    row: int
    memory: Memory
    window: Window
    names: frozenset[str]
    words: frozenset[str]

    def is_about(self, names: set[str]) -> bool:
        """Whether it is about one of these names, if there are any."""
        return not names or not self.names.isdisjoint(names)

    def speaks_of(self, matter: frozenset[str]) -> bool:
        """Whether it holds half of these words."""
        return bool(matter) and 2 * len(matter & self.words) >= len(matter)


def _states(index: Index, fused: FusedRanking, sight: Snapshot) -> Iterator[_State]:
    """What the first rows say that held, where something else did before or after: by their claims, or else
    by the versions of their memory. A long text says more than that."""
    versions = cache(index.catalog.rows_of)
    for row in fused.rows[:_LOOKED].tolist():
        if not index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH):
            continue
        held: list[tuple[Window, Sequence[str]]] = [*index.relations.valid_periods(row, sight)]
        held = held or _stood(index, row, versions(index.catalog.memory_of(row)), sight)
        if held:
            memory = index.memories([row])[0]
            words = frozenset(tokens(memory.text))
            for window, names in held:
                yield _State(row, memory, window, frozenset(map(normalize_name, names)), words)


def _stood(index: Index, row: int, versions: Sequence[int], sight: Snapshot) -> list[tuple[Window, Sequence[str]]]:
    """From when to when the words of a version were those of its memory, if they ever were others, and whom
    they name. One with a time of its own tells of that."""
    if len(versions) < 2:
        return []
    here, at = index.memories([row])[0], versions.index(row)
    start, end, changed = here.revised_at, None, False
    for earlier in (index.memories([before])[0] for before in reversed(versions[:at])):
        if changed := earlier.text != here.text:
            break
        start = earlier.revised_at
    for after in versions[at + 1 :]:
        if index.catalog.positions_of_rows([after])[0] > sight.position:
            break
        later = index.memories([after])[0]
        if later.text != here.text:
            end = later.revised_at
            break
    if here.valid.has_bound or start == end or not (changed or end):
        return []
    return [(Window(start, end), [mention.name for mention in here.mentions])]


def covered(window: Window, asked: Window) -> float:
    """What share of the time asked for a window covers; of one with an open end, whether it meets it.

    >>> from remanence.schema import window_from_micros
    >>> [covered(window_from_micros(0, 10), window_from_micros(*asked)) for asked in [(2, 4), (8, 12), (10, 12)]]
    [1.0, 0.5, 0.0]
    """
    if asked.start is None or asked.end is None:
        return float(window.overlaps(asked))
    (start, end), (begin, until) = window_to_micros(window), window_to_micros(asked)
    return max(min(end, until) - max(start, begin), 0) / max(until - begin, 1)


def _fit(window: Window, asked: Sequence[Window], then: TimeRelation, sight: Snapshot) -> tuple[float, int]:
    """How well a window fits; and of those that fit alike, which goes first: the last one before a moment,
    the first one after it."""
    start, end = window_to_micros(window)
    if not asked:
        over = then.order is not None and end <= micros(sight.now)
        return float(over), -start if then.order == "first" else end
    share, best = max((covered(window, each), at) for at, each in enumerate(asked))
    begin, until = window_to_micros(asked[best])
    if begin != OPEN_START and until == OPEN_END:
        return share, -start
    return share, end if begin == OPEN_START else 0


def _beside(states: Sequence[_State], then: TimeRelation, called: set[str]) -> list[Window]:
    """The times before, after or during what the question puts itself beside: "before Lisbon"."""
    holds = {s.row: len(then.anchor_words & s.words) for s in states if s.speaks_of(then.anchor_words)}
    near = [state for state in states if state.row in holds and holds[state.row] == max(holds.values())]
    near = [state for state in near if state.is_about(called)] or near
    if len({state.memory.text for state in near}) > 1 and len({state.window for state in near}) > 1:
        return []  # they tell nothing apart: "before meals" stands in all that was said of it
    out: list[Window] = []
    for state in near:
        start, end = state.window.start, state.window.end
        if then.relation == "during":
            said = state.memory.turn.at if state.memory.turn else None
            out.append(Window(start or said or state.memory.revised_at, end))
        elif then.relation == "before" and start is not None:
            out.append(Window(None, start))
        elif then.relation == "after" and end is not None:
            out.append(Window(end, None))
    return out


def _rivals(
    index: Index, fused: FusedRanking, brought: Container[int], matter: frozenset[str], called: set[str]
) -> dict[int, tuple[Window, int]]:
    """Of the other first rows that are about one of these names: their own time, and how many words of the
    matter they hold."""
    rows = [row for row in fused.rows[:_RIVALS].tolist() if row not in brought]
    return {
        row: (memory.valid, len(matter.intersection(tokens(memory.text))))
        for row, memory in zip(rows, index.memories(rows), strict=True)
        if not called or any(normalize_name(mention.name) in called for mention in memory.mentions)
    }

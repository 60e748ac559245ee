"""What held at another time than now, for questions that ask for it.

"Alice lives in Porto" names no time, but it held until she lived elsewhere. So it answers where she lived
in May, before Lisbon, while she worked at Google, and where she used to live: before what holds today, and
before what only happened in May.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from remanence.fusion import Fused
from remanence.index import Index
from remanence.model import ALWAYS, FOREVER, Memory, Query, Sight, Window, ends_of, micros
from remanence.query import Reading, Then
from remanence.text import normal_name, tokens
from remanence.truth import AFTER, LONGEST, Resolved

_LOOKED = 64
_SHORTEST = 0.1
"""What held for less of the time asked for does not answer for it."""


def as_it_was(index: Index, fused: Fused, sight: Sight, asked: Reading, query: Query) -> Resolved:
    """What held then comes first, if the question is about it: about whom it names, and in its words. What
    names the time itself and speaks of it as much stays ahead."""
    then, times = asked.then, query.times
    states = list(_states(index, fused, sight)) if times or then.order or then.beside else []
    if not states:
        return Resolved(fused)
    matter = then.matter(query.names)
    called = {normal_name(name) for name in query.names if then.beside_words.isdisjoint(tokens(name))}
    small = matter.intersection(tokens(" ".join(asked.small)))
    wanted = times or _beside(states, then, called)
    brought: dict[int, tuple[tuple[float, int], str]] = {}
    for state in states:
        if state.is_about(called) and state.speaks_of(matter) and small <= state.words:
            fit = _fit(state.window, wanted, then, sight)
            if fit[0] > _SHORTEST and (state.row not in brought or fit > brought[state.row][0]):
                brought[state.row] = fit, f"held {state.window}"
    if not brought:
        return Resolved(fused)
    told = max(len(matter & state.words) for state in states if state.row in brought)
    ahead = _dated(index, fused, brought, times, matter, told)
    order = [*ahead, *sorted(brought, key=lambda row: brought[row][0], reverse=True)]
    place_of = {row: place for place, row in enumerate(order)}
    first = max(float(fused.scores[0]), 1e-9)
    places = [place_of.get(row, len(order)) for row in fused.rows.tolist()]
    scores = np.where(
        np.array(places) < len(order), first * AFTER ** np.array(places), fused.scores * AFTER ** len(order)
    )
    return Resolved(fused.rescored(scores), {row: note for row, (_, note) in brought.items()})


def said_once(index: Index, fused: Fused, most: int) -> Fused:
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
    kept = ~np.isin(fused.rows, list(again))
    return replace(fused, rows=fused.rows[kept], scores=fused.scores[kept])


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


def _states(index: Index, fused: Fused, sight: Sight) -> Iterator[_State]:
    """What the first rows say that held, where something else did before or after: by their claims, or else
    by the versions of their memory. A long text says more than that."""
    versions: dict[int, list[int]] = {}
    for row in fused.rows[:_LOOKED].tolist():
        if not index.graph.is_short(row, LONGEST):
            continue
        held: list[tuple[Window, Sequence[str]]] = [*index.relations.held(row, sight)]
        if not held:
            number = index.catalog.memory_of(row)
            if number not in versions:
                versions[number] = index.catalog.rows_of(number)
            window = _stood(index, row, versions[number], sight) if len(versions[number]) > 1 else None
            named = [] if window is None else [m.name for m in index.memories([row])[0].mentions]
            held = [] if window is None else [(window, named)]
        for window, names in held:
            memory = index.memories([row])[0]
            called = frozenset(map(normal_name, names))
            yield _State(row, memory, window, called, frozenset(tokens(memory.text)))


def _stood(index: Index, row: int, versions: Sequence[int], sight: Sight) -> Window | None:
    """From when to when the words of a version were those of its memory, if they ever were others. One with a
    time of its own tells of that."""
    here, at = index.memories([row])[0], versions.index(row)
    start, end, changed = here.revised_at, None, False
    for earlier in (index.memories([before])[0] for before in reversed(versions[:at])):
        if changed := earlier.text != here.text:
            break
        start = earlier.revised_at
    for after in versions[at + 1 :]:
        if index.catalog.positions([after])[0] > sight.position:
            break
        later = index.memories([after])[0]
        if later.text != here.text:
            end = later.revised_at
            break
    if here.valid.bounded or start == end or not (changed or end):
        return None
    return Window(start, end)


def covered(window: Window, asked: Window) -> float:
    """What share of the time asked for a window covers; of one with an open end, whether it meets it.

    >>> from remanence.model import window_of
    >>> [covered(window_of(0, 10), window_of(*asked)) for asked in [(2, 4), (8, 12), (10, 12)]]
    [1.0, 0.5, 0.0]
    """
    (start, end), (begin, until) = ends_of(window), ends_of(asked)
    shared = min(end, until) - max(start, begin)
    if begin == ALWAYS or until == FOREVER:
        return float(shared > 0)
    return max(shared, 0) / max(until - begin, 1)


def _fit(window: Window, asked: Sequence[Window], then: Then, sight: Sight) -> tuple[float, int]:
    """How well a window fits; and of those that fit alike, which goes first: the last one before a moment,
    the first one after it."""
    start, end = ends_of(window)
    if not asked:
        over = then.order is not None and end <= micros(sight.now)
        return float(over), -start if then.order == "first" else end
    share, best = max((covered(window, each), at) for at, each in enumerate(asked))
    begin, until = ends_of(asked[best])
    if begin != ALWAYS and until == FOREVER:
        return share, -start
    return share, end if begin == ALWAYS else 0


def _beside(states: Sequence[_State], then: Then, called: set[str]) -> list[Window]:
    """The times before, after or during what the question puts itself beside: "before Lisbon"."""
    holds = {s.row: len(then.beside_words & s.words) for s in states if s.speaks_of(then.beside_words)}
    near = [state for state in states if state.row in holds and holds[state.row] == max(holds.values())]
    out: list[Window] = []
    for state in [state for state in near if state.is_about(called)] or near:
        start, end = state.window.start, state.window.end
        if then.beside == "during":
            said = state.memory.turn.at if state.memory.turn else None
            out.append(Window(start or said or state.memory.revised_at, end))
        elif then.beside == "before" and start is not None:
            out.append(Window(None, start))
        elif then.beside == "after" and end is not None:
            out.append(Window(end, None))
    return out


def _dated(
    index: Index,
    fused: Fused,
    brought: dict[int, tuple[tuple[float, int], str]],
    times: Sequence[Window],
    matter: frozenset[str],
    least: int,
) -> list[int]:
    """The rows with a time of their own within the one asked for, that hold at least so many of its words."""
    rows = [row for row in fused.rows[:_LOOKED].tolist() if row not in brought] if times else []
    return [
        row
        for row, memory in zip(rows, index.memories(rows), strict=True)
        if memory.valid.bounded
        and any(covered(asked, memory.valid) == 1 for asked in times)
        and len(matter.intersection(tokens(memory.text))) >= least
    ]

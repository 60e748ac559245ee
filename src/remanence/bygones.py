"""What held at another time than now, for questions that ask for it.

"Alice lives in Porto" names no time, but it held until she lived elsewhere. So it answers where she lived
in May, before Lisbon, while she worked at Google, and where she used to live: before what holds today, and
before what only happened in May.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from remanence.fusion import Fused
from remanence.index import Index
from remanence.model import ALWAYS, FOREVER, Memory, Query, Sight, Window, ends_of, micros
from remanence.query import Then
from remanence.text import normal_name, tokens
from remanence.truth import LONGEST, Resolved

_LOOKED = 64
_SHORTEST = 0.1
"""What held for less of the time asked for does not answer for it."""
_AFTER = 0.999


def as_it_was(index: Index, fused: Fused, sight: Sight, then: Then, query: Query) -> Resolved:
    """What held then comes first, if the question is about it: about whom it names, and in its words."""
    if not (query.times or then.order or then.beside):
        return Resolved(fused)
    windows = {row: found for row in fused.rows[:_LOOKED].tolist() if (found := held(index, row, sight))}
    if not windows:
        return Resolved(fused)
    memories = dict(zip(windows, index.memories(list(windows)), strict=True))
    called = {normal_name(name) for name in query.names if not then.beside_words.issuperset(tokens(name))}
    asked, matter = query.times or _beside(memories, windows, then, called), then.matter(query.names)
    brought: dict[int, tuple[tuple[float, int], Window]] = {}
    for row, memory in memories.items():
        fits = [(_fit(window, asked, then, micros(sight.now)), window) for window in windows[row]]
        fit, window = max(fits, key=lambda each: each[0])
        if fit[0] > _SHORTEST and _names(memory, called) and _speaks_of(memory, matter):
            brought[row] = fit, window
    if not brought:
        return Resolved(fused)
    order = sorted(brought, key=lambda row: brought[row][0], reverse=True)  # of those alike, the higher first
    first = max(float(fused.scores[0]), 1e-9)
    place_of = {row: place for place, row in enumerate(order)}
    behind = np.minimum(fused.scores, first * _AFTER ** len(order))
    ahead = (place_of.get(row) for row in fused.rows.tolist())
    scores = [
        score if place is None else first * _AFTER**place
        for place, score in zip(ahead, behind.tolist(), strict=True)
    ]
    notes = {row: f"held {window}" for row, (_, window) in brought.items()}
    return Resolved(fused.rescored(np.array(scores)), notes)


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


def held(index: Index, row: int, sight: Sight) -> list[Window]:
    """When what a row says held, where something else did before or after: by its claims, or else by the
    versions of its memory. A long text says more than that."""
    if not index.graph.is_short(row, LONGEST):
        return []
    return index.relations.held(row, sight) or _stood(index, row, sight)


def _stood(index: Index, row: int, sight: Sight) -> list[Window]:
    """From when to when a version was the word on its memory, if there are others. One with a time of its own
    tells of that."""
    rows = index.catalog.rows_of(index.catalog.memory_of(row))
    if len(rows) < 2:
        return []
    known = [r for r, line in zip(rows, index.catalog.positions(rows), strict=True) if line <= sight.position]
    versions = index.memories(known)
    at = known.index(row)
    alike = [version.text == versions[at].text for version in versions]
    if all(alike) or versions[at].valid.bounded:
        return []
    first = max((place + 1 for place in range(at) if not alike[place]), default=0)
    end = next(
        (version.revised_at for version, same in zip(versions[at:], alike[at:], strict=True) if not same),
        None,
    )
    return [Window(versions[first].revised_at, end)] if end != versions[first].revised_at else []


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


def _fit(window: Window, asked: Sequence[Window], then: Then, now: int) -> tuple[float, int]:
    """How well a window fits; and of those that fit alike, which goes first: the last one before a moment,
    the first one after it."""
    start, end = ends_of(window)
    if not asked:
        return float(then.order is not None and end <= now), -start if then.order == "first" else end
    share, best = max((covered(window, each), at) for at, each in enumerate(asked))
    begin, until = ends_of(asked[best])
    if begin != ALWAYS and until == FOREVER:
        return share, -start
    return share, end if begin == ALWAYS else 0


def _beside(
    memories: Mapping[int, Memory], windows: Mapping[int, Sequence[Window]], then: Then, called: set[str]
) -> list[Window]:
    """The times before, after or during what the question puts itself beside: "before Lisbon"."""
    about = [row for row, m in memories.items() if _names(m, called) and _speaks_of(m, then.beside_words)]
    holds = {row: len(then.beside_words.intersection(tokens(memories[row].text))) for row in about}
    near = [row for row in about if holds[row] == max(holds.values())]
    out: list[Window] = []
    for window in (window for row in near for window in windows[row]):
        if then.beside == "during":
            out.append(window)
        elif then.beside == "before" and window.start is not None:
            out.append(Window(None, window.start))
        elif then.beside == "after" and window.end is not None:
            out.append(Window(window.end, None))
    return out


def _names(memory: Memory, names: set[str]) -> bool:
    """Whether a memory is about one of these names, if there are any."""
    return not names or any(normal_name(mention.name) in names for mention in memory.mentions)


def _speaks_of(memory: Memory, matter: frozenset[str]) -> bool:
    """Whether a memory holds half of these words."""
    return bool(matter) and 2 * len(matter & set(tokens(memory.text))) >= len(matter)

"""What the graph costs at a hundred thousand entities and half a million edges; `speed.py` calls this.

A made-up society: people know, mentor and like each other, work at firms and live in towns, of which a few
are everybody's. A fifth of what is claimed stands in memories, the rest was said outright; half of it has a
beginning, a third of it an end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import remanence
from remanence.events import Related
from remanence.index.engine.identity import new_id
from world import BEGAN, DIMENSION, NOW, Clock, Lookup

Figures = dict[str, float]
PREDICATES = ("knows", "works_at", "lives_in", "mentors", "likes")
_CHUNK = 5_000
_DAYS = 700


@dataclass
class Society:
    """Names, the hubs first, and who is tied to whom."""

    names: list[str]
    ties: list[tuple[str, str, str]]


def make_society(edges: int, seed: int = 11) -> Society:
    """The same society for the same number, on every machine; a fifth as many entities as edges."""
    dice = np.random.default_rng([seed, edges])
    count, hubs = edges // 5, max(20, edges // 500)
    names = [_name(number) for number in range(count)]
    people = dice.integers(hubs, count, (edges, 2)).tolist()
    ties = []
    for (a, b), hub, kind in zip(
        people, (dice.zipf(1.3, edges) % hubs).tolist(), dice.integers(0, 5, edges).tolist(), strict=True
    ):
        predicate = PREDICATES[kind]
        ties.append((names[a], predicate, names[hub if predicate in ("works_at", "lives_in") else b]))
    return Society(names, ties)


def _name(number: int) -> str:
    """Two pronounceable words, others for each number."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    parts = [syllables[number // len(syllables) ** place % len(syllables)] for place in range(4)]
    return f"{parts[0]}{parts[1]}n {parts[2]}{parts[3]}s".title()


def fill(space: remanence.Space, society: Society, clock: Clock) -> None:
    """Tell a space all of it, over two years: a fifth in memories, the rest outright."""
    told = len(society.ties) // 5
    rows = [
        {
            "text": f"{a} {predicate.replace('_', ' ')} {b}.",
            "entities": [a, b],
            "triples": [(a, predicate, b)],
            **({"valid_from": BEGAN + timedelta(days=n % _DAYS)} if n % 2 else {}),
        }
        for n, (a, predicate, b) in enumerate(society.ties[:told])
    ]
    for begin in range(0, told, _CHUNK):
        clock.moment = BEGAN + timedelta(days=_DAYS * begin / len(society.ties))
        space.add_many(rows[begin : begin + _CHUNK])
    for begin in range(told, len(society.ties), _CHUNK):
        clock.moment = BEGAN + timedelta(days=_DAYS * begin / len(society.ties))
        lines = [_line(n, tie) for n, tie in enumerate(society.ties[begin : begin + _CHUNK], begin)]
        # As `relate` writes them, but thousands in one transaction.
        space._engine.write(space.name, lambda _, lines=lines: lines)


def _line(number: int, tie: tuple[str, str, str]) -> Related:
    begin = BEGAN + timedelta(days=number % _DAYS)
    end = begin + timedelta(days=400) if number % 3 == 0 else None
    window = remanence.Window(begin if number % 2 else None, end)
    return Related(new_id(), *tie, window, observed_by="benchmark")


def measure(folder: Path, edges: int, *, asked: int = 200) -> Figures:
    """Every figure of the graph for one society."""
    society, clock = make_society(edges), Clock()
    embedder = Lookup([], np.zeros((0, DIMENSION), np.float32))
    with remanence.open(folder / "society", embedder=embedder, reader=None, clock=clock) as space:
        fill(space, society, clock)
        clock.moment = NOW
        dice = np.random.default_rng(5)
        names = [society.names[place] for place in dice.integers(0, len(society.names), 2 * asked)]
        others = [society.names[place] for place in dice.integers(0, len(society.names), asked)]
        graph, past = space.graph, space.as_of(NOW - timedelta(days=300)).graph
        then = NOW - timedelta(days=400)
        space.recall(f"Who does {names[0]} know?")  # the first question loads what the others find at hand

        out = Figures()
        out |= _spread("graph query, 100 nodes", [partial(graph.query, n, limit=100) for n in names[:asked]])
        out |= _spread("graph query, 500 nodes", [partial(graph.query, n, limit=500) for n in names[asked:]])
        out |= _spread("graph query by default", [partial(graph.query, n) for n in others])  # not walked yet
        at = [partial(graph.query, n, at=then, limit=100) for n in names[asked:]]
        out |= _spread("graph query at a moment, 100 nodes", at)
        known = [name for name in names if _knows(past, name)][:asked]
        both = [partial(past.query, n, at=then, limit=100) for n in known]
        out |= _spread("graph query as of and at, 100 nodes", both)
        pairs = zip(names[: asked // 2], names[asked:], strict=False)
        out |= _spread("graph path", [partial(graph.path, a, b) for a, b in pairs])
        out |= _spread("graph when", [partial(graph.when, n, "lives_in") for n in names[:asked]])
        questions = [f"Who does {a} know, and where does {b} live?" for a, b in pairwise(names)]
        out |= _signal(space, questions[:asked])
        only = [partial(space.recall, question, signals=["graph"]) for question in questions[:asked]]
        out |= _spread("recall by graph alone", only)
        new = [partial(space.graph.relate, a, "knows", b) for a, b in zip(names[:asked], names[asked:], strict=True)]
        out |= _spread("add edge", new)
        return out


def _knows(graph: Any, name: str) -> bool:
    try:
        graph.query(name, depth=1, limit=1)
    except remanence.NotFound:
        return False  # met later than this view
    return True


def _signal(space: remanence.Space, questions: Sequence[str]) -> Figures:
    """The graph's own share of whole recalls, with all three seeds. Not of threads that pack what was added before."""
    spent: list[float] = []
    with space._engine.open_index(space.name) as index:
        ranked = index.graph.rank

        def timed(*given: Any) -> Any:
            began = time.thread_time()
            try:
                return ranked(*given)
            finally:
                spent.append(time.thread_time() - began)

        index.graph.rank = timed
        try:
            for question in questions:
                space.recall(question)
        finally:
            del index.graph.rank
    return {"graph signal p50 ms of CPU": float(np.median(spent)) * 1000}


def _spread(name: str, work: Sequence[Callable[[], object]]) -> Figures:
    """Median and tail by the clock, and the median of processor time: to be believed on a busy machine."""
    work[0]()
    both = np.array(list(_timed(work))) * 1000
    return {
        f"{name} p50 ms": float(np.median(both[:, 0])),
        f"{name} p99 ms": float(np.percentile(both[:, 0], 99)),
        f"{name} p50 ms of CPU": float(np.median(both[:, 1])),
    }


def _timed(work: Sequence[Callable[[], object]]) -> Iterator[tuple[float, float]]:
    for each in work:
        began, busy = time.perf_counter(), time.process_time()
        each()
        yield time.perf_counter() - began, time.process_time() - busy

"""What holds whatever is said, in whatever order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Plus

import remanence
from examples import examples
from remanence import Space
from remanence.events import Remembered
from remanence.index.times import Times
from remanence.index.words import K1, B, Words, passage_tokens
from remanence.schema import EPOCH, Query, Window
from remanence.testing import FakeClock, HashingEmbedder
from remanence.text.text import tokens

PEOPLE = ["Alice", "Bob", "Carol", "Dan"]
PLACES = ["Porto", "Lisbon", "Faro", "the harbour"]
SENTENCES = [f"{who} {does} {where}." for who in PEOPLE for does in ("lives in", "met Bob in") for where in PLACES]
SENTENCES += [f"In {month} 2025 {who} painted the boat." for month in ("May", "June") for who in PEOPLE]
SENTENCES += ["Yes.", "The tide is high today and the boats are in.", "東京タワーは赤い。", "Alice Alice Alice!"]
QUESTIONS = [
    "Where does Alice live?",
    "Who painted the boat in May 2025?",
    "Whom did Carol meet in Porto?",
    "boats harbour tide",
    "東京",
    "the",
]

text = st.sampled_from(SENTENCES)
number = st.integers(0, 9)
STEP = st.one_of(
    st.tuples(st.just("add"), text),
    st.tuples(st.just("revise"), st.sampled_from(["home", "work"]), text),
    st.tuples(st.just("turn"), st.sampled_from(PEOPLE), text),
    st.tuples(st.just("forget"), number),
    st.tuples(st.just("unforget"), number),
)
STEPS = st.lists(STEP, min_size=1, max_size=14)
SPAN = st.builds(
    lambda day, days: Window(EPOCH + timedelta(day), EPOCH + timedelta(day + days)),
    st.integers(0, 30),
    st.sampled_from([1, 10, 100]),
)
# Lives are short and readable as they are; to shrink one takes minutes.
quick = settings(
    max_examples=examples(8),
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
slow = settings(quick, max_examples=examples(3))


def live(space: Space, clock: FakeClock, steps: list[tuple[Any, ...]], known: list[str] | None = None) -> list[str]:
    """Take these steps, an hour apart; gives the ids of all memories ever added."""
    known = [] if known is None else known
    for verb, *what in steps:
        clock.advance(hours=1)
        if verb == "add":
            known.append(space.add(what[0]).id)
        elif verb == "revise":
            known.append(space.add(what[1], key=what[0]).id)
        elif verb == "turn":
            turn = {"speaker": what[0], "content": what[1], "time": clock.now(), "conversation": "chat"}
            known.append(space.add_turns([turn])[0].id)
        elif verb == "erase" and known:
            space.erase(known[what[0] % len(known)])
        elif known:
            getattr(space, verb)(known[what[0] % len(known)])
    return known


Answers = dict[Any, list[tuple[Any, ...]]]


def answers(view: remanence.View, signals: tuple[str, ...] | None = None) -> Answers:
    """All that a view says to all questions, with scores, and which signals spoke."""
    out: Answers = {"memories": [(m.text, m.key, m.revised_at) for m in view.memories()]}
    for question in QUESTIONS:
        for history in (False, True):
            found = view.recall(question, history=history, limit=100, signals=signals)
            out[question, history] = [
                (hit.memory.text, hit.memory.key, hit.current, hit.score, sorted(e.signal for e in hit.evidence))
                for hit in found
            ]
            out[question, history, "silent"] = [(*found.abstained, *found.missing)]
    return out


def scores(hits: list[tuple[Any, ...]]) -> list[float]:
    return [hit[3] for hit in hits]


def same(one: Answers, other: Answers) -> bool:
    """Alike in everything, and in scores up to the last digits of a float."""
    asked = [key for key in one if isinstance(key, tuple) and len(key) == 2]
    return all(scores(one[key]) == pytest.approx(scores(other[key]), abs=1e-9) for key in asked) and all(
        [hit[:3] + hit[4:] for hit in one[key]] == [hit[:3] + hit[4:] for hit in other[key]] for key in one
    )


def alike(one: Answers, other: Answers) -> bool:
    """The same memories, with nearly the same scores, in whatever order those give."""
    asked = [key for key in one if isinstance(key, tuple) and len(key) == 2]
    left, right = ([sorted(world[key], key=repr) for key in asked] for world in (one, other))
    return all(
        [hit[:3] for hit in mine] == [hit[:3] for hit in theirs]
        and scores(mine) == pytest.approx(scores(theirs), abs=2e-2)
        for mine, theirs in zip(left, right, strict=True)
    )


@contextmanager
def world(folder: Path | None = None, clock: FakeClock | None = None) -> Iterator[tuple[Space, FakeClock]]:
    clock = clock or FakeClock("2026-05-04")
    with remanence.open(folder, embedder=HashingEmbedder(), clock=clock) as space:
        yield space, clock


@quick
@given(steps=STEPS, erased=st.lists(number, max_size=2))
def test_a_rebuild_changes_nothing(steps: list[Any], erased: list[int]) -> None:
    """Not an answer, not a score, not a reason; erasures included."""
    with world() as (space, clock):
        live(space, clock, [*steps, *(("erase", n) for n in erased)])
        before = answers(space)
        assert space.admin.check() == {}

        space.rebuild()
        assert same(answers(space), before)
        assert space.admin.check() == {}


@pytest.mark.parametrize("signals", [("vectors", "words", "times"), ("vectors", "words", "times", "graph")])
@quick
@given(past=STEPS, future=STEPS)
def test_a_view_of_the_past_never_changes(signals: tuple[str, ...], past: list[Any], future: list[Any]) -> None:
    """Whatever is learned, revised, forgotten or brought back later, and however often it is rebuilt."""
    with world() as (space, clock):
        known = live(space, clock, past)
        view = space.as_of(clock.now())
        before = answers(view, signals)

        live(space, clock, future, known)
        assert same(answers(view, signals), before)
        space.rebuild()
        assert same(answers(view, signals), before)


@quick
@given(steps=STEPS, question=st.one_of(st.sampled_from(SENTENCES + QUESTIONS), st.text(max_size=20).map("a {}".format)))
def test_the_forgotten_stay_hidden(steps: list[Any], question: str) -> None:
    """From every way of looking, whatever is asked."""
    with world() as (space, clock):
        known = live(space, clock, steps)
        gone = set(known[::2])
        for memory in gone:
            space.forget(memory)

        for _ in range(2):
            for during in (None, ("2000", "2100")):
                found = space.recall(question, history=True, limit=1000, during=during)
                assert not gone & {hit.memory.id for hit in found}
                assert all(0 <= hit.score <= 1 for hit in found)
            assert not gone & {memory.id for memory in space.memories()}
            assert [space.get(memory) for memory in gone] == [None] * len(gone)
            space.rebuild()


@quick
@given(steps=st.lists(st.tuples(st.integers(0, 2), STEP), min_size=3, max_size=20))
def test_a_space_never_sees_its_siblings(steps: list[Any]) -> None:
    """Three that share a ledger answer, to the digit, as each would alone."""
    names = ("ali", "alice", "ali/ce")
    alone = []
    for which in range(3):
        with world() as (space, clock):
            lonely: list[str] = []
            for owner, step in steps:
                if owner == which:
                    live(space, clock, [step], lonely)
                else:
                    clock.advance(hours=1)
            alone.append(answers(space))
    with world() as (space, clock):
        known: list[list[str]] = [[], [], []]
        for owner, step in steps:
            live(space.child(names[owner]), clock, [step], known[owner])

        for name, expected in zip(names, alone, strict=True):
            assert same(answers(space.child(name)), expected)
        assert space.count() == 0


@quick
@given(steps=STEPS, question=st.one_of(text, st.sampled_from(QUESTIONS)), erased=st.lists(number, max_size=2))
def test_words_score_as_rank_bm25_does(steps: list[Any], question: str, erased: list[int]) -> None:
    """Over what is visible, old versions included: a forgotten memory counts for nothing."""
    with world() as (space, clock):
        live(space, clock, [*steps, *(("erase", n) for n in erased)])
        with space._engine.open_index(space.name) as index:
            visible = index.catalog.visible_mask(index.catalog.position)
            lines = list(space._engine.ledger.read(space.name))
            asked = sorted(set(tokens(question)))
            scores, _ = index.words.scores(asked, index.words.corpus_statistics(visible))
    versions = [line.event for line in lines if line.event is None or isinstance(line.event, Remembered)]
    corpus = [passage_tokens(version)[0][0] for version, shown in zip(versions, visible, strict=True) if shown]
    if any(corpus):
        assert scores[visible].tolist() == BM25Plus(corpus, k1=K1, b=B, delta=0).get_scores(asked).tolist()
    assert not np.any(scores[~visible])


@quick
@given(
    told=st.lists(st.lists(SPAN, min_size=1, max_size=3), min_size=4, max_size=20),
    asked=st.lists(SPAN, min_size=1, max_size=2),
    near=st.dictionaries(st.integers(0, 3), st.floats(0.0, 1.0)),
    limit=st.integers(1, 4),
)
def test_a_short_list_of_times_is_the_head_of_the_long_one(
    told: list[list[Window]], asked: list[Window], near: dict[int, float], limit: int
) -> None:
    """What lies beside the time asked for is passed over only where it could not come forward."""
    times, rows = Times(), np.ones(len(told), np.bool_)
    times.apply(0, [Remembered(f"m{n}", "", f"m{n}", times=tuple(spans)) for n, spans in enumerate(told)])
    query = Query(
        "When?", rows, rows, times=tuple(asked), candidate_scores=near, time_mask=times.rows_within(asked, rows)
    )

    short, long = times.rank(query, limit), times.rank(query, 100)

    assert short.rows == long.rows[:limit]
    assert short.scores == long.scores[:limit]


@quick
@given(
    texts=st.lists(st.lists(st.sampled_from("red boat sail sea gull anchor".split()), max_size=6), max_size=40),
    asked=st.lists(st.sampled_from("red boat sail sea gull anchor".split()), min_size=1, max_size=3),
    hidden=st.sets(st.integers(0, 39)),
    inside=st.none() | st.sets(st.integers(0, 39)),
    limit=st.integers(1, 9),
)
def test_a_short_list_of_words_is_the_head_of_the_long_one(
    texts: list[list[str]], asked: list[str], hidden: set[int], inside: set[int] | None, limit: int
) -> None:
    """Documents are passed over only where they could not come forward; what is from the time asked for never is."""
    words, rows = Words(), np.arange(len(texts))
    words.apply(0, [Remembered(f"m{n}", " ".join(text), f"m{n}") for n, text in enumerate(texts)])
    allowed = ~np.isin(rows, list(hidden))
    query = Query(" ".join(asked), np.ones(len(texts), np.bool_), allowed)
    short, long = words.rank(query, limit), words.rank(query, 100)
    assert short.rows == long.rows[:limit]
    assert short.scores == long.scores[:limit]
    if inside is not None:
        timed = words.rank(replace(query, time_mask=np.isin(rows, list(inside)) & allowed), limit)
        best = [row for row in long.rows if row in inside][: limit // 2]
        assert set(timed.rows) == {*short.rows, *best}


@quick
@given(steps=STEPS)
def test_applying_a_line_twice_changes_nothing(steps: list[Any]) -> None:
    """Neither the whole ledger fed again, nor versions given again to each projection."""
    with world() as (space, clock):
        live(space, clock, steps)
        before = answers(space)
        with space._engine.open_index(space.name) as index:
            lines = list(space._engine.ledger.read(space.name))
            index.apply(lines)
            versions = [line.event for line in lines if isinstance(line.event, Remembered)]
            for projection in index.signals.values():
                projection.apply(0, versions)

        assert same(answers(space), before)
        assert space.admin.check() == {}


@slow
@given(first=STEPS, then=STEPS)
def test_opening_from_a_snapshot_is_as_if_never_closed(first: list[Any], then: list[Any]) -> None:
    """Closed and opened in the middle of its life, a space answers as one that stayed open."""
    with tempfile.TemporaryDirectory() as home:
        clock = FakeClock("2026-05-04")
        with world(Path(home, "open"), clock) as (space, _):
            live(space, clock, [*first, *then])
            expected = answers(space)
        clock = FakeClock("2026-05-04")
        with world(Path(home, "closed"), clock) as (space, _):
            known = live(space, clock, first)
        with world(Path(home, "closed"), clock) as (space, _):
            live(space, clock, then, known)
        with world(Path(home, "closed"), clock) as (space, _):
            assert same(answers(space), expected)
            assert space.admin.check() == {}


@slow
@given(steps=STEPS, erased=st.lists(number, max_size=1))
def test_a_folder_answers_as_memory_does(steps: list[Any], erased: list[int]) -> None:
    """Up to the rounding of vectors, which Qdrant keeps in half precision."""
    steps = [*steps, *(("erase", n) for n in erased)]
    with world() as (space, clock):
        live(space, clock, steps)
        expected = answers(space)
    with tempfile.TemporaryDirectory() as home, world(Path(home)) as (space, clock):
        live(space, clock, steps)
        assert alike(answers(space), expected)
        space.verify()

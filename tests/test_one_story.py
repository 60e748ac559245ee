"""What recall, the graph and the timeline say about one moment, in random histories."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Any

import pytest

import remanence
from examples import examples
from remanence import Memory, Relation, Space
from remanence.schema import SELF, UTC
from remanence.testing import FakeClock

TOWNS = "Porto Lisbon Madrid Oslo Rome Berlin Vienna Leeds".split()  # names that are known to be places
FIRMS = "Google Nokia Bosch Airbus Danone Renault Siemens Philips".split()
BEGIN, NOW = datetime(2024, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
DAYS = 700


@dataclass(frozen=True)
class Matter:
    """Something that changes: how it is stated and asked about, for the user or somebody else."""

    who: str
    predicate: str
    states: str
    began: str
    ends: str
    was: str
    now: str
    values: tuple[str, ...]


MATTERS = (
    Matter(
        SELF,
        "lives_in",
        "I live in {}.",
        "I moved to {} on {}.",
        "I no longer live in {}.",
        "Where did I live",
        "Where do I live?",
        tuple(TOWNS),
    ),
    Matter(
        SELF,
        "works_at",
        "I work at {}.",
        "I started working at {} on {}.",
        "I no longer work at {}.",
        "Where did I work",
        "Where do I work?",
        tuple(FIRMS),
    ),
    Matter(
        "Alice",
        "lives_in",
        "Alice lives in {}.",
        "Alice moved to {} on {}.",
        "Alice no longer lives in {}.",
        "Where did Alice live",
        "Where does Alice live?",
        tuple(TOWNS),
    ),
    Matter(
        "Alice",
        "works_at",
        "Alice works at {}.",
        "Alice started working at {} on {}.",
        "Alice no longer works at {}.",
        "Where did Alice work",
        "Where does Alice work?",
        tuple(FIRMS),
    ),
)


def day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


class History:
    """Plans what a space is told about some matters, in one way for each matter, then tells it."""

    def __init__(self, space: Space, clock: FakeClock, chance: random.Random) -> None:
        self.space, self.clock, self.chance = space, clock, chance
        self.told: list[str] = []
        self._planned: list[tuple[datetime, Callable[[], object]]] = []

    def tell(self) -> None:
        """Tell everything, as it was planned, mostly in the order of its dates."""
        if self.chance.random() < 0.8:
            self._planned.sort(key=itemgetter(0))
        for moment, step in self._planned:
            if moment > self.clock.now():
                self.clock.advance(seconds=(moment - self.clock.now()).total_seconds())
            step()
        self._planned.clear()

    def undated(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        for moment, value in zip(moments, values, strict=True):
            self._say(matter.states.format(value), moment)

    def keyed(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        key = f"{matter.who} {matter.predicate}"
        for moment, value in zip(moments, values, strict=True):
            self._add(matter.states.format(value), now=moment, key=key)

    def keyed_with_dates(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        key = f"{matter.who} {matter.predicate}"
        for moment, value in zip(moments, values, strict=True):
            later = moment + timedelta(days=self.chance.randrange(1, 20))
            self._add(matter.states.format(value), now=later, key=key, valid_from=moment)

    def dated(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        for moment, value in zip(moments, values, strict=True):
            self._add(matter.states.format(value), now=moment + timedelta(days=3), valid_from=moment)

    def told_later(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        """All told at the end, in any order."""
        pairs = list(zip(moments, values, strict=True))
        self.chance.shuffle(pairs)
        for number, (moment, value) in enumerate(pairs):
            told = BEGIN + timedelta(days=DAYS + number)
            if self.chance.random() < 0.5:
                self._add(matter.states.format(value), now=told, valid_from=moment)
            else:
                self._remember(matter.began.format(value, day(moment)), told)

    def moves(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        for moment, value in zip(moments, values, strict=True):
            self._remember(matter.began.format(value, day(moment)), moment + timedelta(days=self.chance.randrange(9)))

    def corrected(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        """Each value is first told wrongly, with the same date."""
        for number, (moment, value) in enumerate(zip(moments, values, strict=True)):
            wrong = values[number - 1]
            self._add(matter.states.format(wrong), now=moment + timedelta(days=1), valid_from=moment)
            self._add(matter.states.format(value), now=moment + timedelta(days=2), valid_from=moment)

    def bounded(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        """Each with an end of its own, told in any order, over one that has none."""
        self._add(matter.states.format(matter.values[0]), now=BEGIN, valid_from=BEGIN)
        pairs = list(zip(moments, values, strict=True))
        self.chance.shuffle(pairs)
        for moment, value in pairs:
            until = moment + timedelta(days=self.chance.randrange(5, 60))
            told = max(until, BEGIN + timedelta(days=self.chance.randrange(DAYS)))
            self._add(matter.states.format(value), now=told, valid_from=moment, valid_until=until)

    def related(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        """By memories and by relations that the caller states with a memory as evidence."""
        for moment, value in zip(moments, values, strict=True):
            told = moment + timedelta(days=self.chance.randrange(28))
            card = self._add(matter.states.format(value), now=told)

            def relate(moment: datetime = moment, value: str = value, card: list[Memory] = card) -> None:
                self.told.append(f"relate {matter.who} {matter.predicate} {value} from {moment:%Y-%m-%d}")
                self.space.graph.relate(matter.who, matter.predicate, value, valid_from=moment, evidence=card)

            self._planned.append((told, relate))

    def turns(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        for moment, value in zip(moments, values, strict=True):
            turn = {"content": matter.states.format(value), "time": moment, "conversation": f"{moment:%Y-%m-%d}"}
            self._plan(moment, f"turn {turn}", partial(self.space.add_turns, [turn]))

    def forgotten(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        """One of them is forgotten again."""
        made = [
            self._add(matter.states.format(value), now=moment, valid_from=self.chance.choice([None, moment]))
            for moment, value in zip(moments, values, strict=True)
        ]
        [forgotten] = self.chance.sample(made, 1)

        def forget() -> None:
            self.told.append(f"forget {forgotten[0].text!r}")
            self.space.forget(forgotten[0].id)

        self._planned.append((moments[-1] + timedelta(days=1), forget))

    def keyed_in_any_order(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        """A keyed memory whose later text may be about an earlier time."""
        pairs = list(zip(moments, values, strict=True))
        self.chance.shuffle(pairs)
        for number, (moment, value) in enumerate(pairs):
            self._add(
                matter.states.format(value),
                now=BEGIN + timedelta(days=DAYS + number),
                key="any order",
                valid_from=self.chance.choice([None, moment]),
            )

    def ended_between(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        """Each ends some days before the next begins."""
        for moment, value in zip(moments, dict.fromkeys(values), strict=False):
            way = self.chance.choice([self.undated, self.keyed, self.dated, self.moves])
            way(matter, [moment], [value])
            self.end(matter, moment + timedelta(days=self.chance.randrange(22, 28)), value)

    def mixed(self, matter: Matter, moments: list[datetime], values: list[str]) -> None:
        for moment, value in zip(moments, values, strict=True):
            way = self.chance.choice([self.undated, self.keyed, self.dated, self.moves, self.keyed_with_dates])
            way(matter, [moment], [value])

    def end(self, matter: Matter, moment: datetime, value: str) -> None:
        if self.chance.random() < 0.5:
            self._remember(matter.ends.format(value), moment)
        else:
            what = matter.who, matter.predicate, value
            self._plan(moment, f"invalidate {what}", partial(self.space.graph.invalidate, *what, valid_until=moment))

    def _say(self, text: str, moment: datetime) -> None:
        if self.chance.random() < 0.5:
            self._remember(text, moment)
        else:
            self._add(text, now=moment)

    def _add(self, text: str, *, now: datetime, **given: Any) -> list[Memory]:
        """Plan a memory; it is put into the list that is returned once it is added."""
        made: list[Memory] = []
        step = partial(self.space.add, text, now=now, **given)
        self._plan(now, f"add {text!r} {given}", lambda: made.append(step()))
        return made

    def _remember(self, text: str, moment: datetime) -> None:
        self._plan(moment, f"remember {text!r}", partial(self.space.remember, text, now=moment))

    def _plan(self, moment: datetime, note: str, step: Callable[[], object]) -> None:
        def noted() -> None:
            self.told.append(f"{moment:%Y-%m-%d} {note}")
            step()

        self._planned.append((moment, noted))


def tell(space: Space, clock: FakeClock, chance: random.Random) -> tuple[History, Matter]:
    """A random history of one matter, among others that change as well."""
    history, matter = History(space, clock, chance), chance.choice(MATTERS)
    ways: list[Callable[[Matter, list[datetime], list[str]], None]] = [
        history.undated,
        history.keyed,
        history.keyed_with_dates,
        history.dated,
        history.told_later,
        history.moves,
        history.corrected,
        history.mixed,
        history.bounded,
        history.related,
        history.turns,
        history.forgotten,
        history.keyed_in_any_order,
        history.ended_between,
    ]
    for other in MATTERS:
        if other is not matter:
            moments = [BEGIN + timedelta(days=each) for each in sorted(chance.sample(range(0, DAYS, 30), 2))]
            history.undated(other, moments, chance.sample(other.values, 2))
    count = chance.randrange(2, 5)
    days = sorted(chance.sample(range(10, DAYS, 30), count))
    values = chance.sample(matter.values[1:], count)
    if count == 4 and chance.random() < 0.3:
        values[3] = values[0]  # back again
    chance.choice(ways)(matter, [BEGIN + timedelta(days=each) for each in days], values)
    history.tell()
    if chance.random() < 0.4:
        current = {r.object for r in space.graph.when(matter.who, matter.predicate) if NOW in r.valid}
        if len(current) == 1:
            history.end(matter, NOW - timedelta(days=chance.randrange(1, 12)), current.pop())
            history.tell()
    return history, matter


@pytest.mark.parametrize("seed", range(examples(12)))
def test_recall_graph_and_timeline_tell_one_story(seed: int) -> None:
    """What holds at a moment is the same, whichever part is asked."""
    chance, clock = random.Random(seed), FakeClock(BEGIN)
    with remanence.open(None, worker=False, clock=clock, reader=None) as space:
        history, matter = tell(space, clock, chance)
        clock.advance(seconds=(NOW - clock.now()).total_seconds())
        told = "\n".join(history.told)
        when = space.graph.when(matter.who, matter.predicate)
        asked = [BEGIN + timedelta(days=chance.randrange(DAYS)) for _ in range(6)]
        for moment in [*asked, NOW]:
            holding = set(values_at(when, moment))
            edges = space.graph.query(matter.who, [matter.predicate], depth=1, at=moment, direction="out")
            labels = {node.id: node.label for node in edges.nodes}
            assert {labels[edge.target] for edge in edges.edges} == holding, (day(moment), told)
            events = space.graph.timeline(matter.who, relations=matter.predicate)
            added = [event.value for event in events if event.kind == "edge added"]
            visible = [each for each in added if isinstance(each, Relation) and is_visible(space, each)]
            assert set(values_at(visible, moment)) == holding, told
            question = matter.now if moment == NOW else f"{matter.was} on {day(moment)}?"
            answer = space.recall(question, now=NOW)
            if holding:
                assert any(value in answer[0].memory.text for value in holding), (question, holding, answer[0], told)


def is_visible(space: Space, relation: Relation) -> bool:
    """Whether something that is not forgotten says so."""
    return any(space.get(memory) is not None for memory in relation.evidence)


def values_at(relations: list[Relation], moment: datetime) -> Iterator[str]:
    return (relation.object for relation in relations if moment in relation.valid)

"""Timelines of the hand-written matters: a question about a time with statements in the order they were told, and which
of them answer it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from training.material.matters import MONTHS, TELLING, Line, Told, World

Timeline = dict[str, Any]
NOW = datetime(2026, 6, 1)
"""The day on which all of them are asked."""


class DatedWorld(World):
    """A world whose lines are in the order they were told, with days."""

    def _join_turns(self) -> None:
        """Lines of one matter keep their order; those that tell nothing of it stand anywhere."""
        rng = self.rng
        placed: list[tuple[float, Line]] = []
        for told in self.told:
            telling = [line for line in told.lines if told.key in line.tells]
            spots = sorted(rng.random() for _ in telling)
            placed += zip(spots, telling, strict=True)
            placed += [(rng.random(), line) for line in told.lines if told.key not in line.tells]
        self.lines = [line for _, line in sorted(placed, key=lambda item: item[0])]
        span = rng.choice([120, 400, 900, 1800])
        days = sorted(rng.uniform(0, span) for _ in self.lines)
        self.days = {id(line): NOW - timedelta(days=span - day) for line, day in zip(self.lines, days, strict=True)}

    def timeline(self) -> Timeline | None:
        """A question with the lines that may answer it."""
        rng, told = self.rng, self.rng.choice(self.told)
        kinds = ["now"] * 4 + ["past"] * 3 + ["before", "before", "changed", "changed", "list"]
        kind = rng.choice(kinds)
        wordings = told.matter.get(f"ask_{kind}_me" if told.me else f"ask_{kind}")
        telling = [line for line in self.lines if told.key in line.tells]
        if not wordings:
            return None
        moment = NOW
        if kind == "past":
            moment = self._moment(telling)
        known = [line for line in telling if self.days[id(line)] <= moment]
        right, value = _right(told, known, kind)
        if right is None:
            return None
        dropped = rng.random() < 0.12
        last = moment - timedelta(days=1)
        asked = rng.choice(wordings)
        asked = asked.replace("{N}", told.subject).replace("{V}", value).replace("{O}", value)
        asked = asked.replace("{T}", f"in {MONTHS[last.month - 1]} {last.year}")
        lines = [line for line in self.lines if not (dropped and told.key in line.tells)]
        near = [line for line in lines if any(k[0] == told.key[0] or k[1] == told.key[1] for k in line.about)]
        near.sort(key=lambda line: told.key not in line.about)
        far = [line for line in lines if line not in near]
        askings = self.askings(told)
        begin = self.days[id(telling[0])] if telling else NOW - timedelta(days=300)
        self.days |= {id(line): begin + (NOW - begin) * rng.random() for line in askings}
        chosen = near[:12] + rng.sample(far, min(len(far), 3)) + askings
        chosen.sort(key=lambda line: self.days[id(line)])
        if len(chosen) < 4:
            return None
        return {
            "set": "matters",
            "q": asked,
            "moment": moment,
            "lines": [
                {"t": line.text, "s": line.speaker, "p": line.before, "time": self.days[id(line)]}
                | {"y": int(not dropped and line in right), "tells": told.key in line.tells}
                | {"asks": line.kind == "asked"}
                for line in chosen
            ],
        }

    def _moment(self, telling: list[Line]) -> datetime:
        """The end of a month in which something was told before, if anything was."""
        days = [self.days[id(line)] for line in telling]
        begin = days[0] if days else NOW - timedelta(days=300)
        day = begin + (NOW - begin) * self.rng.random()
        return datetime(day.year + day.month // 12, day.month % 12 + 1, 1)


def _right(told: Told, known: list[Line], kind: str) -> tuple[list[Line] | None, str]:
    """The lines that answer a question of a kind, and the value it names; None if that is open."""
    stated = [line for line in known if line.kind in TELLING or line.kind == "fix_1"]
    if kind == "list":
        return known or None, ""
    if not known:
        return ([], "") if kind == "past" else (None, "")
    if told.matter.get("many"):
        return _right_of_many(known, stated, kind)
    last = known[-1]
    if kind in ("now", "past"):
        if last.kind in ("none", "end"):
            ended = last.kind == "none" or (stated and stated[-1].values[0] == last.values[1])
            return ([last], "") if ended else (None, "")
        return [line for line in stated if line.values[0] == last.values[0]], ""
    if not stated or last is not stated[-1]:
        return None, ""
    value = last.values[0]
    earlier = [line for line in stated if line.values[0] != value]
    if not earlier:
        return None, ""
    if kind == "before":
        return [line for line in stated if line.values[0] == earlier[-1].values[0]], value
    return [next(line for line in stated if line.values[0] == value)], value


def _right_of_many(known: list[Line], stated: list[Line], kind: str) -> tuple[list[Line] | None, str]:
    """The same of a matter that has several values at a time."""
    if any(line.kind in ("change", "none", "fix_1") for line in known):
        return None, ""
    ended = {line.values[1] for line in known if line.kind == "end"}
    if kind in ("now", "past"):
        return [line for line in stated if line.values[0] not in ended] or None, ""
    if kind == "changed" and stated:
        return [next(line for line in stated if line.values[0] == stated[-1].values[0])], stated[-1].values[0]
    return None, ""


def make_timelines(matters: list[dict[str, Any]], count: int, seed: int) -> Iterator[Timeline]:
    """So many timelines of the hand-written matters."""
    rng, made = random.Random(seed), 0
    while made < count:
        world = DatedWorld(rng, matters)
        for _ in range(4):
            timeline = world.timeline()
            if timeline is not None and made < count:
                made += 1
                yield timeline

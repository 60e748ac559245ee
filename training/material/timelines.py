"""Timelines: a question with the statements that may answer it in the order they were told, and which one does so at
the time asked about.

    python training/timelines.py FOLDER --external ../shared/reader      FOLDER as `prepare.py` left it

A reader that sees all statements together learns by itself which one is valid at a time: the last one that tells the
matter and that nothing replaces, the one before it, the first, the one that tells of the change. Timelines are made of
the hand-written matters, and of the written worlds and talks; in public data, where nothing is dated, the order is kept
and the days are made up. Writes FOLDER/timelines.npz.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from askings import read_turns, timelines_of_turns
from generate import MATTERS, MONTHS, TELLING, Line, Told, World, read_matters, split_matters
from prepare import MAX_QUESTION, Store, read_xz
from tokenizers import Tokenizer
from written import STRANGERS, VARIANTS, asked_before, read_worlds

from remanence.models.reader_input import (
    LINE_TOKENS,
    LINE_WORDS,
    TIMELINE_LINES,
    SpecialTokens,
    as_passage,
    join_timeline,
    needs_turn_before,
    shorten_question,
    with_date,
)
from remanence.read.question import parse_question

Timeline = dict[str, Any]
MADE, MEASURED = 40_000, 1_500
NOW = datetime(2026, 6, 1)
SETS = ("matters", "worlds", "talks", "external", "askings", "unseen_matters", "unseen_askings", "strangers")
SHARE = {"matters": 0.36, "worlds": 0.34, "talks": 0.08, "external": 0.12, "askings": 0.1}
"""How often timelines of each set are drawn."""


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


def read_timelines(worlds: Iterator[dict[str, Any]], name: str) -> Iterator[Timeline]:
    """A timeline of all memories for each question of written worlds, and of what asked the same before."""
    rng = random.Random(12)
    for world in worlds:
        lines = [
            {"id": m["id"], "t": m["text"], "s": m["speaker"], "p": m["before"]}
            | {"time": datetime.fromisoformat(m["time"])}
            for m in world["memories"]
        ]
        lines.sort(key=lambda line: line["time"])
        for asked in world["questions"]:
            now = datetime.fromisoformat(asked["asked_at"])
            right, tells = set(asked["right"]), {*asked["right"], *asked["stale"]}
            known = [line for line in lines if line["time"] <= now]
            known = [line | {"y": int(line["id"] in right), "tells": line["id"] in tells} for line in known]
            moment = moment_of(asked["q"], now)
            again = asked_before(asked, world, rng) if name != "strangers" else []
            if known:
                begin = next((line["time"] for line in known if line["tells"]), known[0]["time"])
                known += [ask | {"time": begin + (now - begin) * rng.random(), "tells": False} for ask in again]
            known.sort(key=lambda line: line["time"])
            yield {"set": name, "q": asked["q"], "kind": asked["kind"], "moment": moment, "lines": known}
            for text in asked["asks"]:
                others = [line for line in known if line["t"] != text]
                yield {"set": name, "q": text, "kind": asked["kind"], "moment": moment, "lines": others}


def moment_of(question: str, now: datetime) -> datetime:
    """The end of the past time that a question names, or now."""
    aware = now.astimezone()
    ended = [window.end for window in parse_question(question, aware).times if window.end is not None]
    return next((end.replace(tzinfo=None) for end in ended if end <= aware), now)


def read_external(file: Path) -> Iterator[Timeline]:
    """Questions of public data; their order is kept and the days are made up."""
    rng = random.Random(6)
    for pack in read_xz(file):
        if pack.get("soft") or len(pack["cands"]) < 4:
            continue
        known = pack.get("answerable", True)
        day = NOW - timedelta(days=rng.choice([3, 40, 400]))
        lines = []
        for cand in pack["cands"][:16]:
            day += (NOW - day) * rng.random() * 0.2
            right = bool(cand["y"]) and known
            lines.append({key: cand.get(key) for key in "tsp"} | {"time": day, "y": int(right), "tells": right})
        yield {"set": "external", "q": pack["q"], "moment": NOW, "lines": lines}


def read_askings_timelines() -> Iterator[Timeline]:
    """Timelines of the turns that ask, with days made up."""
    rng = random.Random(13)
    for timeline in timelines_of_turns(list(read_turns()), rng):
        day = NOW - timedelta(days=rng.choice([2, 30, 300]))
        lines = []
        for line in timeline["lines"]:
            day += (NOW - day) * rng.random() * 0.3
            lines.append(line | {"time": day, "tells": bool(line["y"])})
        yield timeline | {"moment": NOW, "lines": lines}


def encode(timelines: list[Timeline], tokenizer: Tokenizer) -> dict[str, np.ndarray]:
    """Timelines as arrays; a line is the number of its text."""
    store = Store()
    asked, begin, lines, labels, tells, told, asks, sets = [], [0], [], [], [], [], [], []
    for timeline in timelines:
        question = timeline["q"]
        asked.append(store(shorten_question(question), MAX_QUESTION))
        for line in timeline["lines"]:
            before = line["p"] or ""
            before = before if needs_turn_before(line["t"], before) else ""
            passage = as_passage(question, line["t"], speaker=line["s"], before=before, max_words=LINE_WORDS)
            lines.append(store(with_date(line["time"], passage), LINE_TOKENS))
            labels.append(line["y"])
            tells.append(line["tells"])
            asks.append(line.get("asks", False))
            told.append(line["time"] <= timeline["moment"])
        begin.append(len(lines))
        sets.append(SETS.index(timeline["set"]))
    tokens = [
        np.array(each.ids[:most], np.uint16)
        for (_, most), each in zip(
            store.number,
            tokenizer.encode_batch([text for text, _ in store.number], add_special_tokens=False),
            strict=True,
        )
    ]
    return {
        "asked": np.array(asked, np.int32),
        "begin": np.array(begin, np.int32),
        "lines": np.array(lines, np.int32),
        "labels": np.array(labels, bool),
        "tells": np.array(tells, bool),
        "told": np.array(told, bool),
        "asks": np.array(asks, bool),
        "sets": np.array(sets, np.int8),
        "kinds": np.array([timeline.get("kind", "") for timeline in timelines]),
        "tokens": np.concatenate(tokens),
        "lengths": np.array([len(each) for each in tokens], np.int32),
    }


class Timelines:
    """The arrays of `encode`, and batches of them."""

    def __init__(self, folder: Path) -> None:
        held = np.load(folder / "timelines.npz")
        self.asked, self.begin, self.lines = held["asked"], held["begin"], held["lines"]
        self.labels, self.tells, self.told, self.asks = (held[name] for name in ("labels", "tells", "told", "asks"))
        self.sets, self.kinds, self.tokens, self.lengths = held["sets"], held["kinds"], held["tokens"], held["lengths"]
        self.starts = np.cumsum(self.lengths) - self.lengths
        pieces = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
        self.special = SpecialTokens(pieces["[CLS]"], pieces["[SEP]"], pieces["[MASK]"])
        self.answers = np.zeros(len(self.lines), np.float32)
        """How probable an answer each line is by itself (`train.py rank`): recall reads the likeliest together."""
        self.members = [np.flatnonzero(self.sets == number) for number in range(len(SETS))]

    def draw(self, rng: np.random.Generator, count: int) -> list[tuple[int, np.ndarray]]:
        """So many questions, each with the lines of it that are read together."""
        names = list(SHARE)
        odds = np.array([SHARE[name] for name in names])
        drawn: list[tuple[int, np.ndarray]] = []
        while len(drawn) < count:
            members = self.members[SETS.index(names[rng.choice(len(names), p=odds / odds.sum())])]
            number = int(members[rng.integers(len(members))])
            rows = self._some(number, rng)
            if self.labels[rows].any() or not self.tells[rows].any():
                drawn.append((number, rows))
        return drawn

    def _some(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """Some lines, mostly those that are likely answers; now and then none that tells the matter."""
        rows = np.arange(self.begin[number], self.begin[number + 1])
        if rng.random() < 0.06:
            rows = rows[~self.tells[rows]]
        noise = rng.gumbel(size=len(rows)) * rng.choice([0.3, 1.0, 2.0])
        ranked = rows[np.argsort(-(self.answers[rows] + noise), kind="stable")]
        size = TIMELINE_LINES if rng.random() < 0.6 else int(rng.integers(2, TIMELINE_LINES + 1))
        return np.sort(ranked[:size])

    def first(self, number: int) -> np.ndarray:
        """The lines of a question that are the most probable answers, as recall chooses them."""
        rows = np.arange(self.begin[number], self.begin[number + 1])
        return np.sort(rows[np.argsort(-self.answers[rows], kind="stable")[:TIMELINE_LINES]])

    def batch(self, drawn: list[tuple[int, np.ndarray]]) -> dict[str, np.ndarray]:
        """Drawn questions as padded arrays. In `right` the first column is "none of them"."""
        joined = []
        for number, rows in drawn:
            lines, told = [self._text(line) for line in self.lines[rows]], int(self.told[rows].sum())
            joined.append(join_timeline(self._text(self.asked[number]), lines, told, self.special))
        longest = -(-max(len(each.ids) for each in joined) // 32) * 32
        shape, places = (len(drawn), longest), (len(drawn), TIMELINE_LINES + 1)
        out = {name: np.zeros(shape, np.int64) for name in ("ids", "mask", "kinds")}
        out |= {"marks": np.zeros(places, np.int64), "real": np.zeros(places, bool)}
        out |= {"right": np.zeros(places, bool), "tells": np.zeros(places, bool)}
        out["asks"] = np.array([self.asks[rows].any() for _, rows in drawn])
        for at, ((_, rows), each) in enumerate(zip(drawn, joined, strict=True)):
            out["ids"][at, : len(each.ids)], out["mask"][at, : len(each.ids)] = each.ids, 1
            out["kinds"][at, : len(each.ids)] = each.kinds
            out["marks"][at, : len(each.marks)], out["real"][at, : len(each.marks)] = each.marks, True
            labels = self.labels[rows]
            out["right"][at, : len(rows) + 1] = [not labels.any(), *labels]
            out["tells"][at, 1 : len(rows) + 1] = self.tells[rows]
        return out

    def _text(self, number: int) -> list[int]:
        start = self.starts[number]
        return self.tokens[start : start + self.lengths[number]].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--external", type=Path, required=True)
    options = parser.parse_args()
    train, left_out = split_matters(read_matters())
    made = list(make_timelines(train, MADE, seed=7))
    unseen = list(make_timelines([m for m in left_out if m["unseen"] == "matter"], MEASURED, seed=8))
    home = MATTERS.parent
    written = [
        timeline
        for name in ("worlds", "talks")
        for timeline in read_timelines(read_worlds(home / name, variants=VARIANTS), name)
    ]
    strange = list(read_timelines(read_worlds(STRANGERS, "[ab].jsonl"), "strangers"))
    others = list(read_external(options.external / "external.jsonl.xz"))
    unseen = [{**each, "set": "unseen_matters"} for each in unseen]
    timelines = [*made, *unseen, *written, *strange, *others, *read_askings_timelines()]
    arrays = encode(timelines, Tokenizer.from_file(str(options.folder / "tokenizer.json")))
    np.savez_compressed(options.folder / "timelines.npz", **arrays)
    for name, array in arrays.items():
        print(name, array.shape, array.dtype)


if __name__ == "__main__":
    main()

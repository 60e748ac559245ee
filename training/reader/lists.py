"""Builds the lists that the reader and the embedder are trained on: a question, and up to 24 dated lines.

    python -m training.reader.lists LISTS --candidates CANDIDATES [SOURCE ...]

Writes LISTS/<source>.jsonl for each source. For questions about worlds the lines are recall's first 24, in their order,
asked with the table of word vectors and without a reader. CANDIDATES holds those of the development sets
(`training.material.development_sets`). All sources together take about half an hour on two cores, most of it `worlds`.
"""

from __future__ import annotations

import argparse
import logging
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from training.material.askings import read_turns
from training.material.chats import read_chats
from training.material.development_sets import MEASURED_SETS, TRAINED_SETS, read_development_set
from training.material.files import CHATS, DEVELOPMENT_SETS, PUBLIC_QUESTIONS, TEST_WORLDS, TRAINING, read_rows
from training.material.matters import read_matters, split_matters
from training.material.timelines import NOW, make_timelines
from training.material.worlds import World, asked_before, read_people, read_projects, read_worlds, retold
from training.reader.question_list import ASKED_ON, UNKNOWN, Line, QuestionList, write_lists
from training.reader.standing import lists_of_lives, lists_of_people, lists_of_projects
from training.reader.statebench import lists_of_statebench

import remanence

MAX_LINES = 24
MADE, MEASURED = 30_000, 800
"""How many questions are made of the matters to train on, and of those that are left out."""
MATTER_LINES = 18
MAX_ASKINGS, FIRST_PLACES = 2, 8
"""How many turns that asked the same stand among the lines, and among how many of the first ones."""
Source = Callable[[], Iterable[QuestionList]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, help="the folder to write to")
    parser.add_argument("sources", nargs="*", help="all of them by default")
    parser.add_argument("--candidates", type=Path, help="recall's candidates for the development sets")
    parser.add_argument("--chats", type=Path, default=CHATS, help="chats of people with an assistant")
    parser.add_argument("--data", type=Path, default=DEVELOPMENT_SETS, help="the development sets")
    parser.add_argument("--public", type=Path, default=PUBLIC_QUESTIONS, help="questions of public data")
    parser.add_argument("--statebench", type=Path, nargs="*", default=(), help="train.jsonl of StateBench's releases")
    parser.add_argument("--limit", type=int, help="write at most so many lists of a source, to try it out")
    options = parser.parse_intermixed_args()
    logging.disable(logging.CRITICAL)
    options.lists.mkdir(parents=True, exist_ok=True)
    known = sources(options)
    for name in options.sources or known:
        count = write_lists(islice(known[name](), options.limit), options.lists / f"{name}.jsonl")
        print(name, count, flush=True)


def sources(options: argparse.Namespace) -> dict[str, Source]:
    """What makes the lists of each source."""
    worlds = TRAINING / "worlds"
    known: dict[str, Source] = {
        "worlds": lambda: lists_of_worlds(
            chain(read_worlds(worlds, "?.jsonl"), read_worlds(worlds, "z[a-d].jsonl")), "worlds"
        ),
        "late": lambda: lists_of_worlds(read_worlds(worlds, "z[e-i].jsonl"), "late", variants=4),
        "team": lambda: lists_of_worlds(read_worlds(worlds, "team.jsonl"), "team"),
        "revoked": lambda: lists_of_worlds(read_worlds(worlds, "revoked.jsonl"), "revoked"),
        "talks": lambda: lists_of_worlds(read_worlds(TRAINING / "talks"), "talks"),
        "projects": lambda: lists_of_worlds(read_projects(), "projects"),
        "chat": lambda: lists_of_worlds(
            chain(read_people("a", options.chats), read_people("b", options.chats)), "chat", variants=1
        ),
        "standing": lambda: chain(lists_of_people("a", options.chats), lists_of_people("b", options.chats)),
        "standing_projects": lists_of_projects,
        "lives": lists_of_lives,
        "matters": lists_of_matters,
        "public": lambda: lists_of_candidates(read_rows(options.public), "external"),
        "chats": lambda: lists_of_candidates(read_chats(), "chats"),
        "askings": lambda: lists_of_candidates(read_turns(), "turns"),
        "strangers": lambda: lists_of_worlds(read_worlds(TEST_WORLDS, "[ab].jsonl"), "strangers", measured=True),
        "writers": lambda: lists_of_worlds(read_worlds(TEST_WORLDS, "e.jsonl"), "writers", measured=True),
    }
    if options.statebench:
        known["statebench"] = lambda: lists_of_statebench(options.statebench)
    if options.candidates:
        for name in (*TRAINED_SETS, *MEASURED_SETS):
            known[name] = partial(lists_of_development_set, name, options.candidates, options.data)
    return known


def lists_of_worlds(
    worlds: Iterable[World], name: str, *, variants: int = 2, measured: bool = False
) -> Iterator[QuestionList]:
    """Lists of all questions about worlds; also with so many other casts of names, unless they measure."""
    for world in worlds:
        rng = random.Random(world["world"])
        rankings = rank_by_recall(world)
        others = 0 if measured else variants
        for told in [world, *(retold(world, rng) for _ in range(others))]:
            for asked, ranking in zip(told["questions"], rankings, strict=True):
                yield from _lists_of_question(asked, ranking, told, name, None if measured else rng)


def rank_by_recall(world: World) -> list[list[str]]:
    """For each question the ids of its first memories by the signals of recall."""
    memories = sorted(world["memories"], key=lambda memory: memory["time"])
    with remanence.open(None, embedder="fast", reader=None, worker=False) as space:
        if any(memory["speaker"] for memory in memories):
            added = space.add_turns([_as_turn(memory) for memory in memories])
        else:
            added = [space.add(memory["text"], now=memory["time"]) for memory in memories]
        ids = {stored.id: memory["id"] for stored, memory in zip(added, memories, strict=True)}
        rankings = []
        for asked in world["questions"]:
            hits = space.recall(asked["q"], now=asked["asked_at"], limit=MAX_LINES, history=True)
            rankings.append(list(dict.fromkeys(ids[hit.memory.id] for hit in hits if hit.memory.id in ids)))
    return rankings


def _as_turn(memory: dict[str, Any]) -> dict[str, Any]:
    time = memory["time"]
    return {"speaker": memory["speaker"] or "note", "content": memory["text"], "time": time, "conversation": time[:10]}


def _lists_of_question(
    asked: dict[str, Any], ranking: list[str], world: World, name: str, rng: random.Random | None
) -> Iterator[QuestionList]:
    """The list of a question; to train on (with `rng`) with turns that asked the same, and as one of them asks it."""
    memories = {memory["id"]: memory for memory in world["memories"]}
    known = [number for number in ranking if memories[number]["time"] <= asked["asked_at"]]
    right, stale = set(asked["right"]), set(asked["stale"])
    lines = [
        Line(
            memories[number]["text"],
            memories[number]["time"][:10],
            memories[number]["speaker"],
            memories[number]["before"],
            answers=number in right,
            tells=number in right | stale,
            replaced=_is_replaced(number, asked, memories),
        )
        for number in known
    ]
    if rng is not None:
        lines = _with_askings(lines, asked, world, rng)
    day, answerable = asked["asked_at"][:10], bool(right)
    yield QuestionList(name, world["world"], asked["q"], day, lines, answerable, measured=rng is None)
    for text in asked["asks"][:1] if rng is not None else ():
        others = [line for line in lines if line.text != text]
        yield QuestionList(name, world["world"], text, day, others, answerable)


def _is_replaced(number: str, asked: dict[str, Any], memories: dict[str, dict[str, Any]]) -> int:
    """Whether a memory no longer holds, which only questions about now say."""
    if asked["kind"] != "now":
        return UNKNOWN
    if number in asked["right"]:
        return 0
    later = any(memories[right]["time"] > memories[number]["time"] for right in asked["right"])
    return 1 if number in asked["stale"] and later else UNKNOWN


def _with_askings(lines: list[Line], asked: dict[str, Any], world: World, rng: random.Random) -> list[Line]:
    """The lines, with turns that asked for the same among the first ones. They answer nothing."""
    lines, asks = list(lines), asked_before(asked, world, rng)
    days = sorted(line.day for line in lines)
    for ask in asks[:MAX_ASKINGS] if lines else ():
        place = rng.randint(0, min(FIRST_PLACES, len(lines)))
        lines.insert(place, Line(ask["t"], rng.choice(days), ask["s"]))
    return lines


def lists_of_matters() -> Iterator[QuestionList]:
    """Lists made of the hand-written matters; those of one matter in ten measure."""
    train, left_out = split_matters(read_matters())
    unseen = [matter for matter in left_out if matter["unseen"] == "matter"]
    for name, matters, count, seed in (("matters", train, MADE, 7), ("unseen_matters", unseen, MEASURED, 8)):
        for timeline in make_timelines(matters, count, seed):
            lines = [
                Line(
                    line["t"],
                    line["time"].date().isoformat(),
                    line["s"],
                    line["p"],
                    answers=bool(line["y"]),
                    tells=line["tells"],
                )
                for line in timeline["lines"]
            ]
            random.Random(timeline["q"]).shuffle(lines)
            yield _with_answerable(name, timeline["q"], lines[:MATTER_LINES], measured=name != "matters")


def _with_answerable(name: str, question: str, lines: list[Line], *, measured: bool) -> QuestionList:
    answerable = any(line.answers for line in lines)
    return QuestionList(name, name, question, ASKED_ON, lines, answerable, measured)


def lists_of_candidates(packs: Iterable[dict[str, Any]], seed: str) -> Iterator[QuestionList]:
    """Lists of questions with candidates that have no days: their order is kept, and the days are made up."""
    rng = random.Random(seed)
    for pack in packs:
        if pack.get("soft") or len(pack["cands"]) < 3:
            continue
        day = NOW - timedelta(days=rng.choice([3, 40, 400]))
        known, lines = pack.get("answerable", True), []
        for candidate in pack["cands"][:MAX_LINES]:
            day += (NOW - day) * rng.random() * 0.15
            lines.append(_line_of_candidate(candidate, day, known))
        answerable = known and any(candidate["y"] for candidate in pack["cands"])
        yield QuestionList(pack["set"], pack["set"], pack["q"], ASKED_ON, lines, answerable, bool(pack.get("measure")))


def lists_of_development_set(name: str, candidates: Path, data: Path) -> Iterator[QuestionList]:
    """Lists of a development set. When its questions were asked is not used."""
    for pack in read_development_set(name, candidates, data):
        lines = [_line_of_candidate(each, each["day"], pack["answerable"]) for each in pack["cands"][:MAX_LINES]]
        answerable = any(line.answers for line in lines)
        yield QuestionList(name, name, pack["q"], ASKED_ON, lines, answerable, pack["measure"], pack["wanted"])


def _line_of_candidate(candidate: dict[str, Any], day: datetime | str, answerable: bool) -> Line:
    answers = bool(candidate["y"]) and answerable
    return Line(
        candidate["t"],
        day if isinstance(day, str) else day.date().isoformat(),
        candidate.get("s"),
        candidate.get("p") or "",
        candidate.get("title") or "",
        answers=answers,
        tells=answers,
    )


if __name__ == "__main__":
    main()

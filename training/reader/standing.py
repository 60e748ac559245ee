"""Lists of standing questions ("Where do I live now?", "Which decisions are in force?"): which lines still hold.

They are made of chats, projects and lives in which each turn or note has the facts it tells and the facts it ends.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from training.material.files import CHATS, TRAINING, read_folder, read_rows, read_topics
from training.material.worlds import read_people, read_projects
from training.reader.question_list import UNKNOWN, Line, QuestionList

MAX_LINES = 14
"""How many lines a list has, unless more of them tell of the topic."""
MIN_OTHERS = 2
EMPTY = 0.12
"""The share of the topics that nothing is told of which are asked about all the same."""
LIFE_LINES, LISTS_OF_A_LIFE = 16, 3
LIFE_QUESTIONS = ("What is true of me now?", "What do you know about me?", "What have I told you that still holds?")


class Statement(NamedTuple):
    """A turn or a note."""

    memory: dict[str, Any]
    facts: list[str]
    """What it tells."""
    ends: list[str]
    """Which earlier facts no longer hold after it."""


def lists_of_people(name: str, chats: Path = CHATS) -> Iterator[QuestionList]:
    """What holds of people, by topic, from what they told an assistant."""
    labels = {row["person"]: row["facts"] for row in read_rows(TRAINING / "labels" / f"{name}.jsonl")}
    worlds = read_people(name, chats)
    for person, world in zip(read_rows(chats / f"{name}.jsonl"), worlds, strict=True):
        turns = [turn for session in person["sessions"] for turn in session["turns"] if turn["role"] == "user"]
        memories = [memory for memory in world["memories"] if memory["speaker"] == "user"]
        topics = {fact["id"]: fact["topics"] for fact in labels[person["person"]]}
        said = [_statement(memory, turn) for memory, turn in zip(memories, turns, strict=True)]
        yield from _standing(f"standing_{name}_{person['person']}", said, topics, read_topics("person"))


def lists_of_projects() -> Iterator[QuestionList]:
    """What holds of projects, by topic, from the notes of a team."""
    for project, world in zip(read_folder(TRAINING / "projects"), read_projects(), strict=True):
        topics = {fact["id"]: fact["topics"] for note in project["notes"] for fact in note["facts"]}
        said = [_statement(*pair) for pair in zip(world["memories"], project["notes"], strict=True)]
        yield from _standing(f"standing_p_{project['project']}", said, topics, read_topics("project"))


def _statement(memory: dict[str, Any], labelled: dict[str, Any]) -> Statement:
    return Statement(memory, [fact["id"] for fact in labelled["facts"]], labelled["ends"])


def _standing(
    name: str, said: Sequence[Statement], topics: Mapping[str, list[str]], table: Sequence[tuple[str, str]]
) -> Iterator[QuestionList]:
    """A list for each topic, at the end and at some moment before it."""
    rng = random.Random(name)
    end_of = {fact: place for place, each in enumerate(said) for fact in each.ends}
    for count in sorted({len(said), rng.randint(max(4, len(said) // 2), len(said))}):
        known = said[:count]
        last = datetime.fromisoformat(known[-1].memory["time"])
        asked_on = (last + timedelta(days=rng.choice([0, 3, 30, 120]))).date().isoformat()
        ended = {fact for fact, place in end_of.items() if place < count}
        for topic, question in table:
            lines = [_standing_line(each, topic, topics, ended) for each in known]
            chosen = _choose_lines(lines, [bool(each.facts) for each in known], rng)
            if chosen:
                answerable = any(line.answers for line in chosen)
                yield QuestionList("standing", name, question, asked_on, chosen, answerable)


def _standing_line(said: Statement, topic: str, topics: Mapping[str, list[str]], ended: set[str]) -> Line:
    on_topic = [fact for fact in said.facts if topic in topics[fact]]
    return Line(
        said.memory["text"],
        said.memory["time"][:10],
        said.memory["speaker"],
        said.memory["before"],
        answers=any(fact not in ended for fact in on_topic),
        tells=bool(on_topic),
        replaced=_is_replaced(len(said.facts), sum(fact in ended for fact in said.facts)),
    )


def _is_replaced(facts: int, ended: int) -> int:
    """Whether all of the facts of a line have ended; unknown if it has none, or if some have."""
    if facts == 0 or 0 < ended < facts:
        return UNKNOWN
    return int(ended == facts)


def _choose_lines(lines: Sequence[Line], have_facts: Sequence[bool], rng: random.Random) -> list[Line]:
    """Those that tell of the topic and some others, mostly such that tell something, shuffled. None if nothing is told
    of the topic, with few exceptions."""
    told = [place for place, line in enumerate(lines) if line.tells]
    if not told and rng.random() > EMPTY:
        return []
    others = [place for place, line in enumerate(lines) if not line.tells]
    rng.shuffle(others)
    others.sort(key=lambda place: not have_facts[place] and rng.random() < 0.7)
    chosen = [lines[place] for place in sorted([*told, *others[: max(MIN_OTHERS, MAX_LINES - len(told))]])]
    rng.shuffle(chosen)
    return chosen


def lists_of_lives() -> Iterator[QuestionList]:
    """What holds of users as a whole, from their messages over months; one life in ten measures."""
    rng = random.Random(3)
    for file in sorted((TRAINING / "lives").glob("*.jsonl")):
        for number, life in enumerate(read_rows(file)):
            for _ in range(LISTS_OF_A_LIFE):
                told = life["told"]
                known = told[: rng.randint(max(3, len(told) // 2), len(told))]
                lines = _lines_of_life(known)
                if len(lines) > LIFE_LINES:
                    share = LIFE_LINES / len(lines)
                    lines = [line for line in lines if rng.random() < share or line.replaced == 1]
                rng.shuffle(lines)
                question, asked_on = rng.choice(LIFE_QUESTIONS), known[-1]["time"][:10]
                answerable = any(line.answers for line in lines)
                yield QuestionList("lives", life["life"], question, asked_on, lines, answerable, number % 10 == 4)


def _lines_of_life(known: Sequence[dict[str, Any]]) -> list[Line]:
    ended = {
        (done["id"], done.get("fact", 0))
        for message in known
        for done in message.get("on", ())
        if done["how"] in ("replaces", "ends")
    }
    lines = []
    for message in known:
        count = len(message["facts"])
        replaced = _is_replaced(count, sum((message["id"], fact) in ended for fact in range(count)))
        before = f"assistant: {message['asked']}" if "asked" in message else ""
        told = {"answers": replaced == 0, "tells": count > 0, "replaced": replaced}
        lines.append(Line(message["said"], message["time"][:10], "user", before, **told))
    return lines

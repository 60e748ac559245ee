"""Worlds, talks, projects and chats that were written by hand, in one form: memories, and questions about them.

A world is written once and read several times: with other names for its people, in other years. What is to be learned
does not change by that, and a model that meets a world many times cannot know its answers by name and date.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from training.material.askings import read_askings
from training.material.files import CHATS, TRAINING, read_folder, read_rows
from training.material.matters import PEOPLE

World = dict[str, Any]
_NAME = re.compile(r"\b[A-Z][a-zà-ÿ]{2,}\b")
_ASKED_ABOUT = re.compile(
    r"\b(?:[Dd]oes|[Dd]id|[Ii]s|[Ww]as|[Hh]as|[Hh]ad|[Ww]ill|[Cc]an|[Cc]ould|[Ss]hould|[Dd]o)\s+([A-Z][a-zà-ÿ]{2,})\b"
    r"|\b([A-Z][a-zà-ÿ]{2,})'s\b"
)
_PLACED = re.compile(r"\b(?:in|at|to|from|near|the|on|into|via)\s+([A-Z][a-zà-ÿ]{2,})\b")
_YEAR = re.compile(r"\b20[12]\d\b")
_NO_NAMES = frozenset(
    "January February March April May June July August September October November December Monday Tuesday Wednesday "
    "Thursday Friday Saturday Sunday Christmas Easter Ramadan Dad Mum Mom Grandma Grandpa Aunt Uncle "
    "What Who Where When How Why That There Let Frau Herr Mrs Madame Señora The User Assistant".split()
)


def read_worlds(folder: Path, files: str = "*.jsonl") -> Iterator[World]:
    """Written worlds. Each memory has the turn `before` it, and each question how it was asked again."""
    askings = read_askings()
    for world in read_folder(folder, files):
        for asked in world["questions"]:
            again = askings.get((world["world"], asked["q"]), {"asks": [], "tells": None})
            asked |= {"asks": again["asks"], "told_again": again["tells"]}
        set_turns_before(world)
        yield world


def read_projects() -> Iterator[World]:
    """Projects of a team, each a world of its notes."""
    for project in read_folder(TRAINING / "projects"):
        memories = [
            {"id": note["id"], "time": note["at"], "speaker": note["author"], "text": note["text"]}
            for note in project["notes"]
        ]
        yield _as_world(project["project"], memories, project["questions"])


def read_people(name: str, chats: Path = CHATS) -> Iterator[World]:
    """Chats of people with an assistant, each a world. Turns of the user are "u0", "u1" and so on."""
    questions = {row["person"]: row["questions"] for row in read_rows(TRAINING / "labels" / f"{name}.jsonl")}
    for person in read_rows(chats / f"{name}.jsonl"):
        memories: list[dict[str, Any]] = []
        users = 0
        for session in person["sessions"]:
            begin = datetime.fromisoformat(session["at"])
            for place, turn in enumerate(session["turns"]):
                number = f"u{users}" if turn["role"] == "user" else f"x{len(memories)}"
                users += turn["role"] == "user"
                time = (begin + timedelta(minutes=place)).isoformat()[:16]
                memories.append({"id": number, "time": time, "speaker": turn["role"], "text": turn["text"]})
        yield _as_world(person["person"], memories, questions[person["person"]])


def _as_world(name: str, memories: list[dict[str, Any]], questions: list[dict[str, Any]]) -> World:
    world = {
        "world": name,
        "memories": memories,
        "questions": [asked | {"asks": [], "told_again": None} for asked in questions],
    }
    set_turns_before(world)
    return world


def set_turns_before(world: World) -> None:
    """Give each memory the turn `before` it on the same day, "" if there is none."""
    last = None
    for memory in world["memories"]:
        near = last is not None and last["time"][:10] == memory["time"][:10] and last["speaker"]
        memory["before"] = f"{last['speaker']}: {last['text']}" if last and near and memory["speaker"] else ""
        last = memory


def retold(world: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A world with other names for its people, some years earlier or later."""
    names = sorted(people_of(world))
    others = rng.sample([name for name in PEOPLE if name not in names], len(names)) if len(names) < 40 else names
    new_name = dict(zip(names, others, strict=True))
    years = rng.randint(-6, 3)

    def tell(text: str) -> str:
        text = _NAME.sub(lambda match: new_name.get(match[0], match[0]), text)
        return _YEAR.sub(lambda match: str(int(match[0]) + years), text)

    memories = [
        memory | {"text": tell(memory["text"]), "speaker": tell(memory["speaker"] or "")}
        | {"time": _later(memory["time"], years)}
        for memory in world["memories"]
    ]  # fmt: skip
    questions = [
        asked
        | {"q": tell(asked["q"]), "asked_at": _later(asked["asked_at"], years), "asks": [*map(tell, asked["asks"])]}
        | {"told_again": tell(asked["told_again"]) if asked["told_again"] else None}
        for asked in world["questions"]
    ]
    other = world | {"memories": memories, "questions": questions}
    set_turns_before(other)
    return other


def people_of(world: dict[str, Any]) -> set[str]:
    """The first names in a world: of speakers, and names that questions ask about and that no text uses as a place."""
    texts = [memory["text"] for memory in world["memories"]]
    asked = " ".join(question["q"] for question in world["questions"])
    speakers = {memory["speaker"] for memory in world["memories"] if _NAME.fullmatch(memory["speaker"] or "")}
    named = {first or second for first, second in _ASKED_ABOUT.findall(asked)}
    placed = {name for text in [*texts, asked] for name in _PLACED.findall(text)}
    return (speakers | (named - placed)) - _NO_NAMES


def _later(time: str, years: int) -> str:
    moment = datetime.fromisoformat(time)
    day = 28 if (moment.month, moment.day) == (2, 29) else moment.day
    return moment.replace(year=moment.year + years, day=day).isoformat()


def asked_before(asked: dict[str, Any], world: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    """Turns that asked for what a question asks for, as candidates that answer nothing: those written for it, and now
    and then other questions of the world with the same answers."""
    same = [other["q"] for other in world["questions"] if {*other["right"], *other["stale"]} & set(asked["right"])]
    texts = [*asked["asks"], *(rng.sample(same, min(len(same), 2)) if rng.random() < 0.35 else [])]
    return [{"t": text, "s": rng.choice(speakers_of(world)), "p": "", "y": 0} for text in texts]


def speakers_of(world: dict[str, Any]) -> list[str | None]:
    """Who may ask in a world: its speakers but the assistant."""
    speakers = sorted({memory["speaker"] for memory in world["memories"] if memory["speaker"]} - {"assistant"})
    return speakers or [None]

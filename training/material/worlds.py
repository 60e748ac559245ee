"""Worlds, talks and lives that were written by hand: their questions with candidates, and pairs of statements.

A world is written once and read several times: with other names for its people, in other years. What is to be learned
does not change by that, and a model that meets a world many times cannot know its answers by name and date.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from askings import read_askings
from generate import MATTERS, PEOPLE

VARIANTS = 2
"""How often each world that is trained on is read with other names and years, besides once as it was written."""
WRONG = 30
"""How many wrong candidates of a question are kept: those that share most words with it."""
STRANGERS = MATTERS.parents[1] / "benchmarks" / "worlds"
"""The test worlds; those in the files a and b may be looked at, and are not trained on."""
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


def read_worlds(folder: Path, files: str = "*.jsonl", *, variants: int = 0) -> Iterator[dict[str, Any]]:
    """Written worlds, each also with so many other casts of names and years. Each memory has the turn `before` it."""
    askings = read_askings()
    for file in sorted(folder.glob(files)):
        for written in map(json.loads, file.read_text("utf-8").splitlines()):
            rng = random.Random(written["world"])
            for asked in written["questions"]:
                again = askings.get((written["world"], asked["q"]), {"asks": [], "tells": None})
                asked |= {"asks": again["asks"], "told_again": again["tells"]}
            for world in [written, *(retold(written, rng) for _ in range(variants))]:
                last = None
                for memory in world["memories"]:
                    near = last is not None and last["time"][:10] == memory["time"][:10] and last["speaker"]
                    memory["before"] = f"{last['speaker']}: {last['text']}" if near and memory["speaker"] else ""
                    last = memory
                yield world


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
    return world | {"memories": memories, "questions": questions}


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


def read_written() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The questions and pairs of all worlds and talks that are trained on. A question has its own pairs, of a statement
    that answers it and one that may change the answer."""
    home = MATTERS.parent
    worlds, talks = (_with_candidates(read_worlds(home / n, variants=VARIANTS), n) for n in ("worlds", "talks"))
    return worlds[0] + talks[0], worlds[1] + talks[1]


def read_strangers() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The same of the test worlds that one may look at. They measure and are not trained on."""
    questions, pairs = _with_candidates(read_worlds(STRANGERS, "[ab].jsonl"), "strangers")
    return [asked | {"measure": True} for asked in questions], pairs


def _with_candidates(worlds: Iterator[dict[str, Any]], name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rng = random.Random(5)
    questions, pairs = [], []
    for world in worlds:
        side_of = {m["id"]: {"t": m["text"], "s": m["speaker"], "p": m["before"]} for m in world["memories"]}
        for asked in world["questions"]:
            tells = {*asked["right"], *asked["stale"]}
            cands = [side | {"y": int(key in tells)} for key, side in side_of.items()]
            rng.shuffle(cands)
            cands.sort(key=lambda cand: -shared_words(asked["q"], cand["t"]))
            right = [cand for cand in cands if cand["y"]]
            cands = right + [cand for cand in cands if not cand["y"]][:WRONG]
            known = asked["kind"] != "none"
            later = _pairs_for(asked, world["memories"], side_of)
            again = asked_before(asked, world, rng) if name != "strangers" else []
            later += [
                {"q": asked["q"], "earlier": side_of[key], "later": ask, "relation": "none"}
                for key in asked["right"][:1]
                for ask in again[:2]
            ]
            if asked["told_again"]:
                again.append({"t": asked["told_again"], "s": rng.choice(speakers_of(world)), "p": "", "y": 1})
            pack = {"set": name, "q": asked["q"], "answerable": known, "cands": cands + again}
            questions.append(pack | {"pairs": later})
            for text in asked["asks"]:
                others = [ask for ask in again if ask["t"] != text]
                questions.append({"set": "asked_again", "q": text, "answerable": known, "cands": cands + others})
        for pair in world["pairs"]:
            earlier, later = side_of[pair["earlier"]], side_of[pair["later"]]
            pairs.append({"earlier": earlier, "later": later, "relation": pair["relation"]})
    return questions, pairs


def asked_before(asked: dict[str, Any], world: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    """Turns that asked for what a question asks for, as candidates that answer nothing: those written for it, and now
    and then other questions of the world with the same answers."""
    same = [other["q"] for other in world["questions"] if {*other["right"], *other["stale"]} & set(asked["right"])]
    texts = [*asked["asks"], *(rng.sample(same, min(len(same), 2)) if rng.random() < 0.35 else [])]
    return [{"t": text, "s": rng.choice(speakers_of(world)), "p": "", "y": 0, "asks": 1} for text in texts]


def speakers_of(world: dict[str, Any]) -> list[str | None]:
    """Who may ask in a world: its speakers but the assistant."""
    speakers = sorted({memory["speaker"] for memory in world["memories"] if memory["speaker"]} - {"assistant"})
    return speakers or [None]


def _pairs_for(
    asked: dict[str, Any], memories: list[dict[str, Any]], side_of: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """For a question about now or another time, each statement that answers it with all later ones: those that answer
    it otherwise replace the answer, those that do not answer it leave it."""
    right, stale = set(asked["right"]), set(asked["stale"])
    if asked["kind"] not in ("now", "at") or not right:
        return []
    out = []
    for place, earlier in enumerate(memories):
        if earlier["id"] in right | stale:
            for later in memories[place + 1 :]:
                if (earlier["id"] in right) != (later["id"] in right) and later["id"] in right | stale:
                    relation = "replaces"
                elif later["id"] not in right | stale:
                    relation = "none"
                else:
                    continue  # two that hold at one time, or two at other times
                sides = {"earlier": side_of[earlier["id"]], "later": side_of[later["id"]]}
                out.append({"q": asked["q"], **sides, "relation": relation})
    return out


def read_lives() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Pairs of what one user told at different times; those of one life in ten measure and are not trained on."""
    files = sorted((MATTERS.parent / "lives").glob("*.jsonl"))
    lives = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    trained = [pair for number, life in enumerate(lives) if number % 10 != 4 for pair in _pairs_of_life(life)]
    return trained, [pair for life in lives[4::10] for pair in _pairs_of_life(life)]


def _pairs_of_life(life: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each message with each earlier one in the forms in which `remember` compares them: two facts, an earlier fact and
    the message, two messages. A form that leaves open which of several facts is meant is left out."""
    for place, later in enumerate(life["told"]):
        message = {"t": later["said"], "s": "user", "p": f"assistant: {later['asked']}" if "asked" in later else ""}
        new_facts = [_as_fact(fact) for fact in later["facts"]]
        for earlier in life["told"][:place]:
            done = {each.get("fact", 0): each["how"] for each in later.get("on", ()) if each["id"] == earlier["id"]}
            for number, fact in enumerate(map(_as_fact, earlier["facts"])):
                relation = done.get(number, "none")
                yield {"earlier": {"t": fact}, "later": message, "relation": relation}
                if relation == "none" or len(new_facts) == 1:
                    for new in new_facts:
                        yield {"earlier": {"t": fact}, "later": {"t": new}, "relation": relation}
            if len(earlier["facts"]) == 1 or not done:
                before = f"assistant: {earlier['asked']}" if "asked" in earlier else ""
                said = {"t": earlier["said"], "s": "user", "p": before}
                yield {"earlier": said, "later": message, "relation": done.get(0, "none")}


def _as_fact(fact: str) -> str:
    """A fact in the form that `remember` gives it: "The user …" with a full stop."""
    told = re.sub(r"\bUser\b", "the user", fact)
    return f"{told[0].upper()}{told[1:]}" + ("" if told[-1] in ".!?" else ".")


def shared_words(question: str, text: str) -> int:
    """How many words of some length two texts share, by their beginnings."""
    first, second = ({word[:5] for word in re.findall(r"\w{4,}", t.lower())} for t in (question, text))
    return len(first & second)

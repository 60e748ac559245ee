"""Made-up worlds of the hand-written matters: what is told of them over time, and questions with candidates.

A candidate of a question is right where it tells the matter asked about, of that person or thing, at whatever time.
`timelines.py` makes the questions that are about a time.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from training.material.files import TRAINING, read_folder

TELLING = {"state", "change", "add", "long", "passing", "chat"}
"""The kinds of lines that tell how a matter stands."""
MONTHS = "January February March April May June July August September October November December".split()
PEOPLE = (
    "Ana Ben Carla Deniz Elif Farid Greta Hugo Ines Jonas Kavya Leo Marta Nils Olga Pavel Quinn Rosa Samir Tess "
    "Uri Vera Wout Xenia Yusuf Zoe Amara Bruno Chidi Dora Emil Freya Gus Hana Ivo Jun Kofi Lena Mateo Noor Otto "
    "Petra Rafi Sanne Theo Uma Viktor Wren Yara Zane Aisha Bartek Chloe Dmitri Esther Fatou Gareth Hiroshi Imani "
    "Jolanta Kwame Lucia Malik Nadia Owen Priya Ravi Svetlana Tomasz Ulla Victor Wanda Xavier Yolanda Zofia "
    "Caroline Melanie Emma Jack Kate Paul Fiona Marcus Elena Joanna James Maria Nate Andrew Audrey Tim John Sarah "
    "Mike Lisa David Grace Sam Rachel "
).split()
SURNAMES = "Okafor Lindqvist Haddad Novak Rossi Tanaka Schmidt Diallo Murphy Silva Kowalski Nguyen Brandt Ortiz".split()


@dataclass
class Line:
    """A statement: what it says, who says it, and which matters of whom it tells."""

    text: str
    speaker: str | None
    tells: frozenset[tuple[str, str]]
    about: frozenset[tuple[str, str]]
    before: str = ""
    kind: str = ""
    values: tuple[str, str] = ("", "")


@dataclass
class Told:
    """What was told of one matter of one subject."""

    matter: dict[str, Any]
    subject: str
    me: bool
    values: list[str]
    lines: list[Line] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        """The matter and whose it is."""
        return self.matter["matter"], "user" if self.me else self.subject


def read_matters() -> list[dict[str, Any]]:
    """All hand-written matters."""
    return list(read_folder(TRAINING / "matters"))


def split_matters(matters: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The matters to train on, without some of their wordings; and those that measure transfer: one matter in ten as a
    whole, and of the others the wordings that were left out."""
    train, kept = [], []
    for number, matter in enumerate(sorted(matters, key=lambda m: m["matter"])):
        if number % 10 == 4:
            kept.append(matter | {"unseen": "matter"})
            continue
        seen, unseen = dict(matter), dict(matter)
        for kind, wordings in matter.items():
            if kind.startswith(("ask_", "state_", "change_")) and isinstance(wordings, list) and len(wordings) > 4:
                seen[kind], unseen[kind] = wordings[:-1], wordings[-1:]
        train.append(seen)
        kept.append(unseen | {"unseen": "wording"})
    return train, kept


def time_phrase(rng: random.Random) -> str:
    """A time as it stands in a question."""
    month, year, day = rng.choice(MONTHS), rng.randrange(2019, 2027), rng.randrange(1, 29)
    exact = [f"in {month} {year}", f"in {year}", f"on {day} {month} {year}", f"as of {day} {month}", f"in early {year}"]
    vague = [f"back in {month}", f"at the end of {year}", f"in the spring of {year}", f"around {month} {year}"]
    relative = ["two years ago", "last year", "last summer", "at that time", "a few months ago", "last winter"]
    return rng.choice([*exact, *vague, *relative, "at the start of the year"])


class World:
    """A few subjects, several matters of each, told over time as notes, in a chat of people, or to an assistant."""

    def __init__(self, rng: random.Random, matters: list[dict[str, Any]]) -> None:
        self.rng = rng
        self.style = rng.choice(["notes", "named", "user", "user"])
        people = rng.sample(PEOPLE, 4)
        if rng.random() < 0.15:  # two of one first name
            people[1] = f"{people[0]} {rng.choice(SURNAMES)}"
        self.people = people
        self.told: list[Told] = []
        for matter in rng.sample(matters, rng.randint(5, 9)):
            pool = matter["names"] if "names" in matter and matter.get("subject") != "person" else people
            for subject in rng.sample(pool, min(len(pool), rng.choice([1, 2, 2, 3]))):
                self.told.append(self._tell(matter, subject))
        self.lines = [line for told in self.told for line in told.lines]
        self._join_turns()

    def _tell(self, matter: dict[str, Any], subject: str) -> Told:
        rng = self.rng
        person = matter.get("subject", "person") == "person"
        first = person and "state_1" in matter and self.style != "notes" and rng.random() < 0.65
        me = first and self.style == "user"
        told = Told(matter, subject, me, rng.sample(matter["values"], min(4, len(matter["values"]))))
        if me and any(other.key == told.key for other in self.told):
            told.me = me = first = False
        person_suffix = "_1" if first else "_3"
        values = told.values

        def say(kind: str, value: str, other: str, tells: bool) -> None:
            wordings = matter.get(kind if kind in ("fix_1", "chat", "chat_no", "near") else kind + person_suffix)
            if not wordings:
                return
            wording, before = rng.choice(wordings), ""
            if isinstance(wording, dict):
                before = fill(wording["asked"], subject, value, other)
                wording = wording["answer"]
            text = fill(wording, subject, value, other)
            speaker = self._speaker(subject, first and kind != "near", me)
            if before:
                speaker = speaker or rng.choice(self.people)
                asker = "assistant" if speaker == "user" else rng.choice([p for p in self.people if p != speaker])
                before = f"{asker}: {before}"
            tells_keys = frozenset([told.key]) if tells else frozenset()
            told.lines.append(Line(text, speaker, tells_keys, frozenset([told.key]), before, kind, (value, other)))

        if rng.random() < 0.8:
            say(self._kind(first, "state"), values[0], values[1], True)
        for n in range(rng.choice([0, 1, 1, 2])):
            more = "add" if matter.get("many") and rng.random() < 0.5 else "change"
            say(self._kind(first, rng.choice([more, more, "state"])), values[n + 1], values[n], True)
        if rng.random() < 0.2:
            say("end", values[0], values[0], True)
        if rng.random() < 0.06:
            say("none", values[0], values[1], True)
        if first and rng.random() < 0.15:
            say("fix_1", values[2], values[1], True)
        for _ in range(rng.choice([0, 1, 1, 2])):
            say("not", values[3 % len(values)], values[0], False)
        for _ in range(rng.choice([1, 1, 2])):
            say("near", values[0], values[1], False)
        if rng.random() < 0.08:
            say("chat_no", values[0], values[1], False)
        return told

    def _kind(self, first: bool, kind: str) -> str:
        """The same told at greater length, in passing, or as the answer to a question."""
        draw = self.rng.random()
        if kind == "state":
            if draw < 0.22:
                return "long"
            if draw < 0.34 and first:
                return "passing"
            if draw < 0.50 and self.style != "notes" and first:
                return "chat"
        return kind

    def _speaker(self, subject: str, first: bool, me: bool) -> str | None:
        if me:
            return "user"
        if first:
            return subject
        if self.style == "notes":
            return None
        return "user" if self.style == "user" else self.rng.choice([p for p in self.people if p != subject])

    def _join_turns(self) -> None:
        """Some turns of one speaker become one long turn, of which a clause tells each matter."""
        rng = self.rng
        for speaker in sorted({line.speaker or "" for line in self.lines}):
            mine = [
                line
                for line in self.lines
                if (line.speaker or "") == speaker and not line.before and len(line.text) < 200
            ]
            rng.shuffle(mine)
            for _ in range(len(mine) // 10 + (rng.random() < 0.5)):
                parts = [mine.pop() for _ in range(min(len(mine), rng.randint(2, 4)))]
                if len(parts) < 2:
                    break
                self.lines = [line for line in self.lines if line not in parts]
                text = " ".join(part.text if part.text[-1] in ".!?" else part.text + "." for part in parts)
                tells = frozenset().union(*(part.tells for part in parts))
                about = frozenset().union(*(part.about for part in parts))
                self.lines.append(Line(text, speaker, tells, about, kind="joined"))

    def question(self) -> dict[str, Any] | None:
        """A question with its candidates."""
        rng = self.rng
        told = rng.choice(self.told)
        matter = told.matter
        if told.me:
            kinds = ["ask_now_me", "ask_now_me", "ask_now_me", "ask_past_me"]
        else:
            kinds = ["ask_now"] * 4 + ["ask_past", "ask_past", "ask_before", "ask_changed", "ask_list", "ask_check"]
        kinds = [kind for kind in kinds if matter.get(kind)]
        if not kinds:
            return None
        kind = rng.choice(kinds)
        asked = fill(rng.choice(matter[kind]), told.subject, rng.choice(told.values[:2]), told.values[0])
        asked = asked.replace("{T}", time_phrase(rng))
        right = [line for line in self.lines if told.key in line.tells]
        wrong = [line for line in self.lines if told.key not in line.tells]
        rng.shuffle(wrong)
        close = [line for line in wrong if any(k[0] == told.key[0] or k[1] == told.key[1] for k in line.about)]
        mislead = [line for line in wrong if told.key in line.about]
        far = [line for line in wrong if line not in close]
        dropped = rng.random() < 0.14  # nothing there that answers
        wrong = list(dict.fromkeys(map(id, mislead + close[:14] + far[:5])))
        at = {id(line): line for line in self.lines}
        askings = self.askings(told)
        chosen = ([] if dropped else right) + [at[n] for n in wrong][:20] + askings
        rng.shuffle(chosen)
        if len(chosen) < 6:
            return None
        return {
            "set": "matters",
            "q": asked,
            "kind": kind,
            "matter": told.key[0],
            "unseen": matter.get("unseen"),
            "answerable": bool(right) and not dropped,
            "cands": [
                {"t": line.text, "s": line.speaker, "p": line.before, "y": int(told.key in line.tells)}
                | {"asks": int(line.kind == "asked")}
                for line in chosen
            ],
        }

    def askings(self, told: Told) -> list[Line]:
        """Now and then, turns that asked the same before."""
        rng, matter = self.rng, told.matter
        kinds = ("ask_now_me", "ask_past_me") if told.me else ("ask_now", "ask_now", "ask_past", "ask_check")
        wordings = [wording for kind in kinds for wording in matter.get(kind, ())]
        if self.style == "notes" or not wordings or rng.random() < 0.7:
            return []
        speakers = ["user"] if self.style == "user" else [name for name in self.people if name != told.subject]
        lines = []
        for wording in rng.sample(wordings, min(len(wordings), rng.randint(1, 4))):
            text = fill(wording, told.subject, rng.choice(told.values[:2]), told.values[0])
            text = text.replace("{T}", time_phrase(rng))
            lines.append(Line(text, rng.choice(speakers), frozenset(), frozenset([told.key]), kind="asked"))
        return lines


def fill(wording: str, subject: str, value: str, other: str) -> str:
    filled = wording.replace("{N}", subject).replace("{V}", str(value)).replace("{O}", str(other))
    return filled[:1].upper() + filled[1:] if wording.startswith("{V}") and wording[-1:] in ".!?" else filled


def make_questions(matters: list[dict[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    """So many questions with candidates."""
    rng = random.Random(seed)
    questions: list[dict[str, Any]] = []
    while len(questions) < count:
        world = World(rng, matters)
        questions += [asked for asked in (world.question() for _ in range(4)) if asked is not None]
    return questions[:count]

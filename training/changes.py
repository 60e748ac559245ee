"""Which of several older facts a message changes, as timelines: the message stands in the place of the question, the
facts are the lines, and those that it replaces or ends are right; mostly none is.

A model that sees the facts together learns to tell the one that is meant from those that were told with it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from generate import MATTERS
from written import as_fact, read_worlds, shared_words

from remanence.models.reader_input import CHANGE_WORDS, as_change, as_passage

Timeline = dict[str, Any]
CHANGED = ("replaces", "ends")
OTHERS = 12
"""How many memories of a world that a message does not touch stand beside those that it may change."""


def changes_of_lives(lives: list[dict[str, Any]], name: str) -> Iterator[Timeline]:
    """Each message of some users with the facts that are valid when it is told, and each of its facts with them if it
    is clear what that fact does."""
    for life in lives:
        valid: dict[tuple[str, int], dict[str, Any]] = {}
        for later in life["told"]:
            done = {(each["id"], each.get("fact", 0)): each["how"] for each in later.get("on", ())}
            changed = [how for how in done.values() if how in CHANGED]
            near = {key[0] for key, how in done.items() if how in CHANGED}
            before = f"assistant: {later['asked']}" if "asked" in later else ""
            said = as_passage(
                " ".join(later["facts"]), later["said"], speaker="user", before=before, max_words=CHANGE_WORDS
            )
            forms = [said, *map(as_fact, later["facts"] if len(later["facts"]) == 1 or not changed else ())]
            for form in forms if len(valid) > 1 else ():
                lines = [
                    line
                    | {"y": int(done.get(key) in CHANGED), "tells": key in done}
                    | {"prior": _prior(form, line["t"], done.get(key), key[0] in near, name)}
                    for key, line in valid.items()
                ]
                yield {"set": name, "q": as_change(form), "kind": changed[0] if changed else "none", "lines": lines} | {
                    "moment": datetime.fromisoformat(later["time"])
                }
            for key, how in done.items():
                if how in CHANGED:
                    valid.pop(key, None)
            for number, fact in enumerate(later["facts"]):
                line = {"t": as_fact(fact), "s": None, "p": "", "time": datetime.fromisoformat(later["time"])}
                valid[later["id"], number] = line


def _prior(form: str, fact: str, how: str | None, told_with_it: bool, name: str) -> float:
    """How likely a fact is among those that are read: in training what is changed and what stands beside it."""
    shared = shared_words(form.replace("user", ""), fact.replace("user", ""))
    if name.startswith("unseen"):
        return float(shared)
    return (3.0 if how in CHANGED else 1.5 if how or told_with_it else 0.0) + min(2, shared)


def changes_of_worlds() -> Iterator[Timeline]:
    """The memories of written worlds that stand later in a pair, with those they are compared with, and with others
    that no question asks about together with them."""
    rng = random.Random(11)
    for world in read_worlds(MATTERS.parent / "worlds", variants=1):
        asked_together: dict[str, set[str]] = {}
        for asked in world["questions"]:
            told = {*asked["right"], *asked["stale"]}
            for key in told:
                asked_together.setdefault(key, set()).update(told)
        relations: dict[str, dict[str, str]] = {}
        for pair in world["pairs"]:
            relations.setdefault(pair["later"], {})[pair["earlier"]] = pair["relation"]
        gone: set[str] = set()
        for place, later in enumerate(world["memories"]):
            done = relations.get(later["id"])
            if done and len(later["text"].split()) <= CHANGE_WORDS:
                earlier = [memory for memory in world["memories"][:place] if memory["id"] not in gone]
                apart = [
                    m for m in earlier if m["id"] not in done and m["id"] not in asked_together.get(later["id"], ())
                ]
                chosen = {m["id"] for m in rng.sample(apart, min(OTHERS, len(apart)))} | done.keys()
                lines = [
                    {"t": m["text"], "s": m["speaker"], "p": m["before"], "time": datetime.fromisoformat(m["time"])}
                    | {"y": int(done.get(m["id"]) in CHANGED), "tells": done.get(m["id"], "none") != "none"}
                    | {"prior": 2.0 * (m["id"] in done)}
                    for m in earlier
                    if m["id"] in chosen
                ]
                if len(lines) > 1:
                    said = as_passage("", later["text"], speaker=later["speaker"])
                    yield {"set": "made_changes", "q": as_change(said), "kind": "", "lines": lines} | {
                        "moment": datetime.fromisoformat(later["time"])
                    }
            gone |= {key for key, relation in (done or {}).items() if relation in CHANGED}

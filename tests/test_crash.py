"""A writer is killed again and again, at any instant; what it was told is kept stays kept.

Starting Python takes longer than a life here lasts, so one process imports everything, opens nothing,
and forks each writer.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence.testing import HashingEmbedder

KILLS = {"folder": 50, "postgres": 15}

NURSERY = """
import os, sys
import igraph, qdrant_edge
from remanence.api import opening, space
from remanence.core import engine
from remanence.models import extractors
from remanence.models.embedders import checked
from remanence.ledger import sqlite_ledger
if sys.argv[1].startswith("postgresql"):
    from remanence.ledger import postgres_ledger
from remanence.testing import fakes
from remanence.signals.stores import edge, exact
from test_crash import live

def say(*words):
    os.write(1, (" ".join(words) + "\\n").encode())

say("ready")
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        live(*line.split())
    say("born", str(child))
    os.waitpid(child, 0)
    say("dead", str(child))
"""


def live(folder: str, life: str, verbs: str) -> None:
    """Write as fast as can be, in the open and between closings; say what is tried and what was kept."""
    dice = random.Random(life)
    known: list[str] = []
    count = 0

    def say(verb: str, *what: Any) -> None:
        os.write(1, (json.dumps([verb, *what]) + "\n").encode())

    while True:
        space = remanence.open(folder, embedder=HashingEmbedder(16))
        for _ in range(dice.randint(1, 60)):
            count += 1
            text = f"Life {life} noted thing {count} about Alice and the harbour."
            verb = dice.choice(verbs.split(","))
            if verb == "add":
                known.append(space.add(text).id)
                say("kept", known[-1], text)
            elif verb == "many":
                for memory in space.add_many([{"text": f"{text} Part {part}."} for part in range(20)]):
                    say("kept", memory.id, memory.text)
            elif verb == "revise":
                # One key for each life, so that its last word is known.
                memory = space.add(f"{text} Version {count:06}.", key=f"key-{life}")
                say("revised", memory.key, count)
            elif known:
                gone = known.pop(dice.randrange(len(known)))
                say(f"to-{verb}", gone)
                getattr(space, verb)(gone)
                say(f"done-{verb}", gone)
        space.close()


class Nursery:
    """Bears writers and kills them."""

    def __init__(self, location: str) -> None:
        self._location = location
        # A session of its own: whatever happens, no writer outlives the test.
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY, location],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parent,
            start_new_session=True,
        )
        assert self._line() == "ready"

    def kill_one(self, life: int, verbs: str, after: float, *, awake: bool) -> list[list[Any]]:
        """One life, and all it said; `awake` lets it say its first word before the time runs."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{self._location} {life} {verbs}\n".encode())
        self.process.stdin.flush()
        said: list[str] = []
        while not (line := self._line()).startswith("born"):
            said.append(line)
        child = int(line.split()[1])
        if awake and not said:
            said.append(self._line())
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        while not (line := self._line()).startswith("dead"):
            said.append(line)
        return [json.loads(line) for line in said]

    def end(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the nursery died"
        return line.decode().strip()


@pytest.fixture
def nursery(location: str) -> Iterator[Nursery]:
    nursery = Nursery(location)
    yield nursery
    nursery.end()


def test_what_was_acknowledged_survives_kill_9_at_any_instant(
    nursery: Nursery, location: str, request: pytest.FixtureRequest
) -> None:
    """Many writers die in the middle of something; every memory they were promised is there."""
    dice = random.Random(50)
    said: list[list[Any]] = []
    kills = KILLS[request.node.callspec.params["location"]]
    for life in range(kills):
        after = dice.uniform(0.0, 0.25)
        said += nursery.kill_one(life, "add,add,many,revise,forget", after, awake=life % 5 != 0)

    kept = {memory: text for verb, memory, *rest in said if verb == "kept" for text in rest}
    touched = {what[0] for verb, *what in said if verb == "to-forget"}
    forgotten = {what[0] for verb, *what in said if verb == "done-forget"}
    last_word = {key: count for verb, key, *rest in said if verb == "revised" for count in rest}
    assert min(len(kept), len(forgotten), len(last_word)) > kills // 3

    with remanence.open(location, embedder=HashingEmbedder(16)) as space:
        there = {memory.id: memory for memory in space.memories()}
        assert {m: text for m, text in kept.items() if m not in touched and there[m].text != text} == {}
        assert not forgotten & there.keys()
        versions = {m.key: int(m.text[-7:-1]) for m in there.values() if m.key}
        # A revision may have been written and not yet acknowledged; it may not have been lost.
        assert {key: n for key, n in last_word.items() if versions[key] < n} == {}
        assert space.admin.check() == {}
        assert space.verify().entries >= len(kept) + len(forgotten) + len(last_word)


def test_what_was_erased_stays_erased_through_kill_9(nursery: Nursery, location: str, tmp_path: Path) -> None:
    """An acknowledged erasure leaves no word in any file of ours, whatever the crash cut short."""
    dice = random.Random(12)
    said: list[list[Any]] = []
    for life in range(10):
        said += nursery.kill_one(life, "add,add,erase", dice.uniform(0.3, 0.8), awake=True)

    texts = {memory: text for verb, memory, *rest in said if verb == "kept" for text in rest}
    erased = [what[0] for verb, *what in said if verb == "done-erase"]
    assert len(erased) > 3
    with remanence.open(location, embedder=HashingEmbedder(16)) as space:
        assert [memory for memory in erased if space.get(memory)] == []
        assert space.admin.check() == {}
        space.verify()
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for memory in erased:
        words = texts[memory].encode()
        assert [path for path, held in files.items() if words in held] == []

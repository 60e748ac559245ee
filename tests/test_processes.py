"""Several processes on one folder or database, at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import remanence
from file_contents import contents
from remanence.index.engine.embedding import embed_descriptions
from remanence.index.engine.engine import Engine
from remanence.ledger import ledger_exists
from remanence.schema import Entry
from remanence.testing import HashingEmbedder
from warm_process import WarmProcess

BEGIN = """
import sys
import remanence
from remanence.testing import HashingEmbedder

def opened(folder=sys.argv[1]):
    return remanence.open(folder, embedder=HashingEmbedder())

def wait():
    print("waiting", flush=True)
    return sys.stdin.readline()
"""

WRITER = """
name = sys.argv[2]
wait()
with opened() as space:
    for number in range(30):
        space.add(f"{name} wrote line {number} of the log.", key=f"{name}-{number}")
        space.add(f"The shared page was last touched by {name}, time {number}.", key="shared")
    space.add_many([{"text": f"{name} wrote line {number} of the log."} for number in range(30, 60)])
"""

READER = """
wait()
seen = 0
with opened() as space:
    while seen < 121:
        now = space.count()
        assert now >= seen, f"{now} memories, and there were {seen}"
        space.recall("Who wrote line 7 of the log?")
        seen = now
"""

HOLDER = """
space = opened()
space.add("Alice lives in Porto.")
while (line := wait().strip()):
    if line.startswith("add "):
        space.add(line[4:])
    else:
        print(" | ".join(hit.memory.text for hit in space.recall(line)), flush=True)
space.close()
"""

MAKER = """
wait()
with opened() as space:
    space.add(f"{sys.argv[2]} was here at the beginning.")
    print(space.verify().entries, flush=True)
"""

Start = Callable[..., WarmProcess]


@pytest.fixture
def start(location: str) -> Start:
    """Starts a process on `location`, which stops at its first `wait()`."""

    def begin(program: str, *names: str) -> WarmProcess:
        process = WarmProcess(BEGIN + program, location, *names)
        assert process.stdout.readline() == "waiting\n"
        return process

    return begin


def tell(process: WarmProcess, words: str) -> str:
    """Say a line to a waiting process, and hear its next one."""
    process.stdin.write(words + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def ended_well(process: WarmProcess) -> str:
    out, errors = process.communicate("\n", timeout=60)
    assert process.returncode == 0, errors
    assert "Error" not in errors
    return out


def test_two_writers_and_a_reader_lose_nothing(location: str, start: Start) -> None:
    """All three at once: every line is there, none twice, and nobody met a lock."""
    ada, bo, reader = start(WRITER, "Ada"), start(WRITER, "Bo"), start(READER)
    for process in (ada, bo, reader):
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in (ada, bo, reader):
        ended_well(process)

    with remanence.open(location, embedder=HashingEmbedder()) as space:
        texts = sorted(memory.text for memory in space.memories())
        expected = [f"{name} wrote line {n} of the log." for name in ("Ada", "Bo") for n in range(60)]
        assert [text for text in texts if "shared" not in text] == sorted(expected)
        assert len(texts) == 121, "the shared page is one memory"
        assert space.verify().entries == 120 + 60
        assert space.admin.check() == {}


def test_a_second_process_works_while_the_first_holds_the_vectors(location: str, start: Start) -> None:
    """Only one can hold the index on disk; the other makes its own and answers the same. Each answers with what the
    other has just said."""
    first = start(HOLDER)
    with remanence.open(location, embedder=HashingEmbedder()) as space:
        space.add("Carol keeps bees on the roof.")
        [hit] = space.recall("bees roof", signals=["vectors"], limit=1)
        assert hit.memory.text == "Carol keeps bees on the roof."
        assert "vectors" not in space.recall("bees").missing
        assert tell(first, "add Bob plays the cello.") == "waiting"
        assert space.recall("What does Bob play?")[0].memory.text == "Bob plays the cello."
        assert tell(first, "Who keeps bees?").startswith("Carol keeps bees on the roof.")
        assert space.admin.check() == {}
    ended_well(first)

    with remanence.open(location, embedder=HashingEmbedder()) as space:
        assert space.count() == 3
        assert space.admin.check() == {}


def test_a_space_made_by_two_processes_at_the_same_moment(location: str, start: Start) -> None:
    """Neither is in the other's way, and both first lines are there."""
    makers = [start(MAKER, name) for name in ("Ada", "Bo")]
    assert not ledger_exists(location)
    for maker in makers:
        maker.stdin.write("go\n")
        maker.stdin.flush()
    for maker in makers:
        assert int(ended_well(maker)) in (1, 2)

    with remanence.open(location, embedder=HashingEmbedder()) as space:
        assert {memory.text.split()[0] for memory in space.memories()} == {"Ada", "Bo"}
        assert space.verify().entries == 2


def test_a_process_that_slept_through_an_erasure_does_not_write_the_words_back(home: Path) -> None:
    """Its next snapshot is of what it then knows, not of what it knew."""
    sleeper = remanence.open(home, embedder=HashingEmbedder())
    secret = sleeper.add("The vault opens with quicksilver marmalade.")
    with remanence.open(home, embedder=HashingEmbedder()) as other:
        other.erase(secret.id)
    sleeper.close()

    assert not [path for path, held in contents(home) if b"marmalad" in held]


def test_two_spaces_opened_in_one_process_see_each_other(home: Path) -> None:
    """Opening a folder twice is not a mistake."""
    one = remanence.open(home, embedder=HashingEmbedder())
    two = remanence.open(home, embedder=HashingEmbedder())
    memory = one.add("The ferry leaves at noon.")

    assert two.get(memory.id) == memory
    two.forget(memory.id)
    assert one.get(memory.id) is None
    one.close()
    assert two.count() == 0
    two.close()


def test_a_list_of_memories_goes_on_past_those_that_are_erased_meanwhile(home: Path) -> None:
    """Whoever lists many has read only the first of them when another process erases the last."""
    with (
        remanence.open(home, embedder=HashingEmbedder()) as mine,
        remanence.open(home, embedder=HashingEmbedder()) as theirs,
    ):
        kept = mine.add_many([f"Line {number} of the log." for number in range(1200)])
        listed = mine.memories()
        first = next(listed)
        for memory in (kept[600], kept[1199]):
            theirs.erase(memory.id)

        assert [first, *listed] == kept[:600] + kept[601:1199]


@pytest.mark.parametrize(
    "look",
    [
        lambda space: space.find("vault"),
        lambda space: space.recall("What opens the vault?"),
        lambda space: space.profile().text,
    ],
    ids=["find", "recall", "profile"],
)
def test_what_is_erased_between_looking_and_reading_is_not_there(
    home: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[[remanence.Space], Any]
) -> None:
    """Another process erases a memory just when this one is about to read its line."""
    with remanence.open(home, embedder=HashingEmbedder()) as theirs:
        secret = theirs.add("The vault opens with quicksilver marmalade.", key="vault", importance=0.9)
        with remanence.open(home, embedder=HashingEmbedder()) as mine:
            ledger = mine._engine.ledger
            read = ledger.entries_at

            def late(positions: Sequence[int]) -> dict[int, Entry]:
                theirs.erase(secret.id)
                return read(positions)

            monkeypatch.setattr(ledger, "entries_at", late)
            assert not look(mine)


@pytest.mark.usefixtures("with_files")
def test_what_a_killed_process_did_not_embed_is_embedded_by_others(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The description of an entity is embedded after its entry was written; a kill can come in between. An index file
    from before that is as good as a new one."""
    monkeypatch.setattr("remanence.index.engine.erasure_cleanup.POLL_SECONDS", 0.05)
    with monkeypatch.context() as killed:
        for module in ("space.facets.entity_facet", "index.engine.erasure_cleanup"):
            killed.setattr(f"remanence.{module}.embed_descriptions", lambda *_: None)
        with remanence.open(home, embedder=HashingEmbedder()) as space:
            space.add("AlphaOne makes bread.")
            space.entities.register("AlphaOne", aliases=["AO"])
    [file] = (home / "index").glob("*/*.idx")
    early = file.read_bytes()
    with remanence.open(home, embedder=HashingEmbedder()) as space, space._engine.open_index(space.name) as index:
        deadline = time.monotonic() + 30
        while index.missing_descriptions and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not index.graph.lacks_vectors
        assert space.admin.check() == {}
    file.write_bytes(early)
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        assert space.admin.check() == {}


def test_what_another_process_embeds_later_is_noticed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This one has read the entry before its description was embedded."""
    monkeypatch.setattr("remanence.index.engine.erasure_cleanup.POLL_SECONDS", 0.05)
    with (
        remanence.open(home, embedder=HashingEmbedder()) as mine,
        remanence.open(home, embedder=HashingEmbedder()) as theirs,
        mine._engine.open_index(mine.name) as index,
    ):

        def late(engine: Engine, space: str) -> None:
            index.catch_up()
            embed_descriptions(engine, space)

        monkeypatch.setattr("remanence.space.facets.entity_facet.embed_descriptions", late)
        theirs.entities.register("AlphaOne", aliases=["AO"])
        deadline = time.monotonic() + 30
        while index.missing_descriptions and time.monotonic() < deadline:
            time.sleep(0.02)
        assert mine.admin.check() == {}


IDS = """
import os, random
from remanence.index.engine.identity import new_id
random.seed(7)
before = new_id()[12:]
random.seed(7)
assert new_id()[12:] != before, "a program that seeds the common dice gets the same ids again"
pipe = os.pipe()
child = os.fork()
mine = new_id()[12:].encode()
if child == 0:
    os.write(pipe[1], mine)
    os._exit(0)
os.waitpid(child, 0)
assert os.read(pipe[0], 12) != mine, "a forked process gives out the ids of its parent"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_processes_never_give_out_the_same_id() -> None:
    """Nor does one twice, whatever else in it throws dice."""
    subprocess.run([sys.executable, "-c", IDS], check=True)

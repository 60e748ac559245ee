"""Disks, folders and clocks that fail: nothing acknowledged is lost, what cannot be done is named, the rest goes on.

Other faults are tested with their parts: kills in `test_crash`, full disks and damaged files in `test_bad_input` and
`test_ledger`, PostgreSQL in `test_postgres`, Qdrant in `test_shared_qdrant`.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import remanence
from examples import examples
from remanence import Space
from remanence.errors import LedgerTampered, LedgerUnavailable
from remanence.testing import FakeClock, HashingEmbedder
from warm_process import WarmProcess

Reopen = Callable[..., Space]


def texts(space: Space) -> list[str]:
    return [memory.text for memory in space.memories()]


# The write-ahead log


@pytest.fixture
def crashed(home: Path, tmp_path: Path) -> tuple[Path, int]:
    """A folder as a crash leaves it, with ten memories of which the last is the only one in the end of the log; and
    where in the log that one begins."""
    copy = tmp_path / "after a crash"
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        for number in range(9):
            space.add(f"Boat {number} lies in the harbour.")
        size = (home / "ledger.db-wal").stat().st_size
        earlier_head = (home / "ledger.head").read_bytes()
        space.add("Boat 9 lies in the harbour.")
        shutil.copytree(home, copy)
    (copy / "ledger.head.earlier").write_bytes(earlier_head)
    return copy, size


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_log_that_lost_its_end_is_noticed(crashed: tuple[Path, int], share: float) -> None:
    """SQLite reads as far as it goes and says nothing; the record beside the ledger says that more was acknowledged."""
    folder, size = crashed
    log = folder / "ledger.db-wal"
    os.truncate(log, size + int((log.stat().st_size - size) * share))
    with pytest.raises(LedgerTampered, match=r"ends with entry 9, but entry 10 was committed.*backup"):
        remanence.open(folder, embedder=HashingEmbedder())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_log_whose_last_write_was_cut_short_loses_only_that(crashed: tuple[Path, int], share: float) -> None:
    """A crash amid a commit that nobody was told of: all before is there, and it goes on from there."""
    folder, size = crashed
    log = folder / "ledger.db-wal"
    os.truncate(log, size + int((log.stat().st_size - size) * share))
    (folder / "ledger.head.earlier").replace(folder / "ledger.head")
    with remanence.open(folder, embedder=HashingEmbedder()) as space:
        assert texts(space) == [f"Boat {number} lies in the harbour." for number in range(9)]
        space.add("The bakery is open.")
        assert space.verify().entries == 10
        assert space.admin.check() == {}


# Locks of SQLite, which end for a whole process when it closes the file

ANOTHER = """
import sys, remanence
from remanence.testing import HashingEmbedder
with remanence.open(sys.argv[1], embedder=HashingEmbedder()) as space:
    space.add(f"Boat {space.count()} lies in the harbour.")
    print(space.verify().entries)
"""


def entries_after_another_process(home: Path) -> int:
    """Add a memory in another process, which closes the folder."""
    printed, failed = WarmProcess(ANOTHER, home).communicate()
    assert printed.strip().isdigit(), failed[-2000:]
    return int(printed)


@pytest.mark.parametrize("closed", [False, True])
def test_a_folder_that_is_opened_again_keeps_its_log(home: Path, closed: bool) -> None:
    """Its header was read for the second opening, without which another process deletes the log when it closes."""
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        space.add("The bakery is open.")
        again = remanence.open(home, embedder=HashingEmbedder())
        assert again.count() == 1
        if closed:
            again.close()
        assert entries_after_another_process(home) == 2
        assert space.add("The harbour is closed.") in space.memories()
        assert entries_after_another_process(home) == 4
        assert space.count() == 4
        again.close()
    assert entries_after_another_process(home) == 5


def test_a_log_that_another_process_deleted_is_named(home: Path) -> None:
    """Something in this process has read the file: nothing is written to a log that nobody else sees."""
    space = remanence.open(home, embedder=HashingEmbedder())
    space.add("The bakery is open.")
    (home / "ledger.db").read_bytes()
    assert entries_after_another_process(home) == 2
    with pytest.raises(LedgerUnavailable, match=r"deleted by another process.*open it again"):
        space.add("The harbour is closed.")
    with pytest.raises(LedgerUnavailable, match="deleted by another process"):
        space.recall("harbour")
    space.close()
    assert entries_after_another_process(home) == 3
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        assert texts(space)[0] == "The bakery is open."
        assert space.admin.check() == {}


# Interrupts: Ctrl-C, the stop of a notebook, a timeout by signal


class InterruptAt:
    """Raises KeyboardInterrupt at one of the calls that the package makes in a block, as a signal does: when a function
    begins, or after one in C. Without a number, counts them."""

    def __init__(self, number: int = 0) -> None:
        self.number, self.calls = number, 0

    def __enter__(self) -> InterruptAt:
        sys.setprofile(self._observe)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def _observe(self, frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_return") and "remanence" in frame.f_code.co_filename:
            self.calls += 1
            if self.calls == self.number:
                raise KeyboardInterrupt


@pytest.mark.usefixtures("with_files")
def test_an_interrupted_add_leaves_a_ledger_and_an_index_that_work(location: str) -> None:
    """Wherever it is: the text is stored or not, the next call works here and elsewhere, and the index is whole."""
    with remanence.open(location, embedder=HashingEmbedder()) as space:
        space.add("Boat 0 lies in the harbour.")
        with InterruptAt() as counted:
            space.add("Boat 1 lies in the harbour with Ana.")
        stored = 2
        for number in range(1, counted.calls, max(1, counted.calls // examples(20))):
            with suppress(KeyboardInterrupt), InterruptAt(number):
                space.add(f"Boat {number} lies in the harbour with Ana.")
            space.add(f"Boat {number} is back.")
            stored += 1
            assert space.recall(f"Boat {number} is back.")
        assert stored <= len(texts(space)) <= 2 * stored
        assert space.admin.check() == {}
        space.verify()
    with remanence.open(location, embedder=HashingEmbedder()) as space:
        assert space.count() >= stored
        assert space.admin.check() == {}


def test_an_interrupted_read_leaves_its_connection_usable(location: str) -> None:
    """Wherever it is: the next read is of the present state, and not in the transaction of the one before."""
    with (
        remanence.open(location, embedder=HashingEmbedder()) as space,
        remanence.open(location, embedder=HashingEmbedder()) as other,
    ):
        space.add("Boat 0 lies in the harbour.")
        with InterruptAt() as counted:
            space.verify()
        # A transaction of PostgreSQL takes most of the calls, one of SQLite begins and ends within a few of them.
        for number in range(1, counted.calls, 1 if location.startswith("/") else counted.calls // 8):
            with suppress(KeyboardInterrupt), InterruptAt(number):
                space.verify()
            other.add(f"Boat {number} lies in the harbour.")
            assert space.verify().entries == other.verify().entries


def test_an_index_that_was_interrupted_is_not_saved(home: Path) -> None:
    """It is closed as it is, and the next process reads the ledger."""
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        space.add_many([f"Boat {number} lies in the harbour." for number in range(40)])
        with space._engine.open_index(space.name) as index, pytest.MonkeyPatch.context() as patch:
            patch.setattr(index.words, "apply", interrupt)
            with pytest.raises(KeyboardInterrupt):
                space.add("The bakery is open.")
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        assert space.recall("bakery")[0].memory.text == "The bakery is open."
        assert space.admin.check() == {}


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


# Folders


@pytest.mark.usefixtures("with_files")
def test_only_the_owner_may_read_what_is_stored(home: Path, tmp_path: Path) -> None:
    """The ledger and its log, the indexes, and exports; also in a folder that everybody may look into."""
    home.mkdir(mode=0o755)
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        space.add("The password of the boat is Poseidon.")
        open_files = {path.name: path.stat().st_mode & 0o077 for path in home.glob("ledger*")}
        space.admin.export(tmp_path / "memory.jsonl.gz")
    shards = [path for path in home.glob("vectors/*") if path.is_dir()]
    kept = [home / "ledger.db", *home.rglob("*.idx"), *shards, tmp_path / "memory.jsonl.gz"]

    assert open_files == {"ledger.db": 0, "ledger.db-wal": 0, "ledger.db-shm": 0, "ledger.head": 0}
    assert len(kept) == 4
    assert {path.name: path.stat().st_mode & 0o077 for path in kept} == {path.name: 0 for path in kept}


@pytest.mark.parametrize("lost", [["index"], ["vectors"], ["index", "vectors"]])
@pytest.mark.usefixtures("with_files")
def test_folders_that_vanish_while_they_are_in_use(reopen: Reopen, home: Path, lost: list[str]) -> None:
    """Answers stay the same, adding goes on, and the next opener finds everything."""
    space = reopen()
    space.add_many([f"Boat {number} lies in harbour {number % 7}." for number in range(60)])
    space.rebuild()
    expected = [hit.memory.text for hit in space.recall("Boat 8 harbour")]
    for name in lost:
        shutil.rmtree(home / name)
    assert [hit.memory.text for hit in space.recall("Boat 8 harbour")] == expected
    space.add("The bakery is open.")
    space.forget(next(space.memories()))
    assert space.recall("bakery")[0].memory.text == "The bakery is open."

    space = reopen()
    assert space.count() == 60
    assert space.recall("bakery").missing == {}
    assert space.admin.check() == {}


READ_ONLY = """
import os, sys
import igraph, qdrant_edge
import remanence
from remanence.space import opening
from remanence.index.engine import engine
from remanence.ledger.sqlite_backend import sqlite_ledger
from remanence.models import embedders as checked
from remanence.index.vectors.stores import edge, exact
from remanence.testing import HashingEmbedder

with remanence.open(None, embedder=HashingEmbedder()) as space:  # loads what root alone may be able to read
    space.add("The harbour is closed.")
    space.recall("Is the harbour closed?")
    list(space.memories())
folder = sys.argv[1]
if os.geteuid() == 0:  # permissions mean nothing to root
    os.chown(folder, 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)

def allow(mode):
    for path, _, names in os.walk(folder, topdown=mode & 0o200):
        for name in names:
            os.chmod(os.path.join(path, name), mode & 0o666)
        os.chmod(path, mode)

space = remanence.open(folder + "/memory", embedder=HashingEmbedder())
kept = [space.add("The harbour is closed.").text]
allow(0o555)
try:
    remanence.open(folder + "/memory", embedder=HashingEmbedder())
except remanence.errors.LedgerError as error:
    print("refused:", error)
for number in range(3):
    try:
        kept.append(space.add(f"Boat {number} lies in the harbour.").text)
    except remanence.errors.LedgerError as error:
        print("not added:", error)
assert [memory.text for memory in space.memories()] == kept
assert space.recall("Is the harbour closed?")[0].memory.text == kept[0]
space.close()
allow(0o755)
with remanence.open(folder + "/memory", embedder=HashingEmbedder()) as space:
    kept.append(space.add("There is room again.").text)
    assert [memory.text for memory in space.memories()] == kept
    assert space.admin.check() == {}
    space.verify()
print("all there")
"""


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs the permissions of POSIX")
@pytest.mark.slow
def test_a_folder_that_turns_read_only() -> None:
    """It does not open, by name; who has it open answers on, and what it acknowledges is kept."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        printed, failed = WarmProcess(READ_ONLY, folder).communicate()
    assert printed.splitlines()[-1:] == ["all there"], printed + failed[-2000:]
    assert "refused:" in printed
    assert "read-only" in printed
    assert "change the permissions" in printed


# Clocks


def test_a_clock_that_is_set_back(reopen: Reopen, clock: FakeClock) -> None:
    """What was learned stays in the order in which it was learned, in this process and the next one."""
    space = reopen()
    space.add("The harbour is open.", key="harbour")
    forgotten = space.add("The bakery is open.")
    noon = clock()
    clock.advance(days=-400)
    space.add("The harbour is closed.", key="harbour")
    space.forget(forgotten)
    late = space.add("The museum is full.")
    assert late.recorded_at > noon
    for opened in (lambda: space, reopen):
        each = opened()
        assert texts(each) == ["The harbour is closed.", "The museum is full."]
        assert texts(each.as_of(noon)) == ["The harbour is open.", "The bakery is open."]
        assert texts(each.as_of(noon - timedelta(days=1))) == []
        assert each.recall("Is the harbour open?")[0].memory.text == "The harbour is closed."
        assert each.verify().entries == 5
        assert each.admin.check() == {}


def test_a_job_is_done_although_the_clock_was_set_back(reopen: Reopen, clock: FakeClock) -> None:
    """It was due before."""
    space = reopen(worker=False)
    job = space.remember("I live in Porto.", wait=False)
    clock.advance(days=-400)
    assert space.jobs.run_due() == 1
    assert job.status == "done"
    assert any("Porto" in memory.text for memory in job.result())


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("remembered", "importance", "high"),
        ("remembered", "identity", []),
        ("registered", "entity", []),
        ("related", "subject", 7),
        ("linked", "source", {}),
        ("erased", "positions", "all"),
        ("declared", "predicate", [1]),
    ],
)
def test_values_of_a_wrong_type_are_named(home: Path, kind: str, field: str, value: Any) -> None:
    """Whatever is asked of a ledger that somebody has changed, the error is one of ours; mostly it names the entry."""
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        first, second = space.add_many(["Alice lives in Porto.", "Bob drinks tea."])
        space.entities.register("AlphaOne", aliases=["AO"])
        space.graph.relate("Alice", "knows", "Bob")
        space.graph.link(first, "supports", second)
        space.graph.declare("knows", single_valued=False)
        space.erase(space.add("A secret."))
    shutil.rmtree(home / "index", ignore_errors=True)
    with closing(sqlite3.connect(home / "ledger.db")) as connection, connection:
        connection.execute("DROP TRIGGER entry_is_written_once")
        choose = "FROM entry WHERE kind = ? AND body IS NOT NULL ORDER BY position LIMIT 1"
        [(position, body)] = connection.execute(f"SELECT position, body {choose}", (kind,))
        changed = json.dumps(json.loads(body) | {field: value})
        connection.execute("UPDATE entry SET body = ? WHERE position = ?", (changed, position))
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        for ask in (
            lambda: space.recall("Where does Alice live?"),
            lambda: list(space.memories()),
            lambda: space.entities.list(),
            lambda: space.admin.export(home / "export.jsonl"),
            space.verify,
        ):
            with suppress(remanence.RemanenceError):
                ask()
        with pytest.raises(remanence.RemanenceError, match=f"entry {position}[ :]"):
            space.verify()


@pytest.mark.parametrize(("field", "value"), [("memory", []), ("text", ["a"]), ("text", 7), ("tags", 1)])
def test_values_of_a_wrong_type_are_named_if_the_index_was_loaded(home: Path, field: str, value: Any) -> None:
    """Such an index has not read the entries: the value is met when a memory is read."""
    with remanence.open(home, embedder=HashingEmbedder(), reader=None) as space:
        space.add_many([f"Alice lives in town {n}." for n in range(60)])
    with closing(sqlite3.connect(home / "ledger.db")) as connection, connection:
        connection.execute("DROP TRIGGER entry_is_written_once")
        for position, body in connection.execute("SELECT position, body FROM entry").fetchall()[:-1]:
            changed = json.dumps(json.loads(body) | {field: value})
            connection.execute("UPDATE entry SET body = ? WHERE position = ?", (changed, position))
    with remanence.open(home, embedder=HashingEmbedder(), reader=None) as space:
        for ask in (
            lambda: space.recall("Where does Alice live?"),
            lambda: space.profile(),
            lambda: list(space.audit.changes()),
        ):
            with suppress(remanence.RemanenceError):
                ask()
        with pytest.raises(remanence.RemanenceError, match="entry 1"):
            space.verify()

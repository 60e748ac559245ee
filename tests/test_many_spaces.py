"""One space per user: small ones have no files, none waits for another, and damaged files lose nothing."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import remanence
from remanence.errors import LedgerError, LedgerTampered, LedgerUnavailable, RemanenceError
from remanence.index.vectors.stores import folder_name
from remanence.index.vectors.stores.edge import EdgeStore
from remanence.index.vectors.stores.exact import ExactStore
from remanence.index.vectors.stores.folder import FolderStore
from remanence.ports import VectorStore
from remanence.testing import HashingEmbedder
from remanence.testing.vector_store_contract import unit_vectors

Reopen = Callable[..., remanence.Space]

PORTO = "Alice lives in Porto."


class Stores:
    """Vector stores in memory that run a function of the test when a space is opened or closed."""

    def __init__(self, opening: Callable[[str], None] | None = None, closing: Callable[[str], None] | None = None):
        self._opening, self._closing = opening, closing

    def open(self, space: str, dimension: int) -> VectorStore:
        if self._opening is not None:
            self._opening(space)
        closing = self._closing

        class Store(ExactStore):
            def close(self) -> None:
                if closing is not None:
                    closing(space)
                super().close()

        return Store(dimension)

    def close(self) -> None:
        pass


def users(space: remanence.Space, count: int) -> list[remanence.Space]:
    children = [space.child(f"user {n}") for n in range(count)]
    for n, child in enumerate(children):
        child.add(f"My number is {n}.")
    return children


# Files


def test_small_spaces_have_no_files_of_their_own(reopen: Reopen, home: Path) -> None:
    """However many there are, the folder has the ledger and the record of its head."""
    users(reopen(), 20)
    space = reopen()
    assert space.child("user 7").recall("number")[0].memory.text == "My number is 7."
    space.close()
    assert sorted(path.name for path in home.rglob("*")) == ["ledger.db", "ledger.head"]


def test_a_space_of_an_older_release_opens_and_its_shard_goes(reopen: Reopen, home: Path) -> None:
    """Each space had a shard of the vector engine."""
    memory = reopen().add(PORTO)
    reopen().close()
    shard = EdgeStore(home / "vectors" / folder_name("default"), HashingEmbedder().dimension)
    shard.upsert([0], unit_vectors(1, HashingEmbedder().dimension))  # whatever it was
    shard.close()
    (home / "vectors" / f"{folder_name('default')}.sums").unlink()

    space = reopen()
    assert space.recall("Porto", signals=["vectors"])[0].memory == memory
    assert space.admin.check() == {}
    assert not any(path.is_file() for folder in ("index", "vectors") for path in (home / folder).rglob("*"))


def test_a_large_shard_of_an_older_release_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no checksums: a child process tries it first."""
    monkeypatch.setattr("remanence.index.vectors.stores.folder.ENGINE_FROM", 100 * 8)
    shard = EdgeStore(tmp_path / "a", 8)
    shard.upsert(range(100), unit_vectors(100, 8))
    shard.close()
    (tmp_path / "a.sums").unlink()

    store = FolderStore(tmp_path / "a", 8, points=100)
    assert sorted(store.ids()) == list(range(100))
    store.close()
    assert (tmp_path / "a.sums").exists()


# Growing


def test_a_growing_space_moves_to_the_engine(reopen: Reopen, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few points with each write; every answer on the way is that of a space in memory."""
    dimension = HashingEmbedder().dimension
    for name, value in {"ENGINE_FROM": 40 * dimension, "_MOVE_AT_ONCE": 3}.items():
        monkeypatch.setattr(f"remanence.index.vectors.stores.folder.{name}", value)
    shard = home / "vectors" / folder_name("default")
    space = reopen()
    with remanence.open(None, embedder=HashingEmbedder()) as other:
        for n in range(60):
            text = f"Boat {n} lies in harbour {n % 7}."
            space.add(text), other.add(text)
            assert shard.exists() == (n >= 39)
            found, expected = (each.recall("harbour 3", signals=["vectors"], limit=5) for each in (space, other))
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-3)
    before = [hit.memory.text for hit in space.recall("Which boat lies in harbour 4?", limit=20)]
    assert space.admin.check() == {}
    space = reopen()
    assert [hit.memory.text for hit in space.recall("Which boat lies in harbour 4?", limit=20)] == before
    assert space.admin.check() == {}


def test_points_in_memory_replace_those_in_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer vector counts, wherever the older one is, and each point is found once."""
    monkeypatch.setattr("remanence.index.vectors.stores.folder.ENGINE_FROM", 1)
    vectors = unit_vectors(300, 8)
    store = FolderStore(tmp_path / "a", 8)
    store.upsert(range(300), vectors)
    store.flush()
    assert len(store.ids()) == 300
    store.upsert([5], vectors[6:7])
    assert store.search(vectors[6], 3)[0][:2] == [5, 6]
    assert store.search(vectors[5], 300)[0].count(5) == 1
    store.close()


# Independence


def test_a_slow_opening_holds_nobody_else_up(home: Path) -> None:
    """Others open, recall and add while one space is being opened."""
    opening, go_on = threading.Event(), threading.Event()

    def wait(space: str) -> None:
        if space.endswith("slow"):
            opening.set()
            assert go_on.wait(30)

    with remanence.open(home, embedder=HashingEmbedder(), vectors=Stores(wait)) as space:
        slow = threading.Thread(target=space.child("slow").count)
        slow.start()
        assert opening.wait(30)
        others = users(space, 3)
        assert [child.recall("number")[0].memory.text for child in others] == [f"My number is {n}." for n in range(3)]
        assert slow.is_alive()
        go_on.set()
        slow.join()


def test_four_spaces_open_at_once(home: Path) -> None:
    """Each waits for the three others to be opening."""
    together = threading.Barrier(4, timeout=30)
    with remanence.open(home, embedder=HashingEmbedder(), vectors=Stores(lambda _: together.wait() and None)) as space:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: space.child(str(n)).count(), range(4)))
        assert not together.broken


@pytest.mark.parametrize("when", ["evicting", "closing"])
def test_an_error_while_closing_one_space_stops_no_other(
    home: Path, when: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged; the others are closed, and so is the ledger. Nothing is lost."""
    monkeypatch.setattr("remanence.index.engine.open_indexes._MIN_OPEN", 1)
    closed: list[str] = []

    def close(space: str) -> None:
        closed.append(space)
        if space.endswith("user 2"):
            raise OSError("the cable was pulled")

    options: dict[str, Any] = {"cache_size": 1} if when == "evicting" else {}
    space = remanence.open(home, embedder=HashingEmbedder(), vectors=Stores(closing=close), **options)
    users(space, 5)
    with caplog.at_level(logging.ERROR):
        space.close()
    assert {name.rpartition(" ")[2] for name in closed} == {"0", "1", "2", "3", "4"}
    assert "user 2" in caplog.text
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        assert [space.child(f"user {n}").count() for n in range(5)] == [1] * 5


def test_the_least_recently_used_space_is_closed_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is used again and again stays in memory."""
    monkeypatch.setattr("remanence.index.engine.open_indexes._MIN_OPEN", 3)
    closed: list[str] = []
    space = remanence.open(home, embedder=HashingEmbedder(), vectors=Stores(closing=closed.append), cache_size=1)
    first = space.child("user 0")
    for n in range(1, 12):
        first.count()
        space.child(f"user {n}").add("Hello there.")
    assert "default/user 0" not in closed
    assert closed[:5] == [f"default/user {n}" for n in range(1, 6)]
    space.close()


@pytest.mark.parametrize("size", [0, -5, 1.5, "much", True])
def test_the_cache_size_is_a_number_of_bytes(size: Any) -> None:
    with pytest.raises(remanence.InvalidInput, match="cache_size"):
        remanence.open(None, cache_size=size)


def test_numbers_of_a_space_are_its_own(reopen: Reopen) -> None:
    """Its files, its children; not those of its siblings, also if their names begin alike."""
    space = reopen()
    space.child("ali").add(PORTO)
    for name in ("alice", "ali-0", "ali%", "bob"):
        space.child(name).add_many([f"Boat {n} of {name}." for n in range(40)])
    space.child("ali", "b").add(PORTO)
    space = reopen()

    stats = space.child("ali").admin.stats()
    assert (stats.children, stats.total, stats.disk.keys()) == (1, 1, {"ledger"})
    assert space.child("ali").spaces() == ["default/ali", "default/ali/b"]
    assert space.child("bob").admin.stats().disk.keys() == {"ledger", "index"}
    assert len(space.spaces()) == 6


# The disk and the files of the engine


@pytest.mark.usefixtures("with_files")
def test_a_full_disk_is_named_and_heals(reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is not asked to write; vectors are searched in memory until there is room again."""
    room = 10**12
    monkeypatch.setattr("remanence.index.vectors.stores.edge.free_bytes", lambda _: room)
    monkeypatch.setattr("remanence.index.vectors.stores.folder._RETRY_SECONDS", 0.0)
    space = reopen()
    space.add(PORTO)
    room = 1_000_000
    for again in (False, True):  # the disk fills while a space is open, and is full when one is opened
        if again:
            space = reopen()
        added = space.add(f"Bob plays the cello{' again' * again}.")
        found = space.recall("cello", signals=["vectors"])
        assert added in [hit.memory for hit in found]
        assert "Free some space" in found.missing["vectors"]
        assert space.recall("Porto", signals=["vectors"])[0].memory.text == PORTO
    room = 10**12
    assert space.recall("cello").missing == {}  # whether or not somebody writes
    space.add("Carol sails.")
    assert space.recall("sails").missing == {}
    assert space.admin.check() == {}
    assert reopen().recall("cello", signals=["vectors"]).missing == {}


def vector_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("chunk_*.mmap") if "vector_storage" in str(path)]


@pytest.mark.usefixtures("with_files")
def test_a_flipped_byte_in_a_vector_file_is_found_before_it_is_loaded(
    reopen: Reopen, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The shard is made again from the ledger: the ranking is as before."""
    reopen().add_many([f"Boat {n} lies in harbour {n % 7}." for n in range(50)])
    before = [hit.memory.text for hit in reopen().recall("harbour 3", signals=["vectors"])]
    reopen().close()
    [file] = [file for file in vector_files(home) if "quantized_data" not in file.parts]
    held = bytearray(file.read_bytes())
    held[31] ^= 0x40
    file.write_bytes(held)

    space = reopen()
    assert [hit.memory.text for hit in space.recall("harbour 3", signals=["vectors"])] == before
    assert "is not what was written" in caplog.text
    assert space.admin.check() == {}


@pytest.mark.usefixtures("with_files")
def test_check_compares_vectors(reopen: Reopen) -> None:
    """Not only whether there is one for each passage."""
    space = reopen()
    space.add_many([f"Boat {n} lies in harbour {n % 7}." for n in range(50)])
    with space._engine.open_index("default") as index:
        point = int(index.vectors.points[7])
        index.vectors._store.upsert([point], unit_vectors(1, HashingEmbedder().dimension))
    assert "1 vectors in the store are not those of the ledger" in space.admin.check()["vectors"]
    space.rebuild()
    assert space.admin.check() == {}


def test_a_shard_that_ends_a_process_ends_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be caught happens elsewhere, and the shard is started anew."""
    store = EdgeStore(tmp_path / "a", 8)
    store.upsert(range(100), unit_vectors(100, 8))
    store.close()
    (tmp_path / "a.sums").unlink()
    monkeypatch.setattr("remanence.index.vectors.stores.edge.load_shard", crash)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    assert EdgeStore(tmp_path / "a", 8).ids() == []


def crash(folder: Path, dimension: int) -> None:
    """In place of the engine's own crash."""
    os.kill(os.getpid(), signal.SIGBUS)


# The ledger


@pytest.mark.parametrize("remains", ["ledger.head", "index", "vectors"])
@pytest.mark.usefixtures("with_files")
def test_a_ledger_that_vanished_does_not_open_as_empty(reopen: Reopen, home: Path, remains: str) -> None:
    """What was made of it is still there."""
    reopen().add(PORTO)
    reopen().close()
    (home / "ledger.db").unlink()
    for name in {"ledger.head", "index", "vectors"} - {remains}:
        shutil.rmtree(home / name) if (home / name).is_dir() else (home / name).unlink()
    with pytest.raises(LedgerError, match=rf"missing, but {remains} .*backup"):
        reopen()
    assert not (home / "ledger.db").exists()


def test_a_flipped_byte_in_the_write_ahead_log_is_noticed(reopen: Reopen, home: Path, tmp_path: Path) -> None:
    """SQLite reads up to it and says nothing; the record beside the ledger says how far it had come."""
    space = reopen()
    for n in range(40):
        space.add(f"Boat {n} lies in the harbour.")
    copy = tmp_path / "after a crash"
    shutil.copytree(home, copy)
    log = copy / "ledger.db-wal"
    held = bytearray(log.read_bytes())
    held[len(held) // 2] ^= 0x01
    log.write_bytes(held)

    with pytest.raises(LedgerTampered, match=r"entry 40 was committed.*backup.*delete ledger\.head"):
        remanence.open(copy, embedder=HashingEmbedder())
    (copy / "ledger.head").unlink()
    with remanence.open(copy, embedder=HashingEmbedder()) as rest:
        assert 0 < rest.count() < 40


def test_a_record_that_is_behind_or_damaged_says_nothing(reopen: Reopen, home: Path) -> None:
    """As after a power failure, or of a release that wrote none."""
    reopen().add(PORTO)
    early = (home / "ledger.head").read_bytes()
    reopen().add("Bob plays the cello.")
    for content in (early, b"", b"garbage", os.urandom(128)):
        reopen().close()
        (home / "ledger.head").write_bytes(content)
        assert reopen().count() == 2


@pytest.mark.parametrize(
    "harm", ["DELETE FROM entry WHERE position = 1", "UPDATE entry SET body = '{' WHERE position = 1"]
)
def test_damage_to_the_ledger_is_one_of_our_errors(reopen: Reopen, home: Path, harm: str) -> None:
    """Never a KeyError, whoever reads the entry."""
    reopen().add_many([PORTO, *(f"Boat {n}." for n in range(40))])
    space = reopen()
    memory = next(iter(space.memories()))
    space = reopen()
    with sqlite3.connect(home / "ledger.db", isolation_level=None) as database:
        database.execute("DROP TRIGGER entry_stays")
        database.execute("DROP TRIGGER entry_is_written_once")
        database.execute(harm)
    database.close()
    for act in (lambda: space.get(memory.id), lambda: space.recall("Porto"), lambda: space.graph.timeline(memory)):
        with pytest.raises(RemanenceError, match="verify"):
            act()


# Fork


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_forked_amid_busy_threads_is_refused_at_once(reopen: Reopen) -> None:
    """Other threads hold every lock there is when it is forked; the child touches none."""
    space = reopen()
    space.add(PORTO)
    with space._engine.open_index("default") as index:
        held = [space._engine.write_lock, index.lock, space._engine.indexes._lock, space._engine._stores_lock]
        taken, done = threading.Event(), threading.Event()

        def hold() -> None:
            for lock in held:
                lock.acquire()
            taken.set()
            done.wait(60)
            for lock in held:
                lock.release()

        busy = threading.Thread(target=hold)
        busy.start()
        assert taken.wait(10)
        child = os.fork()
        if not child:
            os._exit(in_child(space))
        _, status = os.waitpid(child, 0)
        done.set()
        busy.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert space.recall("Porto")[0].memory.text == PORTO


def in_child(space: remanence.Space) -> int:
    """How many calls were not refused."""
    signal.alarm(20)
    acts: list[Callable[[], object]] = [
        lambda: space.recall("Porto"),
        lambda: space.add("Bob plays the cello."),
        lambda: space.child("bob").count(),
        lambda: space.admin.stats(),
        lambda: space.verify(),
        lambda: space.remember("I sail.", wait=False),
    ]
    passed = 0
    for act in acts:
        try:
            act()
            passed += 1
        except LedgerUnavailable:
            continue
    space.close()
    return passed


def test_vectors_keep_their_scores_when_they_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory they are as precise as in the engine, which rounds the question to half precision too."""
    vectors, query = unit_vectors(200, 64), unit_vectors(1, 64, seed=1)[0]
    scores = []
    for engine_from in (1, 2**21):
        monkeypatch.setattr("remanence.index.vectors.stores.folder.ENGINE_FROM", engine_from)
        store = FolderStore(tmp_path / str(engine_from), 64)
        store.upsert(range(200), vectors)
        store.flush()
        scores.append(store.search(query, 200)[1])
        store.close()
    assert np.abs(np.subtract(*scores)).max() < 2e-4

"""A Qdrant that several processes and several ledgers share, and that fails in every way a server can."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

import remanence
from qdrant_server import RunningServer, running_server
from remanence import Qdrant
from remanence.index.projection import Projection
from remanence.index.vectors.store_sync import StoreSync
from remanence.index.vectors.stores.qdrant import QdrantServer
from remanence.testing import HashingEmbedder
from warm_process import WarmProcess, preload

preload("qdrant_client")


@pytest.fixture(scope="module")
def shared_server() -> Iterator[RunningServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def server(shared_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    """The server without collections, and without faults. Whoever meets a fault asks again soon."""
    monkeypatch.setattr("remanence.index.engine.erasure_cleanup.POLL_SECONDS", 0.1)
    monkeypatch.setattr("remanence.index.engine.erasure_cleanup._RETRY_SECONDS", 0.1)
    monkeypatch.setattr("remanence.index.vectors.store_sync._MIN_RETRY_SECONDS", 0.1)
    shared_server.fail()
    shared_server.drop_collections()
    yield shared_server
    shared_server.fail()


def opened(home: Path | str, server: RunningServer | Qdrant, **options: Any) -> remanence.Space:
    vectors = server if isinstance(server, Qdrant) else Qdrant(server.url)
    return remanence.open(home, embedder=HashingEmbedder(), vectors=vectors, **options)


def points(server: RunningServer) -> int:
    """How many points there are in all collections."""
    client = QdrantClient(url=server.url, check_compatibility=False)
    names = [each.name for each in client.get_collections().collections]
    found = sum(client.count(name).count for name in names)
    client.close()
    return found


def eventually(check: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def texts(space: remanence.Space, question: str) -> list[str]:
    return [hit.memory.text for hit in space.recall(question, signals=["vectors"])]


# The stand-in answers as a real server does (QDRANT_BINARY)


POINTS = {"points": [{"id": 7, "vector": [1.0, 0.0], "payload": {"n": 7}}]}
VECTORS = {"vectors": {"size": 2, "distance": "Dot"}}


def alias(collection: str, name: str) -> dict[str, Any]:
    return {"actions": [{"create_alias": {"collection_name": collection, "alias_name": name}}]}


ANSWERS: list[tuple[str, str, dict[str, Any] | None, int]] = [
    ("GET", "/collections/a", None, 404),
    ("PUT", "/collections/a/points?wait=true", POINTS, 404),
    ("POST", "/collections/a/points/query", {"query": [1.0, 0.0], "limit": 1}, 404),
    ("POST", "/collections/a/points/scroll", {"limit": 1}, 404),
    ("POST", "/collections/a/points/count", {"exact": True}, 404),
    ("POST", "/collections/a/points/delete?wait=true", {"points": [7]}, 404),
    ("DELETE", "/collections/a", None, 200),
    ("PUT", "/collections/a-1", VECTORS, 200),
    ("PUT", "/collections/a-1", VECTORS, 409),
    ("POST", "/collections/aliases", alias("b", "a"), 404),
    ("POST", "/collections/aliases", alias("a-1", "a"), 200),
    ("POST", "/collections/aliases", alias("a-1", "a"), 200),
    ("POST", "/collections/aliases", alias("a-1", "a-1"), 409),
    ("PUT", "/collections/a", VECTORS, 400),
    ("GET", "/collections/a", None, 200),
    ("PUT", "/collections/a/points?wait=true", POINTS, 200),
    ("PUT", "/collections/a/points?wait=true", {"points": []}, 400),
    ("PUT", "/collections/a/points?wait=true", {"points": [{"id": 1, "vector": [1.0]}]}, 400),
    ("PUT", "/collections/a/points?wait=true", {"points": [{"id": "no UUID", "vector": [1.0, 0.0]}]}, 400),
    ("POST", "/collections/a/points/query", {"query": [1.0], "limit": 1}, 400),
    ("POST", "/collections/a/points/query", {"query": [1.0, 0.0], "limit": 0}, 422),
    ("POST", "/collections/a/points/scroll", {"limit": 0}, 422),
    ("DELETE", "/collections/a-1", None, 200),
    ("GET", "/collections/a", None, 404),
]


def test_answers_are_those_of_a_real_server(server: RunningServer) -> None:
    """The statuses that Remanence tells apart, of a server without collections."""
    assert [server.status(*request) for *request, _ in ANSWERS] == [status for *_, status in ANSWERS]


# Several openers


def test_an_opener_clears_nothing(home: Path, server: RunningServer) -> None:
    """A second and a third opener, with and without an index file, leave every point where it is."""
    with opened(home, server) as first:
        first.add_many([{"text": f"Note {n} about the harbour."} for n in range(60)])
        for _ in range(2):
            with opened(home, server) as second:
                assert second.recall("harbour", signals=["vectors"]).missing == {}
                assert points(server) == 60
        assert first.admin.check() == {}
    calls = server.calls()
    with opened(home, server) as again:
        assert again.admin.check() == {}
    changed = {name: count - calls.get(name, 0) for name, count in server.calls().items()}
    assert (changed.get("PUT points", 0), changed.get("POST delete", 0)) == (0, 0)


def test_what_another_process_adds_is_written_once(home: Path, server: RunningServer) -> None:
    """The writer writes its points; the others find them there."""
    with opened(home, server) as writer, opened(home, server) as reader:
        writer.add("The harbour is closed.")
        assert texts(reader, "harbour") == ["The harbour is closed."]
        before = server.calls()["PUT points"]
        writer.add("The bakery is open.")
        assert set(texts(reader, "bakery")) == {"The bakery is open.", "The harbour is closed."}
        assert server.calls()["PUT points"] == before + 1


def test_what_a_killed_writer_did_not_write_is_written_by_others(home: Path, server: RunningServer) -> None:
    """By the next reader that sees its entries, whether it was open before or not."""
    with opened(home, server) as reader:
        reader.add("The harbour is closed.")
        with remanence.open(home, embedder=HashingEmbedder()) as elsewhere:  # in a folder: nothing reaches the server
            elsewhere.add("The bakery is open.")
        assert points(server) == 1
        assert "The bakery is open." in texts(reader, "bakery")
        assert points(server) == 2
        with remanence.open(home, embedder=HashingEmbedder()) as elsewhere:
            elsewhere.add("The museum is full.")
    with opened(home, server) as late:
        assert "The museum is full." in texts(late, "museum")
        assert late.admin.check() == {}


def test_points_of_later_entries_are_not_deleted(home: Path, server: RunningServer) -> None:
    """A process that has not read so far does not know them, and leaves them."""
    with opened(home, server) as behind, opened(home, server) as ahead:
        behind.add("The harbour is closed.")
        index = dict(behind._engine.indexes.items())[behind.name]
        ahead.add("The bakery is open.")
        with index.lock:
            index.vectors.sync.reconcile()
            assert index.vectors.sync.differences() == []
        assert points(server) == 2
        assert ahead.admin.check() == behind.admin.check() == {}


def test_an_erasure_deletes_its_own_points(home: Path, server: RunningServer) -> None:
    """Those of other memories stay, however many processes see the erasure; an emptied space loses all of its own."""
    with opened(home, server) as one, opened(home, server) as two, opened(home, server) as three:
        for space in (one, two, three):
            space.child("other").add("Something else.")
        secret = one.add("The harbour hides a secret.")
        one.add_many([{"text": f"Note {n} about the harbour."} for n in range(20)])
        calls = server.calls()
        two.erase(secret.id)
        for space in (one, two, three):
            assert "secret" not in " ".join(texts(space, "secret"))
            assert space.admin.check() == {}
        assert server.calls()["PUT points"] == calls["PUT points"]  # nothing was written again
        assert points(server) == 21


def test_a_point_that_was_written_after_its_erasure_is_deleted(home: Path, server: RunningServer) -> None:
    """As by a process that was stopped between the two and then killed: the next opener removes it."""
    with opened(home, server) as space:
        secret = space.add("The harbour hides a secret.")
        vectors = dict(space._engine.indexes.items())[space.name].vectors
        embedded = HashingEmbedder().embed(["The harbour hides a secret."])
        space.add("The bakery is open.")
        space.erase(secret.id)
        vectors._store.write([0], embedded, [1], [b"\0" * 16])  # type: ignore[attr-defined]
        assert points(server) == 2
    with opened(home, server) as space:
        assert texts(space, "secret") == ["The bakery is open."]
        assert points(server) == 1


def test_ledgers_on_one_server_do_not_meet(tmp_path: Path, server: RunningServer) -> None:
    """They share one collection and have the same spaces and numbers; neither sees or undoes the other."""
    with opened(tmp_path / "a", server) as mine, opened(tmp_path / "b", server) as theirs:
        mine.add("The harbour is closed.")
        theirs.add("The bakery is open.")
        assert texts(mine, "harbour bakery") == ["The harbour is closed."]
        mine.rebuild()
        assert texts(theirs, "harbour bakery") == ["The bakery is open."]
        assert mine.admin.check() == theirs.admin.check() == {}
    client = QdrantClient(url=server.url, check_compatibility=False)
    assert len(client.get_collections().collections) == 1
    client.close()


def test_an_older_copy_of_a_ledger_gets_its_own_texts(home: Path, server: RunningServer, tmp_path: Path) -> None:
    """A ledger that was restored and went another way: points of the lost entries are replaced, or not seen."""
    with opened(home, server) as space:
        space.add("The harbour is closed.")
        ledger_id = space._engine.ledger_id()
        space.add("The bakery is open.")
        space.add("The museum is full.")
    with remanence.open(tmp_path / "restored", embedder=HashingEmbedder()) as restored:
        restored.add("The harbour is closed.")
        with restored._engine.transaction() as transaction:
            transaction.put_meta("id", ledger_id)
        restored.add("The theatre burned down.")
    with opened(tmp_path / "restored", server) as space:
        assert set(texts(space, "theatre")) == {"The harbour is closed.", "The theatre burned down."}
        assert space.admin.check() == {}


def test_a_rebuild_leaves_no_gap(home: Path, server: RunningServer) -> None:
    """Points are written over; another process finds all of them at every moment."""
    with opened(home, server) as space, opened(home, server) as other:
        space.add_many([{"text": f"Note {n} about the harbour."} for n in range(30)])
        assert len(other.recall("harbour", limit=30, signals=["vectors"])) == 30
        deletions = server.calls().get("POST delete", 0)
        space.rebuild()
        assert server.calls().get("POST delete", 0) == deletions
        assert points(server) == 30
        assert len(other.recall("harbour", limit=30, signals=["vectors"])) == 30


def test_a_collection_is_rebuilt_with_other_settings(home: Path, server: RunningServer) -> None:
    """All points move; spaces that are open go on with the new one."""
    settings = Qdrant(server.url, shards=2, replicas=2, quantization="int8", on_disk=True)
    with opened(home, server) as before, opened(home, settings) as space:
        before.add_many([{"text": f"Note {n} about the harbour."} for n in range(30)])
        space.recall("harbour")
        new = space.admin.rebuild_collection()
        client = QdrantClient(url=server.url, check_compatibility=False)
        assert [each.name for each in client.get_collections().collections] == [new]
        client.close()
        before.add("The bakery is open.")
        assert texts(space, "bakery")[0] == "The bakery is open."
        assert before.admin.check() == space.admin.check() == {}


def test_only_a_server_has_a_collection(space: remanence.Space) -> None:
    with pytest.raises(remanence.InvalidInput, match="open it with qdrant="):
        space.admin.rebuild_collection()


def test_another_embedder_has_another_collection(home: Path, server: RunningServer) -> None:
    """After `reembed` the points of the old one are gone; those of other ledgers stay."""
    with opened(home, server) as space, opened(home.with_name("other"), server) as other:
        space.add("The harbour is closed.")
        other.add("The bakery is open.")
    remanence.reembed(home, embedder=HashingEmbedder(32), qdrant=server.url)
    assert points(server) == 2
    with remanence.open(home, embedder=HashingEmbedder(32), qdrant=server.url) as space:
        assert texts(space, "harbour") == ["The harbour is closed."]
        assert space.admin.check() == {}


@pytest.mark.usefixtures("with_files")
def test_a_folder_moves_to_a_server_and_back(home: Path, server: RunningServer) -> None:
    """The same answers in both places; what is erased in one is not found in the other."""

    def answers(space: remanence.Space) -> list[str]:
        return sorted(texts(space, "Which note is about the harbour?"))

    with remanence.open(home, embedder=HashingEmbedder()) as space:
        added = space.add_many([f"Note {n} about the harbour." for n in range(30)])
        expected = answers(space)
    with opened(home, server) as space:
        assert answers(space) == expected
        assert points(server) == 30
        space.erase(added[0].id)
        space.add("The bakery is open.")
        expected = answers(space)
        assert space.admin.check() == {}
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        assert answers(space) == expected
        space.erase(added[1].id)
        assert space.admin.check() == {}
    with opened(home, server) as space:
        assert space.recall("harbour").missing == {}
        assert points(server) == 29
        assert space.admin.check() == {}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"vectors": {"shards": 2}}, "remanence.ports.VectorStores"),
        ({"qdrant": 7}, "a list of them"),
        ({"qdrant": ["http://localhost", "elsewhere"]}, "a list of them"),
    ],
)
def test_options_of_a_server_are_checked(home: Path, options: dict[str, Any], named: str) -> None:
    with pytest.raises(remanence.InvalidInput, match=named):
        remanence.open(home, embedder=HashingEmbedder(), **options)


# Failures


FAULTS = [
    {"status": 500},
    {"status": 401},
    {"status": 429},
    {"cut": True},
    {"garbage": True},
    {"delay": 1.6},
    {"drip": True},
    {"long": True},
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: "-".join(map(str, *fault.items())))
def test_a_server_that_fails_costs_one_signal_for_as_long(
    home: Path, server: RunningServer, fault: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adding, recalling, forgetting and erasing go on; what is missing is named, and caught up with by itself."""
    monkeypatch.setattr("remanence.index.vectors.stores.qdrant.MAX_RESPONSE_BYTES", 8 << 20)
    settings = Qdrant(server.url, timeout=1)
    with opened(home, settings) as space:
        harbour, secret = space.add("The harbour is closed."), space.add("The harbour hides a secret.")
        server.fail(**fault)
        bread = space.add("The bakery has bread.")
        assert "Qdrant" in space.recall("Is the harbour closed?").missing["vectors"]
        assert space.recall("Is the harbour closed?")[0].memory == harbour
        space.erase(secret.id)
        assert [pending.content for pending in space.audit.pending_erasures()] == ["vectors"]
        server.fail()
        assert eventually(lambda: not space.audit.pending_erasures())
        assert eventually(lambda: not space.recall("bakery").missing)
        assert texts(space, "bakery bread")[0] == bread.text
        assert space.admin.check() == {}
        assert points(server) == 2


def test_a_space_opens_without_its_server(home: Path, server: RunningServer) -> None:
    with opened(home, server) as space:
        space.add("The harbour is closed.")
    server.fail(cut=True)
    with opened(home, server) as space:
        space.add("The bakery has bread.")
        answer = space.recall("harbour")
        assert answer[0].memory.text == "The harbour is closed."
        assert "does not answer" in answer.missing["vectors"]
        server.fail()
        assert eventually(lambda: not space.recall("bakery").missing)
        assert points(server) == 2


@pytest.mark.parametrize("user", ["the one who notices", "another space", "another process"])
def test_a_lost_collection_is_filled_again(home: Path, server: RunningServer, user: str) -> None:
    """Also for a space that meets the new, empty collection only after somebody else has made it."""
    with opened(home, server) as space, opened(home, server) as other_process:
        space.add_many([{"text": f"Note {n} about the harbour."} for n in range(30)])
        other = {"another space": space.child("x"), "another process": other_process.child("x")}.get(user)
        if other is not None:
            other.add("The bakery has bread.")
        server.drop_collections()
        if other is not None:
            other.recall("bakery")  # creates it, and fills its own space
            assert eventually(lambda: texts(other, "bakery") == ["The bakery has bread."])
        assert "vectors" in space.recall("harbour").missing
        assert eventually(lambda: not space.recall("harbour").missing)
        assert len(space.recall("harbour", limit=30, signals=["vectors"])) == 30
        assert space.admin.check() == {}


def test_a_lost_part_is_noticed_by_counting(home: Path, server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search finds enough without it; the count of a minute later tells."""
    monkeypatch.setattr("remanence.index.vectors.shared_store_sync.AUDIT_SECONDS", 0.2)
    with opened(home, server) as space:
        space.add_many([{"text": f"Note {n} about the harbour."} for n in range(300)])
        vectors = dict(space._engine.indexes.items())[space.name].vectors
        vectors._store.delete([row << 12 for row in range(0, 300, 10)])
        assert space.recall("harbour").missing == {}
        assert eventually(lambda: points(server) == 300)
        assert space.admin.check() == {}


def test_an_older_copy_with_as_many_points_is_noticed(
    home: Path, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has one that was erased since in place of one that was added since; searches find enough without that one."""
    monkeypatch.setattr("remanence.index.vectors.shared_store_sync.AUDIT_SECONDS", 0.2)
    with opened(home, server) as space:
        space.add_many([{"text": f"Note {n} about the harbour."} for n in range(300)])
        store = dict(space._engine.indexes.items())[space.name].vectors._store
        store.delete([299 << 12])
        store.write([300 << 12], HashingEmbedder().embed(["A secret."]), [1], [b"\0" * 16])  # type: ignore[attr-defined]
        assert space.recall("harbour").missing == {}
        assert eventually(lambda: space.admin.check() == {})
        assert points(server) == 300


def test_many_missing_points_are_written_in_the_background(
    home: Path, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile recall answers from what is there and says that something is missing; what is erased stays erased."""
    monkeypatch.setattr("remanence.index.vectors.shared_store_sync._MAX_WHILE_OTHERS_WAIT", 10)
    monkeypatch.setattr("remanence.index.vectors.store_sync.BATCH", 20)
    write, waiting = StoreSync._write, []

    def slow_write(self: StoreSync, *args: Any) -> None:
        if len(args) == 3:  # in the background
            waiting.append(args)
            time.sleep(0.05)
        write(self, *args)

    monkeypatch.setattr(StoreSync, "_write", slow_write)
    with opened(home, server) as space:
        added = space.add_many([{"text": f"Note {n} about the harbour."} for n in range(200)])
        server.drop_collections()
        assert "vectors" in space.recall("harbour").missing
        assert eventually(lambda: bool(waiting))
        assert space.recall("harbour").missing
        space.erase(added[0].id)
        space.add("The bakery has bread.")
        assert eventually(lambda: not space.recall("harbour").missing)
        assert space.admin.check() == {}
        assert points(server) == 200


def test_points_are_written_in_the_background_while_all_is_rebuilt(
    home: Path, server: RunningServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The ledger positions of the points are those of the index before and after, not of one that is half read."""
    monkeypatch.setattr("remanence.index.vectors.shared_store_sync._MAX_WHILE_OTHERS_WAIT", 10)
    write, apply, writing, emptied = StoreSync._write, Projection._apply, threading.Event(), threading.Event()

    def write_after_emptying(self: StoreSync, *args: Any) -> None:
        if len(args) == 3 and not writing.is_set():  # in the background
            writing.set()
            assert emptied.wait(10)
        write(self, *args)

    def apply_late(self: Projection, *args: Any) -> None:
        if writing.is_set() and not emptied.is_set():
            emptied.set()
            time.sleep(0.5)
        apply(self, *args)

    with opened(home, server) as space:
        space.add_many([{"text": f"Note {n} about the harbour."} for n in range(50)])
        monkeypatch.setattr(StoreSync, "_write", write_after_emptying)
        monkeypatch.setattr(Projection, "_apply", apply_late)
        server.drop_collections()
        assert "vectors" in space.recall("harbour").missing
        assert writing.wait(10)
        space.rebuild()
        assert eventually(lambda: not space.recall("harbour").missing)
        assert space.admin.check() == {}
        assert points(server) == 50
    assert "could not be finished" not in caplog.text


def test_the_next_address_is_asked(home: Path, server: RunningServer) -> None:
    """An address that refuses does not matter while another of the same cluster answers."""
    with remanence.open(home, embedder=HashingEmbedder(), qdrant=["http://127.0.0.1:9", server.url]) as space:
        space.add("The harbour is closed.")
        assert space.recall("harbour").missing == {}
        assert texts(space, "harbour") == ["The harbour is closed."]


def test_the_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was given before the one of the environment."""
    monkeypatch.setenv("QDRANT_API_KEY", "from the environment")
    keys = [
        QdrantServer(Qdrant("https://localhost", given))._clients[0].init_options["api_key"]
        for given in (None, "given")
    ]
    assert keys == ["from the environment", "given"]


# Several processes, and kills


PROGRAM = """
import sys
import time
import remanence
from remanence.testing import HashingEmbedder

folder, url, name = sys.argv[1:4]
with remanence.open(folder, embedder=HashingEmbedder(), vectors=remanence.Qdrant(url, timeout=20)) as space:
    print("open", flush=True)
    number = 0
    while True:
        kept = space.add(f"{name} wrote line {number} of the log.")
        gone = space.add(f"{name} wrote secret {number} for nobody.")
        space.add_many([{"text": f"{name} wrote line {number}.{part} of the log."} for part in range(3)])
        space.recall("Who wrote the log?", signals=["vectors"])
        space.erase(gone.id)
        print(kept.id, flush=True)
        number += 1
        time.sleep(0.1)
"""


@pytest.mark.slow
def test_processes_with_kills_agree_with_the_ledger(location: str, server: RunningServer) -> None:
    """Each of two adds, recalls and erases on one ledger and one collection and is killed and started again; a third
    compares the collection with the ledger meanwhile and at the end."""

    names, printed = ["Ada", "Bo"], set[str]()
    processes = {name: WarmProcess(PROGRAM, location, server.url, name) for name in names}
    try:
        for round_ in range(2):
            for process in processes.values():
                lines = [process.stdout.readline() for _ in range(3)]
                assert all(lines), process.stderr.read()
                printed.update(map(str.strip, lines[1:]))
            with opened(location, Qdrant(server.url, timeout=20)) as third:
                # What a killed writer did not send is written again by others, so it may be missing for a moment.
                assert eventually(lambda third=third: not third.recall("the log", signals=["vectors"]).missing)
                assert third.recall("Who wrote the log?", limit=50, signals=["vectors"])
            for name in names:
                os.kill(processes[name].pid, signal.SIGKILL)
                processes[name].wait()
                if round_ < 1:
                    processes[name] = WarmProcess(PROGRAM, location, server.url, name)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    with opened(location, Qdrant(server.url, timeout=20)) as space:
        assert space.admin.check() == {}
        space.verify()
        assert len(printed) == 4  # two of each process; started again, it writes the same lines
        assert len(space.get_many(sorted(printed))) == 4
        assert points(server) == space.count()

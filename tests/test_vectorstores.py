"""The three vector stores keep one contract, and each its own promises."""

from __future__ import annotations

import logging
import os
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient, QdrantClient

from qdrant_server import real_server
from remanence.errors import Closed, InvalidInput, MissingExtra, ProjectionError, ProjectionStale
from remanence.index.vectors.stores import LocalStores, SharedStores, folder_name
from remanence.index.vectors.stores.edge import EdgeStore, StoreBusy
from remanence.index.vectors.stores.exact import ExactStore
from remanence.index.vectors.stores.folder import FolderStore
from remanence.index.vectors.stores.qdrant import Qdrant, QdrantServer
from remanence.index.vectors.stores.server import Collection, ServerStore
from remanence.ports import VectorStore
from remanence.testing.vector_store_contract import (
    SharedVectorStoreContract,
    VectorStoreContract,
    axis_vector,
    unit_vectors,
)
from warm_process import WarmProcess

ODD_NAMES = ["ali", "alice", "alice/", "../alice", "Ålice 🦊", "a'l\"ice", "アリス", "x" * 500, "*", "1:ali", " "]


class TestExactStore(VectorStoreContract):
    tolerance = 1e-5

    def make(self, dimension: int) -> VectorStore:
        return ExactStore(dimension)


class TestEdgeStore(VectorStoreContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "vectors" / "alice"

    def make(self, dimension: int) -> VectorStore:
        return EdgeStore(self.folder, dimension)

    def reopen(self, store: VectorStore) -> VectorStore:
        return EdgeStore(self.folder, 8)


@pytest.mark.parametrize("engine_from", [1, 100, 2**21], ids=["engine", "both", "memory"])
class TestFolderStore(VectorStoreContract):
    """In memory, in the engine, and partly in each."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine_from: int) -> None:
        self.folder = tmp_path / "vectors" / "alice"
        monkeypatch.setattr("remanence.index.vectors.stores.folder.ENGINE_FROM", engine_from)
        monkeypatch.setattr("remanence.index.vectors.stores.folder._MOVE_AT_ONCE", 2)

    def make(self, dimension: int) -> VectorStore:
        return FolderStore(self.folder, dimension)


class TestServerStore(SharedVectorStoreContract):
    """Against the server that QDRANT_BINARY names, or qdrant-client's in-process mode."""

    @pytest.fixture(autouse=True)
    def _server(self, qdrant: tuple[QdrantServer, str]) -> None:
        self.server, self.name = qdrant

    def make(self, dimension: int) -> ServerStore:
        return ServerStore(Collection(self.server, self.name, dimension), "ledger", "alice")

    def reopen(self, store: VectorStore) -> VectorStore:
        return self.make(8)


@pytest.fixture(scope="module")
def server_url() -> Iterator[str | None]:
    """The URL of a real server, if QDRANT_BINARY names its program."""
    with real_server() as url:
        yield url


@pytest.fixture
def qdrant(server_url: str | None) -> Iterator[tuple[QdrantServer, str]]:
    """A server, and the name of a collection that is dropped afterwards."""
    server = QdrantServer(Qdrant(server_url or QdrantClient(":memory:")))
    name = f"test-{uuid.uuid4().hex}"
    yield server, name
    for found in server.call(lambda client: client.get_collections()).collections:
        if found.name.startswith(name):
            server.call(lambda client, each=found.name: client.delete_collection(each))
    server.close()


@pytest.fixture
def collection(qdrant: tuple[QdrantServer, str]) -> Collection:
    return Collection(*qdrant, 8)


# In a folder


def test_a_shard_is_made_with_the_first_point(tmp_path: Path) -> None:
    """Opening an empty space writes a lock and no shard."""
    store = EdgeStore(tmp_path / "a", 8)
    store.search(axis_vector(0), 1)
    assert not (tmp_path / "a").exists()
    store.upsert([1], axis_vector(0)[None])
    assert (tmp_path / "a").exists()
    store.clear()
    assert not (tmp_path / "a").exists()
    store.close()


def test_a_folder_is_held_by_one_store(tmp_path: Path) -> None:
    """A second opener in this process is refused until the first has closed."""
    first = EdgeStore(tmp_path / "a", 8)
    with pytest.raises(StoreBusy):
        EdgeStore(tmp_path / "a", 8)
    first.close()
    EdgeStore(tmp_path / "a", 8).close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_store_that_was_dropped_lets_go(tmp_path: Path) -> None:
    """Forgetting to close holds nobody up for longer than the object lives."""
    EdgeStore(tmp_path / "a", 8)
    EdgeStore(tmp_path / "a", 8).close()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """Calls after a close are refused: another process may hold the files by then."""
    store = EdgeStore(tmp_path / "a", 8)
    store.close()
    with pytest.raises(Closed, match="Open the space again"):
        store.upsert([1], axis_vector(0)[None])


def test_a_second_process_waits_for_a_kill(tmp_path: Path) -> None:
    """While a process holds the folder others are refused; `kill -9` frees it, and points go in again."""
    holder = WarmProcess(HOLDER, tmp_path / "a")
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(StoreBusy, match=r"a\.lock is locked"):
        EdgeStore(tmp_path / "a", 8)

    holder.kill()
    holder.wait()
    store = EdgeStore(tmp_path / "a", 8)
    kept = store.ids()
    assert set(range(100)) <= set(kept) <= set(range(200))  # the first hundred were flushed
    store.upsert(list(range(200)), unit_vectors(200, 8))
    assert sorted(store.ids()) == list(range(200))
    assert store.search(unit_vectors(200, 8)[150], 1)[0] == [150]
    store.close()


HOLDER = """
import sys, time
from pathlib import Path
from remanence.testing.vector_store_contract import unit_vectors
from remanence.index.vectors.stores.edge import EdgeStore
store = EdgeStore(Path(sys.argv[1]), 8)
store.upsert(list(range(100)), unit_vectors(200, 8)[:100])
store.flush()
store.upsert(list(range(100, 200)), unit_vectors(200, 8)[100:])
print("held", flush=True)
time.sleep(60)
"""


def test_a_shard_that_is_only_read_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """However often it is opened and closed, it is not made again."""
    vectors = unit_vectors(100, 8)
    store = EdgeStore(tmp_path / "a", 8)
    store.upsert(list(range(100)), vectors)
    store.close()
    for _ in range(4):
        store = EdgeStore(tmp_path / "a", 8)
        assert store.search(vectors[7], 1)[0] == [7]
        store.close()
        assert (tmp_path / "a.sums").exists()
    assert not caplog.records


@pytest.mark.parametrize("harm", ["garbage", "cut short", "emptied"])
@pytest.mark.parametrize(
    "name", ["edge_config.json", "segment.json", "mutable_id_tracker.mappings", "chunk_0.mmap", "status.dat"]
)
def test_a_damaged_shard_starts_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, harm: str) -> None:
    """Whatever happened to the files, the store opens, and holds what the ledger puts back."""
    vectors = unit_vectors(100, 8)
    store = EdgeStore(tmp_path / "a", 8)
    store.upsert(list(range(100)), vectors)
    store.close()
    for file in (tmp_path / "a").rglob(name):
        size = file.stat().st_size
        file.write_bytes(
            {"garbage": os.urandom(size), "cut short": file.read_bytes()[: size // 2], "emptied": b""}[harm]
        )

    with caplog.at_level(logging.WARNING):
        store = EdgeStore(tmp_path / "a", 8)
    assert bool(caplog.records) or len(store.ids()) in (0, 50, 100)
    if caplog.records:
        assert store.ids() == []
        assert "rebuilt from the ledger" in caplog.text
    store.upsert(list(range(100)), vectors)
    assert [store.search(vector, 1)[0] for vector in vectors] == [[n] for n in range(100)]
    store.close()


def test_a_shard_of_another_dimension_starts_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Another embedder, another size: the old points are of no use."""
    store = EdgeStore(tmp_path / "a", 8)
    store.upsert([1], axis_vector(0)[None])
    store.close()

    store = EdgeStore(tmp_path / "a", 4)
    assert "rebuilt from the ledger" in caplog.text
    assert store.ids() == []
    store.upsert([1], axis_vector(0, 4)[None])
    store.close()


def test_a_shard_that_breaks_in_use_is_named(tmp_path: Path) -> None:
    """The engine's own errors arrive as ours, with the folder and the way out."""
    store = EdgeStore(tmp_path / "a", 8)
    store.upsert(list(range(100)), unit_vectors(100, 8))
    store.close()
    (tmp_path / "a.sums").unlink()  # as of an older release
    next((tmp_path / "a").rglob("page_0.dat")).write_bytes(b"")

    store = EdgeStore(tmp_path / "a", 8)
    with pytest.raises(ProjectionError, match="delete that folder"):
        store.upsert([1], axis_vector(0)[None])
    with suppress(ProjectionError):
        store.close()
    EdgeStore(tmp_path / "a", 8).close()  # whatever it met, it let go


def test_a_deleted_vector_leaves_the_files(tmp_path: Path) -> None:
    """Nothing on disk tells what an erased memory meant: neither its vector nor the code that the engine made of it."""
    vectors = unit_vectors(100, 256)
    store = EdgeStore(tmp_path / "a", 256)
    store.upsert(list(range(100)), vectors)
    store.flush()
    [codes] = [path for path in tmp_path.rglob("chunk_0.mmap") if "quantized_data" in path.parts]
    before = np.frombuffer(codes.read_bytes(), np.uint8)
    store.delete([5, 1_000_000])
    assert len(store.ids()) == 99
    store.close()

    on_disk = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert vectors[4].astype(np.float16).tobytes() in on_disk
    assert vectors[5].astype(np.float16).tobytes() not in on_disk
    changed = np.flatnonzero(before != np.frombuffer(codes.read_bytes(), np.uint8))
    left = np.unique(np.frombuffer(codes.read_bytes(), np.uint8)[changed[0] : changed[-1] + 1])
    assert len(changed) > 100
    assert len(left) == 2, "the code of a vector of zeros and its length"


def test_a_point_with_the_vector_of_a_deleted_one_stays(tmp_path: Path) -> None:
    vectors = unit_vectors(100, 256)
    vectors[40:80] = vectors[5]
    store = EdgeStore(tmp_path / "a", 256)
    store.upsert(list(range(len(vectors))), vectors)
    assert store.search(vectors[5], 3)[0] == [5, 40, 41]
    store.delete([5, 40])
    assert store.search(vectors[5], 39)[0] == list(range(41, 80))
    assert len(store.ids()) == 98
    store.close()


def test_the_nearest_of_many_are_found_by_their_codes(tmp_path: Path) -> None:
    """At least 98 of a hundred of the fifty nearest, with their scores, also after the store was opened again."""
    dice = np.random.default_rng(7)
    centres = dice.standard_normal((100, 64), np.float32)
    vectors = centres[dice.integers(0, 100, 20_000)] + dice.standard_normal((20_000, 64), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store = EdgeStore(tmp_path / "a", 64)
    for begin in range(0, 20_000, 7_000):
        store.upsert(range(begin, min(begin + 7_000, 20_000)), vectors[begin : begin + 7_000])
    for _ in range(2):
        found = 0
        for question in vectors[::1_000]:
            exact = vectors @ question
            ids, scores = store.search(question, 50)
            assert scores == pytest.approx(exact[ids].tolist(), abs=2e-3)
            found += len(np.intersect1d(ids, np.argsort(-exact)[:50]))
        assert found >= 0.98 * 50 * 20
        store.close()
        store = EdgeStore(tmp_path / "a", 64)
    store.close()


# On a server


def test_spaces_do_not_mix(collection: Collection) -> None:
    """Spaces of any name share a collection and never see, replace or delete each other's points."""
    stores = {name: ServerStore(collection, "ledger", name) for name in ODD_NAMES}
    vectors = unit_vectors(len(ODD_NAMES), 8)
    for n, store in enumerate(stores.values()):
        store.upsert([1, 100 + n], vectors[[n, n]])

    for n, store in enumerate(stores.values()):
        assert sorted(store.ids()) == [1, 100 + n]
        ids, scores = store.search(vectors[n], 50)
        assert ids == [1, 100 + n]
        assert scores == pytest.approx([1.0, 1.0], abs=1e-5)
        assert store.search(vectors[n], 50, range(100, 120))[0] == [100 + n]

    stores["ali"].clear()
    stores["alice"].delete([1, *range(100, 120)])
    for n, (name, store) in enumerate(stores.items()):
        assert sorted(store.ids()) == ([] if name in ("ali", "alice") else [1, 100 + n])


def test_ledgers_do_not_mix(collection: Collection) -> None:
    """The same space name and the same numbers in another ledger are other points."""
    mine, theirs = (ServerStore(collection, ledger, "alice") for ledger in ("a", "b"))
    mine.upsert([1], axis_vector(0)[None])
    theirs.upsert([1, 2], np.stack([axis_vector(1), axis_vector(0)]))
    assert mine.search(axis_vector(0), 5)[0] == [1]
    mine.clear()
    assert (mine.ids(), sorted(theirs.ids())) == ([], [1, 2])
    collection.delete_ledger("b")
    assert theirs.ids() == []


def test_points_say_where_they_come_from(collection: Collection) -> None:
    """The ledger position and the hash of the text; a delete may leave what is newer."""
    store = ServerStore(collection, "ledger", "alice")
    hashes = [bytes([n]) * 16 for n in range(4)]
    store.write([0, 1, 2, 3], unit_vectors(4, 8), [10, 11, 12, 13], hashes)
    found = store.get_points([1, 3, 99])
    assert dict(zip(found.ids.tolist(), found.positions.tolist(), strict=True)) == {1: 11, 3: 13}
    assert set(found.hashes) == {hashes[1], hashes[3]}
    assert [store.count(up_to) for up_to in (9, 11, 99)] == [0, 2, 4]
    store.delete([1, 3], up_to=12)
    assert sorted(store.ids()) == [0, 2, 3]


def test_many_points_are_deleted_in_several_requests(collection: Collection) -> None:
    """A server takes 32 MB at once, less than the ids of a million points."""
    store, requests, call = ServerStore(collection, "ledger", "alice"), [], collection.call
    store.upsert([1, 2, 25_000], unit_vectors(3, 8))
    collection.call = lambda action: requests.append(action) or call(action)  # type: ignore[method-assign,func-returns-value]
    store.delete(range(1, 25_001))
    assert len(requests) == 3
    assert store.ids() == []


@pytest.mark.parametrize("quantization", [None, "int8", "binary"])
def test_quantised_vectors_are_searched(quantization: Any) -> None:
    """In a search that is asked to be exact, a server reads whole vectors only."""
    server = QdrantServer(Qdrant("http://127.0.0.1:9", quantization=quantization))
    parameters = ServerStore(Collection(server, "c", 8), "ledger", "alice")._search_parameters()
    assert parameters is not None
    assert bool(parameters.exact) == (quantization is None)
    assert (parameters.quantization is not None and parameters.quantization.rescore) == (quantization is not None)
    server.close()


def test_a_collection_of_another_dimension_is_refused(qdrant: tuple[QdrantServer, str]) -> None:
    """Both sizes are named, and the way out."""
    ServerStore(Collection(*qdrant, 8), "ledger", "alice").upsert([1], axis_vector(0)[None])
    with pytest.raises(ProjectionStale, match=r"(?s)holds vectors of 8 .* opens with 4\..*delete the collection"):
        ServerStore(Collection(*qdrant, 4), "ledger", "alice").ids()


def test_a_collection_is_created_once(qdrant: tuple[QdrantServer, str]) -> None:
    """Whoever comes second gets the collection of the first, also if both come at once."""
    collections = [Collection(*qdrant, 8) for _ in range(8)]

    def write(n: int) -> None:
        ServerStore(collections[n], "ledger", "alice").upsert([n], axis_vector(n)[None])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    assert sorted(ServerStore(Collection(*qdrant, 8), "ledger", "alice").ids()) == list(range(8))


def test_a_rebuilt_collection_takes_the_place_of_the_old_one(
    qdrant: tuple[QdrantServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody's points are in it, also those that were written and deleted while it was made; the old one is gone."""
    collection = Collection(*qdrant, 8)
    mine, theirs = ServerStore(collection, "a", "alice"), ServerStore(collection, "b", "bob")
    mine.upsert([0, 1, 2], unit_vectors(3, 8))
    theirs.upsert([7], axis_vector(1)[None])
    switch = Collection._switch_alias

    def others_write_meanwhile(self: Collection, target: str) -> None:
        theirs.upsert([8], axis_vector(2)[None])
        mine.delete([1])
        switch(self, target)
        mine.upsert([3], axis_vector(3)[None])

    monkeypatch.setattr(Collection, "_switch_alias", others_write_meanwhile)
    new = collection.rebuild()
    assert (sorted(mine.ids()), sorted(theirs.ids())) == ([0, 2, 3], [7, 8])
    names = [each.name for each in qdrant[0].call(lambda client: client.get_collections()).collections]
    assert [name for name in names if name.startswith(collection.name)] == [new]


def test_a_rebuild_that_was_stopped_changes_nothing(
    qdrant: tuple[QdrantServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old collection stays in use, and the next rebuild removes what the stopped one left."""
    collection = Collection(*qdrant, 8)
    store = ServerStore(collection, "ledger", "alice")
    store.upsert([0, 1, 2], unit_vectors(3, 8))
    with monkeypatch.context() as patched:
        patched.setattr(Collection, "_switch_alias", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            collection.rebuild()
    assert sorted(store.ids()) == [0, 1, 2]
    new = collection.rebuild()
    assert sorted(store.ids()) == [0, 1, 2]
    names = [each.name for each in qdrant[0].call(lambda client: client.get_collections()).collections]
    assert [name for name in names if name.startswith(collection.name)] == [new]


def test_a_server_that_is_down_is_named() -> None:
    """The address and the next step, and no httpx in sight."""
    stores = SharedStores(Qdrant("http://127.0.0.1:9"), lambda: "ledger")
    with pytest.raises(ProjectionError, match=r"http://127\.0\.0\.1:9 does not answer: .* The ledger has every vector"):
        stores.open("alice", 8).ids()
    stores.close()


def test_a_missing_client_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has no server may remove it (`docs/limits.md`)."""
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(MissingExtra, match=r"needs the package qdrant-client.*pip install qdrant-client"):
        QdrantServer(Qdrant("http://localhost:6333"))


def test_a_server_is_a_url_several_or_a_client() -> None:
    """A client that was given is used as it is; what is neither is refused."""
    client = QdrantClient(":memory:")
    server = QdrantServer(Qdrant(client))
    assert server.call(lambda given: given) is client
    server.close()
    assert client.get_collections() is not None  # a client we were given stays open
    for neither in ("localhost:6333", 6333, QdrantClient, AsyncQdrantClient(":memory:"), [], ["http://a", "b"]):
        with pytest.raises(InvalidInput, match="localhost:6333"):
            QdrantServer(Qdrant(neither))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"shards": 0}, "shards=0"),
        ({"replicas": 1.5}, "replicas=1.5"),
        ({"write_consistency": 2}, "replicas=1"),
        ({"quantization": "int4"}, "int8, binary"),
        ({"on_disk": "yes"}, "on_disk='yes'"),
        ({"timeout": True}, "timeout=True"),
    ],
)
def test_settings_of_a_collection_are_checked(settings: dict[str, Any], named: str) -> None:
    """The message names the setting and the value."""
    with pytest.raises(InvalidInput, match=named):
        Qdrant("http://localhost", **settings)


@pytest.mark.parametrize("place", ["edge", "server"])
def test_many_allowed_points_are_ranked_exactly(tmp_path: Path, collection: Collection, place: str) -> None:
    """Where a filter would be slow the answer is read off a full scan: the same answer, wherever the points lie."""
    # The server in this process compares each point with each number that is allowed, and knows no other way.
    count = 9_000 if place == "edge" or not collection.server.in_process else 900
    allowed_count = count * 2 // 3
    vectors, query = unit_vectors(count, 8), unit_vectors(1, 8, seed=1)[0]
    store: VectorStore = EdgeStore(tmp_path / "a", 8) if place == "edge" else ServerStore(collection, "a", "b")
    exact = ExactStore(8)
    for each in (store, exact):
        each.upsert(list(range(count)), vectors)
    far_first = np.argsort(vectors @ query)
    for allowed in (
        np.random.default_rng(2).permutation(count)[:allowed_count],  # anywhere
        far_first[:allowed_count],
        far_first[-allowed_count:],  # near
    ):
        only = allowed.tolist()
        ids, scores = store.search(query, 20, only)
        assert set(ids) <= set(only)
        assert scores == pytest.approx(exact.search(query, 20, only)[1], abs=2e-3)
    store.close()


# Which one


def test_the_place_is_chosen_by_what_is_given(tmp_path: Path) -> None:
    """A folder before memory."""
    assert isinstance(LocalStores().open("alice", 8), ExactStore)
    store = LocalStores(tmp_path).open("alice", 8)
    assert isinstance(store, FolderStore)
    store.close()


@pytest.mark.usefixtures("with_files")
def test_a_busy_folder_gives_a_store_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The second opener works in memory and says so once."""
    stores = LocalStores(tmp_path)
    first = stores.open("alice", 8)
    first.upsert([1], axis_vector(0)[None])
    with caplog.at_level(logging.INFO):
        second = stores.open("alice", 8)
    assert second.ids() == []
    assert len(caplog.records) == 1
    assert "kept in memory here" in caplog.text
    second.upsert([2], axis_vector(0)[None])
    assert second.search(axis_vector(0), 5)[0] == [2]
    first.close()
    second.close()


@pytest.mark.usefixtures("with_files")
def test_any_name_of_a_space_is_harmless(tmp_path: Path) -> None:
    """Each odd name has a folder of its own, inside the folder given."""
    stores = LocalStores(tmp_path / "in")
    for n, name in enumerate(ODD_NAMES):
        store = stores.open(name, 8)
        assert store.ids() == []
        store.upsert([n], axis_vector(0)[None])
        store.close()
    assert os.listdir(tmp_path) == ["in"]
    assert sum(path.is_dir() for path in (tmp_path / "in").iterdir()) == len(ODD_NAMES)
    assert all(len(folder_name(name)) < 60 for name in ODD_NAMES)
    store = stores.open("../alice", 8)
    assert store.ids() == [3]
    store.close()


def test_exact_stores_survive_growth_and_holes() -> None:
    """A thousand random writes and deletes leave what a dict would hold."""
    rng = np.random.default_rng(0)
    store, true = ExactStore(8), dict[int, np.ndarray]()
    for _ in range(300):
        ids = rng.integers(0, 200, 7).tolist()
        vectors = rng.standard_normal((7, 8)).astype(np.float32)
        store.upsert(ids, vectors)
        true.update(zip(ids, vectors, strict=True))
        gone = rng.integers(0, 220, 4).tolist()
        store.delete(gone)
        for n in gone:
            true.pop(n, None)
        query = rng.standard_normal(8).astype(np.float32)
        ids, scores = store.search(query, 1_000)
        assert set(ids) == set(true) == set(store.ids())
        assert scores == pytest.approx([float(true[n] @ query) for n in ids], abs=1e-4)

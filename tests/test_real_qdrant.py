"""What only a real Qdrant server does: its files are lost or older, its disk is full, it has a key, a certificate, or
other nodes. QDRANT_BINARY names its program; without it these tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import remanence
from qdrant_server import BINARY, QdrantNode, cluster
from remanence import Qdrant
from remanence.testing import HashingEmbedder
from test_shared_qdrant import eventually, texts

pytestmark = pytest.mark.skipif(BINARY is None, reason="QDRANT_BINARY does not name the program of a Qdrant server")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever meets a fault asks again soon."""
    monkeypatch.setattr("remanence.index.engine.erasure_cleanup.POLL_SECONDS", 0.1)
    monkeypatch.setattr("remanence.index.engine.erasure_cleanup._RETRY_SECONDS", 0.1)
    monkeypatch.setattr("remanence.index.vectors.store_sync._MIN_RETRY_SECONDS", 0.1)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[QdrantNode]:
    node = QdrantNode(tmp_path / "node")
    node.start()
    yield node
    node.kill()


def opened(home: Path, url: str | list[str], **settings: Any) -> remanence.Space:
    return remanence.open(home, embedder=HashingEmbedder(), vectors=Qdrant(url, **settings))


def is_whole(space: remanence.Space) -> bool:
    return not space.recall("harbour", signals=["vectors"]).missing


def stored(space: remanence.Space) -> int:
    """How many points the server has of this space."""
    vectors = dict(space._engine.indexes.items())[space.name].vectors
    return vectors._store.count(1 << 62)  # type: ignore[attr-defined,no-any-return]


def test_a_server_that_lost_its_folder_is_filled_again(home: Path, node: QdrantNode) -> None:
    """It was started with an empty folder, while a space was open."""
    with opened(home, node.url) as space:
        space.add_many([f"Note {number} about the harbour." for number in range(30)])
        node.kill()
        assert "does not answer" in space.recall("harbour").missing["vectors"]
        shutil.rmtree(node.folder / "storage")
        node.start()
        assert eventually(lambda: is_whole(space))
        assert space.admin.check() == {}
        assert stored(space) == 30


@pytest.mark.parametrize("was_open", [True, False], ids=["open", "opened after"])
def test_an_older_copy_of_a_server_is_brought_up_to_date(
    home: Path, node: QdrantNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_open: bool
) -> None:
    """It has the point of a memory that was erased since, and lacks that of one that was added: as many as before."""
    with opened(home, node.url) as space:
        space.add_many([f"Note {number} about the harbour." for number in range(30)])
        secret = space.add("The harbour hides a secret.")
        node.kill()
        shutil.copytree(node.folder / "storage", tmp_path / "copy")
        node.start()
        assert eventually(lambda: is_whole(space))
        space.erase(secret.id)
        space.add("The bakery is open.")
        if was_open:
            restore(node, tmp_path / "copy")  # nobody asks meanwhile
            monkeypatch.setattr("remanence.index.vectors.shared_store_sync.AUDIT_SECONDS", 0.2)
            sync = dict(space._engine.indexes.items())[space.name].vectors.sync
            sync._audit_at = None  # type: ignore[attr-defined]
            assert eventually(lambda: texts(space, "bakery")[0] == "The bakery is open.")
            assert eventually(lambda: stored(space) == 31)
            assert space.admin.check() == {}
    if not was_open:
        restore(node, tmp_path / "copy")
        with opened(home, node.url) as space:
            assert texts(space, "bakery")[0] == "The bakery is open."
            assert stored(space) == 31
            assert space.admin.check() == {}


def restore(node: QdrantNode, copy: Path) -> None:
    node.kill()
    shutil.rmtree(node.folder / "storage")
    shutil.copytree(copy, node.folder / "storage")
    node.start()


def test_a_key_is_needed(home: Path, tmp_path: Path) -> None:
    """With a wrong one, memories are added and found by words, and `missing` names the key."""
    node = QdrantNode(tmp_path / "node", SERVICE__API_KEY="right")
    try:
        node.start()
        with opened(home, node.url, key="wrong") as space:
            space.add("The harbour is closed.")
            assert "refuses the key: 401" in space.recall("harbour").missing["vectors"]
            assert space.recall("harbour")[0].memory.text == "The harbour is closed."
        with opened(home, node.url, key="right") as space:
            assert texts(space, "harbour") == ["The harbour is closed."]
            assert space.admin.check() == {}
    finally:
        node.kill()


def test_a_certificate_is_checked(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that nobody vouches for is refused; SSL_CERT_FILE names who vouches for it."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, *subject]
    subprocess.run(made, check=True, capture_output=True)
    node = QdrantNode(
        tmp_path / "node", SERVICE__ENABLE_TLS="true", TLS__CERT=certificate, TLS__KEY=key, TLS__CA_CERT=certificate
    )
    url = node.url.replace("http:", "https:")
    try:
        node.start()
        with opened(home, url) as space:
            space.add("The harbour is closed.")
            assert "CERTIFICATE_VERIFY_FAILED" in space.recall("harbour").missing["vectors"]
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with opened(home, url) as space:
            assert texts(space, "harbour") == ["The harbour is closed."]
            assert space.admin.check() == {}
    finally:
        node.kill()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 160 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_costs_one_signal(home: Path, small_disk: Path) -> None:
    """Memories are added and erased all the same; what Qdrant missed is written once there is room."""
    node = QdrantNode(small_disk / "node")
    try:
        node.start()
        with opened(home, node.url) as space:
            space.add_many([f"Note {number} about the harbour." for number in range(30)])
            secret = space.add("The harbour hides a secret.")
            filled = small_disk / "filled"
            with filled.open("wb") as file:
                file.write(bytes(os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize - 4096))
            space.add("The bakery is open.")
            missing = space.recall("bakery").missing
            assert "Qdrant" in missing["vectors"]
            assert space.recall("bakery")[0].memory.text == "The bakery is open."
            space.erase(secret.id)
            assert "secret" not in " ".join(texts(space, "secret"))
            filled.unlink()
            assert eventually(lambda: is_whole(space))
            assert eventually(lambda: not space.audit.pending_erasures())
            assert space.admin.check() == {}
            assert stored(space) == 31
    finally:
        node.kill()


def test_a_node_of_a_cluster_may_be_killed(home: Path, tmp_path: Path) -> None:
    """With two replicas, nothing is missing while one of three nodes is away, and each replica is right afterwards."""
    nodes = cluster(tmp_path / "nodes")
    try:
        for node in nodes:
            node.start()
        with opened(home, [node.url for node in nodes], shards=3, replicas=2) as space:
            space.add_many([f"Note {number} about the harbour." for number in range(30)])
            for number, node in enumerate(nodes):
                secret = space.add("The harbour hides a secret.")
                node.kill()
                assert eventually(lambda: is_whole(space))
                added = space.add(f"Bakery {number} is open.")
                space.erase(secret.id)
                assert eventually(lambda added=added: added.text in texts(space, "bakery"))  # type: ignore[misc]
                assert eventually(lambda: not space.audit.pending_erasures())
                node.start()
                assert eventually(lambda: is_recovered(nodes))
            assert space.admin.check() == {}
            for node in nodes:
                node.kill()
                assert eventually(lambda: is_whole(space))
                assert stored(space) == 33
                node.start()
                assert eventually(lambda: is_recovered(nodes))
    finally:
        for node in nodes:
            node.kill()


def is_recovered(nodes: list[QdrantNode]) -> bool:
    """Whether every node says of every replica that it is active."""
    return all(node.replicas_are_active() for node in nodes)

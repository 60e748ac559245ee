"""The index file is written in the background: it has one state, and nothing that was erased meanwhile."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

import remanence
from remanence.index import index_file, projection
from remanence.index.index_file import Arrays, IndexFile
from remanence.index.vectors.stores.folder import FolderStore
from remanence.ledger.sql import SqlLedger
from remanence.testing import FakeClock, HashingEmbedder


class Part:
    """A part with one array that changes."""

    def __init__(self) -> None:
        self.numbers = np.arange(5)

    def save(self) -> dict[str, np.ndarray]:
        return {"numbers": self.numbers}

    def load(self, arrays: Any) -> None:
        self.numbers = arrays["numbers"]


class SlowWriter:
    """Writes index files only after it was released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started, self.released = threading.Event(), threading.Event()
        write = index_file._encode

        def slow(arrays: Arrays, file: BinaryIO) -> None:
            self.started.set()
            assert self.released.wait(30)
            write(arrays, file)

        monkeypatch.setattr(index_file, "_encode", slow)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowWriter:
    return SlowWriter(monkeypatch)


def opened(folder: Path) -> remanence.Space:
    return remanence.open(folder, embedder=HashingEmbedder(), reader=None, clock=FakeClock("2026-05-04"))


def index_files(folder: Path) -> list[Path]:
    return sorted((folder / "index").rglob("*.idx"))


def test_what_changes_while_a_file_is_written_is_not_in_it(tmp_path: Path, slow: SlowWriter) -> None:
    """And a second state is not written at the same time."""
    file, part = IndexFile(tmp_path / "a.idx"), Part()
    assert file.write_in_background({"state": 1}, {"part": part})
    part.numbers[0] = 99
    assert not file.write_in_background({"state": 2}, {"part": part})
    slow.released.set()
    file.wait()
    header, arrays = file.read() or ({}, {})
    assert header == {"state": 1}
    assert arrays["part.numbers"].tolist() == [0, 1, 2, 3, 4]


def test_a_file_that_was_removed_while_it_was_written_does_not_come_back(tmp_path: Path, slow: SlowWriter) -> None:
    file = IndexFile(tmp_path / "a.idx")
    file.write_in_background({}, {"part": Part()})
    assert slow.started.wait(30)
    file.remove()
    slow.released.set()
    file.wait()
    assert list(tmp_path.iterdir()) == []


def test_recall_and_add_go_on_while_the_file_is_written(
    tmp_path: Path, slow: SlowWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what was erased meanwhile is in no file."""
    monkeypatch.setattr(projection, "_SAVE_AFTER", 40)
    space = opened(tmp_path)
    first = space.add("The zebrafish key lies under the mat.")
    for number in range(60):
        space.add(f"Box {number} has {number} pens.")
    assert slow.started.wait(30)
    assert space.recall("zebrafish")[0].memory.id == first.id
    space.erase(first.id)
    slow.released.set()
    space.close()
    assert not any(b"zebrafish" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.slow
def test_a_killed_process_leaves_the_last_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is newer than a twentieth of the entries, and the rest is applied again."""
    monkeypatch.setattr(projection, "_SAVE_AFTER", 10)
    space = opened(tmp_path / "alive")
    for number in range(100):
        space.add(f"Box {number} has {number} pens.")
        with space._engine.open_index(space.name) as index:
            index._index_file.wait()
    shutil.copytree(tmp_path / "alive", tmp_path / "killed")
    expected = [hit.memory.text for hit in space.recall("Box 99 has 99 pens.")]
    space.close()
    [file] = index_files(tmp_path / "killed")
    _, arrays = IndexFile(file).read() or ({}, {})
    assert len(arrays["vectors.points"]) > 85
    with opened(tmp_path / "killed") as again:
        assert [hit.memory.text for hit in again.recall("Box 99 has 99 pens.")] == expected
        assert not again.admin.check()


def test_a_small_space_is_opened_without_reading_vectors_from_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in the index file, and score as before."""
    question = "Who lives in town 7?"
    with opened(tmp_path) as space:
        space.add_many([f"Person {n} lives in town {n}." for n in range(50)])
        before = [(hit.memory.id, hit.score) for hit in space.recall(question, signals=["vectors"])]
    monkeypatch.delattr(SqlLedger, "vectors")
    with opened(tmp_path) as space:
        assert [(hit.memory.id, hit.score) for hit in space.recall(question, signals=["vectors"])] == before


def test_the_index_file_has_no_vector_of_an_erased_memory(tmp_path: Path) -> None:
    vector = HashingEmbedder().embed(["Person 7 lives in town 7."])[0].astype(np.float16).tobytes()
    with opened(tmp_path) as space:
        memories = space.add_many([f"Person {n} lives in town {n}." for n in range(50)])
    assert any(vector in path.read_bytes() for path in index_files(tmp_path))
    with opened(tmp_path) as space:
        space.erase(memories[7])
        space.add_many([f"Person {n} lives in town {n}." for n in range(50, 100)])
    assert len(index_files(tmp_path)) == 1
    assert not any(vector in path.read_bytes() for path in index_files(tmp_path))


def test_vectors_that_an_index_file_lacks_are_read_from_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a file of an older release."""
    with monkeypatch.context() as older, opened(tmp_path) as space:
        older.setattr(FolderStore, "save", lambda _: {})
        memories = space.add_many([f"Person {n} lives in town {n}." for n in range(50)])
    with opened(tmp_path) as space:
        [hit] = space.recall("Person 7 lives in town 7.", signals=["vectors"], limit=1)
        assert hit.memory == memories[7]


def test_the_index_file_of_another_release_is_rebuilt_without_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After an upgrade every space has one, and nothing is wrong with it."""
    with opened(tmp_path) as space:
        space.add_many([f"Note {n} is about boats." for n in range(60)])
    (file,) = index_files(tmp_path)
    file.write_bytes(b"RMNX1\0\0\0" + file.read_bytes()[8:])

    with opened(tmp_path) as space:
        assert space.recall("Which note is about boats?")
        space.admin.check()

    assert "cannot be read" not in caplog.text
    assert not file.read_bytes().startswith(b"RMNX1")


def test_a_text_told_again_after_reopening_is_no_new_memory(tmp_path: Path) -> None:
    """The digests of a loaded index are read when a writer first needs them."""
    texts = [f"Note {n} is about boats." for n in range(60)]
    with opened(tmp_path) as space:
        first = [memory.id for memory in space.add_many(texts)]
    with opened(tmp_path) as space:
        space.add("Something else.")
        assert [memory.id for memory in space.add_many(texts)] == first
        assert space.count() == 61

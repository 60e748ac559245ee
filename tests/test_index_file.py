"""The index file is written in the background: it has one state, and nothing that was erased meanwhile."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

import remanence
from remanence.core import index_file, projection
from remanence.core.index_file import Arrays, IndexFile
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


def test_a_killed_process_leaves_the_last_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is newer than a twentieth of the entries, and the rest is applied again."""
    monkeypatch.setattr(projection, "_SAVE_AFTER", 10)
    space = opened(tmp_path / "alive")
    for number in range(100):
        space.add(f"Box {number} has {number} pens.")
        with space._engine.open_index(space.name) as index:
            assert index._index_file is not None
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

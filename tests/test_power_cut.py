"""What was answered is on the disk, and a ledger that a power cut shortened still opens."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import remanence
from power_cuts import Disk, watched_disk
from remanence import InvalidInput, Space
from remanence.errors import LedgerTampered
from remanence.testing import HashingEmbedder


def opened(folder: Path, **options: Any) -> Space:
    return remanence.open(folder, embedder=HashingEmbedder(16), reader=None, worker=False, **options)


def texts_after_a_cut(disk: Disk, home: Path, target: Path) -> list[str]:
    with opened(disk.cut(home, target)) as space:
        space.verify()
        return sorted(memory.text for memory in space.memories())


def test_what_was_answered_is_there_after_a_power_cut(home: Path, tmp_path: Path) -> None:
    """After each write, whatever it is. Nothing of an erased text is."""
    with watched_disk() as disk, opened(home) as space:
        first = space.add("The first note.")
        assert texts_after_a_cut(disk, home, tmp_path / "1") == ["The first note."]
        for number in range(2, 6):
            space.add(f"Note {number}.")
            assert len(texts_after_a_cut(disk, home, tmp_path / str(number))) == number
        space.add_many([f"One of many, {number}." for number in range(300)])
        assert len(texts_after_a_cut(disk, home, tmp_path / "many")) == 305
        space.forget(first)
        assert len(texts_after_a_cut(disk, home, tmp_path / "forgotten")) == 304
        space.erase_many([memory.id for memory in space.memories() if memory.text == "Note 2."])
        assert "Note 2." not in texts_after_a_cut(disk, home, tmp_path / "erased")


def test_without_waiting_for_the_disk_only_the_last_writes_are_lost(home: Path, tmp_path: Path) -> None:
    """The ledger opens without a complaint, with the notes up to one of them; what was closed is complete."""
    with watched_disk() as disk:
        with opened(home, durable=False) as space:
            notes = [space.add(f"Note {number}.").text for number in range(10)]
            lost = texts_after_a_cut(disk, home, tmp_path / "cut")
            assert lost == notes[: len(lost)]
        assert texts_after_a_cut(disk, home, tmp_path / "closed") == notes
        with opened(home) as space:
            last = space.add("And one more.").text
            assert texts_after_a_cut(disk, home, tmp_path / "durable") == sorted([*notes, last])


def test_a_log_that_lost_what_the_disk_had_is_noticed(home: Path) -> None:
    """Also one that a ledger which does not wait for the disk has closed."""
    with opened(home, durable=False) as space:
        space.add("The first note.")
    with opened(home) as space:
        space.add("The second note.")
    with sqlite3.connect(home / "ledger.db", isolation_level=None) as ledger:
        ledger.execute("DROP TRIGGER entry_stays")
        ledger.execute("DELETE FROM entry WHERE position = (SELECT max(position) FROM entry)")
        ledger.execute("DELETE FROM meta WHERE name = 'ledger:head'")
    ledger.close()
    with pytest.raises(LedgerTampered, match="was committed"):
        opened(home)


@pytest.mark.parametrize("location", [None, "postgresql://db.example/memory"])
def test_only_a_folder_need_not_wait_for_the_disk(location: str | None) -> None:
    with pytest.raises(InvalidInput, match="durable=False is for a folder"):
        remanence.open(location, durable=False)
    with pytest.raises(InvalidInput, match="durable='no' is neither True nor False"):
        remanence.open(None, durable="no")  # type: ignore[arg-type]

"""A ledger is copied whole between a folder and a database, and a copy that was cut short is continued."""

from __future__ import annotations

import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence import errors
from remanence.cli import main
from remanence.ledger import copying, open_ledger
from remanence.testing import HashingEmbedder
from remanence.testing.ledger_contract import append_events, remembered_event
from warm_process import WarmProcess


def opened(location: str | Path, **options: Any) -> remanence.Space:
    return remanence.open(location, embedder=HashingEmbedder(16), **options)


def fill(location: str | Path) -> None:
    """Several spaces, a forgotten, an erased and an emptied one."""
    with opened(location) as space:
        space.add_many([f"Note {n} is about harbour {n % 7}." for n in range(30)])
        space.forget(space.add("Forgotten note."), why="she asked")
        space.erase(space.add("The vault opens with quicksilver."))
        space.child("users", "bob").add("Bob plays the cello.")
        gone = space.child("users", "gone")
        gone.add("Nobody knows this.")
        gone.erase_space()


def known(location: str | Path) -> list[Any]:
    """What a ledger holds and answers."""
    with opened(location) as space:
        bob = space.child("users", "bob")
        return [
            [(memory.id, memory.text, memory.recorded_at) for memory in space.memories()],
            [memory.text for memory in bob.memories()],
            [(hit.memory.id, round(hit.score, 6)) for hit in space.recall("harbour 3")],
            [hit.memory.text for hit in space.recall("harbour 3", signals=["vectors"])],
            space.spaces(),
            space.verify(),
            space.admin.stats().unembedded,
            space.admin.check(),
        ]


def test_there_and_back(home: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids, times, digests, vectors and answers are the same, and no text is embedded again."""
    fill(home)
    back = tmp_path / "back"
    there = remanence.migrate(home, database)
    again = remanence.migrate(database, back)
    assert (there.entries, there.vectors, there.digest) == (again.entries, again.vectors, again.digest)
    assert "on both sides" in str(there)
    with monkeypatch.context() as patch:
        made: list[Any] = []
        embed = HashingEmbedder.embed
        patch.setattr(HashingEmbedder, "embed", lambda self, texts: made.append(texts) or embed(self, texts))
        expected = known(home)
        questions = len(made)
        assert known(database) == expected
        assert known(back) == expected
        assert len(made) == 3 * questions
    with opened(database) as space:
        space.add("The copy goes on.")
        assert space.verify().entries == expected[5].entries + 1


def test_a_copy_that_was_cut_short_is_continued(
    home: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then it does not open; what was erased meanwhile is erased there too."""
    fill(home)
    monkeypatch.setattr("remanence.ledger.tables.READ_STORED", copying.tables.READ_STORED.replace("2000", "7"))
    monkeypatch.setattr("remanence.ledger.tables.CHUNK", 7)
    monkeypatch.setattr("remanence.ledger.tables.READ_VECTORS", copying.tables.READ_VECTORS.replace("1000", "7"))
    original = copying._finish
    monkeypatch.setattr(copying, "_finish", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        remanence.migrate(home, database)
    with pytest.raises(errors.LedgerUnavailable, match="unfinished copy"):
        opened(database)
    with opened(home) as space:
        space.erase(space.recall("harbour 3")[0].memory)
    monkeypatch.setattr(copying, "_finish", original)
    with pytest.raises(errors.LedgerUnavailable, match="unfinished copy"):
        remanence.migrate(database, tmp_path / "copy of a copy")
    remanence.migrate(home, database)
    assert known(database) == known(home)


MIGRATE = "import sys, remanence; remanence.migrate(sys.argv[1], sys.argv[2])"


def test_a_copy_that_was_killed_is_continued(home: Path, database: str) -> None:
    """As soon as the first entries are there, and again when there are more."""
    original, copy = open_ledger(home), open_ledger(database)
    for start in range(0, 5_000, 1_000):
        append_events(original, *(remembered_event(f"Note {n}.", f"m{n}") for n in range(start, start + 1_000)))
    for enough in (1, 2_001):
        process = WarmProcess(MIGRATE, home, database)
        while copy.head() < enough and process.returncode is None:
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert copy.head() >= enough
    report = remanence.migrate(home, database)
    assert report.entries == 5_000
    assert list(copy.read("home")) == list(original.read("home"))
    copy.close()
    original.close()


def test_vectors_of_the_first_release_are_copied(home: Path, database: str) -> None:
    """They were stored for all spaces together; each space gets its own."""
    with opened(home) as space:
        space.add("The same text.")
        space.child("two").add("The same text.")
    file = sqlite3.connect(home / "ledger.db")
    file.execute("INSERT OR IGNORE INTO embedding SELECT model, hash, vector FROM space_embedding")
    file.executescript("DROP TABLE space_embedding; PRAGMA user_version=1;")
    file.close()
    assert remanence.migrate(home, database).vectors == 2


def test_what_is_refused(home: Path, database: str, tmp_path: Path) -> None:
    """Nothing is changed anywhere."""
    with pytest.raises(errors.InvalidInput, match="contains no memories"):
        remanence.migrate(home, database)
    assert not home.exists()
    fill(home)
    with opened(database) as space:
        space.add("Somebody else's.")
    with pytest.raises(errors.InvalidInput, match="is not empty"):
        remanence.migrate(home, database)
    with pytest.raises(errors.InvalidInput, match="into itself"):
        remanence.migrate(home, home)
    shutil.copytree(home, tmp_path / "copy")
    with pytest.raises(errors.InvalidInput, match="is not empty"):
        remanence.migrate(home, tmp_path / "copy")
    with opened(database) as space:
        assert [memory.text for memory in space.memories()] == ["Somebody else's."]


def test_a_changed_source_is_not_copied(home: Path, database: str) -> None:
    """`verify` names the entry, before anything is written."""
    fill(home)
    file = sqlite3.connect(home / "ledger.db")
    file.executescript("DROP TRIGGER entry_is_written_once; UPDATE entry SET body = '{}' WHERE position = 2;")
    file.close()
    with pytest.raises(errors.LedgerTampered):
        remanence.migrate(home, database)
    ledger = open_ledger(database)
    assert ledger.head() == 0
    ledger.close()


def test_the_command(home: Path, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`remanence migrate` says what it did, without the password; the other commands take the address too."""
    fill(home)
    assert main(["migrate", str(home), database]) == 0
    said = capsys.readouterr().out
    assert "on both sides" in said
    assert "secret" not in said
    assert main(["--memory", database, "--embedder", "hash", "spaces"]) == 0
    assert "default/users/bob" in capsys.readouterr().out

"""The ledgers keep what they promise, alone, together, and against damage."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import remanence
from examples import examples
from remanence import errors
from remanence.events import Erased, Forgotten, Remembered, Restored
from remanence.ledger import codec, open_ledger, tables
from remanence.ledger.in_memory import InMemoryLedger
from remanence.ledger.sqlite_backend import sqlite
from remanence.ledger.sqlite_backend.sqlite_ledger import SqliteLedger
from remanence.testing import HashingEmbedder
from remanence.testing.ledger_contract import MONDAY, TUESDAY, LedgerContract, append_events, remembered_event
from warm_process import WarmProcess

FIRST = Path(__file__).parent / "ledgers" / "v1"
FIRST_HEAD = "22594a079d82c735eb2dbef5a9743146f8cb0660fd3cb53a026c36ddc4baa366"


class TestVolatile(LedgerContract):
    @pytest.fixture
    def ledger(self) -> Iterator[InMemoryLedger]:
        ledger = InMemoryLedger()
        yield ledger
        ledger.close()


class TestSql(LedgerContract):
    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[SqliteLedger]:
        ledger = SqliteLedger(tmp_path / "memory")
        yield ledger
        ledger.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    ledger = SqliteLedger(tmp_path)
    yield ledger
    ledger.close()


def first_history(ledger: Any) -> None:
    """The life in `tests/ledgers/v1`. It was written once, by release 0.1; never write it again."""
    salts = iter(range(1, 1000))

    def salt(size: int) -> bytes:
        return b"".join(next(salts).to_bytes(16, "big") for _ in range(size // 16))

    porto, lisbon = remembered_event("Alice lives in Porto."), remembered_event("Alice lives in Lisbon.")
    with mock.patch("os.urandom", salt):
        append_events(ledger, porto, remembered_event("Bob's PIN is 1234.", "m2"), at=MONDAY)
        append_events(ledger, lisbon, at=TUESDAY)
        append_events(ledger, Forgotten("m1", why="she asked"), Restored("m1"), at=TUESDAY)
        append_events(ledger, remembered_event("山田さん drinks tea.", "m3"), space="users/bob", at=MONDAY)
        with ledger.transaction() as transaction:
            transaction.put_vectors("home", "static-4", {b"porto": np.arange(4, dtype=np.float32), b"pin": np.ones(4)})
            transaction.put_meta("embedder", "static-4")
        with ledger.transaction() as transaction:
            transaction.erase("home", [2], [b"pin"])
            transaction.append("home", [Erased("m2", (2,))], at=TUESDAY)


# The same answers as the reference


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
STEPS = st.one_of(
    st.tuples(st.just("append"), st.sampled_from("ab"), st.lists(TEXTS, max_size=3), st.integers(-3, 3)),
    st.tuples(st.just("keep"), st.sampled_from("mn"), st.integers(0, 3), st.integers(0, 9)),
    st.tuples(st.just("erase"), st.integers(0, 8), st.integers(0, 3)),
    st.tuples(st.just("meta"), TEXTS, TEXTS),
    st.tuples(st.just("fail")),
)


def live(ledger: Any, transactions: list[list[tuple[Any, ...]]]) -> None:
    for steps in transactions:
        try:
            with ledger.transaction() as transaction:
                for verb, *args in steps:
                    if verb == "append":
                        space, texts, hours = args
                        transaction.append(
                            space, [remembered_event(t) for t in texts], at=MONDAY + timedelta(hours=hours)
                        )
                    elif verb == "keep":
                        model, number, value = args
                        transaction.put_vectors("s", model, {bytes([number]): np.full(3, value, dtype=np.float32)})
                    elif verb == "erase":
                        position, number = args
                        transaction.erase("s", [], [bytes([number])])
                        transaction.erase("a", [position], [])
                        transaction.append("a", [Erased("m1", (position,))], at=MONDAY)
                    elif verb == "meta":
                        transaction.put_meta(*args)
                    else:
                        raise ZeroDivisionError
        except ZeroDivisionError:
            pass


def answers(ledger: Any) -> list[Any]:
    def plain(entry: Any) -> tuple[Any, ...]:
        return (entry.position, entry.at, entry.space, entry.subject, entry.event)  # salts are random: no digest

    hashes = [bytes([n]) for n in range(4)]
    return [
        [[plain(e) for e in ledger.read(space, after=after)] for space in "ab" for after in (0, 2)],
        {p: plain(e) for p, e in ledger.entries_at(range(-1, 12)).items()},
        [ledger.position_at(s, MONDAY + timedelta(hours=h)) for s in "ab" for h in range(-4, 5)],
        (ledger.head(), ledger.spaces(), ledger.verify()[0]),
        [{h: v.tolist() for h, v in ledger.vectors("s", m, hashes).items()} for m in "mn"],
    ]


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.lists(STEPS, max_size=4), max_size=5))
def test_the_database_answers_as_the_list_does(
    tmp_path_factory: pytest.TempPathFactory, transactions: list[list[tuple[Any, ...]]]
) -> None:
    """Whatever is written, failed and erased, both ledgers tell the same story, also when opened again."""
    folder = tmp_path_factory.mktemp("ledger")
    reference, ledger = InMemoryLedger(), SqliteLedger(folder)
    for each in (reference, ledger):
        live(each, transactions)
    expected = answers(reference)
    assert answers(ledger) == expected
    ledger.close()
    again = SqliteLedger(folder)
    assert answers(again) == expected
    again.close()


# Several processes


WRITER = """
import sys
from remanence.ledger import open_ledger
from remanence.testing.ledger_contract import remembered_event, append_events
ledger = open_ledger(sys.argv[1])
for n in range(int(sys.argv[3])):
    append_events(ledger, remembered_event(f"{sys.argv[2]} {n}", sys.argv[2]))
ledger.close()
"""


def finish(process: WarmProcess) -> None:
    _, said_last = process.communicate()
    assert process.returncode == 0, said_last


def test_two_processes_write_while_a_third_reads(tmp_path: Path) -> None:
    """No lost line, no lock error, no new line below one already seen; and all made the folder at once."""
    folder = tmp_path / "new" / "memory"
    writers = [WarmProcess(WRITER, folder, name, 200) for name in ("ann", "ben")]
    ledger = SqliteLedger(folder)
    seen: list[int] = []
    while any(writer.returncode is None for writer in writers):
        seen += [e.position for e in ledger.read("home", after=seen[-1] if seen else 0)]
    for writer in writers:
        finish(writer)
    seen += [e.position for e in ledger.read("home", after=seen[-1] if seen else 0)]
    assert seen == list(range(1, 401))
    for name in ("ann", "ben"):
        own = [e.event for e in ledger.read("home") if e.subject == name]
        assert own == [remembered_event(f"{name} {n}", name) for n in range(200)]
    assert ledger.verify()[0] == 400
    ledger.close()


def test_the_lines_of_another_process_are_seen_at_the_next_call(ledger: SqliteLedger) -> None:
    """The head says so, the chain goes on from them, and their clock counts."""
    append_events(ledger, remembered_event("mine"))
    before = ledger.head()
    other = SqliteLedger(ledger.path.parent)  # its own connections: to SQLite, a process like any other
    append_events(other, remembered_event("theirs"), at=TUESDAY)
    assert ledger.head() != before
    assert ledger.head() == 2
    (mine,) = append_events(ledger, remembered_event("mine again"), at=MONDAY)
    assert (mine.position, mine.at) == (3, TUESDAY + timedelta(microseconds=1))
    other.close()
    assert ledger.verify()[0] == 3


def test_an_entry_comes_after_those_of_another_process(ledger: SqliteLedger) -> None:
    """Also by its time, if the clock here is behind."""
    other = SqliteLedger(ledger.path.parent)
    append_events(ledger, remembered_event("a"), at=MONDAY)
    append_events(other, remembered_event("b"), at=TUESDAY)
    append_events(ledger, remembered_event("c"), at=MONDAY)
    other.close()
    assert [entry.at for entry in ledger.read("home")] == [MONDAY, TUESDAY, TUESDAY + timedelta(microseconds=1)]


def test_many_processes_may_make_one_folder_at_once(tmp_path: Path) -> None:
    """Whoever comes second finds it made."""
    crowd = [WarmProcess(WRITER, tmp_path / "memory", n, 1) for n in range(5)]
    for process in crowd:
        finish(process)
    ledger = SqliteLedger(tmp_path / "memory")
    assert ledger.verify()[0] == 5
    ledger.close()


FORK = """
import os, sys
from remanence.errors import LedgerUnavailable
from remanence.ledger import open_ledger
from remanence.testing.ledger_contract import remembered_event, append_events
ledger = open_ledger(sys.argv[1])
append_events(ledger, remembered_event("parent"))
child = os.fork()
if child == 0:
    refused = 0
    writes = lambda: append_events(ledger, remembered_event("child"))
    for attempt in (ledger.head, writes, lambda: open_ledger(sys.argv[1])):
        try:
            attempt()
        except LedgerUnavailable as error:
            refused += "fork" in str(error)
    ledger.close()
    os._exit(refused)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
append_events(ledger, remembered_event("parent again"))
assert ledger.verify()[0] == 2
ledger.close()
"""


def test_a_forked_child_is_refused(tmp_path: Path) -> None:
    """SQLite's locks do not survive a fork: the inherited ledger, or a new one there, would lose lines."""
    finish(WarmProcess(FORK, tmp_path))


# Erasing


def test_erased_words_are_nowhere_in_the_folder(ledger: SqliteLedger) -> None:
    """Neither in the database nor in its log, as raw bytes, long or short; nor is the vector."""
    secret, vector = "the PIN is 1234", np.linspace(0, 1, 256, dtype=np.float32)
    for n in range(30):
        append_events(ledger, remembered_event(f"{secret} {n} " * 3 ** (n % 6)), remembered_event(f"harmless {n}"))
    with ledger.transaction() as transaction:
        transaction.put_vectors("home", "m", {b"h": vector})
    folder = ledger.path.parent
    assert secret.encode() in raw(folder)
    positions = [e.position for e in ledger.read("home") if secret in e.event.text]  # type: ignore[union-attr]
    for position in positions:
        with ledger.transaction() as transaction:
            transaction.erase("home", [position], [b"h"])
            transaction.append("home", [Erased("m1", (position,))], at=MONDAY)
    assert secret.encode() not in raw(folder)
    assert vector.tobytes()[:64] not in raw(folder)
    assert ledger.verify()[0] == 90


def test_a_reader_in_the_way_delays_the_scrubbing_only(ledger: SqliteLedger) -> None:
    """The erasure is kept at once; the log is cleared with the next write."""
    append_events(ledger, remembered_event("secret"))
    reader = sqlite3.connect(ledger.path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM entry").fetchone() == (1,)
    with ledger.transaction() as transaction:
        transaction.erase("home", [1], [])
        transaction.append("home", [Erased("m1", (1,))], at=MONDAY)
    assert ledger.entries_at([1])[1].event is None
    reader.close()
    append_events(ledger, remembered_event("next"))
    assert b"secret" not in raw(ledger.path.parent)


def raw(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


# Tampering


def tamper(folder: Path, sql: str) -> None:
    with sqlite3.connect(folder / "ledger.db", isolation_level=None) as database:
        database.execute("DROP TRIGGER entry_stays")
        database.execute("DROP TRIGGER entry_is_written_once")
        database.execute(sql)
    database.close()


@pytest.mark.parametrize(
    ("sql", "position"),
    [
        ("UPDATE entry SET body = replace(body, 'Lisbon', 'Madrid') WHERE position = 3", 3),
        ("UPDATE entry SET at = at + 1 WHERE position = 3", 3),
        ("UPDATE entry SET at = 'noon' WHERE position = 3", 3),
        ("UPDATE entry SET space = 'work' WHERE position = 3", 3),
        ("UPDATE entry SET kind = 'restored' WHERE position = 3", 3),
        ("UPDATE entry SET kind = 'erased' WHERE position = 3", 3),
        ("UPDATE entry SET subject = 'm9' WHERE position = 3", 3),
        ("UPDATE entry SET salt = zeroblob(16) WHERE position = 3", 3),
        ("UPDATE entry SET salt = NULL WHERE position = 3", 3),
        ("UPDATE entry SET content = zeroblob(32) WHERE position = 3", 3),
        ("UPDATE entry SET content = 'x' WHERE position = 2", 2),
        ("UPDATE entry SET digest = zeroblob(32) WHERE position = 3", 3),
        ("UPDATE entry SET body = CAST(body AS BLOB) WHERE position = 3", 3),
        ("UPDATE entry SET body = NULL, salt = NULL WHERE position = 3", 3),
        ("UPDATE entry SET body = NULL WHERE position = 3", 3),
        ("UPDATE entry SET position = 33 WHERE position = 3", 3),
        ("UPDATE entry SET position = -3 WHERE position = 3", 1),
        ("DELETE FROM entry WHERE position = 3", 3),
        ("DELETE FROM entry WHERE position = 8", 8),
        ("DELETE FROM entry WHERE position >= 7", 2),  # 7 was the line that says why 2 is blank
        ("DELETE FROM entry", 1),
        ("UPDATE entry SET body = '{}', salt = zeroblob(16) WHERE position = 2", 2),
        ("UPDATE entry SET salt = zeroblob(16) WHERE position = 2", 2),
        ("UPDATE entry SET body = replace(body, '2', '3') WHERE position = 7", 2),
        ("INSERT INTO entry SELECT 9, at, space, 'x', '', '', x'', content, x'' FROM entry LIMIT 1", 9),
        ("DELETE FROM meta WHERE name = 'ledger:head'", 8),
        ("UPDATE meta SET value = 'nonsense' WHERE name = 'ledger:head'", 8),
        ("UPDATE meta SET value = '5 00' WHERE name = 'ledger:head'", 6),
    ],
)
def test_a_changed_line_is_named(tmp_path: Path, sql: str, position: int) -> None:
    """Every column, a hole, a cut tail, an added line."""
    made = SqliteLedger(tmp_path)
    first_history(made)
    append_events(made, remembered_event("The last line."))
    made.close()
    tamper(tmp_path, sql)
    ledger = SqliteLedger(tmp_path)
    with pytest.raises(errors.LedgerTampered, match="backup") as caught:
        ledger.verify()
    assert caught.value.position == position
    ledger.close()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE space_embedding SET vector = (SELECT vector FROM space_embedding WHERE hash = x'62')",
        "UPDATE space_embedding SET hash = CASE hash WHEN x'61' THEN x'63' ELSE hash END",
        "UPDATE space_embedding SET space = 'work' WHERE hash = x'61'",
        "UPDATE space_embedding SET model = 'other' WHERE hash = x'61'",
        "UPDATE space_embedding SET vector = substr(vector, 1, 3)",
        "UPDATE space_embedding SET vector = 'text' WHERE hash = x'61'",
        "DELETE FROM space_embedding WHERE hash = x'61'",
        "DELETE FROM space_embedding",
        "INSERT INTO space_embedding SELECT space, x'63', model, vector FROM space_embedding WHERE hash = x'61'",
        "DELETE FROM meta WHERE name = 'ledger:vectors'",
    ],
)
def test_a_changed_vector_is_noticed(tmp_path: Path, sql: str) -> None:
    """Replaced, moved, cut off, deleted or added."""
    made = SqliteLedger(tmp_path)
    with made.transaction() as transaction:
        transaction.put_vectors("home", "m", {h: np.full(4, n, np.float32) for n, h in enumerate((b"a", b"b"))})
    made.verify()
    made.close()
    tamper(tmp_path, sql)
    ledger = SqliteLedger(tmp_path)
    with pytest.raises(errors.LedgerTampered, match=r"vectors .* not those that were written.*backup"):
        ledger.verify()
    ledger.close()


def test_vectors_that_were_cut_off_are_no_error_of_a_check(home: Path) -> None:
    """They are left out, as if there were none; `verify` names the fault."""
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        space.add_many(["Ana lives in Porto.", "The printer is on floor two."])
    tamper(home, "UPDATE space_embedding SET vector = substr(vector, 1, 10)")
    with remanence.open(home, embedder=HashingEmbedder()) as space:
        assert isinstance(space.admin.check(), dict)
        assert space.recall("printer")[0].memory.text == "The printer is on floor two."
        with pytest.raises(errors.LedgerTampered, match="vectors"):
            space.verify()


def test_a_blanked_line_is_told_from_a_later_change(tmp_path: Path) -> None:
    """An honest erasure noted after a bad line is no fault; a silent one before it is the first fault."""
    made = SqliteLedger(tmp_path)
    first_history(made)
    made.close()
    tamper(tmp_path, "UPDATE entry SET at = at + 1 WHERE position = 4")
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        ledger = SqliteLedger(tmp_path)
        with pytest.raises(errors.LedgerTampered) as caught:
            ledger.verify()
        assert caught.value.position == 4
        database.execute("UPDATE entry SET body = NULL, salt = NULL WHERE position = 1")
        database.commit()
        with pytest.raises(errors.LedgerTampered) as caught:
            ledger.verify()
        assert caught.value.position == 1
    database.close()
    ledger.close()


def test_nobody_writes_on_after_a_cut_tail(tmp_path: Path) -> None:
    """A new line under an old number would belie what readers have already seen."""
    ledger = SqliteLedger(tmp_path)
    first_history(ledger)
    tamper(tmp_path, "DELETE FROM entry WHERE position >= 6")
    with pytest.raises(errors.LedgerTampered):
        append_events(ledger, remembered_event("over the hole"))
    assert ledger.head() == 5
    ledger.close()


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM entry WHERE position = 1",
        "UPDATE entry SET body = 'x' WHERE position = 1",
        "UPDATE entry SET body = NULL WHERE position = 1",
        "UPDATE entry SET body = NULL, salt = NULL, at = 0 WHERE position = 1",
        "UPDATE entry SET position = 9, body = NULL, salt = NULL WHERE position = 1",
        "UPDATE entry SET body = '', salt = x'' WHERE position = 2",
        "UPDATE entry SET body = NULL, salt = NULL WHERE position = 7",  # vouches for line 2
    ],
)
def test_the_database_itself_refuses_to_change_a_line(ledger: SqliteLedger, sql: str) -> None:
    """Not only our code: any program that opens the file."""
    first_history(ledger)
    database = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="never"):
        database.execute(sql)
    database.close()
    ledger.verify()


# Old, new, damaged and foreign files


def test_a_ledger_of_the_first_release_opens(tmp_path: Path) -> None:
    """Every line, the chain, the vectors and the facts."""
    shutil.copytree(FIRST, tmp_path / "v1")
    ledger = SqliteLedger(tmp_path / "v1")
    assert [(e.position, e.at, e.event) for e in ledger.read("home")] == [
        (1, MONDAY, remembered_event("Alice lives in Porto.")),
        (2, MONDAY, None),
        (3, TUESDAY, remembered_event("Alice lives in Lisbon.")),
        (4, TUESDAY, Forgotten("m1", why="she asked")),
        (5, TUESDAY, Restored("m1")),
        (7, TUESDAY, Erased("m2", (2,))),
    ]
    assert [e.event for e in ledger.read("users/bob")] == [remembered_event("山田さん drinks tea.", "m3")]
    assert {
        h: v.tolist() for h, v in ledger.vectors("home", "static-4", [b"porto", b"pin"], include_shared=True).items()
    } == {b"porto": [0.0, 1.0, 2.0, 3.0]}
    assert ledger.get_meta("embedder") == "static-4"
    assert ledger.verify() == (7, bytes.fromhex(FIRST_HEAD))
    assert [e.position for e in append_events(ledger, remembered_event("Written later."), at=TUESDAY)] == [8]
    assert ledger.verify()[0] == 8
    ledger.close()


@pytest.mark.parametrize("kind", ["volatile", "sql"])
def test_the_same_life_gives_the_same_digests_as_in_the_first_release(tmp_path: Path, kind: str) -> None:
    """How a line is written down and chained is part of the format, and never changes."""
    ledger = InMemoryLedger() if kind == "volatile" else SqliteLedger(tmp_path)
    first_history(ledger)
    assert ledger.verify() == (7, bytes.fromhex(FIRST_HEAD))
    ledger.close()


def test_a_ledger_of_a_later_release_is_left_alone(tmp_path: Path) -> None:
    """Both numbers are named."""
    SqliteLedger(tmp_path).close()
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        database.execute("PRAGMA user_version=41")
    database.close()
    with pytest.raises(errors.LedgerTooNew, match=rf"41.*up to {1 + len(tables.MIGRATIONS)}\b"):
        SqliteLedger(tmp_path)


@pytest.mark.parametrize(
    ("change", "position", "named"),
    [
        ("'$.mood', 'glad'", 1, "'mood'.*'remembered'"),
        ("'$.mood', 'glad'", 2, "'mood'.*'forgotten'"),
        ("'$.made', 7", 2, "'made'.*'forgotten'"),  # a field of other events, where it is a list
        ("'$.turn', json('[\"c\", 0, \"Ann\", null, null, 7]')", 1, "'turn'.*'remembered' has more"),
        ('\'$.triples\', json(\'[["Ann", "likes", "tea", 7]]\')', 1, "'triples'.* has more"),
        ('\'$.mentions\', json(\'[["Ann"], ["Bob", "person", 7]]\')', 1, "'mentions'.* has more"),
        ("'$.times', json('[[0, 1, 7]]')", 1, "'times'.* has more"),
        ("'$.passages', json('[[0, 3, 7]]')", 1, "'passages'.* has more"),
    ],
)
def test_a_line_of_a_later_release_is_not_half_understood(
    tmp_path: Path, change: str, position: int, named: str
) -> None:
    """A field that came later is named, or one that has grown, and what to do."""
    ledger = SqliteLedger(tmp_path)
    append_events(ledger, remembered_event("tea"), Forgotten("m1"))
    ledger.close()
    tamper(tmp_path, f"UPDATE entry SET body = json_set(body, {change}) WHERE position = {position}")

    ledger = SqliteLedger(tmp_path)
    with pytest.raises(errors.LedgerTooNew, match=f"{named}.*`pip install -U remanence-memory`"):
        list(ledger.read("home"))
    ledger.close()


@dataclass(frozen=True)
class ErasedLater(Erased):
    """As a later release might write it."""

    mood: str | None = None


def test_what_a_later_release_erased_is_no_tampering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sound line that is not understood is said to be just that, unless one before it is not sound."""
    monkeypatch.setitem(codec._NAMES, ErasedLater, "erased")
    monkeypatch.setitem(codec._FIELDS, ErasedLater, codec._fields_and_defaults(ErasedLater))
    ledger = SqliteLedger(tmp_path)
    append_events(ledger, remembered_event("tea"), ErasedLater("m1", (1,), mood="glad"))
    with pytest.raises(errors.LedgerTooNew, match=r"'mood'.*'erased'"):
        ledger.verify()
    ledger.close()
    tamper(tmp_path, "UPDATE entry SET at = at + 1 WHERE position = 1")

    ledger = SqliteLedger(tmp_path)
    with pytest.raises(errors.LedgerTampered, match="entry 1 "):
        ledger.verify()
    ledger.close()


@pytest.mark.parametrize("bad", [2, 4])
def test_a_bad_line_is_named_rightly_beside_what_a_later_release_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: int
) -> None:
    """Whether it stands before the line that is too new or after it: not the line that this one erased."""
    monkeypatch.setitem(codec._NAMES, ErasedLater, "erased")
    monkeypatch.setitem(codec._FIELDS, ErasedLater, codec._fields_and_defaults(ErasedLater))
    ledger = SqliteLedger(tmp_path)
    append_events(ledger, remembered_event("tea"), remembered_event("milk"))
    with ledger.transaction() as transaction:
        transaction.erase("home", [1], [])
        transaction.append("home", [ErasedLater("m1", (1,), mood="glad"), Restored("m2")], at=MONDAY)
    with pytest.raises(errors.LedgerTooNew, match=r"'mood'.*'erased'"):
        ledger.verify()
    ledger.close()
    tamper(tmp_path, f"UPDATE entry SET body = '{{}}' WHERE position = {bad}")

    ledger = SqliteLedger(tmp_path)
    with pytest.raises(errors.LedgerTampered, match="as far as this release can read") as told:
        ledger.verify()
    assert told.value.position == bad
    ledger.close()


def test_an_older_ledger_is_brought_up_to_date_in_one_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step runs once, in order; if one fails, none has happened."""
    ledger = SqliteLedger(tmp_path)
    append_events(ledger, remembered_event("old"))
    ledger.close()

    known = list(tables.MIGRATIONS)

    def two(connection: Any) -> None:
        connection.execute("ALTER TABLE meta ADD COLUMN since INTEGER")

    def three(connection: Any) -> None:
        connection.execute("UPDATE meta SET since = 3")

    def broken(connection: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(tables, "MIGRATIONS", [*known, two, broken])
    with pytest.raises(ZeroDivisionError):
        SqliteLedger(tmp_path)
    monkeypatch.setattr(tables, "MIGRATIONS", [*known, two, three])
    for _ in range(2):
        ledger = SqliteLedger(tmp_path)
        assert [e.event for e in ledger.read("home")] == [remembered_event("old")]
        ledger.close()
    database = sqlite3.connect(tmp_path / "ledger.db")
    assert database.execute("PRAGMA user_version").fetchone() == (3 + len(known),)
    assert database.execute("SELECT DISTINCT since FROM meta").fetchall() == [(3,)]
    database.close()


def damaged(folder: Path, how: str) -> bytes:
    ledger = SqliteLedger(folder)
    append_events(ledger, *(remembered_event(f"line {n} " * 20) for n in range(500)))
    ledger.close()
    whole = (folder / "ledger.db").read_bytes()
    size = len(whole)
    return {
        "random": np.random.default_rng(3).bytes(size),
        "short": whole[:50],
        "truncated": whole[: size // 2],
        "half a page": whole[: size // 2 + 1000],
        "flipped": whole[:4096] + bytes(b ^ 0xFF for b in whole[4096:]),
        "text": b"Dear diary,\n" * 100,
    }[how]


@pytest.mark.parametrize("how", ["random", "short", "truncated", "half a page", "flipped", "text"])
def test_a_damaged_file_is_named_and_left_as_it_is(tmp_path: Path, how: str) -> None:
    """At open or at the first read; the next step stands in the message."""
    file = tmp_path / "ledger.db"
    damage = damaged(tmp_path, how)
    file.write_bytes(damage)
    with pytest.raises(errors.LedgerCorrupt, match=r"ledger\.db .*backup"):
        list(SqliteLedger(tmp_path).read("home"))
    assert file.read_bytes() == damage


def test_a_line_that_no_longer_reads_is_named(tmp_path: Path) -> None:
    """Damage inside a body is told as damage, not as a KeyError."""
    ledger = SqliteLedger(tmp_path)
    first_history(ledger)
    tamper(tmp_path, "UPDATE entry SET body = '{\"memory\": ' WHERE position = 3")
    with pytest.raises(errors.LedgerCorrupt, match="entry 3"):
        list(ledger.read("home"))
    ledger.close()


def test_a_subject_that_is_no_text_is_damage(tmp_path: Path) -> None:
    """SQLite stores bytes in a column of texts."""
    ledger = SqliteLedger(tmp_path)
    first_history(ledger)
    tamper(tmp_path, "UPDATE entry SET subject = x'00ff' WHERE position = 3")
    with pytest.raises(errors.LedgerCorrupt, match="entry 3"):
        list(ledger.read("home"))
    ledger.close()


def test_a_damaged_table_whose_text_cannot_be_decoded_is_named(tmp_path: Path) -> None:
    """SQLite quotes it in its error, and Python cannot decode that."""
    ledger = SqliteLedger(tmp_path)
    first_history(ledger)
    ledger.close()
    file = tmp_path / "ledger.db"
    file.write_bytes(file.read_bytes().replace(b"entry_by_space ON entry", b"entry_by_space \xa9N entry", 1))
    with pytest.raises(errors.LedgerCorrupt, match=r"ledger\.db .*backup"):
        list(SqliteLedger(tmp_path).read("home"))


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_another_programs_database_is_not_touched(tmp_path: Path, journal: str) -> None:
    """Not even opened by SQLite, which might tidy its log away."""
    file = tmp_path / "ledger.db"
    with sqlite3.connect(file) as database:
        database.execute(f"PRAGMA journal_mode={journal}")
        database.execute("CREATE TABLE customers (name)")
    database.close()
    before = file.read_bytes(), file.stat().st_mtime_ns
    with pytest.raises(errors.LedgerCorrupt, match="not a Remanence ledger"):
        SqliteLedger(tmp_path)
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    assert [f.name for f in tmp_path.iterdir()] == ["ledger.db"]


# Folders that will not do


@pytest.mark.parametrize("location", ["mysql://ann:pw@host/db", "a\0b", "", "  "])
def test_no_folder_name(location: str) -> None:
    """Refused before anything is made; a password in it is not shown."""
    with pytest.raises(errors.InvalidInput) as caught:
        open_ledger(location)
    assert "pw" not in str(caught.value)


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    """Also further up the path."""
    (tmp_path / "file").write_text("mine")
    for location in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(errors.LedgerUnavailable, match="file"):
            open_ledger(location)
    (tmp_path / "folder" / "ledger.db").mkdir(parents=True)
    with pytest.raises(errors.LedgerUnavailable, match=r"ledger\.db"):
        open_ledger(tmp_path / "folder")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    """The system's refusal is passed on with the path."""
    with pytest.raises(errors.LedgerUnavailable, match="Check the path"):
        open_ledger(tmp_path / ("x" * 300))


def test_odd_names_work(tmp_path: Path) -> None:
    """Blanks, percent signs, question marks, hashes, other scripts: a path is a path."""
    for name in ("a b", "100%20", "what?mode=ro", "c#", "記憶", "../" + tmp_path.name + "/up"):
        ledger = open_ledger(str(tmp_path / name))
        assert len(append_events(ledger, remembered_event("a"))) == 1
        ledger.close()
        assert (tmp_path / name / "ledger.db").stat().st_size > 0


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said at once, with the next step. (Permission bits mean nothing to root, so the check is stubbed.)"""
    SqliteLedger(tmp_path).close()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(errors.LedgerUnavailable, match="read-only"):
        SqliteLedger(tmp_path)


def test_a_file_that_turns_read_only(ledger: SqliteLedger) -> None:
    """A write is refused, reading goes on, and so does writing once it is mended."""
    append_events(ledger, remembered_event("a"))
    ledger._writer.execute("PRAGMA query_only=ON")
    with pytest.raises(errors.LedgerUnavailable, match="cannot be written"):
        append_events(ledger, remembered_event("b"))
    assert ledger.head() == 1
    ledger._writer.execute("PRAGMA query_only=OFF")
    assert len(append_events(ledger, remembered_event("c"))) == 1


def test_a_full_disk(ledger: SqliteLedger) -> None:
    """Nothing of that write is kept, all before it is, and there is a way on."""
    append_events(ledger, remembered_event("a"))
    pages = ledger._writer.execute("PRAGMA page_count").fetchone()[0]
    ledger._writer.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(errors.LedgerUnavailable, match="full"):
        append_events(ledger, remembered_event("small"), remembered_event("large " * 10_000))
    assert ledger.head() == 1
    ledger._writer.execute("PRAGMA max_page_count=1000000")
    assert [e.position for e in append_events(ledger, remembered_event("b"))] == [2]
    assert ledger.verify()[0] == 2


def test_a_writer_that_never_ends(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting has an end, and reading does not wait."""
    append_events(ledger, remembered_event("a"))
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ledger._writer.execute("PRAGMA busy_timeout=10")
    with pytest.raises(errors.LedgerUnavailable, match="another process"):
        append_events(ledger, remembered_event("b"))
    assert [e.event for e in ledger.read("home")] == [remembered_event("a")]
    other.close()
    assert len(append_events(ledger, remembered_event("c"))) == 1


def test_a_file_taken_away_is_not_made_anew(ledger: SqliteLedger, tmp_path: Path) -> None:
    """A new connection to a ledger that is gone is an error, not an empty ledger."""
    ledger.path.rename(tmp_path / "elsewhere.db")
    with pytest.raises(errors.LedgerUnavailable):
        ledger.head()
    assert not ledger.path.exists()
    (tmp_path / "elsewhere.db").rename(ledger.path)


def test_the_file_says_whose_it_is(ledger: SqliteLedger) -> None:
    """`file ledger.db` shows our application id; the log makes readers and writers overlap."""
    database = sqlite3.connect(ledger.path)
    assert database.execute("PRAGMA application_id").fetchone() == (sqlite.APPLICATION_ID,)
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()


def test_the_ledgers_own_note_is_not_to_be_written_over(ledger: SqliteLedger) -> None:
    """`set_meta` has one name it refuses."""
    with pytest.raises(errors.InvalidInput), ledger.transaction() as transaction:
        transaction.put_meta(tables.HEAD_KEY, "9 00")


def test_remembered_reads_as_remembered(ledger: SqliteLedger) -> None:
    """What `read` gives is a value of its own: editing its `meta` changes no ledger."""
    append_events(ledger, Remembered("m1", "a", "i", meta={"n": [1]}))
    (entry,) = ledger.read("home")
    entry.event.meta["n"].append(2)  # type: ignore[union-attr]
    assert next(ledger.read("home")).event.meta == {"n": [1]}  # type: ignore[union-attr]


def test_no_statement_numbers_its_parameters() -> None:
    """From Python 3.14 on, sqlite3 refuses "?1" with a sequence of values."""
    statements = [text for text in vars(tables).values() if isinstance(text, str) and "?" in text]
    assert len(statements) > 10
    assert not [text for text in statements if re.search(r"\?\d", text)]

"""A ledger in PostgreSQL keeps what all ledgers promise, for several machines, through cuts and restarts."""

# ruff: noqa: E402  (without psycopg this file is skipped)

from __future__ import annotations

import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from model_replies import FactsByQuotation
from postgres_server import ABSENT, PASSWORD, Server

psycopg = pytest.importorskip("psycopg", reason=ABSENT)

import remanence
from remanence import Space, errors
from remanence.ledger import open_ledger, shown_location
from remanence.ledger.postgres_backend import postgres as postgres_backend
from remanence.ledger.postgres_backend import postgres_ledger
from remanence.ledger.postgres_backend.postgres import Address, Connection, PostgresLocks, parse_address
from remanence.ledger.postgres_backend.postgres_ledger import PostgresLedger
from remanence.ports import Ledger
from remanence.service.hosting.tokens import TokenStore
from remanence.testing import HashingEmbedder, LocksContract
from remanence.testing.ledger_contract import LedgerContract, append_events, remembered_event
from test_embedders import check_moving_between_embedders


class TestPostgres(LedgerContract):
    @pytest.fixture
    def ledger(self, database: str) -> Iterator[PostgresLedger]:
        ledger = PostgresLedger(database)
        yield ledger
        ledger.close()


class TestLockContract(LocksContract):
    @pytest.fixture(autouse=True)
    def _ledger(self, ledger: PostgresLedger) -> None:
        self.ledger = ledger

    def make(self) -> PostgresLocks:
        return self.ledger.locks()


@pytest.fixture
def ledger(database: str) -> Iterator[PostgresLedger]:
    ledger = PostgresLedger(database)
    yield ledger
    ledger.close()


def opened(location: str, **options: object) -> Space:
    return remanence.open(location, embedder=HashingEmbedder(16), **options)  # type: ignore[arg-type]


def texts(ledger: Ledger) -> list[str]:
    return [entry.event.text for entry in ledger.read("home")]  # type: ignore[union-attr]


def query(database: str, sql: str) -> list[tuple[object, ...]]:
    """What a statement of another client answers."""
    address = parse_address(database)
    with psycopg.connect(address.conninfo, options=f"-c search_path={address.schema}", autocommit=True) as client:
        cursor = client.execute(sql)
        return cursor.fetchall() if cursor.description else []


def cut_connections(database: str) -> None:
    """End all connections of this library to a ledger, as a restart of the server does."""
    name = parse_address(database).schema
    named = f"FROM pg_stat_activity WHERE application_name = '{name}' AND pid <> pg_backend_pid()"
    query(database, f"SELECT pg_terminate_backend(pid) {named}")


class Proxy:
    """Passes bytes on to the server, until it cuts the connection at a COMMIT, before or after the server has it."""

    def __init__(self, port: int) -> None:
        self._server = port
        self.cut: str | None = None
        self.refuse = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refuse:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._server))
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(source, target, source is client), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, from_client: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if from_client and self.cut and b"COMMIT" in data:
                    cut, self.cut = self.cut, None
                    self.refuse = cut == "for good"
                    if cut == "after":
                        source.shutdown(socket.SHUT_WR)  # the answer does not come through
                        target.sendall(data)
                        time.sleep(0.2)
                    break
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def proxy(postgres: Server) -> Iterator[Proxy]:
    proxy = Proxy(postgres.port)
    yield proxy
    proxy.close()


@pytest.fixture
def through_proxy(database: str, postgres: Server, proxy: Proxy) -> Iterator[PostgresLedger]:
    ledger = PostgresLedger(database.replace(f":{postgres.port}/", f":{proxy.port}/"))
    append_events(ledger, remembered_event("before"))
    yield ledger
    ledger.close()


class TestAddresses:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (("127.0.0.1", "nowhere.invalid"), "Check the host"),
            (("not%20secret", "wrong"), "Check the user and the password"),
            ((":not%20secret@", "@"), "Check the user and the password"),
            (("/postgres?", "/absent?"), "Create it"),
        ],
    )
    def test_what_cannot_be_opened_is_named(self, database: str, change: tuple[str, str], said: str) -> None:
        """With the next step, and without the password."""
        with pytest.raises(errors.LedgerUnavailable, match=said) as caught:
            open_ledger(database.replace(*change))
        assert PASSWORD not in str(caught.value)
        assert "wrong" not in str(caught.value)

    def test_nobody_listens(self) -> None:
        """The address is shown."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            with pytest.raises(
                errors.LedgerUnavailable, match=rf"postgresql://ann@127.0.0.1:{port}/db cannot be opened"
            ):
                open_ledger(f"postgresql://ann:pw@127.0.0.1:{port}/db")

    @pytest.mark.parametrize(
        ("url", "said"),
        [
            ("postgresql://ann:pw@host/db?schema=Team-A", "schema='Team-A'"),
            ("postgresql://ann:pw@host/db?bogus=1", "bogus"),
            ("postgresql://ann:pw@[host/db", "not the address"),
        ],
    )
    def test_what_is_no_address(self, url: str, said: str) -> None:
        """The password is not repeated."""
        with pytest.raises(errors.InvalidInput, match=said) as caught:
            open_ledger(url)
        assert "pw" not in str(caught.value)

    def test_without_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The error says what to install."""
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(errors.MissingExtra, match=r"remanence-memory\[postgres\]"):
            open_ledger("postgresql://host/db")

    def test_a_schema_of_another_program_is_left_alone(self, database: str) -> None:
        """Its tables are named."""
        schema = parse_address(database).schema
        query(database, f"CREATE SCHEMA {schema}; CREATE TABLE invoices (id int)")
        with pytest.raises(errors.LedgerCorrupt, match="invoices"):
            open_ledger(database)

    def test_a_ledger_of_a_later_release_is_left_alone(self, database: str) -> None:
        """The version is named."""
        open_ledger(database).close()
        query(database, "UPDATE meta SET value = '41' WHERE name = 'ledger:schema'")
        with pytest.raises(errors.LedgerTooNew, match="41"):
            open_ledger(database)

    def test_two_ledgers_in_one_database(self, postgres: Server, database: str) -> None:
        """Each schema has its own entries and positions."""
        one, two = open_ledger(database), open_ledger(database.replace("schema=", "schema=b_"))
        append_events(one, remembered_event("one"))
        append_events(two, remembered_event("two"), remembered_event("two again"))
        assert (texts(one), texts(two)) == (["one"], ["two", "two again"])
        assert (one.head(), two.head()) == (1, 2)
        one.close()
        two.close()

    @pytest.mark.parametrize(
        "sql", ["DELETE FROM entry", "TRUNCATE entry", "UPDATE entry SET body = 'x'", "UPDATE entry SET at = 1"]
    )
    def test_entries_cannot_be_changed_by_accident(self, ledger: PostgresLedger, database: str, sql: str) -> None:
        """The database refuses."""
        append_events(ledger, remembered_event("kept"))
        with pytest.raises(psycopg.errors.RaiseException, match="never deleted or changed"):
            query(database, sql)

    def test_a_changed_vector_is_noticed(self, ledger: PostgresLedger, database: str) -> None:
        """Also in a ledger of the first schema, whose vectors are counted when it is opened."""
        vectors = {bytes([n]): np.full(4, n, np.float32) for n in range(3)}
        with ledger.transaction() as transaction:
            transaction.put_vectors("home", "m", vectors)
        query(database, "DELETE FROM meta WHERE name = 'ledger:vectors'")
        query(database, "UPDATE meta SET value = '1' WHERE name = 'ledger:schema'")
        again = PostgresLedger(database)
        again.verify()
        query(database, r"UPDATE space_embedding SET vector = '\x00' WHERE hash = '\x01'")
        with pytest.raises(errors.LedgerTampered, match="vectors"):
            again.verify()
        again.close()

    def test_a_changed_entry_is_named(self, ledger: PostgresLedger, database: str) -> None:
        """Whoever switches the refusal off is found by `verify`."""
        append_events(ledger, remembered_event("a"), remembered_event("b"))
        query(database, "ALTER TABLE entry DISABLE TRIGGER USER; UPDATE entry SET body = '{}' WHERE position = 2")
        with pytest.raises(errors.LedgerTampered) as caught:
            ledger.verify()
        assert caught.value.position == 2


class TestManyWriters:
    def test_no_reader_meets_a_line_below_one_it_has_read(self, database: str) -> None:
        """Eight writers and four tailing readers, each with connections of its own as on machines of their own."""
        writers, lines, done = 8, 25, threading.Event()
        open_ledger(database).close()

        def write(name: int) -> None:
            ledger = PostgresLedger(database)
            for number in range(lines):
                append_events(ledger, *[remembered_event(f"{name} {number}")] * (1 + number % 3))
            ledger.close()

        def tail() -> list[int]:
            ledger, seen = PostgresLedger(database), [0]
            while True:
                ended = done.is_set()
                seen += [entry.position for entry in ledger.read("home", after=seen[-1])]
                if ended:
                    ledger.close()
                    return seen

        with ThreadPoolExecutor(12) as pool:
            readers = [pool.submit(tail) for _ in range(4)]
            list(pool.map(write, range(writers)))
            done.set()
            ledger = PostgresLedger(database)
            expected = list(range(ledger.head() + 1))
            assert [reader.result() for reader in readers] == [expected] * 4
        assert ledger.verify()[0] == len(expected) - 1 == writers * sum(1 + n % 3 for n in range(lines))
        ledger.close()

    def test_a_writer_that_does_not_end_is_not_waited_for_for_ever(self, database: str) -> None:
        """The other one gets an error and can try again."""
        slow, quick = PostgresLedger(database), PostgresLedger(f"{database}&options=-c%20lock_timeout%3D100ms")
        with slow.transaction() as transaction:
            with pytest.raises(
                errors.LedgerUnavailable, match="another process has been writing for longer than lock_timeout"
            ):
                append_events(quick, remembered_event("b"))
            transaction.append("home", [remembered_event("a")], at=remanence.testing.FakeClock("2026-05-04")())
        append_events(quick, remembered_event("b"))
        assert texts(slow) == ["a", "b"]
        slow.close()
        quick.close()

    def test_writers_wait_for_each_other_whatever_the_isolation_level(self, database: str) -> None:
        """Where it is serializable by default, a writer would not see what was written while it waited."""
        url = f"{database}&options=-c%20default_transaction_isolation%3Dserializable"
        writers, each = 4, 15
        spaces = [opened(url, reader=None) for _ in range(writers)]
        with ThreadPoolExecutor(writers) as pool:
            for _ in range(each):
                list(pool.map(lambda space: space.add(f"note {uuid4()}"), spaces))
        assert spaces[0].count() == writers * each
        assert spaces[0].verify().entries >= writers * each
        for space in spaces:
            space.close()

    def test_a_writer_goes_on_after_the_server_has_refused(self, database: str) -> None:
        """Also where it says so while the driver still sends, and has statements that it takes to be prepared."""
        rows = [{"text": f"row {number}"} for number in range(400)]
        with opened(database, reader=None) as space:
            query(
                database,
                """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = 'serialization_failure'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION refuse()""",
            )
            for _ in range(3):
                with pytest.raises(errors.LedgerUnavailable, match="not now"):
                    space.add_many(rows)
            query(database, "DROP TRIGGER refuse ON entry")
            for number in range(8):
                space.add(f"after {number}")
            space.add_many(rows)
            assert space.count() == 408


class TestExchanges:
    """How often one waits for the server: each time costs as much as the way there and back."""

    @pytest.fixture
    def exchanges(self, monkeypatch: pytest.MonkeyPatch) -> list[object]:
        """What this thread sent, each time that it waits for the answer."""
        sent: list[object] = []
        this = threading.current_thread()
        execute, synchronize = psycopg.RawCursor.execute, psycopg.Pipeline.__exit__

        def executed(cursor: psycopg.RawCursor, query: object, *args: object, **options: object) -> object:
            if cursor.connection._pipeline is None and threading.current_thread() is this:
                sent.append(query)
            return execute(cursor, query, *args, **options)

        def synchronized(pipeline: psycopg.Pipeline, *error: object) -> None:
            if threading.current_thread() is this:
                sent.append("pipeline")
            synchronize(pipeline, *error)

        monkeypatch.setattr(psycopg.RawCursor, "execute", executed)
        monkeypatch.setattr(psycopg.Pipeline, "__exit__", synchronized)
        return sent

    def test_an_add_takes_three(self, database: str, exchanges: list[object]) -> None:
        """One asks for known vectors, one begins, one writes and commits."""
        with opened(database) as space:
            space.add("Ana lives in Porto.")
            exchanges.clear()
            space.add("Ana likes tea.")
            assert len(exchanges) == 3, exchanges

    def test_a_transaction_takes_two_whatever_it_appends(self, ledger: PostgresLedger, exchanges: list[object]) -> None:
        """A value that cannot be stored fails with the commit, and nothing of the others is stored."""
        moment = remanence.testing.FakeClock("2026-05-04")()
        append_events(ledger, remembered_event("before"))
        exchanges.clear()
        with ledger.transaction() as transaction:
            transaction.append("home", [remembered_event("a"), remembered_event("b")], at=moment)
            transaction.append("home", [remembered_event("c")], at=moment)
        assert len(exchanges) == 2, exchanges

        def write() -> None:
            with ledger.transaction() as transaction:
                for space in ("home", "home\0", "home"):
                    transaction.append(space, [remembered_event("d")], at=moment)

        with pytest.raises(errors.InvalidInput, match="cannot be stored"):
            write()
        append_events(ledger, remembered_event("g"))
        assert texts(ledger) == ["before", "a", "b", "c", "g"]
        assert ledger.verify()[0] == 5

    def test_with_the_default_embedder_it_takes_two(self, database: str, exchanges: list[object]) -> None:
        """Known vectors are not asked for: it is faster to make them."""
        with remanence.open(database) as space:
            space.add("Ana lives in Porto.")
            exchanges.clear()
            space.add("Ana likes tea.")
            assert len(exchanges) == 2, exchanges

    def test_entries_of_others_take_two_more(self, database: str, tmp_path: Path, exchanges: list[object]) -> None:
        """Which read them and their vectors. When they were recorded is known with the lock."""
        with opened(database, cache=tmp_path / "a") as space, opened(database, cache=tmp_path / "b") as other:
            space.add("The harbour is closed.")
            other.add("The bakery is open.")
            exchanges.clear()
            space.add("The museum is full.")
            assert len(exchanges) == 5, exchanges

    def test_a_clock_that_is_behind_that_of_others(self, database: str, tmp_path: Path) -> None:
        """What others have written meanwhile, in this and in another space, counts as before."""
        later, sooner = (remanence.testing.FakeClock(day) for day in ("2026-05-05", "2026-05-04"))
        with (
            opened(database, cache=tmp_path / "a", clock=later) as ahead,
            opened(database, cache=tmp_path / "b", clock=sooner) as behind,
        ):
            behind.add("The harbour is closed.")
            ahead.add("The bakery is open.")
            ahead.child("x").add("The museum is full.")
            moments = [behind.add("The library is new."), behind.child("x").add("The bridge is old.")]
            assert [memory.recorded_at > later() for memory in moments] == [True, True]
            assert behind.child("y").add("Nobody was here.").recorded_at == sooner()
            known = [memory.text for memory in behind.as_of(later()).memories()]
            assert known == ["The harbour is closed.", "The bakery is open."]


class TestCuts:
    def test_the_next_call_connects_again(self, ledger: PostgresLedger, database: str) -> None:
        """Connections that were cut while nobody used them are not noticed, in reading and in writing."""
        append_events(ledger, remembered_event("a"))
        cut_connections(database)
        assert texts(ledger) == ["a"]
        cut_connections(database)
        append_events(ledger, remembered_event("b"))
        cut_connections(database)
        assert ledger.verify()[0] == 2

    @pytest.mark.parametrize("noticed", ["by the next statement", "by the commit"])
    def test_a_cut_in_a_transaction_leaves_nothing(self, ledger: PostgresLedger, database: str, noticed: str) -> None:
        """The error says so, and the next transaction works."""
        moment = remanence.testing.FakeClock("2026-05-04")()

        def write() -> None:
            with ledger.transaction() as transaction:
                transaction.append("home", [remembered_event("lost")], at=moment)
                cut_connections(database)
                transaction.append("home", [remembered_event("lost too")], at=moment)
                if noticed == "by the next statement":
                    transaction.put_meta("name", "lost")

        with pytest.raises(errors.LedgerUnavailable, match=r"nothing of (this call|it) was stored") as caught:
            write()
        assert caught.value.written is False
        append_events(ledger, remembered_event("kept"))
        assert texts(ledger) == ["kept"]

    def test_a_cut_right_after_connecting_is_named(
        self, ledger: PostgresLedger, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As any other, for a write and for opening."""

        def connect(address: Address) -> Connection:
            connection = real(address)
            connection.close()
            return connection

        real = postgres_backend.connect
        append_events(ledger, remembered_event("before"))
        with monkeypatch.context() as patch:
            patch.setattr(postgres_backend, "connect", connect)
            cut_connections(database)
            for write in (lambda: append_events(ledger, remembered_event("lost")), lambda: PostgresLedger(database)):
                with pytest.raises(errors.LedgerUnavailable, match="cannot be opened") as caught:
                    write()
                assert caught.value.written is False
        append_events(ledger, remembered_event("kept"))
        assert texts(ledger) == ["before", "kept"]

    def test_a_cut_after_the_commit_is_no_error(self, through_proxy: PostgresLedger, proxy: Proxy) -> None:
        """The server is asked: the entry is there, once."""
        proxy.cut = "after"
        append_events(through_proxy, remembered_event("kept"))
        append_events(through_proxy, remembered_event("next"))
        assert texts(through_proxy) == ["before", "kept", "next"]
        assert through_proxy.verify()[0] == 3

    def test_a_cut_before_the_commit_leaves_nothing(self, through_proxy: PostgresLedger, proxy: Proxy) -> None:
        """The error says so, and trying again does not write twice."""
        proxy.cut = "before"
        with pytest.raises(errors.LedgerUnavailable, match="nothing of it was stored") as caught:
            append_events(through_proxy, remembered_event("kept"))
        assert caught.value.written is False
        append_events(through_proxy, remembered_event("kept"))
        assert texts(through_proxy) == ["before", "kept"]

    def test_a_server_that_is_gone_after_a_commit(
        self, through_proxy: PostgresLedger, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The error says that it is not known, and how to find out."""
        monkeypatch.setattr(postgres_ledger, "RECONNECT_SECONDS", 0.1)
        proxy.cut = "for good"
        with pytest.raises(errors.LedgerUnavailable, match="entry 2 has the digest") as caught:
            append_events(through_proxy, remembered_event("perhaps"))
        assert caught.value.written is None
        proxy.refuse = False
        assert texts(through_proxy) == ["before"]

    @pytest.mark.slow
    def test_a_restart_amid_writing(self, tmp_path: Path) -> None:
        """What was acknowledged is there once, and the spaces go on."""
        server = Server.create()
        server.start()
        try:
            address = server.url() + "&connect_timeout=4"  # a connection that is cut amid its making is given up soon
            space, other = (opened(address, cache=tmp_path / name) for name in "ab")
            kept: list[str] = []
            failed: list[errors.RemanenceError] = []
            stopped = threading.Event()

            def write() -> None:
                while not stopped.is_set():
                    try:
                        kept.append(space.add(f"Note {len(kept)} of the log, try {len(failed)}.").text)
                    except errors.RemanenceError as error:
                        failed.append(error)

            writer = threading.Thread(target=write)
            writer.start()
            wait_for(lambda: len(kept) > 20)
            server.stop()
            wait_for(lambda: bool(failed))
            server.start()
            before = len(kept)
            wait_for(lambda: len(kept) > before + 5)
            stopped.set()
            writer.join()
            found = [memory.text for memory in other.memories()]
            assert len(found) == len(set(found))
            assert set(kept) <= set(found)
            assert {type(error) for error in failed} <= {errors.LedgerUnavailable}
            assert other.admin.check() == space.admin.check() == {}
            space.close()
            other.close()
        finally:
            server.remove()


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


class TestLocks:
    def test_one_at_a_time_between_machines(self, ledger: PostgresLedger) -> None:
        """Held, seen as held, released."""
        one, two = ledger.locks(), ledger.locks()
        with one.acquire("job") as held:
            assert held
            assert one.is_locked("job")
            assert two.is_locked("job")
            assert not two.is_locked("another")
            with two.acquire("job") as again, one.acquire("job") as in_this_process:
                assert not again
                assert not in_this_process
        with two.acquire("job") as held:
            assert held
        one.close()
        two.close()

    def test_a_machine_that_is_gone_holds_nothing(self, ledger: PostgresLedger, database: str) -> None:
        """Its locks end with its connection, and it is no longer listed."""
        one, two = ledger.locks(), ledger.locks()
        one.publish_position(3)
        two.publish_position(5)
        assert [position for _, position in two.other_processes()] == [3]
        with one.acquire("job"):
            named = f"FROM pg_stat_activity WHERE application_name = '{one._published}'"
            query(database, f"SELECT pg_terminate_backend(pid) {named}")
            wait_for(lambda: not two.is_locked("job"))
            assert two.other_processes() == []
            with two.acquire("job") as held:
                assert held
        assert [position for _, position in two.other_processes()] == [3]  # it has connected again
        one.close()
        two.close()

    def test_a_job_is_done_once(self, database: str, tmp_path: Path) -> None:
        """Two machines work on the same queue."""
        cities = ("Porto", "Faro", "Braga")
        extractor = FactsByQuotation({f"I live in {city}": f"The user lives in {city}." for city in cities})
        one, two = (opened(database, worker=False, cache=tmp_path / name, extractor=extractor) for name in "ab")
        jobs = [one.remember(f"I live in {city}.", wait=False) for city in cities]
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda space: space.jobs.run_due(), (one, two)))
        assert [job.status for job in jobs] == ["done"] * 3
        facts = sorted(memory.text for memory in two.memories() if memory.text.startswith("The user lives"))
        assert facts == sorted(f"The user lives in {city}." for city in cities)
        assert done
        one.close()
        two.close()


def test_a_space_of_the_table_moves_to_the_default_embedder_and_back(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REMANENCE_EMBEDDER")
    check_moving_between_embedders(database)


class TestFiles:
    def test_the_cache_may_be_lost_at_any_time(self, database: str, tmp_path: Path, with_files: None) -> None:
        """While a space is open and between two openings: the answers are the same."""
        cache = tmp_path / "cache of mine"
        with opened(database, cache=cache) as space:
            space.add_many([f"Note {n} is about harbour {n % 7}." for n in range(50)])
            space.rebuild()
            expected = [hit.memory.text for hit in space.recall("harbour 3")]
            shutil.rmtree(cache)
            assert [hit.memory.text for hit in space.recall("harbour 3")] == expected
            space.add("Another note.")
        shutil.rmtree(cache, ignore_errors=True)
        with opened(database, cache=cache) as space:
            assert [hit.memory.text for hit in space.recall("harbour 3")] == expected
            assert space.count() == 51
            assert space.admin.check() == {}

    def test_the_files_are_found_again(self, database: str, tmp_path: Path, with_files: None) -> None:
        """In a folder that only the user can read, named by the ledger."""
        cache = tmp_path / "cache of mine"
        with opened(database, cache=cache) as space:
            space.add("Ana lives in Porto.")
        [folder] = cache.iterdir()
        assert list(folder.glob("index/*/*.idx"))
        assert folder.stat().st_mode & 0o077 == 0
        assert not list(folder.glob("jobs/*"))

    def test_a_cache_that_cannot_be_written(
        self, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One that was asked for is an error; without any, everything is in memory."""
        (tmp_path / "file").write_text("mine")
        with pytest.raises(errors.InvalidInput, match="cache="):
            opened(database, cache=tmp_path / "file")
        with pytest.raises(errors.InvalidInput, match="for a database"):
            opened(str(tmp_path / "memory"), cache=tmp_path)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        with opened(database) as space:
            space.add("Ana lives in Porto.")
            assert space.recall("Where does Ana live?")

    def test_the_location_has_no_password(self, database: str) -> None:
        """In `location`, in numbers, in errors."""
        with opened(database) as space:
            assert space.admin.location == shown_location(database)
            assert PASSWORD.replace(" ", "%20") not in f"{space.admin.location} {space.admin.stats()}"


UNUSED = "unused space in the files of the tables"


class TestErasure:
    def test_old_versions_of_rows_are_removed(self, database: str, postgres: Server) -> None:
        """Not while somebody reads an older state; then by itself, and the word is in no file of the table."""
        address = parse_address(database)
        with opened(database) as space:
            memory = space.add("The vault opens with quicksilver.")
            [(path,)] = query(database, "SELECT pg_relation_filepath('entry')")
            table = postgres.folder / "data" / str(path)
            query(database, "CHECKPOINT")
            assert b"quicksilver" in table.read_bytes()
            with psycopg.connect(address.conninfo, options=f"-c search_path={address.schema}") as reader:
                reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                reader.execute("SELECT count(*) FROM entry")
                pending = space.erase(memory).pending
                assert any("old pages" in each.location for each in pending)
            wait_for(lambda: all("unused space" in each.location for each in space.audit.pending_erasures()))
            query(database, "CHECKPOINT")
            assert b"quicksilver" not in table.read_bytes()
            space.verify()

    def test_text_in_unused_space_is_pending_until_the_tables_are_rewritten(
        self, database: str, postgres: Server
    ) -> None:
        """Removing old versions of rows leaves their bytes in the pages. The certificate gives the command."""
        with opened(database) as space:
            space.add_many([f"Boat {number} lies in the harbour." for number in range(300)])
            memory = space.add("The vault opens with quicksilver.")
            assert self.files_with(database, postgres, b"quicksilver")
            space.erase(memory)
            wait_for(lambda: [each.location for each in space.audit.pending_erasures()] == [UNUSED])
            [pending] = space.audit.pending_erasures()
            schema = parse_address(database).schema
            assert f"`VACUUM FULL {schema}.entry, {schema}.space_embedding`" in pending.removed_when
            assert space.admin.compact().skipped == ()
            assert space.audit.pending_erasures() == []
            assert not self.files_with(database, postgres, b"quicksilver")
            space.erase(space.add("The cellar opens with mercury."))
            wait_for(lambda: [each.location for each in space.audit.pending_erasures()] == [UNUSED])
            space.verify()

    def test_erasing_a_space_rewrites_the_tables(self, database: str, postgres: Server) -> None:
        """Neither its texts nor its vectors are in their files."""
        with opened(database) as space:
            space.add_many([f"Boat {number} lies in the harbour." for number in range(300)])
            zoe = space.child("users", "zoe")
            zoe.add_many([f"The vault {number} opens with quicksilver." for number in range(50)])
            [(vector,)] = query(database, "SELECT vector FROM space_embedding WHERE space LIKE '%zoe' LIMIT 1")
            certificate = zoe.erase_space()
            assert UNUSED not in [each.location for each in certificate.pending]
            assert not self.files_with(database, postgres, b"quicksilver")
            assert not self.files_with(database, postgres, bytes(vector))  # type: ignore[arg-type]
            assert space.count() == 300

    def test_a_role_that_may_not_rewrite_is_told_what_its_owner_can_run(self, database: str, postgres: Server) -> None:
        """Then it is pending, until the owner of the tables has done it, whoever that is."""
        opened(database).close()
        schema, role = parse_address(database).schema, f"clerk_{uuid4().hex}"
        query(database, f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT ALL ON SCHEMA {schema} TO {role}")
        query(database, f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role}")
        address = f"postgresql://{role}:x@127.0.0.1:{postgres.port}/postgres?schema={schema}"
        with opened(address) as space:
            space.add("The vault opens with quicksilver.")
            assert UNUSED in [each.location for each in space.erase_space().pending]
            assert "could not be written again" in space.admin.compact().skipped[0]
            query(database, f"VACUUM FULL {schema}.entry, {schema}.space_embedding")
            assert UNUSED not in [each.location for each in space.audit.pending_erasures()]

    @staticmethod
    def files_with(database: str, postgres: Server, content: bytes) -> list[Path]:
        """The files of the tables, and of what belongs to them, that have these bytes."""
        of_tables = "relname IN ('entry', 'space_embedding') AND relnamespace = current_schema()::regnamespace"
        toast = f"SELECT reltoastrelid FROM pg_class WHERE {of_tables}"
        found = query(
            database, f"SELECT pg_relation_filepath(oid) FROM pg_class WHERE ({of_tables}) OR oid IN ({toast})"
        )
        query(database, "CHECKPOINT")
        paths = [postgres.folder / "data" / str(path) for (path,) in found]
        return [path for path in paths if content in path.read_bytes()]

    def test_another_machine_is_named_until_it_has_noticed(self, database: str, tmp_path: Path) -> None:
        """Its index has the words until it looks at the ledger again."""
        one, two = (opened(database, cache=tmp_path / name) for name in "ab")
        memory = one.add("The vault opens with quicksilver.")
        assert two.recall("vault")
        assert any("an index of process" in each.location for each in one.erase(memory).pending)
        wait_for(lambda: not any("an index" in each.location for each in one.audit.pending_erasures()))
        assert two.count() == 0
        one.close()
        two.close()


class TestAdapters:
    def test_langchain_and_langgraph(self, database: str) -> None:
        """The store, the history and the retriever work as in a folder."""
        pytest.importorskip("langgraph.store.base")
        from langchain_core.messages import HumanMessage

        from langchain_remanence import RemanenceChatMessageHistory, RemanenceRetriever, RemanenceStore

        with opened(database) as space:
            store = RemanenceStore(space.child("store"))
            store.put(("users", "ana"), "city", {"text": "Ana lives in Porto."})
            assert store.get(("users", "ana"), "city").value == {"text": "Ana lives in Porto."}  # type: ignore[union-attr]
            history = RemanenceChatMessageHistory(space, "one")
            history.add_messages([HumanMessage("I keep bees.")])
            assert [message.content for message in history.messages] == ["I keep bees."]
            space.add("Bob plays the cello.")
            [first, *_] = RemanenceRetriever(space=space, k=1).invoke("What does Bob play?")
            assert first.page_content == "Bob plays the cello."

    def test_llama_index(self, database: str) -> None:
        """The memory is found again by its location."""
        pytest.importorskip("llama_index.core")
        from llama_index.core.llms import ChatMessage

        from llama_index_remanence import RemanenceMemory

        with opened(database) as space:
            memory = RemanenceMemory(space, session_id="one")
            memory.put(ChatMessage(role="user", content="I keep bees."))
            assert [message.content for message in memory.get_all()] == ["I keep bees."]


def test_tokens_are_checked_again_after_a_restart_of_the_database(database: str) -> None:
    """The server connects again by itself."""
    with opened(database):
        tokens = TokenStore(database)
        secret, token = tokens.create("a", spaces=["default"], access="read")
        cut_connections(database)
        assert tokens.authenticate(secret) == token
        tokens.close()
        with pytest.raises(errors.Closed, match="is closed"):
            tokens.list()

"""What every ledger promises. Subclass it, give a `ledger` fixture, and pytest does the rest.

class TestMine(LedgerContract):
    @pytest.fixture
    def ledger(self, tmp_path):
        ledger = MyLedger(tmp_path)
        yield ledger
        ledger.close()
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from remanence.errors import Closed, InvalidInput, LedgerError, LedgerTampered
from remanence.events import Emptied, Erased, Event, Forgotten, Remembered, Restored
from remanence.ports import RewritableLedger
from remanence.schema import Entry, Mention, Triple, Turn, Window

if TYPE_CHECKING:
    from remanence.ports import Ledger

MONDAY = datetime(2026, 5, 4, 9, tzinfo=timezone.utc)
TUESDAY = MONDAY + timedelta(days=1)


def remembered_event(text: str, memory: str = "m1") -> Remembered:
    """A small memory for tests.

    >>> remembered_event("The bridge is closed.").memory
    'm1'
    """
    return Remembered(memory=memory, text=text, identity=text)


def append_events(ledger: Ledger, *events: Event, space: str = "home", at: datetime = MONDAY) -> list[Entry]:
    """Append in a transaction of its own."""
    with ledger.transaction() as transaction:
        return transaction.append(space, events, at=at)


class LedgerContract:
    """Each test is one promise of `remanence.ports.Ledger`."""

    @pytest.fixture
    def ledger(self) -> Any:
        """The ledger to be examined, empty: the only thing you write."""
        raise NotImplementedError("give a `ledger` fixture")

    def test_a_new_ledger_is_empty(self, ledger: Ledger) -> None:
        """It has no entries."""
        assert ledger.head() == 0
        assert list(ledger.read("home")) == []
        assert ledger.spaces() == []
        assert ledger.verify()[0] == 0

    def test_positions_are_one_two_three(self, ledger: Ledger) -> None:
        """Positions grow by one, across spaces and transactions, and leave no gap."""
        first = append_events(ledger, remembered_event("a"), remembered_event("b"))
        list(ledger.read("home"))
        assert ledger.head() == 2
        second = append_events(ledger, remembered_event("c"), space="work")
        assert [e.position for e in first + second] == [1, 2, 3]
        assert ledger.head() == 3

    def test_what_was_written_is_read_back(self, ledger: Ledger) -> None:
        """Every kind of event, every field, every script."""
        full = Remembered(
            memory="m1",
            text="Zoë met 山田さん in Zürich 🏔 \x00 'quoted' \"twice\"\n",
            identity="i",
            key="k",
            kind="episode",
            valid=Window(MONDAY, TUESDAY),
            importance=0.9,
            confidence=0.25,
            strength=1.5,
            tags=("x", "y"),
            source="mail",
            observed_by="Bob",
            expires_at=TUESDAY,
            mentions=(Mention("Zoë", "person"),),
            triples=(Triple("Zoë", "met", "山田さん"),),
            turn=Turn("c", 3, "Zoë", MONDAY),
            passages=((0, 4), (4, 9)),
            meta={"n": 1, "deep": [{"x": None}]},
        )
        events: Sequence[Event] = [full, Forgotten("m1", why="she asked"), Restored("m1"), Forgotten("m1")]
        written = append_events(ledger, *events)
        assert [e.event for e in written] == events
        assert list(ledger.read("home")) == written
        assert {e.subject for e in written} == {"m1"}

    def test_times_keep_their_microseconds(self, ledger: Ledger) -> None:
        """Also before 1970, and whatever the timezone it was given in."""
        old = datetime(1815, 6, 18, 11, 35, 0, 1, tzinfo=timezone.utc)
        east = datetime(2026, 5, 4, 9, tzinfo=timezone(timedelta(hours=9)))
        append_events(ledger, remembered_event("a"), at=old)
        append_events(ledger, remembered_event("b"), at=east)
        assert [e.at for e in ledger.read("home")] == [old, east]

    def test_a_failed_transaction_leaves_nothing(self, ledger: Ledger) -> None:
        """No entry, no vector, no meta value; and the next transaction works."""
        append_events(ledger, remembered_event("kept"))
        with suppress(ZeroDivisionError), ledger.transaction() as transaction:
            transaction.append("home", [remembered_event("lost")], at=TUESDAY)
            transaction.put_vectors("home", "m", {b"h": np.ones(2, dtype=np.float32)})
            transaction.put_meta("name", "lost")
            transaction.erase("home", [1], [])
            raise ZeroDivisionError
        assert [e.event for e in ledger.read("home")] == [remembered_event("kept")]
        assert ledger.vectors("home", "m", [b"h"]) == {}
        assert ledger.get_meta("name") is None
        assert [e.position for e in append_events(ledger, remembered_event("next"))] == [2]
        assert [e.at for e in ledger.read("home")] == [MONDAY, MONDAY]
        assert ledger.verify()[0] == 2

    def test_an_invalid_event_rolls_the_transaction_back(self, ledger: Ledger) -> None:
        """Lone surrogates, values that are not JSON and naive times raise InvalidInput, and nothing is written."""
        for bad in (Remembered("m1", "a", "i", meta={"x": object()}), remembered_event("\ud800")):
            with pytest.raises(InvalidInput):
                append_events(ledger, remembered_event("a"), bad)
        for space, at in (("\udfff", MONDAY), ("home", datetime(2026, 5, 4))):
            with pytest.raises(InvalidInput):
                append_events(ledger, remembered_event("a"), space=space, at=at)
        with ledger.transaction() as transaction, pytest.raises(InvalidInput):
            transaction.put_meta("name", "\ud800")
        assert ledger.head() == 0
        assert len(append_events(ledger, remembered_event("fine"))) == 1

    def test_an_open_transaction_is_not_visible(self, ledger: Ledger) -> None:
        """Readers see whole transactions only."""
        with ledger.transaction() as transaction:
            transaction.append("home", [remembered_event("a")], at=MONDAY)
            assert ledger.head() == 0
            assert list(ledger.read("home")) == []
        assert ledger.head() == 1

    def test_nested_transactions_are_refused(self, ledger: Ledger) -> None:
        """A second transaction inside the first would be a deadlock, so it raises LedgerError."""
        with ledger.transaction() as transaction:
            transaction.append("home", [remembered_event("a")], at=MONDAY)
            with pytest.raises(LedgerError), ledger.transaction():
                pass
        assert ledger.head() == 1

    def test_an_ended_transaction_is_refused(self, ledger: Ledger) -> None:
        """Every use of a transaction after its end raises LedgerError."""
        with ledger.transaction() as transaction:
            pass
        uses: list[Callable[[], object]] = [
            lambda: transaction.append("home", [remembered_event("late")], at=MONDAY),
            lambda: transaction.append_erased("home", "remembered", "m1", at=MONDAY),
            lambda: transaction.put_vectors("home", "m", {b"h": np.ones(1, dtype=np.float32)}),
            lambda: transaction.erase("home", [1], []),
            lambda: transaction.put_meta("a", "b"),
        ]
        for use in uses:
            with pytest.raises(LedgerError):
                use()
        assert ledger.head() == 0

    def test_spaces_do_not_see_each_other(self, ledger: Ledger) -> None:
        """`read` gives one space; names are exact, not prefixes, not patterns."""
        for space in ("ali", "alice", "ALI", "ali%", ""):
            append_events(ledger, remembered_event(space), space=space)
        for space in ("ali", "alice", "ALI", "ali%", ""):
            assert [e.event for e in ledger.read(space)] == [remembered_event(space)]
        assert ledger.spaces() == ["", "ALI", "ali", "ali%", "alice"]

    def test_entries_after_a_position_are_read(self, ledger: Ledger) -> None:
        """`after` leaves out what was read before."""
        for n in range(5):
            append_events(ledger, remembered_event(str(n)), space="home" if n % 2 == 0 else "work")
        assert [e.position for e in ledger.read("home", after=1)] == [3, 5]
        assert list(ledger.read("home", after=5)) == []

    def test_entries_of_some_kinds_are_read(self, ledger: Ledger) -> None:
        """In order, also where more than one chunk of others lies between them."""
        append_events(ledger, Forgotten("first"))
        append_events(ledger, *(remembered_event(str(n)) for n in range(2500)))
        append_events(ledger, Restored("second"), Forgotten("third"))
        assert [e.subject for e in ledger.read("home", kinds=["forgotten"])] == ["first", "third"]
        assert [e.subject for e in ledger.read("home", after=1, kinds=["restored", "forgotten"])] == ["second", "third"]
        assert len(list(ledger.read("home", kinds=["remembered"]))) == 2500
        assert list(ledger.read("work", kinds=["forgotten"])) == list(ledger.read("home", kinds=[])) == []

    def test_the_spaces_with_a_kind_of_entry_after_a_position(self, ledger: Ledger) -> None:
        """Each once, in the order of their names."""
        for space in ("work", "home", "work"):
            append_events(ledger, Forgotten("m1"), remembered_event(space), space=space)
        append_events(ledger, remembered_event("none"), space="car")
        assert ledger.spaces_with("forgotten") == ["home", "work"]
        assert ledger.spaces_with("forgotten", after=3) == ["work"]
        assert ledger.spaces_with("forgotten", after=ledger.head()) == ledger.spaces_with("queued") == []

    def test_many_entries_come_in_order(self, ledger: Ledger) -> None:
        """More than one chunk."""
        append_events(ledger, *(remembered_event(str(n)) for n in range(5003)))
        assert [e.position for e in ledger.read("home")] == list(range(1, 5004))
        assert len(ledger.entries_at(range(6000))) == 5003

    def test_entries_are_found_by_position(self, ledger: Ledger) -> None:
        """Known ones are given, of whatever space; others are left out."""
        append_events(ledger, remembered_event("a"), remembered_event("b"))
        append_events(ledger, remembered_event("c"), space="work")
        found = ledger.entries_at([3, 1, 99, 0, -1, 1, 2**70])
        assert {p: e.event for p, e in found.items()} == {3: remembered_event("c"), 1: remembered_event("a")}
        assert found[3].space == "work"
        assert ledger.entries_at([]) == {}

    def test_an_emptied_space_has_no_text_and_is_not_listed(self, ledger: Ledger) -> None:
        """Other spaces keep theirs; what is appended later lists it again; `verify` passes throughout."""
        append_events(ledger, remembered_event("secret"), Forgotten("m1", why="secret"))
        append_events(ledger, remembered_event("public"), space="work")
        assert ledger.last_erasure() == 0
        with ledger.transaction() as transaction:
            emptied = transaction.erase_space("home", at=TUESDAY)
        assert emptied.event == Emptied("home")
        assert [entry.event for entry in ledger.read("home")] == [None, None, Emptied("home")]
        assert [entry.event for entry in ledger.read("work")] == [remembered_event("public")]
        assert ledger.spaces() == ["work"]
        assert ledger.spaces("home") == []
        assert ledger.last_erasure() == emptied.position == ledger.head()
        assert ledger.clean_up(wait=1.0)
        append_events(ledger, remembered_event("new"), at=TUESDAY)
        assert ledger.spaces() == ["home", "work"]
        assert ledger.spaces("home") == ["home"]
        with ledger.transaction() as transaction:
            transaction.erase_space("home", at=TUESDAY)
        kinds = [(entry.kind, entry.event is None) for entry in ledger.read("home")]
        assert kinds[2:] == [("emptied", False), ("remembered", True), ("emptied", False)]
        assert ledger.verify()[0] == 6

    def test_an_earlier_moment_is_taken_as_just_after_the_last_one(self, ledger: Ledger) -> None:
        """A clock set back does not reorder a space, and does not touch another."""
        append_events(ledger, remembered_event("a"), at=TUESDAY)
        append_events(ledger, remembered_event("b"), at=MONDAY)
        append_events(ledger, remembered_event("c"), space="work", at=MONDAY)
        with ledger.transaction() as transaction:
            transaction.append("work", [remembered_event("d")], at=TUESDAY)
            transaction.append("work", [remembered_event("e")], at=MONDAY)
        assert [e.at for e in ledger.read("home")] == [TUESDAY, TUESDAY + timedelta(microseconds=1)]
        assert [e.at for e in ledger.read("work")] == [MONDAY, TUESDAY, TUESDAY + timedelta(microseconds=1)]

    def test_the_position_at_a_moment(self, ledger: Ledger) -> None:
        """The last entry at or before it: all with the same time, none before the first."""
        append_events(ledger, remembered_event("a"), remembered_event("b"), at=MONDAY)
        append_events(ledger, remembered_event("x"), space="work", at=MONDAY)
        append_events(ledger, remembered_event("c"), at=TUESDAY)
        tick = timedelta(microseconds=1)
        assert ledger.position_at("home", MONDAY - tick) == 0
        assert ledger.position_at("home", MONDAY) == 2
        assert ledger.position_at("home", TUESDAY - tick) == 2
        assert ledger.position_at("home", TUESDAY + timedelta(days=9000)) == 4
        assert ledger.position_at("nowhere", TUESDAY) == 0

    def test_erasing_removes_the_text_and_keeps_the_entry(self, ledger: Ledger) -> None:
        """The entry keeps its position; its event is None; `verify` still passes."""
        append_events(ledger, remembered_event("secret"), remembered_event("public", "m2"))
        with ledger.transaction() as transaction:
            transaction.put_vectors("home", "m", {b"h": np.ones(2, dtype=np.float32)})
            transaction.put_vectors(
                "home", "n", {b"h": np.ones(3, dtype=np.float32), b"i": np.ones(3, dtype=np.float32)}
            )
        before = list(ledger.read("home"))
        with ledger.transaction() as transaction:
            transaction.erase("home", [1, 77], [b"h", b"unknown"])
            transaction.append("home", [Erased("m1", (1,))], at=TUESDAY)
        after = list(ledger.read("home"))
        assert [e.event for e in after] == [None, remembered_event("public", "m2"), Erased("m1", (1,))]
        assert [e.digest for e in after[:2]] == [e.digest for e in before]
        assert ledger.entries_at([1])[1].event is None
        assert ledger.vectors("home", "m", [b"h"]) == {}
        assert list(ledger.vectors("home", "n", [b"h", b"i"])) == [b"i"]
        assert ledger.verify()[0] == 3

    def test_an_entry_that_records_an_erasure_stays(self, ledger: Ledger) -> None:
        """Otherwise the erased entry that it records would look like tampering."""
        append_events(ledger, remembered_event("secret"))
        for position in (1, 2):
            with ledger.transaction() as transaction:
                transaction.erase("home", [position], [])
                transaction.append("home", [Erased("m1", (position,))], at=MONDAY)
        assert [e.event for e in ledger.read("home")] == [None, Erased("m1", (1,)), Erased("m1", (2,))]
        assert ledger.verify()[0] == 3

    def test_an_entry_may_be_appended_without_its_text(self, ledger: Ledger) -> None:
        """Like an entry that was erased elsewhere; `verify` passes once an `Erased` event records it."""
        with ledger.transaction() as transaction:
            first = transaction.append_erased("home", "remembered", "m1", at=MONDAY)
            second = transaction.append("home", [Erased("m1", (first.position,))], at=MONDAY)
        assert list(ledger.read("home")) == [first, *second]
        assert (first.position, first.at, first.subject, first.event) == (1, MONDAY, "m1", None)
        assert ledger.verify() == (2, second[0].digest)

    def test_an_unrecorded_erasure_is_found(self, ledger: Ledger) -> None:
        """Somebody may have removed its text."""
        with ledger.transaction() as transaction:
            transaction.append_erased("home", "remembered", "m1", at=MONDAY)
        with pytest.raises(LedgerTampered, match="entry 1 is not what was written"):
            ledger.verify()

    def test_entries_are_counted_by_space(self, ledger: Ledger) -> None:
        """All of them, or up to a position."""
        append_events(ledger, remembered_event("a"), remembered_event("b"))
        append_events(ledger, remembered_event("c"), space="work")
        append_events(ledger, remembered_event("d"))
        assert [ledger.count(space) for space in ("home", "work", "nowhere")] == [3, 1, 0]
        assert [ledger.count("home", up_to=upto) for upto in range(5)] == [0, 1, 2, 2, 3]

    def test_compacting_changes_nothing_stored(self, ledger: Ledger) -> None:
        """Entries, erased ones too, vectors and meta values are as before."""
        append_events(ledger, *(remembered_event(f"{n} " * 500) for n in range(50)))
        with ledger.transaction() as transaction:
            transaction.erase("home", range(1, 40), [])
            transaction.append("home", [Erased("m1", tuple(range(1, 40)))], at=TUESDAY)
            transaction.put_vectors("home", "m", {b"h": np.ones(2, dtype=np.float32)})
            transaction.put_meta("name", "kept")
        before = list(ledger.read("home"))
        ledger.compact()
        assert list(ledger.read("home")) == before
        assert ledger.vectors("home", "m", [b"h"])[b"h"].tolist() == [1.0, 1.0]
        assert ledger.get_meta("name") == "kept"
        assert ledger.verify()[0] == 51
        assert append_events(ledger, remembered_event("next"))[0].position == 52

    def test_vectors_come_back_as_they_were(self, ledger: Ledger) -> None:
        """Bit for bit, by model and hash; unknown ones are left out."""
        rng = np.random.default_rng(7)
        kept = {bytes([n, 0, 255]): rng.random(256).astype(np.float32) for n in range(200)}
        with ledger.transaction() as transaction:
            transaction.put_vectors("home", "a", kept)
            transaction.put_vectors("home", "a", {})
        found = ledger.vectors("home", "a", [*kept, b"unknown"])
        assert found.keys() == kept.keys()
        assert all(found[h].dtype == np.float32 and np.array_equal(found[h], kept[h]) for h in kept)
        assert ledger.vectors("home", "b", list(kept)) == {}
        assert ledger.vectors("home", "a", []) == {}

    def test_vectors_belong_to_a_space(self, ledger: Ledger) -> None:
        """One space neither sees, replaces nor erases the vectors and the entries of another."""
        append_events(ledger, remembered_event("a"), space="work")
        for space, value in (("home", 1.0), ("work", 2.0)):
            with ledger.transaction() as transaction:
                transaction.put_vectors(space, "m", {b"h": np.full(2, value, dtype=np.float32)})
        with ledger.transaction() as transaction:
            assert transaction.erase("home", [1], [b"h", b"h", b"unknown"]) == 1
        assert ledger.vectors("home", "m", [b"h"]) == {}
        assert ledger.vectors("work", "m", [b"h"])[b"h"].tolist() == [2.0, 2.0]
        assert ledger.entries_at([1])[1].event == remembered_event("a")

    def test_a_space_is_verified_by_its_own_entries(self, ledger: Ledger) -> None:
        """All entries are checked; those of the space are counted, and its last digest is given."""
        [first] = append_events(ledger, remembered_event("a"))
        append_events(ledger, remembered_event("b"), space="work")
        assert ledger.verify("home") == (1, first.digest)
        assert ledger.verify()[0] == 2
        assert ledger.verify("nowhere")[0] == 0

    def test_a_known_vector_stays_as_it_is(self, ledger: Ledger) -> None:
        """A stored vector is not replaced, and not changed by later edits of the caller's array."""
        vector = np.ones(2, dtype=np.float32)
        for _ in range(2):
            with ledger.transaction() as transaction:
                transaction.put_vectors("home", "m", {b"h": vector})
            vector *= 2
        assert ledger.vectors("home", "m", [b"h"])[b"h"].tolist() == [1.0, 1.0]
        ledger.verify()

    def test_vectors_are_verified_with_what_happened_to_them(self, ledger: Ledger) -> None:
        """Stored, stored again, erased (also twice and several at once), and stored once more."""
        vectors = {bytes([n]): np.full(2, n, dtype=np.float32) for n in range(20)}
        for stored, erased in (
            (vectors, ()),
            (vectors, [b"\1", b"\2", b"\1"]),
            ({b"\1": vectors[b"\5"]}, list(vectors)),
        ):
            with ledger.transaction() as transaction:
                transaction.put_vectors("home", "m", stored)
                transaction.put_vectors("home", "other", dict(list(stored.items())[:3]))
                transaction.erase("home", [], erased)
            ledger.verify()
        assert ledger.vectors("home", "m", list(vectors)) == {}

    def test_meta_values_are_stored_and_replaced(self, ledger: Ledger) -> None:
        """`put_meta` stores the last value."""
        for value in ("one", "two"):
            with ledger.transaction() as transaction:
                transaction.put_meta("name", value)
        assert ledger.get_meta("name") == "two"
        assert ledger.get_meta("other") is None

    def test_the_head_counts_entries_of_this_transaction(self, ledger: Ledger) -> None:
        """Its own entries count, and those of a transaction that was rolled back do not."""
        append_events(ledger, remembered_event("a"))
        with ledger.transaction() as transaction:
            assert transaction.head == ledger.head()
            transaction.append("home", [remembered_event("b")], at=MONDAY)
            assert transaction.head == ledger.head() + 1

        with suppress(ZeroDivisionError), ledger.transaction() as transaction:
            transaction.append("home", [remembered_event("c")], at=MONDAY)
            raise ZeroDivisionError
        with ledger.transaction() as transaction:
            assert transaction.head == ledger.head() == 2

    def test_each_entry_is_chained_to_the_ones_before(self, ledger: Ledger) -> None:
        """`verify` returns the last digest, and no two entries have the same, even with equal events."""
        digests = [append_events(ledger, remembered_event("same"))[0].digest for _ in range(3)]
        assert len(set(digests)) == 3
        assert ledger.verify() == (3, digests[-1])

    def test_threads_may_write_and_read_at_once(self, ledger: Ledger) -> None:
        """No entry is lost or doubled, and a reader never meets a new entry below what it has read."""
        done = threading.Event()

        def writing(name: str) -> None:
            for n in range(25):
                append_events(ledger, *(remembered_event(f"{name} {n}{half}", name) for half in ("", "b")), space=name)

        def reading() -> None:
            seen = 0
            while not done.is_set():
                for entry in ledger.read("w1", after=seen):
                    assert entry.position > seen
                    seen = entry.position
                assert ledger.head() >= seen

        with ThreadPoolExecutor(6) as threads:
            readers = [threads.submit(reading) for _ in range(2)]
            writers = [threads.submit(writing, f"w{n}") for n in range(4)]
            wait(writers)
            done.set()
        for work in readers + writers:
            work.result()  # raises what failed there
        for n in range(4):
            texts = [e.event.text for e in ledger.read(f"w{n}") if isinstance(e.event, Remembered)]
            assert texts == [f"w{n} {k}{half}" for k in range(25) for half in ("", "b")]
        assert ledger.verify()[0] == 200

    def test_files_with_erased_text_can_be_written_again(self, ledger: Ledger) -> None:
        """If the ledger is a `ports.RewritableLedger`; afterwards there is nothing left to run."""
        if isinstance(ledger, RewritableLedger):
            append_events(ledger, remembered_event("a"))
            assert ledger.rewrite_command() is None or ledger.rewrite_command()
            if ledger.rewrite():
                assert ledger.rewrite_command() is None

    def test_a_closed_ledger_raises_closed(self, ledger: Ledger) -> None:
        """Every call does; closing twice is fine."""
        append_events(ledger, remembered_event("a"))
        ledger.close()
        ledger.close()
        calls: list[Callable[[], object]] = [
            lambda: ledger.transaction().__enter__(),
            lambda: ledger.read("home"),
            lambda: ledger.entries_at([]),
            lambda: ledger.position_at("home", MONDAY),
            ledger.head,
            ledger.spaces,
            lambda: ledger.count("home"),
            ledger.compact,
            lambda: ledger.vectors("home", "m", []),
            lambda: ledger.get_meta("x"),
            ledger.verify,
        ]
        for call in calls:
            with pytest.raises(Closed):
                call()

"""Reading the whole: every memory with how it stands, many at once, everything counted, room given back."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import remanence
from remanence import Closed, InvalidInput, NotFound, Space
from remanence.cli import main
from remanence.schema import Entry
from remanence.testing import FakeClock, HashingEmbedder

Reopen = Callable[..., Space]


@pytest.fixture
def lived(space: Space, clock: FakeClock) -> dict[str, str]:
    """A memory of each status, by what it is: the ids."""
    texts = {
        "tea": "Alice drinks tea.",
        "old": "The bridge is open.",
        "new": "The bridge was closed on Monday.",
        "offer": "The offer stands.",
        "wrong": "The moon is made of cheese.",
        "secret": "The password is hunter2.",
    }
    ids = {}
    for name, text in texts.items():
        ids[name] = space.add(text, expires_at="2026-05-05" if name == "offer" else None).id
        clock.advance(minutes=1)
    space.graph.link(ids["new"], "supersedes", ids["old"])
    space.forget(ids["wrong"], why="it is not")
    space.erase(ids["secret"])
    clock.advance(days=2)
    return ids


class TestReadGraph:
    def test_every_memory_has_one_status(self, space: Space, lived: dict[str, str]) -> None:
        """And `all` has all of them, in the order in which they were learned."""
        by_status = {
            status: [each.id for each in space.graph.memories(status)]
            for status in ("current", "superseded", "expired", "forgotten", "erased", "all")
        }

        assert by_status == {
            "current": [lived["tea"], lived["new"]],
            "superseded": [lived["old"]],
            "expired": [lived["offer"]],
            "forgotten": [lived["wrong"]],
            "erased": [lived["secret"]],
            "all": list(lived.values()),
        }
        assert [each.status for each in space.graph.memories("all")] == [
            *("current", "superseded", "current", "expired", "forgotten", "erased")
        ]

    def test_words_are_there_unless_they_were_erased(self, space: Space, lived: dict[str, str]) -> None:
        """What was forgotten can be read here, to decide whether to bring it back."""
        [wrong] = space.graph.memories("forgotten")
        [secret] = space.graph.memories("erased")

        assert wrong.memory.text == "The moon is made of cheese."
        assert secret.memory is None

    def test_claims_that_were_replaced_make_a_memory_superseded(self, space: Space) -> None:
        """Without a link: she cannot live in two places."""
        porto = space.add("Alice lives in Porto.", valid_from="2024-01-01")
        lisbon = space.add("Alice lives in Lisbon.", valid_from="2026-05-03")
        [old] = space.graph.memories("superseded")

        assert (old.id, old.superseded_by) == (porto.id, lisbon.id)
        assert [str(relation) for relation in old.relations] == ["Alice —lives_in→ Porto (2024-01-01 to 2026-05-03)"]

    def test_a_memory_brings_its_ties(self, space: Space) -> None:
        """Relations it claims or is evidence for; links from it and to it; how many versions it had."""
        space.add("Ann lives in Faro.", key="ann")
        ann = space.add("Ann lives in Faro, by the sea.", key="ann")
        bob = space.add("Bob swims.")
        space.graph.relate("Bob", "friend_of", "Ann", evidence=[bob])
        link = space.graph.link(ann, "supports", bob)
        first, second = space.graph.memories()

        assert first.versions == 2
        assert [relation.predicate for relation in first.relations] == ["lives_in"]
        assert [relation.predicate for relation in second.relations] == ["friend_of"]
        assert (first.links_out, first.links_in) == ((link,), ())
        assert (second.links_out, second.links_in) == ((), (link,))

    def test_what_a_forgotten_memory_was_tied_to_steps_back_with_it(self, space: Space, lived: dict[str, str]) -> None:
        """A link needs both its ends."""
        space.forget(lived["new"])
        by_id = {each.id: each for each in space.graph.memories("all")}

        assert by_id[lived["old"]].status == "current"
        assert by_id[lived["old"]].links_in == by_id[lived["new"]].links_out == ()

    def test_pages_hold_every_memory_once(self, space: Space) -> None:
        """Whatever their size; one past the end is empty, and each knows the total."""
        kept = [memory.id for memory in space.add_many([{"text": f"Line {n}."} for n in range(23)])]
        for size in (1, 5, 23, 1000):
            pages = [space.graph.memories(page=n + 1, page_size=size) for n in range(23 // size + 1)]
            assert [each.id for page in pages for each in page] == kept
            assert {page.total for page in pages} == {23}
        assert len(space.graph.memories(page=99)) == 0

    def test_the_past_had_other_statuses(self, space: Space, lived: dict[str, str], clock: FakeClock) -> None:
        """A view does not see what came later, save that erased words are gone."""
        view = space.as_of("2026-05-04T09:04:30")

        assert [each.status for each in view.graph.memories("all")] == ["current"] * 5
        assert view.graph.memories("erased").total == 0
        assert space.as_of("2026-05-04T09:05:30").graph.memories("erased").total == 1

    @pytest.mark.parametrize(
        "asked", [{"status": "gone"}, {"page": 0}, {"page": True}, {"page_size": 1001}, {"page_size": "9"}]
    )
    def test_what_cannot_be_asked(self, space: Space, asked: dict[str, object]) -> None:
        """The value is shown, and what would do."""
        [(name, value)] = asked.items()
        with pytest.raises(InvalidInput, match=f"{name}={value!r} is n"):
            space.graph.memories(**asked)  # type: ignore[arg-type]

    async def test_it_keeps_the_event_loop_free(self, space: Space, lived: dict[str, str]) -> None:
        """The twins say the same."""
        assert await space.graph.amemories("forgotten") == space.graph.memories("forgotten")
        assert await space.aget_many([lived["tea"]]) == space.get_many([lived["tea"]])
        assert await space.admin.astats() == space.admin.stats()


class TestGetMany:
    def test_in_the_order_asked_each_once(self, space: Space, lived: dict[str, str]) -> None:
        """And what is not shown is named, with the reason."""
        asked = [lived[name] for name in ("new", "wrong", "tea", "new", "secret", "offer", "old")]
        found = space.get_many([*asked, "nobody", "nobody"])

        assert [each.id for each in found] == [lived[name] for name in ("new", "tea", "offer", "old")]
        assert [each.status for each in found] == ["current", "current", "expired", "superseded"]
        assert found.missing == {lived["wrong"]: "forgotten", lived["secret"]: "erased", "nobody": "unknown"}
        assert [link.target for link in found[0].links_out] == [lived["old"]]

    def test_a_view_finds_what_it_knew(self, space: Space, lived: dict[str, str]) -> None:
        """Forgotten since, or not known yet."""
        view = space.as_of("2026-05-04T09:04:30")
        found = view.get_many([lived["wrong"], lived["secret"]])

        assert [each.id for each in found] == [lived["wrong"]]
        assert found.missing == {lived["secret"]: "unknown"}

    def test_one_id_or_several(self, space: Space, porto: remanence.Memory) -> None:
        """A memory alone is a list of one; a number is none."""
        assert (
            [each.id for each in space.get_many(porto.id)] == [each.id for each in space.get_many(porto)] == [porto.id]
        )
        assert space.get_many("01998c2f").missing == {"01998c2f": "unknown"}
        for wrong in (7, [7]):
            with pytest.raises(InvalidInput):
                space.get_many(wrong)  # type: ignore[arg-type, list-item]
        assert len(space.get_many([])) == 0


class TestForgetMany:
    def test_all_or_none(self, space: Space, lived: dict[str, str]) -> None:
        """One that is not there stops it before anything is hidden."""
        with pytest.raises(NotFound):
            space.forget_many([lived["tea"], "nobody"])
        with pytest.raises(NotFound, match="was erased"):
            space.forget_many([lived["tea"], lived["secret"]])
        assert space.get(lived["tea"]) is not None

        before = space.verify().entries
        assert space.forget_many([lived["tea"], lived["new"], lived["tea"], lived["wrong"]], why="spring") == 2
        assert space.verify().entries == before + 2
        assert [change.why for change in space.audit.changes()][-2:] == ["spring", "spring"]
        assert {each.id for each in space.graph.memories("forgotten")} == {
            *(lived[name] for name in ("tea", "new", "wrong"))
        }

    def test_each_can_be_brought_back(self, space: Space, lived: dict[str, str]) -> None:
        """It is the same forgetting as ever."""
        space.forget_many([lived["tea"], lived["new"]])
        space.unforget(lived["tea"])

        assert space.get(lived["tea"]) is not None
        assert space.forget_many([]) == 0


class TestStats:
    def test_everything_is_counted(self, space: Space, lived: dict[str, str]) -> None:
        """By status and kind; entities, relations and links; lines; when it was learned."""
        space.graph.relate("Alice", "friend_of", "Bob")
        found = space.admin.stats()

        assert found.memories == {"current": 2, "superseded": 1, "expired": 1, "forgotten": 1, "erased": 1}
        assert (found.total, found.versions, found.entries) == (6, 6, 10)
        assert sum(found.kinds.values()) == 2
        assert (found.relations, found.links) == (1, 1)
        assert found.entities == len(space.entities.list())
        assert (found.embedder, found.dimension) == ("hashing-64", 64)
        assert found.first_recorded_at is not None
        assert found.last_recorded_at is not None
        assert found.first_recorded_at.isoformat() == "2026-05-04T09:00:00+00:00"
        assert found.last_recorded_at.isoformat() == "2026-05-04T09:05:00+00:00"
        assert (found.location, found.disk) == (None, {})

    def test_an_empty_space_has_numbers_too(self, space: Space) -> None:
        """All of them nothing."""
        found = space.admin.stats()

        assert (found.total, found.entries, found.first_recorded_at) == (0, 0, None)
        assert "memories       0\n" in str(found)

    def test_it_prints_as_a_table(self, space: Space, lived: dict[str, str]) -> None:
        """Aligned, thousands parted, nothing that is not there."""
        printed = str(space.admin.stats())

        assert "memories       6 (2 current, 1 superseded, 1 expired, 1 forgotten, 1 erased)\n" in printed
        assert "learned        2026-05-04 09:00 to 2026-05-04 09:05\n" in printed
        assert "jobs" not in printed
        assert json.loads(json.dumps(space.admin.stats().to_dict()))["total"] == 6

    def test_a_view_counts_what_it_knew(self, space: Space, lived: dict[str, str]) -> None:
        """Lines and links that came later are not counted."""
        found = space.as_of("2026-05-04T09:02:30").admin.stats()

        assert (found.memories, found.entries, found.links) == ({"current": 3}, 3, 0)

    @pytest.mark.usefixtures("with_files")
    def test_a_folder_is_weighed(self, reopen: Reopen, home: Path) -> None:
        """Ledger, indexes and vectors; and it says where it is, and what lies below."""
        with remanence.open(None) as volatile:
            assert volatile.admin.location is None
        space = reopen()
        space.child("bob").add("Bob drinks water.")
        space.add("Alice drinks tea.")
        found = reopen().admin.stats()

        assert found.location == reopen().admin.location == str(home)
        assert found.disk.keys() >= {"ledger", "index", "vectors"}
        assert found.children == 1
        assert "on disk" in str(found)

    def test_a_home_folder_is_spelled_out(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The ledger lies where the indexes do, and a later change of folder does not matter."""
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        with remanence.open("~/memory", embedder=HashingEmbedder()) as space:
            assert space.admin.location == str(tmp_path / "memory")
        with remanence.open("memory", embedder=HashingEmbedder()) as space:
            assert space.admin.location == str(tmp_path / "memory")
        assert [path.name for path in tmp_path.iterdir()] == ["memory"]


class TestCompact:
    @pytest.mark.slow
    def test_it_gives_back_room_and_no_line(self, reopen: Reopen) -> None:
        """What was erased took room; answers are as before."""
        space = reopen()
        kept = space.add_many([{"text": f"Line {n}. " + f"{n} bottles of ale. " * 1_000} for n in range(12)])
        for memory in kept[:9]:
            space.erase(memory.id)
        asked, lines = space.recall("bottles"), space.verify()
        told = space.admin.compact()

        assert told.spaces == ("default",)
        assert told.bytes_before["ledger"] - told.bytes_after["ledger"] > 100_000
        assert told.bytes_freed > 0
        assert "freed: " in str(told)
        assert space.verify() == lines
        assert space.admin.check() == {}
        assert space.recall("bottles").to_dicts() == asked.to_dicts()
        assert reopen().recall("bottles").to_dicts() == asked.to_dicts()

    @pytest.mark.usefixtures("with_files")
    def test_what_belongs_to_no_space_is_dropped(self, reopen: Reopen, home: Path) -> None:
        """Snapshots and vectors that a ledger does not know; those of its spaces stay."""
        space = reopen()
        for each in (space, space.child("bob")):
            each.add("Alice drinks tea.")
        reopen().admin.compact()
        there = [*(home / "index").glob("*/*"), *(home / "vectors").iterdir()]
        (home / "index" / "01").mkdir(exist_ok=True)
        (home / "index" / "01" / "0123.idx").write_bytes(b"of another ledger")
        (home / "vectors" / "ghost-0123").mkdir()
        (home / "vectors" / "ghost-0123" / "points").write_bytes(b"boo")
        told = reopen().admin.compact()

        assert told.spaces == ("default", "default/bob")
        assert {*(home / "index").glob("*/*"), *(home / "vectors").iterdir()} == set(there)

    def test_a_large_space_is_asked_while_it_is_compacted(
        self, reopen: Reopen, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another thread gets its answer before the new index is complete."""
        monkeypatch.setattr("remanence.index.projection._MAX_REBUILT_AT_ONCE", 5)
        space = reopen()
        space.add_many([f"Box {n} has {n} pens." for n in range(40)])
        ledger, answers = space._engine.ledger, list[str]()
        read = ledger.read

        def read_slowly(name: str, *, after: int = 0) -> Iterator[Entry]:
            for place, entry in enumerate(read(name, after=after)):
                if place == 20 and not answers:
                    thread = threading.Thread(target=lambda: answers.append(space.recall("box 7")[0].memory.text))
                    thread.start()
                    thread.join(30)
                    assert answers == ["Box 7 has 7 pens."]
                yield entry

        monkeypatch.setattr(ledger, "read", read_slowly)
        space.admin.compact()

        assert answers
        assert space.admin.check() == {}

    def test_who_is_in_the_way_is_named(self, reopen: Reopen, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another program that holds the file: everything else is done."""
        monkeypatch.setattr("remanence.ledger.sqlite_backend.sqlite.BUSY_TIMEOUT", 0.05)
        space = reopen()
        space.erase(space.add("A long text. " * 2_000).id)
        other = sqlite3.connect(home / "ledger.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        told = space.admin.compact()
        other.close()

        assert len(told.skipped) == 1
        assert "another process has been writing" in told.skipped[0]
        assert space.admin.compact().skipped == ()

    def test_a_space_in_memory_has_nothing_to_give(self, space: Space, lived: dict[str, str]) -> None:
        """It is rebuilt all the same."""
        before = space.recall("bridge").to_dicts()
        told = space.admin.compact()

        assert (told.bytes_freed, told.bytes_before) == (0, {})
        assert space.recall("bridge").to_dicts() == before

    async def test_a_closed_space_says_so(self, space: Space) -> None:
        """Every verb of these."""
        await space.admin.acompact()
        space.close()
        for call in (space.graph.memories, space.admin.stats, space.admin.compact, lambda: space.get_many(["x"])):
            with pytest.raises(Closed):
                call()


class TestTyped:
    def test_stats_and_compact(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What the methods say, at a terminal or as JSON."""
        with remanence.open(home) as space:
            space.add("Alice drinks tea.", now="2026-05-04")
            space.child("bob").add("Bob drinks water.")

        def typed(*words: str) -> str:
            assert main(["--memory", str(home), *words]) == 0
            return capsys.readouterr().out

        assert "memories       1 (1 current)\n" in typed("stats")
        assert json.loads(typed("stats", "--json"))["children"] == 1
        assert json.loads(typed("--space", "default/bob", "stats", "--json"))["space"] == "default/bob"
        assert "memories       0\n" in typed("stats", "--as-of", "2026-05-03")
        assert "indexes rebuilt: default, default/bob\nfreed: " in typed("compact", str(home))
        assert "indexes rebuilt: default/bob\n" in typed("--space", "default/bob", "compact")

"""A space as a file and back: what goes out comes in, to the letter, or not at all."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import shutil
import sqlite3
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from threading import Thread
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import remanence
from examples import examples
from remanence import InvalidInput, Space
from remanence.cli import main
from remanence.errors import LedgerError, LedgerTooNew
from remanence.events import Emptied, Event, Remembered, Served
from remanence.ledger.codec import event_kind, remap_positions
from remanence.schema import Window
from remanence.testing import FakeClock, HashingEmbedder
from remanence.text.text import text_hash
from remanence.transfer.jsonlines import JsonLinesReader, JsonLinesWriter

Opener = Callable[..., Space]
LINK = {"link": "l", "source": "a", "target": "b"}
QUESTIONS = ("Where does Alice live?", "What does AO make?", "Who drinks tea?", "door code")


@pytest.fixture
def fresh(clock: FakeClock) -> Iterator[Opener]:
    """Opens spaces that are empty, and closes them when the test is over."""
    held: list[Space] = []

    def opened(location: Path | None = None, **options: Any) -> Space:
        given = {"embedder": HashingEmbedder(), "clock": clock, "worker": False, **options}
        held.append(remanence.open(location, **given))
        return held[-1]

    yield opened
    for space in held:
        space.close()


@pytest.fixture
def lived(fresh: Opener, clock: FakeClock, home: Path) -> Space:
    """A space to which all sorts of things have happened, while another one was written to as well."""
    space = fresh(home)
    beside = space.child("beside")

    def on() -> None:
        clock.advance(hours=1)
        beside.add(f"Something else happened at {clock.now()}.")

    porto = space.add("Alice lives in Porto.", valid_from="2024-01-01", tags=["home"], importance=0.9)
    space.add("The door code is 4711.", key="door", meta={"deep": [{"x": None}]})
    on()
    space.audit.record(space.recall("door code"))
    space.add("The door code is 1234.", key="door", expires_at="2026-05-05", observed_by="Bob")
    lisbon = space.add("Alice lives in Lisbon.", valid_from="2026-05-03")
    on()
    space.graph.link(lisbon, "supersedes", porto, why="she moved")
    secret = space.add("Zoë's password is hunter2 \u2028 «really» 🏔.")
    space.forget(secret.id, why="hunter2 is nobody's business")
    on()
    space.erase(secret.id)
    tea = space.add("Alice drinks tea.", now="2026-05-04T15:00:00.000001")
    space.forget(tea.id, why="she asked")
    back = space.add("Bob drinks tea.")
    space.forget(back.id)
    space.unforget(back.id)
    on()
    firm = space.entities.register("AlphaOne LLC", aliases=["AO"], kind="organization")
    space.entities.register("Alpha One", aliases=[("A1", "2020-01-01", None)])
    on()
    merged = space.entities.merge("Alpha One", "AlphaOne LLC", why="the same firm")
    space.entities.undo(merged, why="they are not")
    space.entities.rename(firm.entity, "AlphaOne Inc")
    space.graph.declare("makes", single_valued=False)
    space.graph.relate("AO", "makes", "bridges", valid_from="2025-01-01", evidence=[back])
    space.graph.invalidate("AO", "makes", "bridges", valid_until="2026-05-01", why="they stopped")
    on()
    space.remember([{"role": "user", "content": "I moved to Faro in April 2026."}])
    space.remember("I like fado.", wait=False)
    clock.advance(days=3)
    space.upkeep.expire()
    return space


def body(path: Path) -> list[str]:
    """A file without its first line, which names the ledger, and its last, which has the digest."""
    return path.read_text("utf-8").split("\n")[1:-2]


def held(space: Space) -> list[tuple[datetime, str, str, Any]]:
    """Every line of a space, without where it stands."""
    lines = space._engine.ledger.read(space.name)
    return [(e.at, e.kind, e.subject, e.event and remap_positions(e.event, lambda _: 0)) for e in lines]


def answers(space: Space) -> list[Any]:
    """What a space says to all questions, now and at other times."""
    views = [space, space.as_of("2026-05-04T10:30"), space.as_of("2026-05-04T13:30")]
    return [
        {**hit, "memory": {**hit["memory"], "space": ""}}
        for view in views
        for question in QUESTIONS
        for history in (False, True)
        for hit in view.recall(question, history=history).to_dicts()
    ]


class TestExact:
    def test_a_life_comes_back_line_for_line(self, lived: Space, fresh: Opener, tmp_path: Path) -> None:
        """Out, in and out again: the same file, from another ledger with other positions."""
        new = fresh(tmp_path / "new")
        out = lived.admin.export(tmp_path / "a.jsonl")
        came = remanence.restore(tmp_path / "a.jsonl", into=new)
        new.admin.export(tmp_path / "b.jsonl")

        assert body(tmp_path / "a.jsonl") == body(tmp_path / "b.jsonl")
        assert (came.entries, came.digest, came.spaces) == (out.entries, out.digest, ("default",))
        assert held(new) == held(lived)
        assert new.verify().entries == out.entries
        assert new.admin.check() == {}

    def test_it_answers_as_before(self, lived: Space, fresh: Opener, tmp_path: Path) -> None:
        """With the same scores and reasons, of now and of the past; vectors are made anew."""
        lived.admin.export(tmp_path / "a.jsonl")
        new = fresh(tmp_path / "new")
        remanence.restore(tmp_path / "a.jsonl", into=new)

        assert answers(new) == answers(lived)
        assert new.admin.stats().unembedded == 0

    def test_what_points_at_lines_points_at_them_still(self, lived: Space, fresh: Opener, tmp_path: Path) -> None:
        """Undone lines, receipts, jobs and erasures, though every line has another position."""
        lived.admin.export(tmp_path / "a.jsonl")
        new = fresh(tmp_path / "new").child("elsewhere")
        new.child("x").add("There is a line before the first one.")
        remanence.restore(tmp_path / "a.jsonl", into=new)

        door, old = new.find("door"), lived.find("door")
        [told], [knew] = lived.audit.exposures(old.id), new.audit.exposures(door.id)
        assert (knew.memory.text, knew.receipt.space) == ("The door code is 4711.", new.name)
        assert [h.memory.text for h in new.audit.replay(knew.receipt)] == [
            h.memory.text for h in lived.audit.replay(told.receipt)
        ]
        assert [job.status for job in new.jobs.list()] == ["queued"]
        assert new.jobs.run_due() == 1
        assert [job.status for job in new.jobs.list()] == ["done"]
        entities = [(e.id, e.names, e.kind) for e in lived.entities.list()]
        assert [(e.id, e.names, e.kind) for e in new.entities.list()][: len(entities)] == entities
        assert [h.kind for h in new.graph.timeline("AO")] == [h.kind for h in lived.graph.timeline("AO")]

    def test_every_kind_of_event_goes_out_and_comes_in(self, fresh: Opener, tmp_path: Path) -> None:
        """Also one that is yet to be invented: each is made up from its fields, none of them left out."""
        old, new = fresh(), fresh()
        old.child("beside").add("So that positions differ.")
        said = [sample(kind) for kind in get_args(Event) if kind is not Emptied]  # which erases all before it
        now = datetime(2026, 5, 4, tzinfo=timezone.utc)
        asked = remanence.Receipt("default", 1, "settings", "Where?", now).to_dict()
        said = [replace(event, asked=asked) if isinstance(event, Served) else event for event in said]
        with old._engine.ledger.transaction() as pen:
            pen.append("default", said, at=datetime(2026, 5, 4, tzinfo=timezone.utc))
        old.admin.export(tmp_path / "a.jsonl")
        remanence.restore(tmp_path / "a.jsonl", into=new)
        new.admin.export(tmp_path / "b.jsonl")

        assert body(tmp_path / "a.jsonl") == body(tmp_path / "b.jsonl")
        came = [entry.event for entry in new._engine.ledger.read("default")]
        assert [event_kind(event) for event in came if event] == [event_kind(event) for event in said]
        assert held(new) == held(old)

    def test_a_space_that_was_emptied_and_used_again_comes_back(self, fresh: Opener, tmp_path: Path) -> None:
        """Under another name, with what was added since; the file has no word of before."""
        old, new = fresh(), fresh().child("elsewhere")
        old.add("The old secret.")
        old.erase_space()
        old.add("The new secret.")
        old.admin.export(tmp_path / "a.jsonl")
        assert "old secret" not in (tmp_path / "a.jsonl").read_text()
        remanence.restore(tmp_path / "a.jsonl", into=new)
        assert [memory.text for memory in new.memories()] == ["The new secret."]
        new.verify()
        new.admin.export(tmp_path / "b.jsonl")
        assert body(tmp_path / "a.jsonl") == body(tmp_path / "b.jsonl")

    def test_no_number_in_an_event_is_a_position_unnoticed(self) -> None:
        """A new event with a whole number in it has to be looked at: `pointers` must know what it is."""
        plain = {("Remembered", "passages"), ("Used", "times")}
        plain |= {("Spent", "calls"), ("Spent", "tokens_in"), ("Spent", "tokens_out")}
        moved = {("Erased", "positions"), ("Undone", "position"), ("Ran", "planned"), ("Ran", "revised")}
        found = {
            (kind.__name__, name)
            for kind in get_args(Event)
            for name, hint in get_type_hints(kind).items()
            if re.search(r"\bint\b", getattr(hint, "__name__", "") + str(hint))
        }

        assert found == plain | moved

    def test_packed_or_not_it_says_the_same(self, lived: Space, tmp_path: Path) -> None:
        """And the same lines make the same bytes, whenever they are written."""
        plain = lived.admin.export(tmp_path / "a.jsonl")
        packed = lived.admin.export(tmp_path / "a.jsonl.gz")
        lived.admin.export(tmp_path / "b.jsonl.gz")

        assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == (tmp_path / "a.jsonl").read_bytes()
        assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
        assert plain.digest == packed.digest

    @given(st.lists(st.tuples(st.sampled_from("arfuekl"), st.integers(0, 5)), max_size=25))
    @settings(max_examples=examples(10), deadline=None, derandomize=True)
    def test_whatever_was_done_comes_back(
        self, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
    ) -> None:
        """Adding, revising, forgetting, bringing back, erasing, linking, in any order."""
        folder, clock = tmp_path_factory.mktemp("life"), FakeClock("2026-05-04T09:00")
        options: dict[str, Any] = {"embedder": HashingEmbedder(), "clock": clock}
        with remanence.open(None, **options) as old, remanence.open(None, **options) as new:
            for step in steps:
                live(old, *step)
                clock.advance(minutes=1)
            old.admin.export(folder / "a.jsonl")
            remanence.restore(folder / "a.jsonl", into=new)
            new.admin.export(folder / "b.jsonl")

            assert body(folder / "a.jsonl") == body(folder / "b.jsonl")
            assert new.recall("Alice tea", history=True).to_dicts() == (
                old.recall("Alice tea", history=True).to_dicts()
            )
            assert new.verify().entries == old.verify().entries


class TestWhat:
    def test_one_space_or_all_below_it(self, fresh: Opener, tmp_path: Path) -> None:
        """Names below are kept, wherever the whole comes to lie."""
        old = fresh()
        for space in (old, old.child("users", "a/b"), old.child("users", "100%")):
            space.add(f"This is {space.name}.")
        fresh().admin.export(tmp_path / "nothing.jsonl")
        assert old.admin.export(tmp_path / "one.jsonl").spaces == ("default",)
        assert old.child("users").admin.export(tmp_path / "users.jsonl", children=True).entries == 2

        new = fresh()
        assert remanence.restore(tmp_path / "nothing.jsonl", into=new).entries == 0
        remanence.restore(tmp_path / "one.jsonl", into=new)
        remanence.restore(tmp_path / "users.jsonl", into=new.child("x"))
        assert new.spaces() == ["default", "default/x/100%25", "default/x/a%2Fb"]
        assert [m.text for m in new.child("x", "a/b").memories()] == ["This is default/users/a%2Fb."]

    def test_erased_words_are_not_in_the_file(self, lived: Space, fresh: Opener, tmp_path: Path) -> None:
        """Nor in what is made of it; that something was there is."""
        lived.admin.export(tmp_path / "a.jsonl")
        new = fresh()
        remanence.restore(tmp_path / "a.jsonl", into=new)

        assert "hunter2" not in (tmp_path / "a.jsonl").read_text("utf-8")
        assert [each.status for each in new.graph.memories("erased")] == ["erased"]
        assert new.verify()

    def test_a_folder_is_opened_for_it(self, lived: Space, tmp_path: Path) -> None:
        """And closed again."""
        lived.admin.export(tmp_path / "a.jsonl")
        remanence.restore(tmp_path / "a.jsonl", into=tmp_path / "new", embedder=HashingEmbedder(), worker=False)

        with remanence.open(tmp_path / "new", embedder=HashingEmbedder(), worker=False) as new:
            assert held(new) == held(lived)
            with pytest.raises(InvalidInput, match="embedder: these are for opening a folder"):
                remanence.restore(tmp_path / "a.jsonl", into=new, embedder=HashingEmbedder())

    def test_it_can_be_written_to_afterwards(self, lived: Space, fresh: Opener, tmp_path: Path) -> None:
        """The same text is the same memory, and a key finds its versions."""
        lived.admin.export(tmp_path / "a.jsonl")
        new = fresh(tmp_path / "new")
        remanence.restore(tmp_path / "a.jsonl", into=new)

        assert new.add("Bob drinks tea.").id == lived.add("Bob drinks tea.").id
        assert new.add("The door code is 9.", key="door").id == lived.add("The door code is 9.", key="door").id

    async def test_it_keeps_the_event_loop_free(self, space: Space, tmp_path: Path) -> None:
        """`aexport` is `export`."""
        space.add("Alice drinks tea.")
        assert (await space.admin.aexport(tmp_path / "a.jsonl")).entries == 1


WORDS = {"memory": "m", "text": "hunter2", "identity": "i"}


class TestRefused:
    def test_a_space_that_holds_something(self, lived: Space, fresh: Opener, tmp_path: Path) -> None:
        """Its lines and those of the file could not both keep their times; a child can take it."""
        space = fresh()
        lived.admin.export(tmp_path / "a.jsonl")
        space.add("I was here first.")
        with pytest.raises(InvalidInput, match=r"'default' is not empty.*space\.child\('imported'\)"):
            remanence.restore(tmp_path / "a.jsonl", into=space)
        assert space.count() == 1

        remanence.restore(tmp_path / "a.jsonl", into=space.child("imported"))
        assert space.child("imported").count() == lived.count()

    def test_a_file_cut_short_anywhere(self, lived: Space, space: Space, tmp_path: Path) -> None:
        """After any line or within one, packed or not; and nothing of it is kept."""
        lived.admin.export(tmp_path / "a.jsonl")
        lived.admin.export(tmp_path / "a.jsonl.gz")
        lines = (tmp_path / "a.jsonl").read_bytes().splitlines(keepends=True)
        for number in range(len(lines)):
            for more in (0, 20):
                (tmp_path / "cut").write_bytes(b"".join(lines[:number]) + lines[number][:more])
                with pytest.raises(InvalidInput, match=f"cut, line {number + 1}: .*Nothing was imported"):
                    remanence.restore(tmp_path / "cut", into=space)
        packed = (tmp_path / "a.jsonl.gz").read_bytes()
        for length in (0, 1, 12, len(packed) // 2, len(packed) - 1):
            (tmp_path / "cut").write_bytes(packed[:length])
            with pytest.raises(InvalidInput, match="Nothing was imported"):
                remanence.restore(tmp_path / "cut", into=space)
        assert space.spaces() == []

    def test_a_line_that_was_changed(self, lived: Space, space: Space, tmp_path: Path) -> None:
        """One letter is enough, and its line is named."""
        lived.admin.export(tmp_path / "a.jsonl")
        lines = (tmp_path / "a.jsonl").read_text("utf-8").split("\n")
        place = next(number for number, line in enumerate(lines) if "4711" in line)
        lines[place] = lines[place].replace("4711", "4712")
        (tmp_path / "b.jsonl").write_text("\n".join(lines), "utf-8")

        with pytest.raises(InvalidInput, match=rf"line {place + 1}: it was truncated or changed"):
            remanence.restore(tmp_path / "b.jsonl", into=space)
        assert space.spaces() == []

    def test_lines_left_out_or_added(self, lived: Space, space: Space, tmp_path: Path) -> None:
        """Each line may be as it was written and the file still not whole."""
        lived.admin.export(tmp_path / "a.jsonl")
        lines = (tmp_path / "a.jsonl").read_bytes().splitlines(keepends=True)
        for wrong in ([*lines[:5], *lines[6:]], [*lines, lines[5]], [*lines[:5], lines[5], *lines[5:]]):
            (tmp_path / "b.jsonl").write_bytes(b"".join(wrong))
            with pytest.raises(InvalidInput, match="Nothing was imported"):
                remanence.restore(tmp_path / "b.jsonl", into=space)
        assert space.spaces() == []

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ({"at": 1, "kind": "forgotten", "event": {"memory": 7}}, "forgotten: memory=7"),
            ({"at": 1, "kind": "linked", "event": LINK | {"kind": "likes"}}, "linked: kind='likes'"),
            ({"at": 1, "kind": "used", "event": {"memory": "m", "times": "two"}}, "used: times='two'"),
            ({"at": 1, "kind": "forgotten", "event": {"why": "she asked"}}, "missing 1 required"),
            ({"at": "now", "kind": "restored", "event": {"memory": "m"}}, "not a ledger entry"),
            ({"at": 10**30, "kind": "restored", "event": {"memory": "m"}}, "not a ledger entry"),
            ({"at": -1, "kind": "restored", "event": {"memory": "m"}}, "dated before the line above it"),
            ({"at": 1, "kind": "erased", "event": {"memory": "m", "positions": [3]}}, "points at entry 3"),
            ({"at": 1, "kind": "restored"}, "not a ledger entry"),
            ({"at": 1, "kind": "restored", "event": "m"}, "not a ledger entry"),
            ({"at": 1, "kind": "remembered", "event": {**WORDS, "text": " "}}, "its text is blank"),
            ({"at": 1, "kind": "remembered", "event": {**WORDS, "importance": 1e308}}, "importance=1e.308"),
            (
                {"at": 1, "kind": "served", "event": {"receipt": "r", "asked": {"position": 1, "now": "noon"}}},
                "not a receipt",
            ),
            ({"space": 3, "lines": 0}, "3 is not the name of a space"),
            ({"space": "", "lines": 0}, "space 'default' comes twice"),
        ],
    )
    def test_a_line_that_no_ledger_of_ours_holds(
        self, space: Space, tmp_path: Path, line: dict[str, Any], why: str
    ) -> None:
        """Even where every checksum is right: somebody may have made them so."""
        forge(tmp_path / "b.jsonl", {"at": 0, "kind": "restored", "event": {"memory": "m"}}, line)

        with pytest.raises(InvalidInput, match=f"line 4: .*{why}"):
            remanence.restore(tmp_path / "b.jsonl", into=space)
        assert space.spaces() == []

    def test_a_blank_line_that_nobody_vouches_for(self, space: Space, tmp_path: Path) -> None:
        """`verify` would call it tampering, and rightly."""
        forge(tmp_path / "b.jsonl", {"at": 0, "kind": "remembered", "subject": "m"})

        with pytest.raises(InvalidInput, match="entry 1 of space 'default' is blank, and no entry says"):
            remanence.restore(tmp_path / "b.jsonl", into=space)

    @pytest.mark.parametrize(("blank", "erased"), [("n", "m"), ("m", "n")])
    def test_a_blank_line_of_another_memory_than_the_one_erased(
        self, space: Space, tmp_path: Path, blank: str, erased: str
    ) -> None:
        """Listing the memories would find one without text, and call it tampering."""
        line = {"at": 0, "kind": "remembered", "subject": blank}
        forge(tmp_path / "b.jsonl", line, {"at": 1, "kind": "erased", "event": {"memory": erased, "positions": [1]}})

        with pytest.raises(InvalidInput, match=f"no entry says that memory '{blank}' was erased.*Nothing was imported"):
            remanence.restore(tmp_path / "b.jsonl", into=space)
        assert space.spaces() == []

    def test_words_said_to_be_erased_are(self, space: Space, tmp_path: Path) -> None:
        """A file that says so and has them all the same does not bring them in."""
        erased = {"memory": "m", "positions": [1]}
        forge(
            tmp_path / "b.jsonl",
            {"at": 0, "kind": "remembered", "event": WORDS},
            {"at": 0, "kind": "erased", "event": erased},
        )
        remanence.restore(tmp_path / "b.jsonl", into=space)

        assert next(space._engine.ledger.read("default")).event is None
        assert space.verify().entries == 2

    def test_a_file_of_a_later_release(self, space: Space, tmp_path: Path) -> None:
        """By its version, or by an event or a field that is not known yet: the line is named, and what to
        do."""
        with JsonLinesWriter(tmp_path / "a.jsonl") as file:
            file.write('{"remanence":"export","version":2}')
            file.finish()
        with pytest.raises(LedgerTooNew, match=r"line 1: this export has version 2.*pip install -U remanence-memory"):
            remanence.restore(tmp_path / "a.jsonl", into=space)

        forge(tmp_path / "b.jsonl", {"at": 0, "kind": "dreamt", "event": {"dream": "d"}})
        with pytest.raises(LedgerTooNew, match=r"line 3: .*'dreamt'.*Nothing was imported"):
            remanence.restore(tmp_path / "b.jsonl", into=space)

        forge(tmp_path / "c.jsonl", {"at": 0, "kind": "restored", "event": {"memory": "m", "mood": "glad"}})
        with pytest.raises(LedgerTooNew, match=r"line 3: .*'mood'.*'restored'.*Nothing was imported"):
            remanence.restore(tmp_path / "c.jsonl", into=space)
        assert space.spaces() == []

    def test_what_is_no_export(self, space: Space, tmp_path: Path) -> None:
        """No folder is made for it."""
        (tmp_path / "notes.txt").write_text("Dear diary,\n")
        (tmp_path / "binary").write_bytes(bytes(range(256)))
        for name in ("notes.txt", "binary"):
            with pytest.raises(InvalidInput, match="line 1: this is not the export of a space"):
                remanence.restore(tmp_path / name, into=tmp_path / "new")
        for missing in (tmp_path / "nowhere.jsonl", tmp_path):
            with pytest.raises(InvalidInput, match="cannot be read"):
                remanence.restore(missing, into=tmp_path / "new")
        assert not (tmp_path / "new").exists()
        for odd in ("", 7, "a\0b"):
            with pytest.raises(InvalidInput, match="is not a file name"):
                space.admin.export(odd)  # type: ignore[arg-type]


class TestMeanwhile:
    @pytest.fixture(autouse=True)
    def short_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What happens between batches of a hundred lines is what happens between batches of a thousand."""
        monkeypatch.setattr("remanence.transfer.export_file.BATCH_SIZE", 100)
        monkeypatch.setattr("remanence.transfer.import_file._CHUNK_LINES", 100)

    def test_a_file_is_there_whole_or_not_at_all(self, lived: Space, tmp_path: Path) -> None:
        """Who is interrupted leaves the file of before, and nothing beside it."""
        lived.admin.export(tmp_path / "a.jsonl")
        before = (tmp_path / "a.jsonl").read_bytes()
        lived.add_many([{"text": f"Line {number}."} for number in range(100)])
        with pytest.raises(Interrupted):
            lived.admin.export(tmp_path / "a.jsonl", progress=interrupt)

        assert (tmp_path / "a.jsonl").read_bytes() == before
        assert not list(tmp_path.glob("*.part"))
        with pytest.raises(InvalidInput, match="cannot be written: it is a folder"):
            lived.admin.export(tmp_path)
        with pytest.raises(InvalidInput, match="cannot be written: No such file or directory"):
            lived.admin.export(tmp_path / "no" / "such" / "folder.jsonl")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no pipes with names")
    def test_a_link_and_a_pipe_are_refused(self, space: Space, tmp_path: Path) -> None:
        """Neither is replaced by a file, nor is what the link leads to."""
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InvalidInput, match="a device or a pipe; name a file"):
            space.admin.export(tmp_path / "pipe")
        (tmp_path / "mine.txt").write_text("mine")
        for link, target in (("to_file", "mine.txt"), ("to_nothing", "new.jsonl")):
            (tmp_path / link).symlink_to(target)
            with pytest.raises(InvalidInput, match=f"a symbolic link to {target}, which is not followed"):
                space.admin.export(tmp_path / link)
            assert (tmp_path / link).is_symlink()
        assert (tmp_path / "mine.txt").read_text() == "mine"
        assert not (tmp_path / "new.jsonl").exists()

    def test_a_link_to_an_export_is_not_imported(self, space: Space, fresh: Opener, tmp_path: Path) -> None:
        space.add("Ana sails.")
        space.admin.export(tmp_path / "a.jsonl")
        (tmp_path / "link.jsonl").symlink_to("a.jsonl")
        with pytest.raises(InvalidInput, match=r"a symbolic link to a\.jsonl, which is not followed"):
            remanence.restore(tmp_path / "link.jsonl", into=fresh())

    @pytest.mark.parametrize("after", [0, 100, 200])
    def test_an_import_that_is_interrupted_is_continued(
        self, space: Space, fresh: Opener, tmp_path: Path, after: int
    ) -> None:
        """By importing the same file again, and no other."""
        space.add_many([{"text": f"Line {number}."} for number in range(250)])
        space.erase(next(space.memories()))
        space.admin.export(tmp_path / "a.jsonl")
        new = fresh(tmp_path / "new")

        def stop(done: int, total: int) -> None:
            if done >= after:
                raise Interrupted

        with pytest.raises(Interrupted):
            remanence.restore(tmp_path / "a.jsonl", into=new, progress=stop)
        assert new._engine.ledger.count("default") == after
        if after:
            space.add("Another line.")
            space.admin.export(tmp_path / "b.jsonl")
            with pytest.raises(InvalidInput, match="is not empty"):
                remanence.restore(tmp_path / "b.jsonl", into=new)

        assert remanence.restore(tmp_path / "a.jsonl", into=new).entries == 251
        new.admin.export(tmp_path / "c.jsonl")
        assert body(tmp_path / "a.jsonl") == body(tmp_path / "c.jsonl")
        assert new.verify().entries == 251
        with pytest.raises(InvalidInput, match="is not empty"):
            remanence.restore(tmp_path / "a.jsonl", into=new)

    def test_others_write_while_a_file_is_imported(self, space: Space, fresh: Opener, tmp_path: Path) -> None:
        """The write lock is held for a batch of lines at most, and what points at lines points at them still."""
        space.add_many([{"text": f"Line {number}."} for number in range(350)])
        space.erase(space.add("A secret."))
        space.admin.export(tmp_path / "a.jsonl")
        new = fresh(tmp_path / "new")
        steps: list[tuple[int, int]] = []

        def write(done: int, total: int) -> None:
            thread = Thread(target=lambda: new.child("beside").add(f"After {done}."))
            thread.start()
            thread.join(20)
            steps.append((done, total))

        remanence.restore(tmp_path / "a.jsonl", into=new.child("imported"), progress=write)
        new.child("imported").admin.export(tmp_path / "b.jsonl")

        assert {(done, total) for done, total in steps if total == 352} >= {(100, 352), (300, 352)}
        assert new.child("beside").count() == len({done for done, _ in steps})
        assert body(tmp_path / "a.jsonl") == body(tmp_path / "b.jsonl")
        assert new.verify().entries == 0

    def test_who_writes_to_the_space_that_is_imported_stops_it(
        self, space: Space, fresh: Opener, tmp_path: Path
    ) -> None:
        """The times of both could not be kept."""
        space.add_many([{"text": f"Line {number}."} for number in range(250)])
        space.admin.export(tmp_path / "a.jsonl")
        new = fresh(tmp_path / "new")
        with pytest.raises(LedgerError, match=r"stopped after 100 entries. Import the file into an empty space"):
            remanence.restore(
                tmp_path / "a.jsonl", into=new, progress=lambda done, _: done and new.add("Mine.") and None
            )
        new.verify()

    def test_what_is_added_meanwhile_is_left_for_the_next_time(self, space: Space, tmp_path: Path) -> None:
        """A file holds the ledger as it was when it was begun."""
        space.add_many([{"text": f"Line {number}."} for number in range(120)])
        told = space.admin.export(tmp_path / "a.jsonl", progress=lambda *_: space.add("Late.") and None)

        assert told.entries == 120
        assert "Late." not in (tmp_path / "a.jsonl").read_text()

    def test_what_is_erased_meanwhile_is_not_in_the_file(self, space: Space, fresh: Opener, tmp_path: Path) -> None:
        """Its words may have been written before: then all of it is written anew."""
        kept = space.add_many([{"text": f"Secret {number}."} for number in range(120)])
        space.admin.export(tmp_path / "a.jsonl", progress=lambda *_: space.erase(kept[3].id))
        new = fresh()
        remanence.restore(tmp_path / "a.jsonl", into=new)

        assert "Secret 3." not in (tmp_path / "a.jsonl").read_text()
        assert new.verify().entries == 121

    def test_under_steady_erasing_an_export_ends(self, space: Space, fresh: Opener, tmp_path: Path) -> None:
        """Whoever erases waits for it at last, and what was erased before is not in the file."""
        left = iter(space.add_many([{"text": f"Secret {number}."} for number in range(120)]))
        erased = list[Future[Any]]()

        def erase_one(*_: object) -> None:
            erased.append(eraser.submit(space.erase, next(left).id))
            wait(erased[-1:], timeout=1)

        with ThreadPoolExecutor(1) as eraser:
            space.admin.export(tmp_path / "a.jsonl", progress=erase_one)
            done = [each.done() for each in erased]
        assert all(each.exception() is None for each in erased)
        written = (tmp_path / "a.jsonl").read_text()
        assert ["Secret 0." in written, "Secret 1." in written, "Secret 119." in written] == [False, False, True]
        new = fresh()
        remanence.restore(tmp_path / "a.jsonl", into=new)
        assert (done, new.count(), space.count()) == ([True, True, False], 118, 117)

    def test_a_long_ledger_takes_no_more_room_than_a_short_one(self, fresh: Opener, tmp_path: Path) -> None:
        """Lines are read and written a few at a time."""
        space = fresh(tmp_path / "memory")
        at = datetime(2026, 5, 4, tzinfo=timezone.utc)
        with space._engine.ledger.transaction() as pen:
            for number in range(10):
                said = [Remembered(f"m{number}-{n}", "word " * 100, f"{number}-{n}") for n in range(1_000)]
                pen.append("default", said, at=at)
        del said
        tracemalloc.start()
        space.admin.export(tmp_path / "a.jsonl")
        with JsonLinesReader(tmp_path / "a.jsonl") as file:
            assert sum(1 for _ in file) == 10_002
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert (tmp_path / "a.jsonl").stat().st_size > 6_000_000
        assert peak < 5_000_000


class TestTyped:
    def test_out_and_in_by_command(self, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """`remanence export` and `remanence import`."""
        with remanence.open(home) as space:
            space.add("Alice lives in Porto.")
            space.child("bob").add("Bob lives in Faro.")
        file, new = tmp_path / "a.jsonl.gz", tmp_path / "new"

        def typed(*words: str) -> tuple[int, str]:
            code = main([*words])
            out, err = capsys.readouterr()
            return code, (out + err).strip()

        for words in (
            ("--memory", str(home), "export", str(file), "--children"),
            ("--memory", str(new), "--space", "work/x", "import", str(file)),
        ):
            assert typed(*words) == (0, f"{file}: 2 entries of 2 spaces")
        assert typed("spaces", str(new)) == (0, "default/work/x\ndefault/work/x/bob")
        code, said = typed("--memory", str(tmp_path / "other"), "import", str(tmp_path / "nothing"))
        assert (code, "cannot be read" in said, (tmp_path / "other").exists()) == (1, True, False)


# Helpers


class Counting(HashingEmbedder):
    """Counts the texts it was given."""

    texts = 0

    def embed(self, texts: Sequence[str]) -> Any:
        """As always."""
        self.texts += len(texts)
        return super().embed(texts)


class Interrupted(Exception):
    """Somebody pressed Ctrl-C."""


def interrupt(done: int, total: int) -> None:
    """A progress bar that is interrupted at once."""
    raise Interrupted


def forge(path: Path, *lines: dict[str, Any]) -> None:
    """An export of one space with these lines, all checksums right."""
    with JsonLinesWriter(path) as file:
        head = {"remanence": "export", "version": 1, "space": "default", "spaces": 1, "lines": len(lines)}
        for line in (head, {"space": "", "lines": len(lines)}, *lines):
            file.write(json.dumps(line))
        file.finish()


def live(space: Space, step: str, number: int) -> None:
    """One thing that happens in a space."""
    kept = [change.memory_id for change in space.audit.changes() if change.kind == "remembered"]
    if step == "a" or not kept:
        space.add(f"Alice drinks {['tea', 'water', 'milk', 'ale', 'rum', 'mead'][number]}.")
    elif step == "r":
        space.add(f"The code is {number}.", key="code")
    elif step == "k":
        space.entities.register(f"Alice{number}", aliases=[f"A{number}"])
    else:
        one, other = kept[number % len(kept)], kept[-1]
        try:
            if step == "l":
                space.graph.link(one, "related_to", other)
            else:
                {"f": space.forget, "u": space.unforget, "e": space.erase}[step](one)
        except (remanence.NotFound, InvalidInput):
            return  # it was erased before, or is tied to itself: nothing happens


_numbers = count()


def sample(hint: Any) -> Any:
    """A value of a type, nothing left at its default."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Served:
        return Served(sample(str), {"space": "default", "position": 1, "question": "?"}, (sample(str),))
    if origin in (Union, UnionType):
        return sample(args[0])
    if origin is Literal:
        return args[-1]
    if origin is tuple:
        return (sample(args[0]),) if args[-1] is ... else tuple(map(sample, args))
    if hint is Window:
        return Window(sample(datetime), datetime(2026, 1, 1, 1, 1, 1, 1, tzinfo=timezone.utc))
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(**{each.name: sample(hints[each.name]) for each in fields(hint)})  # type: ignore[operator]
    if origin is not None:  # a mapping
        return {"deep": [1, {"x": None}]}
    made = {str: f"«{next(_numbers)}»", int: 1, float: 0.25, bool: True}
    return made.get(hint, datetime(2025, 1, 1, 1, 1, 1, 1, tzinfo=timezone.utc))


class TestVectors:
    """Vectors are made of the texts, whatever a file or another space has."""

    TEXT = "The door code is 4711."

    def test_those_in_a_file_of_an_earlier_build_are_not_read(self, fresh: Opener, tmp_path: Path) -> None:
        """Whoever wrote the file might have changed them, and with them what is found."""
        old, new = fresh(), fresh()
        old.add_many([self.TEXT, "Alice drinks tea."])
        old.admin.export(tmp_path / "a.jsonl")
        lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
        tea = base64.b64encode(HashingEmbedder().embed(["Alice drinks tea."])[0].astype("<f4").tobytes()).decode()
        lines[-1:] = [{"vectors": {text_hash(self.TEXT).hex(): tea}}]
        with JsonLinesWriter(tmp_path / "a.jsonl") as file:
            for line in lines:
                line.pop("crc", None)
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
            file.finish()
        assert remanence.restore(tmp_path / "a.jsonl", into=new).entries == 2

        assert new.recall("Alice drinks tea.", signals=["vectors"])[0].memory.text == "Alice drinks tea."
        assert answers(new) == answers(old)

    def test_what_another_space_holds_is_embedded_all_the_same(self, fresh: Opener, home: Path) -> None:
        """The time it takes must not tell whether a sibling has a text."""
        counting = Counting()
        space = fresh(home, embedder=counting)
        space.child("a").add(self.TEXT)
        counting.texts = 0
        space.child("b").add(self.TEXT)

        assert counting.texts > 0

    def test_what_an_earlier_release_stored_for_all_spaces_is_still_used(self, fresh: Opener, home: Path) -> None:
        """Where it is a vector; a space that has no such text does not see it."""
        good, bad, counting = self.TEXT, "Alice drinks tea.", Counting()
        space = fresh(home, embedder=counting)
        space.add_many([good, bad], progress=False)
        space.close()
        with sqlite3.connect(home / "ledger.db") as database:  # as the first schema had it
            columns = "model, hash, vector"
            database.execute(f"INSERT INTO embedding ({columns}) SELECT {columns} FROM space_embedding")
            database.execute("DELETE FROM space_embedding")
            database.execute("UPDATE embedding SET vector = ? WHERE hash = ?", (b"\0" * 12, text_hash(bad)))
        database.close()
        shutil.rmtree(home / "index", ignore_errors=True)
        shutil.rmtree(home / "vectors", ignore_errors=True)
        counting.texts = 0
        space = fresh(home, embedder=counting)
        deadline = time.monotonic() + 60  # what has no vector is embedded in the background
        while space.admin.stats().unembedded and time.monotonic() < deadline:
            time.sleep(0.01)
        assert counting.texts == 2  # the bad one, and the name in its text
        assert space.admin.stats().unembedded == 0
        assert space.admin.check() == {}
        space.child("b").add(good)
        assert counting.texts > 2


class TestBombs:
    """Files that expand to more than memory."""

    def test_a_packed_one_of_complete_lines_is_refused(self, space: Space, fresh: Opener, tmp_path: Path) -> None:
        """Each of them could have been exported, and no export has so many that are alike."""
        old = fresh()
        old.add("a" * 1_900_000)
        old.admin.export(tmp_path / "one.jsonl")
        header, start, line, *_ = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
        path = tmp_path / "bomb.jsonl.gz"
        with JsonLinesWriter(path) as file:
            file.write(_without_crc(header | {"lines": 20}))
            file.write(_without_crc(start | {"lines": 20}))
            for number in range(20):
                line["event"] |= {"memory": f"{number:024x}", "identity": f"{number:024x}"}
                file.write(_without_crc(line))
            file.finish()
        with pytest.raises(InvalidInput, match=r"40 times what is packed.*Nothing was imported"):
            remanence.restore(path, into=space)
        assert space.spaces() == []

    @pytest.mark.parametrize("name", ["one line", "many lines"])
    def test_a_packed_one_is_refused_in_bounded_memory(self, space: Space, tmp_path: Path, name: str) -> None:
        """Far more than a file has bytes: as one line, or as lines that are each in order."""
        header = {"remanence": "export", "version": 1, "lines": 10**7, "spaces": 1}
        path = tmp_path / "bomb.jsonl.gz"
        with JsonLinesWriter(path) as file:
            file.write(json.dumps(header))
            file.write('{"space":"","lines":10000000}')
            if name == "many lines":
                for _ in range(80):
                    file.write(json.dumps({"at": 0, "kind": "forgotten", "event": {"memory": "m" * 500_000}}))
            file.finish()
        if name == "one line":
            with gzip.open(path, "wb", compresslevel=9) as packed:
                packed.write(json.dumps(header)[:-1].encode() + b',"crc":0}\n')
                for _ in range(80):
                    packed.write(b"0" * 1_000_000)
        assert path.stat().st_size < 500_000
        tracemalloc.start()
        with pytest.raises(InvalidInput, match="Nothing was imported"):
            remanence.restore(path, into=space)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 20_000_000
        assert space.spaces() == []


def _without_crc(fields: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in fields.items() if name != "crc"}, separators=(",", ":"))

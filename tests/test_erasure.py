"""Erasing: how long it takes, what goes with it, what is left for a while, and what a crash leaves."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import remanence
from file_contents import contents
from model_replies import USER_FACTS, FactsByQuotation
from remanence import Encryption, InvalidInput, Memory, NotFound, Policy, Space
from remanence.errors import LedgerTampered
from remanence.index.index import Index
from remanence.ports import ExtractionResult, Utterance
from remanence.testing import HashingEmbedder
from remanence.upkeep.steps import consolidation, decay
from remote import connected
from warm_process import WarmProcess

MANY = 1_500
"""More than a space that is rebuilt at once has."""
SECRET = "Zanzibar keeps the emerald ledger of Quetzalcoatl"


def open_folder(folder: Path, **options: Any) -> Space:
    return remanence.open(folder, embedder=HashingEmbedder(16), **options)


@pytest.fixture
def space(home: Path) -> Iterator[Space]:
    with open_folder(home) as space:
        yield space


@pytest.fixture
def facts_space(home: Path) -> Iterator[Space]:
    """A space with a language model that finds facts."""
    with open_folder(home, extractor=USER_FACTS) as space:
        yield space


def fill(space: Space, count: int = MANY) -> list[Memory]:
    rows = [{"text": f"Note {n} is about harbour {n % 7}.", "entities": [], "triples": []} for n in range(count)]
    return space.add_many(rows)


def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return held


def files_with(folder: Path, *words: str) -> list[str]:
    """The files with one of these words, or its lower case: the index has words in lower case."""
    wanted = [form.encode() for word in words for form in (word, word.lower())]
    return [str(path) for path, held in contents(folder) if any(form in held for form in wanted)]


class TestEffort:
    def test_it_reads_what_it_erases_and_no_more(self, space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a large space, and of a small one beside it, however many entries the ledger has."""
        memories = fill(space)
        small = space.child("small")
        noted = small.add("A small note.")
        ledger, read = space._engine.ledger, list[int]()
        entries_at, read_space, here = ledger.entries_at, ledger.read, threading.get_ident()

        def note(positions: Iterable[int]) -> None:
            read.extend(positions if threading.get_ident() == here else ())  # an index may be built in the background

        monkeypatch.setattr(ledger, "entries_at", lambda given: note(given) or entries_at(given))
        reads = lambda *a, **b: (note([entry.position]) or entry for entry in read_space(*a, **b))  # noqa: E731
        monkeypatch.setattr(ledger, "read", reads)
        monkeypatch.setattr(space._engine.erasure_cleaner, "notify", lambda: None)
        space.erase(memories[5])
        assert len(read) <= 3
        space.erase_many(memories[10:20])
        assert len(read) <= 30
        small.erase(noted)
        assert len(read) <= 40

    def test_many_are_one_transaction(self, space: Space) -> None:
        """With one entry for each, and all of them or none."""
        memories = fill(space, 120)
        head = space._engine.ledger.head()
        with pytest.raises(NotFound):
            space.erase_many([memories[0], "unknown"])
        assert space._engine.ledger.head() == head
        certificate = space.erase_many(memories[:101])
        assert len(certificate) == 101
        assert certificate.erased_entries == {"remembered": 101}
        assert certificate.vectors == 101
        assert space.count() == 19
        assert space._engine.ledger.head() == certificate.position == head + 101
        assert space.admin.check() == {}
        assert space.erase_many(memories[:2]).position == 0

    def test_writers_of_other_spaces_do_not_wait_for_the_index(
        self, space: Space, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While the index of the space is changed, another thread writes to its own."""
        memory, other = fill(space, 50)[0], space.child("other")
        other.add("Before.")
        original, added = Index._remove_erased, list[Memory]()

        def slow(index: Index, memories: Any) -> None:
            writer = threading.Thread(target=lambda: added.append(other.add("Meanwhile.")))
            writer.start()
            writer.join(10)
            original(index, memories)

        monkeypatch.setattr(Index, "_remove_erased", slow)
        space.erase(memory)
        assert {each.text for each in added} == {"Meanwhile."}

    def test_a_vector_of_another_space_stays(self, space: Space) -> None:
        """Each space has its own, which a rebuild finds."""
        one, two = space.child("one"), space.child("two")
        first, second = one.add("The same text."), two.add("The same text.")
        assert one.erase(first).vectors == 1
        two.rebuild()
        assert two.recall("same text", signals=("vectors",))
        assert two.erase(second).vectors == 1

    def test_a_vector_that_another_memory_needs_stays(self, space: Space) -> None:
        """In a large space, where it is looked up among all of them."""
        memories = fill(space)
        twin = space.add(memories[3].text, key="another memory")
        assert space.erase(memories[3]).vectors == 0
        assert space.erase(twin).vectors == 1
        assert space.admin.check() == {}

    @pytest.mark.parametrize("schema", [1, 2])
    def test_a_ledger_of_an_older_release_keeps_what_others_need(
        self, home: Path, schema: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its vectors were those of all spaces together: each space gets its own before the first erasure."""
        with open_folder(home) as space:
            first = space.add("The same text.")
            second = space.child("two").add("The same text.")
        database = sqlite3.connect(home / "ledger.db")
        database.execute("INSERT OR IGNORE INTO embedding SELECT model, hash, vector FROM space_embedding")
        if schema == 2:
            database.execute("CREATE TABLE embedding_space AS SELECT hash, space FROM space_embedding")
        database.executescript(f"DROP TABLE space_embedding; PRAGMA user_version={schema};")
        database.close()
        with open_folder(home) as space:
            two = space.child("two")
            with monkeypatch.context() as patch:
                patch.setattr(HashingEmbedder, "embed", lambda *_: pytest.fail("a vector is made again"))
                assert space.erase(first).vectors == 1
                two.rebuild()
            assert two.recall("same text", signals=("vectors",))
            assert two.erase(second).vectors == 1
        database = sqlite3.connect(home / "ledger.db")
        assert database.execute("SELECT count(*) FROM embedding").fetchone() == (0,)
        database.close()


class TestWhatGoes:
    def test_the_certificate_says_what_went(self, facts_space: Space) -> None:
        """The source, its facts, their links, and the recorded question."""
        facts_space.remember("I live in Porto. I work at Bosch.")
        facts_space.audit.record(facts_space.recall("Where do I live?"))
        source = next(memory for memory in facts_space.memories() if memory.text.startswith("I live in Porto. I"))
        certificate = facts_space.erase(source)
        assert certificate.memories == (source.id,)
        assert len(certificate.derived_memories) == 2
        assert set(certificate) == {source.id, *certificate.derived_memories}
        assert certificate.erased_entries["served"] == 1
        assert "erased 1 of the memories" in str(certificate)
        entry = facts_space._engine.ledger.entries_at([certificate.position])[certificate.position]
        assert (entry.kind, entry.digest.hex()) == ("erased", certificate.digest)
        facts_space.verify()

    @pytest.mark.parametrize("count", [3, MANY])
    def test_no_file_has_a_word_of_it(self, home: Path, count: int) -> None:
        """At once, in a small space and in a large one; and the index agrees with the ledger."""
        with open_folder(home) as space:
            fill(space, count)
            memory = space.add(f"{SECRET}.", key="Zanzibar", tags=["emerald"], meta={"who": "Quetzalcoatl"})
            space.rebuild()  # so that the index file has it
            assert files_with(home, "Zanzibar")
            certificate = space.erase(memory)
            assert not any("write-ahead" in each.location for each in certificate.pending)
            assert files_with(home, "Zanzibar", "Quetzalcoatl", "emerald") == []
            assert not [hit for hit in space.recall("Zanzibar emerald ledger") if hit.memory.id == memory.id]
            assert eventually(lambda: space.audit.pending_erasures() == [])
            assert space.admin.check() == {}
            assert not [entity for entity in space.entities.list().entities if "Zanzibar" in entity.names]
        assert files_with(home, "Zanzibar", "Quetzalcoatl", "emerald") == []
        with open_folder(home) as space:
            assert space.count() == count
            assert space.admin.check() == {}

    def test_a_space_and_all_below_it(self, facts_space: Space) -> None:
        """Nothing is left, it is not listed, and it can be used again."""
        bob, ana = facts_space.child("users", "bob"), facts_space.child("users", "ana")
        ana.add("Ana likes Zanzibar.")
        bob.remember(f"I am Bob. I live in Porto. {SECRET}.")
        bob.forget(bob.add("Forgotten Zanzibar."), why="Zanzibar")
        bob.entities.register("Zanzibar Inc", aliases=["ZI"])
        bob.graph.relate("Bob", "works_at", "Zanzibar Inc")
        bob.audit.record(bob.recall("Zanzibar"))
        bob.child("window").add("A window on Zanzibar.")
        certificate = bob.erase_space()
        assert certificate.spaces == ("default/users/bob/window", "default/users/bob")
        assert len(certificate) == 4
        assert facts_space.spaces() == ["default/users/ana"]
        assert [entry for entry in facts_space._engine.ledger.read(bob.name) if "Zanzibar" in repr(entry)] == []
        assert bob.count() == 0
        assert bob.admin.check() == {}
        assert bob.entities.list().total == 0
        assert [hit.memory.text for hit in ana.recall("Zanzibar")] == ["Ana likes Zanzibar."]
        facts_space.verify()
        assert len(bob.erase_space()) == 0
        bob.add("Bob is back.")
        assert facts_space.spaces() == ["default/users/ana", "default/users/bob"]
        assert [memory.text for memory in bob.memories()] == ["Bob is back."]

    def test_no_file_has_a_word_of_a_space(self, home: Path) -> None:
        """Not after it was closed either."""
        with open_folder(home) as space:
            bob = space.child("bob")
            fill(bob)
            bob.add(f"{SECRET}.")
            bob.rebuild()
            bob.erase_space()
            assert files_with(home, "Zanzibar", "harbour") == []
        assert files_with(home, "Zanzibar", "harbour") == []
        with open_folder(home) as space:
            assert space.spaces() == []
            assert space.child("bob").count() == 0
            space.verify()

    def test_what_is_read_meanwhile_does_not_come_back(self, home: Path) -> None:
        """A source is erased while its facts are extracted."""

        class Erasing(FactsByQuotation):
            def facts(self, utterances: Sequence[Utterance], **options: Any) -> ExtractionResult:
                [source] = space.memories()
                space.erase(source)
                return super().facts(utterances, **options)

        with open_folder(home, extractor=Erasing({"I live in Porto": "The user lives in Porto."})) as space:
            assert space.remember("I live in Porto.") == []
            assert list(space.memories()) == []

    @pytest.mark.parametrize("count", [20, MANY])
    @pytest.mark.parametrize("by", ["this space", "another opening", "everything"])
    def test_what_is_erased_while_upkeep_reads_is_no_tampering(
        self, space: Space, home: Path, count: int, by: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The rows were chosen before, and have no text any more: they are left out."""
        memories, erased = fill(space, count), list[str]()
        monkeypatch.setattr(decay, "_CHUNK", count // 10)

        def erase(done: int, total: int) -> None:
            if not erased:
                erased.append(memories[-1].id)
                with open_folder(home) if by == "another opening" else nullcontext(space) as eraser:
                    eraser.erase_space() if by == "everything" else eraser.erase(erased[0])

        plan = space.upkeep.run(steps=("decay", "clusters"), progress=erase, dry_run=True)

        assert erased
        assert erased[0] not in str(plan)
        space.verify()

    def test_a_list_leaves_out_what_another_process_erases_meanwhile(
        self, space: Space, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between finding the rows and reading them."""
        memories, read = fill(space, 20), Index.memories
        space.close()

        def erase_and_read(index: Index, rows: Sequence[int]) -> list[Memory]:
            monkeypatch.setattr(Index, "memories", read)
            with open_folder(home) as eraser:
                eraser.erase(memories[7].id)
            return read(index, rows)

        with open_folder(home) as reopened:
            monkeypatch.setattr(Index, "memories", erase_and_read)
            listed = [memory.id for memory in reopened.memories()]

        assert sorted(listed) == sorted(memory.id for memory in memories if memory is not memories[7])

    def test_a_cluster_of_which_one_is_erased_meanwhile_is_left_out(
        self, space: Space, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Upkeep goes on with the others. Only who gives the clusters is told to look again."""
        space.add_many(f"{who} lives in a red house{end}" for who in ("Ana", "Bob") for end in (".", "!"))
        upkeep = space.upkeep.with_settings(cluster_similarity=0.9, merge_cohesion=0.9)
        given = upkeep.clusters().items
        find = consolidation.find_new_clusters

        def find_and_erase(*args: Any) -> Any:
            found = find(*args)
            space.erase(found.items[0].memory_ids[0])
            return found

        monkeypatch.setattr(consolidation, "find_new_clusters", find_and_erase)
        plan = upkeep.run(steps=("consolidate",), dry_run=True)

        assert len(given) == 2
        assert [len(step) for step in plan.plans] == [1]
        with pytest.raises(InvalidInput, match="Look for clusters again"):
            upkeep.consolidate(clusters=given)

    @pytest.mark.usefixtures("frequent_switches")
    def test_upkeep_beside_threads_that_erase_raises_nothing(self, space: Space) -> None:
        """Clusters are compared while other threads build the index again."""
        stop, errors = threading.Event(), list[BaseException]()
        space.add_many(f"Ana bought item {number}." for number in range(40))

        def erase() -> None:
            while not stop.is_set():
                space.erase(space.add("Ana bought something secret.").id)

        def keep_up() -> None:
            try:
                for _ in range(8):
                    space.upkeep.run(dry_run=True)
                    space.upkeep.clusters()
            except BaseException as error:  # noqa: BLE001  -- it is asserted below
                errors.append(error)
            finally:
                stop.set()

        threads = [threading.Thread(target=run) for run in (erase, erase, keep_up)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []

    def test_what_another_process_erases_during_an_erasure_goes_too(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The index is read again after the first erasure, and meets the other memory without its text."""
        with open_folder(home) as mine, open_folder(home) as theirs:
            first, second = mine.add_many([f"{SECRET}.", "The bakery is open."])
            kept = mine.add("The museum is full.")
            mine.recall("bakery", limit=3)
            with mine._engine.open_index(mine.name) as index:
                read = mine._engine.ledger.read
                pending = [second]

                def late(space: str, *, after: int = 0) -> Any:
                    if after == 0 and pending:
                        theirs.erase(pending.pop())
                    return read(space, after=after)

                monkeypatch.setattr(mine._engine.ledger, "read", late)
                mine.erase(first)
                assert not pending
                assert mine.admin.check() == {}
                assert len(index.vectors) == 1
                assert "bakery" not in str([index.cache._memories, index.cache._recalled])
            assert [hit.memory for hit in mine.recall("bakery", signals=["vectors"])] == [kept]

    def test_the_note_in_a_vault_goes_too(self, home: Path, tmp_path: Path) -> None:
        """One that a person has edited stays, and the certificate says so."""
        vault = tmp_path / "vault"
        with open_folder(home) as space:
            kept, gone = (space.add(text, importance=0.95) for text in ("Edited Zanzibar.", "Removed Zanzibar."))
            for memory in (kept, gone):
                for _ in range(6):
                    space.touch(memory)
            space.upkeep.promote(vault=vault)
            notes = {path.read_text(): path for path in (vault / "memories").rglob("*.md")}
            edited = next(path for text, path in notes.items() if "Edited" in text)
            edited.write_text(edited.read_text() + "\nMine.\n")
            certificate = space.erase_many([kept, gone])
            left = "".join(path.read_text() for path in vault.rglob("*.md"))
            assert "Removed" not in left
            assert "Mine." in left
            assert any(str(edited) in each for each in certificate.not_erased)
            assert certificate.notes


class TestEdges:
    @pytest.mark.parametrize("count", [3, MANY])
    @pytest.mark.parametrize("over", ["here", "a connection"])
    def test_a_stated_relation_goes_from_the_past_and_from_every_file(self, home: Path, count: int, over: str) -> None:
        """With what ended it, whoever stated it too; the chain stays valid, and other relations stay."""
        with open_folder(home) as space, connected(space) if over != "here" else nullcontext(space) as asked:
            fill(space, count)
            relation = asked.graph.relate("Zanzibar", "keeps", "Quetzalcoatl", observed_by="Ana")
            asked.graph.relate("Zanzibar", "keeps", "Quetzalcoatl", observed_by="Bob")
            asked.graph.relate("Porto", "lies_in", "Portugal")
            asked.graph.invalidate_edge(relation, why="Quetzalcoatl left")
            before = space._now()
            certificate = asked.graph.erase(relation)

            assert certificate.erased_entries == {"related": 2, "invalidated": 2}
            assert certificate.memories == ()
            for view in (space, space.as_of(before)):
                with pytest.raises(NotFound):
                    view.graph.when("Zanzibar", "keeps")
                assert len(view.graph.when("Porto", "lies_in")) == 1
            with pytest.raises(NotFound):
                asked.graph.erase(relation)
            assert eventually(lambda: not space.audit.pending_erasures())
            assert not files_with(home, "Zanzibar", "Quetzalcoatl")
            assert (space.admin.check(), space.count()) == ({}, count)
            space.verify()
        with open_folder(home) as space:
            assert "Zanzibar" not in [entity.name for entity in space.entities.list()]
            assert "erased" not in {change.kind for change in space.audit.changes()}

    @pytest.mark.parametrize("count", [3, MANY])
    def test_a_link_goes_and_its_memories_stay(self, space: Space, home: Path, count: int) -> None:
        """Also one that superseded a memory, which is current then."""
        old, new, *_ = fill(space, count)
        link = space.graph.link(new, "supersedes", old, why="Zanzibar said so")
        space.graph.erase(link)

        assert {old.id, new.id} <= {memory.id for memory in space.memories("current")}
        assert [details.links_out for details in space.get_many(new)] == [()]
        assert eventually(lambda: not space.audit.pending_erasures())
        assert not files_with(home, "Zanzibar")
        assert space.admin.check() == {}
        space.verify()

    def test_what_a_memory_says_goes_with_the_memory(self, space: Space) -> None:
        """A relation that it claims stays, and the error names it."""
        memory = space.add("Alice lives in Porto.", triples=[("Alice", "lives_in", "Porto")])
        stated = space.graph.relate("Alice", "lives_in", "Porto", observed_by="Ana")
        space.graph.erase(stated)
        [claimed] = space.graph.when("Alice", "lives_in")
        with pytest.raises(InvalidInput, match=f"memory '{memory.id}' says. Erase that memory"):
            space.graph.erase(claimed)
        with pytest.raises(NotFound, match="no relation or link 'nothing'"):
            space.graph.erase("nothing")
        with pytest.raises(InvalidInput, match="neither a relation"):
            space.graph.erase(memory)  # type: ignore[arg-type]
        assert len(space.graph.when("Alice", "lives_in")) == 1

    def test_an_export_has_no_word_of_it(self, space: Space, tmp_path: Path) -> None:
        """And can be imported."""
        space.graph.erase(space.graph.relate("Zanzibar", "keeps", "Quetzalcoatl"))
        space.graph.relate("Porto", "lies_in", "Portugal")
        space.admin.export(tmp_path / "a.jsonl")
        assert "Zanzibar" not in (tmp_path / "a.jsonl").read_text()
        other = space.child("other")
        remanence.restore(tmp_path / "a.jsonl", into=other)
        assert len(other.graph.when("Porto", "lies_in")) == 1
        space.verify()


class TestVectorsInTheEngine:
    """Of a space with so many vectors that they are in files."""

    @pytest.fixture
    def large(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Space, list[Memory]]:
        monkeypatch.setattr("remanence.index.vectors.stores.folder.ENGINE_FROM", 16 * 100)
        space = open_folder(home)
        memories = fill(space, 400)
        space.rebuild()
        return space, memories

    @staticmethod
    def stored(home: Path, memory: Memory) -> list[str]:
        """The vector files that have the vector of a memory."""
        vector = HashingEmbedder(16).embed([memory.text])[0].astype(np.float16).tobytes()
        return [path.name for path, held in contents(home / "vectors") if vector in held]

    def test_they_go_from_the_files(self, home: Path, large: tuple[Space, list[Memory]]) -> None:
        """And the files are still used: their checksums are those of what is left."""
        space, memories = large
        memory = space.add("Unlike any other: Zanzibar.")
        space.close()
        with open_folder(home) as space:
            shard = space._engine.indexes.items()[0][1]._store._shard if space.count() else None
            assert shard is not None
            assert self.stored(home, memories[3])
            space.erase_many([memory, *memories[3::7]])  # every note about that harbour
            assert self.stored(home, memories[3]) == self.stored(home, memory) == []
            assert space.admin.check() == {}
        assert self.stored(home, memories[3]) == []
        with open_folder(home) as space:
            assert space.admin.check() == {}
            assert not space.recall("harbour").missing
            assert space.count() == 400 - len(memories[3::7])

    def test_a_full_disk(self, home: Path, large: tuple[Space, list[Memory]], monkeypatch: pytest.MonkeyPatch) -> None:
        """The engine cannot overwrite them, so its files go, and the other vectors are searched in memory."""
        space, memories = large
        with space:
            monkeypatch.setattr("remanence.index.vectors.stores.edge.free_bytes", lambda folder: 0)
            space.erase(memories[3])
            assert self.stored(home, memories[4]) == []
            assert "free" in space.recall("Note 4 is about harbour 4.").missing["vectors"]
            assert space.admin.check() == {}


class TestPending:
    def test_a_reader_delays_the_log(self, home: Path) -> None:
        """It is named, and gone by itself when the reader is done."""
        with open_folder(home) as space:
            memory = space.add(f"{SECRET}.")
            reader = sqlite3.connect(home / "ledger.db")
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM entry").fetchone()
            run: list[str] = []
            space._engine.ledger._writer.set_trace_callback(run.append)
            certificate = space.erase(memory)
            pauses = [before for before, sql in zip(run, run[3:], strict=False) if "wal_checkpoint" in sql]
            assert pauses[0] == "PRAGMA busy_timeout=100"  # for other readers to end, once
            assert set(pauses[1:]) <= {"PRAGMA busy_timeout=0"}
            assert [each.location for each in certificate.pending] == ["the write-ahead log or old pages of the ledger"]
            assert space.audit.pending_erasures()
            reader.close()
            assert eventually(lambda: files_with(home, "Zanzibar") == [])  # nobody asks
            assert space.audit.pending_erasures() == []

    def test_an_idle_process_catches_up_by_itself(self, home: Path) -> None:
        """It is named until then."""
        with open_folder(home) as space:
            memory = space.add(f"{SECRET}.")
        program = (
            "import sys, remanence\nfrom remanence.testing import HashingEmbedder\n"
            "space = remanence.open(sys.argv[1], embedder=HashingEmbedder(16))\n"
            "print(space.count(), flush=True)\nsys.stdin.read()\nspace.close()\n"
        )
        process = WarmProcess(program, home)
        try:
            assert process.stdout.readline().strip() == "1"
            with open_folder(home) as space:
                certificate = space.erase(memory)
                assert [each.location for each in certificate.pending] == [f"an index of process {process.pid}"]
                assert eventually(lambda: space.audit.pending_erasures() == [])
            assert files_with(home, "Zanzibar") == []
        finally:
            process.stdin.close()
            process.wait(20)
        assert files_with(home, "Zanzibar") == []

    def test_a_process_that_was_killed_is_not_waited_for(self, home: Path) -> None:
        """Its lock file says nothing any more."""
        folder = home / "jobs" / "processes"
        folder.mkdir(parents=True)
        (folder / "999999-dead.lock").write_text("0")
        with open_folder(home) as space:
            assert space.erase(space.add("Short-lived.")).pending == ()
        assert list(folder.iterdir()) == []


ERASER = """
import json, os, sys, remanence
from remanence.testing import HashingEmbedder
space = remanence.open(sys.argv[1], embedder=HashingEmbedder(16))
for number in range(int(sys.argv[2]), 1000, 1):
    ids = [m.id for m in space.memories(tags=[f"batch-{number}"])]
    if not ids:
        continue
    os.write(1, (json.dumps(["to", number]) + "\\n").encode())
    space.erase_many(ids)
    os.write(1, (json.dumps(["done", number]) + "\\n").encode())
"""


def test_a_kill_amid_an_erasure_leaves_either_state(home: Path) -> None:
    """Each batch is there or gone as a whole; what was acknowledged is gone from every file after the next opening."""
    batches, size = 40, 40
    with open_folder(home) as space:
        rows = [
            {"text": f"Secret{b}x{n} lies in a box.", "tags": [f"batch-{b}"], "entities": [], "triples": []}
            for b in range(batches)
            for n in range(size)
        ]
        space.add_many(rows)
    dice, done, tried = random.Random(5), set[int](), set[int]()
    for _ in range(4):
        process = WarmProcess(ERASER, home, 0)
        said = [process.stdout.readline() for _ in range(dice.randint(1, 6))]
        time.sleep(dice.uniform(0.0, 0.1))
        os.kill(process.pid, signal.SIGKILL)
        said += process.stdout.readlines()
        process.wait()
        for verb, number in (json.loads(line) for line in said if line.endswith("\n")):
            (done if verb == "done" else tried).add(number)
    assert len(done) >= 3
    with open_folder(home) as space:
        counts = {b: len(list(space.memories(tags=[f"batch-{b}"]))) for b in range(batches)}
        assert {b: count for b, count in counts.items() if count not in (0, size)} == {}
        assert {b for b, count in counts.items() if count == 0} >= done
        assert {b for b, count in counts.items() if count == 0} <= tried
        assert space.admin.check() == {}
        space.verify()
        assert eventually(lambda: space.audit.pending_erasures() == [])
    gone = [b for b, count in counts.items() if count == 0]
    assert files_with(home, *(f"Secret{b}x" for b in gone)) == []


EXPORTER = """
import sys, remanence, time
from remanence.testing import HashingEmbedder
space = remanence.open(sys.argv[1], embedder=HashingEmbedder(16))
def wait(done, total):
    print("writing", flush=True)
    time.sleep(30)
space.admin.export(sys.argv[2], progress=wait)
"""


def test_a_killed_export_leaves_no_file(home: Path, tmp_path: Path) -> None:
    """Neither under its name nor under another; what one left where every file has a name is replaced."""
    with open_folder(home) as space:
        fill(space)
    target = tmp_path / "out" / "memory.jsonl"
    target.parent.mkdir()
    process = WarmProcess(EXPORTER, home, target)
    assert process.stdout.readline() == "writing\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert list(target.parent.iterdir()) == []
    (target.parent / "memory.jsonl.part").write_text("plain text")
    with open_folder(home) as space:
        space.admin.export(target)
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("over", ["here", "server"])
def test_a_fact_is_forgotten_with_what_was_said(facts_space: Space, over: str) -> None:
    """Otherwise the text still answers, or the fact of a forgotten text."""
    with connected(facts_space) if over == "server" else nullcontext(facts_space) as asked:
        [fact] = asked.remember([{"role": "user", "content": "I am allergic to nuts."}])
        [said] = [memory for memory in asked.memories() if memory.turn is not None]

        asked.forget(fact.id)
        assert [memory.id for memory in asked.memories()] == [said.id]
        asked.forget(fact.id, with_related=True)
        assert asked.count() == 0
        asked.unforget(fact.id, with_related=True)
        assert asked.count() == 2
        assert asked.forget_many([said.id], with_related=True) == 2
        assert asked.count() == 0


def test_forgetting_a_fact_with_its_text_keeps_the_other_facts(facts_space: Space) -> None:
    """Who says "forget that I am allergic" still lives in Porto; erased, the text takes along what only it told."""
    said = {"role": "user", "content": "I am allergic to nuts and I live in Porto."}
    facts = {memory.text: memory for memory in facts_space.remember([said])}
    allergy, home = facts["The user is allergic to nuts."], facts["The user lives in Porto."]

    facts_space.forget(allergy, with_related=True)
    assert [memory.text for memory in facts_space.memories()] == [home.text]
    certificate = facts_space.erase(allergy, with_related=True)
    assert allergy.id in certificate.memories
    assert facts_space.admin.check() == {}
    assert facts_space.count() == 0


@pytest.mark.parametrize(
    "policy", [None, Policy(encryption=Encryption(Encryption.new_key()))], ids=["plain", "encrypted"]
)
@pytest.mark.parametrize("erases_space", [False, True], ids=["a memory", "the space"])
def test_an_erased_text_that_was_put_back_is_reported_and_not_shown(
    home: Path, tmp_path: Path, policy: Policy | None, erases_space: bool
) -> None:
    """From an older copy of the ledger. Every read goes on without it."""
    with open_folder(home, policy=policy) as space:
        secret = space.add(SECRET)
    shutil.copytree(home, tmp_path / "older")
    with open_folder(home, policy=policy) as space:
        space.erase_space() if erases_space else space.erase(secret)
        space.add("The bridge is closed.")
    with (
        closing(sqlite3.connect(tmp_path / "older" / "ledger.db")) as older,
        closing(sqlite3.connect(home / "ledger.db", isolation_level=None)) as ledger,
    ):
        columns = older.execute("SELECT body, salt, content FROM entry WHERE position = 1").fetchone()
        ledger.execute("DROP TRIGGER entry_is_written_once")
        ledger.execute("UPDATE entry SET body = ?, salt = ?, content = ? WHERE position = 1", columns)

    with open_folder(home, policy=policy) as space:
        with pytest.raises(LedgerTampered, match="entry 1 is not what was written: its text is there again"):
            space.verify()
        space.add("The harbour is open.")
        for read in (lambda: None, space.rebuild, space.admin.compact):
            read()
            assert {memory.text for memory in space.memories()} == {"The bridge is closed.", "The harbour is open."}
            assert space.get(secret) is None
            assert all(hit.memory.text != SECRET for hit in space.recall("the emerald ledger of Quetzalcoatl"))
            assert all(change.memory is None or change.memory.text != SECRET for change in space.audit.changes())
        assert space.as_of(secret.recorded_at).count() == 0
        space.admin.export(tmp_path / "export.jsonl")
        assert space.admin.check() == {}
    assert SECRET not in (tmp_path / "export.jsonl").read_text()


def test_a_vector_that_was_asked_for_goes_with_an_erasure(home: Path) -> None:
    """It is kept until its text is stored. Whichever text is erased, and by whichever process, none is kept on."""

    class SlowEmbedder(HashingEmbedder):
        is_fast = False

    def ask() -> int:
        space._embed([SECRET])
        return len(space._engine.unstored_vectors)

    with remanence.open(home, embedder=SlowEmbedder(16)) as space, open_folder(home) as other:
        memories = space.add_many(["A note.", "Another note.", "A third note."])
        assert ask() == 1
        space.erase(memories[0])
        assert (len(space._engine.unstored_vectors), ask()) == (0, 1)
        other.erase(memories[1])
        assert eventually(lambda: not len(space._engine.unstored_vectors))
        assert ask() == 1
        space.erase_space()
        assert len(space._engine.unstored_vectors) == 0

"""Upkeep: a vault of Markdown notes that people may read, edit, add to and delete from."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import remanence
from examples import examples
from remanence import InvalidInput
from remanence.testing import FakeClock, HashingEmbedder
from remanence.upkeep.runs import vault_space
from remanence.upkeep.vault_notes import notes
from remanence.upkeep.vault_notes.notes import Note, parse, wiki_link

HOSTILE = ("../../etc/passwd", "CON", "a/b\\c", "]] [[x", "x\ny: z", ".hidden", "…", "名" * 200, "🎈" * 90, "-- -")


def files(vault: Path) -> dict[str, bytes]:
    return {path.relative_to(vault).as_posix(): path.read_bytes() for path in vault.rglob("*.md")}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def lived(space: remanence.Space, clock: FakeClock) -> remanence.Space:
    """Two memories that matter and one that does not, a week later."""
    space.add("Alice lives in Porto.", importance=0.9, tags=["home"])
    space.add("Alice works with Bob.\n\nHe repairs clocks.", importance=0.9)
    space.add("It rained.", kind="episode", importance=0.3)
    clock.advance(days=7)
    return space


def note_of(vault: Path, words: str) -> Path:
    """The file of the memory that says this."""
    return next(file for file in (vault / "memories").iterdir() if words in file.read_text("utf-8"))


def move(file: Path, to: Path) -> Path:
    """Put a note elsewhere, as a person does."""
    to.parent.mkdir(parents=True, exist_ok=True)
    return file.rename(to)


def notes_of(space: remanence.Space) -> remanence.Space:
    """The space with a person's own notes, which no `child()` leads to."""
    return remanence.Space(space._engine, vault_space(space.name))


class TestPromoting:
    def test_what_is_worth_it_becomes_a_note(self, lived: remanence.Space, vault: Path) -> None:
        """Front matter with links to the names of entities, and the text."""
        plan = lived.upkeep.promote(vault=vault, dry_run=True)
        assert not vault.exists()
        assert [each.text[:11] for each in plan] == ["Alice lives", "Alice works"]
        lived.upkeep.apply(plan)

        note = parse("", note_of(vault, "lives").read_text("utf-8"))
        assert (note.body, note.tags) == ("Alice lives in Porto.", ("home",))
        assert {"[[Alice]]", "[[Porto]]"} <= set(note.fields["entities"])
        assert [each.note for each in plan] == sorted(files(vault), key=[each.note for each in plan].index)

    def test_again_changes_nothing(self, lived: remanence.Space, vault: Path) -> None:
        """Not a file and not a line."""
        lived.upkeep.promote(vault=vault)
        before = files(vault), lived.verify().entries
        again = lived.upkeep.promote(vault=vault)
        assert (len(again), again.run) == (0, None)
        assert (files(vault), lived.verify().entries) == before

    def test_five_uses_in_a_fortnight_promote(self, space: remanence.Space) -> None:
        """However young it is; four do not."""
        memory = space.add("The door sticks.")
        for _ in range(4):
            space.touch(memory.id)
        assert len(space.upkeep.promote(dry_run=True)) == 0
        space.touch(memory.id)
        [promotion] = space.upkeep.promote(dry_run=True)
        assert promotion.why == "5 uses in 14 days"

    def test_uses_of_long_ago_do_not(self, space: remanence.Space, clock: FakeClock) -> None:
        """Five, but not within a fortnight; and its score has faded."""
        memory = space.add("The door sticks.", kind="episode")
        for _ in range(5):
            space.touch(memory.id)
            clock.advance(days=5)
        clock.advance(days=30)
        assert len(space.upkeep.promote(dry_run=True)) == 0

    def test_what_is_only_new_is_not_promoted(self, space: remanence.Space) -> None:
        """Everything new scores high."""
        space.add("Alice lives in Porto.", importance=0.9)
        assert len(space.upkeep.promote(dry_run=True)) == 0

    def test_without_a_vault_it_is_only_marked(self, lived: remanence.Space, vault: Path) -> None:
        """A vault given later gets the notes; what is promoted is not let go."""
        for memory in lived.memories():
            if memory.importance > 0.5:
                lived.touch(memory)
        lived.upkeep.promote()
        plan = lived.upkeep.promote(vault=vault)
        assert [each.why for each in plan] == ["it has no note yet"] * 2
        assert len(lived.upkeep.promote(vault=vault, dry_run=True)) == 0
        greedy = lived.upkeep.with_settings(forget_below=1.0)
        assert [faded.text for faded in greedy.gc(dry_run=True)] == ["It rained."]

    def test_undone_the_notes_are_gone(self, lived: remanence.Space, vault: Path) -> None:
        """But not the one that a person has edited."""
        done = lived.upkeep.promote(vault=vault)
        mine = note_of(vault, "lives")
        mine.write_text(mine.read_text("utf-8") + "\nAnd likes it.\n", "utf-8")
        lived.upkeep.undo(done)
        assert [path for path in files(vault) if path.startswith("memories")] == [f"memories/{mine.name}"]
        assert len(lived.upkeep.promote(vault=vault, dry_run=True).items) == 2

    def test_a_revised_memory_has_a_revised_note(self, space: remanence.Space, clock: FakeClock, vault: Path) -> None:
        """Under the same name; one that a person has edited is left alone, and named."""
        space.add("The code is 1.", key="code", importance=0.9)
        clock.advance(days=7)
        space.upkeep.promote(vault=vault)
        [file] = (vault / "memories").iterdir()
        space.add("The code is 2.", key="code", importance=0.9)
        space.upkeep.promote(vault=vault)
        assert "The code is 2." in file.read_text("utf-8")

        file.write_text(file.read_text("utf-8").replace("is 2", "was changed"), "utf-8")
        space.add("The code is 3.", key="code", importance=0.9)
        plan = space.upkeep.promote(vault=vault)
        assert plan.files.kept == (f"memories/{file.name}",)
        assert "was changed" in file.read_text("utf-8")

    def test_what_cannot_be_read_is_not_written_over(self, lived: remanence.Space, vault: Path) -> None:
        """Some editors save a note in another encoding; it is named, as other edited ones are."""
        lived.upkeep.promote(vault=vault)
        mine = note_of(vault, "lives")
        mine.write_text(mine.read_text("utf-8") + "\nShe is my aunt.\n", "utf-16")
        plan = lived.upkeep.promote(vault=vault)
        assert (plan.files.writes, plan.files.kept) == ((), (f"memories/{mine.name}",))
        assert "my aunt" in mine.read_text("utf-16")

    def test_an_erased_memory_leaves_the_vault(self, lived: remanence.Space, vault: Path) -> None:
        """And its words are not in the name that the ledger keeps."""
        lived.upkeep.promote(vault=vault)
        note = note_of(vault, "lives")
        assert "lives" not in note.name
        [memory] = [m for m in lived.memories() if "lives" in m.text]
        lived.erase(memory.id)
        lived.upkeep.promote(vault=vault)
        assert not any(b"lives in Porto" in content for content in files(vault).values())

    def test_a_file_in_the_way_is_named(self, lived: remanence.Space, vault: Path) -> None:
        """The vault cannot be made where a file is."""
        vault.write_text("here already")
        with pytest.raises(remanence.RemanenceError, match="cannot be written"):
            lived.upkeep.promote(vault=vault)

    def test_other_steps_are_not_done_for_a_vault_that_cannot_be(self, lived: remanence.Space, vault: Path) -> None:
        """All of a run, or nothing of it."""
        vault.write_text("here already")
        before = lived.verify().entries
        greedy = lived.upkeep.with_settings(forget_below=0.5)
        with pytest.raises(remanence.RemanenceError, match="Nothing was done"):
            greedy.run(steps=("gc", "promote"), vault=vault)
        assert lived.verify().entries == before


class TestMovedNotes:
    def test_a_note_stays_where_a_person_put_it(self, lived: remanence.Space, vault: Path) -> None:
        """It is neither taken away nor written anew, and nobody calls it deleted."""
        lived.upkeep.promote(vault=vault)
        moved = move(note_of(vault, "lives"), vault / "mine" / "Alice at home.md")
        told = moved.read_bytes()

        plan = lived.upkeep.promote(vault=vault)
        assert (plan.files.removes, plan.files.deleted) == ((), ())
        assert moved.read_bytes() == told
        assert len(list((vault / "memories").iterdir())) == 1
        assert len(lived.upkeep.promote(vault=vault, dry_run=True)) == 0
        index = lived.upkeep.import_vault(vault, dry_run=True)
        assert (len(index), "deleted" in str(index)) == (0, False)

    def test_it_is_kept_up_to_date_there(self, space: remanence.Space, clock: FakeClock, vault: Path) -> None:
        """A new version of its memory is written where it lies, and an edit is taken in from there."""
        space.add("The code is 1.", key="code", importance=0.9)
        clock.advance(days=7)
        space.upkeep.promote(vault=vault)
        moved = move(note_of(vault, "code"), vault / "mine" / "code.md")
        space.add("The code is 2.", key="code", importance=0.9)
        space.upkeep.promote(vault=vault)
        assert "The code is 2." in moved.read_text("utf-8")
        assert not list((vault / "memories").iterdir())

        moved.write_text(moved.read_text("utf-8").replace("is 2", "is 3"), "utf-8")
        space.upkeep.import_vault(vault)
        assert [memory.text for memory in space.memories()] == ["The code is 3."]

    def test_it_goes_with_its_memory(self, lived: remanence.Space, vault: Path) -> None:
        """Forgotten, it leaves the vault wherever it lies, and so does a copy; unless it was edited."""
        lived.upkeep.promote(vault=vault)
        note = note_of(vault, "lives")
        copy = vault / "copy.md"
        copy.write_bytes(note.read_bytes())
        edited = vault / "edited.md"
        edited.write_text(note.read_text("utf-8") + "\nAnd likes it.\n", "utf-8")
        move(note, vault / "mine" / note.name)
        assert lived.upkeep.promote(vault=vault, dry_run=True).files.removes == ()

        lived.forget(next(memory.id for memory in lived.memories() if "lives" in memory.text))
        lived.upkeep.promote(vault=vault)
        assert [path for path, told in files(vault).items() if b"Alice lives in Porto." in told] == ["edited.md"]


class TestSharedVaults:
    @pytest.fixture
    def two(self, space: remanence.Space, clock: FakeClock) -> tuple[remanence.Space, remanence.Space]:
        """Two users who each know an Alice, a week later."""
        ana, bob = space.child("users", "ana"), space.child("users", "bob")
        ana.add("Alice lives in Porto.", importance=0.9)
        bob.add("Alice works in Berlin.", importance=0.9)
        clock.advance(days=7)
        return ana, bob

    def test_each_leaves_the_notes_of_the_other_alone(
        self, two: tuple[remanence.Space, remanence.Space], vault: Path
    ) -> None:
        """They are neither written over nor removed, nor read in as edits."""
        ana, bob = two
        ana.upkeep.promote(vault=vault)
        hers = files(vault)
        bob.upkeep.promote(vault=vault)
        both = files(vault)
        assert len(both) == 2
        assert {path: both[path] for path in hers} == hers
        for user in two:
            again = user.upkeep.promote(vault=vault, dry_run=True)
            assert (again.files.writes, again.files.removes) == ((), ())
            assert len(user.upkeep.import_vault(vault, dry_run=True)) == 0

    def test_undone_by_one_it_stays_with_the_other(
        self, two: tuple[remanence.Space, remanence.Space], vault: Path
    ) -> None:
        """And where it was, also once the plain name is free."""
        ana, bob = two
        done = ana.upkeep.promote(vault=vault)
        hers = files(vault)
        bob.upkeep.promote(vault=vault)
        his = {path: told for path, told in files(vault).items() if path not in hers}
        ana.upkeep.undo(done)
        assert files(vault) == his
        assert bob.upkeep.promote(vault=vault, dry_run=True).files.writes == ()
        ana.upkeep.promote(vault=vault)
        assert files(vault) == {**hers, **his}

    def test_spaces_of_one_name_in_two_ledgers_keep_their_notes(
        self, lived: remanence.Space, clock: FakeClock, vault: Path
    ) -> None:
        """What one ledger does not know of, another may."""
        lived.upkeep.promote(vault=vault)
        first = files(vault)
        with remanence.open(None, embedder=HashingEmbedder(), clock=clock) as other:
            other.add("Alice has a cat.", importance=0.9)
            clock.advance(days=7)
            plan = other.upkeep.promote(vault=vault)
            assert (plan.files.removes, len(plan.files.writes)) == ((), 1)
            assert {path: files(vault)[path] for path in first} == first
        assert len(lived.upkeep.promote(vault=vault, dry_run=True)) == 0

    def test_a_copy_of_a_space_leaves_the_notes_of_the_first_alone(
        self, lived: remanence.Space, vault: Path, tmp_path: Path
    ) -> None:
        """Its memories have the same ids, so its notes would have the same paths; undone it removes none."""
        lived.upkeep.promote(vault=vault)
        first = files(vault)
        lived.admin.export(tmp_path / "it.jsonl")
        copy = lived.child("copy")
        remanence.restore(tmp_path / "it.jsonl", into=copy)
        done = copy.upkeep.promote(vault=vault)
        assert (done.files.writes, files(vault)) == ((), first)
        copy.upkeep.undo(done)
        assert files(vault) == first

    def test_notes_of_entities_of_an_earlier_release_are_removed(self, lived: remanence.Space, vault: Path) -> None:
        """Unless a person has edited them."""
        lived.upkeep.promote(vault=vault)
        for name, more in (("Alice", ""), ("Porto", "Mine.")):
            note = Note(f"entities/{name}.md", {"entity": name.lower(), "space": lived.name}, f"# {name}")
            notes.write(vault, note)
            path = vault / note.path
            path.write_text(path.read_text("utf-8") + more, "utf-8")
        assert lived.upkeep.promote(vault=vault).files.removes == ("entities/Alice.md",)
        assert [path.name for path in (vault / "entities").iterdir()] == ["Porto.md"]


class TestUndoing:
    def test_notes_that_were_added_later_are_gone_again(self, lived: remanence.Space, vault: Path) -> None:
        """Promoted without a vault, then with one: the second run is undone, the first one stands."""
        lived.upkeep.promote()
        done = lived.upkeep.promote(vault=vault)
        assert "2 given notes" in str(lived.upkeep.runs()[-1])
        assert len(files(vault)) == 2
        lived.upkeep.undo(done)
        assert files(vault) == {}
        again = lived.upkeep.promote(vault=vault, dry_run=True)
        assert [each.why for each in again] == ["it has no note yet"] * 2

    def test_another_vault_is_emptied_and_the_first_is_not(
        self, lived: remanence.Space, vault: Path, tmp_path: Path
    ) -> None:
        """Of what a person edited there, too, nothing is lost."""
        lived.upkeep.promote(vault=vault)
        first, second = files(vault), tmp_path / "second"
        done = lived.upkeep.promote(vault=second)
        assert files(second) == first
        mine = note_of(second, "lives")
        mine.write_text(mine.read_text("utf-8") + "\nAnd likes it.\n", "utf-8")
        lived.upkeep.undo(done)
        assert list(files(second)) == [f"memories/{mine.name}"]
        assert files(vault) == first

    def test_the_first_promotion_undone_first(self, lived: remanence.Space, vault: Path) -> None:
        """Then the second has nothing to give back, and promotes nothing by being undone."""
        first = lived.upkeep.promote()
        second = lived.upkeep.promote(vault=vault)
        lived.upkeep.undo(first)
        lived.upkeep.undo(second)
        assert files(vault) == {}
        assert len(lived.upkeep.promote(vault=vault, dry_run=True).items) == 2
        assert lived.admin.check() == {}


class TestPlansThatAreOutOfDate:
    def test_a_promotion_is_done_once(self, lived: remanence.Space, vault: Path) -> None:
        """Also one that only adds notes, or only writes one anew."""
        lived.upkeep.promote()
        added = lived.upkeep.promote(vault=vault, dry_run=True)
        lived.upkeep.apply(added)
        note = note_of(vault, "lives")
        note.write_text(note.read_text("utf-8").replace("Alice", "Alicia", 1), "utf-8")
        anew = lived.upkeep.promote(vault=vault, dry_run=True)
        lived.upkeep.apply(anew)
        before = files(vault), lived.verify().entries
        for plan in (added, anew):
            with pytest.raises(InvalidInput, match=r"since\. Nothing was done"):
                lived.upkeep.apply(plan)
        assert (files(vault), lived.verify().entries) == before

    def test_what_a_person_wrote_meanwhile_is_not_written_over(
        self, space: remanence.Space, clock: FakeClock, vault: Path
    ) -> None:
        """Between the plan and its doing."""
        space.add("The code is 1.", key="code", importance=0.9)
        clock.advance(days=7)
        space.upkeep.promote(vault=vault)
        space.add("The code is 2.", key="code", importance=0.9)
        plan = space.upkeep.promote(vault=vault, dry_run=True)
        file = note_of(vault, "code")
        file.write_text(file.read_text("utf-8").replace("is 1", "is mine"), "utf-8")
        with pytest.raises(InvalidInput, match="Nothing was done"):
            space.upkeep.apply(plan)
        assert "is mine" in file.read_text("utf-8")

    def test_what_was_erased_meanwhile_is_not_written(self, lived: remanence.Space, vault: Path) -> None:
        """Not even if it was promoted long before."""
        lived.upkeep.promote()
        plan = lived.upkeep.promote(vault=vault, dry_run=True)
        lived.erase(next(memory.id for memory in lived.memories() if "lives" in memory.text))
        with pytest.raises(InvalidInput, match="Nothing was done"):
            lived.upkeep.apply(plan)
        assert not vault.exists()

    def test_a_vault_is_taken_in_once(self, lived: remanence.Space, vault: Path) -> None:
        """A person's own notes as well as edited ones; and what was read in since is not set back."""
        lived.upkeep.promote(vault=vault)
        (vault / "boat.md").write_text("The boat is red.", "utf-8")
        red = lived.upkeep.import_vault(vault, dry_run=True)
        (vault / "boat.md").write_text("The boat is blue.", "utf-8")
        lived.upkeep.import_vault(vault)
        with pytest.raises(InvalidInput, match=r"the same memories were stored since\. Nothing was done"):
            lived.upkeep.apply(red)
        assert [memory.text for memory in notes_of(lived).memories()] == ["The boat is blue."]

        file = note_of(vault, "lives")
        file.write_text(file.read_text("utf-8").replace("Porto.", "Lisbon."), "utf-8")
        edit = lived.upkeep.import_vault(vault, dry_run=True)
        lived.upkeep.apply(edit)
        with pytest.raises(InvalidInput, match=r"has changed since\. Nothing was done"):
            lived.upkeep.apply(edit)


class TestTags:
    @pytest.mark.parametrize("tags", [["#todo"], ["#todo", "todo"], ["##a"], ["#"], [" b ", "a b"], ["c", "a"]])
    def test_a_note_that_nobody_touched_is_not_edited(
        self, space: remanence.Space, clock: FakeClock, vault: Path, tags: list[str]
    ) -> None:
        """Whatever signs are in its tags."""
        memory = space.add("The gate squeaks.", importance=0.9, tags=tags)
        clock.advance(days=7)
        space.upkeep.promote(vault=vault)
        assert len(space.upkeep.import_vault(vault)) == 0
        assert next(iter(space.memories())).tags == memory.tags

    def test_a_tag_beside_others_leaves_them_as_they_are(
        self, space: remanence.Space, clock: FakeClock, vault: Path
    ) -> None:
        """Also where an editor has left out the sign before one; such a sign is not part of a new tag."""
        space.add("The gate squeaks.", importance=0.9, tags=["#todo"])
        clock.advance(days=7)
        space.upkeep.promote(vault=vault)
        file = note_of(vault, "squeaks")
        written = file.read_text("utf-8")
        file.write_text(written.replace('tags: ["#todo"]', "tags:\n  - todo"), "utf-8")
        assert len(space.upkeep.import_vault(vault, dry_run=True)) == 0
        file.write_text(written.replace('tags: ["#todo"]', "tags:\n  - todo\n  - '#home'"), "utf-8")
        space.upkeep.import_vault(vault)
        assert next(iter(space.memories())).tags == ("#todo", "home")

    def test_tags_of_an_old_note_are_not_an_edit(self, space: remanence.Space, clock: FakeClock, vault: Path) -> None:
        """The memory was filed anew since; the note only does not know yet."""
        space.add("The gate squeaks.", key="gate", importance=0.9, tags=["a"])
        clock.advance(days=7)
        space.upkeep.promote(vault=vault)
        space.add("The gate squeaks.", key="gate", importance=0.9, tags=["b"])
        assert len(space.upkeep.import_vault(vault, dry_run=True)) == 0

    def test_tags_that_a_person_gave_are_not_written_over(self, lived: remanence.Space, vault: Path) -> None:
        """By a promotion before they were taken in."""
        lived.upkeep.promote(vault=vault)
        file = note_of(vault, "lives")
        file.write_text(file.read_text("utf-8").replace('["home"]', '["home", "new"]'), "utf-8")
        assert lived.upkeep.promote(vault=vault).files.kept == (f"memories/{file.name}",)
        lived.upkeep.import_vault(vault)
        assert next(m for m in lived.memories() if "lives" in m.text).tags == ("home", "new")
        assert lived.upkeep.promote(vault=vault, dry_run=True).files.kept == ()


class TestNames:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_hostile_name_stays_in_the_vault(
        self, space: remanence.Space, clock: FakeClock, vault: Path, name: str
    ) -> None:
        """It is part of no path, and of a link that it cannot end."""
        space.add("A note about something.", entities=[name, "Alice"], importance=0.9, tags=[name])
        clock.advance(days=7)
        space.upkeep.promote(vault=vault)

        assert [path.parent.name for path in vault.parent.rglob("*") if path.is_file()] == ["memories"]
        assert len(space.upkeep.promote(vault=vault, dry_run=True)) == 0
        assert len(space.upkeep.import_vault(vault, dry_run=True)) == 0
        links = parse("", note_of(vault, "something").read_text("utf-8")).fields["entities"]
        assert "[[Alice]]" in links
        assert all(not set(link[2:-2]) & set("[]|#^") for link in links)

    @settings(max_examples=examples(40), deadline=None)
    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), st.lists(st.text(max_size=9)))
    def test_a_note_is_read_as_it_was_written(self, body: str, tags: list[str]) -> None:
        """Whatever is in it, and nobody is taken to have edited it."""
        note = Note("a.md", {"id": "m1", "tags": tags}, notes.normalize_newlines(body))
        again = parse("a.md", str(note))
        assert (again.body, again.fields["id"], again.fields["tags"]) == (note.body, "m1", tags)
        assert not again.is_edited

    @settings(max_examples=examples(40), deadline=None)
    @example("```text dataviewjs\n&lt;%&amp;lt; ``$= x`` ~~~ js\n````")
    @given(st.lists(st.sampled_from([*"`~<%$=&a \n", "lt;", "amp;", "#96;", "text "])).map("".join))
    def test_an_inert_text_runs_nothing_and_is_read_as_it_was(self, text: str) -> None:
        """No block has a language of its own, no tag begins, and no inline code is a query."""
        inert = notes.to_inert(text)
        assert notes.from_inert(inert) == text
        assert not re.search(r"(?:`{3,}|~{3,})(?!text )[ \t]*[^\s`~]|<[A-Za-z/!?%]|(?<!`)`{1,2}\s*\$?=", inert)

    @pytest.mark.parametrize(
        "active",
        [
            "```dataviewjs\nawait app.vault.delete()\n```",
            "> ~~~ dataviewjs\n> app.vault\n> ~~~",
            "<%* await tp.user.run() %>",
            "<script>fetch('//evil.example')</script>",
            "`$= dv.pages()`",
        ],
    )
    def test_what_editors_run_is_written_inert(self, space: remanence.Space, vault: Path, active: str) -> None:
        """In the note of the memory and in its front matter; read back, it is as it was."""
        memory = space.add(f"{active}\nAlice lives in Porto.", entities=[active, "Alice"])
        space.upkeep.promote(memory.id, vault=vault)
        written = [content.decode() for content in files(vault).values()]
        assert len(written) == 1
        assert not [text for text in written if "<%" in text or "<script" in text]
        assert not [text for text in written if active.partition("\n")[0] in text.split("\n---\n", 1)[1]]
        assert not len(space.upkeep.import_vault(vault, dry_run=True))

        file = note_of(vault, "Porto")
        file.write_text(file.read_text("utf-8").replace("Porto", "Lisbon"), "utf-8")
        [edit] = space.upkeep.import_vault(vault, dry_run=True)
        assert edit.text == f"{active}\nAlice lives in Lisbon."

    def test_a_link_cannot_be_broken_out_of(self) -> None:
        """The words shown hold no bracket."""
        assert wiki_link("a]] [[b|c") == "[[a b c]]"


class TestReadingBack:
    def test_an_edited_note_is_a_new_version(self, lived: remanence.Space, vault: Path) -> None:
        """With new tags, links as plain words; the old version stays in the past."""
        lived.upkeep.promote(vault=vault)
        file = note_of(vault, "lives")
        text = file.read_text("utf-8").replace("Alice lives in Porto.", "[[Alice]] lives in [[Lisbon|Lisboa]].")
        file.write_text(text.replace('tags: ["home"]', "tags:\n  - home\n  - moved"), "utf-8")
        question = "Where does Alice live?"
        before = [hit.memory.text for hit in lived.recall(question)]

        plan = lived.upkeep.import_vault(vault, dry_run=True)
        assert [(edit.before, edit.text) for edit in plan] == [("Alice lives in Porto.", "Alice lives in Lisboa.")]
        done = lived.upkeep.import_vault(vault)
        hit = lived.recall(question)[0]
        assert (hit.memory.text, hit.memory.tags) == ("Alice lives in Lisboa.", ("home", "moved"))
        assert len(lived.upkeep.import_vault(vault, dry_run=True)) == 0
        follow = lived.upkeep.promote(vault=vault, dry_run=True)
        assert (follow.files.writes, follow.files.removes, follow.files.kept) == ((), (), ())

        lived.upkeep.undo(done)
        # The same list; not the same digits, as the old version was said once more.
        assert [hit.memory.text for hit in lived.recall(question)] == before

    def test_a_person_s_own_note_is_searched_too(self, lived: remanence.Space, vault: Path) -> None:
        """With less weight, beside the space and not in it; what both say is given once."""
        (vault / "daily").mkdir(parents=True)
        (vault / "daily" / "monday.md").write_text("Alice has a boat called Ondina.", "utf-8")
        (vault / "copy.md").write_text("Alice lives in  Porto.", "utf-8")
        (vault / ".obsidian").mkdir()
        (vault / ".obsidian" / "state.md").write_text("Not a note.", "utf-8")
        done = lived.upkeep.import_vault(vault)
        assert sorted(each.note for each in done) == ["copy.md", "daily/monday.md"]
        assert len(lived.upkeep.import_vault(vault, dry_run=True)) == 0
        assert "Ondina" not in str(lived.recall("boat"))

        found = lived.recall("Does Alice have a boat?", include="vault")
        assert "Ondina" in str(found)
        boat = next(hit for hit in found if "Ondina" in hit.memory.text)
        alone = notes_of(lived).recall("Does Alice have a boat?")[0]
        assert boat.score == pytest.approx(0.7 * alone.score)
        assert "a note of yours: daily/monday.md" in boat.reason
        texts = [" ".join(hit.memory.text.split()) for hit in found]
        assert len(texts) == len(set(texts))

    def test_an_own_note_changed_and_undone(self, lived: remanence.Space, vault: Path) -> None:
        """The same path is the same memory."""
        vault.mkdir()
        (vault / "a.md").write_text("The boat is red.", "utf-8")
        lived.upkeep.import_vault(vault)
        (vault / "a.md").write_text("The boat is blue.", "utf-8")
        second = lived.upkeep.import_vault(vault)
        notes_space = notes_of(lived)
        assert [memory.text for memory in notes_space.memories()] == ["The boat is blue."]
        lived.upkeep.undo(second)
        assert [memory.text for memory in notes_space.memories()] == ["The boat is red."]
        lived.upkeep.undo(lived.upkeep.runs()[0])
        assert notes_space.count() == 0

    def test_a_large_vault_is_taken_in_and_undone_whole(self, lived: remanence.Space, vault: Path) -> None:
        """More notes than one transaction holds; and none are there before."""
        vault.mkdir()
        for number in range(1_200):
            (vault / f"{number}.md").write_text(f"Note number {number} is about something.", "utf-8")
        done = lived.upkeep.import_vault(vault)
        assert notes_of(lived).count() == 1_200
        [run] = lived.upkeep.runs()
        assert (run.id, len(run.made), run.revised) == (done.run, 1_200, ())
        lived.upkeep.undo(run)
        assert notes_of(lived).count() == 0

    def test_without_notes_only_the_space_is_asked(self, reopen: Callable[..., remanence.Space], home: Path) -> None:
        """And nothing is made for notes that are not there."""
        space = reopen()
        space.add("Alice lives in Porto.")
        assert len(space.recall("Alice", include="vault")) == 1
        assert space.upkeep.runs() == []
        assert not list((home / "vectors").glob("*vault*"))

    def test_a_deleted_note_is_reported_and_nothing_is_forgotten(self, lived: remanence.Space, vault: Path) -> None:
        """To delete a file is not to forget; and it does not come back by itself."""
        lived.upkeep.promote(vault=vault)
        file = note_of(vault, "lives")
        file.unlink()
        plan = lived.upkeep.import_vault(vault)
        assert f"memories/{file.name} was deleted; its memory stays" in str(plan)
        assert lived.count() == 3
        assert lived.upkeep.promote(vault=vault).files.deleted == (f"memories/{file.name}",)
        assert not file.exists()

    def test_what_was_let_go_does_not_come_back(self, lived: remanence.Space, vault: Path) -> None:
        """An edited note of a forgotten or erased memory is left out, and the reason given."""
        lived.upkeep.promote(vault=vault)
        for words, let_go in (("lives", lived.forget), ("works", lived.erase)):
            file = note_of(vault, words)
            file.write_text(file.read_text("utf-8") + "More.\n", "utf-8")
            let_go(next(memory.id for memory in lived.memories() if words in memory.text))
        plan = lived.upkeep.import_vault(vault, dry_run=True)
        assert len(plan) == 0
        for why in ("its memory is forgotten", "its memory was erased"):
            assert f"is left out: {why}" in str(plan)

    def test_what_is_no_text_is_named(self, lived: remanence.Space, vault: Path) -> None:
        """The rest is taken in all the same."""
        vault.mkdir()
        (vault / "bad.md").write_bytes(b"\xff\xfe\x00")
        (vault / "good.md").write_text("The boat is red.", "utf-8")
        (vault / "empty.md").write_text("\n", "utf-8")
        plan = lived.upkeep.import_vault(vault, dry_run=True)
        assert "bad.md is left out: it is not UTF-8 text" in str(plan)
        assert [each.note for each in plan] == ["good.md"]

    def test_no_vault_is_named(self, lived: remanence.Space, vault: Path) -> None:
        """Not given, or not there."""
        with pytest.raises(InvalidInput, match="REMANENCE_VAULT"):
            lived.upkeep.import_vault(dry_run=True)
        with pytest.raises(InvalidInput, match="no vault at"):
            lived.upkeep.import_vault(vault, dry_run=True)


def test_a_child_called_vault_is_not_searched_by_its_parent(lived: remanence.Space, vault: Path) -> None:
    """Notes lie in a space that has no name a user could choose, and a replay searches them too."""
    vault.mkdir(exist_ok=True)
    (vault / "boat.md").write_text("The boat of Alice is blue.")
    lived.upkeep.import_vault(vault)
    lived.child("vault").add("The boat of Alice is stolen.")
    found = lived.recall("boat of Alice", include="vault")
    assert found.receipt is not None

    assert "The boat of Alice is stolen." not in [hit.memory.text for hit in found]
    assert "The boat of Alice is blue." in [hit.memory.text for hit in found]
    assert [hit.memory.id for hit in lived.audit.replay(found.receipt.to_dict())] == [hit.memory.id for hit in found]


class TestSymbolicLinks:
    @pytest.fixture
    def outside(self, tmp_path: Path) -> Path:
        """A folder beside the vault, with a secret in it."""
        folder = tmp_path / "outside"
        folder.mkdir()
        (folder / "secret.md").write_text("The root password is swordfish.", "utf-8")
        return folder

    def test_none_is_followed_out_of_the_vault(self, lived: remanence.Space, vault: Path, outside: Path) -> None:
        """Neither a linked file nor a file in a linked folder is read in, and the plan says so."""
        vault.mkdir()
        (vault / "mine.md").write_text("My own note about bridges.", "utf-8")
        (vault / "linked.md").symlink_to(outside / "secret.md")
        (vault / "folder").symlink_to(outside)
        plan = lived.upkeep.import_vault(vault)

        assert [change.note for change in plan] == ["mine.md"]
        assert "linked.md is left out: it is a symbolic link" in str(plan)
        assert not any("swordfish" in hit.memory.text for hit in lived.recall("root password", include="vault"))

    def test_none_is_written_through(self, lived: remanence.Space, vault: Path, outside: Path) -> None:
        """A folder of the vault that leads elsewhere is refused, with the way out."""
        vault.mkdir()
        (vault / "memories").symlink_to(outside)
        with pytest.raises(remanence.RemanenceError, match="a symbolic link is on the way"):
            lived.upkeep.promote(vault=vault)
        assert [file.name for file in outside.iterdir()] == ["secret.md"]

    def test_none_is_written_or_read_through_within_the_vault(self, lived: remanence.Space, vault: Path) -> None:
        """Notes behind a link are not listed: they would be taken for deleted ones and written again by each run."""
        kept = vault / "kept"
        kept.mkdir(parents=True)
        (kept / "boat.md").write_text("The boat is blue.", "utf-8")
        (vault / "memories").symlink_to(kept)
        with pytest.raises(remanence.RemanenceError, match="a symbolic link is on the way"):
            lived.upkeep.promote(vault=vault)
        assert [file.name for file in kept.iterdir()] == ["boat.md"]
        assert notes.read(vault, "memories/boat.md") is None
        assert notes.read(vault, "kept/boat.md") is not None

    def test_a_linked_file_in_the_way_of_a_note_stays_as_it_is(
        self, lived: remanence.Space, vault: Path, outside: Path
    ) -> None:
        """The note takes the place of the link, and what it led to is not touched."""
        first, second = (Path(each.note) for each in lived.upkeep.promote(vault=vault, dry_run=True))
        (vault / "memories").mkdir(parents=True)
        (vault / first.with_name(f".{first.name}.part")).symlink_to(outside / "secret.md")
        (vault / second).symlink_to(outside / "secret.md")
        lived.upkeep.promote(vault=vault)

        assert (outside / "secret.md").read_text("utf-8") == "The root password is swordfish."
        assert not (vault / second).is_symlink()

    def test_a_recorded_path_that_leads_out_is_refused(self, vault: Path, outside: Path) -> None:
        """A ledger that was imported may record any path."""
        vault.mkdir()
        with pytest.raises(remanence.RemanenceError):
            notes.write(vault, Note("../outside/secret.md", {}, "overwritten"))
        assert notes.read(vault, "../outside/secret.md") is None

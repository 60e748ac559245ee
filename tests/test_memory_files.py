"""Files below /memories: the commands of a model's memory tool, their versions, and paths that lead nowhere else."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence import InvalidInput, MemoryFiles, NotFound, RemanenceError
from remanence.testing import FakeClock

NOTES = "/memories/notes.md"


def run(files: MemoryFiles, command: str, **arguments: Any) -> str:
    return files.run({"command": command, **arguments})


@pytest.fixture
def files(space: remanence.Space) -> MemoryFiles:
    return MemoryFiles(space)


def test_a_file_is_created_viewed_and_edited(files: MemoryFiles) -> None:
    """The results are those that a model of Anthropic knows."""
    assert run(files, "create", path=NOTES, file_text="one\ntwo\n") == f"File created successfully at: {NOTES}"
    assert (
        run(files, "view", path=NOTES)
        == f"Here's the content of {NOTES} with line numbers:\n     1\tone\n     2\ttwo\n     3\t"
    )
    assert run(files, "view", path=NOTES, view_range=[2, 2]).endswith("\n     2\ttwo")
    edited = run(files, "str_replace", path=NOTES, old_str="two", new_str="2")
    assert edited.startswith("The memory file has been edited. Here is the snippet showing the change")
    assert edited.endswith("     1\tone\n     2\t2\n     3\t")
    assert run(files, "insert", path=NOTES, insert_line=0, insert_text="zero\n") == f"The file {NOTES} has been edited."
    assert files.read(NOTES).content == "zero\none\n2\n"


def test_a_folder_is_listed_two_levels_deep_without_hidden_files(files: MemoryFiles) -> None:
    """Sizes are those of what is shown."""
    for path, text in {
        "b.md": "12345",
        "a/x.md": "1",
        "a/deep/y.md": "22",
        "a/deep/er/z.md": "3",
        ".hidden": "9",
    }.items():
        files.write(f"/memories/{path}", text)

    assert run(files, "view", path="/memories").split("\n") == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
        "9B\t/memories",
        "4B\t/memories/a/",
        "3B\t/memories/a/deep/",
        "1B\t/memories/a/x.md",
        "5B\t/memories/b.md",
    ]
    assert "4B\t/memories/a\n" in run(files, "view", path="/memories/a/")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            {"command": "view", "path": "/memories/no"},
            "The path /memories/no does not exist. Please provide a valid path.",
        ),
        ({"command": "create", "path": NOTES, "file_text": "x"}, f"File {NOTES} already exists"),
        (
            {"command": "str_replace", "path": NOTES, "old_str": "gone", "new_str": "x"},
            f"No replacement was performed, old_str `gone` did not appear verbatim in {NOTES}.",
        ),
        (
            {"command": "str_replace", "path": NOTES, "old_str": "tea", "new_str": "x"},
            "No replacement was performed. Multiple occurrences of old_str `tea` in lines: 1, 3. Please ensure",
        ),
        (
            {"command": "insert", "path": NOTES, "insert_line": 9, "insert_text": "x"},
            "Invalid `insert_line` parameter: 9. It should be within the range [0, 3].",
        ),
        ({"command": "delete", "path": "/memories/no"}, "The path /memories/no does not exist"),
        ({"command": "delete", "path": "/memories"}, "Cannot delete the /memories directory itself"),
        (
            {"command": "rename", "old_path": "/memories/no", "new_path": "/memories/n"},
            "The path /memories/no does not exist",
        ),
        (
            {"command": "rename", "old_path": NOTES, "new_path": "/memories/a"},
            "The destination /memories/a already exists",
        ),
        (
            {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/a/b/c"},
            "Cannot rename /memories/a to",
        ),
        ({"command": "create", "path": f"{NOTES}/below", "file_text": "x"}, f"File {NOTES} already exists"),
        ({"command": "view", "path": NOTES, "view_range": [9, 10]}, "Invalid `view_range` parameter: [9, 10]."),
        ({"command": "view", "path": NOTES, "view_range": "1-2"}, "Invalid `view_range` parameter: 1-2."),
        ({"command": "create", "path": "/memories/n"}, "Missing parameter for create: file_text."),
        ({"command": "burn", "path": NOTES}, "Unknown command: burn. The commands are view, create,"),
        ({"command": "create", "path": "/memories/n", "file_text": 7}, "file_text is of type int, not text."),
        ({"command": "create", "path": "/memories/n", "file_text": "nul \0"}, "text="),
        ({"command": "create", "path": "/memories/n", "file_text": "x" * 2_000_001}, "text has 2,000,001 characters."),
    ],
)
def test_a_command_that_fails_says_what_the_model_needs(files: MemoryFiles, command: Any, message: str) -> None:
    """Nothing is written then."""
    files.write(NOTES, "tea\n\ntea\n")
    files.write("/memories/a/b.md", "b")
    before = files.files()

    with pytest.raises(RemanenceError) as caught:
        files.run(command)

    assert str(caught.value).startswith(message)
    assert files.files() == before


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "memories/a",
        "",
        "/memories2/a",
        "/memories/../etc/passwd",
        "/memories/a/../../etc",
        "/memories/%2e%2e/etc",
        "/memories/..%2fetc",
        "/memories/a\\..\\b",
        "/memories/a\nb",
        "/memories/\0",
        "/memories/" + "x" * 481,
        7,
        None,
        ["/memories"],
    ],
)
@pytest.mark.parametrize("command", ["view", "create", "str_replace", "insert", "delete", "rename"])
def test_no_path_leads_out_of_the_root(files: MemoryFiles, command: str, path: Any) -> None:
    """Whatever the command, and whatever is given as a path."""
    arguments = {"old_path": path, "new_path": "/memories/n"} if command == "rename" else {"path": path}
    texts = {"file_text": "x", "old_str": "x", "insert_line": 0, "insert_text": "x"}

    with pytest.raises(InvalidInput, match=r"^Path|^Missing parameter"):
        files.run({"command": command, **arguments, **texts})

    assert files.files() == []


def test_every_edit_is_a_version(files: MemoryFiles, clock: FakeClock) -> None:
    """A deleted file and a renamed one keep their history; the past still shows what it was."""
    files.write(NOTES, "1")
    monday = clock.now()
    clock.advance(days=1)
    run(files, "str_replace", path=NOTES, old_str="1", new_str="2")
    files.rename(NOTES, "/memories/old/notes.md")
    files.write(NOTES, "another")
    files.delete("/memories/old")

    past = files.as_of(monday)
    assert past.read(NOTES).content == "1"
    assert [(v.kind, v.path, v.content) for v in files.history("/memories/old/notes.md")] == [
        ("written", NOTES, "1"),
        ("written", NOTES, "2"),
        ("written", "/memories/old/notes.md", "2"),
        ("deleted", "/memories/old/notes.md", None),
    ]
    assert [v.content for v in files.history(NOTES)] == ["1", "2", None, "another"]
    assert files.history(NOTES)[2].why == "renamed to /memories/old/notes.md"
    with pytest.raises(InvalidInput, match="cannot be written to"):
        past.write("/memories/new.md", "x")
    with pytest.raises(NotFound):
        files.history("/memories/never.md")


def test_a_renamed_file_keeps_its_age_and_a_new_one_under_its_name_does_not(
    files: MemoryFiles, clock: FakeClock
) -> None:
    """`created_at` is that of the file, not of the path."""
    files.write(NOTES, "1")
    created = files.read(NOTES).created_at
    clock.advance(days=1)
    files.rename(NOTES, "/memories/n.md")
    files.write(NOTES, "2")

    assert files.read("/memories/n.md").created_at == created
    assert files.read(NOTES).created_at > created


@pytest.mark.parametrize("text", ["", "\n", " \n\t", "\r\nx\r\n", "no newline", "é\u2028 ü 漢字 🙂\n", "  x  "])
def test_a_file_is_stored_exactly(files: MemoryFiles, text: str) -> None:
    """Also one without a visible character, and with any line ends."""
    files.write(NOTES, text)

    assert files.read(NOTES).content == text
    assert files.read(NOTES).size == len(text.encode())


def test_files_are_not_recalled_among_memories_unless_asked_for(space: remanence.Space) -> None:
    """By default they are in a child space, which a model's notes are searched in by `view`."""
    apart, among = MemoryFiles(space), MemoryFiles(space, recallable=True)
    apart.write(NOTES, "Ana drinks green tea.")
    assert not space.recall("What does Ana drink?")
    assert [hit.memory.text for hit in apart.view.recall("What does Ana drink?")] == ["Ana drinks green tea."]

    space.add("Ana lives in Porto.", tags="memory-file")
    among.write(NOTES, "Ana drinks black tea.")
    assert space.recall("What does Ana drink?")[0].memory.text == "Ana drinks black tea."
    assert [file.path for file in among.files()] == [NOTES]
    assert apart.read(NOTES).content == "Ana drinks green tea."


def test_two_roots_are_two_names_of_the_same_files(space: remanence.Space) -> None:
    """A backend that is mounted at /memories sees what the memory tool wrote."""
    MemoryFiles(space).write(NOTES, "x")

    assert [file.path for file in MemoryFiles(space, root="/").files()] == ["/notes.md"]
    assert MemoryFiles(space, root="/").read("/notes.md").content == "x"


def test_edits_of_many_threads_are_all_kept(space: remanence.Space) -> None:
    """Reading a file and writing its next version is one step."""
    from concurrent.futures import ThreadPoolExecutor

    MemoryFiles(space).write(NOTES, "")
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(
                lambda number: run(
                    MemoryFiles(space), "insert", path=NOTES, insert_line=0, insert_text=f"line {number}"
                ),
                range(32),
            )
        )

    lines = MemoryFiles(space).read(NOTES).content.splitlines()
    assert sorted(filter(None, lines)) == sorted(f"line {number}" for number in range(32))


def test_files_survive_in_a_folder(reopen: Any) -> None:
    """What is written is there when the space is opened again."""
    MemoryFiles(reopen()).write(NOTES, "kept")

    assert MemoryFiles(reopen()).read(NOTES).content == "kept"


async def test_asyncio(files: MemoryFiles) -> None:
    await files.arun({"command": "create", "path": NOTES, "file_text": "x"})
    assert (await files.arun({"command": "view", "path": NOTES})).endswith("     1\tx")


@pytest.mark.slow
def test_any_story_reads_as_in_the_implementation_of_anthropic(space: remanence.Space, tmp_path: Path) -> None:
    """The same commands, on its folder and on a space: the same results, errors and files."""
    memory = pytest.importorskip("anthropic.lib.tools._beta_builtin_memory_tool", reason="needs the anthropic SDK")
    theirs, ours, dice = memory.BetaLocalFilesystemMemoryTool(str(tmp_path)), MemoryFiles(space), random.Random(7)
    paths = ["/memories/a.md", "/memories/b.md", "/memories/d/c.md", "/memories/d/e.md", "/memories/d"]
    outcomes = set[str]()
    for step in range(250):
        command = _some_command(dice, paths)
        expected, found = _outcome(lambda: theirs.call(command)), _outcome(lambda: ours.run(command))  # noqa: B023
        assert found == expected, (step, command)
        outcomes.add(f"{command['command']} {expected[0]}")
        stored = {file.path: file.content for file in ours.files()}
        assert stored == {
            f"/memories/{path.relative_to(tmp_path / 'memories')}": path.read_text()
            for path in (tmp_path / "memories").rglob("*")
            if path.is_file()
        }
        for folder in [
            each for each in (tmp_path / "memories").rglob("*") if each.is_dir() and not any(each.iterdir())
        ]:
            folder.rmdir()  # a folder without a file does not exist in a space
    assert len(outcomes) == 12, "each command has succeeded and failed"


def _some_command(dice: random.Random, paths: list[str]) -> dict[str, Any]:
    path, text = dice.choice(paths), dice.choice(["tea", "tea\nmilk\n", "a\nb\nc", "milk"])
    return dice.choice(
        [
            {"command": "view", "path": dice.choice(paths[:4]), "view_range": dice.choice([None, [1, -1], [1, 2]])},
            {"command": "create", "path": dice.choice(paths[:4]), "file_text": text},
            {"command": "str_replace", "path": path, "old_str": dice.choice(["tea", "milk", "b"]), "new_str": text},
            {"command": "insert", "path": path, "insert_line": dice.randint(-1, 5), "insert_text": text},
            {"command": "delete", "path": path},
            {"command": "rename", "old_path": dice.choice(paths[:4]), "new_path": dice.choice(paths[:4])},
        ]
    )


def _outcome(run: Any) -> tuple[str, str]:
    try:
        return "done", run()
    except Exception as error:  # noqa: BLE001
        return "failed", str(error)

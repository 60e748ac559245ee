"""The commands that show and try: completion, tail, doctor, chat, and what a mistyped command says."""

from __future__ import annotations

import errno
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence.cli import live_commands, main
from remanence.cli.parser import COMMANDS, make_parser, subcommands
from remanence.models.readers import READER_VARIABLE

Run = Callable[..., str]


def json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


class TestHelpAndMistakes:
    def test_every_command_takes_json(self) -> None:
        """Groups aside."""
        groups = {command.name for command in COMMANDS if command.run is None}
        without = [n for n, p in subcommands(make_parser()) if n not in groups and "--json" not in p.format_help()]
        assert without == []

    def test_the_help_lists_every_command_in_a_section(self) -> None:
        shown = make_parser().format_help()
        names = [command.name for command in COMMANDS if " " not in command.name]
        assert all(re.search(rf"^  {name} ", shown, re.MULTILINE) for name in names)
        assert shown.index("Ask and list:") < shown.index("  recall ") < shown.index("The graph:")

    @pytest.mark.parametrize(
        ("words", "meant"),
        [
            (["recal", "x"], "Did you mean recall"),
            (["graph", "timelime", "x"], "Did you mean timeline"),
            (["recall", "x", "--limt", "3"], "Did you mean --limit"),
            (["entities", "list", "--pag-size", "3"], "Did you mean --page-size"),
            (["add", "x", "--kind", "episod"], "Did you mean episode"),
            (["tokens", "create", "me", "default", "--access", "rite"], "Did you mean write"),
        ],
    )
    def test_what_was_probably_meant_is_said(
        self, words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """For commands, options and their values."""
        with pytest.raises(SystemExit, match="2"):
            main(words)
        assert meant in capsys.readouterr().err

    def test_an_unlike_word_is_not_guessed_at(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(["zzzz"])
        assert "Did you mean" not in capsys.readouterr().err

    def test_the_usage_of_a_command_names_that_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(["graph", "path", "Alice"])
        assert capsys.readouterr().err.startswith("usage: remanence graph path [-h]")

    def test_a_group_alone_lists_its_commands(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["graph"]) == 2
        shown = capsys.readouterr().err
        assert shown.startswith("usage: remanence graph ")
        assert "timeline" in shown

    @pytest.mark.parametrize("words", [["recal", "x"], ["recall", "x", "--limit", "many"], ["graph", "path"]])
    def test_wrong_usage_is_json_if_asked_for(self, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            main([*words, "--json"])
        assert json.loads(capsys.readouterr().err)["error"]["type"] == "WrongUsage"


def test_results_and_errors_are_json_if_asked_for(run: Run, tmp_path: Path) -> None:
    """One value, or one a line where a list is printed."""
    memory = json.loads(run("add", "Alice lives in Porto.", "--json"))["id"]
    assert json.loads(run("count", "--json")) == json.loads(run("--json", "count")) == {"count": 1}
    assert json_lines(run("spaces", "--json")) == ["default"]
    assert json.loads(run("relate", "Bob", "knows", "Alice", "--valid-from", "2026-01-02", "--json"))[
        "valid_from"
    ].startswith("2026-01-02")
    assert json.loads(run("graph", "query", "Bob", "--json"))["edges"][0]["name"] == "knows"
    assert json_lines(run("entities", "list", "--json"))[0]["name"] == "Alice"
    assert json_lines(run("touch", memory, "--json"))[0]["uses"] == 1
    assert json.loads(run("forget", memory, "--json")) == {"forgotten": memory}
    assert json.loads(run("diff", "2020-01-01", "--json"))["related"][0]["object"] == "Alice"
    assert json.loads(run("verify", "--json"))["entries"] > 2
    assert json_lines(run("check", "--json"))[0]["differences"] == {}
    planned = json.loads(run("upkeep", "--dry-run", "--json"))
    assert (planned["position"] > 0, [plan["step"] for plan in planned["plans"]]) == (
        True,
        ["consolidate", "promote", "discover"],
    )
    assert json.loads(run("export", str(tmp_path / "all.jsonl"), "--json"))["entries"] > 2
    assert json.loads(run("erase", memory, "--yes", "--json"))["memories"] == [memory]

    error = json.loads(run("get", "nope", "--json", code=1))["error"]
    assert error["type"] == "NotFound"
    assert "nope" in error["message"]
    assert "has no JSON" in json.loads(run("demo", "--json", code=1))["error"]["message"]
    assert "--yes" in json.loads(run("erase", memory, "--json", code=2))["error"]["message"]


def test_a_full_disk_is_one_line(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """When the output goes to a file there."""

    def full(_: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    run("add", "Hello.")
    with monkeypatch.context() as patch:
        patch.setattr(sys.stdout, "write", full)
        code = main(["--memory", str(home), "memories"])
    assert (code, capsys.readouterr().err) == (1, f"error: [Errno {errno.ENOSPC}] No space left on device.\n")


def test_the_process_for_jobs_ends_quietly_if_the_server_has_ended(home: Path) -> None:
    """It may have been killed while the answer was made."""
    options = {"location": str(home), "extractor": None}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", "from remanence.cli.job_process import main; main()"],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        assert process.communicate(f"{json.dumps([options, 60])}\n".encode(), timeout=60)[1] == b""
    assert process.returncode == 0


class TestImport:
    def test_text_and_tables_are_imported_together(self, run: Run, tmp_path: Path) -> None:
        """Paragraphs are memories, dated by the name of the file."""
        notes, table = tmp_path / "2026-05-03 notes.txt", tmp_path / "facts.csv"
        notes.write_text("Ana lives\nin Porto.\n\n- Bo is a dog.\n- He is old,\n  and sleeps.\n", "utf-8")
        table.write_text("text,tags\nThe bridge is closed.,traffic\n", "utf-8")

        reports = json_lines(run("import", str(notes), str(table), "--json"))
        assert [report["added"] for report in reports] == [2, 1]
        kept = json_lines(run("memories", "--json"))
        assert {memory["text"] for memory in kept} == {
            "Ana lives\nin Porto.",
            "- Bo is a dog.\n- He is old,\n  and sleeps.",
            "The bridge is closed.",
        }
        assert {memory["told_at"][:10] for memory in kept if memory["source"] == notes.name} == {"2026-05-03"}
        assert "0 memories added, 2 imported before" in run("import", str(notes))

    def test_without_a_blank_line_each_line_is_a_memory(self, run: Run, tmp_path: Path) -> None:
        file = tmp_path / "notes.txt"
        file.write_text("Ana likes tea.\nBen likes coffee and cake.\n", "utf-8")
        run("import", str(file))
        assert [line.split("\t")[2] for line in run("memories").splitlines()] == [
            "Ana likes tea.",
            "Ben likes coffee and cake.",
        ]

    def test_nothing_is_imported_if_one_file_is_nothing(self, run: Run, tmp_path: Path, home: Path) -> None:
        """All are looked at before the first is written."""
        good, bad, broken = tmp_path / "a.txt", tmp_path / "b.bin", tmp_path / "c.txt"
        good.write_text("Ana likes tea.")
        bad.write_bytes(b"\x00\x01")
        broken.write_bytes(b"\xff\xfe\x00")
        assert "nothing that can be imported" in run("import", str(good), str(bad), code=1)
        assert "not UTF-8" in run("import", str(good), str(broken), code=1)
        assert not home.exists()


class TestTail:
    def test_what_was_learned_and_recalled_is_listed(self, run: Run, home: Path) -> None:
        """In all spaces, in order; and in one if it is named."""
        memory = run("add", "Alice lives in Porto.")
        run("add", "Bob's.", "--space", "bob")
        with remanence.open(home) as space:
            space.audit.record(space.recall("Where does Alice live?"))
        run("forget", memory, "--why", "moved")

        rows = json_lines(run("tail", "--once", "--json"))
        assert [(row["what"], row["space"]) for row in rows] == [
            ("learned", "default"),
            ("learned", "bob"),
            ("recalled", "default"),
            ("forgotten", "default"),
        ]
        assert rows[2]["memories"] == [memory]
        assert "Where does Alice live?  -> 1 memories" in run("tail", "--once")
        assert len(run("tail", "--once", "--lines", "2").splitlines()) == 2
        assert json_lines(run("tail", "--once", "--json", "--space", "bob"))[0]["text"] == "Bob's."

    def test_what_happens_meanwhile_is_shown_at_once(
        self, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Each time that it looks, until it is interrupted."""
        run("add", "Before.")
        texts = ["First.", "Second."]

        def sleep(seconds: float) -> None:
            if not texts:
                raise KeyboardInterrupt
            with remanence.open(home, worker=False) as space:
                space.add(texts.pop(0))

        monkeypatch.setattr(live_commands.time, "sleep", sleep)
        capsys.readouterr()
        assert main(["--memory", str(home), "tail", "--lines", "0"]) == 130
        assert re.findall(r"\w+\.$", capsys.readouterr().out, re.MULTILINE) == ["First.", "Second."]


class TestDoctor:
    def test_a_healthy_folder_has_no_problem(self, run: Run, home: Path) -> None:
        run("add", "Alice lives in Porto.")
        found = json_lines(run("doctor", "--deep", "--json"))
        assert {row["area"] for row in found} >= {"python", "packages", "models", "folder", "space"}
        assert not [row for row in found if row["status"] == "problem"]
        assert any("1 memories" in row["text"] for row in found)

    def test_a_folder_that_others_may_read_is_named(self, run: Run, home: Path) -> None:
        run("add", "Alice lives in Porto.")
        home.chmod(0o755)
        assert f"chmod 700 {home}" in run("doctor")
        home.chmod(0o700)
        assert "only its owner may enter it" in run("doctor")

    def test_a_ledger_that_cannot_be_opened_is_a_problem(
        self, run: Run, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With what to do, and exit code 1."""
        run("add", "Alice lives in Porto.")
        (home / "ledger.db").write_bytes(b"this is no database" * 100)
        assert main(["--memory", str(home), "doctor"]) == 1
        assert "!!  folder" in capsys.readouterr().out

    def test_no_folder_is_no_problem(self, run: Run, home: Path) -> None:
        assert "contains no memories yet" in run("doctor")
        assert not home.exists()


class TestChat:
    @pytest.fixture
    def typed(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
        monkeypatch.delenv(READER_VARIABLE, raising=False)

        def chat(lines: str, *options: str) -> str:
            monkeypatch.setattr("sys.stdin", io.StringIO(lines))
            return run("chat", *options)

        return chat

    def test_what_is_quoted_and_stored_is_shown(self, typed: Run, run: Run) -> None:
        shown = typed("I'm allergic to peanuts.\nWhat am I allergic to?\n/prompt\nThanks!\n")
        assert "stored:" in shown
        assert re.search(r"in the prompt:\n .*I'm allergic to peanuts\.", shown) is None  # it is in the conversation
        assert "nothing in the prompt: it is blank or only a greeting" in shown
        again = typed("", "What am I allergic to?", "/prompt", "--no-store")
        assert re.search(r"in the prompt:\n .*I'm allergic to peanuts\.", again)
        assert "<recalled-memories>" in again
        assert "nothing stored: nothing is to be stored" in again
        assert run("count") == "3"

    def test_an_unknown_command_is_named(self, typed: Run) -> None:
        """Before the list of those that there are."""
        assert "there is no command /stroe." in typed("/stroe\n")
        assert "there is no command" not in typed("/help\n")

    def test_the_past_stores_nothing(self, typed: Run, run: Run) -> None:
        run("add", "Alice lives in Porto.", "--now", "2026-01-01")
        shown = typed("/as-of 2025-01-01\nWhere does Alice live?\n/as-of\n/store\nWhere does Alice live?\n")
        first, second = shown.split("asking what is known now")
        assert "Porto" not in first
        assert "view of the past" in first
        assert "Porto" in second
        assert run("count") == "1"

    def test_a_model_answers_and_what_it_used_is_marked(
        self, typed: Run, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "my_chat.py").write_text(
            "from remanence import LLMExtractor\n"
            "def reply(prompt):\n"
            "    return 'Avoid peanuts.' if prompt.endswith('Assistant:') else '{\"facts\": []}'\n"
            "model = LLMExtractor(reply)\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        run("add", "I'm allergic to peanuts.")
        [found] = json_lines(typed("What am I allergic to?\n", "--extractor", "my_chat:model", "--json"))
        assert found["answer"] == "Avoid peanuts."
        assert [each["used"] for each in found["considered"] if each["quoted"]] == [True]
        assert {memory["text"] for memory in found["stored"]} == {"What am I allergic to?", "Avoid peanuts."}
        assert "* 0." in typed("What am I allergic to?\n", "--extractor", "my_chat:model")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The completion script of each shell, in a file."""
    folder = tmp_path_factory.mktemp("completion")
    found = {}
    for shell in ("bash", "zsh", "fish"):
        command = [sys.executable, "-m", "remanence.cli", "completion", shell]
        found[shell] = folder / f"remanence.{shell}"
        found[shell].write_text(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


class TestCompletion:
    @pytest.mark.parametrize(
        ("typed", "offered", "not_offered"),
        [
            (["rec"], {"recall"}, {"graph"}),
            (["graph", ""], {"query", "timeline"}, {"recall"}),
            (["recall", "--li"], {"--limit"}, {"--valid-from"}),
            (["add", "--kind", ""], {"episode", "semantic", "viewpoint"}, {"add"}),
            (["--space", "x", "models", ""], {"list", "get"}, {"recall"}),
            (["completion", ""], {"bash", "zsh", "fish"}, {"recall"}),
        ],
    )
    def test_bash_completes(
        self, scripts: dict[str, Path], typed: list[str], offered: set[str], not_offered: set[str]
    ) -> None:
        """Commands, options and their values."""
        words = " ".join(f"'{word}'" for word in ["remanence", *typed])
        code = f"source {scripts['bash']}; compopt() {{ :; }}; COMP_WORDS=({words}); COMP_CWORD={len(typed)}; "
        code += '_remanence; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
        assert offered <= set(done.stdout.split())
        assert not not_offered & set(done.stdout.split())
        assert done.stderr == ""

    @pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
    def test_fish_completes(self, scripts: dict[str, Path]) -> None:
        """With what each word does."""
        for typed, offered in (
            ("rec", "recall\tanswer a question"),
            ("graph que", "query"),
            ("add --kind v", "viewpoint"),
        ):
            code = f"source {scripts['fish']}; complete -C 'remanence {typed}'"
            done = subprocess.run(["fish", "-c", code], capture_output=True, text=True, check=True)
            assert any(line.lower().startswith(offered.lower()) for line in done.stdout.splitlines()), done.stdout

    @pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
    def test_zsh_takes_the_script(self, scripts: dict[str, Path]) -> None:
        """It defines a function for each command, and registers the first."""
        code = f"autoload -U compinit; compinit -u -D; source {scripts['zsh']}; print $_comps[remanence]; "
        code += "whence -w _remanence_graph_query _remanence_recall"
        done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == [
            "_remanence",
            "_remanence_graph_query: function",
            "_remanence_recall: function",
        ]

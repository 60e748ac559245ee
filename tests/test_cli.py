"""The command line: what is typed, what is printed, and how it ends."""

from __future__ import annotations

import argparse
import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence.cli import main
from remanence.cli.demo import STORY
from remanence.cli.parser import make_parser
from remanence.schema import LINK_KINDS, MEMORY_KINDS, PROCEDURE
from remanence.transfer.overview import LISTED_STATUSES
from remanence.upkeep.pipeline import DEFAULT_STEPS

Run = Callable[..., str]
COMMAND = [sys.executable, "-m", "remanence.cli"]


PARSER = make_parser()


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with its parser, `models get` and the like included."""

    def below(parser: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, child in action.choices.items():
                    yield f"{path}{name}", child
                    yield from below(child, f"{path}{name} ")

    return below(PARSER, "")


class TestAddAndRecall:
    def test_what_was_added_is_recalled(self, run: Run) -> None:
        """Two commands, one life."""
        memory_id = run("add", "Alice lives in Porto.")

        score, found, text = run("recall", "Where does Alice live?").split("\t")
        assert (found, text) == (memory_id, "Alice lives in Porto.")
        assert 0 < float(score) <= 1

    def test_several_spaces_are_one_list(self, run: Run, home: Path) -> None:
        """Each hit with its space; also as of a moment. A name that no space has is refused."""
        run("add", "Ana likes the night train.", "--space", "default/users/ana")
        run("add", "The offsite is in Porto in June.", "--space", "default/team", "--now", "2026-05-01")
        asked = ("recall", "Where is the offsite?", "--space", "default/users/ana")

        assert "Porto" not in run(*asked)
        assert run(*asked, "--also", "default/team").splitlines()[0].endswith("in June. (in default/team)")
        hits = json.loads(run(*asked, "--also", "default/team", "--json"))
        assert {hit["space"] for hit in hits} == {"default/users/ana", "default/team"}
        assert run(*asked, "--also", "default/team", "--as-of", "2020-01-01") == ""
        assert "There is: default/team" in run(*asked, "--also", "team", code=1)
        assert "there is no space 'default/tim'" in run(*asked, "--also", "default/tim", code=1)

    def test_a_short_answer_is_printed_with_its_question(self, run: Run, home: Path) -> None:
        """As in a prompt."""
        with remanence.open(home) as space:
            space.add_turns(
                [
                    {"role": "assistant", "content": "Do you have any allergies?"},
                    {"role": "user", "content": "yes, peanuts"},
                ]
            )
        printed = [line.split("\t")[2] for line in run("recall", "peanuts").splitlines()]

        assert printed[0] == "(assistant: Do you have any allergies?) me: yes, peanuts"

    def test_every_field_can_be_typed(self, run: Run) -> None:
        """What `space.add` takes, the command takes."""
        typed = run(
            *("add", "Alice lives in Porto.", "--key", "home", "--kind", "viewpoint"),
            *("--valid-from", "2026-01-01", "--valid-until", "2026-06-01", "--expires-at", "2030-01-01"),
            *("--importance", "0.9", "--confidence", "0.8", "--tag", "home", "--tag", "people"),
            *("--source", "diary", "--observed-by", "Bob", "--now", "2026-02-03", "--json"),
        )

        memory = json.loads(typed)
        assert memory["key"] == "home"
        assert memory["kind"] == "viewpoint"
        assert memory["valid_from"] == "2026-01-01T00:00:00+00:00"
        assert memory["valid_until"] == "2026-06-01T00:00:00+00:00"
        assert memory["expires_at"] == "2030-01-01T00:00:00+00:00"
        assert (memory["importance"], memory["confidence"]) == (0.9, 0.8)
        assert memory["tags"] == ["home", "people"]
        assert (memory["source"], memory["observed_by"]) == ("diary", "Bob")
        assert memory["recorded_at"] == "2026-02-03T00:00:00+00:00"

    def test_a_text_can_come_from_a_pipe(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """`-` reads standard input."""
        monkeypatch.setattr("sys.stdin", io.StringIO("Alice drinks green tea.\n"))
        run("add", "-")

        assert "Alice drinks green tea." in run("memories")

    def test_json_has_what_to_dicts_gives(self, run: Run, home: Path) -> None:
        """A machine reads the same answer as a program."""
        run("add", "Alice lives in Porto.", "--now", "2026-01-01")
        typed = json.loads(run("recall", "Alice", "--json", "--now", "2026-05-01"))

        with remanence.open(home) as space:
            expected = space.recall("Alice", now="2026-05-01").to_dicts()
        assert [{name: hit[name] for name in fields} for hit, fields in zip(typed, expected, strict=True)] == expected

    @pytest.mark.parametrize("command", [("recall", "Alice"), ("memories",)])
    def test_filters_can_be_typed(self, run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
        """Source, speaker, conversation and metadata, of `recall` and of `memories`."""
        run("add", "Alice lives in Porto.", "--source", "diary", "--observed-by", "Bob")
        rows = tmp_path / "rows.jsonl"
        rows.write_text('{"text": "Alice has a cat.", "meta": {"page": 3}}')
        turns = tmp_path / "turns.jsonl"
        turns.write_text('{"speaker": "Ana", "content": "I saw Alice.", "conversation": "c1"}')
        run("add-many", str(rows))
        run("add-turns", str(turns))

        for options, text in (
            (("--source", "diary"), "Alice lives in Porto."),
            (("--speaker", "bob"), "Alice lives in Porto."),
            (("--conversation", "c1"), "I saw Alice."),
            (("--meta", '{"page": {"$gte": 3}}'), "Alice has a cat."),
        ):
            [line] = run(*command, *options).splitlines()
            assert line.endswith(text)
        with pytest.raises(SystemExit, match="2"):
            run(*command, "--meta", "page=3")
        run(*command, "--meta", "[]", code=2)

    def test_every_option_of_recall_reaches_it(self, run: Run) -> None:
        """During, history, kinds, tags, limits and signals narrow the answer as they do in Python."""
        run("add", "Alice lives in Porto.", "--key", "home", "--tag", "a", "--now", "2026-01-01")
        run("add", "Alice lives in Lisbon.", "--key", "home", "--tag", "b", "--now", "2026-05-03")

        asked = ("recall", "Where does Alice live?")
        assert "Porto" not in run(*asked)
        assert "Porto" in run(*asked, "--history")
        assert "Porto" not in run("recall", "Where did Alice live previously?", "--no-history")
        assert "Porto" in run(*asked, "--as-of", "2026-02-01")
        assert "Porto" in run(*asked, "--tag", "a", "--history")
        assert run(*asked, "--tag", "a") == ""
        assert run(*asked, "--kind", "episode") == ""
        assert run(*asked, "--min-score", "1") == ""
        assert len(run(*asked, "--history", "--limit", "1").splitlines()) == 1
        assert "2026-04-01 to 2026-05-01" in run(*asked, "--during", "April 2026", "--explain")
        explained = run(*asked, "--signals", "words, times", "--explain")
        assert "words #1" in explained
        assert "vectors" not in explained

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("--min-trust", "much"), "--min-trust 'much' is neither a number from 0 to 1 nor one of trusted"),
            (("--min-score", "2"), "--min-score 2.0 is not a number from 0 to 1"),
            (("--limit", "0"), "--limit 0 is not a whole number from 1 on"),
            (("--deadline", "-1"), "--deadline -1.0"),
            (("--during", "whenever"), "--during 'whenever'"),
            (("--weights", "words=0"), "--weights {'words': 0.0} are not numbers from 0 on with one above 0"),
        ],
    )
    def test_a_value_that_is_not_valid_is_named(self, run: Run, words: tuple[str, str], said: str) -> None:
        """With its option, as wrong usage."""
        run("add", "Alice lives in Porto.")

        assert said in run("recall", "Alice", *words, code=2)

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("--limit", "many"), "'many' is not a whole number. Give for example 10"),
            (("--deadline", "soon"), "'soon' is not a number. Give for example 0.5"),
            (("--weights", "words"), "'words' is not of the form words=0.6,vectors=0.4"),
            (("--include", "all"), "It is one of archive, vault, review."),
            (("--kind", "dream"), "It is one of episode, semantic, viewpoint, procedure."),
        ],
    )
    def test_a_value_of_another_type_is_named(
        self, run: Run, capsys: pytest.CaptureFixture[str], words: tuple[str, str], said: str
    ) -> None:
        """Before a folder is opened."""
        with pytest.raises(SystemExit, match="2"):
            run("recall", "Alice", *words)
        assert said in capsys.readouterr().err

    def test_trust_sources_and_turns_narrow_a_recall(self, run: Run) -> None:
        """Each option of `recall` that fits a command line is one of the command."""
        run("add", "Ana drinks tea.", "--trust", "web", "--source", "forum")
        run("add", "Ana drinks milk.", "--source", "diary")
        asked = ("recall", "What does Ana drink?", "--embedder", "fast")

        assert len(run(*asked).splitlines()) == 2
        for narrowing in (
            ("--min-trust", "0.9"),
            ("--min-trust", "user"),
            ("--without", "forum"),
            ("--exclude-texts", "Ana drinks tea."),
        ):
            [line] = run(*asked, *narrowing).splitlines()
            assert line.endswith("Ana drinks milk.")
        told = run("recall", "What does she drink?", "--context", "user: Ana is here.", "--deadline", "60")
        assert "Ana drinks" in told

    def test_a_blank_space_is_not_the_default_one(self, run: Run) -> None:
        """`--space "$USER_SPACE"` with a variable that is not set is a mistake."""
        run("add", "Ana drinks tea.")
        for blank in ("", "  "):
            assert "--space is blank" in run("--space", blank, "recall", "tea", code=1)
            assert "--space is blank" in run("--space", blank, "add", "Bob rows.", code=1)

    def test_a_blank_question_is_refused(self, run: Run) -> None:
        """`recent` lists what was told last, with the filters of `recall`."""
        run("add", "Ana drinks tea.", "--tag", "drink", "--now", "2026-05-01")
        run("add", "Bob rows.", "--now", "2026-05-02")

        assert "`remanence recent`" in run("recall", "--tag", "drink", code=2)
        assert "is blank" in run("recall", " ", code=2)
        assert [line.split("\t")[2] for line in run("recent").splitlines()] == ["Bob rows.", "Ana drinks tea."]
        assert "Ana drinks tea." in run("recent", "--tag", "drink")
        assert "Bob" not in run("recent", "--tag", "drink")

    def test_many_are_added_from_a_file(self, run: Run, tmp_path: Path) -> None:
        """One JSON object a line; blank lines do no harm."""
        file = tmp_path / "facts.jsonl"
        file.write_text('{"text": "One."}\n\n{"text": "Two.", "tags": ["n"]}\n', "utf-8")

        assert run("add-many", str(file)) == "2 memories added"
        assert run("count") == "2"

    def test_turns_are_added_from_a_file(self, run: Run, tmp_path: Path) -> None:
        """A chat keeps its speakers."""
        file = tmp_path / "chat.jsonl"
        file.write_text('{"speaker": "Ana", "content": "I like cheese.", "time": "2026-01-01"}\n', "utf-8")

        (turn,) = json.loads(run("add-turns", str(file), "--json"))
        assert (turn["speaker"], turn["text"]) == ("Ana", "I like cheese.")

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ('{"text": "One."', "line 2 is not JSON"),
            ('["One."]', "line 2 is not a JSON object"),
            ('{"txet": "One."}', "row 2: text is missing"),
        ],
    )
    def test_a_bad_line_is_named_and_nothing_is_kept(self, run: Run, tmp_path: Path, line: str, said: str) -> None:
        """A file is kept whole or not at all."""
        file = tmp_path / "facts.jsonl"
        file.write_text(f'{{"text": "Fine."}}\n{line}\n', "utf-8")
        run("add", "Something else.")

        assert said in run("add-many", str(file), code=1)
        assert run("count") == "1"


def test_the_choices_on_the_command_line_are_those_of_the_api() -> None:
    """options.json repeats some lists, as the parser loads no engine."""
    parser = Path(remanence.__file__).parent / "cli" / "options.json"
    options = json.loads(parser.read_text("utf-8"))
    assert options["add --kind"]["choices"] == [kind for kind in MEMORY_KINDS if kind != PROCEDURE]
    assert options["kind"]["choices"] == list(LINK_KINDS)
    assert set(options["--status"]["choices"]) == set(LISTED_STATUSES)
    assert set(DEFAULT_STEPS) | {"gc"} == set(options["--step"]["choices"])


class TestLettingGo:
    def test_forgotten_and_brought_back(self, run: Run) -> None:
        """Forgetting hides; unforgetting shows."""
        memory_id = run("add", "Alice lives in Porto.")

        run("forget", memory_id, "--why", "she asked")
        assert run("count") == "0"
        assert "unforget" in run("get", memory_id, code=1)

        run("unforget", memory_id)
        assert "Alice lives in Porto." in run("get", memory_id)

    def test_erasing_needs_a_yes_where_nobody_can_be_asked(self, run: Run) -> None:
        """A script has to mean it."""
        memory_id = run("add", "Alice lives in Porto.")

        assert "--yes" in run("erase", memory_id, code=2)
        assert run("count") == "1"

        run("erase", memory_id, "--yes")
        assert run("count") == "0"
        assert "2 ledger entries" in run("verify")

    def test_a_space_is_erased_with_those_below_it(self, run: Run) -> None:
        """Everything of one user goes in one command, and nothing of another."""
        for name in ("users/bob", "users/bob/window", "users/ana"):
            run("add", f"A text of {name}.", "--space", name)

        assert "--yes" in run("erase-space", "--space", "users/bob", code=2)
        run("erase-space", "--space", "users/bob", "--yes")
        assert run("spaces").split() == ["default/users/ana"]

    def test_everything_about_somebody_is_listed_then_erased(self, run: Run) -> None:
        """A dry run changes nothing; without --yes it asks."""
        run("add", "Clara lives in Porto.")
        run("add", "Bob rows.")
        assert "names Clara" in run("erase-about", "Clara", "--dry-run")
        assert "--yes" in run("erase-about", "Clara", code=2)
        assert run("count") == "2"
        assert "erased 1 of the memories" in run("erase-about", "Clara", "--yes")
        assert run("count") == "1"

    @pytest.mark.parametrize(("said", "left"), [("n", "1"), ("", "1"), ("y", "0")])
    def test_erasing_asks_at_a_terminal(self, run: Run, monkeypatch: pytest.MonkeyPatch, said: str, left: str) -> None:
        """Only a yes erases, and the words are shown before."""
        memory_id = run("add", "Alice lives in Porto.")
        questions: list[str] = []
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("builtins.input", lambda question: questions.append(question) or said)

        run("erase", memory_id, code=0 if left == "0" else 1)
        assert "Alice lives in Porto." in questions[0]
        assert run("count") == left


class TestTheFolder:
    def test_spaces_are_named_as_they_are_listed(self, run: Run) -> None:
        """What `spaces` prints, `--space` takes, slashes and all."""
        run("add", "Mine.")
        run("--space", "default/users/bob", "add", "Bob's.")
        run("add", "Odd.", "--space", "a%2Fb")

        assert run("spaces").splitlines() == ["a%2Fb", "default", "default/users/bob"]
        assert run("spaces", "--space", "default").splitlines() == ["default", "default/users/bob"]
        assert "Bob's." in run("memories", "--space", "default/users/bob")
        assert "Odd." in run("memories", "--space", "a%2Fb")
        assert run("count") == "1"

    def test_upkeep_takes_the_folder_as_it_reads(self, run: Run, home: Path) -> None:
        """`remanence rebuild ./memory`, in every space."""
        run("add", "Mine.")
        run("--space", "work", "add", "Theirs.")

        for verb in ("verify", "check", "rebuild", "spaces", "count", "memories"):
            assert main([verb, str(home)]) == 0
        assert run("rebuild").splitlines() == ["default: rebuilt", "work: rebuilt"]
        assert run("check", "--space", "work") == "work: the indexes agree with the ledger"

    def test_rebuild_can_change_the_embedder(self, run: Run) -> None:
        """With a name it embeds anew; the same one costs nothing."""
        run("add", "Alice lives in Porto.")

        assert "remanence-256" in run("rebuild", "--embedder", "remanence-256")
        assert "Porto" in run("recall", "Alice")

    def test_the_environment_names_the_folder(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """REMANENCE_MEMORY stands in for --memory."""
        monkeypatch.setenv("REMANENCE_MEMORY", str(home))

        assert main(["add", "Alice lives in Porto."]) == 0
        assert (home / "ledger.db").exists()

    @pytest.mark.parametrize("verb", ["count", "spaces", "verify", "check", "rebuild", "memories"])
    def test_asking_makes_no_folder(self, run: Run, home: Path, verb: str) -> None:
        """A mistyped folder is an error, and is not there afterwards."""
        assert "contains no memories" in run(verb, code=1)
        assert not home.exists()

    def test_an_empty_space_names_those_below_it(
        self, run: Run, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Where each user has one, who asks without a name would be told nothing."""
        with remanence.open(home) as space:
            space.child("users", "bob").add("I am allergic to peanuts.")
        assert main(["--memory", str(home), "recall", "What am I allergic to?"]) == 0
        assert capsys.readouterr().err == "default has no memories; --space names another: default/users/bob\n"
        assert "peanuts" in run("recall", "What am I allergic to?", "--space", "default/users/bob")
        assert not capsys.readouterr().err

    def test_a_file_in_place_of_the_folder_is_named(self, run: Run, home: Path) -> None:
        home.write_text("text")
        assert "is a file, not a folder with memories" in run("count", code=1)

    @pytest.mark.parametrize("space", ["default/", "/default", "default//users"])
    def test_a_token_for_a_space_that_cannot_be_is_refused(self, run: Run, space: str) -> None:
        """It would open nothing."""
        assert "is no name of a space" in run("tokens", "create", "laptop", space, code=1)

    def test_a_file_is_no_folder(self, run: Run, home: Path) -> None:
        """The ledger's own words reach the user."""
        home.write_text("not a folder")

        assert run("add", "Hello.", code=1).startswith("error: ")


class TestModels:
    def test_models_are_listed(self, run: Run) -> None:
        """Each known name, and how to come by it."""
        listed = run("models", "list")
        assert "remanence-256" in listed
        assert "bge-small-en-v1.5" in listed

    def test_an_unknown_model_names_the_known(self, run: Run) -> None:
        """The error is the list."""
        assert "bge-small-en-v1.5" in run("models", "get", "word2vec", code=1)


class TestHowItEnds:
    def test_an_error_is_one_line_and_no_traceback(self, run: Run) -> None:
        """What the library would raise, said plainly."""
        said = run("add", "   ", code=1)
        assert said.startswith("error: text='   ' is blank.")
        assert "Traceback" not in said

    @pytest.mark.parametrize(
        "words", [["fly"], ["add"], ["add", "x", "--importance", "much"], ["add", "x", "--kind", "dream"]]
    )
    def test_what_is_typed_wrong_ends_with_two(self, words: list[str]) -> None:
        """Usage errors are told from failures."""
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2

    def test_no_command_shows_the_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Somebody who types only the name sees what there is."""
        assert main([]) == 2
        assert "recall" in capsys.readouterr().err

    def test_the_version_is_the_package_s(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`--version` says which release this is."""
        with pytest.raises(SystemExit) as ended:
            main(["--version"])
        assert ended.value.code == 0
        assert capsys.readouterr().out.strip() == f"remanence {remanence.__version__}"

    def test_an_interrupt_ends_with_130(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Ctrl-C while it waits for standard input: quiet, and the code shells expect."""

        class Waiting(io.StringIO):
            def read(self, size: int | None = -1, /) -> str:
                raise KeyboardInterrupt

        monkeypatch.setattr("sys.stdin", Waiting())
        assert main(["--memory", str(home), "add", "-"]) == 130
        assert capsys.readouterr() == ("", "\n")
        assert not home.exists()

    def test_a_closed_pipe_is_quiet(self, run: Run, home: Path, tmp_path: Path) -> None:
        """`remanence memories | head -1` says nothing on stderr."""
        file = tmp_path / "many.jsonl"
        file.write_text("".join(json.dumps({"text": f"Number {n}. " * 20}) + "\n" for n in range(500)))
        run("add-many", str(file))

        with subprocess.Popen(
            [*COMMAND, "--memory", str(home), "memories"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 141

    def test_a_closed_output_is_no_error(self, home: Path) -> None:
        """`remanence add ... >&-`: the memory is stored, and nothing is printed."""
        command = shlex.join([*COMMAND, "--memory", str(home), "add", "Zoe drinks tea."])
        done = subprocess.run(["sh", "-c", f"{command} >&-"], stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        with remanence.open(home) as space:
            assert space.count() == 1

    def test_a_narrow_encoding_does_no_harm(self, home: Path) -> None:
        """A terminal that knows only ASCII shows what it can."""
        environment = {**os.environ, "PYTHONIOENCODING": "ascii", "REMANENCE_MEMORY": str(home)}
        code = """
from remanence.cli import main
for words in (["add", "Zo\u00eb drinks ch\u00e1."], ["recall", "What does Zo\u00eb drink?", "--explain"]):
    assert main(words) == 0
"""
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert b"drinks ch" in done.stdout

    def test_colours_are_for_terminals_only(self, run: Run, home: Path) -> None:
        """The same command has a table at a terminal and plain lines in a pipe. Escapes of a memory are shown."""
        run("add", "Alice \x1b[31mlives in Porto.")
        command = [*COMMAND, "--memory", str(home), "recall", "Where does Alice live?"]

        piped = subprocess.run(command, capture_output=True, check=True).stdout
        assert b"\x1b" not in piped

        shown = _at_terminal(command)
        assert b"\x1b" in shown
        assert rb"Alice \u001b[31mlives" in shown
        assert b"--explain says why" in shown

    def test_progress_bars_are_drawn_at_a_terminal(self, home: Path, tmp_path: Path) -> None:
        """Their escapes move the cursor and are not shown as text."""
        rows, memory = tmp_path / "rows.jsonl", ["--memory", str(home)]
        rows.write_text("".join(json.dumps({"text": f"Fact {number}."}) + "\n" for number in range(300)))

        for command in (["add-many", str(rows)], ["rebuild"]):
            shown = _at_terminal([*COMMAND, *memory, *command])
            assert b"\x1b[" in shown
            assert rb"\u001b" not in shown


def test_errors_name_commands(run: Run) -> None:
    """Not methods, which nobody can call there."""
    memory = run("add", "Alice lives in Porto.")
    run("forget", memory)

    assert "See `remanence entities list`" in run("graph", "timeline", "Zed", code=1)
    assert f"Restore it first: `remanence unforget {memory}`." in run("touch", memory, code=1)


class TestHelp:
    @pytest.mark.parametrize(("name", "parser"), [pytest.param(*it, id=it[0]) for it in parsers()])
    def test_every_command_explains_itself(self, name: str, parser: argparse.ArgumentParser) -> None:
        """A sentence, and an example that parses."""
        help_text = parser.format_help()
        assert parser.description
        example = re.search(r"Example:\n  remanence (.+)", help_text)
        assert example is not None
        assert example.group(1).startswith(name.split()[0])

        assert PARSER.parse_args(shlex.split(example.group(1))).run is not None

    def test_help_loads_no_engine(self) -> None:
        """It answers at once."""
        code = (
            "import sys\nfrom remanence.cli import main\n"
            "try: main(['recall', '--help'])\nexcept SystemExit: pass\n"
            "heavy = {'numpy', 'pydantic', 'sqlalchemy', 'igraph', 'qdrant_edge', 'qdrant_client', 'rich',\n"
            "         'dateparser', 'tokenizers'} & set(sys.modules)\n"
            "assert not heavy, heavy"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


_MODEL_VARIABLES = ("REMANENCE_READER", "REMANENCE_EMBEDDER")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The story, told once into a pipe and kept, with the models that everybody gets."""
    folder = tmp_path_factory.mktemp("demo") / "maya"
    setting = {name: value for name, value in os.environ.items() if name not in _MODEL_VARIABLES}
    command = [*COMMAND, "demo", "--keep", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=setting)
    return {"text": done.stdout, "folder": folder}


class TestDemo:
    def test_it_is_plain(self, told: dict[str, Any]) -> None:
        """It needs no terminal."""
        assert "\x1b" not in told["text"]

    def test_each_signal_is_the_strongest_once(self, told: dict[str, Any]) -> None:
        """One question for each signal. The graph's answer comes after the memory that leads to it."""
        text = " ".join(told["text"].split())
        assert re.findall(r"right answer has rank (\d+)\. Strongest signal: (\w+)", text) == [
            ("1", "vectors"),
            ("1", "words"),
            ("2", "graph"),
            ("1", "times"),
        ]

    def test_the_right_answers_come_first(self, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        """Asked again of the folder that the demo kept."""
        for variable in _MODEL_VARIABLES:
            monkeypatch.delenv(variable, raising=False)
        with remanence.open(told["folder"]) as space:
            for row in STORY["questions"]:
                first = space.recall(row["question"], now="2026-11-15", limit=2)
                assert row["answer"] in first[row["answer"] == "pumps"].memory.text
            for row in STORY["changed_questions"]:
                assert row["before"] in space.as_of(STORY["past_date"]).recall(row["question"])[0].memory.text
                assert row["after"] in space.recall(row["question"])[0].memory.text

    def test_what_was_erased_is_nowhere(self, told: dict[str, Any]) -> None:
        """The story's claim about the files is true."""
        text = " ".join(told["text"].split())
        assert "after space.forget(id): not found today, found in the earlier view" in text
        assert "after space.erase(id): not found today, not found in the earlier view" in text
        assert "files that contain it: none of" in text

    def test_it_keeps_nothing_behind(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Its folder is gone when it ends."""
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        assert main(["demo"]) == 0
        assert list(tmp_path.iterdir()) == []

    def test_it_writes_over_nothing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A folder with something in it is left alone."""
        (tmp_path / "mine.txt").write_text("mine")
        assert main(["demo", "--keep", str(tmp_path)]) == 1
        assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def _at_terminal(command: list[str]) -> bytes:
    """What a command that succeeds sends to a terminal with colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        shown = _all_of(ours)
        problem = b"" if process.stderr is None else process.stderr.read()
    assert process.returncode == 0, problem
    return shown


def _all_of(descriptor: int) -> bytes:
    """What a terminal was sent; Linux says that the other side hung up with an error."""
    seen = b""
    try:
        while block := os.read(descriptor, 65_536):
            seen += block
    except OSError:
        pass
    os.close(descriptor)
    return seen


def test_a_space_that_does_not_exist_is_refused(run: Run) -> None:
    """A mistyped name does not look like an empty space; one that has spaces below it exists."""
    run("--space", "default/users/bob", "add", "I like tea.")

    assert "There is: default/users/bob" in run("--space", "bob", "count", code=1)
    assert "there is no space 'default/users/ana'" in run("--space", "users/ana", "count", code=1)
    assert run("--space", "default/users/bob", "count") == "1"
    assert run("--space", "default/users", "count") == "0"


def test_tokens_are_made_in_a_new_folder(run: Run) -> None:
    """Before the server was started and before anything was added."""
    assert run("tokens", "create", "laptop", "default").startswith("rem_")
    assert "laptop" in run("tokens", "list")
    assert run("count") == "0"


def test_a_space_below_the_default_one_needs_no_prefix(run: Run) -> None:
    """As `child("users", "bob")`; a space of that name comes first."""
    run("--space", "users/bob", "add", "Bob drinks tea.")
    assert run("spaces") == "default/users/bob"
    assert "Bob drinks tea." in run("--space", "users/bob", "memories")
    assert run("--space", "users/bob", "spaces") == "default/users/bob"
    run("--space", "teams", "add", "The team meets on Monday.")
    run("--space", "teams/red", "add", "Red is the colour.")

    assert run("spaces").splitlines() == ["default/users/bob", "teams", "teams/red"]


@pytest.mark.parametrize(("typed", "meant"), [("search", "recall"), ("list", "memories"), ("delete", "forget")])
def test_commands_of_other_memories_are_answered_with_ours(
    run: Run, capsys: pytest.CaptureFixture[str], typed: str, meant: str
) -> None:
    """By the word that is meant."""
    with pytest.raises(SystemExit):
        run(typed, "tea")
    assert f"Did you mean {meant}?" in capsys.readouterr().err

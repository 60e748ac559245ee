"""The commands for remembering and for the graph: they do what the verbs of the same name do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import remanence
from remanence.cli import admin_commands, main
from remanence.errors import LedgerUnavailable
from remanence.remember.jobs import JobQueue

Run = Callable[..., str]


# Remembering


def test_what_is_remembered_is_printed_and_described(run: Run) -> None:
    """The facts, and then the profile they make."""
    said = run("remember", "I live in Porto.", "--now", "2026-05-04", "--json")

    assert "Porto" in json.loads(said)["text"]
    assert "Porto" in run("profile")


def test_a_chat_is_remembered_from_a_file(run: Run, tmp_path: Path) -> None:
    """One JSON object a line; a text beside it is refused, and so is neither."""
    turns = tmp_path / "chat.jsonl"
    turns.write_text('{"speaker": "Ana", "content": "I live in Braga."}\n')

    assert "Braga" in run("remember", "--turns", str(turns))
    assert "either a text or --turns" in run("remember", "hello", "--turns", str(turns), code=1)
    assert "either a text or --turns" in run("remember", code=1)


def test_what_is_queued_is_done_by_work(run: Run) -> None:
    """In another process, if one likes; once."""
    job = run("remember", "I live in Porto.", "--no-wait")
    assert run("jobs") == f"{job}\tqueued"

    assert run("work", "--once") == "1 job worked on"
    assert run("jobs") == f"{job}\tdone"
    assert run("work", "--once") == "0 jobs worked on"
    run("remember", "Bob lives in Braga.", "--no-wait", "--space", "bob")
    assert run("work", "--once", "--space", "default") == "0 jobs worked on"
    assert "there is no space 'eve'" in run("work", "--once", "--space", "eve", code=1)
    assert run("work", "--once", "--space", "bob") == "1 job worked on"


def test_work_goes_on_when_the_ledger_is_away_for_a_while(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so and tries again, until it is interrupted."""
    job = run("remember", "I live in Porto.", "--no-wait")
    rounds: list[object] = [LedgerUnavailable("the server is gone."), JobQueue.run_due, KeyboardInterrupt()]

    def run_due(queue: JobQueue) -> int:
        step = rounds.pop(0)
        if isinstance(step, BaseException):
            raise step
        return real(queue)

    real = JobQueue.run_due
    monkeypatch.setattr(JobQueue, "run_due", run_due)
    monkeypatch.setattr(admin_commands, "_RETRY_SECONDS", 0.0)
    assert "trying again: the server is gone." in run("work", code=130)
    assert run("jobs") == f"{job}\tdone"


def test_an_extractor_of_one_s_own_is_named_by_its_module(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that cannot be loaded is named in the error."""
    (tmp_path / "my_models.py").write_text(
        "import remanence\n"
        "def model(prompt: str) -> str:\n"
        '    return \'{"facts": [{"text": "Alice owns a boat.", "quotation": "has a boat"}]}\'\n'
        "llm = remanence.LLMExtractor(model)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert "Alice owns a boat." in run("remember", "Alice has a boat.", "--extractor", "my_models:llm")
    assert "my_models:nobody" in run("remember", "x y z", "--extractor", "my_models:nobody", code=1)


def test_expired_memories_are_swept(run: Run) -> None:
    """Once."""
    run("add", "The meeting is at three.", "--expires-at", "2020-01-01")

    assert "The meeting" in run("expire")
    assert run("expire") == ""


# The graph


def test_relations_have_windows(run: Run) -> None:
    """The later one closes the earlier one, and `when` shows both."""
    run("relate", "Alice", "lives_in", "Porto", "--valid-from", "2024-01-01")
    run("relate", "Alice", "lives_in", "Lisbon", "--valid-from", "2026-05-03")

    assert run("graph", "when", "Alice", "lives_in").splitlines() == [
        "Alice —lives_in→ Porto (2024-01-01 to 2026-05-03)",
        "Alice —lives_in→ Lisbon (since 2026-05-03)",
    ]
    assert run("graph", "query", "Alice", "--at", "2025-01-01") == ("Alice —lives_in→ Porto\t2024-01-01 to 2026-05-03")
    ended = run("graph", "invalidate", "Alice", "lives_in", "--until", "2026-06-01", "--why", "she left")
    assert ended == "Alice —lives_in→ Lisbon (2026-05-03 to 2026-06-01)"
    assert "she left" in run("graph", "timeline", "Alice")


def test_a_relation_is_erased(run: Run) -> None:
    """For good, and only after a yes."""
    run("relate", "Alice", "lives_in", "Porto", "--valid-from", "2024-01-01")
    run("relate", "Alice", "lives_in", "Lisbon", "--valid-from", "2026-05-03")

    assert "Give --yes" in run("graph", "erase", "Alice", "lives_in", "Porto", code=2)
    assert "1 related" in run("graph", "erase", "Alice", "lives_in", "Porto", "--yes")
    assert run("graph", "when", "Alice", "lives_in") == "Alice —lives_in→ Lisbon (since 2026-05-03)"
    assert "no relation is stated" in run("graph", "erase", "Alice", "knows", "Lisbon", "--yes", code=1)


def test_two_entities_are_connected(run: Run) -> None:
    """By the shortest way, or by none."""
    run("relate", "Alice", "works_at", "Acme")
    run("relate", "Bob", "works_at", "Acme")
    run("relate", "Carol", "works_at", "Globex")

    assert run("graph", "path", "Alice", "Bob") == "Alice —works_at→ Acme ←works_at— Bob"
    assert run("graph", "path", "Alice", "Carol") == "no path was found"


def test_predicates_are_declared(run: Run) -> None:
    """From then on one leader is followed by another."""
    run("declare", "captain_of", "--single-valued")
    run("relate", "Ann", "captain_of", "Reds", "--valid-from", "2024")
    run("relate", "Ann", "captain_of", "Blues", "--valid-from", "2025")

    assert run("graph", "when", "Ann", "captain_of").splitlines()[0].endswith("(2024-01-01 to 2025-01-01)")


def test_memories_are_linked_and_superseded(run: Run) -> None:
    """A kind that is none is a usage error."""
    old, new = run("add", "The bridge is open."), run("add", "The bridge was closed on Monday.")
    run("link", new, "supersedes", old, "--why", "a sign says so")

    assert run("recall", "bridge").split("\t")[1] == new
    assert "a sign says so" in run("graph", "timeline", old)
    with pytest.raises(SystemExit):
        main(["link", new, "loves", old])


def test_entities_are_named_merged_and_parted(run: Run) -> None:
    """Each change prints the number by which it is taken back."""
    first = run("entities", "register", "Robert Jones", "--alias", "Bob", "--kind", "person").split("\t")
    run("entities", "register", "Bobby")
    assert first[1:] == ["new", "Bob"]

    line = run("entities", "merge", "Bobby", "Robert Jones", "--why", "he said so")
    assert run("entities", "resolve", "Bobby") == run("entities", "resolve", "Bob")
    run("entities", "undo", line)
    assert run("entities", "resolve", "Bobby") != run("entities", "resolve", "Bob")
    run("entities", "rename", "Bob", "Rob")
    listed = [json.loads(row) for row in run("entities", "list", "--json").splitlines()]
    assert [entity["name"] for entity in listed] == ["Rob", "Bobby"]
    assert "Near names" not in run("entities", "propose", "Bobby Jones")
    assert "no entity is named 'Zed'" in run("entities", "resolve", "Zed", code=1)


def test_what_changed_between_two_moments_is_told(run: Run) -> None:
    """Learned, and forgotten."""
    run("add", "Alice lives in Porto.", "--now", "2026-01-01")
    run("forget", run("add", "Alice likes tea.", "--now", "2026-02-01"))

    said = run("diff", "2026-01-15").splitlines()
    assert "1 learned" in said[0]
    assert [row.split("\t")[0] for row in said[1:]] == ["learned", "forgotten"]


def test_a_picture_is_drawn(run: Run, tmp_path: Path) -> None:
    """As a page, or refused with the suffixes there are."""
    run("relate", "Alice", "lives_in", "Porto")
    page = tmp_path / "graph.html"

    assert run("graph", "save", str(page)) == str(page)
    assert "Porto" in page.read_text("utf-8")
    assert ".graphml" in run("graph", "save", str(tmp_path / "graph.png"), code=1)


def test_a_command_that_only_looks_leaves_jobs_alone(run: Run, home: Path) -> None:
    """It is over before they would be."""
    job = run("remember", "I live in Porto.", "--no-wait")
    run("count")

    with remanence.open(home, worker=False) as space:
        assert [(each.id, each.status) for each in space.jobs.list()] == [(job, "queued")]

"""Files of other programs in their real formats: what each becomes, what a dry run says, which files are refused."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import remanence
from case_tables import cases
from remanence.cli import main
from remanence.testing import FakeClock

DATA = Path(__file__).parent / "imports"
UTC = timezone.utc


@pytest.fixture(autouse=True)
def later(clock: FakeClock) -> None:
    """The samples are of 2025 and 2026."""
    clock.advance(days=700)


def texts(space: remanence.View) -> list[str]:
    return [memory.text for memory in space.memories()]


def said(space: remanence.View) -> list[tuple[str | None, str]]:
    return [(memory.turn.speaker, memory.text) for memory in space.memories() if memory.turn is not None]


def reasons(report: Any) -> dict[str, int]:
    return {group.reason: group.count for group in report.skipped}


@cases("import_formats")
def test_a_format_is_recognized_by_what_is_in_the_file(
    space: remanence.Space, name: str, format: Any, count: int
) -> None:
    """A dry run counts the same and writes nothing; the second import finds everything there."""
    planned = space.admin.import_from(DATA / name, dry_run=True)
    assert (planned.added, planned.dry_run, space.count(), space.spaces()) == (count, True, 0, [])

    report = space.admin.import_from(DATA / name, format=format)
    assert (report.added, report.skipped, report.kinds) == (count, planned.skipped, planned.kinds)
    assert space.count() == count
    assert space.admin.import_from(DATA / name).unchanged == count


def test_a_graph_becomes_facts_with_their_times_and_claims(space: remanence.Space) -> None:
    report = space.admin.import_from(DATA / "graphiti.json")

    nike = next(memory for memory in space.memories() if memory.text == "Kendra prefers Nike shoes.")
    assert nike.valid.start == datetime(2026, 1, 2, 9, tzinfo=UTC)
    assert nike.valid.end == datetime(2026, 3, 1, tzinfo=UTC)
    assert [(claim.subject, claim.object) for claim in nike.triples] == [("Kendra", "Nike")]
    assert "My Nikes fell apart, so it is Adidas from now on." in texts(space)
    assert reasons(report) == {"an entry without text": 2}


def test_users_of_a_graph_are_not_mixed(space: remanence.Space, tmp_path: Path) -> None:
    edges = json.loads((DATA / "graphiti.json").read_text())["edges"]
    edges[0]["group_id"], edges[1]["group_id"] = "bob", "eve"
    (tmp_path / "edges.json").write_text(json.dumps({"edges": edges}))
    with pytest.raises(remanence.InvalidInput, match="'bob', 'eve'"):
        space.admin.import_from(tmp_path / "edges.json")
    space.admin.import_from(tmp_path / "edges.json", users="separate")
    assert texts(space.child("users", "bob")) == ["Kendra prefers Nike shoes."]


def test_messages_of_zep_are_turns(space: remanence.Space, tmp_path: Path) -> None:
    message = {"uuid": "m1", "content": "I sold the boat.", "role": "user", "name": "Ana", "created_at": "2026-05-01"}
    (tmp_path / "thread.json").write_text(json.dumps({"messages": [message | {"thread_uuid": "t1"}]}))
    space.admin.import_from(tmp_path / "thread.json", format="zep")
    assert said(space) == [("Ana", "I sold the boat.")]


def test_a_listing_of_mem0_keeps_times_categories_and_metadata(space: remanence.Space) -> None:
    """As `get_all` of the library and the hosted service give it."""
    space.admin.import_from(DATA / "mem0.json")
    home = next(memory for memory in space.memories() if "Lisbon" in memory.text)
    allergy = next(memory for memory in space.memories() if "hazelnuts" in memory.text)
    assert (home.meta["topic"], home.tags) == ("home", ("places",))
    assert home.told_at == datetime(2026, 3, 1, 18, tzinfo=UTC)
    assert (allergy.observed_by, allergy.told_at) == ("Alice", datetime(2026, 1, 6, 18, tzinfo=UTC))


def test_users_of_mem0_get_spaces_of_their_own(space: remanence.Space, tmp_path: Path) -> None:
    rows = [
        {"id": user, "memory": f"{user} sings.", "user_id": user, "created_at": "2026-01-05"} for user in ("ana", "bob")
    ]
    (tmp_path / "all.json").write_text(json.dumps(rows))
    with pytest.raises(remanence.InvalidInput, match=r"2 users \('ana', 'bob'\).*users='separate'"):
        space.admin.import_from(tmp_path / "all.json")
    with pytest.raises(remanence.InvalidInput, match="nothing of the user 'carl'"):
        space.admin.import_from(tmp_path / "all.json", user="carl")
    assert not space.spaces()

    report = space.admin.import_from(tmp_path / "all.json", users="separate")
    assert dict(report.spaces) == {"default/users/ana": 1, "default/users/bob": 1}
    report = space.admin.import_from(tmp_path / "all.json", user="bob")
    assert (texts(space), reasons(report)) == (["bob sings."], {"it belongs to another user": 1})


def test_a_knowledge_graph_of_the_memory_server_keeps_who_it_is_about(space: remanence.Space) -> None:
    space.admin.import_from(DATA / "memory.jsonl")
    assert set(texts(space)) == {
        "John Smith: Speaks fluent Spanish",
        "John Smith: Graduated in 2019",
        "John Smith works at Anthropic",
    }
    assert space.graph.query("John Smith")


def test_columns_of_csv_are_found_by_their_names(space: remanence.Space) -> None:
    space.admin.import_from(DATA / "notes.csv")
    allergy, key = space.memories()
    assert (allergy.text, allergy.tags, allergy.importance) == (
        "Ana is allergic to hazelnuts, and to pollen.",
        ("health", "food"),
        0.9,
    )
    assert key.text == "The spare key is\nunder the third pot."
    assert key.told_at == datetime(2026, 2, 1, 8, 30, tzinfo=UTC)


def test_columns_of_csv_that_are_not_read_are_reported(space: remanence.Space, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("date,text,who,Price paid\n2025-02-03,A bike.,Ana,90\n2025-02-04,A boat.,Tom,\n")
    report = space.admin.import_from(tmp_path / "rows.csv")
    assert (report.added, reasons(report)) == (2, {"a column whose name is none of those that are read": 2})
    assert "who, price_paid" in str(report)


def test_csv_with_speakers_is_a_chat(space: remanence.Space) -> None:
    space.admin.import_from(DATA / "chat.csv")
    assert said(space) == [("Ana", "The boat is sold."), ("Tom", "Good.")]


BAD = [
    ("memory.jsonl", '{"type":"entity","name":"A","entityType":"p","observations":["x"]}\n{"type": oops}\n', "line 2 "),
    ("graph.json", '{"edges": [\n{"uuid": "e", "fact": "x"},\n{"uuid": "f" "fact"}]}', "line 3 "),
    ("graph.json", '{"edges": [{"uuid": "e", "fact": "x",\n "valid_at": "soon"}]}', "'soon' is not a time"),
    ("list.json", '[{"memory": "x", "id": "1"},\n{"memory": "y", "id"', "line 2"),
    ("notes.csv", "date,text\n2026-01-05,x\nyesterday,y\n", "line 3: 'yesterday' is not a time"),
    ("notes.csv", "date,text\n2026-01-05,x,y\n", "line 2: it has 3 fields"),
    ("notes.csv", "when,what\n2026-01-05,x\n", "line 1: none of the columns"),
    ("notes.csv", 'text,tags\n"open,x\n', "line 2: it is not CSV"),
    ("notes.csv", "text,importance\nx,much\n", "line 2: 'much' is not a number"),
    ("notes.csv", b"text\nfine\ncaf\xe9\n", "line 3 is not UTF-8"),
]


@pytest.mark.parametrize(("name", "content", "problem"), BAD)
def test_a_bad_file_is_refused_with_the_line(
    space: remanence.Space, tmp_path: Path, name: str, content: str | bytes, problem: str
) -> None:
    """Before anything of it is stored."""
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(remanence.InvalidInput) as refused:
        space.admin.import_from(tmp_path / name)
    assert problem in str(refused.value)
    assert name in str(refused.value)
    assert space.count() == 0


def test_a_named_format_that_the_file_is_not_of_is_refused(space: remanence.Space) -> None:
    for name, format in (("memory.jsonl", "zep"), ("mem0.json", "csv"), ("notes.csv", "mem0")):
        with pytest.raises(remanence.InvalidInput):
            space.admin.import_from(DATA / name, format=format)  # type: ignore[arg-type]
    assert space.count() == 0


def test_what_has_no_time_in_the_source_is_counted(space: remanence.Space, tmp_path: Path) -> None:
    """It is told at the moment of the import, and the report says so."""
    (tmp_path / "notes.csv").write_text("text,date\nThe boat is sold.,2026-05-12\nThe shed is red.,\n")
    report = space.admin.import_from(tmp_path / "notes.csv")
    assert (report.added, report.undated) == (2, 1)
    assert "no time is given for 1: told at the moment of the import" in str(report)
    assert space.admin.import_from(DATA / "graphiti.json").undated == 0


def test_the_command_has_a_dry_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--memory", str(home), "import", str(DATA / "chat.csv")]
    assert main([*arguments, "--dry-run"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].endswith("(CSV file): 2 memories would be added")
    assert shown[1:4] == ["kinds: turn 2", "speakers: Ana 1, Tom 1", "dates: 2026-04-01 to 2026-04-01"]
    assert not home.exists()
    assert main(arguments) == 0
    assert main([*arguments, "--dry-run"]) == 0
    assert "0 memories would be added, 2 imported before" in capsys.readouterr().out

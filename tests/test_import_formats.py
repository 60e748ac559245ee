"""Files of other programs in their real formats: what each becomes, what a dry run says, which files are refused."""

from __future__ import annotations

import json
import zipfile
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


def test_an_agent_file_becomes_blocks_and_turns(space: remanence.Space) -> None:
    report = space.admin.import_from(DATA / "agent.af")
    assert said(space) == [("me", "I moved to Bergen last week."), ("assistant", "How is the rain?")]
    [block] = space.memories(tags="letta-block")
    assert (block.meta["label"], block.text) == ("human", "First name: Chad\nOccupation: computer science student")
    assert reasons(report) == {
        "an entry without text": 1,
        "a message of the system or of a tool": 2,
        "a call of a tool, or an event": 1,
    }


def test_an_older_agent_answers_by_a_call(space: remanence.Space) -> None:
    """What it thinks is not what it says."""
    space.admin.import_from(DATA / "agent_v1.af")
    assert said(space) == [("me", "Can we fix it?"), ("assistant", "Yes we can!")]


def test_an_archive_of_hindsight_becomes_facts_and_their_sources(space: remanence.Space, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bank.zip", "w") as archive:
        for file in sorted((DATA / "hindsight").rglob("*.json")):
            archive.write(file, file.relative_to(DATA / "hindsight").as_posix())
    report = space.admin.import_from(tmp_path / "bank.zip")

    job = next(memory for memory in space.memories() if memory.text == "Ana works at the harbour office.")
    assert (job.kind, job.source, job.tags) == ("semantic", "call-2026-06-03", ("work",))
    assert job.valid.start == datetime(2026, 6, 8, tzinfo=UTC)
    assert job.told_at == datetime(2026, 6, 3, 9, 30, tzinfo=UTC)
    assert "Ana: I start at the harbour office on Monday." in texts(space)
    assert report.kinds == {"semantic": 1, "episode": 1, "memory": 1, "viewpoint": 1}
    assert reasons(report) == {"a file that is not of a Hindsight export": 1}


def test_a_listing_of_hindsight_leaves_out_what_was_withdrawn(space: remanence.Space, tmp_path: Path) -> None:
    items = [
        {"id": "1", "text": "Ana sails.", "fact_type": "world", "date": "", "entities": "Ana", "state": "valid"},
        {"id": "2", "text": "Ana flies.", "fact_type": "world", "date": "", "entities": "Ana", "state": "invalidated"},
    ]
    (tmp_path / "list.json").write_text(json.dumps({"items": items, "total": 2, "limit": 100, "offset": 0}))
    report = space.admin.import_from(tmp_path / "list.json")
    assert texts(space) == ["Ana sails."]
    assert reasons(report) == {"a fact that was withdrawn in Hindsight": 1}


def test_a_knowledge_graph_of_the_memory_server_keeps_who_it_is_about(space: remanence.Space) -> None:
    space.admin.import_from(DATA / "memory.jsonl")
    assert set(texts(space)) == {
        "John Smith: Speaks fluent Spanish",
        "John Smith: Graduated in 2019",
        "John Smith works at Anthropic",
    }
    assert space.graph.query("John Smith")


def test_prompts_and_answers_of_gemini_are_turns(space: remanence.Space) -> None:
    report = space.admin.import_from(DATA / "MyActivity.json")
    assert said(space)[:2] == [
        ("me", "What grows in shade? My balcony faces north."),
        ("assistant", "Ferns & hostas:\n- lady fern\n- hosta"),
    ]
    assert ("me", "Коли цвіте хоста?") in said(space)
    assert next(iter(space.memories())).turn.conversation == "gemini:d83053a82f419e50"  # type: ignore[union-attr]
    assert reasons(report) == {
        "an activity without a prompt": 1,
        "an activity of another product": 1,
        "an attached file": 1,
    }


def test_a_takeout_is_found_in_its_folder(space: remanence.Space, tmp_path: Path) -> None:
    folder = tmp_path / "Takeout" / "My Activity" / "Gemini Apps"
    folder.mkdir(parents=True)
    (folder / "MyActivity.json").write_bytes((DATA / "MyActivity.json").read_bytes())
    assert space.admin.import_from(tmp_path / "Takeout").kind == "Gemini export"


def test_items_of_langmem_are_texts_and_claims(space: remanence.Space) -> None:
    space.admin.import_from(DATA / "langmem.json")
    tea, team = sorted(texts(space))
    assert (tea, team) == ("Alice drinks green tea.", "Alice manages the ML team")
    assert space.graph.query("Alice")


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


class TestWhatsApp:
    def test_messages_of_android_have_speakers_times_and_all_their_lines(self, space: remanence.Space) -> None:
        report = space.admin.import_from(DATA / "whatsapp_android.txt")
        assert said(space) == [
            ("Ana Silva", "Tom, I sold the boat:\n- 4,000 in cash\n\nthe rest in June"),
            ("Tom", "That is the new one"),
            ("Ana Silva", "I am back from Faro."),
            ("Tom", "ok"),
            ("Tom", "ok"),
        ]
        assert (report.first, report.last) == (
            datetime(2026, 5, 12, 9, 14, tzinfo=UTC),
            datetime(2026, 5, 25, 21, 3, tzinfo=UTC),
        )
        assert report.speakers == {"Ana Silva": 2, "Tom": 3}
        assert reasons(report) == {"a file, a call or a deleted message": 2, "a line of WhatsApp itself": 1}

    def test_messages_of_ios_in_american_dates(self, space: remanence.Space) -> None:
        report = space.admin.import_from(DATA / "whatsapp_ios.txt")
        assert said(space) == [("Ana", "I sold the boat.\n4,000 in cash"), ("Tom", "Look")]
        assert report.last == datetime(2026, 5, 1, 12, 6, tzinfo=UTC)
        assert reasons(report) == {"a line of WhatsApp itself": 2, "a file, a call or a deleted message": 1}

    @pytest.mark.parametrize(
        ("lines", "when"),
        [
            (["2026-05-03, 14:30 - Ana: Hi"], datetime(2026, 5, 3, 14, 30)),
            (["03.05.26, 14:30 - Ana: Hi", "14.05.26, 08:00 - Tom: Hm"], datetime(2026, 5, 3, 14, 30)),
            (["5/3/26, 2:30 PM - Ana: Hi", "5/14/26, 8:00 AM - Tom: Hm"], datetime(2026, 5, 3, 14, 30)),
            (["[3.5.2026 klo 14.30.05] Ana: Hi", "[3.6.2026 klo 8.00.00] T: Hm"], datetime(2026, 5, 3, 14, 30, 5)),
            (["03/05/26, 12:10 a. m. - Ana: Hi", "20/05/26, 1:00 p. m. - T: Hm"], datetime(2026, 5, 3, 0, 10)),
            (["03/04/2026, 14:30 - Ana: Hi", "01/05/2026, 08:00 - T: Hm"], datetime(2026, 4, 3, 14, 30)),
        ],
    )
    def test_dates_are_read_in_the_order_of_the_phone(
        self, space: remanence.Space, tmp_path: Path, lines: list[str], when: datetime
    ) -> None:
        (tmp_path / "chat.txt").write_text("\n".join(lines))
        assert space.admin.import_from(tmp_path / "chat.txt").first == when.replace(tzinfo=UTC)

    def test_a_chat_that_leaves_the_order_of_dates_open_is_refused(
        self, space: remanence.Space, tmp_path: Path
    ) -> None:
        (tmp_path / "chat.txt").write_text("03/04/2026, 14:30 - Ana: Hi")
        with pytest.raises(remanence.InvalidInput, match=r"line 1: 3/4/2026 may begin with .*date_order='DMY'"):
            space.admin.import_from(tmp_path / "chat.txt")
        report = space.admin.import_from(tmp_path / "chat.txt", date_order="MDY")
        assert report.first == datetime(2026, 3, 4, 14, 30, tzinfo=UTC)

    def test_next_months_export_adds_what_is_new(self, space: remanence.Space, tmp_path: Path) -> None:
        """Under another name, as browsers give it."""
        whole = (DATA / "whatsapp_android.txt").read_text("utf-8")
        (tmp_path / "chat.txt").write_text(whole.partition("25/05/2026, 21:03")[0])
        assert space.admin.import_from(tmp_path / "chat.txt").added == 3
        (tmp_path / "chat (1).txt").write_text(whole)
        report = space.admin.import_from(tmp_path / "chat (1).txt")
        assert (report.added, report.unchanged) == (2, 3)


class TestOpenKnowledgeFormat:
    def test_concepts_become_memories_with_their_date_and_tags(self, space: remanence.Space) -> None:
        report = space.admin.import_from(DATA / "okf")
        duties = next(memory for memory in space.memories() if "looks after" in memory.text)
        assert duties.text.startswith("Ana Silva > Duties")
        assert (duties.tags, duties.source) == (("harbour", "staff"), "people/ana.md")
        assert duties.told_at == datetime(2026, 4, 12, 9, tzinfo=UTC)
        storm = next(memory for memory in space.memories() if "knots" in memory.text)
        assert storm.told_at == datetime(2026, 5, 28, 14, 30, tzinfo=UTC)
        assert reasons(report) == {"an index or a log": 2, "a concept that is deprecated": 1}

    def test_what_is_exported_can_be_imported(self, space: remanence.Space, clock: FakeClock, tmp_path: Path) -> None:
        """Each file has a type, as the format demands. What was replaced stays behind as deprecated."""
        space.add("Ana lives in Porto: near [the sea].", key="home", tags=["home"], now="2026-01-05", source="a letter")
        space.add("Ana lives in Faro.", key="home", tags=["home"], now="2026-03-05")
        old = space.add("The ferry leaves at nine.", now="2026-03-06")
        space.graph.link(old, "supersedes", space.add("The ferry leaves at eight.", now="2026-03-01"))
        report = space.admin.export_okf(tmp_path / "bundle")

        assert (report.concepts, report.deprecated) == (3, 1)
        files = [file for file in (tmp_path / "bundle").rglob("*.md") if file.name != "index.md"]
        assert all(file.read_text("utf-8").startswith("---\ntype: ") for file in files)
        assert 'okf_version: "0.2"' in (tmp_path / "bundle" / "index.md").read_text("utf-8")
        copy = space.child("copy")
        copy.admin.import_from(tmp_path / "bundle")
        assert sorted(texts(copy)) == ["Ana lives in Faro.", "The ferry leaves at nine."]
        faro = next(memory for memory in copy.memories() if "Faro" in memory.text)
        assert (faro.told_at, faro.tags) == (datetime(2026, 3, 5, tzinfo=UTC), ("home",))

    def test_a_folder_with_files_is_not_written_to(self, space: remanence.Space, tmp_path: Path) -> None:
        (tmp_path / "mine.md").write_text("x")
        with pytest.raises(remanence.InvalidInput, match="not empty"):
            space.admin.export_okf(tmp_path)

    def test_a_concept_without_a_type_is_refused(self, space: remanence.Space, tmp_path: Path) -> None:
        (tmp_path / "index.md").write_text('---\nokf_version: "0.2"\n---\n# All\nAll boats.')
        (tmp_path / "a.md").write_text("Ana sails.")
        with pytest.raises(remanence.InvalidInput, match=r"a\.md, line 1: .* has a type"):
            space.admin.import_from(tmp_path)
        assert space.admin.import_from(tmp_path, format="markdown").added == 2


BAD = [
    ("memory.jsonl", '{"type":"entity","name":"A","entityType":"p","observations":["x"]}\n{"type": oops}\n', "line 2 "),
    ("graph.json", '{"edges": [\n{"uuid": "e", "fact": "x"},\n{"uuid": "f" "fact"}]}', "line 3 "),
    ("graph.json", '{"edges": [{"uuid": "e", "fact": "x",\n "valid_at": "soon"}]}', "'soon' is not a time"),
    ("list.json", '[{"text": "x", "fact_type": "world", "id": "1"},\n{"text": "y", "fact_type"', "line 2"),
    ("notes.csv", "date,text\n2026-01-05,x\nyesterday,y\n", "line 3: 'yesterday' is not a time"),
    ("notes.csv", "date,text\n2026-01-05,x,y\n", "line 2: it has 3 fields"),
    ("notes.csv", "when,what\n2026-01-05,x\n", "line 1: none of the columns"),
    ("notes.csv", 'text,tags\n"open,x\n', "line 2: it is not CSV"),
    ("notes.csv", "text,importance\nx,much\n", "line 2: 'much' is not a number"),
    ("notes.csv", b"text\nfine\ncaf\xe9\n", "line 3 is not UTF-8"),
    (
        "chat.txt",
        "03/05/2026, 14:30 - Ana: Hi\n25/05/2026, 14:30 - T: Hm\n31/06/2026, 14:30 - T: ?",
        "line 3: 31/6/2026",
    ),
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
    for name, format in (("memory.jsonl", "zep"), ("whatsapp_ios.txt", "csv"), ("notes.csv", "whatsapp")):
        with pytest.raises(remanence.InvalidInput):
            space.admin.import_from(DATA / name, format=format)  # type: ignore[arg-type]
    assert space.count() == 0


def test_what_has_no_time_in_the_source_is_counted(space: remanence.Space, tmp_path: Path) -> None:
    """It is told at the moment of the import, and the report says so."""
    (tmp_path / "notes.csv").write_text("text,date\nThe boat is sold.,2026-05-12\nThe shed is red.,\n")
    report = space.admin.import_from(tmp_path / "notes.csv")
    assert (report.added, report.undated) == (2, 1)
    assert "no time is given for 1: told at the moment of the import" in str(report)
    assert space.admin.import_from(DATA / "whatsapp_android.txt").undated == 0


def test_the_command_has_a_dry_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--memory", str(home), "import", str(DATA / "whatsapp_android.txt")]
    assert main([*arguments, "--dry-run"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].endswith("(WhatsApp chat): 5 memories would be added")
    assert shown[1:4] == ["kinds: turn 5", "speakers: Tom 3, Ana Silva 2", "dates: 2026-05-12 to 2026-05-25"]
    assert not home.exists()
    assert main(arguments) == 0
    assert main([*arguments, "--dry-run"]) == 0
    assert "0 memories would be added, 5 imported before" in capsys.readouterr().out


def test_the_command_writes_a_bundle(home: Path, tmp_path: Path) -> None:
    assert main(["--memory", str(home), "add", "Ana lives in Porto."]) == 0
    assert main(["--memory", str(home), "export-okf", str(tmp_path / "bundle")]) == 0
    assert (tmp_path / "bundle" / "index.md").is_file()

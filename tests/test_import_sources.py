"""Chats and memories of other programs: what is imported, what is left out, and what happens the second time."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence.cli import main
from remanence.transfer.imports import files
from remanence.transfer.imports.importing import ImportReport

UTC = timezone.utc


def texts(space: remanence.View) -> list[str]:
    return [memory.text for memory in space.memories()]


def reasons(report: ImportReport) -> dict[str, int]:
    return {group.reason: group.count for group in report.skipped}


def node(
    id: str, parent: str | None, role: str, text: str | list[Any], at: float = 1_700_000_000, **message: Any
) -> Any:
    """A node of a ChatGPT conversation."""
    parts = text if isinstance(text, list) else [text]
    content = {"content_type": "text", "parts": parts}
    made = {"id": id, "author": {"role": role}, "create_time": at, "content": content, "recipient": "all", **message}
    return {"id": id, "message": made, "parent": parent, "children": []}


def chatgpt(*nodes: Any, id: str = "c1", title: str = "Dinner", last: str | None = None) -> dict[str, Any]:
    """A ChatGPT conversation."""
    root = {"id": "root", "message": None, "parent": None, "children": []}
    mapping = {each["id"]: each for each in (root, *nodes)}
    return {
        "conversation_id": id,
        "title": title,
        "create_time": 1_700_000_000.0,
        "mapping": mapping,
        "current_node": last or nodes[-1]["id"],
    }


DINNER = chatgpt(
    node("u1", "root", "user", "I am allergic to hazelnuts.", 1_700_000_001.5),
    node("a0", "u1", "assistant", "Sorry to hear that.", 1_700_000_002),
    node("a1", "u1", "assistant", "Noted: no hazelnuts.", 1_700_000_009),
    node("u2", "a1", "user", "Thank you.", 1_700_000_010),
)


def claude(*messages: dict[str, Any], id: str = "k1", name: str = "Trip") -> dict[str, Any]:
    """A Claude conversation."""
    return {"uuid": id, "name": name, "created_at": "2026-03-29T07:00:00Z", "chat_messages": list(messages)}


def said(id: str, sender: str, text: str, **fields: Any) -> dict[str, Any]:
    """A message of a Claude conversation."""
    content = [{"type": "text", "text": text}] if text else []
    at = f"2026-03-29T07:0{len(id)}:00.123456Z"
    return {"uuid": id, "sender": sender, "text": text, "content": content, "created_at": at, **fields}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file, as JSON unless it is text or bytes."""

    def written(name: str, value: Any) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        given = value if isinstance(value, str | bytes) else json.dumps(value)
        file.write_bytes(given.encode() if isinstance(given, str) else given)
        return file

    return written


class TestChatGPT:
    def test_the_last_branch_of_a_chat_becomes_turns_with_their_times(self, space: remanence.Space, write: Any) -> None:
        report = space.admin.import_from(write("conversations.json", [DINNER]))

        memories = list(space.memories())
        assert [(m.turn.speaker, m.text) for m in memories if m.turn] == [
            ("me", "I am allergic to hazelnuts."),
            ("assistant", "Noted: no hazelnuts."),
            ("me", "Thank you."),
        ]
        assert memories[0].turn.at == datetime.fromtimestamp(1_700_000_001.5, UTC)
        assert memories[0].turn.conversation == "chatgpt:c1"
        assert memories[0].meta["title"] == "Dinner"
        assert (report.added, report.kind) == (3, "ChatGPT export")
        [(reason, count)] = reasons(report).items()
        assert "branch" in reason
        assert count == 1

    def test_other_branches_are_taken_when_asked_for(self, space: remanence.Space, write: Any) -> None:
        space.admin.import_from(write("conversations.json", [DINNER]), branches=True)

        [other] = space.memories(tags=["other-branch"])
        assert other.text == "Sorry to hear that."

    def test_the_user_may_have_a_name(self, space: remanence.Space, write: Any) -> None:
        space.admin.import_from(write("conversations.json", [DINNER]), observed_by="Ana")

        assert space.recall("hazelnuts", speaker="Ana")[0].memory.text == "I am allergic to hazelnuts."

    def test_parts_that_are_no_text_are_left_out_and_named(self, space: remanence.Space, write: Any) -> None:
        image = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}
        spoken = {"content_type": "audio_transcription", "text": "I sing in a choir."}
        thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "hm", "content": "hm"}]}
        chat = chatgpt(
            node("s1", "root", "system", "You are ChatGPT."),
            node("u1", "s1", "user", [image, "This is my dog Rex."]),
            node("u2", "u1", "user", [spoken]),
            node("a1", "u2", "assistant", "search('dogs')", recipient="browser"),
            node("t1", "a1", "tool", "a page about dogs"),
            node("a2", "t1", "assistant", "", content=thoughts),
            node("a3", "a2", "assistant", "A lovely dog\ue200cite\ue202turn0search1\ue201.【3†source】"),
            node("a4", "a3", "assistant", ""),
            node("a5", "a4", "user", "hidden", metadata={"is_visually_hidden_from_conversation": True}),
        )
        report = space.admin.import_from(write("conversations.json", [chat]))

        assert texts(space) == ["This is my dog Rex.", "I sing in a choir.", "A lovely dog."]
        assert reasons(report) == {
            "a message of the system": 1,
            "a message of the tools": 1,
            "a call of a tool, or a hidden message": 2,
            "reasoning of the model": 1,
            "a message without text": 1,
            "a part of a message that is not text (image_asset_pointer)": 1,
        }

    def test_what_the_user_told_in_the_settings_is_taken_once(self, space: remanence.Space, write: Any) -> None:
        told = {"user_context_message_data": {"about_user_message": "I am a baker in Porto."}}
        settings = node("s1", "root", "user", [], metadata={"is_user_system_message": True, **told})
        noted = node("b1", "s1", "assistant", "User prefers short answers.", recipient="bio")
        chats = [chatgpt(settings, noted, id=each) for each in ("c1", "c2")]
        space.admin.import_from(write("conversations.json", chats))

        assert texts(space).count("I am a baker in Porto.") == 1
        assert space.recall("short answers")[0].memory.tags == ("chatgpt-memory",)

    @pytest.mark.parametrize("last", ["gone", "a1"])
    def test_a_damaged_tree_is_read_as_far_as_it_goes(self, space: remanence.Space, write: Any, last: str) -> None:
        """Nodes in a circle, a parent that is missing, a message that is none, times that are none."""
        chat = chatgpt(
            node("u1", "a1", "user", "I live in Porto.", float("1e300")),
            node("a1", "u1", "assistant", "A fine city.", -5),
            last=last,
        )
        chat["mapping"]["x"] = {"id": "x", "message": ["no"], "parent": 7}
        chat["mapping"]["y"] = None
        space.admin.import_from(write("conversations.json", [chat, {"mapping": {}}, {"title": 3}, 7]))

        assert set(texts(space)) <= {"I live in Porto.", "A fine city."}

    def test_numbered_files_in_a_zip_are_one_export(self, space: remanence.Space, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as file:
            file.writestr("e/conversations-000.json", json.dumps([DINNER]))
            file.writestr("e/conversations-001.json", json.dumps([chatgpt(node("u9", "root", "user", "Hm."), id="c2")]))
            file.writestr("e/user.json", "{}")
            file.writestr("__MACOSX/e/._conversations-000.json", "junk")
        report = space.admin.import_from(tmp_path / "export.zip")

        assert report.added == 4
        assert reasons(report)["a file that has no conversations"] == 1

    def test_characters_that_cannot_be_stored_are_replaced(self, space: remanence.Space, write: Any) -> None:
        space.admin.import_from(write("conversations.json", [chatgpt(node("u", "root", "user", "tea\0 \ud83d", 1))]))

        assert texts(space) == ["tea� �"]

    def test_the_chats_of_claude_beside_it_are_reported(self, space: remanence.Space, tmp_path: Path) -> None:
        for name, chat in (("chatgpt", chatgpt(node("m", "root", "user", "Hi."))), ("claude", {"chat_messages": []})):
            (tmp_path / name).mkdir()
            (tmp_path / name / "conversations.json").write_text(json.dumps([chat]))
        report = space.admin.import_from(tmp_path)
        assert report.added == 1
        assert "import it by itself: claude/conversations.json" in str(report)


class TestClaude:
    def test_messages_attachments_projects_and_notes_are_taken(self, space: remanence.Space, tmp_path: Path) -> None:
        pasted = {"file_name": "menu.txt", "extracted_content": "The menu has twelve soups."}
        chat = claude(
            said("m1", "human", "I moved to Lisbon."),
            said(
                "m12",
                "assistant",
                "",
                content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Nice!"}],
            ),
            said("m123", "human", "", attachments=[pasted], files=[{"file_name": "cat.png"}]),
        )
        project = {
            "uuid": "p1",
            "name": "Bakery",
            "prompt_template": "Answer as a baker.",
            "docs": [{"filename": "f.md", "content": "Rye needs time."}],
        }
        notes = {"conversations_memory": "Ana bakes bread.", "project_memories": {"p1": "The oven is old."}}
        with zipfile.ZipFile(tmp_path / "claude.zip", "w") as file:
            file.writestr("conversations.json", json.dumps([chat]))
            file.writestr("projects/p1.json", json.dumps(project))
            file.writestr("memories.json", json.dumps([notes]))
            file.writestr("users.json", "[]")
        report = space.admin.import_from(tmp_path / "claude.zip")

        assert set(texts(space)) == {
            *("I moved to Lisbon.", "Nice!", "The menu has twelve soups.", "Answer as a baker.", "Rye needs time."),
            *("Ana bakes bread.", "The oven is old."),
        }
        assert space.recall("soups")[0].memory.source == "menu.txt"
        assert report.kind == "Claude export"
        assert reasons(report) == {
            "a part of a message that is not text (thinking)": 1,
            "a file, of which the export has the name only": 1,
            "a file that has no conversations": 1,
        }

    def test_only_the_last_branch_is_taken(self, space: remanence.Space, write: Any) -> None:
        nowhere = "00000000-0000-4000-8000-000000000000"
        chat = claude(
            said("a", "human", "I live in Porto.", parent_message_uuid=nowhere),
            said("bb", "assistant", "An old answer.", parent_message_uuid="a"),
            said("ccc", "assistant", "A new answer.", parent_message_uuid="a"),
        )
        space.admin.import_from(write("conversations.json", [chat]))

        assert texts(space) == ["I live in Porto.", "A new answer."]


class TestMarkdown:
    def test_sections_become_memories_that_stand_on_their_own(
        self, space: remanence.Space, write: Any, tmp_path: Path
    ) -> None:
        write(
            "vault/People/Ana.md",
            "---\ntitle: Ana Silva\ntags: [friend, work]\ncreated: 2026-01-05\n---\n"
            "Met in [[cities/Porto|Porto]].\n\n## Food\nAllergic to hazelnuts. #health\n\n```\n# no heading\n```\n"
            "## Work\n### Now\nShe works at Bosch.\n![[badge.png]]\n",
        )
        write("vault/2026-05-03.md", "Yesterday I saw a heron.")
        write("vault/empty.md", "---\ntags: [x]\n---\n")
        write("vault/badge.png", b"\x89PNG")
        write("vault/latin.md", "caf\xe9".encode("latin-1"))
        write("vault/.obsidian/app.json", "{}")
        report = space.admin.import_from(tmp_path / "vault")

        assert set(texts(space)) == {
            "Yesterday I saw a heron.",
            "Ana Silva\n\nMet in Porto.",
            "Ana Silva > Food\n\nAllergic to hazelnuts. #health\n\n```\n# no heading\n```",
            "Ana Silva > Work > Now\n\nShe works at Bosch.",
        }
        food = space.recall("allergic")[0].memory
        assert food.tags == ("friend", "work", "health")
        assert food.source == "People/Ana.md"
        assert food.told_at == datetime(2026, 1, 5, tzinfo=UTC)
        heron = space.recall("heron")[0].memory
        assert heron.valid.start == datetime(2026, 5, 2, tzinfo=UTC)
        assert reasons(report) == {
            "a hidden folder": 1,
            "a file that is not a Markdown note": 1,
            "a note that is not UTF-8 text": 1,
            "a note without text": 1,
            "an embedded file": 1,
        }

    def test_an_edited_section_is_a_new_version_of_its_memory(self, space: remanence.Space, write: Any) -> None:
        note = write("notes/Ana.md", "# Home\nAna lives in Porto.\n# Pet\nAna has a dog.")
        space.admin.import_from(note.parent)
        write("notes/Ana.md", "# Home\nAna lives in Lisbon.\n# Pet\nAna has a dog.")
        report = space.admin.import_from(note.parent)

        assert (report.added, report.changed, report.unchanged) == (0, 1, 1)
        assert space.count() == 2
        assert "Lisbon" in space.recall("Where does Ana live?")[0].memory.text

    def test_notes_that_remanence_wrote_are_left_to_the_vault(self, space: remanence.Space, write: Any) -> None:
        note = write("notes/m.md", '---\nid: "m1"\nspace: "default"\ndigest: "x"\n---\n\nAna lives in Porto.\n')
        assert space.admin.import_from(note).added == 0


class TestTheSecondTime:
    def test_nothing_changes(self, reopen: Callable[..., remanence.Space], write: Any) -> None:
        file = write("conversations.json", [DINNER])
        reopen().admin.import_from(file)
        before = reopen().verify()
        report = reopen().admin.import_from(file)

        assert (report.added, report.changed, report.unchanged) == (0, 0, 3)
        assert reopen().verify() == before

    def test_what_was_forgotten_or_corrected_here_stays_so(self, space: remanence.Space, write: Any) -> None:
        file = write("Ana.md", "# Home\nAna lives in Porto.\n# Pet\nAna has a dog.")
        space.admin.import_from(file)
        home, pet = (space.recall(word)[0].memory for word in ("lives", "dog"))
        space.forget(pet)
        space.add("Ana lives in Faro.", key=home.key, meta=home.meta)
        space.admin.import_from(file)

        assert texts(space) == ["Ana lives in Faro."]
        write("Ana.md", "# Pet\nAna has two dogs.")
        report = space.admin.import_from(file)
        assert texts(space) == ["Ana lives in Faro."]
        assert reasons(report) == {"a memory that was imported before and forgotten here since": 1}

    def test_an_import_that_broke_off_continues(self, space: remanence.Space, write: Any) -> None:
        chats = [chatgpt(node(f"u{n}", "root", "user", f"Fact number {n}."), id=f"c{n}") for n in range(1_200)]
        file = write("conversations.json", chats)

        def break_off(done: int, total: int) -> None:
            if space.count() > 400:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            space.admin.import_from(file, progress=break_off)
        written = space.count()
        assert 400 < written < 1_200

        report = space.admin.import_from(file)
        assert (report.unchanged, report.added) == (written, 1_200 - written)
        assert space.count() == 1_200


class TestDamagedAndHostileFiles:
    def test_what_comes_before_the_damage_is_taken(self, space: remanence.Space, write: Any) -> None:
        whole = json.dumps([DINNER, chatgpt(node("u9", "root", "user", "Hm."), id="c2")])
        for written in (whole[:-30], whole.replace('"c2"', '"c2" oops'), whole[:-1]):
            report = space.admin.import_from(write("conversations.json", written))
            assert not report.complete
            assert "the rest of the file" in str(report)
        assert "I am allergic to hazelnuts." in texts(space)

    def test_bombs_are_refused(
        self, space: remanence.Space, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By their size when they are unpacked."""
        monkeypatch.setattr(files, "MAX_BYTES", 2**20)
        blank = b"[" + b" " * 2**21
        with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("conversations.json", blank)
        for bomb in (tmp_path / "bomb.zip", write("conversations.json.gz", gzip.compress(blank))):
            with pytest.raises(remanence.InvalidInput, match="more than 1 MB"):
                space.admin.import_from(bomb)

    def test_no_link_is_followed(self, space: remanence.Space, write: Any, tmp_path: Path) -> None:
        """A folder from strangers may have one to any file of this machine."""
        secret = write("secret.md", "The key is under the mat.")
        write("vault/a.md", "Ana sails.")
        (tmp_path / "vault" / "b.md").symlink_to(secret)
        (tmp_path / "vault" / "more").symlink_to(tmp_path)
        (tmp_path / "to_vault").symlink_to("vault")
        (tmp_path / "chats").mkdir()
        (tmp_path / "chats" / "conversations.json").symlink_to(write("chats.json", [DINNER]))
        for link in (tmp_path / "vault" / "b.md", tmp_path / "to_vault"):
            with pytest.raises(remanence.InvalidInput, match=r"is a symbolic link to .*, which is not followed"):
                space.admin.import_from(link)
        with pytest.raises(remanence.InvalidInput, match="no notes, conversations"):
            space.admin.import_from(tmp_path / "chats")
        report = space.admin.import_from(tmp_path / "vault")
        assert texts(space) == ["a\n\nAna sails."]
        assert reasons(report) == {"a link to another file or folder": 2}

    def test_a_zip_with_too_many_names_is_not_opened(self, space: remanence.Space, write: Any) -> None:
        end = b"PK\x05\x06" + b"\0" * 8 + (100 * 2**20).to_bytes(4, "little") + b"\0" * 6
        with pytest.raises(remanence.InvalidInput, match="more files than an export"):
            space.admin.import_from(write("many.zip", b"PK\x03\x04" + end))

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("a.zip", b"PK\x03\x04 broken"),
            ("a.json.gz", b"\x1f\x8b broken"),
            ("a.json.gz", gzip.compress(b"[{", mtime=0)[:-9]),
            ("a.json", b"[" * 100_000),
            ("a.json", b'{"a": ' * 100_000),
            ("a.json", b""),
            ("a.json", b"7"),
            ("a.db", b"SQLite format 3\x00"),
            ("a.bin", b"words"),
        ],
    )
    def test_other_files_are_refused_with_what_can_be_imported(
        self, space: remanence.Space, write: Any, name: str, content: bytes
    ) -> None:
        with pytest.raises(remanence.InvalidInput) as refused:
            space.admin.import_from(write(name, content))
        assert name in str(refused.value)
        assert not space.spaces()

    def test_other_things_are_refused(self, space: remanence.Space, tmp_path: Path) -> None:
        for given, message in ((tmp_path / "missing", "No such file"), (tmp_path, "no notes"), (7, "not a file name")):
            with pytest.raises(remanence.InvalidInput, match=message):
                space.admin.import_from(given)  # type: ignore[arg-type]

    def test_an_export_of_remanence_is_referred_to_the_call_for_it(
        self, space: remanence.Space, tmp_path: Path
    ) -> None:
        space.add("Ana lives in Porto.")
        space.admin.export(tmp_path / "memory.jsonl.gz")
        with pytest.raises(remanence.InvalidInput, match=r"remanence\.restore"):
            space.admin.import_from(tmp_path / "memory.jsonl.gz")

    def test_a_file_is_known_by_what_is_in_it(self, space: remanence.Space, write: Any) -> None:
        """Its name may be anything."""
        assert space.admin.import_from(write("my chats", b"\xef\xbb\xbf \n" + json.dumps([DINNER]).encode())).added == 3
        assert space.admin.import_from(write("chats.gz", gzip.compress(json.dumps(DINNER).encode()))).unchanged == 3

    def test_a_kind_that_it_is_not_is_refused(self, space: remanence.Space, write: Any) -> None:
        file = write("conversations.json", [DINNER])
        with pytest.raises(remanence.InvalidInput, match="is of the format 'chatgpt', not 'claude'"):
            space.admin.import_from(file, format="claude")
        with pytest.raises(remanence.InvalidInput, match="none of chatgpt, claude"):
            space.admin.import_from(file, format="grok")  # type: ignore[arg-type]

    def test_a_record_that_cannot_be_stored_is_left_out_alone(self, space: remanence.Space, write: Any) -> None:
        long = node("u1", "root", "user", "x" * 2_000_001)
        report = space.admin.import_from(write("conversations.json", [chatgpt(long, node("u2", "u1", "user", "Hm."))]))

        assert texts(space) == ["Hm."]
        assert "At most 2,000,000" in str(report)


class TestTheCommand:
    def test_it_says_what_was_not_taken(self, home: Path, write: Any, capsys: pytest.CaptureFixture[str]) -> None:
        file = write("conversations.json", [DINNER])
        assert main(["--memory", str(home), "import", str(file)]) == 0

        first, *others = capsys.readouterr().out.splitlines()
        assert first.endswith("(ChatGPT export): 3 memories added")
        assert others[0] == "not imported: 1"
        assert "branch" in others[1]
        assert main(["--memory", str(home), "import", str(file), "--format", "chatgpt", "--branches"]) == 0
        assert "1 memory added, 3 imported before" in capsys.readouterr().out

    def test_a_refused_source_makes_no_folder(self, home: Path, write: Any, capsys: pytest.CaptureFixture[str]) -> None:
        rows = [{"id": user, "memory": "I sing.", "user_id": user} for user in ("ana", "bob")]
        assert main(["--memory", str(home), "import", str(write("mem0.json", rows))]) == 1
        assert "--users separate" in capsys.readouterr().err
        assert not home.exists()

    def test_a_damaged_source_ends_with_an_error_code(self, home: Path, write: Any) -> None:
        file = write("conversations.json", json.dumps([DINNER])[:-20] + "x")
        assert main(["--memory", str(home), "import", str(file)]) == 1

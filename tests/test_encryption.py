"""Encrypted folders: no word of a memory is in any file, and a wrong key, a moved row or a damaged record is named."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

import remanence
from file_contents import contents
from kill_runner import run_kills
from new_interpreter import run_program
from remanence import Encryption, InvalidInput, Policy, Space
from remanence.errors import (
    EncryptionKeyError,
    LedgerCorrupt,
    LedgerError,
    LedgerTampered,
    LedgerUnavailable,
    MissingExtra,
)
from remanence.ledger import open_ledger, tables
from remanence.ledger.encryption import Cipher
from remanence.ledger.sqlite_backend import sqlite
from remanence.ledger.sqlite_backend.sqlite_ledger import SqliteLedger
from remanence.testing import HashingEmbedder
from remanence.testing.ledger_contract import LedgerContract, append_events, remembered_event
from remanence_server import create_app
from warm_process import WarmProcess

KEY, OTHER = Encryption.new_key(), Encryption.new_key()
WORDS = ("zanzibar", "clarabella", "porto", "featherbird", "quillmaster", "walrus", "marmalade", "harbourmaster")


def opened(home: Path, key: Any = KEY, **options: Any) -> Space:
    policy = None if key is None else Policy(encryption=Encryption(key))
    return remanence.open(home, policy=policy, embedder=HashingEmbedder(), **{"worker": False, **options})


def live(space: Space) -> None:
    """A bit of everything: memories, turns, facts, relations, aliases, receipts, uses, and an erasure."""
    bird = space.add("Zanzibar the parrot lives with Clarabella in Porto.", tags=["featherbird"], source="quillmaster")
    space.add_many(
        [{"text": f"Clarabella bought {n} jars of marmalade.", "meta": {"shop": "walrus"}} for n in range(99)]
    )
    space.add_turns([{"speaker": "Clarabella", "content": "I moved to Porto as a harbourmaster."}])
    space.remember("Clarabella works for Walrus Ltd.", wait=False)
    space.jobs.run_due()
    space.entities.register("Walrus Ltd", ["Walrus"], "organization")
    space.graph.relate("Clarabella", "keeps", "Zanzibar")
    space.audit.record(space.recall("Where does Clarabella live?"))
    space.touch(bird)
    space.child("users", "bo").add("Zanzibar eats marmalade.")


def words_in_files(folder: Path, words: tuple[str, ...] = WORDS) -> set[tuple[str, str]]:
    files = [(path.name, held.lower()) for path, held in contents(folder)]
    return {(name, word) for name, held in files for word in words if word.encode() in held}


class TestEncryptedLedger(LedgerContract):
    """All that a ledger promises, it promises encrypted."""

    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[SqliteLedger]:
        ledger = SqliteLedger(tmp_path / "memory", Encryption(KEY))
        yield ledger
        ledger.close()


def test_no_file_has_a_word_of_a_memory(home: Path) -> None:
    """While it is open, with its write-ahead log and a server beside it, and when it was closed. Without a key there
    are such words, so that the search finds them."""
    requests = set()
    for key in (KEY, None):
        found = set()
        with opened(home, key) as space:
            live(space)
            assert space.recall("Who lives with the parrot?")[0].memory.text.startswith("Zanzibar")
            with TestClient(create_app(space), base_url="http://127.0.0.1") as client:
                body = {"text": "Zanzibar flew to Porto."}
                headers = {"idempotency-key": "k"}
                answers = [client.post("/v1/spaces/default/memories", json=body, headers=headers) for _ in range(2)]
                assert answers[0].json() == answers[1].json()
                found |= words_in_files(home)
        with closing(sqlite3.connect(home / "server.db")) as connection:
            requests.update(connection.execute("SELECT key, request FROM outcomes").fetchall())
        names = {path.name for path in home.rglob("*")}
        assert {"ledger.db", "server.db"} <= names
        assert any(name.endswith(".idx") for name in names)
        found |= words_in_files(home)
        assert found == set() if key else {word for _, word in found} == set(WORDS)
        shutil.rmtree(home)
    assert len(requests) == 2, "the digest of a request cannot be computed without the key"


def test_a_large_encrypted_space_has_no_file_of_the_engine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine writes its files itself; the vectors come from the encrypted index file instead."""
    monkeypatch.setattr("remanence.index.vectors.stores.folder.ENGINE_FROM", 1)
    with opened(home) as space:
        live(space)
    with opened(home) as space:
        assert space.recall("parrot", signals=["vectors"])[0].memory.text.startswith("Zanzibar")
        assert space.admin.check() == {}
    assert not (home / "vectors").exists()
    shutil.rmtree(home)
    with opened(home, None) as space:
        live(space)
    assert (home / "vectors").exists()


def test_an_index_file_is_read_back_and_a_changed_one_is_made_again(
    home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one of several pieces, and one of another space in its place."""
    monkeypatch.setattr("remanence.ledger.encryption._PIECE", 1000)
    with opened(home) as space:
        live(space)
        space.child("users", "bo").add_many([f"Bo saw {n} boats." for n in range(99)])
    first, second = sorted((home / "index").rglob("*.idx"))
    content = first.read_bytes()
    for damage in (None, second.read_bytes(), content[:-1028], content[:8]):
        caplog.clear()
        if damage is not None:
            first.write_bytes(damage)
        with opened(home) as space, caplog.at_level("WARNING"):
            for each in (space, space.child("users", "bo")):
                assert each.admin.check() == {}
                each.rebuild()
        assert ("cannot be read" in caplog.text) == (damage is not None)


def test_the_pieces_of_a_file_cannot_be_moved_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remanence.ledger.encryption._PIECE", 4)
    cipher = Cipher.create()
    first, second, last = cipher.seal_pieces(memoryview(b"one two tea"), "index")
    assert cipher.unseal_pieces(memoryview(first + second + last), "index") == b"one two tea"
    for changed in (second + first + last, first + second, first + second + second + last):
        with pytest.raises(ValueError, match="it was changed, moved"):
            cipher.unseal_pieces(memoryview(changed), "index")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (OTHER, "is encrypted with the key .*, and the given one is"),
        (None, "needs a key, and none was given. Set REMANENCE_KEY"),
        ("swordfish", "is not a key: give 32 bytes"),
        (lambda: b"short", "is not a key: give 32 bytes"),
    ],
    ids=["wrong", "missing", "text", "short"],
)
def test_without_its_key_a_folder_does_not_open(home: Path, key: Any, said: str) -> None:
    with opened(home) as space:
        space.add("Alice lives in Porto.")
    before = (home / "ledger.db").read_bytes()

    with pytest.raises(EncryptionKeyError, match=said) as raised:
        opened(home, key)
    assert "swordfish" not in str(raised.value)
    assert (home / "ledger.db").read_bytes() == before


def test_a_key_comes_from_the_environment_a_function_or_a_keyring(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(home, lambda: KEY) as space:
        space.add("Alice lives in Porto.")
    monkeypatch.setenv("REMANENCE_KEY", KEY)
    assert opened(home, None).count() == 1
    monkeypatch.delenv("REMANENCE_KEY")

    stored = {("remanence", "ana"): KEY}
    fake = SimpleNamespace(get_password=lambda service, name: stored.get((service, name)))
    monkeypatch.setitem(sys.modules, "keyring", fake)
    monkeypatch.setenv("REMANENCE_KEYRING", "ana")
    assert opened(home, None).count() == 1
    with pytest.raises(EncryptionKeyError, match="`keyring set remanence bo`"):
        remanence.open(home, policy=Policy(encryption=Encryption(keyring="bo")))
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(MissingExtra, match="pip install keyring"):
        opened(home, None)


def test_the_package_that_encrypts_is_named_where_it_is_missing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(MissingExtra, match=r"remanence-memory\[encryption\]"):
        opened(home)


def test_a_folder_without_a_key_never_loads_the_package(home: Path) -> None:
    program = f"""
import sys, remanence
with remanence.open({str(home)!r}, embedder="fast") as space:
    space.add("Alice lives in Porto.")
    space.recall("Alice")
assert "cryptography" not in sys.modules
"""
    run_program(program)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entry SET body = (SELECT body FROM entry WHERE position = 1) WHERE position = 2",
        "UPDATE entry SET subject = (SELECT subject FROM entry WHERE position = 1) WHERE position = 2",
        "UPDATE entry SET body = substr(body, 1, 40) WHERE position = 2",
        'UPDATE entry SET body = \'{"memory":"m","text":"no"}\' WHERE position = 2',
    ],
    ids=["body of another", "subject of another", "cut off", "plain"],
)
def test_a_moved_or_changed_entry_is_found(home: Path, change: str) -> None:
    with opened(home) as space:
        space.add_many(["Alice lives in Porto.", "Alice lives in Paris."])
    with closing(sqlite3.connect(home / "ledger.db")) as connection:
        connection.execute("DROP TRIGGER entry_is_written_once")
        connection.execute(change)
        connection.commit()

    with closing(open_ledger(home, Encryption(KEY))) as ledger:
        with pytest.raises(LedgerTampered, match="entry 2 is not what was written"):
            ledger.verify()
        with pytest.raises(LedgerTampered, match=r"entry 2 of space 'default'.*cannot be decrypted"):
            list(ledger.read("default"))


def test_a_moved_vector_is_found(home: Path) -> None:
    with opened(home) as space:
        space.add_many(["Alice lives in Porto.", "Bob plays chess."])
    with closing(sqlite3.connect(home / "ledger.db")) as connection:
        connection.execute("UPDATE space_embedding SET vector = (SELECT vector FROM space_embedding LIMIT 1)")
        connection.commit()

    with (
        closing(open_ledger(home, Encryption(KEY))) as ledger,
        pytest.raises(LedgerTampered, match=r"vectors in .* not"),
    ):
        ledger.verify()
    with opened(home) as space:
        assert "cannot be decrypted" in space.recall("Alice").missing["vectors"]


@pytest.mark.parametrize("record", ["", "{", '{"key": 1}', "cut off"])
def test_a_damaged_record_of_the_key_is_named(home: Path, record: str) -> None:
    with opened(home) as space:
        space.add("Alice lives in Porto.")
    with closing(sqlite3.connect(home / "ledger.db")) as connection:
        [(whole,)] = connection.execute(tables.GET_META, (tables.ENCRYPTION_KEY,)).fetchall()
        found = json.loads(whole)
        cut = json.dumps({**found, "wrapped": found["wrapped"][:40]})
        connection.execute(tables.PUT_META, (tables.ENCRYPTION_KEY, cut if record == "cut off" else record))
        connection.commit()

    with pytest.raises(LedgerCorrupt, match=r"record of the encryption .* is damaged.*Restore a backup"):
        opened(home)


def test_a_new_key_opens_the_folder_and_the_old_one_does_not(home: Path) -> None:
    """Whoever has it open goes on; the old record is in no file."""
    with opened(home) as space:
        space.add("Alice lives in Porto.")
        with closing(sqlite3.connect(home / "ledger.db")) as connection:
            [(record,)] = connection.execute(tables.GET_META, (tables.ENCRYPTION_KEY,)).fetchall()
        old = json.loads(record)["wrapped"].lower()
        assert words_in_files(home, (old,))
        remanence.rotate_key(home, new=Encryption(OTHER), encryption=Encryption(KEY))
        space.add("Bob plays chess.")
        assert words_in_files(home, (old,)) == set()

    with pytest.raises(EncryptionKeyError):
        opened(home)
    with opened(home, OTHER) as space:
        assert space.count() == 2
        assert space.verify().entries == 2


def test_what_was_erased_is_gone_and_the_chain_holds(home: Path) -> None:
    with opened(home) as space:
        alice, _ = space.add_many(["Alice lives in Porto.", "Bob plays chess."])
        size = len(space._engine.ledger._rows("SELECT 1 FROM space_embedding"))  # type: ignore[attr-defined]
        space.erase(alice)
        assert len(space._engine.ledger._rows("SELECT 1 FROM space_embedding")) < size  # type: ignore[attr-defined]
        assert space.verify().entries == 3
        assert [memory.text for memory in space.memories()] == ["Bob plays chess."]
        assert space.admin.check() == {}


def test_an_export_is_plain_and_is_encrypted_where_it_is_imported(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    with opened(home) as space:
        live(space)
        space.admin.export(file)
    assert "Zanzibar" in file.read_text("utf-8")

    other = tmp_path / "other"
    remanence.restore(file, into=other, policy=Policy(encryption=Encryption(OTHER)), embedder=HashingEmbedder())
    assert words_in_files(other) == set()
    with opened(other, OTHER) as copied, opened(home) as space:
        assert [memory.text for memory in copied.memories()] == [memory.text for memory in space.memories()]


def test_what_is_not_encrypted_is_not_opened_with_a_key(home: Path) -> None:
    with opened(home, None) as space:
        space.add("Alice lives in Porto.")
    with pytest.raises(InvalidInput, match=r"is not encrypted.*`remanence encrypt"):
        opened(home)
    assert opened(home, None).count() == 1


@pytest.mark.parametrize(
    "options", [{"location": None}, {"location": "postgresql://db.example/memory"}, {"ledger": True}]
)
def test_only_a_folder_is_encrypted(home: Path, options: dict[str, Any]) -> None:
    ledger = open_ledger(None) if "ledger" in options else None
    with pytest.raises(InvalidInput, match=r"encryption= is for"):
        remanence.open(options.get("location", home), ledger=ledger, policy=Policy(encryption=Encryption(KEY)))


def test_vectors_elsewhere_are_refused(home: Path) -> None:
    with pytest.raises(InvalidInput, match="would keep its vectors elsewhere"):
        opened(home, qdrant="http://127.0.0.1:1")


def test_a_key_is_not_shown_and_is_given_once() -> None:
    assert KEY not in repr(Policy(encryption=Encryption(KEY)))
    with pytest.raises(InvalidInput, match=r"Give remanence.Encryption"):
        Policy(encryption=KEY)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Give one of them"):
        Encryption(KEY, keyring="ana")


def test_a_folder_is_encrypted_later(home: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With all entries, vectors and digests, and every command opens it then."""
    with opened(home, None) as space:
        live(space)
        texts, digest = [memory.text for memory in space.memories()], space.verify().digest
        with pytest.raises(LedgerUnavailable, match=r"open somewhere.*Close it everywhere"):
            remanence.encrypt(home, encryption=Encryption(KEY))
        assert space.add("Carol keeps bees.").text in [memory.text for memory in space.memories()]
        space.erase(list(space.memories())[-1])
        texts, digest = [memory.text for memory in space.memories()], space.verify().digest
    with pytest.raises(EncryptionKeyError, match="none was given"):
        remanence.encrypt(home.with_name("new"))
    assert not home.with_name("new").exists()
    monkeypatch.setenv("REMANENCE_KEY", run("new-key").strip())
    assert digest in run("encrypt")
    assert words_in_files(home) == set()
    assert not (home / "encrypting").exists()

    with opened(home, None) as space:
        assert [memory.text for memory in space.memories()] == texts
        assert space.verify().digest == digest
        assert space.recall("parrot", signals=["vectors"])[0].memory.text.startswith("Zanzibar")
        assert space.admin.check() == {}
    monkeypatch.setenv("REMANENCE_NEW_KEY", OTHER)
    assert "opens with the new key" in run("rotate-key")
    with opened(home, OTHER) as space:
        assert [memory.text for memory in space.memories()] == texts


def test_encrypting_that_is_killed_leaves_the_folder_as_it_was(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the one rename; and the next call does it."""
    with opened(home, None) as space:
        live(space)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *paths: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            remanence.encrypt(home, encryption=Encryption(OTHER))
    with opened(home, None) as space:
        count = space.count()
        space.add("Carol keeps bees.")
    remanence.encrypt(home, encryption=Encryption(KEY))
    with opened(home) as space:
        assert space.count() == count + 1
    monkeypatch.setenv("REMANENCE_KEY", KEY)
    with pytest.raises(InvalidInput, match="encrypted already"):
        remanence.encrypt(home)


def test_who_had_an_empty_folder_open_cannot_write_into_it_in_the_clear(home: Path) -> None:
    with opened(home, None) as plain, closing(open_ledger(home)) as ledger:
        with opened(home) as space:
            space.add("Alice lives in Porto.")
        with pytest.raises(remanence.RemanenceError):
            plain.add("Zanzibar lives in Porto.")
        with pytest.raises(LedgerError, match="was encrypted meanwhile"):
            append_events(ledger, remembered_event("Zanzibar lives in Porto."))
    assert words_in_files(home) == set()
    with opened(home) as space:
        assert space.verify().entries == 1


PROGRAM = """
import sys, remanence
from remanence.testing import HashingEmbedder
policy = remanence.Policy(encryption=remanence.Encryption())
with remanence.open(sys.argv[1], embedder=HashingEmbedder(), policy=policy) as space:
    for number in range(30):
        space.add(f"{sys.argv[2]} wrote line {number} of the log.")
"""


def test_two_processes_with_one_key_lose_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even if both make the folder."""
    monkeypatch.setenv("REMANENCE_KEY", KEY)
    processes = [WarmProcess(PROGRAM, home, name) for name in ("Ada", "Bo")]
    assert [process.wait() for process in processes] == [0, 0]

    with opened(home) as space:
        assert sorted(memory.text for memory in space.memories()) == sorted(
            f"{name} wrote line {n} of the log." for name in ("Ada", "Bo") for n in range(30)
        )
        assert space.verify().entries == 60
        assert space.admin.check() == {}


def test_kill_9_loses_nothing(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was acknowledged is there; what was erased is in no file."""
    monkeypatch.setenv("REMANENCE_KEY", KEY)
    opened(home).close()
    assert sqlite.file_identity(home / "ledger.db") is not None
    outcome = run_kills(str(home), 20, folder=tmp_path / "kills")

    assert outcome.violations == []
    assert words_in_files(home, ("noted thing",)) == set()

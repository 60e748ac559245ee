"""Who said it, how far that is trusted, and what is left when a source has never spoken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import remanence
from framed import recalled
from model_replies import FactsByQuotation
from remanence import InvalidInput, NotFound, Policy, Space, TrustRules
from remanence.errors import LedgerTampered, MissingExtra
from remanence.events import Forgotten
from remanence.testing import FakeClock, HashingEmbedder
from remanence.text.redaction import redact

QUESTION = "Where does Alice live?"
MOVES = FactsByQuotation(
    {"Alice moved to Lisbon": "Alice lives in Lisbon.", "Alice moved to Mars": "Alice lives on Mars."}
)


def texts(found: Any) -> list[str]:
    return [hit.memory.text for hit in found]


@pytest.fixture
def ruled(clock: FakeClock) -> Iterator[Space]:
    """A space in which a crawler and a tool are trusted less."""
    rules = TrustRules({"crawler*": "web", "search": "tool", "Mallory": 0.1, "crm": "partner"}, {"partner": 0.6})
    with remanence.open(
        None, embedder=HashingEmbedder(), clock=clock, policy=Policy(trust=rules), worker=False
    ) as space:
        yield space


class TestLevels:
    def test_trust_is_given_or_found_by_rule(self, ruled: Space) -> None:
        """By source, by observer, by conversation; the lower one counts; what is given counts first."""
        added = ruled.add_many(
            [
                "One.",
                {"text": "Two.", "source": "crawler-7"},
                {"text": "Three.", "source": "search", "observed_by": "Mallory"},
                {"text": "Four.", "source": "crawler-7", "trust": "user"},
                {"text": "Five.", "source": "crm"},
                {"text": "Six.", "trust": 0.3},
            ]
        )
        [turn] = ruled.add_turns([{"content": "Seven.", "conversation": "crawler-1", "speaker": "Bob"}])
        assert [m.trust for m in (*added, turn)] == [1.0, 0.2, 0.1, 0.8, 0.6, 0.3, 0.2]
        assert ruled.get(added[1]) == added[1]

    @pytest.mark.parametrize("trust", ["godlike", 2, -0.1, True, [], float("nan")])
    def test_what_is_no_level_is_refused(self, space: Space, trust: Any) -> None:
        """With the levels that there are."""
        with pytest.raises(InvalidInput, match="trusted, user, tool, web"):
            space.add("One.", trust=trust)
        with pytest.raises(InvalidInput, match="min_trust"):
            space.recall("One?", min_trust=trust)
        with pytest.raises(InvalidInput):
            remanence.open(None, policy=Policy(trust={"crawler": trust}))

    def test_a_fact_is_trusted_as_far_as_its_source(self, clock: FakeClock) -> None:
        """And a prompt says so."""
        options: dict[str, Any] = {"embedder": HashingEmbedder(), "clock": clock, "extractor": MOVES}
        with remanence.open(None, policy=Policy(trust={"crawler*": "web"}), **options) as space:
            [fact] = space.remember("Alice moved to Lisbon.", source="crawler-7")
            assert (fact.text, fact.trust) == ("Alice lives in Lisbon.", 0.2)
            notes = {said["text"]: said["notes"] for said in recalled(remanence.frame(space.recall(QUESTION)))}
            assert notes[fact.text] == "trust 0.2"
            assert space.recall(QUESTION).to_dicts()[0]["memory"]["trust"] == 0.2

    def test_it_survives_a_restart_and_a_rebuild(self, home: Path) -> None:
        """In the index and in the ledger."""
        with remanence.open(home, embedder=HashingEmbedder(), policy=Policy(trust={"web": "web"})) as space:
            space.add("Alice lives in Porto.")
            space.add("Alice lives in Atlantis.", source="web")
        with remanence.open(home, embedder=HashingEmbedder()) as space:
            assert texts(space.recall(QUESTION, min_trust=0.5)) == ["Alice lives in Porto."]
            assert space.admin.check() == {}
            space.rebuild()
            assert texts(space.recall(QUESTION, min_trust="user")) == ["Alice lives in Porto."]


class TestClosing:
    """What is trusted less never closes what is trusted more."""

    def test_a_claim(self, ruled: Space, clock: FakeClock) -> None:
        """It stands beside it, and does not take its place; what is trusted does."""
        ruled.add("Alice lives in Porto.")
        clock.advance(days=1)
        ruled.add("Alice lives in Atlantis.", source="crawler-7")
        found = ruled.recall(QUESTION)
        assert found[0].memory.text == "Alice lives in Porto."
        assert found[0].current
        assert found[0].superseded_by is None
        clock.advance(days=1)
        ruled.add("Alice lives in Lisbon.", source="email")
        found = ruled.recall(QUESTION)
        assert (found[0].memory.text, found[0].current) == ("Alice lives in Lisbon.", True)
        assert "Alice lives in Porto." not in texts(found)

    def test_a_claim_that_says_the_same_in_other_words(self, clock: FakeClock) -> None:
        """What is trusted more stands above what contradicts it, also without a reader."""
        with remanence.open(
            None, reader=None, policy=Policy(trust=remanence.TrustRules({"crawl*": "web"})), clock=clock
        ) as space:
            space.add("Nadia lives in Turin.", source="mail")
            clock.advance(days=1)
            space.remember("Nadia moved to Narnia.", source="crawl-2")
            assert texts(space.recall("Where does Nadia live?"))[:2] == [
                "Nadia lives in Turin.",
                "Nadia moved to Narnia.",
            ]

    def test_of_equals_the_later_counts(self, ruled: Space, clock: FakeClock) -> None:
        """As always."""
        ruled.add("Alice lives in Porto.", source="crawler-7")
        clock.advance(days=1)
        ruled.add("Alice lives in Lisbon.", source="crawler-7")
        assert texts(ruled.recall(QUESTION))[0] == "Alice lives in Lisbon."

    def test_a_fact_that_was_remembered(self, ruled: Space, clock: FakeClock) -> None:
        """Neither by a verdict nor by what it says has ended."""
        ruled.remember("Alice works at Bosch.")
        clock.advance(days=1)
        ruled.remember("Alice left Bosch. Alice works at Acme.", source="crawler-7")
        trusted = next(hit for hit in ruled.recall("Where does Alice work?") if hit.memory.trust == 1)
        assert trusted.memory.text == "Alice works at Bosch."
        assert trusted.current
        assert trusted.superseded_by is None
        clock.advance(days=1)
        ruled.remember("Alice left Bosch. Alice works at Acme.", source="email")
        assert not any(hit.memory.text == trusted.memory.text for hit in ruled.recall("Where does Alice work?"))

    def test_a_key(self, ruled: Space, clock: FakeClock) -> None:
        """Under the same key it is a memory of its own; from a source that is trusted it is a new version."""
        door = ruled.add("The door code is 4711.", key="door")
        clock.advance(days=1)
        other = ruled.add("The door code is 666.", key="door", source="crawler-7")
        assert other.id != door.id
        assert ruled.find("door") == door
        again = ruled.add("The door code is 667.", key="door", source="crawler-7")
        assert again.id == other.id
        assert ruled.add("The door code is 1234.", key="door").id == door.id

    def test_the_same_text(self, ruled: Space) -> None:
        """A trusted memory does not become an untrusted one because somebody repeats it."""
        first = ruled.add("Alice lives in Porto.")
        ruled.add("Alice lives in Porto.", source="crawler-7")
        kept = ruled.get(first)
        assert (kept.trust, kept.source) == (1.0, None)

    def test_a_merge(self, ruled: Space) -> None:
        """Upkeep leaves it to a person."""
        ruled.add("Alice likes long walks by the sea.")
        ruled.add("Alice likes long walks by the sea!", source="crawler-7")
        [cluster] = ruled.upkeep.clusters()
        assert cluster.action == "review"
        assert "not trusted alike" in cluster.why


class TestLeavingOut:
    def test_recall_weighs_and_leaves_out(self, ruled: Space) -> None:
        """Less trust is a lower score; below `min_trust` there is nothing."""
        trusted = ruled.add("The harbour is closed on Mondays.", source="port")
        web = ruled.add("The harbour is closed on Fridays.", source="crawler-7")
        scores = {hit.memory.id: hit.score for hit in ruled.recall("When is the harbour closed?")}
        assert scores[trusted.id] > scores[web.id]
        assert texts(ruled.recall("When is the harbour closed?", min_trust="tool")) == [trusted.text]
        assert texts(ruled.recall("When is the harbour closed?", without="crawler-7")) == [trusted.text]

    def test_as_if_a_source_had_never_spoken(self, space: Space, clock: FakeClock) -> None:
        """What it replaced holds again: claims, facts, and versions under a key."""
        space.remember("Alice lives in Porto.", source="email")
        space.add("The door code is 4711.", key="door", source="email")
        clock.advance(days=1)
        space.remember("Alice moved to Lisbon.", source="gossip")
        space.add("The door code is 666.", key="door", source="gossip")
        assert "Lisbon" in texts(space.recall(QUESTION))[0]

        found = space.recall(QUESTION, without="gossip")
        assert "Porto" in found[0].memory.text
        assert found[0].current
        assert not any("Lisbon" in text for text in texts(found))
        assert texts(space.recall("door code", without=["gossip"]))[0] == "The door code is 4711."
        assert texts(space.audit.replay(found.receipt)) == texts(found)
        assert "Lisbon" in texts(space.recall(QUESTION))[0]

    def test_with_other_filters_and_without_a_question(self, space: Space, clock: FakeClock) -> None:
        """Also in `recent`, and in a receipt."""
        space.add("Alice lives in Porto.", source="email")
        clock.advance(days=3)
        space.add("The ferry goes at nine.", source="email")
        space.add("The ferry goes at ten.", source="gossip", trust="web")
        for options in ({"without": "gossip"}, {"min_trust": "tool"}):
            found = space.recent(since="1 day ago", exclude_texts=["Nothing."], **options)  # type: ignore[arg-type]
            assert texts(found) == ["The ferry goes at nine."]
            found = space.recall("When does the ferry go?", since="1 day ago", **options)  # type: ignore[arg-type]
            assert texts(found) == ["The ferry goes at nine."]
            assert texts(space.audit.replay(found.receipt)) == texts(found)

    def test_in_lists(self, space: Space, clock: FakeClock) -> None:
        """What the source replaced is listed again, as in a recall."""
        space.add("The door code is 4711.", key="door")
        clock.advance(days=1)
        space.add("The door code is 9999.", key="door", source="gossip")
        listed = [memory.text for memory in space.memories(without="gossip")]

        assert listed == texts(space.recent(without="gossip")) == ["The door code is 4711."]
        assert [memory.text for memory in space.memories("current", without="gossip")] == listed

    def test_what_another_source_said_too_stays(self, space: Space) -> None:
        """It would be known anyway."""
        space.add("Alice drinks tea.", source="email")
        space.add("Alice drinks tea.", source="gossip")
        assert texts(space.recall("What does Alice drink?", without="gossip")) == ["Alice drinks tea."]
        assert texts(space.recall("What does Alice drink?", without=["gossip", "email"])) == []


class TestQuarantine:
    @pytest.fixture
    def gossip(self, clock: FakeClock) -> Iterator[Space]:
        """Somebody has said where Alice lives, and what follows from it was kept."""
        with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=MOVES) as space:
            space.add("Alice lives in Porto.", source="email")
            clock.advance(days=1)
            space.remember([{"role": "user", "content": "Alice moved to Lisbon."}], source="gossip")
            yield space

    def test_it_is_previewed(self, gossip: Space) -> None:
        """Nothing is written."""
        before = gossip.verify().entries
        preview = gossip.audit.quarantine("gossip", dry_run=True)
        assert preview.id is None
        assert any("Lisbon" in memory.text for memory in preview.memories)
        assert all("Porto" not in memory.text for memory in preview.memories)
        assert "would be hidden" in str(preview)
        assert gossip.verify().entries == before

    def test_everything_from_it_and_derived_from_it_leaves_recall(self, gossip: Space) -> None:
        """Also what comes later; and what it replaced holds again."""
        hidden = gossip.audit.quarantine("gossip", why="it lied")
        assert {memory.text for memory in hidden.memories} == {"Alice moved to Lisbon.", "Alice lives in Lisbon."}
        assert [each.source for each in gossip.audit.quarantines()] == ["gossip"]
        gossip.add("Alice lives on the moon.", source="gossip")
        gossip.remember("Alice moved to Mars.", source="gossip")
        found = gossip.recall(QUESTION)
        assert "Porto" in found[0].memory.text
        assert found[0].current
        assert not any(word in text for text in texts(found) for word in ("Lisbon", "moon", "Mars"))
        assert gossip.as_of("2026-05-05T10:00").recall(QUESTION) is not None
        assert gossip.admin.check() == {}

    def test_it_is_undone(self, gossip: Space) -> None:
        """All of it comes back, and what came meanwhile comes too."""
        before = texts(gossip.recall(QUESTION))
        hidden = gossip.audit.quarantine("gossip")
        late = gossip.add("Alice has a cat.", source="gossip")
        with pytest.raises(InvalidInput, match="this is a preview"):
            gossip.audit.release(gossip.audit.quarantine("nobody", dry_run=True))
        released = gossip.audit.release(hidden, why="it was right")
        assert released.released
        assert texts(gossip.recall(QUESTION))[0] == before[0]
        assert gossip.get(late) is not None
        gossip.add("Alice has a dog.", source="gossip")
        assert any("dog" in memory.text for memory in gossip.memories())
        assert hidden.id is not None
        assert gossip.audit.release(hidden.id).released

    def test_it_survives_a_restart_an_export_and_an_import(self, home: Path, tmp_path: Path) -> None:
        """It is a part of the ledger."""
        with remanence.open(home, embedder=HashingEmbedder()) as space:
            space.add("Alice lives in Atlantis.", source="gossip")
            hidden = space.audit.quarantine("gossip")
        with (
            remanence.open(home, embedder=HashingEmbedder()) as space,
            remanence.open(None, embedder=HashingEmbedder()) as new,
        ):
            assert not space.recall(QUESTION)
            space.admin.export(tmp_path / "a.jsonl")
            remanence.restore(tmp_path / "a.jsonl", into=new)
            assert not new.recall(QUESTION)
            assert hidden.id is not None
            new.audit.release(hidden.id)
            assert new.recall(QUESTION)

    def test_it_is_gone_with_the_space_and_stays_when_a_memory_is_erased(self, home: Path) -> None:
        """What is erased of it does not come back with a release."""
        with remanence.open(home, embedder=HashingEmbedder()) as space:
            lie = space.add("Alice lives in Atlantis.", source="gossip")
            other = space.add("Alice drinks tea.", source="gossip")
            hidden = space.audit.quarantine("gossip")
            space.erase(lie)
            [known] = space.audit.quarantines()
            assert [memory.id for memory in known.memories] == [other.id]
            assert hidden.id is not None
            space.audit.release(hidden.id)
            assert [memory.id for memory in space.memories()] == [other.id]
            space.audit.quarantine("gossip")
            space.erase_space()
            assert space.audit.quarantines() == []
        with remanence.open(home, embedder=HashingEmbedder()) as space:
            assert space.audit.quarantines() == []
            assert space.admin.check() == {}
            assert space.add("Alice lives in Porto.", source="gossip") in space.memories()
            space.verify()

    def test_what_is_wrong_is_named(self, gossip: Space) -> None:
        """Twice the same source, or a quarantine that is none."""
        gossip.audit.quarantine("gossip")
        with pytest.raises(InvalidInput, match="in quarantine already"):
            gossip.audit.quarantine("gossip")
        with pytest.raises(NotFound, match="no quarantine 'x'"):
            gossip.audit.release("x")


class TestRedaction:
    @pytest.mark.parametrize(
        ("text", "secret", "kind"),
        [
            ("My password is hunter2.", "hunter2", "password"),
            ("password: swordfish", "swordfish", "password"),
            ("The PIN for my card is 4711", "4711", "password"),
            ("see https://bob:s3cret@example.org/x", "s3cret", "password"),
            ("Pay with 4111 1111 1111 1111, please", "4111 1111 1111 1111", "card number"),
            ("5500-0000-0000-0004 exp 12/29", "5500-0000-0000-0004", "card number"),
            ("378282246310005", "378282246310005", "card number"),
            (f"key sk-{'ab12' * 6} here", "ab12" * 6, "key"),
            ("AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP", "key"),
            ("api_key = a8f5f167f44f4964e6c998dee827110c", "a8f5f167", "key"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE", "key"),
        ],
    )
    def test_secrets_are_recorded_and_not_kept(self, home: Path, text: str, secret: str, kind: str) -> None:
        """Neither in the memory nor in any file; that there was one is in `meta`."""
        with remanence.open(home, embedder=HashingEmbedder(), policy=Policy(redact=True)) as space:
            memory = space.add(f"{text} (Alice)", meta={"note": text, "empty": ""})
            [turn] = space.add_turns([{"content": text, "speaker": "Alice"}])
            space.remember(f"Alice says: {text}")
        assert secret not in memory.text
        assert memory.meta["redacted"] == {kind: 2}
        assert turn.meta["redacted"] == {kind: 1}
        assert not any(secret.encode() in file.read_bytes() for file in home.rglob("*") if file.is_file())

    @pytest.mark.parametrize(
        "text",
        [
            "The password is weak, and the pin is broken.",
            "Order 1234 5678 9012 3456 came on 2026-05-03.",
            "Call +44 20 7946 0958 or 415-555-2671.",
            "I forgot my password. The secret is patience.",
            "Bob was born on 12.05.1984 and lives at 221B Baker Street.",
        ],
    )
    def test_what_is_no_secret_stays(self, text: str) -> None:
        """Numbers that fail Luhn's check, dates, phone numbers, and words about passwords."""
        assert redact(text) == (text, {})

    def test_what_is_imported_from_elsewhere_too(self, tmp_path: Path) -> None:
        """With the trust of its source."""
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "Bank.md").write_text("The PIN for my card is 4711.")
        with remanence.open(None, embedder=HashingEmbedder(), policy=Policy(redact=True, trust={"*": "tool"})) as space:
            space.admin.import_from(tmp_path / "notes")
            [memory] = space.memories()
            assert "4711" not in memory.text
            assert memory.meta["redacted"] == {"password": 1}
            assert space.admin.import_from(tmp_path / "notes").unchanged == 1
            assert memory.trust == (0.5 if memory.source or memory.observed_by else 1.0)

    def test_sources_and_tags_too(self, home: Path) -> None:
        """An address may have a password, and so may the tag of a turn."""
        with remanence.open(home, embedder=HashingEmbedder(), policy=Policy(redact=True)) as space:
            memory = space.add("A page.", source="https://bob:s3cret@example.org/x", tags=["key sk-" + "ab12" * 6])
            [turn] = space.add_turns([{"content": "Hello.", "tags": ["password: s3cret"]}])
        assert memory.source == "https://bob:[redacted password]@example.org/x"
        assert memory.meta["redacted"] == {"password": 1, "key": 1}
        assert turn.meta["redacted"] == {"password": 1}
        assert not any(b"s3cret" in file.read_bytes() for file in home.rglob("*") if file.is_file())

    def test_nothing_is_redacted_unless_asked_for(self, space: Space) -> None:
        """A text is stored verbatim."""
        assert space.add("My password is hunter2.").text == "My password is hunter2."

    def test_a_function_of_your_own(self) -> None:
        """It may call a model; what is no answer is refused, and nothing is stored."""
        with remanence.open(
            None, policy=Policy(redact=lambda text: (text.replace("Bob", "B."), {"name": text.count("Bob")}))
        ) as space:
            memory = space.add("Bob drinks tea.")
            assert (memory.text, memory.meta["redacted"]) == ("B. drinks tea.", {"name": 1})
        with remanence.open(None, policy=Policy(redact=lambda text: None)) as space:  # type: ignore[arg-type, return-value]
            with pytest.raises(InvalidInput, match="redact returned NoneType"):
                space.add("Bob drinks tea.")
            assert space.count() == 0
        with pytest.raises(InvalidInput, match="redact='yes'"):
            Policy(redact="yes")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=r"Give remanence.Policy\("):
            remanence.open(None, policy={"redact": True})  # type: ignore[arg-type]


_SIGNED_KINDS = {
    *("remembered", "forgotten", "restored", "erased", "registered", "renamed", "merged", "split", "undone"),
    *("declared", "related", "linked", "invalidated", "served", "extracted", "queued", "worked", "expired", "used"),
    *("ran", "reversed", "quarantined", "released"),
}


def _write_every_kind(space: remanence.Space) -> None:
    """Use every verb that writes, so that there is an entry of each of these kinds."""
    porto = space.add("Alice lives in Porto.", source="chat")
    tea = space.add("Bob drinks tea.", now="2019-01-01", expires_at="2020-01-01")
    space.forget(porto, why="she asked")
    space.unforget(porto)
    space.entities.register("AlphaOne LLC", aliases=["AO", "Alpha"], kind="organization")
    space.entities.register("Beta")
    space.entities.rename("Beta", "Beta Ltd")
    space.entities.undo(space.entities.merge("Beta Ltd", "AlphaOne LLC"))
    space.entities.split("AlphaOne LLC", ["AO"])
    space.graph.declare("mentors", single_valued=True)
    space.graph.invalidate_edge(space.graph.relate("Alice", "knows", "Bob"))
    space.graph.link(porto, "supports", tea)
    space.audit.record(space.recall("Where does Alice live?"))
    space.remember("Alice moved to Lisbon.", wait=False).result()
    space.upkeep.expire()
    space.touch([porto])
    upkeep = space.upkeep.with_settings(forget_below=1.0, promote_above=1.0)
    upkeep.undo(upkeep.gc())
    space.erase(space.add("A secret."))
    quarantined = space.audit.quarantine("chat")
    assert quarantined.id is not None
    space.audit.release(quarantined.id)


def _entries(space: remanence.Space) -> list[Any]:
    return list(space._engine.ledger.read(space.name))


class TestSignatures:
    @pytest.fixture
    def key(self) -> Any:
        ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
        return ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))

    def test_memories_are_signed_by_their_writer(self, home: Path, key: Any) -> None:
        """And `verify` says whose they are."""
        signers = {"alice": key.public_key()}
        with remanence.open(home, embedder=HashingEmbedder(), policy=Policy(signing_key=key, signers=signers)) as space:
            space.add("Alice lives in Porto.")
            space.remember("Alice drinks tea.")
            assert set(space.verify().signers) == {"alice"}
        with remanence.open(home, embedder=HashingEmbedder()) as space:
            space.add("Nobody signed this.")
            [(name, count)] = space.verify().signers.items()
            assert (name, count >= 2) == (key.public_key().public_bytes_raw().hex(), True)

    def test_they_are_kept_through_export_and_import(self, tmp_path: Path, key: Any) -> None:
        """Whatever the space is called there, and also without the text of an erased memory."""
        with (
            remanence.open(None, embedder=HashingEmbedder(), policy=Policy(signing_key=key)) as old,
            remanence.open(None, embedder=HashingEmbedder(), policy=Policy(signers={"alice": key.public_key()})) as new,
        ):
            old.add("Alice lives in Porto.", trust=0.5, meta={"x": [1, {"y": "ü"}]}, now="2026-05-04")
            old.erase(old.add("A secret."))
            old.admin.export(tmp_path / "a.jsonl")
            remanence.restore(tmp_path / "a.jsonl", into=new.child("there"))
            assert new.child("there").verify().signers == {"alice": 2}

    def test_every_entry_is_signed(self, tmp_path: Path, key: Any) -> None:
        """Whatever it records, and also under the positions and the name that it gets by an import."""
        with (
            remanence.open(None, embedder=HashingEmbedder(), policy=Policy(signing_key=key), extractor=MOVES) as old,
            remanence.open(None, embedder=HashingEmbedder(), policy=Policy(signers={"alice": key.public_key()})) as new,
        ):
            old.child("other").add("It takes the first position.")
            _write_every_kind(old)
            entries = list(old._engine.ledger.read(old.name))
            assert {entry.kind for entry in entries} >= _SIGNED_KINDS
            assert all(entry.event is None or entry.event.signature for entry in entries)
            old.admin.export(tmp_path / "a.jsonl")
            new.add("It takes another one.")
            remanence.restore(tmp_path / "a.jsonl", into=new.child("there"))
            signed = sum(entry.event is not None for entry in entries)
            assert old.verify().signers == {"this writer": signed}
            assert new.child("there").verify().signers == {"alice": signed}
            old.erase_space()
            assert old.verify().signers == {"this writer": sum(entry.event is not None for entry in _entries(old))}
            assert _entries(old)[-1].kind == "emptied"
            assert _entries(old)[-1].event.signature

    def test_a_changed_entry_of_any_kind_is_noticed(self, key: Any) -> None:
        """Here each is signed for another subject, or for other entries."""
        with remanence.open(None, embedder=HashingEmbedder(), policy=Policy(signing_key=key), extractor=MOVES) as space:
            _write_every_kind(space)
            by_kind = {entry.kind: entry.event for entry in _entries(space) if entry.event is not None}
        for kind in sorted(_SIGNED_KINDS):
            event = by_kind[kind]
            forged_event = replace(event, **{fields(event)[0].name: "another"})
            if kind == "erased":
                forged_event = replace(event, positions=(1,))
            with remanence.open(None, embedder=HashingEmbedder()) as forged:
                with forged._engine.ledger.transaction() as transaction:
                    transaction.append("default", [forged_event], at=forged._at(None))
                with pytest.raises(LedgerTampered, match=r"entry 1 about .* has an invalid signature"):
                    forged._engine.signatures.check("default")

    def test_entries_that_an_older_release_did_not_sign_are_valid(self, key: Any) -> None:
        """It signed memories only."""
        with remanence.open(None, embedder=HashingEmbedder(), policy=Policy(signing_key=key)) as space:
            memory = space.add("Alice lives in Porto.")
            with space._engine.ledger.transaction() as transaction:
                transaction.append("default", [Forgotten(memory.id)], at=space._at(None))
            space.unforget(memory)
            assert space.verify().signers == {"this writer": 2}

    def test_a_changed_memory_is_noticed(self, home: Path, tmp_path: Path, key: Any) -> None:
        """Even if somebody has made every digest right again, as an import does."""
        with remanence.open(home, embedder=HashingEmbedder(), policy=Policy(signing_key=key)) as space:
            space.add("Alice lives in Porto.")
            version = space._engine.ledger.entries_at([1])[1].event
        with remanence.open(None, embedder=HashingEmbedder()) as forged:
            with forged._engine.ledger.transaction() as transaction:
                transaction.append("default", [replace(version, text="Alice lives in Atlantis.")], at=forged._at(None))
            with pytest.raises(LedgerTampered, match=r"entry 1 about .* has an invalid signature"):
                forged.verify()

    def test_a_key_that_is_none_is_not_shown(self, key: Any) -> None:
        """It may be a part of one."""
        for wrong in (b"short", "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----", 7):
            with pytest.raises(InvalidInput, match="signing_key is not an Ed25519 key") as refused:
                remanence.open(None, policy=Policy(signing_key=wrong))
            assert "secret" not in str(refused.value)
        with pytest.raises(InvalidInput, match="'bob'"):
            remanence.open(None, policy=Policy(signers={"bob": b"short"}))

    def test_without_the_package_it_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the extra to install."""
        import sys

        monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
        with pytest.raises(MissingExtra, match=r"remanence-memory\[sign\]"):
            remanence.open(None, policy=Policy(signing_key=bytes(32)))

"""A folder that an earlier build wrote opens, and everything in it is read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

import remanence
from remanence import Encryption, Policy, Space
from remanence.testing import FakeClock, HashingEmbedder

WRITTEN = Path(__file__).parent / "ledgers" / "da058e15"
"""An encrypted folder of two spaces, with its index, written by commit da058e15 in 2026. Never write it again."""
DIGEST = "58ec63904d1954d70790df090e44abf39ffe396ca19b2aac669fe530bbc7c1ca"
KEY = bytes(range(32))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).replace(tzinfo=timezone.utc)


@pytest.fixture(params=["with its index", "without its index"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Space]:
    folder = shutil.copytree(WRITTEN, tmp_path / "memory")
    if request.param == "without its index":
        shutil.rmtree(folder / "index")
    with remanence.open(
        folder,
        embedder=HashingEmbedder(),
        policy=Policy(encryption=Encryption(KEY)),
        clock=FakeClock("2026-05-07"),
        worker=False,
    ) as space:
        yield space


def test_a_folder_of_an_earlier_build_opens_and_can_be_written(old: Space) -> None:
    """Its chain of digests holds, and goes on with what is added now."""
    report = old.verify()
    assert (report.entries, report.digest) == (23, DIGEST)

    old.add("Alice rows.")
    assert old.verify().entries == 24
    assert old.recall("Does Alice row?")[0].memory.text == "Alice rows."


def test_memories_of_an_earlier_build_are_read_with_their_fields_and_their_past(old: Space) -> None:
    """What was replaced, forgotten, erased and quarantined stays so."""
    texts = {memory.text for memory in old.memories()}
    [before] = [memory for memory in old.as_of("2026-05-04T12:00Z").memories() if memory.key == "home"]
    [after] = [memory for memory in old.memories() if memory.key == "home"]
    [hazelnuts] = [memory for memory in old.memories() if memory.tags == ("health",)]

    assert (before.text, after.text) == ("Alice lives in Porto.", "Alice lives in Lisbon.")
    assert (before.source, before.importance, before.valid.start) == ("letters", 0.8, moment("2026-01-05"))
    assert hazelnuts.turn is not None
    assert hazelnuts.turn.conversation == "monday"
    assert texts.isdisjoint({"Bob's PIN is 1234.", "The key is under the pot.", "The bridge is closed."})
    assert [memory.text for memory in old.child("team").memories()] == ["The office is in Graz."]
    assert [each.why for each in old.audit.quarantines()] == ["it was wrong"]


def test_the_graph_of_an_earlier_build_is_read(old: Space) -> None:
    """With a name that was merged, a relation that was ended, a claim of a sentence, and a link between memories."""
    edges = {(edge.name, edge.target) for edge in old.graph.query("Carol").edges}
    ended = [event.value for event in old.graph.timeline("Carol") if event.kind == "edge invalidated"]
    [hazelnuts] = [memory for memory in old.memories() if memory.tags == ("health",)]
    names = {edge.name for edge in old.graph.query(hazelnuts.id).edges}
    carol = old.entities.resolve("CD")

    assert carol is not None
    assert carol.name == "Carol Diaz"
    assert edges == {("manages", old.entities.resolve("Dave").id)}
    assert [(relation.object, relation.valid.end) for relation in ended] == [("Erin", moment("2026-05-06T09:00Z"))]
    assert {"supports", "allergic_to", "next_turn"} <= names


def test_receipts_procedures_and_proposals_of_an_earlier_build_are_read(old: Space) -> None:
    """A receipt names the memories that were returned then."""
    [recorded] = old.audit.recorded()
    [proposal] = old.proposals.list()
    procedure = old.procedures.recall("deploy the shop")

    assert recorded.receipt.question == "What am I allergic to?"
    assert old.get(recorded.memories[0]).text == "I am allergic to hazelnuts."
    assert (proposal.text, proposal.by) == ("I am allergic to hazelnuts.", "Erin")
    assert procedure is not None
    assert [step.tool for step in procedure.steps] == ["build", "release"]
    assert "no space left" in str(procedure)


def test_the_texts_of_an_earlier_build_are_encrypted() -> None:
    """No file of the folder has them in the clear."""
    stored = b"".join(path.read_bytes() for path in WRITTEN.rglob("*") if path.is_file())
    assert len(stored) > 50_000
    assert b"hazelnuts" not in stored

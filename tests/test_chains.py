"""Memories that answer a question only together: they are read one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import remanence
from remanence.testing import FakeClock, HashingEmbedder

WORKS, USES, OTHER = "Ana works at Stripe.", "Stripe uses PostgreSQL.", "Google uses Spanner."


class ChainReader:
    """Finds the answer only where both memories stand together, and half of it in the first."""

    def __init__(self, alone: float = 0.5) -> None:
        self.alone, self.seen = alone, list[str]()

    def read(self, question: str, passages: Sequence[str]) -> list[float]:
        self.seen += passages
        return [0.95 if f"{WORKS} {USES}" in text else self.alone if WORKS in text else 0.01 for text in passages]


def told(reader: ChainReader, clock: FakeClock, *texts: str) -> remanence.Space:
    space = remanence.open(None, embedder=HashingEmbedder(), reader=reader.read, clock=clock)
    for text in texts:
        space.add(text)
    return space


def test_a_memory_that_answers_after_another_one_comes_first(clock: FakeClock) -> None:
    """The reason quotes the one before it, and the parts of the score add up."""
    with told(ChainReader(), clock, WORKS, USES, OTHER) as space:
        found = space.recall("Which database does the company Ana works for use?")

    assert [hit.memory.text for hit in found[:2]] == [USES, WORKS]
    assert f"after {WORKS!r}" in found.explain()
    assert sum(evidence.share for evidence in found[0].evidence) == pytest.approx(found[0].score)


def test_no_chain_is_read_if_one_memory_answers_alone(clock: FakeClock) -> None:
    """Most questions need no other one."""
    reader = ChainReader(alone=0.97)
    with told(reader, clock, WORKS, USES, OTHER) as space:
        assert space.recall("Where does Ana work?")[0].memory.text == WORKS

    assert f"{WORKS} {USES}" not in reader.seen


def test_memories_that_share_no_name_are_not_read_together(clock: FakeClock) -> None:
    """Nothing leads from one to the other."""
    reader = ChainReader()
    with told(reader, clock, WORKS, OTHER) as space:
        space.recall("Which database does the company Ana works for use?")

    assert sorted(reader.seen) == sorted([WORKS, OTHER])

"""A profile that is read a few memories at a time: what is known so far, and how far it is."""

from __future__ import annotations

import pytest

from remanence import Space
from remanence.service.endpoints.map_operations import profile_part
from remanence.testing import FakeClock
from test_profile import LAKES, ScriptedReader, opened

LATEST = 8


def lines(part: object) -> list[tuple[str, ...]]:
    return [each.memories for each in part.statements]  # type: ignore[attr-defined]


def filled(clock: FakeClock, reader: ScriptedReader) -> Space:
    space = opened(clock, reader=reader)
    for text in LAKES[:20]:
        space.add(text)
        clock.advance(days=1)
    return space


@pytest.mark.parametrize("steps", [1, 3, 50])
def test_in_steps_it_becomes_the_whole_profile(clock: FakeClock, steps: int) -> None:
    """However few steps a call makes, the last call has what `profile` has, and nothing was read twice."""
    reader = ScriptedReader("umbrella")
    with filled(clock, reader) as space:
        parts = []
        while not parts or parts[-1].read < parts[-1].wanted:
            parts.append(profile_part(space, latest=1_000, steps=steps))
        calls = len(reader.calls)
        assert calls == len({(question, tuple(read)) for question, read, _ in reader.calls})
        assert parts[-1].statements == space.profile().statements
        assert len(reader.calls) == calls
    assert [part.prepared for part in parts] == sorted(part.prepared for part in parts)
    assert [part.read for part in parts] == sorted(part.read for part in parts)


def test_a_call_does_no_more_than_its_steps(clock: FakeClock) -> None:
    """First it looks at memories, then it reads two of them at a time."""
    reader = ScriptedReader()
    with filled(clock, reader) as space:
        first = profile_part(space, latest=1_000, steps=5)
        assert (first.prepared, first.read, first.statements, reader.calls) == (5, 0, (), [])
        for _ in range(4):
            before = len(reader.calls)
            profile_part(space, latest=1_000, steps=5)
            assert len(reader.calls) <= before + 6  # a memory that was begun is read with both that it is near to


def test_the_lines_that_are_known_are_those_of_the_latest_memories(clock: FakeClock) -> None:
    """They are stated only once all later ones were read: one of those may have ended them."""
    reader = ScriptedReader()
    with filled(clock, reader) as space:
        profile_part(space, latest=1_000, steps=1_000)
        part = next(part for _ in range(99) if (part := profile_part(space, latest=LATEST, steps=1)).read > 0)
        assert part.wanted == part.total == part.read == 20  # what was read before comes with it

    reader = ScriptedReader()
    with filled(clock, reader) as space:
        ids = [memory.id for memory in sorted(space.memories(), key=lambda memory: memory.told_at)]
        part = next(part for _ in range(99) if (part := profile_part(space, latest=1_000, steps=4)).read > 0)
        assert part.read < part.wanted == 20
        assert lines(part)
        assert {memory for line in lines(part) for memory in line} <= set(ids[-part.read :])


def test_only_the_latest_memories_are_read(clock: FakeClock) -> None:
    reader = ScriptedReader()
    with filled(clock, reader) as space:
        ids = [memory.id for memory in sorted(space.memories(), key=lambda memory: memory.told_at)]
        for _ in range(2):
            part = profile_part(space, latest=LATEST, steps=1_000)
            assert (part.prepared, part.read, part.wanted, part.total) == (LATEST, LATEST, LATEST, 20)
            assert lines(part)
            assert {memory for line in lines(part) for memory in line} <= set(ids[-LATEST:])
        assert len(reader.calls) <= 2 * LATEST


def test_an_empty_space_has_nothing_to_read(clock: FakeClock) -> None:
    with opened(clock, reader=ScriptedReader()) as space:
        part = profile_part(space)
        assert (part.statements, part.read, part.wanted, part.total) == ((), 0, 0, 0)

"""Many texts at once: a child process reads the next ones."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from typing import Any

import pytest

import remanence
from remanence import InvalidInput, Space
from remanence.remember import bulk
from remanence.remember.bulk import ParallelExtractor
from remanence.testing import FakeClock
from remanence.text.rule_extractor import RuleExtractor

NOW = datetime(2026, 5, 4, tzinfo=timezone.utc)
PEOPLE = ("Alice", "Bob", "Carol", "Dora", "Emil")


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {"text": f"{PEOPLE[n % 5]} moved to Porto on {n % 28 + 1} March 2025, note {n}.", "tags": [f"t{n % 3}"]}
        for n in range(count)
    ]


def turns(count: int) -> list[dict[str, Any]]:
    return [{"speaker": PEOPLE[n % 5], "content": f"I live in Lisbon since {n % 3 + 1} May."} for n in range(count)]


def filled(monkeypatch: pytest.MonkeyPatch, least: int) -> list[tuple[Any, ...]]:
    monkeypatch.setattr(bulk, "MIN_TEXTS", least)
    with remanence.open(None, clock=FakeClock("2026-05-04")) as space:
        memories = space.add_many(rows(300)) + space.add_turns(turns(300))
        return [(m.text, m.mentions, m.triples, m.valid, m.turn, m.tags, m.kind) for m in memories]


def test_what_a_child_process_reads_is_what_is_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, claims, times, turns and repetitions are the same."""
    monkeypatch.setattr("remanence.remember.bulk._SLICE", 70)

    assert filled(monkeypatch, 300) == filled(monkeypatch, 10_000)


def test_the_texts_are_read_by_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process reads none of them."""
    texts = [(row["text"], NOW, None) for row in rows(600)]
    expected = [RuleExtractor().extract(text, now=now) for text, now, _ in texts]

    with ParallelExtractor(Unused(), texts) as ahead:
        assert [ahead.extract(text, now=now, speaker=speaker) for text, now, speaker in texts] == expected


def test_the_rest_is_read_here_if_the_child_is_killed() -> None:
    """Nothing is missing."""
    texts = [(row["text"], NOW, None) for row in rows(2_000)]
    with ParallelExtractor(RuleExtractor(), texts) as ahead:
        found = [ahead.extract(*texts[0][:1], now=NOW)]
        ahead._child.kill()
        found += [ahead.extract(text, now=now) for text, now, _ in texts[1:]]

    assert len(found) == 2_000
    assert all(len(each.mentions) >= 2 for each in found)


def test_other_texts_than_those_given_are_read_here() -> None:
    """It never answers with what was found in another text."""
    with ParallelExtractor(RuleExtractor(), [("Alice lives in Porto.", NOW, None)]) as ahead:
        assert [m.name for m in ahead.extract("Bob lives in Rome.", now=NOW).mentions] == ["Bob", "Rome"]
        assert [m.name for m in ahead.extract("Carol lives in Oslo.", now=NOW).mentions] == ["Carol", "Oslo"]


@pytest.mark.parametrize("wrong", [{"valid_from": "once upon"}, {"expires_at": "never ever"}, {"now": "some day"}])
def test_nothing_is_stored_if_a_date_of_a_late_row_is_wrong(
    space: Space, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str]
) -> None:
    """Although the first rows could be stored before the last one is prepared."""
    monkeypatch.setattr(bulk, "MIN_TEXTS", 10)
    monkeypatch.setattr("remanence.remember.bulk._SLICE", 5)

    with pytest.raises(InvalidInput, match="row 20"):
        space.add_many([*rows(19), {"text": "Late.", **wrong}])
    with pytest.raises(InvalidInput, match="row 20"):
        space.add_turns([*turns(19), {"content": "Late.", "time": "once upon"}])
    assert space.count() == 0


def test_the_progress_counts_all_rows(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if they are stored in slices."""
    monkeypatch.setattr(bulk, "MIN_TEXTS", 10)
    monkeypatch.setattr("remanence.remember.bulk._SLICE", 10)
    seen: list[tuple[int, int]] = []
    space.add_many(rows(25), progress=lambda done, total: seen.append((done, total)))

    assert seen == [(10, 25), (20, 25), (25, 25)]


class Unused(RuleExtractor):
    def extract(self, text: str, **_: Any) -> Any:
        raise AssertionError(f"{text!r} was read in this process")


def test_a_program_that_is_no_interpreter_starts_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its executable would start the program itself."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert bulk.can_extract_in_parallel(RuleExtractor(), bulk.MIN_TEXTS)
    monkeypatch.setattr(sys, "executable", "/opt/notes/notes")
    assert not bulk.can_extract_in_parallel(RuleExtractor(), bulk.MIN_TEXTS)
    monkeypatch.setattr(sys, "executable", "")
    assert not bulk.can_extract_in_parallel(RuleExtractor(), bulk.MIN_TEXTS)

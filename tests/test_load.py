"""Threads of several processes on one ledger, for a few calls. `benchmarks/load.py` does it for longer."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence.testing import HashingEmbedder
from warm_process import WarmProcess

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import load
load.main()
"""


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("load")


@pytest.mark.slow
def test_nothing_is_lost_doubled_or_leaked_under_load(
    load: Any, location: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four threads in each of two processes add, revise, recall, forget and erase; no call fails."""

    def start(arguments: Sequence[str]) -> WarmProcess:
        return WarmProcess(PROGRAM, BENCHMARKS, *arguments)

    well = load.measure(location, processes=2, threads=4, seconds=60, calls=20, start=start)
    printed = capsys.readouterr().out
    assert well, printed
    verbs = {line.split("  ")[0] for line in printed.splitlines()}
    assert verbs >= {"add", "add_many of 3", "revise", "recall", "forget", "erase"}


def test_the_comparison_finds_what_is_wrong(load: Any, home: Path) -> None:
    """An entry that was acknowledged and is not there, one that nobody wrote, one that is erased, one that is not."""
    with remanence.open(home, embedder=HashingEmbedder(64)) as space:
        ward = space.child("ward0")
        kept, forgotten, stranger = ward.add_many([f"Note {n} of ward0 is about bread." for n in range(3)])
        ward.forget(forgotten)

    def found(*more: tuple[str, str, str, str]) -> set[str]:
        entries = [("remembered", ward.name, memory.id, memory.text) for memory in (kept, forgotten, stranger)]
        entries += [("forgotten", ward.name, forgotten.id, forgotten.text), *more]
        violations = load.Violations()
        load.compare(str(home), [entry for entry in entries if entry not in dropped], violations)
        return set(violations.counts)

    dropped: list[tuple[str, str, str, str]] = []
    assert found() == set()
    assert found(("remembered", ward.name, "m9", "Never written.")) == {"entry lost", "memory missing"}
    assert found(("remembered", ward.name, kept.id, kept.text)) == {"entry lost"}
    assert found(("restored", ward.name, forgotten.id, forgotten.text)) == {"entry lost", "memory missing"}
    assert found(("erased", ward.name, kept.id, kept.text)) == {
        "entry lost",
        "entry with text that was erased, or without its text",
        "memory that should be gone",
        "erased text in a file",
    }
    dropped = [("remembered", ward.name, stranger.id, stranger.text)]
    assert found() == {"entry doubled or not acknowledged", "memory that should be gone", "text changed"}


def test_a_recall_of_another_space_is_noticed(load: Any, space: remanence.Space) -> None:
    """By what a hit says, and by where it says it is from."""
    one, two = space.child("ward0"), space.child("ward1")
    violations = load.Violations()
    caller = load.Caller("p0t0", [one], violations)
    for _ in range(3):
        caller._add(one)
        caller._recall(one)
    assert not violations.counts

    caller._living.append((two, "m9", "Note p0t0n1 of ward0 is about the harbour."))
    two.add("Note p0t0n9 of ward0 is about the harbour.")
    for _ in range(40):
        caller._recall(one)
    assert "leak between spaces" in violations.counts

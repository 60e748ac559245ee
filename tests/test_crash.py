"""A writer is killed again and again, in the middle of any verb; what it was told is kept stays kept."""

from __future__ import annotations

from pathlib import Path

import pytest

import remanence
from kill_runner import Outcome, Said, Writer, run_kills
from remanence.testing import HashingEmbedder

KILLS = 33
"""Four fifths of them amid each verb in turn."""


def test_what_was_acknowledged_survives_kill_9_at_any_instant(location: str, tmp_path: Path) -> None:
    """Every memory, version, name, relation, link and job that writers were promised is there, once; what they were
    told is erased is in no file. `benchmarks/load.py --kills` does it more often."""
    outcome = run_kills(location, KILLS, folder=tmp_path)

    assert outcome.violations == []
    assert outcome.ended.keys() | +outcome.cut >= {*Writer.VERBS}
    assert sum((+outcome.cut).values()) > KILLS // 3


def test_what_was_erased_stays_erased_through_kill_9(location: str, tmp_path: Path) -> None:
    """An acknowledged erasure leaves no word in any file of ours, whatever the crash cut short."""
    outcome = run_kills(location, 10, seed=12, folder=tmp_path, verbs=["erase", "erase_many", "add", "erase_space"])

    assert outcome.violations == []
    assert sum(outcome.ended[verb] + outcome.cut[verb] for verb in ("erase", "erase_many", "erase_space")) > 6


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (["ended", "add", {"m1": "Never written."}], "'Never written.' is lost"),
        (["ended", "forget", ["KEPT"]], "is still there"),
        (["ended", "erase", ["KEPT"]], "has b'The harbour is closed.'"),
        (["ended", "revise", {"key-1": 7}], "version 7 of key-1 is lost"),
        (["ended", "register", "Nobody Ltd"], "Nobody Ltd is not registered"),
        (["ended", "relate", "Nobody"], "Nobody has 0 relations"),
        (["ended", "link", "l1"], "link l1 is lost"),
        (["ended", "merge", "Nobody Ltd/Nobody"], "Nobody Ltd/Nobody are not one entity"),
        (["ended", "quarantine", ["KEPT"]], "is still there"),
        (["ended", "import_file", ["file", "imported", "w1"]], "0 memories were imported into default/imported/w1"),
    ],
    ids=lambda value: value[1] if isinstance(value, list) else "",
)
def test_the_comparison_after_kills_finds_what_is_wrong(home: Path, said: list[object], found: str) -> None:
    with remanence.open(home, embedder=HashingEmbedder(16)) as space:
        kept = space.add("The harbour is closed.")
    writers = Said()
    writers.read([["began", "add", []], ["ended", "add", {kept.id: kept.text}]], Outcome())
    assert writers.compare(str(home), [home]) == []

    writers.read([[kept.id if what == ["KEPT"] else what for what in said]], Outcome())
    if said[2] == ["KEPT"]:
        writers.acts[kept.id] = (str(said[1]), True)
    assert any(found in each for each in writers.compare(str(home), [home]))

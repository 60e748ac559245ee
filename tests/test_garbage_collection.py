"""Searches for reference cycles while many memories are added at once."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

import remanence
from remanence.core.garbage_collection import rare_garbage_collection
from remanence.write import parallel_extraction

THRESHOLDS = (700, 10, 10)


@pytest.fixture(autouse=True)
def known_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    yield
    gc.set_threshold(*before)


def test_a_bulk_add_searches_less_often_and_the_setting_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the rows are stored, the threshold is higher than before and after."""
    monkeypatch.setattr(parallel_extraction, "MIN_TEXTS", 20)
    during: list[int] = []
    with remanence.open(None) as space:
        space.add_many([f"Note {n} about Porto." for n in range(20)], progress=lambda *_: during.append(threshold()))

    assert min(during) > THRESHOLDS[0]
    assert gc.get_threshold() == THRESHOLDS


def test_the_setting_comes_back_after_an_error() -> None:
    with pytest.raises(RuntimeError), rare_garbage_collection():
        raise RuntimeError

    assert gc.get_threshold() == THRESHOLDS


def test_the_setting_stays_until_the_last_thread_has_finished() -> None:
    """Whichever of two bulk adds began first, the first to finish does not end the other's."""
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with rare_garbage_collection():
            entered.set()
            leave.wait()

    other = threading.Thread(target=hold)
    with rare_garbage_collection():
        other.start()
        entered.wait()
    still = threshold()
    leave.set()
    other.join()

    assert still > THRESHOLDS[0]
    assert gc.get_threshold() == THRESHOLDS


@pytest.mark.parametrize("chosen", [0, 10_000_000])
def test_a_program_that_searches_more_rarely_keeps_its_own_setting(chosen: int) -> None:
    gc.set_threshold(chosen, 10, 10)

    with rare_garbage_collection():
        assert threshold() == chosen


def threshold() -> int:
    return gc.get_threshold()[0]

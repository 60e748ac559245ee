"""Items that live for a while, told by a clock that stands still."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from langgraph.store.base import TTLConfig

import remanence
from langchain_remanence.store import RemanenceStore
from remanence.testing import FakeClock

NOTES = ("notes",)


def store_with(space: remanence.Space, clock: FakeClock, **ttl: object) -> RemanenceStore:
    return RemanenceStore(space, ttl=TTLConfig(**ttl) if ttl else None, clock=clock)  # type: ignore[typeddict-item]


def test_an_item_is_gone_at_its_very_moment(space: remanence.Space, clock: FakeClock) -> None:
    """Ten minutes are ten minutes: for get, search with and without a query, and the list of namespaces."""
    store = store_with(space, clock, refresh_on_read=False)
    store.put(NOTES, "tea", {"text": "The tea is ready."}, ttl=10)
    clock.advance(minutes=9, seconds=59)
    assert store.get(NOTES, "tea")
    assert store.search(NOTES, query="tea")
    assert store.list_namespaces() == [NOTES]

    clock.advance(seconds=1)
    assert store.get(NOTES, "tea") is None
    assert store.search(NOTES) == []
    assert store.search(NOTES, query="tea") == []
    assert store.list_namespaces() == []


def test_reading_an_item_gives_it_its_time_again(space: remanence.Space, clock: FakeClock) -> None:
    """Each get and each search that returns it, unless told not to; the time of its last change stays."""
    store = store_with(space, clock, default_ttl=10)
    store.put(NOTES, "tea", {"text": "The tea is ready."})
    put_at = clock.now()
    for read in (
        lambda: store.get(NOTES, "tea"),
        lambda: store.search(NOTES),
        lambda: store.search(NOTES, query="tea"),
    ):
        clock.advance(minutes=8)
        assert read()
    item = store.get(NOTES, "tea", refresh_ttl=False)
    assert (item.created_at, item.updated_at) == (put_at, put_at)

    clock.advance(minutes=8)
    assert store.get(NOTES, "tea", refresh_ttl=False)
    clock.advance(minutes=2)
    assert store.get(NOTES, "tea") is None


@pytest.mark.parametrize("refresh", [True, False])
def test_the_config_says_whether_reading_renews(space: remanence.Space, clock: FakeClock, refresh: bool) -> None:
    """`refresh_on_read` is the default for every read."""
    store = store_with(space, clock, default_ttl=10, refresh_on_read=refresh)
    store.put(NOTES, "tea", {"text": "The tea is ready."})
    clock.advance(minutes=6)
    store.get(NOTES, "tea")
    clock.advance(minutes=6)

    assert (store.get(NOTES, "tea") is not None) is refresh


def test_a_read_that_would_gain_nothing_writes_nothing(space: remanence.Space, clock: FakeClock) -> None:
    """A hundred reads in a row are one renewal, not a hundred lines."""
    store = store_with(space, clock)
    store.put(NOTES, "tea", {"text": "The tea is ready."}, ttl=10)
    clock.advance(minutes=1)
    for _ in range(100):
        store.get(NOTES, "tea")

    assert len(list(space.child("store").audit.changes())) == 2


def test_an_item_without_a_ttl_stays(space: remanence.Space, clock: FakeClock) -> None:
    """Nothing is put on a clock that was not asked for, and `ttl=None` overrides the default."""
    store = store_with(space, clock, default_ttl=10)
    store.put(NOTES, "kept", {"text": "for ever"}, ttl=None)
    clock.advance(days=400)

    assert store.get(NOTES, "kept")


def test_a_put_after_the_end_begins_anew(space: remanence.Space, clock: FakeClock) -> None:
    """What had expired was no longer there, so the new item is created now."""
    store = store_with(space, clock)
    store.put(NOTES, "tea", {"n": 1}, ttl=10)
    clock.advance(minutes=11)
    store.put(NOTES, "tea", {"n": 2}, ttl=10)
    item = store.get(NOTES, "tea")

    assert item.created_at == clock.now()


def test_expired_items_can_be_shown_until_they_are_swept(space: remanence.Space, clock: FakeClock) -> None:
    """`omit_expired=False` is for those who want to see them; `sweep_ttl` ends that."""
    store = store_with(space, clock, omit_expired=False, refresh_on_read=False)
    store.put(NOTES, "tea", {"text": "The tea is ready."}, ttl=10)
    store.put(NOTES, "kept", {"text": "for ever"})
    clock.advance(minutes=11)
    assert {item.key for item in store.search(NOTES, query="tea")} == {"tea", "kept"}

    assert store.sweep_ttl() == 1
    assert store.sweep_ttl() == 0
    assert {item.key for item in store.search(NOTES)} == {"kept"}


def test_a_renewal_that_comes_too_late_does_not_bring_the_old_value_back(
    space: remanence.Space, clock: FakeClock
) -> None:
    """One process renews what it read; another has put something new between the two."""
    meanwhile: list[Callable[[], None]] = []

    def looked_at() -> datetime:
        while meanwhile:
            meanwhile.pop()()
        return clock.now()

    quick, slow = store_with(space, clock), RemanenceStore(space, clock=looked_at)
    quick.put(NOTES, "tea", {"text": "green"}, ttl=10)
    clock.advance(minutes=5)
    meanwhile.append(lambda: quick.put(NOTES, "tea", {"text": "black"}, ttl=10))
    read = slow.get(NOTES, "tea")
    item = quick.get(NOTES, "tea")

    assert (read.value, item.value) == ({"text": "green"}, {"text": "black"})


def test_expiry_survives_a_restart(reopen: Callable[..., remanence.Space], clock: FakeClock) -> None:
    """The moment is in the ledger, not in a timer."""
    store_with(reopen(), clock).put(NOTES, "tea", {"text": "The tea is ready."}, ttl=10)
    store = store_with(reopen(), clock)
    assert store.get(NOTES, "tea", refresh_ttl=False)
    clock.advance(minutes=10)

    assert store.get(NOTES, "tea") is None


def test_the_past_is_as_alive_as_it_was(space: remanence.Space, clock: FakeClock) -> None:
    """As of a moment before its end, an expired item is there."""
    store = store_with(space, clock)
    store.put(NOTES, "tea", {"text": "The tea is ready."}, ttl=10)
    early = clock.advance(minutes=5)
    clock.advance(days=1)

    assert store.get(NOTES, "tea") is None
    assert store.as_of(early).get(NOTES, "tea")
    assert store.as_of(early).search(NOTES, query="tea")[0].score is not None


def test_a_sweeper_deletes_what_is_expired_until_it_is_stopped(space: remanence.Space, clock: FakeClock) -> None:
    """In a thread, at an interval of the TTLConfig or of the call."""
    store = store_with(space, clock, default_ttl=10, omit_expired=False)
    store.put(NOTES, "tea", {"text": "The tea is ready."})
    clock.advance(minutes=11)
    assert store.get(NOTES, "tea", refresh_ttl=False)

    sweeping = store.start_ttl_sweeper(0.0001)
    deadline = time.monotonic() + 20
    while store.get(NOTES, "tea", refresh_ttl=False) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert store.get(NOTES, "tea", refresh_ttl=False) is None
    assert store.stop_ttl_sweeper(timeout=20)
    assert sweeping.done()
    assert store.start_ttl_sweeper(60).cancel()
    assert store.stop_ttl_sweeper(timeout=20)


@pytest.mark.parametrize("ttl", [-1, 0, "5", True, float("nan"), float("inf"), 10**10, 10**300])
def test_a_time_to_live_is_a_number_above_0(space: remanence.Space, clock: FakeClock, ttl: Any) -> None:
    """An item that has expired when it is written would be lost without a word."""
    with pytest.raises(remanence.InvalidInput, match=rf"ttl={ttl!r} is not a number of minutes above 0"):
        store_with(space, clock).put(NOTES, "tea", {"text": "green"}, ttl=ttl)
    with pytest.raises(remanence.InvalidInput, match=rf"default_ttl={ttl!r} is not a number of minutes above 0"):
        store_with(space, clock, default_ttl=ttl)
    assert space.count() == 0

"""The overview of a space with many memories: the profile as it is read, and no more of it than a visit may cost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

import remanence
from inspector.inspector_pages import Page, Route, expect
from live_server import served
from remanence.ports import ListReading, ReaderLine
from remanence.testing import HashingEmbedder

MANY = 320
"""More than one visit reads."""


class CountingReader:
    """Says that everything holds, and counts how often it is asked."""

    fingerprint = "counting"

    def __init__(self) -> None:
        self.calls = 0

    def read(
        self, question: str, lines: list[ReaderLine], *, asked_at: datetime, moment: datetime | None = None
    ) -> ListReading:
        self.calls += 1
        same = (0.95,) * len(lines)
        return ListReading(same, same, (0.01,) * len(lines), (0.0,) * len(lines), 1.0)


@pytest.fixture
def reader() -> CountingReader:
    return CountingReader()


@pytest.fixture
def many_address(reader: CountingReader) -> Iterator[str]:
    """No thread in the background reads the profile as well."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=reader, worker=False) as space:
        start = datetime(2025, 1, 1, tzinfo=timezone.utc)
        space.add_many(
            {"text": f"Ana keeps {number} bees in Porto.", "now": start + timedelta(hours=number)}
            for number in range(MANY)
        )
        with served(space) as address:
            yield address


def test_the_profile_is_shown_as_it_is_read(page: Page, many_address: str, reader: CountingReader) -> None:
    """The rest of the page does not wait; a visit reads the latest memories, and a button the others."""
    waiting: list[Route] = []

    def hold_two(route: Route) -> None:
        if len(waiting) < 2:
            waiting.append(route)
        else:
            route.continue_()

    page.route("**/profile/part?*", hold_two)
    page.goto(f"{many_address}/#/overview")
    expect(page.get_by_label("In numbers")).to_contain_text(f"{MANY}current memories")
    expect(page.locator(".profile-note")).to_have_text("Reading the latest memories…")
    waiting[0].continue_()
    expect(page.locator(".profile-note")).to_have_text("Reading 30 of 300…")
    while len(waiting) < 2:
        page.wait_for_timeout(10)
    waiting[1].continue_()

    expect(page.locator(".profile-note")).to_contain_text("From the 300 memories that were told last.")
    expect(page.locator(".profile-lines dd").first).to_contain_text("Ana keeps")
    before = reader.calls
    assert 0 < before <= 600
    page.reload()
    expect(page.get_by_role("button", name=f"Read {MANY}")).to_be_visible()
    assert reader.calls == before
    page.unroute("**/profile/part?*")
    held: list[Route] = []
    page.route("**/profile/part?*", lambda route: route.continue_() if held else held.append(route))
    page.get_by_role("button", name=f"Read {MANY}").click()
    expect(page.locator(".profile-note")).to_have_text("Reading the latest memories…")
    expect(page.locator(".profile-lines dd").first).to_contain_text("Ana keeps")
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    expect(page.locator("#part-profile section:not([aria-busy])")).to_be_visible()
    expect(page.locator(".profile-note")).to_be_empty()
    assert reader.calls > before

"""The bar of days and the timeline."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise

import pytest

import remanence
from inspector.inspector_pages import Page, expect
from live_server import served
from remanence.testing import HashingEmbedder


def test_the_slider_moves_the_whole_page_to_an_earlier_day(read_page: Page, read_address: str) -> None:
    """On a day in March the page believes what was known then, in every view, and changes nothing."""
    read_page.goto(f"{read_address}/#/search?q=Where+does+Ana+live%3F")
    expect(read_page.locator(".hit").first).to_contain_text("Lisbon")

    read_page.get_by_role("slider", name="Day of knowledge").evaluate(
        "slider => { slider.value = Date.parse('2026-03-10') / 864e5; slider.dispatchEvent(new Event('input')); }"
    )
    expect(read_page.locator("#past-note")).to_contain_text("10 March 2026")
    expect(read_page.locator(".hit").first).to_contain_text("Ana lives in Porto.")
    expect(read_page.get_by_text("Lisbon")).to_have_count(0)

    read_page.get_by_role("link", name="Timeline").click()
    expect(read_page.locator(".chart .relation").first).to_be_visible()
    expect(read_page.locator(".chart")).not_to_contain_text("Lisbon")
    read_page.get_by_role("link", name="Review").click()
    expect(read_page.get_by_role("button", name="This one holds").first).to_be_disabled()

    read_page.keyboard.press("Escape")
    expect(read_page.locator("#past-note")).to_be_empty()
    expect(read_page.get_by_role("button", name="This one holds").first).to_be_enabled()

    read_page.get_by_label("Show what was known on").fill("2026-03-10")
    expect(read_page.locator("#past-note")).to_contain_text("10 March 2026")
    expect(read_page.get_by_role("slider", name="Day of knowledge")).to_have_attribute(
        "aria-valuetext", "10 March 2026"
    )


def test_the_mark_of_a_day_is_where_the_slider_is_on_that_day(page: Page) -> None:
    """Also if there was only one day."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        space.add("Ana lives in Porto.")
        with served(space) as address:
            page.goto(address)
            expect(page.locator("#timebar rect")).to_have_count(1)
            mark = page.locator("#timebar rect").bounding_box()
            scale = page.locator("#timebar .scale").bounding_box()
    assert mark is not None
    assert scale is not None
    assert mark["width"] < scale["width"] / 50
    assert mark["x"] + mark["width"] > scale["x"] + scale["width"] * 0.97


@pytest.mark.parametrize("width", [390, 800, 1240])
def test_the_months_of_the_bar_stand_apart(page: Page, width: int) -> None:
    """Also where the first month is shortly before the turn of a year."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        space.add_many([{"text": "Ana rows.", "now": "2025-11-28"}, {"text": "Ana rests.", "now": "2026-05-01"}])
        with served(space) as address:
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(address)
            expect(page.locator("#timebar .months span").last).to_have_text("Now")
            ends = page.locator("#timebar .months span").evaluate_all(
                "all => all.map((each) => each.getBoundingClientRect()).map(({ left, right }) => [left, right])"
            )
            page.goto("about:blank")
    assert len(ends) > 2
    assert all(right + 3 < left for (_, right), (left, _) in pairwise(ends))


def test_each_date_of_the_timeline_is_named_once(page: Page) -> None:
    """Over three months the axis has days and months, not the same year at every line."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        days = [datetime.now(timezone.utc) - timedelta(days=number) for number in (80, 40, 2)]
        space.add_many({"text": f"Ana knows P{place}.", "now": day} for place, day in enumerate(days))
        space.graph.relate("Ana", "knows", "Bob", valid_from=days[0])
        with served(space) as address:
            page.goto(f"{address}/#/timeline")
            expect(page.locator(".chart .axis").first).to_be_visible()
            dates = page.locator(".chart .axis").all_text_contents()
    assert len(dates) > 3
    assert len(set(dates)) == len(dates)

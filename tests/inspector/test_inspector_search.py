"""Search: signals, short answers, filters, and what a setting of the person changes."""

from __future__ import annotations

import remanence
from inspector.inspector_pages import Page, expect


def test_search_shows_each_signal_as_a_bar_with_its_reason(read_page: Page, read_address: str) -> None:
    """A hit has a row for each signal that found it: its name, a bar, its share, and why."""
    read_page.goto(f"{read_address}/#/search")
    read_page.get_by_label("Question").fill("Where does Ana live?")
    read_page.keyboard.press("Enter")

    first = read_page.locator(".hit").first
    expect(first.locator(".memory-text")).to_contain_text("Ana moved to Lisbon")
    rows = first.get_by_label("Why it was found").locator("li")
    expect(rows.filter(has_text="Connections")).to_contain_text("Ana")
    widths = first.locator(".bar span").evaluate_all("bars => bars.map((bar) => parseFloat(bar.style.width))")
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 10


def test_a_short_answer_is_shown_with_its_question(page: Page, story: remanence.Space, address: str) -> None:
    """Other hits have none."""
    question = "Do you have any allergies?"
    story.add_turns(
        [{"role": role, "content": said} for role, said in (("assistant", question), ("user", "yes, peanuts"))]
    )
    page.goto(f"{address}/#/search?q=peanuts")
    hit = page.locator(".hit").filter(has_text="yes, peanuts")

    expect(hit.locator(".meta").first).to_have_text(f"after “assistant: {question}”")
    expect(page.locator(".hit").filter(has_text="after “")).to_have_count(1)


def test_who_wants_no_transparency_sees_none(read_page: Page, read_address: str) -> None:
    """Nothing behind the bars at the top and at the bottom shines through."""
    read_page.goto(f"{read_address}/#/search")
    for bar in (".masthead", ".timebar"):
        style = read_page.locator(bar).evaluate(
            "bar => [getComputedStyle(bar).backdropFilter, getComputedStyle(bar).backgroundColor]"
        )
        assert style[0] == "none"
        assert style[1].startswith("rgb("), style[1]


def test_search_narrows_by_filters_and_shows_more_than_twelve(page: Page, address: str, story: remanence.Space) -> None:
    story.add_many({"text": f"Ana drinks tea number {n}.", "tags": ["tea"] if n % 2 else []} for n in range(40))
    page.goto(f"{address}/#/search?q=What+does+Ana+drink%3F")
    expect(page.locator(".hit")).to_have_count(12)
    page.get_by_role("link", name="Show more").click()
    expect(page.locator(".hit")).to_have_count(25)
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Tag", exact=True).select_option("tea")
    expect(page.locator(".hit")).to_have_count(20)
    page.goto(f"{address}/#/search?q=Where+does+Bruno+live%3F&conflict=yes")
    expect(page.locator(".hit")).to_have_count(2)
    page.goto(f"{address}/#/search?q=Where+does+Bruno+live%3F&conflict=yes&until=2026-02-01")
    expect(page.locator(".hit")).to_have_count(1)
    expect(page.locator(".hit")).to_contain_text("Braga")


def test_a_question_is_asked_of_another_space_as_well(page: Page, story: remanence.Space, address: str) -> None:
    """One list, each hit with its space; a hit of the other one is opened there."""
    team = story.child("team")
    team.add("The printer of the team is called Gutenberg.")
    page.goto(f"{address}/#/search?q=What is the printer called?")
    expect(page.locator("#results")).not_to_have_attribute("aria-busy", "true")
    expect(page.locator(".hit").filter(has_text="Gutenberg")).to_have_count(0)

    page.get_by_label("Search in").select_option(label=f"This and {team.name}")
    hit = page.locator(".hit").filter(has_text="Gutenberg")
    expect(hit.locator(".meta")).to_contain_text(f"in {team.name}")
    expect(page.locator(".hit").filter(has_text=f"in {story.name}").first).to_be_visible()

    hit.locator("a.item").click()
    expect(page.get_by_role("region", name="Versions and history")).to_contain_text("Gutenberg")
    assert "space=" in page.url
    expect(page.locator(".hit").filter(has_text="Gutenberg")).to_have_count(1)

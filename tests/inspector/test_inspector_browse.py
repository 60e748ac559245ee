"""The table of memories, and changing them."""

from __future__ import annotations

import json

import remanence
from inspector.inspector_pages import ROWS, Page, expect


def test_the_table_is_filtered_sorted_and_linked_to(read_page: Page, read_address: str) -> None:
    """What is chosen is part of the address, and the address alone shows the same."""
    read_page.goto(f"{read_address}/#/browse")
    rows = read_page.locator("table.memories tbody tr")
    expect(rows).to_have_count(len(ROWS))
    read_page.get_by_label("Kind", exact=True).select_option("episode")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("It rained all day.")
    read_page.get_by_role("link", name="Clear filters").click()
    read_page.get_by_label("Conflict").select_option("yes")
    expect(rows).to_have_count(2)
    read_page.get_by_role("link", name="Said by").click()
    expect(rows.first).to_contain_text("Braga")
    expect(read_page.get_by_role("columnheader", name="Said by")).to_have_attribute("aria-sort", "ascending")
    address = read_page.url
    read_page.goto("about:blank")
    read_page.goto(address)
    expect(rows.first).to_contain_text("Braga")
    expect(read_page.locator(".pager")).to_contain_text("1 to 2 of 2 memories")


def test_pages_of_the_table_have_the_rest(page: Page, address: str, story: remanence.Space) -> None:
    story.add_many(f"Note number {number}." for number in range(60))
    page.goto(f"{address}/#/browse")
    expect(page.locator(".pager")).to_contain_text(f"1 to 50 of {len(ROWS) + 60} memories")
    page.get_by_role("link", name="Next").click()
    expect(page.locator("table.memories tbody tr")).to_have_count(len(ROWS) + 10)
    assert "page=2" in page.url
    page.get_by_label("Page", exact=True).fill("1")
    page.keyboard.press("Enter")
    expect(page.locator("table.memories tbody tr")).to_have_count(50)


def test_selected_memories_are_tagged_forgotten_and_brought_back(
    page: Page, address: str, story: remanence.Space
) -> None:
    """Each is shown first, done to all at once, and undone at once."""
    page.goto(f"{address}/#/browse?q=")
    for name in ("Ana works", "C. Mendes"):
        page.get_by_label(f"Select: {name}").check()
    bar = page.get_by_role("group", name="Selected memories")
    expect(bar).to_contain_text("2 memories selected")
    bar.get_by_role("button", name="Tag").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Add tags").fill("music, work")
    expect(dialog).to_contain_text("Tag 2 memories")
    expect(dialog.get_by_role("listitem").first).to_have_text("Tags: none becomes music, work.")
    dialog.get_by_role("button", name="Change the tags").click()
    expect(page.get_by_role("link", name="#music")).to_have_count(2)
    assert {tag for memory in story.memories(tags="music") for tag in memory.tags} == {"music", "work"}
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="#music")).to_have_count(0)

    page.get_by_label("Select all on this page").check()
    bar.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"Forget {len(ROWS)} memories")
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(
        page.get_by_text("No memory passes these filters.").or_(page.get_by_text("Nothing is remembered"))
    ).to_be_visible()
    assert story.count() == 0
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator("table.memories tbody tr")).to_have_count(len(ROWS))


def test_erasing_asks_for_a_typed_word(page: Page, address: str, story: remanence.Space) -> None:
    page.goto(f"{address}/#/browse")
    page.get_by_label("Select: It rained").check()
    page.get_by_label("Select: Ana works").check()
    page.get_by_role("group", name="Selected memories").get_by_role("button", name="Erase").click()
    dialog = page.get_by_role("dialog")
    confirm = dialog.get_by_role("button", name="Erase for good")
    expect(dialog).to_contain_text("This cannot be undone.")
    dialog.get_by_label("to confirm").fill("erase 3")
    expect(confirm).to_be_disabled()
    dialog.get_by_label("to confirm").fill("erase 2")
    confirm.click()
    certificate = page.get_by_role("dialog", name="Certificate of erasure")
    expect(certificate).to_contain_text("2 versions of memories")
    with page.expect_download() as saved:
        certificate.get_by_role("button", name="Save as a file").click()
    written = json.loads(saved.value.path().read_text("utf-8"))
    expect(certificate.locator(".digest")).to_have_text(written["digest"])
    assert len(written["memories"]) == 2
    certificate.get_by_role("button", name="Close").click()
    expect(page.locator("table.memories tbody tr")).to_have_count(len(ROWS) - 2)
    assert story.admin.stats().memories["erased"] == 2


def test_a_memory_is_added_corrected_ended_and_pinned(page: Page, address: str, story: remanence.Space) -> None:
    """By keys where there are keys; each with its preview, and the notice takes it back."""
    page.goto(f"{address}/#/overview")
    page.locator("#recent li").first.wait_for()
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is to be remembered").fill("Dora lives in Evora.")
    expect(dialog).to_contain_text("It states: Dora lives in Evora.")
    dialog.get_by_role("button", name="Add", exact=True).click()
    details = page.get_by_role("complementary", name="Details")
    expect(details.get_by_role("heading", level=2)).to_have_text("Dora lives in Evora.")

    page.keyboard.press("e")
    dialog.get_by_label("Text").fill("Dora lives in Beja.")
    expect(dialog).to_contain_text("The text becomes “Dora lives in Beja.”")
    dialog.get_by_role("button", name="Save as a new version").click()
    expect(details.get_by_role("heading", level=2)).to_have_text("Dora lives in Beja.")
    page.locator(".toast").last.get_by_role("button", name="Undo").click()
    expect(details.get_by_role("heading", level=2)).to_have_text("Dora lives in Evora.")

    details.get_by_role("button", name="Pin").click()
    expect(details.get_by_role("button", name="Unpin")).to_be_visible()
    details.get_by_role("button", name="No longer true").click()
    expect(dialog).to_contain_text("Ended: Dora lives in Evora")
    dialog.get_by_role("button", name="It is no longer true").click()
    expect(details).to_contain_text("no longer true")
    [memory] = [memory for memory in story.memories() if "Dora" in memory.text]
    assert memory.valid.end is not None
    assert memory.strength == 2

"""Decisions, upkeep and quarantine: shown, made and undone."""

from __future__ import annotations

import remanence
from inspector.inspector_pages import ROWS, Page, expect


def test_a_conflict_is_resolved_after_a_preview_and_undone(page: Page, address: str, story: remanence.Space) -> None:
    """One click, the effects in words, a second click; the ledger has the reason, and Undo brings the conflict back."""
    page.goto(f"{address}/#/review")
    braga = page.locator(".conflict").locator(".pair > div", has_text="Braga")
    braga.get_by_role("button", name="This one holds").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".effects")).to_contain_text("“Bruno lives in Faro.” is kept, labelled as replaced.")
    dialog.get_by_label("Reason").fill("he said so")
    dialog.get_by_role("button", name="Replace").click()

    expect(page.locator(".conflict")).to_have_count(0)
    expect(page.locator("#decided .decision").first).to_contain_text("he said so")
    assert story.recall("Where does Bruno live?")[0].memory.text == "Bruno lives in Braga."

    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".conflict")).to_have_count(1)
    assert len(story.graph.disagreements()) == 1


def test_a_memory_is_forgotten_restored_and_undone(page: Page, address: str, story: remanence.Space) -> None:
    """What is forgotten leaves the list of current memories and can be restored from the review."""
    page.goto(f"{address}/#/search?q=cello")
    page.locator(".hit a.item").first.click()
    details = page.get_by_role("complementary", name="Details")
    details.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(details.get_by_role("button", name="Restore")).to_be_visible()
    assert story.count() == len(ROWS) - 1

    page.goto(f"{address}/#/review")
    page.locator("#forgotten").get_by_role("button", name="Restore").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.locator("#forgotten")).to_contain_text("Nothing is forgotten.")
    assert story.count() == len(ROWS)


def test_a_memory_about_to_fade_is_kept_and_that_is_undone(page: Page, address: str, story: remanence.Space) -> None:
    """To keep it is previewed, and a run of upkeep, so that it can be undone."""
    page.goto(f"{address}/#/review")
    fading = page.locator("#risk li").filter(has_text="Ana works at Brightwater.")
    expect(fading).to_contain_text("never used")
    fading.get_by_role("button", name="Keep").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("upkeep no longer hides it")
    assert not list(story.memories("promoted"))
    dialog.get_by_role("button", name="Keep").click()
    undo = page.locator(".toast").get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    expect(fading).to_have_count(0)
    assert [memory.text for memory in story.memories("promoted")] == ["Ana works at Brightwater."]
    undo.click()
    expect(page.locator(".toast")).to_contain_text("Undone.")
    assert not list(story.memories("promoted"))


def test_a_merge_is_proposed_made_and_split_again(page: Page, address: str, story: remanence.Space) -> None:
    """Two names become one entity, whose panel can split the name off again."""
    page.goto(f"{address}/#/review")
    page.locator(".proposal").get_by_role("button", name="Merge into Carla Mendes").click()
    expect(page.locator(".effects")).to_contain_text("“C. Mendes” becomes a name of Carla Mendes.")
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    expect(page.locator(".proposal")).to_have_count(0)
    assert story.entities.resolve("C. Mendes").name == "Carla Mendes"

    page.goto(f"{address}/#/review?entity=Carla%20Mendes")
    details = page.get_by_role("complementary", name="Details")
    details.get_by_label("C. Mendes").check()
    details.get_by_role("button", name="Split off the chosen names").click()
    page.get_by_role("dialog").get_by_role("button", name="Split").click()
    expect(page.locator("#decided .decision").first).to_contain_text("was split off from Carla Mendes")
    assert story.entities.resolve("C. Mendes").name == "C. Mendes"


def test_upkeep_is_previewed_applied_and_undone(page: Page, address: str, story: remanence.Space) -> None:
    """A run is shown as a table before it is made, and undone as a whole."""
    page.goto(f"{address}/#/upkeep")
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    page.get_by_label("Forget what has faded").check()
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".plan table").first).to_contain_text("It rained all day.")
    before = story.count()
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".run")).to_have_count(1)
    assert story.count() < before

    page.get_by_role("button", name="Undo this run").click()
    expect(page.locator(".run")).to_contain_text("undone")
    assert story.count() == before


def test_a_memory_in_quarantine_is_found_and_freed(page: Page, address: str, story: remanence.Space) -> None:
    """The overview counts it apart from what is forgotten; one memory is freed from the table, the source in Review."""
    story.add("Bruno owns a boat.", source="letter")
    story.audit.quarantine("letter", why="doubtful")
    page.goto(f"{address}/#/overview")
    expect(page.get_by_label("In numbers")).to_contain_text("2in quarantine")
    page.get_by_role("link", name="2 memories in quarantine").click()
    page.get_by_label("Select: Bruno owns").check()
    page.get_by_role("button", name="Release from quarantine").click()
    expect(page.locator("table.memories tbody tr")).to_have_count(1)
    assert len(list(story.memories(source="letter"))) == 1

    page.goto(f"{address}/#/review")
    page.locator("#quarantine").get_by_role("button", name="Release the source").click()
    page.get_by_role("dialog").get_by_role("button", name="Release").click()
    expect(page.locator("#quarantine")).to_contain_text("No source is in quarantine.")
    assert len(list(story.memories(source="letter"))) == 2

"""What agents were told, comparisons, and the playground."""

from __future__ import annotations

import remanence
from inspector.inspector_pages import ROWS, Page, expect
from live_server import served
from remanence.testing import HashingEmbedder


def test_what_an_agent_was_told_is_shown_and_replayed(page: Page, address: str, story: remanence.Space) -> None:
    """The question, the memories, the block of the prompt, and what is new since."""
    told = story.recall("Where does Bruno live?", limit=2)
    story.audit.record(told)
    story.touch(told[0].memory)
    story.forget(told[1].memory)
    page.goto(f"{address}/#/answers")
    page.get_by_role("link", name="Where does Bruno live?").click()
    expect(page.locator(".given li")).to_have_count(2)
    expect(page.locator(".given li").first).to_contain_text("used in the answer")
    expect(page.locator(".prompt-block")).to_contain_text(told[1].memory.text)
    page.get_by_role("button", name="Replay now").click()
    expect(page.locator(".difference .removed")).to_contain_text(told[1].memory.text)


def test_a_recorded_prompt_is_replayed_as_a_prompt(page: Page, address: str, story: remanence.Space) -> None:
    """What a prompt left out then is nothing new now."""
    story.add_turns([{"role": "assistant", "content": "So Bruno lives in Faro."}])
    quoted = story.for_prompt("Where does Bruno live?", record=True).hits
    assert 0 < len(quoted) < len(story.recall("Where does Bruno live?"))
    page.goto(f"{address}/#/answers")
    page.get_by_role("link", name="Where does Bruno live?").click()
    page.get_by_role("button", name="Replay now").click()
    expect(page.locator(".difference")).to_have_text("Exactly the same.")


def test_two_dates_and_two_settings_are_compared(read_page: Page, read_address: str) -> None:
    read_page.goto(f"{read_address}/#/compare?from=2026-01-15&until=2026-02-10")
    expect(read_page.locator(".change.learned")).to_contain_text("Bruno lives in Faro.")
    expect(read_page.locator(".change.learned")).not_to_contain_text("Lisbon")
    read_page.get_by_role("link", name="Two settings").click()
    read_page.get_by_label("Question", exact=True).fill("Where does Ana live?")
    read_page.locator("[name=blimit]").select_option("5")
    read_page.locator("[name=bday]").fill("2026-03-01")
    read_page.get_by_role("button", name="Compare").click()
    sides = read_page.locator(".compared")
    expect(sides).to_have_count(2)
    expect(sides.first).to_contain_text("Lisbon")
    expect(sides.last).not_to_contain_text("Lisbon")
    expect(read_page.get_by_role("status").filter(has_text="in both")).to_contain_text("only in the first")
    read_page.goto(f"{read_address}/#/compare/settings?q=Ana")
    expect(read_page.get_by_text("Both give the same memories in the same order.")).to_be_visible()


def test_a_comparison_marks_what_is_in_quarantine(page: Page, address: str, story: remanence.Space) -> None:
    story.audit.quarantine("letter", why="doubtful")
    page.goto(f"{address}/#/compare?from=2025-11-01&until=2026-02-10")
    learned = page.locator(".change.learned li")
    expect(learned.filter(has_text="Ana works at Brightwater.")).to_contain_text("in quarantine")
    expect(learned.filter(has_text="in quarantine")).to_have_count(1)


def test_the_playground_says_what_reaches_the_prompt_and_why_not(
    page: Page, address: str, story: remanence.Space
) -> None:
    """Nothing is stored unless it is asked for."""
    page.goto(f"{address}/#/try")
    page.get_by_label("Message").fill("Thanks!")
    page.keyboard.press("Enter")
    first = page.locator(".exchange").first
    expect(first).to_contain_text("Nothing would reach the prompt")
    expect(first.locator(".why-empty")).to_contain_text("greeting")
    assert story.count() == len(ROWS)
    page.get_by_label("Store what I type").check()
    page.get_by_label("Message").fill("My sister Dora keeps bees.")
    page.keyboard.press("Enter")
    expect(page.locator(".exchange").nth(1).locator(".remembered")).to_contain_text("Stored")
    assert story.count() == len(ROWS) + 1
    page.get_by_role("button", name="Forget it again").click()
    expect(page.locator(".toast").last).to_contain_text("Forgotten again.")
    assert story.count() == len(ROWS)


def test_a_chat_model_answers_with_the_memories_it_used_marked(page: Page) -> None:
    def model(prompt: str) -> str:
        return "She is allergic to shellfish." if "shellfish" in prompt else '{"facts": []}'

    extractor = remanence.LLMExtractor(model)
    with remanence.open(None, embedder=HashingEmbedder(), reader=None, extractor=extractor) as space:
        space.add("My sister Ana is allergic to shellfish.")
        with served(space) as address:
            page.goto(f"{address}/#/try?q=What+is+my+sister+Ana+allergic+to%3F")
            expect(page.locator(".model-answer")).to_contain_text("She is allergic to shellfish.")
            expect(page.locator(".was-used")).to_contain_text("used in the answer")

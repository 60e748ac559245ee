"""What holds on every page: import, live changes, hostile text, accessibility, keys, tokens, phones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import remanence
from inspector.inspector_pages import HOSTILE, OVERRIDE, ROWS, VIEWS, Browser, Page, Route, expect
from live_server import served
from remanence.service.hosting.tokens import TokenStore
from remanence.testing import HashingEmbedder


def test_a_dropped_file_becomes_memories(page: Page, address: str, story: remanence.Space) -> None:
    """A file that is dropped anywhere is shown, imported on a click, and found."""
    page.goto(f"{address}/#/search")
    page.locator("#recent li").first.wait_for()
    drop_file(page, "notes <b>.txt", "Dora keeps bees.\\n\\nDora lives in Evora.")
    dialog = page.get_by_role("dialog", name="Import")
    expect(dialog).to_contain_text("notes <b>.txt")
    dialog.get_by_role("button", name="Import it").click()
    expect(dialog).to_contain_text("2 memories added")
    dialog.get_by_role("button", name="Close").click()
    expect(page.locator("#recent")).to_contain_text("Dora keeps bees.")
    assert story.recall("bees")[0].memory.source == "notes <b>.txt"


def drop_file(page: Page, name: str, content: str) -> None:
    page.evaluate(
        """([name, content]) => {
          const files = new DataTransfer();
          files.items.add(new File([content.replaceAll("\\\\n", "\\n")], name));
          for (const kind of ["dragenter", "dragover", "drop"]) {
            document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true }));
          }
        }""",
        [name, content],
    )


def test_memories_appear_as_they_arrive(page: Page, address: str, story: remanence.Space) -> None:
    """What another program adds is on the page without a reload, and the stream reconnects by itself."""
    page.goto(f"{address}/#/search")
    expect(page.locator("#live")).to_have_text("Live")
    story.add("Dora keeps bees.")
    expect(page.locator("#recent li").first).to_contain_text("Dora keeps bees.")
    expect(page.locator("#announcer")).to_have_text("New memory: Dora keeps bees.")


def test_a_memory_that_arrives_while_the_page_reads_is_shown(page: Page, address: str, story: remanence.Space) -> None:
    """The list of the last memories was read before, and comes after it."""

    def late(route: Route) -> None:
        answer = route.fetch()
        story.add("Dora keeps bees.")
        expect(page.locator("#announcer")).to_have_text("New memory: Dora keeps bees.")
        route.fulfill(response=answer)

    page.goto(f"{address}/#/upkeep")
    expect(page.locator("#live")).to_have_text("Live")
    page.route("**/recent?*", late)
    page.get_by_role("link", name="Search").click()
    expect(page.locator("#recent li").first).to_contain_text("Dora keeps bees.")


def test_text_of_memories_is_never_code(page: Page, address: str, story: remanence.Space) -> None:
    """Scripts, event handlers, styles and bidi tricks in texts, names and file names are shown as text."""
    evil = story.add(f"Mallory says {HOSTILE} {OVERRIDE}reversed", entities=[HOSTILE, "Mallory"], source=HOSTILE)
    story.graph.relate(HOSTILE, "onerror", f"Porto{OVERRIDE}")
    story.entities.register("Mallory", aliases=[HOSTILE + "2"])
    response = page.goto(address)
    assert response is not None
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy

    for view in (*VIEWS, "search?q=Mallory+script", f"search?memory={evil.id}", "review?entity=Mallory"):
        page.goto(f"{address}/#/{view}")
        expect(page.locator(".loading")).to_have_count(0)
        assert page.evaluate("window.hacked") is None
        assert page.locator("main script, main img, main style, aside script, aside img, aside style").count() == 0
        assert page.locator("body").is_visible()
    page.goto(f"{address}/#/search?memory={evil.id}")
    heading = page.get_by_role("complementary", name="Details").get_by_role("heading", level=2)
    expect(heading).to_contain_text("<script>window.hacked=1</script>")
    expect(heading.locator(".hidden-character")).to_have_text("U+202E")
    assert OVERRIDE not in (page.locator("body").text_content() or "")
    drop_file(page, f"{OVERRIDE}<img src=x onerror=alert(1)>.txt", "x")
    expect(page.get_by_role("dialog", name="Import").locator("li .hidden-character")).to_have_text("U+202E")


@pytest.fixture(scope="module")
def checked_page(browser: Browser, read_address: str) -> Iterator[Page]:
    """A page with axe in it, which its policy forbids."""
    from axe_playwright_python.base import AXE_SCRIPT

    context = browser.new_context(bypass_csp=True, reduced_motion="reduce")
    page = context.new_page()
    page.goto(read_address)
    page.evaluate(AXE_SCRIPT)
    yield page
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(checked_page: Page, read_address: str, theme: Any) -> None:
    """No view, panel or dialog has an accessibility problem, of any weight."""
    checked_page.emulate_media(color_scheme=theme)
    expect(checked_page.locator(f"html[data-theme={theme}]")).to_have_count(1)
    past = "search?q=Bruno&day=2026-03-10"
    for view in (*VIEWS, "review?entity=Bruno", past) if theme == "light" else ("review?entity=Bruno", past):
        checked_page.goto(f"{read_address}/#/{view}")
        expect(checked_page.locator(".loading")).to_have_count(0)
        assert not problems(checked_page)
    checked_page.keyboard.press("?")
    expect(checked_page.get_by_role("dialog", name="Help")).to_be_visible()
    assert not problems(checked_page)
    checked_page.keyboard.press("Escape")


def problems(page: Page) -> list[tuple[str, list[str]]]:
    """The rules that are broken, each with the first elements that do. Only that is sent from the page."""
    found = page.evaluate("axe.run({ resultTypes: ['violations'] }).then((results) => results.violations)")
    return [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found]


def test_keys_search_move_open_close_and_help(read_page: Page, read_address: str) -> None:
    """Everything on the way from a question to a memory and back works without a mouse."""
    read_page.goto(f"{read_address}/#/review")
    read_page.get_by_role("heading", name="Review").wait_for()
    read_page.keyboard.press("/")
    expect(read_page.get_by_label("Question")).to_be_focused()
    read_page.keyboard.type("Where does Ana live?")
    read_page.keyboard.press("Enter")
    read_page.locator(".hit").first.wait_for()
    read_page.keyboard.press("Escape")
    read_page.keyboard.press("j")
    read_page.keyboard.press("j")
    read_page.keyboard.press("k")
    expect(read_page.locator(".hit a.item").first).to_be_focused()
    read_page.keyboard.press("Enter")
    details = read_page.get_by_role("complementary", name="Details")
    expect(details.get_by_role("heading", level=2)).to_be_focused()
    read_page.keyboard.press("Escape")
    expect(details).to_be_hidden()
    expect(read_page.locator(".hit a.item").first).to_be_focused()
    read_page.keyboard.press("?")
    expect(read_page.get_by_role("dialog", name="Help")).to_be_visible()
    read_page.keyboard.press("Escape")
    read_page.keyboard.press("[")
    expect(read_page.locator("#past-note")).to_contain_text("June 2026")


def test_a_server_with_tokens_asks_for_one(page: Page, story: remanence.Space) -> None:
    """The page asks for a token, keeps it for the tab only, and works with it."""
    tokens = TokenStore(None)
    secret = tokens.create("inspector", spaces=[story.name], access="write")[0]
    with served(story, tokens, require_token=True) as address:
        page.goto(address)
        dialog = page.get_by_role("dialog", name="Token")
        dialog.get_by_label("Token").fill(secret)
        dialog.get_by_role("button", name="Use this token").click()
        expect(page.locator("#recent li")).to_have_count(len(ROWS))
        assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 1]


def test_a_long_memory_of_one_of_many_spaces_is_opened(browser: Browser) -> None:
    """Its details begin at the top, with the button that closes them, and no part of the masthead is cut off."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        space.add("Ana lives in Porto. " + "She writes long letters about her street. " * 80)
        space.child("users", f"{'long-' * 20}name").add("Bob drinks tea.")
        with served(space) as address:
            for width in (900, 390):
                page = browser.new_page(viewport={"width": width, "height": 620}, reduced_motion="reduce")
                page.goto(f"{address}/#/search?q=Ana")
                page.locator(".hit a.item").first.click()
                expect(page.locator("#panel h2")).to_be_focused()
                expect(page.get_by_role("button", name="Close the details")).to_be_in_viewport(ratio=1)
                expect(page.get_by_label("Space")).to_be_visible()
                help_button = page.get_by_role("button", name="Help and keyboard shortcuts")
                expect(help_button).to_be_in_viewport(ratio=1)
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                page.locator("#panel").evaluate("panel => panel.scrollTo(0, 900)")
                expect(page.get_by_role("button", name="Close the details")).to_be_in_viewport(ratio=1)
                page.close()


def test_the_page_fits_a_phone(browser: Browser, read_address: str) -> None:
    """No view is wider than the screen of a phone, and neither is the chart of the timeline, which can be scrolled."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, reduced_motion="reduce", has_touch=True)
    page = context.new_page()
    for view in (*VIEWS, "review?entity=Bruno"):
        page.goto(f"{read_address}/#/{view}")
        expect(page.locator(".loading")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
        if view == "timeline":
            expect(page.locator(".chart .relation")).not_to_have_count(0)
            assert page.evaluate("document.querySelector('.chart svg').clientWidth") <= 390
    context.close()


def test_no_text_of_the_page_has_the_name_of_a_python_thing(read_page: Page, read_address: str) -> None:
    for view in (*VIEWS, "timeline/Bruno", "search?entity=Ana"):
        read_page.goto(f"{read_address}/#/{view}")
        expect(read_page.locator(".loading")).to_have_count(0)
        text = read_page.locator("body").inner_text()
        assert not re.findall(
            r"\b[a-z]+_[a-z]+\b|\bNone\b(?! )|\bTrue\b(?! (?:during|now))|Error:|—\w+→|\bgc\b", text
        ), view


@pytest.mark.parametrize("width", [1500, 1240, 960, 760, 400])
def test_no_view_is_cut_off_beside_the_choice_of_a_space(
    page: Page, address: str, story: remanence.Space, width: int
) -> None:
    story.child("users", "anna").add("Anna keeps bees.")
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/#/search")
    expect(page.locator("#space-choice")).to_be_visible()
    hidden = page.evaluate("(nav => nav.scrollWidth - nav.clientWidth)(document.querySelector('.masthead nav'))")
    assert hidden <= 0

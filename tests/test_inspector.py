"""The inspector in headless Chromium, against a real server: search, the slider, the graph, decisions, import, live."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest

import remanence
from remanence.testing import HashingEmbedder

pytest.importorskip("playwright", reason="pip install playwright, or the dev group, for the tests of the inspector")
pytest.importorskip("fastapi", reason="pip install 'remanence[server]' for the tests of the inspector")

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from live_server import served
from remanence.service.hosting.tokens import TokenStore

expect.set_options(timeout=30_000)  # machines are shared and noisy

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="the tests of the inspector need a browser: apt-get install chromium"
)

VIEWS = (
    *("overview", "search", "search?q=Where+does+Ana+live%3F", "browse", "graph?map=all", "timeline", "answers"),
    *("compare", "compare/settings?q=Ana", "try", "review", "upkeep"),
)
HOSTILE = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'><style>body{display:none}</style>"
OVERRIDE = "\u202e"
ROWS: list[dict[str, Any]] = [
    {"text": "It rained all day.", "now": "2025-06-01", "kind": "episode"},
    {"text": "Ana lives in Porto.", "now": "2025-12-01", "valid_from": "2023-04-01"},
    {"text": "Ana works at Brightwater.", "now": "2026-01-10", "source": "letter"},
    {"text": "Bruno lives in Braga.", "now": "2026-02-01", "valid_from": "2026-01-01", "observed_by": "Ana"},
    {"text": "Bruno lives in Faro.", "now": "2026-02-02", "valid_from": "2026-01-01", "observed_by": "Maya"},
    {"text": "Carla Mendes is a friend of Bruno.", "now": "2026-02-20"},
    {"text": "C. Mendes plays the cello.", "now": "2026-03-01"},
    {"text": "Ana moved to Lisbon.", "now": "2026-06-10", "valid_from": "2026-06-01"},
]


# As a person sets who wants no transparency: without a graphics card Chromium takes long to blur what is behind. The
# other settings are those of Playwright, of which only one list can be given.
SETTINGS = "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"
FLAGS = ("--no-sandbox", f"--blink-settings={SETTINGS},prefersReducedTransparency=true")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def new_story() -> Iterator[remanence.Space]:
    """A few months of what was learned about Ana and her friends."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        space.add_many(ROWS)
        yield space


@pytest.fixture
def story() -> Iterator[remanence.Space]:
    """The story, for a test that changes it."""
    with new_story() as space:
        yield space


@pytest.fixture
def address(story: remanence.Space) -> Iterator[str]:
    with served(story) as address:
        yield address


@pytest.fixture(scope="module")
def read_address() -> Iterator[str]:
    """Where the story is that no test changes."""
    with new_story() as space, served(space) as address:
        yield address


class Tab:
    """A page, and the errors that it reports."""

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self._note(message.text))

    def _note(self, text: str) -> None:
        if "Content Security" in text:
            self.errors.append(text)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that must not report an error."""
    tab = Tab(browser)
    yield tab.page
    tab.context.close()
    assert not tab.errors


@pytest.fixture(scope="module")
def read_tab(browser: Browser) -> Iterator[Tab]:
    tab = Tab(browser)
    yield tab
    tab.context.close()


@pytest.fixture
def read_page(read_tab: Tab) -> Iterator[Page]:
    """A page for tests that change nothing. It is loaded once, which takes a second; its address says what it shows."""
    yield read_tab.page
    errors, read_tab.errors = read_tab.errors, []
    assert not errors


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


def test_the_graph_shows_the_map_and_the_neighbourhood_of_an_entity(read_page: Page, read_address: str) -> None:
    """A small space opens as a map; choosing an entity shows what is around it, and its details."""
    read_page.goto(f"{read_address}/#/graph")
    expect(read_page.locator("canvas[data-settled]")).to_be_visible()
    painted = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((v) => v)"
    assert read_page.locator("canvas").evaluate(painted)

    read_page.get_by_label("Find an entity").fill("Bru")
    expect(read_page.locator(".entity-list li")).to_have_count(1)
    read_page.locator(".entity-list").get_by_role("link", name="Bruno").click()
    expect(read_page.locator(".graph-caption")).to_contain_text("Bruno:")
    details = read_page.get_by_role("complementary", name="Details")
    expect(details.get_by_role("heading", name="Bruno")).to_be_focused()
    expect(details.get_by_label("Relations")).to_contain_text("lives in")


def test_labels_of_five_thousand_nodes_do_not_overlap(read_page: Page, read_address: str) -> None:
    """Of many labels those of the most important nodes are drawn. No two cover each other, and none the caption."""
    read_page.goto(f"{read_address}/#/search")
    boxes = read_page.evaluate(
        """async () => {
          const { placeLabels } = await import("/inspector/js/labels.js");
          const context = document.createElement("canvas").getContext("2d");
          const order = Array.from({ length: 5000 }, (_, place) => place);
          const screen = order.map((place) => [(place * 7919) % 1000, (place * 104729) % 700]);
          const labels = placeLabels(order, { width: 1000, height: 700, screen, context,
            text: (place) => `Entity ${place}`, font: () => "12px serif", below: () => 5,
            always: () => false, everywhere: false, covered: [{ left: 0, right: 400, top: 650, bottom: 690 }] });
          return labels.map(({ place, x, y, text }) => [place, x, y, context.measureText(text).width]);
        }"""
    )
    assert 50 < len(boxes) < 1_000
    assert boxes[0][0] == 0, "the most important node has its label"
    assert not [box for box in boxes if box[1] - box[3] / 2 < 400 and 640 < box[2] < 690]
    assert all(width / 2 <= x <= 1_000 - width / 2 for _, x, _, width in boxes), "a label at an edge is not cut off"
    for place, (_, x, y, width) in enumerate(boxes):
        for _, other_x, other_y, other_width in boxes[place + 1 :]:
            assert abs(x - other_x) >= (width + other_width) / 2 or abs(y - other_y) >= 12


@pytest.fixture(scope="module")
def clustered_address() -> Iterator[str]:
    """A space with 360 entities in twelve clusters."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        space.add_many(
            {
                "text": f"Note {hub} {number} {step}.",
                "entities": [
                    (f"Hub{hub}", "person"),
                    (f"P{hub}-{number}", "place"),
                    (f"P{hub}-{(number + step) % 29}", "place"),
                ],
                "triples": (),
            }
            for hub in range(12)
            for number in range(29)
            for step in (1, 2)
        )
        with served(space) as address:
            yield address


def map_state(page: Page, value: str) -> Any:
    """What the map of a page draws, asked of the module that draws it."""
    module = "/inspector/js/graph_view.js"
    return page.evaluate(f"async () => {{ const graph = (await import('{module}')).shownMap(); return {value}; }}")


def test_clusters_are_closed_at_first_and_open_one_by_one(read_page: Page, clustered_address: str) -> None:
    """A click on a disc opens it, the address says which are open, and the legend closes it again."""
    read_page.goto(f"{clustered_address}/#/graph?map=all")
    expect(read_page.locator(".graph-caption")).to_contain_text("12 of them closed")
    x, y = map_state(read_page, "graph.toScreen(graph.clusters[0])")
    read_page.locator("canvas").click(position={"x": x, "y": y})
    expect(read_page.locator(".graph-caption")).to_contain_text("11 of them closed")
    assert "open=0" in read_page.url
    assert map_state(read_page, "graph.visible.shown.length") == 30
    read_page.locator(".graph-legend a").first.click()
    expect(read_page.locator(".graph-caption")).to_contain_text("12 of them closed")
    read_page.get_by_role("link", name="Open all clusters").click()
    expect(read_page.get_by_role("link", name="Close the clusters")).to_be_visible()
    assert map_state(read_page, "graph.visible.shown.length") == 360


def test_what_is_typed_dims_the_rest_of_the_map(read_page: Page, clustered_address: str) -> None:
    read_page.goto(f"{clustered_address}/#/graph?map=all&open=all")
    expect(read_page.locator("canvas[data-settled]")).to_be_visible()
    read_page.get_by_label("Find an entity").fill("Hub1")
    expect(read_page.locator(".entity-list li")).to_have_count(3)  # Hub1, Hub10 and Hub11
    assert map_state(read_page, "graph.found.size") == 3


def test_fewer_connections_are_drawn_above_a_threshold(read_page: Page, clustered_address: str) -> None:
    read_page.goto(f"{clustered_address}/#/graph?map=all&open=all&least=1")
    expect(read_page.locator("canvas[data-settled]")).to_be_visible()
    every = map_state(read_page, "graph.visible.lines.length")
    read_page.get_by_label("Connections from this many").fill("2")
    assert 0 < map_state(read_page, "graph.visible.lines.length") < every
    read_page.wait_for_url("**least=2**")
    read_page.locator(".graph-controls select").select_option("kind")
    expect(read_page.locator(".graph-legend")).to_contain_text("People 12")


def test_a_new_map_settles_and_a_large_one_opens_with_a_neighbourhood(page: Page) -> None:
    """The whole map is a click away, and at rest at once."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        names = [f"{first}{last}" for first in ("Al", "Be", "Ca", "Do", "El") for last in map(str, range(180))]
        rows = [f"n{number}" for number in range(len(names))]
        space.add_many(
            {"text": f"Note {row}.", "entities": [(name, "thing"), (names[place // 30], "thing")], "triples": ()}
            for place, (row, name) in enumerate(zip(rows, names, strict=True))
        )
        with served(space) as address:
            page.goto(f"{address}/#/graph")
            expect(page.locator(".graph-caption")).to_contain_text("around it")
            page.get_by_role("link", name="Whole map").click()
            expect(page.locator(".graph-caption")).to_contain_text("900 entities")
            expect(page.locator("canvas[data-settled]")).to_be_visible()


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
    expect(dialog).to_contain_text("2 memories get a new version")
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
    quoted = story.for_prompt("Where does Bruno live?", limit=1, record=True).hits
    assert len(quoted) == 1 < len(story.recall("Where does Bruno live?"))
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


def test_no_text_of_the_page_has_the_name_of_a_python_thing(read_page: Page, read_address: str) -> None:
    for view in (*VIEWS, "timeline/Bruno", "search?entity=Ana"):
        read_page.goto(f"{read_address}/#/{view}")
        expect(read_page.locator(".loading")).to_have_count(0)
        text = read_page.locator("body").inner_text()
        assert not re.findall(
            r"\b[a-z]+_[a-z]+\b|\bNone\b(?! )|\bTrue\b(?! (?:during|now))|Error:|—\w+→|\bgc\b", text
        ), view


def test_keys_of_the_map_are_not_those_of_the_page(read_page: Page, read_address: str) -> None:
    """On the map, 0 shows all of it; elsewhere it leads to Upkeep."""
    read_page.goto(f"{read_address}/#/graph?map=all")
    expect(read_page.locator("canvas[data-settled]")).to_be_visible()
    read_page.locator("canvas").focus()
    read_page.keyboard.press("+")
    zoom = map_state(read_page, "graph.view.zoom")
    read_page.keyboard.press("0")
    assert map_state(read_page, "graph.view.zoom") < zoom
    expect(read_page.get_by_role("link", name="Map", exact=True)).to_have_attribute("aria-current", "page")
    read_page.locator("canvas").blur()
    read_page.keyboard.press("0")
    expect(read_page.get_by_role("heading", name="Upkeep", exact=True)).to_be_visible()

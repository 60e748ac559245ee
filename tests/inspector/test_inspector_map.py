"""The map: clusters, labels, the neighbourhood of an entity, keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import remanence
from inspector.inspector_pages import Page, expect
from live_server import served
from remanence.testing import HashingEmbedder


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

"""Pictures of the graph: for the eye, for a browser, and for other libraries."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import igraph
import networkx
import pytest

from remanence import InvalidInput, Relation, Space, Window
from remanence.errors import MissingExtra
from remanence.graph.history import HistoryEvent
from remanence.graph.pictures import graph_page, graph_picture, timeline_picture, timeline_svg, to_igraph, to_networkx
from remanence.graph.pictures.layout import RADIUS, graph_svg, lay_out, width_in_letters
from remanence.graph.traversal import Edge, Node, Subgraph
from remanence.schema import UTC
from remanence.schema.notebook_pictures import LETTER_WIDTH
from remanence.testing import FakeClock

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(1)>',
    "]]> & &amp; ' `${alert(1)}`",
    "@@graph@@ {svg} {0} %s",
    "\x00\x1b[31m\ud800\uffff\u2028",
    "שלום 東京 👩‍👩‍👧",
    "a" * 5000,
    " ",
    "",
]
MARCH, MAY = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def walked(space: Space) -> Subgraph:
    """Alice and what is known around her."""
    space.graph.relate("Alice", "lives_in", "Lisbon", valid_from="2026-03-01", confidence=0.9)
    space.graph.relate("Bob", "knows", "Alice", valid_from="2020-01-01", valid_until="2030-01-01")
    space.add("Alice works at Acme.", valid_from="2026-01-01")
    return space.graph.query("Alice")


def graph_of(labels: list[str], *edges: tuple[int, int, Window]) -> Subgraph:
    """A graph with nodes of these labels, by turns entities and memories."""
    nodes = [
        Node(f"n{place}", "memory" if place % 2 else "entity", label, depth=min(place, 1))
        for place, label in enumerate(labels)
    ]
    ties = [Edge(f"n{a}", f"n{b}", labels[a], valid, id=f"{a}-{b}") for a, b, valid in edges]
    return Subgraph(tuple(nodes), tuple(ties), 1, len(ties))


def scattered(size: int) -> Subgraph:
    """A graph of many nodes in a few parts, each tied to one or two before it."""
    lots = random.Random(5)
    ties = [(place, lots.randrange(place)) for place in range(1, size) if place % 50]
    return graph_of([f"Node {place} of many" for place in range(size)], *((a, b, Window()) for a, b in ties))


class Elements(HTMLParser):
    """The elements of a page, each with its attributes and the text in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, dict(attrs), []))

    def handle_data(self, data: str) -> None:
        if self.all:
            self.all[-1][2].append(data)

    def named(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """The attributes and the text of every element of one name."""
        return [(attributes, "".join(text)) for name, attributes, text in self.all if name == tag]


def told(page: str) -> Any:
    """What a page holds as data."""
    scripts = Elements(page).named("script")
    return json.loads(next(text for attributes, text in scripts if attributes.get("id") == "graph"))


# For other libraries


def test_igraph_gets_nodes_and_edges_with_all_that_is_known(walked: Subgraph) -> None:
    """Ids are names; windows are ISO text, with nothing where an end is open."""
    graph = to_igraph(walked)
    edge = graph.es.select(name="lives_in")[0]

    assert graph.is_directed()
    assert graph.vs["name"] == [node.id for node in walked.nodes]
    assert {(v["label"], v["kind"]) for v in graph.vs} >= {("Alice", "entity"), ("Alice works at Acme.", "memory")}
    assert (graph.vs[edge.source]["label"], graph.vs[edge.target]["label"]) == ("Alice", "Lisbon")
    assert (edge["valid_from"], edge["valid_until"]) == ("2026-03-01T00:00:00+00:00", "")
    assert edge["confidence"] == 0.9


def test_evidence_is_the_ids_of_the_memories(walked: Subgraph) -> None:
    """So that whoever looks at an edge can ask for the words behind it."""
    graph = to_igraph(walked)
    memory = next(node for node in walked.nodes if node.kind == "memory")

    assert graph.es.select(name="works_at")["evidence"] == [memory.id]
    assert graph.es.select(name="knows")["evidence"] == [""]


def test_networkx_gets_the_same(walked: Subgraph) -> None:
    """Node by node and edge by edge."""
    graph, other = to_networkx(walked), to_igraph(walked)

    assert [{"name": name, **data} for name, data in graph.nodes(data=True)] == [
        vertex.attributes() for vertex in other.vs
    ]
    assert sorted(data["id"] for *_, data in graph.edges(data=True)) == sorted(other.es["id"])
    assert all(data == other.es.find(id=data["id"]).attributes() for *_, data in graph.edges(data=True))


def test_an_edge_that_held_twice_is_there_twice() -> None:
    """Once from March and once from May, under one id."""
    twice = graph_of(["a", "b"], (0, 1, Window(MARCH, MAY)), (0, 1, Window(MAY)))

    assert to_networkx(twice).number_of_edges("n0", "n1") == to_igraph(twice).ecount() == 2


def test_networkx_is_asked_for_only_when_it_is_needed(walked: Subgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without it the error says how to get it."""
    monkeypatch.setitem(sys.modules, "networkx", None)

    with pytest.raises(MissingExtra, match="pip install networkx"):
        to_networkx(walked)


def test_graphml_reads_back_as_it_was(walked: Subgraph, tmp_path: Path) -> None:
    """Every attribute of every node and edge."""
    read = igraph.Graph.Read_GraphML(str(graph_picture(walked).save(tmp_path / "graph.graphml")))
    made = to_igraph(walked)

    assert read.get_edgelist() == made.get_edgelist()
    assert all(read.vs[name] == made.vs[name] for name in made.vs.attributes())
    assert all(read.es[name] == made.es[name] for name in made.es.attributes())
    assert networkx.read_graphml(tmp_path / "graph.graphml").number_of_nodes() == len(walked.nodes)


# Files


@pytest.mark.parametrize("name", ["graph.html", "graph.svg", "graph.graphml", "GRAPH.SVG"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 40])
def test_a_graph_of_any_size_is_saved(tmp_path: Path, name: str, size: int) -> None:
    """Nothing at all is also a picture; and nothing else is left in the folder."""
    saved = graph_picture(scattered(size)).save(tmp_path / name)

    assert saved.stat().st_size
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["graph.png", "graph", ".svg", "graph.html.gz"])
def test_an_unknown_suffix_is_refused_with_those_there_are(walked: Subgraph, tmp_path: Path, name: str) -> None:
    """A wrong guess leads to a right one."""
    with pytest.raises(InvalidInput, match=r"none of \.html, \.svg, \.graphml"):
        graph_picture(walked).save(tmp_path / name)
    with pytest.raises(InvalidInput, match=r"none of \.html, \.svg\."):
        timeline_picture([]).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_place_that_is_none_is_refused(walked: Subgraph, tmp_path: Path) -> None:
    """A folder that is not there, a folder with the name of the file, something that is not a path."""
    (tmp_path / "taken.svg").mkdir()

    with pytest.raises(InvalidInput, match=r"no folder .*missing"):
        graph_picture(walked).save(tmp_path / "missing" / "graph.svg")
    with pytest.raises(InvalidInput, match="is a folder"):
        graph_picture(walked).save(tmp_path / "taken.svg")
    with pytest.raises(InvalidInput, match="path=7 is of type int"):
        graph_picture(walked).save(7)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["graph.html", "graph.svg", "graph.graphml"])
def test_what_was_there_stays_if_saving_fails(walked: Subgraph, tmp_path: Path, name: str) -> None:
    """A picture is replaced by a whole one or not at all."""
    file = graph_picture(walked).save(tmp_path / name)
    before = file.read_bytes()
    broken = replace(walked, nodes=walked.nodes[1:])

    with pytest.raises(KeyError):
        graph_picture(broken).save(file)
    assert file.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_saving_through_a_link_writes_where_it_leads(walked: Subgraph, tmp_path: Path) -> None:
    """The link stays a link."""
    file, link = tmp_path / "real.svg", tmp_path / "link.svg"
    file.write_text("old")
    link.symlink_to(file)
    graph_picture(walked).save(link)

    assert link.is_symlink()
    assert file.read_text("utf-8").startswith("<svg")


# The same picture for the same graph


@pytest.mark.parametrize("size", [40, 300])
def test_the_same_graph_gives_the_same_picture(size: int) -> None:
    """Whatever lots were drawn in between; and nobody else's lots are touched."""
    random.seed(1)
    graph = scattered(size)
    first = graph_page(graph), graph_svg(graph)
    drawn = random.random()
    second = graph_page(graph), graph_svg(graph)
    random.seed(1)

    assert first == second
    assert drawn == random.random()


def test_no_label_lies_on_another() -> None:
    """Nodes stand far enough apart for what is written below them."""
    graph = scattered(60)
    layout = lay_out(graph)

    def box(place: int) -> tuple[float, float, float, float]:
        (x, y), label = layout.coordinates[place], layout.labels[place]
        half, radius = max(map(width_in_letters, label)) * LETTER_WIDTH / 2, RADIUS[graph.nodes[place].kind]
        return x - half, y - radius, x + half, y + radius + 15 * len(label)

    for a, b in combinations(map(box, range(60)), 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_edges_between_the_same_two_nodes_can_be_told_apart() -> None:
    """There and back and there again: three ways; and an edge to itself goes out and comes back."""
    always = Window()
    graph = graph_of(["a", "b"], (0, 1, always), (1, 0, always), (0, 1, always), (0, 0, always))
    there, back, again, around = lay_out(graph).bends

    assert len({there, -back, again}) == 3
    assert around > 0


@pytest.mark.slow
def test_two_thousand_nodes_are_no_trouble() -> None:
    """Every one of them has a place of its own, and stands on the sheet."""
    layout = lay_out(scattered(2000))

    assert len(set(layout.coordinates)) == 2000
    assert all(0 < x < layout.width and 0 < y < layout.height for x, y in layout.coordinates)


# SVG


def test_svg_has_every_name_and_window(walked: Subgraph) -> None:
    """What is known can be read without a pointer."""
    root = ElementTree.fromstring(graph_svg(walked))
    texts = [text.text for text in root.iter(f"{SVG}text")]

    assert {"Alice", "Lisbon", "Bob", "Acme", "lives_in", "knows", "works_at"} <= set(texts)
    assert {"since 2026-03-01", "2020-01-01 to 2030-01-01"} <= set(texts)
    assert len(root.findall(f".//{SVG}path[@marker-end]")) == len(walked.edges) + 1  # and one in the legend


def test_svg_says_more_where_the_pointer_rests(walked: Subgraph) -> None:
    """Who, when, how sure, and from which memory."""
    titles = [title.text or "" for title in ElementTree.fromstring(graph_svg(walked)).iter(f"{SVG}title")]
    [works] = {title for title in titles if "—works_at→" in title}

    assert works.splitlines()[0] == "Alice —works_at→ Acme"
    assert "since 2026-01-01; learned 2026-05-04 09:00; confidence" in works
    assert works.splitlines()[2] == "evidence: Alice works at Acme."


# HTML


def test_a_page_holds_all_it_needs(walked: Subgraph) -> None:
    """No address is asked for anything, and the policy of the page forbids it."""
    page = Elements(graph_page(walked))
    [policy] = [meta for meta, _ in page.named("meta") if "http-equiv" in meta]

    assert not [a for _, attributes, _ in page.all for a in attributes if a in ("src", "href", "action")]
    assert str(policy["content"]).startswith("default-src 'none';")
    assert not [word for word in ("innerHTML", "eval(", "Function(", "import(") if word in graph_page(walked)]


def test_a_page_is_told_what_the_graph_says(walked: Subgraph) -> None:
    """Nodes with places; edges with their windows, how sure they are, and their evidence."""
    data = told(graph_page(walked))
    memory = next(node for node in walked.nodes if node.kind == "memory")
    [works] = [edge for edge in data["edges"] if edge["name"] == "works_at"]

    assert [node["id"] for node in data["nodes"]] == [node.id for node in walked.nodes]
    assert [data["nodes"][works[end]]["label"] for end in ("source", "target")] == ["Alice", "Acme"]
    assert (works["when"], works["evidence"]) == ("since 2026-01-01", [memory.id])


def test_a_page_knows_what_holds_between_any_two_moments() -> None:
    """Moments are where anything begins or ends; windows are half open, as everywhere."""
    windows = Window(None, MARCH), Window(MARCH, MAY), Window(MAY), Window()
    data = told(graph_page(graph_of(["a", "b"], *((0, 1, window) for window in windows))))

    def holding(place: int) -> list[int]:
        edges = enumerate(data["edges"])
        return [number for number, edge in edges if edge["since"] <= place < edge["until"]]

    assert data["moments"] == ["2026-03-01", "2026-05-01"]
    assert [holding(place) for place in (-1, 0, 1)] == [[0, 3], [1, 3], [2, 3]]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_breaks_out_of_a_picture(tmp_path: Path, text: str) -> None:
    """Names are data in every format, whatever stands in them."""
    graph = graph_of([text, text, text], (0, 1, Window()), (1, 2, Window()))
    page = graph_page(graph)
    scripts = Elements(page).named("script")

    assert len(scripts) == 2
    assert [node["label"] for node in told(page)["nodes"]] == [text] * 3
    assert "alert(1)" not in scripts[1][1]
    assert not Elements(page).named("img")
    assert not ElementTree.fromstring(graph_svg(graph)).findall(f".//{SVG}script")
    assert graph_picture(graph).save(tmp_path / "graph.html").exists()
    assert igraph.Graph.Read_GraphML(str(graph_picture(graph).save(tmp_path / "graph.graphml"))).vcount() == 3


# In a notebook


@pytest.mark.parametrize("make", [graph_picture, lambda _: timeline_picture([])], ids=["graph", "timeline"])
def test_a_notebook_shows_a_picture_in_a_frame_of_its_own(make: Callable[[Subgraph], Any]) -> None:
    """The page is inside, whole, and can reach nothing outside."""
    shown = make(graph_of(HOSTILE))
    [(frame, _)] = Elements(shown._repr_html_()).named("iframe")

    assert frame["srcdoc"] == shown.formats[".html"]()
    assert frame["sandbox"] == "allow-scripts"


def test_elsewhere_a_picture_says_what_to_do(walked: Subgraph) -> None:
    """A terminal shows a line and draws nothing."""
    assert repr(graph_picture(walked)).startswith("<Around Alice: ")
    assert "save it" in repr(graph_picture(walked))


# Timelines


def lived(place: str, start: datetime | None, end: datetime | None, subject: str = "Alice") -> Relation:
    return Relation(f"{place}{start}", subject, "lives_in", place, Window(start, end), evidence=("m1",))


def bars(svg: str) -> list[tuple[float, float, float]]:
    """Left, right and height of each bar."""
    out = []
    for bar in ElementTree.fromstring(svg).findall(f".//{SVG}path[@class='bar']"):
        numbers = [float(n) for n in "".join(c if c in "0123456789.-" else " " for c in bar.attrib["d"]).split()]
        out.append((min(numbers[0], numbers[-2]), numbers[3], numbers[-1]))
    return out


def test_a_page_of_a_timeline_holds_all_it_needs() -> None:
    """As a page of a graph does: no address is asked for anything, and its policy forbids it."""
    page = Elements(timeline_picture([lived("Porto", MAY, None)]).formats[".html"]())
    [policy] = [meta for meta, _ in page.named("meta") if "http-equiv" in meta]

    assert not [a for _, attributes, _ in page.all for a in attributes if a in ("src", "href", "action")]
    assert str(policy["content"]).startswith("default-src 'none';")


def test_a_timeline_has_a_row_for_each_claim_and_a_bar_for_each_stretch() -> None:
    """Porto twice, in one row, with Lisbon between in another."""
    day = timedelta(days=1)
    svg = timeline_svg([lived("Porto", MAY, None), lived("Lisbon", MARCH, MAY), lived("Porto", None, MARCH - day)])
    before, after, between = bars(svg)

    assert before[2] == after[2] != between[2]
    assert before[1] < between[0] < between[1] == after[0]


def test_an_open_end_is_a_point_at_the_edge() -> None:
    """It reaches further than anything that is dated, on its own side only."""
    svg = timeline_svg([lived("Faro", None, MARCH), lived("Porto", MARCH, MAY), lived("Tavira", MAY, None)])
    until, dated, since = bars(svg)

    assert until[0] < until[1] == dated[0] < dated[1] == since[0] < since[1]


async def test_pictures_have_async_variants(space: Space, tmp_path: Path) -> None:
    """Each returns what its method returns."""
    space.graph.relate("Alice", "lives_in", "Porto")
    graph = space.graph
    assert (await graph.asave(tmp_path / "graph.svg")).exists()
    assert (await graph.asave_timeline("Alice", tmp_path / "alice.svg")).exists()
    assert repr(await graph.ashow()) == repr(graph.show())
    assert repr(await graph.ashow_timeline("Alice")) == repr(graph.show_timeline("Alice"))
    assert (await graph.ato_igraph()).vcount() == len(await graph.ato_networkx()) == 2


def test_a_timeline_shows_when_it_was_learned(space: Space, clock: FakeClock) -> None:
    """Ticks, in a row for each sort of happening, that say what happened."""
    space.graph.relate("Alice", "lives_in", "Porto", valid_from="2024-01-01")
    clock.advance(days=30)
    space.graph.relate("Alice", "lives_in", "Lisbon", valid_from="2026-05-03")
    happenings = space.graph.timeline("Alice")
    root = ElementTree.fromstring(timeline_svg(space.graph.when("Alice", "lives_in"), happenings, now=clock.now()))
    ticks = root.findall(f".//{SVG}path[@class='tick']")

    assert {tick.findtext(f"{SVG}title") for tick in ticks} == {str(happening) for happening in happenings}
    assert {happening.kind for happening in happenings} <= {text.text for text in root.iter(f"{SVG}text")}
    assert root.findtext(f".//{SVG}path[@class='now']/{SVG}title") == "now: 2026-06-03 09:00"


@pytest.mark.parametrize(
    "days",
    [0, 1, 9, 60, 200, 800, 4000, 40_000, 3_000_000],
    ids="moment day week months year two decade century all".split(),
)
def test_a_timeline_of_any_length_has_a_few_dates(days: int) -> None:
    """Enough to read it by, and not so many that they run into each other."""
    start = datetime(1, 1, 1, tzinfo=UTC) if days > 100_000 else datetime(1999, 12, 31, 22, tzinfo=UTC)
    root = ElementTree.fromstring(timeline_svg([lived("Porto", start, start + timedelta(days=days))]))
    dates = [float(t.attrib["x"]) for t in root.iter(f"{SVG}text") if t.attrib["class"] == "middle faint"]

    assert 1 <= len(dates) <= 10
    assert all(b - a > 70 for a, b in pairwise(dates))


def test_a_timeline_reaches_to_the_ends_of_the_calendar() -> None:
    """The first day of year 1 and the last of year 9999."""
    first, last = (end.replace(tzinfo=UTC) for end in (datetime.min, datetime.max))

    for start, end in ((first, last), (first, None), (None, last), (last, None), (None, None)):
        assert len(bars(timeline_svg([lived("Porto", start, end)]))) == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_breaks_out_of_a_timeline(text: str) -> None:
    """Not from a name, nor from what happened."""
    relations, happenings = [lived(text, MARCH, None, text)], [HistoryEvent(MAY, 1, "forgotten", text, why=text)]
    root = ElementTree.fromstring(timeline_svg(relations, happenings))
    page = Elements(timeline_picture(relations, happenings).formats[".html"]())

    assert {element.tag for element in root.iter()} == {
        f"{SVG}{tag}" for tag in "svg style rect g title text path".split()
    }
    assert not page.named("script")
    assert not page.named("img")


# In a browser, where there is one

ACT = """
<script>
setTimeout(() => {
  const out = {}, find = label => nodes.find(node => node.label === label);
  const point = (kind, node, dx = 0) => {
    const [x, y] = onScreen(node.x, node.y), at = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new PointerEvent(kind, { clientX: at.x + x + dx, clientY: at.y + y, pointerId: 1 }));
  };
  const shown = () => edges.filter(edge => edge.shown).map(edge => edge.name).sort();
  canvas.setPointerCapture = () => {};
  out.always = shown();
  point("pointermove", find("Lisbon"));
  out.details = by("details").textContent;
  const lisbon = find("Lisbon"), was = lisbon.x;
  point("pointerdown", lisbon); point("pointermove", lisbon, 50); point("pointerup", lisbon);
  out.moved = (lisbon.x - was) * view.scale;
  by("when").value = 0; by("when").dispatchEvent(new Event("input"));
  out.before = [shown(), by("moment").textContent, nodes.filter(n => n.shown).map(n => n.label).sort()];
  by("always").click();
  by("search").value = "ACME"; by("search").dispatchEvent(new Event("input"));
  by("search").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  out.sought = [by("found").textContent, chosen.label];
  const scale = view.scale;
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
  out.zoomed = view.scale / scale;
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  out.stepped = chosen.label;
  document.title = "done";
  const said = document.createElement("pre");
  said.textContent = JSON.stringify(out);
  document.body.replaceChildren(said);
}, 300);
</script>
"""
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium to open the page with")
def test_a_page_does_what_it_says(walked: Subgraph, tmp_path: Path) -> None:
    """Hovering, dragging, the slider, the search and the keys, in a real browser."""
    file = tmp_path / "graph.html"
    file.write_text(graph_page(walked) + ACT, "utf-8")
    options = "--headless --no-sandbox --disable-gpu --virtual-time-budget=5000 --window-size=1200,800 --dump-dom"
    done = subprocess.run(
        [str(BROWSER), *options.split(), f"--user-data-dir={tmp_path / 'browser'}", file.as_uri()],
        capture_output=True,
        timeout=60,
    )
    out = json.loads(Elements(done.stdout.decode("utf-8")).named("pre")[0][1])

    assert out["always"] == ["knows", "lives_in", "mentions", "mentions", "works_at"]
    assert out["details"].startswith("Lisbon")
    assert "Alice —lives_in→ Lisbon (since 2026-03-01)" in out["details"]
    assert out["moved"] == pytest.approx(50, abs=1)
    assert out["before"] == [[], "before 2020-01-01", ["Alice"]]
    assert out["sought"][0].startswith("2 found")
    assert out["sought"][1] in ("Acme", "Alice works at Acme.")
    assert out["zoomed"] == pytest.approx(1.25)
    assert out["stepped"] in {node.label for node in walked.nodes}

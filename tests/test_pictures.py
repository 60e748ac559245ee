"""Pictures of the graph: for the eye, for a browser, and for other libraries."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import igraph
import networkx
import pytest

from remanence import InvalidInput, Relation, Space, Window
from remanence.errors import MissingExtra
from remanence.graph.pictures import NotebookPicture, timeline_table, to_igraph, to_networkx
from remanence.graph.traversal import Edge, Node, Subgraph
from remanence.schema import UTC

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
    read = igraph.Graph.Read_GraphML(str(NotebookPicture(walked).save(tmp_path / "graph.graphml")))
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
    saved = NotebookPicture(scattered(size)).save(tmp_path / name)

    assert saved.stat().st_size
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["graph.png", "graph", ".svg", "graph.html.gz"])
def test_an_unknown_suffix_is_refused_with_those_there_are(walked: Subgraph, tmp_path: Path, name: str) -> None:
    """A wrong guess leads to a right one."""
    with pytest.raises(InvalidInput, match=r"none of \.html, \.svg, \.graphml"):
        NotebookPicture(walked).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_place_that_is_none_is_refused(walked: Subgraph, tmp_path: Path) -> None:
    """A folder that is not there, a folder with the name of the file, something that is not a path."""
    (tmp_path / "taken.svg").mkdir()

    with pytest.raises(InvalidInput, match=r"missing.* cannot be written: No such file"):
        NotebookPicture(walked).save(tmp_path / "missing" / "graph.svg")
    with pytest.raises(InvalidInput, match="Is a directory"):
        NotebookPicture(walked).save(tmp_path / "taken.svg")
    with pytest.raises(InvalidInput, match="path=7 is not a file name"):
        NotebookPicture(walked).save(7)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["graph.html", "graph.svg", "graph.graphml"])
def test_what_was_there_stays_if_saving_fails(walked: Subgraph, tmp_path: Path, name: str) -> None:
    """A picture is replaced by a whole one or not at all."""
    file = NotebookPicture(walked).save(tmp_path / name)
    before = file.read_bytes()
    broken = replace(walked, nodes=walked.nodes[1:])

    with pytest.raises(KeyError):
        NotebookPicture(broken).save(file)
    assert file.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_no_picture_is_saved_through_a_link(walked: Subgraph, tmp_path: Path) -> None:
    """What it leads to stays as it was."""
    file, link = tmp_path / "real.svg", tmp_path / "link.svg"
    file.write_text("old")
    link.symlink_to(file)
    with pytest.raises(InvalidInput, match="symbolic link"):
        NotebookPicture(walked).save(link)

    assert file.read_text("utf-8") == "old"


# The same picture for the same graph


@pytest.mark.parametrize("size", [40, 300])
def test_the_same_graph_gives_the_same_picture(size: int) -> None:
    """Whatever lots were drawn in between; and nobody else's lots are touched."""
    random.seed(1)
    graph = NotebookPicture(scattered(size))
    first = graph.page(), graph.svg()
    drawn = random.random()
    second = graph.page(), graph.svg()
    random.seed(1)

    assert first == second
    assert drawn == random.random()


def test_no_label_lies_on_another() -> None:
    """Nodes stand far enough apart for what is written below them."""
    nodes = told(NotebookPicture(scattered(60)).page())["nodes"]

    def box(node: Any) -> tuple[float, float, float, float]:
        half = len(node["lines"][0]) * 7.2 / 2
        return node["x"] - half, node["y"] - 9, node["x"] + half, node["y"] + 24

    for a, b in combinations(map(box, nodes), 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_edges_between_the_same_two_nodes_can_be_told_apart() -> None:
    """There and back and there again: three ways; and an edge to itself goes out and comes back."""
    always = Window()
    graph = graph_of(["a", "b"], (0, 1, always), (1, 0, always), (0, 1, always), (0, 0, always))
    there, back, again, around = (edge["bend"] for edge in told(NotebookPicture(graph).page())["edges"])

    assert len({there, -back, again}) == 3
    assert around > 0


@pytest.mark.slow
def test_two_thousand_nodes_are_no_trouble() -> None:
    """Every one of them has a place of its own."""
    nodes = told(NotebookPicture(scattered(2000)).page())["nodes"]
    assert len({(node["x"], node["y"]) for node in nodes}) == 2000


# SVG


def test_svg_has_every_name_and_window(walked: Subgraph) -> None:
    """What is known can be read without a pointer."""
    texts = [text.text for text in ElementTree.fromstring(NotebookPicture(walked).svg()).iter(f"{SVG}tspan")]

    assert {"Alice", "Lisbon", "Bob", "Acme", "lives_in (since 2026-03-01)"} <= {text for text in texts if text}


# HTML


def test_a_page_holds_all_it_needs(walked: Subgraph) -> None:
    """No address is asked for anything, and the policy of the page forbids it."""
    page = Elements(NotebookPicture(walked).page())
    [policy] = [meta for meta, _ in page.named("meta") if "http-equiv" in meta]

    assert not [a for _, attributes, _ in page.all for a in attributes if a in ("src", "href", "action")]
    assert str(policy["content"]).startswith("default-src 'none';")
    assert not [
        word for word in ("innerHTML", "eval(", "Function(", "import(") if word in NotebookPicture(walked).page()
    ]


def test_a_page_is_told_what_the_graph_says(walked: Subgraph) -> None:
    """Nodes with places; edges with their windows, how sure they are, and their evidence."""
    data = told(NotebookPicture(walked).page())
    memory = next(node for node in walked.nodes if node.kind == "memory")
    [works] = [edge for edge in data["edges"] if edge["name"] == "works_at"]

    assert [node["id"] for node in data["nodes"]] == [node.id for node in walked.nodes]
    assert [data["nodes"][works[end]]["label"] for end in ("source", "target")] == ["Alice", "Acme"]
    assert (works["when"], works["evidence"]) == ("since 2026-01-01", [memory.id])


def test_a_page_knows_what_holds_between_any_two_moments() -> None:
    """Moments are where anything begins or ends; windows are half open, as everywhere."""
    windows = Window(None, MARCH), Window(MARCH, MAY), Window(MAY), Window()
    data = told(NotebookPicture(graph_of(["a", "b"], *((0, 1, window) for window in windows))).page())

    def holding(place: int) -> list[int]:
        edges = enumerate(data["edges"])
        return [number for number, edge in edges if edge["since"] <= place < edge["until"]]

    assert data["moments"] == ["2026-03-01", "2026-05-01"]
    assert [holding(place) for place in (-1, 0, 1)] == [[0, 3], [1, 3], [2, 3]]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_breaks_out_of_a_picture(tmp_path: Path, text: str) -> None:
    """Names are data in every format, whatever stands in them."""
    graph = graph_of([text, text, text], (0, 1, Window()), (1, 2, Window()))
    page = NotebookPicture(graph).page()
    scripts = Elements(page).named("script")

    assert len(scripts) == 2
    assert [node["label"] for node in told(page)["nodes"]] == [text] * 3
    assert "alert(1)" not in scripts[1][1]
    assert not Elements(page).named("img")
    assert not ElementTree.fromstring(NotebookPicture(graph).svg()).findall(f".//{SVG}script")
    assert NotebookPicture(graph).save(tmp_path / "graph.html").exists()
    assert igraph.Graph.Read_GraphML(str(NotebookPicture(graph).save(tmp_path / "graph.graphml"))).vcount() == 3


# In a notebook


def test_a_notebook_shows_a_picture_in_a_frame_of_its_own() -> None:
    """The page is inside, whole, and can reach nothing outside."""
    shown = NotebookPicture(graph_of(HOSTILE))
    [(frame, _)] = Elements(shown._repr_html_()).named("iframe")

    assert frame["srcdoc"] == shown.page()
    assert frame["sandbox"] == "allow-scripts"


def test_elsewhere_a_picture_says_what_to_do(walked: Subgraph) -> None:
    """A terminal shows a line and draws nothing."""
    assert repr(NotebookPicture(walked)).startswith("<Around Alice: ")
    assert "save it" in repr(NotebookPicture(walked))


# Timelines


def bars(relations: list[Relation]) -> dict[str, tuple[float, float]]:
    """Where the bar of each relation begins and ends, in percent, by the object."""
    rows = timeline_table(relations, len(relations)).html.split("<tr>")[2:]
    found = (re.search(r">\w+ lives_in (\w+)<.*margin-left: ([\d.]+)%; width: ([\d.]+)%", row) for row in rows)
    return {each[1]: (float(each[2]), float(each[2]) + float(each[3])) for each in found if each}


def lived(place: str, start: datetime | None, end: datetime | None, subject: str = "Alice") -> Relation:
    return Relation(f"{place}{start}", subject, "lives_in", place, Window(start, end), evidence=("m1",))


def test_an_open_end_is_beyond_all_that_is_dated() -> None:
    """On its own side only; and one follows the other where they touch."""
    found = bars([lived("Faro", None, MARCH), lived("Porto", MARCH, MAY), lived("Tavira", MAY, None)])
    assert found == {"Faro": (0, 10), "Porto": (10, 90), "Tavira": (90, 100)}


def test_a_timeline_reaches_to_the_ends_of_the_calendar() -> None:
    """The first day of year 1 and the last of year 9999."""
    first, last = (end.replace(tzinfo=UTC) for end in (datetime.min, datetime.max))

    for start, end in ((first, last), (first, None), (None, last), (last, None), (None, None)):
        assert len(bars([lived("Porto", start, end)])) == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_breaks_out_of_a_timeline(text: str) -> None:
    page = Elements(timeline_table([lived(text, MARCH, None, text)], 1).html)
    assert {tag for tag, _, _ in page.all} <= set("table caption thead tbody tr th td span br".split())


async def test_pictures_have_async_variants(space: Space, tmp_path: Path) -> None:
    """Each returns what its method returns."""
    space.graph.relate("Alice", "lives_in", "Porto")
    graph = space.graph
    assert (await graph.asave(tmp_path / "graph.svg")).exists()
    assert repr(await graph.ashow()) == repr(graph.show())
    assert repr(await graph.ashow_timeline("Alice")) == repr(graph.show_timeline("Alice"))
    assert (await graph.ato_igraph()).vcount() == len(await graph.ato_networkx()) == 2


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
    file.write_text(NotebookPicture(walked).page() + ACT, "utf-8")
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

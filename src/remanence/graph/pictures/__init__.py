"""Pictures of the graph as files and in notebooks, and exports to other libraries.

A page loads nothing from the network. Python computes the layout of a graph, so that its page opens at once; the script
of the page is in `graph.html`.

In exports times are ISO text, "" where an end is open. `evidence` is the ids of the memories, separated by spaces:
plain values, which every file format can hold.

Of when relations held there are bars over time. Each row of bars is one claim: subject, predicate, object. A bar with a
point on one side has no known end on that side. The rows of ticks below show when something was learned.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from html import escape
from importlib.resources import files
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import MissingExtra
from remanence.graph.graph_at_time import MENTIONS
from remanence.graph.history import HistoryEvent
from remanence.graph.pictures.layout import edge_text, graph_svg, lay_out, opacity, subgraph_title, width_in_letters
from remanence.schema import MICROS_PER_DAY, UTC, Relation, format_moment, from_micros, micros
from remanence.schema.notebook_pictures import (
    COLORS,
    LETTER_WIDTH,
    MARGIN,
    NotebookPicture,
    fill_template,
    replace_invalid_xml,
    svg_document,
    svg_picture,
    text_element,
    tooltip,
)
from remanence.text.text import pluralize, truncate

if TYPE_CHECKING:
    import igraph
    import networkx

    from remanence.graph.history import HistoryEvent
    from remanence.graph.traversal import Edge, Node, Subgraph
    from remanence.schema import Relation

__all__ = ["graph_picture", "timeline_picture", "to_igraph", "to_networkx"]

_NODE_FIELDS = ("label", "kind", "sort", "depth")
_EDGE_FIELDS = ("name", "valid_from", "valid_until", "recorded_at", "confidence", "evidence", "observed_by", "id")


def graph_picture(subgraph: Subgraph) -> NotebookPicture:
    """A picture of a part of the graph: interactive as HTML, or as SVG, or GraphML for other programs."""
    draw = {".html": graph_page, ".svg": graph_svg, ".graphml": _to_graphml}
    formats = {suffix: partial(draw_format, subgraph) for suffix, draw_format in draw.items()}
    return NotebookPicture(subgraph_title(subgraph), 560, formats)


def timeline_picture(
    relations: Sequence[Relation],
    events: Sequence[HistoryEvent] = (),
    *,
    now: datetime | None = None,
    total: int | None = None,
) -> NotebookPicture:
    """A picture of when relations held, and when they were learned, as HTML or SVG."""
    draw = partial(timeline_svg, relations, events, now=now, total=total)
    return svg_picture(timeline_title(relations, total), 420, draw)


def graph_page(subgraph: Subgraph) -> str:
    title = escape(replace_invalid_xml(subgraph_title(subgraph)))
    template = (files(__package__) / "graph.html").read_text("utf-8")
    return fill_template(template, title=title, graph=_as_script(_page_data(subgraph)))


def _as_script(value: Any) -> str:
    """A value as JSON that is safe in a <script>: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _page_data(subgraph: Subgraph) -> dict[str, Any]:
    """The data of the page. Times are indexes into the sorted list of all moments at which an edge begins or ends, so
    that the page need not compare dates."""
    layout = lay_out(subgraph)
    ends = {end for edge in subgraph.edges for end in (edge.valid.start, edge.valid.end) if end is not None}
    moments = {moment: index for index, moment in enumerate(sorted(ends))}
    nodes = zip(subgraph.nodes, layout.labels, layout.coordinates, strict=True)
    edges = zip(subgraph.edges, layout.edge_ends, layout.bends, strict=True)
    return {
        "moments": [format_moment(moment) for moment in moments],
        "nodes": [
            {"id": node.id, **_node_fields(node), "lines": lines, "x": x, "y": y} for node, lines, (x, y) in nodes
        ],
        "edges": [
            {
                "name": edge.name,
                "mention": edge.name == MENTIONS,
                "when": str(edge.valid) if edge.valid.has_bound else "",
                "since": -1 if edge.valid.start is None else moments[edge.valid.start],
                "until": len(moments) if edge.valid.end is None else moments[edge.valid.end],
                "learned": format_moment(edge.recorded_at),
                "observed_by": edge.observed_by,
                "confidence": edge.confidence,
                "evidence": edge.evidence,
                "source": source,
                "target": target,
                "bend": bend,
            }
            for edge, (source, target), bend in edges
        ],
    }


def to_igraph(subgraph: Subgraph) -> igraph.Graph:
    """A directed igraph graph. The ids are the names of its vertices."""
    import igraph

    nodes = [{"name": node.id, **_node_fields(node)} for node in subgraph.nodes]
    edges = [_edge_fields(edge) for edge in subgraph.edges]
    numbers = {node.id: number for number, node in enumerate(subgraph.nodes)}
    return igraph.Graph(
        n=len(nodes),
        edges=[(numbers[edge.source], numbers[edge.target]) for edge in subgraph.edges],
        directed=True,
        vertex_attrs={name: [fields[name] for fields in nodes] for name in ("name", *_NODE_FIELDS)},
        edge_attrs={name: [fields[name] for fields in edges] for name in _EDGE_FIELDS},
    )


def to_networkx(subgraph: Subgraph) -> networkx.MultiDiGraph:
    """A networkx graph whose nodes are the ids."""
    try:
        import networkx
    except ImportError as error:
        raise MissingExtra("to_networkx() needs the package networkx. Run: pip install networkx") from error

    graph = networkx.MultiDiGraph()
    graph.add_nodes_from((node.id, _node_fields(node)) for node in subgraph.nodes)
    # Ids are not keys here: a relation that held twice is two edges with one id.
    graph.add_edges_from((edge.source, edge.target, _edge_fields(edge)) for edge in subgraph.edges)
    return graph


def _to_graphml(subgraph: Subgraph) -> str:
    """The content of a GraphML file, for Gephi, yEd, Cytoscape and the like."""
    graph = to_igraph(subgraph)
    for sequence in (graph.vs, graph.es):
        for name in sequence.attributes():
            values = sequence[name]
            sequence[name] = [replace_invalid_xml(value) if isinstance(value, str) else value for value in values]
    with TemporaryFile() as file:
        graph.write_graphml(file)
        file.seek(0)
        return file.read().decode()


def _node_fields(node: Node) -> dict[str, Any]:
    """What a picture or an export says of a node, besides its id."""
    return {name: getattr(node, name) for name in _NODE_FIELDS}


def _edge_fields(edge: Edge) -> dict[str, Any]:
    ends = (edge.valid.start, edge.valid.end, edge.recorded_at)
    moments = ("" if end is None else end.isoformat() for end in ends)
    details = (float(edge.confidence), " ".join(edge.evidence), edge.observed_by or "", edge.id)
    return dict(zip(_EDGE_FIELDS, (edge.name, *moments, *details), strict=True))


_WIDTH = 760.0
"""Pixels of the width of the part with the bars."""
_ROW, _BAR, _POINT = 26.0, 14.0, 8.0
"""Pixels of the height of a row and of a bar, and of the width of the point at an open end."""
_HEAD = 64.0
"""Pixels above the first row: the title and the dates."""
_MAX_LABEL_WIDTH = 44
"""Letters of average width of the longest label; a longer one is cut off."""
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_UNITS = (
    ("D", 1, (1, 2, 7, 14)),
    ("M", 30.4, (1, 3, 6)),
    ("Y", 365.2, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)),
)
"""How far apart the dates below a picture may be: the unit, its length in days, and how many of it."""


def timeline_svg(
    relations: Sequence[Relation],
    events: Sequence[HistoryEvent] = (),
    *,
    now: datetime | None = None,
    total: int | None = None,
) -> str:
    """Relations as bars over the time in which they hold, and events as ticks. `now` is a vertical line. `total` is how
    many relations there are, if not all are shown."""
    claims: defaultdict[tuple[str, str, str], list[Relation]] = defaultdict(list)
    for relation in sorted(relations, key=lambda r: (r.subject, r.predicate, r.valid.start or _EARLIEST, r.object)):
        claims[relation.subject, relation.predicate, relation.object].append(relation)
    ticks: defaultdict[str, list[HistoryEvent]] = defaultdict(list)
    for event in events:
        ticks[event.kind].append(event)
    labels = [*(" ".join(claim) for claim in claims), *ticks]
    letters = max((min(width_in_letters(label), _MAX_LABEL_WIDTH) for label in labels), default=0)
    left = MARGIN + 14 + letters * LETTER_WIDTH * 0.9
    low, high = _range(relations, events, now)

    def to_x(moment: datetime) -> float:
        return left + (micros(moment) - low) / (high - low) * _WIDTH

    foot = _HEAD + _ROW * (len(claims) + len(ticks) + bool(ticks))
    title = timeline_title(relations, total)
    body = [text_element(MARGIN, MARGIN, title, "called")]
    for moment, text in _dates(low, high):
        body.append(f'<path class="rule" d="{_vertical(to_x(moment), foot)}"/>')
        body.append(text_element(to_x(moment), foot + 18, text, "middle faint"))
    colors: dict[tuple[str, str], str] = {}
    for row, (claim, periods) in enumerate(claims.items()):
        color = colors.setdefault(claim[:2], COLORS[len(colors) % len(COLORS)])
        middle = _HEAD + _ROW * (row + 0.5)
        body.append(_label(middle, " ".join(claim)))
        body += [_bar(relation, to_x, left, middle, color) for relation in periods]
    for row, (kind, learned) in enumerate(ticks.items(), len(claims) + 1):
        middle = _HEAD + _ROW * (row + 0.5)
        body.append(_label(middle, kind))
        for event in learned:
            path = f"M{to_x(event.recorded_at):.1f} {middle - 7:.1f}v14"
            body.append(f'<path class="tick" d="{path}">{tooltip(str(event))}</path>')
    if ticks:
        body.append(text_element(MARGIN, _HEAD + _ROW * (len(claims) + 0.7), "when it was learned", "faint"))
    if now is not None:
        text = tooltip(f"now: {format_moment(now)}")
        body.append(f'<path class="now" d="{_vertical(to_x(now), foot)}">{text}</path>')
    return svg_document("timeline", title, left + _WIDTH + MARGIN, foot + MARGIN + 14, body)


def timeline_title(relations: Sequence[Relation], total: int | None) -> str:
    left_out = 0 if total is None else total - len(relations)
    more = f", the last learned; {left_out:,} more are not shown" if left_out else ""
    return f"A timeline of {pluralize(len(relations), 'relation')}{more}"


def _range(relations: Sequence[Relation], events: Sequence[HistoryEvent], now: datetime | None) -> tuple[int, int]:
    """The time that is shown, in microseconds: all that is dated, and some before and after."""
    windows = [relation.valid for relation in relations]
    ends = [end for valid in windows for end in (valid.start, valid.end) if end is not None]
    moments = [*ends, *(event.recorded_at for event in events), *([] if now is None else [now])]
    first, last = (micros(pick(moments)) if moments else 0 for pick in (min, max))
    margin = max((last - first) // 12, MICROS_PER_DAY)
    return max(first - margin, micros(_EARLIEST)), min(last + margin, micros(_LATEST))


def _dates(low: int, high: int) -> list[tuple[datetime, str]]:
    """A few round dates between two moments, each with its text."""
    steps = [(unit, count, days * count) for unit, days, counts in _UNITS for count in counts]
    days = (high - low) / MICROS_PER_DAY
    unit, count, _ = next((step for step in steps if days / step[2] <= 8), steps[-1])
    offset = 1970 if unit == "Y" else 0  # numpy counts from 1970, and round years are multiples of `count`
    first, last = np.array([low, high], "M8[us]").astype(f"M8[{unit}]").astype(np.int64) + offset
    numbers = np.arange(first // count * count, last + 1, count) - offset
    moments = numbers.astype(f"M8[{unit}]").astype("M8[us]").astype(np.int64).tolist()
    dates = [from_micros(moment) for moment in moments if low <= moment <= high]
    return [(date, f"{date.year:04}" if unit == "Y" else format_moment(date)) for date in dates]


def _vertical(x: float, foot: float) -> str:
    return f"M{x:.1f} {_HEAD - 8:.0f}V{foot:.0f}"


def _label(middle: float, text: str) -> str:
    return f"<g>{tooltip(text)}{text_element(MARGIN, middle + 4, truncate(text, _MAX_LABEL_WIDTH))}</g>"


def _bar(relation: Relation, to_x: Callable[[datetime], float], left: float, middle: float, color: str) -> str:
    """A bar, with a point on each side where it has no end."""
    valid = relation.valid
    start = left if valid.start is None else to_x(valid.start)
    end = left + _WIDTH if valid.end is None else max(to_x(valid.end), start + 2)
    into = start + _POINT if valid.start is None else start
    out = end - _POINT if valid.end is None else end
    top, low = middle - _BAR / 2, middle + _BAR / 2
    shape = f"M{into:.1f} {top:.1f}H{out:.1f}L{end:.1f} {middle:.1f}L{out:.1f} {low:.1f}H{into:.1f}"
    style = f'fill="{color}" fill-opacity="{opacity(relation.confidence)}"'
    path = f"{shape}L{start:.1f} {middle:.1f}z"
    return f'<path class="bar" tabindex="0" {style} d="{path}">{tooltip(edge_text(str(relation), relation, {}))}</path>'

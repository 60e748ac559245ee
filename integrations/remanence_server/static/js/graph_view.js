// The graph: the neighbourhood of one entity, or the map of all. Large spaces open with a neighbourhood.

import { debounce, h, replace } from "./dom.js";
import { read } from "./api.js";
import { GraphCanvas } from "./graph_canvas.js";
import { layoutMap, layoutRings, stopLayout } from "./graph_layout.js";
import { announce, showError } from "./notices.js";
import { go, to, withParameters } from "./router.js";
import { count, data, plain } from "./text.js";

const NEIGHBOURHOOD_FIRST = 400;
const LISTED = 300;
const NEAR = 42;

export async function renderGraph(main, route, signal) {
  const canvas = h("canvas", { tabindex: 0, role: "img", id: "graph", "aria-label": "The graph is being loaded." });
  const caption = h("p", { class: "graph-caption", role: "status" }, "Reading the entities…");
  const list = h("ol", { class: "entity-list" });
  const filter = h("input", { type: "search", placeholder: "Find an entity…", "aria-label": "Find an entity", autocomplete: "off" });
  const switches = h("div", { class: "graph-switch", role: "group", "aria-label": "What to draw" });
  replace(main, h("div", { class: "graph-view" },
    h("div", { class: "graph-side" }, h("h1", {}, "Graph"), filter, list),
    h("div", { class: "graph-stage" }, canvas, caption, switches)));
  let graph = null;
  const choose = (node) => {
    if (node.kind === "memory") go(withParameters({ memory: node.id, entity: null }));
    else go(to("graph", node.id, { entity: node.id }));
  };
  const point = (node) => {
    caption.textContent = node ? pointedText(node) : graph.about;
  };
  graph = new GraphCanvas(canvas, { onChoose: choose, onPoint: point, over: [caption, switches] });
  graph.about = "";
  signal.addEventListener("abort", stopLayout);
  try {
    // The neighbourhood of a known entity does not wait for the map, which takes longer.
    const known = route.thing !== null && route.parameters.map !== "all";
    if (known) {
      switchButtons(switches, false, route.thing, graph);
      await showNeighbourhood(graph, route.thing, signal);
      tell(graph, canvas, caption);
    }
    const map = await read("/graph/map", { limit: 5000 }, signal);
    const nodes = map.nodes.map((node, place) => ({ id: node.id, label: node.name, kind: "entity", sort: node.kind, mentions: node.mentions, place }));
    listEntities(list, filter, nodes);
    if (!nodes.length) return replace(main, h("div", { class: "column" }, h("h1", {}, "Graph"), h("p", { class: "empty" }, "No entity is known yet.")));
    if (known) return undefined;
    const wholeMap = route.parameters.map === "all" || nodes.length <= NEIGHBOURHOOD_FIRST;
    const middle = route.thing ?? nodes[0].id;
    switchButtons(switches, wholeMap, middle, graph);
    if (wholeMap) showMap(graph, nodes, map, signal);
    else await showNeighbourhood(graph, middle, signal);
    tell(graph, canvas, caption);
  } catch (error) {
    showError(caption, error);
  }
  return undefined;
}

/** Say what is drawn: in the caption, for screen readers, and as the name of the canvas. */
function tell(graph, canvas, caption) {
  caption.textContent = graph.about;
  graph.draw();
  canvas.setAttribute("aria-label", `${graph.about} The list beside it has the same entities.`);
  announce(graph.about);
}

function showMap(graph, nodes, map, signal) {
  graph.show(nodes, map.edges);
  const more = map.total > nodes.length ? ` of ${map.total.toLocaleString("en")}` : "";
  graph.about = `${count(nodes.length, "entity", "entities")}${more}, ${count(map.edges.length, "connection")}. ${nodes.length > 320 ? "Point at a name for its connections." : ""}`;
  layoutMap(nodes, map.edges, map.coordinates, (done) => {
    if (signal.aborted) return;
    if (done) graph.canvas.dataset.settled = "";
    graph.fit();
  });
}

async function showNeighbourhood(graph, id, signal) {
  const found = await read("/graph/query", { start: id, depth: 1, limit: NEAR }, signal);
  const nodes = found.nodes.map((node, place) => ({ ...node, place }));
  const places = new Map(nodes.map((node) => [node.id, node.place]));
  const seen = new Map();
  const edges = found.edges.map((edge) => {
    const ends = [places.get(edge.source), places.get(edge.target)];
    const key = [...ends].sort().join("-");
    seen.set(key, (seen.get(key) ?? 0) + 1);
    return { source: ends[0], target: ends[1], name: edge.name, weight: 1, bend: (seen.get(key) - 1) * 0.14 };
  });
  layoutRings(nodes, edges);
  graph.show(nodes, edges, { rings: true });
  const entities = nodes.filter((node) => node.kind === "entity").length - 1;
  const memories = nodes.length - 1 - entities;
  const around = [entities && count(entities, "entity", "entities"), memories && count(memories, "memory", "memories")].filter(Boolean).join(" and ") || "nothing";
  graph.about = `${plain(nodes[0].label)}: ${found.truncated ? "the first " : ""}${around} around it.`;
  graph.canvas.dataset.settled = "";
  graph.fit();
}

function switchButtons(container, wholeMap, middle, graph) {
  replace(container,
    h("a", { href: to("graph", middle, { entity: middle }), "aria-current": !wholeMap && "true" }, "Neighbourhood"),
    h("a", { href: to("graph", null, { map: "all" }), "aria-current": wholeMap && "true" }, "Whole map"),
    h("button", { type: "button", class: "quiet icon", "aria-label": "Zoom in", on: { click: () => graph.zoomBy(1.4) } }, "+"),
    h("button", { type: "button", class: "quiet icon", "aria-label": "Zoom out", on: { click: () => graph.zoomBy(1 / 1.4) } }, "−"),
    h("button", { type: "button", class: "quiet", on: { click: () => graph.fit() } }, "Fit"));
}

function listEntities(list, filter, nodes) {
  const fill = () => {
    const wanted = filter.value.trim().toLocaleLowerCase();
    const found = nodes.filter((node) => node.label.toLocaleLowerCase().includes(wanted));
    replace(list, found.slice(0, LISTED).map((node) => h("li", {},
      h("a", { href: to("graph", node.id, { entity: node.id }), "data-item": node.id }, data(node.label)), h("span", { class: "faint" }, String(node.mentions)))),
    found.length > LISTED && h("li", { class: "faint" }, `${(found.length - LISTED).toLocaleString("en")} more; find them by name`));
  };
  filter.addEventListener("input", debounce(fill, 80));
  fill();
}

function pointedText(node) {
  return node.kind === "memory" ? plain(node.label) : `${plain(node.label)}, ${node.sort}${node.mentions === undefined ? "" : `, in ${count(node.mentions, "memory", "memories")}`}`;
}

// The map of all entities with its communities, or the neighbourhood of one. A space with more than 80 entities opens with a neighbourhood.

import { debounce, find, h, replace } from "./dom.js";
import { read } from "./api.js";
import { GraphCanvas } from "./graph_canvas.js";
import { layoutRings } from "./graph_layout.js";
import { announce, showError } from "./notices.js";
import { communityColor, kindColor, kindLabel, kindOrder } from "./palette.js";
import { go, to, withParameters } from "./router.js";
import { count, data, plain } from "./text.js";

const NEIGHBOURHOOD_FIRST = 80;
const CLOSED_FROM = 300; // a map with more entities opens with closed clusters
const EDGES_PER_NODE = 1.6;
const LISTED = 300;
const NEAR = 42;
const LEGEND = 8;

let current = null;
/** The map that is shown, for tests. */
export const shownMap = () => current;

export async function renderGraph(main, route, signal) {
  const canvas = h("canvas", { tabindex: 0, role: "img", id: "graph", "aria-label": "The map is being loaded." });
  const caption = h("p", { class: "graph-caption", role: "status" }, "Reading the entities…");
  const list = h("ol", { class: "entity-list" });
  const filter = h("input", { type: "search", placeholder: "Find an entity…", "aria-label": "Find an entity", autocomplete: "off", value: route.parameters.find ?? "" });
  const switches = h("div", { class: "graph-switch", role: "group", "aria-label": "What to draw" });
  const legend = h("div", { class: "graph-legend", hidden: true });
  const controls = h("div", { class: "graph-controls" });
  replace(main, h("div", { class: "graph-view" },
    h("div", { class: "graph-side" }, h("h1", {}, "Map"), filter, controls, list),
    h("div", { class: "graph-stage", "aria-busy": "true" }, h("div", { class: "loading" }), canvas, caption, switches, legend)));
  const choose = (node) => go(node.kind === "memory" ? withParameters({ memory: node.id, entity: null }) : to("graph", node.id, { entity: node.id }));
  const graph = new GraphCanvas(canvas, {
    onChoose: choose, onPoint: (node) => (caption.textContent = node ? pointedText(node) : graph.about),
    onCluster: (cluster) => go(withParameters({ map: "all", open: [...graph.open, cluster.number].join(","), memory: null, entity: null }), { replace: true }), over: [caption, switches, legend],
  });
  graph.about = "";
  current = graph;
  try {
    // The neighbourhood of a known entity does not wait for the map, which takes longer.
    const known = route.thing !== null && route.parameters.map !== "all";
    if (known) {
      switchButtons(switches, false, route.thing, graph);
      await showNeighbourhood(graph, route.thing, signal);
      tell(graph, canvas, caption);
    }
    const map = await read("/graph/map", { limit: 5000, layout: true }, signal);
    const nodes = map.nodes.map((node, place) => ({
      id: node.id, label: node.name, kind: "entity", sort: node.kind, mentions: node.mentions, place,
      community: map.communities[place], x: map.coordinates[place][0], y: map.coordinates[place][1],
    }));
    listEntities(list, filter, nodes, graph);
    if (!nodes.length) return replace(main, h("div", { class: "column" }, h("h1", {}, "Map"), h("p", { class: "empty" }, "No entity is known yet. Names in memories appear here.")));
    if (known) return undefined;
    const wholeMap = route.parameters.map === "all" || nodes.length <= NEIGHBOURHOOD_FIRST;
    const middle = route.thing ?? (nodes.find((node) => !["me", "assistant"].includes(node.label)) ?? nodes[0]).id;
    switchButtons(switches, wholeMap, middle, graph);
    if (wholeMap) showMap(graph, nodes, map, route.parameters, { controls, legend });
    else await showNeighbourhood(graph, middle, signal);
    tell(graph, canvas, caption);
    filter.dispatchEvent(new Event("input"));
  } catch (error) {
    caption.parentElement.removeAttribute("aria-busy");
    showError(caption, error);
  }
  return undefined;
}

/** Say what is drawn: in the caption, for screen readers, and as the name of the canvas. */
function tell(graph, canvas, caption) {
  caption.textContent = graph.about;
  graph.draw();
  const stage = canvas.parentElement;
  stage.removeAttribute("aria-busy");
  find(".loading", stage)?.remove();
  canvas.setAttribute("aria-label", `${graph.about} The list beside it has the same entities.`);
  announce(graph.about);
}

function showMap(graph, nodes, map, parameters, { controls, legend }) {
  const weights = map.edges.map((edge) => edge.weight).sort((a, b) => b - a);
  const enough = weights[Math.min(weights.length - 1, Math.floor(nodes.length * EDGES_PER_NODE))] ?? 1;
  const least = Number(parameters.least) || (weights.length > nodes.length * EDGES_PER_NODE ? Math.max(2, enough) : 1);
  const colorBy = parameters.color === "kind" ? "kind" : "community";
  const communities = new Set(nodes.map((node) => node.community));
  const all = parameters.open === "all" || (parameters.open === undefined && nodes.length <= CLOSED_FROM);
  const open = all ? communities : new Set((parameters.open ?? "").split(",").filter(Boolean).map(Number));
  graph.showMap(nodes, map.edges, { open, least, colorBy });
  mapControls(controls, graph, { least, most: weights[0] ?? 1, all, colorBy });
  showLegend(legend, graph, colorBy);
  const more = map.total > nodes.length ? ` of ${map.total.toLocaleString("en")}` : "";
  const closed = graph.visible.closed.length;
  graph.about = `${count(nodes.length, "entity", "entities")}${more} in ${count(graph.clusters.length, "cluster")}${closed ? `, ${closed} of them closed: choose one to open it` : ""}.`;
  graph.canvas.dataset.settled = "";
  graph.fit();
}

/** What can be set: the least weight of an edge, what the colours say, and whether clusters are open. */
function mapControls(container, graph, { least, most, all, colorBy }) {
  const shownLeast = h("output", {}, `${least}`);
  const keep = debounce((value) => go(withParameters({ least: value }), { replace: true }), 700);
  const threshold = h("input", { type: "range", min: 1, max: Math.max(2, Math.min(most, 40)), step: 1, value: String(least), "aria-label": "Connections from this many mentions on" });
  threshold.addEventListener("input", () => {
    shownLeast.textContent = threshold.value;
    graph.change({ least: Number(threshold.value) });
    keep(threshold.value);
  });
  replace(container,
    h("label", { class: "threshold" }, h("span", {}, "Connections from ", shownLeast, " on"), threshold),
    h("label", {}, h("span", {}, "Colours"), h("select", { on: { change: (event) => go(withParameters({ color: event.currentTarget.value === "kind" ? "kind" : null })) } },
      h("option", { value: "community", selected: colorBy === "community" }, "By cluster"), h("option", { value: "kind", selected: colorBy === "kind" }, "By kind"))),
    h("a", { href: withParameters({ map: "all", open: all ? "none" : "all" }) }, all ? "Close the clusters" : "Open all clusters"));
}

function showLegend(legend, graph, colorBy) {
  const entry = (color, text, attributes) => {
    const dot = h("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = color;
    return h(attributes ? "a" : "span", { class: "legend-entry", ...attributes }, dot, text);
  };
  if (colorBy === "kind") {
    const counts = new Map();
    for (const node of graph.nodes) counts.set(node.sort, (counts.get(node.sort) ?? 0) + 1);
    replace(legend, [...counts].sort((a, b) => kindOrder(a[0]) - kindOrder(b[0])).map(([kind, number]) => entry(kindColor(kind), `${kindLabel(kind)} ${number.toLocaleString("en")}`)));
  } else {
    const toggled = (number) => {
      const next = new Set(graph.open);
      if (!next.delete(number)) next.add(number);
      return next.size ? [...next].join(",") : "none";
    };
    replace(legend, graph.clusters.slice(0, LEGEND).map((cluster) => entry(communityColor(cluster.number), [data(cluster.label), ` +${cluster.nodes.length - 1}`], { href: withParameters({ map: "all", open: toggled(cluster.number) }), title: graph.open.has(cluster.number) ? "Close this cluster" : "Open this cluster" })));
  }
  legend.hidden = false;
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
  graph.showRings(nodes, edges);
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

/** The list beside the map. What is typed narrows it, and dims all else on the map. */
function listEntities(list, filter, nodes, graph) {
  const fill = () => {
    const wanted = filter.value.trim().toLocaleLowerCase();
    const found = nodes.filter((node) => node.label.toLocaleLowerCase().includes(wanted));
    replace(list, found.slice(0, LISTED).map((node) => h("li", {},
      h("a", { href: to("graph", node.id, { entity: node.id }), "data-item": node.id }, data(node.label)), h("span", { class: "faint" }, String(node.mentions)))),
    found.length > LISTED && h("li", { class: "faint" }, `${(found.length - LISTED).toLocaleString("en")} more; find them by name`),
    !found.length && h("li", { class: "faint" }, "No entity has this in its name."));
    if (!graph.rings && graph.visible) graph.change({ found: wanted ? new Set(found.map((node) => node.place)) : null });
  };
  filter.addEventListener("input", debounce(fill, 80));
  fill();
}

function pointedText(node) {
  return node.kind === "memory" ? plain(node.label) : `${plain(node.label)}, ${node.sort ?? "entity"}${node.mentions === undefined ? "" : `, in ${count(node.mentions, "memory", "memories")}`}`;
}

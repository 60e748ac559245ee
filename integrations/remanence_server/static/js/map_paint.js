// Painting the map: discs of communities, edges above a threshold, nodes in colours, labels where there is room.

import { placeLabels } from "./labels.js";
import { communityColor, kindColor } from "./palette.js";
import { plain, shorten } from "./text.js";

const DIMMED = 0.13;
const MOST_CURVED = 500; // more edges are straight lines, which are drawn faster
const EDGE_LEVELS = 4;
const MOVING_EDGES = 500; // that are drawn while the map moves, the strongest
const MOVING_LABELS = 60;
const DISC_MARGIN = 12;
const FONT = '"Source Serif 4", serif';

/** The communities of a map: which nodes each has, and its disc. Those of one or two nodes are no clusters. */
export function findClusters(nodes) {
  const members = new Map();
  for (const node of nodes) members.set(node.community, [...(members.get(node.community) ?? []), node]);
  return [...members].filter(([, inside]) => inside.length > 2).map(([number, inside]) => {
    const [x, y] = [inside[0].x, inside[0].y]; // the most important is in the middle
    const radius = Math.max(...inside.map((node) => Math.hypot(node.x - x, node.y - y))) + DISC_MARGIN;
    return { number, nodes: inside, x, y, radius, label: inside[0].label };
  });
}

/** Which nodes and edges are drawn, given the open clusters and the least weight of an edge. */
export function visibleMap({ nodes, edges, clusters, open, least }) {
  const closed = new Map(clusters.filter((cluster) => !open.has(cluster.number)).map((cluster) => [cluster.number, cluster]));
  const shown = nodes.filter((node) => !closed.has(node.community));
  const between = new Map();
  const lines = [];
  for (const edge of edges) {
    if (edge.weight < least) continue;
    const [one, other] = [nodes[edge.source], nodes[edge.target]];
    const [a, b] = [closed.get(one.community), closed.get(other.community)];
    if (!a && !b) lines.push(edge);
    else if (a !== b && (a || b)) {
      const key = [a ? `c${a.number}` : `n${one.place}`, b ? `c${b.number}` : `n${other.place}`].sort().join("-");
      const known = between.get(key) ?? { from: a ?? one, to: b ?? other, weight: 0 };
      between.set(key, { ...known, weight: known.weight + edge.weight });
    }
  }
  return { shown, lines, closed: [...closed.values()], between: [...between.values()].sort((x, y) => y.weight - x.weight).slice(0, 160) };
}

export function paintMap(graph, width, height) {
  const { context, colors, visible, found } = graph;
  const place = (point) => graph.toScreen(point);
  const focus = graph.pointed ?? graph.chosen;
  const near = focus === null ? null : new Set([focus, ...graph.links[focus].flatMap((edge) => [edge.source, edge.target])]);
  const tint = (node) => (graph.colorBy === "kind" ? kindColor(node.sort) : communityColor(node.community));
  const isDim = (node) => (found ? !found.has(node.place) : near ? !near.has(node.place) : false);
  paintDiscs(graph, place, found);
  paintEdges(graph, place, focus, found);
  const screen = [];
  for (const node of visible.shown) {
    const [x, y] = place(node);
    screen[node.place] = [x, y];
    if (x < -20 || y < -20 || x > width + 20 || y > height + 20) continue;
    const radius = graph.radius(node) * graph.nodeScale();
    context.globalAlpha = isDim(node) ? DIMMED : 1;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = node.place === focus ? colors.accent : tint(node);
    context.fill();
    context.lineWidth = node.place === focus ? 2 : 1;
    context.strokeStyle = colors.paper;
    context.stroke();
  }
  context.globalAlpha = 1;
  paintLabels(graph, { screen, width, height, focus, near, isDim, place });
}

function paintDiscs({ context, clusters, visible, view, colorBy, colors }, place, found) {
  const closed = new Set(visible.closed);
  for (const cluster of clusters) {
    const [x, y] = place(cluster);
    const isClosed = closed.has(cluster);
    const hit = !found || cluster.nodes.some((node) => found.has(node.place));
    context.beginPath();
    context.arc(x, y, cluster.radius * view.zoom, 0, 2 * Math.PI);
    context.fillStyle = colorBy === "kind" ? colors.soft : communityColor(cluster.number);
    context.globalAlpha = (isClosed ? 0.22 : 0.07) * (hit ? 1 : 0.4);
    context.fill();
    if (isClosed) {
      context.globalAlpha = hit ? 0.75 : 0.2;
      context.lineWidth = 1.4;
      context.strokeStyle = context.fillStyle;
      context.stroke();
    }
  }
  context.globalAlpha = 1;
}

/** The edges in a few strokes: those of about the same weight together. */
function paintEdges({ context, colors, visible, nodes, links, most, isMoving }, place, focus, found) {
  const lines = isMoving ? visible.lines.slice(0, MOVING_EDGES) : visible.lines;
  const curved = !isMoving && lines.length <= MOST_CURVED;
  const heaviest = Math.log1p(most.weight);
  const levels = Array.from({ length: EDGE_LEVELS }, () => []);
  for (const edge of lines) levels[Math.min(EDGE_LEVELS - 1, Math.floor((EDGE_LEVELS * Math.log1p(edge.weight)) / (heaviest + 0.001)))].push(edge);
  const trace = (from, to) => {
    const [[x1, y1], [x2, y2]] = [place(from), place(to)];
    context.moveTo(x1, y1);
    if (curved) context.quadraticCurveTo((x1 + x2) / 2 - (y2 - y1) * 0.08, (y1 + y2) / 2 + (x2 - x1) * 0.08, x2, y2);
    else context.lineTo(x2, y2);
  };
  context.strokeStyle = colors.soft;
  levels.forEach((edges, level) => {
    if (!edges.length) return;
    context.lineWidth = 0.6 + level * 0.45;
    context.globalAlpha = (0.14 + level * 0.1) * (focus !== null || found ? 0.35 : 1);
    context.beginPath();
    for (const edge of edges) trace(nodes[edge.source], nodes[edge.target]);
    context.stroke();
  });
  for (const { from, to, weight } of visible.between) {
    context.lineWidth = Math.min(5, 0.6 + Math.log1p(weight) * 0.6);
    context.globalAlpha = found ? 0.06 : 0.2;
    context.beginPath();
    trace(from, to);
    context.stroke();
  }
  if (focus !== null) {
    const shown = new Set(visible.shown);
    context.strokeStyle = colors.accent;
    context.lineWidth = 1.5;
    context.globalAlpha = 0.8;
    context.beginPath();
    for (const edge of links[focus]) if (shown.has(nodes[edge.source]) && shown.has(nodes[edge.target])) trace(nodes[edge.source], nodes[edge.target]);
    context.stroke();
  }
  context.globalAlpha = 1;
}

function paintLabels(graph, { screen, width, height, focus, near, isDim, place }) {
  const { context, colors, visible, found } = graph;
  const texts = [];
  const at = [];
  const add = (point, text, font, below, always, node) => {
    at.push(point);
    texts.push({ text, font, below, always, node });
  };
  for (const cluster of visible.closed) {
    add(place(cluster), `${shorten(plain(cluster.label), 22)} +${cluster.nodes.length - 1}`, `500 ${Math.min(21, 13 + Math.sqrt(cluster.nodes.length)).toFixed(1)}px ${FONT}`, -9, false, null);
  }
  const first = found ?? near;
  const order = first ? [...visible.shown.filter((node) => first.has(node.place)), ...visible.shown.filter((node) => !first.has(node.place) && !found)] : visible.shown;
  for (const node of order) {
    const size = 11.5 + 6 * Math.sqrt((node.mentions ?? 1) / graph.most.mentions);
    add(screen[node.place], shorten(plain(node.label), 30), `${node.place === focus ? 600 : 400} ${size.toFixed(1)}px ${FONT}`, graph.radius(node) * graph.nodeScale() + 2, node.place === focus, node);
  }
  const shown = graph.isMoving ? [...texts.keys()].slice(0, MOVING_LABELS) : [...texts.keys()];
  const labels = placeLabels(shown, {
    width, height, context, screen: at, text: (index) => texts[index].text, font: (index) => texts[index].font,
    below: (index) => texts[index].below, always: (index) => texts[index].always, everywhere: visible.shown.length <= 400, covered: graph.covered(),
  });
  context.textAlign = "center";
  context.textBaseline = "top";
  context.lineJoin = "round";
  context.strokeStyle = colors.paper;
  context.lineWidth = 3;
  for (const { place: index, text, x, y, font } of labels) {
    const { node } = texts[index];
    context.font = font;
    context.globalAlpha = node && isDim(node) ? 0.3 : 1;
    if (!graph.isMoving) context.strokeText(text, x, y);
    context.fillStyle = node && node.place === focus ? colors.accent : colors.ink;
    context.fillText(text, x, y);
  }
  context.globalAlpha = 1;
  graph.labelled = labels.length;
}

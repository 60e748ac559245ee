// A graph on a canvas: a map with communities, or the rings around a node; zoom, pan, point, choose.

import { placeLabels } from "./labels.js";
import { findClusters, paintMap, visibleMap } from "./map_paint.js";
import { kindColor } from "./palette.js";
import { plain, predicate, shorten } from "./text.js";
import { color, onThemeChange } from "./theme.js";

const MAX_ZOOM = 6;
const REST = 160; // milliseconds
const MAX_FIT = 4; // a map of few nodes is not drawn larger
const MARGIN_HEIGHT = 160; // for what is above the canvas: the switches, the caption
const MANY_ALIKE = 6; // of more edges with one name, only one is labelled

/** The edges whose name is drawn. */
function namedEdges(edges) {
  const groups = new Map();
  for (const edge of edges) if (edge.name && edge.name !== "mentions") groups.set(edge.name, [...(groups.get(edge.name) ?? []), edge]);
  return [...groups.values()].flatMap((group) => (group.length > MANY_ALIKE ? [group[Math.floor(group.length / 2)]] : group));
}

export class GraphCanvas {
  /** `onChoose(node)` is called when a node is clicked, `onCluster(cluster)` for a closed cluster, `onPoint` when one is
   * pointed at. `over` are the elements above the canvas, where no label is drawn. */
  constructor(canvas, { onChoose, onCluster, onPoint, over = [] }) {
    Object.assign(this, { canvas, onChoose, onCluster, onPoint, over, nodes: [], edges: [], pointed: null, chosen: null, rings: false, found: null });
    this.context = canvas.getContext("2d");
    this.view = { x: 0, y: 0, zoom: 1 };
    this.listen();
    onThemeChange(() => this.draw());
  }

  /** Show the nodes around the first one, with every edge and label. */
  showRings(nodes, edges) {
    this.set(nodes, edges);
    this.rings = true;
  }

  /** Show a map: the nodes have coordinates and communities. `open` are the communities whose nodes are drawn, `least` is the least weight of an edge. */
  showMap(nodes, edges, { open, least, colorBy }) {
    this.set(nodes, edges);
    Object.assign(this, { rings: false, clusters: findClusters(nodes), open, least, colorBy });
    this.visible = visibleMap(this);
  }

  set(nodes, edges) {
    Object.assign(this, { nodes, edges, pointed: null, found: null });
    this.links = nodes.map(() => []);
    for (const edge of edges) {
      this.links[edge.source].push(edge);
      this.links[edge.target].push(edge);
    }
    this.most = { mentions: Math.max(1, ...nodes.map((node) => node.mentions ?? 1)), weight: Math.max(1, ...edges.map((edge) => edge.weight ?? 1)) };
  }

  /** Change what is drawn of the map: open clusters, the least weight of an edge, colours, or which nodes are found. */
  change(changes) {
    Object.assign(this, changes);
    this.visible = visibleMap(this);
    this.draw();
  }

  radius(node) {
    if (this.rings) return node.place === 0 ? 11 : node.kind === "memory" ? 4 : 6;
    return 2.5 + 9 * Math.sqrt((node.mentions ?? 1) / this.most.mentions);
  }

  /** How much larger nodes of a map are when it is near. */
  nodeScale() {
    return Math.min(1.6, Math.max(0.5, Math.sqrt(this.view.zoom)));
  }

  covered() {
    return this.over.map(({ offsetLeft, offsetTop, offsetWidth, offsetHeight }) => ({ left: offsetLeft, right: offsetLeft + offsetWidth, top: offsetTop, bottom: offsetTop + offsetHeight }));
  }

  /** Zoom so that all nodes, or the densest part of a large map, fit. */
  fit() {
    const { width, height } = this.size();
    if (!this.nodes.length || !width) return;
    const bounds = (values) => {
      const sorted = [...values].sort((a, b) => a - b);
      const cut = sorted.length > 400 ? Math.floor(sorted.length * 0.01) : 0;
      return [sorted[cut], sorted[sorted.length - 1 - cut]];
    };
    const [left, right] = bounds(this.nodes.map((node) => node.x));
    const [top, bottom] = bounds(this.nodes.map((node) => node.y));
    const margin = this.rings ? 150 : 110;
    const zoom = Math.min((width - margin) / (right - left + 1), (height - MARGIN_HEIGHT) / (bottom - top + 1), this.rings ? 1.25 : MAX_FIT);
    this.view = { x: (left + right) / 2, y: (top + bottom) / 2, zoom: Math.max(zoom, 0.02) };
    this.draw();
  }

  size() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  toScreen(node) {
    const { width, height } = this.size();
    return [(node.x - this.view.x) * this.view.zoom + width / 2, (node.y - this.view.y) * this.view.zoom + height / 2];
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.paint();
    });
  }

  paint() {
    const { canvas, context } = this;
    const { width, height } = this.size();
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.colors = Object.fromEntries(["ink", "soft", "line", "accent", "paper"].map((name) => [name, color(name)]));
    const started = performance.now();
    if (this.rings) this.paintRings(width, height);
    else if (this.nodes.length) paintMap(this, width, height);
    canvas.dataset.milliseconds = (performance.now() - started).toFixed(1);
  }

  paintRings(width, height) {
    const { context, colors } = this;
    const screen = this.nodes.map((node) => this.toScreen(node));
    const focus = this.pointed ?? this.chosen;
    const stroke = (edge, style, thickness, alpha) => {
      const [[x1, y1], [x2, y2]] = [screen[edge.source], screen[edge.target]];
      context.strokeStyle = style;
      context.lineWidth = thickness;
      context.globalAlpha = alpha;
      context.beginPath();
      context.moveTo(x1, y1);
      const bend = edge.bend ?? 0;
      context.quadraticCurveTo((x1 + x2) / 2 - (y2 - y1) * bend, (y1 + y2) / 2 + (x2 - x1) * bend, x2, y2);
      context.stroke();
    };
    for (const edge of this.edges) stroke(edge, colors.soft, 1, 0.3);
    if (focus) for (const edge of this.links[focus]) stroke(edge, colors.accent, 1.4, 0.75);
    context.globalAlpha = 1;
    this.nodes.forEach((node, place) => {
      const [x, y] = screen[place];
      const radius = this.radius(node);
      context.beginPath();
      if (node.kind === "memory") context.roundRect(x - radius, y - radius, 2 * radius, 2 * radius, 2);
      else context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fillStyle = place === focus || place === 0 ? colors.accent : node.kind === "memory" ? colors.paper : kindColor(node.sort ?? "thing");
      context.fill();
      context.lineWidth = node.kind === "memory" ? 1.4 : 1;
      context.strokeStyle = node.kind === "memory" ? colors.soft : colors.paper;
      context.stroke();
    });
    this.paintRingLabels(screen, focus, width, height);
    this.paintEdgeNames(screen);
  }

  paintRingLabels(screen, focus, width, height) {
    const { context, colors } = this;
    const labels = placeLabels(focus ? [focus, ...this.nodes.keys()].filter((place, index) => index === 0 || place !== focus) : [...this.nodes.keys()], {
      width, height, screen, context, everywhere: true, covered: this.covered(),
      text: (place) => shorten(plain(this.nodes[place].label), this.nodes[place].kind === "memory" ? 34 : 30),
      font: (place) => (place === 0 ? '500 17px "Source Serif 4", serif' : this.nodes[place].kind === "memory" ? "11.5px system-ui, sans-serif" : '14px "Source Serif 4", serif'),
      below: (place) => this.radius(this.nodes[place]) + 3, always: (place) => place === focus || place === 0,
    });
    context.textAlign = "center";
    context.textBaseline = "top";
    context.lineJoin = "round";
    for (const { place, text, x, y, font } of labels) {
      context.font = font;
      context.strokeStyle = colors.paper;
      context.lineWidth = 3.5;
      context.strokeText(text, x, y);
      context.fillStyle = place === focus ? colors.accent : this.nodes[place].kind === "memory" ? colors.soft : colors.ink;
      context.fillText(text, x, y);
    }
  }

  paintEdgeNames(screen) {
    const { context, colors } = this;
    context.font = "11px system-ui, sans-serif";
    for (const edge of namedEdges(this.edges)) {
      const [[x1, y1], [x2, y2]] = [screen[edge.source], screen[edge.target]];
      if (Math.hypot(x2 - x1, y2 - y1) < 70) continue;
      const [x, y] = [x1 + (x2 - x1) * 0.5 - (y2 - y1) * (edge.bend ?? 0) * 0.5, y1 + (y2 - y1) * 0.5 + (x2 - x1) * (edge.bend ?? 0) * 0.5];
      const text = shorten(plain(predicate(edge.name)), 22);
      context.strokeStyle = colors.paper;
      context.lineWidth = 4;
      context.strokeText(text, x, y - 6);
      context.fillStyle = colors.soft;
      context.fillText(text, x, y - 6);
    }
  }

  nodeAt(x, y) {
    let best = null;
    let nearest = 18 * 18;
    for (const node of this.rings ? this.nodes : this.visible?.shown ?? []) {
      const [nx, ny] = this.toScreen(node);
      const distance = (nx - x) ** 2 + (ny - y) ** 2;
      if (distance < nearest) [best, nearest] = [node.place, distance];
    }
    return best;
  }

  /** The closed cluster at a point of the canvas. */
  clusterAt(x, y) {
    if (this.rings) return null;
    return this.visible?.closed.find((cluster) => {
      const [cx, cy] = this.toScreen(cluster);
      return Math.hypot(cx - x, cy - y) <= Math.max(14, cluster.radius * this.view.zoom);
    }) ?? null;
  }

  zoomBy(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const { width, height } = this.size();
    const zoom = Math.min(MAX_ZOOM, Math.max(0.02, this.view.zoom * factor));
    const shift = 1 / this.view.zoom - 1 / zoom;
    this.view = { x: this.view.x + (x - width / 2) * shift, y: this.view.y + (y - height / 2) * shift, zoom };
    this.move();
  }

  /** While the map moves, less of it is drawn; all of it again once it is at rest. */
  move() {
    this.isMoving = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.isMoving = false;
      this.draw();
    }, REST);
    this.draw();
  }

  panBy(dx, dy) {
    this.view = { ...this.view, x: this.view.x - dx / this.view.zoom, y: this.view.y - dy / this.view.zoom };
    this.move();
  }

  listen() {
    const { canvas } = this;
    const pointers = new Map();
    let moved = 0;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY * 0.0016), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) {
        const place = this.nodeAt(event.offsetX, event.offsetY);
        this.point(place);
        if (place === null) canvas.dataset.pointing = this.clusterAt(event.offsetX, event.offsetY) ? "node" : "";
        return undefined;
      }
      const [dx, dy] = [event.offsetX - before[0], event.offsetY - before[1]];
      moved += Math.abs(dx) + Math.abs(dy);
      if (pointers.size === 2) this.pinch(pointers, event);
      else this.panBy(dx, dy);
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      return undefined;
    });
    const up = (event) => {
      pointers.delete(event.pointerId);
      const place = this.nodeAt(event.offsetX, event.offsetY);
      if (event.type !== "pointerup" || moved >= 6) return;
      const cluster = place === null ? this.clusterAt(event.offsetX, event.offsetY) : null;
      if (place !== null) this.onChoose(this.nodes[place]);
      else if (cluster) this.onCluster(cluster);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  pinch(pointers, event) {
    const [, other] = [...pointers].find(([id]) => id !== event.pointerId);
    const before = pointers.get(event.pointerId);
    const distance = ([x, y]) => Math.hypot(x - other[0], y - other[1]) + 1;
    this.zoomBy(distance([event.offsetX, event.offsetY]) / distance(before), other[0], other[1]);
  }

  point(place) {
    if (place === this.pointed) return;
    this.pointed = place;
    this.canvas.dataset.pointing = place === null ? "" : "node";
    this.onPoint(place === null ? null : this.nodes[place]);
    this.draw();
  }

  key(event) {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) this.panBy(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoomBy(1.3);
    else if (event.key === "-") this.zoomBy(1 / 1.3);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }
}

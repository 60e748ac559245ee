// Relations over time, as SVG: valid time as bars, the time of learning as rings, what was claimed as a dashed outline.

import { debounce, h, replace, svg } from "./dom.js";
import { state, shownNow } from "./state.js";
import { day, plain, predicate, shorten, windowText } from "./text.js";

const ROW = 30;
const HEAD = 34;
const BAR = 9;
const NARROW = 560;
const DAY = 86400000;
const STEPS = [[1, "d"], [7, "d"], [14, "d"], [1, "m"], [3, "m"], [6, "m"], [12, "m"], [24, "m"], [60, "m"], [120, "m"], [600, "m"]];

export function legend() {
  const mark = (...shapes) => svg("svg", { width: 30, height: 12, "aria-hidden": "true" }, shapes);
  return h("p", { class: "legend" },
    h("span", {}, mark(svg("rect", { class: "held", y: 2, width: 30, height: 8, rx: 4 })), "true now"),
    h("span", {}, mark(svg("rect", { class: "ended", y: 2, width: 30, height: 8, rx: 4 })), "was true"),
    h("span", {}, mark(svg("rect", { class: "claimed", x: 1, y: 2, width: 28, height: 8, rx: 4 })), "as stated at first"),
    h("span", {}, mark(svg("circle", { class: "learned", cx: 15, cy: 6, r: 4 })), "learned"));
}

export function drawTimeline(container, relations, open, signal) {
  const draw = () => container.isConnected && replace(container, chart(relations, open, container.clientWidth));
  draw();
  const resized = new ResizeObserver(debounce(draw, 120));
  resized.observe(container);
  signal.addEventListener("abort", () => resized.disconnect());
}

function chart(relations, open, available) {
  const stacked = available < NARROW; // on a phone a claim is above its bar, not beside it
  const width = Math.max(available, 280);
  const left = stacked ? 0 : Math.min(300, width * 0.36);
  const row = stacked ? ROW * 1.5 : ROW;
  const now = shownNow();
  const [low, high] = range(relations, now);
  const x = (time) => left + ((Math.min(Math.max(time, low), high) - low) / (high - low)) * (width - left - 12);
  const rows = [];
  let y = HEAD;
  for (const [subject, claims] of bySubject(relations)) {
    rows.push(svg("text", { class: "subject", x: 0, y: y + 20, dir: "auto" }, plain(shorten(subject, 40))));
    y += ROW + 4;
    for (const relation of claims) {
      rows.push(claimRow(relation, { x, y, row, label: stacked ? width : left, width, low, high, now, open }));
      y += row;
    }
    y += 12;
  }
  const rules = ticks(low, high, width - left).map(([time, text]) => [
    svg("line", { class: "rule", x1: x(time), x2: x(time), y1: 20, y2: y }), svg("text", { class: "axis", ...axisText(x(time), width), y: 12 }, text)]);
  const today = svg("line", { class: "today", x1: x(now), x2: x(now), y1: 20, y2: y });
  const nowText = svg("text", { class: "axis", x: x(now), y: y + 14, "text-anchor": "end" }, state.day ? day(state.day) : "now");
  return svg("svg", { width, height: y + 24, role: "group", "aria-label": "Relations over time" }, rules, rows, today, nowText);
}

/** Where the text of a tick is: below its line, or within the chart at an end of it. */
function axisText(place, width) {
  if (place > width - 30) return { x: width, "text-anchor": "end" };
  return place < 30 ? { x: 0, "text-anchor": "start" } : { x: place, "text-anchor": "middle" };
}

function claimRow(relation, { x, y, row, label: room, width, low, high, now, open }) {
  const [start, end] = times(relation.valid_from, relation.valid_until, low, high);
  const [claimedStart, claimedEnd] = times(relation.claimed_from, relation.claimed_until, low, high);
  const learned = Date.parse(relation.recorded_at);
  const middle = y + row - ROW / 2;
  const baseline = y + ROW / 2 + 4;
  const ended = end <= now;
  const label = `${predicate(relation.predicate)} ${relation.object}`;
  const text = `${relation.subject} ${label}: ${windowText(relation.valid_from, relation.valid_until) || "no date"}. Learned ${day(relation.recorded_at)}.`;
  const bar = (from, to, kind, height) => svg("rect", { class: kind, x: x(from), width: Math.max(4, x(to) - x(from)), y: middle - height / 2, height, rx: height / 2 });
  const differs = (relation.claimed_from || relation.claimed_until) && (claimedStart !== start || claimedEnd !== end);
  const activate = (event) => {
    if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open(relation);
  };
  return svg("g", { class: ended ? "relation ended" : "relation", tabindex: 0, role: "button", "aria-label": plain(text), "data-item": relation.id, on: { click: activate, keydown: activate } },
    svg("title", {}, plain(text)),
    svg("rect", { class: "backdrop", x: -8, y: y + 1, width: width + 8, height: row - 2, rx: 6 }),
    svg("text", { class: "claim", x: 0, y: baseline }, svg("tspan", { class: "predicate" }, `${plain(predicate(relation.predicate))} `), svg("tspan", {}, plain(shorten(relation.object, Math.max(8, Math.floor(room / 7) - relation.predicate.length))))),
    svg("line", { class: "lead", x1: Math.min(x(learned), x(start)), x2: Math.max(x(learned), x(start)), y1: middle, y2: middle }),
    differs && bar(claimedStart, claimedEnd, "claimed", BAR + 5),
    bar(start, Math.max(end, start), "held", BAR),
    svg("circle", { class: "learned", cx: x(learned), cy: middle, r: 4.2 }));
}

function bySubject(relations) {
  const groups = new Map();
  for (const relation of relations) groups.set(relation.subject, [...(groups.get(relation.subject) ?? []), relation]);
  for (const claims of groups.values()) claims.sort((a, b) => a.predicate.localeCompare(b.predicate) || (a.valid_from ?? "").localeCompare(b.valid_from ?? ""));
  return [...groups].sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0]));
}

const times = (start, end, low, high) => [start ? Date.parse(start) : low, end ? Date.parse(end) : high];

function range(relations, now) {
  const moments = relations.flatMap((each) => [each.valid_from, each.valid_until, each.recorded_at]).filter(Boolean).map((text) => Date.parse(text));
  const low = Math.min(now, ...moments);
  const high = Math.max(now, ...moments);
  const margin = Math.max(DAY * 2, (high - low) / 24);
  return [low - margin, high + margin];
}

/** A few round dates, each with its text. */
function ticks(low, high, width) {
  const most = Math.max(3, width / 90);
  const [size, unit] = STEPS.find(([each, kind]) => (high - low) / (each * (kind === "d" ? DAY : 30.4 * DAY)) <= most) ?? STEPS.at(-1);
  const date = new Date(low);
  date.setUTCHours(0, 0, 0, 0);
  if (unit === "m") date.setUTCMonth(Math.floor((date.getUTCMonth() + 12 * date.getUTCFullYear()) / size) * size - 12 * date.getUTCFullYear(), 1);
  const out = [];
  while (date <= high && out.length < 60) {
    if (date > low) out.push([date.getTime(), unit === "m" && size >= 12 ? String(date.getUTCFullYear()) : day(date).replace(unit === "m" ? /^\d+ / : / \d{4}$/, "").replace(/([A-Z][a-z]{2})[a-z]+/, "$1")]);
    if (unit === "d") date.setUTCDate(date.getUTCDate() + size);
    else date.setUTCMonth(date.getUTCMonth() + size);
  }
  return out;
}

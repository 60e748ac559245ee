// Memories by week and kind, as stacked bars.

import { h, svg } from "./dom.js";
import { kindName } from "./filters.js";
import { to } from "./router.js";
import { count, day } from "./text.js";

const KINDS = ["semantic", "episode", "viewpoint", "procedure"];
const WEEK = 7 * 86400000;
const WIDTH = 720;
const HEIGHT = 150;
const MOST_BARS = 72;

const date = (milliseconds) => new Date(milliseconds).toISOString().slice(0, 10);

/** The bars of all weeks; of very many, those of several weeks are one. A table for screen readers has the same. */
export function weekChart(weeks) {
  const first = Date.parse(weeks[0].monday);
  const span = Math.round((Date.parse(weeks.at(-1).monday) - first) / WEEK) + 1;
  const size = Math.ceil(span / MOST_BARS);
  const bins = Array.from({ length: Math.ceil(span / size) }, (_, place) => ({ start: first + place * size * WEEK, kinds: {} }));
  for (const { monday, kinds } of weeks) {
    const bin = bins[Math.floor((Date.parse(monday) - first) / WEEK / size)];
    for (const [kind, number] of Object.entries(kinds)) bin.kinds[kind] = (bin.kinds[kind] ?? 0) + number;
  }
  const total = (bin) => Object.values(bin.kinds).reduce((sum, number) => sum + number, 0);
  const most = Math.max(1, ...bins.map(total));
  const step = WIDTH / bins.length;
  const bars = bins.map((bin, place) => {
    let y = HEIGHT;
    const parts = KINDS.filter((kind) => bin.kinds[kind]).map((kind) => {
      const height = (bin.kinds[kind] / most) * (HEIGHT - 8);
      y -= height;
      return svg("rect", { class: `kind-${kind}`, x: place * step + step * 0.12, width: Math.max(1, step * 0.76), y, height });
    });
    const until = bin.start + size * WEEK - 86400000;
    const text = `${day(date(bin.start))} to ${day(date(until))}: ${count(total(bin), "memory", "memories")}`;
    if (!total(bin)) return null;
    return svg("a", { href: to("browse", null, { since: date(bin.start), until: date(until) }), "aria-label": text }, svg("title", {}, text),
      svg("rect", { class: "hitbox", x: place * step, width: step, y: 0, height: HEIGHT }), parts);
  });
  const labels = bins.filter((_, place) => place % Math.max(1, Math.round(bins.length / 6)) === 0 && place < bins.length - 2);
  const present = KINDS.filter((kind) => bins.some((bin) => bin.kinds[kind]));
  const axis = h("div", { class: "week-axis", "aria-hidden": "true" }, labels.map((bin) => {
    const label = h("span", {}, day(date(bin.start)).replace(/^\d+ (\w{3})\w* /, "$1 "));
    label.style.left = `${(bins.indexOf(bin) / bins.length) * 100}%`;
    return label;
  }));
  return h("figure", { class: "week-chart" },
    h("figcaption", { class: "chart-legend" }, h("span", {}, size === 1 ? "Memories told each week" : `Memories told in each ${size} weeks`), present.map((kind) => h("span", { class: `key key-${kind}` }, `${kindName(kind)}s`)), h("span", { class: "faint" }, `most: ${most.toLocaleString("en")}`)),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "group", "aria-label": "Memories by week" }, svg("line", { class: "base", x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }), bars), axis);
}

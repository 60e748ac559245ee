// A memory in a list: its text, when it is true, where it comes from; and for a hit, why it was found.

import { h } from "./dom.js";
import { withParameters } from "./router.js";
import { state } from "./state.js";
import { capital, count, data, day, windowText } from "./text.js";

const SIGNALS = { vectors: "Meaning", words: "Words", graph: "Connections", times: "Time", reader: "Reading", supersession: "Replacement" };
export const signalName = (signal) => SIGNALS[signal] ?? capital(signal);

/** The line below a memory. */
export function metaLine(memory, ...more) {
  const when = windowText(memory.valid_from, memory.valid_until);
  const parts = [
    ...more,
    when && (memory.kind === "episode" ? when : `true ${when}`),
    when !== day(memory.told_at) && `told ${day(memory.told_at)}`,
    memory.speaker ? ["said by ", data(memory.speaker)] : memory.observed_by && ["by ", data(memory.observed_by)],
    memory.source && ["from ", data(memory.source)],
    memory.tags.length > 0 && memory.tags.map((tag) => [" #", data(tag)]),
  ];
  return h("p", { class: "meta" }, parts.filter(Boolean).map((part) => h("span", {}, part)));
}

/** A memory that opens its details. */
export function memoryItem(memory, ...more) {
  return h("a", { class: "item", href: withParameters({ memory: memory.id, entity: null }), "data-item": memory.id },
    h("p", { class: "memory-text clamped" }, data(memory.text)), ...more);
}

/** A hit of a search: the memory, then each signal with a bar and its reason. `scale` is the share of a full bar. */
export function hitItem(hit, scale) {
  const { memory } = hit;
  const labels = [];
  // A hit of another space is shown there, with this one searched as well.
  const elsewhere = hit.space && hit.space !== state.space ? { space: hit.space, also: state.space } : {};
  if (hit.space) labels.push(h("span", { class: "badge" }, "in ", data(hit.space)));
  if (hit.by === "rules") labels.push(h("span", { class: "badge" }, "by rules"));
  if (hit.superseded_by) labels.push(h("span", { class: "badge" }, "replaced by “", data(hit.superseded_by), "”"));
  else if (!hit.current) labels.push(h("span", { class: "badge" }, "no longer current"));
  const conflicts = hit.disagreements.filter((each) => each.kind === "conflict").length;
  if (conflicts) labels.push(h("span", { class: "badge" }, `in conflict with ${count(conflicts, "other memory", "other memories")}`));
  return h("li", { class: "hit" },
    h("div", { class: "score", title: "How well it answers, from 0 to 1" }, h("span", { class: "visually-hidden" }, "Score "), hit.score.toFixed(2)),
    h("div", {},
      h("a", { class: "item", href: withParameters({ memory: memory.id, entity: null, ...elsewhere }), "data-item": memory.id }, h("p", { class: "memory-text clamped" }, data(memory.text))),
      hit.context && h("p", { class: "meta" }, h("span", {}, "after “", data(hit.context), "”")),
      metaLine(memory, ...labels),
      evidenceRows(hit.evidence, scale)));
}

export function evidenceRows(evidence, scale) {
  const rows = [...evidence].sort((a, b) => b.share - a.share);
  return h("ul", { class: "signals", "aria-label": "Why it was found" }, rows.map((each) => {
    const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("span", {}));
    bar.firstChild.style.width = `${Math.max(0, Math.min(1, each.share / scale)) * 100}%`;
    return h("li", {},
      h("span", { class: "signal" }, signalName(each.signal)), bar,
      h("span", { class: "share" }, `${each.share < 0 ? "−" : "+"}${Math.abs(each.share).toFixed(2)}`),
      h("span", { class: "note" }, data(each.reason)));
  }));
}

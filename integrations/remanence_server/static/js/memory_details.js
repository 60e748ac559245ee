// All about one memory: text, provenance, what it states, what it is linked to, disagreements and history.

import { h } from "./dom.js";
import { ask, read } from "./api.js";
import { decisionButton } from "./decisions.js";
import { correctMemory, endMemory, eraseMemories, pinMemories, tagMemories } from "./editing.js";
import { kindName, STATUS_NAMES } from "./filters.js";
import { historyList } from "./history_list.js";
import { to, withParameters } from "./router.js";
import { shownNow, state } from "./state.js";
import { count, data, moment, predicate, shorten, windowText } from "./text.js";

const LINKS = {
  supersedes: ["replaces", "is replaced by"], contradicts: ["contradicts", "is contradicted by"],
  derived_from: ["was found in", "is the source of"], extends: ["adds to", "is added to by"],
  supports: ["supports", "is supported by"], causes: ["causes", "is caused by"], related_to: ["is related to", "is related to"],
};
const LONG = 300; // characters: a longer text is not set as a title
const DISAGREEMENTS = {
  conflict: "only one of the two can hold", succession: "one after the other", correction: "settled", coexistence: "each holds in its own time",
};

export async function memoryDetails(id, signal) {
  const [batch, history] = await Promise.all([ask("/memories/get", { ids: [id] }, signal), read("/graph/timeline", { node: id }, signal)]);
  const details = batch.items[0] ?? null;
  const memory = details?.memory ?? history.items.map((each) => each.memory).findLast(Boolean);
  const status = details?.status ?? batch.missing[id] ?? "unknown";
  if (!memory) return [h("h2", { tabindex: -1 }, "A memory that cannot be shown"), h("p", { class: "lede" }, `It is ${STATUS_NAMES[status] ?? status}.`), historyList(history.items)];
  const pairs = status === "current" ? await disagreements(id, signal) : [];
  const texts = details ? await linkedTexts(details, signal) : new Map();
  return [
    h("h2", { tabindex: -1, class: memory.text.length > LONG ? "long" : null }, data(memory.text)),
    h("p", { class: "meta" }, h("span", { class: status === "current" ? null : "badge" }, statusText(memory, status)), h("span", {}, kindName(memory.kind)), memory.strength >= 2 && h("span", {}, "pinned"), details && details.versions > 1 && h("span", {}, count(details.versions, "version"))),
    actions(memory, status),
    facts(memory, details),
    details?.superseded_by && section("Replaced by", linked(details.superseded_by, texts)),
    pairs.length > 0 && section("Disagreements", h("ul", { class: "plain-list" }, pairs.map((pair) => disagreement(memory, pair)))),
    details?.relations.length > 0 && section("States", h("ul", { class: "plain-list" }, details.relations.map(relationRow))),
    links(details, texts),
    section("Versions and history", historyList(history.items)),
  ];
}

function actions(memory, status) {
  const hidden = ["forgotten", "archived", "quarantined"].includes(status);
  if (status === "erased" || status === "unknown") return null;
  const button = (label, action, attributes = {}) => h("button", { type: "button", disabled: state.day !== null, title: state.day === null ? null : "Nothing can be changed in the past", ...attributes, on: { click: () => action(memory) } }, label);
  return h("div", { class: "actions" },
    hidden && decisionButton(status === "quarantined" ? "Release from quarantine" : "Restore", { action: "restore", memory: memory.id }),
    !hidden && [
      button("Correct", correctMemory, { "data-key": "correct" }), button("No longer true", endMemory),
      button(memory.strength >= 2 ? "Unpin" : "Pin", () => pinMemories([memory], memory.strength < 2)), button("Tag", () => tagMemories([memory])),
      decisionButton("Forget", { action: "forget", memory: memory.id })],
    button("Erase", () => eraseMemories([memory])),
    h("a", { class: "faint", href: to("timeline", memory.id, { memory: memory.id }) }, "Timeline"),
    h("a", { class: "faint", href: to("answers", null, { about: memory.id }) }, "Who was told"));
}

/** Its status in words, with what "current" does not say: that a state has ended. */
export function statusText(memory, status) {
  const ended = status === "current" && memory.valid_until && memory.kind !== "episode" && Date.parse(memory.valid_until) <= shownNow();
  return ended ? "no longer true" : STATUS_NAMES[status] ?? status;
}

function facts(memory, details) {
  const usage = details?.usage;
  const rows = [
    ["True", windowText(memory.valid_from, memory.valid_until)],
    ["Told", moment(memory.told_at)],
    ["Recorded", moment(memory.recorded_at)],
    ["Revised", memory.revised_at > memory.recorded_at && moment(memory.revised_at)],
    ["Source", memory.source && h("a", { href: to("browse", null, { source: memory.source }) }, data(memory.source))],
    ["Said in", memory.turn && [data(memory.turn.conversation), `, turn ${memory.turn.number}`]],
    ["By", (memory.speaker || memory.observed_by) && data(memory.speaker ?? memory.observed_by)],
    ["Trust", memory.trust < 1 && memory.trust.toFixed(2)],
    ["Importance", memory.importance.toFixed(2)],
    ["Confidence", memory.confidence < 1 && memory.confidence.toFixed(2)],
    ["Expires", memory.expires_at && moment(memory.expires_at)],
    ["Tags", memory.tags.length > 0 && memory.tags.map((tag, place) => [place > 0 && ", ", h("a", { href: to("browse", null, { tag }) }, data(tag))])],
    ["Names", memory.entities.length > 0 && memory.entities.map((name, place) => [place > 0 && ", ", h("a", { href: withParameters({ memory: null, entity: name }) }, data(name))])],
    ["Used", usage && `${usage.uses ? count(usage.uses, "time") : "never"}; decayed to ${usage.decay_score.toFixed(2)}`],
    ["Key", memory.key && data(memory.key)],
    ["Meta", Object.keys(memory.meta).length > 0 && data(shorten(JSON.stringify(memory.meta), 300))],
  ];
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

async function disagreements(id, signal) {
  const { items } = await read("/graph/disagreements", { kinds: Object.keys(DISAGREEMENTS), memory: id }, signal);
  return items.map((each) => ({
    kind: each.disagreement.kind, topic: each.disagreement.topic, other: each.memory.id === id ? each.disagreement.memory : each.memory,
  }));
}

function disagreement(memory, { kind, topic, other }) {
  return h("li", {},
    h("p", {}, h("a", { href: withParameters({ memory: other.id }) }, "“", data(shorten(other.text, 160)), "”")),
    h("p", { class: "meta" }, h("span", {}, DISAGREEMENTS[kind]), h("span", {}, "about “", data(predicate(topic)), "”")),
    kind === "conflict" && h("div", { class: "actions" },
      decisionButton("This one holds", { action: "supersede", memory: memory.id, other: other.id }),
      decisionButton("The other holds", { action: "supersede", memory: other.id, other: memory.id })));
}

async function linkedTexts(details, signal) {
  const ids = [...details.links_out.map((link) => link.target), ...details.links_in.map((link) => link.source), details.superseded_by].filter(Boolean);
  if (!ids.length) return new Map();
  const batch = await ask("/memories/get", { ids: [...new Set(ids)].slice(0, 200) }, signal);
  return new Map(batch.items.filter((each) => each.memory).map((each) => [each.id, each.memory.text]));
}

function linked(id, texts) {
  return h("a", { href: withParameters({ memory: id }) }, texts.has(id) ? ["“", data(shorten(texts.get(id), 160)), "”"] : "a memory that is hidden");
}

function links(details, texts) {
  if (!details || details.links_out.length + details.links_in.length === 0) return null;
  const row = (link, words, other) => h("li", {}, h("span", { class: "faint" }, `${words} `), linked(other, texts), link.why && h("p", { class: "faint" }, data(link.why)), link.valid_until && h("p", { class: "faint" }, `until ${moment(link.valid_until)}`));
  return section("Provenance and links", h("ul", { class: "plain-list" },
    details.links_out.map((link) => row(link, LINKS[link.kind][0], link.target)), details.links_in.map((link) => row(link, LINKS[link.kind][1], link.source))));
}

export function relationRow(relation) {
  const when = windowText(relation.valid_from, relation.valid_until);
  const name = (text) => h("a", { href: withParameters({ memory: null, entity: text }) }, data(text));
  return h("li", {}, name(relation.subject), h("span", { class: "faint" }, ` ${predicate(relation.predicate)} `), name(relation.object), when && h("span", { class: "faint" }, `, ${when}`));
}

export const section = (title, ...content) => h("section", { "aria-label": title }, h("h3", {}, title), content);

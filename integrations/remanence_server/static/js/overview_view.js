// Overview: what the space holds, what is true now in the words in which it was told, how it grows, and what waits for a person.

import { find, h, replace } from "./dom.js";
import { read, readNow } from "./api.js";
import { STATUS_NAMES } from "./filters.js";
import { showError } from "./notices.js";
import { RECENT, recentList } from "./recent.js";
import { go, to, withParameters } from "./router.js";
import { state } from "./state.js";
import { capital, count, data, day } from "./text.js";
import { weekChart } from "./week_chart.js";

const PROFILE_TOKENS = 400;
const PROFILE_LATEST = 300; // memories that one visit reads: some seconds of the server, for what was told last
const PROFILE_STEPS = 60; // of one request: about a second
const HIDDEN = ["quarantined", "forgotten", "archived"];

export async function renderOverview(main, route, signal) {
  const parts = {};
  const part = (id, load) => {
    parts[id] = load;
    return h("div", { id: `part-${id}` }, h("div", { class: "loading" }));
  };
  const field = h("input", { type: "search", placeholder: "Ask this memory…", "aria-label": "Question", autocomplete: "off", spellcheck: "false" });
  const submit = (event) => {
    event.preventDefault();
    if (field.value.trim()) go(to("search", null, { q: field.value.trim() }));
  };
  replace(main, h("div", { class: "column overview" },
    h("h1", { class: "visually-hidden" }, "Overview"),
    h("form", { class: "search", role: "search", on: { submit } }, field),
    part("numbers", numbers), part("waiting", waiting), part("profile", profile), part("activity", activity), part("recent", recent)));
  await Promise.all(Object.entries(parts).map(async ([id, load]) => {
    const element = find(`#part-${id}`, main);
    try {
      const shown = await load(signal, element);
      if (shown !== undefined) replace(element, shown);
    } catch (error) {
      showError(element, error);
    }
  }));
}

async function numbers(signal) {
  const { memories, entities, relations } = await read("/stats", {}, signal);
  const visible = ["current", "superseded", "expired"].reduce((sum, status) => sum + (memories[status] ?? 0), 0);
  const number = (value, label, href) => h("li", {}, h("a", { href }, h("strong", {}, value.toLocaleString("en")), h("span", {}, label)));
  return h("ul", { class: "numbers", "aria-label": "In numbers" },
    number(memories.current ?? 0, visible === 1 ? "current memory" : "current memories", to("browse", null, { status: "current" })),
    memories.superseded > 0 && number(memories.superseded, "replaced", to("browse", null, { status: "superseded" })),
    memories.expired > 0 && number(memories.expired, "expired", to("browse", null, { status: "expired" })),
    HIDDEN.filter((status) => memories[status]).map((status) => number(memories[status], STATUS_NAMES[status], to("browse", null, { status }))),
    number(entities, entities === 1 ? "entity" : "entities", to("graph")), number(relations, relations === 1 ? "relation" : "relations", to("timeline")));
}

async function waiting(signal) {
  if (state.day !== null) return null;
  const [conflicts, values, quarantines] = await Promise.all([
    read("/graph/disagreements", {}, signal), read("/browse/values", {}, signal), readNow("/quarantines", {}, signal),
  ]);
  const held = values.statuses.quarantined ?? 0;
  const sources = quarantines.items.filter((each) => !each.released && each.memories.length);
  const rows = [
    conflicts.items.length > 0 && h("li", {}, h("a", { href: to("review") }, `${count(conflicts.items.length, "conflict")} to decide`), h("span", { class: "faint" }, conflicts.items.slice(0, 1).map(({ memory, disagreement }) => ["“", data(memory.text), "” or “", data(disagreement.memory.text), "”"]))),
    held > 0 && h("li", {}, h("a", { href: to("browse", null, { status: "quarantined" }) }, `${count(held, "memory", "memories")} in quarantine`), h("span", { class: "faint" }, "from ", sources.map((each, place) => [place > 0 && ", ", data(each.source)]))),
  ].filter(Boolean);
  if (!rows.length) return null;
  return h("section", { "aria-labelledby": "waiting-title" }, h("h2", { id: "waiting-title", class: "eyebrow-title" }, "Waiting for you"), h("ul", { class: "waiting" }, rows));
}

/** The profile, a few memories at a time: the lines as they are known, and how far it is. */
async function profile(signal, element, latest = PROFILE_LATEST, lines = h("dl", { class: "profile-lines" }), known = 0) {
  const note = h("p", { class: "faint profile-note", role: "status" }, "Reading the latest memories…");
  replace(element, h("section", { "aria-labelledby": "profile-title", "aria-busy": "true" },
    h("h2", { id: "profile-title", class: "eyebrow-title" }, "What is true now, in the words in which it was told"), lines, note));
  for (;;) {
    const found = await read("/profile/part", { max_tokens: PROFILE_TOKENS, latest, steps: PROFILE_STEPS }, signal);
    if (found.read >= known && found.statements.length) replace(lines, profileLines(found.statements));
    known = Math.max(known, found.read);
    if (found.read === found.wanted) {
      if (!found.statements.length) return null;
      element.firstChild.removeAttribute("aria-busy");
      replace(note, found.wanted < found.total && readAll(found, () => profile(signal, element, found.total, lines, known).catch((error) => showError(element, error))));
      return undefined;
    }
    // A memory is looked at by itself first, then beside those that were told later.
    const done = Math.floor((found.prepared + found.read) / 2);
    replace(note, `Reading ${done.toLocaleString("en")} of ${found.wanted.toLocaleString("en")}…`);
  }
}

function readAll({ wanted, total }, action) {
  return [`From the ${wanted.toLocaleString("en")} memories that were told last. `,
    h("button", { type: "button", on: { click: action } }, `Read ${total.toLocaleString("en")}`)];
}

function profileLines(found) {
  const topics = new Map();
  for (const each of found) topics.set(each.topic, [...(topics.get(each.topic) ?? []), each]);
  return [...topics].map(([topic, statements]) => [
    h("dt", {}, capital(topic)),
    statements.map((each) => h("dd", {},
      each.context && h("span", { class: "faint" }, "after “", data(each.context), "” "),
      h("a", { href: withParameters({ memory: each.memories[0] }) }, quotation(each)),
      each.since && h("time", { datetime: each.since }, day(each.since))))]);
}

/** The words of a statement without the day at their end, which stands beside them. */
function quotation({ text, since }) {
  const dated = since ? ` (${day(since)})` : "";
  return data(dated && text.endsWith(dated) ? text.slice(0, -dated.length) : text);
}

async function activity(signal) {
  const { weeks, growing } = await read("/activity", {}, signal);
  if (!weeks.length) return null;
  return h("section", { "aria-labelledby": "growth-title" },
    h("h2", { id: "growth-title", class: "eyebrow-title" }, "How it grows"), weekChart(weeks),
    growing.length > 0 && [
      h("h3", { class: "eyebrow-title growing-title" }, "Mentioned more and more, in the last four weeks"),
      h("ul", { class: "growing" }, growing.map((each) => h("li", {}, h("a", { href: withParameters({ entity: each.id, memory: null }), "data-item": each.id }, data(each.name)),
        h("span", { class: "faint" }, each.before ? `${each.recent} after ${each.before}` : `${each.recent}, new`))))]);
}

async function recent(signal) {
  return recentList((await read("/recent", { limit: RECENT }, signal)).items);
}

// Compare: what changed between two dates; and the answers of two settings to one question, side by side.

import { h, replace } from "./dom.js";
import { ask, readNow } from "./api.js";
import { STATUS_NAMES } from "./filters.js";
import { signalName } from "./memory_item.js";
import { announce, showError } from "./notices.js";
import { go, to, withParameters } from "./router.js";
import { state } from "./state.js";
import { count, data, day, moment, predicate } from "./text.js";

const SHOWN = 25;
const SETTINGS = [
  ["limit", "At most", [["5", "5 memories"], ["10", "10 memories"], ["20", "20 memories"]], "10"],
  ["reader", "Reader", [["", "As the space has it"], ["small", "The small reader"], ["none", "No reader"]], ""],
  ["history", "Past", [["auto", "Automatic"], ["true", "With what was replaced"], ["false", "Only what holds"]], "auto"],
  ["without", "Signal left out", [["", "Nothing"], ["vectors", "Meaning"], ["words", "Words"], ["graph", "Connections"], ["times", "Time"]], ""],
];
const SIGNALS = ["vectors", "words", "graph", "times"];
const GROUPS = [
  ["learned", "Learned"], ["revised", "Corrected"], ["superseded", "Replaced"], ["forgotten", "Forgotten"], ["restored", "Restored"], ["expired", "Expired"],
];

export async function renderCompare(main, route, signal) {
  const { parameters } = route;
  const bySettings = route.thing === "settings" || (!route.thing && parameters.q !== undefined);
  const body = h("div", {});
  const tab = (thing, label, isOn) => h("a", { href: to("compare", thing, thing === "settings" && parameters.q ? { q: parameters.q } : {}), "aria-current": isOn ? "page" : null }, label);
  replace(main, h("div", { class: bySettings ? "wide" : "column" }, h("h1", {}, "Compare"),
    h("nav", { class: "tabs", "aria-label": "What to compare" }, tab("dates", "Two dates", !bySettings), tab("settings", "Two settings", bySettings)), body));
  try {
    await (bySettings ? settings(body, parameters, signal) : dates(body, parameters, signal));
  } catch (error) {
    showError(body, error);
  }
}

async function dates(body, { from, until }, signal) {
  const today = state.now.slice(0, 10);
  const start = from ?? new Date(Date.parse(today) - 30 * 86400000).toISOString().slice(0, 10);
  const end = until ?? today;
  const submit = (event) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    go(withParameters({ from: given.get("from"), until: given.get("until"), memory: null, entity: null }));
  };
  const result = h("div", { "aria-busy": "true" }, h("div", { class: "loading" }));
  replace(body, h("form", { class: "filter-bar", on: { submit } },
    h("label", {}, h("span", {}, "From the end of"), h("input", { type: "date", name: "from", value: start, required: true })),
    h("label", {}, h("span", {}, "to the end of"), h("input", { type: "date", name: "until", value: end, required: true })), h("button", { class: "primary" }, "What changed")), result);
  const found = await Promise.all([
    readNow("/diff", { since: endOf(start), ...(end < today && { until: endOf(end) }) }, signal), readNow("/quarantines", {}, signal),
  ]).catch((error) => showError(result, error));
  if (!found) return;
  const [changed, quarantines] = found;
  const held = new Set(quarantines.items.filter((each) => !each.released).flatMap((each) => each.memories.map(({ id }) => id)));
  const groups = GROUPS.filter(([name]) => changed[name].length).map(([name, label]) => group(name, label, changed[name], held));
  const claims = [["related", "New relations"], ["invalidated", "Ended relations"]].filter(([name]) => (changed[name].relations ?? changed[name]).length);
  const nothing = !groups.length && !claims.length && !changed.erased.length && !changed.entity_events.length;
  replace(result,
    h("p", { class: "lede", role: "status" }, nothing ? `Nothing changed between ${day(start)} and ${day(end)}.` : [`Between ${day(start)} and ${day(end)}: `, summary(changed), "."]),
    groups, claims.map(([name, label]) => relations(label, changed[name].relations ?? changed[name])),
    changed.erased.length > 0 && h("section", {}, h("h2", {}, "Erased"), h("p", { class: "faint" }, `${count(changed.erased.length, "memory", "memories")} without a trace of the text.`)),
    changed.entity_events.length > 0 && h("section", {}, h("h2", {}, "Names"), h("ul", { class: "plain-list" }, changed.entity_events.slice(0, SHOWN).map((event) => h("li", {}, data(event.description), h("span", { class: "faint" }, ` ${event.kind}, ${moment(event.recorded_at)}`))))));
  result.removeAttribute("aria-busy");
  announce(nothing ? "Nothing changed." : "The changes are shown.");
}

const endOf = (date) => `${date}T23:59:59.999999+00:00`;

function summary(changed) {
  const parts = GROUPS.filter(([name]) => changed[name].length).map(([name, label]) => `${changed[name].length.toLocaleString("en")} ${label.toLowerCase()}`);
  return [...parts, changed.erased.length && `${changed.erased.length} erased`].filter(Boolean).join(", ");
}

function group(name, label, memories, held) {
  const entry = (memory) => h("li", {}, h("a", { href: withParameters({ memory: memory.id, entity: null }), "data-item": memory.id }, data(memory.text)),
    h("span", { class: "faint" }, ` ${moment(name === "learned" ? memory.recorded_at : memory.revised_at)}`), held.has(memory.id) && h("span", { class: "badge" }, ` ${STATUS_NAMES.quarantined}`));
  return h("section", { class: `change ${name}` }, h("h2", {}, label, h("span", { class: "faint" }, ` ${memories.length.toLocaleString("en")}`)),
    h("ul", { class: "plain-list" }, memories.slice(0, SHOWN).map(entry)),
    memories.length > SHOWN && h("details", {}, h("summary", {}, `${(memories.length - SHOWN).toLocaleString("en")} more`), h("ul", { class: "plain-list" }, memories.slice(SHOWN, 500).map(entry))));
}

function relations(label, items) {
  return h("section", {}, h("h2", {}, label, h("span", { class: "faint" }, ` ${items.length.toLocaleString("en")}`)),
    h("ul", { class: "plain-list" }, items.slice(0, SHOWN).map((each) => h("li", {}, data(each.subject), h("span", { class: "faint" }, ` ${predicate(each.predicate)} `), data(each.object)))),
    items.length > SHOWN && h("p", { class: "faint" }, `${(items.length - SHOWN).toLocaleString("en")} more.`));
}

async function settings(body, parameters, signal) {
  const question = h("input", { type: "search", name: "q", id: "search", value: parameters.q ?? "", placeholder: "One question for both…", "aria-label": "Question", autocomplete: "off" });
  const setting = (side) => h("fieldset", { class: "side-settings" }, h("legend", {}, side === "a" ? "First" : "Second"),
    SETTINGS.map(([name, label, options, otherwise]) => {
      const shown = parameters[side + name] ?? (side === "b" && name === "reader" && parameters.q === undefined ? "none" : otherwise);
      return h("label", {}, h("span", {}, label), h("select", { name: side + name, "aria-label": `${label}, ${side === "a" ? "first" : "second"}` }, options.map(([value, text]) => h("option", { value, selected: value === shown }, text))));
    }),
    h("label", {}, h("span", {}, "As known on"), h("input", { type: "date", name: `${side}day`, value: parameters[`${side}day`] ?? "" })));
  const submit = (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.currentTarget));
    go(withParameters({ ...given, memory: null, entity: null }));
  };
  const result = h("div", { class: "two-sides" });
  const verdict = h("p", { class: "lede", role: "status" });
  replace(body, h("form", { class: "search", on: { submit } }, question, h("div", { class: "two-sides" }, setting("a"), setting("b")), h("div", { class: "actions" }, h("button", { class: "primary" }, "Compare"))), verdict, result);
  if (!parameters.q?.trim()) return;
  replace(result, h("div", { class: "loading" }));
  const answers = await Promise.all(["a", "b"].map((side) => ask("/recall", options(parameters, side), signal)));
  const ranks = answers.map((answer) => new Map(answer.hits.map((hit, place) => [hit.memory.id, place])));
  replace(result, answers.map((answer, side) => column(answer, ranks[1 - side])));
  const both = answers[0].hits.filter((hit) => ranks[1].has(hit.memory.id)).length;
  const moved = answers[0].hits.filter((hit, place) => ranks[1].has(hit.memory.id) && ranks[1].get(hit.memory.id) !== place).length;
  const alone = answers.map((answer) => answer.hits.length - both);
  const same = moved + alone[0] + alone[1] === 0;
  replace(verdict, same ? "Both give the same memories in the same order." : `${count(both, "memory is", "memories are")} in both, ${moved} of them in another place; ${alone[0]} only in the first, ${alone[1]} only in the second.`);
}

function options(parameters, side) {
  const get = (name) => parameters[side + name];
  const history = get("history") ?? "auto";
  return {
    query: parameters.q, limit: Number(get("limit")) || 10, history: history === "auto" ? "auto" : history === "true",
    ...(get("reader") && { reader: get("reader") }), ...(get("without") && { signals: SIGNALS.filter((name) => name !== get("without")) }),
    ...(get("day") && { as_of: endOf(get("day")) }),
  };
}

function column(answer, other) {
  const place = (hit, rank) => {
    const there = other.get(hit.memory.id);
    return there === undefined ? h("span", { class: "badge" }, "only here") : there === rank ? "same place" : `place ${there + 1} there`;
  };
  return h("div", {}, !answer.hits.length && h("p", { class: "empty" }, "Nothing is found."),
    h("ol", { class: "items compared" }, answer.hits.map((hit, rank) => h("li", {},
      h("a", { class: "item", href: withParameters({ memory: hit.memory.id, entity: null }), "data-item": hit.memory.id }, h("p", { class: "memory-text" }, data(hit.memory.text))),
      h("p", { class: "meta" }, h("span", {}, hit.score.toFixed(2)), !hit.current && h("span", { class: "badge" }, hit.superseded_by ? "replaced" : "no longer current"), h("span", {}, place(hit, rank)), h("span", {}, [...hit.evidence].sort((one, two) => two.share - one.share).slice(0, 1).map((each) => signalName(each.signal))))))));
}

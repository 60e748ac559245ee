// Browse: all memories as a table, filtered and sorted on the server, a page at a time; select some and change them together.

import { find, findAll, h, replace } from "./dom.js";
import { ask, read } from "./api.js";
import { eraseMemories, forgetMemories, pinMemories, restoreMemories, tagMemories } from "./editing.js";
import { FILTERS, filterBar, kindName, tableOptions } from "./filters.js";
import { statusText } from "./memory_details.js";
import { metaLine } from "./memory_item.js";
import { announce, attempt, showError } from "./notices.js";
import { go, withParameters } from "./router.js";
import { state } from "./state.js";
import { count, data, shortDay } from "./text.js";

const PAGE = 50;
const NARROW = 740; // on a phone the filters are folded
const MOST_SELECTED = 1000;
const COLUMNS = [["told", "Told"], ["kind", "Kind"], ["source", "Source"], ["speaker", "Said by"], ["trust", "Trust"], ["importance", "Importance"]];
const DESCENDING = new Set(["told", "trust", "importance"]);
const selected = new Map(); // by id: the memory; kept from page to page
let selectedIn = null; // the space it belongs to
const HIDDEN = new Set(["forgotten", "archived", "quarantined"]);

export async function renderBrowse(main, route, signal) {
  if (selectedIn !== state.space) selected.clear();
  selectedIn = state.space;
  const { parameters } = route;
  const filters = h("div", {});
  const body = h("div", { "aria-busy": "true" }, h("div", { class: "loading" }));
  const bar = h("div", { class: "bulk-bar", role: "group", "aria-label": "Selected memories", hidden: true });
  replace(main, h("div", { class: "wide" }, h("h1", {}, "Browse"), filters, body, bar));
  const narrow = innerWidth < NARROW;
  const options = tableOptions(parameters);
  const page = Math.max(1, Number(parameters.page) || 1);
  const order = COLUMNS.some(([name]) => name === parameters.order) ? parameters.order : "told";
  const ascending = parameters.up ? parameters.up === "yes" : !DESCENDING.has(order);
  read("/browse/values", {}, signal).then((values) => replace(filters, narrow ? h("details", { class: "more-filters", open: FILTERS.some((name) => parameters[name]) }, h("summary", {}, "Filters"), filterBar(parameters, values)) : filterBar(parameters, values)), (error) => showError(filters, error));
  try {
    const table = await ask("/browse", { ...options, order, ascending, offset: (page - 1) * PAGE, limit: PAGE }, signal);
    const redraw = () => showSelection(bar, body, table, { ...options, order, ascending });
    replace(body, table.total ? [rows(table, { order, ascending }, redraw), pager(table, page)] : empty(parameters));
    redraw();
    announce(`${count(table.total, "memory", "memories")}.`);
  } catch (error) {
    showError(body, error);
  }
  body.removeAttribute("aria-busy");
}

function empty(parameters) {
  const filtered = Object.keys(parameters).some((name) => !["day", "space"].includes(name));
  return h("p", { class: "empty" }, filtered ? "No memory passes these filters." : "Nothing is remembered yet. Press n to add a memory, or drop a file here.");
}

function rows(table, { order, ascending }, redraw) {
  const toggleAll = (event) => {
    for (const row of table.items) mark(row.memory, event.currentTarget.checked);
    for (const box of findAll("[data-select]")) box.checked = event.currentTarget.checked;
    redraw();
  };
  const heads = COLUMNS.map(([name, label]) => {
    const isOrder = name === order;
    const up = isOrder ? !ascending : !DESCENDING.has(name);
    return h("th", { scope: "col", class: `column-${name}`, "aria-sort": isOrder ? (ascending ? "ascending" : "descending") : null },
      h("a", { href: withParameters({ order: name, up: up ? "yes" : "no", page: null }) }, label, isOrder && h("span", { class: "arrow", "aria-hidden": "true" }, ascending ? " ↑" : " ↓")));
  });
  return h("div", { class: "table-scroll", tabindex: 0, role: "group", "aria-label": "Memories" }, h("table", { class: "memories" },
    h("caption", { class: "visually-hidden" }, "All memories that pass the filters"),
    h("thead", {}, h("tr", {},
      h("th", { scope: "col", class: "column-select" }, h("input", { type: "checkbox", "aria-label": "Select all on this page", checked: table.items.every((row) => selected.has(row.memory.id)), on: { change: toggleAll } })),
      h("th", { scope: "col" }, "Memory"), heads, h("th", { scope: "col", class: "column-status" }, "Status"))),
    h("tbody", {}, table.items.map((row) => memoryRow(row, redraw)))));
}

function memoryRow({ memory, status, in_conflict: inConflict, pinned }, redraw) {
  const toggle = (event) => {
    mark({ ...memory, status }, event.currentTarget.checked);
    redraw();
  };
  const said = memory.speaker ?? memory.observed_by;
  return h("tr", { class: HIDDEN.has(status) ? "is-hidden" : null },
    h("td", { class: "column-select" }, h("input", { type: "checkbox", "data-select": "", "aria-label": `Select: ${memory.text.slice(0, 80)}`, checked: selected.has(memory.id), on: { change: toggle } })),
    h("td", { class: "column-memory" },
      h("a", { class: "item", href: withParameters({ memory: memory.id, entity: null }), "data-item": memory.id }, h("p", { class: "memory-text clamped" }, data(memory.text))),
      memory.tags.length > 0 && h("p", { class: "row-tags" }, memory.tags.map((tag) => h("a", { href: withParameters({ tag, page: null }) }, "#", data(tag)))),
      h("div", { class: "row-meta" }, metaLine({ ...memory, tags: [] }, status !== "current" && badge(statusText(memory, status)), inConflict && badge("in conflict"), pinned && "pinned"))),
    h("td", { class: "column-told" }, shortDay(memory.told_at)),
    h("td", { class: "column-kind" }, kindName(memory.kind)),
    h("td", { class: "column-source" }, memory.source && data(memory.source)),
    h("td", { class: "column-speaker" }, said && data(said)),
    h("td", { class: "column-trust number" }, memory.trust < 1 ? memory.trust.toFixed(1) : "full"),
    h("td", { class: "column-importance number" }, memory.importance.toFixed(1)),
    h("td", { class: "column-status" }, h("span", { class: status === "current" ? "faint" : "badge" }, statusText(memory, status)), inConflict && h("span", { class: "badge line" }, "in conflict"), pinned && h("span", { class: "faint line" }, "pinned")));
}

const badge = (text) => h("span", { class: "badge" }, text);
const mark = (memory, on) => (on ? selected.set(memory.id, memory) : selected.delete(memory.id));

function pager(table, page) {
  const pages = Math.ceil(table.total / PAGE);
  const link = (to, label, rel) => (to < 1 || to > pages || to === page ? h("span", { class: "faint", "aria-disabled": "true" }, label) : h("a", { href: withParameters({ page: to === 1 ? null : to }), rel }, label));
  const jump = (event) => {
    event.preventDefault();
    const wanted = Math.min(pages, Math.max(1, Math.round(Number(new FormData(event.currentTarget).get("page")) || 1)));
    go(withParameters({ page: wanted === 1 ? null : wanted }));
  };
  const last = table.offset + table.items.length;
  return h("nav", { class: "pager", "aria-label": "Pages" },
    h("span", {}, table.items.length ? `${(table.offset + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${count(table.total, "memory", "memories")}` : "This page is empty."),
    h("span", { class: "pages" }, link(1, "First"), link(page - 1, "Previous", "prev"),
      h("form", { on: { submit: jump } }, h("label", {}, "Page ", h("input", { type: "text", inputmode: "numeric", name: "page", value: String(page) })), ` of ${pages.toLocaleString("en")}`),
      link(page + 1, "Next", "next"), link(pages, "Last")));
}

function showSelection(bar, body, table, options) {
  const memories = [...selected.values()];
  bar.hidden = !memories.length;
  const run = (action) => async () => {
    if (await action(memories)) {
      selected.clear();
      bar.hidden = true;
      for (const box of findAll("[data-select]")) box.checked = false;
    }
  };
  const clear = () => {
    selected.clear();
    for (const box of findAll("input[type=checkbox]", body)) box.checked = false;
    bar.hidden = true;
  };
  const all = async () => {
    const found = await attempt(() => ask("/browse", { ...options, offset: 0, limit: MOST_SELECTED }));
    if (!found) return;
    for (const row of found.items) mark({ ...row.memory, status: row.status }, true);
    for (const box of findAll("[data-select]")) box.checked = true;
    showSelection(bar, body, table, options);
  };
  const isOff = state.day !== null;
  const button = (label, action, attributes = {}) => h("button", { type: "button", disabled: isOff, ...attributes, on: { click: run(action) } }, label);
  const hidden = memories.some((memory) => HIDDEN.has(memory.status));
  const shown = memories.some((memory) => !HIDDEN.has(memory.status));
  const held = memories.some((memory) => memory.status === "quarantined");
  const more = Math.min(table.total, MOST_SELECTED);
  replace(bar, h("strong", { role: "status" }, `${count(memories.length, "memory", "memories")} selected`),
    memories.length < more && h("button", { type: "button", class: "link", on: { click: all } }, table.total > more ? `Select the first ${more.toLocaleString("en")}` : `Select all ${more.toLocaleString("en")}`),
    h("span", { class: "bulk-actions" },
      shown && !hidden && [button("Tag", tagMemories), button("Pin", pinMemories), button("Forget", forgetMemories)],
      hidden && !shown && button(held ? "Release from quarantine" : "Restore", restoreMemories),
      hidden && shown && h("span", { class: "faint" }, "Hidden and visible ones are selected"),
      button("Erase", eraseMemories, { class: "quiet" }),
      h("button", { type: "button", class: "quiet", on: { click: clear } }, "Clear")));
  const head = find("thead input[type=checkbox]", body);
  if (head) head.checked = table.items.every((row) => selected.has(row.memory.id));
}

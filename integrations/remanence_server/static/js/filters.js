// The filters of Search and Browse: selects with counts, and dates. They are part of the address.

import { h } from "./dom.js";
import { go, withParameters } from "./router.js";
import { capital, data } from "./text.js";

const KINDS = { episode: "events", semantic: "facts", viewpoint: "viewpoints", procedure: "procedures" };
export const kindName = (kind) => ({ episode: "event", semantic: "fact", viewpoint: "viewpoint" })[kind] ?? kind;
const TRUST = [["full", "Fully trusted"], ["less", "Less trusted"]];
const CONFLICT = [["yes", "In conflict"], ["no", "Not in conflict"]];
export const VISIBLE = ["current", "superseded", "expired"];
export const STATUS_NAMES = {
  current: "current", superseded: "replaced", expired: "expired", archived: "archived", forgotten: "forgotten", quarantined: "in quarantine",
};
export const FILTERS = ["status", "kind", "tag", "source", "speaker", "since", "until", "trust", "conflict"];

/** The bar. `values` are what the space has, `shown` the names of the filters of this page. */
export function filterBar(parameters, values, shown = FILTERS) {
  const change = (name) => (event) => go(withParameters({ [name]: event.currentTarget.value || null, page: null, memory: null, entity: null }));
  const choice = (name, label, any, options) => {
    const chosen = parameters[name] ?? "";
    const known = options.some(([value]) => value === chosen) || !chosen;
    return h("label", {}, h("span", {}, label), h("select", { name, "aria-label": label, on: { change: change(name) } },
      h("option", { value: "" }, any), !known && h("option", { value: chosen, selected: true }, chosen),
      options.map(([value, text]) => h("option", { value, selected: value === chosen }, text))));
  };
  const counted = (counts, name = (value) => value) => Object.entries(counts).map(([value, count]) => [value, `${name(value)} (${count.toLocaleString("en")})`]);
  const day = (name, label) => h("label", {}, h("span", {}, label), h("input", { type: "date", name, "aria-label": label, value: parameters[name] ?? "", on: { change: change(name) } }));
  const parts = {
    status: () => choice("status", "Status", "Visible", [["all", "All"], ...counted(values.statuses, (each) => capital(STATUS_NAMES[each] ?? each)).filter(([each]) => each !== "erased")]),
    kind: () => choice("kind", "Kind", "Any", counted(values.kinds, (each) => capital(KINDS[each] ?? each))),
    tag: () => choice("tag", "Tag", "Any", counted(values.tags)),
    source: () => choice("source", "Source", "Any", counted(values.sources)),
    speaker: () => choice("speaker", "Said by", "Anyone", counted(values.speakers)),
    since: () => day("since", "Told from"),
    until: () => day("until", "Told to"),
    trust: () => choice("trust", "Trust", "Any", TRUST),
    conflict: () => choice("conflict", "Conflict", "Any", CONFLICT.map(([value, text]) => [value, value === "yes" ? `${text} (${values.in_conflict})` : text])),
  };
  const active = shown.filter((name) => parameters[name]);
  return h("div", { class: "filter-bar", role: "group", "aria-label": "Filters" },
    shown.map((name) => parts[name]()),
    active.length > 0 && h("a", { class: "clear-filters", href: withParameters({ ...Object.fromEntries(FILTERS.map((name) => [name, null])), page: null }) }, "Clear filters"));
}

/** The filters as options of a recall. */
export function recallOptions({ kind, tag, source, speaker, since, trust }) {
  return {
    ...(kind && { kinds: [kind] }), ...(tag && { tags: [tag] }), ...(source && { source: [source] }), ...(speaker && { speaker: [speaker] }),
    ...(since && { since }), ...(trust === "full" && { min_trust: 1 }),
  };
}

/** The filters as options of the table. */
export function tableOptions(parameters) {
  const { status, until, trust, conflict } = parameters;
  return {
    ...recallOptions(parameters),
    ...(status !== "all" && { status: status ? [status] : VISIBLE }),
    ...(until && { until: `${until}T23:59:59.999999+00:00` }),
    ...(trust === "less" && { max_trust: 1 }),
    ...(conflict && { in_conflict: conflict === "yes" }),
  };
}

/** What the filters say, for the line above a list. */
export const filterText = (parameters) => FILTERS.filter((name) => parameters[name]).map((name) => [" · ", data(parameters[name])]);

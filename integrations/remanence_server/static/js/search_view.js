// Search: a question and the memories that answer it, best first, each with its reasons. Without one, what was learned last.

import { h, replace } from "./dom.js";
import { ask, read } from "./api.js";
import { FILTERS, filterBar, recallOptions } from "./filters.js";
import { hitItem, signalName } from "./memory_item.js";
import { announce, showError } from "./notices.js";
import { RECENT, recentList } from "./recent.js";
import { go, to, withParameters } from "./router.js";
import { state } from "./state.js";
import { count, data } from "./text.js";

const FIRST = 12;
const MOST = 100;
const ALL = "*"; // no space can be called so
const SHOWN_FILTERS = FILTERS.filter((name) => name !== "status"); // "Past" says that
const HIT_FILTERS = ["until", "trust", "conflict"];
const PAST = [["auto", "Automatic"], ["true", "With what was replaced"], ["false", "Only what holds"]];

export async function renderSearch(main, route, signal) {
  const { q = "", history = "auto", during = "" } = route.parameters;
  const field = h("input", { type: "search", id: "search", value: q, placeholder: "Ask this memory…", autocomplete: "off", spellcheck: "false", "aria-label": "Question" });
  const results = h("div", { id: "results", "aria-busy": "true" }, h("div", { class: "loading" }));
  const filters = h("div", { class: "search-filters" });
  const submit = (event) => {
    event.preventDefault();
    go(withParameters({ q: field.value.trim(), limit: null, memory: null, entity: null }));
  };
  replace(main, h("div", { class: "column" }, h("h1", { class: "visually-hidden" }, "Search"),
    h("form", { class: "search", role: "search", on: { submit } }, field), filters, results));
  if (q.trim()) {
    const narrowing = h("details", { class: "more-filters", open: SHOWN_FILTERS.some((name) => route.parameters[name]) }, h("summary", {}, "Filters"));
    replace(filters, pastAndTime(history, during, alsoAsked(route.parameters)), narrowing);
    read("/browse/values", {}, signal).then((values) => narrowing.append(filterBar(route.parameters, values, SHOWN_FILTERS)), () => narrowing.remove());
  }
  try {
    if (q.trim()) await showHits(results, route.parameters, signal);
    else replace(results, recentList((await read("/recent", { limit: RECENT }, signal)).items));
  } catch (error) {
    showError(results, error);
  }
  results.removeAttribute("aria-busy");
}

/** The other spaces that are asked as well: all of them, one, or none. */
function alsoAsked({ also }) {
  const others = state.spaces.filter((name) => name !== state.space);
  return also === ALL ? others : others.filter((name) => name === also);
}

function pastAndTime(history, during, also) {
  const others = state.spaces.filter((name) => name !== state.space);
  const chosen = also.length > 1 ? ALL : also[0] ?? "";
  const spaces = [["", "This space"], ...others.map((name) => [name, `This and ${name}`]), ...(others.length > 1 ? [[ALL, "All spaces"]] : [])];
  const widen = (event) => go(withParameters({ also: event.currentTarget.value || null, memory: null }));
  const choose = (event) => go(withParameters({ history: event.currentTarget.value, memory: null }));
  const time = (event) => go(withParameters({ during: event.currentTarget.value.trim() || null, memory: null }));
  return h("div", { class: "filter-bar" },
    h("label", {}, h("span", {}, "Past"), h("select", { name: "history", "aria-label": "Past", on: { change: choose } }, PAST.map(([value, text]) => h("option", { value, selected: value === history }, text)))),
    h("label", {}, h("span", {}, "True during"), h("input", { type: "text", name: "during", "aria-label": "True during", value: during, placeholder: "May 2026", on: { change: time } })),
    others.length > 0 && h("label", {}, h("span", {}, "Search in"), h("select", { name: "also", "aria-label": "Search in", on: { change: widen } }, spaces.map(([value, text]) => h("option", { value, selected: value === chosen }, text)))));
}

async function showHits(results, parameters, signal) {
  const { q, history = "auto", during } = parameters;
  const limit = Math.min(MOST, Number(parameters.limit) || FIRST);
  const narrowsHits = HIT_FILTERS.some((name) => parameters[name] && !(name === "trust" && parameters.trust === "full"));
  const also = alsoAsked(parameters);
  const answer = await ask(also.length ? "/union/recall" : "/recall", {
    ...(also.length ? { spaces: also } : {}), query: q, limit: narrowsHits ? MOST : limit, history: history === "auto" ? "auto" : history === "true", ...(during ? { during } : {}), ...recallOptions(parameters),
  }, signal);
  if (narrowsHits) answer.hits = answer.hits.filter((hit) => passes(hit, parameters)).slice(0, limit);
  const scale = Math.max(0.35, ...answer.hits.flatMap((hit) => hit.evidence.map((each) => each.share)));
  const silent = Object.entries({ ...answer.abstained, ...answer.missing });
  const good = answer.hits.filter((hit) => hit.score > 0.02);
  const shown = limit > FIRST || !good.length ? answer.hits : good;
  const rest = answer.hits.length - shown.length;
  const more = answer.hits.length >= limit && limit < MOST ? Math.min(MOST, limit * 2 + 1) : rest > 0 ? limit + FIRST : 0;
  const narrowed = FILTERS.some((name) => parameters[name]);
  replace(results,
    h("p", { class: "eyebrow summary" }, summary(answer, good), narrowsHits && ` Of the first ${MOST} that were found.`),
    answer.hits.length > 0 && h("ol", { class: "items hits" }, shown.map((hit) => hitItem(hit, scale))),
    !answer.hits.length && h("p", { class: "empty" }, narrowed ? ["No memory passes these filters", narrowsHits && ` among the first ${MOST} that were found`, ". Take one away, or ask differently."] : "No memory is near this question. Ask with a name or a word of what was told."),
    more > 0 && h("p", { class: "more" }, h("a", { class: "button", href: withParameters({ limit: more }) }, rest > 0 ? `Show ${count(rest, "more memory", "more memories")} with nearly no score` : "Show more")),
    h("p", { class: "next-steps" }, h("a", { href: to("try", null, { q }) }, "See what would reach a prompt"), h("a", { href: to("compare", null, { q }) }, "Compare two settings")),
    silent.length > 0 && h("p", { class: "faint silent" }, silent.map(([name, reason]) => h("span", {}, `${signalName(name)} did not take part: `, data(reason), ". "))));
  announce(good.length ? `${count(good.length, "memory", "memories")} found.` : "Nothing here answers this.");
}

/** Whether a hit passes the filters that a recall has not: those are applied to the first hundred hits. */
function passes({ memory, disagreements }, { until, trust, conflict }) {
  const inConflict = disagreements.some((each) => each.kind === "conflict");
  return (!until || memory.told_at.slice(0, 10) <= until) && (trust !== "less" || memory.trust < 1) && (!conflict || inConflict === (conflict === "yes"));
}

function summary(answer, shown) {
  if (!answer.hits.length) return "Nothing is known that fits.";
  if (!shown.length || answer.confident === false) return "Nothing here answers this with confidence. The nearest memories:";
  return `${count(shown.length, "memory", "memories")}${state.day ? ", as known on that day" : ""}`;
}

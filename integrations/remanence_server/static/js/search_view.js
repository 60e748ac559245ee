// Search; without a question, what the space is about and what was learned last.

import { find, h, replace } from "./dom.js";
import { ask, read } from "./api.js";
import { hitItem, memoryItem, metaLine, signalName } from "./memory_item.js";
import { announce, showError } from "./notices.js";
import { go, withParameters } from "./router.js";
import { state } from "./state.js";
import { count, data } from "./text.js";

const HITS = 12;
const RECENT = 20;
let unlisted = []; // memories that arrived while the list of the last ones was being read

export async function renderSearch(main, route, signal) {
  const { q = "", history = "auto", during = "" } = route.parameters;
  const field = h("input", { type: "search", id: "search", value: q, placeholder: "Ask this memory…", autocomplete: "off", spellcheck: "false", "aria-label": "Question" });
  const results = h("div", { id: "results", "aria-busy": "true" }, h("div", { class: "loading" }));
  const submit = (event) => {
    event.preventDefault();
    const asked = new FormData(event.currentTarget);
    go(withParameters({ q: field.value.trim(), history: asked.get("history"), during: asked.get("during"), memory: null, entity: null }));
  };
  const form = h("form", { class: "search", role: "search", on: { submit } }, field, q && filters(history, during));
  replace(main, h("div", { class: "column" }, h("h1", { class: "visually-hidden" }, "Search"), form, results));
  try {
    await (q ? showHits(results, { q, history, during }, signal) : showOverview(results, signal));
  } catch (error) {
    showError(results, error);
  }
  results.removeAttribute("aria-busy");
}

function filters(history, during) {
  const choose = (event) => event.currentTarget.form.requestSubmit();
  const options = [["auto", "as the question needs"], ["true", "with what was replaced"], ["false", "only what holds"]];
  return h("div", { class: "filters" },
    h("label", {}, "Past: ", h("select", { name: "history", on: { change: choose } }, options.map(([value, text]) => h("option", { value, selected: value === history }, text)))),
    h("label", {}, "True during: ", h("input", { type: "text", name: "during", value: during, placeholder: "May 2026" })));
}

async function showHits(results, { q, history, during }, signal) {
  const answer = await ask("/recall", {
    query: q, limit: HITS, history: history === "auto" ? "auto" : history === "true", ...(during ? { during } : {}),
  }, signal);
  const scale = Math.max(0.35, ...answer.hits.flatMap((hit) => hit.evidence.map((each) => each.share)));
  const silent = Object.entries({ ...answer.abstained, ...answer.missing });
  const shown = answer.hits.filter((hit) => hit.score > 0.02);
  const rest = answer.hits.length - shown.length;
  replace(results,
    h("p", { class: "eyebrow summary" }, summary(answer, shown)),
    h("ol", { class: "items hits" }, (shown.length ? shown : answer.hits).map((hit) => hitItem(hit, scale))),
    shown.length > 0 && rest > 0 && h("p", { class: "faint" }, `${count(rest, "more memory", "more memories")} with nearly no score left out.`),
    silent.length > 0 && h("p", { class: "faint silent" }, silent.map(([name, reason]) => h("span", {}, `${signalName(name)} did not take part: `, data(reason), ". "))));
  announce(shown.length ? `${count(shown.length, "memory", "memories")} found.` : "Nothing here answers this.");
}

function summary(answer, shown) {
  if (!answer.hits.length) return "Nothing is known that fits.";
  if (!shown.length || answer.confident === false) return "Nothing here answers this with confidence. The nearest memories:";
  return `${count(shown.length, "memory", "memories")}${state.day ? ", as known on that day" : ""}`;
}

async function showOverview(results, signal) {
  unlisted = [];
  const [profile, recent, stats] = await Promise.all([
    read("/profile", { max_tokens: 160 }, signal), read("/recent", { limit: RECENT }, signal), read("/stats", {}, signal),
  ]);
  const statements = profile.statements.slice(0, 6);
  replace(results,
    statements.length > 0 && h("section", { "aria-labelledby": "profile-title" },
      h("h2", { id: "profile-title", class: "eyebrow-title" }, "What this space is about"),
      h("p", { class: "profile" }, statements.map((each) => [
        each.memories.length ? h("a", { href: withParameters({ memory: each.memories[0] }) }, data(each.text)) : data(each.text), " ",
      ]))),
    h("section", { "aria-labelledby": "recent-title" },
      h("h2", { id: "recent-title", class: "eyebrow-title" }, state.day ? "Learned last by then" : "Learned last"),
      h("ol", { class: "items", id: "recent" }, recent.items.map((memory) => recentItem(memory))),
      recent.items.length === 0 && h("p", { class: "empty" }, "Nothing yet. Add a memory, or drop a file here."),
      h("p", { class: "faint" }, `${count(stats.memories.current ?? 0, "current memory", "current memories")}, ${count(stats.entities, "entity", "entities")}, ${count(stats.relations, "relation")}.`)));
  unlisted.splice(0).forEach(memoryArrived);
}

function recentItem(memory) {
  return h("li", {}, memoryItem(memory), metaLine(memory));
}

/** Put a memory that has just arrived on top of the list, if it is shown, or else when it is. */
export function memoryArrived(memory) {
  const list = find("#recent");
  if (!list) unlisted = [...unlisted.slice(-RECENT), memory];
  if (!list || find(`[data-item="${CSS.escape(memory.id)}"]`, list)) return;
  const item = recentItem(memory);
  item.classList.add("arrived");
  list.prepend(item);
  list.nextElementSibling?.matches(".empty") && list.nextElementSibling.remove();
  while (list.children.length > 2 * RECENT) list.lastElementChild.remove();
}

// The timeline: what was true when, and when it was learned. For one entity, or for the whole space.

import { h, replace } from "./dom.js";
import { read } from "./api.js";
import { announce, showError } from "./notices.js";
import { go, to, withParameters } from "./router.js";
import { historyList } from "./history_list.js";
import { count, data } from "./text.js";
import { drawTimeline, legend } from "./timeline_chart.js";

const RELATIONS = 60;

export async function renderTimeline(main, route, signal) {
  const field = h("input", { type: "text", list: "entity-names", placeholder: "everything, or a name", "aria-label": "Timeline of", value: "" });
  const body = h("div", {}, h("div", { class: "loading" }));
  const submit = (event) => {
    event.preventDefault();
    go(to("timeline", field.value.trim() || null));
  };
  const title = h("h1", {}, "Timeline");
  replace(main, h("div", { class: "wide" },
    h("div", { class: "view-head" }, h("div", {}, title, h("p", { class: "lede" }, "Bars show when something was true. Rings show when it was learned.")),
      h("form", { class: "controls", on: { submit } }, field, h("datalist", { id: "entity-names" }), h("button", {}, "Show"), route.thing && h("a", { href: to("timeline") }, "Everything"))),
    body));
  try {
    await fill(route.thing, { title, body, main }, signal);
  } catch (error) {
    showError(body, error);
  }
  read("/graph/map", { limit: 300 }, signal).then((map) => {
    main.querySelector("#entity-names")?.replaceChildren(...map.nodes.map((node) => h("option", { value: node.name })));
  }, () => undefined);
}

async function fill(thing, { title, body }, signal) {
  const isMemory = thing !== null && !/^e[0-9a-f]{16}$/.test(thing) && /^[0-9a-f]{24}$/.test(thing);
  if (thing && !isMemory) {
    const entity = await read("/entities/resolve", { alias: thing }, signal);
    replace(title, "Timeline of ", data(entity.name));
  }
  const relations = isMemory ? { items: [], total: 0 } : await read("/graph/relations", { node: thing, limit: RELATIONS }, signal);
  const events = thing ? (await read("/graph/timeline", { node: thing }, signal)).items : [];
  const chart = h("div", { class: "chart" });
  const open = (relation) => relation.evidence.length && go(withParameters({ memory: relation.evidence[0], entity: null }));
  replace(body,
    relations.items.length > 0 && legend(),
    relations.items.length > 0 ? chart : !isMemory && h("p", { class: "empty" }, "No relation is known yet."),
    relations.total > relations.items.length && h("p", { class: "faint" }, `The ${relations.items.length} learned last of ${count(relations.total, "relation")}.`),
    thing && h("section", {}, h("h2", {}, "In the order of learning"), historyList(events)));
  if (relations.items.length) drawTimeline(chart, relations.items, open, signal);
  announce(`${count(relations.items.length, "relation")} shown.`);
}

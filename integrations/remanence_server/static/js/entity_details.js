// All about one entity: its names, relations, the memories that mention it, similar names, and history.

import { h } from "./dom.js";
import { read } from "./api.js";
import { decide, decisionButton } from "./decisions.js";
import { historyList } from "./history_list.js";
import { relationRow, section } from "./memory_details.js";
import { notice } from "./notices.js";
import { to, withParameters } from "./router.js";
import { state } from "./state.js";
import { count, data, windowText } from "./text.js";

const MEMORIES = 40;

export async function entityDetails(nameOrId, signal) {
  const entity = await read("/entities/resolve", { alias: nameOrId }, signal);
  const [relations, around, similar, history] = await Promise.all([
    read("/graph/relations", { node: entity.id, limit: 60 }, signal),
    read("/graph/query", { start: entity.id, relations: ["mentions"], depth: 1, limit: MEMORIES }, signal),
    read("/entities/propose", { name: entity.name, limit: 4 }, signal),
    read("/graph/timeline", { node: entity.id }, signal),
  ]);
  const memories = around.nodes.filter((node) => node.kind === "memory");
  return [
    h("h2", { tabindex: -1 }, data(entity.name)),
    h("p", { class: "meta" }, h("span", {}, entity.kind), h("span", {}, `${count(memories.length, "memory", "memories")}${around.truncated ? " or more" : ""}`)),
    h("div", { class: "actions" },
      h("a", { href: to("graph", entity.id, { entity: entity.id }) }, "Neighbourhood"), h("a", { href: to("timeline", entity.id, { entity: entity.id }) }, "Timeline")),
    names(entity),
    similar.items.length > 0 && section("Perhaps the same", h("ul", { class: "plain-list" }, similar.items.map((found) => candidate(entity, found)))),
    relations.items.length > 0 && section("Relations", h("ul", { class: "plain-list" }, [...relations.items].reverse().map(relationRow))),
    memories.length > 0 && section("Memories", h("ul", { class: "plain-list" }, memories.map((node) => h("li", {}, h("a", { href: withParameters({ memory: node.id, entity: null }) }, data(node.label)))))),
    section("History", historyList(history.items)),
  ];
}

function names(entity) {
  if (!entity.aliases.length) return null;
  const rows = entity.aliases.map((alias) => h("li", {}, h("label", {}, h("input", { type: "checkbox", value: alias.name, name: "alias" }), " ", data(alias.name), h("span", { class: "faint" }, ` ${windowText(alias.valid_from, alias.valid_until)}`))));
  const submit = (event) => {
    event.preventDefault();
    const chosen = new FormData(event.currentTarget).getAll("alias");
    if (chosen.length) decide({ action: "split", entity: entity.id, names: chosen });
    else notice("Choose at least one name to split off.");
  };
  return section("Also called", h("form", { on: { submit } }, h("ul", { class: "plain-list" }, rows),
    h("div", { class: "actions" }, h("button", { disabled: state.day !== null }, "Split off the chosen names"))));
}

function candidate(entity, found) {
  return h("li", {},
    h("a", { href: withParameters({ entity: found.entity.id }) }, data(found.entity.name)), h("p", { class: "faint" }, data(found.reason)),
    h("div", { class: "actions" }, decisionButton("Merge", { action: "merge", entity: found.entity.id, into: entity.id })));
}

// The memories that were learned last; new ones come on top as they arrive.

import { find, h } from "./dom.js";
import { memoryItem, metaLine } from "./memory_item.js";
import { state } from "./state.js";

export const RECENT = 20;
let unlisted = []; // memories that arrived while the list was being read

/** The list of the last memories. */
export function recentList(memories) {
  const list = h("section", { "aria-labelledby": "recent-title" },
    h("h2", { id: "recent-title", class: "eyebrow-title" }, state.day ? "Learned last by then" : "Learned last"),
    h("ol", { class: "items", id: "recent" }, memories.map(recentItem)),
    memories.length === 0 && h("p", { class: "empty" }, "Nothing yet. Add a memory with the button above, or drop a file here."));
  setTimeout(() => unlisted.splice(0).forEach(memoryArrived));
  return list;
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

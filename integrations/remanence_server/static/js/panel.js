// The panel beside the page: one memory, or one entity, with all that is known about it.

import { find, h, replace } from "./dom.js";
import { entityDetails } from "./entity_details.js";
import { memoryDetails } from "./memory_details.js";
import { showError } from "./notices.js";
import { go, withParameters } from "./router.js";
import { state } from "./state.js";

let open = "";
let loading = null;
let before = null;

export const closePanel = () => go(withParameters({ memory: null, entity: null }));

/** Show the memory or entity that the address names; nothing if it names none. */
export async function renderPanel({ memory, entity, again }) {
  const panel = find("#panel");
  const key = memory || entity ? JSON.stringify([memory, entity, state.day, state.space]) : "";
  if (key === open && !again) return;
  const wasOpen = open !== "";
  open = key;
  loading?.abort();
  for (const item of document.querySelectorAll("main [data-item][aria-current]")) item.removeAttribute("aria-current");
  if (!key) {
    panel.hidden = true;
    panel.replaceChildren(); // what was still being read is not waited for
    if (wasOpen && before?.isConnected) before.focus();
    return;
  }
  if (!wasOpen) before = document.activeElement;
  loading = new AbortController();
  find(`main [data-item="${CSS.escape(memory ?? entity)}"]`)?.setAttribute("aria-current", "true");
  const body = h("div", {}, h("div", { class: "loading" }));
  const close = h("button", { type: "button", class: "quiet icon", "aria-label": "Close the details", on: { click: closePanel } }, "✕");
  replace(panel, h("div", { class: "panel-head" }, h("span", { class: "eyebrow" }, memory ? "Memory" : "Entity"), close), body);
  panel.hidden = false;
  panel.scrollTop = 0;
  try {
    const content = await (memory ? memoryDetails(memory, loading.signal) : entityDetails(entity, loading.signal));
    replace(body, content);
    if (!wasOpen) find("h2", body)?.focus({ preventScroll: true }); // the button that closes it stays in sight
  } catch (error) {
    showError(body, error);
  }
}

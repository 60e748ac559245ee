// Keys that work everywhere on the page.

import { find, findAll } from "./dom.js";
import { hasDialog } from "./dialogs.js";
import { addMemory } from "./editing.js";
import { showHelp } from "./help.js";
import { go, parse, to, withParameters } from "./router.js";
import { state } from "./state.js";
import { showDay, stepDay } from "./timebar.js";

const VIEWS = ["overview", "search", "browse", "graph", "timeline", "answers", "compare", "try", "review", "upkeep"];

export function startKeyboard() {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || hasDialog()) return;
    const field = event.target.closest("input, select, textarea");
    if (event.key === "Escape") return escape(field, event);
    if (field) return;
    if (handle(event.key, event.target)) event.preventDefault();
  });
  find("#help-button").addEventListener("click", showHelp);
}

function handle(key, target) {
  if (key === "/") return focusSearch();
  if (key === "?") return showHelp();
  if (key === "[") return stepDay(-1) ?? true;
  if (key === "]") return stepDay(1) ?? true;
  if (/^[0-9]$/.test(key)) return go(to(VIEWS[(Number(key) + 9) % 10])) ?? true;
  if (key === "n") return addMemory() && true;
  if (key === "e") return press("[data-key=correct]");
  if (key === "x") return press("[data-select]", target.closest("tr"));
  if (key === "j" || (key === "ArrowDown" && target.closest("[data-item]"))) return moveFocus(1);
  if (key === "k" || (key === "ArrowUp" && target.closest("[data-item]"))) return moveFocus(-1);
  return false;
}

/** Press what the page has for a key; false if it has nothing. */
function press(selector, root = document) {
  const button = root && find(selector, root);
  if (!button || button.disabled) return false;
  button.click();
  return true;
}

async function focusSearch() {
  if (!find("#search")) go(to("search"));
  await new Promise((resolve) => setTimeout(resolve, 30));
  find("#search")?.focus();
  find("#search")?.select();
}

/** Move the focus to the next or previous item of the list. */
function moveFocus(step) {
  const items = findAll("main [data-item]");
  if (!items.length) return false;
  const place = items.indexOf(document.activeElement.closest?.("[data-item]"));
  const next = items[Math.max(0, Math.min(items.length - 1, place < 0 ? (step > 0 ? 0 : items.length - 1) : place + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

/** Leave a field, else close the panel, else return to now. */
function escape(field, event) {
  const { parameters } = parse();
  if (field && field.type !== "range") return field.blur();
  if (parameters.memory || parameters.entity) go(withParameters({ memory: null, entity: null }));
  else if (state.day !== null) showDay(null);
  else return undefined;
  event.preventDefault();
  return undefined;
}

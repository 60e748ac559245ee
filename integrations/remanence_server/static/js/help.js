// The help that `?` opens.

import { h } from "./dom.js";
import { closing, openDialog } from "./dialogs.js";

const KEYS = [
  ["/", "Go to the search field"],
  ["j k", "Next and previous item; so do the arrow keys"],
  ["Enter", "Open the item"],
  ["1 … 9 0", "Overview, Search, Browse, Map, Timeline, Answers, Compare, Try it, Review, Upkeep"],
  ["n", "Add a memory"],
  ["e", "Correct the memory that is open"],
  ["x", "Select the row in the table of memories"],
  ["[ ]", "To the day before or after on which something was learned"],
  ["+ - 0", "On the map: closer, farther, all of it; the arrow keys move"],
  ["Esc", "Close what is open; then return to now"],
  ["?", "This help"],
];

export function showHelp() {
  return openDialog(
    "Help",
    h("h2", {}, "How to look around"),
    h("p", { class: "lede" }, "The bar at the bottom has one mark for each day on which something was learned. Drag it, and the whole page shows what was believed on that day."),
    h("dl", { class: "keys" }, KEYS.map(([keys, meaning]) => [h("dt", {}, keys.split(" ").map((key) => (key === "…" ? "…" : h("kbd", {}, key)))), h("dd", {}, meaning)])),
    h("p", { class: "lede" }, "Drop a file anywhere to import it: text, Markdown, JSON lines, or a chat export."),
    h("div", { class: "buttons" }, closing("", "Close", { class: "primary" })),
  );
}

// Starts the page: the space, the views by address, the panel, live changes.

import { renderAnswers } from "./answers_view.js";
import { debounce, find, findAll, h, replace } from "./dom.js";
import { onTokenNeeded, readNow } from "./api.js";
import { renderBrowse } from "./browse_view.js";
import { renderCompare } from "./compare_view.js";
import { askForToken } from "./dialogs.js";
import { onDecided } from "./decisions.js";
import { addMemory } from "./editing.js";
import { startImport } from "./file_import.js";
import { renderGraph } from "./graph_view.js";
import { startKeyboard } from "./keyboard.js";
import { follow } from "./live.js";
import { announce, attempt, showError } from "./notices.js";
import { renderOverview } from "./overview_view.js";
import { renderPanel } from "./panel.js";
import { go, parse, to, withParameters } from "./router.js";
import { renderReview } from "./review_view.js";
import { memoryArrived } from "./recent.js";
import { renderSearch } from "./search_view.js";
import { keepToken, state, update } from "./state.js";
import { capital, shorten } from "./text.js";
import { startTheme } from "./theme.js";
import { loadDays, startTimebar } from "./timebar.js";
import { renderTimeline } from "./timeline_view.js";
import { renderTry } from "./try_view.js";
import { renderUpkeep } from "./upkeep_view.js";

const VIEWS = {
  overview: renderOverview, search: renderSearch, browse: renderBrowse, graph: renderGraph, timeline: renderTimeline,
  answers: renderAnswers, compare: renderCompare, try: renderTry, review: renderReview, upkeep: renderUpkeep,
};
const TITLES = { graph: "Map", try: "Try it" };
let shown = { view: "", key: "" };
let rendering = null;

/** Show what the address says. Only what changed is drawn again. */
async function show({ again = false } = {}) {
  const route = parse();
  const { memory, entity, ...own } = route.parameters;
  const space = own.space && state.spaces.includes(own.space) ? own.space : state.space;
  const spaceChanged = space !== state.space;
  update({ day: own.day ?? null, space });
  if (spaceChanged) await enterSpace();
  const view = VIEWS[route.view] ? route.view : "overview";
  const key = JSON.stringify([view, route.thing, own, state.space]);
  for (const link of findAll(".masthead nav a")) {
    link.href = to(link.dataset.view);
    if (link.dataset.view === view) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    else link.removeAttribute("aria-current");
  }
  if (again || key !== shown.key) {
    const sameView = view === shown.view;
    shown = { view, key };
    rendering?.abort();
    rendering = new AbortController();
    const main = find("#main");
    main.className = view === "graph" ? "full" : "";
    document.title = `${TITLES[view] ?? capital(view)} · Remanence`;
    const drawn = VIEWS[view](main, { ...route, view }, rendering.signal);
    if (!sameView && document.activeElement === document.body) main.focus({ preventScroll: true });
    drawn.catch((error) => showError(main, error));
  }
  renderPanel({ memory, entity, again });
}

async function enterSpace() {
  find("#space").value = state.space;
  await loadDays();
  follow(received);
}

const reloadDays = debounce(() => attempt(loadDays), 1500);
const showAgain = debounce(() => show({ again: true }), 900);

function received(change) {
  reloadDays();
  if (state.day !== null) return;
  if (change.kind === "remembered" && change.memory) {
    memoryArrived(change.memory);
    announce(`New memory: ${shorten(change.memory.text, 120)}`);
  }
  if (["graph", "timeline"].includes(shown.view)) showAgain();
}

async function start() {
  startTheme();
  onTokenNeeded(async (used, problem) => {
    const given = await askForToken(used ? problem.detail : "");
    if (given) keepToken(given);
    return Boolean(given);
  });
  startTimebar();
  startKeyboard();
  onDecided(() => show({ again: true }));
  startImport(() => show({ again: true }));
  find("#add-button").addEventListener("click", addMemory);
  find("[data-skip]").addEventListener("click", (event) => {
    event.preventDefault();
    find("#main").focus();
  });
  try {
    const { spaces } = await readNow("spaces");
    const names = spaces.length ? spaces : ["default"];
    const wanted = parse().parameters.space;
    const select = find("#space");
    replace(select, names.map((name) => h("option", { value: name }, name)));
    select.addEventListener("change", () => go(withParameters({ space: select.value, day: null, memory: null, entity: null })));
    find("#space-choice").hidden = names.length < 2;
    update({ spaces: names, space: names.includes(wanted) ? wanted : names[0] });
    await enterSpace();
  } catch (error) {
    showError(find("#main"), error);
    return;
  }
  addEventListener("hashchange", () => show());
  await show();
}

start();

// Upkeep: plan some steps, look at the plan, apply it as one run, undo a run.

import { h, replace } from "./dom.js";
import { change, readNow } from "./api.js";
import { announce, attempt, notice, showError } from "./notices.js";
import { state } from "./state.js";
import { data, moment } from "./text.js";

const STEPS = [
  ["consolidate", "Merge what says the same", true], ["promote", "Promote what is used often", true],
  ["discover", "Link what belongs together", true], ["gc", "Forget what has faded", false],
];

export async function renderUpkeep(main, route, signal) {
  const plan = h("div", { id: "plan", "aria-live": "polite" });
  const runs = h("div", {}, h("div", { class: "loading" }));
  const load = async () => {
    try {
      replace(runs, await runList(signal, load));
    } catch (error) {
      showError(runs, error);
    }
  };
  replace(main, h("div", { class: "column" }, h("h1", {}, "Upkeep"),
    h("p", { class: "lede" }, "Steps that keep a space in order. They only append to the ledger: a run can be undone as a whole."),
    chooser(plan, load), plan,
    h("section", { "aria-labelledby": "runs-title" }, h("h2", { id: "runs-title" }, "Runs"), runs)));
  await load();
}

function chooser(plan, reload) {
  const preview = async (event) => {
    event.preventDefault();
    const steps = new FormData(event.currentTarget).getAll("step");
    if (!steps.length) return notice("Choose at least one step.");
    replace(plan, h("div", { class: "loading" }));
    try {
      showPlan(plan, await change("/upkeep/preview", { step: "run", steps }), reload);
    } catch (error) {
      showError(plan, error);
    }
  };
  return h("form", { on: { submit: preview } },
    h("fieldset", { class: "plain" }, h("legend", { class: "visually-hidden" }, "Steps"),
      h("div", { class: "steps" }, STEPS.map(([step, text, checked]) => h("label", {}, h("input", { type: "checkbox", name: "step", value: step, checked }), text)))),
    h("button", { class: "primary", disabled: state.day !== null }, "Preview"));
}

function showPlan(container, plan, reload) {
  const apply = async (event) => {
    event.currentTarget.disabled = true;
    const done = await attempt(() => change("/upkeep/apply", { plan: plan.id }));
    if (!done) return;
    replace(container);
    if (done.run) notice("The plan was applied.", { label: "Undo", action: () => undoRun(done.run.id, reload) });
    announce("The plan was applied. It can be undone.");
    await reload();
  };
  replace(container, h("div", { class: "plan" },
    h("h2", {}, plan.due ? "This would change" : "There is nothing to do"),
    plan.tables.filter((each) => each.rows.length).map(table),
    h("div", { class: "actions" }, plan.due && h("button", { type: "button", class: "primary", on: { click: apply } }, "Apply"), h("button", { type: "button", on: { click: () => replace(container) } }, "Discard"))));
}

function table({ title, columns, rows, notes }) {
  const shown = columns.map((name, place) => place).filter((place) => columns[place] !== "id");
  const cell = (value) => h("td", { class: typeof value === "number" ? "number" : null }, typeof value === "number" ? String(Math.round(value * 1000) / 1000) : data(value ?? ""));
  return h("div", { class: "table-scroll", tabindex: 0, role: "group", "aria-label": title },
    h("table", {}, h("caption", {}, data(title)), h("thead", {}, h("tr", {}, shown.map((place) => h("th", { scope: "col" }, columns[place])))), h("tbody", {}, rows.slice(0, 40).map((row) => h("tr", {}, shown.map((place) => cell(row[place])))))),
    rows.length > 40 && h("p", { class: "faint" }, `${rows.length - 40} more rows.`), notes.map((text) => h("p", { class: "faint" }, data(text))));
}

async function runList(signal, reload) {
  const { items } = await readNow("/upkeep/runs", {}, signal);
  if (!items.length) return h("p", { class: "empty" }, "No run yet.");
  return h("ol", { class: "items" }, [...items].reverse().slice(0, 30).map((run) => h("li", { class: "run" },
    h("p", {}, data(run.text.replace(/^run \S+, [^:]*: /, ""))), h("p", { class: "meta" }, h("span", {}, moment(run.recorded_at)), run.undone && h("span", { class: "badge" }, "undone")),
    !run.undone && h("div", { class: "actions" }, h("button", { type: "button", disabled: state.day !== null, on: { click: () => undoRun(run.id, reload) } }, "Undo this run")))));
}

async function undoRun(run, reload) {
  const report = await attempt(() => change("/upkeep/undo", { run }));
  if (!report) return;
  notice(report.skipped.length ? `Undone. ${report.skipped.length} memories were changed since and stay as they are.` : "The run was undone.");
  await reload();
}

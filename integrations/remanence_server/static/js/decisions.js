// Deciding: a click, then what it would change, then the change, and a way back.

import { h, replace } from "./dom.js";
import { change, ask, readNow } from "./api.js";
import { closing, openDialog } from "./dialogs.js";
import { announce, attempt, notice, showError } from "./notices.js";
import { state } from "./state.js";
import { data, moment } from "./text.js";

const BUTTONS = { forget: "Forget", restore: "Restore", supersede: "Replace", merge: "Merge", split: "Split" };
const KEPT = ["It is promoted to long-term memory: upkeep no longer hides it.", "It counts as used once, so that it fades later.", "Upkeep lists it as a run, which can be undone."];
let afterwards = () => {};

/** What to do after something was decided or undone: the view shows itself again. */
export function onDecided(listener) {
  afterwards = listener;
}

/** Something was changed: the view shows itself again. */
export const decided = () => afterwards();

/** A button for a decision. It is off in the past, where nothing can be changed. */
export function decisionButton(label, decision, attributes = {}) {
  const inPast = state.day !== null;
  return h("button", { type: "button", disabled: inPast, title: inPast ? "Nothing can be changed in the past" : null, ...attributes, on: { click: () => decide(decision) } }, label);
}

/** Show what a decision would change; make it if the person agrees. */
export async function decide(decision) {
  const body = h("div", {}, h("div", { class: "loading" }));
  const reason = h("input", { type: "text", maxlength: 500, placeholder: "kept with the change" });
  const confirm = closing("yes", BUTTONS[decision.action], { class: "primary", disabled: true });
  ask("/decisions/preview", decision).then((preview) => {
    replace(body, h("h2", {}, data(preview.title)), h("ul", { class: "effects" }, preview.effects.map((effect) => h("li", {}, data(effect)))));
    confirm.disabled = false;
    confirm.focus();
  }, (error) => showError(body, error));
  const needsReason = decision.action !== "restore";
  const answer = await openDialog("Preview of a change", body, needsReason && h("label", { class: "field" }, "Reason (optional)", reason), h("div", { class: "buttons" }, closing("", "Cancel"), confirm));
  if (answer !== "yes") return;
  const why = reason.value.trim();
  const made = await attempt(() => change("/decisions", { ...decision, ...(why ? { why } : {}) }));
  if (!made) return;
  notice(data(`${made.text}.`), { label: "Undo", action: () => undo(made.position) });
  announce(`${made.text}. It can be undone.`);
  afterwards();
}

export async function undo(position) {
  const made = await attempt(() => change("/decisions/undo", { position }));
  if (!made) return;
  notice(["Undone. ", data(`${made.text}.`)]);
  announce(`Undone. ${made.text}.`);
  afterwards();
}

/** A button that keeps a memory: it is promoted, so that upkeep no longer hides it. That is a run, which can be undone. */
export function keepButton(memory, text) {
  const inPast = state.day !== null;
  return h("button", { type: "button", disabled: inPast, title: inPast ? "Nothing can be changed in the past" : null, on: { click: () => keep(memory, text) } }, "Keep");
}

async function keep(memory, text) {
  const confirm = closing("yes", "Keep", { class: "primary", disabled: true });
  const body = h("div", {}, h("div", { class: "loading" }));
  let plan = null;
  change("/upkeep/preview", { step: "promote", ids: [memory] }).then((found) => {
    plan = found;
    replace(body, h("h2", {}, "Keep “", data(text), "”"), h("ul", { class: "effects" }, KEPT.map((effect) => h("li", {}, effect))));
    confirm.disabled = false;
    confirm.focus();
  }, (error) => showError(body, error));
  const answer = await openDialog("Preview of a change", body, h("div", { class: "buttons" }, closing("", "Cancel"), confirm));
  if (answer !== "yes") return;
  const done = await attempt(() => change("/upkeep/apply", { plan: plan.id }));
  if (!done) return;
  const back = async () => {
    if (!(await attempt(() => change("/upkeep/undo", { run: done.run.id })))) return;
    notice("Undone. It fades as before.");
    afterwards();
  };
  notice(["Kept: ", data(text)], done.run ? { label: "Undo", action: back } : {});
  announce("Kept. It can be undone.");
  afterwards();
}

/** The last decisions, each with a way back. */
export async function decisionList(signal) {
  const { items } = await readNow("/decisions", { limit: 20 }, signal);
  if (!items.length) return h("p", { class: "empty" }, "Nothing has been decided by hand yet.");
  return h("ol", { class: "items" }, items.map((each) => h("li", { class: "decision" },
    h("p", {}, data(each.text), each.why && h("span", { class: "faint" }, ": ", data(each.why))),
    h("p", { class: "meta" }, h("span", {}, moment(each.at)), each.by && h("span", {}, "by ", data(each.by))),
    each.can_undo && h("div", { class: "actions" }, h("button", { type: "button", disabled: state.day !== null, on: { click: () => undo(each.position) } }, "Undo")))));
}

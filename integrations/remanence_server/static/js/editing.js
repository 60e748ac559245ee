// Changing memories: add, correct, end, tag, pin, forget, restore, erase. What will change is shown first, and a notice undoes it.

import { debounce, h, replace } from "./dom.js";
import { change } from "./api.js";
import { showCertificate } from "./certificate.js";
import { closing, openDialog } from "./dialogs.js";
import { decided } from "./decisions.js";
import { announce, attempt, notice, showError } from "./notices.js";
import { go, parse, withParameters } from "./router.js";
import { state } from "./state.js";
import { count, data, shorten } from "./text.js";

const KINDS = [["", "As the text says"], ["semantic", "A fact"], ["episode", "Something that happened"], ["viewpoint", "A viewpoint"], ["procedure", "What was done for a task"]];
const PREVIEW_WAIT = 450;
const some = (number) => count(number, "memory", "memories");

function inPast() {
  if (state.day !== null) notice("Nothing can be changed in the past. Go back to now first.");
  return state.day !== null;
}

/** A dialog with fields, the preview of what they would change, and a button. Resolves with the fields' values, or null.
 * `shown` is what the preview is asked for, before everything is `ready`, too. */
async function edit(label, { title, fields, path, body, action, ready = () => true, shown = () => (ready() ? body() : null), danger = false }) {
  const preview = h("div", { class: "effects-box", "aria-live": "polite" });
  const confirm = h("button", { class: "primary", disabled: true }, action);
  let wanted = null;
  const show = async () => {
    const request = shown();
    const key = JSON.stringify(request);
    wanted = key;
    confirm.disabled = true;
    if (!request) return replace(preview);
    try {
      const found = await change(path, request);
      if (wanted !== key) return undefined;
      replace(preview, h("p", { class: "eyebrow" }, "What will change"), h("ul", { class: "effects" }, found.effects.map((effect) => h("li", {}, data(effect)))));
      confirm.disabled = !ready();
    } catch (error) {
      if (wanted === key) showError(preview, error);
    }
    return undefined;
  };
  const later = debounce(show, PREVIEW_WAIT);
  const submit = async (event) => {
    event.preventDefault();
    if (confirm.disabled) await show();
    if (!confirm.disabled) event.target.closest("dialog").close("yes");
  };
  const form = h("form", { class: danger ? "danger" : null, on: { submit, input: later, change: later } }, h("h2", {}, title), fields, preview,
    h("div", { class: "buttons" }, closing("", "Cancel"), confirm));
  show();
  return (await openDialog(label, form)) === "yes" ? body() : null;
}

const field = (label, input, note) => h("label", { class: "field" }, label, input, note && h("span", { class: "note" }, note));
const input = (name, attributes = {}) => h("input", { type: "text", name, autocomplete: "off", ...attributes });
const tags = (text) => text.split(",").map((tag) => tag.trim().replace(/^#/, "")).filter(Boolean);

function done(text, undo) {
  notice(text, undo ? { label: "Undo", action: async () => (await attempt(undo)) && (notice("Undone."), decided()) } : {});
  announce(undo ? "Done. It can be undone." : "Done.");
  decided();
}

export async function addMemory() {
  if (inPast()) return;
  const text = h("textarea", { name: "text", rows: 4, autofocus: true, placeholder: "Ana moved to Lisbon on 3 May 2026." });
  const kind = h("select", { name: "kind" }, KINDS.map(([value, label]) => h("option", { value }, label)));
  const [from, tag, source] = [input("valid_from", { placeholder: "3 May 2026" }), input("tags", { placeholder: "home, family" }), input("source", { placeholder: "a letter" })];
  const body = () => ({
    text: text.value.trim(), ...(kind.value && { kind: kind.value }), ...(from.value.trim() && { valid_from: from.value.trim() }),
    ...(tags(tag.value).length && { tags: tags(tag.value) }), ...(source.value.trim() && { source: source.value.trim() }),
  });
  const given = await edit("Add a memory", {
    title: "Add a memory", path: "/memories/preview", action: "Add", ready: () => text.value.trim(), body,
    fields: [field("What is to be remembered", text), h("div", { class: "field-grid" }, field("Kind", kind), field("True since", from), field("Tags", tag), field("Source", source))],
  });
  if (!given) return;
  const made = await attempt(() => change("/memories", given));
  if (!made) return;
  done(["Added: ", data(shorten(made.text, 80))], () => change(`/memories/${made.id}/forget`, { why: "added by mistake" }));
  go(withParameters({ memory: made.id, entity: null }));
}

/** A new version of one memory. */
export async function correctMemory(memory) {
  if (inPast()) return;
  const text = h("textarea", { name: "text", rows: 4, autofocus: true, value: memory.text });
  const kind = h("select", { name: "kind" }, KINDS.slice(1).map(([value, label]) => h("option", { value, selected: value === memory.kind }, label)));
  const day = (iso) => iso?.slice(0, 10) ?? "";
  const [from, until] = [input("valid_from", { value: day(memory.valid_from) }), input("valid_until", { value: day(memory.valid_until) })];
  const tag = input("tags", { value: memory.tags.join(", ") });
  const importance = h("input", { type: "range", name: "importance", min: 0, max: 1, step: 0.1, value: String(memory.importance) });
  const body = () => ({
    ids: [memory.id],
    ...(text.value.trim() && text.value !== memory.text && { text: text.value.trim() }), ...(kind.value !== memory.kind && { kind: kind.value }),
    ...(from.value.trim() !== day(memory.valid_from) && from.value.trim() && { valid_from: from.value.trim() }),
    ...(until.value.trim() !== day(memory.valid_until) && until.value.trim() && { valid_until: until.value.trim() }),
    ...(tags(tag.value).join() !== memory.tags.join() && { tags: tags(tag.value) }),
    ...(Math.abs(importance.value - memory.importance) > 0.04 && { importance: Number(importance.value) }),
  });
  const given = await edit("Correct a memory", {
    title: "Correct this memory", path: "/memories/revise/preview", action: "Save as a new version", body,
    fields: [field("Text", text), h("div", { class: "field-grid" }, field("Kind", kind), field("Tags", tag), field("True since", from), field("True until", until), field("Importance", importance))],
  });
  if (!given || Object.keys(given).length < 2) return;
  const made = await attempt(() => change("/memories/revise", given));
  if (made) done("Corrected. The version before is in its history.", () => change("/memories/revert", { ids: [memory.id] }));
}

/** "No longer true since …" */
export async function endMemory(memory) {
  if (inPast()) return;
  const since = input("since", { value: state.now.slice(0, 10), autofocus: true });
  const body = () => ({ ids: [memory.id], since: since.value.trim() });
  const given = await edit("End a memory", {
    title: ["“", data(shorten(memory.text, 160)), "”"], path: "/memories/end/preview", action: "It is no longer true", ready: () => since.value.trim(), body,
    fields: [field("No longer true since", since, "A day, or words such as “last May”.")],
  });
  if (!given) return;
  const made = await attempt(() => change("/memories/end", given));
  if (made) done("It is no longer taken for true. Questions about the time before still find it.", () => change("/memories/revert", { ids: [memory.id] }));
}

/** Add tags to memories, and take some away. */
export async function tagMemories(memories) {
  if (inPast()) return false;
  const [add, remove] = [input("add", { autofocus: true, placeholder: "home, family" }), input("remove")];
  const ids = memories.map((memory) => memory.id);
  const body = () => ({ ids, ...(tags(add.value).length && { add_tags: tags(add.value) }), ...(tags(remove.value).length && { remove_tags: tags(remove.value) }) });
  const given = await edit("Tag memories", {
    title: `Tag ${some(ids.length)}`, path: "/memories/revise/preview", action: "Change the tags", body, ready: () => tags(add.value).length + tags(remove.value).length,
    fields: [h("div", { class: "field-grid" }, field("Add tags", add), field("Remove tags", remove))],
  });
  return Boolean(given) && reviseMany(memories, given, `The tags of ${some(ids.length)} are changed.`);
}

/** Pin memories, so that they do not fade; or let them fade again. */
export async function pinMemories(memories, pin = true) {
  if (inPast()) return false;
  return reviseMany(memories, { ids: memories.map((memory) => memory.id), strength: pin ? 2 : 1 }, pin ? `${some(memories.length)} pinned: they do not fade.` : `${some(memories.length)} no longer pinned.`);
}

async function reviseMany(memories, request, text) {
  const made = await attempt(() => change("/memories/revise", request));
  if (!made) return false;
  const before = new Map(memories.map((memory) => [memory.id, memory.revised_at]));
  const changed = made.items.filter((memory) => memory.revised_at !== before.get(memory.id)).map((memory) => memory.id);
  if (changed.length) done(text, () => change("/memories/revert", { ids: changed }));
  else notice("They have these values already.");
  return true;
}

/** Forget memories; one undo brings all of them back. */
export async function forgetMemories(memories) {
  if (inPast()) return false;
  const why = input("why", { maxlength: 500, placeholder: "kept with the change" });
  const ids = memories.map((memory) => memory.id);
  const given = await edit("Forget memories", {
    title: `Forget ${some(ids.length)}`, path: "/memories/removal/preview", action: "Forget", body: () => ({ ids }), fields: [field("Reason (optional)", why)],
  });
  if (!given) return false;
  const made = await attempt(() => change("/forget", { ids, ...(why.value.trim() && { why: why.value.trim() }) }));
  if (made) done(`${some(made.count)} forgotten.`, () => change("/upkeep/restore", { ids }));
  return Boolean(made);
}

/** Show hidden memories again: forgotten ones, and those in quarantine. */
export async function restoreMemories(memories) {
  if (inPast()) return false;
  const ids = memories.map((memory) => memory.id);
  const made = await attempt(() => change("/upkeep/restore", { ids }));
  if (made) done(made.count ? `${some(made.count)} visible again.` : "They are visible already.", made.count ? () => change("/forget", { ids, why: "undone by hand" }) : null);
  return Boolean(made);
}

/** Erase memories for good, after the person has typed what the dialog asks for. */
export async function eraseMemories(memories) {
  if (inPast()) return false;
  const ids = memories.map((memory) => memory.id);
  const word = ids.length === 1 ? "erase" : `erase ${ids.length}`;
  const typed = input("typed", { autofocus: true, spellcheck: "false" });
  const given = await edit("Erase memories", {
    title: ids.length === 1 ? ["Erase “", data(shorten(memories[0].text, 120)), "”"] : `Erase ${some(ids.length)}`, danger: true,
    path: "/memories/removal/preview", action: "Erase for good", ready: () => typed.value.trim() === word, body: () => ({ ids, erase: true }), shown: () => ({ ids, erase: true }),
    fields: [h("p", { class: "lede" }, "The text is removed from the past and from every file. Nobody can bring it back."), field(["Type ", h("kbd", {}, word), " to confirm"], typed)],
  });
  if (!given) return false;
  const made = await attempt(() => change("/erase", { ids }));
  if (!made) return false;
  if (ids.includes(parse().parameters.memory)) go(withParameters({ memory: null }));
  decided();
  await showCertificate(made);
  return true;
}


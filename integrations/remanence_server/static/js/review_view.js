// What waits for a person: conflicts, names that may be one, memories about to fade, and what was forgotten.

import { h, replace } from "./dom.js";
import { change, read, readNow } from "./api.js";
import { decided, decisionButton, decisionList, keepButton } from "./decisions.js";
import { closing, openDialog } from "./dialogs.js";
import { memoryItem, metaLine } from "./memory_item.js";
import { attempt, notice, showError } from "./notices.js";
import { to, withParameters } from "./router.js";
import { state } from "./state.js";
import { count, data, moment, predicate } from "./text.js";

const AT_RISK = 12;
const HELD = 20;
const URGENT = 0.35;
const RISKS = { "gc candidate": "upkeep would hide it now", "needs review": "fades soon", reinforce: "worth using again" };

export async function renderReview(main, route, signal) {
  const parts = [
    part("conflicts", "Conflicts", "Memories that cannot both hold. Choose the one that does; the other stays in the past.", conflicts),
    part("quarantine", "Quarantine", "Sources whose memories are hidden, also what comes from them later. Release a whole source, or single memories.", quarantines),
    part("merges", "One or two?", "Names so alike that they may mean the same. Nothing is merged by itself.", proposals),
    part("risk", "About to fade", "Used little for so long that upkeep would soon hide them.", atRisk),
    part("forgotten", "Forgotten", "Hidden from questions about now. Everything here can come back.", forgotten),
    part("decided", "Decided", "What was decided lately, by whom and why, and the way back.", decisionList),
  ];
  replace(main, h("div", { class: "column" }, h("h1", {}, "Review"),
    h("p", { class: "lede" }, "Each choice is shown before it is made, recorded with its reason, and can be undone."),
    h("div", { class: "review-grid" }, parts.map((each) => each.element))));
  for (const { body, load } of parts) {
    load(signal).then((content) => replace(body, content), (error) => showError(body, error));
  }
}

function part(id, title, lede, load) {
  const body = h("div", {}, h("div", { class: "loading" }), id === "merges" && h("p", { class: "faint slow-note" }, "Comparing the names. After something new was learned, this takes some seconds for many entities; the rest of the page does not wait for it."));
  const element = h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), h("p", { class: "faint" }, lede), body);
  return { element, body, load };
}

async function conflicts(signal) {
  const { items } = await read("/graph/disagreements", {}, signal);
  if (!items.length) return h("p", { class: "empty" }, "No two memories are in conflict.");
  return h("ol", { class: "items" }, items.slice(0, 50).map(({ memory, disagreement }) => h("li", { class: "conflict" },
    h("p", { class: "eyebrow" }, data(predicate(disagreement.topic))),
    h("div", { class: "pair" }, side(memory, disagreement.memory), side(disagreement.memory, memory)))));
}

function side(memory, other) {
  return h("div", {}, memoryItem(memory), metaLine(memory), h("div", { class: "actions" },
    decisionButton("This one holds", { action: "supersede", memory: memory.id, other: other.id }),
    decisionButton("Forget", { action: "forget", memory: memory.id })));
}

async function proposals(signal) {
  const { items } = await read("/entities/proposals", { limit: 30 }, signal);
  if (!items.length) return h("p", { class: "empty" }, "No two names look like one.");
  const name = (id, text) => h("a", { href: withParameters({ entity: id, memory: null }), "data-item": id }, data(text));
  return h("ol", { class: "items" }, items.map((pair) => h("li", { class: "proposal" },
    h("p", { class: "two-names" }, name(pair.entity, pair.name), h("span", { class: "versus" }, "and"), name(pair.other, pair.other_name)),
    h("p", { class: "meta" }, h("span", {}, data(pair.reason)), h("span", {}, `alike to ${pair.score.toFixed(2)}`)),
    h("div", { class: "actions" },
      decisionButton(["Merge into ", data(pair.name)], { action: "merge", entity: pair.other, into: pair.entity }),
      decisionButton(["Merge into ", data(pair.other_name)], { action: "merge", entity: pair.entity, into: pair.other })))));
}

async function atRisk(signal) {
  if (state.day !== null) return h("p", { class: "empty" }, "How far a memory has faded is known for now only.");
  const { at_risk: items, total } = await readNow("/upkeep/at-risk", { limit: AT_RISK }, signal);
  if (!items.length) return h("p", { class: "empty" }, "Nothing is about to fade.");
  return [
    h("ol", { class: "items" }, items.map((each) => h("li", { class: "at-risk" },
      h("a", { class: "item", href: withParameters({ memory: each.memory, entity: null }), "data-item": each.memory }, h("p", { class: "memory-text clamped" }, data(each.text))),
      h("p", { class: "meta" }, h("span", {}, meter(each.score), `score ${each.score.toFixed(2)}`), h("span", {}, each.uses ? `used ${count(each.uses, "time")}` : "never used"), h("span", {}, RISKS[each.action] ?? each.action)),
      h("div", { class: "actions" }, keepButton(each.memory, each.text), decisionButton("Forget", { action: "forget", memory: each.memory }))))),
    total > items.length && h("p", { class: "faint" }, `${count(total - items.length, "more memory", "more memories")} about to fade. `, h("a", { href: to("upkeep") }, "Upkeep previews them all.")),
  ];
}

function meter(score) {
  const bar = h("span", { class: "meter", "aria-hidden": "true" }, h("span", {}));
  bar.firstChild.style.width = `${Math.min(1, score / URGENT) * 100}%`;
  return bar;
}

async function quarantines(signal) {
  if (state.day !== null) return h("p", { class: "empty" }, "What is in quarantine is known for now only.");
  const { items } = await readNow("/quarantines", {}, signal);
  const active = items.filter((each) => !each.released);
  if (!active.length) return h("p", { class: "empty" }, "No source is in quarantine.");
  return h("ol", { class: "items" }, active.map((each) => h("li", { class: "quarantine" },
    h("p", { class: "two-names" }, data(each.source), each.why && h("span", { class: "faint" }, ": ", data(each.why))),
    h("p", { class: "meta" }, h("span", {}, `${count(each.memories.length, "memory", "memories")} hidden`), each.since && h("span", {}, `since ${moment(each.since)}`)),
    each.memories.length > 0 && h("details", {}, h("summary", {}, "Look at them"), h("ul", { class: "plain-list" }, each.memories.slice(0, HELD).map((memory) => h("li", {}, h("a", { href: withParameters({ memory: memory.id, entity: null }), "data-item": memory.id }, data(memory.text))))),
      each.memories.length > HELD && h("p", {}, h("a", { href: to("browse", null, { status: "quarantined" }) }, `All ${each.memories.length.toLocaleString("en")} in Browse`))),
    h("div", { class: "actions" }, releaseButton(each)))));
}

function releaseButton({ id, source, memories }) {
  const release = async () => {
    const answer = await openDialog("Preview of a change", h("h2", {}, "Release ", data(source), " from quarantine"),
      h("ul", { class: "effects" }, h("li", {}, `${count(memories.length, "memory is", "memories are")} visible again, and what comes from this source later too.`), h("li", {}, "The source can be put into quarantine again.")),
      h("div", { class: "buttons" }, closing("", "Cancel"), closing("yes", "Release", { class: "primary", autofocus: true })));
    if (answer !== "yes" || !(await attempt(() => change(`/quarantines/${id}/release`)))) return;
    notice(["Released: ", data(source)], { label: "Undo", action: async () => (await attempt(() => change("/quarantines", { source, why: "undone by hand" }))) && decided() });
    decided();
  };
  return h("button", { type: "button", on: { click: release } }, "Release the source");
}

async function forgotten(signal) {
  const pages = await Promise.all(["forgotten", "archived"].map((status) => read("/memories", { status, limit: 50 }, signal)));
  const items = pages.flatMap((page) => page.items);
  if (!items.length) return h("p", { class: "empty" }, "Nothing is forgotten.");
  return h("ol", { class: "items" }, items.reverse().slice(0, 30).map((memory) => h("li", {}, memoryItem(memory), metaLine(memory),
    h("div", { class: "actions" }, decisionButton("Restore", { action: "restore", memory: memory.id })))));
}

// What agents were told: each recorded recall with its question, the memories given and those used, the block of the
// prompt, and the same question asked again now, with the difference.

import { h, replace } from "./dom.js";
import { ask, read, readNow } from "./api.js";
import { announce, showError } from "./notices.js";
import { to, withParameters } from "./router.js";
import { state } from "./state.js";
import { count, data, moment, shorten } from "./text.js";

const PAGE = 40;

export async function renderAnswers(main, route, signal) {
  const body = h("div", { "aria-busy": "true" }, h("div", { class: "loading" }));
  const position = Number(route.thing) || null;
  replace(main, h("div", { class: "column" }, h("h1", {}, position ? "What was told" : "What agents were told"),
    !position && h("p", { class: "lede" }, "Each time that memories were given to an agent and recorded: the question, what it was told, and what would be told now."), body));
  try {
    await (position ? showOne(body, position, signal) : showList(body, route.parameters, signal));
  } catch (error) {
    showError(body, error);
  }
  body.removeAttribute("aria-busy");
}

async function showList(body, { about, before }, signal) {
  const { items } = await read("/recorded", { limit: PAGE, memory: about, before }, signal);
  if (!items.length) {
    return replace(body, h("p", { class: "empty" }, about ? "No recorded answer had this memory." : before ? "There are no earlier ones." : "Nothing is recorded yet. An agent records what it was given with every prompt, if its memory is told to: see “Recording” in the documentation of the inspector."));
  }
  const ids = [...new Set(items.flatMap((item) => item.memories.slice(0, 1)))];
  const known = ids.length ? await ask("/memories/get", { ids }, signal) : { items: [] };
  const texts = new Map(known.items.filter((each) => each.memory).map((each) => [each.id, each.memory.text]));
  replace(body,
    about && h("p", {}, "Answers that had one memory. ", h("a", { href: to("answers") }, "Show all")),
    h("ol", { class: "items answers" }, items.map((item) => h("li", {},
      h("a", { class: "item", href: to("answers", String(item.position)), "data-item": String(item.position) }, h("p", { class: "memory-text" }, item.receipt.question ? data(item.receipt.question) : "Without a question")),
      item.memories.length > 0 && texts.has(item.memories[0]) && h("p", { class: "told-first" }, data(shorten(texts.get(item.memories[0]), 140))),
      h("p", { class: "meta" }, h("span", {}, moment(item.at)), h("span", {}, item.memories.length ? `${count(item.memories.length, "memory", "memories")} given` : "nothing given"), item.used.length > 0 && h("span", {}, `${item.used.length} used`))))),
    items.length === PAGE && h("p", { class: "more" }, h("a", { class: "button", href: withParameters({ before: items.at(-1).position }) }, "Earlier")));
  announce(`${count(items.length, "answer")}.`);
  return undefined;
}

async function showOne(body, position, signal) {
  const [item] = (await readNow("/recorded", { limit: 1, before: position + 1 }, signal)).items;
  if (!item || item.position !== position) throw new Error("There is no such record. It may have been erased with a memory that it had.");
  const [then, block] = await Promise.all([
    item.memories.length ? ask("/memories/get", { ids: item.memories, as_of: item.at }, signal) : { items: [], missing: {} },
    readNow("/recorded/block", { position }, signal),
  ]);
  const texts = new Map(then.items.filter((each) => each.memory).map((each) => [each.id, each.memory]));
  const replay = h("div", { class: "replay" });
  const button = h("button", { type: "button", class: "primary", on: { click: () => replayNow(replay, button, item, texts) } }, "Replay now");
  replace(body,
    h("p", { class: "question-asked" }, item.receipt.question ? data(item.receipt.question) : "Without a question"),
    h("p", { class: "meta" }, h("span", {}, `asked ${moment(item.at)}`), optionTexts(item.receipt).map((text) => h("span", {}, data(text)))),
    h("section", { "aria-labelledby": "given-title" }, h("h2", { id: "given-title" }, item.memories.length ? `${count(item.memories.length, "memory", "memories")} given` : "Nothing was given"),
      h("ol", { class: "items given" }, item.memories.map((id) => h("li", {}, given(id, texts.get(id), item.used.includes(id)))))),
    h("section", { "aria-labelledby": "now-title" }, h("h2", { id: "now-title" }, "The same question now"), h("div", { class: "actions" }, button, h("a", { href: to("try", null, { q: item.receipt.question }) }, "Try it in the playground")), replay),
    h("section", { "aria-labelledby": "block-title" }, h("h2", { id: "block-title" }, "The block in the prompt"), block.text ? h("pre", { class: "prompt-block", tabindex: 0 }, data(block.text)) : h("p", { class: "empty" }, "Nothing was put into the prompt.")));
}

const given = (id, memory, used) => [
  h("a", { class: "item", href: withParameters({ memory: id, entity: null }), "data-item": id }, h("p", { class: "memory-text" }, memory ? data(memory.text) : "A memory that cannot be shown")),
  used && h("p", { class: "meta" }, h("span", { class: "badge" }, "used in the answer")),
];

function optionTexts(receipt) {
  const names = { kinds: "kinds", tags: "tags", source: "source", speaker: "said by", conversation: "conversation", min_score: "least score", reader: "reader" };
  return [!receipt.telling && `at most ${count(receipt.limit, "memory", "memories")}`, ...Object.entries(names).filter(([name]) => receipt[name] !== undefined && receipt[name] !== null).map(([name, label]) => `${label}: ${[receipt[name]].flat().join(", ")}`)].filter(Boolean);
}

async function replayNow(container, button, item, texts) {
  button.disabled = true;
  replace(container, h("div", { class: "loading" }));
  try {
    const { items: now } = await read("/recorded/again", { position: item.position });
    replace(container, difference(item.memories.map((id) => texts.get(id) ?? { id, text: "A memory that cannot be shown" }), now));
  } catch (error) {
    showError(container, error);
  }
  button.disabled = false;
}

/** What is in both lists, only in the first, only in the second. */
export function difference(before, after) {
  const [old, now] = [new Map(before.map((memory) => [memory.id, memory])), new Map(after.map((memory) => [memory.id, memory]))];
  const gone = before.filter((memory) => !now.has(memory.id));
  const fresh = after.filter((memory) => !old.has(memory.id));
  const changed = after.filter((memory) => old.has(memory.id) && old.get(memory.id).text !== memory.text);
  const group = (kind, label, memories) => memories.length > 0 && h("div", { class: `change ${kind}` }, h("h3", {}, label), h("ul", { class: "plain-list" }, memories.map((memory) => h("li", {}, h("a", { href: withParameters({ memory: memory.id, entity: null }) }, data(shorten(memory.text, 240)))))));
  const same = after.length - fresh.length;
  const moved = same > 0 && after.filter((memory) => old.has(memory.id)).map((memory) => memory.id).join() !== before.filter((memory) => now.has(memory.id)).map((memory) => memory.id).join();
  return h("div", { class: "difference" },
    h("p", { role: "status" }, gone.length + fresh.length + changed.length ? `${same} the same, ${fresh.length} new, ${gone.length} no longer given${state.day ? ", as known on that day" : ""}.` : moved ? "The same memories, in another order." : "Exactly the same."),
    group("added", "Only now", fresh), group("removed", "No longer", gone), group("changed", "With another text now", changed));
}

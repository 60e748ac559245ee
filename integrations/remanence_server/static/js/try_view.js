// Try it: type as a user would, and see what would reach the prompt and why, what the model answers, and what is stored.

import { h, replace } from "./dom.js";
import { ask, change } from "./api.js";
import { kindName } from "./filters.js";
import { evidenceRows, signalName } from "./memory_item.js";
import { attempt, notice, showError } from "./notices.js";
import { to, withParameters } from "./router.js";
import { state } from "./state.js";
import { count, data, day, shorten } from "./text.js";

let turns = []; // the conversation so far, with what the space did with each message
let talkedIn = null; // its space and its day
const SHOWN = 12;

export async function renderTry(main, route, signal) {
  const place = `${state.space} ${state.day}`;
  if (talkedIn !== place) turns = [];
  talkedIn = place;
  const { q = "", tokens = "1000", kind = "" } = route.parameters;
  const talk = h("ol", { class: "talk", "aria-live": "polite" }, turns.map(({ element }) => element));
  const field = h("textarea", { rows: 1, id: "message", "aria-label": "Message", placeholder: "Type as a user would: “Where does my sister live now?”", value: turns.length ? "" : q });
  const keep = h("input", { type: "checkbox", name: "store", disabled: state.day !== null });
  const option = (name, label, value, choices) => h("label", {}, h("span", {}, label), h("select", { name, "aria-label": label }, choices.map(([each, text]) => h("option", { value: each, selected: each === value }, text))));
  const form = h("form", { class: "talk-form" }, field,
    h("div", { class: "talk-row" },
      h("label", { class: "keep" }, keep, " Store what I type"),
      h("details", { class: "talk-settings" }, h("summary", {}, "Settings"), h("div", { class: "filter-bar" },
      option("tokens", "Quote at most", tokens, [["250", "250 tokens"], ["1000", "1,000 tokens"], ["4000", "4,000 tokens"]]),
      option("kind", "Only", kind, [["", "all kinds"], ["semantic", "facts"], ["episode", "events"], ["viewpoint", "viewpoints"], ["procedure", "procedures"]]))),
      h("span", { class: "talk-buttons" },
        h("button", { type: "button", class: "quiet", on: { click: () => clear(talk) } }, "New conversation"), h("button", { class: "primary" }, "Send"))));
  const send = async (event) => {
    event?.preventDefault();
    const message = field.value.trim();
    if (!message) return field.focus();
    const given = Object.fromEntries(new FormData(form));
    field.value = "";
    await say(talk, message, { max_tokens: Number(given.tokens), ...(given.kind && { kinds: [given.kind] }), store: keep.checked }, signal);
    return undefined;
  };
  form.addEventListener("submit", send);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) send(event);
  });
  replace(main, h("div", { class: "column try" }, h("h1", {}, "Try it"),
    h("p", { class: "lede" }, state.day ? `As the space was known on ${day(state.day)}. Nothing is stored.` : "Type as a user would. Each message shows what would reach the prompt, and why, or why nothing does. Nothing is stored unless you ask for it."),
    talk, form));
  if (q && !turns.length) await send();
}

function clear(talk) {
  turns = [];
  replace(talk);
}

async function say(talk, message, options, signal) {
  const element = h("li", { class: "exchange" }, h("p", { class: "said" }, data(message)), h("div", { class: "loading" }));
  talk.append(element);
  element.scrollIntoView({ block: "nearest" });
  const before = turns.flatMap((turn) => [{ role: "user", content: turn.message }, ...(turn.answer ? [{ role: "assistant", content: turn.answer }] : [])]).slice(-12);
  try {
    const found = await ask("/exchange", { message, turns: before, conversation: "playground", ...options, store: options.store && state.day === null }, signal);
    turns.push({ message, answer: found.answer, element });
    replace(element, h("p", { class: "said" }, data(message)), answered(found), reached(found), remembered(found, options.store));
  } catch (error) {
    const problem = h("div", {});
    replace(element, h("p", { class: "said" }, data(message)), problem);
    showError(problem, error);
  }
  element.scrollIntoView({ block: "nearest" });
}

function answered({ answer, model, problem }) {
  if (answer) return h("p", { class: "model-answer" }, data(answer), h("span", { class: "faint" }, " ", data(model)));
  return problem ? h("p", { class: "error", role: "alert" }, data(problem)) : null;
}

/** What is in the prompt, with the reasons; and what was found and is not. */
function reached({ block, considered, why_empty: why, missing }) {
  const quoted = considered.filter((each) => each.quoted);
  const left = considered.filter((each) => !each.quoted);
  const scale = Math.max(0.35, ...quoted.flatMap((each) => each.hit.evidence.map(({ share }) => share)));
  const line = ({ hit: { memory, score, evidence }, reason, used, quoted: isQuoted }) => h("li", { class: used ? "was-used" : null },
    h("a", { class: "item", href: withParameters({ memory: memory.id, entity: null }), "data-item": memory.id }, h("p", { class: "memory-text" }, data(memory.text))),
    h("p", { class: "meta" }, used && h("span", { class: "badge" }, "used in the answer"), h("span", {}, score.toFixed(2)), !isQuoted && h("span", {}, data(reason))),
    isQuoted && evidenceRows(evidence, scale));
  return h("div", { class: "reached" },
    h("h2", { class: "eyebrow-title" }, quoted.length ? `${count(quoted.length, "memory", "memories")} would reach the prompt` : "Nothing would reach the prompt"),
    !quoted.length && h("p", { class: "why-empty" }, "Because ", data(why), "."),
    h("ol", { class: "items" }, quoted.map(line)),
    Object.entries(missing).map(([signal, reason]) => h("p", { class: "faint" }, signalName(signal), " did not take part: ", data(reason))),
    left.length > 0 && h("details", {}, h("summary", {}, `${count(left.length, "memory was", "memories were")} found and left out`), h("ol", { class: "items" }, left.slice(0, SHOWN).map(line))),
    block && h("details", {}, h("summary", {}, "The block as the model sees it"), h("pre", { class: "prompt-block", tabindex: 0 }, data(block))));
}

function remembered({ analysis, stored, why_not_stored: why }, wanted) {
  const verdict = analysis.save ? `It is worth storing, as ${kindName(analysis.kind) === "event" ? "an event" : `a ${kindName(analysis.kind)}`}: ` : "It is not worth storing: ";
  const ids = stored.map((change) => change.memory_id);
  const undo = async () => {
    if (await attempt(() => change("/forget", { ids, why: "only tried" }))) {
      notice("Forgotten again.");
    }
  };
  return h("div", { class: "remembered" },
    h("h2", { class: "eyebrow-title" }, stored.length ? "Stored" : wanted ? "Not stored" : "What would be stored"),
    h("p", {}, verdict, data(analysis.reason), "."), analysis.entities.length > 0 && h("p", { class: "faint" }, "It names ", analysis.entities.map((name, place) => [place > 0 && ", ", data(name)]), "."),
    wanted && !stored.length && h("p", { class: "faint" }, "Because ", data(why), "."),
    stored.length > 0 && h("ul", { class: "plain-list" }, stored.filter((each) => each.memory).map(({ memory }) => h("li", {}, h("a", { href: withParameters({ memory: memory.id, entity: null }) }, data(shorten(memory.text, 160)))))),
    stored.length > 0 && h("div", { class: "actions" }, h("button", { type: "button", on: { click: undo } }, "Forget it again"), h("a", { class: "faint", href: to("browse", null, { source: "playground" }) }, "All that was tried")));
}

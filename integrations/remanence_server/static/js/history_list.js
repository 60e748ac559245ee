// What happened to a memory or an entity, in order.

import { h } from "./dom.js";
import { asWords, data, moment, predicate, shorten, windowText } from "./text.js";

const VERBS = { "memory added": "learned", "memory revised": "revised", "edge added": "stated", "edge invalidated": "ended", served: "given in an answer", extracted: "read for facts" };
const MOST = 60;
const LONG = 140; // characters of a quoted memory

export function historyList(events) {
  if (!events.length) return h("p", { class: "faint" }, "Nothing is recorded.");
  return [
    h("ol", { class: "history" }, [...events].reverse().slice(0, MOST).map((event) => h("li", {},
      h("time", { datetime: event.recorded_at }, moment(event.recorded_at)),
      h("span", {}, subject(event), h("span", { class: "faint" }, ` was ${VERBS[event.kind] ?? event.kind}`), event.actor && h("span", { class: "faint" }, event.kind === "memory added" ? ", told by " : " by ", data(event.actor))),
      event.why && h("p", { class: "faint" }, data(asWords(event.why)))))),
    events.length > MOST && h("p", { class: "faint" }, `The last ${MOST} of ${events.length.toLocaleString("en")}.`)];
}

/** What an event is about: the words of a memory, or a relation as a sentence. */
function subject({ memory, relation, description }) {
  if (relation) {
    const when = windowText(relation.valid_from, relation.valid_until);
    return data(`${relation.subject} ${predicate(relation.predicate)} ${relation.object}${when ? `, ${when},` : ""}`);
  }
  return memory ? ["“", data(shorten(memory.text, LONG)), "”"] : data(asWords(description));
}

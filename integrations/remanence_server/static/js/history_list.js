// What happened to a memory or an entity, in order.

import { h } from "./dom.js";
import { data, moment } from "./text.js";

const VERBS = { "memory added": "learned", "memory revised": "revised", "edge added": "stated", "edge invalidated": "ended", served: "given in an answer", extracted: "read for facts" };

export function historyList(events) {
  if (!events.length) return h("p", { class: "faint" }, "Nothing is recorded.");
  return h("ol", { class: "history" }, [...events].reverse().slice(0, 60).map((event) => h("li", {},
    h("time", { datetime: event.recorded_at }, moment(event.recorded_at)),
    h("span", {}, data(event.description), h("span", { class: "faint" }, ` was ${VERBS[event.kind] ?? event.kind}`), event.actor && h("span", { class: "faint" }, " by ", data(event.actor))),
    event.why && h("p", { class: "faint" }, data(event.why)))));
}

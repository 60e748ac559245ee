// The certificate of an erasure: what was removed, what is left and until when, and the digest to compare the ledger with.

import { h } from "./dom.js";
import { closing, openDialog } from "./dialogs.js";
import { count, data, moment } from "./text.js";

const ENTRIES = {
  remembered: ["version of a memory", "versions of memories"], linked: ["link"], extracted: ["reading of facts", "readings of facts"],
  related: ["relation"], served: ["record of what an agent was told", "records of what agents were told"],
};

/** Show what an erasure removed, until the person closes it. */
export async function showCertificate(certificate) {
  const { at, memories, derived_memories: derived, erased_entries: entries, vectors, notes, not_erased: kept, pending, position, digest } = certificate;
  const removed = Object.entries(entries ?? {}).map(([kind, number]) => count(number, ...(ENTRIES[kind] ?? ["other entry", "other entries"])));
  const rows = [
    ["Erased", [count(memories.length, "memory", "memories"), derived.length > 0 && `, and ${count(derived.length, "memory", "memories")} made from ${memories.length === 1 ? "it" : "them"} alone`]],
    ["When", moment(at)],
    ["In the ledger", removed.length ? removed.join(", ") : "nothing was left to erase"],
    ["Vectors", `${vectors}`],
    ["Notes", notes.length > 0 && data(notes.join(", "))],
    ["Not erased", kept.length > 0 && data(kept.join("; "))],
    ["Still in files", pending.length ? pending.map((each) => h("p", {}, data(`${each.content} in ${each.location}, until ${each.removed_when}`))) : "nothing"],
    ["Entry", `${position}`],
    ["Digest", h("code", { class: "digest" }, digest)],
  ];
  await openDialog("Certificate of erasure", h("h2", {}, "Certificate of erasure"),
    h("p", { class: "lede" }, "Keep it: a later check of the ledger has the same digest at this entry."),
    h("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    h("div", { class: "buttons" }, h("button", { type: "button", on: { click: () => save(certificate) } }, "Save as a file"), closing("", "Close", { class: "primary", autofocus: true })));
}

function save(certificate) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(certificate, null, 2)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `erased-${certificate.position}.json`;
  link.click();
  URL.revokeObjectURL(address);
}

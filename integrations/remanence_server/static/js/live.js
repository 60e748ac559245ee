// What happens to memories, as it happens: server-sent events, read by fetch so that a token can be sent along.

import { find } from "./dom.js";
import { eventsAddress, request } from "./api.js";
import { state } from "./state.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
let connection = null;

/** Follow the space; `listener` gets each change. Reconnects by itself and misses nothing. */
export function follow(listener) {
  connection?.abort();
  connection = new AbortController();
  run(listener, connection.signal, state.space);
}

async function run(listener, signal, space) {
  let lastId = null;
  let wait = FIRST_WAIT;
  while (!signal.aborted && state.space === space) {
    try {
      const headers = { Accept: "text/event-stream", ...(lastId ? { "Last-Event-ID": lastId } : {}) };
      const response = await request(eventsAddress(), { headers, signal });
      show("on", "Live");
      wait = FIRST_WAIT;
      for await (const event of events(response.body)) {
        lastId = event.id ?? lastId;
        if (event.data) {
          listener(JSON.parse(event.data));
          flash();
        }
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status === 401 || error.status === 403) return show("off", "Not live");
    }
    show("off", "Connecting…");
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(LONGEST_WAIT, wait * 2);
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) yield fields(block);
  }
}

function fields(block) {
  const event = {};
  for (const line of block.split("\n")) {
    const [, name, value] = /^(\w*): ?(.*)$/.exec(line) ?? [];
    if (name) event[name] = name === "data" && event.data ? `${event.data}\n${value}` : value;
  }
  return event;
}

function show(value, text) {
  const element = find("#live");
  element.dataset.state = value;
  element.textContent = text;
}

function flash() {
  const element = find("#live");
  delete element.dataset.fresh;
  requestAnimationFrame(() => (element.dataset.fresh = ""));
}

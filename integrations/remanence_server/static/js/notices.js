// Notices, announcements for screen readers, and errors in the page.

import { find, h, replace } from "./dom.js";

/** Say something to screen readers without moving the focus. */
export function announce(text) {
  const announcer = find("#announcer");
  announcer.textContent = "";
  setTimeout(() => (announcer.textContent = text), 50);
}

/** A notice that goes by itself, with a button if there is something to do. */
export function notice(text, { label, action, seconds = 9 } = {}) {
  const remove = () => element.remove();
  const run = async (event) => {
    event.currentTarget.disabled = true;
    remove();
    await action();
  };
  const element = h("div", { class: "toast", role: "status" }, h("span", {}, text), action && h("button", { type: "button", on: { click: run } }, label));
  find("#toasts").append(element);
  setTimeout(remove, seconds * 1000);
}

export function showError(container, error) {
  if (error.name === "AbortError") return;
  replace(container, h("div", { class: "error", role: "alert" }, h("p", {}, error.message || String(error))));
}

/** Run something that may fail, and show a notice if it does. */
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    if (error.name !== "AbortError") notice(error.message || String(error), { seconds: 14 });
    return null;
  }
}

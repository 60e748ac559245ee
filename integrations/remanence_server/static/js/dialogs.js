// Modal dialogs. The browser keeps the focus inside and gives it back.

import { h } from "./dom.js";

/** Open a dialog with this content; resolves with the value of the button that closed it, or "". */
export function openDialog(label, ...content) {
  const dialog = h("dialog", { "aria-label": label }, content);
  document.body.append(dialog);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close(""));
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}

/** A button that closes its dialog with a value. */
export function closing(value, label, attributes = {}) {
  const close = (event) => event.currentTarget.closest("dialog").close(value);
  return h("button", { type: "button", ...attributes, on: { click: close } }, label);
}

export const hasDialog = () => document.querySelector("dialog[open]") !== null;

/** Ask for the token of a server that wants one. */
export async function askForToken(problem) {
  const field = h("input", { type: "password", autocomplete: "off", spellcheck: "false", autofocus: true });
  const submit = (event) => {
    event.preventDefault();
    event.target.closest("dialog").close("use");
  };
  const answer = await openDialog(
    "Token",
    h("h2", {}, "This server asks for a token"),
    h("p", { class: "lede" }, problem || "Whoever runs the server makes one with `remanence tokens create`. It is kept in this tab only."),
    h("form", { on: { submit } }, h("label", { class: "field" }, "Token", field), h("div", { class: "buttons" }, closing("", "Cancel"), h("button", { class: "primary" }, "Use this token"))),
  );
  return answer === "use" ? field.value.trim() : "";
}

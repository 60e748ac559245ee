// Light and dark: as the system has it, until the person chooses.

import { find } from "./dom.js";

const KEY = "remanence-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = [];

const chosen = () => localStorage.getItem(KEY) ?? (dark.matches ? "dark" : "light");

function apply() {
  const theme = chosen();
  document.documentElement.dataset.theme = theme;
  const button = find("#theme-button");
  button.textContent = theme === "dark" ? "☀︎" : "☾";
  button.setAttribute("aria-label", theme === "dark" ? "Change to light colours" : "Change to dark colours");
  for (const listener of listeners) listener();
}

export function startTheme() {
  apply();
  dark.addEventListener("change", apply);
  find("#theme-button").addEventListener("click", () => {
    localStorage.setItem(KEY, chosen() === "dark" ? "light" : "dark");
    apply();
  });
}

/** For what is drawn on a canvas. */
export const onThemeChange = (listener) => listeners.push(listener);
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

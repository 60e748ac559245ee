// Texts for people: memories with their hidden characters made visible, days, windows, numbers.

import { h } from "./dom.js";

const HIDDEN_NAMES = {
  "\u200b": "zero width space", "\u200c": "zero width non-joiner", "\u200d": "zero width joiner", "\u200e": "left-to-right mark",
  "\u200f": "right-to-left mark", "\u202a": "left-to-right embedding", "\u202b": "right-to-left embedding",
  "\u202c": "end of embedding", "\u202d": "left-to-right override", "\u202e": "right-to-left override",
  "\u2060": "word joiner", "\u2066": "left-to-right isolate", "\u2067": "right-to-left isolate",
  "\u2068": "first strong isolate", "\u2069": "end of isolate", "\ufeff": "byte order mark", "\u061c": "Arabic letter mark",
};
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/** The text of a memory, an entity or a file as data: isolated from the text around it, hidden characters shown. */
export function data(text) {
  const parts = [];
  let end = 0;
  for (const found of String(text).matchAll(HIDDEN)) {
    parts.push(text.slice(end, found.index), hiddenCharacter(found[0]));
    end = found.index + found[0].length;
  }
  parts.push(String(text).slice(end));
  return h("bdi", { dir: "auto" }, parts);
}

function hiddenCharacter(character) {
  const code = `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  const name = HIDDEN_NAMES[character] ?? "hidden character";
  return h("span", { class: "hidden-character", title: `${code}: ${name}` }, code);
}

/** The same for canvas and attributes, where there are no elements. */
export function plain(text) {
  return String(text).replace(HIDDEN, "\ufffd");
}

export function shorten(text, most) {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("").trimEnd()}…`;
}

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/** "2026-05-03T00:00:00+00:00" as "3 May 2026". */
export function day(iso) {
  const moment = new Date(iso);
  return `${moment.getUTCDate()} ${MONTHS[moment.getUTCMonth()]} ${moment.getUTCFullYear()}`;
}

/** "3 May 2026", the month in three letters. */
export const shortDay = (iso) => day(iso).replace(/([A-Z][a-z]{2})[a-z]+/, "$1");

export function shortMonth(date) {
  const name = MONTHS[date.getUTCMonth()].slice(0, 3);
  return date.getUTCMonth() === 0 ? String(date.getUTCFullYear()) : name;
}

/** A day, with the time if it is not midnight. */
export function moment(iso) {
  const time = iso.slice(11, 16);
  return time === "00:00" ? day(iso) : `${day(iso)}, ${time}`;
}

/** When something is true, in words; "" if it has no date. */
export function windowText(start, end) {
  if (start && end) {
    const last = new Date(new Date(end) - 1);
    return day(start) === day(last) ? day(start) : `${day(start)} to ${day(last)}`;
  }
  if (start) return `since ${day(start)}`;
  return end ? `until ${day(end)}` : "";
}


export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
export const predicate = (name) => name.replaceAll("_", " ");
/** A text of the server with relations, "Ana —lives_in→ Porto", in words. */
export const asWords = (text) => text.replace(/—(\w+)→/g, (_, name) => predicate(name));
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

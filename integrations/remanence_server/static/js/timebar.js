// The bar at the bottom: one mark for each day on which something was learned, and a slider that moves the whole page.

import { debounce, find, h, replace, svg } from "./dom.js";
import { readNow } from "./api.js";
import { announce } from "./notices.js";
import { go, withParameters } from "./router.js";
import { onChange, state, update } from "./state.js";
import { count, day as dayText, shortMonth } from "./text.js";

const DAY = 86400000;
const MAX_BARS = 180;
const WIDEST = 1.2; // of a bar, in percent
let days = []; // {day, learned}, oldest first
let first = 0; // the first day, in days since 1970
let last = 0;

const number = (day) => Math.round(Date.parse(`${day}T00:00:00Z`) / DAY);
const dayOf = (value) => new Date(value * DAY).toISOString().slice(0, 10);

export async function loadDays() {
  const found = await readNow("/days");
  days = found.items;
  last = number(found.now.slice(0, 10));
  first = days.length ? Math.min(number(days[0].day), last - 1) : last - 1;
  update({ now: found.now });
  draw();
}

/** Show the space as of a day; null is now. */
export function showDay(day) {
  go(withParameters({ day: day !== null && number(day) >= last ? null : day }), { replace: true });
}

/** To the nearest day before (-1) or after (1) the one shown on which something was learned. */
export function stepDay(direction) {
  const shown = state.day ?? dayOf(last);
  const before = days.filter((each) => each.day < shown);
  const after = days.filter((each) => each.day > shown);
  if (direction < 0) {
    if (before.length) showDay(before.at(-1).day);
  } else if (state.day !== null) {
    showDay(after.length > 0 ? after[0].day : null);
  }
}

function draw() {
  const shown = state.day === null ? last : number(state.day);
  const slider = h("input", {
    type: "range", min: first, max: last, step: 1, value: String(shown), id: "day",
    "aria-label": "Day of knowledge", "aria-valuetext": valueText(shown),
  });
  const later = debounce((value) => showDay(dayOf(value)), 120);
  slider.addEventListener("input", () => {
    paint(Number(slider.value));
    later(Number(slider.value));
  });
  const back = h("button", { type: "button", class: "quiet", id: "now-button", on: { click: () => showDay(null) } }, "Back to now");
  const field = h("input", { type: "date", id: "day-field", min: dayOf(first), max: dayOf(last), "aria-label": "Show what was known on", title: "Show what was known on a day" });
  field.addEventListener("change", () => field.value && field.checkValidity() && showDay(field.value));
  const scale = h("div", { class: "scale" }, bars(), slider);
  replace(find("#timebar"), h("output", { for: "day", id: "day-text" }), scale, h("div", { class: "day-tools" }, field, back));
  slider.before(months(scale.clientWidth || innerWidth));
  paint(shown);
}

/** The bars, of one day each, or of several days if there are many. */
function bars() {
  const span = last - first + 1;
  const width = Math.ceil(span / MAX_BARS);
  const sums = new Map();
  for (const { day, learned } of days) {
    const bin = Math.floor((number(day) - first) / width);
    sums.set(bin, (sums.get(bin) ?? 0) + learned);
  }
  const most = Math.sqrt(Math.max(1, ...sums.values()));
  const marks = [...sums].map(([bin, learned]) => {
    const height = Math.max(0.08, Math.sqrt(learned) / most) * 34;
    const size = Math.min(Math.max((62 * width) / span, 0.28), WIDEST);
    // Its middle is where the slider is on that day.
    const middle = (100 * (bin * width + (width - 1) / 2)) / (last - first);
    return svg("rect", { x: `${Math.min(Math.max(middle - size / 2, 0), 100 - size)}%`, width: `${size}%`, y: 36 - height, height, rx: 1, "data-day": first + bin * width });
  });
  return svg("svg", { viewBox: "0 0 100 36", preserveAspectRatio: "none", "aria-hidden": "true" }, marks);
}

/** The names of months on a scale that is so many pixels wide, as many as stand apart. */
function months(width) {
  const ticks = [];
  const span = last - first;
  const step = Math.max(1, Math.ceil(span / 30.4 / Math.max(3, width / 110)));
  const date = new Date(first * DAY);
  date.setUTCDate(1);
  for (let place = 0; place < 400; place += 1) {
    date.setUTCMonth(date.getUTCMonth() + 1);
    const share = (date / DAY - first) / span;
    if (share > 0.97) break;
    if (share >= 0.02 && date.getUTCMonth() % step === 0) ticks.push([share, shortMonth(date)]);
  }
  const room = 105 / width;
  const shown = [[0, dayText(dayOf(first)).replace(/^\d+ /, "")], ...ticks.filter(([share]) => share > room && share < 1 - 0.6 * room), [1, "Now"]];
  return h("div", { class: "months", "aria-hidden": "true" }, shown.map(([share, text]) => {
    const label = h("span", {}, text);
    label.style.left = `${share * 100}%`;
    return label;
  }));
}

function valueText(value) {
  return value >= last ? "now" : dayText(dayOf(value));
}

/** Mark what is known on the day at the slider, without waiting for the page. */
function paint(value) {
  const bar = find("#timebar");
  const known = days.filter((each) => number(each.day) <= value).reduce((sum, each) => sum + each.learned, 0);
  const small = h("small", { title: "A memory that was corrected or repeated has several" }, `${count(known, "version")} of memories${value >= last ? "" : " by then"}`);
  replace(find("output", bar), value >= last ? "Now" : dayText(dayOf(value)), small);
  for (const mark of bar.querySelectorAll("rect")) {
    const isLater = Number(mark.dataset.day) > value;
    mark.setAttribute("class", isLater ? "later" : value >= last ? "" : "known");
  }
  const slider = find("input", bar);
  slider.setAttribute("aria-valuetext", valueText(value));
  find("#day-field").value = dayOf(value);
  find("#now-button").hidden = value >= last;
}

export function startTimebar() {
  onChange((changed) => {
    if (!changed.includes("day")) return;
    const slider = find("#day");
    if (slider) {
      slider.value = String(state.day === null ? last : number(state.day));
      paint(Number(slider.value));
    }
    if (state.day === null) delete document.documentElement.dataset.past;
    else document.documentElement.dataset.past = "";
    const note = find("#past-note");
    replace(note, state.day && `What was believed on ${dayText(state.day)}. Nothing can be changed here.`);
    announce(state.day === null ? "Showing what is known now." : `Showing what was known on ${dayText(state.day)}.`);
  });
  addEventListener("resize", debounce(() => days.length && draw(), 200));
}

// What the whole page shares: the space, the day that it shows, the token. Views listen to changes.

const listeners = new Set();
const TOKEN = "remanence-token";

export const state = {
  space: null,
  spaces: [],
  /** The day as of which the page shows the space, such as "2026-05-01"; null is now. */
  day: null,
  now: new Date().toISOString(),
};

export function update(changes) {
  const changed = Object.keys(changes).filter((name) => state[name] !== changes[name]);
  if (!changed.length) return;
  Object.assign(state, changes);
  for (const listener of [...listeners]) listener(changed);
}

export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The moment for `as_of`: the end of the day that is shown. */
export const asOf = () => (state.day === null ? null : `${state.day}T23:59:59.999999+00:00`);
/** The present of what is shown, in milliseconds. */
export const shownNow = () => new Date(asOf() ?? state.now).getTime();

export const token = () => sessionStorage.getItem(TOKEN);
export const keepToken = (value) => sessionStorage.setItem(TOKEN, value);

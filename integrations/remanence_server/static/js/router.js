// The address: #/view/thing?q=…&memory=…&day=…. Everything that is shown can be linked to.

export function parse(hash = location.hash) {
  const [, path, query = ""] = /^#?\/?([^?]*)\??(.*)$/s.exec(hash);
  const [view = "", ...rest] = path.split("/").map(decodeURIComponent);
  return { view: view || "overview", thing: rest.join("/") || null, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

export function format({ view, thing = null, parameters = {} }) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given).toString();
  return `#/${view}${thing ? `/${encodeURIComponent(thing)}` : ""}${query ? `?${query}` : ""}`;
}

/** The address of another view, on the same day and in the same space. */
export function to(view, thing = null, parameters = {}) {
  const { day, space } = parse().parameters;
  return format({ view, thing, parameters: { ...parameters, day, space } });
}

/** The same view with other parameters; null removes one. */
export function withParameters(changes) {
  const route = parse();
  return format({ ...route, parameters: { ...route.parameters, ...changes } });
}

export function go(hash, { replace = false } = {}) {
  if (hash === location.hash) return;
  if (replace) {
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = hash;
  }
}

// Calls of the server. Every read carries the day that the page shows.

import { asOf, state, token } from "./state.js";

export class Problem extends Error {
  constructor(status, title, detail) {
    super(detail || title);
    this.status = status;
    this.title = title;
  }
}

const base = new URL("v1/", document.baseURI);
let askForToken = async () => false;

/** Who asks the person for a token when the server wants one; returns whether there is one now. */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

const segment = (space) => encodeURIComponent(space.replaceAll("~", "~0").replaceAll("/", "~1"));

function address(path, parameters = {}) {
  const url = new URL(path.startsWith("/") ? `spaces/${segment(state.space)}${path}` : path, base);
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") url.searchParams.append(name, each);
    }
  }
  return url;
}

/** A response, after asking for a token if that is needed. */
export async function request(url, options = {}) {
  const known = token();
  const headers = { Accept: "application/json", ...options.headers };
  if (known) headers.Authorization = `Bearer ${known}`;
  let response;
  try {
    response = await fetch(url, { ...options, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server cannot be reached", "The server cannot be reached. Is `remanence serve` still running?");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  if (response.status === 401 && (await askForToken(known, problem))) return request(url, options);
  const detail = typeof problem.detail === "string" ? problem.detail : null;
  throw new Problem(response.status, problem.title ?? response.statusText, detail);
}

async function json(url, options) {
  return (await request(url, options)).json();
}

/** Read, as of the day that is shown. A path with a leading slash lies below the space. */
export function read(path, parameters = {}, signal) {
  return json(address(path, { ...parameters, as_of: asOf() }), { signal });
}

/** Read what has no past, such as the list of upkeep runs. */
export function readNow(path, parameters = {}, signal) {
  return json(address(path, parameters), { signal });
}

function send(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return json(address(path), { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** Read by POST, as of the day that is shown. */
export const ask = (path, body, signal) => send(path, asOf() ? { as_of: asOf(), ...body } : body, signal);
/** Change something. */
export const change = (path, body = {}) => send(path, body);

export function upload(file) {
  const headers = { "Content-Type": "application/octet-stream" };
  return json(address("/files", { name: file.name }), { method: "POST", headers, body: file });
}

export const eventsAddress = () => address("/events");

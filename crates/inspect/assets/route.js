// The fragment of the address holds all that a person would want back: view, filter, exchange, finding, side.

/** @typedef {{ view: string, part: string, params: Record<string, string> }} Place */

/** @type {((place: Place) => void)[]} */
const listeners = [];

/** @returns {Place} */
export function place() {
  const [path = "", query = ""] = splitOnce(location.hash.replace(/^#\/?/, ""), "?");
  const [view = "", part = ""] = splitOnce(path, "/");
  /** @type {Record<string, string>} */
  const params = {};
  for (const pair of query.split("&")) {
    const [key, value] = splitOnce(pair, "=");
    if (key) params[decode(key)] = decode(value);
  }
  return { view: decode(view) || "exchanges", part: decode(part), params };
}

/** @param {string} name @returns {number | null} a parameter that is a number */
export function numberOf(name) {
  const text = place().params[name];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null;
}

/** @param {string} view @param {string} [part] @param {Record<string, string | number | null | undefined>} [params] */
export function link(view, part = "", params = {}) {
  const pairs = Object.entries(params)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([key, value]) => `${encode(key)}=${encode(String(value))}`);
  return `#/${encode(view)}${part ? `/${encode(part)}` : ""}${pairs.length > 0 ? `?${pairs.join("&")}` : ""}`;
}

/** A term of the filter, its value quoted where it has to be. @param {string} key @param {string} text */
export const term = (key, text) =>
  `${key}:${/^[^\s"()|]+$/.test(text) ? text : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`}`;

/** Goes to a place; Back comes back from it. @param {string} hash */
export function go(hash) {
  if (hash === location.hash) return;
  history.pushState(null, "", hash);
  notify();
}

/**
 * Changes parameters of the place. Going through rows must not fill the history, so this replaces, unless `keep` asks
 * that Back comes back here.
 *
 * @param {Record<string, string | number | null>} changes
 * @param {{ keep?: boolean, quiet?: boolean }} [how] `quiet`: no listener runs
 */
export function change(changes, how = {}) {
  const now = place();
  const hash = link(now.view, now.part, { ...now.params, ...changes });
  if (hash !== location.hash) history[how.keep ? "pushState" : "replaceState"](null, "", hash);
  if (!how.quiet) notify();
}

/** @param {(place: Place) => void} listener */
export function onChange(listener) {
  listeners.push(listener);
}

export function notify() {
  const now = place();
  for (const listener of listeners) listener(now);
}

/** @param {string} text @param {string} at @returns {[string, string]} */
function splitOnce(text, at) {
  const index = text.indexOf(at);
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + 1)];
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** As `encodeURIComponent`, but what a fragment may hold stays readable. @param {string} text */
const encode = (text) =>
  encodeURIComponent(text.toWellFormed()).replace(/%(3A|2F|2C|40|24|3B)/g, (escape) => decodeURIComponent(escape));

// Makes elements; the only module that does. Text goes in as text nodes: nothing here or above it can write HTML.

/** @typedef {Node | string | number | null | undefined | boolean} Child */

/** What is answered sooner than this is drawn without a sign of waiting. */
export const GREY_MS = 150;

/**
 * An element. Names that begin with `on` are listeners, names that begin with `--` are custom properties.
 *
 * @param {string} name the element's name with its classes, such as `span.badge.bad`
 * @param {Record<string, any>} [attributes] those that are `null`, `undefined` or `false` are left out
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function el(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length > 0) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.startsWith("--")) element.style.setProperty(key, String(value));
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/**
 * Replaces all children of an element.
 *
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren(...nodes(children));
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
function nodes(children) {
  /** @type {(Node | string)[]} */
  const kept = [];
  for (const child of children.flat()) {
    if (child === null || child === undefined || typeof child === "boolean") continue;
    kept.push(child instanceof Node ? child : String(child));
  }
  return kept;
}

/**
 * An element of index.html.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no #${id}`);
  return element;
}

/**
 * A button. Its key, if it has one, is shown in it.
 *
 * @param {string} text
 * @param {() => void} press
 * @param {Record<string, any> & { key?: string }} [attributes]
 * @returns {HTMLElement}
 */
export function button(text, press, attributes = {}) {
  const { key, ...others } = attributes;
  return el("button", { type: "button", onclick: press, ...others }, text, key ? [" ", kbd(key)] : null);
}

/** @param {string} key */
export const kbd = (key) => el("kbd", { "aria-hidden": "true" }, key);

/** Recorded text: isolated, so that its direction cannot change what stands beside it.
 * @param {...(Child | Child[])} children */
export const recorded = (...children) => el("code.recorded", {}, ...children);

/** A sentence of contrail's: what stands in backticks is code. @param {string} sentence @returns {Child[]} */
export const prose = (sentence) =>
  sentence.split("`").map((part, i, parts) => (i % 2 === 1 && i < parts.length - 1 ? recorded(part) : part));

/** A box with a head.
 * @param {(Child | Child[])} head @param {...(Child | Child[])} children */
export const box = (head, ...children) => el("div.box", {}, el("header", {}, head), ...children);

/** A code region that scrolls by itself, so it takes the focus.
 * @param {string} name @param {...(Child | Child[])} children */
export const code = (name, ...children) =>
  el("div.code", { tabindex: 0, role: "region", "aria-label": name }, ...children);

/** A table that scrolls by itself. @param {string} name @param {Child[]} heads @param {HTMLElement[]} rows */
export const table = (name, heads, rows) =>
  el(
    "div.table",
    { tabindex: 0, role: "region", "aria-label": name },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows),
    ),
  );

/** A row of a table. @param {Child[]} head @param {...HTMLElement} cells */
export const tableRow = (head, ...cells) => el("tr", {}, el("th", { scope: "row" }, head), cells);

/** The width of a phone, as the style sheet has it. */
export const narrow = matchMedia("(max-width: 43.75rem)");

/** @typedef {{ sign: string, tone: string, word: string }} Sign */

const UNJUDGED = { sign: "·", tone: "dim", word: "unjudged" };

/** A verdict as sign, word and tone: colour is never the only sign. @type {Record<string, Sign>} */
const VERDICTS = {
  conforms: { sign: "✓", tone: "good", word: "conforms" },
  gap: { sign: "◇", tone: "gap", word: "gap" },
  violates: { sign: "✕", tone: "bad", word: "violates" },
  miss: { sign: "∅", tone: "bad", word: "miss" },
};

/** @param {string} verdict @returns {Sign} */
export const signOf = (verdict) => VERDICTS[verdict] ?? UNJUDGED;

/** The sign and the word of a verdict, or of a finding's kind.
 * @param {string} verdict @param {string} [word] */
export function badge(verdict, word) {
  const known = signOf(verdict);
  return el(`span.badge.${known.tone}`, {}, el("span", { "aria-hidden": "true" }, known.sign), word ?? known.word);
}

/** @param {string} kind `violation` or `gap` */
export const kindBadge = (kind) => badge(kind === "gap" ? "gap" : "violates", kind);

/** @param {number} value */
export const number = (value) => value.toLocaleString("en");

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** @param {number} size */
export function bytes(size) {
  if (size < 1024) return `${size} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = size / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** A duration, short enough for a column. @param {number} ms */
export function duration(ms) {
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 10_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms >= 7_200_000) return `${Math.round(ms / 360_000) / 10} h`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** An instant, local or UTC as the person chose. @param {string | null} iso @param {boolean} [whole] with its date */
export function instant(iso, whole = false) {
  const date = iso ? new Date(iso) : null;
  if (!date || Number.isNaN(date.getTime())) return "";
  const shown = remembered().utc ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  const text = shown.toISOString();
  return whole ? `${text.slice(0, 10)} ${text.slice(11, 23)}${remembered().utc ? " UTC" : ""}` : text.slice(11, 23);
}

/** An instant for the filter: local, with its distance from UTC; or UTC, as the person chose. @param {number} ms */
export function stamp(ms) {
  const east = remembered().utc ? 0 : -new Date(ms).getTimezoneOffset();
  const text = new Date(ms + east * 60_000).toISOString().replace(".000", "");
  if (east === 0) return text;
  const two = (/** @type {number} */ value) => String(Math.floor(value)).padStart(2, "0");
  return `${text.slice(0, -1)}${east < 0 ? "-" : "+"}${two(Math.abs(east) / 60)}:${two(Math.abs(east) % 60)}`;
}

/** @typedef {{ theme?: string, utc?: boolean, letters?: boolean, split?: number, timeline?: boolean,
 *   columns?: string[] | undefined, widths?: Record<string, number> }} Remembered */

const PLACE = "contrail.1";

/** What the browser remembers of the page: never anything recorded. @returns {Remembered} */
export function remembered() {
  try {
    return JSON.parse(localStorage.getItem(PLACE) ?? "{}");
  } catch {
    return {};
  }
}

/** @param {Remembered} changes */
export function remember(changes) {
  try {
    localStorage.setItem(PLACE, JSON.stringify({ ...remembered(), ...changes }));
  } catch {
    // Without storage the page works all the same, and forgets.
  }
}

/** Recorded text longer than this is cut on the screen. */
const LONG = 4_096;

/** Text that may be very long, with a button that shows the rest. @param {string} text @returns {Child[]} */
export function shortened(text) {
  if (text.length <= LONG) return [text];
  const rest = button(`… show all ${number(text.length)} characters`, () => rest.replaceWith(text.slice(LONG)));
  rest.classList.add("rest");
  return [text.slice(0, LONG), rest];
}

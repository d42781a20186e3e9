// Views of a body beside its text: the items of a sequence, the parts of a multipart body, the fields of a form, and an
// image, which is shown after a click.

import { badge, button, bytes, code, counted, el, fill, number, recorded } from "./dom.js";
import { paged } from "./window.js";

const ROWS_AT_ONCE = 200;

/** @typedef {(query: Record<string, number | null>) => Promise<any>} Get asks for a part of the view */

/** Each draws its view into a place. @type {Record<string, (at: HTMLElement, get: Get) => Promise<void>>} */
export const KINDS = { events, form, parts, image };

/** Rows of one height, asked for as they come on the screen. @param {HTMLElement} at @param {Get} get */
async function events(at, get) {
  /** @param {number} from @returns {Promise<Api.BodyRows<Api.Item>>} */
  const load = (from) => get({ from, count: ROWS_AT_ONCE });
  const first = await load(0);
  const spacer = el("div.spacer");
  const scroller = code("Items of the body", spacer);
  scroller.classList.add("windowed", "events");
  // These scroll here, and do not move in the list.
  scroller.addEventListener("keydown", (event) => {
    if (/^(Home|End|Page|Arrow)/.test(event.key)) event.stopPropagation();
  });
  fill(at, el("p.pad.dim", {}, counted(first.size, "item")), scroller);
  paged(scroller, spacer, first.size, {
    atOnce: ROWS_AT_ONCE,
    first: first.rows,
    load: async (from) => (await load(from)).rows,
    make: () => el("div.event", {}),
    put: putItem,
  });
}

/** @param {HTMLElement} row @param {Api.Item | undefined} item */
function putItem(row, item) {
  if (!item) {
    fill(row);
    return;
  }
  fill(
    row,
    el("span.no", {}, number(item.index)),
    el("span.verdict", {}, verdict(item.verdict)),
    el("span.text", { title: item.data }, item.event ? [el("b", {}, item.event), " "] : null, item.id ? el("span.dim", {}, `${item.id} `) : null, item.data),
  );
}

/** @param {string | null} word */
function verdict(word) {
  if (word === null) return el("span.dim", {}, "no finding");
  return word === "unchecked" ? el("span.dim", {}, word) : badge(word);
}

/** Names and values. @param {{ name: string, value: string }[]} list */
const pairs = (list) =>
  el("dl.headers", {}, list.map(({ name, value }) => el("div", {}, el("dt", {}, recorded(name)), el("dd", {}, recorded(value)))));

/** @param {HTMLElement} at @param {Get} get */
async function form(at, get) {
  /** @type {Api.BodyRows<{ name: string, value: string }>} */
  const { rows, size } = await get({ from: 0, count: 500 });
  fill(
    at,
    pairs(rows),
    size > rows.length ? el("p.pad.dim", {}, `${counted(size - rows.length, "further field")}: see the lines.`) : null,
  );
}

/** @param {HTMLElement} at @param {Get} get */
async function parts(at, get) {
  /** @type {Api.BodyRows<Api.BodyPart>} */
  const { rows, size, note } = await get({ from: 0, count: 100 });
  fill(
    at,
    note ? el("p.pad.note", {}, note) : null,
    rows.map((part, i) =>
      el(
        "details.part",
        { open: size <= 4 },
        el(
          "summary",
          {},
          recorded(part.name ?? `part ${i + 1}`),
          el("span.dim.recorded", {}, ` ${[part.file, part.type ?? "text/plain", bytes(part.size)].filter(Boolean).join(" · ")}`),
        ),
        pairs(part.headers),
        part.text === null
          ? el("p.pad.dim", {}, "This part is no text.")
          : code(`Part ${part.name ?? i + 1}`, part.text.split("\n").map((line, no) => el("div.line", {}, el("span.no", { "aria-hidden": "true" }, no + 1), el("span.text", {}, line)))),
        part.cut ? el("p.pad.dim", {}, "Its beginning only: see the lines or hex for all of it.") : null,
      ),
    ),
    size > rows.length ? el("p.pad.dim", {}, `${counted(size - rows.length, "further part")}.`) : null,
  );
}

/** The types that the server knows by their first bytes: no other is ever made into an image. */
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

/** @param {HTMLElement} at @param {Get} get */
async function image(at, get) {
  /** @type {Api.Image} */
  const answer = await get({});
  const { data } = answer;
  const facts = `${answer.type}, ${number(answer.width)} × ${number(answer.height)} pixels`;
  const show = () => {
    const blob = new Blob([Uint8Array.from(atob(data ?? ""), (char) => char.charCodeAt(0))], { type: answer.type });
    const url = URL.createObjectURL(blob);
    const release = () => URL.revokeObjectURL(url);
    const picture = el("img", { alt: facts, onload: release, onerror: () => (release(), fill(place, el("p.note", {}, "The browser cannot read this image."))) });
    picture.setAttribute("src", url);
    fill(place, picture);
  };
  const place = el("div.image", {}, el("p.pad", {}, button("Show the image", show)));
  fill(
    at,
    el("p.pad", {}, facts),
    data === null
      ? el("p.pad.note", {}, `It is not shown: ${answer.why}.`)
      : IMAGES.includes(answer.type)
        ? place
        : null,
  );
}

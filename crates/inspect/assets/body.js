// A body as the server gives it: numbered lines of text tokens, exact text, or hex. Nothing here parses it.

import * as api from "./api.js";
import { announce, copy } from "./copy.js";
import { badge, box, button, bytes, code, counted, el, fill, number, prose, recorded, shortened } from "./dom.js";
import { Window, paged } from "./window.js";

/** Up to this many lines, a body flows and wraps; a longer one is a window on lines that do not wrap. */
const FLOWS = 250;
const LINES_AT_ONCE = 400;
/** Up to this many lines, a text is sought here. */
const SOUGHT = 4_000;
const RAW_AT_ONCE = 65_536;
const HEX_AT_ONCE = 4_096;
const HEX_ROW = 16;

/** @type {Record<string, string>} */
const CLASSES = {
  key: "key",
  string: "str",
  number: "num",
  literal: "lit",
  punctuation: "",
  text: "",
  invisible: "invisible",
};

/** @type {Record<string, string>} */
const VIEW_NAMES = { lines: "Lines", raw: "Raw", hex: "Hex", events: "Events", form: "Form", parts: "Parts", image: "Image" };

/**
 * @typedef {object} Page
 * @property {(view: string) => void} viewed the person chose another view
 * @property {(query: string) => void} filter
 */

/** The body of one message. */
export class BodyView {
  #leave = new AbortController();
  /** @type {Lines | null} */
  #lines = null;

  /**
   * @param {number} n
   * @param {"request" | "response"} side
   * @param {Api.Message} message
   * @param {Page} page
   */
  constructor(n, side, message, page) {
    this.n = n;
    this.side = side;
    this.body = message.body;
    this.page = page;
    this.view = "lines";
    /** @type {number | null} */
    this.finding = null;
    this.place = el("div.body-place");
    this.finder = el("form.finder", { role: "search", "aria-label": "Find in the body", hidden: true });
    this.segments = el("div.segments", { role: "group", "aria-label": "View of the body" });
    this.element = this.#frame();
  }

  #frame() {
    const { body } = this;
    if (body.state === "none") return box([el("strong", {}, "Body"), el("span.dim", {}, "none")]);
    // Where there is little room, the media type is cut.
    const facts = [bytes(body.size)];
    if (body.wire !== null && body.wire !== body.size) facts.push(`${bytes(body.wire)} on the wire`);
    if (body.labels > 0) facts.push(`${counted(body.labels, "value")} redacted`);
    facts.push(body.media_type ?? "no media type");
    const note = body.sentence ?? (body.malformed ? `not well-formed: ${body.malformed}` : null);
    const text = facts.join(" · ");
    const frame = box(
      [el("strong", {}, "Body"), el("span.dim.recorded", { title: text }, text), el("span.grow"), this.segments],
      note ? el("p.pad.note", {}, ...prose(note)) : null,
      this.finder,
      this.place,
    );
    frame.classList.add("body-head");
    return frame;
  }

  /** Requests for it end with it. */
  close() {
    this.#leave.abort();
  }

  /**
   * @param {string} view as the person chose it; the first one that the body has, else
   * @param {number | null} finding whose bytes are marked
   * @param {number} line that holds them
   */
  async show(view, finding, line) {
    if (this.body.state === "none") return;
    const { views } = this.body;
    this.finding = finding;
    this.view = views.includes(view) ? view : (views[0] ?? "");
    fill(
      this.segments,
      views.length < 2
        ? null
        : views.map((name) =>
            button(VIEW_NAMES[name] ?? name, () => this.page.viewed(name), { "aria-pressed": String(name === this.view) }),
          ),
    );
    this.#leave.abort();
    this.#leave = new AbortController();
    this.#lines = null;
    try {
      if (this.view === "lines") await this.#showLines(line);
      else if (this.view === "raw") await this.#showRaw(0);
      else if (this.view === "hex") await this.#showHex();
      else if (KINDS[this.view]) await KINDS[this.view]?.(this.place, (query) => this.#get(this.view, query));
      else fill(this.place);
    } catch (error) {
      if (!api.isSilent(error)) fill(this.place, el("p.pad.note", {}, api.sentenceOf(error)));
    }
  }

  /** The name of the view after this one. */
  next() {
    const { views } = this.body;
    return views[(views.indexOf(this.view) + 1) % views.length] ?? this.view;
  }

  copyPointer() {
    if (this.#lines) this.#lines.copyPointer();
    else announce("Pointers belong to the lines of a body");
  }

  /** Opens the field that finds a text in the lines. */
  find() {
    if (!this.#lines || this.#lines.count > SOUGHT) {
      announce(this.#lines ? "This body is too long to be searched here: filter with body:" : "Only lines are searched");
      return;
    }
    const field = /** @type {HTMLInputElement} */ (el("input", { type: "search", "aria-label": "Text to find" }));
    const found = el("output");
    let last = "";
    /** @type {number[]} */
    let places = [];
    let at = -1;
    /** @param {number} by */
    const step = async (by) => {
      if (field.value !== last) [last, places, at] = [field.value, (await this.#lines?.find(field.value)) ?? [], by > 0 ? -1 : 0];
      at = places.length === 0 ? -1 : (at + by + places.length) % places.length;
      found.textContent = places.length === 0 ? "not found" : `${at + 1} of ${counted(places.length, "line")}`;
      const place = places[at];
      if (place !== undefined) this.#lines?.move(place, "center");
    };
    fill(this.finder, field, button("Previous", () => void step(-1)), el("button", { type: "submit" }, "Next"), found);
    this.finder.onsubmit = (event) => {
      event.preventDefault();
      void step(1);
    };
    this.finder.onkeydown = (event) => {
      if (event.key === "Enter" && event.shiftKey) {
        event.preventDefault();
        void step(-1);
      } else if (event.key === "Escape") {
        event.stopPropagation();
        this.finder.hidden = true;
        /** @type {HTMLElement | null} */ (this.place.querySelector(".code"))?.focus();
      }
    };
    this.finder.hidden = false;
    field.focus();
  }

  /** @param {string} view @param {Record<string, number | null>} query @returns {Promise<any>} */
  #get(view, query) {
    return api.get(`exchanges/${this.n}/${this.side}/${view}`, query, this.#leave.signal);
  }

  /** @param {number} line */
  async #showLines(line) {
    /** @type {(from: number, count: number) => Promise<Api.Lines>} */
    const more = (from, count) => this.#get("lines", { from, count, finding: this.finding });
    // An answer that is late must not be drawn over a later one: `more` throws when its question is no longer asked.
    const start = line - (line % LINES_AT_ONCE);
    const lines = new Lines(start, await more(start, LINES_AT_ONCE), more, this.page);
    this.#lines = lines;
    fill(this.place, lines.element, lines.status);
    lines.ready();
  }

  /** @param {number} from */
  async #showRaw(from) {
    /** @type {Api.Raw} */
    const raw = await this.#get("raw", { from, count: RAW_AT_ONCE });
    const to = raw.next ?? raw.size;
    const paged = raw.next !== null || raw.from > 0;
    /** @param {number} at */
    const turn = (at) => void this.#showRaw(at).catch(() => {});
    fill(
      this.place,
      code("Body, as text", el("pre.raw.recorded", {}, raw.text)),
      paged
        ? el(
            "p.pager",
            {},
            `bytes ${number(raw.from)} to ${number(to)} of ${number(raw.size)}`,
            raw.from > 0 ? button("Earlier", () => turn(Math.max(0, raw.from - RAW_AT_ONCE))) : null,
            raw.next !== null ? button("Later", () => turn(to)) : null,
          )
        : null,
    );
  }

  async #showHex() {
    /** @type {Map<number, Api.HexRow>} */
    const rows = new Map();
    const asked = new Set();
    /** @param {number} page */
    const load = async (page) => {
      asked.add(page);
      /** @type {Api.Hex} */
      const hex = await this.#get("hex", { from: page * HEX_AT_ONCE, count: HEX_AT_ONCE, finding: this.finding });
      for (const row of hex.rows) rows.set(row.offset / HEX_ROW, row);
      return hex;
    };
    const first = await load(0);
    const spacer = el("div.spacer");
    const scroller = code("Body, as hex", spacer);
    scroller.classList.add("windowed");
    fill(this.place, scroller);
    const perPage = HEX_AT_ONCE / HEX_ROW;
    const window = new Window(scroller, spacer, {
      make: () => el("div.hex", {}, el("span.no"), el("span.bytes"), el("span.chars.recorded")),
      put: (element, index) => putHex(element, rows.get(index)),
      drawn: (from, to) => {
        for (const page of [Math.floor(from / perPage), Math.floor(Math.max(from, to - 1) / perPage)]) {
          if (!asked.has(page)) void load(page).then(() => window.refill()).catch(() => asked.delete(page));
        }
      },
    });
    window.redraw();
    window.resize(Math.ceil(first.size / HEX_ROW));
    const marked = first.rows.find((row) => row.marked.length > 0);
    if (marked) window.reveal(marked.offset / HEX_ROW, "center");
  }
}

/** @param {HTMLElement} element @param {Api.HexRow | undefined} row */
function putHex(element, row) {
  const [no, hex, text] = /** @type {HTMLElement[]} */ ([...element.children]);
  if (!no || !hex || !text) return;
  if (!row) {
    for (const cell of element.children) cell.textContent = "";
    return;
  }
  no.textContent = row.offset.toString(16).padStart(8, "0");
  const pairs = row.hex.split(" ");
  const chars = [...row.text];
  /** @param {number} i */
  const isMarked = (i) => row.marked.some(([from, to]) => i >= from && i < to);
  fill(hex, ...pairs.flatMap((pair, i) => [isMarked(i) ? el("mark", {}, pair) : pair, i === 7 ? "  " : " "]));
  fill(text, ...chars.map((char, i) => (isMarked(i) ? el("mark", {}, char) : char)));
}

/** Lines of tokens, which fold at their brackets. */
class Lines {
  /** @type {Map<number, Api.Line>} */
  #lines = new Map();
  /** The first line of each folded part, and its last. @type {Map<number, number>} */
  #folded = new Map();
  #asked = new Set();
  #caret = -1;
  /** @type {Window | null} */
  #window = null;

  /** @param {number} start @param {Api.Lines} first the lines from there on
   * @param {(from: number, count: number) => Promise<Api.Lines>} more @param {Page} page */
  constructor(start, first, more, page) {
    this.count = first.count;
    this.more = more;
    this.page = page;
    first.lines.forEach((line, i) => this.#lines.set(start + i, line));
    this.#asked.add(start / LINES_AT_ONCE);
    this.flows = first.count <= FLOWS;
    this.element = code("Body");
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("click", (event) => this.#click(event));
    this.status = el("p.pointer", { role: "status" });
    this.pointer = el("code.recorded");
  }

  /** Draws, once it is in the page, and brings the marked bytes on the screen. */
  ready() {
    const marked = [...this.#lines].find(([, line]) => line.marked)?.[0] ?? -1;
    this.#caret = marked;
    if (this.flows) {
      this.#flow();
    } else {
      const spacer = el("div.spacer");
      this.element.classList.add("windowed");
      fill(this.element, spacer);
      this.#window = new Window(this.element, spacer, {
        make: () => el("div.line", {}, el("span.no", { "aria-hidden": "true" }), el("span.text")),
        put: (element, at) => this.#put(element, this.#lineAt(at)),
        drawn: (from, to) => this.#need(this.#lineAt(from), this.#lineAt(Math.max(from, to - 1))),
      });
      this.#window.redraw();
      this.#window.resize(this.#shown());
    }
    if (marked >= 0) this.#show(marked);
    this.#drawPointer();
  }

  #flow() {
    const lines = [];
    for (let i = 0; i < this.count; i += 1) {
      const line = el("div.line", {}, el("span.no", { "aria-hidden": "true" }), el("span.text"));
      this.#put(line, i);
      lines.push(line);
      i = this.#folded.get(i) ?? i;
    }
    fill(this.element, lines);
  }

  /** Lines that are not folded away. */
  #shown() {
    let hidden = 0;
    let end = -1;
    for (const [from, to] of this.#folds()) {
      if (from <= end) continue;
      hidden += to - from;
      end = to;
    }
    return this.count - hidden;
  }

  #folds() {
    return [...this.#folded].sort(([a], [b]) => a - b);
  }

  /** The line that is shown at a position. @param {number} at */
  #lineAt(at) {
    let line = at;
    let end = -1;
    for (const [from, to] of this.#folds()) {
      if (from <= end) continue;
      if (from >= line) break;
      line += to - from;
      end = to;
    }
    return line;
  }

  /** The position at which a line is shown. @param {number} line */
  #positionOf(line) {
    let hidden = 0;
    let end = -1;
    for (const [from, to] of this.#folds()) {
      if (from <= end || from >= line) continue;
      hidden += Math.min(to, line) - from;
      end = to;
    }
    return line - hidden;
  }

  /** @param {number} from @param {number} to */
  #need(from, to) {
    for (const page of [Math.floor(from / LINES_AT_ONCE), Math.floor(to / LINES_AT_ONCE)]) {
      if (this.#asked.has(page)) continue;
      this.#asked.add(page);
      const start = page * LINES_AT_ONCE;
      this.more(start, LINES_AT_ONCE)
        .then((answer) => {
          answer.lines.forEach((line, i) => this.#lines.set(start + i, line));
          this.#window?.refill();
        })
        .catch(() => this.#asked.delete(page));
    }
  }

  /** @param {HTMLElement} element @param {number} index */
  #put(element, index) {
    const [no, text] = /** @type {HTMLElement[]} */ ([...element.children]);
    const line = this.#lines.get(index);
    if (!no || !text) return;
    element.dataset.line = String(index);
    element.classList.toggle("at", line?.marked === true);
    element.classList.toggle("ghost", line !== undefined && line.number === null);
    element.classList.toggle("caret", index === this.#caret);
    if (!line) {
      no.textContent = "";
      text.textContent = "";
      return;
    }
    const folded = this.#folded.get(index);
    const folds = line.closes !== null && line.closes > index + 1;
    fill(no, folds ? el("span.fold", {}, folded === undefined ? "▾" : "▸") : null, line.number ?? "");
    text.style.setProperty("--indent", String(line.indent));
    fill(
      text,
      ...line.tokens.flatMap(([kind, part]) => this.#token(kind, part)),
      folded === undefined ? null : el("span.dim", {}, ` … ${counted(folded - index - 1, "line")}`),
    );
  }

  /** @param {string} kind @param {string} text */
  #token(kind, text) {
    if (kind === "mark") return [el("mark", {}, ...shortened(text))];
    if (kind === "label") {
      const secret = text.replace(/^\W+|\W+$/g, "");
      const chip = button(text, () => this.page.filter(`secret:${secret}`), { "data-secret": secret });
      chip.className = "label";
      chip.title = "a redacted value: press for all exchanges with it";
      return [chip];
    }
    const name = CLASSES[kind] ?? "";
    return name ? [el(`span.${name}`, {}, ...shortened(text))] : shortened(text);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    if (!(event.target instanceof Element)) return;
    const line = /** @type {HTMLElement | null} */ (event.target.closest(".line"));
    if (!line?.dataset.line) return;
    const index = Number(line.dataset.line);
    if (event.target.closest(".no")) this.#fold(index, !this.#folded.has(index));
    else this.move(index);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.element) return;
    const at = this.#caret < 0 ? -1 : this.#positionOf(this.#caret);
    if (event.key === "ArrowDown") this.move(this.#lineAt(Math.min(this.#shown() - 1, at + 1)));
    else if (event.key === "ArrowUp") this.move(this.#lineAt(Math.max(0, at - 1)));
    else if (event.key === "ArrowRight" && this.#folded.has(this.#caret)) this.#fold(this.#caret, false);
    else if (event.key === "ArrowLeft" && this.#canFold(this.#caret)) this.#fold(this.#caret, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} index */
  #canFold(index) {
    const closes = this.#lines.get(index)?.closes ?? null;
    return closes !== null && closes > index + 1 && !this.#folded.has(index);
  }

  /** @param {number} index @param {boolean} away */
  #fold(index, away) {
    if (away && !this.#canFold(index)) return;
    if (away) this.#folded.set(index, /** @type {number} */ (this.#lines.get(index)?.closes) - 1);
    else this.#folded.delete(index);
    if (this.#window) {
      this.#window.resize(this.#shown());
      this.#window.redraw();
    } else {
      this.#flow();
    }
    this.move(index);
  }

  /** The lines that hold a text, whatever its case. @param {string} text */
  async find(text) {
    if (text === "") return [];
    const sought = text.toLowerCase();
    for (let page = 0; page * LINES_AT_ONCE < this.count; page += 1) {
      const start = page * LINES_AT_ONCE;
      if (this.#lines.has(start)) continue;
      const { lines } = await this.more(start, LINES_AT_ONCE);
      this.#asked.add(page);
      lines.forEach((line, i) => this.#lines.set(start + i, line));
    }
    const holds = [...this.#lines].filter(([, { tokens }]) => tokens.map(([, part]) => part).join("").toLowerCase().includes(sought));
    return holds.map(([index]) => index).sort((a, b) => a - b);
  }

  /** Moves the caret. @param {number} index @param {"nearest" | "center"} [where] */
  move(index, where = "nearest") {
    for (const [from, to] of this.#folded) if (index > from && index <= to) this.#fold(from, false);
    this.#caret = index;
    for (const line of this.element.querySelectorAll(".line")) {
      line.classList.toggle("caret", /** @type {HTMLElement} */ (line).dataset.line === String(index));
    }
    this.#show(index, where);
    this.#drawPointer();
  }

  /** Brings a line into the region. The page around it does not scroll: the region stands where the eye is.
   * @param {number} index @param {"nearest" | "center"} [where] */
  #show(index, where = "center") {
    if (this.#window) this.#window.reveal(this.#positionOf(index), where);
    const line = this.element.querySelector(`[data-line="${index}"]`);
    if (!line) return;
    const region = this.element.getBoundingClientRect();
    const mark = line.querySelector("mark")?.getBoundingClientRect();
    const at = where === "center" && mark ? mark : line.getBoundingClientRect();
    if (!this.#window) {
      const above = at.top - region.top;
      if (where === "center") this.element.scrollTop += above - (this.element.clientHeight - at.height) / 2;
      else if (above < 0) this.element.scrollTop += above;
      else if (at.bottom > region.bottom) this.element.scrollTop += at.bottom - region.bottom;
    }
    if (mark && (mark.right > region.right || mark.left < region.left)) {
      this.element.scrollLeft += mark.left - region.left - region.width / 3;
    }
  }

  #drawPointer() {
    const at = this.#lines.get(this.#caret)?.at ?? null;
    this.status.hidden = at === null;
    if (at === null) return;
    fill(this.pointer, at === "" ? "the whole body" : at);
    fill(this.status, this.pointer, button("Copy pointer", () => this.copyPointer(), { key: "p" }));
  }

  copyPointer() {
    const at = this.#lines.get(this.#caret)?.at ?? null;
    if (at === null) announce("No line of the body is chosen");
    else void copy(at, "the pointer");
  }
}

// Views beside the text: the items of a sequence, the parts of a multipart body, the fields of a form, and an image, which
// is shown after a click.

const ROWS_AT_ONCE = 200;

/** @typedef {(query: Record<string, number | null>) => Promise<any>} Get asks for a part of the view */

/** Each draws its view into a place. @type {Record<string, (at: HTMLElement, get: Get) => Promise<void>>} */
const KINDS = { events, form, parts, image };

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

// A window on any number of rows of one height: only those on the screen exist, and they are used again.

/** More pixels than this no browser lays out; beyond, the scroll position is scaled. */
const MAX_PIXELS = 14_000_000;
const AROUND = 6;

/**
 * @typedef {object} Source
 * @property {() => HTMLElement} make an empty row, used for many
 * @property {(row: HTMLElement, index: number) => void} put what a row shows
 * @property {(first: number, last: number) => void} [drawn] the rows that are there now
 */

export class Window {
  /** @type {Map<number, HTMLElement>} */
  #rows = new Map();
  /** @type {HTMLElement[]} */
  #free = [];
  #size = 0;
  #height = 28;

  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} spacer within it; as high as all rows
   * @param {Source} source
   */
  constructor(scroller, spacer, source) {
    this.scroller = scroller;
    this.spacer = spacer;
    this.source = source;
    scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.redraw()).observe(scroller);
  }

  get size() {
    return this.#size;
  }

  /** What stands above the rows in the scroller, such as a sticky head. */
  get #above() {
    return this.spacer.offsetTop;
  }

  /** The pixels that the rows have. */
  get #room() {
    return Math.max(0, this.scroller.clientHeight - this.#above);
  }

  /** How many pixels of rows one pixel of the scroll bar is. */
  get #scale() {
    const whole = this.#size * this.#height;
    if (whole <= MAX_PIXELS) return 1;
    return (whole - this.#room) / (MAX_PIXELS - this.#room);
  }

  /** The pixel of all rows at the upper edge. */
  get #top() {
    return this.scroller.scrollTop * this.#scale;
  }

  /** Rows that fit. */
  get page() {
    return Math.max(1, Math.floor(this.#room / this.#height));
  }

  /** @param {number} size */
  resize(size) {
    this.#size = size;
    this.draw();
  }

  /** Everything anew: the height of rows may have changed. */
  redraw() {
    this.#height = this.#measure();
    for (const row of this.#rows.values()) {
      row.hidden = true;
      this.#free.push(row);
    }
    this.#rows.clear();
    this.draw();
  }

  /** Rows are made in another way from now on. */
  renew() {
    this.spacer.replaceChildren();
    this.#rows.clear();
    this.#free = [];
    this.redraw();
  }

  /** Fills the rows that are there again. */
  refill() {
    for (const [index, row] of this.#rows) this.source.put(row, index);
  }

  /** @param {number} index */
  row(index) {
    return this.#rows.get(index);
  }

  draw() {
    const height = this.#height;
    const whole = this.#size * height;
    const pixels = `${Math.min(whole, MAX_PIXELS)}px`;
    if (this.spacer.style.height !== pixels) this.spacer.style.height = pixels;
    const top = this.#top;
    const first = Math.max(0, Math.floor(top / height) - AROUND);
    const last = Math.min(this.#size, Math.ceil((top + this.#room) / height) + AROUND);
    for (const [index, row] of this.#rows) {
      if (index >= first && index < last) continue;
      this.#rows.delete(index);
      this.#free.push(row);
    }
    const scaled = this.#scale !== 1;
    const shift = scaled ? this.scroller.scrollTop - top : 0;
    for (let index = first; index < last; index += 1) {
      const there = this.#rows.get(index);
      if (there && !scaled) continue;
      const row = there ?? this.#take();
      if (!there) {
        this.#rows.set(index, row);
        this.source.put(row, index);
      }
      row.style.transform = `translateY(${index * height + shift}px)`;
    }
    for (const row of this.#free) row.hidden = true;
    this.source.drawn?.(first, last);
  }

  /** @returns {HTMLElement} */
  #take() {
    const row = this.#free.pop() ?? this.source.make();
    if (row.parentNode !== this.spacer) this.spacer.append(row);
    row.hidden = false;
    return row;
  }

  /** Brings a row on the screen. @param {number} index @param {"nearest" | "center"} [where] */
  reveal(index, where = "nearest") {
    const height = this.#height;
    const at = index * height;
    const room = this.#room;
    let top = this.#top;
    if (where === "center") top = at - (room - height) / 2;
    else if (at < top) top = at;
    // The pill and a horizontal scroll bar stand over the last row.
    else if (at + height * 2 > top + room) top = at + height * 2 - room;
    top = Math.max(0, Math.min(top, this.#size * height - room));
    this.scroller.scrollTop = top / this.#scale;
    this.draw();
  }

  /** Whether the last row is on the screen. */
  get atEnd() {
    return this.#top + this.#room >= this.#size * this.#height - this.#height * 1.5;
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.draw();
  }

  #measure() {
    if (this.#rows.size === 0 && this.#free.length === 0) this.#free.push(this.#take());
    const probe = /** @type {HTMLElement} */ (this.#rows.values().next().value ?? this.#free[0]);
    const { hidden } = probe;
    probe.hidden = false;
    const { height } = probe.getBoundingClientRect();
    probe.hidden = hidden;
    return height > 0 ? height : this.#height;
  }
}

/**
 * A window on rows that come by the page, as they come on the screen.
 *
 * @template T
 * @param {HTMLElement} scroller @param {HTMLElement} spacer @param {number} size
 * @param {object} pages
 * @param {number} pages.atOnce rows of a page
 * @param {T[]} pages.first the first page
 * @param {(from: number) => Promise<T[]>} pages.load another one
 * @param {() => HTMLElement} pages.make an empty row
 * @param {(row: HTMLElement, item: T | undefined, index: number) => void} pages.put
 */
export function paged(scroller, spacer, size, { atOnce, first, load, make, put }) {
  /** @type {Map<number, T>} */
  const items = new Map(first.map((item, i) => [i, item]));
  const asked = new Set([0]);
  /** @param {number} page */
  const ask = async (page) => {
    if (asked.has(page)) return;
    asked.add(page);
    try {
      (await load(page * atOnce)).forEach((item, i) => items.set(page * atOnce + i, item));
      window.refill();
    } catch {
      asked.delete(page);
    }
  };
  const window = new Window(scroller, spacer, {
    make,
    put: (row, index) => put(row, items.get(index), index),
    drawn: (from, to) => {
      void ask(Math.floor(from / atOnce));
      void ask(Math.floor(Math.max(from, to - 1) / atOnce));
    },
  });
  window.redraw();
  window.resize(size);
}

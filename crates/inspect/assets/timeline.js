// The timeline: how many exchanges there were over the time of the run, and what became of those that the filter
// selects. It is for sighted use: a sentence and two buttons are the same without it.

import * as api from "./api.js";
import { button, counted, el, fill, instant, narrow, remember, remembered, stamp } from "./dom.js";
import { filterOf } from "./list.js";

const HEIGHT = 28;
/** What there is at all has so many pixels, in both directions. */
const LEAST = 2;
const AGAIN_MS = 1_000;
/** Verdicts from below, as the server counts them. */
const STACK = [4, 0, 1, 2, 3];

/**
 * @typedef {object} Page what the timeline asks of the page around it
 * @property {(since: string | null, until: string | null) => void} select
 * @property {() => string | null} open when the open exchange started
 * @property {(sentence: string) => void} announce
 */

export class Timeline {
  /** @type {Api.Timeline | null} */
  #shown = null;
  /** What was asked for last: a list that has not changed since is not asked for again. */
  #asked = "";
  /** @type {number | undefined} */
  #timer;
  #asking = new AbortController();
  /** The buckets of a drag: the first, and where it is. @type {[number, number] | null} */
  #drag = null;

  /** @param {HTMLElement} at @param {HTMLElement} tools @param {Page} page */
  constructor(at, tools, page) {
    this.at = at;
    this.page = page;
    this.query = "";
    this.bars = el("div.bars");
    this.range = el("div.range", { hidden: true });
    this.strip = el("div.strip", { role: "img", "aria-label": "No exchange yet" }, this.bars, this.range);
    this.start = el("span");
    this.end = el("span");
    this.widens = button("Widen", () => void this.widen(), { key: "]", "aria-keyshortcuts": "]" });
    this.narrows = button("Narrow", () => void this.narrow(), { key: "[", "aria-keyshortcuts": "[" });
    at.replaceChildren(this.strip, el("div.strip-foot", {}, this.start, this.narrows, this.widens, this.end));
    const shown = Boolean(remembered().timeline ?? !narrow.matches);
    at.hidden = !shown;
    this.toggle = button("Timeline", () => void this.#show(this.toggle.ariaPressed !== "true"), { "aria-pressed": String(shown), "aria-controls": at.id });
    tools.append(this.toggle);
    this.#listen();
  }

  /** The list has this now. @param {string} query @param {number} n @param {number} size @param {number | null} [searched] */
  follow(query, n, size, searched = null) {
    const state = [query, n, size, searched].join(" ");
    if (state === this.#asked) return;
    this.#asked = state;
    const anew = query !== this.query;
    this.query = query;
    if (this.toggle.ariaPressed !== "true") return;
    if (anew || !this.#shown) void this.#ask();
    else this.#timer ??= setTimeout(() => void this.#ask(), AGAIN_MS);
  }

  /** @param {boolean} shown */
  #show(shown) {
    remember({ timeline: shown });
    this.toggle.ariaPressed = String(shown);
    this.at.hidden = !shown;
    return shown ? this.#ask() : Promise.resolve();
  }

  async #ask() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#asking.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const buckets = Math.max(1, Math.floor((this.at.parentElement?.clientWidth ?? 0) / (LEAST + 1)));
    try {
      this.#shown = await api.get("timeline", { ...filterOf(this.query, ""), buckets }, asking.signal);
      this.#draw();
    } catch (error) {
      // The list beside it shows what is wrong with the filter.
      if (!asking.signal.aborted) this.#shown = null;
    }
  }

  #draw() {
    const { start = null, end = null, all = [], matches = [] } = this.#shown ?? {};
    this.toggle.hidden = start === null;
    this.at.hidden = start === null || this.toggle.ariaPressed !== "true";
    if (start === null) return;
    const unit = (HEIGHT - 2 * LEAST) / Math.max(1, ...all);
    /** @param {number} count */
    const height = (count) => (count > 0 ? Math.max(LEAST, Math.round(count * unit)) : 0);
    while (this.bars.childElementCount > all.length) this.bars.lastChild?.remove();
    while (this.bars.childElementCount < all.length) this.bars.append(el("i"));
    all.forEach((count, i) => {
      const { style } = /** @type {HTMLElement} */ (this.bars.children[i]);
      let top = 0;
      STACK.forEach((verdict) => {
        top += height(matches[i]?.[verdict] ?? 0);
        style.setProperty(`--v${verdict}`, `${top}px`);
      });
      style.setProperty("--all", `${Math.max(top, height(count))}px`);
    });
    const day = instant(start, true).slice(0, 10);
    const last = instant(end, true);
    fill(this.start, instant(start, true).slice(0, 19));
    fill(this.end, last.startsWith(day) ? last.slice(11, 19) : last.slice(0, 19), remembered().utc ? " UTC" : null);
    this.strip.ariaLabel = this.#sentence();
    this.#mark();
  }

  #sentence() {
    const { start = null, end = null, all = [], matches = [], untimed = 0 } = this.#shown ?? {};
    /** @param {number[]} counts */
    const sum = (counts) => counts.reduce((a, b) => a + b, 0);
    const bad = matches.map((bucket) => (bucket[2] ?? 0) + (bucket[3] ?? 0));
    const first = bad.findIndex((count) => count > 0);
    const last = bad.findLastIndex((count) => count > 0) + 1;
    return [
      `${counted(sum(all), "exchange")} from ${instant(start, true)} to ${instant(end, true)}`,
      this.query ? `${counted(sum(matches.flat()), "match", "match")}` : "",
      first < 0 ? "none violates" : `${sum(bad)} violate, from ${this.#time(first)} to ${this.#time(last)}`,
      untimed > 0 ? `${counted(untimed, "further one")} without a time` : "",
    ]
      .filter((part) => part !== "")
      .join(", ");
  }

  /** The edge before a bucket. @param {number} bucket */
  #edge(bucket) {
    const [from, to] = this.#whole();
    return from + ((to - from) * bucket) / Math.max(1, this.#shown?.all.length ?? 1);
  }

  /** @param {number} bucket */
  #time = (bucket) => instant(new Date(this.#edge(bucket)).toISOString());

  /** @returns {[number, number]} */
  #whole() {
    return [Date.parse(this.#shown?.start ?? ""), Date.parse(this.#shown?.end ?? "")];
  }

  /** The selected time. @returns {[number, number]} */
  #selected() {
    const [start, end] = this.#whole();
    const { since, until } = this.#shown ?? {};
    const from = since ? Math.min(end, Math.max(start, Date.parse(since))) : start;
    return [from, until ? Math.max(from, Math.min(end, Date.parse(until))) : end];
  }

  /** Shows which time is selected. */
  #mark() {
    const [start, end] = this.#whole();
    const some = Boolean(this.#shown?.since ?? this.#shown?.until);
    const [from, to] = this.#drag ? this.#edges(this.#drag) : this.#selected();
    this.range.hidden = !some && !this.#drag;
    this.widens.toggleAttribute("disabled", !some);
    const part = 100 / Math.max(1, end - start);
    this.range.style.setProperty("--from", `${(from - start) * part}%`);
    this.range.style.setProperty("--to", `${(end - to) * part}%`);
  }

  /** @param {[number, number]} drag @returns {[number, number]} */
  #edges([a, b]) {
    return [this.#edge(Math.min(a, b)), this.#edge(Math.max(a, b) + 1)];
  }

  /** @param {number} from @param {number} to */
  #select(from, to) {
    const [start, end] = this.#whole();
    const since = from > start ? stamp(Math.floor(from)) : null;
    const until = to < end ? stamp(Math.ceil(to)) : null;
    // The next key continues from here, before the server has answered.
    this.#shown = this.#shown && { ...this.#shown, since, until };
    this.#mark();
    this.page.select(since, until);
  }

  /** Half the time, around the open exchange. */
  async narrow() {
    if (!(await this.#ready())) return;
    const [from, to] = this.#selected();
    const quarter = (to - from) / 4;
    if (quarter < 0.5) {
      this.page.announce("There is no shorter time");
      return;
    }
    const open = Date.parse(this.page.open() ?? "");
    const wanted = open >= from && open <= to ? open : (from + to) / 2;
    const middle = Math.max(from + quarter, Math.min(to - quarter, wanted));
    this.#select(middle - quarter, middle + quarter);
  }

  /** Twice the time. */
  async widen() {
    if (!(await this.#ready())) return;
    const [from, to] = this.#selected();
    const half = Math.max(1, to - from) / 2;
    this.#select(from - half, to + half);
  }

  /** Whether there is a timeline; keys bring it back where it was hidden. */
  async #ready() {
    if (this.toggle.ariaPressed !== "true") await this.#show(true);
    if (this.#shown?.start) return true;
    this.page.announce("No exchange here has a time");
    return false;
  }

  #listen() {
    /** @param {PointerEvent} event */
    const bucket = (event) => {
      const { left, width } = this.bars.getBoundingClientRect();
      const { length } = this.bars.children;
      return Math.max(0, Math.min(length - 1, Math.floor(((event.clientX - left) / width) * length)));
    };
    this.strip.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.#shown?.start) return;
      event.preventDefault();
      this.strip.setPointerCapture(event.pointerId);
      this.#drag = [bucket(event), bucket(event)];
      this.#mark();
    });
    this.strip.addEventListener("pointermove", (event) => {
      if (!this.#drag) return;
      this.#drag = [this.#drag[0], bucket(event)];
      this.#mark();
    });
    this.strip.addEventListener("pointerup", () => {
      const drag = this.#drag;
      this.#drag = null;
      if (drag) this.#select(...this.#edges(drag));
    });
    this.strip.addEventListener("pointercancel", () => {
      this.#drag = null;
      this.#mark();
    });
  }
}

// The list in groups: by operation, by client or by path. A group leads to the list of its exchanges, which is a term of
// the filter; Back leads to the groups again.

import * as api from "./api.js";
import { button, counted, el, fill, number, recorded, signOf, table, tableRow } from "./dom.js";
import { filterOf } from "./list.js";

const SEARCHING_MS = 250;

/** @type {Record<string, string>} */
const BY = { operation: "Operation", client: "Client", path: "Path" };

/**
 * @typedef {object} Page what the groups ask of the page around them
 * @property {(by: string | null) => void} group
 * @property {(term: string) => string} link the list of what a term selects of this list
 */

export class Groups {
  #query = "";
  /** @type {string | null} */
  #by = null;
  #asking = new AbortController();
  /** Exchanges that there were when they were counted. */
  #counted = 0;

  /** @param {HTMLElement} at @param {HTMLElement} tools @param {Page} page */
  constructor(at, tools, page) {
    this.at = at;
    this.page = page;
    const options = ["", ...Object.keys(BY)].map((value) => el("option", { value }, value ? `By ${value}` : "No groups"));
    this.choice = /** @type {HTMLSelectElement} */ (
      el("select", { "aria-label": "Groups", onchange: () => page.group(this.choice.value || null) }, options)
    );
    this.stale = button("", () => void this.#ask(), { hidden: true });
    tools.append(this.choice);
  }

  /** Whether groups are shown. */
  get shown() {
    return this.#by !== null;
  }

  /** @param {string | undefined} by @param {string} query */
  show(by, query) {
    const wanted = by && Object.hasOwn(BY, by) ? by : null;
    this.choice.value = wanted ?? "";
    this.at.hidden = wanted === null;
    if (wanted === this.#by && query === this.#query) return;
    this.#by = wanted;
    this.#query = query;
    if (wanted) void this.#ask();
  }

  /** There are this many exchanges now: the groups do not change under the reader. @param {number} n */
  grow(n) {
    this.stale.hidden = n <= this.#counted;
    this.stale.textContent = `${number(n - this.#counted)} new: refresh`;
  }

  async #ask() {
    this.#asking.abort();
    const asking = new AbortController();
    this.#asking = asking;
    try {
      /** @type {Api.Groups} */
      const groups = await api.get("groups", { ...filterOf(this.#query, ""), by: this.#by }, asking.signal);
      this.#counted = groups.n;
      this.grow(groups.n);
      this.#draw(groups);
      // The filter reads bodies, and has not read all.
      if (groups.searched !== null) setTimeout(() => asking.signal.aborted || void this.#ask(), SEARCHING_MS);
    } catch (error) {
      // The list shows what is wrong with the filter.
      if (!api.isSilent(error)) fill(this.at);
    }
  }

  /** @param {Api.Groups} groups */
  #draw({ rows, further, searched }) {
    const held = this.at.contains(document.activeElement);
    const verdicts = /** @type {Api.Verdict[]} */ (["conforms", "gap", "violates", "miss", "unjudged"]).filter(
      (verdict, i) => i < 3 || rows.some((row) => row.counts[verdict] > 0),
    );
    const name = BY[this.#by ?? ""] ?? "";
    /** @param {Api.GroupOf} row @param {Api.Verdict} verdict */
    const cell = (row, verdict) => {
      const count = row.counts[verdict];
      return el(`td.n.${count > 0 ? signOf(verdict).tone : "dim"}`, {}, number(count));
    };
    const heads = verdicts.map((verdict) => {
      const { sign, word } = signOf(verdict);
      return el("span", { title: word }, el("span", { "aria-hidden": "true" }, sign), el("span.visually-hidden", {}, word));
    });
    fill(
      this.at,
      el(
        "p.groups-head",
        {},
        el("span", {}, searched === null ? counted(rows.length + further, "group") : "searching"),
        further > 0 ? el("span.dim", {}, `the ${number(rows.length)} largest are shown`) : null,
        this.stale,
      ),
      table(
        `Exchanges by ${name.toLowerCase()}`,
        [name, "All", ...heads],
        rows.map((row) =>
          tableRow(
            [el("a", { href: this.page.link(row.term) }, row.name === "" ? "no client" : recorded(row.name))],
            el("td.n", {}, number(row.count)),
            ...verdicts.map((verdict) => cell(row, verdict)),
          ),
        ),
      ),
    );
    if (held) this.move(1);
  }

  /** To the next group, or the one before. @param {number} by */
  move(by) {
    const links = [...this.at.querySelectorAll("a")];
    const now = links.findIndex((link) => link === document.activeElement);
    const to = now < 0 ? (by > 0 ? 0 : links.length - 1) : now + by;
    links[Math.max(0, Math.min(links.length - 1, to))]?.focus();
  }
}

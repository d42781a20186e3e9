// The list: a window on the rows that the server has for a query. It keeps few of them, and never moves by itself
// under a reader.

import * as api from "./api.js";
import { columns, fieldsOf, grid } from "./columns.js";
import { GREY_MS, button, counted, duration, el, fill, number, recorded, remembered, signOf, table, tableRow } from "./dom.js";
import { Window } from "./window.js";

/** Rows that are kept. */
const KEPT = 2_000;
/** Rows that are asked for at once, at least. */
const BATCH = 100;
/** While somebody drags the scroll bar, the rows under it are asked for when it rests this long. */
const RESTS_MS = 60;
const SEARCHING_MS = 250;

/**
 * @typedef {object} Page what the list asks of the page around it
 * @property {(n: number) => void} open
 * @property {(sort: string) => void} sort
 * @property {(answer: Api.Rows) => void} answered
 * @property {(error: unknown) => void} failed
 * @property {(numbers: number[]) => void} marked these exchanges are marked now
 * @property {(term: string) => void} filter adds a term to the filter, or takes it out
 */

/** What the server makes a list of. Times of a filter are those of the person's zone.
 * @param {string} q @param {string} sort */
export const filterOf = (q, sort) => ({ q, sort, zone: q && !remembered().utc ? -new Date().getTimezoneOffset() : 0 });

export class List {
  /** @type {Map<number, Api.Row>} */
  #cache = new Map();
  #columns = columns();
  #query = "";
  #sort = "";
  #live = true;
  /** @type {AbortController | null} */
  #asking = null;
  /** @type {[number, number]} */
  #asked = [0, 0];
  /** @type {number | undefined} */
  #timer;
  /** @type {number | undefined} */
  #searching;
  #lastTop = 0;
  /** Exchanges that there are, and those that the list shows. */
  #head = 0;
  #size = 0;
  /** Some row had a duration: those of a fixture have none. */
  #timed = false;
  /** The query and order that were asked for last: a wrong one is never shown.
   * @type {[string, string] | null} */
  #wanted = null;

  /** @param {HTMLElement} at @param {Page} page */
  constructor(at, page) {
    this.page = page;
    this.following = true;
    this.paused = false;
    /** @type {number | null} */
    this.selected = null;
    /** The exchanges that the person marked. @type {Set<number>} */
    this.marked = new Set();
    /** @type {number | null} */
    this.index = null;
    this.head = el("div.grid-head", { role: "row", "aria-rowindex": 1 });
    this.spacer = el("div.spacer", { role: "rowgroup" });
    this.rows = el(
      "div.rows",
      { id: "rows", tabindex: 0, role: "grid", "aria-label": "Exchanges" },
      el("div.head-group", { role: "rowgroup" }, this.head),
      this.spacer,
    );
    this.newer = el("button.newer", { type: "button", hidden: true, onclick: () => this.newest() });
    at.replaceChildren(this.rows, this.newer);
    this.window = new Window(this.rows, this.spacer, {
      make: () => this.#make(),
      put: (row, index) => this.#put(row, index),
      drawn: (first, last) => this.#drawn(first, last),
    });
    this.rows.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.rows.addEventListener("keydown", (event) => this.#key(event));
    this.spacer.addEventListener("click", (event) => this.#click(event));
    // The end stays in sight of whoever follows it.
    new ResizeObserver(() => {
      if (this.following) this.window.toEnd();
    }).observe(this.rows);
    this.#heads();
  }

  get size() {
    return this.#size;
  }

  /** The filter that is shown. */
  get query() {
    return this.#query;
  }

  /** Another list. @param {string} query @param {string} sort @param {boolean} live */
  show(query, sort, live) {
    const [lastQuery, lastSort] = this.#wanted ?? [];
    if (query === lastQuery && sort === lastSort) return;
    const first = this.#wanted === null;
    this.#wanted = [query, sort];
    this.#live = live;
    this.following = live && sort === "" && (first ? this.selected === null : this.following);
    void this.#ask(0, BATCH, true);
  }

  /** There are this many exchanges now. @param {number} head */
  grow(head) {
    if (head === this.#head || this.paused) return;
    this.#head = head;
    if (this.#sort !== "") {
      // A sorted list is a snapshot.
      this.#pill();
    } else if (this.#query === "") {
      this.#resize(Math.max(head, this.#size));
    } else if (this.#asking === null) {
      // How many of the new ones match, only the server knows.
      this.#ask(this.#size, BATCH, false);
    }
  }

  /** Goes on after a pause, or after the connection was lost. @param {number} head */
  resume(head) {
    this.#head = -1;
    this.grow(head);
  }

  /** Everything is asked for again. */
  reload() {
    this.#wanted = null;
    this.show(this.#query, this.#sort, this.#live);
  }

  /** Shows the columns that the person has chosen now. */
  relayout() {
    const fields = fieldsOf(this.#columns);
    this.#columns = columns();
    this.#heads();
    this.window.renew();
    // What stands in a further header field, the server knows.
    if (fieldsOf(this.#columns) !== fields) this.reload();
  }

  /** To the end, and from there on with what comes; of a sorted list, the list as it is now. */
  newest() {
    if (this.#sort !== "") {
      this.reload();
      return;
    }
    this.following = true;
    this.window.toEnd();
    this.#pill();
    this.rows.focus();
  }

  /** @param {number} size */
  #resize(size) {
    const grew = size > this.#size;
    this.#size = size;
    this.rows.setAttribute("aria-rowcount", String(size + 1));
    this.window.resize(size);
    if (this.following && grew) this.window.toEnd();
    this.#pill();
  }

  #pill() {
    const more = this.#head - this.#seen();
    const sorted = this.#sort !== "" && more > 0;
    this.newer.hidden = !(sorted || (this.#live && this.#sort === "" && !this.following && this.#size > this.window.page));
    if (this.newer.hidden) return;
    const text = sorted ? `${number(more)} new: refresh` : more > 0 ? `Newest ↓ ${number(more)} new` : "Newest ↓";
    if (this.newer.textContent !== text) this.newer.textContent = text;
  }

  /** The number of exchanges when the end of the list was last on the screen. */
  #seen() {
    if (this.following || this.window.atEnd) this.#seenAt = this.#head;
    return this.#seenAt;
  }
  #seenAt = 0;

  #scrolled() {
    const top = this.rows.scrollTop;
    if (top < this.#lastTop - 1) this.following = false;
    else if (this.#live && this.#sort === "" && top > this.#lastTop && this.window.atEnd) this.following = true;
    this.#lastTop = top;
    this.#pill();
  }

  /** @param {number} first @param {number} last */
  #drawn(first, last) {
    this.#setActive();
    this.#bars();
    let from = first;
    while (from < last && this.#cache.has(from)) from += 1;
    if (from >= last) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#need(first, last), this.#asking ? RESTS_MS : 0);
  }

  /** Asks for rows of the screen that are missing. @param {number} first @param {number} last */
  #need(first, last) {
    let from = first;
    while (from < last && this.#cache.has(from)) from += 1;
    if (from >= last) return;
    if (this.#asking && from >= this.#asked[0] && last <= this.#asked[1]) return;
    this.#ask(Math.max(0, from - (BATCH - (last - first)) / 2), BATCH, false);
  }

  /** @param {number} from @param {number} count @param {boolean} anew */
  async #ask(from, count, anew) {
    const start = Math.max(0, Math.floor(from));
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    this.#asked = [start, start + count];
    const grey = setTimeout(() => this.rows.classList.add("waiting"), GREY_MS);
    const [q, sort] = anew && this.#wanted ? this.#wanted : [this.#query, this.#sort];
    try {
      const asked = { from: start, count, anew: anew && sort !== "", columns: fieldsOf(this.#columns) };
      const query = { ...filterOf(q, sort), ...asked };
      /** @type {Api.Rows} */
      const answer = await api.get("exchanges", query, asking.signal);
      if (anew) {
        this.#query = q;
        this.#sort = sort;
        this.#heads();
        this.#cache.clear();
        this.index = null;
        this.#size = 0;
        this.rows.scrollTop = 0;
        this.#lastTop = 0;
        this.#head = Math.max(this.#head, answer.n);
        this.#seenAt = answer.n;
      }
      answer.rows.forEach((row, i) => this.#cache.set(answer.from + i, row));
      this.#timed ||= answer.rows.some((row) => row.took !== null);
      this.rows.classList.toggle("untimed", !this.#timed && this.#cache.size > 0);
      this.#forget();
      this.page.answered(answer);
      this.#asking = null;
      this.#resize(this.paused && !anew ? this.#size : Math.max(answer.size, anew ? 0 : this.#size));
      clearTimeout(this.#searching);
      if (answer.searched !== null) this.#searching = setTimeout(() => this.#search(), SEARCHING_MS);
      if (anew) {
        if (this.following) this.window.toEnd();
        this.window.redraw();
        if (this.selected !== null) void this.reveal(this.selected);
      } else {
        this.window.refill();
        this.#bars();
        this.#setActive();
      }
    } catch (error) {
      if (!asking.signal.aborted) this.page.failed(error);
    } finally {
      clearTimeout(grey);
      if (this.#asking === asking) this.#asking = null;
      if (this.#asking === null) this.rows.classList.remove("waiting");
    }
  }

  /** A search in bodies goes on, and the list grows. */
  #search() {
    if (this.#asking === null) void this.#ask(this.#size, BATCH, false);
    else this.#searching = setTimeout(() => this.#search(), SEARCHING_MS);
  }

  /** Rows far from the screen are forgotten. */
  #forget() {
    if (this.#cache.size <= KEPT) return;
    const middle = this.#asked[0];
    for (const index of [...this.#cache.keys()]) {
      if (Math.abs(index - middle) > KEPT / 2) this.#cache.delete(index);
    }
  }

  #heads() {
    const chosen = grid(this.#columns);
    this.rows.classList.toggle("chosen", chosen !== null);
    this.rows.style.setProperty("--columns", chosen?.[0] ?? "");
    this.rows.style.setProperty("--least", chosen ? `calc(${chosen[1]}rem + ${this.#columns.length * 8 + 12}px)` : "");
    this.rows.setAttribute("aria-colcount", String(this.#columns.length));
    this.head.replaceChildren(
      ...this.#columns.map((column, i) => {
        const by = this.#sort.replace(/^-/, "") === column.id;
        const down = this.#sort.startsWith("-");
        const next = !by ? column.id : down ? "" : `-${column.id}`;
        const cell = el("span", {
          role: "columnheader",
          "aria-colindex": i + 1,
          "aria-sort": by ? (down ? "descending" : "ascending") : null,
        });
        cell.className = column.class;
        cell.append(
          column.sorts
            ? el(
                "button",
                {
                  type: "button",
                  title: next === "" ? "in the order of recording" : `sort by ${column.title.toLowerCase()}`,
                  "aria-label": column.title,
                  onclick: () => this.page.sort(next),
                },
                column.head ?? column.title,
                by ? el("span", { "aria-hidden": "true" }, down ? " ↓" : " ↑") : null,
              )
            : column.title,
        );
        return cell;
      }),
    );
  }

  /** An empty row: scrolling makes no elements. */
  #make() {
    const cells = this.#columns.map((column, i) => {
      const cell = el("span", { role: "gridcell", "aria-colindex": i + 1 });
      cell.className = column.class;
      return cell;
    });
    return el("div.row", { role: "row" }, cells);
  }

  /** @param {HTMLElement} element @param {number} index */
  #put(element, index) {
    const row = this.#cache.get(index);
    const cells = /** @type {HTMLElement[]} */ ([...element.children]);
    element.ariaRowIndex = String(index + 2);
    element.dataset.index = String(index);
    if (!row) {
      element.id = "";
      element.dataset.verdict = "";
      element.ariaSelected = "false";
      delete element.dataset.finding;
      element.removeAttribute("data-marked");
      cells.forEach((cell, i) => {
        cell.textContent = "";
        cell.ariaLabel = null;
        if (this.#columns[i]?.id !== "operation") return;
        cell.textContent = number(index);
        cell.className = "operation dim";
      });
      return;
    }
    element.id = `row-${row.n}`;
    element.dataset.verdict = row.verdict;
    element.ariaSelected = String(row.n === this.selected);
    cells.forEach((cell, i) => {
      cell.ariaLabel = null;
      this.#columns[i]?.put(cell, row, element);
    });
    const marked = this.marked.has(row.n);
    element.toggleAttribute("data-marked", marked);
    const [first] = cells;
    if (marked && first) first.ariaLabel = `${first.ariaLabel ?? first.textContent}, marked`;
  }

  /** Bars of the rows on the screen, against the time of all of them. */
  #bars() {
    const at = this.#columns.findIndex(({ id }) => id === "bar");
    if (at < 0) return;
    const bars = [];
    for (const element of /** @type {Iterable<HTMLElement>} */ (this.spacer.children)) {
      const cell = /** @type {HTMLElement} */ (element.children[at]);
      const row = element.hidden ? undefined : this.#cache.get(Number(element.dataset.index));
      const from = Date.parse(row?.started ?? "");
      if (row && from) bars.push({ cell, from, to: from + (row.took ?? 0) });
      else cell.textContent = "";
    }
    const start = Math.min(...bars.map(({ from }) => from));
    const span = Math.max(1, ...bars.map(({ to }) => to - start));
    for (const { cell, from, to } of bars) {
      const bar = /** @type {HTMLElement} */ (cell.firstElementChild ?? cell.appendChild(el("i")));
      bar.style.setProperty("--from", `${(100 * (from - start)) / span}%`);
      bar.style.setProperty("--share", `${(100 * (to - from)) / span}%`);
      cell.ariaLabel = `after ${duration(from - start)}`;
    }
  }

  /** @param {MouseEvent} event */
  #click(event) {
    if (!(event.target instanceof Element)) return;
    const row = /** @type {HTMLElement | null} */ (event.target.closest(".row"));
    const index = Number(row?.dataset.index ?? -1);
    const held = this.#cache.get(index);
    const column = this.#columns[Number(event.target.closest("[aria-colindex]")?.getAttribute("aria-colindex")) - 1];
    const term = event.altKey && held ? column?.term?.(held) : null;
    if (term) this.page.filter(term);
    else if ((event.ctrlKey || event.metaKey) && held) this.toggleMark(held.n);
    else if (index >= 0) this.select(index);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.rows) return;
    const now = this.index ?? -1;
    /** @type {Record<string, number>} */
    const keys = {
      ArrowDown: now + 1,
      ArrowUp: now - 1,
      PageDown: now + this.window.page,
      PageUp: now - this.window.page,
      Home: 0,
      End: this.#size - 1,
    };
    const to = keys[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.select(to);
    if (event.key === "End" && this.#live && this.#sort === "") this.following = true;
  }

  /** The next row, or the one before. @param {number} by */
  move(by) {
    if (this.index === null) {
      // Nothing is selected: begin with what is on the screen.
      const rows = [...this.spacer.querySelectorAll(".row:not([hidden])")];
      const indices = rows.map((row) => Number(/** @type {HTMLElement} */ (row).dataset.index)).sort((a, b) => a - b);
      this.select(by > 0 ? 0 : (indices.at(-1) ?? 0));
    } else {
      this.select(this.index + by);
    }
  }

  /** @param {number} index */
  select(index) {
    if (this.#size === 0) return;
    const to = Math.max(0, Math.min(this.#size - 1, index));
    this.following = false;
    this.index = to;
    this.window.reveal(to);
    const row = this.#cache.get(to);
    if (row) this.#select(row.n);
    // The row is not here yet: whoever holds a key down passes by, and the last one is opened when it comes.
    else void this.#openLater(to);
    this.#pill();
  }

  /** @param {number} index */
  async #openLater(index) {
    try {
      /** @type {Api.Rows} */
      const answer = await api.get("exchanges", { ...filterOf(this.#query, this.#sort), from: index, count: 1 });
      const row = answer.rows[0];
      if (row && this.index === index) this.#select(row.n);
    } catch (error) {
      this.page.failed(error);
    }
  }

  /** @param {number} n */
  #select(n) {
    this.mark(n);
    this.page.open(n);
  }

  /** Marks an exchange, or takes its mark away. @param {number | null} [n] */
  toggleMark(n = this.selected) {
    if (n === null) return false;
    if (!this.marked.delete(n)) this.marked.add(n);
    this.window.refill();
    this.page.marked([...this.marked].sort((a, b) => a - b));
    return true;
  }

  unmark() {
    this.marked.clear();
    this.window.refill();
    this.page.marked([]);
  }

  /** Shows which row is open. @param {number | null} n */
  mark(n) {
    this.selected = n;
    for (const row of this.spacer.children) row.ariaSelected = String(n !== null && row.id === `row-${n}`);
    if (n === null) this.index = null;
    this.#setActive();
  }

  /** The selected row, for assistive technology; none while it is not on the screen. */
  #setActive() {
    const row = this.index === null ? undefined : this.window.row(this.index);
    if (row && row.id === `row-${this.selected}`) this.rows.setAttribute("aria-activedescendant", row.id);
    else this.rows.removeAttribute("aria-activedescendant");
  }

  /** Brings an exchange on the screen, if the list has it. @param {number} n */
  async reveal(n) {
    this.mark(n);
    this.following = false;
    const here = this.index !== null ? this.#cache.get(this.index) : undefined;
    if (here?.n === n) {
      this.window.reveal(/** @type {number} */ (this.index));
      return;
    }
    try {
      /** @type {{ index: number | null }} */
      const { index } = await api.get("exchanges/at", { ...filterOf(this.#query, this.#sort), n });
      if (this.selected !== n) return;
      this.index = index;
      if (index === null) return;
      if (index >= this.#size) this.#resize(index + 1);
      this.window.reveal(index, this.window.row(index) ? "nearest" : "center");
      this.#setActive();
      this.#pill();
    } catch (error) {
      if (!api.isSilent(error)) this.page.failed(error);
    }
  }
}

/** @type {Record<string, string>} */
const BY = { operation: "Operation", client: "Client", path: "Path" };

/**
 * @typedef {object} GroupsPage what the groups ask of the page around them
 * @property {(by: string | null) => void} group
 * @property {(term: string) => string} link the list of what a term selects of this list
 */

/** The list in groups: by operation, by client or by path. A group leads to the list of its exchanges, which is a term of
 * the filter; Back leads to the groups again. */
export class Groups {
  #query = "";
  /** @type {string | null} */
  #by = null;
  #asking = new AbortController();
  /** Exchanges that there were when they were counted. */
  #counted = 0;

  /** @param {HTMLElement} at @param {HTMLElement} tools @param {GroupsPage} page */
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

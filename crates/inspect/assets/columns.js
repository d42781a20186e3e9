// The columns of the list: which there are, which of them the person chose, and the menu for it. What stands in a
// header field is asked for only where its column is chosen.

import { bytes, button, duration, el, fill, instant, narrow, remember, remembered, signOf } from "./dom.js";
import { term } from "./route.js";

/**
 * @typedef {object} Column
 * @property {string} id
 * @property {string} title
 * @property {string} class
 * @property {[number, number]} width at least so many rem, and its share of the rest
 * @property {string} [head] where it is not the title
 * @property {boolean} [sorts]
 * @property {(cell: HTMLElement, row: Api.Row, element: HTMLElement) => void} put
 * @property {(row: Api.Row) => string | null} [term] the term of a filter that a cell stands for
 */

/** @type {Column[]} */
const COLUMNS = [
  {
    id: "verdict",
    title: "Verdict",
    head: "",
    class: "sign",
    width: [1.1, 0],
    sorts: true,
    put: (cell, row) => {
      const verdict = signOf(row.verdict);
      cell.className = `sign ${verdict.tone}`;
      cell.textContent = verdict.sign;
      cell.ariaLabel = verdict.word;
    },
    term: (row) => `verdict:${row.verdict}`,
  },
  {
    id: "method",
    title: "Method",
    class: "method",
    width: [3.4, 0],
    sorts: true,
    put: (cell, row) => {
      cell.textContent = row.method;
    },
    term: (row) => term("method", row.method),
  },
  {
    id: "status",
    title: "Status",
    class: "status n",
    width: [2.7, 0],
    sorts: true,
    put: (cell, row) => {
      cell.textContent = row.status === null ? "–" : String(row.status);
    },
    term: (row) => (row.status === null ? null : `status:${row.status}`),
  },
  {
    id: "operation",
    title: "Operation",
    class: "operation",
    width: [5, 1.1],
    sorts: true,
    put: (cell, row, element) => {
      cell.textContent = row.operation ?? "undocumented";
      cell.className = row.operation ? "operation" : "operation gap";
      cell.title = row.operation ?? "";
      if (row.state && row.state !== "same") {
        element.dataset.state = row.state;
        cell.prepend(el("i.mark", {}, row.state), " ");
      } else {
        delete element.dataset.state;
      }
    },
    term: (row) => term("op", row.operation ?? "undocumented"),
  },
  {
    id: "path",
    title: "Path, or first finding",
    class: "path",
    width: [6, 1.7],
    sorts: true,
    put: (cell, row, element) => {
      const { finding } = row;
      if (finding) {
        element.dataset.finding = "";
        cell.replaceChildren(el("span", {}, finding.at ? `${finding.rule} at ${finding.at}` : finding.rule));
        cell.className = `path recorded ${finding.kind === "gap" ? "gap" : "bad"}`;
      } else {
        delete element.dataset.finding;
        cell.replaceChildren(el("span", {}, row.path));
        cell.className = "path recorded dim";
      }
      cell.title = row.path;
      for (const mark of row.marks) cell.append(el("i.mark", {}, mark));
      if (finding) cell.append(el("span.visually-hidden", {}, `, ${row.path}`));
    },
    term: (row) => (row.finding ? `rule:${row.finding.rule}` : null),
  },
  {
    id: "client",
    title: "Client",
    class: "client",
    width: [4, 0.6],
    sorts: true,
    put: (cell, row) => {
      cell.textContent = row.client ?? "";
    },
    term: (row) => (row.client ? term("client", row.client) : null),
  },
  {
    id: "size",
    title: "Size",
    class: "size n",
    width: [4.5, 0],
    sorts: true,
    put: (cell, row) => {
      cell.textContent = bytes(row.size);
    },
  },
  {
    id: "took",
    title: "Took",
    class: "took n",
    width: [4.2, 0],
    sorts: true,
    put: (cell, row) => {
      cell.textContent = row.took === null ? "" : duration(row.took);
      cell.className = row.slow ? "took n slow" : "took n";
      cell.ariaLabel = row.slow ? `${cell.textContent}, slow` : null;
    },
  },
  {
    id: "started",
    title: "Started",
    class: "started n",
    width: [6, 0],
    put: (cell, row) => {
      cell.textContent = instant(row.started);
      cell.title = instant(row.started, true);
    },
  },
  // The rows on the screen decide its scale: the list fills it.
  { id: "bar", title: "Time bar", class: "waterfall", width: [5, 0.8], put: () => {} },
];

/** The column of a header field. @param {string} name @returns {Column} */
const fieldColumn = (name) => ({
  id: `header:${name}`,
  title: name,
  class: "field recorded",
  width: [5, 0.8],
  put: (cell, row) => {
    const value = row.fields?.[name] ?? "";
    cell.textContent = value;
    cell.title = value;
  },
  term: (row) => (row.fields?.[name] ? term("header", `${name}=${row.fields[name]}`) : null),
});

/** Those that the list has as long as nobody chose. Narrow lists hide some of them. */
const USUAL = COLUMNS.slice(0, 8).map(({ id }) => id);
const MOST = 16;

/** @type {[string, number][]} */
const WIDTHS = [
  ["narrow", 0.6],
  ["usual", 1],
  ["wide", 1.8],
];

/** @param {string} id */
const columnOf = (id) =>
  COLUMNS.find((column) => column.id === id) ?? (id.startsWith("header:") ? fieldColumn(id.slice(7)) : null);

/** Those that the person chose; a phone has a layout of its own. */
const chosenOf = () => (narrow.matches ? undefined : remembered().columns);

/** The columns of the list, from left to right. @returns {Column[]} */
export const columns = () =>
  (chosenOf() ?? USUAL).map(columnOf).filter((column) => column !== null);

/** The names of the header fields that are columns. @param {Column[]} list */
export const fieldsOf = (list) =>
  list.filter(({ id }) => id.startsWith("header:")).map(({ title }) => title).join(",");

/** The columns as a grid has them, and the rem that they need; `null` as long as nobody chose.
 * @param {Column[]} list @returns {[string, number] | null} */
export function grid(list) {
  const { widths = {} } = remembered();
  if (!chosenOf()) return null;
  const sizes = list.map(({ id, width: [least, share] }) => {
    const factor = widths[id] ?? 1;
    return { least: least * factor, share: share * factor };
  });
  const template = sizes.map(({ least, share }) => (share > 0 ? `minmax(${least}rem, ${share}fr)` : `${least}rem`));
  return [template.join(" "), sizes.reduce((sum, { least }) => sum + least, 0)];
}

/** The menu: a check box, two moves and a width for each column, and a field for further ones. */
export class Menu {
  /** @param {HTMLElement} tools @param {() => void} changed */
  constructor(tools, changed) {
    this.changed = changed;
    this.content = el("div.menu");
    this.at = el("details.columns-menu", {}, el("summary", {}, "Columns"), this.content);
    this.at.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.at.hasAttribute("open")) return;
      event.preventDefault();
      this.#close();
    });
    tools.append(this.at);
    this.#draw();
  }

  #close() {
    this.at.removeAttribute("open");
    /** @type {HTMLElement | null} */ (this.at.querySelector("summary"))?.focus();
  }

  /** @param {string[] | undefined} chosen @param {Record<string, number>} [widths] */
  #set(chosen, widths = remembered().widths ?? {}) {
    remember({ columns: chosen?.length === 0 ? undefined : chosen, widths });
    const held = document.activeElement?.getAttribute("data-key");
    this.#draw();
    this.changed();
    const again = [...this.content.querySelectorAll("[data-key]")].find((one) => one.getAttribute("data-key") === held);
    /** @type {HTMLElement | undefined} */ (again)?.focus();
  }

  #draw() {
    const chosen = columns().map(({ id }) => id);
    const others = COLUMNS.map(({ id }) => id).filter((id) => !chosen.includes(id));
    const field = /** @type {HTMLInputElement} */ (
      el("input", { type: "text", id: "field-column", "data-key": "field", spellcheck: "false", autocomplete: "off", autocapitalize: "off" })
    );
    const form = el(
      "form",
      {},
      el("label", { for: "field-column" }, "A header field"),
      field,
      el("button", { type: "submit" }, "Add"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const id = `header:${field.value.trim().toLowerCase()}`;
      if (!/^header:[\w!#$%&'*+.^`|~-]+$/.test(id) || chosen.includes(id) || chosen.length >= MOST) return;
      this.#set([...chosen, id]);
    });
    fill(
      this.content,
      el("ol", {}, [...chosen, ...others].map((id) => this.#line(id, chosen))),
      form,
      el(
        "p",
        {},
        button("As at first", () => this.#set(undefined, {}), { "data-key": "usual" }),
        button("Close", () => this.#close(), { key: "Esc" }),
      ),
    );
  }

  /** @param {string} id @param {string[]} chosen */
  #line(id, chosen) {
    const title = columnOf(id)?.title ?? id;
    const at = chosen.indexOf(id);
    const widths = remembered().widths ?? {};
    const box = el("input", {
      type: "checkbox",
      checked: at >= 0,
      "data-key": `${id} shown`,
      onchange: () => this.#set(at >= 0 ? chosen.filter((one) => one !== id) : [...chosen, id]),
    });
    if (at < 0) return el("li", {}, el("label", {}, box, " ", title));
    /** @param {string} sign @param {string} word @param {number} by */
    const move = (sign, word, by) => {
      const ends = at + by < 0 || at + by >= chosen.length;
      // A button that takes no press keeps the focus of whoever pressed it last.
      return button(sign, () => ends || this.#set(chosen.toSpliced(at, 1).toSpliced(at + by, 0, id)), {
        "aria-label": `${title}: ${word}`,
        "data-key": `${id} ${word}`,
        "aria-disabled": String(ends),
      });
    };
    const width = /** @type {HTMLSelectElement} */ (
      el(
        "select",
        {
          "aria-label": `${title}: width`,
          "data-key": `${id} width`,
          onchange: () => this.#set(chosen, { ...widths, [id]: Number(width.value) }),
        },
        WIDTHS.map(([name, factor]) => el("option", { value: factor, selected: factor === (widths[id] ?? 1) }, name)),
      )
    );
    return el(
      "li",
      {},
      el("label", {}, box, " ", title),
      move("↑", "earlier", -1),
      move("↓", "later", 1),
      width,
    );
  }
}

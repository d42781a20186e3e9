// The filter: one field, whose text is the truth and stands in the address. The server understands it, not this page.

import { get } from "./api.js";
import { button, byId, el, fill, number, prose } from "./dom.js";
import { term } from "./route.js";

const TYPED_MS = 100;
/** Entries have to be read for these, so a keystroke does not ask. */
const READS_MS = 600;
const HISTORY = "contrail.queries";
const REMEMBERED = 20;

/** @type {[string, string][]} */
const QUICK = [
  ["violates", "verdict:violates"],
  ["gap", "verdict:gap"],
  ["4xx", "status:4xx"],
  ["slow", "is:slow"],
];

/** Those of two recordings. @type {[string, string][]} */
export const STATES = [
  ["changed", "is:changed"],
  ["added", "is:added"],
  ["removed", "is:removed"],
];

/** @type {[string, string][]} the keys and what they take */
const KEYS = [
  ["verdict:", "violates, gap, conforms, miss, unjudged"],
  ["op:", "an operation's id, or undocumented"],
  ["status:", "404, 4xx, >=400"],
  ["method:", "GET"],
  ["path:", "/api/v2/users*"],
  ["query:", "a parameter's name"],
  ["host:", "tenant.example"],
  ["rule:", "response.body, auth.*"],
  ["at:", "/groups/*/id"],
  ["kind:", "violation, gap"],
  ["client:", "a client's name"],
  ["scope:", "read:clients"],
  ["token:", "expired"],
  ["blame:", "caught, laxer, stricter, agreed"],
  ["unchecked:", "required-scope"],
  ["took:", ">500ms"],
  ["wait:", ">500ms"],
  ["size:", ">1MB"],
  ["since:", "10:02, -5m"],
  ["until:", "10:04"],
  ["source:", "a recording's file"],
  ["entry:", "an entry's number in its file"],
  ["is:", "slow, cut, redacted, retried, changed"],
  ["header:", "x-request-id=abc"],
  ["body:", '"text of a body"'],
  ["secret:", "token-1"],
];

export class Filter {
  /** @type {number | undefined} */
  #typing;
  #history = -1;
  /** @type {[string, string][]} */
  #options = [];
  #active = -1;
  /** The question for values that is open. */
  #asking = new AbortController();

  /** @param {{ set: (query: string) => void, toggle: () => void, done: () => void }} page */
  constructor(page) {
    this.page = page;
    this.field = /** @type {HTMLInputElement} */ (byId("query"));
    this.matches = byId("found");
    this.problem = byId("query-error");
    this.chips = byId("chips");
    this.list = byId("completions");
    byId("filter").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#close();
      this.#now();
      this.page.done();
    });
    this.field.addEventListener("input", () => this.#typed());
    this.field.addEventListener("keydown", (event) => this.#key(event));
    this.field.addEventListener("blur", () => {
      this.#close();
      this.#keep(this.field.value);
    });
    this.list.addEventListener("pointerdown", (event) => this.#chosen(event));
    this.offer([]);
  }

  /** Buttons of frequent terms. @param {[string, string][]} more before the others */
  offer(more) {
    fill(
      byId("quick"),
      [...more, ...QUICK].map(([name, term]) => button(name, () => this.toggleTerm(term), { "data-term": term, "aria-pressed": "false" })),
    );
  }

  /** Shows what the address holds. @param {string} query @param {boolean} off */
  show(query, off) {
    if (document.activeElement !== this.field || this.field.value.trim() !== query) this.field.value = query;
    this.field.classList.toggle("off", off);
    const terms = termsOf(query);
    for (const quick of byId("quick").children) {
      const term = /** @type {HTMLElement} */ (quick).dataset.term ?? "";
      quick.ariaPressed = String(terms.includes(term));
    }
    this.chips.hidden = terms.length === 0;
    fill(
      this.chips,
      terms.map((term, i) =>
        el(
          "li",
          { class: off ? "off" : null },
          el("code.recorded", {}, term),
          button("×", () => this.page.set(terms.toSpliced(i, 1).join(" ")), { "aria-label": `Remove ${term}` }),
        ),
      ),
      terms.length === 0
        ? null
        : el("li.bare", {}, button(off ? "Filter on" : "Filter off", () => this.page.toggle(), { key: "\\" })),
    );
  }

  /** @param {Api.Rows} answer @param {boolean} filtered */
  answered(answer, filtered) {
    this.error(null);
    const found = `${number(answer.size)} of ${number(answer.n)}`;
    const { searched } = answer;
    this.matches.textContent = !filtered
      ? ""
      : searched === null
        ? found
        : `searching, ${Math.floor(searched * 100)} %, ${number(answer.size)} so far`;
  }

  /** @param {{ at: number | null, message: string } | null} error */
  error(error) {
    this.field.setAttribute("aria-invalid", String(error !== null));
    this.problem.hidden = error === null;
    if (!error) return;
    const query = this.field.value;
    const at = error.at === null ? query.length : Math.min(error.at, query.length);
    const end = /[\s)]/.exec(query.slice(at + 1));
    const to = end ? at + 1 + end.index : query.length;
    fill(
      this.problem,
      ...prose(error.message),
      at < query.length ? [" ", el("code.recorded", {}, query.slice(0, at), el("u", {}, query.slice(at, to)), query.slice(to))] : null,
    );
  }

  /** @param {string} [text] what the field begins with */
  focus(text) {
    if (text !== undefined) this.field.value = `${this.field.value.trim()} ${text}`.trimStart();
    this.field.focus();
    const { length } = this.field.value;
    this.field.setSelectionRange(text === undefined ? 0 : length, length);
  }

  /** Adds a term, or takes it out where it stands. @param {string} term */
  toggleTerm(term) {
    const terms = termsOf(this.field.value);
    this.page.set((terms.includes(term) ? terms.filter((one) => one !== term) : [...terms, term]).join(" "));
  }

  /** Selects this time, and no other. @param {string | null} since @param {string | null} until */
  setTime(since, until) {
    const others = termsOf(this.field.value).filter((term) => !/^(since|until):/.test(term));
    this.page.set([...others, since && `since:${since}`, until && `until:${until}`].filter(Boolean).join(" "));
  }

  #typed() {
    this.#complete();
    clearTimeout(this.#typing);
    const reads = /(^|[\s(-])(header|body|secret)[:~]/.test(this.field.value);
    this.#typing = setTimeout(() => this.#now(), reads ? READS_MS : TYPED_MS);
  }

  #now() {
    clearTimeout(this.#typing);
    this.page.set(this.field.value.trim());
  }

  /** @param {string} query */
  #keep(query) {
    if (query.trim() === "") return;
    const queries = [query.trim(), ...past().filter((one) => one !== query.trim())].slice(0, REMEMBERED);
    sessionStorage.setItem(HISTORY, JSON.stringify(queries));
    this.#history = -1;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (this.#options.length > 0) this.#close();
      else this.page.done();
      return;
    }
    if (this.#options.length > 0 && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const by = event.key === "ArrowDown" ? 1 : -1;
      this.#active = (this.#active + by + this.#options.length) % this.#options.length;
      this.#mark();
      return;
    }
    if (this.#active >= 0 && (event.key === "Enter" || event.key === "Tab")) {
      event.preventDefault();
      this.#take(this.#options[this.#active]?.[0] ?? "");
      return;
    }
    const queries = past();
    if (event.key === "ArrowUp" && (this.field.value === "" || this.#history >= 0) && queries.length > 0) {
      event.preventDefault();
      this.#history = Math.min(queries.length - 1, this.#history + 1);
      this.field.value = queries[this.#history] ?? "";
      this.#typed();
      this.#close();
    }
  }

  /** The word that ends at the caret. */
  #word() {
    const before = this.field.value.slice(0, this.field.selectionStart ?? 0);
    const from = Math.max(before.lastIndexOf(" "), before.lastIndexOf("(")) + 1;
    const minus = before[from] === "-" ? 1 : 0;
    return { from: from + minus, text: before.slice(from + minus) };
  }

  #complete() {
    this.#asking.abort();
    const { text } = this.#word();
    const colon = text.indexOf(":");
    if (text === "" || colon >= 0) {
      const known = KEYS.find(([key]) => key === text.slice(0, colon + 1));
      this.#offer(known && text === known[0] ? [["", `${known[0]} takes ${known[1]}`]] : []);
      if (known) void this.#values(known[0], text.slice(colon + 1));
      return;
    }
    this.#offer(KEYS.filter(([key]) => key.startsWith(text.toLowerCase())));
  }

  /** Offers the values that the exchanges have for a key.
   * @param {string} key @param {string} begins */
  async #values(key, begins) {
    this.#asking = new AbortController();
    try {
      const { options } = await get("values", { key: key.slice(0, -1), begins }, this.#asking.signal);
      /** @type {{ text: string, count: number }[]} */
      const found = options;
      if (found.length > 0) this.#offer(found.map(({ text, count }) => [term(key.slice(0, -1), text), number(count)]));
    } catch {
      // Without an offer the field works as before.
    }
  }

  /** @param {[string, string][]} options */
  #offer(options) {
    this.#options = options.filter(([key]) => key !== "");
    this.#active = -1;
    this.list.hidden = options.length === 0;
    this.field.setAttribute("aria-expanded", String(this.#options.length > 0));
    this.field.removeAttribute("aria-activedescendant");
    fill(
      this.list,
      options.map(([key, takes], i) =>
        el(
          "li",
          { id: `completion-${i}`, role: "option", "aria-selected": "false", "data-key": key },
          key ? el("code", {}, key) : null,
          " ",
          el("span.dim", {}, takes),
        ),
      ),
    );
  }

  #mark() {
    [...this.list.children].forEach((option, i) => {
      option.ariaSelected = String(i === this.#active);
    });
    this.field.setAttribute("aria-activedescendant", `completion-${this.#active}`);
  }

  #close() {
    this.#offer([]);
  }

  /** @param {PointerEvent} event */
  #chosen(event) {
    event.preventDefault();
    const option = event.target instanceof Element ? event.target.closest("li") : null;
    if (option?.dataset.key) this.#take(option.dataset.key);
  }

  /** @param {string} key */
  #take(key) {
    const { from, text } = this.#word();
    const { value } = this.field;
    this.field.value = value.slice(0, from) + key + value.slice(from + text.length);
    this.field.setSelectionRange(from + key.length, from + key.length);
    this.#typed();
  }
}

/** @returns {string[]} */
function past() {
  try {
    return JSON.parse(sessionStorage.getItem(HISTORY) ?? "[]");
  } catch {
    return [];
  }
}

/** The terms of a query, to be shown and removed one by one; alternatives stay in one, which others may stand beside.
 * @param {string} query @returns {string[]} */
export function termsOf(query) {
  const terms = [];
  let term = "";
  let quoted = false;
  let depth = 0;
  for (const char of query) {
    if (char === '"') quoted = !quoted;
    if (!quoted && char === "(") depth += 1;
    if (!quoted && char === ")") depth -= 1;
    if (/\s/.test(char) && !quoted && depth <= 0) {
      if (term) terms.push(term);
      term = "";
    } else {
      term += char;
    }
  }
  if (term) terms.push(term);
  return terms.some((one) => one === "or") ? [`(${query.trim()})`] : terms.filter((one) => one !== "and");
}

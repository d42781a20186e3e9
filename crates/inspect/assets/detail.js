// One exchange, in the order of the questions: what was it, is it right, where exactly, which passage
// states it, who called, how long, what now.

import * as api from "./api.js";
import { BodyView } from "./body.js";
import { announce, copy, copyCurl, saveHar } from "./copy.js";
import { GREY_MS, badge, box, button, bytes, code, counted, duration, el, fill, instant } from "./dom.js";
import { kindBadge, number, prose, recorded, shortened } from "./dom.js";
import { link, term } from "./route.js";

/** @typedef {"response" | "request" | "raw" | "token"} Tab */
/** @type {[Tab, string, string][]} */
const TABS = [
  ["response", "Response", "r"],
  ["request", "Request", "q"],
  ["raw", "Raw", "w"],
  ["token", "Token", "t"],
];

/**
 * @typedef {object} Page
 * @property {() => void} back
 * @property {(n: number) => void} compare
 * @property {(query: string) => void} filter
 * @property {() => boolean} hasSources whether the list is of more than one recording
 * @property {(changes: Record<string, string | number | null>) => void} place changes the address
 */

export class Detail {
  /** @type {Api.Exchange | null} */
  #shown = null;
  /** @type {AbortController | null} */
  #asking = null;
  /** @type {BodyView | null} */
  #body = null;
  /** @type {number | null} */
  #finding = null;
  /** The tab that the person chose: it stays from one exchange to the next. @type {Tab | null} */
  #chosen = null;
  /** @type {Tab} */
  #tab = "response";
  #view = "lines";

  /** @param {HTMLElement} at @param {Page} page */
  constructor(at, page) {
    this.at = at;
    this.page = page;
    this.findings = el("ul.findings", { "aria-label": "Findings" });
    this.message = el("div.message");
    this.why = el("aside.why", { "aria-label": "Why" });
    this.tabs = el("div.tabs", { role: "tablist", "aria-label": "Message" });
    this.tabs.addEventListener("keydown", (event) => this.#tabKey(event));
    this.panel = el("div.panel", { role: "tabpanel", id: "panel", "aria-label": "Message" });
  }

  get n() {
    return this.#shown?.n ?? null;
  }

  /** When the open exchange started. */
  get started() {
    return this.#shown?.row.started ?? null;
  }

  get finding() {
    return this.#finding;
  }

  get operation() {
    return this.#shown?.row.operation ?? null;
  }

  /** Nothing is selected. */
  empty() {
    this.#asking?.abort();
    this.#body?.close();
    this.#shown = null;
    this.#finding = null;
    fill(
      this.at,
      el(
        "div.empty",
        {},
        el("p", {}, "Select an exchange. ", el("kbd", {}, "j"), " ", el("kbd", {}, "k"), " move, ", el("kbd", {}, "n"), " goes to the next finding."),
      ),
    );
  }

  /**
   * Shows an exchange.
   *
   * @param {number} n
   * @param {{ finding: number | null, side: string | null, view: string | null }} what
   */
  async show(n, what) {
    if (what.side) this.#chosen = TABS.find(([name]) => name === what.side)?.[0] ?? this.#chosen;
    if (what.view) this.#view = what.view;
    if (this.#shown?.n === n) {
      if (what.finding !== null && what.finding !== this.#finding) this.#pick(what.finding, what.side !== null);
      else if (what.side && this.#chosen && this.#chosen !== this.#tab) this.#open(this.#chosen);
      else if (what.view && this.#body && this.#body.view !== what.view) this.#showBody(this.#body);
      return;
    }
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const grey = setTimeout(() => this.at.classList.add("waiting"), GREY_MS);
    try {
      /** @type {Api.Exchange | Api.Gone} */
      const exchange = await api.get(`exchanges/${n}`, {}, asking.signal);
      if (exchange.gone !== undefined) throw new Error(exchange.gone);
      this.#shown = exchange;
      this.#draw(exchange);
      const worst = exchange.findings.findIndex((finding) => finding.kind !== "gap");
      const first = worst >= 0 ? worst : exchange.findings.length > 0 ? 0 : null;
      const asked = what.finding !== null && what.finding < exchange.findings.length ? what.finding : null;
      this.#pick(asked ?? first, asked === null || what.side !== null);
    } catch (error) {
      if (asking.signal.aborted || api.isSilent(error)) return;
      this.#shown = null;
      fill(
        this.at,
        this.#back(),
        el("div.empty", { role: "alert" }, el("p", {}, ...prose(`No. ${n}: ${api.sentenceOf(error)}`))),
      );
    } finally {
      clearTimeout(grey);
      if (this.#asking === asking) {
        this.#asking = null;
        this.at.classList.remove("waiting");
      }
    }
  }

  #back() {
    return button("← Exchanges", () => this.page.back(), { class: "back" });
  }

  /** @param {Api.Exchange} exchange */
  #draw(exchange) {
    const { row } = exchange;
    document.title = [row.method, row.status, row.operation].filter(Boolean).join(" ") + " · contrail";
    const facts = [`no. ${number(row.n)}`, instant(row.started, true), this.page.hasSources() ? row.source : null, `to ${exchange.origin}`].filter(Boolean).join(" · ");
    const actions = el(
      "div.actions",
      { role: "group", "aria-label": "Actions" },
      button("Copy as curl", () => void this.curl(), { key: "c" }),
      button("Compare", () => this.page.compare(exchange.n), { key: "d", title: "Beside the latest like it that conforms" }),
      button("HAR", () => void this.har(), { key: "s", title: "Save this exchange as HAR" }),
      button("Reference", () => this.reference(), { key: "y", title: "Copy a reference that others can use" }),
      row.operation ? button("Same operation", () => this.sameOperation(), { key: "o", class: "wide" }) : null,
    );
    fill(
      this.at,
      this.#back(),
      el("h2", { title: exchange.target }, recorded(row.method, " ", ...shortened(exchange.target))),
      el(
        "div.facts",
        {},
        badge(row.verdict),
        el("strong", {}, row.status === null ? "no response" : row.status),
        row.operation
          ? el("a", { href: link("exchanges", "", { q: term("op", row.operation) }), title: "all its exchanges" }, row.operation)
          : el("span.gap", {}, "undocumented"),
        [row.state, ...row.marks].map((mark) => (mark ? el("i.mark", {}, mark) : null)),
        el("span.dim.recorded", {}, facts),
      ),
      el("p.sentence", {}, ...prose(exchange.sentence), exchange.end ? ` ${capital(exchange.end)}.` : null),
      actions,
      this.#timing(exchange),
      exchange.remarks.map((remark) => el("p.note", {}, ...prose(remark))),
      exchange.findings.length > 0 ? this.findings : null,
      el("p.citation", {}, exchange.reference),
      el("div.columns", {}, el("div.message-column", {}, this.tabs, this.panel), this.why),
    );
    this.at.scrollTop = 0;
  }

  /** @param {Api.Exchange} exchange */
  #timing({ timings, median, row }) {
    if (!timings) return null;
    // What is measured is what the list shows; of a live exchange, a part of it is contrail's own.
    const whole = row.took ?? timings.total;
    const own = whole - timings.total;
    /** @type {[string, number | null][]} */
    const parts = [
      ["blocked", timings.blocked],
      ["send", timings.send],
      ["wait", timings.wait],
      ["receive", timings.receive],
      ["contrail", own >= 1 ? own : null],
    ];
    const there = parts.filter(([, ms]) => ms !== null && ms >= 0);
    const words = there.map(([name, ms]) => `${name === "blocked" ? "before" : name} ${duration(ms ?? 0)}`).join(" · ");
    const all = `${duration(whole)} in all${median === null ? "" : `, median ${duration(median)}`}`;
    return el(
      "div.timing",
      {},
      el(
        "div.bar",
        { "aria-hidden": "true" },
        there.map(([name, ms]) => el(`i.${name}`, { "--share": String(Math.max(ms ?? 0, 0.01)) })),
      ),
      el("span", {}, el("span.parts", {}, `${words} · `), all),
    );
  }

  /** Selects a finding. @param {number | null} index @param {boolean} stay whether the chosen tab stays */
  #pick(index, stay) {
    const exchange = this.#shown;
    if (!exchange) return;
    this.#finding = index;
    const finding = index === null ? null : (exchange.findings[index] ?? null);
    fill(
      this.findings,
      exchange.findings.map((one, i) => this.#findingRow(one, i)),
    );
    const current = this.findings.querySelector("[aria-current=true]");
    if (current instanceof HTMLElement) {
      this.findings.scrollTop = current.offsetTop - (this.findings.clientHeight - current.offsetHeight) / 2;
    }
    this.#drawWhy(exchange, finding);
    if (!stay) this.#chosen = null;
    const preferred = finding?.side ?? "response";
    const tabs = this.#tabsOf(exchange).map(([name]) => name);
    const wanted = this.#chosen ?? preferred;
    this.#open(tabs.includes(wanted) ? wanted : tabs.includes(preferred) ? preferred : "request", !stay);
  }

  /** @param {Api.Finding} finding @param {number} index */
  #findingRow(finding, index) {
    const gap = finding.kind === "gap";
    return el(
      gap ? "li.is-gap" : "li",
      { class: finding.known ? (gap ? "is-gap known" : "known") : null },
      el(
        "button",
        {
          type: "button",
          "aria-current": String(index === this.#finding),
          title: finding.message,
          onclick: () => this.page.place({ finding: index, side: null }),
        },
        kindBadge(finding.kind),
        recorded(finding.rule, finding.at ? ` at ${finding.at}` : null),
        el("span.what", {}, ...prose(finding.message)),
        finding.known ? el("i.mark", {}, finding.known) : null,
      ),
    );
  }

  /** @param {Api.Exchange} exchange */
  #tabsOf(exchange) {
    return TABS.filter(([name]) => {
      if (name === "response") return exchange.response !== null;
      if (name === "token") return exchange.caller !== null;
      return true;
    });
  }

  /** Opens a tab by its name, as the person chose it. @param {Tab} name */
  choose(name) {
    const exchange = this.#shown;
    if (!exchange) return;
    if (!this.#tabsOf(exchange).some(([tab]) => tab === name)) {
      announce(name === "response" ? "No response came" : name === "token" ? "The request has no credential" : "Not here");
      return;
    }
    this.#chosen = name;
    this.page.place({ side: name });
  }

  /** @param {Tab} name @param {boolean} [led] whether the person asked for the place of the finding */
  #open(name, led = false) {
    const exchange = this.#shown;
    if (!exchange) return;
    this.#tab = name;
    const held = this.tabs.contains(document.activeElement);
    fill(
      this.tabs,
      this.#tabsOf(exchange).map(([tab, word, key]) => {
        const count = exchange.findings.filter((finding) => finding.side === tab).length;
        return el(
          "button",
          {
            type: "button",
            role: "tab",
            id: `tab-${tab}`,
            "aria-selected": String(tab === name),
            "aria-controls": "panel",
            "aria-keyshortcuts": key,
            tabindex: tab === name ? 0 : -1,
            onclick: () => this.choose(tab),
          },
          count > 0 ? `${word} · ${count}` : word,
        );
      }),
    );
    if (held) /** @type {HTMLElement | null} */ (this.tabs.querySelector("[aria-selected=true]"))?.focus();
    this.at.dataset.tab = name;
    this.panel.setAttribute("aria-labelledby", `tab-${name}`);
    this.#body?.close();
    this.#body = null;
    if (name === "response" && exchange.response) this.#drawMessage(exchange, "response", exchange.response, led);
    else if (name === "request") this.#drawMessage(exchange, "request", exchange.request, led);
    else if (name === "raw") void this.#drawRaw(exchange);
    else if (name === "token" && exchange.caller) fill(this.panel, callerBox(exchange.caller, this.page.filter));
    else fill(this.panel);
  }

  /** @param {KeyboardEvent} event */
  #tabKey(event) {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0 || !this.#shown) return;
    const tabs = this.#tabsOf(this.#shown).map(([name]) => name);
    const next = tabs[(tabs.indexOf(this.#tab) + by + tabs.length) % tabs.length];
    if (next) this.choose(next);
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {Api.Exchange} exchange @param {"request" | "response"} side @param {Api.Message} message
   * @param {boolean} led */
  #drawMessage(exchange, side, message, led) {
    const selected = this.#finding === null ? null : (exchange.findings[this.#finding] ?? null);
    const here = selected?.side === side ? selected : null;
    const inHeaders = here !== null && (here.where === "header" || this.#missing(message));
    const absent = message.missing.length > 0 ? `, ${message.missing.length} missing` : "";
    const body = new BodyView(exchange.n, side, message, {
      viewed: (view) => {
        this.#view = view;
        this.page.place({ view });
        this.#showBody(body);
      },
      filter: this.page.filter,
    });
    this.#body = body;
    fill(
      this.panel,
      here && this.#isNowhere(here, message) ? el("p.note", {}, ...nowhere(here)) : null,
      here?.ghost && here.where === "missing" && !this.#missing(message)
        ? el("p.note.ghost", {}, ...prose(here.ghost))
        : null,
      el(
        "details.box.head",
        { open: inHeaders },
        el(
          "summary",
          {},
          recorded(...marked(message.line, message.marks, this.#finding)),
          el("span.dim", {}, ` ${counted(message.headers.length, "header field")}${absent}`),
        ),
        headerTable(message, this.#finding),
      ),
      body.element,
    );
    void this.#showBody(body).then(() => {
      // On a small screen the place may lie below: whoever went to the finding wants to see it.
      if (led && this.#body === body) this.panel.querySelector("mark, .ghost.at")?.scrollIntoView({ block: "nearest" });
    });
  }

  /** The body in the view that was chosen, with the bytes of the selected finding. @param {BodyView} body */
  #showBody(body) {
    const finding = this.#finding === null ? null : this.#shown?.findings[this.#finding];
    const here = finding?.side === body.side;
    return body.show(this.#view, here ? this.#finding : null, here ? (finding?.line ?? 0) : 0);
  }

  /** Whether the selected finding is about a header field that is missing. @param {Api.Message} message */
  #missing(message) {
    return message.missing.some((missing) => missing.finding === this.#finding);
  }

  /** Whether no bytes of the message are marked for the selected finding. @param {Api.Finding} finding @param {Api.Message} message */
  #isNowhere(finding, message) {
    if (finding.where === "line") return !message.marks.some(([, , index]) => index === this.#finding);
    return finding.where === "nothing";
  }

  /** Both messages as text, a line per header field, with the line ends visible.
   * @param {Api.Exchange} exchange */
  async #drawRaw(exchange) {
    /** @type {["request" | "response", Api.Message | null][]} */
    const sides = [
      ["request", exchange.request],
      ["response", exchange.response],
    ];
    const note = el(
      "p.dim",
      {},
      exchange.redacted > 0 || exchange.row.marks.includes("redacted")
        ? "This is the redacted message: labels stand for values, so sizes differ from what was sent."
        : "The message as contrail recorded it.",
    );
    const boxes = sides.map(([side, message]) => {
      if (!message) return null;
      const text = el("pre.raw.recorded", {}, ...head(message));
      if (message.body.state !== "none") void this.#rawBody(exchange.n, side, text);
      return box(el("strong", {}, capital(side)), code(`${capital(side)}, raw`, text));
    });
    fill(this.panel, note, ...boxes);
  }

  /** @param {number} n @param {string} side @param {HTMLElement} text */
  async #rawBody(n, side, text) {
    try {
      /** @type {Api.Raw} */
      const raw = await api.get(`exchanges/${n}/${side}/raw`, { from: 0, count: 16_384 });
      text.append(raw.text);
      if (raw.next !== null) text.append(el("span.dim", {}, `\n… ${bytes(raw.size - raw.next)} more: see the body`));
    } catch (error) {
      if (!api.isSilent(error)) text.append(el("span.note", {}, api.sentenceOf(error)));
    }
  }

  /** @param {Api.Exchange} exchange @param {Api.Finding | null} finding */
  #drawWhy(exchange, finding) {
    fill(
      this.why,
      finding ? distinct(finding.passages).map((passage) => passageBox(passage)) : null,
      finding && finding.passages.length === 0
        ? box(
            el("strong", {}, "Contract"),
            el("p.pad.dim", {}, "The document has no passage about this; the finding reports that."),
          )
        : null,
      finding
        ? box(
            el("strong", {}, "What now"),
            el("p.pad", {}, ...prose(finding.advice)),
            el("p.pad.dim", {}, ...prose(finding.means || finding.summary)),
            finding.source ? el("p.pad.dim", {}, "Source: ", ...prose(finding.source)) : null,
          )
        : null,
      exchange.caller ? callerBox(exchange.caller, this.page.filter) : null,
      box(
        el("strong", {}, "Not checked"),
        exchange.unchecked.length === 0
          ? el("p.pad.dim", {}, "Nothing: all that the document states was compared.")
          : el(
              "ul.plain.pad",
              {},
              exchange.unchecked.map((one) => el("li", {}, el("code", {}, one.aspect), " ", recorded(one.at), " ", el("span.dim", {}, ...prose(one.reason)))),
            ),
      ),
    );
  }

  /** The view of the body after this one. */
  nextView() {
    if (!this.#body) return;
    const view = this.#body.next();
    this.#body.page.viewed(view);
    announce(`Body as ${view}`);
  }

  find() {
    if (this.#body) this.#body.find();
  }

  copyPointer() {
    if (this.#body) this.#body.copyPointer();
  }

  reference() {
    const exchange = this.#shown;
    if (exchange) void copy([exchange.reference, exchange.command].filter(Boolean).join("\n"), "the reference");
  }

  sameOperation() {
    if (this.operation) this.page.filter(term("op", this.operation));
  }

  curl() {
    if (this.#shown) void copyCurl([this.#shown.n]);
  }

  har() {
    if (this.#shown) void saveHar([this.#shown.n], `contrail-${this.#shown.n}.har`);
  }
}

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A first line with the bytes that findings are about: those of the selected one stand out.
 * @param {string} line @param {[number, number, number][]} marks @param {number | null} selected */
function marked(line, marks, selected) {
  const ours = marks.filter(([, , finding]) => finding === selected);
  const parts = [];
  let at = 0;
  for (const [from, to] of (ours.length > 0 ? ours : marks).toSorted(([a], [b]) => a - b)) {
    if (from < at) continue;
    parts.push(...shortened(line.slice(at, from)));
    parts.push(el(ours.length > 0 ? "mark" : "span.other-mark", {}, line.slice(from, to)));
    at = to;
  }
  parts.push(...shortened(line.slice(at)));
  return parts;
}

/** What stands where nothing is marked. @param {Api.Finding} finding */
const nowhere = ({ where, at }) =>
  where === "line" && at
    ? ["This finding is about ", recorded(at), " in the first line."]
    : ["This finding is about no single place of the message."];

/** @param {Api.Message} message @param {number | null} selected */
function headerTable(message, selected) {
  return el(
    "dl.headers",
    {},
    message.headers.map((header) => {
      const here = header.finding !== null && header.finding === selected;
      return el(
        header.finding === null ? "div" : "div.at",
        {},
        el("dt", {}, recorded(...shortened(header.name))),
        el(
          "dd",
          {},
          recorded(here ? el("mark", {}, ...shortened(header.value)) : shortened(header.value)),
          header.note ? el("i.mark", {}, header.note) : null,
        ),
      );
    }),
    message.missing.map((missing) =>
      el(
        "div.ghost",
        { class: missing.finding === selected ? "ghost at" : null },
        el("dt", {}, recorded(missing.name)),
        el("dd", {}, missing.finding === selected ? el("mark", {}, "missing") : "missing"),
      ),
    ),
  );
}

/** The head of a message with its line ends visible. @param {Api.Message} message */
function head(message) {
  const end = () => el("span.invisible", {}, "\\r\\n\n");
  return [
    ...shortened(message.line),
    end(),
    ...message.headers.flatMap(({ name, value }) => [...shortened(name), ": ", ...shortened(value), end()]),
    end(),
  ];
}

/** Each passage once: several keywords of one schema may be at fault. @param {Api.Passage[]} passages */
function distinct(passages) {
  const seen = new Map(passages.map((passage) => [`${passage.document}\n${passage.at}`, passage]));
  return [...seen.values()];
}

/** @param {Api.Passage} passage */
function passageBox(passage) {
  return box(
    [el("strong", {}, "Contract"), recorded(passage.document)],
    el(
      "p.pad.dim.pointer-line",
      {},
      passage.number === null
        ? recorded(passage.at)
        : el("a", { href: link("contract", String(passage.number), { at: passage.at }), title: "read the document here" }, recorded(passage.at)),
    ),
    code(
      "Passage of the contract",
      passage.lines.map((line, i) =>
        el(
          passage.marked.includes(i) ? "div.line.at" : "div.line",
          {},
          el("span.no"),
          el("span.text", {}, passage.marked.includes(i) ? el("mark", {}, ...shortened(line)) : shortened(line)),
        ),
      ),
    ),
    passage.source ? el("p.pad.dim", {}, `Source: ${passage.source}`) : null,
  );
}

/** @type {Record<string, [string, string]>} */
const SCOPES = {
  needed: ["✓", "needed and held"],
  lacking: ["✕", "needed and lacking"],
  held: ["", "held"],
  undeclared: ["◇", "not declared by the document"],
};

/** @param {Api.Caller} caller @param {(query: string) => void} filter */
function callerBox(caller, filter) {
  /** @type {[string, string | null][]} */
  const facts = [
    ["Issuer", caller.issuer],
    ["Audience", caller.audience?.join(", ") ?? null],
    ["Issued", caller.issued ? instant(caller.issued, true) || caller.issued : null],
    ["Expires", caller.expires ? instant(caller.expires, true) || caller.expires : null],
    ["Lifetime", caller.lifetime === null ? null : duration(caller.lifetime * 1000)],
    ["Signature", caller.signature],
  ];
  const { same } = caller;
  const opaque = caller.outcome === null && facts.every(([, value]) => value === null);
  const good = /^(valid|accepted)/.test(caller.outcome ?? "");
  const shown = box(
    [
      el("strong", {}, "Caller"),
      recorded(caller.client ?? caller.kind),
      caller.outcome ? el(good ? "span.badge.good" : "span.badge.plain", {}, caller.outcome) : null,
    ],
    el(
      "dl.facts-list",
      {},
      facts.map(([name, value]) => (value ? el("div", {}, el("dt", {}, name), el("dd", {}, recorded(value))) : null)),
    ),
    opaque ? el("p.pad.dim", {}, "It states nothing that contrail can read: no client, no scope, no lifetime.") : null,
    caller.scopes.length > 0
      ? el(
          "ul.scopes",
          { "aria-label": "Scopes" },
          caller.scopes.map(({ name, state }) => {
            const [sign, words] = SCOPES[state] ?? ["", state];
            return el(
              "li",
              { class: state, title: words },
              sign ? el("span", { "aria-hidden": "true" }, `${sign} `) : null,
              recorded(name),
              el("span.visually-hidden", {}, `, ${words}`),
            );
          }),
        )
      : null,
    same ? el("p.pad", {}, button("All exchanges of this caller", () => filter(same))) : null,
  );
  shown.classList.add("caller");
  return shown;
}

// What the contract is about: the map of its operations (what was called, what nothing ever touched, what the document does
// not show), the callers with their scopes (the words and the numbers of `contrail audit`), and its documents.

import * as api from "./api.js";
import { button, code, counted, duration, el, fill, number, prose, recorded, table, tableRow } from "./dom.js";
import { link, place, term } from "./route.js";
import { paged } from "./window.js";

const PAUSE_MS = 150;

/** What a part is called before its name. @type {Record<string, string>} */
const KINDS = { statuses: "response", parameters: "", "media-types": "body", fields: "", "enum-values": "value", variants: "form" };

let search = "";
let never = false;
let gaps = false;
let byTag = false;
/** The switch that was pressed last. */
let pressed = "";
/** Operations that the person opened. @type {Set<string>} */
const opened = new Set();

/** @param {HTMLElement} at @param {AbortSignal} signal @param {() => void} again */
export async function showOperations(at, signal, again) {
  const rows = el("div.map");
  const count = el("output.dim");
  /** @type {() => Promise<Api.Operations>} */
  const draw = async () => {
    const asked = search;
    /** @type {Api.Operations} */
    const map = await api.get("operations", { search, never, gaps }, signal);
    // An answer that is late must not be drawn over what the person typed since.
    if (asked !== search) return draw();
    if (never) map.operations.sort((a, b) => Number(a.exchanges > 0) - Number(b.exchanges > 0));
    const timed = map.operations.some(({ p95 }) => p95 !== null);
    const most = Math.max(1, ...map.operations.map((one) => one.exchanges));
    /** @param {Api.Operation[]} some */
    const listed = (some) => some.map((one) => operation(one, most, timed, signal));
    const tags = [...new Set(map.operations.flatMap(({ tags }) => tags))].map((tag) => ({
      tag,
      some: map.operations.filter(({ tags }) => tags.includes(tag)),
    }));
    const others = map.operations.filter(({ tags }) => tags.length === 0);
    if (others.length > 0) tags.push({ tag: "no tag", some: others });
    const documented = map.operations.filter(({ method }) => method !== "").length;
    count.textContent = `${number(documented)} of ${counted(map.parts.operations?.of ?? documented, "operation")}`;
    fill(
      rows,
      map.operations.length === 0 ? el("p.dim", {}, "No operation is like this.") : null,
      byTag ? tags.flatMap(({ tag, some }) => [el("h3", {}, recorded(tag), " ", el("span.dim", {}, number(some.length))), ...listed(some)]) : listed(map.operations),
    );
    return map;
  };
  const map = await draw();
  const field = /** @type {HTMLInputElement} */ (
    el("input", { type: "search", value: search, "aria-label": "Search operations, fields and values", placeholder: "Search path, id, summary, field" })
  );
  let timer = 0;
  field.addEventListener("input", () => {
    search = field.value;
    clearTimeout(timer);
    timer = setTimeout(() => void draw().catch(() => {}), PAUSE_MS);
  });
  /** A switch keeps the focus, though the view is drawn anew.
   * @param {string} words @param {boolean} on @param {() => void} press */
  const toggle = (words, on, press) => {
    /** @type {() => void} */
    const flip = () => {
      press();
      pressed = words;
      again();
    };
    return button(words, flip, { "aria-pressed": String(on), autofocus: pressed === words });
  };
  fill(
    at,
    el("h2", {}, "Operations"),
    el("ul.totals", { "aria-label": "Touched parts of the document" }, Object.entries(map.parts).filter(([, part]) => part.of > 0).map(([name, part]) => total(name, part))),
    el(
      "div.map-head",
      {},
      field,
      toggle("Only never touched", never, () => (never = !never)),
      toggle("Only gaps", gaps, () => (gaps = !gaps)),
      map.operations.some(({ tags }) => tags.length > 0) || byTag ? toggle("By tag", byTag, () => (byTag = !byTag)) : null,
      count,
    ),
    rows,
  );
  /** @type {HTMLElement | null} */ (at.querySelector("[autofocus]"))?.focus();
  pressed = "";
}

/** @param {string} name @param {Api.Part} part */
function total(name, part) {
  return el("li", {}, `${name} `, el("strong", {}, `${part.touched}/${part.of}`), bar(part.touched / part.of));
}

/** @param {number} share */
const bar = (share) => el("span.bar", { "aria-hidden": "true" }, el("i", { "--share": String(Math.min(1, share)) }));

/** A figure in its column, which is empty where there is none. @param {string} tone @param {string | false} text */
const figure = (tone, text, word = "") =>
  el(`span.${tone}`, {}, text ? [el("span", { title: text + word }, text), el("span.visually-hidden", {}, word)] : null);

/** @param {Api.Operation} one @param {number} most @param {boolean} timed @param {AbortSignal} signal */
function operation(one, most, timed, signal) {
  const called = one.exchanges > 0;
  const parts = el("ul.touched", {}, el("li.dim", {}, "…"));
  let asked = false;
  const load = async () => {
    if (asked) return;
    asked = true;
    try {
      /** @type {{ rows: Api.OperationPart[] }} */
      const { rows } = await api.get("operations/parts", { name: one.name }, signal);
      // What was never touched stands under its field.
      let depth = 0;
      const wanted = rows.reverse().filter((row) => {
        const is = isWanted(row) || (!gaps && row.depth < depth);
        if (is) depth = row.depth;
        return is;
      });
      fill(parts, wanted.reverse().map(partRow));
    } catch (error) {
      asked = false;
      if (!api.isSilent(error)) fill(parts, el("li.note", {}, api.sentenceOf(error)));
    }
  };
  const row = /** @type {HTMLDetailsElement} */ (
    el(
      "details.box.operation-row",
      {
        open: opened.has(one.name),
        ontoggle: () => {
          if (row.open) void load();
          opened[row.open ? "add" : "delete"](one.name);
        },
      },
      el(
        "summary",
        { title: one.summary },
        one.method ? recorded(el("b", {}, one.method), " ", one.path) : null,
        el("span.dim", {}, one.name),
        el(
          "span.figures",
          {},
          called ? bar(one.exchanges / most) : null,
          called ? el("strong", {}, number(one.exchanges)) : el("span.never", {}, "never called"),
          figure("dim", one.of > 0 && `${number(one.touched)}/${number(one.of)}`, " parts touched"),
          figure("bad", one.violates > 0 && `✕ ${number(one.violates)}`, " violate"),
          figure("gap", one.gaps > 0 && `◇ ${number(one.gaps)}`, " gaps"),
          timed ? figure("dim", one.p95 !== null && `p95 ${duration(one.p95)}`) : null,
        ),
      ),
      el(
        "div.pad",
        {},
        one.summary ? el("p.dim", {}, one.summary) : null,
        called
          ? el(
              "p",
              {},
              el("a", { href: link("exchanges", "", { q: one.query }) }, counted(one.exchanges, "exchange")),
              one.p50 === null ? null : ` · median ${duration(one.p50)}`,
              ...Object.entries(one.statuses).flatMap(([status, count]) => [
                " · ",
                el("a", { href: link("exchanges", "", { q: `${one.query} status:${status}` }) }, `${status} × ${number(count)}`),
              ]),
            )
          : null,
        parts,
      ),
    )
  );
  return row;
}

/** @param {Api.OperationPart} row */
const isWanted = (row) => (!never || row.times === 0) && (!gaps || row.kind === "gap");

/** @param {Api.OperationPart} row */
function partRow(row) {
  const indent = { "--depth": String(gaps ? 0 : Math.min(row.depth, 12)) };
  if (row.kind === "gap") {
    return el(
      "li.gap-part",
      { ...indent, title: row.rule },
      el("span", { "aria-hidden": "true" }, "◇"),
      el(
        "span",
        {},
        "not documented: ",
        recorded(row.label),
        ` ${number(row.times)}${row.of ? ` of ${number(row.of)}` : ""}, `,
        row.first === null || row.first === undefined
          ? null
          : el("a", { href: link("exchanges", "", { q: row.query, n: row.first }) }, `first no. ${number(row.first)}`),
        el("span.dim", {}, " ", ...prose(row.message ?? "")),
      ),
    );
  }
  const kind = KINDS[row.kind];
  return el(
    row.times > 0 ? "li" : "li.never",
    { ...indent, title: `${row.document} ${row.at}` },
    el("span", { "aria-hidden": "true" }, row.times > 0 ? "●" : "○"),
    el("span", {}, kind ? el("span.dim", {}, `${kind} `) : null, recorded(row.label)),
    el("span.n", {}, row.times > 0 ? number(row.times) : "never"),
  );
}

/** @type {Record<string, [string, string]>} */
const STATES = {
  needed: ["●", "needed and held"],
  held: ["○", "held and never needed"],
  lacks: ["✕", "needed and lacking"],
  claimed: ["◇", "claimed by a token that was not accepted"],
  none: ["", "not held"],
};

/** @param {HTMLElement} at @param {AbortSignal} signal */
export async function showCallers(at, signal) {
  /** @type {Api.Callers} */
  const { callers } = await api.get("callers", {}, signal);
  const scopes = [...new Set(callers.flatMap((caller) => caller.scopes.map(({ scope }) => scope)))].sort();
  fill(
    at,
    el("h2", {}, "Callers"),
    el("p.dim", {}, callers.length === 0 ? "Nobody called." : counted(callers.length, "caller")),
    scopes.length > 0 ? matrix(callers, scopes) : null,
    callers.map((caller) => callerBox(caller)),
  );
}

/** @param {Api.CallerTotals[]} callers @param {string[]} scopes */
function matrix(callers, scopes) {
  return el(
    "section.box.matrix",
    {},
    table(
      "Callers and scopes",
      ["Caller", ...scopes.map((scope) => recorded(scope))],
      callers.map((caller) => tableRow([recorded(caller.caller)], ...scopes.map((scope) => cell(caller, scope)))),
    ),
    el(
      "p.pad.dim",
      {},
      Object.values(STATES)
        .filter(([sign]) => sign)
        .map(([sign, words]) => `${sign} ${words}`)
        .join(" · "),
    ),
  );
}

/** @param {Api.CallerTotals} caller @param {string} scope */
function cell(caller, scope) {
  const state = caller.lacks.includes(scope)
    ? "lacks"
    : caller.needed.includes(scope) && caller.holds.includes(scope)
      ? "needed"
      : caller.holds.includes(scope)
        ? "held"
        : caller.scopes.some((one) => one.scope === scope && one.claimed)
          ? "claimed"
          : "none";
  const [sign, words] = STATES[state] ?? ["", ""];
  const query = caller.query ? `${caller.query} scope:${scope}` : null;
  const mark = [el("span", { "aria-hidden": "true" }, sign), el("span.visually-hidden", {}, words)];
  return el(`td.${state}`, { title: words }, query && sign ? el("a", { href: link("exchanges", "", { q: query }) }, ...mark) : mark);
}

/** @param {Api.CallerTotals} caller */
function callerBox(caller) {
  const { restsOn, callsWithoutDocumentedScope: hidden, callsWithUnreadScopes: unread } = caller;
  return el(
    "section.box.calls",
    {},
    el(
      "header",
      {},
      el("strong", {}, recorded(caller.caller)),
      caller.query ? el("a", { href: link("exchanges", "", { q: caller.query }) }, "all its exchanges") : null,
      el("span.dim", {}, `rests on ${restsOn.called} of ${counted(restsOn.documented, "documented operation")}`),
    ),
    caller.needed.length > 0 ? scopesOf("The least set of scopes", caller.needed) : null,
    caller.unneeded.length > 0 ? scopesOf("Held and never needed", caller.unneeded) : null,
    caller.lacks.length > 0 ? scopesOf("Needed and lacking", caller.lacks) : null,
    hidden > 0 ? el("p.pad", {}, `${counted(hidden, "call")} went to operations whose required scope is not documented; an unneeded scope may be needed there.`) : null,
    unread ? el("p.pad", {}, `${counted(unread, "call")} had a token whose claims name no scopes: which it holds is unchecked.`) : null,
    table(
      `Calls of ${caller.caller}`,
      ["Operation", "Calls", "Accepted", "Refused", "429", "Other", "Violating", "Too early"],
      caller.calls.map((calls) => callsOf(caller, calls)),
    ),
  );
}

/** @param {string} title @param {string[]} scopes */
const scopesOf = (title, scopes) =>
  el("div.scopes-line", {}, el("span.dim", {}, title), el("ul.scopes", {}, scopes.map((scope) => el("li", {}, recorded(scope)))));

/** @param {Api.CallerTotals} caller @param {Api.Calls} calls */
function callsOf(caller, calls) {
  const name = calls.operation ?? "undocumented";
  const query = [caller.query, term("op", name)].filter(Boolean).join(" ");
  const { count, accepted, refused, limited, other, violating, early } = calls;
  return tableRow(
    [el("a", { href: link("exchanges", "", { q: query, n: calls.firstNumber }) }, name)],
    ...[count, accepted, refused, limited, other, violating, early].map((value) =>
      el(value === 0 ? "td.n.dim" : "td.n", {}, number(value)),
    ),
  );
}

const LINES_AT_ONCE = 400;

/** @param {HTMLElement} at @param {AbortSignal} signal */
export async function showDocument(at, signal) {
  const { part, params } = place();
  const pointer = params.at ?? "";
  /** @param {number} from @returns {Promise<Api.Document>} */
  const load = (from) =>
    api.get(`documents/${encodeURIComponent(part)}`, { at: pointer, from, count: LINES_AT_ONCE }, signal);
  const first = await load(0);
  const spacer = el("div.spacer");
  const scroller = code("Document", spacer);
  scroller.classList.add("windowed");
  /** @param {string} text @param {string} to */
  const to = (text, to) => el("a", { href: link("contract", part, { at: to }) }, recorded(text));
  fill(
    at,
    el("h2", {}, "Contract"),
    el("p", {}, first.title, " ", el("span.dim.recorded", {}, first.name), el("span.dim", {}, ` · ${counted(first.size, "line")}`)),
    el(
      "p.pointer-line",
      {},
      first.above.map((above, i) => [to(above === "" ? "all" : above.slice((first.above[i - 1] ?? "").length), above), " › "]).flat(),
      recorded(pointer === "" ? "all" : pointer.slice((first.above.at(-1) ?? "").length)),
    ),
    scroller,
  );
  paged(scroller, spacer, first.size, {
    atOnce: LINES_AT_ONCE,
    first: first.lines,
    load: async (from) => (await load(from)).lines,
    make: () => el("div.line", {}, el("span.no", { "aria-hidden": "true" }), el("span.text")),
    put: (row, line, index) => {
      const [no, text] = row.children;
      if (!no || !text) return;
      no.textContent = number(index + 1);
      const [, indent = "", words = ""] = /^( *)(.*)/s.exec(line?.text ?? "") ?? [];
      fill(text, indent, line?.to ? el("a", { href: link("contract", part, { at: line.to }) }, words) : words);
    },
  });
}

// The contract as a map: what was called, how often, and what nothing ever touched.

import * as api from "./api.js";
import { badge, button, counted, duration, el, fill, number, recorded } from "./dom.js";
import { link } from "./route.js";

/** Parts that belong to an operation; the others belong to a schema. */
const OF_OPERATIONS = ["statuses", "parameters", "media-types"];

let search = "";
let never = false;

/** @param {HTMLElement} at @param {AbortSignal} signal @param {() => void} again */
export async function show(at, signal, again) {
  /** @type {Api.Operations} */
  const map = await api.get("operations", {}, signal);
  const field = /** @type {HTMLInputElement} */ (
    el("input", { type: "search", value: search, "aria-label": "Search operations, fields and values", placeholder: "Search" })
  );
  const rows = el("div.map");
  const draw = () => fill(rows, ...operations(map), ...schemas(map));
  field.addEventListener("input", () => {
    search = field.value.toLowerCase();
    draw();
  });
  fill(
    at,
    el("h2", {}, "Operations"),
    el("ul.totals", { "aria-label": "Touched parts of the document" }, Object.entries(map.parts).map(([name, part]) => total(name, part))),
    el(
      "div.map-head",
      {},
      field,
      button(
        "Only never touched",
        () => {
          never = !never;
          again();
        },
        { "aria-pressed": String(never) },
      ),
    ),
    rows,
  );
  draw();
}

/** @param {string} name @param {Api.Part} part */
function total(name, part) {
  return el("li", {}, el("span", {}, name), " ", el("strong", {}, `${part.touched}/${part.of}`), bar(part.of === 0 ? 0 : part.touched / part.of));
}

/** @param {number} share */
const bar = (share) => el("span.bar", { "aria-hidden": "true" }, el("i", { "--share": String(Math.min(1, share)) }));

/** @param {Api.Operations} map */
function operations(map) {
  const most = Math.max(1, ...map.operations.map((one) => one.exchanges));
  return map.operations
    .map((one) => {
      const parts = OF_OPERATIONS.flatMap((kind) =>
        (map.parts[kind]?.each ?? []).filter((part) => part.name.startsWith(`${one.name}: `)).map((part) => ({ kind, part })),
      );
      const own = matches(`${one.name} ${one.method} ${one.path}`) && (!never || one.exchanges === 0);
      const kept = parts.filter(({ part }) => (own || matches(part.name)) && (!never || part.times === 0));
      if (!own && kept.length === 0) return null;
      return operation(one, kept, most);
    })
    .filter((one) => one !== null);
}

/** @param {Api.Operation} one @param {{ kind: string, part: Api.Touched }[]} parts @param {number} most */
function operation(one, parts, most) {
  const called = one.exchanges > 0;
  return el(
    "details.box.operation-row",
    { open: search !== "" || never },
    el(
      "summary",
      {},
      recorded(el("b", {}, one.method), " ", one.path),
      el("span.dim", {}, one.name),
      el("span.grow"),
      called ? bar(one.exchanges / most) : null,
      called ? el("strong", {}, number(one.exchanges)) : el("span.dim", {}, "never called"),
      one.violates > 0 ? el("span.bad", {}, `✕ ${number(one.violates)}`, el("span.visually-hidden", {}, " violate")) : null,
      one.gap > 0 ? el("span.gap", {}, `◇ ${number(one.gap)}`, el("span.visually-hidden", {}, " with gaps")) : null,
      one.p95 === null ? null : el("span.dim", {}, `p95 ${duration(one.p95)}`),
    ),
    el(
      "div.pad",
      {},
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
      el("ul.touched", {}, parts.map(({ kind, part }) => touched(part, `${kind} `, one.name.length + 2))),
    ),
  );
}

/** @param {Api.Touched} part @param {string} kind @param {number} skipped characters of its name */
function touched(part, kind, skipped) {
  return el(
    part.times > 0 ? "li" : "li.never",
    { title: `${part.document} ${part.at}` },
    el("span", { "aria-hidden": "true" }, part.times > 0 ? "●" : "○"),
    el("span", {}, kind ? el("span.dim", {}, kind) : null, recorded(part.name.slice(skipped))),
    el("span.n", {}, part.times > 0 ? number(part.times) : "never"),
  );
}

/** Fields, values and variants, by their schema. @param {Api.Operations} map */
function schemas(map) {
  /** @type {Map<string, Api.Touched[]>} */
  const groups = new Map();
  for (const [kind, part] of Object.entries(map.parts)) {
    if (kind === "operations" || OF_OPERATIONS.includes(kind)) continue;
    for (const one of part.each) {
      if (!matches(one.name) || (never && one.times > 0)) continue;
      const name = one.name.split(/[.:]/, 1)[0] ?? "";
      groups.set(name, [...(groups.get(name) ?? []), one]);
    }
  }
  return [...groups].map(([name, parts]) => {
    const there = parts.filter((part) => part.times > 0).length;
    return el(
      "details.box.operation-row",
      { open: search !== "" || never },
      el(
        "summary",
        {},
        recorded(name),
        el("span.grow"),
        bar(there / parts.length),
        el("strong", {}, `${there}/${parts.length}`),
        there < parts.length ? null : badge("conforms", "all touched"),
      ),
      el("ul.touched.pad", {}, parts.map((part) => touched(part, "", 0))),
    );
  });
}

/** @param {string} text */
const matches = (text) => search === "" || text.toLowerCase().includes(search);

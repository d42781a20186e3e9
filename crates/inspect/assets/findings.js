// Findings by rule, operation and place: a list to work through.

import * as api from "./api.js";
import { counted, el, fill, kindBadge, number, prose, recorded } from "./dom.js";
import { link } from "./route.js";

/** @type {Record<string, string>} */
const SORTS = { count: "how often", first: "the first", rule: "rule" };

let sort = "count";

/** @param {HTMLElement} at @param {AbortSignal} signal @param {() => void} again draws the view anew */
export async function show(at, signal, again) {
  /** @type {Api.Findings} */
  const findings = await api.get("findings", {}, signal);
  const rows = findings.rows.toSorted((a, b) => compare(a, b));
  const violations = rows.filter((row) => row.kind !== "gap");
  const sorts = /** @type {HTMLSelectElement} */ (
    el(
      "select",
      {
        onchange: () => {
          sort = sorts.value;
          again();
        },
      },
      Object.entries(SORTS).map(([name, words]) => el("option", { value: name, selected: name === sort }, words)),
    )
  );
  fill(
    at,
    el("h2", {}, "Findings"),
    rows.length === 0
      ? el("p.dim", {}, "No finding: all exchanges conform to the document, as far as contrail checked.")
      : [
          el(
            "p.dim",
            {},
            `${counted(violations.length, "violation")} and ${counted(rows.length - violations.length, "gap")}, `,
            `by rule, operation and place, in ${counted(findings.n, "exchange")}.`,
          ),
          el("label.sorts", {}, "Sort by ", sorts),
          el("ul.groups", {}, rows.map((row) => group(row))),
          findings.further > 0 ? el("p.dim", {}, `${counted(findings.further, "further place")}, not listed.`) : null,
        ],
  );
}

/** @param {Api.Group} a @param {Api.Group} b */
function compare(a, b) {
  if (sort === "first") return (a.first ?? Infinity) - (b.first ?? Infinity);
  if (sort === "rule") return a.rule.localeCompare(b.rule) || a.at.localeCompare(b.at);
  // Violations come before gaps: one of them matters more than many of those.
  return Number(a.kind === "gap") - Number(b.kind === "gap") || b.count - a.count;
}

/** @param {Api.Group} row */
function group(row) {
  const share = row.of ? Math.min(1, row.count / row.of) : null;
  return el(
    row.kind === "gap" ? "li.box.group.is-gap" : "li.box.group",
    {},
    el(
      "div.group-head",
      {},
      kindBadge(row.kind),
      el(
        "a.group-link",
        { href: link("exchanges", "", { q: row.query }) },
        recorded(row.rule, row.at ? ` at ${row.at}` : null),
      ),
      el("strong.count", {}, number(row.count), el("span.visually-hidden", {}, " times")),
    ),
    el("p.group-message", {}, ...prose(row.message)),
    el("p.group-message.dim", {}, ...prose(row.summary)),
    el(
      "div.group-facts.dim",
      {},
      el("span", {}, row.operation ?? "undocumented"),
      share === null
        ? null
        : el(
            "span.share",
            {},
            el("span.bar", { "aria-hidden": "true" }, el("i", { "--share": String(share) })),
            ` ${percent(share)} of its ${counted(row.of ?? 0, "exchange")}`,
          ),
      row.first === null
        ? null
        : el("span", {}, "first ", el("a", { href: link("exchanges", "", { q: row.query, n: row.first }) }, `no. ${number(row.first)}`)),
    ),
  );
}

/** @param {number} share */
const percent = (share) => (share > 0 && share < 0.01 ? "under 1 %" : `${Math.round(share * 100)} %`);

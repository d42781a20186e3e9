// Findings by rule, operation and place: a list to work through.

import * as api from "./api.js";
import { counted, el, fill, kindBadge, number, prose, recorded } from "./dom.js";
import { link } from "./route.js";

/** @type {Record<string, string>} */
const SORTS = { count: "how often", last: "the last", first: "the first", rule: "rule" };

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
        ],
  );
}

/** @param {Api.Group} a @param {Api.Group} b */
function compare(a, b) {
  if (sort === "last") return b.last - a.last;
  if (sort === "first") return a.first - b.first;
  if (sort === "rule") return a.rule.localeCompare(b.rule) || a.at.localeCompare(b.at);
  // Violations come before gaps: one of them matters more than many of those.
  return Number(a.kind === "gap") - Number(b.kind === "gap") || b.count - a.count;
}

/** @param {Api.Group} row */
function group(row) {
  const share = row.share === null ? null : Math.round(row.share * 1000) / 10;
  const gap = row.kind === "gap";
  return el(
    "li.box",
    { class: `box group ${gap ? "is-gap" : ""} ${row.state === "new" ? "" : "known"}` },
    el(
      "div.group-head",
      {},
      kindBadge(row.kind),
      el(
        "a.group-link",
        { href: link("exchanges", "", { q: row.query }) },
        recorded(row.rule, row.at ? ` at ${row.at}` : null),
      ),
      row.state === "new" ? null : el("i.mark", {}, row.state),
      el("strong.count", {}, number(row.count)),
    ),
    el("p.group-message", {}, ...prose(row.message)),
    el(
      "div.group-facts.dim",
      {},
      el("span", {}, row.operation ?? "undocumented"),
      share === null
        ? null
        : el(
            "span.share",
            {},
            el("span.bar", { "aria-hidden": "true" }, el("i", { "--share": String(row.share) })),
            ` ${share} % of its exchanges`,
          ),
      el(
        "span.examples",
        {},
        "see ",
        row.examples.map((n) => [el("a", { href: link("exchanges", "", { q: row.query, n }) }, `no. ${number(n)}`), " "]).flat(),
      ),
    ),
  );
}

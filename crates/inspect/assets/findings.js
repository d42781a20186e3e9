// Findings by rule, operation and place: a list to work through.

import * as api from "./api.js";
import { copyButton } from "./copy.js";
import { code, counted, el, fill, instant, kindBadge, number, prose, recorded } from "./dom.js";
import { link } from "./route.js";

/** @type {Record<string, string>} */
const SORTS = { count: "how often", first: "the first", last: "the last", rule: "rule" };

let sort = "count";

/** @param {HTMLElement} at @param {AbortSignal} signal @param {() => void} again draws the view anew */
export async function show(at, signal, again) {
  /** @type {Api.Findings} */
  const findings = await api.get("findings", {}, signal);
  const rows = findings.rows.toSorted((a, b) => compare(a, b));
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
  const cut = findings.violations + findings.gaps - rows.length;
  fill(
    at,
    el("h2", {}, "Findings"),
    rows.length === 0
      ? el("p.dim", {}, nothing(findings))
      : [
          el(
            "p.dim",
            {},
            `${counted(findings.violations, "violation")} and ${counted(findings.gaps, "gap")} `,
            `of ${counted(findings.n, "exchange")}, by rule, operation and place.`,
          ),
          el("label.sorts", {}, "Sort by ", sorts),
          el("ul.groups", {}, rows.map((row) => group(row, findings))),
          cut > 0 ? el("p.dim", {}, `${counted(cut, "further place")}, not listed.`) : null,
          findings.further > 0 ? el("p.dim", {}, `${counted(findings.further, "finding")} at further places, not listed.`) : null,
        ],
  );
}

/** @param {Api.Findings} findings */
function nothing({ n, reading }) {
  if (reading) return `No finding in the first ${counted(n, "exchange")}; contrail is still reading.`;
  if (n === 0) return "No exchange, so no finding.";
  return "No finding: all exchanges conform to the document, as far as contrail checked.";
}

/** @param {Api.Group} a @param {Api.Group} b */
function compare(a, b) {
  if (sort === "first") return (a.first ?? Infinity) - (b.first ?? Infinity);
  if (sort === "last") return (b.last ?? -1) - (a.last ?? -1);
  if (sort === "rule") return a.rule.localeCompare(b.rule) || a.at.localeCompare(b.at);
  // Violations come before gaps: one of them matters more than many of those.
  return Number(a.kind === "gap") - Number(b.kind === "gap") || b.count - a.count;
}

/** @param {Api.Group} row @param {Api.Findings} all */
function group(row, { span, learn }) {
  const share = row.of ? Math.min(1, row.count / row.of) : null;
  const accepted = row.state !== null && !row.state.startsWith("new");
  /** @param {number | null} n @param {string | null} at @param {string} word */
  const exchange = (n, at, word) =>
    n === null
      ? null
      : el(
          "span",
          {},
          `${word} `,
          el("a", { href: link("exchanges", "", { q: row.query, n }), title: instant(at, true) }, `no. ${number(n)}`),
          at ? `, ${instant(at).slice(0, 8)}` : null,
        );
  return el(
    "li",
    { class: ["box group", row.kind === "gap" ? "is-gap" : "", accepted ? "known" : ""].join(" ") },
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
        exchange(row.first, row.firstAt, "first"),
      row.count > 1 ? exchange(row.last, row.lastAt, "last") : null,
      row.times && span ? sparkline(row.times, span) : null,
      row.state ? el("i.mark", {}, row.state) : null,
    ),
    more(row, learn),
  );
}

/** Findings over the time of all exchanges; in words for whoever does not see bars.
 * @param {number[]} times @param {[string, string]} span */
function sparkline(times, [from, to]) {
  const most = Math.max(...times);
  const [begin, end] = [new Date(from).getTime(), new Date(to).getTime()];
  const at = new Date(begin + ((end - begin) * times.indexOf(most)) / times.length).toISOString();
  const words = `from ${instant(from).slice(0, 8)} to ${instant(to).slice(0, 8)}, most from ${instant(at).slice(0, 8)} on: ${number(most)}`;
  return el(
    "span.sparkline",
    { role: "img", "aria-label": words, title: words },
    times.map((count, i) => (count > 0 ? el("i", { "--at": String(i / times.length), "--share": String(count / most) }) : null)),
  );
}

/** Examples, what `learn` makes of a gap, and the suppression; made when the person opens them.
 * @param {Api.Group} row @param {string | null} learn */
function more(row, learn) {
  let made = false;
  const open = () => {
    if (made) return;
    made = true;
    const examples = el("ul.plain.examples", {}, el("li.dim", {}, "…"));
    details.append(
      el("p.dim", {}, "Exchanges that differ in what was seen:"),
      examples,
      ...(row.kind === "gap" && learn
        ? [el("p.dim", {}, "As an overlay, what recordings show of it: ", recorded(learn), " ", copyButton(learn, "the command"))]
        : []),
      el("p.dim", {}, "In ", recorded("contrail.toml"), ", with a reason and the last day filled in: ", copyButton(row.suppress, "the suppression")),
      code("Suppression", el("pre.raw.recorded", {}, row.suppress)),
    );
    void load(examples, row);
  };
  const details = el("details.more", { ontoggle: open }, el("summary", {}, "Examples, and how to accept it"));
  return details;
}

/** @param {HTMLElement} at @param {Api.Group} row */
async function load(at, row) {
  try {
    /** @type {Api.Examples} */
    const found = await api.get("findings/examples", { q: row.query, rule: row.rule, at: row.at });
    fill(at, found.examples.map((one) => example(one, row)));
    if (found.examples.length === 0) fill(at, el("li.dim", {}, "Their bytes are no longer kept."));
  } catch (error) {
    if (!api.isSilent(error)) fill(at, el("li.note", {}, api.sentenceOf(error)));
  }
}

/** @param {Api.Examples["examples"][number]} one @param {Api.Group} row */
function example({ n, finding, started, at, message }, row) {
  return el(
    "li",
    {},
    el("a", { href: link("exchanges", "", { q: row.query, n, finding }) }, `no. ${number(n)}`),
    started ? el("span.dim", {}, ` ${instant(started).slice(0, 8)}`) : null,
    at ? [" ", recorded(at)] : null,
    ": ",
    prose(message),
  );
}

/** @param {number} share */
const percent = (share) => (share > 0 && share < 0.01 ? "under 1 %" : `${Math.round(share * 100)} %`);

// Missed requests of a replay, each with what was nearest and the option that would make it match.

import * as api from "./api.js";
import { copyButton } from "./copy.js";
import { badge, box, counted, el, fill, prose, recorded, table, tableRow } from "./dom.js";
import { link, term } from "./route.js";

/** @param {HTMLElement} at @param {AbortSignal} signal */
export async function show(at, signal) {
  /** @type {Api.Misses} */
  const misses = await api.get("misses", {}, signal);
  fill(
    at,
    el("h2", {}, "Misses"),
    el(
      "p.dim",
      {},
      misses.rows.length === 0
        ? "No miss: no request of a replay without a recording."
        : `${counted(misses.rows.length + misses.further, "request")} that no recording answers.`,
    ),
    misses.record && misses.rows.length > 0
      ? el("p", {}, "Record what is missing: ", recorded(misses.record), " ", copyButton(misses.record, "the command"))
      : null,
    misses.rows.map((miss) => missOf(miss)),
    listed("Denied hosts", "requests to them were refused", misses.denied, (one) => [recorded(one.host), ` ${counted(one.count, "request")} `, dim(one.reason)]),
    listed("Unused recordings", "no request matched them", misses.unused, (one) => [recorded(one.entry), " ", recorded(one.request)]),
    listed("Stale recordings", "they do not fit the contract any more", misses.stale, (one) => [recorded(one.entry), " ", recorded(one.request), " ", dim(one.why)]),
  );
}

/** @param {string} text */
const dim = (text) => el("span.dim", {}, ...prose(text));

/** @template T @param {string} title @param {string} why @param {T[]} rows @param {(row: T) => (Node | string)[]} line */
const listed = (title, why, rows, line) =>
  rows.length > 0
    ? box([el("strong", {}, title), dim(why)], el("ul.plain.pad", {}, rows.map((row) => el("li", {}, ...line(row)))))
    : null;

/** @param {Api.Miss} miss */
function missOf(miss) {
  return el(
    "section.box.miss",
    {},
    el(
      "header",
      {},
      badge("miss"),
      el("strong", {}, recorded(miss.request)),
      dim(counted(miss.count, "time")),
      miss.operation ? el("a", { href: link("exchanges", "", { q: `verdict:miss ${term("op", miss.operation)}` }) }, miss.operation) : null,
    ),
    el("p.pad", {}, el("strong", {}, miss.reason), miss.detail ? ": " : null, ...prose(miss.detail)),
    miss.nearest.map((nearest) => nearestOf(nearest, miss.request)),
    miss.option
      ? el("div.pad.option", {}, "It would match with ", recorded(miss.option), " ", copyButton(miss.option, "the option"))
      : null,
  );
}

/** @param {Api.Nearest} nearest @param {string} request */
function nearestOf(nearest, request) {
  return el(
    "div.nearest",
    {},
    el(
      "p.pad",
      {},
      dim("nearest "),
      recorded(nearest.entry),
      " ",
      recorded(nearest.request),
      ` ${nearest.status} `,
      dim(`(${counted(nearest.differences.length, "difference")})`),
    ),
    table(
      `Differences of ${request} from ${nearest.entry}`,
      ["Place", "Your request", "Recording"],
      nearest.differences.map((one) =>
        tableRow(
          prose(one.place),
          el("td", {}, one.yours === null ? el("i.dim", {}, "absent") : recorded(one.yours)),
          el("td", {}, one.fixture === null ? el("i.dim", {}, "absent") : recorded(one.fixture)),
        ),
      ),
    ),
  );
}

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
        ? "No miss. Of a replay, here are the requests that no recording answers."
        : `${counted(misses.rows.length + misses.further, "request")} that no recording answers.`,
    ),
    misses.rows.map((miss) => missOf(miss)),
    misses.denied.length > 0
      ? box(
          [el("strong", {}, "Denied hosts"), el("span.dim", {}, "requests to them were refused")],
          el(
            "ul.plain.pad",
            {},
            misses.denied.map((one) =>
              el("li", {}, recorded(one.host), ` ${counted(one.count, "request")} `, el("span.dim", {}, ...prose(one.reason))),
            ),
          ),
        )
      : null,
    misses.unused.length > 0
      ? box(
          [el("strong", {}, "Unused recordings"), el("span.dim", {}, "no request matched them")],
          el("ul.plain.pad", {}, misses.unused.map((one) => el("li", {}, recorded(one.entry), " ", recorded(one.request)))),
        )
      : null,
    misses.stale.length > 0
      ? box(
          [el("strong", {}, "Stale recordings"), el("span.dim", {}, "they do not fit the contract any more")],
          el(
            "ul.plain.pad",
            {},
            misses.stale.map((one) =>
              el("li", {}, recorded(one.entry), " ", recorded(one.request), " ", el("span.dim", {}, ...prose(one.why))),
            ),
          ),
        )
      : null,
  );
}

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
      el("span.dim", {}, counted(miss.count, "time")),
      miss.operation ? el("a", { href: link("exchanges", "", { q: `verdict:miss ${term("op", miss.operation)}` }) }, miss.operation) : null,
    ),
    el("p.pad", {}, el("strong", {}, miss.reason), miss.detail ? ": " : null, ...prose(miss.detail)),
    miss.nearest.map((nearest) => nearestOf(nearest, miss.request)),
    miss.option
      ? el("div.pad.option", {}, el("span", {}, "It would match with "), option(miss.option))
      : null,
  );
}

/** @param {Api.Nearest} nearest @param {string} request */
function nearestOf(nearest, request) {
  const hasOptions = nearest.differences.some((one) => one.option);
  return el(
    "div.nearest",
    {},
    el(
      "p.pad",
      {},
      el("span.dim", {}, "nearest "),
      recorded(nearest.entry),
      " ",
      recorded(nearest.request),
      ` ${nearest.status} `,
      el("span.dim", {}, `(${counted(nearest.differences.length, "difference")})`),
    ),
    table(
      `Differences of ${request} from ${nearest.entry}`,
      ["Place", "Your request", "Recording", ...(hasOptions ? ["Then it would match"] : [])],
      nearest.differences.map((one) =>
        tableRow(
          prose(one.place),
          el("td", {}, one.yours === null ? el("i.dim", {}, "absent") : recorded(one.yours)),
          el("td", {}, one.fixture === null ? el("i.dim", {}, "absent") : recorded(one.fixture)),
          ...(hasOptions ? [el("td.option", {}, option(one.option))] : []),
        ),
      ),
    ),
  );
}

/** An option with its button. @param {string | null} text */
const option = (text) => (text ? [recorded(text), " ", copyButton(text, "the option")] : null);

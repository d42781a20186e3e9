// A document of the contract, to be read at a place: lines as the server made them, and what they refer to.

import * as api from "./api.js";
import { code, counted, el, fill, number, recorded } from "./dom.js";
import { link, place } from "./route.js";
import { paged } from "./window.js";

const LINES_AT_ONCE = 400;

/** @param {HTMLElement} at @param {AbortSignal} signal */
export async function show(at, signal) {
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

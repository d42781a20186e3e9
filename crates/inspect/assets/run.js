// The run: what was recorded, against which contract, under which options, and what was not checked. What a replay missed,
// each request with what was nearest and the option that would make it match.

import * as api from "./api.js";
import { copyButton } from "./copy.js";
import { badge, box, counted, el, fill, instant, number, prose, recorded, remember, remembered, table, tableRow } from "./dom.js";
import { link, term } from "./route.js";

/** So many names of operations are shown at once. */
const FEW = 6;

/** @param {HTMLElement} at @param {AbortSignal} signal @param {() => void} again */
export async function show(at, signal, again) {
  /** @type {Api.Run} */
  const run = await api.get("run", {}, signal);
  const redacted = [...Object.entries(run.secrets), ...Object.entries(run.personal)];
  fill(
    at,
    el("h2", {}, "Run"),
    el("p", {}, recorded(run.title)),
    el(
      "div.cards",
      {},
      endBox(run.end),
      box(
        el("strong", {}, "Exchanges"),
        el(
          "dl.facts-list",
          {},
          fact(run.live ? "Started" : "Opened", run.started ? instant(run.started, true) : null),
          fact("All", number(run.n)),
          run.skipped > 0 ? fact("Not read", counted(run.skipped, "entry", "entries")) : null,
          Object.entries(run.counts).map(([verdict, count]) =>
            el("div", {}, el("dt", {}, badge(verdict)), el("dd", {}, number(count))),
          ),
        ),
      ),
      run.contracts.map((contract, i) =>
        box(
          [el("strong", {}, "Contract"), el("span", {}, `${contract.title} ${contract.version}`)],
          el(
            "dl.facts-list",
            {},
            fact("Document", contract.name),
            fact("SHA-256", contract.sha256),
          ),
          el("p.pad", {}, el("a", { href: link("contract", String(i)) }, "Read the document")),
        ),
      ),
      run.sources.length > 0
        ? box(
            el("strong", {}, "Read from"),
            el("dl.facts-list", {}, run.sources.map((source) => fact(source.name, counted(source.entries, "entry", "entries")))),
          )
        : null,
      run.options.length > 0
        ? box(
            el("strong", {}, "Options"),
            el("dl.facts-list", {}, run.options.map(({ name, source }) => fact(`--${name}`, source))),
          )
        : null,
      run.listeners.length > 0
        ? box(el("strong", {}, "Listeners"), el("ul.plain.pad", {}, run.listeners.map((one) => el("li", {}, recorded(one)))))
        : null,
      run.variables.length > 0 ? variables(run.variables) : null,
      box(
        el("strong", {}, "Not checked"),
        run.unchecked.length === 0
          ? el("p.pad.dim", {}, "Nothing.")
          : el(
              "ul.plain.pad",
              {},
              run.unchecked.map((one) =>
                el(
                  "li",
                  {},
                  el("code", {}, one.aspect),
                  ` in ${counted(one.exchanges, "exchange")} `,
                  operations(Object.keys(one.operations)),
                ),
              ),
            ),
      ),
      box(
        el("strong", {}, "Redacted"),
        redacted.length === 0
          ? el("p.pad.dim", {}, "contrail replaced no value in this run. A recording may hold labels of an earlier one.")
          : el("dl.facts-list", {}, redacted.map(([kind, count]) => fact(kind, number(count)))),
      ),
      run.notes.length > 0
        ? box(el("strong", {}, "Notes"), el("ul.plain.pad", {}, run.notes.map((note) => el("li", {}, ...prose(note)))))
        : null,
      box(
        el("strong", {}, "Versions"),
        el("dl.facts-list", {}, fact("contrail", run.build), fact("Mode", run.mode), fact("Run", run.run)),
      ),
      settings(again),
    ),
  );
}

/** Names of operations; many are folded. @param {string[]} names */
function operations(names) {
  const all = el("span.dim", {}, names.join(", "));
  return names.length <= FEW ? all : el("details", {}, el("summary", {}, counted(names.length, "operation")), all);
}

/** @param {string} name @param {string | null} value */
function fact(name, value) {
  if (value === null || value === "") return null;
  return el("div", {}, el("dt", {}, recorded(name)), el("dd", {}, recorded(value)));
}

/** @param {Api.End | null} end */
function endBox(end) {
  if (!end) return null;
  return box(
    [el("strong", {}, "Ended"), el(end.status === 0 ? "span.badge.good" : "span.badge.bad", {}, `exit status ${end.status}`)],
    el("ul.plain.pad", {}, end.sentences.map((sentence) => el("li", {}, ...prose(sentence)))),
    end.next ? el("p.pad.option", {}, recorded(end.next), " ", copyButton(end.next, "the command")) : null,
  );
}

/** @param {{ name: string, value: string }[]} list */
export function variables(list) {
  const lines = list.map(({ name, value }) => `export ${name}=${value}`).join("\n");
  return box(
    [el("strong", {}, "Variables for clients"), el("span.grow"), copyButton(lines, "the variables")],
    el("pre.raw.pad.recorded", {}, lines),
  );
}

/** How this browser shows the page. @param {() => void} again */
function settings(again) {
  const now = remembered();
  const theme = /** @type {HTMLSelectElement} */ (
    el(
      "select",
      {
        onchange: () => {
          remember({ theme: theme.value });
          applyTheme();
        },
      },
      [
        ["", "as the system"],
        ["light", "light"],
        ["dark", "dark"],
      ].map(([value, words]) => el("option", { value, selected: (now.theme ?? "") === value }, words)),
    )
  );
  const utc = /** @type {HTMLInputElement} */ (
    el("input", {
      type: "checkbox",
      checked: now.utc === true,
      onchange: () => {
        remember({ utc: utc.checked });
        again();
      },
    })
  );
  return el(
    "section.box.settings",
    {},
    el("header", {}, el("strong", {}, "This page")),
    el("p.pad", {}, el("label", {}, "Theme ", theme)),
    el("p.pad", {}, el("label", {}, utc, " Times in UTC")),
  );
}

export function applyTheme() {
  const { theme } = remembered();
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

/** @param {HTMLElement} at @param {AbortSignal} signal */
export async function showMisses(at, signal) {
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

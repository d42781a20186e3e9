// The run: what was recorded, against which contract, under which options, and what was not checked.

import * as api from "./api.js";
import { copyButton } from "./copy.js";
import { badge, box, counted, el, fill, instant, number, prose, recorded, remember, remembered } from "./dom.js";
import { link } from "./route.js";

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

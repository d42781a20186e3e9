// Who called what, with which scopes: the words and the numbers of `contrail audit`.

import * as api from "./api.js";
import { counted, el, fill, number, recorded, table, tableRow } from "./dom.js";
import { link, term } from "./route.js";

/** @type {Record<string, [string, string]>} */
const STATES = {
  needed: ["●", "needed and held"],
  held: ["○", "held and never needed"],
  lacks: ["✕", "needed and lacking"],
  claimed: ["◇", "claimed by a token that was not accepted"],
  none: ["", "not held"],
};

/** @param {HTMLElement} at @param {AbortSignal} signal */
export async function show(at, signal) {
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

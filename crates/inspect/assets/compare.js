// Two exchanges side by side, place by place. What is the same is folded.

import * as api from "./api.js";
import { announce, copy } from "./copy.js";
import { badge, button, counted, el, fill, number, prose, recorded, table, tableRow } from "./dom.js";
import { link, place } from "./route.js";

/** So many places that are the same are not worth a fold. */
const FEW = 2;
/** Of texts longer than this, the characters that differ are marked. */
const LONG = 40;

/** What the page around it does. */
export const page = {
  back: () => {},
  /** The person chooses what exchange `n` is compared with. @param {number} n */
  another: (n) => void n,
};

/** @type {Api.Comparison | null} */
let shown = null;
/** @type {HTMLElement[]} */
let differences = [];
let current = -1;

/** The two numbers of the address: `41/12`. */
export function numbers() {
  const [n, other] = place().part.split("/").map((text) => (/^\d+$/.test(text) ? Number(text) : null));
  return { n: n ?? null, other: other ?? null };
}

/** @param {HTMLElement} at @param {AbortSignal} signal */
export async function show(at, signal) {
  const { n, other } = numbers();
  shown = null;
  differences = [];
  current = -1;
  if (n === null) throw new api.Refused(404, "", null);
  /** @type {Api.Comparison} */
  const answer = await api.get("compare", { a: n, b: other }, signal);
  const { params } = place();
  if (answer.left && other === null) history.replaceState(null, "", link("compare", `${n}/${answer.left.n}`, params));
  shown = answer;
  const heading = el("h2", { tabindex: -1 }, answer.left ? `No. ${number(answer.left.n)} beside no. ${number(n)}` : `No. ${number(n)}`);
  fill(
    at,
    heading,
    answer.why ? el("p.dim", {}, ...prose(answer.why)) : null,
    answer.left ? headOf(answer) : null,
    answer.notes.map((note) => el("p.note", {}, ...prose(note))),
    summary(answer),
    sections(answer),
  );
  differences = [...at.querySelectorAll("tr.differs")].filter((row) => row instanceof HTMLElement);
  heading.focus({ preventScroll: true });
}

/** @param {Api.Comparison} answer */
const changed = ({ parts }) => parts.flatMap(({ part, rows }) => rows.filter((row) => !row.same).map((row) => ({ part, ...row })));

/** @param {Api.Comparison} answer */
function headOf({ left, right }) {
  return el("div.beside", {}, [left, right].map((row) => (row ? sideOf(row) : null)));
}

/** @param {Api.Row} row */
function sideOf(row) {
  const { params } = place();
  return el(
    "div.box.pad",
    {},
    el("a", { href: link("exchanges", "", { ...params, n: row.n }) }, `No. ${number(row.n)}`),
    " ",
    badge(row.verdict),
    " ",
    el("strong", {}, row.status ?? "no response"),
    el("div", {}, recorded(`${row.method} ${row.path}`)),
    el("div.dim", {}, [row.client, row.source].filter(Boolean).join(" · ")),
  );
}

/** How many differences there are, and what to do with them. @param {Api.Comparison} answer */
function summary(answer) {
  const all = changed(answer);
  const more = answer.further > 0 ? ` The first ${number(all.length)} are shown.` : "";
  const count = counted(all.length + answer.further, "difference");
  const fields = all.length > 0 && all.every(({ part }) => part === "request header");
  return el(
    "div.comparing",
    {},
    answer.parts.length === 0
      ? null
      : el(
          "p",
          {},
          el("strong", {}, all.length === 0 ? "No difference." : `${count}.`),
          more,
          fields ? prose(" By themselves, header fields of requests are no difference to `contrail diff`.") : null,
          el("span.dim", {}, " Fields that differ with each run, such as dates and request ids, do not count."),
        ),
    el(
      "div.actions",
      { role: "group", "aria-label": "Actions" },
      all.length > 0 ? button("Next", () => move(1), { key: "j" }) : null,
      all.length > 0 ? button("Previous", () => move(-1), { key: "k" }) : null,
      all.length > 0 ? button("Copy what changed", () => copyChanges(), { key: "c" }) : null,
      button("Back", () => page.back(), { key: "Esc" }),
      button("With another", () => page.another(answer.right.n), { key: "D" }),
    ),
  );
}

/** The parts, those of one title in one box. @param {Api.Comparison} answer */
function sections({ parts, left, right }) {
  const titles = [...new Set(parts.map(({ title }) => title))];
  return titles.map((title) => {
    const rows = parts
      .filter((part) => part.title === title)
      .flatMap(({ part, rows }) => rows.map((row) => ({ ...row, at: row.at || part })));
    const differ = rows.filter((row) => !row.same).length;
    const heads = ["Place", left ? `No. ${number(left.n)}` : "", `No. ${number(right.n)}`];
    const shown = table(title, heads, folded(rows, heads));
    shown.classList.add("compared");
    const state = differ === 0 ? "the same" : `${number(differ)} of ${number(rows.length)} differ`;
    return el("details.box", { open: differ > 0 }, el("summary", {}, el("strong", {}, title), " ", el("span.dim", {}, state)), shown);
  });
}

/** The rows, with places that are the same behind a button. @param {Api.Compared[]} rows @param {string[]} heads */
function folded(rows, heads) {
  /** @type {HTMLElement[]} */
  const drawn = [];
  for (let from = 0; from < rows.length; ) {
    let to = from;
    while (to < rows.length && rows[to]?.same) to += 1;
    const same = rows.slice(from, to);
    if (same.length > FEW) drawn.push(foldOf(same, heads));
    else drawn.push(...same.map((row) => rowOf(row, heads)));
    const next = rows[to];
    if (next) drawn.push(rowOf(next, heads));
    from = to + 1;
  }
  return drawn;
}

/** @param {Api.Compared[]} rows @param {string[]} heads */
function foldOf(rows, heads) {
  const unfold = () => {
    const drawn = rows.map((row) => rowOf(row, heads));
    fold.replaceWith(...drawn);
    drawn[0]?.focus();
  };
  const fold = el("tr.fold", {}, el("td", { colspan: heads.length }, button(`${number(rows.length)} the same`, unfold)));
  return fold;
}

/** @param {Api.Compared} row @param {string[]} heads */
function rowOf({ at, left, right, same }, heads) {
  const sign = same ? "" : left === null ? "+" : right === null ? "−" : "≠";
  const word = same ? "the same" : left === null ? "added" : right === null ? "removed" : "differs";
  const parts = same || left === null || right === null ? [left, right].map((text) => [text]) : split(left, right);
  const cells = [left, right].map((text, side) =>
    el(
      "td",
      {},
      el("span.side", { "aria-hidden": "true" }, heads[side + 1]),
      text === null ? el("i.dim", {}, "absent") : recorded(...marked(parts[side] ?? [])),
    ),
  );
  const name = [el("span.sign", { "aria-hidden": "true" }, sign), recorded(at), el("span.visually-hidden", {}, `, ${word}`)];
  const drawn = tableRow(name, ...cells);
  drawn.tabIndex = -1;
  if (!same) drawn.classList.add("differs");
  return drawn;
}

/** Text in parts, of which every second one differs. @param {(string | null)[]} parts */
const marked = (parts) => parts.map((text, i) => (i % 2 === 1 && text ? el("mark", {}, text) : text));

/** Two texts, each in parts: paths by segment, long ones by what they have in common at both ends.
 * @param {string} left @param {string} right @returns {string[][]} */
function split(left, right) {
  const [one, other] = [left.split("/"), right.split("/")];
  if (left.startsWith("/") && right.startsWith("/") && one.length === other.length) {
    /** @param {string[]} mine @param {string[]} theirs */
    const parts = (mine, theirs) =>
      mine.flatMap((segment, i) => (segment === theirs[i] ? [`${i > 0 ? "/" : ""}${segment}`, ""] : ["/", segment]));
    return [parts(one, other), parts(other, one)];
  }
  if (Math.max(left.length, right.length) <= LONG) return [[left], [right]];
  const [a, b] = [[...left], [...right]];
  const most = Math.min(a.length, b.length);
  let before = 0;
  while (before < most && a[before] === b[before]) before += 1;
  let after = 0;
  while (after < most - before && a.at(-1 - after) === b.at(-1 - after)) after += 1;
  /** @param {string[]} text */
  const parts = (text) => [
    text.slice(0, before).join(""),
    text.slice(before, text.length - after).join(""),
    text.slice(text.length - after).join(""),
  ];
  return [parts(a), parts(b)];
}

/** The next difference, or the one before. @param {number} by */
export function move(by) {
  if (differences.length === 0) {
    announce("No difference");
    return;
  }
  const to = Math.max(0, Math.min(differences.length - 1, current < 0 ? (by > 0 ? 0 : differences.length - 1) : current + by));
  if (to === current) announce(by > 0 ? "No further difference" : "No earlier difference");
  current = to;
  const row = differences[current];
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "center" });
}

/** Only what changed, as text. */
export function copyChanges() {
  if (!shown?.left) return;
  /** @param {Api.Row} row */
  const name = (row) => `no. ${row.n} ${row.method} ${row.path} ${row.status ?? "no response"}`;
  const lines = changed(shown).map(
    ({ part, at, left, right }) => `${part}${at ? ` at ${at}` : ""}: ${left ?? "nothing"} → ${right ?? "nothing"}`,
  );
  void copy([name(shown.left), name(shown.right), ...lines].join("\n"), "what changed");
}

// The inspector's page: address -> questions to the server -> what is drawn. The server holds the data, and the page
// holds the screen. No framework and no build: what a reviewer reads here is what runs. Beyond 4,000 lines, or at the
// first view that has to patch deep state in place, take Preact with `tsc` as the only build.

import * as api from "./api.js";
import * as comparing from "./compare.js";
import { Menu } from "./columns.js";
import { Detail } from "./detail.js";
import * as contract from "./contract.js";
import { announce, copyButton, copyCurl, saveHar } from "./copy.js";
import { GREY_MS, button, byId, counted, el, fill, instant, narrow, number, prose, recorded, remember, remembered, stamp } from "./dom.js";
import { Filter, STATES, termsOf } from "./filter.js";
import * as findings from "./findings.js";
import * as keys from "./keys.js";
import { Groups, List, filterOf } from "./list.js";
import * as route from "./route.js";
import * as runs from "./run.js";
import { Timeline } from "./timeline.js";

const ANNOUNCE_MS = 5_000;

/** Views; an inner one is reached from others, and has no link of its own.
 * @type {Record<string, { name: string, show: null | ((at: HTMLElement, signal: AbortSignal, again: () => void) => Promise<void>), inner?: true }>} */
const VIEWS = {
  exchanges: { name: "Exchanges", show: null },
  findings: { name: "Findings", show: findings.show },
  operations: { name: "Operations", show: contract.showOperations },
  callers: { name: "Callers", show: contract.showCallers },
  misses: { name: "Misses", show: runs.showMisses },
  run: { name: "Run", show: runs.show },
  compare: { name: "Compare", show: comparing.show, inner: true },
  contract: { name: "Contract", show: contract.showDocument, inner: true },
};

/** @type {Api.Run} */
let run;
/** @type {Api.Head} */
let head;
/** Where the page stood when it was paused. @type {{ n: number, at: string } | null} */
let paused = null;
/** What the announcement of new exchanges counts from. @type {Api.Head | null} */
let announced = null;
let locating = false;
/** @type {number | undefined} */
let announcing;
/** @type {AbortController | null} */
let drawing = null;
/** The number of exchanges that the drawn view counts. */
let drawnAt = 0;
/** @type {number | null} */
let opened = null;
/** The exchange that is to be compared with the one that the person opens next. @type {number | null} */
let picking = null;


const stream = new api.Stream({
  head: (now) => grown(now),
  end: (end) => {
    run.end = end;
    band("end", "note", endOf(end));
    drawRun();
  },
  moved: () =>
    band("moved", "note", [
      "Live updates moved to another tab. ",
      button("Take them back", () => {
        band("moved", "note", null);
        stream.start();
      }),
    ]),
  connected: () => {
    const was = bands.has("lost");
    band("lost", "bad", null);
    drawRun();
    if (was) list.resume(head.n - head.first);
  },
  waiting: (seconds) => lost(seconds),
});

const list = new List(byId("list"), {
  open: (n) => {
    const keep = narrow.matches && route.numberOf("n") === null;
    route.change({ n, finding: null }, { keep });
  },
  sort: (sort) => route.change({ sort }, { keep: true }),
  answered: (answer) => {
    filter.answered(answer, query() !== "");
    if (!paused || list.query !== timeline.query) timeline.follow(list.query, answer.n, answer.size, answer.searched);
    drawEmpty(answer);
  },
  failed: (error) => failed(error),
  filter: (term) => filter.toggleTerm(term),
  marked: drawMarked,
});

const timeline = new Timeline(byId("timeline"), byId("tools"), {
  select: (since, until) => filter.setTime(since, until),
  open: () => detail.started,
  announce,
});

const groups = new Groups(byId("groups"), byId("tools"), {
  group: (group) => route.change({ group }, { keep: true }),
  link: (term) => {
    const q = [...termsOf(query()), term].join(" ");
    return route.link("exchanges", "", { ...route.place().params, q, off: null, group: null });
  },
});

new Menu(byId("tools"), () => list.relayout());
narrow.addEventListener("change", () => list.relayout());

const marks = el("span.marks", { hidden: true });
byId("tools").append(button("Mark", () => list.toggleMark() || announce("Select an exchange first"), { "aria-keyshortcuts": "Space" }), marks);

/** What a person does with the marked exchanges. @param {number[]} numbers */
function drawMarked(numbers) {
  const [left, right] = numbers;
  marks.hidden = numbers.length === 0;
  fill(
    marks,
    el("output", {}, `${number(numbers.length)} marked`),
    button("HAR", () => void saveHar(numbers, "contrail-marked.har"), { "aria-label": "Save the marked exchanges as HAR" }),
    button("curl", () => void copyCurl(numbers), { "aria-label": "Copy the marked requests as curl" }),
    numbers.length === 2 ? el("a", { href: route.link("compare", `${right}/${left}`) }, "Compare") : null,
    button("Unmark", () => list.unmark(), { "aria-label": "Unmark all" }),
  );
}

const detail = new Detail(byId("detail"), {
  back,
  compare,
  filter: (terms) => {
    route.go(route.link("exchanges", "", { ...route.place().params, q: terms, off: null, sort: null, group: null }));
  },
  place: (changes) => route.change(changes),
  hasSources: () => run.sources.length > 1,
});

const filter = new Filter({
  set: (q) => route.change({ q, off: null }, { keep: false }),
  toggle: toggleFilter,
  done: focusList,
});

// --- the frame ---------------------------------------------------------------------------------------------------

/** @type {Map<string, HTMLElement>} */
const bands = new Map();

/** Shows a sentence across the page, or takes it away. @param {string} name @param {string} tone
 * @param {import("./dom.js").Child | import("./dom.js").Child[]} content */
function band(name, tone, content) {
  if (content === null) bands.delete(name);
  else bands.set(name, el(`p.band.${tone}`, {}, content));
  fill(byId("bands"), ...bands.values());
}

/** @param {Api.End} end */
function endOf(end) {
  return [
    el("strong", {}, `The run ended: exit status ${end.status}.`),
    end.sentences.length > 0 ? el("span", {}, ...prose(`${end.sentences.join("; ")}.`)) : null,
    end.next ? [recorded(end.next), " ", copyButton(end.next, "the command")] : null,
  ].flat();
}

/** @param {number} seconds */
function lost(seconds) {
  const since = lostSince ?? new Date().toISOString();
  lostSince = since;
  const ended = run.end !== null;
  band("lost", ended ? "note" : "bad", [
    ended ? "contrail has ended. " : `No answer since ${instant(since).slice(0, 8)}, trying again in ${seconds} s. `,
    `What you see is complete up to ${number(head.n)}. `,
    button("Try now", () => stream.start()),
  ]);
  drawRun();
}
/** @type {string | null} */
let lostSince = null;

function drawRun() {
  const state = bands.has("lost") ? "lost" : run.end ? "ended" : paused ? "paused" : run.live ? "live" : "file";
  fill(
    byId("run"),
    el(`span.dot.${state}`, { "aria-hidden": "true" }),
    recorded(run.title),
    el("span.visually-hidden", {}, `, ${state}`),
  );
  // On paper: what was judged by what, with what.
  const contracts = run.contracts.map(({ title, version, sha256 }) => `${title} ${version}, SHA-256 ${sha256}`);
  byId("citation").textContent = [...contracts, `contrail ${run.build}`].join(" · ");
  byId("pause").hidden = !run.live || run.end !== null;
  byId("pause").setAttribute("aria-pressed", String(paused !== null));
}

function drawCounts() {
  const { counts, in_progress: progress = 0, reading } = head;
  fill(
    byId("counts"),
    reading ? el("span.dim", {}, `read ${Math.floor((100 * reading.read) / Math.max(1, reading.of))} %`) : null,
    progress > 0 ? el("span.dim", {}, `${number(progress)} in progress`) : null,
    el("span", {}, number(head.n), el("span.visually-hidden", {}, " exchanges")),
    count("bad", "✕", counts.violates, "violate"),
    count("gap", "◇", counts.gap, "with gaps"),
    counts.miss > 0 ? count("bad", "∅", counts.miss, "missed") : null,
  );
}

/** @param {string} tone @param {string} sign @param {number} value @param {string} word */
const count = (tone, sign, value, word) =>
  el(
    `span.${value > 0 ? tone : "dim"}`,
    {},
    el("span", { "aria-hidden": "true" }, `${sign} `),
    number(value),
    el("span.visually-hidden", {}, ` ${word}`),
  );

/** @param {string} current */
function drawViews(current) {
  const at = byId("views");
  const held = at.contains(document.activeElement);
  fill(
    at,
    Object.entries(VIEWS).filter(([, view]) => !view.inner).map(([name, view]) => {
      const { q } = name === "exchanges" ? route.place().params : {};
      const missed = name === "misses" && head.counts.miss > 0 ? el("b.bad", {}, number(head.counts.miss)) : null;
      return el(
        "a",
        { href: route.link(name, "", { q }), "aria-current": name === current ? "page" : null },
        view.name,
        missed ? " " : null,
        missed,
      );
    }),
  );
  const link = /** @type {HTMLElement | null} */ (at.querySelector("[aria-current]"));
  link?.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (held) link?.focus();
}

// --- what the server reports -------------------------------------------------------------------------------------

/** @param {Api.Head} now */
function grown(now) {
  head = now;
  lostSince = null;
  drawCounts();
  if (paused) {
    drawPaused();
    return;
  }
  list.grow(now.n - now.first);
  timeline.follow(list.query, now.n - now.first, list.size);
  groups.grow(now.n - now.first);
  if (route.place().params.entry) void locate();
  if (drawnAt !== 0 && now.n > drawnAt) drawStale();
  announceNew();
}

/** New exchanges are announced in one sentence at a time, and never per row. */
function announceNew() {
  if (!announced) {
    announced = head;
    return;
  }
  if (announcing !== undefined || head.n === announced.n) return;
  announcing = setTimeout(() => {
    announcing = undefined;
    const before = announced ?? head;
    announced = head;
    const violate = head.counts.violates - before.counts.violates;
    const fresh = counted(head.n - before.n, "new exchange");
    byId("live").textContent = violate > 0 ? `${fresh}, ${violate} violate` : fresh;
  }, ANNOUNCE_MS);
}

function drawPaused() {
  if (!paused) {
    band("paused", "note", null);
    return;
  }
  const since = head.n - paused.n;
  band("paused", "note", [
    `Paused at ${instant(paused.at).slice(0, 8)}. contrail still records; ${counted(since, "exchange")} since. `,
    button("Resume", togglePause, { key: "a" }),
  ]);
}

function togglePause() {
  if (!run.live || run.end) return;
  paused = paused ? null : { n: head.n, at: new Date().toISOString() };
  list.paused = paused !== null;
  drawPaused();
  drawRun();
  if (!paused) list.resume(head.n - head.first);
  announce(paused ? "Paused. contrail still records." : "Live again");
}

/** @param {unknown} error */
function failed(error) {
  if (api.isSilent(error)) return;
  if (error instanceof api.Refused && error.status === 400) filter.error({ at: error.at, message: error.message });
  else announce(api.sentenceOf(error));
}

// --- exchanges ---------------------------------------------------------------------------------------------------

/** The filter in force. */
function query() {
  const { q = "", off } = route.place().params;
  return off ? "" : q;
}

function toggleFilter() {
  const { q, off } = route.place().params;
  if (!q) return false;
  route.change({ off: off ? null : "1" });
  announce(off ? "Filter on" : "Filter off");
  return true;
}

/** @param {Api.Rows} answer */
function drawEmpty(answer) {
  const at = byId("none");
  at.hidden = answer.size > 0 || answer.searched !== null || head.reading !== null;
  if (at.hidden) return;
  if (query() !== "" && answer.n > 0) {
    fill(
      at,
      el("h2", {}, "No match"),
      el("p", {}, `0 of ${number(answer.n)} match `, recorded(query())),
      el("p", {}, button("Clear the filter", () => route.change({ q: null, off: null }))),
    );
  } else if (run.live && answer.n === 0) {
    fill(
      at,
      el("h2", {}, "No exchange yet"),
      run.notes.map((note) => el("p.note", {}, ...prose(note))),
      el("p", {}, "Point a client at contrail: the first exchange appears here by itself."),
      run.listeners.map((listener) => el("p", {}, recorded(listener))),
      run.variables.length > 0 ? runs.variables(run.variables) : null,
    );
  } else {
    const names = run.sources.map((source) => source.name).join(", ") || run.title;
    fill(
      at,
      el("h2", {}, "No exchange"),
      el("p", {}, recorded(names), " holds no HTTP exchange."),
      run.notes.map((note) => el("p", {}, ...prose(note))),
    );
  }
}

/** Hides what was before now; nothing is deleted. */
function hideEarlier() {
  if (run.live) filter.setTime(stamp(Date.now()), null);
  else announce("Nothing comes after a recording: no exchange would be left");
}

/** Opens the entry that the address names, once it has been read. */
async function locate() {
  const { entry = "", source = "" } = route.place().params;
  if (locating) return;
  locating = true;
  try {
    const { n, reading } = await api.get("exchanges/entry", { entry, source });
    if (n !== null) route.change({ entry: null, source: null, n });
    else if (!reading) {
      route.change({ entry: null, source: null });
      announce(`There is no entry ${entry} here`);
    }
  } catch (error) {
    failed(error);
  } finally {
    locating = false;
  }
}

/** @param {boolean} backwards */
async function nextFinding(backwards) {
  const n = route.numberOf("n");
  const { sort = "" } = route.place().params;
  try {
    /** @type {{ n: number | null, finding?: number }} */
    const next = await api.get("exchanges/next", {
      ...filterOf(query(), sort),
      n,
      finding: n !== null && detail.n === n ? detail.finding : null,
      back: backwards,
    });
    if (next.n === null) announce(n === null ? "No finding in this list" : `No ${backwards ? "earlier" : "further"} finding in this list`);
    else go(next.n, next.finding ?? 0);
  } catch (error) {
    failed(error);
  }
}

/** @param {number} n @param {number} finding */
function go(n, finding) {
  const params = { ...route.place().params, n, finding, side: null };
  if (route.place().view === "exchanges") route.change({ n, finding, side: null });
  else route.go(route.link("exchanges", "", params));
}

/** Compares an exchange: with the one that was chosen for it, or with its partner. @param {number} n */
function compare(n) {
  const [right, left] = picking === null || picking === n ? [n, null] : [picking, n];
  pick(null);
  const { q, off, sort } = route.place().params;
  route.go(route.link("compare", left === null ? String(right) : `${right}/${left}`, { q, off, sort }));
}

comparing.page.back = back;
comparing.page.another = (n) => {
  route.go(route.link("exchanges", "", { ...route.place().params, n }));
  pick(n);
};

/** Lets the person open the exchange to compare this one with. @param {number | null} n */
function pick(n) {
  picking = n;
  band("picking", "note", n === null ? null : [
    `Open the exchange to compare no. ${number(n)} with. `,
    button("Compare", () => detail.n !== null && compare(detail.n), { key: "d" }),
    button("Cancel", () => pick(null), { key: "Esc" }),
  ]);
}

/** One step back: out of the detail, or off the exchange. */
function back() {
  if (picking !== null) {
    pick(null);
    return;
  }
  if (isComparing()) {
    route.go(route.link("exchanges", "", { ...route.place().params, n: comparing.numbers().n }));
    return;
  }
  if (route.place().view !== "exchanges") {
    route.go(route.link("exchanges"));
    return;
  }
  if (narrow.matches) route.change({ n: null, finding: null, side: null });
  focusList();
}

function focusList() {
  if (groups.shown) groups.move(1);
  else list.rows.focus();
}

/** To the next row, or the one before; of groups, likewise. @param {number} by */
const walk = (by) => (groups.shown ? groups.move(by) : list.move(by));

// --- drawing the place of the address ------------------------------------------------------------------------------

/** @param {route.Place} place */
function draw(place) {
  const view = place.view in VIEWS ? place.view : "exchanges";
  document.body.dataset.view = view;
  drawViews(view);
  drawing?.abort();
  drawing = new AbortController();
  drawnAt = 0;
  byId("stale").hidden = true;
  if (view !== "exchanges") {
    void drawView(view, drawing.signal);
    return;
  }
  if (place.params.entry) void locate();
  const { q = "", off, sort = "", side = null, view: bodyView = null } = place.params;
  filter.show(q, off !== undefined);
  const n = route.numberOf("n");
  if (n !== list.selected) list.mark(n);
  list.show(off ? "" : q, sort, run.live);
  groups.show(place.params.group, off ? "" : q);
  byId("list").hidden = groups.shown;
  if (n === null) {
    delete document.body.dataset.open;
    document.title = "contrail";
    if (opened !== null || detail.at.childElementCount === 0) detail.empty();
  } else {
    document.body.dataset.open = "";
    if (opened !== n) void list.reveal(n);
    void detail.show(n, { finding: route.numberOf("finding"), side, view: bodyView });
  }
  opened = n;
}

/** @param {string} view @param {AbortSignal} signal */
async function drawView(view, signal) {
  const { name, show } = VIEWS[view] ?? {};
  const at = byId("view");
  document.title = `${name} · contrail`;
  const grey = setTimeout(() => {
    at.classList.add("waiting");
    // What stands there may be another view.
    if (at.dataset.view !== view) fill(at, el("h2", {}, name), el("p.dim", {}, "contrail has not answered yet."));
    at.dataset.view = view;
  }, GREY_MS);
  try {
    if (!show) throw new api.Refused(404, "", null);
    const n = head.n;
    await show(at, signal, () => draw(route.place()));
    drawnAt = n;
  } catch (error) {
    if (signal.aborted || api.isSilent(error)) return;
    const missing = error instanceof api.Refused && error.status === 404;
    const sentence = missing ? "contrail does not show this here." : api.sentenceOf(error);
    fill(at, el("h2", {}, name), el("p.note", { role: "alert" }, sentence));
  } finally {
    clearTimeout(grey);
    at.classList.remove("waiting");
    if (!signal.aborted) at.dataset.view = view;
  }
}

/** The drawn view counts fewer exchanges than there are: it does not change under the reader. */
function drawStale() {
  const stale = byId("stale");
  stale.hidden = false;
  stale.textContent = `${number(head.n - drawnAt)} new: refresh`;
}

// --- without a token ---------------------------------------------------------------------------------------------

/** @param {"none" | "wrong" | "other"} why */
function gate(why) {
  stream.stop();
  const sentences = {
    none: "Open the address that contrail printed.",
    wrong: "The token in this tab is not that of the run that answers here: open the address that it printed.",
    other: "Another run answers here now: open the address that it printed.",
  };
  const field = /** @type {HTMLInputElement} */ (
    el("input", { id: "paste", type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off" })
  );
  const problem = el("p.bad", { role: "alert", hidden: true });
  const form = el(
    "form",
    {},
    el("label", { for: "paste" }, "Or paste the address, or its token, here:"),
    field,
    el("button", { type: "submit" }, "Open"),
    problem,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const token = api.tokenIn(field.value);
    problem.hidden = token !== null;
    problem.textContent = "There is no token in this. It stands behind `#k=` in the address.";
    if (!token) return;
    api.setToken(token);
    location.reload();
  });
  document.body.dataset.state = "gate";
  document.title = "contrail";
  fill(
    byId("gate"),
    el("h2", {}, why === "none" ? "This page needs its address" : "Not this run's address"),
    el("p", {}, sentences[why]),
    el("p.dim", {}, "contrail prints it when it starts: ", el("code", {}, "inspector on http://127.0.0.1:…/#k=…")),
    form,
  );
  field.focus();
}

/** Moves the token out of the address bar: `#k=TOKEN`, and behind it what the page shows first, `/exchanges?n=41`.
 * @returns {boolean} whether there was one */
function takeToken() {
  const printed = /^#k=([^/&?]+)(\/.*)?$/.exec(location.hash);
  if (!printed?.[1]) return false;
  api.setToken(printed[1]);
  history.replaceState(null, "", printed[2] ? `#${printed[2]}` : location.pathname);
  return true;
}

// --- the beginning -----------------------------------------------------------------------------------------------

let known = false;
api.connection.refused = () => gate(known ? "other" : "wrong");
api.connection.lost = () => stream.doubt();
api.connection.otherRun = () => {
  stream.stop();
  band("lost", "bad", null);
  band("other", "note", [
    `Another run answers here since ${instant(new Date().toISOString()).slice(0, 8)}. `,
    button("Show it", () => {
      history.replaceState(null, "", location.pathname);
      location.reload();
    }),
  ]);
};

/** @param {string} view */
const viewKey = (view) => () => {
  route.go(route.link(view));
  return true;
};

/** Keys of the list and the exchange: only where they are shown. @param {() => unknown} action */
const there = (action) => () => {
  if (route.place().view !== "exchanges") return false;
  void action();
  return true;
};

const isComparing = () => route.place().view === "compare";

/** Keys of a comparison, and what they do elsewhere. @param {() => unknown} action @param {() => unknown} elsewhere */
const comparingOr = (action, elsewhere) => () => (isComparing() ? action() : elsewhere());

/** Keys of an open exchange. @param {() => unknown} action */
const onOpen = (action) => () => {
  if (route.place().view !== "exchanges" || detail.n === null) return false;
  void action();
  return true;
};

function listenToKeys() {
  keys.listen({
    j: comparingOr(() => comparing.move(1), there(() => walk(1))),
    k: comparingOr(() => comparing.move(-1), there(() => walk(-1))),
    ArrowDown: there(() => walk(1)),
    ArrowUp: there(() => walk(-1)),
    Home: there(() => list.select(0)),
    End: there(() => list.newest()),
    n: () => void nextFinding(false),
    N: () => void nextFinding(true),
    Enter: onOpen(() => detail.at.focus()),
    ArrowRight: onOpen(() => detail.at.focus()),
    ArrowLeft: there(back),
    Escape: back,
    "/": there(() => filter.focus()),
    b: there(() => filter.focus('body:"')),
    "\\": there(toggleFilter),
    r: onOpen(() => detail.choose("response")),
    q: onOpen(() => detail.choose("request")),
    t: onOpen(() => detail.choose("token")),
    w: onOpen(() => detail.choose("raw")),
    v: onOpen(() => detail.nextView()),
    f: onOpen(() => detail.find()),
    p: onOpen(() => detail.copyPointer()),
    c: comparingOr(() => comparing.copyChanges(), onOpen(() => detail.curl())),
    d: onOpen(() => detail.n !== null && compare(detail.n)),
    D: comparingOr(() => comparing.page.another(comparing.numbers().n ?? 0), onOpen(() => pick(detail.n))),
    s: onOpen(() => detail.har()),
    y: onOpen(() => detail.reference()),
    o: onOpen(() => detail.sameOperation()),
    // Within the exchange, the space bar scrolls.
    " ": there(() => (detail.at.contains(document.activeElement) ? false : list.toggleMark())),
    a: togglePause,
    "[": there(() => void timeline.narrow()),
    "]": there(() => void timeline.widen()),
    x: there(hideEarlier),
    "?": keys.showHelp,
    "g e": viewKey("exchanges"),
    "g f": viewKey("findings"),
    "g o": viewKey("operations"),
    "g c": viewKey("callers"),
    "g m": viewKey("misses"),
    "g r": viewKey("run"),
  });
}

function listenToSplitter() {
  const splitter = byId("splitter");
  const main = byId("main");
  /** @param {number} percent */
  const widen = (percent) => {
    const split = Math.max(20, Math.min(70, percent));
    main.style.setProperty("--split", `${split}%`);
    splitter.setAttribute("aria-valuenow", String(Math.round(split)));
    return split;
  };
  widen(remembered().split ?? 38);
  splitter.addEventListener("pointerdown", (event) => {
    splitter.setPointerCapture(event.pointerId);
    splitter.onpointermove = (move) => widen((move.clientX / innerWidth) * 100);
  });
  splitter.addEventListener("pointerup", () => {
    splitter.onpointermove = null;
    remember({ split: Number(splitter.getAttribute("aria-valuenow")) });
  });
  splitter.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowLeft" ? -2 : event.key === "ArrowRight" ? 2 : 0;
    if (by === 0) return;
    event.preventDefault();
    event.stopPropagation();
    remember({ split: widen(Number(splitter.getAttribute("aria-valuenow")) + by) });
  });
}

/** All places of the same secret stand out while the mouse or the focus is on one of them. */
function listenToLabels() {
  /** @param {Event} event @param {boolean} on */
  const light = (event, on) => {
    const label = event.target instanceof Element ? event.target.closest(".label") : null;
    if (!label) return;
    const { secret } = /** @type {HTMLElement} */ (label).dataset;
    for (const other of document.querySelectorAll(".label")) {
      const same = on && /** @type {HTMLElement} */ (other).dataset.secret === secret;
      other.classList.toggle("same", same);
    }
  };
  for (const name of ["pointerover", "focusin"]) document.addEventListener(name, (event) => light(event, true));
  for (const name of ["pointerout", "focusout"]) document.addEventListener(name, (event) => light(event, false));
}

async function begin() {
  runs.applyTheme();
  takeToken();
  if (!(await api.hasToken())) {
    gate("none");
    return;
  }
  try {
    run = await api.get("run");
  } catch (error) {
    if (error instanceof api.Refused && error.status === 401) return;
    fill(byId("gate"), el("h2", {}, "No answer"), el("p", {}, "contrail does not answer. "), button("Try again", () => location.reload()));
    document.body.dataset.state = "gate";
    return;
  }
  known = true;
  head = { run: run.run, n: run.n, counts: run.counts, reading: run.reading, first: 0, dropped: 0 };
  announced = head;
  document.body.dataset.state = "open";
  if (run.base) filter.offer(STATES);
  drawRun();
  drawCounts();
  if (run.end) band("end", "note", endOf(run.end));
  route.onChange(draw);
  addEventListener("popstate", () => {
    // A person may open the printed address in a tab that shows the page already.
    if (takeToken()) location.reload();
    else route.notify();
  });
  byId("pause").addEventListener("click", togglePause);
  byId("skip").addEventListener("click", () => (route.place().view === "exchanges" ? focusList() : byId("other").focus()));
  addEventListener("beforeprint", () => {
    byId("citation").dataset.at = ` · printed ${instant(new Date().toISOString(), true).slice(0, 16)}`;
  });
  byId("help").addEventListener("click", keys.showHelp);
  byId("stale").addEventListener("click", () => draw(route.place()));
  listenToKeys();
  listenToSplitter();
  listenToLabels();
  route.notify();
  stream.start();
}

void begin();

// Single keys. They work while no field has the focus, can be switched off, and leave Ctrl and Cmd to the browser.

import { el, kbd, remember, remembered } from "./dom.js";
import { announce, openDialog } from "./copy.js";

/** @type {[string, string][]} */
const HELP = [
  ["j k ↓ ↑", "next, previous exchange"],
  ["n N", "next, previous finding of the list"],
  ["Home End PgUp PgDn", "through the list; End follows what comes"],
  ["Enter →", "into the exchange"],
  ["Esc ←", "back, close, leave the field"],
  ["/", "filter"],
  ["b", "filter by the text of bodies"],
  ["Alt-click", "on a cell: filter by its value"],
  ["\\", "filter off and on"],
  ["r q t w", "response, request, token, raw"],
  ["v", "next view of the body"],
  ["f", "find in the body; Enter, Shift-Enter"],
  ["p", "copy the pointer of the chosen line"],
  ["c s y", "copy as curl, save HAR, copy a reference"],
  ["d D", "compare with its partner; with the exchange that you open next"],
  ["j k c", "of a comparison: next, previous difference; copy what changed"],
  ["o", "all exchanges of the same operation"],
  ["Space", "mark the open exchange; Ctrl-click marks another"],
  ["a", "pause the page, and go on"],
  ["[ ]", "less time, around the open exchange; more time"],
  ["x", "hide what is older than now"],
  ["g, then e f m o c r", "go to Exchanges, Findings, Misses, Operations, Callers, Run"],
  ["?", "these keys"],
];

/** What a key does; `false` means that it did nothing here.
 * @typedef {Record<string, () => unknown>} Actions */

const SECOND_MS = 1_500;

/** @param {Actions} actions by `KeyboardEvent.key`; `g e` is one key after another */
export function listen(actions) {
  let first = "";
  /** @type {number | undefined} */
  let forget;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("input:not([type=checkbox]), textarea, select, dialog")) return;
    const letter = event.key.length === 1;
    if (letter && remembered().letters === false) return;
    // A button that has the focus takes Enter and the space bar itself.
    if ((event.key === "Enter" || event.key === " ") && target?.closest("button, a, summary, input")) return;
    const key = first ? `${first} ${event.key}` : event.key;
    clearTimeout(forget);
    first = "";
    if (key === "g") {
      first = "g";
      forget = setTimeout(() => {
        first = "";
      }, SECOND_MS);
      return;
    }
    const action = Object.hasOwn(actions, key) ? actions[key] : undefined;
    if (action && action() !== false) event.preventDefault();
  });
}

export function showHelp() {
  const letters = /** @type {HTMLInputElement} */ (
    el("input", {
      type: "checkbox",
      checked: remembered().letters !== false,
      onchange: () => {
        remember({ letters: letters.checked });
        announce(letters.checked ? "Single keys are on" : "Single keys are off");
      },
    })
  );
  openDialog(
    "Keys",
    el(
      "table.keys",
      {},
      el(
        "tbody",
        {},
        HELP.map(([keys, what]) =>
          el(
            "tr",
            {},
            el("td", {}, keys.split(" ").flatMap((key) => [key.endsWith(",") || key === "then" ? key : named(key), " "])),
            el("td", {}, what),
          ),
        ),
      ),
    ),
    el("p", {}, el("label", {}, letters, " Single letters are keys")),
  );
}

/** @param {string} key */
function named(key) {
  const element = kbd(key);
  element.removeAttribute("aria-hidden");
  return element;
}

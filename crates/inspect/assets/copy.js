// The clipboard, a dialog where the browser refuses it, and downloads.

import * as api from "./api.js";
import { button, byId, code, el, fill, prose } from "./dom.js";

/** @type {number | undefined} */
let fading;

/** Announces a sentence, on the screen and to a screen reader. @param {string} sentence */
export function announce(sentence) {
  const at = byId("announcement");
  at.textContent = sentence;
  at.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => {
    at.hidden = true;
  }, 4_000);
}

/** Copies a text. @param {string} text @param {string} what as the sentence has it: `the command` */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    announce(`Copied ${what}`);
  } catch {
    // No secure context, or refused: the person copies the selected text.
    showText(text, what);
  }
}

/** @param {string} text @param {string} what */
function showText(text, what) {
  const field = /** @type {HTMLTextAreaElement} */ (
    el("textarea", { readonly: true, rows: 12, spellcheck: "false", "aria-label": what })
  );
  field.value = text;
  openDialog(
    `Copy ${what}`,
    el("p.dim", {}, "The browser does not let the page copy. The text is selected: press Ctrl-C or Cmd-C."),
    field,
  );
  field.select();
}

/** Opens the dialog. @param {string} title @param {...import("./dom.js").Child} children */
export function openDialog(title, ...children) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("dialog"));
  fill(
    dialog,
    // The focus begins at the top: a field at the end would scroll the text away.
    el("h2", { id: "dialog-title", tabindex: -1, autofocus: true }, title),
    ...children,
    el("p.end", {}, button("Close", () => dialog.close(), { key: "Esc" })),
  );
  if (!dialog.open) dialog.showModal();
}

/** Saves what the server gave. @param {string} name @param {string} text */
function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  const anchor = el("a", { href: url, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  announce(`Saved ${name}`);
}

/** A button that copies, which shows beside what it copies. @param {string} text @param {string} what */
export function copyButton(text, what) {
  return button("Copy", () => void copy(text, what), { class: "copy", "aria-label": `Copy ${what}` });
}

/** Saves exchanges as one HAR file. @param {number[]} numbers @param {string} name */
export async function saveHar(numbers, name) {
  try {
    const answer = await api.open("har", { n: numbers.join(",") });
    download(name, await answer.text());
  } catch (error) {
    if (error instanceof api.Refused && error.status === 404) announce("contrail gives no HAR of this here");
    else if (!api.isSilent(error)) announce(api.sentenceOf(error));
  }
}

/** Copies requests as commands of curl. @param {number[]} numbers */
export async function copyCurl(numbers) {
  try {
    /** @type {Api.Curl} */
    const curl = await api.get("curl", { n: numbers.join(",") });
    const text = [...curl.variables, curl.command].join("\n");
    if (curl.note || curl.variables.length > 0) {
      const lines = [
        curl.variables.length > 0 ? "Labels stand for secrets that contrail took out: set the variables first." : null,
        curl.note,
      ];
      openDialog(
        "Copy as curl",
        ...lines.map((line) => (line ? el("p", {}, ...prose(line)) : null)),
        code("The command", el("pre.raw.recorded", {}, text)),
      );
    }
    await copy(text, "the curl command");
  } catch (error) {
    if (!api.isSilent(error)) announce(api.sentenceOf(error));
  }
}
